"""Whatever is wrong: one sentence, exit code 2, nothing written, no traceback."""

import pytest

pytestmark = pytest.mark.minimal
PEOPLE = ("--speakers", "speakers.csv")
BASIC = ("audit", "scores.csv", *PEOPLE)
BY_GENDER = (*BASIC, "--by", "gender")

CASES = {
    "no such command": (("report",), "report"),
    "no scores": (("audit", *PEOPLE), "SCORES"),
    "no speakers": (("audit", "scores.csv"), "--speakers"),
    "unknown option": ((*BY_GENDER, "--nosuch"), "--nosuch"),
    "option without value": ((*BASIC, "--by"), "--by"),
    "shortened option": ((*BY_GENDER, "--operating", "eer"), "--operating"),
    "missing scores": (("audit", "nosuch.csv", *PEOPLE), "nosuch.csv"),
    "missing speakers": (("audit", "scores.csv", "--speakers", "nosuch.csv"), "nosuch.csv"),
    "missing trials": ((*BY_GENDER, "--trials", "nosuch.txt"), "nosuch.txt"),
    "missing utterances": ((*BY_GENDER, "--utterances", "nosuch.txt"), "nosuch.txt"),
    "missing development scores": ((*BY_GENDER, "--threshold-from", "nosuch.csv"), "nosuch.csv"),
    "folder": (("audit", ".", *PEOPLE), "folder"),
    "folder of speakers": (("audit", "scores.csv", "--speakers", "."), "folder"),
    "speakers as scores": (("audit", "speakers.csv", *PEOPLE), "speakers.csv"),
    "empty name": (("audit", "", *PEOPLE), ""),
    "unknown attribute": ((*BASIC, "--by", "gendre"), "did you mean 'gender'?"),
    "one unknown of a combination": (
        (*BASIC, "--by", "gender+nationality"),
        "did you mean 'nation'?",
    ),
    "attribute twice": ((*BASIC, "--by", "gender+gender"), "gender+gender"),
    "grouping twice": ((*BASIC, "--by", "gender", "--by", "gender"), "twice"),
    "bands of words": ((*BASIC, "--by", "gender:1,2"), "not a number"),
    "falling bands": ((*BASIC, "--by", "age:60,30"), "must be increasing"),
    "words as bands": ((*BASIC, "--by", "age:a"), "must be increasing"),
    "unknown point": ((*BY_GENDER, "--operating-point", "far=0.1"), "far=0.1"),
    "point out of range": ((*BY_GENDER, "--operating-point", "fpr=1.5"), "between 0 and 1"),
    "threshold text": (
        (*BY_GENDER, "--operating-point", "threshold=high"),
        "must be a number (found 'high')",
    ),
    "threshold nan": (
        (*BY_GENDER, "--operating-point", "threshold=nan"),
        "must be a number (found 'nan')",
    ),
    "point twice": ((*BY_GENDER, "--operating-point", "eer", "--operating-point", "eer"), "once"),
    "bayes without llr": ((*BY_GENDER, "--operating-point", "bayes"), "--llr"),
    "another base": (
        (*BY_GENDER, "--llr-base", "e"),
        "--llr-base is 'e'; give 10 or 2, or only --llr",
    ),
    "averaging cost as point": (
        (*BY_GENDER, "--cost", "sre16", "--operating-point", "min-cdet"),
        "priors",
    ),
    "unknown cost": ((*BY_GENDER, "--cost", "nosuch"), "nosuch"),
    "cost of two numbers": ((*BY_GENDER, "--cost", "0.05,1"), "0.05,1"),
    "prior out of range": ((*BY_GENDER, "--cost", "1,1,1"), "1,1,1"),
    "negative cost": ((*BY_GENDER, "--cost", "0.05,-1,1"), "0.05,-1,1"),
    "unknown eer": ((*BY_GENDER, "--eer", "exact"), "nearest_max"),
    "unknown rule": ((*BY_GENDER, "--rule", "exact"), "conservative"),
    "unknown allocation": ((*BY_GENDER, "--allocate", "none"), "either"),
    "unknown zero policy": ((*BY_GENDER, "--zero", "laplace"), "jeffreys"),
    "unknown reference": ((*BY_GENDER, "--reference", "female"), "pooled"),
    "alpha out of range": ((*BY_GENDER, "--alpha", "2"), "between 0 and 1"),
    "alpha text": ((*BY_GENDER, "--alpha", "half"), "half"),
    "unknown sweep": ((*BY_GENDER, "--sweep", "fpr"), "log100"),
    "unknown compat": ((*BY_GENDER, "--compat", "kaldi"), "bt4vt"),
    "unknown conflicts": ((*BY_GENDER, "--conflicts", "ignore"), "exclude"),
    "unknown format of scores": ((*BY_GENDER, "--scores-format", "xls"), "xls"),
    "unknown format of tables": ((*BY_GENDER, "--format", "xls", "--out", "never"), "parquet"),
    "columns without roles": ((*BY_GENDER, "--columns", "a"), "ROLE=COLUMN"),
    "unknown role": ((*BY_GENDER, "--columns", "nosuch=score"), "nosuch"),
    "unknown column": ((*BY_GENDER, "--columns", "score=nosuch"), "nosuch"),
    "unknown id column": ((*BY_GENDER, "--id", "nosuch"), "nosuch"),
    "distance and similarity": ((*BY_GENDER, "--distance", "--similarity"), "contradict"),
    "reversed": (
        (*BY_GENDER, "--distance", "--threshold-from", "other.csv", "--nosuch"),
        "--nosuch",
    ),
    "parts of one list that contradict each other": (
        ("audit", "A=scores.csv", "A=other.csv", *PEOPLE),
        "scores.csv, row 2 and other.csv, row 2: the same trial (s0/0.wav, s0/1.wav) has score",
    ),
    "files of one name": (("audit", "scores.csv", "./scores.csv", *PEOPLE), "is used twice"),
    "development scores of another system": (
        ("audit", "A=scores.csv", "B=other.csv", *PEOPLE, "--threshold-from", "A=scores.csv"),
        "--threshold-from",
    ),
    "one development file for two systems": (
        ("audit", "A=scores.csv", "B=other.csv", *PEOPLE, "--threshold-from", "scores.csv"),
        "--threshold-from",
    ),
}


