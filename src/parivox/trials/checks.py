"""What a list of trials can show, and what it cannot: the checks, and findings beside them.

The latter neither pass nor fail: who stands on which side, how often things are used, what a
development list shares with this one, and what differences between groups could be detected if
speakers vary as in a pilot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.eer import eer
from parivox.core.planning import Sample, detectable_ratio
from parivox.data.recording_names import GIVE_RECORDINGS, recording_names
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.trials.description import ALL, Description, description_of
from parivox.trials.grades import hardest, parse_mixes
from parivox.trials.guidelines import (
    CHECKS,
    Finding,
    guidelines,
    percent,
    range_of,
    share_range,
)
from parivox.trials.list_counts import count_list, effective_number, shares_or_nan
from parivox.trials.lists import read_list
from parivox.trials.manifest import ListDesign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.data.recording_names import RecordingNames
    from parivox.trials.guidelines import Check
    from parivox.trials.list_counts import TrialsPerSpeaker
    from parivox.trials.lists import TrialList

    Row = dict[str, Any]

_COLUMNS = {
    "id": "str",
    "what": "str",
    "verdict": "str",
    "statistic": "float",
    "threshold": "float",
    "offenders": "int",
    "sentence": "str",
    "mend": "str",
}

UNLIKE = 0.02
"""Shares by speakers and by trials that differ by more are to be mended."""
_CLASS = {"fnr": ("target", 1), "fpr": ("nontarget", 2)}
"""Trials whose errors a rate counts, and the speakers of such a trial."""


@dataclass(frozen=True, eq=False)
class Checked(Description):
    """What a list can and cannot show.

    Attributes
    ----------
    name : str
        The file.
    groupings, graded_by : tuple of str
        What trials were grouped by, and what defines their difficulty.
    findings : tuple of Finding
    tables : dict of str to Table
        ``checks``, which holds the findings, and those of a
        `parivox.trials.description.Description`.
    recordings : str
        What tells which utterances are of one recording, or why nothing does.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Checks that failed."""
        return tuple(one for one in self.findings if one.verdict == "fail")

    def __getitem__(self, id: str) -> Finding:  # noqa: A002 - what findings call it
        return {one.id: one for one in self.findings}[id]

    def to_json(self) -> str:
        """Findings and tables as JSON, a column a list; infinite values as "inf"."""
        return self._as_json({"passed": self.passed})


def check(
    trials: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    mix: Mapping[str, float] | str | None = None,
    variants: Sequence[Any] = (),
    development: Any = None,
    pilot: Any = None,
    thresholds: Mapping[str, float] | None = None,
    speaker_ids: bool = False,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
    encoding: str | None = None,
    quotes: str | None = None,
) -> Checked:
    """Check a list of trials against the guidelines for evaluations that carry a claim.

    Parameters
    ----------
    trials
        A path, a dataframe or a mapping of arrays, with the columns enrol, test and, perhaps,
        label; without labels, trials of one speaker are target trials. Scores are passed over.
    speakers
        Path or table of speakers with their attributes.
    utterances
        Table of utterances: their speakers, where ids do not tell them, their recordings (a
        column recording, video, session or call; else the folder of the file, as in VoxCeleb,
        unless many speakers share its name) and attributes.
    by
        Groupings as in ``gender+nationality``; without it, every attribute with 2 to 50 values.
    grade_by
        Attributes that define difficulty, the one that weighs most first: of speakers, of
        recordings, or columns of the list. Without it, gender (or sex) and nationality where
        speakers have them, else those of `by`.
    mix
        The share of nontarget trials of each grade that is wished for, and of target trials:
        ``cat4=0.5,cat3=0.5,target3=1``.
    variants
        Other lists that were drawn like this one; where all hold scores, their EERs are compared.
        Without these, `grade_by` and `mix`, the manifest
        beside a list that was built says what its design fixed.
    development
        A list whose speakers should not be in this one.
    pilot
        A plan made of a pilot, ``pv.plan("audit/")``: then, what differences the list can show.
    thresholds
        By check, as in ``{"G2": 100}``.
    speaker_ids
        Whether the table of speakers names them.
    id, columns, conflicts, encoding, quotes
        Id column of the speakers, columns of the list by role, what to do with rows that
        contradict each other, and the encoding of texts that are not Unicode, as an audit has it.

    Returns
    -------
    Checked
        Findings and tables.

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/y/2", "b/z/1"], "label": [1, 0]}
    >>> found = check(trials, thresholds={"G2": 1})
    >>> found["G2"].verdict, found["G2"].sentence
    ('fail', '1 of 2 speakers enrol in fewer than 1: 0 to 1')
    """
    checks = _with_thresholds(thresholds)
    if isinstance(variants, (str, bytes)) or not isinstance(variants, Sequence):
        msg = f"variants={variants!r} are not several lists; give them as in ['list-2.txt']"
        raise ConfigError(msg)
    if pilot is not None and not (hasattr(pilot, "groups") and hasattr(pilot, "asked")):
        msg = f"pilot={pilot!r} is not a plan; make one of an audit, pv.plan('audit/')"
        raise ConfigError(msg)
    reading = {
        "speakers": speakers,
        "utterances": utterances,
        "id": id,
        "columns": columns,
        "conflicts": conflicts,
        "encoding": encoding,
        "quotes": quotes,
    }
    kept = bool(variants)
    trial_list = read_list(trials, by=by, grade_by=grade_by, **reading, keeps_scores=kept)
    design = ListDesign.beside(trials)
    if design is not None and grade_by is None:
        trial_list = design.graded(trial_list)
    wished = None if design is None else design.mix_of(trial_list)
    if mix is not None:
        if not trial_list.agreements:
            msg = (
                "--mix: no nontarget trial has a grade, as no attribute is known; give --speakers, "
                "or name attributes with --grade-by"
            )
            raise ConfigError(msg)
        wished = parse_mixes(mix, hardest(len(trial_list.agreements)))
    every = [trial_list, *(read_list(one, by=by, **reading, keeps_scores=kept) for one in variants)]
    different = {one.trials.content_sha256: one for one in reversed(every)}
    lists = len(different)
    if design is not None and not variants:
        lists = design.lists
    counts = count_list(trial_list)
    about = description_of(counts, speaker_ids=speaker_ids)
    outcomes = outcomes_of([*different.values()])
    findings = guidelines(counts, checks, mix=wished, lists=lists, outcomes=outcomes)
    findings += remarks(about, counts.speakers, trial_list.recordings)
    if design is not None:
        findings.append(_remark("design", "what its design fixed", None, design.in_words))
    if development is not None:
        findings.append(overlap(trial_list, development, **reading))
    if pilot is not None:
        findings += detectable(about, pilot)
    cells = {name: [getattr(one, name) for one in findings] for name in _COLUMNS}
    tables = {"checks": Table.of(cells, _COLUMNS), **about.tables}
    head = about.name, about.groupings, about.graded_by
    return Checked(*head, tables, about.recordings, tuple(findings))


def failed_checks(trial_list: TrialList, design: ListDesign | None = None) -> list[Finding]:
    """Checks that a list fails at the usual thresholds, held to what its design fixed."""
    mix, lists = (None, 1) if design is None else (design.mix_of(trial_list), design.lists)
    found = guidelines(count_list(trial_list), CHECKS, mix=mix, lists=lists)
    return [one for one in found if one.verdict == "fail"]


def _with_thresholds(asked: Any) -> dict[str, Check]:
    """All checks, some with thresholds of one's own."""
    if asked is not None and not isinstance(asked, Mapping):
        msg = f"thresholds={asked!r} is not a mapping; give one, as in {{'G2': 100}}"
        raise ConfigError(msg)
    checks = dict(CHECKS)
    for name, value in (asked or {}).items():
        if name not in checks:
            msg = f"--threshold {name!r} is not a check; choose from {', '.join(checks)}"
            raise ConfigError(msg)
        try:
            threshold = float(value)
        except (TypeError, ValueError):
            threshold = -1.0
        if not 0 <= threshold < float("inf"):
            msg = f"--threshold {name}={value!r}: is not a number from 0; write it as in G2=100"
            raise ConfigError(msg)
        checks[name] = checks[name]._replace(threshold=threshold)
    return checks


