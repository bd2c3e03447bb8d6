"""What is said of the trials that were read: what was counted, set aside, or contradicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.data.columns import alone
from parivox.data.formats import FORMATS
from parivox.data.joining import pattern_of
from parivox.data.trial_checks import (
    CONFLICTS,
    DUPLICATES,
    FAILED,
    INFINITE,
    NOTE_OF_NOBODY,
    NOTE_WITHOUT_TEST_SPEAKER,
    OF_ITSELF,
    OF_NOBODY,
    REPEATED,
    REPEATED_UNSCORED,
    REVERSED,
    REVERSED_FAR,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
    DataNote,
)
from parivox.data.value_warnings import CUT, ODDITIES, odd_targets
from parivox.errors import DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Scan
    from parivox.data.ids import MergedIds
    from parivox.data.trial_checks import CheckCounts

_KINDS = ("trials", "list", "failed", "pair", "decision", "label")
_MAX_SHARE = 0.1
"""Share of pairs in both orders whose scores differ, and of trials that occur again."""
_MEND = "or exclude contradictory rows with --conflicts set-aside"


def why_none_left(counts: CheckCounts) -> str:
    """Why no trial is left."""
    reasons = {
        "have no score": counts.unscored,
        "are of nobody, as placeholders such as 'nan' for a speaker say": counts.without_speaker,
        "are not in the trial list": counts.not_in_trials,
        "contradict others": counts.conflicts,
    }
    listed = ", ".join(f"{count:,} {why}" for why, count in reasons.items() if count)
    return f"of {counts.rows:,} rows {listed or 'none is a trial'}"


def reading_notes(
    counts: CheckCounts, scans: Sequence[Scan], *, is_scored: bool = True
) -> list[DataNote]:
    """What was counted, in a fixed order."""
    by = f"{counts.reversed_differ:,} of them with another score, by up to {counts.reversed_by:.1g}"
    both_ways = f"kept as trials of their own; {by}" if counts.reversed else ""
    without_score = UNSCORED if is_scored else "trials without decision"
    only_decided = "left out with their trials, as the others have scores"
    always = [
        ("rows", counts.rows),
        ("trials", counts.n_kept),
        ("target trials", counts.targets),
        ("nontarget trials", counts.n_kept - counts.targets),
    ]
    found = [
        (without_score, counts.unscored, "left out"),
        (REPEATED_UNSCORED, counts.repeated_unscored, "left out"),
        (OF_NOBODY, counts.without_speaker, NOTE_OF_NOBODY),
        ("decisions of trials without score", counts.decided_only, only_decided),
        (DUPLICATES, counts.duplicates, "counted once"),
        (CONFLICTS, counts.conflicts, "set aside"),
        ("labels that contradict the speakers", counts.wrong_labels, "set aside"),
        (REVERSED, counts.reversed, both_ways),
        (OF_ITSELF, counts.same_utterance, "kept"),
        (INFINITE, counts.infinite, "kept"),
        (WITHOUT_TEST_SPEAKER, counts.without_test_speaker, NOTE_WITHOUT_TEST_SPEAKER),
        (FAILED, counts.failed, "counted as rejected in FRR and FAR"),
        ("scores of trials that failed", counts.failed_scored, "set aside"),
        ("decisions that contradict score and threshold", counts.wrong_decisions, "set aside"),
    ]
    notes = [DataNote("scores", item, n) for item, n in always]
    notes += [DataNote("scores", item, n, note) for item, n, note in found if n]
    if counts.reversed_far > _MAX_SHARE * counts.reversed:
        note = "a symmetric system gives both orders one score"
        notes.append(DataNote(ODDITIES, REVERSED_FAR, counts.reversed_far, note))
    if counts.duplicates > _MAX_SHARE * (counts.duplicates + counts.n_kept):
        note = "the same calls may be in two files or on two days; each is counted once"
        notes.append(DataNote(ODDITIES, REPEATED, counts.duplicates, note))
    odd = odd_targets(counts.targets, counts.same_utterance, counts.conflict_targets)
    notes += [DataNote(ODDITIES, one.what, one.count, one.note) for one in odd]
    if len(scans) > 1:
        few = max(counts.not_in_scores, counts.not_in_trials) and 2 * counts.found_in_scores < min(
            counts.found_in_scores + counts.not_in_scores,
            counts.found_in_scores + counts.not_in_trials,
        )
        hint = pattern_of(*scans) if few else ""
        left_out = f"left out; {hint}" if hint else "left out"
        notes.append(DataNote("trials", "rows", counts.list_rows))
        joined = [
            DataNote("trials", DUPLICATES, counts.list_duplicates, "counted once"),
            DataNote("trials", UNSCORED, counts.not_in_scores, left_out),
            DataNote("scores", "scores that are in no trial", counts.not_in_trials, "left out"),
        ]
        notes += [one for one in joined if one.count]
    return notes


def contradiction(
    scans: Sequence[Scan],
    counts: CheckCounts,
    ids: MergedIds,
    speaker: NDArray[np.int32] | None,
    names: Sequence[str],
) -> DataError:
    """Name the rows of the first pair that something is wrong with."""
    kind = next(kind for kind in _KINDS if kind in counts.first_pairs)
    enrol, test = counts.first_pairs[kind]
    pair = str(ids[enrol]), str(ids[test])
    source = scans[-1] if kind == "trials" else scans[0]
    found = source.matching_rows(*pair)
    shown = f"({pair[0]}, {pair[1]})"
    if kind == "label":
        assert speaker is not None
        whose = [names[speaker[code]] for code in (enrol, test)]
        is_one = whose[0] == whose[1]
        truth = f"both are of {whose[0]}" if is_one else f"they are of {' and '.join(whose)}"
        labelled = scans[-1] if "label" in scans[-1].columns else scans[0]
        row = (labelled.matching_rows(*pair) or found)[0]
        mend = "correct the label or the speakers"
        if who := alone(source.columns):
            mend = f"{who!r} is taken for who calls: name another column with test_speaker=..."
            if "label" not in source.columns:
                mend += f", or put the labels into {source.name}"
        return DataError(
            f"{row.location('label')}: {shown} is labelled {row.cells.get('label')!r}, but {truth} "
            f"({_how_many(counts.wrong_labels)}); {mend}, {_MEND}"
        )
    if kind == "list":
        row, other = found[0], scans[-1].matching_rows(*pair)[0]
        return DataError(
            f"{row.location('label')}: {shown} is labelled {row.cells['label']!r}, but "
            f"{other.cells['label']!r} in row {other.number} of {other.file.name}; correct one, "
            f"{_MEND}"
        )
    if kind == "failed":
        role = "score" if "score" in source.columns else "decision"
        row = next(one for one in found if one.cells.get(role) not in {None, ""})
        by = "" if "status" not in row.cells else f" (status {row.cells['status']!r})"
        return DataError(
            f"{row.location()}: {shown} failed{by}, but has the {role} {row.cells[role]!r} "
            f"({_how_many(counts.failed_scored)}); empty it, or correct what failed, {_MEND}"
        )
    if kind == "decision":
        row, cells = found[0], found[0].cells
        return DataError(
            f"{row.location('decision')}: {shown} is {cells['decision']!r} with score "
            f"{cells['score']} and threshold {cells['threshold']}; a trial is accepted if its "
            f"score is not below the threshold ({_how_many(counts.wrong_decisions)}); correct "
            f"one, {_MEND}"
        )
    row, cells = found[0], found[0].cells  # and the first one below that says something else
    ignored = {"score"} if kind == "trials" else set()
    asked = [role for role in cells if role not in ignored]
    others = (one for one in found[1:] if any(cells[role] != one.cells[role] for role in asked))
    other = next(others, found[-1])
    theirs = other.cells
    roles = ["label", "score", *(role for role in cells if role not in {"enrol", "test"})]
    differ = next((role for role in roles if cells.get(role) != theirs.get(role)), "label")
    mend = f"correct one row, {_MEND}"
    are_speakers = speaker is not None and np.unique(speaker).size == speaker.size
    if are_speakers and 2 * counts.conflicts > counts.rows:
        mend = f"{counts.conflicts:,} of {counts.rows:,} rows contradict others, {CUT}"
    return DataError(
        f"{row.location_with(other)}: the same trial {shown} has {differ.lstrip('@')} "
        f"{cells.get(differ)!r} and {theirs.get(differ)!r}; {mend}"
    )


def enrolment_of_nobody(scans: Sequence[Scan], enrol: str) -> DataError:
    """Say that an enrolment has no speaker, which test recordings of nontarget trials may lack."""
    return DataError(
        f"{scans[0].name}: enrolment {enrol!r} has no speaker; only test recordings of nontarget "
        "trials may lack one: name it in a column enrol_speaker"
    )


def _how_many(count: int) -> str:
    return "the only such trial" if count == 1 else f"one of {count:,} such trials"


def labels_or_scores(scanned: Scan) -> str:
    """What to do if a column of 1.0 and -1.0 holds scores, though it looks like labels."""
    places = dict(FORMATS[scanned.format].positions) if scanned.format in FORMATS else {}
    if "label" in places:
        places["score"] = places.pop("label")
    of_scores = next(
        (one.name for one in FORMATS.values() if places and one.positions == places), ""
    )
    if not of_scores or of_scores == scanned.format:
        return ""
    if not next(iter(scanned.chunks()))["label"].str.contains("[0-9]").any():
        return ""
    column = scanned.columns["label"].split()[0]
    return f"; if column {column} holds scores, give --scores-format {of_scores}"


def check_columns(asked: RequestedColumns, scans: Sequence[Scan]) -> None:
    """Each column that the user names must be in one of the files."""
    for role, column in asked.by_role.items():
        if not any(one.columns.get(role) == column for one in scans):
            names = [n for one in scans for n in (*one.columns.values(), *one.ignored)]
            msg = (
                f"{' and '.join(one.name for one in scans)}: none has a column {column!r} for "
                f"{role}; {name_hint(column, names)}; name it with --columns"
            )
            raise DataError(msg)
