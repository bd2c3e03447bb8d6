"""Hashes of audio files, known by size and time so that they are not read again for it."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HASHES = "seen.parquet"
STAT = ("path", "_size", "_modified")
"""A file is what it was as long as these are."""
_COLUMNS = {"path": pl.String, "_size": pl.Int64, "_modified": pl.Int64, "audio_sha256": pl.String}


def with_stat(recordings: pl.DataFrame) -> pl.DataFrame:
    """Recordings with the size and time of the file at their ``path``; none may have gone."""
    try:
        told = [os.stat(path) for path in recordings["path"]]  # noqa: PTH116 - a million paths
    except OSError as error:
        msg = f"{error.filename}: has gone ({error.strerror}); run the same command again"
        raise DataError(msg) from error
    return recordings.with_columns(
        _size=pl.Series([one.st_size for one in told], dtype=pl.Int64),
        _modified=pl.Series([one.st_mtime_ns for one in told], dtype=pl.Int64),
    )


def read_hashes(path: Path) -> pl.DataFrame:
    """Files whose hash is known; none where the table is not there, or damaged."""
    try:
        return pl.read_parquet(path).select(
            pl.col(name).cast(kind) for name, kind in _COLUMNS.items()
        )
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame(schema=_COLUMNS)


def hashes_of(recordings: pl.DataFrame) -> pl.DataFrame:
    """The files of recordings that have ``audio_sha256``, as :func:`read_hashes` gives them."""
    last = recordings.select(*STAT, "audio_sha256").unique("path", keep="last")
    return last.drop_nulls().sort("path")


def hashed(
    recordings: pl.DataFrame,
    known: pl.DataFrame,
    tell: Callable[[str], None],
    *,
    where: pl.Expr | None = None,
) -> pl.DataFrame:
    """Recordings with the hash of their file, ``audio_sha256``; null where it cannot be read.

    Parameters
    ----------
    recordings
        As :func:`with_stat` gives them.
    known
        Files that need no hashing.
    tell
        Told how many files do.
    where
        Which of the others are hashed; the rest stay null.
    """
    told = recordings.join(known, on=STAT, how="left", maintain_order="left")
    is_new = pl.col("audio_sha256").is_null()
    paths = told.filter(is_new if where is None else is_new & where)["path"].unique()
    if not len(paths):
        return told
    tell(f"hashing {len(paths):,} files")
    hashes = pl.Series([hash_or_none(path) for path in paths], dtype=pl.String)
    fresh = pl.DataFrame({"path": paths, "_sha256": hashes})
    return told.join(fresh, on="path", how="left", maintain_order="left").with_columns(
        audio_sha256=pl.coalesce("audio_sha256", "_sha256")
    ).drop("_sha256")  # fmt: skip


def hash_or_none(path: str) -> str | None:
    """The hash of a file; None where it cannot be read, which decoding it will tell."""
    try:
        return sha256_of(path)
    except OSError:
        return None


def sha256_of(path: str) -> str:
    """Hash of a file's bytes; computed once while the file stays as it is."""
    told = os.stat(path)  # noqa: PTH116 - any bytes may be a name
    return _sha256_of(path, told.st_size, told.st_mtime_ns)


@lru_cache(maxsize=4096)
def _sha256_of(path: str, size: int, modified: int) -> str:  # noqa: ARG001 - what keeps it apart
    with open(path, "rb") as file:  # noqa: PTH123 - any bytes may be a name
        return hashlib.file_digest(file, "sha256").hexdigest()
