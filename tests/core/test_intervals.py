from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import kappa2, level, limits, other_kappa2, rate_interval
from parivox.errors import ConfigError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
few_examples = settings(max_examples=50, deadline=None)


def of_groups(*groups):
    """Target trials: (errors by speaker, trials by speaker) of each group."""
    errors, trials = (np.concatenate([np.array(g[i]) for g in groups]) for i in (0, 1))
    cell = np.repeat(np.arange(len(groups)), [len(g[0]) for g in groups])
    return ErrorsBySpeaker(cell, np.arange(cell.size), errors, trials, len(groups))


def some_speakers(rng, sizes=(6, 9, 2, 30)):
    trials = [rng.integers(1, 300, n) for n in sizes]
    return of_groups(*((rng.binomial(m, rng.beta(0.5, 4, m.size)), m) for m in trials))


def some_pairs(rng, sizes=(5, 8, 3)):
    pairs_by_cell = [np.stack(np.triu_indices(n, 1)) + sum(sizes[:i]) for i, n in enumerate(sizes)]
    first_speaker, second_speaker = np.concatenate(pairs_by_cell, axis=1)
    cell = np.repeat(np.arange(len(sizes)), [cell_pairs.shape[1] for cell_pairs in pairs_by_cell])
    rate = rng.beta(0.5, 4, sum(sizes))
    trials = rng.integers(1, 60, cell.size)
    return ErrorsByPair(
        cell,
        first_speaker,
        second_speaker,
        rng.binomial(trials, rate[first_speaker] * rate[second_speaker]),
        trials,
        3,
    )


def mirrored(cluster_errors):
    return replace(cluster_errors, errors=cluster_errors.trials - cluster_errors.errors)


@pytest.mark.parametrize("name", ["4.16_fnr_interval_equal", "4.17_fnr_interval_unequal"])
def test_target_vectors(vector, name):
    inputs, expected, tol = vector(name)
    sums = moments(of_groups((inputs["errors_per_speaker"], inputs["trials_per_speaker"])))
    assert_as_expected(sums, rate_interval(sums, inputs["confidence"]), expected, tol)


def test_nontarget_vector(vector):
    inputs, expected, tol = vector("4.18_fpr_interval")
    first_speaker, second_speaker = np.triu_indices(6, 1)
    errors, trials = (
        np.array(inputs[x])[first_speaker, second_speaker] for x in ("pair_errors", "pair_trials")
    )
    sums = moments(
        ErrorsByPair(np.zeros_like(first_speaker), first_speaker, second_speaker, errors, trials, 1)
    )
    assert_as_expected(sums, rate_interval(sums, inputs["confidence"]), expected, tol)


def assert_as_expected(sums, interval, expected, tol):
    got = {
        "rate": interval.rate,
        "V": interval.se**2,
        "V_binomial": sums.variance_binomial,
        "df": interval.df,
        "low": interval.low,
        "high": interval.high,
    }
    for name, want in expected.items():
        assert got[name][0] == pytest.approx(want, abs=tol), name
    assert interval.deff[0] == pytest.approx(expected["V"] / expected["V_binomial"])
    assert interval.n_eff[0] == pytest.approx(sums.trials[0] / interval.deff[0])
    assert interval.method.tolist() == ["speakers"]


def test_what_so_many_independent_trials_can_show(vector):
    inputs, expected, tol = vector("5.3_min_fpr_resolution")
    for n in inputs["N"]:
        sums = moments(of_groups(([0] * n, [1] * n), ([1, *[0] * (n - 1)], [1] * n)))
        interval = rate_interval(sums)  # of speakers with one trial each
        assert interval.rate[1] == pytest.approx(expected[str(n)]["one_error"], abs=tol)
        assert interval.high[0] == pytest.approx(expected[str(n)]["rule_of_3"], rel=1e-6)


def test_zero_errors_take_the_design_effect_of_the_other_groups(vector):
    inputs, expected, tol = vector("4.15_zero_errors_neff")
    # speakers of which a group alike in all but its errors has this design effect
    lender = ([0, 4, 8, 4], [50, 50, 50, 50])
    sums = moments(of_groups(([0] * 5, [226] * 5), lender, ([0] * 5, [226] * 5)))
    deff = sums.variance[1] / sums.variance_binomial[1]
    scale = inputs["pooled_deff"] / deff
    interval = rate_interval(sums)
    np.testing.assert_allclose(
        interval.high[[0, 2]] * scale, expected["upper_rule_of_3"], atol=tol, rtol=0
    )
    np.testing.assert_allclose(interval.n_eff[[0, 2]] / scale, expected["n_eff"], rtol=1e-9)
    assert interval.low[[0, 2]].tolist() == [0, 0]
    assert interval.method.tolist() == ["zero-errors", "speakers", "zero-errors"]
    assert "no_errors\ndeff_of_other_groups" in interval.note[0]
    for undefined in (interval.deff, interval.se, interval.df):
        assert np.isnan(undefined[[0, 2]]).all()


