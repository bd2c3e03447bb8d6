"""One system on one list, stage by stage: from its encoded trials to every row of every table.

1. :func:`measure_system`: count the trials, find the common thresholds, tally errors by speaker,
   draw replicates, make intervals.
2. :func:`measured_cells`: base metrics of the data and of each draw, grouping by grouping.
3. :func:`add_rows`: bias, meta-measures, verdicts and all else that tables hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.bias import at_cheapest, bias_blocks, bias_rows, shared_values
from parivox.auditing.cell_counts import count_cells, count_matrices
from parivox.auditing.compat import compat_metrics, compat_ratios
from parivox.auditing.curves import bin_rows, det_rows, nodes, shared_thresholds
from parivox.auditing.estimates import Estimates, estimate, locations, shifts
from parivox.auditing.meta import at_grid, meta_rows, sweep_rows
from parivox.auditing.operating_points import (
    DEPLOYED,
    NO_SCORES,
    OperatingPoint,
    Points,
    default_points,
    find_all,
)
from parivox.auditing.options import OFFENDERS
from parivox.auditing.rows import Base
from parivox.core.costs import bayes_threshold
from parivox.core.separation import auc
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import Ratios
    from parivox.auditing.cell_counts import CellCounts, Cells, Level
    from parivox.auditing.comparison import Compared, Part
    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.draws import Draws
    from parivox.auditing.estimates import Metrics
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.outcomes import Outcomes
    from parivox.auditing.rows import Key, Rows
    from parivox.auditing.sample import Sample
    from parivox.core.counts import Counts, FloatArray
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

__all__ = ["Design", "System", "add_rows", "check_polarity", "measure_system", "measured_cells"]

CHANCE = 0.5
MOST_TRIALS = 100_000_000
"""Of more trials, errors by speaker are not tallied: it would not fit in memory."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What every system is audited by.

    Attributes
    ----------
    groupings
        Groups of speakers.
    options
        What to measure.
    metrics
        The user's own metrics by name.
    within
        Groupings within whose levels all is measured again, at the same thresholds.
    strata
        What rates are standardised over.
    draws
        The speakers drawn for replicates; None for no replicates.
    """

    groupings: Sequence[Grouping]
    options: Options
    metrics: Metrics
    within: Sequence[Grouping] = ()
    strata: Sequence[Grouping] = ()
    draws: Draws | None = None


@dataclass(frozen=True, eq=False)
class System:
    """One system on one list: its counts, common thresholds, and who its speakers are.

    Attributes
    ----------
    trials
        The encoded trials, or counts of them.
    design
        What it is audited by.
    no_curve : str
        Why error rates are known at some thresholds only; empty if they are at all.
    development
        The trials that thresholds were found on instead of these; None if there are none.
    tally : CellCounts
        All counts.
    points : Points
        The operating points with their thresholds.
    grid : list of Found
        Operating points of the sweep.
    shared : ndarray of shape (threshold,)
        Thresholds that every cell is counted at, rising; none without scores.
    sample : Sample or None
        Who the speakers are; None where that is not known, or was not asked for.
    why_none : str
        Why nothing is said of uncertainty although it was asked for.
    """

    trials: TrialSet | TrialCounts
    design: Design
    no_curve: str
    development: TrialSet | TrialCounts | None
    tally: CellCounts
    points: Points
    grid: list[Found]
    shared: FloatArray
    sample: Sample | None
    why_none: str

    @property
    def name(self) -> dict[str, str]:
        """The columns that say which it is."""
        return {"system": self.trials.system, "list": self.trials.list}


# --- 1. counts, thresholds, speakers --------------------------------------------------------------


def measure_system(
    trials: TrialSet | TrialCounts,
    design: Design,
    development: TrialSet | TrialCounts | None = None,
    orientation: str | None = None,
) -> System:
    """Count the trials of one system, find its thresholds, and tally who its speakers are.

    Parameters
    ----------
    trials, design
        See :class:`System`.
    development
        Trials to find the operating points on, instead of these.
    orientation
        What the user declared about the scores' direction; None checks it.
    """
    options, no_curve = design.options, _no_curve(trials)
    asked = options.points()
    _check_deployed(trials, asked)
    fixed = [point.level for point in asked or [] if point.rule == "threshold"]
    on: Counts | None = None
    if development is not None:
        _check_curve(development)
        on = count_cells(development, [], []).everything
        check_polarity(development, on, orientation)
        fixed += [point.threshold_on(on)[0] for point in asked or default_points(on)]
    tally = count_cells(
        trials, design.groupings, options.allocate, within=design.within, thresholds=fixed
    )
    check_polarity(trials, tally.everything, orientation)
    if asked is None:
        asked = _points_by_default(trials, tally.everything if on is None else on, no_curve, on)

    def found(points: Sequence[OperatingPoint]) -> list[Found]:
        """Points where the audit's own are found: on these or the development trials."""
        at = find_all(
            points,
            tally.everything,
            options.costs[0],
            on=on,
            no_curve=no_curve,
            deployed=tally.levels[0].outcomes,
        )
        if trials.is_counted:
            trials.check(at)
        return at

    grid = found(options.sweep_points())
    is_area = options.area_points() == options.sweep_points()
    points = Points(
        found(asked),
        found(_cheapest(options)),
        grid if is_area else found(options.area_points()),
        on is not None or options.fixed_threshold,
    )
    shared: FloatArray = np.empty(0)
    if trials.is_scored:
        audited = [one.threshold for one in points.found if _is_counted_at(trials, one)]
        shared = shared_thresholds(tally.everything, audited)
    why_none = _why_none(trials, options)
    sample = None
    if not trials.is_counted and options.intervals and not why_none:
        from parivox.auditing.sample import sample_speakers  # noqa: PLC0415 - what resamples

        sample = sample_speakers(trials, design, tally, points, nodes(shared, trials.n_trials))
    return System(
        *(trials, design, no_curve, development, tally, points, grid, shared, sample, why_none)
    )


