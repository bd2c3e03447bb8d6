"""Count the trials of a list once, by pair of speakers.

Every table and check of a list is a sum over its pairs of speakers. A list has far fewer of them
than trials, so tables and checks take no time once the pairs are counted.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.key_sums import MAX_KEY_BITS, KeySums, count_distinct
from parivox.data.lists.grades import grade_codes
from parivox.data.lists.trial_list import agreement_codes
from parivox.data.trial_checks import sorted_numbers
from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.lists.trial_list import Agreement, TrialList
    from parivox.data.trial_checks import Trials

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Codes = NDArray[np.int32]
    Flags = NDArray[np.int8]

MAX_MARKED_CELLS = 10_000_000
"""Groups times members above which pairs are sorted, which is slower, and not marked in a table."""


@frozen
class SpeakerPairCounts:
    """Trials by pair of speakers and by what makes them difficult; shape (row,) each.

    A row represents all trials that agree in every field but the number.
    """

    enrol: Codes  # speaker of either side; equal for target trials
    test: Codes
    same_recording: Flags
    """Of target trials, whether both sides are of one recording: 1, 0, -1 for unknown."""
    agreement: Flags
    """Whether both sides share each attribute that defines difficulty, [attribute, row]."""
    enrol_group: Codes  # -1 for none
    test_group: Codes
    n_trials: Ints

    @property
    def is_target(self) -> NDArray[np.bool_]:
        """Whether they are trials of one speaker."""
        return np.asarray(self.enrol == self.test)

    @property
    def grade(self) -> Flags:
        """How difficult they are, 0 where it is not known."""
        return grade_codes(self.is_target, self.same_recording, self.agreement)

    def select(self, mask: NDArray[np.bool_]) -> SpeakerPairCounts:
        """Return the rows where `mask` is true."""
        return SpeakerPairCounts(
            enrol=self.enrol[mask],
            test=self.test[mask],
            same_recording=self.same_recording[mask],
            agreement=self.agreement[:, mask],
            enrol_group=self.enrol_group[mask],
            test_group=self.test_group[mask],
            n_trials=self.n_trials[mask],
        )

    def trials_by_key(self, key: NDArray[np.integer], n_keys: int) -> Ints:
        """Add up trials by a key from 0 to below `n_keys`; keys below 0 are left out."""
        has_key = np.flatnonzero(key >= 0)
        totals = np.bincount(key.take(has_key), self.n_trials.take(has_key), minlength=n_keys)
        return totals.astype(np.int64)


@frozen
class ListCounts:
    """Counts of a list."""

    trial_list: TrialList
    pair_counts: SpeakerPairCounts  # without groups
    pair_counts_by_trial_groups: Mapping[int, SpeakerPairCounts]
    """The same with the groups of trials or recordings, by the position of the grouping."""
    n_reversed: tuple[int, int]
    """Nontarget and target trials whose reverse is in the list, too; one of the two is counted."""
    n_self_trials: int  # trials of an utterance with itself
    trials_per_utterance: Ints
    is_enrolled: NDArray[np.bool_]
    """Whether each utterance is an enrolment of a trial; the next: whether it is a test."""
    is_tested: NDArray[np.bool_]

    @property
    def pair_counts_by_grouping(self) -> Iterator[SpeakerPairCounts]:
        """Yield the counts with the groups of each grouping of the list, one after the other."""
        for position, grouping in enumerate(self.trial_list.groupings):
            trial_groups = self.pair_counts_by_trial_groups.get(position)
            if trial_groups is None:
                yield _with_speaker_groups(self.pair_counts, grouping)
            else:
                yield trial_groups

    @cached_property
    def trials_per_speaker(self) -> TrialsPerSpeaker:
        """What each speaker takes part in."""
        n_speakers = len(self.trial_list.speakers.ids)
        is_target = self.pair_counts.is_target
        target, nontarget = self.pair_counts.select(is_target), self.pair_counts.select(~is_target)
        n_target = target.trials_by_key(target.enrol, n_speakers)
        n_nontarget = nontarget.trials_by_key(nontarget.enrol, n_speakers)
        n_tested_nontarget = nontarget.trials_by_key(nontarget.test, n_speakers)
        present = np.flatnonzero(n_target + n_nontarget + n_tested_nontarget)
        return TrialsPerSpeaker(
            self, present, n_target[present], n_nontarget[present], n_tested_nontarget[present]
        )


@frozen
class TrialsPerSpeaker:
    """Speakers who take part, and in how many trials; shape (speaker,) each."""

    list_counts: ListCounts
    speaker_indices: Ints  # rows of the table of speakers
    n_target: Ints  # trials that they enrol in
    n_nontarget: Ints
    n_tested_nontarget: Ints  # nontarget trials that they are the test side of

    @property
    def n_enrolled(self) -> Ints:
        """Trials that they enrol in."""
        return self.n_target + self.n_nontarget

    @property
    def n_tested(self) -> Ints:
        """Trials that they are the test side of."""
        return self.n_target + self.n_tested_nontarget

    @property
    def n_trials(self) -> Ints:
        """Trials that they take part in, on one side or both."""
        return self.n_target + self.n_nontarget + self.n_tested_nontarget

    @cached_property
    def n_partners(self) -> Ints:
        """Other speakers whom they are compared with."""
        pair_counts = self.list_counts.pair_counts
        nontarget = pair_counts.select(~pair_counts.is_target)
        enrol, test = nontarget.enrol.astype(np.int64), nontarget.test.astype(np.int64)
        n_speakers = len(self.list_counts.trial_list.speakers.ids)
        keys = np.concatenate((enrol * n_speakers + test, test * n_speakers + enrol))
        distinct_keys, _ = count_distinct(keys, sorted_numbers)
        n_partners = np.bincount(distinct_keys // n_speakers, minlength=n_speakers)
        return n_partners[self.speaker_indices]

    @property
    def n_utterances(self) -> Ints:
        """Their utterances in the list."""
        trial_list = self.list_counts.trial_list
        is_used = self.list_counts.trials_per_utterance > 0
        speaker = trial_list.trials.utterance_speaker[is_used]
        n_utterances = np.bincount(speaker, minlength=len(trial_list.speakers.ids))
        return n_utterances[self.speaker_indices]

    @cached_property
    def n_recordings(self) -> Ints:
        """Their recordings in the list; -1 where not all are known."""
        trial_list = self.list_counts.trial_list
        is_used = self.list_counts.trials_per_utterance > 0
        speaker = trial_list.trials.utterance_speaker[is_used]
        n_speakers = len(trial_list.speakers.ids)
        n_recordings = recordings_by_group(
            speaker, trial_list.recording_indices[is_used], n_speakers
        )
        return n_recordings[self.speaker_indices]


def count_list(trial_list: TrialList) -> ListCounts:
    """Count the trials of a list, chunk by chunk.

    >>> from parivox.data.lists.trial_list import read_list
    >>> trials = {"enrol": ["a/x/1", "a/x/1", "a/y/1"], "test": ["a/x/2", "b/y/1", "b/y/1"]}
    >>> counts = count_list(read_list(trials)).pair_counts
    >>> counts.enrol.tolist(), counts.test.tolist(), counts.n_trials.tolist()
    ([0, 0], [0, 1], [1, 2])
    """
    n_speakers = len(trial_list.speakers.ids)
    # attributes of speakers follow from the pair, so that only others need a place in the key
    agreements = [
        agreement for agreement in trial_list.agreements if agreement.speaker_codes is None
    ]
    agreement_functions = [agreement.code_function(trial_list.trials) for agreement in agreements]
    n_agreement_codes = 3 ** len(agreements)
    key_counts = _KeyCounts(n_speakers, n_agreement_codes, 1)
    # groupings of trials or recordings, which the speakers do not determine
    grouped_key_counts = {
        position: (
            _KeyCounts(n_speakers, n_agreement_codes, len(grouping.groups) + 1),
            grouping.side_coder(trial_list.trials),
        )
        for position, grouping in enumerate(trial_list.groupings)
        if grouping.speaker_codes is None
    }
    speaker = trial_list.trials.utterance_speaker
    utterances = _UtteranceCounts(speaker.size)
    for chunk in trial_list.chunks():
        if not len(chunk):
            continue
        utterances.add(chunk)
        # one number for all that counts of each trial, but groups
        key = speaker.take(chunk.enrol).astype(np.int64) * n_speakers + speaker.take(chunk.test)
        same_recording = np.where(chunk.target, trial_list.same_recording(chunk), 0)
        for codes in (same_recording, *(function(chunk) for function in agreement_functions)):
            key *= 3
            key += codes
            key += 1
        key_counts.add(key)
        for counts, groups_of_sides in grouped_key_counts.values():
            enrol_group, test_group = groups_of_sides(chunk)
            counts.add((key * counts.n_groups + enrol_group + 1) * counts.n_groups + test_group + 1)
    return ListCounts(
        trial_list,
        pair_counts=_pair_counts(key_counts, trial_list, agreements),
        pair_counts_by_trial_groups={
            position: _pair_counts(counts, trial_list, agreements)
            for position, (counts, _) in grouped_key_counts.items()
        },
        n_reversed=(int(utterances.n_reversed[0]), int(utterances.n_reversed[1])),
        n_self_trials=utterances.n_self_trials,
        trials_per_utterance=utterances.n_trials,
        is_enrolled=utterances.is_enrolled,
        is_tested=utterances.is_tested,
    )


class _UtteranceCounts:
    """Trials of each utterance, of utterances with themselves, and of reversed pairs."""

    def __init__(self, n_utterances: int) -> None:
        self.n_trials = np.zeros(n_utterances, dtype=np.int64)
        self.is_enrolled, self.is_tested = np.zeros((2, n_utterances), dtype=np.bool_)
        self.n_reversed = np.zeros(2, dtype=np.int64)  # nontarget, target
        self.n_self_trials = 0
        self._last_trial: tuple[int, int] | None = None

    def add(self, chunk: Trials) -> None:
        """Count the trials of the next chunk; it must contain at least one.

        Trials come in an order in which a trial and its reverse are neighbours.
        """
        enrol, test = chunk.enrol, chunk.test
        self.n_trials += np.bincount(enrol, minlength=self.n_trials.size)
        self.n_trials += np.bincount(test, minlength=self.n_trials.size)
        self.is_enrolled[enrol] = True
        self.is_tested[test] = True
        is_reverse = (enrol[1:] == test[:-1]) & (test[1:] == enrol[:-1])
        self.n_reversed += np.bincount(chunk.target[1:][is_reverse], minlength=2)
        # the trial before the first of this chunk is the last of the chunk before
        if self._last_trial == (int(test[0]), int(enrol[0])):
            self.n_reversed[int(chunk.target[0])] += 1
        self._last_trial = int(enrol[-1]), int(test[-1])
        is_self_trial = enrol == test
        self.n_self_trials += int(is_self_trial.sum())
        # counted on both sides above, though it is one use
        self.n_trials -= np.bincount(enrol[is_self_trial], minlength=self.n_trials.size)


class _KeyCounts(KeySums):
    """Keys of trials and how often each occurs."""

    def __init__(self, n_speakers: int, n_agreement_codes: int, n_groups: int) -> None:
        self.n_speakers, self.n_groups = n_speakers, n_groups
        super().__init__(sorted_numbers)
        n_keys = max(n_speakers, 1) ** 2 * 3 * n_agreement_codes * n_groups**2
        if math.log2(n_keys) > MAX_KEY_BITS:
            msg = (
                f"{n_speakers:,} speakers and {n_groups - 1:,} groups of recordings or trials "
                "have too many combinations to count"
            )
            hint = "group by fewer values, or by bands of a number"
            raise ConfigError(msg, hint)


def _pair_counts(
    key_counts: _KeyCounts, trial_list: TrialList, agreements: Sequence[Agreement]
) -> SpeakerPairCounts:
    """Return what the keys represent, in the reverse order of how they were put together."""
    key, n_trials = key_counts.total()
    groups = np.full((2, key.size), -1, dtype=np.int32)
    if key_counts.n_groups > 1:
        for side in (1, 0):
            key, code = np.divmod(key, key_counts.n_groups)
            groups[side] = code - 1
    codes = {}
    for agreement in reversed(agreements):
        key, code = np.divmod(key, 3)
        codes[agreement.name] = code - 1
    key, same_recording = np.divmod(key, 3)
    enrol, test = (side.astype(np.int32) for side in np.divmod(key, key_counts.n_speakers))
    agreement_rows = np.empty((len(trial_list.agreements), key.size), dtype=np.int8)
    for row, agreement in enumerate(trial_list.agreements):
        speaker_codes = agreement.speaker_codes
        if speaker_codes is None:
            agreement_rows[row] = codes[agreement.name]
        else:
            agreement_rows[row] = agreement_codes(speaker_codes[enrol], speaker_codes[test])
    return SpeakerPairCounts(
        enrol=enrol,
        test=test,
        same_recording=(same_recording - 1).astype(np.int8),
        agreement=agreement_rows,
        enrol_group=groups[0],
        test_group=groups[1],
        n_trials=n_trials,
    )


def _with_speaker_groups(pair_counts: SpeakerPairCounts, grouping: Grouping) -> SpeakerPairCounts:
    """Return the counts with the groups of their speakers."""
    speaker_groups = grouping.speaker_codes
    assert speaker_groups is not None
    return replace(
        pair_counts,
        enrol_group=speaker_groups[pair_counts.enrol].astype(np.int32),
        test_group=speaker_groups[pair_counts.test].astype(np.int32),
    )


def shares_or_nan(counts: ArrayLike, totals: ArrayLike) -> Floats:
    """Return counts over totals; NaN where a total is 0."""
    numerator, denominator = np.broadcast_arrays(
        np.asarray(counts, dtype=float), np.asarray(totals, dtype=float)
    )
    shares: Floats = np.divide(
        numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0
    )
    return shares


def effective_number(trials: NDArray[np.integer]) -> float:
    """Return the effective number of speakers, (sum n)^2 / sum n^2; 0 of none.

    `trials` contains the number n of trials of each speaker.

    >>> effective_number(np.array([10, 10, 10])), effective_number(np.array([28, 1, 1]))
    (3.0, 1.1450381679389312)
    """
    n_trials = np.asarray(trials, dtype=np.float64)
    sum_of_squares = float((n_trials**2).sum())
    return float(n_trials.sum()) ** 2 / sum_of_squares if sum_of_squares else 0.0


def speakers_by_group(pair_counts: SpeakerPairCounts, n_groups: int) -> Ints:
    """Count the speakers of each group, on either side."""
    groups = np.concatenate((pair_counts.enrol_group, pair_counts.test_group))
    speakers = np.concatenate((pair_counts.enrol, pair_counts.test))
    return distinct_by_group(groups, speakers, n_groups)


def recordings_by_group(group: Codes, recording: Codes, n_groups: int) -> Ints:
    """Count the recordings of each group, or speaker; -1 where not all are known."""
    is_known = recording >= 0
    n_recordings = distinct_by_group(group[is_known], recording[is_known], n_groups)
    n_recordings[np.bincount(group[~is_known], minlength=n_groups) > 0] = -1
    return n_recordings


def distinct_by_group(group: Codes, members: Codes, n_groups: int) -> Ints:
    """Count the distinct members (speakers or recordings) of each group; group -1 is none."""
    n_members = int(members.max(initial=0)) + 1
    keys = group[group >= 0].astype(np.int64) * n_members + members[group >= 0]
    if n_groups * n_members > MAX_MARKED_CELLS:
        return np.bincount(count_distinct(keys)[0] // n_members, minlength=n_groups)
    is_member = np.zeros((n_groups, n_members), dtype=bool)
    is_member.ravel()[keys] = True
    return np.asarray(is_member.sum(axis=1))
