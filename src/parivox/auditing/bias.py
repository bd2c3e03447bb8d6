"""Groups against references: the rows of ``bias.csv``.

A measure is a function of `parivox.auditing.estimates.Estimates` with any leading axes, so
that one call serves all its rows, and the same call all its draws. Intervals come from the draws of
the bootstrap over speakers, or in closed form where there is one; floors from draws of a system
with equal rates in all groups.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from parivox.auditing.estimates import (
    MIN_SPLIT_SPEAKERS,
    Estimates,
    draw_slices,
    key_columns,
    rate_point_index,
)
from parivox.auditing.measure_rows import (
    MeasureRows,
    does_not_vary,
    interval_columns,
    undefined_columns,
)
from parivox.auditing.options import REFERENCES
from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import ALL_RATES, MEASURES, bias_measures
from parivox.core.verdict import benjamini_hochberg, holm, of_hypotheses
from parivox.facts import caused, fact, joined_facts
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import GroupCounts
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint, OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.counts import FloatArray
    from parivox.core.registry import ZeroPolicy
    from parivox.data.grouping import Grouping

    Columns = dict[str, NDArray[Any]]
    Bools = NDArray[np.bool_]
    TermsOfEstimates = Callable[[Estimates], tuple[FloatArray, FloatArray]]

_REFERENCES_OF_ALL_GROUPS = {"macro", "geomean", "best"}
_TESTS = ("p", "p_holm", "p_bh")
_MIN_GROUPS_TO_LEAVE_ONE_OUT = 3  # two groups would leave nothing to compare with
_MAX_BIASES = 1 << 22  # biases of draws that are held in memory at once
_NOT_CROSSED = fact("too_few_to_split", speakers=MIN_SPLIT_SPEAKERS)


@frozen(kw_only=True)
class BiasRows(MeasureRows):
    """One bias measure of the groups against one reference, ``[key, group]``.

    A reason may say that a value is infinite or a convention; ``undefined_value`` where the metric
    itself is undefined.
    """

    reference: str
    estimates: Estimates  # the base metrics that it is computed from
    draw_estimates: Estimates | None  # base metrics in each draw, these among them
    terms: TermsOfEstimates  # the groups and their reference, from such estimates or draws of them
    left_out_groups: NDArray[np.intp] | None = None
    """``[key]``: a group that the base metrics leave out."""


def each_bias_measure(
    error_metrics: Estimates,
    draws: Estimates | None,
    min_cost_estimates: Sequence[tuple[Estimates, FloatArray | None]],
    groups: Sequence[str],
    points: OperatingPoints,
    options: Options,
) -> Iterator[BiasRows]:
    """Yield every measure of each group against each reference (docs/methods/bias-measures.md).

    Parameters
    ----------
    error_metrics, draws
        Base metrics that are errors, and the same in each draw.
    min_cost_estimates
        For each cost, `min_cost_estimates`, and its threshold bias cross-fitted over speakers
        ``[group]`` or None.
    groups
        Their names.
    """
    rates = error_metrics.with_metrics(*ALL_RATES)
    measure_ids = [measure.id for measure in bias_measures().values() if measure.is_of_references]
    for zero in options.zero:
        estimates = error_metrics if zero == "none" else rates
        measures = [measure for measure in measure_ids if (zero, measure) != ("nist", "difference")]
        for reference in options.reference:
            if reference in REFERENCES or reference in groups:
                terms = partial(_groups_and_reference, reference, zero, groups, points, options)
                key_chunks = _key_chunks(estimates, draws)
                yield from _measured_against(measures, reference, zero, key_chunks, draws, terms)
    for cost_estimates, crossfitted_bias in min_cost_estimates:
        cost_key = [(cost_estimates.keys[:1], cost_estimates)]
        yield from _measured_against(
            ["subgroup_bias"], "pooled", "none", cost_key, draws, _cost_and_pooled
        )
        (threshold_bias,) = _measured_against(
            ["threshold_bias"], "", "none", cost_key, draws, _cost_and_minimum
        )
        yield threshold_bias
        if crossfitted_bias is not None:
            yield _crossfitted_rows(threshold_bias, crossfitted_bias)


def _key_chunks(
    estimates: Estimates, draws: Estimates | None
) -> list[tuple[Sequence[Key], Estimates]]:
    """Return the keys whose biases are held in memory at once, with the estimates of each chunk.

    The metrics of one operating point stay together, as some references are computed of its rates.
    """
    n_values = 0 if draws is None else len(draws.values) * draws.values.shape[-1]
    chunks: list[list[int]] = []
    for _, point_indices in groupby(range(len(estimates.keys)), key=lambda i: estimates.keys[i][2]):
        key_indices = list(point_indices)
        if chunks and n_values * len(chunks[-1] + key_indices) <= _MAX_BIASES:
            chunks[-1] += key_indices
        else:
            chunks.append(key_indices)
    selected = [estimates.select_keys(key_indices) for key_indices in chunks]
    return [(chunk.keys, chunk) for chunk in selected]


def _measured_against(
    measures: Sequence[str],
    reference: str,
    zero: ZeroPolicy,
    key_chunks: Sequence[tuple[Sequence[Key], Estimates]],
    draws: Estimates | None,
    terms: TermsOfEstimates,
) -> Iterator[BiasRows]:
    """Yield measures that are computed from the same two terms, of the data and of each draw.

    `key_chunks` are the keys of the rows, each with the estimates that they are computed from.
    """
    known_terms: list[_DrawTerms] | None = None
    if draws is not None and len(key_chunks) == 1:  # those of several chunks are too large to keep
        known_terms = [*_terms_of_draws(key_chunks[0][1], draws, terms)]
    for measure in measures:
        compute = partial(_measured, measure, reference)
        for keys, estimates in key_chunks:
            measured = compute(terms(estimates))
            draw_values = None
            is_constant: Bools | bool = False
            if draws is not None:
                draw_values = np.empty((len(draws.values), *measured.value.shape))
                draw_terms = known_terms or _terms_of_draws(estimates, draws, terms)
                is_constant = _fill_draws(draw_values, draw_terms, compute, reference)
            yield BiasRows(
                measure=MEASURES[measure],
                reference=reference,
                zero=zero,
                keys=keys,
                estimates=estimates,
                terms=terms,
                values=measured.value,
                reasons=measured.reason,
                draw_estimates=draws,
                draw_values=draw_values,
                is_constant=is_constant,
            )


class _DrawTerms(NamedTuple):
    """The two terms of biases in some of the draws."""

    draw_slice: slice
    groups: FloatArray
    references: FloatArray
    lacks_group: Bools  # [draw, key]: whether a draw is without a group that the data have
    extremes: list[tuple[FloatArray, FloatArray]]  # smallest and largest value of each term


def _terms_of_draws(
    estimates: Estimates, draws: Estimates, terms: TermsOfEstimates
) -> Iterator[_DrawTerms]:
    """Yield the terms of some draws at a time."""
    for draw_slice in draw_slices((*draws.values.shape[::2], len(estimates.keys))):
        chunk = draws.draw_range(draw_slice).with_keys(estimates.keys)
        groups, references = terms(chunk)
        extremes = [(np.fmin.reduce(term), np.fmax.reduce(term)) for term in (groups, references)]
        yield _DrawTerms(
            draw_slice, groups, references, chunk.lacks_group_values(estimates), extremes
        )


def _fill_draws(
    draw_values: FloatArray,
    draw_terms: Iterable[_DrawTerms],
    compute: Callable[[tuple[FloatArray, FloatArray]], bias.BiasValue],
    reference: str,
) -> Bools:
    """Fill in biases of the draws; return whether a term is the same in all, ``[key, group]``."""
    extremes_of_terms: list[list[FloatArray]] = [[], []]
    for chunk in draw_terms:
        biases = compute((chunk.groups, chunk.references)).value
        if reference in _REFERENCES_OF_ALL_GROUPS:
            # a draw without one of the groups would have another reference
            biases = np.where(chunk.lacks_group[..., None], np.nan, biases)
        draw_values[chunk.draw_slice] = biases
        for extremes, chunk_extremes in zip(extremes_of_terms, chunk.extremes, strict=True):
            extremes.extend(chunk_extremes)
    n_keys = draw_values.shape[1]
    is_constant = np.zeros(draw_values.shape[1:], dtype=bool)
    for extremes in extremes_of_terms:
        is_constant |= does_not_vary(np.stack(extremes)).reshape(n_keys, -1)
    return is_constant


def _measured(measure: str, reference: str, terms: tuple[FloatArray, FloatArray]) -> bias.BiasValue:
    """Return a measure of the groups against their reference."""
    measured = cast("Callable[..., bias.BiasValue]", MEASURES[measure].compute)(*terms)
    return measured.flat if reference == "others" else measured


def _groups_and_reference(
    reference: str,
    zero: ZeroPolicy,
    groups: Sequence[str],
    points: OperatingPoints,
    options: Options,
    estimates: Estimates,
) -> tuple[FloatArray, FloatArray]:
    """Return the groups ``[..., key, group]`` and their reference ``[..., key]``."""
    adjusted_values = estimates.values_under_policy(zero)
    group_values = adjusted_values[..., :-1]
    # nist adjusts the denominator only
    numerators = estimates.groups if zero == "nist" else group_values
    if reference == "others":  # a reference of its own for each group
        return numerators[..., None], estimates.other_groups_values(zero, points, options)
    if reference == "pooled":
        return numerators, adjusted_values[..., -1]
    if reference in groups:
        return numerators, group_values[..., groups.index(reference)]
    return numerators, bias.reference(group_values, cast("bias.Reference", reference))


def min_cost_estimates(
    estimates: Estimates, cells: GroupCounts, min_cost_point: LocatedPoint
) -> Estimates:
    """Return a cost of each group where that of all trials is smallest, then its own smallest."""
    cost = min_cost_point.point.cost
    assert cost is not None
    minima = estimates.with_keys([("min_cdet_norm", cost.name, "")])
    cell_counts = (*cells.counts, cells.pooled)
    costs = np.array(
        [cdet(counts.at([min_cost_point.threshold]), cost)[0] for counts in cell_counts]
    )
    reasons = minima.reasons
    if min_cost_point.reason:
        costs = np.full(costs.shape, np.nan)
        reasons = [[min_cost_point.reason] * len(cell_counts)]
    common_key = ("cdet_norm", cost.name, min_cost_point.point.text)
    return replace(minima, keys=[common_key], values=costs[None], reasons=reasons).append_keys(
        minima
    )


def _cost_and_pooled(estimates: Estimates) -> tuple[FloatArray, FloatArray]:
    """Return a cost of the groups, and the pooled one at the same threshold."""
    return estimates.groups[..., :1, :], estimates.pooled[..., :1]


def _cost_and_minimum(estimates: Estimates) -> tuple[FloatArray, FloatArray]:
    """Return a cost of the groups, and the smallest of each group."""
    return estimates.groups[..., :1, :], estimates.groups[..., 1:, :]


def _crossfitted_rows(threshold_bias: BiasRows, crossfitted_bias: FloatArray) -> BiasRows:
    """Return threshold bias with thresholds of other speakers, as variable as the plain one."""
    biases = crossfitted_bias[None]
    # unknown where the plain one has no bound, as the smallest cost is 0, or the other is 0
    has_finite_ratio = np.isfinite(threshold_bias.values) & (biases > 0)
    scale_factors = np.where(has_finite_ratio, biases, np.nan) / threshold_bias.values
    reasons = np.where(np.isnan(biases), _NOT_CROSSED, "")
    draw_values = (
        None if threshold_bias.draw_values is None else threshold_bias.draw_values * scale_factors
    )
    # without a floor: a system with equal rates is drawn for the rates only
    measure = MEASURES["threshold_bias_cv"]
    return replace(
        threshold_bias, measure=measure, values=biases, reasons=reasons, draw_values=draw_values
    )


# --- rows ----------------------------------------------------------------------------------------


@frozen
class ReferenceRatios:
    """Ratios of the rates of all groups to one reference, each ``[group]``, and the pooled rate."""

    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    pooled_rate: float
    worst_group: str = ""
    """The group without which the reference has the lowest rate, where another may be better."""
    without_worst: ReferenceRatios | None = None
    """The ratios of the other groups once that group is left out of the reference."""
    has_shared_trials: bool = False
    """Trials count for two groups, so that no group can be left out by itself."""


def add_bias_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    grouping: Grouping,
    all_bias_rows: Iterable[BiasRows],
    options: Options,
    uncertainty: Uncertainty | None = None,
) -> dict[tuple[str, str], ReferenceRatios]:
    """Add the rows of every measure, with intervals and floors; then means by attribute.

    Return the ratios of the rates to the first reference, with their intervals, by metric and
    operating point.
    """
    groups, masks_by_attribute = grouping.groups, groups_by_attribute_value(grouping)
    first_row = len(rows.cells["value"])
    ratios: dict[tuple[str, str], ReferenceRatios] = {}
    all_mean_columns: list[Columns] = []
    for bias_rows in all_bias_rows:
        uncertainty_columns: Columns = {}
        if uncertainty is not None:
            uncertainty_columns, mean_columns = _uncertainty_columns(
                uncertainty, bias_rows, groups, masks_by_attribute
            )
            all_mean_columns.append(mean_columns)
        rows.add(
            **audit_keys,
            **key_columns(bias_rows.keys, len(groups)),
            group=list(groups) * len(bias_rows.keys),
            measure=bias_rows.measure.id,
            reference=bias_rows.reference,
            zero=bias_rows.zero,
            value=bias_rows.values.ravel(),
            reason=_row_reasons(bias_rows),
            **{name: cells.ravel() for name, cells in uncertainty_columns.items()},
        )
        if not masks_by_attribute:  # rows that means are taken of are looked at again
            rows.pack()
        is_headline = (bias_rows.reference, bias_rows.measure.id, bias_rows.zero)
        if is_headline == (options.reference[0], "ratio", "none") and uncertainty is not None:
            chunk_ratios = _reference_ratios(bias_rows, uncertainty_columns)
            ratios |= chunk_ratios
            ratios |= _ratios_without_worst(uncertainty, bias_rows, groups, chunk_ratios)
    add_mean_rows(rows, audit_keys, first_row, grouping, all_mean_columns)
    return ratios


def _row_reasons(bias_rows: BiasRows) -> list[str]:
    """Return why each value is undefined, row by row; the metric's own reason where it is."""
    reasons = []
    # strict=False: the metrics have a reason for the pooled row too, which has no bias
    for metric_reasons, codes in zip(
        bias_rows.estimates.reasons, bias_rows.reasons.tolist(), strict=False
    ):
        for metric_reason, code in zip(metric_reasons, codes, strict=False):
            reasons.append(metric_reason if code == "undefined_value" else code)
    return reasons


