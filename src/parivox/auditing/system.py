"""One system on one list, stage by stage: from its encoded trials to the rows of every table.

1. `measure_system`: count the trials, find the common thresholds, count errors by speaker,
   draw replicates, make intervals.
2. `metrics_by_grouping`: base metrics of the data and of each draw, grouping by grouping.
3. `parivox.auditing.system_rows.add_rows`: bias, meta-measures, verdicts and all else.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.auditing.attacks import attack_limits, count_attacks
from parivox.auditing.bias import min_cost_estimates
from parivox.auditing.cell_counts import count_cells
from parivox.auditing.curves import band_thresholds, shared_thresholds
from parivox.auditing.estimates import (
    Estimates,
    estimate_cell,
    score_locations,
    score_shifts,
)
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
from parivox.core.costs import bayes_threshold
from parivox.core.measures import ALL_RATES, base_metric
from parivox.core.separation import auc
from parivox.data.score_bins import COUNTED_AT_THRESHOLDS
from parivox.errors import ConfigError, DataError
from parivox.facts import fact
from parivox.frozen import frozen
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.attacks import GroupAttacks
    from parivox.auditing.cell_counts import CellCounts, GroupCounts, Stratum
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import AuditDesign
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.outcomes import Outcomes
    from parivox.auditing.schema import Key
    from parivox.auditing.system_uncertainty import SystemUncertainty
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet

CHANCE = 0.5
"""AUC of scores that do not separate the classes."""


@frozen
class System:
    """One system on one list: its counts, common thresholds, and its uncertainty over speakers."""

    trials: TrialSet | TrialCounts
    design: AuditDesign  # what it is audited by
    # why error rates are known at some thresholds only; empty if the whole curve is known
    no_curve_reason: str
    development: TrialSet | TrialCounts | None  # what thresholds were found on instead of these
    counts: CellCounts  # all counts
    points: OperatingPoints  # the operating points with their thresholds
    sweep_points: list[LocatedPoint]  # operating points of the sweep
    # thresholds that every cell is counted at, rising; none without scores
    shared_thresholds: FloatArray
    # the uncertainty over speakers; None where these are unknown, or it is not asked for
    system_uncertainty: SystemUncertainty | None
    no_intervals_reason: str  # why nothing is said of uncertainty although it was asked for

    @property
    def name_columns(self) -> dict[str, str]:
        """The columns that say which it is."""
        return {"system": self.trials.system, "list": self.trials.list}

    @property
    def speaker_ids(self) -> Sequence[str] | None:
        """Of the speakers by number; None where they are not known, or taken in blocks."""
        return self.trials.speaker_ids

    @cached_property
    def attacks(self) -> dict[tuple[str, str], GroupAttacks]:
        """Spoof trials by attack, by grouping and stratum; empty if no attack is known."""
        attack_source = self.trials.attack_source
        if attack_source is None:
            return {}
        groupings, within = self.design.groupings, self.design.within
        limits = attack_limits(self.design.options.limits, groupings)
        limited_attacks = dict.fromkeys(
            limit.group for limit in limits if limit.group in attack_source.attacks
        )
        return count_attacks(attack_source, groupings, self.points.located, within, limited_attacks)

    @property
    def primary(self) -> dict[str, str | None]:
        """Where verdicts are confirmatory; no point if the one named has no threshold."""
        primary_point = self.design.primary_point
        point_names = [located.point.text for located in self.points.located if not located.reason]
        if primary_point:
            point_names = [name for name in point_names if name == primary_point]
        return {
            "grouping": self.design.groupings[0].name,
            "allocation": self.design.options.allocate[0],
            "within": "",
            "operating_point": point_names[0] if point_names else None,
        }


# --- 1. counts, operating points, errors by speaker, draws ---------------------------------------


def measure_system(
    trials: TrialSet | TrialCounts,
    design: AuditDesign,
    development: TrialSet | TrialCounts | None = None,
    orientation: str | None = None,
    *,
    has_curves: bool = True,
) -> System:
    """Count the trials of one system, find its thresholds, and resample its speakers.

    Parameters
    ----------
    development
        Trials to find the operating points on, instead of these.
    orientation
        What the user declared about the scores' direction; None checks it.
    has_curves
        Whether curves, and intervals along the threshold, are to be told.
    """
    options, no_curve_reason = design.options, _no_curve_reason(trials)
    requested_points = options.points()
    _check_deployed(trials, requested_points)

    # Counts by cell and score. Where these are binned, thresholds known before are edges of bins.
    development_counts = None
    if development is not None:
        development_counts = _count_development(development, orientation)
    with stage("counting"):
        counts = count_cells(
            trials,
            design.groupings,
            options.allocate,
            within=design.within,
            thresholds=_known_thresholds(requested_points, development_counts),
        )
    outcomes = counts.strata[0].outcomes
    check_polarity(trials, counts.all_counts, orientation)
    check_decisions(trials, outcomes, orientation)

    # Operating points, with thresholds from these trials or the development trials.
    if requested_points is None:
        requested_points = _default_points(trials, counts.all_counts, development_counts)
    requested_points.sort(key=lambda point: point.text != design.primary_point)

    def located_points(points: Sequence[OperatingPoint]) -> list[LocatedPoint]:
        located = locate_points(
            points,
            counts.all_counts,
            options.costs[0],
            development=development_counts,
            no_curve=no_curve_reason,
            deployed=outcomes,
        )
        _check_edges(trials, located)
        return located

    sweep_points = located_points(options.sweep_points())
    area_points = sweep_points
    if options.area_points() != options.sweep_points():
        area_points = located_points(options.area_points())
    points = OperatingPoints(
        located=located_points(requested_points),
        min_cost_points=located_points(_min_cost_points(options.costs)),
        area_points=area_points,
        are_thresholds_fixed=development is not None or options.fixed_threshold,
        lack_test_speakers=trials.n_without_test_speaker > 0,
        rates=ALL_RATES[: trials.n_classes],
        spoof_share=_spoof_share(counts.all_counts),
    )
    thresholds: FloatArray = np.empty(0)
    if trials.is_scored and has_curves:
        exact_points = [located for located in points.located if _is_exact_at(trials, located)]
        exact_thresholds = [located.threshold for located in exact_points]
        thresholds = shared_thresholds(counts.all_counts, exact_thresholds)

    # Errors by speaker and by pair of speakers, and draws of these speakers.
    missing_reason = no_intervals_reason(trials) if options.intervals else ""
    error_source = trials.error_source
    system_uncertainty = None
    if error_source is not None and options.intervals and not missing_reason:
        from parivox.auditing.system_uncertainty import (  # noqa: PLC0415 - with intervals only
            TrialSource,
            sample_speakers,
            speaker_counts_source,
        )

        bands_at = band_thresholds(thresholds, trials.n_trials)
        _check_counted_at(error_source, points.located)
        add_up = partial(
            speaker_counts_source,
            design=design,
            all_counts=counts.all_counts,
            points=points,
            bands_at=bands_at,
        )
        source = error_source.rows_by_unit(TrialSource.of_rows, add_up)
        system_uncertainty = sample_speakers(source, design, counts, points, bands_at)
    return System(
        trials=trials,
        design=design,
        no_curve_reason=no_curve_reason,
        development=development,
        counts=counts,
        points=points,
        sweep_points=sweep_points,
        shared_thresholds=thresholds,
        system_uncertainty=system_uncertainty,
        no_intervals_reason=missing_reason,
    )


def _spoof_share(counts: Counts) -> float:
    """Return the share of spoof trials among those to be rejected, to four digits."""
    n_spoof = int(counts.n_spoof)
    return round(n_spoof / max(n_spoof + int(counts.n_nontarget), 1), 4)


def _count_development(development: TrialSet | TrialCounts, orientation: str | None) -> Counts:
    """Return the development trials by score, if thresholds can be found on them."""
    _check_has_scores(development)
    counts = count_cells(development, [], []).all_counts
    check_polarity(development, counts, orientation)
    return counts


def _known_thresholds(
    requested_points: Sequence[OperatingPoint] | None, development_counts: Counts | None
) -> list[float]:
    """Return the thresholds that do not depend on the trials that are to be counted."""
    thresholds = [point.rule_value for point in requested_points or [] if point.rule == "threshold"]
    if development_counts is not None:
        points = requested_points or default_points(development_counts)
        thresholds += [point.threshold_or_reason(development_counts)[0] for point in points]
    return thresholds


def _default_points(
    trials: TrialSet | TrialCounts, all_counts: Counts, development_counts: Counts | None
) -> list[OperatingPoint]:
    """Return the operating points where none are requested."""
    points = [OperatingPoint(DEPLOYED, DEPLOYED)] if trials.has_decisions else []
    if development_counts is not None:
        return points + default_points(development_counts)
    if not _no_curve_reason(trials):
        return points + default_points(all_counts)
    return points + [
        OperatingPoint(f"threshold={threshold!r}", "threshold", threshold)
        for threshold in trials.bins.thresholds
    ]


def _min_cost_points(costs: Sequence[CostModel]) -> list[OperatingPoint]:
    """Return the point of the smallest cost, for each cost model with one prior."""
    points = []
    for i, cost in enumerate(costs):
        if len(cost.p_target) == 1:
            text = "min-cdet" if i == 0 else f"min-cdet:{cost.name}"
            points.append(OperatingPoint(text, "min-cdet", cost=cost))
    return points


def counted_thresholds(system: System) -> FloatArray:
    """Return the thresholds of the speaker counts that an audit of a system's counts needs."""
    from parivox.auditing.system_uncertainty import (  # noqa: PLC0415 - with intervals only
        speaker_count_steps,
    )

    n_trials, n_bins = system.trials.n_trials, system.design.options.bins
    bands_at = band_thresholds(system.shared_thresholds, n_trials)
    return speaker_count_steps(system.counts.all_counts, system.points, bands_at, n_trials, n_bins)


