"""Parquet and Arrow IPC files, read column by column and, where they are large, bit by bit."""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.raw import Raw
from parivox.tables.roles import match_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.tables.compression import File

__all__ = ["NAMES", "as_raw", "fits", "is_columnar", "read", "scan"]

_PARQUET, _ARROW, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
NAMES = ("parquet", "arrow")


def is_columnar(content: bytes) -> bool:
    """Whether bytes begin as Parquet or Arrow IPC do."""
    return content.startswith((_PARQUET, _ARROW, _STREAM))


def fits(name: str) -> bool:
    """Whether a file on disk begins as Parquet or an Arrow IPC file does."""
    path = Path(name)
    try:
        if name == "-" or not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(8).startswith((_PARQUET, _ARROW))
    except (OSError, ValueError):
        return False  # the ordinary way tells what is wrong


def scan(name: str, columns: Mapping[str, str] | None) -> Raw:
    """Open a Parquet or Arrow IPC file without reading it."""
    with Path(name).open("rb") as file:
        is_parquet = file.read(4) == _PARQUET
        file.seek(0)
        digest = sha256()
        while block := file.read(1 << 22):
            digest.update(block)
    frame = _opened(name, lambda: pl.scan_parquet(name) if is_parquet else pl.scan_ipc(name))
    kind = "parquet" if is_parquet else "arrow"
    return as_raw(name, frame, kind, columns, sha256_=digest.hexdigest())


def read(file: File, columns: Mapping[str, str] | None) -> Raw:
    """Read bytes of Parquet, an Arrow IPC file or an Arrow IPC stream."""
    content = io.BytesIO(file.content)
    kind = "arrow"
    if file.content.startswith(_PARQUET):
        kind = "parquet"
        frame = _opened(file.name, lambda: pl.read_parquet(content).lazy())
    elif file.content.startswith(_ARROW):
        frame = _opened(file.name, lambda: pl.read_ipc(content).lazy())
    else:
        frame = _opened(file.name, lambda: pl.read_ipc_stream(content).lazy())
    return as_raw(
        file.name, frame, kind, columns, compression=file.compression, sha256_=file.sha256
    )


def as_raw(
    name: str,
    frame: pl.LazyFrame,
    kind: str,
    columns: Mapping[str, str] | None,
    *,
    compression: str = "",
    sha256_: str = "",
) -> Raw:
    """Columns by role, whatever their types: ids become text, scores and labels stay."""
    schema = frame.collect_schema()
    roles = match_columns(name, schema.names(), columns)
    chosen = []
    for role, column in roles.items():
        dtype = schema[column]
        if role not in {"score", "label"}:
            if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical) or dtype == pl.Enum):
                msg = (
                    f"{name}, column {column}: ids are of type {dtype}, which does not keep them as "
                    "they are; store them as text"
                )
                raise DataError(msg)
            chosen.append(pl.col(column).cast(pl.String).alias(role))
        elif dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Null):
            text = role == "label" or dtype in (pl.Categorical, pl.Null)
            chosen.append(
                (pl.col(column).cast(pl.String) if text else pl.col(column)).alias(role)
            )
        else:
            msg = f"{name}, column {column}: a {role} cannot be of type {dtype}; store numbers or text"
            raise DataError(msg)
    ignored = tuple(column for column in schema.names() if column not in roles.values())
    return Raw(name, frame.select(chosen), kind, 1, dict(roles), compression, sha256_, ignored)


def _opened(name: str, open_: Callable[[], pl.LazyFrame]) -> pl.LazyFrame:
    try:
        frame = open_()
        frame.collect_schema()
    except Exception as error:  # noqa: BLE001 - damaged files fail in many ways
        msg = f"{name}: the Parquet or Arrow data are damaged ({_first(error)}); write the file again"
        raise DataError(msg) from error
    return frame


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
