"""Charts as a notebook asks for them, and what they say when they cannot."""

from __future__ import annotations

import itertools
import json
import re
from inspect import Parameter, signature

import numpy as np
import pytest

from parivox.errors import ConfigError
from parivox.report import charts
from parivox.report.charts import curves
from parivox.report.charts.chart import CHOICES, Chart, chart_scope
from parivox.report.charts.chart_functions import Charts
from parivox.report.charts.curves import simplified_indices
from parivox.report.charts.det import _placements
from parivox.report.charts.grammar import ticks
from parivox.report.charts.groups import forest
from parivox.report.charts.matrix import matrix
from parivox.report.charts.sweep import crossings
from parivox.report.overview import overview

pytestmark = pytest.mark.slow


def marks(node):
    """Every row of data in a chart's specification."""
    if isinstance(node, list):
        return [row for child in node for row in marks(child)]
    if not isinstance(node, dict):
        return []
    rows = [*node.get("data", {}).get("values", []), *itertools.chain(*named_rows(node))]
    return rows + [row for name, child in node.items() if name != "data" for row in marks(child)]


def named_rows(spec):
    """Data of a chart of Altair, which stand apart under names."""
    return spec.get("datasets", {}).values()


def marks_of(audit, name, **asked):
    """Every row of data of the specification that Altair is given for a chart.

    Altair makes a class of every part, which takes longer than to draw; its charts have these rows.
    """
    width = signature(getattr(Charts, name)).parameters["width"].default
    return marks(named_chart(name)(audit, theme=charts.theme(for_page=False, width=width), **asked))


@pytest.fixture(scope="module")
def pair_charts(pair):
    return Charts(pair)


NAMES = [name for name in vars(Charts) if not name.startswith("_")]
LACKING = {"levels": "--within", "failures": "--failures", "calibration": "--llr"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LACKING])
def test_every_chart_is_valid_vega_lite_and_fits_the_column_of_a_paper(pair, pair_charts, name):
    chart = getattr(pair_charts, name)().to_dict()  # which Altair checks against the schema
    altair_rows, spec_rows = (
        {json.dumps(row, sort_keys=True) for row in rows}
        for rows in (marks(chart), marks_of(pair, name))
    )
    assert altair_rows == spec_rows
    assert spec_rows
    text = charts.svg(getattr(pair_charts, name)(width=3.5))
    assert name == "over_fpr" or float(re.search(r'^<svg.* width="([\d.]+)"', text)[1]) <= 336


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_a_method_with_keywords_and_words_on_each(name):
    method = getattr(Charts, name)
    _, *keywords = signature(method).parameters.values()
    assert {parameter.kind for parameter in keywords} == {Parameter.KEYWORD_ONLY}
    doc_words = {*re.findall(r"\w+", method.__doc__)}
    assert {parameter.name for parameter in keywords} <= doc_words
    parameters = signature(named_chart(name).draw).parameters
    parameters = {
        n: parameter.default
        for n, parameter in parameters.items()
        if parameter.kind == Parameter.KEYWORD_ONLY
    }
    assert parameters == {
        parameter.name: parameter.default
        for parameter in keywords
        if parameter.name not in {*CHOICES, "width"}
    }


def named_chart(name):
    """The chart behind a method, which closes over it."""
    (kind,) = (
        cell.cell_contents
        for cell in getattr(Charts, name).__closure__
        if isinstance(cell.cell_contents, Chart)
    )
    return kind


