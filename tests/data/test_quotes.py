"""Quotes in tables of text: around cells, or signs as others are."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sentences import item_in_words, note_in_words

import parivox
from parivox.data.formats.delimited import read_text
from parivox.data.source_bytes import SourceBytes, reading_files_as
from parivox.data.speakers import read_table
from parivox.errors import DataError

STRAY = (
    "enrol,test,score,label,remark\n"
    "a/1,a/2,0.9,1,\n"
    'a/1,b/1,0.1,0,"noisy\n'
    "b/1,b/2,0.2,1,\n"
    "b/1,a/2,0.8,0,\n"
    'a/2,b/2,0.3,0,line"\n'
    "b/2,b/3,0.7,1,\n"
)
PEOPLE = {"id": ["a", "b"], "sex": ["f", "m"]}


def audited(path, **options):
    return parivox.audit(
        path,
        speakers=PEOPLE,
        by="sex",
        operating_points="threshold=0.5",
        intervals=False,
        **options,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_rows_between_two_stray_quotes_are_not_lost(tmp_path, end, is_packed):
    text = STRAY.replace("\n", end).encode()
    path = tmp_path / ("f.csv.gz" if is_packed else "f.csv")
    path.write_bytes(gzip.compress(text) if is_packed else text)
    with pytest.raises(DataError, match=r"row 3: .*quotes='none'"):
        audited(path)
    (problem,) = parivox.inspect(path, PEOPLE).files[0].problems
    assert "row 3: " in problem
    assert "quotes='none'" in problem
    facts = audited(path, quotes="none").data
    assert {row["count"] for row in facts.rows() if row["item"] == "trials"} == {6}
    inspection = parivox.inspect(path, PEOPLE, quotes="none")
    assert inspection.files[0].rows == 6
    assert inspection.next.endswith("--quotes none")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('id\tsaid\na\t"Hello\nb\tbye\nc\t\n', 2),  # without an end
        ('id\tsaid\na\tno\nb\t"Hello," he said\nc\tbye\n', 3),  # goes on behind its end
        ('id,said,sex\na,yes,f\nb,"oh,no"\n', 3),  # takes in a separator
        ('id,said\n\na,yes\nb,"x\nc,y"\n', 4),  # below a blank line
    ],
)
def test_a_stray_quote_is_refused_with_its_row_and_read_where_quotes_are_signs(tmp_path, text, row):
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"row {row}: .*quotes='none'"):
        read_table(path, "speakers")
    (problem,) = parivox.inspect(path).files[0].problems
    assert f"row {row}: " in problem
    with reading_files_as(quotes="none"):
        table, _, _ = read_table(path, "speakers")
    assert table.height == sum(map(bool, text.splitlines())) - 1


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('id,said\na,"two\nlines of a cell"\nb,x\n', ["two\nlines of a cell", "x"]),
        ('id,said\na,"say ""a"" to b"\nb,x\n', ['say "a" to b', "x"]),
        ('id,said\na,5" disk\nb,x\n', ['5" disk', "x"]),
        ('id,said\na,5" disk\nb,"x, y"\n', ['5" disk', "x, y"]),
    ],
)
def test_quotes_around_and_within_cells_are_read_as_before(tmp_path, text, cells):
    path = tmp_path / "people.csv"
    path.write_text(text)
    table, _, _ = read_table(path, "speakers")
    assert table["said"].to_list() == cells


def test_a_cell_without_an_end_in_ragged_rows_is_refused_in_words_of_ours(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('id,said,sex\na,x,f\nb,"y,f\nc\n')
    with pytest.raises(DataError, match=r"row 3"):
        read_table(path, "speakers")


@pytest.mark.slow
@given(
    st.lists(
        st.lists(st.sampled_from(["", "x", '"', '"x', 'x"', '"x"', 'x"y']), min_size=3, max_size=3),
        min_size=2,
        max_size=8,
    )
)
def test_wherever_quotes_stand_no_line_is_lost_or_the_first_row_at_fault_is_told(rows):
    data = "".join(f"r,{','.join(cells)},end\n" for cells in rows).encode()
    content = SourceBytes("t.csv", data, None, "", "", encoding="utf-8")
    odd = [
        row_number
        for row_number, cells in enumerate(rows, 1)
        if any(cell in {'"', '"x'} for cell in cells)
    ]
    try:
        blocks = list(read_text(content, ",", 5, 1, quote='"'))
    except DataError as error:
        assert f"row {odd[0]}: " in str(error)  # noqa: PT017 - either outcome is right
        assert "quotes='none'" in str(error)  # noqa: PT017
        return
    assert not odd
    assert sum(frame.height for _, frame in blocks) == len(rows)


def spanning(end="\n"):
    """Trials and speakers of whom some rows have a cell with a line end."""
    trials = "enrol,test,score,label,remark\n"
    trials += 'a/1,a/2,0.9,1,x\na/1,b/1,0.1,0,"two\nlines"\nb/1,b/2,0.2,1,x\nb/1,a/2,0.8,0,"y\nz"\n'
    people = 'id,sex,said\na,f,"one\ntwo\nthree"\nb,m,x\n'
    return trials.replace("\n", end), people.replace("\n", end)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cells_over_several_lines_are_reported_with_their_row(tmp_path, end):
    trials, people = spanning(end)
    (tmp_path / "s.csv").write_bytes(trials.encode())
    (tmp_path / "p.csv").write_bytes(people.encode())
    audit = parivox.audit(
        tmp_path / "s.csv",
        speakers=tmp_path / "p.csv",
        by="sex",
        operating_points="threshold=0.5",
        intervals=False,
    )
    rows = [row for row in audit.data.rows() if "spans several lines" in item_in_words(row)]
    assert [(item_in_words(row), row["count"], note_in_words(row)) for row in rows] == [
        ("rows of s.csv with a cell that spans several lines", 2, "the first such row is row 3"),
        ("rows of p.csv with a cell that spans several lines", 1, "the first such row is row 2"),
    ]
    files = parivox.inspect(tmp_path / "s.csv", tmp_path / "p.csv").files
    assert [file.read["spanning"] for file in files] == ["2 (first: row 3)", "1 (first: row 2)"]


@pytest.mark.slow
def test_a_cell_over_several_lines_in_one_of_many_blocks_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr("parivox.data.formats.delimited.CHUNK_BYTES", 64)
    (tmp_path / "s.csv").write_text(spanning()[0])
    with (tmp_path / "s.csv").open("a") as file:
        file.writelines(f"a/{n},b/{n},0.{n},0,x\n" for n in range(10, 40))
    (inspection,) = parivox.inspect(tmp_path / "s.csv").files
    assert inspection.read["spanning"] == "2 (first: row 3)"
