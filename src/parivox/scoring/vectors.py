"""Vectors of recordings, what is kept of them, and how those of two become a score.

Higher is more alike:

=================== ================================================================
``cosine``          of the means over crops, in [-1, 1]
``dot``             inner product of the means over crops
``euclidean``       minus the distance of the means over crops
``crops-euclidean`` minus the mean distance of all pairs of crops, each of length 1
``ecapa-published`` mean of the cosine of the first crops, which are the whole
                    recordings, and the mean cosine of all pairs of the others
=================== ================================================================

A comparison first *prepares* each recording's vectors, once, in double precision, so that what is
left to do for a trial is as little as can be: mostly one inner product. What is kept of them is in
single precision, what it adds up to in double: a score is the same on every processor, but for its
last digits.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.joining import listed_ids
from parivox.errors import ConfigError, DataError
from parivox.scoring.lists import recording_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from parivox.embedding.store import Store

    Array = NDArray[np.floating]

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
    table: Path | None = None  # of the recordings, as an audit reads it, if it stands beside them

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
        store.table_path,
    )


def _rows(values: NDArray[Any]) -> int:
    """How many rows are taken at once."""
    return max(_BLOCK // max(values[:1].size * 8, 1), 1)


@dataclass(frozen=True)
class Comparison:
    """A way to compare vectors."""

    name: str
    words: str  # the same in words
    prepare: Callable[[Array], Array]
    """Of vectors (recording, crop, dimension) what is kept of each recording, (recording, ...)."""
    pairs: Callable[[Array, Array], Array]
    """Scores (pair,) of what is kept of either side, (pair, ...)."""
    matrix: Callable[[Array, Array], Array]
    """Scores (left, right) of everything on the left with everything on the right."""
    model: Callable[[Array], Array] | None
    """What is kept of a model, of the mean (model, ...) of what is kept of its recordings; None
    if there is no such thing and scores must be averaged."""

    @property
    def is_product(self) -> bool:
        """Whether scores are inner products of what is kept."""
        return self.pairs is _dot


def comparison_named(name: str) -> Comparison:
    """The comparison of this name."""
    if name not in COMPARISONS:
        msg = f"--scoring {name!r} is not known; choose from {', '.join(COMPARISONS)}"
        raise ConfigError(msg)
    return COMPARISONS[name]


def _unit(vectors: Array) -> Array:
    """The vectors, each of length 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _mean(vectors: Array) -> Array:
    return np.asarray(vectors.mean(axis=1))


def _unit_mean(vectors: Array) -> Array:
    return _unit(_mean(vectors))


def _dot(left: Array, right: Array) -> Array:
    return np.asarray(np.vecdot(left, right, dtype=np.float64))


def _product(left: Array, right: Array) -> Array:
    return np.asarray(left @ right.T)


def _far(left: Array, right: Array) -> Array:
    """Minus the distance of each pair."""
    apart = left - right
    return np.asarray(-np.sqrt(np.vecdot(apart, apart)))


def _far_matrix(left: Array, right: Array) -> Array:
    squares = np.vecdot(left, left)[:, None] + np.vecdot(right, right) - 2 * left @ right.T
    return np.asarray(-np.sqrt(np.maximum(squares, 0)))


def _apart(cosines: Array) -> Array:
    """Distances of vectors of length 1."""
    return np.asarray(np.sqrt(np.maximum(2 - 2 * cosines, 0)))


def _crops(left: Array, right: Array) -> Array:
    """Minus the mean distance of crops, in double precision: nearly equal ones need it."""
    left, right = _unit(left.astype(np.float64)), _unit(right.astype(np.float64))
    return np.asarray(-_apart(left @ right.swapaxes(1, 2)).mean(axis=(1, 2)))


def _crops_matrix(left: Array, right: Array) -> Array:
    left, right = _unit(left.astype(np.float64)), _unit(right.astype(np.float64))
    every = right.reshape(-1, right.shape[-1])
    shape = (left.shape[1], *right.shape[:2])
    # one recording of the left at a time: memory for its crops against all others
    return np.stack([-_apart(one @ every.T).reshape(shape).mean(axis=(0, 2)) for one in left])


