"""Error rates at operating points, and the thresholds that operating points name.

Conventions: accept iff score >= threshold. Rates are fractions in [0, 1]; lower is better.
A rate whose class has no trials is NaN. Functions named ``threshold_at_...`` read a whole curve
(``Counts.curve``) of shape ``[..., threshold]`` and reduce its last axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from parivox.core.counts import as_counts
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import Counts, Curve, FloatArray, IntArray

RateRule: TypeAlias = Literal["conservative", "nearest", "interp"]
RULES = ("conservative", "nearest", "interp")

# Products of trial numbers below this fit int64 with room for a sign and a sum.
_EXACT = 2.0**62
# Parts of a curve whose ends are looked at together, at least; of few cells all that so many make.
_FANS, _AT_ONCE = 16, 1 << 10


@dataclass(frozen=True, eq=False)
class RateAtTarget:
    """One error rate where the other is held at a target."""

    value: FloatArray
    """The rate asked for; NaN where undefined or not resolvable. Of shape (...)."""
    threshold: FloatArray
    """The threshold used; NaN for ``interp``, which lies between thresholds. Of shape (...)."""
    achieved: FloatArray
    """The other rate as it is at that threshold. Of shape (...)."""


def fnr_at_fpr(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    target: float,
    rule: RateRule = "conservative",
    allow_extrapolation: bool = False,
) -> RateAtTarget:
    """False negative rate where the false positive rate is at a target.

    See docs/methods/rates.md#one-rate-where-the-other-is-held.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.
    target : float in [0, 1]
    rule : {"conservative", "nearest", "interp"}
        ``conservative``: the smallest threshold with FPR <= target. ``nearest``: the point
        whose FPR lies nearest; among equal distances the smallest threshold. ``interp``:
        linear between the best points of neighbouring false positive rates.
    allow_extrapolation : bool
        Answer even where one nontarget trial weighs more than the target.

    Returns
    -------
    RateAt
        In [0, 1], lower is better. NaN without targets or nontargets, and where
        target < 1 / nontargets unless extrapolation is allowed.

    Examples
    --------
    >>> at = fnr_at_fpr([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0], target=0.5)
    >>> float(at.value), float(at.threshold), float(at.achieved)
    (0.0, 0.4, 0.5)
    """
    curve = as_counts(scores, labels).curve
    held = _ErrorCounts(curve.fp, curve.n_nontarget)
    asked = _ErrorCounts(curve.fn, curve.n_target)
    return _rate_at(held, asked, curve.thresholds, target, rule, extrapolate=allow_extrapolation)


def fpr_at_fnr(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    target: float,
    rule: RateRule = "conservative",
    allow_extrapolation: bool = False,
) -> RateAtTarget:
    """False positive rate where the false negative rate is at a target.

    See docs/methods/rates.md#one-rate-where-the-other-is-held.

    The mirror image of `fnr_at_fpr`: ``conservative`` takes the largest threshold with
    FNR <= target, ``nearest`` the largest among equal distances, and a target below
    1 / targets is not resolvable.

    Examples
    --------
    >>> at = fpr_at_fnr([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0], target=0.5)
    >>> float(at.value), float(at.threshold), float(at.achieved)
    (0.0, 0.9, 0.5)
    """
    curve = as_counts(scores, labels).curve
    held = _ErrorCounts(curve.fn[..., ::-1], curve.n_target)
    asked = _ErrorCounts(curve.fp[..., ::-1], curve.n_nontarget)
    rising = curve.thresholds[::-1]
    return _rate_at(held, asked, rising, target, rule, extrapolate=allow_extrapolation)


def threshold_at_fpr(curve: Curve, target: ArrayLike) -> FloatArray:
    """Smallest threshold of a whole curve with FPR <= target; NaN without nontargets.

    Of one target, ``[...]``, or of several at once, ``[..., target]``. May be +inf (accept
    nothing).

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_fpr(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve, 0.1))
    0.9
    """
    return _threshold_at(_ErrorCounts(curve.fp, curve.n_nontarget), curve.thresholds, target)


def threshold_at_fnr(curve: Curve, target: ArrayLike) -> FloatArray:
    """Largest threshold of a whole curve with FNR <= target; NaN without targets.

    Of one target, ``[...]``, or of several at once, ``[..., target]``.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_fnr(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve, 0.1))
    0.4
    """
    held = _ErrorCounts(curve.fn[..., ::-1], curve.n_target)
    return _threshold_at(held, curve.thresholds[::-1], target)


def threshold_at_eer(curve: Curve) -> FloatArray:
    """Threshold with the smallest abs(FPR - FNR), compared as integers; ties to the larger one.

    NaN without targets or nontargets.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_eer(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve))
    0.5
    """
    after = crossing(curve)
    before = np.maximum(after - 1, 0)
    around = _excess(curve, np.stack((before, after), axis=-1))
    nearer_before = around[..., :1] <= -around[..., 1:]
    nearest = np.where(nearer_before, around[..., :1], around[..., 1:])
    at = _along(curve.fn, lambda i: _excess(curve, i) <= nearest)
    defined = (curve.n_target > 0) & (curve.n_nontarget > 0)
    return _scalar(np.where(defined, curve.thresholds[at], np.nan))


def hter(curve: Curve) -> FloatArray:
    """Half total error rate (FPR + FNR) / 2 at each threshold (docs/methods/costs.md#hter).

    In [0, 1], lower is better; NaN without targets or nontargets. Of shape (..., threshold).

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> hter(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).at([0.5])).tolist()
    [0.5]
    """
    return (curve.fpr + curve.fnr) / 2


def crossing(curve: Curve) -> IntArray:
    """Index of the first point, thresholds falling, with FNR <= FPR, compared as integers.

    Of a whole curve; at least 1 where both classes have trials, 0 elsewhere is of no meaning.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> int(crossing(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve))
    2
    """
    return _along(curve.fn, lambda i: _excess(curve, i) <= 0)


@dataclass(frozen=True, eq=False)
class _ErrorCounts:
    """Error counts along a threshold axis, and the trials that they are counted in."""

    errors: IntArray
    trials: IntArray

    def rate(self, at: IntArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.trials > 0, _take(self.errors, at) / self.trials, np.nan)


def _rate_at(
    held: _ErrorCounts,
    asked: _ErrorCounts,
    thresholds: FloatArray,
    target: float,
    rule: RateRule,
    *,
    extrapolate: bool,
) -> RateAtTarget:
    if rule not in RULES:
        msg = f"rule is {rule!r}; it is one of {', '.join(RULES)}"
        raise ConfigError(msg)
    x = _fraction(target)
    below = _last_within(held, x)
    above = np.minimum(below + 1, thresholds.size - 1)
    # the best point of the next higher rate of the held error
    next_errors = _take(held.errors, above)[..., None]
    above = _along(held.errors, lambda i: take_at(held.errors, i) > next_errors) - 1
    resolvable = held.trials > 0
    if not extrapolate:
        resolvable &= x * held.trials >= 1
    if rule == "interp":
        low, high = held.rate(below), held.rate(above)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = np.where(high > low, (x - low) / (high - low), 0.0)
        start, end = asked.rate(below), asked.rate(above)
        value, threshold = start + weight * (end - start), np.full(below.shape, np.nan)
        achieved = np.where(high > low, x, low)
    else:
        at = below
        if rule == "nearest":
            at = np.where(_nearer_above(held, below, above, x), above, below)
        value, threshold, achieved = asked.rate(at), thresholds[at], held.rate(at)
    value, threshold, achieved = (
        _scalar(np.where(resolvable, a, np.nan)) for a in (value, threshold, achieved)
    )
    return RateAtTarget(value, threshold, achieved)


def _threshold_at(held: _ErrorCounts, thresholds: FloatArray, target: ArrayLike) -> FloatArray:
    """The last threshold with a rate of errors <= each target."""
    asked = np.asarray(target, dtype=np.float64)
    for one in asked.flat:
        _fraction(one)
    held = _ErrorCounts(
        held.errors, np.reshape(held.trials, np.shape(held.trials) + (1,) * asked.ndim)
    )
    at = thresholds[_last_within(held, asked)]
    return _scalar(np.where(held.trials > 0, at, np.nan))


def _nearer_above(held: _ErrorCounts, below: IntArray, above: IntArray, x: float) -> IntArray:
    """Whether the point above the target is as near or nearer, in exact arithmetic."""
    exact = Fraction(repr(x))
    both = (_take(held.errors, below) + _take(held.errors, above)).astype(object)
    nearer = both * exact.denominator <= 2 * exact.numerator * held.trials.astype(object)
    return np.asarray(np.asarray(nearer, dtype=bool) & (above != below))


def _last_within(held: _ErrorCounts, x: float | FloatArray) -> IntArray:
    """Last index with errors / trials <= x, where errors rise along the axis.

    Of several x trials have a last axis of length 1.
    """
    most = np.asarray(np.floor(x * held.trials)).astype(np.int64) + 1
    for _ in range(2):  # x * trials may round across an integer either way
        most = most - (most / np.maximum(held.trials, 1) > x)
    if held.errors.ndim == 1:
        return np.asarray(np.searchsorted(held.errors, most, side="right") - 1)
    if np.ndim(x):
        curves, asked = (each.reshape(-1, each.shape[-1]) for each in (held.errors, most))
        found = [np.searchsorted(*both, side="right") for both in zip(curves, asked, strict=True)]
        return np.reshape(found, most.shape) - 1
    return _along(held.errors, lambda i: take_at(held.errors, i) > most[..., None]) - 1


def _excess(curve: Curve, at: IntArray) -> IntArray:
    """FNR - FPR in units of 1 / (targets * nontargets): exact, falling along the curve."""
    fn, fp = take_at(curve.fn, at), take_at(curve.fp, at)
    targets, nontargets = curve.n_target, curve.n_nontarget
    if float(targets.max(initial=0)) * float(nontargets.max(initial=0)) >= _EXACT:
        fn, fp = fn.astype(object), fp.astype(object)
    return np.asarray(fn * nontargets[..., None] - fp * targets[..., None])


def _along(curve: IntArray, holds: Callable[[IntArray], NDArray[np.bool_]]) -> IntArray:
    """First index of the last axis of a curve where a condition that stays true holds."""
    return first_where(holds, curve.shape[:-1], curve.shape[-1])


def first_where(
    holds: Callable[[IntArray], NDArray[np.bool_]], shape: tuple[int, ...], size: int
) -> IntArray:
    """First of so many indices where a condition that stays true holds; their number if never.

    The condition is asked at indices of shape (*shape, k). Of a curve of a million points it is
    asked at a few hundred: at the ends of some parts, then within one part.
    """
    fans = max(_FANS, min(_AT_ONCE // max(math.prod(shape), 1), size))
    ahead, stride = np.arange(1, fans + 1), 1
    while stride * fans < size:
        stride *= fans
    # so many indices are known to fail it
    failed = np.zeros((*shape, 1), dtype=np.int64)
    while stride:
        at = failed + (stride * ahead - 1)
        fails = at < size
        fails &= ~np.asarray(holds(np.minimum(at, size - 1)), dtype=np.bool_)
        failed += stride * np.count_nonzero(fails, axis=-1, keepdims=True)
        stride //= fans
    return failed[..., 0]


def take_at(along: IntArray, at: IntArray) -> IntArray:
    """Values at several indices of each cell, ``(..., k)``."""
    if along.ndim == 1:
        return along[at]
    if along.ndim == 2:  # as below, in a third of the time
        return along[np.arange(len(along))[:, None], at]
    return np.take_along_axis(along, at, axis=-1)


def _take(along: IntArray, at: IntArray) -> IntArray:
    """Value at one index of each cell, ``(...)``."""
    return np.asarray(take_at(along, np.asarray(at)[..., None])[..., 0])


def _fraction(target: float) -> float:
    x = float(target)
    if not 0 <= x <= 1:
        msg = f"the target rate is {target}; it must be a fraction from 0 to 1"
        raise ConfigError(msg)
    return x


def _scalar(value: FloatArray) -> FloatArray:
    """A NumPy scalar instead of an array without axes."""
    return np.asarray(value, dtype=np.float64)[()]
