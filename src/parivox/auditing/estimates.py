"""Base metrics of every cell, of the data and of each draw of speakers.

A cell's metrics are computed once, by the functions of `parivox.core.measures`, which take
leading axes: the data have none, the draws of the bootstrap one. `Estimates` holds either,
``[key, cell]`` or ``[draw, key, cell]``; bias measures, meta-measures and comparisons are functions
of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.operating_points import NO_TRIALS, missing_class_reason
from parivox.auditing.outcomes import NO_OUTCOMES, failure_rates, seconds_values
from parivox.auditing.schema import BaseValue, Key
from parivox.core import bias
from parivox.core.counts import Counts, Curve
from parivox.core.measures import (
    ALL_RATES,
    ERROR_TYPES,
    RATE_OF_CLASS,
    RATES,
    LocatedMetric,
    base_metric,
    base_metrics,
)
from parivox.core.rates import unreached_reason
from parivox.core.separation import location
from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.operating_points import LocatedPoint, OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.outcomes import Outcomes
    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.measures import BaseMetric
    from parivox.core.registry import ZeroPolicy
    from parivox.core.separation import TrialClass

    Metrics = Mapping[str, Callable[[Curve], ArrayLike]]

_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
_NO_LLR = "not_declared_llr"
_MIN_COARSE_BINS = 128
_MAX_CACHED_VARIANTS = 8  # two of each system: those of one are asked for together
MIN_SPLIT_SPEAKERS = 10
"""Speakers of a group below which halves are too small to set a threshold on."""
MAX_CHUNK_VALUES = 1 << 20  # values of draws that measures are computed from at once, for memory


# --- the metrics of one cell, of any leading axes ------------------------------------------------


class MetricVariant(NamedTuple):
    """A metric under one of its definitions, with the arguments that select the definition."""

    measure: BaseMetric
    definition: str
    arguments: dict[str, Any]


@lru_cache(maxsize=_MAX_CACHED_VARIANTS)  # asked for again for each cell and chunk of draws
def metric_variants(
    needs: tuple[str, ...], points: OperatingPoints, options: Options
) -> tuple[MetricVariant, ...]:
    """Return metrics of some needs, each by each definition, in the order of rows."""
    variants = []
    metrics = (
        metric
        for metric in base_metrics().values()
        if metric.needs in needs and RATE_OF_CLASS.get(metric.trial_class, RATES[0]) in points.rates
    )
    for _, same_definitions in groupby(
        metrics,
        key=lambda metric: metric.id if metric.computed_per == "held" else metric.computed_per,
    ):
        metrics_alike = list(same_definitions)
        for definition, arguments in _definitions(metrics_alike[0], points, options):
            for metric in metrics_alike:
                takes_llr = metric.needs == "llr" and not metric.components
                base_argument = {"base": options.log_base} if takes_llr else {}
                variants.append(MetricVariant(metric, definition, {**arguments, **base_argument}))
    return tuple(variants)


def _definitions(
    measure: BaseMetric, points: OperatingPoints, options: Options
) -> list[tuple[str, dict[str, Any]]]:
    if measure.computed_per == "cost":
        return [(cost.name, {"cost": cost}) for cost in options.costs]
    if measure.computed_per == "eer":
        return [(definition, {"definition": definition}) for definition in options.eer]
    if measure.computed_per == "held":
        return [
            (f"{target_rate!r} {rule}", {"target": target_rate, "rule": rule})
            for target_rate in points.target_rates(
                "fpr" if measure.trial_class == "target" else "fnr"
            )
            for rule in options.rule
        ]
    if measure.computed_per == "spoof_share":
        share = points.spoof_share
        return [("", {}), (f"spoof share {share:g}", {"spoof_share": share})]
    return [("", {})]


def metrics_at_thresholds(
    curve: Curve, points: OperatingPoints, options: Options
) -> list[tuple[MetricVariant, FloatArray]]:
    """Return metrics at common thresholds, each ``[..., threshold]``."""
    return [
        (variant, _metric_at_thresholds(curve, variant))
        for variant in metric_variants(("points",), points, options)
    ]


def score_metrics(
    counts: Counts, points: OperatingPoints, options: Options, *, coarse: bool = False
) -> dict[tuple[str, str], LocatedMetric]:
    """Return metrics of the scores, at the cell's own threshold if at any, each ``[...]``.

    `counts` have both classes of trials; with `coarse`, smooth metrics use bins twice as wide.
    """
    shape = counts.target.shape[:-1]
    coarse_counts = _coarser_counts(counts) if coarse else counts
    metrics: dict[tuple[str, str], LocatedMetric] = {}
    computed: dict[tuple[object, str], Any] = {}
    for metric, definition, arguments in metric_variants(("counts", "llr"), points, options):
        if metric.needs == "llr" and not options.llr:
            continue
        inputs: tuple[Any, ...] = (coarse_counts if metric.is_smooth else counts,)
        if metric.components:
            inputs = tuple(
                metrics[input_metric, definition].value for input_metric in metric.components
            )
        computation = metric.compute, definition
        if computation not in computed:
            computed[computation] = _compute(metric, inputs, arguments)
        computed_metric = computed[computation]
        metric_values = getattr(computed_metric, metric.field, computed_metric)
        threshold = np.asarray(getattr(computed_metric, "threshold", np.nan), dtype=np.float64)
        metrics[metric.id, definition] = LocatedMetric(
            _checked_shape(metric, metric_values, shape), threshold
        )
    return metrics


def _metric_at_thresholds(curve: Curve, variant: MetricVariant) -> FloatArray:
    """Return a metric at common thresholds, ``[..., threshold]``."""
    computed = _compute(variant.measure, (curve,), variant.arguments)
    return _checked_shape(variant.measure, computed, curve.fp.shape)


def _compute(measure: BaseMetric, inputs: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    assert measure.compute is not None
    try:
        return measure.compute(*inputs, **arguments)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        msg = f"metric {measure.id!r} failed: {error!r}"
        raise ConfigError(msg) from error


def _checked_shape(measure: BaseMetric, computed: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    metric_values = np.asarray(computed, dtype=np.float64)
    if metric_values.shape != shape:
        msg = (
            f"metric {measure.id!r} returned shape {metric_values.shape} for counts of shape "
            f"{shape}"
        )
        hint = "return one value per group and, at operating points, per threshold"
        raise ConfigError(msg, hint)
    return metric_values


def _coarser_counts(counts: Counts) -> Counts:
    """Return counts in bins twice as wide, where there are very many bins."""
    coarse_values = counts.values[::2]
    if coarse_values.size < _MIN_COARSE_BINS:
        return counts
    return Counts.from_classes(coarse_values, [*map(_pair_sums, counts.by_class)])


def _pair_sums(trials: IntArray) -> IntArray:
    """Return the sums of each two neighbours, ``[..., value]``; the last may have no neighbour."""
    sums = trials[..., ::2].copy()
    sums[..., : trials.shape[-1] // 2] += trials[..., 1::2]
    return sums


def user_metrics(
    curve: Curve, counts: Counts, points: OperatingPoints, metrics: Metrics
) -> Iterator[tuple[Key, FloatArray, LocatedPoint | None]]:
    """Yield the user's metrics at the common thresholds, or else of the counts, each ``[...]``.

    Raises ConfigError if one fails on the data; if it fails on draws, it has no values there.
    """
    are_data = counts.target.ndim == 1
    shape = curve.fp.shape
    for name, function in metrics.items():
        try:
            with np.errstate(all="ignore"):
                measured = np.asarray(function(_with_group_axis(curve)), dtype=np.float64)
                is_at_points = measured.shape == (*shape[:-1], 1, shape[-1])
                if not is_at_points:
                    curve_of_scores = _with_group_axis(counts.curve)
                    measured = np.asarray(function(curve_of_scores), dtype=np.float64)
        except Exception as error:
            if not are_data:
                continue
            n_trials = int(counts.n_target + counts.n_nontarget)
            msg = f"metric {name!r} failed on a group of {n_trials} trials: {error!r}"
            raise ConfigError(msg) from error
        if is_at_points:
            for i, located in enumerate(points.score_points):
                yield (name, "", located.point.text), measured[..., 0, i], located
        elif measured.shape == (*shape[:-1], 1):
            yield (name, "", ""), measured[..., 0], None
        elif are_data:
            msg = f"metric {name!r} returned shape {measured.shape} for counts of one group"
            hint = "return one value per group, or one per group and threshold"
            raise ConfigError(msg, hint)


def _with_group_axis(curve: Curve) -> Curve:
    """Return the curve with a group axis of length one."""
    return Curve.from_classes(
        curve.thresholds,
        [errors[..., None, :] for errors in curve.errors_by_class],
        [n_trials[..., None] for n_trials in curve.n_by_class],
    )


def score_locations(counts: Counts) -> dict[tuple[str, str], FloatArray]:
    """Return mean and quantiles of the scores of either class; shifts are their differences."""
    location_by_metric = {}
    for measure in base_metrics().values():
        if measure.needs == "pooled":
            trial_class: TrialClass = "target" if measure.trial_class == "target" else "nontarget"
            location_by_metric[measure.id, "mean"] = location(counts, of=trial_class)
            quantiles = location(counts, of=trial_class, quantile=list(_QUANTILES.values()))
            location_by_metric |= {
                (measure.id, name): quantiles[..., i] for i, name in enumerate(_QUANTILES)
            }
    return location_by_metric


# --- the data ------------------------------------------------------------------------------------


class _Cell:
    """The counts of one cell, and why metrics of each class of trials are undefined."""

    def __init__(self, counts: Counts, no_curve: str = "") -> None:
        self.counts = counts
        target, nontarget = int(counts.n_target), int(counts.n_nontarget)
        self.trials = {
            error_type.trial_class: int(n_trials)
            for error_type, n_trials in zip(ERROR_TYPES, counts.n_by_class, strict=False)
        }
        self.missing_reasons = {
            trial_class: no_curve or ("" if n_trials else NO_TRIALS[RATE_OF_CLASS[trial_class]])
            for trial_class, n_trials in self.trials.items()
        }
        self.trials["both"] = target + nontarget
        self.missing_reasons["both"] = no_curve or missing_class_reason(target, nontarget)

    def base(
        self,
        trial_class: str,
        measured: float | FloatArray,
        reason: str = "",
        errors: Mapping[str, int] | None = None,
        threshold: float = math.nan,
    ) -> BaseValue:
        """Return one metric of a class of trials, with its errors if there is a threshold."""
        measured = math.nan if reason else float(measured)
        if math.isnan(measured) and not reason:
            reason = self.missing_reasons["both"] or "undefined_on_scores"
        n_errors = None if errors is None else errors[trial_class]
        return BaseValue(measured, n_errors, self.trials[trial_class], threshold, reason)


def _errors_at(curve: Curve, index: int) -> dict[str, int]:
    """Return false accepts, false rejects and both at one of the thresholds."""
    errors = {
        error_type.trial_class: int(class_errors[index])
        for error_type, class_errors in zip(ERROR_TYPES, curve.errors_by_class, strict=False)
    }
    return errors | {"both": errors["nontarget"] + errors["target"]}


def estimate_cell(
    counts: Counts,
    points: OperatingPoints,
    options: Options,
    metrics: Metrics,
    outcomes: Outcomes = NO_OUTCOMES,
    *,
    no_curve: str = "",
) -> dict[Key, BaseValue]:
    """Return every base metric of one cell except its score shifts.

    `metrics` are the user's own by name, `outcomes` the decisions, failures and times of the cell.
    `no_curve` is why only the operating points have metrics; empty if all metrics are defined.
    """
    cell, scored = _Cell(counts, no_curve), points.score_points
    curve = counts.at([located.threshold for located in scored])
    rows = dict(_metrics_at_points(_Cell(counts), scored, curve, points, options))
    if points.deployed_index is not None and outcomes.deployed_counts is not None:
        deployed_point = points.located[points.deployed_index]
        decision_thresholds = list(outcomes.deployed_thresholds or ())
        # groups may have several thresholds, of which none is the cell's own
        threshold = decision_thresholds[0] if len(decision_thresholds) == 1 else math.nan
        located_decisions = [replace(deployed_point, threshold=threshold)]
        decisions = outcomes.deployed_counts
        # decisions are scores of 1 and 0: at 1, those that were accepted
        curve_of_decisions = decisions.at([1.0])
        rows.update(
            _metrics_at_points(
                _Cell(decisions), located_decisions, curve_of_decisions, points, options
            )
        )
    if outcomes.failed_trials is not None:
        texts = [located.point.text for located in points.located]
        rows.update(failure_rates(rows, outcomes, texts))
    if outcomes.seconds is not None:
        rows.update(seconds_values(outcomes.seconds))
    rows.update(_metrics_of_scores(cell, points, options))
    if no_curve:
        rows.update({(name, "", ""): cell.base("both", math.nan, no_curve) for name in metrics})
        return rows
    for key, measured, at_point in user_metrics(curve, counts, points, metrics):
        reason, threshold = "", math.nan
        if at_point is not None:
            reason, threshold = at_point.reason, at_point.threshold
        rows[key] = cell.base("both", measured, reason, None, threshold)
    return rows


def _metrics_at_points(
    cell: _Cell,
    located_points: Sequence[LocatedPoint],
    curve: Curve,
    points: OperatingPoints,
    options: Options,
) -> Iterator[tuple[Key, BaseValue]]:
    """Yield metrics at the common thresholds, or of the decisions that were made."""
    metrics = metrics_at_thresholds(curve, points, options)
    for index, located in enumerate(located_points):
        errors = None if located.reason else _errors_at(curve, index)
        for (measure, definition, _), metric_values in metrics:
            reason = located.reason or cell.missing_reasons[measure.trial_class]
            base = cell.base(
                measure.trial_class, metric_values[..., index], reason, errors, located.threshold
            )
            yield (measure.id, definition, located.point.text), base


def _metrics_of_scores(
    cell: _Cell, points: OperatingPoints, options: Options
) -> Iterator[tuple[Key, BaseValue]]:
    """Yield metrics at the cell's own threshold, and of the scores themselves."""
    no_value_reason = cell.missing_reasons["both"]
    metrics = {} if no_value_reason else score_metrics(cell.counts, points, options)
    curve = cell.counts.at([float(metric.threshold) for metric in metrics.values()])
    index_by_metric = {definition_key: i for i, definition_key in enumerate(metrics)}
    for measure, definition, arguments in metric_variants(("counts", "llr"), points, options):
        key = measure.id, definition, ""
        reason = no_value_reason or cell.missing_reasons[measure.trial_class]
        if not reason and measure.needs == "llr" and not options.llr:
            reason = _NO_LLR
        if not reason and measure.computed_per == "held":
            held_class = "nontarget" if measure.trial_class == "target" else "target"
            reason = unreached_reason(cell.counts, held_class, arguments["target"])
        if reason:
            yield key, cell.base(measure.trial_class, math.nan, reason)
            continue
        measured, threshold = metrics[measure.id, definition]
        errors = None
        if not math.isnan(float(threshold)):
            errors = _errors_at(curve, index_by_metric[measure.id, definition])
        yield key, cell.base(measure.trial_class, measured, "", errors, float(threshold))


