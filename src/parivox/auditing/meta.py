"""One number for all groups: the rows of ``meta.csv`` and of the sweep.

A measure is a function of `parivox.auditing.estimates.Estimates` with any leading axes:
of the data, of draws of the bootstrap over speakers (which show how much it varies), and of draws
of a system with equal rates in all groups (its noise floor).
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.estimates import MAX_CHUNK_VALUES, Estimates, key_columns
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import RATES, meta_measures
from parivox.core.meta import fdr
from parivox.core.noise import floor
from parivox.core.resampling import from_replicates
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import GroupCounts
    from parivox.auditing.estimates import GridDraws
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.counts import FloatArray
    from parivox.core.measures import MetaMeasure
    from parivox.core.registry import ZeroPolicy
    from parivox.core.spread import MetaValue

AXES = ("log10", "linear")
"""Scales of FPR that the area under FDR is taken on."""


@frozen
class MetaValues:
    """One meta-measure under one rule for rates of 0, of every metric that it applies to."""

    measure: MetaMeasure
    zero: ZeroPolicy
    estimates: Estimates
    """What it is computed from: for measures that join both rates, FPR at every operating point and
    then FNR."""
    summary: MetaValue  # of the data, [row] or [alpha, point]
    draw_values: FloatArray | None  # of each draw, [draw, row]; NaN where a group is missing
    keys: Sequence[Key]  # of each row, in the order of the values
    alphas: Sequence[float | None]  # of each row: for each alpha, all operating points

    @property
    def metrics(self) -> list[str]:
        """Return the metric of each row."""
        return [key[0] for key in self.keys]


def each_meta_measure(
    error_metrics: Estimates,
    draws: Estimates | None,
    options: Options,
    *,
    only_defined_groups: bool = False,
) -> Iterator[MetaValues]:
    """Yield every measure (docs/methods/meta-measures.md), those of one metric first.

    Parameters
    ----------
    error_metrics, draws
        Base metrics that are errors, and the same in each draw.
    only_defined_groups
        Whether groups are used in the draws only where the data define them, as they must be where
        some groups are left out of the data.
    """
    rates = error_metrics.with_metrics(*RATES)
    fpr, fnr = error_metrics.with_metrics("fpr"), error_metrics.with_metrics("fnr")
    draws_by_keys: dict[tuple[Key, ...], Estimates] = {}  # many measures have the same metrics
    for measure, zero in _measures_and_policies(options):
        alphas: tuple[float | None, ...] = (
            options.alpha if measure.extra_input == "alpha" else (None,)
        )
        if measure.is_joint:
            estimates = fpr.append_keys(fnr) if fpr.keys and fnr.keys else fpr.select_keys([])
            keys: Sequence[Key] = [(measure.metric, "", point) for _, _, point in fpr.keys]
        else:
            estimates = error_metrics if zero == "none" else rates
            estimates = estimates.with_metrics(measure.metric) if measure.metric else estimates
            keys = estimates.keys
        if not estimates.keys:
            continue
        draw_values = None
        if draws is not None:
            wanted_keys = tuple(estimates.keys)
            if wanted_keys not in draws_by_keys:
                draws_of_keys = draws.with_keys(wanted_keys)
                if only_defined_groups:
                    draws_of_keys = draws_of_keys.mask_groups(~np.isnan(estimates.groups))
                draws_by_keys[wanted_keys] = draws_of_keys
            draws_of_keys = draws_by_keys[wanted_keys]
            lacks_group: NDArray[np.bool_] = draws_of_keys.lacks_group_values(estimates)
            if measure.is_joint:  # a group needs both rates
                lacks_a_rate = lacks_group.reshape(len(lacks_group), 2, -1).any(axis=1)
                lacks_group = np.tile(lacks_a_rate, len(alphas))
            draw_values = _measured_draws(measure, zero, options, draws_of_keys)
            draw_values = np.where(lacks_group, np.nan, draw_values)
        summary = _compute_measure(measure, zero, options, estimates)
        row_alphas = [alpha for alpha in alphas for _ in keys]
        yield MetaValues(
            measure, zero, estimates, summary, draw_values, [*keys] * len(alphas), row_alphas
        )


def _measures_and_policies(options: Options) -> Iterator[tuple[MetaMeasure, ZeroPolicy]]:
    """Yield measures and their rules for rates of 0, measures that join both rates last."""
    for measure in sorted(meta_measures().values(), key=lambda measure: measure.is_joint):
        if measure.extra_input not in {"grid", "draws"}:
            yield from ((measure, zero) for zero in options.zero if zero in measure.zero_policies)


def _compute_measure(
    measure: MetaMeasure, zero: ZeroPolicy, options: Options, estimates: Estimates
) -> MetaValue:
    """Return a measure, ``[..., key]``.

    A measure that joins both rates is ``[..., point]`` or, with alpha, ``[alpha, ..., point]``.
    """
    n_points = len(estimates.keys) // 2

    def by_rate(group_values: FloatArray) -> tuple[FloatArray, ...]:
        if not measure.is_joint:
            return (group_values,)
        return group_values[..., :n_points, :], group_values[..., n_points:, :]

    adjusted_values = estimates.values_under_policy(zero)
    arguments = by_rate(adjusted_values[..., :-1])
    keywords: dict[str, Any] = {}
    if zero == "nist":
        keywords["denominator"] = arguments if measure.is_joint else arguments[0]
        arguments = by_rate(estimates.groups)
    if measure.extra_input == "alpha":
        keywords["alpha"] = np.array(options.alpha)
    if measure.extra_input == "average":
        arguments = (*arguments, adjusted_values[..., -1])
    return measure.evaluate(*arguments, **keywords)


def _measured_draws(
    measure: MetaMeasure, zero: ZeroPolicy, options: Options, draws: Estimates
) -> FloatArray:
    """Return a measure of each draw, ``[draw, row]``."""
    chunks = []
    for chunk in draws.draw_chunks():
        draw_values = _compute_measure(measure, zero, options, chunk).value
        if draw_values.ndim > 2:  # the first axis is alpha, the second the draw
            draw_values = np.moveaxis(draw_values, 0, 1)
        chunks.append(draw_values.reshape(len(draw_values), -1))
    return np.concatenate(chunks)


# --- the area under FDR --------------------------------------------------------------------------


def grid_estimates(cells: GroupCounts, grid: Sequence[LocatedPoint]) -> Estimates:
    """Return FPR of every cell on a grid of operating points, then FNR."""
    thresholds = [located.threshold for located in grid]
    cell_errors = [counts.at(thresholds) for counts in (*cells.counts, cells.pooled)]
    keys = [(metric, "", located.point.text) for metric in RATES for located in grid]

    def both_rates(fpr: list[NDArray[Any]], fnr: list[NDArray[Any]]) -> NDArray[Any]:
        """Return both rates, one after the other, with the cells as last axis."""
        return np.concatenate((np.stack(fpr, axis=-1), np.stack(fnr, axis=-1)))

    rates = both_rates([cell.fpr for cell in cell_errors], [cell.fnr for cell in cell_errors])
    errors = both_rates([cell.fp for cell in cell_errors], [cell.fn for cell in cell_errors])
    trials = both_rates(
        [np.full(cell.fp.shape, int(cell.n_nontarget)) for cell in cell_errors],
        [np.full(cell.fn.shape, int(cell.n_target)) for cell in cell_errors],
    )
    has_no_threshold = np.tile(np.isnan(thresholds), 2)
    return Estimates(
        keys=keys,
        values=np.where(has_no_threshold[:, None], np.nan, rates),
        rate_keys=keys,
        errors=errors.astype(np.float64),
        trials=trials.astype(np.float64),
        reasons=[[""] * len(cell_errors)] * len(keys),
    )


def each_area_measure(
    area_estimates: Estimates, grid_draws: Sequence[GridDraws], options: Options
) -> Iterator[MetaValues]:
    """Yield the area under FDR over a grid of false positive rates, on either scale of FPR.

    Its number of groups is the smallest that have both rates at any of the points.
    """
    measure = meta_measures()["au_fdr"]
    fdr_of_points, pooled_fpr = _fdr_by_fpr(area_estimates, options)
    groups = np.full(len(options.alpha), np.min(fdr_of_points.groups))
    draw_curves = []
    for chunk in grid_draws:
        chunk_rates = chunk.rates(area_estimates.keys).mask_groups(~np.isnan(area_estimates.groups))
        chunk_fdr, chunk_fpr = _fdr_by_fpr(chunk_rates, options)
        lacks_group = chunk_rates.lacks_group_values(area_estimates).any(axis=-1, keepdims=True)
        # copied, as a view would keep the rates of all groups in memory
        draw_curves.append((np.where(lacks_group, np.nan, chunk_fdr.value), chunk_fpr.copy()))
    for axis in AXES:
        summary = replace(
            measure.evaluate(fdr_of_points.value, pooled_fpr, axis=axis), groups=groups
        )
        draw_values = None
        if draw_curves:
            draw_areas = [
                measure.evaluate(fdr_values, chunk_fpr, axis=axis).value.T
                for fdr_values, chunk_fpr in draw_curves
            ]
            draw_values = np.concatenate(draw_areas)
        keys = [(measure.metric, axis, options.area_text)] * len(groups)
        yield MetaValues(measure, "none", area_estimates, summary, draw_values, keys, options.alpha)


def _fdr_by_fpr(area_estimates: Estimates, options: Options) -> tuple[MetaValue, FloatArray]:
    """Return FDR ``[alpha, ..., point]``, and the pooled FPR of each point."""
    n_points = len(area_estimates.keys) // 2
    fpr, fnr = area_estimates.groups[..., :n_points, :], area_estimates.groups[..., n_points:, :]
    return fdr(fpr, fnr, alpha=np.array(options.alpha)), area_estimates.pooled[..., :n_points]


# --- rows ----------------------------------------------------------------------------------------


class LeftOutGroups(NamedTuple):
    """The groups that have a value and are left out of the headline measures."""

    names_by_key: Mapping[Key, Sequence[str]] = {}
    """Their names, by metric."""
    area_names: Sequence[str] = ()
    """Those of either rate at any operating point of the area under FDR."""

    @classmethod
    def from_judged(
        cls,
        groups: Sequence[str],
        error_metrics: Estimates,
        area_estimates: Estimates,
        judged: JudgedGroups,
    ) -> LeftOutGroups:
        """Name the groups that have a value and are not judged in all systems and lists."""
        names = np.array(groups, dtype=np.str_)
        is_out = ~judged.metrics & ~np.isnan(error_metrics.groups)
        is_out_of_area = (~judged.area & ~np.isnan(area_estimates.groups)).any(axis=0)
        names_by_key = {
            key: names[mask].tolist() for key, mask in zip(error_metrics.keys, is_out, strict=True)
        }
        return cls(names_by_key, names[is_out_of_area].tolist())

    def json_by_key(self, keys: Sequence[Key]) -> list[str]:
        """Return the names of the groups that are left out of each metric, as JSON."""
        return [_json_names(self.names_by_key.get(key, ())) for key in keys]

    def json_by_row(self, meta_values: MetaValues) -> list[str]:
        """Return the same of each row of a measure; of either rate where it joins both."""
        if meta_values.measure.extra_input == "grid":
            return [_json_names(self.area_names)] * len(meta_values.keys)
        if not meta_values.measure.is_joint:
            return self.json_by_key(meta_values.estimates.keys)
        keys = meta_values.estimates.keys
        n_points = len(keys) // 2
        names_by_point = []
        for fpr, fnr in zip(keys[:n_points], keys[n_points:], strict=True):
            names = [*self.names_by_key.get(fpr, ()), *self.names_by_key.get(fnr, ())]
            names_by_point.append(_json_names(dict.fromkeys(names)))
        n_alphas = len(meta_values.keys) // max(n_points, 1)
        return names_by_point * n_alphas


def _json_names(names: Iterable[str]) -> str:
    """Return a list of names as JSON, or nothing for none."""
    name_list = list(names)
    return json.dumps(name_list, ensure_ascii=False) if name_list else ""


def add_meta_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    error_metrics: Estimates,
    area_estimates: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None = None,
    judged: JudgedGroups | None = None,
) -> dict[Key, float]:
    """Add one number for all groups, by each measure.

    With intervals, the measures are added again for the groups that are judged in all systems and
    lists. Return p of the heterogeneity of all groups, by rate.
    """
    first_row = len(rows.cells["value"])
    add_all = partial(
        _add_all_measures,
        rows,
        groups=groups,
        draws=draws,
        options=options,
        uncertainty=uncertainty,
    )
    heterogeneity_p = add_all(
        {**audit_keys, "gated": False},
        error_metrics=error_metrics,
        area_estimates=area_estimates,
        left_out=LeftOutGroups(),
    )
    if uncertainty is None or judged is None:
        return heterogeneity_p
    if judged.metrics.all() and judged.area.all():
        # no group is left out: the same numbers, which need not be computed again
        same_columns = {name: column[first_row:] for name, column in rows.cells.items()}
        rows.add(**same_columns | {"gated": True})
        return heterogeneity_p
    add_all(
        {**audit_keys, "gated": True},
        error_metrics=error_metrics.mask_groups(judged.metrics),
        area_estimates=area_estimates.mask_groups(judged.area),
        left_out=LeftOutGroups.from_judged(groups, error_metrics, area_estimates, judged),
    )
    return heterogeneity_p


def _add_all_measures(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    error_metrics: Estimates,
    area_estimates: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None,
    left_out: LeftOutGroups,
) -> dict[Key, float]:
    """Add rows of all groups, or of those that are judged; return p of heterogeneity by rate."""
    is_gated = audit_keys["gated"]
    heterogeneity_p: dict[Key, float] = {}
    for batch in _batches(
        each_meta_measure(error_metrics, draws, options, only_defined_groups=is_gated)
    ):
        uncertainty_columns = None
        if uncertainty is not None:
            uncertainty_columns = _uncertainty_columns(
                uncertainty, batch, options, is_gated=is_gated
            )
        _add_rows(rows, audit_keys, groups, batch, left_out, uncertainty_columns)
    if uncertainty is not None:
        rates = error_metrics.with_metrics(*RATES)
        # the spread that is left once the noise of speakers is subtracted
        # (docs/methods/noise-floors.md#tau-log)
        spread_columns = uncertainty.spread_beyond_noise(rates)
        heterogeneity_p = dict(
            zip(rates.keys, spread_columns["heterogeneity"]["p"].tolist(), strict=True)
        )
        for measure, columns in spread_columns.items():
            rows.add(
                **audit_keys,
                **key_columns(rates.keys),
                measure=measure,
                zero="none",
                higher_is_fairer=meta_measures()[measure].is_higher_fairer,
                left_out=left_out.json_by_key(rates.keys),
                **columns,
            )
    grid_draws = () if uncertainty is None else uncertainty.grid_draws
    area_measures = [*each_area_measure(area_estimates, grid_draws, options)]
    area_columns: Mapping[str, NDArray[Any]] | None = None
    if uncertainty is not None and grid_draws:
        area_columns = _interval_columns(uncertainty, area_measures)
    elif uncertainty is not None and uncertainty.lacks_test_speakers.any():
        area_values = np.concatenate(
            [np.ravel(area_measure.summary.value) for area_measure in area_measures]
        )
        area_columns = {"note": np.where(np.isnan(area_values), "", NOTE_NO_TEST_SPEAKER)}
    _add_rows(rows, audit_keys, groups, area_measures, left_out, area_columns)
    return heterogeneity_p


def _batches(measures: Iterable[MetaValues]) -> Iterator[list[MetaValues]]:
    """Yield measures in batches of about a million draws, for which one call each is fastest."""
    batch: list[MetaValues] = []
    n_values = 0
    for meta_values in measures:
        batch.append(meta_values)
        if meta_values.draw_values is not None:
            n_values += meta_values.draw_values.size
        if n_values > MAX_CHUNK_VALUES:
            yield batch
            batch, n_values = [], 0
    if batch:
        yield batch


def _with_row_slices(measures: Sequence[MetaValues]) -> Iterator[tuple[MetaValues, slice]]:
    """Yield each measure with the slice of its rows among those of all measures."""
    end = 0
    for meta_values in measures:
        start, end = end, end + len(meta_values.keys)
        yield meta_values, slice(start, end)


def _add_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    measures: Sequence[MetaValues],
    left_out: LeftOutGroups,
    uncertainty_columns: Mapping[str, NDArray[Any]] | None,
) -> None:
    """Add the rows of some measures with their columns of uncertainty."""
    for meta_values, block_rows in _with_row_slices(measures):
        row_columns = {
            name: cells[block_rows] for name, cells in (uncertainty_columns or {}).items()
        }
        names = left_out.json_by_row(meta_values)
        rows.add(**audit_keys, **_row_columns(meta_values, groups), left_out=names, **row_columns)


def _row_columns(meta_values: MetaValues, groups: Sequence[str]) -> dict[str, Any]:
    """Return the columns that every row of a measure has."""
    group_names = (*groups, "")  # a measure without lowest or highest group has index -1
    summary = meta_values.summary
    return {
        **key_columns(meta_values.keys),
        "alpha": list(meta_values.alphas),
        "measure": meta_values.measure.id,
        "zero": meta_values.zero,
        "value": np.ravel(summary.value),
        "low_group": [group_names[i] for i in np.ravel(summary.low).tolist()],
        "high_group": [group_names[i] for i in np.ravel(summary.high).tolist()],
        "groups": np.ravel(summary.groups),
        "higher_is_fairer": meta_values.measure.is_higher_fairer,
        "reason": np.ravel(summary.reason),
    }


def add_sweep_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    cells: GroupCounts,
    grid: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Add meta-measures of the rates over a grid of operating points."""
    thresholds = [located.threshold for located in grid]
    rates = grid_estimates(cells, grid)
    measures = [*each_meta_measure(rates.with_metrics("fpr"), None, options)]
    measures += each_meta_measure(rates.with_metrics("fnr"), None, options)
    for meta_values in each_meta_measure(rates, None, options):
        if meta_values.measure.is_joint:
            measures.append(meta_values)
    for meta_values in measures:
        columns = _row_columns(meta_values, cells.grouping.groups)
        columns.pop("definition")
        n_alphas = len(meta_values.keys) // len(thresholds)
        rows.add(**audit_keys, threshold=thresholds * n_alphas, **columns)


