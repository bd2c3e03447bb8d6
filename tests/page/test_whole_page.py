"""The page as a reader opens it: offline, by keyboard, on a phone, on paper, without JavaScript."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest

from parivox import audit
from parivox.report.html import html_report

SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}
SCROLL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let y = 0; y < document.body.scrollHeight; y += window.innerHeight) {
    window.scrollTo(0, y);
    await frame();
  }
  await frame();
  await frame();
}"""
"""Pass by all of the page; every part in sight is drawn before the next one is, as nothing in the
page waits for a clock."""
DRAWN = "{ exclude: [['figure svg > *']] }"
"""What axe may pass over: parts of drawings, which are told as one image.

With what is in them; named one by one it takes as long to find them as all the rest."""
UNSEEN = """(selector) => [...document.querySelectorAll(selector)]
  .filter((one) => !one.checkVisibility() && !one.closest('details:not([open])'))
  .map((one) => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="session")
def axe():
    """The text of axe."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None:
        pytest.importorskip("axe_playwright_python")
    return next(Path(spec.submodule_search_locations[0]).rglob("axe.min.js")).read_text("utf-8")


@pytest.fixture(scope="session")
def small_page():
    """A page with all that a page has, but little of each: two systems, three small groups."""
    draw = np.random.default_rng(4)
    people = {"id": [f"s{i}" for i in range(45)], "group": ["f", "m", "x"] * 15}
    enrol, test = np.triu_indices(45)
    trials = {"enrol": [], "test": [], "enrol_speaker": [], "test_speaker": [], "label": []}
    for take in range(3):
        for enrol_speaker, test_speaker in zip(enrol.tolist(), test.tolist(), strict=True):
            trials["enrol"].append(f"s{enrol_speaker}/{take}")
            trials["test"].append(f"s{test_speaker}/{take}t")
            trials["enrol_speaker"].append(f"s{enrol_speaker}")
            trials["test_speaker"].append(f"s{test_speaker}")
            trials["label"].append(int(enrol_speaker == test_speaker))
    label = np.array(trials["label"])
    systems = {
        name: {**trials, "score": draw.normal(better * label).round(4).tolist()}
        for name, better in (("A", 2.5), ("B", 2.0))
    }
    return html_report(audit(systems, speakers=people, by="group", compare=True))


@pytest.fixture(scope="session")
def demo_page(demo):
    """The page that the demo wrote: both systems on VoxCeleb1-H, first by gender."""
    return (demo / "out" / "report.html").read_text(encoding="utf-8")


def violations(opened, html, axe, **options):
    """What axe has to say of a page, shortened."""
    with opened(html, bypass_csp=True, **options) as page:
        page.evaluate(
            "() => document.querySelectorAll('details').forEach((one) => (one.open = true))"
        )
        page.evaluate(SCROLL)
        page.evaluate(axe)
        options_text = "{resultTypes: ['violations']}"
        rows = page.evaluate(f"async () => (await axe.run({DRAWN}, {options_text})).violations")
    return [
        (violation["id"], [node["html"][:120] for node in violation["nodes"][:4]])
        for violation in rows
    ]


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
def test_axe_finds_nothing_in_any_section(opened, small_page, axe, size, scheme):
    options = {"viewport": SIZES[size], "color_scheme": scheme}
    assert not violations(opened, small_page, axe, **options)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_who_sees_all_of_it_meets_no_error_and_asks_for_no_file(opened, h_page, scheme):
    with opened(h_page, color_scheme=scheme) as page:  # which checks both in the end
        page.evaluate(SCROLL)
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy


def test_nothing_but_tables_and_figures_is_wider_than_a_phone(opened, h_page):
    with opened(h_page, viewport=SIZES["phone"]) as page:
        page.evaluate(SCROLL)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_the_first_figure_is_whole_at_every_width(opened, h_page):
    with opened(h_page) as page:
        for width in (360, 645, 768, 960, 1024):
            page.set_viewport_size({"width": width, "height": 800})
            box = page.locator("#answer table.ratios").bounding_box()
            assert box["x"] + box["width"] <= width


