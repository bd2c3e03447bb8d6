"""How many speakers and trials are needed to detect a difference between a group and the others.

Plans are for the audit's own test: the log ratio of a group's FNR or FPR to that of the other
groups, its variance over speakers, t quantiles for the number of speakers
(docs/methods/planning.md#power). Plans assume that

* any two trials that share a speaker correlate by ``icc``, so that a rate varies by its *design
  effect*, ``1 + sides * (trials_per_speaker - 1) * icc`` times as much as that of independent
  trials. A target trial has one speaker (``sides`` 1), a nontarget trial two (``sides`` 2);
* a group with a higher rate varies more between its speakers, too (`icc_at`);
* few speakers make most of the errors, as where their rates are beta distributed; of that, a sample
  of few speakers shows little.

`least_speakers` is the textbook form without the last two
(docs/methods/planning.md#textbook-forms), which promises more power than few speakers keep.

Throughout, `ratio` is the group's true rate over that of the others, above 1 if it fares worse;
`rate` is the true rate of the others, in (0, 1); `power` is the probability of detection,
`confidence` that of the two-sided test. Arrays broadcast; results are float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.intervals import clopper_pearson, limits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray

EXPECTED_ERRORS = 30
"""Independent errors from which a rate is known to within 30 % at 90 % confidence (Doddington)."""
FEWEST_SPEAKERS = 5
"""No plan has fewer: no inference is made (docs/uncertainty.md#sample-size-minimums)."""
# An audit takes at least this share of the jackknife's variance of an FPR
# (docs/methods/uncertainty.md#residuals-and-variances), which counts what is not of speakers twice:
# design effects below 3 are reported too large.
_MIN_DEFF_SHARE = 0.75
# By sides: the power of rate * (1 - rate) with which correlations grow.
_ICC_EXPONENTS = {1: 0.5, 2: 0.9}
# A sample of this many speakers shows half of their excess kurtosis, by simulation
# (docs/methods/planning.md#power).
_HALF_KURTOSIS_SPEAKERS = 60
# With fewer errors, an audit's lower limit is no nearer than Clopper and Pearson's.
_MAX_FEW_ERRORS = 4.5
# Plans of more speakers are given up.
_MAX_SPEAKERS = 1e9
# A search evaluates a grid of steps, then one between two of its steps, and so on.
_GRID_STEPS, _N_GRID_ZOOMS = 50, 4
_MAX_LOG_RATIO = np.log(1000)


class Sample(NamedTuple):
    """Trials of a group, or of several together: arrays that broadcast."""

    speakers: ArrayLike
    trials_per_speaker: ArrayLike
    """Trials that a speaker takes part in, on average."""
    icc: ArrayLike
    """Correlation of two trials that share a speaker, at the reference's rate."""
    sides: int = 1
    """Speakers of a trial: 1 for target trials (FNR), 2 for nontarget ones (FPR)."""
    df: ArrayLike = np.inf
    """The most degrees of freedom that the data allow, as when trials per speaker are unequal."""

    def trials(self) -> FloatArray:
        """Return the number of trials of all speakers together."""
        return np.multiply(self.speakers, self.trials_per_speaker, dtype=np.float64) / self.sides


def design_effect(trials_per_speaker: ArrayLike, icc: ArrayLike, *, sides: int = 1) -> FloatArray:
    """Return the variance of a rate in units of that of independent trials.

    At least 1. Arguments are as in `Sample`.

    Examples
    --------
    >>> float(design_effect(24, 0.09)), float(design_effect(24, 0.09, sides=2))
    (3.07, 5.14)
    """
    other_trials = np.maximum(_float_array(trials_per_speaker) - 1, 0)
    return np.asarray(1 + sides * other_trials * np.maximum(icc, 0))[()]


def icc_of(deff: ArrayLike, trials_per_speaker: ArrayLike, *, sides: int = 1) -> FloatArray:
    """Return the correlation of two trials that share a speaker, from an audit's design effect.

    At least 0; NaN with at most one trial a speaker, where no two trials share one. Design effects
    of FPR below 3 are reported with an allowance, which is taken off.

    Examples
    --------
    >>> round(float(icc_of(3.07, 24)), 9), float(icc_of(1.0, 1))
    (0.09, nan)
    """
    other_trials = _float_array(trials_per_speaker) - 1
    other_trials = np.where(other_trials > 0, other_trials, np.nan)
    true_deff = np.minimum(deff, _float_array(deff) / _MIN_DEFF_SHARE - 1) if sides == 2 else deff
    return np.asarray(np.maximum(np.subtract(true_deff, 1), 0) / (sides * other_trials))[()]


def icc_at(icc: ArrayLike, rate: ArrayLike, to: ArrayLike, *, sides: int = 1) -> FloatArray:
    """Return the correlation of two trials that share a speaker, from that at another rate.

    Speakers vary more where rates are higher: their variance goes with ``rate * (1 - rate)`` to the
    power of 1.2 to 1.6 (FNR) and 1.65 to 2.1 (FPR) on VoxCeleb1-H
    (docs/methods/uncertainty.md#intervals-of-rates), that of independent trials to the power of 1.
    Taken are 1.5 and 1.9. Rates are in (0, 1), `icc` is that at `rate`, `sides` is 1 for FNR and 2
    for FPR.

    Examples
    --------
    >>> round(float(icc_at(0.1, 0.2, 0.5)), 9), round(float(icc_at(0.1, 0.5, 0.2)), 9)
    (0.125, 0.08)
    """
    variance_sought = np.multiply(to, np.subtract(1, to))
    variance_known = np.multiply(rate, np.subtract(1, rate))
    with np.errstate(invalid="ignore", divide="ignore"):
        growth = (variance_sought / variance_known) ** _ICC_EXPONENTS[sides]
        return np.asarray(_float_array(icc) * growth)[()]


def power_to_detect(
    ratio: ArrayLike,
    rate: ArrayLike,
    group: Sample,
    reference: Sample | None,
    *,
    confidence: float = 0.95,
    limit: ArrayLike = 1,
) -> FloatArray:
    """Return the probability that a difference from the reference, of other speakers, is detected.

    In [0, 1]; NaN where either rate is not in (0, 1) or there are fewer than two speakers. With a
    `limit`, that the ratio is shown to differ from it; with no `reference`, that the rate is shown
    to differ from a known one.

    Examples
    --------
    >>> group = Sample(30, 230, 0.12)
    >>> round(float(power_to_detect(2, 0.1, group, group)), 2)
    0.76
    """
    from scipy.special import ndtr  # noqa: PLC0415 - a tenth of a second to import

    rate = _float_array(rate)
    group_rate = rate * _float_array(ratio)
    with np.errstate(invalid="ignore", divide="ignore"):
        group_rate = np.where((group_rate > 0) & (group_rate < 1), group_rate, np.nan)
        icc = icc_at(group.icc, rate, group_rate, sides=group.sides)
        group_spread = _log_rate_spread(group, group_rate, icc, confidence)
        reference_spread = _LogRateSpread(*np.zeros((4, 1)))
        if reference is not None:
            reference_spread = _log_rate_spread(reference, rate, reference.icc, confidence)
        log_distance = np.log(_float_array(ratio) / _float_array(limit))
        group_reach = np.where(log_distance > 0, group_spread.below, group_spread.above)
        reference_reach = np.where(log_distance > 0, reference_spread.above, reference_spread.below)
        total_reach = np.hypot(group_reach, reference_reach)
        distance = np.abs(log_distance)
        # the reach of the limits varies from sample to sample, too
        reach_variance = (
            group_reach**4 * group_spread.reach_variation
            + reference_reach**4 * reference_spread.reach_variation
        )
        reach_variance *= np.minimum(distance / total_reach, 1) ** 2 / total_reach**2
        variance = (
            group_spread.standard_error**2 + reference_spread.standard_error**2 + reach_variance
        )
        chance = ndtr((distance - total_reach) / np.sqrt(variance))
    return np.asarray(chance)[()]


def detectable_ratio(
    rate: ArrayLike,
    group: Sample,
    reference: Sample,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    better: bool = False,
) -> FloatArray:
    """Return the ratio nearest to 1 that would be detected with a stated power.

    NaN where there is none, as with few errors: even a group without any errors could not be shown
    to differ from the others. `better` seeks ratios below 1, of groups that fare better: these make
    fewer errors, and are harder to detect.

    Examples
    --------
    >>> few, many = Sample(8, 24, 0.12), Sample(64, 24, 0.12)
    >>> round(float(detectable_ratio(0.1, few, many)), 2)
    2.64
    >>> float(detectable_ratio(0.1, few, many, better=True))
    nan
    """
    shape = np.broadcast_shapes(*map(np.shape, (rate, *group, *reference)))
    reference_rate = np.broadcast_to(_float_array(rate), shape)

    def reaches(log_ratio: FloatArray) -> NDArray[np.bool_]:
        chance = power_to_detect(
            np.exp(log_ratio), reference_rate, group, reference, confidence=confidence
        )
        return np.asarray(chance >= power)

    valid_rate = np.where((reference_rate > 0) & (reference_rate < 1), reference_rate, np.nan)
    # from a ratio of 1 to the farthest one; a rate cannot exceed 1
    nearest = np.zeros(shape)
    farthest = np.full(shape, -_MAX_LOG_RATIO) if better else -np.log(valid_rate)
    is_possible = np.zeros(shape, dtype=np.bool_)
    for _ in range(_N_GRID_ZOOMS):
        grid = nearest + np.multiply.outer(np.linspace(0, 1, _GRID_STEPS + 1), farthest - nearest)
        is_enough = reaches(grid)
        is_possible |= is_enough.any(axis=0)
        # the first one: with still fewer errors, a better group is harder to detect again
        first_index = np.where(is_enough.any(axis=0), is_enough.argmax(axis=0), _GRID_STEPS)
        nearest = np.take_along_axis(grid, first_index[None] - 1, axis=0)[0]
        farthest = np.take_along_axis(grid, first_index[None], axis=0)[0]
    return np.where(is_possible, np.exp(farthest), np.nan)[()]


def speakers_needed(
    ratio: ArrayLike,
    rate: ArrayLike,
    trials_per_speaker: ArrayLike,
    icc: ArrayLike,
    *,
    others: ArrayLike = 1,
    sides: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
    limit: ArrayLike = 1,
    own_icc: ArrayLike | None = None,
) -> FloatArray:
    """Return how many speakers each group needs for a ratio to be detected with a stated power.

    Whole numbers, at least `FEWEST_SPEAKERS`; NaN where a rate is not in (0, 1) or the ratio
    equals the `limit`. Trials per speaker and correlation, as in `Sample`, are
    alike in all groups, but for `own_icc` of the group; `others` is how many groups the group is
    compared with, each of as many speakers, infinitely many for a known rate.

    Examples
    --------
    >>> float(speakers_needed(2, 0.1, 230, 0.12)), float(speakers_needed(2, 0.1, 24, 0.12))
    (33.0, 41.0)
    """

    def reaches(speakers: FloatArray) -> NDArray[np.bool_]:
        group_icc = icc if own_icc is None else own_icc
        group = Sample(speakers, trials_per_speaker, group_icc, sides)
        others_together = Sample(speakers * _float_array(others), trials_per_speaker, icc, sides)
        reference = None if np.isinf(others).all() else others_together
        chance = power_to_detect(ratio, rate, group, reference, confidence=confidence, limit=limit)
        return np.asarray(chance >= power)

    start_speakers = least_speakers(
        ratio, rate, trials_per_speaker, icc, others=others, sides=sides, power=power,
        confidence=confidence, limit=limit,
    )  # fmt: skip
    # halving would not end between numbers so large that their neighbours are more than 1 apart
    start_speakers = np.where(start_speakers < _MAX_SPEAKERS, start_speakers, np.nan)
    high = np.maximum(start_speakers, FEWEST_SPEAKERS)
    low = np.full_like(high, FEWEST_SPEAKERS - 1)
    # doubled until the power is reached, then halved between; NaN is never too few
    while (is_too_few := ~reaches(high) & (high < _MAX_SPEAKERS)).any():
        low, high = np.where(is_too_few, high, low), np.where(is_too_few, 2 * high, high)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        is_enough = (middle > low) & reaches(middle)
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return np.where(high < _MAX_SPEAKERS, high, np.nan)[()]


def least_speakers(
    ratio: ArrayLike,
    rate: ArrayLike,
    trials_per_speaker: ArrayLike,
    icc: ArrayLike,
    *,
    others: ArrayLike = 1,
    sides: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
    limit: ArrayLike = 1,
) -> FloatArray:
    """Return `speakers_needed` by normal quantiles, which many speakers come close to.

    Examples
    --------
    >>> float(least_speakers(2, 0.1, 230, 0.12))
    27.0
    """
    rate = _float_array(rate)
    group_rate = rate * _float_array(ratio)
    with np.errstate(invalid="ignore", divide="ignore"):
        deff = design_effect(trials_per_speaker, icc, sides=sides)
        errors = (1 - group_rate) / group_rate + (1 - rate) / (rate * _float_array(others))
        variance = deff * errors * sides / _float_array(trials_per_speaker)
        log_distance = np.log(np.divide(ratio, limit))
        speakers = np.ceil(_quantile_sum(power, confidence) ** 2 * variance / log_distance**2)
    is_defined = (rate > 0) & (rate < 1) & (group_rate > 0) & (group_rate < 1)
    return np.where(is_defined & np.isfinite(speakers), speakers, np.nan)[()]


def supported_rate(trials: ArrayLike, deff: ArrayLike = 1) -> FloatArray:
    """Return the smallest rate at which trials are expected to hold 30 independent errors.

    In (0, 1]; NaN where even a rate of 1 would be too small, or there are no trials.

    Examples
    --------
    >>> float(supported_rate(120_000, deff=4))
    0.001
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        smallest_rate = EXPECTED_ERRORS * _float_array(deff) / _float_array(trials)
    return np.where(smallest_rate <= 1, smallest_rate, np.nan)[()]


def trials_needed(rate: ArrayLike, deff: ArrayLike = 1) -> FloatArray:
    """Return how many trials are expected to hold 30 independent errors (Doddington's rule of 30).

    Examples
    --------
    >>> float(trials_needed(0.001)), float(trials_needed(0.001, deff=4))
    (30000.0, 120000.0)
    """
    return np.asarray(EXPECTED_ERRORS * _float_array(deff) / _float_array(rate))[()]


def relative_half_width(
    errors: ArrayLike, deff: ArrayLike = 1, *, confidence: float = 0.95
) -> FloatArray:
    """Return half the width of a rate's interval, in units of the rate, by normal quantiles.

    Examples
    --------
    >>> round(float(relative_half_width(30, confidence=0.9)), 3)
    0.3
    """
    from scipy.special import ndtri  # noqa: PLC0415 - a tenth of a second to import

    with np.errstate(divide="ignore"):
        variance = _float_array(deff) / _float_array(errors)
    return np.asarray(ndtri((1 + confidence) / 2) * np.sqrt(variance))[()]


def _float_array(numbers: ArrayLike) -> FloatArray:
    """Return numbers as an array of float64."""
    return np.asarray(numbers, dtype=np.float64)


def _quantile_sum(power: float, confidence: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415 - a tenth of a second to import

    return float(ndtri((1 + confidence) / 2) + ndtri(power))


class _LogRateSpread(NamedTuple):
    """Standard error of the logarithm of a rate, and how far away an audit's limits lie."""

    standard_error: FloatArray
    below: FloatArray
    above: FloatArray
    reach_variation: FloatArray  # squared coefficient of variation of `below` and `above`


def _log_rate_spread(
    sample: Sample, rate: FloatArray, icc: ArrayLike, confidence: float
) -> _LogRateSpread:
    """Return what an audit of a typical sample reports (docs/methods/planning.md#power)."""
    n_speakers = _float_array(sample.speakers)
    n_speakers = np.where(n_speakers > 1, n_speakers, np.nan)
    deff = design_effect(sample.trials_per_speaker, icc, sides=sample.sides)
    independent = rate * (1 - rate) / sample.trials()
    kurtosis = _kurtosis(rate, _float_array(sample.trials_per_speaker), icc)
    seen_kurtosis = kurtosis * n_speakers / (n_speakers + _HALF_KURTOSIS_SPEAKERS)
    sample_kurtosis = np.maximum(seen_kurtosis - 6 / (n_speakers + 1), 0)
    df = np.minimum(2 / (sample_kurtosis / n_speakers + 2 / (n_speakers - 1)), sample.df)
    reported_deff = deff
    if sample.sides == 2:
        reported_deff = np.maximum(deff, _MIN_DEFF_SHARE * (deff + 1))
    low, high = limits(rate, reported_deff * independent, df, confidence)
    errors = rate * sample.trials()
    exact_low = clopper_pearson(errors, sample.trials(), confidence)[0]
    low = np.where(errors < _MAX_FEW_ERRORS, np.fmin(low, exact_low), low)
    return _LogRateSpread(
        np.sqrt(deff * independent) / rate,
        np.log(rate / low),
        np.log(high / rate),
        np.minimum((kurtosis / n_speakers + 2 / (n_speakers - 1)) / 4, 1),
    )


def _kurtosis(rate: FloatArray, trials: FloatArray, icc: ArrayLike) -> FloatArray:
    """Return the excess kurtosis of a speaker's errors, beta-binomial, at least 0."""
    concentration = 1 / np.clip(icc, 1e-9, 0.99) - 1
    factorial_moments = [np.asarray(1.0)]
    for i in range(4):
        previous = factorial_moments[-1] * np.maximum(trials - i, 0)
        factorial_moments.append(previous * (rate * concentration + i) / (concentration + i))
    # raw moments are sums of factorial moments, weighted by Stirling numbers
    _, factorial_1, factorial_2, factorial_3, factorial_4 = factorial_moments
    mean = factorial_1
    square = factorial_1 + factorial_2
    cube = factorial_1 + 3 * factorial_2 + factorial_3
    fourth_power = factorial_1 + 7 * factorial_2 + 6 * factorial_3 + factorial_4
    variance = square - mean**2
    fourth = fourth_power - 4 * cube * mean + 6 * square * mean**2 - 3 * mean**4
    return np.asarray(np.maximum(fourth / variance**2 - 3, 0))
