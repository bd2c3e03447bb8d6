"""Sums over speakers that are looked at every day."""

import numpy as np
import pytest

from parivox.core.sequential import (
    Moments,
    Shared,
    intra_class_correlation,
    least_score,
    log_evidence,
    score,
)

pytestmark = pytest.mark.minimal


def speakers(rng, n, rate, icc, mean=20):
    strength = 1 / icc - 1
    own = rng.beta(rate * strength, (1 - rate) * strength, n)
    trials = 1 + rng.poisson(mean, n)
    return rng.binomial(trials, own), trials, own


def of(errors, trials):
    return Moments.of(errors, trials, np.ones((1, len(errors))))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_evidence_of_a_walk_without_drift_hardly_ever_reaches_what_it_must_at_any_step(alpha):
    rng = np.random.default_rng(1)
    walks = np.cumsum(rng.standard_normal((4000, 400)), axis=1)
    reached = (log_evidence(walks, np.arange(1, 401)) >= -np.log(alpha)).any(axis=1).mean()
    assert alpha / 10 < reached <= alpha


def test_the_least_score_is_the_one_at_which_the_evidence_is_reached():
    variance = np.array([1.0, 40.0, 1e4])
    found = least_score(variance, 1e-3)
    assert log_evidence(found, variance) == pytest.approx(np.full(3, np.log(1e3)))


def test_the_correlation_of_simulated_speakers_is_found_again():
    rng = np.random.default_rng(2)
    errors, trials, _ = speakers(rng, 4000, 0.1, 0.12)
    assert float(intra_class_correlation(of(errors, trials))) == pytest.approx(0.12, abs=0.015)


def test_the_variance_is_that_of_scores_of_many_streams_and_less_of_the_same_speakers():
    rng = np.random.default_rng(3)
    drawn = {True: [], False: []}
    for _ in range(400):
        errors, trials, own = speakers(rng, 80, 0.1, 0.3)
        then = 1 + rng.poisson(20, 80)
        for is_same in (True, False):
            rate = own if is_same else speakers(rng, 80, 0.1, 0.3)[2]
            past = rng.binomial(then, rate)
            each = np.ones((1, 80))
            shared = Shared.of((errors, trials), (past, then), each) if is_same else None
            found = score(of(errors, trials), of(past, then), correlation=0.3, shared=shared)
            drawn[is_same].append([float(one[0]) for one in found])
    for one in drawn.values():
        scores, variances = np.array(one).T
        assert abs(scores.mean()) < 4 * scores.std() / 20
        assert np.median(variances) == pytest.approx(scores.var(), rel=0.25)
    assert np.var([s for s, _ in drawn[True]]) < 0.5 * np.var([s for s, _ in drawn[False]])


def test_a_score_is_zero_at_the_ratio_that_is_counted_and_falls_with_the_ratio():
    now, past = Moments.of([3, 1], [10, 10], [[1, 1]]), Moments.of([2, 0], [10, 30], [[1, 1]])
    counted = now.rate / past.rate
    excess, _ = score(now, past, counted)
    assert excess == pytest.approx(0)
    assert score(now, past, 1.0)[0] > 0 > score(now, past, 2 * counted)[0]
    assert np.isnan(score(now, Moments.of([0], [0], [[1]]))[1]).all()