def score_shifts(
    counts: Counts, reference: Mapping[tuple[str, str], FloatArray], *, no_curve: str = ""
) -> dict[Key, BaseValue]:
    """Return the shifts of a cell's scores from `score_locations` of the pooled row.

    They are in units of score. `no_curve` is why scores have no metrics; empty if they have.
    """
    cell = _Cell(counts, no_curve)
    rows: dict[Key, BaseValue] = {}
    for (metric, definition), cell_location in score_locations(counts).items():
        trial_class = base_metric(metric).trial_class
        reason = cell.missing_reasons[trial_class]
        # as Python numbers: NumPy would warn where both are infinite
        shift = math.nan if reason else float(cell_location) - float(reference[metric, definition])
        rows[metric, definition, ""] = cell.base(trial_class, shift, reason)
    return rows


# --- all cells, the data and the draws -----------------------------------------------------------


def rate_point_index(key: Key, points: Mapping[str, int]) -> int | None:
    """Return the index of the operating point of a rate; None for any other metric."""
    metric, definition, point = key
    return points.get(point) if metric in ALL_RATES and not definition else None


def key_columns(keys: Sequence[Key], n_rows: int = 1) -> dict[str, list[str]]:
    """Return the columns that name `n_rows` rows of each key."""
    names = ("metric", "definition", "operating_point")
    return {name: [key[i] for key in keys for _ in range(n_rows)] for i, name in enumerate(names)}


