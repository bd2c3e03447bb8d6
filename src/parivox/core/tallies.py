"""Errors and trials by speaker: what the uncertainty of a rate is told from.

Trials that share a speaker are dependent, so that speakers, not trials, are the sample
(docs/methods/uncertainty.md#why-speakers). Target trials are tallied by speaker, nontarget trials
by unordered pair of speakers, each within its cell (a group under one allocation).

Layout: one flat axis of *entries* in rising order of their cells, one for each speaker, or
pair, that has trials in the cell. Leading axes are free: operating points, replicates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

_DENSE = 1 << 25
"""Codes that are marked one by one; beyond, they are sorted."""


@dataclass(frozen=True, eq=False)
class BySpeaker:
    """Target trials of each cell by speaker.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    speaker : integer ndarray of shape (entry,)
        Each at most once in a cell.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials rejected, and all of them.
    n_cells : int
    """

    cell: NDArray[np.integer[Any]]
    speaker: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int

    def by_cell(self, values: NDArray[np.generic]) -> FloatArray:
        """Sums over the entries of each cell: ``[..., entry]`` to ``[..., cell]``."""
        return sum_by_cell(values, self.cell, self.n_cells)

    @cached_property
    def speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell, minlength=self.n_cells)

    def part(self, start: int, stop: int) -> BySpeaker:
        """Cells `start` to `stop`, the latter excluded."""
        here = slice(*np.searchsorted(self.cell, [start, stop]).tolist())
        return BySpeaker(
            self.cell[here] - start,
            self.speaker[here],
            self.errors[..., here],
            self.trials[..., here],
            stop - start,
        )

    def at_point(self, point: int) -> BySpeaker:
        """One operating point of those on the only leading axis."""
        return replace(self, errors=self.errors[point], trials=_at_point(self.trials, point))

    def __getitem__(self, cell: int) -> BySpeaker:
        """One cell by itself."""
        return self.part(cell, cell + 1)


@dataclass(frozen=True, eq=False)
class ByPair:
    """Nontarget trials of each cell by unordered pair of speakers.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    one, other : integer ndarrays of shape (entry,)
        The two speakers, ``one < other``; each pair at most once in a cell.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials accepted, and all of them, in either order of enrolment and test.
    n_cells : int
    """

    cell: NDArray[np.integer[Any]]
    one: NDArray[np.integer[Any]]
    other: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int

    def by_cell(self, values: NDArray[np.generic]) -> FloatArray:
        """Sums over the pairs of each cell: ``[..., entry]`` to ``[..., cell]``."""
        return sum_by_cell(values, self.cell, self.n_cells)

    def by_speaker(self, values: NDArray[np.generic]) -> FloatArray:
        """Sums over the pairs with each speaker of a cell: ``[..., entry]`` to ``[..., member]``.

        Members are (cell, speaker), in rising order; see :attr:`members`.
        """
        n = self.members[0].size
        at_one, at_other = self._ends
        lead = values.shape[:-1]
        rows = int(np.prod(lead))  # not -1, as there may be no entries
        flat = np.ascontiguousarray(values, dtype=np.float64).reshape(rows, values.shape[-1])
        found = np.empty((rows, n))
        for i, row in enumerate(flat):
            found[i] = np.bincount(at_one, row, minlength=n)
            found[i] += np.bincount(at_other, row, minlength=n)
        return found.reshape(*lead, n)

    @cached_property
    def members(self) -> tuple[IntArray, IntArray]:
        """Cell and speaker of each member: who takes part in a pair of which cell."""
        codes, _ = self._coded
        return codes // self._span, codes % self._span

    @cached_property
    def speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.members[0], minlength=self.n_cells)

    @cached_property
    def pairs(self) -> IntArray:
        """Pairs of each cell, shape (cell,)."""
        return np.bincount(self.cell, minlength=self.n_cells)

    @cached_property
    def _span(self) -> int:
        return int(self.other.max(initial=0)) + 1

    @cached_property
    def _coded(self) -> tuple[IntArray, NDArray[np.integer[Any]]]:
        first = self.cell.astype(np.int64) * self._span
        ends = np.concatenate((first + self.one, first + self.other))
        return numbered(ends, self.n_cells * self._span)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        where = self._coded[1]
        return where[: self.cell.size], where[self.cell.size :]

    def part(self, start: int, stop: int) -> ByPair:
        """Cells `start` to `stop`, the latter excluded."""
        here = slice(*np.searchsorted(self.cell, [start, stop]).tolist())
        return ByPair(
            self.cell[here] - start,
            self.one[here],
            self.other[here],
            self.errors[..., here],
            self.trials[..., here],
            stop - start,
        )

    def at_point(self, point: int) -> ByPair:
        """One operating point of those on the only leading axis."""
        return replace(self, errors=self.errors[point], trials=_at_point(self.trials, point))

    def __getitem__(self, cell: int) -> ByPair:
        """One cell by itself."""
        return self.part(cell, cell + 1)


def _at_point(trials: NDArray[np.generic], point: int) -> NDArray[np.generic]:
    return trials if trials.ndim == 1 else np.asarray(trials[point])


def numbered(
    codes: NDArray[np.integer[Any]], size: int
) -> tuple[IntArray, NDArray[np.integer[Any]]]:
    """Codes below `size` that occur, rising, and the place of each code among them.

    Examples
    --------
    >>> distinct, place = numbered(np.array([7, 2, 7]), 9)
    >>> distinct.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    if size > _DENSE:
        return np.unique(codes, return_inverse=True)
    seen = np.zeros(size, dtype=np.bool_)
    seen[codes] = True
    number = np.cumsum(seen, dtype=np.int32) - 1
    return np.flatnonzero(seen), number[codes]


def sum_by_cell(values: ArrayLike, cell: NDArray[np.integer[Any]], n_cells: int) -> FloatArray:
    """Sums over the entries of each cell.

    Parameters
    ----------
    values : array_like of shape (..., entry)
    cell : integer ndarray of shape (entry,)
        Rising.
    n_cells : int

    Returns
    -------
    float64 of shape (..., cell)
        0 for cells without entries.

    Examples
    --------
    >>> sum_by_cell([1, 2, 4], np.array([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 4.0]
    """
    array = np.asarray(values, dtype=np.float64)
    found = np.zeros((*array.shape[:-1], n_cells))
    if cell.size:
        first = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
        found[..., cell[first]] = np.add.reduceat(array, first, axis=-1)
    return found
