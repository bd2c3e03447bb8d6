"""One reader per format, and the list of them.

A new format is one module with a :class:`~parivox.read.formats.scan.Format` and a line in
:data:`FORMATS`; the first one that matches a file's first bytes reads it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, DataError
from parivox.read.content import read_content
from parivox.read.formats.binary import ARROW, ARROW_STREAM, PARQUET
from parivox.read.formats.bob import BOB_4, BOB_5
from parivox.read.formats.delimited import DELIMITED, header_of
from parivox.read.formats.frames import scan_frame
from parivox.read.formats.kaldi import KALDI_SCORES, KALDI_TRIALS
from parivox.read.formats.kinds import (
    are_decisions,
    first_odd,
    is_unknown_header,
    may_be_of_bob,
    readings,
    sample,
)
from parivox.read.formats.nist import NIST_KEY, NIST_SCORES, with_sides
from parivox.read.formats.text import check_text
from parivox.read.formats.voxceleb import VOXCELEB, VOXCELEB_SCORES
from parivox.read.formats.wespeaker import WESPEAKER
from parivox.read.formats.xlsx import XLSX

if TYPE_CHECKING:
    from parivox.read.content import Content
    from parivox.read.formats.scan import Columns, Format, Scan

__all__ = ["FORMATS", "scan"]

FORMATS: tuple[Format, ...] = (
    PARQUET,
    ARROW,
    ARROW_STREAM,
    XLSX,
    DELIMITED,
    VOXCELEB,
    VOXCELEB_SCORES,
    KALDI_TRIALS,
    KALDI_SCORES,
    WESPEAKER,
    BOB_4,
    BOB_5,
    NIST_KEY,
    NIST_SCORES,
)


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
    known = {one.name: one for one in FORMATS}
    if format is not None and format not in known:
        msg = f"{columns.option} {format!r} is not known; choose from {', '.join(known)}"
        raise ConfigError(msg)
    if not isinstance(source, (str, os.PathLike)):
        return with_sides(scan_frame(source, columns, name), columns)
    content = read_content(source)
    chosen = known[format] if format else _detected(content, columns)
    return with_sides(chosen.scan(content, columns), columns)


def _detected(content: Content, columns: Columns) -> Format:
    for one in FORMATS:
        if one.matches(content.head, columns):
            return one
    check_text(content)
    if len(readings(content.head)) > 1:
        msg = (
            f"{content.name}: its rows may be label, enrol, test, score, or claimed identity, real "
            "identity, test, score as bob writes them; say which with "
            f"{columns.option} voxceleb or {columns.option} bob-4"
        )
        raise DataError(msg)
    if are_decisions(content.head):
        msg = (
            f"{content.name}: its rows are two ids and a decision, which only a header can say; "
            "put enrol, test, decision above them, separated as they are"
        )
        raise DataError(msg)
    if columns.by_role and not columns.elsewhere:
        return DELIMITED  # which says which of the columns is missing
    names, _, _ = header_of(content)
    shown = ", ".join(repr(name[:40]) for name in names[:8])
    if is_unknown_header(sample(content.head)[0]):
        msg = (
            f"{content.name}: its columns {shown} have no known names; name them with "
            "--columns enrol=...,test=...,score=...,label=..."
        )
        raise DataError(msg)
    odd = first_odd(content.head)
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
    perhaps = may_be_of_bob(content.head)
    if perhaps:
        msg += f" {perhaps} if it is one of bob's"
    raise DataError(msg)
