"""Tables of recordings that failed."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.recordings import read_failures
from parivox.data.trial_values import STAGE_WORDS
from parivox.data.trials import read_trials
from parivox.errors import DataError

ROWS = {"recording": ["a/2", "a/1", "a/2", "a/2"], "stage": ["enrol", "acquire", "fta", "FTE"]}


def test_each_recording_of_a_stage_once_in_order():
    failure_table = read_failures(ROWS)
    assert failure_table.enrol.to_list() == ["a/2"]
    assert failure_table.acquire.to_list() == ["a/1", "a/2"]
    assert read_failures(failure_table) is failure_table


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        ("Enrol", "enrol"),
        ("enrolment", "enrol"),
        ("ENROLLMENT", "enrol"),
        (" fte ", "enrol"),
        ("failure to enrol", "enrol"),
        ("failure_to_enrol", "enrol"),
        ("acquire", "acquire"),
        ("Acquisition", "acquire"),
        ("test", "acquire"),
        ("probe", "acquire"),
        ("FTA", "acquire"),
        ("verification", "acquire"),
        ("Failure-to-acquire", "acquire"),
    ],
)
def test_words_for_stages(word, stage):
    failure_table = read_failures({"recording": ["a/1"], "stage": [word]})
    assert getattr(failure_table, stage).to_list() == ["a/1"]
    assert len(failure_table.enrol) + len(failure_table.acquire) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("Recording ID", "Stage", "Reason"),
        ("call", "failure_stage", "why"),
        ("model", "step", "reason"),
        ("utterance", "stage", "x"),
    ],
)
def test_columns_are_known_by_several_names(names):
    cells = (["a/1"], ["enrol"], ["no speech"])
    failure_table = read_failures(dict(zip(names, cells, strict=True)))
    assert failure_table.enrol.to_list() == ["a/1"]
    roles = {"cause": names[2]} if names[2] != "x" else {}
    assert failure_table.provenance["columns"] == {
        "recording": names[0],
        "stage": names[1],
        **roles,
    }


@pytest.mark.parametrize("kind", ["csv", "tsv", "semicolon", "parquet"])
def test_any_kind_of_file(write, tmp_path, kind):
    if kind == "parquet":
        path = tmp_path / "failures.parquet"
        pl.DataFrame(ROWS).write_parquet(path)
    else:
        sign = {"csv": ",", "tsv": "\t", "semicolon": ";"}[kind]
        lines = ["recording,stage,reason", *(f"{r},{s},short" for r, s in zip(*ROWS.values()))]  # noqa: B905
        path = write("failures.csv", "\n".join(lines).replace(",", sign) + "\n")
    failure_table, plain = read_failures(path), read_failures(ROWS)
    assert failure_table.enrol.equals(plain.enrol)
    assert failure_table.acquire.equals(plain.acquire)
    assert failure_table.name == path.name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "recording,reason\na/1,short\n",
            "f.csv: has no column 'stage' (found: 'recording', 'reason')",
        ),
        ("person,stage\na,enrol\n", "f.csv: has no column 'recording' (found: 'person', 'stage')"),
        ("recording,stage\n,enrol\n", "f.csv, row 2, column 'recording': is empty; give the id"),
        (
            "recording,stage\na/1,enrol\na/2,\n",
            "f.csv, row 3, column 'stage': is empty; use enrol or acquire",
        ),
        (
            "recording,stage\na/1,enrol\na/2,Upload\n",
            "f.csv, row 3, column 'stage': 'Upload' is not a stage; use enrol or acquire",
        ),
        ("recording,stage\n", "f.csv: contains only a header; give a file with rows"),
    ],
)
def test_bad_tables_are_told(write, text, sentence):
    with pytest.raises(DataError) as error_info:
        read_failures(write("f.csv", text))
    assert sentence in str(error_info.value)


NOPE = "is in no trial, and its speaker is unknown"


@pytest.mark.parametrize(
    ("text", "more", "sentence"),
    [
        ("a/1,acquire\nnope,acquire\n", {}, f"f.csv, row 3: recording 'nope' {NOPE}; correct the"),
        ("z/1,acquire\ny/1,enrol\n", {}, f"recording 'z/1' {NOPE} (2 such recordings); correct"),
        (
            "a/9,acquire\n",
            {"utterances": {"utterance": ["a/1", "a/2", "b/1"], "speaker": [*"aab"]}},
            f"f.csv, row 2: recording 'a/9' {NOPE}; correct the id, or give its speaker with utt",
        ),
    ],
)
def test_a_failure_of_nobody_is_told_with_its_row(read, write, text, more, sentence):
    failures = write("f.csv", "recording,stage\n" + text)
    with pytest.raises(DataError) as error_info:
        read("enrol,test,score\na/1,a/2,1\na/1,b/1,0\n", failures=failures, **more)
    assert sentence in str(error_info.value)


def test_a_failure_of_nobody_is_told_without_a_table_of_speakers(write):
    failures = write("f.csv", "recording,stage\na/9,acquire\nnope,acquire\n")
    scores = {"enrol": ["a/1"], "test": ["a/2"], "score": [1.0]}
    with pytest.raises(DataError, match=f"f.csv, row 3: recording 'nope' {NOPE}; correct the id"):
        read_trials(scores, system="s", list_="", speakers=None, failures=failures)


def test_a_model_cannot_fail_to_be_acquired(read, write):
    models = write("m.csv", "model,speaker,recording\nm1,a,a/1\n")
    failures = write("f.csv", "recording,stage\nm1,acquire\n")
    with pytest.raises(DataError) as error_info:
        read("enrol,test,score\nm1,a/2,1\nm1,b/1,0\n", models=models, failures=failures)
    assert str(error_info.value) == (
        f"f.csv, row 2: recording 'm1' {NOPE}; use the stage enrol: this is a model of m.csv"
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(sorted(STAGE_WORDS))), min_size=1)
)
def test_the_order_of_rows_changes_nothing(rows):
    tables = [
        read_failures(
            {"recording": [r for r, _ in ordered_rows], "stage": [s for _, s in ordered_rows]}
        )
        for ordered_rows in (rows, rows[::-1])
    ]
    for stage, code in (("enrol", STAGE_WORDS["enrol"]), ("acquire", STAGE_WORDS["acquire"])):
        recordings = sorted({r for r, word in rows if STAGE_WORDS[word] == code})
        assert [getattr(table, stage).to_list() for table in tables] == [recordings, recordings]
