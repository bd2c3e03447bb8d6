"""The table of speakers."""

import polars as pl
import pytest

from parivox.errors import ConfigError, DataError
from parivox.tables.speakers import read_speakers

pytestmark = pytest.mark.minimal


def test_the_id_column_is_the_one_that_covers_the_ids(read, csv, rows, write):
    people = read_speakers(write("people.tsv", "nick\tname\tsex\nx\ta\tf\ny\tb\tm\na\tc\tf\n"))
    found = read(csv(rows), people=people)
    assert people.ids == ("a", "b", "c")
    assert people.provenance[0]["columns"] == {"id": "name"}
    assert people.attributes.columns == ["nick", "sex"]
    assert [people.ids[i] for i in found.utterance_speaker] == ["a", "a", "b", "b", "c"]


def test_the_id_column_by_name():
    people = read_speakers({"x": ["a", "b"], "Name": ["c", "d"]}, id="name")
    assert people.ids == ("c", "d")
    with pytest.raises(ConfigError, match="--id 'nam' is no column of speakers; nearest: 'Name'"):
        read_speakers({"x": ["a", "b"], "Name": ["c", "d"]}, id="nam")


@pytest.mark.parametrize("word", ["", "NA", "n/a", "Unknown", " ", "nan"])
def test_unknown_attributes(write, word):
    people = read_speakers(write("s.csv", f"id,sex,age\na,f,1\nb,{word},2\n"), id="id")
    assert people.attributes["sex"].to_list() == ["f", None]
    assert [(n.item, n.count) for n in people.notes([0, 1])] == [("speakers with unknown sex", 1)]
    assert people.notes([0]) == []


def test_two_values_of_one_attribute(write):
    path = write("s.csv", "id,sex,age\na,f,1\nb,m,2\na,f,\n\na,m,\n")
    with pytest.raises(
        DataError, match=r"s.csv: rows 2 and 6, column 'sex': speaker 'a' is 'f' and 'm'; keep"
    ):
        read_speakers(path, id="id")
    people = read_speakers(path, id="id", conflicts="set-aside")
    assert people.attributes.rows() == [(None, "1"), ("m", "2")]
    assert ("speakers with two values of sex", 1) in [(n.item, n.count) for n in people.notes([0])]


def test_content_hash_knows_neither_order_nor_format(tmp_path):
    one = pl.DataFrame({"id": ["a", "b"], "sex": ["f", None], "age": [1, 2]})
    one.write_parquet(tmp_path / "s.parquet")
    one.reverse().select("age", "id", "sex").write_csv(tmp_path / "s.csv")
    hashes = {
        read_speakers(tmp_path / name, id="id").content_sha256 for name in ("s.parquet", "s.csv")
    }
    assert len(hashes) == 1
    assert read_speakers({"id": ["a"], "sex": ["f"]}, id="id").content_sha256 not in hashes


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        ("id,sex\n", "holds a header and nothing else"),
        ("id,id\na,b\n", "has two columns named 'id'"),
        ("id,sex\na\n", "row 2 has 1 column where the file has 2"),
        (b"\xff\xfe\x00", "is text in UTF-16; save it in the encoding UTF-8"),
        (b"id,sex\na,f\nb,\xe9\n", "s.csv: row 3: byte 0xe9 is not UTF-8"),
        (b"id,sex\ra,f\rb,m\r", "its lines end as on an old Mac, in CR alone"),
    ],
)
def test_bad_tables(write, text, match):
    with pytest.raises(DataError, match=match):
        read_speakers(write("s.csv", text))


def test_ids_that_match_no_speaker(read, csv, rows):
    people = read_speakers({"id": ["x", "y"], "sex": ["f", "m"]})
    with pytest.raises(
        DataError,
        match=r"the first components of 5 of 5 utterance ids \('a/1', 'a/2', 'b/1', ...\) "
        "are no speakers in speakers; no part",
    ):
        read(csv(rows), people=people)


def test_ids_may_be_any_word_but_not_empty(write):
    people = read_speakers(write("s.csv", "id,sex\nNA,f\nnone,m\n,f\n"), id="id")
    assert people.ids == ("NA", "none")
    assert [(n.item, n.count) for n in people.notes([0, 1])] == [("rows without id", 1)]
