"""Dataframes of any library, and mappings of arrays, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError
from parivox.read.formats.format import ENGINE_ERRORS, NamedColumns, scan_named, why

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.read.columns import Columns
    from parivox.read.formats.format import Rows, Scan

ROWS = 1_000_000


def frame_of(source: Any, name: str) -> pl.DataFrame:
    """A dataframe of a mapping of arrays, or of a dataframe of any library."""
    try:
        if isinstance(source, pl.DataFrame):
            return source
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if isinstance(source, Mapping):
            return pl.DataFrame({str(key): _series(cells) for key, cells in source.items()})
        if hasattr(source, "__arrow_c_stream__"):
            return _from_arrow(source)
        if hasattr(source, "columns"):
            return _columnwise(source)
    except (*ENGINE_ERRORS, TypeError) as error:
        msg = f"{name}: cannot be read as columns of one length ({why(error)})"
        raise DataError(msg) from error
    msg = (
        f"{name}: a {type(source).__name__} is no table; "
        "give a path, a dataframe or a mapping of arrays"
    )
    raise DataError(msg)


def _from_arrow(source: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(source)
    except ImportError:  # pandas needs pyarrow for this
        return _columnwise(source)


def _columnwise(source: Any) -> pl.DataFrame:
    return pl.DataFrame({str(column): _series(source[column]) for column in source.columns})


def _series(cells: Any) -> pl.Series:
    if isinstance(cells, pl.Series):
        return cells
    array = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if getattr(getattr(array, "dtype", None), "kind", "O") == "O":
        return pl.Series(list(array), strict=False)
    return pl.Series(array)


def scan_frame(source: Any, columns: Columns, name: str) -> Scan:
    """Trials of a dataframe or of a mapping of arrays; rows count from 1."""
    frame = frame_of(source, name)

    def chunks(places: Mapping[str, int]) -> Iterator[tuple[Rows, pl.DataFrame]]:
        picked = {role: frame.columns[at] for role, at in places.items()}
        for first in range(0, frame.height, ROWS):
            chunk = frame[first : first + ROWS].select(**picked)
            yield range(first + 1, first + 1 + chunk.height), chunk

    table = NamedColumns(frame.columns, chunks, frame.clear())
    return scan_named(name, "dataframe", table, columns)