def test_zero_errors_with_nobody_to_ask_count_speakers_as_trials():
    interval = rate_interval(moments(of_groups(([0] * 6, [200] * 6))))
    assert interval.high[0] == pytest.approx(3 / 6)
    assert "speakers_as_trials" in interval.note[0]
    first_speaker, second_speaker = np.triu_indices(10, 1)
    no_errors = ErrorsByPair(
        np.zeros_like(first_speaker),
        first_speaker,
        second_speaker,
        np.zeros_like(first_speaker),
        np.full_like(first_speaker, 9),
        1,
    )
    assert rate_interval(moments(no_errors)).high[0] == pytest.approx(3 / 5)
    # a lender whose trials depend more than one trial of each speaker can
    lender = ([0, 0, 0, 90], [100] * 4)
    interval = rate_interval(moments(of_groups(([0] * 40, [1] * 40), lender)))
    assert interval.high[0] == pytest.approx(3 / 40)


@pytest.mark.slow
@few_examples
@given(seeds)
def test_limits_hold_the_rate_and_solve_their_equation(rng):
    rate, df = rng.uniform(1e-6, 1 - 1e-6, 50), rng.uniform(1, 60, 50)
    variance = rate * (1 - rate) * rng.uniform(1e-6, 0.5, 50)
    low, high = limits(rate, variance, df, 0.9)
    assert ((low > 0) & (low < rate) & (rate < high) & (high < 1)).all()
    _, wide = limits(rate, variance, df, 0.99)
    assert (wide >= high).all()
    from scipy.special import stdtrit

    t2 = stdtrit(df, 0.95) ** 2
    for q in (low, high):
        right = t2 * variance * (q * (1 - q) / (rate * (1 - rate))) ** 1.5
        near = (1 - q) > 1e-6
        np.testing.assert_allclose((rate - q)[near] ** 2, right[near], rtol=1e-6)
    assert np.isnan(limits([0, 1, np.nan], 0.1, 3)).all()


@pytest.mark.slow
@few_examples
@given(seeds)
def test_intervals_hold_their_rates_and_widen_with_confidence(rng):
    for cluster_errors in (some_speakers(rng), some_pairs(rng)):
        sums = moments(cluster_errors)
        intervals = [rate_interval(sums, c) for c in (0.5, 0.9, 0.95, 0.99)]
        for interval in intervals:
            assert ((interval.low >= 0) & (interval.high <= 1)).all()
            inner = interval.method == "speakers"
            assert ((interval.low < interval.rate) & (interval.rate < interval.high))[inner].all()
            assert ((interval.low <= interval.rate) & (interval.rate <= interval.high)).all()
            assert (interval.deff[inner] >= 1 - 1e-12).all()
            assert (interval.n_eff <= sums.trials * (1 + 1e-12)).all()
        for narrow, wide in pairwise(intervals):
            assert (wide.low <= narrow.low).all()
            assert (wide.high >= narrow.high).all()


@pytest.mark.slow
@few_examples
@given(seeds)
def test_successes_mirror_errors(rng):
    for cluster_errors in (some_speakers(rng), some_pairs(rng)):
        interval, turned = (
            rate_interval(moments(x)) for x in (cluster_errors, mirrored(cluster_errors))
        )
        np.testing.assert_allclose(interval.low, 1 - turned.high, atol=1e-9)
        np.testing.assert_allclose(interval.high, 1 - turned.low, atol=1e-9)
        assert (interval.method == turned.method).all()


@pytest.mark.slow
@few_examples
@given(seeds)
def test_twice_as_many_speakers_narrow_the_interval_half_of_them_widen_it(rng):
    cluster_errors = some_speakers(rng, (6, 12))
    twice = ErrorsBySpeaker(
        np.repeat(cluster_errors.cell, 2),
        np.arange(2 * cluster_errors.cell.size),
        np.repeat(cluster_errors.errors, 2),
        np.repeat(cluster_errors.trials, 2),
        2,
    )
    few, many = rate_interval(moments(cluster_errors)), rate_interval(moments(twice))
    assert (many.high <= few.high + 1e-12).all()
    assert (many.low >= few.low - 1e-12).all()
    np.testing.assert_allclose(many.rate, few.rate)


@pytest.mark.parametrize("errors", [[1], [2], [1, 1], [3, 1], [1] * 8])
@pytest.mark.parametrize("speakers", [2, 3, 8, 200])
def test_few_errors_have_wide_limits_around_their_rate(errors, speakers):
    errors = np.pad(errors[:speakers], (0, max(0, speakers - len(errors))))
    interval = rate_interval(moments(of_groups((errors, [50] * speakers))))
    assert 0 < interval.low[0] < interval.rate[0] < interval.high[0] < 1
    assert interval.high[0] > 2 * interval.rate[0]
    assert interval.deff[0] >= 1


