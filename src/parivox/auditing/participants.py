"""Which speakers take part in the trials of each cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Layout, PlacedTrials

_AT_ONCE = 1 << 17


class Participants:
    """Which speakers take part in a trial of which cell."""

    def __init__(self, layout: Layout, n_speakers: int) -> None:
        self.layout, self.n = layout, n_speakers
        grouping = layout.grouping
        # each speaker is of one group, so that the group need not be kept
        self.of_speaker = grouping.speaker_codes if grouping is not None else None
        is_one = grouping is None or self.of_speaker is not None
        self.is_simple = is_one and layout.within is None
        cells = 1 if self.is_simple else layout.n_strata * layout.n_groups
        self.used = np.zeros(cells * (n_speakers + 1), dtype=np.bool_)  # last: unknown

    def add(self, speakers: Sequence[NDArray[np.integer[Any]]], here: PlacedTrials, i: int) -> None:
        """Note the speakers of either side, where the side's own group is that of the cell.

        The trials are placed in layout number `i`.
        """
        if self.is_simple and self.used[:-1].all():
            return
        groups = max(self.layout.n_groups, 1)  # nothing is placed where there is none
        sides = here.groups_of_sides(self.layout.grouping)
        for cell in here.cells_by_layout[i].cells:
            group = cell if self.layout.within is None else np.where(cell < 0, -1, cell % groups)
            for speaker, side in zip(speakers, sides, strict=True):
                self.note(cell, speaker, side == group)

    def note(
        self,
        cell: NDArray[np.int32],
        speaker: NDArray[np.integer[Any]],
        is_own: NDArray[np.bool_] | None = None,
    ) -> None:
        """Note the speakers of some recordings in the cell of each, -1 for none.

        Where it is not their own, they are not.
        """
        for start in range(0, cell.size, _AT_ONCE):
            here = slice(start, start + _AT_ONCE)
            inside = cell[here] >= 0
            if is_own is not None:
                inside &= is_own[here]
            if self.is_simple:  # soon nobody is left who is not noted
                inside &= ~self.used[speaker[here]]
            rows = start + np.flatnonzero(inside)
            if self.is_simple:
                self.used[speaker[rows]] = True
            else:
                self.used[cell[rows].astype(np.int64) * (self.n + 1) + speaker[rows]] = True

    def count(self) -> list[list[int]]:
        """Speakers of each group and, last, of all groups, for each level."""
        groups = self.layout.n_groups
        if self.is_simple:
            used = self.used[:-1]
            everyone = int(used.sum())
            if self.of_speaker is None:
                return [[everyone, everyone]]
            each = np.bincount(self.of_speaker[: self.n][used], minlength=groups)
            return [[*each.tolist(), everyone]]
        used = self.used.reshape(self.layout.n_strata, groups, self.n + 1)[..., :-1]
        each = used.sum(axis=-1)
        everyone = used.any(axis=1).sum(axis=-1)
        return [[*row, n] for row, n in zip(each.tolist(), everyone.tolist(), strict=True)]
