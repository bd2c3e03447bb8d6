"""What was read, joined and set aside, and what the cells leave out."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

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
from parivox.auditing.speaker_counts import SpeakerCounts
from parivox.auditing.system import CHANCE
from parivox.core.costs import min_cdet
from parivox.core.eer import eer
from parivox.core.separation import auc
from parivox.data.attribute_warnings import age_warnings, speaker_warnings
from parivox.data.formats.delimited import SPANNING_RECORDS
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import DataNote
    from parivox.data.trial_set import TrialSet

_DAYS_NAMED = 5
_ONE_SIDE = "both sides must have one value; enrol.x or test.x takes that of one side"
WITHOUT_TRIALS = "speakers of groups without any trial"
"""They are in no other table: groups are of what occurs in trials."""
UNKNOWN_GROUP = "whose group is unknown"
POINT_WARNINGS = "operating points"
"""The source of what is odd about thresholds."""
MISSED = "missed operating points"
INFINITE = "infinite thresholds"
OUTSIDE = "thresholds outside the range of scores, as of another model or scale"
USELESS = "thresholds that may be of another model or scale"
_SEPARATES, _MOST_ERRORS = 0.8, 0.9
"""AUC from which on scores tell trials apart; rate above which a given threshold does not."""
LONG = "trials of a list too long for memory"
_WITHOUT = "neither the list nor ids and scores are checked; audit a random part of it to have them"
MAX_NAMED_GROUPS = 10
"""Of more groups without trials than these, the others are counted."""
MAX_LISTED_THRESHOLDS = 50
"""Of more deployed thresholds than these, only the lowest and the highest are told."""


def add_trial_accounts(
    rows: TableBuilder,
    trials: TrialSet | TrialCounts,
    people: Speakers | None,
    groupings: Sequence[Grouping],
    tally: CellCounts,
    found: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Count what was read and set aside, per file and per grouping, and odd operating points.

    `rows` are of the table ``data``, `tally` the trials of the cells.
    """
    add = partial(rows.add, system=trials.system, list=trials.list)
    _of_read(add, trials, people, tally.n_recordings)
    if options.llr_base is not None:
        item = f"scores multiplied by ln {options.llr_base} for Cllr and Bayes thresholds"
        note = "thresholds are in the units of the scores"
        add(source="scores", item=item, count=trials.n_trials, note=note)
    _left_out(add, tally, may_withhold=trials.trials_by_speaker is None)
    if trials.has_speakers:
        _set_aside(add, trials, groupings)
        add_missing_scores(add, trials, groupings)
    rows_of_people = trials.trials_by_speaker
    if people is not None and rows_of_people is not None and not trials.has_speaker_blocks:
        _of_people(add, rows_of_people, groupings)
    for what, count in zip(("enrolments", "test recordings"), tally.n_unmet_failures, strict=True):
        if count:
            item = f"{what} that failed and that no trial has"
            note = "counted in FTE or FTA alone"
            add(source="failures", item=item, count=count, note=note)
    _undecided(add, tally)
    _inverted(add, tally, is_scored=trials.is_scored)
    _inverted_days(add, trials.decisions_by_day if trials.has_speakers else {})
    if trials.is_scored:
        for grouping, odd in reversed_scores(tally):
            add(
                source=WARNING_SOURCE,
                grouping=grouping,
                item=odd.what,
                count=odd.count,
                note=odd.note,
            )
    _thresholds(add, tally)
    infinite = [f"{one.point.text} at {one.threshold}" for one in found if np.isinf(one.threshold)]
    outside, useless = _unfit(found, tally) if trials.is_scored else ([], [])
    for item, points in (
        (MISSED, missed_targets(found, tally.all_counts)),
        (INFINITE, infinite),
        (OUTSIDE, outside),
        (USELESS, useless),
    ):
        if points:
            add(source=POINT_WARNINGS, item=item, count=len(points), note=", ".join(points))


def _of_read(
    add: Callable[..., None],
    trials: TrialSet | TrialCounts,
    people: Speakers | None,
    recordings: tuple[int, int] | None,
) -> None:
    """What was read and counted."""
    notes: list[DataNote] = []
    rows = trials.trials_by_speaker
    if people is not None and rows is not None and not trials.has_speaker_blocks:
        notes = people.notes(rows.speakers_in_use.tolist())
    if not trials.has_speakers:
        for row in trials.account():
            add(**row)
    else:
        notes = [*trials.data_notes, *notes]
    for one in notes:
        add(source=one.source, item=one.item, count=one.count, note=one.note)
    files = [*trials.provenance, *([] if people is None else people.provenance)]
    for file in files:
        if spanning := file.get(SPANNING_RECORDS):
            item = f"rows of {file['name']} with a cell over several lines"
            note = f"the first is row {spanning['first_row']}"
            add(source=file["role"], item=item, count=spanning["records"], note=note)
    if trials.has_speakers:
        models, used = recordings or (0, 0)
        if models:
            add(source="scores", item="models", count=models)
        add(source="scores", item="recordings", count=used)


