"""Equal error rate, in the nine definitions that toolkits use.

See docs/methods/rates.md#nine-definitions.

An error curve of finitely many trials rarely meets FPR = FNR exactly; toolkits differ in what
they report instead. All comparisons are between integers (FP * targets with FN * nontargets),
so exact ties are recognised. Range [0, 1], lower is better; NaN without targets or
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

from typing import TYPE_CHECKING, Any, TypeAlias, overload

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

# Sums of two products of trial numbers below this fit int64; larger ones are computed with floats.
_MAX_INT64_PRODUCT = 2**61


@overload
def eer(scores: ArrayLike, labels: ArrayLike, *, definition: str = ...) -> np.float64: ...


@overload
def eer(scores: Counts, labels: None = None, *, definition: str = ...) -> FloatArray: ...


def eer(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    definition: str = "linear",
) -> FloatArray | np.float64:
    """Return the equal error rate at each cell's own threshold.

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
    if definition not in _EER_BY_DEFINITION:
        msg = f"EER definition {definition!r} is not known"
        hint = f"choose from {', '.join(DEFINITIONS)}"
        raise ConfigError(msg, hint)
    counts = as_counts(scores, labels)
    defined = (counts.n_target > 0) & (counts.n_nontarget > 0)
    value = np.full(defined.shape, np.nan)
    if defined.any():
        value[defined] = _EER_BY_DEFINITION[definition](_Crossing(counts.curve, defined))
    return value[()]


class _Crossing:
    """The two points around FPR = FNR of each cell that has both classes.

    Object arrays of Python integers, of shape (cell,): exact whatever the number of trials, and
    quick enough for two points a curve.
    """

    def __init__(self, curve: Curve, defined: NDArray[np.bool_]) -> None:
        crossing_index = crossing(curve)[defined]
        n_points = curve.fp.shape[-1]
        self.cells = np.flatnonzero(defined)
        self.fp, self.fn = curve.fp.reshape(-1, n_points), curve.fn.reshape(-1, n_points)
        self.targets: Exact = curve.n_target[defined].astype(object)
        self.nontargets: Exact = curve.n_nontarget[defined].astype(object)
        self.before, self.after = self._point(crossing_index - 1), self._point(crossing_index)

    def _point(self, point_index: IntArray) -> Point:
        fp, fn = self.fp[self.cells, point_index], self.fn[self.cells, point_index]
        return fp.astype(object), fn.astype(object)

    def curves(self) -> Iterator[tuple[IntArray | FloatArray, IntArray | FloatArray, int, int]]:
        """Yield FP, FN, nontargets and targets of one cell after the other."""
        for cell, nontargets, targets in zip(
            self.cells, self.nontargets, self.targets, strict=True
        ):
            fp, fn = self.fp[cell], self.fn[cell]
            if nontargets * targets >= _MAX_INT64_PRODUCT:
                yield fp.astype(np.float64), fn.astype(np.float64), nontargets, targets
            else:
                yield fp, fn, nontargets, targets

    def excess(self, point: Point) -> Exact:
        """Return FNR - FPR in units of 1 / (targets * nontargets)."""
        return np.asarray(point[1] * self.nontargets - point[0] * self.targets)

    def larger(self, point: Point) -> Exact:
        """Return the larger of both rates."""
        return np.maximum(point[0] / self.nontargets, point[1] / self.targets)

    def mean(self, point: Point) -> Exact:
        """Return the mean of both rates."""
        error_products = point[0] * self.targets + point[1] * self.nontargets
        return np.asarray(error_products / (2 * self.targets * self.nontargets))

    def nearest(self) -> Point:
        """Return the point with the smallest abs(FPR - FNR), ties to the smaller threshold."""
        is_before = self.excess(self.before) < -self.excess(self.after)
        fp = np.where(is_before, self.before[0], self.after[0])
        fn = np.where(is_before, self.before[1], self.after[1])
        return fp, fn

    def line(self, before: Point, after: Point) -> Exact:
        """Return the FPR where the straight line between two points meets FPR = FNR."""
        start, end = self.excess(before), self.excess(after)
        return np.asarray((start * after[0] - end * before[0]) / ((start - end) * self.nontargets))


