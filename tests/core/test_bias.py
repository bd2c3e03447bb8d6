from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parivox import difference, neg_log_ratio, ratio, reference, smoothed, threshold_bias
from parivox.errors import ConfigError

rates = st.lists(st.floats(1e-6, 1), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("rate", "errors", "trials"), [("FPR", "FP", "N_nontarget"), ("FNR", "FN", "N_target")]
)
def test_vectors(vector, rate, errors, trials):
    inputs, expected, tol = vector("3.1_bias_measures")
    want = expected[rate]
    b = smoothed(inputs[errors], inputs[trials])
    pooled = smoothed(sum(inputs[errors]), sum(inputs[trials]))
    refs = {kind: reference(b, kind) for kind in ("macro", "geomean", "best")}
    assert pooled == pytest.approx(want["pooled"], abs=tol)
    for kind in ("macro", "geomean"):
        assert refs[kind] == pytest.approx(want[kind], abs=tol)
        bias = ratio(b, refs[kind])
        np.testing.assert_allclose(bias.value, want[f"ratio_to_{kind}"], atol=tol)
        assert (bias.reason == "").all()
    for bias, name in (
        (difference(b, refs["best"]), "diff_to_min"),
        (difference(b, pooled), "diff_to_pooled"),
        (ratio(b, pooled), "ratio_to_pooled"),
        (ratio(b, refs["best"]), "ratio_to_best"),
        (neg_log_ratio(b, pooled), "neg_log_ratio_to_pooled"),
    ):
        np.testing.assert_allclose(bias.value, want[name], atol=tol)
        assert (bias.reason == "").all()


def test_equalised_overall_is_macro(vector):
    inputs, expected, tol = vector("2.2_equalised_overall")
    for rate, errors, trials in (("FPR", "FP", "NN"), ("FNR", "FN", "NT")):
        b = smoothed(inputs[errors], inputs[trials])
        pooled = smoothed(sum(inputs[errors]), sum(inputs[trials]))
        assert pooled == pytest.approx(expected[f"pooled_{rate}"], abs=tol)
        assert reference(b, "macro") == pytest.approx(expected[f"equalised_{rate}"], abs=tol)


def test_zero_policies(vector):
    inputs, expected, tol = vector("3.3_zero_cell")
    k, n = inputs["FP"], inputs["N_nontarget"]
    assert smoothed(k, n)[0] == 0
    assert smoothed(k, n, "nist")[0] == pytest.approx(
        expected["cp_upper95_one_sided_zero"], abs=tol
    )
    np.testing.assert_array_equal(smoothed(k, n, "nist")[1:], smoothed(k, n)[1:])
    np.testing.assert_allclose(smoothed(k, n, "jeffreys"), (np.array(k) + 0.5) / 2001)
    for zero in ("none", "jeffreys", "nist"):
        assert np.isnan(smoothed([0], [0], zero)).all()


def test_references_leave_undefined_groups_out():
    values = [[0.5, np.nan, 0.125], [np.nan, np.nan, np.nan], [0.0, 0.5, 0.5]]
    np.testing.assert_allclose(reference(values, "macro"), [0.3125, np.nan, 1 / 3])
    np.testing.assert_allclose(reference(values, "geomean"), [0.25, np.nan, 0])
    np.testing.assert_allclose(reference(values, "best"), [0.125, np.nan, 0])
    assert np.isnan(reference([], "best"))


def test_reasons():
    nan, inf = np.nan, np.inf
    bias = ratio([[0.0, 0.5], [nan, 0.5], [inf, 0.5], [0.5, 0.0]], [0.0, 0.5, 0.5, nan])
    assert bias.reason.tolist() == [
        ["zero_over_zero", "zero_reference"],
        ["undefined_value", ""],
        ["infinite_value", ""],
        ["undefined_reference", "undefined_reference"],
    ]
    np.testing.assert_array_equal(bias.value, [[nan, inf], [nan, 1], [inf, 1], [nan, nan]])
    bias = neg_log_ratio([[0.0, 0.5], [0.0, 0.5]], [0.0, 0.5])
    assert bias.reason.tolist() == [["zero_over_zero", "zero_reference"], ["zero_cell", ""]]
    np.testing.assert_array_equal(bias.value, [[nan, -inf], [inf, 0]])
    bias = difference([inf, 0.0, nan], 0.0)
    assert bias.reason.tolist() == ["infinite_value", "", "undefined_value"]
    assert np.isnan(difference([inf], inf).value[0])


def test_threshold_bias_at_the_ends():
    bias = threshold_bias([0.3, 0.3, 0.0, np.nan, 0.3], [0.1, 0.0, 0.0, 0.1, np.nan])
    np.testing.assert_array_equal(bias.value[1:], [np.inf, 1, np.nan, np.nan])
    assert bias.reason.tolist() == [
        "",
        "zero_own_min",
        "zero_over_zero",
        "undefined_value",
        "undefined_reference",
    ]
    assert threshold_bias(np.nextafter(0.1, 0), 0.1).value == 1
    assert threshold_bias(0.05, 0.1).value == 0.5  # not this function's mistake to hide


@given(rates, st.floats(1e-6, 1), st.floats(0.01, 100))
def test_ratios_do_not_see_scale(values, to, scale):
    b = np.array(values)
    np.testing.assert_allclose(ratio(b * scale, to * scale).value, ratio(b, to).value)
    np.testing.assert_allclose(neg_log_ratio(b, to).value, -np.log(ratio(b, to).value), atol=1e-12)
    np.testing.assert_allclose(difference(b, to).value, b - to)


@given(rates)
def test_no_group_is_better_than_the_best(values):
    assert (ratio(values, reference(values, "best")).value >= 1).all()
    assert reference(values, "geomean") <= reference(values, "macro") * (1 + 1e-12)


def test_unknown_words_are_named():
    with pytest.raises(ConfigError, match="'laplace'"):
        smoothed([1], [2], "laplace")
    with pytest.raises(ConfigError, match="'median'"):
        reference([1.0], "median")
