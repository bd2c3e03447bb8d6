"""The explorer in a browser shows what Python computes of the very scores."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from scipy.special import expit, logit

from parivox import Counts, cdet, min_cdet, parse_cost
from parivox.core import bias
from parivox.core.measures import meta_measures
from parivox.report.charts.curves import error_curves
from parivox.report.html.explorer import EXPLORER_MEASURES
from parivox.report.words import interval_text, p_value, percent, short_number

READ = """() => {
  // as text: a nested object crosses from the browser to Python value by value
  const exact = ({ exact = NaN }) => Number.isNaN(exact) ? null : String(exact);
  const cells = (row) => Object.fromEntries([...row.querySelectorAll('[data-x]')]
    .filter((one) => one.tagName !== 'svg')
    .map((one) => [one.dataset.x, [one.textContent, exact(one)]]));
  const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr, #${id} tfoot tr`)];
  const gaps = rows('x-gaps').map(cells);
  return JSON.stringify({
    k: Number(document.getElementById('x-slider').value),
    threshold: String(document.getElementById('x-threshold').exact),
    common: rows('x-common').map((row, i) => ({...gaps[i], ...cells(row)})),
    own: rows('x-own').map(cells),
    measures: Object.fromEntries(rows('x-measures').map((row) => [row.dataset.row, cells(row)])),
    sentence: document.getElementById('x-sentence').textContent,
    message: document.getElementById('x-message').textContent,
    said: document.getElementById('x-slider').getAttribute('aria-valuetext'),
  });
}"""
VOXSRC = parse_cost("voxsrc")
POSITIONS = 50
RATES = ("fpr", "fnr")


def read(page):
    """What the explorer shows, its groups by name."""
    state = json.loads(page.evaluate(READ))
    state["threshold"] = float(state["threshold"])
    for table in ("common", "own"):
        state[table].sort(key=lambda row: (row["group"][0] == "pooled", row["group"][0]))
    return state


def advanced(page):
    """Open what is folded."""
    page.evaluate("() => { document.getElementById('x-advanced').open = true; }")


def times(value):
    return f"{short_number(value)}×"


def figure(value):
    return f"{value:#.4g}".rstrip(".") if value else "0"


def expect_cell(cell, value, text):
    """Same to the last digits, and shown as Python writes it."""
    shown, exact = cell
    if math.isnan(value):
        assert exact is None
        assert shown.startswith("–")
        return
    if math.isinf(value):
        assert float(exact) == value
        assert shown.startswith("∞")
        return
    assert float(exact) == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert shown.split(" (")[0].removesuffix("*") == text(value)


@pytest.fixture(scope="module")
def groups(h_counts):
    """Counts of V2's scores: of every group, and pooled last."""
    everyone, of_group = h_counts["V2"]
    return {**of_group, "pooled": everyone}


@pytest.fixture(scope="module")
def thresholds(h_audit):
    return next(curves for curves in error_curves(h_audit) if curves.system == "V2").thresholds


def rates_at(groups, threshold):
    """Errors and trials of every group: pairs for FPR and for FNR."""
    points = [counts.at([threshold]) for counts in groups.values()]
    false = [(int(point.fp[0]), int(point.n_nontarget)) for point in points]
    missed = [(int(point.fn[0]), int(point.n_target)) for point in points]
    return np.array(false), np.array(missed)


def costs_at(groups, threshold, cost=VOXSRC):
    return np.array([cdet(counts.at([threshold]), cost)[0] for counts in groups.values()])


def expect_rates(rows, groups, threshold, cost=VOXSRC):
    """Every rate and cost of a table, from the scores."""
    false, missed = rates_at(groups, threshold)
    costs = costs_at(groups, threshold, cost)
    assert [row["group"][0] for row in rows] == list(groups)
    for i, row in enumerate(rows):
        for metric, (errors, trials) in (("fpr", false[i]), ("fnr", missed[i])):
            expect_cell(row[metric], errors / trials, percent)
            assert row[f"{metric}_counts"][0] == f"{errors:,}/{trials:,}"
        expect_cell(row["cost"], costs[i], figure)


