"""Text tables: CSV, TSV and their like, whose header names the columns, and text in blocks."""

from __future__ import annotations

import codecs
import csv
import io
import re
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import ALIASES, CALL, plain
from parivox.data.formats.format import (
    CERTAIN_FIT,
    ENGINE_ERRORS,
    Example,
    NamedColumns,
    error_summary,
    named_format,
)
from parivox.data.source_bytes import LONGEST_HEADER, quotes_asked
from parivox.errors import DataError, StrayQuote
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows
    from parivox.data.source_bytes import SourceBytes

SEPARATORS = (",", "\t", ";", "|")
_SEPARATOR_HINT = re.compile(r'"?sep=([,\t;|])"?', re.IGNORECASE)  # for Excel, above the header
_STAR = re.compile(rb"(?m)^([^*\s]*)\*")
SPANNING_RECORDS = "spanning"
"""What a content's dialect has of records with a cell that spans rows: how many, and the first."""
CHUNK_BYTES = 64 << 20
"""Bytes read at once."""
PICKLE_ADVICE = (
    "may run code when it is opened, so it is not; save embeddings as ids and vectors with "
    'numpy.savez(FILE, ids=[one.replace("@", "/") for one in all], '
    "vectors=numpy.stack(list(all.values())))"
)
"""What is said of a pickle, and of what may be one; NeMo writes @ for / in ids."""


def read_header(content: SourceBytes) -> tuple[list[str], str, int]:
    """Names of the columns, the separator, and the first row with data."""
    lines = head_lines(content.head)
    if not lines:
        msg = f"{content.name}: holds blank lines only; give a file with a header and rows below it"
        raise DataError(msg)
    names, separator, below = _header(lines)
    if not below and len(content.head) == LONGEST_HEADER:
        msg = (
            f"{content.name}: its header, row {lines[-1][0]}, is longer than "
            f"{LONGEST_HEADER >> 20} MiB; give a table of fewer columns"
        )
        raise DataError(msg)
    if not below:
        msg = f"{content.name}: holds a header and nothing else; give a file with rows below it"
        raise DataError(msg)
    return names, separator, below[0][0]


def _header(lines: Sequence[tuple[int, str]]) -> tuple[list[str], str, Sequence[tuple[int, str]]]:
    """Names of the columns, the separator, and the lines below them.

    Examples
    --------
    >>> _header([(1, "sep=;"), (2, "id;sex"), (3, "a;f")])
    (['id', 'sex'], ';', [(3, 'a;f')])
    """
    hint = _SEPARATOR_HINT.fullmatch(lines[0][1])
    if hint:
        lines = lines[1:]
    header = lines[0][1] if lines else ""
    # what splits it into the most parts, else blanks
    best = max(SEPARATORS, key=lambda one: len(split_line(header, one)))
    separator = hint[1] if hint else best if best in header else " "
    return split_line(header, separator), separator, lines[1:]


def _fits(head: bytes, columns: RequestedColumns) -> float:
    lines = head_lines(head) if is_text(head) else []
    if not lines:
        return 0
    names, _, _ = _header(lines)
    known = {plain(name) for name in names}
    roles = sum(bool(aliases & known) for aliases in (*ALIASES.values(), CALL))
    asked = set(columns.by_role.values())
    found = asked & set(names)
    is_known = roles >= 2 or (bool(found) and (columns.may_be_elsewhere or found == asked))
    return CERTAIN_FIT if is_known else 0


