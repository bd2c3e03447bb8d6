"""The speakers behind the trials of one system on one list: the uncertainty of every cell."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.auditing.curves import (
    COARSE_STEP,
    point_index_by_threshold,
    step_thresholds,
    threshold_bands,
)
from parivox.auditing.draws import MIN_SPLIT_SPEAKERS, CellDraws, resample_cells
from parivox.auditing.estimates import Estimates
from parivox.auditing.failures import add_failure_rates, count_failures
from parivox.auditing.intervals import Uncertainty, needs_test_speakers, rate_intervals
from parivox.auditing.layout import Layout, Units, cell_layouts, walk
from parivox.auditing.nulls import draw_equal_rates
from parivox.auditing.shrinkage import best_guesses
from parivox.auditing.speaker_counts import SpeakerCounts, count_by_speaker
from parivox.auditing.speaker_errors import SpeakerErrors, count_matrices, count_speaker_errors
from parivox.core.measures import RATES
from parivox.core.resampled_curves import N_BINS, curve_edges
from parivox.frozen import frozen
from parivox.runtime.progress import stage, with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.curves import Band
    from parivox.auditing.estimates import GridDraws
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.inputs import Design
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import OperatingPoints
    from parivox.auditing.speaker_errors import Matrix
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import Counts, FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

MAX_EXACT_TRIALS = 1 << 21
"""Trials up to which a tally has every bin of replicates, so that nothing differs by it."""
MAX_COUNT_ROWS = 1 << 23
"""Rows of a tally from which curves are drawn again: with more, memory would not do."""
ROWS_PER_CHUNK = 1 << 22
"""Rows of a tally whose errors are counted together: few pairs are in two of such parts."""
COARSE_STEPS = (COARSE_STEP, 2 * COARSE_STEP, 4 * COARSE_STEP)
"""In probits: steps of such a tally, the finest that there is room for."""


@frozen
class SpeakerSample:
    """Everything that the uncertainty of one system on one list is told from."""

    strata_uncertainty: list[Uncertainty]  # of all trials and each level, as their own only group
    cell_uncertainty: list[Uncertainty]  # of each grouping's cells, in the order of the tally's
    rate_bound: float
    """What the bins of scores in replicates cost: no rate of a replicate at a threshold found on
    its curve is further than this from the exact one."""
    standardised: list[
        tuple[Layout, SpeakerErrors]
    ]  # groupings with what they are standardised over
    bands_between_points: dict[tuple[str, str], Band]
    """Intervals at thresholds that are no operating point's, by grouping and allocation."""
    matrices: list[tuple[Grouping, str, Matrix]] | None
    """Cross-group matrices, where these were counted without another pass over the trials."""


def speaker_count_steps(
    everything: Counts, points: OperatingPoints, nodes: FloatArray, n_trials: int, bins: int
) -> FloatArray:
    """Thresholds of the tally that `sample_speakers` needs, rising.

    Those of the operating points, those at which intervals are told beside them, and the bins of
    scores in replicates, of which long lists have fewer.
    """
    if n_trials > MAX_EXACT_TRIALS:
        edges = step_thresholds(everything, points.fixed_thresholds)
    else:
        edges = curve_edges(everything, bins=bins or N_BINS, thresholds=points.fixed_thresholds)
    found = [one.threshold for one in points.score_points]
    every = np.concatenate((edges, nodes, np.array(found, dtype=np.float64)))
    return np.unique(every[~np.isnan(every)] + 0.0)


class TrialSource(NamedTuple):
    """Trials of one list by who takes part in them."""

    errors_source: (
        TrialSet | SpeakerCounts | Callable[[], SpeakerCounts]
    )  # or what makes them, so that nobody holds them
    # makes those that curves are drawn again from, where they are others: coarser ones
    curves_source: Callable[[], SpeakerCounts] | None = None
    no_draws_reason: str = ""  # why none are drawn


