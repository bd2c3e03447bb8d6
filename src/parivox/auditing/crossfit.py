"""Cross-fitted threshold bias: own thresholds found on other speakers.

See docs/methods/bias-measures.md#cross-fitted-threshold-bias.

A group's own best threshold, found on the very trials that it is judged on, always looks better
than a common one, the more so the fewer trials there are. Here it is found on one half of the
group's speakers and judged on the other half, and the reverse, over several splits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import cdet, min_cdet
from parivox.core.counts import Counts, Curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import Found
    from parivox.core.counts import FloatArray
    from parivox.core.curves_resampled import ResampledCurves

SPLITS = 20
LEAST = 10
"""Speakers of a group below which halves are too small to find a threshold on."""


def halves(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Both halves of the speakers in each split, ``[2 * split, speaker]``.

    Every stratum is split in two; of an odd number, one half has one more by chance. Those of
    stratum -1 are in neither.
    """
    n = strata.size
    shuffled = np.lexsort((rng.random((SPLITS, n)), np.broadcast_to(strata, (SPLITS, n))), axis=-1)
    _, first, size = np.unique(np.sort(strata), return_index=True, return_counts=True)
    place = np.arange(n) - np.repeat(first, size)
    extra = rng.integers(0, 2, (SPLITS, size.size)) * (size % 2)
    in_first = place < np.repeat((size + extra) // 2, size, axis=-1)
    one = np.zeros((SPLITS, n), dtype=np.uint8)
    np.put_along_axis(one, shuffled, in_first.astype(np.uint8), axis=-1)
    return np.concatenate((one, 1 - one)) * (strata >= 0).astype(np.uint8)


def crossfitted(
    curves: ResampledCurves, weights: NDArray[np.integer[Any]], cheapest: Sequence[Found]
) -> list[FloatArray]:
    """Threshold bias of every cell with own thresholds of the other half.

    Parameters
    ----------
    curves
        The trials.
    weights
        :func:`halves` of their speakers.
    cheapest
        The common threshold of each cost.

    Returns
    -------
    list of float64 ndarray of shape (cost, cell)
        Of each block of cells: cost at the common threshold over the cost at own ones, both of
        the same trials: those within a half. May be below 1. NaN where no half has both classes.
    """
    ((_, counted),) = curves.replicates(weights, chunk=len(weights))
    found = []
    for cells in counted:
        rows = np.full((len(cheapest), len(cells)), np.nan)
        for j, counts in enumerate(cells):
            for i, one in enumerate(cheapest):
                if not one.reason:
                    rows[i, j] = _bias(counts, one)
        found.append(rows)
    return found


def _bias(counts: Counts, common: Found) -> float:
    """Cost at the common threshold over that at those of the other half, of one cell."""
    cost = common.point.cost
    assert cost is not None
    n = len(counts.target) // 2
    other = np.roll(np.arange(2 * n), n)
    own = min_cdet(counts, cost=cost).threshold[other]  # NaN where a class is missing
    is_known = ~np.isnan(own) & (counts.n_target > 0) & (counts.n_nontarget > 0)
    if not is_known.any():
        return np.nan
    at = counts.at(np.stack((np.broadcast_to(common.threshold, own.shape), own), axis=-1))
    summed = Curve(
        at.thresholds[0],
        *(errors[is_known].sum(axis=0) for errors in (at.fp, at.fn)),
        *(trials[is_known].sum(axis=0) for trials in (at.n_target, at.n_nontarget)),
    )
    at_common, at_own = cdet(summed, cost)
    if at_own == 0:
        return 1.0 if at_common == 0 else np.inf
    return float(at_common / at_own)
