"""Trials counted by cell: their scores, who takes part in them, what became of them.

Trials held in memory give exact counts per distinct score; trials in partitions are counted in
`parivox.auditing.score_counts.BINS` bins whose lower edges are the thresholds of the curve,
so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import (
    ALLOCATIONS,
    MAX_LAYOUTS_TOGETHER,
    Layout,
    cell_layouts,
    cells_of_side,
    walk,
)
from parivox.auditing.outcomes import MICROSECONDS, NO_OUTCOMES, SECONDS, FailureShare, Outcomes
from parivox.auditing.participants import Participants
from parivox.auditing.score_counts import CHUNK_SIZE, BinnedCounts, ExactCounts
from parivox.core.counts import Counts
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.errors import ConfigError, name_hint
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.layout import Codes, PlacedTrials
    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

FAILURE_STAGES = (ACQUIRE, ENROL)
_SLICE = 4_000_000  # utterances counted at once


@frozen
class Stratum:
    """All scored trials, or those within one level of a grouping."""

    name: str  # as the column `within` has it, `channel=a`; empty for all trials
    counts: Counts
    # speakers who take part in one of the trials; None where they are not known
    n_speakers: int | None
    outcomes: Outcomes = NO_OUTCOMES


@frozen
class GroupCounts:
    """Counts of each group of one grouping under one allocation, within one level."""

    grouping: Grouping
    allocation: str
    counts: Sequence[Counts]  # one per group of the grouping, each on its own scores
    pooled: Counts  # every trial that the grouping and allocation place in some group, once
    # speakers of the group who take part in one of its trials; last, of all groups
    n_speakers: Sequence[int | None]
    # trials that count for no group: of a speaker, recording or trial whose group is unknown;
    # between two groups
    n_left_out: IntArray
    stratum: Stratum
    outcomes: Sequence[Outcomes]  # of each group and, last, of all groups
    # of each group, why nothing is known of it; empty for those that were counted
    suppression_reasons: Sequence[str]


@dataclass(eq=False)
class CellCounts:
    """All counts of one system on one list."""

    strata: list[Stratum]  # all trials first, then each level that the audit is repeated within
    group_counts: list[GroupCounts] = field(default_factory=list)  # those of all trials first
    # trials that are in no level, by the name of the grouping that the levels are of
    n_outside_strata: dict[str, int] = field(default_factory=dict)
    # which recordings were attempted and failed; None for counts, or if no failure is told of
    attempts: Attempts | None = None
    # different models, and different recordings, of the trials; None for counts
    n_recordings: tuple[int, int] | None = None
    # largest share of one class of a cell's trials in one bin: no rate at a threshold found on the
    # curve (EER, minimum cost, FNR at an FPR) nor the AUC is further than this from the exact one
    rate_bound: float = 0.0
    # width of a bin, in units of score: means and quantiles of scores are within it
    bin_width: float = 0.0

    @property
    def all_counts(self) -> Counts:
        """Every scored trial."""
        return self.strata[0].counts

    @property
    def n_unmet_failures(self) -> tuple[int, int]:
        """Failed enrolments and test recordings that no trial has on that side."""
        return (0, 0) if self.attempts is None else self.attempts.unmet()

    @property
    def n_speakers(self) -> int | None:
        """Speakers who take part in one of them."""
        return self.strata[0].n_speakers


def count_cells(
    trials: TrialSet | TrialCounts,
    groupings: Sequence[Grouping],
    allocations: Sequence[str],
    *,
    within: Sequence[Grouping] = (),
    thresholds: Iterable[float] = (),
    keep_conflicts: bool = False,
    merged_counts: TrialCounts | None = None,
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
    counted
        Counts of these very trials, by which scores are counted instead.
    """
    layouts = cell_layouts(groupings, allocations, within)
    scores: ExactCounts | BinnedCounts
    if trials.fits_in_memory:
        scores = ExactCounts(layouts, trials.bins.width)
    else:
        scores = BinnedCounts(layouts, trials.score_range, thresholds)
    outcomes = [
        (OutcomeCounts(trials, one.n_cells), OutcomeCounts(trials, one.n_strata)) for one in layouts
    ]
    people = _People(trials, layouts) if trials.has_speakers else trials
    left_out = np.zeros((len(layouts), 2), dtype=np.int64)
    at_once = 0 if trials.fits_in_memory else CHUNK_SIZE
    for here in walk(
        *(trials, layouts),
        failed=FAILURE_STAGES,
        keep_conflicts=keep_conflicts,
        at_once=at_once,
        layouts_at_once=MAX_LAYOUTS_TOGETHER,
    ):
        for i, at in here.cells_by_layout.items():
            for into, cells in zip(outcomes[i], (at.cells, [at.stratum]), strict=True):
                into.add(here, cells)
        if isinstance(people, _People):
            people.add(here)
        if not here.are_failed and merged_counts is None:
            _add_scores(scores, left_out, here, layouts)
    for here in () if merged_counts is None else walk(merged_counts, layouts):
        _add_scores(scores, left_out, here, layouts)
    made = _by_cell(layouts, scores, outcomes, people, left_out)
    if isinstance(people, _People):
        made.attempts, made.n_recordings = people.attempts, people.recordings()
    return made


