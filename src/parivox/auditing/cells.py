"""From encoded trials to counts per group: the last step above the waist.

A *cell* is what a rate is computed on: one group of one grouping under one allocation of nontarget
trials (docs/methods/rates.md#groups-of-trials), of all trials or of those within one level of
another grouping. Trials held in memory give exact counts per distinct score; trials in partitions
are counted in :data:`~parivox.auditing.counting.BINS` bins whose lower edges are the thresholds of
the curve, so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parivox.auditing.beside import NOTHING, Beside, Besides, Recorded, recorded
from parivox.auditing.counting import Binned, Exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.core.counts import Counts, FloatArray, IntArray
    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

    Codes: TypeAlias = NDArray[np.int32]
    Sides: TypeAlias = Callable[[Trials], tuple[Codes, Codes]]

__all__ = ["ALLOCATIONS", "Cells", "Level", "Matrix", "Tally", "count_cells", "count_matrices"]

ALLOCATIONS = ("both", "enrol", "test", "either")
_NONE = np.int32(-1)


@dataclass(frozen=True, eq=False)
class Level:
    """All scored trials, or those within one level of a grouping.

    Attributes
    ----------
    name : str
        As the column ``within`` has it, ``channel=a``; empty for all trials.
    counts : Counts
    speakers : int or None
        Speakers who take part in one of the trials; None where they are not known.
    beside : Beside
        What else was counted.
    """

    name: str
    counts: Counts
    speakers: int | None
    beside: Beside = NOTHING


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of each group of one grouping under one allocation, within one level.

    Attributes
    ----------
    groups : sequence of Counts
        One per group of the grouping, each on its own scores.
    pooled : Counts
        Every trial that the grouping and allocation place in some group, once.
    speakers : sequence of int or None
        Speakers of the group who take part in one of its trials; last, of all groups.
    left_out : integer ndarray of shape (2,)
        Trials that count for no group: of a speaker, recording or trial whose group is unknown;
        between two groups.
    level : Level
        The trials that the cells are of.
    beside : sequence of Beside
        What else was counted, of each group and, last, of all groups.
    missing : sequence of str
        Of each group, why nothing is known of it; empty for those that were counted.
    """

    grouping: Grouping
    allocation: str
    groups: Sequence[Counts]
    pooled: Counts
    speakers: Sequence[int | None]
    left_out: IntArray
    level: Level
    beside: Sequence[Beside]
    missing: Sequence[str]


@dataclass(eq=False)
class Tally:
    """All counts of one system on one list.

    Attributes
    ----------
    levels : list of Level
        All trials first, then each level that the audit is repeated within.
    cells : list of Cells
        Those of all trials first.
    outside : dict of str to int
        Trials that are in no level, by the name of the grouping that the levels are of.
    unmet : (int, int)
        Failed enrolments and test recordings that no trial has on that side.
    recordings : (int, int) or None
        Different models, and different recordings, of the trials; None for counts.
    bound : float
        Largest share of one class of a cell's trials in one bin, in [0, 1]: no rate at a
        threshold found on the curve (EER, minimum cost, FNR at an FPR) nor the AUC is further
        than this from the exact one. 0 for exact counts.
    width : float
        Width of a bin, in units of score: means and quantiles of scores are within it.
    """

    levels: list[Level]
    cells: list[Cells] = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)
    unmet: tuple[int, int] = (0, 0)
    recordings: tuple[int, int] | None = None
    bound: float = 0.0
    width: float = 0.0

    @property
    def everything(self) -> Counts:
        """Every scored trial."""
        return self.levels[0].counts

    @property
    def speakers(self) -> int | None:
        """Speakers who take part in one of them."""
        return self.levels[0].speakers


