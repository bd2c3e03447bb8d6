"""Numbers that occur, and sums by them."""

import numpy as np
import pytest

from parivox.core import cluster_errors
from parivox.core.cluster_errors import CodeSums, sum_by_code


@pytest.mark.parametrize("size", [7, 1 << 40, 1 << 61])  # few codes, many, no room beside them
@pytest.mark.parametrize("largest", [3, 1 << 30])
@pytest.mark.parametrize("waiting", [1, 200, 1 << 23])
def test_sums_do_not_depend_on_how_tables_come(size, largest, waiting, monkeypatch):
    monkeypatch.setattr(cluster_errors, "_MAX_WAITING_ROWS", waiting)
    monkeypatch.setattr(cluster_errors, "_CODES_PER_RANGE", 16)
    draw = np.random.default_rng(1)
    sums, tables = CodeSums(size), []
    for n in (0, 90, 1, 200, 200, 30):
        codes = draw.integers(0, min(size, 1 << 50), n)
        codes = np.sort(codes) if n % 3 else codes
        tables.append((codes.copy(), draw.integers(1, largest + 1, n)))
        sums.add(codes, tables[-1][1].copy())
    codes, weights = map(np.concatenate, zip(*tables, strict=True))
    distinct, positions = np.unique(codes, return_inverse=True)
    distinct_codes, total = sums.total()
    assert distinct_codes.tolist() == distinct.tolist()
    assert total.tolist() == [weights[positions == i].sum() for i in range(distinct.size)]


@pytest.mark.parametrize("apart", [1, 300, 1 << 40])  # codes side by side, in blocks, far apart
def test_codes_are_counted_the_same_wherever_they_lie(apart):
    draw = np.random.default_rng(2)
    codes = draw.integers(0, 50, 4000) * apart + draw.integers(0, 40, 4000)
    distinct_codes, (n,) = sum_by_code(codes, int(codes.max()) + 1)
    distinct, counts = np.unique(codes, return_counts=True)
    assert distinct_codes.tolist() == distinct.tolist()
    assert n.tolist() == counts.tolist()