def no_intervals_reason(trials: TrialSet | TrialCounts) -> str:
    """Return why nothing can be said of the uncertainty of some trials; empty if it can."""
    return "" if trials.speaker_source is not None else "speakers_unknown_from_counts"


def _is_exact_at(trials: TrialSet | TrialCounts, located: LocatedPoint) -> bool:
    """Return whether counts at a point's threshold are exact."""
    if np.isnan(located.threshold):
        return False
    if located.point.rule != DEPLOYED:
        return True
    return trials.is_exact_at(located.threshold)


# --- 2. base metrics ------------------------------------------------------------------------------


@frozen
class GroupingMetrics:
    """Base metrics of the cells of one grouping, or of all trials, within one stratum."""

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
        group_counts = self.group_counts
        pairs = zip(group_counts.counts, group_counts.suppression_reasons, strict=True)
        known_counts = [None if reason else counts for counts, reason in pairs]
        return [*known_counts, group_counts.pooled]

    @property
    def draws(self) -> Estimates | None:
        """The same of each draw, ``[draw, key, cell]``."""
        if self.uncertainty is None or self.uncertainty.draw_estimates is None:
            return None
        return self.uncertainty.draw_estimates.cell_range(-len(self.cell_names), None)


class MeasuredSystem(NamedTuple):
    """One system on one list with its cells of each grouping and stratum."""

    system: System
    grouping_metrics: Sequence[GroupingMetrics]


