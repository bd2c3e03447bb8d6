"""Maps from scores to natural-log likelihood ratios, found on counts of trials.

See docs/methods/calibration.md#calibrators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from parivox.core.counts import Counts, FloatArray

_STEPS, _FAR, _ENOUGH = 100, 1e-2, 1e-12
"""Steps of Newton's at most; by how much one may change the cost unseen, and the last at most."""


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
