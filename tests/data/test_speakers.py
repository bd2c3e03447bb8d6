"""The table of speakers."""

import polars as pl
import pytest
from tests.sentences import in_words

from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError

pytestmark = pytest.mark.minimal


def test_the_id_column_is_the_one_that_covers_the_ids(read, csv, rows, write):
    people = read_speakers(write("people.tsv", "nick\tname\tsex\nx\ta\tf\ny\tb\tm\na\tc\tf\n"))
    trial_set = read(csv(rows), people=people)
    assert people.ids == ("a", "b", "c")
    assert people.provenance[0]["columns"] == {"id": "name"}
    assert people.attributes.columns == ["nick", "sex"]
    assert [people.ids[i] for i in trial_set.utterance_speaker] == ["a", "a", "b", "b", "c"]


@pytest.fixture
def numbered(csv):
    """Trials of speakers that are numbers, which any running number covers, too."""
    return csv([(f"{a}/1", f"{b}/2", "0.5", str(int(a == b))) for a in range(4) for b in range(4)])


@pytest.mark.parametrize(
    ("header", "column"),
    [
        (",speaker,sex", "speaker"),
        ("Nr.,Speaker_ID,sex", "Speaker_ID"),
        ("Nr.,id,sex", "id"),
        ("id,spk,sex", "spk"),
        ("Unnamed: 0,who,sex", "who"),
        (",who,sex", "who"),
        ("who,,sex", "who"),
    ],
)
def test_a_running_number_is_no_id(read, numbered, write, header, column):
    people = read_speakers(write("people.csv", f"{header}\n0,2,f\n1,3,f\n2,0,m\n3,1,m\n"))
    read(numbered, people=people)
    assert people.provenance[0]["columns"] == {"id": column}


def test_a_speaker_who_is_missing_does_not_make_the_index_the_id(read, numbered, write):
    people = read_speakers(write("people.csv", ",speaker,sex\n0,2,f\n1,7,f\n2,0,m\n3,1,m\n"))
    with pytest.raises(DataError, match=r"1 of 4 speakers \('3'\) are not in people.csv"):
        read(numbered, people=people)


def test_an_index_holds_the_ids_where_nothing_else_does(read, numbered, write):
    people = read_speakers(write("people.csv", ",sex,age\n2,f,30\n3,f,2\n0,m,41\n1,m,52\n"))
    read(numbered, people=people)
    assert people.provenance[0]["columns"] == {"id": ""}
    assert people.attributes.columns == ["sex", "age"]


def test_of_two_columns_that_cover_alike_none_is_taken(read, numbered, write):
    path = write("people.csv", "Nr.,who,sex\n0,2,f\n1,3,f\n2,0,m\n3,1,m\n")
    with pytest.raises(
        DataError,
        match=r"people.csv: columns 'Nr.' and 'who' may both be the speaker ids \(they "
        r"contain 4 and 4 of the 4 required ids\); choose one with id, or name it 'speaker'",
    ):
        read(numbered, people=read_speakers(path))
    read(numbered, people=read_speakers(path, id="who"))
    ambiguous_table = write("same.csv", "Nr.,who,sex\n2,2,f\n3,3,f\n0,0,m\n1,1,m\n")
    read(numbered, people=read_speakers(ambiguous_table))


def test_the_id_column_by_name():
    people = read_speakers({"x": ["a", "b"], "Name": ["c", "d"]}, id="name")
    assert people.ids == ("c", "d")
    with pytest.raises(
        ConfigError, match="id='nam' is not a column of speakers; did you mean 'Name"
    ):
        read_speakers({"x": ["a", "b"], "Name": ["c", "d"]}, id="nam")


@pytest.mark.parametrize("word", ["", "NA", "n/a", "Unknown", " ", "nan"])
def test_unknown_attributes(write, word):
    people = read_speakers(write("s.csv", f"id,sex,age\na,f,1\nb,{word},2\n"), id="id")
    assert people.attributes["sex"].to_list() == ["f", None]
    assert [(in_words(n.item), n.count) for n in people.notes([0, 1])] == [
        ("speakers with unknown sex", 1)
    ]
    assert people.notes([0]) == []


def test_two_values_of_one_attribute(write):
    path = write("s.csv", "id,sex,age\na,f,1\nb,m,2\na,f,\n\na,m,\n")
    with pytest.raises(
        DataError, match=r"s.csv, rows 2 and 6, column 'sex': speaker 'a' is 'f' and 'm'; keep"
    ):
        read_speakers(path, id="id")
    people = read_speakers(path, id="id", conflicts="exclude")
    assert people.attributes.rows() == [(None, "1"), ("m", "2")]
    assert ("speakers with two values for sex", 1) in [
        (in_words(n.item), n.count) for n in people.notes([0])
    ]


def test_a_table_of_recordings_is_told_where_to_give(write):
    with pytest.raises(DataError) as caught:
        read_speakers(write("s.csv", "utterance,speaker\na/1,a\na/2,a\nb/1,b\n"), id="speaker")
    assert str(caught.value).endswith(
        "; if this is a table of recordings, give it with utterances; otherwise keep one value, or "
        "treat it as unknown with conflicts='exclude'"
    )


