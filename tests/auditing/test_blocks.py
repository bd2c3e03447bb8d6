"""Blocks of very many speakers: of one group each, in proportion to its speakers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.units import MIN_BLOCKS_PER_GROUP, N_SPEAKER_BLOCKS, speaker_blocks


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4000), min_size=1, max_size=8))
def test_blocks_are_of_one_group_and_in_proportion(sizes):
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    block = speaker_blocks(group)
    n = np.bincount(block)
    assert (n > 0).all()
    of_group = np.full(n.size, -1)
    of_group[block] = group
    assert (of_group[block] == group).all()
    for i, size in enumerate(sizes):
        own = n[of_group == i]
        expected = round(N_SPEAKER_BLOCKS * size / sum(sizes))
        assert own.size == min(max(expected, MIN_BLOCKS_PER_GROUP), size)
        assert own.max() - own.min() <= 1
    assert np.array_equal(block, speaker_blocks(group))


def test_blocks_do_not_follow_the_order_of_speakers():
    block = speaker_blocks(np.zeros(6000, dtype=np.int64))
    assert block.max() + 1 == N_SPEAKER_BLOCKS
    first, last = (np.unique(half).size for half in np.split(block, 2))
    assert min(first, last) > 0.9 * N_SPEAKER_BLOCKS
    assert not np.array_equal(np.sort(block[:N_SPEAKER_BLOCKS]), np.arange(N_SPEAKER_BLOCKS))
