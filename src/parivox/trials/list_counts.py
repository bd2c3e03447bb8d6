"""What there is to count in a list, added up once: trials by who is compared with whom.

Everything that is said of a list is a sum over its pairs of speakers. There are far fewer of them
than trials, so that checks and tables take no time once these are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import CodeSums, count_distinct, sum_by_code
from parivox.errors import ConfigError
from parivox.trials.grades import grade_codes
from parivox.trials.lists import agreement_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.grouping import Grouping
    from parivox.trials.lists import Agreement, TrialList

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Codes = NDArray[np.int32]
    Flags = NDArray[np.int8]

MAX_MARKED_CELLS = 10_000_000
"""Groups times speakers that are marked in a table; of more, pairs are sorted, which is slower."""


@dataclass(frozen=True, eq=False)
class SpeakerPairCounts:
    """Trials alike in everything that counts, with how many there are; shape (cell,) each."""

    enrol: Codes  # speaker of either side; equal for target trials
    test: Codes
    recording: Flags  # of target trials, whether both sides are of one recording: 1, 0, -1 unknown
    shared: Flags  # [attribute, cell]: whether both sides share each that defines difficulty
    enrol_group: Codes  # -1 for none
    test_group: Codes
    count: Ints

    @property
    def target(self) -> NDArray[np.bool_]:
        """Whether they are trials of one speaker."""
        return np.asarray(self.enrol == self.test)

    @property
    def grade(self) -> Flags:
        """How difficult they are, 0 where it is not known."""
        return grade_codes(self.target, self.recording, self.shared)

    def take(self, some: NDArray[np.bool_]) -> SpeakerPairCounts:
        """Some of the cells."""
        return SpeakerPairCounts(
            *(self.enrol[some], self.test[some], self.recording[some], self.shared[:, some]),
            *(self.enrol_group[some], self.test_group[some], self.count[some]),
        )

    def total(self, key: NDArray[np.integer], n: int) -> Ints:
        """Trials by a key from 0 to below `n`; those below 0 are left out."""
        known = np.flatnonzero(key >= 0)
        return np.bincount(key.take(known), self.count.take(known), minlength=n).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ListCounts:
    """Counts of a list."""

    trial_list: TrialList
    cells: SpeakerPairCounts  # without groups
    with_own_groups: Mapping[int, SpeakerPairCounts]
    """Likewise with the groups of trials or recordings, by the place of the grouping."""
    reversed: tuple[int, int]
    """Nontarget and target trials whose reverse is in the list, too; one of the two is counted."""
    itself: int  # trials of an utterance with itself
    uses: Ints  # trials that each utterance takes part in

    @property
    def by(self) -> Iterator[SpeakerPairCounts]:
        """The cells with the groups of each grouping of the list, made one after the other."""
        for i, grouping in enumerate(self.trial_list.groupings):
            own = self.with_own_groups.get(i)
            yield _grouped(self.cells, grouping) if own is None else own

    @cached_property
    def speakers(self) -> TrialsPerSpeaker:
        """What each speaker takes part in."""
        n, cells = len(self.trial_list.people.ids), self.cells
        target, other = cells.take(cells.target), cells.take(~cells.target)
        sides = (target, target.enrol), (other, other.enrol), (other, other.test)
        own, enrolled, tested = (of.total(side, n) for of, side in sides)
        there = np.flatnonzero(own + enrolled + tested)
        return TrialsPerSpeaker(self, there, own[there], enrolled[there], tested[there])


@dataclass(frozen=True, eq=False)
class TrialsPerSpeaker:
    """Speakers who take part, and in how much; shape (speaker,) each."""

    counts: ListCounts
    speaker: Ints  # index into the table of speakers
    target: Ints  # trials that they enrol in
    nontarget: Ints
    tested: Ints  # nontarget trials that they are the test side of

    @property
    def enrolled(self) -> Ints:
        """Trials that they enrol in."""
        return self.target + self.nontarget

    @property
    def as_test(self) -> Ints:
        """Trials that they are the test side of."""
        return self.target + self.tested

    @property
    def part(self) -> Ints:
        """Trials that they take part in, on one side or both."""
        return self.target + self.nontarget + self.tested

    @cached_property
    def partners(self) -> Ints:
        """Other speakers whom they are compared with."""
        cells = self.counts.cells.take(~self.counts.cells.target)
        one, other = cells.enrol.astype(np.int64), cells.test.astype(np.int64)
        n = len(self.counts.trial_list.people.ids)
        both, _ = sum_by_code(np.concatenate((one * n + other, other * n + one)), n * n)
        return np.bincount(both // n, minlength=n)[self.speaker]

    @property
    def utterances(self) -> Ints:
        """Their utterances in the list."""
        trial_list = self.counts.trial_list
        speaker = trial_list.trials.utterance_speaker[self.counts.uses > 0]
        return np.bincount(speaker, minlength=len(trial_list.people.ids))[self.speaker]

    @cached_property
    def recordings(self) -> Ints:
        """Their recordings in the list; -1 where not all are known."""
        trial_list, used = self.counts.trial_list, self.counts.uses > 0
        speaker = trial_list.trials.utterance_speaker[used]
        n = len(trial_list.people.ids)
        return recordings_by_group(speaker, trial_list.recording[used], n)[self.speaker]


def count_list(trial_list: TrialList) -> ListCounts:
    """Count the trials of a list, block by block.

    >>> from parivox.trials.lists import read_list
    >>> trials = {"enrol": ["a/x/1", "a/x/1", "a/y/1"], "test": ["a/x/2", "b/y/1", "b/y/1"]}
    >>> cells = count_list(read_list(trials)).cells
    >>> cells.enrol.tolist(), cells.test.tolist(), cells.count.tolist()
    ([0, 0], [0, 1], [1, 2])
    """
    n = len(trial_list.people.ids)
    agreements = [one for one in trial_list.agreements if one.of_speaker is None]
    shared = [one.on(trial_list.trials) for one in agreements]
    base = _KeyCounts(n, 3 ** len(agreements), 1)
    # groupings of trials or recordings, which the speakers do not determine
    apart = {
        i: (_KeyCounts(n, 3 ** len(agreements), len(one.groups) + 1), one.on(trial_list.trials))
        for i, one in enumerate(trial_list.groupings)
        if one.of_speaker is None
    }
    speaker = trial_list.trials.utterance_speaker
    uses = np.zeros(speaker.size, dtype=np.int64)
    reversed_, itself = np.zeros(2, dtype=np.int64), 0
    last: tuple[int, int] | None = None
    for block in trial_list.blocks():
        if not len(block):
            continue
        enrol, test = block.enrol, block.test
        uses += np.bincount(enrol, minlength=uses.size)
        uses += np.bincount(test, minlength=uses.size)
        back = (enrol[1:] == test[:-1]) & (test[1:] == enrol[:-1])
        reversed_ += np.bincount(block.target[1:][back], minlength=2)
        reversed_[int(block.target[0])] += last == (int(test[0]), int(enrol[0]))
        last = int(enrol[-1]), int(test[-1])
        own = enrol == test
        itself += int(own.sum())
        uses -= np.bincount(enrol[own], minlength=uses.size)
        # one number for all that counts of each trial, but groups
        key = speaker.take(enrol).astype(np.int64) * n + speaker.take(test)
        recording = np.where(block.target, trial_list.same_recording(block), 0)
        for flags in (recording, *(one(block) for one in shared)):
            key *= 3
            key += flags
            key += 1
        base.add(key)
        for adding, sides in apart.values():
            one, other = sides(block)
            adding.add((key * adding.groups + one + 1) * adding.groups + other + 1)
    cells = _decoded(base, trial_list, agreements)
    with_own_groups = {i: _decoded(one, trial_list, agreements) for i, (one, _) in apart.items()}
    return ListCounts(
        trial_list, cells, with_own_groups, (int(reversed_[0]), int(reversed_[1])), itself, uses
    )


class _KeyCounts(CodeSums):
    """Keys and how often they occur."""

    def __init__(self, speakers: int, shared: int, groups: int) -> None:
        self.speakers, self.groups = speakers, groups
        super().__init__(max(speakers, 1) ** 2 * 3 * shared * groups**2)
        if math.log2(self.size) > 62:
            msg = (
                f"{speakers:,} speakers and {groups - 1:,} groups that are not of speakers make "
                "too many combinations to count; group by fewer values, or by bands of a number"
            )
            raise ConfigError(msg)


def _decoded(
    adding: _KeyCounts, trial_list: TrialList, agreements: Sequence[Agreement]
) -> SpeakerPairCounts:
    """What the keys stand for."""
    key, count = adding.total()
    group = np.full((2, key.size), -1, dtype=np.int32)
    if adding.groups > 1:
        for side in (1, 0):
            key, code = np.divmod(key, adding.groups)
            group[side] = code - 1
    flags = {}
    for one in reversed(agreements):
        key, code = np.divmod(key, 3)
        flags[one.name] = code - 1
    key, recording = np.divmod(key, 3)
    enrol, test = (side.astype(np.int32) for side in np.divmod(key, adding.speakers))
    shared = np.empty((len(trial_list.agreements), key.size), dtype=np.int8)
    for i, one in enumerate(trial_list.agreements):
        of = one.of_speaker
        shared[i] = flags[one.name] if of is None else agreement_codes(of[enrol], of[test])
    return SpeakerPairCounts(
        enrol, test, (recording - 1).astype(np.int8), shared, group[0], group[1], count
    )


def _grouped(cells: SpeakerPairCounts, grouping: Grouping) -> SpeakerPairCounts:
    """Cells with the groups of their speakers."""
    of = grouping.of_speaker
    assert of is not None
    one, other = (of[side].astype(np.int32) for side in (cells.enrol, cells.test))
    return replace(cells, enrol_group=one, test_group=other)


def shares_or_nan(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Parts over wholes; NaN where a whole is 0."""
    one, other = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    share: Floats = np.divide(one, other, out=np.full(one.shape, np.nan), where=other > 0)
    return share


