"""Parquet and Arrow IPC: typed columns, named as in a CSV."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import IO, TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.read.formats.scan import (
    ENGINE_ERRORS,
    Format,
    Scan,
    check_types,
    name_columns,
    why,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parivox.read.content import Content
    from parivox.read.formats.scan import Columns, Rows

__all__ = ["ARROW", "ARROW_STREAM", "PARQUET", "binary_frame", "parquet_metadata", "silent"]

ROWS = 1_000_000
"""Rows read at once."""
_STDERR = 2
_ONE_AT_A_TIME = Lock()


@contextmanager
def silent() -> Iterator[None]:
    """Drop what the engine writes to standard error: where it panics, it prints a trace."""
    with _ONE_AT_A_TIME:
        try:
            kept = os.dup(_STDERR)
        except OSError:  # it is closed
            yield
            return
        try:
            with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a descriptor is all it is for
                os.dup2(nowhere.fileno(), _STDERR)
            yield
        finally:
            os.dup2(kept, _STDERR)
            os.close(kept)


def _lazy(content: Content, kind: str) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(content.for_polars)
    if kind == "arrow":
        return pl.scan_ipc(content.for_polars)
    return pl.read_ipc_stream(content.for_polars).lazy()


def _guarded(
    content: Content, kind: str, job: Callable[[pl.LazyFrame], pl.DataFrame]
) -> pl.DataFrame:
    try:
        with silent():
            return job(_lazy(content, kind))
    except ENGINE_ERRORS as error:
        msg = (
            f"{content.name}: cannot be read as {kind} ({why(error)}); "
            "it may be truncated, so make or copy it again"
        )
        raise DataError(msg) from error


def binary_frame(content: Content, kind: str) -> pl.DataFrame:
    """The whole table."""
    return _guarded(content, kind, lambda lazy: lazy.collect())


def parquet_metadata(file: Path | IO[bytes]) -> dict[str, str]:
    """What the metadata of a Parquet file say, by key.

    Raises
    ------
    Exception
        One of `ENGINE_ERRORS`, if it is damaged.
    """
    with silent():
        return pl.read_parquet_metadata(file)


def _scan(kind: str, content: Content, columns: Columns) -> Scan:
    empty = _guarded(content, kind, lambda lazy: lazy.head(0).collect())
    height = int(_guarded(content, kind, lambda lazy: lazy.select(pl.len()).collect()).item())
    names = empty.columns
    found = name_columns(names, columns, content.name)
    check_types(empty, {role: names[i] for role, i in found.items()}, content.name)

    def chunks() -> Iterator[tuple[Rows, pl.DataFrame]]:
        picked = {role: pl.col(names[i]) for role, i in found.items()}
        for first in range(0, height, ROWS):

            def part(lazy: pl.LazyFrame, first: int = first) -> pl.DataFrame:
                return lazy.slice(first, ROWS).select(**picked).collect()

            chunk = _guarded(content, kind, part)
            yield range(first + 1, first + 1 + chunk.height), chunk

    return Scan(
        content.name,
        kind,
        {role: names[i] for role, i in found.items()},
        tuple(name for i, name in enumerate(names) if i not in found.values()),
        chunks,
        content,
    )


def _starts(start: bytes, head: bytes, _: object) -> bool:
    return head.startswith(start)


PARQUET = Format("parquet", partial(_starts, b"PAR1"), partial(_scan, "parquet"))
ARROW = Format("arrow", partial(_starts, b"ARROW1"), partial(_scan, "arrow"))
ARROW_STREAM = Format(
    "arrow-stream", partial(_starts, b"\xff\xff\xff\xff"), partial(_scan, "arrow-stream")
)
