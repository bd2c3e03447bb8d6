"""The speakers behind the trials of one system on one list: the uncertainty of every cell."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.curves import (
    COARSE_STEP,
    point_index_by_threshold,
    step_thresholds,
    threshold_bands,
)
from parivox.auditing.draws import CellDraws, resample_cells
from parivox.auditing.estimates import MIN_SPLIT_SPEAKERS, Estimates
from parivox.auditing.failures import add_failure_rates, count_failures
from parivox.auditing.intervals import Uncertainty, needs_test_speakers, rate_intervals
from parivox.auditing.layout import Layout, cell_layouts, place_trials
from parivox.auditing.noise_floors import draw_equal_rates
from parivox.auditing.shrinkage import best_guesses
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.auditing.speaker_errors import SpeakerErrors, count_matrices, count_speaker_errors
from parivox.core.measures import RATES
from parivox.core.resampled_curves import N_BINS, curve_edges
from parivox.data.units import MAX_COUNT_ROWS
from parivox.frozen import frozen
from parivox.runtime.memory import give_back_memory
from parivox.runtime.progress import stage, with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.curves import Band
    from parivox.auditing.estimates import GridDraws
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.inputs import AuditDesign
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import OperatingPoints
    from parivox.auditing.speaker_errors import Matrix
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import Counts, FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.data.units import Units

MAX_EXACT_TRIALS = 1 << 21
"""Trials up to which speaker counts have every bin of replicates, so that nothing differs by it."""
ROWS_PER_CHUNK = 1 << 22
"""Rows whose errors are counted together: few pairs are in two of such chunks."""
COARSE_STEPS = (COARSE_STEP, 2 * COARSE_STEP, 4 * COARSE_STEP)
"""In probits: steps of such speaker counts, the finest that there is room for."""


@frozen
class SystemUncertainty:
    """Everything that the uncertainty of one system on one list is told from."""

    strata_uncertainty: list[Uncertainty]  # of all trials and each stratum, as their own only group
    cell_uncertainty: list[
        Uncertainty
    ]  # of each grouping's cells, in the order of the speaker counts
    rate_bound: float
    """What the bins of scores in replicates cost: no rate of a replicate at a threshold found on
    its curve is further than this from the exact one."""
    # groupings with what they are standardised over
    standardised: list[tuple[Layout, SpeakerErrors]]
    bands_between_points: dict[tuple[str, str], Band]
    """Intervals at thresholds that are no operating point's, by grouping and allocation."""
    matrices: list[tuple[Grouping, str, Matrix]] | None
    """Cross-group matrices, where these were counted without another pass over the trials."""


def speaker_count_steps(
    all_counts: Counts,
    points: OperatingPoints,
    bands_at: FloatArray,
    n_trials: int,
    n_bins: int,
) -> FloatArray:
    """Return the thresholds of the speaker counts that `sample_speakers` needs, rising.

    Those of the operating points, those at which intervals are told beside them, and the bins of
    scores in replicates, of which long lists have fewer.
    """
    if n_trials > MAX_EXACT_TRIALS:
        edges = step_thresholds(all_counts, points.fixed_thresholds)
    else:
        edges = curve_edges(all_counts, bins=n_bins or N_BINS, thresholds=points.fixed_thresholds)
    point_thresholds = [located.threshold for located in points.score_points]
    thresholds = np.concatenate((edges, bands_at, np.array(point_thresholds, dtype=np.float64)))
    # Adding 0.0 makes -0.0 and 0.0 one threshold.
    return np.unique(thresholds[~np.isnan(thresholds)] + 0.0)


class TrialSource(NamedTuple):
    """Trials of one list by who takes part in them."""

    # makes the rows that errors are counted on, so that nothing else holds these in memory
    errors_source: Callable[[], TrialSet | SpeakerCounts]
    # makes those that curves are drawn again from, where they are others: coarser ones
    curves_source: Callable[[], SpeakerCounts] | None = None
    no_draws_reason: str = ""  # why none are drawn
    # whether these rows serve for cross-group matrices too, which then need no pass over all trials
    has_matrices: bool = False

    @classmethod
    def of_rows(cls, rows: TrialSet | SpeakerCounts) -> TrialSource:
        """Return a source of rows that are there."""
        return cls(lambda: rows)