def tally_list(
    trials: TrialSet, design: Design, everything: Counts, points: OperatingPoints, nodes: FloatArray
) -> TrialSource:
    """The tally of a list at the steps that `sample_speakers` needs.

    Where it would be too long with all of them, those of curves have a tally of their own, of
    blocks of speakers at as many steps as there is room for.
    """
    every = {one.name: one for one in (*design.groupings, *design.within, *design.standardise_over)}
    sided = [len(one.groups) for one in every.values() if one.speaker_codes is None]
    audited = [one.threshold for one in points.score_points if not np.isnan(one.threshold)]
    kept = np.unique(np.concatenate((nodes, np.array(audited, dtype=np.float64))) + 0.0)
    together = None if design.draws is None else design.draws.speaker_block

    def tallied(at: FloatArray, block: NDArray[np.int32] | None) -> SpeakerCounts:
        with stage("adding up who takes part"):
            return count_by_speaker(trials, at, [*every.values()], block)

    def fits(at: FloatArray, block: NDArray[np.int32] | None) -> bool:
        n = trials.speakers_in_use.size if block is None else int(block.max(initial=0)) + 1
        return expected_rows(everything, at, n, sided) <= MAX_COUNT_ROWS

    if together is None:
        at = speaker_count_steps(everything, points, nodes, trials.n_trials, design.options.bins)
        if fits(at, design.speaker_block):
            return TrialSource(partial(tallied, at, design.speaker_block))
    else:
        block = together if design.speaker_block is None else together[design.speaker_block]
        for coarse in COARSE_STEPS:
            at = np.union1d(step_thresholds(everything, points.fixed_thresholds, coarse), kept)
            if fits(at, block):
                return TrialSource(
                    partial(tallied, kept, design.speaker_block), partial(tallied, at, block)
                )
    return TrialSource(
        partial(tallied, kept, design.speaker_block),
        no_draws_reason="too many trials to hold in memory",
    )


def expected_rows(
    everything: Counts, speaker_count_steps: FloatArray, n: int, sided: Sequence[int]
) -> float:
    """Rows of a tally of `n` members, were scores and sides independent of who is compared.

    `sided` are numbers of groups that a recording or trial may be in, by several groupings.
    """
    ways = float(np.prod([float(size) ** 2 for size in sided]))
    up_to = np.searchsorted(everything.values, speaker_count_steps)
    rows = 0.0
    for trials, pairs in ((everything.target, n), (everything.nontarget, n * (n - 1))):
        share = np.diff(np.concatenate(([0], np.cumsum(trials)))[[0, *up_to, -1]])
        rows += pairs * ways * -np.expm1(-share / max(pairs * ways, 1.0)).sum()
    return rows


