"""The summary in terminals of four widths: names whole, no word cut, what has no room is told."""

import io
import re

import pytest
from rich.console import Console

from parivox.report.full_tables import every_table
from parivox.report.sheets.sheet import Sheet, terminal_table
from parivox.report.terminal_grid import Grid

WIDTHS = (60, 80, 100, 120)
GAPS = re.compile(r"[\s\u00a0]+")


def drawn(renderable, width):
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(renderable)
    return out.getvalue()


def words(text):
    return {word for word in GAPS.split(text) if set(word) - {"─"}}


@pytest.fixture(scope="module")
def audit(audited):
    return audited(
        by=["gender", "gender+nation"], operating_points=["fpr=0.05"], gates=["speakers=3"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_cut_at_any_width(audit, width):
    text = drawn(every_table(audit), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    notes = {"Not", "shown:", "errors/trials,", "p,", "speakers"}
    assert words(text) <= words(drawn(every_table(audit), 500)) | notes


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_group_has_its_name_in_every_table(audit, width):
    text = drawn(every_table(audit), width)
    tables = re.findall(r"^  group {2,}.*?^  pooled", text, re.MULTILINE | re.DOTALL)
    assert len(tables) == 4
    names = [{line.split()[0].removesuffix("*") for line in table.splitlines()} for table in tables]
    groups = {"f+India", "f+Norway", "f+USA", "m+India", "m+Norway", "m+USA", "pooled"}
    assert sum(groups <= table for table in names) == 2
    assert sum({"f", "m", "pooled"} <= table for table in names) == 2


def sheet_of(names):
    heads = ("group", "speakers", "FNR", "errors/trials", "x", "p", "verdict")
    row = ("1,211", "4.75 [3.9, 5.6]", "102/12,345", "2.7 [1.8, 3.9]", "<0.001", "can't tell")
    sheet = Sheet.with_heads("", heads, [(name, *row) for name in names], words=(1, 7))
    keys = ("group", "speakers", "rate", "counts", "ratio", "p", "verdict")
    columns = [column._replace(key=key) for column, key in zip(sheet.columns, keys, strict=True)]
    (table,) = terminal_table(Sheet("", columns, sheet.rows), is_compact=True)
    return table


def test_errors_go_first_then_p_then_speakers():
    names = ["m+Norway", "f+India"]
    gone = []
    for width in range(100, 40, -1):
        text = drawn(sheet_of(names), width)
        assert all(name in text for name in names)
        lost = [
            head
            for head in ("errors/trials", "p", "speakers")
            if f" {head} " not in f"{text.splitlines()[0]} "
        ]
        gone += [head for head in lost if head not in gone]
        assert (f"Not shown: {', '.join(lost)}" in text) == bool(lost)
    assert gone == ["errors/trials", "p", "speakers"]


def test_what_has_room_nowhere_goes_on_below_beside_the_names():
    grid = Grid()
    for i in range(12):
        grid.add_column(f"column {i}", no_wrap=True)
    grid.add_row("name", *(f"cell-{i}" for i in range(1, 12)))
    text = drawn(grid, 60)
    assert [GAPS.split(text).count(f"cell-{i}") for i in range(1, 12)] == [1] * 11
    assert text.count("name") > 1
    assert max(map(len, text.splitlines())) <= 60


def test_a_name_longer_than_half_the_room_takes_several_lines():
    name = "Bosnia and Herzegovina, women of 60 years and over, by telephone"
    text = drawn(sheet_of([name]), 60)
    assert words(name) <= words(text)
    assert max(map(len, text.splitlines())) <= 60
