"""Every figure of an audit: what there is, in what words, how large, and always the same."""

from __future__ import annotations

import json
import math
import re
from xml.etree import ElementTree as ET

import pytest

from parivox.report import charts
from parivox.report.charts.comparison import _name_groups as name_groups

pytestmark = pytest.mark.slow

SECTIONS = ["explorer", "compared", "said", "groups", "det", "pairs", "measures"]
ODD = [
    '<b>"bold" & co</b>',
    "</script><script>alert(1)</script>",
    "עברית \u202eright to left",
    "x" * 200,
    "👩🏽‍🚀 émoji",
    "a+b",
    "line\nbreak",
    "' \\ {{ }}",
]


def drawn(audit):
    return {figure.id: svg(figure) for figure in charts.figures(audit)}


def svg(figure):
    words = {"title": figure.title, "description": figure.description}
    return charts.svg(figure.chart, id=figure.id, **words)


@pytest.fixture(scope="session")
def pair_figures(pair):
    return charts.figures(pair)


@pytest.fixture(scope="session")
def svgs(pair_figures):
    return {figure.id: svg(figure) for figure in pair_figures}


def test_two_systems_have_every_kind_of_figure(pair_figures):
    kinds = {figure.id.split("-")[0] for figure in pair_figures}
    assert kinds == {
        *("speakers", "forest", "thresholds", "det", "scores", "matrix", "measures", "over"),
        *("against", "differences", "ranks", "accuracy"),
    }


def test_figures_stand_in_the_order_of_the_page_under_names_of_their_own(pair_figures):
    places = [SECTIONS.index(figure.section) for figure in pair_figures]
    assert places == sorted(places)
    assert len({figure.id for figure in pair_figures}) == len(pair_figures)
    assert all(re.fullmatch(r"[a-z0-9-]+", figure.id) for figure in pair_figures)


def test_every_figure_says_how_to_read_it_and_what_it_shows(pair_figures):
    for figure in pair_figures:
        assert figure.reading.endswith(".")
        assert figure.description.endswith(".")
        assert len(figure.title) > 10


def test_every_figure_is_one_small_svg_with_a_title_and_nothing_from_elsewhere(svgs):
    for name, text in svgs.items():
        root = ET.fromstring(text)
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
        assert len(root.findall("{*}title")) == 1
        assert len(text) < 60_000
        assert "style=" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_inks_of_the_page_are_variables_and_of_paper_hexadecimal(pair, svgs):
    page = "".join(svgs.values())
    assert not re.search(r'(?:fill|stroke)="#', page)
    variables = charts.LIGHT.by_variable()
    assert set(re.findall(r"var\(--([\w-]+)\)", page)) <= set(variables)
    paper = charts.figures(pair, theme=charts.theme(for_page=False, width=3.5))
    text = charts.svg(paper[1].chart)
    assert "var(" not in text
    assert "#" in text


def test_ids_within_an_svg_begin_with_the_figures_own(svgs):
    for name, text in svgs.items():
        assert all(
            element_id.startswith(name) for element_id in re.findall(r'\bid="([^"]+)"', text)
        )
        used = re.findall(r"url\(#([^)]+)\)", text)
        assert set(used) <= set(re.findall(r'\bid="([^"]+)"', text))


def test_the_same_audit_gives_the_same_bytes_again(pair, pair_figures, svgs):
    again = charts.figures(pair)
    assert [json.dumps(figure.chart) for figure in again] == [
        json.dumps(figure.chart) for figure in pair_figures
    ]
    first_of_kinds = {figure.id.split("-")[0]: figure for figure in again}.values()
    assert all(svg(figure) == svgs[figure.id] for figure in first_of_kinds)


def test_axes_below_the_gaps_of_a_last_row_stand_under_a_panel(small):
    audit = small([f"g{i}" for i in range(7)], speakers_per_group=4)
    (det,) = [figure for figure in charts.figures(audit) if figure.id.startswith("det")]
    root = ET.fromstring(svg(det))
    places = [
        height(root, figure) for figure in root.iter() if figure.text == "false accepts (FPR, %)"
    ]
    assert len(places) == 4
    assert len(set(places)) == 2
    assert places.count(max(places)) == 3


def height(root, element):
    """How far down an element stands, in all that it stands in."""
    above = {child: parent for parent in root.iter() for child in parent}
    down = float(element.get("y", 0))
    while element is not None:
        moved = re.match(r"translate\([-\d.]+,([-\d.]+)\)", element.get("transform", ""))
        down += float(moved[1]) if moved else 0
        element = above.get(element)
    return down


def test_whether_groups_passed_the_gates_is_said_as_it_is(small):
    words = [
        next(
            figure.reading for figure in charts.figures(audit) if figure.id.startswith("over-alpha")
        )
        for audit in (
            small(["f", "m"], speakers_per_group=6, gates=["speakers=2", "errors=0", "pairs=1"]),
            small(["f", *("m", "n") * 2], gates=["speakers=4", "errors=0", "pairs=1"]),
            small(["f", "m"], speakers_per_group=6, gates=["speakers=50"]),
        )
    ]
    assert "The lines are for all groups." in words[0]
    lines = "The lines are for the groups that are not under-represented; faint lines are for all"
    assert lines in words[1]
    assert "Excluded: f (3 speakers)." in words[1]
    assert "Fewer than two groups meet the minimums" in words[2]


def test_png_and_pdf_come_without_a_browser(pair_figures):
    assert charts.png(pair_figures[0].chart).startswith(b"\x89PNG")
    assert charts.pdf(pair_figures[0].chart).startswith(b"%PDF")


