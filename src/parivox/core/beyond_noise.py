"""Spread between groups with the part taken out that sampling alone makes.

See docs/methods/uncertainty.md#tau-log and docs/methods/uncertainty.md#corrected-variance.

Rates of groups that are alike differ, because each rests on few errors of few speakers. What
is left of their spread after this noise is an estimate of the true one; it falls on either side
of the truth and so below 0, where it is cut off only for display.

Arrays are ``[..., group]``; groups whose rate is NaN are left out. Rates are in [0, 1]; effective
trials, R (1 - R) / V, count speakers as the sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.spread import GroupSet
from parivox.core.verdict import permutation_p

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray


# A spread is computed from three groups on; two groups have a ratio.
_MIN_GROUPS = 3
# Variance in units of the squared mean; rates that vary by less do so by rounding.
_MIN_RELATIVE_VARIANCE = 1e-24
# Share of draws in which a group may be undefined.
_MAX_UNDEFINED_SHARE = 0.05


class TauLog(NamedTuple):
    """Noise-corrected spread of ln rates, shape (...)."""

    value: FloatArray
    """At least 0, lower is fairer."""
    p: FloatArray
    """`parivox.core.verdict.permutation_p`"""


class SpreadLimits(NamedTuple):
    """Limits of a standard deviation between groups, at least 0, shape (...)."""

    low: FloatArray
    high: FloatArray


class SpreadQuantiles(NamedTuple):
    """Median and outer quantiles over draws, shape (...); may be negative."""

    median: FloatArray
    low: FloatArray
    high: FloatArray


def tau_log(rates: ArrayLike, null: ArrayLike) -> TauLog:
    """Return the spread of ln rates beyond that of a system with equal rates.

    See docs/methods/uncertainty.md#tau-log.

    `value` = sqrt(max(0, var ln b - mean of var ln b over null draws)), about the standard
    deviation of ln rates between groups: 0.3 says that groups typically differ from their middle
    by a third. `p` is that of the uncorrected spread. Rates are above 0
    (`parivox.core.noise.without_zeros`); null draws, ``[replicate, ..., group]``, are the
    same under equal rates, for instance ``gamma_multinomial(...).nonzero_rates``. NaN with fewer
    than three groups, a rate of 0 or without null draws.

    Examples
    --------
    >>> found = tau_log([0.01, 0.02, 0.04], [[0.02, 0.02, 0.02], [0.02, 0.01, 0.02]])
    >>> round(float(found.value), 6), round(float(found.p), 6)
    (0.632754, 0.333333)
    """
    observed, null_variance = _log_variance(rates), _log_variance(null)
    return TauLog(
        _sd_beyond_noise(observed, null_variance)[()], permutation_p(observed, null_variance)
    )


def tau_log_null(null: ArrayLike) -> FloatArray:
    """Return `tau_log` of each draw of a system with equal rates, for its noise floor.

    Of shape (replicate, ...), 0 or above, lower is fairer; NaN with fewer than three groups or a
    rate of 0.
    """
    null_variance = _log_variance(null)
    return _sd_beyond_noise(null_variance, null_variance)


MIN_EXPECTED_ERRORS = 2.0
"""Errors expected of a group from which it counts in the heterogeneity."""


class Heterogeneity(NamedTuple):
    """Differences between groups in units of chance: data (...), draws (replicate, ...)."""

    value: FloatArray
    draws: FloatArray


def expect_errors(errors: ArrayLike, trials: ArrayLike) -> NDArray[np.bool_]:
    """Return whether at least two errors are expected of each group if all have one rate.

    Groups with fewer say nothing of whether rates differ, but a single error makes their rate many
    times the common one: with them, `heterogeneity` finds hardly any difference of other groups.

    Parameters
    ----------
    errors, trials : array_like of shape (..., group)

    Examples
    --------
    >>> expect_errors([0, 4, 96], [50, 500, 9450]).tolist()
    [False, True, True]
    """
    group_errors, group_trials = (
        np.asarray(counts, dtype=np.float64) for counts in (errors, trials)
    )
    is_known = np.isfinite(group_errors) & np.isfinite(group_trials)
    all_errors = np.where(is_known, group_errors, 0).sum(axis=-1, keepdims=True)
    all_trials = np.where(is_known, group_trials, 0).sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = group_trials * all_errors / all_trials
    return np.asarray(expected >= MIN_EXPECTED_ERRORS)


def heterogeneity(rates: ArrayLike, null: ArrayLike) -> Heterogeneity:
    """Return how much groups differ, in units of how much groups with equal rates would.

    See docs/methods/uncertainty.md#heterogeneity.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Error rates, in [0, 1]; NaN leaves a group out.
    null : array_like of shape (replicate, ..., group)
        The same under equal rates.

    Returns
    -------
    Heterogeneity
        `value` = sum w (rate - weighted mean)^2 / (groups - 1), w = 1 / variance of the group's
        rate over the draws: at least 0, about 1 under equal rates, lower is fairer. Large groups
        weigh most, as their differences are known best. `draws` are the same of each
        draw; `parivox.core.noise.floor` of both has p. Groups whose rate does not vary in
        the draws are left out; NaN with fewer than two groups, or without draws.

    Examples
    --------
    >>> found = heterogeneity([0.01, 0.04], [[0.02, 0.03], [0.03, 0.02], [0.025, 0.025]])
    >>> round(float(found.value), 6), found.draws.round(6).tolist()
    (27.0, [3.0, 3.0, 0.0])
    """
    observed, draws = (np.asarray(group_rates, dtype=np.float64) for group_rates in (rates, null))
    is_defined = ~np.isnan(draws)
    n_draws = is_defined.sum(axis=0)
    mean = np.where(is_defined, draws, 0).sum(axis=0) / np.maximum(n_draws, 1)
    variance = np.where(is_defined, draws - mean, 0) ** 2
    variance = variance.sum(axis=0) / np.maximum(n_draws, 1)
    is_used = ~np.isnan(observed) & (variance > _MIN_RELATIVE_VARIANCE * mean**2)
    weights = np.where(is_used, 1 / np.where(is_used, variance, 1), 0)
    n_groups = is_used.sum(axis=-1)

    def weighted_mean_square(all_rates: FloatArray) -> FloatArray:
        """Return the weighted mean square of deviations from the weighted mean."""
        group_rates = np.where(is_used, all_rates, 0)
        total = np.maximum(weights.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
        deviations = group_rates - (weights * group_rates).sum(axis=-1, keepdims=True) / total
        spread = (weights * deviations**2).sum(axis=-1) / np.maximum(n_groups - 1, 1)
        return np.where(n_groups > 1, spread, np.nan)[()]

    return Heterogeneity(weighted_mean_square(observed), weighted_mean_square(draws))


def welch(rates: ArrayLike, se: ArrayLike, df: ArrayLike) -> FloatArray:
    """Return the p value of equal rates where speakers may vary more in some groups than others.

    See docs/methods/uncertainty.md#heterogeneity. Welch's test of ln rates, each with its own
    standard error and degrees of freedom, as its interval has: it needs no draws under equal rates,
    nor that speakers vary equally in all groups, but rejects too often where groups have few
    speakers.

    Parameters
    ----------
    rates, se, df : array_like of shape (..., group)
        A group without a standard error, or without errors, is left out.

    Returns
    -------
    float64 ndarray of shape (...)
        In [0, 1]; NaN with fewer than two groups.

    Examples
    --------
    >>> round(float(welch([0.02, 0.02, 0.06], [0.004, 0.004, 0.01], [20, 20, 20])), 6)
    6.5e-05
    """
    from scipy.special import fdtrc  # noqa: PLC0415 - takes time to load

    group_rates, standard_errors, group_df = np.broadcast_arrays(
        np.asarray(rates, np.float64), np.asarray(se, np.float64), np.asarray(df, np.float64)
    )
    is_used = (group_rates > 0) & (standard_errors > 0) & (group_df > 0)
    n_groups = is_used.sum(axis=-1)
    log_rates = np.log(np.where(is_used, group_rates, 1))
    weights = np.where(is_used, (group_rates / np.where(is_used, standard_errors, 1)) ** 2, 0)
    total = np.maximum(weights.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
    deviations = log_rates - (weights * log_rates).sum(axis=-1, keepdims=True) / total
    df_between = np.maximum(n_groups - 1, 1)
    # the more a group's weight rests on few speakers, the fewer degrees of freedom are left
    group_losses = (1 - weights / total) ** 2 / np.where(is_used, group_df, 1)
    weight_losses = np.where(is_used, group_losses, 0).sum(axis=-1)
    correction = 1 + 2 * (n_groups - 2) / np.maximum(n_groups**2 - 1, 1) * weight_losses
    f_statistic = (weights * deviations**2).sum(axis=-1) / df_between / correction
    df_within = np.maximum(n_groups**2 - 1, 1) / (3 * np.where(n_groups > 1, weight_losses, 1))
    return np.asarray(np.where(n_groups > 1, fdtrc(df_between, df_within, f_statistic), np.nan))[()]


def spread_interval(values: ArrayLike, noise: ArrayLike, confidence: float = 0.95) -> SpreadLimits:
    """Return an interval of the spread of groups beyond noise, by inverting draws of the noise.

    See docs/methods/uncertainty.md#tau-log. What is observed is the true value of each group and
    noise, so its variance over the groups of a true spread s is, with the direction d in which the
    groups were seen to differ and noise e,

        var(s d + e) = s^2 + 2 s cov(d, e) + var(e).

    The interval holds every s whose central share of these, over draws of e, has the observed
    variance in it. It is of the groups at hand, not of a wider population of groups.

    Values are what was observed, such as ln rates; noise is draws, ``[replicate, ..., group]``, of
    how far off each may be, such as ln rates under equal rates; what all groups have in common does
    not count. In units of the values, lower is fairer. The lower limit is 0 where noise alone
    exceeds the observed variance often enough; the upper one is never below that of groups which
    vary as much as noise does on average. NaN with fewer than three groups, or where more than 5 %
    of the draws have a group undefined. Holds the truth in .92 to .99 at .95 (see the study of
    coverage).

    Examples
    --------
    >>> noise = [[0.1, -0.1, 0.0], [-0.1, 0.2, -0.1], [0.0, 0.1, -0.2]]
    >>> found = spread_interval([-1.0, 0.0, 1.0], noise)
    >>> bool(0.8 < found.low < 1.0 < found.high < 1.3)
    True
    """
    observed_values = np.asarray(values, dtype=np.float64)
    noise_draws = np.asarray(noise, dtype=np.float64)
    is_known = ~np.isnan(observed_values)
    n_groups = is_known.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred_values = _deviations(observed_values, is_known)
        centred_noise = _deviations(noise_draws, is_known)
        observed = (centred_values**2).sum(axis=-1) / (n_groups - 1)
        direction = np.where(observed > 0, 1 / np.sqrt(observed), 0)[..., None] * centred_values
        covariance = (direction * centred_noise).sum(axis=-1) / (n_groups - 1)
        noise_variance = (centred_noise**2).sum(axis=-1) / (n_groups - 1)
    is_undefined = np.isnan(noise_variance)
    is_refused = (
        (n_groups < _MIN_GROUPS)
        | (is_undefined.mean(axis=0) > _MAX_UNDEFINED_SHARE)
        | ~np.isfinite(observed)
    )
    tail = (1 - confidence) / 2
    total_noise_variance = np.where(is_undefined, 0, noise_variance).sum(axis=0)
    mean_noise_variance = total_noise_variance / np.maximum((~is_undefined).sum(axis=0), 1)
    low_spreads = _solve_spread(observed, covariance, noise_variance, is_low=True)
    high_spreads = _solve_spread(
        np.maximum(observed, mean_noise_variance), covariance, noise_variance, is_low=False
    )
    n_defined = (~is_undefined).sum(axis=0)
    limits = []
    for spreads, quantile in ((low_spreads, tail), (high_spreads, 1 - tail)):
        rising = np.sort(np.where(is_undefined, np.inf, spreads), axis=0)
        rank = np.rint(np.maximum(n_defined - 1, 0) * quantile).astype(np.intp)
        limit = np.take_along_axis(rising, rank[None], axis=0)[0]
        limits.append(np.where(is_refused, np.nan, limit)[()])
    return SpreadLimits(*limits)


def corrected_variance(rates: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Return the variance of rates between groups, less the mean variance of a rate.

    In units of the rate squared, unbiased, hence negative at times. Of effective trials; all trials
    make it the binomial estimate of Lum, Zhang and Bower (2022), which takes out too little.

    Examples
    --------
    >>> round(float(corrected_variance([0.8, 0.7, 0.9, 0.75], [50, 30, 40, 20])), 9)
    0.001835417
    """
    variance, noise, _ = _variance_components(rates, trials)
    return (variance - noise)[()]


