"""One system on one list: from its encoded trials to every row of every table."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.base import base_metrics, locations, shifts
from parivox.auditing.cells import count_cells, count_matrices
from parivox.auditing.compare import bias_rows
from parivox.auditing.compat import compat_metrics, compat_ratios
from parivox.auditing.curves import bin_rows, det_rows, nodes, shared_thresholds
from parivox.auditing.metas import meta_rows, sweep_rows
from parivox.auditing.operating_points import (
    DEPLOYED,
    NO_SCORES,
    OperatingPoint,
    default_points,
    find_all,
)
from parivox.auditing.options import OFFENDERS
from parivox.auditing.rows import Base
from parivox.core.costs import bayes_threshold
from parivox.core.separation import auc
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.beside import Beside
    from parivox.auditing.cells import Cells, Level, Tally
    from parivox.auditing.compared import Compared
    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.replicated import Draws
    from parivox.auditing.rows import Key, Rows
    from parivox.auditing.sample import Sample
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import Counts, Curve, FloatArray
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

__all__ = ["Measurement", "check_polarity"]

CHANCE = 0.5
MOST_TRIALS = 100_000_000
"""Of more trials, who is involved is not tallied: it would not fit in memory."""


class Measurement:
    """One system on one list, measured.

    Parameters
    ----------
    trials
        The encoded trials, or counts of them.
    groupings
        Groups of speakers.
    options
        What to measure.
    metrics
        The user's own metrics by name.
    development
        Trials to find the operating points on, instead of these.
    orientation
        What the user declared about the scores' direction; None checks it.
    within
        Groupings within whose levels all is measured again, at the same thresholds.
    draws
        The speakers drawn for replicates; None for no replicates.
    strata
        What rates are standardised over.

    Attributes
    ----------
    found : list of Found
        The operating points with their thresholds.
    tally : Tally
        All counts.
    compared : Compared or None
        What is compared with other systems and lists, if that is asked for.
    """

    def __init__(
        self,
        trials: TrialSet | TrialCounts,
        groupings: Sequence[Grouping],
        options: Options,
        metrics: Mapping[str, Callable[[Curve], ArrayLike]],
        development: TrialSet | TrialCounts | None = None,
        orientation: str | None = None,
        within: Sequence[Grouping] = (),
        *,
        draws: Draws | None = None,
        strata: Sequence[Grouping] = (),
    ) -> None:
        self.trials, self.groupings, self.within = trials, groupings, within
        self.draws, self.strata = draws, strata
        self.options, self.metrics = options, metrics
        self.name = {"system": trials.system, "list": trials.list}
        self.no_curve = _no_curve(trials)
        asked = options.points()
        _check_deployed(trials, asked)
        fixed = [point.level for point in asked or [] if point.rule == "threshold"]
        self.on: Counts | None = None
        if development is not None:
            _check_curve(development)
            self.on = count_cells(development, [], []).everything
            check_polarity(development, self.on, orientation)
            points = asked or default_points(self.on)
            fixed += [point.threshold_on(self.on)[0] for point in points]
        self.tally: Tally = count_cells(
            trials, groupings, options.allocate, within=within, thresholds=fixed
        )
        everything = self.tally.everything
        check_polarity(trials, everything, orientation)
        self.source = "these trials" if self.on is None else "development trials"
        source = everything if self.on is None else self.on
        if asked is None:
            asked = [OperatingPoint(DEPLOYED, DEPLOYED)] if trials.has_decisions else []
            if not self.no_curve or self.on is not None:
                asked += default_points(source)
            elif trials.is_counted:
                asked += [
                    OperatingPoint(f"threshold={level!r}", "threshold", level)
                    for level in trials.bins.thresholds
                ]
        self.found: list[Found] = self._found(asked)
        self.compared: Compared | None = None
        if options.compare and not trials.is_counted:
            from parivox.auditing.compared import Compared  # noqa: PLC0415 - on request

            self.compared = Compared(trials, [found.point.text for found in self.found])

    def _found(self, points: Sequence[OperatingPoint]) -> list[Found]:
        """Find points where the audit's own are found: on these or the development trials."""
        found = find_all(
            points,
            self.tally.everything,
            self.options.costs[0],
            on=self.on,
            no_curve=self.no_curve,
            deployed=self.tally.levels[0].beside,
        )
        if self.trials.is_counted:
            self.trials.check(found)
        return found

    @cached_property
    def grid(self) -> list[Found]:
        """Operating points of the sweep."""
        return self._found(self.options.sweep_points())

    @cached_property
    def area(self) -> list[Found]:
        """False positive rates that the area under FDR is taken over."""
        points = self.options.area_points()
        return self.grid if points == self.options.sweep_points() else self._found(points)

    @cached_property
    def cheapest(self) -> list[Found]:
        """The point of the smallest cost, for each cost model with one prior."""
        costs = self.options.costs
        return self._found(
            [
                OperatingPoint(
                    "min-cdet" if i == 0 else f"min-cdet:{cost.name}", "min-cdet", cost=cost
                )
                for i, cost in enumerate(costs)
                if len(cost.p_target) == 1
            ]
        )

    @cached_property
    def shared(self) -> FloatArray:
        """Thresholds that every cell is counted at, rising; none without scores."""
        if not self.trials.is_scored:
            return np.empty(0)
        at = [one.threshold for one in self.found if self._is_counted_at(one)]
        return shared_thresholds(self.tally.everything, at)

    def _is_counted_at(self, found: Found) -> bool:
        """Whether counts at a point's threshold are exact."""
        if np.isnan(found.threshold) or found.point.rule != DEPLOYED:
            return not np.isnan(found.threshold)
        if self.trials.is_counted:
            return self.trials.bins.has(found.threshold)
        return self.trials.is_exact

    @cached_property
    def sample(self) -> Sample | None:
        """Who the speakers are; None where that is not known, or was not asked for."""
        if self.trials.is_counted or not self.options.intervals or self.why_none:
            return None
        from parivox.auditing.replicated import Points  # noqa: PLC0415 - what resamples
        from parivox.auditing.sample import Sample  # noqa: PLC0415 - likewise

        fixed = self.on is not None or self.options.fixed_threshold
        points = Points(self.found, self.cheapest, self.area, fixed)
        draws, why = self.draws, ""
        if not self.trials.is_exact:
            draws, why = None, "too many trials to hold in memory"
        elif draws is None:
            why = "too many speakers to draw from"
        return Sample(
            self.trials,
            self.groupings,
            self.within,
            self.tally,
            points,
            self.options,
            self.metrics,
            draws,
            why,
            self.strata,
            nodes(self.shared, self.trials.n_trials),
        )

    @cached_property
    def why_none(self) -> str:
        """Why nothing is said of uncertainty although it was asked for."""
        if not self.options.intervals:
            return ""
        if self.trials.is_counted:
            return "counts do not tell who the speakers are"
        if self.trials.n_trials > MOST_TRIALS:
            return f"more than {MOST_TRIALS:,} trials"
        return ""

    def add_to(self, rows: Mapping[str, Rows]) -> None:
        """Add this system's rows to every table but ``data``."""
        # groupings often pool the very same trials, or all of them: those are measured once
        measured: dict[int, Mapping[Key, Base]] = {}
        located: dict[int, Mapping[tuple[str, str], FloatArray]] = {}
        no_curve = self.no_curve
        for level in self.tally.levels:
            self._operating_points(rows["operating_points"], level)
            whole = self._measure(level.counts, level.beside)
            measured[id(level.counts)] = whole
            where = self._where("all", "all", "", level)
            told = self._told([whole, whole], self._sure(level))[0]
            self._keep(level, [], whole, self._sure(level))
            self._group_rows(rows, where, whole, level.counts, level.speakers, told)
            self._curves(rows, where, level.counts)
            self._along(rows, where, ["all"], level)
        for cells in self.tally.cells:
            same = id(cells.pooled)
            # of failed trials, another part may be in no group
            if same not in measured or cells.beside[-1].failed is not None:
                measured[same] = self._measure(cells.pooled, cells.beside[-1])
            if same not in located:
                located[same] = {} if no_curve else locations(cells.pooled)
            reference = located[same]
            pooled = {
                **measured[same], **shifts(cells.pooled, reference, no_curve=no_curve)
            }  # fmt: skip
            own = [
                _withheld(pooled, why)
                if why
                else {
                    **self._measure(counts, beside),
                    **shifts(counts, reference, no_curve=no_curve),
                }
                for counts, beside, why in zip(
                    cells.groups, cells.beside[:-1], cells.missing, strict=True
                )
            ]
            self._cells(rows, cells, own, pooled)
        if self.sample is not None:
            self.sample.add_standardised(rows["groups"], self.name)
        self._matrices(rows["matrix"])
        if self.options.compat:
            self._compat(rows)

    def _compat(self, rows: Mapping[str, Rows]) -> None:
        """Add another tool's numbers, under that tool's allocation."""
        everything = self.tally.everything
        whole = compat_metrics(everything, everything, self.options)
        level = self.tally.levels[0]
        self._group_rows(
            rows, self._where("all", "all", "", level), whole, everything, level.speakers
        )
        for cells in self.tally.cells:
            if cells.allocation != "enrol" or cells.level is not level:
                continue
            grouping = cells.grouping.name
            own = [
                _withheld(whole, why) if why else compat_metrics(counts, everything, self.options)
                for counts, why in zip(cells.groups, cells.missing, strict=True)
            ]
            for group, bases, counts, speakers in zip(
                cells.grouping.groups, own, _known(cells), cells.speakers[:-1], strict=True
            ):
                where = self._where(grouping, group, "enrol", level)
                self._group_rows(rows, where, bases, counts, speakers)
            where = {**self.name, "grouping": grouping, "allocation": "enrol", "within": ""}
            compat_ratios(rows["bias"], where, cells, own, whole)

    def _measure(self, counts: Counts, beside: Beside) -> dict[Key, Base]:
        found = base_metrics(
            counts,
            self.found,
            self.options,
            self.metrics,
            beside,
            no_curve=self.no_curve,
        )
        if self.trials.is_counted and self.options.llr:
            for cost in self.options.costs:
                levels = [bayes_threshold(part) for part in cost.parts]
                key = "act_cdet_norm", cost.name, ""
                if not found[key].reason and not all(map(self.trials.bins.has, levels)):
                    reason = f"its threshold is no edge of {self.trials.bins.told()}"
                    found[key] = Base(np.nan, None, found[key].trials, np.nan, reason)
        return found

    def _cells(
        self,
        rows: Mapping[str, Rows],
        cells: Cells,
        own: Sequence[Mapping[Key, Base]],
        pooled: Mapping[Key, Base],
    ) -> None:
        grouping, allocation = cells.grouping.name, cells.allocation
        sure = self._sure(cells)
        for group, bases, counts, speakers, told in zip(
            (*cells.grouping.groups, "pooled"),
            (*own, pooled),
            (*_known(cells), cells.pooled),
            cells.speakers,
            self._told([*own, pooled], sure),
            strict=True,
        ):
            where = self._where(grouping, group, allocation, cells.level)
            self._group_rows(rows, where, bases, counts, speakers, told)
            if counts is not None:
                self._curves(rows, where, counts)
        self._along(rows, where, (*cells.grouping.groups, "pooled"), cells)
        within = {"within": cells.level.name}
        where = {**self.name, "grouping": grouping, "allocation": allocation, **within}
        against = bias_rows(
            rows["bias"], where, cells, own, pooled, self.cheapest, self.options, sure
        )
        meta_rows(rows["meta"], where, cells, own, pooled, self.area, self.options, sure)
        if self.sample is not None:
            self.sample.add_to(rows, where, cells, against)
        if self.options.sweep:
            sweep_rows(rows["sweep"], where, cells, self.grid, self.options)
        self._keep(cells, own, pooled, sure)

    def _keep(
        self,
        measured: Level | Cells,
        own: Sequence[Mapping[Key, Base]],
        pooled: Mapping[Key, Base],
        sure: Uncertainty | None,
    ) -> None:
        """Keep what is compared with other systems and lists, if it is to be."""
        if self.compared is not None:
            grid = self.area
            self.compared.keep(measured, own, pooled, self.cheapest, grid, sure, self.why_none)

    def _sure(self, one: Level | Cells) -> Uncertainty | None:
        return None if self.sample is None else self.sample.of(one)

    def _told(
        self, bases: Sequence[Mapping[Key, Base]], sure: Uncertainty | None
    ) -> Sequence[Mapping[str, Any]]:
        """Columns of uncertainty of several cells, the pooled one last."""
        if sure is not None:
            return sure.columns(bases)
        note = f"no interval: {self.why_none}" if self.why_none else ""
        return [
            {"note": [note if base.value == base.value else "" for base in of.values()]}
            for of in bases
        ]

    def _curves(self, rows: Mapping[str, Rows], where: Mapping[str, str], counts: Counts) -> None:
        """Add the curve of one cell and, but within levels, its trials between thresholds."""
        if not self.no_curve:
            rows["det"].add(**where, **det_rows(counts))
        if not where["within"] and self.shared.size:
            key = {name: of for name, of in where.items() if name != "within"}
            rows["bins"].add(**key, **bin_rows(counts, self.shared))

    def _along(
        self,
        rows: Mapping[str, Rows],
        where: Mapping[str, str],
        groups: Sequence[str],
        one: Level | Cells,
    ) -> None:
        """Add intervals along the threshold of a grouping's cells, or of all trials; offenders."""
        if self.sample is None or where["within"]:
            return
        key = {name: of for name, of in where.items() if name not in {"group", "within"}}
        if self.shared.size:
            self.sample.add_bands(rows["bands"], key, groups, one)
        if self.options.speaker_ids == OFFENDERS:
            self.sample.add_offenders(rows["offenders"], key, groups, one)

    def _where(self, grouping: str, group: str, allocation: str, level: Level) -> dict[str, str]:
        where = {"grouping": grouping, "group": group, "allocation": allocation}
        return {**self.name, **where, "within": level.name}

    def _group_rows(
        self,
        rows: Mapping[str, Rows],
        where: Mapping[str, str],
        bases: Mapping[Key, Base],
        counts: Counts | None,
        speakers: int | None,
        told: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Rows of one cell; without counts, nothing is known of it but why."""
        found = list(bases.values())
        rows["groups"].add(
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
            **told,
        )

    def _operating_points(self, rows: Rows, level: Level) -> None:
        """The thresholds, and what each gives on all trials or within a level."""
        found = self.found
        if level.name:
            found = [f if f.reason else self._again(f, level) for f in self.found]
        rows.add(
            **self.name,
            operating_point=[f.point.text for f in found],
            definition=[f.point.definition for f in found],
            threshold=[f.threshold for f in found],
            source=[
                "given" if f.point.rule in {"threshold", "bayes", DEPLOYED} else self.source
                for f in found
            ],
            fpr=[f.fpr for f in found],
            fnr=[f.fnr for f in found],
            cdet_norm=[f.cdet_norm for f in found],
            reason=[f.reason for f in found],
            within=level.name,
        )

    def _again(self, found: Found, level: Level) -> Found:
        """A point at its threshold on the trials of one level."""
        point = found.point
        if point.rule != DEPLOYED:
            point = replace(point, rule="threshold", level=found.threshold)
        (here,) = find_all([point], level.counts, self.options.costs[0], deployed=level.beside)
        return replace(here, point=found.point)

    def _matrices(self, rows: Rows) -> None:
        """False accepts between groups."""
        rules = [f.point.rule for f in self.found]
        matrices = count_matrices(
            self.trials,
            self.groupings,
            np.array([f.threshold for f in self.found]),
            deployed=rules.index(DEPLOYED) if DEPLOYED in rules else None,
            within=self.within,
        )
        missing = {
            (cells.grouping.name, cells.level.name): cells.missing for cells in self.tally.cells
        }
        for grouping, level, (errors, totals) in matrices:
            names = np.array(grouping.groups, dtype=object)
            own = missing[grouping.name, level]
            why = [one or other for one in own for other in own]
            for f, counted, total in zip(self.found, errors, totals, strict=True):
                n = total.reshape(-1)
                lost = bool(f.reason)
                reason = [
                    mine or ("" if of else "no nontarget trials") or f.reason
                    for mine, of in zip(why, n.tolist(), strict=True)
                ]
                value = np.where((n == 0) | lost, np.nan, counted.reshape(-1) / np.maximum(n, 1))
                rows.add(
                    **self.name,
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


def _no_curve(trials: TrialSet | TrialCounts) -> str:
    """Why error rates are known at some thresholds only; empty if they are at all."""
    if not trials.is_scored:
        return NO_SCORES
    return trials.bins.no_curve if trials.is_counted else ""


def _withheld(pooled: Mapping[Key, Base], why: str) -> dict[Key, Base]:
    """Every base metric of a group of which nothing is known."""
    return dict.fromkeys(pooled, Base(np.nan, None, 0, np.nan, why))


def _known(cells: Cells) -> list[Counts | None]:
    """Counts of each group, None for those of which nothing is known."""
    pairs = zip(cells.groups, cells.missing, strict=True)
    return [None if why else counts for counts, why in pairs]


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
