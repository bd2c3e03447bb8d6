"""What was read, joined and set aside, and what the cells leave out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.cells import count_cells
from parivox.core.costs import min_cdet
from parivox.core.eer import eer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.cells import Tally
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.tables.groups import Grouping
    from parivox.tables.speakers import Speakers
    from parivox.tables.trials import TrialSet

__all__ = ["account_for", "with_and_without"]


def account_for(
    rows: Rows,
    trials: TrialSet,
    people: Speakers,
    groupings: Sequence[Grouping],
    tally: Tally,
) -> None:
    """Count what was read and set aside, per file and per grouping."""
    name = {"system": trials.system, "list": trials.list}
    used = np.unique(trials.utterance_speaker)
    for note in (*trials.data, *people.notes(used.tolist())):
        rows.add(
            **name,
            source=note.source,
            grouping="",
            group="",
            item=note.item,
            count=note.count,
            value=None,
            note=note.note,
        )
    for cells in tally.cells:
        unknown, between = cells.left_out
        for words, count in (
            ("trials of a speaker whose group is unknown", unknown),
            ("nontarget trials between two groups", between),
        ):
            rows.add(
                **name,
                source="scores",
                grouping=cells.grouping.name,
                group="",
                item=f"{words}, in no group (allocation {cells.allocation})",
                count=count,
                value=None,
                note="",
            )
    _per_group(rows, name, trials, groupings)
    for grouping in groupings:
        rows.add(
            **name,
            source="speakers",
            grouping=grouping.name,
            group="",
            item="speakers of these trials whose group is unknown",
            count=int((np.asarray(grouping.of_speaker)[used] < 0).sum()),
            value=None,
            note="",
        )


def _per_group(
    rows: Rows, name: dict[str, str], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """What was set aside or worth noting, by the group of the enrolment speaker."""
    for item, of_speaker in trials.aside.items():
        for grouping in groupings:
            group = np.asarray(grouping.of_speaker)[: of_speaker.size]
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
                value=None,
                note="",
            )


def with_and_without(
    rows: Rows,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    tally: Tally,
    found: Sequence[Found],
    options: Options,
) -> None:
    """Repeat the headline with the contradicting rows that were set aside, per group."""
    name = {"system": trials.system, "list": trials.list, "source": "conflicts"}
    thresholds = [f.threshold for f in found]
    kept = count_cells(
        trials, groupings, options.allocate, thresholds=thresholds, keep_conflicts=True
    )
    pairs = [("all", "all", "", tally.everything, kept.everything)]
    for without, with_ in zip(tally.cells, kept.cells, strict=True):
        pairs += [
            (without.grouping.name, group, f" (allocation {without.allocation})", a, b)
            for group, a, b in zip(
                (*without.grouping.groups, "pooled"),
                (*without.groups, without.pooled),
                (*with_.groups, with_.pooled),
                strict=True,
            )
        ]
    for grouping, group, suffix, *both in pairs:
        n = [int(counts.n_target + counts.n_nontarget) for counts in both]
        where = {**name, "grouping": grouping, "group": group}
        rows.add(
            **where,
            item=f"contradicting rows set aside{suffix}",
            count=n[1] - n[0],
            value=None,
            note="",
        )
        for word, counts in zip(("without", "with"), both, strict=True):
            at = counts.at(thresholds)
            values = {
                f"{metric} at {f.point.text}": math.nan if f.reason else float(v)
                for metric, rate in (("fpr", at.fpr), ("fnr", at.fnr))
                for f, v in zip(found, rate, strict=True)
            }
            if counts.n_target and counts.n_nontarget:
                for rule in options.eer:
                    values[f"eer ({rule})"] = float(eer(counts, definition=rule))
                for cost in options.costs:
                    values[f"min_cdet_norm ({cost.name})"] = float(
                        min_cdet(counts, cost=cost).value
                    )
            rows.add(
                **where,
                item=[f"{item} {word} contradicting rows{suffix}" for item in values],
                count=None,
                value=list(values.values()),
                note="",
            )
