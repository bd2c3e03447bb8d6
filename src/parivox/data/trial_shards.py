"""Rows of a list by shards: a list in memory is one shard, a longer one has several on disk.

A shard has the rows of a range of utterances, the lower one of either side, so that all rows of one
pair are in one shard, and every check of it is exact. Shards are counted one after another and
their counts added up, by the functions that count the shards of a cluster.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.trial_checks import EncodedRows, Trials
from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]

IN_MEMORY_TRIALS = 20_000_000
"""Lists with more rows are kept on disk, in several shards."""
SHARD_TRIALS = 2_000_000
"""Rows of a shard on disk, about."""
_SAMPLED_ROWS_PER_SHARD = 1 << 15
"""Rows of each shard, about, that the limits of all shards are chosen from."""
_ROW_COLUMNS = ("enrol", "test", "label", "score")
_TRIAL_COLUMNS = ("enrol", "test", "trial_class", "score", "conflict")


class ColumnTables:
    """Tables of rows by number, in memory or each in one file of a folder."""

    def __init__(self, name: str, folder: ScratchFolder | None = None) -> None:
        self.name, self.folder = name, folder
        self._pieces: dict[int, list[Columns]] = {}  # in memory
        self._piece_sizes: dict[int, list[int]] = {}  # on disk
        self._dtypes: dict[int, dict[str, np.dtype[Any]]] = {}

    def append(self, number: int, columns: Columns) -> None:
        """Add rows to one table."""
        dtypes = {name: column.dtype for name, column in columns.items()}
        dtypes = self._dtypes.setdefault(number, dtypes)
        if self.folder is None:
            self._pieces.setdefault(number, []).append(columns)
            return
        sizes = self._piece_sizes.setdefault(number, [])
        with self.folder.file_to_write(f"{self.name}-{number}") as path:
            # to write over a file takes the system a fifth of the time of a new one
            mode = "r+b" if path.exists() and not sizes else "ab"
            with path.open(mode) as file:
                for name, dtype in dtypes.items():
                    file.write(np.ascontiguousarray(columns[name], dtype=dtype).data)
                file.truncate()
        sizes.append(len(columns["score"]))

    def move_to(self, folder: ScratchFolder) -> None:
        """Keep all rows on disk from now on."""
        self.folder, held_pieces = folder, self._pieces
        self._pieces = {}
        for number, pieces in held_pieces.items():
            for columns in pieces:
                self.append(number, columns)

    def read(self, number: int) -> Columns:
        """Return the rows of one table."""
        if self.folder is None:
            return _joined(self._pieces[number])
        sizes, dtypes = self._piece_sizes[number], self._dtypes[number]
        columns = {name: np.empty(sum(sizes), dtype=dtype) for name, dtype in dtypes.items()}
        start = 0
        with (self.folder / f"{self.name}-{number}").open("rb") as file:
            for size in sizes:
                for column in columns.values():
                    file.readinto(column[start : start + size].view(np.uint8).data)
                start += size
        return columns

    def take(self, number: int) -> Columns:
        """Return the rows of one table, which is empty from now on; its file may be written over.

        A table that never had rows has the columns of the first one that had.
        """
        if number not in self._dtypes:
            dtypes = next(iter(self._dtypes.values()))
            return {name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}
        if self.folder is None:
            return _joined(self._pieces.pop(number))
        columns = self.read(number)
        self._piece_sizes.pop(number)
        return columns

    def remove(self, number: int) -> None:
        """Give back the room of one table."""
        if self.folder is not None:
            (self.folder / f"{self.name}-{number}").unlink(missing_ok=True)


def _joined(pieces: Sequence[Columns]) -> Columns:
    """Return the rows of several pieces."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([columns[name] for columns in pieces]) for name in pieces[0]}


def joined_rows(chunks: Sequence[EncodedRows]) -> EncodedRows:
    """Return the rows of several chunks, perhaps of none."""
    if not chunks:
        no_ids = np.empty(0, dtype=np.int32)
        return EncodedRows(no_ids, no_ids, np.empty(0, dtype=np.int8), np.empty(0))
    return _encoded_rows(_joined([_columns(chunk, _ROW_COLUMNS) for chunk in chunks]))


