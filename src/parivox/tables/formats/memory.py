"""Dataframes of any library, and mappings of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.columnar import as_raw
from parivox.tables.formats.raw import Raw

__all__ = ["frame_from", "read"]


def read(source: Any, columns: Mapping[str, str] | None) -> Raw:
    """Read trials from a dataframe or a mapping of arrays."""
    return as_raw("scores", frame_from("scores", source).lazy(), "memory", columns)


def frame_from(name: str, source: Any) -> pl.DataFrame:
    """A Polars dataframe of any table in memory."""
    try:
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if isinstance(source, (pl.DataFrame, Mapping)) or hasattr(source, "__arrow_c_stream__"):
            return pl.DataFrame(source)
        if hasattr(source, "columns"):  # pandas without pyarrow
            return pl.DataFrame({str(c): source[c].to_numpy() for c in source.columns})
    except Exception as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        msg = f"{name}: the table cannot be taken ({told}); give columns of equal length"
        raise DataError(msg) from error
    msg = (
        f"{name}: {type(source).__name__} is neither a path, a dataframe nor a mapping of arrays; "
        "give one of these"
    )
    raise DataError(msg)
