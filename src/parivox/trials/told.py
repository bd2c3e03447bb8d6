"""What an auditor asks of a list beside the checks: figures that neither pass nor fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.trials.description import ALL
from parivox.trials.figures import between, counted, over, percent, span
from parivox.trials.findings import Finding
from parivox.trials.takers import effective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.read.table import Table
    from parivox.trials.description import Description
    from parivox.trials.leakage import Shared
    from parivox.trials.takers import Takers

__all__ = ["leakage", "told"]

UNLIKE = 0.02
"""Shares by speakers and by trials that differ by more are told of."""


def told(about: Description, takers: Takers) -> Iterator[Finding]:
    """Figures of a list.

    Parameters
    ----------
    about, takers
        What the list holds, and its speakers.
    """
    yield _sides(takers, about)
    yield _reuse(about.tables["reuse"])
    yield _effective(about, takers)
    yield _recordings(takers)
    yield _unknown(about)
    for name in dict.fromkeys(about.tables["within"].to_dict()["attribute"]):
        yield _within(name, about.tables["within"])
    yield from _shares(about)


def _sides(takers: Takers, about: Description) -> Finding:
    """Who stands on which side of nontarget trials."""
    enrols, tests = takers.nontarget[takers.nontarget > 0], takers.tested[takers.tested > 0]
    never = [takers.speaker.size - one.size for one in (enrols, tests)]
    what = "who stands on which side"
    if not enrols.size:
        return _told("sides", what, None, "there are no nontarget trials")
    words = (
        f"nontarget trials: {span(enrols)} for each speaker who enrols, {span(tests)} for each who "
        f"tests; {never[0]:,} speakers never enrol, {never[1]:,} never test"
    )
    if any(never):
        for name in about.groupings:
            rows = about.tables["groups"].where(grouping=name).rows()
            each = [np.array([row[key] for row in rows]) for key in ("never_enrol", "never_test")]
            words += f" ({span(each[0])} and {span(each[1])} in each group of {name})"
    mend = "let every speaker stand on both sides equally often" if any(never) else ""
    return _told("sides", what, sum(never), words, mend)


def _reuse(table: Table) -> Finding:
    rows = {row["of"]: row for row in table.rows()}
    kinds = {
        "a speaker is compared with": "speakers whom a speaker is compared with",
        "an utterance is in": "trials of an utterance",
        "a recording is used": "uses of a recording",
    }
    words = [
        f"{told} {span(np.array([rows[of]['least'], rows[of]['most']], dtype=int))} {unit} "
        f"(median {rows[of]['median']:,.0f})"
        for (told, of), unit in zip(kinds.items(), ("others", "trials", "times"), strict=True)
        if of in rows
    ]
    most = rows["trials of an utterance"]["most"]
    return _told("reuse", "how often things are used", most, "; ".join(words))


def _effective(about: Description, takers: Takers) -> Finding:
    number = effective(takers.part)
    rows = [row for row in about.tables["groups"].rows() if row["grouping"] != ALL]
    rows = [row for row in rows if row["speakers"]]
    worst = ""
    if rows:
        least = min(rows, key=lambda row: row["effective_speakers"] / row["speakers"])
        worst = (
            f"; furthest off: {least['group']}, {least['effective_speakers']:.1f} of "
            f"{least['speakers']:,}"
        )
    return _told(
        "effective",
        "effective number of speakers",
        number,
        f"trials are spread as if there were {number:,.1f} speakers, of {takers.speaker.size:,}"
        f"{worst}",
    )


def _recordings(takers: Takers) -> Finding:
    known = takers.recordings[takers.recordings >= 0]
    what = "recordings for each speaker"
    lost = takers.speaker.size - known.size
    if not known.size:
        return _told(
            "recordings",
            what,
            None,
            "no recording is known",
            "give --utterances with a column recording",
        )
    single = int((known == 1).sum())
    words = (
        f"{span(known)} (median {np.median(known):g}); {counted(single, 'speaker')} with one only"
    )
    if lost:
        words += f"; of {lost:,} speakers they are not all known"
    return _told("recordings", what, float(known.min()), words)


def _unknown(about: Description) -> Finding:
    counts = dict(zip(*about.tables["list"].to_dict().values(), strict=True))
    lost = counts["trials of unknown grade"]
    by = " and ".join(about.graded_by) or "no attribute"
    share = over(lost, counts["trials"])
    words = f"graded by {by}; {lost:,} trials ({percent(float(share))}) are of grade n.k."
    mend = "complete the tables of speakers and of utterances" if lost else ""
    if not about.graded_by:
        mend = "give --speakers, or name attributes with --grade-by"
    return _told("grades", "grades that are known", float(lost), words, mend)


def _within(attribute: str, table: Table) -> Finding:
    """Nontarget trials within and across the values of an attribute."""
    rows = table.where(attribute=attribute).rows()
    whole, *groups = rows
    what = f"nontarget trials with the same {attribute}"
    if whole["same_share"] is None:
        return _told(f"within {attribute}", what, None, "it is known of no nontarget trial")
    words = f"{percent(whole['same_share'])} within, {percent(1 - whole['same_share'])} across"
    for name in dict.fromkeys(row["grouping"] for row in groups):
        mine = [row for row in groups if row["grouping"] == name]
        mine = [row for row in mine if row["same_share"] is not None]
        share = np.array([row["same_share"] for row in mine])
        if share.size > 1 and share.min() < share.max():
            words += f"; by {name}: {between([row['group'] for row in mine], share)}"
    if whole["unknown"]:
        words += f"; {whole['unknown']:,} n.k."
    return _told(f"within {attribute}", what, whole["same_share"], words)


def _shares(about: Description) -> Iterator[Finding]:
    """Groups counted by speakers and by utterances, as Table 2 of docs/references.md#paper-001."""
    for name in about.groupings:
        rows = about.tables["groups"].where(grouping=name).rows()
        gaps = [(row["trial_share"] or 0) - (row["speaker_share"] or 0) for row in rows]
        at = int(np.argmax(np.abs(gaps)))
        if not any(gaps):
            words = "every group has the same share of speakers and of trials"
            yield _told(f"shares {name}", f"shares of {name}", 0.0, words)
            continue
        row = rows[at]
        utterances = row["utterance_share"]
        words = f"{row['group']} is {percent(row['speaker_share'])} of the speakers, "
        if utterances is not None:
            words += f"{percent(utterances)} of the utterances, "
        words += f"{percent(row['trial_share'])} of the trials; others are less far off"
        is_off = abs(gaps[at]) > UNLIKE
        mend = "weight speakers equally, or draw as many trials for each" if is_off else ""
        yield _told(f"shares {name}", f"shares of {name}", abs(gaps[at]), words, mend)


def leakage(common: Shared) -> Finding:
    """What the list and a development list share."""
    return _told(
        "leakage",
        "shared with the development list",
        float(common.speakers),
        f"{common.speakers:,} speakers, {common.recordings:,} recordings, "
        f"{common.utterances:,} utterances, {common.trials:,} trials",
        "leave them out of one of the lists" if common.speakers or common.trials else "",
    )


def _told(
    id: str,  # noqa: A002 - what findings call it
    what: str,
    statistic: float | None,
    sentence: str,
    mend: str = "",
) -> Finding:
    number = None if statistic is None else float(statistic)
    return Finding(id, what, "told", number, None, 0, sentence, mend)
