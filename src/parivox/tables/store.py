"""Encoded rows while they are read: in memory, or on disk beyond so many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.tables.folder import Folder
from parivox.tables.validation import Encoded, Trials

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["IN_MEMORY_TRIALS", "PART_TRIALS", "Settled", "Store", "ranges", "records"]

IN_MEMORY_TRIALS = 20_000_000
"""Lists with more rows are kept on disk and checked in partitions."""
PART_TRIALS = 2_000_000
"""Rows of a partition, about."""
BATCH = 1_000_000

ROW = np.dtype([("enrol", "<i4"), ("test", "<i4"), ("label", "i1"), ("score", "<f8")])
TRIAL = np.dtype(
    [("enrol", "<i4"), ("test", "<i4"), ("target", "?"), ("score", "<f8"), ("conflict", "?")]
)


class Store:
    """Rows of one source, added chunk by chunk."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self.folder: Folder | None = None
        self._held: list[Encoded] = []

    def add(self, chunk: Encoded) -> None:
        """Add rows; beyond :data:`IN_MEMORY_TRIALS` all of them go to disk."""
        self.rows += chunk.score.size
        self._held.append(chunk)
        if self.folder is None and self.rows > IN_MEMORY_TRIALS:
            self.folder = Folder()
        if self.folder is not None:
            with (self.folder / self.name).open("ab") as file:
                for held in self._held:
                    _packed(held, ROW).tofile(file)
            self._held.clear()

    def whole(self, rank: NDArray[np.int32]) -> Encoded:
        """All rows at once, with the final codes of the utterances."""
        chunks = list(self.batches())
        if len(chunks) == 1:
            joined = chunks[0]
        else:
            self._held.clear()
            empty = (np.empty(0, dtype=kind) for kind in ("i4", "i4", "i1", "f8"))
            joined = Encoded(*(np.concatenate(c) for c in zip(tuple(empty), *chunks, strict=True)))
        return joined._replace(enrol=rank[joined.enrol], test=rank[joined.test])

    def batches(self) -> Iterator[Encoded]:
        """All rows in pieces, as they were added."""
        if self.folder is None:
            yield from self._held
            return
        for rows in _records(self.folder / self.name, ROW):
            yield Encoded(*(np.ascontiguousarray(rows[name]) for name in ROW.names or ()))

    def scatter(self, rank: NDArray[np.int32], part: NDArray[np.int32], folder: Folder) -> None:
        """Write every row, with its final codes, to the file of its partition."""
        for batch in self.batches():
            rows = batch._replace(enrol=rank[batch.enrol], test=rank[batch.test])
            home = part[np.minimum(rows.enrol, rows.test)]
            order = np.argsort(home, kind="stable")
            packed, home = _packed(rows, ROW)[order], home[order]
            starts = np.flatnonzero(np.concatenate(([True], home[1:] != home[:-1])))
            for start, end in zip(starts, [*starts[1:], home.size], strict=True):
                with (folder / f"{self.name}-{home[start]}").open("ab") as file:
                    packed[start:end].tofile(file)
        if self.folder is not None:
            self.folder.remove()

    def part(self, number: int, folder: Folder) -> Encoded:
        """Rows of one partition; its file is removed."""
        path = folder / f"{self.name}-{number}"
        rows = np.fromfile(path, dtype=ROW) if path.exists() else np.empty(0, dtype=ROW)
        path.unlink(missing_ok=True)
        return Encoded(*(np.ascontiguousarray(rows[name]) for name in ROW.names or ()))


class Settled:
    """Checked partitions on disk, read as often as needed."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.parts = 0

    def add(self, trials: Trials) -> None:
        """Keep one partition."""
        _packed(trials, TRIAL).tofile(self.folder / f"settled-{self.parts}")
        self.parts += 1

    def __len__(self) -> int:
        return self.parts

    def __iter__(self) -> Iterator[Trials]:
        for number in range(self.parts):
            rows = np.fromfile(self.folder / f"settled-{number}", dtype=TRIAL)
            yield Trials(*(np.ascontiguousarray(rows[name]) for name in TRIAL.names or ()))


def ranges(stores: list[Store], rank: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Partition of each utterance, shape (utterance,): ranges with about as many rows each."""
    rows = np.zeros(n, dtype=np.int64)
    for store in stores:
        for batch in store.batches():
            rows += np.bincount(np.minimum(rank[batch.enrol], rank[batch.test]), minlength=n)
    return ((np.cumsum(rows) - 1).clip(min=0) // PART_TRIALS).astype(np.int32)


def _packed(columns: Encoded | Trials, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """Columns as records."""
    packed = np.empty(columns.score.size, dtype=kind)
    for name in kind.names or ():
        packed[name] = getattr(columns, name)
    return packed


def _records(path: Path, kind: np.dtype[np.void]) -> Iterator[NDArray[np.void]]:
    with path.open("rb") as file:
        while (rows := np.fromfile(file, dtype=kind, count=BATCH)).size:
            yield rows


def records(trials: Trials) -> bytes:
    """Trials as bytes that depend on nothing but them, for hashing."""
    return _packed(trials, TRIAL).tobytes()
