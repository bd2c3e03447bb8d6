"""Tests of rates that may be looked at every day: mixture e-processes of sums over speakers.

See docs/methods/monitoring.md. A speaker comes again and again, so that the sample is the speakers:
what each has contributed by now is one term of a sum, and how these terms vary is how sure the sum
is. Two samples are held against each other: ``now`` and a ``reference``, of the same speakers at an
earlier time, or of other ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray, IntArray

TUNED = 10.0
"""Variance, in errors squared, by which the mixture is about as wide as a single bet: it is
tightest where some 20 to 200 errors are expected."""


@dataclass(frozen=True)
class SpeakerMoments:
    """Sums over speakers of their errors and trials, and of products of these, ``[...]``."""

    errors: FloatArray
    trials: FloatArray
    errors_errors: FloatArray
    errors_trials: FloatArray
    trials_trials: FloatArray

    @classmethod
    def from_counts(cls, errors: ArrayLike, trials: ArrayLike, where: ArrayLike) -> SpeakerMoments:
        """Of counts ``[..., speaker]``, over the speakers of each group, ``[group, speaker]``.

        Examples
        --------
        >>> members = [[1, 1, 0], [0, 0, 1]]
        >>> SpeakerMoments.from_counts([1, 0, 2], [10, 10, 20], members).errors.tolist()
        [1.0, 2.0]
        """
        e, n = np.asarray(errors, dtype=np.float64), np.asarray(trials, dtype=np.float64)
        return cls(*(_over(one, where) for one in (e, n, e * e, e * n, n * n)))

    def excluding(self, part: SpeakerMoments) -> SpeakerMoments:
        """Of all speakers but some."""
        both = zip(vars(self).values(), vars(part).values(), strict=True)
        return SpeakerMoments(*(whole - some for whole, some in both))

    def select(self, index: object) -> SpeakerMoments:
        """Some of them."""
        return SpeakerMoments(*(one[index] for one in vars(self).values()))

    @property
    def rate(self) -> FloatArray:
        """Errors per trial; NaN without trials."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.errors / self.trials


@dataclass(frozen=True)
class JointMoments:
    """Sums over speakers of products of what they have now and what they had in the reference."""

    errors_errors: FloatArray
    errors_trials: FloatArray  # errors now, trials then
    trials_errors: FloatArray
    trials_trials: FloatArray

    @classmethod
    def from_counts(
        cls,
        now: tuple[FloatArray, FloatArray],
        reference: tuple[FloatArray, FloatArray],
        where: ArrayLike,
    ) -> JointMoments:
        """Of errors and trials ``[..., speaker]``, now and then."""
        (e, n), (f, m) = now, reference
        return cls(*(_over(one, where) for one in (e * f, e * m, n * f, n * m)))

    def select(self, index: object) -> JointMoments:
        """Some of them."""
        return JointMoments(*(one[index] for one in vars(self).values()))


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
        """Return some of them."""
        return DailySquares(self.now[index], self.reference[index], self.sd)


def _over(values: FloatArray, where: ArrayLike) -> FloatArray:
    """Sums over the speakers of each group, ``[..., group]``."""
    is_of = np.asarray(where, dtype=np.float64)
    return np.asarray(values @ is_of.T)


