"""Base metrics of every cell, of the data and of each draw of speakers.

A cell's metrics are computed once, by the functions of `parivox.core.measures`, which take
leading axes: the data have none, the draws of the bootstrap one. `Estimates` holds either,
``[key, cell]`` or ``[draw, key, cell]``; bias measures, meta-measures and comparisons are functions
of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.operating_points import NO_TRIALS, missing_class_reason
from parivox.auditing.outcomes import NO_OUTCOMES, failure_rates, times
from parivox.auditing.schema import Base, Key
from parivox.core import bias
from parivox.core.counts import Counts, Curve
from parivox.core.measures import RATES, LocatedMetric, base_metric, base_metrics
from parivox.core.separation import location
from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
_NO_LLR = "scores are not declared to be log-likelihood ratios (--llr)"
_FEW_BINS = 128
MAX_CHUNK_VALUES = 1 << 20  # values of draws that measures are computed of at once


# --- the metrics of one cell, of any leading axes ------------------------------------------------


class MetricVariant(NamedTuple):
    """A metric under one of its definitions, with the arguments that say which."""

    measure: BaseMetric
    definition: str
    arguments: dict[str, Any]


def metric_variants(
    needs: Iterable[str], points: OperatingPoints, options: Options
) -> Iterator[MetricVariant]:
    """Metrics that need some of the trials, each by each definition, in the order of rows."""
    asked = set(needs)
    measures = (one for one in base_metrics().values() if one.needs in asked)
    for _, alike in groupby(measures, key=lambda one: one.id if one.per == "held" else one.per):
        same = list(alike)
        for definition, arguments in _definitions(same[0], points, options):
            for one in same:
                is_of_llr = one.needs == "llr" and not one.made_of
                base = {"base": options.log_base} if is_of_llr else {}
                yield MetricVariant(one, definition, {**arguments, **base})


def _definitions(
    measure: BaseMetric, points: OperatingPoints, options: Options
) -> list[tuple[str, dict[str, Any]]]:
    if measure.per == "cost":
        return [(cost.name, {"cost": cost}) for cost in options.costs]
    if measure.per == "eer":
        return [(one, {"definition": one}) for one in options.eer]
    if measure.per == "held":
        return [
            (f"{level!r} {rule}", {"target": level, "rule": rule})
            for level in points.target_rates("fpr" if measure.of == "target" else "fnr")
            for rule in options.rule
        ]
    return [("", {})]


def metrics_at_thresholds(
    at: Curve, points: OperatingPoints, options: Options
) -> list[tuple[MetricVariant, FloatArray]]:
    """Metrics at common thresholds, each ``[..., threshold]``."""
    return [(one, _at(at, one)) for one in metric_variants(["points"], points, options)]


def score_metrics(
    counts: Counts, points: OperatingPoints, options: Options, *, coarse: bool = False
) -> dict[tuple[str, str], LocatedMetric]:
    """Metrics of the scores, at the cell's own threshold if at any, each ``[...]``.

    Counts are of both classes of trials; `coarse` takes fewer bins of scores where that does.
    """
    shape = counts.target.shape[:-1]
    few = _coarser(counts) if coarse else counts
    values: dict[tuple[str, str], LocatedMetric] = {}
    together: dict[tuple[object, str], Any] = {}
    for measure, definition, arguments in metric_variants(["counts", "llr"], points, options):
        if measure.needs == "llr" and not options.llr:
            continue
        made_of: tuple[Any, ...] = (few if measure.is_smooth else counts,)
        if measure.made_of:
            made_of = tuple(values[one, definition].value for one in measure.made_of)
        asked = measure.compute, definition
        if asked not in together:
            together[asked] = _computed(measure, made_of, arguments)
        found = together[asked]
        value = _shaped(measure, getattr(found, measure.field, found), shape)
        threshold = np.asarray(getattr(found, "threshold", np.nan), dtype=np.float64)
        values[measure.id, definition] = LocatedMetric(value, threshold)
    return values


def _at(at: Curve, variant: MetricVariant) -> FloatArray:
    """A metric at common thresholds, ``[..., threshold]``."""
    found = _computed(variant.measure, (at,), variant.arguments)
    return _shaped(variant.measure, found, at.fp.shape)


def _computed(measure: BaseMetric, of: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    assert measure.compute is not None
    try:
        return measure.compute(*of, **arguments)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        msg = f"metric {measure.id!r} failed: {error!r}"
        raise ConfigError(msg) from error


def _shaped(measure: BaseMetric, found: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    value = np.asarray(found, dtype=np.float64)
    if value.shape != shape:
        msg = (
            f"metric {measure.id!r} gave shape {value.shape} for counts of shape {shape}; return "
            "one value for each cell and, at operating points, for each threshold"
        )
        raise ConfigError(msg)
    return value


def _coarser(counts: Counts) -> Counts:
    """Counts in bins twice as wide, where there are very many."""
    values = counts.values[::2]
    if values.size < _FEW_BINS:
        return counts
    return Counts(values, *map(_by_twos, (counts.target, counts.nontarget)))


def _by_twos(trials: IntArray) -> IntArray:
    """Each number with the next one, ``[..., value]``; the last may have none."""
    sums = trials[..., ::2].copy()
    sums[..., : trials.shape[-1] // 2] += trials[..., 1::2]
    return sums


def user_metrics(
    at: Curve, counts: Counts, points: OperatingPoints, metrics: Metrics
) -> Iterator[tuple[Key, FloatArray, LocatedPoint | None]]:
    """The user's metrics at the common thresholds, or else of the counts, each ``[...]``.

    Raises ConfigError if one fails on the data; on draws it then has no values.
    """
    is_data = counts.target.ndim == 1
    shape = at.fp.shape
    for name, function in metrics.items():
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(function(_as_group(at)), dtype=np.float64)
                is_at_points = values.shape == (*shape[:-1], 1, shape[-1])
                if not is_at_points:
                    values = np.asarray(function(_as_group(counts.curve)), dtype=np.float64)
        except Exception as error:
            if not is_data:
                continue
            n = int(counts.n_target + counts.n_nontarget)
            msg = f"metric {name!r} failed on a cell of {n} trials: {error!r}"
            raise ConfigError(msg) from error
        if is_at_points:
            for i, found in enumerate(points.score_points):
                yield (name, "", found.point.text), values[..., 0, i], found
        elif values.shape == (*shape[:-1], 1):
            yield (name, "", ""), values[..., 0], None
        elif is_data:
            msg = (
                f"metric {name!r} gave shape {values.shape} for counts of one group; return one "
                "value a group, or one a group and threshold"
            )
            raise ConfigError(msg)


def _as_group(curve: Curve) -> Curve:
    """The same curve with a group axis of length one."""
    return Curve(
        curve.thresholds,
        curve.fp[..., None, :],
        curve.fn[..., None, :],
        curve.n_target[..., None],
        curve.n_nontarget[..., None],
    )


def score_locations(counts: Counts) -> dict[tuple[str, str], FloatArray]:
    """Mean and quantiles of the scores of either class, which shifts are differences of."""
    found = {}
    for measure in base_metrics().values():
        if measure.needs == "pooled":
            of: TrialClass = "target" if measure.of == "target" else "nontarget"
            found[measure.id, "mean"] = location(counts, of=of)
            quantiles = location(counts, of=of, quantile=list(_QUANTILES.values()))
            found |= {(measure.id, name): quantiles[..., i] for i, name in enumerate(_QUANTILES)}
    return found


# --- the data ------------------------------------------------------------------------------------


class _Cell:
    """The counts of one cell with the words for what they lack."""

    def __init__(self, counts: Counts, no_curve: str = "") -> None:
        self.counts = counts
        target, nontarget = int(counts.n_target), int(counts.n_nontarget)
        self.trials = {"target": target, "nontarget": nontarget, "both": target + nontarget}
        self.lacks = {
            "target": no_curve or ("" if target else NO_TRIALS["fnr"]),
            "nontarget": no_curve or ("" if nontarget else NO_TRIALS["fpr"]),
            "both": no_curve or missing_class_reason(target, nontarget),
        }

    def base(
        self,
        of: str,
        value: float | FloatArray,
        reason: str = "",
        errors: Mapping[str, int] | None = None,
        threshold: float = math.nan,
    ) -> Base:
        """One metric of some of the trials, whose errors are told if a threshold is known."""
        value = math.nan if reason else float(value)
        if math.isnan(value) and not reason:
            reason = self.lacks["both"] or "undefined on these scores"
        wrong = None if errors is None else errors[of]
        return Base(value, wrong, self.trials[of], threshold, reason)


def _errors(at: Curve, i: int) -> dict[str, int]:
    """False accepts, false rejects and both at one of the thresholds."""
    fp, fn = int(at.fp[i]), int(at.fn[i])
    return {"nontarget": fp, "target": fn, "both": fp + fn}


def estimate_cell(
    counts: Counts,
    points: OperatingPoints,
    options: Options,
    metrics: Metrics,
    outcomes: Outcomes = NO_OUTCOMES,
    *,
    no_curve: str = "",
) -> dict[Key, Base]:
    """Every base metric of one cell but its score shifts.

    `metrics` are the user's own by name, `outcomes` what else was counted of the cell; `no_curve`
    says why only the operating points can be told, and is empty if all can.
    """
    cell, scored = _Cell(counts, no_curve), points.score_points
    at = counts.at([f.threshold for f in scored])
    rows = dict(_rows_at(_Cell(counts), scored, at, points, options))
    if points.deployed_index is not None and outcomes.deployed is not None:
        found = points.located[points.deployed_index]
        levels = list(outcomes.thresholds or ())
        own = replace(found, threshold=levels[0] if len(levels) == 1 else math.nan)
        decided = outcomes.deployed
        rows.update(_rows_at(_Cell(decided), [own], decided.at([1.0]), points, options))
    if outcomes.failed is not None:
        rows.update(failure_rates(rows, outcomes, [found.point.text for found in points.located]))
    if outcomes.seconds is not None:
        rows.update(times(outcomes.seconds))
    rows.update(_rows_of_counts(cell, points, options))
    if no_curve:
        rows.update({(name, "", ""): cell.base("both", math.nan, no_curve) for name in metrics})
        return rows
    for key, value, at_point in user_metrics(at, counts, points, metrics):
        reason, threshold = "", math.nan
        if at_point is not None:
            reason, threshold = at_point.reason, at_point.threshold
        rows[key] = cell.base("both", value, reason, None, threshold)
    return rows


def _rows_at(
    cell: _Cell, found: Sequence[LocatedPoint], at: Curve, points: OperatingPoints, options: Options
) -> Iterator[tuple[Key, Base]]:
    """Metrics at the common thresholds, or of the decisions that were made."""
    values = metrics_at_thresholds(at, points, options)
    for i, one in enumerate(found):
        errors = None if one.reason else _errors(at, i)
        for (measure, definition, _), value in values:
            reason = one.reason or cell.lacks[measure.of]
            base = cell.base(measure.of, value[..., i], reason, errors, one.threshold)
            yield (measure.id, definition, one.point.text), base


def _rows_of_counts(
    cell: _Cell, points: OperatingPoints, options: Options
) -> Iterator[tuple[Key, Base]]:
    """Metrics at the cell's own threshold, and of the scores themselves."""
    lacks = cell.lacks["both"]
    values = {} if lacks else score_metrics(cell.counts, points, options)
    at = cell.counts.at([float(one.threshold) for one in values.values()])
    place = {asked: i for i, asked in enumerate(values)}
    for measure, definition, arguments in metric_variants(["counts", "llr"], points, options):
        key = measure.id, definition, ""
        reason = lacks or (_NO_LLR if measure.needs == "llr" and not options.llr else "")
        if not reason and measure.per == "held":
            n = cell.trials["nontarget" if measure.of == "target" else "target"]
            level = arguments["target"]
            if level * n < 1:
                reason = f"unresolvable: {level!r} is below one error in {n} trials"
        if reason:
            yield key, cell.base(measure.of, math.nan, reason)
            continue
        value, threshold = values[measure.id, definition]
        t = float(threshold)
        errors = None if math.isnan(t) else _errors(at, place[measure.id, definition])
        yield key, cell.base(measure.of, value, "", errors, t)


