"""Metrics of scores that are natural-log likelihood ratios (docs/methods/costs.md#cllr).

``cllr`` measures calibration and discrimination together, ``min_cllr`` discrimination alone
(any order-keeping recalibration leaves it unchanged), ``calibration_loss`` their difference. They
take `parivox.core.counts.Counts` of shape ``[...]``, or scores and labels of trials; NaN
without targets or nontargets.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np

from parivox.core.counts import as_counts, sum_over_trials

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import Counts, FloatArray, IntArray

# Beyond this, blocks are pooled one by one instead: no ordinary curve needs as many passes.
_MAX_HULL_PASSES = 50
# Products of numbers of targets and nontargets below this fit int64.
_MAX_INT64_PRODUCT = 2.0**61


@overload
def cllr(scores: ArrayLike, labels: ArrayLike, *, base: float = ...) -> np.float64: ...


@overload
def cllr(scores: Counts, labels: None = None, *, base: float = ...) -> FloatArray: ...


def cllr(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray | np.float64:
    """Return the cost of log likelihood ratios: mean loss in bits over all priors.

    In [0, inf]; 1 is worth nothing, lower is better. inf if a target scores -inf or a nontarget
    +inf. docs/methods/costs.md#cllr; Brummer and du Preez (2006), Application-independent
    evaluation of speaker detection. `base` is that of the logarithms.

    Examples
    --------
    >>> float(cllr([0.0, 0.0], [1, 0]))
    1.0
    """
    counts = as_counts(scores, labels)
    natural_llrs = counts.values * math.log(base)
    with np.errstate(invalid="ignore", divide="ignore"):
        target_loss = sum_over_trials(natural_llrs, counts.target, lambda s: _softplus(-s))
        nontarget_loss = sum_over_trials(natural_llrs, counts.nontarget, _softplus)
        nats = target_loss / counts.n_target + nontarget_loss / counts.n_nontarget
    return np.asarray(nats / (2 * np.log(2)))[()]


@overload
def min_cllr(scores: ArrayLike, labels: ArrayLike) -> np.float64: ...


@overload
def min_cllr(scores: Counts, labels: None = None) -> FloatArray: ...


def min_cllr(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None
) -> FloatArray | np.float64:
    """Return Cllr after the best order-keeping recalibration of the same scores.

    Bits, in [0, 1]; lower is better. Takes any scores, higher for more alike. Trials of equal score
    are recalibrated together (BOSARIS breaks ties by input order).
    docs/methods/costs.md#minimum-cllr.

    Examples
    --------
    >>> float(min_cllr([3.0, 2.0, 1.0], [1, 1, 0])), float(min_cllr([0.0, 0.0], [1, 0]))
    (0.0, 1.0)
    """
    counts = as_counts(scores, labels)
    n_target, n_nontarget = (n.reshape(-1) for n in (counts.n_target, counts.n_nontarget))
    targets, nontargets, cell = _posterior_blocks(counts)
    is_mixed = (targets > 0) & (nontargets > 0)  # blocks of one class cost nothing
    targets, nontargets, cell = targets[is_mixed], nontargets[is_mixed], cell[is_mixed]
    target_share, nontarget_share = targets / n_target[cell], nontargets / n_nontarget[cell]
    log_ratio = np.log(target_share) - np.log(nontarget_share)
    loss = target_share * np.logaddexp(0, -log_ratio) + nontarget_share * np.logaddexp(0, log_ratio)
    bits = np.bincount(cell, loss, minlength=n_target.size) / (2 * np.log(2))
    cell_min_cllr = np.where((n_target > 0) & (n_nontarget > 0), bits, np.nan)
    return cell_min_cllr.reshape(counts.n_target.shape)[()]


@overload
def calibration_loss(scores: ArrayLike, labels: ArrayLike, *, base: float = ...) -> np.float64: ...


@overload
def calibration_loss(scores: Counts, labels: None = None, *, base: float = ...) -> FloatArray: ...


def calibration_loss(
    scores: Counts | ArrayLike, labels: ArrayLike | None = None, *, base: float = math.e
) -> FloatArray | np.float64:
    """Return Cllr minus minimum Cllr: what miscalibration costs.

    Bits, in [0, inf]; lower is better. docs/methods/costs.md#calibration. `base` is that
    of the logarithms.

    Examples
    --------
    >>> float(calibration_loss([0.0, 0.0], [1, 0]))
    0.0
    """
    counts = as_counts(scores, labels)
    return cllr(counts, base=base) - min_cllr(counts)


def _softplus(llrs: FloatArray) -> FloatArray:
    """Return ln(1 + exp(llrs)) without overflow."""
    return np.asarray(np.log1p(np.exp(-np.abs(llrs))) + np.maximum(llrs, 0.0))


def _posterior_blocks(counts: Counts) -> tuple[IntArray, IntArray, IntArray]:
    """Return targets and nontargets of the blocks of equal posterior, and each block's cell.

    Blocks end at the vertices of the lower convex hull of (nontargets, targets) cumulated over
    rising scores, as pooling adjacent violators finds them. A point above the line between two
    others of the set is no vertex, so all such points go at once; a dozen passes leave the hull
    of any ordinary curve. All cells are in one row, each with its last point kept.
    """
    n_values = counts.values.size
    may_turn = counts.nontarget.reshape(counts.n_target.size, n_values) > 0
    is_last = np.zeros_like(may_turn)
    is_last[:, -1:] = True
    may_turn |= is_last
    points = np.flatnonzero(may_turn)
    # the curve starts at 0, and each cell where the one before it ended
    nontargets_below, targets_below = (
        np.append(0, np.cumsum(trials, dtype=np.int64).take(points))
        for trials in (counts.nontarget, counts.target)
    )
    is_end = np.append(True, is_last.reshape(-1).take(points))
    # only a nontarget followed by a target can turn the curve upwards
    is_vertex = is_end.copy()
    is_vertex[:-1] |= targets_below[1:] != targets_below[:-1]
    largest_product = float(counts.n_target.max(initial=0)) * float(
        counts.n_nontarget.max(initial=0)
    )
    product_type = np.float64 if largest_product >= _MAX_INT64_PRODUCT else np.int64
    for _ in range(_MAX_HULL_PASSES):
        # several times faster than indexing with truth values
        vertices = np.flatnonzero(is_vertex)
        is_end = is_end.take(vertices)
        nontargets_below = nontargets_below.take(vertices)
        targets_below = targets_below.take(vertices)
        nontargets = nontargets_below[1:] - nontargets_below[:-1]
        targets = targets_below[1:] - targets_below[:-1]
        is_vertex = is_end.copy()
        target_steps = targets.astype(product_type, copy=False)
        nontarget_steps = nontargets.astype(product_type, copy=False)
        is_vertex[1:-1] |= (
            target_steps[:-1] * nontarget_steps[1:] < target_steps[1:] * nontarget_steps[:-1]
        )
        if is_vertex.all():
            break
    cell = np.cumsum(is_end)[:-1] - 1
    if is_vertex.all():
        return targets, nontargets, cell
    has_trials = targets + nontargets > 0
    return _pool_violators(targets[has_trials], nontargets[has_trials], cell[has_trials])


def _pool_violators(
    target: IntArray, nontarget: IntArray, cell: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the same blocks as `_posterior_blocks`, cell by cell, by pooling violators."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - 0.4 s, rarely needed

    block_starts = []
    for start, end in pairwise([*np.flatnonzero(np.diff(cell, prepend=-1)).tolist(), cell.size]):
        trials = target[start:end] + nontarget[start:end]
        blocks = isotonic_regression(target[start:end] / trials, weights=trials).blocks
        block_starts.append(start + blocks[:-1])
    starts = np.concatenate(block_starts)
    return np.add.reduceat(target, starts), np.add.reduceat(nontarget, starts), cell[starts]
