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
from parivox.facts import fact, joined_cells

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
# If one speaker in ten is of some kind, fewer than 29 speakers include none of them with
# probability .05 or more.
_MIN_SPEAKERS_FOR_RARE_KIND = 29
# Degrees of freedom from which a variance is known well enough.
_MIN_STEADY_DF = 5
# With fewer errors, limits are no nearer than Clopper and Pearson's.
_MAX_FEW_ERRORS = 5
# With an upper limit this many times the rate, the lower limit means little.
_MAX_LIMIT_RATIO = 5
# Other cells that a pooled floor needs.
_MIN_FLOOR_CELLS = 3


NO_TRIALS = "no_trials"
"""Note of a cell without trials."""
UNKNOWN_SPEAKERS = "unknown_test_speakers"
"""Reason code: it is not known how many test speakers the nontarget trials have."""
NOTE_NO_TEST_SPEAKER = fact("no_interval", because=UNKNOWN_SPEAKERS)


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
    """Independent trials that would give as much information."""
    df: FloatArray
    """Degrees of freedom of the variance, at least 1; NaN without errors."""
    se: FloatArray
    """Standard error of the rate; NaN without errors."""
    note: NDArray[np.str_]
    """Facts that a reader must know, such as why there is no interval (`parivox.facts`)."""
    method: NDArray[np.str_]
    """``speakers``; ``zero-errors`` for cells without errors, or with nothing but errors; empty
    without an interval.
    """

    def without_limits(self, cells: NDArray[np.bool_], note: str) -> Interval:
        """Return a copy without limits in these cells, with a note; "no_trials" stays as a note."""
        return replace(
            self,
            low=np.where(cells, np.nan, self.low),
            high=np.where(cells, np.nan, self.high),
            method=np.where(cells, "", self.method),
            note=np.where(cells & (self.note != NO_TRIALS), note, self.note),
        )

    def without_spread(self, cells: NDArray[np.bool_], note: str) -> Interval:
        """Return a copy without limits, design effect, df and standard error in these cells."""
        spread_columns = {name: getattr(self, name) for name in ("deff", "n_eff", "df", "se")}
        columns = {name: np.where(cells, np.nan, column) for name, column in spread_columns.items()}
        return replace(self.without_limits(cells, note), **columns)


def rate_interval(
    moments: Moments, confidence: float = 0.95, pooled_floor: ArrayLike | None = None
) -> Interval:
    """Return the interval of each cell's rate over speakers.

    Parameters
    ----------
    moments : Moments
        Of groups that may lend each other a design effect: the cells of one grouping.
    confidence : float
        In (0, 1).
    pooled_floor : array_like of shape (..., cell), optional
        `other_kappa2`: variances are drawn up to what the other groups' speakers show, by
        a weight of two degrees of freedom. Target trials only; NaN leaves a cell unchanged.

    Returns
    -------
    Interval
        The limits are where the rate lies as many standard errors away as the quantile of t
        says, the standard error being that at the limit. Without errors, or with nothing but
        errors: the rule of 3, 3 * deff / trials at 95 % (exactly 3; else in proportion to
        ln(1 - confidence)), with the design effect of all cells together, at least 1 and at
        most what it is if all trials of a speaker have the same outcome; the latter if no
        other cell has one. NaN without trials, and where one speaker takes part in all.

    Raises
    ------
    ConfigError
        A confidence out of range, or a pooled floor for nontarget trials.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> errors, trials = np.array([12, 0, 3, 41, 7, 1, 0, 9]), np.full(8, 230)
    >>> cells = moments(ErrorsBySpeaker(np.zeros(8, int), np.arange(8), errors, trials, 1))
    >>> found = rate_interval(cells)
    >>> found.low.round(6).tolist(), found.high.round(6).tolist()
    ([0.013105], [0.227884])
    """
    return intervals_at_once([(moments, pooled_floor)], confidence)[0]


