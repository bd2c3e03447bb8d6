"""The interval of the spread between groups that noise does not explain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.beyond_noise import spread_interval

NAN = np.nan


def drawn(groups, spread, noise, n=300, seed=0):
    """Observed values of so many systems whose groups have one true spread, and draws of noise."""
    rng = np.random.default_rng(seed)
    sd = noise * np.exp(rng.normal(0, 0.5, groups))
    true = rng.normal(size=groups)
    true *= spread / true.std(ddof=1)
    values = true + rng.normal(size=(n, groups)) * sd
    off = rng.normal(size=(500, 1, groups)) * sd
    return values, np.broadcast_to(off, (500, n, groups))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [3, 9, 18])
@pytest.mark.parametrize("noise", [0.1, 0.4])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4, 1.0])
def test_it_covers_the_true_spread(groups, noise, spread):
    intervals = [spread_interval(*drawn(groups, spread, noise, seed=seed)) for seed in range(4)]
    covered = np.mean(
        [(interval.low <= spread) & (spread <= interval.high) for interval in intervals]
    )
    assert covered > 0.92


def test_without_noise_it_is_the_spread():
    values = np.array([-1.0, 0.0, 1.0])
    interval = spread_interval(values, np.zeros((10, 3)))
    assert (interval.low, interval.high) == pytest.approx((1.0, 1.0))


def test_values_alike_are_no_proof_of_fairness():
    _, noise = drawn(6, 0.0, 0.3)
    interval = spread_interval(np.zeros(6), noise[:, 0])
    assert interval.low == 0
    assert interval.high > 0.2


def test_a_higher_confidence_makes_it_wider():
    values, noise = drawn(6, 0.4, 0.2, n=1)
    ends = [spread_interval(values, noise, level) for level in (0.8, 0.95, 0.99)]
    assert sorted(float(interval.low[0]) for interval in ends)[::-1] == [
        float(interval.low[0]) for interval in ends
    ]
    assert sorted(float(interval.high[0]) for interval in ends) == [
        float(interval.high[0]) for interval in ends
    ]
    assert ends[0].high < ends[2].high


@given(st.floats(-5, 5), st.permutations(range(5)))
@settings(max_examples=30, deadline=None)
def test_a_common_shift_and_the_order_of_groups_change_nothing(shift, order):
    values, noise = drawn(5, 0.5, 0.2, n=1)
    values, noise = values[0], noise[:, 0]
    expected = spread_interval(values, noise)
    interval = spread_interval(values[order] + shift, noise[:, order] + shift)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_what_is_left_out_and_what_is_refused():
    values, noise = drawn(5, 0.5, 0.2, n=1)
    values, noise = values[0], noise[:, 0].copy()
    expected = spread_interval(values[:4], noise[:, :4])
    interval = spread_interval(np.append(values[:4], NAN), noise)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert np.isnan(spread_interval(values[:2], noise[:, :2])).all()
    noise[:20, 0] = NAN  # 4 % of the draws
    complete = spread_interval(values, noise)
    assert np.isfinite(complete).all()
    noise[:60, 0] = NAN
    assert np.isnan(spread_interval(values, noise)).all()
