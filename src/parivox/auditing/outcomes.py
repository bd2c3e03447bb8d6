"""Outcomes of trials beside their scores: decisions, thresholds, failures, seconds.

And the rates that count failures to enrol and to acquire, and how long a trial took
(ISO/IEC 19795-1; docs/methods/failures.md#rates-of-attempts). FNMR and FMR are of comparisons that
were made; FRR and FAR are of attempts, in which a recording that cannot be acquired is a rejection;
the generalised rates count enrolments that failed too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from parivox.auditing.layout import cells_of_side
from parivox.auditing.rows import Base
from parivox.core.counts import Counts
from parivox.read.checks import ACQUIRE, ENROL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Codes, Layout
    from parivox.auditing.rows import Key
    from parivox.core.counts import FloatArray, IntArray
    from parivox.read.checks import Trials
    from parivox.read.trialset import TrialSet

_GRID = np.concatenate(([0.0], np.geomspace(1e-3, 1e6, 4501)))
"""Lower edges of the bins of seconds, half a percent wide."""
MICRO = 1e6
"""Seconds are added up in whole millionths."""
ATTEMPTS, SHARES = "attempts", "shares"
"""Rules: failed trials counted as rejections; or rates of comparisons joined with FTE and FTA."""
_NO_ROWS = "no trial of a failed recording is in the list"
_BY_TRIAL = "a group of trials, not of recordings"
_QUANTILES = {"q50": 0.5, "q95": 0.95}
_SLICE = 4_000_000  # utterances counted at once


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    of: int


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of the trials of one cell.

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


NO_OUTCOMES = Outcomes()


class WithOutcomes(Protocol):
    """Trials, or counts of them, that may tell decisions, failures and seconds."""

    @property
    def more(self) -> Collection[str]:
        """Names of what their rows tell besides."""

    @property
    def has_decisions(self) -> bool:
        """Whether decisions were made."""

    @property
    def has_times(self) -> bool:
        """Whether the seconds of each are known."""

    @property
    def thresholds(self) -> FloatArray:
        """Deployed thresholds."""

    @property
    def failures(self) -> Any:
        """What failed; None if nothing is told of failures."""

    def decided(self, part: Trials) -> NDArray[np.int8]:
        """Whether each was accepted: 1, 0, or -1 where it is not known."""


class OutcomeCounts:
    """Outcomes of `n` cells in the making.

    Parameters
    ----------
    trials
        Which tells what there is to count.
    n
        Number of cells.
    """

    def __init__(self, trials: WithOutcomes, n: int) -> None:
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

    def finish(self) -> list[Outcomes]:
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
            made.append(Outcomes(deployed, levels, failed, seconds))
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


class Attempts:
    """Which enrolments and test recordings were attempted, and which failed."""

    def __init__(self, trials: TrialSet) -> None:
        assert trials.failures is not None
        self.trials = trials
        self.failed = [side.copy() for side in trials.failures]
        self.tried = [side.copy() for side in trials.failures]
        self.met = [np.zeros_like(side) for side in trials.failures]

    def add(self, scored: Trials, failed: Trials | None) -> None:
        """Note the utterances of some trials."""
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
        pairs = zip(self.failed, self.met, strict=True)
        enrolments, recordings = (int((failed & ~met).sum()) for failed, met in pairs)
        return enrolments, recordings


def with_shares(
    attempts: Attempts, layout: Layout, cells: Sequence[Outcomes], levels: Sequence[Outcomes]
) -> tuple[list[Outcomes], list[Outcomes]]:
    """Cells and levels with shares of failed enrolments and test recordings.

    None where a recording has no group of its own.
    """
    trials = attempts.trials
    many, few = list(cells), list(levels)
    for stage, (side, tried, failed) in enumerate(
        zip(("enrol", "test"), attempts.tried, attempts.failed, strict=True)
    ):
        cell = cells_of_side(layout, trials, side)
        if cell is None:
            continue
        each = np.zeros((2, len(cells)), dtype=np.int64)  # (failed or tried, cell)
        for first in range(0, cell.size, _SLICE):
            part = slice(first, first + _SLICE)
            for row, which in enumerate((failed, tried)):
                chosen = cell[part][which[part] & (cell[part] >= 0)]
                each[row] += np.bincount(chosen, minlength=len(cells))
        pooled = each.reshape(2, layout.levels, layout.groups).sum(axis=-1)
        many, few = _shared(many, each, stage), _shared(few, pooled, stage)
    return many, few


def _shared(outcomes: Sequence[Outcomes], counts: IntArray, stage: int) -> list[Outcomes]:
    """With the share of what failed at a stage: enrolments first, test recordings then."""
    shares = [Share(*each) for each in counts.T.tolist()]
    pairs = zip(outcomes, shares, strict=True)
    if stage == 0:
        return [replace(one, enrolments=share) for one, share in pairs]
    return [replace(one, recordings=share) for one, share in pairs]


def failure_rates(
    rows: Mapping[Key, Base], outcomes: Outcomes, points: Sequence[str]
) -> Iterator[tuple[Key, Base]]:
    """FTE, FTA and, at each operating point, FRR, FAR, GFRR and GFAR by either rule.

    Parameters
    ----------
    rows
        FPR and FNR at the operating points.
    outcomes
        What failed in the cell.
    points
        The operating points.
    """
    shares = {"fte": outcomes.enrolments, "fta": outcomes.recordings}
    rates = {metric: _share(share, outcomes.no_shares) for metric, share in shares.items()}
    for metric, base in rates.items():
        yield (metric, "", ""), base
    assert outcomes.failed is not None
    acquire, both = outcomes.failed[0], outcomes.failed.sum(axis=0)
    some_failed = any(share is None or share.count for share in shares.values())
    lacks_rows = some_failed and not both.any()
    for point in points:
        if ("fpr", "", point) not in rows:
            continue
        fpr, fnr = rows["fpr", "", point], rows["fnr", "", point]
        for metric, base, lost, adds in (
            ("far", fpr, acquire[0], False),
            ("frr", fnr, acquire[1], True),
            ("gfar", fpr, both[0], False),
            ("gfrr", fnr, both[1], True),
        ):
            yield (
                (metric, ATTEMPTS, point),
                _counted(base, int(lost), adds=adds, lacks_rows=lacks_rows),
            )
            stages = ("fta", "fte") if metric.startswith("g") else ("fta",)
            joined = _joined(base, [rates[stage] for stage in stages], adds=adds)
            yield (metric, SHARES, point), joined


def _share(share: Share | None, no_shares: str) -> Base:
    if no_shares:
        return Base(math.nan, None, 0, math.nan, no_shares)
    if share is None:
        return Base(math.nan, None, 0, math.nan, _BY_TRIAL)
    if not share.of:
        return Base(math.nan, 0, 0, math.nan, "none was attempted")
    return Base(share.count / share.of, share.count, share.of, math.nan, "")


def _counted(base: Base, lost: int, *, adds: bool, lacks_rows: bool) -> Base:
    """A rate of all attempts: those that failed are rejections."""
    trials = base.trials + lost
    if base.errors is None or not trials:
        return base._replace(value=math.nan, reason=base.reason or "no trials", trials=trials)
    errors = base.errors + (lost if adds else 0)
    if lacks_rows:
        return Base(math.nan, None, trials, base.threshold, _NO_ROWS)
    return Base(errors / trials, errors, trials, base.threshold, "")


def _joined(base: Base, failed: Sequence[Base], *, adds: bool) -> Base:
    """A rate of comparisons joined with the shares of recordings that failed."""
    made = math.prod(1 - share.value for share in failed)
    value = base.value * made + (1 - made if adds else 0.0)
    reason = next((one.reason for one in (base, *failed) if one.reason), "")
    return Base(math.nan if reason else value, None, base.trials, base.threshold, reason)


def times(seconds: tuple[float, int, IntArray | None]) -> Iterator[tuple[Key, Base]]:
    """Mean and quantiles of the seconds that trials took."""
    total, n, grid = seconds
    reason = "" if n else "no trial tells its seconds"
    mean = total / n if n else math.nan
    yield ("seconds", "mean", ""), Base(mean, None, n, math.nan, reason)
    for name, share in _QUANTILES.items():
        told = reason or ("" if grid is not None else "not known from counts alone")
        value = math.nan if told or grid is None else _quantile(grid, share)
        yield ("seconds", name, ""), Base(value, None, n, math.nan, told)


def _quantile(times: IntArray, share: float) -> float:
    """Seconds that at least that share of the trials took no longer than, within half a percent."""
    total = np.cumsum(times)
    at = int(np.searchsorted(total, share * total[-1]))
    return float(_GRID[min(at + 1, _GRID.size - 1)])
