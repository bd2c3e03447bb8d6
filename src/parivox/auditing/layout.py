"""Which cells a trial counts in: groupings, the allocation of nontarget trials, strata.

A *cell* is what a rate is computed on: one group of one grouping under one allocation of nontarget
trials (docs/methods/rates.md#groups-of-trials), of all trials or of those within one stratum of
another grouping. Groups of both sides come from `parivox.data.grouping.Grouping.side_coder`;
which of them a trial counts for is decided here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

    Codes: TypeAlias = NDArray[np.int32]
    Sides: TypeAlias = tuple[Codes, Codes]

ALLOCATIONS = ("both", "enrol", "test", "either")
CROSS = "cross"
"""Every pair of groups, enrolment first, is a cell: the matrix between groups."""
_NO_GROUP = np.int32(-1)


class Layout(NamedTuple):
    """Cells that are counted together: the groups of one grouping, for each stratum."""

    grouping: Grouping | None  # none for all trials together
    allocation: str  # one of `ALLOCATIONS`, or `CROSS`; empty for all trials together
    within: Grouping | None  # whose values are the strata; None for all trials

    @property
    def n_strata(self) -> int:
        """Number of strata."""
        return 1 if self.within is None else len(self.within.groups)

    @property
    def n_cells_per_stratum(self) -> int:
        """Cells in each stratum: groups or, for pairs of groups, their square."""
        n_groups = 1 if self.grouping is None else len(self.grouping.groups)
        return n_groups * n_groups if self.allocation == CROSS else n_groups

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.n_strata * self.n_cells_per_stratum

    def stratum_names(self) -> list[str]:
        """Return the strata as the column ``within`` has them."""
        if self.within is None:
            return [""]
        return [f"{self.within.name}={group}" for group in self.within.groups]


def cell_layouts(
    groupings: Sequence[Grouping], allocations: Sequence[str], within: Sequence[Grouping]
) -> list[Layout]:
    """Return the layouts of an audit, in the order in which cells come.

    All trials and the strata first, then every grouping under every allocation within them.
    """
    strata = (None, *within)
    layouts = [Layout(None, "", strata_grouping) for strata_grouping in strata]
    for strata_grouping in strata:
        for grouping in groupings:
            layouts += [Layout(grouping, allocation, strata_grouping) for allocation in allocations]
    return layouts


def groups_of_trials(enrol: Codes, test: Codes, allocation: str, n_groups: int = 0) -> list[Codes]:
    """Return the group that each trial counts for, -1 for none; a second array if it counts twice.

    A nontarget trial between two of the `n_groups` groups counts for none (``both``), for that of
    its enrolment or test recording, for ``either`` of them, or in the cell of the pair (``cross``).
    """
    if allocation == "enrol":
        return [enrol]
    if allocation == "test":
        return [test]
    if allocation == "both":
        # `where` would take four times as long.
        return [(enrol - _NO_GROUP) * (enrol == test) + _NO_GROUP]
    if allocation == CROSS:
        return [np.where((enrol < 0) | (test < 0), _NO_GROUP, enrol * np.int32(n_groups) + test)]
    return [enrol, np.where(enrol == test, _NO_GROUP, test)]


MAX_LAYOUTS_TOGETHER = 16
"""Layouts that trials are placed in at a time, where all are not needed together."""
MAX_CACHED_GROUPINGS = 64
"""Groupings whose group of each recording is kept for the next chunk of trials."""


class TrialCells(NamedTuple):
    """Where the trials of one chunk count in one layout."""

    # cell of each, `stratum * n_cells_per_stratum + cell`, -1 for none; a second array where a
    # trial counts twice
    cells: list[Codes]
    stratum: Codes  # stratum of each trial that counts in some cell, -1 for the others


class PlacedTrials(NamedTuple):
    """Trials of one partition with where each counts."""

    trials: Trials
    cells_by_layout: dict[int, TrialCells]  # by the number of the layout
    sides: dict[int, Sides]  # groups of both sides, -1 for none, by the identity of the grouping
    are_failed: bool  # whether these are trials without score, of recordings that failed
    # whether these trials come for the first time: again, they are placed in other layouts
    is_first_pass: bool = True

    def groups_of_sides(self, grouping: Grouping | None) -> Sides:
        """Return the groups of both sides; without a grouping, there is one group of all."""
        if grouping is not None:
            return self.sides[id(grouping)]
        only_group = np.zeros(len(self.trials), dtype=np.int32)
        return only_group, only_group

    def in_layouts(self, layout_numbers: Sequence[int]) -> PlacedTrials:
        """Return the trials in some layouts, numbered anew, without the groups of both sides."""
        return self._replace(
            cells_by_layout={
                i: self.cells_by_layout[number] for i, number in enumerate(layout_numbers)
            },
            sides={},
        )


class TrialsInParts(Protocol):
    """Trials, counts of them or speaker counts: rows in parts, with the groups of both sides."""

    @property
    def utterance_speaker(self) -> NDArray[np.int32]:
        """The speaker of each recording that rows name, -1 for unknown; none where they do not."""

    def partitions_by_layout(
        self, layouts: Sequence[Layout]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Rows, and the layouts that they count in."""

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of the rows of a part."""


def place_trials(
    trials: TrialsInParts,
    layouts: Sequence[Layout],
    *,
    failed: Sequence[int] = (),
    scored: bool = True,
    keep_conflicts: bool = False,
    at_once: int = 0,
    layouts_at_once: int = 0,
) -> Iterator[PlacedTrials]:
    """Yield the trials of one system, partition by partition, in the cells of several layouts.

    Of each partition come those with a score, if `scored`, without those that contradict others
    unless these are kept; then, apart, those that `failed` at some stages. They come in chunks of
    `at_once` trials, if it is not 0, and again for the next `layouts_at_once`, as the cells of
    trials in many layouts take room.
    """
    is_unknown = trials.utterance_speaker < 0
    layout_groupings = [(layout.grouping, layout.within) for layout in layouts]
    groupings = {}
    for pair in layout_groupings:
        for grouping in pair:
            if grouping is not None:
                groupings[id(grouping)] = grouping

    @lru_cache(maxsize=MAX_CACHED_GROUPINGS)
    def sides_by(key: int) -> Callable[[Trials], Sides]:
        return trials.side_coder(groupings[key])

    for partition, numbers in trials.partitions_by_layout(layouts):
        kinds = _kinds_of_trials(partition, failed, scored=scored, keep_conflicts=keep_conflicts)
        # Without any layout, trials still come once: callers ask for their sides and columns.
        n_layouts = max(len(numbers), 1)
        n_together = layouts_at_once or n_layouts
        for trials_of_kind, are_failed in kinds:
            chunks = trials_of_kind.chunks(at_once) if at_once else (trials_of_kind,)
            for chunk in chunks:
                lacks_speaker = is_unknown.take(chunk.test) if is_unknown.any() else None
                for start in range(0, n_layouts, n_together):
                    together = numbers[start : start + n_together]
                    used_groupings = [
                        grouping for i in together for grouping in layout_groupings[i]
                    ]
                    keys = {id(grouping) for grouping in used_groupings if grouping is not None}
                    sides = {key: sides_by(key)(chunk) for key in keys}
                    cells_by_layout = {
                        i: _trial_cells(layouts[i], sides, len(chunk), lacks_speaker)
                        for i in together
                    }
                    is_first_pass = start == 0
                    yield PlacedTrials(chunk, cells_by_layout, sides, are_failed, is_first_pass)


def _kinds_of_trials(
    partition: Trials, failed: Sequence[int], *, scored: bool, keep_conflicts: bool
) -> list[tuple[Trials, bool]]:
    """Return the trials with a score and those that failed, each with whether they failed."""
    kinds = []
    if scored:
        kinds.append((partition if keep_conflicts else partition.without_conflicts(), False))
    if failed and partition.failed is not None:
        is_chosen = np.isin(partition.failed.extra_columns["failed"], failed)
        failed_trials = partition.failed.take(is_chosen)
        if len(failed_trials):
            kinds.append((failed_trials, True))
    return kinds


def _trial_cells(
    layout: Layout, sides: dict[int, Sides], n_trials: int, lacks_speaker: NDArray[np.bool_] | None
) -> TrialCells:
    """Return where `n_trials` trials count in a layout, from the groups of both sides.

    Those without a test speaker are in the stratum of the enrolled one.
    """
    grouping, only_group = layout.grouping, np.broadcast_to(np.int32(0), n_trials)
    cells = [only_group]
    if grouping is not None:
        cells = groups_of_trials(*sides[id(grouping)], layout.allocation, len(grouping.groups))
    elif layout.within is None:
        return TrialCells(cells, only_group)
    if layout.within is not None:
        enrol, test = sides[id(layout.within)]
        if lacks_speaker is not None:
            test = np.where(lacks_speaker & (test < 0), enrol, test)
        (stratum,) = groups_of_trials(enrol, test, "both")
        n_cells_per_stratum = np.int32(layout.n_cells_per_stratum)
        cells = [
            np.where((cell >= 0) & (stratum >= 0), stratum * n_cells_per_stratum + cell, _NO_GROUP)
            for cell in cells
        ]
    is_counted = cells[0] >= 0
    for cell in cells[1:]:
        is_counted = is_counted | (cell >= 0)
    if layout.within is None:
        return TrialCells(cells, is_counted + _NO_GROUP)
    return TrialCells(cells, np.where(is_counted, stratum, _NO_GROUP))


def cells_of_side(layout: Layout, trials: TrialSet, side: str) -> Codes | None:
    """Return the cell of each utterance as the enrolment or test recording of a trial.

    The `side` is ``enrol`` or ``test``. -1 for none; None where it takes the other side, or the
    trial, to tell.
    """
    cells = np.zeros(trials.utterance_speaker.size, dtype=np.int32)
    is_known = np.ones(cells.size, dtype=np.bool_)
    for grouping in (layout.within, layout.grouping):
        if grouping is None:
            continue
        groups = grouping.side_codes(trials, side)
        if groups is None:
            return None
        cells = cells * np.int32(len(grouping.groups)) + groups
        is_known &= groups >= 0
    cells[~is_known] = _NO_GROUP
    return cells
