"""One system on one list, stage by stage: from its encoded trials to the rows of every table.

1. `measure_system`: count the trials, find the common thresholds, tally errors by speaker,
   draw replicates, make intervals.
2. `measured_cells`: base metrics of the data and of each draw, grouping by grouping.
3. `parivox.auditing.system_rows.add_rows`: bias, meta-measures, verdicts and all else.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.bias import min_cost_estimates
from parivox.auditing.cell_counts import count_cells
from parivox.auditing.curves import band_thresholds, shared_thresholds
from parivox.auditing.estimates import Estimates, estimate_cell, score_locations, score_shifts
from parivox.auditing.intervals import draw_means
from parivox.auditing.meta import grid_estimates
from parivox.auditing.operating_points import (
    DEPLOYED,
    NO_SCORES,
    OperatingPoint,
    OperatingPoints,
    default_points,
    locate_points,
)
from parivox.auditing.outcomes import are_inverted
from parivox.auditing.schema import BaseValue
from parivox.auditing.speaker_counts import SpeakerCounts
from parivox.auditing.speaker_sample import (
    TrialSource,
    sample_speakers,
    speaker_count_steps,
    tally_list,
)
from parivox.core.costs import bayes_threshold
from parivox.core.measures import base_metric
from parivox.core.separation import auc
from parivox.errors import ConfigError, DataError
from parivox.frozen import frozen
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.cell_counts import CellCounts, GroupCounts, Stratum
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import Design
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.outcomes import Outcomes
    from parivox.auditing.schema import Key
    from parivox.auditing.speaker_sample import SpeakerSample
    from parivox.core.counts import Counts, FloatArray
    from parivox.data.trial_set import TrialSet

CHANCE = 0.5


@frozen
class System:
    """One system on one list: its counts, common thresholds, and who its speakers are."""

    trials: TrialSet | TrialCounts
    design: Design  # what it is audited by
    no_curve_reason: (
        str  # why error rates are known at some thresholds only; empty if they are at all
    )
    development: TrialSet | TrialCounts | None  # what thresholds were found on instead of these
    counts: CellCounts  # all counts
    points: OperatingPoints  # the operating points with their thresholds
    sweep_points: list[LocatedPoint]  # operating points of the sweep
    shared_thresholds: (
        FloatArray  # thresholds that every cell is counted at, rising; none without scores
    )
    speaker_sample: (
        SpeakerSample | None
    )  # who the speakers are; None where unknown, or not asked for
    no_intervals_reason: str  # why nothing is said of uncertainty although it was asked for

    @property
    def name_columns(self) -> dict[str, str]:
        """The columns that say which it is."""
        return {"system": self.trials.system, "list": self.trials.list}

    @property
    def speaker_ids(self) -> Sequence[str] | None:
        """Of the speakers by number; None where they are not known, or taken in blocks."""
        if not self.trials.has_speakers or self.design.speaker_block is not None:
            return None
        return None if self.trials.speaker_table is None else self.trials.speaker_table.ids

    @property
    def primary(self) -> dict[str, str | None]:
        """Where verdicts are confirmatory; no point if the one named has no threshold."""
        named = self.design.primary_point
        known = [one.point.text for one in self.points.located if not one.reason]
        return {
            "grouping": self.design.groupings[0].name,
            "allocation": self.design.options.allocate[0],
            "within": "",
            "operating_point": next((one for one in known if named in {"", one}), None),
        }


# --- 1. counts, thresholds, speakers --------------------------------------------------------------


def measure_system(
    trials: TrialSet | TrialCounts,
    design: Design,
    development: TrialSet | TrialCounts | None = None,
    orientation: str | None = None,
    *,
    is_along: bool = True,
    counted: TrialCounts | None = None,
) -> System:
    """Count the trials of one system, find its thresholds, and tally who its speakers are.

    Parameters
    ----------
    development
        Trials to find the operating points on, instead of these.
    orientation
        What the user declared about the scores' direction; None checks it.
    is_along
        Whether curves, and intervals along the threshold, are to be told.
    counted
        Counts of these very trials with their tally, as their parts add up to.
    """
    options, no_curve = design.options, _no_curve(trials)
    asked = options.points()
    _check_deployed(trials, asked)
    fixed = [point.rule_value for point in asked or [] if point.rule == "threshold"]
    on: Counts | None = None
    if development is not None:
        _check_curve(development)
        on = count_cells(development, [], []).all_counts
        check_polarity(development, on, orientation)
        fixed += [point.threshold_or_reason(on)[0] for point in asked or default_points(on)]
    with stage("counting"):
        tally = count_cells(
            *(trials, design.groupings, options.allocate),
            within=design.within,
            thresholds=fixed,
            counted=counted,
        )
    everything, outcomes = tally.all_counts, tally.strata[0].outcomes
    check_polarity(trials, everything, orientation)
    if orientation != "similarity" and trials.is_scored and are_inverted(outcomes.deployed_counts):
        msg = (
            f"{trials.name}: decisions contradict the scores: nontarget trials are accepted more "
            "often than target trials, although they score lower; check which word of the column "
            "of decisions means what, or keep them as they are with --similarity"
        )
        raise DataError(msg)
    if asked is None:
        asked = [OperatingPoint(DEPLOYED, DEPLOYED)] if trials.has_decisions else []
        if no_curve and on is None:
            asked += [
                OperatingPoint(f"threshold={level!r}", "threshold", level)
                for level in trials.bins.thresholds
            ]
        else:
            asked += default_points(everything if on is None else on)

    def found(points: Sequence[OperatingPoint]) -> list[LocatedPoint]:
        """Points where the audit's own are found: on these or the development trials."""
        cost = options.costs[0]
        at = locate_points(
            points, everything, cost, development=on, no_curve=no_curve, deployed=outcomes
        )
        _check_edges(trials, at)
        return at

    asked.sort(key=lambda one: one.text != design.primary_point)
    cheapest = [
        OperatingPoint("min-cdet" if i == 0 else f"min-cdet:{cost.name}", "min-cdet", cost=cost)
        for i, cost in enumerate(options.costs)
        if len(cost.p_target) == 1
    ]
    grid = found(options.sweep_points())
    is_area = options.area_points() == options.sweep_points()
    area = grid if is_area else found(options.area_points())
    are_fixed = on is not None or options.fixed_threshold
    points = OperatingPoints(
        found(asked), found(cheapest), area, are_fixed, trials.n_without_test_speaker > 0
    )
    shared: FloatArray = np.empty(0)
    if trials.is_scored and is_along:
        audited = [one.threshold for one in points.located if _is_exact_at(trials, one)]
        shared = shared_thresholds(everything, audited)
    why_none, sample = no_intervals_reason(trials) if options.intervals else "", None
    rows = (counted or trials).trials_by_speaker
    if rows is not None and options.intervals and not why_none:
        at, tallied = band_thresholds(shared, trials.n_trials), TrialSource(rows)
        if isinstance(rows, SpeakerCounts):
            _check_steps(rows, points.located)
        elif design.speaker_block is not None or not rows.fits_in_memory:
            tallied = tally_list(rows, design, everything, points, at)
        sample = sample_speakers(tallied, design, tally, points, at)
    return System(
        *(trials, design, no_curve, development, tally, points, grid, shared, sample, why_none)
    )


