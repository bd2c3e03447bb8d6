"""Check a list of trials: what it can show, what it cannot, and remarks.

Remarks neither pass nor fail: which speakers are on which side, how often utterances are used, what
a development list shares with this one, and what differences between groups could be detected if
speakers vary as in a pilot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from parivox.core.eer import eer
from parivox.core.planning import Sample, detectable_ratio
from parivox.data.lists.findings import Finding
from parivox.data.lists.grades import hardest, parse_mixes
from parivox.data.lists.guidelines import (
    CHECKS,
    extremes,
    guidelines,
    known_share,
    share_extremes,
)
from parivox.data.lists.list_counts import count_list, effective_number, shares_or_nan
from parivox.data.lists.manifest import ManifestDesign
from parivox.data.lists.trial_list import read_list
from parivox.data.recording_names import recording_names
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.facts import fact, joined_facts
from parivox.numerals import number_of
from parivox.trials.description import ALL, Description, list_description

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.data.lists.findings import Check
    from parivox.data.lists.list_counts import TrialsPerSpeaker
    from parivox.data.lists.trial_list import TrialList
    from parivox.data.recording_names import RecordingNames

    Row = dict[str, Any]
    from parivox.sources import SpeakerSource, TableSource, UtteranceSource

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

MAX_SHARE_GAP = 0.02
"""By how much the shares of speakers and of trials of a group may differ without a hint."""
_TRIALS_OF_RATE = {"fnr": ("target", 1), "fpr": ("nontarget", 2)}
"""Trials whose errors a rate counts, and the speakers of such a trial."""


class PilotPlan(Protocol):
    """A plan that was made of a pilot: a result of `parivox.plan`."""

    @property
    def groups(self) -> Table:
        """A row for each group and rate."""

    @property
    def asked(self) -> Mapping[str, Any]:
        """Power, confidence and other options by name."""


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
    recording_source : Fact
        What tells which utterances are of one recording, or why nothing does.
    recordings : str
        The same in words.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Checks that failed."""
        return tuple(finding for finding in self.findings if finding.verdict == "fail")

    def __getitem__(self, id: str) -> Finding:  # noqa: A002 - what findings call it
        return {finding.id: finding for finding in self.findings}[id]

    def to_json(self) -> str:
        """Findings and tables as JSON, a column a list; infinite values as "inf"."""
        return self._as_json({"passed": self.passed})