def add_data_warnings(
    rows: TableBuilder,
    trials: TrialSet | TrialCounts,
    groupings: Sequence[Grouping],
    everything: Counts,
    development: TrialSet | TrialCounts | None,
    options: Options,
) -> None:
    """Add what is odd about values, ids and scores, from the code of the inspection.

    `rows` are of the table ``data``, `everything` the counts of all trials by score.
    """
    found = list(_of_attributes(trials, groupings))
    if trials.has_speakers and trials.is_exact:
        ids = trials.utterance_ids.series()  # where a model may have the name of a recording
        found += id_warnings(ids.unique(maintain_order=True) if trials.n_models else ids)
        found += recording_name_warnings(trials)
        found += list_warnings(trials, groupings)
        found += recording_warnings(trials, groupings)
        if trials.is_scored:
            found += repeated_calls(trials)
        if trials.speaker_table is not None:
            found += speaker_warnings(trials.speaker_table.ids)
    shared = 0
    if trials.has_speakers and development is not None and development.has_speakers:
        shared = n_trials_in_common(trials, development)
    if shared:
        note = "thresholds fit them better than trials in use"
        found.append(DataWarning("development trials that are audited", shared, note))
    if trials.is_scored and trials.is_exact and not trials.bins.step:
        found += score_warnings(everything.values, everything.target, everything.nontarget)
    if options.llr and trials.is_scored and not trials.bins.no_curve_reason:
        points = [one.cost for one in options.points() or () if one.rule == "bayes" and one.cost]
        found += llr_warnings(everything, options.log_base, [*options.costs, *points])
    if trials.has_speakers and not trials.is_exact:
        found.append(DataWarning(LONG, trials.n_trials, _WITHOUT))
    for one in dict.fromkeys(found):
        rows.add(
            system=trials.system,
            list=trials.list,
            source=WARNING_SOURCE,
            item=one.what,
            count=one.count,
            note=one.note,
        )


def _of_attributes(
    trials: TrialSet | TrialCounts, groupings: Sequence[Grouping]
) -> Iterator[DataWarning]:
    """Yield what is odd about the values of attributes, and about the ages of speakers."""
    for grouping in groupings:
        yield from grouping.data_warnings()
        if trials.has_speakers and grouping.speaker_numbers is not None:
            ages = np.asarray(grouping.speaker_numbers, dtype=np.float64)[trials.speakers_in_use]
            yield from age_warnings(grouping.attributes[0].partition(":")[0], ages)


def add_same_score_warnings(rows: TableBuilder, one: System, other: System) -> None:
    """Add that two systems have the same scores, but perhaps for their scale, if they have."""
    first, second = one.trials, other.trials
    if first.list != second.list or not (first.is_scored and second.is_scored):
        return
    if not (first.has_speakers and second.has_speakers):
        return
    if words := same_scores(first, second):
        rows.add(
            system=second.system,
            list=second.list,
            source=WARNING_SOURCE,
            item=f"trials with {words} as in {first.system}",
            count=second.n_trials,
            note="the files may be of one system",
        )


def _left_out(add: Callable[..., None], tally: CellCounts, *, may_withhold: bool) -> None:
    """Trials that are in no group, or in no level."""
    for cells in tally.group_counts:
        if cells.stratum.name:
            continue
        is_of_speakers = cells.grouping.speaker_codes is not None
        whose, which = ("speaker", "nontarget trials") if is_of_speakers else ("side", "trials")
        withheld = " or withheld" if may_withhold else ""
        unknown, between = cells.n_left_out
        for item, count, note in (
            (f"trials of a {whose} {UNKNOWN_GROUP}{withheld}", unknown, ""),
            (f"{which} between two groups", between, "" if is_of_speakers else _ONE_SIDE),
        ):
            add(
                source="scores",
                grouping=cells.grouping.name,
                item=f"{item}, in no group (allocation {cells.allocation})",
                count=count,
                note=note if count else "",
            )
    for within, count in tally.n_outside_strata.items():
        item = "trials in no level of --within, or between two"
        note = _ONE_SIDE if count else ""
        add(source="scores", grouping=within, item=item, count=count, note=note)


