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
_ROUNDING_IN_CELLS = 1e-8
"""Of a cell: scores as near to an edge are told from their pairs."""
_SEVERAL_EDGES = -1
MAX_BINS = 1 << 20
MAX_DENSE_COUNTS = 1 << 28
"""Counts of one kind that are held in memory, though most may be 0 and take none."""
MAX_SPARSE_PAIRS = 1 << 25
"""Pairs whose counts by unit are held one by one where there are more units."""
MAX_COUNTS_AT_ONCE = 1 << 20
"""Counts that are looked through at once."""
_SPARSE_CODES_PER_PAIR = 16
"""Codes for each pair, above which most count nothing."""


class Edges:
    """Where scores are counted: at the highest edge that is not above them.

    With a step, an even grid of cells finds it, each of which mostly has one edge, at its lower
    end. Thresholds alone are few: scores are compared with each, in one cell from the lowest to the
    highest score that may be.
    """

    def __init__(self, bins: Bins, limits: tuple[float, float, float]) -> None:
        low, high, off = limits
        if bins.step and high - low > MAX_BINS * bins.width:
            msg = (
                f"--step {bins.step}: makes {(high - low) / bins.width:,.0f} bins, because scores "
                f"can be from {low:.4g} to {high:.4g}"
            )
            hint = "give a larger step"
            raise ConfigError(msg, hint)
        self.values = bins.edges_between(low, high)
        self.is_grid = bool(bins.width)  # whether edges lie between all cells
        width = bins.width or max(high - low, 1e-9)
        self.scale, start = 1 / width, self.values[0] if self.is_grid else low
        self.start = start / width
        self.rounding = max(off / width, _ROUNDING_IN_CELLS)
        self.values_in_cells = self.values * self.scale - self.start
        if self.is_grid:
            n = int((high - start) * self.scale) + 2
            self.edge_of_cell = (
                np.searchsorted(self.values_in_cells, np.arange(n) + 0.5, side="right") - 1
            )
            within = np.abs(self.values_in_cells - np.rint(self.values_in_cells)) > self.rounding
            self.is_one_edge_per_cell = not within.any() and np.array_equal(
                self.edge_of_cell[:-1], np.arange(n - 1)
            )
            self.edge_of_cell[self.values_in_cells[within].astype(np.int64)] = _SEVERAL_EDGES

    def __len__(self) -> int:
        return int(self.values.size)

    def edges_of(self, cells: Floats, exact_scores: Callable[[Ints], Floats]) -> Ints:
        """Edge of each score, given where it is in the grid, which is overwritten.

        Of scores too near to an edge `exact_scores` are asked for, by their places. Arrays are of
        shape (score,).
        """
        edge_index, uncertain = self._in_grid(cells) if self.is_grid else self._compared(cells)
        if uncertain.size:
            edge_index[uncertain] = (
                np.searchsorted(self.values, exact_scores(uncertain), side="right") - 1
            )
        return edge_index

    def _compared(self, cells: Floats) -> tuple[Ints, Ints]:
        """Edge of each score, or the next, and the places of those too near to an edge."""
        kind = np.min_scalar_type(len(self))
        lowest_edge, highest_edge = np.zeros((2, cells.size), dtype=kind)
        for edge in self.values_in_cells[1:]:
            lowest_edge += cells >= edge + self.rounding
            highest_edge += cells >= edge - self.rounding
        return lowest_edge, np.flatnonzero(lowest_edge != highest_edge)

    def _in_grid(self, cells: Floats) -> tuple[Ints, Ints]:
        """Edge of each score, or the next, and the places of those too near to an edge."""
        edge_index = cells.astype(np.int64)
        uncertain = [np.empty(0, dtype=np.int64)]
        if not self.is_one_edge_per_cell:
            edge_index[:] = np.take(self.edge_of_cell, edge_index, mode="clip")
            odd_positions = np.flatnonzero(edge_index == _SEVERAL_EDGES)
            edge_index[odd_positions] = (
                np.searchsorted(self.values_in_cells, cells[odd_positions], side="right") - 1
            )
            next_edge = np.minimum(edge_index[odd_positions] + 1, self.values_in_cells.size - 1)
            candidates = np.stack((edge_index[odd_positions], next_edge))
            distance = np.abs(cells[odd_positions] - self.values_in_cells[candidates])
            uncertain.append(odd_positions[(distance <= self.rounding).any(axis=0)])
        cells -= np.rint(cells)
        np.abs(cells, out=cells)
        if cells.min(initial=1.0) <= self.rounding:
            uncertain.append(np.flatnonzero(cells <= self.rounding))
        return edge_index, np.concatenate(uncertain)


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
    def recording_of_unit(self) -> Ints:
        """A recording of each unit."""
        return np.unique(self.unit, return_index=True)[1]


