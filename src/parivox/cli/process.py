"""The process of a command: how it is set up, and its streams, whatever state they are in."""

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

from parivox.errors import ConfigError, EncodingGuessed, printable
from parivox.runtime.memory import keep_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CLEAR = "\r\x1b[K"
"""What takes the line of a terminal away on which the cursor is."""


class Ended(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: what is half written goes first."""


def set_up() -> None:
    """End in order, start no BLAS threads, look for garbage seldom, and keep memory at hand.

    Counting has no use for the threads, and makes rows by the thousand but hardly a cycle. At the
    end, when Python would look through all there is, all of it goes anyway.
    """
    with contextlib.suppress(ValueError):  # in a thread, which no signal reaches
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _end)
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_memory()


def _end(*_: object) -> NoReturn:
    raise Ended


def prepare() -> None:
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
        msg = "standard output is closed; to print nothing, send it to /dev/null"
        raise ConfigError(msg)


def is_redrawn() -> bool:
    """Whether standard error is a terminal on which a line can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Tell a line on standard error, if it takes any: in a terminal in place of the progress."""
    start = CLEAR if is_redrawn() else ""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{start}parivox: {printable(text)}\n")


def say_error(sentence: str) -> None:
    """Tell a mistake on standard error: in a terminal in colour, its mend on a line of its own."""
    if not sys.stderr.isatty():
        say(f"error: {sentence}")
        return
    what, separator, mend = sentence.rpartition("; ")
    if not separator or mend.count(")") > mend.count("("):  # that which is no mend
        what, mend = sentence, ""
    from rich.text import Text  # noqa: PLC0415 - what takes time to load

    from parivox.report.words import STYLES, terminal  # noqa: PLC0415

    console = terminal(stderr=True, soft_wrap=True)
    with contextlib.suppress(OSError):
        console.print(Text.assemble(("error: ", STYLES["worse"]), what))
        if mend:
            console.print(Text.assemble(("hint: ", "bold"), mend))


@contextlib.contextmanager
def warnings_told() -> Iterator[None]:
    """Tell what was guessed on standard error, each once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=EncodingGuessed)
        # of NumPy, for who writes code: what is undefined is missing with a reason
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        others, told = warnings.showwarning, set()

        def tell(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, EncodingGuessed):
                others(message, category, *where)
            elif str(message) not in told:
                told.add(str(message))
                say(str(message))

        warnings.showwarning = tell  # type: ignore[assignment]
        yield


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Print to standard output; what fails there is a sentence.

    Raises
    ------
    ConfigError
        If standard output cannot be written (a pipe that was closed is left to the caller).
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        why = error.strerror or str(error)
        msg = f"standard output cannot be written ({why}); send it elsewhere"
        raise ConfigError(msg) from error


def print_json(text: str) -> None:
    """Print JSON as the bytes of the file: UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(text)


def silence() -> None:
    """Drop what standard output still holds, which Python would try to write at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of words."""
    with printing():
        for line in lines:
            sys.stdout.write(f"{printable(line)}\n")


def print_result(result: Any, in_words: Callable[[Any], None], *, json: bool) -> None:
    """Print a result as JSON or in words."""
    with printing():
        if json:
            print_json(result.to_json())
        else:
            in_words(result)