def test_rows_that_repeat_a_speaker_are_counted(write):
    people = read_speakers(write("s.csv", "id,sex\na,f\nb,m\na,f\na,\n"), id="id")
    assert people.attributes["sex"].to_list() == ["f", "m"]
    (note,) = people.notes([0, 1])
    assert (note.source, note.item, note.count, note.note) == (
        "speakers", "repeated_speaker_rows",
        2, "merged",
    )  # fmt: skip
    assert read_speakers({"id": ["a", "b"]}, id="id").notes([0, 1]) == []


def test_content_hash_knows_neither_order_nor_format(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "sex": ["f", None], "age": [1, 2]})
    frame.write_parquet(tmp_path / "s.parquet")
    frame.reverse().select("age", "id", "sex").write_csv(tmp_path / "s.csv")
    hashes = {
        read_speakers(tmp_path / name, id="id").content_sha256 for name in ("s.parquet", "s.csv")
    }
    assert len(hashes) == 1
    assert read_speakers({"id": ["a"], "sex": ["f"]}, id="id").content_sha256 not in hashes


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        ("id,sex\n", "contains only a header"),
        ("id,id\na,b\n", "has two columns named 'id'"),
        ("id,sex\na\n", "row 2: has 1 columns?, but other rows have 2"),
        (
            b"\xff\xfe\x00",
            "s.csv, row 1: is not text in UTF-16-LE, although the file begins in this encoding",
        ),
        (b"id,sex\na,f\nb,\x9d\n", "s.csv, row 3: byte 0x9d is not UTF-8, and "),
        (b"id,sex\ra,f\rb,m\r", "its lines end in CR only, as on old Macs"),
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
        "are not speakers in speakers; no part",
    ):
        read(csv(rows), people=people)


def test_ids_may_be_any_word_but_not_empty(write):
    people = read_speakers(write("s.csv", "id,sex\nNA,f\nnone,m\n,f\n"), id="id")
    assert people.ids == ("NA", "none")
    assert [(in_words(n.item), n.count) for n in people.notes([0, 1])] == [("rows without id", 1)]


@pytest.mark.parametrize(
    ("ids", "rewritten_ids", "mistake"),
    [
        (
            ["00042", "00107"],
            ["42", "107"],
            "dropped leading zeros ('00042' is '42' in people.csv)",
        ),
        (["42", "107"], ["0042", "0107"], "dropped leading zeros ('107' is '0107' in people.csv)"),
        (["100000", "7"], ["1E+05", "7"], "written ids in powers of ten ('100000' is '1E+05' in"),
        (["123456789012"], ["1,23E+11"], "written ids in powers of ten ('123456789012' is '1,23E"),
        (["2E5", "x"], ["2.00E+05", "x"], "written ids in powers of ten ('2E5' is '2.00E+05' in"),
        (["42"], ["42.0"], "put .0 behind whole numbers ('42' is '42.0' in people.csv)"),
        (["0042"], ["42.0"], "put .0 behind whole numbers ('0042' is '42.0' in people.csv)"),
        (["MAR1", "x"], ["01-Mar", "x"], "taken ids for dates ('MAR1' is '01-Mar' in people.csv)"),
        (["3-1"], ["2024-03-01"], "taken ids for dates ('3-1' is '2024-03-01' in people.csv)"),
        (["4012345678901234"], ["4012345678901230"], "turned digits beyond the 15th into zeros"),
    ],
)
def test_ids_that_a_spreadsheet_rewrote_are_named_and_not_repaired(
    read, csv, write, ids, rewritten_ids, mistake
):
    rows = "".join(
        f"{id_};{'fm'[number % 2]}\n" for number, id_ in enumerate([*rewritten_ids, "z"])
    )
    people = read_speakers(write("people.csv", "id;sex\n" + rows))
    trials = csv([(f"{id_}/1", "z/1", "0.5", "0") for id_ in ids])
    with pytest.raises(DataError) as caught:
        read(trials, people=people)
    sentence = str(caught.value)
    assert f"a spreadsheet seems to have {mistake}" in sentence
    assert "import the original into the spreadsheet again, with the column as text" in sentence
    assert ("give the column a number format such as 0" in sentence) == ("leading zeros" in mistake)
    calls = "call;speaker\n" + "".join(f"{id_};z\n" for id_ in [*rewritten_ids, "z/1"])
    with pytest.raises(DataError, match="a spreadsheet seems to have"):
        read(
            csv([(id_, "z/1", "0.5", "0") for id_ in ids]),
            people=read_speakers({"id": ["z"], "sex": ["f"]}),
            utterances=write("people.csv", calls),
        )


def test_other_ids_are_not_blamed_on_a_spreadsheet(read, csv):
    people = read_speakers({"id": ["7", "MARS", "1x05", "z"], "sex": list("fmfm")})
    with pytest.raises(DataError, match="add the speakers, check case and spelling"):
        read(csv([("08/1", "z/1", "0.5", "0"), ("MARS1/1", "7/1", "0.5", "0")]), people=people)
