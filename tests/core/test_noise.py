from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox import gini
from parivox.core.cluster_errors import ErrorsBySpeaker
from parivox.core.noise import EqualRatesDraws, floor, null_method, permuted, without_zeros
from parivox.errors import ConfigError

NAN, INF = np.nan, np.inf
bounded = settings(max_examples=50, deadline=None)


def rng(seed=0):
    return np.random.default_rng(seed)


def by_speaker(sizes, errors, trials):
    """Speakers 0, 1, ... in groups of these sizes."""
    cell = np.repeat(np.arange(len(sizes)), sizes)
    return ErrorsBySpeaker(
        cell, np.arange(cell.size), np.asarray(errors), np.asarray(trials), len(sizes)
    )


errors_by_metric = st.lists(st.integers(1, 6), min_size=2, max_size=5).flatmap(
    lambda sizes: st.tuples(
        st.just(sizes),
        st.lists(st.integers(0, 9), min_size=sum(sizes), max_size=sum(sizes)),
        st.lists(st.integers(10, 30), min_size=sum(sizes), max_size=sum(sizes)),
        st.lists(st.integers(0, 2), min_size=sum(sizes), max_size=sum(sizes)),
    )
)


@pytest.mark.slow
@given(errors_by_metric)
@bounded
def test_permuting_speakers_keeps_errors_trials_and_group_sizes(drawn):
    sizes, errors, trials, strata = drawn
    null = permuted(by_speaker(sizes, errors, trials), strata, 7, rng())
    assert (null.errors.sum(axis=-1) == sum(errors)).all()
    assert (null.trials.sum(axis=-1) == sum(trials)).all()
    # one trial each: the trials of a group are its speakers
    heads = permuted(by_speaker(sizes, errors, np.ones(sum(sizes))), None, 7, rng())
    assert (heads.trials == sizes).all()


@pytest.mark.slow
@given(errors_by_metric)
@bounded
def test_strata_keep_their_speakers_in_the_groups_they_have_there(drawn):
    sizes, _, _, strata = drawn
    strata = np.array(strata)
    for stratum in set(strata.tolist()):
        of_one = (strata == stratum).astype(int)
        cluster_errors = by_speaker(sizes, of_one, np.full(sum(sizes), 20))
        assert (
            permuted(cluster_errors, strata, 7, rng()).errors == cluster_errors.sum_by_cell(of_one)
        ).all()


