"""Result tables."""

import json
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.table import Table
from parivox.errors import ConfigError, DataError

COLUMNS = {"name": "str", "value": "float", "n": "int", "fair": "bool"}
CELLS = {
    "name": ["a", "", "<b>"],
    "value": [0.1, float("nan"), "inf"],
    "n": [1, None, 3],
    "fair": [True, None, False],
}


@pytest.fixture
def table():
    return Table.of(CELLS, COLUMNS)


def test_undefined_is_null_and_infinite_stays(table):
    assert table.to_dict()["value"] == [0.1, None, math.inf]
    assert table.subset(name="").rows() == [{"name": "", "value": None, "n": None, "fair": None}]
    assert len(table.subset(value=None)) == 1
    assert table.subset() is table
    assert [row["n"] for row in table] == [1, None, 3]
    assert table.columns == tuple(COLUMNS)
    assert len(Table.empty(COLUMNS)) == 0


def test_written_and_read(table, tmp_path):
    table.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        "name,value,n,fair\na,0.1,1,true\n,,,\n<b>,inf,3,false\n"
    )
    table.write(tmp_path / "t.parquet")
    assert Table.read(tmp_path / "t.parquet").to_dict() == table.to_dict()
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        Table.read(tmp_path / "t.csv")


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-5-0", "@SUM(A1)", "\t=1", "\r=1", "-x", "+1\n"])
def test_no_text_in_a_csv_is_a_formula(tmp_path, text):
    table = Table.of(
        {"group": [text, "<18"], "value": [-1.5, None]}, {"group": "str", "value": "float"}
    )
    table.write(tmp_path / "t.csv")
    assert pl.read_csv(tmp_path / "t.csv").rows() == [("'" + text, -1.5), ("<18", None)]
    table.write(tmp_path / "t.parquet")
    assert Table.read(tmp_path / "t.parquet").to_dict()["group"] == [text, "<18"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("foo;=1+1", "foo;'=1+1"),
        ("=a;@b", "'=a;'@b"),
        ('f;"-x', "f;\"'-x"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\x9b1m", r"a\x9b1m"),
    ],
)
def test_no_text_in_a_csv_is_a_formula_behind_a_semicolon_or_a_command(tmp_path, text, written):
    table = Table.of({"group": [text]}, {"group": "str"})
    table.write(tmp_path / "t.csv")
    assert pl.read_csv(tmp_path / "t.csv").rows() == [(written,)]
    table.write(tmp_path / "t.parquet")
    assert Table.read(tmp_path / "t.parquet").to_dict()["group"] == [text]


@pytest.mark.parametrize("text", ["-1", "+5", "-.5", "-1.", "+1e-5", "a=1", "<18", "18-29", "f+m"])
def test_numbers_and_plain_texts_in_a_csv_stay_as_they_are(tmp_path, text):
    Table.of({"group": [text]}, {"group": "str"}).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == f"group\n{text}\n"


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.none() | st.floats(allow_nan=False), st.text(st.characters()))))
def test_json_holds_every_number_and_text_as_it_is(cells):
    numbers, texts = [cell for cell, _ in cells], [cell for _, cell in cells]
    texts = [cell.encode(errors="replace").decode() for cell in texts]
    table = Table.of({"value": numbers, '"ä': texts}, {"value": "float", '"ä': "str"})
    read = json.loads(table.to_json())
    assert [None if cell is None else float(cell) for cell in read["value"]] == numbers
    assert read['"ä'] == texts
    assert all(not isinstance(cell, str) or cell in {"inf", "-inf"} for cell in read["value"])


@pytest.mark.parametrize("n_rows", [1, 50_001])
def test_json_has_columns_whose_names_are_patterns_to_polars(n_rows):
    table = Table.of({"^a$": [1.5] * n_rows, "*": [2] * n_rows}, {"^a$": "float", "*": "int"})
    assert json.loads(table.to_json()) == {"^a$": [1.5] * n_rows, "*": [2] * n_rows}


def test_into_other_libraries(table, optional):
    assert pl.DataFrame(table).equals(table.to_polars())
    assert optional("pyarrow").table(table).num_rows == 3
    frame = table.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert math.isnan(frame["value"][1])
    assert frame["n"].isna().tolist() == [False, True, False]


def test_shown(table):
    assert "&lt;b&gt;" in table._repr_html_()
    assert "more rows" in Table.of({"n": list(range(30))}, {"n": "int"})._repr_html_()
    assert "inf" in repr(table)


SOME = Table.of(
    {"group": ["f", "m", "x"], "value": [0.5, None, 0.1], "trials": [3, 4, 5], "gated": [True] * 3},
    {"group": "str", "value": "float", "trials": "int", "gated": "bool"},
)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ({"group": ["m", "f"]}, ["f", "m"]),
        ({"value": None}, ["m"]),
        ({"trials": (4, 5), "value": 0.1}, ["x"]),
        ({"gated": False}, []),
        ({}, ["f", "m", "x"]),
    ],
)
def test_filter_takes_a_value_several_or_none(values, groups):
    assert SOME.filter(**values)["group"].to_list() == groups


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"group": 3}, "the column contains text"),
        ({"trials": "3"}, "the column contains whole numbers"),
        ({"group": []}, "give at least one value"),
        ({"grup": "f"}, "did you mean 'group'"),
        ({"group": ["f", "w"]}, "group='w': no row has this value; available: f, m, x"),
    ],
)
def test_filter_refuses_what_no_row_can_have(values, message):
    with pytest.raises(ConfigError, match=message):
        SOME.filter(**values)


def test_an_empty_table_has_no_row_of_any_group():
    assert len(Table.empty({"group": "str"}).filter(group="f")) == 0


def test_the_old_name_of_filter_gives_no_row_without_refusing():
    with pytest.warns(DeprecationWarning, match=r"Table\.where is filter since release 0\.3"):
        assert len(SOME.where(group="w")) == 0