def _points_by_default(
    trials: TrialSet | TrialCounts, source: Counts, no_curve: str, on: Counts | None
) -> list[OperatingPoint]:
    asked = [OperatingPoint(DEPLOYED, DEPLOYED)] if trials.has_decisions else []
    if not no_curve or on is not None:
        asked += default_points(source)
    elif trials.is_counted:
        asked += [
            OperatingPoint(f"threshold={level!r}", "threshold", level)
            for level in trials.bins.thresholds
        ]
    return asked


def _cheapest(options: Options) -> list[OperatingPoint]:
    """The point of the smallest cost, for each cost model with one prior."""
    return [
        OperatingPoint("min-cdet" if i == 0 else f"min-cdet:{cost.name}", "min-cdet", cost=cost)
        for i, cost in enumerate(options.costs)
        if len(cost.p_target) == 1
    ]


def _is_counted_at(trials: TrialSet | TrialCounts, found: Found) -> bool:
    """Whether counts at a point's threshold are exact."""
    if np.isnan(found.threshold) or found.point.rule != DEPLOYED:
        return not np.isnan(found.threshold)
    if trials.is_counted:
        return trials.bins.has(found.threshold)
    return trials.is_exact


def _why_none(trials: TrialSet | TrialCounts, options: Options) -> str:
    if not options.intervals:
        return ""
    if trials.is_counted:
        return "counts do not tell who the speakers are"
    if trials.n_trials > MOST_TRIALS:
        return f"more than {MOST_TRIALS:,} trials"
    return ""


# --- 2. base metrics ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Measured:
    """Base metrics of the cells of one grouping, or of all trials, within one level.

    Attributes
    ----------
    level : Level
        The trials that they are of.
    cells : Cells or None
        Their counts; None of all trials, which are the level's.
    names : tuple of str
        The groups, then ``pooled``; of all trials, ``all`` alone.
    bases : list of dict
        Base metrics of each cell with their errors and thresholds.
    data : Estimates
        The same as arrays ``[key, cell]``.
    uncertainty : Uncertainty or None
    """

    level: Level
    cells: Cells | None
    names: tuple[str, ...]
    bases: list[dict[Key, Base]]
    data: Estimates
    uncertainty: Uncertainty | None

    @property
    def draws(self) -> Estimates | None:
        """The same of each draw, ``[draw, key, cell]``."""
        return None if self.uncertainty is None else self.uncertainty.draws

    @property
    def errors(self) -> Estimates:
        """Those that are errors, by which groups are compared."""
        return self.data.errors_only()


