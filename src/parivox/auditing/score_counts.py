"""Trials counted by cell and score: at each score or, where a table has edges, in bins."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts, EdgeSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Codes, Layout, PlacedTrials
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.trial_checks import Trials

_MAX_NARROW_TRIALS = 1 << 30
"""Trials whose counts by score are held in 32 bits: sums of both classes do not overflow."""

LayoutCounts = tuple[list[Counts], list[Counts]]
"""Counts of each cell, and of each stratum: every trial that counts in one of its cells, once."""


class _SortedTrials(NamedTuple):
    """Trials in rising order of score."""

    rising: NDArray[np.intp]
    columns: tuple[FloatArray, NDArray[np.int8], IntArray | None]
    """Score, class, and how often each counts."""
    all_counts: Counts

    @classmethod
    def from_trials(cls, trials: Trials, n_classes: int) -> _SortedTrials:
        """Return trials sorted by score."""
        rising = trials.score_order()
        weight = trials.extra_columns.get("count")
        columns = (
            trials.score.take(rising),
            trials.trial_class.take(rising),
            None if weight is None else weight.take(rising),
        )
        return cls(rising, columns, Counts.from_sorted(*columns, n_classes=n_classes))


class ExactCounts:
    """Counts per distinct score: one sort of the scores, then stable sorts by cell."""

    chunk_size = 0
    """Trials that are added at a time: all."""

    def __init__(self, layouts: Sequence[Layout], width: float, n_classes: int) -> None:
        self.layouts, self.width, self.rate_bound = layouts, width, 0.0
        self.n_classes = n_classes
        self.counts_by_layout: dict[int, LayoutCounts] = {}
        self._sorted: _SortedTrials | None = None

    def add(self, placed: PlacedTrials) -> None:
        """Count all trials of some layouts; each layout once only."""
        if placed.is_first_pass or self._sorted is None:
            self._sorted = _SortedTrials.from_trials(placed.trials, self.n_classes)
        rising, columns, all_counts = self._sorted
        for i, trial_cells in placed.cells_by_layout.items():
            n_cells, n_strata = self.layouts[i].n_cells, self.layouts[i].n_strata
            if n_strata == 1 and (trial_cells.stratum == 0).all():
                pooled = [all_counts]
            else:
                strata = [trial_cells.stratum.take(rising)]
                pooled = _split_by_cell(*columns, strata, n_strata, self.n_classes)
            cells = pooled
            if n_cells != n_strata:
                codes = [cell.take(rising) for cell in trial_cells.cells]
                cells = _split_by_cell(*columns, codes, n_cells, self.n_classes)
            self.counts_by_layout[i] = cells, pooled

    def finish(self) -> list[LayoutCounts]:
        """Counts of every layout."""
        layout_counts = [self.counts_by_layout[i] for i in range(len(self.layouts))]
        if self.width:  # each score stands for a bin
            for cell_and_stratum_counts in layout_counts:
                for counts in chain(*cell_and_stratum_counts):
                    share = _largest_share(np.stack(counts.by_class))
                    self.rate_bound = max(self.rate_bound, share)
        return layout_counts


def _split_by_cell(
    score: FloatArray,
    trial_class: NDArray[np.int8],
    weight: IntArray | None,
    codes: Sequence[Codes],
    n_cells: int,
    n_classes: int,
) -> list[Counts]:
    """Return the counts of each cell, from trials in rising order of score."""
    code = codes[0]
    if len(codes) == 2:  # a trial may count for two groups; scores stay in their order
        code = np.stack(codes, axis=1).reshape(-1)
        score, trial_class = score.repeat(2), trial_class.repeat(2)
        weight = None if weight is None else weight.repeat(2)
    by_cell = np.argsort(code.astype(np.int16 if n_cells < 1 << 15 else np.int32), kind="stable")
    ends = np.cumsum(np.bincount(code + 1, minlength=n_cells + 1))
    score, trial_class = score.take(by_cell), trial_class.take(by_cell)
    weight = None if weight is None else weight.take(by_cell)
    # unweighted counts of a cell add up to its trials, which are few enough for half the memory
    dtype = np.int32 if weight is None and score.size < _MAX_NARROW_TRIALS else np.int64
    return [
        Counts.from_sorted(
            score[start:end],
            trial_class[start:end],
            None if weight is None else weight[start:end],
            n_classes=n_classes,
        ).astype(dtype)
        for start, end in pairwise(ends)
    ]


class BinnedCounts:
    """Counts per bin, chunk by chunk."""

    chunk_size = 1 << 18
    """Trials that are added at a time."""

    def __init__(self, layouts: Sequence[Layout], edges: FloatArray, n_classes: int) -> None:
        self.layouts, self.edges = layouts, edges
        self.steps = EdgeSearch(self.edges)
        size = self.edges.size
        self.cells = [
            np.zeros(
                (layout.n_cells, n_classes, size),
                dtype=np.int64 if layout.n_cells == layout.n_strata else np.int32,
            )
            for layout in layouts
        ]
        self.strata = [  # None where each trial is in one cell, so that they are sums of these
            np.zeros((layout.n_strata, n_classes, size), dtype=np.int64)
            if layout.allocation == "either"
            else None
            for layout in layouts
        ]
        self.rate_bound = 0.0
        self.width = float(np.diff(self.edges[1:-1]).max(initial=0.0))

    def add(self, placed: PlacedTrials) -> None:
        """Count the trials of one chunk."""
        codes = self.steps.step_indices(placed.trials.score) - 1
        codes += self.edges.size * placed.trials.trial_class.astype(np.int64)
        for i, trial_cells in placed.cells_by_layout.items():
            for cell in trial_cells.cells:
                _count(self.cells[i], cell, codes)
            stratum_bins = self.strata[i]
            if stratum_bins is not None:
                _count(stratum_bins, trial_cells.stratum, codes)

    def finish(self) -> list[LayoutCounts]:
        """Counts of every layout."""
        layout_counts = []
        for layout, cells, strata in zip(self.layouts, self.cells, self.strata, strict=True):
            shape = layout.n_strata, layout.n_cells_per_stratum, *cells.shape[1:]
            if strata is None:
                strata = cells.reshape(shape).sum(axis=1)  # noqa: PLW2901
            pooled = [self._counts(bins) for bins in strata]
            by_cell = pooled
            if layout.n_cells != layout.n_strata:
                by_cell = [self._counts(bins) for bins in cells]
            layout_counts.append((by_cell, pooled))
            self.rate_bound = max(self.rate_bound, *map(_largest_share, (*strata, *cells)))
        return layout_counts

    def _counts(self, bins: NDArray[np.integer]) -> Counts:
        is_used = bins.any(axis=0)
        return Counts.from_classes(self.edges[is_used], list(bins[:, is_used].astype(np.int64)))


def _count(bins: NDArray[np.integer], cell: Codes, code: NDArray[np.int64]) -> None:
    """Add trials, each in its bin, to their cells; -1 is no cell."""
    inside = np.flatnonzero(cell >= 0)
    if inside.size < cell.size:
        cell, code = cell.take(inside), code.take(inside)
    positions = cell.astype(np.int64)
    positions *= bins[0].size
    positions += code
    if bins.shape[0] == 1:
        bins.reshape(-1)[:] += np.bincount(positions, minlength=bins.size)
    else:
        np.add.at(bins.reshape(-1), positions, bins.dtype.type(1))  # another type would be slow


def _largest_share(bins: NDArray[np.integer]) -> float:
    """Return the largest share of a class of trials in one bin, of the bins that hold two classes.

    In a bin of one class nothing is lost: no threshold inside it beats both of its ends.
    """
    mixed_bins = bins[:, (bins > 0).sum(axis=0) > 1]
    total = bins.sum(axis=-1)
    return float((mixed_bins.max(axis=-1, initial=0) / np.maximum(total, 1)).max())
