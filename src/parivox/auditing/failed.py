"""Who could not be enrolled or acquired: recordings that failed, by speaker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.auditing.beside import Recorded
from parivox.core.intervals import rate_interval
from parivox.core.moments import moments
from parivox.core.tallies import BySpeaker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.cells import Layout
    from parivox.auditing.involved import People
    from parivox.auditing.options import Gates
    from parivox.core.intervals import Interval
    from parivox.tables.trialset import TrialSet

__all__ = ["STAGES", "Failed", "failed"]

_SLICE = 4_000_000  # utterances at once
MOST_RECORDINGS = 20_000_000
"""Of more recordings, what failed is not tallied by speaker: it would take another gigabyte."""
STAGES = {"fte": "enrol", "fta": "test"}
"""Rates of failures, with the side of a trial that they are of."""


class Failed(NamedTuple):
    """Recordings tried and failed, of each cell; None where they cannot be told by group."""

    fte: BySpeaker | None
    fta: BySpeaker | None

    def part(self, start: int, stop: int) -> Failed:
        """Cells `start` to `stop`, the latter excluded."""
        return Failed(*(None if one is None else one.part(start, stop) for one in self))

    def interval(self, metric: str, confidence: float, gates: Gates) -> Interval | None:
        """Interval of one of the rates, ``[1, cell]``; none of too few speakers."""
        tally: BySpeaker | None = getattr(self, metric)
        if tally is None:
            return None
        found = rate_interval(moments(tally), confidence)
        return found.without((tally.speakers < gates.inference)[None], gates.too_few)


def failed(
    trials: TrialSet, layouts: Sequence[Layout], people: Sequence[tuple[People, People]]
) -> list[tuple[Failed, Failed]]:
    """Tally what failed of every layout, by cell and by level; of none if nothing is told."""
    if trials.failures is None or trials.utterance_speaker.size > MOST_RECORDINGS:
        return [(Failed(None, None), Failed(None, None))] * len(layouts)
    attempts = Recorded(trials)
    for part in trials.partitions():
        attempts.add(part, part.failed)
    made = []
    for one, (own, whole) in zip(layouts, people, strict=True):
        both: list[list[BySpeaker | None]] = [[], []]
        for at in range(len(STAGES)):
            both[0].append(_tally(trials, one, attempts, own, at, one.groups))
            both[1].append(_tally(trials, one, attempts, whole, at, 0))
        made.append((Failed(*both[0]), Failed(*both[1])))
    return made


def _tally(
    trials: TrialSet,
    layout: Layout,
    attempts: Recorded,
    people: People,
    at: int,
    groups: int,
) -> BySpeaker | None:
    """Recordings of one stage by speaker and cell or, for no groups, by speaker and level."""
    side = tuple(STAGES.values())[at]
    zero = np.zeros(trials.utterance_speaker.size, dtype=np.int32)
    group = zero if layout.grouping is None else layout.grouping.of_side(trials, side)
    level = zero if layout.within is None else layout.within.of_side(trials, side)
    if group is None or level is None:
        return None
    n, n_cells = people.n, layout.levels * max(groups, 1)
    wrong, total = np.zeros((2, n_cells * n), dtype=np.int64)
    for first in range(0, group.size, _SLICE):
        part = slice(first, first + _SLICE)
        tried = attempts.tried[at][part] & (group[part] >= 0) & (level[part] >= 0)
        cell = level[part][tried].astype(np.int64)
        if groups:
            cell = cell * groups + group[part][tried]
        code = cell * n + people.of(trials.utterance_speaker[part][tried])
        total += np.bincount(code, minlength=total.size)
        wrong += np.bincount(code[attempts.failed[at][part][tried]], minlength=total.size)
    code = np.flatnonzero(total)
    return BySpeaker(code // n, code % n, wrong[None, code], total[code], n_cells)
