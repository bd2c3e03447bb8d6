"""Maps from scores to natural-log likelihood ratios, found on counts of trials.

See docs/methods/calibration.md#calibrators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts
from parivox.core.llr import cllr, min_cllr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

_MAX_NEWTON_STEPS, _MIN_CHECKED_FALL, _CONVERGED_FALL = 100, 1e-2, 1e-12
"""Steps of Newton's at most; by how much one may change the cost unseen, and the last at most."""


_OPTIMISTIC_SHARE = 0.7
"""Of what lies between minimum Cllr and that of maps of other speakers; by simulation."""
_MAX_BINS = 4096
"""Of scores, in which the optimism is found."""


class Logistic(NamedTuple):
    """A straight line; NaN where none is found."""

    slope: float
    offset: float

    def llr(self, scores: FloatArray) -> FloatArray:
        """Log likelihood ratios of scores, shape (trial,)."""
        return self.slope * scores + self.offset


class Isotonic(NamedTuple):
    """A line through rising points, level below the first and above the last."""

    scores: FloatArray
    llrs: FloatArray

    def llr(self, scores: FloatArray) -> FloatArray:
        """Log likelihood ratios of scores, shape (trial,)."""
        return np.interp(scores, self.scores, self.llrs)


Line = Logistic | Isotonic


def logistic(counts: Counts, start: Logistic | None = None) -> Logistic:
    """Find the line of smallest Cllr.

    See docs/methods/calibration.md#logistic; Brummer and du Preez (2006).

    Parameters
    ----------
    counts : Counts of shape (value,)
        Of finite scores.
    start : Logistic
        A line nearby, from which fewer steps are needed.

    Returns
    -------
    Logistic
        NaN where `unfit` says why.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> found = logistic(as_counts([3.0, 1.0, 2.0, 0.0], [1, 1, 0, 0]))
    >>> round(found.slope, 4), round(found.offset, 4)
    (0.9082, -1.3623)
    """
    from scipy.special import expit  # noqa: PLC0415 - takes time to load

    if unfit(counts):
        return Logistic(np.nan, np.nan)
    low, high = counts.values[0], counts.values[-1]
    centre, half_range = (low + high) / 2, (high - low) / 2
    scaled_scores = (counts.values - centre) / half_range
    target_weight, nontarget_weight = (
        counts.target / counts.n_target,
        counts.nontarget / counts.n_nontarget,
    )
    weight = target_weight + nontarget_weight

    def cost(coefficients: FloatArray) -> float:
        log_odds = coefficients[0] * scaled_scores + coefficients[1]
        softplus = np.logaddexp(0, log_odds)
        return float(nontarget_weight @ softplus + target_weight @ (softplus - log_odds))

    coefficients = np.zeros(2)
    if start is not None:
        coefficients = np.array([start.slope * half_range, start.offset + start.slope * centre])
    for _ in range(_MAX_NEWTON_STEPS):
        posterior = expit(coefficients[0] * scaled_scores + coefficients[1])
        gradient = np.array(
            [
                (posterior * weight - target_weight) @ scaled_scores,
                (posterior * weight - target_weight).sum(),
            ]
        )
        curvature = posterior * (1 - posterior) * weight
        mixed_curvature = curvature @ scaled_scores
        step = np.linalg.solve(
            [
                [curvature @ (scaled_scores * scaled_scores), mixed_curvature],
                [mixed_curvature, curvature.sum()],
            ],
            gradient,
        )
        expected_fall = step @ gradient / 2
        while expected_fall > _MIN_CHECKED_FALL and cost(coefficients - step) > cost(coefficients):
            step /= 2
        coefficients = coefficients - step
        if expected_fall < _CONVERGED_FALL:
            break
    slope = float(coefficients[0] / half_range)
    return Logistic(slope, float(coefficients[1] - slope * centre))


