"""Plans: the vectors, and that the promised power is found when the audit's test is simulated."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from parivox.core.planning import (
    FEWEST_SPEAKERS,
    Sample,
    design_effect,
    detectable_ratio,
    icc_at,
    icc_of,
    least_speakers,
    power_to_detect,
    relative_half_width,
    speakers_needed,
    supported_rate,
    trials_needed,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text(encoding="utf-8"))
missing = pytest.mark.skipif("4.13_power" not in VECTORS, reason="no vectors of uncertainty")


@missing
def test_textbook_plans_are_those_of_the_vectors(vector):
    _, expected, _ = vector("4.13_power")
    for design, speakers in expected["speakers_per_group_fnr"].items():
        r, p, rho, m = (float(assignment.partition("=")[2]) for assignment in design.split(","))
        assert least_speakers(r, p, m, rho) == speakers


@missing
def test_the_rule_of_30_is_that_of_the_vectors(vector):
    _, expected, tolerance = vector("4.2_rule_of_3_and_30")
    width = expected["rule_of_30_relative_halfwidth_90"]
    assert relative_half_width(30, confidence=0.9) == pytest.approx(width, rel=tolerance)
    errors = expected["errors_for_10pct_halfwidth_95"]
    assert relative_half_width(errors) == pytest.approx(0.1, rel=tolerance)
    assert trials_needed(0.001) == expected["trials_for_30_errors_at_fpr_0p001"]


def test_a_supported_rate_is_what_its_trials_are_needed_for():
    trials = trials_needed(0.002, deff=5)
    assert supported_rate(trials, deff=5) == pytest.approx(0.002)
    assert np.isnan(supported_rate([0, 29])).all()


def limit(group, *, upper):
    """One limit of rates by bisection (docs/methods/uncertainty.md#intervals-of-rates)."""
    rate, variance, df = group
    rate = np.maximum(rate, 1e-9)  # without errors, nothing is above or below
    inside, outside = rate, np.full(rate.shape, 1.0 if upper else 0.0)
    for _ in range(40):
        q = (inside + outside) / 2
        reach = stdtrit(df, 0.975) ** 2 * variance * (q * (1 - q) / (rate * (1 - rate))) ** 1.5
        is_out = (rate - q) ** 2 > reach
        inside, outside = np.where(is_out, inside, q), np.where(is_out, q, outside)
    return inside


def simulated_fnr(draw, rate, speakers, trials, icc, sets):
    """Rates, variances, degrees of freedom (docs/methods/uncertainty.md) of simulated groups."""
    total = 1 / icc - 1
    speaker_rates = draw.beta(rate * total, (1 - rate) * total, (sets, speakers))
    errors = draw.binomial(trials, speaker_rates)
    n = speakers * trials
    rates = errors.sum(axis=1) / n
    r = errors - rates[:, None] * trials
    binomial = rates * (1 - rates) / n
    jackknife = (speakers - 1) / speakers * (r**2).sum(axis=1) / (n - trials) ** 2
    kurtosis = np.maximum(0, speakers * (r**4).sum(axis=1) / (r**2).sum(axis=1) ** 2 - 3)
    return rates, np.maximum(binomial, jackknife), 2 / (kurtosis / speakers + 2 / (speakers - 1))


def is_told_worse(group, reference):
    """Whether log ratios are above 0 by MOVER (docs/methods/uncertainty.md#ratios-of-rates)."""
    group_rate, reference_rate = (np.maximum(rate, 1e-9) for rate, _, _ in (group, reference))
    reach = np.hypot(
        np.log(group_rate / limit(group, upper=False)),
        np.log(limit(reference, upper=True) / reference_rate),
    )
    return np.log(group_rate / reference_rate) > reach


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "rate", "icc", "trials", "multiple"),
    [(2, 0.02, 0.09, 24, 1), (2, 0.1, 0.12, 230, 1), (3, 0.1, 0.12, 24, 8), (3, 0.02, 0.09, 24, 1)],
)
def test_planned_speakers_find_a_ratio_of_fnr_as_often_as_promised(
    ratio, rate, icc, trials, multiple
):
    draw, sets = np.random.default_rng(4), 1000
    n = int(speakers_needed(ratio, rate, trials, icc, others=multiple))
    group = simulated_fnr(draw, ratio * rate, n, trials, icc, sets)
    reference = simulated_fnr(draw, rate, n * multiple, trials, icc, sets)
    error = np.sqrt(0.8 * 0.2 / sets)
    assert 0.8 - 3 * error < is_told_worse(group, reference).mean() < 0.95


