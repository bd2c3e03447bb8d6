from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox import gini
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.noise import _shared_variation, floor, gamma_multinomial, without_zeros

bounded = settings(max_examples=50, deadline=None)


def rng(seed=0):
    return np.random.default_rng(seed)


def by_speaker(sizes, errors, trials):
    """Speakers 0, 1, ... in groups of these sizes."""
    cell = np.repeat(np.arange(len(sizes)), sizes)
    return ErrorsBySpeaker(
        cell, np.arange(cell.size), np.asarray(errors), np.asarray(trials), len(sizes)
    )


def by_pair(sizes, errors, trials):
    """All pairs of speakers within groups of these sizes."""
    cell, first_speaker, second_speaker = all_pairs(sizes)
    return ErrorsByPair(
        cell, first_speaker, second_speaker, np.asarray(errors), np.asarray(trials), len(sizes)
    )


def all_pairs(sizes):
    offsets = np.cumsum([0, *sizes[:-1]])
    ends = [np.triu_indices(n, 1) for n in sizes]
    cell = np.repeat(np.arange(len(sizes)), [first_speaker.size for first_speaker, _ in ends])
    first_speaker, second_speaker = (
        np.concatenate([start + end[side] for start, end in zip(offsets, ends, strict=True)])
        for side in (0, 1)
    )
    return cell, first_speaker, second_speaker


def fair_fnr(n_systems, sizes, trials, draw):
    """Systems that know no groups, on speakers who differ."""
    n = sum(sizes)
    rate = 1 / (1 + np.exp(4.6 + 1.1 * draw.standard_normal((n_systems, n))))
    return by_speaker(sizes, draw.binomial(trials, rate), trials)


def fair_fpr(n_systems, sizes, trials, draw):
    """The same with effects of both speakers and of their pair."""
    _, first_speaker, second_speaker = all_pairs(sizes)
    speaker = 0.5 * draw.standard_normal((n_systems, sum(sizes)))
    latent = (
        speaker[:, first_speaker]
        + speaker[:, second_speaker]
        + 0.6 * draw.standard_normal(first_speaker.size)
    )
    return by_pair(sizes, draw.binomial(trials, 1 / (1 + np.exp(4.6 - latent))), trials)


SYSTEMS = {
    "fnr": lambda draw: fair_fnr(200, [8] * 9, np.full(72, 200), draw),
    "fnr, unequal trials": lambda draw: fair_fnr(
        200, [8] * 9, np.repeat([60, 200, 480] * 3, 8), draw
    ),
    "fpr": lambda draw: fair_fpr(200, [8] * 9, np.full(252, 60), draw),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SYSTEMS)
def test_fair_systems_are_rejected_about_as_often_as_the_p_value_says(kind):
    sums = moments(SYSTEMS[kind](rng(21)))
    null = gamma_multinomial(sums, 199, rng(22))
    assert (null.reason == "").all()
    p = floor(gini(sums.rate).value, gini(null.rates).value).p
    assert p.mean() == pytest.approx(0.5, abs=0.1)
    assert (p <= 0.05).mean() <= 0.1
    assert (p <= 0.2).mean() >= 0.1


def test_a_group_that_fails_more_often_is_noticed_among_many_speakers():
    draw = rng(3)
    rate = draw.beta(2, 100, 180) * np.repeat([4, 1, 1, 1, 1, 1], 30)
    sums = moments(by_speaker([30] * 6, draw.binomial(200, rate), np.full(180, 200)))
    null = gamma_multinomial(sums, 199, rng())
    assert floor(gini(sums.rate).value, gini(null.rates).value).p == pytest.approx(1 / 200)


