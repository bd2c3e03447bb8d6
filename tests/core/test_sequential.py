"""Sums over speakers that are looked at every day."""

import numpy as np
import pytest

from parivox.core.sequential import (
    DailySquares,
    JointMoments,
    SpeakerMoments,
    day_variation_p,
    intra_class_correlation,
    least_score,
    log_evidence,
    score,
)

pytestmark = pytest.mark.minimal


def speakers(rng, n, rate, icc, mean=20):
    strength = 1 / icc - 1
    speaker_rates = rng.beta(rate * strength, (1 - rate) * strength, n)
    trials = 1 + rng.poisson(mean, n)
    return rng.binomial(trials, speaker_rates), trials, speaker_rates


def moments_of(errors, trials):
    return SpeakerMoments.from_counts(errors, trials, np.ones((1, len(errors))))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_evidence_of_a_walk_without_drift_hardly_ever_reaches_what_it_must_at_any_step(alpha):
    rng = np.random.default_rng(1)
    walks = np.cumsum(rng.standard_normal((4000, 400)), axis=1)
    reached = (log_evidence(walks, np.arange(1, 401)) >= -np.log(alpha)).any(axis=1).mean()
    assert alpha / 10 < reached <= alpha


def test_the_least_score_is_the_one_at_which_the_evidence_is_reached():
    variance = np.array([1.0, 40.0, 1e4])
    threshold = least_score(variance, 1e-3)
    assert log_evidence(threshold, variance) == pytest.approx(np.full(3, np.log(1e3)))


def test_the_correlation_of_simulated_speakers_is_found_again():
    rng = np.random.default_rng(2)
    errors, trials, _ = speakers(rng, 4000, 0.1, 0.12)
    assert float(intra_class_correlation(moments_of(errors, trials))) == pytest.approx(
        0.12, abs=0.015
    )


@pytest.mark.slow
def test_the_variance_is_that_of_scores_of_many_streams_and_less_of_the_same_speakers():
    rng = np.random.default_rng(3)
    drawn = {True: [], False: []}
    for _ in range(400):
        errors, trials, speaker_rates = speakers(rng, 80, 0.1, 0.3)
        past_trials = 1 + rng.poisson(20, 80)
        for is_same in (True, False):
            rate = speaker_rates if is_same else speakers(rng, 80, 0.1, 0.3)[2]
            past = rng.binomial(past_trials, rate)
            one_cell = np.ones((1, 80))
            shared = (
                JointMoments.from_counts((errors, trials), (past, past_trials), one_cell)
                if is_same
                else None
            )
            score_and_variance = score(
                moments_of(errors, trials),
                moments_of(past, past_trials),
                correlation=0.3,
                shared=shared,
            )
            drawn[is_same].append([float(pairs[0]) for pairs in score_and_variance])
    for pairs in drawn.values():
        scores, variances = np.array(pairs).T
        assert abs(scores.mean()) < 4 * scores.std() / 20
        assert np.median(variances) == pytest.approx(scores.var(), rel=0.25)
    assert np.var([s for s, _ in drawn[True]]) < 0.5 * np.var([s for s, _ in drawn[False]])


def test_a_score_is_zero_at_the_ratio_that_is_counted_and_falls_with_the_ratio():
    now, past = (
        SpeakerMoments.from_counts([3, 1], [10, 10], [[1, 1]]),
        SpeakerMoments.from_counts([2, 0], [10, 30], [[1, 1]]),
    )
    counted = now.rate / past.rate
    excess, _ = score(now, past, counted)
    assert excess == pytest.approx(0)
    assert score(now, past, 1.0)[0] > 0 > score(now, past, 2 * counted)[0]
    assert np.isnan(score(now, SpeakerMoments.from_counts([0], [0], [[1]]))[1]).all()


def days_of(rng, streams, days, factor):
    """Moments of streams, ``[stream, day, 1]``: 300 callers a day, each with one trial."""
    return moments_of_days(callers_in_error(rng, streams, days, factor), 1)


def callers_in_error(rng, streams, days, factor):
    """How many of 300 callers a day, ``[stream, day, 1]``, fail."""
    rate = np.minimum(rng.beta(0.4, 7.6, (streams, days, 300)) * factor, 1)
    return rng.binomial(1, rate).sum(axis=-1, keepdims=True).astype(float)


def moments_of_days(n_callers, repeats):
    """Moments of callers with so many trials a day, which end alike."""
    errors, trials = repeats * n_callers, np.full(n_callers.shape, 300.0 * repeats)
    return SpeakerMoments(errors, trials, repeats * errors, repeats * errors, repeats * trials)


def lasting(days, start, times):
    return np.where(np.arange(days)[:, None] >= start, times, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("days", "start"), [(14, None), (14, 7), (60, None), (60, 7), (60, 30)])
def test_days_that_vary_by_chance_are_not_said_to_vary_even_if_a_change_lasts(days, start):
    rng = np.random.default_rng(4)
    factor = 1.0 if start is None else lasting(days, start, 3.0)
    n_callers = callers_in_error(rng, 1000, days, factor)
    for repeats in (1, 4):
        p, pairs = day_variation_p(moments_of_days(n_callers, repeats))
        assert (pairs == days // 2).all()
        assert (p <= 0.05).mean() <= 0.06


@pytest.mark.slow
def test_days_that_vary_are_found_and_those_that_vary_as_much_as_allowed_are_not():
    rng = np.random.default_rng(5)
    factor = np.exp(0.5 * rng.standard_normal((300, 60, 1)))
    days = days_of(rng, 300, 60, factor)
    assert (day_variation_p(days)[0] <= 0.05).mean() > 0.9
    assert (day_variation_p(days, sd=0.6)[0] <= 0.05).mean() < 0.02


@pytest.mark.slow
def test_what_all_have_on_the_same_day_is_no_variation_against_the_others():
    rng = np.random.default_rng(6)
    factor = np.exp(0.5 * rng.standard_normal((300, 60, 1)))
    groups = [days_of(rng, 300, 60, factor) for _ in range(2)]
    assert (day_variation_p(groups[0])[0] <= 0.05).mean() > 0.9
    assert (day_variation_p(*groups)[0] <= 0.05).mean() <= 0.06


def test_days_without_known_products_are_left_out():
    rng = np.random.default_rng(7)
    days = days_of(rng, 1, 20, 1.0)
    days.trials_trials[:, :10] = 0
    p, pairs = day_variation_p(days)
    assert pairs.tolist() == [[5]]
    assert p == pytest.approx(
        day_variation_p(SpeakerMoments(*(x[:, 10:] for x in vars(days).values())))[0]
    )


def test_variation_that_is_allowed_for_makes_a_score_less_sure():
    now, past = (
        SpeakerMoments.from_counts([3, 1], [10, 10], [[1, 1]]),
        SpeakerMoments.from_counts([2, 0], [10, 30], [[1, 1]]),
    )
    _, sure = score(now, past, 1.25)
    squares = np.array([200.0]), np.array([800.0])
    _, less = score(now, past, 1.25, daily=DailySquares(*squares, 0.5))
    rate = 6 / (1.25 * 20 + 40)
    k = 1.25 * 20 / 40
    added = 0.25 * ((1.25 * rate) ** 2 * 200 + (k * rate) ** 2 * 800)
    assert less - sure == pytest.approx([added])