def _reference_ratios(
    ratio_rows: BiasRows, columns: Columns
) -> dict[tuple[str, str], ReferenceRatios]:
    """Return ratios of the rates with their intervals, by metric and operating point."""
    return {
        (key[0], key[2]): ReferenceRatios(
            ratio=ratio_rows.values[i],
            low=columns["low"][i],
            high=columns["high"][i],
            p=columns["p"][i],
            pooled_rate=float(ratio_rows.estimates.pooled[i]),
        )
        for i, key in enumerate(ratio_rows.keys)
        if key[0] in ALL_RATES and not key[1]
    }


def _ratios_without_worst(
    uncertainty: Uncertainty,
    ratio_rows: BiasRows,
    groups: Sequence[str],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
) -> dict[tuple[str, str], ReferenceRatios]:
    """Return the ratios in which a group may be better, with those without the worst group.

    No group can be left out where trials count for two groups; the ratios then say so.
    """
    rates = ratio_rows.estimates.with_metrics(*ALL_RATES)
    errors, trials = rates.errors[:, :-1], rates.trials[:, :-1]
    alpha = 1 - uncertainty.options.confidence
    rate_points = [(metric, point) for metric, _, point in rates.keys]
    if len(groups) < _MIN_GROUPS_TO_LEAVE_ONE_OUT or ratio_rows.reference in (*groups, "best"):
        return {}
    if not rate_points:
        return {}
    may_be_better = [
        np.any((ratios[key].ratio < 1) & ~(ratios[key].p >= alpha)) for key in rate_points
    ]
    has_shared_trials = trials.sum(axis=-1) != rates.trials[:, -1]
    ratios_by_rate = {
        key: replace(ratios[key], has_shared_trials=True)
        for key, is_better, is_shared in zip(
            rate_points, may_be_better, has_shared_trials, strict=True
        )
        if is_better and is_shared
    }
    key_indices = np.flatnonzero(may_be_better & ~has_shared_trials).tolist()
    if not key_indices:
        return ratios_by_rate
    from parivox.core.ratios import worst_cell  # noqa: PLC0415 - with intervals only

    worst_group_indices = worst_cell(errors, trials)
    if ratio_rows.reference in _REFERENCES_OF_ALL_GROUPS:
        worst_group_indices = np.nan_to_num(rates.groups, nan=-1).argmax(axis=-1)
    worst_group_indices = worst_group_indices[key_indices]
    keys = [rates.keys[i] for i in key_indices]
    draws = ratio_rows.draw_estimates
    if draws is not None:
        draws = draws.with_keys(keys).without_group(worst_group_indices)
    remaining_rates = rates.select_keys(key_indices).without_group(worst_group_indices)
    (ratios_without,) = _measured_against(
        ["ratio"],
        ratio_rows.reference,
        "none",
        [(keys, remaining_rates)],
        draws,
        ratio_rows.terms,
    )
    ratios_without = replace(ratios_without, left_out_groups=worst_group_indices)
    df = _degrees_of_freedom(uncertainty, ratios_without, groups)
    ratios_without_worst = _reference_ratios(
        ratios_without, _interval_columns(uncertainty, ratios_without, groups, df)
    )
    for worst_index, (key, without_worst) in zip(
        worst_group_indices.tolist(), ratios_without_worst.items(), strict=True
    ):
        ratios_by_rate[key] = replace(
            ratios[key], worst_group=groups[worst_index], without_worst=without_worst
        )
    return ratios_by_rate


