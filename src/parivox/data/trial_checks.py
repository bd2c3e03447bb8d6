"""Checks of encoded trials, and the order they are kept in.

Trials are ordered by the two utterance ids regardless of side, then by side. So both directions
of a pair stand together, the order does not depend on the rows of the file, and a range of the
lower id is a partition on which every check is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

UNSCORED = "trials without score"
_FAR_APART = 1e-3
"""Difference of two orders of a pair, relative to their size, that rounding does not make."""
UNSCORED_OF_CLASS = ("nontarget trials without score", "target trials without score")
UNSCORED_TESTS = "nontarget trials without score (by test speaker)"
REPEATED_UNSCORED = "rows without score whose trial is in another row"
DUPLICATES = "exact duplicates"
CONFLICTS = "contradicting rows"
REVERSED = "reversed pairs"
REVERSED_FAR = "pairs in both orders that have different scores"
REPEATED = "trials that occur more than once"
OF_ITSELF = "trials of an utterance with itself"
WITHOUT_TEST_SPEAKER = "nontarget trials without a test speaker"
NOTE_WITHOUT_TEST_SPEAKER = (
    "they count for the group of the enrolment speaker, whose FPR then has no interval; name the "
    "callers in a column test_speaker to have one"
)
INFINITE = "infinite scores"
OF_NOBODY = "trials of nobody"
NOTE_OF_NOBODY = (
    "left out, as the speaker of a side is a placeholder such as nan or unknown; list it in the "
    "table of speakers if somebody is called so"
)
FAILED = "trials of a recording that failed"
ACQUIRE, ENROL = 1, 2
"""Stage at which a trial failed, 0 where it did not."""
UNKNOWN_CELL = {"f": np.nan, "i": -1}
"""What stands for an unknown number or code, by the kind of the column."""


class EncodedRows(NamedTuple):
    """Rows as read: utterance codes, label (-1 for none), score (NaN for none), what else."""

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    label: NDArray[np.int8]
    score: NDArray[np.float64]
    extra_columns: Mapping[str, NDArray[Any]] = MappingProxyType({})
    run: int = -1  # of ids that enrol and test count in; -1 for all ids

    def take(self, rows: Bools | Ints) -> EncodedRows:
        """Some of the rows."""
        more = {name: column[rows] for name, column in self.extra_columns.items()}
        return EncodedRows(
            self.enrol[rows], self.test[rows], self.label[rows], self.score[rows], more, self.run
        )


@frozen
class Trials:
    """Checked trials in the order of their ids, whatever the order of the rows."""

    # shape (trial,): utterances, as indices into ``TrialSet.utterance_ids``.
    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    target: NDArray[np.bool_]  # shape (trial,)
    score: NDArray[np.float64]  # shape (trial,): higher is more alike; may be infinite, never NaN
    # shape (trial,): contradicts others or the speakers, so is set aside
    conflict: NDArray[np.bool_]
    # shape (trial,): what else is known of them, where the file has it: ``accepted``
    # (1 or 0, -1 for unknown), ``threshold`` (as an index), ``seconds`` (NaN for unknown), and the
    # values of attributes by `parivox.data.attributes.Attribute` column (-1 for unknown).
    extra_columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # trials without score because a recording failed; ``more["failed"]`` is 1 where it was the test
    # recording that could not be acquired, 2 where it was the enrolment
    failed: Trials | None = None

    def __len__(self) -> int:
        return int(self.score.size)

    def chunks(self, rows: int) -> Iterator[Trials]:
        """So many of the trials at a time, as views; those that failed are left out.

        Without any, one part that has none.
        """
        for first in range(0, max(len(self), 1), rows):
            at = slice(first, first + rows)
            more = {name: column[at] for name, column in self.extra_columns.items()}
            yield Trials(
                *(self.enrol[at], self.test[at], self.target[at]),
                *(self.score[at], self.conflict[at], more),
            )

    def without_conflicts(self) -> Trials:
        """The trials that contradict nothing."""
        return self.take(~self.conflict) if self.conflict.any() else self

    def score_order(self) -> Ints:
        """Places of the trials in rising order of their scores."""
        table = pl.DataFrame({"score": self.score, "place": np.arange(len(self), dtype=np.uint32)})
        rising = table.sort("score", multithreaded=False)  # NumPy's takes up to twice as long
        return rising["place"].to_numpy().astype(np.int64)

    def take(self, rows: NDArray[np.bool_] | Ints) -> Trials:
        """Some of the trials."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)  # once for all columns
        return Trials(
            self.enrol.take(rows),
            self.test.take(rows),
            self.target.take(rows),
            self.score.take(rows),
            self.conflict.take(rows),
            {name: column.take(rows) for name, column in self.extra_columns.items()},
            self.failed,
        )