def _set_aside(add: Callable[..., None], trials: TrialSet, groupings: Sequence[Grouping]) -> None:
    """What was set aside or worth noting, by the group of the enrolment speaker."""
    for item, of_speaker in trials.counts_by_speaker.items():
        for grouping in groupings:
            if grouping.speaker_codes is None:
                continue
            group = grouping.speaker_codes[: of_speaker.size]
            known = group >= 0
            counts = np.bincount(group[known], of_speaker[known], minlength=len(grouping.groups))
            add(
                source="scores",
                grouping=grouping.name,
                group=list(grouping.groups),
                item=item_by_speaker(item),
                count=counts.astype(np.int64),
            )


def _of_people(
    add: Callable[..., None], trials: TrialSet | SpeakerCounts, groupings: Sequence[Grouping]
) -> None:
    """Speakers and utterances that are in no group, or in one that no trial has anyone of."""
    for grouping in groupings:
        add_of = partial(add, grouping=grouping.name)
        if not isinstance(trials, SpeakerCounts):
            for unit, value, count in grouping.excluded_values(trials):
                item = f"{unit} whose {value} is left out by the groups file"
                add_of(source="groups", item=item, count=count)
        if grouping.speaker_codes is not None:
            item = "speakers of these trials whose group is unknown or left out"
            count = int((grouping.speaker_codes[trials.speakers_in_use] < 0).sum())
            add_of(source="speakers", item=item, count=count)
            if unused := grouping.unused_groups:
                note = ", ".join(list(unused)[:MAX_NAMED_GROUPS])
                if len(unused) > MAX_NAMED_GROUPS:
                    note += f" and {len(unused) - MAX_NAMED_GROUPS} more"
                count = sum(unused.values())
                n_groups = float(len(unused))
                add_of(
                    source="speakers", item=WITHOUT_TRIALS, count=count, value=n_groups, note=note
                )
        elif not (grouping.is_of_trials or isinstance(trials, SpeakerCounts)):
            item = "utterances of these trials whose group is unknown or left out"
            count = int((grouping.utterance_codes(trials) < 0).sum())
            add_of(source="utterances", item=item, count=count)


def _undecided(add: Callable[..., None], tally: CellCounts) -> None:
    """Trials that have neither a decision nor a threshold, and so no part in ``deployed``."""

    def undecided(counts: Counts, outcomes: Outcomes) -> int:
        decided = outcomes.deployed_counts
        known = 0 if decided is None else int(decided.n_target + decided.n_nontarget)
        return int(counts.n_target + counts.n_nontarget) - known

    whole = tally.strata[0]
    if whole.outcomes.deployed_counts is None or not (
        count := undecided(whole.counts, whole.outcomes)
    ):
        return
    item = "trials without decision or threshold, not in deployed"
    add(source="scores", item=item, count=count)
    for cells in tally.group_counts:
        if not cells.stratum.name:
            add(
                source="scores",
                grouping=cells.grouping.name,
                group=list(cells.grouping.groups),
                item=f"{item} (allocation {cells.allocation})",
                count=list(map(undecided, cells.counts, cells.outcomes)),
            )


def _inverted(add: Callable[..., None], tally: CellCounts, *, is_scored: bool) -> None:
    """Groups whose decisions contradict the scores, or the labels where there are no scores."""
    for cells in tally.group_counts:
        if cells.stratum.name or cells.allocation != tally.group_counts[0].allocation:
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
                add(
                    source=WARNING_SOURCE,
                    grouping=cells.grouping.name,
                    item=f"trials of {group} whose decisions contradict the "
                    f"{'scores' if is_scored else 'labels'}",
                    count=int(counts.n_target + counts.n_nontarget),
                    note="nontarget trials are accepted more often than target trials"
                    + (", although they score lower" if is_scored else ""),
                )


def _unfit(found: Sequence[LocatedPoint], tally: CellCounts) -> tuple[list[str], list[str]]:
    """Thresholds outside the range of scores, and others that hardly tell trials apart.

    The latter only of thresholds that are given, where the scores do tell trials apart.
    """
    outside, useless = [], []
    has_separation = float(auc(tally.all_counts)) >= _SEPARATES
    for one in found:
        if one.reason or not (np.isfinite(one.threshold) or one.point.rule == DEPLOYED):
            continue
        is_given = one.point.rule in {"threshold", DEPLOYED}
        if {one.fpr, one.fnr} == {0.0, 1.0}:
            verb = "accepts" if one.fpr == 1 else "rejects"
            outside.append(f"{one.point.text} {verb} all trials")
        elif is_given and has_separation and one.fpr > _MOST_ERRORS:
            useless.append(f"{one.point.text} accepts {100 * one.fpr:.3g} % of nontarget trials")
        elif is_given and has_separation and one.fnr > _MOST_ERRORS:
            useless.append(f"{one.point.text} rejects {100 * one.fnr:.3g} % of target trials")
    return outside, useless


