"""Text as spreadsheets and other systems save it: the same trials, whatever its encoding."""

import codecs
import contextlib
import gzip
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.data import source_bytes as content_module
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_speakers, read_table
from parivox.data.trials import read_trials
from parivox.errors import (
    ConfigError,
    DataError,
    EncodingGuessed,
    ParivoxError,
    options_named,
)

pytestmark = [
    pytest.mark.minimal,
    pytest.mark.filterwarnings("ignore::parivox.errors.EncodingGuessed"),
]

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
    table, _, read_record = read_table(write("people.csv", PEOPLE.encode(order)), "speakers")
    assert table["forename"].to_list() == ["José", "Zoë", "Ünal"]
    assert read_record["encoding"] == order


@pytest.mark.parametrize("encoding", ENCODED)
def test_large_files_are_turned_into_utf8_on_disk(write, monkeypatch, encoding):
    monkeypatch.setattr(content_module, "IN_MEMORY_BYTES", 8)
    monkeypatch.setattr(content_module, "_CHUNK_BYTES", 7)  # which cuts characters apart
    for pack in (bytes, gzip.compress):
        content = read_content(write("people.csv", pack(ENCODED[encoding])))
        assert content.payload is None
        with content.open() as file:
            assert file.read().decode("utf-8-sig") == PEOPLE
        assert content.encoding == encoding


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_scores_are_the_same_trials_in_every_encoding(read, csv, write, encoding):
    accented_id = "a/José1"
    rows = [
        (accented_id, "a/2", "0.9", "1"),
        (accented_id, "b/1", "0.1", "0"),
        ("c/1", "b/1", "0.2", "0"),
    ]
    trial_set = read(csv(rows).encode(encoding))
    plain = read(csv(rows))
    assert trial_set.content_sha256 == plain.content_sha256
    assert list(trial_set.data_notes) == list(plain.data_notes)


def test_a_byte_far_down_decides(write):
    text = "id,forename\n" + "".join(f"{i},x\n" for i in range(40_000)) + "z,José\n"
    table, _, read_record = read_table(write("people.csv", text.encode("cp1252")), "speakers")
    assert (read_record["encoding"], table["forename"][-1]) == ("cp1252", "José")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (
            b"id,n\na,x\x8f\x8fx\x81\x81x\n",
            "row 2: byte 0x8f is not UTF-8, and no other encoding that was tried gives readable",
        ),
        (
            PEOPLE.encode() + b"d,Jos\xe9\n",
            "row 5: byte 0xe9 is not UTF-8, although other parts are; sa",
        ),
        (
            codecs.BOM_UTF8 + b"id\nJos\xe9\n",
            "row 2: byte 0xe9 is not UTF-8, although other parts are",
        ),
        (
            PEOPLE.encode("utf-16")[:-1],
            "row 4: is not text in UTF-16-LE, although .* may be truncated",
        ),
        (
            codecs.BOM_UTF16_BE + b"\x00i\x00\n\xd8\x00\x00i\x00d",
            "row 2: is not text in UTF-16-BE, although the file begins in this encoding",
        ),
        (b"id,n\na,\xe9\x02\n", "is neither text nor Parquet, Arrow or XLSX; save it in one"),
        (codecs.BOM_UTF16_LE, "contains blank lines only"),
    ],
)
def test_what_is_in_no_encoding_is_refused_with_its_row(write, data, match):
    with pytest.raises(DataError, match=f"people.csv[:,] {match}"):
        read_speakers(write("people.csv", data))


def test_a_spreadsheets_csv(read, write):
    text = (
        "sep=;\r\nEnrol;Test;Score;Label\r\na/1;a/2;0,75;1\r\na/1;b/1;-1,5e-1;0\r\nb/1;c/1;1;0\r\n"
    )
    trial_set = read(text.encode("utf-8-sig"))
    reference_trials = read(
        "enrol,test,score,label\na/1,a/2,0.75,1\na/1,b/1,-0.15,0\nb/1,c/1,1,0\n"
    )
    assert trial_set.content_sha256 == reference_trials.content_sha256
    people = 'sep=;\nid;"Age group";note;\na;"18;25";x;\nb;30;;\n;;;\n'
    table, _, read_record = read_table(write("people.csv", people), "speakers")
    assert table.rows() == [(3, "a", "18;25", "x"), (4, "b", "30", None)]
    assert (table.columns, read_record["separator"]) == (["row", "id", "Age group", "note"], ";")


