"""Best guesses: rates of small groups drawn towards what their attributes, and all others, tell.

See docs/methods/shrinkage.md. The raw rate of a group of few speakers is mostly chance, and the
highest of many raw rates mostly luck. A model lends each group what the others tell: the logarithm
of a rate is a common level, an effect of each attribute's value, and what the attributes do not add
up to, all of them random; how much each varies is integrated over. Arrays are ``[..., group]``.
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
_HALF = 0.5  # of an effective error, so that groups without errors have a logarithm
_SCALE = 1.0  # of spreads between groups, before the data: half of them lie below
_NODES = 12  # spreads that stand for all, each as likely before the data
_ALIKE = 1e-9  # of the largest: effects that others make
_UNKNOWN = 1e12  # variance of a group of which nothing is known


class LogRates(NamedTuple):
    """Logarithms of rates, as far as speakers tell them, shape (..., group)."""

    value: FloatArray
    variance: FloatArray


class ShrinkageEstimate(NamedTuple):
    """What is likely, with its limits, shape (..., group)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


class Interaction(NamedTuple):
    """How unlike groups are to what attributes add up to, in units of chance."""

    value: FloatArray
    """At least 0, about 1 where attributes add up; shape (...)."""
    draws: FloatArray
    """The same of draws of a fair system, (replicate, ...)."""
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
        return np.where(self._has_rate, _averaged(self.weight, self.mean), np.nan)

    @property
    def kept_share(self) -> FloatArray:
        """Share of a group's own difference that its best guess keeps: tau^2 / (tau^2 + variance).

        In [0, 1], shape (..., group); 0 for groups without a rate.
        """
        return _averaged(self.weight, self.own_variance) / self.noise

    @property
    def rate(self) -> ShrinkageEstimate:
        """Best guess of each rate, in [0, 1], lower is better; NaN for groups without one."""
        variance = self.own_variance + (self.shared_effects**2).sum(axis=-1)
        found = self._guess(self.log_rate, self.mean, variance)
        return ShrinkageEstimate(*(np.minimum(x, 1) for x in found))

    def ratio(self, shares: ArrayLike, *, to_others: bool = False) -> ShrinkageEstimate:
        """Best guess of each group's ratio to a reference.

        Parameters
        ----------
        shares : array_like of shape (..., group)
            Of the trials of everyone together; 1 for a group that is the reference, and 0.
        to_others
            Against everyone but the group itself, in these shares.

        Returns
        -------
        Guess
            Above 1 is worse. The reference is what its groups' best guesses come to, and is as
            uncertain as they are. NaN for groups without a rate.
        """
        known = self._has_rate
        rates = np.where(known, np.exp(self.log_rate), 0)
        errors = np.where(known, shares, 0) * rates
        total = errors.sum(axis=-1, keepdims=True)
        part = safe_divide(errors, total, 0)
        trials = np.where(known, shares, 0)
        left = trials.sum(axis=-1, keepdims=True)
        rest, scale = total, np.ones(())
        if to_others:
            rest, left, scale = total - errors, left - trials, safe_divide(1, 1 - part)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.log_rate - np.log(safe_divide(rest, left))
        # how far each group is from all of them, to first order
        at = part[..., None, :]
        off = self.mean - (at * self.mean).sum(axis=-1, keepdims=True)
        shared = self.shared_effects - (at[..., None] * self.shared_effects).sum(
            axis=-2, keepdims=True
        )
        own = self.own_variance * (1 - 2 * at) + (at**2 * self.own_variance).sum(
            axis=-1, keepdims=True
        )
        variance = own + (shared**2).sum(axis=-1)
        return self._guess(value, off, variance, scale)

    @property
    def _has_rate(self) -> NDArray[np.bool_]:
        return self.noise < _UNKNOWN

    def _guess(
        self, value: FloatArray, mean: FloatArray, variance: FloatArray, scale: ArrayLike = 1.0
    ) -> ShrinkageEstimate:
        """Limits by a quantile of t, as far as a group's own variance counts."""
        from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

        off = mean - _averaged(self.weight, mean)[..., None, :]
        total = _averaged(self.weight, variance + off**2)
        counts = np.minimum(safe_divide(total, self.noise, 0), 1)
        df = np.minimum(safe_divide(self.df, counts**2, np.inf), 1e6)
        reach = stdtrit(np.maximum(df, 1), 0.5 + self.confidence / 2) * scale * np.sqrt(total)
        with np.errstate(over="ignore"):
            return ShrinkageEstimate(*(np.exp(value + x)[()] for x in (0.0, -reach, reach)))


