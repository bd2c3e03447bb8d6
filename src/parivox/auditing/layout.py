"""Which cells a trial counts in: groupings, the allocation of nontarget trials, levels.

A *cell* is what a rate is computed on: one group of one grouping under one allocation of nontarget
trials (docs/methods/rates.md#groups-of-trials), of all trials or of those within one level of
another grouping. Nothing else decides the group of a trial.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

    Codes: TypeAlias = NDArray[np.int32]
    Sides: TypeAlias = tuple[Codes, Codes]

ALLOCATIONS = ("both", "enrol", "test", "either")
CROSS = "cross"
"""Every pair of groups, enrolment first, is a cell: the matrix between groups."""
_NONE = np.int32(-1)
MAX_SEPARATE_SPEAKERS = 5_000
"""Of more speakers who are tallied, blocks are taken."""
N_SPEAKER_BLOCKS, MIN_BLOCKS_PER_GROUP = 1_200, 20
"""Blocks in all, about, and of each group at least."""
N_DRAWN_BLOCKS = 256
"""Blocks in all, about, that curves of very many trials are drawn again from."""


class Layout(NamedTuple):
    """Cells that are counted together: the groups of one grouping, for each level."""

    grouping: Grouping | None  # none for all trials together
    allocation: str  # one of `ALLOCATIONS`, or `CROSS`; empty for all trials together
    within: Grouping | None  # whose levels the groups are counted in; None for all trials

    @property
    def n_strata(self) -> int:
        """How many levels."""
        return 1 if self.within is None else len(self.within.groups)

    @property
    def n_groups(self) -> int:
        """How many cells each level has."""
        n = 1 if self.grouping is None else len(self.grouping.groups)
        return n * n if self.allocation == CROSS else n

    @property
    def n_cells(self) -> int:
        """How many cells."""
        return self.n_strata * self.n_groups

    def stratum_names(self) -> list[str]:
        """The levels as the column ``within`` has them."""
        if self.within is None:
            return [""]
        return [f"{self.within.name}={group}" for group in self.within.groups]


def cell_layouts(
    groupings: Sequence[Grouping], allocations: Sequence[str], within: Sequence[Grouping]
) -> list[Layout]:
    """All trials and the levels first, then every grouping under every allocation within them."""
    outer = (None, *within)
    return [
        *(Layout(None, "", level) for level in outer),
        *(Layout(g, rule, level) for level in outer for g in groupings for rule in allocations),
    ]


def groups_of_trials(enrol: Codes, test: Codes, allocation: str, groups: int = 0) -> list[Codes]:
    """Group that each trial counts for, -1 for none; a second array where it counts twice.

    A nontarget trial between two of the `groups` counts for none (``both``), for that of its
    enrolment or test recording, for ``either`` of them, or in the cell of the pair (``cross``).
    """
    if allocation == "enrol":
        return [enrol]
    if allocation == "test":
        return [test]
    if allocation == "both":
        return [(enrol - _NONE) * (enrol == test) + _NONE]  # in a quarter of the time of `where`
    if allocation == CROSS:
        return [np.where((enrol < 0) | (test < 0), _NONE, enrol * np.int32(groups) + test)]
    return [enrol, np.where(enrol == test, _NONE, test)]


MAX_LAYOUTS_TOGETHER = 16
"""Layouts that trials are placed in at a time, where all are not needed together."""
MAX_CACHED_GROUPINGS = 64
"""Groupings whose group of each recording is kept for the next block of trials."""


class TrialCells(NamedTuple):
    """Where the trials of one block count in one layout."""

    # cell of each, `level * groups + group`, -1 for none; a second array where one counts twice
    cells: list[Codes]
    stratum: Codes  # level of each trial that counts in some cell, -1 for the others


class PlacedTrials(NamedTuple):
    """Trials of one partition with where each counts."""

    trials: Trials
    cells_by_layout: dict[int, TrialCells]  # by the number of the layout
    sides: dict[int, Sides]  # groups of both sides, -1 for none, by the identity of the grouping
    are_failed: bool  # whether these are trials without score, of recordings that failed
    # whether these trials come for the first time: again, they are placed in other layouts
    is_first_pass: bool = True

    def groups_of_sides(self, grouping: Grouping | None) -> Sides:
        """Groups of both sides; all of the one group that there is without a grouping."""
        if grouping is not None:
            return self.sides[id(grouping)]
        everyone = np.zeros(len(self.trials), dtype=np.int32)
        return everyone, everyone

    def in_layouts(self, layouts: Sequence[int]) -> PlacedTrials:
        """In some of the layouts, numbered anew, and without the groups of both sides."""
        return self._replace(
            cells_by_layout={i: self.cells_by_layout[one] for i, one in enumerate(layouts)},
            sides={},
        )


class TrialsInParts(Protocol):
    """Trials, counts of them or a tally: rows in parts, with the groups of both sides."""

    def partitions_by_layout(
        self, layouts: Sequence[Layout]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Rows, and the layouts that they count in."""

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of the rows of a part."""


def walk(
    trials: TrialsInParts,
    layouts: Sequence[Layout],
    *,
    failed: Sequence[int] = (),
    scored: bool = True,
    keep_conflicts: bool = False,
    at_once: int = 0,
    layouts_at_once: int = 0,
) -> Iterator[PlacedTrials]:
    """The trials of one system, partition by partition, in the cells of several layouts.

    Of each partition come those with a score, if `scored`, without those that contradict others
    unless these are kept; then, apart, those that `failed` at some stages. So many come `at_once`,
    if told. They come again for the next `layouts_at_once`, as places in many layouts take room.
    """
    is_unknown = getattr(trials, "utterance_speaker", np.zeros(1)) < 0
    pairs = [(layout.grouping, layout.within) for layout in layouts]
    groupings = {id(one): one for pair in pairs for one in pair if one is not None}

    @lru_cache(maxsize=MAX_CACHED_GROUPINGS)
    def sides_by(key: int) -> Callable[[Trials], Sides]:
        return trials.side_coder(groupings[key])

    for part, which in trials.partitions_by_layout(layouts):
        blocks = []
        if scored:
            blocks.append((part if keep_conflicts else part.without_conflicts(), False))
        if failed and part.failed is not None:
            lost = part.failed.take(np.isin(part.failed.extra_columns["failed"], failed))
            if len(lost):
                blocks.append((lost, True))
        for whole, have_failed in blocks:
            for block in whole.chunks(at_once) if at_once else (whole,):
                lacks = is_unknown.take(block.test) if is_unknown.any() else None
                size = layouts_at_once or max(len(which), 1)
                for start in range(0, max(len(which), 1), size):
                    some = which[start : start + size]
                    used = {id(one) for i in some for one in pairs[i] if one is not None}
                    sides = {key: sides_by(key)(block) for key in used}
                    at = {i: _placed(layouts[i], sides, len(block), lacks) for i in some}
                    yield PlacedTrials(block, at, sides, have_failed, is_first_pass=not start)


def _placed(
    layout: Layout, sides: dict[int, Sides], n: int, lacks_speaker: NDArray[np.bool_] | None
) -> TrialCells:
    """Where `n` trials count in a layout, from the groups of both sides by each grouping.

    Those without a test speaker are in the level of the enrolled one.
    """
    grouping, everyone = layout.grouping, np.broadcast_to(np.int32(0), n)
    cells = [everyone]
    if grouping is not None:
        cells = groups_of_trials(*sides[id(grouping)], layout.allocation, len(grouping.groups))
    elif layout.within is None:
        return TrialCells(cells, everyone)
    if layout.within is not None:
        enrol, test = sides[id(layout.within)]
        if lacks_speaker is not None:
            test = np.where(lacks_speaker & (test < 0), enrol, test)
        (level,) = groups_of_trials(enrol, test, "both")
        size = np.int32(layout.n_groups)
        cells = [np.where((cell >= 0) & (level >= 0), level * size + cell, _NONE) for cell in cells]
    known = cells[0] >= 0
    for cell in cells[1:]:
        known = known | (cell >= 0)
    if layout.within is None:
        return TrialCells(cells, known + _NONE)
    return TrialCells(cells, np.where(known, level, _NONE))


def cells_of_side(layout: Layout, trials: TrialSet, side: str) -> Codes | None:
    """Cell of each utterance as the enrolment (``enrol``), or the ``test`` recording, of a trial.

    -1 for none; None where it takes the other side, or the trial, to tell.
    """
    cell = np.zeros(trials.utterance_speaker.size, dtype=np.int32)
    known = np.ones(cell.size, dtype=np.bool_)
    for grouping in (layout.within, layout.grouping):
        if grouping is None:
            continue
        group = grouping.side_codes(trials, side)
        if group is None:
            return None
        cell = cell * np.int32(len(grouping.groups)) + group
        known &= group >= 0
    cell[~known] = _NONE
    return cell


def speaker_blocks(
    group: IntArray,
    blocks: int = N_SPEAKER_BLOCKS,
    *,
    least: int = 1,
    order: IntArray | None = None,
) -> NDArray[np.int32]:
    """The block of each speaker, from its group: at random, the same for the same groups.

    Of each group there are blocks in proportion to its speakers, so many in all, but at least
    `FEWEST_BLOCKS`, or as many as can be made of `least` speakers each. Speakers are dealt in an
    `order` instead, if there is one.

    Examples
    --------
    >>> blocks_of(np.array([0, 0, 1])).tolist()
    [0, 1, 2]
    """
    n = np.bincount(group)
    wanted = np.rint(blocks * n / max(group.size, 1)).astype(np.int64)
    size = np.minimum(np.maximum(wanted, MIN_BLOCKS_PER_GROUP), n // least)
    if order is None:
        order = np.random.default_rng(group.size).permutation(group.size)
    order = np.lexsort((order, group))
    if (size == n).all():  # each by itself
        order = np.argsort(group, kind="stable")
    at = group[order]
    turn = np.arange(group.size) - (np.cumsum(n) - n)[at]
    block = np.empty(group.size, dtype=np.int32)
    block[order] = (np.cumsum(size) - size)[at] + turn % size[at]
    return block


def finest_groups(groupings: Sequence[Grouping], n: int) -> IntArray:
    """The group of each of `n` speakers by all groupings together."""
    finest = np.zeros(n, dtype=np.int64)
    for one in groupings:
        for codes in (of[:n] for of in one.speaker_values):
            finest = np.unique(
                finest * (int(codes.max(initial=-1)) + 2) + codes + 1, return_inverse=True
            )[1]
    return finest


def blocks_of_many_speakers(
    finest: IntArray, used: NDArray[np.intp], most: int, blocks: int
) -> NDArray[np.int32] | None:
    """The block of each speaker, from its finest group; None if no more than `most` are `used`.

    Blocks are of one group each. Who is in no trial is in the first one.
    """
    if used.size <= most:
        return None
    block = np.zeros(finest.size, dtype=np.int32)
    block[used] = speaker_blocks(np.unique(finest[used], return_inverse=True)[1], blocks)
    return block


def blocks_replacing_speakers(
    finest: IntArray, used: NDArray[np.intp], most: int, blocks: int
) -> NDArray[np.int32] | None:
    """`blocks_among` that are told of in the place of speakers; None, too, if each has but one."""
    block = blocks_of_many_speakers(finest, used, most, blocks)
    return None if block is None or int(block.max()) + 1 == used.size else block


def block_groups(of_speaker: NDArray[Any], block: NDArray[Any], used: NDArray[np.intp]) -> Codes:
    """The group of each block, from that of the speakers in it who are `used`; -1 for none."""
    group = np.full(int(block.max(initial=-1)) + 1, -1, dtype=np.int32)
    np.maximum.at(group, block[used], of_speaker[used].astype(np.int32))
    return group


@frozen
class Units:
    """Who the speakers of a list are: each by itself or, of very many, in blocks.

    Blocks are samples of the speakers of a cell, so that its rate varies over blocks as it does
    over speakers: the same variance, told from fewer and larger units.
    """

    n_units: int  # numbers of members are below this
    # the block of each speaker; None where each is by itself
    speaker_block: NDArray[np.int32] | None = None

    @classmethod
    def from_trials(cls, trials: TrialSet, block: NDArray[np.int32] | None) -> Units:
        """Speakers of a list, or the blocks that they are in."""
        if block is None:
            return cls(int(trials.utterance_speaker.max(initial=-1)) + 1)
        # as many again for the strangers of pairs within a block
        return cls(2 * (int(block.max(initial=-1)) + 1), block)

    @property
    def are_blocks(self) -> bool:
        """Whether they are blocks of speakers."""
        return self.speaker_block is not None

    def unit_numbers(self, speaker: NDArray[np.int32]) -> IntArray:
        """Number of each speaker."""
        return (speaker if self.speaker_block is None else self.speaker_block[speaker]).astype(
            np.int64
        )

    def pair_numbers(self, enrol: NDArray[np.int32], test: NDArray[np.int32]) -> IntArray:
        """Number of each unordered pair of speakers, below ``n * n``.

        An unknown test speaker, -1, makes a pair of the enrolled speaker with itself.
        """
        one, other = self.unit_numbers(enrol), self.unit_numbers(test)
        if self.are_blocks:  # a pair within a block is one with a stranger
            other = np.where(one == other, other + self.n_units // 2, other)
        if (test < 0).any():
            other = np.where(test < 0, one, other)
        return np.minimum(one, other) * self.n_units + np.maximum(one, other)
