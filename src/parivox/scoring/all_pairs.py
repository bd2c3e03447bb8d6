"""Every pair of some recordings, scored in tiles and counted at once: no pair is ever a row.

A tile is a product of two blocks of vectors in double precision, whose last digits depend on its
shape and on the processor. So a score too near to where counts change is told from its pair alone,
as `parivox.scoring.vectors.pair_scores` does: the counts are those of the rows that
`parivox.scoring.run.score` would write.

Which recording of a pair enrols: of two speakers, numbered in the order of their ids, the earlier
one's if both numbers are even or both odd, else the later one's, so that either of two groups
enrols in about half of their pairs. Of one speaker's, the one with the lower id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.score_bins import Bins
    from parivox.scoring.comparison import Scorer

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROWS, COLUMNS = 256, 1024
"""Recordings on either side of a tile: all that is made of it stays near the processor."""
_NEAR = 1e-8
"""Of a cell: scores as near to an edge are told from their pairs."""
_ODD = -1
MOST_BINS = 1 << 20
MOST_COUNTS = 1 << 28
"""Counts of one kind that are held in memory, though most may be 0 and take none."""
MOST_APART = 1 << 25
"""Pairs whose counts by unit are held one by one where there are more units."""
MOST_ROWS = 1 << 20
"""Counts that are looked through at once."""
_SPARSE = 16
"""Codes for each pair, above which most count nothing."""


class Edges:
    """Where scores are counted: at the highest edge that is not above them.

    With a step, an even grid of cells finds it, each of which mostly has one edge, at its lower
    end. Thresholds alone are few: scores are compared with each, in one cell from the lowest to the
    highest score that may be.
    """

    def __init__(self, bins: Bins, limits: tuple[float, float, float]) -> None:
        low, high, off = limits
        if bins.step and high - low > MOST_BINS * bins.width:
            msg = (
                f"--step {bins.step}: makes {(high - low) / bins.width:,.0f} bins of scores that "
                f"may be from {low:.4g} to {high:.4g}; give a larger one"
            )
            raise ConfigError(msg)
        self.values = bins.edges_between(low, high)
        self.is_grid = bool(bins.width)  # whether edges lie between all cells
        width = bins.width or max(high - low, 1e-9)
        self.scale, start = 1 / width, self.values[0] if self.is_grid else low
        self.start = start / width
        self.near = max(off / width, _NEAR)
        self.at = self.values * self.scale - self.start  # in cells
        if self.is_grid:
            n = int((high - start) * self.scale) + 2
            self.of_cell = np.searchsorted(self.at, np.arange(n) + 0.5, side="right") - 1
            within = np.abs(self.at - np.rint(self.at)) > self.near
            self.is_even = not within.any() and np.array_equal(self.of_cell[:-1], np.arange(n - 1))
            self.of_cell[self.at[within].astype(np.int64)] = _ODD

    def __len__(self) -> int:
        return int(self.values.size)

    def of(self, cells: Floats, exact: Callable[[Ints], Floats]) -> Ints:
        """Edge of each score, given where it is in the grid, which is overwritten.

        Of scores too near to an edge the `exact` ones are asked for, by their places. Arrays are of
        shape (score,).
        """
        found, near = self._in_grid(cells) if self.is_grid else self._compared(cells)
        if near.size:
            found[near] = np.searchsorted(self.values, exact(near), side="right") - 1
        return found

    def _compared(self, cells: Floats) -> tuple[Ints, Ints]:
        """Edge of each score, or the next, and the places of those too near to an edge."""
        kind = np.min_scalar_type(len(self))
        least, most = np.zeros((2, cells.size), dtype=kind)
        for edge in self.at[1:]:
            least += cells >= edge + self.near
            most += cells >= edge - self.near
        return least, np.flatnonzero(least != most)

    def _in_grid(self, cells: Floats) -> tuple[Ints, Ints]:
        """Edge of each score, or the next, and the places of those too near to an edge."""
        found = cells.astype(np.int64)
        near = [np.empty(0, dtype=np.int64)]
        if not self.is_even:
            found[:] = np.take(self.of_cell, found, mode="clip")
            odd = np.flatnonzero(found == _ODD)
            found[odd] = np.searchsorted(self.at, cells[odd], side="right") - 1
            either = np.stack((found[odd], np.minimum(found[odd] + 1, self.at.size - 1)))
            near.append(odd[(np.abs(cells[odd] - self.at[either]) <= self.near).any(axis=0)])
        cells -= np.rint(cells)
        np.abs(cells, out=cells)
        if cells.min(initial=1.0) <= self.near:
            near.append(np.flatnonzero(cells <= self.near))
        return found, np.concatenate(near)


@dataclass(frozen=True, eq=False)
class Recordings:
    """What recordings count for, each of shape (recording,), in the order of their ids."""

    speaker: Ints  # numbered in the order of the speakers' ids
    cell: Ints  # what scores are counted by: every number from 0 on
    session: Ints | None = None  # if given, pairs of a speaker within one are left out

    @cached_property
    def order(self) -> Ints:
        """Recordings by cell, then speaker."""
        return np.lexsort((self.speaker, self.cell))

    @cached_property
    def unit(self) -> Ints:
        """Number of each recording's speaker in each cell."""
        cell, speaker = self.cell[self.order], self.speaker[self.order]
        unit = np.empty_like(self.order)
        is_new = (cell[1:] != cell[:-1]) | (speaker[1:] != speaker[:-1])
        unit[self.order] = np.concatenate(([0], np.cumsum(is_new)))
        return unit

    @cached_property
    def first(self) -> Ints:
        """A recording of each unit."""
        return np.unique(self.unit, return_index=True)[1]