def speaker_counts_source(
    trials: TrialSet,
    design: AuditDesign,
    all_counts: Counts,
    points: OperatingPoints,
    bands_at: FloatArray,
) -> TrialSource:
    """Return what makes the speaker counts of a list at the steps that `sample_speakers` needs.

    Where they would be too long with all of them, those of curves have speaker counts of their own,
    of blocks of speakers at as many steps as there is room for.
    """
    named_groupings = {
        grouping.name: grouping
        for grouping in (*design.groupings, *design.within, *design.standardise_over)
    }
    groupings = list(named_groupings.values())
    group_numbers = [
        len(grouping.groups) for grouping in groupings if grouping.speaker_codes is None
    ]
    audited = [
        located.threshold for located in points.score_points if not np.isnan(located.threshold)
    ]
    told_thresholds = np.unique(
        np.concatenate((bands_at, np.array(audited, dtype=np.float64))) + 0.0
    )
    units = curve_units = trials.units
    if design.draws is not None:
        curve_units = units.in_curves(design.draws.curve_unit)

    def count_at(thresholds: FloatArray, units: Units) -> SpeakerCounts:
        with stage("adding up who takes part"):
            return count_by_speaker(trials, thresholds, groupings, units.speaker_block)

    def has_room(thresholds: FloatArray, units: Units) -> bool:
        n_units = units.n_in_use(trials.speakers_in_use)
        n_attacks = len(trials.attacks) + 1  # and the unknown one
        n_rows = expected_rows(all_counts, thresholds, n_units, group_numbers, n_attacks)
        return n_rows <= MAX_COUNT_ROWS

    if curve_units is units:
        thresholds = speaker_count_steps(
            all_counts, points, bands_at, trials.n_trials, design.options.bins
        )
        if has_room(thresholds, curve_units):
            return TrialSource(partial(count_at, thresholds, curve_units), has_matrices=True)
    for coarse_step in COARSE_STEPS:
        steps = step_thresholds(all_counts, points.fixed_thresholds, coarse_step)
        thresholds = np.union1d(steps, told_thresholds)
        if has_room(thresholds, curve_units):
            return TrialSource(
                partial(count_at, told_thresholds, units),
                partial(count_at, thresholds, curve_units),
                has_matrices=True,
            )
    return TrialSource(
        partial(count_at, told_thresholds, units),
        no_draws_reason="too_many_trials_for_memory",
        has_matrices=True,
    )


def expected_rows(
    all_counts: Counts,
    thresholds: FloatArray,
    n_units: int,
    group_numbers: Sequence[int],
    n_attacks: int = 1,
) -> float:
    """Return the rows of speaker counts, were scores and sides independent of who is compared.

    `group_numbers` are the numbers of groups that a recording or trial may be in, by several
    groupings, and `n_attacks` the attacks that a spoof trial may be of.
    """
    n_sides = float(np.prod([float(n_groups) ** 2 for n_groups in group_numbers]))
    step_ends = np.searchsorted(all_counts.values, thresholds)
    n_rows = 0.0
    # the claimed speaker tells both sides of a spoof trial
    n_spoof_codes = n_units * n_attacks * n_sides**0.5
    codes_by_class = (n_units * (n_units - 1) * n_sides, n_units * n_sides, n_spoof_codes)
    for trials, n_codes in zip(all_counts.by_class, codes_by_class, strict=False):
        trials_per_step = np.diff(np.concatenate(([0], np.cumsum(trials)))[[0, *step_ends, -1]])
        # Expected number of codes that at least one of so many trials has, at random.
        n_rows += n_codes * -np.expm1(-trials_per_step / max(n_codes, 1.0)).sum()
    return n_rows


