"""Text tables such as CSV and TSV, whose header names the columns, read in chunks of lines."""

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

from parivox.data.columns import ALIASES, CALL_NAMES, plain_name
from parivox.data.formats.format import (
    CERTAIN_FIT,
    ENGINE_ERRORS,
    Example,
    NamedColumns,
    error_summary,
    named_format,
)
from parivox.data.source_bytes import MAX_HEADER_BYTES, requested_quotes
from parivox.errors import DataError, StrayQuote
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows
    from parivox.data.source_bytes import SourceBytes

SEPARATORS = (",", "\t", ";", "|")
_SEPARATOR_LINE = re.compile(
    r'"?sep=([,\t;|])"?', re.IGNORECASE
)  # a line for Excel above the header
_COMMENT_SIGNS = (";", "#")
COMMENT_LINES = "comments"
"""Key in the dialect of a source: number of lines above its data that are comments."""
_LAST_STAR = re.compile(rb"(?m)^([^\S\n]*\S*)\*")
SPANNING_RECORDS = "spanning"
"""Key in the dialect of a source: number of records with a cell of several lines, and the first."""
_MIN_COLUMNS_BEFORE_FREE_TEXT = 3
"""Columns of a table separated by blanks whose last may contain several words."""
_MAX_FREE_TEXT_BYTES = 16 << 20
"""Size of a table whose lines are divided one by one."""
CHUNK_BYTES = 64 << 20
"""Bytes read at once."""
PICKLE_ADVICE = (
    "may run code when opened, so it is not read; save embeddings as ids and vectors with "
    'numpy.savez(FILE, ids=[one.replace("@", "/") for one in all], '
    "vectors=numpy.stack(list(all.values())))"
)
"""Message about a pickle, and about what may be one; NeMo writes @ for / in ids."""


def read_header(content: SourceBytes) -> tuple[list[str], str, int]:
    """Return the names of the columns, the separator, and the first row with data."""
    lines = head_lines(content.head)
    if not lines:
        msg = f"{content.name}: contains blank lines only"
        hint = "give a file with a header and rows below it"
        raise DataError(msg, hint)
    names, separator, data_lines = _split_header(lines)
    content.dialect.pop(COMMENT_LINES, None)  # noted by an earlier reading
    n_comments = len(_leading_comments(lines))
    if n_comments and data_lines:
        # a header that is written as a comment is none
        is_header = len(lines) - len(data_lines) == n_comments
        content.dialect[COMMENT_LINES] = n_comments - 1 if is_header else n_comments
    if not data_lines and len(content.head) == MAX_HEADER_BYTES:
        msg = (
            f"{content.name}: its header, row {lines[-1][0]}, is longer than "
            f"{MAX_HEADER_BYTES >> 20} MiB"
        )
        hint = "give a table with fewer columns"
        raise DataError(msg, hint)
    if not data_lines:
        msg = f"{content.name}: contains only a header"
        hint = "give a file with rows below it"
        raise DataError(msg, hint)
    return names, separator, data_lines[0][0]


def _split_header(
    lines: Sequence[tuple[int, str]],
) -> tuple[list[str], str, Sequence[tuple[int, str]]]:
    """Return the names of the columns, the separator, and the lines below the header.

    Examples
    --------
    >>> _split_header([(1, "sep=;"), (2, "id;sex"), (3, "a;f")])
    (['id', 'sex'], ';', [(3, 'a;f')])

    Comments stand above the header, or are it where they have as many cells as the data:

    >>> _split_header([(1, "; people"), (2, ";ID |SEX"), (3, "14 | F")])
    (['ID', 'SEX'], '|', [(3, '14 | F')])
    """
    separator_line = _SEPARATOR_LINE.fullmatch(lines[0][1])
    if separator_line:
        lines = lines[1:]
    comments = _leading_comments(lines)
    lines = lines[len(comments) :]
    header = lines[0][1] if lines else ""
    separator = separator_line[1] if separator_line else _best_separator(header)
    if comments and lines:
        names = split_line(comments[-1].lstrip("".join(_COMMENT_SIGNS)), separator)
        if len(names) > 1 and len(names) == len(split_line(header, separator)):
            return names, separator, lines
    return split_line(header, separator), separator, lines[1:]


def _best_separator(header: str) -> str:
    """Return the separator that splits the header into the most names, else a blank."""
    best_separator = max(SEPARATORS, key=lambda candidate: len(split_line(header, candidate)))
    return best_separator if best_separator in header else " "


