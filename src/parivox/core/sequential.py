"""Tests of rates that stay valid if repeated every day: mixture e-processes of sums over speakers.

See docs/methods/monitoring.md. A speaker returns again and again, so that speakers are the sample:
what each speaker has contributed so far is one term of a sum, and the variance of these terms gives
that of the sum. Two samples are compared: ``now`` and a ``reference``, of the same speakers at an
earlier time, or of other ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray, IntArray

TUNED_VARIANCE = 10.0
"""Variance, in errors squared, by which the mixture is about as wide as a single bet: it is
tightest where some 20 to 200 errors are expected."""
_N_BISECTIONS = 60


@dataclass(frozen=True)
class SpeakerMoments:
    """Sums over speakers of their errors and trials, and of products of these, ``[...]``."""

    errors: FloatArray
    trials: FloatArray
    errors_errors: FloatArray
    errors_trials: FloatArray
    trials_trials: FloatArray

    @classmethod
    def from_counts(
        cls, errors: ArrayLike, trials: ArrayLike, group_speakers: ArrayLike
    ) -> SpeakerMoments:
        """Return the sums of counts ``[..., speaker]`` over groups ``[group, speaker]``.

        Examples
        --------
        >>> members = [[1, 1, 0], [0, 0, 1]]
        >>> SpeakerMoments.from_counts([1, 0, 2], [10, 10, 20], members).errors.tolist()
        [1.0, 2.0]
        """
        speaker_errors = np.asarray(errors, dtype=np.float64)
        speaker_trials = np.asarray(trials, dtype=np.float64)
        return cls(
            errors=_sum_by_group(speaker_errors, group_speakers),
            trials=_sum_by_group(speaker_trials, group_speakers),
            errors_errors=_sum_by_group(speaker_errors * speaker_errors, group_speakers),
            errors_trials=_sum_by_group(speaker_errors * speaker_trials, group_speakers),
            trials_trials=_sum_by_group(speaker_trials * speaker_trials, group_speakers),
        )

    def excluding(self, excluded: SpeakerMoments) -> SpeakerMoments:
        """Return the sums over all speakers but those of `excluded`."""
        sum_pairs = zip(vars(self).values(), vars(excluded).values(), strict=True)
        return SpeakerMoments(*(total - excluded_sum for total, excluded_sum in sum_pairs))

    def select(self, index: object) -> SpeakerMoments:
        """Return the sums at an index of their axes."""
        return SpeakerMoments(*(sums[index] for sums in vars(self).values()))

    @property
    def rate(self) -> FloatArray:
        """Errors per trial; NaN without trials."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.errors / self.trials


@dataclass(frozen=True)
class JointMoments:
    """Sums over speakers of products of their counts now and their counts in the reference."""

    errors_errors: FloatArray
    errors_trials: FloatArray  # errors now, trials then
    trials_errors: FloatArray
    trials_trials: FloatArray

    @classmethod
    def from_counts(
        cls,
        now: tuple[FloatArray, FloatArray],
        reference: tuple[FloatArray, FloatArray],
        group_speakers: ArrayLike,
    ) -> JointMoments:
        """Return the sums of errors and trials ``[..., speaker]``, now and in the reference."""
        errors_now, trials_now = now
        errors_then, trials_then = reference
        return cls(
            errors_errors=_sum_by_group(errors_now * errors_then, group_speakers),
            errors_trials=_sum_by_group(errors_now * trials_then, group_speakers),
            trials_errors=_sum_by_group(trials_now * errors_then, group_speakers),
            trials_trials=_sum_by_group(trials_now * trials_then, group_speakers),
        )

    def select(self, index: object) -> JointMoments:
        """Return the sums at an index of their axes."""
        return JointMoments(*(sums[index] for sums in vars(self).values()))


@dataclass(frozen=True)
class DailySquares:
    """Sums over days of squared numbers of trials, ``[...]``, and how much rates vary by day.

    ``sd`` is the standard deviation of the daily rate relative to its mean. The reference is 0
    where it does not consist of days.
    """

    now: FloatArray
    reference: FloatArray
    sd: FloatArray | float

    def select(self, index: tuple[IntArray, ...]) -> DailySquares:
        """Return the sums at an index of their axes."""
        return DailySquares(self.now[index], self.reference[index], self.sd)


