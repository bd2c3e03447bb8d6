"""What the summary tells where there is little to tell, and of rows that contradict each other."""

import io
import re
import sys
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from rich.console import Console, Group

import parivox as pv
from parivox.report.full_tables import every_table
from parivox.report.ratio_strips import SIGNS, sign_strip
from parivox.report.selection import group_details
from parivox.report.terminal import print_summary, summary
from parivox.report.words import STYLES

GROUNDS = ("#000000", "#ffffff", "#002b36", "#fdf6e3")
"""Black, white, and the grounds of a common theme, dark and light."""
REPORT = Path(pv.__file__).parent / "report"


def flat(text):
    return " ".join(text.split())


def trials_where(material, condition):
    """Some of the trials."""
    trials, speakers = material
    rows = [row for row in zip(*trials.values(), strict=True) if condition(*row)]
    return dict(zip(trials, map(list, zip(*rows, strict=True)), strict=True)), speakers


@pytest.mark.slow
def test_without_any_threshold_the_groups_are_still_listed(audited, printed):
    text = printed(audited(by=["gender", "nation"], operating_points=["fpr=0.0001", "fnr=0.0001"]))
    assert "fpr=0.0001 corresponds to less than one error in" in flat(text)
    assert "fnr=0.0001 corresponds to less than one error in" in flat(text)
    assert "--operating-point threshold=X, or use eer." in flat(text)
    assert "gender: 2 groups" in text
    assert "nation: 3 groups" in text
    (row,) = [line.split() for line in text.splitlines() if line.strip().startswith("Norway")]
    assert row[1] == "8"
    assert len(row) == 4


@pytest.mark.slow
def test_with_one_class_a_given_threshold_is_the_only_mend(material, printed):
    only, speakers = trials_where(material, lambda a, b, _: a[:3] == b[:3])
    text = flat(printed(pv.audit(only, speakers=speakers, by="gender", operating_points="eer")))
    assert "no nontarget trials" in text
    assert "--operating-point threshold=X." in text
    assert "gender: 2 groups" in text


def test_groups_without_any_difference_have_no_extremes(audited, printed):
    text = printed(audited(by="gender", operating_points="threshold=9", intervals=False))
    assert "locked out most" not in text
    assert "x pooled" not in text
    assert "Every group at threshold=9" in text


@pytest.mark.slow
def test_the_first_point_that_is_found_is_told(audited, printed):
    text = printed(audited(by="gender", operating_points=["fpr=0.0001", "eer"]))
    assert "Every group at eer" in text
    assert "At fpr=0.0001" not in text


@pytest.mark.slow
def test_contradicting_rows_are_summed_up(material, printed):
    trials, speakers = material
    again = {name: [*cells, cells[0]] for name, cells in trials.items()}
    again["score"][-1] += 1
    options = {"speakers": speakers, "by": "gender", "operating_points": "threshold=1"}
    text = flat(printed(pv.audit({"S": again}, conflicts="exclude", **options)))
    assert (
        "2 contradictory rows excluded; metrics without / with these rows: fpr at threshold=1 "
        in text
    )
    assert "fnr at threshold=1 " in text
    text = flat(printed(pv.audit({"S": trials}, conflicts="exclude", **options)))
    assert "No contradictory rows were excluded." in text
    assert "contradictory rows" not in flat(printed(pv.audit({"S": trials}, **options)))


@pytest.mark.slow
def test_names_are_shown_without_what_steers_a_terminal(material, printed):
    trials, speakers = material
    evil = "\x1b\n[red]"
    speakers = {
        **speakers,
        "gender": [f"f{evil}" if g == "f" else g for g in speakers["gender"]],
    }
    text = printed(pv.audit({f"S{evil}": trials}, speakers=speakers, by="gender"))
    assert all(line.isprintable() for line in text.split("\n"))
    assert r"S\x1b\x0a[red]" in text
    assert r"  f\x1b\x0a[red]" in text


@pytest.mark.slow
def test_without_utf8_the_tables_are_plain(material, monkeypatch):
    trials, speakers = material
    audit = pv.audit(trials, speakers=speakers, by="gender", operating_points=["eer", "fpr=0.0001"])
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    print_summary(audit, details=True)
    narrow.flush()
    assert b"-----" in narrow.buffer.getvalue()


def luminance(red, green, blue):
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in (red / 255, green / 255, blue / 255)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("system", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT])
def test_what_has_a_colour_is_seen_on_light_and_dark_ground(ground, system):
    behind = luminance(*Color.parse(ground).get_truecolor())
    for style in STYLES.values():
        ink = Color.parse(style.split()[-1]).downgrade(system).get_truecolor()
        darker, lighter = sorted((luminance(*ink), behind))
        assert (lighter + 0.05) / (darker + 0.05) >= 3  # a mark, or a single word in bold


def test_colour_is_of_marks_and_single_words_alone(audited):
    audit = audited(by=["gender", "gender+nation"], operating_points=["fpr=0.01"])
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="truecolor")
    marks = {*"".join(sign_strip(2, low, 4, code) for code in STYLES for low in (0.5, 1.5))}
    renderables = Group(summary(audit), every_table(audit), group_details(audit, ["f"]))
    coloured = [
        segment for segment in console.render(renderables) if segment.style and segment.style.color
    ]
    assert {segment.style.color.name for segment in coloured} == {
        style.split()[-1] for style in STYLES.values()
    }
    for segment in coloured:
        assert segment.style.bold
        assert set(segment.text) <= marks | {*SIGNS.values()} or segment.text.strip() in {
            "worse",
            "better",
        }
    assert not any(segment.style and segment.style.dim for segment in console.render(renderables))


def test_no_other_colour_is_named():
    named = re.compile(r"\"(?:bold )?(?:red|green|yellow|blue|magenta|cyan|dim)\"")
    files = [*REPORT.glob("*.py"), *REPORT.glob("sheets/*.py"), *REPORT.parent.glob("cli/*.py")]
    assert not [path.name for path in files if named.search(path.read_text(encoding="utf-8"))]
