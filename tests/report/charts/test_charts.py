"""Charts as a notebook asks for them, and what they say when they cannot."""

from __future__ import annotations

import re

import numpy as np
import pytest

from parivox.errors import ConfigError
from parivox.report import charts
from parivox.report.charts import curves
from parivox.report.charts.chart import choose
from parivox.report.charts.curves import simplified
from parivox.report.charts.det import _places
from parivox.report.charts.grammar import ticks
from parivox.report.charts.groups import forest
from parivox.report.charts.matrix import matrix
from parivox.report.charts.sweep import crossings
from parivox.report.overview import overview

pytestmark = pytest.mark.slow


def marks(part):
    """Every row of data in a chart's specification."""
    if isinstance(part, list):
        return [row for one in part for row in marks(one)]
    if not isinstance(part, dict):
        return []
    rows = part.get("data", {}).get("values", [])
    return rows + [row for name, one in part.items() if name != "data" for row in marks(one)]


@pytest.fixture(scope="module")
def of(pair):
    return charts.Charts(pair)


def test_every_chart_is_a_method_and_valid_vega_lite(of):
    for name in dir(of):
        if not name.startswith("_") and name not in {"levels", "failures"}:
            getattr(of, name)().to_dict()  # which Altair checks against the schema


def test_what_the_audit_lacks_is_told_with_the_mend(of):
    with pytest.raises(ConfigError, match="--within"):
        of.levels()
    with pytest.raises(ConfigError, match="--failures"):
        of.failures()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"by": "nation"}, r"by 'nation' is not in this audit; it has 'group', 'group\+nation'"),
        ({"system": "three"}, "system 'three' is not in this audit; it has 'one', 'two'"),
        ({"operating_point": "fpr=0.5"}, "it has 'fpr=0.05', 'eer'"),
    ],
)
def test_what_the_audit_does_not_have_is_refused_with_what_it_has(of, asked, told):
    with pytest.raises(ConfigError, match=told):
        of.forest(**asked)


def test_a_chart_that_is_not_there_is_told_with_those_that_are(of):
    with pytest.raises(AttributeError, match="no chart 'pie'; there are thresholds"):
        of.pie()


def test_one_system_has_nothing_to_be_compared_with(small):
    audit = small(["f", "m"], each=6)
    with pytest.raises(ConfigError, match="one system and list"):
        charts.Charts(audit).against()


def test_the_forest_plot_shows_the_rates_and_limits_of_the_audit(pair):
    rows = {
        row["group"]: row
        for row in pair.groups.where(
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
    audit = small(["f", "m"], each=6, gates=["speakers=2", "errors=0", "pairs=1000"])
    drawn = {row["told"]: row["is"] for row in marks(forest(audit)) if row.get("is")}
    for metric, few in (("fnr", False), ("fpr", True)):
        asked = {"grouping": "group", "metric": metric, "definition": "", "within": ""}
        at = audit.operating_points.rows()[0]["operating_point"]
        rows = audit.groups.where(**asked, operating_point=at).rows()
        told = [
            drawn[f"{row['errors']:,} / {row['trials']:,}"]
            for row in rows
            if row["group"] != "pooled"
        ]
        assert len(told) == 2
        assert all((words == "can't tell, too few") == few for words in told)


def test_charts_have_groups_in_the_order_of_the_report(pair):
    order = [line.group for line in overview(pair).lines if line.grouping == "group+nation"]
    rows = marks(forest(pair, by="group+nation"))
    drawn = [row["group"].rstrip("*") for row in rows if "group" in row]
    assert list(dict.fromkeys(drawn)) == order


def test_a_det_curve_passes_through_the_audited_point(pair):
    found = curves.curves_of(pair, "one", "", "group", "both")
    at = int(np.searchsorted(found.thresholds, pair.operating_points.rows()[0]["threshold"]))
    domain = (0.001, 0.5)
    x, y = curves.line(found.fpr[0], found.fnr[0], domain)
    px, py = (curves.place(rates[0, at : at + 1], domain)[0] for rates in (found.fpr, found.fnr))
    steps = zip(zip(x, y, strict=True), zip(x[1:], y[1:], strict=True), strict=False)
    off = min(_distance((px, py), *ends) for ends in steps)
    assert off < 0.05


def _distance(point, first, last):
    a, b, p = (np.array(one) for one in (first, last, point))
    along = np.clip((p - a) @ (b - a) / max((b - a) @ (b - a), 1e-12), 0, 1)
    return float(np.hypot(*(p - a - along * (b - a))))


def test_a_band_encloses_its_curve(pair):
    rows = pair.bands.where(system="one", grouping="group", group="f").rows()
    found = curves.curves_of(pair, "one", "", "group", "both")
    at = found.groups.index("f")
    domain = (0.02, 0.5)
    area = curves.band(rows, domain)
    x, y = curves.line(found.fpr[at], found.fnr[at], domain)
    middle = np.interp(area["x"], x, y)
    slack = 0.15  # a step of a small group's curve
    assert (np.array(area["y"]) <= middle + slack).all()
    assert (np.array(area["y2"]) >= middle - slack).all()


def test_intersections_have_a_panel_for_one_attribute_and_a_colour_for_the_other(pair):
    places = _places(choose(pair, by="group+nation"))
    panels, lines = (set(names) for names in zip(*places.values(), strict=True))
    assert panels == {"India", "Norway", "USA"}
    assert lines == {"f", "m"}


def test_a_thinned_line_is_nowhere_further_off_than_was_said():
    x = np.linspace(0, 3, 500)
    y = np.sin(4 * x)
    kept = simplified(x, y, by=0.02)
    assert kept.size < 60
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() < 0.2
    assert kept[0] == 0
    assert kept[-1] == 499


def test_terms_that_cross_are_told_where():
    x = np.array([0.001, 0.01, 0.1])
    found = crossings(x, np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, np.nan]))
    assert [round(place, 4) for place, _ in found] == [0.0032]


def test_a_logarithmic_axis_has_at_least_two_ticks():
    for low in (1e-6, 0.003, 0.7, 0.9):
        for span in (1.9, 4, 30, 1e4):
            assert len(ticks(low, low * span)) >= 2, (low, span)


@pytest.mark.parametrize("width", [3.5, 7])
@pytest.mark.parametrize("n", [2, 8, 9, 30])
def test_every_group_of_a_heat_map_has_its_name_on_both_sides(small, width, n):
    groups = [f"g{i:02}" for i in range(n)]
    chart = matrix(
        small(groups, each=max(3, 12 // n)), theme=charts.theme(for_page=False, width=width)
    )
    drawn = re.findall(r">(g\d\d)\*?<", charts.svg(chart))
    assert sorted(drawn) == sorted(2 * groups)


def test_figures_stand_in_cells_that_have_room_for_them(small):
    audit = small([f"g{i}" for i in range(9)])
    for width, has_room in ((3.5, False), (7, True)):
        chart = matrix(audit, theme=charts.theme(for_page=False, width=width))
        assert (" %<" in charts.svg(chart)) == has_room


def test_a_width_that_no_paper_has_is_refused():
    with pytest.raises(ConfigError, match=r"as 3\.5 or 7"):
        charts.theme(for_page=False, width=336)


def test_long_names_that_begin_alike_stay_two_groups(small):
    chosen = choose(small(["x" * 100 + "a", "x" * 100 + "b"], each=6), by="group")
    labels = {chosen.marked(group) for group in chosen.groups}
    assert len(labels) == 2
    assert max(map(len, labels)) <= 24
