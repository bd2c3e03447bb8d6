from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import fmin_bfgs
from scipy.special import expit

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
from parivox.core.confounding import trend
from parivox.errors import ConfigError


def speakers(errors, trials, cell=None):
    errors = np.asarray(errors)
    n = errors.shape[-1]
    cell = np.zeros(n, dtype=int) if cell is None else np.asarray(cell)
    return ErrorsBySpeaker(cell, np.arange(n), errors, np.asarray(trials), int(cell.max()) + 1)


def pairs(s, errors, trials):
    first_speaker, second_speaker = np.triu_indices(s, 1)
    return ErrorsByPair(
        np.zeros(first_speaker.size, int),
        first_speaker,
        second_speaker,
        np.asarray(errors),
        np.asarray(trials),
        1,
    )


def likeliest(x, errors, trials):
    def loss(b):
        eta = b[0] + b[1] * x
        return -(errors * eta - trials * np.logaddexp(0, eta)).sum()

    return fmin_bfgs(loss, [-2.0, 0.0], gtol=1e-9, disp=False)


X = np.array([21.0, 25, 30, 33, 41, 44, 52, 58, 63, 70])
ERRORS = np.array([3, 1, 5, 2, 4, 8, 3, 9, 7, 15])
TRIALS = np.array([100, 80, 120, 60, 100, 90, 110, 100, 70, 100])


def test_the_slope_is_that_of_maximum_likelihood():
    _, slope = likeliest((X - 45) / 10, ERRORS, TRIALS)
    fit = trend(speakers(ERRORS, TRIALS), X / 10)
    assert fit.reason.tolist() == [""]
    assert fit.slope[0] == pytest.approx(slope, abs=1e-6)
    assert fit.low[0] < slope < fit.high[0]


def test_pairs_have_the_mean_of_their_two_speakers():
    rng = np.random.default_rng(5)
    first_speaker, second_speaker = np.triu_indices(12, 1)
    x = rng.normal(size=12)
    mean = (x[first_speaker] + x[second_speaker]) / 2
    trials = rng.integers(20, 60, first_speaker.size)
    errors = rng.binomial(trials, expit(-3 + mean))
    fit = trend(pairs(12, errors, trials), x)
    assert fit.slope[0] == pytest.approx(likeliest(mean, errors, trials)[1], abs=1e-5)
    assert fit.speakers.tolist() == [12]


def test_the_variance_is_near_that_of_refitting_without_each_speaker():
    full = likeliest(X / 10, ERRORS, TRIALS)[1]
    without = [
        likeliest(np.delete(X, i) / 10, np.delete(ERRORS, i), np.delete(TRIALS, i))[1]
        for i in range(X.size)
    ]
    jackknife = np.sqrt((X.size - 1) / X.size * np.sum((np.array(without) - full) ** 2))
    fit = trend(speakers(ERRORS, TRIALS), X / 10)
    weight = TRIALS * (p := expit(np.polyval(likeliest(X / 10, ERRORS, TRIALS)[::-1], X / 10)))
    weight = weight * (1 - p)
    centred = X / 10 - np.average(X / 10, weights=weight)
    independent = 1 / np.sqrt((weight * centred**2).sum())
    assert fit.se[0] == pytest.approx(max(jackknife, independent), rel=0.1)
    assert fit.se[0] >= independent * (1 - 1e-9)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 100), st.floats(-1000, 1000))
def test_units_scale_the_slope_and_shifts_leave_it(unit, shift):
    plain, moved = trend(speakers(ERRORS, TRIALS), X), trend(speakers(ERRORS, TRIALS), X * unit)
    for name in ("slope", "low", "high", "se"):
        want = getattr(plain, name)
        np.testing.assert_allclose(getattr(moved, name) * unit, want, rtol=1e-6)
        shifted = trend(speakers(ERRORS, TRIALS), X + shift)
        np.testing.assert_allclose(getattr(shifted, name), want, rtol=1e-6)
    np.testing.assert_allclose(moved.p, plain.p, rtol=1e-6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.permutations(range(10)))
def test_names_of_speakers_do_not_matter(order):
    order = np.array(order)
    ordered, reversed_fit = (
        trend(speakers(ERRORS, TRIALS), X),
        trend(speakers(ERRORS[order], TRIALS[order]), X[order]),
    )
    np.testing.assert_allclose(
        [ordered.slope[0], ordered.low[0], ordered.df[0]],
        [reversed_fit.slope[0], reversed_fit.low[0], reversed_fit.df[0]],
    )


def test_swapped_sides_of_pairs_do_not_matter():
    rng = np.random.default_rng(6)
    trials = np.full(45, 50)
    errors = rng.binomial(trials, 0.05)
    x = rng.normal(size=10)
    order = rng.permutation(10)
    first_speaker, second_speaker = np.triu_indices(10, 1)
    renamed = np.sort(np.stack((order[first_speaker], order[second_speaker])), axis=0)
    straight = trend(pairs(10, errors, trials), x)
    cluster_errors = ErrorsByPair(np.zeros(45, int), renamed[0], renamed[1], errors, trials, 1)
    back = trend(cluster_errors, x[np.argsort(order)])
    np.testing.assert_allclose([straight.slope[0], straight.se[0]], [back.slope[0], back.se[0]])