# --- intervals and floors ------------------------------------------------------------------------


def _uncertainty_columns(
    uncertainty: Uncertainty, measures: Sequence[MetaValues], options: Options, *, is_gated: bool
) -> dict[str, NDArray[Any]]:
    """Return the columns of uncertainty of some measures, with the rows of one after another."""
    row_values = np.concatenate([np.ravel(meta_values.summary.value) for meta_values in measures])
    columns: dict[str, NDArray[Any]]
    if measures[0].draw_values is None:
        undefined = np.full(row_values.shape, np.nan)
        notes = np.full(row_values.shape, f"no interval: {uncertainty.no_draws_reason}")
        columns = {"low": undefined, "high": undefined, "note": notes}
    else:
        columns = _interval_columns(uncertainty, measures)
    columns |= _floor_columns(uncertainty, measures, row_values, options, is_gated=is_gated)
    is_undefined = np.isnan(row_values)
    return {
        name: np.where(is_undefined, "" if name == "note" else np.nan, cells)
        for name, cells in columns.items()
    }


def _floor_columns(
    uncertainty: Uncertainty,
    measures: Sequence[MetaValues],
    row_values: FloatArray,
    options: Options,
    *,
    is_gated: bool,
) -> dict[str, FloatArray]:
    """Return the floors of each row, and the share of equal-rates draws that are as unfair."""
    equal_rates = uncertainty.equal_rates_draws
    mean, q95, p = np.full((3, row_values.size), np.nan)
    # many measures have the same rates
    draws_by_keys: dict[tuple[Key | bool, ...], Estimates] = {}
    floor_draws, row_positions, has_no_p, are_higher = [], [], [], []
    for meta_values, block_rows in _with_row_slices(measures):
        measure, estimates = meta_values.measure, meta_values.estimates
        rate_rows = [i for i, key in enumerate(estimates.keys) if equal_rates.has_draws_of(key)]
        if not rate_rows or (measure.is_joint and len(rate_rows) < len(estimates.keys)):
            continue
        keys = [estimates.keys[i] for i in rate_rows]
        wanted_keys: tuple[Key | bool, ...] = (*keys, measure.takes_logs)
        if wanted_keys not in draws_by_keys:
            equal_rates_draws = equal_rates.rate_draws(keys, lifted=measure.takes_logs)
            if is_gated:
                is_defined = ~np.isnan(estimates.groups[rate_rows])
                equal_rates_draws = equal_rates_draws.mask_groups(is_defined)
            draws_by_keys[wanted_keys] = equal_rates_draws
        floor_draws.append(
            _measured_draws(measure, meta_values.zero, options, draws_by_keys[wanted_keys])
        )
        rows_of_block = np.arange(block_rows.start, block_rows.stop)
        row_positions.append(rows_of_block if measure.is_joint else rows_of_block[rate_rows])
        are_higher.append(np.full(row_positions[-1].size, measure.is_higher_fairer))
        # draws have half an error in the place of none, observed rates do not: no comparable p
        has_no_errors = (estimates.groups[rate_rows] == 0).any(axis=-1)
        if measure.is_joint:
            has_no_errors = has_no_errors.reshape(2, -1).any(axis=0)
        is_lifted = measure.takes_logs and meta_values.zero == "none"
        has_no_p.append(
            np.tile(has_no_errors & is_lifted, row_positions[-1].size // has_no_errors.size)
        )
    if floor_draws:
        positions = np.concatenate(row_positions)
        all_floor_draws = np.concatenate(floor_draws, axis=1)
        floors = floor(
            row_values[positions], all_floor_draws, higher_is_fairer=np.concatenate(are_higher)
        )
        mean[positions], q95[positions] = floors.mean, floors.q95
        p[positions] = np.where(np.concatenate(has_no_p), np.nan, floors.p)
    return {"floor_mean": mean, "floor_95": q95, "p": p}


def _interval_columns(
    uncertainty: Uncertainty, measures: Sequence[MetaValues]
) -> dict[str, NDArray[Any]]:
    """Return limits of rows, on a logarithmic scale of the distance from fair, or why none."""
    metrics = [metric for meta_values in measures for metric in meta_values.metrics]
    distances, draw_distances = [], []
    for meta_values in measures:
        assert meta_values.draw_values is not None
        distances.append(
            _distance_from_fair(meta_values.measure, np.ravel(meta_values.summary.value))
        )
        draw_distances.append(_distance_from_fair(meta_values.measure, meta_values.draw_values))
    intervals = from_replicates(
        np.concatenate(distances),
        np.concatenate(draw_distances, axis=1),
        uncertainty.n_units_behind(metrics)[:, -1] - 1.0,
        confidence=uncertainty.options.confidence,
    )
    low, high = np.full((2, len(metrics)), np.nan)
    for meta_values, block_rows in _with_row_slices(measures):
        limits = [
            _value_at_distance(meta_values.measure, end[block_rows])
            for end in (intervals.low, intervals.high)
        ]
        low[block_rows], high[block_rows] = np.clip(
            (np.minimum(*limits), np.maximum(*limits)), *meta_values.measure.bounds
        )
    lacks_speakers = uncertainty.metrics_lack_test_speakers(metrics).any(axis=-1)
    reasons = np.where(
        lacks_speakers, NOTE_NO_TEST_SPEAKER, np.strings.add("no interval: ", intervals.reason)
    )
    notes = np.where(np.isnan(high), reasons, "")
    return {"low": low, "high": high, "note": notes}


def _distance_from_fair(measure: MetaMeasure, measured: FloatArray) -> FloatArray:
    """Return how far values are from fair, at least 0."""
    if measure.scale == "one":
        return 1 - measured
    if measure.scale != "ratio":
        return measured
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.log(measured) if measure.is_higher_fairer else np.log(measured)


def _value_at_distance(measure: MetaMeasure, distance: FloatArray) -> FloatArray:
    """Return the values at such distances from fair."""
    if measure.scale == "one":
        return 1 - distance
    if measure.scale != "ratio":
        return distance
    with np.errstate(over="ignore"):
        return np.exp(-distance if measure.is_higher_fairer else distance)
