from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core import ratios
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import limits, rate_interval
from parivox.core.ratios import disjoint, moments_of_others, ratio_interval, to_pooled
from parivox.errors import ConfigError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
few_examples = settings(max_examples=50, deadline=None)
SUMS = (
    "errors", "trials", "speakers", "squares", "fourths", "trial_squares", "deleted_squares",
    "largest_errors", "has_common_speaker", "pairs", "pair_squares", "pair_trial_squares",
    "pair_deleted_squares", "variance", "df",
)  # fmt: skip


def of_groups(*groups):
    errors, trials = (np.concatenate([np.array(g[i]) for g in groups]) for i in (0, 1))
    cell = np.repeat(np.arange(len(groups)), [len(g[0]) for g in groups])
    return ErrorsBySpeaker(cell, np.arange(cell.size), errors, trials, len(groups))


def some_speakers(rng, n_cells=5, points=2):
    """Speakers of groups of 0 to 6, some with few distinct numbers of trials, some without any."""
    cell = np.sort(rng.integers(0, n_cells, rng.integers(2, 4 * n_cells)))
    trials = rng.integers(0, rng.choice([3, 300]), cell.size)
    errors = rng.binomial(trials, rng.beta(0.5, 2, (points, cell.size)))
    return ErrorsBySpeaker(cell, rng.permutation(cell.size), errors, trials, n_cells)


def some_pairs(rng, n_cells=4, points=2):
    sizes = rng.integers(1, 7, n_cells)
    rows = np.array(
        [
            (cell, i, j)
            for cell in range(n_cells)
            for i, j in combinations(range(sizes[:cell].sum(), sizes[: cell + 1].sum()), 2)
            if rng.random() < 0.8
        ]
        or [(0, 0, 1)]
    )
    trials = rng.integers(0, rng.choice([3, 60]), len(rows))
    errors = rng.binomial(trials, rng.beta(0.5, 4, (points, len(rows))))
    return ErrorsByPair(*rows.T, errors, trials, n_cells)


def union_but(cluster_errors, cell):
    """All cells but one as one, entry by entry."""
    is_other = cluster_errors.cell != cell
    speaker_ids = (
        (cluster_errors.speaker,)
        if isinstance(cluster_errors, ErrorsBySpeaker)
        else (cluster_errors.first_speaker, cluster_errors.second_speaker)
    )
    kept_ids = [ids[is_other] for ids in speaker_ids]
    return type(cluster_errors)(
        np.zeros(is_other.sum(), int),
        *kept_ids,
        cluster_errors.errors[..., is_other],
        cluster_errors.trials[..., is_other],
        1,
    )


def assert_unions(cluster_errors):
    union_sums = moments_of_others(cluster_errors)
    for cell in range(cluster_errors.n_cells):
        want = moments(union_but(cluster_errors, cell))
        for name in SUMS:
            got = getattr(union_sums, name)[..., cell]
            np.testing.assert_allclose(
                got, getattr(want, name)[..., 0], rtol=1e-8, atol=1e-11, err_msg=name
            )


@pytest.mark.slow
@few_examples
@given(seeds)
def test_others_are_the_union_of_the_other_cells(rng):
    assert_unions(some_speakers(rng))
    assert_unions(some_pairs(rng))


@pytest.mark.parametrize("kind", [some_speakers, some_pairs])
def test_others_in_small_pieces_and_with_trials_of_each_point(kind, monkeypatch):
    cluster_errors = kind(np.random.default_rng(5))
    assert_unions(replace(cluster_errors, trials=cluster_errors.trials * np.array([[1], [3]])))
    monkeypatch.setattr(ratios, "_MAX_TABLE_SIZE", 1)
    assert_unions(cluster_errors)


def test_a_small_remainder_of_a_large_group_keeps_its_digits():
    rng = np.random.default_rng(6)
    trials = np.concatenate((rng.integers(1, 10**6, 3000), [7, 5, 9, 11]))
    errors = rng.binomial(trials, np.where(trials < 20, 0.5, 0.9))
    cell = np.repeat([0, 1], [3000, 4])
    assert_unions(ErrorsBySpeaker(cell, np.arange(3004), errors, trials, 2))