class TileSide(NamedTuple):
    """Recordings on one side of a tile, in order of their units."""

    recordings: Ints
    vectors: Floats  # as a tile takes them on this side
    units: slice
    speakers: set[int]


class ByCell:
    """Pairs by class, cells of both sides and edge."""

    takes_scores = True  # of pairs of two speakers

    def __init__(self, recordings: Recordings, edges: Edges) -> None:
        self.cell, self.speaker = recordings.cell, recordings.speaker
        self.recording_of_unit = recordings.recording_of_unit
        n = int(self.cell.max()) + 1
        # Targets and nontargets, of each two groups in either order, at each edge.
        if 4 * n * n * len(edges) > MAX_DENSE_COUNTS:
            msg = (
                f"--counts: {n:,} combinations of groups with {len(edges):,} bins of scores are "
                "too many to count all pairs"
            )
            hint = "give a larger --step, or fewer --by"
            raise ConfigError(msg, hint)
        self.counts = np.zeros((2, n, n, len(edges)), dtype=np.int64)

    def codes(self, rows: TileSide, columns: TileSide) -> Ints:
        """Code of each unit of the rows with each of the columns, to which edges are added."""
        row_cells, column_cells = (_range(self.cell[side.recordings]) for side in (rows, columns))
        units = self.recording_of_unit[rows.units, None]
        code = (
            (self.cell[units] - row_cells.start) * (column_cells.stop - column_cells.start)
            + self.cell[columns.recordings]
            - column_cells.start
        )
        turned = is_turned(self.speaker[units], self.speaker[columns.recordings])
        return np.asarray((code * 2 + turned) * self.counts.shape[3])

    def code_offset(self, edge: Ints) -> Ints:
        """What is added to a code for an edge."""
        return edge

    def add(self, rows: TileSide, columns: TileSide, codes: Ints) -> None:
        """Add pairs of two speakers with these codes."""
        row_cells, column_cells = (_range(self.cell[side.recordings]) for side in (rows, columns))
        shape = (
            row_cells.stop - row_cells.start,
            column_cells.stop - column_cells.start,
            2,
            self.counts.shape[3],
        )
        tile_counts = np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)
        used_edges = np.flatnonzero(tile_counts.any(axis=(0, 1, 2)))
        edges_in_use = slice(used_edges[0], used_edges[-1] + 1) if used_edges.size else slice(0)
        self.counts[0, row_cells, column_cells, edges_in_use] += tile_counts[:, :, 0, edges_in_use]
        self.counts[0, column_cells, row_cells, edges_in_use] += tile_counts[
            :, :, 1, edges_in_use
        ].swapaxes(0, 1)

    def add_targets(self, enrol: Ints, test: Ints, edge: Ints) -> None:
        """Add pairs of one speaker."""
        np.add.at(self.counts[1], (self.cell[enrol], self.cell[test], edge), 1)


