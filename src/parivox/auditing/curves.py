"""Error curves as they are written: exact points, thinned by less than can be seen."""

from __future__ import annotations

from functools import cache
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.core.counts import Counts, FloatArray, IntArray

__all__ = ["THINNING", "det_rows"]

THINNING = 0.02
"""In probits: no point left out lies further than this from a kept one, on either axis."""
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


def _kept(rising: tuple[IntArray, IntArray], trials: tuple[int, int]) -> NDArray[np.intp]:
    """Indices of the points to keep: those on either side of each line of a probit grid."""
    size = rising[0].size
    found = [np.array([0, size - 1])]
    for accepted, n in zip(rising, trials, strict=True):
        after = np.searchsorted(accepted, _lines() * n)
        found += [after, after - 1]
    return np.unique(np.clip(np.concatenate(found), 0, size - 1))


@cache
def _lines() -> FloatArray:
    """Rates at an even grid of probits, and the least rate above 0 and below 1 that counts."""
    steps = round(_FARTHEST / THINNING)
    half = [erfc(step * THINNING / sqrt(2)) / 2 for step in range(steps + 1)]
    return np.array(sorted({*half, *(1 - rate for rate in half), 5e-324}))
