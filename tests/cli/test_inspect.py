"""``parivox inspect`` as a process: what it prints, where, and with which exit code."""

import contextlib
import json
import os
import shlex
import subprocess

import pytest

pytestmark = pytest.mark.minimal
ESCAPE = "\x1b"


def test_help_names_the_command_and_its_options(parivox):
    assert "inspect" in parivox("--help").stdout
    help_text = parivox("inspect", "--help").stdout
    for option in ("FILE", "--columns", "--scores-format", "--json"):
        assert option in help_text


@pytest.mark.slow
def test_the_command_to_type_next_works(parivox):
    completed = parivox("inspect", "speakers.csv", "scores.csv")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert ESCAPE not in completed.stdout
    (line,) = [line for line in completed.stdout.splitlines() if line.startswith("  next: ")]
    command, *words = shlex.split(line.removeprefix("  next: "))
    assert command == "parivox"
    assert words[:2] == ["audit", "scores.csv"]
    audited = parivox(*words)
    assert audited.returncode == 0, audited.stderr


def test_a_file_that_cannot_be_read_is_told_after_the_others_are_shown(parivox):
    completed = parivox("inspect", "nosuch.csv", "scores.csv")
    assert completed.returncode == 2
    assert "file not found" in completed.stdout
    assert "435 rows" in completed.stdout
    assert "Traceback" not in completed.stderr


def test_a_problem_that_an_audit_would_refuse_is_no_failure_here(parivox, tmp_path):
    (tmp_path / "s.csv").write_text("enrol,test,score\na/1,a/2,high\n")
    completed = parivox("inspect", tmp_path / "s.csv")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "problem: s.csv, row 2, column 'score': 'high' is not a number" in completed.stdout


@pytest.mark.slow
def test_json(parivox):
    completed = parivox("inspect", "scores.csv", "speakers.csv", "--json")
    record = json.loads(completed.stdout)
    assert [file_record["kind"] for file_record in record["files"]] == ["scores", "speakers"]
    assert record["joins"][0]["column"] == "speaker"


@pytest.mark.slow
def test_standard_input(parivox, files):
    completed = parivox("inspect", "-", "speakers.csv", stdin=(files / "scores.csv").read_text())
    assert completed.returncode == 0
    first_line, second_line, *other_lines = completed.stdout.splitlines()
    assert first_line == "no problem found"
    assert second_line.startswith("  next: parivox audit - --speakers speakers.csv")
    assert any(line.startswith("standard input: scores of trials") for line in other_lines)
    assert "speakers.csv (column 'speaker') contains all" in completed.stdout


def test_columns_by_their_names(parivox, files, tmp_path):
    text = (files / "scores.csv").read_text().replace("enrol,test,score", "u,v,p", 1)
    (tmp_path / "s.csv").write_text(text)
    words = ("--columns", "enrol=u,test=v,score=p")
    completed = parivox("inspect", tmp_path / "s.csv", *words)
    assert "enrol = u, test = v, score = p" in completed.stdout
    assert "problem:" not in completed.stdout


@pytest.mark.slow
def test_audit_and_inspect_say_which_column_holds_the_speakers(parivox, tmp_path):
    trials = [(a, b, int(a == b)) for a in range(9) for b in range(9)]
    rows = [f"{a}/1,{b}/2,{label - a / 9},{label}\n" for a, b, label in trials]
    (tmp_path / "s.csv").write_text("enrol,test,score,label\n" + "".join(rows))
    people = [(number, (number + 4) % 9, "fm"[number % 2]) for number in range(9)]
    written = {
        ",speaker,sex": (people, "column 'speaker'", "p.csv (column 'speaker')"),
        ",sex": ([(name, sex) for _, name, sex in people], "a column without a name", "p.csv"),
    }
    for header, (rows, audited, inspected) in written.items():
        lines = [",".join(map(str, row)) for row in rows]
        (tmp_path / "p.csv").write_text("\n".join([header, *lines, ""]))
        completed = parivox(
            "audit", tmp_path / "s.csv", "--speakers", tmp_path / "p.csv", "--quiet"
        )
        assert f"Speaker ids: {audited}." in completed.stdout
        completed = parivox("inspect", tmp_path / "s.csv", tmp_path / "p.csv")
        (join,) = [line for line in completed.stdout.splitlines() if line.startswith("  join: ")]
        assert " contains all 9 speakers of " in join
        assert join.startswith(f"  join: {inspected} contains")
        assert "can be grouped by: sex" in completed.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "FILE"),
        (("scores.csv", "--columns", "a"), "ROLE=COLUMN"),
        (("scores.csv", "--columns", "nosuch=a"), "nosuch"),
        (("scores.csv", "--nosuch"), "--nosuch"),
    ],
)
def test_options_that_are_wrong_end_in_a_sentence(parivox, words, message):
    completed = parivox("inspect", *words)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert len(completed.stderr.splitlines()) == 1
    assert message in completed.stderr


