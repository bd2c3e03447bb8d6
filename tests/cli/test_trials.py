"""``parivox trials`` as a process: what a person sees, exit codes, and what is written."""

import json

import polars as pl
import pytest

from parivox.data.lists.guidelines import CHECKS

ROWS = ["1 a/x/1 a/y/1", "0 a/x/2 b/z/2", "1 b/z/1 b/w/1", "0 b/z/2 a/y/2"]
CLEAN = ("--threshold", "G2=1", "--threshold", "G7=1")


@pytest.fixture
def listed(tmp_path):
    """A list and its speakers."""
    (tmp_path / "list.txt").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "people.csv").write_text("id,gender\na,f\nb,f\n")
    return tmp_path


def test_check_prints_a_line_for_each_check(parivox, listed):
    done = parivox("trials", "check", "list.txt", "--speakers", "people.csv", cwd=listed)
    assert done.returncode == 0
    assert not done.stderr
    line_starts = [line.split()[:2] for line in done.stdout.splitlines()]
    ids = [words[0] for words in line_starts if words and words[0] in CHECKS]
    *mended, last_id = ids[len(CHECKS) :]
    assert sorted(ids[: len(CHECKS)]) == sorted(CHECKS)
    verdicts = [words[1] for words in line_starts if words and words[0] in CHECKS][: len(CHECKS)]
    assert ["G1", "pass"] in line_starts
    assert ["G2", "FAIL"] in line_starts
    assert verdicts == sorted(verdicts)  # FAIL, pass, –
    assert [*mended, last_id] == ids[: verdicts.count("FAIL")]  # what to do
    assert " fails 1 of 5 checks (G2); not checked: " in done.stdout.splitlines()[0]
    assert "4 trials (2 target, 2 nontarget) of 2 speakers" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.slow
def test_check_tells_what_each_check_found_on_request(parivox, listed):
    words = ("trials", "check", "list.txt")
    assert "Remarks" not in parivox(*words, cwd=listed).stdout
    output = parivox(*words, "-v", cwd=listed).stdout
    assert "Remarks" in output
    assert "how often things are used" in output


def test_strict_ends_with_1_if_a_check_fails(parivox, listed):
    words = ("trials", "check", "list.txt", "--strict")
    assert parivox(*words, cwd=listed).returncode == 1
    assert parivox(*words, *CLEAN, cwd=listed).returncode == 0


def test_json_holds_the_verdicts(parivox, listed):
    done = parivox("trials", "check", "list.txt", "--json", "--strict", cwd=listed)
    record = json.loads(done.stdout)
    assert done.returncode == 1
    assert record["passed"] is False
    checks = record["tables"]["checks"]
    assert dict(zip(checks["id"], checks["verdict"], strict=True))["G2"] == "fail"
    assert "speaker" not in record["tables"]["speakers"]


def test_speakers_are_named_on_request(parivox, listed):
    words = ("trials", "check", "list.txt")
    assert "Enrolment speakers with" not in parivox(*words, cwd=listed).stdout
    assert "Enrolment speakers with" in parivox(*words, "--speaker-ids", cwd=listed).stdout


@pytest.mark.slow
def test_a_list_from_standard_input(parivox, listed):
    done = parivox("trials", "check", "-", stdin="\n".join(ROWS), cwd=listed)
    assert "4 trials" in done.stdout


def test_describe_prints_groups_grades_and_reuse(parivox, listed):
    words = ("trials", "describe", "list.txt", "--speakers", "people.csv", "--by", "gender")
    done = parivox(*words, cwd=listed)
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    shares = ["100.0", "%"] * 3 + ["0.0", "%"]
    assert ["f", "2", "2", "2", *shares, "2.0"] in lines
    assert ["target", "3", "2", "100.0", "%"] in lines
    assert json.loads(parivox("trials", "describe", "list.txt", "--json", cwd=listed).stdout)


@pytest.mark.slow
def test_grade_writes_a_file_and_counts(parivox, listed):
    words = ("trials", "grade", "list.txt", "--speakers", "people.csv", "--out", "graded.parquet")
    done = parivox(*words, cwd=listed)
    assert done.returncode == 0
    assert "graded.parquet" in done.stdout
    graded_trials = pl.read_parquet(listed / "graded.parquet")
    assert graded_trials["grade"].to_list() == [3, 2, 2, 3]
    again = parivox(*words, cwd=listed)
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_one_of_a_kind_is_told_in_the_singular(parivox, listed):
    (listed / "one.txt").write_text("0 a/x/1 b/z/2\n")
    done = parivox("trials", "convert", "one.txt", "--to", "kaldi", "--out", "k.txt", cwd=listed)
    assert done.stdout.startswith("1 trial in k.txt")
    words = ("one.txt", "--speakers", "people.csv", "--by", "gender")
    done = parivox("trials", "check", *words, "-v", cwd=listed)
    assert "1 trial (0 target, 1 nontarget) of 2 speakers, 2 utterances" in done.stdout
    assert "gender (1 group)." in done.stdout
    assert "one group only" in " ".join(done.stdout.split())


def test_convert_writes_the_list_in_another_format(parivox, listed):
    words = ("trials", "convert", "list.txt", "--to", "kaldi", "--out", "kaldi.txt")
    assert parivox(*words, cwd=listed).returncode == 0
    assert (listed / "kaldi.txt").read_text().splitlines()[0] == "a/x/1 a/y/1 target"


@pytest.mark.slow
def test_attributes_are_joined_by_commas_and_bands_keep_theirs(parivox, listed):
    text = "enrol,test,days\na/x/1,b/z/1,5\na/x/1,b/z/2,50\na/x/1,b/w/1,500\n"
    (listed / "days.csv").write_text(text)
    words = ("trials", "grade", "days.csv", "--speakers", "people.csv")
    graded = ("--grade-by", "days:30,90,gender", "--out", "graded.csv")
    assert parivox(*words, *graded, cwd=listed).returncode == 0
    graded_trials = pl.read_csv(listed / "graded.csv")
    assert graded_trials["same_days:30,90"].to_list() == [False, True, False]
    assert graded_trials["grade"].to_list() == [2, 4, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "nowhere.txt"], "nowhere.txt"),
        (
            ["check", "list.txt", "--by", "gendre", "--speakers", "people.csv"],
            "did you mean 'gender'?",
        ),
        (["check", "list.txt", "--threshold", "G2"], "--threshold G2=100"),
        (["check", "list.txt", "--threshold", "G2=1", "--threshold", "G2=2"], "given twice"),
        (["check", "list.txt", "--threshold", "G99=2"], "choose from"),
        (["check", "list.txt", "--mix", "cat2=0.7", "--speakers", "people.csv"], "add up to 1"),
        (["check", "list.txt", "--mix", "cat4=1", "--speakers", "people.csv"], "from 1 to 2"),
        (["check", "list.txt", "--mix", "cat4=1"], "no attribute is known; give --speakers"),
        (["check", "list.txt", "--pilot", "."], "audit"),
        (["check", "list.txt", "--conflicts", "ignore"], "exclude"),
        (["grade", "list.txt", "--out", "graded.txt"], ".csv"),
        (["grade", "list.txt", "--out", "-"], "standard output"),
        (["convert", "list.txt", "--to", "xml", "--out", "x.xml"], "--to 'xml' is not known"),
        (["check"], "LIST"),
        ([], "COMMAND"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(parivox, listed, words, message):
    before = sorted(listed.iterdir())
    done = parivox("trials", *words, cwd=listed)
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("parivox: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert sorted(listed.iterdir()) == before
