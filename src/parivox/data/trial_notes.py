"""What is said of the trials that were read: what was counted, set aside, or contradicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.data.columns import only_customer_column
from parivox.data.formats import FORMATS
from parivox.data.joining import id_difference
from parivox.data.trial_checks import (
    CONFLICTS,
    COUNTED_ONCE,
    DUPLICATES,
    EXCLUDED,
    FAILED,
    INFINITE,
    KEPT,
    LEFT_OUT,
    NOTE_PLACEHOLDER_SPEAKER,
    NOTE_WITHOUT_TEST_SPEAKER,
    PLACEHOLDER_SPEAKER,
    REPEATED,
    REPEATED_UNSCORED,
    REVERSED,
    REVERSED_FAR,
    SAME_UTTERANCE,
    SPOOFED_ELSEWHERE,
    SPOOFS_OF_OTHERS,
    UNDECIDED,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
    DataNote,
)
from parivox.data.value_warnings import CUT_IDS_REASON, WARNING_SOURCE, target_trial_warnings
from parivox.errors import DataError, name_hint
from parivox.facts import fact, joined_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import FoundRow, Scan
    from parivox.data.ids import MergedIds
    from parivox.data.trial_checks import CheckCounts

_CONTRADICTION_KINDS = (
    "trials",
    "list",
    "failed",
    "pair",
    "decision",
    "label",
    "spoofed",
    "attack",
    SPOOFED_ELSEWHERE,
)
_MAX_UNUSUAL_SHARE = 0.1
"""Share of pairs in both orders whose scores differ, and of trials that occur again."""
_CONFLICT_REMEDY = "or exclude contradictory rows with --conflicts exclude"


def exclusion_reasons(counts: CheckCounts) -> str:
    """Why no trial is left."""
    reasons = {
        "have no score": counts.unscored,
        "are of unknown speakers, with placeholders such as 'nan'": counts.without_speaker,
        "are not in the trial list": counts.not_in_trials,
        "contradict others": counts.conflicts,
    }
    excluded = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    return f"of {counts.rows:,} rows {excluded or 'none is a trial'}"


def reading_notes(
    counts: CheckCounts, scans: Sequence[Scan], *, is_scored: bool = True
) -> list[DataNote]:
    """What was counted, in a fixed order."""
    other_scores = fact(
        "other_scores", trials=counts.reversed_differ, difference=float(f"{counts.reversed_by:.1g}")
    )
    reversed_note = joined_facts("kept_as_trials", other_scores) if counts.reversed else ""
    unscored_item = UNSCORED if is_scored else UNDECIDED
    totals = [
        ("rows", counts.rows),
        ("trials", counts.n_kept),
        ("target_trials", counts.targets),
        ("nontarget_trials", counts.n_kept - counts.targets - counts.spoofs),
    ]
    if counts.spoofs:
        totals.append(("spoof_trials", counts.spoofs))
    exclusions = [
        (unscored_item, counts.unscored, LEFT_OUT),
        (REPEATED_UNSCORED, counts.repeated_unscored, LEFT_OUT),
        (PLACEHOLDER_SPEAKER, counts.without_speaker, NOTE_PLACEHOLDER_SPEAKER),
        ("decisions_without_score", counts.decided_only, "left_out_as_others_are_scored"),
        (DUPLICATES, counts.duplicates, COUNTED_ONCE),
        (CONFLICTS, counts.conflicts, EXCLUDED),
        ("labels_against_speakers", counts.wrong_labels, EXCLUDED),
        (REVERSED, counts.reversed, reversed_note),
        (SAME_UTTERANCE, counts.same_utterance, KEPT),
        (INFINITE, counts.infinite, KEPT),
        (WITHOUT_TEST_SPEAKER, counts.without_test_speaker, NOTE_WITHOUT_TEST_SPEAKER),
        (FAILED, counts.failed, "counted_as_rejected"),
        ("scores_of_failed_trials", counts.failed_scored, EXCLUDED),
        ("decisions_against_threshold", counts.wrong_decisions, EXCLUDED),
    ]
    notes = [DataNote("scores", item, count) for item, count in totals]
    notes += [DataNote("scores", item, count, note) for item, count, note in exclusions if count]
    if counts.reversed_far > _MAX_UNUSUAL_SHARE * counts.reversed:
        note = "symmetric_systems_give_one_score"
        notes.append(DataNote(WARNING_SOURCE, REVERSED_FAR, counts.reversed_far, note))
    if counts.duplicates > _MAX_UNUSUAL_SHARE * (counts.duplicates + counts.n_kept):
        note = "same_calls_counted_once"
        notes.append(DataNote(WARNING_SOURCE, REPEATED, counts.duplicates, note))
    if counts.spoofs_of_others:
        note = "sfar_may_be_too_low"
        notes.append(DataNote(WARNING_SOURCE, SPOOFS_OF_OTHERS, counts.spoofs_of_others, note))
    target_warnings = target_trial_warnings(
        counts.targets, counts.same_utterance, counts.conflict_targets
    )
    notes += [
        DataNote(WARNING_SOURCE, warning.what, warning.count, warning.note)
        for warning in target_warnings
    ]
    if len(scans) > 1:
        is_poor_match = max(
            counts.not_in_scores, counts.not_in_trials
        ) and 2 * counts.found_in_scores < min(
            counts.found_in_scores + counts.not_in_scores,
            counts.found_in_scores + counts.not_in_trials,
        )
        difference = id_difference(*scans) if is_poor_match else ""
        exclusion = joined_facts(LEFT_OUT, difference)
        notes.append(DataNote("trials", "rows", counts.list_rows))
        join_notes = [
            DataNote("trials", DUPLICATES, counts.list_duplicates, COUNTED_ONCE),
            DataNote("trials", UNSCORED, counts.not_in_scores, exclusion),
            DataNote("scores", "scores_in_no_trial", counts.not_in_trials, LEFT_OUT),
        ]
        notes += [warning for warning in join_notes if warning.count]
    return notes


def contradiction_error(
    scans: Sequence[Scan],
    counts: CheckCounts,
    ids: MergedIds,
    speaker: NDArray[np.int32] | None,
    names: Sequence[str],
) -> DataError:
    """Name the rows of the first pair that something is wrong with."""
    kind = next(kind for kind in _CONTRADICTION_KINDS if kind in counts.first_pairs)
    enrol, test = counts.first_pairs[kind]
    pair = str(ids[enrol]), str(ids[test])
    source = scans[-1] if kind == "trials" else scans[0]
    matching_rows = source.matching_rows(*pair)
    shown = f"({pair[0]}, {pair[1]})"
    if kind in {"attack", "spoofed", SPOOFED_ELSEWHERE}:
        return _spoof_contradiction(kind, scans, counts, pair)
    if kind == "label":
        assert speaker is not None
        pair_speakers = [names[speaker[code]] for code in (enrol, test)]
        is_same_speaker = pair_speakers[0] == pair_speakers[1]
        truth = (
            f"both sides are from {pair_speakers[0]}"
            if is_same_speaker
            else f"the sides are from {' and '.join(pair_speakers)}"
        )
        row = _row_with("label", scans, pair)
        remedy = "correct the label or the speakers"
        if customer_column := only_customer_column(source.columns):
            remedy = (
                f"name the column of callers with test_speaker=... if it is not {customer_column!r}"
            )
            if "label" not in source.columns:
                remedy += f", or put the labels into {source.name}"
        msg = (
            f"{row.location('label')}: {shown} is labelled {row.cells.get('label')!r}, but {truth} "
            f"({_number_of_such(counts.wrong_labels)})"
        )
        hint = f"{remedy}, {_CONFLICT_REMEDY}"
        return DataError(msg, hint)
    if kind == "list":
        row, other_row = matching_rows[0], scans[-1].matching_rows(*pair)[0]
        msg = (
            f"{row.location('label')}: {shown} is labelled {row.cells['label']!r}, but "
            f"{other_row.cells['label']!r} in row {other_row.number} of "
            f"{other_row.file.name}"
        )
        hint = f"correct one of the two, {_CONFLICT_REMEDY}"
        return DataError(msg, hint)
    if kind == "failed":
        role = "score" if "score" in source.columns else "decision"
        row = next(
            failed_row
            for failed_row in matching_rows
            if failed_row.cells.get(role) not in {None, ""}
        )
        status_text = "" if "status" not in row.cells else f" (status {row.cells['status']!r})"
        msg = (
            f"{row.location()}: {shown} failed{status_text}, but has the {role} "
            f"{row.cells[role]!r} "
            f"({_number_of_such(counts.failed_scored)})"
        )
        hint = f"empty the cell, correct the failure, {_CONFLICT_REMEDY}"
        return DataError(msg, hint)
    if kind == "decision":
        row, cells = matching_rows[0], matching_rows[0].cells
        msg = (
            f"{row.location('decision')}: {shown} is {cells['decision']!r}, but has score "
            f"{cells['score']} and threshold {cells['threshold']} "
            f"({_number_of_such(counts.wrong_decisions)})"
        )
        hint = (
            f"correct one value (scores at or above the threshold are accepted), {_CONFLICT_REMEDY}"
        )
        return DataError(msg, hint)
    row, cells = (
        matching_rows[0],
        matching_rows[0].cells,
    )  # and the first one below that says something else
    ignored = {"score"} if kind == "trials" else set()
    compared_roles = [role for role in cells if role not in ignored]
    other_rows = (
        failed_row
        for failed_row in matching_rows[1:]
        if any(cells[role] != failed_row.cells[role] for role in compared_roles)
    )
    other_row = next(other_rows, matching_rows[-1])
    other_cells = other_row.cells
    roles = ["label", "score", *(role for role in cells if role not in {"enrol", "test"})]
    differing_role = next(
        (role for role in roles if cells.get(role) != other_cells.get(role)), "label"
    )
    remedy = f"correct one row, {_CONFLICT_REMEDY}"
    are_speakers = speaker is not None and np.unique(speaker).size == speaker.size
    if are_speakers and 2 * counts.conflicts > counts.rows:
        remedy = f"{counts.conflicts:,} of {counts.rows:,} rows contradict others, {CUT_IDS_REASON}"
    msg = (
        f"{row.location_with(other_row)}: the same trial {shown} has {differing_role.lstrip('@')} "
        f"{cells.get(differing_role)!r} and {other_cells.get(differing_role)!r}"
    )
    return DataError(msg, remedy)


def _spoof_contradiction(
    kind: str, scans: Sequence[Scan], counts: CheckCounts, pair: tuple[str, str]
) -> DataError:
    """Say which attack or label contradicts others."""
    if kind == "attack":
        row, n_wrong = _row_with("attack", scans, pair), counts.wrong_attacks
        problem = f"({pair[0]}, {pair[1]}) has an attack, but is not labelled spoof"
        remedy = "correct the label, or empty the cell"
    else:
        row, n_wrong = _row_with("label", scans, pair), counts.shared_spoofs
        problem = f"{pair[1]!r} is spoofed, but also occurs in a bona fide trial"
        remedy = "correct one label"
    role = "attack" if kind == "attack" else "label"
    msg = f"{row.location(role)}: {problem} ({_number_of_such(n_wrong)})"
    # of partitions, each excludes only the contradictory rows within it
    hint = remedy if kind == SPOOFED_ELSEWHERE else f"{remedy}, {_CONFLICT_REMEDY}"
    return DataError(msg, hint)


def _row_with(role: str, scans: Sequence[Scan], pair: tuple[str, str]) -> FoundRow:
    """First row of a trial in the file that has a column: the trial list, else the scores."""
    source = scans[-1] if role in scans[-1].columns else scans[0]
    return (source.matching_rows(*pair) or scans[0].matching_rows(*pair))[0]


def placeholder_enrolment_error(scans: Sequence[Scan], enrol: str) -> DataError:
    """Say that an enrolment has no speaker, which test recordings of nontarget trials may lack."""
    msg = f"{scans[0].name}: enrolment {enrol!r} has no speaker"
    hint = (
        "name the speaker in a column enrol_speaker: only test recordings of nontarget trials "
        "may lack one"
    )
    return DataError(msg, hint)


def _number_of_such(count: int) -> str:
    return "the only such trial" if count == 1 else f"one of {count:,} such trials"


def score_format_hint(scanned: Scan) -> str:
    """What to do if a column of 1.0 and -1.0 contains scores, though it looks like labels."""
    column_positions = dict(FORMATS[scanned.format].positions) if scanned.format in FORMATS else {}
    if "label" in column_positions:
        column_positions["score"] = column_positions.pop("label")
    score_format = next(
        (
            known_format.name
            for known_format in FORMATS.values()
            if column_positions and known_format.positions == column_positions
        ),
        "",
    )
    if not score_format or score_format == scanned.format:
        return ""
    if not next(iter(scanned.chunks()))["label"].str.contains("[0-9]").any():
        return ""
    column = scanned.columns["label"].split()[0]
    return f"; if column {column} contains scores, give --scores-format {score_format}"


def check_columns(requested_columns: RequestedColumns, scans: Sequence[Scan]) -> None:
    """Each column that the user names must be in one of the files."""
    for role, column in requested_columns.by_role.items():
        if not any(scanned.columns.get(role) == column for scanned in scans):
            names = [
                name for scanned in scans for name in (*scanned.columns.values(), *scanned.ignored)
            ]
            msg = (
                f"{' and '.join(scanned.name for scanned in scans)}: none has a column "
                f"{column!r} for "
                f"{role}; {name_hint(column, names)}"
            )
            hint = "name it with --columns"
            raise DataError(msg, hint)
