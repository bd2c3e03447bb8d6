"""Equal error rate, in the nine definitions that toolkits use.

See docs/methods/eer.md#nine-definitions.

An error curve of finitely many trials rarely meets FPR = FNR exactly; toolkits differ in what
they report instead. All comparisons are between integers (FP * targets with FN * nontargets),
so exact ties are seen as ties. Range [0, 1], lower is better; NaN without targets or
nontargets. Every group's EER has a threshold of its own and so says nothing about unequal
treatment at a deployed threshold.

================  ==========================================================================
linear            the curve, joined by straight lines, meets FPR = FNR (default)
nearest_max       larger rate at the point with the smallest abs(FPR - FNR), ties to the
                  smaller threshold (bt4vt)
clova             the same on scikit-learn's thinned ROC curve, ties to the larger threshold
nearest_mean      mean of both rates at that point, ties to the smaller threshold (DCA-PLDA)
speechbrain       mean of both rates at the first minimum of rising thresholds, half-way
                  thresholds included; in exact arithmetic the same as nearest_mean
kaldi             first target rank that outscores its share of nontargets
nist_sre16        trial by trial, targets first within a tie (NIST SRE16 scorer, wespeaker)
rocch             the lower convex hull of the curve meets FPR = FNR (BOSARIS)
pyeer             the smaller mean of both rates at the two points around the crossing
================  ==========================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parivox.core.counts import Counts, as_counts
from parivox.core.rates import crossing
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import Curve, FloatArray, IntArray

    Exact: TypeAlias = NDArray[Any]  # of Python integers, or of quotients of them
    Point: TypeAlias = tuple[Exact, Exact]  # false accepts and false rejects

# Sums of two products of trial numbers below this fit int64; above, floats serve.
_EXACT = 2**61


def eer(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    definition: str = "linear",
) -> FloatArray:
    """Equal error rate at each cell's own threshold.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.
    definition : str
        One of `DEFINITIONS`; compare only within one definition.

    Returns
    -------
    float64 of shape (...)
        In [0, 1], lower is better. NaN without targets or nontargets. ``linear``: 0 for
        perfect, 0.5 for constant, 1 for reversed scores; ``rocch`` is never above 0.5,
        ``kaldi`` never above 1 - 1 / targets.

    Examples
    --------
    >>> float(eer([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]))
    0.5
    """
    if definition not in _RULES:
        msg = f"EER definition is {definition!r}; it is one of {', '.join(DEFINITIONS)}"
        raise ConfigError(msg)
    counts = as_counts(scores, labels)
    defined = (counts.n_target > 0) & (counts.n_nontarget > 0)
    value = np.full(defined.shape, np.nan)
    if defined.any():
        value[defined] = _RULES[definition](_Crossing(counts.curve, defined))
    return value[()]


class _Crossing:
    """The two points around FPR = FNR of each cell that has both classes.

    Object arrays of Python integers, of shape (cell,): exact whatever the number of trials, and
    quick enough for two points a curve.
    """

    def __init__(self, curve: Curve, defined: NDArray[np.bool_]) -> None:
        at = crossing(curve)[defined]
        size = curve.fp.shape[-1]
        self.cells = np.flatnonzero(defined)
        self.fp, self.fn = curve.fp.reshape(-1, size), curve.fn.reshape(-1, size)
        self.targets: Exact = curve.n_target[defined].astype(object)
        self.nontargets: Exact = curve.n_nontarget[defined].astype(object)
        self.before, self.after = self._point(at - 1), self._point(at)

    def _point(self, at: IntArray) -> Point:
        return self.fp[self.cells, at].astype(object), self.fn[self.cells, at].astype(object)

    def curves(self) -> Iterator[tuple[IntArray | FloatArray, IntArray | FloatArray, int, int]]:
        """FP, FN, nontargets and targets of one cell after the other."""
        for cell, nontargets, targets in zip(
            self.cells, self.nontargets, self.targets, strict=True
        ):
            fp, fn = self.fp[cell], self.fn[cell]
            if nontargets * targets >= _EXACT:
                yield fp.astype(np.float64), fn.astype(np.float64), nontargets, targets
            else:
                yield fp, fn, nontargets, targets

    def excess(self, point: Point) -> Exact:
        """FNR - FPR in units of 1 / (targets * nontargets)."""
        return np.asarray(point[1] * self.nontargets - point[0] * self.targets)

    def larger(self, point: Point) -> Exact:
        """The larger of both rates."""
        return np.maximum(point[0] / self.nontargets, point[1] / self.targets)

    def mean(self, point: Point) -> Exact:
        """The mean of both rates."""
        both = point[0] * self.targets + point[1] * self.nontargets
        return np.asarray(both / (2 * self.targets * self.nontargets))

    def nearest(self) -> Point:
        """Point with the smallest abs(FPR - FNR), ties to the smaller threshold."""
        nearer = self.excess(self.before) < -self.excess(self.after)
        fp, fn = (np.where(nearer, *both) for both in zip(self.before, self.after, strict=True))
        return fp, fn

    def line(self, before: Point, after: Point) -> Exact:
        """FPR where the straight line between two points meets FPR = FNR."""
        start, end = self.excess(before), self.excess(after)
        return np.asarray((start * after[0] - end * before[0]) / ((start - end) * self.nontargets))


def _nearest_of_thinned(
    fp: IntArray | FloatArray, fn: IntArray | FloatArray, nontargets: int, targets: int
) -> tuple[int, int]:
    own = np.concatenate(([True], (np.diff(fp) != 0) | (np.diff(fn) != 0)))
    own[0] = False  # scikit-learn thins before it adds "accept nothing"
    fp, fn = fp[own], fn[own]
    bends = (np.diff(fp, 2) != 0) | (np.diff(fn, 2) != 0)
    keep = np.ones(fp.size, dtype=bool)
    keep[1:-1] = bends
    fp, fn = np.append(0, fp[keep]), np.append(targets, fn[keep])
    at = int(np.argmin(np.abs(fn * nontargets - fp * targets)))
    return int(fp[at]), int(fn[at])


def _kaldi(c: _Crossing) -> Exact:
    """EER = k / targets at the first target rank k (from 0) that beats its nontarget rank.

    Target k is outscored by the nontargets accepted together with it or before; k beats its rank
    if these are no more than k * nontargets / targets, and the last one always does. The
    first such k lies between the two points around FPR = FNR, or is the first of them.
    """
    k = -(-c.after[0] * c.targets // c.nontargets)
    return np.asarray(np.minimum(np.minimum(k, c.before[1]), c.targets - 1) / c.targets)


def _nist_sre16(c: _Crossing) -> Exact:
    """Within a tie targets fall first, so the path between two points is a corner."""
    corner = (c.after[0], c.before[1])
    return np.where(c.excess(corner) <= 0, c.before[1] / c.targets, c.after[0] / c.nontargets)


def _rocch(c: _Crossing) -> Exact:
    edges = [_hull_edge(*curve) for curve in c.curves()]
    return c.line(_points(left for left, _ in edges), _points(right for _, right in edges))


def _hull_edge(
    fp: IntArray | FloatArray, fn: IntArray | FloatArray, nontargets: int, targets: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The hull's edge across FPR = FNR, found by pulling its two ends to the farthest point."""
    left, right = (0, targets), (nontargets, 0)
    while True:
        across, down = right[0] - left[0], left[1] - right[1]
        distance = across * fn + down * fp
        at = int(np.argmin(distance))
        if distance[at] >= across * left[1] + down * left[0]:
            return left, right
        farthest = (int(fp[at]), int(fn[at]))
        if farthest[1] * nontargets >= farthest[0] * targets:
            left = farthest
            fp, fn = fp[at:], fn[at:]
        else:
            right = farthest
            fp, fn = fp[: at + 1], fn[: at + 1]


def _pyeer(c: _Crossing) -> Exact:
    either = np.minimum(c.mean(c.before), c.mean(c.after))
    return np.where(c.excess(c.after) == 0, c.mean(c.after), either)


def _points(points: Iterable[tuple[int, int]]) -> Point:
    """Points of single cells as arrays."""
    fp, fn = np.array(list(points), dtype=object).T
    return fp, fn


_RULES: dict[str, Callable[[_Crossing], Exact]] = {
    "linear": lambda c: c.line(c.before, c.after),
    "nearest_max": lambda c: c.larger(c.nearest()),
    "clova": lambda c: c.larger(_points(_nearest_of_thinned(*curve) for curve in c.curves())),
    "nearest_mean": lambda c: c.mean(c.nearest()),
    "speechbrain": lambda c: c.mean(c.nearest()),
    "kaldi": _kaldi,
    "nist_sre16": _nist_sre16,
    "rocch": _rocch,
    "pyeer": _pyeer,
}

DEFINITIONS: tuple[str, ...] = tuple(_RULES)
