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
    return {one.id: svg(one) for one in charts.figures(audit)}


def svg(figure):
    told = {"title": figure.title, "description": figure.description}
    return charts.svg(figure.chart, id=figure.id, **told)


@pytest.fixture(scope="session")
def found(pair):
    return charts.figures(pair)


@pytest.fixture(scope="session")
def made(found):
    return {one.id: svg(one) for one in found}


def test_two_systems_have_every_kind_of_figure(found):
    kinds = {one.id.split("-")[0] for one in found}
    assert kinds == {
        *("speakers", "forest", "thresholds", "det", "scores", "matrix", "measures", "over"),
        *("against", "differences", "ranks", "accuracy"),
    }


def test_figures_stand_in_the_order_of_the_page_under_names_of_their_own(found):
    places = [SECTIONS.index(one.section) for one in found]
    assert places == sorted(places)
    assert len({one.id for one in found}) == len(found)
    assert all(re.fullmatch(r"[a-z0-9-]+", one.id) for one in found)


def test_every_figure_says_how_to_read_it_and_what_it_shows(found):
    for one in found:
        assert one.reading.endswith(".")
        assert one.description.endswith(".")
        assert len(one.title) > 10


def test_every_figure_is_one_small_svg_with_a_title_and_nothing_from_elsewhere(made):
    for name, text in made.items():
        root = ET.fromstring(text)
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
        assert len(root.findall("{*}title")) == 1
        assert len(text) < 60_000
        assert "style=" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_inks_of_the_page_are_variables_and_of_paper_hexadecimal(pair, made):
    page = "".join(made.values())
    assert not re.search(r'(?:fill|stroke)="#', page)
    known = charts.LIGHT.by_variable()
    assert set(re.findall(r"var\(--([\w-]+)\)", page)) <= set(known)
    paper = charts.figures(pair, theme=charts.theme(for_page=False, width=3.5))
    text = charts.svg(paper[1].chart)
    assert "var(" not in text
    assert "#" in text


def test_ids_within_an_svg_begin_with_the_figures_own(made):
    for name, text in made.items():
        assert all(found.startswith(name) for found in re.findall(r'\bid="([^"]+)"', text))
        used = re.findall(r"url\(#([^)]+)\)", text)
        assert set(used) <= set(re.findall(r'\bid="([^"]+)"', text))


def test_the_same_audit_gives_the_same_bytes_again(pair, found, made):
    again = charts.figures(pair)
    assert [json.dumps(one.chart) for one in again] == [json.dumps(one.chart) for one in found]
    first_of_kinds = {one.id.split("-")[0]: one for one in again}.values()
    assert all(svg(one) == made[one.id] for one in first_of_kinds)


def test_axes_below_the_gaps_of_a_last_row_stand_under_a_panel(small):
    audit = small([f"g{i}" for i in range(7)], each=4)
    (det,) = [one for one in charts.figures(audit) if one.id.startswith("det")]
    root = ET.fromstring(svg(det))
    places = [height(root, one) for one in root.iter() if one.text == "false accepts (FPR, %)"]
    assert len(places) == 4
    assert len(set(places)) == 2
    assert places.count(max(places)) == 3


def height(root, one):
    """How far down an element stands, in all that it stands in."""
    above = {child: parent for parent in root.iter() for child in parent}
    down = float(one.get("y", 0))
    while one is not None:
        moved = re.match(r"translate\([-\d.]+,([-\d.]+)\)", one.get("transform", ""))
        down += float(moved[1]) if moved else 0
        one = above.get(one)
    return down


def test_whether_groups_passed_the_gates_is_said_as_it_is(small):
    words = [
        next(one.reading for one in charts.figures(audit) if one.id.startswith("over-alpha"))
        for audit in (
            small(["f", "m"], each=6, gates=["speakers=2", "errors=0", "pairs=1"]),
            small(["f", *("m", "n") * 2], gates=["speakers=4", "errors=0", "pairs=1"]),
            small(["f", "m"], each=6, gates=["speakers=50"]),
        )
    ]
    assert "Of all groups." in words[0]
    assert "Of the groups that are not under-represented; faint: of all groups." in words[1]
    assert "Left out: f (3 speakers)." in words[1]
    assert "Fewer than two groups pass the gates" in words[2]


def test_png_and_pdf_come_without_a_browser(found):
    assert charts.png(found[0].chart).startswith(b"\x89PNG")
    assert charts.pdf(found[0].chart).startswith(b"%PDF")


def test_names_with_markup_or_of_any_length_are_words_and_break_nothing(small):
    audit = small(ODD, each=4)
    made = drawn(audit)
    assert {"forest-s-group", "det-s-group", "matrix-s-group"} <= set(made)
    for text in made.values():
        ET.fromstring(text)
        assert "<b>" not in text
        assert "<script" not in text
        assert "\u202e" not in text
        assert "\\u200d" not in text


