"""Intervals of error rates: over speakers, and over trials for comparison.

`rate_interval` is the closed form over speakers; its rule was found by simulation
(docs/methods/uncertainty.md#intervals-of-rates) and is studied again in ``benchmarks/coverage``.
What no interval can see is a kind of speaker that the sample lacks; notes say so. Arrays are
``[..., cell]``, leading axes are free.

`wilson`, `clopper_pearson` and `jeffreys` take trials to be independent
(docs/methods/uncertainty.md#intervals-over-trials). They are far too short for speaker
verification, where trials share speakers (docs/methods/uncertainty.md#why-speakers), unless they
are given effective numbers: errors / deff of trials / deff.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import safe_divide
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray, IntArray

# Speaker variance grows with the rate as [R (1 - R)] ** 1.5
# (docs/methods/uncertainty.md#intervals-of-rates).
_RATE_EXPONENT = 1.5
# Bisections of the way from a rate to 0 or 1.
_N_BISECTIONS = 60
# One speaker in ten is of a kind that fewer than 29 speakers lack with probability .05 or more.
_MIN_SPEAKERS_FOR_RARE_KIND = 29
_MIN_STEADY_DF = 5  # degrees of freedom from which a variance is known well enough
_MAX_FEW_ERRORS = 5  # fewer errors: no nearer than Clopper and Pearson's limits
_MAX_LIMIT_RATIO = 5  # an upper limit so many times the rate says nothing of the lower one
_MIN_FLOOR_CELLS = 3  # other cells that a pooled floor needs


UNKNOWN_SPEAKERS = "unknown_test_speakers"
"""Code of what cannot be told as nobody knows how many people made the nontarget trials."""
REASON_NO_TEST_SPEAKER = f"nontarget trials without a test speaker ({UNKNOWN_SPEAKERS})"
NOTE_NO_TEST_SPEAKER = f"no interval: {REASON_NO_TEST_SPEAKER}"


@dataclass(frozen=True, eq=False)
class Interval:
    """Rates with limits, of shape (..., cell)."""

    rate: FloatArray
    """In [0, 1], lower is better, as are its limits, which are NaN where `method` is empty."""
    low: FloatArray
    high: FloatArray
    deff: FloatArray
    """Design effect: variance in units of the binomial one, at least 1; NaN without errors."""
    n_eff: FloatArray
    """Independent trials that would tell as much."""
    df: FloatArray
    """Degrees of freedom of the variance, at least 1; NaN without errors."""
    se: FloatArray
    """Standard error of the rate; NaN without errors."""
    note: NDArray[np.str_]
    """What a reader must know, parts joined by "; "; why there is no interval."""
    method: NDArray[np.str_]
    """``speakers``; ``zero-errors`` for cells without errors, or with nothing but errors; empty
    without an interval.
    """

    def without_limits(self, cells: NDArray[np.bool_], note: str) -> Interval:
        """The same without limits in these cells, and why; those without trials say so already."""
        return replace(
            self,
            low=np.where(cells, np.nan, self.low),
            high=np.where(cells, np.nan, self.high),
            method=np.where(cells, "", self.method),
            note=np.where(cells & (self.note != "no trials"), note, self.note),
        )

    def without_spread(self, cells: NDArray[np.bool_], note: str) -> Interval:
        """The same `without` limits in these cells, nor what they are made of."""
        spread_columns = {name: getattr(self, name) for name in ("deff", "n_eff", "df", "se")}
        columns = {name: np.where(cells, np.nan, column) for name, column in spread_columns.items()}
        return replace(self.without_limits(cells, note), **columns)


def rate_interval(
    moments: Moments, confidence: float = 0.95, pooled_floor: ArrayLike | None = None
) -> Interval:
    """Interval of each cell's rate over speakers.

    Parameters
    ----------
    moments : Moments
        Of groups that may lend each other a design effect: the cells of one grouping.
    confidence : float
        In (0, 1).
    pooled_floor : array_like of shape (..., cell), optional
        `other_kappa2`: variances are drawn up to what the other groups' speakers show, by
        a weight of two degrees of freedom. Target trials only; NaN leaves a cell as it is.

    Returns
    -------
    Interval
        The limits are where the rate lies as many standard errors away as the quantile of t
        says, the standard error being that at the limit. Without errors, or with nothing but
        errors: the rule of 3, 3 * deff / trials at 95 % (exactly 3; else in proportion to
        ln(1 - confidence)), with the design effect of all cells together, at least 1 and at
        most what it is if all trials of a speaker have the same outcome; the latter if no
        other cell tells one. NaN without trials, and where one speaker takes part in all.

    Raises
    ------
    ConfigError
        A confidence out of range, or a pooled floor for nontarget trials.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> errors, trials = np.array([12, 0, 3, 41, 7, 1, 0, 9]), np.full(8, 230)
    >>> told = moments(ErrorsBySpeaker(np.zeros(8, int), np.arange(8), errors, trials, 1))
    >>> found = rate_interval(told)
    >>> found.low.round(6).tolist(), found.high.round(6).tolist()
    ([0.013105], [0.227884])
    """
    return intervals_at_once([(moments, pooled_floor)], confidence)[0]


def intervals_at_once(
    moments_and_floors: Sequence[tuple[Moments, ArrayLike | None]], confidence: float = 0.95
) -> list[Interval]:
    """`rate_interval` of several, each with its pooled floor, whose limits are sought together.

    Of moments of shape (..., cell) with the same leading axes.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> zero, speakers = np.zeros(4, int), np.arange(4)
    >>> told = moments(ErrorsBySpeaker(zero, speakers, np.array([1, 0, 6, 2]), np.full(4, 50), 1))
    >>> one, other = intervals_at_once([(told, None), (told, None)])
    >>> bool(one.low == other.low == rate_interval(told).low)
    True
    """
    variances = [
        cell_moments.variance
        if floor is None
        else _raise_to_pooled(cell_moments, np.asarray(floor, dtype=np.float64))
        for cell_moments, floor in moments_and_floors
    ]
    aligned = [
        np.broadcast_arrays(cell_moments.rate, variance, cell_moments.df)
        for (cell_moments, _), variance in zip(moments_and_floors, variances, strict=True)
    ]
    rate, variance_of_all, df = (
        np.concatenate(array, axis=-1) for array in zip(*aligned, strict=True)
    )
    split_points = np.cumsum(
        [cell_moments.rate.shape[-1] for cell_moments, _ in moments_and_floors]
    )[:-1]
    limits_of_moments = (
        np.split(array, split_points, axis=-1)
        for array in limits(rate, variance_of_all, df, confidence)
    )
    return [
        _interval(cell_moments, variance, low, high, confidence)
        for (cell_moments, _), variance, low, high in zip(
            moments_and_floors, variances, *limits_of_moments, strict=True
        )
    ]


def _interval(
    cell_moments: Moments,
    variance: FloatArray,
    low: FloatArray,
    high: FloatArray,
    confidence: float,
) -> Interval:
    """Of rates that lie between these limits, as far as their own spread tells."""
    is_raised = variance > cell_moments.variance
    low, high = _widen_to_exact(cell_moments, low, high, confidence)
    has_no_spread = (variance == 0) & (cell_moments.trials > 0)
    # Cells without spread add nothing to the pooled design effect: it is that of the others.
    weight = np.where(variance > 0, cell_moments.trials**2, 0)
    weighted_variances = (
        np.where(weight > 0, weight * variance_array, 0)
        for variance_array in (variance, cell_moments.variance_binomial)
    )
    pooled_deff = safe_divide(*(array.sum(axis=-1, keepdims=True) for array in weighted_variances))
    max_deff = np.maximum(
        cell_moments.speaker_concentration * cell_moments.trials / cell_moments.sides, 1
    )
    deff = np.where(
        has_no_spread,
        np.fmin(np.maximum(pooled_deff, 1), max_deff),
        safe_divide(variance, cell_moments.variance_binomial),
    )
    n_eff = safe_divide(cell_moments.trials, deff)
    zero_error_reach = np.minimum(safe_divide(_zero_error_trials(confidence), n_eff), 1)
    low = np.where(has_no_spread, np.where(cell_moments.rate > 0, 1 - zero_error_reach, 0), low)
    high = np.where(has_no_spread, np.where(cell_moments.rate > 0, 1, zero_error_reach), high)
    has_limits = ~np.isnan(high)
    has_spread = has_limits & ~has_no_spread
    speakers = cell_moments.speakers.astype(np.int64).astype(np.str_)
    rare_speaker_note = np.strings.add(
        speakers, " speakers cannot exclude a rare badly served kind of speaker"
    )
    has_pooled_deff = has_no_spread & has_limits & (pooled_deff < max_deff)
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]] = [
        (cell_moments.trials == 0, "no trials"),
        (cell_moments.has_common_speaker, "one speaker takes part in all trials"),
        (has_no_spread & (cell_moments.rate == 0), "no errors"),
        (has_no_spread & (cell_moments.rate == 1), "nothing but errors"),
        (has_pooled_deff, "design effect of the other groups"),
        (has_no_spread & has_limits & ~has_pooled_deff, "each speaker counted as one trial"),
        (is_raised, "variance raised to that of the other groups"),
        (
            has_spread & ((cell_moments.df < _MIN_STEADY_DF) | (cell_moments.largest_share > 0.5)),
            "interval may be short",
        ),
        (has_spread & (high > _MAX_LIMIT_RATIO * cell_moments.rate), "upper limit only"),
        (has_limits & (cell_moments.speakers < _MIN_SPEAKERS_FOR_RARE_KIND), rare_speaker_note),
    ]
    return Interval(
        cell_moments.rate,
        low,
        high,
        np.where(has_spread, deff, np.nan),
        n_eff,
        np.where(has_spread, cell_moments.df, np.nan),
        np.where(has_spread, np.sqrt(variance), np.nan),
        _join_notes(notes, cell_moments.rate.shape),
        np.select([has_spread, has_limits], ["speakers", "zero-errors"], ""),
    )


def limits(
    rate: ArrayLike, variance: ArrayLike, df: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Limits of a rate whose standard error grows as [rate (1 - rate)] ** 0.75.

    Of a rate in (0, 1) with its variance, greater than 0, and degrees of freedom of that:
    0 < low < rate < high < 1, to 1e-15; NaN for a rate of 0 or 1, and where any is NaN.

    Examples
    --------
    >>> low, high = limits(0.02, 1e-4, 7)
    >>> round(float(low), 6), round(float(high), 6)
    (0.007999, 0.088138)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}; it lies between 0 and 1, such as 0.95"
        raise ConfigError(msg)
    rates, variances, t_df = np.broadcast_arrays(
        *(np.asarray(array, np.float64) for array in (rate, variance, df))
    )
    n_growths = stdtrit(t_df, 0.5 + confidence / 2) * safe_divide(
        np.sqrt(variances), _se_growth(rates)
    )
    outer = np.stack((np.zeros(rates.shape), np.ones(rates.shape)))
    inner = np.stack((rates, rates))
    for _ in range(_N_BISECTIONS):
        middle = (outer + inner) / 2
        is_beyond = np.abs(rates - middle) > n_growths * _se_growth(middle)
        outer, inner = np.where(is_beyond, middle, outer), np.where(is_beyond, inner, middle)
    low, high = np.where(n_growths > 0, outer, np.nan)
    return low[()], high[()]


def level(interval: Interval, rates: ArrayLike) -> FloatArray:
    """Level, 1 - confidence, at which a limit of the interval lies at given rates.

    Of shape (..., cell), in [0, 1]: 1 at the rate itself. NaN without an interval, which may be of
    any level.
    """
    from scipy.special import betainc, stdtr  # noqa: PLC0415 - takes time to load

    rate_array = np.asarray(rates, dtype=np.float64)
    distance = np.abs(interval.rate - rate_array)
    with np.errstate(invalid="ignore", divide="ignore"):
        quantile = distance / interval.se * (_se_growth(interval.rate) / _se_growth(rate_array))
        level_by_spread = 2 * stdtr(interval.df, -np.where(distance > 0, quantile, 0))
        trials = interval.n_eff * interval.deff
        errors = interval.rate * trials
        for error_count, rate, is_on_side in (
            (errors, rate_array, rate_array < interval.rate),
            (trials - errors, 1 - rate_array, rate_array > interval.rate),
        ):
            needs_exact = is_on_side & (error_count < _MAX_FEW_ERRORS - 0.5)
            if needs_exact.any():
                tail = betainc(
                    error_count,
                    trials - error_count + 1,
                    rate,
                    out=np.zeros(needs_exact.shape),
                    where=needs_exact,
                )
                level_by_spread = np.where(
                    needs_exact, np.fmax(level_by_spread, np.minimum(2 * tail, 1)), level_by_spread
                )
    level_by_rule = np.exp(-distance * interval.n_eff / _zero_error_trials(1 - np.exp(-1)))
    levels = np.where(interval.method == "zero-errors", level_by_rule, level_by_spread)
    return np.where(interval.method == "", np.nan, levels)


def kappa2(moments: Moments) -> FloatArray:
    """Speaker variance pooled over cells, in units of [rate (1 - rate)] ** 1.5.

    Of target trials; of shape (...), at least 0: variance beyond the binomial one, by the square
    sum of the speakers' shares of the trials, weighted by speakers - 1
    (docs/methods/uncertainty.md#pooled-floor). NaN if no cell has both errors and successes.
    """
    excess, rate_scale, _ = _pooled_variance_terms(moments)
    return safe_divide(excess.sum(axis=-1), rate_scale.sum(axis=-1))[()]


def other_kappa2(moments: Moments) -> FloatArray:
    """`kappa2` of the other cells of each, the pooled floor of `rate_interval`.

    Of target trials; of shape (..., cell), NaN unless at least 3 other cells have errors and
    successes.
    """
    excess, scale, n_used = _pooled_variance_terms(moments)
    other_terms = (
        cell_terms.sum(axis=-1, keepdims=True) - cell_terms
        for cell_terms in (excess, scale, n_used)
    )
    excess, scale, n_used = other_terms
    return np.where(n_used >= _MIN_FLOOR_CELLS, safe_divide(np.fmax(excess, 0), scale), np.nan)


def wilson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95, *, df: ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval.

    Of errors and trials at least 0, which may be effective numbers. `df` are degrees of freedom of
    the quantile of t; inf is for that of the normal distribution.

    Examples
    --------
    >>> low, high = wilson(3, 1000)
    >>> round(float(low), 6), round(float(high), 6)
    (0.001021, 0.008783)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    error_array, trial_array = np.broadcast_arrays(
        np.asarray(errors, np.float64), np.asarray(trials, np.float64)
    )
    squared_quantile = stdtrit(df, 0.5 + confidence / 2) ** 2
    rate = safe_divide(error_array, trial_array)
    centre = (error_array + squared_quantile / 2) / (trial_array + squared_quantile)
    half_width = np.sqrt(
        squared_quantile * (rate * (1 - rate) * trial_array + squared_quantile / 4)
    ) / (trial_array + squared_quantile)
    low = np.where(error_array == 0, 0, np.maximum(centre - half_width, 0))
    high = np.where(error_array == trial_array, 1, np.minimum(centre + half_width, 1))
    return np.where(trial_array > 0, low, np.nan)[()], np.where(trial_array > 0, high, np.nan)[()]


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
    error_array, trial_array = np.broadcast_arrays(
        np.asarray(errors, np.float64), np.asarray(trials, np.float64)
    )
    return _beta_limits(
        error_array,
        trial_array,
        (error_array, trial_array - error_array + 1),
        (error_array + 1, trial_array - error_array),
        confidence,
    )


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
    error_array, trial_array = np.broadcast_arrays(
        np.asarray(errors, np.float64), np.asarray(trials, np.float64)
    )
    shape = (error_array + 0.5, trial_array - error_array + 0.5)
    return _beta_limits(error_array, trial_array, shape, shape, confidence)


def _beta_limits(
    errors: FloatArray,
    trials: FloatArray,
    lower_shape: tuple[FloatArray, FloatArray],
    upper_shape: tuple[FloatArray, FloatArray],
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Quantiles of two beta distributions, at the ends 0 and 1."""
    from scipy.special import betaincinv  # noqa: PLC0415 - takes time to load

    tail = (1 - confidence) / 2
    low = np.where(errors == 0, 0, betaincinv(*lower_shape, tail))
    high = np.where(errors == trials, 1, betaincinv(*upper_shape, 1 - tail))
    return np.where(trials > 0, low, np.nan)[()], np.where(trials > 0, high, np.nan)[()]


def _widen_to_exact(
    cell_moments: Moments, low: FloatArray, high: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Limits no nearer than independent trials allow, where a handful of errors has no spread."""
    errors, trials = np.broadcast_arrays(cell_moments.errors, cell_moments.trials)
    exact_low, exact_high = clopper_pearson(errors, trials, confidence)
    has_few_errors = (errors > 0) & (errors < _MAX_FEW_ERRORS - 0.5) & ~np.isnan(low)
    has_few_correct = (
        (errors < trials) & (trials - errors < _MAX_FEW_ERRORS - 0.5) & ~np.isnan(high)
    )
    return (
        np.where(has_few_errors, np.fmin(low, exact_low), low),
        np.where(has_few_correct, np.fmax(high, exact_high), high),
    )


def _pooled_variance_terms(cell_moments: Moments) -> tuple[FloatArray, FloatArray, IntArray]:
    """What the pooled speaker variance is the ratio of, by cell, and which cells count."""
    _check_target(cell_moments)
    is_used = cell_moments.variance > 0
    speaker_variance = safe_divide(
        cell_moments.variance - cell_moments.variance_binomial, cell_moments.speaker_concentration
    )
    return (
        np.where(is_used, (cell_moments.speakers - 1) * speaker_variance, 0),
        np.where(
            is_used,
            (cell_moments.speakers - 1)
            * (cell_moments.rate * (1 - cell_moments.rate)) ** _RATE_EXPONENT,
            0,
        ),
        is_used.astype(np.int64),
    )


def _raise_to_pooled(cell_moments: Moments, kappa2: FloatArray) -> FloatArray:
    """Variances of target trials drawn up to what a pooled speaker variance makes them."""
    _check_target(cell_moments)
    pooled = (
        cell_moments.variance_binomial
        + kappa2
        * (cell_moments.rate * (1 - cell_moments.rate)) ** _RATE_EXPONENT
        * cell_moments.speaker_concentration
    )
    blended = (2 * pooled + (cell_moments.speakers - 1) * cell_moments.variance) / (
        cell_moments.speakers + 1
    )
    return np.where(
        np.isnan(blended), cell_moments.variance, np.maximum(cell_moments.variance, blended)
    )


def _se_growth(rate: FloatArray) -> FloatArray:
    """[R (1 - R)] ** 0.75, how the standard error of a rate grows with it."""
    root = np.sqrt(rate * (1 - rate))
    return np.asarray(root * np.sqrt(root))


def _zero_error_trials(confidence: float) -> float:
    """Trials by which a rate without errors is away from its limit: 3 at 95 %."""
    return float(3 * np.log1p(-confidence) / np.log(0.05))


def _check_target(cell_moments: Moments) -> None:
    if cell_moments.sides != 1:
        msg = "pooled speaker variance is asked for nontarget trials; it is for target trials only"
        raise ConfigError(msg)


def _join_notes(
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]], shape: tuple[int, ...]
) -> NDArray[np.str_]:
    """The texts that hold for each cell, joined by "; "."""
    joined = np.full(shape, "")
    for holds, text in notes:
        separator = np.where(joined == "", "", "; ")
        joined = np.where(holds, np.strings.add(np.strings.add(joined, separator), text), joined)
    return joined