def test_names_with_markup_or_of_any_length_are_words_and_break_nothing(small):
    audit = small(ODD, speakers_per_group=4)
    svgs = drawn(audit)
    assert {"forest-s-group", "det-s-group", "matrix-s-group"} <= set(svgs)
    for text in svgs.values():
        ET.fromstring(text)
        assert "<b>" not in text
        assert "<script" not in text
        assert "\u202e" not in text
        assert "\\u200d" not in text


def test_one_group_is_drawn_without_what_compares_groups(small):
    svgs = drawn(small(["alone"], speakers_per_group=6))
    assert "forest-s-group" in svgs
    assert not [name for name in svgs if name.startswith(("measures", "over", "against"))]


def test_two_hundred_groups_stay_small_and_say_what_is_left_out(small):
    audit = small([f"group {i}" for i in range(200)], speakers_per_group=2, intervals=False)
    figures_by_id = {figure.id: figure for figure in charts.figures(audit)}
    assert "200 groups" in figures_by_id["forest-s-group"].reading
    assert "200 groups" in figures_by_id["matrix-s-group"].reading
    assert max(len(svg(figure)) for figure in figures_by_id.values()) < 100_000


def test_without_any_error_groups_have_upper_limits_only(small):
    audit = small(
        ["f", "m"], speakers_per_group=6, scores=lambda is_target, _: 5.0 if is_target else -5.0
    )
    assert "forest-s-group" in drawn(audit)


def test_without_nontarget_trials_there_is_no_curve_and_no_heat_map(small):
    audit = small(
        ["f", "m"],
        speakers_per_group=6,
        keep=lambda a, b: a == b,
        operating_points=["threshold=1.5"],
    )
    svgs = drawn(audit)
    assert "forest-s-group" in svgs
    assert not [name for name in svgs if name.startswith(("det", "matrix", "over-fpr"))]


def test_infinite_scores_are_no_obstacle(small):
    audit = small(
        ["f", "m"],
        speakers_per_group=6,
        scores=lambda is_target, score: (
            (math.inf if is_target else -math.inf) if score > 3 else score
        ),
    )
    svgs = drawn(audit)
    assert "det-s-group" in svgs
    assert not any("NaN" in text or "Infinity" in text for text in svgs.values())


def test_without_intervals_what_needs_none_is_drawn(small):
    svgs = drawn(small(["f", "m"], speakers_per_group=6, intervals=False))
    assert {"forest-s-group", "det-s-group"} <= set(svgs)
    assert not [name for name in svgs if name.startswith("measures")]


@pytest.mark.parametrize("width", [3.5, 7])
def test_labels_and_legends_count_in_the_width_of_a_chart(small, width):
    audit = small(["f", "a name of a group", "m"], speakers_per_group=8, replicates=100)
    theme = charts.theme(for_page=False, width=width)
    for figure in charts.figures(audit, theme=theme):
        if width == 7 or not figure.id.startswith("over-fpr"):  # headings of three panels
            across = float(ET.fromstring(svg(figure)).get("width"))
            assert across <= theme.width, figure.id


def test_systems_differ_by_more_than_colour(pair):
    figures_by_id = {figure.id: figure for figure in charts.figures(pair, theme=charts.PAPER)}
    over_fpr = svg(figures_by_id["over-fpr-group"])
    lines = looks(over_fpr, "path", "stroke-dasharray", "stroke-width")
    by_system = [lines[ink] for ink in charts.LIGHT.series[:2]]
    assert len(by_system[0]) == len(by_system[1]) >= 3  # a measure's line, and those of both terms
    assert not by_system[0] & by_system[1]
    ranks = next(figure for name, figure in figures_by_id.items() if name.startswith("ranks"))
    bars = looks(svg(ranks), "path", "fill")
    filled, hollow = (bars[ink] for ink in charts.LIGHT.series[:2])
    assert filled == {(charts.LIGHT.series[0],)}
    assert hollow == {(charts.LIGHT.paper,)}


def looks(text, tag, *names):
    """How what is drawn in each ink looks, without its colour."""
    looks_by_colour = {}

    def walk(element, have):
        have = have | element.attrib
        if element.tag.endswith(f"}}{tag}") and "stroke" in have:
            looks_by_colour.setdefault(have["stroke"], set()).add(
                tuple(have.get(name) for name in names)
            )
        for child in element:
            walk(child, have)

    walk(ET.fromstring(text), {})
    return looks_by_colour


@pytest.mark.parametrize("scale", ["dashes", "shapes"])
def test_where_colours_recur_dashes_and_shapes_do_not(scale):
    n = 30
    colours, marks = (getattr(charts.PAPER, scale_name)(n) for scale_name in ("colours", scale))
    assert len({(a, str(b)) for a, b in zip(colours, marks, strict=True)}) == n


def test_names_beside_dots_meet_no_dot_and_no_name():
    rows = [{"group": f"a group {i}", "x": 1.5 + i / 50, "y": 2.0, "few": False} for i in range(9)]
    rows.append({"group": "far off", "x": 0.2, "y": 0.3, "few": False})
    name_groups(rows, (0.1, 10), 250, 9)
    named = [row["group"] for row in rows if row.get("near")]
    assert "far off" in named
    assert len(named) <= 3


def test_in_a_column_of_a_paper_no_panel_is_squeezed_away(pair):
    def widths(node):
        if isinstance(node, list):
            return [width for child in node for width in widths(child)]
        if not isinstance(node, dict):
            return []
        inner = [width for child in node.values() for width in widths(child)]
        return [node["width"], *inner] if "layer" in node and "width" in node else inner

    for child in charts.figures(pair, theme=charts.theme(for_page=False, width=3.5)):
        assert min(widths(child.chart)) >= 40, child.id