def test_the_legend_is_folded_on_a_phone_alone(opened, h_page):
    with opened(h_page, viewport={"width": 390, "height": 844}) as page:
        legend, text = page.locator("#answer .legend"), page.locator("#answer .legend > p")
        assert not text.is_visible()
        legend.locator("summary").click()
        assert text.is_visible()
        for width, is_open in ((1280, True), (390, False)):
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_function(
                "(open) => document.querySelector('.legend').open === open", arg=is_open
            )
        assert page.locator("#answer table.ratios").bounding_box()["y"] < 844
    with opened(h_page, viewport={"width": 390, "height": 844}, java_script_enabled=False) as page:
        assert page.locator("#answer .legend > p").is_visible()


@pytest.mark.parametrize("has_scripts", [True, False])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_how_sure_it_is_and_the_first_group_are_on_the_first_screen(
    opened, demo_page, width, height, has_scripts
):
    size = {"width": width, "height": height}
    with opened(demo_page, viewport=size, java_script_enabled=has_scripts) as page:
        headline = page.locator("h1").bounding_box()
        certainty = page.locator("#answer dl.certainty").bounding_box()
        first_group = page.locator("#answer table.ratios tbody tr.g").first
        rate = first_group.locator("td.n").nth(1).bounding_box()
        assert headline["y"] + headline["height"] <= certainty["y"]
        assert certainty["y"] + certainty["height"] < rate["y"]
        # the size, ratio and rate of the first group, with the first system
        assert "speakers" in first_group.locator("th").inner_text()
        assert rate["y"] + rate["height"] <= height
        labels = page.locator("#answer dl.certainty dt").all_inner_texts()
        assert labels == ["How sure", "Not known", "Weakened by"]


def test_on_a_desk_the_first_figure_and_the_findings_on_it_are_on_the_first_screen(
    opened, demo_page
):
    with opened(demo_page, viewport={"width": 1440, "height": 900}) as page:
        figure = page.locator("#answer table.ratios").bounding_box()
        last_finding = page.locator("#answer table.ratios ~ .below").last.bounding_box()
        assert figure["y"] + figure["height"] <= last_finding["y"]
        assert last_finding["y"] + last_finding["height"] <= 900


def test_a_long_headline_leaves_room_for_how_sure_it_is(opened, h_page):
    with opened(h_page, viewport={"width": 390, "height": 844}) as page:
        certainty = page.locator("#answer dl.certainty").bounding_box()
        assert certainty["y"] + certainty["height"] < 844


def test_the_counts_below_the_headline_are_those_of_the_bar(opened, h_page):
    with opened(h_page) as page:
        words = " ".join(page.locator("#answer dl.certainty").inner_text().split())
        tally = " ".join(page.locator("#answer .tally").inner_text().split())
    pattern = r"(\d+) comparisons: ▲ (\d+) worse ▼ (\d+) better = \d+ equivalent \? (\d+) inconcl"
    total, _, _, inconclusive = map(int, re.search(pattern, tally).groups())
    assert "Strong evidence, but unconfirmed: no record here" in words
    assert f"{inconclusive} of {total} comparisons are inconclusive" in words


def test_without_javascript_every_figure_and_table_is_there(opened, h_page):
    count = "(one) => document.querySelectorAll(one).length"
    with opened(h_page) as page:
        tables = page.evaluate(count, "section:not(#explorer) table")
        figures = page.evaluate(count, "figure")
    with opened(h_page, java_script_enabled=False) as page:
        assert page.evaluate(count, "section:not(#explorer) table") == tables > 10
        assert page.evaluate(count, "#explorer table") == 2
        assert page.evaluate(count, "figure") == figures
        assert page.evaluate(count, "figure svg") >= figures > 0
        assert page.evaluate(UNSEEN, "table, figure svg") == []


