"""Pairs of utterances by their number, and who meets whom: nothing is enumerated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.trials.grades import OTHER_RECORDING, TRIVIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]

_ROUNDS = 32


class NumberedPairs(NamedTuple):
    """Unordered pairs in a row: utterance a with each utterance from `first[a]` to `last[a]`.

    >>> pairs = NumberedPairs(np.array([1, 2, 3]), np.array([3, 3, 3]))
    >>> pairs.total, [side.tolist() for side in pairs.at(np.array([0, 1, 2]))]
    (3, [[0, 2, 1], [1, 0, 2]])
    """

    first: Ints  # of each utterance
    last: Ints  # of each utterance; not included

    @property
    def ends(self) -> Ints:
        """Number after the last pair of each utterance."""
        return np.cumsum(self.last - self.first)

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return int((self.last - self.first).sum())

    def within(self, start: Ints) -> Ints:
        """How many pairs begin with the utterances of each block, given where blocks start."""
        ends = np.concatenate(([0], self.ends))
        return np.diff(ends[start])

    def at(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Enrolment and test utterance of pairs by their rising numbers.

        Odd numbers have the later utterance first, so that either is on both sides.
        """
        ends = self.ends
        counts = np.diff(np.searchsorted(numbers, ends), prepend=0)
        a = np.repeat(np.arange(ends.size), counts)
        b = self.last[a] - (ends[a] - numbers)
        odd = (numbers & 1).astype(bool)
        return np.where(odd, b, a), np.where(odd, a, b)


def target_pairs(start: Ints, recording_end: Ints, grade: int = OTHER_RECORDING) -> NumberedPairs:
    """Target pairs of each speaker, within a recording (grade 1) or across two (grade 3).

    Utterances of a speaker stand together, those of a recording too: `start` tells where those of
    each speaker begin and, last, end; `recording_end` where those of each utterance's recording do.

    >>> target_pairs(np.array([0, 3]), np.array([2, 2, 3])).total
    2
    """
    if grade == TRIVIAL:
        return NumberedPairs(np.arange(1, recording_end.size + 1), recording_end)
    return NumberedPairs(recording_end, np.repeat(start[1:], np.diff(start)))


