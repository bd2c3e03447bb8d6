from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import (
    COST_MODELS,
    CostModel,
    Counts,
    act_cdet,
    bayes_threshold,
    cdet,
    equalised_min_cdet,
    min_cdet,
    parse_cost,
    ratio,
    threshold_bias,
)
from parivox.core.costs import detection_cost_names
from parivox.errors import ConfigError

ONE_PRIOR = {
    "VoxSRC/SRE18-VAST/SRE19-MM/CTS20": COST_MODELS["voxsrc"],
    "SRE08/SdSVC": COST_MODELS["sre08"],
    "SRE10-core": COST_MODELS["sre10_core"],
    "SRE16a,18a,19a,21a": COST_MODELS["sre16"].parts[0],
    "SRE16b,18b,19b": COST_MODELS["sre16"].parts[1],
    "equal": parse_cost("0.5,1,1"),
    "P=0.5": parse_cost("0.5,1,1"),
}


def slow_minimum(tar, non, cost):
    """Raw minimum and its largest threshold, in fractions."""
    p, miss, false_accept = (Fraction(repr(x)) for x in (*cost.p_target, cost.c_miss, cost.c_fa))
    thresholds = [float("inf"), *sorted({*map(float, tar), *map(float, non)}, reverse=True)]
    costs = [
        miss * p * Fraction(sum(s < t for s in tar), len(tar))
        + false_accept * (1 - p) * Fraction(sum(s >= t for s in non), len(non))
        for t in thresholds
    ]
    return min(costs), thresholds[costs.index(min(costs))]


def test_minimum(vector, counted):
    inputs, expected, tol = vector("1.6_min_dcf_A")
    counts = counted(inputs["tar"], inputs["non"])
    for name, want in expected.items():
        best = min_cdet(counts, cost=ONE_PRIOR[name])
        assert best.value == pytest.approx(want["norm"], abs=tol)
        assert best.threshold in want["thr"]
        raw = min_cdet(counts, cost=ONE_PRIOR[name], normalised=False)
        assert raw.value == pytest.approx(want["raw"], abs=tol)
        point = counts.at(best.threshold)
        assert (best.fp, best.fn) == (point.fp[0], point.fn[0])
        assert cdet(point, ONE_PRIOR[name])[0] == pytest.approx(best.value, abs=1e-15)


def test_equal_minima_go_to_the_largest_threshold(vector, counted):
    inputs, expected, tol = vector("1.6b_min_dcf_tie")
    best = min_cdet(
        counted(inputs["tar"], inputs["non"]), cost=parse_cost("0.5,1,1"), normalised=False
    )
    assert best.value == pytest.approx(expected["raw"], abs=tol)
    assert best.threshold == expected["ours"]


def test_bayes_thresholds_and_normalisers(vector):
    _, expected, tol = vector("1.7_bayes_threshold_and_norm")
    for name, want in expected.items():
        cost = ONE_PRIOR[name]
        assert cost.beta == pytest.approx(want["beta"], abs=tol)
        assert bayes_threshold(cost) == pytest.approx(want["llr_thr"], abs=tol)
        assert cost.c_default == pytest.approx(want["c_default"], abs=tol)
        assert cost.effective_prior == pytest.approx(want["effective_prior"], abs=tol)


def test_actual_cost(vector, counted):
    inputs, expected, tol = vector("1.8_act_dcf_LLR")
    counts = counted(inputs["tar"], inputs["non"])
    for name, want in expected.items():
        cost = ONE_PRIOR[name]
        point = counts.at(bayes_threshold(cost))
        assert point.fpr[0] == pytest.approx(want["FPR"], abs=tol)
        assert point.fnr[0] == pytest.approx(want["FNR"], abs=tol)
        assert act_cdet(counts, cost=cost) == pytest.approx(want["norm"], abs=tol)
        raw = act_cdet(counts, cost=cost, normalised=False)
        assert raw == pytest.approx(want["raw"], abs=tol)
        assert min_cdet(counts, cost=cost).value == pytest.approx(want["min_norm"], abs=tol)


