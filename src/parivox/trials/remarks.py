"""Findings beside the checks, which neither pass nor fail.

Who stands on which side, how often things are used, what a development list shares with this one,
and what differences between groups could be detected if speakers vary as in a pilot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.core.planning import Sample, detectable_ratio
from parivox.errors import ConfigError, DataError
from parivox.trials.counts import effective_number, share_of
from parivox.trials.description import ALL
from parivox.trials.findings import Finding, number_of, percent, range_of, share_range
from parivox.trials.lists import read_list, recording_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.table import Table
    from parivox.trials.counts import SpeakerCounts
    from parivox.trials.description import Description
    from parivox.trials.lists import TrialList

    Row = dict[str, Any]

UNLIKE = 0.02
"""Shares by speakers and by trials that differ by more are told of."""


def remarks(about: Description, speakers: SpeakerCounts) -> Iterator[Finding]:
    """Findings that neither pass nor fail: sides, reuse, speakers, recordings, grades, shares.

    Parameters
    ----------
    about, takers
        What the list holds, and its speakers.
    """
    yield _sides(speakers, about)
    yield _reuse(about.tables["reuse"])
    yield _effective(about, speakers)
    yield _recordings(speakers)
    yield _unknown(about)
    for name in dict.fromkeys(about.tables["within"].to_dict()["attribute"]):
        yield _within(name, about.tables["within"])
    yield from _shares(about)


def _sides(speakers: SpeakerCounts, about: Description) -> Finding:
    """Who stands on which side of nontarget trials."""
    enrols, tests = speakers.nontarget[speakers.nontarget > 0], speakers.tested[speakers.tested > 0]
    never = [speakers.speaker.size - one.size for one in (enrols, tests)]
    what = "who stands on which side"
    if not enrols.size:
        return _remark("sides", what, None, "there are no nontarget trials")
    words = (
        f"nontarget trials: {range_of(enrols)} for each speaker who enrols, {range_of(tests)} for "
        f"each who tests; {never[0]:,} speakers never enrol, {never[1]:,} never test"
    )
    if any(never):
        for name in about.groupings:
            rows = about.tables["groups"].where(grouping=name).rows()
            each = [np.array([row[key] for row in rows]) for key in ("never_enrol", "never_test")]
            words += f" ({range_of(each[0])} and {range_of(each[1])} in each group of {name})"
    mend = "let every speaker stand on both sides equally often" if any(never) else ""
    return _remark("sides", what, sum(never), words, mend)


def _reuse(table: Table) -> Finding:
    rows = {row["of"]: row for row in table.rows()}
    kinds = {
        "a speaker is compared with": "speakers whom a speaker is compared with",
        "an utterance is in": "trials of an utterance",
        "a recording is used": "uses of a recording",
    }
    words = [
        f"{kind} {range_of(np.array([rows[of]['least'], rows[of]['most']], dtype=int))} {unit} "
        f"(median {rows[of]['median']:,.0f})"
        for (kind, of), unit in zip(kinds.items(), ("others", "trials", "times"), strict=True)
        if of in rows
    ]
    most = rows["trials of an utterance"]["most"]
    return _remark("reuse", "how often things are used", most, "; ".join(words))


def _effective(about: Description, speakers: SpeakerCounts) -> Finding:
    number = effective_number(speakers.part)
    rows = [row for row in about.tables["groups"].rows() if row["grouping"] != ALL]
    rows = [row for row in rows if row["speakers"]]
    worst = ""
    if rows:
        least = min(rows, key=lambda row: row["effective_speakers"] / row["speakers"])
        worst = (
            f"; furthest off: {least['group']}, {least['effective_speakers']:.1f} of "
            f"{least['speakers']:,}"
        )
    return _remark(
        "effective",
        "effective number of speakers",
        number,
        f"trials are spread as if there were {number:,.1f} speakers, of {speakers.speaker.size:,}"
        f"{worst}",
    )


def _recordings(speakers: SpeakerCounts) -> Finding:
    known = speakers.recordings[speakers.recordings >= 0]
    what = "recordings for each speaker"
    lost = speakers.speaker.size - known.size
    if not known.size:
        return _remark(
            "recordings",
            what,
            None,
            "no recording is known",
            "give --utterances with a column recording",
        )
    single = int((known == 1).sum())
    words = f"{range_of(known)} (median {np.median(known):g}); "
    words += f"{number_of(single, 'speaker')} with one only"
    if lost:
        words += f"; of {lost:,} speakers they are not all known"
    return _remark("recordings", what, float(known.min()), words)


def _unknown(about: Description) -> Finding:
    counts = dict(zip(*about.tables["list"].to_dict().values(), strict=True))
    lost = counts["trials of unknown grade"]
    by = " and ".join(about.graded_by) or "no attribute"
    share = share_of(lost, counts["trials"])
    words = f"graded by {by}; {lost:,} trials ({percent(float(share))}) are of grade n.k."
    mend = "complete the tables of speakers and of utterances" if lost else ""
    if not about.graded_by:
        mend = "give --speakers, or name attributes with --grade-by"
    return _remark("grades", "grades that are known", float(lost), words, mend)


def _within(attribute: str, table: Table) -> Finding:
    """Nontarget trials within and across the values of an attribute."""
    rows = table.where(attribute=attribute).rows()
    whole, *groups = rows
    what = f"nontarget trials with the same {attribute}"
    if whole["same_share"] is None:
        return _remark(f"within {attribute}", what, None, "it is known of no nontarget trial")
    words = f"{percent(whole['same_share'])} within, {percent(1 - whole['same_share'])} across"
    for name in dict.fromkeys(row["grouping"] for row in groups):
        mine = [row for row in groups if row["grouping"] == name]
        mine = [row for row in mine if row["same_share"] is not None]
        share = np.array([row["same_share"] for row in mine])
        if share.size > 1 and share.min() < share.max():
            words += f"; by {name}: {share_range([row['group'] for row in mine], share)}"
    if whole["unknown"]:
        words += f"; {whole['unknown']:,} n.k."
    return _remark(f"within {attribute}", what, whole["same_share"], words)


def _shares(about: Description) -> Iterator[Finding]:
    """Groups counted by speakers and by utterances, as Table 2 of docs/references.md#paper-001."""
    for name in about.groupings:
        rows = about.tables["groups"].where(grouping=name).rows()
        gaps = [(row["trial_share"] or 0) - (row["speaker_share"] or 0) for row in rows]
        at = int(np.argmax(np.abs(gaps)))
        if not any(gaps):
            words = "every group has the same share of speakers and of trials"
            yield _remark(f"shares {name}", f"shares of {name}", 0.0, words)
            continue
        row = rows[at]
        utterances = row["utterance_share"]
        words = f"{row['group']} is {percent(row['speaker_share'])} of the speakers, "
        if utterances is not None:
            words += f"{percent(utterances)} of the utterances, "
        words += f"{percent(row['trial_share'])} of the trials; others are less far off"
        is_off = abs(gaps[at]) > UNLIKE
        mend = "weight speakers equally, or draw as many trials for each" if is_off else ""
        yield _remark(f"shares {name}", f"shares of {name}", abs(gaps[at]), words, mend)


