from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import (
    au_fdr,
    cv,
    eo_diff,
    eo_ratio,
    fdr,
    garbe,
    gini,
    ir,
    max_geomean,
    max_mean,
    max_min,
    min_max,
    nrb,
    rb,
    sd,
    smoothed,
)
from parivox.core.measures import meta_measures
from parivox.core.spread import value_range
from parivox.errors import ConfigError

NAN, INF = np.nan, np.inf
MEASURES = {
    name: measure_entry
    for name, measure_entry in meta_measures().items()
    if measure_entry.compute is not None
}
ON_GROUPS = sorted(set(MEASURES) - {"au_fdr"})
SCALE_FREE = (
    "gini",
    "garbe",
    "ir",
    "ir_fpd",
    "max_min",
    "min_max",
    "max_geomean",
    "max_mean",
    "cv",
)
rates = st.lists(st.floats(1e-4, 1), min_size=2, max_size=8)
two_rates = st.lists(st.tuples(st.floats(1e-4, 1), st.floats(1e-4, 1)), min_size=2, max_size=8)


def measure(name, fpr, fnr, average=0.3, **options):
    """Any measure on groups by its id, as the audit calls it."""
    spec = MEASURES[name]
    if spec.is_joint:
        return spec.evaluate(fpr, fnr, **options)
    if spec.extra_input == "average":
        return spec.evaluate(fpr, average)
    return spec.evaluate(fpr)


@pytest.mark.parametrize("alpha", ["0", "0.5", "1"])
def test_vectors(vector, alpha):
    inputs, expected, tol = vector("3.2_meta_measures")
    f, q, want, a = inputs["FPR"], inputs["FNR"], expected[alpha], float(alpha)
    measures = {
        "FDR": fdr(f, q, alpha=a),
        "FDR_FPD": value_range(f),
        "FDR_FND": value_range(q),
        "IR_FPD": max_min(f),
        "IR_FND": max_min(q),
        "IR": ir(f, q, alpha=a),
        "GARBE_FPD": gini(f),
        "GARBE_FND": gini(q),
        "GARBE": garbe(f, q, alpha=a),
        "gini_unnorm_FPD": gini(f, normalised=False),
        "max_over_geomean_FPR": max_geomean(f),
        "max_over_geomean_FNR": max_geomean(q),
        "max_over_mean_FPR": max_mean(f),
        "max_over_mean_FNR": max_mean(q),
        "min_over_max_FPR": min_max(f),
        "min_over_max_FNR": min_max(q),
        "NRB_FPR": nrb(f, np.mean(f)),
        "NRB_FNR": nrb(q, np.mean(q)),
        "RB_FPR": rb(f, np.mean(f)),
        "std_FPR_ddof0": sd(f, ddof=0),
        "std_FPR_ddof1": sd(f),
        "cv_FPR_ddof0": cv(f, ddof=0),
        "eq_odds_difference": eo_diff(f, q),
        "eq_odds_ratio": eo_ratio(f, q),
        "tpr_ratio": min_max(1 - np.array(q)),
    }
    assert measures.keys() == want.keys()
    for name, meta in measures.items():
        assert meta.value == pytest.approx(want[name], abs=tol), name
        assert (meta.groups, meta.reason) == (4, "")


def test_zero_cell(vector):
    inputs, expected, tol = vector("3.3_zero_cell")
    k, n = inputs["FP"], inputs["N_nontarget"]
    raw, jeffreys, nist = (smoothed(k, n, zero) for zero in ("none", "jeffreys", "nist"))
    assert np.isnan(max_min(raw).value)
    assert max_min(raw).reason == max_geomean(raw).reason == nrb(raw, 0.1).reason == "zero_cell"
    near = {"abs": tol}
    assert max_min(jeffreys).value == pytest.approx(expected["IR_FPD_jeffreys"], **near)
    assert max_geomean(jeffreys).value == pytest.approx(
        expected["max_over_geomean_jeffreys"], **near
    )
    assert max_geomean(raw, denominator=nist).value == pytest.approx(
        expected["max_over_geomean_nist_zero_adjust"], **near
    )
    assert gini(raw).value == pytest.approx(expected["gini"], **near)
    assert value_range(raw).value == pytest.approx(expected["FDR_FPD"], **near)
    pooled = smoothed(sum(k), sum(n), "jeffreys")
    assert nrb(jeffreys, pooled).value == pytest.approx(expected["NRB_jeffreys"], **near)
    coefficient = gini([0.0, 0.0, 0.0])
    assert (coefficient.value, coefficient.reason) == (expected["gini_all_zero"], "no_errors")
    assert gini([0.0, 0.2, 0.0]).value == expected["gini_one_hot"]


