"""What was read, joined and set aside, and what the cells leave out."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.cell_counts import count_cells
from parivox.auditing.list_warnings import (
    list_warnings,
    recording_warnings,
    repeated_calls,
    reversed_scores,
    same_scores,
)
from parivox.auditing.missing_scores import add_missing_scores
from parivox.auditing.operating_points import DEPLOYED, missed_targets
from parivox.auditing.outcomes import are_inverted, are_rates_inverted
from parivox.auditing.system import CHANCE
from parivox.core.costs import min_cdet
from parivox.core.eer import eer
from parivox.core.separation import auc
from parivox.data.attribute_warnings import age_warnings, speaker_warnings
from parivox.data.formats.delimited import COMMENT_LINES, SPANNING_RECORDS
from parivox.data.recording_names import recording_name_warnings
from parivox.data.trial_checks import item_by_speaker
from parivox.data.trial_set import n_trials_in_common
from parivox.data.value_warnings import (
    WARNING_SOURCE,
    DataWarning,
    id_warnings,
    llr_warnings,
    score_warnings,
)
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.outcomes import Outcomes
    from parivox.auditing.schema import TableBuilder
    from parivox.auditing.system import System
    from parivox.core.counts import Counts
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import DataNote
    from parivox.data.trial_set import TrialSet

_MAX_NAMED_DAYS = 5
_BOTH_SIDES_NOTE = "both_sides_must_have_one_value"
WITHOUT_TRIALS = "speakers_without_trials"
"""They are in no other table: groups are of what occurs in trials."""
TRIALS_OF_UNKNOWN_GROUP = "trials_of_unknown_group"
SPEAKERS_OF_UNKNOWN_GROUP = "speakers_of_unknown_group"
AT_DEPLOYED_THRESHOLD = "trials_at_deployed_threshold"
WITHOUT_CONFLICTS, WITH_CONFLICTS = "without_contradicting_rows", "with_contradicting_rows"
"""Codes of metrics of the rows that are left, and of all rows."""
POINT_WARNINGS = "operating points"
"""The source of what is odd about thresholds."""
MISSED_TARGET_POINTS = "missed_points"
INFINITE_THRESHOLDS = "infinite_thresholds"
THRESHOLDS_OUTSIDE_SCORES = "thresholds_outside_scores"
IMPLAUSIBLE_THRESHOLDS = "implausible_thresholds"
_MIN_SEPARATING_AUC, _MAX_PLAUSIBLE_RATE = 0.8, 0.9
"""AUC from which on scores tell trials apart; rate above which a given threshold does not."""
TRIALS_BEYOND_MEMORY = "trials_beyond_memory"
MAX_LISTED_THRESHOLDS = 50
"""Of more deployed thresholds than these, only the lowest and the highest are told."""


def add_trial_accounts(
    table_builder: TableBuilder,
    trials: TrialSet | TrialCounts,
    speakers: Speakers | None,
    groupings: Sequence[Grouping],
    cell_counts: CellCounts,
    located_points: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Count what was read and set aside, per file and per grouping, and odd operating points."""
    add = partial(table_builder.add, system=trials.system, list=trials.list)
    _add_read_data(add, trials, speakers, cell_counts.n_recordings)
    if options.llr_base is not None:
        item = fact("scores_multiplied_by_log", base=options.llr_base)
        note = "thresholds_in_units_of_scores"
        add(source="scores", item=item, count=trials.n_trials, note=note)
    _add_left_out_trials(add, cell_counts, may_withhold=trials.speaker_source is None)
    _add_set_aside_trials(add, trials, groupings)
    if trials.identified is not None:
        add_missing_scores(add, trials.identified, groupings)
    if speakers is not None and trials.people is not None:
        _add_speakers_without_group(add, trials.people, groupings)
    for item, n_failed in zip(
        ("failed_enrolments_without_trials", "failed_tests_without_trials"),
        cell_counts.n_unmet_failures,
        strict=True,
    ):
        if n_failed:
            add(source="failures", item=item, count=n_failed, note="counted_in_fte_or_fta")
    _add_undecided_trials(add, cell_counts)
    _add_inverted_decisions(add, cell_counts, is_scored=trials.is_scored)
    _add_days_with_inverted_decisions(add, trials.decisions_by_day)
    if trials.is_scored:
        for grouping, warning in reversed_scores(cell_counts):
            add(
                source=WARNING_SOURCE,
                grouping=grouping,
                item=warning.what,
                count=warning.count,
                note=warning.note,
            )
    _add_deployed_thresholds(add, cell_counts)
    infinite_points = [
        {
            "operating_point": located_point.point.text,
            "threshold": str(located_point.threshold),
        }
        for located_point in located_points
        if np.isinf(located_point.threshold)
    ]
    points_outside_scores, implausible_points = (
        _implausible_points(located_points, cell_counts) if trials.is_scored else ([], [])
    )
    for item, unusual_points in (
        (MISSED_TARGET_POINTS, missed_targets(located_points, cell_counts.all_counts)),
        (INFINITE_THRESHOLDS, infinite_points),
        (THRESHOLDS_OUTSIDE_SCORES, points_outside_scores),
        (IMPLAUSIBLE_THRESHOLDS, implausible_points),
    ):
        if unusual_points:
            add(
                source=POINT_WARNINGS,
                item=item,
                count=len(unusual_points),
                note=fact("operating_points", points=unusual_points),
            )