class Layout(NamedTuple):
    """What is counted together: the groups of one grouping, for each level."""

    grouping: Grouping | None
    allocation: str
    within: Grouping | None

    @property
    def levels(self) -> int:
        """How many levels."""
        return 1 if self.within is None else len(self.within.groups)

    @property
    def groups(self) -> int:
        """How many groups each level has."""
        return 1 if self.grouping is None else len(self.grouping.groups)

    def names(self) -> list[str]:
        """The levels as the column ``within`` has them."""
        if self.within is None:
            return [""]
        return [f"{self.within.name}={group}" for group in self.within.groups]


class Placed(NamedTuple):
    """Where the trials of one partition count in one layout.

    Attributes
    ----------
    cells : list of int32 ndarray
        Cell of each trial, ``level * groups + group``, -1 for none; a second array where a trial
        counts twice.
    level : int32 ndarray
        Level of each trial that counts in some cell, -1 for the others.
    """

    cells: list[Codes]
    level: Codes


def placements(enrol: Codes, test: Codes, allocation: str) -> list[Codes]:
    """Group that each trial counts for, -1 for none; a second array where it counts twice.

    ``enrol`` and ``test`` are the groups of both sides, -1 where unknown.
    """
    if allocation == "enrol":
        return [enrol]
    if allocation == "test":
        return [test]
    if allocation == "both":
        return [np.where(enrol == test, enrol, _NONE)]
    return [enrol, np.where(enrol == test, _NONE, test)]


class People:
    """Which speakers take part in a trial of which cell."""

    def __init__(self, layout: Layout, n_speakers: int) -> None:
        self.layout, self.n = layout, n_speakers
        grouping = layout.grouping
        # each speaker is of one group, so that the group need not be kept
        self.of_speaker = grouping.of_speaker if grouping is not None else None
        is_one = grouping is None or self.of_speaker is not None
        self.is_simple = is_one and layout.within is None
        cells = 1 if self.is_simple else layout.levels * layout.groups
        self.used = np.zeros(cells * (n_speakers + 1), dtype=np.bool_)  # last: unknown

    def add(
        self, speakers: Sequence[NDArray[np.integer[Any]]], sides: Sequence[Codes], placed: Placed
    ) -> None:
        """Note the speakers of either side, where the side's own group is that of the cell."""
        groups = max(self.layout.groups, 1)  # nothing is placed where there is none
        for cell in placed.cells:
            group = cell if self.layout.within is None else np.where(cell < 0, _NONE, cell % groups)
            for speaker, side in zip(speakers, sides, strict=True):
                inside = side == group
                inside &= cell >= 0
                whole = inside.all()
                who = speaker if whole else speaker[inside]
                if self.is_simple:
                    self.used[who] = True
                else:
                    where = (cell if whole else cell[inside]).astype(np.int64)
                    self.used[where * (self.n + 1) + who] = True

    def count(self) -> list[list[int]]:
        """Speakers of each group and, last, of all groups, for each level."""
        groups = self.layout.groups
        if self.is_simple:
            used = self.used[:-1]
            everyone = int(used.sum())
            if self.of_speaker is None:
                return [[everyone, everyone]]
            each = np.bincount(self.of_speaker[: self.n][used], minlength=groups)
            return [[*each.tolist(), everyone]]
        used = self.used.reshape(self.layout.levels, groups, self.n + 1)[..., :-1]
        each = used.sum(axis=-1)
        everyone = used.any(axis=1).sum(axis=-1)
        return [[*row, n] for row, n in zip(each.tolist(), everyone.tolist(), strict=True)]


