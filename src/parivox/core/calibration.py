"""Maps from scores to natural-log likelihood ratios, fitted to counts of trials.

See docs/methods/costs.md#calibrators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts
from parivox.core.llr import cllr, min_cllr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

_MAX_NEWTON_STEPS = 100
# A step that should lower the cost by more than this is checked, and halved if it does not.
_MIN_CHECKED_FALL = 1e-2
# A step that should lower the cost by less than this is the last.
_CONVERGED_FALL = 1e-12
# Share of the difference between minimum Cllr and the Cllr of maps fitted to other speakers that
# is optimism, by simulation (docs/methods/costs.md#optimism).
_OPTIMISTIC_SHARE = 0.7
# With more distinct scores than this, the optimism is computed in bins of scores.
_MAX_BINS = 4096


class Logistic(NamedTuple):
    """A straight line; NaN where none can be fitted."""

    slope: float
    offset: float

    def llr(self, scores: FloatArray) -> FloatArray:
        """Return log likelihood ratios of scores, shape (trial,)."""
        return self.slope * scores + self.offset


class Isotonic(NamedTuple):
    """A line through rising points, level below the first and above the last."""

    scores: FloatArray
    llrs: FloatArray

    def llr(self, scores: FloatArray) -> FloatArray:
        """Return log likelihood ratios of scores, shape (trial,)."""
        return np.interp(scores, self.scores, self.llrs)


Line = Logistic | Isotonic


def logistic(counts: Counts, start: Logistic | None = None) -> Logistic:
    """Find the line of smallest Cllr.

    See docs/methods/costs.md#logistic; Brummer and du Preez (2006).

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
    target_weight = counts.target / counts.n_target
    nontarget_weight = counts.nontarget / counts.n_nontarget
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
        residual = posterior * weight - target_weight
        gradient = np.array([residual @ scaled_scores, residual.sum()])
        information = posterior * (1 - posterior) * weight
        mixed = information @ scaled_scores
        hessian = [
            [information @ (scaled_scores * scaled_scores), mixed],
            [mixed, information.sum()],
        ]
        step = np.linalg.solve(hessian, gradient)
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

    See docs/methods/costs.md#isotonic. One target and one nontarget trial are added at either
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
    target = np.concatenate((one_trial, counts.target, one_trial))
    nontarget = np.concatenate((one_trial, counts.nontarget, one_trial))
    trials = target + nontarget
    blocks = isotonic_regression(target / trials, weights=trials).blocks
    llrs = np.log(np.add.reduceat(target, blocks[:-1]) / np.add.reduceat(nontarget, blocks[:-1]))
    llrs -= np.log(counts.n_target / counts.n_nontarget)
    # from the first to the last score of each block; the added trials have no score
    first_score = np.maximum(blocks[:-1] - 1, 0)
    last_score = np.minimum(blocks[1:] - 2, counts.values.size - 1)
    has_scores = first_score <= last_score
    score_indices = np.stack((first_score, last_score), axis=1)[has_scores].ravel()
    is_new = np.diff(score_indices, prepend=-1) > 0  # a block of one score has one point
    block_llrs = np.repeat(llrs[has_scores], 2)
    return Isotonic(counts.values[score_indices][is_new], block_llrs[is_new])


def unfit(counts: Counts, kind: type[Line] = Logistic) -> str:
    """Return why no calibration can be fitted to counts, as a code; empty where one can.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> unfit(as_counts([1.0, 2.0], [0, 1]))
    'separate_classes'
    """
    if not (counts.n_target and counts.n_nontarget):
        return "no_target_trials" if counts.n_nontarget else "no_nontarget_trials"
    if not np.isfinite(counts.values[[0, -1]]).all():
        return "infinite_scores"
    if counts.values.size < 2:
        return "equal_scores"
    if kind is Logistic:
        target, nontarget = counts.values[counts.target > 0], counts.values[counts.nontarget > 0]
        if target[0] >= nontarget[-1]:
            return "separate_classes"
        if target[-1] <= nontarget[0]:
            return "inverted_classes"
    return ""


def optimism(values: ArrayLike, targets: ArrayLike, sets: ArrayLike) -> float:
    """Return by how many bits minimum Cllr is too small, as its map is fitted to the same trials.

    Maps fitted without the speakers of a trial make Cllr too large, by less than minimum Cllr is
    too small: seven tenths of the difference are taken.
    See docs/methods/costs.md#optimism.

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
    bin_code, n_bins = _bin_codes(np.asarray(values, dtype=np.float64), is_target)
    fold_sets, set_code = np.unique(np.asarray(sets), return_inverse=True)
    cell = (set_code * 2 + is_target) * n_bins + bin_code
    counts = np.bincount(cell, minlength=fold_sets.size * 2 * n_bins).reshape(-1, 2, n_bins)
    scores = np.arange(n_bins, dtype=np.float64)
    llrs = np.zeros((fold_sets.size, n_bins))  # 0, no information, where no map can be fitted
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
    """Return the index of each score among all, or of its bin, and how many there are.

    Bins hold equal weight, where both classes weigh the same.
    """
    distinct_scores, code = np.unique(scores, return_inverse=True)
    if distinct_scores.size > _MAX_BINS:
        weight = np.where(is_target, 1 / max(is_target.sum(), 1), 1 / max((~is_target).sum(), 1))
        share = np.cumsum(np.bincount(code, weight))
        code = (share / share[-1] * _MAX_BINS).astype(np.int64).clip(max=_MAX_BINS - 1)[code]
        code = np.unique(code, return_inverse=True)[1]
    return code, int(code.max(initial=-1)) + 1
