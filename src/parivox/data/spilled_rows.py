"""Encoded rows while they are read: in memory, or on disk beyond so many."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from parivox.data.columns import ATTRIBUTE_PREFIX
from parivox.data.trial_checks import EncodedRows, Trials
from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import BufferedReader
    from pathlib import Path

    from numpy.typing import NDArray

IN_MEMORY_TRIALS = 20_000_000
"""Lists with more rows are kept on disk and checked in partitions."""
PARTITION_TRIALS = 2_000_000
"""Rows of a partition, about."""

_SAMPLED_ROWS_PER_PARTITION = 1 << 15
"""Rows of each partition, about, that the limits of all partitions are chosen from."""

ROW_FIELDS = (("enrol", "<i4"), ("test", "<i4"), ("label", "i1"), ("score", "<f8"))
TRIAL_FIELDS = (*ROW_FIELDS[:2], ("target", "?"), ROW_FIELDS[3], ("conflict", "?"))


class RowStore:
    """Rows of one source, added chunk by chunk."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.folder: ScratchFolder | None = None
        self._chunks: list[EncodedRows] = []
        self._written: list[tuple[int, int]] = []  # run and rows of each chunk on disk
        self._sample: list[EncodedRows] = []  # of each chunk on disk
        self._pieces: dict[int, list[int]] = {}  # rows of each piece of a partition
        self._kind = record_dtype(ROW_FIELDS, {})

    def add(self, chunk: EncodedRows) -> None:
        """Add rows; beyond `IN_MEMORY_TRIALS` all of them go to disk."""
        self.rows += chunk.score.size
        self._chunks.append(chunk)
        self._kind = record_dtype(ROW_FIELDS, chunk.extra_columns)
        if self.folder is None and self.rows > IN_MEMORY_TRIALS:
            self.folder = ScratchFolder()
        if self.folder is not None:
            for rows in self._chunks:
                name = f"chunk-{len(self._written)}"
                with self.folder.file_to_write(name) as path, path.open("wb") as file:
                    _write_columns(file, _record_columns(rows, self._kind))
                self._written.append((rows.run, rows.score.size))
                self._sample.append(rows.take(np.arange(0, rows.score.size, _sampling_step())))
            self._chunks.clear()

    def all_rows(self, final_codes: FinalCodes) -> EncodedRows:
        """All rows at once, with the final codes of the utterances."""
        chunks = [final_codes.recoded(chunk) for chunk in self.batches()]
        self._chunks.clear()
        return chunks[0] if len(chunks) == 1 else concatenated(chunks)

    def batches(self) -> Iterator[EncodedRows]:
        """All rows in pieces, as they were added; those on disk make room as they are read."""
        if self.folder is None:
            yield from self._chunks
            return
        for number, (run, rows) in enumerate(self._written):
            path = self.folder / f"chunk-{number}"
            with path.open("rb") as file:
                columns = _read_columns(file, self._kind, [rows])
            path.unlink()
            yield EncodedRows(*_as_rows(columns, self._kind, ROW_FIELDS))._replace(run=run)

    def sample(self) -> Iterator[tuple[EncodedRows, int]]:
        """Some of the rows, and how many each of them stands for."""
        if self.folder is None:
            yield from ((chunk, 1) for chunk in self._chunks)
            return
        yield from ((rows, _sampling_step()) for rows in self._sample)

    def scatter(
        self, final_codes: FinalCodes, partition_of_id: NDArray[np.int32], folder: ScratchFolder
    ) -> None:
        """Write every row, with its final codes, to the file of its partition."""
        for batch_rows in self.batches():
            rows = final_codes.recoded(batch_rows)
            row_partition = partition_of_id.take(np.minimum(rows.enrol, rows.test))
            order = np.argsort(row_partition.astype(np.uint16), kind="stable")  # which is fast
            columns = [column.take(order) for column in _record_columns(rows, self._kind)]
            row_partition = row_partition.take(order)
            starts = np.flatnonzero(
                np.concatenate(([True], row_partition[1:] != row_partition[:-1]))
            )
            for start, end in zip(starts, [*starts[1:], row_partition.size], strict=True):
                number = int(row_partition[start])
                with folder.file_to_write(f"{self.name}-{number}") as path, path.open("ab") as file:
                    _write_columns(file, [column[start:end] for column in columns])
                self._pieces.setdefault(number, []).append(int(end - start))
        if self.folder is not None:
            self.folder.remove()

    def partition(self, number: int, folder: ScratchFolder) -> EncodedRows:
        """Rows of one partition, whose file may be written over."""
        path, pieces = folder / f"{self.name}-{number}", self._pieces.pop(number, [])
        if not pieces:
            return _no_rows(self._kind)
        with path.open("rb") as file:
            columns = _read_columns(file, self._kind, pieces)
        path.replace(_partition_path(folder, number))
        return EncodedRows(*_as_rows(columns, self._kind, ROW_FIELDS))