def test_subgroup_and_threshold_bias(vector, counted):
    inputs, expected, tol = vector("3.4_subgroup_and_threshold_bias")
    cost = CostModel("toy", (inputs["P_target"],), *inputs["C"])
    groups = {name: counted(g["tar"], g["non"]) for name, g in inputs["groups"].items()}
    overall = groups["x"] + groups["y"] + groups["z"]
    best = min_cdet(overall, cost=cost, normalised=False)
    assert best.value == pytest.approx(expected["overall_min"], abs=tol)
    assert best.threshold == expected["overall_thr"]
    for name, want in expected["groups"].items():
        point = groups[name].at(best.threshold)
        assert point.fpr[0] == pytest.approx(want["FPR"], abs=tol)
        assert point.fnr[0] == pytest.approx(want["FNR"], abs=tol)
        at_overall = cdet(point, cost, normalised=False)
        assert at_overall[0] == pytest.approx(want["cost_at_overall"], abs=tol)
        bias = ratio(at_overall, best.value)
        assert bias.value[0] == pytest.approx(want["subgroup_bias"], abs=tol)
        group_minimum = min_cdet(groups[name], cost=cost, normalised=False)
        assert group_minimum.value == pytest.approx(want["own_min"], abs=tol)
        assert group_minimum.threshold in want["own_thr"]
        bias = threshold_bias(at_overall[0], group_minimum.value)
        assert bias.value == pytest.approx(float(want["threshold_bias"]), abs=tol)


@pytest.mark.slow
def test_minima_are_what_a_slow_search_finds(tied_sets, counted):
    for tar, non in tied_sets[:150]:
        for text in ("0.5,1,1", "0.2,1,1", "0.05,1,1", "0.1,9,1", "0.3,0.7,0.3"):
            cost = parse_cost(text)
            value, threshold = slow_minimum(tar, non, cost)
            best = min_cdet(counted(tar, non), cost=cost, normalised=False)
            assert best.value == pytest.approx(float(value), abs=1e-15)
            assert best.threshold == threshold


def test_cells_on_one_axis_are_like_cells_alone(tied_sets, counted, stacked):
    cells = [counted(tar, non) for tar, non in tied_sets[:40]]
    for cost in (COST_MODELS["voxsrc"], COST_MODELS["sre16"], parse_cost("0.4,2,1")):
        together = min_cdet(stacked(cells), cost=cost)
        minima = [min_cdet(counts, cost=cost) for counts in cells]
        np.testing.assert_array_equal(together.value, [a.value for a in minima])
        np.testing.assert_array_equal(together.fp, [a.fp for a in minima])
        np.testing.assert_array_equal(together.fn, [a.fn for a in minima])


def test_a_mean_over_priors_is_the_mean_of_its_parts(counted):
    counts = counted([4.2, 3.1, 2.5, 1.0, 0.4, -0.8], [-5.0, -3.3, -2.1, -1.2, -0.5, 0.9])
    cost = COST_MODELS["sre21"]
    for cost_of in (lambda c: min_cdet(counts, cost=c).value, lambda c: act_cdet(counts, cost=c)):
        assert cost_of(cost) == pytest.approx(np.mean([cost_of(prior) for prior in cost.parts]))
    curves = [cdet(counts.curve, prior) for prior in cost.parts]
    np.testing.assert_allclose(cdet(counts.curve, cost), np.mean(curves, axis=0))
    best = min_cdet(counts, cost=cost)
    assert np.isnan(best.threshold)
    assert (best.fp, best.fn) == (-1, -1)
    with pytest.raises(ConfigError, match="no single threshold"):
        bayes_threshold(cost)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=25).filter(
        lambda drawn: len({label for _, label in drawn}) == 2
    ),
    st.sampled_from(detection_cost_names()),
    st.integers(-4, 4),
)
def test_minima_are_bounds(trials, name, threshold):
    counts = Counts.from_scores([s for s, _ in trials], [label for _, label in trials])
    cost = COST_MODELS[name]
    least = float(min_cdet(counts, cost=cost).value)
    assert 0 <= least <= 1 + 1e-15
    assert cdet(counts.at([threshold]), cost)[0] >= least - 1e-12
    assert act_cdet(counts, cost=cost) >= least - 1e-12
    moved = Counts.from_scores([np.exp(s) for s, _ in trials], [label for _, label in trials])
    assert min_cdet(moved, cost=cost).value == least