def log_rates(rate: ArrayLike, n_eff: ArrayLike) -> LogRates:
    """Logarithms of rates of so many effective trials, half an error added to both outcomes.

    See docs/methods/shrinkage.md#log-rates. Mean and variance of the logarithm of a variable of
    Beta(k + 1/2, n - k + 1/2), of k effective errors in n effective trials: Jeffreys' posterior.
    NaN where either is, or without trials.

    Examples
    --------
    >>> found = log_rates([0.0, 0.04], [50, 50])
    >>> found.value.round(4).tolist(), found.variance.round(4).tolist()
    ([-5.8855, -3.2188], [4.915, 0.4706])
    """
    from scipy.special import polygamma, psi  # noqa: PLC0415 - takes time to load

    r, n = np.broadcast_arrays(np.asarray(rate, np.float64), np.asarray(n_eff, np.float64))
    known = (n > 0) & ~np.isnan(r)
    errors, all_ = np.where(known, r * n + _HALF, 1), np.where(known, n + 2 * _HALF, 2)
    value = psi(errors) - psi(all_)
    variance = polygamma(1, errors) - polygamma(1, all_)
    return LogRates(np.where(known, value, np.nan)[()], np.where(known, variance, np.nan)[()])


def shrunken(
    value: ArrayLike,
    variance: ArrayLike,
    attributes: ArrayLike,
    df: ArrayLike = np.inf,
    confidence: float = 0.95,
) -> ShrunkenRates:
    """Draw each group towards what its attributes, and all other groups, tell.

    See docs/methods/shrinkage.md#model.

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
    Shrunken
        Its limits hold the truth in about .94 (see the study of coverage).

    Examples
    --------
    >>> found = shrunken(np.log([0.01, 0.01, 0.04]), [0.04, 0.04, 0.5], [[0], [1], [2]])
    >>> found.rate.value.round(4).tolist()
    [0.0103, 0.0103, 0.0174]
    """
    y, noise = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(variance, np.float64))
    known = ~(np.isnan(y) | np.isnan(noise))
    # whose variance is so large says nothing of any other
    noise = np.where(known, noise, _UNKNOWN)
    first = safe_divide(np.where(known, y, 0).sum(axis=-1), known.sum(axis=-1), 0)[..., None]
    y = np.where(known, y - first, 0)
    design, inner, outer = _design(np.asarray(attributes))
    total = noise[..., None, :] + inner[:, None] ** 2  # [..., node, group]
    weighed = design * (1 / total)[..., None]  # [..., node, group, effect]
    precision = np.swapaxes(weighed, -1, -2) @ design
    places = np.arange(1, design.shape[1])
    precision[..., places, places] += (1 / outer**2)[:, None]
    projected = (y[..., None, None, :] @ weighed)[..., 0, :]
    lower = np.linalg.cholesky(precision)
    inverse = np.linalg.inv(lower)
    half = (inverse @ projected[..., None])[..., 0]
    effects = (half[..., None, :] @ inverse)[..., 0, :]
    scales = 2 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    misfit = (y[..., None, :] ** 2 / total).sum(axis=-1) - (half**2).sum(axis=-1)
    shrinking = scales + 2 * places.size * np.log(outer) + np.log(total).sum(axis=-1)
    likely = -0.5 * (shrinking + misfit)
    weight = np.exp(likely - likely.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    fit = effects @ design.T
    kept = inner[:, None] ** 2 / total
    return ShrunkenRates(
        weight,
        first[..., None] + fit + kept * (y[..., None, :] - fit),
        kept * noise[..., None, :],
        (1 - kept)[..., None] * (design @ np.swapaxes(inverse, -1, -2)),
        (weight * inner).sum(axis=-1),
        np.broadcast_to(np.where(np.isnan(df), 1, df), y.shape),
        noise,
        confidence,
    )


def power(
    guess: ArrayLike, low: ArrayLike, high: ArrayLike, level: ArrayLike, confidence: float = 0.95
) -> FloatArray:
    """Chance that a group would be called worse, or better, if its best guess were the truth.

    See docs/methods/shrinkage.md#power.

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

    ends = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (guess, low, high)))
    with np.errstate(divide="ignore", invalid="ignore"):
        away, below, above = (np.log(x) for x in ends)
        spread = (above - below) / (2 * ndtri(0.5 + confidence / 2))
        found = ndtr(np.abs(away) / spread + ndtri(np.asarray(level) / 2))
    return np.where(np.isfinite(spread) & np.isfinite(away) & (spread > 0), found, np.nan)[()]


def interaction(rates: ArrayLike, null: ArrayLike, attributes: ArrayLike) -> Interaction:
    """How much more rates differ than attributes add up to: the test of their interaction.

    See docs/methods/shrinkage.md#interaction.

    Parameters
    ----------
    rates : array_like of shape (..., group)
        Above 0; see `parivox.core.noise.without_zeros`. NaN leaves a group out.
    null : array_like of shape (replicate, ..., group)
        The same of a fair system, for instance ``gamma_multinomial(...).lifted``.
    attributes : array_like of shape (group, attribute)
        Number of each group's value of each attribute.

    Returns
    -------
    Interaction
        `value` = sum w (ln rate - what attributes add up to)^2 / degrees of freedom, w = 1 /
        variance of ln rate over the draws; `parivox.core.noise.floor` of it and of the
        draws has p. NaN where attributes add up to every group (one attribute, or no group beside
        those that it takes to tell them), or without draws.

    Examples
    --------
    >>> null = np.exp([[0.1, -0.1, 0.1, -0.1], [-0.1, 0.1, 0.1, -0.1], [0.0, 0.0, -0.2, 0.2]])
    >>> found = interaction([0.1, 0.1, 0.1, 0.2], null, [[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(float(found.value), 4), found.draws.round(4).tolist()
    (9.0085, [0.0, 3.0, 3.0])
    """
    with np.errstate(divide="ignore"):
        seen, drawn = np.log(rates), np.log(null)
    kept = ~np.isnan(drawn)
    n = np.maximum(kept.sum(axis=0), 1)
    noise = np.where(kept, drawn - np.where(kept, drawn, 0).sum(axis=0) / n, 0)
    variance = (noise**2).sum(axis=0) / n
    counts = ~np.isnan(seen) & (variance > 0)
    root = np.where(counts, 1 / np.sqrt(np.where(counts, variance, 1)), 0)
    basis, sizes, _ = np.linalg.svd(
        root[..., None] * _dummies(np.asarray(attributes)), full_matrices=False
    )
    added = sizes > _ALIKE * sizes[..., :1]
    basis = np.where(added[..., None, :], basis, 0)
    left = counts.sum(axis=-1) - added.sum(axis=-1)

    def off(values: FloatArray) -> FloatArray:
        """From what attributes add up to, in standard deviations."""
        x = np.where(counts, values, 0) * root
        added_up: FloatArray = ((x[..., None, :] @ basis) @ np.swapaxes(basis, -1, -2))[..., 0, :]
        return x - added_up

    of_data = off(seen)
    value, draws = (
        safe_divide((each**2).sum(axis=-1), left)[()]
        for each in (of_data, off(np.where(kept, drawn, 0)))
    )
    return Interaction(value, draws, np.where(counts, of_data, np.nan))


def _dummies(attributes: NDArray[np.int64]) -> FloatArray:
    """One column for the level, one for each value of each attribute, ``[group, effect]``."""
    columns = [np.ones((len(attributes), 1))]
    columns += [(one[:, None] == np.unique(one)).astype(np.float64) for one in attributes.T]
    return np.concatenate(columns, axis=1)


def _design(attributes: NDArray[np.int64]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Effects that groups share, and every pair of spreads: beyond attributes, and of these."""
    place = (np.arange(_NODES) + 0.5) / _NODES
    spreads = _SCALE * np.tan(np.pi / 2 * place)  # of a half-Cauchy distribution
    if attributes.shape[1] < 2:
        return np.ones((len(attributes), 1)), spreads, np.ones(_NODES)
    inner, outer = (x.ravel() for x in np.meshgrid(spreads, spreads, indexing="ij"))
    return _dummies(attributes), inner, outer


def _averaged(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Over the nodes, ``[..., node, group]`` to ``[..., group]``."""
    found: FloatArray = (weight[..., None, :] @ values)[..., 0, :]
    return found