def sample_speakers(
    source: TrialSource,
    design: AuditDesign,
    counts: CellCounts,
    points: OperatingPoints,
    bands_at: FloatArray,
) -> SystemUncertainty:
    """Count errors by speaker at every threshold, draw replicates, and make intervals.

    `counts` are the trials by cell, in whose order the uncertainty of cells comes, and `bands_at`
    thresholds at which intervals are told beside those of the operating points.
    """
    curves_source, no_draws_reason = source.curves_source, source.no_draws_reason
    trials = source.errors_source()
    if design.draws is None:
        no_draws_reason = no_draws_reason or "too_many_speakers_to_draw"
    if no_draws_reason:
        design = replace(design, draws=None)
    options, located_points = design.options, points.located
    units = trials.units
    if trials.edges is not None:
        bands_at = bands_at[np.isin(bands_at, trials.edges)]
    unit_design = _design_of_units(design, trials)
    layouts = cell_layouts(unit_design.groupings, options.allocate, unit_design.within)
    n_audited = len(layouts)
    for strata in unit_design.standardise_over:
        layouts += [
            Layout(grouping, allocation, strata)
            for grouping in unit_design.groupings
            for allocation in options.allocate
        ]
    audited_layouts = layouts[:n_audited]
    placement = _Placement(trials, layouts)

    # Errors and trials by speaker and by pair of speakers.
    with stage("errors by speaker"):
        errors = list(
            count_speaker_errors(
                trials, layouts, placement.chunks(range(len(layouts))), located_points, units
            )
        )
    matrices = None
    if source.has_matrices:
        matrices = count_matrices(trials, unit_design.groupings, located_points, unit_design.within)
    bands_at = bands_at[~np.isin(bands_at, list(point_index_by_threshold(located_points)))]
    bands: dict[tuple[str, str], Band] = {}
    if bands_at.size and options.interval != "bootstrap":
        indices = [i for i, layout in enumerate(audited_layouts) if layout.within is None]
        bands = threshold_bands(
            trials,
            [layouts[i] for i in indices],
            partial(placement.chunks, indices),
            units,
            bands_at,
            options,
            max(cells.nontarget.cell.size for cells, _ in errors),
        )
    failures = count_failures(
        trials,
        audited_layouts,
        partial(placement.chunks, range(n_audited)),
        units,
        located_points,
        errors[:n_audited],
        counts,
        design,
    )

    # Metrics of the cells in each draw of the speakers.
    draws_by_layout: list[CellDraws | None] = [None] * n_audited
    rate_bound = 0.0
    if design.draws is not None:
        curve_layouts, draws = audited_layouts, design.draws
        if curves_source is not None:
            trials, draws = curves_source(), draws.of_curve_units()
            curve_layouts = _layouts_of_units(trials, design)
            placement = _Placement(trials, curve_layouts)
        draws_by_layout[:], rate_bound = resample_cells(
            trials,
            counts.all_counts,
            curve_layouts,
            placement.all_trials(range(n_audited)),
            errors[:n_audited],
            points,
            draws,
            options,
            design.metrics,
        )
        # what drawing has left free: the measures that follow take arrays of other sizes
        give_back_memory()

    # Intervals of every cell.
    measured_layouts = list(zip(layouts, errors, failures, strict=False))
    strata_uncertainty, cell_uncertainty = _uncertainty_by_layout(
        measured_layouts, draws_by_layout, points, design, no_draws_reason, units
    )
    assert len(strata_uncertainty) == len(counts.strata)
    assert len(cell_uncertainty) == len(counts.group_counts)
    standardised = [
        (layout, cells)
        for layout, (cells, _) in zip(layouts[n_audited:], errors[n_audited:], strict=True)
    ]
    return SystemUncertainty(
        strata_uncertainty=strata_uncertainty,
        cell_uncertainty=cell_uncertainty,
        rate_bound=rate_bound,
        standardised=standardised,
        bands_between_points=bands,
        matrices=matrices,
    )


def _uncertainty_by_layout(
    measured_layouts: Sequence[
        tuple[
            Layout,
            tuple[SpeakerErrors, SpeakerErrors],
            tuple[SpeakerFailures, SpeakerFailures],
        ]
    ],
    draws_by_layout: list[CellDraws | None],
    points: OperatingPoints,
    design: AuditDesign,
    no_draws_reason: str,
    units: Units,
) -> tuple[list[Uncertainty], list[Uncertainty]]:
    """Return the uncertainty of all trials and strata, and that of the cells of groupings.

    `draws_by_layout` is emptied on the way.
    """
    (_, (_, all_trials_errors), _) = measured_layouts[0]
    strata_uncertainty: list[Uncertainty] = []
    cell_uncertainty: list[Uncertainty] = []
    for i, (layout, layout_errors, layout_failures) in enumerate(
        with_progress(
            measured_layouts, "intervals", "groups", size=lambda measured: measured[0].n_cells
        )
    ):
        # Let go of once the uncertainty of its strata is made of it: it is large.
        layout_draws, draws_by_layout[i] = draws_by_layout[i], None
        uncertainties = strata_uncertainty if layout.grouping is None else cell_uncertainty
        # Many layouts pool all trials, whose moments are then known from the first one.
        pools_all_trials = layout_errors[1] is all_trials_errors
        for stratum_index in range(layout.n_strata):
            pooled_moments = None
            if strata_uncertainty and pools_all_trials:
                pooled_moments = strata_uncertainty[0].rate_intervals.moments
            uncertainties.append(
                _uncertainty(
                    layout,
                    stratum_index,
                    layout_errors,
                    layout_failures,
                    layout_draws,
                    points,
                    design,
                    no_draws_reason,
                    units,
                    pooled_moments,
                )
            )
    return strata_uncertainty, cell_uncertainty


