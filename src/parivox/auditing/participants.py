"""Which speakers take part in the trials of each cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Layout, PlacedTrials

_RECORDINGS_PER_CHUNK = 1 << 17


class Participants:
    """Which speakers take part in a trial of which cell."""

    def __init__(self, layout: Layout, n_speakers: int) -> None:
        self.layout, self.n_speakers = layout, n_speakers
        grouping = layout.grouping
        # each speaker is of one group, so that the group need not be kept
        self.group_of_speaker = grouping.speaker_codes if grouping is not None else None
        has_own_groups = grouping is None or self.group_of_speaker is not None
        self.is_simple = has_own_groups and layout.within is None
        n_cells = 1 if self.is_simple else layout.n_strata * layout.n_cells_per_stratum
        self.takes_part = np.zeros(n_cells * (n_speakers + 1), dtype=np.bool_)  # last: unknown

    def add(
        self, speakers: Sequence[NDArray[np.integer[Any]]], placed: PlacedTrials, layout_number: int
    ) -> None:
        """Note the speakers of either side, where the side's own group is that of the cell.

        The trials are placed in the layout of that number.
        """
        if self.is_simple and self.takes_part[:-1].all():
            return
        n_groups = max(
            self.layout.n_cells_per_stratum, 1
        )  # without any group, no trial is in a cell
        sides = placed.groups_of_sides(self.layout.grouping)
        for cell in placed.cells_by_layout[layout_number].cells:
            group = cell if self.layout.within is None else np.where(cell < 0, -1, cell % n_groups)
            for speaker, side in zip(speakers, sides, strict=True):
                self.note(cell, speaker, side == group)

    def note(
        self,
        cell: NDArray[np.int32],
        speaker: NDArray[np.integer[Any]],
        is_own: NDArray[np.bool_] | None = None,
    ) -> None:
        """Note the speakers of some recordings in the cell of each, -1 for none.

        Where `is_own` is false, the cell is not their own and they are not noted.
        """
        for start in range(0, cell.size, _RECORDINGS_PER_CHUNK):
            chunk = slice(start, start + _RECORDINGS_PER_CHUNK)
            counts = cell[chunk] >= 0
            if is_own is not None:
                counts &= is_own[chunk]
            if self.is_simple:  # soon every speaker is noted, and nothing is left to do
                counts &= ~self.takes_part[speaker[chunk]]
            rows = start + np.flatnonzero(counts)
            if self.is_simple:
                self.takes_part[speaker[rows]] = True
            else:
                self.takes_part[
                    cell[rows].astype(np.int64) * (self.n_speakers + 1) + speaker[rows]
                ] = True

    def count(self) -> list[list[int]]:
        """Return the speakers of each group and, last, of all groups, for each stratum."""
        n_groups = self.layout.n_cells_per_stratum
        if self.is_simple:
            takes_part = self.takes_part[:-1]
            n_all = int(takes_part.sum())
            if self.group_of_speaker is None:
                return [[n_all, n_all]]
            n_by_group = np.bincount(
                self.group_of_speaker[: self.n_speakers][takes_part], minlength=n_groups
            )
            return [[*n_by_group.tolist(), n_all]]
        takes_part = self.takes_part.reshape(self.layout.n_strata, n_groups, self.n_speakers + 1)[
            ..., :-1
        ]
        n_by_group = takes_part.sum(axis=-1)
        n_all = takes_part.any(axis=1).sum(axis=-1)
        return [
            [*row, n_pooled]
            for row, n_pooled in zip(n_by_group.tolist(), n_all.tolist(), strict=True)
        ]
