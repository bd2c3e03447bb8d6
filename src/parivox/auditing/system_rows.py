"""The rows of one system on one list, in every table but ``data``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.attacks import add_attack_rows, ratios_of_other_attacks
from parivox.auditing.bias import add_bias_rows, each_bias_measure
from parivox.auditing.curves import (
    bin_columns,
    det_columns,
    spoof_bin_columns,
)
from parivox.auditing.estimates import key_columns as metric_columns
from parivox.auditing.failures import add_cause_rows
from parivox.auditing.meta import add_meta_rows, add_sweep_rows
from parivox.auditing.operating_points import (
    DEPLOYED,
    DEVELOPMENT_TRIALS,
    NO_TRIALS,
    SAME_TRIALS,
    locate_points,
)
from parivox.auditing.pairing import Pairing, add_pairing_rows
from parivox.auditing.speaker_errors import count_matrices
from parivox.auditing.system import suppressed_values
from parivox.facts import caused
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.attacks import GroupAttacks
    from parivox.auditing.cell_counts import Stratum
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.schema import BaseValue, Key, TableBuilder
    from parivox.auditing.system import GroupingMetrics, System
    from parivox.core.counts import Counts

_MAX_MATRIX_ROWS = 50_000
"""Pairs of groups whose rows are made at once, for memory."""


def add_rows(
    system: System,
    metrics_with_judged: Iterable[tuple[GroupingMetrics, JudgedGroups | None]],
    tables: Mapping[str, TableBuilder],
) -> None:
    """Add this system's rows to every table but ``data``.

    `metrics_with_judged` are the metrics of each of its groupings and strata, with which of the
    groups of each are judged in all systems and lists.
    """
    options, counts = system.design.options, system.counts
    for stratum in counts.strata:
        _add_operating_points(tables["operating_points"], system, stratum)
    pairing = Pairing.from_system(system)
    if system.attacks:
        all_keys = {**system.name_columns, "grouping": "all"}
        all_attacks = system.attacks["all", ""]
        add_attack_rows(tables["attacks"], all_keys, ["all"], all_attacks, system.points.located)
    n_cells = len(counts.strata) + sum(len(cells.counts) + 1 for cells in counts.group_counts)
    for metrics, judged in _with_progress(metrics_with_judged, n_cells):
        key_columns = {**system.name_columns, **metrics.key_columns}
        _add_group_rows(tables["groups"], system, metrics, key_columns)
        _add_curves(tables, system, metrics, key_columns)
        add_pairing_rows(tables["pairing"], key_columns, metrics, pairing)
        _pack(tables)
        if metrics.group_counts is None or metrics.area_estimates is None:
            continue
        group_attacks = system.attacks.get((key_columns["grouping"], key_columns["within"]))
        _add_measures(tables, system, metrics, judged, group_attacks, key_columns)
        if options.sweep:
            add_sweep_rows(
                tables["sweep"], key_columns, metrics.group_counts, system.sweep_points, options
            )
        _pack(tables)
        _forget_curves(metrics)
    add_cause_rows(tables["failures"], system.name_columns, counts.attempts, system.design)
    if system.system_uncertainty is not None:
        from parivox.auditing.interval_rows import (  # noqa: PLC0415 - with intervals only
            add_standardised_rates,
        )

        add_standardised_rates(tables["groups"], system)
    _add_matrices(tables["matrix"], system)
    if options.compat:
        _add_compat_rows(tables, system)


def _add_measures(
    tables: Mapping[str, TableBuilder],
    system: System,
    metrics: GroupingMetrics,
    judged: JudgedGroups | None,
    group_attacks: GroupAttacks | None,
    key_columns: Mapping[str, str],
) -> None:
    """Add bias, meta-measures, spoof accepts by attack, verdicts and limits of one grouping."""
    assert metrics.group_counts is not None
    assert metrics.area_estimates is not None
    options, points = system.design.options, system.points
    grouping, uncertainty = metrics.group_counts.grouping, metrics.uncertainty
    group_names = metrics.cell_names[:-1]
    bias_measures = each_bias_measure(
        metrics.error_estimates,
        metrics.draws,
        metrics.cost_estimates,
        group_names,
        points,
        options,
    )
    ratios = add_bias_rows(
        tables["bias"], key_columns, grouping, bias_measures, options, uncertainty
    )
    p_all_groups = add_meta_rows(
        tables["meta"],
        key_columns,
        group_names,
        metrics.error_estimates,
        metrics.area_estimates,
        metrics.draws,
        options,
        uncertainty=uncertainty,
        judged=judged,
    )
    other_attacks = ratios_of_other_attacks(
        group_attacks, group_names, points.located, ratios, options
    )
    is_usual = key_columns["allocation"] == options.allocate[0] and not key_columns["within"]
    if group_attacks is not None and is_usual:  # the attacks of a group are no allocation's
        add_attack_rows(
            tables["attacks"],
            {**system.name_columns, "grouping": grouping.name},
            group_names,
            group_attacks,
            points.located,
            other_attacks,
            options.reference[0],
        )
    if system.system_uncertainty is None or uncertainty is None:
        return
    from parivox.auditing.interval_rows import (  # noqa: PLC0415 - with intervals only
        add_verdicts_and_limits,
    )

    add_verdicts_and_limits(
        tables,
        system,
        metrics,
        key_columns,
        ratios,
        p_all_groups,
        group_attacks,
        other_attacks,
        has_attack_limits=is_usual,
    )


def _pack(tables: Mapping[str, TableBuilder]) -> None:
    """Pack rows that nobody looks at again, where they are many."""
    for table in tables.values():
        table.pack()


def _forget_curves(metrics: GroupingMetrics) -> None:
    """Forget the curves of cells that nobody looks at again."""
    for counts in metrics.cell_counts:
        # The curve of a whole stratum serves other groupings again.
        if counts is not None and counts is not metrics.stratum.counts:
            counts.forget_curve()


def _with_progress(
    metrics_with_judged: Iterable[tuple[GroupingMetrics, JudgedGroups | None]], n_cells: int
) -> Iterator[tuple[GroupingMetrics, JudgedGroups | None]]:
    """Yield the same, and report for how many of the cells there are rows."""
    with stage("measures and verdicts", n_cells, "groups") as progress:
        for metrics, judged in metrics_with_judged:
            yield metrics, judged
            progress.add(len(metrics.cell_names))


def _add_group_rows(
    groups_table: TableBuilder,
    system: System,
    metrics: GroupingMetrics,
    key_columns: Mapping[str, str],
) -> None:
    """Add the base metrics of every cell; without counts, nothing is known of it but why."""
    n_speakers: Sequence[int | None] = [metrics.stratum.n_speakers]
    if metrics.group_counts is not None:
        n_speakers = metrics.group_counts.n_speakers
    if metrics.uncertainty is not None:
        columns = metrics.uncertainty.columns(metrics.estimates)
    else:
        note = ""
        if system.no_intervals_reason:
            note = caused("no_interval", system.no_intervals_reason)
        columns = {"note": np.where(np.isnan(metrics.estimates.values), "", note)}
    # Rows are cell by cell, arrays are [key, cell].
    interval_columns = {name: column.T.ravel() for name, column in columns.items()}
    _add_cells(
        groups_table,
        key_columns,
        metrics.cell_names,
        metrics.base_values,
        metrics.cell_counts,
        n_speakers,
        interval_columns,
    )


def _add_cells(
    table: TableBuilder,
    key_columns: Mapping[str, str],
    cell_names: Sequence[str],
    base_values: Sequence[Mapping[Key, BaseValue]],
    counts: Sequence[Counts | None],
    n_speakers: Sequence[int | None],
    more_columns: Mapping[str, Any],
) -> None:
    """Add the base metrics of some cells, one after the other."""
    keys = list(base_values[0])
    values = [values_of_cell[key] for values_of_cell in base_values for key in keys]
    is_known = [cell_counts is not None for cell_counts in counts for _ in keys]
    columns_of_cells: dict[str, Sequence[Any]] = {
        "group": cell_names,
        "speakers": n_speakers,
        "target_trials": [
            None if cell_counts is None else int(cell_counts.n_target) for cell_counts in counts
        ],
        "nontarget_trials": [
            None if cell_counts is None else int(cell_counts.n_nontarget) for cell_counts in counts
        ],
    }
    repeated_columns = {
        name: [cell for cell in cells for _ in keys] for name, cells in columns_of_cells.items()
    }
    table.add(
        **key_columns,
        **repeated_columns,
        **{name: column * len(cell_names) for name, column in metric_columns(keys).items()},
        value=[value.value for value in values],
        errors=[value.errors for value in values],
        trials=[
            value.trials if has_counts else None
            for value, has_counts in zip(values, is_known, strict=True)
        ],
        threshold=[value.threshold for value in values],
        reason=[value.reason for value in values],
        **more_columns,
    )


def _add_curves(
    tables: Mapping[str, TableBuilder],
    system: System,
    metrics: GroupingMetrics,
    key_columns: Mapping[str, str],
) -> None:
    """Add curves and, but within strata, trials and intervals along the threshold; offenders."""
    keys_without_stratum = {name: text for name, text in key_columns.items() if name != "within"}
    for group, counts in zip(metrics.cell_names, metrics.cell_counts, strict=True):
        if counts is None:
            continue
        if not system.no_curve_reason:
            tables["det"].add(**key_columns, group=group, **det_columns(counts))
        if not key_columns["within"] and system.shared_thresholds.size:
            tables["bins"].add(
                **keys_without_stratum, group=group, **bin_columns(counts, system.shared_thresholds)
            )
            if system.counts.all_counts.spoof is not None:
                tables["spoof_bins"].add(
                    **keys_without_stratum,
                    group=group,
                    **spoof_bin_columns(counts, system.shared_thresholds),
                )
    if not key_columns["within"] and system.system_uncertainty is not None:
        from parivox.auditing.interval_rows import (  # noqa: PLC0415 - with intervals only
            add_bands_and_offenders,
        )

        add_bands_and_offenders(tables, system, metrics, keys_without_stratum)


def _add_operating_points(table: TableBuilder, system: System, stratum: Stratum) -> None:
    """Add the thresholds, and what each gives on all trials or within a stratum."""
    located_points = system.points.located
    source = SAME_TRIALS if system.development is None else DEVELOPMENT_TRIALS
    if stratum.name:
        located_points = [
            located if located.reason else _located_in_stratum(system, located, stratum)
            for located in located_points
        ]
    table.add(
        **system.name_columns,
        operating_point=[located.point.text for located in located_points],
        definition=[located.point.definition for located in located_points],
        threshold=[located.threshold for located in located_points],
        source=[
            "given" if located.point.rule in {"threshold", "bayes", DEPLOYED} else source
            for located in located_points
        ],
        fpr=[located.fpr for located in located_points],
        fnr=[located.fnr for located in located_points],
        cdet_norm=[located.cdet_norm for located in located_points],
        reason=[located.reason for located in located_points],
        within=stratum.name,
    )


def _located_in_stratum(system: System, located: LocatedPoint, stratum: Stratum) -> LocatedPoint:
    """Return a point at its threshold on the trials of one stratum."""
    point = located.point
    if point.rule != DEPLOYED:
        point = replace(point, rule="threshold", rule_value=located.threshold)
    (in_stratum,) = locate_points(
        [point], stratum.counts, system.design.options.costs[0], deployed=stratum.outcomes
    )
    return replace(in_stratum, point=located.point)


def _add_matrices(table: TableBuilder, system: System) -> None:
    """Add the false accepts between groups."""
    design = system.design
    matrices = None if system.system_uncertainty is None else system.system_uncertainty.matrices
    if matrices is None:
        matrices = count_matrices(
            system.trials, design.groupings, system.points.located, design.within
        )
    suppression_reasons = {
        (cells.grouping.name, cells.stratum.name): cells.suppression_reasons
        for cells in system.counts.group_counts
    }
    for grouping, stratum, matrix in matrices:
        names = np.array(grouping.groups, dtype=object)
        group_reasons = suppression_reasons[grouping.name, stratum]
        pair_reasons = [
            enrol_reason or test_reason
            for enrol_reason in group_reasons
            for test_reason in group_reasons
        ]
        for point_index, located in enumerate(system.points.located):
            for enrol_groups in _slices(names.size, max(_MAX_MATRIX_ROWS // names.size, 1)):
                pairs = slice(enrol_groups.start * names.size, enrol_groups.stop * names.size)
                errors = matrix.errors[point_index].reshape(-1)[pairs]
                n_trials = matrix.trials[point_index].reshape(-1)[pairs]
                is_undefined = bool(located.reason)
                reason = [
                    pair_reason or ("" if n_pair_trials else NO_TRIALS["fpr"]) or located.reason
                    for pair_reason, n_pair_trials in zip(
                        pair_reasons[pairs], n_trials.tolist(), strict=True
                    )
                ]
                rates = np.where(
                    (n_trials == 0) | is_undefined, np.nan, errors / np.maximum(n_trials, 1)
                )
                table.add(
                    **system.name_columns,
                    grouping=grouping.name,
                    operating_point=located.point.text,
                    enrol_group=np.repeat(names[enrol_groups], names.size),
                    test_group=np.tile(names, len(rates) // names.size),
                    errors=[None] * n_trials.size
                    if is_undefined
                    else _none_if_suppressed(pair_reasons[pairs], errors),
                    trials=_none_if_suppressed(pair_reasons[pairs], n_trials),
                    value=rates,
                    reason=reason,
                    within=stratum,
                )
                table.pack()


def _slices(size: int, length: int) -> Iterator[slice]:
    """Yield slices of at most some length, one after another."""
    for start in range(0, size, length):
        yield slice(start, min(start + length, size))


def _add_compat_rows(tables: Mapping[str, TableBuilder], system: System) -> None:
    """Add another tool's numbers, under that tool's allocation."""
    from parivox.auditing.bt4vt_rows import (  # noqa: PLC0415 - if asked for
        add_compat_ratios,
        compat_metrics,
    )

    options, stratum = system.design.options, system.counts.strata[0]
    all_counts = stratum.counts
    all_values = compat_metrics(all_counts, all_counts, options)
    key_columns = {
        **system.name_columns,
        "within": stratum.name,
        "grouping": "all",
        "allocation": "",
    }
    _add_cells(
        tables["groups"], key_columns, ["all"], [all_values], [all_counts], [stratum.n_speakers], {}
    )
    for cells in system.counts.group_counts:
        if cells.allocation != "enrol" or cells.stratum is not stratum:
            continue
        key_columns |= {"grouping": cells.grouping.name, "allocation": "enrol"}
        counts_and_reasons = list(zip(cells.counts, cells.suppression_reasons, strict=True))
        group_values = [
            suppressed_values(all_values, reason)
            if reason
            else compat_metrics(counts, all_counts, options)
            for counts, reason in counts_and_reasons
        ]
        known_counts = [None if reason else counts for counts, reason in counts_and_reasons]
        groups, n_speakers = cells.grouping.groups, cells.n_speakers[:-1]
        _add_cells(
            tables["groups"], key_columns, groups, group_values, known_counts, n_speakers, {}
        )
        values_by_group = dict(zip(groups, group_values, strict=True))
        references = {
            name: values_by_group[name] for name in options.reference if name in values_by_group
        }
        add_compat_ratios(
            tables["bias"], key_columns, groups, group_values, {"all": all_values, **references}
        )


def _none_if_suppressed(reasons: Sequence[str], numbers: NDArray[np.int64]) -> list[int | None]:
    """Return the numbers of pairs of groups of which neither is suppressed."""
    pairs = zip(reasons, numbers.tolist(), strict=True)
    return [None if reason else number for reason, number in pairs]