class _Placement:
    """Where trials count in several layouts, as often as it is asked.

    They are placed once, but for very many rows, whose places would take too much memory.
    """

    def __init__(self, trials: TrialSet | SpeakerCounts, layouts: Sequence[Layout]) -> None:
        self.trials, self.layouts = trials, layouts
        self._placed_trials: list[PlacedTrials] = []
        if trials.n_rows <= ROWS_PER_CHUNK:
            layout_numbers = range(len(layouts))
            self._placed_trials = [
                placed.in_layouts(layout_numbers) for placed in place_trials(trials, layouts)
            ]

    def chunks(self, layout_numbers: Sequence[int]) -> Iterable[PlacedTrials]:
        """Return some of the trials at a time, in some of the layouts; a list where placed."""
        return self._place(layout_numbers, ROWS_PER_CHUNK)

    def all_trials(self, layout_numbers: Sequence[int]) -> PlacedTrials:
        """Return all trials at once, where they are held, in some of the layouts."""
        (placed,) = self._place(layout_numbers, 0)
        return placed

    def _place(self, layout_numbers: Sequence[int], chunk_size: int) -> Iterable[PlacedTrials]:
        if self._placed_trials:
            return [placed.in_layouts(layout_numbers) for placed in self._placed_trials]
        return place_trials(
            self.trials, [self.layouts[i] for i in layout_numbers], at_once=chunk_size
        )


def _layouts_of_units(speaker_counts: SpeakerCounts, design: AuditDesign) -> list[Layout]:
    """Return the layouts of the audit by the groups of the units of speaker counts."""
    unit_design = _design_of_units(design, speaker_counts)
    return cell_layouts(unit_design.groupings, design.options.allocate, unit_design.within)


def _design_of_units(design: AuditDesign, trials: TrialSet | SpeakerCounts) -> AuditDesign:
    """Return the design with the groups of the units of the rows."""
    return replace(
        design,
        groupings=trials.unit_groupings(design.groupings),
        within=trials.unit_groupings(design.within),
        standardise_over=trials.unit_groupings(design.standardise_over),
    )


