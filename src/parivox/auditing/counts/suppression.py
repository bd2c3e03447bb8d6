"""Which groups are of too few people to be shared.

A group of fewer speakers than asked for is withheld: its trials are of no group any more. Other
cells of the same sum (all groups of a level, all levels of a group, the groups by gender+age that
make up one by gender) would give it away by one subtraction, unless all that is withheld of that
sum is together of enough speakers; else the smallest cell that is left is withheld too. What
several subtractions would tell is not looked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import Place
    from parivox.data.grouping import Grouping

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int8]
    Cell = tuple[int, int, int]

SHOWN, SMALL, JOINED, NONE = range(4)
"""What became of a cell; the last one is that of no group or no level."""


class _Sum(NamedTuple):
    """Cells, as block, level and group, that add up to what is shown: a cell or all trials."""

    total: Cell | None
    cells: list[Cell]


def words(code: int, least: int) -> str:
    """Why a cell is withheld; empty if it is not."""
    if code == SMALL:
        return f"withheld: fewer than {least} speakers"
    why = f"withheld: else a group of fewer than {least} speakers could be told"
    return why if code == JOINED else ""


def shown(grouping: Grouping, withheld: Container[Place]) -> Grouping:
    """The grouping, by which speakers of groups that are withheld of all trials are in none."""
    if grouping.speaker_codes is None:
        return grouping
    lost = [i for i, one in enumerate(grouping.groups) if (grouping.name, "", one) in withheld]
    group = np.where(np.isin(grouping.speaker_codes, lost), -1, grouping.speaker_codes)
    return replace(grouping, speaker_codes=group.astype(np.int32))


def hide_levels(used: Bools, least: int) -> Codes:
    """Choose which levels to withhold.

    Parameters
    ----------
    used
        Whether a speaker takes part in a trial of a level, shape (level, speaker); the last level
        stands for none.
    least
        Fewest speakers.
    """
    cells = _Cells([used[None]], least)
    cells.mend([_Sum(None, [(0, 0, i) for i in range(used.shape[0])])])
    codes: Codes = cells.codes[0][0]
    return codes


def hide(used: Sequence[Bools], groupings: Sequence[Grouping], least: int) -> list[Codes]:
    """Choose which groups to withhold.

    Parameters
    ----------
    used
        Of each block, whether a speaker is on a side of that level and group: shape (level,
        group, speaker); the last group stands for none and so does the last level, but for the
        first blocks, which are of all trials.
    groupings
        What the blocks are of, in turn.
    least
        Fewest speakers.

    Returns
    -------
    list of int8 ndarray of shape (level, group)
        What became of each cell of each block.
    """
    n = len(groupings)
    cells = _Cells(used, least)
    for code in cells.codes[n:]:
        code[-1] = NONE
    cells.mend(list(_sums(cells.codes, groupings)), within=n)
    return cells.codes


class _Cells:
    """What became of each cell so far."""

    def __init__(self, used: Sequence[Bools], least: int) -> None:
        self.least, self.codes = least, []
        self.speakers = [np.packbits(block, axis=-1) for block in used]
        for block in used:
            few = block.sum(axis=-1)
            code = np.where((few > 0) & (few < least), SMALL, SHOWN).astype(np.int8)
            code[:, -1] = NONE
            self.codes.append(code)

    def mend(self, sums: Sequence[_Sum], within: int = 0) -> None:
        """Withhold until no sum gives anything away; what is withheld of all, in every level."""
        again = True
        while again:
            for block, code in enumerate(self.codes[within:] if within else (), within):
                whole = self.codes[block % within][0, :-1]
                inside = code[:-1, :-1]
                inside[:] = np.where((inside == SHOWN) & (whole != SHOWN), whole, inside)
            again = sum(map(self._is_mended, sums)) > 0  # of all sums, not up to the first

    def _is_mended(self, one: _Sum) -> bool:
        """Withhold the smallest cell of a sum that gives something away."""
        if one.total is not None and self._code(one.total) != SHOWN:
            return False
        codes = [self._code(cell) for cell in one.cells]
        if SMALL not in codes and JOINED not in codes:
            return False
        sets = [self.speakers[block][level, group] for block, level, group in one.cells]
        lost = [mine for mine, code in zip(sets, codes, strict=True) if code != SHOWN]
        left = {
            _size(mine): cell
            for mine, code, cell in reversed(list(zip(sets, codes, one.cells, strict=True)))
            if code == SHOWN and mine.any()
        }
        if not left or _size(np.bitwise_or.reduce(lost)) >= self.least:
            return False
        block, level, group = left[min(left)]
        self.codes[block][level, group] = JOINED
        return True

    def _code(self, cell: Cell) -> int:
        block, level, group = cell
        return int(self.codes[block][level, group])


def _size(packed: NDArray[np.uint8]) -> int:
    return int(np.bitwise_count(packed).sum())


def _sums(codes: Sequence[Codes], groupings: Sequence[Grouping]) -> Iterator[_Sum]:
    """Every sum of cells whose total may be shown."""
    n = len(groupings)
    for block, code in enumerate(codes):
        n_levels, n_groups = code.shape
        levels = range(n_levels - (block >= n))
        for level in levels:
            yield _Sum(None, [(block, level, group) for group in range(n_groups)])
        for group in range(n_groups - 1) if block >= n else ():
            yield _Sum((block % n, 0, group), [(block, at, group) for at in range(n_levels)])
        fine = groupings[block % n]
        for at, coarse in enumerate(groupings):
            if not set(coarse.attributes) < set(fine.attributes):
                continue
            place = [fine.attributes.index(one) for one in coarse.attributes]
            known = {parts: k for k, parts in enumerate(coarse.group_values)}
            whose = [known.get(tuple(of[i] for i in place), -1) for of in fine.group_values]
            for k in sorted(set(whose) - {-1}):
                of_it = [i for i, one in enumerate(whose) if one == k]
                for level in levels:
                    yield _Sum(
                        (block - block % n + at, level, k), [(block, level, i) for i in of_it]
                    )