def test_marks_say_to_the_pointer_whose_they_are_and_what_they_show(pair_charts):
    titles = re.findall("<title>(.*?)</title>", charts.svg(pair_charts.forest(by="group")))
    assert {title.partition(";")[0] for title in titles} == {"f", "m"}
    assert all(re.search(r"; F[NP]R: .*; verdict: ", title) for title in titles)


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("name", LACKING)
def test_what_the_audit_lacks_is_told_with_the_mend(pair_charts, name):
    with pytest.raises(ConfigError, match=LACKING[name]):
        getattr(pair_charts, name)()


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        (
            "forest",
            {"by": "groop"},
            r"by 'groop' is not of this audit; did you mean 'group'\? available",
        ),
        ("forest", {"system": "three"}, "system 'three' is not of this audit; available: one, two"),
        ("forest", {"operating_point": "fpr=0.5"}, r"did you mean 'fpr=0\.05'\? available"),
        ("forest", {"by": "group", "groups": "F"}, r"groups 'F' .*; did you mean 'f'\? available"),
        ("det", {"by": "group", "groups": "f+USA"}, "not in by='group', but in by='group.nation'"),
        (
            "forest",
            {"groups": []},
            "groups is empty; leave it out for all of them, or choose from f",
        ),
        ("det", {"systems": ["one", "tow"]}, r"systems 'tow' .* did you mean 'two'\?"),
        ("det", {"by": "group+nation", "panel": "nations"}, r"panel .* did you mean 'nation'\?"),
        (
            "against",
            {"measure": "subgroup"},
            r"not a ratio of a group; did you mean 'subgroup_bias'\?",
        ),
        ("against", {"systems": "one"}, "systems names one; name two"),
        ("over_alpha", {"measures": "nrb"}, "'nrb' is not drawn here; available: fdr, garbe, ir"),
        ("over_alpha", {"operating_points": "fpr=5"}, "'fpr=5' is not of this audit"),
        ("over_fpr", {"alpha": 2}, "alpha is 2; give a weight of FPR between 0 and 1"),
        ("over_metrics", {"measure": "fdr"}, "'fdr' is not one of a single metric"),
        ("terms", {"measures": "garb"}, r"did you mean 'garbe'\?"),
        ("boxes", {"width": 336}, r"for example 3\.5 or 7"),
    ],
)
def test_what_is_not_there_is_refused_with_what_may_be_meant(pair_charts, name, asked, message):
    with pytest.raises(ConfigError, match=message):
        getattr(pair_charts, name)(**asked)


def test_notebooks_complete_charts_as_they_do_no_property(pair):
    assert not isinstance(vars(type(pair))["charts"], property)
    assert {"det", "against"} <= {*dir(pair.charts)}
    assert not hasattr(Charts, "__getattr__")


def test_a_keyword_that_is_not_there_is_told_with_those_that_are(pair_charts):
    with pytest.raises(TypeError, match=r"det takes no 'system'; did you mean 'systems'\?"):
        pair_charts.det(system="one")


@pytest.mark.parametrize("name", ["det", "forest", "against"])
def test_groups_tell_of_which_grouping_they_are(pair_charts, name):
    assert "group+nation" not in getattr(pair_charts, name)(groups=["f", "m"]).to_json()


def test_groups_and_systems_that_are_asked_for_are_all_that_is_drawn(pair):
    all_groups = marks_of(pair, "forest", by="group+nation")
    two_groups = marks_of(pair, "forest", by="group+nation", groups=["m+India", "f+USA"])
    assert {row["group"].rstrip("*") for row in two_groups if "group" in row} == {
        "m+India",
        "f+USA",
    }
    assert len(two_groups) < len(all_groups)
    lines = {
        row["c"] for row in marks_of(pair, "over_fpr", by="group", systems="two") if "c" in row
    }
    assert lines == {"two"}


@pytest.mark.parametrize(
    ("asked", "panels", "lines"),
    [
        ({"panel": "group"}, {"f", "m"}, {"India", "Norway", "USA", "all groups"}),
        ({"panel": "all"}, {""}, {"f+India", "m+India", "f+USA", "all groups"}),
        ({"panel": "nation", "systems": ["one", "two"]}, {"India", "USA"}, {"f, one", "m, two"}),
        ({"panel": "system", "systems": ["two", "one"]}, {"one", "two"}, {"f+USA", "all groups"}),
    ],
)
def test_det_curves_have_the_panels_that_are_asked_for(pair, asked, panels, lines):
    groups = ["f+India", "m+India", "f+USA"] if asked["panel"] != "group" else None
    rows = marks_of(pair, "det", by="group+nation", groups=groups, **asked)
    assert {row["p"] for row in rows if row.get("k") == "line"} == panels
    assert lines <= {row["c"] for row in rows if row.get("k") == "line"}
    shaded = {row["c"] for row in rows if row.get("k") == "band"}
    assert shaded
    assert "all groups" not in shaded


