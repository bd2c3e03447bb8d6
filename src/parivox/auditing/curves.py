"""Error curves as they are written: exact points, thinned by less than can be seen.

Each cell has a curve of its own, and all cells of one system and list are counted between the
same thresholds, so that whatever moves with a common threshold can be told again.
"""

from __future__ import annotations

from functools import cache
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from parivox.core.counts import Counts, FloatArray, IntArray

THINNING = 0.02
"""In probits: no point left out lies further than this from a kept one, on either axis."""
SPACING = 0.04
"""In probits: steps of the pooled rates from one shared threshold to the next."""
NODES, FEWEST_NODES = 24, 4
"""Shared thresholds at which intervals are told, beside those of the operating points."""
AFFORDED = 1_000_000
"""Trials from which on there are fewer, so that they cost no larger share of an audit."""
_FARTHEST = 8.0  # probits: a rate of 6e-16


def det_rows(counts: Counts) -> dict[str, Any]:
    """Step points of one cell's curve for ``det.parquet``; none where a class is missing."""
    curve = counts.curve
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    kept = np.empty(0, dtype=np.intp)
    if n_target and n_nontarget:
        rising = curve.fp, n_target - curve.fn
        kept = _kept(rising, (n_nontarget, n_target))
    return {
        "threshold": curve.thresholds[kept],
        "fpr": curve.fp[kept] / max(n_nontarget, 1),
        "fnr": curve.fn[kept] / max(n_target, 1),
    }


def shared_thresholds(everything: Counts, audited: Iterable[float]) -> FloatArray:
    """Thresholds that all cells are counted at: rising, the first is -inf.

    Those at which the rates of all trials step through an even grid of probits, the last ones
    without errors, and the audited ones.
    """
    curve = everything.curve
    n_target, n_nontarget = int(everything.n_target), int(everything.n_nontarget)
    found = [np.empty(0, dtype=np.intp)]
    for accepted, n in ((curve.fp, n_nontarget), (n_target - curve.fn, n_target)):
        if n:
            after = np.searchsorted(accepted, _lines(SPACING) * n)
            found += [after, after[:1] - 1]
    stepped = np.unique(np.concatenate(found))
    stepped = stepped[(stepped > 0) & (stepped < curve.thresholds.size)]  # 0 accepts nothing
    every = np.concatenate(([-np.inf], curve.thresholds[stepped], np.fromiter(audited, float)))
    return np.unique(every + 0.0)


def bin_rows(counts: Counts, thresholds: FloatArray) -> dict[str, Any]:
    """Trials of one cell from each threshold up to the next, for ``bins.parquet``."""
    at = counts.at(thresholds)
    return {
        "threshold": thresholds,
        "target": _steps(counts.n_target - at.fn),
        "nontarget": _steps(at.fp),
    }


def nodes(thresholds: FloatArray, n_trials: int) -> FloatArray:
    """A few of the shared thresholds, evenly among them; -inf is none."""
    n = min(max(NODES * AFFORDED // max(n_trials, 1), FEWEST_NODES), NODES)
    at = np.linspace(1, max(thresholds.size - 1, 1), n).round().astype(np.intp)
    return thresholds[np.unique(at)[: thresholds.size - 1]]


def _steps(accepted: IntArray) -> IntArray:
    """Trials accepted at each threshold but not at the next."""
    return -np.diff(accepted, append=0)


def _kept(rising: tuple[IntArray, IntArray], trials: tuple[int, int]) -> NDArray[np.intp]:
    """Indices of the points to keep: those on either side of each line of a probit grid."""
    size = rising[0].size
    found = [np.array([0, size - 1])]
    for accepted, n in zip(rising, trials, strict=True):
        after = np.searchsorted(accepted, _lines(THINNING) * n)
        found += [after, after - 1]
    return np.unique(np.clip(np.concatenate(found), 0, size - 1))


@cache
def _lines(spacing: float) -> FloatArray:
    """Rates at an even grid of probits, and the least rate above 0 and below 1 that counts."""
    steps = round(_FARTHEST / spacing)
    half = [erfc(step * spacing / sqrt(2)) / 2 for step in range(steps + 1)]
    return np.array(sorted({*half, *(1 - rate for rate in half), 5e-324}))
