"""Text as spreadsheets and other systems save it: the same trials, whatever its encoding."""

import codecs
import contextlib
import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parivox.errors import DataError, ParivoxError
from parivox.read import content as content_module
from parivox.read.content import read_content
from parivox.read.metadata import read_table
from parivox.read.speakers import read_speakers
from parivox.read.trials import read_trials

pytestmark = pytest.mark.minimal

FUZZ = settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PEOPLE = "id,forename\na,José\nb,Zoë\nc,Ünal\n"
ENCODED = {
    "utf-8": PEOPLE.encode(),
    "utf-8-sig": PEOPLE.encode("utf-8-sig"),
    "utf-16-le": codecs.BOM_UTF16_LE + PEOPLE.encode("utf-16-le"),
    "utf-16-be": codecs.BOM_UTF16_BE + PEOPLE.encode("utf-16-be"),
    "cp1252": PEOPLE.encode("cp1252"),
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_table_whatever_its_encoding_which_is_said(write, encoding, pack):
    people = read_speakers(write("people.csv", pack(ENCODED[encoding])), id="id")
    assert people.attributes["forename"].to_list() == ["José", "Zoë", "Ünal"]
    assert people.provenance[0]["encoding"] == encoding
    assert people.provenance[0]["separator"] == ","
    plain = read_speakers(write("plain.csv", PEOPLE), id="id")
    assert people.content_sha256 == plain.content_sha256


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_western_utf16_needs_no_mark(write, order):
    table, _, told = read_table(write("people.csv", PEOPLE.encode(order)), "speakers")
    assert table["forename"].to_list() == ["José", "Zoë", "Ünal"]
    assert told["encoding"] == order


@pytest.mark.parametrize("encoding", ENCODED)
def test_large_files_are_turned_into_utf8_on_disk(write, monkeypatch, encoding):
    monkeypatch.setattr(content_module, "IN_MEMORY_BYTES", 8)
    monkeypatch.setattr(content_module, "_BLOCK", 7)  # which cuts characters apart
    for pack in (bytes, gzip.compress):
        found = read_content(write("people.csv", pack(ENCODED[encoding])))
        assert found.data is None
        with found.open() as file:
            assert file.read().decode("utf-8-sig") == PEOPLE
        assert found.encoding == encoding


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_scores_are_the_same_trials_in_every_encoding(read, csv, write, encoding):
    rows = [("a/é1", "a/2", "0.9", "1"), ("a/é1", "b/1", "0.1", "0"), ("c/1", "b/1", "0.2", "0")]
    found = read(csv(rows).encode(encoding))
    plain = read(csv(rows))
    assert found.content_sha256 == plain.content_sha256
    assert list(found.data) == list(plain.data)


def test_a_byte_far_down_decides(write):
    text = "id,forename\n" + "".join(f"{i},x\n" for i in range(40_000)) + "z,José\n"
    table, _, told = read_table(write("people.csv", text.encode("cp1252")), "speakers")
    assert (told["encoding"], table["forename"][-1]) == ("cp1252", "José")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (
            b"id,n\na,\x8f\n",
            "row 2: byte 0x8f is neither UTF-8 nor cp1252, as Excel saves text",
        ),
        (PEOPLE.encode() + b"d,Jos\xe9\n", "row 5: byte 0xe9 is not UTF-8, as other parts are; sa"),
        (codecs.BOM_UTF8 + b"id\nJos\xe9\n", "row 2: byte 0xe9 is not UTF-8, as other parts are"),
        (PEOPLE.encode("utf-16")[:-1], "row 4: is no text in UTF-16-LE, though .* may be cut off"),
        (
            codecs.BOM_UTF16_BE + b"\x00i\x00\n\xd8\x00\x00i\x00d",
            "row 2: is no text in UTF-16-BE, though the file begins as such",
        ),
        (b"id,n\na,\xe9\x02\n", "is neither text nor Parquet, Arrow or XLSX; save it in one"),
        (codecs.BOM_UTF16_LE, "holds blank lines only"),
    ],
)
def test_what_is_in_no_encoding_is_refused_with_its_row(write, data, match):
    with pytest.raises(DataError, match=f"people.csv: {match}"):
        read_speakers(write("people.csv", data))


def test_a_spreadsheets_csv(read, write):
    text = (
        "sep=;\r\nEnrol;Test;Score;Label\r\na/1;a/2;0,75;1\r\na/1;b/1;-1,5e-1;0\r\nb/1;c/1;1;0\r\n"
    )
    found = read(text.encode("utf-8-sig"))
    same = read("enrol,test,score,label\na/1,a/2,0.75,1\na/1,b/1,-0.15,0\nb/1,c/1,1,0\n")
    assert found.content_sha256 == same.content_sha256
    people = 'sep=;\nid;"Age group";note;\na;"18;25";x;\nb;30;;\n;;;\n'
    table, _, told = read_table(write("people.csv", people), "speakers")
    assert table.rows() == [(3, "a", "18;25", "x"), (4, "b", "30", None)]
    assert (table.columns, told["separator"]) == (["row", "id", "Age group", "note"], ";")