def groups_by_attribute_value(grouping: Grouping) -> list[dict[str, Bools]]:
    """Return the groups that share each value, for each attribute of an intersection."""
    if len(grouping.attributes) < 2 or not grouping.group_values:
        return []
    masks_by_attribute = []
    values_by_attribute = zip(*grouping.group_values, strict=True)
    for attribute, group_values in zip(grouping.attributes, values_by_attribute, strict=True):
        masks = {}
        for attribute_value in dict.fromkeys(group_values):
            has_value = [group_value == attribute_value for group_value in group_values]
            masks[f"{attribute}={attribute_value}"] = np.array(has_value)
        masks_by_attribute.append(masks)
    return masks_by_attribute


def add_mean_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    first_row: int,
    grouping: Grouping,
    uncertainty_columns: Sequence[Columns] = (),
) -> None:
    """Add mean bias of intersections by the values of each of their attributes.

    Each is the unweighted mean of one measure over the groups that share a value, for example of
    threshold bias over the nationalities of one gender: group ``gender=f``, measure
    ``mean_threshold_bias``. Groups where the measure is undefined are left out of the mean, and
    its reason says so. There is none unless the grouping is of several attributes.
    See docs/methods/bias-measures.md#means-over-an-attribute.
    """
    mask_by_name = dict(
        group_mask for masks in groups_by_attribute_value(grouping) for group_mask in masks.items()
    )
    if not mask_by_name:
        return
    n_groups = len(grouping.groups)
    biases = np.array(rows.cells["value"][first_row:], dtype=np.float64).reshape(-1, n_groups)
    shared_columns = ("metric", "definition", "operating_point", "reference", "zero")
    shared_cells = {name: rows.cells[name][first_row::n_groups] for name in shared_columns}
    measures = [f"mean_{measure}" for measure in rows.cells["measure"][first_row::n_groups]]
    mean_uncertainty = {}
    if uncertainty_columns:
        mean_uncertainty = {
            name: np.concatenate([columns[name] for columns in uncertainty_columns])
            for name in uncertainty_columns[0]
        }
    means = means_over_groups(biases, list(mask_by_name.values()))
    for i, (group, mask) in enumerate(mask_by_name.items()):
        rows.add(
            **audit_keys,
            **shared_cells,
            group=group,
            measure=measures,
            value=means[:, i],
            reason=mean_reasons(biases[:, mask]),
            **{name: cells[:, i] for name, cells in mean_uncertainty.items()},
        )