def counted_thresholds(system: System) -> FloatArray:
    """Thresholds of the tally that an audit of a system's counts needs, to say how sure it is."""
    n, bins = system.trials.n_trials, system.design.options.bins
    found = band_thresholds(system.shared_thresholds, n)
    return speaker_count_steps(system.counts.all_counts, system.points, found, n, bins)


def no_intervals_reason(trials: TrialSet | TrialCounts) -> str:
    """Why nothing can be said of the uncertainty of some trials; empty if it can."""
    return "" if trials.trials_by_speaker is not None else "counts do not tell who the speakers are"


def _is_exact_at(trials: TrialSet | TrialCounts, found: LocatedPoint) -> bool:
    """Whether counts at a point's threshold are exact."""
    if np.isnan(found.threshold) or found.point.rule != DEPLOYED:
        return not np.isnan(found.threshold)
    return trials.fits_in_memory and trials.bins.has_threshold(found.threshold)


# --- 2. base metrics ------------------------------------------------------------------------------


@frozen
class CellMetrics:
    """Base metrics of the cells of one grouping, or of all trials, within one level."""

    stratum: Stratum  # the trials that they are of
    group_counts: GroupCounts | None  # their counts; None of all trials, which are the level's
    cell_names: tuple[str, ...]  # the groups, then "pooled"; of all trials, "all" alone
    base_values: list[dict[Key, BaseValue]]  # of each cell, with their errors and thresholds
    estimates: Estimates  # the same as arrays [key, cell]
    cost_estimates: Sequence[tuple[Estimates, FloatArray | None]]
    """Each cost at its own smallest cost over all trials, with threshold bias cross-fitted over
    speakers; none of all trials."""
    area_estimates: Estimates | None
    """Both rates at the points that the area under FDR is taken over; None of all trials."""
    uncertainty: Uncertainty | None
    no_draws_reason: str  # why there are no draws

    @cached_property
    def error_estimates(self) -> Estimates:
        """Those metrics that are errors, by which groups are compared."""
        return self.estimates.error_metrics()

    @property
    def key_columns(self) -> dict[str, str]:
        """The columns that say which cells they are."""
        if self.group_counts is None:
            return {"grouping": "all", "allocation": "", "within": self.stratum.name}
        grouping, allocation = self.group_counts.grouping.name, self.group_counts.allocation
        return {"grouping": grouping, "allocation": allocation, "within": self.stratum.name}

    @property
    def cell_counts(self) -> list[Counts | None]:
        """Counts of each cell, None for those of which nothing is known."""
        if self.group_counts is None:
            return [self.stratum.counts]
        pairs = zip(self.group_counts.counts, self.group_counts.suppression_reasons, strict=True)
        return [*(None if why else counts for counts, why in pairs), self.group_counts.pooled]

    @property
    def draws(self) -> Estimates | None:
        """The same of each draw, ``[draw, key, cell]``."""
        if self.uncertainty is None or self.uncertainty.draw_estimates is None:
            return None
        return self.uncertainty.draw_estimates.cell_range(-len(self.cell_names), None)


