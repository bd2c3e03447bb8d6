"""Spoof accepts by attack: ratios for other attacks, standardised rates, rates without an attack.

Attacks are a second sampling unit next to claimed speakers: few, chosen, and not a random sample
(docs/methods/uncertainty.md#spoof-accepts-by-attack). Arrays are ``[..., attack, group]``, leading
axes are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.cluster_errors import safe_divide

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

MIN_ATTACKS = 5
"""Attacks from which on anything is said about other attacks."""
_ZERO_ERRORS = 0.5
"""Errors added to those of each attack, whose ratio then has a logarithm."""


class AttackCounts(NamedTuple):
    """Spoof accepts and spoof trials of the groups by attack, each ``[..., attack, group]``."""

    errors: IntArray
    trials: IntArray

    def at_point(self, point_index: int) -> AttackCounts:
        """Return the counts at one operating point of those on the first axis."""
        return AttackCounts(self.errors[point_index], self.trials[point_index])

    @property
    def rates(self) -> FloatArray:
        """SFAR of each attack and group; NaN without trials."""
        return safe_divide(self.errors, self.trials)

    @property
    def pooled_rates(self) -> FloatArray:
        """SFAR of each group over all attacks, ``[..., group]``; NaN without trials."""
        return safe_divide(self.errors.sum(axis=-2), self.trials.sum(axis=-2))

    @property
    def rates_without(self) -> FloatArray:
        """SFAR of each group without one attack at a time, ``[..., attack, group]``."""
        errors, trials = (
            counts.sum(axis=-2, keepdims=True) - counts for counts in (self.errors, self.trials)
        )
        return safe_divide(errors, trials)

    @property
    def shares(self) -> FloatArray:
        """Share of each attack in the spoof trials of a group; NaN without spoof trials."""
        return safe_divide(self.trials, self.trials.sum(axis=-2, keepdims=True))

    @property
    def common_attacks(self) -> NDArray[np.bool_]:
        """Which attacks all groups with spoof trials have, ``[..., attack]``."""
        has_trials = self.trials.sum(axis=-2, keepdims=True) > 0
        return np.asarray(((self.trials > 0) | ~has_trials).all(axis=-1))

    def standardised_rates(self, attacks: NDArray[np.bool_]) -> FloatArray:
        """Return the mean SFAR of each group over some attacks, ``[..., group]``.

        NaN where a group lacks one of them, and without any.

        Examples
        --------
        >>> counts = AttackCounts(np.array([[4, 1], [4, 0]]), np.array([[9, 6], [6, 2]]))
        >>> counts.standardised_rates(counts.common_attacks).round(3).tolist()
        [0.556, 0.083]
        """
        rates = np.where(attacks[..., None], self.rates, 0)
        return safe_divide(rates.sum(axis=-2), attacks.sum(axis=-1)[..., None])

    @property
    def share_differences(self) -> FloatArray:
        """Largest difference between groups in the share of each attack, ``[..., attack]``.

        Groups without spoof trials are left out.
        """
        shares = self.shares
        return np.asarray(np.fmax.reduce(shares, axis=-1) - np.fmin.reduce(shares, axis=-1))


def ratios_for_other_attacks(
    counts: AttackCounts,
    reference: AttackCounts,
    limits: tuple[FloatArray, FloatArray],
    n_speakers: ArrayLike,
    confidence: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of ratios of SFAR over speakers and attacks.

    Parameters
    ----------
    counts, reference : AttackCounts
        Of the groups, and of what each is compared with.
    limits : tuple of FloatArray of shape (..., group)
        Limits of the ratios over claimed speakers.
    n_speakers : array_like of shape (..., group)
        Claimed speakers of the smaller side.
    confidence : float
        Of those limits, and of these.

    Returns
    -------
    tuple of FloatArray of shape (..., group)
        Lower and upper limits; NaN with fewer than `MIN_ATTACKS` attacks that both sides have
        trials of, and where the ratio has no limits over speakers or no logarithm.

    Examples
    --------
    >>> counts = AttackCounts(np.array([[9], [14], [6], [20], [3]]), np.full((5, 1), 60))
    >>> reference = AttackCounts(np.array([[7], [10], [6], [11], [2]]), np.full((5, 1), 60))
    >>> limits = np.array([0.9]), np.array([2.3])
    >>> low, high = ratios_for_other_attacks(counts, reference, limits, [30])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.73], [2.87])
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    has_both = (counts.trials > 0) & (reference.trials > 0)
    n_attacks = has_both.sum(axis=-2)
    speakers = np.asarray(n_speakers, dtype=np.float64)
    log_rates = [
        np.log((side.errors + _ZERO_ERRORS) / (side.trials + 1)) for side in (counts, reference)
    ]
    log_ratios = np.where(has_both, log_rates[0] - log_rates[1], 0)
    mean = safe_divide(log_ratios.sum(axis=-2, keepdims=True), n_attacks[..., None, :])
    squares = (np.where(has_both, log_ratios - mean, 0) ** 2).sum(axis=-2)
    attack_variance = safe_divide(squares, n_attacks - 1) / np.maximum(n_attacks, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(counts.pooled_rates) - np.log(reference.pooled_rates)
        half_width = (np.log(limits[1]) - np.log(limits[0])) / 2
        speaker_error = half_width / stdtrit(speakers - 1, 0.5 + confidence / 2)
        df = np.fmax(np.minimum(n_attacks, speakers) - 1, 0)
        reach = stdtrit(df, 0.5 + confidence / 2) * np.sqrt(speaker_error**2 + attack_variance)
        has_limits = (n_attacks >= MIN_ATTACKS) & np.isfinite(log_ratio) & np.isfinite(reach)
        low, high = (
            np.where(has_limits, np.exp(log_ratio + sign * reach), np.nan) for sign in (-1, 1)
        )
    return low, high