def test_area_under_fdr(vector):
    inputs, expected, tol = vector("3.6_area_under_fdr")
    rates = inputs["FDR"], inputs["pooled_FMR"]
    assert au_fdr(*rates).value == pytest.approx(
        expected["trapezoid_linear_fmr_normalised"], abs=tol
    )
    assert au_fdr(*rates, axis="log10").value == pytest.approx(
        expected["trapezoid_log10_fmr_normalised"], abs=tol
    )


def test_paper_003_table_1(vector):
    inputs, expected, tol = vector("6.1_seed003_table1_recovered_counts")
    assert len(expected) == 5
    for system, want in expected.items():
        counts = np.array([want["FM"], want["FNM"]])
        printed = inputs["printed_percent"][system]
        np.testing.assert_array_equal(np.round(counts / inputs["N"] * 100, 2), printed)
        f, q = (smoothed(want[errors], inputs["N"]) for errors in ("FM", "FNM"))
        for name, meta in {
            "FDR": fdr(f, q),
            "FDR_FPD": value_range(f),
            "FDR_FND": value_range(q),
            "IR_FPD": max_min(f),
            "IR_FND": max_min(q),
            "IR": ir(f, q),
            "GARBE_FPD": gini(f),
            "GARBE_FND": gini(q),
            "GARBE": garbe(f, q),
        }.items():
            value = float(want[name])
            assert meta.value == pytest.approx(value, abs=tol, nan_ok=True), (system, name)
            assert meta.reason == ("zero_cell" if np.isnan(value) else "")


def test_registry_is_complete():
    names = (
        "fdr fdr_fpd fdr_fnd ir ir_fpd ir_fnd garbe gini nrb rb max_min min_max max_geomean "
        "max_mean sd cv eo_diff eo_ratio au_fdr"
    )
    assert list(MEASURES) == names.split()
    for name, spec in MEASURES.items():
        assert spec.id == name
        assert spec.is_joint == (spec.metric == "fpr+fnr")
        assert spec.zero_policies[0] == "none"
        assert spec.source
    fairer = {name for name, spec in MEASURES.items() if spec.is_higher_fairer}
    assert fairer == {"fdr", "min_max", "eo_ratio", "au_fdr"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_GROUPS)
@given(pairs=two_rates, seed=st.integers(0, 9))
def test_order_of_groups_does_not_matter(name, pairs, seed):
    f, q = np.array(pairs).T
    order = np.random.default_rng(seed).permutation(f.size)
    ordered, reordered = measure(name, f, q), measure(name, f[order], q[order])
    assert reordered.value == pytest.approx(float(ordered.value), rel=1e-9, abs=1e-12)
    assert ordered.reason == reordered.reason
    if ordered.low >= 0:
        assert f[ordered.low] == f[order][reordered.low] == f.min()
        assert f[ordered.high] == f[order][reordered.high] == f.max()


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALE_FREE)
@given(pairs=two_rates, scale=st.floats(0.01, 1))
def test_relative_measures_do_not_see_scale(name, pairs, scale):
    f, q = np.array(pairs).T
    unscaled, scaled = measure(name, f, q), measure(name, f * scale, q * scale)
    assert scaled.value == pytest.approx(float(unscaled.value), rel=1e-9, abs=1e-12)


@pytest.mark.slow
@given(rates, st.floats(0.01, 1), st.floats(0.01, 1))
def test_nrb_scales_with_its_average_only(values, average, scale):
    b = np.array(values)
    unscaled, scaled = nrb(b, average), nrb(b * scale, average * scale)
    assert scaled.value == pytest.approx(float(unscaled.value), abs=1e-9)
    if b.min() <= average <= b.max():
        assert unscaled.value <= np.log(max_min(b).value) + 1e-9


def test_fdr_sees_scale_and_hides_disparity():
    f, q = np.array([0.01, 0.4]), np.array([0.02, 0.3])
    assert fdr(f / 100, q / 100).value > 0.99 > fdr(f, q).value
    assert fdr(f, q).value == pytest.approx(1 - (0.39 + 0.28) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("fdr", 0, 1),
        ("gini", 0, 1),
        ("garbe", 0, 1),
        ("ir", 1, INF),
        ("max_min", 1, INF),
        ("min_max", 0, 1),
        ("max_geomean", 1, INF),
        ("eo_diff", 0, 1),
        ("eo_ratio", 0, 1),
        ("nrb", 0, INF),
        ("sd", 0, 1),
    ],
)
@given(pairs=two_rates)
def test_ranges(name, low, high, pairs):
    value = measure(name, *np.array(pairs).T).value
    assert low - 1e-12 <= value <= high