def test_one_group_is_drawn_without_what_compares_groups(small):
    made = drawn(small(["alone"], each=6))
    assert "forest-s-group" in made
    assert not [name for name in made if name.startswith(("measures", "over", "against"))]


def test_two_hundred_groups_stay_small_and_say_what_is_left_out(small):
    audit = small([f"group {i}" for i in range(200)], each=2, intervals=False)
    told = {one.id: one for one in charts.figures(audit)}
    made = drawn(audit)
    assert "200 groups" in told["forest-s-group"].reading
    assert "200 groups" in told["matrix-s-group"].reading
    assert max(map(len, made.values())) < 60_000


def test_without_any_error_groups_have_upper_limits_only(small):
    audit = small(["f", "m"], each=6, scores=lambda same, _: 5.0 if same else -5.0)
    assert "forest-s-group" in drawn(audit)


def test_without_nontarget_trials_there_is_no_curve_and_no_heat_map(small):
    audit = small(
        ["f", "m"],
        each=6,
        keep=lambda a, b: a == b,
        operating_points=["threshold=1.5"],
    )
    made = drawn(audit)
    assert "forest-s-group" in made
    assert not [name for name in made if name.startswith(("det", "matrix", "over-fpr"))]


def test_infinite_scores_are_no_obstacle(small):
    audit = small(
        ["f", "m"],
        each=6,
        scores=lambda same, score: (math.inf if same else -math.inf) if score > 3 else score,
    )
    made = drawn(audit)
    assert "det-s-group" in made
    assert not any("NaN" in text or "Infinity" in text for text in made.values())


def test_without_intervals_what_needs_none_is_drawn(small):
    made = drawn(small(["f", "m"], each=6, intervals=False))
    assert {"forest-s-group", "det-s-group"} <= set(made)
    assert not [name for name in made if name.startswith("measures")]


@pytest.mark.parametrize("width", [3.5, 7])
def test_labels_and_legends_count_in_the_width_of_a_chart(small, width):
    audit = small(["f", "a name of a group", "m"], each=8, replicates=100)
    told = charts.theme(for_page=False, width=width)
    for one in charts.figures(audit, theme=told):
        if width == 7 or not one.id.startswith("over-fpr"):  # headings of three panels
            across = float(ET.fromstring(svg(one)).get("width"))
            assert across <= told.width, one.id


def test_systems_differ_by_more_than_colour(pair):
    made = {one.id: svg(one) for one in charts.figures(pair, theme=charts.PAPER)}
    lines = looks(made["over-fpr-group"], "path", "stroke-dasharray", "stroke-width")
    by_system = [lines[ink] for ink in charts.LIGHT.series[:2]]
    assert len(by_system[0]) == len(by_system[1]) >= 3  # a measure's line, and those of both terms
    assert not by_system[0] & by_system[1]
    ranks = next(text for name, text in made.items() if name.startswith("ranks"))
    bars = looks(ranks, "path", "fill")
    filled, hollow = (bars[ink] for ink in charts.LIGHT.series[:2])
    assert filled == {(charts.LIGHT.series[0],)}
    assert hollow == {(charts.LIGHT.paper,)}


def looks(text, tag, *names):
    """How what is drawn in each ink looks, without its colour."""
    found = {}

    def walk(one, have):
        have = have | one.attrib
        if one.tag.endswith(f"}}{tag}") and "stroke" in have:
            found.setdefault(have["stroke"], set()).add(tuple(have.get(name) for name in names))
        for child in one:
            walk(child, have)

    walk(ET.fromstring(text), {})
    return found


@pytest.mark.parametrize("scale", ["dashes", "shapes"])
def test_where_colours_recur_dashes_and_shapes_do_not(scale):
    n = 30
    colours, others = (getattr(charts.PAPER, of)(n) for of in ("colours", scale))
    assert len({(a, str(b)) for a, b in zip(colours, others, strict=True)}) == n


def test_names_beside_dots_meet_no_dot_and_no_name():
    rows = [{"group": f"a group {i}", "x": 1.5 + i / 50, "y": 2.0, "few": False} for i in range(9)]
    rows.append({"group": "far off", "x": 0.2, "y": 0.3, "few": False})
    name_groups(rows, (0.1, 10), 250, 9)
    named = [row["group"] for row in rows if row.get("near")]
    assert "far off" in named
    assert len(named) <= 3


def test_in_a_column_of_a_paper_no_panel_is_squeezed_away(pair):
    def widths(part):
        if isinstance(part, list):
            return [width for one in part for width in widths(one)]
        if not isinstance(part, dict):
            return []
        inner = [width for one in part.values() for width in widths(one)]
        return [part["width"], *inner] if "layer" in part and "width" in part else inner

    for one in charts.figures(pair, theme=charts.theme(for_page=False, width=3.5)):
        assert min(widths(one.chart)) >= 40, one.id