def test_speakers_take_all_their_trials_along():
    # errors are a tenth of each speaker's trials, so that every group's rate stays a tenth
    trials = np.array([10, 20, 300, 40, 50, 60])
    null = permuted(by_speaker([2, 2, 2], trials // 10, trials), None, 50, rng())
    np.testing.assert_allclose(null.rates, 0.1)
    assert np.unique(null.trials[:, 0]).size > 5


def test_every_exchange_of_speakers_is_as_likely():
    null = permuted(by_speaker([1, 2], [1, 2, 4], [9, 9, 9]), None, 6000, rng())
    values, times = np.unique(null.errors[:, 0], return_counts=True)
    assert values.tolist() == [1, 2, 4]
    assert times == pytest.approx([2000] * 3, abs=150)


def test_permuting_chunk_by_chunk_serves_all_operating_points_alike(monkeypatch):
    cluster_errors = by_speaker([3, 4, 2], rng(1).integers(0, 9, (2, 3, 9)), np.full(9, 20))
    at_once = permuted(cluster_errors, None, 20, rng(2))
    assert at_once.errors.shape == at_once.rates.shape == (20, 2, 3, 3)
    monkeypatch.setattr("parivox.core.noise._NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(permuted(cluster_errors, None, 20, rng(2)).errors, at_once.errors)
    alone = by_speaker([3, 4, 2], cluster_errors.errors[1, 2], cluster_errors.trials)
    np.testing.assert_array_equal(permuted(alone, None, 20, rng(2)).errors, at_once.errors[:, 1, 2])


def test_permuting_is_refused_where_it_says_nothing():
    no_errors = permuted(by_speaker([2, 2], [[0] * 4, [0, 1, 0, 0]], [9] * 4), None, 3, rng())
    assert no_errors.reason.tolist() == ["no_errors", ""]
    assert np.isnan(no_errors.rates[:, 0]).all()
    assert np.isfinite(no_errors.rates[:, 1]).all()
    fixed = permuted(by_speaker([2, 2], [1, 2, 3, 4], [9] * 4), [0, 0, 1, 1], 3, rng())
    assert fixed.reason == "fixed_groups"
    assert np.isnan(fixed.rates).all()


def test_speakers_of_several_groups_cannot_be_permuted():
    twice = ErrorsBySpeaker(np.array([0, 1]), np.array([7, 7]), np.ones(2), np.ones(2), 2)
    with pytest.raises(ConfigError, match="a speaker is in several groups"):
        permuted(twice, None, 3, rng())
    assert null_method(twice) == "gamma_multinomial"


def test_permutation_is_for_groups_with_about_as_many_trials_to_a_speaker():
    def method(trials):
        return null_method(by_speaker([2, 1, 2], np.zeros(5), np.array(trials)))

    assert method([10, 30, 40, 20, 20]) == "permutation"
    assert method([10, 30, 41, 20, 20]) == "gamma_multinomial"
    many = 20_001
    assert null_method(by_speaker([1, many - 1], np.zeros(many), np.ones(many))) == (
        "gamma_multinomial"
    )


def test_empty_groups_do_not_matter_to_the_method_and_have_no_rate():
    cluster_errors = ErrorsBySpeaker(
        np.array([0, 2]), np.array([0, 1]), np.array([1, 2]), np.array([9, 9]), 3
    )
    assert null_method(cluster_errors) == "permutation"
    null = permuted(cluster_errors, None, 3, rng())
    assert np.isnan(null.rates[:, 1]).all()
    assert np.isfinite(null.rates[:, [0, 2]]).all()


def test_permutation_rejects_fair_systems_as_often_as_it_says():
    # 200 fair systems as operating points: 9 groups of 8 speakers, who differ among themselves
    draw = rng(11)
    errors = draw.binomial(200, draw.beta(0.5, 12, (200, 72)))
    cluster_errors = by_speaker([8] * 9, errors, np.full(72, 200))
    null = permuted(cluster_errors, None, 199, rng(12))
    observed = gini(cluster_errors.sum_by_cell(errors) / 1600).value
    p = floor(observed, gini(null.rates).value).p
    assert p.mean() == pytest.approx(0.5, abs=0.08)
    assert 0.01 <= (p <= 0.05).mean() <= 0.1
    # and sees a group with all of the errors
    unfair = by_speaker([8] * 9, np.repeat([60, 0], [8, 64]), np.full(72, 200))
    null = permuted(unfair, None, 199, rng(12))
    assert floor(1.0, gini(null.rates).value).p == pytest.approx(1 / 200)


def test_permuting_1200_speakers_1000_times_is_quick():
    cluster_errors = by_speaker([40] * 30, rng().integers(0, 9, (2, 1200)), np.full(1200, 200))
    start = time.process_time()
    permuted(cluster_errors, None, 1000, rng())
    assert time.process_time() - start < 1


def test_half_an_error_stands_for_none():
    np.testing.assert_array_equal(
        without_zeros([0, 1, 10, 0], [10, 10, 10, 0]), [0.05, 0.1, 1.0, NAN]
    )
    null = EqualRatesDraws(np.array([[[0, 5]], [[5, 0]]]), np.array([10, 10]), np.array([""]))
    np.testing.assert_array_equal(null.nonzero_rates, [[[0.05, 0.5]], [[0.5, 0.05]]])
    np.testing.assert_array_equal(null.rates, [[[0, 0.5]], [[0.5, 0]]])


def test_the_unfair_end_is_the_low_one_where_higher_is_fairer():
    null = np.arange(1, 101) / 100
    low = floor(0.9, null)
    assert (low.mean, low.q95, low.p) == pytest.approx((0.505, 0.95, 12 / 101))
    high = floor(0.1, null, higher_is_fairer=True)
    assert (high.mean, high.q95, high.p) == pytest.approx((0.505, 0.06, 11 / 101))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0, 1))
@bounded
def test_turning_a_measure_round_turns_its_floor_round(null, observed):
    straight = floor(observed, null)
    turned = floor(-observed, -np.array(null), higher_is_fairer=True)
    assert (straight.mean, straight.q95, straight.p) == (-turned.mean, -turned.q95, turned.p)
    assert (np.array(null) <= straight.q95).mean() >= 0.95


def test_a_floor_is_undefined_without_draws_or_if_too_many_are_undefined():
    draws = np.tile(np.arange(100.0)[:, None], 4)
    draws[:5, 1] = draws[:6, 2] = draws[:, 3] = NAN
    noise_floor = floor([50.0] * 4, draws)
    assert np.isnan(noise_floor.p).tolist() == [False, False, True, True]
    assert np.isnan(noise_floor.mean).tolist() == np.isnan(noise_floor.q95).tolist() == [0, 0, 1, 1]
    assert noise_floor.undefined.tolist() == [0, 0.05, 0.06, 1]
    assert noise_floor.p[1] == pytest.approx(51 / 96)
    assert np.isnan(floor(0.5, np.empty((0,))).p)


def test_an_undefined_measure_has_a_floor_but_no_p():
    noise_floor = floor(NAN, np.arange(20.0))
    assert np.isnan(noise_floor.p)
    assert noise_floor.q95 == 18


def test_infinite_draws_stay_infinite():
    noise_floor = floor([3.0, INF], np.array([[1.0, INF], [INF, INF]]))
    assert noise_floor.mean.tolist() == noise_floor.q95.tolist() == [INF, INF]
    assert noise_floor.p.tolist() == pytest.approx([2 / 3, 1])