def test_curves_of_more_groups_than_shades_can_tell_apart_have_none(pair):
    rows = marks_of(pair, "det", by="group+nation", panel="all")
    assert {row["k"] for row in rows if "c" in row} == {"line", "at", "own"}


def test_groups_without_errors_are_drawn_at_the_edge(calm):
    rows = [row for row in marks_of(calm, "against") if "edge" in row]
    (edge_row,) = [row for row in rows if row["edge"] != "circle"]
    assert edge_row["group"].rstrip("*") == "c"
    assert edge_row["edge"] == "triangle-left"
    assert edge_row["s"].startswith("0 [0, ")
    lowest = min(row["x"] for row in rows)
    assert edge_row["x"] == edge_row["xl"] == lowest
    assert "A triangle at an edge" in words_of(calm, "against")


def test_subgroup_bias_is_drawn_of_every_group_as_the_audit_has_it(pair):
    drawn = {row["group"].rstrip("*"): row for row in subgroup_rows(pair)}
    for system, axis in (("one", "x"), ("two", "y")):
        conditions = {"system": system, "grouping": "group+nation", "measure": "subgroup_bias"}
        audited_rows = {row["group"]: row for row in pair.bias.subset(**conditions).rows()}
        assert set(drawn) == set(audited_rows)
        for group, row in drawn.items():
            assert row[axis] == pytest.approx(audited_rows[group]["value"], rel=1e-4)


def subgroup_rows(pair):
    rows = marks_of(pair, "against", by="group+nation", measure="subgroup_bias")
    return [row for row in rows if "edge" in row]


def test_lines_pass_through_what_the_audit_has_with_its_intervals(pair):
    (alpha,) = pair.record["options"]["alpha"]
    rows = marks_of(pair, "over_alpha", by="group+nation", measures="garbe")
    bars = {row["c"]: row for row in rows if "h" in row}
    lines = {row["c"]: row for row in rows if isinstance(row.get("x"), list)}
    conditions = {"measure": "garbe", "grouping": "group+nation", "operating_point": "fpr=0.05"}
    for system in ("one", "two"):
        audited_rows = pair.meta.subset(**conditions, zero="none", gated=True, system=system).rows()
        (row,) = (row for row in audited_rows if row["alpha"] == alpha)
        line = lines[system]
        assert np.interp(alpha, line["x"], line["y"]) == pytest.approx(row["value"], rel=1e-3)
        for end, name in (("l", "low"), ("h", "high"), ("f", "floor_95")):
            assert bars[system][end] == pytest.approx(row[name], rel=1e-4)


def test_a_line_for_each_operating_point_as_in_paper_000(pair):
    points = ["eer", "fpr=0.05"]
    rows = marks_of(pair, "over_alpha", by="group", systems="one", operating_points=points)
    assert {row["c"] for row in rows} == {"eer", "fpr=0.05"}


def test_a_measure_over_base_metrics_is_that_of_the_audit(pair):
    rows = {
        (row["c"], row["m"]): row
        for row in marks_of(pair, "over_metrics", by="group", measure="max_min")
    }
    conditions = {"grouping": "group", "measure": "max_min", "zero": "none", "gated": True}
    for system in ("one", "two"):
        for metric, point in itertools.product(("fnr", "fpr"), ("eer", "fpr=0.05")):
            (row,) = pair.meta.subset(
                **conditions, system=system, metric=metric, operating_point=point
            ).rows()
            drawn = rows[system, f"{metric.upper()} at {point}"]
            assert drawn["v"] == pytest.approx(row["value"], rel=1e-4)
        assert (system, "EER") in rows


