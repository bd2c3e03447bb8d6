"""Spread between groups with the part taken out that sampling alone makes.

See docs/methods/noise-floors.md#corrected-variance.

Rates of groups that are alike differ, because each rests on few errors of few speakers. What
is left of their spread after this noise is an estimate of the true one; it falls on either side
of the truth and so below 0, where it is cut off only for display.

Arrays are ``[..., group]``; groups whose rate is NaN are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.groupset import GroupSet
from parivox.core.multiplicity import permutation_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = [
    "Spread",
    "TauLog",
    "corrected_variance",
    "double_corrected_variance",
    "resampled_rates",
    "spread_of_draws",
    "tau_log",
    "tau_log_null",
]

# A spread is told of three groups and more; two groups have a ratio.
_GROUPS = 3


class TauLog(NamedTuple):
    """Noise-corrected spread of ln rates, shape (...).

    Attributes
    ----------
    value : at least 0, lower is fairer
    p : share of fair systems with as large a spread; see
        :func:`~parivox.core.multiplicity.permutation_p`
    """

    value: FloatArray
    p: FloatArray


class Spread(NamedTuple):
    """Median and outer quantiles over draws, shape (...); may be negative."""

    median: FloatArray
    low: FloatArray
    high: FloatArray


def tau_log(rates: ArrayLike, null: ArrayLike) -> TauLog:
    """Spread of ln rates beyond that of a fair system: the headline number.

    See docs/methods/noise-floors.md#tau-log.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Above 0; see :func:`~parivox.core.noise.without_zeros`.
    null : array_like of shape (replicate, ..., group)
        The same of a fair system, for instance ``gamma_multinomial(...).lifted``.

    Returns
    -------
    TauLog
        `value` = sqrt(max(0, var ln b - mean of var ln b over null draws)), about the standard
        deviation of ln rates between groups: 0.3 says that groups typically differ from their
        middle by a third. `p` is that of the uncorrected spread. NaN with fewer than three
        groups, a rate of 0 or without null draws.

    Examples
    --------
    >>> found = tau_log([0.01, 0.02, 0.04], [[0.02, 0.02, 0.02], [0.02, 0.01, 0.02]])
    >>> round(float(found.value), 6), round(float(found.p), 6)
    (0.632754, 0.333333)
    """
    observed, fair = _log_variance(rates), _log_variance(null)
    return TauLog(_beyond(observed, fair)[()], permutation_p(observed, fair))


def tau_log_null(null: ArrayLike) -> FloatArray:
    """:func:`tau_log` of each draw of a fair system, which its noise floor is made of.

    Parameters
    ----------
    null : array_like of shape (replicate, ..., group)
        As in :func:`tau_log`.

    Returns
    -------
    float64 of shape (replicate, ...)
        0 or above, lower is fairer; NaN with fewer than three groups or a rate of 0.
    """
    fair = _log_variance(null)
    return _beyond(fair, fair)


def corrected_variance(rates: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Variance of rates between groups, less the mean variance of a rate.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        In [0, 1].
    trials : array_like of shape (..., group)
        Effective trials R (1 - R) / V, so that speakers count as the sample; all trials make
        it the binomial estimate of Lum, Zhang and Bower (2022), which takes out too little.

    Returns
    -------
    float64 of shape (...)
        In units of the rate squared, unbiased, hence negative at times.

    Examples
    --------
    >>> round(float(corrected_variance([0.8, 0.7, 0.9, 0.75], [50, 30, 40, 20])), 9)
    0.001835417
    """
    variance, noise, _ = _parts(rates, trials)
    return (variance - noise)[()]


def double_corrected_variance(rates: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Variance of rates drawn about rates, less both layers of noise.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Drawn from the observed ones, by :func:`resampled_rates`.
    trials : array_like of shape (..., group)
        Effective trials.

    Returns
    -------
    float64 of shape (...)
        May be negative. Lum, Zhang and Bower (2022).

    Examples
    --------
    >>> round(float(double_corrected_variance([0.8, 0.7, 0.9, 0.75], [50, 30, 40, 20])), 9)
    -0.00341525
    """
    variance, noise, second = _parts(rates, trials)
    return (variance - 2 * noise + second)[()]


def resampled_rates(
    rates: ArrayLike, trials: ArrayLike, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Draws from Binomial(trials, rate), as rates.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        In [0, 1].
    trials : array_like of shape (..., group)
        Effective trials; rounded, at least 1.
    replicates : int
    rng : Generator

    Returns
    -------
    float64 of shape (replicate, ..., group)
        In [0, 1]; NaN where the rate is.
    """
    b, n = np.broadcast_arrays(np.asarray(rates, dtype=np.float64), _whole(trials))
    known = ~np.isnan(b)
    drawn = rng.binomial(n, np.where(known, b, 0), size=(replicates, *b.shape)) / n
    return np.where(known, drawn, np.nan)


def spread_of_draws(drawn: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> Spread:
    """Uncertainty of the noise-corrected variance, by a parametric bootstrap.

    Parameters
    ----------
    drawn : array_like of shape (replicate, ..., group)
        :func:`resampled_rates` of the same trials.
    trials : array_like of shape (..., group)
        Effective trials; rounded, at least 1.
    confidence : float in (0, 1)

    Returns
    -------
    Spread
        Of :func:`double_corrected_variance` over the draws. Lum, Zhang and Bower (2022).

    Examples
    --------
    >>> drawn = resampled_rates([0.1, 0.5], [50, 50], 200, np.random.default_rng(0))
    >>> found = spread_of_draws(drawn, [50, 50])
    >>> bool(found.low < 0.08 < found.high)
    True
    """
    found = double_corrected_variance(drawn, _whole(trials))
    share = (1 - confidence) / 2
    return Spread(*np.quantile(found, [0.5, share, 1 - share], axis=0))


def _log_variance(rates: ArrayLike) -> FloatArray:
    """Variance of ln rates over groups; NaN with fewer than three groups or a rate of 0."""
    b = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        groups = GroupSet.of(np.log(b))
        return np.where(groups.n >= _GROUPS, groups.sd(1) ** 2, np.nan)


def _beyond(observed: FloatArray, fair: FloatArray) -> FloatArray:
    """Root of what variances exceed the mean over the draws of a fair system by."""
    drawn = ~np.isnan(fair)
    with np.errstate(invalid="ignore"):
        noise = np.where(drawn, fair, 0).sum(axis=0) / drawn.sum(axis=0)
    found: FloatArray = np.sqrt(np.maximum(observed - noise, 0))
    return found


def _parts(rates: ArrayLike, trials: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Variance between groups, mean variance of a rate, mean of that over trials."""
    b, n = np.asarray(rates, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    noise = b * (1 - b) / n
    return GroupSet.of(b).sd(1) ** 2, GroupSet.of(noise).mean(), GroupSet.of(noise / n).mean()


def _whole(trials: ArrayLike) -> FloatArray:
    """Trials as whole numbers of at least 1."""
    n = np.asarray(trials, dtype=np.float64)
    return np.maximum(np.rint(np.where(np.isnan(n), 1, n)), 1).astype(np.int64)