@pytest.mark.parametrize(
    ("ratio", "rate", "icc", "trials", "speakers", "multiple"),
    [(3, 0.1, 0.12, 24, 8, 1), (2, 0.1, 0.12, 24, 12, 8), (3, 0.02, 0.09, 100, 10, 8)],
)
def test_few_speakers_find_a_ratio_about_as_often_as_promised(
    ratio, rate, icc, trials, speakers, multiple
):
    draw, sets = np.random.default_rng(4), 1000
    group_icc = icc_at(icc, rate, ratio * rate)
    group = simulated_fnr(draw, ratio * rate, speakers, trials, group_icc, sets)
    reference = simulated_fnr(draw, rate, speakers * multiple, trials, icc, sets)
    group_sample, reference_sample = (
        Sample(n, trials, icc) for n in (speakers, speakers * multiple)
    )
    promised = power_to_detect(ratio, rate, group_sample, reference_sample)
    assert 0.3 < promised < 0.7
    assert abs(is_told_worse(group, reference).mean() - promised) < 0.1


def test_textbook_plans_would_promise_too_much():
    draw, sets = np.random.default_rng(4), 1000
    n = int(least_speakers(3, 0.02, 24, 0.09))
    group, reference = (simulated_fnr(draw, rate, n, 24, 0.09, sets) for rate in (0.06, 0.02))
    assert is_told_worse(group, reference).mean() < 0.72


def simulated_fpr(draw, rate, speakers, trials, spread, sets):
    """As for FNR, with `trials` of each pair of speakers, whose mean tells the pair's rate."""
    first_speaker, second_speaker = np.triu_indices(speakers, 1)
    speaker_levels = draw.gamma(1 / spread, spread, (sets, speakers))
    pair_levels = (speaker_levels[:, first_speaker] + speaker_levels[:, second_speaker]) / 2
    errors = draw.binomial(trials, np.minimum(rate * pair_levels, 1))
    n, trials_per_speaker = first_speaker.size * trials, trials * (speakers - 1)
    rates = errors.sum(axis=1) / n
    r = errors - rates[:, None] * trials
    with_speaker = np.zeros((first_speaker.size, speakers))
    pair = np.arange(first_speaker.size)
    with_speaker[pair, first_speaker] = with_speaker[pair, second_speaker] = 1
    by_speaker, squares = r @ with_speaker, r**2 @ with_speaker
    scale = (speakers - 1) / speakers / (n - trials_per_speaker) ** 2
    jackknife = scale * (by_speaker**2).sum(axis=1)
    unbiased = (by_speaker**2 - squares / 2).sum(axis=1)
    unbiased *= scale * (speakers - 2) / (speakers - 3)
    variance = np.maximum(np.maximum(unbiased, 0.75 * jackknife), rates * (1 - rates) / n)
    fourth = speakers * (by_speaker**4).sum(axis=1) / (by_speaker**2).sum(axis=1) ** 2
    df = 2 / (np.maximum(0, fourth - 3) / speakers + 2 / (speakers - 1))
    return rates, variance, df


@pytest.mark.parametrize(("ratio", "rate", "trials"), [(2, 0.01, 10), (2.5, 0.003, 10)])
def test_the_power_to_find_a_ratio_of_fpr_is_kept(ratio, rate, trials):
    draw, sets, speakers, spread = np.random.default_rng(4), 400, (30, 40), 1.0
    icc = rate * spread / (4 * (1 - rate))
    group, reference = (
        simulated_fpr(draw, p, n, trials, spread, sets)
        for p, n in zip((ratio * rate, rate), speakers, strict=True)
    )
    group_sample, reference_sample = (Sample(n, trials * (n - 1), icc, 2) for n in speakers)
    promised = power_to_detect(ratio, rate, group_sample, reference_sample)
    assert 0.5 < promised < 0.95
    error = np.sqrt(promised * (1 - promised) / sets)
    assert promised - 3 * error < is_told_worse(group, reference).mean() < promised + 0.15
    deff = reference[0].var() / (rate * (1 - rate) / (trials * speakers[1] * (speakers[1] - 1) / 2))
    assert design_effect(reference_sample.trials_per_speaker, icc, sides=2) == pytest.approx(
        deff, rel=0.25
    )


