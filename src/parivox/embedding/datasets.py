"""Recordings that a table holds itself, as datasets of Hugging Face and their Parquet files do.

A cell is then the bytes of a file, with its path, or samples with their rate; each becomes a file
of a temporary folder, a few rows at a time.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.formats.dataframes import lazy_parquet, name_classes
from parivox.data.speakers import UTTERANCE, find_column
from parivox.embedding.audio import check_decoders
from parivox.errors import DataError
from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 256  # at once
_SAMPLES = ("array", "sampling_rate")
_FILE = "file"


def unpacked(source: Any, name: str) -> tuple[pl.DataFrame, ScratchFolder] | None:
    """The table with a column of files in the place of recordings; None where it holds none."""
    parts = _parts(source)
    first = next(parts, None)
    if first is None:
        return None
    audio = [column for column, kind in first.schema.items() if _is_audio(kind)]
    if not audio:
        return None
    if len(audio) > 1:
        msg = f"{name}: columns {audio[0]!r} and {audio[1]!r} both hold audio; take one out"
        raise DataError(msg)
    folder, tables, row = ScratchFolder(), [], 0
    while first is not None:
        files, ids = [], []
        for cell in first[audio[0]]:
            row += 1
            files.append(f"{row:08d}")
            ids.append(_write(cell, folder, files[-1], f"{name}, row {row}, column {audio[0]!r}"))
        flat = first.select(c for c, kind in first.schema.items() if not kind.is_nested())
        own = find_column(flat, "", ("audioid", *UTTERANCE), "")
        named = pl.Series(ids, dtype=pl.String).fill_null(pl.Series(files))
        utterance = flat[own].cast(pl.String) if own else named
        rest = flat.drop(own, _FILE, strict=False) if own else flat
        tables.append(rest.with_columns(utterance=utterance, file=pl.Series(files)))
        first = next(parts, None)
    return pl.concat(tables), folder


def _is_audio(kind: pl.DataType) -> bool:
    inside = {field.name for field in kind.fields} if isinstance(kind, pl.Struct) else set()
    return bool({"bytes", "path"} <= inside or {*_SAMPLES} <= inside)


def _parts(source: Any) -> Iterator[pl.DataFrame]:
    """Some rows after the other, of a dataset, a dataframe or a Parquet file."""
    if isinstance(source, (str, os.PathLike)):
        if str(source).lower().endswith((".parquet", ".pq")) and os.path.isfile(source):  # noqa: PTH113
            lazy = lazy_parquet(os.fspath(source))
            for first in range(0, lazy.select(pl.len()).collect().item(), _ROWS):
                yield lazy.slice(first, _ROWS).collect()
    elif isinstance(source, pl.DataFrame):
        yield from source.iter_slices(_ROWS)
    elif hasattr(source, "to_polars") and hasattr(source, "features"):
        for first in range(0, len(source), _ROWS):
            part = source.select(range(first, min(first + _ROWS, len(source)))).to_polars()
            yield name_classes(part, source.features.to_dict())


def _write(cell: dict[str, Any] | None, folder: ScratchFolder, file: str, where: str) -> str | None:
    """Make a file of a cell, a link where it names one; give what the cell calls it."""
    cell = cell or {}
    called, samples = cell.get("path"), cell.get("array")
    with folder.file_to_write(file) as path:
        if cell.get("bytes") is not None:
            path.write_bytes(cell["bytes"])
        elif samples is not None and cell.get("sampling_rate"):
            check_decoders()
            waveform = np.asarray(samples, np.float32)
            import soundfile  # noqa: PLC0415 - what takes time to load

            soundfile.write(path, waveform, int(cell["sampling_rate"]), "FLOAT", format="AU")
        elif called and os.path.isfile(called):  # noqa: PTH113
            try:
                path.symlink_to(os.path.realpath(called))
            except OSError:  # as on Windows, where few may
                shutil.copyfile(called, path)
        else:
            lacks = f"names {called!r}, which is not there" if called else "holds no audio"
            msg = f"{where}: {lacks}; give the dataset with its recordings"
            raise DataError(msg)
    return None if called is None else str(called)
