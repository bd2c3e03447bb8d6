"""Intervals as if trials were independent, by name, for comparison.

See docs/methods/uncertainty.md#intervals-over-trials.

They are far too short for speaker verification, where trials share speakers
(docs/methods/uncertainty.md#why-speakers), unless they are given effective numbers: errors / deff
of trials / deff. All take scalars or arrays that broadcast and return limits in [0, 1]; NaN without
trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.moments import over

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = ["clopper_pearson", "jeffreys", "wilson"]


def wilson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95, *, df: ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval.

    Parameters
    ----------
    errors, trials : array_like
        At least 0; may be effective numbers.
    confidence : float
        In (0, 1).
    df : array_like
        Degrees of freedom of the quantile of t; inf for that of the normal distribution.

    Returns
    -------
    low, high : float64

    Examples
    --------
    >>> low, high = wilson(3, 1000)
    >>> round(float(low), 6), round(float(high), 6)
    (0.001021, 0.008783)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    z2 = stdtrit(df, 0.5 + confidence / 2) ** 2
    rate = over(k, n)
    middle = (k + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (rate * (1 - rate) * n + z2 / 4)) / (n + z2)
    low = np.where(k == 0, 0, np.maximum(middle - half, 0))
    high = np.where(k == n, 1, np.minimum(middle + half, 1))
    return np.where(n > 0, low, np.nan)[()], np.where(n > 0, high, np.nan)[()]


def clopper_pearson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's interval, which covers at least as often as it says.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 1000)
    >>> float(low), round(float(high), 6)
    (0.0, 0.003682)
    """
    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    return _beta(k, n, (k, n - k + 1), (k + 1, n - k), confidence)


def jeffreys(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed interval of the posterior under Jeffreys' prior; 0 and 1 where at the ends.

    Examples
    --------
    >>> low, high = jeffreys(0, 1000)
    >>> float(low), round(float(high), 6)
    (0.0, 0.002508)
    """
    k, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(trials, np.float64))
    shape = (k + 0.5, n - k + 0.5)
    return _beta(k, n, shape, shape, confidence)


def _beta(
    k: FloatArray,
    n: FloatArray,
    below: tuple[FloatArray, FloatArray],
    above: tuple[FloatArray, FloatArray],
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of two beta distributions, at the ends 0 and 1."""
    from scipy.special import betaincinv  # noqa: PLC0415 - takes time to load

    tail = (1 - confidence) / 2
    low = np.where(k == 0, 0, betaincinv(*below, tail))
    high = np.where(k == n, 1, betaincinv(*above, 1 - tail))
    return np.where(n > 0, low, np.nan)[()], np.where(n > 0, high, np.nan)[()]