def group_counts(counts: TrialCounts, *, allocate: str = "both") -> dict[str, dict[str, Counts]]:
    """Counts per score of every group, for `parivox.eer`, `parivox.min_cdet` and the like.

    Parameters
    ----------
    counts
        What `parivox.count` made: exact ones, or in bins, whose edges are then the scores.
    allocate : {"both", "enrol", "test", "either"}
        Which group a nontarget trial between two groups counts for, as in `parivox.audit`.

    Returns
    -------
    dict
        By grouping, then by group; ``pooled`` holds every trial of some group, once. Those of
        ``all`` are every trial. A group that is withheld is missing.

    Examples
    --------
    >>> import parivox as pv
    >>> trials = {"enrol": ["a/1", "a/1", "b/1"], "test": ["a/2", "b/1", "b/2"]}
    >>> people = {"id": ["a", "b"], "gender": ["f", "m"]}
    >>> trials |= {"score": [0.9, 0.1, 0.7]}
    >>> found = pv.group_counts(pv.count(trials, speakers=people, by="gender", withhold=0))
    >>> int(found["gender"]["m"].n_target), int(found["all"]["all"].n_target)
    (1, 2)
    """
    if allocate not in ALLOCATIONS:
        msg = f"allocate is {allocate!r}; {name_hint(allocate, ALLOCATIONS)}"
        raise ConfigError(msg)
    counted = count_cells(counts, counts.groupings, [allocate])
    found = {"all": {"all": counted.all_counts}}
    for cells in counted.group_counts:
        named = zip(cells.grouping.groups, cells.counts, cells.suppression_reasons, strict=True)
        groups = {group: one for group, one, why in named if not why}
        found[cells.grouping.name] = {**groups, "pooled": cells.pooled}
    return found


def _by_cell(
    layouts: Sequence[Layout],
    scores: ExactCounts | BinnedCounts,
    outcomes: Sequence[tuple[OutcomeCounts, OutcomeCounts]],
    people: _People | TrialCounts,
    left_out: IntArray,
) -> CellCounts:
    """What was counted of each layout, by cell."""
    counts = scores.finish()
    counted = CellCounts([], rate_bound=scores.bound, bin_width=scores.width)
    levels_of: dict[int, list[Stratum]] = {}
    for one, outside, (each, pooled), both in zip(layouts, left_out, counts, outcomes, strict=True):
        speakers = people.speakers(one)
        many, few = people.with_shares(one, *(made.finish() for made in both))
        if one.grouping is None:
            named = zip(one.stratum_names(), pooled, speakers, few, strict=True)
            levels = [Stratum(name, of, who[-1], became) for name, of, who, became in named]
            levels_of[id(one.within)] = levels
            counted.strata += levels
            if one.within is not None:
                counted.n_outside_strata[one.within.name] = int(outside.sum())
            continue
        for k, level in enumerate(levels_of[id(one.within)]):
            own = slice(k * one.n_groups, (k + 1) * one.n_groups)
            cells = GroupCounts(
                one.grouping,
                one.allocation,
                each[own],
                pooled[k],
                speakers[k],
                outside if one.within is None else np.full(2, -1),
                level,
                [*many[own], few[k]],
                people.missing(one.grouping, level.name),
            )
            counted.group_counts.append(cells)
    return counted