def mean_reasons(values: FloatArray) -> list[str]:
    """Return why means over some groups, ``[row, group]``, are undefined, infinite or partial."""
    n_groups = values.shape[1]
    n_defined = (~np.isnan(values)).sum(axis=1)
    reason_by_number = {
        n_used: fact("mean_over_some_groups", groups=n_used, all_groups=n_groups)
        for n_used in np.unique(n_defined).tolist()
    }
    reason_by_number |= {n_groups: "", 0: "undefined_in_every_group"}
    reasons = [reason_by_number[n_used] for n_used in n_defined.tolist()]
    for i in np.flatnonzero(np.isinf(values).any(axis=1)):
        reasons[i] = joined_facts(reasons[i], "infinite_value")
    return reasons


def means_over_groups(
    values: FloatArray, masks: Sequence[Bools], *, defined_like: FloatArray | None = None
) -> FloatArray:
    """Return means of ``[..., key, group]`` over the groups of each mask, ``[..., key, mask]``.

    Groups that are NaN are left out; a mean of none is NaN. With `defined_like`, ``[key, group]``,
    only the groups that are NaN there are left out, so that a mean is NaN if any other is NaN.
    """
    is_defined = ~np.isnan(values if defined_like is None else defined_like)
    addends = values if is_defined.all() else np.where(is_defined, values, 0)
    means = []
    for mask in masks:  # sums, as the order of additions in matrix products depends on the CPU
        n_used = is_defined[..., mask].sum(axis=-1)
        with np.errstate(invalid="ignore"):  # infinities of both signs
            sums = addends[..., mask].sum(axis=-1)
        means.append(np.where(n_used > 0, sums / np.maximum(n_used, 1), np.nan))
    return np.stack(means, axis=-1)


