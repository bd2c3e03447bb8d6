"""The table in a workbook: its sheet, the row with the names of columns, and the rows below."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import polars as pl

from parivox.data.formats.format import (
    NamedColumns,
    error_summary,
    named_format,
    starts_with,
    too_many_cells,
)
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.formats.format import Rows
    from parivox.data.formats.workbook import Worksheet
    from parivox.data.source_bytes import SourceBytes

MAX_CELLS = 3_000_000
"""Cells of a sheet that are read, empty ones included: they take a quarter of a minute to parse."""
_READ_BYTES = 1 << 20
MAX_UNPACKED_BYTES = 256 << 20
"""A workbook that is larger than this when unpacked is refused."""
_MAX_WIDTHS = 8
_OLE_START = b"\xd0\xcf\x11\xe0"  # workbooks from before XLSX, and those with a password
_STARTS = (b"PK\x03\x04", b"PK\x05\x06", _OLE_START)


def _table(content: SourceBytes) -> NamedColumns:
    """Return the one table of a workbook as text, with the row numbers of the sheet.

    Titles above the header and empty columns are skipped; hidden rows are read. The dialect of the
    source then names the sheet, its header, and what is hidden.
    """
    sheets = _sheets(content)
    sheet = _find_table_sheet(sheets, content.name)
    sheet_location = f"{content.name}: sheet {sheet.name!r}"
    header = _header_row(sheet)
    names = _column_names(sheet, header, sheet_location)
    _check_merged(sheet, header, sheet_location)
    numbers = [number for number in sheet.rows if number > header]
    _check_cells(sheet, header, names, sheet_location)
    content.dialect.update({"sheet": sheet.name, "header_row": header})
    other_sheets = [other_sheet for other_sheet in sheets if other_sheet is not sheet]
    remarks: dict[str, Any] = {
        "other_sheets": [
            other_sheet.name for other_sheet in other_sheets if not other_sheet.hidden
        ],
        "hidden_sheets": [other_sheet.name for other_sheet in other_sheets if other_sheet.hidden],
        "hidden_rows": len([number for number in sheet.hidden_rows if number > header]),
    }
    content.dialect.update({key: fact for key, fact in remarks.items() if fact})
    used_columns = [*names]

    def chunks(positions: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        cells_by_name = {
            name: [sheet.rows[number].get(used_columns[position]) for number in numbers]
            for name, position in positions.items()
        }
        yield numbers, pl.DataFrame(cells_by_name, schema=dict.fromkeys(cells_by_name, pl.String))

    return NamedColumns([*names.values()], chunks)


def _sheets(content: SourceBytes) -> Sequence[Worksheet]:
    """Return every sheet of cells, in order."""
    name = content.name
    if content.head.startswith(_OLE_START):
        msg = f"{name}: is an old workbook (.xls) or one with a password"
        hint = "save it as XLSX without a password, or as CSV"
        raise DataError(msg, hint)
    try:
        with content.open() as file:
            _check_parts(file, name)
            from parivox.data.formats.workbook import read_sheets  # noqa: PLC0415 - needs openpyxl

            return read_sheets(file, name, MAX_CELLS)
    except ImportError as error:
        msg = f"{name}: is a workbook, which needs openpyxl"
        hint = 'run pip install "parivox[xlsx]", or save the table as CSV'
        raise DataError(msg, hint) from error
    except DataError:
        raise
    except Exception as error:  # damaged files make openpyxl and zipfile raise whatever they like
        msg = f"{name}: cannot be read as XLSX ({error_summary(error.__cause__ or error)})"
        hint = "copy or save the file again: it may be truncated"
        raise DataError(msg, hint) from error


def _check_parts(file: IO[bytes], name: str) -> None:
    """Refuse anything but a workbook that can be read, and one that is too large unpacked."""
    import zipfile  # noqa: PLC0415 - workbooks are rare

    with zipfile.ZipFile(file) as packed:
        sizes = {member.filename: member.file_size for member in packed.infolist()}
        size = sum(sizes.values())
        if size > MAX_UNPACKED_BYTES:
            msg = (
                f"{name}: has {size >> 20:,} MiB when unpacked; the limit for workbooks is "
                f"{MAX_UNPACKED_BYTES >> 20:,}"
            )
            hint = "save its table as CSV or Parquet"
            raise DataError(msg, hint)
        wrong_kind = ""
        if "xl/workbook.bin" in sizes:
            wrong_kind, remedy = "a binary workbook (.xlsb)", "save it as XLSX or CSV"
        elif "mimetype" in sizes and b"opendocument" in packed.read("mimetype"):
            wrong_kind, remedy = "an OpenDocument file (.ods)", "save it as XLSX or CSV"
        elif "xl/workbook.xml" not in sizes:
            wrong_kind, remedy = "a zip archive without a workbook", "unpack it and give the file"
        elif b"http://purl.oclc.org/ooxml/" in packed.read("xl/workbook.xml"):
            wrong_kind, remedy = (
                "a workbook in strict Open XML",
                "save it as ordinary XLSX or CSV",
            )
        if wrong_kind:
            msg = f"{name}: is {wrong_kind}"
            raise DataError(msg, remedy)
        for member in sizes:
            if member.startswith("xl/worksheets/") and member.endswith(".xml"):
                with packed.open(member) as sheet:
                    _check_cell_count(sheet, name)


def _check_cell_count(sheet: IO[bytes], name: str) -> None:
    """Refuse a sheet of too many cells, before its parts are parsed, which takes long."""
    n_cells = 0
    while chunk := sheet.read(_READ_BYTES):
        # a tag that is split between two chunks is missed here; the parser counts all cells later
        n_cells += sum(chunk.count(tag) for tag in (b"<c ", b"<c>", b"<c/>"))
        if n_cells > MAX_CELLS:
            raise too_many_cells(name, MAX_CELLS)


def _find_table_sheet(sheets: Sequence[Worksheet], name: str) -> Worksheet:
    """Return the one sheet with a table.

    Visible sheets come before hidden ones, and tables of several columns before those of one, which
    may be notes.
    """
    for hidden in (False, True):
        for min_columns in (2, 1):
            tables = [
                candidate
                for candidate in sheets
                if candidate.hidden == hidden and _is_table(candidate, min_columns)
            ]
            if len(tables) > 1:
                both = f"{tables[0].name!r} and {tables[1].name!r}"
                msg = f"{name}: sheets {both} may both be the table"
                hint = "delete one, or save the right one as a separate file"
                raise DataError(msg, hint)
            if tables:
                return tables[0]
    if any(sheet.rows for sheet in sheets):
        msg = f"{name}: contains only a header"
        hint = "give a file with rows below it"
        raise DataError(msg, hint)
    msg = f"{name}: is a workbook in which all sheets are empty"
    hint = "give a workbook with a header and rows below it"
    raise DataError(msg, hint)


def _is_table(sheet: Worksheet, min_columns: int) -> bool:
    """Whether there are rows below a header of at least so many columns."""
    if not sheet.rows:
        return False
    header = _header_row(sheet)
    return len(sheet.rows[header]) >= min_columns and header < max(sheet.rows)


def _header_row(sheet: Worksheet) -> int:
    """Return the first row with more than half as many cells as the fullest: titles are short.

    If no row below has half as many cells, this is not a header but a row with a remark next to it;
    then the next narrower width is tried.
    """
    sizes = {number: len(cells) for number, cells in sheet.rows.items()}
    widths = sorted(set(sizes.values()), reverse=True)[:_MAX_WIDTHS]
    headers = [_first_row_wider_than(width / 2, sizes) for width in widths]
    for header in headers:
        half_width = sizes[header] / 2
        if half_width > 0.5 and any(
            number > header and size > half_width for number, size in sizes.items()
        ):
            return header
    return headers[0]


def _first_row_wider_than(width: float, sizes: Mapping[int, int]) -> int:
    """Return the first row with more cells than `width`, given the number of cells of each row."""
    return min(number for number, size in sizes.items() if size > width)


def _column_names(sheet: Worksheet, header: int, sheet_location: str) -> dict[int, str]:
    """Return the names of the columns by their positions, from 1; refuse a name given twice."""
    from openpyxl.utils import get_column_letter as letters  # noqa: PLC0415 - an extra

    names = {column: " ".join(name.split()) for column, name in sorted(sheet.rows[header].items())}
    column_by_name: dict[str, int] = {}
    for column, name in names.items():
        if name in column_by_name:
            msg = (
                f"{sheet_location}, row {header}: columns {letters(column_by_name[name])} and "
                f"{letters(column)} are both named {name!r}"
            )
            hint = "rename one of the columns"
            raise DataError(msg, hint)
        column_by_name[name] = column
    return names


def _check_merged(sheet: Worksheet, header: int, sheet_location: str) -> None:
    """Refuse merged cells in the table: their value would count for the first of them only."""
    areas = [area for area in sheet.merged if area.min_col in sheet.rows.get(area.min_row, {})]
    row_above = max((number for number in sheet.rows if number < header), default=0)
    wide_titles = [
        area for area in areas if area.min_row == row_above and area.max_col > area.min_col
    ]
    in_header = [area for area in areas if area.min_row <= header <= area.max_row]
    if len(wide_titles) > 1:  # a header of two levels; a single wide cell above is a title
        in_header += wide_titles
    in_rows = [area for area in areas if area.min_row > header]
    if in_header or in_rows:
        coordinates = ", ".join(area.coord for area in (in_header or in_rows)[:3])
        cells_text = f"cells {coordinates}"
        remedy = "fill each of them"
        if in_header:
            cells_text += " of the header"
            remedy = "give each column its own name, in one row"
        msg = f"{sheet_location}: {cells_text} are merged"
        hint = f"unmerge them and {remedy}"
        raise DataError(msg, hint)


def _check_cells(sheet: Worksheet, header: int, names: dict[int, str], sheet_location: str) -> None:
    """Refuse cells of the table without a name above them, or without a value."""
    from openpyxl.utils import get_column_letter as letters  # noqa: PLC0415 - an extra

    from parivox.data.formats.workbook import FaultyCell  # noqa: PLC0415 - needs openpyxl

    for number, cells in sheet.rows.items():
        if number < header:
            continue
        for column, cell in cells.items():
            if isinstance(cell, FaultyCell):
                msg = f"{sheet_location}: cell {letters(column)}{number} {cell}"
                raise DataError(msg)
            if column not in names:
                msg = (
                    f"{sheet_location}: cell {letters(column)}{number} contains {cell[:40]!r}, but "
                    f"column {letters(column)} has no name in row {header}, which is taken as the "
                    "header"
                )
                hint = "name or clear the column, or delete the cells above the header"
                raise DataError(msg, hint)


XLSX = named_format("xlsx", "an Excel workbook", starts_with(*_STARTS), _table)
