"""Tallies as a file: Parquet rows of speakers by number, and in its metadata what they are of.

A row says how many trials have the same class, speakers on both sides, groups, step (number of
thresholds at or below the score) and decision. It holds no ids, but who a number is can be told by
whoever has the table of speakers: the file is personal data, and not for others.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.read.content import read_content
from parivox.read.formats.format import ENGINE_ERRORS, why
from parivox.read.formats.frames import binary_frame, parquet_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

KEY = "parivox_tally"
"""Under this key the metadata of a Parquet file say that it holds a tally."""
VERSION = "1"
_KINDS = {
    "target": pl.Boolean,
    "enrol": pl.Int32,
    "test": pl.Int32,
    "side": pl.Int64,
    "step": pl.UInt8,
    "accepted": pl.Int8,
    "trials": pl.Int64,
}
KEYS = tuple(_KINDS)[:-1]
"""Columns that tell rows apart."""


def write_tally(
    path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write a tally: all of it or nothing.

    Parameters
    ----------
    path
        A file; one that is there is replaced.
    columns
        By name, those of :data:`KEYS` and ``trials``.
    header
        What the rows are of, as JSON can hold it.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    frame = pl.DataFrame([pl.Series(name, columns[name], kind) for name, kind in _KINDS.items()])
    said = {**header, KEY: VERSION, "sha256": _sha256(frame)}
    file = io.BytesIO()
    frame.write_parquet(file, metadata={KEY: json.dumps(said, sort_keys=True, allow_nan=False)})
    out = Path(path)
    aside = out.with_name(f".parivox-{os.urandom(6).hex()}")
    try:
        try:
            aside.write_bytes(file.getvalue())
            aside.replace(out)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        msg = f"{out}: cannot be written ({error.strerror or error}); name another file"
        raise ConfigError(msg) from error


def read_tally(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Columns and header of a tally; who and what its numbers stand for is not checked.

    Raises
    ------
    DataError
        If it is none, is damaged, or was made in another version.
    """
    content = read_content(path)
    try:
        found = content.for_polars
        file = io.BytesIO(found) if isinstance(found, bytes) else found
        header = json.loads(parquet_metadata(file)[KEY])
    except (*ENGINE_ERRORS, KeyError, RecursionError) as error:
        raise damaged(content.name, why(error)) from error
    version = header.get(KEY) if isinstance(header, dict) else None
    if version != VERSION:
        msg = (
            f"{content.name}: a tally of version {version!r}, this Parivox reads {VERSION!r}; "
            "make it again"
        )
        raise DataError(msg)
    frame = binary_frame(content, "parquet")
    if dict(frame.schema) != _KINDS or frame.null_count().sum_horizontal().sum():
        raise damaged(content.name, f"its columns are {', '.join(frame.columns)}, or lack cells")
    if _sha256(frame) != header.get("sha256"):
        raise damaged(content.name, "its rows are not those that were written")
    return {name: frame[name].to_numpy() for name in _KINDS}, header


def damaged(name: str, told: str) -> DataError:
    """What is said of a file of a tally that does not hold what it must."""
    return DataError(f"{name}: does not hold a whole tally ({told}); copy it or make it again")


def _sha256(frame: pl.DataFrame) -> str:
    digest = hashlib.sha256()
    for column in frame.get_columns():
        digest.update(np.ascontiguousarray(column.to_numpy()).tobytes())
    return digest.hexdigest()
