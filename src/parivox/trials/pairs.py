"""Number pairs of utterances, and let speakers meet equally often, without enumerating anything.

Builders of lists draw from pools whose pairs would not fit in memory. So a pair is a number, whose
utterances are worked out when it is drawn, and who meets whom follows from arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.data.lists.grades import OTHER_RECORDING, TRIVIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]

_MAX_ROUNDS = 32
"""How often all repeated pairs are drawn again before free ones are looked for one by one."""


class NumberedPairs(NamedTuple):
    """Unordered pairs in a row: each utterance with a range of later ones.

    Utterance a is paired with those from `first_partner[a]` to before `partner_end[a]`.

    >>> pairs = NumberedPairs(np.array([1, 2, 3]), np.array([3, 3, 3]))
    >>> pairs.n_pairs, [side.tolist() for side in pairs.utterances_at(np.array([0, 1, 2]))]
    (3, [[0, 2, 1], [1, 0, 2]])
    """

    first_partner: Ints  # of each utterance
    partner_end: Ints  # of each utterance; not included

    @property
    def ends(self) -> Ints:
        """Number after the last pair of each utterance."""
        return np.cumsum(self.partner_end - self.first_partner)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return int((self.partner_end - self.first_partner).sum())

    def count_by_speaker(self, starts: Ints) -> Ints:
        """Count the pairs that begin with the utterances of each speaker.

        `starts` says where the utterances of each speaker begin and, last, end.
        """
        ends = np.concatenate(([0], self.ends))
        return np.diff(ends[starts])

    def utterances_at(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return enrolment and test utterances of pairs by their rising numbers.

        Odd numbers have the later utterance first, so that utterances are on both sides.
        """
        ends = self.ends
        counts = np.diff(np.searchsorted(numbers, ends), prepend=0)
        earlier = np.repeat(np.arange(ends.size), counts)
        later = self.partner_end[earlier] - (ends[earlier] - numbers)
        is_odd = (numbers & 1).astype(bool)
        return np.where(is_odd, later, earlier), np.where(is_odd, earlier, later)


def target_pairs(starts: Ints, recording_ends: Ints, grade: int = OTHER_RECORDING) -> NumberedPairs:
    """Return target pairs of each speaker, within a recording (grade 1) or across two (grade 3).

    Utterances of a speaker stand together, those of a recording too: `starts` says where those of
    each speaker begin and, last, end; `recording_ends` where those of each utterance's recording
    do.

    >>> target_pairs(np.array([0, 3]), np.array([2, 2, 3])).n_pairs
    2
    """
    if grade == TRIVIAL:
        return NumberedPairs(np.arange(1, recording_ends.size + 1), recording_ends)
    return NumberedPairs(recording_ends, np.repeat(starts[1:], np.diff(starts)))


def meet(n_enrol: int, n_test: int, n_meetings: int) -> tuple[Ints, Ints]:
    """Let speakers of two sets meet, everybody equally often; return who meets whom.

    Counts of each side, and of pairs, differ by one at most, the first of either side having one
    more. Any `n_enrol` (or `n_test`) meetings in a row that begin at a multiple of that number have
    everybody of that side once.

    >>> [side.tolist() for side in meet(2, 4, 8)]
    [[0, 1, 0, 1, 0, 1, 0, 1], [3, 0, 1, 2, 0, 1, 2, 3]]
    """
    meeting, cycle = np.arange(n_meetings), np.lcm(n_enrol, n_test)
    # after a cycle, the same pairs would come again: one side moves on by one speaker
    shift = meeting // cycle - (n_meetings - 1) // cycle
    return meeting % n_enrol, (meeting + shift) % n_test


