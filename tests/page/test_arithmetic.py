"""The functions of arithmetic.js, one by one, against those of Python that they repeat."""

from __future__ import annotations

import json
import math
from importlib import resources

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from parivox.core import bias
from parivox.core.measures import meta_measures
from parivox.core.ratios import Ratio, to_pooled
from parivox.report.html.explorer import (
    EXPLORER_MEASURES,
    MAX_RATIO,
    ExplorerRanges,
    packed_integers,
)
from parivox.report.words import percent, short_number

OFTEN = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ODD = [0, 1, 0.1225, 0.00125, 0.125, 0.0995, 0.995, 9.95, 12.5, 13.5, 1e-9, 9999.5, 1234.5]


@pytest.fixture(scope="module")
def script(chromium):
    """Run an expression on `N`, the functions of the module, and `x`."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    source = resources.files("parivox.report").joinpath("assets/arithmetic.js").read_text("utf-8")
    page.evaluate(f"() => {{ {source}; window.N = explorerNumbers; }}")

    def run(expression, x):
        # what JSON cannot hold goes as text; objects would cross to the browser value by value
        return json.loads(
            page.evaluate(
                f"(text) => {{ const x = JSON.parse(text); return JSON.stringify(({expression}),"
                " (key, one) => typeof one === 'number' && !Number.isFinite(one)"
                " ? String(one) : one); }",
                json.dumps(x, allow_nan=False),
            )
        )

    yield run
    context.close()


def numbers(texts):
    return [float(number) for number in texts]


@OFTEN
@given(st.lists(st.integers(0, 2**40), max_size=60))
def test_packed_integers_come_out_as_they_went_in(script, values):
    assert script("N.unpacked(x)", packed_integers(values)) == values


@OFTEN
@given(
    st.lists(
        st.one_of(
            st.floats(0, 1e5, allow_subnormal=False),
            st.builds(lambda k, n: k / n, st.integers(0, 4000), st.sampled_from([8, 400, 1600])),
            st.sampled_from(ODD),
        ),
        max_size=60,
    )
)
def test_numbers_are_written_digit_for_digit_as_python_writes_them(script, values):
    texts = script("x.map((v) => [N.percent(v), N.short(v), N.general(v, 6)])", values)
    assert texts == [[percent(v), short_number(v), f"{v:.6g}"] for v in values]


@OFTEN
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 90)), max_size=6),
    st.sampled_from(["none", "jeffreys", "nist"]),
    st.sampled_from([0, 0.25, 1]),
)
def test_measures_of_few_errors_are_those_of_the_core_with_their_reasons(
    script, groups, zero, alpha
):
    counts = [(min(k, n), n) for k, n in groups]
    false, missed = counts, counts[::-1]
    pooled = tuple(np.sum(counts, axis=0)) if counts else (0, 0)
    smooth = {
        metric: bias.smoothed(*np.array([*counted, pooled], dtype=float).reshape(-1, 2).T, zero)
        for metric, counted in (("fpr", false), ("fnr", missed))
    }
    raw = {
        metric: bias.smoothed(*np.array([*counted, pooled], dtype=float).reshape(-1, 2).T)
        for metric, counted in (("fpr", false), ("fnr", missed))
    }
    smooth["cost"] = raw["cost"] = 0.5 * raw["fpr"] + 9 * raw["fnr"]
    above = raw if zero == "nist" else smooth
    counted = script(
        "((d) => N.measures(x.rows, d(x.values), d(x.below), x.used, d(x.average), x.alpha))"
        "((of) => Object.fromEntries(Object.entries(of).map(([m, v]) =>"
        " [m, Array.isArray(v) ? v.map(Number) : Number(v)])))",
        {
            "rows": [row.script_row() for row in EXPLORER_MEASURES],
            "values": {m: list(map(str, v[:-1].tolist())) for m, v in above.items()},
            "below": {m: list(map(str, v[:-1].tolist())) for m, v in smooth.items()},
            "used": {m: [True] * len(counts) for m in above},
            "average": {m: str(float(v[-1])) for m, v in smooth.items()},
            "alpha": alpha,
        },
    )
    for row in EXPLORER_MEASURES:
        names = {**dict(row.single), **({"both": row.joint} if row.joint else {})}
        for metric, name in names.items():
            spec, more = meta_measures()[name], {}
            if metric == "both":
                arguments = [above["fpr"][:-1], above["fnr"][:-1]]
                below = smooth["fpr"][:-1], smooth["fnr"][:-1]
            else:
                arguments = [above[metric][:-1]]
                arguments += [smooth[metric][-1]] if spec.extra_input == "average" else []
                below = smooth[metric][:-1]
            if zero == "nist" and "nist" in spec.zero_policies:
                more["denominator"] = below
            if spec.extra_input == "alpha":
                more["alpha"] = alpha
            expected = spec.evaluate(*arguments, **more)
            cell = counted[row.id][metric]
            value = float(cell["value"])
            assert value == pytest.approx(float(expected.value), rel=1e-12, abs=1e-14, nan_ok=True)
            assert cell["reason"] == str(expected.reason)


@OFTEN
@given(*[st.one_of(st.just(0.0), st.floats(1e-6, 50))] * 2)
def test_ratios_and_threshold_bias_have_the_reasons_of_the_core(script, value, to):
    ratio = script("N.ratio(...x)", [value, to])
    expected = bias.ratio([value], to)
    assert float(ratio["value"]) == pytest.approx(float(expected.value[0]), nan_ok=True)
    assert ratio["reason"] == str(expected.reason[0])
    cost, own_cost = max(value, to), min(value, to)
    lost = script("N.thresholdBias(...x)", [cost, own_cost])
    expected = bias.threshold_bias([cost], [own_cost])
    assert float(lost["value"]) == pytest.approx(float(expected.value[0]))
    assert lost["reason"] == str(expected.reason[0])


def interpolated(limits, thresholds, nodes, k):
    """Limits at a threshold: those of a node, or of the two around it in logits; else none."""
    if k in nodes:
        return limits[:, nodes.index(k)]
    if not nodes[0] < k < nodes[-1]:
        return np.full(len(limits), math.nan)
    j = int(np.searchsorted(nodes, k))
    before, after = thresholds[nodes[j - 1]], thresholds[nodes[j]]
    share = (thresholds[k] - before) / (after - before)
    low, high = limits[:, j - 1], limits[:, j]
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = expit((1 - share) * logit(low) + share * logit(high))
    inside = (low > 0) & (low < 1) & (high > 0) & (high < 1)
    return np.where(inside, mixed, (1 - share) * low + share * high)


@OFTEN
@given(
    st.lists(
        st.one_of(st.just(math.nan), st.just(0.0), st.floats(1e-9, 0.99)), min_size=16, max_size=16
    )
)
def test_limits_between_nodes_are_interpolated_in_logits_to_four_digits(script, limits):
    thresholds = np.array([-np.inf, 0.1, 0.4, 0.5, 0.9])
    limits = np.array(limits).reshape(8, 1, 2)
    bands = ExplorerRanges(np.array([1, 3]), limits)
    grouping = {
        "nodes": [1, 3],
        "limits": packed_integers(bands.codes()),
        "exact": bands.exact([3]),
    }
    limits_by_position = script(
        "((b) => [1, 2, 3, 4].map((k) => [0, 2, 4, 6].flatMap((m) => N.limitsAt("
        "x.grouping.nodes, x.thresholds.map(Number), b[m][0], b[m + 1][0], k))))"
        "(N.bands(x.grouping, 1))",
        {"grouping": grouping, "thresholds": ["-Infinity", *thresholds[1:].tolist()]},
    )
    for k, position_limits in zip((1, 2, 3, 4), limits_by_position, strict=True):
        expected = interpolated(limits[:, 0], thresholds, [1, 3], k)
        tolerance = 0 if k == 3 else 5e-3  # that of an audited point is exact
        assert numbers(position_limits) == pytest.approx(
            expected, rel=tolerance, abs=1e-12, nan_ok=True
        )


@OFTEN
@given(st.tuples(st.floats(1e-3, 1e3), st.floats(1, 9)), st.floats(0.01, 0.99))
def test_limits_of_a_ratio_to_all_others_are_those_to_everyone_too(script, ends, share):
    low, high = ends[0], ends[0] * ends[1]
    packed = [low / MAX_RATIO, high / MAX_RATIO]
    assert numbers(script("N.ratioLimits(x)", packed)) == pytest.approx([low, high], rel=1e-9)
    limit_arrays = np.array([low]), np.array([high])
    expected = to_pooled(
        Ratio(limit_arrays[0], *limit_arrays, limit_arrays[0], np.array([""])), share
    )
    shown = numbers(script("N.ratioLimits(...x)", [packed, share]))
    assert shown == pytest.approx([expected.low[0], expected.high[0]], rel=1e-9)


@OFTEN
@given(st.integers(3, 9), st.lists(st.one_of(st.sampled_from([0, 1]), st.floats(1e-12, 1))))
def test_rates_stand_on_an_axis_of_decades_that_ends_at_all(script, decades, rates):
    places = script("x[1].map((rate) => N.place(x[0], rate))", [decades, rates])
    assert numbers(places) == pytest.approx(
        [max(100 + 100 * math.log10(max(rate, 1e-99)) / decades, 0) for rate in rates], abs=1e-9
    )


def test_rates_are_told_as_people_count(script):
    rates = {0: "none", 1: "all", 0.01: "1 in 100", 2754 / 275406: "1 in 100", 1 / 75: "1 in 75"}
    rates |= {4e-6: "1 in 250,000", 0.1: "10 in 100", 0.4321: "43.2 in 100"}
    assert script("x.map(N.oneIn)", list(rates)) == list(rates.values())


def test_rows_of_measures_that_the_page_cannot_compute_are_known(script):
    assert script("x.map(N.knows)", [row.script_row() for row in EXPLORER_MEASURES]) == [
        True
    ] * len(EXPLORER_MEASURES)
    assert script("N.knows(x)", {"id": "new", "joint": "new", "fpr": "newer"}) is False