# --- intervals, tests and floors -----------------------------------------------------------------


def _uncertainty_columns(
    uncertainty: Uncertainty,
    bias_rows: BiasRows,
    groups: Sequence[str],
    masks_by_attribute: Sequence[Mapping[str, Bools]],
) -> tuple[Columns, Columns]:
    """Return the columns of uncertainty of one measure, ``[key, group]``, and of its means.

    Means are over the groups that share each value of each attribute, where the measure is
    defined, ``[key, value]``.
    """
    df = _degrees_of_freedom(uncertainty, bias_rows, groups)
    columns = _interval_columns(uncertainty, bias_rows, groups, df)
    masks = [mask for value_masks in masks_by_attribute for mask in value_masks.values()]
    floors = _floor_columns(uncertainty, bias_rows, masks)
    n_groups = len(groups)
    columns |= {column: cells[:, :n_groups] for column, cells in floors.items()}
    means: list[Columns] = []
    if masks:
        mean_columns = _mean_columns(uncertainty, bias_rows, groups, df, masks)
        mean_columns |= {column: cells[:, n_groups:] for column, cells in floors.items()}
        _copy_single_groups(mean_columns, columns, bias_rows.values, masks)
        # the values of one attribute are one family of tests
        ends = np.cumsum([len(value_masks) for value_masks in masks_by_attribute])
        means = [
            {column: cells[:, start:end] for column, cells in mean_columns.items()}
            for start, end in pairwise([0, *ends.tolist()])
        ]
    is_not_reference = np.array([group != bias_rows.reference for group in groups])
    for measure_columns in (columns, *means):
        p = family = measure_columns["p"]
        if measure_columns is columns:
            # the reference is not compared with itself
            p = np.where(is_not_reference, p, np.nan)
            family = of_hypotheses(p, bias_rows.reference)
        for column, adjust in (("p_holm", holm), ("p_bh", benjamini_hochberg)):
            measure_columns[column] = np.where(np.isnan(p), np.nan, adjust(family))
        # its interval is as wide as that of the plain measure, which is no test of its value
        if bias_rows.measure.id == "threshold_bias_cv":
            measure_columns |= {
                column: np.full(measure_columns["p"].shape, np.nan) for column in _TESTS
            }
    if not means:
        return columns, {}
    joined = {
        column: np.concatenate([columns_of_means[column] for columns_of_means in means], axis=-1)
        for column in columns
    }
    return columns, joined