def is_one_sentence(completed, words):
    assert completed.returncode == 2, completed.stderr
    assert completed.stdout == ""
    assert "Traceback" not in completed.stderr
    messages = completed.stderr.splitlines()
    assert len(messages) == 1
    assert messages[0].startswith("parivox: error: ")
    assert words in messages[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_bad_input(parivox, files, name):
    before = {path.name for path in files.iterdir()}
    words, pattern = CASES[name]
    is_one_sentence(parivox(*words), pattern)
    assert {path.name for path in files.iterdir()} == before


SCORES = {
    "empty": ("", "scores"),
    "header only": ("enrol,test,score,label\n", ""),
    "no column of scores": ("enrol,test,label\ns0/1,s0/2,1\n", "--trials"),
    "text as score": ("enrol,test,score\ns0/1,s0/2,high\n", "'high'"),
    "nan as score": ("enrol,test,score\ns0/1,s0/2,0.5\ns0/1,s1/2,nan\n", "nan"),
    "no label": ("enrol,test,score,label\ns0/1,s0/2,0.5,maybe\n", "'maybe'"),
    "wrong label": ("enrol,test,score,label\ns0/1,s0/2,0.5,0\n", "both sides are from s0"),
    "two scores": ("enrol,test,score\ns0/1,s0/2,0.5\ns0/1,s0/2,0.6\n", "exclude"),
    "unknown speakers": ("enrol,test,score\nx0/1,x0/2,0.5\n", "speaker"),
    "reversed": ("enrol,test,score\ns0/1,s0/2,0.1\ns0/1,s1/2,0.9\n", "--distance"),
    "wrong encoding": (b"enrol,test,score\ns0/\x81,s0/2,0.5\n", ""),
    "truncated gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcbH", ""),
    "zeros": (bytes(100), ""),
    "prose": ("Dear all,\nplease find the scores attached.\n", ""),
}


@pytest.mark.parametrize("name", SCORES)
def test_bad_scores(parivox, files, tmp_path, name):
    content, pattern = SCORES[name]
    path = tmp_path / "scores.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ("audit", path, "--speakers", files / "speakers.csv", "--by", "gender")
    completed = parivox(*words, "--out", tmp_path / "out")
    is_one_sentence(completed, pattern)
    assert path.name in completed.stderr
    assert not (tmp_path / "out").exists()


def test_a_strangers_folder_is_refused_before_anything_is_read(parivox, tmp_path):
    (tmp_path / "diary.txt").write_text("dear")
    completed = parivox(*BY_GENDER, "--out", tmp_path)
    is_one_sentence(completed, "diary.txt")
    assert "reading" not in completed.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_a_file_as_folder(parivox, tmp_path):
    (tmp_path / "file").write_text("mine")
    is_one_sentence(parivox(*BY_GENDER, "--out", tmp_path / "file"), "is a file")
    is_one_sentence(parivox(*BY_GENDER, "--out", tmp_path / "file" / "below"), "cannot be written")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
def test_standard_input_that_is_empty(parivox):
    is_one_sentence(parivox("audit", "-", *PEOPLE, "--by", "gender", stdin=""), "")


@pytest.mark.slow
def test_the_earlier_audit_stays_where_a_later_one_fails(parivox, tmp_path):
    assert parivox(*BY_GENDER, "--out", tmp_path / "a").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert parivox(*BY_GENDER, "--cost", "nosuch", "--out", tmp_path / "a").returncode == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before
