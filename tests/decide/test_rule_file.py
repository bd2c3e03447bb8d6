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

ASKED = {"by": "gender", "aim": "fpr=0.05", "folds": 6}
RULES = {"parivox-thresholds": 1, "by": "gender", "common": 2.0, "thresholds": {"m": 2.5}}
FAST = {"by": "gender", "operating_points": "deployed", "intervals": False}


@pytest.mark.parametrize("name", ["rules.yaml", "rules.json"])
def test_a_rule_that_is_written_is_read_as_it_was(shifted, tmp_path, name):
    trials, speakers = shifted
    found = pv.thresholds(trials, speakers=speakers, **ASKED)
    found.write(tmp_path / name)
    found.write(tmp_path / name)  # an earlier one may be replaced
    told = read_rules(tmp_path / name)
    if name.endswith("json"):
        assert json.loads((tmp_path / name).read_text())["thresholds"] == found.apart
    assert told.thresholds == found.apart
    assert (told.by, told.side, told.common) == ("gender", "enrol", found.record["common"])
    assert told.record()["trials_sha256"] == found.record["trials_sha256"]


def test_an_audit_by_a_rule_is_that_of_its_decisions(shifted):
    trials, speakers = shifted
    of = dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    at = [2.5 if of[name[:3]] == "m" else 2.0 for name in trials["enrol"]]
    decided = trials.with_columns(threshold=np.array(at))
    mine = pv.audit(trials, speakers=speakers, thresholds=RULES, **FAST)
    theirs = pv.audit(decided, speakers=speakers, **FAST)
    assert mine.groups.to_dict() == theirs.groups.to_dict()
    assert mine.record["thresholds"]["thresholds"] == {"m": 2.5}


def test_an_answer_says_whether_its_thresholds_were_found_on_the_same_trials(
    shifted, alike, tmp_path
):
    trials, speakers = shifted
    pv.thresholds(trials, speakers=speakers, **ASKED).write(tmp_path / "rules.yaml")

    def weak(trials, points, **more):
        asked = {"speakers": speakers, "by": "gender", "operating_points": points}
        every = overview(pv.audit(trials, **asked, **more)).caveats
        return [one.short for one in every if "the audited trials" in one.short]

    both, rules = ["deployed", "fpr=0.05"], {"thresholds": tmp_path / "rules.yaml"}
    assert weak(trials, both, **rules) == ["threshold rules set on the audited trials"]
    assert weak(alike[0], both, **rules) == []
    told = "thresholds set on the audited trials (error rates on others may differ)"
    assert weak(alike[0], ["fpr=0.05"]) == [told]


def test_the_group_may_be_that_of_the_person_at_the_door_and_unknown(shifted):
    trials, speakers = shifted
    some = speakers.with_columns(
        gender=pl.when(pl.col("speaker") == "p00").then(None).otherwise("gender")
    )
    rules = RULES | {"side": "test", "unknown": 1e6}
    people = some.with_columns(one=pl.col("speaker"))
    found = pv.audit(trials, speakers=people, thresholds=rules, **FAST | {"by": "one"})
    row = found.groups.where(group="p00", metric="fnr", operating_point="deployed").rows()[0]
    assert row["value"] == 1


def test_the_example_can_be_audited(shifted, tmp_path):
    trials, speakers = shifted
    (tmp_path / "rules.yaml").write_text(EXAMPLE)
    found = pv.audit(trials, speakers=speakers, thresholds=tmp_path / "rules.yaml", **FAST)
    assert found.record["thresholds"]["unknown"] == 0.35


@pytest.fixture
def is_valid(optional):
    """Whether a text is a rule file by the schema, for an editor and as it is read."""
    told = importlib.resources.files("parivox.data") / "rules.schema.json"
    validator = optional("jsonschema").Draft202012Validator(json.loads(told.read_text()))

    def valid(text):
        every = {
            validator.is_valid(yaml.load(text, one)) for one in (yaml.BaseLoader, yaml.CSafeLoader)
        }
        (alike,) = every
        return alike

    return valid


def test_what_is_written_and_the_example_are_right_by_the_schema(shifted, is_valid):
    trials, speakers = shifted
    assert is_valid(EXAMPLE)
    assert is_valid(pv.thresholds(trials, speakers=speakers, **ASKED).rule.text())


MEANING = ("none of its groups by gender occurs", "gnder")
"""What a schema cannot tell."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "^rules.yaml: is not a rule file, of which a line says"),
        ("by: gender", "is not a rule file"),
        ("parivox-thresholds: 2\nby: x", "line 1: is of version '2'"),
        ("parivox-thresholds: 1\nby: gender\ncommon: 1", "says nothing of 'thresholds'"),
        (EXAMPLE.replace("0.37", "high"), "line 15: the threshold of 'f' is not a number"),
        (EXAMPLE.replace("common: 0.35", "common: nan"), "line 10: common is not a number"),
        (EXAMPLE.replace("enrol\n", "both\n"), "line 7: side is not enrol or test"),
        (EXAMPLE.replace("unknown:", "unknowns:"), "line 11: 'unknowns' is not known; did you"),
        (EXAMPLE.replace("  f: 0.37", "  women: 0.37"), "none of its groups by gender occurs"),
        (EXAMPLE.replace("by: gender", "by: gnder"), "gnder"),
        ("parivox-thresholds: 1\nby: gender\ncommon: 1\nthresholds: 3", "is not a mapping"),
    ],
)
def test_what_is_no_rule_file_is_told_in_a_sentence(shifted, tmp_path, is_valid, text, told):
    trials, speakers = shifted
    assert is_valid(text) == (told in MEANING)
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(pv.ConfigError, match=told):
        pv.audit(trials, speakers=speakers, thresholds=tmp_path / "rules.yaml", **FAST)


def test_a_rule_decides_scores_of_one_system_alone(shifted):
    trials, speakers = shifted
    asked = {"speakers": speakers, "thresholds": RULES, **FAST}
    with pytest.raises(pv.ConfigError, match="several systems have no threshold in common"):
        pv.audit({"A": trials, "B": trials}, **asked)
    decided = trials.with_columns(decision=pl.lit("accept"))
    with pytest.raises(pv.ConfigError, match="tells its decisions or thresholds itself"):
        pv.audit(decided, **asked)


@pytest.mark.parametrize(
    ("command", "option"), [("thresholds", "--out"), ("calibrate", "--out"), ("gate", "--junit")]
)
def test_a_file_of_somebody_else_is_kept(run, tmp_path, command, option):
    (tmp_path / "people.csv").write_text("speaker,gender\n")
    words = ["--policy", "p.yaml"] if command == "gate" else ["--by", "gender"]
    said = run(command, "scores.csv", *words, option, "people.csv", fails=True)
    assert "people.csv: already exists and was not written by Parivox" in said
    assert (tmp_path / "people.csv").read_text() == "speaker,gender\n"