def count_cells(
    trials: TrialSet | TrialCounts,
    groupings: Sequence[Grouping],
    allocations: Sequence[str],
    *,
    within: Sequence[Grouping] = (),
    thresholds: Iterable[float] = (),
    keep_conflicts: bool = False,
) -> Tally:
    """Count the trials of one system and list, per group and score.

    Parameters
    ----------
    trials
        Encoded trials, in one partition (exact counts) or several (binned); or counts of them.
    groupings, allocations
        What the cells are.
    within
        Groupings within whose levels all is counted again: a trial is within a level if both of
        its sides are.
    thresholds
        Score values that must be thresholds of binned counts too.
    keep_conflicts
        Count the contradicting rows as well, which are otherwise set aside.
    """
    outer = (None, *within)
    whole = [Layout(None, "", level) for level in outer]
    layouts = [
        *whole,
        *(Layout(g, rule, w) for w in outer for g in groupings for rule in allocations),
    ]
    exact = trials.n_partitions == 1
    sizes = [(one.levels * one.groups, one.levels) for one in layouts]
    counter: Exact | Binned
    if trials.is_counted:
        counter = Exact(sizes, trials.bins.width)
    else:
        counter = Exact(sizes) if exact else Binned(sizes, trials, thresholds)
    besides = [(Besides(trials, cells), Besides(trials, levels)) for cells, levels in sizes]
    people = _Everyone(trials, layouts)
    left_out = np.zeros((len(layouts), 2), dtype=np.int64)
    found = _sides(trials, groupings, within)
    for part, which in _parts(trials, layouts):
        kept = part if keep_conflicts else part.without_conflicts()
        if exact:
            kept = kept.take(np.argsort(kept.score))
        weight = kept.more.get("count")
        sides = {key: one(kept) for key, one in found.items()}
        here = {i: placed(layouts[i], sides, len(kept), left_out[i], weight) for i in which}
        people.add(kept, part.failed, sides, here)
        counter.add(kept.score, kept.target, here, weight)
        if besides[0][0].counts_more:
            for i, where in here.items():
                cells, levels = besides[i]
                cells.add(kept, where.cells)
                levels.add(kept, [where.level])
        if part.failed is not None and len(part.failed):
            failed = part.failed
            sides = {key: one(failed) for key, one in found.items()}
            for i in which:
                cells, levels = besides[i]
                where = placed(layouts[i], sides, len(failed))
                cells.add_failed(failed, where.cells)
                levels.add_failed(failed, [where.level])
    tally = _tallied(layouts, counter, besides, people, left_out)
    tally.unmet = people.unmet()
    tally.recordings = people.recordings()
    return tally


def _tallied(
    layouts: Sequence[Layout],
    counter: Exact | Binned,
    besides: Sequence[tuple[Besides, Besides]],
    people: _Everyone,
    left_out: IntArray,
) -> Tally:
    """What was counted of each layout, by cell."""
    counts = counter.finish()
    tally = Tally([], bound=counter.bound, width=counter.width)
    by_within: dict[int, list[Level]] = {}
    for i, (one, (each, pooled), (inside, outer_)) in enumerate(
        zip(layouts, counts, besides, strict=True)
    ):
        seen = people.count(i)
        many, few = people.recorded(i, inside.finish(), outer_.finish())
        if one.grouping is None:
            made = [
                Level(name, whole_, who[-1], beside)
                for name, whole_, who, beside in zip(one.names(), pooled, seen, few, strict=True)
            ]
            by_within[id(one.within)] = made
            tally.levels += made
            if one.within is not None:
                tally.outside[one.within.name] = int(left_out[i].sum())
            continue
        for at, level in enumerate(by_within[id(one.within)]):
            part_of = slice(at * one.groups, (at + 1) * one.groups)
            outside = left_out[i] if one.within is None else np.full(2, -1)
            tally.cells.append(
                Cells(
                    *(one.grouping, one.allocation, each[part_of], pooled[at], seen[at]),
                    *(outside, level, [*many[part_of], few[at]]),
                    people.missing(one.grouping, level.name),
                )
            )
    return tally