def test_boxes_of_scores_hold_the_shares_they_say(small):
    audit = small(["f", "m"], speakers_per_group=12)
    rows = {
        row["group"].rstrip("*"): row
        for row in marks_of(audit, "boxes")
        if "a" in row and row["a"] > 1  # own trials lie higher
    }
    cells = audit.bins.subset(grouping="group", group="f").rows()
    scores = np.repeat([row["threshold"] for row in cells], [row["target"] for row in cells])
    box = rows["f"]
    for share, name in zip((0.25, 0.5, 0.75), "abc", strict=True):
        assert np.mean(scores < box[name]) == pytest.approx(share, abs=0.08)
    assert box["ml"] < box["b"] < box["mh"]


def test_calibration_is_what_the_audit_has(small):
    audit = small(["f", "m"], speakers_per_group=12, llr=True)
    chart = Charts(audit).calibration(groups="f")
    assert charts.svg(chart).startswith("<svg")
    drawn = {row["k"]: row for row in marks(chart.to_dict()) if row.get("group", "")[0:1] == "f"}
    conditions = {"grouping": "group", "group": "f"}
    for metric, words in (("cllr", "as scored (Cllr)"), ("min_cllr", "calibrated for")):
        (row,) = audit.groups.subset(**conditions, metric=metric).rows()
        (mark,) = (mark for name, mark in drawn.items() if name.startswith(words))
        assert mark["v"] == pytest.approx(row["value"], rel=1e-4)
        assert mark["a"] <= mark["v"] <= mark["b"]


def test_terms_are_boxes_of_what_the_audit_swept(pair):
    rows = [row for row in marks_of(pair, "terms", by="group", measures="fdr") if "a" in row]
    assert {row["group"] for row in rows} == {
        f"{system}, of {rate}" for system in ("one", "two") for rate in ("FPR", "FNR")
    }
    assert all(row["l"] <= row["a"] <= row["b"] <= row["c"] <= row["h"] for row in rows)


def words_of(audit, section):
    return next(figure.reading for figure in charts.figures(audit) if figure.id.startswith(section))


def test_one_system_has_nothing_to_be_compared_with(small):
    audit = small(["f", "m"], speakers_per_group=6)
    with pytest.raises(ConfigError, match="one system and list"):
        Charts(audit).against()


def test_the_forest_plot_shows_the_rates_and_limits_of_the_audit(pair):
    rows = {
        row["group"]: row
        for row in pair.groups.subset(
            system="two", grouping="group", metric="fnr", operating_point="fpr=0.05", within=""
        ).rows()
    }
    drawn = [row for row in marks(forest(pair, by="group", system="two")) if "group" in row]
    for group in ("f", "m"):
        (row,) = [
            row
            for row in drawn
            if row["group"].rstrip("*") == group
            and row["told"] == f"{rows[group]['errors']:,} / {rows[group]['trials']:,}"
        ]
        assert float(row["v"]) == pytest.approx(rows[group]["value"], rel=1e-4)
        assert float(row["h"]) == pytest.approx(rows[group]["high"], rel=1e-4)


def test_a_dot_is_hollow_only_for_the_rate_that_has_too_little(small):
    audit = small(["f", "m"], speakers_per_group=6, gates=["speakers=2", "errors=0", "pairs=1000"])
    drawn = {row["told"]: row["is"] for row in marks(forest(audit)) if row.get("is")}
    for metric, few in (("fnr", False), ("fpr", True)):
        conditions = {"grouping": "group", "metric": metric, "definition": "", "within": ""}
        operating_point = audit.operating_points.rows()[0]["operating_point"]
        rows = audit.groups.subset(**conditions, operating_point=operating_point).rows()
        row_words = [
            drawn[f"{row['errors']:,} / {row['trials']:,}"]
            for row in rows
            if row["group"] != "pooled"
        ]
        assert len(row_words) == 2
        assert all((words == "inconclusive, too few") == few for words in row_words)


def test_charts_have_groups_in_the_order_of_the_report(pair):
    order = [line.group for line in overview(pair).groups if line.grouping == "group+nation"]
    rows = marks(forest(pair, by="group+nation"))
    drawn = [row["group"].rstrip("*") for row in rows if "group" in row]
    assert list(dict.fromkeys(drawn)) == order


