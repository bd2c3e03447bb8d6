"""Progress on standard error: a line that is redrawn, a line now and then, or JSON."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Self

from parivox.cli.process import CLEAR, can_redraw_line, print_status
from parivox.errors import ConfigError, printable
from parivox.runtime.progress import report_progress_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.runtime.progress import Progress

PATIENCE_S = 2.0
"""How long nothing is shown in a terminal, as most commands end sooner."""
REDRAWN_S = 0.25
LOGGED_S = 10.0
"""Time between lines where there is no terminal: few enough for the log of a cluster."""
JSON_S = 1.0
"""Time between lines of JSON within one stage."""


@contextmanager
def progress_shown(progress_format: str | None, *, quiet: bool) -> Iterator[None]:
    """Show the progress of what runs in the context.

    Raises
    ------
    ConfigError
        If the format is not known, or progress is asked for and suppressed.
    """
    if progress_format not in {None, "json"}:
        msg = f"--progress {progress_format!r} is not known"
        hint = "give json, or leave --progress out"
        raise ConfigError(msg, hint)
    if progress_format and quiet:
        msg = "--quiet and --progress contradict each other"
        hint = "give one of them"
        raise ConfigError(msg, hint)
    if quiet:
        yield
    elif progress_format:
        with report_progress_to(_JsonProgress()):
            yield
    else:
        with _TerminalProgress() as terminal_progress, report_progress_to(terminal_progress):
            yield


class _JsonProgress:
    """Progress as lines of JSON, for programs."""

    def __init__(self) -> None:
        self.stages: tuple[str, ...] = ()
        self.due = 0.0

    def __call__(self, progress: Progress) -> None:
        """Write a message, unless the stage continues and the last message was a moment ago."""
        now = monotonic()
        if progress.stages == self.stages and not progress.is_over and now < self.due:
            return
        self.stages, self.due = progress.stages, now + JSON_S
        message = {
            "stage": progress.stage,
            "done": progress.done,
            "total": progress.total,
            "unit": progress.unit,
            "share": None if progress.share is None else round(progress.share, 4),
            "elapsed_s": round(progress.elapsed_s, 3),
            "eta_s": None if progress.eta_s is None else round(progress.eta_s, 3),
        }
        _write(json.dumps(message) + "\n")


class _TerminalProgress:
    """The latest progress, while a stage is open; a thread shows it."""

    def __init__(self) -> None:
        self.found: tuple[float, Progress] | None = None
        self.drawn = ""
        self.lock, self.ended = Lock(), Event()
        self.thread = Thread(target=self._draw if can_redraw_line() else self._log, daemon=True)

    def __call__(self, progress: Progress) -> None:
        """Keep the latest progress; clear the line when the last stage ends."""
        with self.lock:
            self.found = (
                None if progress.is_over and len(progress.stages) == 1 else (monotonic(), progress)
            )
            if self.found is None:
                self._clear()

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self._clear()

    def _now(self) -> Progress | None:
        """Return the progress, with the time that has passed since."""
        return self.found and self.found[1].after(monotonic() - self.found[0])

    def _clear(self) -> None:
        if self.drawn:
            _write(CLEAR)
            self.drawn = ""

    def _draw(self) -> None:
        if self.ended.wait(PATIENCE_S):
            return
        from rich.console import Console  # noqa: PLC0415 - for what takes long

        console = Console(stderr=True)
        while not self.ended.wait(REDRAWN_S):
            with self.lock:
                if (progress := self._now()) is None:
                    continue
                drawn_line = _fitted_line(progress, console.width - 1)
                if drawn_line != self.drawn:
                    _write(CLEAR + drawn_line)
                    self.drawn = drawn_line

    def _log(self) -> None:
        while not self.ended.wait(LOGGED_S):
            if (progress := self._now()) is not None:
                print_status(str(progress))


def _fitted_line(progress: Progress, width: int) -> str:
    """Return words that fit a line: figures come first, then the stage, then its outer stages."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - for what takes long

    figures, words = f", {progress.figures}", ""
    for first_stage in range(len(progress.stages)):
        words = printable(": ".join(progress.stages[first_stage:]))
        if cell_len(words) + len(figures) <= width:
            return words + figures
    words = set_cell_size(words, max(width - len(figures) - 3, 0)).rstrip()
    return set_cell_size(f"{words}...{figures}", width).rstrip()


def _write(text: str) -> None:
    """Write to standard error, if it takes any."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