def metrics_by_grouping(system: System) -> Iterator[CellMetrics]:
    """Base metrics of all trials and each level, then of the cells of every grouping."""
    tally, no_curve, sample = system.counts, system.no_curve_reason, system.speaker_sample

    def measured(
        level: Stratum,
        cells: GroupCounts | None,
        bases: list[dict[Key, BaseValue]],
        of: Uncertainty | None,
    ) -> CellMetrics:
        why = system.no_intervals_reason if of is None else of.no_draws_reason
        if of is not None and of.draw_estimates is not None:
            bases = without_optimism(bases, of.draw_estimates.cell_range(-len(bases), None))
        data = Estimates.from_cells(bases)
        if cells is None:
            return CellMetrics(level, None, ("all",), bases, data, (), None, of, why)
        cheapest = [
            (min_cost_estimates(data, cells, found), None if of is None else of.crossfitted_bias[k])
            for k, found in enumerate(system.points.min_cost_points)
        ]
        area, names = (
            grid_estimates(cells, system.points.area_points),
            (*cells.grouping.groups, "pooled"),
        )
        return CellMetrics(level, cells, names, bases, data, cheapest, area, of, why)

    # groupings often pool the very same trials, or all of them: those are measured once
    whole: dict[int, dict[Key, BaseValue]] = {}
    located: dict[int, Mapping[tuple[str, str], FloatArray]] = {}
    for i, level in enumerate(tally.strata):
        bases = whole[id(level.counts)] = _estimated(system, level.counts, level.outcomes)
        yield measured(
            level, None, [bases], None if sample is None else sample.strata_uncertainty[i]
        )
    for i, cells in enumerate(tally.group_counts):
        same = id(cells.pooled)
        # of failed trials, another part may be in no group
        if same not in whole or cells.outcomes[-1].failed_trials is not None:
            whole[same] = _estimated(system, cells.pooled, cells.outcomes[-1])
        if same not in located:
            located[same] = {} if no_curve else score_locations(cells.pooled)
        reference = located[same]
        pooled = {**whole[same], **score_shifts(cells.pooled, reference, no_curve=no_curve)}
        groups = [
            suppressed_values(pooled, why)
            if why
            else {
                **_estimated(system, counts, outcomes),
                **score_shifts(counts, reference, no_curve=no_curve),
            }
            for counts, outcomes, why in zip(
                cells.counts, cells.outcomes[:-1], cells.suppression_reasons, strict=True
            )
        ]
        of = None if sample is None else sample.cell_uncertainty[i]
        yield measured(cells.stratum, cells, [*groups, pooled], of)