def test_the_decimal_comma_is_said(write):
    from parivox.read.cells import scores
    from parivox.read.columns import Columns
    from parivox.read.formats import scan

    def read(text):
        found = scan(write("s.csv", text), columns=Columns(), format=None, name="scores")
        values = [scores(chunk, found, rows).tolist() for rows, chunk in found.chunks()]
        return values, found.content.provenance

    values, told = read("enrol;test;score\na;b;0,5\na;c;1\n")
    assert (values, told["decimal"]) == ([[0.5, 1.0]], ",")
    values, told = read("enrol;test;score\na;b;0.5\na;c;1\n")
    assert (values, told.get("decimal")) == ([[0.5, 1.0]], None)


@pytest.mark.parametrize(
    ("scores", "match"),
    [
        (
            ["1,234", "1.234"],
            "rows 2 and 3, column 'score': '1,234' has a decimal comma and '1",
        ),
        (["1.5", "2", "1,5"], "rows 2 and 4, .*; write all scores in one way, without separators"),
        (["1.234,5", "0,5"], "row 2, column 'score': '1.234,5' is no number"),
        (["1,234,567"], "row 2, column 'score': '1,234,567' is no number"),
        ([",", "0,5"], "row 2, column 'score': ',' is no number"),
    ],
)
def test_what_separates_thousands_is_never_guessed(read, scores, match):
    rows = "".join(f"a/{i};b/1;{score}\n" for i, score in enumerate(scores))
    with pytest.raises(DataError, match=match):
        read("enrol;test;score\n" + rows)


def test_decimal_signs_must_agree_across_blocks(read, monkeypatch):
    from parivox.read.formats import delimited

    monkeypatch.setattr(delimited, "BLOCK", 64)
    rows = [f"a/{i};b/1;{i}.5\n" for i in range(20)]
    mixed = "enrol;test;score\n" + "".join([*rows, "a/x;b/1;0,5\n"])
    with pytest.raises(DataError, match=r"rows 2 and 22, .*'0.5' has a decimal point and '0,5' a"):
        read(mixed)
    with pytest.raises(DataError, match=r"rows 2 and 3, .*'0,5' has a decimal comma and '0.5' a"):
        read("enrol;test;score\na/x;b/1;0,5\n" + "".join(rows))


western = st.text(st.characters(codec="cp1252", exclude_categories=["Cc"]), max_size=12)


@pytest.mark.slow
@FUZZ
@given(names=st.lists(western, min_size=1, max_size=6))
def test_western_text_comes_back_or_is_refused(tmp_path, names):
    data = ("id\n" + "\n".join(f"x{name}" for name in names)).encode("cp1252")
    path = tmp_path / "western"
    path.write_bytes(data)
    try:
        found = read_content(path)
    except DataError:  # it might be UTF-8 in part
        return
    if found.encoding == "cp1252":
        assert found.data.decode() == data.decode("cp1252")
    else:
        assert found.data == data


@FUZZ
@given(names=st.lists(st.text(min_size=1), min_size=1), order=st.sampled_from(["le", "be"]))
def test_any_text_in_utf16_comes_back(tmp_path, names, order):
    text = "id\n" + "\n".join(names)
    path = tmp_path / "wide"
    mark = codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE
    path.write_bytes(mark + text.encode(f"utf-16-{order}"))
    assert read_content(path).data.decode() == text


pieces = st.sampled_from(
    [
        *(b"id,sex\n", b"enrol;test;score\n", b"sep=;\n", b"a;b;0,5\n", b"a,1.5\n", b"\n", b'"'),
        *(codecs.BOM_UTF8, b"\xff\xfe", b"\xfe\xff", b"\x00", b"\xe9", b"\xc3\xa9", b"\x81"),
    ]
)


@FUZZ
@given(data=st.lists(pieces | st.binary(max_size=6), max_size=12).map(b"".join))
def test_any_bytes_give_a_table_or_one_sentence(tmp_path, data):
    path = tmp_path / "bytes"
    path.write_bytes(data)
    people = read_speakers({"id": ["a", "b"], "sex": ["f", "m"]})
    for job in (
        lambda: read_table(path, "speakers"),
        lambda: read_trials(path, system="s", list_="", speakers=people),
    ):
        with contextlib.suppress(ParivoxError):  # whose text is one line
            job()
