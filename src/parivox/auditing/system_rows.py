"""The rows of one system on one list, in every table but ``data``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.bias import bias_blocks, bias_rows, shared_values
from parivox.auditing.compat import compat_metrics, compat_ratios
from parivox.auditing.curves import bin_rows, det_rows
from parivox.auditing.estimates import Estimates
from parivox.auditing.meta import meta_rows, sweep_rows
from parivox.auditing.operating_points import (
    DEPLOYED,
    find_all,
)
from parivox.auditing.options import OFFENDERS
from parivox.auditing.speaker_errors import count_matrices
from parivox.auditing.system import measured_cells, withheld

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import Ratios
    from parivox.auditing.cell_counts import Cells, Level
    from parivox.auditing.comparison_sides import Compared, Part
    from parivox.auditing.operating_points import Found
    from parivox.auditing.rows import Base, Key, Rows
    from parivox.auditing.sample import Sample
    from parivox.auditing.system import Measured, System
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import Counts


def add_rows(system: System, rows: Mapping[str, Rows], *, compared: Compared | None = None) -> None:
    """Add this system's rows to every table but ``data``.

    Parameters
    ----------
    system
        See :func:`measure_system`.
    rows
        By table.
    compared
        Is given what is compared with other systems and lists.
    """
    options, sample = system.design.options, system.sample
    for level in system.tally.levels:
        _operating_points(rows["operating_points"], system, level)
    for one in measured_cells(system):
        where = _where(system, one)
        _group_rows(rows, system, one, where)
        _curves(rows, system, one, where)
        if compared is not None:
            compared.parts.append(part_of(system, one))
        if one.cells is None:
            continue
        cells = one.cells
        groups, draws, uncertainty = one.names[:-1], one.draws, one.uncertainty
        blocks = bias_blocks(one.errors, draws, one.cheapest, groups, system.points, options)
        ratios = bias_rows(rows["bias"], where, cells.grouping, blocks, options, uncertainty)
        assert one.area is not None
        meta_rows(rows["meta"], where, groups, one.errors, one.area, draws, options, uncertainty)
        if sample is not None and uncertainty is not None:
            whole = sample.levels[system.tally.levels.index(cells.level)]
            _judged(rows, system, cells, where, uncertainty, whole, ratios)
        if options.sweep:
            sweep_rows(rows["sweep"], where, cells, system.grid, options)
    if sample is not None:
        _standardised(rows["groups"], system, sample)
    _matrices(rows["matrix"], system)
    if options.compat:
        _compat(rows, system)


def part_of(system: System, one: Measured) -> Part:
    """What is compared of cells that were measured."""
    from parivox.auditing.comparison_sides import Part  # noqa: PLC0415 - on request

    where = _where(system, one)
    errors, cells = one.errors, one.cells
    for both, _ in one.cheapest:
        if both.keys[0] not in errors.keys:
            errors = errors.and_(both.select([0]))
    shared = [] if cells is None else shared_values(cells.grouping)
    return Part(
        where={name: where[name] for name in ("grouping", "allocation", "within")},
        cells=one.names,
        data=one.data,
        draws=None if one.draws is None else one.draws.last(len(one.names)),
        errors=errors,
        cheapest=one.cheapest,
        area=one.area,
        shared={name: groups for of in shared for name, groups in of.items()},
        uncertainty=one.uncertainty,
        why=system.why_none if one.uncertainty is None else one.uncertainty.why,
    )


def _where(system: System, one: Measured) -> dict[str, str]:
    where = {"grouping": "all", "allocation": "", "within": one.level.name}
    if one.cells is not None:
        where |= {"grouping": one.cells.grouping.name, "allocation": one.cells.allocation}
    return {**system.name, **where}


def _counts(one: Measured) -> list[Counts | None]:
    """Counts of each cell, None for those of which nothing is known."""
    if one.cells is None:
        return [one.level.counts]
    pairs = zip(one.cells.groups, one.cells.missing, strict=True)
    return [*(None if why else counts for counts, why in pairs), one.cells.pooled]


def _group_rows(
    rows: Mapping[str, Rows], system: System, one: Measured, where: Mapping[str, str]
) -> None:
    """Rows of every cell; without counts, nothing is known of it but why."""
    speakers = [one.level.speakers] if one.cells is None else one.cells.speakers
    if one.uncertainty is not None:
        from parivox.auditing.uncertainty import (  # noqa: PLC0415 - not for --no-intervals
            interval_columns,
        )

        # the uncertainty of all trials is that of one group, and of it as the pooled row
        data = one.data if len(one.names) > 1 else Estimates.of(one.bases * 2)
        columns = interval_columns(one.uncertainty, data)[: len(one.names)]
    else:
        note = f"no interval: {system.why_none}" if system.why_none else ""
        columns = [
            {"note": [note if base.value == base.value else "" for base in of.values()]}
            for of in one.bases
        ]
    for group, bases, counts, n, more in zip(
        one.names, one.bases, _counts(one), speakers, columns, strict=True
    ):
        _add_cell(rows["groups"], {**where, "group": group}, bases, counts, n, more)


def _add_cell(
    rows: Rows,
    where: Mapping[str, str],
    bases: Mapping[Key, Base],
    counts: Counts | None,
    speakers: int | None,
    more: Mapping[str, Any],
) -> None:
    found = list(bases.values())
    rows.add(
        **where,
        metric=[metric for metric, _, _ in bases],
        definition=[definition for _, definition, _ in bases],
        operating_point=[point for _, _, point in bases],
        value=[base.value for base in found],
        errors=[base.errors for base in found],
        trials=[None if counts is None else base.trials for base in found],
        target_trials=None if counts is None else int(counts.n_target),
        nontarget_trials=None if counts is None else int(counts.n_nontarget),
        speakers=speakers,
        threshold=[base.threshold for base in found],
        reason=[base.reason for base in found],
        **more,
    )


def _curves(
    rows: Mapping[str, Rows], system: System, one: Measured, where: Mapping[str, str]
) -> None:
    """Curves and, but within levels, trials and intervals along the threshold; offenders."""
    key = {name: of for name, of in where.items() if name != "within"}
    for group, counts in zip(one.names, _counts(one), strict=True):
        if counts is None:
            continue
        if not system.no_curve:
            rows["det"].add(**where, group=group, **det_rows(counts))
        if not where["within"] and system.shared.size:
            rows["bins"].add(**key, group=group, **bin_rows(counts, system.shared))
    if system.sample is None or one.uncertainty is None or where["within"]:
        return
    if system.shared.size:
        system.sample.add_bands(rows["bands"], key, one.names, one.uncertainty)
    if system.design.options.speaker_ids == OFFENDERS:
        system.sample.add_offenders(rows["offenders"], key, one.names, one.uncertainty)


def _judged(
    rows: Mapping[str, Rows],
    system: System,
    cells: Cells,
    where: Mapping[str, Any],
    uncertainty: Uncertainty,
    whole: Uncertainty,
    ratios: Mapping[tuple[str, str], Ratios],
) -> None:
    """Trends, verdicts and limits of one grouping's cells."""
    from parivox.auditing.limits import limit_rows  # noqa: PLC0415 - not for --no-intervals
    from parivox.auditing.trends import trend_rows  # noqa: PLC0415 - likewise
    from parivox.auditing.verdicts import verdict_rows  # noqa: PLC0415 - likewise

    found, options = system.points.found, system.design.options
    groups = cells.grouping.groups
    if not uncertainty.in_blocks:  # of trials between bands too
        trend_rows(rows["bias"], where, cells.grouping, found, whole, options)
    verdict_rows(rows["verdicts"], where, groups, found, ratios, uncertainty, options)
    limit_rows(rows["limits"], where, (*groups, "pooled"), found, uncertainty, options)


