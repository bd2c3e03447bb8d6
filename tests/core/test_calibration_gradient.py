"""The test of a calibration loss of 0: the gradient of Cllr and its covariance over speakers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import cllr
from parivox.core.calibration_gradient import (
    GradientTests,
    cllr_gradient,
    gradient_terms,
    gradient_variance_excess,
)
from parivox.core.counts import Counts
from parivox.core.resampled_curves import ResampledCurves

trials = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30).filter(
    lambda drawn: len({label for _, label in drawn}) == 2
)


@pytest.mark.slow
@given(trials, st.sampled_from([np.e, 10.0]))
def test_the_gradient_is_the_change_of_cllr_by_a_small_offset_or_factor(labelled, base):
    scores, labels = np.array(labelled, dtype=float).T
    step = 1e-5
    changes = [
        (cllr(scores * np.log(base) + step, labels) - cllr(scores * np.log(base) - step, labels)),
        (
            cllr(scores * (1 + step), labels, base=base)
            - cllr(scores * (1 - step), labels, base=base)
        ),
    ]
    gradient = cllr_gradient(scores, labels, base=base)
    np.testing.assert_allclose(gradient, np.array(changes) / (2 * step), atol=1e-6)


def test_infinite_ratios_on_the_right_side_leave_the_gradient_as_it_is():
    scores, labels = [-1.0, 1.0, -1.0, 1.0], [0, 0, 1, 1]
    certain = cllr_gradient([*scores, -np.inf, np.inf], [*labels, 0, 1])
    np.testing.assert_allclose(certain, 2 / 3 * cllr_gradient(scores, labels))
    assert np.isinf(cllr_gradient([*scores, np.inf], [*labels, 0])[1])


def trials_of_speakers(rng, speakers, factor=1.0):
    """Ratios of 8 target and 24 nontarget trials of each speaker; calibrated if the factor is 1."""
    enrol = np.repeat(np.arange(speakers), 32)
    target = np.arange(enrol.size) % 32 < 8
    other = (enrol + 1 + rng.integers(speakers - 1, size=enrol.size)) % speakers
    test = np.where(target, enrol, other)
    of_target, of_nontarget = np.sqrt(0.3) * rng.standard_normal((2, speakers))
    shared = np.where(
        target, of_target[enrol], (of_nontarget[enrol] + of_nontarget[test]) / np.sqrt(2)
    )
    deviation = np.sqrt(6.0) * (shared + np.sqrt(0.7) * rng.standard_normal(enrol.size))
    return factor * (np.where(target, 3.0, -3.0) + deviation), target, enrol, test


def cell_tests(llrs, target, enrol, test, cells=None):
    if cells is None:
        cells = np.zeros(llrs.size, np.int32)
    curves = ResampledCurves(llrs, target, enrol, test, [([cells], cells.max() + 1)], None)
    return GradientTests.from_curves(curves, curves.original())[0]


@pytest.mark.slow
@pytest.mark.parametrize("n_cells", [1, 3])
def test_the_covariance_is_the_sum_over_trials_that_share_a_speaker(n_cells):
    rng = np.random.default_rng(4)
    llrs, target, enrol, test = trials_of_speakers(rng, 9)
    cell = rng.integers(n_cells, size=llrs.size).astype(np.int32)
    found = cell_tests(llrs, target, enrol, test, cell)
    for code in range(n_cells):
        rows = np.flatnonzero(cell == code)
        counts = Counts.from_scores(llrs[rows], target[rows])
        terms = gradient_terms(counts)
        value = np.searchsorted(counts.values, llrs[rows])
        trial_terms = terms[:, target[rows].astype(int), value].T
        covariance = np.zeros((2, 2))
        for i, first in enumerate(rows):
            for j, second in enumerate(rows):
                if {enrol[first], test[first]} & {enrol[second], test[second]}:
                    covariance += np.outer(trial_terms[i], trial_terms[j])
        speakers = np.unique([enrol[rows], test[rows]]).size
        np.testing.assert_allclose(
            found.covariance[code], covariance * speakers / (speakers - 1), rtol=1e-9
        )
        np.testing.assert_allclose(found.gradient[code], cllr_gradient(counts))
        assert 0 < found.df[code] + 1 <= speakers


def test_speakers_who_vary_alike_count_more_than_one_with_nearly_all_errors():
    llrs = np.tile([1.0, -2.0, 2.0, 0.5], 6) + np.repeat([0.3, -0.3] * 3, 4)
    target = np.tile([True, True, False, False], 6)
    speaker = np.repeat(np.arange(6), 4)
    assert 2.5 < cell_tests(llrs, target, speaker, speaker).df[0] <= 3.5
    one_only = np.where(speaker == 0, 6 * llrs, 0.0)
    assert cell_tests(one_only, target, speaker, speaker).df[0] < 2


def test_certain_errors_leave_the_covariance_undefined_without_a_warning():
    llrs, target, enrol, test = trials_of_speakers(np.random.default_rng(4), 9)
    llrs = np.where(np.abs(llrs) > 2, np.sign(llrs) * np.inf, llrs)
    assert (llrs[target] == -np.inf).any()
    assert not np.isfinite(cell_tests(llrs, target, enrol, test).covariance).all()


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "includes_0"), [(1.0, (0.91, 0.99)), (2.0, (0.0, 0.1))])
def test_the_limit_is_0_for_19_of_20_calibrated_systems_alone(factor, includes_0):
    rng = np.random.default_rng(3)
    limits = [
        cell_tests(*trials_of_speakers(rng, 60, factor)).lower_limit(0.03, 0.0)[0]
        for _ in range(200)
    ]
    assert includes_0[0] <= np.mean(np.array(limits) == 0) <= includes_0[1]


def gradient_tests(gradient, covariance, df, excess=(0, 0, 0)):
    return GradientTests(*(np.array(part, float) for part in (gradient, covariance, excess, df)))


@given(st.floats(0, 1), st.floats(-0.1, 1), st.tuples(*[st.floats(-1, 1)] * 2), st.integers(2, 200))
def test_the_limit_lies_between_0_and_the_loss_or_its_own_limit(loss, low, gradient, df):
    tests = gradient_tests(gradient, [[0.02, 0.005], [0.005, 0.01]], df)
    limit = tests.lower_limit(loss, low)
    assert 0 <= limit <= max(loss, low, 0)
    further = tests._replace(gradient=2 * tests.gradient).lower_limit(loss, low)
    assert further >= limit or limit == pytest.approx(max(low, 0))


@pytest.mark.parametrize(
    ("gradient", "covariance", "df"),
    [
        ([np.inf, 1.0], np.eye(2), 20),
        ([0.1, 0.1], np.zeros((2, 2)), 20),
        ([0.1, 0.1], -np.eye(2), 20),
        ([0.1, 0.1], np.eye(2), np.nan),
        ([0.1, 0.1], np.eye(2), 1),
    ],
)
def test_without_a_test_the_limit_is_that_of_the_loss_itself(gradient, covariance, df):
    assert gradient_tests(gradient, covariance, df).lower_limit(0.3, 0.2) == 0.2


def test_a_rare_error_that_did_not_occur_makes_no_gradient_certain():
    """Ratios of 4 say that 1 in 55 such trials is an error; of 40 none needs to be."""
    llrs, labels = np.repeat([4.0, -4.0], 40), np.repeat([1, 0], 40)
    certain = gradient_tests(cllr_gradient(llrs, labels), np.eye(2) * 1e-9, 39)
    assert certain.lower_limit(0.02, 0.0) > 0
    excess = gradient_variance_excess(llrs, labels)
    assert certain._replace(excess=excess).lower_limit(0.02, 0.0) == 0


@pytest.mark.slow
def test_the_excess_is_what_the_variance_of_calibrated_trials_lacks_on_average():
    rng = np.random.default_rng(2)
    excesses = []
    for _ in range(400):
        llrs, target, _, _ = trials_of_speakers(rng, 30)
        excesses.append(gradient_variance_excess(llrs, target))
    mean, error = np.mean(excesses, axis=0), np.std(excesses, axis=0) / np.sqrt(400)
    assert (np.abs(mean) < 4 * error).all()


def test_cells_without_trials_or_class_have_no_test():
    rng = np.random.default_rng(1)
    llrs, target, enrol, test = trials_of_speakers(rng, 12)
    cell = np.where(target, 0, 2).astype(np.int32)  # targets, nothing, nontargets
    tests = cell_tests(llrs, target, enrol, test, cell)
    np.testing.assert_array_equal(tests.lower_limit([0.1] * 3, [0.05] * 3), [0.05] * 3)


def test_implied_variance_is_no_estimate_from_few_speakers():
    """Degrees of freedom count what is estimated: the more is implied, the smaller the limit."""
    gradient = [0.3, 0.3]
    estimated = gradient_tests(gradient, [[0.02, 0], [0, 0.02]], 3)
    half_implied = gradient_tests(gradient, [[0.01, 0], [0, 0.01]], 3, (0.01, 0, 0.01))
    twelve_df = gradient_tests(gradient, [[0.02, 0], [0, 0.02]], 12)
    assert estimated.lower_limit(0.03, 0.0) == 0
    assert half_implied.lower_limit(0.03, 0.0) == pytest.approx(twelve_df.lower_limit(0.03, 0.0))
    assert half_implied.lower_limit(0.03, 0.0) > 0