def test_the_decimal_comma_is_said(write):
    from parivox.data.columns import RequestedColumns
    from parivox.data.formats import scan
    from parivox.data.trial_values import scores

    def read(text):
        scanned_file = scan(
            write("s.csv", text), columns=RequestedColumns(), format=None, name="scores"
        )
        values = [scores(chunk, scanned_file).tolist() for chunk in scanned_file.chunks()]
        return values, scanned_file.content.provenance

    values, decimal_mark = read("enrol;test;score\na;b;0,5\na;c;1\n")
    assert (values, decimal_mark["decimal"]) == ([[0.5, 1.0]], ",")
    values, decimal_mark = read("enrol;test;score\na;b;0.5\na;c;1\n")
    assert (values, decimal_mark.get("decimal")) == ([[0.5, 1.0]], None)


@pytest.mark.parametrize(
    ("scores", "match"),
    [
        (
            ["1,234", "1.234"],
            "rows 2 and 3, column 'score': '1,234' has a decimal comma and '1",
        ),
        (
            ["1.5", "2", "1,5"],
            "rows 2 and 4, .*; use one decimal sign, and no thousands separators",
        ),
        (["1.234,5", "0,5"], "row 2, column 'score': '1.234,5' is not a number"),
        (["1,234,567"], "row 2, column 'score': '1,234,567' is not a number"),
        ([",", "0,5"], "row 2, column 'score': ',' is not a number"),
    ],
)
def test_what_separates_thousands_is_never_guessed(read, scores, match):
    rows = "".join(f"a/{i};b/1;{score}\n" for i, score in enumerate(scores))
    with pytest.raises(DataError, match=match):
        read("enrol;test;score\n" + rows)


def test_decimal_signs_must_agree_across_blocks(read, monkeypatch):
    from parivox.data.formats import delimited

    monkeypatch.setattr(delimited, "CHUNK_BYTES", 64)
    rows = [f"a/{i};b/1;{i}.5\n" for i in range(20)]
    mixed = "enrol;test;score\n" + "".join([*rows, "a/x;b/1;0,5\n"])
    with pytest.raises(DataError, match=r"rows 2 and 22, .*'0.5' has a decimal point and '0,5' a"):
        read(mixed)
    with pytest.raises(DataError, match=r"rows 2 and 3, .*'0,5' has a decimal comma and '0.5' a"):
        read("enrol;test;score\na/x;b/1;0,5\n" + "".join(rows))


NAMES = {
    "cp1252": ["José", "Hélène", "Søren", "Muñoz", "Niccolò"],
    "mac_roman": ["José", "Hélène", "Jörg", "Müller", "Björn"],
    "cp1250": ["Dvořák", "Kučera", "Łukasz", "Růžena", "Đoković"],
    "cp1254": ["Çağlar", "Gülşen", "Işık", "Ayşe", "Yıldız"],
    "cp1251": ["Иван", "Мария", "Сергей", "Ольга", "Київ"],
    "cp1253": ["Μαρία", "Γιώργος", "Ελένη", "Νίκος"],
    "cp1255": ["דוד", "שרה", "מרים", "יוסף"],
    "gbk": ["王伟", "李娜", "张三", "刘洋", "陈静"],
    "cp950": ["王偉", "李娜", "張三", "劉洋", "陳靜"],
    "cp932": ["田中", "佐藤花子", "さくら", "佐々木", "渡辺"],
    "euc_jp": ["田中", "佐藤花子", "さくら", "鈴木", "渡辺"],
    "cp949": ["김철수", "이영희", "박지성", "최민수"],
}


def table_of(names, encoding):
    rows = "".join(f"{number},{name}\n" for number, name in enumerate(names))
    return f"id,name\n{rows}".encode(encoding)


@pytest.mark.parametrize("encoding", NAMES)
def test_names_tell_their_encoding_and_a_warning_shows_one(write, encoding):
    path = write("people.csv", table_of(NAMES[encoding], encoding))
    message = f"^people.csv: is not UTF-8 and is read as {encoding}, a guess by its words such as '"
    with pytest.warns(EncodingGuessed, match=message) as warned:
        table, _, about = read_table(path, "speakers")
    assert (table["name"].to_list(), about["encoding"]) == (NAMES[encoding], encoding)
    assert str(warned[0].message).endswith("if they are spelt otherwise, give encoding=NAME")
    with options_named(), pytest.warns(EncodingGuessed, match="give --encoding NAME$"):
        read_table(path, "speakers")
    assert any(repr(name) in str(warned[0].message) for name in NAMES[encoding])