def intervals_at_once(
    moments_and_floors: Sequence[tuple[Moments, ArrayLike | None]], confidence: float = 0.95
) -> list[Interval]:
    """Return `rate_interval` of several moments, each with its pooled floor.

    Their limits are searched together, which is faster. Moments are of shape (..., cell) with the
    same leading axes.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker, moments
    >>> zero, speakers = np.zeros(4, int), np.arange(4)
    >>> cells = moments(ErrorsBySpeaker(zero, speakers, np.array([1, 0, 6, 2]), np.full(4, 50), 1))
    >>> first, second = intervals_at_once([(cells, None), (cells, None)])
    >>> bool(first.low == second.low == rate_interval(cells).low)
    True
    """
    variances = []
    for moments, floor in moments_and_floors:
        if floor is None:
            variances.append(moments.variance)
        else:
            variances.append(_raise_to_pooled(moments, np.asarray(floor, dtype=np.float64)))
    aligned = [
        np.broadcast_arrays(moments.rate, variance, moments.df)
        for (moments, _), variance in zip(moments_and_floors, variances, strict=True)
    ]
    rate, variance_of_all, df = (
        np.concatenate(array, axis=-1) for array in zip(*aligned, strict=True)
    )
    split_points = np.cumsum([moments.rate.shape[-1] for moments, _ in moments_and_floors])[:-1]
    limits_of_moments = (
        np.split(array, split_points, axis=-1)
        for array in limits(rate, variance_of_all, df, confidence)
    )
    return [
        _interval(moments, variance, low, high, confidence)
        for (moments, _), variance, low, high in zip(
            moments_and_floors, variances, *limits_of_moments, strict=True
        )
    ]


def _interval(
    moments: Moments,
    variance: FloatArray,
    low: FloatArray,
    high: FloatArray,
    confidence: float,
) -> Interval:
    """Return the interval of rates whose variance gives these limits.

    Adds what the variance alone does not give: limits of cells with few errors or with none, notes.
    """
    is_raised = variance > moments.variance
    low, high = _widen_to_exact(moments, low, high, confidence)
    has_no_spread = (variance == 0) & (moments.trials > 0)
    # Cells without spread add nothing to the pooled design effect: it is that of the others.
    weight = np.where(variance > 0, moments.trials**2, 0)
    weighted_variance = np.where(weight > 0, weight * variance, 0)
    weighted_binomial = np.where(weight > 0, weight * moments.variance_binomial, 0)
    pooled_deff = safe_divide(
        weighted_variance.sum(axis=-1, keepdims=True), weighted_binomial.sum(axis=-1, keepdims=True)
    )
    # the design effect if all trials of a speaker had the same outcome
    max_deff = np.maximum(
        moments.speaker_concentration * moments.trials / moments.speakers_per_trial, 1
    )
    deff = np.where(
        has_no_spread,
        np.fmin(np.maximum(pooled_deff, 1), max_deff),
        safe_divide(variance, moments.variance_binomial),
    )
    n_eff = safe_divide(moments.trials, deff)
    zero_error_reach = np.minimum(safe_divide(_zero_error_trials(confidence), n_eff), 1)
    low = np.where(has_no_spread, np.where(moments.rate > 0, 1 - zero_error_reach, 0), low)
    high = np.where(has_no_spread, np.where(moments.rate > 0, 1, zero_error_reach), high)
    has_limits = ~np.isnan(high)
    has_spread = has_limits & ~has_no_spread
    speakers = moments.speakers.astype(np.int64).astype(np.str_)
    rare_speaker_note = np.strings.add(
        np.strings.add('few_speakers_for_rare_kinds{"speakers": ', speakers), "}"
    )
    has_pooled_deff = has_no_spread & has_limits & (pooled_deff < max_deff)
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]] = [
        (moments.trials == 0, NO_TRIALS),
        (moments.has_common_speaker, "common_speaker"),
        (has_no_spread & (moments.rate == 0), "no_errors"),
        (has_no_spread & (moments.rate == 1), "only_errors"),
        (has_pooled_deff, "deff_of_other_groups"),
        (has_no_spread & has_limits & ~has_pooled_deff, "speakers_as_trials"),
        (is_raised, "variance_raised"),
        (
            has_spread & ((moments.df < _MIN_STEADY_DF) | (moments.largest_share > 0.5)),
            "interval_may_be_short",
        ),
        (has_spread & (high > _MAX_LIMIT_RATIO * moments.rate), "upper_limit_only"),
        (has_limits & (moments.speakers < _MIN_SPEAKERS_FOR_RARE_KIND), rare_speaker_note),
    ]
    return Interval(
        rate=moments.rate,
        low=low,
        high=high,
        deff=np.where(has_spread, deff, np.nan),
        n_eff=n_eff,
        df=np.where(has_spread, moments.df, np.nan),
        se=np.where(has_spread, np.sqrt(variance), np.nan),
        note=_join_notes(notes, moments.rate.shape),
        method=np.select([has_spread, has_limits], ["speakers", "zero-errors"], ""),
    )


