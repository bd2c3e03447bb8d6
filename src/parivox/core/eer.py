"""Equal error rate, in the nine definitions that toolkits use (METHODS 1.3).

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

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.counts import Counts, as_counts
from parivox.core.rates import crossing
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray, IntArray

__all__ = ["DEFINITIONS", "eer"]

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
        One of :data:`DEFINITIONS`; compare only within one definition.

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
    n_target, n_nontarget = counts.n_target, counts.n_nontarget
    curve = counts.curve
    after = crossing(curve)
    value = np.full(n_target.shape, np.nan)
    for cell in np.ndindex(n_target.shape):
        if n_target[cell] > 0 and n_nontarget[cell] > 0:
            totals = int(n_nontarget[cell]), int(n_target[cell])
            around = _Crossing(curve.fp[cell], curve.fn[cell], int(after[cell]), totals)
            value[cell] = _RULES[definition](around)
    return value[()]


class _Crossing:
    """One cell's curve and its two points around FPR = FNR, as (fp, fn) in Python integers."""

    def __init__(self, fp: IntArray, fn: IntArray, after: int, totals: tuple[int, int]) -> None:
        self.nontargets, self.targets = totals
        self.before = int(fp[after - 1]), int(fn[after - 1])
        self.after = int(fp[after]), int(fn[after])
        self.fp: IntArray | FloatArray = fp
        self.fn: IntArray | FloatArray = fn
        if self.nontargets * self.targets >= _EXACT:
            self.fp, self.fn = fp.astype(np.float64), fn.astype(np.float64)

    def excess(self, point: tuple[int, int]) -> int:
        """FNR - FPR in units of 1 / (targets * nontargets)."""
        return point[1] * self.nontargets - point[0] * self.targets

    def rates(self, point: tuple[int, int]) -> tuple[float, float]:
        return point[0] / self.nontargets, point[1] / self.targets

    def mean(self, point: tuple[int, int]) -> float:
        both = point[0] * self.targets + point[1] * self.nontargets
        return both / (2 * self.targets * self.nontargets)

    def nearest(self) -> tuple[int, int]:
        """Point with the smallest abs(FPR - FNR), ties to the smaller threshold."""
        nearer_before = self.excess(self.before) < -self.excess(self.after)
        return self.before if nearer_before else self.after

    def line(self, before: tuple[int, int], after: tuple[int, int]) -> float:
        """FPR where the straight line between two points meets FPR = FNR."""
        start, end = self.excess(before), self.excess(after)
        return (start * after[0] - end * before[0]) / ((start - end) * self.nontargets)


def _linear(c: _Crossing) -> float:
    return c.line(c.before, c.after)


def _nearest_max(c: _Crossing) -> float:
    return max(c.rates(c.nearest()))


def _nearest_mean(c: _Crossing) -> float:
    return c.mean(c.nearest())


def _clova(c: _Crossing) -> float:
    own = np.concatenate(([True], (np.diff(c.fp) != 0) | (np.diff(c.fn) != 0)))
    own[0] = False  # scikit-learn thins before it adds "accept nothing"
    fp, fn = c.fp[own], c.fn[own]
    bends = (np.diff(fp, 2) != 0) | (np.diff(fn, 2) != 0)
    keep = np.ones(fp.size, dtype=bool)
    keep[1:-1] = bends
    fp, fn = np.append(0, fp[keep]), np.append(c.targets, fn[keep])
    at = int(np.argmin(np.abs(fn * c.nontargets - fp * c.targets)))
    return max(c.rates((int(fp[at]), int(fn[at]))))


def _kaldi(c: _Crossing) -> float:
    """EER = k / targets at the first target rank k (from 0) that beats its nontarget rank."""
    rejected = -c.fn
    low, high = 0, c.targets - 1
    while low < high:
        k = (low + high) // 2
        rank = max(c.nontargets - 1 - c.nontargets * k // c.targets, 0)
        # Thresholds fall along the curve: whoever is accepted at a smaller index scores higher.
        target_at = np.searchsorted(rejected, -k)
        nontarget_at = np.searchsorted(c.fp, c.nontargets - rank)
        if target_at < nontarget_at:
            high = k
        else:
            low = k + 1
    return low / c.targets


def _nist_sre16(c: _Crossing) -> float:
    """Within a tie targets fall first, so the path between two points is a corner."""
    corner = (c.after[0], c.before[1])
    if c.excess(corner) <= 0:
        return c.before[1] / c.targets
    return c.after[0] / c.nontargets


def _rocch(c: _Crossing) -> float:
    """Find the hull's edge across FPR = FNR by pulling its two ends to the farthest point."""
    fp, fn = c.fp, c.fn
    left, right = (0, c.targets), (c.nontargets, 0)
    while True:
        across, down = right[0] - left[0], left[1] - right[1]
        distance = across * fn + down * fp
        at = int(np.argmin(distance))
        if distance[at] >= across * left[1] + down * left[0]:
            return c.line(left, right)
        farthest = (int(fp[at]), int(fn[at]))
        if c.excess(farthest) >= 0:
            left = farthest
            fp, fn = fp[at:], fn[at:]
        else:
            right = farthest
            fp, fn = fp[: at + 1], fn[: at + 1]


def _pyeer(c: _Crossing) -> float:
    if c.excess(c.after) == 0:
        return c.mean(c.after)
    return min(c.mean(c.before), c.mean(c.after))


_RULES: dict[str, Callable[[_Crossing], float]] = {
    "linear": _linear,
    "nearest_max": _nearest_max,
    "clova": _clova,
    "nearest_mean": _nearest_mean,
    "speechbrain": _nearest_mean,
    "kaldi": _kaldi,
    "nist_sre16": _nist_sre16,
    "rocch": _rocch,
    "pyeer": _pyeer,
}

DEFINITIONS: tuple[str, ...] = tuple(_RULES)