def intra_class_correlation(moments: SpeakerMoments, axis: int = -1) -> FloatArray:
    """Correlation of two trials of one speaker being errors, of all groups together, in [0, 1].

    Of moments ``[..., group]``, each group about its own rate; 0 where it is not known.
    docs/methods/monitoring.md#how-sure.

    Examples
    --------
    >>> same = SpeakerMoments.from_counts([4, 0, 0, 0], [4, 4, 4, 4], [[1, 1, 1, 1]])
    >>> float(intra_class_correlation(same))
    1.0
    """
    m = np.nan_to_num(moments.rate)
    each = m * (1 - m)
    square = _squares(moments, m)
    above = (square - each * moments.trials).sum(axis=axis)
    below = (each * (moments.trials_trials - moments.trials)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(below > 0, above / below, 0)
    return np.asarray(np.clip(np.nan_to_num(found), 0, 1), dtype=np.float64)


def _squares(of: SpeakerMoments, rate: FloatArray) -> FloatArray:
    """Sum over speakers of the squares of errors beyond those that a rate leads to expect."""
    found: FloatArray = of.errors_errors - 2 * rate * of.errors_trials + rate**2 * of.trials_trials
    return found


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
    """Errors beyond those that ``rate = ratio * reference`` leads to expect, and their variance.

    See docs/methods/monitoring.md#how-sure.

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
        Of the same speakers now and in the reference; None where they are other people.
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
    r, rho = (np.asarray(one, dtype=np.float64) for one in (ratio, correlation))
    e, n = now.errors - max(impostors, 0) * now.trials, now.trials
    with np.errstate(invalid="ignore", divide="ignore"):
        if isinstance(reference, SpeakerMoments):
            m = reference.trials
            f = reference.errors - max(-impostors, 0) * m
            b = np.clip((now.errors + reference.errors) / (r * n + m), 0, 1)
        else:
            m, f = np.ones(()), np.asarray(reference, dtype=np.float64)
            b = f
        a, k = np.clip(r * b, 0, 1), r * n / m
        found = _squares(now, np.nan_to_num(now.rate))
        expected = a * (1 - a) * ((1 - rho) * n + rho * now.trials_trials)
        if isinstance(reference, SpeakerMoments):
            found = found + k**2 * _squares(reference, np.nan_to_num(reference.rate))
            own = (1 - rho) * m + rho * reference.trials_trials
            expected = expected + k**2 * b * (1 - b) * own
        if shared is not None and isinstance(reference, SpeakerMoments):
            x, y = np.nan_to_num(now.rate), np.nan_to_num(reference.rate)
            both = shared.errors_errors - y * shared.errors_trials - x * shared.trials_errors
            found = found - 2 * k * (both + x * y * shared.trials_trials)
            joint = np.sqrt(a * (1 - a) * b * (1 - b)) * shared.trials_trials
            expected = expected - 2 * k * rho * joint
        variance = (found + 2 * np.maximum(found, expected)) / 3 + (k * error) ** 2
        if daily is not None:
            variance = variance + daily.sd**2 * (a**2 * daily.now + (k * b) ** 2 * daily.reference)
        excess: FloatArray = e - k * f
        return excess, np.where((n > 0) & (m > 0) & (variance > 0), variance, np.nan)


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

    mean, rates, sides = _daily(days)
    allowed = (sd * mean) ** 2
    if reference is not None:
        reference_mean, reference_rates, reference_sides = _daily(reference)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = mean / reference_mean
            rates = rates - ratio * reference_rates
            sides += [(ratio**2 * variance, errors) for variance, errors in reference_sides]
        allowed = 2 * allowed  # of either side, in units of the group's rate
    n_pairs = rates.shape[-2] // 2
    first, second = np.arange(n_pairs) * 2, np.arange(n_pairs) * 2 + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = [side[..., day, :] for side, _ in sides for day in (first, second)]
        errors = [side[..., day, :] for _, side in sides for day in (first, second)]
        variance = 2 * allowed + sum(variances)
        square = (rates[..., first, :] - rates[..., second, :]) ** 2 / variance
        # counts of few errors have heavier tails than the normal distribution
        kurtosis = sum(v**2 / e for v, e in zip(variances, errors, strict=True)) / variance**2
    is_known = np.isfinite(square) & np.isfinite(kurtosis)
    square, kurtosis = np.where(is_known, square, 0), np.where(is_known, kurtosis, 0)
    pairs = is_known.sum(axis=-2)
    total = square.sum(axis=-2) - square.max(axis=-2, initial=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = pairs / (pairs + kurtosis.sum(axis=-2) / 2)  # degrees of freedom of one square
        p = chdtrc(scale * (pairs - 1), scale * total)
    return np.where(pairs > 1, p, np.nan), pairs


def _daily(
    days: SpeakerMoments,
) -> tuple[FloatArray, FloatArray, list[tuple[FloatArray, FloatArray]]]:
    """Return the rate over all days, that of each day, and its variance and effective errors.

    Only days are used whose products are known: those have ``trials_trials`` above 0.
    """
    is_known = days.trials_trials > 0
    known = SpeakerMoments(*(np.where(is_known, sums, 0) for sums in vars(days).values()))
    total = SpeakerMoments(*(sums.sum(axis=-2, keepdims=True) for sums in vars(known).values()))
    mean = np.nan_to_num(total.rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        independent = mean * (1 - mean)
        # by how much repeated trials of a speaker within a day raise the variance
        factor = np.maximum(_squares(total, mean) / (independent * total.trials), 1)
        variance = independent * factor / known.trials
        errors = mean * known.trials / factor
    return mean, known.rate, [(variance, errors)]


def log_evidence(score: ArrayLike, variance: ArrayLike, tuned: float = TUNED) -> FloatArray:
    """Natural logarithm of the evidence that a sum has a mean above 0; -inf where undefined.

    A half-normal mixture of ``exp(x * score - x**2 * variance / 2)`` over x > 0. Where the mean is
    at most 0, it ever reaches ``log(1 / alpha)`` with probability `alpha` at most: however often
    one looks. Robbins (1970), Howard et al. (2021); docs/methods/monitoring.md#every-day.

    Examples
    --------
    >>> log_evidence([0.0, 30.0], 60.0).round(2).tolist()
    [-0.97, 6.15]
    """
    from scipy.special import log_ndtr  # noqa: PLC0415 - takes time to load

    s, v = np.asarray(score, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    both = v + tuned
    found = np.log(2) + np.log(tuned / both) / 2 + s**2 / (2 * both) + log_ndtr(s / np.sqrt(both))
    return np.asarray(np.where(np.isnan(found), -np.inf, found), dtype=np.float64)


def least_score(variance: ArrayLike, alpha: float, tuned: float = TUNED) -> FloatArray:
    """The score at which the evidence reaches ``1 / alpha``.

    Examples
    --------
    >>> float(least_score(60.0, 0.01).round(2))
    26.15
    """
    v = np.asarray(variance, dtype=np.float64)
    low, high = np.zeros_like(v), np.sqrt((v + tuned) * (4 - 4 * np.log(alpha) + np.log1p(v)))
    for _ in range(60):
        middle = (low + high) / 2
        is_there = log_evidence(middle, v, tuned) >= -np.log(alpha)
        low, high = np.where(is_there, low, middle), np.where(is_there, middle, high)
    return np.asarray(high, dtype=np.float64)
