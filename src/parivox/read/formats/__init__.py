"""The formats of trials: which one a file is in, and its reader.

A new format without a header is a row of :data:`~parivox.read.formats.headerless.HEADERLESS`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, DataError
from parivox.read.columns import Columns
from parivox.read.content import read_content
from parivox.read.formats.binary import BINARY
from parivox.read.formats.dataframe import scan_frame
from parivox.read.formats.delimited import DELIMITED, check_text, head_lines, header_of, is_text
from parivox.read.formats.format import CERTAIN, FORMATS, MAYBE, Format, Scan, register
from parivox.read.formats.headerless import HEADERLESS, headerless
from parivox.read.formats.sample import sample
from parivox.read.formats.sides import with_sides
from parivox.read.formats.xlsx import XLSX

if TYPE_CHECKING:
    from parivox.read.content import Content

__all__ = [
    "FORMATS",
    "Scan",
    "headerless",
    "may_be_trials",
    "register",
    "scan",
    "scan_again",
    "table_format",
]

for _one in (*BINARY, XLSX, DELIMITED, *HEADERLESS):
    register(_one)
_ODD_LINES = 20


def scan(source: Any, *, columns: Columns, format: str | None, name: str) -> Scan:  # noqa: A002
    """Open a source of trials in the format that it is in.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, a dataframe or a mapping of arrays.
    columns
        The user's columns.
    format
        Name of a format, where the content does not tell.
    name
        What messages call a source that has no name.

    Raises
    ------
    ConfigError
        If the format is not known.
    DataError
        If the source cannot be read, or is in no known format.
    """
    if format is not None and format not in FORMATS:
        msg = f"{columns.option} {format!r} is not known; choose from {', '.join(FORMATS)}"
        raise ConfigError(msg)
    if not isinstance(source, (str, os.PathLike)):
        return with_sides(scan_frame(source, columns, name), columns)
    content = read_content(source)
    chosen = FORMATS[format] if format else _detected(content, columns)
    return with_sides(chosen.scan(content, columns), columns)


def scan_again(scanned: Scan, source: Any, columns: Columns) -> Scan:
    """Open a source again in the format that it has, for other columns."""
    if scanned.content is None:
        return with_sides(scan_frame(source, columns, scanned.name), columns)
    return with_sides(FORMATS[scanned.format].scan(scanned.content, columns), columns)


def table_format(content: Content) -> Format:
    """The format of a table of anything, whose columns have names: by default delimited text."""
    tables = (one for one in FORMATS.values() if one.table is not None and one is not DELIMITED)
    asked = Columns()
    return next((one for one in tables if one.fits(content.head, asked) == CERTAIN), DELIMITED)


def may_be_trials(head: bytes) -> bool:
    """Whether rows without a header are trials, in a format that may be more than one.

    Examples
    --------
    >>> may_be_trials(b"a/1 a/2 0.5"), may_be_trials(b"a b accept"), may_be_trials(b"id,sex")
    (True, True, False)
    """
    fitting = _fitting(head, Columns())
    return any(one.places for one in fitting) or sample(head).are_decisions()


def _fitting(head: bytes, columns: Columns) -> list[Format]:
    """The formats that a file may be in: none, one or, if no one fits best, several."""
    fits: dict[Format, float] = {}
    for one in FORMATS.values():
        fits[one] = one.fits(head, columns)
        if fits[one] == CERTAIN:
            return [one]
    best = max(fits.values())
    return [one for one, fit in fits.items() if fit == best > MAYBE]


def _detected(content: Content, columns: Columns) -> Format:
    found = _fitting(content.head, columns)
    if len(found) == 1:
        return found[0]
    check_text(content)
    if found:
        rows = ", or ".join(one.rows for one in found)
        which = " or ".join(f"{columns.option} {one.name}" for one in found)
        msg = f"{content.name}: its rows may be {rows}; say which with {which}"
        raise DataError(msg)
    first = sample(content.head)
    if first.are_decisions():
        msg = (
            f"{content.name}: its rows are two ids and a decision, which only a header can say; "
            "put enrol, test, decision above them, separated as they are"
        )
        raise DataError(msg)
    if columns.by_role and not columns.elsewhere:
        return DELIMITED  # which says which of the columns is missing
    names, _, _ = header_of(content)
    shown = ", ".join(repr(name[:40]) for name in names[:8])
    if first.has_unknown_header:
        msg = (
            f"{content.name}: its columns {shown} have no known names; name them with "
            "--columns enrol=...,test=...,score=...,label=..."
        )
        raise DataError(msg)
    odd = _first_odd(content.head)
    if odd is not None:
        row, line, kind = odd
        msg = (
            f"{content.name}: row {row} does not fit what is above it, which is {kind}: "
            f"{line[:80]!r}; repair or remove it, or name the columns in a header"
        )
        raise DataError(msg)
    if len(names) == 2:
        msg = (
            f"{content.name}: row 1 is no header with known names: {shown}; put one above the "
            "rows, separated as they are: enrol test, if these are the ids of trials"
        )
        raise DataError(msg)
    msg = (
        f"{content.name}: row 1 is no header with known names and no trial: {shown}; name the "
        "columns with --columns enrol=...,test=...,score=...,label=..., or the format with "
        f"{columns.option}"
    )
    for one in FORMATS.values():
        if one.fits(content.head, columns) == MAYBE:
            msg += f" {one.name} if it is one of {one.examples[0].written_by}'s"
    raise DataError(msg)


def _first_odd(head: bytes) -> tuple[int, str, str] | None:
    r"""The first line that takes away the format of those above it: row, line, format.

    Examples
    --------
    >>> _first_odd(b"1 a/1 a/2\nx a/1 a/3")
    (2, 'x a/1 a/3', 'voxceleb')
    """
    kind, above = "", ""
    for row, line in head_lines(head)[:_ODD_LINES] if is_text(head) else []:
        above += f"{line}\n"
        found = [one.name for one in _fitting(above.encode(), Columns()) if one.places]
        before, kind = kind, found[0] if len(found) == 1 else ""
        if not kind:
            return (row, line, before) if before else None
    return None
