"""What the groups of a pool can give a balanced list: speakers, utterances, pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.read.attributes import parse_by
from parivox.trials.draws import ordered, spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.trials.draws import Ints, Words
    from parivox.trials.pool import Pool

__all__ = ["Capacity", "met", "spread"]


@dataclass(frozen=True, eq=False)
class Capacity:
    """How many speakers there are for a design.

    Of every group, equally many speakers of each kind take part: of each value of the attributes
    that are balanced, those which define difficulty beside the groups.

    Attributes
    ----------
    pool : Pool
    groups : int64 ndarray of shape (group,)
        Places of those that take part.
    """

    pool: Pool
    groups: Ints

    @cached_property
    def balanced(self) -> tuple[str, ...]:
        """Attributes that are balanced."""
        within = {one.text.lower() for one in parse_by(self.pool.by)}
        return tuple(name for name in self.pool.graded_by if name.lower() not in within)

    @cached_property
    def kinds(self) -> Ints:
        """Values that are balanced, of shape (kind, attribute)."""
        values = self._values
        known = np.isin(self.pool.group, self.groups) & (values >= 0).all(axis=1)
        if not (self.balanced and known.any()):
            return np.empty((1, 0), dtype=np.int64)
        return np.unique(values[known], axis=0).astype(np.int64)

    @property
    def _values(self) -> NDArray[np.int32]:
        return self.pool.values[[self.pool.graded_by.index(one) for one in self.balanced]].T

    @cached_property
    def cell(self) -> Ints:
        """Group and kind of each speaker as one number; -1 for those who cannot take part."""
        pool, found = self.pool, np.full(self.pool.sizes.size, -1, dtype=np.int64)
        for at, kind in enumerate(self.kinds):
            found[(self._values[:, : kind.size] == kind).all(axis=1)] = at
        place = np.searchsorted(self.groups, pool.group)
        is_in = np.isin(pool.group, self.groups) & (pool.classes.of_speaker >= 0) & (found >= 0)
        return np.where(is_in, place * len(self.kinds) + found, -1)

    @cached_property
    def _across(self) -> Ints:
        """Target pairs across recordings within the first utterances of a speaker, by how many."""
        pool = self.pool
        _, turn = spread(pool, np.zeros(len(pool.ids), dtype=np.uint64))
        total = np.cumsum(spans(pool.sizes) - turn)
        before = np.concatenate(([0], total))[pool.start[:-1]]
        return np.asarray(total - np.repeat(before, pool.sizes))

    def across(self, utterances: int) -> Ints:
        """Target pairs across recordings that so many utterances of each speaker give."""
        pool = self.pool
        return self._across[pool.start[:-1] + np.minimum(pool.sizes, utterances) - 1]

    def can(self, utterances: int, pairs: int | None) -> NDArray[np.bool_]:
        """Which speakers have so many utterances, with so many target pairs (or any)."""
        is_rich = (self.pool.sizes >= utterances) & (self.across(utterances) >= (pairs or 1))
        return is_rich & (self.cell >= 0)

    def counts(self, utterances: int, pairs: int | None) -> Ints:
        """How many can, of shape (group, kind)."""
        shape = self.groups.size, len(self.kinds)
        can = self.can(utterances, pairs)
        return np.bincount(self.cell[can], minlength=shape[0] * shape[1]).reshape(shape)

    def _largest(self, values: Ints, each: int) -> int:
        """The largest value that so many speakers of each cell reach; 0 if they are too few."""
        cells = (values[self.cell == at] for at in range(self.groups.size * len(self.kinds)))
        return min(int(np.sort(one)[-each]) if one.size >= each else 0 for one in cells)

    def most_speakers(self, utterances: int, pairs: int | None) -> int:
        """The largest number of speakers in each group; 0 if there is none."""
        each = int(self.counts(utterances, pairs).min())
        is_enough = each > 1 and met(each, utterances) >= (pairs or 1)
        return each * len(self.kinds) if is_enough else 0

    def most_utterances(self, each: int, pairs: int | None) -> int:
        """The largest number of utterances, where each cell has so many speakers; 0 if none."""
        most = self._largest(self.pool.sizes, each)
        sizes = np.unique(self.pool.sizes[(self.cell >= 0) & (self.pool.sizes <= most)])
        for utterances in sizes[sizes > 1][::-1].tolist():
            if met(each, utterances) < (pairs or 1):
                return 0
            if (self.counts(utterances, pairs) >= each).all():
                return int(utterances)
        return 0

    def most_pairs(self, each: int, utterances: int) -> int:
        """The largest number of pairs, where each cell has so many speakers; 0 if none."""
        across = np.where(self.can(utterances, None), self.across(utterances), 0)
        return min(self._largest(across, each), met(each, utterances))


def met(speakers: int, utterances: int) -> int:
    """Nontarget pairs of each of these, as partners take turns in both directions.

    Examples
    --------
    >>> met(2, 24)
    288
    """
    return utterances**2 * (speakers - 1) // 2


def spread(pool: Pool, words: Words) -> tuple[Ints, Ints]:
    """Utterances of each speaker in an order whose first are of as many recordings as there are.

    Parameters
    ----------
    pool
        Where they are from.
    words : uint64 ndarray of shape (utterance,)
        What decides where nothing else does.

    Returns
    -------
    (int64 ndarray of shape (utterance,), int64 ndarray of shape (utterance,))
        Their places, speaker by speaker, and how many before are of the same recording.
    """
    within = ordered(words, pool.recording)
    starts = np.searchsorted(pool.recording, pool.recording)
    turn = np.empty(within.size, dtype=np.int64)
    turn[within] = np.arange(within.size) - starts[within]
    order = np.lexsort((words[starts], turn, pool.owner))
    return order, turn[order]
