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
from parivox.facts import fact
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import Counts, Curve, FloatArray, IntArray

RateRule: TypeAlias = Literal["conservative", "nearest", "interp"]
RULES = ("conservative", "nearest", "interp")

# Products of trial numbers below this fit int64 with room for a sign and a sum; larger ones are
# computed with Python's integers.
_MAX_INT64_PRODUCT = 2.0**62
# A search looks at the ends of this many parts of each curve at once, and at more of them where
# there are few cells.
_MIN_PARTS, _PARTS_OF_ALL_CELLS = 16, 1 << 10


@dataclass(frozen=True, eq=False)
class RateAtTarget:
    """One error rate where the other is held at a target."""

    value: FloatArray
    """The rate sought; NaN where undefined or not resolvable. Of shape (...)."""
    threshold: FloatArray
    """The threshold used; NaN for ``interp``, which lies between thresholds. Of shape (...)."""
    achieved: FloatArray
    """The other rate at that threshold. Of shape (...)."""


def fnr_at_fpr(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    target: float,
    rule: RateRule = "conservative",
    allow_extrapolation: bool = False,
) -> RateAtTarget:
    """Return the false negative rate where the false positive rate is at a target.

    See docs/methods/rates.md#one-rate-at-a-fixed-value-of-the-other.

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
        In [0, 1], lower is better. NaN without targets or nontargets, where infinite scores
        are always accepted in more than the target, and where target < 1 / nontargets unless
        extrapolation is allowed.

    Examples
    --------
    >>> at = fnr_at_fpr([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0], target=0.5)
    >>> float(at.value), float(at.threshold), float(at.achieved)
    (0.0, 0.4, 0.5)
    """
    curve = as_counts(scores, labels).curve
    held_errors = _ErrorCounts(curve.fp, curve.n_nontarget)
    sought_errors = _ErrorCounts(curve.fn, curve.n_target)
    return _rate_at_target(
        held_errors,
        sought_errors,
        curve.thresholds,
        target,
        rule,
        extrapolate=allow_extrapolation,
        has_certain_errors=bool((curve.thresholds[1:2] == np.inf).any()),
    )


