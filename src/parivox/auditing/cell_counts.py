"""Trials counted by cell: their scores, who takes part in them, what became of them.

Scores are counted one by one or, where the table gives edges, in bins. The edges are then the
thresholds of the curve, so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import (
    ALLOCATIONS,
    MAX_LAYOUTS_TOGETHER,
    Layout,
    cell_layouts,
    cells_of_side,
    place_trials,
)
from parivox.auditing.outcomes import MICROSECONDS, NO_OUTCOMES, SECONDS, FailureShare, Outcomes
from parivox.auditing.participants import Participants
from parivox.auditing.score_counts import BinnedCounts, ExactCounts
from parivox.core.counts import Counts
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.errors import ConfigError, name_hint
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import CountedParticipants, TrialCounts
    from parivox.auditing.layout import Codes, PlacedTrials
    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

FAILURE_STAGES = (ACQUIRE, ENROL)
_UTTERANCES_PER_CHUNK = 4_000_000  # utterances that are counted together, for the memory they take


@frozen
class Stratum:
    """All scored trials, or those within one stratum of a grouping."""

    name: str  # as the column `within` has it, `channel=a`; empty for all trials
    counts: Counts
    # speakers who take part in one of the trials; None where they are not known
    n_speakers: int | None
    outcomes: Outcomes = NO_OUTCOMES


@frozen
class GroupCounts:
    """Counts of each group of one grouping under one allocation, within one stratum."""

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

    strata: list[Stratum]  # all trials first, then each that the audit is repeated within
    group_counts: list[GroupCounts] = field(default_factory=list)  # those of all trials first
    # trials that are in no stratum, by the name of the grouping that the strata are of
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
        return (0, 0) if self.attempts is None else self.attempts.n_unmet()

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
) -> CellCounts:
    """Count the trials of one system and list, per group and score.

    Parameters
    ----------
    trials
        Encoded trials, or counts of them.
    groupings, allocations
        What the cells are.
    within
        Groupings within whose values all is counted again: a trial is within a stratum if both of
        its sides are.
    thresholds
        Score values that must be thresholds of binned counts too.
    keep_conflicts
        Count the contradicting rows as well, which are otherwise set aside.
    """
    layouts = cell_layouts(groupings, allocations, within)
    edges = trials.bin_edges(thresholds)
    # what shards add up to has no contradicting rows
    score_source = trials if keep_conflicts else trials.score_source
    scores: ExactCounts | BinnedCounts = ExactCounts(layouts, trials.bins.width, trials.n_classes)
    if edges is not None:
        scores = BinnedCounts(layouts, edges, trials.n_classes)
    outcomes = [
        (OutcomeCounts(trials, layout.n_cells), OutcomeCounts(trials, layout.n_strata))
        for layout in layouts
    ]
    participants: _SpeakersAndRecordings | CountedParticipants | None = trials.participants
    if participants is None:
        assert trials.identified is not None
        participants = _SpeakersAndRecordings(trials.identified, layouts)
    n_left_out = np.zeros((len(layouts), 2), dtype=np.int64)
    for placed in place_trials(
        trials,
        layouts,
        failed=FAILURE_STAGES,
        keep_conflicts=keep_conflicts,
        at_once=scores.chunk_size,
        layouts_at_once=MAX_LAYOUTS_TOGETHER,
    ):
        for i, trial_cells in placed.cells_by_layout.items():
            cell_outcomes, stratum_outcomes = outcomes[i]
            cell_outcomes.add(placed, trial_cells.cells)
            stratum_outcomes.add(placed, [trial_cells.stratum])
        participants.add(placed)
        if not placed.are_failed and score_source is trials:
            _add_scores(scores, n_left_out, placed, layouts)
    if score_source is not trials:  # what shards of these trials add up to
        for placed in place_trials(score_source, layouts):
            _add_scores(scores, n_left_out, placed, layouts)
    counts = _by_cell(layouts, scores, outcomes, participants, n_left_out)
    counts.attempts, counts.n_recordings = participants.attempts, participants.n_recordings()
    return counts


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
        msg = f"allocate is {allocate!r}"
        hint = name_hint(allocate, ALLOCATIONS)
        raise ConfigError(msg, hint)
    cell_counts = count_cells(counts, counts.groupings, [allocate])
    counts_by_grouping = {"all": {"all": cell_counts.all_counts}}
    for cells in cell_counts.group_counts:
        groups = {
            group: counts_of_group
            for group, counts_of_group, suppression_reason in zip(
                cells.grouping.groups, cells.counts, cells.suppression_reasons, strict=True
            )
            if not suppression_reason
        }
        counts_by_grouping[cells.grouping.name] = {**groups, "pooled": cells.pooled}
    return counts_by_grouping


def _by_cell(
    layouts: Sequence[Layout],
    scores: ExactCounts | BinnedCounts,
    outcomes: Sequence[tuple[OutcomeCounts, OutcomeCounts]],
    participants: _SpeakersAndRecordings | CountedParticipants,
    n_left_out: IntArray,
) -> CellCounts:
    """Return what was counted of each layout, by cell."""
    counts_by_layout = scores.finish()  # which also sets the bound
    cell_counts = CellCounts([], rate_bound=scores.rate_bound, bin_width=scores.width)
    strata_by_grouping: dict[int, list[Stratum]] = {}  # by the identity of the grouping, or None
    for layout, layout_left_out, (counts, pooled), counted_outcomes in zip(
        layouts, n_left_out, counts_by_layout, outcomes, strict=True
    ):
        n_speakers = participants.speakers(layout)
        cell_outcomes, pooled_outcomes = participants.with_shares(
            layout, *(outcome_counts.finish() for outcome_counts in counted_outcomes)
        )
        if layout.grouping is None:
            strata = [
                Stratum(name, stratum_counts, n_speakers_of_groups[-1], stratum_outcomes)
                for name, stratum_counts, n_speakers_of_groups, stratum_outcomes in zip(
                    layout.stratum_names(), pooled, n_speakers, pooled_outcomes, strict=True
                )
            ]
            strata_by_grouping[id(layout.within)] = strata
            cell_counts.strata += strata
            if layout.within is not None:
                n_outside = int(layout_left_out.sum())
                cell_counts.n_outside_strata[layout.within.name] = n_outside
            continue
        for k, stratum in enumerate(strata_by_grouping[id(layout.within)]):
            cells = slice(k * layout.n_cells_per_stratum, (k + 1) * layout.n_cells_per_stratum)
            cell_counts.group_counts.append(
                GroupCounts(
                    grouping=layout.grouping,
                    allocation=layout.allocation,
                    counts=counts[cells],
                    pooled=pooled[k],
                    n_speakers=n_speakers[k],
                    # Within strata, trials that are left out are not told by group.
                    n_left_out=layout_left_out if layout.within is None else np.full(2, -1),
                    stratum=stratum,
                    outcomes=[*cell_outcomes[cells], pooled_outcomes[k]],
                    suppression_reasons=participants.missing(layout.grouping, stratum.name),
                )
            )
    return cell_counts


def _add_scores(
    scores: ExactCounts | BinnedCounts,
    n_left_out: IntArray,
    placed: PlacedTrials,
    layouts: Sequence[Layout],
) -> None:
    """Count trials by score, and those that count in no cell of a layout."""
    scores.add(placed)
    for i in placed.cells_by_layout:
        n_left_out[i] += _n_left_out(placed, layouts[i], i)


def _n_left_out(placed: PlacedTrials, layout: Layout, layout_number: int) -> tuple[int, int]:
    """Return the trials in no cell: of a side whose group is unknown; between two groups."""
    is_left_out = placed.cells_by_layout[layout_number].stratum < 0
    if not is_left_out.any():
        return 0, 0
    enrol, test = placed.groups_of_sides(layout.grouping or layout.within)
    is_between = is_left_out & (enrol >= 0) & (test >= 0)
    weight = placed.trials.extra_columns.get("count")
    if weight is None:
        n_left_out, n_between = int(is_left_out.sum()), int(is_between.sum())
    else:
        n_left_out, n_between = int(weight[is_left_out].sum()), int(weight[is_between].sum())
    return n_left_out - n_between, n_between


# --- who takes part ---------------------------------------------------------------------------


class Attempts:
    """Which enrolments and test recordings were attempted, and which failed."""

    def __init__(self, trials: TrialSet) -> None:
        assert trials.failures is not None
        self.trials = trials
        self.failed = [side.copy() for side in trials.failures]
        self.attempted = [side.copy() for side in trials.failures]
        self.is_in_trials = [np.zeros_like(side) for side in trials.failures]

    def add(self, placed: PlacedTrials) -> None:
        """Note the utterances of some trials."""
        trials = placed.trials
        if self.trials.n_spoof:  # failures are of bona fide speech
            trials = trials.take(~trials.spoof)
        sides = trials.enrol, trials.test
        for i, (utterance, stage) in enumerate(zip(sides, (ENROL, ACQUIRE), strict=True)):
            self.attempted[i][utterance] = self.is_in_trials[i][utterance] = True
            if placed.are_failed:
                self.failed[i][utterance[trials.extra_columns["failed"] == stage]] = True

    def n_unmet(self) -> tuple[int, int]:
        """Return the failed enrolments and test recordings that no trial has on that side."""
        n_enrolments, n_recordings = (
            int((failed & ~is_in_trials).sum())
            for failed, is_in_trials in zip(self.failed, self.is_in_trials, strict=True)
        )
        return n_enrolments, n_recordings

    def shares(self, layout: Layout) -> tuple[list[FailureShare | None], list[FailureShare | None]]:
        """Return the shares of failed enrolments, and of failed test recordings, of each cell.

        None where a recording has no group of its own.
        """
        shares: list[list[FailureShare | None]] = []
        for side, attempted, failed in zip(
            ("enrol", "test"), self.attempted, self.failed, strict=True
        ):
            cell = cells_of_side(layout, self.trials, side)
            if cell is None:
                shares.append([None] * layout.n_cells)
                continue
            n_by_cell = np.zeros((2, layout.n_cells), dtype=np.int64)  # failed, attempted
            for start in range(0, cell.size, _UTTERANCES_PER_CHUNK):
                chunk = slice(start, start + _UTTERANCES_PER_CHUNK)
                for row, is_chosen in enumerate((failed, attempted)):
                    chosen_cells = cell[chunk][is_chosen[chunk] & (cell[chunk] >= 0)]
                    n_by_cell[row] += np.bincount(chosen_cells, minlength=layout.n_cells)
            shares.append(
                [
                    FailureShare(n_failed, n_attempted)
                    for n_failed, n_attempted in n_by_cell.T.tolist()
                ]
            )
        enrolments, recordings = shares
        return enrolments, recordings


class _SpeakersAndRecordings:
    """The speakers and recordings behind the cells of trials."""

    def __init__(self, trials: TrialSet, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
        self.participants = {layout: Participants(layout, n_speakers) for layout in layouts}
        self.attempts = None if trials.failures is None else Attempts(trials)
        # Arrays are looked up fastest by numbers of this type.
        self.speaker = trials.utterance_speaker.astype(np.intp)
        self.is_used = np.zeros(len(trials.utterance_ids), dtype=np.bool_)

    def add(self, placed: PlacedTrials) -> None:
        """Note those of some trials; of trials that failed, note nothing but the attempt."""
        if self.attempts is not None and placed.is_first_pass:
            self.attempts.add(placed)
        if placed.are_failed:
            return
        sides = [side.astype(np.intp) for side in (placed.trials.enrol, placed.trials.test)]
        claims = placed.trials.by_claim()  # as their groups are
        speakers = [self.speaker.take(side) for side in (claims.enrol, claims.test)]
        for i in placed.cells_by_layout:
            self.participants[self.layouts[i]].add(speakers, placed, i)
        for side in sides:
            self.is_used[side] = True

    def speakers(self, layout: Layout) -> Sequence[Sequence[int | None]]:
        """Return the speakers of each group and, last, of all groups, for each stratum."""
        return self.participants[layout].count()

    def missing(self, grouping: Grouping, _: str) -> Sequence[str]:
        """Return why groups within a stratum are suppressed: none is."""
        return [""] * len(grouping.groups)

    def n_recordings(self) -> tuple[int, int]:
        """Return the numbers of different models and recordings of the trials."""
        n_models = self.trials.n_models
        return int(self.is_used[:n_models].sum()), int(self.is_used[n_models:].sum())

    def with_shares(
        self, layout: Layout, cells: Sequence[Outcomes], strata: Sequence[Outcomes]
    ) -> tuple[Sequence[Outcomes], Sequence[Outcomes]]:
        """Return the outcomes of the cells and strata with shares of failed recordings."""
        if self.attempts is None:
            return cells, strata
        n_cells = layout.n_cells_per_stratum
        enrolments, recordings = self.attempts.shares(layout)
        cells_with_shares = [
            replace(outcomes, enrolment_failures=enrolment, recording_failures=recording)
            for outcomes, enrolment, recording in zip(cells, enrolments, recordings, strict=True)
        ]
        strata_with_shares = [
            replace(
                outcomes,
                enrolment_failures=_pooled_share(enrolments[k * n_cells : (k + 1) * n_cells]),
                recording_failures=_pooled_share(recordings[k * n_cells : (k + 1) * n_cells]),
            )
            for k, outcomes in enumerate(strata)
        ]
        return cells_with_shares, strata_with_shares


def _pooled_share(shares: Sequence[FailureShare | None]) -> FailureShare | None:
    """Return the share of all groups of a stratum; None if that of some group is unknown."""
    known_shares = [share for share in shares if share is not None]
    if len(known_shares) < len(shares):
        return None
    return FailureShare(
        sum(share.n_failed for share in known_shares),
        sum(share.n_attempted for share in known_shares),
    )


# --- outcomes of the trials -------------------------------------------------------------------


class OutcomeCounts:
    """Outcomes of some cells being counted, as far as the trials tell them."""

    def __init__(self, trials: TrialSet | TrialCounts, n_cells: int) -> None:
        def zeros(*size: int) -> IntArray:
            return np.zeros((n_cells, *size), dtype=np.int64)

        self.trials, self.n_cells = trials, n_cells
        tells_seconds = "seconds" in trials.extra_columns
        n_classes = trials.n_classes
        self.decided = zeros(n_classes, 2) if trials.has_decisions else None
        self.at_thresholds = (
            zeros(trials.thresholds.size) if "threshold" in trials.extra_columns else None
        )
        self.failed = zeros(2, n_classes) if trials.failures is not None else None
        # sum and number; added up in whole millionths, so that the order of adding changes nothing
        self.seconds = zeros(2) if tells_seconds else None
        self.times = zeros(SECONDS.size) if tells_seconds and trials.has_times else None

    def add(self, placed: PlacedTrials, cells: Sequence[Codes]) -> None:
        """Count trials by their cells, which may be several."""
        trials = placed.trials
        weight = trials.extra_columns.get("count")
        if placed.are_failed:
            assert self.failed is not None
            stage = trials.extra_columns["failed"].astype(np.int64) - ACQUIRE
            for cell in cells:
                _add(
                    self.failed,
                    cell,
                    self.failed.shape[-1] * stage + trials.trial_class,
                    cell >= 0,
                    weight,
                )
            return
        decided = None if self.decided is None else self.trials.decisions(trials)
        for cell in cells:
            is_in_cell = cell >= 0
            if self.decided is not None and decided is not None:
                is_known = is_in_cell & (decided >= 0)
                _add(self.decided, cell, 2 * trials.trial_class + decided, is_known, weight)
            if self.at_thresholds is not None:
                _add(
                    self.at_thresholds, cell, trials.extra_columns["threshold"], is_in_cell, weight
                )
            if self.seconds is not None:
                seconds = trials.extra_columns["seconds"]
                is_known = is_in_cell & ~np.isnan(seconds)
                if self.times is not None:
                    bin_numbers = np.searchsorted(SECONDS, seconds, "right") - 1
                    _add(self.times, cell, bin_numbers, is_known)
                    seconds, n_timed = np.rint(seconds * MICROSECONDS), is_known
                else:
                    n_timed = trials.extra_columns["timed"]
                for i, weights in enumerate((seconds, n_timed)):
                    sums = np.bincount(cell[is_known], weights[is_known], minlength=self.n_cells)
                    self.seconds[:, i] += sums.astype(np.int64)

    def finish(self) -> list[Outcomes]:
        """Return what was counted of each cell."""
        outcomes = []
        for i in range(self.n_cells):
            deployed = seconds = thresholds = None
            if self.decided is not None:
                is_used = self.decided[i].any(axis=0)
                deployed = Counts.from_classes(
                    np.array([0.0, 1.0])[is_used], list(self.decided[i][:, is_used])
                )
            if self.at_thresholds is not None:
                pairs = zip(
                    self.trials.thresholds.tolist(), self.at_thresholds[i].tolist(), strict=True
                )
                thresholds = {
                    threshold: n_trials
                    for threshold, n_trials in pairs
                    if n_trials and not math.isnan(threshold)
                }
            if self.seconds is not None:
                total, trials = self.seconds[i].tolist()
                seconds = (
                    total / MICROSECONDS,
                    trials,
                    None if self.times is None else self.times[i],
                )
            failed = None if self.failed is None else self.failed[i]
            outcomes.append(Outcomes(deployed, thresholds, failed, seconds))
        return outcomes


def _add(
    counts: IntArray,
    cell: Codes,
    code: NDArray[Any],
    is_counted: NDArray[np.bool_],
    weight: IntArray | None = None,
) -> None:
    """Count the codes of chosen trials by cell; the last code stands for -1."""
    flat = counts.reshape(-1)
    n_codes = flat.size // counts.shape[0]
    cell, code = cell[is_counted], code[is_counted]
    positions = cell.astype(np.int64) * n_codes + np.where(code < 0, n_codes - 1, code)
    weight = None if weight is None else weight[is_counted]
    flat += np.bincount(positions, weight, minlength=flat.size).astype(np.int64, copy=False)
