"""Spread between groups with the part taken out that sampling alone makes.

See docs/methods/noise-floors.md#corrected-variance.

Rates of groups that are alike differ, because each rests on few errors of few speakers. What
is left of their spread after this noise is an estimate of the true one; it falls on either side
of the truth and so below 0, where it is cut off only for display.

Arrays are ``[..., group]``; groups whose rate is NaN are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.groupset import GroupSet
from parivox.core.multiplicity import permutation_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

__all__ = [
    "Heterogeneity",
    "Spread",
    "TauLog",
    "corrected_variance",
    "double_corrected_variance",
    "heterogeneity",
    "q_log",
    "q_statistic",
    "resampled_rates",
    "resampled_variance",
    "spread_of_draws",
    "tau_log",
    "tau_log_by_variance",
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


@dataclass(frozen=True, eq=False)
class Heterogeneity:
    """Whether ln rates differ more than their variances explain; shapes (...).

    Attributes
    ----------
    q : float64
        Weighted sum of squares about the weighted mean.
    df : int64
        Groups - 1.
    p : float64
        Upper tail of chi-square; erratic with up to 30 speakers a group (type I error 0.00 to
        0.41 at 0.05), so for information only.
    tau2 : float64
        Variance of ln rates between groups, cut off at 0.
    i2 : float64
        Share of `q` beyond `df`, in [0, 1).
    """

    q: FloatArray
    df: FloatArray
    p: FloatArray
    tau2: FloatArray
    i2: FloatArray


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


def tau_log_by_variance(rates: ArrayLike, variances: ArrayLike) -> FloatArray:
    """:func:`tau_log` with noise told from the variances of the rates, without draws.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Above 0.
    variances : array_like of shape (..., group)
        Of the rates, over speakers (``Moments.variance``).

    Returns
    -------
    float64 of shape (...)
        sqrt(max(0, var ln b - mean of V / b^2)), lower is fairer. Needs three groups (else
        NaN), and some five effective errors in each to mean much.

    Examples
    --------
    >>> round(float(tau_log_by_variance([0.01, 0.02, 0.04], [1e-6, 4e-6, 16e-6])), 6)
    0.685896
    """
    b, v = np.asarray(rates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        noise = GroupSet.of(np.where(b == 0, np.nan, v / b**2)).mean()
    return np.sqrt(np.maximum(_log_variance(b) - noise, 0))[()]


def q_log(rates: ArrayLike, null: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Spread of ln rates in which groups count by how well a fair system would know them.

    Parameters
    ----------
    rates, null : array_like of shapes (..., group), (replicate, ..., group)
        As in :func:`tau_log`.

    Returns
    -------
    q, p : float64 of shape (...)
        :func:`q_statistic` with 1 / variance over the draws for weights, at least 0, lower is
        fairer; and its p. Beside :func:`tau_log` where groups are of very unequal size: small
        ones hardly count. NaN with fewer than two groups.

    Examples
    --------
    >>> q, p = q_log([0.01, 0.04], [[0.02, 0.02], [0.01, 0.02], [0.02, 0.01]])
    >>> round(float(q), 6), float(p)
    (6.0, 0.25)
    """
    b, fair = np.asarray(rates, dtype=np.float64), np.asarray(null, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, drawn = np.log(b), np.log(fair)
        weights = 1 / np.var(drawn, axis=0, ddof=1)
    weights = np.where(np.isfinite(weights), weights, np.nan)
    several = (~np.isnan(logs) & ~np.isnan(weights)).sum(axis=-1) > 1
    q = np.where(several, q_statistic(logs, weights), np.nan)
    return q[()], permutation_p(q, q_statistic(drawn, weights))


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
        Drawn from the observed ones, as in :func:`resampled_variance`.
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


def resampled_variance(
    rates: ArrayLike,
    trials: ArrayLike,
    replicates: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Spread:
    """Uncertainty of the noise-corrected variance, by a parametric bootstrap.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        In [0, 1].
    trials : array_like of shape (..., group)
        Effective trials; rounded, at least 1.
    replicates : int
    rng : Generator
    confidence : float in (0, 1)

    Returns
    -------
    Spread
        Of :func:`double_corrected_variance` over draws from Binomial(trials, rate). Lum, Zhang
        and Bower (2022).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = resampled_variance([0.1, 0.5], [50, 50], 200, rng)
    >>> bool(found.low < 0.08 < found.high)
    True
    """
    return spread_of_draws(resampled_rates(rates, trials, replicates, rng), trials, confidence)


def spread_of_draws(drawn: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> Spread:
    """:func:`resampled_variance` of rates that were drawn before, by :func:`resampled_rates`."""
    found = double_corrected_variance(drawn, _whole(trials))
    share = (1 - confidence) / 2
    return Spread(*np.quantile(found, [0.5, share, 1 - share], axis=0))


def resampled_rates(
    rates: ArrayLike, trials: ArrayLike, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Draws from Binomial(trials, rate), as rates.

    Parameters
    ----------
    rates, trials, replicates, rng
        As in :func:`resampled_variance`.

    Returns
    -------
    float64 of shape (replicate, ..., group)
        In [0, 1]; NaN where the rate is.
    """
    b, n = np.broadcast_arrays(np.asarray(rates, dtype=np.float64), _whole(trials))
    known = ~np.isnan(b)
    drawn = rng.binomial(n, np.where(known, b, 0), size=(replicates, *b.shape)) / n
    return np.where(known, drawn, np.nan)


def q_statistic(values: ArrayLike, weights: ArrayLike) -> FloatArray:
    """Weighted sum of squares about the weighted mean.

    Parameters
    ----------
    values : array_like of shape (..., group)
        Such as ln rates. NaN is left out.
    weights : array_like of shape (..., group)
        At least 0, such as 1 / variance.

    Returns
    -------
    float64 of shape (...)
        At least 0, lower is fairer; NaN without groups.

    Examples
    --------
    >>> float(q_statistic([1.0, 3.0], [1.0, 1.0]))
    2.0
    """
    x, w = _weighted(values, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (w * x).sum(axis=-1, keepdims=True) / w.sum(axis=-1, keepdims=True)
        return np.asarray((w * (x - mean) ** 2).sum(axis=-1))[()]


def heterogeneity(rates: ArrayLike, variances: ArrayLike) -> Heterogeneity:
    """DerSimonian and Laird's variance of ln rates between groups.

    See docs/methods/noise-floors.md#heterogeneity.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Groups with a rate or variance of 0 are left out, as those that are NaN.
    variances : array_like of shape (..., group)
        Of the rates.

    Returns
    -------
    Heterogeneity
        NaN with fewer than two groups. DerSimonian and Laird (1986).

    Examples
    --------
    >>> found = heterogeneity([0.02, 0.08], [4e-5, 16e-5])
    >>> round(float(found.q), 6), round(float(found.p), 6)
    (15.374496, 8.8e-05)
    """
    from scipy.special import chdtrc  # noqa: PLC0415 - imported only where needed

    b, v = np.asarray(rates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        y, w = _weighted(np.where((b > 0) & (v > 0), np.log(b), np.nan), b**2 / v)
        df = (w > 0).sum(axis=-1) - 1
        q = np.where(df > 0, q_statistic(y, w), np.nan)
        total = w.sum(axis=-1)
        tau2 = np.maximum(q - df, 0) / (total - (w**2).sum(axis=-1) / total)
        i2 = np.maximum(q - df, 0) / q
        p = np.where(df > 0, chdtrc(np.maximum(df, 1), q), np.nan)
    return Heterogeneity(q[()], df[()], p[()], tau2[()], np.where(q == 0, 0.0, i2)[()])


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


def _weighted(values: ArrayLike, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Values and weights, both 0 where either is NaN."""
    x, w = np.broadcast_arrays(
        np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    )
    used = ~np.isnan(x) & ~np.isnan(w)
    return np.where(used, x, 0), np.where(used, w, 0)


def _whole(trials: ArrayLike) -> FloatArray:
    """Trials as whole numbers of at least 1."""
    n = np.asarray(trials, dtype=np.float64)
    return np.maximum(np.rint(np.where(np.isnan(n), 1, n)), 1).astype(np.int64)
