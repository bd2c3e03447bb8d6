"""Trials counted by cell and score: exactly where they are in memory, else in bins."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts, EdgeSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Codes, Layout, PlacedTrials
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.trial_checks import Trials

N_BINS = 1 << 16
CHUNK_SIZE = 1 << 18

LayoutCounts = tuple[list[Counts], list[Counts]]
"""Counts of each cell, and of each level: every trial that counts in one of its cells, once."""


class _Sorted(NamedTuple):
    """Trials in rising order of score."""

    rising: NDArray[np.intp]
    columns: tuple[FloatArray, NDArray[np.bool_], IntArray | None]
    """Score, class, and how often each counts."""
    everything: Counts

    @classmethod
    def of(cls, part: Trials) -> _Sorted:
        rising = part.score_order()
        weight = part.extra_columns.get("count")
        columns = (
            part.score.take(rising),
            part.target.take(rising),
            None if weight is None else weight.take(rising),
        )
        return cls(rising, columns, Counts.from_sorted(*columns))


class ExactCounts:
    """Counts per distinct score: one sort of the scores, then stable sorts by cell."""

    def __init__(self, layouts: Sequence[Layout], width: float = 0.0) -> None:
        self.layouts, self.width, self.bound = layouts, width, 0.0
        self.counted: dict[int, LayoutCounts] = {}
        self._sorted: _Sorted | None = None

    def add(self, here: PlacedTrials) -> None:
        """Count all trials of some layouts; each layout once only."""
        if here.is_first_pass or self._sorted is None:
            self._sorted = _Sorted.of(here.trials)
        rising, columns, everything = self._sorted
        for i, at in here.cells_by_layout.items():
            n_cells, n_levels = self.layouts[i].n_cells, self.layouts[i].n_strata
            if n_levels == 1 and (at.stratum == 0).all():
                pooled = [everything]
            else:
                pooled = _split(*columns, [at.stratum.take(rising)], n_levels)
            cells = pooled
            if n_cells != n_levels:
                cells = _split(*columns, [cell.take(rising) for cell in at.cells], n_cells)
            self.counted[i] = cells, pooled

    def finish(self) -> list[LayoutCounts]:
        """Counts of every layout."""
        counted = [self.counted[i] for i in range(len(self.layouts))]
        if self.width:  # each score stands for a bin
            every = (one for pair in counted for cells in pair for one in cells)
            shares = (_largest_share(np.stack((one.nontarget, one.target))) for one in every)
            self.bound = max(shares)
        return counted


def _split(
    score: FloatArray,
    target: NDArray[np.bool_],
    weight: IntArray | None,
    codes: Sequence[Codes],
    n: int,
) -> list[Counts]:
    """Counts of each cell, from trials in rising order of score."""
    code = codes[0]
    if len(codes) == 2:  # a trial may count for two groups; scores stay in their order
        code = np.stack(codes, axis=1).reshape(-1)
        score, target = score.repeat(2), target.repeat(2)
        weight = None if weight is None else weight.repeat(2)
    by_cell = np.argsort(code.astype(np.int16 if n < 1 << 15 else np.int32), kind="stable")
    ends = np.cumsum(np.bincount(code + 1, minlength=n + 1))
    score, target = score.take(by_cell), target.take(by_cell)
    weight = None if weight is None else weight.take(by_cell)
    return [
        Counts.from_sorted(
            score[start:end], target[start:end], None if weight is None else weight[start:end]
        )
        for start, end in pairwise(ends)
    ]


class BinnedCounts:
    """Counts per bin, block by block."""

    def __init__(
        self,
        layouts: Sequence[Layout],
        score_range: tuple[float, float],
        thresholds: Iterable[float],
    ) -> None:
        self.layouts, self.edges = layouts, _edges(score_range, thresholds)
        self.steps = EdgeSearch(self.edges)
        size = self.edges.size
        self.cells = [
            np.zeros(
                (one.n_cells, 2, size), dtype=np.int64 if one.n_cells == one.n_strata else np.int32
            )
            for one in layouts
        ]
        self.levels = [  # None where each trial is in one cell, so that they are sums of these
            np.zeros((one.n_strata, 2, size), dtype=np.int64)
            if one.allocation == "either"
            else None
            for one in layouts
        ]
        self.bound = 0.0
        self.width = float(np.diff(self.edges[1:-1]).max(initial=0.0))

    def add(self, here: PlacedTrials) -> None:
        """Count the trials of one block."""
        code = self.steps.step_indices(here.trials.score) - 1
        code += self.edges.size * here.trials.target
        for i, at in here.cells_by_layout.items():
            for cell in at.cells:
                _count(self.cells[i], cell, code)
            levels = self.levels[i]
            if levels is not None:
                _count(levels, at.stratum, code)

    def finish(self) -> list[LayoutCounts]:
        """Counts of every layout."""
        made = []
        for layout, cells, counted in zip(self.layouts, self.cells, self.levels, strict=True):
            shape = layout.n_strata, layout.n_groups, *cells.shape[1:]
            levels = cells.reshape(shape).sum(axis=1) if counted is None else counted
            pooled = [self._counts(one) for one in levels]
            many = pooled
            if layout.n_cells != layout.n_strata:
                many = [self._counts(one) for one in cells]
            made.append((many, pooled))
            self.bound = max(self.bound, *map(_largest_share, (*levels, *cells)))
        return made

    def _counts(self, both: NDArray[np.integer]) -> Counts:
        used = both.any(axis=0)
        nontarget, target = both[:, used].astype(np.int64)
        return Counts(self.edges[used], target, nontarget)


def _count(into: NDArray[np.integer], cell: Codes, code: NDArray[np.int64]) -> None:
    """Add trials, each in its bin, to their cells; -1 is no cell."""
    inside = np.flatnonzero(cell >= 0)
    if inside.size < cell.size:
        cell, code = cell.take(inside), code.take(inside)
    at = cell.astype(np.int64)
    at *= into[0].size
    at += code
    if into.shape[0] == 1:
        into.reshape(-1)[:] += np.bincount(at, minlength=into.size)
    else:
        np.add.at(into.reshape(-1), at, into.dtype.type(1))  # another type would be slow


def _edges(limits: tuple[float, float], thresholds: Iterable[float]) -> FloatArray:
    """Lower bin edges: an even grid over the finite scores, the infinities, and thresholds."""
    grid = np.linspace(*limits, N_BINS)
    extra = np.array([t for t in thresholds if not np.isnan(t)], dtype=np.float64)
    return np.unique(np.concatenate(([-np.inf], grid, [np.inf], extra)))


def _largest_share(both: NDArray[np.integer]) -> float:
    """Largest share of a class of trials in one bin, of the bins that hold both classes.

    In a bin of one class nothing is lost: no threshold inside it beats both of its ends.
    """
    mixed = both[:, both.all(axis=0)]
    total = both.sum(axis=-1)
    return float((mixed.max(axis=-1, initial=0) / np.maximum(total, 1)).max())
