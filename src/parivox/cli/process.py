"""The process of a command: signals, memory, and standard streams in whatever state they are."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn, cast

from parivox.errors import ConfigError, EncodingGuessed, ParivoxError, WorkRepeated, printable
from parivox.renamed import OldNameUsed
from parivox.runtime.cgroup import processor_count
from parivox.runtime.memory import keep_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_OWN_WARNINGS = (EncodingGuessed, OldNameUsed, WorkRepeated)
CLEAR = "\r\x1b[K"
"""What clears the line of a terminal on which the cursor is."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: half-written files are removed first."""


def set_up_process() -> None:
    """End in order on SIGTERM, start few threads, collect garbage seldom, and keep memory.

    Counting has no use for threads of BLAS, and makes rows by the thousand but hardly a cycle. At
    the end, when Python would search all objects for garbage, all memory is released anyway.
    Threads of Polars wait for each other by spinning: one on every processor takes longer.
    """
    with contextlib.suppress(ValueError):  # in a thread, which no signal reaches
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(processor_count() // 2, 1)))
    keep_memory()


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def prepare_streams() -> None:
    """Make the streams fit for any text; refuse a standard output that is closed.

    Raises
    ------
    ConfigError
        If there is no standard output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # else the next file opened would take the number, and get what is meant for a stream
            os.open(os.devnull, os.O_RDWR)
    if cast("Any", sys.stderr) is None:
        sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if cast("Any", sys.stdout) is None:
        msg = "standard output is closed"
        hint = "to print nothing, redirect it to /dev/null"
        raise ConfigError(msg, hint)


def can_redraw_line() -> bool:
    """Return whether standard error is a terminal on which a line can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def print_status(text: str) -> None:
    """Print a line on standard error, if possible: in a terminal in place of the progress."""
    start = CLEAR if can_redraw_line() else ""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{start}parivox: {printable(text)}\n")


def print_error(error: ParivoxError) -> None:
    """Print a mistake on standard error: in a terminal in colour, with the hint on its own line."""
    if not sys.stderr.isatty():
        print_status(f"error: {error}")
        return
    problem, hint = error.lines
    from rich.text import Text  # noqa: PLC0415 - what takes time to load

    from parivox.report.words import STYLES, terminal  # noqa: PLC0415

    console = terminal(stderr=True, soft_wrap=True)
    with contextlib.suppress(OSError):
        console.print(Text.assemble(("error: ", STYLES["worse"]), problem))
        if hint:
            console.print(Text.assemble(("hint: ", "bold"), hint))


@contextlib.contextmanager
def warnings_printed() -> Iterator[None]:
    """Print the warnings of Parivox on standard error, each once."""
    with warnings.catch_warnings():
        for own_category in _OWN_WARNINGS:
            warnings.filterwarnings("always", category=own_category)
        # of NumPy, for who writes code: what is undefined is missing with a reason
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        show_other_warning, printed = warnings.showwarning, set()

        def print_warning(message: Warning | str, category: type[Warning], *location: Any) -> None:
            if not issubclass(category, _OWN_WARNINGS):
                show_other_warning(message, category, *location)
            elif str(message) not in printed:
                printed.add(str(message))
                print_status(str(message))

        warnings.showwarning = print_warning  # type: ignore[assignment]
        yield


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Print to standard output; a failure there is a sentence.

    If the reader closes the pipe, this and all later output is discarded: the command goes on, and
    ends with the exit code of its result.

    Raises
    ------
    ConfigError
        If standard output cannot be written.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        discard_output()
        reason = error.strerror or str(error)
        msg = f"standard output cannot be written ({reason})"
        hint = "redirect it elsewhere"
        raise ConfigError(msg, hint) from error


def print_json(text: str) -> None:
    """Print JSON as the bytes of the file: UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(text)


def discard_output() -> None:
    """Discard what standard output still buffers, which Python would try to write at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(words: Iterable[str]) -> None:
    """Print lines on standard output."""
    with printing():
        for printed_line in words:
            sys.stdout.write(f"{printable(printed_line)}\n")


def print_result(analysis: Any, print_in_words: Callable[[Any], None], *, json: bool) -> None:
    """Print a result as JSON or in words."""
    with printing():
        if json:
            print_json(analysis.to_json())
        else:
            print_in_words(analysis)