def overlap(common: Overlap) -> Finding:
    """What the list and a development list share."""
    return _remark(
        "leakage",
        "shared with the development list",
        float(common.speakers),
        f"{common.speakers:,} speakers, {common.recordings:,} recordings, "
        f"{common.utterances:,} utterances, {common.trials:,} trials",
        "leave them out of one of the lists" if common.speakers or common.trials else "",
    )


def _remark(
    id: str,  # noqa: A002 - what findings call it
    what: str,
    statistic: float | None,
    sentence: str,
    mend: str = "",
) -> Finding:
    number = None if statistic is None else float(statistic)
    return Finding(id, what, "told", number, None, 0, sentence, mend)


class Overlap(NamedTuple):
    """What two lists have in common: numbers of speakers, recordings, utterances, trials."""

    speakers: int
    recordings: int
    utterances: int
    trials: int


def shared_with(found: TrialList, other: Any, **reading: Any) -> Overlap:
    """Count what two lists have in common; a trial and its reverse are one.

    Parameters
    ----------
    found
        The list.
    other
        The development list; its ids name speakers as those of `found` do.
    reading
        Tables that tell its speakers and recordings where its ids do not.

    Examples
    --------
    >>> one = read_list({"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"]})
    >>> shared_with(one, {"enrol": ["c/z/1", "a/x/3"], "test": ["c/z/2", "c/z/1"]})
    Overlap(speakers=1, recordings=1, utterances=0, trials=0)
    """
    try:
        theirs = read_list(other, by=(), columns=reading.get("columns"))
    except DataError:  # as the ids do not name their speakers
        theirs = read_list(other, by=(), **reading)
    place = found.trials.utterance_ids.where(theirs.trials.utterance_ids.series())
    n = len(found.trials.utterance_ids)
    pairs = np.unique(np.concatenate([_pairs(one.enrol, one.test, n) for one in found.blocks()]))
    met = [_pairs(place[one.enrol], place[one.test], n) for one in theirs.blocks()]
    return Overlap(
        _in_both(found, theirs, ["speaker"]),
        _in_both(found, theirs, ["speaker", "recording"]),
        int((place >= 0).sum()),
        int(np.isin(pairs, np.concatenate(met)).sum()),
    )