def limits(
    rate: ArrayLike, variance: ArrayLike, df: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return limits of a rate whose standard error grows as [rate (1 - rate)] ** 0.75.

    For a rate in (0, 1) with its variance, greater than 0, and degrees of freedom of that:
    0 < low < rate < high < 1, to 1e-15; NaN for a rate of 0 or 1, and where any is NaN.

    Examples
    --------
    >>> low, high = limits(0.02, 1e-4, 7)
    >>> round(float(low), 6), round(float(high), 6)
    (0.007999, 0.088138)
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}"
        hint = "give a number between 0 and 1, such as 0.95"
        raise ConfigError(msg, hint)
    rates, variances, t_df = np.broadcast_arrays(
        np.asarray(rate, np.float64), np.asarray(variance, np.float64), np.asarray(df, np.float64)
    )
    se_per_growth = safe_divide(np.sqrt(variances), _se_growth(rates))
    n_growths = stdtrit(t_df, 0.5 + confidence / 2) * se_per_growth
    outer = np.stack((np.zeros(rates.shape), np.ones(rates.shape)))
    inner = np.stack((rates, rates))
    for _ in range(_N_BISECTIONS):
        middle = (outer + inner) / 2
        is_beyond = np.abs(rates - middle) > n_growths * _se_growth(middle)
        outer, inner = np.where(is_beyond, middle, outer), np.where(is_beyond, inner, middle)
    low, high = np.where(n_growths > 0, outer, np.nan)
    return low[()], high[()]