def _add_read_data(
    add: Callable[..., None],
    trials: TrialSet | TrialCounts,
    speakers: Speakers | None,
    model_and_recording_counts: tuple[int, int] | None,
) -> None:
    """What was read and counted."""
    for row in trials.account():
        add(**row)
    notes: list[DataNote] = []
    if speakers is not None and trials.people is not None:
        notes = speakers.notes(trials.people.speakers_in_use.tolist())
    for data_note in notes:
        add(
            source=data_note.source, item=data_note.item, count=data_note.count, note=data_note.note
        )
    files = [*trials.provenance, *([] if speakers is None else speakers.provenance)]
    for file in files:
        if comments := file.get(COMMENT_LINES):
            item = fact("comments_above_data", file=file["name"])
            add(source=file["role"], item=item, count=comments, note="skipped")
        if spanning := file.get(SPANNING_RECORDS):
            item = fact("rows_over_several_lines", file=file["name"])
            note = fact("first_such_row", row=spanning["first_row"])
            add(source=file["role"], item=item, count=spanning["records"], note=note)
    if model_and_recording_counts is not None:
        n_models, n_recordings = model_and_recording_counts
        if n_models:
            add(source="scores", item="models", count=n_models)
        add(source="scores", item="recordings", count=n_recordings)


def add_data_warnings(
    table_builder: TableBuilder,
    trials: TrialSet | TrialCounts,
    groupings: Sequence[Grouping],
    all_counts: Counts,
    development: TrialSet | TrialCounts | None,
    options: Options,
) -> None:
    """Add what is odd about values, ids and scores, from the code of the inspection."""
    warnings = list(_attribute_warnings(trials, groupings))
    whole_list = trials.whole_list
    if whole_list is not None:
        ids = whole_list.utterance_ids.series()  # where a model may have the name of a recording
        distinct_ids = ids.unique(maintain_order=True) if whole_list.n_models else ids
        warnings += id_warnings(distinct_ids, quotes_ids=False)
        warnings += recording_name_warnings(whole_list.recording_names)
        warnings += list_warnings(whole_list, groupings)
        warnings += recording_warnings(whole_list, groupings)
        if whole_list.is_scored:
            warnings += repeated_calls(whole_list, all_counts)
        if whole_list.speaker_table is not None:
            warnings += speaker_warnings(whole_list.speaker_table.ids)
    n_shared_trials = 0
    development_list = None if development is None else development.whole_list
    if whole_list is not None and development_list is not None:
        n_shared_trials = n_trials_in_common(whole_list, development_list)
    if n_shared_trials:
        warnings.append(
            DataWarning("audited_development_trials", n_shared_trials, "thresholds_fit_too_well")
        )
    if trials.is_scored and trials.is_exact and not trials.bins.step:
        is_score = np.ones(all_counts.values.size, dtype=np.bool_)
        if whole_list is not None and whole_list.first_stage_threshold is not None:
            is_score = all_counts.values > -np.inf  # what a countermeasure rejects has no other
        warnings += score_warnings(
            all_counts.values[is_score],
            all_counts.target[is_score],
            all_counts.nontarget[is_score],
        )
    if options.llr and trials.is_scored and not trials.bins.no_curve_reason:
        bayes_costs = [
            warning.cost
            for warning in options.points() or ()
            if warning.rule == "bayes" and warning.cost
        ]
        warnings += llr_warnings(all_counts, options.log_base, [*options.costs, *bayes_costs])
    if trials.identified is not whole_list:
        warnings.append(
            DataWarning(TRIALS_BEYOND_MEMORY, trials.n_trials, "list_and_scores_unchecked")
        )
    add_warnings(table_builder, trials, warnings)


