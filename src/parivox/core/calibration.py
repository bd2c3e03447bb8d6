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

_STEPS, _FAR, _ENOUGH = 100, 1e-2, 1e-12
"""Steps of Newton's at most; by how much one may change the cost unseen, and the last at most."""


_OPTIMISTIC_SHARE = 0.7
"""Of what lies between minimum Cllr and that of maps of other speakers; by simulation."""
_MOST_BINS = 4096
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
    middle, half = (low + high) / 2, (high - low) / 2
    x = (counts.values - middle) / half
    of_target, of_nontarget = counts.target / counts.n_target, counts.nontarget / counts.n_nontarget
    weight = of_target + of_nontarget

    def cost(at: FloatArray) -> float:
        z = at[0] * x + at[1]
        softplus = np.logaddexp(0, z)
        return float(of_nontarget @ softplus + of_target @ (softplus - z))

    at = np.zeros(2)
    if start is not None:
        at = np.array([start.slope * half, start.offset + start.slope * middle])
    for _ in range(_STEPS):
        p = expit(at[0] * x + at[1])
        pull = np.array([(p * weight - of_target) @ x, (p * weight - of_target).sum()])
        bend = p * (1 - p) * weight
        across = bend @ x
        step = np.linalg.solve([[bend @ (x * x), across], [across, bend.sum()]], pull)
        falls_by = step @ pull / 2
        while falls_by > _FAR and cost(at - step) > cost(at):
            step /= 2
        at = at - step
        if falls_by < _ENOUGH:
            break
    slope = float(at[0] / half)
    return Logistic(slope, float(at[1] - slope * middle))


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
    ends = np.ones(1)
    target, nontarget = (
        np.concatenate((ends, one, ends)) for one in (counts.target, counts.nontarget)
    )
    trials = target + nontarget
    blocks = isotonic_regression(target / trials, weights=trials).blocks
    llrs = np.log(np.add.reduceat(target, blocks[:-1]) / np.add.reduceat(nontarget, blocks[:-1]))
    llrs -= np.log(counts.n_target / counts.n_nontarget)
    # from the first to the last score of each block; the trials added have none
    first, last = np.maximum(blocks[:-1] - 1, 0), np.minimum(blocks[1:] - 2, counts.values.size - 1)
    places = np.stack((first, last), axis=1)[first <= last].ravel()
    is_new = np.diff(places, prepend=-1) > 0
    return Isotonic(counts.values[places][is_new], np.repeat(llrs[first <= last], 2)[is_new])


def unfit(counts: Counts, of: type[Line] = Logistic) -> str:
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
    if of is Logistic:
        target, nontarget = counts.values[counts.target > 0], counts.values[counts.nontarget > 0]
        if target[0] >= nontarget[-1]:
            return "every target trial outscores all nontarget trials: the slope has no limit"
        if target[-1] <= nontarget[0]:
            return "every nontarget trial outscores all target trials"
    return ""


def optimism(values: ArrayLike, targets: ArrayLike, sets: ArrayLike) -> float:
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
    code, n_bins = _bins(np.asarray(values, dtype=np.float64), is_target)
    fold_sets, set_code = np.unique(np.asarray(sets), return_inverse=True)
    cell = (set_code * 2 + is_target) * n_bins + code
    counts = np.bincount(cell, minlength=fold_sets.size * 2 * n_bins).reshape(-1, 2, n_bins)
    scores = np.arange(n_bins, dtype=np.float64)
    llrs = np.zeros((fold_sets.size, n_bins))  # nothing is said where nothing can be learned
    for i, fold_set in enumerate(fold_sets.tolist()):
        nontarget, target = counts[(fold_sets & fold_set) == 0].sum(axis=0)
        is_seen = (target + nontarget) > 0
        if is_seen.sum() > 1 and target.any() and nontarget.any():
            seen = Counts(scores[is_seen], target[is_seen], nontarget[is_seen])
            llrs[i] = isotonic(seen).llr(scores)
    nontarget, target = counts.swapaxes(0, 1).reshape(2, -1)
    order = np.argsort(llrs.ravel(), kind="stable")
    held_out_counts = Counts(llrs.ravel()[order], target[order], nontarget[order])
    least = min_cllr(Counts(scores, *counts.sum(axis=0)[::-1]))
    return max(_OPTIMISTIC_SHARE * float(cllr(held_out_counts) - least), 0.0)


def _bins(values: FloatArray, is_target: NDArray[np.bool_]) -> tuple[IntArray, int]:
    """The place of each value among all, or among bins in which both classes are alike dense."""
    distinct, code = np.unique(values, return_inverse=True)
    if distinct.size > _MOST_BINS:
        weight = np.where(is_target, 1 / max(is_target.sum(), 1), 1 / max((~is_target).sum(), 1))
        share = np.cumsum(np.bincount(code, weight))
        code = (share / share[-1] * _MOST_BINS).astype(np.int64).clip(max=_MOST_BINS - 1)[code]
        code = np.unique(code, return_inverse=True)[1]
    return code, int(code.max(initial=-1)) + 1