def fpr_at_fnr(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    target: float,
    rule: RateRule = "conservative",
    allow_extrapolation: bool = False,
) -> RateAtTarget:
    """Return the false positive rate where the false negative rate is at a target.

    See docs/methods/rates.md#one-rate-at-a-fixed-value-of-the-other.

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
    held_errors = _ErrorCounts(curve.fn[..., ::-1], curve.n_target)
    sought_errors = _ErrorCounts(curve.fp[..., ::-1], curve.n_nontarget)
    rising = curve.thresholds[::-1]
    return _rate_at_target(
        held_errors,
        sought_errors,
        rising,
        target,
        rule,
        extrapolate=allow_extrapolation,
        has_certain_errors=bool(rising[0] == -np.inf),
    )


def unreached_reason(counts: Counts, held_class: str, target: float) -> str:
    """Return why no threshold holds the error rate of a class at a target; empty if one does.

    `held_class` is the class of the trials of one cell, "target" or "nontarget".

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> unreached_reason(as_counts([np.inf, 0.9, 0.5, 0.1], [0, 1, 1, 0]), "nontarget", 0.5)
    ''
    >>> unreached_reason(as_counts([np.inf, 0.9, np.inf, 0.1], [0, 1, 0, 0]), "nontarget", 0.5)
    'too_many_certain_accepts'
    """
    trials = counts.target if held_class == "target" else counts.nontarget
    n_trials = int(trials.sum())
    if target * n_trials < 1:
        return fact("unresolvable", target_rate=target, trials=n_trials)
    end, certain_score = (0, -np.inf) if held_class == "target" else (-1, np.inf)
    n_certain = int(trials[end]) if counts.values[end] == certain_score else 0
    if n_certain / n_trials <= target:
        return ""
    return "too_many_certain_rejects" if end == 0 else "too_many_certain_accepts"


def threshold_at_fpr(curve: Curve, target: ArrayLike) -> FloatArray:
    """Return the smallest threshold of a whole curve with FPR <= target; NaN without nontargets.

    For one target, ``[...]``, or for several at once, ``[..., target]``. May be +inf (accept
    nothing).

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_fpr(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve, 0.1))
    0.9
    """
    return _threshold_at_rate(_ErrorCounts(curve.fp, curve.n_nontarget), curve.thresholds, target)


def threshold_at_sfar(curve: Curve, target: ArrayLike) -> FloatArray:
    """Return the smallest threshold of a whole curve with SFAR <= target; NaN without spoof trials.

    For one target, ``[...]``, or for several at once, ``[..., target]``. May be +inf (accept
    nothing).

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_sfar(as_counts([0.9, 0.4, 0.5, 0.1], [1, 0, 2, 2]).curve, 0.5))
    0.4
    """
    if curve.spoof_accepts is None or curve.n_spoof is None:
        return np.full((*curve.n_target.shape, *np.shape(target)), np.nan)[()]
    return _threshold_at_rate(
        _ErrorCounts(curve.spoof_accepts, curve.n_spoof), curve.thresholds, target
    )


def threshold_at_fnr(curve: Curve, target: ArrayLike) -> FloatArray:
    """Return the largest threshold of a whole curve with FNR <= target; NaN without targets.

    For one target, ``[...]``, or for several at once, ``[..., target]``.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_fnr(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve, 0.1))
    0.4
    """
    held_errors = _ErrorCounts(curve.fn[..., ::-1], curve.n_target)
    return _threshold_at_rate(held_errors, curve.thresholds[::-1], target)


def threshold_at_eer(curve: Curve) -> FloatArray:
    """Return the threshold with the smallest abs(FPR - FNR), ties to the larger one.

    Compared as integers. NaN without targets or nontargets.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(threshold_at_eer(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve))
    0.5
    """
    after = crossing(curve)
    before = np.maximum(after - 1, 0)
    differences = _rate_difference(curve, np.stack((before, after), axis=-1))
    nearer_before = differences[..., :1] <= -differences[..., 1:]
    smallest_difference = np.where(nearer_before, differences[..., :1], differences[..., 1:])
    point_index = _first_point_where(
        curve.fn, lambda i: _rate_difference(curve, i) <= smallest_difference
    )
    defined = (curve.n_target > 0) & (curve.n_nontarget > 0)
    return _without_axes(np.where(defined, curve.thresholds[point_index], np.nan))


def hter(curve: Curve) -> FloatArray:
    """Return the half total error rate (FPR + FNR) / 2 at each threshold.

    See docs/methods/rates.md#fpr-and-fnr. In [0, 1], lower is better; NaN without targets or
    nontargets.
    Of shape (..., threshold).

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> hter(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).at([0.5])).tolist()
    [0.5]
    """
    return (curve.fpr + curve.fnr) / 2


def crossing(curve: Curve) -> IntArray:
    """Return the first point, thresholds falling, with FNR <= FPR, compared as integers.

    The index into a whole curve; at least 1 where both classes have trials, elsewhere it has no
    meaning.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> int(crossing(as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).curve))
    2
    """
    return _first_point_where(curve.fn, lambda i: _rate_difference(curve, i) <= 0)


@frozen
class _ErrorCounts:
    """Error counts along a threshold axis, and the trials that they are counted in."""

    errors: IntArray
    trials: IntArray

    def rate(self, point_indices: IntArray) -> FloatArray:
        """Return the error rate at one point of each cell; NaN without trials."""
        errors = _take_one(self.errors, point_indices)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.trials > 0, errors / self.trials, np.nan)


def _rate_at_target(
    held_errors: _ErrorCounts,
    sought_errors: _ErrorCounts,
    thresholds: FloatArray,
    target: float,
    rule: RateRule,
    *,
    extrapolate: bool,
    has_certain_errors: bool,
) -> RateAtTarget:
    """Return the sought error rate where the held one is at the target.

    Held errors rise along the axis of thresholds, sought errors fall. Certain errors are trials of
    an infinite score, for which all thresholds are alike.
    """
    if rule not in RULES:
        msg = f"rule {rule!r} is not known"
        hint = f"choose from {', '.join(RULES)}"
        raise ConfigError(msg, hint)
    target_rate = _checked_fraction(target)
    below = _last_index_within(held_errors, target_rate)
    resolvable = held_errors.trials > 0
    if has_certain_errors:  # which no threshold avoids, so that the first point is none
        certain_errors = _take_one(held_errors.errors, np.ones_like(below))
        resolvable &= (below > 0) | (certain_errors == 0)
    if not extrapolate:
        resolvable &= target_rate * held_errors.trials >= 1
    if rule != "conservative":
        # the best point of the next higher rate of the held error
        next_index = np.minimum(below + 1, thresholds.size - 1)
        above = _first_above(held_errors.errors, _take_one(held_errors.errors, next_index)) - 1
    if rule == "interp":
        rate_below, rate_above = held_errors.rate(below), held_errors.rate(above)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = (target_rate - rate_below) / (rate_above - rate_below)
        weight = np.where(rate_above > rate_below, weight, 0.0)
        sought_below, sought_above = sought_errors.rate(below), sought_errors.rate(above)
        sought_rate = sought_below + weight * (sought_above - sought_below)
        threshold = np.full(below.shape, np.nan)
        achieved = np.where(rate_above > rate_below, target_rate, rate_below)
    else:
        point_index = below
        if rule == "nearest":
            is_above = _is_nearer_above(held_errors, below, above, target_rate)
            point_index = np.where(is_above, above, below)
        sought_rate = sought_errors.rate(point_index)
        threshold = thresholds[point_index]
        achieved = held_errors.rate(point_index)
    return RateAtTarget(
        _without_axes(np.where(resolvable, sought_rate, np.nan)),
        _without_axes(np.where(resolvable, threshold, np.nan)),
        _without_axes(np.where(resolvable, achieved, np.nan)),
    )


def _threshold_at_rate(
    held_errors: _ErrorCounts, thresholds: FloatArray, target: ArrayLike
) -> FloatArray:
    """Return the last threshold with a rate of errors <= each target."""
    target_rates = np.asarray(target, dtype=np.float64)
    for rate in target_rates.flat:
        _checked_fraction(rate)
    # an axis of targets behind those of the trials, if there are several
    trials_shape = np.shape(held_errors.trials) + (1,) * target_rates.ndim
    held_errors = _ErrorCounts(held_errors.errors, np.reshape(held_errors.trials, trials_shape))
    last_thresholds = thresholds[_last_index_within(held_errors, target_rates)]
    return _without_axes(np.where(held_errors.trials > 0, last_thresholds, np.nan))


def _is_nearer_above(
    held_errors: _ErrorCounts, below: IntArray, above: IntArray, target_rate: float
) -> IntArray:
    """Return whether the point above the target is as near or nearer, in exact arithmetic."""
    exact_target = Fraction(repr(target_rate))
    # the middle of both rates is at or below the target, in Python's integers
    both_errors = _take_one(held_errors.errors, below) + _take_one(held_errors.errors, above)
    doubled_middle = both_errors.astype(object) * exact_target.denominator
    doubled_target = 2 * exact_target.numerator * held_errors.trials.astype(object)
    nearer = doubled_middle <= doubled_target
    return np.asarray(np.asarray(nearer, dtype=bool) & (above != below))


def _last_index_within(error_counts: _ErrorCounts, target_rates: float | FloatArray) -> IntArray:
    """Return the last index with errors / trials <= target, where errors rise along the axis.

    With several targets, trials have a last axis of length 1.
    """
    max_errors = np.asarray(np.floor(target_rates * error_counts.trials)).astype(np.int64) + 1
    for _ in range(2):  # target * trials may round across an integer either way
        is_above_target = max_errors / np.maximum(error_counts.trials, 1) > target_rates
        max_errors = max_errors - is_above_target
    return _first_above(error_counts.errors, max_errors) - 1


def _first_above(errors: IntArray, limits: IntArray) -> IntArray:
    """Return the first index where errors, which rise along the axis, exceed a limit of each cell.

    Limits are ``[...]`` or, several of each cell, ``[..., limit]``.
    """
    if errors.ndim == 1:
        return np.asarray(np.searchsorted(errors, limits, side="right"))
    # a row of all curves rises, too, if each starts above the end of the one before it
    n_points = errors.shape[-1]
    curves = errors.reshape(-1, n_points)
    curve_span = int(errors[..., -1].max(initial=0)) + 1
    cells = np.arange(len(curves))[:, None]
    n_limits = math.prod(limits.shape[errors.ndim - 1 :])
    cell_limits = np.clip(limits.reshape(len(curves), n_limits), -1, curve_span - 1)
    positions = np.searchsorted(
        (curves + curve_span * cells).reshape(-1), cell_limits + curve_span * cells, side="right"
    )
    return np.reshape(positions - n_points * cells, limits.shape)


def _rate_difference(curve: Curve, point_indices: IntArray) -> IntArray:
    """Return FNR - FPR in units of 1 / (targets * nontargets): exact, falls along the curve."""
    fn, fp = _take_at(curve.fn, point_indices), _take_at(curve.fp, point_indices)
    targets, nontargets = curve.n_target, curve.n_nontarget
    if float(targets.max(initial=0)) * float(nontargets.max(initial=0)) >= _MAX_INT64_PRODUCT:
        fn, fp = fn.astype(object), fp.astype(object)
    return np.asarray(fn * nontargets[..., None] - fp * targets[..., None])


def _first_point_where(
    curve_errors: IntArray, holds: Callable[[IntArray], NDArray[np.bool_]]
) -> IntArray:
    """Return the first index of a curve's last axis where a condition that stays true holds."""
    return _first_where(holds, curve_errors.shape[:-1], curve_errors.shape[-1])


