"""p values from null draws, and p values of many groups at once.

See docs/methods/verdicts.md#many-groups.

A family is one grouping, operating point, measure and reference; it lies along the last axis.
Groups without a p value (NaN) are no members of their family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

# Draws that equal the observed value but for rounding count as equal.
_ROUNDING = 1e-12


def permutation_p(observed: ArrayLike, null: ArrayLike) -> FloatArray:
    """Share of null draws at least as large as the observed value, itself one of them.

    See docs/methods/verdicts.md#p-from-draws.

    Parameters
    ----------
    observed : array_like of shape (...)
    null : array_like of shape (replicate, ...)
        Draws without an effect; NaN draws are left out.

    Returns
    -------
    float64 of shape (...)
        (1 + draws >= observed) / (draws + 1), in (0, 1]; never below 1 / (draws + 1), so that
        no p value claims more than the draws can show. NaN for a NaN observed value, or
        without draws.

    Examples
    --------
    >>> float(permutation_p(0.3, [0.1, 0.3, 0.2, 0.4]))
    0.6
    """
    value, draws = np.asarray(observed, dtype=np.float64), np.asarray(null, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        reach = np.where(np.isinf(value), value, value - _ROUNDING * np.abs(value))
    n = (~np.isnan(draws)).sum(axis=0)
    p = (1 + (draws >= reach).sum(axis=0)) / (n + 1)
    return np.where(np.isnan(value) | (n == 0), np.nan, p)[()]


def holm(p: ArrayLike) -> FloatArray:
    """Holm's adjusted p values: chance of any false claim in the family.

    Parameters
    ----------
    p : array_like of shape (..., group)
        In [0, 1]; NaN is left out.

    Returns
    -------
    float64 of shape (..., group)
        In [0, 1], at least `p`, in the same order; NaN where `p` is. Claims "this group differs"
        made where it is at most 0.05 are all true with probability 0.95, whatever the
        dependence between the groups. Holm (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """
    rising, rank, n, order = _ranked(p)
    found = np.maximum.accumulate(np.minimum(rising * (n - rank + 1), 1), axis=-1)
    return _put_back(found, order)


def benjamini_hochberg(p: ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's adjusted p values: share of false claims among those made.

    Parameters
    ----------
    p : array_like of shape (..., group)
        In [0, 1]; NaN is left out.

    Returns
    -------
    float64 of shape (..., group)
        In [0, 1], at least `p` and at most :func:`holm`, in the same order; NaN where `p` is.
        Of the groups where it is at most 0.05, at most a twentieth are expected to be false
        findings. For screens, not for claims. Benjamini and Hochberg (1995).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.04, 0.04]
    """
    rising, rank, n, order = _ranked(p)
    # NaN stands last: read from there, it is passed over and stays where it is
    scaled = np.minimum(rising * (n / rank), 1)[..., ::-1]
    found = np.fmin.accumulate(scaled, axis=-1)[..., ::-1]
    return _put_back(np.where(np.isnan(rising), np.nan, found), order)


def _ranked(p: ArrayLike) -> tuple[FloatArray, IntArray, IntArray, NDArray[np.intp]]:
    """Rising p values (NaN last), ranks from 1, size of the family, the order."""
    values = np.atleast_1d(np.asarray(p, dtype=np.float64))
    order = np.argsort(values, axis=-1, kind="stable")
    rising = np.take_along_axis(values, order, axis=-1)
    rank = np.arange(1, values.shape[-1] + 1)
    n = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    return rising, rank, n, order


def _put_back(values: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    found = np.empty_like(values)
    np.put_along_axis(found, order, values, axis=-1)
    return found
