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
from parivox.core.ratios import disjoint, others, ratio_interval, to_pooled
from parivox.errors import ConfigError

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
some = settings(max_examples=50, deadline=None)
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


def union_but(tally, cell):
    """All cells but one as one, entry by entry."""
    kept = tally.cell != cell
    who = (
        (tally.speaker,)
        if isinstance(tally, ErrorsBySpeaker)
        else (tally.first_speaker, tally.second_speaker)
    )
    return type(tally)(
        np.zeros(kept.sum(), int),
        *(each[kept] for each in who),
        tally.errors[..., kept],
        tally.trials[..., kept],
        1,
    )


def assert_unions(tally):
    found = others(tally)
    for cell in range(tally.n_cells):
        want = moments(union_but(tally, cell))
        for name in SUMS:
            got = getattr(found, name)[..., cell]
            np.testing.assert_allclose(
                got, getattr(want, name)[..., 0], rtol=1e-8, atol=1e-11, err_msg=name
            )


@pytest.mark.slow
@some
@given(seeds)
def test_others_are_the_union_of_the_other_cells(rng):
    assert_unions(some_speakers(rng))
    assert_unions(some_pairs(rng))


@pytest.mark.parametrize("kind", [some_speakers, some_pairs])
def test_others_in_small_pieces_and_with_trials_of_each_point(kind, monkeypatch):
    tally = kind(np.random.default_rng(5))
    assert_unions(replace(tally, trials=tally.trials * np.array([[1], [3]])))
    monkeypatch.setattr(ratios, "_MAX_TABLE_SIZE", 1)
    assert_unions(tally)


def test_a_small_remainder_of_a_large_group_keeps_its_digits():
    rng = np.random.default_rng(6)
    trials = np.concatenate((rng.integers(1, 10**6, 3000), [7, 5, 9, 11]))
    errors = rng.binomial(trials, np.where(trials < 20, 0.5, 0.9))
    cell = np.repeat([0, 1], [3000, 4])
    assert_unions(ErrorsBySpeaker(cell, np.arange(3004), errors, trials, 2))


def test_there_is_nothing_beside_one_cell():
    found = others(of_groups(([1, 2], [9, 9])))
    assert found.trials.tolist() == [0]
    assert np.isnan(found.rate).all()


def test_groups_with_common_speakers_are_refused():
    cell, trials = np.array([0, 1]), np.array([9, 9])
    twice = ErrorsBySpeaker(cell, np.array([3, 3]), trials, trials, 2)
    hub = ErrorsByPair(cell, np.array([0, 0]), np.array([1, 2]), trials, trials, 2)
    for tally in (twice, hub):
        assert not disjoint(tally)
        with pytest.raises(ConfigError, match="a speaker is in two cells"):
            others(tally)
    assert disjoint(of_groups(([1, 2], [9, 9]), ([1, 2], [9, 9])))
    assert disjoint(ErrorsByPair(cell, np.array([0, 2]), np.array([1, 3]), trials, trials, 2))


def test_vector(vector):
    inputs, expected, tol = vector("4.19_log_ratio_mover")
    groups = [(inputs[g]["errors"], inputs[g]["trials"]) for g in ("group1", "group2")]
    tally, confidence = of_groups(*groups), inputs["confidence"]
    of_both = rate_interval(moments(tally), confidence)
    of_rest = rate_interval(others(tally), confidence)
    found = ratio_interval(of_both, of_rest)
    for name, want in (("value", "log_ratio"), ("low", "low"), ("high", "high")):
        assert np.log(getattr(found, name)[0]) == pytest.approx(expected[want], abs=tol)
    # the other way round it is the inverse
    np.testing.assert_allclose(
        [found.value[1], found.low[1], found.high[1]],
        1 / np.array([found.value[0], found.high[0], found.low[0]]),
    )
    assert found.p[0] == pytest.approx(found.p[1])
    assert found.reason.tolist() == ["", ""]


@pytest.mark.slow
@some
@given(seeds)
def test_p_is_the_level_at_which_a_limit_is_1(rng):
    tally = some_speakers(rng, n_cells=4, points=1)
    one, other = moments(tally), others(tally)
    found = ratio_interval(rate_interval(one), rate_interval(other))
    for cell in np.flatnonzero((found.reason[0] == "") & (found.p[0] > 1e-9) & (found.p[0] < 1)):
        confidence = 1 - found.p[0, cell]
        edge = ratio_interval(rate_interval(one, confidence), rate_interval(other, confidence))
        above = found.value[0, cell] > 1
        limit = (edge.low if above else edge.high)[0, cell]
        assert limit == pytest.approx(1, rel=1e-5)
    told = found.reason == ""
    assert ((found.low <= found.value) & (found.value <= found.high))[told].all()
    assert ((found.p >= 0) & (found.p <= 1))[told].all()
    outside = (found.low > 1) | (found.high < 1)
    clear = told & (np.abs(found.p - 0.05) > 1e-6)
    np.testing.assert_array_equal(outside[clear], (found.p < 0.05)[clear])


