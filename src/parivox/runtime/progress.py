"""Progress: which stage a task is at, what share of it is done, how long it took and may take.

Whoever works opens a `stage` and adds what is done of it; whoever wants to know listens, with
`report_progress_to`. Without a listener nothing is told.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Listener = Callable[["Progress"], None]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

REPORT_INTERVAL_S = 0.25
"""Between two reports of a stage that goes on, in seconds."""
MIN_SECONDS_FOR_ETA, MIN_SHARE_FOR_ETA = 1.0, 0.05
"""So long a stage must have run, and so much of it be done, before its time left is told."""


@dataclass(frozen=True)
class Progress:
    """How far a stage of a task is.

    Attributes
    ----------
    stages : tuple of str
        What is being done: the stage, after those that it is a part of.
    done : int
        How much of it is, in `unit`.
    total : int or None
        How much there is to do; None where that is not known before it is done.
    unit : str
        Such as ``bytes``, ``trials`` or ``draws``; empty where nothing is counted.
    elapsed_s : float
        Seconds since the stage began.
    eta_s : float or None
        Seconds that it may still take at its pace so far; None before that can be told.
    is_over : bool
        Whether the stage has ended.

    Examples
    --------
    >>> at = Progress(("measuring V2", "bootstrap"), 300, 1000, "draws", 30.0, 70.0)
    >>> print(at)
    measuring V2: bootstrap, 30 % in 30 s, 70 s left
    >>> at.share
    0.3
    """

    stages: tuple[str, ...]
    done: int
    total: int | None
    unit: str
    elapsed_s: float
    eta_s: float | None = None
    is_over: bool = False

    @property
    def stage(self) -> str:
        """All stages in words."""
        return ": ".join(self.stages)

    @property
    def share(self) -> float | None:
        """How much of the stage is done, in [0, 1]; None where its total is not known."""
        return None if self.total is None else self.done / max(self.total, 1)

    @property
    def figures(self) -> str:
        """Share, time taken and time left, in words."""
        took, share = duration_text(self.elapsed_s), self.share
        words = f"{share * 100:.0f} % in {took}" if share else took
        return words if self.eta_s is None else f"{words}, {duration_text(max(self.eta_s, 1))} left"

    def __str__(self) -> str:
        return f"{self.stage}, {self.figures}"

    def after(self, seconds: float) -> Progress:
        """How far it is so many seconds later, when nothing more is known to be done."""
        left = None if self.eta_s is None else max(self.eta_s - seconds, 0.0)
        return replace(self, elapsed_s=self.elapsed_s + seconds, eta_s=left)


def duration_text(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [duration_text(s) for s in (3.2, 200, 9_000)]
    ['3 s', '3 min', '2.5 h']
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_970 else f"{seconds / 3600:.1f} h"


@dataclass(eq=False)
class _Told:
    """Who listens, and the stages that are open, outer ones first."""

    listener: Listener
    open: list[Stage] = field(default_factory=list)


_TOLD: ContextVar[_Told | None] = ContextVar("who is told of progress", default=None)


class Stage:
    """A stage that is open."""

    def __init__(self, name: str, total: int | None, unit: str, told: _Told | None) -> None:
        self.name, self.total, self.unit, self.told = name, total, unit, told
        self.done = self.before = 0  # and of that, what says nothing of the pace
        self.began = monotonic()
        self.due = inf if told is None else self.began + REPORT_INTERVAL_S

    def add(self, n: int = 1, *, is_new: bool = True) -> None:
        """Tell that so much more is done, or was by an earlier run, whatever time that took."""
        self.done += n
        self.before += 0 if is_new else n
        if self.due < inf and self.done != self.total and monotonic() >= self.due:
            self.tell()

    def tell(self, *, is_over: bool = False) -> None:
        """Tell how far it is."""
        if self.told is None:
            return
        now = monotonic()
        self.due = now + REPORT_INTERVAL_S
        stages = (*(one.name for one in self.told.open if one is not self), self.name)
        total = self.total
        done = self.done if total is None else min(self.done, total)
        if is_over:
            done = total = (done or 1) if total is None else total
        took = now - self.began
        left = None if total is None or is_over else self._left(done, total, took)
        self.told.listener(Progress(stages, done, total, self.unit, took, left, is_over))

    def _left(self, done: int, total: int, took: float) -> float | None:
        """Seconds that it may still take, if enough is known."""
        fresh = done - self.before
        if (
            took < MIN_SECONDS_FOR_ETA
            or fresh < MIN_SHARE_FOR_ETA * (total - self.before)
            or not fresh
        ):
            return None
        return took / fresh * (total - done)


@contextmanager
def stage(name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
    """Tell of what is done meanwhile as a stage, a part of those that are open.

    Parameters
    ----------
    name
        What is done, as in ``reading V2``.
    total, unit
        How much there is to do, if that is known.
    """
    told = _TOLD.get()
    one = Stage(name, total, unit, told)
    if told is None:
        yield one
        return
    told.open.append(one)
    try:
        one.tell()
        yield one
        one.tell(is_over=True)
    finally:
        told.open.remove(one)
    if told.open:
        told.open[-1].add(0)


class SizedIterable(Protocol[T_co]):
    """What can be counted and gone through."""

    def __len__(self) -> int:
        """How many there are."""

    def __iter__(self) -> Iterator[T_co]:
        """One after the other."""


def with_progress(
    items: SizedIterable[T], name: str, unit: str, *, size: Callable[[T], int] | None = None
) -> Iterator[T]:
    """The items, and a stage that tells how many are done with, or how much by their sizes."""
    with stage(name, len(items) if size is None else sum(map(size, items)), unit) as at:
        for one in items:
            yield one
            at.add(1 if size is None else size(one))


@contextmanager
def report_progress_to(listener: Listener | None) -> Iterator[None]:
    """Have a function called with the `Progress` of all stages meanwhile.

    It is called as each begins and ends, and in between at most four times a second.

    Examples
    --------
    >>> with (
    ...     report_progress_to(lambda at: print(at.stage, at.share)),
    ...     stage("counting", 2) as counting,
    ... ):
    ...     counting.add(2)
    counting 0.0
    counting 1.0
    """
    if listener is None:
        yield
        return
    token = _TOLD.set(_Told(listener))
    try:
        yield
    finally:
        _TOLD.reset(token)


def reports_progress(working: Callable[P, R]) -> Callable[P, R]:
    """Have a function tell its argument `progress` of its stages."""

    @wraps(working)
    def wrapped(*args: P.args, **given: P.kwargs) -> R:
        with report_progress_to(cast("Listener | None", given.get("progress"))):
            return working(*args, **given)

    return wrapped