def has_leading_comments(head: bytes) -> bool:
    r"""Whether a text begins with lines that are comments, and goes on without.

    Examples
    --------
    >>> has_leading_comments(b"; people\nid,sex\n"), has_leading_comments(b"id,sex\n")
    (True, False)
    """
    return is_text(head) and bool(_leading_comments(head_lines(head)))


def _leading_comments(lines: Sequence[tuple[int, str]]) -> list[str]:
    """Return the lines at the beginning that are comments, unless all are."""
    comments: list[str] = []
    for _, line in lines:
        if not line.startswith(_COMMENT_SIGNS):
            return comments
        comments.append(line)
    return []


def _header_fit(head: bytes, columns: RequestedColumns) -> float:
    lines = head_lines(head) if is_text(head) else []
    if not lines:
        return 0
    names, _, _ = _split_header(lines)
    plain_names = {plain_name(name) for name in names}
    n_roles = len([aliases for aliases in (*ALIASES.values(), CALL_NAMES) if aliases & plain_names])
    names_tests = bool((ALIASES["enrol"] | ALIASES["test"] | CALL_NAMES) & plain_names)
    has_score = bool(plain_names & ALIASES["score"])
    if names_tests and not has_score and any(name.endswith("score") for name in plain_names):
        n_roles += 1
    requested_names = set(columns.by_role.values())
    requested_present = requested_names & set(names)
    # one known name is too few: a table of speakers may have it as well
    is_known = n_roles >= 2 or (
        bool(requested_present)
        and (columns.may_be_elsewhere or requested_present == requested_names)
    )
    return CERTAIN_FIT if is_known else 0