def _whole_and_crops(vectors: Array) -> Array:
    """Both cosines as one inner product: a mean over pairs is the product of the means."""
    if vectors.shape[1] < 2:
        msg = (
            "--scoring ecapa-published takes the whole recording and crops of it, but there is one "
            "vector of each; give --scoring cosine"
        )
        raise ConfigError(msg)
    unit = _unit(vectors)
    both = np.concatenate((unit[:, 0], unit[:, 1:].mean(axis=1)), axis=1)
    return np.asarray(both / np.sqrt(2))


COMPARISONS = {
    one.name: one
    for one in (
        Comparison("cosine", "cosine", _unit_mean, _dot, _product, _unit),
        Comparison("dot", "inner product", _mean, _dot, _product, lambda mean: mean),
        Comparison("euclidean", "minus distance", _mean, _far, _far_matrix, lambda mean: mean),
        Comparison(
            "crops-euclidean", "minus mean distance of crops", _unit, _crops, _crops_matrix, None
        ),
        Comparison(
            "ecapa-published",
            "mean of the cosine of whole recordings and of crops",
            _whole_and_crops,
            _dot,
            _product,
            None,
        ),
    )
}
"""Every comparison, by name."""


WAYS = ("embeddings", "scores")
"""What of a model's recordings is averaged."""


def way_of(asked: str | None, comparison: Comparison) -> str:
    """How models are compared: as asked for, or as the comparison allows."""
    if asked is None:
        return "scores" if comparison.model is None else "embeddings"
    if asked not in WAYS:
        msg = f"--models-by {asked!r} is not known; choose from {', '.join(WAYS)}"
        raise ConfigError(msg)
    if asked == "embeddings" and comparison.model is None:
        msg = (
            f"--models-by embeddings: with --scoring {comparison.name} crops of several recordings "
            "have no mean; give --models-by scores"
        )
        raise ConfigError(msg)
    return asked


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


_CACHE = 1 << 19  # bytes of either side at once: both stay in the processor's cache
_RUN = 32
"""Pairs with one left side, on average, from which on that side is taken once for all of them."""


def pair_scores(
    kept: NDArray[Any],
    enrol: NDArray[np.integer],
    test: NDArray[np.integer],
    comparison: Comparison,
) -> NDArray[np.float64]:
    """Scores of pairs of recordings.

    Pairs are sorted, so that the vectors of one side stay near, and each is scored once. A pair's
    score depends on nothing but the pair, to the last bit: hence an inner product for each, where
    a product with a matrix would round by the company that a vector is in.

    `kept` is what the comparison keeps of each recording, (recording, ...); `enrol` and `test`, of
    shape (pair,), are places in it.

    >>> kept = np.eye(2, dtype=np.float32)
    >>> pair_scores(kept, np.array([0, 0, 0]), np.array([1, 0, 1]), COMPARISONS["dot"])
    array([0., 1., 0.])
    """
    kept = np.asarray(kept)
    code = enrol.astype(np.int64) * len(kept) + test
    left, right, place = enrol, test, None
    if not (code[1:] > code[:-1]).all():
        code, place = np.unique(code, return_inverse=True)
        left, right = np.divmod(code, len(kept))
    starts = np.flatnonzero(left[1:] != left[:-1]) + 1
    by_left = left.size >= _RUN * (starts.size + 1)
    runs = [0, *starts.tolist(), left.size] if by_left else [0, left.size]
    found = np.empty(left.size)
    step = max(_CACHE // max(kept[:1].nbytes, 1), 1)
    room = np.empty((2, min(step, left.size), *kept.shape[1:]), dtype=kept.dtype)
    for begin, end in pairwise(runs):
        for start in range(begin, end, step):
            at = slice(start, min(start + step, end))
            some = right[at]
            # without mode="clip", take would copy once more
            if by_left:
                one = kept[left[begin : begin + 1]]
            else:
                one = kept.take(left[at], axis=0, out=room[0, : some.size], mode="clip")
            if by_left and some[-1] - some[0] == some.size - 1:  # its rows are a block
                other = kept[some[0] : some[-1] + 1]
            else:
                other = kept.take(some, axis=0, out=room[1, : some.size], mode="clip")
            found[at] = comparison.pairs(one, other)
    return found if place is None else found[place]
