"""Spoof trials as a third class: rates, costs and EERs, against vectors worked out apart."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

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
    eer,
    equalised_min_cdet,
    min_cdet,
    min_tdcf,
    parse_cost,
    sasv_eer,
    spf_eer,
)
from parivox.core.costs import detection_cost_names, parse_detection_cost
from parivox.core.rates import threshold_at_fnr, threshold_at_fpr, threshold_at_sfar
from parivox.core.spoof import TandemCost
from parivox.errors import ConfigError, DataError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors_spoof.json").read_text(encoding="utf-8"))
TARGET, NONTARGET, SPOOF = 1, 0, 2
THRESHOLD_AT = {
    "fnr": threshold_at_fnr,
    "fpr": threshold_at_fpr,
    "sfar": threshold_at_sfar,
}


def vector(name):
    entry = VECTORS[name]
    return entry["inputs"], entry["expected"], entry["tol"]


def counted(tar, non, spf):
    labels = [TARGET] * len(tar) + [NONTARGET] * len(non) + [SPOOF] * len(spf)
    return Counts.from_scores(np.array([*tar, *non, *spf], dtype=float), np.array(labels))


def counted_inputs(inputs):
    return counted(*([float(score) for score in inputs[name]] for name in ("tar", "non", "spf")))


def numbers(figures):
    """None, where a vector has no figure, as NaN."""
    return [np.nan if figure is None else float(figure) for figure in figures]


@pytest.mark.parametrize("name", ["S1.1_points", "S8.2_infinite_scores"])
def test_errors_of_three_classes_at_every_score(name):
    inputs, expected, _ = vector(name)
    counts = counted_inputs(inputs)
    points = expected["points_thr_FN_FP_FS"]
    errors = counts.at([float(threshold) for threshold, *_ in points])
    assert errors.fn.tolist() == [fn for _, fn, _, _ in points]
    assert errors.fp.tolist() == [fp for _, _, fp, _ in points]
    assert errors.spoof_accepts.tolist() == [accepts for *_, accepts in points]


def test_the_curve_has_a_point_for_each_score_of_the_three_classes():
    inputs, expected, _ = vector("S1.1_points")
    curve = counted_inputs(inputs).curve
    figures = zip(
        curve.thresholds.tolist(),
        curve.fn.tolist(),
        curve.fp.tolist(),
        curve.spoof_accepts.tolist(),
        strict=True,
    )
    points = [[float(threshold), *errors] for threshold, *errors in expected["points_thr_FN_FP_FS"]]
    assert [[*point] for point in figures] == points


@pytest.mark.parametrize("name", ["S1.2_rates_at_thresholds", "S8.2_infinite_scores"])
def test_rates_at_thresholds(name):
    inputs, expected, tol = vector(name)
    counts = counted_inputs(inputs)
    for threshold in inputs["thr"]:
        curve = counts.at(float(threshold))
        for rate, value in expected[f"{threshold}"].items():
            assert getattr(curve, rate)[0] == pytest.approx(value, abs=tol)


def test_three_eers():
    inputs, expected, tol = vector("S2.1_three_eers")
    counts = counted_inputs(inputs)
    share_of_list = Fraction(int(counts.n_spoof), int(counts.n_spoof + counts.n_nontarget))
    assert float(share_of_list) == pytest.approx(expected["rho_of_list"], abs=tol)
    figures = {
        "sv_eer": eer(counts),
        "spf_eer": spf_eer(counts),
        "sasv_eer": sasv_eer(counts),
        "sasv_eer_at_rho_of_list": sasv_eer(counts, spoof_share=float(share_of_list)),
        "sasv_eer_rho_1_2": sasv_eer(counts, spoof_share=0.5),
        "sasv_eer_rho_0": sasv_eer(counts, spoof_share=0),
        "sasv_eer_rho_1": sasv_eer(counts, spoof_share=1),
    }
    for name, figure in figures.items():
        assert figure == pytest.approx(expected[name], abs=tol)


def test_sasv_eer_depends_on_the_share_of_spoof_trials_and_others_do_not():
    inputs, expected, tol = vector("S2.2_sasv_eer_depends_on_mix")
    counts = counted_inputs(inputs)
    assert sasv_eer(counts) == pytest.approx(expected["sasv_eer"], abs=tol)
    assert spf_eer(counts) == pytest.approx(expected["spf_eer"], abs=tol)
    assert eer(counts) == pytest.approx(expected["sv_eer"], abs=tol)
    at_share = sasv_eer(counts, spoof_share=5 / 13)
    assert at_share == pytest.approx(expected["sasv_eer_rho_5_13"], abs=tol)


@pytest.mark.parametrize("case", VECTORS["S2.3_eer_edge"]["inputs"])
def test_edges_of_an_eer(case):
    inputs, expected, tol = vector("S2.3_eer_edge")
    scores = inputs[case]
    assert spf_eer(counted(scores["tar"], [], scores["neg"])) == pytest.approx(
        expected[case], abs=tol
    )


@pytest.mark.parametrize("name", ["adcf1", "asvspoof5", "custom"])
def test_costs_with_spoof_trials(name):
    inputs, expected, tol = vector(f"S3.1_adcf_{name}")
    keys = ("p_target", "p_nontarget", "p_spoof", "c_miss", "c_fa_nontarget", "c_fa_spoof")
    cost = parse_cost(",".join(str(inputs[key]) for key in keys))
    if name in COST_MODELS:
        assert cost.weights == COST_MODELS[name].weights
    counts = counted_inputs(inputs)
    assert [float(weight) for weight in cost.weights] == pytest.approx(expected["weights"], abs=tol)
    assert cost.c_default == pytest.approx(expected["normaliser"], abs=tol)
    best = min_cdet(counts, cost=cost)
    assert best.value == pytest.approx(expected["min_norm"], abs=tol)
    assert best.raw == pytest.approx(expected["min_raw"], abs=tol)
    assert best.threshold == expected["min_threshold"]
    at_minimum = counts.at(best.threshold)
    errors = (at_minimum.fp[0], at_minimum.fn[0], at_minimum.spoof_accepts[0])
    assert (best.fp, best.fn, best.spoof_accepts) == errors
    for threshold, figures in expected["at"].items():
        curve = counts.at(float(threshold))
        assert cdet(curve, cost)[0] == pytest.approx(figures["norm"], abs=tol)
        assert cdet(curve, cost, normalised=False)[0] == pytest.approx(figures["raw"], abs=tol)


def test_of_equal_minima_the_largest_threshold():
    inputs, expected, tol = vector("S3.2_adcf_equal_minima")
    cost = parse_cost("0.5,0.25,0.25,1,1,1")
    counts = counted_inputs(inputs)
    best = min_cdet(counts, cost=cost)
    assert (best.value, best.threshold) == (expected["min_norm"], expected["min_threshold"])
    thresholds, costs = zip(*expected["all_points"], strict=True)
    at_thresholds = cdet(counts.at([float(threshold) for threshold in thresholds]), cost)
    assert at_thresholds == pytest.approx(costs, abs=tol)


def test_without_a_prior_of_spoof_trials_they_are_not_needed():
    inputs, expected, tol = vector("S3.3_adcf_without_spoof_weight")
    cost = parse_cost("0.05,0.95,0,1,1,1")
    for spoof_scores in (inputs["spf"], []):
        best = min_cdet(counted(inputs["tar"], inputs["non"], spoof_scores), cost=cost)
        assert best.value == pytest.approx(expected["min_norm"], abs=tol)
        assert best.threshold == expected["min_threshold"]


def test_thresholds_at_a_target_rate():
    inputs, expected, tol = vector("S4.1_operating_points")
    counts = counted_inputs(inputs)
    for point, figures in expected.items():
        if figures["reason"]:  # an audit refuses what so few trials cannot show
            continue
        rate, _, target = point.partition("=")
        threshold = THRESHOLD_AT[rate](counts.curve, float(target))
        assert threshold == figures["threshold"]
        curve = counts.at(threshold)
        for name in ("fnr", "fpr", "sfar"):
            assert getattr(curve, name)[0] == pytest.approx(figures[name], abs=tol)


def test_a_threshold_may_be_the_score_of_a_spoof_trial():
    inputs, expected, tol = vector("S4.2_candidates_of_three_classes")
    counts = counted_inputs(inputs)
    figures = expected["fpr=0.3333333333333333"]
    # it accepts the spoof trial, and no more of the others
    assert threshold_at_fpr(counts.curve, 0.3) == figures["threshold"]
    curve = counts.at(figures["threshold"])
    assert curve.sfar[0] == pytest.approx(figures["sfar"], abs=tol)
    without = counted(inputs["tar"], inputs["non"], [])
    assert threshold_at_fpr(without.curve, 0.3) == expected["without_spoof_trials"]["threshold"]


@pytest.mark.parametrize("case", VECTORS["S8.1_missing_classes"]["inputs"]["cases"])
def test_what_a_missing_class_leaves_undefined(case):
    inputs, expected, _ = vector("S8.1_missing_classes")
    counts, cost = counted(*inputs["cases"][case]), COST_MODELS["adcf1"]
    curve = counts.at(inputs["thr"])
    figures = {
        "fnr": curve.fnr[0],
        "fpr": curve.fpr[0],
        "sfar": curve.sfar[0],
        "sv_eer": eer(counts),
        "spf_eer": spf_eer(counts),
        "sasv_eer": sasv_eer(counts),
        "adcf1_at_1": cdet(curve, cost)[0],
    }
    assert [*figures.values()] == pytest.approx(
        numbers(expected[case][name] for name in figures), nan_ok=True
    )
    best = min_cdet(counts, cost=cost)
    assert np.isnan([best.value, best.raw, best.threshold]).all()
    assert (best.fp, best.fn, best.spoof_accepts) == (-1, -1, -1)


def cascaded(inputs):
    """Trials of each class by the score of verification, -inf where the countermeasure rejects."""
    scores = {"target": [], "nontarget": [], "spoof": []}
    for label, asv, cm in inputs["rows_label_asv_cm"]:
        scores[label].append(asv if cm >= inputs["cm_threshold"] else -np.inf)
    return counted(*scores.values())


def test_a_cascade_is_one_score():
    inputs, expected, tol = vector("S7.1_cascade")
    counts, cost = cascaded(inputs), COST_MODELS["asvspoof5"]
    curve = counts.at(inputs["asv_threshold"])
    for name, rate in expected["as_one_score_at_asv_threshold"].items():
        assert getattr(curve, name)[0] == pytest.approx(rate, abs=tol)
    assert cdet(curve, cost)[0] == pytest.approx(expected["observed_adcf_norm"], abs=tol)
    best, minimum = min_cdet(counts, cost=cost), expected["min_adcf_of_asv_axis_with_cm_fixed"]
    assert best.value == pytest.approx(minimum["norm"], abs=tol)
    assert best.threshold == minimum["threshold"]


def test_tandem_cost():
    inputs, expected, tol = vector("S7.2_tdcf_2020")
    rows, cost = inputs["rows_label_asv_cm"], COST_MODELS["asvspoof5"]
    asv_scores = {
        label: [asv for row_label, asv, _ in rows if row_label == label]
        for label in ("target", "nontarget", "spoof")
    }
    asv = counted(*asv_scores.values()).at(inputs["asv_threshold"])
    rates = {name: float(getattr(asv, name)[0]) for name in ("fnr", "fpr", "sfar")}
    countermeasure = Counts.from_scores(
        np.array([cm for *_, cm in rows], dtype=float), [label != "spoof" for label, *_ in rows]
    )
    tandem = TandemCost.from_rates(cost, **rates)
    assert tandem.asv == pytest.approx(expected["c0"], abs=tol)
    assert tandem.bonafide_rejects == pytest.approx(expected["c1"], abs=tol)
    assert tandem.spoof_accepts == pytest.approx(expected["c2"], abs=tol)
    assert tandem.default == pytest.approx(expected["default"], abs=tol)
    thresholds, costs = zip(*expected["curve_norm"], strict=True)
    raw = tandem.at(countermeasure, [float(threshold) for threshold in thresholds])
    assert raw / tandem.default == pytest.approx(costs, abs=tol)
    assert tandem.at(countermeasure).tolist() == raw.tolist()
    smallest = min_tdcf(countermeasure, cost, **rates)
    assert smallest == pytest.approx(expected["min_norm"], abs=tol)
    smallest = min_tdcf(countermeasure, cost, **rates, normalised=False)
    assert smallest == pytest.approx(expected["min_raw"], abs=tol)


def test_a_verification_system_worse_than_rejecting_everyone_has_no_tandem_cost():
    inputs, expected, tol = vector("S7.3_tdcf_undefined")
    cost, rates = COST_MODELS["asvspoof5"], inputs["asv_rates"]
    tandem = TandemCost.from_rates(cost, **rates)
    assert (tandem.asv, tandem.bonafide_rejects) == pytest.approx(
        (expected["c0"], expected["c1"]), abs=tol
    )
    countermeasure = Counts.from_scores([1.0, 0.0], [True, False])
    assert np.isnan(min_tdcf(countermeasure, cost, **rates))
    with pytest.raises(ConfigError, match="voxsrc does not include spoof trials"):
        min_tdcf(countermeasure, COST_MODELS["voxsrc"], **rates)


def test_countermeasure_alone():
    inputs, expected, tol = vector("S8.3_countermeasure_alone")
    for group, figures in expected.items():
        rows = [
            (key == "bonafide", score)
            for _, speaker, key, score in inputs["rows_utt_speaker_key_score"]
            if inputs["speakers"][speaker] == group
        ]
        is_bonafide, scores = zip(*rows, strict=True)
        counts = Counts.from_scores(np.array(scores, dtype=float), list(is_bonafide))
        curve = counts.at(inputs["thr"])
        assert curve.fnr[0] == pytest.approx(figures["bpcer"], abs=tol)
        assert curve.fpr[0] == pytest.approx(figures["apcer"], abs=tol)
        assert eer(counts) == pytest.approx(figures["cm_eer"], abs=tol)


# By the package a-dcf 0.0.4, which needs NumPy 1.23, in an environment of its own: its
# calculate_a_dcf of a file with a line for each trial, for its default costs and for those of
# ASVspoof 5. Each list is drawn by its index as the seed.
PACKAGE_MINIMA = (
    (0.32777777777777783, 0.3684663865546219),
    (0.33472222222222225, 0.3782773109243698),
    (0.35694444444444445, 0.43296218487394966),
    (0.42916666666666664, 0.47184873949579836),
    (0.4791666666666667, 0.5044537815126051),
    (0.5333333333333333, 0.4494957983193278),
    (0.46111111111111114, 0.44378151260504206),
    (0.4013888888888889, 0.36901260504201683),
    (0.4777777777777777, 0.5725000000000001),
    (0.5208333333333334, 0.5044537815126051),
    (0.3013888888888889, 0.27943277310924375),
    (0.32916666666666666, 0.3830882352941177),
)


@pytest.mark.parametrize("seed", range(len(PACKAGE_MINIMA)))
def test_minima_are_those_of_the_package_a_dcf(seed):
    rng = np.random.default_rng(seed)
    decimals = 1 if seed % 2 else 6  # with many ties, and without
    scores = [
        np.round(rng.normal(mean, 1, n), decimals) for mean, n in ((2.0, 60), (-1.0, 80), (0.5, 50))
    ]
    for model, minimum in zip(("adcf1", "asvspoof5"), PACKAGE_MINIMA[seed], strict=True):
        best = min_cdet(counted(*scores), cost=COST_MODELS[model])
        assert best.value == pytest.approx(minimum, abs=1e-12)


scores_of_a_class = st.lists(st.integers(-3, 3), min_size=1, max_size=8)


@pytest.mark.slow
@given(scores_of_a_class, scores_of_a_class, scores_of_a_class)
def test_minimum_by_fractions(tar, non, spf):
    cost = COST_MODELS["adcf1"]
    counts = counted(tar, non, spf)
    thresholds = [np.inf, *sorted({*tar, *non, *spf}, reverse=True)]
    weights = cost.weights
    costs = [
        weights.miss * Fraction(sum(score < threshold for score in tar), len(tar))
        + weights.false_accept * Fraction(sum(score >= threshold for score in non), len(non))
        + weights.spoof_accept * Fraction(sum(score >= threshold for score in spf), len(spf))
        for threshold in thresholds
    ]
    best = min_cdet(counts, cost=cost)
    assert best.threshold == thresholds[costs.index(min(costs))]
    assert best.value == pytest.approx(float(min(costs) / weights.default), abs=1e-12)
    assert best.value <= 1


@pytest.mark.slow
@given(scores_of_a_class, scores_of_a_class, scores_of_a_class)
def test_spoof_trials_change_nothing_of_the_two_other_classes(tar, non, spf):
    counts, without = counted(tar, non, spf), counted(tar, non, [])
    assert without.spoof is None
    for threshold in range(-4, 5):
        curve, curve_without = counts.at(threshold), without.at(threshold)
        assert (curve.fn[0], curve.fp[0]) == (curve_without.fn[0], curve_without.fp[0])
    assert eer(counts) == pytest.approx(float(eer(without)), abs=1e-12)
    voxsrc = COST_MODELS["voxsrc"]
    assert min_cdet(counts, cost=voxsrc).value == min_cdet(without, cost=voxsrc).value


@pytest.mark.slow
@given(scores_of_a_class, scores_of_a_class, scores_of_a_class)
def test_counts_of_parts_add_up(tar, non, spf):
    whole = counted(tar, non, spf)
    for first, second in (
        (counted(tar, [], []), counted([], non, spf)),
        (counted(tar, non, []), counted([], [], spf)),
        (counted([], [], spf), counted(tar, non, [])),
    ):
        total = first + second
        assert total.values.tolist() == whole.values.tolist()
        assert total.spoof.tolist() == whole.spoof.tolist()
        assert total.nontarget.tolist() == whole.nontarget.tolist()
    assert whole.astype(np.int32).spoof.dtype == np.int32


def test_costs_of_very_many_trials_do_not_overflow():
    n = 4_000_000
    counts = Counts(np.array([0.0, 1.0]), np.array([0, n]), np.array([n, 0]), np.array([n - 1, 1]))
    best = min_cdet(counts, cost=COST_MODELS["adcf1"])
    assert best.threshold == 1
    assert best.value == pytest.approx(1 / n / 0.9)


def test_replicates_lead():
    trials = np.array([[[1, 0, 2], [0, 2, 2]], [[1, 1, 1], [3, 0, 1]], [[2, 1, 0], [1, 1, 1]]])
    counts = Counts(np.array([0.0, 1.0, 2.0]), *trials)
    cost = COST_MODELS["asvspoof5"]
    values, curve = min_cdet(counts, cost=cost).value, counts.at([[1.0], [2.0]])
    for i in range(2):
        one = Counts(counts.values, *trials[:, i])
        assert values[i] == min_cdet(one, cost=cost).value
        assert sasv_eer(counts)[i] == sasv_eer(one)
        assert sasv_eer(counts, spoof_share=0.25)[i] == sasv_eer(one, spoof_share=0.25)
        assert spf_eer(counts)[i] == spf_eer(one)
        assert curve.sfar[i, 0] == one.at(1.0 + i).sfar[0]
        assert threshold_at_sfar(counts.curve, 0.5)[i] == threshold_at_sfar(one.curve, 0.5)


def test_what_is_refused():
    with pytest.raises(DataError, match=r"label 1 is 3; labels are .* 2 \(spoof\)"):
        Counts.from_scores([0.5, 0.25], [1, 3])
    with pytest.raises(ConfigError, match=r"0\.9, 0\.05 and 0\.1 .* do not add up to 1"):
        parse_cost("0.9,0.05,0.1,1,10,20")
    with pytest.raises(ConfigError, match=r"p_spoof is 0\.1"):
        CostModel("mine", (0.9,), p_spoof=0.1)
    with pytest.raises(ConfigError, match="c_spoof is 0"):
        parse_cost("0.9,0.05,0.05,1,10,0")
    with pytest.raises(ConfigError, match="with spoof trials"):
        parse_cost("0.9,0.05,0.05,1")
    with pytest.raises(ConfigError, match="adcf1 includes spoof trials"):
        bayes_threshold(COST_MODELS["adcf1"])
    counts = counted([1], [0], [0])
    with pytest.raises(ConfigError, match="adcf1 includes spoof trials"):
        act_cdet(counts, cost=COST_MODELS["adcf1"])
    with pytest.raises(ConfigError, match="adcf1 includes spoof trials"):
        equalised_min_cdet([counts], cost=COST_MODELS["adcf1"])
    with pytest.raises(ConfigError, match="spoof_share is 2"):
        sasv_eer(counts, spoof_share=2)
    with pytest.raises(ConfigError, match="'adcf1' includes spoof trials"):
        parse_detection_cost("adcf1")
    assert {*COST_MODELS} - {*detection_cost_names()} == {"adcf1", "asvspoof5"}
    no_spoof = counted([1], [0], [])
    assert np.isnan(threshold_at_sfar(no_spoof.curve, 0.1))
    assert np.isnan(no_spoof.curve.sfar).all()
