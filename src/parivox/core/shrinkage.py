"""Shrinkage estimates: rates of small groups drawn towards those of their attributes and of others.

See docs/methods/planning.md#shrinkage-estimates. The raw rate of a group of few speakers is mostly
chance, and the highest of many raw rates mostly luck. A model combines each group with the others:
the logarithm of a rate is a common level, an effect of each attribute's value, and an interaction,
all of them random; how much each varies is integrated over. Arrays are ``[..., group]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.cluster_errors import safe_divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray

LOW_POWER = 0.5
"""Below, a group that is called worse or better would more often than not have been missed."""
_PRIOR_ERRORS = 0.5  # effective errors added to both outcomes, so that 0 errors have a logarithm
# Median of the spread between groups before the data are seen (a half-Cauchy prior).
_SPREAD_SCALE = 1.0
# Spreads that represent the prior, each equally likely.
_N_NODES = 12
# Singular values below this share of the largest belong to effects that others add up to.
_MIN_RELATIVE_SIZE = 1e-9
# Variance of a group without data.
_MISSING_VARIANCE = 1e12


class LogRates(NamedTuple):
    """Logarithms of rates and their variances over speakers, shape (..., group)."""

    value: FloatArray
    variance: FloatArray


class ShrinkageEstimate(NamedTuple):
    """Most likely rate or ratio, with its limits, shape (..., group)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


class Interaction(NamedTuple):
    """How unlike groups are to what attributes add up to, in units of chance."""

    value: FloatArray
    """At least 0, about 1 where attributes add up; shape (...)."""
    draws: FloatArray
    """The same of draws under equal rates, (replicate, ...)."""
    off: FloatArray
    """Of each group, in standard deviations; above 0 it has more errors, (..., group)."""


