"""Encoded rows while they are read: in memory, or on disk beyond so many."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.disk import Scratch
from parivox.read.checks import Encoded, Trials
from parivox.read.columns import ATTRIBUTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

IN_MEMORY_TRIALS = 20_000_000
"""Lists with more rows are kept on disk and checked in partitions."""
PART_TRIALS = 2_000_000
"""Rows of a partition, about."""

ROW = (("enrol", "<i4"), ("test", "<i4"), ("label", "i1"), ("score", "<f8"))
TRIAL = (*ROW[:2], ("target", "?"), ROW[3], ("conflict", "?"))


class Store:
    """Rows of one source, added chunk by chunk."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.folder: Scratch | None = None
        self._chunks: list[Encoded] = []
        self._written: list[tuple[int, int]] = []  # run and rows of each chunk on disk
        self._kind = kind_of(ROW, {})

    def add(self, chunk: Encoded) -> None:
        """Add rows; beyond `IN_MEMORY_TRIALS` all of them go to disk."""
        self.rows += chunk.score.size
        self._chunks.append(chunk)
        self._kind = kind_of(ROW, chunk.more)
        if self.folder is None and self.rows > IN_MEMORY_TRIALS:
            self.folder = Scratch()
        if self.folder is not None:
            with self.folder.writing(self.name) as path, path.open("ab") as file:
                for rows in self._chunks:
                    _packed(rows, self._kind).tofile(file)
                    self._written.append((rows.run, rows.score.size))
            self._chunks.clear()

    def whole(self, rank: FinalCodes) -> Encoded:
        """All rows at once, with the final codes of the utterances."""
        chunks = [rank.of(chunk) for chunk in self.batches()]
        self._chunks.clear()
        return chunks[0] if len(chunks) == 1 else concatenated(chunks)

    def batches(self) -> Iterator[Encoded]:
        """All rows in pieces, as they were added."""
        if self.folder is None:
            yield from self._chunks
            return
        with (self.folder / self.name).open("rb") as file:
            for run, rows in self._written:
                yield _encoded(np.fromfile(file, dtype=self._kind, count=rows))._replace(run=run)

    def scatter(self, rank: FinalCodes, part: NDArray[np.int32], folder: Scratch) -> None:
        """Write every row, with its final codes, to the file of its partition."""
        for batch in self.batches():
            rows = rank.of(batch)
            home = part[np.minimum(rows.enrol, rows.test)]
            order = np.argsort(home.astype(np.uint16), kind="stable")  # which is fast
            packed, home = _packed(rows, self._kind)[order], home[order]
            starts = np.flatnonzero(np.concatenate(([True], home[1:] != home[:-1])))
            for start, end in zip(starts, [*starts[1:], home.size], strict=True):
                name = f"{self.name}-{home[start]}"
                with folder.writing(name) as path, path.open("ab") as file:
                    packed[start:end].tofile(file)
        if self.folder is not None:
            self.folder.remove()

    def part(self, number: int, folder: Scratch) -> Encoded:
        """Rows of one partition; its file is removed."""
        path = folder / f"{self.name}-{number}"
        rows = (
            np.fromfile(path, dtype=self._kind) if path.exists() else np.empty(0, dtype=self._kind)
        )
        path.unlink(missing_ok=True)
        return _encoded(rows)


