from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

import parivox as pv
from parivox import Counts
from parivox.core.counts import EdgeSearch, ScoreGrid, as_counts
from parivox.errors import DataError

trials = st.lists(
    st.tuples(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 2.0, np.inf]), st.booleans()),
    max_size=20,
)


def counts_of(labelled):
    return Counts.from_scores([s for s, _ in labelled], [label for _, label in labelled])


def test_det_points(vector, counted):
    inputs, expected, _ = vector("1.1_det_points_A")
    curve = counted(inputs["tar"], inputs["non"]).curve
    points = [
        [float(t), int(fp), int(fn)]
        for t, fp, fn in zip(curve.thresholds, curve.fp, curve.fn, strict=True)
    ]
    assert points == [[float(t), fp, fn] for t, fp, fn in expected["points_thr_FP_FN"]]
    assert (int(curve.n_target), int(curve.n_nontarget)) == (8, 12)


def test_a_curve_is_computed_again_instead_of_being_pickled():
    counts = Counts.from_scores(np.arange(1000.0), np.arange(1000) % 3 == 0)
    without_curve = len(pickle.dumps(counts))
    curve = counts.curve
    copied_counts = pickle.loads(pickle.dumps(counts))
    assert len(pickle.dumps(counts)) < 1.1 * without_curve
    assert counts.curve is curve
    for name in ("thresholds", "fp", "fn", "n_target", "n_nontarget"):
        np.testing.assert_array_equal(getattr(copied_counts.curve, name), getattr(curve, name))


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e300, 0.0])
def test_steps_are_found_as_by_a_binary_search(spread):
    rng = np.random.default_rng(3)
    edges = np.unique(np.concatenate((spread * rng.normal(size=300), [-np.inf, np.inf, 0.1])))
    scores = np.concatenate((rng.choice(edges, 300), spread * rng.normal(size=300)))
    scores = np.concatenate((scores, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)))
    indices = EdgeSearch(edges).step_indices(scores)
    assert indices.tolist() == np.searchsorted(edges, scores, side="right").tolist()


@pytest.mark.parametrize("n_edges", [0, 1, 7, 16, 17])
def test_steps_of_many_scores_among_few_edges_are_found_as_by_a_binary_search(n_edges):
    rng = np.random.default_rng(5)
    edges = np.sort(np.append(rng.normal(size=max(n_edges - 1, 0)), np.inf)[:n_edges])
    scores = np.concatenate((rng.normal(size=150_000), edges, [-np.inf, np.inf]))
    indices = EdgeSearch(edges).step_indices(scores)
    assert indices.dtype == np.intp
    assert indices.tolist() == np.searchsorted(edges, scores, side="right").tolist()


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e300, 5e-324])
def test_a_grid_numbers_scores_as_sorting_does_or_not_at_all(spread):
    rng = np.random.default_rng(4)
    for values in (np.arange(-3000, 4000), rng.normal(size=50), np.array([-0.0, 1.0])):
        scores = spread * rng.choice(values, 200_000)
        grid = ScoreGrid(float(scores.min()), float(scores.max()))
        numbering = grid.index_scores(scores) if grid.has_cells else None
        if numbering is not None:
            distinct, ranks = np.unique(scores, return_inverse=True)
            assert numbering[0].tolist() == distinct.tolist()
            assert not np.signbit(numbering[0][numbering[0] == 0]).any()
            assert numbering[1].tolist() == ranks.tolist()
        assert numbering is not None or spread == 5e-324 or values.size == 50


def test_rates_at_thresholds(vector, counted):
    inputs, expected, tol = vector("1.2_rates_at_threshold_A")
    point = counted(inputs["tar"], inputs["non"]).at(inputs["thr"])
    rates = np.stack([point.fpr, point.fnr], axis=-1)
    np.testing.assert_allclose(rates, [expected[str(t)] for t in inputs["thr"]], atol=tol)


@pytest.mark.slow
def test_curve_is_scikit_learns_roc(tied_sets, counted):
    for tar, non in tied_sets[:100]:
        scores, labels = [*tar, *non], [1] * len(tar) + [0] * len(non)
        fpr, tpr, thresholds = roc_curve(labels, scores, drop_intermediate=False)
        curve = counted(tar, non).curve
        np.testing.assert_array_equal(curve.thresholds, thresholds)
        np.testing.assert_allclose(curve.fpr, fpr, atol=1e-15)
        np.testing.assert_allclose(1 - curve.fnr, tpr, atol=1e-15)


