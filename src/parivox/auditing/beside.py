"""What is counted of a cell besides its scores: decisions, thresholds, failures, seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.counts import Counts
from parivox.read.checks import ACQUIRE, ENROL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.layout import Codes
    from parivox.core.counts import IntArray
    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

__all__ = ["MICRO", "NOTHING", "Beside", "Besides", "Recorded", "Share", "quantile", "recorded"]

_GRID = np.concatenate(([0.0], np.geomspace(1e-3, 1e6, 4501)))
"""Lower edges of the bins of seconds, half a percent wide."""
MICRO = 1e6
"""Seconds are added up in whole millionths."""


_SLICE = 4_000_000  # utterances counted at once


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    of: int


@dataclass(frozen=True, eq=False)
class Beside:
    """Of one cell.

    Attributes
    ----------
    deployed : Counts or None
        Decisions as scores, 1 for accepted and 0 for rejected; None if there are none.
    thresholds : dict of float to int
        Trials at each deployed threshold.
    failed : integer ndarray of shape (2, 2), or None
        Trials that failed, by stage (acquire, enrol) and class (nontarget, target); None if
        nothing is told of failures.
    seconds : (float, int, FloatArray or None) or None
        Sum, number of trials, and the trials in each bin of :data:`_GRID`.
    enrolments, recordings : Share or None
        Failed enrolments and test recordings, of all that were attempted; None where they cannot
        be told by group.
    no_shares : str
        Why these rates cannot be told, if it is for another reason; whether there are any
        failures at all is then told by whether the count is 0.
    """

    deployed: Counts | None = None
    thresholds: dict[float, int] | None = None
    failed: IntArray | None = None
    seconds: tuple[float, int, IntArray | None] | None = None
    enrolments: Share | None = None
    recordings: Share | None = None
    no_shares: str = ""


NOTHING = Beside()


class Besides:
    """What is counted of `n` cells at once.

    Parameters
    ----------
    trials
        Which tells what there is to count.
    n
        Number of cells.
    """

    def __init__(self, trials: TrialSet | TrialCounts, n: int) -> None:
        self.trials, self.n = trials, n
        more = trials.more
        self.decided = np.zeros((n, 2, 2), dtype=np.int64) if trials.has_decisions else None
        self.levels = (
            np.zeros((n, trials.thresholds.size), dtype=np.int64) if "threshold" in more else None
        )
        self.failed = np.zeros((n, 2, 2), dtype=np.int64) if trials.failures is not None else None
        timed = "seconds" in more
        # added up in whole millionths, so that the order of adding changes nothing
        self.seconds = np.zeros((n, 2), dtype=np.int64) if timed else None  # sum, trials
        self.times = (
            np.zeros((n, _GRID.size), dtype=np.int64) if timed and trials.has_times else None
        )

    @property
    def counts_more(self) -> bool:
        """Whether scored trials have anything to count."""
        return any(one is not None for one in (self.decided, self.levels, self.seconds))

    def add(self, part: Trials, cells: Sequence[Codes]) -> None:
        """Count scored trials."""
        decided = self.trials.decided(part) if self.decided is not None else None
        weight = part.more.get("count")
        for cell in cells:
            inside = cell >= 0
            if self.decided is not None and decided is not None:
                known = inside & (decided >= 0)
                _add(self.decided, cell, 2 * part.target + decided, known, weight)
            if self.levels is not None:
                _add(self.levels, cell, part.more["threshold"], inside, weight)
            if self.seconds is not None:
                took = part.more["seconds"]
                known = inside & ~np.isnan(took)
                if self.times is not None:
                    code = np.searchsorted(_GRID, took, "right") - 1
                    _add(self.times, cell, code, known)
                    took, timed = np.rint(took * MICRO), known
                else:
                    timed = part.more["timed"]
                for i, what in enumerate((took, timed)):
                    found = np.bincount(cell[known], what[known], minlength=self.n)
                    self.seconds[:, i] += found.astype(np.int64)

    def add_failed(self, part: Trials, cells: Sequence[Codes]) -> None:
        """Count trials that failed."""
        assert self.failed is not None
        stage = part.more["failed"].astype(np.int64) - ACQUIRE
        for cell in cells:
            _add(self.failed, cell, 2 * stage + part.target, cell >= 0, part.more.get("count"))

    def finish(self) -> list[Beside]:
        """What was counted of each cell."""
        made = []
        for i in range(self.n):
            deployed = seconds = levels = None
            if self.decided is not None:
                nontarget, target = self.decided[i]
                used = (nontarget + target) > 0
                deployed = Counts(np.array([0.0, 1.0])[used], target[used], nontarget[used])
            if self.levels is not None:
                named = zip(self.trials.thresholds.tolist(), self.levels[i].tolist(), strict=True)
                levels = {level: n for level, n in named if n and level == level}  # noqa: PLR0124
            if self.seconds is not None:
                total, trials = self.seconds[i].tolist()
                seconds = total / MICRO, trials, None if self.times is None else self.times[i]
            failed = None if self.failed is None else self.failed[i]
            made.append(Beside(deployed, levels, failed, seconds))
        return made


def _add(
    into: NDArray[Any],
    cell: NDArray[Any],
    code: NDArray[Any],
    chosen: NDArray[np.bool_],
    weight: IntArray | None = None,
) -> None:
    """Count the codes of chosen trials by cell."""
    flat = into.reshape(-1)
    size = flat.size // into.shape[0]
    cell, code = cell[chosen], code[chosen]
    at = cell.astype(np.int64) * size + np.where(code < 0, size - 1, code)
    weight = None if weight is None else weight[chosen]
    flat += np.bincount(at, weight, minlength=flat.size).astype(np.int64, copy=False)


def quantile(times: IntArray, share: float) -> float:
    """Seconds that at least that share of the trials took no longer than, within half a percent."""
    total = np.cumsum(times)
    at = int(np.searchsorted(total, share * total[-1]))
    return float(_GRID[min(at + 1, _GRID.size - 1)])


class Recorded:
    """Which enrolments and test recordings were attempted, and which failed."""

    def __init__(self, trials: TrialSet) -> None:
        self.trials = trials
        self.is_needed = trials.failures is not None
        if trials.failures is not None:
            self.failed = [side.copy() for side in trials.failures]
            self.tried = [side.copy() for side in trials.failures]
            self.met = [np.zeros_like(side) for side in trials.failures]

    def add(self, scored: Trials, failed: Trials | None) -> None:
        """Note the utterances of some trials."""
        if not self.is_needed:
            return
        for some in (scored, failed):
            if some is not None:
                for side, utterance in enumerate((some.enrol, some.test)):
                    self.tried[side][utterance] = self.met[side][utterance] = True
        if failed is not None:
            stage = failed.more["failed"]
            self.failed[0][failed.enrol[stage == ENROL]] = True
            self.failed[1][failed.test[stage == ACQUIRE]] = True

    def unmet(self) -> tuple[int, int]:
        """Failed enrolments and test recordings that no trial has on that side."""
        if not self.is_needed:
            return 0, 0
        pairs = zip(self.failed, self.met, strict=True)
        enrolments, recordings = (int((failed & ~met).sum()) for failed, met in pairs)
        return enrolments, recordings


def recorded(
    attempts: Recorded,
    grouping: Grouping | None,
    within: Grouping | None,
    cells: Sequence[Beside],
    levels: Sequence[Beside],
) -> tuple[list[Beside], list[Beside]]:
    """Shares of failed enrolments and recordings, where a recording has a group of its own."""
    trials = attempts.trials
    zero = np.zeros(trials.utterance_speaker.size, dtype=np.int32)
    n_groups = len(cells) // len(levels)
    many, few = list(cells), list(levels)
    for stage, (side, tried, failed) in enumerate(
        zip(("enrol", "test"), attempts.tried, attempts.failed, strict=True)
    ):
        group = zero if grouping is None else grouping.of_side(trials, side)
        level = zero if within is None else within.of_side(trials, side)
        if group is None or level is None:
            continue
        each = np.zeros((2, len(cells)), dtype=np.int64)  # (failed or tried, cell)
        for first in range(0, group.size, _SLICE):
            part = slice(first, first + _SLICE)
            code = np.where(
                (group[part] < 0) | (level[part] < 0), -1, level[part] * n_groups + group[part]
            )
            for row, which in enumerate((failed, tried)):
                chosen = code[which[part] & (code >= 0)]
                each[row] += np.bincount(chosen, minlength=len(cells))
        pooled = each.reshape(2, len(levels), n_groups).sum(axis=-1)
        many, few = _shared(many, each, stage), _shared(few, pooled, stage)
    return many, few


def _shared(besides: Sequence[Beside], counts: IntArray, stage: int) -> list[Beside]:
    """With the share of what failed at a stage: enrolments first, test recordings then."""
    shares = [Share(*each) for each in counts.T.tolist()]
    pairs = zip(besides, shares, strict=True)
    if stage == 0:
        return [replace(one, enrolments=share) for one, share in pairs]
    return [replace(one, recordings=share) for one, share in pairs]