def metrics_by_grouping(system: System) -> Iterator[GroupingMetrics]:
    """Yield the base metrics of all trials and each stratum, then of every grouping's cells."""
    counts, no_curve_reason = system.counts, system.no_curve_reason
    strata_uncertainty: Sequence[Uncertainty | None] = [None] * len(counts.strata)
    cell_uncertainty: Sequence[Uncertainty | None] = [None] * len(counts.group_counts)
    if system.system_uncertainty is not None:
        strata_uncertainty = system.system_uncertainty.strata_uncertainty
        cell_uncertainty = system.system_uncertainty.cell_uncertainty
    # Groupings often pool the very same trials, or all of them: those are measured once.
    pooled_values: dict[int, dict[Key, BaseValue]] = {}
    pooled_locations: dict[int, Mapping[tuple[str, str], FloatArray]] = {}
    for i, stratum in enumerate(counts.strata):
        values = _base_values(system, stratum.counts, stratum.outcomes)
        pooled_values[id(stratum.counts)] = values
        yield _grouping_metrics(system, stratum, None, [values], strata_uncertainty[i])
    for i, group_counts in enumerate(counts.group_counts):
        pooled_id = id(group_counts.pooled)
        # Of trials of failed recordings, which have no score, others may be in no group.
        has_failures = group_counts.outcomes[-1].failed_trials is not None
        if pooled_id not in pooled_values or has_failures:
            pooled_values[pooled_id] = _base_values(
                system, group_counts.pooled, group_counts.outcomes[-1]
            )
        if pooled_id not in pooled_locations:
            pooled_locations[pooled_id] = (
                {} if no_curve_reason else score_locations(group_counts.pooled)
            )
        reference = pooled_locations[pooled_id]
        pooled_shifts = score_shifts(group_counts.pooled, reference, no_curve=no_curve_reason)
        pooled = {**pooled_values[pooled_id], **pooled_shifts}
        cell_values = []
        for counts_of_group, outcomes, suppression_reason in zip(
            group_counts.counts,
            group_counts.outcomes[:-1],
            group_counts.suppression_reasons,
            strict=True,
        ):
            if suppression_reason:
                cell_values.append(suppressed_values(pooled, suppression_reason))
                continue
            shifts = score_shifts(counts_of_group, reference, no_curve=no_curve_reason)
            cell_values.append({**_base_values(system, counts_of_group, outcomes), **shifts})
        yield _grouping_metrics(
            system, group_counts.stratum, group_counts, [*cell_values, pooled], cell_uncertainty[i]
        )


