"""Encoded rows while they are read: in memory, or on disk beyond so many."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from parivox.data.columns import ATTRIBUTE
from parivox.data.trial_checks import EncodedRows, Trials
from parivox.runtime.disk import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import BufferedReader
    from pathlib import Path

    from numpy.typing import NDArray

IN_MEMORY_TRIALS = 20_000_000
"""Lists with more rows are kept on disk and checked in partitions."""
PART_TRIALS = 2_000_000
"""Rows of a partition, about."""

_SAMPLED = 1 << 15
"""Rows of each partition, about, that the limits of all partitions are chosen from."""

ROW = (("enrol", "<i4"), ("test", "<i4"), ("label", "i1"), ("score", "<f8"))
TRIAL = (*ROW[:2], ("target", "?"), ROW[3], ("conflict", "?"))


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
        self._kind = kind_of(ROW, {})

    def add(self, chunk: EncodedRows) -> None:
        """Add rows; beyond `IN_MEMORY_TRIALS` all of them go to disk."""
        self.rows += chunk.score.size
        self._chunks.append(chunk)
        self._kind = kind_of(ROW, chunk.extra_columns)
        if self.folder is None and self.rows > IN_MEMORY_TRIALS:
            self.folder = ScratchFolder()
        if self.folder is not None:
            for rows in self._chunks:
                name = f"chunk-{len(self._written)}"
                with self.folder.file_to_write(name) as path, path.open("wb") as file:
                    _write(file, _columns(rows, self._kind))
                self._written.append((rows.run, rows.score.size))
                self._sample.append(rows.take(np.arange(0, rows.score.size, _step())))
            self._chunks.clear()

    def all_rows(self, rank: FinalCodes) -> EncodedRows:
        """All rows at once, with the final codes of the utterances."""
        chunks = [rank.recoded(chunk) for chunk in self.batches()]
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
                columns = _read(file, self._kind, [rows])
            path.unlink()
            yield EncodedRows(*_rows(columns, self._kind, ROW))._replace(run=run)

    def sample(self) -> Iterator[tuple[EncodedRows, int]]:
        """Some of the rows, and how many each of them stands for."""
        if self.folder is None:
            yield from ((chunk, 1) for chunk in self._chunks)
            return
        yield from ((rows, _step()) for rows in self._sample)

    def scatter(self, rank: FinalCodes, part: NDArray[np.int32], folder: ScratchFolder) -> None:
        """Write every row, with its final codes, to the file of its partition."""
        for batch in self.batches():
            rows = rank.recoded(batch)
            home = part.take(np.minimum(rows.enrol, rows.test))
            order = np.argsort(home.astype(np.uint16), kind="stable")  # which is fast
            columns = [column.take(order) for column in _columns(rows, self._kind)]
            home = home.take(order)
            starts = np.flatnonzero(np.concatenate(([True], home[1:] != home[:-1])))
            for start, end in zip(starts, [*starts[1:], home.size], strict=True):
                number = int(home[start])
                with folder.file_to_write(f"{self.name}-{number}") as path, path.open("ab") as file:
                    _write(file, [column[start:end] for column in columns])
                self._pieces.setdefault(number, []).append(int(end - start))
        if self.folder is not None:
            self.folder.remove()

    def partition(self, number: int, folder: ScratchFolder) -> EncodedRows:
        """Rows of one partition, whose file may be written over."""
        path, pieces = folder / f"{self.name}-{number}", self._pieces.pop(number, [])
        if not pieces:
            return _none(self._kind)
        with path.open("rb") as file:
            columns = _read(file, self._kind, pieces)
        path.replace(_checked(folder, number))
        return EncodedRows(*_rows(columns, self._kind, ROW))


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
        more = {
            name: self.columns[name][column] if name in self.columns else column
            for name, column in rows.extra_columns.items()
        }
        enrol, test = self.sides(rows)
        return rows._replace(enrol=enrol, test=test, extra_columns=more, run=-1)

    def sides(self, rows: EncodedRows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Final codes of the utterances of rows."""
        test = self.test[rows.run].take(rows.test)
        if self.first_test:
            test = test + np.int32(self.first_test)
        return self.enrol[rows.run].take(rows.enrol), test


