"""What there is to count in a list, added up once: trials by who is compared with whom.

Everything that is said of a list is a sum over its pairs of speakers. There are far fewer of them
than trials, so that checks and tables take no time once these are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.trials.grades import grade_codes
from parivox.trials.lists import alike

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping
    from parivox.trials.lists import TrialList

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Codes = NDArray[np.int32]
    Flags = NDArray[np.int8]

HELD = 4_000_000
"""Keys that are held before they are added up."""
DENSE = 16
"""Keys that there may be for each trial, up to which all of them are counted."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Trials alike in everything that counts, with how many there are; shape (cell,) each.

    Attributes
    ----------
    enrol, test : int32
        Speaker of either side; equal for target trials.
    recording : int8
        Of target trials, whether both sides are of one recording: 1, 0, -1 for unknown.
    shared : int8 of shape (attribute, cell)
        Whether both sides share the value of each attribute that defines difficulty.
    enrol_group, test_group : int32
        -1 for none.
    count : int64
    """

    enrol: Codes
    test: Codes
    recording: Flags
    shared: Flags
    enrol_group: Codes
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

    def take(self, some: NDArray[np.bool_]) -> Cells:
        """Some of the cells."""
        return Cells(
            *(self.enrol[some], self.test[some], self.recording[some], self.shared[:, some]),
            *(self.enrol_group[some], self.test_group[some], self.count[some]),
        )

    def total(self, key: NDArray[np.integer], n: int) -> Ints:
        """Trials by a key from 0 to below `n`; those below 0 are left out."""
        known = key >= 0
        found = np.bincount(key[known], self.count[known], minlength=n)
        return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class ListCounts:
    """Counts of a list.

    Attributes
    ----------
    cells : Cells
        Without groups.
    by : list of Cells
        Likewise for each grouping of the list, with its groups.
    reversed : (int, int)
        Nontarget and target trials whose reverse is in the list, too; one of the two is counted.
    itself : int
        Trials of an utterance with itself.
    uses : int64 ndarray of shape (utterance,)
        Trials that each utterance takes part in.
    """

    cells: Cells
    by: list[Cells]
    reversed: tuple[int, int]
    itself: int
    uses: Ints = field(repr=False)


def count_list(found: TrialList) -> ListCounts:
    """Count the trials of a list, block by block.

    Examples
    --------
    >>> from parivox.trials.lists import read_list
    >>> trials = {"enrol": ["a/x/1", "a/x/1", "a/y/1"], "test": ["a/x/2", "b/y/1", "b/y/1"]}
    >>> counted = count_list(read_list(trials))
    >>> counted.cells.enrol.tolist(), counted.cells.test.tolist(), counted.cells.count.tolist()
    ([0, 0], [0, 1], [1, 2])
    """
    n = len(found.people.ids)
    agree = [one for one in found.agreements if one.of_speaker is None]
    base = _KeyCounts(n, 3 ** len(agree), 1)
    apart = {i: _KeyCounts(n, 3 ** len(agree), len(one.groups) + 1) for i, one in _apart(found)}
    sides = {i: found.groupings[i].on(found.trials) for i in apart}
    tell = [one.on(found.trials) for one in agree]
    speaker = found.trials.utterance_speaker
    uses = np.zeros(speaker.size, dtype=np.int64)
    reversed_, itself = np.zeros(2, dtype=np.int64), 0
    last: tuple[int, int] | None = None
    for block in found.blocks():
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
        key = _key(block, found, speaker, n, tell)
        base.add(key)
        for i, adding in apart.items():
            one, other = sides[i](block)
            width = adding.groups
            adding.add((key * width + one + 1) * width + other + 1)
    cells = _decoded(base, found, agree)
    by = [
        _decoded(apart[i], found, agree) if i in apart else _grouped(cells, one)
        for i, one in enumerate(found.groupings)
    ]
    return ListCounts(cells, by, (int(reversed_[0]), int(reversed_[1])), itself, uses)


def _apart(found: TrialList) -> list[tuple[int, Grouping]]:
    """Groupings of trials or recordings, which the speakers do not determine."""
    return [(i, one) for i, one in enumerate(found.groupings) if one.of_speaker is None]


def _key(
    block: Trials,
    found: TrialList,
    speaker: Codes,
    n: int,
    tell: Sequence[Callable[[Trials], Flags]],
) -> Ints:
    """One number for all that counts of each trial, but groups."""
    key = speaker.take(block.enrol).astype(np.int64)
    key *= n
    key += speaker.take(block.test)
    key *= 3
    recording = found.same_recording(block)
    recording[~block.target] = 0
    key += recording
    key += 1
    for one in tell:
        key *= 3
        key += one(block)
        key += 1
    return key


class _KeyCounts:
    """Keys and how often they occur."""

    def __init__(self, speakers: int, shared: int, groups: int) -> None:
        self.speakers, self.shared, self.groups = speakers, shared, groups
        self._space = max(speakers, 1) ** 2 * 3 * shared * groups**2
        if math.log2(self._space) > 62:
            msg = (
                f"{speakers:,} speakers and {groups - 1:,} groups that are not of speakers make "
                "too many combinations to count; group by fewer values, or by bands of a number"
            )
            raise ConfigError(msg)
        self._found = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)
        self._held: list[Ints] = []

    def add(self, keys: Ints) -> None:
        """Add trials."""
        self._held.append(keys)
        if sum(map(len, self._held)) > HELD:
            self.total()

    def total(self) -> tuple[Ints, Ints]:
        """Every key and how often it occurs."""
        if self._held:
            found, counts = self._counted(np.concatenate(self._held))
            self._held = []
            if self._found.size:
                keys, counts = (
                    np.concatenate(both) for both in ((self._found, found), (self._counts, counts))
                )
                order = np.argsort(keys, kind="stable")
                keys = keys[order]
                first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
                found, counts = keys[first], np.add.reduceat(counts[order], first)
            self._found, self._counts = found, counts
        return self._found, self._counts

    def _counted(self, keys: Ints) -> tuple[Ints, Ints]:
        if self._space > DENSE * keys.size:
            return np.unique(keys, return_counts=True)
        every = np.bincount(keys)  # quicker than to sort them, where so few differ
        found = np.flatnonzero(every)
        return found, every[found]


def _decoded(adding: _KeyCounts, found: TrialList, agree: Sequence[object]) -> Cells:
    """What the keys stand for."""
    key, count = adding.total()
    group = np.full((2, key.size), -1, dtype=np.int32)
    if adding.groups > 1:
        for side in (1, 0):
            key, code = np.divmod(key, adding.groups)
            group[side] = code - 1
    told = {}
    for one in reversed(agree):
        key, code = np.divmod(key, 3)
        told[id(one)] = code - 1
    key, recording = np.divmod(key, 3)
    enrol, test = (side.astype(np.int32) for side in np.divmod(key, adding.speakers))
    shared = np.empty((len(found.agreements), key.size), dtype=np.int8)
    for i, one in enumerate(found.agreements):
        of = one.of_speaker
        shared[i] = told[id(one)] if of is None else alike(of[enrol], of[test])
    return Cells(enrol, test, (recording - 1).astype(np.int8), shared, group[0], group[1], count)


def _grouped(cells: Cells, grouping: Grouping) -> Cells:
    """Cells with the groups of their speakers."""
    of = grouping.of_speaker
    assert of is not None
    one, other = (of[side].astype(np.int32) for side in (cells.enrol, cells.test))
    return Cells(cells.enrol, cells.test, cells.recording, cells.shared, one, other, cells.count)


MOST = 10_000_000
"""Groups times speakers that are marked in a table; of more, pairs are sorted."""


@dataclass(frozen=True, eq=False)
class SpeakerCounts:
    """Speakers who take part, and in how much; shape (speaker,) each.

    Attributes
    ----------
    speaker : int64
        Index into the table of speakers.
    target, nontarget : int64
        Trials that they enrol in.
    tested : int64
        Nontarget trials that they are the test side of.
    """

    speaker: Ints
    target: Ints
    nontarget: Ints
    tested: Ints
    _found: TrialList = field(repr=False)
    _counted: ListCounts = field(repr=False)

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
        cells = self._counted.cells.take(~self._counted.cells.target)
        one, other = cells.enrol.astype(np.int64), cells.test.astype(np.int64)
        n = len(self._found.people.ids)
        both = np.unique(np.concatenate((one * n + other, other * n + one)))
        return np.bincount(both // n, minlength=n)[self.speaker]

    @property
    def utterances(self) -> Ints:
        """Their utterances in the list."""
        used = self._counted.uses > 0
        speaker = self._found.trials.utterance_speaker[used]
        return np.bincount(speaker, minlength=len(self._found.people.ids))[self.speaker]

    @cached_property
    def recordings(self) -> Ints:
        """Their recordings in the list; -1 where not all are known."""
        used, n = self._counted.uses > 0, len(self._found.people.ids)
        speaker, recording = self._found.trials.utterance_speaker[used], self._found.recording[used]
        found = distinct_by_group(speaker[recording >= 0], recording[recording >= 0], n)
        found[np.bincount(speaker[recording < 0], minlength=n) > 0] = -1
        return found[self.speaker]


def count_speakers(found: TrialList, counted: ListCounts) -> SpeakerCounts:
    """Count what each speaker takes part in."""
    n, cells = len(found.people.ids), counted.cells
    target, other = cells.take(cells.target), cells.take(~cells.target)
    sides = (target, target.enrol), (other, other.enrol), (other, other.test)
    mine, enrolled, tested = (of.total(side, n) for of, side in sides)
    there = np.flatnonzero(mine + enrolled + tested)
    return SpeakerCounts(there, mine[there], enrolled[there], tested[there], found, counted)


def share_of(part: ArrayLike, whole: ArrayLike) -> Floats:
    """Parts over wholes; NaN where a whole is 0."""
    one, other = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    found: Floats = np.divide(one, other, out=np.full(one.shape, np.nan), where=other > 0)
    return found


def effective_number(trials: NDArray[np.integer]) -> float:
    """Effective number of speakers, (sum n)^2 / sum n^2 over their numbers of trials.

    Examples
    --------
    >>> effective_number(np.array([10, 10, 10])), effective_number(np.array([28, 1, 1]))
    (3.0, 1.1450381679389312)
    """
    each = np.asarray(trials, dtype=np.float64)
    square = float((each**2).sum())
    return float(each.sum()) ** 2 / square if square else 0.0


def speakers_by_group(cells: Cells, k: int) -> Ints:
    """Speakers of each of `k` groups, on either side."""
    group, speaker = (
        np.concatenate(one)
        for one in ((cells.enrol_group, cells.test_group), (cells.enrol, cells.test))
    )
    return distinct_by_group(group, speaker, k)


def distinct_by_group(group: NDArray[np.int32], who: NDArray[np.int32], k: int) -> Ints:
    """Distinct speakers, or recordings, of each of `k` groups; -1 is none."""
    width = int(who.max(initial=0)) + 1
    key = group[group >= 0].astype(np.int64) * width + who[group >= 0]
    if k * width > MOST:
        return np.bincount(np.unique(key) // width, minlength=k)
    there = np.zeros((k, width), dtype=bool)
    there.ravel()[key] = True
    return np.asarray(there.sum(axis=1))
