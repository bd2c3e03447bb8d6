"""Progress of long runs: the stage, the share of it that is done, time taken and time left.

Code that takes long opens a `stage` and adds what it has done. A caller who wants to know
registers a function with `report_progress_to`. Without a listener nothing is reported.
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
    from collections.abc import Callable, Iterable, Iterator

    Listener = Callable[["Progress"], None]

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Element = TypeVar("Element")
Element_co = TypeVar("Element_co", covariant=True)

REPORT_INTERVAL_S = 0.25
"""Seconds between two reports of one stage."""
MIN_SECONDS_FOR_ETA, MIN_SHARE_FOR_ETA = 1.0, 0.05
"""A stage must have run so long, and be done to this share, before its time left is estimated:
earlier the pace says little."""


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
        """Return the progress some seconds later, if nothing more is reported meanwhile."""
        eta_s = None if self.eta_s is None else max(self.eta_s - seconds, 0.0)
        return replace(self, elapsed_s=self.elapsed_s + seconds, eta_s=eta_s)


def duration_text(seconds: float) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> [duration_text(s) for s in (3.2, 200, 9_000)]
    ['3 s', '3 min', '2.5 h']
    """
    # 99.5 s and 99.5 min: the first durations that two digits of the smaller unit would not hold
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 5_970:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@dataclass(eq=False)
class _Subscription:
    """The function that is called with progress, and the open stages, outer ones first."""

    listener: Listener
    open: list[Stage] = field(default_factory=list)


_SUBSCRIPTION: ContextVar[_Subscription | None] = ContextVar(
    "who is told of progress", default=None
)


class Stage:
    """An open stage, which counts what is done of it."""

    def __init__(
        self, name: str, total: int | None, unit: str, subscription: _Subscription | None
    ) -> None:
        self.name, self.total, self.unit, self.subscription = name, total, unit, subscription
        self.done = 0
        # done by an earlier run: part of the total, but no evidence of the pace
        self.done_earlier = 0
        self.start_s = monotonic()
        self.next_report_s = inf if subscription is None else self.start_s + REPORT_INTERVAL_S

    def add(self, n: int = 1, *, is_new: bool = True) -> None:
        """Add what is done; not `is_new`: by an earlier run, which says nothing of the pace."""
        self.done += n
        self.done_earlier += 0 if is_new else n
        if (
            self.next_report_s < inf
            and self.done != self.total
            and monotonic() >= self.next_report_s
        ):
            self.report()

    def report(self, *, is_over: bool = False) -> None:
        """Call the listener with the progress of this stage."""
        if self.subscription is None:
            return
        now_s = monotonic()
        self.next_report_s = now_s + REPORT_INTERVAL_S
        outer_names = [other.name for other in self.subscription.open if other is not self]
        total = self.total
        done = self.done if total is None else min(self.done, total)
        if is_over:
            # a stage that has ended is done to 100 %, whatever was counted
            total = total if total is not None else (done or 1)
            done = total
        elapsed_s = now_s - self.start_s
        eta_s = None if total is None or is_over else self._eta(done, total, elapsed_s)
        self.subscription.listener(
            Progress((*outer_names, self.name), done, total, self.unit, elapsed_s, eta_s, is_over)
        )

    def _eta(self, done: int, total: int, elapsed_s: float) -> float | None:
        """Return the seconds that it may still take at its pace; None if too little is known."""
        n_new = done - self.done_earlier
        if (
            elapsed_s < MIN_SECONDS_FOR_ETA
            or n_new < MIN_SHARE_FOR_ETA * (total - self.done_earlier)
            or not n_new
        ):
            return None
        return elapsed_s / n_new * (total - done)


@contextmanager
def stage(name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
    """Report what is done within the block as a stage, a part of the open stages.

    Parameters
    ----------
    name
        What is done, as in ``reading V2``.
    total, unit
        How much there is to do, if that is known.
    """
    subscription = _SUBSCRIPTION.get()
    opened = Stage(name, total, unit, subscription)
    if subscription is None:
        yield opened
        return
    subscription.open.append(opened)
    try:
        opened.report()
        yield opened
        opened.report(is_over=True)
    finally:
        subscription.open.remove(opened)
    if subscription.open:
        subscription.open[-1].add(0)  # the outer stage reports if it is due: this took time


class SizedIterable(Protocol[Element_co]):
    """A collection with a length; other than `collections.abc.Collection` it needs no ``in``."""

    def __len__(self) -> int:
        """Return the number of elements."""

    def __iter__(self) -> Iterator[Element_co]:
        """Iterate over the elements."""


def with_progress(
    elements: SizedIterable[Element],
    name: str,
    unit: str,
    *,
    size: Callable[[Element], int] | None = None,
) -> Iterator[Element]:
    """Yield the elements, and report as a stage how many are done, or how much by their sizes."""
    total = len(elements) if size is None else sum(map(size, elements))
    with stage(name, total, unit) as current:
        for element in elements:
            yield element
            current.add(1 if size is None else size(element))


@contextmanager
def report_progress_to(listener: Listener | None) -> Iterator[None]:
    """Call a function with the `Progress` of all stages within the block.

    It is called as each begins and ends, and in between at most four times a second.

    Examples
    --------
    >>> with (
    ...     report_progress_to(lambda progress: print(progress.stage, progress.share)),
    ...     stage("counting", 2) as counting,
    ... ):
    ...     counting.add(2)
    counting 0.0
    counting 1.0
    """
    if listener is None:
        yield
        return
    token = _SUBSCRIPTION.set(_Subscription(listener))
    try:
        yield
    finally:
        _SUBSCRIPTION.reset(token)


def has_listener() -> bool:
    """Return whether progress is reported to anybody."""
    return _SUBSCRIPTION.get() is not None


def report_again(reports: Iterable[Progress]) -> None:
    """Report what another process has done, as a part of the open stages."""
    subscription = _SUBSCRIPTION.get()
    if subscription is None:
        return
    outer_names = tuple(opened.name for opened in subscription.open)
    for progress in reports:
        subscription.listener(replace(progress, stages=(*outer_names, *progress.stages)))


def reports_progress(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a function so that it reports its stages to its argument `progress`."""

    @wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        with report_progress_to(cast("Listener | None", kwargs.get("progress"))):
            return function(*args, **kwargs)

    return wrapped
