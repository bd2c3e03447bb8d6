"""Plans, policies, rule files and calibrators that somebody altered: exit code 2 and a sentence."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

OLD_AUDITS = Path(__file__).parents[1] / "old_audits"
HUGE, DEEP = 10**400, "[" * 100_000


def edited(document, path, value):
    """A copy in which one place has another value; `KeyError` takes it out."""
    document = json.loads(json.dumps(document))
    *above, last_key = path
    inner = document
    for key in above:
        inner = inner[key]
    if value is KeyError:
        del inner[last_key]
    else:
        inner[last_key] = value
    return document


def yaml_text(document):
    """JSON is YAML; infinite numbers are spelt as YAML has them."""
    return json.dumps(document).replace("Infinity", ".inf").replace("NaN", ".nan")


POLICY = {
    "parivox-policy": 1,
    "conditions": [{"name": "a", "rate": "fnr", "at-most": "50%", "by": "gender"}],
}
POLICIES = [
    (["parivox-policy"], 2),
    (["parivox-policy"], True),
    (["parivox-policy"], KeyError),
    (["conditions"], []),
    (["conditions"], "all"),
    (["conditions"], [1]),
    (["conditions", 0, "rate"], "eer"),
    (["conditions", 0, "rate"], ["fnr"]),
    (["conditions", 0, "at-most"], ["5%"]),
    (["conditions", 0, "at-most"], "1e308x"),
    (["conditions", 0, "at-most"], "-5%"),
    (["conditions", 0, "at-most"], "nan%"),
    (["conditions", 0, "at-most"], {"%": 5}),
    (["conditions", 0, "at-most"], "1_0%"),
    (["conditions", 0, "by"], 3),
    (["conditions", 0, "groups"], {"f": 1}),
    (["conditions", 0, "groups"], [["f"]]),
    (["conditions", 0, "surprise"], "x"),
    (["surprise"], "x"),
]
RULES = {
    "parivox-thresholds": 1,
    "by": "gender",
    "side": "enrol",
    "common": 0.24,
    "unknown": 0.24,
    "thresholds": {"f": 0.2},
}
RULE_FILES = [
    (["parivox-thresholds"], 9),
    (["parivox-thresholds"], KeyError),
    (["by"], KeyError),
    (["by"], ["gender"]),
    (["by"], "nowhere"),
    (["side"], "left"),
    (["side"], 1),
    (["common"], "1_0"),
    (["common"], True),
    (["common"], float("nan")),
    (["common"], float("inf")),
    (["common"], [0.2]),
    (["unknown"], "often"),
    (["thresholds"], [0.2]),
    (["thresholds", "f"], None),
    (["thresholds", "f"], "0.2.1"),
    (["thresholds", "f"], {"low": 0.1}),
    (["surprise"], 1),
]
CALIBRATOR = {
    "parivox-calibrator": 1,
    "method": "logistic",
    "by": "gender",
    "side": "enrol",
    "orientation": "similarity",
    "common": {"slope": 19.4, "offset": -7.5},
    "groups": {"f": {"slope": 25.5, "offset": -8.2}},
    "found": {},
}
CALIBRATORS = [
    (["parivox-calibrator"], 2),
    (["parivox-calibrator"], "1"),
    (["method"], "linear"),
    (["method"], "isotonic"),
    (["by"], 1),
    (["by"], "nowhere"),
    (["side"], "both"),
    (["orientation"], "upwards"),
    (["common"], KeyError),
    (["common", "slope"], "2.0"),
    (["common", "slope"], True),
    (["common", "slope"], 1e308),
    (["common", "slope"], -1.0),
    (["common", "slope"], 0),
    (["common", "slope"], float("nan")),
    (["common", "slope"], HUGE),
    (["common", "offset"], float("inf")),
    (["common", "offset"], None),
    (["groups"], ["f"]),
    (["groups", "f"], {}),
    (["groups", "f", "slope"], [1]),
    (["surprise"], 1),
]
PLANS = [
    (["parivox_shards"], "2"),
    (["parivox_shards"], KeyError),
    (["system"], 1),
    (["list"], None),
    (["inputs"], {}),
    (["inputs"], []),
    (["inputs", 0, "path"], "../../../etc/passwd"),
    (["inputs", 0, "path"], 7),
    (["inputs", 0, "role"], "speakers"),
    (["inputs", 0, "sha256"], "0" * 64),
    (["inputs", 0, "rows"], HUGE),
    (["inputs", 0, "rows"], -1),
    (["shards"], []),
    (["shards"], [["scores.csv", 0, 10**9]]),
    (["shards", 0, 0, 1], -5),
    (["shards", 0, 0, 2], "10"),
    (["shards", 0, 0, 0], "nowhere.csv"),
    (["step"], "many"),
    (["options"], []),
    (["options", "by"], [["gender"]]),
    (["options", "surprise"], 1),
]


def assert_refused(done, folder, before):
    """Exit code 2, one sentence, and nothing written."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    error_lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(error_lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "RuntimeWarning" not in done.stderr
    assert {path.name for path in folder.iterdir()} == before


