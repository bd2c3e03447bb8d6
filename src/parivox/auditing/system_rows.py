"""The rows of one system on one list, in every table but ``data``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.bias import add_bias_rows, each_bias_measure
from parivox.auditing.bt4vt_rows import add_compat_ratios, compat_metrics
from parivox.auditing.confounding import add_standardised_rows
from parivox.auditing.curves import (
    add_band_rows,
    band_columns,
    bin_columns,
    det_columns,
    point_index_by_threshold,
)
from parivox.auditing.estimates import key_columns
from parivox.auditing.failures import add_cause_rows
from parivox.auditing.limits import add_error_burden_rows, add_limit_rows
from parivox.auditing.meta import add_meta_rows, add_sweep_rows
from parivox.auditing.operating_points import DEPLOYED, NO_TRIALS, SAME_TRIALS, locate_points
from parivox.auditing.options import OFFENDERS
from parivox.auditing.pairing import Pairing, add_pairing_rows
from parivox.auditing.shrinkage import add_interaction_rows
from parivox.auditing.speaker_errors import count_matrices
from parivox.auditing.system import suppressed_values
from parivox.auditing.verdicts import add_offender_rows, add_trend_rows, add_verdict_rows
from parivox.core.measures import RATES
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Stratum
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.schema import BaseValue, Key, TableBuilder
    from parivox.auditing.system import CellMetrics, System
    from parivox.core.counts import Counts


def add_rows(
    system: System,
    parts: Iterable[tuple[CellMetrics, JudgedGroups | None]],
    rows: Mapping[str, TableBuilder],
) -> None:
    """Add this system's rows to every table but ``data``.

    `parts` are the cells of each of its groupings and levels, with which of the groups of each are
    judged in all systems and lists.
    """
    options, sample, points = system.design.options, system.speaker_sample, system.points
    for level in system.counts.strata:
        _operating_points(rows["operating_points"], system, level)
    pairing = Pairing.from_system(system)
    n_cells = sum(len(cells.counts) + 1 for cells in system.counts.group_counts) + len(
        system.counts.strata
    )
    for one, judged_here in _told(parts, n_cells):
        where = {**system.name_columns, **one.key_columns}
        _group_rows(rows["groups"], system, one, where)
        _curves(rows, system, one, where)
        add_pairing_rows(rows["pairing"], where, one, pairing)
        if one.group_counts is None or one.area_estimates is None:
            continue
        grouping, names, of = one.group_counts.grouping, one.cell_names, one.uncertainty
        blocks = each_bias_measure(
            one.error_estimates, one.draws, one.cost_estimates, names[:-1], points, options
        )
        ratios = add_bias_rows(rows["bias"], where, grouping, blocks, options, of)
        p_all = add_meta_rows(
            *(
                rows["meta"],
                where,
                names[:-1],
                one.error_estimates,
                one.area_estimates,
                one.draws,
                options,
            ),
            uncertainty=of,
            judged=judged_here,
        )
        if sample is not None and of is not None:
            rates = one.error_estimates.with_metrics(*RATES)
            add_interaction_rows(rows["meta"], where, grouping, rates, of.equal_rates_draws)
            if not of.has_speaker_blocks:
                # of trials between bands too
                whole = sample.strata_uncertainty[system.counts.strata.index(one.stratum)]
                add_trend_rows(rows["bias"], where, grouping, points.located, whole, options)
            add_verdict_rows(
                *(rows["verdicts"], where, names[:-1], points.located, ratios, p_all, of, options),
                primary_point=system.primary,
            )
            at = (rows["limits"], where, names, points.located)
            add_limit_rows(*at, ratios, one.estimates, of, options)
            add_error_burden_rows(*at, of, options)
        if options.sweep:
            add_sweep_rows(rows["sweep"], where, one.group_counts, system.sweep_points, options)
        _make_room(one, rows)
    add_cause_rows(rows["failures"], system.name_columns, system.counts.attempts, system.design)
    for layout, tallied in () if sample is None else sample.standardised:
        assert layout.grouping is not None
        assert layout.within is not None
        of_layout = {"grouping": layout.grouping.name, "allocation": layout.allocation}
        where = {**system.name_columns, **of_layout, "within": ""}
        strata = layout.within
        add_standardised_rows(
            rows["groups"], where, layout.grouping, strata, tallied, points.located, options
        )
    _matrices(rows["matrix"], system)
    if options.compat:
        _compat(rows, system)


def _make_room(one: CellMetrics, rows: Mapping[str, TableBuilder]) -> None:
    """Put rows away, and forget the curves of cells that nobody looks at again."""
    for table in rows.values():
        table.pack()
    for counts in one.cell_counts:
        if counts is not None and counts is not one.stratum.counts:
            counts.forget_curve()


def _told(
    parts: Iterable[tuple[CellMetrics, JudgedGroups | None]], n_cells: int
) -> Iterator[tuple[CellMetrics, JudgedGroups | None]]:
    """The same, and a stage that tells for how many of the cells there are rows."""
    with stage("measures and verdicts", n_cells, "groups") as at:
        for one, judged in parts:
            yield one, judged
            at.add(len(one.cell_names))


def _group_rows(
    rows: TableBuilder, system: System, one: CellMetrics, where: Mapping[str, str]
) -> None:
    """Rows of every cell; without counts, nothing is known of it but why."""
    speakers = [one.stratum.n_speakers] if one.group_counts is None else one.group_counts.n_speakers
    if one.uncertainty is not None:
        columns = one.uncertainty.columns(one.estimates)
    else:
        note = f"no interval: {system.no_intervals_reason}" if system.no_intervals_reason else ""
        columns = {"note": np.where(np.isnan(one.estimates.values), "", note)}
    more = {name: of.T.ravel() for name, of in columns.items()}
    _add_cells(rows, where, one.cell_names, one.base_values, one.cell_counts, speakers, more)


def _add_cells(
    rows: TableBuilder,
    where: Mapping[str, str],
    names: Sequence[str],
    bases: Sequence[Mapping[Key, BaseValue]],
    counts: Sequence[Counts | None],
    speakers: Sequence[int | None],
    more: Mapping[str, Any],
) -> None:
    """The base metrics of some cells, one after the other."""
    keys = list(bases[0])
    found = [of[key] for of in bases for key in keys]
    known = [of is not None for of in counts for _ in keys]
    of_cells = {
        "group": names,
        "speakers": speakers,
        "target_trials": [None if of is None else int(of.n_target) for of in counts],
        "nontarget_trials": [None if of is None else int(of.n_nontarget) for of in counts],
    }
    rows.add(
        **where,
        **{name: [of for of in cells for _ in keys] for name, cells in of_cells.items()},
        **{name: of * len(names) for name, of in key_columns(keys).items()},
        value=[base.value for base in found],
        errors=[base.errors for base in found],
        trials=[of.trials if is_known else None for of, is_known in zip(found, known, strict=True)],
        threshold=[base.threshold for base in found],
        reason=[base.reason for base in found],
        **more,
    )


def _curves(
    rows: Mapping[str, TableBuilder], system: System, one: CellMetrics, where: Mapping[str, str]
) -> None:
    """Curves and, but within levels, trials and intervals along the threshold; offenders."""
    key = {name: of for name, of in where.items() if name != "within"}
    for group, counts in zip(one.cell_names, one.cell_counts, strict=True):
        if counts is None:
            continue
        if not system.no_curve_reason:
            rows["det"].add(**where, group=group, **det_columns(counts))
        if not where["within"] and system.shared_thresholds.size:
            rows["bins"].add(**key, group=group, **bin_columns(counts, system.shared_thresholds))
    sample, uncertainty, found = system.speaker_sample, one.uncertainty, system.points.located
    if sample is None or uncertainty is None or where["within"]:
        return
    if system.shared_thresholds.size:
        parts = [band_columns(uncertainty.rate_intervals, point_index_by_threshold(found))]
        between = sample.bands_between_points.get((where["grouping"], where["allocation"]))
        parts += [] if between is None else [between]
        add_band_rows(rows["bands"], key, one.cell_names, parts)
    ids = system.speaker_ids
    if system.design.options.speaker_ids == OFFENDERS and ids is not None:
        for names, of in (
            (one.cell_names[:-1], uncertainty.group_errors),
            (one.cell_names[-1:], uncertainty.pooled_errors),
        ):
            if names:
                add_offender_rows(rows["offenders"], key, names, of, found, ids)


def _operating_points(rows: TableBuilder, system: System, level: Stratum) -> None:
    """The thresholds, and what each gives on all trials or within a level."""
    found = system.points.located
    source = SAME_TRIALS if system.development is None else "development trials"
    if level.name:
        found = [f if f.reason else _again(system, f, level) for f in found]
    rows.add(
        **system.name_columns,
        operating_point=[f.point.text for f in found],
        definition=[f.point.definition for f in found],
        threshold=[f.threshold for f in found],
        source=[
            "given" if f.point.rule in {"threshold", "bayes", DEPLOYED} else source for f in found
        ],
        fpr=[f.fpr for f in found],
        fnr=[f.fnr for f in found],
        cdet_norm=[f.cdet_norm for f in found],
        reason=[f.reason for f in found],
        within=level.name,
    )


def _again(system: System, found: LocatedPoint, level: Stratum) -> LocatedPoint:
    """A point at its threshold on the trials of one level."""
    point = found.point
    if point.rule != DEPLOYED:
        point = replace(point, rule="threshold", rule_value=found.threshold)
    (here,) = locate_points(
        [point], level.counts, system.design.options.costs[0], deployed=level.outcomes
    )
    return replace(here, point=found.point)


def _matrices(rows: TableBuilder, system: System) -> None:
    """False accepts between groups."""
    design = system.design
    matrices = None if system.speaker_sample is None else system.speaker_sample.matrices
    if matrices is None:
        found, outer = system.points.located, design.within
        matrices = count_matrices(system.trials, design.groupings, found, outer)
    missing = {
        (cells.grouping.name, cells.stratum.name): cells.suppression_reasons
        for cells in system.counts.group_counts
    }
    for grouping, level, (errors, totals) in matrices:
        names = np.array(grouping.groups, dtype=object)
        own = missing[grouping.name, level]
        why = [one or other for one in own for other in own]
        for f, counted, total in zip(system.points.located, errors, totals, strict=True):
            n = total.reshape(-1)
            lost = bool(f.reason)
            reason = [
                mine or ("" if of else NO_TRIALS["fpr"]) or f.reason
                for mine, of in zip(why, n.tolist(), strict=True)
            ]
            value = np.where((n == 0) | lost, np.nan, counted.reshape(-1) / np.maximum(n, 1))
            rows.add(
                **system.name_columns,
                grouping=grouping.name,
                operating_point=f.point.text,
                enrol_group=np.repeat(names, names.size),
                test_group=np.tile(names, names.size),
                errors=[None] * n.size if lost else _unless(why, counted.reshape(-1)),
                trials=_unless(why, n),
                value=value,
                reason=reason,
                within=level,
            )
            rows.pack()


def _compat(rows: Mapping[str, TableBuilder], system: System) -> None:
    """Add another tool's numbers, under that tool's allocation."""
    options, level = system.design.options, system.counts.strata[0]
    everything = level.counts
    whole = compat_metrics(everything, everything, options)
    where = {**system.name_columns, "within": level.name, "grouping": "all", "allocation": ""}
    _add_cells(rows["groups"], where, ["all"], [whole], [everything], [level.n_speakers], {})
    for cells in system.counts.group_counts:
        if cells.allocation != "enrol" or cells.stratum is not level:
            continue
        where |= {"grouping": cells.grouping.name, "allocation": "enrol"}
        missing = list(zip(cells.counts, cells.suppression_reasons, strict=True))
        own = [
            suppressed_values(whole, why) if why else compat_metrics(counts, everything, options)
            for counts, why in missing
        ]
        known = [None if why else counts for counts, why in missing]
        groups, speakers = cells.grouping.groups, cells.n_speakers[:-1]
        _add_cells(rows["groups"], where, groups, own, known, speakers, {})
        named = dict(zip(groups, own, strict=True))
        against = {name: named[name] for name in options.reference if name in named}
        add_compat_ratios(rows["bias"], where, groups, own, {"all": whole, **against})


def _unless(why: Sequence[str], numbers: NDArray[np.int64]) -> list[int | None]:
    """Numbers where there is no reason against them."""
    pairs = zip(why, numbers.tolist(), strict=True)
    return [None if mine else number for mine, number in pairs]
