"""Parquet and Arrow IPC: typed columns, named as in a CSV."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.scan import ENGINE_ERRORS, Format, Scan, name_columns, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parivox.tables.content import Content

__all__ = ["ARROW", "ARROW_STREAM", "PARQUET", "binary_frame"]

ROWS = 1_000_000
"""Rows read at once."""


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


def _scan(kind: str, content: Content, columns: Mapping[str, str]) -> Scan:
    empty = _guarded(content, kind, lambda lazy: lazy.head(0).collect())
    height = int(_guarded(content, kind, lambda lazy: lazy.select(pl.len()).collect()).item())
    names = empty.columns
    found = name_columns(names, columns, content.name)

    def chunks() -> Iterator[tuple[int, pl.DataFrame]]:
        picked = {role: pl.col(names[i]) for role, i in found.items()}
        for first in range(0, height, ROWS):

            def part(lazy: pl.LazyFrame, first: int = first) -> pl.DataFrame:
                return lazy.slice(first, ROWS).select(**picked).collect()

            yield first + 1, _guarded(content, kind, part)

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
