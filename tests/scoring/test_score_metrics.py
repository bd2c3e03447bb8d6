"""Metrics of scores without ids, against slow counting and against an audit of the same trials."""

import json
import subprocess

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox as pv
from parivox.core.eer import DEFINITIONS
from parivox.errors import ConfigError, DataError
from parivox.report.catalogue import fact_text


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 3000)
    group = np.array(["f", "m"])[rng.integers(0, 2, 3000)]
    score = rng.normal(2 * label - 0.5 * (group == "f") * label, 1).round(3)
    return {"score": score, "label": label, "gender": group}


def written(path, frame, **options):
    frame.write_csv(path, **options)
    return str(path)


@pytest.mark.slow
def test_arrays_tables_and_files_give_the_same(trials, tmp_path):
    frame = pl.DataFrame(trials)
    expected = pv.metrics(trials["score"], trials["label"], trials["gender"]).table.rows()
    sources = [
        trials,
        frame,
        written(tmp_path / "scores.csv", frame),
        written(tmp_path / "scores.tsv", frame, separator="\t"),
    ]
    frame.write_parquet(tmp_path / "scores.parquet")
    sources.append(str(tmp_path / "scores.parquet"))
    for source in sources:
        assert pv.metrics(source, groups="gender").table.rows() == expected


@pytest.mark.parametrize("order", [["score", "label"], ["label", "score"]])
@pytest.mark.parametrize("separator", [",", " ", "\t"])
def test_two_columns_need_no_header(trials, tmp_path, order, separator):
    frame = pl.DataFrame(trials).select(order)
    path = written(tmp_path / "scores.txt", frame, include_header=False, separator=separator)
    expected = pv.metrics(trials["score"], trials["label"]).table.rows()
    assert pv.metrics(path).table.rows() == expected


@pytest.mark.parametrize("header", ["", "score\n"])
def test_genuine_and_impostor_files_are_two_lists_of_numbers(trials, tmp_path, header):
    files = {}
    for name, code in (("target", 1), ("nontarget", 0)):
        files[name] = tmp_path / f"{name}.txt"
        numbers = "\n".join(map(str, trials["score"][trials["label"] == code]))
        files[name].write_text(f"{header}{numbers}\n")
    expected = pv.metrics(trials["score"], trials["label"]).table.rows()
    assert pv.metrics(**{name: str(path) for name, path in files.items()}).table.rows() == expected


@pytest.mark.slow
def test_values_are_those_of_an_audit_of_the_same_trials(trials):
    number = np.arange(3000).astype(str)
    enrol = np.char.add(np.char.add("e", number), "/1")
    caller = np.char.add(np.where(trials["label"] == 1, "e", "t"), number)
    scores = {**trials, "enrol": enrol, "test": np.char.add(caller, "/2")}
    audit = pv.audit(scores, by="gender", operating_points="fpr=0.01", intervals=False)
    metrics = pv.metrics(trials, groups="gender")
    for group, audited_group in (("f", "f"), ("m", "m"), ("all trials", "pooled")):
        rows = audit.groups.subset(group=audited_group, grouping="gender").rows()
        audited = {(row["metric"], row["definition"], row["operating_point"]): row for row in rows}
        for name, key in {
            ("eer", "linear"): ("eer", "linear", ""),
            ("min_cdet", "voxsrc"): ("min_cdet_norm", "voxsrc", ""),
            ("auc", ""): ("auc", "", ""),
            ("dprime", ""): ("dprime", "", ""),
            ("min_cllr", ""): ("min_cllr", "", ""),
            ("fnr", "fpr=0.01"): ("fnr", "", "fpr=0.01"),
            ("fpr", "fpr=0.01"): ("fpr", "", "fpr=0.01"),
        }.items():
            assert metrics.value(*name, group) == pytest.approx(audited[key]["value"], rel=1e-9)
        for rate in ("fnr", "fpr"):
            (row,) = metrics.table.subset(metric=rate, group=group).rows()
            audited_row = audited[rate, "", "fpr=0.01"]
            assert (row["errors"], row["trials"]) == (audited_row["errors"], audited_row["trials"])