def isotonic(counts: Counts, start: Isotonic | None = None) -> Isotonic:  # noqa: ARG001 - as `logistic`
    """Find the rising steps of smallest Cllr, by pooling adjacent violators.

    See docs/methods/calibration.md#isotonic. One target and one nontarget trial are added at either
    end, so that no step is infinite.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> found = isotonic(as_counts([3.0, 1.0, 2.0, 0.0], [1, 1, 0, 0]))
    >>> found.scores.tolist(), found.llrs.round(4).tolist()
    ([0.0, 1.0, 2.0, 3.0], [-0.6931, 0.0, 0.0, 0.6931])
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - takes time to load

    if unfit(counts, Isotonic):
        return Isotonic(np.full(1, np.nan), np.full(1, np.nan))
    one_trial = np.ones(1)
    target, nontarget = (
        np.concatenate((one_trial, trials_of_class, one_trial))
        for trials_of_class in (counts.target, counts.nontarget)
    )
    trials = target + nontarget
    blocks = isotonic_regression(target / trials, weights=trials).blocks
    llrs = np.log(np.add.reduceat(target, blocks[:-1]) / np.add.reduceat(nontarget, blocks[:-1]))
    llrs -= np.log(counts.n_target / counts.n_nontarget)
    # from the first to the last score of each block; the trials added have none
    first_score, last_score = (
        np.maximum(blocks[:-1] - 1, 0),
        np.minimum(blocks[1:] - 2, counts.values.size - 1),
    )
    score_indices = np.stack((first_score, last_score), axis=1)[first_score <= last_score].ravel()
    is_new = np.diff(score_indices, prepend=-1) > 0
    return Isotonic(
        counts.values[score_indices][is_new], np.repeat(llrs[first_score <= last_score], 2)[is_new]
    )


def unfit(counts: Counts, kind: type[Line] = Logistic) -> str:
    """Why counts carry no calibration; empty where they do.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> unfit(as_counts([1.0, 2.0], [0, 1]))
    'every target trial outscores all nontarget trials: the slope has no limit'
    """
    if not (counts.n_target and counts.n_nontarget):
        return "no target trials" if counts.n_nontarget else "no nontarget trials"
    if not np.isfinite(counts.values[[0, -1]]).all():
        return "infinite scores"
    if counts.values.size < 2:
        return "all scores are equal"
    if kind is Logistic:
        target, nontarget = counts.values[counts.target > 0], counts.values[counts.nontarget > 0]
        if target[0] >= nontarget[-1]:
            return "every target trial outscores all nontarget trials: the slope has no limit"
        if target[-1] <= nontarget[0]:
            return "every nontarget trial outscores all target trials"
    return ""


def optimism(scores_or_llrs: ArrayLike, targets: ArrayLike, sets: ArrayLike) -> float:
    """By how many bits minimum Cllr is too small, as it is found on the trials it is judged on.

    Monotone maps found without the speakers of a trial make Cllr as much too large as that makes it
    too small, but less so: seven tenths of the difference are taken.
    See docs/methods/calibration.md#optimism.

    Parameters
    ----------
    values : array_like of shape (trial,)
        Scores or log-likelihood ratios.
    targets : array_like of shape (trial,)
        Whether each trial is a target trial.
    sets : array_like of shape (trial,)
        `parivox.core.crossfit.sides`: the folds of both speakers, as bits.

    Returns
    -------
    float
        0 or more; NaN without either class.

    Examples
    --------
    >>> from parivox.core.crossfit import sides
    >>> rng = np.random.default_rng(0)
    >>> target = np.arange(400) < 200
    >>> fold = rng.integers(4, size=400)
    >>> round(optimism(rng.normal(2.0 * target, 1.0), target, sides(fold, fold)), 3)
    0.05
    """
    is_target = np.asarray(targets, dtype=np.bool_)
    bin_code, n_bins = _bin_codes(np.asarray(scores_or_llrs, dtype=np.float64), is_target)
    fold_sets, set_code = np.unique(np.asarray(sets), return_inverse=True)
    cell = (set_code * 2 + is_target) * n_bins + bin_code
    counts = np.bincount(cell, minlength=fold_sets.size * 2 * n_bins).reshape(-1, 2, n_bins)
    scores = np.arange(n_bins, dtype=np.float64)
    llrs = np.zeros((fold_sets.size, n_bins))  # nothing is said where nothing can be learned
    for i, fold_set in enumerate(fold_sets.tolist()):
        nontarget, target = counts[(fold_sets & fold_set) == 0].sum(axis=0)
        is_seen = (target + nontarget) > 0
        if is_seen.sum() > 1 and target.any() and nontarget.any():
            training_counts = Counts(scores[is_seen], target[is_seen], nontarget[is_seen])
            llrs[i] = isotonic(training_counts).llr(scores)
    nontarget, target = counts.swapaxes(0, 1).reshape(2, -1)
    order = np.argsort(llrs.ravel(), kind="stable")
    held_out_counts = Counts(llrs.ravel()[order], target[order], nontarget[order])
    min_cllr_value = min_cllr(Counts(scores, *counts.sum(axis=0)[::-1]))
    return max(_OPTIMISTIC_SHARE * float(cllr(held_out_counts) - min_cllr_value), 0.0)


def _bin_codes(scores: FloatArray, is_target: NDArray[np.bool_]) -> tuple[IntArray, int]:
    """The place of each value among all, or among bins in which both classes are alike dense."""
    distinct_scores, code = np.unique(scores, return_inverse=True)
    if distinct_scores.size > _MAX_BINS:
        weight = np.where(is_target, 1 / max(is_target.sum(), 1), 1 / max((~is_target).sum(), 1))
        share = np.cumsum(np.bincount(code, weight))
        code = (share / share[-1] * _MAX_BINS).astype(np.int64).clip(max=_MAX_BINS - 1)[code]
        code = np.unique(code, return_inverse=True)[1]
    return code, int(code.max(initial=-1)) + 1