def _interval_columns(
    uncertainty: Uncertainty, bias_rows: BiasRows, groups: Sequence[str], df: FloatArray
) -> Columns:
    """Return limits and p of one measure, ``[key, group]``, in closed form where there is one."""
    columns = _columns_from_draws(
        uncertainty, bias_rows, bias_rows.values, bias_rows.draw_values, df
    )
    _drop_constant_draws(columns, bias_rows)
    if bias_rows.measure.id != "difference":
        for metric in ALL_RATES:
            key_rows, point_rows = _rate_positions(uncertainty, bias_rows.estimates, metric)
            if key_rows:
                _fill_closed_form(
                    columns, uncertainty, bias_rows, groups, metric, key_rows, point_rows
                )
    _note_unknown_speakers(columns, _lacks_test_speakers(uncertainty, bias_rows, groups))
    _drop_undefined(columns, bias_rows.values, bias_rows)
    return columns


def _lacks_test_speakers(
    uncertainty: Uncertainty, bias_rows: BiasRows, groups: Sequence[str]
) -> Bools:
    """Return whether a group or its reference has unknown test speakers, ``[key, group]``."""
    lacks_speakers = uncertainty.metrics_lack_test_speakers([key[0] for key in bias_rows.keys])
    if bias_rows.reference in groups:
        reference_index = list(groups).index(bias_rows.reference)
        return lacks_speakers[:, :-1] | lacks_speakers[:, reference_index : reference_index + 1]
    if bias_rows.reference:
        return np.broadcast_to(lacks_speakers.any(axis=-1, keepdims=True), bias_rows.values.shape)
    return lacks_speakers[:, :-1]


def _note_unknown_speakers(columns: Columns, lacks_speakers: Bools) -> None:
    """Say why there is no interval where test speakers are unknown."""
    columns["note"] = np.where(lacks_speakers, NOTE_NO_TEST_SPEAKER, columns["note"])


