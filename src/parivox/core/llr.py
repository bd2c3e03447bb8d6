"""Metrics of scores that are natural-log likelihood ratios (docs/methods/calibration.md).

``cllr`` measures calibration and discrimination together, ``min_cllr`` discrimination alone
(any order-keeping recalibration leaves it unchanged), ``calibration_loss`` their difference. They
take `parivox.core.counts.Counts` of shape ``[...]``, or scores and labels of trials; NaN
without targets or nontargets.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.counts import as_counts, sum_over_trials

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import Counts, FloatArray, IntArray

_PASSES = 50


def cllr(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray:
    """Cost of log likelihood ratios: mean loss in bits over all priors.

    In [0, inf]; 1 is worth nothing, lower is better. inf if a target scores -inf or a nontarget
    +inf. docs/methods/calibration.md#cllr; Brummer and du Preez (2006), Application-independent
    evaluation of speaker detection. `base` is that of the logarithms.

    Examples
    --------
    >>> float(cllr([0.0, 0.0], [1, 0]))
    1.0
    """
    counts = as_counts(scores, labels)
    values = counts.values * math.log(base)
    with np.errstate(invalid="ignore", divide="ignore"):
        of_target = sum_over_trials(values, counts.target, lambda s: _softplus(-s))
        of_nontarget = sum_over_trials(values, counts.nontarget, _softplus)
        nats = of_target / counts.n_target + of_nontarget / counts.n_nontarget
    return np.asarray(nats / (2 * np.log(2)))[()]


def min_cllr(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray:
    """Cllr after the best order-keeping recalibration of the same scores.

    Bits, in [0, 1]; lower is better. Of any scores, higher for more alike. Trials of equal score
    are recalibrated together (BOSARIS breaks ties by input order).
    docs/methods/calibration.md#minimum-cllr.

    Examples
    --------
    >>> float(min_cllr([3.0, 2.0, 1.0], [1, 1, 0])), float(min_cllr([0.0, 0.0], [1, 0]))
    (0.0, 1.0)
    """
    counts = as_counts(scores, labels)
    n_target, n_nontarget = (n.reshape(-1) for n in (counts.n_target, counts.n_nontarget))
    targets, nontargets, cell = _blocks(counts)
    mixed = (targets > 0) & (nontargets > 0)  # blocks of one class cost nothing
    targets, nontargets, cell = targets[mixed], nontargets[mixed], cell[mixed]
    of_target, of_nontarget = targets / n_target[cell], nontargets / n_nontarget[cell]
    log_ratio = np.log(of_target) - np.log(of_nontarget)
    loss = of_target * np.logaddexp(0, -log_ratio) + of_nontarget * np.logaddexp(0, log_ratio)
    bits = np.bincount(cell, loss, minlength=n_target.size) / (2 * np.log(2))
    value = np.where((n_target > 0) & (n_nontarget > 0), bits, np.nan)
    return value.reshape(counts.n_target.shape)[()]


def calibration_loss(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray:
    """Cllr minus minimum Cllr: what miscalibration costs.

    Bits, in [0, inf]; lower is better. docs/methods/calibration.md#calibration-loss. `base` is that
    of the logarithms.

    Examples
    --------
    >>> float(calibration_loss([0.0, 0.0], [1, 0]))
    0.0
    """
    counts = as_counts(scores, labels)
    return cllr(counts, base=base) - min_cllr(counts)


def _softplus(s: FloatArray) -> FloatArray:
    """ln(1 + exp(s)) without overflow."""
    return np.asarray(np.log1p(np.exp(-np.abs(s))) + np.maximum(s, 0.0))


def _blocks(counts: Counts) -> tuple[IntArray, IntArray, IntArray]:
    """Targets and nontargets of the blocks of equal posterior, and the cell of each block.

    Blocks end at the vertices of the lower convex hull of (nontargets, targets) cumulated over
    rising scores, as pooling adjacent violators finds them. A point above the line between two
    others of the set is no vertex, so all such points go at once; a dozen passes leave the hull
    of any ordinary curve. All cells stand in one row, each with its last point kept; targets
    that outscore all nontargets of their cell are left out.
    """
    curve, size = counts.curve, counts.values.size
    # only a nontarget followed by a target can turn the curve upwards
    at_nontarget = np.flatnonzero(counts.nontarget > 0)
    cell = at_nontarget // max(size, 1)
    # what is rejected at the next higher threshold; thresholds fall, from +inf
    at = (2 * size + 1) * cell + (size - 1) - at_nontarget
    y = curve.fn.reshape(-1).take(at)
    is_last = np.append(cell[1:] != cell[:-1], True)[: cell.size]
    ends = np.flatnonzero(np.append(y[1:] != y[:-1], True)[: cell.size] | is_last)
    y, cell, is_last, at = y[ends], cell[ends], is_last[ends], at[ends]
    x = counts.n_nontarget.reshape(-1)[cell] - curve.fp.reshape(-1)[at]
    # each cell starts where the one before it ended
    x, y = (np.append(0, one + _before(one, is_last)) for one in (x, y))
    for _ in range(_PASSES):
        across, up = np.diff(x), np.diff(y)
        keep = up[:-1] * across[1:] < up[1:] * across[:-1]
        keep |= is_last[:-1]
        if keep.all():
            break
        keep = np.append(keep, True)
        cell, is_last = cell[keep], is_last[keep]
        keep = np.append(True, keep)
        x, y = x[keep], y[keep]
    else:
        return _pooled(np.diff(y), np.diff(x), cell)
    return np.diff(y), np.diff(x), cell


def _before(total: IntArray, is_last: NDArray[np.bool_]) -> IntArray:
    """Sum of the totals of all earlier cells, at each point."""
    ended = np.cumsum(np.append(0, total[is_last]))
    return np.asarray(ended[np.cumsum(is_last) - is_last])


def _pooled(
    target: IntArray, nontarget: IntArray, cell: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The same, cell by cell, by pooling adjacent violators."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - 0.4 s, rarely needed

    first = []
    for start, end in pairwise([*np.flatnonzero(np.diff(cell, prepend=-1)).tolist(), cell.size]):
        trials = target[start:end] + nontarget[start:end]
        blocks = isotonic_regression(target[start:end] / trials, weights=trials).blocks
        first.append(start + blocks[:-1])
    starts = np.concatenate(first)
    return np.add.reduceat(target, starts), np.add.reduceat(nontarget, starts), cell[starts]
