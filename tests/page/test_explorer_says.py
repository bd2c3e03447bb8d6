"""What the explorer says of groups: at audited points the verdicts' own words, elsewhere counts."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from parivox.report.audit_queries import BONA_FIDE_ERRORS, has_rate, rates_by_group
from parivox.report.catalogue import finding_text

READ = """(positions) => JSON.stringify(positions.map((k) => {
  const slider = document.getElementById('x-slider');
  slider.value = k;
  slider.dispatchEvent(new Event('input'));
  const cells = (row) => Object.fromEntries([...row.querySelectorAll('[data-x]')]
    .map((one) => [one.dataset.x, one.tagName === 'svg' ? '' : one.textContent.trim()]));
  return {
    said: document.getElementById('x-sentence').textContent,
    rows: [...document.querySelectorAll('#x-common tbody tr')].map(cells),
    here: Object.fromEntries([...document.querySelectorAll('#x-points [aria-pressed=true]')]
      .map((one) => [one.textContent, one.dataset.point])),
  };
}))"""
"""What is said at each of some positions of the slider, as text: a nested object crosses to
Python value by value."""
CLAIM = re.compile(r"(false rejects|false accepts) \((FNR|FPR)\) (.*?), ([\d.]+ %)")
AUDITS = {
    "groups of odd names": {"points": ["eer", "fpr=0.05", "threshold=1"]},
    "few trials": {"groups": tuple("abcdefgh"), "nontarget": 3, "target": 2},
    "many trials": {"groups": tuple("abcdef"), "nontarget": 60},
    "one error apart": {
        "groups": tuple("abcdef"),
        "change": lambda score, label: np.where(
            label.cumsum() % 36 < 6, score - 1.5 * label, score
        ),
        "gates": ["speakers=3", "errors=4", "pairs=2"],
        "points": ["eer", "fpr=0.05", "threshold=1"],
    },
    "no impostors": {"nontarget": 0},
    "no intervals": {"intervals": False},
    "one group is worse": {
        "groups": tuple("abcd"),
        "change": lambda score, label: np.where(
            np.arange(label.size) < label.size / 4, score - 2.5 * label, score
        ),
        "nontarget": 60,
    },
    "against pooled": {"groups": tuple("abc"), "reference": ["pooled"], "seed": 7},
    "no audited point": {"points": ["fpr=0.0001"]},
    "several points": {"groups": tuple("ab"), "points": ["eer", "fnr=0.1", "min-cdet"], "seed": 3},
}
SIGNS = {"▲ worse": "worse", "▼ better": "better", "= equivalent": "equivalent"}


def read(shown, positions):
    """What is said at each of some positions."""
    return json.loads(shown.evaluate(READ, positions))


def positions(shown, n=200):
    """Every so many positions of the slider, and those of all audited points."""
    most = int(shown.get_attribute("#x-slider", "max"))
    yield from range(0, most + 1, max(1, most // n))
    for button in shown.locator("#x-points button").all():
        button.click()
        yield int(shown.input_value("#x-slider"))


def verdicts_by_point(audit, selection):
    """Rows of verdicts at each operating point, read once for all positions of the slider."""
    rows_by_point = {}
    for row in audit.verdicts.subset(**selection, within="").rows():
        rows_by_point.setdefault(row["operating_point"], []).append(row)
    return rows_by_point


def expect_no_other_claim(audit, selection, verdicts, state, last_point):
    """What is said here is a verdict of this very point, or a count that says that it is one."""
    expect_verdicts(verdicts, state)
    sentence = state["said"].removesuffix(".")
    if not sentence:
        return last_point
    if sentence.startswith("Audited here: "):
        point = sentence.removeprefix("Audited here: ").partition(". ")[0]
        point_id = state["here"][point]
        rates = rates_by_group(audit, {**selection, "within": ""})
        sentences = {
            row["metric"]: finding_text(row)
            for row in verdicts.get(point_id, ())
            if row["group"] == ""
        }
        expected = [
            f"{words[0].upper()}{words[1:]} ({m.upper()}): {sentences[m]}"
            for m, words in BONA_FIDE_ERRORS.items()
            if has_rate(m, point_id, rates)
        ]
        assert sentence == ". ".join([f"Audited here: {point}", *expected])
        return point_id
    assert not state["here"] or not len(audit.verdicts.subset(**selection))
    head, _, claim_text = sentence.partition(": ")
    assert head == "Highest observed rates, not tested"
    gates = {(row["metric"], row["group"]): row["gates"] for row in verdicts.get(last_point, ())}
    claims = CLAIM.findall(claim_text)
    assert claims
    for _, metric, group, rate in claims:
        assert not gates.get((metric.lower(), group))
        counted = {
            row["group"]: row[metric.lower()]
            for row in state["rows"]
            if not gates.get((metric.lower(), row["group"]))
        }
        assert counted[group] == rate
        numbers = {
            name: float(text.removesuffix(" %"))
            for name, text in counted.items()
            if text.endswith(" %")
        }
        assert all(n < numbers[group] for name, n in numbers.items() if name != group)
    return last_point


def expect_verdicts(verdicts, state):
    """Words beside a rate are the audit's verdict on it here, and there are none elsewhere."""
    points = list(state["here"].values())
    rows = [row for point in points for row in verdicts.get(point, ())]
    for row in state["rows"]:
        for metric in BONA_FIDE_ERRORS:
            verdict_rows = [
                verdict_row
                for verdict_row in rows
                if (verdict_row["metric"], verdict_row["group"]) == (metric, row["group"])
            ]
            codes = {
                "inconclusive" if verdict_row["because_of"] else verdict_row["verdict"]
                for verdict_row in verdict_rows
            }
            shown_verdict = row[f"{metric}_verdict"]
            assert bool(shown_verdict) == bool(codes - {"none"}) or len(points) > 1
            if shown_verdict:
                assert SIGNS.get(shown_verdict, "inconclusive") in codes