def _floor_columns(
    uncertainty: Uncertainty, bias_rows: BiasRows, masks: Sequence[Bools]
) -> Columns:
    """Return the noise floors of the groups and of means over some, ``[key, group and mask]``.

    They are undefined but for rates whose speakers are in one group each.
    """
    from parivox.auditing.noise_floors import floor_distances  # noqa: PLC0415 - with intervals only

    n_keys, n_groups = bias_rows.values.shape
    columns = {
        column: np.full((n_keys, n_groups + len(masks)), np.nan)
        for column in ("floor_mean", "floor_95")
    }
    key_rows = [
        row
        for metric in ALL_RATES
        for row in _rate_positions(uncertainty, bias_rows.estimates, metric)[0]
        if uncertainty.rate_intervals.are_disjoint[metric]
    ]
    if not key_rows:
        return columns
    equal_rates_estimates = uncertainty.equal_rates_draws.rate_draws(
        [bias_rows.estimates.keys[row] for row in key_rows],
        lifted=bias_rows.measure.id != "difference",
    )
    biases = _measured(
        bias_rows.measure.id, bias_rows.reference, bias_rows.terms(equal_rates_estimates)
    ).value
    if masks:
        means = means_over_groups(biases, masks, defined_like=bias_rows.values[key_rows])
        biases = np.concatenate((biases, means), axis=-1)
    distance_kind = "ratio" if bias_rows.measure.scale == "ratio" else bias_rows.measure.id
    columns["floor_mean"][key_rows], columns["floor_95"][key_rows] = floor_distances(
        biases, distance_kind
    )
    return columns


def _mean_columns(
    uncertainty: Uncertainty,
    bias_rows: BiasRows,
    groups: Sequence[str],
    df: FloatArray,
    masks: Sequence[Bools],
) -> Columns:
    """Return the limits and p of means over some groups, ``[key, mask]``."""
    mean_biases = means_over_groups(bias_rows.values, masks)
    draw_means = bias_rows.draw_values
    if draw_means is not None:
        draw_means = means_over_groups(draw_means, masks, defined_like=bias_rows.values)
    columns = _columns_from_draws(
        uncertainty,
        bias_rows,
        mean_biases,
        draw_means,
        _mean_degrees_of_freedom(bias_rows, df, masks),
    )
    lacks_speakers = _lacks_test_speakers(uncertainty, bias_rows, groups)
    mask_lacks_speakers = [lacks_speakers[:, mask].any(axis=-1) for mask in masks]
    _note_unknown_speakers(columns, np.stack(mask_lacks_speakers, axis=-1))
    _drop_undefined(columns, mean_biases, bias_rows)
    return columns


def _copy_single_groups(
    mean_columns: Columns, group_columns: Columns, biases: FloatArray, masks: Sequence[Bools]
) -> None:
    """Make means of one group as uncertain as the group."""
    for i, mask in enumerate(masks):
        is_used = mask & ~np.isnan(biases)
        single_group_rows = np.flatnonzero(is_used.sum(axis=-1) == 1)
        group = is_used[single_group_rows].argmax(axis=-1)
        for column, cells in mean_columns.items():
            cells[single_group_rows, i] = group_columns[column][single_group_rows, group]


def _degrees_of_freedom(
    uncertainty: Uncertainty, bias_rows: BiasRows, groups: Sequence[str]
) -> FloatArray:
    """Return degrees of freedom of each metric, ``[key, group]``.

    They are the speakers of the group, or of its reference if these are fewer, less one.
    """
    metrics = [key[0] for key in bias_rows.keys]
    all_n_units = uncertainty.n_units_behind(metrics)
    n_units = all_n_units[:, :-1]
    if bias_rows.reference in groups:
        reference_index = list(groups).index(bias_rows.reference)
        n_units = np.minimum(n_units, n_units[:, reference_index : reference_index + 1])
    elif bias_rows.reference == "others":
        are_disjoint = uncertainty.are_disjoint(metrics)[:, None]
        n_other_units = all_n_units[:, -1:] - n_units
        if bias_rows.left_out_groups is not None:
            n_other_units = n_other_units - np.take_along_axis(
                n_units, bias_rows.left_out_groups[:, None], axis=-1
            )
        n_units = np.where(are_disjoint, np.minimum(n_units, n_other_units), n_units)
    return np.where(n_units < uncertainty.options.minimums.inference, np.nan, n_units - 1.0)