def expect_references(rows, groups, threshold, *, reference="others", zero="none"):
    below = zero
    above = "none" if zero == "nist" else zero
    for metric, counts in zip(("fpr", "fnr"), rates_at(groups, threshold), strict=True):
        against = counts[-1] - counts[:-1] if reference == "others" else counts[-1:]
        values = bias.smoothed(*counts[:-1].T, above)
        refs = bias.smoothed(*against.T, below)
        ratios = bias.ratio(values[:, None], refs).flat
        gaps = bias.difference(values[:, None], refs).flat
        for i, row in enumerate(rows[:-1]):
            expect_cell(row[f"{metric}_ratio"], float(ratios.value[i]), times)
            gap = float(gaps.value[i])
            sign = "+" if gap > 0 else ""
            if gap < 0:
                sign = "-"
            points = percent(abs(gap)).removesuffix(" %")
            expect_cell(row[f"{metric}_difference"], gap, lambda _, text=sign + points: text)


def expect_measures(shown, groups, threshold, *, alpha=0.5, zero="none", left_out=()):
    """Every measure by the functions of the core, on rates of the scores."""
    names = [name for name in groups if name != "pooled"]
    used = np.array([name not in left_out for name in names])
    pairs = dict(zip(("fpr", "fnr"), rates_at(groups, threshold), strict=True))
    costs = costs_at(groups, threshold)
    raw, smooth = {"cost": costs}, {"cost": costs}
    for metric, counts in pairs.items():
        raw[metric] = bias.smoothed(*counts.T)
        smooth[metric] = bias.smoothed(*counts.T, zero)
    above = raw if zero == "nist" else smooth
    values = {m: np.where(used, by_group[:-1], np.nan) for m, by_group in above.items()}
    for row in EXPLORER_MEASURES:
        measures = {**dict(row.single), **({"both": row.joint} if row.joint else {})}
        for metric, name in measures.items():
            spec, more = meta_measures()[name], {}
            is_nist = zero == "nist" and "nist" in spec.zero_policies
            if metric == "both":
                arguments = [values["fpr"], values["fnr"]]
                below = (smooth["fpr"][:-1], smooth["fnr"][:-1])
            else:
                arguments = [values[metric]]
                below = smooth[metric][:-1]
                arguments += [smooth[metric][-1]] if spec.extra_input == "average" else []
            more |= {"denominator": below} if is_nist else {}
            more |= {"alpha": alpha} if spec.extra_input == "alpha" else {}
            expect_cell(
                shown[row.id][metric], float(spec.evaluate(*arguments, **more).value), figure
            )


