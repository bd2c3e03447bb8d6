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

_CHUNK_BYTES = 1 << 25  # bytes of vectors at once


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

    def places(self, ids: pl.Series, asking: str, plural: str = "recordings") -> NDArray[np.int32]:
        """Place of each of some distinct ids; one that is not there is an error."""
        return recording_places(
            ids, self.ids, asking=asking, source=self.name, mend="embed them into it", plural=plural
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
        msg = f"{name}: {listed_ids(twice, ids, 'recordings')} occur twice"
        hint = "keep each recording once"
        raise DataError(msg, hint)
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
    return max(_CHUNK_BYTES // max(values[:1].size * 8, 1), 1)


@dataclass(frozen=True)
class VectorComparison:
    """A way to compare vectors."""

    name: str
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
        return self.pairs is _inner_products


def comparison_named(name: str) -> VectorComparison:
    """The comparison of this name."""
    if name not in COMPARISONS:
        msg = f"--scoring {name!r} is not known"
        hint = f"choose from {', '.join(COMPARISONS)}"
        raise ConfigError(msg, hint)
    return COMPARISONS[name]


def _unit(vectors: Array) -> Array:
    """The vectors, each of length 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _mean(vectors: Array) -> Array:
    return np.asarray(vectors.mean(axis=1))


def _unit_mean(vectors: Array) -> Array:
    return _unit(_mean(vectors))


def _inner_products(enrol: Array, test: Array) -> Array:
    return np.asarray(np.vecdot(enrol, test, dtype=np.float64))


def _inner_product_matrix(enrol: Array, test: Array) -> Array:
    return np.asarray(enrol @ test.T)


def _negative_distances(enrol: Array, test: Array) -> Array:
    """Minus the distance of each pair."""
    difference = enrol - test
    return np.asarray(-np.sqrt(np.vecdot(difference, difference)))


def _negative_distance_matrix(enrol: Array, test: Array) -> Array:
    squares = np.vecdot(enrol, enrol)[:, None] + np.vecdot(test, test) - 2 * enrol @ test.T
    return np.asarray(-np.sqrt(np.maximum(squares, 0)))


def _unit_distances(cosines: Array) -> Array:
    """Distances of vectors of length 1."""
    return np.asarray(np.sqrt(np.maximum(2 - 2 * cosines, 0)))


def _negative_crop_distances(enrol: Array, test: Array) -> Array:
    """Minus the mean distance of crops, in double precision: nearly equal ones need it."""
    enrol, test = _unit(enrol.astype(np.float64)), _unit(test.astype(np.float64))
    return np.asarray(-_unit_distances(enrol @ test.swapaxes(1, 2)).mean(axis=(1, 2)))


def _negative_crop_distance_matrix(enrol: Array, test: Array) -> Array:
    enrol, test = _unit(enrol.astype(np.float64)), _unit(test.astype(np.float64))
    test_crops = test.reshape(-1, test.shape[-1])
    shape = (enrol.shape[1], *test.shape[:2])
    # one recording of the left at a time: memory for its crops against all others
    return np.stack(
        [
            -_unit_distances(enrol_crops @ test_crops.T).reshape(shape).mean(axis=(0, 2))
            for enrol_crops in enrol
        ]
    )


def _whole_and_crops(vectors: Array) -> Array:
    """Both cosines as one inner product: a mean over pairs is the product of the means."""
    if vectors.shape[1] < 2:
        msg = (
            "--scoring ecapa-published needs vectors of the whole recording and of crops, but "
            "each recording has one vector"
        )
        hint = "give --scoring cosine"
        raise ConfigError(msg, hint)
    unit = _unit(vectors)
    joined = np.concatenate((unit[:, 0], unit[:, 1:].mean(axis=1)), axis=1)
    return np.asarray(joined / np.sqrt(2))


COMPARISONS = {
    listed.name: listed
    for listed in (
        VectorComparison("cosine", _unit_mean, _inner_products, _inner_product_matrix, _unit),
        VectorComparison("dot", _mean, _inner_products, _inner_product_matrix, lambda mean: mean),
        VectorComparison(
            "euclidean",
            _mean,
            _negative_distances,
            _negative_distance_matrix,
            lambda mean: mean,
        ),
        VectorComparison(
            "crops-euclidean",
            _unit,
            _negative_crop_distances,
            _negative_crop_distance_matrix,
            None,
        ),
        VectorComparison(
            "ecapa-published",
            _whole_and_crops,
            _inner_products,
            _inner_product_matrix,
            None,
        ),
    )
}
"""Every comparison, by name."""


AVERAGED = ("embeddings", "scores")
"""What of a model's recordings is averaged."""


def models_averaging(models_by: str | None, comparison: VectorComparison) -> str:
    """How models are compared: as asked for, or as the comparison allows."""
    if models_by is None:
        return "scores" if comparison.model is None else "embeddings"
    if models_by not in AVERAGED:
        msg = f"--models-by {models_by!r} is not known"
        hint = f"choose from {', '.join(AVERAGED)}"
        raise ConfigError(msg, hint)
    if models_by == "embeddings" and comparison.model is None:
        msg = (
            f"--models-by embeddings: with --scoring {comparison.name}, crops of several "
            "recordings cannot be averaged"
        )
        hint = "give --models-by scores"
        raise ConfigError(msg, hint)
    return models_by


def mean_of(vectors: Vectors, places: NDArray[np.integer]) -> NDArray[np.float64]:
    """Mean vector (dimension,) of some recordings and all of their crops."""
    rows = vectors.row[places]
    total = np.zeros(vectors.values.shape[-1])
    for start in range(0, rows.size, _rows(vectors.values)):
        chunk = vectors.values[rows[start : start + _rows(vectors.values)]]
        total += chunk.mean(axis=1, dtype=np.float64).sum(axis=0)
    return np.asarray(total / rows.size)


def prepare_vectors(
    vectors: Vectors,
    places: NDArray[np.integer],
    comparison: VectorComparison,
    *,
    mean: NDArray[np.float64] | None = None,
    path: Path | None = None,
    n_free_rows: int = 0,
    precise: bool = False,
) -> NDArray[Any]:
    """What a comparison keeps of some recordings, none of which failed: (recording + more, ...).

    A `mean` of shape (dimension,) is subtracted first. It is kept in memory, or in a scratch file
    at `path`; `n_free_rows` rows stay free below. Scores that are normalised need double
    precision (`precise`): they are differences of scores, divided by a small number. A vector that
    is zero, or holds a number that is not finite, is an error.
    """
    rows = vectors.row[places]
    # Single precision halves memory; normalised scores are differences and need double.
    float_type = np.float64 if precise else np.float32
    chunks = _prepared(vectors, places, comparison, mean)
    first_chunk = next(chunks, np.empty((0, vectors.values.shape[-1])))
    shape = (rows.size + n_free_rows, *first_chunk.shape[1:])
    if path is None:
        prepared, start = np.zeros(shape, dtype=float_type), 0
        for chunk in (first_chunk, *chunks):
            prepared[start : start + len(chunk)] = chunk
            start += len(chunk)
        return prepared
    if not first_chunk.size:
        return np.empty(shape, dtype=float_type)
    with path.open("wb") as file:  # not through a map, in which a full disk kills the process
        header = {"descr": np.dtype(float_type).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for chunk in (first_chunk, *chunks):
            file.write(chunk.astype(float_type).tobytes())
        for _ in range(n_free_rows):
            file.write(bytes(first_chunk[:1].size * np.dtype(float_type).itemsize))
    return np.asarray(np.load(path, mmap_mode="r+"))


def _prepared(
    vectors: Vectors,
    places: NDArray[np.integer],
    comparison: VectorComparison,
    mean: NDArray[np.float64] | None,
) -> Iterator[NDArray[Any]]:
    """What is kept, a block after the other, in double precision."""
    rows = vectors.row[places]
    for start in range(0, rows.size, _rows(vectors.values)):
        chunk_slice = slice(start, start + _rows(vectors.values))
        chunk = np.asarray(vectors.values[rows[chunk_slice]], dtype=np.float64)
        if mean is not None:
            chunk -= mean
        prepared = comparison.prepare(chunk)
        is_unusable = ~np.isfinite(prepared).all(axis=tuple(range(1, prepared.ndim))) | ~chunk.any(
            -1
        ).all(-1)
        if is_unusable.any():
            ids = vectors.ids.gather(places[chunk_slice][is_unusable])
            infinite = ~np.isfinite(chunk[is_unusable]).all(axis=(1, 2))
            fault = "vectors of zeros" + ("" if mean is None else " once the mean is subtracted")
            if infinite.any():
                fault = "vectors with values that are not finite in single precision"
                ids = ids.filter(pl.Series(infinite))
            msg = f"{vectors.name}: {listed_ids(ids, vectors.ids, 'recordings')} have {fault}"
            hint = "embed these recordings again, or leave them out"
            raise DataError(msg, hint)
        yield prepared


_CACHE_BYTES = 1 << 19  # bytes of either side at once: both stay in the processor's cache
_MIN_PAIRS_PER_RUN = 32
"""Pairs with one left side, on average, from which on that side is taken once for all of them."""


def pair_scores(
    prepared: NDArray[Any],
    enrol: NDArray[np.integer],
    test: NDArray[np.integer],
    comparison: VectorComparison,
) -> NDArray[np.float64]:
    """Scores of pairs of recordings.

    Pairs are sorted, so that the vectors of one side stay near, and each is scored once. A pair's
    score depends on nothing but the pair, to the last bit: hence an inner product for each, where
    a product with a matrix would round by the company that a vector is in.

    `prepared` is what the comparison keeps of each recording, (recording, ...); `enrol` and `test`,
    of shape (pair,), are places in it.

    >>> kept = np.eye(2, dtype=np.float32)
    >>> pair_scores(kept, np.array([0, 0, 0]), np.array([1, 0, 1]), COMPARISONS["dot"])
    array([0., 1., 0.])
    """
    prepared = np.asarray(prepared)
    code = enrol.astype(np.int64) * len(prepared) + test
    left_rows, right_rows, positions = enrol, test, None
    # Sorted pairs read neighbouring vectors, and a pair that occurs twice is scored once.
    if not (code[1:] > code[:-1]).all():
        code, positions = np.unique(code, return_inverse=True)
        left_rows, right_rows = np.divmod(code, len(prepared))
    # Lists often compare one model with many recordings: its vector is then read once.
    starts = np.flatnonzero(left_rows[1:] != left_rows[:-1]) + 1
    by_left = left_rows.size >= _MIN_PAIRS_PER_RUN * (starts.size + 1)
    run_edges = [0, *starts.tolist(), left_rows.size] if by_left else [0, left_rows.size]
    scores = np.empty(left_rows.size)
    step = max(_CACHE_BYTES // max(prepared[:1].nbytes, 1), 1)
    buffers = np.empty((2, min(step, left_rows.size), *prepared.shape[1:]), dtype=prepared.dtype)
    for begin, end in pairwise(run_edges):
        for start in range(begin, end, step):
            pair_slice = slice(start, min(start + step, end))
            right_of_slice = right_rows[pair_slice]
            # without mode="clip", take would copy once more
            if by_left:
                left_vectors = prepared[left_rows[begin : begin + 1]]
            else:
                left_vectors = prepared.take(
                    left_rows[pair_slice],
                    axis=0,
                    out=buffers[0, : right_of_slice.size],
                    mode="clip",
                )
            if (
                by_left and right_of_slice[-1] - right_of_slice[0] == right_of_slice.size - 1
            ):  # its rows are a block
                right_vectors = prepared[right_of_slice[0] : right_of_slice[-1] + 1]
            else:
                right_vectors = prepared.take(
                    right_of_slice, axis=0, out=buffers[1, : right_of_slice.size], mode="clip"
                )
            scores[pair_slice] = comparison.pairs(left_vectors, right_vectors)
    return scores if positions is None else scores[positions]