class FinalCodes(NamedTuple):
    """Final codes: by run those of enrolments and of test utterances, and those of columns.

    The last entry of those of a column stands for an unknown cell, -1.
    """

    enrol: Sequence[NDArray[np.int32]]
    test: Sequence[NDArray[np.int32]]
    first_test: int = 0  # test utterances count from here on
    columns: Mapping[str, NDArray[np.int32]] = MappingProxyType({})

    def recoded(self, rows: EncodedRows) -> EncodedRows:
        """The rows with their final codes."""
        extra_columns = {
            name: self.columns[name][column] if name in self.columns else column
            for name, column in rows.extra_columns.items()
        }
        enrol, test = self.sides(rows)
        return rows._replace(enrol=enrol, test=test, extra_columns=extra_columns, run=-1)

    def sides(self, rows: EncodedRows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Final codes of the utterances of rows."""
        test = self.test[rows.run].take(rows.test)
        if self.first_test:
            test = test + np.int32(self.first_test)
        return self.enrol[rows.run].take(rows.enrol), test


class CheckedPartitions:
    """Checked partitions on disk, read as often as needed."""

    def __init__(self, folder: ScratchFolder) -> None:
        self.folder = folder
        self._kept: list[list[tuple[np.dtype[np.void], int]]] = []  # settled, failed if any

    def append(self, trials: Trials) -> None:
        """Keep one partition, and what of it failed."""
        formats, path = [], _partition_path(self.folder, len(self))
        with (
            self.folder.file_to_write(path.name),
            path.open("r+b" if path.exists() else "wb") as file,
        ):
            for rows in (trials, *([] if trials.failed is None else [trials.failed])):
                record_type = record_dtype(TRIAL_FIELDS, rows.extra_columns)
                _write_columns(file, _record_columns(rows, record_type))
                formats.append((record_type, len(rows)))
            file.truncate()
        self._kept.append(formats)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Trials]:
        for number, formats in enumerate(self._kept):
            with _partition_path(self.folder, number).open("rb") as file:
                scored, *failed = (
                    Trials(
                        *_as_rows(
                            _read_columns(file, record_type, [rows]), record_type, TRIAL_FIELDS
                        )
                    )
                    for record_type, rows in formats
                )
            yield replace(scored, failed=failed[0] if failed else None)


def _partition_path(folder: ScratchFolder, number: int) -> Path:
    """Where a partition is kept once it is checked.

    Its rows were there before: to write over a file takes the system a fifth of the time of a new
    one.
    """
    return folder / f"checked-{number}"


def utterance_partitions(
    stores: list[RowStore], final_codes: FinalCodes, n_utterances: int
) -> NDArray[np.int32]:
    """Partition of each utterance, shape (utterance,): ranges with about as many rows each."""
    rows = np.zeros(n_utterances, dtype=np.int32)
    for store in stores:
        for sampled_rows, weight in store.sample():
            np.add.at(
                rows, np.minimum(*final_codes.sides(sampled_rows)), np.int32(weight)
            )  # another type is slow
    partition = np.cumsum(rows, dtype=np.int64)
    partition -= 1
    partition //= PARTITION_TRIALS
    return partition.clip(min=0, out=partition).astype(np.int32)


def _sampling_step() -> int:
    """Of so many rows, one is in the sample."""
    return max(PARTITION_TRIALS // _SAMPLED_ROWS_PER_PARTITION, 1)


def record_dtype(
    fields: Sequence[tuple[str, str]], extra_columns: Mapping[str, NDArray[Any]]
) -> np.dtype[np.void]:
    """What a record holds."""
    return np.dtype(
        [*fields, *((name, column.dtype.str) for name, column in extra_columns.items())]
    )


def concatenated(chunks: Sequence[EncodedRows]) -> EncodedRows:
    """The rows of several chunks, perhaps of none."""
    if not chunks:
        return _no_rows(record_dtype(ROW_FIELDS, {}))
    return EncodedRows(
        np.concatenate([chunk.enrol for chunk in chunks]),
        np.concatenate([chunk.test for chunk in chunks]),
        np.concatenate([chunk.label for chunk in chunks]),
        np.concatenate([chunk.score for chunk in chunks]),
        {
            name: np.concatenate([c.extra_columns[name] for c in chunks])
            for name in chunks[0].extra_columns
        },
    )


def _record_columns(
    rows: EncodedRows | Trials, record_type: np.dtype[np.void]
) -> list[NDArray[Any]]:
    """Columns in the order, and of the types, of a record."""
    names = record_type.names or ()
    columns = (
        rows.extra_columns[name] if name in rows.extra_columns else getattr(rows, name)
        for name in names
    )
    return [
        np.ascontiguousarray(column, dtype=record_type[name])
        for name, column in zip(names, columns, strict=True)
    ]


def _no_rows(record_type: np.dtype[np.void]) -> EncodedRows:
    """No row."""
    return EncodedRows(
        *_as_rows(
            [np.empty(0, dtype=record_type[name]) for name in record_type.names or ()],
            record_type,
            ROW_FIELDS,
        )
    )


def _as_rows(
    columns: Sequence[NDArray[Any]],
    record_type: np.dtype[np.void],
    fields: Sequence[tuple[str, str]],
) -> list[Any]:
    """Columns by themselves, and those that are there besides the fields by their names."""
    n_fields, names = len(fields), record_type.names or ()
    return [*columns[:n_fields], dict(zip(names[n_fields:], columns[n_fields:], strict=True))]


def _write_columns(file: BinaryIO, columns: Sequence[NDArray[Any]]) -> None:
    """Append columns, one after the other."""
    file.writelines(column.data for column in columns)


def _read_columns(
    file: BufferedReader, record_type: np.dtype[np.void], pieces: Sequence[int]
) -> list[NDArray[Any]]:
    """The columns of several pieces of so many rows, each of which was appended by itself."""
    columns = [np.empty(sum(pieces), dtype=record_type[name]) for name in record_type.names or ()]
    start = 0
    for n_rows in pieces:
        for column in columns:
            file.readinto(column[start : start + n_rows].view(np.uint8).data)
        start += n_rows
    return columns


def _as_records(rows: Trials, record_type: np.dtype[np.void]) -> NDArray[np.void]:
    """Columns as records."""
    packed = np.empty(rows.score.size, dtype=record_type)
    for name in record_type.names or ():
        packed[name] = (
            rows.extra_columns[name] if name in rows.extra_columns else getattr(rows, name)
        )
    return packed


def trial_records(trials: Trials) -> NDArray[np.uint8]:
    """Trials as bytes that depend on nothing but them, for hashing; attributes left out.

    Those that failed are not among them.
    """
    plain = {
        name: trials.extra_columns[name]
        for name in sorted(trials.extra_columns)
        if name[0] != ATTRIBUTE_PREFIX
    }
    return _as_records(trials, record_dtype(TRIAL_FIELDS, plain)).view(np.uint8)
