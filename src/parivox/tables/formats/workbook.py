"""Workbooks (XLSX): the cells of their sheets as the text that a reader of the sheet sees.

Nothing is evaluated: a formula is worth what the spreadsheet program stored beside it. XML is
parsed by the standard library, which opens no external entity and bounds the others.
"""

from __future__ import annotations

import datetime as dt
import lzma
import math
import posixpath
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from parivox.errors import DataError
from parivox.tables.formats.scan import why

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.tables.content import Content

    Rows = Mapping[int, Mapping[int, str]]
    """Cells that hold anything, by row and column, both from 1."""

__all__ = ["MOST_BYTES", "NO_ZIP", "Area", "Fault", "Sheet", "letters", "read_sheets"]

MOST_BYTES = 1 << 30
"""A workbook that is larger than this when unpacked is refused."""
NO_ZIP = b"\xd0\xcf\x11\xe0"
"""First bytes of workbooks from before XLSX, and of those with a password."""
_BROKEN = (
    *(zipfile.BadZipFile, ET.ParseError, zlib.error, lzma.LZMAError, struct.error),
    *(ArithmeticError, EOFError, LookupError, OSError, RuntimeError, ValueError),
)
_TRUE = ("1", "true")
_DAY, _TIME, _BOTH = "yyyy-mm-dd", "hh:mm:ss", "yyyy-mm-dd hh:mm:ss"
_BUILTIN = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 59)), _DAY),
    **dict.fromkeys((*range(18, 22), *range(32, 36), 45, 47), _TIME),
    22: _BOTH,
}
"""Number formats that a workbook need not spell out."""
_LITERAL = r'"[^"]*"|\\.'
_FIRST = re.compile(rf"((?:{_LITERAL}|[^;])*).*", re.DOTALL)  # for positive numbers
_ZEROS = re.compile(rf"((?:{_LITERAL})*)(0+)((?:{_LITERAL})*)")
_SILENT = re.compile(rf"{_LITERAL}|[_*].|\[[^\]]*\]")
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff])_")
_AREA = re.compile(r"\$?([A-Z]+)\$?(\d+):\$?([A-Z]+)\$?(\d+)")
_LAST_DAY = 2_958_465  # 9999-12-31


class Fault(str):
    """A cell without a value that can be taken, and why."""

    __slots__ = ()


@dataclass(frozen=True)
class Area:
    """Cells merged into one, from the first to the last row and column."""

    name: str
    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, eq=False)
class Sheet:
    """A sheet of a workbook.

    Attributes
    ----------
    name : str
    hidden : bool
    rows : mapping
        Cells that hold anything, by row and column, both from 1.
    merged : tuple of Area
    hidden_rows : tuple of int
        Those with cells.
    """

    name: str
    hidden: bool
    rows: Rows
    merged: tuple[Area, ...]
    hidden_rows: tuple[int, ...]


def letters(column: int) -> str:
    """Name of a column as a spreadsheet shows it.

    Examples
    --------
    >>> letters(1), letters(28)
    ('A', 'AB')
    """
    name = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        name = chr(ord("A") + place) + name
    return name


def read_sheets(content: Content) -> list[Sheet]:
    """Every sheet of cells in a workbook, in order.

    Raises
    ------
    DataError
        If it is no workbook, too large or damaged.
    """
    name = content.name
    if content.head.startswith(NO_ZIP):
        msg = (
            f"{name}: is an old workbook (.xls) or one with a password; "
            "save it as XLSX without a password, or as CSV"
        )
        raise DataError(msg)
    try:
        with content.open() as file, zipfile.ZipFile(file) as packed:
            _check(packed, name)
            return list(_sheets(packed))
    except _BROKEN as error:
        msg = (
            f"{name}: cannot be read as XLSX ({why(error)}); it may be truncated, "
            "so copy it or save it again"
        )
        raise DataError(msg) from error


def _check(packed: zipfile.ZipFile, name: str) -> None:
    """Refuse what is no workbook, or a bomb."""
    parts = set(packed.namelist())
    if "xl/workbook.xml" not in parts:
        kind, mend = "a zip archive without a workbook", "unpack it and give the file"
        if "xl/workbook.bin" in parts:
            kind, mend = "a binary workbook (.xlsb)", "save it as XLSX or CSV"
        elif "mimetype" in parts and packed.read("mimetype").startswith(
            b"application/vnd.oasis.opendocument"
        ):
            kind, mend = "an OpenDocument file (.ods)", "save it as XLSX or CSV"
        msg = f"{name}: is {kind}; {mend}"
        raise DataError(msg)
    size = sum(part.file_size for part in packed.infolist())
    if size > MOST_BYTES:
        msg = (
            f"{name}: takes {size >> 20:,} MiB once unpacked, where a workbook may take "
            f"{MOST_BYTES >> 20:,}; save its table as CSV or Parquet"
        )
        raise DataError(msg)


