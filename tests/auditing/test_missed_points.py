"""Operating points that are not what they are called: told as such, and nobody is called alike."""

import numpy as np
import pytest
from tests.sentences import item_in_words, note_in_words

import parivox as pv
from parivox.core.verdict import verdicts
from parivox.report.catalogue import finding_text
from parivox.report.html import html_report
from parivox.report.terminal import print_summary

pytestmark = pytest.mark.slow

FEW = {"reference": "others", "zero": "none"}
"""Fewer measures of bias than by default: they are not what is tested here."""


@pytest.fixture(scope="module")
def trials_and_speakers(simulate):
    return simulate(speakers=48, utterances=4)


def scored(trials, change):
    return {**trials, "score": change(np.array(trials["score"])).tolist()}


def audited(trials, people, **more):
    options = {"by": "gender", "operating_points": ["fpr=0.01"], "replicates": 60} | FEW | more
    return pv.audit({"A": trials}, speakers=people, **options)


def odd(audit):
    return [
        (item_in_words(row), note_in_words(row))
        for row in audit.data.subset(source="operating points")
    ]


def verdicts_of(audit, metric):
    return [(row["verdict"], row["reason"]) for row in audit.verdicts.subset(metric=metric)]


@pytest.mark.usefixtures("undrawn")
def test_a_rate_that_development_scores_miss_is_told(trials_and_speakers, capsys):
    trials, people = trials_and_speakers
    far = audited(trials, people, threshold_from=scored(trials, lambda score: score - 100))
    (point,) = far.operating_points
    assert point["fpr"] == 1
    outside = "thresholds outside the range of scores, possibly from another model or scale"
    assert odd(far) == [
        ("missed operating points", "fpr=0.01 gives a rate of 100 %"),
        (outside, "fpr=0.01 accepts all trials"),
    ]
    rows = list(far.verdicts.subset(metric="fpr"))
    assert {row["verdict"] for row in rows} == {"inconclusive"}
    assert {row["reason"] for row in rows if row["group"]} == {"too_common"}
    assert all("differs by more" not in finding_text(row) for row in far.verdicts)
    print_summary(far, details=True)
    summary = " ".join(capsys.readouterr().out.split())
    assert "missed operating points: fpr=0.01 gives a rate of 100 %" in summary
    assert "both groups are inconclusive: error rate too high to compare" in summary
    shown = " ".join(html_report(far).split())
    assert "A: missed operating points: fpr=0.01 gives a rate of 100 %" in shown
    assert "at which 1 % of all nontarget trials are accepted" not in shown
    assert "chosen so that 1 % of all nontarget trials are accepted; here 100 %" in shown
    assert "no group of 2 differs" not in shown


@pytest.mark.usefixtures("undrawn")
def test_a_rate_that_is_met_within_chance_is_no_miss(trials_and_speakers):
    trials, people = trials_and_speakers
    draw = np.random.default_rng(4)
    noise = draw.normal(0, 0.05, len(trials["score"]))
    near = audited(trials, people, threshold_from=scored(trials, lambda score: score + noise))
    assert odd(near) == []
    assert odd(audited(trials, people)) == []
    shown = html_report(near)
    assert "chosen so that 1 % of all nontarget trials are accepted; here" in shown


@pytest.mark.parametrize(
    "change",
    [np.ones_like, lambda score: (score > 1).astype(float)],
    ids=["constant", "0 or 1"],
)
@pytest.mark.usefixtures("undrawn")
def test_an_infinite_threshold_is_told_and_finds_nobody_alike(trials_and_speakers, change, capsys):
    trials, people = trials_and_speakers
    audit = audited(scored(trials, change), people)
    (point,) = audit.operating_points
    assert (point["threshold"], point["fpr"], point["fnr"]) == (np.inf, 0, 1)
    assert odd(audit) == [
        ("missed operating points", "fpr=0.01 gives a rate of 0 %"),
        ("infinite thresholds", "fpr=0.01 has a threshold of inf"),
    ]
    assert {verdict for verdict, _ in verdicts_of(audit, "fnr")} == {"inconclusive"}
    assert {verdict for verdict, _ in verdicts_of(audit, "fpr")} == {"inconclusive"}
    for row in audit.verdicts.subset(group=""):
        assert finding_text(row).endswith("both groups are inconclusive: the threshold is infinite")
    print_summary(audit, details=True)
    summary = " ".join(capsys.readouterr().out.split())
    assert "infinite thresholds: fpr=0.01 has a threshold of inf" in summary
    assert "no difference" not in summary.split("FNR: target trials rejected")[0]
    shown = " ".join(html_report(audit).split())
    assert "A: infinite thresholds: fpr=0.01 has a threshold of inf" in shown
    assert "no group is shown to" not in shown
    assert "close to the rate that defines the threshold" not in shown


def test_alike_is_said_only_where_a_group_could_have_more_errors_by_the_margin():
    judged = [
        verdicts([1.0], [0.95], [1.05], [0.9], pooled=[pooled]) for pooled in (0.5, 0.79, 0.8)
    ]
    assert [verdict.code.item() for verdict in judged] == [
        "equivalent",
        "equivalent",
        "inconclusive",
    ]
    assert judged[-1].reason.item() == "too_common"
    fewer = verdicts([0.5], [0.4], [0.6], [0.001], pooled=[0.9])
    assert fewer.code.item() == "better"