class Block(NamedTuple):
    """Recordings on one side of a tile, in order of their units."""

    own: Ints
    vectors: Floats  # as a tile takes them on this side
    units: slice
    speakers: set[int]


class ByCell:
    """Pairs by class, cells of both sides and edge."""

    takes_scores = True  # of pairs of two speakers

    def __init__(self, recordings: Recordings, edges: Edges) -> None:
        self.cell, self.speaker, self.first = recordings.cell, recordings.speaker, recordings.first
        n = int(self.cell.max()) + 1
        if 4 * n * n * len(edges) > MOST_COUNTS:
            msg = (
                f"--counts: {n:,} combinations of groups at {len(edges):,} bins of scores are too "
                "many to count all pairs of them; give a larger --step, or fewer --by"
            )
            raise ConfigError(msg)
        self.counts = np.zeros((2, n, n, len(edges)), dtype=np.int64)

    def codes(self, rows: Block, columns: Block) -> Ints:
        """Code of each unit of the rows with each of the columns, to which edges are added."""
        r, c = (_range(self.cell[side.own]) for side in (rows, columns))
        units = self.first[rows.units, None]
        code = (self.cell[units] - r.start) * (c.stop - c.start) + self.cell[columns.own] - c.start
        turned = is_turned(self.speaker[units], self.speaker[columns.own])
        return np.asarray((code * 2 + turned) * self.counts.shape[3])

    def more(self, edge: Ints) -> Ints:
        """What is added to a code for an edge."""
        return edge

    def add(self, rows: Block, columns: Block, codes: Ints) -> None:
        """Add pairs of two speakers with these codes."""
        r, c = (_range(self.cell[side.own]) for side in (rows, columns))
        shape = (r.stop - r.start, c.stop - c.start, 2, self.counts.shape[3])
        found = np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)
        used = np.flatnonzero(found.any(axis=(0, 1, 2)))
        some = slice(used[0], used[-1] + 1) if used.size else slice(0)
        self.counts[0, r, c, some] += found[:, :, 0, some]
        self.counts[0, c, r, some] += found[:, :, 1, some].swapaxes(0, 1)

    def add_targets(self, enrol: Ints, test: Ints, edge: Ints) -> None:
        """Add pairs of one speaker."""
        np.add.at(self.counts[1], (self.cell[enrol], self.cell[test], edge), 1)