def meet_each_other(n_speakers: int, n_meetings: int) -> tuple[Ints, Ints]:
    """Let speakers of one set meet, nobody himself, everybody equally often.

    As `meet`; both directions of a pair come up equally often, or one once more. No two of a
    speakers meet more than k times in k * a * (a - 1) / 2 meetings, in both directions together.

    >>> [side.tolist() for side in meet_each_other(3, 6)]
    [[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]]
    """
    meeting = np.arange(n_meetings)
    enrol = meeting % n_speakers
    distance = 1 + (meeting // n_speakers) % (n_speakers - 1)
    return enrol, (enrol + distance) % n_speakers


def meet_back(n_enrol: int, n_test: int, n_meetings: int, n_before: int) -> tuple[Ints, Ints]:
    """Let them meet again, after `n_before` meetings by `meet`: no two sooner than all others.

    Everybody again meets equally often.

    >>> pairs = [*zip(*meet(2, 3, 3)), *zip(*meet_back(2, 3, 3, n_before=3))]
    >>> len(set(pairs))
    6
    """
    cycle, n_all_pairs = np.lcm(n_enrol, n_test), n_enrol * n_test
    n_rounds = -(-(n_before + n_meetings) // n_all_pairs)
    # counted back from the end of the last full round, where the pairs are that come last in `meet`
    meeting = n_rounds * n_all_pairs - 1 - np.arange(n_meetings)
    shift = meeting // cycle - (n_before - 1) // cycle
    return meeting % n_enrol, (meeting + shift) % n_test


class Meetings(NamedTuple):
    """Which speaker's utterance is compared with which other speaker's; shape (meeting,) each."""

    enrol_speaker: Ints  # the speaker
    test_speaker: Ints  # the other speaker
    n_earlier_tests: Ints  # how often the speaker of the test side has been there before


def meeting_utterances(meetings: Meetings, starts: Ints, draws: RandomStreams) -> tuple[Ints, Ints]:
    """Choose the enrolment and test utterances of meetings: no pair twice, in either order.

    Each speaker's utterances take turns on the test side, in random order; those on the enrolment
    side are drawn. Where a pair comes up twice, another enrolment utterance is drawn; where the
    test utterance has met all of them, both are. No two speakers may meet more often than they
    have pairs of utterances. `starts` is as `target_pairs` has it; streams 0 and 1 of `draws`
    are used, and children.
    """
    n_utterances = np.diff(starts)
    n_ids = int(starts[-1])
    test = _test_utterances(meetings, starts, draws)
    words = draws.words([1], [meetings.enrol_speaker.size])
    speaker = meetings.enrol_speaker
    enrol = starts[speaker] + numbers_below(n_utterances[speaker], words)
    used_keys, repeats = without_repeats(pair_keys(enrol, test, n_ids))
    for round_number in range(_MAX_ROUNDS):
        if not repeats.size:
            return enrol, test
        speaker = meetings.enrol_speaker[repeats]
        words = draws.child(2).words([round_number], [repeats.size])
        enrol[repeats] = starts[speaker] + numbers_below(n_utterances[speaker], words)
        keys = pair_keys(enrol[repeats], test[repeats], n_ids)
        used_keys, still_repeated = without_repeats(keys, used_keys)
        repeats = repeats[still_repeated]
    # whatever is left is looked for among the pairs that are free, one meeting after the other
    words = draws.child(3).words([0], [repeats.size])
    for meeting, word in zip(repeats, words[:, None], strict=True):
        enrol_speaker, test_speaker = (
            meetings.enrol_speaker[meeting],
            meetings.test_speaker[meeting],
        )
        enrol_ids = np.arange(starts[enrol_speaker], starts[enrol_speaker + 1])
        test_ids = np.arange(starts[test_speaker], starts[test_speaker + 1])
        keys = pair_keys(enrol_ids, np.full(enrol_ids.size, test[meeting]), n_ids)
        free_ids = enrol_ids[~is_among(keys, used_keys)]
        if not free_ids.size:  # another test utterance
            enrol_grid, test_grid = (grid.ravel() for grid in np.meshgrid(enrol_ids, test_ids))
            is_free = ~is_among(pair_keys(enrol_grid, test_grid, n_ids), used_keys)
            number = numbers_below(int(is_free.sum()), word)[0]
            free_ids = enrol_grid[is_free][number : number + 1]
            test[meeting] = test_grid[is_free][number]
        enrol[meeting] = free_ids[numbers_below(free_ids.size, word)[0]]
        keys = pair_keys(enrol[meeting : meeting + 1], test[meeting : meeting + 1], n_ids)
        used_keys, _ = without_repeats(keys, used_keys)
    return enrol, test


def _test_utterances(meetings: Meetings, starts: Ints, draws: RandomStreams) -> Ints:
    """Return the test utterance of each meeting: a speaker's take turns, in random order."""
    n_utterances = np.diff(starts)
    tested = np.unique(meetings.test_speaker)
    n_tested = n_utterances[tested]
    first_of_tested = np.zeros(n_utterances.size, dtype=np.int64)
    first_of_tested[tested] = np.cumsum(n_tested) - n_tested
    words = draws.words([0], [int(n_tested.sum())])
    order = np.lexsort((words, np.repeat(np.arange(n_tested.size), n_tested)))
    size, first = n_utterances[meetings.test_speaker], first_of_tested[meetings.test_speaker]
    lap, position = np.divmod(meetings.n_earlier_tests, size)
    # each lap begins elsewhere, or a speaker would always meet the same partners
    position = (position + lap * (lap + 1) // 2) % size
    return np.asarray(starts[meetings.test_speaker] + order[first + position] - first)


def pair_keys(enrol: Ints, test: Ints, n_utterances: int) -> Ints:
    """Return one number for each pair of utterances, whatever its order."""
    return np.minimum(enrol, test) * n_utterances + np.maximum(enrol, test)


def without_repeats(keys: Ints, used_keys: Ints | None = None) -> tuple[Ints, Ints]:
    """Take each key once.

    Returns all keys that are used then, rising, and the positions of those that were used already.

    >>> [array.tolist() for array in without_repeats(np.array([5, 3, 5, 4]), np.array([4]))]
    [[3, 4, 5], [2, 3]]
    """
    rising = np.sort(keys)
    is_new = np.concatenate(([True], rising[1:] != rising[:-1]))[: rising.size]
    repeated_keys = np.unique(rising[~is_new])
    is_repeat = np.zeros(keys.size, dtype=bool)
    if repeated_keys.size:
        positions = np.flatnonzero(is_among(keys, repeated_keys))
        # stable, so that the first of equal keys is the one that is taken
        order = positions[np.argsort(keys[positions], kind="stable")]
        is_repeat[order[1:][keys[order][1:] == keys[order][:-1]]] = True
    new_keys = rising[is_new]
    if used_keys is not None:
        is_repeat |= is_among(keys, used_keys)
        new_keys = np.concatenate([used_keys, new_keys[~is_among(new_keys, used_keys)]])
        new_keys.sort(kind="stable")  # which merges what is rising
    return new_keys, np.flatnonzero(is_repeat)


REDRAW_KEY = 1 << 40
"""Key of the streams for what is drawn again; no speaker or cell has so high a key."""


@dataclass(frozen=True)
class RandomStreams:
    """Streams of random words, one for each key: children of a seed, as spawning makes them.

    The path holds the keys of the children that lead here.

    >>> RandomStreams(1).child(2).words([0, 1], [2, 1]).tolist() == [
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 0))).random_raw(2).tolist(),
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 1))).random_raw(1).tolist(),
    ... ]
    True
    """

    seed: int
    path: tuple[int, ...] = ()

    def child(self, key: int) -> RandomStreams:
        """Streams of their own."""
        return RandomStreams(self.seed, (*self.path, key))

    def words(self, keys: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Words:
        """Return the first words of the stream of each key, one stream after the other."""
        words = [
            np.random.PCG64(
                np.random.SeedSequence(self.seed, spawn_key=(*self.path, key))
            ).random_raw(count)
            for key, count in zip(map(int, keys), map(int, counts), strict=True)
            if count
        ]
        return np.concatenate(words) if words else np.empty(0, dtype=np.uint64)

    def distinct_numbers(
        self, populations: Ints, counts: Ints, keys: Sequence[int] | Ints | None = None
    ) -> Ints:
        """Draw numbers of each population without replacement, and without enumeration.

        `counts` says how many of each of the `populations`. Numbers rise, those of a population
        following on those of the one before; a population has less than 2**53. The stream of each
        is by default its position.

        >>> RandomStreams(0).distinct_numbers(np.array([3, 10**15]), np.array([3, 0])).tolist()
        [0, 1, 2]
        """
        stream_keys = np.arange(populations.size) if keys is None else np.asarray(keys)
        ends = np.cumsum(populations)
        starts = ends - populations
        # where more than half are drawn, sorting all takes as many words as numbers, or fewer
        dense = []
        is_dense = 2 * counts > populations
        for position in np.flatnonzero(is_dense & (counts > 0)):
            words = self.words(stream_keys[position : position + 1], [int(populations[position])])
            order = np.argsort(words, kind="stable")
            dense.append(starts[position] + np.sort(order[: counts[position]]))
        n_missing = np.where(is_dense, 0, counts)
        words = self.words(stream_keys, n_missing)
        redraws = self.child(REDRAW_KEY)
        sparse: list[Ints] = []
        while n_missing.any():
            positions = np.repeat(np.arange(stream_keys.size), n_missing)
            numbers = starts[positions] + numbers_below(populations[positions], words)
            new_numbers, _ = without_repeats(numbers)
            for drawn_before in sparse:
                new_numbers = new_numbers[~is_among(new_numbers, drawn_before)]
            sparse.append(new_numbers)
            n_missing = (
                n_missing
                - np.searchsorted(new_numbers, ends)
                + np.searchsorted(new_numbers, starts)
            )
            words = redraws.words([len(sparse)], [int(n_missing.sum())])
        if not (dense or sparse):
            return starts[:0]
        # a stable sort merges what is rising
        return np.sort(np.concatenate([*dense, *sparse]), kind="stable")


def numbers_below(limit: Ints | int, words: Words) -> Ints:
    """Return numbers from 0 to `limit` - 1, one a word; the limit is less than 2**53.

    >>> numbers_below(10, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 5, 9]
    """
    fractions = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (fractions * limit).astype(np.int64)


def numbers_within(counts: Ints) -> Ints:
    """Number the members of sets that stand one after the other: 0, 1, ... for each count.

    >>> numbers_within(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)


def is_among(numbers: Ints, rising: Ints) -> NDArray[np.bool_]:
    """Return which of some numbers are among rising ones."""
    if not rising.size:
        return np.zeros(numbers.size, dtype=bool)
    positions = np.minimum(np.searchsorted(rising, numbers), rising.size - 1)
    return np.asarray(rising[positions] == numbers)