@dataclass(frozen=True, eq=False)
class ShrunkenRates:
    """Logarithms of rates given the data and the model, for each pair of spreads."""

    weight: FloatArray  # how likely the spreads are, (..., node)
    mean: FloatArray  # (..., node, group)
    own_variance: FloatArray  # variance of what is the group's own, (..., node, group)
    shared_effects: FloatArray
    """By how much each group moves with a standard deviation of each effect that it shares,
    (..., node, group, effect)."""
    spread: FloatArray
    """Spread between groups that attributes do not add up to, in logarithms, shape (...)."""
    df: FloatArray  # degrees of freedom of the variances, (..., group)
    noise: FloatArray  # variances of the groups' own logarithms, (..., group)
    confidence: float

    @property
    def log_rate(self) -> FloatArray:
        """Shape (..., group); NaN for groups without a rate."""
        return np.where(self._has_rate, _mean_over_nodes(self.weight, self.mean), np.nan)

    @property
    def kept_share(self) -> FloatArray:
        """Share of a group's own difference that its best guess keeps: tau^2 / (tau^2 + variance).

        In [0, 1], shape (..., group); 0 for groups without a rate.
        """
        return _mean_over_nodes(self.weight, self.own_variance) / self.noise

    @property
    def rate(self) -> ShrinkageEstimate:
        """Shrinkage estimate of each rate, in [0, 1], lower is better; NaN without a rate."""
        variance = self.own_variance + (self.shared_effects**2).sum(axis=-1)
        estimate = self._estimate(self.log_rate, self.mean, variance)
        return ShrinkageEstimate(
            np.minimum(estimate.value, 1), np.minimum(estimate.low, 1), np.minimum(estimate.high, 1)
        )

    def ratio(self, shares: ArrayLike, *, to_others: bool = False) -> ShrinkageEstimate:
        """Return the shrinkage estimate of each group's ratio to a reference.

        Parameters
        ----------
        shares : array_like of shape (..., group)
            Share of the group in the trials of all groups pooled; or 1 for a group that is the
            reference, and 0 for the others.
        to_others
            Compare with all groups but the group itself, in these shares.

        Returns
        -------
        ShrinkageEstimate
            Above 1 is worse. The reference is what its groups' best guesses come to, and is as
            uncertain as they are. NaN for groups without a rate.
        """
        has_rate = self._has_rate
        rates = np.where(has_rate, np.exp(self.log_rate), 0)
        errors = np.where(has_rate, shares, 0) * rates
        total = errors.sum(axis=-1, keepdims=True)
        error_shares = safe_divide(errors, total, 0)
        trials = np.where(has_rate, shares, 0)
        reference_trials = trials.sum(axis=-1, keepdims=True)
        reference_errors, scale = total, np.ones(())
        if to_others:
            reference_errors = total - errors
            reference_trials = reference_trials - trials
            # the group moves the pooled rate, but not that of the others
            scale = safe_divide(1, 1 - error_shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = self.log_rate - np.log(safe_divide(reference_errors, reference_trials))
        # to first order, the log rate of all groups pooled is the mean of theirs by error shares
        node_shares = error_shares[..., None, :]
        pooled_mean = (node_shares * self.mean).sum(axis=-1, keepdims=True)
        pooled_effects = (node_shares[..., None] * self.shared_effects).sum(axis=-2, keepdims=True)
        pooled_variance = (node_shares**2 * self.own_variance).sum(axis=-1, keepdims=True)
        shared_effects = self.shared_effects - pooled_effects
        own_variance = self.own_variance * (1 - 2 * node_shares) + pooled_variance
        variance = own_variance + (shared_effects**2).sum(axis=-1)
        return self._estimate(log_ratio, self.mean - pooled_mean, variance, scale)

    @property
    def _has_rate(self) -> NDArray[np.bool_]:
        return self.noise < _MISSING_VARIANCE

    def _estimate(
        self, centre: FloatArray, mean: FloatArray, variance: FloatArray, scale: ArrayLike = 1.0
    ) -> ShrinkageEstimate:
        """Return exp(centre) with limits by a quantile of t.

        The variance over nodes adds to that within them. Degrees of freedom count as far as the
        group's own variance does: what other groups contribute is taken as known.
        """
        from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

        node_deviations = mean - _mean_over_nodes(self.weight, mean)[..., None, :]
        total = _mean_over_nodes(self.weight, variance + node_deviations**2)
        own_share = np.minimum(safe_divide(total, self.noise, 0), 1)
        df = np.minimum(safe_divide(self.df, own_share**2, np.inf), 1e6)
        reach = stdtrit(np.maximum(df, 1), 0.5 + self.confidence / 2) * scale * np.sqrt(total)
        with np.errstate(over="ignore"):
            return ShrinkageEstimate(
                np.exp(centre)[()], np.exp(centre - reach)[()], np.exp(centre + reach)[()]
            )


def log_rates(rate: ArrayLike, n_eff: ArrayLike) -> LogRates:
    """Return logarithms of rates and their variances, half an error added to both outcomes.

    See docs/methods/planning.md#log-rates. Mean and variance of the logarithm of a variable of
    Beta(k + 1/2, n - k + 1/2), of k effective errors in n effective trials: Jeffreys' posterior.
    NaN where either is, or without trials.

    Examples
    --------
    >>> found = log_rates([0.0, 0.04], [50, 50])
    >>> found.value.round(4).tolist(), found.variance.round(4).tolist()
    ([-5.8855, -3.2188], [4.915, 0.4706])
    """
    from scipy.special import polygamma, psi  # noqa: PLC0415 - takes time to load

    rates, effective_trials = np.broadcast_arrays(
        np.asarray(rate, np.float64), np.asarray(n_eff, np.float64)
    )
    is_known = (effective_trials > 0) & ~np.isnan(rates)
    errors, trials = (
        np.where(is_known, rates * effective_trials + _PRIOR_ERRORS, 1),
        np.where(is_known, effective_trials + 2 * _PRIOR_ERRORS, 2),
    )
    log_mean = psi(errors) - psi(trials)
    variance = polygamma(1, errors) - polygamma(1, trials)
    return LogRates(
        np.where(is_known, log_mean, np.nan)[()], np.where(is_known, variance, np.nan)[()]
    )


def shrunken(
    value: ArrayLike,
    variance: ArrayLike,
    attributes: ArrayLike,
    df: ArrayLike = np.inf,
    confidence: float = 0.95,
) -> ShrunkenRates:
    """Shrink each group's log rate towards that of its attributes and of all other groups.

    See docs/methods/planning.md#model.

    Parameters
    ----------
    value, variance : array_like of shape (..., group)
        Of `log_rates`; NaN leaves a group out.
    attributes : array_like of shape (group, attribute)
        Number of each group's value of each attribute. Of one attribute, groups are its values and
        are drawn to the level that they have in common.
    df : array_like of shape (..., group)
        Degrees of freedom of the variances, at least 1.
    confidence : float in (0, 1)

    Returns
    -------
    ShrunkenRates
        Its limits hold the truth in about .94 (see the study of coverage).

    Examples
    --------
    >>> found = shrunken(np.log([0.01, 0.01, 0.04]), [0.04, 0.04, 0.5], [[0], [1], [2]])
    >>> found.rate.value.round(4).tolist()
    [0.0103, 0.0103, 0.0174]
    """
    log_rate, noise = np.broadcast_arrays(
        np.asarray(value, np.float64), np.asarray(variance, np.float64)
    )
    is_known = ~(np.isnan(log_rate) | np.isnan(noise))
    # a group with so large a variance has no influence on the others
    noise = np.where(is_known, noise, _MISSING_VARIANCE)
    # centred on the mean of the groups, which is added back at the end
    total = np.where(is_known, log_rate, 0).sum(axis=-1)
    common_level = safe_divide(total, is_known.sum(axis=-1), 0)[..., None]
    log_rate = np.where(is_known, log_rate - common_level, 0)
    design, inner_spread, outer_spread = _design_and_spreads(np.asarray(attributes))
    total_variance = noise[..., None, :] + inner_spread[:, None] ** 2  # [..., node, group]
    weighted_design = design * (1 / total_variance)[..., None]  # [..., node, group, effect]
    # posterior of the effects for each pair of spreads; the first effect, the common level, has no
    # prior, the others have that of their spread
    precision = np.swapaxes(weighted_design, -1, -2) @ design
    effect_indices = np.arange(1, design.shape[1])
    precision[..., effect_indices, effect_indices] += (1 / outer_spread**2)[:, None]
    projected = (log_rate[..., None, None, :] @ weighted_design)[..., 0, :]
    lower = np.linalg.cholesky(precision)
    inverse = np.linalg.inv(lower)
    half_solution = (inverse @ projected[..., None])[..., 0]
    effects = (half_solution[..., None, :] @ inverse)[..., 0, :]
    # likelihood of each pair of spreads, effects integrated out
    log_determinant = 2 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    squares = (log_rate[..., None, :] ** 2 / total_variance).sum(axis=-1)
    misfit = squares - (half_solution**2).sum(axis=-1)
    log_volume = (
        log_determinant
        + 2 * effect_indices.size * np.log(outer_spread)
        + np.log(total_variance).sum(axis=-1)
    )
    log_likelihood = -0.5 * (log_volume + misfit)
    weight = np.exp(log_likelihood - log_likelihood.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    fitted = effects @ design.T
    kept_share = inner_spread[:, None] ** 2 / total_variance
    residual = log_rate[..., None, :] - fitted
    return ShrunkenRates(
        weight=weight,
        mean=common_level[..., None] + fitted + kept_share * residual,
        own_variance=kept_share * noise[..., None, :],
        shared_effects=(1 - kept_share)[..., None] * (design @ np.swapaxes(inverse, -1, -2)),
        spread=(weight * inner_spread).sum(axis=-1),
        df=np.broadcast_to(np.where(np.isnan(df), 1, df), log_rate.shape),
        noise=noise,
        confidence=confidence,
    )


def power(
    guess: ArrayLike, low: ArrayLike, high: ArrayLike, level: ArrayLike, confidence: float = 0.95
) -> FloatArray:
    """Return the chance of a verdict of worse or better if the shrinkage estimate were true.

    See docs/methods/planning.md#power-of-a-verdict.

    Parameters
    ----------
    guess : array_like of shape (..., group)
        Best guess of the ratio.
    low, high : array_like of shape (..., group)
        Limits of the ratio as measured, at `confidence`.
    level : array_like of shape (..., group)
        What p must fall below, adjusted for the groups looked at.

    Returns
    -------
    float64 ndarray of shape (..., group)
        In [0, 1]. Where it is low, ratios that are called so are those that chance made larger
        than they are. NaN where the lower limit is 0, or anything is undefined.

    Examples
    --------
    >>> power([2.0, 2.0], [1.5, 1.02], [3.0, 6.0], 0.05).round(3).tolist()
    [0.975, 0.335]
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - takes time to load

    with np.errstate(divide="ignore", invalid="ignore"):
        log_guess, log_low, log_high = np.broadcast_arrays(
            np.log(np.asarray(guess, np.float64)),
            np.log(np.asarray(low, np.float64)),
            np.log(np.asarray(high, np.float64)),
        )
        spread = (log_high - log_low) / (2 * ndtri(0.5 + confidence / 2))
        chance = ndtr(np.abs(log_guess) / spread + ndtri(np.asarray(level) / 2))
    return np.where(np.isfinite(spread) & np.isfinite(log_guess) & (spread > 0), chance, np.nan)[()]


def interaction(rates: ArrayLike, null: ArrayLike, attributes: ArrayLike) -> Interaction:
    """Return how much more rates differ than attributes add up to, to test their interaction.

    See docs/methods/planning.md#interaction.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Above 0; see `parivox.core.noise.without_zeros`. NaN leaves a group out.
    null : array_like of shape (replicate, ..., group)
        The same under equal rates, for instance ``gamma_multinomial(...).nonzero_rates``.
    attributes : array_like of shape (group, attribute)
        Number of each group's value of each attribute.

    Returns
    -------
    Interaction
        `value` = sum w (ln rate - what attributes add up to)^2 / degrees of freedom, w = 1 /
        variance of ln rate over the draws; `parivox.core.noise.floor` of it and of the
        draws has p. NaN where attributes fit every group exactly (one attribute, or no more
        groups than effects), or without draws.

    Examples
    --------
    >>> null = np.exp([[0.1, -0.1, 0.1, -0.1], [-0.1, 0.1, 0.1, -0.1], [0.0, 0.0, -0.2, 0.2]])
    >>> found = interaction([0.1, 0.1, 0.1, 0.2], null, [[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(float(found.value), 4), found.draws.round(4).tolist()
    (9.0085, [0.0, 3.0, 3.0])
    """
    with np.errstate(divide="ignore"):
        log_rates_seen, log_draws = np.log(rates), np.log(null)
    is_defined = ~np.isnan(log_draws)
    n_draws = np.maximum(is_defined.sum(axis=0), 1)
    mean = np.where(is_defined, log_draws, 0).sum(axis=0) / n_draws
    noise = np.where(is_defined, log_draws - mean, 0)
    variance = (noise**2).sum(axis=0) / n_draws
    is_used = ~np.isnan(log_rates_seen) & (variance > 0)
    inverse_sd = np.where(is_used, 1 / np.sqrt(np.where(is_used, variance, 1)), 0)
    scaled_design = inverse_sd[..., None] * _indicator_columns(np.asarray(attributes))
    basis, singular_values, _ = np.linalg.svd(scaled_design, full_matrices=False)
    # indicator columns of each attribute add up to 1, so that some combinations are no effects
    is_effect = singular_values > _MIN_RELATIVE_SIZE * singular_values[..., :1]
    basis = np.where(is_effect[..., None, :], basis, 0)
    residual_df = is_used.sum(axis=-1) - is_effect.sum(axis=-1)

    def standardised_residuals(log_values: FloatArray) -> FloatArray:
        """Return residuals from what attributes add up to, in standard deviations."""
        scaled = np.where(is_used, log_values, 0) * inverse_sd
        coefficients = scaled[..., None, :] @ basis
        fitted: FloatArray = (coefficients @ np.swapaxes(basis, -1, -2))[..., 0, :]
        return scaled - fitted

    data_residuals = standardised_residuals(log_rates_seen)
    draw_residuals = standardised_residuals(np.where(is_defined, log_draws, 0))
    statistic = safe_divide((data_residuals**2).sum(axis=-1), residual_df)[()]
    draws = safe_divide((draw_residuals**2).sum(axis=-1), residual_df)[()]
    return Interaction(statistic, draws, np.where(is_used, data_residuals, np.nan))


def _indicator_columns(attributes: NDArray[np.int64]) -> FloatArray:
    """Return a column of ones and an indicator of each attribute's values, ``[group, effect]``."""
    columns = [np.ones((len(attributes), 1))]
    columns += [
        (attribute[:, None] == np.unique(attribute)).astype(np.float64)
        for attribute in attributes.T
    ]
    return np.concatenate(columns, axis=1)


def _design_and_spreads(attributes: NDArray[np.int64]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the design ``[group, effect]``, and spreads beyond and of attributes, ``[node]``.

    The nodes are all pairs of the spread beyond attributes and that of the attributes' effects.
    """
    quantiles = (np.arange(_N_NODES) + 0.5) / _N_NODES
    spreads = _SPREAD_SCALE * np.tan(np.pi / 2 * quantiles)  # of a half-Cauchy distribution
    if attributes.shape[1] < 2:
        return np.ones((len(attributes), 1)), spreads, np.ones(_N_NODES)
    inner, outer = (grid.ravel() for grid in np.meshgrid(spreads, spreads, indexing="ij"))
    return _indicator_columns(attributes), inner, outer


def _mean_over_nodes(weight: FloatArray, node_values: FloatArray) -> FloatArray:
    """Return means over the nodes, ``[..., node, group]`` to ``[..., group]``."""
    mean: FloatArray = (weight[..., None, :] @ node_values)[..., 0, :]
    return mean