def move(page, i):
    """Move the slider as people do: click on it, or press keys."""
    slider = page.locator("#x-slider")
    if i % 5 == 4:
        slider.focus()
        page.keyboard.press(
            ("ArrowRight", "ArrowLeft", "PageUp", "PageDown", "ArrowUp")[i // 5 % 5]
        )
        return
    box = slider.bounding_box()
    share = (0.04 + 0.92 * (i * 0.618034 % 1)) * box["width"]
    slider.click(position={"x": share, "y": box["height"] / 2})


def test_alone_it_is_what_it_is_on_its_page(h_page, h_explorer):
    """So that what is found on the one holds on the other."""
    shown = re.search(
        r"<template .*</template>.*<script [^>]*id=.x-data.*?</script>", h_explorer, re.DOTALL
    )[0]
    assert len(shown) > 100_000
    assert shown in h_page
    scripts = re.findall(r"<script>.*?</script>", h_explorer, re.DOTALL)
    assert len(scripts) == 2
    assert all(script in h_page for script in scripts)


def test_at_50_positions_every_figure_equals_that_of_the_scores(opened, h_page, groups, thresholds):
    positions = set()
    with opened(h_page) as page:
        for i in range(POSITIONS * 2):
            move(page, i)
            state = read(page)
            if state["k"] in positions:
                continue
            positions.add(state["k"])
            assert state["threshold"] == thresholds[state["k"]]
            expect_rates(state["common"], groups, state["threshold"])
            expect_references(state["common"], groups, state["threshold"])
            expect_measures(state["measures"], groups, state["threshold"])
            if len(positions) == POSITIONS:
                break
    assert len(positions) == POSITIONS
    assert max(positions) - min(positions) > thresholds.size / 2


def test_the_audited_point_is_exact_with_its_intervals(opened, h_explorer, h_audit, groups):
    with opened(h_explorer) as page:
        page.locator("#x-slider").focus()
        page.keyboard.press("PageDown")
        for button in page.locator("#x-points button").all():
            button.click()
            assert button.get_attribute("aria-pressed") == "true"
            state = read(page)
            point = button.get_attribute("data-point")
            selection = {"system": "V2", "grouping": "gender+nationality", "operating_point": point}
            expect_rates(state["common"], groups, state["threshold"])
            for metric in ("fpr", "fnr"):
                rows = h_audit.groups.subset(**selection, metric=metric, within="").rows()
                audited = {row["group"]: row for row in rows}
                for cells in state["common"]:
                    row = audited[cells["group"][0]]
                    assert row["threshold"] == state["threshold"]
                    assert cells[metric][0].removesuffix("*") == percent(row["value"])
                    ends = row["low"], row["high"]
                    if "threshold_varies" in row["note"]:  # here it is as it is
                        filters = {
                            **selection,
                            "group": row["group"],
                            "threshold": row["threshold"],
                        }
                        filters.pop("operating_point")
                        (band,) = h_audit.bands.subset(**filters).rows()
                        ends = band[f"{metric}_low"], band[f"{metric}_high"]
                        assert row["low"] < ends[0] < row["value"] < ends[1] < row["high"]
                    interval = interval_text(*ends, times=100)
                    assert cells[f"{metric}_span"][0] == interval.replace("–", "")
            for row in h_audit.meta.subset(**selection, zero="none", gated=False, within="").rows():
                for id_, metric, name in audited_measures():
                    if (row["measure"], row["metric"]) == (name, metric):
                        cell = state["measures"][id_][told_in(metric)]
                        value = math.nan if row["value"] is None else row["value"]
                        if metric != "cdet_norm" or row["definition"] == "voxsrc":
                            expect_cell(cell, value, figure)


def audited_measures():
    """Rows of measures with what the audit's table calls their metrics."""
    for row in EXPLORER_MEASURES:
        for metric, name in row.single.items():
            yield row.id, {"cost": "cdet_norm"}.get(metric, metric), name
        if row.joint:
            yield row.id, "fpr+fnr", row.joint


def told_in(metric):
    return {"cdet_norm": "cost", "fpr+fnr": "both"}.get(metric, metric)


def test_ratios_have_the_intervals_of_the_audited_point(opened, h_explorer, h_audit):
    with opened(h_explorer) as page:
        advanced(page)
        for button in page.locator("#x-points button").all():
            button.click()
            point = button.get_attribute("data-point")
            for reference in ("pooled", "others"):
                page.locator("#x-reference").select_option(reference)
                rows = h_audit.bias.subset(
                    system="V2",
                    grouping="gender+nationality",
                    operating_point=point,
                    measure="ratio",
                    reference=reference,
                    zero="none",
                    within="",
                ).rows()
                audited = {(row["metric"], row["group"]): row for row in rows}
                for cells in read(page)["common"][:-1]:
                    for metric in ("fpr", "fnr"):
                        row = audited[metric, cells["group"][0]]
                        interval = interval_text(row["low"], row["high"]).replace("–", "")
                        assert cells[f"{metric}_ratio_span"][0] == interval


def floors_of(state, rows):
    """Floors that are shown, each with what the audit's row of it says."""
    for row in rows:
        for id_, metric, name in audited_measures():
            is_it = (row["measure"], row["metric"]) == (name, metric) and metric != "cdet_norm"
            if is_it and row["alpha"] in {None, 0.5}:
                p = "" if row["p"] is None else f", {p_value(row['p'])}"
                shown = state["measures"][id_][f"{told_in(metric)}_floor"][0]
                yield shown, f"floor {figure(row['floor_95'])}{p}"


def test_measures_have_the_floors_of_the_audited_point_and_nowhere_else(
    opened, h_explorer, h_audit
):
    selection = {"system": "V2", "grouping": "gender+nationality", "zero": "none", "within": ""}
    with opened(h_explorer) as page:
        advanced(page)
        for button in page.locator("#x-points button").all():
            button.click()
            for gated in (False, True):
                page.locator("#x-gated").set_checked(gated)
                rows = h_audit.meta.subset(
                    **selection, operating_point=button.get_attribute("data-point"), gated=gated
                ).rows()
                pairs = [*floors_of(read(page), (row for row in rows if row["value"] is not None))]
                assert len(pairs) > 15
                assert all(shown == expected for shown, expected in pairs)

        def floor():
            return read(page)["measures"]["gini"]["fpr_floor"][0]

        assert floor()
        page.locator("#x-alpha").fill("0.25")
        assert floor() == ""
        page.locator("#x-alpha").fill("0.5")
        assert floor()
        page.locator("#x-slider").focus()
        page.keyboard.press("PageDown")
        assert floor() == ""


def test_between_nodes_limits_lie_between_those_of_the_nodes(opened, h_explorer, h_audit):
    bands = h_audit.bands.subset(system="V2", grouping="gender+nationality", group="m+UK").to_dict()
    nodes = np.array(bands["threshold"])
    with opened(h_explorer) as page:
        checked = 0
        for i in range(30):
            move(page, i)
            state = read(page)
            j = int(np.searchsorted(nodes, state["threshold"]))
            (row,) = (shown for shown in state["common"] if shown["group"][0] == "m+UK")
            shown = row["fnr_span"][0]
            if j in (0, nodes.size):
                assert not shown or state["threshold"] in nodes
                continue
            low, high = (float(end) / 100 for end in shown.strip("≈\u00a0[]").split(", "))
            for limit, name in ((low, "fnr_low"), (high, "fnr_high")):
                ends = bands[name][j - 1 : j + 1]
                # two digits are shown, and no limit leaves the rate out
                assert 0.94 * min(ends) <= limit <= 1.06 * max(*ends, float(row["fnr"][1]))
            assert low <= float(row["fnr"][1]) * 1.06
            checked += 1
    assert checked > 5


LARGEST = 1e6
"""Ratios are interpolated as parts of this, below 1."""


def bands_of(audit, curves):
    """Limits of every group in the order of the bins, ``[group, node]``, and the nodes."""
    rows = audit.bands.subset(system=curves.system, grouping=curves.grouping).to_dict()
    nodes = sorted({*rows["threshold"]} & {*curves.thresholds.tolist()})
    bands = {"threshold": nodes}
    for name in [f"{m}{kind}" for m in RATES for kind in ENDS_OF_RATES]:
        cells = {
            (group, threshold): math.nan if value is None else value
            for group, threshold, value in zip(
                rows["group"], rows["threshold"], rows[name], strict=True
            )
        }
        bands[name] = np.array([[cells[g, t] for t in nodes] for g in curves.groups])
    return bands


ENDS = ("low", "high")
ENDS_OF_RATES = ("_low", "_high", "_ratio_low", "_ratio_high")


def limits_at(bands, threshold, kind):
    """Low and high of FPR, then of FNR, of every group, interpolated in logits between nodes."""
    nodes = bands["threshold"]
    interpolated = []
    for name in (f"{m}{kind}_{end}" for m in RATES for end in ENDS):
        limits = np.minimum(bands[name] / LARGEST, 0.9999) if kind else bands[name]
        j = int(np.searchsorted(nodes, threshold))
        if j < len(nodes) and nodes[j] == threshold:
            at_threshold = limits[:, j]
        elif j in (0, len(nodes)):
            at_threshold = np.full(len(limits), np.nan)
        else:
            share = (threshold - nodes[j - 1]) / (nodes[j] - nodes[j - 1])
            low, high = limits[:, j - 1], limits[:, j]
            inside = (low > 0) & (low < 1) & (high > 0) & (high < 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                mixed = expit((1 - share) * logit(low) + share * logit(high))
            at_threshold = np.where(inside, mixed, (1 - share) * low + share * high)
        interpolated.append(at_threshold * LARGEST if kind else at_threshold)
    return interpolated


def test_between_nodes_intervals_are_interpolated_in_logits_and_rough_ones_marked(
    opened, h_explorer, h_audit
):
    grouping = "gender+nationality"
    curves = next(o for o in error_curves(h_audit) if (o.system, o.grouping) == ("V2", grouping))
    bands = bands_of(h_audit, curves)
    same_text, n_shown = 0, 0
    with opened(h_explorer) as page:
        for i in range(12):
            move(page, i)
            state = read(page)
            k = state["k"]
            rates, ratios = (limits_at(bands, state["threshold"], kind) for kind in ("", "_ratio"))
            for g, cells in enumerate(state["common"][:-1]):
                for m, (errors, trials) in enumerate(
                    ((curves.fp[:, k], curves.n_nontarget), (curves.fn[:, k], curves.n_target))
                ):
                    other_counts = errors[-1] - errors[g], trials[-1] - trials[g]
                    few = [min(e, n - e) <= 20 for e, n in ((errors[g], trials[g]), other_counts)]
                    column = 2 * m
                    for name, limits, times, is_few in (
                        ("", rates, 100, few[0]),
                        ("_ratio", ratios, 1, any(few)),
                    ):
                        shown = cells[f"{RATES[m]}{name}_span"][0]
                        value = float(cells[f"{RATES[m]}{name}"][1] or "nan")
                        low, high = (limit[g] for limit in limits[column : column + 2])
                        if math.isnan(low + high + value):
                            assert shown == ""
                            continue
                        is_rough = is_few and state["threshold"] not in bands["threshold"]
                        assert shown.startswith("≈\u00a0") == is_rough
                        interval = interval_text(min(low, value), max(high, value), times=times)
                        same_text += shown.removeprefix("≈\u00a0") == interval
                        n_shown += 1
    assert n_shown > 400
    assert same_text > 0.97 * n_shown  # four digits of a limit are packed, two are shown


def test_under_another_rule_for_zero_errors_ratios_have_no_interval(opened, h_explorer):
    with opened(h_explorer) as page:
        page.locator("#x-points button").first.click()
        assert all(row["fpr_ratio_span"][0] for row in read(page)["common"][:-1])
        advanced(page)
        page.locator("#x-zero").select_option("1")
        assert not any(row["fpr_ratio_span"][0] for row in read(page)["common"][:-1])


def test_who_slides_to_an_audited_point_finds_its_floors(opened, h_explorer):
    with opened(h_explorer) as page:
        button_1, button_2 = page.locator("#x-points button").all()
        button_1.click()
        k, floor = read(page)["k"], read(page)["measures"]["gini"]["fpr_floor"][0]
        button_2.click()
        page.locator("#x-slider").fill(str(k))
        assert button_1.get_attribute("aria-pressed") == "true"
        assert read(page)["measures"]["gini"]["fpr_floor"][0] == floor


@pytest.mark.parametrize(
    ("kind", "typed", "level"),
    [("fpr", "2.5", 0.025), ("fpr", "0,5 %", 0.005), ("fnr", "3", 0.03), ("fnr", "20", 0.2)],
)
def test_a_rate_that_is_held_by_all_and_by_each_group(
    opened, h_explorer, groups, thresholds, kind, typed, level
):
    with opened(h_explorer) as page:
        hold(page, kind, typed)
        state = read(page)
        everyone = groups["pooled"].at(thresholds)
        assert state["k"] == held_position(everyone, kind, level)
        expect_rates(state["common"], groups, state["threshold"])
        for (name, counts), row in zip(groups.items(), state["own"], strict=True):
            curve = counts.at(thresholds)
            trials = curve.n_nontarget if kind == "fpr" else curve.n_target
            if level * trials < 1:
                assert row["own"][0] == "– (too few trials)"
                continue
            threshold = float(thresholds[held_position(curve, kind, level)])
            assert float(row["own"][1]) == threshold
            expect_rates([row], {name: counts}, threshold)
            assert float(row["shift"][1]) == threshold - state["threshold"]


def held_position(curve, kind, level):
    """The threshold that holds a rate: of FPR the lowest, of FNR the highest."""
    if kind == "fpr":
        return int(np.flatnonzero(curve.fpr <= level)[0])
    return int(np.flatnonzero(curve.fnr <= level)[-1])


def hold(page, kind, typed):
    advanced(page)
    page.select_option("#x-hold", kind)
    page.fill("#x-at", typed)
    page.keyboard.press("Enter")


def test_the_smallest_cost_and_a_cost_at_most(opened, h_explorer, groups, thresholds):
    costs = cdet(groups["pooled"].at(thresholds), VOXSRC)
    with opened(h_explorer) as page:
        advanced(page)
        page.select_option("#x-hold", "least")
        state = read(page)
        assert state["k"] == int(np.flatnonzero(costs == costs.min())[-1])
        for counts, row in zip(groups.values(), state["own"], strict=True):
            own_costs = cdet(counts.at(thresholds), VOXSRC)
            expect_cell(row["cost"], float(own_costs.min()), figure)
        hold(page, "cost", "0.2")
        assert read(page)["k"] == int(np.flatnonzero(costs <= 0.2)[-1])
        hold(page, "cost", "0.001")
        state = read(page)
        assert state["k"] == int(np.argmin(costs))
        assert state["message"].startswith("No threshold has a cost this low")


def test_what_the_common_threshold_costs_each_group_is_over_its_own_exact_minimum(
    opened, h_explorer, groups
):
    with opened(h_explorer) as page:
        for i in range(5):
            move(page, i)
            state = read(page)
            common = costs_at(groups, state["threshold"])
            least = np.array([min_cdet(counts, cost=VOXSRC).value for counts in groups.values()])
            for cost, own_cost, row in zip(common, least, state["own"], strict=True):
                expect_cell(row["common_cost"], float(cost), figure)
                expect_cell(row["least"], float(own_cost), figure)
                expect_cell(
                    row["bias"], float(bias.threshold_bias(cost, own_cost).value), short_number
                )


def test_a_typed_threshold_goes_to_the_nearest_position_and_says_so(opened, h_explorer, thresholds):
    with opened(h_explorer) as page:
        hold(page, "threshold", "-1.05")
        state = read(page)
        assert state["k"] == int(np.argmin(np.abs(thresholds + 1.05)))
        message = f"The nearest of the {thresholds.size} positions is {state['threshold']:.6g}."
        assert state["message"] == message


@pytest.mark.parametrize("typed", ["much", "", "0", "100", "-3"])
def test_what_is_no_rate_is_refused_and_moves_nothing(opened, h_explorer, typed):
    with opened(h_explorer) as page:
        before = read(page)["k"]
        hold(page, "fpr", typed)
        state = read(page)
        assert state["k"] == before
        assert state["message"] == "Enter a percentage between 0 and 100, for example 1."
        assert page.get_attribute("#x-at", "aria-invalid") == "true"


def test_alpha_zero_policy_and_reference_are_followed(opened, h_explorer, groups):
    with opened(h_explorer) as page:
        hold(page, "fpr", "0.05")
        threshold = read(page)["threshold"]
        for alpha in ("0", "0.25", "1"):
            page.fill("#x-alpha", alpha)
            expect_measures(read(page)["measures"], groups, threshold, alpha=float(alpha))
        for zero, shown in (("jeffreys", "1"), ("nist", "2")):
            page.select_option("#x-zero", shown)
            state = read(page)
            expect_measures(state["measures"], groups, threshold, alpha=1, zero=zero)
            expect_references(state["common"], groups, threshold, zero=zero)
        page.select_option("#x-reference", "pooled")
        state = read(page)["common"]
        expect_references(state, groups, threshold, reference="pooled", zero="nist")
        assert "Times pooled" in page.inner_text("#x-common thead")


def test_groups_that_fail_a_gate_are_left_out_as_in_the_audit(opened, h_explorer, h_audit):
    with opened(h_explorer) as page:
        advanced(page)
        page.check("#x-gated")
        measures = read(page)["measures"]
        selection = {
            "system": "V2",
            "grouping": "gender+nationality",
            "operating_point": "fpr=0.01",
        }
        rows = h_audit.meta.subset(**selection, zero="none", gated=True, within="").rows()
        values = {
            (row["measure"], row["metric"]): row["value"]
            for row in rows
            if row["definition"] in {"", "voxsrc"}
        }
        for id_, metric, name in audited_measures():
            value = values[name, metric]
            expect_cell(
                measures[id_][told_in(metric)], math.nan if value is None else value, figure
            )


def test_another_system_cost_model_and_grouping(opened, h_explorer, h_scores, vox1_speakers):
    frame = h_scores["L"].with_columns(gender=h_scores["L"]["group"].str.slice(0, 1))
    genders = {
        name: Counts.from_scores(trials["score"].to_numpy(), trials["label"].to_numpy())
        for (name,), trials in sorted(frame.partition_by("gender", as_dict=True).items())
    }
    genders["pooled"] = Counts.from_scores(frame["score"].to_numpy(), frame["label"].to_numpy())
    with opened(h_explorer) as page:
        page.select_option("#x-list", "1")
        page.select_option("#x-grouping", "1")
        advanced(page)
        page.select_option("#x-model", "1")
        assert page.inner_text("#x-costs") == "C_fa 1, C_miss 10, P_target 0.01"
        move(page, 3)
        state = read(page)
        expect_rates(state["common"], genders, state["threshold"], parse_cost("sre08"))
        expect_references(state["common"], genders, state["threshold"])


def test_the_sentence_and_the_slider_say_what_the_threshold_does(opened, h_explorer):
    with opened(h_explorer) as page:
        state = read(page)
        start = "Audited here: 1 % of nontarget trials are accepted. False rejects (FNR): "
        assert state["sentence"].startswith(start)
        slider_text = "false accepts: 1 in 100, false rejects: 1 in 21.1, score -1.06464"
        assert state["said"] == slider_text
        assert page.inner_text("#x-controls label") == "False accepts: 1 in 100"
        move(page, 2)
        after = read(page)
        assert after["sentence"] != state["sentence"]
        assert after["said"] != state["said"]


def test_the_slider_stays_in_sight_while_its_table_is_and_no_longer(opened, h_page):
    with opened(h_page, viewport={"width": 1280, "height": 500}) as page:
        slider_top = "() => document.getElementById('x-slider').getBoundingClientRect().top"
        page.locator("#x-common tfoot th").scroll_into_view_if_needed()
        assert 0 <= page.evaluate(slider_top) < 60
        page.locator("#x-common thead th").first.evaluate("(one) => one.scrollIntoView()")
        assert 0 <= page.evaluate(slider_top) < 60
        page.locator("#signature").scroll_into_view_if_needed()
        assert page.evaluate(slider_top) < 0


DRAWN = """() => ({
  ticks: [...document.querySelectorAll('#x-common .x-axis text')]
    .map((one) => [one.textContent, one.getAttribute('x')]),
  rows: [...document.querySelectorAll('#x-common tbody tr')].map((row) => ({
    group: row.cells[0].textContent,
    ...Object.fromEntries(['fnr', 'fpr'].map((metric) => {
      const strip = row.querySelector(`svg[data-x=${metric}]`);
      const [bar, dot] = strip.children;
      return [metric, {
        look: strip.getAttribute('class'), at: parseFloat(dot.getAttribute('x')),
        text: row.querySelector(`span[data-x=${metric}]`).textContent,
        verdict: row.querySelector(`[data-x=${metric}_verdict]`).textContent.trim(),
      }];
    })),
  })),
})"""


def test_marks_move_and_axes_do_not(opened, h_explorer):
    with opened(h_explorer) as page:
        before = page.evaluate(DRAWN)
        assert [words for words, _ in before["ticks"]][:5] == ["0.01", "0.1", "1", "10", "100"]
        for i in range(0, 10, 3):
            move(page, i)
            drawing = page.evaluate(DRAWN)
            assert drawing["ticks"] == before["ticks"]
            for row in drawing["rows"]:
                for metric in RATES:
                    rate = float(row[metric]["text"].split()[0])
                    expected = 25 * math.log10(rate / 0.01) if rate > 0.01 else 0
                    assert row[metric]["at"] == pytest.approx(expected, abs=0.2)


def test_verdicts_are_those_of_the_audit_and_stand_only_where_it_tested(
    opened, h_explorer, h_audit
):
    codes = {"▲ worse": "worse", "▼ better": "better", "= equivalent": "equivalent"}
    with opened(h_explorer) as page:
        page.select_option("#x-list", "1")
        for button in page.locator("#x-points button").all():
            button.click()
            drawn_rows = page.evaluate(DRAWN)["rows"]
            selection = {"system": "L", "grouping": "gender+nationality", "within": ""}
            point = button.get_attribute("data-point")
            rows = h_audit.verdicts.subset(**selection, operating_point=point).rows()
            audited = {(row["metric"], row["group"]): row for row in rows}
            verdicts = set()
            for row in drawn_rows:
                for metric in RATES:
                    verdict_row, shown = audited[metric, row["group"]], row[metric]
                    is_small = bool(verdict_row["gates"])
                    verdict = (
                        "inconclusive" if verdict_row["because_of"] else verdict_row["verdict"]
                    )
                    assert codes.get(shown["verdict"], "inconclusive") == verdict
                    assert shown["look"].split()[1] == f"v-{verdict}"
                    assert shown["text"].endswith("*") == is_small
                    assert ("x-small" in shown["look"]) == is_small
                    verdicts.add(verdict)
            assert {"worse", "better", "inconclusive"} <= verdicts
            assert not any(drawn_rows[0][metric]["text"].endswith("*") for metric in RATES)
        page.focus("#x-slider")
        page.keyboard.press("ArrowLeft")
        for row in page.evaluate(DRAWN)["rows"]:
            for metric in RATES:
                assert row[metric]["verdict"] == ""
                assert row[metric]["look"].split()[1] == "v-counted"


def test_without_javascript_every_audited_point_stands_in_a_table(opened, h_page, h_audit, groups):
    with opened(h_page) as page:
        assert page.is_hidden("#x-still")
        assert page.is_visible("#x-controls")
    with opened(h_page, java_script_enabled=False) as page:
        assert page.locator("#x-controls").count() == 0
        table = page.locator("#x-still table").first
        assert "V2" in table.locator("caption").inner_text()
        rows = [
            table_row.locator("th, td").all_inner_texts()
            for table_row in table.locator("tbody tr").all()
        ]
    points = h_audit.operating_points.subset(system="V2", within="").rows()
    assert [row[0].removesuffix(" *") for row in rows] == list(groups)
    for column, point in enumerate(points):
        false, missed = rates_at(groups, point["threshold"])
        for i, row in enumerate(rows):
            for (errors, trials), cell in zip(
                (missed[i], false[i]), row[1 + 2 * column : 3 + 2 * column], strict=True
            ):
                assert cell.split()[0] == percent(errors / trials).removesuffix(" %")
