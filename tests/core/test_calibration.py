"""Calibrators against others' code, and what they cannot be found on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import Counts, cllr, min_cllr
from parivox.core.calibration import (
    Isotonic,
    Logistic,
    isotonic,
    logistic,
    optimism,
    unfit,
)
from parivox.core.counts import as_counts
from parivox.core.crossfit import sides


@pytest.fixture(scope="module")
def trials():
    """Scores rounded so that some are equal, and labels of unequal classes."""
    draw = np.random.default_rng(5)
    label = (draw.random(4000) < 0.1).astype(int)
    return draw.normal(-1.1 + 0.2 * label, 0.1).round(3), label


def after(line, scores, labels):
    return as_counts(line.llr(np.asarray(scores, dtype=float)), labels)


def test_a_line_is_that_of_scikit_learn_where_both_classes_weigh_alike(trials, optional):
    scores, labels = trials
    regression = optional("sklearn.linear_model").LogisticRegression(
        C=np.inf, tol=1e-12, max_iter=10_000
    )
    weight = np.where(labels == 1, 0.5 / labels.sum(), 0.5 / (1 - labels).sum()) * labels.size
    regression.fit(scores[:, None], labels, sample_weight=weight)
    line = logistic(as_counts(scores, labels))
    assert line.slope == pytest.approx(regression.coef_[0, 0], rel=1e-6)
    assert line.offset == pytest.approx(regression.intercept_[0], rel=1e-6)


def test_lines_and_costs_are_those_of_lir(trials):
    pytest.importorskip("lir.metrics")  # it brings 22 packages: .ci/release has it
    from lir.algorithms.logistic_regression import LogitCalibrator
    from lir.data.models import LLRData
    from lir.metrics import cllr as their_cllr
    from lir.metrics import cllr_min

    scores, labels = trials
    calibrator = LogitCalibrator(C=np.inf, tol=1e-12, max_iter=10_000).fit(scores[:, None], labels)
    theirs = calibrator.transform(scores[:, None])
    mine = logistic(as_counts(scores, labels)).llr(scores)
    assert mine == pytest.approx(theirs[:, 0] * np.log(10), abs=1e-6)
    llrs = LLRData(features=theirs, labels=labels)
    assert cllr(mine, labels) == pytest.approx(their_cllr(llrs), abs=1e-6)
    assert min_cllr(mine, labels) == pytest.approx(cllr_min(llrs), abs=1e-6)


def test_steps_are_those_of_scikit_learn_with_two_trials_more_at_either_end(trials, optional):
    scores, labels = trials
    line = isotonic(as_counts(scores, labels))
    low, high = scores.min() - 1, scores.max() + 1
    x, y = np.append(scores, [low, low, high, high]), np.append(labels, [0, 1, 0, 1])
    regression = optional("sklearn.isotonic").IsotonicRegression().fit(x, y)
    share = regression.predict(line.scores)
    prior = labels.sum() / (1 - labels).sum()
    np.testing.assert_allclose(line.llrs, np.log(share / (1 - share) / prior), rtol=1e-9)


def test_no_line_nearby_costs_less(trials):
    scores, labels = trials
    line = logistic(as_counts(scores, labels))
    least = cllr(after(line, scores, labels))
    for shift in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        neighbour = Logistic(line.slope + shift[0], line.offset + shift[1])
        assert cllr(after(neighbour, scores, labels)) > least


def test_a_start_nearby_leads_to_the_same_line(trials):
    counts = as_counts(*trials)
    line = logistic(counts)
    again = logistic(counts, Logistic(0.8 * line.slope, line.offset + 1))
    assert again == pytest.approx(line, rel=1e-9)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=3, max_size=40).filter(
        lambda drawn: len({label for _, label in drawn}) == 2 and len({s for s, _ in drawn}) > 1
    )
)
def test_steps_rise_and_cost_little_more_than_the_least(trials):
    scores, labels = zip(*trials, strict=True)
    line = isotonic(as_counts(scores, labels))
    assert (np.diff(line.scores) > 0).all()
    assert (np.diff(line.llrs) >= 0).all()
    assert np.isfinite(line.llrs).all()
    assert min_cllr(as_counts(scores, labels)) <= cllr(after(line, scores, labels)) + 1e-12


@pytest.mark.parametrize(
    ("scores", "labels", "reason"),
    [
        ([1.0, 2.0], [0, 0], "no_target_trials"),
        ([1.0, 2.0], [1, 1], "no_nontarget_trials"),
        ([1.0, 1.0], [0, 1], "equal_scores"),
        ([0.0, 1.0, np.inf], [0, 1, 1], "infinite_scores"),
        ([0.0, 1.0, 1.0], [0, 0, 1], "separate_classes"),
        ([0.0, 1.0, 2.0], [1, 0, 0], "inverted_classes"),
    ],
)
def test_where_there_is_no_line_it_is_said_why(scores, labels, reason):
    counts = as_counts(scores, labels)
    assert unfit(counts) == reason
    assert np.isnan(logistic(counts)).all()


def test_classes_apart_have_steps_but_no_line():
    counts = Counts.from_scores([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    assert unfit(counts, Isotonic) == ""
    assert isotonic(counts).llrs == pytest.approx(np.log([1 / 3, 1 / 3, 3, 3]))


@pytest.mark.parametrize(("speakers", "correlation"), [(60, 0.0), (60, 0.3), (300, 0.2)])
def test_the_optimism_is_by_what_minimum_cllr_is_too_small(speakers, correlation):
    rng, optimisms = np.random.default_rng(speakers), []
    for _ in range(12):
        speaker_scores = np.sqrt(correlation) * rng.standard_normal((speakers, 1))
        noise = np.sqrt(1 - correlation) * rng.standard_normal((speakers, 12))
        of_targets = 3 + np.sqrt(6) * (speaker_scores + noise).ravel()
        llr = np.append(of_targets, np.sqrt(6) * rng.standard_normal(of_targets.size) - 3)
        target = np.arange(llr.size) < of_targets.size
        fold = np.tile(np.repeat(np.arange(speakers) % 10, 12), 2)
        counts = Counts.from_scores(llr, target)
        plain = float(cllr(counts) - min_cllr(counts))
        optimisms.append((plain, optimism(llr, target, sides(fold, fold))))
    plain, less = np.mean(optimisms, axis=0)
    assert plain > 0.004
    assert abs(plain - less) < 0.3 * plain


def test_the_optimism_of_many_values_is_that_of_bins_of_them():
    rng = np.random.default_rng(1)
    target = np.arange(20_000) < 10_000
    score = rng.normal(2.0 * target)
    sets = sides(*(2 * [rng.integers(5, size=score.size)]))
    assert optimism(score, target, sets) == pytest.approx(
        optimism(score.round(3), target, sets), rel=0.02
    )


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0]])
def test_the_optimism_of_hardly_any_trials_is_no_error(values):
    assert 0 <= optimism(values, [0, 0, 1, 1], [1, 2, 1, 2]) <= 1