def outcomes_of(lists: Sequence[TrialList]) -> str:
    """How far EERs of lists with scores differ, in words; empty where one has none."""
    if len(lists) < 2 or not all("kept_score" in one.trials.more for one in lists):
        return ""
    found: dict[str, list[float]] = {}
    for one in lists:
        for group, value in _eers(one):
            found.setdefault(group, []).append(value)
    every = {group: eers for group, eers in found.items() if len(eers) == len(lists)}
    words = f"their EER is {_span(every.pop(ALL))}"
    if not every:
        return words
    widest = max(every, key=lambda group: max(every[group]) - min(every[group]))
    return f"{words}, and differs most for {widest}: {_span(every[widest])}"


def _eers(one: TrialList) -> Iterator[tuple[str, float]]:
    """The EER of all trials of a list, and of those within each group of its first grouping."""
    blocks = [*one.blocks()]
    target = np.concatenate([block.target for block in blocks])
    score = np.concatenate([block.more["kept_score"] for block in blocks])
    known = ~np.isnan(score)
    means = [score[known & one].sum() / max(1, (known & one).sum()) for one in (target, ~target)]
    if means[0] < means[1]:
        score = -score  # distances
    kinds = [(ALL, known)]
    for grouping in one.groupings[:1]:
        sides = [grouping.on(one.trials)(block) for block in blocks]
        enrol, test = (np.concatenate(side) for side in zip(*sides, strict=True))
        kinds += [
            (group, known & (enrol == i) & (test == i)) for i, group in enumerate(grouping.groups)
        ]
    for group, rows in kinds:
        if target[rows].any() and not target[rows].all():
            yield group, float(eer(score[rows], target[rows]))


