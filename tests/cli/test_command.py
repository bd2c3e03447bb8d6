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
from parivox.cli import process

pytestmark = pytest.mark.minimal
ESCAPE = "\x1b"
BASIC = ("audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender")


@pytest.fixture(scope="module")
def done(parivox):
    return parivox(*BASIC, "--operating-point", "fpr=0.1")


def test_help(parivox):
    for words in (("--help",), (), ("audit", "--help")):
        completed = parivox(*words)
        assert completed.returncode == 0
        assert completed.stderr == ""
        assert "audit" in completed.stdout
        assert ESCAPE not in completed.stdout


COMMON = {
    "--speakers", "--by", "--trials", "--utterances", "--operating-point", "--limit",
    "--compare", "--out", "--report", "--verbose",
}  # fmt: skip


def test_help_lists_the_ten_most_used_options_and_help_all_every_one(parivox):
    listed = re.compile(r"^  (?:-v, )?(--[a-z-]+)", re.MULTILINE)
    help_options, all_options = (
        listed.findall(parivox("audit", help_option).stdout)
        for help_option in ("--help", "--help-all")
    )
    assert {*help_options} == COMMON | {"--help-all"}
    assert len(all_options) > 50
    for option in (
        "--zero",
        "--threshold-from",
        "--allocate",
        "--cost",
        "--eer",
        "--rule",
        "--reference",
        "--alpha",
        "--sweep",
        "--llr",
        "--compat",
        "--columns",
        "--id",
        "--distance",
        "--similarity",
        "--conflicts",
        "--format",
        "--json",
        "--quiet",
        *help_options,
    ):
        assert option in all_options


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", ["audit", "report"])
def test_help_fits_the_terminal(parivox, command, width):
    help_text = parivox(*command.split(), "--help", COLUMNS=str(width)).stdout
    assert max(map(len, help_text.splitlines())) <= width


def test_version(parivox):
    completed = parivox("--version")
    assert (completed.returncode, completed.stdout) == (0, f"parivox {pv.__version__}\n")


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


@pytest.mark.slow
def test_quiet(parivox, done):
    completed = parivox(*BASIC, "--operating-point", "fpr=0.1", "--quiet")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == done.stdout


@pytest.mark.slow
def test_json(parivox):
    completed = parivox(*BASIC, "--json")
    assert completed.returncode == 0
    record = json.loads(completed.stdout)
    assert record["options"]["by"] == ["gender"]
    assert record["tables"]["groups"]["group"]


@pytest.mark.slow
def test_json_is_that_of_python_and_of_the_file(parivox, files, tmp_path):
    completed = parivox(*BASIC, "--json", "--out", tmp_path / "a")
    assert (tmp_path / "a" / "audit.json").read_text() == completed.stdout
    audit = pv.audit(files / "scores.csv", speakers=files / "speakers.csv", by=["gender"])
    assert audit.to_json() == completed.stdout


@pytest.mark.slow
def test_out(parivox, tmp_path):
    out = tmp_path / "deep" / "audit"
    completed = parivox(*BASIC, "--out", out)
    assert completed.returncode == 0
    assert str(out) in completed.stdout.replace("\n", " ") or out.name in completed.stdout
    names = {path.name for path in out.iterdir()}
    assert {"groups.csv", "bias.csv", "meta.csv", "matrix.csv", "audit.json"} <= names
    with (out / "groups.csv").open(newline="") as file:
        assert {row["system"] for row in csv.DictReader(file)} == {"scores"}
    completed = parivox(*BASIC, "--out", out, "--format", "parquet")
    assert completed.returncode == 0
    assert not (out / "groups.csv").exists()
    assert len(pv.load(out).groups) > 0