def score_shifts(
    counts: Counts, reference: Mapping[tuple[str, str], FloatArray], *, no_curve: str = ""
) -> dict[Key, Base]:
    """How a cell's scores lie against `locations` of the pooled row, in units of score.

    `no_curve` says why nothing can be told of scores; empty if it can.
    """
    cell = _Cell(counts, no_curve)
    rows: dict[Key, Base] = {}
    for (metric, definition), here in score_locations(counts).items():
        of = base_metric(metric).of
        reason = cell.lacks[of]
        # plain numbers, which warn of nothing where both are infinite
        value = math.nan if reason else float(here) - float(reference[metric, definition])
        rows[metric, definition, ""] = cell.base(of, value, reason)
    return rows


# --- all cells, the data and the draws -----------------------------------------------------------


def rate_point_index(key: Key, points: Mapping[str, int]) -> int | None:
    """Place of the operating point that it is a rate at; None of anything else."""
    metric, definition, point = key
    return points.get(point) if metric in RATES and not definition else None


def key_columns(keys: Sequence[Key], n: int = 1) -> dict[str, list[str]]:
    """The columns of `n` rows of each key."""
    names = ("metric", "definition", "operating_point")
    return {name: [key[i] for key in keys for _ in range(n)] for i, name in enumerate(names)}