def sample_speakers(
    tallied: TrialSource,
    design: Design,
    tally: CellCounts,
    points: OperatingPoints,
    nodes: FloatArray,
) -> SpeakerSample:
    """Tally who is behind the trials at every threshold, and draw replicates of them.

    `tally` are the counts, in whose order the uncertainty of cells comes, and `nodes` thresholds
    at which intervals are told beside those of the operating points.
    """
    rows, curves, why = tallied
    trials = rows() if callable(rows) else rows
    if design.draws is None:
        why = why or "too many speakers to draw from"
    if why:
        design = replace(design, draws=None)
    options, draws, found = design.options, design.draws, points.located
    if isinstance(trials, SpeakerCounts):
        members = trials.units
        nodes = nodes[np.isin(nodes, trials.thresholds)]
    else:
        members = Units.from_trials(trials, None)
    own = design if design.speaker_block is None else _of_members(design, trials)
    layouts = cell_layouts(own.groupings, options.allocate, own.within)
    n = len(layouts)
    layouts += [
        Layout(grouping, rule, strata)
        for strata in own.standardise_over
        for grouping in own.groupings
        for rule in options.allocate
    ]
    placed = _Placement(trials, layouts)
    with stage("errors by speaker"):
        errors = count_speaker_errors(
            trials, layouts, placed.blocks(range(len(layouts))), found, members
        )
    matrices = count_matrices(trials, own.groupings, found, own.within) if callable(rows) else None
    between: dict[tuple[str, str], Band] = {}
    nodes = nodes[~np.isin(nodes, list(point_index_by_threshold(found)))]
    if nodes.size and options.interval != "bootstrap":
        whole = [i for i, one in enumerate(layouts[:n]) if one.within is None]
        pairs = max(cells.nontarget.cell.size for cells, _ in errors)
        kept = [layouts[i] for i in whole]
        between = threshold_bands(
            trials, kept, partial(placed.blocks, whole), members, nodes, options, pairs
        )
    failures = count_failures(
        *(trials, layouts[:n], partial(placed.blocks, range(n)), members, found),
        *(errors[:n], tally, design),
    )
    drawn: list[tuple[CellDraws, CellDraws] | None] = [None] * n
    bound = 0.0
    if draws is not None:
        of_curves = layouts[:n]
        if curves is not None:
            trials = curves()
            of_curves = _layouts_of_members(trials, design)
            placed = _Placement(trials, of_curves)
        drawn[:], bound = resample_cells(
            *(trials, tally.all_counts, of_curves, placed.whole(range(n)), errors[:n]),
            *(points, draws, options, design.metrics),
            in_blocks=curves is not None,
        )
    levels: list[Uncertainty] = []
    cells: list[Uncertainty] = []
    every = list(zip(layouts, errors, failures, strict=False))
    for i, (layout, of, failed) in enumerate(
        with_progress(every, "intervals", "groups", size=lambda one: one[0].n_cells)
    ):
        again, drawn[i] = drawn[i], None  # let go of once its levels are made of it: it is large
        into = levels if layout.grouping is None else cells
        for at in range(layout.n_strata):
            one = _uncertainty(
                *(layout, at, of, failed, again, points, design, why, members),
                levels[0].rate_intervals.moments if levels and of[1] is errors[0][1] else None,
            )
            into.append(one)
    assert (len(levels), len(cells)) == (len(tally.strata), len(tally.group_counts))
    strata = list(zip(layouts[n:], (of for of, _ in errors[n:]), strict=True))
    return SpeakerSample(levels, cells, bound, strata, between, matrices)


