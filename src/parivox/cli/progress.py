"""How progress shows on standard error: a line that is redrawn, a line now and then, or JSON."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Self

from parivox.cli.process import CLEAR, is_redrawn, say
from parivox.errors import ConfigError, printable
from parivox.runtime.progress import report_progress_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.runtime.progress import Progress

PATIENCE_S = 2.0
"""Before a terminal shows anything."""
REDRAWN_S = 0.25
LOGGED_S = 10.0
"""Between lines where there is no terminal: few enough for the log of a cluster."""
JSON_S = 1.0
"""Between lines of JSON of one stage that goes on."""


@contextmanager
def progress_shown(form: str | None, *, quiet: bool) -> Iterator[None]:
    """Show the progress of what is done meanwhile.

    Raises
    ------
    ConfigError
        If it is asked for in a form that there is not, or not at all as well.
    """
    if form not in {None, "json"}:
        msg = f"--progress {form!r} is not known; give json, or leave --progress out"
        raise ConfigError(msg)
    if form and quiet:
        msg = "--quiet and --progress contradict each other; give one of them"
        raise ConfigError(msg)
    if quiet:
        yield
    elif form:
        with report_progress_to(_Lines()):
            yield
    else:
        with _Latest() as latest, report_progress_to(latest):
            yield


class _Lines:
    """Lines of JSON, for programs."""

    def __init__(self) -> None:
        self.stages: tuple[str, ...] = ()
        self.due = 0.0

    def __call__(self, at: Progress) -> None:
        """Write what is told, unless the stage goes on and was told of a moment ago."""
        now = monotonic()
        if at.stages == self.stages and not at.is_over and now < self.due:
            return
        self.stages, self.due = at.stages, now + JSON_S
        found = {
            "stage": at.stage,
            "done": at.done,
            "total": at.total,
            "unit": at.unit,
            "share": None if at.share is None else round(at.share, 4),
            "elapsed_s": round(at.elapsed_s, 3),
            "eta_s": None if at.eta_s is None else round(at.eta_s, 3),
        }
        _write(json.dumps(found) + "\n")


class _Latest:
    """What was told last, while a stage is open; a thread shows it."""

    def __init__(self) -> None:
        self.found: tuple[float, Progress] | None = None
        self.drawn = ""
        self.lock, self.ended = Lock(), Event()
        self.thread = Thread(target=self._draw if is_redrawn() else self._log, daemon=True)

    def __call__(self, at: Progress) -> None:
        """Keep what is told; the line goes as the last stage ends."""
        with self.lock:
            self.found = None if at.is_over and len(at.stages) == 1 else (monotonic(), at)
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
        """How far it is by now."""
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
                if (at := self._now()) is None:
                    continue
                line = _fitted(at, console.width - 1)
                if line != self.drawn:
                    _write(CLEAR + line)
                    self.drawn = line

    def _log(self) -> None:
        while not self.ended.wait(LOGGED_S):
            if (at := self._now()) is not None:
                say(str(at))


def _fitted(at: Progress, room: int) -> str:
    """The words that fit a line: figures first, then the stage, then those it is a part of."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - for what takes long

    figures, words = f", {at.figures}", ""
    for first in range(len(at.stages)):
        words = printable(": ".join(at.stages[first:]))
        if cell_len(words) + len(figures) <= room:
            return words + figures
    words = set_cell_size(words, max(room - len(figures) - 3, 0)).rstrip()
    return set_cell_size(f"{words}...{figures}", room).rstrip()


def _write(text: str) -> None:
    """Write to standard error, if it takes any."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