class SourceRows:
    """Rows of one source, added chunk by chunk; beyond `IN_MEMORY_TRIALS` they go to disk."""

    def __init__(self, name: str) -> None:
        self.name, self.rows = name, 0
        self._chunks = ColumnTables(f"chunks of {name}")
        self._runs: list[int] = []
        self._sample: list[tuple[EncodedRows, int]] = []

    @property
    def is_long(self) -> bool:
        """Whether the rows are on disk."""
        return self._chunks.folder is not None

    def add(self, chunk: EncodedRows) -> None:
        """Add rows."""
        n_rows = chunk.score.size
        self.rows += n_rows
        self._chunks.append(len(self._runs), _columns(chunk, _ROW_COLUMNS))
        self._runs.append(chunk.run)
        step = max(SHARD_TRIALS // _SAMPLED_ROWS_PER_SHARD, 1)
        self._sample.append((chunk.take(np.arange(0, n_rows, step)), step))
        if self.rows > IN_MEMORY_TRIALS and not self.is_long:
            self._chunks.move_to(ScratchFolder())

    def chunks(self) -> Iterator[EncodedRows]:
        """Yield all rows as they were added, once: room is made as they are read."""
        for number, run in enumerate(self._runs):
            rows = _encoded_rows(self._chunks.take(number))
            self._chunks.remove(number)
            yield rows._replace(run=run)

    def sample(self) -> Iterable[tuple[EncodedRows, int]]:
        """Return some of the rows, and how many each of them represents."""
        return self._sample


class FinalCodes(NamedTuple):
    """Final codes: by run those of enrolments and of test utterances, and those of columns.

    The last entry of those of a column represents an unknown cell, -1.
    """

    enrol: Sequence[NDArray[np.int32]]
    test: Sequence[NDArray[np.int32]]
    first_test: int = 0  # test utterances count from here on
    columns: Mapping[str, NDArray[np.int32]] = MappingProxyType({})

    def recoded(self, rows: EncodedRows) -> EncodedRows:
        """Return the rows with their final codes."""
        extra_columns = {
            name: self.columns[name][column] if name in self.columns else column
            for name, column in rows.extra_columns.items()
        }
        enrol, test = self.sides(rows)
        return rows._replace(enrol=enrol, test=test, extra_columns=extra_columns, run=-1)

    def sides(self, rows: EncodedRows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the final codes of the utterances of rows."""
        test = self.test[rows.run].take(rows.test)
        if self.first_test:
            test = test + np.int32(self.first_test)
        return self.enrol[rows.run].take(rows.enrol), test


def deal_rows(
    sources: Sequence[SourceRows],
    final_codes: FinalCodes,
    n_utterances: int,
    folder: ScratchFolder | None,
) -> Iterator[list[EncodedRows]]:
    """Yield the rows of one shard of every source, with their final codes, shard by shard.

    Without a folder, there is one shard.
    """
    shard_of_utterance = np.zeros(1, dtype=np.int32)
    if folder is not None:
        shard_of_utterance = _shards_of_utterances(sources, final_codes, n_utterances)
    n_shards = int(shard_of_utterance.max(initial=0)) + 1
    dealt = [ColumnTables(source.name, folder) for source in sources]
    for source, tables in zip(sources, dealt, strict=True):
        for chunk in source.chunks():
            rows = final_codes.recoded(chunk)
            if n_shards == 1:
                tables.append(0, _columns(rows, _ROW_COLUMNS))
                continue
            shard = shard_of_utterance.take(np.minimum(rows.enrol, rows.test))
            order = np.argsort(shard.astype(np.uint16), kind="stable")  # which is fast
            n_rows_of_shards = np.bincount(shard, minlength=n_shards)
            ends = np.cumsum(n_rows_of_shards)
            columns = {
                name: column.take(order) for name, column in _columns(rows, _ROW_COLUMNS).items()
            }
            for number in np.flatnonzero(n_rows_of_shards).tolist():
                part = slice(ends[number - 1] if number else 0, ends[number])
                tables.append(number, {name: column[part] for name, column in columns.items()})
    for number in range(n_shards):
        rows_of_sources = [_encoded_rows(tables.take(number)) for tables in dealt]
        for tables in dealt[1:]:  # checked trials are written over the rows of the first one
            tables.remove(number)
        yield rows_of_sources


def _shards_of_utterances(
    sources: Sequence[SourceRows], final_codes: FinalCodes, n_utterances: int
) -> NDArray[np.int32]:
    """Return the shard of each utterance, ``[utterance]``: ranges with about as many rows each."""
    rows = np.zeros(n_utterances, dtype=np.int32)
    for source in sources:
        for sampled_rows, weight in source.sample():
            lower_utterance = np.minimum(*final_codes.sides(sampled_rows))
            np.add.at(rows, lower_utterance, np.int32(weight))  # another type is slow
    shard = np.cumsum(rows, dtype=np.int64)
    shard -= 1
    shard //= SHARD_TRIALS
    return shard.clip(min=0, out=shard).astype(np.int32)


class TrialShards:
    """Checked trials, shard by shard, read as often as needed."""

    def __init__(self, folder: ScratchFolder | None = None) -> None:
        self.folder = folder
        self._scored = ColumnTables("scores", folder)  # in the place of the rows that were dealt
        self._failed = ColumnTables("failed", folder)
        self._have_failed: list[bool] = []

    @classmethod
    def held(cls, shards: Iterable[Trials]) -> TrialShards:
        """Return shards in memory."""
        held_shards = cls()
        for trials in shards:
            held_shards.append(trials)
        return held_shards

    def without_trials(self) -> TrialShards:
        """Return a place for other trials, in memory or on disk as these are."""
        return TrialShards(None if self.folder is None else ScratchFolder())

    def append(self, trials: Trials) -> None:
        """Keep one shard, and what of it failed."""
        number, failed = len(self), trials.failed
        self._scored.append(number, _columns(trials, _TRIAL_COLUMNS))
        if failed is not None:
            self._failed.append(number, _columns(failed, _TRIAL_COLUMNS))
        self._have_failed.append(failed is not None)

    def __len__(self) -> int:
        return len(self._have_failed)

    def __iter__(self) -> Iterator[Trials]:
        for number, has_failed in enumerate(self._have_failed):
            failed = _trials(self._failed.read(number)) if has_failed else None
            yield _trials(self._scored.read(number), failed)


def _columns(rows: EncodedRows | Trials, names: Sequence[str]) -> Columns:
    """Return the columns of rows by name: those that all have, and the others."""
    return {**{name: getattr(rows, name) for name in names}, **rows.extra_columns}


def _encoded_rows(columns: Columns) -> EncodedRows:
    """Return columns as rows."""
    extra_columns = {name: columns[name] for name in columns if name not in _ROW_COLUMNS}
    enrol, test, label, score = (columns[name] for name in _ROW_COLUMNS)
    return EncodedRows(enrol, test, label, score, extra_columns)


def _trials(columns: Columns, failed: Trials | None = None) -> Trials:
    """Return columns as trials."""
    extra_columns = {name: columns[name] for name in columns if name not in _TRIAL_COLUMNS}
    enrol, test, trial_class, score, conflict = (columns[name] for name in _TRIAL_COLUMNS)
    return Trials(enrol, test, trial_class, score, conflict, extra_columns, failed)
