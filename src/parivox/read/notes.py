"""What was counted, derived or set aside while reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.read.join import pattern_of
from parivox.read.validation import (
    CONFLICTS,
    DUPLICATES,
    FAILED,
    INFINITE,
    OF_ITSELF,
    REVERSED,
    UNSCORED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.read.formats.format import Scan
    from parivox.read.validation import Tally

__all__ = ["DataNote", "lost", "reading_notes"]


@dataclass(frozen=True)
class DataNote:
    """One line of what was read.

    Attributes
    ----------
    source : str
        ``scores``, ``trials``, ``utterances`` or ``speakers``.
    item : str
        What was counted.
    count : int
    note : str
        What was done about it; may be empty.
    """

    source: str
    item: str
    count: int
    note: str = ""


def lost(tally: Tally) -> str:
    """Why no trial is left."""
    reasons = {
        "have no score": tally.unscored,
        "are not in the trial list": tally.not_in_trials,
        "contradict others": tally.conflicts,
    }
    told = ", ".join(f"{count:,} {why}" for why, count in reasons.items() if count)
    return f"of {tally.rows:,} rows {told or 'none is a trial'}"


def reading_notes(tally: Tally, scans: Sequence[Scan], *, is_scored: bool = True) -> list[DataNote]:
    """What was counted, in a fixed order."""
    by = f"{tally.reversed_differ:,} of them with another score, by up to {tally.reversed_by:.1g}"
    found = [
        DataNote("scores", "rows", tally.rows),
        DataNote("scores", "trials", tally.kept),
        DataNote("scores", "target trials", tally.targets),
        DataNote("scores", "nontarget trials", tally.kept - tally.targets),
        DataNote(
            "scores",
            UNSCORED if is_scored else "trials without decision",
            tally.unscored,
            "left out",
        ),
        DataNote(
            "scores",
            "decisions of trials without score",
            tally.decided_only,
            "left out with their trials, as the others have scores",
        ),
        DataNote("scores", DUPLICATES, tally.duplicates, "counted once"),
        DataNote("scores", CONFLICTS, tally.conflicts, "set aside"),
        DataNote("scores", "labels that contradict the speakers", tally.wrong_labels, "set aside"),
        DataNote(
            "scores",
            REVERSED,
            tally.reversed,
            f"kept as trials of their own; {by}" if tally.reversed else "",
        ),
        DataNote("scores", OF_ITSELF, tally.of_itself, "kept"),
        DataNote("scores", INFINITE, tally.infinite, "kept"),
        DataNote("scores", FAILED, tally.failed, "counted as rejected in FRR and FAR"),
        DataNote("scores", "scores of trials that failed", tally.failed_scored, "set aside"),
        DataNote(
            "scores",
            "decisions that contradict score and threshold",
            tally.wrong_decisions,
            "set aside",
        ),
    ]
    if len(scans) > 1:
        few = max(tally.not_in_scores, tally.not_in_trials) and 2 * tally.met < min(
            tally.met + tally.not_in_scores, tally.met + tally.not_in_trials
        )
        hint = pattern_of(*scans) if few else ""
        left_out = f"left out; {hint}" if hint else "left out"
        found += [
            DataNote("trials", "rows", tally.trial_rows),
            DataNote("trials", DUPLICATES, tally.trial_duplicates, "counted once"),
            DataNote("trials", UNSCORED, tally.not_in_scores, left_out),
            DataNote("scores", "scores that are in no trial", tally.not_in_trials, "left out"),
        ]
    always = {"rows", "trials", "target trials", "nontarget trials"}
    return [one for one in found if one.count or one.item in always]
