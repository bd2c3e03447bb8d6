"""Weights of speakers, rates in each replicate, intervals from replicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from parivox.core import resampling
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
from parivox.core.resampling import (
    from_replicates,
    pool_small_strata,
    speaker_weights,
    weighted,
)
from parivox.errors import ConfigError

few = settings(max_examples=50, deadline=None)
strata = st.lists(st.integers(-1, 5), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def errors_by_metric():
    """Two thresholds, three cells (the second empty), ten speakers."""
    rng = np.random.default_rng(5)
    first_speaker, second_speaker = np.triu_indices(10, 1)
    cell = np.sort(rng.choice([0, 2], first_speaker.size))
    trials = rng.integers(1, 40, first_speaker.size)
    shape = 2, first_speaker.size
    counts = rng.integers(0, 3, shape)
    accepted = np.where(rng.random(shape) < 0.2, counts, 0)
    speaker = np.tile(np.arange(10), 2)
    of_speaker = rng.integers(1, 60, speaker.size)
    rejected = np.minimum(rng.integers(0, 9, (2, speaker.size)), of_speaker)
    return (
        ErrorsBySpeaker(np.repeat([0, 2], 10), speaker, rejected, of_speaker, 3),
        ErrorsByPair(cell, first_speaker, second_speaker, accepted, trials, 3),
    )


# ------------------------------------------------------------------ weights


@given(strata, st.integers(0, 2**32))
@few
def test_each_stratum_keeps_its_size_in_every_replicate(groups, seed):
    groups = np.array(groups)
    weights = speaker_weights(groups, 20, seed)
    for group in range(6):
        assert (weights[:, groups == group].sum(axis=1) == (groups == group).sum()).all()
    assert not weights[:, groups == -1].any()


def test_weights_are_those_of_draws_with_replacement():
    weights = speaker_weights(np.zeros(50, dtype=int), 4000, seed=3).astype(float)
    assert weights.mean() == 1
    assert np.abs(weights.mean(axis=0) - 1).max() < 5 / np.sqrt(4000)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.02)
    pairs = np.cov(weights.T)[np.triu_indices(50, 1)]
    assert pairs.mean() == pytest.approx(-1 / 50, abs=0.002)


def test_a_seed_gives_the_same_weights_and_another_seed_others():
    groups = np.repeat([0, 1, 2], 8)
    weights, again, another = (speaker_weights(groups, 30, seed) for seed in (1, 1, 2))
    assert np.array_equal(weights, again)
    assert not np.array_equal(weights, another)


def test_weights_do_not_depend_on_how_many_replicates_or_at_once(monkeypatch):
    groups = np.repeat([0, 1], [7, 300])
    weights = speaker_weights(groups, 100, seed=4)
    assert np.array_equal(speaker_weights(groups, 30, seed=4), weights[:30])
    monkeypatch.setattr("parivox.core.resampling._SPEAKERS_AT_ONCE", 700)
    assert np.array_equal(speaker_weights(groups, 100, seed=4), weights)


def test_weights_of_a_stratum_do_not_depend_on_the_others():
    groups = np.repeat([0, 1, 2], 9)
    without = np.where(groups == 0, -1, groups)
    stratum_weights = [
        speaker_weights(strata, 25, seed=9)[:, groups == 2] for strata in (groups, without)
    ]
    assert np.array_equal(*stratum_weights)


def test_no_replicates_are_refused():
    with pytest.raises(ConfigError, match="replicates is 0"):
        speaker_weights([0, 0], 0, seed=1)


def test_strata_of_one_are_pooled_with_other_small_ones():
    assert pool_small_strata([0] * 5 + [1] + [2] * 4).tolist() == [0] * 5 + [3] * 5


def test_a_lone_small_stratum_joins_the_smallest_other_one():
    groups = [0] * 9 + [1] * 6 + [2] * 2 + [-1]
    assert pool_small_strata(groups).tolist() == [0] * 9 + [3] * 8 + [-1]


def test_strata_stay_where_pooling_changes_nothing():
    for groups in ([0] * 5 + [1] * 5, [0, 0, -1], [-1, -1], []):
        assert pool_small_strata(groups).tolist() == groups


@given(strata)
@few
def test_pooling_leaves_no_small_stratum_beside_another(groups):
    pooled = pool_small_strata(groups)
    assert ((pooled >= 0) == (np.array(groups) >= 0)).all()
    sizes = np.unique(pooled[pooled >= 0], return_counts=True)[1]
    assert sizes.size < 2 or sizes.min() >= 5


# ------------------------------------------------------------------ rates


def test_vector_of_speaker_weights(vector):
    inputs, expected, tol = vector("4.5_speaker_bootstrap_weights")
    names = sorted(inputs["weights"][0])
    weights = np.array([[draw[name] for name in names] for draw in inputs["weights"]])
    mated, pairs = inputs["mated_trials_FN"], inputs["pairs_i_j_trials_FP"]
    cluster_errors = ErrorsBySpeaker(
        np.zeros(len(mated), dtype=int),
        np.array([names.index(row[0]) for row in mated]),
        np.array([row[2] for row in mated]),
        np.array([row[1] for row in mated]),
        1,
    )
    errors, trials = weighted(cluster_errors, weights)
    assert (errors / trials)[:, 0] == pytest.approx(expected["FNR"], abs=tol)
    cluster_errors = ErrorsByPair(
        np.zeros(len(pairs), dtype=int),
        np.array([names.index(row[0]) for row in pairs]),
        np.array([names.index(row[1]) for row in pairs]),
        np.array([row[3] for row in pairs]),
        np.array([row[2] for row in pairs]),
        1,
    )
    errors, trials = weighted(cluster_errors, weights)
    with np.errstate(invalid="ignore"):
        rates = (errors / trials)[:, 0]
    fpr = [float(rate) for rate in expected["FPR"]]
    assert rates == pytest.approx(fpr, abs=tol, nan_ok=True)


def test_weighted_rates_are_those_of_trials_written_out(errors_by_metric):
    weights = speaker_weights(np.repeat([0, 1], 5), 300, seed=8)
    for cluster_errors in errors_by_metric:
        pairs = isinstance(cluster_errors, ErrorsByPair)
        errors, trials = weighted(cluster_errors, weights)
        assert errors.shape == (300, 2, 3)
        assert trials.shape == (300, 1, 3)
        for replicate in (0, 131, 299):
            times = weights[replicate].astype(int)
            repeated = (
                times[cluster_errors.first_speaker] * times[cluster_errors.second_speaker]
                if pairs
                else times[cluster_errors.speaker]
            )
            for cell in range(3):
                inside = np.repeat(cluster_errors.cell == cell, repeated)
                assert (
                    trials[replicate, 0, cell]
                    == np.repeat(cluster_errors.trials, repeated)[inside].sum()
                )
                for point in range(2):
                    written_out = np.repeat(cluster_errors.errors[point], repeated)
                    assert errors[replicate, point, cell] == written_out[inside].sum()


def test_weights_of_one_give_errors_and_trials_as_they_are(errors_by_metric):
    for cluster_errors in errors_by_metric:
        errors, trials = weighted(cluster_errors, np.ones((1, 10), dtype=np.uint8))
        assert errors[0].tolist() == cluster_errors.sum_by_cell(cluster_errors.errors).tolist()
        assert trials[0, 0].tolist() == cluster_errors.sum_by_cell(cluster_errors.trials).tolist()


def test_trials_may_differ_between_operating_points(errors_by_metric):
    for cluster_errors in errors_by_metric:
        varied_trials = np.stack((cluster_errors.trials, np.maximum(cluster_errors.errors[1], 1)))
        varied = type(cluster_errors)(**{**vars_of(cluster_errors), "trials": varied_trials})
        weights = speaker_weights(np.zeros(10, dtype=int), 10, seed=1)
        errors, trials = weighted(varied, weights)
        assert np.array_equal(trials[:, :1], weighted(cluster_errors, weights)[1])
        assert (errors <= trials).all()


@pytest.mark.parametrize("dense_divisor", [1, 10**6])
def test_sums_do_not_depend_on_how_they_are_multiplied(monkeypatch, dense_divisor):
    monkeypatch.setattr(resampling, "_DENSE_DIVISOR", dense_divisor)
    monkeypatch.setattr(resampling, "_BLOCK_NUMBERS", 64)  # few rows in each block
    monkeypatch.setattr(resampling, "_REPLICATES_AT_ONCE", 3)
    rng = np.random.default_rng(4)
    first_speaker, second_speaker = np.triu_indices(23, 1)
    cell = np.sort(rng.integers(0, 3, first_speaker.size))
    trials = rng.integers(1, 9, cell.size)
    errors = rng.binomial(trials, [[0.1], [0.5]])
    weights = rng.poisson(1, (8, 23))
    cluster_errors = ErrorsByPair(cell, first_speaker, second_speaker, errors, trials, 3)
    pair_weights = weights[:, first_speaker] * weights[:, second_speaker]
    is_in_cell = cell == np.arange(3)[:, None]
    expected_errors = np.einsum("rp,tp,cp->rtc", pair_weights, errors, is_in_cell)
    expected_trials = np.einsum("rp,p,cp->rc", pair_weights, trials, is_in_cell)
    error_sums, trial_sums = resampling.weighted(cluster_errors, weights)
    np.testing.assert_array_equal(error_sums, expected_errors)
    np.testing.assert_array_equal(trial_sums[:, 0], expected_trials)


def test_a_tally_without_entries_has_no_trials():
    no_entries = np.zeros(0, dtype=int)
    for cluster_errors in (
        ErrorsBySpeaker(no_entries, no_entries, np.zeros((2, 0)), no_entries, 3),
        ErrorsByPair(no_entries, no_entries, no_entries, np.zeros((2, 0)), no_entries, 3),
    ):
        errors, trials = weighted(cluster_errors, np.ones((4, 6), dtype=np.uint8))
        assert errors.shape == (4, 2, 3)
        assert not errors.any()
        assert not trials.any()


def vars_of(cluster_errors):
    return {name: getattr(cluster_errors, name) for name in cluster_errors.__dataclass_fields__}


# ------------------------------------------------------------------ intervals


@pytest.fixture
def drawn():
    """Replicates of three quantities around 2, 0.5 and 1."""
    noise = np.random.default_rng(6).normal(size=(1000, 3))
    return np.array([2.0, 0.5, 1.0]) * np.exp(0.2 * noise)


def test_log_interval_and_p_follow_students_t(drawn):
    interval = from_replicates([2.0, 0.5, 1.0], drawn, [9, 24, 7])
    sd = np.log(drawn).std(axis=0, ddof=1)
    df = np.array([9, 24, 7])
    reach = student.ppf(0.975, df) * sd
    assert interval.se == pytest.approx(sd)
    assert interval.low == pytest.approx([2.0, 0.5, 1.0] * np.exp(-reach))
    assert interval.high == pytest.approx([2.0, 0.5, 1.0] * np.exp(reach))
    assert interval.p == pytest.approx(2 * student.sf(np.abs(np.log([2.0, 0.5, 1.0])) / sd, df))
    assert interval.p[2] == 1
    assert interval.reason.tolist() == ["", "", ""]


def test_linear_interval_is_symmetric(drawn):
    interval = from_replicates([2.0, 0.5, 1.0], drawn - 1, 9, scale="linear", confidence=0.9)
    reach = student.ppf(0.95, 9) * drawn.std(axis=0, ddof=1)
    assert interval.high - [2.0, 0.5, 1.0] == pytest.approx(reach)
    assert [2.0, 0.5, 1.0] - interval.low == pytest.approx(reach)


def test_replicates_without_a_value_are_dropped_and_told(drawn):
    drawn[:50, 0] = np.nan
    interval = from_replicates([2.0, 0.5, 1.0], drawn, 9)
    assert interval.dropped == pytest.approx([0.05, 0, 0])
    assert interval.se[0] == pytest.approx(np.log(drawn[50:, 0]).std(ddof=1))


def test_more_than_a_twentieth_of_undefined_replicates_is_refused(drawn):
    drawn[:51, 0] = np.nan
    drawn[:51, 1] = 0
    interval = from_replicates([2.0, 0.5, 1.0], drawn, 9)
    assert interval.reason.tolist() == ["often_undefined_or_zero"] * 2 + [""]
    assert np.isnan(interval.low).tolist() == [True, True, False]
    assert interval.dropped == pytest.approx([0.051, 0.051, 0])


def test_a_few_zeros_never_make_an_interval_narrower(drawn):
    with_zeros, without = drawn.copy(), drawn.copy()
    lowest = np.argsort(drawn[:, 0])[:20]
    with_zeros[lowest, 0] = 0
    without[lowest, 0] = np.nan
    wide, narrow = (
        from_replicates(2.0, replicates[:, 0], 9) for replicates in (with_zeros, without)
    )
    assert wide.dropped == narrow.dropped == pytest.approx(0.02)
    assert wide.se > narrow.se


@pytest.mark.parametrize(
    ("estimate", "replicates", "df", "scale", "reason"),
    [
        (np.nan, [1, 2, 3], 9, "linear", "no_estimate"),
        (0.0, [1, 2, 3], 9, "log", "no_log_estimate"),
        (1.0, [1, 2, 3], 0, "log", "fewer_than_two_speakers"),
        (1.0, [1, 2, 3], np.nan, "log", "fewer_than_two_speakers"),
        (1.0, [2, 2, 2], 9, "log", "same_in_all_replicates"),
        (1.0, [2], 9, "linear", "same_in_all_replicates"),
        (1.0, [np.nan, np.nan], 9, "linear", "often_undefined"),
    ],
)
def test_what_cannot_be_said_is_missing_with_a_reason(estimate, replicates, df, scale, reason):
    interval = from_replicates(estimate, np.array(replicates, dtype=float), df, scale=scale)
    assert str(interval.reason) == reason
    assert all(np.isnan(limit) for limit in (interval.low, interval.high, interval.p, interval.se))


@given(
    st.lists(st.floats(0.01, 100), min_size=3, max_size=30, unique=True),
    st.floats(0.01, 100),
    st.sampled_from([0.5, 0.9, 0.99]),
)
@few
def test_intervals_hold_the_estimate_and_agree_with_p(replicates, estimate, confidence):
    interval = from_replicates(estimate, replicates, 6, confidence=confidence)
    assert interval.low < estimate < interval.high
    assert (interval.p < 1 - confidence) == (not interval.low <= 1 <= interval.high)


def test_odd_options_are_refused():
    with pytest.raises(ConfigError, match="scale 'logit' is not known"):
        from_replicates(1.0, [1.0, 2.0], 3, scale="logit")
    with pytest.raises(ConfigError, match="confidence is 95"):
        from_replicates(1.0, [1.0, 2.0], 3, confidence=95)


def test_rounding_is_no_spread():
    draws = np.full((50, 2), 0.1)
    draws[::2, 0] += 1e-17
    draws[::2, 1] *= 1 + 1e-15
    for scale in ("log", "linear"):
        interval = from_replicates(np.array([0.1, 0.1]), draws, df=10, scale=scale)
        assert interval.reason.tolist() == ["same_in_all_replicates"] * 2
        assert np.isnan(interval.p).all()
    interval = from_replicates(1.1e-16, np.tile([0.0, 2e-16], 50), df=10, scale="linear")
    assert interval.reason.item() == "same_in_all_replicates"


def test_intervals_of_very_many_quantities_are_those_of_each(monkeypatch):
    drawn = np.random.default_rng(0).lognormal(size=(50, 3, 40))
    drawn[0, 1, 7] = np.nan
    unsplit = from_replicates(drawn[0], drawn, np.full(40, 9.0))
    monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 1000)
    in_chunks = from_replicates(drawn[0], drawn, np.full(40, 9.0))
    for name in ("low", "high", "p", "se", "dropped"):
        np.testing.assert_allclose(getattr(in_chunks, name), getattr(unsplit, name), rtol=1e-13)
    assert in_chunks.reason.tolist() == unsplit.reason.tolist()