class ByUnit:
    """Pairs by units of both sides and step; of two speakers', the lower unit stands first."""

    def __init__(self, recordings: Recordings, steps: Ints) -> None:
        self.unit, self.steps = recordings.unit, steps  # of each edge
        self.n, self.n_steps = int(self.unit.max()) + 1, int(steps.max()) + 1
        self.is_each = np.array_equal(steps, np.arange(steps.size))  # whether each is a step
        size = self.n * self.n * self.n_steps
        self.is_dense = size <= MOST_COUNTS
        pairs = self.unit.size * (self.unit.size - 1) // 2
        if not self.is_dense and pairs > MOST_APART:
            msg = (
                f"--counts: {self.n:,} speakers at {self.n_steps - 1} thresholds are too many to "
                "tally all pairs of them; give --threshold alone and few of it, or score a list"
            )
            raise ConfigError(msg)
        sizes = np.bincount(self.unit)
        kind = np.int32 if int(sizes.max()) ** 2 < 1 << 31 else np.int64
        self._counts: NDArray[np.signedinteger] = np.zeros(size * self.is_dense, dtype=kind)
        self._apart: list[tuple[Ints, Ints]] = []
        self.takes_scores = self.n_steps > 1
        if not self.takes_scores:
            self._add_nontargets(recordings.speaker, sizes)

    def _add_nontargets(self, speaker: Ints, sizes: Ints) -> None:
        """Pairs of two speakers where there is one step, which no score decides on."""
        of_unit = np.empty_like(sizes)
        of_unit[self.unit] = speaker
        for one in range(self.n - 1):
            others = slice(one + 1, self.n)
            is_other = of_unit[others] != of_unit[one]
            self._counts[one * self.n :][others] = sizes[one] * sizes[others] * is_other

    def codes(self, rows: Block, columns: Block) -> Ints:
        """Code of each unit of the rows with each of the columns, to which steps are added."""
        r, c = rows.units, columns.units
        code = np.arange(r.stop - r.start)[:, None] * (c.stop - c.start)
        return np.asarray((code + self.unit[columns.own] - c.start) * self.n_steps)

    def more(self, edge: Ints) -> Ints:
        """What is added to a code for an edge."""
        return edge if self.is_each else np.take(self.steps, edge, mode="clip")

    def add(self, rows: Block, columns: Block, codes: Ints) -> None:
        """Add pairs of two speakers with these codes."""
        r, c = rows.units, columns.units
        shape = (r.stop - r.start, c.stop - c.start, self.n_steps)
        size = int(np.prod(shape))
        if size > _SPARSE * codes.size:
            found, n = np.unique(codes, return_counts=True)
        else:
            counted = np.bincount(codes, minlength=size)
            found = np.flatnonzero(counted)
            n = counted[found]
        one, other, step = np.unravel_index(found, shape)
        self._add(((one + r.start) * self.n + other + c.start) * self.n_steps + step, n)

    def add_targets(self, enrol: Ints, test: Ints, edge: Ints) -> None:
        """Add pairs of one speaker."""
        code = (self.unit[enrol] * self.n + self.unit[test]) * self.n_steps + self.steps[edge]
        self._add(*np.unique(code, return_counts=True))

    def _add(self, codes: Ints, n: Ints) -> None:
        """Add counts of distinct codes."""
        if self.is_dense:
            self._counts[codes] += n
        elif codes.size:
            self._apart.append((codes, n))

    def rows(self) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Both units, step and number of pairs, some rows after the other, in rising order."""
        if self.is_dense:
            some = max(MOST_ROWS // (self.n * self.n_steps), 1) * self.n * self.n_steps
            for start in range(0, self._counts.size, some):
                found = np.flatnonzero(self._counts[start : start + some]) + start
                yield *self._of(found), self._counts[found].astype(np.int64)
        elif self._apart:
            codes, n = map(np.concatenate, zip(*self._apart, strict=True))
            order = np.argsort(codes, kind="stable")
            codes, n = codes[order], n[order]
            first = np.flatnonzero(np.diff(codes, prepend=-1))
            yield *self._of(codes[first]), np.add.reduceat(n, first)

    def _of(self, codes: Ints) -> tuple[Ints, Ints, Ints]:
        one, other, step = np.unravel_index(codes, (self.n, self.n, self.n_steps))
        return one, other, step


def add_all_pairs(
    scorer: Scorer, recordings: Recordings, edges: Edges, sums: Sequence[ByCell | ByUnit]
) -> Iterator[int]:
    """Add every pair to some sums; told is now and then how many are done."""
    return _Tiles(scorer, recordings, edges, sums).count()


class _Tiles:
    """All pairs, tile by tile."""

    def __init__(
        self, scorer: Scorer, recordings: Recordings, edges: Edges, sums: Sequence[ByCell | ByUnit]
    ) -> None:
        self.scorer, self.recordings, self.edges, self.sums = scorer, recordings, edges, sums
        self._scores = np.empty(ROWS * COLUMNS)
        self.of_scores = [one for one in sums if one.takes_scores]
        self._codes = np.empty(ROWS * COLUMNS, dtype=np.int64)

    def count(self) -> Iterator[int]:
        order, done = self.recordings.order, 0
        for first in range(0, order.size, COLUMNS):
            columns = self._block(order[first : first + COLUMNS])
            end = first + columns.own.size
            for start in range(0, end, ROWS):
                rows = self._block(order[start : start + ROWS], is_left=True)
                is_pair, begun = None, max(first, start)
                if start > first:  # what stands before these rows was compared with them
                    columns = self._block(order[start:end])
                if start + rows.own.size > first:
                    place = np.arange(start, start + rows.own.size)[:, None]
                    is_pair = place < np.arange(begun, end)
                done += self._add(rows, columns, is_pair)
            yield done

    def _block(self, own: Ints, *, is_left: bool = False) -> Block:
        kept = self.scorer.kept[own]
        if self.scorer.strangers is None:
            # the start of the grid is one more dimension, which costs no pass over the scores
            vectors = np.ones((own.size, kept.shape[1] + 1))
            vectors[:, :-1] = kept
            if not is_left:
                vectors *= self.edges.scale
                vectors[:, -1] = -self.edges.start
        else:
            vectors = kept.astype(np.float64)
        units = _range(self.recordings.unit[own])
        speakers = self.recordings.speaker[self.recordings.first[units]]
        return Block(own, vectors, units, set(speakers.tolist()))

    def _tile(self, rows: Block, columns: Block) -> Ints:
        """Edge of each of the rows with each of the columns."""
        one, other = rows.own, columns.own
        cells = self._scores[: one.size * other.size].reshape(one.size, other.size)
        np.dot(rows.vectors, columns.vectors.T, out=cells)
        if self.scorer.strangers is not None:
            slope, shift = (side * self.edges.scale for side in self.scorer.normal)
            cells *= slope[one][:, None] + slope[other]
            cells -= (shift[one][:, None] + self.edges.start) + shift[other]

        def exact(places: Ints) -> Floats:
            return self.scorer.pairs(one[places // other.size], other[places % other.size])

        return self.edges.of(cells.reshape(-1), exact).reshape(cells.shape)

    def _add(self, rows: Block, columns: Block, is_pair: NDArray[np.bool_] | None) -> int:
        """Pairs of a tile; `is_pair` where only some are to count. How many they are."""
        is_target = None
        if rows.speakers & columns.speakers:
            speaker, session = self.recordings.speaker, self.recordings.session
            is_target = speaker[rows.own][:, None] == speaker[columns.own]
            whole = np.ones_like(is_target) if is_pair is None else is_pair
            is_target, is_pair = whole & is_target, whole & ~is_target
            if session is not None:
                is_target &= session[rows.own][:, None] != session[columns.own]
        edge = self._tile(rows, columns)
        codes = self._codes[: edge.size].reshape(edge.shape)
        unit = self.recordings.unit[rows.own] - rows.units.start
        for one in self.of_scores:
            np.take(one.codes(rows, columns), unit, axis=0, out=codes, mode="clip")
            codes += one.more(edge)
            one.add(rows, columns, codes.reshape(-1) if is_pair is None else codes[is_pair])
        if is_target is not None and is_target.any():
            self._add_targets(rows.own, columns.own, edge, is_target)
        n = rows.own.size * columns.own.size if is_pair is None else int(is_pair.sum())
        return n if is_target is None else n + int(is_target.sum())

    def _add_targets(
        self, rows: Ints, columns: Ints, edge: Ints, is_target: NDArray[np.bool_]
    ) -> None:
        """Pairs of one speaker's recordings; the lower one enrols."""
        row, column = is_target.nonzero()
        one, other = rows[row], columns[column]
        for each in self.sums:
            each.add_targets(np.minimum(one, other), np.maximum(one, other), edge[row, column])


def is_turned(one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Whether of two different speakers the second one enrols, given their numbers."""
    return (one > other) ^ ((one ^ other) & 1).astype(np.bool_)


def _range(codes: Ints) -> slice:
    """From the first to the last of codes that rise by one at most."""
    return slice(int(codes[0]), int(codes[-1]) + 1)