def _standardised(rows: Rows, system: System, sample: Sample) -> None:
    """Standardised rates of every grouping."""
    from parivox.auditing.standardising import standardised_rows  # noqa: PLC0415 - on request

    options, found = system.design.options, system.points.found
    for layout, involved in sample.strata:
        assert layout.grouping is not None
        assert layout.within is not None
        where = {
            **system.name,
            "grouping": layout.grouping.name,
            "allocation": layout.allocation,
            "within": "",
        }
        standardised_rows(rows, where, layout.grouping, layout.within, involved, found, options)


def _operating_points(rows: Rows, system: System, level: Level) -> None:
    """The thresholds, and what each gives on all trials or within a level."""
    found = system.points.found
    source = "these trials" if system.development is None else "development trials"
    if level.name:
        found = [f if f.reason else _again(system, f, level) for f in found]
    rows.add(
        **system.name,
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


def _again(system: System, found: Found, level: Level) -> Found:
    """A point at its threshold on the trials of one level."""
    point = found.point
    if point.rule != DEPLOYED:
        point = replace(point, rule="threshold", level=found.threshold)
    (here,) = find_all(
        [point], level.counts, system.design.options.costs[0], deployed=level.outcomes
    )
    return replace(here, point=found.point)


def _matrices(rows: Rows, system: System) -> None:
    """False accepts between groups."""
    design = system.design
    matrices = count_matrices(system.trials, design.groupings, system.points.found, design.within)
    missing = {
        (cells.grouping.name, cells.level.name): cells.missing for cells in system.tally.cells
    }
    for grouping, level, (errors, totals) in matrices:
        names = np.array(grouping.groups, dtype=object)
        own = missing[grouping.name, level]
        why = [one or other for one in own for other in own]
        for f, counted, total in zip(system.points.found, errors, totals, strict=True):
            n = total.reshape(-1)
            lost = bool(f.reason)
            reason = [
                mine or ("" if of else "no nontarget trials") or f.reason
                for mine, of in zip(why, n.tolist(), strict=True)
            ]
            value = np.where((n == 0) | lost, np.nan, counted.reshape(-1) / np.maximum(n, 1))
            rows.add(
                **system.name,
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


def _compat(rows: Mapping[str, Rows], system: System) -> None:
    """Add another tool's numbers, under that tool's allocation."""
    options, tally = system.design.options, system.tally
    everything = tally.everything
    whole = compat_metrics(everything, everything, options)
    level = tally.levels[0]
    where = {**system.name, "within": level.name}
    of_all = {**where, "grouping": "all", "group": "all", "allocation": ""}
    _add_cell(rows["groups"], of_all, whole, everything, level.speakers, {})
    for cells in tally.cells:
        if cells.allocation != "enrol" or cells.level is not level:
            continue
        grouping = cells.grouping.name
        missing = zip(cells.groups, cells.missing, strict=True)
        known = [None if why else counts for counts, why in missing]
        own = [
            withheld(whole, why) if why else compat_metrics(counts, everything, options)
            for counts, why in zip(cells.groups, cells.missing, strict=True)
        ]
        for group, bases, counts, speakers in zip(
            cells.grouping.groups, own, known, cells.speakers[:-1], strict=True
        ):
            of_group = {"grouping": grouping, "group": group, "allocation": "enrol"}
            _add_cell(rows["groups"], {**where, **of_group}, bases, counts, speakers, {})
        of_grouping = {"grouping": grouping, "allocation": "enrol"}
        compat_ratios(rows["bias"], {**where, **of_grouping}, cells, own, whole)


def _unless(why: Sequence[str], numbers: NDArray[np.int64]) -> list[int | None]:
    """Numbers where there is no reason against them."""
    pairs = zip(why, numbers.tolist(), strict=True)
    return [None if mine else number for mine, number in pairs]