def add_warnings(
    table_builder: TableBuilder, trials: TrialSet | TrialCounts, warnings: Iterable[DataWarning]
) -> None:
    """Add data warnings on some trials, each once."""
    for warning in dict.fromkeys(warnings):
        table_builder.add(
            system=trials.system,
            list=trials.list,
            source=WARNING_SOURCE,
            item=warning.what,
            count=warning.count,
            note=warning.note,
        )


def _attribute_warnings(
    trials: TrialSet | TrialCounts, groupings: Sequence[Grouping]
) -> Iterator[DataWarning]:
    """Yield what is odd about the values of attributes, and about the ages of speakers."""
    for grouping in groupings:
        yield from grouping.data_warnings()
        if trials.identified is not None and grouping.speaker_numbers is not None:
            numbers = np.asarray(grouping.speaker_numbers, dtype=np.float64)
            ages = numbers[trials.identified.speakers_in_use]
            yield from age_warnings(grouping.attributes[0].partition(":")[0], ages)


def add_same_score_warnings(
    table_builder: TableBuilder, first_system: System, second_system: System
) -> None:
    """Add that two systems have the same scores, but perhaps for their scale, if they have."""
    first_trials = first_system.trials.identified
    second_trials = second_system.trials.identified
    if first_trials is None or second_trials is None:
        return
    if first_trials.list != second_trials.list or not (
        first_trials.is_scored and second_trials.is_scored
    ):
        return
    if code := same_scores(first_trials, second_trials):
        table_builder.add(
            system=second_trials.system,
            list=second_trials.list,
            source=WARNING_SOURCE,
            item=fact(code, system=first_trials.system),
            count=second_trials.n_trials,
            note="files_may_be_of_one_system",
        )


def _add_left_out_trials(
    add: Callable[..., None], cell_counts: CellCounts, *, may_withhold: bool
) -> None:
    """Trials that are in no group, or in no level."""
    for cells in cell_counts.group_counts:
        if cells.stratum.name:
            continue
        is_of_speakers = cells.grouping.speaker_codes is not None
        n_unknown, n_between = cells.n_left_out
        unknown = fact(
            TRIALS_OF_UNKNOWN_GROUP,
            unit="speaker" if is_of_speakers else "side",
            or_withheld=may_withhold,
            allocation=cells.allocation,
        )
        between = fact(
            "nontarget_trials_between_two_groups"
            if is_of_speakers
            else "trials_between_two_groups",
            allocation=cells.allocation,
        )
        between_note = "" if is_of_speakers else _BOTH_SIDES_NOTE
        for item, n_trials, note in ((unknown, n_unknown, ""), (between, n_between, between_note)):
            add(
                source="scores",
                grouping=cells.grouping.name,
                item=item,
                count=n_trials,
                note=note if n_trials else "",
            )
    for within, n_trials in cell_counts.n_outside_strata.items():
        note = _BOTH_SIDES_NOTE if n_trials else ""
        add(
            source="scores", grouping=within, item="trials_in_no_stratum", count=n_trials, note=note
        )