def test_no_cost_without_both_classes(counted):
    for counts in (counted([1, 2], []), counted([], [1, 2]), counted([], [])):
        best = min_cdet(counts, cost=COST_MODELS["voxsrc"])
        assert np.isnan([best.value, best.threshold]).all()
        assert (best.fp, best.fn) == (-1, -1)
        assert np.isnan(act_cdet(counts, cost=COST_MODELS["sre16"]))


def test_one_trial_of_each_class(counted):
    perfect = min_cdet(counted([1], [0]), cost=COST_MODELS["voxsrc"])
    assert (perfect.value, perfect.threshold) == (0, 1)
    constant = min_cdet(counted([0], [0]), cost=COST_MODELS["voxsrc"])
    assert (constant.value, constant.threshold) == (1, np.inf)


def test_numbers_of_trials_beyond_int64_products_still_work():
    big = 4_000_000_000
    counts = Counts(np.array([0.0, 1.0]), np.array([0, big]), np.array([big, 0]))
    best = min_cdet(counts, cost=COST_MODELS["voxsrc"])
    assert (best.value, best.threshold) == (0, 1)


def test_costs_by_name_or_by_numbers():
    assert parse_cost("sre08") is COST_MODELS["sre08"]
    assert parse_cost("0.01, 10, 1").weights == COST_MODELS["sre08"].weights


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("voxsrk", "did you mean 'voxsrc"),
        ("0.05,1", "neither a known name"),
        ("0.05,one,1", "neither a known name"),
        ("0,1,1", "between 0 and 1"),
        ("1,1,1", "between 0 and 1"),
        ("nan,1,1", "between 0 and 1"),
        ("0.05,0,1", "positive"),
        ("0.05,1,inf", "positive"),
        ("0.5,1e-320,1", "positive costs from 1e-30 to 1e"),
        ("0.5,1e31,1", "positive costs from 1e-30 to 1e"),
        ("1e-320,1,1", "a prior is below 1e-30"),
        ("0_5,1,1", "neither a known name"),
    ],
)
def test_bad_costs_are_named(text, sentence):
    with pytest.raises(ConfigError, match=sentence):
        parse_cost(text)


def test_an_average_needs_a_prior():
    with pytest.raises(ConfigError, match="p_target"):
        CostModel("none", ())


@pytest.mark.slow
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=12).filter(
            lambda drawn: len({label for _, label in drawn}) == 2
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_equalised_minimum_is_the_least_average_cost_at_one_threshold(partitions):
    cells = [Counts.from_scores(*map(np.array, zip(*subset, strict=True))) for subset in partitions]
    cost = parse_cost("0.05,1,1")
    costs = []
    for threshold in (-3, -2, -1, 0, 1, 2, 3, np.inf):
        errors = []
        for subset in partitions:
            missed = [score < threshold for score, is_target in subset if is_target]
            let_in = [score >= threshold for score, is_target in subset if not is_target]
            errors.append(np.mean(missed) + 19 * np.mean(let_in))
        costs.append(np.mean(errors))
    minimum = equalised_min_cdet(cells, cost=cost)
    assert minimum == pytest.approx(min(costs))
    assert minimum >= np.mean([min_cdet(counts, cost=cost).value for counts in cells]) - 1e-12
    several = equalised_min_cdet(cells, cost=parse_cost("sre16"))
    minima = [equalised_min_cdet(cells, cost=prior) for prior in parse_cost("sre16").parts]
    assert several == pytest.approx(np.mean(minima))


def test_a_partition_of_one_class_counts_for_one_rate():
    """As in NIST's scorer, which weighs a class that a partition lacks with 0."""
    complete = Counts.from_scores([3.0, 1.0, 2.0, 0.0], [1, 1, 0, 0])
    targets = Counts.from_scores([3.0, 3.0, 3.0, 1.0], [1, 1, 1, 1])
    cost = parse_cost("0.5,1,1")
    assert equalised_min_cdet([complete, targets], cost=cost) == 0.375
    assert equalised_min_cdet([complete, complete], cost=cost) == 0.5


def test_an_equalised_minimum_needs_partitions_with_both_classes():
    counts = Counts.from_scores([1.0, 2.0], [1, 1])
    assert np.isnan(equalised_min_cdet([counts], cost=parse_cost("voxsrc")))
    with pytest.raises(ConfigError, match="no partitions are given"):
        equalised_min_cdet([], cost=parse_cost("voxsrc"))