@pytest.mark.slow
def test_standard_input(parivox, files, done):
    content = (files / "scores.csv").read_text()
    completed = parivox(
        "audit", "-", *BASIC[2:], "--operating-point", "fpr=0.1", "--quiet", stdin=content
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.replace("stdin", "scores") == done.stdout


@pytest.mark.slow
def test_several_systems_and_lists(parivox):
    completed = parivox(
        "audit", "A@x=scores.csv", "A@y=other.csv", "B=scores.csv", *BASIC[2:], "--json"
    )  # fmt: skip
    record = json.loads(completed.stdout)
    names = [(input_record["system"], input_record["list"]) for input_record in record["inputs"]]
    assert names == [("A", "x"), ("A", "y"), ("B", "")]


@pytest.mark.slow
def test_several_files_without_names(parivox):
    completed = parivox("audit", "scores.csv", "other.csv", *BASIC[2:], "--json")
    record = json.loads(completed.stdout)
    assert [input_record["system"] for input_record in record["inputs"]] == ["scores", "other"]


@pytest.mark.slow
def test_a_file_whose_name_holds_an_equals_sign(parivox, files, tmp_path):
    (tmp_path / "a=b.csv").write_text((files / "scores.csv").read_text())
    completed = parivox(
        "audit", "a=b.csv", "--speakers", files / "speakers.csv", "--by", "gender", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["inputs"][0]["system"] == "a=b"


@pytest.mark.slow
def test_options_reach_the_audit(parivox):
    completed = parivox(
        "audit", "scores.csv", "--speakers", "speakers.csv", "--by", "Gender+NATION",
        "--by", "age:30,50", "--operating-point", "eer", "--operating-point", "min-cdet",
        "--cost", "sre08", "--cost", "0.2,1,5", "--eer", "rocch", "--eer", "kaldi",
        "--rule", "interp", "--allocate", "enrol", "--allocate", "either", "--zero", "nist",
        "--reference", "best", "--reference", "f+A", "--alpha", "0:1:0.5", "--llr",
        "--sweep", "fpr=0.1:0.5:3", "--compat", "bt4vt", "--conflicts", "exclude", "--json",
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    record = json.loads(completed.stdout)
    options = record["options"]
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
    assert options["conflicts"] == "exclude"
    groups = {
        (grouping.lower(), group)
        for grouping, group in zip(
            record["tables"]["groups"]["grouping"], record["tables"]["groups"]["group"], strict=True
        )
    }
    assert {("age:30,50", "<30"), ("age:30,50", "30-49"), ("age:30,50", "50+")} <= groups
    assert ("gender+nation", "f+A") in groups


@pytest.mark.slow
def test_thresholds_of_development_scores(parivox):
    completed = parivox(
        *BASIC, "--operating-point", "eer", "--threshold-from", "other.csv", "--json"
    )
    (source,) = json.loads(completed.stdout)["tables"]["operating_points"]["source"]
    assert source == "development trials"
    completed = parivox(
        "audit", "A=scores.csv", "B=other.csv", *BASIC[2:], "--operating-point", "eer",
        "--threshold-from", "A=other.csv", "--threshold-from", "B=scores.csv", "--json",
    )  # fmt: skip
    points = json.loads(completed.stdout)["tables"]["operating_points"]
    assert points["source"] == ["development trials"] * 2
    assert points["threshold"][0] != points["threshold"][1]


@pytest.mark.slow
def test_columns(parivox, files, tmp_path):
    text = (files / "scores.csv").read_text().replace("enrol,test,score,label", "x1,x2,x3,x4")
    (tmp_path / "s.csv").write_text(text)
    words = ("audit", "s.csv", "--speakers", files / "speakers.csv", "--by", "gender", "--json")
    completed = parivox(*words, "--columns", "enrol=x1,test=x2,score=x3,label=x4", cwd=tmp_path)
    assert completed.returncode == 0, completed.stderr
    by_content = parivox(*words, cwd=tmp_path)
    tables = [json.loads(done.stdout)["tables"]["groups"] for done in (completed, by_content)]
    assert tables[0] == tables[1]  # columns without known names are recognised by their content


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
    completed = parivox(*words, "--distance", cwd=tmp_path)
    assert completed.returncode == 0, completed.stderr
    tables = json.loads(completed.stdout)["tables"]
    plain = json.loads(parivox(*BASIC, "--json").stdout)["tables"]
    for name in ("groups", "bias", "meta", "matrix"):
        assert tables[name] == plain[name]
    assert parivox(*words, "--similarity", cwd=tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "threads"), [("1", "1"), ("2", "4")])
def test_hash_seeds_and_threads_change_nothing(parivox, seed, threads):
    reference_output = parivox(*BASIC[:4], "--json").stdout
    completed = parivox(*BASIC[:4], "--json", process=True, PYTHONHASHSEED=seed,
                    POLARS_MAX_THREADS=threads)  # fmt: skip
    assert completed.stdout == reference_output != ""


@pytest.mark.parametrize(
    ("n_processors", "named", "n_threads"), [(1, None, "1"), (9, None, "4"), (9, "7", "7")]
)
def test_polars_uses_half_of_the_processors_unless_told(
    monkeypatch, n_processors, named, n_threads
):
    monkeypatch.setenv("POLARS_MAX_THREADS", named or "")
    if named is None:
        monkeypatch.delenv("POLARS_MAX_THREADS")
    monkeypatch.setattr(process, "processor_count", lambda: n_processors)
    process.set_up_process()
    assert os.environ["POLARS_MAX_THREADS"] == n_threads


@pytest.mark.slow
def test_in_a_terminal_it_is_coloured(files):
    pty = pytest.importorskip("pty")
    main, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}}
    home = str(Path(pv.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-m", "parivox", *BASIC],
        cwd=files,
        stdout=terminal,
        stderr=terminal,
        env={**environment, "TERM": "xterm-256color", "PYTHONPATH": home},
    ) as process:
        os.close(terminal)
        output = b""
        while True:
            try:
                block = os.read(main, 4096)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            output += block
        assert process.wait(60) == 0
    os.close(main)
    assert ESCAPE.encode() in output
    assert b"gender" in output
    assert b"parivox: reading" not in output


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
        error_output = process.stderr.read().decode()
        assert process.wait(60) == 0
    assert "Traceback" not in error_output
    assert "BrokenPipe" not in error_output