@pytest.mark.parametrize(
    ("encoding", "names", "readings"),
    [
        ("cp1252", ["Inês", "Tom"], "'Inês' (in cp1252) or 'Inęs' (in cp1250)"),
        ("cp1250", ["Szűcs"], "'Szűcs' (in cp1250)"),
        ("gbk", ["王"], "'王' (in gbk)"),
        ("cp1251", ["м", "ж"], "'м' (in cp1251)"),
    ],
)
def test_names_of_several_readings_are_refused_until_one_is_named(write, encoding, names, readings):
    path = write("people.csv", table_of(names, encoding))
    with pytest.raises(DataError, match=r"may be .*; choose one") as refused:
        read_table(path, "speakers")
    assert readings in str(refused.value)
    with warnings.catch_warnings(), content_module.reading_files_as(encoding):
        warnings.simplefilter("error")
        table, _, about = read_table(path, "speakers")
    assert (table["name"].to_list(), about["encoding"]) == (names, encoding)


def test_a_named_encoding_is_for_texts_that_are_not_unicode(write):
    path = write("people.csv", PEOPLE)
    for name in ("cp1250", "GB2312", "utf-8", "mac-roman"):
        with content_module.reading_files_as(name):
            assert read_table(path, "speakers")[2]["encoding"] == "utf-8"
    with (
        content_module.reading_files_as("utf-8"),
        pytest.raises(DataError, match="row 2: byte 0xe9 is"),
    ):
        read_content(write("more.csv", "id\nJosé,Jörg\n".encode("cp1252")))


@pytest.mark.slow
def test_every_command_takes_an_encoding_and_tells_a_guess(write, tmp_path, capsys):
    from parivox.cli import main

    ids = [f"{name}/{k}" for name in ("Inês", "Zoë") for k in range(2)]
    rows = [f"{utterance},{two},0.5\n" for utterance in ids for two in ids if utterance < two]
    scores = write("s.csv", ("enrol,test,score\n" + "".join(rows)).encode("cp1252"))
    people = write("p.csv", "id,sex\nInês,f\nZoë,m\n".encode("cp1252"))
    encoding_options = ("--speakers", str(people), "--encoding", "cp1252")
    for words in (
        ("audit", scores, *encoding_options, "--by", "sex", "--no-intervals", "--similarity"),
        (
            "count",
            scores,
            *encoding_options,
            "--by",
            "sex",
            "--out",
            tmp_path / "a.counts",
            "--withhold",
            "0",
        ),
        ("inspect", scores, people, "--encoding", "cp1252"),
        ("trials", "describe", scores, *encoding_options),
        ("trials", "check", scores, *encoding_options),
        ("trials", "grade", scores, *encoding_options, "--out", tmp_path / "g.csv"),
        (
            "trials",
            "convert",
            scores,
            *encoding_options,
            "--to",
            "kaldi",
            "--out",
            tmp_path / "k.txt",
        ),
    ):
        main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "is not UTF-8" not in err
        assert words[0] != "inspect" or "encoding cp1252" in out
    guessed = write("q.csv", "id,sex\nHélène,f\nZoë,m\n".encode("cp1252"))
    main(["inspect", str(guessed)])
    assert capsys.readouterr().err.count("q.csv: is not UTF-8 and is read as cp1252") == 1


@pytest.mark.parametrize("name", ["latin-99", "hex", "rot13", "undefined", "", "a\0b"])
def test_what_is_no_encoding_is_refused(name):
    with pytest.raises(ConfigError, match=r"^encoding=.* is not a text encoding that Python"):
        pv.inspect({"id": ["a"]}, encoding=name)


western = st.text(st.characters(codec="cp1252", exclude_categories=["Cc"]), max_size=12)


@pytest.mark.slow
@FUZZ
@given(names=st.lists(western, min_size=1, max_size=6))
def test_western_text_comes_back_or_is_refused(tmp_path, names):
    data = ("id\n" + "\n".join(f"x{name}" for name in names)).encode("cp1252")
    path = tmp_path / "western"
    path.write_bytes(data)
    try:
        content = read_content(path)
    except DataError:  # it might be UTF-8 in part
        return
    assert content.payload.decode() == data.decode(content.encoding or "utf-8")


@pytest.mark.slow
@FUZZ
@given(names=st.lists(st.text(min_size=1), min_size=1), order=st.sampled_from(["le", "be"]))
def test_any_text_in_utf16_comes_back(tmp_path, names, order):
    text = "id\n" + "\n".join(names)
    path = tmp_path / "wide"
    mark = codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE
    path.write_bytes(mark + text.encode(f"utf-16-{order}"))
    assert read_content(path).payload.decode() == text


pieces = st.sampled_from(
    [
        b"id,sex\n", b"enrol;test;score\n", b"sep=;\n", b"a;b;0,5\n", b"a,1.5\n", b"\n", b'"',
        codecs.BOM_UTF8, b"\xff\xfe", b"\xfe\xff", b"\x00", b"\xe9", b"\xc3\xa9", b"\x81",
    ]
)  # fmt: skip


@pytest.mark.slow
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
