"""Numbers that occur, and sums by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox.core import key_sums
from parivox.core.key_sums import KeySums, RowCodec, sum_by_key, sum_rows


@pytest.mark.parametrize("size", [7, 1 << 40, 1 << 61])  # few keys, many
@pytest.mark.parametrize("largest", [3, 1 << 30])
@pytest.mark.parametrize("waiting", [1, 200, 1 << 23])
def test_sums_do_not_depend_on_how_tables_come(size, largest, waiting, monkeypatch):
    monkeypatch.setattr(key_sums, "_MAX_WAITING_ROWS", waiting)
    monkeypatch.setattr(key_sums, "_KEYS_PER_RANGE", 16)
    draw = np.random.default_rng(1)
    sums, tables = KeySums(), []
    for n in (0, 90, 1, 200, 200, 30):
        keys = draw.integers(0, min(size, 1 << 50), n)
        keys = np.sort(keys) if n % 3 else keys
        tables.append((keys.copy(), draw.integers(1, largest + 1, n)))
        sums.add(keys, tables[-1][1].copy())
    keys, weights = map(np.concatenate, zip(*tables, strict=True))
    distinct, positions = np.unique(keys, return_inverse=True)
    distinct_keys, total = sums.total()
    assert distinct_keys.tolist() == distinct.tolist()
    assert total.tolist() == [weights[positions == i].sum() for i in range(distinct.size)]


def test_nothing_adds_up_to_nothing():
    assert [array.tolist() for array in KeySums().total()] == [[], []]
    sums = KeySums()
    sums.add(np.empty(0, dtype=np.int64))
    assert [array.tolist() for array in sums.total()] == [[], []]


@pytest.mark.parametrize("apart", [1, 300, 1 << 40])  # keys side by side, in blocks, far apart
def test_keys_are_counted_the_same_wherever_they_lie(apart):
    draw = np.random.default_rng(2)
    keys = draw.integers(0, 50, 4000) * apart + draw.integers(0, 40, 4000)
    distinct_keys, (n,) = sum_by_key(keys)
    distinct, counts = np.unique(keys, return_counts=True)
    assert distinct_keys.tolist() == distinct.tolist()
    assert n.tolist() == counts.tolist()


WIDE = st.sampled_from([0, 1, 1 << 40, 1 << 61])
ROWS = st.lists(st.tuples(st.booleans(), WIDE, st.integers(-1, 2), WIDE, st.integers(0, 5)))


@pytest.mark.slow
@given(st.lists(ROWS, min_size=1, max_size=3))
def test_rows_are_summed_however_wide_their_keys_are(tables):
    dtypes = {"target": bool, "a": np.int64, "b": np.int8, "c": np.int64, "trials": np.int64}
    columns = [
        {
            name: np.array([row[i] for row in rows], dtype=dtype)
            for i, (name, dtype) in enumerate(dtypes.items())
        }
        for rows in tables
    ]
    expected: dict = {}
    for row in (row for rows in tables for row in rows):
        expected[row[:4]] = expected.get(row[:4], 0) + row[4]
    total = sum_rows(columns, [*dtypes][:4])
    assert {name: column.dtype for name, column in total.items()} == dtypes
    rows = zip(*(column.tolist() for column in total.values()), strict=True)
    assert [*rows] == [(*key, trials) for key, trials in sorted(expected.items())]


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 90), st.integers(0, 1 << 40))))
def test_a_row_is_what_its_code_stands_for(rows):
    dtypes = {"target": np.dtype(bool), "a": np.dtype(np.int8), "b": np.dtype(np.int64)}
    columns = {
        name: np.array([row[i] for row in rows], dtype=dtype)
        for i, (name, dtype) in enumerate(dtypes.items())
    }
    codec = RowCodec({"target": (0, 1), "a": (-3, 90), "b": (0, 1 << 40)})
    codes = codec.encode(columns)
    decoded = codec.decode(codes, dtypes)
    assert [*zip(*(column.tolist() for column in decoded.values()), strict=True)] == rows
    assert np.argsort(codes, kind="stable").tolist() == sorted(
        range(len(rows)), key=lambda i: rows[i]
    )
