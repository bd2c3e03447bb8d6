"""Quotes in tables of text: around cells, or signs as others are."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox
from parivox.errors import DataError
from parivox.read.content import Content, read_as
from parivox.read.formats.delimited import read_text
from parivox.read.people import read_table

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


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_rows_between_two_stray_quotes_are_not_lost(tmp_path, end, is_packed):
    text = STRAY.replace("\n", end).encode()
    path = tmp_path / ("f.csv.gz" if is_packed else "f.csv")
    path.write_bytes(gzip.compress(text) if is_packed else text)
    with pytest.raises(DataError, match=r"row 3: .*--quotes none"):
        audited(path)
    (problem,) = parivox.inspect(path, PEOPLE).files[0].problems
    assert "row 3: " in problem
    assert "--quotes none" in problem
    facts = audited(path, quotes="none").data
    assert {row["count"] for row in facts.rows() if row["item"] == "trials"} == {6}
    found = parivox.inspect(path, PEOPLE, quotes="none")
    assert found.files[0].rows == 6
    assert found.next.endswith("--quotes none")


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
    with pytest.raises(DataError, match=rf"row {row}: .*--quotes none"):
        read_table(path, "speakers")
    with read_as(quotes="none"):
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


@given(
    st.lists(
        st.lists(st.sampled_from(["", "x", '"', '"x', 'x"', '"x"', 'x"y']), min_size=3, max_size=3),
        min_size=2,
        max_size=8,
    )
)
def test_wherever_quotes_stand_no_line_is_lost_or_the_first_row_at_fault_is_told(rows):
    data = "".join(f"r,{','.join(cells)},end\n" for cells in rows).encode()
    content = Content("t.csv", data, None, "", "", encoding="utf-8")
    odd = [at for at, cells in enumerate(rows, 1) if any(one in {'"', '"x'} for one in cells)]
    try:
        blocks = list(read_text(content, ",", 5, 1, quote='"'))
    except DataError as error:
        assert f"row {odd[0]}: " in str(error)  # noqa: PT017 - either outcome is right
        assert "--quotes none" in str(error)  # noqa: PT017
        return
    assert not odd
    assert sum(frame.height for _, frame in blocks) == len(rows)