def level(interval: Interval, rates: ArrayLike) -> FloatArray:
    """Return the level, 1 - confidence, at which a limit of the interval lies at given rates.

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
    """Return the speaker variance pooled over cells, in units of [rate (1 - rate)] ** 1.5.

    For target trials; of shape (...), at least 0: variance beyond the binomial one, by the square
    sum of the speakers' shares of the trials, weighted by speakers - 1
    (docs/methods/uncertainty.md#pooled-floor). NaN if no cell has both errors and successes.
    """
    excess, rate_scale, _ = _pooled_variance_terms(moments)
    return safe_divide(excess.sum(axis=-1), rate_scale.sum(axis=-1))[()]


def other_kappa2(moments: Moments) -> FloatArray:
    """Return `kappa2` of the other cells of each cell, the pooled floor of `rate_interval`.

    For target trials; of shape (..., cell), NaN unless at least 3 other cells have errors and
    successes.
    """
    excess, scale, n_used = (
        cell_terms.sum(axis=-1, keepdims=True) - cell_terms
        for cell_terms in _pooled_variance_terms(moments)
    )
    return np.where(n_used >= _MIN_FLOOR_CELLS, safe_divide(np.fmax(excess, 0), scale), np.nan)


def wilson(
    errors: ArrayLike, trials: ArrayLike, confidence: float = 0.95, *, df: ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's score interval.

    For errors and trials at least 0, which may be effective numbers. `df` are degrees of freedom of
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
    """Return Clopper and Pearson's interval, which covers at least as often as it says.

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
    """Return the equal-tailed posterior interval under Jeffreys' prior; 0 or 1 at the ends.

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
    """Return quantiles of two beta distributions; 0 without errors, 1 with nothing but errors."""
    from scipy.special import betaincinv  # noqa: PLC0415 - takes time to load

    tail = (1 - confidence) / 2
    low = np.where(errors == 0, 0, betaincinv(*lower_shape, tail))
    high = np.where(errors == trials, 1, betaincinv(*upper_shape, 1 - tail))
    return np.where(trials > 0, low, np.nan)[()], np.where(trials > 0, high, np.nan)[()]


def _widen_to_exact(
    moments: Moments, low: FloatArray, high: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return limits no nearer than independent trials allow, where there are few errors.

    A handful of errors says little of the variance between speakers.
    """
    errors, trials = np.broadcast_arrays(moments.errors, moments.trials)
    exact_low, exact_high = clopper_pearson(errors, trials, confidence)
    has_few_errors = (errors > 0) & (errors < _MAX_FEW_ERRORS - 0.5) & ~np.isnan(low)
    has_few_correct = (
        (errors < trials) & (trials - errors < _MAX_FEW_ERRORS - 0.5) & ~np.isnan(high)
    )
    return (
        np.where(has_few_errors, np.fmin(low, exact_low), low),
        np.where(has_few_correct, np.fmax(high, exact_high), high),
    )


def _pooled_variance_terms(moments: Moments) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return numerator and denominator of the pooled speaker variance, and which cells count.

    Both are summed over cells and then divided; all are of shape (..., cell).
    """
    _check_target(moments)
    is_used = moments.variance > 0
    speaker_variance = safe_divide(
        moments.variance - moments.variance_binomial, moments.speaker_concentration
    )
    scale = (moments.rate * (1 - moments.rate)) ** _RATE_EXPONENT
    excess = np.where(is_used, (moments.speakers - 1) * speaker_variance, 0)
    return excess, np.where(is_used, (moments.speakers - 1) * scale, 0), is_used.astype(np.int64)


def _raise_to_pooled(moments: Moments, kappa2: FloatArray) -> FloatArray:
    """Return variances of target trials raised towards those of the pooled speaker variance.

    The pooled variance counts as two degrees of freedom, the cell's own as speakers - 1.
    """
    _check_target(moments)
    scale = (moments.rate * (1 - moments.rate)) ** _RATE_EXPONENT
    pooled = moments.variance_binomial + kappa2 * scale * moments.speaker_concentration
    blended = (2 * pooled + (moments.speakers - 1) * moments.variance) / (moments.speakers + 1)
    return np.where(np.isnan(blended), moments.variance, np.maximum(moments.variance, blended))


def _se_growth(rate: FloatArray) -> FloatArray:
    """Return [R (1 - R)] ** 0.75, as which the standard error of a rate grows."""
    root = np.sqrt(rate * (1 - rate))
    return np.asarray(root * np.sqrt(root))


def _zero_error_trials(confidence: float) -> float:
    """Return errors among effective trials at the limit of a rate without errors: 3 at 95 %."""
    return float(3 * np.log1p(-confidence) / np.log(0.05))


def _check_target(moments: Moments) -> None:
    if moments.speakers_per_trial != 1:
        msg = "the pooled speaker variance is not available for nontarget trials"
        hint = "give target trials"
        raise ConfigError(msg, hint)


def _join_notes(
    notes: list[tuple[NDArray[np.bool_], str | NDArray[np.str_]]], shape: tuple[int, ...]
) -> NDArray[np.str_]:
    """Return the facts that hold for each cell."""
    joined: NDArray[np.str_] = np.full(shape, "")
    for holds, text in notes:
        joined = np.where(holds, joined_cells(joined, np.broadcast_to(text, shape)), joined)
    return joined