def _sheets(packed: zipfile.ZipFile) -> Iterator[Sheet]:
    parts, of_kind = {}, {}
    for one in _tree(packed, "xl/_rels/workbook.xml.rels"):
        path = posixpath.normpath(posixpath.join("/xl", one.get("Target", "")))[1:]
        kind = one.get("Type", "").rpartition("/")[2]
        parts[one.get("Id", "")] = path, kind
        of_kind[kind] = path
    workbook = _tree(packed, "xl/workbook.xml")
    since_1904 = any(one.get("date1904") in _TRUE for one in _below(workbook, "workbookPr"))
    cells = _Cells(
        [_rich(one) for one in _ended(packed, of_kind.get("sharedStrings", ""), {"si"})],
        _formats(packed, of_kind.get("styles", "")),
        1462 if since_1904 else 0,
    )
    for one in _below(workbook, "sheet"):
        key = next((value for at, value in one.items() if _local(at) == "id"), "")
        path, kind = parts[key]
        if kind == "worksheet":  # a chart may have a sheet of its own
            hidden = one.get("state", "visible") != "visible"
            yield _sheet(packed, path, cells, one.get("name", ""), hidden=hidden)


def _sheet(packed: zipfile.ZipFile, path: str, cells: _Cells, name: str, *, hidden: bool) -> Sheet:
    rows: dict[int, dict[int, str]] = {}
    merged, unseen = [], []
    number = 0
    for element in _ended(packed, path, {"row", "mergeCell"}):
        if _local(element.tag) == "mergeCell":
            found = _AREA.fullmatch(element.get("ref", ""))
            if found:
                left, top, right, bottom = found.groups()
                area = int(top), _column(left), int(bottom), _column(right)
                merged.append(Area(found[0], *area))
            continue
        number = int(element.get("r", number + 1))
        held = dict(cells.of(element))
        if not held:
            continue
        if number in rows or number < 1:
            msg = f"sheet {name!r} has row {number} twice"
            raise ValueError(msg)
        rows[number] = held
        if element.get("hidden") in _TRUE:
            unseen.append(number)
    return Sheet(name, hidden, dict(sorted(rows.items())), tuple(merged), tuple(unseen))


@dataclass(frozen=True)
class _Cells:
    """What it takes to read a cell: texts and formats of the workbook, and its first day."""

    texts: Sequence[str]
    formats: Sequence[str]
    first_day: int

    def of(self, row: ET.Element) -> Iterator[tuple[int, str]]:
        """Cells of a row that hold anything, by column."""
        column = 0
        for cell in row:
            if _local(cell.tag) != "c":
                continue
            name = cell.get("r", "").rstrip("0123456789")
            column = _column(name) if name else column + 1
            text = self._text(cell)
            if text.strip():
                yield column, text

    def _text(self, cell: ET.Element) -> str:
        kind = cell.get("t", "n")
        value, formula = "", False
        for part in cell:
            tag = _local(part.tag)
            formula |= tag == "f"
            if tag == "v":
                value = part.text or ""
            elif tag == "is":
                value = _rich(part)
        if kind in {"str", "inlineStr"}:
            return _ESCAPED.sub(_character, value) if kind == "str" else value
        if value.strip():
            return self._shown(value.strip(), kind, int(cell.get("s", 0)))
        without = "holds a formula without a value; open and save it in a spreadsheet program"
        return Fault(without) if formula else ""

    def _shown(self, value: str, kind: str, style: int) -> str:
        """A value as text, by its kind."""
        if kind == "s":
            return self.texts[int(value)]
        if kind == "b":
            return "TRUE" if value in _TRUE else "FALSE"
        if kind == "e":
            wrong = f"holds the error {value}; correct it in the spreadsheet, or clear the cell"
            return "" if value == "#N/A" else Fault(wrong)
        if kind == "d":
            return value.removesuffix("T00:00:00")
        code = self.formats[style] if style < len(self.formats) else ""
        return _number(value, code, self.first_day)


