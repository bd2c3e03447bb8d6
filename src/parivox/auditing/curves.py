"""Error curves as they are written: exact points, thinned by less than can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from parivox.core.counts import Counts, FloatArray

__all__ = ["THINNING", "det_rows"]

THINNING = 0.01
"""In probits: no point left out lies further than this from a kept one, on either axis."""


def det_rows(counts: Counts) -> dict[str, Any]:
    """Step points of one cell's curve for ``det.parquet``; none where a class is missing."""
    curve = counts.curve
    fpr, fnr = curve.fpr, curve.fnr
    kept = _kept(fpr, fnr) if counts.n_target and counts.n_nontarget else np.empty(0, dtype=int)
    return {
        "threshold": curve.thresholds[kept].tolist(),
        "fpr": fpr[kept].tolist(),
        "fnr": fnr[kept].tolist(),
    }


def _kept(fpr: FloatArray, fnr: FloatArray) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Indices of the points to keep: the first and last of each tile of the probit plane."""
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import

    with np.errstate(divide="ignore"):
        across, up = (np.floor(np.clip(ndtri(rate), -9, 9) / THINNING) for rate in (fpr, fnr))
    moved = (across[1:] != across[:-1]) | (up[1:] != up[:-1])
    first = np.concatenate(([True], moved))
    last = np.concatenate((moved, [True]))
    return np.flatnonzero(first | last)
