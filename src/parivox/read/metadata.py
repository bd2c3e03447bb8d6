"""Tables of speakers, recordings, models and failures: whole, as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.content import read_content
from parivox.read.formats import table_format
from parivox.read.formats.dataframe import frame_of
from parivox.read.formats.format import is_cell

if TYPE_CHECKING:
    from parivox.read.formats.format import NamedColumns, Rows

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
    rows: Rows | None = None
    told: dict[str, Any] = {"role": what, "name": what, "format": "dataframe"}
    if not isinstance(source, (str, os.PathLike)):
        frame = frame_of(source, what)
    else:
        content = read_content(source)
        kind = table_format(content)
        assert kind.table is not None
        frame, rows = _whole(kind.table(content), content.name)
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


def _whole(table: NamedColumns, name: str) -> tuple[pl.DataFrame, Rows]:
    """The whole table, and the row of each record."""
    parts = list(table.chunks({f"f{at}": at for at in range(len(table.names))}))
    if not parts:
        return pl.DataFrame(), []
    frame = pl.concat([part for _, part in parts])
    # Excel adds columns without anything in them.
    held = [at for at, one in enumerate(table.names) if one or not _is_empty(frame[:, at])]
    names = [table.names[at] for at in held]
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        msg = f"{name}: has two columns named {twice!r}; rename one"
        raise DataError(msg)
    frame = frame.select(**{one: f"f{at}" for one, at in zip(names, held, strict=True)})
    return frame, np.concatenate([np.asarray(rows) for rows, _ in parts])


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column)
