"""Whole tables: of speakers, utterances, models, failures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError
from parivox.read.content import read_content
from parivox.read.formats.binary import ARROW, ARROW_STREAM, PARQUET, binary_frame
from parivox.read.formats.delimited import DELIMITED, read_frame
from parivox.read.formats.frames import frame_of
from parivox.read.formats.scan import Columns, is_cell
from parivox.read.formats.xlsx import XLSX, xlsx_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.read.content import Content

__all__ = ["read_table"]


def read_table(source: Any, what: str) -> tuple[pl.DataFrame, str, dict[str, Any]]:
    """A whole table as stripped text with a column ``row``, its name, and what was read.

    Parameters
    ----------
    source
        CSV, TSV, XLSX, Parquet or Arrow file, a dataframe or a mapping of arrays.
    what
        Its role, by which messages call a source that has no name.
    """
    rows: Sequence[int] | None = None
    told: dict[str, Any] = {"role": what, "name": what, "format": "dataframe"}
    if not isinstance(source, (str, os.PathLike)):
        frame = frame_of(source, what)
    else:
        content = read_content(source)
        kinds = (PARQUET, ARROW, ARROW_STREAM, XLSX)
        kind = next((k for k in kinds if k.matches(content.head, Columns())), DELIMITED)
        if kind is XLSX:
            frame, rows = xlsx_frame(content)
        elif kind is DELIMITED:
            frame, rows = _delimited(content)
        else:
            frame = binary_frame(content, kind.name)
        told |= {"name": content.name, "format": kind.name, **content.provenance}
    name = str(told["name"])
    frame = frame.rename({c: f"{c} (column)" for c in frame.columns if c == "row"})
    if not frame.width:
        msg = f"{name}: holds a header and nothing else; give a file with rows below it"
        raise DataError(msg)
    for column, type_ in frame.schema.items():
        if not is_cell(type_):
            msg = (
                f"{name}: column {column!r} holds {type_}, neither text nor numbers; "
                "save it as text, or leave it out"
            )
            raise DataError(msg)
    text = frame.select(pl.all().cast(pl.String).str.strip_chars())
    blank = pl.all_horizontal(pl.all().exclude("row").is_null())
    numbers = pl.Series("row", range(1, text.height + 1) if rows is None else rows, pl.Int64)
    text = text.insert_column(0, numbers).filter(~blank)
    if not text.height:
        msg = f"{name}: holds no row; give a file with rows below its header"
        raise DataError(msg)
    return text, name, told


def _delimited(content: Content) -> tuple[pl.DataFrame, Sequence[int]]:
    """A text with a header, and the row of each record."""
    names, blocks = read_frame(content)
    parts = list(blocks)
    if not parts:
        return pl.DataFrame(), []
    frame = pl.concat([part for _, part in parts])
    # Excel adds columns without anything in them.
    held = [at for at, name in enumerate(names) if name or not _is_empty(frame[:, at])]
    names = [names[at] for at in held]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        msg = f"{content.name}: has two columns named {twice!r}; rename one"
        raise DataError(msg)
    frame = frame.select(**{name: f"f{at}" for name, at in zip(names, held, strict=True)})
    return frame, [row for numbers, _ in parts for row in numbers]


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column)
