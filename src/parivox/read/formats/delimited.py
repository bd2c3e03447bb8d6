"""CSV, TSV and their like: a header names the columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parivox.errors import DataError
from parivox.read.formats.scan import ALIASES, Format, Scan, name_columns, plain
from parivox.read.formats.text import check_text, head_lines, is_text, read_text, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from parivox.read.content import Content
    from parivox.read.formats.scan import Columns, Rows

__all__ = ["DELIMITED", "header_of", "read_frame"]

SEPARATORS = (",", "\t", ";", "|")
_SEPARATOR_HINT = re.compile(r'"?sep=([,\t;|])"?', re.IGNORECASE)  # for Excel, above the header


def separator_of(line: str) -> str:
    """What separates the names of a header: what splits it into the most parts, else blanks."""
    best = max(SEPARATORS, key=lambda s: len(split(line, s)))
    return best if best in line else " "


def header_of(content: Content) -> tuple[list[str], str, int]:
    """Names of the columns, the separator, and the first row with data."""
    lines = head_lines(content.head)
    if not lines:
        msg = f"{content.name}: holds blank lines only; give a file with a header and rows below it"
        raise DataError(msg)
    names, separator, below = _header(lines)
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
    separator = hint[1] if hint else separator_of(header)
    return split(header, separator), separator, lines[1:]


def read_frame(
    content: Content,
) -> tuple[list[str], Iterator[tuple[Rows, pl.DataFrame]]]:
    """Column names and blocks of rows of a table with a header."""
    check_text(content)
    names, separator, start = header_of(content)
    content.dialect["separator"] = separator
    quote = None if separator == " " else '"'
    return names, read_text(
        content, separator=separator, width=len(names), start=start, quote=quote
    )


def _matches(head: bytes, columns: Columns) -> bool:
    lines = head_lines(head) if is_text(head) else []
    if not lines:
        return False
    names, _, _ = _header(lines)
    known = {plain(name) for name in names}
    roles = sum(bool(aliases & known) for aliases in ALIASES.values())
    asked = set(columns.by_role.values())
    named = asked & set(names)
    return roles >= 2 or (bool(named) and (columns.elsewhere or named == asked))


def _scan(content: Content, columns: Columns) -> Scan:
    names, _ = read_frame(content)
    found = name_columns(names, columns, content.name)

    def chunks() -> Iterator[tuple[Rows, pl.DataFrame]]:
        for rows, block in read_frame(content)[1]:
            yield rows, block.select(**{role: f"f{i}" for role, i in found.items()})

    return Scan(
        content.name,
        DELIMITED.name,
        {role: names[i] for role, i in found.items()},
        tuple(name for i, name in enumerate(names) if i not in found.values()),
        chunks,
        content,
    )


DELIMITED = Format("delimited", _matches, _scan)
