"""Which groups are of too few people to be shared.

A group of fewer speakers than the minimum is suppressed: its trials are of no group any more.
Other cells of the same sum (all groups of a stratum, all strata of a group, the groups by
gender+age that make up one by gender) would give it away by one subtraction, unless all that is
suppressed of that sum is together of enough speakers; else the smallest cell that is left is
suppressed too. What several subtractions would give back is not looked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import GroupKey
    from parivox.data.grouping import Grouping

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int8]
    Cell = tuple[int, int, int]

SHOWN, TOO_SMALL, SUPPRESSED_TO_PROTECT, NO_CELL = range(4)
"""What became of a cell; the last one is that of no group or no stratum."""


class _CellSum(NamedTuple):
    """Cells, as layout, stratum and group, that add up to what is shown: a cell or all trials."""

    total: Cell | None
    cells: list[Cell]


def suppression_reason(code: int, min_speakers: int) -> str:
    """Return why a cell is suppressed, as a fact; empty if it is not."""
    if code == TOO_SMALL:
        return fact("withheld", speakers=min_speakers)
    if code == SUPPRESSED_TO_PROTECT:
        return fact("withheld_to_protect", speakers=min_speakers)
    return ""


def without_suppressed_groups(grouping: Grouping, withheld: Container[GroupKey]) -> Grouping:
    """Return the grouping with the speakers of groups that are suppressed of all trials in none."""
    if grouping.speaker_codes is None:
        return grouping
    suppressed_groups = [
        group_index
        for group_index, group in enumerate(grouping.groups)
        if (grouping.name, "", group) in withheld
    ]
    is_suppressed = np.isin(grouping.speaker_codes, suppressed_groups)
    speaker_codes = np.where(is_suppressed, -1, grouping.speaker_codes).astype(np.int32)
    return replace(grouping, speaker_codes=speaker_codes)


def stratum_suppression(takes_part: Bools, min_speakers: int) -> Codes:
    """Return which strata to suppress, as what becomes of each.

    Parameters
    ----------
    takes_part
        Whether a speaker takes part in a trial of a stratum, shape (stratum, speaker); the last
        stratum stands for none.
    min_speakers
        Fewest speakers.
    """
    cells = _Cells([takes_part[None]], min_speakers)
    strata = [(0, 0, stratum) for stratum in range(takes_part.shape[0])]
    cells.protect_small_cells([_CellSum(None, strata)])
    codes: Codes = cells.codes[0][0]
    return codes


def group_suppression(
    takes_part: Sequence[Bools], groupings: Sequence[Grouping], min_speakers: int
) -> list[Codes]:
    """Return which groups to suppress, as what becomes of each cell of each layout.

    Parameters
    ----------
    takes_part
        Of each layout, whether a speaker is on a side of that stratum and group: shape (stratum,
        group, speaker); the last group stands for none and so does the last stratum, but for the
        first layouts, which are of all trials.
    groupings
        What the layouts are of, in turn.
    min_speakers
        Fewest speakers.

    Returns
    -------
    list of int8 ndarray of shape (stratum, group)
    """
    n_groupings = len(groupings)
    cells = _Cells(takes_part, min_speakers)
    for codes in cells.codes[n_groupings:]:
        codes[-1] = NO_CELL
    cells.protect_small_cells(list(_cell_sums(cells.codes, groupings)), n_unstratified=n_groupings)
    return cells.codes


class _Cells:
    """What became of each cell so far."""

    def __init__(self, takes_part: Sequence[Bools], min_speakers: int) -> None:
        self.min_speakers, self.codes = min_speakers, []
        self.speaker_bits = [np.packbits(speakers, axis=-1) for speakers in takes_part]
        for speakers in takes_part:
            n_speakers = speakers.sum(axis=-1)
            # An empty cell is about nobody, so that nothing of it needs suppressing.
            is_small = (n_speakers > 0) & (n_speakers < min_speakers)
            codes = np.where(is_small, TOO_SMALL, SHOWN).astype(np.int8)
            codes[:, -1] = NO_CELL
            self.codes.append(codes)

    def protect_small_cells(self, cell_sums: Sequence[_CellSum], n_unstratified: int = 0) -> None:
        """Suppress further cells until no sum gives a suppressed one away.

        What is suppressed of all trials is suppressed in every stratum; the first `n_unstratified`
        layouts are of all trials.
        """
        has_changed = True
        while has_changed:
            if n_unstratified:
                self._suppress_in_strata(n_unstratified)
            # Each sum is looked at in each round: a cell suppressed for one sum may be
            # part of the sums that come after it.
            has_changed = False
            for cell_sum in cell_sums:
                if self._suppress_one_more(cell_sum):
                    has_changed = True

    def _suppress_in_strata(self, n_unstratified: int) -> None:
        """Suppress groups in every stratum that are suppressed of all trials.

        The strata of a group add up to it, so that they would give it back.
        """
        for layout_number in range(n_unstratified, len(self.codes)):
            codes_of_all = self.codes[layout_number % n_unstratified][0, :-1]
            codes_in_strata = self.codes[layout_number][:-1, :-1]
            takes_code_of_all = (codes_in_strata == SHOWN) & (codes_of_all != SHOWN)
            codes_in_strata[:] = np.where(takes_code_of_all, codes_of_all, codes_in_strata)

    def _suppress_one_more(self, cell_sum: _CellSum) -> bool:
        """Suppress the smallest cell of a sum that gives something away; whether it was needed."""
        if cell_sum.total is not None and self._code(cell_sum.total) != SHOWN:
            return False
        codes = [self._code(cell) for cell in cell_sum.cells]
        if TOO_SMALL not in codes and SUPPRESSED_TO_PROTECT not in codes:
            return False
        suppressed_bits, shown_sizes = [], []
        for cell, code in zip(cell_sum.cells, codes, strict=True):
            layout_number, stratum, group = cell
            bits = self.speaker_bits[layout_number][stratum, group]
            if code != SHOWN:
                suppressed_bits.append(bits)
            elif bits.any():
                shown_sizes.append((_n_speakers(bits), cell))
        # The total less what is shown is all that is suppressed, taken together. Where these are
        # enough speakers, the subtraction tells of no group that is too small.
        n_suppressed = _n_speakers(np.bitwise_or.reduce(suppressed_bits))
        if not shown_sizes or n_suppressed >= self.min_speakers:
            return False
        # the first of the smallest, so that the choice depends on nothing but the order of groups
        _, smallest_cell = min(shown_sizes, key=lambda size_and_cell: size_and_cell[0])
        layout_number, stratum, group = smallest_cell
        self.codes[layout_number][stratum, group] = SUPPRESSED_TO_PROTECT
        return True

    def _code(self, cell: Cell) -> int:
        layout_number, stratum, group = cell
        return int(self.codes[layout_number][stratum, group])


def _n_speakers(speaker_bits: NDArray[np.uint8]) -> int:
    return int(np.bitwise_count(speaker_bits).sum())


def _cell_sums(codes: Sequence[Codes], groupings: Sequence[Grouping]) -> Iterator[_CellSum]:
    """Yield every sum of cells whose total may be shown."""
    n_groupings = len(groupings)
    for layout_number, layout_codes in enumerate(codes):
        n_strata, n_groups = layout_codes.shape
        grouping_index = layout_number % n_groupings
        is_stratified = layout_number >= n_groupings
        # The last stratum of a stratified layout is none.
        strata = range(n_strata - 1) if is_stratified else range(n_strata)
        for stratum in strata:
            yield _CellSum(None, [(layout_number, stratum, group) for group in range(n_groups)])
        if is_stratified:
            for group in range(n_groups - 1):
                of_strata = [(layout_number, stratum, group) for stratum in range(n_strata)]
                yield _CellSum((grouping_index, 0, group), of_strata)
        fine = groupings[grouping_index]
        for coarse_index, coarse in enumerate(groupings):
            if not set(coarse.attributes) < set(fine.attributes):
                continue
            coarse_layout = layout_number - grouping_index + coarse_index
            for coarse_group, fine_groups in _fine_groups(coarse, fine):
                for stratum in strata:
                    yield _CellSum(
                        (coarse_layout, stratum, coarse_group),
                        [(layout_number, stratum, fine_group) for fine_group in fine_groups],
                    )


def _fine_groups(coarse: Grouping, fine: Grouping) -> Iterator[tuple[int, list[int]]]:
    """Yield each group of a coarse grouping with the groups of a finer one that make it up."""
    positions = [fine.attributes.index(attribute) for attribute in coarse.attributes]
    coarse_groups = {values: group for group, values in enumerate(coarse.group_values)}
    parent_groups = [
        coarse_groups.get(tuple(values[position] for position in positions), -1)
        for values in fine.group_values
    ]
    for coarse_group in sorted(set(parent_groups) - {-1}):
        fine_groups = [
            fine_group
            for fine_group, parent_group in enumerate(parent_groups)
            if parent_group == coarse_group
        ]
        yield coarse_group, fine_groups