def _estimated(system: System, counts: Counts, outcomes: Outcomes) -> dict[Key, BaseValue]:
    """Base metrics of one cell."""
    trials, options = system.trials, system.design.options
    found = estimate_cell(
        counts,
        system.points,
        options,
        system.design.metrics,
        outcomes,
        no_curve=system.no_curve_reason,
    )
    for cost in options.costs if options.llr else ():
        levels = [bayes_threshold(part, options.log_base) for part in cost.parts]
        key = "act_cdet_norm", cost.name, ""
        if not found[key].reason and not all(map(trials.bins.has_threshold, levels)):
            reason = f"its threshold is not an edge of {trials.bins.in_words()}"
            found[key] = BaseValue(np.nan, None, found[key].trials, np.nan, reason)
    return found


def without_optimism(
    bases: Sequence[Mapping[Key, BaseValue]], draws: Estimates
) -> list[dict[Key, BaseValue]]:
    """Metrics of each cell, less what fitting them to their own trials has won or lost.

    Each replicate differs from the data as the data do from all speakers: by the mean of this the
    metric is corrected, to 0 at least. See docs/methods/calibration.md#calibration-loss.
    """
    corrected = [dict(of_cell) for of_cell in bases]
    for i, key in enumerate(draws.keys):
        if not base_metric(key[0]).is_optimistic:
            continue
        means = draw_means(draws.values[:, i])
        for of_cell, mean in zip(corrected, means.tolist(), strict=True):
            found = of_cell[key]
            if np.isfinite(mean) and np.isfinite(found.value):
                of_cell[key] = found._replace(value=max(2 * found.value - mean, 0.0))
    return corrected


def suppressed_values(pooled: Mapping[Key, BaseValue], why: str) -> dict[Key, BaseValue]:
    """Every base metric of a group of which nothing is known."""
    return dict.fromkeys(pooled, BaseValue(np.nan, None, 0, np.nan, why))


# --- what is refused ------------------------------------------------------------------------


def _no_curve(trials: TrialSet | TrialCounts) -> str:
    """Why error rates are known at some thresholds only; empty if they are at all."""
    if not trials.is_scored:
        return NO_SCORES
    return trials.bins.no_curve_reason


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
            f"--operating-point {DEPLOYED}: {trials.name} has neither a column "
            "'decision' nor a column 'threshold'; add one, or give threshold=X"
        )
        raise ConfigError(msg)


def _check_edges(trials: TrialSet | TrialCounts, found: Sequence[LocatedPoint]) -> None:
    """Refuse operating points at which counts in bins are not exact."""
    for one in found:
        if (
            not one.reason
            and not np.isnan(one.threshold)
            and not trials.bins.has_threshold(one.threshold)
        ):
            msg = (
                f"operating point {one.point.text!r}: {trials.name} is counted at "
                f"{trials.bins.in_words()}, and {one.threshold:.12g} is none of its edges; take "
                f"one, or count again with --threshold {one.threshold!r}"
            )
            raise ConfigError(msg)


def _check_steps(rows: SpeakerCounts, found: Sequence[LocatedPoint]) -> None:
    """Refuse operating points that a tally does not tell of."""
    for one in found:
        is_known = one.point.rule == DEPLOYED or one.reason or one.threshold in rows.thresholds
        if not is_known:
            msg = (
                f"operating point {one.point.text!r}: the tally tells nothing of its threshold, "
                f"{one.threshold:.12g}; make the tally for this operating point, or leave it out"
            )
            raise ConfigError(msg)


def check_polarity(
    trials: TrialSet | TrialCounts, everything: Counts, orientation: str | None
) -> None:
    """Refuse scores that are higher for different speakers than for the same one."""
    if orientation == "similarity" or not (everything.n_target and everything.n_nontarget):
        return
    area = float(auc(everything))
    if area >= CHANCE:
        return
    name = trials.name
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