def _add_scores(
    scores: ExactCounts | BinnedCounts,
    left_out: IntArray,
    here: PlacedTrials,
    layouts: Sequence[Layout],
) -> None:
    """Count trials by score, and those that count in no cell of a layout."""
    scores.add(here)
    for i in here.cells_by_layout:
        left_out[i] += _left_out(here, layouts[i], i)


def _left_out(here: PlacedTrials, layout: Layout, i: int) -> tuple[int, int]:
    """Trials that count in no cell: of a side whose group is unknown; between two groups."""
    lost = here.cells_by_layout[i].stratum < 0
    if not lost.any():
        return 0, 0
    enrol, test = here.groups_of_sides(layout.grouping or layout.within)
    between = lost & (enrol >= 0) & (test >= 0)
    weight = here.trials.extra_columns.get("count")
    n, known = (int(one.sum() if weight is None else weight[one].sum()) for one in (lost, between))
    return n - known, known


# --- who takes part ---------------------------------------------------------------------------


class Attempts:
    """Which enrolments and test recordings were attempted, and which failed."""

    def __init__(self, trials: TrialSet) -> None:
        assert trials.failures is not None
        self.trials = trials
        self.failed = [side.copy() for side in trials.failures]
        self.tried = [side.copy() for side in trials.failures]
        self.met = [np.zeros_like(side) for side in trials.failures]

    def add(self, here: PlacedTrials) -> None:
        """Note the utterances of some trials."""
        sides = here.trials.enrol, here.trials.test
        for i, (utterance, stage) in enumerate(zip(sides, (ENROL, ACQUIRE), strict=True)):
            self.tried[i][utterance] = self.met[i][utterance] = True
            if here.are_failed:
                self.failed[i][utterance[here.trials.extra_columns["failed"] == stage]] = True

    def unmet(self) -> tuple[int, int]:
        """Failed enrolments and test recordings that no trial has on that side."""
        pairs = zip(self.failed, self.met, strict=True)
        enrolments, recordings = (int((failed & ~met).sum()) for failed, met in pairs)
        return enrolments, recordings

    def shares(self, layout: Layout) -> tuple[list[FailureShare | None], list[FailureShare | None]]:
        """Failed enrolments, and failed test recordings, of each cell.

        None where a recording has no group of its own.
        """
        made: list[list[FailureShare | None]] = []
        for side, tried, failed in zip(("enrol", "test"), self.tried, self.failed, strict=True):
            cell = cells_of_side(layout, self.trials, side)
            if cell is None:
                made.append([None] * layout.n_cells)
                continue
            each = np.zeros((2, layout.n_cells), dtype=np.int64)  # (failed or tried, cell)
            for first in range(0, cell.size, _SLICE):
                part = slice(first, first + _SLICE)
                for row, which in enumerate((failed, tried)):
                    chosen = cell[part][which[part] & (cell[part] >= 0)]
                    each[row] += np.bincount(chosen, minlength=layout.n_cells)
            made.append([FailureShare(*both) for both in each.T.tolist()])
        return made[0], made[1]


