"""Policies: what they say, what is refused, and the schema that editors read."""

import importlib.resources
import json
from datetime import date

import pytest
import yaml

from parivox.decide.policy_file import EXAMPLE, VERSION, read_policy
from parivox.errors import ConfigError

CONDITION = {"name": "FNR", "rate": "fnr", "at-most": "5%"}
ACCEPTED = {"condition": "FNR", "reason": "few speakers", "until": "2027-06-30"}


def policy(*conditions, accept=None, **extra_entries):
    entries = {
        "parivox-policy": VERSION,
        "conditions": list(conditions or [CONDITION]),
        **extra_entries,
    }
    return entries | ({} if accept is None else {"accept": accept})


@pytest.fixture(scope="module")
def schema():
    schema_file = importlib.resources.files("parivox.decide") / "policy.schema.json"
    return json.loads(schema_file.read_text(encoding="utf-8"))


def test_what_a_file_says(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(EXAMPLE.replace("# ", "").partition("accept:")[0].partition("parivox-")[2])
    path.write_text(EXAMPLE)
    policy_read = read_policy(path)
    assert policy_read.name == "policy.yaml"
    assert [
        (condition.rate, condition.maximum, condition.is_ratio, condition.reference)
        for condition in policy_read.conditions
    ] == [
        ("fnr", 1.5, True, "others"),
        ("fnr", 0.1, False, "others"),
        ("fpr", None, False, "others"),
    ]
    assert len(policy_read.provenance["sha256"]) == 64


# 99.9 / 100 and 94.9 / 100 are above 0.999 and 0.949
@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("90%", 0.9),
        ("95 %", 0.95),
        ("0.999", 0.999),
        ("99.9%", 0.999),
        ("94.9%", 0.949),
        (None, 0.95),
    ],
)
def test_the_confidence_that_an_audit_needs(text, confidence, schema, optional):
    entries = policy() if text is None else policy(confidence=text)
    assert read_policy(entries).confidence == confidence
    assert optional("jsonschema").Draft202012Validator(schema).is_valid(entries)


def test_what_is_accepted_ends(tmp_path):
    (acceptance,) = read_policy(policy(accept=[ACCEPTED | {"groups": ["f"]}])).accepted
    assert acceptance.covers("FNR", "f", date(2027, 6, 30))
    assert not acceptance.covers("FNR", "f", date(2027, 7, 1))
    assert not acceptance.covers("FNR", "m", date(2027, 6, 30))
    (acceptance_of_all,) = read_policy(policy(accept=[ACCEPTED])).accepted
    assert acceptance_of_all.covers("FNR", "m", date(2027, 6, 30))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, "is not a policy (no line 'parivox-policy: 1')"),
        (policy() | {"parivox-policy": 2}, "of version '2'"),
        ({"parivox-policy": 1}, "has no conditions"),
        (policy(rules=["x"]), "'rules' is not known"),
        (policy() | {"conditions": []}, "conditions is not a list with at least one entry"),
        (policy({"rate": "fnr", "at-most": "5%"}), "has no 'name'"),
        (policy(CONDITION | {"rate": "eer"}), "'eer' is not a rate"),
        (policy(CONDITION | {"not": "worse"}), "both at-most and not"),
        (policy({"name": "a", "rate": "fnr"}), "neither at-most nor not"),
        (policy(confidence="5%"), "confidence is '5%'; give 50% to 99.9%"),
        (policy(confidence=["95%", "99%"]), "confidence is ['95%', '99%']; give 50% to 99.9%"),
        (policy(confidence={"a": "95%"}), "confidence is {'a': '95%'}; give 50% to 99.9%"),
        (policy(confidence="99.91%"), "confidence is '99.91%'; give 50% to 99.9%"),
        (policy(confidence="1.5x"), "confidence is '1.5x'; give 50% to 99.9%"),
        (policy(CONDITION | {"at-most": "5"}), "at-most is '5'; give 5% or 0.05"),
        (policy({"name": "a", "rate": "fnr", "not": "better"}), "'not' can only be worse"),
        (
            policy({"name": "a", "rate": "fta", "not": "worse"}),
            "'not' can only be worse, and only for fnr, fpr or sfar",
        ),
        (policy(CONDITION | {"than": "baseline"}), "'than' applies only to ratios"),
        (policy(CONDITION | {"at-most": "1.5x", "than": "lasts"}), "others or baseline"),
        (
            policy(CONDITION | {"rate": "fta", "at-most": "1.5x"}),
            "only fnr, fpr and sfar can have a limit on their ratio",
        ),
        (policy(CONDITION | {"groups": ["f", "f"]}), "groups names 'f' twice; name it once"),
        (policy(CONDITION, CONDITION | {"at-most": "3%"}), "two conditions have the name"),
        (
            policy(CONDITION, CONDITION | {"name": "b", "at-most": "3%"}),
            "contradict each other",
        ),
        (policy(accept=[ACCEPTED | {"condition": "FPR"}]), "'FPR' is not a condition"),
        (policy(accept=[{**ACCEPTED, "reason": ""}]), "has no 'reason'"),
        (policy(accept=[{"condition": "FNR", "reason": "few"}]), "has no 'until'"),
        (policy(accept=[ACCEPTED | {"until": "June"}]), "give a date, for example 2027-06-30"),
        (policy(accept=[ACCEPTED, ACCEPTED | {"groups": ["f"]}]), "are already accepted at"),
        (
            policy(CONDITION | {"groups": ["f"]}, accept=[ACCEPTED | {"groups": ["m"]}]),
            "'m' is not a group of 'FNR'; available: f",
        ),
    ],
)
def test_what_is_no_policy_is_refused_in_a_sentence(entries, message):
    with pytest.raises(ConfigError) as error:
        read_policy(entries)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_none_is_told_with_its_line(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("parivox-policy: 1\nconditions:\n- name: a\n  rat: fnr\n")
    with pytest.raises(ConfigError, match=r"policy.yaml: line 4: 'rat' is not known; did you mean"):
        read_policy(path)
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match="is not a policy"):
        read_policy(path)


def test_the_schema_fits_what_is_read(schema, optional):
    validator = optional("jsonschema").Draft202012Validator(schema)
    uncommented = EXAMPLE.replace("# -", "-").replace("#   ", "  ").replace("# accept", "accept")
    for text in (EXAMPLE, uncommented):
        read_policy(yaml.load(text, yaml.BaseLoader))
        entries = yaml.load(text, yaml.BaseLoader)
        assert not [*validator.iter_errors(entries)]
    assert len(read_policy(yaml.load(uncommented, yaml.BaseLoader)).accepted) == 1
    for wrong in (
        policy(rules=[]),
        policy({"name": "a", "rate": "fnr"}),
        policy(CONDITION | {"x": 1}),
    ):
        assert [*validator.iter_errors(wrong)]
