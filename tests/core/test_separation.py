from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from parivox import Counts, auc, dprime, r_precision, shift
from parivox.core.separation import location
from parivox.errors import ConfigError


def test_vectors(vector, counted):
    inputs, expected, tol = vector("1.10_auc_dprime")
    for name, scores in inputs.items():
        counts = counted(scores["tar"], scores["non"])
        assert auc(counts) == pytest.approx(expected[name]["auc"], abs=tol)
        assert dprime(counts, ddof=0) == pytest.approx(expected[name]["dprime_ddof0"], abs=tol)
        assert dprime(counts) == pytest.approx(expected[name]["dprime_ddof1"], abs=tol)


@pytest.mark.slow
def test_auc_is_scikit_learns_and_the_share_of_pairs(tied_sets, counted):
    for tar, non in tied_sets[:100]:
        area = auc(counted(tar, non))
        labels = [1] * len(tar) + [0] * len(non)
        assert area == pytest.approx(roc_auc_score(labels, [*tar, *non]), abs=1e-12)
        pairs = [np.heaviside(t - n, 0.5) for t in tar for n in non]
        assert area == pytest.approx(np.mean(pairs), abs=1e-15)


def test_dprime_is_numpys(tied_sets, counted):
    for tar, non in tied_sets:
        spread = np.sqrt((np.var(tar) + np.var(non)) / 2)
        distance = dprime(counted(tar, non), ddof=0)
        if spread == 0:
            assert np.isnan(distance)
        else:
            assert distance == pytest.approx(abs(np.mean(tar) - np.mean(non)) / spread)


def test_dprime_keeps_its_digits_far_from_zero(counted):
    tar, non = [1.0, 2.0, 4.0], [0.0, 0.5, 0.75]
    far = counted(np.add(tar, 1e8), np.add(non, 1e8))
    assert dprime(far) == pytest.approx(float(dprime(counted(tar, non))), rel=1e-7)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
        lambda drawn: len({label for _, label in drawn}) == 2
    )
)
def test_auc_depends_on_order_alone_and_turns_with_it(labelled):
    scores, labels = np.array([s for s, _ in labelled]), [label for _, label in labelled]
    value = auc(scores, labels)
    assert 0 <= value <= 1
    assert auc(np.exp(scores), labels) == value
    assert auc(-scores, labels) == pytest.approx(1 - value)


def test_shift_is_the_difference_of_means_and_quantiles(tied_sets, counted):
    for (tar, non), (pooled_tar, pooled_non) in zip(tied_sets[:60], tied_sets[60:120], strict=True):
        group, pooled = counted(tar, non), counted(pooled_tar, pooled_non)
        assert shift(group, pooled, of="target") == pytest.approx(
            np.mean(tar) - np.mean(pooled_tar)
        )
        assert shift(group, pooled, of="nontarget") == pytest.approx(
            np.mean(non) - np.mean(pooled_non)
        )
        for q in (0, 0.1, 0.25, 0.5, 0.9, 1):
            group_quantile, pooled_quantile = (
                np.quantile(s, q, method="inverted_cdf") for s in (tar, pooled_tar)
            )
            assert shift(group, pooled, of="target", quantile=q) == group_quantile - pooled_quantile


def test_cells_on_one_axis_are_like_cells_alone(tied_sets, counted, stacked):
    cells = [counted(tar, non) for tar, non in tied_sets[:40]]
    pooled, together = cells[0], stacked(cells)
    np.testing.assert_array_equal(auc(together), [auc(p) for p in cells])
    np.testing.assert_allclose(dprime(together), [dprime(p) for p in cells], atol=1e-12)
    for q in (None, 0.3):
        shifts = shift(together, pooled, of="target", quantile=q)
        alone = [shift(p, pooled, of="target", quantile=q) for p in cells]
        np.testing.assert_allclose(shifts, alone, atol=1e-12)


def test_undefined_cells(counted):
    for counts in (counted([1, 2], []), counted([], [1, 2]), counted([], [])):
        assert np.isnan([auc(counts), dprime(counts)]).all()
    assert np.isnan(shift(counted([1], []), counted([1], []), of="nontarget"))
    assert np.isnan(shift(counted([1], []), counted([], [1]), of="target", quantile=0.5))
    assert np.isnan(dprime(counted([1], [0])))  # one trial has no variance
    assert np.isnan(dprime(counted([1, 1], [1, 1])))
    assert auc(counted([1, 1], [1, 1])) == 0.5


def test_infinite_scores(counted):
    ends = counted([np.inf, 1], [0, -np.inf])
    assert auc(ends) == 1
    assert np.isnan(dprime(ends))
    assert shift(ends, counted([1], [1]), of="target") == np.inf
    assert shift(ends, counted([1], [1]), of="nontarget") == -np.inf
    assert np.isnan(shift(ends, ends, of="target"))
    assert np.isnan(shift(counted([-np.inf, np.inf], []), counted([1], []), of="target"))
    assert shift(ends, counted([1], [1]), of="target", quantile=0.5) == 0


def test_numbers_of_trials_beyond_int64_products_still_work():
    big = 4_000_000_000
    counts = Counts(np.array([0.0, 1.0]), np.array([0, big]), np.array([big, big]))
    assert auc(counts) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "wrong", [{"of": "both"}, {"of": "target", "quantile": 1.5}, {"of": "target", "quantile": -1}]
)
def test_bad_options_are_named(counted, wrong):
    counts = counted([1], [0])
    with pytest.raises(ConfigError, match=r"choose target|give a fraction"):
        shift(counts, counts, **wrong)


def test_several_quantiles_at_once_are_each_by_itself(stacked, counted):
    counts = stacked([counted([1, 2, 2, 5], [0, 1]), counted([3], [])])
    shares = [0.0, 0.25, 0.5, 0.9, 1.0]
    for kind in ("target", "nontarget"):
        together = location(counts, of=kind, quantile=shares)
        for column, share in enumerate(shares):
            alone = location(counts, of=kind, quantile=share)
            assert together[:, column] == pytest.approx(alone, nan_ok=True)
    assert location(counts, of="target", quantile=shares)[0].tolist() == [1, 1, 2, 5, 5]


def test_r_precision_is_the_precision_of_the_best_scored():
    rng = np.random.default_rng(8)
    for targets, nontargets in ((5, 20), (20, 5), (1, 1), (7, 7), (4, 0)):
        scores = rng.permutation(targets + nontargets).astype(float)
        labels = np.arange(scores.size) < targets
        best = np.argsort(-scores)[:targets]
        assert r_precision(scores, labels) == pytest.approx(labels[best].mean())
    assert r_precision([1.0] * 10, [1] * 3 + [0] * 7) == pytest.approx(0.3)  # within a tie
    assert np.isnan(r_precision([1.0, 2.0], [0, 0]))
    counts = Counts(np.array([0.0, 1.0]), np.array([[1, 1], [0, 2]]), np.array([[1, 0], [2, 0]]))
    assert r_precision(counts).tolist() == pytest.approx([0.75, 1.0])