def test_the_eer_has_every_definition(trials):
    metrics = pv.metrics(trials["score"], trials["label"])
    found = {row["definition"] for row in metrics.table.subset(metric="eer").rows()}
    assert found == set(DEFINITIONS)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=30),
    st.sampled_from([0.5, 0.1]),
)
def test_rates_are_counted_and_undefined_ones_say_why(drawn, rate):
    score, label = np.array(drawn, dtype=float).T
    metrics = pv.metrics(score, label, fpr=[rate])
    rows = metrics.table.rows()
    assert all((row["value"] is None) == bool(row["reason"]) for row in rows)
    for row in rows:
        if row["metric"] in {"fpr", "fnr"} and row["value"] is not None:
            accepted = score >= row["threshold"]
            wrong = accepted[label == 0] if row["metric"] == "fpr" else ~accepted[label == 1]
            assert (row["errors"], row["trials"]) == (wrong.sum(), wrong.size)


def test_distances_and_words_of_labels(trials):
    expected = pv.metrics(trials["score"], trials["label"]).table.rows()
    reversed_scores = pv.metrics(-trials["score"], trials["label"], distance=True)
    assert reversed_scores.table.rows() == expected
    words = {"score": trials["score"], "label": np.where(trials["label"], "H1", "H2")}
    columns = {"target": "H1", "nontarget": "H2"}
    assert pv.metrics(words, columns=columns).table.rows() == expected


def test_what_is_left_out_is_told(trials):
    score = trials["score"].astype(str).astype(object)
    score[:3] = ""
    group = trials["gender"].astype(object)
    group[5:7] = "unknown"
    table = {"score": score, "label": trials["label"].astype(str), "gender": group}
    notes = " ".join(map(fact_text, pv.metrics(table, groups="gender").notes))
    assert "3 trials without a score were excluded" in notes
    assert "2 trials are in no group" in notes
    assert "no intervals, because the speakers are unknown" in notes


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "give scores with labels, or the scores of target"),
        ({"scores": [1], "target": [1.0], "nontarget": [0.0]}, "give scores with labels"),
        ({"target": [1.0]}, "missing option nontarget"),
        (
            {"target": [1.0], "nontarget": [0.0], "groups": "sex"},
            "one score per line only",
        ),
        (
            {"scores": [1.0, 2.0], "labels": [1, 0], "groups": ["all trials", "f"]},
            "rename the group",
        ),
        ({"scores": [1.0, 2.0], "labels": [1]}, "different lengths"),
        ({"scores": [1.0, 2.0], "labels": [1, 2]}, "labels are not all 1 or 0"),
        ({"scores": [np.nan], "labels": [1]}, "contains no score"),
        (
            {"scores": {"score": ["1"], "target": ["1"]}, "groups": "sex"},
            "is not a column of scores",
        ),
        ({"scores": {"score": ["1"], "x": ["1"]}}, "has no column of labels"),
        ({"scores": [1.0], "labels": [1], "fpr": [2.0]}, "is not a rate"),
        ({"scores": [1.0], "labels": [1], "cost": "srx"}, "is neither a known name"),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(arguments, sentence):
    with pytest.raises((ConfigError, DataError), match=sentence):
        pv.metrics(**arguments)


def test_missing_groups_of_arrays_are_no_groups():
    score, label = [0.1, 0.9, 0.2, 0.8], [0, 1, 0, 1]
    for groups in (["f", None, "m", ""], ["f", "NA", "m", "unknown"]):
        assert {*pv.metrics(score, label, groups).counts} == {"all trials", "f", "m"}
    assert {*pv.metrics(score, label, [1.0, np.nan, 2.0, 1.0]).counts} == {
        "all trials",
        "1.0",
        "2.0",
    }


def test_infinite_scores_are_json(trials):
    score = trials["score"].copy()
    score[:4] = np.inf, np.inf, -np.inf, -np.inf
    for llr in (False, True):
        metrics = pv.metrics(score, trials["label"], llr=llr)
        assert json.loads(metrics.to_json()) == metrics.to_dict()


@pytest.mark.slow
def test_standard_input_is_read_once(trials, program):
    text = pl.DataFrame(trials).write_csv()
    for options in (["-"], ["-", "--by", "gender"]):
        done = subprocess.run(
            [program, "metrics", *options], input=text, capture_output=True, text=True, check=True
        )
        assert "3,000 trials" in done.stdout


