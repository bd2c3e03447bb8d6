"""Random draws that are the same on any machine, Python and NumPy.

Everything comes from the raw 64-bit words of PCG64 seeded by a SeedSequence: NumPy promises that
these stay as they are, and does not for what generators make of them (``choice``, ``shuffle``).
Words become numbers by one multiplication of doubles, which IEEE 754 fixes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]

__all__ = ["Draws", "among", "below", "ordered", "spans"]

AGAIN = 1 << 40
"""Key of the streams for what is drawn again; no speaker or cell has so high a key."""


@dataclass(frozen=True)
class Draws:
    """Streams of random words, one for each key: children of a seed, as spawning makes them.

    Attributes
    ----------
    seed : int
        At least 0.
    path : tuple of int
        Keys of the children that lead here.

    Examples
    --------
    >>> Draws(1).child(2).words([0, 1], [2, 1]).tolist() == [
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 0))).random_raw(2).tolist(),
    ...     *np.random.PCG64(np.random.SeedSequence(1, spawn_key=(2, 1))).random_raw(1).tolist(),
    ... ]
    True
    """

    seed: int
    path: tuple[int, ...] = ()

    def child(self, key: int) -> Draws:
        """Streams of their own."""
        return Draws(self.seed, (*self.path, key))

    def words(self, keys: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Words:
        """The first words of the stream of each key, one stream after the other."""
        made = [
            np.random.PCG64(
                np.random.SeedSequence(self.seed, spawn_key=(*self.path, key))
            ).random_raw(count)
            for key, count in zip(map(int, keys), map(int, counts), strict=True)
            if count
        ]
        return np.concatenate(made) if made else np.empty(0, dtype=np.uint64)

    def distinct(
        self, population: Ints, wanted: Ints, keys: Sequence[int] | Ints | None = None
    ) -> Ints:
        """Draw numbers without replacement from several ranges, without enumerating them.

        Parameters
        ----------
        population : int64 ndarray of shape (ranges,)
            How many numbers each has, less than 2**53.
        wanted : int64 ndarray of shape (ranges,)
            How many of them to draw, at most all.
        keys
            The stream of each range; by default its place.

        Returns
        -------
        int64 ndarray of shape (sum of wanted,)
            Rising; numbers of a range follow on those of the range before.

        Examples
        --------
        >>> Draws(0).distinct(np.array([3, 10**15]), np.array([3, 0])).tolist()
        [0, 1, 2]
        """
        own = np.arange(population.size) if keys is None else np.asarray(keys)
        ends = np.cumsum(population)
        starts = ends - population
        found = []
        is_dense = 2 * wanted > population
        for at in np.flatnonzero(is_dense & (wanted > 0)):  # as many words as numbers, or fewer
            n = int(population[at])
            order = np.argsort(self.words(own[at : at + 1], [n]), kind="stable")
            found.append(starts[at] + np.sort(order[: wanted[at]]))
        missing = np.where(is_dense, 0, wanted)
        words = self.words(own, missing)
        again = self.child(AGAIN)
        sparse: list[Ints] = []
        while missing.any():
            each = np.repeat(np.arange(own.size), missing)
            fresh = _once(starts[each] + below(population[each], words))
            for before in sparse:
                fresh = fresh[~among(fresh, before)]
            sparse.append(fresh)
            missing = missing - np.searchsorted(fresh, ends) + np.searchsorted(fresh, starts)
            words = again.words([len(sparse)], [int(missing.sum())])
        if not (found or sparse):
            return starts[:0]
        return np.sort(np.concatenate([*found, *sparse]), kind="stable")  # merges what is rising


def _once(numbers: Ints) -> Ints:
    """Rising, each once."""
    rising = np.sort(numbers)
    return rising[np.concatenate(([True], rising[1:] != rising[:-1]))]


def below(n: Ints | int, words: Words) -> Ints:
    """Numbers from 0 to n - 1, one a word; n less than 2**53.

    Examples
    --------
    >>> below(10, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 5, 9]
    """
    unit = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (unit * n).astype(np.int64)


def ordered(words: Words, block: NDArray[np.integer]) -> Ints:
    """Places in the order of the blocks, within each block in random order."""
    return np.lexsort((words, block))


def spans(counts: Ints) -> Ints:
    """Number each item within its block: 0, 1, ... for each count.

    Examples
    --------
    >>> spans(np.array([2, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)


def among(some: Ints, rising: Ints) -> NDArray[np.bool_]:
    """Which of some numbers are among rising ones."""
    if not rising.size:
        return np.zeros(some.size, dtype=bool)
    at = np.minimum(np.searchsorted(rising, some), rising.size - 1)
    return np.asarray(rising[at] == some)