def _grouping_metrics(
    system: System,
    stratum: Stratum,
    group_counts: GroupCounts | None,
    base_values: list[dict[Key, BaseValue]],
    uncertainty: Uncertainty | None,
) -> GroupingMetrics:
    """Return the metrics of one grouping's cells, or of all trials if there is no grouping."""
    no_draws_reason = system.no_intervals_reason
    if uncertainty is not None:
        no_draws_reason = uncertainty.no_draws_reason
        if uncertainty.draw_estimates is not None:
            draws = uncertainty.draw_estimates.cell_range(-len(base_values), None)
            base_values = without_optimism(base_values, draws)
    estimates = Estimates.from_cells(base_values)
    cell_names: tuple[str, ...] = ("all",)
    cost_estimates: list[tuple[Estimates, FloatArray | None]] = []
    area_estimates = None
    if group_counts is not None:
        cell_names = (*group_counts.grouping.groups, "pooled")
        for k, located in enumerate(system.points.min_cost_points):
            crossfitted_bias = None if uncertainty is None else uncertainty.crossfitted_bias[k]
            at_min_cost = min_cost_estimates(estimates, group_counts, located)
            cost_estimates.append((at_min_cost, crossfitted_bias))
        area_estimates = grid_estimates(group_counts, system.points.area_points)
    return GroupingMetrics(
        stratum=stratum,
        group_counts=group_counts,
        cell_names=cell_names,
        base_values=base_values,
        estimates=estimates,
        cost_estimates=cost_estimates,
        area_estimates=area_estimates,
        uncertainty=uncertainty,
        no_draws_reason=no_draws_reason,
    )


def _base_values(system: System, counts: Counts, outcomes: Outcomes) -> dict[Key, BaseValue]:
    """Return the base metrics of one cell."""
    trials, options = system.trials, system.design.options
    base_values = estimate_cell(
        counts,
        system.points,
        options,
        system.design.metrics,
        outcomes,
        no_curve=system.no_curve_reason,
    )
    if not options.llr:
        return base_values
    # The actual cost is read off at Bayes thresholds, at which binned counts may not be exact.
    for cost in options.costs:
        thresholds = [bayes_threshold(part, options.log_base) for part in cost.parts]
        key = "act_cdet_norm", cost.name, ""
        if not base_values[key].reason and not all(map(trials.bins.has_threshold, thresholds)):
            reason = fact(
                "threshold_between_edges",
                step=trials.bins.step,
                thresholds=trials.bins.thresholds,
            )
            base_values[key] = BaseValue(np.nan, None, base_values[key].trials, np.nan, reason)
    return base_values


def without_optimism(
    base_values: Sequence[Mapping[Key, BaseValue]], draws: Estimates
) -> list[dict[Key, BaseValue]]:
    """Return the metrics of each cell, less what fitting them to their own trials has won or lost.

    Each replicate differs from the data as the data do from all speakers: by the mean of this the
    metric is corrected, to 0 at least. See docs/methods/costs.md#calibration.
    """
    from parivox.auditing.intervals import draw_means  # noqa: PLC0415 - with intervals only

    corrected = [dict(values) for values in base_values]
    for i, key in enumerate(draws.keys):
        if not base_metric(key[0]).is_optimistic:
            continue
        means = draw_means(draws.values[:, i])
        for values, mean in zip(corrected, means.tolist(), strict=True):
            measured = values[key]
            if np.isfinite(mean) and np.isfinite(measured.value):
                values[key] = measured._replace(value=max(2 * measured.value - mean, 0.0))
    return corrected


def suppressed_values(pooled: Mapping[Key, BaseValue], reason: str) -> dict[Key, BaseValue]:
    """Return every base metric of a group of which nothing is known, undefined."""
    return dict.fromkeys(pooled, BaseValue(np.nan, None, 0, np.nan, reason))