def _span(eers: Sequence[float]) -> str:
    return f"{100 * min(eers):.2f} to {100 * max(eers):.2f} %"


def remarks(
    about: Description, speakers: TrialsPerSpeaker, names: RecordingNames
) -> Iterator[Finding]:
    """Findings on sides, reuse, speakers, recordings, grades and shares."""
    yield _sides(speakers, about)
    yield _reuse(about.tables["reuse"])
    yield _effective(about, speakers)
    yield _recordings(speakers, names)
    yield _unknown(about)
    for name in dict.fromkeys(about.tables["within"].to_dict()["attribute"]):
        yield _within(name, about.tables["within"])
    for name in about.groupings:
        yield _shares(name, about.tables["groups"].where(grouping=name).rows())


def _remark(
    id: str,  # noqa: A002 - what findings call it
    what: str,
    statistic: float | None,
    sentence: str,
    mend: str = "",
) -> Finding:
    number = None if statistic is None else float(statistic)
    return Finding(id, what, "told", number, None, 0, sentence, mend)


def _sides(speakers: TrialsPerSpeaker, about: Description) -> Finding:
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
    words = []
    for what, of, unit in (
        ("a speaker is compared with", "speakers whom a speaker is compared with", "others"),
        ("an utterance is in", "trials of an utterance", "trials"),
        ("a recording is used", "uses of a recording", "times"),
    ):
        if row := rows.get(of):
            each = range_of(np.array([row["least"], row["most"]], dtype=int))
            words.append(f"{what} {each} {unit} (median {row['median']:,.0f})")
    most = rows["trials of an utterance"]["most"]
    return _remark("reuse", "how often things are used", most, "; ".join(words))


def _effective(about: Description, speakers: TrialsPerSpeaker) -> Finding:
    number = effective_number(speakers.part)
    words = (
        f"trials are spread as if there were {number:,.1f} speakers, of {speakers.speaker.size:,}"
    )
    rows = about.tables["groups"].rows()
    rows = [row for row in rows if row["grouping"] != ALL and row["speakers"]]
    if rows:
        least = min(rows, key=lambda row: row["effective_speakers"] / row["speakers"])
        n = f"{least['effective_speakers']:.1f} of {least['speakers']:,}"
        words += f"; furthest off: {least['group']}, {n}"
    return _remark("effective", "effective number of speakers", number, words)


def _recordings(speakers: TrialsPerSpeaker, names: RecordingNames) -> Finding:
    known = speakers.recordings[speakers.recordings >= 0]
    what = "recordings for each speaker"
    if not known.size:
        return _remark("recordings", what, None, names.unknown, GIVE_RECORDINGS)
    single = int((known == 1).sum())
    words = f"{range_of(known)} (median {np.median(known):g}); "
    words += f"{single:,} speaker{'s' * (single != 1)} with one only (recording: {names.source})"
    if unknown := speakers.speaker.size - known.size:
        words += f"; of {unknown:,} speakers they are not all known"
    return _remark("recordings", what, float(known.min()), words)


def _unknown(about: Description) -> Finding:
    counts = dict(zip(*about.tables["list"].to_dict().values(), strict=True))
    unknown = counts["trials of unknown grade"]
    by = " and ".join(about.graded_by) or "no attribute"
    share = shares_or_nan(unknown, counts["trials"])
    words = f"graded by {by}; {unknown:,} trials ({percent(float(share))}) are of grade n.k."
    mend = "complete the tables of speakers and of utterances" if unknown else ""
    if not about.graded_by:
        mend = "give --speakers, or name attributes with --grade-by"
    return _remark("grades", "grades that are known", float(unknown), words, mend)


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


