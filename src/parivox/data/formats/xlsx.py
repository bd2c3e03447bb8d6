"""The table in a workbook: which sheet, which row names the columns, what stands below."""

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
    from parivox.data.formats.workbook import Sheet
    from parivox.data.source_bytes import SourceBytes

MAX_CELLS = 3_000_000
"""Of a sheet, empty ones counted: they take a quarter of a minute to parse."""
_BLOCK = 1 << 20
MAX_UNPACKED_BYTES = 256 << 20
"""A workbook that is larger than this when unpacked is refused."""
_WIDTHS = 8
_NO_ZIP = b"\xd0\xcf\x11\xe0"  # workbooks from before XLSX, and those with a password
_STARTS = (b"PK\x03\x04", b"PK\x05\x06", _NO_ZIP)


def _table(content: SourceBytes) -> NamedColumns:
    """The one table of a workbook as text; its rows are those of the sheet.

    Titles above the header and empty columns are passed over; hidden rows are read as others.
    The content's dialect then tells the sheet, its header, and what is hidden.
    """
    sheets = _sheets(content)
    sheet = _chosen(sheets, content.name)
    where = f"{content.name}: sheet {sheet.name!r}"
    header = _header_row(sheet)
    names = _names(sheet, header, where)
    _check_merged(sheet, header, where)
    numbers = [number for number in sheet.rows if number > header]
    _check_cells(sheet, header, names, where)
    content.dialect.update({"sheet": sheet.name, "header_row": header})
    others = [one for one in sheets if one is not sheet]
    passed_over: dict[str, Any] = {
        "other_sheets": [one.name for one in others if not one.hidden],
        "hidden_sheets": [one.name for one in others if one.hidden],
        "hidden_rows": sum(number > header for number in sheet.hidden_rows),
    }
    content.dialect.update({key: value for key, value in passed_over.items() if value})
    letters = [*names]

    def chunks(places: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        made = {
            name: [sheet.rows[number].get(letters[at]) for number in numbers]
            for name, at in places.items()
        }
        yield numbers, pl.DataFrame(made, schema=dict.fromkeys(made, pl.String))

    return NamedColumns([*names.values()], chunks)


def _sheets(content: SourceBytes) -> Sequence[Sheet]:
    """Every sheet of cells, in order."""
    name = content.name
    if content.head.startswith(_NO_ZIP):
        msg = (
            f"{name}: is an old workbook (.xls) or one with a password; "
            "save it as XLSX without a password, or as CSV"
        )
        raise DataError(msg)
    try:
        with content.open() as file:
            _check_parts(file, name)
            from parivox.data.formats.workbook import read_sheets  # noqa: PLC0415 - needs openpyxl

            return read_sheets(file, name, MAX_CELLS)
    except ImportError as error:
        msg = (
            f'{name}: is a workbook; to read it, pip install "parivox[xlsx]", '
            "or save the table as CSV"
        )
        raise DataError(msg) from error
    except DataError:
        raise
    except Exception as error:  # damaged files make openpyxl and zipfile raise whatever they like
        msg = (
            f"{name}: cannot be read as XLSX ({error_summary(error.__cause__ or error)}); it may "
            "be truncated, so copy it or save it again"
        )
        raise DataError(msg) from error


def _check_parts(file: IO[bytes], name: str) -> None:
    """Refuse what is no workbook that can be read, or a bomb."""
    import zipfile  # noqa: PLC0415 - workbooks are rare

    with zipfile.ZipFile(file) as packed:
        sizes = {part.filename: part.file_size for part in packed.infolist()}
        size = sum(sizes.values())
        if size > MAX_UNPACKED_BYTES:
            msg = (
                f"{name}: takes {size >> 20:,} MiB once unpacked, where a workbook may take "
                f"{MAX_UNPACKED_BYTES >> 20:,}; save its table as CSV or Parquet"
            )
            raise DataError(msg)
        kind = ""
        if "xl/workbook.bin" in sizes:
            kind, mend = "a binary workbook (.xlsb)", "save it as XLSX or CSV"
        elif "mimetype" in sizes and b"opendocument" in packed.read("mimetype"):
            kind, mend = "an OpenDocument file (.ods)", "save it as XLSX or CSV"
        elif "xl/workbook.xml" not in sizes:
            kind, mend = "a zip archive without a workbook", "unpack it and give the file"
        elif b"http://purl.oclc.org/ooxml/" in packed.read("xl/workbook.xml"):
            kind, mend = (
                "a workbook in strict Open XML",
                "save it as XLSX that is not strict, or CSV",
            )
        if kind:
            msg = f"{name}: is {kind}; {mend}"
            raise DataError(msg)
        for part in sizes:
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with packed.open(part) as sheet:
                    _check_cell_count(sheet, name)


def _check_cell_count(sheet: IO[bytes], name: str) -> None:
    """Refuse a sheet of too many cells, before its parts are parsed, which takes long."""
    n_cells = 0
    while block := sheet.read(_BLOCK):
        # a tag that two blocks share is passed over: the parser counts them all
        n_cells += sum(block.count(tag) for tag in (b"<c ", b"<c>", b"<c/>"))
        if n_cells > MAX_CELLS:
            raise too_many_cells(name, MAX_CELLS)


def _chosen(sheets: Sequence[Sheet], name: str) -> Sheet:
    """The one sheet that holds a table."""
    for hidden in (False, True):
        for least in (2, 1):
            found = [s for s in sheets if s.hidden == hidden and _is_table(s, least)]
            if len(found) > 1:
                both = f"{found[0].name!r} and {found[1].name!r}"
                msg = (
                    f"{name}: sheets {both} may both be the table; "
                    "delete one, or save the one as a file of its own"
                )
                raise DataError(msg)
            if found:
                return found[0]
    if any(sheet.rows for sheet in sheets):
        msg = f"{name}: holds a header and nothing else; give a file with rows below it"
    else:
        msg = f"{name}: is a workbook with empty sheets; give one with a header and rows below it"
    raise DataError(msg)


def _is_table(sheet: Sheet, least: int) -> bool:
    """Whether rows stand below a header of at least so many columns."""
    if not sheet.rows:
        return False
    header = _header_row(sheet)
    return len(sheet.rows[header]) >= least and header < max(sheet.rows)


def _header_row(sheet: Sheet) -> int:
    """The first row that fills more than half as many cells as the fullest: titles are short.

    Where no row below fills half as many cells, it is no header but a row with a remark beside it.
    """
    sizes = {number: len(cells) for number, cells in sheet.rows.items()}
    widths = sorted(set(sizes.values()), reverse=True)[:_WIDTHS]
    headers = [next(n for n, size in sizes.items() if 2 * size > width) for width in widths]
    for header in headers:
        least = sizes[header] / 2
        if least > 0.5 and any(n > header and size > least for n, size in sizes.items()):
            return header
    return headers[0]


def _names(sheet: Sheet, header: int, where: str) -> dict[int, str]:
    """Names of the columns by their places."""
    from openpyxl.utils import get_column_letter as letters  # noqa: PLC0415 - an extra

    names = {at: " ".join(name.split()) for at, name in sorted(sheet.rows[header].items())}
    place: dict[str, int] = {}
    for at, name in names.items():
        if name in place:
            msg = (
                f"{where}, row {header}: columns {letters(place[name])} and {letters(at)} are both "
                f"named {name!r}; rename one"
            )
            raise DataError(msg)
        place[name] = at
    return names


def _check_merged(sheet: Sheet, header: int, where: str) -> None:
    """Refuse merged cells in the table, whose value would count for the first of them alone."""
    areas = [one for one in sheet.merged if one.min_col in sheet.rows.get(one.min_row, {})]
    above = max((number for number in sheet.rows if number < header), default=0)
    levels = [one for one in areas if one.min_row == above and one.max_col > one.min_col]
    in_header = [one for one in areas if one.min_row <= header <= one.max_row]
    in_header += levels if len(levels) > 1 else []
    in_rows = [one for one in areas if one.min_row > header]
    if in_header or in_rows:
        shown = ", ".join(one.coord for one in (in_header or in_rows)[:3])
        which = "of the header " if in_header else ""
        mend = "give each column its own name, in one row" if in_header else "fill each of them"
        msg = f"{where}: cells {shown} {which}are merged; unmerge them and {mend}"
        raise DataError(msg)


def _check_cells(sheet: Sheet, header: int, names: dict[int, str], where: str) -> None:
    """Refuse cells of the table that have no name above them, or no value."""
    from openpyxl.utils import get_column_letter as letters  # noqa: PLC0415 - an extra

    from parivox.data.formats.workbook import FaultyCell  # noqa: PLC0415 - needs openpyxl

    for number, cells in sheet.rows.items():
        if number < header:
            continue
        for at, cell in cells.items():
            if isinstance(cell, FaultyCell):
                msg = f"{where}: cell {letters(at)}{number} {cell}"
                raise DataError(msg)
            if at not in names:
                msg = (
                    f"{where}: cell {letters(at)}{number} holds {cell[:40]!r}, but column "
                    f"{letters(at)} has no name in row {header}, which is taken as the header; "
                    "name or clear the column, or delete what stands above the header"
                )
                raise DataError(msg)


XLSX = named_format("xlsx", "an Excel workbook", starts_with(*_STARTS), _table)
