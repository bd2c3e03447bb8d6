"""Vectors of recordings, from a store or from files that others made; what is kept of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.joining import listed_ids
from parivox.scoring.lists import recording_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parivox.embedding.store import Store
    from parivox.scoring.comparisons import Comparison

_BLOCK = 1 << 25  # bytes of vectors at once


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of recordings."""

    name: str  # of the folder or file
    ids: pl.Series  # utterance ids, each once
    values: NDArray[np.float32]  # of shape (row, crop, dimension), perhaps mapped into memory
    row: NDArray[np.int64]  # where the vectors of each utterance are; -1 where it failed
    status: pl.Series  # ``ok``, or what became of it
    speaker: pl.Series | None  # whose each is, if that is told
    scoring: str  # how these vectors are compared, unless the user says otherwise
    provenance: dict[str, Any]  # what made them, or the hash of the file

    def places(self, ids: pl.Series, asking: str, what: str = "recordings") -> NDArray[np.int32]:
        """Place of each of some distinct ids; one that is not there is an error."""
        return recording_places(
            ids, self.ids, asking=asking, source=self.name, mend="embed them into it", what=what
        )


def open_vectors(source: str | Path | Vectors) -> Vectors:
    """Open the folder that ``parivox embed`` made, or a file of embeddings."""
    if isinstance(source, Vectors):
        return source
    path = Path(source)
    if path.is_dir():
        from parivox.embedding.store import find_store, open_store  # noqa: PLC0415

        if (path / "parts").is_dir() or find_store(path) is not None:
            return _of_store(open_store(path))
    from parivox.embedding.systems.precomputed import read  # noqa: PLC0415 - what takes time

    ids, values = read(path)
    digest = hashlib.sha256("\n".join(ids).encode())
    for start in range(0, len(values), _rows(values)):
        digest.update(values[start : start + _rows(values)].tobytes())
    return Vectors(
        str(source),
        ids,
        values,
        np.arange(len(ids)),
        pl.repeat("ok", len(ids), eager=True),
        None,
        "cosine",
        {"sha256": digest.hexdigest()},
    )


def _of_store(store: Store) -> Vectors:
    table, name = store.table, str(store.path)
    ids = table["utterance"]
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        msg = f"{name}: {listed_ids(twice, ids, 'recordings')} are there twice; keep one of each"
        raise DataError(msg)
    about = json.dumps(store.about, sort_keys=True, default=str)
    is_ok = (table["status"] == "ok").to_numpy()
    return Vectors(
        name,
        ids,
        store.vectors,
        np.where(is_ok, table["row"].to_numpy(), -1).astype(np.int64),
        table["status"],
        table["speaker"] if "speaker" in table.columns else None,
        str(store.system.get("scoring", "cosine")),
        {**store.system, "store_sha256": hashlib.sha256(about.encode()).hexdigest()},
    )


def _rows(values: NDArray[Any]) -> int:
    """How many rows are taken at once."""
    return max(_BLOCK // max(values[:1].size * 8, 1), 1)


def mean_of(vectors: Vectors, places: NDArray[np.integer]) -> NDArray[np.float64]:
    """Mean vector (dimension,) of some recordings and all of their crops."""
    rows = vectors.row[places]
    total = np.zeros(vectors.values.shape[-1])
    for start in range(0, rows.size, _rows(vectors.values)):
        block = vectors.values[rows[start : start + _rows(vectors.values)]]
        total += block.mean(axis=1, dtype=np.float64).sum(axis=0)
    return np.asarray(total / rows.size)


def keep(
    vectors: Vectors,
    places: NDArray[np.integer],
    comparison: Comparison,
    *,
    mean: NDArray[np.float64] | None = None,
    path: Path | None = None,
    more: int = 0,
    precise: bool = False,
) -> NDArray[Any]:
    """What a comparison keeps of some recordings, none of which failed: (recording + more, ...).

    A `mean` of shape (dimension,) is subtracted first. It is kept in memory, or in a scratch file
    at `path`; so many rows as `more` stay free below. Scores that are normalised need double
    precision (`precise`): they are differences of scores, divided by a small number. A vector that
    is zero, or holds a number that is not finite, is an error.
    """
    rows = vectors.row[places]
    kind = np.float64 if precise else np.float32
    blocks = _prepared(vectors, places, comparison, mean)
    first = next(blocks, np.empty((0, vectors.values.shape[-1])))
    shape = (rows.size + more, *first.shape[1:])
    if path is None:
        found, start = np.zeros(shape, dtype=kind), 0
        for block in (first, *blocks):
            found[start : start + len(block)] = block
            start += len(block)
        return found
    if not first.size:
        return np.empty(shape, dtype=kind)
    with path.open("wb") as file:  # not through a map, in which a full disk kills the process
        header = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in (first, *blocks):
            file.write(block.astype(kind).tobytes())
        for _ in range(more):
            file.write(bytes(first[:1].size * np.dtype(kind).itemsize))
    return np.asarray(np.load(path, mmap_mode="r+"))


def _prepared(
    vectors: Vectors,
    places: NDArray[np.integer],
    comparison: Comparison,
    mean: NDArray[np.float64] | None,
) -> Iterator[NDArray[Any]]:
    """What is kept, a block after the other, in double precision."""
    rows = vectors.row[places]
    for start in range(0, rows.size, _rows(vectors.values)):
        at = slice(start, start + _rows(vectors.values))
        block = np.asarray(vectors.values[rows[at]], dtype=np.float64)
        if mean is not None:
            block -= mean
        kept = comparison.prepare(block)
        bad = ~np.isfinite(kept).all(axis=tuple(range(1, kept.ndim))) | ~block.any(-1).all(-1)
        if bad.any():
            ids = vectors.ids.gather(places[at][bad])
            infinite = ~np.isfinite(block[bad]).all(axis=(1, 2))
            what = "vectors of zeros" + ("" if mean is None else " once the mean is subtracted")
            if infinite.any():
                what = "vectors with numbers that are not finite"
                ids = ids.filter(pl.Series(infinite))
            msg = (
                f"{vectors.name}: {listed_ids(ids, vectors.ids, 'recordings')} have {what}; "
                "nothing can be said of them, so embed them again or take them out"
            )
            raise DataError(msg)
        yield kept