def _number(text: str, code: str, first_day: int) -> str:
    """A number as its format shows it, as far as that matters for ids and dates."""
    value = float(text)
    if not math.isfinite(value):
        msg = f"{text!r} is no number"
        raise ValueError(msg)
    kind, before, width, after = _format(code)
    if kind and 0 <= value + first_day < _LAST_DAY + 1:
        return _date(value + first_day, kind)
    if text.lstrip("-").isdecimal():
        whole = str(int(text))
    elif value.is_integer() and abs(value) < 1e21:
        whole = str(int(value))
    else:
        return repr(value)
    return before + whole.zfill(width) + after if whole.isdecimal() else whole


@lru_cache(maxsize=256)
def _format(code: str) -> tuple[str, str, int, str]:
    """What a number format shows: kind of date, text before a number, its digits, text after."""
    first = _FIRST.sub(r"\1", code, count=1)
    bare = _SILENT.sub("", first).lower()
    if set(bare) & set("dyhms") and "general" not in bare and not _ELAPSED.search(first):
        hours = bool(set(bare) & set("hs"))
        days = bool(set(bare) & set("dy")) or not hours
        return (_BOTH if hours and days else _TIME if hours else _DAY), "", 0, ""
    zeros = _ZEROS.fullmatch(re.sub(r"\[[^\]]*\]", "", first))
    if not zeros:
        return "", "", 0, ""
    before, after = (re.sub(r'"([^"]*)"|\\(.)', r"\1\2", zeros[side]) for side in (1, 3))
    return "", before, len(zeros[2]), after


def _date(serial: float, kind: str) -> str:
    """A day, a time or both, as ISO 8601 writes them.

    Examples
    --------
    >>> _date(45292.0, _BOTH), _date(45292.5, _BOTH), _date(0.25, _TIME), _date(59, _DAY)
    ('2024-01-01', '2024-01-01T12:00:00', '06:00:00', '1900-02-28')
    """
    # Day 60 is the 29th of February 1900, which there never was.
    start = dt.datetime(1899, 12, 30 if serial >= 60 else 31)  # noqa: DTZ001 - sheets know no zone
    moment = start + dt.timedelta(seconds=round(serial * 86_400))
    if kind == _TIME and serial < 1:
        return moment.time().isoformat()
    only_day = kind == _DAY or moment.time() == dt.time()
    return moment.date().isoformat() if only_day else moment.isoformat()


def _formats(packed: zipfile.ZipFile, part: str) -> list[str]:
    """Number format of each style of cell."""
    if not part:
        return []
    styles = _tree(packed, part)
    codes = {
        int(one.get("numFmtId", 0)): one.get("formatCode", "") for one in _below(styles, "numFmt")
    }
    used = [int(x.get("numFmtId", 0)) for xs in _below(styles, "cellXfs") for x in xs]
    return [codes.get(one, _BUILTIN.get(one, "")) for one in used]


def _rich(element: ET.Element) -> str:
    """Text of an element whose parts may look different; how it is pronounced is no part of it."""
    told = []
    for part in element:
        tag = _local(part.tag)
        if tag == "t":
            told.append(part.text or "")
        elif tag == "r":
            told += [one.text or "" for one in part if _local(one.tag) == "t"]
    return _ESCAPED.sub(_character, "".join(told))


def _character(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


@lru_cache(maxsize=1024)
def _column(name: str) -> int:
    """Number of a column, from 1."""
    number = 0
    for letter in name:
        place = ord(letter) - ord("A") + 1
        if not 1 <= place <= 26:
            msg = f"{name!r} is no column"
            raise ValueError(msg)
        number = 26 * number + place
    return number


def _local(tag: object) -> str:
    return str(tag).rpartition("}")[2]


def _below(element: ET.Element, tag: str) -> list[ET.Element]:
    return [one for one in element.iter() if _local(one.tag) == tag]


def _tree(packed: zipfile.ZipFile, part: str) -> ET.Element:
    return ET.fromstring(packed.read(part))  # noqa: S314 - see above


def _ended(packed: zipfile.ZipFile, part: str, tags: set[str]) -> Iterator[ET.Element]:
    """Elements with one of these tags, each of them forgotten after it was looked at."""
    if not part:
        return
    with packed.open(part) as file:
        for _, element in ET.iterparse(file):  # noqa: S314 - see above
            if _local(element.tag) in tags:
                yield element
                element.clear()