def test_on_paper_there_are_figures_and_tables_but_no_controls(opened, h_page):
    with opened(h_page) as page:
        page.evaluate(SCROLL)
        page.emulate_media(media="print")
        assert not page.is_visible("#x-controls")
        assert page.is_visible("nav .mark")
        assert not page.is_visible("nav a")
        assert page.evaluate(UNSEEN, "table:not(.x-table), figure .chart > svg") == []
        assert page.locator("#x-still table").count() == 2


UNPAINTED = """() => document.querySelectorAll('figure svg').forEach((one) => {
  one.style.visibility = 'hidden';
})"""


def printed_sheets(page, optional):
    """The text of each sheet of paper.

    Figures keep their room and are not painted: most of a PDF are their lines, which take longer to
    read than all texts.
    """
    page.evaluate(UNPAINTED)
    paper = page.pdf(prefer_css_page_size=True)
    reader = optional("pypdf").PdfReader(io.BytesIO(paper))
    return [sheet.extract_text() for sheet in reader.pages]


@pytest.mark.usefixtures("undrawn")
def test_on_paper_heads_of_tables_are_on_every_sheet(opened, audited, optional):
    page_text = html_report(audited(groups=[f"group {n}" for n in range(120)], intervals=False))
    with opened(page_text) as page:
        sheets = printed_sheets(page, optional)
    of_rows = [
        text for text in sheets if len(re.findall("^group [0-9]+ .", text, re.MULTILINE)) > 15
    ]
    assert len(of_rows) > 6
    for text in of_rows:
        assert re.search("^Group", text, re.MULTILINE), text


def test_on_a_phone_the_first_figure_ends_on_the_second_screen(opened, h_page):
    with opened(h_page, viewport={"width": 360, "height": 640}) as page:
        figure = page.locator("#answer table.ratios").bounding_box()
        heads = page.locator("#answer table.ratios .axis").all()
        # above it stand who is at risk and the first limitation, which readers missed before
        assert figure["y"] + figure["height"] <= 2.3 * 640
        for n, head in enumerate(heads):
            axis = head.locator("svg").bounding_box()
            strip_elements = page.locator(
                f"#answer tr > .strip:nth-last-child({6 - 3 * n}) > svg.strip"
            ).all()
            strips = [strip.bounding_box() for strip in strip_elements]
            assert len(strips) > 3
            assert {(strip["x"], strip["width"]) for strip in strips} == {
                (axis["x"], axis["width"])
            }


def test_paper_begins_with_what_is_signed_and_tells_page_and_hash_in_its_foot(
    opened, h_audit, h_page, optional
):
    digest = hashlib.sha256(h_audit.to_json().encode()).hexdigest()
    with opened(h_page) as page:
        sheets = printed_sheets(page, optional)
    signed = next(n for n, text in enumerate(sheets, 1) if "Sign-o" in text)  # ends in a ligature
    assert signed <= 4
    summary = " ".join(" ".join(sheets[:signed]).split())
    for words in ("limitations.", "All groups", "Scope and method"):
        assert words in summary
    assert "Annex A." not in summary
    assert "Annex A." in sheets[signed]
    for n, text in enumerate(sheets, 1):
        assert digest in text
        assert f"{n} / {len(sheets)}" in text


def test_everything_that_answers_can_be_reached_and_used_by_keyboard(opened, h_page):
    with opened(h_page) as page:
        page.focus("#x-advanced > summary")
        page.keyboard.press("Enter")
        page.focus("#x-list")
        expected = {f"x-{name}" for name in ("grouping", "slider", "hold", "at", "alpha", "gated")}
        met = set()
        for _ in range(30):
            met.add(page.evaluate("() => document.activeElement.id"))
            page.keyboard.press("Tab")
        assert expected <= met
        page.focus("#x-slider")
        before = page.inner_text("#x-sentence")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert page.inner_text("#x-sentence") != before
        page.focus("#x-points button")
        page.keyboard.press("Enter")
        assert page.inner_text("#x-sentence") == before
