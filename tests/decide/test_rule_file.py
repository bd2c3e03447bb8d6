"""The rule file: written, read, audited, and refused where it is none."""

import importlib.resources
import json

import numpy as np
import polars as pl
import pytest
import yaml

import parivox as pv
from parivox.data.rule_file import EXAMPLE, read_rules
from parivox.report.overview import overview

OPTIONS = {"by": "gender", "aim": "fpr=0.05", "folds": 6}
RULES = {"parivox-thresholds": 1, "by": "gender", "common": 2.0, "thresholds": {"m": 2.5}}
FAST = {"by": "gender", "operating_points": "deployed", "intervals": False}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rules.yaml", "rules.json"])
def test_a_rule_that_is_written_is_read_as_it_was(shifted, tmp_path, name):
    trials, speakers = shifted
    selection = pv.thresholds(trials, speakers=speakers, **OPTIONS)
    selection.save(tmp_path / name)
    selection.save(tmp_path / name)  # an earlier one may be replaced
    rules = read_rules(tmp_path / name)
    if name.endswith("json"):
        assert json.loads((tmp_path / name).read_text())["thresholds"] == selection.apart
    assert rules.thresholds == selection.apart
    assert (rules.by, rules.side, rules.common) == ("gender", "enrol", selection.record["common"])
    assert rules.record()["trials_sha256"] == selection.record["trials_sha256"]


@pytest.mark.slow
def test_an_audit_by_a_rule_is_that_of_its_decisions(shifted):
    trials, speakers = shifted
    genders = dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    thresholds = [2.5 if genders[name[:3]] == "m" else 2.0 for name in trials["enrol"]]
    decided = trials.with_columns(threshold=np.array(thresholds))
    rule_audit = pv.audit(trials, speakers=speakers, thresholds=RULES, **FAST)
    decision_audit = pv.audit(decided, speakers=speakers, **FAST)
    assert rule_audit.groups.to_dict() == decision_audit.groups.to_dict()
    assert rule_audit.record["thresholds"]["thresholds"] == {"m": 2.5}


@pytest.mark.slow
def test_an_answer_says_whether_its_thresholds_were_found_on_the_same_trials(
    shifted, alike, tmp_path
):
    trials, speakers = shifted
    pv.thresholds(trials, speakers=speakers, **OPTIONS).save(tmp_path / "rules.yaml")

    def threshold_caveats(trials, points, **rule_options):
        options = {"speakers": speakers, "by": "gender", "operating_points": points}
        caveats = overview(pv.audit(trials, **options, **rule_options)).caveats
        return [caveat.short for caveat in caveats if "the audited trials" in caveat.short]

    points_of_both, rules = ["deployed", "fpr=0.05"], {"thresholds": tmp_path / "rules.yaml"}
    assert threshold_caveats(trials, points_of_both, **rules) == [
        "threshold rules set on the audited trials"
    ]
    assert threshold_caveats(alike[0], points_of_both, **rules) == []
    message = "thresholds set on the audited trials (error rates on other trials may differ)"
    assert threshold_caveats(alike[0], ["fpr=0.05"]) == [message]


@pytest.mark.slow
def test_the_group_may_be_that_of_the_person_at_the_door_and_unknown(shifted):
    trials, speakers = shifted
    partly_known = speakers.with_columns(
        gender=pl.when(pl.col("speaker") == "p00").then(None).otherwise("gender")
    )
    rules = RULES | {"side": "test", "unknown": 1e6}
    people = partly_known.with_columns(one=pl.col("speaker"))
    audit = pv.audit(trials, speakers=people, thresholds=rules, **FAST | {"by": "one"})
    row = audit.groups.subset(group="p00", metric="fnr", operating_point="deployed").rows()[0]
    assert row["value"] == 1


def test_the_example_can_be_audited(shifted, tmp_path):
    trials, speakers = shifted
    (tmp_path / "rules.yaml").write_text(EXAMPLE)
    audit = pv.audit(trials, speakers=speakers, thresholds=tmp_path / "rules.yaml", **FAST)
    assert audit.record["thresholds"]["unknown"] == 0.35


@pytest.fixture
def is_valid(optional):
    """Whether a text is a rule file by the schema, for an editor and as it is read."""
    schema_file = importlib.resources.files("parivox.data") / "rules.schema.json"
    validator = optional("jsonschema").Draft202012Validator(json.loads(schema_file.read_text()))

    def valid(text):
        verdicts = {
            validator.is_valid(yaml.load(text, loader))
            for loader in (yaml.BaseLoader, yaml.CSafeLoader)
        }
        (verdict,) = verdicts
        return verdict

    return valid


@pytest.mark.slow
def test_what_is_written_and_the_example_are_right_by_the_schema(shifted, is_valid):
    trials, speakers = shifted
    assert is_valid(EXAMPLE)
    assert is_valid(pv.thresholds(trials, speakers=speakers, **OPTIONS).rule.text())


MEANING = ("none of its groups by gender occurs", "gnder")
"""What a schema cannot tell."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^rules.yaml: is not a rule file \(no line"),
        ("by: gender", "is not a rule file"),
        ("parivox-thresholds: 2\nby: x", "line 1: is of version '2'"),
        ("parivox-thresholds: 1\nby: gender\ncommon: 1", "has no 'thresholds'"),
        (EXAMPLE.replace("0.37", "high"), "line 15: the threshold of 'f' is not a number"),
        (EXAMPLE.replace("common: 0.35", "common: nan"), "line 10: common is not a number"),
        (EXAMPLE.replace("enrol\n", "both\n"), "line 7: side is not enrol or test"),
        (EXAMPLE.replace("unknown:", "unknowns:"), "line 11: 'unknowns' is not known; did you"),
        (EXAMPLE.replace("  f: 0.37", "  women: 0.37"), "none of its groups by gender occurs"),
        (EXAMPLE.replace("by: gender", "by: gnder"), "gnder"),
        ("parivox-thresholds: 1\nby: gender\ncommon: 1\nthresholds: 3", "is not a mapping"),
    ],
)
def test_what_is_no_rule_file_is_told_in_a_sentence(shifted, tmp_path, is_valid, text, message):
    trials, speakers = shifted
    assert is_valid(text) == (message in MEANING)
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(pv.ConfigError, match=message):
        pv.audit(trials, speakers=speakers, thresholds=tmp_path / "rules.yaml", **FAST)


def test_a_rule_decides_scores_of_one_system_alone(shifted):
    trials, speakers = shifted
    options = {"speakers": speakers, "thresholds": RULES, **FAST}
    with pytest.raises(pv.ConfigError, match="several systems cannot share thresholds"):
        pv.audit({"A": trials, "B": trials}, **options)
    decided = trials.with_columns(decision=pl.lit("accept"))
    with pytest.raises(pv.ConfigError, match="already contains decisions or thresholds"):
        pv.audit(decided, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "option"), [("thresholds", "--out"), ("calibrate", "--out"), ("gate", "--junit")]
)
def test_a_file_of_somebody_else_is_kept(run, tmp_path, command, option):
    (tmp_path / "people.csv").write_text("speaker,gender\n")
    words = ["--policy", "p.yaml"] if command == "gate" else ["--by", "gender"]
    message = run(command, "scores.csv", *words, option, "people.csv", fails=True)
    assert "people.csv: already exists and was not written by Parivox" in message
    assert (tmp_path / "people.csv").read_text() == "speaker,gender\n"