def delimited_table(content: SourceBytes) -> NamedColumns:
    """Open a delimited text with a header."""
    check_text(content)
    names, separator, start = read_header(content)
    content.dialect["separator"] = separator
    quote = None if separator == " " or requested_quotes() else '"'
    if separator != " " and requested_quotes():
        content.dialect["quotes"] = requested_quotes()

    def chunks(positions: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        numbers = [position for role, position in positions.items() if role == "score"]
        records = read_text(content, separator, len(names), start, quote=quote, numbers=numbers)
        for rows, frame in records:
            yield (
                rows,
                frame.select(**{name: f"f{position}" for name, position in positions.items()}),
            )

    if not _has_free_last_column(content, names, start, separator):
        return NamedColumns(names, chunks)
    names = list(_names_between_gaps(content.head, names, start, separator))

    def free_text_chunks(positions: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        records = read_text(content, separator, len(names), start, quote=None, is_last_free=True)
        for rows, frame in records:
            columns = {name: f"f{position}" for name, position in positions.items()}
            yield rows, frame.select(**columns)

    return NamedColumns(names, free_text_chunks)


def _has_free_last_column(
    content: SourceBytes, names: Sequence[str], start: int, separator: str
) -> bool:
    """Whether the last column takes what is left of a row, in a table that is not one of trials.

    Regions in the table of VCTK have several words or none, and names in that of LibriSpeech may
    contain the separator.
    """
    if separator not in " |" or len(names) < _MIN_COLUMNS_BEFORE_FREE_TEXT:
        return False
    plain_names = {plain_name(name) for name in names}
    if any(aliases & plain_names for aliases in ALIASES.values()):
        return False
    if separator == "|":  # any row may have more, also behind the first ones
        return b'"' not in content.head and content.size <= _MAX_FREE_TEXT_BYTES
    lines = [line for row, line in head_lines(content.head) if row >= start]
    return len({len(line.split()) for line in lines}) > 1


def _names_between_gaps(
    head: bytes, names: Sequence[str], start: int, separator: str
) -> Sequence[str]:
    """Return names that several blanks or tabs divide, where the last one holds single blanks."""
    header = next((line for row, line in reversed(head_lines(head)) if row < start), "")
    wide_names = re.split(r"\s{2,}|\t", header.strip().lstrip("".join(_COMMENT_SIGNS)))
    is_last_alone = len(wide_names) > 1 and all(" " not in name for name in wide_names[:-1])
    has_enough = _MIN_COLUMNS_BEFORE_FREE_TEXT <= len(wide_names) < len(names)
    return wide_names if separator == " " and has_enough and is_last_alone else names


DELIMITED = named_format(
    "delimited",
    "columns with a header",
    _header_fit,
    delimited_table,
    (
        Example(
            "enrol,test,score,label",
            "any tool that writes CSV or TSV with a header, such as bob and NIST tools",
            "the columns with [known names](#columns-with-names), in any order",
        ),
    ),
)


def is_text(head: bytes) -> bool:
    """Whether these can be the first bytes of a text in UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\x00" not in head


def check_text(content: SourceBytes) -> None:
    """Refuse anything but text with rows, with a message that says what it is instead."""
    head, name = content.head, content.name
    if head[:1] == b"\x80" and head[1:2] in {b"\2", b"\3", b"\4", b"\5"}:
        msg = f"{name}: is a pickle: it {PICKLE_ADVICE}, and tables as CSV or Parquet"
        raise DataError(msg)
    if not content.encoding or b"\x00" in head:
        msg = f"{name}: is neither text nor Parquet, Arrow or XLSX"
        hint = "save it in one of these formats"
        raise DataError(msg, hint)
    if b"\r" in head.strip() and b"\n" not in head:
        msg = f"{name}: its lines end in CR only, as on old Macs"
        hint = "save it with line endings LF or CR LF"
        raise DataError(msg, hint)


@lru_cache(maxsize=4)
def head_lines(head: bytes) -> list[tuple[int, str]]:
    """Return the first lines that are not blank, each with its row, counted from 1."""
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    lines = text.split("\n")
    if len(lines) > 2 and len(head) >= 1 << 15:
        # the head of a long file may end within a line
        lines.pop()
    return [(i, line.rstrip("\r")) for i, line in enumerate(lines, 1) if line.strip()]


def split_line(line: str, separator: str) -> list[str]:
    """Return the fields of one line; as separators, a blank and a star represent any blanks."""
    if separator == "*":
        first_cell, blank, other_cells = line.strip().partition(" ")
        line = f"{' '.join(first_cell.rsplit('*', 1))}{blank}{other_cells}"
    if separator in " *":
        return line.split()
    if requested_quotes():
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
    is_last_free: bool = False,
) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Yield chunks of rows, with columns ``f0``, ``f1``, ... of text, or of numbers in `numbers`.

    With each chunk come the rows of its records, counted from 1: those of their first lines. A
    blank as separator represents any number of blanks and tabs, a star these and the last star
    of the first cell; the last column takes what is left of a row if `is_last_free`. `start` is the
    first row with data. Blank lines are rows without any value.
    """
    is_starred, separator = separator == "*", separator.replace("*", " ")
    free_separator = None if separator == " " else separator.encode()
    if is_last_free:
        separator = "\t"
    types = {f"f{i}": pl.Float64 if i in numbers else pl.String for i in range(width)}
    content.dialect.pop(SPANNING_RECORDS, None)  # noted by an earlier reading
    for first_row, chunk, n_skipped in line_chunks(content, start):
        text = _LAST_STAR.sub(rb"\1 ", chunk) if is_starred else chunk
        if is_last_free:
            lines = text.split(b"\n")
            text = b"\n".join(_with_free_last_cell(line, width, free_separator) for line in lines)
        elif separator == " " and _has_irregular_blanks(text):
            text = b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
        data_start = 0  # where the first line that is not blank begins
        for _ in range(n_skipped):
            data_start = text.find(b"\n", data_start) + 1 or len(text)
        while text[data_start : data_start + 1] in {b"\r", b"\n"}:
            data_start += 1
        n_blank = text.count(b"\n", 0, data_start)
        if data_start == len(text):
            continue
        data_row = first_row + n_blank
        # quotes within cells are ordinary characters, over which the engine may fail: tell it of
        # quotes only where a cell begins with one
        quote_in_use = quote if quote is not None and _has_opening_quote(text, separator) else None
        frame = _parse_checked(
            text,
            content.name,
            types,
            separator,
            quote_in_use,
            data_start=data_start,
            first_row=first_row,
        )
        rows = _record_rows(text, data_start, data_row, frame.height, separator, quote_in_use)
        if isinstance(rows, np.ndarray):  # else each record is one line
            _note_spanning(content, rows, data_row + _line_count(text, data_start))
        yield rows, frame


def _with_free_last_cell(line: bytes, width: int, separator: bytes | None) -> bytes:
    """Return a line with tabs between its cells, the last of which may hold anything or nothing."""
    cells = [cell.strip() for cell in line.replace(b"\t", b" ").split(separator, width - 1)]
    if not any(cells):
        return b""
    return b"\t".join([*cells, *[b""] * (width - len(cells))])


def _note_spanning(content: SourceBytes, first_rows: NDArray[np.int64], end_row: int) -> None:
    """Note how many records of a chunk that ends before `end_row` span rows, and the first."""
    spanning = first_rows[np.diff(first_rows, append=end_row) > 1].tolist()
    if spanning:
        noted = content.dialect.get(SPANNING_RECORDS, {"records": 0, "first_row": spanning[0]})
        content.dialect[SPANNING_RECORDS] = noted | {"records": noted["records"] + len(spanning)}


def _parse_checked(
    text: bytes,
    name: str,
    types: Mapping[str, Any],
    separator: str,
    quote: str | None,
    *,
    data_start: int,
    first_row: int,
) -> pl.DataFrame:
    """Return the table of a chunk; refuse stray quotes and rows with another number of cells.

    The chunk begins in row `first_row`; its first line that is not blank begins at `data_start`.
    """
    width, n_blank = len(types), text.count(b"\n", 0, data_start)
    frame, engine_error = None, None
    try:
        frame = _parse_fast(text, types, separator, quote, skip_lines=n_blank)
    except ENGINE_ERRORS as error:
        engine_error = error
    is_doubtful = frame is None or bool(frame.height and frame[:, -1].null_count())
    if frame is not None and not is_doubtful and quote is None:
        return frame
    data_text, data_row = text[data_start:], first_row + n_blank
    n_lines = _line_count(data_text)
    if quote is not None and (is_doubtful or frame is None or n_lines > frame.height):
        stray_row = _first_stray_quote(data_text, data_row, separator, width)
        if stray_row is not None:
            raise _stray_quote_error(name, stray_row) from engine_error
    if is_doubtful:
        deviating = _first_row_of_other_width(data_text, data_row, separator, width, quote)
        if deviating is not None:
            raise _width_error(name, *deviating, width) from engine_error
    if frame is not None:
        return frame
    if quote is not None:
        return _parse_by_record(data_text, data_row, name, separator, types)
    assert engine_error is not None
    msg = f"{name}: cannot be read as a table ({error_summary(engine_error)})"
    hint = "repair or export the file again"
    raise DataError(msg, hint) from engine_error


def _line_count(text: bytes, start: int = 0) -> int:
    """Return the number of lines from `start` on; the last may lack its line end."""
    n_ends = text.count(b"\n", start)
    return n_ends if text.endswith(b"\n") else n_ends + 1


def _has_opening_quote(text: bytes, separator: str) -> bool:
    """Whether any cell begins with a quote.

    Examples
    --------
    >>> _has_opening_quote(b'a,5" disk', ","), _has_opening_quote(b'a,"disk', ",")
    (False, True)
    """
    if b'"' not in text:
        return False
    starts = (b'\n"', separator.encode() + b'"')
    return text.startswith((b'"', codecs.BOM_UTF8 + b'"')) or any(start in text for start in starts)


def _first_stray_quote(text: bytes, first_row: int, separator: str, width: int) -> int | None:
    r"""Return the first row where a quote seems to be an ordinary character; None if none does.

    That is so if a quoted cell spans lines, continues after its closing quote or takes in
    separators of a row that is then too short, and if each line has all of its cells once quotes
    are ordinary characters.

    Examples
    --------
    >>> [_first_stray_quote(text, 2, ",", 2) for text in (b'1,"a\n2,b"\n', b'1,"a\nb"\n')]
    [2, None]
    """
    row = _first_doubtful_quote(text, first_row, separator, width)
    if (
        row is None
        or _first_row_of_other_width(text, first_row, separator, width, None) is not None
    ):
        return None
    return row


def _first_doubtful_quote(text: bytes, first_row: int, separator: str, width: int) -> int | None:
    """Return the first row with a quoted cell that spans lines, continues, or changes the width."""
    lines = (line.decode("utf-8", errors="replace") for line in io.BytesIO(text))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    row = first_row
    try:
        for cells in reader:
            if first_row + reader.line_num > row + 1 or len(cells) not in {0, width}:
                return row
            row += 1
    except csv.Error:
        return row
    return None


def _stray_quote_error(name: str, row: int) -> StrayQuote:
    msg = (
        f'{name}, row {row}: a cell in quotes (") does not end with its closing quote on the '
        "same line, but each line has as many cells as the header"
    )
    hint = "if quotes are ordinary characters, give --quotes none; otherwise repair the row"
    return StrayQuote(msg, hint)


def _parse_by_record(
    text_bytes: bytes, first_row: int, name: str, separator: str, types: Mapping[str, Any]
) -> pl.DataFrame:
    """Return the table by the reader of Python, which accepts quotes around and within cells."""
    text = io.StringIO(text_bytes.decode("utf-8", errors="replace"), newline="")
    records, row = [], first_row
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for cells in reader:
            records.append([cell or None for cell in cells] or [None] * len(types))
            row = first_row + reader.line_num
    except csv.Error as error:
        msg = (
            f'{name}, row {row}: a cell that begins with a quote (") does not end with its closing '
            "quote"
        )
        hint = "repair the row or, if quotes are ordinary characters, give --quotes none"
        raise StrayQuote(msg, hint) from error
    return pl.DataFrame(records, schema=dict.fromkeys(types, pl.String), orient="row")


def _parse_fast(
    text: bytes, types: Mapping[str, Any], separator: str, quote: str | None, *, skip_lines: int
) -> pl.DataFrame:
    """Return the table; as text if a number is not one, so that messages quote it unchanged."""
    read_csv = partial(
        pl.read_csv,
        text,
        has_header=False,
        separator=separator,
        quote_char=quote,
        skip_lines=skip_lines,
        infer_schema=False,
    )
    with suppress(*ENGINE_ERRORS):
        frame = read_csv(schema=types)
        if not any(column.is_nan().any() for column in frame.select(pl.col(pl.Float64))):
            return frame
    return read_csv(schema=dict.fromkeys(types, pl.String))


def _record_rows(
    text: bytes, data_start: int, first_row: int, height: int, separator: str, quote: str | None
) -> Rows:
    """Return the row of each record of a chunk; the first begins at `data_start`."""
    if quote is not None and b'"' in text:
        n_lines = _line_count(text, data_start)
        if n_lines > height:  # some records may contain line ends
            starts = [row for row, _ in _records(text[data_start:], first_row, separator, quote)]
            if len(starts) >= height:
                return np.array(starts[:height], dtype=np.int64)
    return range(first_row, first_row + height)


def _records(
    text_bytes: bytes, first_row: int, separator: str, quote: str | None
) -> Iterator[tuple[int, int]]:
    """Yield row and number of fields of each record, up to the first that cannot be read."""
    text = io.StringIO(text_bytes.decode("utf-8", errors="replace"), newline="")
    if separator == " ":
        yield from ((row, len(line.split())) for row, line in enumerate(text, first_row))
        return
    reader = csv.reader(text, delimiter=separator, quotechar=quote)
    row = first_row
    with suppress(csv.Error):
        for cells in reader:
            yield row, len(cells)
            row = first_row + reader.line_num


def line_chunks(content: SourceBytes, start: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield whole lines, `CHUNK_BYTES` at a time: row of the first, the lines, lines to skip."""
    if content.payload is not None and len(content.payload) <= CHUNK_BYTES:
        yield 1, content.payload, start - 1
        return
    row = start
    with content.open() as file, stage(content.name, content.size, "bytes") as reading:
        for _ in range(start - 1):
            file.readline()
        remainder = file.read(3).removeprefix(codecs.BOM_UTF8) if start == 1 else b""
        is_last = False
        while not is_last:
            new_bytes = file.read(CHUNK_BYTES)
            is_last = len(new_bytes) < CHUNK_BYTES
            pending = remainder + new_bytes if remainder else new_bytes
            cut = len(pending) if is_last else pending.rfind(b"\n") + 1
            if not cut or (is_last and len(pending) - pending.rfind(b"\n") > CHUNK_BYTES):
                msg = (
                    f"{content.name}, row {row} or later: a line is longer than "
                    f"{CHUNK_BYTES >> 20} MiB"
                )
                hint = "give a table with one line per row"
                raise DataError(msg, hint)
            remainder, whole_lines = pending[cut:], pending if is_last else pending[:cut]
            if whole_lines:
                yield row, whole_lines, 0
            reading.add(len(new_bytes))
            if not is_last:
                row += whole_lines.count(b"\n")


def _has_irregular_blanks(text: bytes) -> bool:
    """Whether fields of any line are separated by anything but single blanks."""
    irregular = (b"\t", b"  ", b" \n", b" \r", b"\n ")
    return any(pattern in text for pattern in irregular) or b" " in {text[:1], text[-1:]}


def _first_row_of_other_width(
    text: bytes, first_row: int, separator: str, width: int, quote: str | None
) -> tuple[int, int] | None:
    """Return row and number of fields of the first row with another number of fields."""
    for row, n_fields in _records(text, first_row, separator, quote):
        if n_fields not in {0, width}:
            return row, n_fields
    return None


def _width_error(name: str, row: int, n_found: int, width: int) -> DataError:
    columns = "1 column" if n_found == 1 else f"{n_found} columns"
    msg = f"{name}, row {row}: has {columns}, but other rows have {width}"
    hint = "repair or remove the row"
    return DataError(msg, hint)