class _Everyone:
    """The speakers and recordings behind the cells: seen in the trials, or told by counts."""

    def __init__(self, trials: TrialSet | TrialCounts, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        if not trials.is_counted:
            n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
            self.people = [People(one, n_speakers) for one in layouts]
            self.attempts = Recorded(trials)
            self.used = np.zeros(len(trials.utterance_ids), dtype=np.bool_)

    def add(
        self,
        part: Trials,
        failed: Trials | None,
        sides: dict[int, tuple[Codes, Codes]],
        here: dict[int, Placed],
    ) -> None:
        """Note those of one partition."""
        if self.trials.is_counted:
            return
        of_utterance = self.trials.utterance_speaker
        sides_of = (part.enrol, part.test)
        speakers = [of_utterance.take(side).astype(np.intp) for side in sides_of]
        for i, at in here.items():
            grouping = self.layouts[i].grouping
            own = sides[id(grouping)] if grouping is not None else _nowhere(len(part))
            self.people[i].add(speakers, own, at)
        self.attempts.add(part, failed)
        for side in sides_of:
            self.used[side] = True

    def count(self, i: int) -> Sequence[Sequence[int | None]]:
        """Speakers of each group and, last, of all groups, for each level."""
        if self.trials.is_counted:
            return self.trials.speakers(self.layouts[i])
        return self.people[i].count()

    def missing(self, grouping: Grouping, level: str) -> Sequence[str]:
        """Why nothing is known of each group within a level, if counts withhold it."""
        if self.trials.is_counted:
            return self.trials.missing(grouping, level)
        return [""] * len(grouping.groups)

    def unmet(self) -> tuple[int, int]:
        """Failed enrolments and test recordings that no trial has on that side."""
        return (0, 0) if self.trials.is_counted else self.attempts.unmet()

    def recordings(self) -> tuple[int, int] | None:
        """Different models and recordings of the trials, which come in this order."""
        if self.trials.is_counted:
            return None
        models = self.trials.n_models
        return int(self.used[:models].sum()), int(self.used[models:].sum())

    def recorded(
        self, i: int, cells: Sequence[Beside], levels: Sequence[Beside]
    ) -> tuple[Sequence[Beside], Sequence[Beside]]:
        """What was counted of the cells and levels, with shares of failed recordings."""
        one, trials = self.layouts[i], self.trials
        if trials.failures is None:
            return cells, levels
        if trials.is_counted:
            return trials.recorded(one, cells, levels)
        return recorded(self.attempts, one.grouping, one.within, cells, levels)


def _parts(
    trials: TrialSet | TrialCounts, layouts: Sequence[Layout]
) -> Iterator[tuple[Trials, Sequence[int]]]:
    """Trials in pieces, and the layouts that they count in: those of counts in one block's."""
    if trials.is_counted:
        yield from trials.parts(layouts)
        return
    for part in trials.partitions():
        yield part, range(len(layouts))


def _sides(
    trials: TrialSet | TrialCounts, groupings: Sequence[Grouping], within: Sequence[Grouping]
) -> dict[int, Sides]:
    """What gives the groups of both sides, by the grouping's identity."""
    if trials.is_counted:
        return {id(one): trials.on(one) for one in (*groupings, *within)}
    return {id(one): one.on(trials) for one in (*groupings, *within)}


def _by_cell(
    pair: Codes, size: int, chosen: NDArray[np.bool_] | None, weight: IntArray | None
) -> IntArray:
    """How many of the chosen trials are in each cell; those of the last one are in none."""
    if chosen is not None:
        pair, weight = pair[chosen], None if weight is None else weight[chosen]
    return np.bincount(pair, weight, minlength=size + 1)[:-1].astype(np.int64, copy=False)


def _nowhere(n: int) -> tuple[Codes, Codes]:
    """Sides that are all of the one group that there is."""
    both = np.zeros(n, dtype=np.int32)
    return both, both


def placed(
    layout: Layout,
    sides: dict[int, tuple[Codes, Codes]],
    n: int,
    left_out: IntArray | None = None,
    weight: IntArray | None = None,
) -> Placed:
    """Where trials count; those that are in no group are added to `left_out`.

    Each counts once or, with `weight`, as often as that.
    """
    group = layout.grouping
    both = sides[id(group)] if group is not None else _nowhere(n)
    cells = placements(*both, layout.allocation or "both")
    if layout.within is not None:
        (level,) = placements(*sides[id(layout.within)], "both")
        size = np.int32(layout.groups)
        inside = [(cell >= 0) & (level >= 0) for cell in cells]
        cells = [
            np.where(known, level * size + cell, _NONE)
            for known, cell in zip(inside, cells, strict=True)
        ]
        if group is None:
            both = sides[id(layout.within)]
    known = cells[0] >= 0
    for cell in cells[1:]:
        known = known | (cell >= 0)
    if left_out is not None and not known.all():
        of_known = (both[0] >= 0) & (both[1] >= 0) & ~known
        left_out += [
            int(one.sum() if weight is None else weight[one].sum())
            for one in (~known & ~of_known, of_known)
        ]
    if layout.within is None:
        return Placed(cells, np.where(known, np.int32(0), _NONE))
    return Placed(cells, np.where(known, level, _NONE))


class Matrix(NamedTuple):
    """False accepts and trials of nontarget pairs by group of either side.

    Attributes
    ----------
    errors, trials : integer ndarrays of shape (threshold, enrol group, test group)
    """

    errors: IntArray
    trials: IntArray


def count_matrices(
    trials: TrialSet | TrialCounts,
    groupings: Sequence[Grouping],
    thresholds: FloatArray,
    *,
    deployed: int | None = None,
    within: Sequence[Grouping] = (),
) -> list[tuple[Grouping, str, Matrix]]:
    """False accepts and trials of nontarget pairs, by group of either side.

    See docs/methods/rates.md#cross-group-matrix.

    Parameters
    ----------
    trials, groupings, within
        As in :func:`count_cells`.
    thresholds
        At which trials are accepted; NaN for never.
    deployed
        Which of the thresholds stands for the deployed decisions, if one does.

    Returns
    -------
    list of (grouping, level, Matrix)
        The level as the column ``within`` has it.
    """
    layouts = [Layout(g, "", w) for w in (None, *within) for g in groupings]
    sizes = [(one.levels, one.groups * one.groups) for one in layouts]
    errors = [np.zeros((thresholds.size, levels * n), dtype=np.int64) for levels, n in sizes]
    totals = [np.zeros_like(one) for one in errors]
    found = _sides(trials, groupings, within)
    for part, which in _parts(trials, layouts):
        kept = part.without_conflicts()
        kept = kept.take(~kept.target)
        weight = kept.more.get("count")
        accepted = [kept.score >= t for t in thresholds]  # never, where the threshold is NaN
        known: list[NDArray[np.bool_] | None] = [None] * len(accepted)
        if deployed is not None:
            decided = trials.decided(kept)
            accepted[deployed], known[deployed] = decided == 1, decided >= 0
        sides = {key: one(kept) for key, one in found.items()}
        for i in which:
            one = layouts[i]
            enrol, test = sides[id(one.grouping)]
            n = one.groups
            outside = (enrol < 0) | (test < 0)
            pair = enrol * np.int32(n) + test
            if one.within is not None:
                (level,) = placements(*sides[id(one.within)], "both")
                outside |= level < 0
                pair += level * np.int32(n * n)
            size = errors[i].shape[1]
            pair[outside] = size  # counted in a cell of its own, which is then left out
            every = _by_cell(pair, size, None, weight)
            for row, (chosen, seen) in enumerate(zip(accepted, known, strict=True)):
                errors[i][row] += _by_cell(pair, size, chosen, weight)
                totals[i][row] += every if seen is None else _by_cell(pair, size, seen, weight)
    made = []
    for one, wrong, total in zip(layouts, errors, totals, strict=True):
        shape = (-1, one.levels, one.groups, one.groups)
        by_level = wrong.reshape(shape), total.reshape(shape)
        for at, name in enumerate(one.names()):
            assert one.grouping is not None
            made.append((one.grouping, name, Matrix(*(array[:, at] for array in by_level))))
    return made
