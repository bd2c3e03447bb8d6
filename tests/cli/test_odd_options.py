"""Options that can be read in more than one way, or ask for too much."""

import re
import subprocess
import sys

import numpy as np
import pytest

import parivox as pv
from parivox.cli import parser

MEASURED = """
import contextlib, sys
from parivox.cli import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""
"""A command in a process of its own, which prints the most memory that it took, in KiB."""


def of_cities(count):
    """Trials of so many speakers, each of a city of its own."""
    person = np.arange(count)
    trials = {
        "enrol": [f"p{i}/1" for i in person] * 2,
        "test": [f"p{i}/2" for i in person] + [f"p{(i + 1) % count}/2" for i in person],
        "score": np.r_[0.5 + person % 7 / 10, 0.1 + person % 9 / 10],
    }
    people = {"id": [f"p{i}" for i in person], "city": [f"c{i}" for i in person]}
    people["sex"] = ["f" if i % 2 else "m" for i in person]
    return trials, people


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("option", ["by", "within"])
def test_more_groups_than_can_be_compared_are_refused(option, monkeypatch):
    monkeypatch.setattr("parivox.data.requested_groupings.MAX_GROUPS", 10)
    trials, people = of_cities(11)
    message = rf"--{option} city: has 11 groups, more than 10; group by fewer values, by bands"
    with pytest.raises(pv.ConfigError, match=message):
        pv.audit(trials, speakers=people, **{"by": "sex", option: "city"})


@pytest.mark.slow
@pytest.mark.usefixtures("options_in_messages")
def test_more_groups_than_one_audit_holds_are_refused(monkeypatch):
    trials, people = of_cities(11)
    many = people | {f"question {i}": people["sex"] for i in range(50)}
    message = r"--by: 51 groupings \(every .* values\) are more than the maximum of 20 for"
    with pytest.raises(pv.ConfigError, match=message):
        pv.audit(trials, speakers=many)
    monkeypatch.setattr("parivox.auditing.run.MAX_GROUPS", 30)
    message = r"--by: 33 groups \(in all allocations and strata\) are more than the maximum"
    with pytest.raises(pv.ConfigError, match=message):
        pv.audit(trials, speakers=people, by="city", within="sex")
    group_rows = pv.audit(trials, speakers=people, by="city", within="sex", intervals=False).groups
    rows = [
        row for row in group_rows.rows() if row["grouping"] == "city" and row["group"] != "pooled"
    ]
    assert len({(row["within"], row["group"]) for row in rows}) == 33


@pytest.mark.slow
def test_hundreds_of_groups_take_little_memory(tmp_path):
    """In a process of its own: 13 MB a group for 1,000 replicates took 11 GB of 900."""
    person, rng = np.arange(50_000), np.random.default_rng(0)
    enrol, is_target = rng.integers(0, 1600, person.size), rng.random(person.size) < 0.2
    test = np.where(is_target, enrol, rng.integers(0, 1600, person.size))
    scores = rng.normal(size=person.size) + 2 * is_target
    rows = zip(enrol, person, test, person, scores, enrol == test, strict=True)
    lines = [f"s{a}/e{i},s{b}/t{j},{score},{int(label)}" for a, i, b, j, score, label in rows]
    (tmp_path / "scores.csv").write_text("\n".join(["enrol,test,score,label", *lines]))
    people = "\n".join(f"s{i},g{i % 400}" for i in range(1600))
    (tmp_path / "people.csv").write_text(f"id,city\n{people}")
    command_line = "audit scores.csv --speakers people.csv --by city --replicates 100 --quiet"
    command = [sys.executable, "-c", MEASURED, *command_line.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 720 << 10


@pytest.mark.slow
def test_as_many_groups_as_can_be_compared_are_compared(monkeypatch):
    monkeypatch.setattr("parivox.data.requested_groupings.MAX_GROUPS", 10)
    trials, people = of_cities(10)
    audit = pv.audit(trials, speakers=people, by="city")
    assert len(set(audit.groups.to_dict()["group"]) - {"pooled", "all"}) == 10


TWICE = ["--speakers", "--trials", "--models", "--failures", "--groups", "--id"]
TWICE += ["--columns", "--scores-format", "--conflicts", "--out"]


@pytest.mark.slow
@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (command, option)
        for command, options in (
            ("audit", (*TWICE, "--sweep", "--compat", "--format")),
            ("count", (*TWICE, "--step", "--withhold")),
            ("inspect", ("--columns", "--scores-format")),
        )
        for option in options
    ],
)
def test_an_option_with_one_value_is_not_given_twice(command, option):
    words = [command, "s.csv", option, "error", option, "a.csv"]
    with pytest.raises(pv.ConfigError, match=f"^{option} is given twice; give"):
        parser().parse_args(words)


def test_other_options_and_a_second_command_line_may_repeat():
    command_parser = parser()
    for _ in range(2):
        arguments = command_parser.parse_args(
            ["audit", "a.csv", "b.csv", "--by", "x", "--by", "y", "--id", "n", "--json", "--json"]
        )
        assert (arguments.scores, arguments.by, arguments.id) == (
            ["a.csv", "b.csv"],
            ["x", "y"],
            "n",
        )


CHOICES = ["by", "within", "allocate", "operating_points", "cost", "eer", "rule", "reference"]
TEXTS = ["sweep", "compat", "scores_format", "id", "orientation", "conflicts"]


@pytest.mark.parametrize("wrong", [3, 2.5, [None], b"gender", {1: "gender"}])
@pytest.mark.parametrize("option", [*CHOICES, "zero", *TEXTS, "columns", "metrics"])
def test_what_is_of_the_wrong_kind_is_told_by_its_option(option, wrong):
    trials, people = of_cities(4)
    with pytest.raises(pv.ConfigError, match=f"^{re.escape(f'{option}={wrong!r}')} .*not? "):
        pv.audit(trials, speakers=people, **{"by": "sex", option: wrong})
    if option in {"by", "within", "scores_format", "id", "columns"}:
        with pytest.raises(pv.ConfigError, match=f"^{option}="):
            pv.count(trials, speakers=people, **{"by": "sex", option: wrong})
    if option in {"scores_format", "columns"}:
        with pytest.raises(pv.ConfigError, match=f"^{option}="):
            pv.inspect(trials, **{option: wrong})


@pytest.mark.parametrize("columns", ["enrol=x", {"enrol": 1}])
def test_columns_are_a_mapping_of_texts(columns):
    with pytest.raises(pv.ConfigError, match="is not a mapping from role to column"):
        pv.inspect({"enrol": ["a"], "test": ["b"], "score": [1.0]}, columns=columns)


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("wrong", [None, 2.5, "5", [5]])
def test_withheld_groups_are_of_a_whole_number_of_speakers(wrong):
    trials, people = of_cities(4)
    with pytest.raises(
        pv.ConfigError, match=r"^--withhold is .*; give the fewest speakers of a group"
    ):
        pv.count(trials, speakers=people, by="sex", withhold=wrong)


@pytest.mark.parametrize("option", ["alpha", "thresholds"])
def test_none_is_no_number(option):
    trials, people = of_cities(4)
    ask = pv.audit if option == "alpha" else pv.count
    with pytest.raises(pv.ConfigError, match="None"):
        ask(trials, speakers=people, by="sex", **{option: None})


@pytest.mark.slow
def test_a_list_of_choices_may_come_from_an_array():
    trials, people = of_cities(4)
    audit = pv.audit(trials, speakers=people, by=np.array([" sex ", "city"]), alpha=np.array([0.5]))
    assert audit.record["groupings"] == ["sex", "city"]


def test_standard_output_is_no_place_for_counts_and_tables(parivox):
    for command, kind in (("count", "file"), ("audit", "folder")):
        done = parivox(command, "scores.csv", "--speakers", "speakers.csv", "--out", "-")
        message = f"parivox: error: --out -: standard output is not a {kind}; name a {kind}\n"
        assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("option", ["speakers", "trials", "utterances", "models", "failures"])
def test_an_empty_name_is_said_to_be_empty(option):
    trials, people = of_cities(4)
    with pytest.raises(
        pv.DataError, match=r"^'': the file name is empty; give the name of a file$"
    ):
        pv.audit(trials, **{"speakers": people, option: ""})


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("step", ["1e300", "1e-300", "0", "-1", "x"])
def test_a_step_is_asked_for_that_would_be_taken(step):
    trials, people = of_cities(4)
    message = (
        f"--step {step}: is not the width of a bin; give one from 1e-15 to 1e15, for example 0.001"
    )
    with pytest.raises(pv.ConfigError, match=message):
        pv.count(trials, speakers=people, by="sex", step=step)


def test_what_is_long_is_shortened_in_a_sentence():
    long = "a" * 70_000 + "z"
    people = {"id": [long, long], "sex": ["f", "m"]}
    with pytest.raises(pv.DataError) as error_info:
        pv.audit(of_cities(4)[0], speakers=people, id="id")
    assert len(str(error_info.value)) < 1000
    assert re.search(r"'a{100,}\.{3}a+z'", str(error_info.value))
    error = pv.DataError(f"f.csv, row 2: {'a word and ' * 9999}is too long; shorten it")
    assert str(error).startswith("f.csv, row 2: a word")
    assert str(error).endswith("is too long; shorten it")
    assert len(str(error)) < 2000
    assert str(pv.DataError(str(error))) == str(error)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["a+b", "a+", "a:b", "sex (f/m):", "same:x", "enrol.x", "x:1,2"])
def test_a_column_is_grouped_by_and_counted_whatever_it_is_called(column, tmp_path):
    trials, people = of_cities(6)
    people = {"id": people["id"], column: people["sex"]}
    counts = pv.count(trials, speakers=people, withhold=0)
    counts.save(tmp_path / "s.counts")
    audit = pv.audit(tmp_path / "s.counts", intervals=False)
    assert audit.record["groupings"] == [column]
    group_table = pv.audit(trials, speakers=people, intervals=False).groups.to_dict()
    assert {**audit.groups.to_dict(), "system": group_table["system"]} == group_table


@pytest.mark.parametrize("column", ["a+b", "same:x", "enrol.x", "x:1,2"])
def test_the_exact_name_of_a_column_wins(column):
    trials, people = of_cities(6)
    people |= {column: people["sex"], "a": people["city"], "b": people["city"], "x": people["city"]}
    (grouping,) = pv.count(trials, speakers=people, by=column, withhold=0).groupings
    assert (grouping.name, grouping.groups) == (column, ("f", "m"))


@pytest.mark.usefixtures("options_in_messages")
def test_a_column_that_cannot_be_named_is_to_be_renamed():
    trials, people = of_cities(6)
    message = r"--by a:b: the band edges .*; correct the edges or, if 'a:b' is the name"
    with pytest.raises(pv.ConfigError, match=message):
        pv.count(trials, speakers=people | {"a:b": people["sex"]}, by="a:b")


@pytest.mark.parametrize("table", ["speakers", "utterances"])
def test_columns_that_differ_in_case_only_are_told_of(table):
    trials, people = of_cities(6)
    columns = {"Sex": people["sex"], "sex": people["sex"]}
    tables = {"speakers": {"id": people["id"]}}
    if table == "speakers":
        tables["speakers"] |= columns
    else:
        ids = [f"{speaker}/{i}" for i in (1, 2) for speaker in people["id"]]
        tables["utterances"] = {"utterance": ids, "speaker": people["id"] * 2}
        tables["utterances"] |= {name: cells * 2 for name, cells in columns.items()}
    message = f"^{table}: columns 'Sex' and 'sex' differ in upper and lower case only; rename one"
    with pytest.raises(pv.DataError, match=message):
        pv.audit(trials, **tables)
    pv.count(trials, **tables, by="sex", withhold=0)
