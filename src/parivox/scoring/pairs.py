"""Scores of pairs, each pair once: what a list of a billion trials spends its time on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.comparisons import Comparison

__all__ = ["pair_scores"]

_CACHE = 1 << 19
"""Bytes of either side at once: both stay in the processor's cache."""


def pair_scores(
    kept: NDArray[Any],
    enrol: NDArray[np.integer],
    test: NDArray[np.integer],
    comparison: Comparison,
) -> NDArray[np.float64]:
    """Scores of pairs of recordings.

    Pairs are sorted, so that the vectors of one side stay near, and each is scored once. A pair's
    score depends on nothing but the pair, to the last bit.

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
    place = None
    if not (code[1:] > code[:-1]).all():
        code, place = np.unique(code, return_inverse=True)
    left, right = np.divmod(code, len(kept))
    found = np.empty(code.size)
    step = max(_CACHE // max(kept[:1].nbytes, 1), 1)
    sides = np.empty((2, min(step, code.size), *kept.shape[1:]), dtype=kept.dtype)
    for start in range(0, code.size, step):
        at = slice(start, min(start + step, code.size))
        one, other = sides[:, : at.stop - start]
        # without mode="clip", take would copy once more
        kept.take(left[at], axis=0, out=one, mode="clip")
        kept.take(right[at], axis=0, out=other, mode="clip")
        found[at] = comparison.pairs(one, other)
    return found if place is None else found[place]
