"""Options of uncertainty on the command line: what they do, and nonsense told in one sentence."""

import csv

import pytest

from parivox.cli import main

BASIC = ("audit", "no such.csv", "--speakers", "nor this.csv", "--by", "gender")
NONSENSE = {
    "--replicates": ["x", "10", "-1", "1e3", "100.5", ""],
    "--seed": ["-1", "x", "1.5"],
    "--confidence": ["95", "0", "1", "x", "nan", "0.95%"],
    "--margin": ["1", "0.5", "inf", "nan", "25%"],
    "--bins": ["1", "all", "-5", "3.5"],
    "--interval": ["bayes", "Speakers", ""],
    "--attempts": ["0", "-1", "many", "2.5"],
    "--limit": ["0.05", "eer=0.1", "fnr=0", "fnr=2", "fnr=x", "=0.1", "fnr"],
    "--gate": ["10", "people=10", "speakers=-1", "speakers=ten", "speakers"],
    "--trial-table": ["trials.txt", "no/such/folder/trials.csv", ""],
}
TOGETHER = [
    ("--no-intervals", "--compare"),
    ("--no-intervals", "--limit", "fnr=0.1"),
    ("--no-intervals", "--attempts", "3"),
    ("--no-intervals", "--standardise", "same:gender"),
    ("--no-intervals", "--primary", "gender"),
    ("--limit", "fnr=0.1", "--limit", "fnr=0.1"),
    ("--gate", "speakers=8", "--gate", "speakers=9"),
    ("--confidence", "0.9", "--confidence", "0.95"),
    ("--seed", "1", "--seed", "2"),
    ("--trial-table", "a.csv", "--trial-table", "b.csv"),
]


@pytest.fixture
def refused(capsys, monkeypatch):
    """What is said of a command line that is refused."""
    monkeypatch.setattr("parivox.cli.set_up_process", lambda: None)  # of a process of its own

    def refusal(*words):
        with pytest.raises(SystemExit) as ended:
            main([*BASIC, *words])
        assert ended.value.code == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("parivox: error: ")
        assert captured.err.count("\n") == 1
        return captured.err

    return refusal


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option in NONSENSE for value in NONSENSE[option]]
)
def test_nonsense_is_one_sentence_that_names_the_option(refused, option, value):
    message = refused(option, value)
    assert option in message
    assert value in message


@pytest.mark.parametrize("words", TOGETHER, ids=" ".join)
def test_what_does_not_go_together_is_told(refused, words):
    message = refused(*words)
    assert any(word in message for word in words if word.startswith("--"))


def test_a_nonsense_option_leaves_no_traceback_and_no_folder(parivox, files):
    done = parivox(
        "audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender",
        "--replicates", "few", "--out", "never",
    )  # fmt: skip
    message = "parivox: error: --replicates is 'few'; give a whole number\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert not (files / "never").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "fewest", "code", "message"),
    [
        ("not-met", 3, 1, "a limit is not met (f)"),
        ("not-met", 5, 0, ""),
        ("inconclusive", 5, 1, "a limit is not shown to be met (f)"),
        ("inconclusive,not-met", 5, 1, "a limit is not shown to be met (f)"),
    ],
)
def test_a_limit_ends_with_an_exit_code_where_that_is_asked_for(
    parivox, condition, fewest, code, message
):
    done = parivox(
        "audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--quiet",
        "--gate", f"inference={fewest}", "--limit", "fnr:f=0.0001%", "--fail-on", condition,
    )  # fmt: skip
    assert done.returncode == code
    assert done.stdout.split("\n\n")[1].startswith("Limit of ")
    assert done.stderr == (message and f"parivox: {message}: exit code 1, as --fail-on asks\n")


@pytest.mark.slow
def test_the_old_name_of_a_condition_works_until_0_5(parivox):
    done = parivox(
        "audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--quiet",
        "--gate", "inference=5", "--limit", "fnr:f=0.0001%", "--fail-on", "cannot-tell",
    )  # fmt: skip
    assert done.returncode == 1
    assert "--fail-on cannot-tell is inconclusive since release 0.3" in done.stderr
    assert "a limit is not shown to be met (f)" in done.stderr


def test_the_old_name_of_a_policy_works_until_0_5(parivox):
    done = parivox(
        "audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--quiet",
        "--no-intervals", "--conflicts", "set-aside",
    )  # fmt: skip
    assert done.returncode == 0
    warning = "conflicts='set-aside' is 'exclude' since release 0.3 and will be removed in 0.5"
    assert done.stderr == f"parivox: {warning}\n"


@pytest.mark.parametrize(
    "words", [("--fail-on", "not-met"), ("--fail-on", "worst"), ("--fail-on", "worse")]
)
def test_exit_codes_of_what_is_not_looked_for_are_refused(refused, words):
    more = ("--no-intervals",) if words[1] == "worse" else ()
    assert "--fail-on" in refused(*words, *more)


@pytest.mark.slow
def test_every_option_of_uncertainty_reaches_the_audit(parivox, files, tmp_path):
    done = parivox(
        "audit", "A=scores.csv", "B=other.csv", "--speakers", "speakers.csv", "--by", "gender",
        "--operating-point", "eer", "--confidence", "0.9", "--margin", "1.5", "--seed", "3",
        "--replicates", "60", "--bins", "exact", "--interval", "bootstrap", "--attempts", "2",
        "--limit", "fnr=0.2", "--limit", "fpr=0.1", "--gate", "inference=3", "--pooled-floor",
        "--fixed-threshold", "--standardise", "same:nation", "--compare", "--quiet",
        "--trial-table", tmp_path / "trials.csv", "--out", tmp_path / "audit",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    tables = {}
    for name in ("groups", "verdicts", "limits", "comparison"):
        with (tmp_path / "audit" / f"{name}.csv").open(encoding="utf-8") as file:
            tables[name] = list(csv.DictReader(file))
    assert {row["interval"] for row in tables["groups"]} >= {"bootstrap"}
    assert {row["margin"] for row in tables["verdicts"]} == {"1.5"}
    assert {row["limit"] for row in tables["limits"]} == {"0.2", "0.1", ""}
    assert {row["measure"] for row in tables["limits"]} >= {"locked_out", "attempts_until"}
    assert {row["definition"] for row in tables["groups"]} >= {"standardised same:nation"}
    assert {(row["system"], row["other_system"]) for row in tables["comparison"]} == {("A", "B")}
    with (tmp_path / "trials.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["system"] for row in rows} == {"A", "B"}