class CheckedParts:
    """Checked partitions on disk, read as often as needed."""

    def __init__(self, folder: ScratchFolder) -> None:
        self.folder = folder
        self._kept: list[list[tuple[np.dtype[np.void], int]]] = []  # settled, failed if any

    def append(self, trials: Trials) -> None:
        """Keep one partition, and what of it failed."""
        kept, path = [], _checked(self.folder, len(self))
        with (
            self.folder.file_to_write(path.name),
            path.open("r+b" if path.exists() else "wb") as file,
        ):
            for some in (trials, *([] if trials.failed is None else [trials.failed])):
                kind = kind_of(TRIAL, some.extra_columns)
                _write(file, _columns(some, kind))
                kept.append((kind, len(some)))
            file.truncate()
        self._kept.append(kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Trials]:
        for number, kept in enumerate(self._kept):
            with _checked(self.folder, number).open("rb") as file:
                settled, *failed = (
                    Trials(*_rows(_read(file, kind, [rows]), kind, TRIAL)) for kind, rows in kept
                )
            yield replace(settled, failed=failed[0] if failed else None)


def _checked(folder: ScratchFolder, number: int) -> Path:
    """Where a partition is kept once it is checked.

    Its rows were there before: to write over a file takes the system a fifth of the time of a new
    one.
    """
    return folder / f"checked-{number}"


def ranges(stores: list[RowStore], rank: FinalCodes, n: int) -> NDArray[np.int32]:
    """Partition of each utterance, shape (utterance,): ranges with about as many rows each."""
    rows = np.zeros(n, dtype=np.int32)
    for store in stores:
        for some, each in store.sample():
            np.add.at(rows, np.minimum(*rank.sides(some)), np.int32(each))  # another type is slow
    total = np.cumsum(rows, dtype=np.int64)
    total -= 1
    total //= PART_TRIALS
    return total.clip(min=0, out=total).astype(np.int32)


def _step() -> int:
    """Of so many rows, one is in the sample."""
    return max(PART_TRIALS // _SAMPLED, 1)


def kind_of(
    fields: Sequence[tuple[str, str]], more: Mapping[str, NDArray[Any]]
) -> np.dtype[np.void]:
    """What a record holds."""
    return np.dtype([*fields, *((name, column.dtype.str) for name, column in more.items())])


def concatenated(chunks: Sequence[EncodedRows]) -> EncodedRows:
    """The rows of several chunks, perhaps of none."""
    if not chunks:
        return _none(kind_of(ROW, {}))
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


def _columns(rows: EncodedRows | Trials, kind: np.dtype[np.void]) -> list[NDArray[Any]]:
    """Columns in the order, and of the types, of a record."""
    names = kind.names or ()
    each = (
        rows.extra_columns[name] if name in rows.extra_columns else getattr(rows, name)
        for name in names
    )
    return [
        np.ascontiguousarray(one, dtype=kind[name]) for name, one in zip(names, each, strict=True)
    ]


def _none(kind: np.dtype[np.void]) -> EncodedRows:
    """No row."""
    return EncodedRows(
        *_rows([np.empty(0, dtype=kind[name]) for name in kind.names or ()], kind, ROW)
    )


def _rows(
    columns: Sequence[NDArray[Any]],
    kind: np.dtype[np.void],
    fields: Sequence[tuple[str, str]],
) -> list[Any]:
    """Columns by themselves, and those that are there besides the fields by their names."""
    n, names = len(fields), kind.names or ()
    return [*columns[:n], dict(zip(names[n:], columns[n:], strict=True))]


def _write(file: BinaryIO, columns: Sequence[NDArray[Any]]) -> None:
    """Append columns, one after the other."""
    file.writelines(column.data for column in columns)


def _read(
    file: BufferedReader, kind: np.dtype[np.void], pieces: Sequence[int]
) -> list[NDArray[Any]]:
    """The columns of several pieces of so many rows, each of which was appended by itself."""
    columns = [np.empty(sum(pieces), dtype=kind[name]) for name in kind.names or ()]
    start = 0
    for rows in pieces:
        for column in columns:
            file.readinto(column[start : start + rows].view(np.uint8).data)
        start += rows
    return columns


def _packed(rows: Trials, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """Columns as records."""
    packed = np.empty(rows.score.size, dtype=kind)
    for name in kind.names or ():
        packed[name] = (
            rows.extra_columns[name] if name in rows.extra_columns else getattr(rows, name)
        )
    return packed


def records(trials: Trials) -> NDArray[np.uint8]:
    """Trials as bytes that depend on nothing but them, for hashing; attributes left out.

    Those that failed are not among them.
    """
    plain = {
        name: trials.extra_columns[name]
        for name in sorted(trials.extra_columns)
        if name[0] != ATTRIBUTE
    }
    return _packed(trials, kind_of(TRIAL, plain)).view(np.uint8)