@pytest.mark.parametrize(
    "form",
    [
        "{enrol}\t{test}\t{score}\t{word}",
        "{enrol} {test} {score} {word}",
        "{word} {enrol} {test} {score}",
        "{label} {enrol} {test} {score}",
        "{enrol} {test} {score} {label}",
        "{enrol} {test} {label} {score}",
        "{enrol},{test},{score},{word}",
    ],
)
def test_files_without_a_header_are_read_as_an_audit_reads_them(tmp_path, form):
    rows = []
    for i in range(12):
        label = i % 2
        enrol, test = f"s{i % 4}/1", f"s{i % 4 if label else (i + 1) % 4}/{i}"
        word = "target" if label else "nontarget"
        score = 0.125 * i - 0.4
        rows.append({"enrol": enrol, "test": test, "score": score, "label": label, "word": word})
    path = tmp_path / "scores.txt"
    path.write_text("".join(form.format(**row) + "\n" for row in rows))
    people = {"speaker": [f"s{i}" for i in range(4)], "sex": list("ffmm")}
    audit = pv.audit(path, people, by="sex", intervals=False)
    (eer,) = {
        row["value"]
        for row in audit.groups.filter(grouping="all", metric="eer", definition="linear")
    }
    assert pv.metrics(path).value("eer") == eer


@pytest.mark.parametrize("words", [("target", "nontarget"), ("Genuine", "impostor"), ("1", "0")])
@pytest.mark.parametrize("array", [list, np.array, pl.Series])
def test_words_of_labels_in_arrays_are_read_as_in_files(trials, words, array):
    label = array([words[0] if is_target else words[1] for is_target in trials["label"]])
    expected = pv.metrics(trials["score"], trials["label"]).table.rows()
    assert pv.metrics(trials["score"], label).table.rows() == expected
    with pytest.raises(DataError, match=r"give True .* numpy.asarray\(labels\) == 'target'"):
        pv.eer(trials["score"], label)


def test_words_of_labels_in_arrays_may_be_named(trials):
    label = np.where(trials["label"], "H1", "H2")
    with pytest.raises(DataError, match=r"'H.' is not a label; state what the words mean"):
        pv.metrics(trials["score"], label)
    named = pv.metrics(trials["score"], label, columns={"target": "H1", "nontarget": "H2"})
    assert named.value("eer") == pv.metrics(trials["score"], trials["label"]).value("eer")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.5\n0.4\n", "contains scores without labels"),
        ("0.5 1 2\n0.4 0 3\n", "3 columns and no header"),
        ("score,label\n0.5,maybe\n", "'maybe' is not a label"),
        ("score,label\nhigh,1\n", "'high' is not a number"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path, text, sentence):
    path = tmp_path / "scores.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=sentence):
        pv.metrics(str(path))


@pytest.mark.slow
def test_the_command_prints_json_and_inspect_proposes_it(trials, tmp_path, capsys, monkeypatch):
    from parivox.cli import main

    monkeypatch.chdir(tmp_path)
    written(tmp_path / "scores.csv", pl.DataFrame(trials))
    inspection = pv.inspect("scores.csv")
    assert inspection.next == "parivox metrics scores.csv --by gender"
    assert inspection.files[0].kind == "scores without ids"
    assert not main([*inspection.next.split()[1:], "--json"])
    assert (
        json.loads(capsys.readouterr().out) == pv.metrics("scores.csv", groups="gender").to_dict()
    )
    assert not main(inspection.next.split()[1:])
    output = capsys.readouterr().out
    assert "No intervals, because the speakers are unknown" in output
    assert max(map(len, output.splitlines())) <= 100


@pytest.mark.slow
def test_the_chart_has_a_curve_for_each_group(trials, optional):
    optional("altair")
    chart = pv.metrics(trials, groups="gender").chart().to_dict()
    (rows,) = chart["datasets"].values()
    assert {row["c"] for row in rows} == {"all trials", "f", "m"}


def test_a_rate_that_certain_accepts_exceed_says_so():
    scores, labels = [np.inf, *(0.01 * i for i in range(40))], [0, *([0, 1] * 20)]
    scores[1] = scores[3] = np.inf
    rows = pv.metrics(scores, labels, fpr=[0.15, 0.1, 0.01]).table.rows()
    reasons = [row["reason"] for row in rows if row["metric"] == "fnr_at_fpr"]
    assert reasons == ["", "too_many_certain_accepts", "unresolvable"]
