"""Verdicts in words, and those of audits that hold sentences."""

import json
from itertools import product

import pytest

import parivox as pv
from parivox.auditing.old_verdicts import holds_sentences, verdict_facts
from parivox.auditing.verdict_facts import RateVerdict, joint_fact
from parivox.facts import cell_of_row, fact, facts_of_cell
from parivox.report.catalogue import cell_text, finding_text

CODES = ("worse", "better", "equivalent", "inconclusive")
NAN = float("nan")


def joint(fpr, fnr):
    return cell_text(joint_fact({"fpr": fpr, "fnr": fnr}, {"fpr": "", "fnr": ""}))


@pytest.mark.parametrize(
    ("fpr", "fnr", "text"),
    [
        ("worse", "better", "more false accepts; fewer false rejects"),
        ("worse", "worse", "more false accepts and more false rejects"),
        ("inconclusive", "worse", "more false rejects; false accepts inconclusive"),
        ("equivalent", "better", "false accepts equivalent; fewer false rejects"),
    ],
)
def test_both_directions_stand_in_one_sentence(fpr, fnr, text):
    assert joint(fpr, fnr) == text


def test_all_pairs_of_verdicts_read_differently():
    texts = {joint(fpr, fnr) for fpr, fnr in product(CODES, CODES)}
    assert len(texts) == 16
    unknown = [joint(a, b) for a, b in product(CODES, CODES) if "inconclusive" in (a, b)]
    assert all("inconclusive" in text for text in unknown)


@pytest.mark.parametrize(
    ("metric", "verdict", "numbers", "text"),
    [
        (
            "fpr",
            "worse",
            (4.3, 1.4, 12.9),
            "false accepts are 4.3 times as frequent [1.4, 13] as among all other groups combined",
        ),
        (
            "fnr",
            "better",
            (0.41, 0.2, 0.846),
            (
                "false rejects are 0.41 times as frequent [0.20, 0.85] as among all other groups "
                "combined"
            ),
        ),
        (
            "fnr",
            "equivalent",
            (1.03, 0.9, 1.2),
            (
                "false rejects are equivalent to those of all other groups combined: 1.0 times as "
                "frequent [0.90, 1.2]"
            ),
        ),
        (
            "fnr",
            "better",
            (0.0, 0.0, 0.7),
            (
                "no false rejects; upper limit: 0.70 times as frequent as among all other groups "
                "combined"
            ),
        ),
    ],
)
def test_a_sentence_tells_the_ratio_with_its_interval(metric, verdict, numbers, text):
    found = RateVerdict(metric, verdict, "", *numbers, "others", {})
    assert cell_text(found.fact()) == text


def test_a_sentence_tells_why_a_comparison_is_inconclusive():
    few = fact("below_minimum", speakers=5)
    found = RateVerdict("fnr", "inconclusive", few, 1.8, 0.5, 6.3, "others", {})
    text = cell_text(found.fact())
    assert text.endswith("inconclusive: 1.8 times as frequent [0.50, 6.3]; fewer than 5 speakers")
    found = RateVerdict("fpr", "inconclusive", "undefined_ratio", NAN, NAN, NAN, "others", {})
    assert cell_text(found.fact()).endswith("inconclusive: ratio undefined")
    assert facts_of_cell(found.fact())[0].values.keys() == {"metric", "reason"}


@pytest.fixture(scope="module", params=["gender", "nation"])
def audit(request, audited):
    return audited(by=request.param, operating_points=["fpr=0.05", "eer"])


def test_verdicts_in_sentences_are_read_as_the_facts_of_today(audit, tmp_path):
    rows = list(audit.verdicts)
    cells = {
        **audit.verdicts.to_dict(),
        "reason": [cell_of_row(row, "reason") for row in rows],
        "sentence": [finding_text(row) for row in rows],
    }
    assert holds_sentences(cells["sentence"])
    assert not holds_sentences([row["sentence"] for row in rows])
    facts = verdict_facts(cells, set(), 0.95)
    assert [cell_text(cell) for cell in facts] == cells["sentence"]
    for cell, row in zip(facts, rows, strict=True):
        if "without" not in cell:  # whose ratio was rounded in the sentence
            assert cell == cell_of_row(row, "sentence")


def test_values_of_verdicts_are_json_of_other_programs(audit):
    for row in audit.verdicts:
        json.loads(row["values"] or "{}", parse_constant=pytest.fail)


def test_a_threshold_that_was_infinite_is_named():
    row = {
        "system": "a",
        "list": "b",
        "grouping": "sex",
        "within": "",
        "allocation": "both",
        "operating_point": "fpr=0",
        "reference": "others",
        "ratio": None,
        "low": None,
        "high": "inf",
        "p_holm": None,
        "margin": 1.25,
        "verdict": "inconclusive",
        "reason": "no_interval",
    }
    rows = [
        row | {"group": group, "metric": metric, "sentence": "as it was written"}
        for metric in ("fpr", "fnr")
        for group in ("f", "m", "")
    ]
    cells = {name: [each[name] for each in rows] for name in rows[0]}
    words = [cell_text(cell) for cell in verdict_facts(cells, {("a", "b", "fpr=0")}, 0.95)]
    assert words[0] == "the comparison of false accepts is inconclusive: no interval"
    assert words[2] == "both groups are inconclusive: the threshold is infinite"


@pytest.mark.slow
def test_names_of_groups_are_labelled_in_findings_and_no_other_words():
    ids = [f"s{i:02d}" for i in range(40)]
    trials = {
        "enrol": [f"{one}/1" for one in ids for _ in range(20)],
        "test": [f"{one}/2.{k}" for one in ids for k in range(20)],
        "score": [float(k > 2 + 8 * (i % 2)) for i in range(40) for k in range(20)],
    }
    for enrol, test in zip(ids, ids[1:] + ids[:1], strict=True):
        for name, cell in (("enrol", f"{enrol}/1"), ("test", f"{test}/1"), ("score", 0.0)):
            trials[name].append(cell)
    audit = pv.audit(
        trials,
        speakers={"id": ids, "kind": ["groups", "worse"] * 20},
        by="kind",
        operating_points="threshold=0.5",
        reference="worse",
        replicates=50,
    )
    labels = {"groups": "children", "worse": "adults"}
    shown = pv.labelled(audit, {"labels": labels})

    def finding(of, group):
        (row,) = of.verdicts.subset(group=group, metric="fnr").rows()
        return finding_text(row)

    assert finding(audit, "").endswith("better: groups")
    assert finding(shown, "") == finding(audit, "").removesuffix("groups") + "children"
    assert finding(shown, "children").endswith(" as among adults")
    assert finding(shown, "children").startswith("false rejects ")