class _Placement:
    """Where trials count in several layouts, as often as it is asked.

    Trials are placed once; rows of a tally, which may be very many, each time.
    """

    def __init__(self, trials: TrialSet | SpeakerCounts, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        self._placed: list[PlacedTrials] = []
        if not isinstance(trials, SpeakerCounts):
            every = range(len(layouts))
            self._placed = [one.in_layouts(every) for one in walk(trials, layouts)]

    def blocks(self, some: Sequence[int]) -> Iterator[PlacedTrials]:
        """Some of the trials at a time, in some of the layouts."""
        yield from self._in(some, ROWS_PER_CHUNK)

    def whole(self, some: Sequence[int]) -> PlacedTrials:
        """All trials at once, where they are held, in some of the layouts."""
        (placed,) = self._in(some, 0)
        return placed

    def _in(self, some: Sequence[int], at_once: int) -> Iterator[PlacedTrials]:
        if self._placed:
            return (one.in_layouts(some) for one in self._placed)
        return walk(self.trials, [self.layouts[i] for i in some], at_once=at_once)


def _layouts_of_members(tally: SpeakerCounts, design: Design) -> list[Layout]:
    """The layouts of the members of a tally."""
    own = _of_members(design, tally)
    return cell_layouts(own.groupings, design.options.allocate, own.within)


def _of_members(design: Design, tally: TrialSet | SpeakerCounts) -> Design:
    """The design with the groups of the members of a tally in the place of those of speakers."""
    assert isinstance(tally, SpeakerCounts)
    named = {one.name: one for one in tally.groupings}
    groupings, within, strata = (
        [named[one.name] for one in several]
        for several in (design.groupings, design.within, design.standardise_over)
    )
    return replace(design, groupings=groupings, within=within, standardise_over=strata)


def _uncertainty(
    layout: Layout,
    at: int,
    tallied: tuple[SpeakerErrors, SpeakerErrors],
    failures: tuple[SpeakerFailures, SpeakerFailures],
    drawn: tuple[CellDraws, CellDraws] | None,
    points: OperatingPoints,
    design: Design,
    why: str,
    members: Units,
    of_pooled: Mapping[str, Moments] | None,
) -> Uncertainty:
    """Intervals and draws of the cells of one level of a layout."""
    options, draws = design.options, design.draws
    first, last = at * layout.n_groups, (at + 1) * layout.n_groups
    groups, pooled = tallied[0].cell_slice(first, last), tallied[1].cell_slice(at, at + 1)
    failed = failures[0].cell_range(first, last), failures[1].cell_range(at, at + 1)
    unknown = np.append(
        groups.nontarget.has_unknown_speakers, pooled.nontarget.has_unknown_speakers
    )
    texts = [one.point.text for one in points.located]
    crossed = np.full((len(points.min_cost_points), layout.n_groups), np.nan)
    estimates = rates = None
    grid: Sequence[GridDraws] = ()
    if drawn is not None and draws is not None:
        of_cells, of_levels = drawn
        parts = (
            of_cells.estimates.cell_range(first, last),
            of_levels.estimates.cell_range(at, at + 1),
        )
        estimates = Estimates.join_cells(
            [
                add_failure_rates(one, of, draws.weights, texts)
                for one, of in zip(parts, failed, strict=True)
            ]
        )
        if unknown.any():
            depend = [needs_test_speakers(key[0]) for key in estimates.keys]
            estimates = estimates.mask_cells(~(np.array(depend, dtype=bool)[:, None] & unknown))
        else:
            grid = [one.stratum(at) for one in of_cells.grid_draws]
        rates = {m: estimates.with_keys([(m, "", text) for text in texts]).values for m in RATES}
        crossed = of_cells.crossfitted_bias[:, first:last]
    intervals = rate_intervals(groups, pooled, options, rates, of_pooled)
    together = None if draws is None else draws.speaker_block
    rank = None if draws is None else draws.rank
    are_valid = {} if layout.grouping is None else intervals.are_disjoint
    nulls = draw_equal_rates(groups, intervals.moments, points.located, options, rank, are_valid)
    guesses = best_guesses(
        layout.grouping, intervals.moments, intervals.are_disjoint, nulls.point_indices, options
    )
    fewest = np.minimum(*(intervals.n_units[metric] for metric in RATES))[:-1]
    return Uncertainty(
        group_errors=groups,
        pooled_errors=pooled,
        rate_intervals=intervals,
        best_guesses=guesses,
        equal_rates_draws=nulls,
        draw_estimates=estimates,
        grid_draws=grid,
        crossfitted_bias=np.where((fewest < MIN_SPLIT_SPEAKERS) | unknown[:-1], np.nan, crossed),
        failures=failed,
        point_indices={text: i for i, text in enumerate(texts)},
        moves_with_threshold={metric: points.moves_with_threshold(metric) for metric in RATES},
        options=options,
        no_draws_reason=why,
        has_speaker_blocks=members.are_blocks,
        n_units_by_rate=intervals.n_units
        if together is None
        else of_blocks(groups, pooled, together),
    )


def of_blocks(
    groups: SpeakerErrors, pooled: SpeakerErrors, together: NDArray[np.int32]
) -> dict[str, NDArray[np.int64]]:
    """Blocks that are drawn behind each rate, ``[cell]``, the pooled row last."""
    n = int(together.max(initial=0)) + 1
    found = {}
    for metric in RATES:
        with_progress = []
        for tally in (groups.for_rate(metric), pooled.for_rate(metric)):
            cell, speaker = tally.cell_speakers
            known = speaker < together.size  # not the strangers of pairs within a block
            code = np.unique(cell[known].astype(np.int64) * n + together[speaker[known]])
            with_progress.append(np.bincount(code // n, minlength=tally.n_cells))
        found[metric] = np.concatenate(with_progress)
    return found