@frozen
class Estimates:
    """Base metrics of some cells: of the groups of one grouping and, last, of all of them."""

    keys: Sequence[Key]
    values: FloatArray  # [..., key, cell], NaN where undefined
    rate_keys: Sequence[Key]  # those of the keys that are rates whose errors are known
    errors: FloatArray  # [..., rate, cell]
    trials: FloatArray  # likewise
    reasons: Sequence[Sequence[str]] = ()  # [key][cell], why undefined; none of draws

    @classmethod
    def from_cells(cls, cells: Sequence[Mapping[Key, Base]]) -> Estimates:
        """Those of the data, of each group and, last, the pooled row."""
        keys = list(cells[-1])
        rates = [key for key in keys if key[0] in RATES]
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
    def join_cells(cls, parts: Sequence[Estimates]) -> Estimates:
        """Cells of draws, one after the other; metrics that one of them lacks are NaN there."""
        keys = parts[0].keys
        every = [one if one.keys == keys else one.with_keys(keys) for one in parts]
        values, errors, trials = (
            np.concatenate([getattr(one, name) for one in every], axis=-1)
            for name in ("values", "errors", "trials")
        )
        return cls(keys, values, parts[0].rate_keys, errors, trials)

    @property
    def groups(self) -> FloatArray:
        """Values of the groups, ``[..., key, group]``."""
        return self.values[..., :-1]

    @property
    def pooled(self) -> FloatArray:
        """Values of all groups together, ``[..., key]``."""
        return self.values[..., -1]

    @property
    def errors_by_key(self) -> FloatArray:
        """Errors of each key, ``[..., key, cell]``; NaN of what is no rate."""
        found = np.full(self.values.shape, np.nan)
        found[..., [self.keys.index(key) for key in self.rate_keys], :] = self.errors
        return found

    def cell_range(self, start: int, stop: int | None) -> Estimates:
        """Cells from `start` to before `stop`."""
        at = slice(start, stop)
        return Estimates(
            *(self.keys, self.values[..., at], self.rate_keys),
            *(self.errors[..., at], self.trials[..., at], [row[at] for row in self.reasons]),
        )

    def draw_chunks(self) -> Iterator[Estimates]:
        """The same draws, some at a time: what is computed of many groups is large."""
        n = max(MAX_CHUNK_VALUES // max(self.values[0].size, 1), 1)
        for first in range(0, len(self.values), n):
            some = slice(first, first + n)
            of_draws = (self.values[some], self.rate_keys, self.errors[some], self.trials[some])
            yield Estimates(self.keys, *of_draws)

    def select_keys(self, chosen: Sequence[int]) -> Estimates:
        """Some of the keys; the rates stand in their order."""
        if [*chosen] == [*range(len(self.keys))]:
            return self
        keys = [self.keys[i] for i in chosen]
        place = {key: i for i, key in enumerate(self.rate_keys)}
        at = [place[key] for key in keys if key in place]
        return Estimates(
            keys,
            self.values[..., chosen, :],
            [self.rate_keys[i] for i in at],
            np.take(self.errors, at, axis=-2),
            np.take(self.trials, at, axis=-2),
            [self.reasons[i] for i in chosen] if self.reasons else (),
        )

    def error_metrics(self) -> Estimates:
        """The keys of metrics that are errors, by which groups can be compared."""
        return self.select_keys(
            [i for i, key in enumerate(self.keys) if base_metric(key[0]).is_error]
        )

    def with_metrics(self, *metrics: str) -> Estimates:
        """The keys of some metrics."""
        return self.select_keys([i for i, key in enumerate(self.keys) if key[0] in metrics])

    def with_keys(self, keys: Sequence[Key]) -> Estimates:
        """These keys in this order; those that are not there are undefined."""
        place = {key: i for i, key in enumerate(self.keys)}
        if all(key in place for key in keys):
            return self.select_keys([place[key] for key in keys])
        known = self.select_keys([place[key] for key in keys if key in place])
        values = np.full((*self.values.shape[:-2], len(keys), self.values.shape[-1]), np.nan)
        values[..., [i for i, key in enumerate(keys) if key in place], :] = known.values
        return replace(known, keys=keys, values=values, reasons=())

    def append_keys(self, other: Estimates) -> Estimates:
        """These keys, then those of another."""
        values, errors, trials = (
            np.concatenate((getattr(self, name), getattr(other, name)), axis=-2)
            for name in ("values", "errors", "trials")
        )
        keys, rates = [*self.keys, *other.keys], [*self.rate_keys, *other.rate_keys]
        return Estimates(keys, values, rates, errors, trials, [*self.reasons, *other.reasons])

    def mask_groups(self, groups: NDArray[np.bool_]) -> Estimates:
        """Values of some groups, ``[key, group]``; the others are undefined."""
        pooled = np.ones((*groups.shape[:-1], 1), dtype=bool)
        kept = np.concatenate((groups, pooled), axis=-1)
        return replace(self, values=np.where(kept, self.values, np.nan))

    def mask_cells(self, cells: NDArray[np.bool_]) -> Estimates:
        """Values, errors and trials of some cells, ``[key, cell]``; the others are undefined."""
        place = {key: i for i, key in enumerate(self.keys)}
        of_rates = cells[[place[key] for key in self.rate_keys]]
        errors, trials = (np.where(of_rates, one, np.nan) for one in (self.errors, self.trials))
        values = np.where(cells, self.values, np.nan)
        return replace(self, values=values, errors=errors, trials=trials)

    def without_group(self, group: NDArray[np.intp]) -> Estimates:
        """The rates without one group, ``[key]``: neither its own nor in those of all together."""
        kept = np.arange(self.values.shape[-1] - 1) != group[:, None]
        errors, trials = (np.where(kept, one[..., :-1], 0) for one in (self.errors, self.trials))
        errors, trials = (
            np.concatenate((one, np.nansum(one, axis=-1, keepdims=True)), axis=-1)
            for one in (errors, trials)
        )
        values = np.where(np.isnan(self.values), np.nan, bias.smoothed(errors, trials))
        return Estimates(self.keys, values, self.rate_keys, errors, trials, self.reasons)

    def lacks_group_values(self, other: Estimates) -> NDArray[np.bool_]:
        """Where a group has no value that has one in others, ``[..., key]``."""
        gone = np.isnan(self.groups) & ~np.isnan(other.groups)
        return np.asarray(gone.any(axis=-1))

    def values_under_policy(self, zero: ZeroPolicy) -> FloatArray:
        """Values under a rule for rates of 0, of which all must be then, ``[..., key, cell]``."""
        if zero == "none":
            return self.values
        rates = bias.smoothed(self.errors, self.trials, zero)
        return np.where(np.isnan(self.values), np.nan, rates)

    def other_groups_values(
        self, zero: ZeroPolicy, points: OperatingPoints, options: Options
    ) -> FloatArray:
        """What each group's value is of all trials but its own, ``[..., key, group]``.

        Known of the rates and of what is computed of them; NaN for all else.
        """
        errors, trials = (one[..., -1:] - one[..., :-1] for one in (self.errors, self.trials))
        rates = bias.smoothed(errors, trials, zero)
        found = np.full(self.groups.shape, np.nan)
        found[..., [self.keys.index(key) for key in self.rate_keys], :] = rates
        place = {key: i for i, key in enumerate(self.rate_keys)}
        made_of_rates = {
            (one.measure.id, one.definition): one
            for one in metric_variants(["points"], points, options)
        }
        for i, (metric, definition, point) in enumerate(self.keys):
            asked = made_of_rates.get((metric, definition))
            both = [place[key] for rate in RATES if (key := (rate, "", point)) in place]
            if asked is None or metric in RATES or len(both) < len(RATES):
                continue
            # no error counts where the point was not found, nor then a rate
            wrong = np.nan_to_num(errors[..., both, :]).astype(np.int64)[..., None]
            n = np.nan_to_num(trials[..., both, :]).astype(np.int64)
            curve = Curve(np.zeros(1), *np.moveaxis(wrong, -3, 0), *np.moveaxis(n, -2, 0)[::-1])
            unknown = np.isnan(rates[..., both, :]).any(axis=-2)
            found[..., i, :] = np.where(unknown, np.nan, _at(curve, asked)[..., 0])
        return found


# --- the draws along a grid of operating points ---------------------------------------------------


class GridDraws(NamedTuple):
    """Both rates of groups at each point of a grid in some of the draws.

    They are kept as errors, in numbers as narrow as hold them, and made of some draws at a time:
    the rates of hundreds of groups in all draws would take gigabytes.
    """

    errors: NDArray[np.unsignedinteger[Any]]  # [draw, key, cell]
    trials: NDArray[np.unsignedinteger[Any]]  # [draw, rate, cell]
    pooled: FloatArray  # [draw, key, level]: the rates of all groups of each level

    @classmethod
    def from_curves(cls, cells: Sequence[Curve], levels: Sequence[Curve]) -> GridDraws:
        """Those of the groups of each level, and of the levels, at the points."""
        errors = [_narrow(np.concatenate((one.fp, one.fn), axis=-1)) for one in cells]
        trials = [_narrow(np.stack((one.n_nontarget, one.n_target), axis=-1)) for one in cells]
        pooled = [np.concatenate((one.fpr, one.fnr), axis=-1) for one in levels]
        return cls(*(np.stack(one, axis=-1) for one in (errors, trials, pooled)))

    def stratum(self, at: int) -> GridDraws:
        """The groups of one level."""
        n = self.errors.shape[-1] // self.pooled.shape[-1]
        own = slice(at * n, (at + 1) * n)
        return GridDraws(
            self.errors[..., own], self.trials[..., own], self.pooled[..., at : at + 1]
        )

    def rates(self, keys: Sequence[Key]) -> Estimates:
        """The groups of the one level and, last, all of them."""
        trials = self.trials.astype(np.float64).repeat(len(keys) // len(RATES), axis=1)
        with np.errstate(invalid="ignore"):
            groups = self.errors / trials
        nothing = np.empty((len(trials), 0, groups.shape[-1] + 1))
        values = np.concatenate((groups, self.pooled), axis=-1)
        return Estimates(keys, values, [], nothing, nothing)


def _narrow(numbers: IntArray) -> NDArray[np.unsignedinteger[Any]]:
    """Whole numbers in the least memory that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