@given(st.floats(1e-4, 1), st.floats(1e-4, 1))
def test_two_groups_in_closed_form(a, b):
    assert gini([a, b]).value == pytest.approx(abs(a - b) / (a + b), abs=1e-12)
    assert max_geomean([a, b]).value == pytest.approx(np.sqrt(max(a, b) / min(a, b)))


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_gini_is_the_mean_absolute_difference(values):
    b = np.array(values)
    assert gini(b).value >= 0
    if b.sum() > 1e-6:
        pairs = np.abs(b[:, None] - b[None, :]).sum()
        plain = pairs / (2 * b.size**2 * b.mean())
        assert gini(b, normalised=False).value == pytest.approx(plain, abs=1e-9)
        twice = gini(np.concatenate([b, b]), normalised=False)
        assert twice.value == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("name", ON_GROUPS)
def test_undefined_groups_are_left_out(name):
    f, q = np.array([0.1, 0.3, 0.2]), np.array([0.2, 0.2, 0.4])
    gap = np.array([0.1, NAN, 0.3, 0.2, 0.9])
    pooled_gap = np.array([0.2, 0.5, 0.2, 0.4, NAN])
    if not MEASURES[name].is_joint:
        gap = gap[:4]
    complete, with_gap = measure(name, f, q), measure(name, gap, pooled_gap)
    assert with_gap.value == pytest.approx(float(complete.value), abs=1e-15)
    assert complete.groups == with_gap.groups == 3
    assert (with_gap.low, with_gap.high) == ((-1, -1) if MEASURES[name].is_joint else (0, 2))


@pytest.mark.parametrize("name", ON_GROUPS)
def test_too_few_groups(name):
    for f, reason, groups in (
        ([], "no_groups", 0),
        ([NAN, NAN], "no_groups", 0),
        ([0.1, NAN], "one_group", 1),
    ):
        measured = measure(name, f, f)
        assert np.isnan(measured.value)
        assert (measured.reason, measured.groups) == (reason, groups)


@pytest.mark.parametrize("name", ON_GROUPS)
def test_rows_are_like_rows_alone(name):
    rng = np.random.default_rng(4)
    f, q = rng.uniform(0.01, 0.5, (2, 6, 5))
    f[1], q[2, 0], f[3, :4], f[4, 2] = 0, 0, NAN, NAN
    together = measure(name, f, q)
    assert together.value.shape == together.groups.shape == together.reason.shape == (6,)
    for row in range(6):
        alone = measure(name, f[row], q[row])
        for field in ("value", "low", "high", "groups", "reason"):
            np.testing.assert_equal(getattr(together, field)[row], getattr(alone, field))


@pytest.mark.parametrize("name", ["fdr", "ir", "garbe"])
def test_alpha_leads(name):
    rng = np.random.default_rng(6)
    f, q = rng.uniform(0.01, 0.5, (2, 3, 4))
    f[1, 0] = 0
    alpha = np.linspace(0, 1, 5)
    together = measure(name, f, q, alpha=alpha)
    assert together.value.shape == together.reason.shape == together.groups.shape == (5, 3)
    for i, a in enumerate(alpha):
        alone = measure(name, f, q, alpha=a)
        np.testing.assert_allclose(together.value[i], alone.value, rtol=1e-15)
        np.testing.assert_array_equal(together.reason[i], alone.reason)
    term = {"fdr": value_range, "ir": max_min, "garbe": gini}[name]
    for i, rate in enumerate((q, f)):
        value = term(rate).value
        np.testing.assert_allclose(
            together.value[-i], 1 - value if name == "fdr" else value, atol=1e-15
        )


def test_terms_without_weight_do_not_spoil_ir():
    f, q = [0.0, 0.1], [0.0, 0.0]
    measured = ir(f, q, alpha=[0, 0.5, 1])
    assert measured.reason.tolist() == ["zero_over_zero", "zero_cell", "zero_cell"]
    np.testing.assert_array_equal(measured.value, [1, NAN, NAN])
    assert ir(q, q).value == 1
    measured = garbe(f, q, alpha=[0, 0.5, 1])
    assert measured.reason.tolist() == ["no_errors", "no_errors", ""]
    np.testing.assert_array_equal(measured.value, [0, 0.5, 1])