def _nearest_of_thinned(
    fp: IntArray | FloatArray, fn: IntArray | FloatArray, nontargets: int, targets: int
) -> tuple[int, int]:
    """Return the nearest point of the ROC curve that scikit-learn thins to its corners."""
    is_distinct = np.concatenate(([True], (np.diff(fp) != 0) | (np.diff(fn) != 0)))
    is_distinct[0] = False  # scikit-learn thins before it adds "accept nothing"
    fp, fn = fp[is_distinct], fn[is_distinct]
    is_corner = (np.diff(fp, 2) != 0) | (np.diff(fn, 2) != 0)
    # scikit-learn drops points on a straight line between their neighbours
    is_kept = np.ones(fp.size, dtype=bool)
    is_kept[1:-1] = is_corner
    fp, fn = np.append(0, fp[is_kept]), np.append(targets, fn[is_kept])
    nearest_index = int(np.argmin(np.abs(fn * nontargets - fp * targets)))
    return int(fp[nearest_index]), int(fn[nearest_index])


def _clova(points: _Crossing) -> Exact:
    """Return the larger rate at the nearest point of the thinned curve."""
    return points.larger(_points(_nearest_of_thinned(*curve) for curve in points.curves()))


def _kaldi(points: _Crossing) -> Exact:
    """Return EER = k / targets at the first target rank k (from 0) that beats its nontarget rank.

    Target k is outscored by the nontargets accepted together with it or before; k beats its rank
    if these are no more than k * nontargets / targets, and the last one always does. The
    first such k lies between the two points around FPR = FNR, or is the first of them.
    """
    target_rank = -(-points.after[0] * points.targets // points.nontargets)  # rounded up
    target_rank = np.minimum(target_rank, points.before[1])
    return np.asarray(np.minimum(target_rank, points.targets - 1) / points.targets)


def _nist_sre16(points: _Crossing) -> Exact:
    """Return the EER of a curve with corners: within a tie, targets are rejected first."""
    corner = (points.after[0], points.before[1])
    return np.where(
        points.excess(corner) <= 0,
        points.before[1] / points.targets,
        points.after[0] / points.nontargets,
    )


def _rocch(points: _Crossing) -> Exact:
    """Return the EER of the lower convex hull."""
    edges = [_hull_edge(*curve) for curve in points.curves()]
    left_ends = _points(left_end for left_end, _ in edges)
    right_ends = _points(right_end for _, right_end in edges)
    return points.line(left_ends, right_ends)


def _hull_edge(
    fp: IntArray | FloatArray, fn: IntArray | FloatArray, nontargets: int, targets: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the hull's edge across FPR = FNR.

    The two ends are pulled to the farthest point beyond the line between them until there is none.
    """
    low_fp_end, high_fp_end = (0, targets), (nontargets, 0)
    while True:
        fp_span, fn_span = high_fp_end[0] - low_fp_end[0], low_fp_end[1] - high_fp_end[1]
        distance = fp_span * fn + fn_span * fp
        farthest_index = int(np.argmin(distance))
        # no point lies below the line between both ends: it is an edge of the hull
        if distance[farthest_index] >= fp_span * low_fp_end[1] + fn_span * low_fp_end[0]:
            return low_fp_end, high_fp_end
        farthest = (int(fp[farthest_index]), int(fn[farthest_index]))
        if farthest[1] * nontargets >= farthest[0] * targets:
            low_fp_end = farthest
            fp, fn = fp[farthest_index:], fn[farthest_index:]
        else:
            high_fp_end = farthest
            fp, fn = fp[: farthest_index + 1], fn[: farthest_index + 1]


def _pyeer(points: _Crossing) -> Exact:
    """Return the smaller mean of both rates around the crossing, or that at the crossing itself."""
    mean_before, mean_after = points.mean(points.before), points.mean(points.after)
    is_crossing = points.excess(points.after) == 0
    return np.where(is_crossing, mean_after, np.minimum(mean_before, mean_after))


def _points(points: Iterable[tuple[int, int]]) -> Point:
    """Return points of single cells as arrays."""
    fp, fn = np.array(list(points), dtype=object).T
    return fp, fn


_EER_BY_DEFINITION: dict[str, Callable[[_Crossing], Exact]] = {
    "linear": lambda points: points.line(points.before, points.after),
    "nearest_max": lambda points: points.larger(points.nearest()),
    "clova": _clova,
    "nearest_mean": lambda points: points.mean(points.nearest()),
    "speechbrain": lambda points: points.mean(points.nearest()),
    "kaldi": _kaldi,
    "nist_sre16": _nist_sre16,
    "rocch": _rocch,
    "pyeer": _pyeer,
}

DEFINITIONS: tuple[str, ...] = tuple(_EER_BY_DEFINITION)
