"""Sheets of a workbook (XLSX): their cells as the text that a reader of the sheet sees.

openpyxl opens the workbook and reads its cells; importing this module needs it. Nothing is
evaluated: the value of a formula is the one that the spreadsheet program stored with it.

XML is parsed by the standard library, or by defusedxml where that is installed. Neither opens an
external entity; expat limits the expansion of others, defusedxml refuses them. If lxml is
installed, openpyxl uses it for the small parts, with entities left unresolved.
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

# The public iteration over a sheet skips merged areas, hidden rows, formulas without a value, and
# rows and cells out of order; the parser of a row does not.
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
"""Characters of a cell: no spreadsheet program writes more."""
_EAST_ASIAN_DATE_FORMATS = {*range(27, 37), *range(50, 59)}
"""Date formats that a workbook does not need to define, and openpyxl does not know."""
_LITERAL_PATTERN = r'"[^"]*"|\\.'
_POSITIVE_SECTION = re.compile(
    rf"((?:{_LITERAL_PATTERN}|[^;])*).*", re.DOTALL
)  # for positive numbers
_ZEROS_WITH_AFFIXES = re.compile(rf"((?:{_LITERAL_PATTERN})*)(0+)((?:{_LITERAL_PATTERN})*)")


class FaultyCell(str):
    """The reason why a cell has no usable value, in place of its text."""

    __slots__ = ()


@frozen
class Worksheet:
    """A sheet of a workbook."""

    name: str
    hidden: bool
    # text of the cells that hold anything, by row and column, both from 1
    rows: Mapping[int, Mapping[int, str]]
    merged: tuple[CellRange, ...]
    hidden_rows: tuple[int, ...]  # those with cells


def read_sheets(file: IO[bytes], source: str, most_cells: int) -> list[Worksheet]:
    """Return every sheet of cells in a workbook, in order; refuse one of too many cells.

    At a damaged file openpyxl raises exceptions of many kinds.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what openpyxl drops, such as validations
        book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        return [_read_sheet(sheet, source, most_cells) for sheet in book.worksheets]


def _read_sheet(sheet: Any, source: str, most_cells: int) -> Worksheet:
    rows: dict[int, dict[int, str]] = {}
    merged, hidden_rows = [], []
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
                    msg = f"row {number} of sheet {sheet.title!r} occurs twice or is out of bounds"
                    raise ValueError(msg)
                rows[number] = texts
                if element.get("hidden") in {"1", "true"}:
                    hidden_rows.append(number)
            element.clear()
            parser.row_dimensions.clear()
    is_visible = sheet.sheet_state == "visible"
    return Worksheet(
        sheet.title, not is_visible, dict(sorted(rows.items())), tuple(merged), tuple(hidden_rows)
    )


def _row_texts(row: Element, cells: list[ReadOnlyCell]) -> Iterator[tuple[int, str]]:
    """Yield column and text of each cell of a row that is not empty."""
    for element, cell in zip(row, cells, strict=True):
        text = "" if cell.value is None else _cell_text(cell)
        if cell.value is None and cell.data_type != "str" and element.find(FORMULA_TAG) is not None:
            text = FaultyCell(
                "contains a formula without a value; open and save it in a spreadsheet program"
            )
        if len(text) > MAX_CELL_CHARACTERS:
            text = FaultyCell(
                f"contains {len(text):,} characters, where a cell contains at most "
                f"{MAX_CELL_CHARACTERS:,}; shorten it, or save the table as CSV"
            )
        if text.strip():
            yield cell.column, text


def _cell_text(cell: ReadOnlyCell) -> str:
    """Return the text of a cell, by the type of its value."""
    cell_value = cell.value
    if cell.data_type == "e":
        problem = (
            f"contains the error {cell_value}; correct it in the spreadsheet, or clear the cell"
        )
        return "" if cell_value == "#N/A" else FaultyCell(problem)
    if isinstance(cell_value, str):
        return cell_value.replace(
            "_x000D_", ""
        )  # the notation of a workbook for a line end of Windows
    if isinstance(cell_value, bool):
        return "TRUE" if cell_value else "FALSE"
    if isinstance(cell_value, int | float):
        is_east_asian_date = cell.style_array.numFmtId in _EAST_ASIAN_DATE_FORMATS
        number_format = "yyyy-mm-dd hh:mm" if is_east_asian_date else cell.number_format
        return _number_text(cell_value, number_format, cell.parent.parent.epoch)
    return _date_text(cell_value)


def _number_text(number: float, number_format: str, epoch: dt.datetime) -> str:
    """Return a number as its format shows it, as far as that matters for ids and dates."""
    if not math.isfinite(number):
        msg = f"{number} is not a number"
        raise ValueError(msg)
    is_moment, (prefix, width, suffix) = _parse_number_format(number_format)
    if is_moment and number >= 0:
        with suppress(OverflowError):  # a date after the year 9999 is shown as a number
            return _date_text(from_excel(round(number * 86_400) / 86_400, epoch), number_format)
    if isinstance(number, float) and not (number.is_integer() and abs(number) < 1e21):
        return repr(number)
    digits = str(int(number))
    return prefix + digits.zfill(width) + suffix if digits.isdecimal() else digits


def _date_text(moment: Any, number_format: str = "") -> str:
    """Return a date, a time or both in ISO 8601.

    Examples
    --------
    >>> noon = dt.datetime(2024, 1, 1, 12)
    >>> _date_text(noon), _date_text(noon, "d mmm yyyy"), _date_text(noon.replace(hour=0))
    ('2024-01-01T12:00:00', '2024-01-01', '2024-01-01')
    """
    is_day = isinstance(moment, dt.datetime) and (
        moment.time() == dt.time() or is_datetime(number_format.lower()) == "date"
    )
    return str((moment.date() if is_day else moment).isoformat())


@lru_cache(maxsize=256)
def _parse_number_format(number_format: str) -> tuple[bool, tuple[str, int, str]]:
    """Return whether a number format shows a date; prefix, minimum digits and suffix of a number.

    Examples
    --------
    >>> [_parse_number_format(code) for code in ('"S"000', "yyyy-mm-dd", "[h]:mm")]
    [(False, ('S', 3, '')), (True, ('', 0, '')), (False, ('', 0, ''))]
    """
    is_moment = is_date_format(number_format) and not is_timedelta_format(number_format)
    positive_section = _POSITIVE_SECTION.sub(r"\1", number_format, count=1)
    zeros = _ZEROS_WITH_AFFIXES.fullmatch(re.sub(r"\[[^\]]*\]", "", positive_section))
    if not zeros:
        return is_moment, ("", 0, "")
    prefix, suffix = (re.sub(r'"([^"]*)"|\\(.)', r"\1\2", zeros[part]) for part in (1, 3))
    return is_moment, (prefix, len(zeros[2]), suffix)
