"""Trials counted by cell: scores, participants, outcomes, and false accepts between groups.

Trials held in memory give exact counts per distinct score; trials in partitions are counted in
:data:`~parivox.auditing.score_counts.BINS` bins whose lower edges are the thresholds of the curve,
so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.layout import CROSS, Layout, Placing, cell_layouts
from parivox.auditing.outcomes import NO_OUTCOMES, Attempts, OutcomeCounts, Outcomes, with_shares
from parivox.auditing.score_counts import Binned, Exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.layout import Codes, PlacedTrials
    from parivox.core.counts import Counts, FloatArray, IntArray
    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet


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
    outcomes : Outcomes
        What else was counted.
    """

    name: str
    counts: Counts
    speakers: int | None
    outcomes: Outcomes = NO_OUTCOMES


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
    outcomes : sequence of Outcomes
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
    outcomes: Sequence[Outcomes]
    missing: Sequence[str]


@dataclass(eq=False)
class CellCounts:
    """All counts of one system on one list.

    Attributes
    ----------
    levels : list of Level
        All trials first, then each level that the audit is repeated within.
    cells : list of Cells
        Those of all trials first.
    outside : dict of str to int
        Trials that are in no level, by the name of the grouping that the levels are of.
    attempts : Attempts or None
        Which recordings were attempted and failed; None for counts, or if no failure is told of.
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
    attempts: Attempts | None = None
    recordings: tuple[int, int] | None = None
    bound: float = 0.0
    width: float = 0.0

    @property
    def everything(self) -> Counts:
        """Every scored trial."""
        return self.levels[0].counts

    @property
    def unmet(self) -> tuple[int, int]:
        """Failed enrolments and test recordings that no trial has on that side."""
        return (0, 0) if self.attempts is None else self.attempts.unmet()

    @property
    def speakers(self) -> int | None:
        """Speakers who take part in one of them."""
        return self.levels[0].speakers


class Participants:
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

    def add(self, speakers: Sequence[NDArray[np.integer[Any]]], here: PlacedTrials, i: int) -> None:
        """Note the speakers of either side, where the side's own group is that of the cell.

        Parameters
        ----------
        speakers
            Of the enrolments and of the test recordings.
        here, i
            Where the trials count, of which the layout is number `i`.
        """
        groups = max(self.layout.groups, 1)  # nothing is placed where there is none
        sides = here.sides_by(self.layout.grouping)
        for cell in here.at[i].cells:
            group = cell if self.layout.within is None else np.where(cell < 0, -1, cell % groups)
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
) -> CellCounts:
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
    layouts = cell_layouts(groupings, allocations, within)
    exact = trials.n_partitions == 1
    sizes = [(one.cells, one.levels) for one in layouts]
    counter = (
        Exact(sizes, trials.bins.width) if exact else Binned(sizes, trials.score_range, thresholds)
    )
    outcomes = [
        (OutcomeCounts(trials, cells), OutcomeCounts(trials, levels)) for cells, levels in sizes
    ]
    people = _Participation(trials, layouts) if trials.has_speakers else trials
    left_out = np.zeros((len(layouts), 2), dtype=np.int64)
    placing = Placing(trials, layouts)
    for part, which in trials.parts(layouts):
        kept = part if keep_conflicts else part.without_conflicts()
        if exact:
            kept = kept.take(np.argsort(kept.score))
        here = placing.place(kept, which)
        for i in which:
            left_out[i] += _left_out(here, layouts[i], i)
        if isinstance(people, _Participation):
            people.add(here, part.failed)
        counter.add(kept.score, kept.target, here.at, kept.more.get("count"))
        _add_outcomes(outcomes, here)
        if part.failed is not None and len(part.failed):
            _add_outcomes(outcomes, placing.place(part.failed, which), failed=True)
    counted = _by_cell(layouts, counter, outcomes, people, left_out)
    if isinstance(people, _Participation):
        counted.attempts, counted.recordings = people.attempts, people.recordings()
    return counted


def _add_outcomes(
    outcomes: Sequence[tuple[OutcomeCounts, OutcomeCounts]],
    here: PlacedTrials,
    *,
    failed: bool = False,
) -> None:
    """Count what became of the trials of one partition, by cell and by level."""
    for i, at in here.at.items():
        for into, cells in zip(outcomes[i], (at.cells, [at.level]), strict=True):
            if failed:
                into.add_failed(here.part, cells)
            elif into.counts_more:
                into.add(here.part, cells)


def _left_out(here: PlacedTrials, layout: Layout, i: int) -> tuple[int, int]:
    """Trials that count in no cell: of a side whose group is unknown; between two groups."""
    lost = here.at[i].level < 0
    if not lost.any():
        return 0, 0
    enrol, test = here.sides_by(layout.grouping or layout.within)
    between = lost & (enrol >= 0) & (test >= 0)
    weight = here.part.more.get("count")
    n, known = (int(one.sum() if weight is None else weight[one].sum()) for one in (lost, between))
    return n - known, known


def _by_cell(
    layouts: Sequence[Layout],
    counter: Exact | Binned,
    outcomes: Sequence[tuple[OutcomeCounts, OutcomeCounts]],
    people: _Participation | TrialCounts,
    left_out: IntArray,
) -> CellCounts:
    """What was counted of each layout, by cell."""
    counts = counter.finish()
    counted = CellCounts([], bound=counter.bound, width=counter.width)
    by_within: dict[int, list[Level]] = {}
    for i, (one, (each, pooled), (inside, outer_)) in enumerate(
        zip(layouts, counts, outcomes, strict=True)
    ):
        speakers = people.speakers(one)
        many, few = people.with_shares(one, inside.finish(), outer_.finish())
        if one.grouping is None:
            made = [
                Level(name, whole_, who[-1], became)
                for name, whole_, who, became in zip(
                    one.names(), pooled, speakers, few, strict=True
                )
            ]
            by_within[id(one.within)] = made
            counted.levels += made
            if one.within is not None:
                counted.outside[one.within.name] = int(left_out[i].sum())
            continue
        for at, level in enumerate(by_within[id(one.within)]):
            part_of = slice(at * one.groups, (at + 1) * one.groups)
            outside = left_out[i] if one.within is None else np.full(2, -1)
            counted.cells.append(
                Cells(
                    *(one.grouping, one.allocation, each[part_of], pooled[at], speakers[at]),
                    *(outside, level, [*many[part_of], few[at]]),
                    people.missing(one.grouping, level.name),
                )
            )
    return counted


class _Participation:
    """The speakers and recordings behind the cells of trials."""

    def __init__(self, trials: TrialSet, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
        self.participants = {one: Participants(one, n_speakers) for one in layouts}
        self.attempts = None if trials.failures is None else Attempts(trials)
        self.used = np.zeros(len(trials.utterance_ids), dtype=np.bool_)

    def add(self, here: PlacedTrials, failed: Trials | None) -> None:
        """Note those of one partition."""
        sides = (here.part.enrol, here.part.test)
        speakers = [self.trials.utterance_speaker.take(side).astype(np.intp) for side in sides]
        for i, one in enumerate(self.layouts):
            self.participants[one].add(speakers, here, i)
        if self.attempts is not None:
            self.attempts.add(here.part, failed)
        for side in sides:
            self.used[side] = True

    def speakers(self, layout: Layout) -> Sequence[Sequence[int | None]]:
        """Speakers of each group and, last, of all groups, for each level."""
        return self.participants[layout].count()

    def missing(self, grouping: Grouping, _: str) -> Sequence[str]:
        """Why nothing is known of each group within a level: nothing is withheld."""
        return [""] * len(grouping.groups)

    def recordings(self) -> tuple[int, int]:
        """Different models and recordings of the trials, which come in this order."""
        models = self.trials.n_models
        return int(self.used[:models].sum()), int(self.used[models:].sum())

    def with_shares(
        self, layout: Layout, cells: Sequence[Outcomes], levels: Sequence[Outcomes]
    ) -> tuple[Sequence[Outcomes], Sequence[Outcomes]]:
        """Outcomes of the cells and levels with shares of failed recordings."""
        if self.attempts is None:
            return cells, levels
        return with_shares(self.attempts, layout, cells, levels)


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
    layouts = [Layout(g, CROSS, w) for w in (None, *within) for g in groupings]
    errors = [np.zeros((thresholds.size, one.cells), dtype=np.int64) for one in layouts]
    totals = [np.zeros_like(one) for one in errors]
    placing = Placing(trials, layouts)
    for part, which in trials.parts(layouts):
        kept = part.without_conflicts()
        kept = kept.take(~kept.target)
        weight = kept.more.get("count")
        accepted = [kept.score >= t for t in thresholds]  # never, where the threshold is NaN
        known: list[NDArray[np.bool_] | None] = [None] * len(accepted)
        if deployed is not None:
            decided = trials.decided(kept)
            accepted[deployed], known[deployed] = decided == 1, decided >= 0
        for i, at in placing.place(kept, which).at.items():
            size = layouts[i].cells
            pair = np.where(at.level < 0, size, at.cells[0])
            every = _count(pair, size, None, weight)
            for row, (chosen, seen) in enumerate(zip(accepted, known, strict=True)):
                errors[i][row] += _count(pair, size, chosen, weight)
                totals[i][row] += every if seen is None else _count(pair, size, seen, weight)
    made = []
    for one, wrong, total in zip(layouts, errors, totals, strict=True):
        assert one.grouping is not None
        n = len(one.grouping.groups)
        by_level = [array.reshape(-1, one.levels, n, n) for array in (wrong, total)]
        for level, name in enumerate(one.names()):
            made.append((one.grouping, name, Matrix(*(array[:, level] for array in by_level))))
    return made


def _count(
    cell: Codes, size: int, chosen: NDArray[np.bool_] | None, weight: IntArray | None
) -> IntArray:
    """How many of the chosen trials are in each cell; those of the last one are in none."""
    if chosen is not None:
        cell, weight = cell[chosen], None if weight is None else weight[chosen]
    return np.bincount(cell, weight, minlength=size + 1)[:-1].astype(np.int64, copy=False)
