"""``parivox plan`` as a process: what it prints, where, and with which exit code."""

import json

import pytest

pytestmark = pytest.mark.minimal
ESCAPE = "\x1b"
RATE_OPTIONS = ("--rate", "fnr=0.1", "--icc", "fnr=0.12", "--trials-per-speaker", "fnr=230")


def test_help_names_the_command_and_its_options(parivox):
    assert "plan" in parivox("--help").stdout
    help_text = parivox("plan", "--help").stdout
    for option in ("--pilot", "--detect-ratio", "--power", "--confidence", "--target-fpr"):
        assert option in help_text
    for option in ("--rate", "--icc", "--trials-per-speaker", "--json"):
        assert option in help_text


@pytest.fixture(scope="module")
def pilot(parivox, tmp_path_factory):
    out = tmp_path_factory.mktemp("pilot") / "audit"
    done = parivox("audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender",
                   "--operating-point", "fpr=0.1", "--out", out, "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_an_audit_is_the_pilot_of_the_next_one(parivox, pilot):
    words = ("--detect-ratio", "1.5", "--power", "0.8", "--target-fpr", "0.05")
    completed = parivox("plan", "--pilot", pilot, *words)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert ESCAPE not in completed.stdout
    text = " ".join(completed.stdout.split())
    assert "with probability 0.8, a group whose rate is 1.5 times that of all other groups" in text
    assert "scores, at fpr=0.1, the operating point of the pilot nearest to FPR 5 %" in text
    assert "of f, m: fewer than 5 speakers" in text
    assert "FPR 5 % takes" in text
    assert max(map(len, completed.stdout.splitlines())) <= 100


@pytest.mark.slow
def test_given_numbers_in_place_of_a_pilot(parivox):
    completed = parivox("plan", *RATE_OPTIONS)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "FNR, 2 groups of equal size: each group needs 33 speakers and" in completed.stdout
    assert "add speakers, not trials" in " ".join(completed.stdout.split())


@pytest.mark.slow
def test_json(parivox):
    record = json.loads(parivox("plan", *RATE_OPTIONS, "--json").stdout)
    assert record["asked"]["rate"] == {"fnr": 0.1}
    assert record["tables"]["designs"]["speakers_needed"][2] == 33


@pytest.mark.slow
def test_a_terminal_without_unicode_gets_plain_signs(parivox, pilot):
    completed = parivox("plan", "--pilot", pilot, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert completed.returncode == 0
    assert completed.stdout.isascii()
    assert "\\u" not in completed.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "a plan needs a pilot audit or assumed rates; give --pilot DIR"),
        (("--pilot", "nosuch"), "nosuch: does not contain an audit"),
        (("--pilot", "."), ".: does not contain an audit"),
        (("--detect-ratio", "two"), "--detect-ratio"),
        (("--detect-ratio", "1"), "--detect-ratio is 1.0; give a ratio above 0, not 1"),
        (("--power", "80"), "--power is 80.0; give a fraction from 0.5 to 0.999"),
        (("--icc", "0.1"), "--icc '0.1' is not METRIC=NUMBER, for example --icc fnr=0.1"),
        (("--icc", "fnr=x"), "--icc 'fnr=x' is not METRIC=NUMBER"),
        (("--icc", "eer=0.1"), "--icc is given for 'eer'; give it for fnr, fpr or sfar"),
        (("--icc", "fnr=0.1", "--icc", "fnr=0.2"), "--icc of fnr is given twice; give it once"),
        (("--rate", "fnr=0.1"), "--icc of fnr is missing; without --pilot, give --icc fnr=X"),
        (("--pilot", "a", "--pilot", "b"), "--pilot is given twice"),
        (("--nosuch",), "--nosuch"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(parivox, words, message):
    completed = parivox("plan", *words)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert message in completed.stderr
    assert completed.stderr.count("\n") == 1
    assert "Traceback" not in completed.stderr
