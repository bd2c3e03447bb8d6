from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import Counts, calibration_loss, cllr, min_cllr

trials = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
    lambda drawn: len({label for _, label in drawn}) == 2
)


def slow_cllr(tar, non):
    return (
        np.mean([np.log2(1 + np.exp(-s)) for s in tar])
        + np.mean([np.log2(1 + np.exp(s)) for s in non])
    ) / 2


def slow_min_cllr(tar, non):
    """Pool adjacent violators by hand, on distinct scores."""
    blocks = []
    for score in sorted({*tar, *non}):
        blocks.append([tar.count(score), non.count(score)])
        while len(blocks) > 1 and (
            blocks[-2][0] * sum(blocks[-1]) >= blocks[-1][0] * sum(blocks[-2])
        ):
            top = blocks.pop()
            blocks[-1] = [blocks[-1][0] + top[0], blocks[-1][1] + top[1]]
    total = 0.0
    for t, n in blocks:
        if t and n:
            odds = (t / len(tar)) / (n / len(non))
            total += t / len(tar) * np.log2(1 + 1 / odds) + n / len(non) * np.log2(1 + odds)
    return total / 2


@pytest.mark.parametrize("name", ["1.9_cllr_L", "1.9_cllr_A"])
def test_vectors(vector, counted, name):
    inputs, expected, tol = vector(name)
    counts = counted(inputs["tar"], inputs["non"])
    assert cllr(counts) == pytest.approx(expected["cllr_bits"], abs=tol)
    assert min_cllr(counts) == pytest.approx(expected["min_cllr_bits"], abs=tol)
    assert calibration_loss(counts) == pytest.approx(expected["calibration_loss"], abs=tol)


def test_both_are_what_slow_loops_find(tied_sets, counted):
    for tar, non in tied_sets:
        counts = counted(tar, non)
        assert cllr(counts) == pytest.approx(slow_cllr(tar, non), rel=1e-12)
        assert min_cllr(counts) == pytest.approx(slow_min_cllr(tar, non), abs=1e-12)


def test_cells_on_one_axis_are_like_cells_alone(tied_sets, counted, stacked):
    cells = [counted(tar, non) for tar, non in tied_sets[:40]]
    for cost_of in (cllr, min_cllr, calibration_loss):
        np.testing.assert_allclose(cost_of(stacked(cells)), [cost_of(p) for p in cells], atol=1e-12)


@pytest.mark.slow
@given(trials)
def test_minimum_depends_on_order_alone_and_bounds_cllr(labelled):
    scores, labels = [s for s, _ in labelled], [label for _, label in labelled]
    least = min_cllr(scores, labels)
    assert 0 <= least <= 1 + 1e-12
    assert min_cllr(np.exp(scores), labels) == least
    assert calibration_loss(scores, labels) >= -1e-12


def test_infinite_scores(counted):
    assert cllr(counted([np.inf, 0], [-np.inf, 0])) == pytest.approx(0.5)
    assert cllr(counted([np.inf], [-np.inf])) == 0
    assert cllr(counted([-np.inf, 3], [0])) == np.inf
    assert cllr(counted([3], [0, np.inf])) == np.inf
    assert calibration_loss(counted([-np.inf, 3], [0])) == np.inf
    assert min_cllr(counted([np.inf], [-np.inf])) == 0


def test_large_scores_do_not_overflow(counted):
    assert cllr(counted([-2000.0], [2000.0])) == pytest.approx(2000 / np.log(2))


def test_more_values_than_one_stretch():
    rng = np.random.default_rng(5)
    scores, labels = rng.normal(0, 2, 40_000), rng.random(40_000) < 0.5
    assert cllr(scores, labels) == pytest.approx(slow_cllr(scores[labels], scores[~labels]))


def test_no_value_without_both_classes(counted):
    for counts in (counted([1, 2], []), counted([], [1, 2]), counted([], [])):
        assert np.isnan([cllr(counts), min_cllr(counts), calibration_loss(counts)]).all()


def test_counts_may_weigh_trials():
    counts = Counts(np.array([0.0, 1.0]), np.array([1, 3]), np.array([2, 0]))
    assert cllr(counts) == pytest.approx(slow_cllr([0, 1, 1, 1], [0, 0]))


def test_cells_together_are_as_cells_alone_however_the_hull_is_found(stacked, monkeypatch):
    rng = np.random.default_rng(7)
    cells = [
        Counts.from_scores(rng.integers(0, 30, n), np.arange(n) % 3 == 0) for n in (3, 40, 200)
    ]
    cells.insert(1, Counts.from_scores([1.0], [1]))
    expected = [min_cllr(counts) for counts in cells]
    assert np.isnan(expected).tolist() == [False, True, False, False]
    together = stacked(cells)
    assert min_cllr(together) == pytest.approx(expected, rel=1e-12, nan_ok=True)
    monkeypatch.setattr("parivox.core.llr._MAX_HULL_PASSES", 1)
    assert min_cllr(together) == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("number", [10, 3_100_000_000, 4_000_000_000])
def test_separated_scores_cost_nothing_however_many(number):
    counts = Counts(np.array([0.0, 1.0]), np.array([0, number]), np.array([number, 0]))
    assert min_cllr(counts) == 0
