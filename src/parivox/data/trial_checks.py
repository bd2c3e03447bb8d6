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

from parivox.core.counts import NONTARGET, SPOOF, TARGET
from parivox.facts import fact
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

UNSCORED = "trials_without_score"
"""Codes of what is counted (`parivox.facts`)."""
UNDECIDED = "trials_without_decision"
_MAX_ROUNDING_DIFFERENCE = 1e-3
"""Difference of two orders of a pair, relative to their size, that rounding does not make."""
UNSCORED_OF_CLASS = ("nontarget_trials_without_score", "target_trials_without_score")
UNSCORED_TESTS = "tests_without_score"
REPEATED_UNSCORED = "rows_without_score_repeated"
DUPLICATES = "exact_duplicates"
CONFLICTS = "contradicting_rows"
REVERSED = "reversed_pairs"
REVERSED_FAR = "reversed_pairs_with_other_scores"
REPEATED = "repeated_trials"
SAME_UTTERANCE = "trials_of_one_utterance"
WITHOUT_TEST_SPEAKER = "nontarget_trials_without_test_speaker"
NOTE_WITHOUT_TEST_SPEAKER = "counted_for_enrolment_speaker"
INFINITE = "infinite_scores"
SPOOFED_ELSEWHERE = "spoofed_elsewhere"
"""Kind of a pair whose test recording is bona fide in another partition."""
SPOOFS_OF_OTHERS = "spoof_trials_of_other_speakers"
PLACEHOLDER_SPEAKER = "trials_of_nobody"
NOTE_PLACEHOLDER_SPEAKER = "left_out_for_placeholder"
FAILED = "trials_of_failed_recordings"
SPEAKERS_IN_COLUMNS = "utterances_in_column"
SPEAKERS_IN_TABLE = "utterances_in_table"
IDS_BEGIN_WITH_SPEAKER = "ids_begin_with_speaker"
COUNTED_ONCE, MERGED, KEPT, LEFT_OUT = "counted_once", "merged", "kept", "left_out"
EXCLUDED = "set_aside"
"""Codes of what was done about it."""
ACQUIRE, ENROL = 1, 2
"""Stage at which a trial failed, 0 where it did not."""
UNKNOWN_CELL = {"f": np.nan, "i": -1}
"""What means an unknown number or code, by the kind of the column."""


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
    """Checked trials in the order of their ids, whatever the order of the rows.

    Score counts and speaker counts are read as such rows too: a row then represents several trials,
    its sides are speakers instead of utterances, and its score is a lower edge.
    """

    # shape (trial,): utterances, as indices into ``TrialSet.utterance_ids``.
    enrol: NDArray[np.int32]
    test: NDArray[np.int32]
    trial_class: NDArray[np.int8]  # shape (trial,): code of `parivox.core.counts.TRIAL_CLASSES`
    score: NDArray[np.float64]  # shape (trial,): higher is more alike; may be infinite, never NaN
    # shape (trial,): contradicts others or the speakers, so is set aside
    conflict: NDArray[np.bool_]
    # shape (trial,): what else is known of them, where the file has it: ``accepted``
    # (1 or 0, -1 for unknown), ``threshold`` (as an index), ``seconds`` (NaN for unknown), and the
    # values of attributes by `parivox.data.attributes.Attribute` column (-1 for unknown).
    extra_columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # trials without score because a recording failed; ``extra_columns["failed"]`` is 1 where it was
    # the test recording that could not be acquired, 2 where it was the enrolment
    failed: Trials | None = None

    def __len__(self) -> int:
        return int(self.score.size)

    @property
    def target(self) -> Bools:
        """Which trials are target trials."""
        return np.equal(self.trial_class, TARGET)

    @property
    def nontarget(self) -> Bools:
        """Which trials are nontarget trials."""
        return np.equal(self.trial_class, NONTARGET)

    @property
    def spoof(self) -> Bools:
        """Which trials are spoof trials."""
        return np.equal(self.trial_class, SPOOF)

    @property
    def attack(self) -> NDArray[np.int32]:
        """The attack of each trial, as an index into the names; -1 where none is known."""
        return self.extra_columns.get("attack", np.broadcast_to(np.int32(-1), len(self)))

    def by_claim(self) -> Trials:
        """The same with the enrolment on both sides of spoof trials.

        Only the claimed speaker, whose account is exposed, counts in them: whoever is imitated
        takes no part.
        """
        is_spoof = self.spoof
        if not is_spoof.any():
            return self
        return replace(self, test=np.where(is_spoof, self.enrol, self.test))

    def chunks(self, chunk_size: int) -> Iterator[Trials]:
        """So many of the trials at a time, as views; those that failed are left out.

        Without any, one part that has none.
        """
        for start in range(0, max(len(self), 1), chunk_size):
            rows = slice(start, start + chunk_size)
            more = {name: column[rows] for name, column in self.extra_columns.items()}
            yield Trials(
                self.enrol[rows],
                self.test[rows],
                self.trial_class[rows],
                self.score[rows],
                self.conflict[rows],
                more,
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
            self.trial_class.take(rows),
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
    spoofs: int = 0
    spoofs_of_others: int = 0  # which imitate another speaker than the claimed one
    wrong_attacks: int = 0
    shared_spoofs: int = 0  # whose recording is in a bona fide trial, too
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
            owners = speaker[utterances]
            n_trials = np.bincount(owners[owners >= 0], minlength=self.n_speakers)
            self.counts_by_speaker[item] = self.counts_by_speaker.get(item, 0) + n_trials

    def note_first_pair(
        self, kind: str, enrol: NDArray[np.int32], test: NDArray[np.int32], is_wrong: Bools
    ) -> None:
        """Remember the first pair that something is wrong with."""
        if kind not in self.first_pairs and is_wrong.any():
            row = int(is_wrong.argmax())
            self.first_pairs[kind] = int(enrol[row]), int(test[row])


class UtteranceFacts(NamedTuple):
    """What is known of the utterances, each of shape (utterance,) or None."""

    # speaker of each, -1 for unknown ones, whom nontarget trials may be tested with; None where
    # every row has a label and speakers are not asked for
    speaker: NDArray[np.int32] | None
    # whether it failed as an enrolment, as a test recording
    failed_enrol: Bools | None = None
    failed_test: Bools | None = None
    # shape (threshold,): what ``extra_columns["threshold"]`` is an index of, NaN last
    thresholds: NDArray[np.float64] | None = None
    # of models, the recordings that each is made of: ``model * n + recording``, rising
    model_recordings: Ints | None = None
    is_scored: bool = True  # whether the rows have scores; if not, their decisions stand for them
    are_some_unknown: bool = False  # whether some of the speakers are unknown
    has_placeholder_speaker: Bools | None = (
        None  # whether its speaker is a placeholder; None where none is
    )

    def is_same_utterance(
        self, enrol: NDArray[np.int32], test: NDArray[np.int32], n_utterances: int
    ) -> Bools:
        """Whether a trial compares a recording with itself, or with a model made of it."""
        if self.model_recordings is None:
            return np.asarray(enrol == test)
        key = enrol.astype(np.int64) * n_utterances + test
        position = np.searchsorted(self.model_recordings, key).clip(
            max=max(self.model_recordings.size - 1, 0)
        )
        return (
            self.model_recordings[position] == key
            if self.model_recordings.size
            else np.zeros(key.size, dtype=bool)
        )


def check_partition(
    scored: EncodedRows,
    list_rows: EncodedRows | None,
    *,
    n_utterances: int,
    facts: UtteranceFacts,
    counts: CheckCounts,
) -> Trials:
    """Check one partition of scored rows, put it in order, and add to `counts`.

    Where a trial list is given separately, only its pairs are trials.
    """
    speaker = facts.speaker
    counts.rows += scored.score.size
    if list_rows is not None:
        list_rows = _without_placeholder_speakers(list_rows, facts, counts)
        scored, is_doubtful = _join_trial_list(scored, list_rows, n_utterances, facts, counts)
    else:
        scored = _without_placeholder_speakers(scored, facts, counts)
        is_doubtful = np.zeros(scored.score.size, dtype=bool)
    scored = _with_decisions_as_scores(scored, facts, counts)
    is_unscored = np.isnan(scored.score)
    failed_stages = _failed_stages(scored, facts)
    if failed_stages is not None:
        is_doubtful = _doubtful_failed(scored, failed_stages, is_unscored, is_doubtful, counts)
        is_unscored &= failed_stages == 0
        scored.score[failed_stages > 0] = -np.inf  # so that it is in order; no metric sees it
        scored = scored._replace(extra_columns={**scored.extra_columns, "failed": failed_stages})
    if is_unscored.any():
        unscored_rows = _unscored_trials(scored, is_unscored, n_utterances, counts)
        counts.unscored += unscored_rows.score.size
        _count_unscored(unscored_rows, speaker, counts)
        scored, is_doubtful = scored.take(~is_unscored), is_doubtful[~is_unscored]
    trial_class = scored.label.copy()
    unlabelled = np.flatnonzero(trial_class < 0)
    if speaker is not None and unlabelled.size:
        unlabelled_sides = (side.take(unlabelled) for side in (scored.enrol, scored.test))
        trial_class[unlabelled] = np.equal(*(speaker.take(side) for side in unlabelled_sides))
    pair_keys, order = _sorted_keys(
        pair_key(scored.enrol, scored.test, n_utterances), 2 * n_utterances * n_utterances
    )
    more = {name: column.take(order) for name, column in scored.extra_columns.items()}
    trials = Trials(
        scored.enrol.take(order),
        scored.test.take(order),
        trial_class.take(order),
        scored.score.take(order),
        # usually no trial is doubtful, and there is nothing to put in order
        is_doubtful.take(order) if is_doubtful.any() else is_doubtful,
        more,
    )
    pair_keys, trials = _drop_duplicates(pair_keys, trials, speaker, counts)
    _check_decisions(trials, facts.thresholds, counts)
    if facts.are_some_unknown and speaker is not None:
        counts.note_first_pair(
            "enrolment", trials.enrol, trials.test, speaker.take(trials.enrol) < 0
        )
    if speaker is not None:
        is_mislabelled = trials.target != (speaker.take(trials.enrol) == speaker.take(trials.test))
        is_mislabelled &= ~trials.spoof  # which imitate the claimed speaker or another one
        if is_mislabelled.any():
            counts.wrong_labels += int(is_mislabelled.sum())
            counts.note_first_pair("label", trials.enrol, trials.test, is_mislabelled)
            np.logical_or(trials.conflict, is_mislabelled, out=trials.conflict)
    trials = _check_spoof(trials, n_utterances, counts)
    if trials.conflict.any():
        counts.conflicts += int(trials.conflict.sum())
        counts.conflict_targets += int(trials.target[trials.conflict].sum())
        counts.count_by_speaker(CONFLICTS, trials.enrol[trials.conflict], speaker)
    if failed_stages is not None:
        pair_keys, trials = _split_failed(pair_keys, trials, speaker, counts)
    _count_unusual_trials(pair_keys, trials, facts, n_utterances, counts)
    return trials


def _check_spoof(trials: Trials, n_utterances: int, counts: CheckCounts) -> Trials:
    """Mark spoof trials of recordings in bona fide trials, and attacks on bona fide trials.

    Trials without any spoof trial lose their column of attacks.
    """
    is_spoof = trials.spoof
    if "attack" in trials.extra_columns:
        is_contradictory = (trials.extra_columns["attack"] >= 0) & ~is_spoof
        counts.wrong_attacks += int(is_contradictory.sum())
        counts.note_first_pair("attack", trials.enrol, trials.test, is_contradictory)
        np.logical_or(trials.conflict, is_contradictory, out=trials.conflict)
    if not is_spoof.any():
        more = {name: column for name, column in trials.extra_columns.items() if name != "attack"}
        return replace(trials, extra_columns=more)
    is_bona_fide = np.zeros(n_utterances, dtype=bool)
    bona_fide = trials.take(~is_spoof)
    is_bona_fide[bona_fide.enrol] = is_bona_fide[bona_fide.test] = True
    is_shared = is_spoof & is_bona_fide.take(trials.test)
    counts.shared_spoofs += int(is_shared.sum())
    counts.note_first_pair("spoofed", trials.enrol, trials.test, is_shared)
    np.logical_or(trials.conflict, is_shared, out=trials.conflict)
    return trials


def note_spoofs_shared_by_partitions(
    partitions: Iterable[Trials], n_utterances: int, counts: CheckCounts
) -> None:
    """Note spoof trials whose recording is in a bona fide trial of another partition."""
    is_bona_fide = np.zeros(n_utterances, dtype=bool)
    for trials in partitions:
        for rows in (trials, trials.failed):
            if rows is not None:
                bona_fide = rows.take(~rows.spoof)
                is_bona_fide[bona_fide.enrol] = is_bona_fide[bona_fide.test] = True
    counts.shared_spoofs = 0
    for trials in partitions:
        is_shared = trials.spoof & ~trials.conflict & is_bona_fide.take(trials.test)
        counts.shared_spoofs += int(is_shared.sum())
        counts.note_first_pair(SPOOFED_ELSEWHERE, trials.enrol, trials.test, is_shared)


def _unscored_trials(
    rows: EncodedRows, is_unscored: Bools, n_utterances: int, counts: CheckCounts
) -> EncodedRows:
    """Return one row of each trial that has a score in no row."""
    pair_keys = pair_key(rows.enrol, rows.test, n_utterances)
    unscored_keys, first_rows = np.unique(pair_keys[is_unscored], return_index=True)
    first_rows = first_rows[~np.isin(unscored_keys, pair_keys[~is_unscored])]
    counts.repeated_unscored += int(is_unscored.sum()) - first_rows.size
    return rows.take(np.flatnonzero(is_unscored)[first_rows])


def _without_placeholder_speakers(
    rows: EncodedRows, facts: UtteranceFacts, counts: CheckCounts
) -> EncodedRows:
    """Return the rows without those of which a side has a placeholder for a speaker.

    Rows that are labelled nontarget or spoof need no test speaker, so a placeholder there is none.
    """
    if facts.has_placeholder_speaker is None:
        return rows
    is_lost = facts.has_placeholder_speaker.take(rows.test)
    is_lost &= ~np.isin(rows.label, (NONTARGET, SPOOF))
    is_lost |= facts.has_placeholder_speaker.take(rows.enrol)
    counts.without_speaker += int(is_lost.sum())
    return rows.take(~is_lost)


def _with_decisions_as_scores(
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


def _doubtful_failed(
    rows: EncodedRows,
    failed_stages: NDArray[np.int8],
    is_unscored: Bools,
    is_doubtful: Bools,
    counts: CheckCounts,
) -> Bools:
    """A trial that failed can have no score: True where one has, or was doubtful before."""
    is_contradictory = (failed_stages > 0) & ~is_unscored
    counts.failed_scored += int(is_contradictory.sum())
    counts.note_first_pair("failed", rows.enrol, rows.test, is_contradictory)
    return is_doubtful | is_contradictory


def _check_decisions(
    trials: Trials, thresholds: NDArray[np.float64] | None, counts: CheckCounts
) -> None:
    """Mark decisions that their own scores and thresholds contradict."""
    decided, threshold_index = (
        trials.extra_columns.get("accepted"),
        trials.extra_columns.get("threshold"),
    )
    if decided is None or threshold_index is None or thresholds is None:
        return
    threshold = thresholds[threshold_index]
    is_contradictory = (
        (decided >= 0) & ~np.isnan(threshold) & ((trials.score >= threshold) != (decided == 1))
    )
    if "failed" in trials.extra_columns:
        is_contradictory &= trials.extra_columns["failed"] == 0
    if is_contradictory.any():
        counts.wrong_decisions += int(is_contradictory.sum())
        counts.note_first_pair("decision", trials.enrol, trials.test, is_contradictory)
        np.logical_or(trials.conflict, is_contradictory, out=trials.conflict)


def _split_failed(
    pair_keys: Ints, trials: Trials, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> tuple[Ints, Trials]:
    """The trials that were scored, with those that failed next to them."""
    has_failed = trials.extra_columns["failed"] > 0
    failed = trials.take(has_failed).without_conflicts()
    counts.failed += len(failed)
    counts.count_by_speaker(FAILED, failed.enrol, speaker)
    more = {name: column for name, column in trials.extra_columns.items() if name != "failed"}
    scored = replace(trials, extra_columns=more).take(~has_failed)
    return pair_keys[~has_failed], replace(scored, failed=failed)


def pair_key(enrol: NDArray[np.int32], test: NDArray[np.int32], n_utterances: int) -> Ints:
    """One number per ordered pair, in the canonical order; below 2 n^2."""
    key = np.minimum(enrol, test).astype(np.int64)
    key *= n_utterances
    key += np.maximum(enrol, test)
    key *= 2
    key += enrol > test
    return key


def sorted_numbers(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in rising order; NumPy's sort takes up to three times as long."""
    return pl.Series(numbers).sort(multithreaded=False).to_numpy()


def _sorted_keys(keys: Ints, limit: int) -> tuple[Ints, Ints]:
    """Keys below a limit in rising order, and the place that each had."""
    bits = keys.size.bit_length()
    if limit > 1 << (63 - bits):
        order = np.argsort(keys)
        return keys[order], order
    keys <<= bits  # with the place in its lowest bits: one array is sorted in half the time
    keys |= np.arange(keys.size)
    keys = sorted_numbers(keys)
    return keys >> bits, keys & ((1 << bits) - 1)


def _drop_duplicates(
    pair_keys: Ints, trials: Trials, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> tuple[Ints, Trials]:
    """Drop exact duplicates; mark what is left of a pair that occurs again."""
    repeats_previous = pair_keys[1:] == pair_keys[:-1]
    if not repeats_previous.any():
        return pair_keys, trials
    is_repeated = np.concatenate((repeats_previous, [False])) | np.concatenate(
        ([False], repeats_previous)
    )
    repeated_rows = np.flatnonzero(is_repeated)
    columns: list[NDArray[Any]] = [trials.score, trials.trial_class, *trials.extra_columns.values()]
    rank = np.lexsort(
        (
            trials.conflict[repeated_rows],
            *(column[repeated_rows] for column in columns),
            pair_keys[repeated_rows],
        )
    )
    all_columns: list[NDArray[Any]] = [
        pair_keys,
        trials.enrol,
        trials.test,
        trials.conflict,
        *columns,
    ]
    for column in all_columns:
        column[repeated_rows] = column[repeated_rows[rank]]
    is_duplicate = pair_keys[1:] == pair_keys[:-1]
    for column in columns:
        is_duplicate &= _are_equal_cells(column[1:], column[:-1])
    is_kept = np.concatenate(([True], ~is_duplicate))
    counts.duplicates += int(is_duplicate.sum())
    counts.count_by_speaker(DUPLICATES, trials.enrol[~is_kept], speaker)
    pair_keys, trials = pair_keys[is_kept], trials.take(is_kept)
    repeats_previous = pair_keys[1:] == pair_keys[:-1]
    is_contradictory = np.concatenate((repeats_previous, [False])) | np.concatenate(
        ([False], repeats_previous)
    )
    if is_contradictory.any():
        counts.conflict_pairs += int(
            (repeats_previous & ~np.concatenate(([False], repeats_previous[:-1]))).sum()
        )
        counts.note_first_pair("pair", trials.enrol, trials.test, is_contradictory)
        np.logical_or(trials.conflict, is_contradictory, out=trials.conflict)
    return pair_keys, trials


def _are_equal_cells(first: NDArray[Any], second: NDArray[Any]) -> Bools:
    """Where two columns say the same; two unknown numbers are the same."""
    is_equal: Bools = first == second
    if first.dtype.kind == "f":
        is_equal |= np.isnan(first) & np.isnan(second)
    return is_equal


def _join_trial_list(
    scored: EncodedRows,
    list_rows: EncodedRows,
    n_utterances: int,
    facts: UtteranceFacts,
    counts: CheckCounts,
) -> tuple[EncodedRows, Bools]:
    """Scores with the labels of the trial list; True where the list contradicts itself or them."""
    list_keys = pair_key(list_rows.enrol, list_rows.test, n_utterances)
    counts.list_rows += list_keys.size
    order = np.lexsort((*list_rows.extra_columns.values(), list_rows.label, list_keys))
    list_keys, list_rows = list_keys[order], list_rows.take(order)
    is_first = np.concatenate(([True], list_keys[1:] != list_keys[:-1]))[: list_keys.size]
    starts = np.flatnonzero(is_first)
    is_duplicate = ~is_first
    for column in (list_rows.label, *list_rows.extra_columns.values()):
        is_duplicate[1:] &= _are_equal_cells(column[1:], column[:-1])
    counts.list_duplicates += int(is_duplicate.sum())
    list_contradicts = np.zeros(starts.size, dtype=bool)
    list_contradicts[np.cumsum(is_first)[~is_first & ~is_duplicate] - 1] = True
    list_keys, list_rows = list_keys[starts], list_rows.take(starts)
    counts.note_first_pair("trials", list_rows.enrol, list_rows.test, list_contradicts)
    score_keys = pair_key(scored.enrol, scored.test, n_utterances)
    list_position = np.searchsorted(list_keys, score_keys)
    is_in_list = list_position < list_keys.size
    is_in_list[is_in_list] = list_keys[list_position[is_in_list]] == score_keys[is_in_list]
    has_score = np.zeros(list_keys.size, dtype=bool)
    has_score[list_position[is_in_list]] = True
    counts.found_in_scores += int(has_score.sum())
    counts.not_in_trials += int((~is_in_list).sum())
    scored, list_position = scored.take(is_in_list), list_position[is_in_list]
    score_labels, list_labels = scored.label, list_rows.label[list_position]
    is_doubtful = list_contradicts[list_position]
    labels_differ = (score_labels >= 0) & (list_labels >= 0) & (score_labels != list_labels)
    counts.note_first_pair("list", scored.enrol, scored.test, labels_differ)
    more = {
        **scored.extra_columns,
        **{name: column[list_position] for name, column in list_rows.extra_columns.items()},
    }
    joined = scored._replace(
        label=np.where(list_labels >= 0, list_labels, score_labels), extra_columns=more
    )
    is_unscored = ~has_score
    if facts.failed_enrol is not None and facts.failed_test is not None:
        has_failed = is_unscored & (
            facts.failed_enrol[list_rows.enrol] | facts.failed_test[list_rows.test]
        )
        is_unscored &= ~has_failed
        joined, is_doubtful = (
            _append_unscored(joined, list_rows.take(has_failed)),
            np.append(is_doubtful, list_contradicts[has_failed]),
        )
        labels_differ = np.append(labels_differ, np.zeros(int(has_failed.sum()), dtype=bool))
    counts.not_in_scores += int(is_unscored.sum())
    _count_unscored(list_rows.take(is_unscored), facts.speaker, counts)
    return joined, is_doubtful | labels_differ


def _count_unscored(
    rows: EncodedRows, speaker: NDArray[np.int32] | None, counts: CheckCounts
) -> None:
    """Count trials without score by speaker, all and of each class."""
    counts.count_by_speaker(UNSCORED, rows.enrol, speaker)
    if speaker is None:
        return
    is_same = speaker[rows.enrol] == speaker[rows.test]
    trial_class = np.where(rows.label < 0, is_same, rows.label)
    for class_code, item in enumerate(UNSCORED_OF_CLASS):
        counts.count_by_speaker(item, rows.enrol[trial_class == class_code], speaker)
    counts.count_by_speaker(UNSCORED_TESTS, rows.test[trial_class == NONTARGET], speaker)


def item_by_speaker(item: str) -> str:
    """Name what is counted by speaker, with the side whose speaker counts."""
    side = "test" if item == UNSCORED_TESTS else "enrolment"
    return fact("counted_by_speaker", counted=item, side=side)


def _append_unscored(scored: EncodedRows, list_rows: EncodedRows) -> EncodedRows:
    """Scored rows with some of the trial list that have no score."""
    more = {}
    for name, column in scored.extra_columns.items():
        unknown = UNKNOWN_CELL[column.dtype.kind]
        unknown_cells = np.full(list_rows.label.size, unknown, dtype=column.dtype)
        more[name] = np.concatenate((column, list_rows.extra_columns.get(name, unknown_cells)))
    return EncodedRows(
        np.concatenate((scored.enrol, list_rows.enrol)),
        np.concatenate((scored.test, list_rows.test)),
        np.concatenate((scored.label, list_rows.label)),
        np.concatenate((scored.score, np.full(list_rows.label.size, np.nan))),
        more,
    )


def _count_unusual_trials(
    pair_keys: Ints, trials: Trials, facts: UtteranceFacts, n_utterances: int, counts: CheckCounts
) -> None:
    """Count what is no error but worth knowing, on the trials that are kept."""
    speaker = facts.speaker
    if trials.conflict.any():
        pair_keys, trials = pair_keys[~trials.conflict], trials.without_conflicts()
    reversed_rows = np.flatnonzero((pair_keys[1:] ^ pair_keys[:-1]) == 1)
    if reversed_rows.size:
        counts.reversed += int(reversed_rows.size)
        counts.count_by_speaker(REVERSED, trials.enrol[reversed_rows + 1], speaker)
        scores_differ = trials.score[reversed_rows + 1] != trials.score[reversed_rows]
        counts.reversed_differ += int(scores_differ.sum())
        score_pair = (
            trials.score[reversed_rows[scores_differ] + 1],
            trials.score[reversed_rows[scores_differ]],
        )
        with np.errstate(invalid="ignore"):
            difference = np.abs(score_pair[0] - score_pair[1])
            finite_scores = trials.score[np.isfinite(trials.score)]
            score_scale = np.fmax(
                np.abs(score_pair[0]), float(np.std(finite_scores)) if finite_scores.size else 0.0
            )
        counts.reversed_by = max(counts.reversed_by, float(np.fmax.reduce(difference, initial=0.0)))
        counts.reversed_far += int((difference > _MAX_ROUNDING_DIFFERENCE * score_scale).sum())
    is_same_utterance = facts.is_same_utterance(trials.enrol, trials.test, n_utterances)
    counts.same_utterance += int(is_same_utterance.sum())
    counts.count_by_speaker(SAME_UTTERANCE, trials.enrol[is_same_utterance], speaker)
    is_finite = np.isfinite(trials.score)
    counts.infinite += int(trials.score.size - is_finite.sum())
    counts.count_by_speaker(INFINITE, trials.enrol[~is_finite], speaker)
    counts.n_kept += trials.score.size
    counts.targets += int(trials.target.sum())
    counts.spoofs += int(trials.spoof.sum())
    if speaker is not None and trials.spoof.any():
        claimed, imitated = speaker.take(trials.enrol), speaker.take(trials.test)
        imitates_other = trials.spoof & (imitated >= 0) & (imitated != claimed)
        counts.spoofs_of_others += int(imitates_other.sum())
    if facts.are_some_unknown and speaker is not None:
        lacks_speaker = (speaker.take(trials.test) < 0) & trials.nontarget
        counts.without_test_speaker += int(lacks_speaker.sum())
    range_scores = trials.score if is_finite.all() else trials.score[is_finite]
    counts.low = min(counts.low, float(range_scores.min(initial=np.inf)))
    counts.high = max(counts.high, float(range_scores.max(initial=-np.inf)))


@dataclass(frozen=True)
class DataNote:
    """One line of what was read."""

    source: str  # ``scores``, ``trials``, ``utterances`` or ``speakers``
    item: str  # the fact that says what was counted
    count: int
    note: str = ""  # the facts that say what was done about it; may be empty
