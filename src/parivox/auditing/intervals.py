"""The uncertainty of one grouping's cells: intervals of every base metric, sample-size minimums.

Rates have intervals in closed form over speakers; all other metrics have theirs from the draws of
the bootstrap over speakers (`parivox.auditing.draws`). `Uncertainty` holds both, with the draws of
a system with equal rates (`parivox.auditing.noise_floors`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import rate_point_index
from parivox.auditing.failures import STAGES
from parivox.auditing.measure_rows import interval_columns
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.auditing.schema import PAIRS_BELOW_MINIMUM, SPEAKERS_BELOW_MINIMUM, THRESHOLD_VARIES
from parivox.core.cluster_errors import moments, safe_divide
from parivox.core.intervals import (
    NOTE_NO_TEST_SPEAKER,
    UNKNOWN_SPEAKERS,
    Interval,
    clopper_pearson,
    intervals_at_once,
    jeffreys,
    limits,
    other_kappa2,
    rate_interval,
    wilson,
)
from parivox.core.measures import RATE_OF_CLASS, RATES, base_metric
from parivox.core.ratios import disjoint, moments_of_others, ratio_interval, to_pooled
from parivox.facts import caused, fact, joined_cells, joined_facts
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates, GridDraws
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.noise_floors import EqualRatesEstimates
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.shrinkage import BestGuesses
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.calibration_gradient import GradientTests
    from parivox.core.cluster_errors import ErrorsBySpeaker, Moments
    from parivox.core.counts import FloatArray
    from parivox.core.ratios import Ratio
    from parivox.data.units import Units

    Columns = dict[str, NDArray[Any]]

_THRESHOLD_STAYS = "threshold_stays"
CORRECTED = "optimism_corrected"
_NOT_RESAMPLED = fact("no_interval", because="not_resampled")
_MAX_DRAWN_NUMBERS = 1 << 21  # numbers of draws that intervals are made of at once, for memory
_NUMBER_COLUMNS = ("low", "high", "deff", "n_eff", "df", "se")
_INDEPENDENT_TRIALS = {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}


# --- rates at operating points ------------------------------------------------------------------


@frozen
class RateIntervals:
    """Intervals of the error rates of the groups of one grouping, by rate."""

    moments: Mapping[str, Moments]  # how the speakers of each group vary, [point, group]
    n_units: Mapping[str, NDArray[np.int64]]  # behind each rate, [cell], the pooled row last
    intervals: Mapping[str, Interval]  # [point, cell], the pooled row last
    are_disjoint: Mapping[str, bool]  # no speaker behind the rate is in two groups, all are known
    ratios_to_others: Mapping[str, Ratio]  # [point, group]; only rates that have a closed form


def rate_intervals(
    groups: SpeakerErrors,
    pooled: SpeakerErrors,
    options: Options,
    draws: Mapping[str, FloatArray] | None = None,
    pooled_moments_by_rate: Mapping[str, Moments] | None = None,
    *,
    with_p: bool = True,
) -> RateIntervals:
    """Return intervals of both rates, and of the ratios of each group to all others.

    Parameters
    ----------
    groups, pooled
        Errors and trials by speaker and by pair, of each group and of all of them.
    draws
        The rates in each draw, ``[draw, point, cell]``, for intervals of the bootstrap.
    pooled_moments_by_rate
        How the speakers of all groups vary, if it was computed before.
    with_p
        Whether p of the ratios is computed.
    """
    minimums = options.minimums
    are_disjoint = {metric: disjoint(groups.for_rate(metric)) for metric in groups.rates}
    n_groups = groups.target.n_speakers.size
    moments_by_rate, n_units_by_rate, intervals, ratios_to_others = {}, {}, {}, {}
    for metric in groups.rates:
        group_moments = moments(groups.for_rate(metric))
        if pooled is groups:
            pooled_moments = group_moments
        elif pooled_moments_by_rate is None:
            pooled_moments = moments(pooled.for_rate(metric))
        else:
            pooled_moments = pooled_moments_by_rate[metric]
        uses_floor = metric == "fnr" and options.pooled_floor
        pooled_floor = other_kappa2(group_moments) if uses_floor else None
        moments_and_floors = [(group_moments, pooled_floor), (pooled_moments, None)]
        other_moments = None
        if options.interval == "speakers" and n_groups > 1 and are_disjoint[metric]:
            other_moments = moments_of_others(groups.for_rate(metric))
            moments_and_floors.append((other_moments, None))
        closed_form = intervals_at_once(moments_and_floors, options.confidence)
        n_units = np.concatenate(
            [groups.for_rate(metric).n_speakers, pooled.for_rate(metric).n_speakers]
        )
        interval = _by_method(
            _joined_cells(*closed_form[:2]),
            np.concatenate((group_moments.errors, pooled_moments.errors), axis=-1),
            np.concatenate((group_moments.trials, pooled_moments.trials), axis=-1),
            n_units,
            None if draws is None else draws[metric],
            options,
        )
        interval = interval.without_limits(
            n_units < minimums.inference, minimums.no_interval_reason
        )
        has_unknown_speakers = np.concatenate(
            [
                groups.for_rate(metric).has_unknown_speakers,
                pooled.for_rate(metric).has_unknown_speakers,
            ]
        )
        if has_unknown_speakers.any():
            interval = interval.without_spread(has_unknown_speakers, NOTE_NO_TEST_SPEAKER)
        if other_moments is not None:
            ratios_to_others[metric] = _ratio_to_others(
                interval, other_moments, closed_form[-1], options, with_p=with_p
            )
        moments_by_rate[metric] = group_moments
        n_units_by_rate[metric] = n_units
        intervals[metric] = interval
    return RateIntervals(
        moments=moments_by_rate,
        n_units=n_units_by_rate,
        intervals=intervals,
        are_disjoint=are_disjoint,
        ratios_to_others=ratios_to_others,
    )


def attack_interval(groups: ErrorsBySpeaker, pooled: ErrorsBySpeaker, options: Options) -> Interval:
    """Return intervals of the SFAR of one attack over claimed speakers, the pooled cell last."""
    cells = [moments(errors) for errors in (groups, pooled)]
    group_interval, pooled_interval = intervals_at_once(
        [(cell_moments, None) for cell_moments in cells], options.confidence
    )
    n_units = np.concatenate([groups.n_speakers, pooled.n_speakers])
    interval = _by_method(
        _joined_cells(group_interval, pooled_interval),
        np.concatenate([cell_moments.errors for cell_moments in cells], axis=-1),
        np.concatenate([cell_moments.trials for cell_moments in cells], axis=-1),
        n_units,
        None,
        options,
    )
    minimums = options.minimums
    return interval.without_limits(n_units < minimums.inference, minimums.no_interval_reason)


def _joined_cells(groups: Interval, pooled: Interval) -> Interval:
    """Return the intervals of the groups, followed by the pooled one."""
    columns = zip(vars(groups).values(), vars(pooled).values(), strict=True)
    return Interval(*(np.concatenate(column, axis=-1) for column in columns))


def _by_method(
    interval: Interval,
    errors: FloatArray,
    trials: FloatArray,
    n_units: NDArray[np.int64],
    draws: FloatArray | None,
    options: Options,
) -> Interval:
    """Return the interval with limits by the method that the options name.

    `interval` is the closed form over speakers, which is the default.
    """
    if options.interval in _INDEPENDENT_TRIALS:
        low, high = _INDEPENDENT_TRIALS[options.interval](errors, trials, options.confidence)
        method_name = f"{options.interval} (takes trials as independent)"
        method = np.where(np.isnan(high), "", method_name)
        note = np.full(low.shape, "")
        return replace(interval, low=low, high=high, note=note, method=method)
    if options.interval == "bootstrap" and draws is not None:
        deviations = draw_deviations(draws)
        return _interval_from_deviations(interval, deviations, trials, n_units, options.confidence)
    return interval


def _ratio_to_others(
    interval: Interval,
    other_moments: Moments,
    other_interval: Interval,
    options: Options,
    *,
    with_p: bool = True,
) -> Ratio:
    """Return ratios of the rates to those of all others, whose speakers vary independently."""
    minimums = options.minimums
    other_interval = other_interval.without_limits(
        other_moments.speakers < minimums.inference, minimums.no_interval_reason
    )
    group_interval = _cell_slice(interval, slice(0, other_interval.rate.shape[-1]))
    return ratio_interval(group_interval, other_interval, with_p=with_p)


def _cell_slice(interval: Interval, cell_slice: slice) -> Interval:
    """Return the interval of some of the cells."""
    return Interval(*(column[..., cell_slice] for column in vars(interval).values()))


def _interval_from_deviations(
    interval: Interval,
    se: FloatArray,
    n_trials: FloatArray,
    n_units: NDArray[np.int64],
    confidence: float,
) -> Interval:
    """Return Wilson's interval of as many trials as the variance of the draws is worth.

    Cells without errors keep their interval, as they do not vary in the draws.
    """
    n_eff = safe_divide(interval.rate * (1 - interval.rate), se**2)
    # at least 1, as cells of one speaker lose their limits later
    df = np.broadcast_to(np.maximum(n_units - 1, 1), se.shape)
    low, high = wilson(interval.rate * n_eff, n_eff, confidence, df=df)
    columns = {"n_eff": n_eff, "se": se, "df": df, "low": low, "high": high}
    columns["deff"] = safe_divide(np.broadcast_to(n_trials, se.shape), n_eff)
    has_no_errors = interval.method == "zero-errors"
    columns = {
        name: np.where(has_no_errors, getattr(interval, name), column)
        for name, column in columns.items()
    }
    is_undefined = np.isnan(columns["high"])
    notes = np.where(
        (se == 0) & ~has_no_errors,
        fact("no_interval", because="all_replicates_alike"),
        interval.note,
    )
    method = np.where(has_no_errors, interval.method, np.where(is_undefined, "", "bootstrap"))
    return replace(interval, **columns, method=method, note=notes)


def draw_means(draw_values: FloatArray) -> FloatArray:
    """Return the mean over draws, undefined ones left out; NaN where none is defined."""
    is_finite = np.isfinite(draw_values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = np.where(is_finite, draw_values, 0).sum(axis=0) / is_finite.sum(axis=0)
    return mean


def draw_deviations(draw_values: FloatArray) -> FloatArray:
    """Return the standard deviation over draws, undefined ones left out; 0 where all are equal."""
    is_finite = np.isfinite(draw_values)
    n_finite = is_finite.sum(axis=0)
    finite_or_zero = np.where(is_finite, draw_values, 0)
    finite_or_nan = np.where(is_finite, draw_values, np.nan)
    # compared, as their mean may be off by rounding and give equal draws a deviation
    are_equal = np.fmax.reduce(finite_or_nan) == np.fmin.reduce(finite_or_nan)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = finite_or_zero.sum(axis=0) / n_finite
        deviations: FloatArray = np.sqrt(
            np.where(is_finite, (finite_or_zero - mean) ** 2, 0).sum(axis=0) / (n_finite - 1)
        )
    return np.where(are_equal & (n_finite > 1), 0.0, deviations)


# --- every base metric ---------------------------------------------------------------------------


def _rates_behind(metric: str) -> tuple[str, ...]:
    """Return the rates whose speakers a metric depends on: of its class of trials, or of both."""
    definition = base_metric(metric)
    if definition.needs not in {"points", "attempts"} or definition.trial_class == "both":
        return RATES
    return (RATE_OF_CLASS[definition.trial_class],)


def needs_test_speakers(metric: str) -> bool:
    """Return whether the uncertainty of a metric depends on the speakers of nontarget trials."""
    return "fpr" in _rates_behind(metric)


def _is_of_failures(key: Key) -> bool:
    """Return whether a key is of a rate of failed recordings, or of attempts."""
    return key[0] in STAGES or key[1] == ATTEMPTS


def _fill_interval(
    interval: Interval, point_index: int, table: Columns, row: int, cell_slice: slice = slice(None)
) -> None:
    """Fill the last cells of an interval at a point into as many cells of a row."""
    for name, column in table.items():
        row_cells = getattr(interval, "method" if name == "interval" else name)[point_index]
        column[row, cell_slice] = row_cells[row_cells.size - column[row, cell_slice].size :]


@dataclass(frozen=True, kw_only=True, eq=False)
class Uncertainty:
    """Uncertainty of the groups of one grouping under one allocation, within one stratum.

    All trials are one group, which is then the pooled row too.
    """

    group_errors: SpeakerErrors  # errors and trials by speaker and by pair
    pooled_errors: SpeakerErrors  # of all groups
    rate_intervals: RateIntervals
    best_guesses: BestGuesses  # modelled rates and ratios
    equal_rates_draws: EqualRatesEstimates  # without draws for all trials, which have no groups
    draw_estimates: Estimates | None  # base metrics of the cells in each draw, the pooled one last
    grid_draws: Sequence[GridDraws]  # both rates in the draws along the grid of the area under FDR
    crossfitted_bias: FloatArray  # [cost, group]: threshold bias; NaN for groups of few speakers
    gradient_tests: GradientTests | None  # of the cells, the pooled one last; only with ratios
    failures: tuple[SpeakerFailures, SpeakerFailures]  # of the groups and of all of them
    point_indices: Mapping[str, int]  # index of each operating point
    moves_with_threshold: Mapping[str, NDArray[np.bool_]]
    """``[point]`` by rate: whether the rate of all trials moves as draws set the threshold anew."""
    options: Options
    no_draws_reason: str  # why there are no draws
    units: Units  # whom intervals are over
    n_units_by_rate: Mapping[str, NDArray[np.int64]]
    """Number of units behind each rate, ``[cell]``, the pooled row last: speakers or blocks."""

    @property
    def errors_of_speakers(self) -> Sequence[ErrorsBySpeaker] | None:
        """Return errors by speaker of the groups, and of all; None if units are not speakers."""
        return self.units.as_speakers((self.group_errors.target, self.pooled_errors.target))

    @cached_property
    def lacks_test_speakers(self) -> NDArray[np.bool_]:
        """Return whether nontarget trials lack a test speaker, ``[cell]``, the pooled row last."""
        return np.append(
            self.group_errors.nontarget.has_unknown_speakers,
            self.pooled_errors.nontarget.has_unknown_speakers,
        )

    def metrics_lack_test_speakers(self, metrics: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether metrics have no uncertainty for lack of them, ``[metric, cell]``."""
        needs_them = np.array([needs_test_speakers(metric) for metric in metrics], dtype=bool)
        return needs_them[:, None] & self.lacks_test_speakers

    @property
    def n_units(self) -> NDArray[np.int64]:
        """Return the units behind the smaller class of trials, ``[cell]``, the pooled row last."""
        return np.minimum(*(self.n_units_by_rate[metric] for metric in RATES))

    def n_units_behind(self, metrics: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of units behind metrics, ``[metric, cell]``, the pooled row last.

        They are those of the metric's class of trials, or of the smaller one if it needs both.
        """
        n_units_by_rates: dict[tuple[str, ...], NDArray[np.int64]] = {
            **{(rate,): n_units for rate, n_units in self.n_units_by_rate.items()},
            RATES: self.n_units,
        }
        n_units_by_metric = {
            metric: n_units_by_rates[_rates_behind(metric)] for metric in dict.fromkeys(metrics)
        }
        return np.stack([n_units_by_metric[metric] for metric in metrics])

    def are_disjoint(self, metrics: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether no speaker behind each metric is in two groups, ``[metric]``."""
        are_rates_disjoint = self.rate_intervals.are_disjoint
        return np.array(
            [all(are_rates_disjoint[rate] for rate in _rates_behind(metric)) for metric in metrics]
        )

    def reference_ratio(
        self,
        metric: str,
        reference: str,
        groups: Sequence[str],
        left_out_groups: NDArray[np.intp] | None = None,
    ) -> Ratio | None:
        """Return each group's rate against a reference in closed form, ``[point, group]``.

        With `left_out_groups`, ``[point]``, the reference is without that group. None where group
        and reference are not independent, or where the options name another method.
        """
        ratio_to_others = self.rate_intervals.ratios_to_others.get(metric)
        if ratio_to_others is None:
            return None
        interval = self.rate_intervals.intervals[metric]
        trials = self.rate_intervals.moments[metric].trials
        if reference in groups:
            reference_index = groups.index(reference)
            group_interval = _cell_slice(interval, slice(0, len(groups)))
            return ratio_interval(
                group_interval, _cell_slice(interval, slice(reference_index, reference_index + 1))
            )
        if left_out_groups is not None:
            other_moments = moments_of_others(
                self.group_errors.for_rate(metric).excluding_cell(left_out_groups)
            )
            other_interval = rate_interval(other_moments, self.options.confidence)
            ratio_to_others = _ratio_to_others(
                interval, other_moments, other_interval, self.options
            )
            trials = np.where(np.arange(len(groups)) == left_out_groups[:, None], 0, trials)
        if reference == "pooled":
            return to_pooled(
                ratio_to_others, safe_divide(trials, trials.sum(axis=-1, keepdims=True))
            )
        return ratio_to_others if reference == "others" else None

    @cached_property
    def point_intervals(self) -> Mapping[str, Interval]:
        """Return intervals of both rates, ``[point, cell]``.

        Those of all groups together include the uncertainty of the threshold.
        """
        return {
            metric: self._with_threshold(interval, metric)
            for metric, interval in self.rate_intervals.intervals.items()
        }

    def _with_threshold(self, interval: Interval, metric: str, definition: str = "") -> Interval:
        """Return the interval whose last cell has the spread of draws that set the threshold anew.

        See docs/methods/uncertainty.md#thresholds-set-on-the-audited-trials.
        """
        if self.options.interval != "speakers":
            return interval
        (rate,), n_cells = _rates_behind(metric), interval.rate.shape[-1]
        is_pooled = np.arange(n_cells) == n_cells - 1
        moves_with_draws = self.moves_with_threshold[rate][:, None] & is_pooled
        moves_with_draws = moves_with_draws & ~np.isnan(interval.high)
        se: FloatArray = np.full((len(moves_with_draws), 1), np.nan)
        if self.draw_estimates is not None and not self.lacks_test_speakers[-1]:
            keys = [(metric, definition, text) for text in self.point_indices]
            se = draw_deviations(self.draw_estimates.cell_range(-1, None).with_keys(keys).values)
        is_widened = moves_with_draws & (interval.method == "speakers") & (se > 0)
        variance = np.where(is_widened, se**2, np.nan)
        low, high = limits(interval.rate, variance, interval.df, self.options.confidence)
        new_columns = {"low": low, "high": high, "se": se}
        widened = {
            name: np.where(is_widened, column, getattr(interval, name))
            for name, column in new_columns.items()
        }
        threshold_note = np.where(
            is_widened, THRESHOLD_VARIES, np.where(moves_with_draws, _THRESHOLD_STAYS, "")
        )
        return replace(interval, **widened, note=joined_cells(interval.note, threshold_note))

    def columns(self, data: Estimates) -> Columns:
        """Return the columns of uncertainty of base metrics, each ``[key, cell]``.

        The cells are the groups and the pooled row, or the last of them.
        """
        keys, estimated = data.keys, data.values
        n_cells = estimated.shape[1]
        table: Columns = {name: np.full(estimated.shape, np.nan) for name in _NUMBER_COLUMNS}
        table |= {name: np.full(estimated.shape, "", dtype=object) for name in ("interval", "note")}
        self._fill_from_draws(keys, estimated, table)
        failure_intervals = {
            metric: self._failure_intervals(metric)
            for metric in dict.fromkeys(key[0] for key in keys if _is_of_failures(key))
        }
        for i, key in enumerate(keys):
            metric, point_index = key[0], rate_point_index(key, self.point_indices)
            if point_index is not None:
                _fill_interval(self.point_intervals[metric], point_index, table, i)
            elif _is_of_failures(key):
                point_index = self.point_indices.get(key[2], 0)
                for interval, cells in failure_intervals[metric]:
                    _fill_interval(interval, point_index, table, i, cells)
            elif base_metric(metric).needs == "pooled" and self.draw_estimates is not None:
                table["note"][i, -1] = "reference_itself"
            elif key[1] == SHARES and metric.endswith("far"):
                self._fill_far_without_accepts(estimated[i], self.point_indices[key[2]], table, i)
        is_unexplained = (table["note"] == _NOT_RESAMPLED) & self.lacks_test_speakers[-n_cells:]
        table["note"][is_unexplained] = NOTE_NO_TEST_SPEAKER
        table["interval"][table["interval"] == "speakers"] = self.units.interval_name
        table |= self.best_guesses.rate_columns(keys, estimated.shape)
        is_undefined = np.isnan(estimated)
        for column in table.values():
            column[is_undefined] = "" if column.dtype == object else np.nan
        return table

    def _fill_far_without_accepts(
        self, rates: FloatArray, point_index: int, table: Columns, row: int
    ) -> None:
        """Fill in the upper limit of FPR where no nontarget trial was accepted.

        FAR is FPR times the share of recordings that did not fail, and so at most FPR.
        """
        fpr_interval = _cell_slice(self.point_intervals["fpr"], slice(-rates.size, None))
        high = fpr_interval.high[point_index]
        has_no_accepts = (rates == 0) & (fpr_interval.rate[point_index] == 0) & ~np.isnan(high)
        table["low"][row][has_no_accepts] = 0.0
        table["high"][row][has_no_accepts] = high[has_no_accepts]
        table["interval"][row][has_no_accepts] = fpr_interval.method[point_index][has_no_accepts]
        table["note"][row][has_no_accepts] = "as_of_fpr"

    def _failure_intervals(self, metric: str) -> list[tuple[Interval, slice]]:
        """Return intervals of a rate of failed recordings, or of attempts, and their cells.

        The groups come first, then all of them together; what was not supplied is left out.
        """
        confidence, minimums = self.options.confidence, self.options.minimums
        group_interval, pooled_interval = (
            failures.interval(metric, confidence, minimums) for failures in self.failures
        )
        intervals = []
        if group_interval is not None:
            intervals.append((group_interval, slice(0, -1)))
        if pooled_interval is not None:
            if metric not in STAGES:
                pooled_interval = self._with_threshold(pooled_interval, metric, ATTEMPTS)
            intervals.append((pooled_interval, slice(-1, None)))
        return intervals

    def _fill_from_draws(self, keys: Sequence[Key], estimated: FloatArray, table: Columns) -> None:
        """Fill in limits and notes from the draws."""
        if self.draw_estimates is None:
            table["note"][:] = caused("no_interval", self.no_draws_reason)
            return
        table["note"][:] = _NOT_RESAMPLED
        n_cells = estimated.shape[1]
        index_of_key = {key: i for i, key in enumerate(self.draw_estimates.keys)}
        n_draws = len(self.draw_estimates.values)
        keys_at_once = max(_MAX_DRAWN_NUMBERS // (n_draws * n_cells), 1)
        for metric in dict.fromkeys(key[0] for key in keys if key in index_of_key):
            rows_of_metric = [
                i for i, key in enumerate(keys) if key[0] == metric and key in index_of_key
            ]
            for start in range(0, len(rows_of_metric), keys_at_once):
                rows = rows_of_metric[start : start + keys_at_once]
                draw_indices = [index_of_key[keys[i]] for i in rows]
                draw_values = self.draw_estimates.values[:, draw_indices, -n_cells:]
                self._fill_metric(metric, rows, estimated[rows], draw_values, table)

    def _fill_metric(
        self,
        metric: str,
        rows: Sequence[int],
        estimated: FloatArray,
        draw_values: FloatArray,
        table: Columns,
    ) -> None:
        """Fill in limits and notes of some rows of one metric, ``[key, cell]``."""
        measure, n_cells = base_metric(metric), estimated.shape[1]
        n_units = self.n_units_behind([metric])[:, -n_cells:]
        df = np.where(n_units < self.options.minimums.inference, np.nan, n_units - 1.0)
        columns = interval_columns(measure, estimated, draw_values, df, self.options)
        has_interval = ~np.isnan(columns["high"])
        lacks_test_speakers = self.metrics_lack_test_speakers([metric])[:, -n_cells:]
        reasons = np.where(lacks_test_speakers, NOTE_NO_TEST_SPEAKER, columns["note"])
        notes = np.where(has_interval, _dropped_notes(columns["dropped"]), reasons)
        if measure.is_optimistic:
            self._separate_loss_from_0(estimated, columns)
            notes = joined_cells(notes, np.full(notes.shape, CORRECTED))
        table["low"][rows], table["high"][rows] = columns["low"], columns["high"]
        table["se"][rows] = np.where(has_interval, draw_deviations(draw_values), np.nan)
        table["df"][rows] = np.where(has_interval, df, np.nan)
        table["interval"][rows] = np.where(has_interval, "bootstrap", "")
        table["note"][rows] = notes

    def _separate_loss_from_0(self, losses: FloatArray, columns: Columns) -> None:
        """Set the lower limits of calibration losses by whether the ratios may be calibrated.

        The loss of the draws cannot be below 0, so that their limits contain 0 too often.
        """
        if self.gradient_tests is not None:
            n_tests, n_cells = self.gradient_tests.df.size, losses.shape[1]
            tests = self.gradient_tests.cell_range(n_tests - n_cells, n_tests)
            columns["low"] = tests.lower_limit(losses, columns["low"], self.options.confidence)

    # --- sample-size minimums --------------------------------------------------------------------

    def unmet_minimums(self, metric: str, point: str) -> list[str]:
        """Return the minimums that each group misses for a rate to count; empty where none.

        It is empty too for a group without trials, which has no rate that could count, and for a
        group whose test speakers of nontarget trials are unknown.
        """
        minimums, point_index = self.options.minimums, self.point_indices[point]
        interval = self.rate_intervals.intervals[metric]
        group_moments = self.rate_intervals.moments[metric]
        effective_errors = (interval.rate * interval.n_eff)[point_index, :-1]
        pairs = np.broadcast_to(group_moments.pairs, group_moments.rate.shape)[point_index]
        missing_by_group = []
        for i, n_units in enumerate(self.rate_intervals.n_units[metric][:-1].tolist()):
            if not n_units or (metric == "fpr" and self.lacks_test_speakers[i]):
                missing_by_group.append("")
                continue
            missing = []
            if n_units < minimums.speakers:
                missing.append(fact(SPEAKERS_BELOW_MINIMUM, speakers=n_units))
            if not effective_errors[i] >= minimums.errors:
                n_errors = float(np.nan_to_num(effective_errors[i]))
                missing.append(fact("errors_below_minimum", errors=n_errors))
            if metric == "fpr" and pairs[i] < minimums.pairs:
                missing.append(fact(PAIRS_BELOW_MINIMUM, pairs=int(pairs[i])))
            missing_by_group.append(joined_facts(*missing))
        return missing_by_group

    def meets_minimums(self, keys: Sequence[Key] = ()) -> NDArray[np.bool_]:
        """Return which groups count in headline meta-measures, ``[key, group]``, or ``[group]``.

        Rates need the minimums of rates; other metrics, which join both classes of trials, and the
        groups without keys need enough speakers and pairs of speakers.
        """
        minimums, pairs = self.options.minimums, self.group_errors.nontarget.n_pairs
        has_enough_speakers = np.asarray(
            (self.n_units[:-1] >= minimums.speakers) & (pairs >= minimums.pairs)
        )
        has_enough_speakers &= ~self.lacks_test_speakers[:-1]
        if not keys:
            return has_enough_speakers
        is_met = np.repeat(has_enough_speakers[None], len(keys), axis=0)
        for i, key in enumerate(keys):
            if rate_point_index(key, self.point_indices) is not None:
                is_met[i] = [not unmet for unmet in self.unmet_minimums(key[0], key[2])]
        return is_met & ~self.metrics_lack_test_speakers([key[0] for key in keys])[:, :-1]

    def spread_beyond_noise(self, rates: Estimates) -> dict[str, dict[str, Any]]:
        """Return the spread of rates beyond that of speakers, by measure, in the order of keys.

        `rates` are both at every operating point, undefined for groups that do not count.
        """
        intervals, point_indices = self.rate_intervals.intervals, self.point_indices
        n_eff = [intervals[key[0]].n_eff[point_indices[key[2]], :-1] for key in rates.keys]
        columns_by_measure = self.equal_rates_draws.spread_beyond_noise(rates, np.stack(n_eff))
        metrics = [metric for metric, _, _ in rates.keys]
        lacks_test_speakers = self.metrics_lack_test_speakers(metrics).any(axis=-1)
        if lacks_test_speakers.any():
            for columns in columns_by_measure.values():
                for name, column in columns.items():
                    if column.dtype.kind == "f":
                        columns[name] = np.where(lacks_test_speakers, np.nan, column)
                columns["reason"] = np.where(
                    lacks_test_speakers, UNKNOWN_SPEAKERS, columns["reason"]
                )
        return columns_by_measure


def _dropped_notes(dropped: FloatArray) -> NDArray[np.str_]:
    """Return a note on the share of draws in which each value is undefined; empty for none."""
    shares = np.asarray(dropped).astype(np.str_)
    notes = np.strings.add(np.strings.add('undefined_in_replicates{"share": ', shares), "}")
    return np.where(dropped > 0, notes, "")