@pytest.mark.slow
@given(
    st.lists(st.integers(4, 8), min_size=2, max_size=4),
    st.integers(0, 2**31),
    st.booleans(),
)
@bounded
def test_each_draw_deals_out_the_errors_there_are(sizes, seed, of_pairs):
    draw = rng(seed)
    make = by_pair if of_pairs else by_speaker
    n = all_pairs(sizes)[0].size if of_pairs else sum(sizes)
    trials = draw.integers(500, 900, n)
    errors = draw.integers(0, 30, (2, n))
    null = gamma_multinomial(moments(make(sizes, errors, trials)), 20, draw)
    is_defined = null.reason == ""
    assert (null.errors.sum(axis=-1)[:, is_defined] == errors.sum(axis=-1)[is_defined]).all()
    assert ((null.rates >= 0) & (null.rates <= 1))[:, is_defined].all()


def test_groups_have_the_common_rate_on_average_whatever_their_size():
    cluster_errors = fair_fnr(1, [5, 20, 80], np.repeat([300, 100, 200], [5, 20, 80]), rng(5))
    sums = moments(cluster_errors)
    null = gamma_multinomial(sums, 20_000, rng(6))
    pooled = sums.errors.sum() / sums.trials.sum()
    # dealing out a fixed number holds the largest group back a little
    assert null.rates.mean(axis=0)[0] == pytest.approx([pooled] * 3, rel=0.15)
    spread = null.rates.std(axis=0)[0]
    assert spread[0] > spread[1] > spread[2] > 0


def test_draws_of_independent_trials_vary_as_a_multinomial():
    # speakers alike to the last error: nothing is left to vary but the dealing itself
    sums = moments(by_speaker([6] * 4, np.full(24, 5), np.full(24, 100)))
    null = gamma_multinomial(sums, 20_000, rng())
    assert null.errors.std(axis=0) == pytest.approx(np.sqrt(120 * 0.25 * 0.75), rel=0.02)


def test_draws_vary_as_much_as_rates_of_resampled_fair_speakers():
    # the truth: 12 new speakers in each of 8 groups, again and again
    draw = rng(8)
    sizes, trials = [12] * 8, np.full(96, 150)
    many = fair_fnr(400, sizes, trials, draw)
    truth = gini(many.sum_by_cell(many.errors) / 1800).value
    shown = gini(gamma_multinomial(moments(many), 50, rng()).rates).value
    assert shown.mean() == pytest.approx(truth.mean(), rel=0.08)


def by_hand_of_speakers(sizes, errors, trials):
    """Steps 1, 2, 4 of docs/methods/uncertainty.md#gamma-multinomial-draws, group by group."""
    shares, excess, squares, fourths, start = [], [], 0.0, 0.0, 0
    for size in sizes:
        e, n = errors[start : start + size], trials[start : start + size]
        start += size
        rate = e.sum() / n.sum()
        r = e - rate * n
        jackknife = (size - 1) / size * sum((r / (n.sum() - n)) ** 2)
        share = sum(n**2) / n.sum() ** 2
        beyond = max(0, (jackknife - rate * (1 - rate) / n.sum()) / share)
        shares.append(share)
        excess.append(beyond)
        squares += sum(r**2)
        fourths += sum(r**4)
    weights = [size - 1 if size >= 4 else 0 for size in sizes]
    between = np.average(excess, weights=weights)
    kurt = max(0, sum(sizes) * fourths / squares**2 - 3)
    df = max(3, 2 / (kurt / sum(sizes) + 2 / sum(size - 1 for size in sizes)))
    return between * np.array(shares), df


def test_variance_of_a_fair_system_by_hand_for_speakers():
    draw = rng(31)
    sizes = [5, 9, 3, 7]
    trials = draw.integers(40, 300, sum(sizes))
    errors = draw.binomial(trials, draw.beta(0.5, 8, sum(sizes)))
    variation = _shared_variation(moments(by_speaker(sizes, errors, trials)))
    excess, df = by_hand_of_speakers(sizes, errors, trials)
    assert variation.excess == pytest.approx(excess)
    assert variation.df == pytest.approx(df)
    assert (excess > 0).all()


