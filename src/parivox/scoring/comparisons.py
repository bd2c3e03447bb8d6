"""How two recordings' vectors become a score; higher is more alike.

=================== ================================================================
``cosine``          of the means over crops, in [-1, 1]
``dot``             inner product of the means over crops
``euclidean``       minus the distance of the means over crops
``crops-euclidean`` minus the mean distance of all pairs of crops, each of length 1
``ecapa-published`` mean of the cosine of the first crops, which are the whole
                    recordings, and the mean cosine of all pairs of the others
=================== ================================================================

A comparison first *prepares* each recording's vectors, once, in double precision, so that what is
left to do for a trial is as little as can be: mostly one inner product in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.floating]


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
    return np.asarray(np.vecdot(left, right))


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

    `kept` is what the comparison keeps of each recording, (recording, ...), in the precision to add
    up in; `enrol` and `test`, of shape (pair,), are places in it.

    Examples
    --------
    >>> from parivox.scoring.comparisons import COMPARISONS
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