def _in_both(found: TrialList, theirs: TrialList, columns: list[str]) -> int:
    """How many distinct and known values some columns share."""
    mine, yours = (_named(one).select(columns).drop_nulls().unique() for one in (found, theirs))
    return mine.join(yours, on=columns, how="semi").height


def _named(found: TrialList) -> pl.DataFrame:
    """Names of the speaker and of the recording of each utterance."""
    trials = found.trials
    table = None if trials.recordings is None else trials.recordings.table
    speaker = trials.utterance_speaker
    ids = trials.utterance_ids.series()
    names = pl.Series(found.people.ids, dtype=pl.String).gather(speaker)
    return pl.DataFrame({"speaker": names, "recording": recording_names(ids, table, speaker)})


def _pairs(enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """One number for each pair, whichever side is which; -1 where a side is unknown."""
    low, high = np.minimum(enrol, test).astype(np.int64), np.maximum(enrol, test)
    return np.where(low < 0, -1, low * n + high)


_CLASS = {"fnr": ("target", 1), "fpr": ("nontarget", 2)}
"""Trials whose errors a rate counts, and the speakers of such a trial."""


def detectable(about: Description, pilot: Any) -> Iterator[Finding]:
    """The least ratio of a group's rate to that of all others that would be detected.

    Parameters
    ----------
    about
        What the list holds.
    pilot
        A :class:`~parivox.auditing.plan.Plan` made of a pilot: its rates, correlations within
        speakers, power and confidence count, not its numbers of speakers and trials.
    """
    rows = [row for row in pilot.groups.rows() if not row["within"]]
    if not rows:
        msg = "the pilot tells of no group; make the plan from an audit with intervals"
        raise ConfigError(msg)
    how = {name: pilot.asked[name] for name in ("power", "confidence")}
    for name in about.groupings:
        own = about.tables["groups"].where(grouping=name).rows()
        for metric, (label, sides) in _CLASS.items():
            theirs = [
                row
                for row in rows
                if row["metric"] == metric and row["grouping"].lower() == name.lower()
            ]
            first = {row["group"]: row for row in reversed(theirs)}
            yield _of_rate(name, metric, _ratios(own, first, label, sides, how), how)


def _ratios(
    own: Sequence[Row], pilot: dict[str, Row], label: str, sides: int, how: dict[str, float]
) -> dict[str, float]:
    """The ratio of each group that the pilot knows; NaN where none would be detected."""
    known = [row for row in own if (pilot.get(row["group"]) or {}).get("icc") is not None]
    known = [row for row in known if row[label] and pilot[row["group"]]["rate"]]
    speakers, trials, spread = (
        np.array([row[key] for row in known], dtype=float)
        for key in ("speakers", label, "effective_speakers")
    )
    icc, rate = (np.array([pilot[row["group"]][key] for row in known]) for key in ("icc", "rate"))
    each = sides * trials / speakers
    excess = trials * np.maximum(each - 1, 0) * icc
    rest = [one.sum() - one for one in (speakers, trials, excess, spread)]
    with np.errstate(invalid="ignore", divide="ignore"):
        others = sides * rest[1] / rest[0]
        together = np.nan_to_num(rest[2] / (rest[1] * (others - 1)))
        group = Sample(speakers, each, icc, sides, np.maximum(spread - 1, 1))
        reference = Sample(rest[0], others, together, sides, np.maximum(rest[3] - 1, 1))
        found = detectable_ratio(
            rate, group, reference, power=how["power"], confidence=how["confidence"]
        )
    return dict(zip((row["group"] for row in known), np.atleast_1d(found).tolist(), strict=True))


def _of_rate(
    grouping: str, metric: str, ratios: dict[str, float], how: dict[str, float]
) -> Finding:
    what = f"least {metric.upper()} ratio of {grouping} to be detected"
    name = f"detectable {metric} {grouping}"
    if len(ratios) < 2:
        words = f"the pilot does not tell how {metric.upper()} of these groups varies"
        return Finding(name, what, "told", sentence=words, mend="make a pilot of these groups")
    seen = {group: ratio for group, ratio in ratios.items() if np.isfinite(ratio)}
    never = len(ratios) - len(seen)
    worst = max(seen.values(), default=None)
    words = "none is"
    if seen:
        low, high = (pick(seen, key=seen.__getitem__) for pick in (min, max))
        words = f"from x {seen[low]:.2f} ({low}) to x {seen[high]:.2f} ({high})"
    words += f" at a power of {how['power']:g}"
    if never:
        words += f"; of {never:,} groups none, however large"
    mend = "more speakers in these groups: parivox plan tells how many" if never else ""
    return Finding(name, what, "told", worst, None, never, words, mend)
