"""The command line as a process: what it prints, where, and what it writes."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parivox as pv

pytestmark = pytest.mark.minimal
ESCAPE = "\x1b"
BASIC = ("audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender")


@pytest.fixture(scope="module")
def done(parivox):
    return parivox(*BASIC, "--operating-point", "fpr=0.1")


def test_help(parivox):
    for words in (("--help",), (), ("audit", "--help")):
        found = parivox(*words)
        assert found.returncode == 0
        assert found.stderr == ""
        assert "audit" in found.stdout
        assert ESCAPE not in found.stdout


COMMON = {
    *("--speakers", "--by", "--trials", "--utterances", "--operating-point", "--limit"),
    *("--compare", "--out", "--report", "--verbose"),
}


def test_help_lists_the_ten_most_used_options_and_help_all_every_one(parivox):
    listed = re.compile(r"^  (?:-v, )?(--[a-z-]+)", re.MULTILINE)
    few, every = (
        listed.findall(parivox("audit", each).stdout) for each in ("--help", "--help-all")
    )
    assert {*few} == COMMON | {"--help-all"}
    assert len(every) > 50
    for option in (
        *("--zero", "--threshold-from", "--allocate", "--cost", "--eer", "--rule", "--reference"),
        *("--alpha", "--sweep", "--llr", "--compat", "--columns", "--id", "--distance"),
        *("--similarity", "--conflicts", "--format", "--json", "--quiet", *few),
    ):
        assert option in every


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", ["audit", "report"])
def test_help_fits_the_terminal(parivox, command, width):
    told = parivox(*command.split(), "--help", COLUMNS=str(width)).stdout
    assert max(map(len, told.splitlines())) <= width


def test_version(parivox):
    found = parivox("--version")
    assert (found.returncode, found.stdout) == (0, f"parivox {pv.__version__}\n")


@pytest.mark.slow
def test_an_audit(done):
    assert done.returncode == 0, done.stderr
    assert "gender" in done.stdout
    assert "fpr=0.1" in done.stdout


@pytest.mark.slow
def test_piped_output_is_plain(done):
    assert ESCAPE not in done.stdout
    assert ESCAPE not in done.stderr
    assert "\r" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


def test_quiet(parivox, done):
    found = parivox(*BASIC, "--operating-point", "fpr=0.1", "--quiet")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == done.stdout


def test_json(parivox):
    found = parivox(*BASIC, "--json")
    assert found.returncode == 0
    told = json.loads(found.stdout)
    assert told["options"]["by"] == ["gender"]
    assert told["tables"]["groups"]["group"]


@pytest.mark.slow
def test_json_is_that_of_python_and_of_the_file(parivox, files, tmp_path):
    found = parivox(*BASIC, "--json", "--out", tmp_path / "a")
    assert (tmp_path / "a" / "audit.json").read_text() == found.stdout
    audit = pv.audit(files / "scores.csv", speakers=files / "speakers.csv", by=["gender"])
    assert audit.to_json() == found.stdout


@pytest.mark.slow
def test_out(parivox, tmp_path):
    out = tmp_path / "deep" / "audit"
    found = parivox(*BASIC, "--out", out)
    assert found.returncode == 0
    assert str(out) in found.stdout.replace("\n", " ") or out.name in found.stdout
    names = {path.name for path in out.iterdir()}
    assert {"groups.csv", "bias.csv", "meta.csv", "matrix.csv", "audit.json"} <= names
    with (out / "groups.csv").open(newline="") as file:
        assert {row["system"] for row in csv.DictReader(file)} == {"scores"}
    found = parivox(*BASIC, "--out", out, "--format", "parquet")
    assert found.returncode == 0
    assert not (out / "groups.csv").exists()
    assert len(pv.load(out).groups) > 0


@pytest.mark.slow
def test_standard_input(parivox, files, done):
    content = (files / "scores.csv").read_text()
    found = parivox(
        "audit", "-", *BASIC[2:], "--operating-point", "fpr=0.1", "--quiet", stdin=content
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.replace("stdin", "scores") == done.stdout


@pytest.mark.slow
def test_several_systems_and_lists(parivox):
    found = parivox(
        *("audit", "A@x=scores.csv", "A@y=other.csv", "B=scores.csv"), *BASIC[2:], "--json"
    )
    told = json.loads(found.stdout)
    names = [(one["system"], one["list"]) for one in told["inputs"]]
    assert names == [("A", "x"), ("A", "y"), ("B", "")]


@pytest.mark.slow
def test_several_files_without_names(parivox):
    found = parivox("audit", "scores.csv", "other.csv", *BASIC[2:], "--json")
    told = json.loads(found.stdout)
    assert [one["system"] for one in told["inputs"]] == ["scores", "other"]


def test_a_file_whose_name_holds_an_equals_sign(parivox, files, tmp_path):
    (tmp_path / "a=b.csv").write_text((files / "scores.csv").read_text())
    found = parivox(
        *("audit", "a=b.csv", "--speakers", files / "speakers.csv", "--by", "gender", "--json"),
        cwd=tmp_path,
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["inputs"][0]["system"] == "a=b"


def test_options_reach_the_audit(parivox):
    found = parivox(
        *("audit", "scores.csv", "--speakers", "speakers.csv", "--by", "Gender+NATION"),
        *("--by", "age:30,50", "--operating-point", "eer", "--operating-point", "min-cdet"),
        *("--cost", "sre08", "--cost", "0.2,1,5", "--eer", "rocch", "--eer", "kaldi"),
        *("--rule", "interp", "--allocate", "enrol", "--allocate", "either", "--zero", "nist"),
        *("--reference", "best", "--reference", "f+A", "--alpha", "0:1:0.5", "--llr"),
        *("--sweep", "fpr=0.1:0.5:3", "--compat", "bt4vt", "--conflicts", "set-aside", "--json"),
    )
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    options = told["options"]
    assert options["by"] == ["Gender+NATION", "age:30,50"]
    assert options["operating_points"] == ["eer", "min-cdet"]
    assert options["cost"] == ["sre08", "0.2,1,5"]
    assert options["eer"] == ["rocch", "kaldi"]
    assert options["rule"] == ["interp"]
    assert options["allocate"] == ["enrol", "either"]
    assert options["zero"] == ["nist"]
    assert options["reference"] == ["best", "f+A"]
    assert options["alpha"] == [0.0, 0.5, 1.0]
    assert options["sweep"] == "fpr=0.1:0.5:3"
    assert options["llr"] is True
    assert options["compat"] == "bt4vt"
    assert options["conflicts"] == "set-aside"
    groups = {
        (grouping.lower(), group)
        for grouping, group in zip(
            told["tables"]["groups"]["grouping"], told["tables"]["groups"]["group"], strict=True
        )
    }
    assert {("age:30,50", "<30"), ("age:30,50", "30-49"), ("age:30,50", "50+")} <= groups
    assert ("gender+nation", "f+A") in groups


@pytest.mark.slow
def test_thresholds_of_development_scores(parivox):
    found = parivox(*BASIC, "--operating-point", "eer", "--threshold-from", "other.csv", "--json")
    (source,) = json.loads(found.stdout)["tables"]["operating_points"]["source"]
    assert source == "development trials"
    found = parivox(
        *("audit", "A=scores.csv", "B=other.csv", *BASIC[2:], "--operating-point", "eer"),
        *("--threshold-from", "A=other.csv", "--threshold-from", "B=scores.csv", "--json"),
    )
    points = json.loads(found.stdout)["tables"]["operating_points"]
    assert points["source"] == ["development trials"] * 2
    assert points["threshold"][0] != points["threshold"][1]


def test_columns(parivox, files, tmp_path):
    text = (files / "scores.csv").read_text().replace("enrol,test,score,label", "x1,x2,x3,x4")
    (tmp_path / "s.csv").write_text(text)
    words = ("audit", "s.csv", "--speakers", files / "speakers.csv", "--by", "gender", "--json")
    found = parivox(*words, "--columns", "enrol=x1,test=x2,score=x3,label=x4", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert parivox(*words, cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_separate_trials_and_distances(parivox, files, tmp_path):
    scores, trials = ["enrol,test,score"], ["enrol,test,label"]
    for line in (files / "scores.csv").read_text().splitlines()[1:]:
        enrol, test, score, label = line.split(",")
        scores.append(f"{enrol},{test},{-float(score)}")
        trials.append(f"{enrol},{test},{label}")
    (tmp_path / "scores.csv").write_text("\n".join(scores) + "\n")
    (tmp_path / "trials.csv").write_text("\n".join([trials[0], *reversed(trials[1:])]) + "\n")
    words = ("audit", "scores.csv", "--trials", "trials.csv", "--by", "gender", "--json")
    words = (*words, "--speakers", files / "speakers.csv")
    assert "--distance" in parivox(*words, cwd=tmp_path).stderr
    found = parivox(*words, "--distance", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    tables = json.loads(found.stdout)["tables"]
    plain = json.loads(parivox(*BASIC, "--json").stdout)["tables"]
    for name in ("groups", "bias", "meta", "matrix"):
        assert tables[name] == plain[name]
    assert parivox(*words, "--similarity", cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "threads"), [("1", "1"), ("2", "4")])
def test_hash_seeds_and_threads_change_nothing(parivox, seed, threads):
    wanted = parivox(*BASIC[:4], "--json").stdout
    found = parivox(*BASIC[:4], "--json", process=True, PYTHONHASHSEED=seed,
                    POLARS_MAX_THREADS=threads)  # fmt: skip
    assert found.stdout == wanted != ""


@pytest.mark.slow
def test_in_a_terminal_it_is_coloured(files):
    pty = pytest.importorskip("pty")
    main, other = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}}
    home = str(Path(pv.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-m", "parivox", *BASIC],
        cwd=files,
        stdout=other,
        stderr=other,
        env={**environment, "TERM": "xterm-256color", "PYTHONPATH": home},
    ) as process:
        os.close(other)
        told = b""
        while True:
            try:
                block = os.read(main, 4096)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            told += block
        assert process.wait(60) == 0
    os.close(main)
    assert ESCAPE.encode() in told
    assert b"gender" in told
    assert b"parivox: reading" not in told


@pytest.mark.slow
def test_whoever_reads_the_output_may_leave(files):
    home = str(Path(pv.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-m", "parivox", *BASIC, "--json"],
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": home},
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        told = process.stderr.read().decode()
        assert process.wait(60) == 0
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