def test_a_det_curve_passes_through_the_audited_point(pair):
    grouping = curves.grouping_curves(pair, "one", "", "group", "both")
    threshold_index = int(
        np.searchsorted(grouping.thresholds, pair.operating_points.rows()[0]["threshold"])
    )
    domain = (0.001, 0.5)
    x, y = curves.det_line(grouping.fpr[0], grouping.fnr[0], domain)
    px, py = (
        curves.axis_positions(rates[0, threshold_index : threshold_index + 1], domain)[0]
        for rates in (grouping.fpr, grouping.fnr)
    )
    steps = zip(zip(x, y, strict=True), zip(x[1:], y[1:], strict=True), strict=False)
    off = min(_distance((px, py), *ends) for ends in steps)
    assert off < 0.05


def _distance(point, start, end):
    a, b, p = (np.array(corner) for corner in (start, end, point))
    fraction = np.clip((p - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0, 1)
    return float(np.hypot(*(p - a - fraction * (b - a))))


def test_a_band_encloses_its_curve(pair):
    rows = pair.bands.subset(system="one", grouping="group", group="f").rows()
    grouping = curves.grouping_curves(pair, "one", "", "group", "both")
    group_index = grouping.groups.index("f")
    domain = (0.02, 0.5)
    area = curves.det_band(rows, domain)
    x, y = curves.det_line(grouping.fpr[group_index], grouping.fnr[group_index], domain)
    middle = np.interp(area["x"], x, y)
    slack = 0.15  # a step of a small group's curve
    assert (np.array(area["y"]) <= middle + slack).all()
    assert (np.array(area["y2"]) >= middle - slack).all()


def test_intersections_have_a_panel_for_one_attribute_and_a_colour_for_the_other(pair):
    places = _placements(chart_scope(pair, by="group+nation"))
    panels, lines = (set(names) for names in zip(*places.values(), strict=True))
    assert panels == {"India", "Norway", "USA"}
    assert lines == {"f", "m"}


def test_a_thinned_line_is_nowhere_further_off_than_was_said():
    x = np.linspace(0, 3, 500)
    y = np.sin(4 * x)
    indices = simplified_indices(x, y, tolerance=0.02)
    assert indices.size < 60
    assert np.abs(np.interp(x, x[indices], y[indices]) - y).max() < 0.2
    assert indices[0] == 0
    assert indices[-1] == 499


def test_terms_that_cross_are_told_where():
    x = np.array([0.001, 0.01, 0.1])
    crossing_points = crossings(x, np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, np.nan]))
    assert [round(alpha, 4) for alpha, _ in crossing_points] == [0.0032]


def test_a_logarithmic_axis_has_at_least_two_ticks():
    for low in (1e-6, 0.003, 0.7, 0.9):
        for span in (1.9, 4, 30, 1e4):
            assert len(ticks(low, low * span)) >= 2, (low, span)


@pytest.mark.parametrize("width", [3.5, 7])
@pytest.mark.parametrize("n", [2, 8, 9, 30])
def test_every_group_of_a_heat_map_has_its_name_on_both_sides(small, width, n):
    groups = [f"g{i:02}" for i in range(n)]
    chart = matrix(
        small(groups, speakers_per_group=max(3, 12 // n)),
        theme=charts.theme(for_page=False, width=width),
    )
    drawn = re.findall(r">(g\d\d)\*?<", charts.svg(chart))
    assert sorted(drawn) == sorted(2 * groups)


def test_figures_stand_in_cells_that_have_room_for_them(small):
    audit = small([f"g{i}" for i in range(9)])
    for width, has_room in ((3.5, False), (7, True)):
        chart = matrix(audit, theme=charts.theme(for_page=False, width=width))
        assert (" %<" in charts.svg(chart)) == has_room


def test_a_width_that_no_paper_has_is_refused():
    with pytest.raises(ConfigError, match=r"for example 3\.5 or 7"):
        charts.theme(for_page=False, width=336)


def test_long_names_that_begin_alike_stay_two_groups(small):
    scope = chart_scope(small(["x" * 100 + "a", "x" * 100 + "b"], speakers_per_group=6), by="group")
    labels = {scope.group_label(group) for group in scope.groups}
    assert len(labels) == 2
    assert max(map(len, labels)) <= 24
