"""Speakers who take part in a list, and in how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.trials.lists import TrialList
    from parivox.trials.tabulation import Cells, Tabulated

    Ints = NDArray[np.int64]

__all__ = ["Takers", "effective", "members", "of_speakers", "on_side"]

MOST = 10_000_000
"""Groups times speakers that are marked in a table; of more, pairs are sorted."""


@dataclass(frozen=True, eq=False)
class Takers:
    """Speakers who take part, and in how much; shape (speaker,) each.

    Attributes
    ----------
    speaker : int64
        Index into the table of speakers.
    target, nontarget : int64
        Trials that they enrol in.
    tested : int64
        Nontarget trials that they are the test side of.
    """

    speaker: Ints
    target: Ints
    nontarget: Ints
    tested: Ints
    _found: TrialList = field(repr=False)
    _counted: Tabulated = field(repr=False)

    @property
    def enrolled(self) -> Ints:
        """Trials that they enrol in."""
        return self.target + self.nontarget

    @property
    def as_test(self) -> Ints:
        """Trials that they are the test side of."""
        return self.target + self.tested

    @property
    def part(self) -> Ints:
        """Trials that they take part in, on one side or both."""
        return self.target + self.nontarget + self.tested

    @cached_property
    def partners(self) -> Ints:
        """Other speakers whom they are compared with."""
        cells = self._counted.cells.take(~self._counted.cells.target)
        one, other = cells.enrol.astype(np.int64), cells.test.astype(np.int64)
        n = len(self._found.people.ids)
        both = np.unique(np.concatenate((one * n + other, other * n + one)))
        return np.bincount(both // n, minlength=n)[self.speaker]

    @property
    def utterances(self) -> Ints:
        """Their utterances in the list."""
        used = self._counted.uses > 0
        speaker = self._found.trials.utterance_speaker[used]
        return np.bincount(speaker, minlength=len(self._found.people.ids))[self.speaker]

    @cached_property
    def recordings(self) -> Ints:
        """Their recordings in the list; -1 where not all are known."""
        used, n = self._counted.uses > 0, len(self._found.people.ids)
        speaker, recording = self._found.trials.utterance_speaker[used], self._found.recording[used]
        found = on_side(speaker[recording >= 0], recording[recording >= 0], n)
        found[np.bincount(speaker[recording < 0], minlength=n) > 0] = -1
        return found[self.speaker]


def of_speakers(found: TrialList, counted: Tabulated) -> Takers:
    """Count what each speaker takes part in."""
    n, cells = len(found.people.ids), counted.cells
    target, other = cells.take(cells.target), cells.take(~cells.target)
    sides = (target, target.enrol), (other, other.enrol), (other, other.test)
    mine, enrolled, tested = (of.total(side, n) for of, side in sides)
    there = np.flatnonzero(mine + enrolled + tested)
    return Takers(there, mine[there], enrolled[there], tested[there], found, counted)


def effective(trials: NDArray[np.integer]) -> float:
    """Number of speakers that as many trials each would be as good as: (sum n)^2 / sum n^2.

    Examples
    --------
    >>> effective(np.array([10, 10, 10])), effective(np.array([28, 1, 1]))
    (3.0, 1.1450381679389312)
    """
    each = np.asarray(trials, dtype=np.float64)
    square = float((each**2).sum())
    return float(each.sum()) ** 2 / square if square else 0.0


def members(cells: Cells, k: int) -> Ints:
    """Speakers of each of `k` groups, on either side."""
    group, speaker = (
        np.concatenate(one)
        for one in ((cells.enrol_group, cells.test_group), (cells.enrol, cells.test))
    )
    return on_side(group, speaker, k)


def on_side(group: NDArray[np.int32], who: NDArray[np.int32], k: int) -> Ints:
    """Distinct speakers, or recordings, of each of `k` groups; -1 is none."""
    width = int(who.max(initial=0)) + 1
    key = group[group >= 0].astype(np.int64) * width + who[group >= 0]
    if k * width > MOST:
        return np.bincount(np.unique(key) // width, minlength=k)
    there = np.zeros((k, width), dtype=bool)
    there.ravel()[key] = True
    return np.asarray(there.sum(axis=1))
