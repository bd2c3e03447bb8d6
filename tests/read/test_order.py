"""Trials in order, as NumPy's stable sort has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox.read.order import in_order_of_keys, in_order_of_scores

CLOSE = st.integers(0, 9).map(lambda i: 1 + i * 2.0**-52)


@given(st.lists(st.floats(allow_nan=False) | CLOSE, max_size=40))
def test_scores_come_in_the_order_of_a_stable_sort(scores):
    score = np.array(scores, dtype=np.float64)
    expected = np.argsort(score + 0.0, kind="stable")
    assert in_order_of_scores(score).tolist() == expected.tolist()


@pytest.mark.parametrize("limit", [1 << 20, 1 << 62])
def test_keys_come_in_order_with_their_places(limit):
    key = np.random.default_rng(0).integers(0, 1 << 20, 1000)
    rising, place = in_order_of_keys(key.copy(), limit)
    assert (rising == np.sort(key)).all()
    assert (key[place] == rising).all()
    assert np.unique(place).size == key.size