def _sum_by_group(speaker_values: FloatArray, group_speakers: ArrayLike) -> FloatArray:
    """Return sums over the speakers of each group, ``[..., group]``."""
    membership = np.asarray(group_speakers, dtype=np.float64)
    return np.asarray(speaker_values @ membership.T)


def intra_class_correlation(moments: SpeakerMoments, axis: int = -1) -> FloatArray:
    """Return the correlation of two trials of one speaker being errors, in [0, 1].

    Of all groups together, from moments ``[..., group]``, each group about its own rate; 0 where it
    is not known. docs/methods/monitoring.md#variance-of-the-score.

    Examples
    --------
    >>> same = SpeakerMoments.from_counts([4, 0, 0, 0], [4, 4, 4, 4], [[1, 1, 1, 1]])
    >>> float(intra_class_correlation(same))
    1.0
    """
    rate = np.nan_to_num(moments.rate)
    rate_variance = rate * (1 - rate)
    squared_residuals = _squared_residuals(moments, rate)
    numerator = (squared_residuals - rate_variance * moments.trials).sum(axis=axis)
    denominator = (rate_variance * (moments.trials_trials - moments.trials)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(denominator > 0, numerator / denominator, 0)
    return np.asarray(np.clip(np.nan_to_num(correlation), 0, 1), dtype=np.float64)


def _squared_residuals(moments: SpeakerMoments, rate: FloatArray) -> FloatArray:
    """Return the sum over speakers of (errors - rate * trials) ** 2."""
    squared_residuals: FloatArray = (
        moments.errors_errors - 2 * rate * moments.errors_trials + rate**2 * moments.trials_trials
    )
    return squared_residuals


def _rate_or_0(moments: SpeakerMoments) -> FloatArray:
    """Return the rate, 0 without trials; `np.nan_to_num` takes twenty times as long."""
    rate = moments.rate
    return np.where(np.isnan(rate), 0.0, rate)


def score(
    now: SpeakerMoments,
    reference: SpeakerMoments | ArrayLike,
    ratio: ArrayLike = 1.0,
    *,
    correlation: ArrayLike = 0.0,
    shared: JointMoments | None = None,
    error: float = 0.0,
    impostors: float = 0.0,
    daily: DailySquares | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return errors beyond those expected if ``rate = ratio * reference``, and their variance.

    See docs/methods/monitoring.md#variance-of-the-score.

    Parameters
    ----------
    now
        Of the speakers watched.
    reference
        Of those that they are compared with; or a rate in [0, 1].
    ratio : array_like, above 0
        Of both rates, under the hypothesis; broadcasts with the moments.
    correlation : array_like in [0, 1]
        `intra_class_correlation`.
    shared
        Of the same speakers now and in the reference; None for other speakers.
    error
        Standard error of a reference that is a rate.
    impostors : in [0, 1)
        Largest share of trials, now, that may have been of impostors who were rejected; negative
        for those of the reference, where the side that fares better is asked for.
    daily
        How much rates may vary from day to day for all speakers of a side at once; None for not
        at all.

    Returns
    -------
    tuple of float64 arrays
        Score and variance, in errors and errors squared; the variance is NaN where either has no
        trials, or neither any error.
    """
    rate_ratio = np.asarray(ratio, dtype=np.float64)
    icc = np.asarray(correlation, dtype=np.float64)
    trials_now = now.trials
    errors_now = now.errors - max(impostors, 0) * trials_now
    with np.errstate(invalid="ignore", divide="ignore"):
        if isinstance(reference, SpeakerMoments):
            reference_trials = reference.trials
            reference_errors = reference.errors - max(-impostors, 0) * reference_trials
            # the common rate under the hypothesis, of both samples together
            errors_of_both = now.errors + reference.errors
            trials_of_both = rate_ratio * trials_now + reference_trials
            reference_rate = np.clip(errors_of_both / trials_of_both, 0, 1)
        else:
            reference_trials = np.ones(())
            reference_errors = np.asarray(reference, dtype=np.float64)
            reference_rate = reference_errors
        expected_rate = np.clip(rate_ratio * reference_rate, 0, 1)
        reference_weight = rate_ratio * trials_now / reference_trials
        # variance as speakers show it, and as the hypothesis and their correlation lead to expect
        empirical = _squared_residuals(now, _rate_or_0(now))
        effective_trials = (1 - icc) * trials_now + icc * now.trials_trials
        expected = expected_rate * (1 - expected_rate) * effective_trials
        if isinstance(reference, SpeakerMoments):
            squares = _squared_residuals(reference, _rate_or_0(reference))
            empirical = empirical + reference_weight**2 * squares
            effective_trials = (1 - icc) * reference_trials + icc * reference.trials_trials
            expected_squares = reference_weight**2 * reference_rate * (1 - reference_rate)
            expected = expected + expected_squares * effective_trials
        if shared is not None and isinstance(reference, SpeakerMoments):
            # the same speakers in both: what they have in common does not vary the difference
            rate_now, rate_then = _rate_or_0(now), _rate_or_0(reference)
            cross_products = (
                shared.errors_errors
                - rate_then * shared.errors_trials
                - rate_now * shared.trials_errors
            )
            covariance = cross_products + rate_now * rate_then * shared.trials_trials
            empirical = empirical - 2 * reference_weight * covariance
            expected_variances = (
                expected_rate * (1 - expected_rate) * reference_rate * (1 - reference_rate)
            )
            expected_covariance = np.sqrt(expected_variances) * shared.trials_trials
            expected = expected - 2 * reference_weight * icc * expected_covariance
        # for these weights see docs/methods/monitoring.md#variance-of-the-score
        blended = (empirical + 2 * np.maximum(empirical, expected)) / 3
        variance = blended + (reference_weight * error) ** 2
        if daily is not None:
            daily_squares = (
                expected_rate**2 * daily.now
                + (reference_weight * reference_rate) ** 2 * daily.reference
            )
            variance = variance + daily.sd**2 * daily_squares
        excess: FloatArray = errors_now - reference_weight * reference_errors
        is_defined = (trials_now > 0) & (reference_trials > 0) & (variance > 0)
        return excess, np.where(is_defined, variance, np.nan)


def day_variation_p(
    days: SpeakerMoments, reference: SpeakerMoments | None = None, sd: float = 0.0
) -> tuple[FloatArray, IntArray]:
    """Test whether daily rates vary more than speakers who err independently explain.

    Rates of the 1st and 2nd day, of the 3rd and 4th and so on are compared. The pair of days that
    differ most is left out, so that one lasting change is not taken for variation.
    See docs/methods/monitoring.md#from-day-to-day.

    Parameters
    ----------
    days : Moments of shape (..., day, group)
        Sums over the speakers of each day.
    reference : Moments of shape (..., day, group)
        Of those whose rate on the same day is compared with; None to test the rate itself.
    sd : float
        Standard deviation of the daily rate, relative to its mean, that is allowed for.

    Returns
    -------
    p : float64 array (..., group)
        NaN with fewer than two pairs of days that have trials.
    pairs : int array (..., group)
        Pairs of days that have trials.

    Examples
    --------
    >>> errors = np.array([[5.0], [40.0], [30.0], [2.0], [45.0], [1.0]])
    >>> trials = np.full((6, 1), 1000.0)
    >>> p, pairs = day_variation_p(SpeakerMoments(errors, trials, errors, errors, trials))
    >>> float(p[0]) < 0.001, int(pairs[0])
    (True, 3)
    """
    from scipy.special import chdtrc  # noqa: PLC0415 - takes time to load

    mean, rates, variances_and_errors = _daily_rates(days)
    allowed = (sd * mean) ** 2
    if reference is not None:
        reference_mean, reference_rates, reference_sides = _daily_rates(reference)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = mean / reference_mean
            rates = rates - ratio * reference_rates
            variances_and_errors += [
                (ratio**2 * variance, errors) for variance, errors in reference_sides
            ]
        allowed = 2 * allowed  # of either side, in units of the group's rate
    n_pairs = rates.shape[-2] // 2
    first_days = np.arange(n_pairs) * 2
    second_days = first_days + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        variances, errors = [], []
        for sample_variance, sample_errors in variances_and_errors:
            for days_of_pairs in (first_days, second_days):
                variances.append(sample_variance[..., days_of_pairs, :])
                errors.append(sample_errors[..., days_of_pairs, :])
        variance = 2 * allowed + sum(variances)
        square = (rates[..., first_days, :] - rates[..., second_days, :]) ** 2 / variance
        # counts of few errors have heavier tails than the normal distribution
        fourths = sum(
            day_variance**2 / effective_errors
            for day_variance, effective_errors in zip(variances, errors, strict=True)
        )
        kurtosis = fourths / variance**2
    is_known = np.isfinite(square) & np.isfinite(kurtosis)
    square, kurtosis = np.where(is_known, square, 0), np.where(is_known, kurtosis, 0)
    pairs = is_known.sum(axis=-2)
    total = square.sum(axis=-2) - square.max(axis=-2, initial=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = pairs / (pairs + kurtosis.sum(axis=-2) / 2)  # degrees of freedom of one square
        p = chdtrc(scale * (pairs - 1), scale * total)
    return np.where(pairs > 1, p, np.nan), pairs


def _daily_rates(
    days: SpeakerMoments,
) -> tuple[FloatArray, FloatArray, list[tuple[FloatArray, FloatArray]]]:
    """Return the rate over all days, that of each day, and its variance and effective errors.

    Only days are used whose products are known: those have ``trials_trials`` above 0.
    """
    is_known = days.trials_trials > 0
    known_days = SpeakerMoments(*(np.where(is_known, sums, 0) for sums in vars(days).values()))
    day_sums = [sums.sum(axis=-2, keepdims=True) for sums in vars(known_days).values()]
    total = SpeakerMoments(*day_sums)
    mean = np.nan_to_num(total.rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        independent = mean * (1 - mean)
        # by how much repeated trials of a speaker within a day raise the variance
        variance_ratio = _squared_residuals(total, mean) / (independent * total.trials)
        clustering_factor = np.maximum(variance_ratio, 1)
        variance = independent * clustering_factor / known_days.trials
        errors = mean * known_days.trials / clustering_factor
    return mean, known_days.rate, [(variance, errors)]


def log_evidence(
    score: ArrayLike, variance: ArrayLike, tuned: float = TUNED_VARIANCE
) -> FloatArray:
    """Return the log of the evidence that a sum has a mean above 0; -inf where undefined.

    A half-normal mixture of ``exp(x * score - x**2 * variance / 2)`` over x > 0. Where the mean is
    at most 0, it ever reaches ``log(1 / alpha)`` with probability `alpha` at most: however often
    one looks. Robbins (1970), Howard et al. (2021); docs/methods/monitoring.md#every-day.

    Examples
    --------
    >>> log_evidence([0.0, 30.0], 60.0).round(2).tolist()
    [-0.97, 6.15]
    """
    from scipy.special import log_ndtr  # noqa: PLC0415 - takes time to load

    score_array = np.asarray(score, dtype=np.float64)
    variance_array = np.asarray(variance, dtype=np.float64)
    mixture_variance = variance_array + tuned
    evidence = (
        np.log(2)
        + np.log(tuned / mixture_variance) / 2
        + score_array**2 / (2 * mixture_variance)
        + log_ndtr(score_array / np.sqrt(mixture_variance))
    )
    return np.asarray(np.where(np.isnan(evidence), -np.inf, evidence), dtype=np.float64)


def least_score(variance: ArrayLike, alpha: float, tuned: float = TUNED_VARIANCE) -> FloatArray:
    """Return the score at which the evidence reaches ``1 / alpha``.

    Examples
    --------
    >>> float(least_score(60.0, 0.01).round(2))
    26.15
    """
    variance_array = np.asarray(variance, dtype=np.float64)
    max_square = (variance_array + tuned) * (4 - 4 * np.log(alpha) + np.log1p(variance_array))
    low, high = np.zeros_like(variance_array), np.sqrt(max_square)
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        is_reached = log_evidence(middle, variance_array, tuned) >= -np.log(alpha)
        low, high = np.where(is_reached, low, middle), np.where(is_reached, middle, high)
    return np.asarray(high, dtype=np.float64)