def test_cells_that_tell_nothing_say_why():
    interval = rate_interval(moments(ErrorsBySpeaker(*(np.array([x]) for x in (0, 0, 3, 9)), 2)))
    assert np.isnan(interval.low).all()
    assert np.isnan(interval.high).all()
    assert interval.method.tolist() == ["", ""]
    assert interval.rate[0] == pytest.approx(1 / 3)
    assert interval.note.tolist() == ["common_speaker", "no_trials"]
    # not even without errors: nothing is known of other speakers
    alone = rate_interval(moments(ErrorsBySpeaker(*(np.array([x]) for x in (0, 0, 0, 9)), 1)))
    assert np.isnan(alone.high[0])


def test_notes_warn_of_what_the_interval_cannot_see():
    even, one_bad = [4, 6] * 20, [4, 6] * 19 + [5, 300]
    trials = [400] * 40
    interval = rate_interval(
        moments(of_groups((even, trials), (one_bad, trials), ([0, 9, 0], [9] * 3)))
    )
    assert interval.note[0] == ""
    assert interval.note[1] == "interval_may_be_short\nupper_limit_only"
    assert interval.note[2].endswith('few_speakers_for_rare_kinds{"speakers": 3}')


def test_all_errors_mirror_no_errors():
    interval = rate_interval(moments(of_groups(([9] * 40, [9] * 40), ([0] * 40, [9] * 40))))
    assert interval.high.tolist() == [1, pytest.approx(3 / 40)]
    assert interval.low.tolist() == [pytest.approx(1 - 3 / 40), 0]
    assert interval.note[0] == "only_errors\nspeakers_as_trials"


def test_levels_name_the_confidence_of_limits():
    varied = moments(some_speakers(np.random.default_rng(3)))
    extreme = moments(of_groups(([0] * 9, [30] * 9), ([1, 2, 3], [30] * 3), ([30] * 9, [30] * 9)))
    for sums in (varied, extreme):
        for confidence in (0.5, 0.95, 0.999):
            interval = rate_interval(sums, confidence)
            middle = rate_interval(sums)
            for limit in (interval.low, interval.high):
                inner = (limit > 0) & (limit < 1)
                np.testing.assert_allclose(level(middle, limit)[inner], 1 - confidence, rtol=1e-6)
        assert (level(middle, middle.rate) == 1).all()


def test_pooled_speaker_variance(vector):
    inputs, expected, tol = vector("4.20_kappa2_pool")
    sums = moments(of_groups(*inputs["groups"]))
    assert kappa2(sums) == pytest.approx(expected["kappa2"], abs=tol)
    four = moments(of_groups(*inputs["groups"], ([0] * 5, [9] * 5), ([3, 1, 0], [9] * 3)))
    assert np.isnan(other_kappa2(four)[[0, 1, 3]]).all()  # two others have errors
    assert other_kappa2(four)[2] == pytest.approx(kappa2(four))


def test_pooled_floor_draws_small_variances_up():
    small = ([2, 2, 3, 2, 2], [100] * 5)
    sums = moments(of_groups(small, *[([12, 0, 3, 41, 7, 1, 0, 9], [230] * 8)] * 3))
    floor = other_kappa2(sums)
    plain, raised = rate_interval(sums), rate_interval(sums, pooled_floor=floor)
    rate, n, s = 11 / 500, 500, 5
    pooled = rate * (1 - rate) / n + floor[0] * (rate * (1 - rate)) ** 1.5 / 5
    assert raised.se[0] ** 2 == pytest.approx((2 * pooled + (s - 1) * plain.se[0] ** 2) / (s + 1))
    assert raised.high[0] > plain.high[0]
    assert raised.low[0] < plain.low[0]
    assert raised.note[0].startswith("variance_raised")
    assert (raised.se >= plain.se).all()
    unknown = rate_interval(sums, pooled_floor=np.nan)
    np.testing.assert_array_equal(unknown.high, plain.high)
    with pytest.raises(ConfigError, match="give target trials"):
        kappa2(moments(some_pairs(np.random.default_rng(0))))
    with pytest.raises(ConfigError, match="give target trials"):
        rate_interval(moments(some_pairs(np.random.default_rng(0))), pooled_floor=0.3)


@pytest.mark.parametrize("confidence", [0, 1, 95, float("nan")])
def test_confidence_is_a_fraction(confidence):
    sums = moments(of_groups(([1, 2, 3], [9] * 3)))
    with pytest.raises(ConfigError, match="between 0 and 1"):
        rate_interval(sums, confidence)
