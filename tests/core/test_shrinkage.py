"""Best guesses against plain arithmetic on the model, whole matrices at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta, multivariate_normal

from parivox.core.shrinkage import interaction, log_rates, power, shrunken

CROSSED = np.array([[g, n] for g in (0, 1) for n in (0, 1, 2)])
LOGS = np.log([0.02, 0.03, 0.05, 0.01, 0.02, 0.2])
NOISE = np.array([0.05, 0.1, 0.3, 0.02, 0.6, 0.9])


def by_matrices(y, noise, attributes, spreads):
    """Mean of ln rates given the data, by the covariance of everything with everything."""
    one_hot = [(codes[:, None] == np.unique(codes)).astype(float) for codes in attributes.T]
    common = (
        sum(indicator @ indicator.T for indicator in one_hot)
        if len(one_hot) > 1
        else np.zeros((len(y),) * 2)
    )
    likely, means = [], []
    for inner in spreads:
        for outer in spreads if len(one_hot) > 1 else (0.0,):
            truth = 1e6 + outer**2 * common + inner**2 * np.eye(len(y))
            covariance = truth + np.diag(noise)
            centre = y.mean() * np.ones(len(y))
            likely.append(multivariate_normal(centre, covariance).logpdf(y))
            means.append(centre + truth @ np.linalg.solve(covariance, y - centre))
    weight = np.exp(np.array(likely) - max(likely))
    return weight @ np.array(means) / weight.sum()


@pytest.mark.parametrize("attributes", [CROSSED, np.arange(6)[:, None]])
def test_a_best_guess_is_what_the_model_says_given_the_data(attributes):
    spreads = np.tan(np.pi / 2 * (np.arange(12) + 0.5) / 12)
    expected = by_matrices(LOGS, NOISE, attributes, spreads)
    assert shrunken(LOGS, NOISE, attributes).log_rate == pytest.approx(expected, abs=1e-5)


def test_logarithms_of_rates_are_those_of_a_beta_variable():
    logs = log_rates([0.0, 0.1, np.nan, 0.2], [30, 40, 50, 0])
    for i, (errors, n) in enumerate([(0, 30), (4, 40)]):
        variable = beta(errors + 0.5, n - errors + 0.5)
        assert logs.value[i] == pytest.approx(variable.expect(np.log), rel=1e-6)
        assert logs.variance[i] == pytest.approx(
            variable.expect(lambda x: np.log(x) ** 2) - logs.value[i] ** 2, rel=1e-5
        )
    assert np.isnan(logs.value[2:]).all()
    assert np.isnan(logs.variance[2:]).all()


def test_small_groups_are_drawn_further_and_none_beyond_the_others():
    estimates = shrunken(
        np.log([0.01, 0.01, 0.01, 0.04, 0.04]),
        [0.02, 0.02, 0.02, 0.02, 1.0],
        [[i] for i in range(5)],
    )
    likely = estimates.rate.value
    assert 0.01 < likely[0] < 0.011
    assert 0.03 < likely[3] < 0.04
    assert 0.01 < likely[4] < 0.025
    low, high = estimates.rate.low, estimates.rate.high
    assert ((low < likely) & (likely < high)).all()
    assert high[4] / low[4] > high[3] / low[3]


def test_groups_without_a_rate_change_nothing_and_points_stand_alone():
    gone = np.array([0, 0, 1, 0, 0, 0], dtype=bool)
    y = np.where(gone, np.nan, LOGS)
    stacked_points = shrunken(np.stack([y, LOGS]), np.stack([NOISE, NOISE]), CROSSED, df=7)
    apart = shrunken(LOGS[~gone], NOISE[~gone], CROSSED[~gone], df=7)
    assert np.isnan(stacked_points.rate.value[0, gone]).all()
    assert stacked_points.rate.value[0, ~gone] == pytest.approx(apart.rate.value, rel=1e-3)
    lone_point = shrunken(LOGS, NOISE, CROSSED, df=7)
    for stacked_rate, lone_rate in zip(stacked_points.rate, lone_point.rate, strict=True):
        assert stacked_rate[1] == pytest.approx(lone_rate)


def test_two_groups_are_each_others_reciprocal():
    estimates = shrunken(np.log([0.02, 0.05]), [0.1, 0.2], [[0], [1]], df=[9, 5])
    first_ratio, second_ratio = np.transpose(estimates.ratio([0.3, 0.7], to_others=True))
    assert first_ratio[0] * second_ratio[0] == pytest.approx(1)
    assert 0.4 < first_ratio[0] < 1
    assert first_ratio[1] < first_ratio[0] < first_ratio[2]


def test_ratios_are_those_of_the_best_guesses():
    estimates, shares = shrunken(LOGS, NOISE, CROSSED), np.array([0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
    rate = estimates.rate.value
    others_rate = (shares @ rate - shares * rate) / (1 - shares)
    assert estimates.ratio(shares, to_others=True).value == pytest.approx(rate / others_rate)
    assert estimates.ratio(shares).value == pytest.approx(rate / (shares @ rate))
    to_first = estimates.ratio(np.eye(6)[0])
    assert to_first.value == pytest.approx(rate / rate[0])
    assert (to_first.low[0], to_first.high[0]) == pytest.approx((1, 1))
    # nearly everyone: as certain as its ratio to any part of the rest
    large = estimates.ratio(np.array([1 - 5e-9, *[1e-9] * 5])).value
    assert large == pytest.approx(rate / rate[0])


@pytest.mark.slow
def test_ratios_are_as_uncertain_as_draws_of_the_model():
    rng = np.random.default_rng(4)
    estimates, shares = shrunken(LOGS, NOISE, CROSSED), np.array([0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
    node = rng.choice(estimates.weight.size, 20_000, p=estimates.weight)
    drawn = estimates.mean[node] + np.sqrt(estimates.own_variance[node]) * rng.standard_normal(
        (20_000, 6)
    )
    effects = rng.standard_normal((20_000, estimates.shared_effects.shape[-1]))
    drawn += np.einsum("dgu,du->dg", estimates.shared_effects[node], effects)
    others_rate = (np.exp(drawn) @ shares)[:, None] - shares * np.exp(drawn)
    ratios = drawn - np.log(others_rate / (1 - shares))
    ratio = estimates.ratio(shares, to_others=True)
    spread = np.log(ratio.high / ratio.low) / (2 * ndtri(0.975))
    assert spread == pytest.approx(ratios.std(axis=0), rel=0.2)


def test_attributes_that_multiply_rates_add_up():
    rng = np.random.default_rng(3)
    rates = 0.02 * np.array([1, 3])[CROSSED[:, 0]] * np.array([1, 0.5, 2])[CROSSED[:, 1]]
    null = np.exp(np.log(0.02) + rng.normal(0, 0.3, (400, 6)))
    assert interaction(rates, null, CROSSED).value == pytest.approx(0, abs=1e-12)
    off = rates * np.array([1, 1, 4, 1, 1, 1])
    excess = interaction(np.stack([rates, off]), np.stack([null, null], axis=1), CROSSED)
    assert excess.value[1] > 2
    assert excess.off[1].argmax() == 2
    # whatever the attributes do
    assert interaction(off / rates, null, CROSSED).value == pytest.approx(excess.value[1])
    assert excess.draws[:, 0].mean() == pytest.approx(1, abs=0.15)


def test_one_attribute_adds_up_to_anything():
    null = np.exp(np.random.default_rng(3).normal(0, 0.3, (40, 6)))
    assert np.isnan(interaction(np.exp(LOGS), null, np.arange(6)[:, None]).value)
    nested = np.stack([np.arange(6) // 3, np.arange(6)], axis=-1)
    assert np.isnan(interaction(np.exp(LOGS), null, nested).value)


def test_power_is_a_half_where_the_best_guess_is_just_beyond_chance():
    low, high = np.exp([-0.5, 0.5]) * 3
    rate = np.exp(0.5 / ndtri(0.975) * ndtri(0.975))
    assert power(rate, low, high, 0.05) == pytest.approx(0.5)
    assert power(1 / rate, low, high, 0.05) == pytest.approx(0.5)
    assert power(rate, low, high, 0.05 / 18) < 0.2
    assert np.isnan(power(2.0, 0.0, 3.0, 0.05))