def _add_set_aside_trials(
    add: Callable[..., None], trials: TrialSet | TrialCounts, groupings: Sequence[Grouping]
) -> None:
    """What was set aside or worth noting, by the group of the enrolment speaker."""
    for row_kind, counts_of_speakers in trials.counts_by_speaker.items():
        for grouping in groupings:
            if grouping.speaker_codes is None:
                continue
            speaker_groups = grouping.speaker_codes[: counts_of_speakers.size]
            has_group = speaker_groups >= 0
            counts_of_groups = np.bincount(
                speaker_groups[has_group],
                counts_of_speakers[has_group],
                minlength=len(grouping.groups),
            )
            add(
                source="scores",
                grouping=grouping.name,
                group=list(grouping.groups),
                item=item_by_speaker(row_kind),
                count=counts_of_groups.astype(np.int64),
            )


def _add_speakers_without_group(
    add: Callable[..., None], trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping]
) -> None:
    """Speakers and utterances that are in no group, or in one that no trial has anyone of."""
    for grouping in groupings:
        add_row = partial(add, grouping=grouping.name)
        for excluded in trials.excluded_values(grouping):
            add_row(source="groups", item=excluded.item, count=excluded.n_units)
        if grouping.speaker_codes is not None:
            count = int((grouping.speaker_codes[trials.speakers_in_use] < 0).sum())
            add_row(source="speakers", item=SPEAKERS_OF_UNKNOWN_GROUP, count=count)
            if speakers_of_unused_groups := grouping.unused_groups:
                # all of them, as a gate judges each by its name; earlier releases read `more`
                note = fact("groups", groups=list(speakers_of_unused_groups), more=0)
                count = sum(speakers_of_unused_groups.values())
                n_groups = float(len(speakers_of_unused_groups))
                add_row(
                    source="speakers", item=WITHOUT_TRIALS, count=count, value=n_groups, note=note
                )
        elif not grouping.is_of_trials:
            recording_codes = trials.recording_codes(grouping)
            if recording_codes is not None:
                count = int((recording_codes < 0).sum())
                add_row(source="utterances", item="utterances_of_unknown_group", count=count)


def _add_undecided_trials(add: Callable[..., None], cell_counts: CellCounts) -> None:
    """Trials that have neither a decision nor a threshold, and so no part in ``deployed``."""

    def undecided_trials(counts: Counts, outcomes: Outcomes) -> int:
        deployed_counts = outcomes.deployed_counts
        n_decided = (
            0
            if deployed_counts is None
            else int(deployed_counts.n_target + deployed_counts.n_nontarget)
        )
        return int(counts.n_target + counts.n_nontarget) - n_decided

    all_trials = cell_counts.strata[0]
    if all_trials.outcomes.deployed_counts is None or not (
        n_undecided := undecided_trials(all_trials.counts, all_trials.outcomes)
    ):
        return
    code = "undecided_trials"
    add(source="scores", item=code, count=n_undecided)
    for cells in cell_counts.group_counts:
        if not cells.stratum.name:
            add(
                source="scores",
                grouping=cells.grouping.name,
                group=list(cells.grouping.groups),
                item=fact(code, allocation=cells.allocation),
                count=list(map(undecided_trials, cells.counts, cells.outcomes)),
            )


def _add_inverted_decisions(
    add: Callable[..., None], cell_counts: CellCounts, *, is_scored: bool
) -> None:
    """Groups whose decisions contradict the scores, or the labels where there are no scores."""
    for cells in cell_counts.group_counts:
        if cells.stratum.name or cells.allocation != cell_counts.group_counts[0].allocation:
            continue
        for group, counts, outcomes in zip(
            cells.grouping.groups, cells.counts, cells.outcomes, strict=False
        ):
            if not (counts.n_target and counts.n_nontarget) or not are_inverted(
                outcomes.deployed_counts
            ):
                continue
            # of decisions alone, those of all trials were found to be sound before
            if not is_scored or float(auc(counts)) >= CHANCE:
                code, note = "decisions_against_labels", "nontargets_accepted_more_often"
                if is_scored:
                    code, note = "decisions_against_scores", "lower_scores_accepted_more_often"
                add(
                    source=WARNING_SOURCE,
                    grouping=cells.grouping.name,
                    item=fact(code, group=group),
                    count=int(counts.n_target + counts.n_nontarget),
                    note=note,
                )