@dataclass(eq=False)
class CheckCounts:
    """What the checks found, added up over partitions.

    The pairs are the first ones in the order of ids: (enrol, test) codes, for messages. What is
    odd is also counted by the speaker of the enrolment, if the speakers are known.
    """

    n_speakers: int = 0
    rows: int = 0
    unscored: int = 0
    repeated_unscored: int = 0
    without_speaker: int = 0
    list_rows: int = 0
    list_duplicates: int = 0
    found_in_scores: int = 0
    not_in_trials: int = 0
    not_in_scores: int = 0
    duplicates: int = 0
    conflicts: int = 0
    conflict_pairs: int = 0
    conflict_targets: int = 0
    wrong_labels: int = 0
    wrong_decisions: int = 0
    failed: int = 0
    failed_scored: int = 0
    decided_only: int = 0
    reversed: int = 0
    reversed_differ: int = 0
    reversed_by: float = 0.0
    reversed_far: int = 0  # beyond what rounding does
    same_utterance: int = 0
    infinite: int = 0
    targets: int = 0
    without_test_speaker: int = 0
    n_kept: int = 0
    low: float = np.inf
    high: float = -np.inf
    first_pairs: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts_by_speaker: dict[str, Ints] = field(default_factory=dict)

    def count_by_speaker(
        self, item: str, utterances: NDArray[np.int32], speaker: NDArray[np.int32] | None
    ) -> None:
        """Count trials, given by their recordings of one side, for the speaker of each."""
        if speaker is not None and utterances.size:
            whose = speaker[utterances]
            found = np.bincount(whose[whose >= 0], minlength=self.n_speakers)
            self.counts_by_speaker[item] = self.counts_by_speaker.get(item, 0) + found

    def note_first_pair(
        self, what: str, enrol: NDArray[np.int32], test: NDArray[np.int32], hit: Bools
    ) -> None:
        """Remember the first pair that something is wrong with."""
        if what not in self.first_pairs and hit.any():
            at = int(hit.argmax())
            self.first_pairs[what] = int(enrol[at]), int(test[at])