def measured_cells(system: System) -> Iterator[Measured]:
    """Base metrics of all trials and each level, then of the cells of every grouping."""
    tally, no_curve, sample = system.tally, system.no_curve, system.sample
    # groupings often pool the very same trials, or all of them: those are measured once
    whole: dict[int, dict[Key, Base]] = {}
    located: dict[int, Mapping[tuple[str, str], FloatArray]] = {}
    for i, level in enumerate(tally.levels):
        bases = whole[id(level.counts)] = _estimated(system, level.counts, level.outcomes)
        uncertainty = None if sample is None else sample.levels[i]
        yield Measured(level, None, ("all",), [bases], Estimates.of([bases]), uncertainty)
    for i, cells in enumerate(tally.cells):
        same = id(cells.pooled)
        # of failed trials, another part may be in no group
        if same not in whole or cells.outcomes[-1].failed is not None:
            whole[same] = _estimated(system, cells.pooled, cells.outcomes[-1])
        if same not in located:
            located[same] = {} if no_curve else locations(cells.pooled)
        reference = located[same]
        pooled = {**whole[same], **shifts(cells.pooled, reference, no_curve=no_curve)}
        own = [
            _withheld(pooled, why)
            if why
            else {
                **_estimated(system, counts, outcomes),
                **shifts(counts, reference, no_curve=no_curve),
            }
            for counts, outcomes, why in zip(
                cells.groups, cells.outcomes[:-1], cells.missing, strict=True
            )
        ]
        bases_of = [*own, pooled]
        uncertainty = None if sample is None else sample.cells[i]
        names = (*cells.grouping.groups, "pooled")
        yield Measured(cells.level, cells, names, bases_of, Estimates.of(bases_of), uncertainty)


def _estimated(system: System, counts: Counts, outcomes: Outcomes) -> dict[Key, Base]:
    """Base metrics of one cell."""
    trials, options = system.trials, system.design.options
    found = estimate(
        counts, system.points, options, system.design.metrics, outcomes, no_curve=system.no_curve
    )
    if trials.is_counted and options.llr:
        for cost in options.costs:
            levels = [bayes_threshold(part) for part in cost.parts]
            key = "act_cdet_norm", cost.name, ""
            if not found[key].reason and not all(map(trials.bins.has, levels)):
                reason = f"its threshold is no edge of {trials.bins.told()}"
                found[key] = Base(np.nan, None, found[key].trials, np.nan, reason)
    return found


def _withheld(pooled: Mapping[Key, Base], why: str) -> dict[Key, Base]:
    """Every base metric of a group of which nothing is known."""
    return dict.fromkeys(pooled, Base(np.nan, None, 0, np.nan, why))


# --- 3. rows --------------------------------------------------------------------------------------


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
        blocks = bias_blocks(
            one.errors, draws, _at_cheapest(system, cells, one), groups, system.points, options
        )
        ratios = bias_rows(rows["bias"], where, cells.grouping, blocks, options, uncertainty)
        area = at_grid(cells, system.points.area)
        meta_rows(rows["meta"], where, groups, one.errors, area, draws, options, uncertainty)
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
    from parivox.auditing.comparison import Part  # noqa: PLC0415 - on request

    where = _where(system, one)
    errors, cells = one.errors, one.cells
    cheapest = [] if cells is None else _at_cheapest(system, cells, one)
    for both, _ in cheapest:
        if both.keys[0] not in errors.keys:
            errors = errors.and_(both.select([0]))
    shared = [] if cells is None else shared_values(cells.grouping)
    return Part(
        where={name: where[name] for name in ("grouping", "allocation", "within")},
        cells=one.names,
        data=one.data,
        draws=None if one.draws is None else one.draws.last(len(one.names)),
        errors=errors,
        cheapest=cheapest,
        area=None if cells is None else at_grid(cells, system.points.area),
        shared={name: groups for of in shared for name, groups in of.items()},
        uncertainty=one.uncertainty,
        why=system.why_none if one.uncertainty is None else one.uncertainty.why,
    )


