"""Whom uncertainty is measured over: speakers or, of very many, blocks of speakers.

A unit is assigned to every speaker once the lists are read (`UnitAssignment`). All that follows
takes the unit of a trial's side from there, and does not ask what a unit is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import IntArray

    Codes = NDArray[np.int32]

MAX_SEPARATE_SPEAKERS = 5_000
"""Speakers of a list beyond memory that are counted each; of more, blocks are counted."""
N_SPEAKER_BLOCKS, MIN_BLOCKS_PER_GROUP = 1_200, 20
"""Blocks in all, about, and of each group at least."""
N_DRAWN_BLOCKS = 256
"""Blocks in all, about, that curves of very many trials are drawn again from."""
MAX_COUNT_ROWS = 1 << 23
"""Rows of speaker counts from which curves are drawn again: with more, memory would not do."""


class SpeakerGrouping(Protocol):
    """A grouping, as far as it is of speakers."""

    @property
    def speaker_values(self) -> Sequence[NDArray[np.int32]]:
        """By each of its attributes that is of speakers, the value of every speaker."""


class SpeakerTrials(Protocol):
    """Trials, or speaker counts, as far as units are assigned to their speakers."""

    @property
    def utterance_speaker(self) -> NDArray[np.int32]:
        """The speaker of each recording, -1 for unknown."""

    @property
    def speakers_in_use(self) -> NDArray[np.intp]:
        """Speakers that any recording is of, rising."""

    @property
    def n_trials(self) -> int:
        """All trials."""

    @property
    def fits_in_memory(self) -> bool:
        """Whether all rows are in memory at once."""


def speaker_blocks(
    group: IntArray,
    n_blocks: int = N_SPEAKER_BLOCKS,
    *,
    min_size: int = 1,
    order: IntArray | None = None,
) -> NDArray[np.int32]:
    """Return the block of each speaker, from its group: at random, the same for the same groups.

    Of each group there are blocks in proportion to its speakers, `n_blocks` in all, but at least
    `MIN_BLOCKS_PER_GROUP`, or as many as can be made of `min_size` speakers each. Speakers are
    dealt in an `order` instead, if there is one.

    Examples
    --------
    >>> speaker_blocks(np.array([0, 0, 1])).tolist()
    [0, 1, 2]
    """
    n_speakers = np.bincount(group)
    proportional = np.rint(n_blocks * n_speakers / max(group.size, 1)).astype(np.int64)
    n_blocks_of_group = np.minimum(
        np.maximum(proportional, MIN_BLOCKS_PER_GROUP), n_speakers // min_size
    )
    if order is None:
        order = np.random.default_rng(group.size).permutation(group.size)
    order = np.lexsort((order, group))
    if (n_blocks_of_group == n_speakers).all():  # each speaker is a block
        order = np.argsort(group, kind="stable")
    ordered_group = group[order]
    rank_in_group = np.arange(group.size) - (np.cumsum(n_speakers) - n_speakers)[ordered_group]
    first_block = np.cumsum(n_blocks_of_group) - n_blocks_of_group
    block = np.empty(group.size, dtype=np.int32)
    turn = rank_in_group % n_blocks_of_group[ordered_group]
    block[order] = first_block[ordered_group] + turn
    return block


def finest_groups(groupings: Sequence[SpeakerGrouping], n_speakers: int) -> IntArray:
    """Return the group of each speaker by all groupings together."""
    finest = np.zeros(n_speakers, dtype=np.int64)
    for grouping in groupings:
        for codes in grouping.speaker_values:
            speaker_codes = codes[:n_speakers]
            n_codes = int(speaker_codes.max(initial=-1)) + 2
            _, finest = np.unique(finest * n_codes + speaker_codes + 1, return_inverse=True)
    return finest


def blocks_of_many_speakers(
    finest: IntArray, used: NDArray[np.intp], max_separate: int, n_blocks: int
) -> NDArray[np.int32] | None:
    """Return the block of each speaker, from its finest group; None for few speakers.

    Few are no more than `max_separate` of the speakers `used`.

    Blocks are of one group each. Speakers in no trial are in the first one.
    """
    if used.size <= max_separate:
        return None
    block = np.zeros(finest.size, dtype=np.int32)
    block[used] = speaker_blocks(np.unique(finest[used], return_inverse=True)[1], n_blocks)
    return block


def blocks_replacing_speakers(
    finest: IntArray, used: NDArray[np.intp], max_separate: int, n_blocks: int
) -> NDArray[np.int32] | None:
    """Return `blocks_of_many_speakers` to replace speakers; None, too, if each has one speaker."""
    block = blocks_of_many_speakers(finest, used, max_separate, n_blocks)
    return None if block is None or int(block.max()) + 1 == used.size else block


def block_groups(of_speaker: NDArray[Any], block: NDArray[Any], used: NDArray[np.intp]) -> Codes:
    """Return the group of each block, from the speakers in it who are `used`; -1 for none."""
    group = np.full(int(block.max(initial=-1)) + 1, -1, dtype=np.int32)
    np.maximum.at(group, block[used], of_speaker[used].astype(np.int32))
    return group


@frozen
class Units:
    """Whom uncertainty is measured over: speakers or, of very many, blocks of speakers.

    Blocks are samples of the speakers of a cell, so that its rate varies over blocks as it does
    over speakers: the same variance, told from fewer and larger units.
    """

    n_units: int  # numbers of units are below this
    # the block of each speaker; None where each is by itself
    speaker_block: NDArray[np.int32] | None = None
    # whether trials are searches, of which the speaker of the probe is the unit in either class
    are_probe_speakers: bool = False
    # the unit that stands for probes whose speakers nobody knows
    unknown_unit: int = -1

    @classmethod
    def of_utterances(
        cls, utterance_speaker: NDArray[np.int32], speaker_block: NDArray[np.int32] | None
    ) -> Units:
        """Return the speakers of a list, or the blocks that they are in, as units."""
        if speaker_block is None:
            return cls(int(utterance_speaker.max(initial=-1)) + 1)
        # as many again for the strangers of pairs within a block
        return cls(2 * (int(speaker_block.max(initial=-1)) + 1), speaker_block)

    @property
    def are_blocks(self) -> bool:
        """Whether units are blocks of speakers."""
        return self.speaker_block is not None

    @property
    def interval_name(self) -> str:
        """What intervals over these units are called."""
        return "speakers in blocks" if self.are_blocks else "speakers"

    def unit_numbers(self, speakers: NDArray[np.integer[Any]]) -> IntArray:
        """Return the number of each speaker's unit."""
        return (speakers if self.speaker_block is None else self.speaker_block[speakers]).astype(
            np.int64
        )

    def pair_numbers(self, enrol: NDArray[np.int32], test: NDArray[np.int32]) -> IntArray:
        """Return the number of each unordered pair of speakers, below ``n_units * n_units``.

        An unknown test speaker, -1, makes a pair of the enrolled speaker with itself.
        """
        first_unit, second_unit = self.unit_numbers(enrol), self.unit_numbers(test)
        if self.are_blocks:  # a pair within a block is one with a stranger
            second_unit = np.where(
                first_unit == second_unit, second_unit + self.n_units // 2, second_unit
            )
        if (test < 0).any():
            second_unit = np.where(test < 0, first_unit, second_unit)
        return np.minimum(first_unit, second_unit) * self.n_units + np.maximum(
            first_unit, second_unit
        )

    def n_in_use(self, speakers: NDArray[np.intp]) -> int:
        """Return how many units some speakers are in."""
        return np.unique(self.unit_numbers(speakers)).size

    def in_curves(self, curve_unit: NDArray[np.int32]) -> Units:
        """Return the units that these are drawn with: themselves, if each is drawn by itself."""
        if int(curve_unit.max(initial=-1)) + 1 == curve_unit.size:
            return self
        if self.speaker_block is not None:
            curve_unit = curve_unit[self.speaker_block]
        return Units(2 * (int(curve_unit.max(initial=-1)) + 1), curve_unit)

    def as_speakers(self, errors: Sequence[ErrorsBySpeaker]) -> Sequence[ErrorsBySpeaker] | None:
        """Return errors of units as those of speakers; None if units are not speakers."""
        return None if self.are_blocks else errors

    def errors_by_unit(
        self,
        cell: NDArray[Any],
        unit: NDArray[Any],
        errors: NDArray[Any],
        trials: NDArray[Any],
        n_cells: int,
    ) -> ErrorsBySpeaker:
        """Return errors and trials of units as what variances are told from."""
        return ErrorsBySpeaker(
            cell, unit, errors, trials, n_cells, self.are_blocks, self.unknown_unit
        )

    def errors_by_pair(
        self,
        cell: NDArray[Any],
        pair: tuple[NDArray[Any], NDArray[Any]],
        errors: NDArray[Any],
        trials: NDArray[Any],
        n_cells: int,
    ) -> ErrorsByPair:
        """Return errors and trials of pairs of units as what variances are told from."""
        return ErrorsByPair(cell, *pair, errors, trials, n_cells, self.are_blocks)


