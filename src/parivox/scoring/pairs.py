"""Scores of pairs, each pair once: what a list of a billion trials spends its time on."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.comparisons import Comparison

__all__ = ["pair_scores"]

_CACHE = 1 << 19
"""Bytes of either side at once: both stay in the processor's cache."""
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

    Parameters
    ----------
    kept : ndarray of shape (recording, ...)
        What the comparison keeps of each recording, in the precision to add up in.
    enrol, test : ndarray of int of shape (pair,)
        Places in it.
    comparison
        Of what is kept.

    Returns
    -------
    ndarray of shape (pair,)

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
    are_long = left.size >= _RUN * (starts.size + 1)
    found = (
        _of_runs(kept, left, right, [0, *starts.tolist(), left.size], comparison)
        if are_long
        else _of_pairs(kept, left, right, comparison)
    )
    return found if place is None else found[place]


def _of_pairs(
    kept: NDArray[Any],
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    comparison: Comparison,
) -> NDArray[np.float64]:
    """Both sides gathered."""
    found = np.empty(left.size)
    step = _at_once(kept)
    sides = np.empty((2, min(step, left.size), *kept.shape[1:]), dtype=kept.dtype)
    for start in range(0, left.size, step):
        at = slice(start, min(start + step, left.size))
        one, other = sides[:, : at.stop - start]
        # without mode="clip", take would copy once more
        kept.take(left[at], axis=0, out=one, mode="clip")
        kept.take(right[at], axis=0, out=other, mode="clip")
        found[at] = comparison.pairs(one, other)
    return found


def _of_runs(
    kept: NDArray[Any],
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    cuts: list[int],
    comparison: Comparison,
) -> NDArray[np.float64]:
    """The left side once for each run of pairs; the right gathered, unless its rows are a block."""
    found = np.empty(left.size)
    step = _at_once(kept)
    room = np.empty((min(step, left.size), *kept.shape[1:]), dtype=kept.dtype)
    for begin, end in pairwise(cuts):
        one = kept[left[begin : begin + 1]]
        for start in range(begin, end, step):
            some = right[start : min(start + step, end)]
            if some[-1] - some[0] == some.size - 1:
                other = kept[some[0] : some[-1] + 1]
            else:
                other = kept.take(some, axis=0, out=room[: some.size], mode="clip")
            found[start : start + some.size] = comparison.pairs(one, other)
    return found


def _at_once(kept: NDArray[Any]) -> int:
    """Rows that fit into the cache."""
    return max(_CACHE // max(kept[:1].nbytes, 1), 1)
