from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.beyond_noise import (
    corrected_variance,
    double_corrected_variance,
    expect_errors,
    heterogeneity,
    resampled_rates,
    spread_of_draws,
    tau_log,
    welch,
)
from parivox.core.noise import floor

NAN = np.nan
positive = st.lists(st.floats(1e-4, 0.9), min_size=3, max_size=9)
bounded = settings(max_examples=50, deadline=None)


def resampled(rates, trials, replicates, seed):
    rng = np.random.default_rng(seed)
    return spread_of_draws(resampled_rates(rates, trials, replicates, rng), trials)


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


def test_correction_is_right_on_average():
    # true rates vary by a standard deviation of 0.1; 40 trials a group
    rng = np.random.default_rng(5)
    true = np.array([0.2, 0.3, 0.4])
    n = np.full(3, 40)
    drawn = rng.binomial(n, true, (20_000, 3)) / n
    remainder = corrected_variance(drawn, n)
    # p (1 - p) / n of a drawn p falls short of the true one by the share 1 / n
    assert remainder.mean() == pytest.approx(0.01, abs=3 * remainder.std() / 141 + 0.0052 / 40)
    assert (remainder < 0).any()
    again = rng.binomial(n, drawn) / n
    twice = double_corrected_variance(again, n)
    assert twice.mean() == pytest.approx(0.01, abs=3 * twice.std() / 141 + 0.0001)


def test_resampled_variance_covers_the_true_one_and_is_the_same_for_a_seed():
    def interval_of(seed):
        return resampled([0.1, 0.3, 0.5], [200] * 3, 400, seed)

    assert interval_of(1) == interval_of(1)
    assert interval_of(1) != interval_of(2)
    assert interval_of(1).low < 0.04 < interval_of(1).high
    assert interval_of(1).median == pytest.approx(0.04, abs=0.01)


def test_effective_trials_need_not_be_whole_numbers():
    few = resampled([0.1, NAN, 0.5], [0.2, NAN, 10.4], 200, 0)
    assert np.isfinite(few).all()
    many = resampled([0.1, NAN, 0.5], [90.0, NAN, 90.0], 200, 0)
    assert few.high - few.low > many.high - many.low


@pytest.mark.slow
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
    spread = tau_log(rates, null)
    assert spread.value == pytest.approx(np.std(np.log(rates), ddof=1), abs=1e-9)
    assert tau_log(rates * factor, null).value == pytest.approx(spread.value, abs=1e-6)


def test_tau_log_is_undefined_rather_than_zero_where_nothing_can_be_told():
    null = np.ones((4, 3))
    assert np.isnan(tau_log([0.1, NAN, 0.2], null)).all()  # two groups
    assert np.isnan(tau_log([0.1, 0.0, 0.2], null)).all()  # the logarithm of 0
    assert np.isnan(tau_log([0.1, 0.3, 0.2], NAN * null)).all()  # null draws refused
    assert tau_log([0.1, 0.3, 0.2, NAN], np.ones((4, 4))).value > 0


def test_heterogeneity_by_hand():
    null = np.random.default_rng(3).uniform(0.01, 0.03, (50, 4))
    observed = np.array([0.01, 0.02, 0.03, 0.05])
    weights = 1 / null.var(axis=0)

    def by_hand(rates):
        middle = np.average(rates, weights=weights)
        return (weights * (rates - middle) ** 2).sum() / 3

    excess = heterogeneity(observed, null)
    assert excess.value == pytest.approx(by_hand(observed))
    assert excess.draws == pytest.approx([by_hand(draw) for draw in null])
    assert 0.5 < excess.draws.mean() < 2


def test_heterogeneity_leaves_out_groups_that_tell_nothing():
    null = np.random.default_rng(4).uniform(0.01, 0.03, (50, 4))
    null[:, 3] = 0.02  # no draw varies
    excess = heterogeneity([0.01, np.nan, 0.03, 0.9], null)
    two = heterogeneity([0.01, 0.03], null[:, [0, 2]])
    assert excess.value == pytest.approx(two.value)
    assert excess.draws == pytest.approx(two.draws)
    assert np.isnan(heterogeneity([0.01, np.nan, np.nan, 0.9], null).value)
    assert np.isnan(heterogeneity([0.01, 0.02], np.full((9, 2), np.nan)).value)


def test_welch_of_two_groups_is_the_t_test_of_unequal_variances():
    rng = np.random.default_rng(3)
    first_sample, second_sample = rng.normal(0, 1, 12), rng.normal(0.8, 3, 7)
    means = np.array([first_sample.mean(), second_sample.mean()])
    se = np.array([x.std(ddof=1) / np.sqrt(x.size) for x in (first_sample, second_sample)])
    expected = scipy.stats.ttest_ind(first_sample, second_sample, equal_var=False).pvalue
    rates = np.exp(means)
    assert welch(rates, se * rates, [11, 6]) == pytest.approx(expected)


def test_welch_holds_its_level_where_groups_vary_unlike():
    rng = np.random.default_rng(5)
    spread, n = np.array([1.0, 4.0, 1.0, 4.0, 1.0]), 15
    drawn = 0.05 * spread[:, None] * rng.standard_normal((4000, 5, n))
    rates = np.exp(drawn.mean(axis=-1))
    se = rates * drawn.std(axis=-1, ddof=1) / np.sqrt(n)
    assert 0.035 < np.mean(welch(rates, se, np.full(5, n - 1)) < 0.05) < 0.065


def test_welch_leaves_out_groups_that_tell_nothing():
    rates, se, df = [0.02, 0.03, 0.0, 0.05], [0.004, 0.006, np.nan, np.nan], [20, 20, 5, np.nan]
    assert welch(rates, se, df) == welch(rates[:2], se[:2], df[:2])
    assert np.isnan(welch([0.02, 0.0], [0.004, np.nan], [20, np.nan]))


@pytest.mark.slow
def test_groups_of_hardly_any_trials_do_not_hide_what_large_ones_show():
    trials = np.array([5.0] * 12 + [1500.0, 3000.0, 9000.0])
    times = {"fair": 1.0, "raised": np.where(np.arange(15) == 12, 2.5, 1.0)}
    p = {name: [] for name in times}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        draws = rng.poisson(0.01 * trials, (499, 15))
        for name, factor in times.items():
            errors = rng.poisson(0.01 * trials * factor)
            counts = expect_errors(errors, trials)
            assert not counts[:12].any()
            assert counts[12:].all()
            excess = heterogeneity(np.where(counts, errors / trials, np.nan), draws / trials)
            p[name].append(float(floor(*excess).p))
    assert np.mean(np.array(p["raised"]) <= 0.05) > 0.95
    assert np.mean(np.array(p["fair"]) <= 0.05) < 0.1


def test_errors_are_expected_of_known_groups_alone():
    assert expect_errors([np.nan, 10], [np.nan, 100]).tolist() == [False, True]
    assert expect_errors([[1, 3], [0, 0]], [[50, 50], [50, 50]]).tolist() == [
        [True, True],
        [False, False],
    ]