def _uncertainty(
    layout: Layout,
    stratum_index: int,
    errors: tuple[SpeakerErrors, SpeakerErrors],
    failures: tuple[SpeakerFailures, SpeakerFailures],
    layout_draws: CellDraws | None,
    points: OperatingPoints,
    design: AuditDesign,
    no_draws_reason: str,
    units: Units,
    pooled_moments: Mapping[str, Moments] | None,
) -> Uncertainty:
    """Return the intervals and draws of the cells of one stratum of a layout."""
    options, draws = design.options, design.draws
    first, last = (
        stratum_index * layout.n_cells_per_stratum,
        (stratum_index + 1) * layout.n_cells_per_stratum,
    )
    groups = errors[0].cell_slice(first, last)
    pooled = errors[1].cell_slice(stratum_index, stratum_index + 1)
    stratum_failures = (
        failures[0].cell_range(first, last),
        failures[1].cell_range(stratum_index, stratum_index + 1),
    )
    lacks_speakers = np.append(
        groups.nontarget.has_unknown_speakers, pooled.nontarget.has_unknown_speakers
    )
    point_names = [located.point.text for located in points.located]
    crossfitted_bias = np.full((len(points.min_cost_points), layout.n_cells_per_stratum), np.nan)
    draw_estimates = draw_rates = gradient_tests = None
    grid_draws: Sequence[GridDraws] = ()
    if layout_draws is not None and draws is not None:
        draw_estimates = _with_failure_rates(
            layout_draws.stratum_estimates(stratum_index),
            stratum_failures,
            draws.weights,
            point_names,
        )
        if lacks_speakers.any():
            needs_speakers = np.array(
                [needs_test_speakers(key[0]) for key in draw_estimates.keys], dtype=bool
            )
            draw_estimates = draw_estimates.mask_cells(~(needs_speakers[:, None] & lacks_speakers))
        else:
            grid_draws = [grid.stratum(stratum_index) for grid in layout_draws.grid_draws]
        draw_rates = {
            rate: draw_estimates.with_keys([(rate, "", name) for name in point_names]).values
            for rate in points.rates
        }
        crossfitted_bias = layout_draws.crossfitted_bias[:, first:last]
        gradient_tests = layout_draws.stratum_gradient_tests(stratum_index)
    intervals = rate_intervals(groups, pooled, options, draw_rates, pooled_moments)
    equal_rates_draws = draw_equal_rates(
        groups,
        intervals.moments,
        points.located,
        options,
        None if draws is None else draws.rank,
        {} if layout.grouping is None else intervals.are_disjoint,
    )
    guesses = best_guesses(
        layout.grouping,
        intervals.moments,
        intervals.are_disjoint,
        equal_rates_draws.point_indices,
        options,
    )
    # Halves of so few speakers are too small to find a threshold on.
    fewest_units = np.minimum(*(intervals.n_units[rate] for rate in RATES))[:-1]
    is_undefined = (fewest_units < MIN_SPLIT_SPEAKERS) | lacks_speakers[:-1]
    n_units_by_rate = intervals.n_units
    if draws is not None and draws.draws_together:
        n_units_by_rate = _n_drawn_blocks(groups, pooled, draws.curve_unit)
    return Uncertainty(
        group_errors=groups,
        pooled_errors=pooled,
        rate_intervals=intervals,
        best_guesses=guesses,
        equal_rates_draws=equal_rates_draws,
        draw_estimates=draw_estimates,
        grid_draws=grid_draws,
        crossfitted_bias=np.where(is_undefined, np.nan, crossfitted_bias),
        gradient_tests=gradient_tests,
        failures=stratum_failures,
        point_indices={name: i for i, name in enumerate(point_names)},
        moves_with_threshold={rate: points.moves_with_threshold(rate) for rate in points.rates},
        options=options,
        no_draws_reason=no_draws_reason,
        units=units,
        n_units_by_rate=n_units_by_rate,
    )


def _with_failure_rates(
    draw_estimates: Estimates,
    failures: tuple[SpeakerFailures, SpeakerFailures],
    weights: NDArray[np.integer[Any]],
    point_names: Sequence[str],
) -> Estimates:
    """Return draws with rates that count failures, where recordings of any cell failed."""
    cells = draw_estimates.cell_range(0, -1), draw_estimates.cell_range(-1, None)
    with_rates = [
        add_failure_rates(estimates, cell_failures, weights, point_names)
        for estimates, cell_failures in zip(cells, failures, strict=True)
    ]
    if all(new.keys == old.keys for new, old in zip(with_rates, cells, strict=True)):
        return draw_estimates
    return Estimates.join_cells(with_rates)


def _n_drawn_blocks(
    groups: SpeakerErrors, pooled: SpeakerErrors, draw_block: NDArray[np.int32]
) -> dict[str, NDArray[np.int64]]:
    """Return the numbers of blocks drawn behind each rate, ``[cell]``, the pooled row last."""
    n_blocks = int(draw_block.max(initial=0)) + 1
    n_blocks_by_rate = {}
    for rate in groups.rates:
        n_blocks_of_cells = []
        for cluster_errors in (groups.for_rate(rate), pooled.for_rate(rate)):
            cell, speaker = cluster_errors.cell_speakers
            is_known = speaker < draw_block.size  # not the strangers of pairs within a block
            cell_codes = cell[is_known].astype(np.int64) * n_blocks
            codes = np.unique(cell_codes + draw_block[speaker[is_known]])
            n_blocks_of_cells.append(
                np.bincount(codes // n_blocks, minlength=cluster_errors.n_cells)
            )
        n_blocks_by_rate[rate] = np.concatenate(n_blocks_of_cells)
    return n_blocks_by_rate
