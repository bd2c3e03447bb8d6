"""Interval of the standard deviation between groups that noise does not explain.

What is observed is the true value of each group and noise, so its variance over the groups of a
true spread s is, with the direction d in which the groups were seen to differ and noise e,

    var(s d + e) = s^2 + 2 s cov(d, e) + var(e).

The interval holds every s whose central share of these, over draws of e, has the observed
variance in it. It is the groups at hand that are told of, not a wider population of groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = ["Between", "spread_interval"]

_FEWEST = 3
_MOST_LOST = 0.05


class Between(NamedTuple):
    """Limits of a standard deviation between groups, at least 0, shape (...)."""

    low: FloatArray
    high: FloatArray


def spread_interval(values: ArrayLike, noise: ArrayLike, confidence: float = 0.95) -> Between:
    """Interval of the spread of groups beyond noise, by inverting draws of the noise.

    See docs/methods/noise-floors.md#tau-log.

    Parameters
    ----------
    values : array_like of shape (..., group)
        What was observed, such as ln rates. NaN leaves a group out.
    noise : array_like of shape (replicate, ..., group)
        Draws of how far off each may be, such as ln rates of a fair system; what all groups have
        in common does not count.
    confidence : float in (0, 1)

    Returns
    -------
    Between
        In units of the values, lower is fairer. The lower limit is 0 where noise alone exceeds
        the observed variance often enough; the upper one is never below that of groups which
        vary as much as noise does on average. NaN with fewer than three groups, or where more
        than 5 % of the draws have a group undefined. Holds the truth in .92 to .99 at .95 (see
        the study of coverage).

    Examples
    --------
    >>> noise = [[0.1, -0.1, 0.0], [-0.1, 0.2, -0.1], [0.0, 0.1, -0.2]]
    >>> found = spread_interval([-1.0, 0.0, 1.0], noise)
    >>> bool(0.8 < found.low < 1.0 < found.high < 1.3)
    True
    """
    x, e = (np.asarray(a, dtype=np.float64) for a in (values, noise))
    known = ~np.isnan(x)
    n = known.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen, drawn = _centred(x, known), _centred(e, known)
        observed = (seen**2).sum(axis=-1) / (n - 1)
        direction = np.where(observed > 0, 1 / np.sqrt(observed), 0)[..., None] * seen
        along = (direction * drawn).sum(axis=-1) / (n - 1)
        alone = (drawn**2).sum(axis=-1) / (n - 1)
    lost = np.isnan(alone)
    refused = (n < _FEWEST) | (lost.mean(axis=0) > _MOST_LOST) | ~np.isfinite(observed)
    share = (1 - confidence) / 2
    average = np.where(lost, 0, alone).sum(axis=0) / np.maximum((~lost).sum(axis=0), 1)
    low = _solved(observed, along, alone, is_low=True)
    high = _solved(np.maximum(observed, average), along, alone, is_low=False)
    kept = (~lost).sum(axis=0)
    ends = []
    for found, at in ((low, share), (high, 1 - share)):
        rising = np.sort(np.where(lost, np.inf, found), axis=0)
        place = np.rint(np.maximum(kept - 1, 0) * at).astype(np.intp)
        end = np.take_along_axis(rising, place[None], axis=0)[0]
        ends.append(np.where(refused, np.nan, end)[()])
    return Between(*ends)


def _centred(values: FloatArray, known: FloatArray) -> FloatArray:
    """Off the mean of the groups that are known; 0 for the others."""
    at = np.where(known, values, 0)
    mean = at.sum(axis=-1, keepdims=True) / known.sum(axis=-1)[..., None]
    return np.where(known, at - mean, 0)


def _solved(
    observed: FloatArray, along: FloatArray, alone: FloatArray, *, is_low: bool
) -> FloatArray:
    """The spread with which each draw of noise gives the observed variance; 0 for none."""
    inside = along**2 + observed - alone
    found = np.maximum(np.sqrt(np.maximum(inside, 0)) - along, 0)
    none = (alone >= observed) if is_low else (inside < 0)  # noise alone gives as much, or more
    return np.where(none, 0.0, found)