def test_equal_rates_do_not_differ():
    group = ([1, 2, 3, 0], [40] * 4)
    found = ratio_interval(*(rate_interval(moments(of_groups(group))),) * 2)
    assert found.value.tolist() == [1]
    assert found.p.tolist() == [1]
    assert found.low[0] == pytest.approx(1 / found.high[0])


def test_many_more_errors_have_a_small_p():
    bad, good = ([30, 34, 28, 31, 33] * 8, [99] * 40), ([1, 3, 0, 2, 1] * 8, [99] * 40)
    interval = rate_interval(moments(of_groups(bad, good)))
    one, other = (take(interval, at) for at in (0, 1))
    found = ratio_interval(one, other)
    assert found.low[0] > 5
    assert found.p[0] < 1e-6


def take(interval, at):
    """One cell of an interval."""
    return replace(interval, **{name: value[[at]] for name, value in vars(interval).items()})


def test_rates_of_zero():
    some_errors, none = ([3, 9, 0, 4], [90] * 4), ([0] * 4, [90] * 4)
    interval = rate_interval(moments(of_groups(some_errors, none)))
    one, zero = take(interval, 0), take(interval, 1)
    found = ratio_interval(zero, one)
    assert found.value.tolist() == [0]
    assert found.low.tolist() == [0]
    assert found.high[0] == zero.high[0] / one.low[0]
    assert found.reason.tolist() == [""]
    # at the level p the upper limit of the one is the lower limit of the other
    rule = 3 * np.log(found.p[0]) / np.log(0.05) / zero.n_eff[0]
    low, _ = limits(one.rate[0], one.se[0] ** 2, one.df[0], 1 - found.p[0])
    assert rule == pytest.approx(low, rel=1e-8)
    over_zero = ratio_interval(one, zero)
    assert over_zero.value.tolist() == [np.inf]
    assert over_zero.reason.tolist() == ["zero_reference"]
    neither = ratio_interval(zero, zero)
    assert neither.reason.tolist() == ["zero_over_zero"]
    for found in (over_zero, neither):
        assert np.isnan([found.low, found.high, found.p]).all()


def test_rates_of_one():
    interval = rate_interval(moments(of_groups(([9] * 4, [9] * 4), ([1, 9, 2, 3], [9] * 4))))
    one, other = take(interval, 0), take(interval, 1)
    found = ratio_interval(one, other)
    assert found.low[0] < found.value[0] < found.high[0]
    assert 0 < found.p[0] < 1
    assert ratio_interval(one, one).p.tolist() == [1]


def test_undefined_rates_name_their_side():
    tally = of_groups(([1, 2, 3], [9] * 3), ([3], [9]), ([], []))
    interval = rate_interval(moments(tally))
    good, single, empty = (take(interval, at) for at in range(3))
    for one, other, reason in (
        (empty, good, "undefined_value"),
        (good, empty, "undefined_reference"),
        (single, good, "no_interval"),
        (good, single, "no_interval"),
    ):
        found = ratio_interval(one, other)
        assert found.reason.tolist() == [reason]
        assert np.isnan([found.low, found.high, found.p]).all()
    assert ratio_interval(single, good).value[0] == pytest.approx(1.5)


@some
@given(seeds)
def test_against_everyone_the_ratio_is_that_to_the_pooled_rate(rng):
    tally = some_speakers(rng, points=1)
    told = moments(tally)
    share = told.trials / max(1, told.trials.sum())
    to_others = ratio_interval(rate_interval(told), rate_interval(others(tally)))
    found = to_pooled(to_others, share)
    known = ~np.isnan(found.value)
    pooled = told.errors.sum() / told.trials.sum() if known.any() else np.nan
    np.testing.assert_allclose(found.value[known], told.rate[known] / pooled)
    np.testing.assert_array_equal(found.p, to_others.p)
    held = to_others.reason == ""
    assert (found.high[held] <= 1 / share[held] + 1e-9).all()
    np.testing.assert_array_equal((found.low > 1)[held], (to_others.low > 1)[held])