def _table(content: SourceBytes) -> NamedColumns:
    check_text(content)
    names, separator, start = read_header(content)
    content.dialect["separator"] = separator
    quote = None if separator == " " or quotes_asked() else '"'
    if separator != " " and quotes_asked():
        content.dialect["quotes"] = quotes_asked()

    def chunks(places: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        numbers = [place for role, place in places.items() if role == "score"]
        read = read_text(content, separator, len(names), start, quote=quote, numbers=numbers)
        for rows, block in read:
            yield rows, block.select(**{name: f"f{at}" for name, at in places.items()})

    return NamedColumns(names, chunks)


DELIMITED = named_format(
    "delimited",
    "columns with a header",
    _fits,
    _table,
    (
        Example(
            "enrol,test,score,label",
            "anyone: a CSV or TSV with a header; NIST with a header, bob's CSV",
            "the columns with [known names](#columns-with-names), in any order",
        ),
    ),
)


def is_text(head: bytes) -> bool:
    """Whether these may be the first bytes of a text in UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in head


def check_text(content: SourceBytes) -> None:
    """Refuse what is no text with rows, in words that tell what it is instead."""
    head, name = content.head, content.name
    if head[:1] == b"\x80" and head[1:2] in {b"\2", b"\3", b"\4", b"\5"}:
        msg = f"{name}: is a pickle: it {PICKLE_ADVICE}, and tables as CSV or Parquet"
        raise DataError(msg)
    if not content.encoding or b"\x00" in head:
        msg = f"{name}: is neither text nor Parquet, Arrow or XLSX; save it in one of these formats"
        raise DataError(msg)
    if b"\r" in head.strip() and b"\n" not in head:
        msg = (
            f"{name}: its lines end as on an old Mac, in CR alone; "
            "save it with line ends of today, LF or CR LF"
        )
        raise DataError(msg)


@lru_cache(maxsize=4)
def head_lines(head: bytes) -> list[tuple[int, str]]:
    """First lines that hold anything, each with its row as an editor shows it."""
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    lines = text.split("\n")
    if len(lines) > 2 and len(head) >= 1 << 15:
        lines.pop()  # it may be cut
    return [(i, line.rstrip("\r")) for i, line in enumerate(lines, 1) if line.strip()]


def split_line(line: str, separator: str) -> list[str]:
    """Fields of one line; blanks of any kind and number separate where it is a blank or a star."""
    if separator == "*":
        line = line.replace("*", " ", 1)
    if separator in " *":
        return line.split()
    if quotes_asked():
        return [cell.strip() for cell in line.split(separator)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return [cell.strip() for cell in line.split(separator)]


def read_text(
    content: SourceBytes,
    separator: str,
    width: int,
    start: int,
    *,
    quote: str | None,
    numbers: Collection[int] = (),
) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Blocks of rows, all cells as text, columns ``f0``, ``f1``, ...; `numbers` where they are.

    With each block come the rows of its records as an editor shows them: those of their first
    lines. A blank as separator stands for any number of blanks and tabs, a star for these and the
    first star of a line; `start` is the first row with data, from 1; blank lines are rows without
    any value.
    """
    is_starred, separator = separator == "*", separator.replace("*", " ")
    types = {f"f{i}": pl.Float64 if i in numbers else pl.String for i in range(width)}
    content.dialect.pop(SPANNING_RECORDS, None)  # of an earlier reading
    for first, block, skip in line_chunks(content, start):
        data = _STAR.sub(rb"\1 ", block) if is_starred else block
        if separator == " " and _untidy(data):
            data = b"\n".join(b" ".join(line.split()) for line in data.split(b"\n"))
        lead = 0  # where the first line that is not blank begins
        for _ in range(skip):
            lead = data.find(b"\n", lead) + 1 or len(data)
        while data[lead : lead + 1] in {b"\r", b"\n"}:
            lead += 1
        blank = data.count(b"\n", 0, lead)
        if lead == len(data):
            continue
        begin = first + blank
        # a quote within a cell is a sign as others are, which the engine may stumble over
        mark = quote if quote is not None and _opens_quotes(data, separator) else None
        frame = _checked(data, content.name, types, separator, mark, lead=lead, first=first)
        rows = _rows(data, lead, begin, frame.height, separator, mark)
        n_lines = data.count(b"\n", lead) + (not data.endswith(b"\n"))
        _note_spanning(content, rows, begin + n_lines)
        yield rows, frame


def _note_spanning(content: SourceBytes, rows: Rows, end: int) -> None:
    """Note how many records of a block that ends before row `end` span rows, and the first."""
    if isinstance(rows, range):
        return
    first_rows = np.asarray(rows)
    spanning = first_rows[np.diff(first_rows, append=end) > 1].tolist()
    if spanning:
        known = content.dialect.get(SPANNING_RECORDS, {"records": 0, "first_row": spanning[0]})
        content.dialect[SPANNING_RECORDS] = known | {"records": known["records"] + len(spanning)}


def _checked(
    data: bytes,
    name: str,
    types: Mapping[str, Any],
    separator: str,
    quote: str | None,
    *,
    lead: int,
    first: int,
) -> pl.DataFrame:
    """The table of a block in row `first`, whose first line that is not blank begins at `lead`."""
    width, blank = len(types), data.count(b"\n", 0, lead)
    frame, failed = None, None
    try:
        frame = _parsed(data, types, separator, quote, skip_lines=blank)
    except ENGINE_ERRORS as error:
        failed = error
    block, begin = data[lead:], first + blank
    is_doubtful = frame is None or bool(frame.height and frame[:, -1].null_count())
    n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if quote is not None and (is_doubtful or frame is None or n_lines > frame.height):
        stray = _stray_quote(block, begin, separator, width)
        if stray is not None:
            raise _stray(name, stray) from failed
    if is_doubtful:
        ragged = _odd_row(block, begin, separator, width, quote)
        if ragged is not None:
            raise _ragged(name, *ragged, width) from failed
    if frame is not None:
        return frame
    if quote is not None:
        return _by_record(block, begin, name, separator, types)
    assert failed is not None
    msg = f"{name}: cannot be read as a table ({error_summary(failed)}); repair the file"
    raise DataError(msg) from failed


def _opens_quotes(data: bytes, separator: str) -> bool:
    """Whether any cell begins with a quote.

    Examples
    --------
    >>> _opens_quotes(b'a,5" disk', ","), _opens_quotes(b'a,"disk', ",")
    (False, True)
    """
    if b'"' not in data:
        return False
    starts = (b'\n"', separator.encode() + b'"')
    return data.startswith((b'"', codecs.BOM_UTF8 + b'"')) or any(one in data for one in starts)


def _stray_quote(block: bytes, first: int, separator: str, width: int) -> int | None:
    r"""First row where a quote seems to be a sign as others are; None where quotes hold cells.

    They do not where a quoted cell spans lines, goes on behind its end or takes in separators of a
    row that is too short for it, and each line has all of its cells if quotes are signs.

    Examples
    --------
    >>> _stray_quote(b'1,"a\n2,b"\n', 2, ",", 2), _stray_quote(b'1,"a\nb"\n', 2, ",", 2)
    (2, None)
    """
    row = _first_odd_quote(block, first, separator, width)
    if row is None or _odd_row(block, first, separator, width, None) is not None:
        return None
    return row


def _first_odd_quote(block: bytes, first: int, separator: str, width: int) -> int | None:
    """First row with a quoted cell that spans lines or goes on, or that changes their number."""
    lines = (line.decode("utf-8", errors="replace") for line in io.BytesIO(block))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    row = first
    try:
        for cells in reader:
            if first + reader.line_num > row + 1 or len(cells) not in {0, width}:
                return row
            row += 1
    except csv.Error:
        return row
    return None


def _stray(name: str, row: int) -> StrayQuote:
    return StrayQuote(
        f'{name}, row {row}: a cell that begins with a quote (") goes on behind the end of the '
        "cell or of the line, but without quotes each line has as many cells as the header; if "
        "quotes are signs as others are, give --quotes none, else repair the row"
    )


def _by_record(
    block: bytes, first: int, name: str, separator: str, types: Mapping[str, Any]
) -> pl.DataFrame:
    """The table by Python's own reader, where quotes stand both around cells and within them."""
    text = io.StringIO(block.decode("utf-8", errors="replace"), newline="")
    records, row = [], first
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for cells in reader:
            records.append([cell or None for cell in cells] or [None] * len(types))
            row = first + reader.line_num
    except csv.Error as error:
        msg = (
            f'{name}, row {row}: a cell that begins with a quote (") has no end, or goes on behind '
            "it; repair the row or, if quotes are signs as others are, give --quotes none"
        )
        raise StrayQuote(msg) from error
    return pl.DataFrame(records, schema=dict.fromkeys(types, pl.String), orient="row")


def _parsed(
    data: bytes, types: Mapping[str, Any], separator: str, quote: str | None, *, skip_lines: int
) -> pl.DataFrame:
    """The table: all of it as text where a number is none, so that it is shown as it stands."""
    read = partial(
        pl.read_csv,
        data,
        has_header=False,
        separator=separator,
        quote_char=quote,
        skip_lines=skip_lines,
        infer_schema=False,
    )
    with suppress(*ENGINE_ERRORS):
        frame = read(schema=types)
        if not any(column.is_nan().any() for column in frame.select(pl.col(pl.Float64))):
            return frame
    return read(schema=dict.fromkeys(types, pl.String))


def _rows(
    data: bytes, lead: int, first: int, height: int, separator: str, quote: str | None
) -> Rows:
    """Row of each record of a block whose first one begins at `lead`, in row `first`."""
    if quote is not None and b'"' in data:
        lines = data.count(b"\n", lead) + (not data.endswith(b"\n"))
        if lines > height:  # some records may hold line ends
            starts = [row for row, _ in _records(data[lead:], first, separator, quote)]
            if len(starts) >= height:
                return np.array(starts[:height], dtype=np.int64)
    return range(first, first + height)


def _records(
    block: bytes, first: int, separator: str, quote: str | None
) -> Iterator[tuple[int, int]]:
    """Row and number of fields of each record, as far as it can be read."""
    text = io.StringIO(block.decode("utf-8", errors="replace"), newline="")
    if separator == " ":
        yield from ((row, len(line.split())) for row, line in enumerate(text, first))
        return
    reader = csv.reader(text, delimiter=separator, quotechar=quote)
    row = first
    with suppress(csv.Error):
        for cells in reader:
            yield row, len(cells)
            row = first + reader.line_num


def line_chunks(content: SourceBytes, start: int) -> Iterator[tuple[int, bytes, int]]:
    """Whole lines, as many as fit a block, with the row of the first one and lines to skip."""
    if content.payload is not None and len(content.payload) <= CHUNK_BYTES:
        yield 1, content.payload, start - 1
        return
    row = start
    with content.open() as file, stage(content.name, content.size, "bytes") as reading:
        for _ in range(start - 1):
            file.readline()
        left = file.read(3).removeprefix(codecs.BOM_UTF8) if start == 1 else b""
        last = False
        while not last:
            read = file.read(CHUNK_BYTES)
            last = len(read) < CHUNK_BYTES
            block = left + read if left else read
            cut = len(block) if last else block.rfind(b"\n") + 1
            if not cut or (last and len(block) - block.rfind(b"\n") > CHUNK_BYTES):
                msg = (
                    f"{content.name}, row {row} or later: a line is longer than "
                    f"{CHUNK_BYTES >> 20} MiB; give a table with one line per row"
                )
                raise DataError(msg)
            left, whole = block[cut:], block if last else block[:cut]
            if whole:
                yield row, whole, 0
            reading.add(len(read))
            row += 0 if last else whole.count(b"\n")


def _untidy(block: bytes) -> bool:
    """Whether anything but single blanks separates the fields of any line."""
    odd = (b"\t", b"  ", b" \n", b" \r", b"\n ")
    return any(one in block for one in odd) or b" " in {block[:1], block[-1:]}


def _odd_row(
    block: bytes, first: int, separator: str, width: int, quote: str | None
) -> tuple[int, int] | None:
    """Row and number of fields of the first row with another number of fields."""
    records = _records(block, first, separator, quote)
    return next(((row, n) for row, n in records if n not in {0, width}), None)


def _ragged(name: str, row: int, found: int, width: int) -> DataError:
    columns = f"{found} column{'s' if found != 1 else ''}"
    return DataError(
        f"{name}, row {row}: has {columns}, but other rows have {width}; repair or remove the row"
    )