def meet(a: int, b: int, m: int) -> tuple[Ints, Ints]:
    """Let m times one of a speakers meet one of b others, everybody equally often: who meets whom.

    Counts of each side, and of pairs, differ by one at most, the first of either side having one
    more; any a (or b) meetings in a row that begin at a multiple of a (or b) have everybody of that
    side once.

    >>> [one.tolist() for one in meet(2, 4, 8)]
    [[0, 1, 0, 1, 0, 1, 0, 1], [3, 0, 1, 2, 0, 1, 2, 3]]
    """
    t, each = np.arange(m), np.lcm(a, b)
    return t % a, (t + t // each - (m - 1) // each) % b


def meet_each_other(a: int, m: int) -> tuple[Ints, Ints]:
    """Let speakers of one group meet m times, nobody himself, everybody equally often.

    As `meet`; both directions of a pair come up equally often, or one once more. No two
    meet more than k times in k * a * (a - 1) / 2 meetings, in both directions together.

    >>> [one.tolist() for one in meet_each_other(3, 6)]
    [[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]]
    """
    t = np.arange(m)
    i = t % a
    return i, (i + 1 + (t // a) % (a - 1)) % a


def meet_back(a: int, b: int, m: int, before: int) -> tuple[Ints, Ints]:
    """Let them meet m times more: after as many in `meet`, no two sooner than all others.

    Everybody again meets equally often.

    >>> pairs = [*zip(*meet(2, 3, 3)), *zip(*meet_back(2, 3, 3, before=3))]
    >>> len(set(pairs))
    6
    """
    each, cycles = np.lcm(a, b), -(-(before + m) // (a * b))
    t = cycles * a * b - 1 - np.arange(m)
    return t % a, (t + t // each - (before - 1) // each) % b


class Meetings(NamedTuple):
    """Which speaker's utterance is compared with which other speaker's; shape (meeting,) each."""

    enrol: Ints  # the speaker
    test: Ints  # the other speaker
    turn: Ints  # how often the speaker of the test side has been there before


def utterances_of(meetings: Meetings, start: Ints, draws: Draws) -> tuple[Ints, Ints]:
    """Choose the enrolment and test utterances of meetings: no pair twice, in either order.

    Each speaker's utterances take turns on the test side, in random order; those on the enrolment
    side are drawn. Where a pair comes up twice, another enrolment utterance is drawn; where the
    test utterance has met all of them, both are. No two speakers may meet more often than they
    have pairs of utterances. `start` is as `target_pairs` has it; streams 0 and 1 of `draws`
    are used, and children.
    """
    sizes = np.diff(start)
    n, present = int(start[-1]), np.unique(meetings.test)
    own = sizes[present]
    base = np.zeros(sizes.size, dtype=np.int64)
    base[present] = np.cumsum(own) - own
    order = np.lexsort((draws.words([0], [int(own.sum())]), np.repeat(np.arange(own.size), own)))
    size, first = sizes[meetings.test], base[meetings.test]
    lap, place = np.divmod(meetings.turn, size)
    place = (place + lap * (lap + 1) // 2) % size  # each lap from elsewhere: other partners
    test = start[meetings.test] + order[first + place] - first
    words = draws.words([1], [meetings.enrol.size])
    enrol = start[meetings.enrol] + numbers_below(sizes[meetings.enrol], words)
    taken, again = without_repeats(keys_of(enrol, test, n))
    for round_ in range(_ROUNDS):
        if not again.size:
            return enrol, test
        i, words = meetings.enrol[again], draws.child(2).words([round_], [again.size])
        enrol[again] = start[i] + numbers_below(sizes[i], words)
        taken, left = without_repeats(keys_of(enrol[again], test[again], n), taken)
        again = again[left]
    words = draws.child(3).words([0], [again.size])
    for at, word in zip(again, words[:, None], strict=True):
        i, j = meetings.enrol[at], meetings.test[at]
        u, v = np.arange(start[i], start[i + 1]), np.arange(start[j], start[j + 1])
        free = u[~is_among(keys_of(u, np.full(u.size, test[at]), n), taken)]
        if not free.size:  # another test utterance
            row, of = (one.ravel() for one in np.meshgrid(u, v))
            is_free = ~is_among(keys_of(row, of, n), taken)
            which = numbers_below(int(is_free.sum()), word)[0]
            free, test[at] = row[is_free][which : which + 1], of[is_free][which]
        enrol[at] = free[numbers_below(free.size, word)[0]]
        taken, _ = without_repeats(keys_of(enrol[at : at + 1], test[at : at + 1], n), taken)
    return enrol, test


def keys_of(enrol: Ints, test: Ints, n: int) -> Ints:
    """One number for each pair of n utterances, whatever its order."""
    return np.minimum(enrol, test) * n + np.maximum(enrol, test)


def without_repeats(keys: Ints, taken: Ints | None = None) -> tuple[Ints, Ints]:
    """Take each key once: all that are taken then, rising, and the places of those that were.

    >>> [one.tolist() for one in without_repeats(np.array([5, 3, 5, 4]), np.array([4]))]
    [[3, 4, 5], [2, 3]]
    """
    rising = np.sort(keys)
    is_new = np.concatenate(([True], rising[1:] != rising[:-1]))[: rising.size]
    twice = np.unique(rising[~is_new])
    again = np.zeros(keys.size, dtype=bool)
    if twice.size:
        odd = np.flatnonzero(is_among(keys, twice))
        order = odd[np.argsort(keys[odd], kind="stable")]
        again[order[1:][keys[order][1:] == keys[order][:-1]]] = True
    fresh = rising[is_new]
    if taken is not None:
        again |= is_among(keys, taken)
        fresh = np.concatenate([taken, fresh[~is_among(fresh, taken)]])
        fresh.sort(kind="stable")  # which merges what is rising
    return fresh, np.flatnonzero(again)


AGAIN = 1 << 40
"""Key of the streams for what is drawn again; no speaker or cell has so high a key."""


@dataclass(frozen=True)
class Draws:
    """Streams of random words, one for each key: children of a seed, as spawning makes them.

    The path holds the keys of the children that lead here.

    >>> Draws(1).child(2).words([0, 1], [2, 1]).tolist() == [
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 0))).random_raw(2).tolist(),
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 1))).random_raw(1).tolist(),
    ... ]
    True
    """

    seed: int
    path: tuple[int, ...] = ()

    def child(self, key: int) -> Draws:
        """Streams of their own."""
        return Draws(self.seed, (*self.path, key))

    def words(self, keys: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Words:
        """The first words of the stream of each key, one stream after the other."""
        made = [
            np.random.PCG64(
                np.random.SeedSequence(self.seed, spawn_key=(*self.path, key))
            ).random_raw(count)
            for key, count in zip(map(int, keys), map(int, counts), strict=True)
            if count
        ]
        return np.concatenate(made) if made else np.empty(0, dtype=np.uint64)

    def distinct(
        self, population: Ints, wanted: Ints, keys: Sequence[int] | Ints | None = None
    ) -> Ints:
        """Draw `wanted` numbers of each `population` without replacement, and without enumeration.

        Numbers rise, those of a range following on those of the range before; a range has less
        than 2**53. The stream of each range is by default its place.

        >>> Draws(0).distinct(np.array([3, 10**15]), np.array([3, 0])).tolist()
        [0, 1, 2]
        """
        own = np.arange(population.size) if keys is None else np.asarray(keys)
        ends = np.cumsum(population)
        starts = ends - population
        dense = []
        is_dense = 2 * wanted > population
        for at in np.flatnonzero(is_dense & (wanted > 0)):  # as many words as numbers, or fewer
            n = int(population[at])
            order = np.argsort(self.words(own[at : at + 1], [n]), kind="stable")
            dense.append(starts[at] + np.sort(order[: wanted[at]]))
        missing = np.where(is_dense, 0, wanted)
        words = self.words(own, missing)
        again = self.child(AGAIN)
        sparse: list[Ints] = []
        while missing.any():
            each = np.repeat(np.arange(own.size), missing)
            fresh, _ = without_repeats(starts[each] + numbers_below(population[each], words))
            for before in sparse:
                fresh = fresh[~is_among(fresh, before)]
            sparse.append(fresh)
            missing = missing - np.searchsorted(fresh, ends) + np.searchsorted(fresh, starts)
            words = again.words([len(sparse)], [int(missing.sum())])
        if not (dense or sparse):
            return starts[:0]
        return np.sort(np.concatenate([*dense, *sparse]), kind="stable")  # merges what is rising


def numbers_below(n: Ints | int, words: Words) -> Ints:
    """Numbers from 0 to n - 1, one a word; n less than 2**53.

    >>> numbers_below(10, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 5, 9]
    """
    unit = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (unit * n).astype(np.int64)


def numbers_within(counts: Ints) -> Ints:
    """Number each item within its block: 0, 1, ... for each count.

    >>> numbers_within(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)


def is_among(some: Ints, rising: Ints) -> NDArray[np.bool_]:
    """Which of some numbers are among rising ones."""
    if not rising.size:
        return np.zeros(some.size, dtype=bool)
    at = np.minimum(np.searchsorted(rising, some), rising.size - 1)
    return np.asarray(rising[at] == some)
