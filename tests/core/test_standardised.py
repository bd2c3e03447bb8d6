from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.confounding import standardised
from parivox.core.intervals import rate_interval

GROUP, STRATUM = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])


def cluster_errors_of(errors, trials):
    """Cells (group, stratum) from tables [cell, speaker of the group]; nobody without trials."""
    errors, trials = np.asarray(errors), np.asarray(trials)
    cell, columns = np.nonzero(trials)
    speaker = columns + trials.shape[1] * (cell // 2)
    return ErrorsBySpeaker(
        cell, speaker, errors[..., cell, columns], trials[cell, columns], trials.shape[0]
    )


def random_pairs(rng, s=7, lead=()):
    """Two groups of `s` speakers, every pair of a group in both strata."""
    first_speaker, second_speaker = np.triu_indices(s, 1)
    cell = np.repeat(np.arange(4), first_speaker.size)
    offset = s * (cell // 2)
    trials = rng.integers(5, 60, cell.size)
    errors = rng.binomial(
        trials, np.repeat([0.02, 0.1, 0.03, 0.2], first_speaker.size), (*lead, cell.size)
    )
    return ErrorsByPair(
        cell,
        np.tile(first_speaker, 4) + offset,
        np.tile(second_speaker, 4) + offset,
        errors,
        trials,
        4,
    )


ERRORS = [[1, 2, 0, 3], [9, 0, 4, 1], [2, 2, 1, 0], [3, 8, 5, 2]]
TRIALS = [[100, 120, 80, 150], [30, 20, 40, 10], [50, 60, 70, 20], [90, 80, 100, 60]]


def test_rates_are_weighted_means_of_the_strata():
    cluster_errors = cluster_errors_of(ERRORS, TRIALS)
    by_stratum = np.sum(ERRORS, axis=1) / np.sum(TRIALS, axis=1)
    equal = standardised(cluster_errors, GROUP, STRATUM)
    want = [by_stratum[:2].mean(), by_stratum[2:].mean()]
    np.testing.assert_allclose(moments(equal.cluster_errors).rate, want)
    assert equal.weight.tolist() == [0.5, 0.5]
    assert equal.left_out.tolist() == [0.0, 0.0]
    assert equal.reason.tolist() == ["", ""]


def test_a_mixture_that_differs_no_longer_speaks():
    rates = np.array([0.01, 0.2])
    trials = np.array([[900] * 4, [100] * 4, [100] * 4, [900] * 4])
    cluster_errors = cluster_errors_of((trials * np.tile(rates, 2)[:, None]).astype(int), trials)
    crude = [cluster_errors.errors[cluster_errors.cell // 2 == g].sum() / 4000 for g in (0, 1)]
    assert crude[1] / crude[0] > 6
    np.testing.assert_allclose(
        moments(standardised(cluster_errors, GROUP, STRATUM).cluster_errors).rate, [0.105, 0.105]
    )


def test_one_stratum_is_no_stratum():
    rng = np.random.default_rng(1)
    for cluster_errors in (cluster_errors_of(ERRORS, TRIALS), random_pairs(rng, lead=(3,))):
        standard = standardised(cluster_errors, np.arange(4), np.zeros(4, dtype=int))
        crude, again = (
            rate_interval(moments(cluster_errors)),
            rate_interval(moments(standard.cluster_errors)),
        )
        for name in ("rate", "low", "high", "df", "se", "deff"):
            np.testing.assert_allclose(getattr(again, name), getattr(crude, name), rtol=1e-9)


def test_residuals_of_speakers_are_summed_over_strata():
    cluster_errors = cluster_errors_of(ERRORS, TRIALS)
    rates = standardised(cluster_errors, GROUP, STRATUM)
    errors, trials = np.array(ERRORS), np.array(TRIALS)
    total = trials.sum(axis=1)
    w = rates.weight[STRATUM]
    residual = errors - errors.sum(axis=1, keepdims=True) / total[:, None] * trials
    r = (w / total)[:, None] * residual
    size = (w / total)[:, None] * trials
    sums = moments(rates.cluster_errors)
    for g in (0, 1):
        columns = slice(2 * g, 2 * g + 2)
        s, n = r[columns].sum(axis=0), size[columns].sum(axis=0)
        # by speakers that leave their share of the weights
        want = 3 / 4 * np.sum((s / (1 - n)) ** 2)
        assert sums.jackknife[g] == pytest.approx(want)
        assert sums.trials[g] == pytest.approx(1 / np.sum(w[columns] ** 2 / total[columns]))


def test_residuals_of_pairs_are_summed_over_strata():
    cluster_errors = random_pairs(np.random.default_rng(2))
    standard = standardised(cluster_errors, GROUP, STRATUM)
    sums = moments(standard.cluster_errors)
    for g in (0, 1):
        pair: dict[tuple[int, int], np.ndarray] = {}
        for k in (0, 1):
            rows = cluster_errors.cell_range(2 * g + k, 2 * g + k + 1)
            rate, total = rows.errors.sum() / rows.trials.sum(), rows.trials.sum()
            for a, b, e, n in zip(
                rows.first_speaker, rows.second_speaker, rows.errors, rows.trials, strict=True
            ):
                residual = 0.5 / total * np.array([e - rate * n, n])
                pair[a, b] = pair.get((a, b), 0) + residual
        by_speaker = {s: sum(v for ab, v in pair.items() if s in ab) for ab in pair for s in ab}
        squares = {s: sum(v[0] ** 2 for ab, v in pair.items() if s in ab) for s in by_speaker}
        share_without = {s: 1 - v[1] for s, v in by_speaker.items()}
        jackknife = 6 / 7 * sum((v[0] / share_without[s]) ** 2 for s, v in by_speaker.items())
        unbiased = (
            5
            / 4
            * 6
            / 7
            * sum(
                (v[0] ** 2 - squares[s] / 2) / share_without[s] ** 2 for s, v in by_speaker.items()
            )
        )
        assert sums.jackknife[g] == pytest.approx(jackknife)
        assert sums.unbiased[g] == pytest.approx(unbiased)


def test_the_variance_is_near_that_of_standardising_without_each_speaker():
    rng = np.random.default_rng(3)
    trials = rng.integers(50, 200, (4, 30))
    errors = rng.binomial(trials, rng.beta(1, 9, (4, 30)))
    sums = moments(standardised(cluster_errors_of(errors, trials), GROUP, STRATUM).cluster_errors)

    def rate(subset):
        return np.mean(errors[:2, subset].sum(axis=1) / trials[:2, subset].sum(axis=1))

    without = np.array([rate(np.delete(np.arange(30), s)) for s in range(30)])
    jackknife = 29 / 30 * np.sum((without - rate(np.arange(30))) ** 2)
    assert sums.jackknife[0] == pytest.approx(jackknife, rel=0.03)


def test_intervals_cover_the_standardised_rate():
    rng = np.random.default_rng(4)
    runs, s = 400, 20
    speaker = rng.gamma(2, 0.5, (runs, 4, s))
    speaker[:, 1], speaker[:, 3] = speaker[:, 0], speaker[:, 2]  # who is hard in one is in both
    rates = np.array([0.02, 0.08, 0.02, 0.08])
    trials = np.tile(np.array([[150], [50], [50], [150]]), s)
    errors = rng.binomial(trials, np.minimum(rates[:, None] * speaker, 1))
    cluster_errors = cluster_errors_of(errors, trials)
    interval = rate_interval(moments(standardised(cluster_errors, GROUP, STRATUM).cluster_errors))
    covered = np.mean((interval.low <= 0.05) & (interval.high >= 0.05))
    assert 0.92 <= covered <= 0.98


def test_strata_that_a_group_lacks_are_left_out_and_told():
    errors = np.array([[1, 2, 0], [9, 0, 4], [2, 2, 1], [3, 8, 5]])
    trials = np.array([[100, 100, 100], [50, 50, 50], [70, 70, 70], [0, 0, 0]])
    cluster_errors = cluster_errors_of(np.where(trials, errors, 0), trials)
    standard = standardised(cluster_errors, GROUP, STRATUM)
    assert standard.weight.tolist() == [1.0, 0.0]
    assert standard.left_out.tolist() == pytest.approx([150 / 450, 0.0])
    np.testing.assert_allclose(moments(standard.cluster_errors).rate, [3 / 300, 5 / 210])


def test_a_stratum_with_one_speaker_tells_nothing_of_people_and_is_left_out():
    trials = np.array([[100, 100, 100], [50, 50, 50], [70, 70, 70], [90, 0, 0]])
    standard = standardised(cluster_errors_of(trials // 10, trials), GROUP, STRATUM)
    assert standard.weight.tolist() == [1.0, 0.0]
    assert standard.left_out.tolist() == pytest.approx([150 / 450, 90 / 300])


def test_groups_without_trials_do_not_take_the_strata_of_others_away():
    trials = np.array([[100, 100, 100], [50, 50, 50], [0, 0, 0], [0, 0, 0]])
    standard = standardised(cluster_errors_of(trials // 10, trials), GROUP, STRATUM)
    assert standard.weight.tolist() == [0.5, 0.5]
    assert standard.reason.tolist() == ["", "no_trials"]
    assert moments(standard.cluster_errors).rate[0] == pytest.approx(0.1)
    assert np.isnan(moments(standard.cluster_errors).rate[1])


def test_without_a_common_stratum_there_is_no_rate():
    trials = np.array([[100, 100, 100], [0, 0, 0], [0, 0, 0], [90, 80, 70]])
    standard = standardised(cluster_errors_of(trials // 10, trials), GROUP, STRATUM)
    assert standard.reason.tolist() == ["no_common_stratum"] * 2
    assert standard.left_out.tolist() == [1.0, 1.0]
    assert np.isnan(moments(standard.cluster_errors).rate).all()


def test_groups_without_errors_or_with_nothing_else_keep_their_exact_rates():
    trials = np.array(TRIALS)
    errors = np.concatenate((np.zeros((2, 4), dtype=int), trials[2:]))
    interval = rate_interval(
        moments(standardised(cluster_errors_of(errors, trials), GROUP, STRATUM).cluster_errors)
    )
    assert interval.rate.tolist() == [0.0, 1.0]
    assert interval.method.tolist() == ["zero-errors"] * 2


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_names_of_speakers_and_of_strata_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    cluster_errors = random_pairs(rng, s=5)
    new = rng.permutation(10)
    first_speaker, second_speaker = np.sort(
        np.stack((new[cluster_errors.first_speaker], new[cluster_errors.second_speaker])), axis=0
    )
    renamed = ErrorsByPair(
        cluster_errors.cell,
        first_speaker,
        second_speaker,
        cluster_errors.errors,
        cluster_errors.trials,
        4,
    )
    standard = standardised(cluster_errors, GROUP, STRATUM)
    back = standardised(renamed, GROUP, 1 - STRATUM)
    np.testing.assert_allclose(back.weight, standard.weight[::-1])
    for name in ("rate", "variance", "df"):
        np.testing.assert_allclose(
            getattr(moments(back.cluster_errors), name),
            getattr(moments(standard.cluster_errors), name),
            rtol=1e-9,
        )


def test_points_are_standardised_each_by_itself():
    cluster_errors = random_pairs(np.random.default_rng(6), lead=(2,))
    together = moments(standardised(cluster_errors, GROUP, STRATUM).cluster_errors)
    for point in range(2):
        alone = ErrorsByPair(
            cluster_errors.cell,
            cluster_errors.first_speaker,
            cluster_errors.second_speaker,
            cluster_errors.errors[point],
            cluster_errors.trials,
            4,
        )
        sums = moments(standardised(alone, GROUP, STRATUM).cluster_errors)
        np.testing.assert_allclose(together.rate[point], sums.rate)
        np.testing.assert_allclose(together.variance[point], sums.variance)


@pytest.mark.parametrize("seed", range(30))
def test_a_rate_of_weighted_trials_is_at_most_one(seed):
    # sums of weighted errors and trials differ in their last bits
    pairs = random_pairs(np.random.default_rng(seed))
    all_rejected = replace(pairs, errors=pairs.trials)
    found = moments(standardised(all_rejected, GROUP, STRATUM).cluster_errors)
    assert (found.rate <= 1).all()
    with np.errstate(all="raise"):
        rate_interval(found, 0.95)
