"""The folder that keeps the embeddings of recordings, which others can read without Parivox.

::

    recordings.parquet   a recording a row, sorted by utterance
    embeddings.npy       float32 [row, crop, dimension], in the order of the recordings
    store.json           the system that made it, its options, and the hashes of both files
    failures.csv         the recordings that failed, if any did, as an audit takes them
    seen.parquet         sizes and times of the audio files, so that they are not hashed again

A change happens at one moment (`parivox.runtime.disk.atomic_folder`).
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.formats.dataframes import UndecodedTable, check_decodes
from parivox.data.formats.format import ENGINE_ERRORS
from parivox.embedding.audio import ATTRIBUTES
from parivox.errors import DataError
from parivox.runtime import disk
from parivox.runtime.disk import current_path

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

VERSION = 1
DECODED_COLUMNS = {
    "audio_sha256": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "row": pl.Int64,
    **dict.fromkeys(ATTRIBUTES, pl.Float64),
}
"""What is known of a recording once it is decoded; ``row`` is -1 where it has no embedding."""
TABLE, VECTORS, ABOUT = "recordings.parquet", "embeddings.npy", "store.json"
FAILURES = "failures.csv"
UNFINISHED_FOLDER, PLAN, PLAN_TABLE = "parts", "plan.json", "plan.parquet"
"""Of a run that is not finished: its folder, and what that holds first."""
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
_REQUIRED_RECORDS = ("system", "options", "files")


@dataclass(frozen=True, eq=False)
class Store:
    """A store that is whole.

    Attributes
    ----------
    path : Path
    table : DataFrame
        ``utterance``, ``speaker`` and ``recording`` where they are known, ``file``, ``channel``,
        ``start``, ``end``, attributes that came with the recordings, and `DECODED_COLUMNS`.
    about : dict
        What ``store.json`` says.
    """

    path: Path
    table: pl.DataFrame
    about: dict[str, Any]

    @property
    def system(self) -> dict[str, Any]:
        """Name, sample rate, scoring and provenance of the system that made it."""
        return dict(self.about["system"])

    @property
    def table_path(self) -> Path:
        """Where the table is, as an audit reads it."""
        return current_path(self.path, TABLE)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Embeddings of shape (row, crop, dimension), left on disk."""
        path = current_path(self.path, VECTORS)
        try:
            vectors: NDArray[np.float32] = np.load(path, mmap_mode="r")
        except (OSError, ValueError) as error:
            msg = f"{path}: cannot be read ({_short(error)})"
            hint = "embed again into another folder"
            raise DataError(msg, hint) from error
        if vectors.dtype != np.float32 or vectors.ndim != 3:
            msg = (
                f"{path}: contains {vectors.dtype} of shape {vectors.shape}, but must contain "
                "float32 with three axes"
            )
            raise DataError(msg)
        return vectors


