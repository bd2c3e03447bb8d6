from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.corrected import (
    corrected_variance,
    double_corrected_variance,
    heterogeneity,
    q_log,
    q_statistic,
    resampled_variance,
    tau_log,
    tau_log_by_variance,
)

NAN = np.nan
positive = st.lists(st.floats(1e-4, 0.9), min_size=3, max_size=9)
bounded = settings(max_examples=50, deadline=None)


def test_corrected_variances_of_the_vector(vector):
    inputs, expected, tol = vector("4.7_double_corrected_variance")
    rates, n = np.array(inputs["rates"]), np.array(inputs["n"])
    single = corrected_variance(rates, n)
    assert single == pytest.approx(expected["corrected"], abs=tol)
    assert np.var(rates, ddof=1) - single == pytest.approx(expected["mean_sampling_var"], abs=tol)
    double = double_corrected_variance(rates, n)
    assert double == pytest.approx(expected["double_corrected_raw"], abs=tol)
    # the variance over speakers in the place of the binomial one, as effective trials
    assert corrected_variance(rates, n / 3) == pytest.approx(expected["corrected_with_deff3"])


def test_heterogeneity_of_the_vector(vector):
    inputs, expected, tol = vector("4.8_heterogeneity_log_rates")
    rates, n = np.array(inputs["FNR"]), np.array(inputs["N_target"])
    found = heterogeneity(rates, inputs["deff"] * rates * (1 - rates) / n)
    assert found.q == pytest.approx(expected["Q"], abs=tol)
    assert found.df == expected["df"]
    assert found.p == pytest.approx(expected["p_chi2"], abs=tol)
    assert found.tau2 == pytest.approx(expected["tau2"], abs=tol)
    assert found.i2 == pytest.approx(expected["I2"], abs=tol)


def test_correction_is_right_on_average():
    # true rates vary by a standard deviation of 0.1; 40 trials a group
    rng = np.random.default_rng(5)
    true = np.array([0.2, 0.3, 0.4])
    n = np.full(3, 40)
    drawn = rng.binomial(n, true, (20_000, 3)) / n
    left = corrected_variance(drawn, n)
    # p (1 - p) / n of a drawn p falls short of the true one by the share 1 / n
    assert left.mean() == pytest.approx(0.01, abs=3 * left.std() / 141 + 0.0052 / 40)
    assert (left < 0).any()
    again = rng.binomial(n, drawn) / n
    twice = double_corrected_variance(again, n)
    assert twice.mean() == pytest.approx(0.01, abs=3 * twice.std() / 141 + 0.0001)


def test_resampled_variance_covers_the_true_one_and_is_the_same_for_a_seed():
    def found(seed):
        return resampled_variance([0.1, 0.3, 0.5], [200] * 3, 400, np.random.default_rng(seed))

    assert found(1) == found(1)
    assert found(1) != found(2)
    assert found(1).low < 0.04 < found(1).high
    assert found(1).median == pytest.approx(0.04, abs=0.01)


def test_effective_trials_need_not_be_whole_numbers():
    few = resampled_variance([0.1, NAN, 0.5], [0.2, NAN, 10.4], 200, np.random.default_rng(0))
    assert np.isfinite(few).all()
    many = resampled_variance([0.1, NAN, 0.5], [90.0, NAN, 90.0], 200, np.random.default_rng(0))
    assert few.high - few.low > many.high - many.low


def test_tau_log_takes_out_what_fair_systems_show():
    rng = np.random.default_rng(3)
    null = np.exp(rng.normal(0, 0.4, (2000, 9)))
    noisy = np.exp(rng.normal(0, 0.4, (400, 9)))
    fair = tau_log(noisy, np.broadcast_to(null[:, None], (2000, 400, 9)))
    assert 0.3 < (fair.value == 0).mean() < 0.7
    assert (fair.p <= 0.05).mean() == pytest.approx(0.05, abs=0.035)
    unfair = tau_log(
        noisy * np.exp(0.8 * rng.standard_normal((400, 9))),
        np.broadcast_to(null[:, None], (2000, 400, 9)),
    )
    assert np.sqrt((unfair.value**2).mean()) == pytest.approx(0.8, abs=0.06)


@given(positive, st.floats(0.01, 100))
@bounded
def test_tau_log_does_not_change_with_a_common_factor(rates, factor):
    rates = np.array(rates)
    null = np.ones((5, rates.size))
    found = tau_log(rates, null)
    assert found.value == pytest.approx(np.std(np.log(rates), ddof=1), abs=1e-9)
    assert tau_log(rates * factor, null).value == pytest.approx(found.value, abs=1e-6)
    assert tau_log_by_variance(rates, 0 * rates) == pytest.approx(found.value, abs=1e-9)


def test_tau_log_is_undefined_rather_than_zero_where_nothing_can_be_told():
    null = np.ones((4, 3))
    assert np.isnan(tau_log([0.1, NAN, 0.2], null)).all()  # two groups
    assert np.isnan(tau_log([0.1, 0.0, 0.2], null)).all()  # the logarithm of 0
    assert np.isnan(tau_log([0.1, 0.3, 0.2], NAN * null)).all()  # null draws refused
    assert np.isnan(tau_log_by_variance([0.1, 0.2], [1e-4, 1e-4]))
    assert tau_log([0.1, 0.3, 0.2, NAN], np.ones((4, 4))).value > 0


def test_noise_can_explain_all_of_the_spread():
    assert tau_log_by_variance([0.1, 0.11, 0.12], [0.1, 0.1, 0.1]) == 0


def test_q_leaves_out_groups_and_weighs_the_others():
    assert q_statistic([1.0, NAN, 3.0], [1.0, 1.0, NAN]) == 0
    assert q_statistic([1.0, 3.0], [3.0, 1.0]) == pytest.approx(3 * 0.25 + 2.25)
    assert np.isnan(q_statistic([NAN], [1.0]))


def test_groups_that_are_hardly_known_hardly_count_in_q():
    rng = np.random.default_rng(9)
    sd = np.array([0.05, 0.05, 0.05, 1.5])
    null = np.exp(sd * rng.standard_normal((999, 4)))
    small_off, large_off = np.exp([[0, 0, 0, 1.5], [0.4, 0, 0, 0]])
    assert q_log(small_off, null)[1] > 0.3
    assert q_log(large_off, null)[1] == pytest.approx(0.001)
    assert tau_log(large_off, null).p > 0.3  # the unweighted spread cannot see it
    many = np.exp(sd * rng.standard_normal((300, 4)))
    _, p = q_log(many, np.repeat(null[:, None], 300, axis=1))
    assert p.mean() == pytest.approx(0.5, abs=0.06)
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.035)


def test_q_of_one_group_or_of_refused_draws_is_unknown():
    null = np.exp(np.random.default_rng(0).standard_normal((9, 2)))
    assert np.isnan(q_log([0.1, NAN], null)).all()
    assert np.isnan(q_log([0.1, 0.2], NAN * null)).all()


def test_heterogeneity_of_equal_groups_is_none_and_of_one_group_unknown():
    equal = heterogeneity([0.1, 0.1, 0.1], [1e-4] * 3)
    assert (equal.q, equal.tau2, equal.i2, equal.p) == (0, 0, 0, 1)
    one = heterogeneity([0.1, 0.0, NAN], [1e-4, 0.0, 1e-4])
    assert one.df == 0
    assert np.isnan([one.q, one.tau2, one.i2, one.p]).all()