class UnitAssignment(NamedTuple):
    """The unit of each speaker, the same in all lists of an audit."""

    unit_of_speaker: NDArray[np.int32]
    # the unit that each unit is drawn with, where curves have fewer units than rates
    curve_unit: NDArray[np.int32]
    # the units in the place of speakers; None where each speaker is a unit
    speaker_block: NDArray[np.int32] | None = None

    @property
    def n_units(self) -> int:
        """Numbers of units are below this."""
        return int(self.unit_of_speaker.max(initial=-1)) + 1

    def unit_groups(
        self, speaker_groups: NDArray[np.int32], used: NDArray[np.intp]
    ) -> NDArray[np.int32]:
        """Return the group of each unit, from those of the speakers that are `used`."""
        if self.speaker_block is None:
            return speaker_groups[: self.n_units]
        return block_groups(speaker_groups, self.speaker_block, used)

    def in_curves(self) -> UnitAssignment:
        """Return the units that these are drawn with: themselves, if each is drawn by itself."""
        n_curve_units = int(self.curve_unit.max(initial=-1)) + 1
        if n_curve_units == self.curve_unit.size:
            return self
        block = self.curve_unit[self.unit_of_speaker]
        return UnitAssignment(block, np.arange(n_curve_units, dtype=np.int32), block)

    def n_units_in_use(self, sets: Sequence[SpeakerTrials]) -> int:
        """Return how many units take part in some list."""
        units = [self.unit_of_speaker[trials.speakers_in_use] for trials in sets]
        return np.unique(np.concatenate(units)).size

    @classmethod
    def of_lists(
        cls, sets: Sequence[SpeakerTrials], groupings: Sequence[SpeakerGrouping], n_speakers: int
    ) -> UnitAssignment:
        """Assign units to the speakers of a table: themselves, or blocks where a list is long.

        Of very many speakers, a block represents each. Of very many trials, units are drawn in
        blocks.
        """
        used_speakers = np.unique(np.concatenate([trials.speakers_in_use for trials in sets]))
        speakers = np.arange(
            max(int(trials.utterance_speaker.max(initial=-1)) for trials in sets) + 1,
            dtype=np.int32,
        )
        long_lists = [trials.n_trials for trials in sets if not trials.fits_in_memory]
        if not long_lists or not n_speakers:
            return cls(speakers, speakers)
        finest = finest_groups(groupings, n_speakers)
        speaker_block = blocks_replacing_speakers(
            finest, used_speakers, MAX_SEPARATE_SPEAKERS, N_SPEAKER_BLOCKS
        )
        unit_of_speaker, used_units, finest_of_units = speakers, used_speakers, finest
        if speaker_block is not None:
            unit_of_speaker = speaker_block
            finest_of_units = block_groups(finest, speaker_block, used_speakers).astype(np.int64)
            used_units = np.arange(finest_of_units.size)
        curve_unit = np.arange(int(unit_of_speaker.max(initial=-1)) + 1, dtype=np.int32)
        if max(long_lists) > MAX_COUNT_ROWS:
            blocks = blocks_of_many_speakers(
                finest_of_units, used_units, N_DRAWN_BLOCKS, N_DRAWN_BLOCKS
            )
            curve_unit = curve_unit if blocks is None else blocks
        return cls(unit_of_speaker, curve_unit, speaker_block)