# --- what is refused ------------------------------------------------------------------------


def _no_curve_reason(trials: TrialSet | TrialCounts) -> str:
    """Return why error rates are known at some thresholds only; empty if they are at all."""
    if not trials.is_scored:
        return NO_SCORES
    return trials.bins.no_curve_reason


_CURVELESS_CONTENT = {
    NO_SCORES: "decisions without scores",
    COUNTED_AT_THRESHOLDS: "counts at given thresholds only",
}


def _check_has_scores(development: TrialSet | TrialCounts) -> None:
    """Refuse trials without scores to find thresholds on."""
    no_curve_reason = _no_curve_reason(development)
    if no_curve_reason:
        content = _CURVELESS_CONTENT[no_curve_reason]
        msg = (
            f"--threshold-from: {development.provenance[0]['name']} contains {content}, from "
            "which no threshold can be set"
        )
        hint = "give scores"
        raise ConfigError(msg, hint)


def _check_deployed(
    trials: TrialSet | TrialCounts, points: Sequence[OperatingPoint] | None
) -> None:
    """Refuse the point ``deployed`` where nothing was decided."""
    if any(point.rule == DEPLOYED for point in points or ()) and not trials.has_decisions:
        msg = (
            f"--operating-point {DEPLOYED}: {trials.name} has neither a column "
            "'decision' nor a column 'threshold'"
        )
        hint = "add one of these columns, or use threshold=X"
        raise ConfigError(msg, hint)


def check_decisions(
    trials: TrialSet | TrialCounts, outcomes: Outcomes, orientation: str | None
) -> None:
    """Refuse decisions that contradict the scores."""
    if orientation == "similarity" or not trials.is_scored:
        return
    if are_inverted(outcomes.deployed_counts):
        msg = (
            f"{trials.name}: decisions contradict the scores: nontarget trials are accepted more "
            "often than target trials, although they score lower"
        )
        hint = "check the words in the decision column, or confirm the decisions with --similarity"
        raise DataError(msg, hint)


def _check_edges(trials: TrialSet | TrialCounts, located_points: Sequence[LocatedPoint]) -> None:
    """Refuse operating points at which counts in bins are not exact."""
    for located in located_points:
        threshold = located.threshold
        if (
            not located.reason
            and not np.isnan(threshold)
            and not trials.bins.has_threshold(threshold)
        ):
            msg = (
                f"operating point {located.point.text!r}: the counts of {trials.name} have "
                f"{trials.bins.in_words()}, but no threshold {threshold:.12g}"
            )
            hint = f"use a threshold of the counts, or count again with --threshold {threshold!r}"
            raise ConfigError(msg, hint)


def _check_counted_at(
    trials: TrialSet | SpeakerCounts, located_points: Sequence[LocatedPoint]
) -> None:
    """Refuse operating points at whose thresholds no errors by speaker are known."""
    if trials.edges is None:  # scores are known
        return
    for located in located_points:
        if located.point.rule == DEPLOYED or located.reason:
            continue
        if located.threshold not in trials.edges[1:]:
            msg = (
                f"operating point {located.point.text!r}: the speaker counts do not contain its "
                f"threshold, {located.threshold:.12g}"
            )
            hint = "make speaker counts for this operating point, or leave it out"
            raise ConfigError(msg, hint)


def check_polarity(
    trials: TrialSet | TrialCounts, all_counts: Counts, orientation: str | None
) -> None:
    """Refuse scores that are higher for different speakers than for the same one."""
    if orientation == "similarity" or not (all_counts.n_target and all_counts.n_nontarget):
        return
    area = float(auc(all_counts))
    if area >= CHANCE:
        return
    name = trials.name
    if not trials.is_scored:
        msg = (
            f"{name}: target trials are accepted less often than nontarget trials (AUC {area:.4f})"
        )
        hint = "check the words in the decision column, or confirm the decisions with --similarity"
        raise DataError(msg, hint)
    if orientation == "distance":
        msg = (
            f"{name}: as distances, the scores of target trials would be larger than those of "
            f"nontarget trials (AUC {area:.4f}), so the scores are similarities"
        )
        hint = "leave out --distance"
        raise DataError(msg, hint)
    msg = (
        f"{name}: scores of target trials are below those of nontarget trials (AUC {area:.4f}), "
        "as for distances"
    )
    hint = "negate the scores with --distance, or keep them with --similarity"
    raise DataError(msg, hint)
