"""Sheets of a workbook (XLSX): their cells as the text that a reader of the sheet sees.

openpyxl opens the workbook and reads its cells; importing this module needs it. Nothing is
evaluated: a formula is worth what the spreadsheet program stored beside it.

XML is parsed by the standard library, or by defusedxml where that is installed. Neither opens an
external entity; expat bounds what the others expand to, defusedxml refuses them. Where lxml is
installed, openpyxl has it parse the small parts, and tells it to leave entities alone.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import warnings
from contextlib import suppress
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from openpyxl import load_workbook
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.styles.numbers import is_date_format, is_datetime, is_timedelta_format
from openpyxl.utils.datetime import from_excel

# A sheet's own iteration passes over merged areas, hidden rows, formulas without a value, and rows
# and cells out of order; what it parses a row with does not.
from openpyxl.worksheet._reader import FORMULA_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.cell_range import CellRange
from openpyxl.xml.constants import SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from parivox.data.formats.format import too_many_cells
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from xml.etree.ElementTree import Element

_MERGED_TAG = f"{{{SHEET_MAIN_NS}}}mergeCell"
_LAST_ROW, _LAST_COLUMN = 1 << 20, 1 << 14
MAX_CELL_CHARACTERS = 32_767
"""Of a cell: no spreadsheet program writes more."""
_EAST_ASIAN = {*range(27, 37), *range(50, 59)}
"""Formats of dates that a workbook need not spell out, and openpyxl does not know."""
_LITERAL = r'"[^"]*"|\\.'
_FIRST = re.compile(rf"((?:{_LITERAL}|[^;])*).*", re.DOTALL)  # for positive numbers
_ZEROS = re.compile(rf"((?:{_LITERAL})*)(0+)((?:{_LITERAL})*)")


class FaultyCell(str):
    """A cell without a value that can be taken, and why."""

    __slots__ = ()


@frozen
class Sheet:
    """A sheet of a workbook."""

    name: str
    hidden: bool
    # text of the cells that hold anything, by row and column, both from 1
    rows: Mapping[int, Mapping[int, str]]
    merged: tuple[CellRange, ...]
    hidden_rows: tuple[int, ...]  # those with cells


def read_sheets(file: IO[bytes], source: str, most_cells: int) -> list[Sheet]:
    """Every sheet of cells in a workbook, in order; one of too many cells is refused.

    At a damaged file openpyxl raises exceptions of many kinds.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl does not keep, such as validations
        book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        return [_sheet(sheet, source, most_cells) for sheet in book.worksheets]


def _sheet(sheet: Any, source: str, most_cells: int) -> Sheet:
    rows: dict[int, dict[int, str]] = {}
    merged, hidden = [], []
    n_cells = 0
    parser = WorkSheetParser(None, sheet._shared_strings, data_only=True)  # noqa: SLF001 - see above
    with sheet._get_source() as xml:  # noqa: SLF001 - see above
        for _, element in iterparse(xml):
            if element.tag == _MERGED_TAG:
                merged.append(CellRange(element.get("ref")))
            if element.tag != ROW_TAG:
                continue
            if len(element) > _LAST_COLUMN:
                msg = f"sheet {sheet.title!r} has a row of {len(element):,} cells"
                raise ValueError(msg)
            n_cells += len(element)
            if n_cells > most_cells:
                raise too_many_cells(source, most_cells)
            number, cells = parser.parse_row(element)
            texts = dict(_row_texts(element, [ReadOnlyCell(sheet, **cell) for cell in cells]))
            if texts:
                if number in rows or not 0 < number <= _LAST_ROW or max(texts) > _LAST_COLUMN:
                    msg = f"row {number} of sheet {sheet.title!r} is there twice or out of bounds"
                    raise ValueError(msg)
                rows[number] = texts
                if element.get("hidden") in {"1", "true"}:
                    hidden.append(number)
            element.clear()
            parser.row_dimensions.clear()
    is_visible = sheet.sheet_state == "visible"
    return Sheet(
        sheet.title, not is_visible, dict(sorted(rows.items())), tuple(merged), tuple(hidden)
    )


def _row_texts(row: Element, cells: list[ReadOnlyCell]) -> Iterator[tuple[int, str]]:
    """Text of the cells of a row that hold anything, by column."""
    for element, cell in zip(row, cells, strict=True):
        text = "" if cell.value is None else _text(cell)
        if cell.value is None and cell.data_type != "str" and element.find(FORMULA_TAG) is not None:
            text = FaultyCell(
                "holds a formula without a value; open and save it in a spreadsheet program"
            )
        if len(text) > MAX_CELL_CHARACTERS:
            text = FaultyCell(
                f"holds {len(text):,} characters, where a cell holds at most "
                f"{MAX_CELL_CHARACTERS:,}; shorten it, or save the table as CSV"
            )
        if text.strip():
            yield cell.column, text


def _text(cell: ReadOnlyCell) -> str:
    """A value as text, by its kind."""
    value = cell.value
    if cell.data_type == "e":
        wrong = f"holds the error {value}; correct it in the spreadsheet, or clear the cell"
        return "" if value == "#N/A" else FaultyCell(wrong)
    if isinstance(value, str):
        return value.replace("_x000D_", "")  # how a workbook writes an end of line of Windows
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        east_asian = cell.style_array.numFmtId in _EAST_ASIAN
        code = "yyyy-mm-dd hh:mm" if east_asian else cell.number_format
        return _number(value, code, cell.parent.parent.epoch)
    return _moment(value)


def _number(value: float, code: str, epoch: dt.datetime) -> str:
    """A number as its format shows it, as far as that matters for ids and dates."""
    if not math.isfinite(value):
        msg = f"{value} is not a number"
        raise ValueError(msg)
    is_moment, (before, width, after) = _format(code)
    if is_moment and value >= 0:
        with suppress(OverflowError):  # after the year 9999 it is no date
            return _moment(from_excel(round(value * 86_400) / 86_400, epoch), code)
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 1e21):
        return repr(value)
    whole = str(int(value))
    return before + whole.zfill(width) + after if whole.isdecimal() else whole


def _moment(value: Any, code: str = "") -> str:
    """A day, a time or both, as ISO 8601 writes them.

    Examples
    --------
    >>> noon = dt.datetime(2024, 1, 1, 12)
    >>> _moment(noon), _moment(noon, "d mmm yyyy"), _moment(noon.replace(hour=0))
    ('2024-01-01T12:00:00', '2024-01-01', '2024-01-01')
    """
    is_day = isinstance(value, dt.datetime) and (
        value.time() == dt.time() or is_datetime(code.lower()) == "date"
    )
    return str((value.date() if is_day else value).isoformat())


@lru_cache(maxsize=256)
def _format(code: str) -> tuple[bool, tuple[str, int, str]]:
    """What a number format shows: whether a moment; text before a number, its digits, text after.

    Examples
    --------
    >>> _format('"S"000'), _format("yyyy-mm-dd"), _format("[h]:mm")
    ((False, ('S', 3, '')), (True, ('', 0, '')), (False, ('', 0, '')))
    """
    is_moment = is_date_format(code) and not is_timedelta_format(code)
    first = _FIRST.sub(r"\1", code, count=1)
    zeros = _ZEROS.fullmatch(re.sub(r"\[[^\]]*\]", "", first))
    if not zeros:
        return is_moment, ("", 0, "")
    before, after = (re.sub(r'"([^"]*)"|\\(.)', r"\1\2", zeros[side]) for side in (1, 3))
    return is_moment, (before, len(zeros[2]), after)