@pytest.mark.slow
def test_names_and_values_are_no_markup_in_a_terminal(program, tmp_path):
    pty = pytest.importorskip("pty")
    (tmp_path / "[red].csv").write_text("speaker,sex\na,[bold]f\nb,:smile:\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [program, "inspect", "[red].csv"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    ) as process:
        os.close(theirs)
        screen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while chunk := os.read(ours, 65536):
                screen += chunk
        _, errors = process.communicate()
    os.close(ours)
    assert (process.returncode, errors) == (0, b"")
    assert b"[red].csv" in screen
    assert b"[bold]f" in screen
    assert b":smile:" in screen


WINDOWS = r"""enrol,test,score,label
anna\a\0.wav,anna\b\1.wav,2,1
anna\a\0.wav,bob\c\2.wav,0.1,0
bob\c\2.wav,bob\d\3.wav,1.9,1
"""


@pytest.mark.slow
def test_ids_with_backslashes_begin_with_their_speaker(parivox, tmp_path):
    (tmp_path / "s.csv").write_text(WINDOWS)
    (tmp_path / "p.csv").write_text("speaker,gender\nanna,f\nbob,m\n")
    output = parivox("inspect", "s.csv", "p.csv", cwd=tmp_path).stdout
    assert "speaker: first component of the id (2 speakers), consistent with the labels" in output
    completed = parivox("audit", "s.csv", "--speakers", "p.csv", "--quiet", cwd=tmp_path)
    assert (completed.returncode, completed.stderr) == (0, "")


def test_the_speaker_within_a_path_with_backslashes_is_found(parivox, tmp_path):
    rows = WINDOWS.replace("anna", "all\\anna").replace("bob", "all\\bob")
    (tmp_path / "s.csv").write_text(rows)
    (tmp_path / "p.csv").write_text("speaker,gender\nanna,f\nbob,m\n")
    completed = parivox("audit", "s.csv", "--speakers", "p.csv", cwd=tmp_path)
    assert "seems to be the second component of the path (100% of the ids)" in completed.stderr


@pytest.mark.slow
def test_kaldis_utt2spk_tells_speakers_without_a_header(parivox, tmp_path):
    (tmp_path / "s.csv").write_text(WINDOWS.replace("\\", "-"))
    (tmp_path / "p.csv").write_text("speaker,gender\nanna,f\nbob,m\n")
    ids = ("anna-a-0.wav", "anna-b-1.wav", "bob-c-2.wav", "bob-d-3.wav")
    (tmp_path / "utt2spk").write_text(
        "".join(f"{utterance} {utterance.split('-')[0]}\n" for utterance in ids)
    )
    hint = parivox("audit", "s.csv", "--speakers", "p.csv", cwd=tmp_path).stderr
    assert "give the speakers with --utterances, as Kaldi's utt2spk has them" in hint
    output = parivox("inspect", "s.csv", "p.csv", "utt2spk", cwd=tmp_path).stdout
    assert "utt2spk: a table of utterances" in output
    assert "join: utt2spk (column 'utterance') contains all 4 utterances of s.csv" in output
    (line,) = [line for line in output.splitlines() if line.startswith("  next: ")]
    completed = parivox(*shlex.split(line)[2:], "--quiet", cwd=tmp_path)
    assert (completed.returncode, completed.stderr) == (0, "")


def test_tables_of_nist_are_models_and_segments(parivox, tmp_path):
    (tmp_path / "models").write_text("modelid segmentid side\nm1 s1.sph a\nm2 s2.sph b\n")
    (tmp_path / "segments.tsv").write_text("segmentid\tsubjectid\ns1.sph\tp1\ns2.sph\tp1\n")
    output = parivox("inspect", "models", "segments.tsv", cwd=tmp_path).stdout
    assert "models: a table of enrolment models" in output
    assert "segments.tsv: a table of utterances" in output


@pytest.mark.slow
def test_an_inspection_warns_of_what_the_audit_warns_of(parivox, tmp_path):
    """Of attributes, of the design of the list and of scores by group: the same words."""
    rows = ["enrol,test,score,label"]
    for n in range(24):
        rows += [f"s{n:02d}/1,s{n:02d}/{k},{3 + k / 10},1" for k in range(2, 6)]
        rows += [f"s{n:02d}/1,s{(n + step) % 24:02d}/9,{step / 10},0" for step in (1, 3, 5)]
    (tmp_path / "s.csv").write_text("\n".join([*rows, ""]))
    nations = ["UK", "United Kingdom", "India"]
    people = [f"s{n:02d},{'fm'[n % 2]},{nations[n % 3]}" for n in range(24)]
    (tmp_path / "p.csv").write_text("\n".join(["speaker,gender,nation", *people, ""]))
    output = parivox("inspect", "s.csv", "p.csv", cwd=tmp_path).stdout
    audited = parivox(*shlex.split(output.splitlines()[1].partition("next: parivox ")[2]),
                      "--no-intervals", "--quiet", "-v", cwd=tmp_path).stdout  # fmt: skip
    for words in (
        "nontarget trials, all between different groups of 'gender'",
        "values of 'nation' that may mean the same",
    ):
        assert words in output
        assert words in " ".join(audited.split())


@pytest.mark.slow
def test_placeholders_are_no_missing_speakers(parivox, tmp_path):
    """What an audit takes for nobody, an inspection takes for nobody, too."""
    pairs = [(f"s{n}", f"s{(n + step) % 8}") for n in range(8) for step in (0, 1, 3)]
    rows = [f"{a}/1.wav,{b}/2.wav,{2.0 if a == b else 0.1}" for a, b in pairs]
    rows += [f"s{n}/1.wav,nan/{n}.wav,0.2" for n in range(8)]
    (tmp_path / "s.csv").write_text("\n".join(["enrol,test,score", *rows, ""]))
    people = [f"s{n},{'fm'[n % 2]}" for n in range(8)]
    (tmp_path / "p.csv").write_text("\n".join(["speaker,sex", *people, ""]))
    output = parivox("inspect", "s.csv", "p.csv", cwd=tmp_path).stdout
    assert "join: p.csv (column 'speaker') contains all 8 speakers of s.csv" in output
    command = output.splitlines()[1].partition("next: parivox ")[2]
    completed = parivox(*shlex.split(command), "--no-intervals", "--quiet", cwd=tmp_path)
    assert completed.returncode == 0, completed
    assert "8 trials of unknown speakers excluded" in completed.stdout