class FinalCodes(NamedTuple):
    """Final codes: by run those of enrolments and of test utterances, and those of columns.

    The last entry of those of a column stands for an unknown cell, -1.
    """

    enrol: Sequence[NDArray[np.int32]]
    test: Sequence[NDArray[np.int32]]
    first_test: int = 0  # test utterances count from here on
    columns: Mapping[str, NDArray[np.int32]] = MappingProxyType({})

    def of(self, rows: Encoded) -> Encoded:
        """The rows with their final codes."""
        more = {
            name: self.columns[name][column] if name in self.columns else column
            for name, column in rows.more.items()
        }
        enrol, test = self.sides(rows)
        return rows._replace(enrol=enrol, test=test, more=more, run=-1)

    def sides(self, rows: Encoded) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Final codes of the utterances of rows."""
        test = self.test[rows.run].take(rows.test)
        if self.first_test:
            test = test + np.int32(self.first_test)
        return self.enrol[rows.run].take(rows.enrol), test


class CheckedParts:
    """Checked partitions on disk, read as often as needed."""

    def __init__(self, folder: Scratch) -> None:
        self.folder = folder
        self.parts = 0

    def append(self, trials: Trials) -> None:
        """Keep one partition, and what of it failed."""
        for name, some in (("settled", trials), ("failed", trials.failed)):
            if some is not None:
                kind = kind_of(TRIAL, some.more)
                with self.folder.writing(f"{name}-{self.parts}.npy") as path:
                    np.save(path, _packed(some, kind))
        self.parts += 1

    def __len__(self) -> int:
        return self.parts

    def __iter__(self) -> Iterator[Trials]:
        for number in range(self.parts):
            trials = _trials(np.load(self.folder / f"settled-{number}.npy"))
            failed = self.folder / f"failed-{number}.npy"
            yield replace(trials, failed=_trials(np.load(failed)) if failed.exists() else None)


def ranges(stores: list[Store], rank: FinalCodes, n: int) -> NDArray[np.int32]:
    """Partition of each utterance, shape (utterance,): ranges with about as many rows each."""
    rows = np.zeros(n, dtype=np.int32)
    for store in stores:
        for batch in store.batches():
            np.add.at(rows, np.minimum(*rank.sides(batch)), np.int32(1))  # another type is slow
    total = np.cumsum(rows, dtype=np.int64)
    total -= 1
    total //= PART_TRIALS
    return total.clip(min=0, out=total).astype(np.int32)


def kind_of(
    fields: Sequence[tuple[str, str]], more: Mapping[str, NDArray[Any]]
) -> np.dtype[np.void]:
    """What a record holds."""
    return np.dtype([*fields, *((name, column.dtype.str) for name, column in more.items())])


def concatenated(chunks: Sequence[Encoded]) -> Encoded:
    """The rows of several chunks, perhaps of none."""
    if not chunks:
        return _encoded(np.empty(0, dtype=kind_of(ROW, {})))
    return Encoded(
        np.concatenate([chunk.enrol for chunk in chunks]),
        np.concatenate([chunk.test for chunk in chunks]),
        np.concatenate([chunk.label for chunk in chunks]),
        np.concatenate([chunk.score for chunk in chunks]),
        {name: np.concatenate([c.more[name] for c in chunks]) for name in chunks[0].more},
    )


def _columns(
    rows: NDArray[np.void], fields: Sequence[tuple[str, str]]
) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
    names = rows.dtype.names or ()
    columns = [np.ascontiguousarray(rows[name]) for name in names]
    n = len(fields)
    return columns[:n], dict(zip(names[n:], columns[n:], strict=True))


def _encoded(rows: NDArray[np.void]) -> Encoded:
    (enrol, test, label, score), more = _columns(rows, ROW)
    return Encoded(enrol, test, label, score, more)


def _trials(rows: NDArray[np.void]) -> Trials:
    (enrol, test, target, score, conflict), more = _columns(rows, TRIAL)
    return Trials(enrol, test, target, score, conflict, more)


def _packed(rows: Encoded | Trials, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """Columns as records."""
    packed = np.empty(rows.score.size, dtype=kind)
    for name in kind.names or ():
        packed[name] = rows.more[name] if name in rows.more else getattr(rows, name)
    return packed


def records(trials: Trials) -> NDArray[np.uint8]:
    """Trials as bytes that depend on nothing but them, for hashing; attributes left out.

    Those that failed are not among them.
    """
    plain = {name: trials.more[name] for name in sorted(trials.more) if name[0] != ATTRIBUTE}
    return _packed(trials, kind_of(TRIAL, plain)).view(np.uint8)