@pytest.fixture
def folder(tmp_path, files):
    for name in ("scores.csv", "speakers.csv"):
        shutil.copy(files / name, tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder, parivox):
    """Run a command that is refused on an altered file."""

    def run(name, text, *words):
        (folder / name).write_text(text)
        before = {path.name for path in folder.iterdir()}
        assert_refused(parivox(*words, cwd=folder), folder, before)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("change", POLICIES, ids=str)
def test_an_altered_policy_is_refused(folder, parivox, change):
    audit_options = ["--speakers", "speakers.csv", "--by", "gender", "--out", "audit"]
    assert parivox("audit", "scores.csv", *audit_options, cwd=folder).returncode == 0
    (folder / "policy.yaml").write_text(yaml_text(POLICY))
    assert parivox("gate", "audit", "--policy", "policy.yaml", cwd=folder).returncode != 2
    (folder / "policy.yaml").write_text(yaml_text(edited(POLICY, *change)))
    before = {path.name for path in folder.iterdir()}
    assert_refused(parivox("gate", "audit", "--policy", "policy.yaml", cwd=folder), folder, before)


@pytest.mark.parametrize("change", RULE_FILES, ids=str)
def test_an_altered_rule_file_is_refused(refused, change):
    words = ["audit", "scores.csv", "--speakers", "speakers.csv", "--out", "audit"]
    text = yaml_text(edited(RULES, *change))
    refused("rules.yaml", text, *words, "--thresholds", "rules.yaml")


@pytest.mark.parametrize("change", CALIBRATORS, ids=lambda change: str(change)[:60])
def test_an_altered_calibrator_is_refused(refused, change):
    words = ["calibrate", "scores.csv", "--speakers", "speakers.csv", "--out", "llr.csv"]
    text = json.dumps(edited(CALIBRATOR, *change))
    refused("calibrator.json", text, *words, "--apply", "calibrator.json")


@pytest.mark.slow
@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, "", "\x00", "[]", "null", "1e999"])
@pytest.mark.parametrize("name", ["calibrator.json", "rules.yaml", "policy.yaml"])
def test_what_is_none_of_them_is_refused(refused, name, text):
    words = {
        "calibrator.json": ["calibrate", "scores.csv", "--apply", name, "--out", "llr.csv"],
        "rules.yaml": ["audit", "scores.csv", "--thresholds", name],
        "policy.yaml": ["gate", "nowhere", "--policy", name],
    }
    refused(name, text, *words[name])


@pytest.mark.slow
@pytest.mark.parametrize("change", PLANS, ids=lambda change: str(change)[:60])
def test_an_altered_plan_is_refused_although_it_is_signed_anew(folder, parivox, change):
    plan_options = ["--speakers", "speakers.csv", "--by", "gender", "--shards", "2", "--out", "run"]
    assert parivox("shards", "plan", "scores.csv", *plan_options, cwd=folder).returncode == 0
    path = folder / "run" / "plan.json"
    plan = edited(json.loads(path.read_text()), *change)
    del plan["id"]
    signed = json.dumps(plan, ensure_ascii=False, sort_keys=True)
    plan["id"] = hashlib.sha256(signed.encode()).hexdigest()
    path.write_text(json.dumps(plan))
    before = {plan_file.name for plan_file in (folder / "run").iterdir()}
    for words in (["run", "run", "--shard", "1"], ["merge", "run", "--out", "audit"]):
        done = parivox("shards", *words, cwd=folder)
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
    written = {plan_file.name for plan_file in (folder / "run").iterdir()} - before
    assert not {name for name in written if not name.startswith((".", "0000"))}
    assert not (folder / "audit").exists()