def check(
    trials: TableSource,
    *,
    speakers: SpeakerSource | None = None,
    utterances: UtteranceSource | None = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    mix: Mapping[str, float] | str | None = None,
    variants: Sequence[TableSource] = (),
    development: TableSource | None = None,
    pilot: PilotPlan | None = None,
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
    >>> print(found["G2"].sentence)
    1 of 2 enrolment speakers have fewer than 1 nontarget trials (over all speakers: 0 to 1)
    """
    checks = _checks_with_thresholds(thresholds)
    if isinstance(variants, (str, bytes)) or not isinstance(variants, Sequence):
        msg = f"variants={variants!r} is not a list of trial lists"
        hint = "give a list, for example ['list-2.txt']"
        raise ConfigError(msg, hint)
    if pilot is not None and not (hasattr(pilot, "groups") and hasattr(pilot, "asked")):
        msg = f"pilot={pilot!r} is not a plan"
        hint = "make a plan from an audit with pv.plan('audit/')"
        raise ConfigError(msg, hint)
    options: dict[str, Any] = {
        "speakers": speakers,
        "utterances": utterances,
        "id": id,
        "columns": columns,
        "conflicts": conflicts,
        "encoding": encoding,
        "quotes": quotes,
    }
    keeps_scores = bool(variants)  # for the EERs of all
    trial_list = read_list(trials, by=by, grade_by=grade_by, **options, keeps_scores=keeps_scores)
    design = ManifestDesign.for_list_file(trials)
    # what the user names counts more than what the manifest says
    if design is not None and grade_by is None:
        trial_list = design.regrade(trial_list)
    wished_mix = None if design is None else design.fixed_mix(trial_list)
    if mix is not None:
        if not trial_list.agreements:
            msg = "--mix: no nontarget trial has a grade, because no attribute is known"
            hint = "give --speakers, or name attributes with --grade-by"
            raise ConfigError(msg, hint)
        wished_mix = parse_mixes(mix, hardest(len(trial_list.agreements)))
    variant_lists = [
        read_list(variant, by=by, **options, keeps_scores=keeps_scores) for variant in variants
    ]
    # a list that is given twice is one; reversed, so that the first of equal ones is looked at
    distinct_lists = {
        variant.trials.content_sha256: variant for variant in reversed([trial_list, *variant_lists])
    }
    n_lists = len(distinct_lists)
    # a manifest names the variants that were built with a list
    if design is not None and not variants:
        n_lists = design.n_lists
    counts = count_list(trial_list)
    description = list_description(counts, speaker_ids=speaker_ids)
    outcomes = eer_differences([*distinct_lists.values()])
    findings = guidelines(counts, checks, mix=wished_mix, n_lists=n_lists, outcomes=outcomes)
    findings += remarks(description, counts.trials_per_speaker, trial_list.recording_names)
    if design is not None:
        findings.append(_remark("design", "remark_design", None, design.as_fact))
    if development is not None:
        findings.append(overlap(trial_list, development, **options))
    if pilot is not None:
        findings += detectable(description, pilot)
    cells = {name: [getattr(finding, name) for finding in findings] for name in _COLUMNS}
    return Checked(
        name=description.name,
        groupings=description.groupings,
        graded_by=description.graded_by,
        tables={"checks": Table.of(cells, _COLUMNS), **description.tables},
        recording_source=description.recording_source,
        findings=tuple(findings),
    )


def _checks_with_thresholds(thresholds: Any) -> dict[str, Check]:
    """Return all checks, some with thresholds that the user sets."""
    if thresholds is not None and not isinstance(thresholds, Mapping):
        msg = f"thresholds={thresholds!r} is not a mapping"
        hint = "give one, for example {'G2': 100}"
        raise ConfigError(msg, hint)
    checks = dict(CHECKS)
    for name, number in (thresholds or {}).items():
        if name not in checks:
            msg = f"--threshold {name!r} is not a check"
            hint = f"choose from {', '.join(checks)}"
            raise ConfigError(msg, hint)
        try:
            threshold = number_of(number)
        except (TypeError, ValueError):
            threshold = -1.0  # is refused below
        if not 0 <= threshold < float("inf"):
            msg = f"--threshold {name}={number!r}: is not a number from 0"
            hint = "write a threshold such as G2=100"
            raise ConfigError(msg, hint)
        checks[name] = checks[name]._replace(threshold=threshold)
    return checks


def eer_differences(lists: Sequence[TrialList]) -> str:
    """Return how far EERs of lists with scores differ, as facts; empty where a list has none."""
    if len(lists) < 2 or not all(
        "kept_score" in trial_list.trials.extra_columns for trial_list in lists
    ):
        return ""
    eers_by_group: dict[str, list[float]] = {}
    for trial_list in lists:
        for group, group_eer in _group_eers(trial_list):
            eers_by_group.setdefault(group, []).append(group_eer)
    # groups that have an EER in every list
    complete = {group: eers for group, eers in eers_by_group.items() if len(eers) == len(lists)}
    values: dict[str, Any] = {"eers": _eer_extremes(complete.pop(ALL))}
    if complete:
        widest = max(complete, key=lambda group: max(complete[group]) - min(complete[group]))
        grouping = lists[0].groupings[0].name
        values |= {"grouping": grouping, "group": widest}
        values["eers_of_group"] = _eer_extremes(complete[widest])
    return fact("eers_of_lists", **values)


def _group_eers(trial_list: TrialList) -> Iterator[tuple[str, float]]:
    """Yield the EER of all trials, and of those within each group of the first grouping."""
    chunks = [*trial_list.chunks()]
    target = np.concatenate([chunk.target for chunk in chunks])
    score = np.concatenate([chunk.extra_columns["kept_score"] for chunk in chunks])
    has_score = ~np.isnan(score)
    target_mean, nontarget_mean = (
        score[has_score & is_class].sum() / max(1, (has_score & is_class).sum())
        for is_class in (target, ~target)
    )
    if target_mean < nontarget_mean:  # scores are distances
        score = -score
    masks = [(ALL, has_score)]
    for grouping in trial_list.groupings[:1]:
        groups_of_sides = [grouping.side_coder(trial_list.trials)(chunk) for chunk in chunks]
        enrol, test = (np.concatenate(side) for side in zip(*groups_of_sides, strict=True))
        masks += [
            (group, has_score & (enrol == code) & (test == code))
            for code, group in enumerate(grouping.groups)
        ]
    for group, mask in masks:
        if target[mask].any() and not target[mask].all():
            yield group, float(eer(score[mask], target[mask]))


def _eer_extremes(eers: Sequence[float]) -> list[float]:
    return [float(min(eers)), float(max(eers))]


def remarks(
    description: Description, speakers: TrialsPerSpeaker, recording_names: RecordingNames
) -> Iterator[Finding]:
    """Yield findings on sides, reuse, speakers, recordings, grades and shares."""
    yield _sides_remark(speakers, description)
    yield _reuse_remark(description.tables["reuse"])
    yield _effective_speakers_remark(description, speakers)
    yield _recordings_remark(speakers, recording_names)
    yield _unknown_grades_remark(description)
    for attribute in dict.fromkeys(description.tables["within"].to_dict()["attribute"]):
        yield _agreement_remark(attribute, description.tables["within"])
    for grouping in description.groupings:
        rows = description.tables["groups"].subset(grouping=grouping).rows()
        yield _group_shares_remark(grouping, rows)


def _remark(
    id: str,  # noqa: A002 - what findings call it
    title: str,
    statistic: float | None,
    facts: str,
    remedy: str = "",
) -> Finding:
    return Finding(
        id=id,
        title=title,
        verdict="told",
        statistic=None if statistic is None else float(statistic),
        facts=facts,
        remedies=remedy,
    )


def _sides_remark(speakers: TrialsPerSpeaker, description: Description) -> Finding:
    """Return which speakers are on which side of nontarget trials."""
    n_enrolled = speakers.n_nontarget[speakers.n_nontarget > 0]
    n_tested = speakers.n_tested_nontarget[speakers.n_tested_nontarget > 0]
    n_never_enrolled = speakers.speaker_indices.size - n_enrolled.size
    n_never_tested = speakers.speaker_indices.size - n_tested.size
    title = "remark_sides"
    if not n_enrolled.size:
        return _remark("sides", title, None, fact("no_trials_of_class", trials="nontarget"))
    never_by_grouping = []
    remedy = ""
    if n_never_enrolled or n_never_tested:
        for grouping in description.groupings:
            rows = description.tables["groups"].subset(grouping=grouping).rows()
            never_enrol = np.array([row["never_enrol"] for row in rows])
            never_test = np.array([row["never_test"] for row in rows])
            never_by_grouping.append(
                {
                    "grouping": grouping,
                    "never_enrol": extremes(never_enrol),
                    "never_test": extremes(never_test),
                }
            )
        remedy = "use_speakers_on_both_sides"
    stated = fact(
        "sides_of_speakers",
        enrolled=extremes(n_enrolled),
        tested=extremes(n_tested),
        never_enrol=n_never_enrolled,
        never_test=n_never_tested,
        by_grouping=never_by_grouping,
    )
    return _remark("sides", title, n_never_enrolled + n_never_tested, stated, remedy)


def _reuse_remark(table: Table) -> Finding:
    rows = {row["item"]: row for row in table.rows()}
    facts = []
    for code, row_name in (
        ("speakers_compared_with_a_speaker", "partners_of_speaker"),
        ("trials_of_an_utterance", "trials_of_utterance"),
        ("uses_of_a_recording", "uses_of_recording"),
    ):
        if row := rows.get(row_name):
            numbers = [int(row["least"]), int(row["most"])]
            facts.append(fact(code, numbers=numbers, median=float(row["median"])))
    max_trials = rows["trials_of_utterance"]["most"]
    return _remark("reuse", "remark_reuse", max_trials, joined_facts(*facts))


def _effective_speakers_remark(description: Description, speakers: TrialsPerSpeaker) -> Finding:
    effective_speakers = effective_number(speakers.n_trials)
    stated = fact(
        "effective_speakers",
        effective=float(effective_speakers),
        speakers=speakers.speaker_indices.size,
    )
    rows = description.tables["groups"].rows()
    rows = [row for row in rows if row["grouping"] != ALL and row["speakers"]]
    if rows:
        worst = min(rows, key=lambda row: row["effective_speakers"] / row["speakers"])
        furthest = fact(
            "group_with_fewest_effective_speakers",
            grouping=worst["grouping"],
            group=worst["group"],
            effective=float(worst["effective_speakers"]),
            speakers=int(worst["speakers"]),
        )
        stated = joined_facts(stated, furthest)
    return _remark("effective", "remark_effective_speakers", effective_speakers, stated)


def _recordings_remark(speakers: TrialsPerSpeaker, recording_names: RecordingNames) -> Finding:
    known_numbers = speakers.n_recordings[speakers.n_recordings >= 0]
    title = "remark_recordings"
    if not known_numbers.size:
        return _remark("recordings", title, None, recording_names.unknown_fact, "give_recordings")
    facts = [
        fact(
            "recordings_of_speakers",
            numbers=extremes(known_numbers),
            median=float(np.median(known_numbers)),
        ),
        fact(
            "speakers_with_one_recording",
            speakers=int((known_numbers == 1).sum()),
            **recording_names.source_values,
        ),
    ]
    if n_unknown := speakers.speaker_indices.size - known_numbers.size:
        facts.append(fact("speakers_with_unknown_recordings", speakers=n_unknown))
    return _remark("recordings", title, float(known_numbers.min()), joined_facts(*facts))


def _unknown_grades_remark(description: Description) -> Finding:
    counts = dict(zip(*description.tables["list"].to_dict().values(), strict=True))
    n_unknown = counts["trials_of_unknown_grade"]
    stated = joined_facts(
        fact("graded_by", attributes=[*description.graded_by]),
        fact(
            "share_of_unknown_grade",
            trials=int(n_unknown),
            share=known_share(float(shares_or_nan(n_unknown, counts["trials"]))),
        ),
    )
    remedy = "complete_tables" if n_unknown else ""
    if not description.graded_by:
        remedy = "give_speakers_or_grade_by"
    return _remark("grades", "remark_known_grades", float(n_unknown), stated, remedy)


def _agreement_remark(attribute: str, table: Table) -> Finding:
    """Return the shares of nontarget trials within and across the values of an attribute."""
    all_trials, *group_rows = table.subset(attribute=attribute).rows()
    id_, title = f"within {attribute}", fact("remark_same_attribute", attribute=attribute)
    share = all_trials["same_share"]
    if share is None:
        return _remark(id_, title, None, "known_of_no_nontarget_trial")
    facts = [fact("shares_within_and_across", share=float(share))]
    for grouping in dict.fromkeys(row["grouping"] for row in group_rows):
        rows = [
            row
            for row in group_rows
            if row["grouping"] == grouping and row["same_share"] is not None
        ]
        shares = np.array([row["same_share"] for row in rows])
        if shares.size > 1 and shares.min() < shares.max():
            extreme_shares = share_extremes([row["group"] for row in rows], shares)
            facts.append(fact("shares_by_grouping", grouping=grouping, shares=extreme_shares))
    if all_trials["unknown"]:
        facts.append(fact("unknown_trials", trials=int(all_trials["unknown"])))
    return _remark(id_, title, share, joined_facts(*facts))


def _group_shares_remark(grouping: str, rows: Sequence[Row]) -> Finding:
    """Return groups by their shares of speakers and trials, as Table 2 of paper 001.

    See docs/references.md#paper-001.
    """
    id_, title = f"shares {grouping}", fact("remark_shares", grouping=grouping)
    gaps = [(row["trial_share"] or 0) - (row["speaker_share"] or 0) for row in rows]
    if not any(gaps):
        return _remark(id_, title, 0.0, "same_share_of_speakers_and_trials")
    widest = int(np.argmax(np.abs(gaps)))
    row, gap = rows[widest], abs(gaps[widest])
    shares = {name: row[name] for name in ("speaker_share", "utterance_share", "trial_share")}
    stated = joined_facts(
        fact("shares_of_group", grouping=grouping, group=row["group"], **shares),
        "others_less_far_off",
    )
    remedy = "weight_speakers_equally" if gap > MAX_SHARE_GAP else ""
    return _remark(id_, title, gap, stated, remedy)


def overlap(trial_list: TrialList, development: Any, **options: Any) -> Finding:
    """Return what a list and a development list share; a trial and its reverse are one.

    Ids of both name the same speakers. `options` has the tables that name the speakers and
    recordings of the development list where its ids do not.
    """
    try:
        development_list = read_list(development, by=(), columns=options.get("columns"))
    except DataError:  # as the ids do not name their speakers
        development_list = read_list(development, by=(), **options)
    ids = trial_list.trials.utterance_ids
    # position of each utterance of the development list in this list, -1 where it is not there
    positions = ids.positions(development_list.trials.utterance_ids.series())
    keys = [_pair_keys(chunk.enrol, chunk.test, len(ids)) for chunk in trial_list.chunks()]
    development_keys = [
        _pair_keys(positions[chunk.enrol], positions[chunk.test], len(ids))
        for chunk in development_list.chunks()
    ]
    n_speakers = _n_shared(trial_list, development_list, ["speaker"])
    n_recordings = _n_shared(trial_list, development_list, ["speaker", "recording"])
    is_doubtful = (
        trial_list.recording_names.are_doubtful or development_list.recording_names.are_doubtful
    )
    n_utterances = int((positions >= 0).sum())
    distinct_keys = np.unique(np.concatenate(keys))
    n_trials = int(np.isin(distinct_keys, np.concatenate(development_keys)).sum())
    return _remark(
        "leakage",
        "remark_leakage",
        n_speakers,
        fact(
            "shared_with_development_list",
            speakers=n_speakers,
            recordings=None if is_doubtful else n_recordings,
            utterances=n_utterances,
            trials=n_trials,
        ),
        "leave_shared_parts_out" if n_speakers or n_trials else "",
    )


def _n_shared(trial_list: TrialList, development_list: TrialList, columns: list[str]) -> int:
    """Count the distinct and known values of some columns that both lists have."""
    names = _names_of_utterances(trial_list).select(columns).drop_nulls().unique()
    development_names = _names_of_utterances(development_list).select(columns)
    return names.join(development_names.drop_nulls().unique(), on=columns, how="semi").height


def _names_of_utterances(trial_list: TrialList) -> pl.DataFrame:
    """Return the names of the speaker and of the recording of each utterance."""
    trials = trial_list.trials
    table = None if trials.recordings is None else trials.recordings.table
    speaker = trials.utterance_speaker
    ids = trials.utterance_ids.series()
    speaker_names = pl.Series(trial_list.speakers.ids, dtype=pl.String).gather(speaker)
    recording = recording_names(ids, table, speaker).trusted
    return pl.DataFrame({"speaker": speaker_names, "recording": recording})


def _pair_keys(
    enrol: NDArray[np.int32], test: NDArray[np.int32], n_utterances: int
) -> NDArray[np.int64]:
    """Return one number for each pair, whichever side is which; -1 where a side is unknown."""
    low, high = np.minimum(enrol, test).astype(np.int64), np.maximum(enrol, test)
    return np.where(low < 0, -1, low * n_utterances + high)


def detectable(description: Description, pilot: PilotPlan) -> Iterator[Finding]:
    """Yield the smallest ratio of a group's rate to that of all others that would be detected.

    Of the plan made of a pilot, its rates, correlations within speakers, power and confidence
    count, not its numbers of speakers and trials.
    """
    pilot_rows = [row for row in pilot.groups.rows() if not row["within"]]
    if not pilot_rows:
        msg = "the pilot has no groups"
        hint = "make the plan from an audit with intervals"
        raise ConfigError(msg, hint)
    test_options = {name: pilot.asked[name] for name in ("power", "confidence")}
    for grouping in description.groupings:
        rows = description.tables["groups"].subset(grouping=grouping).rows()
        for metric, (label, sides) in _TRIALS_OF_RATE.items():
            pilot_by_group: dict[str, Row] = {}
            for row in pilot_rows:
                if row["metric"] == metric and row["grouping"].lower() == grouping.lower():
                    pilot_by_group.setdefault(row["group"], row)
            ratios = _detectable_ratios(rows, pilot_by_group, label, sides, test_options)
            yield _detectable_ratio_remark(grouping, metric, ratios, test_options)


def _detectable_ratios(
    rows: Sequence[Row],
    pilot: dict[str, Row],
    label: str,
    sides: int,
    test_options: dict[str, float],
) -> dict[str, float]:
    """Return the ratio of each group that the pilot knows; NaN where none would be detected."""
    known_rows = [row for row in rows if (pilot.get(row["group"]) or {}).get("icc") is not None]
    known_rows = [row for row in known_rows if row[label] and pilot[row["group"]]["rate"]]
    n_speakers, n_trials, effective_speakers = (
        np.array([row[column] for row in known_rows], dtype=float)
        for column in ("speakers", label, "effective_speakers")
    )
    icc = np.array([pilot[row["group"]]["icc"] for row in known_rows])
    rate = np.array([pilot[row["group"]]["rate"] for row in known_rows])
    trials_per_speaker = sides * n_trials / n_speakers
    # trials by which the correlation within speakers raises the variance
    excess = n_trials * np.maximum(trials_per_speaker - 1, 0) * icc
    other_speakers, other_trials, other_excess, other_effective = (
        column.sum() - column for column in (n_speakers, n_trials, excess, effective_speakers)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        other_trials_per_speaker = sides * other_trials / other_speakers
        other_icc = np.nan_to_num(other_excess / (other_trials * (other_trials_per_speaker - 1)))
        group_sample = Sample(
            n_speakers, trials_per_speaker, icc, sides, np.maximum(effective_speakers - 1, 1)
        )
        other_sample = Sample(
            other_speakers,
            other_trials_per_speaker,
            other_icc,
            sides,
            np.maximum(other_effective - 1, 1),
        )
        ratios = detectable_ratio(
            rate,
            group_sample,
            other_sample,
            power=test_options["power"],
            confidence=test_options["confidence"],
        )
    groups = [row["group"] for row in known_rows]
    return dict(zip(groups, np.atleast_1d(ratios).tolist(), strict=True))


def _detectable_ratio_remark(
    grouping: str, metric: str, ratios: dict[str, float], test_options: dict[str, float]
) -> Finding:
    title = fact("remark_detectable_ratio", metric=metric.upper(), grouping=grouping)
    id_ = f"detectable {metric} {grouping}"
    if len(ratios) < 2:
        stated = fact("variation_not_in_pilot", metric=metric)
        return _remark(id_, title, None, stated, "make_pilot_of_groups")
    finite = {group: ratio for group, ratio in ratios.items() if np.isfinite(ratio)}
    n_undetectable = len(ratios) - len(finite)
    power = test_options["power"]
    stated = fact("no_detectable_ratio", power=power)
    if finite:
        positions = min(finite, key=finite.__getitem__), max(finite, key=finite.__getitem__)
        extreme_ratios = [{"group": group, "ratio": finite[group]} for group in positions]
        stated = fact("detectable_ratios", grouping=grouping, ratios=extreme_ratios, power=power)
    remedy = ""
    if n_undetectable:
        stated = joined_facts(stated, fact("undetectable_in_groups", number=n_undetectable))
        remedy = "more_speakers_in_groups"
    return Finding(
        id=id_,
        title=title,
        verdict="told",
        statistic=max(finite.values(), default=None),
        offenders=n_undetectable,
        facts=stated,
        remedies=remedy,
    )
