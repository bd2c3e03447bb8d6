"""Metrics of scores that are natural-log likelihood ratios (METHODS 1.5).

``cllr`` measures calibration and discrimination together, ``min_cllr`` discrimination alone
(any order-keeping recalibration leaves it unchanged), ``calibration_loss`` their difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.counts import as_counts
from parivox.core.separation import sum_over_trials

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import Counts, FloatArray, IntArray

__all__ = ["calibration_loss", "cllr", "min_cllr"]


_PASSES = 50


def cllr(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray:
    """Cost of log likelihood ratios: mean loss in bits over all priors.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
        Natural-log likelihood ratios.
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.

    Returns
    -------
    float64 of shape (...)
        Bits, in [0, inf]; 1 is worth nothing, lower is better. inf if a target scores -inf or
        a nontarget +inf. NaN without targets or nontargets.

    References
    ----------
    Brummer and du Preez (2006), Application-independent evaluation of speaker detection.

    Examples
    --------
    >>> float(cllr([0.0, 0.0], [1, 0]))
    1.0
    """
    counts = as_counts(scores, labels)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_target = sum_over_trials(counts.values, counts.target, lambda s: _softplus(-s))
        of_nontarget = sum_over_trials(counts.values, counts.nontarget, _softplus)
        nats = of_target / counts.n_target + of_nontarget / counts.n_nontarget
    return np.asarray(nats / (2 * np.log(2)))[()]


def min_cllr(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray:
    """Cllr after the best order-keeping recalibration of the same scores.

    Trials of equal score are recalibrated together (BOSARIS breaks ties by input order).

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
        Any scores, higher for more alike.
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.

    Returns
    -------
    float64 of shape (...)
        Bits, in [0, 1]; lower is better. NaN without targets or nontargets.

    Examples
    --------
    >>> float(min_cllr([3.0, 2.0, 1.0], [1, 1, 0])), float(min_cllr([0.0, 0.0], [1, 0]))
    (0.0, 1.0)
    """
    counts = as_counts(scores, labels)
    value = np.full(counts.n_target.shape, np.nan)
    for cell in np.ndindex(value.shape):
        if counts.n_target[cell] > 0 and counts.n_nontarget[cell] > 0:
            value[cell] = _min_cllr(counts.target[cell], counts.nontarget[cell])
    return value[()]


def calibration_loss(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray:
    """Cllr minus minimum Cllr: what miscalibration costs.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
        Natural-log likelihood ratios.
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.

    Returns
    -------
    float64 of shape (...)
        Bits, in [0, inf]; lower is better. NaN without targets or nontargets.

    Examples
    --------
    >>> float(calibration_loss([0.0, 0.0], [1, 0]))
    0.0
    """
    counts = as_counts(scores, labels)
    return cllr(counts) - min_cllr(counts)


def _softplus(s: FloatArray) -> FloatArray:
    """ln(1 + exp(s)) without overflow."""
    return np.asarray(np.log1p(np.exp(-np.abs(s))) + np.maximum(s, 0.0))


def _min_cllr(target: IntArray, nontarget: IntArray) -> float:
    own = target + nontarget > 0
    if not own.all():
        target, nontarget = target[own], nontarget[own]
    ends = _blocks(target, nontarget)
    targets = np.diff(np.cumsum(target)[ends], prepend=0)
    nontargets = np.diff(np.cumsum(nontarget)[ends], prepend=0)
    n_target, n_nontarget = targets.sum(), nontargets.sum()
    mixed = (targets > 0) & (nontargets > 0)  # blocks of one class cost nothing
    targets, nontargets = targets[mixed], nontargets[mixed]
    log_ratio = np.log(targets / n_target) - np.log(nontargets / n_nontarget)
    loss = targets @ np.logaddexp(0, -log_ratio) / n_target
    loss += nontargets @ np.logaddexp(0, log_ratio) / n_nontarget
    return float(loss / (2 * np.log(2)))


def _blocks(target: IntArray, nontarget: IntArray) -> NDArray[np.intp]:
    """Last value of each block of equal posterior, as pooling adjacent violators finds them.

    Blocks end at the vertices of the lower convex hull of (nontargets, targets) cumulated over
    rising scores. A point above the line between two others of the set is no vertex, so all such
    points go at once; a dozen passes leave the hull of any ordinary curve.
    """
    # only a nontarget followed by a target can turn the curve upwards
    corners = np.flatnonzero((nontarget[:-1] > 0) & (target[1:] > 0))
    ends = np.append(corners, target.size - 1)
    x = np.concatenate(([0], np.cumsum(nontarget)[ends]))
    y = np.concatenate(([0], np.cumsum(target)[ends]))
    for _ in range(_PASSES):
        across, up = np.diff(x), np.diff(y)
        convex = up[:-1] * across[1:] < up[1:] * across[:-1]
        if convex.all():
            return ends
        ends = ends[np.append(convex, True)]
        keep = np.concatenate(([True], convex, [True]))
        x, y = x[keep], y[keep]
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - 0.4 s, rarely needed

    trials = np.diff(x + y)
    blocks = isotonic_regression(np.diff(y) / trials, weights=trials).blocks
    return np.asarray(ends[blocks[1:] - 1])