def _at_cheapest(
    system: System, cells: Cells, one: Measured
) -> list[tuple[Estimates, FloatArray | None]]:
    """Each cost at its own smallest cost, with threshold bias cross-fitted over speakers."""
    made: list[tuple[Estimates, FloatArray | None]] = []
    for i, found in enumerate(system.points.cheapest):
        crossed = None if one.uncertainty is None else one.uncertainty.crossed[i]
        made.append((at_cheapest(one.data, cells, found), crossed))
    return made


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
        from parivox.auditing.intervals import interval_columns  # noqa: PLC0415 - likewise

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
    rules = [f.point.rule for f in system.points.found]
    matrices = count_matrices(
        system.trials,
        system.design.groupings,
        np.array([f.threshold for f in system.points.found]),
        deployed=rules.index(DEPLOYED) if DEPLOYED in rules else None,
        within=system.design.within,
    )
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
            _withheld(whole, why) if why else compat_metrics(counts, everything, options)
            for counts, why in zip(cells.groups, cells.missing, strict=True)
        ]
        for group, bases, counts, speakers in zip(
            cells.grouping.groups, own, known, cells.speakers[:-1], strict=True
        ):
            of_group = {"grouping": grouping, "group": group, "allocation": "enrol"}
            _add_cell(rows["groups"], {**where, **of_group}, bases, counts, speakers, {})
        of_grouping = {"grouping": grouping, "allocation": "enrol"}
        compat_ratios(rows["bias"], {**where, **of_grouping}, cells, own, whole)


def _no_curve(trials: TrialSet | TrialCounts) -> str:
    """Why error rates are known at some thresholds only; empty if they are at all."""
    if not trials.is_scored:
        return NO_SCORES
    return trials.bins.no_curve if trials.is_counted else ""


def _unless(why: Sequence[str], numbers: NDArray[np.int64]) -> list[int | None]:
    """Numbers where there is no reason against them."""
    pairs = zip(why, numbers.tolist(), strict=True)
    return [None if mine else number for mine, number in pairs]


def _check_curve(development: TrialSet | TrialCounts) -> None:
    """Refuse trials without scores to find thresholds on."""
    why = _no_curve(development)
    if why:
        msg = (
            f"--threshold-from: {development.provenance[0]['name']} holds {why}, on which no "
            "threshold can be found; give scores"
        )
        raise ConfigError(msg)


def _check_deployed(trials: TrialSet | TrialCounts, asked: Sequence[OperatingPoint] | None) -> None:
    """Refuse the point ``deployed`` where nothing was decided."""
    if any(point.rule == DEPLOYED for point in asked or ()) and not trials.has_decisions:
        msg = (
            f"--operating-point {DEPLOYED}: {_name(trials)} has neither a column "
            "'decision' nor a column 'threshold'; add one, or give threshold=X"
        )
        raise ConfigError(msg)


def _name(trials: TrialSet | TrialCounts) -> str:
    return trials.name if trials.is_counted else str(trials.provenance[0]["name"])


def check_polarity(
    trials: TrialSet | TrialCounts, everything: Counts, orientation: str | None
) -> None:
    """Refuse scores that are higher for different speakers than for the same one."""
    if orientation == "similarity" or not (everything.n_target and everything.n_nontarget):
        return
    area = float(auc(everything))
    if area >= CHANCE:
        return
    name = _name(trials)
    if not trials.is_scored:
        msg = (
            f"{name}: target trials are accepted less often than nontarget ones (AUC {area:.4f}); "
            "check which word of the column of decisions means what, or keep them as they are "
            "with --similarity"
        )
        raise DataError(msg)
    if orientation == "distance":
        msg = (
            f"{name}: as distances, scores of target trials would lie further off than those of "
            f"nontarget trials (AUC {area:.4f}), so they are similarities; leave out --distance"
        )
        raise DataError(msg)
    msg = (
        f"{name}: scores of target trials lie below those of nontarget trials (AUC {area:.4f}), as "
        "distances do; negate them with --distance, or keep them as they are with --similarity"
    )
    raise DataError(msg)
