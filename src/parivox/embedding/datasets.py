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

from parivox.data.columns import UTTERANCE_NAMES
from parivox.data.formats.dataframes import lazy_parquet, name_classes
from parivox.data.table_kinds import find_column
from parivox.embedding.audio import check_decoders
from parivox.errors import DataError
from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Cells hold whole audio files, so that a few hundred rows may take a gigabyte.
_ROWS = 256  # at once
_SAMPLES = ("array", "sampling_rate")
_FILE = "file"


def unpack_recordings(source: Any, name: str) -> tuple[pl.DataFrame, ScratchFolder] | None:
    """The table with a column of files in the place of recordings; None where it holds none."""
    row_chunks = _row_chunks(source)
    chunk = next(row_chunks, None)
    if chunk is None:
        return None
    audio_columns = [column for column, kind in chunk.schema.items() if _is_audio(kind)]
    if not audio_columns:
        return None
    if len(audio_columns) > 1:
        msg = f"{name}: columns {audio_columns[0]!r} and {audio_columns[1]!r} both contain audio"
        hint = "remove one of the columns"
        raise DataError(msg, hint)
    folder, tables, row = ScratchFolder(), [], 0
    while chunk is not None:
        files, ids = [], []
        for cell in chunk[audio_columns[0]]:
            row += 1
            files.append(f"{row:08d}")
            ids.append(
                _write_cell(
                    cell, folder, files[-1], f"{name}, row {row}, column {audio_columns[0]!r}"
                )
            )
        flat = chunk.select(c for c, kind in chunk.schema.items() if not kind.is_nested())
        id_column = find_column(flat, "", ("audioid", *UTTERANCE_NAMES), "")
        ids_or_file_names = pl.Series(ids, dtype=pl.String).fill_null(pl.Series(files))
        utterance = flat[id_column].cast(pl.String) if id_column else ids_or_file_names
        attribute_columns = flat.drop(id_column, _FILE, strict=False) if id_column else flat
        tables.append(attribute_columns.with_columns(utterance=utterance, file=pl.Series(files)))
        chunk = next(row_chunks, None)
    return pl.concat(tables), folder


def _is_audio(kind: pl.DataType) -> bool:
    inside = {field.name for field in kind.fields} if isinstance(kind, pl.Struct) else set()
    return bool({"bytes", "path"} <= inside or {*_SAMPLES} <= inside)


def _row_chunks(source: Any) -> Iterator[pl.DataFrame]:
    """Some rows after the other, of a dataset, a dataframe or a Parquet file."""
    if isinstance(source, (str, os.PathLike)):
        if str(source).lower().endswith((".parquet", ".pq")) and os.path.isfile(source):  # noqa: PTH113
            lazy = lazy_parquet(os.fspath(source))
            for start in range(0, lazy.select(pl.len()).collect().item(), _ROWS):
                yield lazy.slice(start, _ROWS).collect()
    elif isinstance(source, pl.DataFrame):
        yield from source.iter_slices(_ROWS)
    elif hasattr(source, "to_polars") and hasattr(source, "features"):
        for start in range(0, len(source), _ROWS):
            chunk = source.select(range(start, min(start + _ROWS, len(source)))).to_polars()
            yield name_classes(chunk, source.features.to_dict())


def _write_cell(
    cell: dict[str, Any] | None, folder: ScratchFolder, file: str, location: str
) -> str | None:
    """Make a file of a cell, a link where it names one; give what the cell calls it."""
    cell = cell or {}
    original_path, samples = cell.get("path"), cell.get("array")
    with folder.file_to_write(file) as path:
        if cell.get("bytes") is not None:
            path.write_bytes(cell["bytes"])
        elif samples is not None and cell.get("sampling_rate"):
            check_decoders()
            waveform = np.asarray(samples, np.float32)
            import soundfile  # noqa: PLC0415 - what takes time to load

            soundfile.write(path, waveform, int(cell["sampling_rate"]), "FLOAT", format="AU")
        elif original_path and os.path.isfile(original_path):  # noqa: PTH113
            try:
                path.symlink_to(os.path.realpath(original_path))
            except OSError:  # as on Windows, where few may
                shutil.copyfile(original_path, path)
        else:
            what_is_missing = (
                f"names {original_path!r}, which does not exist"
                if original_path
                else "contains no audio"
            )
            msg = f"{location}: {what_is_missing}"
            hint = "give the dataset with its recordings"
            raise DataError(msg, hint)
    return None if original_path is None else str(original_path)