class _People:
    """The speakers and recordings behind the cells of trials."""

    def __init__(self, trials: TrialSet, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
        self.participants = {one: Participants(one, n_speakers) for one in layouts}
        self.attempts = None if trials.failures is None else Attempts(trials)
        self.speaker = trials.utterance_speaker.astype(np.intp)  # numbers of places are the fastest
        self.used = np.zeros(len(trials.utterance_ids), dtype=np.bool_)

    def add(self, here: PlacedTrials) -> None:
        """Note those of some trials; of those that failed, nothing but the attempt."""
        if self.attempts is not None and here.is_first_pass:
            self.attempts.add(here)
        if here.are_failed:
            return
        sides = [side.astype(np.intp) for side in (here.trials.enrol, here.trials.test)]
        speakers = [self.speaker.take(side) for side in sides]
        for i in here.cells_by_layout:
            self.participants[self.layouts[i]].add(speakers, here, i)
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
        n, (enrolments, recordings) = layout.n_groups, self.attempts.shares(layout)
        return [
            replace(one, enrolment_failures=of_enrol, recording_failures=of_test)
            for one, of_enrol, of_test in zip(cells, enrolments, recordings, strict=True)
        ], [
            replace(
                one,
                enrolment_failures=_whole(enrolments[k * n : (k + 1) * n]),
                recording_failures=_whole(recordings[k * n : (k + 1) * n]),
            )
            for k, one in enumerate(levels)
        ]


def _whole(shares: Sequence[FailureShare | None]) -> FailureShare | None:
    """The share of all groups of a level."""
    known = [one for one in shares if one is not None]
    if len(known) < len(shares):
        return None
    return FailureShare(sum(one.n_failed for one in known), sum(one.n_attempted for one in known))


# --- what became of the trials ----------------------------------------------------------------


class OutcomeCounts:
    """Outcomes of `n` cells in the making: of what the trials tell."""

    def __init__(self, trials: TrialSet | TrialCounts, n: int) -> None:
        def zeros(*size: int) -> IntArray:
            return np.zeros((n, *size), dtype=np.int64)

        self.trials, self.n = trials, n
        timed = "seconds" in trials.extra_columns
        self.decided = zeros(2, 2) if trials.has_decisions else None
        self.levels = zeros(trials.thresholds.size) if "threshold" in trials.extra_columns else None
        self.failed = zeros(2, 2) if trials.failures is not None else None
        # sum and number; added up in whole millionths, so that the order of adding changes nothing
        self.seconds = zeros(2) if timed else None
        self.times = zeros(SECONDS.size) if timed and trials.has_times else None

    def add(self, here: PlacedTrials, cells: Sequence[Codes]) -> None:
        """Count trials by their cells, which may be several."""
        part = here.trials
        weight = part.extra_columns.get("count")
        if here.are_failed:
            assert self.failed is not None
            stage = part.extra_columns["failed"].astype(np.int64) - ACQUIRE
            for cell in cells:
                _add(self.failed, cell, 2 * stage + part.target, cell >= 0, weight)
            return
        decided = None if self.decided is None else self.trials.decisions(part)
        for cell in cells:
            inside = cell >= 0
            if self.decided is not None and decided is not None:
                known = inside & (decided >= 0)
                _add(self.decided, cell, 2 * part.target + decided, known, weight)
            if self.levels is not None:
                _add(self.levels, cell, part.extra_columns["threshold"], inside, weight)
            if self.seconds is not None:
                took = part.extra_columns["seconds"]
                known = inside & ~np.isnan(took)
                if self.times is not None:
                    code = np.searchsorted(SECONDS, took, "right") - 1
                    _add(self.times, cell, code, known)
                    took, timed = np.rint(took * MICROSECONDS), known
                else:
                    timed = part.extra_columns["timed"]
                for i, what in enumerate((took, timed)):
                    found = np.bincount(cell[known], what[known], minlength=self.n)
                    self.seconds[:, i] += found.astype(np.int64)

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
                seconds = (
                    total / MICROSECONDS,
                    trials,
                    None if self.times is None else self.times[i],
                )
            failed = None if self.failed is None else self.failed[i]
            made.append(Outcomes(deployed, levels, failed, seconds))
        return made


def _add(
    into: IntArray,
    cell: Codes,
    code: NDArray[Any],
    chosen: NDArray[np.bool_],
    weight: IntArray | None = None,
) -> None:
    """Count the codes of chosen trials by cell; the last code stands for -1."""
    flat = into.reshape(-1)
    size = flat.size // into.shape[0]
    cell, code = cell[chosen], code[chosen]
    at = cell.astype(np.int64) * size + np.where(code < 0, size - 1, code)
    weight = None if weight is None else weight[chosen]
    flat += np.bincount(at, weight, minlength=flat.size).astype(np.int64, copy=False)