def by_hand_of_pairs(sizes, errors, trials):
    """Steps 1, 3, 4 of docs/methods/uncertainty.md#gamma-multinomial-draws, group by group."""
    rows, squares, fourths = [], 0.0, 0.0
    cells, first_speakers, second_speakers = all_pairs(sizes)
    for cell, size in enumerate(sizes):
        in_cell = cells == cell
        e, m, total = errors[in_cell], trials[in_cell], trials[in_cell].sum()
        rate = e.sum() / total
        binomial, r = rate * (1 - rate) / total, e - rate * m
        speakers = np.unique(first_speakers[in_cell])
        speakers = np.union1d(speakers, second_speakers[in_cell])
        takes_part = [
            (first_speakers[in_cell] == s) | (second_speakers[in_cell] == s) for s in speakers
        ]
        by_s, by_s_square, trials_s = (
            np.array([values[of_speaker].sum() for of_speaker in takes_part])
            for values in (r, r**2, m)
        )
        unbiased = (
            (size - 2)
            / (size - 3)
            * (size - 1)
            / size
            * sum((by_s**2 - by_s_square / 2) / (total - trials_s) ** 2)
        )
        n_pairs = e.size
        pair_part = n_pairs / (n_pairs - 1) * sum(r**2) / total**2 - binomial
        fs, fp = sum(trials_s**2) / total**2, sum(m**2) / total**2
        rows.append((unbiased - binomial, pair_part, fs, fp, n_pairs, total))
        squares += sum(by_s**2)
        fourths += sum(by_s**4)
    beyond, pair_part, fs, fp, n_pairs, all_trials = np.array(rows).T
    w = np.array(sizes) - 1
    pair_variation = np.average(pair_part / (fp - 1 / all_trials), weights=n_pairs)
    speaker_variation = max(0, np.average((beyond - pair_part) / (fs - 2 * fp), weights=w))
    pair = max(0, pair_variation - 2 * speaker_variation)
    speaker = np.maximum(0, (beyond + pair_variation / all_trials - pair * fp) / fs)
    speaker = np.average(speaker, weights=w)
    kurt = max(0, sum(sizes) * fourths / squares**2 - 3)
    df = max(3, 2 / (kurt / sum(sizes) + 2 / w.sum()))
    binomial_share = (2 * speaker + pair) / all_trials  # which the binomial variance holds
    return speaker * fs + pair * fp - binomial_share, df, (speaker_variation, pair)


@pytest.mark.parametrize(("of_speakers", "of_pairs"), [(0.9, 0.0), (0.2, 1.5), (1.0, 1.0)])
def test_variance_of_a_fair_system_by_hand_for_pairs(of_speakers, of_pairs):
    draw = rng(33)
    sizes = [5, 12, 7]
    cell, first_speaker, second_speaker = all_pairs(sizes)
    speaker = of_speakers * draw.standard_normal(sum(sizes))
    latent = (
        speaker[first_speaker]
        + speaker[second_speaker]
        + of_pairs * draw.standard_normal(cell.size)
    )
    trials = draw.integers(40, 300, cell.size)
    errors = draw.binomial(trials, 1 / (1 + np.exp(3 - latent)))
    variation = _shared_variation(moments(by_pair(sizes, errors, trials)))
    excess, df, _ = by_hand_of_pairs(sizes, errors, trials)
    assert variation.excess == pytest.approx(excess)
    assert variation.df == pytest.approx(df)
    assert (excess > 0).all()


def test_small_groups_get_a_floor_but_tell_nothing_of_how_speakers_vary():
    draw = rng(4)
    errors, trials = draw.integers(0, 40, 17), np.full(17, 200)
    with_wild = errors.copy()
    with_wild[-3:] = [0, 0, 150]
    sizes = [7, 7, 3]
    calm, wild = (
        _shared_variation(moments(by_speaker(sizes, e, trials))) for e in (errors, with_wild)
    )
    assert calm.excess == pytest.approx(wild.excess)
    assert calm.excess[2] > calm.excess[0]


