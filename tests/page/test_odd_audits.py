"""The explorer of audits that lack something, or whose names could break a page."""

from __future__ import annotations

import json

import numpy as np
import pytest

import parivox as pv
from parivox.report.page import page
from parivox.report.page.explorer import explorer

ODD = {
    "one group": {"groups": ("only",)},
    "200 groups": {"groups": tuple(f"group {i}" for i in range(200)), "nontarget": 3, "target": 2},
    "no errors": {"change": lambda score, label: score + 50 * label, "at": ["threshold=20"]},
    "no impostors": {"nontarget": 0},
    "no own trials": {"target": 0},
    "no intervals": {"intervals": False},
    "infinite scores": {
        "change": lambda score, label: np.where(
            score > 3.5, np.inf, np.where(score < -1, -np.inf, score)
        )
    },
    "no audited point": {"at": ["fpr=0.0001"]},
    "another tool's rules": {"compat": "bt4vt"},
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_audit_can_be_explored_from_end_to_end(opened, alone, odd, audited):
    with opened(alone(audited(**ODD[odd]))) as shown:
        shown.focus("#x-slider")
        said = set()
        for key in ("Home", "PageUp", "ArrowRight", "PageUp", "End", "ArrowLeft"):
            shown.keyboard.press(key)
            said.add(shown.get_attribute("#x-slider", "aria-valuetext"))
        shown.click("#x-advanced > summary")
        for kind in ("fpr", "fnr", "least"):
            shown.select_option("#x-hold", kind)
            if kind != "least":
                shown.fill("#x-at", "10")
                shown.keyboard.press("Enter")
        text = shown.inner_text("#x")
        assert len(said) > 3
        assert "NaN" not in text
        assert "undefined" not in text
        assert "Infinity" not in text


def names_of(audit):
    rows = audit.groups.where(grouping="group", metric="fnr").rows()
    return {row["group"] for row in rows} - {"pooled"}


def test_names_that_could_break_a_page_are_shown_as_they_are(opened, audited):
    audit = audited()
    with opened(page(audit)) as shown:
        shown.focus("#x-slider")
        shown.keyboard.press("ArrowLeft")
        told = shown.locator("#x-common tbody th").all_text_contents()
        assert set(told) == names_of(audit)
        assert shown.evaluate("() => document.documentElement.scrollWidth") <= 1280


@pytest.mark.slow
def test_the_data_hold_no_sign_that_ends_a_script(audited):
    audit = audited()
    made = explorer(audit)
    assert not set("<>&\u2028\u2029") & set(made["json"])
    assert names_of(audit) < set(json.loads(made["json"])["lists"][0]["groupings"][0]["groups"])


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
    assert explorer(audited(seed=4))["json"] == explorer(audited(seed=4))["json"]


@pytest.mark.slow
def test_bigger_trials_make_no_bigger_data_but_for_digits(audited):
    few, many = (explorer(audited(groups=("f", "m"), nontarget=n))["json"] for n in (100, 1000))
    assert len(many) < 1.6 * len(few)