@pytest.mark.slow
@given(trials, trials)
def test_counts_add(first_trials, second_trials):
    summed, pooled = (
        counts_of(first_trials) + counts_of(second_trials),
        counts_of(first_trials + second_trials),
    )
    np.testing.assert_array_equal(summed.values, pooled.values)
    np.testing.assert_array_equal(summed.target, pooled.target)
    np.testing.assert_array_equal(summed.nontarget, pooled.nontarget)


@pytest.mark.slow
@given(trials, st.floats(allow_nan=False))
def test_counting_at_a_threshold_is_the_decision_rule(labelled, threshold):
    point = counts_of(labelled).at([threshold])
    assert int(point.fp[0]) == sum(s >= threshold for s, label in labelled if not label)
    assert int(point.fn[0]) == sum(s < threshold for s, label in labelled if label)


@given(trials)
def test_rates_rise_and_fall(labelled):
    curve = counts_of(labelled).curve
    assert (np.diff(curve.fp) >= 0).all()
    assert (np.diff(curve.fn) <= 0).all()
    assert (curve.fp[0], curve.fn[-1]) == (0, 0)


@pytest.mark.slow
@given(trials)
def test_monotone_maps_leave_the_det_points_unchanged(labelled):
    scores, labels = np.array([s for s, _ in labelled]), [label for _, label in labelled]
    curve = Counts.from_scores(scores, labels).curve
    for mapped in (np.arctan(scores), 3 * scores + 7, np.exp(scores)):
        mapped_curve = Counts.from_scores(mapped, labels).curve
        np.testing.assert_array_equal(mapped_curve.fp, curve.fp)
        np.testing.assert_array_equal(mapped_curve.fn, curve.fn)


def test_rates_without_a_class_are_nan():
    curve = Counts.from_scores([1.0, 2.0], [1, 1]).curve
    assert np.isnan(curve.fpr).all()
    assert not np.isnan(curve.fnr).any()


def test_both_zeros_are_one_score():
    assert Counts.from_scores([-0.0, 0.0], [1, 0]).values.tolist() == [0.0]


@pytest.mark.parametrize(
    ("scores", "labels", "sentence"),
    [
        ([0.5, np.nan], [1, 0], "score 1 is NaN"),
        ([0.5, 0.1], [1, 3], "label 1 is 3; labels are 1 or True"),
        ([0.5, 0.1], [1], "the same length"),
        ([0.5], None, "labels are missing"),
    ],
)
def test_bad_input_is_named(scores, labels, sentence):
    with pytest.raises(DataError, match=sentence):
        as_counts(scores, labels)


def test_each_cell_may_be_read_at_thresholds_of_its_own(stacked):
    cells = [Counts.from_scores([1.0, 2.0, 3.0], [1, 0, 1]), Counts.from_scores([2.0], [0])]
    thresholds = np.array([[1.5, 3.0], [2.0, np.nan]])
    together = stacked(cells).at(thresholds)
    assert together.thresholds.shape == (2, 2)
    for row, counts in enumerate(cells):
        alone = counts.at(thresholds[row])
        assert together.fp[row].tolist() == alone.fp.tolist()
        assert together.fn[row].tolist() == alone.fn.tolist()
        assert counts.at(thresholds).fp[row].tolist() == alone.fp.tolist()
    assert together.fnr[0].tolist() == [0.5, 0.5]
    assert together.fp[1].tolist() == [1, 0]


Y_TRUE, Y_SCORE = [0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (Y_TRUE, Y_SCORE),
        (Y_SCORE, Y_TRUE),  # which nothing tells from the above
        (np.array(Y_TRUE, bool), Y_SCORE),
        (np.array(Y_TRUE), np.array(Y_SCORE, float)),
        (Y_TRUE, [0.1, 0.7, 0.8, 0.3, 0.2, 0.0]),
        (Y_TRUE, [0, 2, 3, 0, 0, 0]),
        (["target", "nontarget"], [0.7, 0.2]),
    ],
)
def test_what_may_be_in_the_order_of_scikit_learn_is_refused(scores, labels):
    with pytest.raises(DataError, match="scores come before labels"):
        pv.eer(scores, labels)


def test_scores_that_cannot_be_labels_are_taken():
    floats = pv.eer(np.array(Y_SCORE, float), Y_TRUE)
    assert (
        floats
        == pv.eer(Y_SCORE, np.array(Y_TRUE, bool))
        == pv.eer([2 * s for s in Y_SCORE], Y_TRUE)
    )


def test_the_scorer_of_the_docs_searches_for_a_small_eer():
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(0)
    label = np.repeat([0, 1], 50)
    data = draw.normal(size=(100, 1)) + label[:, None]
    eer = pv.sklearn.make_scorer("eer")
    fitted = LogisticRegression().fit(data, label)
    assert eer(fitted, data, label) == -pv.eer(fitted.decision_function(data), label)