def test_it_is_refused_where_the_data_say_too_little():
    def reason(sizes, errors, trials=100):
        sums = moments(by_speaker(sizes, errors, np.full(sum(sizes), trials)))
        return gamma_multinomial(sums, 3, rng()).reason.tolist()

    assert reason([5, 5], [[0] * 10, [1] * 10, [2] * 10]) == ["no_errors", "few_errors", ""]
    assert reason([5, 3], [5] * 8) == "few_groups"
    assert reason([5], [5] * 5) == "few_groups"
    assert reason([5, 5], [100] * 10) == reason([5, 5], [99] * 10) == "few_errors"


def test_a_refused_operating_point_has_no_rates_and_leaves_the_others_as_they_are():
    errors = rng(1).integers(0, 30, (3, 10))
    errors[1] = 0
    trials = np.full(10, 100)
    null = gamma_multinomial(moments(by_speaker([5, 5], errors, trials)), 9, rng(2))
    assert np.isnan(null.rates[:, 1]).all()
    assert np.isnan(null.nonzero_rates[:, 1]).all()
    alone = gamma_multinomial(moments(by_speaker([5, 5], errors[2], trials)), 9, rng(2))
    np.testing.assert_array_equal(null.errors[:, 2], alone.errors)
    np.testing.assert_array_equal(
        null.nonzero_rates[:, 2], without_zeros(alone.errors, alone.trials)
    )


def test_draws_are_the_same_for_a_seed_and_others_for_another_call():
    sums = moments(fair_fnr(1, [8] * 4, np.full(32, 300), rng()))
    draw = rng(1)
    first_draws, second_draws = (gamma_multinomial(sums, 50, draw).errors for _ in range(2))
    np.testing.assert_array_equal(gamma_multinomial(sums, 50, rng(1)).errors, first_draws)
    assert (first_draws != second_draws).any()


def test_where_most_trials_fail_no_rate_exceeds_one():
    draw = rng(2)
    errors = 100 - draw.binomial(100, draw.beta(0.5, 5, 40))
    sums = moments(by_speaker([4] * 10, errors, np.full(40, 100)))
    null = gamma_multinomial(sums, 500, rng())
    assert (null.rates <= 1).all()
    assert (null.errors.sum(axis=-1) == errors.sum()).all()
    # the same draws as of the trials that did not fail
    mirrored = moments(by_speaker([4] * 10, 100 - errors, np.full(40, 100)))
    np.testing.assert_array_equal(
        gamma_multinomial(mirrored, 500, rng()).errors, null.trials - null.errors
    )


def test_groups_without_trials_get_no_errors_and_no_rate():
    cluster_errors = by_speaker([6, 6], np.full(12, 5), np.full(12, 100))
    wider = ErrorsBySpeaker(
        2 * cluster_errors.cell,
        cluster_errors.speaker,
        cluster_errors.errors,
        cluster_errors.trials,
        4,
    )
    null = gamma_multinomial(moments(wider), 9, rng())
    assert np.isnan(null.rates[:, [1, 3]]).all()
    np.testing.assert_array_equal(null.errors[:, [1, 3]], 0)
    np.testing.assert_array_equal(null.errors[:, [0, 2]].sum(axis=-1), [60] * 9)


def test_pairs_that_share_no_speaker_leave_no_spread_to_speakers_alone():
    # groups of disjoint pairs: the part of speakers cannot be told from that of pairs
    cell = np.repeat([0, 1], 6)
    first_speaker = 2 * np.arange(12)
    errors = rng(3).integers(0, 20, 12)
    sums = moments(
        ErrorsByPair(cell, first_speaker, first_speaker + 1, errors, np.full(12, 100), 2)
    )
    null = gamma_multinomial(sums, 50, rng())
    assert null.reason == ""
    assert np.isfinite(null.rates).all()
    assert null.rates.std() > 0


def test_a_thousand_draws_of_thirty_groups_at_four_operating_points_are_quick():
    sums = moments(fair_fnr(4, [40] * 30, np.full(1200, 200), rng()))
    start = time.process_time()
    gamma_multinomial(sums, 1000, rng())
    assert time.process_time() - start < 0.5
