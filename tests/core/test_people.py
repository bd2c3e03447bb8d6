from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betaln

from parivox.core.cluster_errors import ErrorsBySpeaker
from parivox.core.error_burden import locked_out, locked_out_people, share_above, worst_tenth
from parivox.errors import ConfigError


def speakers(errors, trials, cell=None):
    errors = np.asarray(errors)
    n = errors.shape[-1]
    cell = np.zeros(n, dtype=int) if cell is None else np.asarray(cell)
    trials = np.broadcast_to(np.asarray(trials), (n,))
    return ErrorsBySpeaker(cell, np.arange(n), errors, trials, int(cell.max()) + 1)


def correlation(errors, trials):
    """Analysis of variance over single trials, spelled out."""
    outcome = [np.r_[np.ones(e), np.zeros(n - e)] for e, n in zip(errors, trials, strict=True)]
    everything = np.concatenate(outcome)
    s, total = len(outcome), everything.size
    between = sum(o.size * (o.mean() - everything.mean()) ** 2 for o in outcome) / (s - 1)
    within = sum(((o - o.mean()) ** 2).sum() for o in outcome) / (total - s)
    trials_per_speaker = (total - sum(o.size**2 for o in outcome) / total) / (s - 1)
    return (between - within) / (between + (trials_per_speaker - 1) * within)


ERRORS, TRIALS = (
    np.array([12, 0, 3, 41, 7, 1, 0, 9]),
    np.array([100, 230, 400, 520, 80, 230, 150, 300]),
)


def beta_parameters():
    rate, rho = ERRORS.sum() / TRIALS.sum(), correlation(ERRORS, TRIALS)
    return rate * (1 / rho - 1), (1 - rate) * (1 / rho - 1)


def expected_under_posteriors(f, low=0.0):
    a, b = beta_parameters()
    integrals = []
    for p, q in zip(a + ERRORS, b + TRIALS - ERRORS, strict=True):

        def weighted(x, p=p, q=q):
            return f(x) * np.exp((p - 1) * np.log(x) + (q - 1) * np.log1p(-x) - betaln(p, q))

        middle = p / (p + q)
        knots = sorted({low, max(low, middle / 2), max(low, min(middle * 3, 0.9)), 1.0})
        integrals.append(sum(quad(weighted, u, v, limit=200)[0] for u, v in pairwise(knots)))
    return np.mean(integrals)


def test_the_share_is_the_mean_of_what_is_known_of_each_speaker():
    want = expected_under_posteriors(lambda _: 1.0, low=0.05)
    assert share_above(speakers(ERRORS, TRIALS), 0.05).value[0] == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("attempts", [1, 3, 10])
def test_lock_outs_of_people_are_the_mean_of_each_ones(attempts):
    want = expected_under_posteriors(lambda x: x**attempts)
    people = locked_out_people(speakers(ERRORS, TRIALS), attempts)
    assert people.value[0] == pytest.approx(want, rel=1e-5)


def test_a_few_people_always_are_told_from_everyone_sometimes():
    """Both cells have a rate of 5 %."""
    everyone = np.full(100, 10)
    errors = np.r_[np.zeros(95, dtype=int), np.full(5, 200)]
    cluster_errors = speakers(np.r_[everyone, errors], 200, np.repeat([0, 1], 100))
    above = share_above(cluster_errors, 0.1)
    assert above.value[0] < 0.01
    assert above.value[1] == pytest.approx(0.05, abs=0.005)
    out = locked_out_people(cluster_errors, 3)
    assert out.value[0] < 0.001
    assert out.value[1] == pytest.approx(0.05, abs=0.005)
    worst = worst_tenth(cluster_errors)
    assert worst.observed.tolist() == pytest.approx([0.1, 1.0])
    assert worst.expected.tolist() == pytest.approx([worst.expected[0]] * 2)


def test_luck_is_not_counted_as_people():
    rng = np.random.default_rng(1)
    errors = rng.binomial(230, 0.04, (200, 100))
    share = share_above(speakers(errors, 230), 0.05)
    assert np.mean(errors / 230 > 0.05) > 0.2
    assert share.value.mean() < 0.02
    assert (share.low <= 0.001).mean() > 0.95


@pytest.mark.parametrize(("s", "n"), [(8, 230), (25, 230), (100, 30)])
def test_limits_cover_the_share_among_people_not_only_among_speakers(s, n):
    rng = np.random.default_rng(2)
    rates = rng.beta(0.18, 8.82, (200, s))
    true = np.mean(rng.beta(0.18, 8.82, 200_000) > 0.05)
    share = share_above(speakers(rng.binomial(n, rates), n), 0.05)
    is_defined = share.reason[:, 0] == ""
    covered = (share.low[is_defined] <= true) & (true <= share.high[is_defined])
    assert is_defined.mean() > 0.95
    assert covered.mean() >= 0.95
    assert abs(share.value[is_defined].mean() - true) < 0.03


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=5, max_size=30).filter(any),
    st.floats(0.02, 0.9),
    st.randoms(),
)
def test_limits_hold_the_share_and_names_do_not_matter(errors, limit, random):
    share = share_above(speakers(errors, 60), limit)
    if share.reason[0]:
        assert np.isnan(share.value[0])
        return
    assert 0 <= share.low[0] <= share.value[0] <= share.high[0] <= 1
    shuffled = random.sample(errors, len(errors))
    again = share_above(speakers(shuffled, 60), limit)
    np.testing.assert_allclose(again.value, share.value, atol=1e-9)
    np.testing.assert_allclose(again.high, share.high, atol=1e-9)