def _mean_degrees_of_freedom(
    bias_rows: BiasRows, df: FloatArray, masks: Sequence[Bools]
) -> FloatArray:
    """Return Welch and Satterthwaite's degrees of freedom of means over groups, ``[key, mask]``."""
    biases, draw_biases = bias_rows.values, bias_rows.draw_values
    if draw_biases is None:
        return np.full((len(biases), len(masks)), np.nan)
    is_finite = np.isfinite(draw_biases)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = np.where(is_finite, draw_biases, 0).sum(axis=0) / is_finite.sum(axis=0)
        deviation = np.where(is_finite, draw_biases - mean, 0)
        variance = np.where(np.isnan(biases), 0, (deviation**2).sum(axis=0) / is_finite.sum(axis=0))
        degrees_of_freedom = [
            (variance * mask).sum(axis=-1) ** 2
            / np.where(mask & ~np.isnan(biases), variance**2 / df, 0).sum(axis=-1)
            for mask in masks
        ]
    return np.stack(degrees_of_freedom, axis=-1)


def _columns_from_draws(
    uncertainty: Uncertainty,
    bias_rows: BiasRows,
    biases: FloatArray,
    draw_biases: FloatArray | None,
    df: FloatArray,
) -> Columns:
    """Return limits and p from the draws, with the adjusted p still undefined."""
    if draw_biases is None:
        note = caused("no_interval", uncertainty.no_draws_reason)
        columns = undefined_columns(biases.shape, note)
    else:
        columns = interval_columns(bias_rows.measure, biases, draw_biases, df, uncertainty.options)
    del columns["dropped"]
    for name in _TESTS[1:]:
        columns[name] = np.full(biases.shape, np.nan)
    return columns


def _drop_constant_draws(columns: Columns, bias_rows: BiasRows) -> None:
    """Clear limits and p where the group or its reference does not vary in the draws."""
    has_no_errors = bias_rows.estimates.errors_by_key[: len(bias_rows.keys), :-1] == 0
    for has_no_interval, reason in (
        (bias_rows.is_constant, "same_group_or_reference"),
        (has_no_errors, "no_errors_in_any_replicate"),
    ):
        for column in ("low", "high", "p"):
            columns[column] = np.where(has_no_interval, np.nan, columns[column])
        columns["note"] = np.where(
            has_no_interval, fact("no_interval", because=reason), columns["note"]
        )


def _fill_closed_form(
    columns: Columns,
    uncertainty: Uncertainty,
    bias_rows: BiasRows,
    groups: Sequence[str],
    metric: str,
    key_rows: list[int],
    point_rows: list[int],
) -> None:
    """Replace limits and p from the draws by those in closed form, if a rate has any."""
    if bias_rows.zero != "none":
        return
    left_out_indices = None
    if bias_rows.left_out_groups is not None:
        left_out_indices = np.zeros(len(uncertainty.point_indices), dtype=np.intp)
        left_out_indices[point_rows] = bias_rows.left_out_groups[key_rows]
    closed_form = uncertainty.reference_ratio(metric, bias_rows.reference, groups, left_out_indices)
    if closed_form is None:
        return
    limits = closed_form.low[point_rows], closed_form.high[point_rows]
    if bias_rows.measure.id == "neg_log_ratio":
        with np.errstate(divide="ignore"):
            limits = -np.log(limits[1]), -np.log(limits[0])
    columns["low"][key_rows], columns["high"][key_rows] = limits
    columns["p"][key_rows] = closed_form.p[point_rows]
    reference_indices = [i for i, group in enumerate(groups) if group == bias_rows.reference]
    for column in ("low", "high", "p"):
        columns[column][np.ix_(key_rows, reference_indices)] = np.nan


def _rate_positions(
    uncertainty: Uncertainty, estimates: Estimates, metric: str
) -> tuple[list[int], list[int]]:
    """Return the positions of a rate among the keys, and its operating point at each."""
    point_indices = [rate_point_index(key, uncertainty.point_indices) for key in estimates.keys]
    point_by_row = {
        row: point_index
        for row, point_index in enumerate(point_indices)
        if point_index is not None and estimates.keys[row][0] == metric
    }
    return list(point_by_row), list(point_by_row.values())


def _drop_undefined(columns: Columns, biases: FloatArray, bias_rows: BiasRows) -> None:
    """Clear the uncertainty of undefined values, and limits where no value can be."""
    measure = bias_rows.measure
    if measure.scale == "ratio":
        columns["low"] = np.maximum(columns["low"], measure.bounds[0])
    if measure.bounds[0] == 1.0:  # at least 1 by construction, so that being 1 cannot be tested
        columns["p"] = np.full(biases.shape, np.nan)
    for column in ("low", "high", "p"):
        columns[column] = np.where(np.isnan(biases), np.nan, columns[column])
    columns["note"] = np.where(np.isnan(biases) | ~np.isnan(columns["high"]), "", columns["note"])
