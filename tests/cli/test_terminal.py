"""Terminals, broken streams and odd names: no traceback, nothing raw, one sentence."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from parivox.cli import main, process
from parivox.errors import ConfigError

pytestmark = [pytest.mark.minimal, pytest.mark.slow]
SPEAKERS = ("--speakers", "speakers.csv", "--by", "gender")
BASIC = ("audit", "scores.csv", *SPEAKERS, "--replicates", "50")
OLD_AUDITS = Path(__file__).parents[1] / "old_audits"
EVIL = "\x1b]0;x\x07\x9b1m\x7f\u202e\u2066\t"


@pytest.fixture
def shell(files, program):
    """Run a shell command in which `parivox` stands for the command line."""

    def run(line, cwd=files):
        return subprocess.run(
            ["/bin/sh", "-c", line.replace("parivox", str(program), 1)],
            cwd=cwd,
            capture_output=True,
            check=False,
            timeout=60,
        )

    return run


def sentence(completed, words=""):
    assert completed.returncode == 2, completed.stderr
    text = completed.stderr if isinstance(completed.stderr, str) else completed.stderr.decode()
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    last_line = text.splitlines()[-1]
    assert last_line.startswith("parivox: error: ")
    assert words in last_line


@pytest.mark.parametrize("name", ["[/z]", "[red]", ":smile:"])
def test_names_are_no_markup_in_the_progress(in_terminal, files, name):
    code, screen = in_terminal(("audit", f"{name}=scores.csv", *SPEAKERS), files, at_once=True)
    assert code == 0, screen
    assert f"measuring {name}" in screen


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_narrow_encodings(parivox, files, tmp_path, encoding):
    (tmp_path / "tiny.csv").write_text("enrol,test,score,label\ns0/1,s0/2,1,1\ns0/1,s1/1,0,0\n")
    for source in (files / "scores.csv", tmp_path / "tiny.csv"):
        completed = parivox("audit", source, *SPEAKERS, "--quiet", PYTHONIOENCODING=encoding)
        assert (completed.returncode, completed.stderr) == (0, "")
        assert completed.stdout.isascii()
        assert "\\" not in completed.stdout


def test_json_is_utf8_whatever_the_terminal(parivox, files, tmp_path):
    text = (files / "speakers.csv").read_text().replace(",f,", ",é–,")
    (tmp_path / "speakers.csv").write_text(text, encoding="utf-8")
    words = ("audit", files / "scores.csv", "--speakers", tmp_path / "speakers.csv")
    completed = parivox(*words, "--by", "gender", "--json", PYTHONIOENCODING="ascii")
    assert "é–" in json.loads(completed.stdout)["tables"]["groups"]["group"]


# ---- folders that cannot be


@pytest.mark.parametrize("name", ["x" * 300, "new/" + "x" * 300, "", "o\udcff"])
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_impossible_folders(parivox, files, name):
    before = set(files.iterdir())
    completed = parivox(*BASIC, "--out", name)
    sentence(completed, "--out ")
    assert "reading" not in completed.stderr
    assert set(files.iterdir()) == before


def test_a_working_folder_that_is_gone(shell, files, tmp_path):
    (tmp_path / "gone").mkdir()
    words = f"'{files}/scores.csv' --speakers '{files}/speakers.csv' --by gender --out o"
    sentence(shell(f"rmdir ../gone; parivox audit {words}", tmp_path / "gone"), "--out o")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
def test_a_folder_that_may_not_be_entered(parivox, tmp_path):
    (tmp_path / "locked").mkdir(mode=0)
    sentence(parivox(*BASIC, "--out", tmp_path / "locked" / "o"), "--out ")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_names_that_are_not_utf8(parivox, files, tmp_path):
    path = tmp_path / "o\udcff.csv"
    path.write_bytes((files / "scores.csv").read_bytes())
    speakers = tmp_path / "p\udcfe.csv"
    speakers.write_text((files / "speakers.csv").read_text())
    people = ("--speakers", speakers, "--by", "gender")
    for source, name in ((path, r"o\xff"), (f"S\udcfd={path}", r"S\xfd")):
        completed = parivox("audit", source, *people, "--out", tmp_path / "a")
        assert completed.returncode == 0, completed.stderr
        assert name in completed.stdout
        record = json.loads((tmp_path / "a" / "audit.json").read_text("utf-8"))
        assert record["inputs"][0]["system"] == name
        provenance = (tmp_path / "a" / "provenance.json").read_text("utf-8")
        assert {r"o\xff.csv", r"p\xfe.csv"} <= {
            Path(input_record["name"]).name for input_record in json.loads(provenance)
        }


# ---- broken streams


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [" ".join(BASIC), " ".join((*BASIC, "--json")), "--help", ""])
def test_a_full_disk(shell, words):
    sentence(shell(f"parivox {words} >/dev/full"), "No space left")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_error_that_is_full_or_closed_stops_nothing(shell, tmp_path):
    words = " ".join(BASIC)
    for i, redirection in enumerate(("2>/dev/full", "2>&-")):
        completed = shell(f"parivox {words} --out '{tmp_path}/{i}' {redirection}")
        assert completed.returncode == 0
        assert b"gender" in completed.stdout
        assert (tmp_path / str(i) / "audit.json").exists()


def test_closed_standard_output(shell, tmp_path):
    completed = shell(f"parivox {' '.join(BASIC)} --out '{tmp_path}/o' >&-")
    sentence(completed, "standard output is closed")
    assert not (tmp_path / "o").exists()


def test_closed_standard_input(shell):
    for words in (f"- {' '.join(SPEAKERS)}", "scores.csv --speakers - --by gender"):
        sentence(shell(f"parivox audit {words} <&-"), "standard input is closed")


def with_closed_pipe(program, words, cwd):
    """The command whose reader has closed the pipe of its output."""
    ours, theirs = os.pipe()
    os.close(ours)
    completed = subprocess.run(
        [program, *words],
        cwd=cwd,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(theirs)
    return completed


def test_a_closed_pipe_is_silent(program, files):
    completed = with_closed_pipe(program, [*BASIC, "--quiet"], files)
    assert (completed.returncode, completed.stderr) == (0, b"")


JUDGEMENTS = {
    "audit": (1, [*BASIC, "--limit", "fnr=1%", "--fail-on", "not-met,inconclusive", "--quiet"]),
    "gate": (3, ["gate", "old", "--policy", "policy.yaml"]),
    "monitor": (1, ["monitor", "--state", OLD_AUDITS / "1-stream.state"]),
    "check": (1, ["trials", "check", "scores.csv", *SPEAKERS[:2], "--strict"]),
}


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_a_closed_pipe_does_not_change_the_exit_code(program, files, tmp_path, name):
    code, words = JUDGEMENTS[name]
    for file in ("scores.csv", "speakers.csv"):
        (tmp_path / file).write_text((files / file).read_text())
    with zipfile.ZipFile(OLD_AUDITS / "0.2.0-plain.zip") as archive:
        archive.extractall(tmp_path / "old")
    rules = "parivox-policy: 1\nconditions:\n- {name: c, rate: fnr, at-most: 1.01x}\n"
    (tmp_path / "policy.yaml").write_text(rules)
    assert with_closed_pipe(program, words, tmp_path).returncode == code


def test_work_after_the_pipe_is_closed_is_done(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with process.printing():
            sys.stdout.write("x")
        process.print_lines(["discarded", "too"])


def test_a_stream_without_a_number_is_left_alone(monkeypatch):
    class Full(io.StringIO):
        def flush(self):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(ConfigError, match="No space left"), process.printing():
        sys.stdout.write("x")


# ---- characters that steer a terminal


def is_tame(text):
    return all(c.isprintable() for c in text.replace("\n", ""))


def test_nothing_raw_reaches_the_terminal(parivox, files, tmp_path):
    name = f"s{EVIL}".replace("/", "")
    (tmp_path / f"{name}.csv").write_text((files / "scores.csv").read_text())
    lines = (files / "speakers.csv").read_text().splitlines()
    people = [f"speaker,gen{EVIL}\n"]
    people += [f'{line.split(",")[0]},"{line.split(",")[1]}{EVIL}\n"\n' for line in lines[1:]]
    (tmp_path / "speakers.csv").write_text("".join(people))
    speaker_options = ("--speakers", tmp_path / "speakers.csv")
    for source in (f"{name}.csv", f"sys{EVIL}={name}.csv"):
        completed = parivox(
            "audit", source, *speaker_options, "--out", tmp_path / f"o{EVIL}", cwd=tmp_path
        )
        assert completed.returncode == 0, completed.stderr
        assert r"\x1b]0;x\x07\x9b1m\x7f\u202e\u2066\x09" in completed.stdout
        assert is_tame(completed.stdout)
        assert is_tame(completed.stderr)
    record = json.loads((tmp_path / f"o{EVIL}" / "audit.json").read_text())
    assert EVIL in record["inputs"][0]["system"]  # data stay as they are


@pytest.mark.parametrize(
    "words",
    [
        ("audit", f"no{EVIL}.csv", *SPEAKERS),
        ("audit", f"a{EVIL}=scores.csv", f"a{EVIL}=scores.csv", *SPEAKERS),
        (*BASIC, "--by", f"x{EVIL}"),
        (*BASIC, f"--x{EVIL}"),
        (*BASIC, "--out", f"speakers.csv/{EVIL}\n"),
    ],
)
def test_nor_do_errors(parivox, words):
    completed = parivox(*words)
    sentence(completed)
    assert is_tame(completed.stderr)


# ---- interruption


def test_an_interrupt_after_the_files_tells_where_they_are(monkeypatch, capsys, files, tmp_path):
    monkeypatch.chdir(files)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("parivox.report.terminal.print_summary", interrupt)
    for words, message in (
        (("--out", str(tmp_path / "o")), f"the audit is in {tmp_path / 'o'}"),
        ((), "nothing was written"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*BASIC, *words, "--quiet"])
        assert ended.value.code == 130
        assert capsys.readouterr().err == f"parivox: stopped; {message}\n"


def test_an_interrupt_while_the_folder_is_written(monkeypatch, capsys, files, tmp_path):
    monkeypatch.chdir(files)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("parivox.data.table.Table.write_file", interrupt)
    with pytest.raises(SystemExit):
        main([*BASIC, "--out", str(tmp_path / "o"), "--quiet"])
    assert "may not contain this audit" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ---- names


def test_a_role_twice(parivox):
    sentence(parivox(*BASIC, "--columns", "score=score,score=label"), "score is given twice")


def test_an_empty_name(parivox):
    for source in ("=scores.csv", "@list=scores.csv"):
        sentence(parivox("audit", source, *SPEAKERS), "no name")


def test_only_before_an_equals_sign_is_a_list_named(parivox, files, tmp_path):
    (tmp_path / "a@b.csv").write_text((files / "scores.csv").read_text())
    path = tmp_path / "a@b.csv"
    for sources, names in (
        ((path,), [("a@b", "")]),
        ((path, "scores.csv"), [("a@b", ""), ("scores", "")]),
        ((f"a@b={path}", "scores.csv"), [("a", "b"), ("scores", "")]),
    ):
        record = json.loads(parivox("audit", *sources, *SPEAKERS, "--json").stdout)
        assert [
            (input_record["system"], input_record["list"]) for input_record in record["inputs"]
        ] == names


def test_development_files_without_a_name_are_not_split_either(parivox, files, tmp_path):
    (tmp_path / "a@b.csv").write_text((files / "scores.csv").read_text())
    path = tmp_path / "a@b.csv"
    words = ("--threshold-from", path, "--threshold-from", "other.csv", "--json")
    completed = parivox("audit", path, "other.csv", *SPEAKERS, *words)
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_commands_cut_no_word_in_a_terminal_of_any_width(in_terminal, files, width):
    for words in (
        (*BASIC, "--out", "audit"),
        ("trials", "check", "scores.csv", "--speakers", "speakers.csv"),
        ("plan", "--pilot", "audit"),
        ("inspect", "scores.csv", "speakers.csv"),
    ):
        code, screen = in_terminal(words, files, stream_name="stdout", width=width)
        assert code in {0, 1}, screen
        lines = re.sub(r"\x1b\[[0-9;]*m", "", screen).splitlines()
        assert len(lines) > 5
        assert "…" not in screen
        wide = [line for line in lines if len(line) > width]
        assert all("parivox audit" in line for line in wide)


# ---- mistakes


def test_a_mistake_is_told_with_its_mend_on_a_line_of_its_own_in_a_terminal(in_terminal, files):
    code, screen = in_terminal(("audit", "scores.csv", "--by", "gender", "--quiet"), files)
    assert code == 2
    error, hint = re.sub(r"\x1b\[[0-9;]*m", "", screen).splitlines()
    assert error == "error: --by: unknown attribute 'gender' (searched the trials, scores.csv)"
    assert hint == "hint: add the speaker table that contains it, with --speakers FILE"
    assert "\x1b[1merror" in screen  # of sixteen colours none is seen on every ground


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("audi",), "unknown command 'audi' for parivox; did you mean 'audit'?"),
        (
            ("trials", "gradde"),
            "unknown command 'gradde' for parivox trials; did you mean 'grade'?",
        ),
        (
            ("audit", "s.csv", "--speaker=s"),
            "unknown option --speaker for parivox audit; did you mean --speakers",
        ),
        (("audit", "s.csv", "--xyz"), "for parivox audit; see parivox audit --help"),
        (("inspect", "s.csv", "--jso"), "did you mean --json? available: --help, --columns"),
    ],
)
def test_what_is_mistyped_is_told_with_what_may_be_meant(parivox, words, message):
    done = parivox(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("parivox: error: ")
    assert message in done.stderr
