"""Trials too many for memory: spilt into partitions on disk, each checked by itself.

Both orders of a pair fall into one partition, so that repeated, contradicting and reversed
trials are found there exactly as they are in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parivox.tables.canonical import Encoded, Trials, canonical
from parivox.tables.notes import DataNote

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

    from parivox.tables.formats.raw import Raw

__all__ = ["Spill"]

_ROW = np.dtype(
    [("enrol", "<i4"), ("test", "<i4"), ("label", "i1"), ("score", "<f8"), ("row", "<u4")]
)
_TRIAL = np.dtype(
    [("enrol", "<i4"), ("test", "<i4"), ("target", "?"), ("score", "<f8"), ("conflict", "?")]
)


class Spill:
    """Partitions of trials in a temporary folder, removed with the object.

    Attributes
    ----------
    n_trials : int
    n_partitions : int
    score_range : pair of float
    """

    SLICE = 2_000_000
    PARTITION = 4_000_000

    def __init__(
        self,
        n_rows: int,
        ids: pl.Series,
        speaker: NDArray[np.int32],
        raw: Raw,
        *,
        strict: bool,
    ) -> None:
        self.n_partitions = max(2, -(-n_rows // self.PARTITION))
        self.folder = Path(tempfile.mkdtemp(prefix="parivox-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._check = {"ids": ids, "speaker": speaker, "raw": raw, "strict": strict}
        self._digest = sha256()
        self.n_trials = 0
        self.score_range = (np.inf, -np.inf)

    def add(self, rows: Encoded) -> None:
        """Write rows to the partitions of their pairs."""
        low, high = np.minimum(rows.enrol, rows.test), np.maximum(rows.enrol, rows.test)
        mixed = (low.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ (
            high.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        )
        part = ((mixed >> np.uint64(32)) % np.uint64(self.n_partitions)).astype(np.int16)
        order = np.argsort(part, kind="stable")
        block = np.empty(order.size, dtype=_ROW)
        for name in _ROW.names or ():
            block[name] = getattr(rows, name)[order]
        ends = np.cumsum(np.bincount(part, minlength=self.n_partitions))
        for i, (start, end) in enumerate(zip((0, *ends[:-1]), ends, strict=True)):
            with self._path(i).open("ab") as file:
                file.write(block[start:end].data)

    def finish(self) -> list[DataNote]:
        """Check every partition and put it in order; the notes of all of them, added up."""
        totals: dict[tuple[str, str, str], int] = {}
        low, high = self.score_range
        for i in range(self.n_partitions):
            block = np.fromfile(self._path(i), dtype=_ROW)
            rows = Encoded(*(np.ascontiguousarray(block[name]) for name in _ROW.names or ()))
            del block
            trials, notes = canonical(rows, **self._check)
            del rows
            for note in notes:
                key = (note.source, note.item, note.note)
                totals[key] = totals.get(key, 0) + note.count
            self._digest.update(trials.digest())
            self.n_trials += trials.score.size
            finite = trials.score[np.isfinite(trials.score)]
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
            stored = np.empty(trials.score.size, dtype=_TRIAL)
            for name in _TRIAL.names or ():
                stored[name] = getattr(trials, name)
            stored.tofile(self._path(i))
        self.score_range = (low, high) if low <= high else (0.0, 0.0)
        return [DataNote(source, item, n, note) for (source, item, note), n in totals.items()]

    def content_sha256(self, ids: pl.Series) -> str:
        """Hash over the ids and the hashes of the partitions."""
        whole = sha256("\n".join(ids.to_list()).encode())
        whole.update(self._digest.digest())
        return whole.hexdigest()

    def partitions(self) -> Iterator[Trials]:
        """Read the partitions, one by one."""
        for i in range(self.n_partitions):
            block = np.fromfile(self._path(i), dtype=_TRIAL)
            yield Trials(*(np.ascontiguousarray(block[name]) for name in _TRIAL.names or ()))

    def _path(self, i: int) -> Path:
        return self.folder / f"{i:04d}"
