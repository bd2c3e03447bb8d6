"""One number for all groups: the rows of ``meta.csv`` and of the sweep.

A measure is a function of `parivox.auditing.estimates.Estimates` with any leading axes:
of the data, of draws of the bootstrap over speakers (which show how much it varies), and of draws
of a system with equal rates in all groups (its noise floor).
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.estimates import Estimates, key_columns
from parivox.auditing.measure_rows import MeasureRows, interval_columns
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import ALL_RATES, RATES, meta_measures
from parivox.core.meta import fdr
from parivox.facts import caused
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import GroupCounts
    from parivox.auditing.estimates import GridDraws
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.measure_rows import Columns
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.counts import FloatArray
    from parivox.core.measures import MetaMeasure
    from parivox.core.registry import ZeroPolicy
    from parivox.core.spread import MetaValue

AXES = ("log10", "linear")
"""Scales of FPR that the area under FDR is taken on."""


@frozen(kw_only=True)
class MetaRows(MeasureRows):
    """One meta-measure under one rule for rates of 0; where it takes alpha, all keys for each."""

    measure: MetaMeasure
    estimates: Estimates
    """What it is computed from: for measures that join both rates, FPR at every operating point and
    then FNR."""
    alphas: Sequence[float | None]  # of each row
    groups: NDArray[np.int64]  # [row]: how many it is taken over
    low_group: NDArray[np.int64]  # [row]: the group of the lowest value; -1 for none
    high_group: NDArray[np.int64]

    @classmethod
    def from_summary(
        cls, formula: _Formula, summary: MetaValue, draw_values: FloatArray | None
    ) -> MetaRows:
        """Return the rows of what a measure gave for the data."""
        return cls(
            measure=formula.measure,
            keys=[*formula.keys] * len(formula.alphas),
            values=np.ravel(summary.value),
            reasons=np.ravel(summary.reason),
            draw_values=draw_values,
            zero=formula.zero,
            estimates=formula.estimates,
            alphas=[alpha for alpha in formula.alphas for _ in formula.keys],
            groups=np.ravel(summary.groups),
            low_group=np.ravel(summary.low),
            high_group=np.ravel(summary.high),
        )


class _Formula(NamedTuple):
    """A measure under a rule for rates of 0, with the metrics of the data that it is taken of."""

    measure: MetaMeasure
    zero: ZeroPolicy
    estimates: Estimates
    keys: Sequence[Key]  # of its values for each alpha
    alphas: Sequence[float | None]


def each_meta_measure(
    error_metrics: Estimates,
    draws: Estimates | None,
    options: Options,
    *,
    only_defined_groups: bool = False,
) -> Iterator[MetaRows]:
    """Yield every measure (docs/methods/bias-measures.md#meta-measures), those of one metric first.

    Parameters
    ----------
    error_metrics, draws
        Base metrics that are errors, and the same in each draw.
    only_defined_groups
        Whether groups are used in the draws only where the data define them, as they must be where
        some groups are left out of the data.
    """
    formulas = list(_formulas(error_metrics, options))
    summaries = [_compute_measure(formula, formula.estimates, options) for formula in formulas]
    values_of_draws: list[FloatArray | None] = [None] * len(formulas)
    if draws is not None:
        # nobody asks how much a measure varies that is undefined
        is_defined = [not np.isnan(summary.value).all() for summary in summaries]
        values_of_defined = _measured_draws(
            [*compress(formulas, is_defined)],
            (chunk.with_keys for chunk in draws.draw_chunks()),
            options,
            only_defined_groups=only_defined_groups,
            needs_all_groups=True,
        )
        n_draws = len(draws.values)
        remaining_values = iter(values_of_defined)
        values_of_draws = [
            next(remaining_values) if has_values else np.full((n_draws, summary.value.size), np.nan)
            for summary, has_values in zip(summaries, is_defined, strict=True)
        ]
    for formula, summary, draw_values in zip(formulas, summaries, values_of_draws, strict=True):
        yield MetaRows.from_summary(formula, summary, draw_values)


def _formulas(error_metrics: Estimates, options: Options) -> Iterator[_Formula]:
    """Yield the measures of some metrics, except those that none of them can have."""
    rates = error_metrics.with_metrics(*ALL_RATES)
    fpr, fnr = error_metrics.with_metrics("fpr"), error_metrics.with_metrics("fnr")
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
        if estimates.keys:
            yield _Formula(measure, zero, estimates, keys, alphas)


def _measures_and_policies(options: Options) -> Iterator[tuple[MetaMeasure, ZeroPolicy]]:
    """Yield measures and their rules for rates of 0, measures that join both rates last."""
    for measure in sorted(meta_measures().values(), key=lambda measure: measure.is_joint):
        if measure.extra_input not in {"grid", "draws"}:
            yield from ((measure, zero) for zero in options.zero if zero in measure.zero_policies)


def _compute_measure(formula: _Formula, estimates: Estimates, options: Options) -> MetaValue:
    """Return a measure of the data or of draws, ``[..., key]``.

    A measure that joins both rates is ``[..., point]`` or, with alpha, ``[alpha, ..., point]``.
    """
    measure, n_points = formula.measure, len(estimates.keys) // 2

    def by_rate(group_values: FloatArray) -> tuple[FloatArray, ...]:
        if not measure.is_joint:
            return (group_values,)
        return group_values[..., :n_points, :], group_values[..., n_points:, :]

    adjusted_values = estimates.values_under_policy(formula.zero)
    arguments = by_rate(adjusted_values[..., :-1])
    keywords: dict[str, Any] = {}
    if formula.zero == "nist":
        keywords["denominator"] = arguments if measure.is_joint else arguments[0]
        arguments = by_rate(estimates.groups)
    if measure.extra_input == "alpha":
        keywords["alpha"] = np.array(options.alpha)
    if measure.extra_input == "average":
        arguments = (*arguments, adjusted_values[..., -1])
    return measure.evaluate(*arguments, **keywords)


def _measured_draws(
    formulas: Sequence[_Formula],
    draw_chunks: Iterable[Callable[[Sequence[Key]], Estimates]],
    options: Options,
    *,
    only_defined_groups: bool,
    needs_all_groups: bool,
) -> list[FloatArray]:
    """Return measures of each draw, each ``[draw, row]``, computed for some draws at a time.

    Each chunk of draws gives the estimates of the keys that it is asked for.
    """
    chunks_of_measures: list[list[FloatArray]] = [[] for _ in formulas]
    for chunk_of_keys in draw_chunks:
        # many measures have the same keys
        draws_by_keys: dict[tuple[Key, ...], tuple[Estimates, NDArray[np.bool_]]] = {}
        for formula, chunks in zip(formulas, chunks_of_measures, strict=True):
            keys = tuple(formula.estimates.keys)
            if keys not in draws_by_keys:
                estimates = chunk_of_keys(keys)
                if only_defined_groups:
                    estimates = estimates.mask_groups(~np.isnan(formula.estimates.groups))
                draws_by_keys[keys] = estimates, estimates.lacks_group_values(formula.estimates)
            estimates, lacks_group = draws_by_keys[keys]
            draw_values = _compute_measure(formula, estimates, options).value
            if draw_values.ndim > 2:  # the first axis is alpha, the second the draw
                draw_values = np.moveaxis(draw_values, 0, 1)
            draw_values = draw_values.reshape(len(draw_values), -1)
            if needs_all_groups:
                if formula.measure.is_joint:  # a group needs both rates
                    lacks_a_rate = lacks_group.reshape(len(lacks_group), 2, -1).any(axis=1)
                    lacks_group = np.tile(lacks_a_rate, len(formula.alphas))
                draw_values = np.where(lacks_group, np.nan, draw_values)
            chunks.append(draw_values)
    return [np.concatenate(chunks) for chunks in chunks_of_measures]


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
) -> Iterator[MetaRows]:
    """Yield the area under FDR over a grid of false positive rates, on either scale of FPR.

    Its number of groups is the smallest that have both rates at any of the points.
    """
    measure = meta_measures()["au_fdr"]
    fdr_of_points, pooled_fpr = _fdr_by_fpr(area_estimates, options)
    groups = np.full(len(options.alpha), np.min(fdr_of_points.groups))
    draw_curves = []
    for chunk in chain.from_iterable(grid.draw_chunks() for grid in grid_draws):
        chunk_rates = chunk.rates(area_estimates.keys).mask_groups(~np.isnan(area_estimates.groups))
        chunk_fdr, chunk_fpr = _fdr_by_fpr(chunk_rates, options)
        lacks_group = chunk_rates.lacks_group_values(area_estimates).any(axis=-1, keepdims=True)
        # copied, as a view would keep the rates of all groups in memory
        draw_curves.append((np.where(lacks_group, np.nan, chunk_fdr.value), chunk_fpr.copy()))
    for axis in AXES:
        formula = _Formula(
            measure,
            "none",
            area_estimates,
            [(measure.metric, axis, options.area_text)],
            options.alpha,
        )
        summary = measure.evaluate(fdr_of_points.value, pooled_fpr, axis=axis)
        draw_values = None
        if draw_curves:
            draw_areas = [
                measure.evaluate(fdr_values, chunk_fpr, axis=axis).value.T
                for fdr_values, chunk_fpr in draw_curves
            ]
            draw_values = np.concatenate(draw_areas)
        yield replace(MetaRows.from_summary(formula, summary, draw_values), groups=groups)


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

    def json_by_row(self, meta_rows: MetaRows) -> list[str]:
        """Return the same of each row of a measure; of either rate where it joins both."""
        if meta_rows.measure.extra_input == "grid":
            return [_json_names(self.area_names)] * len(meta_rows.keys)
        if not meta_rows.measure.is_joint:
            return self.json_by_key(meta_rows.estimates.keys)
        keys = meta_rows.estimates.keys
        n_points = len(keys) // 2
        names_by_point = []
        for fpr, fnr in zip(keys[:n_points], keys[n_points:], strict=True):
            names = [*self.names_by_key.get(fpr, ()), *self.names_by_key.get(fnr, ())]
            names_by_point.append(_json_names(dict.fromkeys(names)))
        n_alphas = len(meta_rows.keys) // max(n_points, 1)
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
    area_rows = _area_rows(area_estimates, uncertainty, options)
    heterogeneity_p = add_all(
        {**audit_keys, "gated": False},
        error_metrics=error_metrics,
        area_rows=area_rows,
        left_out=LeftOutGroups(),
    )
    if uncertainty is None or judged is None:
        return heterogeneity_p
    if judged.metrics.all() and judged.area.all():
        # no group is left out: the same numbers, which need not be computed again
        same_columns = {name: column[first_row:] for name, column in rows.cells.items()}
        rows.add(**same_columns | {"gated": True})
        return heterogeneity_p
    if not judged.area.all():
        area_rows = _area_rows(area_estimates.mask_groups(judged.area), uncertainty, options)
    add_all(
        {**audit_keys, "gated": True},
        error_metrics=error_metrics.mask_groups(judged.metrics),
        area_rows=area_rows,
        left_out=LeftOutGroups.from_judged(groups, error_metrics, area_estimates, judged),
    )
    return heterogeneity_p


def _add_all_measures(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    error_metrics: Estimates,
    area_rows: Sequence[tuple[MetaRows, Columns]],
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None,
    left_out: LeftOutGroups,
) -> dict[Key, float]:
    """Add rows of all groups, or of those that are judged; return p of heterogeneity by rate."""
    is_gated = audit_keys["gated"]
    heterogeneity_p: dict[Key, float] = {}
    measures = list(each_meta_measure(error_metrics, draws, options, only_defined_groups=is_gated))
    floors: Sequence[Columns] = [{}] * len(measures)
    if uncertainty is not None:
        floors = _floor_columns(uncertainty, measures, options, is_gated=is_gated)
    for meta_rows, floor_columns in zip(measures, floors, strict=True):
        columns: Columns = {}
        if uncertainty is not None:
            columns = _interval_columns(uncertainty, meta_rows, options) | floor_columns
        _add_rows(rows, audit_keys, groups, meta_rows, left_out, columns)
    if uncertainty is not None:
        rates = error_metrics.with_metrics(*ALL_RATES)
        # the spread that is left once the noise of speakers is subtracted
        # (docs/methods/uncertainty.md#tau-log)
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
    for meta_rows, columns in area_rows:
        _add_rows(rows, audit_keys, groups, meta_rows, left_out, columns)
    return heterogeneity_p


def _area_rows(
    area_estimates: Estimates, uncertainty: Uncertainty | None, options: Options
) -> list[tuple[MetaRows, Columns]]:
    """Return the area under FDR on either scale, with its columns of uncertainty."""
    grid_draws = () if uncertainty is None else uncertainty.grid_draws
    area_rows = []
    for meta_rows in each_area_measure(area_estimates, grid_draws, options):
        columns: Columns = {}
        if uncertainty is not None and meta_rows.draw_values is not None:
            columns = _limits(uncertainty, meta_rows, meta_rows.draw_values, options)
        elif uncertainty is not None and uncertainty.lacks_test_speakers.any():
            is_undefined = np.isnan(meta_rows.values)
            columns = {"note": np.where(is_undefined, "", NOTE_NO_TEST_SPEAKER)}
        area_rows.append((meta_rows, columns))
    return area_rows


def _add_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    meta_rows: MetaRows,
    left_out: LeftOutGroups,
    uncertainty_columns: Columns,
) -> None:
    """Add the rows of a measure with their columns of uncertainty."""
    names = left_out.json_by_row(meta_rows)
    columns = _row_columns(meta_rows, groups) | uncertainty_columns
    rows.add(**audit_keys, **columns, left_out=names)


def _row_columns(meta_rows: MetaRows, groups: Sequence[str]) -> dict[str, Any]:
    """Return the columns that every row of a measure has."""
    group_names = (*groups, "")  # a measure without lowest or highest group has index -1
    return {
        **key_columns(meta_rows.keys),
        "alpha": list(meta_rows.alphas),
        "measure": meta_rows.measure.id,
        "zero": meta_rows.zero,
        "value": meta_rows.values,
        "low_group": [group_names[i] for i in meta_rows.low_group.tolist()],
        "high_group": [group_names[i] for i in meta_rows.high_group.tolist()],
        "groups": meta_rows.groups,
        "higher_is_fairer": meta_rows.measure.is_higher_fairer,
        "reason": meta_rows.reasons,
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
    for meta_rows in each_meta_measure(rates, None, options):
        if meta_rows.measure.is_joint:
            measures.append(meta_rows)
    for meta_rows in measures:
        columns = _row_columns(meta_rows, cells.grouping.groups)
        columns.pop("definition")
        n_alphas = len(meta_rows.keys) // len(thresholds)
        rows.add(**audit_keys, threshold=thresholds * n_alphas, **columns)


# --- intervals and floors ------------------------------------------------------------------------


def _interval_columns(uncertainty: Uncertainty, meta_rows: MetaRows, options: Options) -> Columns:
    """Return the limits of a measure from the draws, or why it has none; empty where undefined."""
    is_undefined = np.isnan(meta_rows.values)
    if meta_rows.draw_values is None or is_undefined.all():
        note = "" if is_undefined.all() else caused("no_interval", uncertainty.no_draws_reason)
        undefined = np.full(meta_rows.values.shape, np.nan)
        columns: Columns = {"low": undefined, "high": undefined}
        return columns | {"note": np.where(is_undefined, "", note)}
    columns = _limits(uncertainty, meta_rows, meta_rows.draw_values, options)
    columns["note"] = np.where(is_undefined, "", columns["note"])
    return columns


def _limits(
    uncertainty: Uncertainty, meta_rows: MetaRows, draw_values: FloatArray, options: Options
) -> Columns:
    """Return limits on a logarithmic scale of the distance from fair, or why there are none."""
    df = (uncertainty.n_units_behind(meta_rows.metrics)[:, -1] - 1).astype(np.float64)
    columns = interval_columns(meta_rows.measure, meta_rows.values, draw_values, df, options)
    lacks_speakers = uncertainty.metrics_lack_test_speakers(meta_rows.metrics).any(axis=-1)
    has_no_note = lacks_speakers & np.isnan(columns["high"])
    notes = np.where(has_no_note, NOTE_NO_TEST_SPEAKER, columns["note"])
    return {"low": columns["low"], "high": columns["high"], "note": notes}


def _floor_columns(
    uncertainty: Uncertainty, measures: Sequence[MetaRows], options: Options, *, is_gated: bool
) -> list[Columns]:
    """Return the floors of each measure, and the share of equal-rates draws that are as unfair."""
    from parivox.core.noise import floor  # noqa: PLC0415 - with intervals only

    equal_rates = uncertainty.equal_rates_draws
    floors: list[Columns] = []
    formulas_by_lift: dict[bool, dict[int, _Formula]] = {False: {}, True: {}}
    rows_with_draws: dict[int, list[int]] = {}
    for number, meta_rows in enumerate(measures):
        measure, estimates = meta_rows.measure, meta_rows.estimates
        undefined = np.full(meta_rows.values.shape, np.nan)
        floors.append({name: undefined.copy() for name in ("floor_mean", "floor_95", "p")})
        rate_rows = [i for i, key in enumerate(estimates.keys) if equal_rates.has_draws_of(key)]
        if not rate_rows or (measure.is_joint and len(rate_rows) < len(estimates.keys)):
            continue
        if np.isnan(meta_rows.values).all():
            continue
        rows_with_draws[number] = rate_rows
        formulas_by_lift[measure.takes_logs][number] = _Formula(
            measure, meta_rows.zero, estimates.select_keys(rate_rows), meta_rows.keys, (None,)
        )
    for is_lifted, formulas in formulas_by_lift.items():
        if not formulas:
            continue
        values_of_draws = _measured_draws(
            [*formulas.values()],
            (partial(chunk.rate_draws, lifted=is_lifted) for chunk in equal_rates.draw_chunks()),
            options,
            only_defined_groups=is_gated,
            needs_all_groups=False,
        )
        for (number, formula), draw_values in zip(formulas.items(), values_of_draws, strict=True):
            meta_rows, columns = measures[number], floors[number]
            rows = slice(None) if formula.measure.is_joint else rows_with_draws[number]
            row_floors = floor(
                meta_rows.values[rows],
                draw_values,
                higher_is_fairer=formula.measure.is_higher_fairer,
            )
            # draws have half an error in the place of none, observed rates do not: no comparable p
            has_no_errors = (formula.estimates.groups == 0).any(axis=-1)
            if formula.measure.is_joint:
                has_no_errors = has_no_errors.reshape(2, -1).any(axis=0)
            has_no_p = np.tile(
                has_no_errors & (is_lifted and formula.zero == "none"),
                draw_values.shape[1] // has_no_errors.size,
            )
            columns["floor_mean"][rows] = row_floors.mean
            columns["floor_95"][rows] = row_floors.q95
            columns["p"][rows] = np.where(has_no_p, np.nan, row_floors.p)
            is_undefined = np.isnan(meta_rows.values)
            for column in columns.values():
                column[is_undefined] = np.nan
    return floors