def test_there_is_nothing_beside_one_cell():
    union_sums = moments_of_others(of_groups(([1, 2], [9, 9])))
    assert union_sums.trials.tolist() == [0]
    assert np.isnan(union_sums.rate).all()


def test_groups_with_common_speakers_are_refused():
    cell, trials = np.array([0, 1]), np.array([9, 9])
    twice = ErrorsBySpeaker(cell, np.array([3, 3]), trials, trials, 2)
    hub = ErrorsByPair(cell, np.array([0, 0]), np.array([1, 2]), trials, trials, 2)
    for cluster_errors in (twice, hub):
        assert not disjoint(cluster_errors)
        with pytest.raises(ConfigError, match="a speaker is in two groups"):
            moments_of_others(cluster_errors)
    assert disjoint(of_groups(([1, 2], [9, 9]), ([1, 2], [9, 9])))
    assert disjoint(ErrorsByPair(cell, np.array([0, 2]), np.array([1, 3]), trials, trials, 2))


def test_vector(vector):
    inputs, expected, tol = vector("4.19_log_ratio_mover")
    groups = [(inputs[g]["errors"], inputs[g]["trials"]) for g in ("group1", "group2")]
    cluster_errors, confidence = of_groups(*groups), inputs["confidence"]
    of_both = rate_interval(moments(cluster_errors), confidence)
    of_rest = rate_interval(moments_of_others(cluster_errors), confidence)
    ratio = ratio_interval(of_both, of_rest)
    for name, want in (("value", "log_ratio"), ("low", "low"), ("high", "high")):
        assert np.log(getattr(ratio, name)[0]) == pytest.approx(expected[want], abs=tol)
    # the other way round it is the inverse
    np.testing.assert_allclose(
        [ratio.value[1], ratio.low[1], ratio.high[1]],
        1 / np.array([ratio.value[0], ratio.high[0], ratio.low[0]]),
    )
    assert ratio.p[0] == pytest.approx(ratio.p[1])
    assert ratio.reason.tolist() == ["", ""]


@pytest.mark.slow
@few_examples
@given(seeds)
def test_p_is_the_level_at_which_a_limit_is_1(rng):
    cluster_errors = some_speakers(rng, n_cells=4, points=1)
    cell_sums, union_sums = moments(cluster_errors), moments_of_others(cluster_errors)
    ratio = ratio_interval(rate_interval(cell_sums), rate_interval(union_sums))
    for cell in np.flatnonzero((ratio.reason[0] == "") & (ratio.p[0] > 1e-9) & (ratio.p[0] < 1)):
        confidence = 1 - ratio.p[0, cell]
        edge = ratio_interval(
            rate_interval(cell_sums, confidence), rate_interval(union_sums, confidence)
        )
        above = ratio.value[0, cell] > 1
        limit = (edge.low if above else edge.high)[0, cell]
        assert limit == pytest.approx(1, rel=1e-5)
    is_defined = ratio.reason == ""
    assert ((ratio.low <= ratio.value) & (ratio.value <= ratio.high))[is_defined].all()
    assert ((ratio.p >= 0) & (ratio.p <= 1))[is_defined].all()
    outside = (ratio.low > 1) | (ratio.high < 1)
    clear = is_defined & (np.abs(ratio.p - 0.05) > 1e-6)
    np.testing.assert_array_equal(outside[clear], (ratio.p < 0.05)[clear])


def test_equal_rates_do_not_differ():
    group = ([1, 2, 3, 0], [40] * 4)
    ratio = ratio_interval(*(rate_interval(moments(of_groups(group))),) * 2)
    assert ratio.value.tolist() == [1]
    assert ratio.p.tolist() == [1]
    assert ratio.low[0] == pytest.approx(1 / ratio.high[0])