def test_nist_denominators():
    k, n = np.array([[0, 4], [0, 0]]), 100
    raw, below = smoothed(k, n), smoothed(k, n, "nist")
    bound = 1 - 0.05 ** (1 / 100)
    assert below[0, 0] == pytest.approx(bound)
    measured = max_min(raw, denominator=below)
    np.testing.assert_allclose(measured.value, [0.04 / bound, 1])
    assert measured.reason.tolist() == ["", "zero_over_zero"]
    measured = ir(raw, raw + 0.1, denominator=(below, below + 0.1), alpha=1)
    np.testing.assert_allclose(measured.value, [0.04 / bound, 1])
    measured = max_geomean(raw, denominator=below)
    np.testing.assert_allclose(measured.value, [0.04 / np.sqrt(0.04 * bound), NAN])
    assert measured.reason.tolist() == ["", "no_errors"]


def test_no_errors_anywhere():
    zeros = [0.0, 0.0]
    expected = {
        "gini": (0, "no_errors"),
        "max_min": (1, "zero_over_zero"),
        "min_max": (1, "zero_over_zero"),
        "max_geomean": (NAN, "no_errors"),
        "max_mean": (NAN, "no_errors"),
        "cv": (NAN, "no_errors"),
        "sd": (0, ""),
        "fdr": (1, ""),
        "garbe": (0, "no_errors"),
        "ir": (1, "zero_over_zero"),
        "eo_diff": (0, ""),
        "eo_ratio": (1, "zero_over_zero"),
        "nrb": (NAN, "zero_cell"),
    }
    for name, (value, reason) in expected.items():
        measured = measure(name, zeros, zeros)
        assert measured.value == pytest.approx(value, nan_ok=True), name
        assert measured.reason == reason, name


def test_averages_that_say_nothing():
    assert nrb([0.1, 0.2], 0.0).reason == "zero_reference"
    assert nrb([0.1, 0.2], NAN).reason == "undefined_reference"
    assert np.isnan(rb([[0.1, 0.2], [0.3, 0.2]], [0.0, NAN]).value).all()


def test_infinite_values_are_said():
    measured = max_min([0.1, INF])
    assert (measured.value, measured.reason, measured.low, measured.high) == (
        INF,
        "infinite_value",
        0,
        1,
    )
    assert (sd([0.1, INF]).reason, gini([0.1, INF]).reason) == ("infinite_value",) * 2
    measured = max_min([NAN, INF, INF])
    assert (measured.low, measured.high, measured.groups, measured.reason) == (
        1,
        1,
        2,
        "infinite_value",
    )


@pytest.mark.slow
def test_eo_measures_are_fairlearns():
    metrics = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(8)
    truth, group = rng.random(400) < 0.5, rng.integers(0, 4, 400)
    accepted = rng.random(400) < np.where(truth, 0.8, 0.2) + 0.04 * group
    cells = [(truth & (group == g), ~truth & (group == g)) for g in range(4)]
    fnr = [np.mean(~accepted[t]) for t, _ in cells]
    fpr = [np.mean(accepted[n]) for _, n in cells]
    columns = {"y_true": truth, "y_pred": accepted, "sensitive_features": group}
    assert eo_diff(fpr, fnr).value == pytest.approx(metrics.equalized_odds_difference(**columns))
    assert eo_ratio(fpr, fnr).value == pytest.approx(metrics.equalized_odds_ratio(**columns))


def test_area_under_fdr_at_the_edges():
    points = np.array([0.1, 0.001, 0.01, 0.0])
    height = np.array([0.8, 0.99, 0.95, 1.0])
    order = np.argsort(points)
    assert au_fdr(height, points).value == au_fdr(height[order], points[order]).value
    # without a logarithm of 0
    assert au_fdr(height, points, axis="log10").value == pytest.approx(0.9225)
    assert au_fdr([0.9, NAN], [0.1, 0.2]).reason == "too_few_points"
    assert au_fdr([0.9, 0.8], [0.1, 0.1]).reason == "too_few_points"
    assert au_fdr([], []).reason == "too_few_points"
    areas = au_fdr(np.stack([height, height / 2]), points)
    np.testing.assert_allclose(areas.value, [areas.value[0], areas.value[0] / 2])
    with pytest.raises(ConfigError, match="'log'"):
        au_fdr(height, points, axis="log")


@pytest.mark.parametrize("alpha", [-0.1, 1.1, NAN, [0.5, 2]])
def test_alpha_is_a_weight(alpha):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        fdr([0.1, 0.2], [0.1, 0.2], alpha=alpha)


@pytest.mark.parametrize(
    "measured",
    [gini([0.0, 0.0]), eo_diff([0.1, 0.2], [0.3, 0.4]), au_fdr([1.0], [0.1])],
    ids=["one rate", "two rates", "no groups"],
)
def test_a_value_can_be_sent_to_another_process(measured):
    received = pickle.loads(pickle.dumps(measured))
    for name in ("value", "low", "high", "groups", "reason"):
        np.testing.assert_array_equal(getattr(received, name), getattr(measured, name))