def _implausible_points(
    located_points: Sequence[LocatedPoint], cell_counts: CellCounts
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Thresholds outside the range of scores, and others that hardly tell trials apart.

    The latter only of thresholds that are given, where the scores do tell trials apart.
    """
    points_outside_scores: list[dict[str, Any]] = []
    implausible_points: list[dict[str, Any]] = []
    has_separation = float(auc(cell_counts.all_counts)) >= _MIN_SEPARATING_AUC
    for located_point in located_points:
        if located_point.reason or not (
            np.isfinite(located_point.threshold) or located_point.point.rule == DEPLOYED
        ):
            continue
        is_given = located_point.point.rule in {"threshold", DEPLOYED}
        point = {"operating_point": located_point.point.text}
        if {located_point.fpr, located_point.fnr} == {0.0, 1.0}:
            decision = "accepts" if located_point.fpr == 1 else "rejects"
            points_outside_scores.append(point | {"decision": decision})
        elif is_given and has_separation and located_point.fpr > _MAX_PLAUSIBLE_RATE:
            implausible_points.append(point | {"fpr": float(located_point.fpr)})
        elif is_given and has_separation and located_point.fnr > _MAX_PLAUSIBLE_RATE:
            implausible_points.append(point | {"fnr": float(located_point.fnr)})
    return points_outside_scores, implausible_points


def _add_days_with_inverted_decisions(
    add: Callable[..., None], by_day: Mapping[str, NDArray[np.int64]]
) -> None:
    """Days whose decisions contradict the labels, although those of all days do not."""
    inverted_days = {}
    for day, counts in by_day.items():
        n_nontarget, n_target = counts.sum(axis=1).tolist()
        acceptance_rates = tuple((counts[:, 1] / np.maximum(counts.sum(axis=1), 1)).tolist())
        if are_rates_inverted(acceptance_rates, (n_nontarget, n_target)):
            inverted_days[day] = n_nontarget + n_target
    if inverted_days and len(inverted_days) < len(by_day):
        note = fact(
            "days_with_inverted_decisions",
            days=[*inverted_days][:_MAX_NAMED_DAYS],
            more=max(len(inverted_days) - _MAX_NAMED_DAYS, 0),
        )
        add(
            source=WARNING_SOURCE,
            item="trials_of_inverted_days",
            count=sum(inverted_days.values()),
            note=note,
        )


def _add_deployed_thresholds(add: Callable[..., None], cell_counts: CellCounts) -> None:
    """The thresholds that trials of every cell were decided at: each, or lowest and highest."""
    cells_with_names: list[tuple[str, str, Any, Outcomes, dict[str, Any]]] = [
        ("all", "all", stratum, stratum.outcomes, {}) for stratum in cell_counts.strata
    ]
    for cells in cell_counts.group_counts:
        names = (*cells.grouping.groups, "pooled")
        for group, outcomes in zip(names, cells.outcomes, strict=True):
            allocation = {"allocation": cells.allocation}
            cells_with_names.append(
                (cells.grouping.name, group, cells.stratum, outcomes, allocation)
            )
    for grouping, group, stratum, outcomes, allocation in cells_with_names:
        listed_thresholds = outcomes.deployed_thresholds
        if not listed_thresholds:
            continue
        values: dict[str, Any] = {**allocation}
        if len(listed_thresholds) > MAX_LISTED_THRESHOLDS:
            values = allocation | {"extremes_of": len(listed_thresholds)}
            listed_thresholds = {
                threshold: listed_thresholds[threshold]
                for threshold in (min(listed_thresholds), max(listed_thresholds))
            }
        add(
            source="scores",
            grouping=grouping,
            group=group,
            within=stratum.name,
            item=[
                fact(AT_DEPLOYED_THRESHOLD, threshold=repr(threshold), **values)
                for threshold in listed_thresholds
            ],
            count=list(listed_thresholds.values()),
            value=list(listed_thresholds),
        )


def add_conflict_effects(
    table_builder: TableBuilder,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    cell_counts: CellCounts,
    located_points: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Repeat the headline with the contradicting rows that were set aside, per group."""
    add = partial(table_builder.add, system=trials.system, list=trials.list, source="conflicts")
    thresholds = [located_point.threshold for located_point in located_points]
    counts_with_conflicts = count_cells(
        trials, groupings, options.allocate, thresholds=thresholds, keep_conflicts=True
    )
    all_without, all_with = (
        (cell_table.strata[0].counts, cell_table.strata[0].outcomes)
        for cell_table in (cell_counts, counts_with_conflicts)
    )
    compared_cells: list[tuple[str, str, dict[str, str], Any]] = [
        ("all", "all", {}, (all_without, all_with))
    ]
    unstratified_cells = (cells for cells in cell_counts.group_counts if not cells.stratum.name)
    for cells_without, cells_with in zip(
        unstratified_cells, counts_with_conflicts.group_counts, strict=True
    ):
        compared_cells += [
            (
                cells_without.grouping.name,
                group,
                {"allocation": cells_without.allocation},
                (outcome_without, outcome_with),
            )
            for group, outcome_without, outcome_with in zip(
                (*cells_without.grouping.groups, "pooled"),
                zip(
                    (*cells_without.counts, cells_without.pooled),
                    cells_without.outcomes,
                    strict=True,
                ),
                zip((*cells_with.counts, cells_with.pooled), cells_with.outcomes, strict=True),
                strict=True,
            )
        ]
    for grouping, group, allocation, without_and_with in compared_cells:
        n_trials = [int(counts.n_target + counts.n_nontarget) for counts, _ in without_and_with]
        add_row = partial(add, grouping=grouping, group=group)
        item = fact("contradicting_rows_set_aside", **allocation)
        add_row(item=item, count=n_trials[1] - n_trials[0])
        for code, (counts, outcomes) in zip(
            (WITHOUT_CONFLICTS, WITH_CONFLICTS), without_and_with, strict=True
        ):
            measured = _rates_at_points(counts, outcomes, located_points)
            if trials.is_scored and counts.n_target and counts.n_nontarget:
                for rule in options.eer:
                    names = {"metric": "eer", "definition": rule}
                    measured.append((names, float(eer(counts, definition=rule))))
                for cost in options.costs:
                    names = {"metric": "min_cdet_norm", "definition": cost.name}
                    measured.append((names, float(min_cdet(counts, cost=cost).value)))
            add_row(
                item=[fact(code, **names, **allocation) for names, _ in measured],
                value=[value for _, value in measured],
            )


def _rates_at_points(
    counts: Counts, outcomes: Outcomes, located_points: Sequence[LocatedPoint]
) -> list[tuple[dict[str, str], float]]:
    """Both rates at each operating point, with their names."""
    rates = {}
    for located_point in located_points:
        counts_at_point, threshold = counts, located_point.threshold
        if located_point.point.rule == DEPLOYED and outcomes.deployed_counts is not None:
            counts_at_point, threshold = outcomes.deployed_counts, 1.0
        rates_at_threshold = counts_at_point.at([threshold])
        rates[located_point] = (
            (math.nan, math.nan)
            if located_point.reason
            else (float(rates_at_threshold.fpr[0]), float(rates_at_threshold.fnr[0]))
        )
    return [
        (
            {"metric": metric, "operating_point": located_point.point.text},
            point_rates[metric_index],
        )
        for metric_index, metric in enumerate(("fpr", "fnr"))
        for located_point, point_rates in rates.items()
    ]