def test_many_more_errors_have_a_small_p():
    bad, good = ([30, 34, 28, 31, 33] * 8, [99] * 40), ([1, 3, 0, 2, 1] * 8, [99] * 40)
    interval = rate_interval(moments(of_groups(bad, good)))
    first_interval, second_interval = (take(interval, cell) for cell in (0, 1))
    ratio = ratio_interval(first_interval, second_interval)
    assert ratio.low[0] > 5
    assert ratio.p[0] < 1e-6


def take(interval, cell):
    """One cell of an interval."""
    return replace(interval, **{name: value[[cell]] for name, value in vars(interval).items()})


def test_rates_of_zero():
    some_errors, no_errors = ([3, 9, 0, 4], [90] * 4), ([0] * 4, [90] * 4)
    interval = rate_interval(moments(of_groups(some_errors, no_errors)))
    some_interval, zero = take(interval, 0), take(interval, 1)
    ratio = ratio_interval(zero, some_interval)
    assert ratio.value.tolist() == [0]
    assert ratio.low.tolist() == [0]
    assert ratio.high[0] == zero.high[0] / some_interval.low[0]
    assert ratio.reason.tolist() == [""]
    # at the level p the upper limit of the one is the lower limit of the other
    rule = 3 * np.log(ratio.p[0]) / np.log(0.05) / zero.n_eff[0]
    low, _ = limits(
        some_interval.rate[0], some_interval.se[0] ** 2, some_interval.df[0], 1 - ratio.p[0]
    )
    assert rule == pytest.approx(low, rel=1e-8)
    over_zero = ratio_interval(some_interval, zero)
    assert over_zero.value.tolist() == [np.inf]
    assert over_zero.reason.tolist() == ["zero_reference"]
    neither = ratio_interval(zero, zero)
    assert neither.reason.tolist() == ["zero_over_zero"]
    for ratio in (over_zero, neither):
        assert np.isnan([ratio.low, ratio.high, ratio.p]).all()


def test_rates_of_one():
    interval = rate_interval(moments(of_groups(([9] * 4, [9] * 4), ([1, 9, 2, 3], [9] * 4))))
    first_interval, second_interval = take(interval, 0), take(interval, 1)
    ratio = ratio_interval(first_interval, second_interval)
    assert ratio.low[0] < ratio.value[0] < ratio.high[0]
    assert 0 < ratio.p[0] < 1
    assert ratio_interval(first_interval, first_interval).p.tolist() == [1]


def test_undefined_rates_name_their_side():
    cluster_errors = of_groups(([1, 2, 3], [9] * 3), ([3], [9]), ([], []))
    interval = rate_interval(moments(cluster_errors))
    good, single, empty = (take(interval, cell) for cell in range(3))
    for numerator, denominator, reason in (
        (empty, good, "undefined_value"),
        (good, empty, "undefined_reference"),
        (single, good, "no_interval"),
        (good, single, "no_interval"),
    ):
        ratio = ratio_interval(numerator, denominator)
        assert ratio.reason.tolist() == [reason]
        assert np.isnan([ratio.low, ratio.high, ratio.p]).all()
    assert ratio_interval(single, good).value[0] == pytest.approx(1.5)


@pytest.mark.slow
@few_examples
@given(seeds)
def test_against_everyone_the_ratio_is_that_to_the_pooled_rate(rng):
    cluster_errors = some_speakers(rng, points=1)
    sums = moments(cluster_errors)
    share = sums.trials / max(1, sums.trials.sum())
    to_others = ratio_interval(
        rate_interval(sums), rate_interval(moments_of_others(cluster_errors))
    )
    pooled_ratio = to_pooled(to_others, share)
    is_defined = ~np.isnan(pooled_ratio.value)
    pooled = sums.errors.sum() / sums.trials.sum() if is_defined.any() else np.nan
    np.testing.assert_allclose(pooled_ratio.value[is_defined], sums.rate[is_defined] / pooled)
    np.testing.assert_array_equal(pooled_ratio.p, to_others.p)
    is_told = to_others.reason == ""
    assert (pooled_ratio.high[is_told] <= 1 / share[is_told] + 1e-9).all()
    np.testing.assert_array_equal((pooled_ratio.low > 1)[is_told], (to_others.low > 1)[is_told])
