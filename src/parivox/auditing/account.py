"""What was read, joined and set aside, and what the cells leave out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.cell_counts import count_cells
from parivox.auditing.operating_points import DEPLOYED, missed
from parivox.core.costs import min_cdet
from parivox.core.eer import eer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.outcomes import Outcomes
    from parivox.auditing.rows import Rows
    from parivox.core.counts import Counts
    from parivox.read.grouping import Grouping
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

_ONE_SIDE = "both sides must have one value; enrol.x or test.x takes that of one side"
WITHOUT_TRIALS = "speakers of groups without any trial"
"""They are in no other table: groups are of what occurs in trials."""
POINTS = "operating points"
"""The source of what is odd about thresholds."""
MISSED = "missed operating points"
INFINITE = "infinite thresholds"
MOST_NAMED = 10
"""Of more groups without trials than these, the others are counted."""
MOST_THRESHOLDS = 50
"""Of more deployed thresholds than these, only the lowest and the highest are told."""


def account_for(
    rows: Rows,
    trials: TrialSet | TrialCounts,
    people: Speakers | None,
    groupings: Sequence[Grouping],
    tally: CellCounts,
    found: Sequence[Found],
) -> None:
    """Count what was read and set aside, per file and per grouping, and odd operating points.

    Parameters
    ----------
    rows
        Of the table ``data``.
    trials, people, groupings
        Of one system and list.
    tally
        Trials of the cells.
    found
        Operating points.
    """
    name = {"system": trials.system, "list": trials.list}
    if not trials.has_speakers:
        for row in trials.account():
            rows.add(**name, **row)
    else:
        of_people = [] if people is None else people.notes(trials.in_use.tolist())
        for one in (*trials.data, *of_people):
            rows.add(**name, source=one.source, item=one.item, count=one.count, note=one.note)
        models, recordings = tally.recordings or (0, 0)
        if models:
            rows.add(**name, source="scores", item="models", count=models)
        rows.add(**name, source="scores", item="recordings", count=recordings)
    _left_out(rows, name, tally, may_withhold=not trials.has_speakers)
    if trials.has_speakers:
        _per_group(rows, name, trials, groupings)
        _of_people(rows, name, trials, groupings)
    for what, count in zip(("enrolments", "test recordings"), tally.unmet, strict=True):
        if count:
            item = f"{what} that failed and that no trial has"
            note = "counted in FTE or FTA alone"
            rows.add(**name, source="failures", item=item, count=count, note=note)
    _undecided(rows, name, trials, tally)
    _thresholds(rows, name, tally)
    infinite = [f"{one.point.text} at {one.threshold}" for one in found if np.isinf(one.threshold)]
    for item, points in ((MISSED, missed(found, tally.everything)), (INFINITE, infinite)):
        if points:
            note = ", ".join(points)
            rows.add(**name, source=POINTS, item=item, count=len(points), note=note)


def _left_out(rows: Rows, name: dict[str, str], tally: CellCounts, *, may_withhold: bool) -> None:
    """Trials that are in no group, or in no level."""
    for cells in tally.cells:
        if cells.level.name:
            continue
        is_of_speakers = cells.grouping.of_speaker is not None
        whose, which = ("speaker", "nontarget trials") if is_of_speakers else ("side", "trials")
        withheld = " or withheld" if may_withhold else ""
        unknown, between = cells.left_out
        for item, count, note in (
            (f"trials of a {whose} whose group is unknown{withheld}", unknown, ""),
            (f"{which} between two groups", between, "" if is_of_speakers else _ONE_SIDE),
        ):
            rows.add(
                **name,
                source="scores",
                grouping=cells.grouping.name,
                item=f"{item}, in no group (allocation {cells.allocation})",
                count=count,
                note=note if count else "",
            )
    for within, count in tally.outside.items():
        item = "trials in no level of --within, or between two"
        note = _ONE_SIDE if count else ""
        rows.add(**name, source="scores", grouping=within, item=item, count=count, note=note)


def _thresholds(rows: Rows, name: dict[str, str], tally: CellCounts) -> None:
    """Deployed thresholds of every cell."""
    for level in tally.levels:
        of_all = {**name, "grouping": "all", "group": "all", "within": level.name}
        _deployed(rows, of_all, level.outcomes, "")
    for cells in tally.cells:
        for group, outcomes in zip((*cells.grouping.groups, "pooled"), cells.outcomes, strict=True):
            of_group = {**name, "grouping": cells.grouping.name, "group": group}
            suffix = f" (allocation {cells.allocation})"
            _deployed(rows, {**of_group, "within": cells.level.name}, outcomes, suffix)


def _undecided(
    rows: Rows, name: dict[str, str], trials: TrialSet | TrialCounts, tally: CellCounts
) -> None:
    """Trials that have neither a decision nor a threshold, and so no part in ``deployed``."""
    whole = tally.levels[0]
    if not trials.has_decisions or not _left(whole.counts, whole.outcomes):
        return
    item = "trials without decision or threshold, not in deployed"
    rows.add(**name, source="scores", item=item, count=_left(whole.counts, whole.outcomes))
    for cells in tally.cells:
        if not cells.level.name:
            rows.add(
                **name,
                source="scores",
                grouping=cells.grouping.name,
                group=list(cells.grouping.groups),
                item=f"{item} (allocation {cells.allocation})",
                count=[_left(*both) for both in zip(cells.groups, cells.outcomes, strict=False)],
            )


def _left(counts: Counts, outcomes: Outcomes) -> int:
    """Trials of a cell that no decision is known of."""
    decided = outcomes.deployed
    known = 0 if decided is None else int(decided.n_target + decided.n_nontarget)
    return int(counts.n_target + counts.n_nontarget) - known


def _of_people(
    rows: Rows, name: dict[str, str], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """Speakers and utterances that are in no group, or in one that no trial has anyone of."""
    for grouping in groupings:
        where = {**name, "grouping": grouping.name}
        for unit, value, count in grouping.left_out(trials):
            item = f"{unit} whose {value} is left out by the groups file"
            rows.add(**where, source="groups", item=item, count=count)
        if grouping.of_speaker is not None:
            item = "speakers of these trials whose group is unknown or left out"
            count = int((grouping.of_speaker[trials.in_use] < 0).sum())
            rows.add(**where, source="speakers", item=item, count=count)
            if unused := grouping.unused:
                item, note = WITHOUT_TRIALS, _named(list(unused))
                count = sum(unused.values())
                rows.add(**where, source="speakers", item=item, count=count, note=note)
        elif not grouping.is_of_trials:
            item = "utterances of these trials whose group is unknown or left out"
            count = int((grouping.of_utterance(trials) < 0).sum())
            rows.add(**where, source="utterances", item=item, count=count)


def _named(groups: list[str]) -> str:
    left = len(groups) - MOST_NAMED
    return ", ".join(groups[:MOST_NAMED]) + (f" and {left} others" if left > 0 else "")


def _deployed(rows: Rows, where: dict[str, str], outcomes: Outcomes, suffix: str) -> None:
    """The thresholds that trials were decided at: each one, or the lowest and the highest."""
    levels = outcomes.thresholds
    if not levels:
        return
    shown = levels
    if len(levels) > MOST_THRESHOLDS:
        shown = {level: levels[level] for level in (min(levels), max(levels))}
        suffix += f"; lowest and highest of {len(levels):,}"
    rows.add(
        **where,
        source="scores",
        item=[f"trials at the deployed threshold {level!r}{suffix}" for level in shown],
        count=list(shown.values()),
        value=list(shown),
    )


def _per_group(
    rows: Rows, name: dict[str, str], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """What was set aside or worth noting, by the group of the enrolment speaker."""
    for item, of_speaker in trials.aside.items():
        for grouping in groupings:
            if grouping.of_speaker is None:
                continue
            group = grouping.of_speaker[: of_speaker.size]
            known = group >= 0
            counts = np.bincount(
                group[known], weights=of_speaker[known], minlength=len(grouping.groups)
            )
            rows.add(
                **name,
                source="scores",
                grouping=grouping.name,
                group=list(grouping.groups),
                item=f"{item} (by enrolment speaker)",
                count=counts.astype(np.int64),
            )


def with_and_without(
    rows: Rows,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    tally: CellCounts,
    found: Sequence[Found],
    options: Options,
) -> None:
    """Repeat the headline with the contradicting rows that were set aside, per group."""
    name = {"system": trials.system, "list": trials.list, "source": "conflicts"}
    thresholds = [f.threshold for f in found]
    kept = count_cells(
        trials, groupings, options.allocate, thresholds=thresholds, keep_conflicts=True
    )
    first, last = ((one.levels[0].counts, one.levels[0].outcomes) for one in (tally, kept))
    pairs = [("all", "all", "", (first, last))]
    outer = (cells for cells in tally.cells if not cells.level.name)
    for without, with_ in zip(outer, kept.cells, strict=True):
        pairs += [
            (without.grouping.name, group, f" (allocation {without.allocation})", (a, b))
            for group, a, b in zip(
                (*without.grouping.groups, "pooled"),
                zip((*without.groups, without.pooled), without.outcomes, strict=True),
                zip((*with_.groups, with_.pooled), with_.outcomes, strict=True),
                strict=True,
            )
        ]
    for grouping, group, suffix, both in pairs:
        n = [int(counts.n_target + counts.n_nontarget) for counts, _ in both]
        where = {**name, "grouping": grouping, "group": group}
        rows.add(**where, item=f"contradicting rows set aside{suffix}", count=n[1] - n[0])
        for word, (counts, outcomes) in zip(("without", "with"), both, strict=True):
            values = _rates(counts, outcomes, found)
            if trials.is_scored and counts.n_target and counts.n_nontarget:
                for rule in options.eer:
                    values[f"eer ({rule})"] = float(eer(counts, definition=rule))
                for cost in options.costs:
                    values[f"min_cdet_norm ({cost.name})"] = float(
                        min_cdet(counts, cost=cost).value
                    )
            rows.add(
                **where,
                item=[f"{item} {word} contradicting rows{suffix}" for item in values],
                value=list(values.values()),
            )


def _rates(counts: Counts, outcomes: Outcomes, found: Sequence[Found]) -> dict[str, float]:
    """Both rates at each operating point, by what is told of them."""
    rates = {}
    for f in found:
        own, threshold = counts, f.threshold
        if f.point.rule == DEPLOYED and outcomes.deployed is not None:
            own, threshold = outcomes.deployed, 1.0
        at = own.at([threshold])
        rates[f] = (math.nan, math.nan) if f.reason else (float(at.fpr[0]), float(at.fnr[0]))
    return {
        f"{metric} at {f.point.text}": both[i]
        for i, metric in enumerate(("fpr", "fnr"))
        for f, both in rates.items()
    }
