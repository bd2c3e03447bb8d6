"""Pairs by their number, who meets whom, and draws without enumeration."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox.trials.pairs import (
    Meetings,
    RandomStreams,
    meet,
    meet_back,
    meet_each_other,
    meeting_utterances,
    numbers_below,
    target_pairs,
    without_repeats,
)

pytestmark = pytest.mark.minimal
SIZES = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5)


def laid_out(sizes):
    """Start of each speaker, speaker and recording of each utterance."""
    speaker = np.repeat(np.arange(len(sizes)), [sum(counts) for counts in sizes])
    flat = [n for recordings in sizes for n in recordings]
    recording = np.repeat(np.arange(len(flat)), flat)
    start = np.concatenate(([0], np.cumsum([sum(counts) for counts in sizes])))
    return start, speaker, recording


@pytest.mark.slow
@given(SIZES)
def test_numbers_of_pairs_are_all_pairs_that_itertools_finds(sizes):
    start, speaker, recording = laid_out(sizes)
    end = np.searchsorted(recording, recording, side="right")
    for grade, is_same in ((1, True), (3, False)):
        pairs = target_pairs(start, end, grade)
        numbered = [
            sorted(p) for p in zip(*pairs.utterances_at(np.arange(pairs.n_pairs)), strict=True)
        ]
        assert numbered == [
            [a, b]
            for a, b in itertools.combinations(range(speaker.size), 2)
            if speaker[a] == speaker[b] and (recording[a] == recording[b]) == is_same
        ]
        assert pairs.count_by_speaker(start).tolist() == [
            sum(speaker[a] == i for a, _ in numbered) for i in range(len(sizes))
        ]


def test_either_utterance_of_a_pair_may_enrol():
    pairs = target_pairs(np.array([0, 100]), np.arange(1, 101))
    enrol, test = pairs.utterances_at(np.arange(pairs.n_pairs))
    assert abs(int((enrol < test).sum()) - pairs.n_pairs / 2) <= 1


@pytest.mark.slow
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 120))
def test_everybody_meets_others_equally_often(a, b, m):
    i, j = meet(a, b, m)
    pairs = Counter(zip(i.tolist(), j.tolist(), strict=True))
    for counts, n in ((Counter(i.tolist()), a), (Counter(j.tolist()), b), (pairs, a * b)):
        assert set(counts.values()) <= {m // n, -(-m // n)}
    extra = np.bincount(j, minlength=b)
    assert (np.diff(extra) <= 0).all()  # the first have one more


@given(st.integers(2, 7), st.integers(0, 120))
def test_nobody_meets_himself(a, m):
    i, j = meet_each_other(a, m)
    assert (i != j).all()
    pairs = Counter(zip(i.tolist(), j.tolist(), strict=True))
    for counts, n in ((Counter(i.tolist()), a), (Counter(j.tolist()), a), (pairs, a * (a - 1))):
        assert set(counts.values()) <= {m // n, -(-m // n)}


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 120), st.integers(1, 120))
def test_two_who_meet_again_have_met_all_others(a, b, m, back):
    sides = [np.concatenate(s) for s in zip(meet(a, b, m), meet_back(a, b, back, m), strict=True)]
    pairs = Counter(zip(*(side.tolist() for side in sides), strict=True))
    assert max(pairs.values()) == -(-(m + back) // (a * b))
    for side, n in zip(meet_back(a, b, back, m), (a, b), strict=True):
        assert set(Counter(side.tolist()).values()) <= {back // n, -(-back // n)}


@given(st.integers(2, 9), st.integers(1, 6))
def test_no_two_of_a_group_meet_again_before_all_have_met(a, most):
    for m, count in ((most * a * (a - 1) // 2, most), (most * a * (a - 1) // 2 + 1, most + 1)):
        i, j = meet_each_other(a, m)
        pairs = Counter(map(frozenset, zip(i.tolist(), j.tolist(), strict=True)))
        assert max(pairs.values()) == count


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=6),
    st.integers(0, 2**40),
)
def test_distinct_draws_are_distinct_in_range_and_as_many_as_wanted(ranges, seed):
    population = np.array([n for n, _ in ranges])
    sizes = np.array([int(n * share) for n, share in ranges])
    draws = RandomStreams(seed).distinct_numbers(population, sizes)
    assert (np.diff(draws) > 0).all()
    ends = np.cumsum(population)
    counts = np.searchsorted(draws, ends) - np.searchsorted(draws, ends - population)
    assert counts.tolist() == sizes.tolist()


@pytest.mark.slow
def test_every_number_is_as_likely_as_any_other():
    draws = [
        RandomStreams(seed).distinct_numbers(np.array([10, 10]), np.array([4, 7]))
        for seed in range(2_000)
    ]
    counts = np.bincount(np.concatenate(draws), minlength=20)
    assert counts[:10] == pytest.approx(800, abs=100)  # 4.5 standard deviations
    assert counts[10:] == pytest.approx(1400, abs=100)


def test_no_range_is_too_large_to_draw_from():
    draws = RandomStreams(3).distinct_numbers(np.array([10**15]), np.array([1000]))
    assert draws.size == 1000
    assert draws.max() > 10**14


def test_words_are_those_that_numpy_promises():
    # PCG64 with a SeedSequence: raw words, the same on every machine and version
    assert RandomStreams(1, (2,)).words([0, 3], [2, 1]).tolist() == [
        15754139058054586196,
        7882160670850314298,
        1651299849932390616,
    ]
    assert numbers_below(1000, RandomStreams(1).words([0], [4])).tolist() == [699, 174, 645, 320]


@given(st.lists(st.integers(0, 9), max_size=30), st.lists(st.integers(0, 9), max_size=9))
def test_once_takes_each_key_once(keys, used_keys):
    rising = np.unique(np.array(used_keys, dtype=np.int64))
    fresh_rows, again = without_repeats(np.array(keys, dtype=np.int64), rising)
    assert fresh_rows.tolist() == sorted({*keys, *used_keys})
    fresh = set(range(len(keys))) - set(again.tolist())
    assert sorted(keys[row] for row in fresh) == sorted({*keys} - {*used_keys})


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(0, 1000), st.data())
def test_even_the_last_pair_is_found(sizes, seed, data):
    start = np.concatenate(([0], np.cumsum(sizes)))
    fewest = min(a * b for a, b in itertools.combinations(sizes, 2))
    m = fewest * len(sizes) * (len(sizes) - 1) // 2
    m = data.draw(st.integers(max(0, m - 5), m))
    i, j = meet_each_other(len(sizes), m)
    meetings = Meetings(i, j, np.arange(m) // len(sizes))
    enrol, test = meeting_utterances(meetings, start, RandomStreams(seed))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    assert (owner[enrol] == i).all()
    assert (owner[test] == j).all()
    assert len({frozenset(pair) for pair in zip(enrol, test, strict=True)}) == m


def test_utterances_of_the_test_side_take_turns():
    i, j = meet_each_other(5, 5 * 60)
    meetings = Meetings(i, j, np.arange(i.size) // 5)
    _, test = meeting_utterances(meetings, np.arange(6) * 20, RandomStreams(2))
    assert set(np.bincount(test)) == {3}