class UtteranceFacts(NamedTuple):
    """What is known of the utterances, each of shape (utterance,) or None."""

    # speaker of each, -1 for unknown ones, whom nontarget trials may be tested with; None where
    # every row has a label and speakers are not asked for
    speaker: NDArray[np.int32] | None
    # whether it failed as an enrolment, as a test recording
    failed_enrol: Bools | None = None
    failed_test: Bools | None = None
    # shape (threshold,): what ``more["threshold"]`` is an index of, NaN last
    thresholds: NDArray[np.float64] | None = None
    # of models, the recordings that each is made of: ``model * n + recording``, rising
    model_recordings: Ints | None = None
    is_scored: bool = True  # whether the rows have scores; if not, their decisions stand for them
    are_some_unknown: bool = False  # whether some of the speakers are unknown
    has_placeholder_speaker: Bools | None = (
        None  # whether its speaker is a placeholder; None where none is
    )

    def is_same_utterance(self, enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> Bools:
        """Whether a trial compares a recording with itself, or with a model made of it."""
        if self.model_recordings is None:
            return np.asarray(enrol == test)
        key = enrol.astype(np.int64) * n + test
        place = np.searchsorted(self.model_recordings, key).clip(
            max=max(self.model_recordings.size - 1, 0)
        )
        return (
            self.model_recordings[place] == key
            if self.model_recordings.size
            else np.zeros(key.size, dtype=bool)
        )


def check_partition(
    scored: EncodedRows,
    listed: EncodedRows | None,
    *,
    n: int,
    facts: UtteranceFacts,
    counts: CheckCounts,
) -> Trials:
    """Check one partition of scored rows, put it in order, and add to `counts`.

    Where a trial list stands apart, only its pairs are trials. There are `n` utterances.
    """
    speaker = facts.speaker
    counts.rows += scored.score.size
    if listed is not None:
        listed = _without_nobody(listed, facts, counts)
        scored, doubt = _join_trial_list(scored, listed, n, facts, counts)
    else:
        scored = _without_nobody(scored, facts, counts)
        doubt = np.zeros(scored.score.size, dtype=bool)
    scored = _decisions_as_scores(scored, facts, counts)
    empty = np.isnan(scored.score)
    failed = _failed_stages(scored, facts)
    if failed is not None:
        doubt = _check_failed_are_unscored(scored, failed, empty, doubt, counts)
        empty &= failed == 0
        scored.score[failed > 0] = -np.inf  # so that it is in order; no metric sees it
        scored = scored._replace(extra_columns={**scored.extra_columns, "failed": failed})
    if empty.any():
        missing = _without_score(scored, empty, n, counts)
        counts.unscored += missing.score.size
        _count_unscored(missing, speaker, counts)
        scored, doubt = scored.take(~empty), doubt[~empty]
    target = scored.label == 1
    unknown = np.flatnonzero(scored.label < 0)
    if speaker is not None and unknown.size:
        sides = (side.take(unknown) for side in (scored.enrol, scored.test))
        target[unknown] = np.equal(*(speaker.take(side) for side in sides))
    key, order = _in_order(pair_key(scored.enrol, scored.test, n), 2 * n * n)
    more = {name: column.take(order) for name, column in scored.extra_columns.items()}
    trials = Trials(
        *(scored.enrol.take(order), scored.test.take(order), target.take(order)),
        *(scored.score.take(order), doubt.take(order), more),
    )
    key, trials = _drop_duplicates(key, trials, speaker, counts)
    _check_decisions(trials, facts.thresholds, counts)
    if facts.are_some_unknown and speaker is not None:
        counts.note_first_pair(
            "enrolment", trials.enrol, trials.test, speaker.take(trials.enrol) < 0
        )
    if speaker is not None:
        wrong = trials.target != (speaker.take(trials.enrol) == speaker.take(trials.test))
        if wrong.any():
            counts.wrong_labels += int(wrong.sum())
            counts.note_first_pair("label", trials.enrol, trials.test, wrong)
            np.logical_or(trials.conflict, wrong, out=trials.conflict)
    if trials.conflict.any():
        counts.conflicts += int(trials.conflict.sum())
        counts.conflict_targets += int(trials.target[trials.conflict].sum())
        counts.count_by_speaker(CONFLICTS, trials.enrol[trials.conflict], speaker)
    if failed is not None:
        key, trials = _split_failed(key, trials, speaker, counts)
    _count_oddities(key, trials, facts, n, counts)
    return trials


def _without_score(rows: EncodedRows, empty: Bools, n: int, counts: CheckCounts) -> EncodedRows:
    """Return one row of each trial that has a score in no row."""
    key = pair_key(rows.enrol, rows.test, n)
    trials, first = np.unique(key[empty], return_index=True)
    first = first[~np.isin(trials, key[~empty])]
    counts.repeated_unscored += int(empty.sum()) - first.size
    return rows.take(np.flatnonzero(empty)[first])


def _without_nobody(rows: EncodedRows, facts: UtteranceFacts, counts: CheckCounts) -> EncodedRows:
    """Return the rows without those of which a side has a placeholder for a speaker.

    Rows that are labelled nontarget need no test speaker, so a placeholder there is none.
    """
    if facts.has_placeholder_speaker is None:
        return rows
    is_lost = facts.has_placeholder_speaker.take(rows.test) & (rows.label != 0)
    is_lost |= facts.has_placeholder_speaker.take(rows.enrol)
    counts.without_speaker += int(is_lost.sum())
    return rows.take(~is_lost)


def _decisions_as_scores(
    rows: EncodedRows, facts: UtteranceFacts, counts: CheckCounts
) -> EncodedRows:
    """Decisions in the place of scores, where there are none."""
    decided = rows.extra_columns.get("accepted")
    if decided is None:
        return rows
    if not facts.is_scored:
        return rows._replace(score=np.where(decided < 0, np.nan, decided))
    counts.decided_only += int((np.isnan(rows.score) & (decided >= 0)).sum())
    return rows


def _failed_stages(rows: EncodedRows, facts: UtteranceFacts) -> NDArray[np.int8] | None:
    """Stage at which each row failed, 0 where it did not; None if nothing can have failed."""
    reported = rows.extra_columns.get("failed")
    if reported is None and facts.failed_enrol is None:
        return None
    stage = np.zeros(rows.score.size, dtype=np.int8) if reported is None else reported.copy()
    if facts.failed_enrol is not None and facts.failed_test is not None:
        stage[facts.failed_test[rows.test]] = ACQUIRE
        stage[facts.failed_enrol[rows.enrol]] = ENROL
    return stage


def _check_failed_are_unscored(
    rows: EncodedRows, failed: NDArray[np.int8], empty: Bools, doubt: Bools, counts: CheckCounts
) -> Bools:
    """A trial that failed can have no score: True where one has, or was doubtful before."""
    odd = (failed > 0) & ~empty
    counts.failed_scored += int(odd.sum())
    counts.note_first_pair("failed", rows.enrol, rows.test, odd)
    return doubt | odd


def _check_decisions(
    trials: Trials, thresholds: NDArray[np.float64] | None, counts: CheckCounts
) -> None:
    """Mark decisions that their own scores and thresholds contradict."""
    decided, at = trials.extra_columns.get("accepted"), trials.extra_columns.get("threshold")
    if decided is None or at is None or thresholds is None:
        return
    level = thresholds[at]
    wrong = (decided >= 0) & ~np.isnan(level) & ((trials.score >= level) != (decided == 1))
    if "failed" in trials.extra_columns:
        wrong &= trials.extra_columns["failed"] == 0
    if wrong.any():
        counts.wrong_decisions += int(wrong.sum())
        counts.note_first_pair("decision", trials.enrol, trials.test, wrong)
        np.logical_or(trials.conflict, wrong, out=trials.conflict)


def _split_failed(
    key: Ints, trials: Trials, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> tuple[Ints, Trials]:
    """The trials that were scored, with those that failed beside them."""
    hit = trials.extra_columns["failed"] > 0
    failed = trials.take(hit).without_conflicts()
    counts.failed += len(failed)
    counts.count_by_speaker(FAILED, failed.enrol, speaker)
    more = {name: column for name, column in trials.extra_columns.items() if name != "failed"}
    scored = replace(trials, extra_columns=more).take(~hit)
    return key[~hit], replace(scored, failed=failed)


def pair_key(enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> Ints:
    """One number per ordered pair, in the canonical order; below 2 n^2."""
    low = np.minimum(enrol, test).astype(np.int64)
    low *= n
    low += np.maximum(enrol, test)
    low *= 2
    low += enrol > test
    return low


def _in_order(key: Ints, limit: int) -> tuple[Ints, Ints]:
    """Keys below a limit in rising order, and the place that each had."""
    bits = key.size.bit_length()
    if limit > 1 << (63 - bits):
        order = np.argsort(key)
        return key[order], order
    key <<= bits  # with the place in its lowest bits: one array is sorted in half the time
    key |= np.arange(key.size)
    key = pl.Series(key).sort(multithreaded=False).to_numpy()  # NumPy's takes up to twice as long
    return key >> bits, key & ((1 << bits) - 1)


def _drop_duplicates(
    key: Ints, trials: Trials, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> tuple[Ints, Trials]:
    """Drop exact duplicates; mark what is left of a pair that occurs again."""
    again = key[1:] == key[:-1]
    if not again.any():
        return key, trials
    involved = np.concatenate((again, [False])) | np.concatenate(([False], again))
    at = np.flatnonzero(involved)
    columns: list[NDArray[Any]] = [trials.score, trials.target, *trials.extra_columns.values()]
    rank = np.lexsort((trials.conflict[at], *(column[at] for column in columns), key[at]))
    whole: list[NDArray[Any]] = [key, trials.enrol, trials.test, trials.conflict, *columns]
    for column in whole:
        column[at] = column[at[rank]]
    equal = key[1:] == key[:-1]
    for column in columns:
        equal &= _equal_cells(column[1:], column[:-1])
    keep = np.concatenate(([True], ~equal))
    counts.duplicates += int(equal.sum())
    counts.count_by_speaker(DUPLICATES, trials.enrol[~keep], speaker)
    key, trials = key[keep], trials.take(keep)
    again = key[1:] == key[:-1]
    clash = np.concatenate((again, [False])) | np.concatenate(([False], again))
    if clash.any():
        counts.conflict_pairs += int((again & ~np.concatenate(([False], again[:-1]))).sum())
        counts.note_first_pair("pair", trials.enrol, trials.test, clash)
        np.logical_or(trials.conflict, clash, out=trials.conflict)
    return key, trials


def _equal_cells(one: NDArray[Any], other: NDArray[Any]) -> Bools:
    """Where two columns say the same; two unknown numbers are the same."""
    same: Bools = one == other
    if one.dtype.kind == "f":
        same |= np.isnan(one) & np.isnan(other)
    return same


def _join_trial_list(
    scored: EncodedRows, listed: EncodedRows, n: int, facts: UtteranceFacts, counts: CheckCounts
) -> tuple[EncodedRows, Bools]:
    """Scores with the labels of the trial list; True where the list contradicts itself or them."""
    wanted = pair_key(listed.enrol, listed.test, n)
    counts.list_rows += wanted.size
    order = np.lexsort((*listed.extra_columns.values(), listed.label, wanted))
    wanted, listed = wanted[order], listed.take(order)
    first = np.concatenate(([True], wanted[1:] != wanted[:-1]))[: wanted.size]
    starts = np.flatnonzero(first)
    again = ~first
    for column in (listed.label, *listed.extra_columns.values()):
        again[1:] &= _equal_cells(column[1:], column[:-1])
    counts.list_duplicates += int(again.sum())
    clash = np.zeros(starts.size, dtype=bool)
    clash[np.cumsum(first)[~first & ~again] - 1] = True
    wanted, listed = wanted[starts], listed.take(starts)
    counts.note_first_pair("trials", listed.enrol, listed.test, clash)
    have = pair_key(scored.enrol, scored.test, n)
    place = np.searchsorted(wanted, have)
    found = place < wanted.size
    found[found] = wanted[place[found]] == have[found]
    met = np.zeros(wanted.size, dtype=bool)
    met[place[found]] = True
    counts.found_in_scores += int(met.sum())
    counts.not_in_trials += int((~found).sum())
    scored, place = scored.take(found), place[found]
    own, theirs = scored.label, listed.label[place]
    doubt = clash[place]
    differ = (own >= 0) & (theirs >= 0) & (own != theirs)
    counts.note_first_pair("list", scored.enrol, scored.test, differ)
    more = {
        **scored.extra_columns,
        **{name: column[place] for name, column in listed.extra_columns.items()},
    }
    joined = scored._replace(label=np.where(theirs >= 0, theirs, own), extra_columns=more)
    lost = ~met
    if facts.failed_enrol is not None and facts.failed_test is not None:
        never = lost & (facts.failed_enrol[listed.enrol] | facts.failed_test[listed.test])
        lost &= ~never
        joined, doubt = _append_unscored(joined, listed.take(never)), np.append(doubt, clash[never])
        differ = np.append(differ, np.zeros(int(never.sum()), dtype=bool))
    counts.not_in_scores += int(lost.sum())
    _count_unscored(listed.take(lost), facts.speaker, counts)
    return joined, doubt | differ


def _count_unscored(
    rows: EncodedRows, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> None:
    """Count trials without score by speaker, all and of each class."""
    counts.count_by_speaker(UNSCORED, rows.enrol, speaker)
    if speaker is None:
        return
    is_same = speaker[rows.enrol] == speaker[rows.test]
    is_target = np.where(rows.label < 0, is_same, rows.label == 1)
    for label, item in enumerate(UNSCORED_OF_CLASS):
        counts.count_by_speaker(item, rows.enrol[is_target == label], speaker)
    counts.count_by_speaker(UNSCORED_TESTS, rows.test[~is_target], speaker)


def name_by_speaker(item: str) -> str:
    """Name what is counted by speaker, with the side whose speaker counts."""
    return item if item == UNSCORED_TESTS else f"{item} (by enrolment speaker)"


def _append_unscored(scored: EncodedRows, listed: EncodedRows) -> EncodedRows:
    """Scored rows with some of the trial list that have no score."""
    more = {}
    for name, column in scored.extra_columns.items():
        unknown = UNKNOWN_CELL[column.dtype.kind]
        rest = np.full(listed.label.size, unknown, dtype=column.dtype)
        more[name] = np.concatenate((column, listed.extra_columns.get(name, rest)))
    return EncodedRows(
        np.concatenate((scored.enrol, listed.enrol)),
        np.concatenate((scored.test, listed.test)),
        np.concatenate((scored.label, listed.label)),
        np.concatenate((scored.score, np.full(listed.label.size, np.nan))),
        more,
    )


def _count_oddities(
    key: Ints, trials: Trials, facts: UtteranceFacts, n: int, counts: CheckCounts
) -> None:
    """Count what is no error but worth knowing, on the trials that are kept."""
    speaker = facts.speaker
    if trials.conflict.any():
        key, trials = key[~trials.conflict], trials.without_conflicts()
    back = np.flatnonzero((key[1:] ^ key[:-1]) == 1)
    if back.size:
        counts.reversed += int(back.size)
        counts.count_by_speaker(REVERSED, trials.enrol[back + 1], speaker)
        gap = trials.score[back + 1] != trials.score[back]
        counts.reversed_differ += int(gap.sum())
        pair = trials.score[back[gap] + 1], trials.score[back[gap]]
        with np.errstate(invalid="ignore"):
            apart = np.abs(pair[0] - pair[1])
            known = trials.score[np.isfinite(trials.score)]
            size = np.fmax(np.abs(pair[0]), float(np.std(known)) if known.size else 0.0)
        counts.reversed_by = max(counts.reversed_by, float(np.fmax.reduce(apart, initial=0.0)))
        counts.reversed_far += int((apart > _FAR_APART * size).sum())
    itself = facts.is_same_utterance(trials.enrol, trials.test, n)
    counts.same_utterance += int(itself.sum())
    counts.count_by_speaker(OF_ITSELF, trials.enrol[itself], speaker)
    finite = np.isfinite(trials.score)
    counts.infinite += int(trials.score.size - finite.sum())
    counts.count_by_speaker(INFINITE, trials.enrol[~finite], speaker)
    counts.n_kept += trials.score.size
    counts.targets += int(trials.target.sum())
    if facts.are_some_unknown and speaker is not None:
        counts.without_test_speaker += int((speaker.take(trials.test) < 0).sum())
    bounded = trials.score if finite.all() else trials.score[finite]
    counts.low = min(counts.low, float(bounded.min(initial=np.inf)))
    counts.high = max(counts.high, float(bounded.max(initial=-np.inf)))


@dataclass(frozen=True)
class DataNote:
    """One line of what was read."""

    source: str  # ``scores``, ``trials``, ``utterances`` or ``speakers``
    item: str  # what was counted
    count: int
    note: str = ""  # what was done about it; may be empty