designs = {
    "rate": st.floats(0.001, 0.2),
    "icc": st.floats(0, 0.4),
    "trials": st.floats(1, 300),
    "speakers": st.integers(5, 2000),
    "sides": st.sampled_from([1, 2]),
}


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ratio=st.floats(1.2, 4), multiple=st.integers(1, 20), **designs)
def test_needed_speakers_are_the_fewest_with_the_power(
    ratio, multiple, rate, icc, trials, speakers, sides
):
    needed = speakers_needed(ratio, rate, trials, icc, others=multiple, sides=sides)
    assert needed >= FEWEST_SPEAKERS

    def power(n):
        group_sample, reference = (Sample(count, trials, icc, sides) for count in (n, multiple * n))
        return power_to_detect(ratio, rate, group_sample, reference)

    assert power(needed) >= 0.8
    assert needed == FEWEST_SPEAKERS or power(needed - 1) < 0.8


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(better=st.booleans(), **designs)
def test_a_detectable_ratio_has_the_power_and_a_nearer_one_has_not(
    better, rate, icc, trials, speakers, sides
):
    group_sample, reference = (Sample(n, trials, icc, sides) for n in (speakers, 4 * speakers))
    ratio = detectable_ratio(rate, group_sample, reference, better=better)
    if np.isnan(ratio):
        return
    assert (ratio < 1) == better
    assert power_to_detect(ratio, rate, group_sample, reference) >= 0.8
    assert power_to_detect(ratio**0.98, rate, group_sample, reference) < 0.8


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(**designs)
def test_more_speakers_and_more_trials_never_harm(rate, icc, trials, speakers, sides):
    sample = Sample(speakers, trials, icc, sides)
    power = power_to_detect(2, rate, sample, sample)
    assume(power > 0.2)  # below, nothing is planned, and the approximation may fall a hundredth
    more = sample._replace(speakers=2 * speakers)
    assert power_to_detect(2, rate, more, more) >= power - 1e-9
    assert power_to_detect(2, rate, sample._replace(df=1), sample) <= power + 1e-9


@settings(max_examples=50, deadline=None)
@given(rate=st.floats(0.001, 0.2), icc=st.floats(0.001, 0.4), trials=st.floats(1.5, 300))
def test_a_design_effect_tells_its_correlation(rate, icc, trials):
    deff = design_effect(trials, icc)
    assert icc_of(deff, trials) == pytest.approx(icc)
    # an audit tells small design effects of FPR too large
    deff = design_effect(trials, icc, sides=2)
    assert icc_of(max(deff, 0.75 * (1 + deff)), trials, sides=2) == pytest.approx(icc)


@pytest.mark.parametrize("sides", [1, 2])
def test_correlations_rise_with_rates(sides):
    assert icc_at(0.1, 0.01, 0.02, sides=sides) > 0.1 > icc_at(0.1, 0.02, 0.01, sides=sides)
    assert icc_at(0.1, 0.01, 0.01, sides=sides) == pytest.approx(0.1)


def test_what_cannot_be_is_nan():
    sample = Sample(20, 50, 0.1)
    assert np.isnan(power_to_detect(2, 0.6, sample, sample))
    assert np.isnan(power_to_detect(2, [0, np.nan], sample, sample)).all()
    assert np.isnan(power_to_detect(2, 0.1, sample._replace(speakers=1), sample))
    assert np.isnan(speakers_needed([1, 20, 2], [0.1, 0.1, np.nan], 50, 0.1)).all()
    assert np.isnan(detectable_ratio([0.0, np.nan], sample, sample)).all()
    few = Sample(5, 2, 0.1)
    assert np.isnan(detectable_ratio(0.01, few, few, better=True))


@pytest.mark.parametrize(("ratio", "rate"), [(2, 1e-300), (1 + 1e-10, 0.05), (1.0001, 0.05)])
def test_more_than_a_billion_speakers_are_no_number(ratio, rate):
    assert np.isnan(speakers_needed(ratio, rate, 10, 0.1))