def effective_number(trials: NDArray[np.integer]) -> float:
    """Effective number of speakers, (sum n)^2 / sum n^2 over their numbers of trials; 0 of none.

    >>> effective_number(np.array([10, 10, 10])), effective_number(np.array([28, 1, 1]))
    (3.0, 1.1450381679389312)
    """
    each = np.asarray(trials, dtype=np.float64)
    square = float((each**2).sum())
    return float(each.sum()) ** 2 / square if square else 0.0


def speakers_by_group(cells: SpeakerPairCounts, k: int) -> Ints:
    """Speakers of each of `k` groups, on either side."""
    group = np.concatenate((cells.enrol_group, cells.test_group))
    return distinct_by_group(group, np.concatenate((cells.enrol, cells.test)), k)


def recordings_by_group(group: Codes, recording: Codes, k: int) -> Ints:
    """Recordings of each of `k` groups, or speakers; -1 where not all are known."""
    known = recording >= 0
    count_distinct = distinct_by_group(group[known], recording[known], k)
    count_distinct[np.bincount(group[~known], minlength=k) > 0] = -1
    return count_distinct


def distinct_by_group(group: Codes, who: Codes, k: int) -> Ints:
    """Distinct speakers, or recordings, of each of `k` groups; -1 is none."""
    width = int(who.max(initial=0)) + 1
    key = group[group >= 0].astype(np.int64) * width + who[group >= 0]
    if k * width > MAX_MARKED_CELLS:
        return np.bincount(count_distinct(key)[0] // width, minlength=k)
    there = np.zeros((k, width), dtype=bool)
    there.ravel()[key] = True
    return np.asarray(there.sum(axis=1))