class ByUnit:
    """Pairs by units of both sides and step; of two speakers', the lower unit stands first."""

    def __init__(self, recordings: Recordings, steps: Ints) -> None:
        self.unit, self.steps = recordings.unit, steps  # of each edge
        self.n_units, self.n_steps = int(self.unit.max()) + 1, int(steps.max()) + 1
        self.is_step_per_edge = np.array_equal(steps, np.arange(steps.size))
        size = self.n_units * self.n_units * self.n_steps
        self.is_dense = size <= MAX_DENSE_COUNTS
        # Where units are too many for one dense array, few pairs can still be kept one by one.
        pairs = self.unit.size * (self.unit.size - 1) // 2
        if not self.is_dense and pairs > MAX_SPARSE_PAIRS:
            msg = (
                f"--counts: {self.n_units:,} speakers with {self.n_steps - 1} thresholds are too "
                "many to count all pairs"
            )
            hint = "give only a few --threshold, or score a trial list"
            raise ConfigError(msg, hint)
        sizes = np.bincount(self.unit)
        kind = np.int32 if int(sizes.max()) ** 2 < 1 << 31 else np.int64
        self._counts: NDArray[np.signedinteger] = np.zeros(size * self.is_dense, dtype=kind)
        self._sparse_counts: list[tuple[Ints, Ints]] = []
        self.takes_scores = self.n_steps > 1
        if not self.takes_scores:
            self._add_nontargets(recordings.speaker, sizes)

    def _add_nontargets(self, speaker: Ints, sizes: Ints) -> None:
        """Pairs of two speakers where there is one step, which no score decides on."""
        speaker_of_unit = np.empty_like(sizes)
        speaker_of_unit[self.unit] = speaker
        for unit in range(self.n_units - 1):
            later_units = slice(unit + 1, self.n_units)
            is_another_speaker = speaker_of_unit[later_units] != speaker_of_unit[unit]
            self._counts[unit * self.n_units :][later_units] = (
                sizes[unit] * sizes[later_units] * is_another_speaker
            )

    def codes(self, rows: TileSide, columns: TileSide) -> Ints:
        """Code of each unit of the rows with each of the columns, to which steps are added."""
        r, c = rows.units, columns.units
        code = np.arange(r.stop - r.start)[:, None] * (c.stop - c.start)
        return np.asarray((code + self.unit[columns.recordings] - c.start) * self.n_steps)

    def code_offset(self, edge: Ints) -> Ints:
        """What is added to a code for an edge."""
        return edge if self.is_step_per_edge else np.take(self.steps, edge, mode="clip")

    def add(self, rows: TileSide, columns: TileSide, codes: Ints) -> None:
        """Add pairs of two speakers with these codes."""
        row_units, column_units = rows.units, columns.units
        shape = (
            row_units.stop - row_units.start,
            column_units.stop - column_units.start,
            self.n_steps,
        )
        size = int(np.prod(shape))
        if size > _SPARSE_CODES_PER_PAIR * codes.size:
            distinct_codes, n_pairs = np.unique(codes, return_counts=True)
        else:
            n_by_code = np.bincount(codes, minlength=size)
            distinct_codes = np.flatnonzero(n_by_code)
            n_pairs = n_by_code[distinct_codes]
        row_unit, column_unit, step = np.unravel_index(distinct_codes, shape)
        self._add(
            ((row_unit + row_units.start) * self.n_units + column_unit + column_units.start)
            * self.n_steps
            + step,
            n_pairs,
        )

    def add_targets(self, enrol: Ints, test: Ints, edge: Ints) -> None:
        """Add pairs of one speaker."""
        code = (self.unit[enrol] * self.n_units + self.unit[test]) * self.n_steps + self.steps[edge]
        self._add(*np.unique(code, return_counts=True))

    def _add(self, codes: Ints, n_pairs: Ints) -> None:
        """Add counts of distinct codes."""
        if self.is_dense:
            self._counts[codes] += n_pairs
        elif codes.size:
            self._sparse_counts.append((codes, n_pairs))

    def rows(self) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Both units, step and number of pairs, some rows after the other, in rising order."""
        if self.is_dense:
            rows_per_chunk = (
                max(MAX_COUNTS_AT_ONCE // (self.n_units * self.n_steps), 1)
                * self.n_units
                * self.n_steps
            )
            for start in range(0, self._counts.size, rows_per_chunk):
                used_codes = np.flatnonzero(self._counts[start : start + rows_per_chunk]) + start
                yield *self._split_codes(used_codes), self._counts[used_codes].astype(np.int64)
        elif self._sparse_counts:
            codes, n_pairs = map(np.concatenate, zip(*self._sparse_counts, strict=True))
            order = np.argsort(codes, kind="stable")
            codes, n_pairs = codes[order], n_pairs[order]
            first_positions = np.flatnonzero(np.diff(codes, prepend=-1))
            yield (
                *self._split_codes(codes[first_positions]),
                np.add.reduceat(n_pairs, first_positions),
            )

    def _split_codes(self, codes: Ints) -> tuple[Ints, Ints, Ints]:
        lower_unit, higher_unit, step = np.unravel_index(
            codes, (self.n_units, self.n_units, self.n_steps)
        )
        return lower_unit, higher_unit, step


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
        self.of_scores = [pair_sum for pair_sum in sums if pair_sum.takes_scores]
        self._codes = np.empty(ROWS * COLUMNS, dtype=np.int64)

    def count(self) -> Iterator[int]:
        order, n_done = self.recordings.order, 0
        for column_start in range(0, order.size, COLUMNS):
            columns = self._tile_side(order[column_start : column_start + COLUMNS])
            column_end = column_start + columns.recordings.size
            for row_start in range(0, column_end, ROWS):
                rows = self._tile_side(order[row_start : row_start + ROWS], is_left=True)
                is_pair, first_column = None, max(column_start, row_start)
                if row_start > column_start:  # what stands before these rows was compared with them
                    columns = self._tile_side(order[row_start:column_end])
                if row_start + rows.recordings.size > column_start:
                    positions = np.arange(row_start, row_start + rows.recordings.size)[:, None]
                    is_pair = positions < np.arange(first_column, column_end)
                n_done += self._add(rows, columns, is_pair)
            yield n_done

    def _tile_side(self, recordings: Ints, *, is_left: bool = False) -> TileSide:
        prepared = self.scorer.prepared[recordings]
        if self.scorer.strangers is None:
            # the start of the grid is one more dimension, which costs no pass over the scores
            vectors = np.ones((recordings.size, prepared.shape[1] + 1))
            vectors[:, :-1] = prepared
            if not is_left:
                vectors *= self.edges.scale
                vectors[:, -1] = -self.edges.start
        else:
            vectors = prepared.astype(np.float64)
        units = _range(self.recordings.unit[recordings])
        speakers = self.recordings.speaker[self.recordings.recording_of_unit[units]]
        return TileSide(recordings, vectors, units, set(speakers.tolist()))

    def _tile(self, rows: TileSide, columns: TileSide) -> Ints:
        """Edge of each of the rows with each of the columns."""
        row_recordings, column_recordings = rows.recordings, columns.recordings
        cells = self._scores[: row_recordings.size * column_recordings.size].reshape(
            row_recordings.size, column_recordings.size
        )
        # A product of two blocks is many times faster than products of pairs, but rounds by its
        # shape: scores near an edge are computed again, pair by pair.
        np.dot(rows.vectors, columns.vectors.T, out=cells)
        if self.scorer.strangers is not None:
            slope, shift = (side * self.edges.scale for side in self.scorer.normal)
            cells *= slope[row_recordings][:, None] + slope[column_recordings]
            cells -= (shift[row_recordings][:, None] + self.edges.start) + shift[column_recordings]

        def exact_scores(positions: Ints) -> Floats:
            return self.scorer.pairs(
                row_recordings[positions // column_recordings.size],
                column_recordings[positions % column_recordings.size],
            )

        return self.edges.edges_of(cells.reshape(-1), exact_scores).reshape(cells.shape)

    def _add(self, rows: TileSide, columns: TileSide, is_pair: NDArray[np.bool_] | None) -> int:
        """Pairs of a tile; `is_pair` where only some are to count. How many they are."""
        is_target = None
        if rows.speakers & columns.speakers:
            speaker, session = self.recordings.speaker, self.recordings.session
            is_target = speaker[rows.recordings][:, None] == speaker[columns.recordings]
            is_counted = np.ones_like(is_target) if is_pair is None else is_pair
            is_target, is_pair = is_counted & is_target, is_counted & ~is_target
            if session is not None:
                is_target &= session[rows.recordings][:, None] != session[columns.recordings]
        edge = self._tile(rows, columns)
        codes = self._codes[: edge.size].reshape(edge.shape)
        unit = self.recordings.unit[rows.recordings] - rows.units.start
        # One pass over the scores serves every sum.
        for pair_sum in self.of_scores:
            np.take(pair_sum.codes(rows, columns), unit, axis=0, out=codes, mode="clip")
            codes += pair_sum.code_offset(edge)
            pair_sum.add(rows, columns, codes.reshape(-1) if is_pair is None else codes[is_pair])
        if is_target is not None and is_target.any():
            self._add_targets(rows.recordings, columns.recordings, edge, is_target)
        n_pairs = (
            rows.recordings.size * columns.recordings.size
            if is_pair is None
            else int(is_pair.sum())
        )
        return n_pairs if is_target is None else n_pairs + int(is_target.sum())

    def _add_targets(
        self, rows: Ints, columns: Ints, edge: Ints, is_target: NDArray[np.bool_]
    ) -> None:
        """Pairs of one speaker's recordings; the lower one enrols."""
        row, column = is_target.nonzero()
        row_recordings, column_recordings = rows[row], columns[column]
        for pair_sum in self.sums:
            pair_sum.add_targets(
                np.minimum(row_recordings, column_recordings),
                np.maximum(row_recordings, column_recordings),
                edge[row, column],
            )


def is_turned(first_speaker: Ints, second_speaker: Ints) -> NDArray[np.bool_]:
    """Whether of two different speakers the second one enrols, given their numbers."""
    return (first_speaker > second_speaker) ^ ((first_speaker ^ second_speaker) & 1).astype(
        np.bool_
    )


def _range(codes: Ints) -> slice:
    """From the first to the last of codes that rise by one at most."""
    return slice(int(codes[0]), int(codes[-1]) + 1)