@pytest.mark.parametrize("name", AUDITS)
def test_no_sentence_contradicts_the_verdicts(opened, alone, audited, name):
    audit = audited(**AUDITS[name])
    selection = {"system": "made", "grouping": "group", "allocation": "both"}
    verdicts = verdicts_by_point(audit, selection)
    with opened(alone(audit)) as shown:
        points = shown.locator("#x-points button")
        last_point = points.first.get_attribute("data-point") if points.count() else ""
        for state in read(shown, [*positions(shown)]):
            last_point = expect_no_other_claim(audit, selection, verdicts, state, last_point)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["V2", "L"])
@pytest.mark.parametrize("grouping", ["gender+nationality", "gender"])
def test_no_sentence_contradicts_the_verdicts_on_real_systems(
    opened, h_explorer, h_audit, system, grouping
):
    selection = {"system": system, "grouping": grouping, "allocation": "both"}
    verdicts = verdicts_by_point(h_audit, selection)
    with opened(h_explorer) as shown:
        shown.select_option("#x-list", label=system)
        shown.select_option("#x-grouping", label=grouping)
        kinds = set()
        last_point = shown.locator("#x-points button").first.get_attribute("data-point")
        for state in read(shown, [*positions(shown, 100)]):
            last_point = expect_no_other_claim(h_audit, selection, verdicts, state, last_point)
            kinds.add(state["said"].partition(" ")[0])
        assert {"Audited", "Highest"} <= kinds


def test_a_group_shown_to_be_locked_out_is_named_whatever_marks_it_for_impostors(opened, h_page):
    with opened(h_page) as shown:
        shown.select_option("#x-list", "1")
        shown.select_option("#x-grouping", "0")
        sentence = shown.inner_text("#x-sentence")
        assert "False rejects (FNR): rates differ between groups" in sentence
        assert "worse: m+Norway" in sentence
        assert "m+Australia" not in sentence
        shown.focus("#x-slider")
        shown.keyboard.press("ArrowRight")
        assert "Highest observed rates, not tested: " in shown.inner_text("#x-sentence")


def test_between_audited_points_nothing_is_said_of_a_tie(opened, alone, audited):
    audit = audited(groups=("a", "b"), seed=3, change=lambda score, label: 3.0 * label)
    with opened(alone(audit)) as shown:
        most = int(shown.get_attribute("#x-slider", "max"))
        for state in read(shown, [*range(most + 1)]):
            assert "Highest" not in state["said"]
