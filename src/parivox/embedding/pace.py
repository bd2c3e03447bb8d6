"""How fast a run goes, and how much time is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """Tells after each batch how far a run is.

    Parameters
    ----------
    recordings, size
        How many there are to do, and of how many bytes: the time left is by bytes.
    tell
        Told a line.
    """

    def __init__(self, recordings: int, size: int, tell: Callable[[str], None]) -> None:
        self.recordings, self.size, self.tell = recordings, max(size, 1), tell
        self.done = self.bytes = self.skipped = 0
        self.seconds = 0.0
        self.began = time.monotonic()

    def skip(self, recordings: int, size: int) -> None:
        """Count a batch that an earlier run has done."""
        self.done += recordings
        self.skipped += size

    def add(self, recordings: int, size: int, seconds: float) -> None:
        """Count a batch, with the seconds of its audio, and tell how far the run is."""
        self.done += recordings
        self.bytes += size
        self.seconds += seconds
        took = max(time.monotonic() - self.began, 1e-9)
        left = self.size - self.skipped - self.bytes
        words = f"{self.done:,} of {self.recordings:,} recordings"
        words += f", {self.seconds / took:,.0f} times as fast as they last"
        if left > 0 < self.bytes:
            words += f", {_lasting(took * left / self.bytes)} left"
        self.tell(words)


def _lasting(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [_lasting(s) for s in (3.2, 200, 9_000)]
    ['3 s', '3 min', '2.5 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"