def find_store(path: Path) -> Store | None:
    """The store in a folder, or None where there is none yet.

    It is an error if there is one that cannot be read, or of another version.
    """
    try:
        about_at = current_path(path, ABOUT)
        if not about_at.is_file():
            return None
        about = json.loads(about_at.read_text(encoding="utf-8"))
        version = about["version"]
        if version == VERSION:
            lacking = [key for key in _REQUIRED_RECORDS if not isinstance(about.get(key), dict)]
            if lacking:
                msg = f"{ABOUT} lacks {', '.join(lacking)}"
                raise ValueError(msg)
            table_path = current_path(path, TABLE)
            table_path.stat()  # a table that is not there has its own sentence
            # Parquet from elsewhere can abort the process that decodes it.
            check_decodes(UndecodedTable(str(table_path), "parquet", table_path))
            table = pl.read_parquet(table_path)
    except (*_UNREADABLE, *ENGINE_ERRORS) as error:
        msg = f"{path}: is not a complete store of embeddings ({_short(error)})"
        hint = "embed again into another folder"
        raise DataError(msg, hint) from error
    if version != VERSION:
        msg = (
            f"{path}: is a store of version {version!r}, but this Parivox writes version {VERSION}"
        )
        hint = "embed again into another folder"
        raise DataError(msg, hint)
    return Store(path, table, about)


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a store to read from it.

    Raises
    ------
    DataError
        If there is none, or it cannot be read.
    """
    store = find_store(Path(path))
    if store is None:
        unfinished = Path(path, UNFINISHED_FOLDER).is_dir()
        state = (
            "contains an unfinished run of parivox embed and no store"
            if unfinished
            else "is not a store"
        )
        remedy = (
            ("repeat the command to finish the run")
            if unfinished
            else "create a store with parivox embed"
        )
        msg = f"{path}: {state} of embeddings"
        raise DataError(msg, remedy)
    return store


def check_store(path: str | os.PathLike[str]) -> Store:
    """A store that is whole: its bytes are those that were written, else it is an error."""
    store = open_store(path)
    for name in (TABLE, VECTORS):
        written = str(store.about["files"].get(name, ""))
        try:
            digest = disk.sha256_of(current_path(store.path, name))
        except OSError as error:
            msg = f"{store.path / name}: cannot be read ({error.strerror})"
            hint = "embed again into another folder"
            raise DataError(msg, hint) from error
        if digest != written:
            msg = (
                f"{current_path(store.path, name)}: has been altered: its SHA-256 is "
                f"{digest[:12]}..., but was {written[:12]}... when written"
            )
            hint = "embed again into another folder"
            raise DataError(msg, hint)
    rows = store.table.filter(pl.col("row") >= 0)["row"]
    if not np.array_equal(rows.to_numpy(), np.arange(len(store.vectors))):
        msg = f"{path}: its recordings do not match its embeddings"
        hint = "embed again into another folder"
        raise DataError(msg, hint)
    return store


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Embeddings from several arrays, put together in the order of a table."""

    sources: dict[int, Callable[[], NDArray[np.float32]]] = field(default_factory=dict)
    """What opens each array, of shape (row, crop, dimension)."""
    source: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """In which of them each row stands."""
    row_in_source: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Where in it."""

    def write(self, path: Path) -> None:
        """Write them as one array, holding one source at a time in memory."""
        shapes = {key: self.sources[key]().shape[1:] for key in map(int, np.unique(self.source))}
        if len(set(shapes.values())) > 1:
            msg = f"{path.parent}: embeddings have the shapes {sorted(set(shapes.values()))}"
            raise DataError(msg)
        shape = next(iter(shapes.values()), (1, 0))
        with path.open("wb") as file:
            header = {
                "descr": "<f4",
                "fortran_order": False,
                "shape": (self.row_in_source.size, *shape),
            }
            np.lib.format.write_array_header_1_0(file, header)
            start, size = file.tell(), 4 * int(np.prod(shape))
            # One source at a time: several runs may have left more than fits into memory.
            for key in shapes:
                array = self.sources[key]()
                for row in map(int, np.flatnonzero(self.source == key)):
                    file.seek(start + row * size)
                    file.write(array[self.row_in_source[row]].tobytes())


def store_rows(table: pl.DataFrame) -> pl.DataFrame:
    """The table of a store: sorted by utterance, numbered, with the columns that say something.

    Recordings with an embedding come in with a ``row`` of 0 or more.
    """
    table = table.sort("utterance")
    is_ok = pl.col("row") >= 0
    rows = pl.when(is_ok).then(is_ok.cum_sum().cast(pl.Int64) - 1).otherwise(-1)
    incomplete = set()
    # an audit takes a table that names the speaker of each recording, or of none
    if table["speaker"].null_count():
        incomplete.add("speaker")
    if table["recording"].null_count() == table.height:
        incomplete.add("recording")
    return table.with_columns(row=rows).drop(incomplete).rechunk()


def commit(path: Path, table: pl.DataFrame, vectors: StoredVectors, about: dict[str, Any]) -> None:
    """Replace what a store holds, at one moment.

    `table` is as `store_rows` makes it; there is a vector for each ``row`` of 0 or more, in
    this order; `about` is of the system and the options.
    """
    # Readers see the earlier store or this one, never parts of both.
    with disk.atomic_folder(path, {FAILURES}) as aside:
        _write(aside / TABLE, table)
        vectors.write(aside / VECTORS)
        hashes = {name: disk.sha256_of(aside / name) for name in (TABLE, VECTORS)}
        failed = table.filter(pl.col("row") < 0).select(
            recording="utterance", stage=pl.lit("acquire"), reason="status"
        )
        if failed.height:
            failed.write_csv(aside / FAILURES)
        _write(aside / ABOUT, {"version": VERSION, **about, "files": hashes})


def save(path: Path, content: pl.DataFrame | NDArray[np.float32] | dict[str, Any]) -> None:
    """Write a table, an array or a record, in place of what is there."""
    with disk.atomic_file(path) as aside:
        _write(aside, content)


def _write(path: Path, content: pl.DataFrame | NDArray[np.float32] | dict[str, Any]) -> None:
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path, compression="zstd", compression_level=3, row_group_size=1 << 17)
    elif isinstance(content, dict):
        path.write_text(
            json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n"
        )
    else:
        np.save(path, content)


def explain_store_errors(path: Path) -> contextlib.AbstractContextManager[None]:
    """Say in a sentence that a store cannot be written, and that what is finished is kept."""
    progress_note = ": finished work is kept, and the same command continues from there"
    return disk.explain_write_errors(str(path), "folder", progress_note)


@contextlib.contextmanager
def locked_store(path: Path) -> Iterator[None]:
    """Hold the folder of a store, which is made if need be, against other writers.

    It is an error if another process writes to it, it cannot be written, or holds something else.
    """
    with explain_store_errors(path), contextlib.ExitStack() as lock:
        path.mkdir(parents=True, exist_ok=True)
        if not disk.lock_folder(path, lock):
            msg = f"{path}: another process is writing to it"
            hint = "wait until it has finished, or choose another --out"
            raise DataError(msg, hint)
        # A run may have been killed while it moved a store that is whole into its place.
        disk.finish_move(path)
        _check_no_foreign_files(path)
        yield


def _check_no_foreign_files(path: Path) -> None:
    """Refuse a folder in which files of others could be lost."""
    if any(mark.is_file() for mark in (path / ABOUT, path / UNFINISHED_FOLDER / PLAN)):
        return
    for entry_path in path.iterdir():  # but for a run that ended before its plan was written
        is_begun = entry_path.name == UNFINISHED_FOLDER and entry_path.is_dir()
        names = (
            {inner_path.name for inner_path in entry_path.iterdir()}
            if is_begun
            else {entry_path.name}
        )
        if not all(
            name.startswith(disk.HIDDEN_PREFIX) or (is_begun and name == PLAN_TABLE)
            for name in names
        ):
            msg = f"{path}: contains {entry_path.name!r} and is not a store of embeddings"
            hint = "give --out a new or empty folder, so that no data are lost"
            raise DataError(msg, hint)


def _short(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]