def double_corrected_variance(rates: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Return the variance of rates drawn about observed rates, less both layers of noise.

    Of rates that `resampled_rates` drew from the observed ones, and effective trials. May be
    negative. Lum, Zhang and Bower (2022).

    Examples
    --------
    >>> round(float(double_corrected_variance([0.8, 0.7, 0.9, 0.75], [50, 30, 40, 20])), 9)
    -0.00341525
    """
    variance, noise, second = _variance_components(rates, trials)
    return (variance - 2 * noise + second)[()]


def resampled_rates(
    rates: ArrayLike, trials: ArrayLike, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Return draws from Binomial(trials, rate), as rates.

    Of shape (replicate, ..., group), NaN where the rate is. Trials, effective ones, are rounded and
    at least 1.
    """
    group_rates, group_trials = np.broadcast_arrays(
        np.asarray(rates, dtype=np.float64), _whole_trials(trials)
    )
    is_known = ~np.isnan(group_rates)
    draws = (
        rng.binomial(
            group_trials, np.where(is_known, group_rates, 0), size=(replicates, *group_rates.shape)
        )
        / group_trials
    )
    return np.where(is_known, draws, np.nan)


def spread_of_draws(
    drawn: ArrayLike, trials: ArrayLike, confidence: float = 0.95
) -> SpreadQuantiles:
    """Return the uncertainty of the noise-corrected variance, by a parametric bootstrap.

    Quantiles of `double_corrected_variance` over the draws ``[replicate, ..., group]`` that
    `resampled_rates` made of the same trials. Lum, Zhang and Bower (2022).

    Examples
    --------
    >>> drawn = resampled_rates([0.1, 0.5], [50, 50], 200, np.random.default_rng(0))
    >>> found = spread_of_draws(drawn, [50, 50])
    >>> bool(found.low < 0.08 < found.high)
    True
    """
    variances = double_corrected_variance(drawn, _whole_trials(trials))
    tail = (1 - confidence) / 2
    return SpreadQuantiles(*np.quantile(variances, [0.5, tail, 1 - tail], axis=0))


def _log_variance(rates: ArrayLike) -> FloatArray:
    """Return the variance of ln rates; NaN with fewer than three groups or a rate of 0."""
    group_rates = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        groups = GroupSet.from_values(np.log(group_rates))
        return np.where(groups.n_groups >= _MIN_GROUPS, groups.sd(1) ** 2, np.nan)


def _sd_beyond_noise(observed: FloatArray, null_variance: FloatArray) -> FloatArray:
    """Return the root of the variance beyond its mean over draws with equal rates; at least 0."""
    is_defined = ~np.isnan(null_variance)
    with np.errstate(invalid="ignore"):
        noise = np.where(is_defined, null_variance, 0).sum(axis=0) / is_defined.sum(axis=0)
    spread: FloatArray = np.sqrt(np.maximum(observed - noise, 0))
    return spread


def _variance_components(
    rates: ArrayLike, trials: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return variance between groups, mean variance of a rate, mean of that over trials."""
    group_rates = np.asarray(rates, dtype=np.float64)
    group_trials = np.asarray(trials, dtype=np.float64)
    noise = group_rates * (1 - group_rates) / group_trials
    return (
        GroupSet.from_values(group_rates).sd(1) ** 2,
        GroupSet.from_values(noise).mean(),
        GroupSet.from_values(noise / group_trials).mean(),
    )


def _whole_trials(trials: ArrayLike) -> FloatArray:
    """Return trials as whole numbers of at least 1."""
    group_trials = np.asarray(trials, dtype=np.float64)
    rounded = np.rint(np.where(np.isnan(group_trials), 1, group_trials))
    return np.maximum(rounded, 1).astype(np.int64)


def _deviations(group_values: FloatArray, is_known: FloatArray) -> FloatArray:
    """Return deviations from the mean of the groups that are known; 0 for the others."""
    known_values = np.where(is_known, group_values, 0)
    mean = known_values.sum(axis=-1, keepdims=True) / is_known.sum(axis=-1)[..., None]
    return np.where(is_known, known_values - mean, 0)


def _solve_spread(
    observed: FloatArray, covariance: FloatArray, noise_variance: FloatArray, *, is_low: bool
) -> FloatArray:
    """Return the spread with which each draw of noise gives the observed variance; 0 for none.

    The larger root of the quadratic equation in `spread_interval`.
    """
    discriminant = covariance**2 + observed - noise_variance
    spread = np.maximum(np.sqrt(np.maximum(discriminant, 0)) - covariance, 0)
    # for a lower limit, noise alone gives as much, or more; for an upper one, no spread does
    has_no_solution = (noise_variance >= observed) if is_low else (discriminant < 0)
    return np.where(has_no_solution, 0.0, spread)