def _inverted_days(add: Callable[..., None], by_day: Mapping[str, NDArray[np.int64]]) -> None:
    """Days whose decisions contradict the labels, although those of all days do not."""
    wrong = {}
    for day, counts in by_day.items():
        n_nontarget, n_target = counts.sum(axis=1).tolist()
        accepted = tuple((counts[:, 1] / np.maximum(counts.sum(axis=1), 1)).tolist())
        if are_rates_inverted(accepted, (n_nontarget, n_target)):
            wrong[day] = n_nontarget + n_target
    if wrong and len(wrong) < len(by_day):
        days = ", ".join([*wrong][:_DAYS_NAMED]) + (", ..." if len(wrong) > _DAYS_NAMED else "")
        add(
            source=WARNING_SOURCE,
            item="trials of days whose decisions contradict the labels",
            count=sum(wrong.values()),
            note=f"{days}: nontarget trials are accepted more often than target trials",
        )


def _thresholds(add: Callable[..., None], tally: CellCounts) -> None:
    """The thresholds that trials of every cell were decided at: each, or lowest and highest."""
    every = [("all", "all", level, level.outcomes, "") for level in tally.strata]
    for cells in tally.group_counts:
        names = (*cells.grouping.groups, "pooled")
        for group, outcomes in zip(names, cells.outcomes, strict=True):
            suffix = f" (allocation {cells.allocation})"
            every.append((cells.grouping.name, group, cells.stratum, outcomes, suffix))
    for grouping, group, level, outcomes, suffix in every:
        shown = outcomes.deployed_thresholds
        if not shown:
            continue
        of = suffix
        if len(shown) > MAX_LISTED_THRESHOLDS:
            of += f"; lowest and highest of {len(shown):,}"
            shown = {at: shown[at] for at in (min(shown), max(shown))}
        add(
            source="scores",
            grouping=grouping,
            group=group,
            within=level.name,
            item=[f"trials at the deployed threshold {at!r}{of}" for at in shown],
            count=list(shown.values()),
            value=list(shown),
        )


def add_conflict_effects(
    rows: TableBuilder,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    tally: CellCounts,
    found: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Repeat the headline with the contradicting rows that were set aside, per group."""
    add = partial(rows.add, system=trials.system, list=trials.list, source="conflicts")
    thresholds = [f.threshold for f in found]
    kept = count_cells(
        trials, groupings, options.allocate, thresholds=thresholds, keep_conflicts=True
    )
    first, last = ((one.strata[0].counts, one.strata[0].outcomes) for one in (tally, kept))
    pairs = [("all", "all", "", (first, last))]
    outer = (cells for cells in tally.group_counts if not cells.stratum.name)
    for without, with_ in zip(outer, kept.group_counts, strict=True):
        pairs += [
            (without.grouping.name, group, f" (allocation {without.allocation})", (a, b))
            for group, a, b in zip(
                (*without.grouping.groups, "pooled"),
                zip((*without.counts, without.pooled), without.outcomes, strict=True),
                zip((*with_.counts, with_.pooled), with_.outcomes, strict=True),
                strict=True,
            )
        ]
    for grouping, group, suffix, both in pairs:
        n = [int(counts.n_target + counts.n_nontarget) for counts, _ in both]
        add_of = partial(add, grouping=grouping, group=group)
        add_of(item=f"contradicting rows set aside{suffix}", count=n[1] - n[0])
        for word, (counts, outcomes) in zip(("without", "with"), both, strict=True):
            values = _rates(counts, outcomes, found)
            if trials.is_scored and counts.n_target and counts.n_nontarget:
                for rule in options.eer:
                    values[f"eer ({rule})"] = float(eer(counts, definition=rule))
                for cost in options.costs:
                    least = float(min_cdet(counts, cost=cost).value)
                    values[f"min_cdet_norm ({cost.name})"] = least
            add_of(
                item=[f"{item} {word} contradicting rows{suffix}" for item in values],
                value=list(values.values()),
            )


def _rates(counts: Counts, outcomes: Outcomes, found: Sequence[LocatedPoint]) -> dict[str, float]:
    """Both rates at each operating point, by what is told of them."""
    rates = {}
    for f in found:
        own, threshold = counts, f.threshold
        if f.point.rule == DEPLOYED and outcomes.deployed_counts is not None:
            own, threshold = outcomes.deployed_counts, 1.0
        at = own.at([threshold])
        rates[f] = (math.nan, math.nan) if f.reason else (float(at.fpr[0]), float(at.fnr[0]))
    return {
        f"{metric} at {f.point.text}": both[i]
        for i, metric in enumerate(("fpr", "fnr"))
        for f, both in rates.items()
    }