def test_a_higher_limit_is_exceeded_by_fewer():
    limits = np.linspace(0.01, 0.5, 12)
    shares = [share_above(speakers(ERRORS, TRIALS), limit).value[0] for limit in limits]
    assert (np.diff(shares) < 0).all()


def test_people_who_differ_are_locked_out_more_often_than_people_alike():
    cluster_errors = speakers(ERRORS, TRIALS)
    rate = ERRORS.sum() / TRIALS.sum()
    for attempts in (2, 3, 5):
        assert locked_out_people(cluster_errors, attempts).value[0] > locked_out(rate, attempts)


@pytest.mark.parametrize(
    ("errors", "trials", "reason"),
    [
        ([1, 2, 3, 4], 100, "few_speakers"),
        ([0] * 8, 100, "no_errors"),
        ([100] * 8, 100, "all_errors"),
        ([0, 1, 0, 1, 0, 1], 1, "few_trials"),
        ([0, 1, 0, 1, 0, 3], 19, "few_trials"),
        ([0, 1, 0, 1, 0, 3], 20, ""),
    ],
)
def test_what_cannot_be_told_has_a_reason(errors, trials, reason):
    share = share_above(speakers(errors, trials), 0.05)
    assert share.reason.tolist() == [reason]
    assert np.isnan([share.value[0], share.low[0], share.high[0]]).all() == bool(reason)


def test_attempts_beyond_the_trials_are_not_told():
    assert locked_out_people(speakers([0, 1, 0, 1, 0, 1], 4), 5).reason.tolist() == ["few_trials"]
    assert locked_out_people(speakers([0, 1, 0, 1, 0, 1], 5), 5).reason.tolist() == [""]


def test_cells_and_points_are_told_each_by_itself():
    rng = np.random.default_rng(3)
    cell = np.repeat([0, 2], [8, 12])
    errors = rng.binomial(60, rng.beta(1, 9, (3, 20)))
    together = speakers(errors, 60, cell)
    for measure in (
        lambda t: share_above(t, 0.05).value,
        lambda t: locked_out_people(t, 3).high,
        lambda t: worst_tenth(t).observed,
        lambda t: worst_tenth(t).expected,
    ):
        measured = measure(together)
        assert measured.shape == (3, 3)
        assert np.isnan(measured[:, 1]).all()
        for point in range(3):
            for c, rows in ((0, slice(8)), (2, slice(8, 20))):
                alone = measure(speakers(errors[point, rows], 60))
                np.testing.assert_allclose(measured[point, c], alone[0], rtol=1e-9)
    assert share_above(together, 0.05).reason[:, 1].tolist() == ["no_trials"] * 3
    assert worst_tenth(together).reason[:, 1].tolist() == ["no_trials"] * 3


def test_the_worst_tenth_is_counted_up():
    tenth = worst_tenth(speakers([5, 1, 0, 9, 2, 0, 0, 1, 0, 0, 2], 50))
    assert tenth.speakers.tolist() == [2]
    assert tenth.observed[0] == pytest.approx(14 / 20)
    assert worst_tenth(speakers([1, 4, 3], 50)).observed[0] == pytest.approx(4 / 8)
    errorless = worst_tenth(speakers([0, 0, 0], 50))
    assert errorless.reason.tolist() == ["no_errors"]
    assert np.isnan(errorless.observed[0])


@pytest.mark.parametrize(
    ("s", "n", "rate", "within"),
    [(8, 230, 0.05, 0.005), (25, 30, 0.04, 0.01), (100, 200, 0.02, 0.005), (40, 1000, 0.4, 0.001)],
)
def test_the_worst_tenth_of_equals_is_that_of_simulation(s, n, rate, within):
    rng = np.random.default_rng(4)
    trials = np.full(s, n)
    drawn = rng.multivariate_hypergeometric(trials, int(rate * s * n), 4000)
    tenth = -(-s // 10)
    simulated = np.sort(drawn, axis=1)[:, -tenth:].sum(axis=1).mean() / int(rate * s * n)
    expectation = worst_tenth(speakers(drawn[0], trials))
    assert expectation.expected[0] == pytest.approx(simulated, abs=within)


def test_the_worst_tenth_of_equals_allows_for_unequal_trials():
    rng = np.random.default_rng(5)
    trials = rng.integers(20, 400, 30)
    drawn = rng.multivariate_hypergeometric(trials, 300, 4000)
    simulated = np.sort(drawn, axis=1)[:, -3:].sum(axis=1).mean() / 300
    assert worst_tenth(speakers(drawn[0], trials)).expected[0] == pytest.approx(simulated, abs=0.02)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: share_above(speakers(ERRORS, TRIALS), 5), "limit"),
        (lambda: share_above(speakers(ERRORS, TRIALS), 0.05, 1.5), "confidence"),
        (lambda: locked_out_people(speakers(ERRORS, TRIALS), 0), "attempts"),
    ],
)
def test_nonsense_options_are_refused(call, name):
    with pytest.raises(ConfigError, match=name):
        call()
