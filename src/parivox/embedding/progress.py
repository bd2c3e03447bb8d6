"""How far a run of ``embed`` is: its plan, the batches that are done, and how fast it goes.

The plan depends on the recordings alone: not on the number of workers, nor on interruptions. A
batch is done once its table has its name; an interrupted one is done again as a whole.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.embedding.store import FOUND, PLAN, PLAN_TABLE, save
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


_BYTES_A_SECOND = 32_000  # of 16 kHz and 16 bit, to compare excerpts with files


@dataclass(frozen=True, eq=False)
class Parts:
    """The planned batches of a run, in the folder `path`.

    `plan` holds the recordings in the order in which they are done, with the number of their batch,
    ``_part``; `about` is of the system and the options.
    """

    path: Path
    plan: pl.DataFrame
    about: dict[str, Any]

    @cached_property
    def batches(self) -> list[pl.DataFrame]:
        """The recordings of each batch, without ``_part``."""
        return self.plan.partition_by("_part", maintain_order=True, include_key=False)

    def done(self) -> list[int]:
        """Numbers of the batches that are done."""
        return [k for k in range(len(self.batches)) if self._table(k).exists()]

    def start(self) -> None:
        """Write the plan down; whatever was in the folder is gone."""
        self.drop()
        self.path.mkdir()
        save(self.path / PLAN_TABLE, self.plan)
        save(self.path / PLAN, self.about)

    def keep(self, number: int, found: list[dict[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Keep what was found of a batch's recordings; ``row`` counts within the batch."""
        save(self._table(number).with_suffix(".npy"), vectors)
        save(self._table(number), pl.DataFrame(found, schema=FOUND))

    def found(self, number: int) -> pl.DataFrame:
        """What was found of the recordings of a batch that is done."""
        return pl.read_parquet(self._table(number))

    def vectors(self, number: int) -> NDArray[np.float32]:
        """Their embeddings, shape (row, crop, dimension)."""
        array: NDArray[np.float32] = np.load(self._table(number).with_suffix(".npy"))
        return array

    def drop(self) -> None:
        """Forget the run."""
        if self.path.is_dir():
            (self.path / PLAN).unlink(missing_ok=True)  # without which it is no plan
            shutil.rmtree(self.path)

    def _table(self, number: int) -> Path:
        return self.path / f"{number:06d}.parquet"


def find_parts(path: Path) -> Parts | None:
    """The unfinished run in a folder, or None where there is none.

    It is an error if it cannot be read.
    """
    if not (path / PLAN).is_file():
        return None
    try:
        about = json.loads((path / PLAN).read_text(encoding="utf-8"))
        return Parts(path, pl.read_parquet(path / PLAN_TABLE), about)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        msg = f"{path}: is no plan of an unfinished run; delete this folder, and embed again"
        raise DataError(msg) from error


def plan_parts(path: Path, todo: pl.DataFrame, batch: int, about: dict[str, Any]) -> Parts:
    """Batches of recordings of much the same ``_size`` of their files, the largest first."""
    seconds = pl.col("end") - pl.col("start").fill_null(0)
    large = pl.min_horizontal("_size", seconds * _BYTES_A_SECOND)
    plan = todo.sort(large, "utterance", descending=[True, False], maintain_order=True)
    parts = pl.int_range(pl.len(), dtype=pl.Int64) // batch
    return Parts(path, plan.with_columns(_part=parts), about)


class Pace:
    """Tells after each batch how far a run is; the time that is left is by bytes."""

    def __init__(self, recordings: int, size: int, tell: Callable[[str], None]) -> None:
        self.recordings, self.size, self.tell = recordings, max(size, 1), tell
        self.done = self.bytes = self.skipped = 0
        self.seconds = 0.0
        self.began = time.monotonic()

    def skip(self, recordings: int, size: int) -> None:
        """Count a batch that an earlier run has done."""
        self.done += recordings
        self.skipped += size

    def add(self, recordings: int, size: int, seconds: float) -> None:
        """Count a batch, with the seconds of its audio, and tell how far the run is."""
        self.done += recordings
        self.bytes += size
        self.seconds += seconds
        took = max(time.monotonic() - self.began, 1e-9)
        left = self.size - self.skipped - self.bytes
        words = f"{self.done:,} of {self.recordings:,} recordings"
        words += f", {self.seconds / took:,.0f} times as fast as they last"
        if left > 0 < self.bytes:
            words += f", {_lasting(took * left / self.bytes)} left"
        self.tell(words)


def _lasting(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> [_lasting(s) for s in (3.2, 200, 9_000)]
    ['3 s', '3 min', '2.5 h']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"