def _first_where(
    holds: Callable[[IntArray], NDArray[np.bool_]], shape: tuple[int, ...], size: int
) -> IntArray:
    """Return the first of `size` indices where a condition that stays true holds; else `size`.

    The condition is evaluated at indices of shape (*shape, k). On a curve of a million points it
    is evaluated at a few hundred: at the ends of some parts, then within one part.
    """
    n_parts = max(_MIN_PARTS, min(_PARTS_OF_ALL_CELLS // max(math.prod(shape), 1), size))
    part_ends, stride = np.arange(1, n_parts + 1), 1
    while stride * n_parts < size:
        stride *= n_parts
    # this many indices are known not to meet the condition
    n_failed = np.zeros((*shape, 1), dtype=np.int64)
    while stride:
        indices = n_failed + (stride * part_ends - 1)
        fails = indices < size
        fails &= ~np.asarray(holds(np.minimum(indices, size - 1)), dtype=np.bool_)
        n_failed += stride * np.count_nonzero(fails, axis=-1, keepdims=True)
        stride //= n_parts
    return n_failed[..., 0]


def _take_at(curve_errors: IntArray, point_indices: IntArray) -> IntArray:
    """Return the errors at several indices of each cell, ``(..., k)``."""
    if curve_errors.ndim == 1:
        return curve_errors[point_indices]
    if curve_errors.ndim == 2:  # the same as below, in a third of the time
        return curve_errors[np.arange(len(curve_errors))[:, None], point_indices]
    return np.take_along_axis(curve_errors, point_indices, axis=-1)


def _take_one(curve_errors: IntArray, point_index: IntArray) -> IntArray:
    """Return the errors at one index of each cell, ``(...)``."""
    return np.asarray(_take_at(curve_errors, np.asarray(point_index)[..., None])[..., 0])


def _checked_fraction(target: float) -> float:
    """Return a target rate as a float; ConfigError unless in [0, 1]."""
    fraction = float(target)
    if not 0 <= fraction <= 1:
        msg = f"the target rate is {target}"
        hint = "give a fraction from 0 to 1"
        raise ConfigError(msg, hint)
    return fraction


def _without_axes(array: FloatArray) -> FloatArray:
    """Return a NumPy scalar instead of an array without axes."""
    return np.asarray(array, dtype=np.float64)[()]
