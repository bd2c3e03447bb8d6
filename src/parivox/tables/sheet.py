"""Tables of speakers and of utterances: any CSV, TSV, Parquet or dataframe with an id column."""

from __future__ import annotations

import io
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import polars as pl

from parivox.errors import DataError
from parivox.tables.compression import read_file
from parivox.tables.formats.columnar import is_columnar
from parivox.tables.formats.delimited import frame_of
from parivox.tables.formats.memory import frame_from
from parivox.tables.formats.raw import Sample

__all__ = ["Sheet", "read_sheet"]


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of people or recordings: every cell is text, blanks around it cut.

    Attributes
    ----------
    name : str
    frame : DataFrame
        Rows that hold anything; column ``""`` is the row's number as an editor shows it.
    provenance : dict
    """

    name: str
    frame: pl.DataFrame
    provenance: dict[str, Any]

    @property
    def columns(self) -> list[str]:
        """Columns as the file names them."""
        return [column for column in self.frame.columns if column]


def read_sheet(name: str, source: Any) -> Sheet:
    """Read a table of people or recordings.

    Parameters
    ----------
    name
        What the table is, for messages about tables in memory.
    source
        A path, ``-``, a dataframe or a mapping of arrays.
    """
    told: dict[str, Any] = {"name": name, "kind": name, "format": "memory"}
    first_row = 1
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        file = read_file(str(source))
        name = file.name
        told = {
            "name": name,
            "kind": told["kind"],
            "format": "csv",
            "compression": file.compression,
            "sha256": file.sha256,
        }
        if is_columnar(file.content):
            told["format"] = "parquet" if file.content.startswith(b"PAR1") else "arrow"
            frame = _columnar(file.name, file.content)
        else:
            sample = Sample.of(file)
            frame = frame_of(file, sample)
            first_row = sample.first_row + 1
    else:
        frame = frame_from(name, source)
    twice = [c for c in frame.columns if frame.columns.count(c) > 1 or not c]
    if twice:
        msg = f"{name}, row 1: a column has no name or one that another has; give each its own name"
        raise DataError(msg)
    try:
        text = frame.select(pl.all().cast(pl.String).str.strip_chars())
    except pl.exceptions.PolarsError as error:
        msg = f"{name}: holds cells that are not plain values ({str(error).splitlines()[0]})"
        raise DataError(msg) from error
    text = text.with_columns(pl.when(pl.all() != "").then(pl.all()))
    text = text.with_row_index("", offset=first_row)
    if text.width == 1:
        msg = f"{name}: has no columns; give a header and one row each"
        raise DataError(msg)
    text = text.filter(pl.any_horizontal(pl.exclude("").is_not_null()))
    if not text.height:
        msg = f"{name}: has a header but no rows; give one row each"
        raise DataError(msg)
    told.setdefault("sha256", sha256(text.drop("").write_csv().encode()).hexdigest())
    return Sheet(name, text, told)


def _columnar(name: str, content: bytes) -> pl.DataFrame:
    try:
        if content.startswith(b"PAR1"):
            return pl.read_parquet(io.BytesIO(content))
        if content.startswith(b"ARROW1"):
            return pl.read_ipc(io.BytesIO(content))
        return pl.read_ipc_stream(io.BytesIO(content))
    except Exception as error:
        msg = f"{name}: the Parquet or Arrow data are damaged; write the file again"
        raise DataError(msg) from error