def _shares(name: str, rows: Sequence[Row]) -> Finding:
    """Groups counted by speakers and by utterances, as Table 2 of docs/references.md#paper-001."""
    gaps = [(row["trial_share"] or 0) - (row["speaker_share"] or 0) for row in rows]
    if not any(gaps):
        words = "every group has the same share of speakers and of trials"
        return _remark(f"shares {name}", f"shares of {name}", 0.0, words)
    at = int(np.argmax(np.abs(gaps)))
    row, gap = rows[at], abs(gaps[at])
    words = f"{row['group']} is {percent(row['speaker_share'])} of the speakers, "
    if row["utterance_share"] is not None:
        words += f"{percent(row['utterance_share'])} of the utterances, "
    words += f"{percent(row['trial_share'])} of the trials; others are less far off"
    mend = "weight speakers equally, or draw as many trials for each" if gap > UNLIKE else ""
    return _remark(f"shares {name}", f"shares of {name}", gap, words, mend)


def overlap(trial_list: TrialList, other: Any, **reading: Any) -> Finding:
    """What a list and a development list share; a trial and its reverse are one.

    Ids of both name the same speakers. `reading` has the tables that tell the speakers and
    recordings of the other list where its ids do not.
    """
    try:
        theirs = read_list(other, by=(), columns=reading.get("columns"))
    except DataError:  # as the ids do not name their speakers
        theirs = read_list(other, by=(), **reading)
    place = trial_list.trials.utterance_ids.where(theirs.trials.utterance_ids.series())
    n = len(trial_list.trials.utterance_ids)
    pairs = [_pairs(one.enrol, one.test, n) for one in trial_list.blocks()]
    other_pairs = [_pairs(place[one.enrol], place[one.test], n) for one in theirs.blocks()]
    speakers = _in_both(trial_list, theirs, ["speaker"])
    recordings = f"{_in_both(trial_list, theirs, ['speaker', 'recording']):,} recordings"
    if trial_list.recordings.doubt or theirs.recordings.doubt:
        recordings = "recordings n.k."
    utterances = int((place >= 0).sum())
    trials = int(np.isin(np.unique(np.concatenate(pairs)), np.concatenate(other_pairs)).sum())
    return _remark(
        "leakage",
        "shared with the development list",
        speakers,
        f"{speakers:,} speakers, {recordings}, {utterances:,} utterances, {trials:,} trials",
        "leave them out of one of the lists" if speakers or trials else "",
    )


def _in_both(trial_list: TrialList, theirs: TrialList, columns: list[str]) -> int:
    """How many distinct and known values some columns share."""
    mine, yours = (
        _named(one).select(columns).drop_nulls().unique() for one in (trial_list, theirs)
    )
    return mine.join(yours, on=columns, how="semi").height


def _named(trial_list: TrialList) -> pl.DataFrame:
    """Names of the speaker and of the recording of each utterance."""
    trials = trial_list.trials
    table = None if trials.recordings is None else trials.recordings.table
    speaker = trials.utterance_speaker
    ids = trials.utterance_ids.series()
    names = pl.Series(trial_list.people.ids, dtype=pl.String).gather(speaker)
    recording = recording_names(ids, table, speaker).trusted
    return pl.DataFrame({"speaker": names, "recording": recording})


def _pairs(enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """One number for each pair, whichever side is which; -1 where a side is unknown."""
    low, high = np.minimum(enrol, test).astype(np.int64), np.maximum(enrol, test)
    return np.where(low < 0, -1, low * n + high)


def detectable(about: Description, pilot: Any) -> Iterator[Finding]:
    """The least ratio of a group's rate to that of all others that would be detected.

    Of the plan made of a pilot, its rates, correlations within speakers, power and confidence
    count, not its numbers of speakers and trials.
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
        ratios = detectable_ratio(
            rate, group, reference, power=how["power"], confidence=how["confidence"]
        )
    return dict(zip((row["group"] for row in known), np.atleast_1d(ratios).tolist(), strict=True))


def _of_rate(
    grouping: str, metric: str, ratios: dict[str, float], how: dict[str, float]
) -> Finding:
    what = f"least {metric.upper()} ratio of {grouping} to be detected"
    name = f"detectable {metric} {grouping}"
    if len(ratios) < 2:
        words = f"the pilot does not tell how {metric.upper()} of these groups varies"
        return _remark(name, what, None, words, "make a pilot of these groups")
    finite = {group: ratio for group, ratio in ratios.items() if np.isfinite(ratio)}
    never = len(ratios) - len(finite)
    words = "none is"
    if finite:
        low, high = (pick(finite, key=finite.__getitem__) for pick in (min, max))
        words = f"from x {finite[low]:.2f} ({low}) to x {finite[high]:.2f} ({high})"
    words += f" at a power of {how['power']:g}"
    if never:
        words += f"; of {never:,} groups none, however large"
    mend = "more speakers in these groups: parivox plan tells how many" if never else ""
    worst = max(finite.values(), default=None)
    return Finding(name, what, "told", worst, None, never, words, mend)
