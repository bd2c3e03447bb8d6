"""Checks of encoded trials, and the order they are kept in.

Trials are ordered by the two utterance ids regardless of side, then by side. So both directions
of a pair stand together, the order does not depend on the rows of the file, and a range of the
lower id is a partition on which every check is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

__all__ = [
    "CONFLICTS",
    "DUPLICATES",
    "INFINITE",
    "OF_ITSELF",
    "REVERSED",
    "UNSCORED",
    "Encoded",
    "Tally",
    "Trials",
    "settle",
]

UNSCORED = "trials without score"
DUPLICATES = "exact duplicates"
CONFLICTS = "contradicting rows"
REVERSED = "reversed pairs"
OF_ITSELF = "trials of an utterance with itself"
INFINITE = "infinite scores"


class Encoded(NamedTuple):
    """Rows as read: utterance codes, label (-1 for none), score (NaN for none)."""

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    label: NDArray[np.int8]
    score: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trials:
    """Checked trials in the order of their ids, whatever the order of the rows.

    Attributes
    ----------
    enrol, test : int32 ndarrays of shape (trial,)
        Utterances, as indices into ``TrialSet.utterance_ids``.
    target : bool ndarray of shape (trial,)
    score : float64 ndarray of shape (trial,)
        Higher is more alike; may be infinite, never NaN.
    conflict : bool ndarray of shape (trial,)
        Rows that contradict others or the speakers and are set aside.
    """

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    target: NDArray[np.bool_]
    score: NDArray[np.float64]
    conflict: NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.score.size)

    def without_conflicts(self) -> Trials:
        """The trials that contradict nothing."""
        return self.take(~self.conflict) if self.conflict.any() else self

    def take(self, rows: NDArray[np.bool_] | Ints) -> Trials:
        """Some of the trials."""
        return Trials(
            self.enrol[rows],
            self.test[rows],
            self.target[rows],
            self.score[rows],
            self.conflict[rows],
        )


@dataclass(eq=False)
class Tally:
    """What the checks found, added up over partitions.

    The pairs are the first ones in the order of ids: (enrol, test) codes, for messages. What is
    odd is also counted by the speaker of the enrolment, if the speakers are known.
    """

    n_speakers: int = 0
    rows: int = 0
    unscored: int = 0
    trial_rows: int = 0
    trial_duplicates: int = 0
    met: int = 0
    not_in_trials: int = 0
    not_in_scores: int = 0
    duplicates: int = 0
    conflicts: int = 0
    conflict_pairs: int = 0
    wrong_labels: int = 0
    reversed: int = 0
    reversed_differ: int = 0
    reversed_by: float = 0.0
    of_itself: int = 0
    infinite: int = 0
    targets: int = 0
    kept: int = 0
    low: float = np.inf
    high: float = -np.inf
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    aside: dict[str, Ints] = field(default_factory=dict)

    def by_speaker(
        self, item: str, enrol: NDArray[np.int32], speaker: NDArray[np.int32] | None
    ) -> None:
        """Count trials, given by their enrolments, for the speaker of each."""
        if speaker is not None and enrol.size:
            found = np.bincount(speaker[enrol], minlength=self.n_speakers)
            self.aside[item] = self.aside.get(item, 0) + found

    def point(
        self, what: str, enrol: NDArray[np.int32], test: NDArray[np.int32], hit: Bools
    ) -> None:
        """Remember the first pair that something is wrong with."""
        if what not in self.first and hit.any():
            at = int(hit.argmax())
            self.first[what] = int(enrol[at]), int(test[at])


def settle(
    scored: Encoded,
    listed: Encoded | None,
    *,
    n: int,
    speaker: NDArray[np.int32] | None,
    tally: Tally,
) -> Trials:
    """Check one partition and put it in order.

    Parameters
    ----------
    scored
        Rows of the score file.
    listed
        Rows of the trial list, if it stands apart: only its pairs are trials.
    n
        Number of utterances.
    speaker : int32 ndarray of shape (utterance,), or None
        Speaker of each utterance, all known; None where every row has a label and speakers are
        not asked for.
    tally
        Is added to.
    """
    tally.rows += scored.score.size
    if listed is not None:
        scored, doubt = _joined(scored, listed, n, speaker, tally)
    else:
        doubt = np.zeros(scored.score.size, dtype=bool)
    empty = np.isnan(scored.score)
    if empty.any():
        tally.unscored += int(empty.sum())
        tally.by_speaker(UNSCORED, scored.enrol[empty], speaker)
        scored, doubt = _rows(scored, ~empty), doubt[~empty]
    target = scored.label == 1
    if speaker is not None:
        same = speaker[scored.enrol] == speaker[scored.test]
        target = np.where(scored.label < 0, same, target)
    key = pair_key(scored.enrol, scored.test, n)
    order = np.argsort(key)
    key = key[order]
    trials = Trials(
        scored.enrol[order], scored.test[order], target[order], scored.score[order], doubt[order]
    )
    key, trials = _once(key, trials, speaker, tally)
    if speaker is not None:
        wrong = trials.target != (speaker[trials.enrol] == speaker[trials.test])
        if wrong.any():
            tally.wrong_labels += int(wrong.sum())
            tally.point("label", trials.enrol, trials.test, wrong)
            np.logical_or(trials.conflict, wrong, out=trials.conflict)
    if trials.conflict.any():
        tally.conflicts += int(trials.conflict.sum())
        tally.by_speaker(CONFLICTS, trials.enrol[trials.conflict], speaker)
    _count(key, trials, speaker, tally)
    return trials


def _rows(rows: Encoded, kept: Bools) -> Encoded:
    return Encoded(rows.enrol[kept], rows.test[kept], rows.label[kept], rows.score[kept])


def pair_key(enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> Ints:
    """One number per ordered pair, in the canonical order; below 2 n^2."""
    low = np.minimum(enrol, test).astype(np.int64)
    low *= n
    low += np.maximum(enrol, test)
    low *= 2
    low += enrol > test
    return low


def _once(
    key: Ints, trials: Trials, speaker: NDArray[np.int32] | None, tally: Tally
) -> tuple[Ints, Trials]:
    """Drop exact duplicates; mark what is left of a pair that occurs again."""
    again = key[1:] == key[:-1]
    if not again.any():
        return key, trials
    involved = np.concatenate((again, [False])) | np.concatenate(([False], again))
    at = np.flatnonzero(involved)
    rank = np.lexsort((trials.conflict[at], trials.score[at], trials.target[at], key[at]))
    columns = (key, trials.enrol, trials.test, trials.target, trials.score, trials.conflict)
    for column in columns:
        column[at] = column[at[rank]]
    pair = key[1:] == key[:-1]
    equal = (
        pair & (trials.target[1:] == trials.target[:-1]) & (trials.score[1:] == trials.score[:-1])
    )
    keep = np.concatenate(([True], ~equal))
    tally.duplicates += int(equal.sum())
    tally.by_speaker(DUPLICATES, trials.enrol[~keep], speaker)
    key, trials = key[keep], trials.take(keep)
    again = key[1:] == key[:-1]
    clash = np.concatenate((again, [False])) | np.concatenate(([False], again))
    if clash.any():
        tally.conflict_pairs += int((again & ~np.concatenate(([False], again[:-1]))).sum())
        tally.point("pair", trials.enrol, trials.test, clash)
        np.logical_or(trials.conflict, clash, out=trials.conflict)
    return key, trials


def _joined(
    scored: Encoded, listed: Encoded, n: int, speaker: NDArray[np.int32] | None, tally: Tally
) -> tuple[Encoded, Bools]:
    """Scores with the labels of the trial list; True where the list contradicts itself or them."""
    wanted = pair_key(listed.enrol, listed.test, n)
    tally.trial_rows += wanted.size
    order = np.lexsort((listed.label, wanted))
    wanted, label = wanted[order], listed.label[order]
    first = np.concatenate(([True], wanted[1:] != wanted[:-1]))[: wanted.size]
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], wanted.size) if starts.size else starts
    clash = label[starts] != label[ends - 1]
    repeated = ~first & np.concatenate(([False], label[1:] == label[:-1]))[: wanted.size]
    tally.trial_duplicates += int(repeated.sum())
    tally.point("trials", listed.enrol[order][starts], listed.test[order][starts], clash)
    wanted, label = wanted[starts], label[starts]
    have = pair_key(scored.enrol, scored.test, n)
    place = np.searchsorted(wanted, have)
    found = place < wanted.size
    found[found] = wanted[place[found]] == have[found]
    met = np.zeros(wanted.size, dtype=bool)
    met[place[found]] = True
    tally.met += int(met.sum())
    tally.not_in_trials += int((~found).sum())
    tally.not_in_scores += int((~met).sum())
    tally.by_speaker(UNSCORED, listed.enrol[order][starts][~met], speaker)
    place = place[found]
    own = scored.label[found]
    theirs = label[place]
    doubt = clash[place]
    differ = (own >= 0) & (theirs >= 0) & (own != theirs)
    tally.point("list", scored.enrol[found], scored.test[found], differ)
    joined = Encoded(
        scored.enrol[found],
        scored.test[found],
        np.where(theirs >= 0, theirs, own),
        scored.score[found],
    )
    return joined, doubt | differ


def _count(key: Ints, trials: Trials, speaker: NDArray[np.int32] | None, tally: Tally) -> None:
    """Count what is no error but worth knowing, on the trials that are kept."""
    if trials.conflict.any():
        key, trials = key[~trials.conflict], trials.without_conflicts()
    back = np.flatnonzero((key[1:] ^ key[:-1]) == 1)
    if back.size:
        tally.reversed += int(back.size)
        tally.by_speaker(REVERSED, trials.enrol[back + 1], speaker)
        gap = trials.score[back + 1] != trials.score[back]
        tally.reversed_differ += int(gap.sum())
        pair = trials.score[back[gap] + 1], trials.score[back[gap]]
        with np.errstate(invalid="ignore"):
            tally.reversed_by = max(
                tally.reversed_by, float(np.fmax.reduce(np.abs(pair[0] - pair[1]), initial=0.0))
            )
    itself = trials.enrol == trials.test
    tally.of_itself += int(itself.sum())
    tally.by_speaker(OF_ITSELF, trials.enrol[itself], speaker)
    finite = np.isfinite(trials.score)
    tally.infinite += int(trials.score.size - finite.sum())
    tally.by_speaker(INFINITE, trials.enrol[~finite], speaker)
    tally.kept += trials.score.size
    tally.targets += int(trials.target.sum())
    known = trials.score if finite.all() else trials.score[finite]
    tally.low = min(tally.low, float(known.min(initial=np.inf)))
    tally.high = max(tally.high, float(known.max(initial=-np.inf)))
