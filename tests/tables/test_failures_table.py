"""Tables of recordings that failed."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.errors import DataError
from parivox.tables.failures import read_failures
from parivox.tables.outcomes import STAGES, stage_of

ROWS = {"recording": ["a/2", "a/1", "a/2", "a/2"], "stage": ["enrol", "acquire", "fta", "FTE"]}


def test_each_recording_of_a_stage_once_in_order():
    found = read_failures(ROWS)
    assert found.enrol.to_list() == ["a/2"]
    assert found.acquire.to_list() == ["a/1", "a/2"]
    assert read_failures(found) is found


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        *((word, "enrol") for word in ("Enrol", "enrolment", "ENROLLMENT", " fte ")),
        *((word, "enrol") for word in ("failure to enrol", "failure_to_enrol")),
        *((word, "acquire") for word in ("acquire", "Acquisition", "test", "probe", "FTA")),
        *((word, "acquire") for word in ("verification", "Failure-to-acquire")),
    ],
)
def test_words_for_stages(word, stage):
    found = read_failures({"recording": ["a/1"], "stage": [word]})
    assert getattr(found, stage).to_list() == ["a/1"]
    assert len(found.enrol) + len(found.acquire) == 1


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
    found = read_failures(dict(zip(names, cells, strict=True)))
    assert found.enrol.to_list() == ["a/1"]
    assert found.provenance["columns"] == {"recording": names[0], "stage": names[1]}


@pytest.mark.parametrize("kind", ["csv", "tsv", "semicolon", "parquet"])
def test_any_kind_of_file(write, tmp_path, kind):
    if kind == "parquet":
        path = tmp_path / "failures.parquet"
        pl.DataFrame(ROWS).write_parquet(path)
    else:
        sign = {"csv": ",", "tsv": "\t", "semicolon": ";"}[kind]
        lines = ["recording,stage,reason", *(f"{r},{s},short" for r, s in zip(*ROWS.values()))]  # noqa: B905
        path = write("failures.csv", "\n".join(lines).replace(",", sign) + "\n")
    found, plain = read_failures(path), read_failures(ROWS)
    assert found.enrol.equals(plain.enrol)
    assert found.acquire.equals(plain.acquire)
    assert found.name == path.name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("recording,reason\na/1,short\n", "f.csv: has no column 'stage' but 'recording', 'reason'"),
        ("person,stage\na,enrol\n", "f.csv: has no column 'recording' but 'person', 'stage'"),
        ("recording,stage\n,enrol\n", "f.csv: row 2, column 'recording': is empty; give the id"),
        ("recording,stage\na/1,enrol\na/2,\n", "f.csv: row 3, column 'stage': is empty"),
        (
            "recording,stage\na/1,enrol\na/2,Upload\n",
            "f.csv: row 3, column 'stage': 'Upload' is no stage; use enrol or acquire",
        ),
        ("recording,stage\n", "f.csv: holds a header and nothing else; give a file with rows"),
    ],
)
def test_bad_tables_are_told(write, text, sentence):
    with pytest.raises(DataError) as told:
        read_failures(write("f.csv", text))
    assert sentence in str(told.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(sorted(STAGES))), min_size=1))
def test_the_order_of_rows_changes_nothing(rows):
    tables = [
        read_failures({"recording": [r for r, _ in some], "stage": [s for _, s in some]})
        for some in (rows, rows[::-1])
    ]
    for stage, code in (("enrol", STAGES["enrol"]), ("acquire", STAGES["acquire"])):
        wanted = sorted({r for r, word in rows if stage_of(word) == code})
        assert [getattr(one, stage).to_list() for one in tables] == [wanted, wanted]