def draw_slices(shape: Sequence[int]) -> Iterator[slice]:
    """Yield slices of the draws, of about a million values each, of values ``[draw, ...]``."""
    n_draws, *value_shape = shape
    chunk_size = max(MAX_CHUNK_VALUES // max(math.prod(value_shape), 1), 1)
    for start in range(0, n_draws, chunk_size):
        yield slice(start, start + chunk_size)


@frozen
class Estimates:
    """Base metrics of some cells: of the groups of one grouping and, last, of all of them."""

    keys: Sequence[Key]
    values: FloatArray  # [..., key, cell], NaN where undefined
    rate_keys: Sequence[Key]  # those of the keys that are rates whose errors are known
    errors: FloatArray  # [..., rate, cell]
    trials: FloatArray  # [..., rate, cell]
    reasons: Sequence[Sequence[str]] = ()  # [key][cell], why undefined; draws have no reasons

    @classmethod
    def from_cells(cls, cells: Sequence[Mapping[Key, BaseValue]]) -> Estimates:
        """Return the estimates of the data, from each group and, last, the pooled row."""
        keys = list(cells[-1])
        rates = [key for key in keys if key[0] in ALL_RATES]
        shape = len(rates), len(cells)
        errors = [[cell[key].errors for cell in cells] for key in rates]
        trials = [[cell[key].trials for cell in cells] for key in rates]
        return cls(
            keys,
            np.array([[cell[key].value for cell in cells] for key in keys], dtype=np.float64),
            rates,
            np.array(errors, dtype=np.float64).reshape(shape),  # None is NaN
            np.array(trials, dtype=np.float64).reshape(shape),
            [[cell[key].reason for cell in cells] for key in keys],
        )

    @classmethod
    def join_cells(cls, estimates_of_cells: Sequence[Estimates]) -> Estimates:
        """Return cells of draws, one after another; metrics that some of them lack are NaN."""
        keys = estimates_of_cells[0].keys
        same_keys = [
            estimates if estimates.keys == keys else estimates.with_keys(keys)
            for estimates in estimates_of_cells
        ]
        values, errors, trials = (
            np.concatenate([getattr(estimates, name) for estimates in same_keys], axis=-1)
            for name in ("values", "errors", "trials")
        )
        return cls(keys, values, estimates_of_cells[0].rate_keys, errors, trials)

    @property
    def groups(self) -> FloatArray:
        """Return the values of the groups, ``[..., key, group]``."""
        return self.values[..., :-1]

    @property
    def pooled(self) -> FloatArray:
        """Return the values of all groups together, ``[..., key]``."""
        return self.values[..., -1]

    @property
    def errors_by_key(self) -> FloatArray:
        """Return the errors of each key, ``[..., key, cell]``; NaN for metrics that are no rate."""
        errors = np.full(self.values.shape, np.nan)
        errors[..., [self.keys.index(key) for key in self.rate_keys], :] = self.errors
        return errors

    def cell_range(self, start: int, stop: int | None) -> Estimates:
        """Return the cells from `start` to before `stop`."""
        cell_slice = slice(start, stop)
        return Estimates(
            keys=self.keys,
            values=self.values[..., cell_slice],
            rate_keys=self.rate_keys,
            errors=self.errors[..., cell_slice],
            trials=self.trials[..., cell_slice],
            reasons=[key_reasons[cell_slice] for key_reasons in self.reasons],
        )

    def draw_range(self, draw_slice: slice) -> Estimates:
        """Return some of the draws."""
        return Estimates(
            keys=self.keys,
            values=self.values[draw_slice],
            rate_keys=self.rate_keys,
            errors=self.errors[draw_slice],
            trials=self.trials[draw_slice],
        )

    def draw_chunks(self) -> Iterator[Estimates]:
        """Yield some draws at a time, as intermediate arrays of many groups are large."""
        yield from map(self.draw_range, draw_slices(self.values.shape))

    def select_keys(self, key_indices: Sequence[int]) -> Estimates:
        """Return some of the keys, with their rates in the same order."""
        if [*key_indices] == [*range(len(self.keys))]:
            return self
        keys = [self.keys[i] for i in key_indices]
        index_of_rate = {key: i for i, key in enumerate(self.rate_keys)}
        rate_indices = [index_of_rate[key] for key in keys if key in index_of_rate]
        return Estimates(
            keys,
            self.values[..., key_indices, :],
            [self.rate_keys[i] for i in rate_indices],
            np.take(self.errors, rate_indices, axis=-2),
            np.take(self.trials, rate_indices, axis=-2),
            [self.reasons[i] for i in key_indices] if self.reasons else (),
        )

    def error_metrics(self) -> Estimates:
        """Return the metrics that are errors, by which groups can be compared."""
        return self.select_keys(
            [i for i, key in enumerate(self.keys) if base_metric(key[0]).is_error]
        )

    def with_metrics(self, *metrics: str) -> Estimates:
        """Return the keys of some metrics."""
        return self.select_keys([i for i, key in enumerate(self.keys) if key[0] in metrics])

    def with_keys(self, keys: Sequence[Key]) -> Estimates:
        """Return estimates of these keys in this order, NaN for keys that are missing."""
        key_index = {key: i for i, key in enumerate(self.keys)}
        if all(key in key_index for key in keys):
            return self.select_keys([key_index[key] for key in keys])
        present = self.select_keys([key_index[key] for key in keys if key in key_index])
        values = np.full((*self.values.shape[:-2], len(keys), self.values.shape[-1]), np.nan)
        values[..., [i for i, key in enumerate(keys) if key in key_index], :] = present.values
        return replace(present, keys=keys, values=values, reasons=())

    def append_keys(self, other: Estimates) -> Estimates:
        """Return these keys, followed by those of other estimates of the same cells."""
        values, errors, trials = (
            np.concatenate((getattr(self, name), getattr(other, name)), axis=-2)
            for name in ("values", "errors", "trials")
        )
        keys, rates = [*self.keys, *other.keys], [*self.rate_keys, *other.rate_keys]
        return Estimates(keys, values, rates, errors, trials, [*self.reasons, *other.reasons])

    def mask_groups(self, groups: NDArray[np.bool_]) -> Estimates:
        """Return the estimates with values of some groups only, ``[key, group]``; NaN elsewhere."""
        pooled = np.ones((*groups.shape[:-1], 1), dtype=bool)
        is_kept = np.concatenate((groups, pooled), axis=-1)
        return replace(self, values=np.where(is_kept, self.values, np.nan))

    def mask_cells(self, cells: NDArray[np.bool_]) -> Estimates:
        """Return values, errors and trials of some cells only, ``[key, cell]``; NaN elsewhere."""
        key_index = {key: i for i, key in enumerate(self.keys)}
        rate_cells = cells[[key_index[key] for key in self.rate_keys]]
        errors, trials = (
            np.where(rate_cells, counts, np.nan) for counts in (self.errors, self.trials)
        )
        values = np.where(cells, self.values, np.nan)
        return replace(self, values=values, errors=errors, trials=trials)

    def without_group(self, group: NDArray[np.intp]) -> Estimates:
        """Return rates without one group, ``[key]``, which the pooled rate then leaves out too."""
        is_kept = np.arange(self.values.shape[-1] - 1) != group[:, None]
        errors, trials = (
            np.where(is_kept, counts[..., :-1], 0) for counts in (self.errors, self.trials)
        )
        errors, trials = (
            np.concatenate((counts, np.nansum(counts, axis=-1, keepdims=True)), axis=-1)
            for counts in (errors, trials)
        )
        values = np.where(np.isnan(self.values), np.nan, bias.smoothed(errors, trials))
        return Estimates(self.keys, values, self.rate_keys, errors, trials, self.reasons)

    def lacks_group_values(self, other: Estimates) -> NDArray[np.bool_]:
        """Return where some group has a value in `other` but none here, ``[..., key]``."""
        is_missing = np.isnan(self.groups) & ~np.isnan(other.groups)
        if not is_missing.any():  # as almost always, and told much faster than key by key
            return np.zeros(is_missing.shape[:-1], dtype=np.bool_)
        return np.asarray(is_missing.any(axis=-1))

    def values_under_policy(self, zero: ZeroPolicy) -> FloatArray:
        """Return values under a rule for rates of 0, ``[..., key, cell]``.

        All keys must be rates, except under the rule ``none``.
        """
        if zero == "none":
            return self.values
        rates = bias.smoothed(self.errors, self.trials, zero)
        return np.where(np.isnan(self.values), np.nan, rates)

    def other_groups_values(
        self, zero: ZeroPolicy, points: OperatingPoints, options: Options
    ) -> FloatArray:
        """Return each metric on all trials except the group's own, ``[..., key, group]``.

        It is defined for the rates and for metrics computed from them; NaN for all others.
        """
        errors, trials = (
            counts[..., -1:] - counts[..., :-1] for counts in (self.errors, self.trials)
        )
        rates = bias.smoothed(errors, trials, zero)
        reference_values = np.full(self.groups.shape, np.nan)
        reference_values[..., [self.keys.index(key) for key in self.rate_keys], :] = rates
        rate_index = {key: i for i, key in enumerate(self.rate_keys)}
        variant_by_metric = {
            (variant.measure.id, variant.definition): variant
            for variant in metric_variants(("points",), points, options)
        }
        for i, (metric, definition, point) in enumerate(self.keys):
            metric_variant = variant_by_metric.get((metric, definition))
            point_keys: list[Key] = [(rate, "", point) for rate in points.rates]
            is_rate = metric in ALL_RATES
            if metric_variant is None or is_rate or not rate_index.keys() >= {*point_keys}:
                continue
            rate_indices = [rate_index[key] for key in point_keys]
            # errors are NaN where the point has no threshold, and so are the rates
            n_errors = np.nan_to_num(errors[..., rate_indices, :]).astype(np.int64)[..., None]
            n_trials = np.nan_to_num(trials[..., rate_indices, :]).astype(np.int64)
            curve = Curve.from_classes(
                np.zeros(1), [*np.moveaxis(n_errors, -3, 0)], [*np.moveaxis(n_trials, -2, 0)]
            )
            is_unknown = np.isnan(rates[..., rate_indices[: len(RATES)], :]).any(axis=-2)
            reference_values[..., i, :] = np.where(
                is_unknown, np.nan, _metric_at_thresholds(curve, metric_variant)[..., 0]
            )
        return reference_values


# --- the draws along a grid of operating points ---------------------------------------------------


class GridDraws(NamedTuple):
    """Both rates of groups at each point of a grid in some of the draws.

    They are kept as errors, in the narrowest integers, and turned into rates for some draws at a
    time: the rates of hundreds of groups in all draws would take gigabytes.
    """

    errors: NDArray[np.unsignedinteger[Any]]  # [draw, key, cell]
    trials: NDArray[np.unsignedinteger[Any]]  # [draw, rate, cell]
    pooled: FloatArray  # [draw, key, stratum]: the rates of all groups of each stratum

    @classmethod
    def from_curves(cls, cells: Sequence[Curve], strata: Sequence[Curve]) -> GridDraws:
        """Return the draws from curves of the groups of each stratum, and of the strata."""
        errors = [
            _narrowest_integers(np.concatenate((curve.fp, curve.fn), axis=-1)) for curve in cells
        ]
        trials = [
            _narrowest_integers(np.stack((curve.n_nontarget, curve.n_target), axis=-1))
            for curve in cells
        ]
        pooled = [np.concatenate((curve.fpr, curve.fnr), axis=-1) for curve in strata]
        return cls(
            errors=np.stack(errors, axis=-1),
            trials=np.stack(trials, axis=-1),
            pooled=np.stack(pooled, axis=-1),
        )

    def stratum(self, stratum_index: int) -> GridDraws:
        """Return the groups of one stratum."""
        n_groups = self.errors.shape[-1] // self.pooled.shape[-1]
        stratum_cells = slice(stratum_index * n_groups, (stratum_index + 1) * n_groups)
        return GridDraws(
            self.errors[..., stratum_cells],
            self.trials[..., stratum_cells],
            self.pooled[..., stratum_index : stratum_index + 1],
        )

    def draw_chunks(self) -> Iterator[GridDraws]:
        """Yield some draws at a time."""
        for draw_slice in draw_slices(self.errors.shape):
            yield GridDraws(
                self.errors[draw_slice], self.trials[draw_slice], self.pooled[draw_slice]
            )

    def rates(self, keys: Sequence[Key]) -> Estimates:
        """Return the rates of the groups of the one stratum and, last, of all of them."""
        trials = self.trials.astype(np.float64).repeat(len(keys) // len(RATES), axis=1)
        with np.errstate(invalid="ignore"):
            groups = self.errors / trials
        no_counts = np.empty((len(trials), 0, groups.shape[-1] + 1))
        values = np.concatenate((groups, self.pooled), axis=-1)
        return Estimates(keys, values, [], no_counts, no_counts)


def _narrowest_integers(counts: IntArray) -> NDArray[np.unsignedinteger[Any]]:
    """Return whole numbers in the narrowest unsigned type that holds them."""
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
