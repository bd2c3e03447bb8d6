"""How far target and nontarget scores lie apart, and how far a group's scores are shifted.

Functions take `parivox.core.counts.Counts` of shape ``[...]``, the first two also scores
and labels of trials, and give float64 of that shape.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from parivox.core.counts import as_counts, sum_over_trials
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import Counts, FloatArray, IntArray

TrialClass: TypeAlias = Literal["target", "nontarget"]

_MAX_SQUARED_SCORE = 1e100
"""Largest score that is squared as it is; 1 over it is the smallest."""


@overload
def auc(scores: ArrayLike, labels: ArrayLike) -> np.float64: ...


@overload
def auc(scores: Counts, labels: None = None) -> FloatArray: ...


def auc(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray | np.float64:
    """Return the probability that a target trial outscores a nontarget trial, ties counting half.

    In [0, 1]; 0.5 is chance, below it the scores look reversed. Higher is better. NaN without
    targets or nontargets. docs/methods/costs.md#separation.

    Examples
    --------
    >>> float(auc([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]))
    0.75
    """
    return as_counts(scores, labels).auc


@overload
def dprime(scores: ArrayLike, labels: ArrayLike, *, ddof: int = ...) -> np.float64: ...


@overload
def dprime(scores: Counts, labels: None = None, *, ddof: int = ...) -> FloatArray: ...


def dprime(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, ddof: int = 1
) -> FloatArray | np.float64:
    """Return the distance of the mean scores of both classes in units of their spread (d').

    abs(mean difference) / sqrt(mean of both variances), in [0, inf); higher is better. Trials minus
    `ddof` divide the sums of squares; pyeer uses 0. NaN with `ddof` or fewer trials of a class,
    with infinite scores, or if no score differs from its class mean.
    docs/methods/costs.md#separation.

    Examples
    --------
    >>> float(dprime([4.0, 2.0, 1.0, -1.0], [1, 1, 0, 0], ddof=0))
    3.0
    """
    counts = _with_moderate_scores(as_counts(scores, labels))
    target, nontarget = (
        _mean_and_variance(counts, "target", ddof),
        _mean_and_variance(counts, "nontarget", ddof),
    )
    spread = np.sqrt((target[1] + nontarget[1]) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, np.abs(target[0] - nontarget[0]) / spread, np.nan)[()]


@overload
def r_precision(scores: ArrayLike, labels: ArrayLike) -> np.float64: ...


@overload
def r_precision(scores: Counts, labels: None = None) -> FloatArray: ...


def r_precision(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None
) -> FloatArray | np.float64:
    """Return the share of targets among as many best-scored trials as there are targets.

    There precision is recall, and as many trials are falsely accepted as falsely rejected; between
    two scores the counts are joined by a straight line. In [0, 1], higher is better. It depends on
    the share of targets among the trials: compare it only where that is the same. NaN without
    targets. docs/methods/costs.md#r-precision.

    Examples
    --------
    >>> float(r_precision([0.9, 0.4, 0.5, 0.1, 0.0], [1, 1, 0, 0, 0]))
    0.5
    """
    curve = as_counts(scores, labels).curve
    excess = curve.fp - curve.fn  # rises from minus all targets to all nontargets
    after = np.maximum((excess < 0).sum(axis=-1), 1)[..., None]
    excess_before = np.take_along_axis(excess, after - 1, axis=-1)[..., 0]
    excess_after = np.take_along_axis(excess, after, axis=-1)[..., 0]
    fn_before = np.take_along_axis(curve.fn, after - 1, axis=-1)[..., 0]
    fn_after = np.take_along_axis(curve.fn, after, axis=-1)[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing_share = excess_before / (excess_before - excess_after)
        rejected = fn_before + crossing_share * (fn_after - fn_before)
        return np.asarray(1 - rejected / curve.n_target)[()]


def shift(
    group: Counts,
    reference: Counts,
    *,
    of: TrialClass,
    quantile: float | None = None,
) -> FloatArray:
    """Return the difference of a mean or quantile of scores between two sets of trials.

    In units of the scores; 0 is no shift, positive means that the group scores higher. NaN without
    trials of the class, or between infinities of one sign. Shapes broadcast; what is compared is
    their `location`. docs/methods/costs.md#separation.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> group, pooled = as_counts([2.0, 4.0], [1, 1]), as_counts([1.0, 2.0, 6.0], [1, 1, 1])
    >>> float(shift(group, pooled, of="target", quantile=0.5))
    0.0
    """
    group_location = location(group, of=of, quantile=quantile)
    reference_location = location(reference, of=of, quantile=quantile)
    with np.errstate(invalid="ignore"):
        return (group_location - reference_location)[()]


def location(counts: Counts, *, of: TrialClass, quantile: ArrayLike | None = None) -> FloatArray:
    """Return the mean or quantiles of the scores of one class.

    In units of the scores; NaN without trials of the class. A quantile in [0, 1] is the smallest
    score with at least this share of the trials at or below it; several of them add an axis at the
    end. Without, it is the mean.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> float(location(as_counts([2.0, 4.0], [1, 1]), of="target"))
    3.0
    """
    if of not in {"target", "nontarget"}:
        msg = f"of={of!r} is not known"
        hint = "choose target or nontarget"
        raise ConfigError(msg, hint)
    if quantile is None:
        return counts.means[of == "nontarget"][()]
    share = np.asarray(quantile, dtype=np.float64)
    if not ((share >= 0) & (share <= 1)).all():
        msg = f"quantile is {quantile}"
        hint = "give a fraction from 0 to 1"
        raise ConfigError(msg, hint)
    quantiles = _quantiles(counts, of, np.atleast_1d(share))
    return (quantiles if share.ndim else quantiles[..., 0])[()]


def _with_moderate_scores(counts: Counts) -> Counts:
    """Return the same trials on a scale on which squares neither overflow nor vanish.

    Scores are multiplied by a power of two, which changes no digit.
    """
    finite_scores = counts.values[np.isfinite(counts.values)]
    largest = float(np.abs(finite_scores).max(initial=0.0))
    if largest == 0 or 1 / _MAX_SQUARED_SCORE < largest < _MAX_SQUARED_SCORE:
        return counts
    return replace(counts, values=np.ldexp(counts.values, -int(np.frexp(largest)[1])))


def _mean_and_variance(
    counts: Counts, trial_class: TrialClass, ddof: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance; variance NaN with `ddof` or fewer trials or infinite scores."""
    mean = counts.means[trial_class == "nontarget"]
    trials, total = _trials_of_class(counts, trial_class)
    centre = np.where(np.isfinite(mean), mean, np.nan)[..., None]
    squares = sum_over_trials(counts.values, trials, lambda scores: np.square(scores - centre))
    return mean, np.where(total > ddof, squares / np.maximum(total - ddof, 1), np.nan)


def _quantiles(counts: Counts, trial_class: TrialClass, shares: FloatArray) -> FloatArray:
    """Return the smallest scores with at least each share of the trials at or below them."""
    trials, n_trials = _trials_of_class(counts, trial_class)
    total = n_trials[..., None]
    # a rank rounded up by the last bit of share * total would skip a trial
    rank = np.maximum(np.ceil(shares * total - 1e-9), 1).astype(np.int64)
    if not counts.values.size:
        return np.full(rank.shape, np.nan)
    # all cells are in one row, in which each starts where the one before it ended
    trials_before = np.cumsum(total).reshape(total.shape) - total
    first_values = counts.values.size * np.arange(total.size).reshape(total.shape)
    positions = np.searchsorted(np.cumsum(trials, dtype=np.int64), trials_before + rank)
    scores = counts.values.take(positions - first_values, mode="clip")
    return np.where(total > 0, scores, np.nan)


def _trials_of_class(counts: Counts, trial_class: TrialClass) -> tuple[IntArray, IntArray]:
    """Return trials of a class by score, and in total."""
    if trial_class == "target":
        return counts.target, counts.n_target
    return counts.nontarget, counts.n_nontarget
