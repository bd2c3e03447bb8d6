"""The explorer of audits that lack something, or whose names could break a page."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import parivox as pv
from parivox.report.html import html_report
from parivox.report.html.explorer import explorer
from parivox.report.overview import overview, plain_text
from parivox.report.terminal import summary

ODD = {
    "one group": {"groups": ("only",)},
    "200 groups": {"groups": tuple(f"group {i}" for i in range(200)), "nontarget": 3, "target": 2},
    "no errors": {"change": lambda score, label: score + 50 * label, "points": ["threshold=20"]},
    "no impostors": {"nontarget": 0},
    "no own trials": {"target": 0},
    "no intervals": {"intervals": False},
    "infinite scores": {
        "change": lambda score, label: np.where(
            score > 3.5, np.inf, np.where(score < -1, -np.inf, score)
        )
    },
    "no audited point": {"points": ["fpr=0.0001"]},
    "another tool's rules": {"compat": "bt4vt"},
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_audit_can_be_explored_from_end_to_end(opened, alone, odd, audited):
    with opened(alone(audited(**ODD[odd]))) as shown:
        shown.focus("#x-slider")
        slider_texts = set()
        for key in ("Home", "PageUp", "ArrowRight", "PageUp", "End", "ArrowLeft"):
            shown.keyboard.press(key)
            slider_texts.add(shown.get_attribute("#x-slider", "aria-valuetext"))
        shown.click("#x-advanced > summary")
        for kind in ("fpr", "fnr", "least"):
            shown.select_option("#x-hold", kind)
            if kind != "least":
                shown.fill("#x-at", "10")
                shown.keyboard.press("Enter")
        text = shown.inner_text("#x")
        assert len(slider_texts) > 3
        assert "NaN" not in text
        assert "undefined" not in text
        assert "Infinity" not in text
        unknown = {"no impostors": "false accepts (FPR)", "no own trials": "false rejects (FNR)"}
        unknown_errors = re.findall("No result for (.*?): no trials", text)
        assert unknown_errors == [words for name, words in unknown.items() if name == odd]
        assert shown.locator("#x-common thead th:visible").count() == (4 if odd in unknown else 7)


def test_of_many_groups_the_explorer_shows_some_until_all_are_asked_for(opened, alone, audited):
    with opened(alone(audited(**ODD["200 groups"]))) as shown:
        assert shown.locator("#x-common tbody tr:visible").count() == 30
        shown.click("text=170 other groups")
        assert shown.locator("#x-common tbody tr:visible").count() == 200
        assert shown.get_attribute("#x-more button", "aria-expanded") == "true"


def names_of(audit):
    rows = audit.groups.subset(grouping="group", metric="fnr").rows()
    return {row["group"] for row in rows} - {"pooled"}


def test_names_that_could_break_a_page_are_shown_as_they_are(opened, audited):
    audit = audited()
    with opened(html_report(audit)) as shown:
        shown.focus("#x-slider")
        shown.keyboard.press("ArrowLeft")
        headings = shown.locator("#x-common tbody th").all_text_contents()
        assert set(headings) == names_of(audit)
        assert shown.evaluate("() => document.documentElement.scrollWidth") <= 1280


@pytest.mark.slow
def test_the_data_hold_no_sign_that_ends_a_script(audited):
    audit = audited()
    page_data = explorer(audit)
    assert not set("<>&\u2028\u2029") & set(page_data["json"])
    assert names_of(audit) < set(
        json.loads(page_data["json"])["lists"][0]["groupings"][0]["groups"]
    )


@pytest.mark.slow
def test_an_audit_of_decisions_has_no_explorer():
    trials = {
        "enrol": ["a/1", "b/1", "a/2", "b/2"],
        "test": ["a/3", "b/3", "b/4", "a/4"],
        "decision": [1, 0, 0, 1],
        "label": [1, 1, 0, 0],
    }
    people = {"id": ["a", "b"], "group": ["f", "m"]}
    audit = pv.audit({"made": trials}, speakers=people, by="group")
    assert explorer(audit) is None


@pytest.mark.slow
def test_the_same_audit_gives_the_same_bytes(audited):
    audit_1, audit_2 = audited(seed=4), audited(seed=4, target=6)  # as by default
    assert audit_1 is not audit_2
    assert explorer(audit_1)["json"] == explorer(audit_2)["json"]


@pytest.mark.slow
def test_bigger_trials_make_no_bigger_data_but_for_digits(audited):
    few, many = (explorer(audited(groups=("f", "m"), nontarget=n))["json"] for n in (100, 1000))
    assert len(many) < 1.6 * len(few)


def in_systems(names, kind="scored", folder=None, **options):
    """Systems of one list, with scores of their own, or with decisions or counts alone."""
    draw = np.random.default_rng(7)
    ids = [f"s{i}" for i in range(24)]
    trials = {"enrol": [], "test": [], "label": []}
    for i, speaker in enumerate(ids):
        for k in range(8):
            trials["enrol"] += [f"{speaker}/{k}"] * 2
            trials["test"] += [f"{speaker}/t{k}", f"{ids[i - 2]}/t{k}"]
            trials["label"] += [1, 0]
    label = np.array(trials["label"])
    people = {"id": ids, "group": ["f", "m"] * 12}
    systems = {name: {**trials, "score": draw.normal(2.5 * label).tolist()} for name in names}
    if kind == "decided":
        for system_trials in systems.values():
            system_trials["decision"] = [int(score > 1) for score in system_trials.pop("score")]
    if kind == "counted":
        file = folder / "counts.csv"
        pv.count(systems, speakers=people, by="group").save(file)
        return pv.audit(file, **options)
    return pv.audit(systems, speakers=people, by="group", **options)


FIRST_SCREENS = {
    "names that could break a page": lambda audited, _: audited(),
    "one group": lambda audited, _: audited(groups=("only",)),
    "200 groups": lambda audited, _: audited(**ODD["200 groups"]),
    "nothing is proven": lambda audited, _: audited(groups=("f", "m")),
    "everything is proven": lambda audited, _: audited(
        groups=("f", "m"),
        target=90,
        change=lambda score, label: np.where(
            np.arange(score.size) < score.size / 2, score - 3 * label, score
        ),
    ),
    "no impostors": lambda audited, _: audited(nontarget=0),
    "no own trials": lambda audited, _: audited(target=0),
    "no intervals": lambda audited, _: audited(intervals=False),
    "ten systems": lambda *_: in_systems([f"system {n}" for n in range(10)]),
    "decisions alone": lambda *_: in_systems(["made"], "decided"),
    "counts alone": lambda _, folder: in_systems(["made"], "counted", folder),
    "systems of 200 letters": lambda *_: in_systems(["a" * 200, "ש" * 200], compare=True),
}


@pytest.mark.parametrize("odd", FIRST_SCREENS)
def test_the_first_screen_stays_whole(opened, audited, odd, tmp_path):
    audit = FIRST_SCREENS[odd](audited, tmp_path)
    for width in (60, 80, 120):
        out = io.StringIO()
        Console(file=out, width=width, highlight=False).print(summary(audit))
        lines = out.getvalue().splitlines()
        assert max(cell_len(line) for line in lines) <= width
        assert len(lines) <= 80
        assert not re.search(r"\b(nan|None|inf)\b", out.getvalue())
    audit_overview = overview(audit)
    html = html_report(audit)
    assert len(html.encode()) <= 1_300_000
    with opened(html) as shown:
        assert len(shown.inner_text("body").split()) <= 2_000
        heads = shown.locator("#answer .axis").all_inner_texts()
        assert len(heads) == 1 if odd in {"no impostors", "no own trials"} else len(heads) == 2
        for width in (1440, 360):
            shown.set_viewport_size({"width": width, "height": 800})
            assert shown.evaluate("() => document.documentElement.scrollWidth") <= width
            answer = shown.inner_text("#answer")
            assert plain_text(audit_overview.headline) in " ".join(shown.inner_text("h1").split())
            assert not re.search(r"\b(nan|None|inf)\b", answer)
            assert shown.locator("#answer table.ratios tbody tr").count() <= 24
            for line in audit_overview.differing_groups[:2]:
                assert line.group in answer