def test_cells_and_points_are_fitted_each_by_itself():
    rng = np.random.default_rng(7)
    cell, x = np.repeat([0, 1, 2], 8), rng.normal(size=24)
    trials = rng.integers(50, 100, 24)
    errors = rng.binomial(trials, [[0.05], [0.2]], (2, 24))
    together = trend(speakers(errors, trials, cell), x)
    for point in range(2):
        for c in range(3):
            rows = slice(8 * c, 8 * c + 8)
            alone = trend(speakers(errors[point, rows], trials[rows]), x[rows])
            for name in ("slope", "low", "high", "se", "df", "p"):
                np.testing.assert_allclose(
                    getattr(together, name)[point, c], getattr(alone, name)[0], rtol=1e-6
                )


def test_speakers_whose_number_is_unknown_are_left_out():
    numbers = X.copy()
    numbers[[2, 5]] = np.nan
    is_known = ~np.isnan(numbers)
    fit = trend(speakers(ERRORS, TRIALS), numbers)
    alone = trend(speakers(ERRORS[is_known], TRIALS[is_known]), X[is_known])
    assert fit.speakers.tolist() == [8]
    np.testing.assert_allclose([fit.slope, fit.high], [alone.slope, alone.high])


@pytest.mark.parametrize(
    ("errors", "x", "reason"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], "few_speakers"),
        ([1, 2, 3, 4, 5], [2, 2, 2, 2, 2], "one_value"),
        ([0, 0, 0, 0, 0], [1, 2, 3, 4, 5], "no_errors"),
        ([9, 9, 9, 9, 9], [1, 2, 3, 4, 5], "all_errors"),
        ([0, 0, 0, 9, 9], [1, 2, 3, 4, 5], "separated"),
        ([9, 9, 0, 0, 0], [1, 2, 3, 4, 5], "separated"),
        ([0, 0, 0, 3, 9], [1, 2, 3, 4, 5], "separated"),
        ([1, 2, 3, 2, 1], [1, 1, 1, 1, 5], "few_apart"),
    ],
)
def test_what_cannot_be_fitted_has_a_reason(errors, x, reason):
    fit = trend(speakers(errors, np.full(len(errors), 9)), np.array(x, dtype=float))
    assert fit.reason.tolist() == [reason]
    assert np.isnan([fit.low[0], fit.high[0], fit.se[0], fit.p[0]]).all()
    assert np.isnan(fit.slope[0]) == (reason != "few_apart")


def test_a_cell_without_anybody_has_a_reason():
    cluster_errors = ErrorsBySpeaker(np.array([1] * 10), np.arange(10), ERRORS, TRIALS, 3)
    assert trend(cluster_errors, X).reason.tolist() == ["few_speakers", "", "few_speakers"]
    assert trend(cluster_errors, X * np.nan).reason.tolist() == ["few_speakers"] * 3


def test_errors_at_the_edge_of_overlap_are_still_fitted():
    fit = trend(speakers([0, 0, 1, 5, 8], np.full(5, 9)), np.arange(5.0))
    assert fit.reason.tolist() == [""]
    assert fit.slope[0] == pytest.approx(
        likeliest(np.arange(5.0), np.array([0, 0, 1, 5, 8]), 9)[1], abs=1e-5
    )


@pytest.mark.parametrize("sides", [1, 2])
def test_intervals_cover_the_true_slope(sides):
    rng = np.random.default_rng(8)
    s, runs, true = 25, 400, 0.5
    x = rng.normal(size=s)
    if sides == 1:
        effect = rng.normal(0, 0.7, (runs, s))
        trials = np.full(s, 100)
        cluster_errors = speakers(rng.binomial(trials, expit(-2.5 + true * x + effect)), trials)
    else:
        first_speaker, second_speaker = np.triu_indices(s, 1)
        effect = rng.normal(0, 0.4, (runs, s))
        trials = np.full(first_speaker.size, 40)
        eta = (
            -3.5
            + true * (x[first_speaker] + x[second_speaker]) / 2
            + effect[:, first_speaker]
            + effect[:, second_speaker]
        )
        eta += rng.normal(0, 0.3, eta.shape)
        cluster_errors = pairs(s, rng.binomial(trials, expit(eta)), trials)
    fit = trend(cluster_errors, x)
    assert (fit.reason == "").all()
    covered = np.mean((fit.low <= true) & (true <= fit.high))
    assert 0.92 <= covered <= 0.985
    # as if trials were independent, less than half of the intervals would
    assert np.mean(np.abs(fit.slope - true) < 1.96 / np.sqrt(trials.sum() * 0.07)) < 0.7


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_nonsense_confidence_is_refused(confidence):
    with pytest.raises(ConfigError, match="confidence"):
        trend(speakers(ERRORS, TRIALS), X, confidence)
