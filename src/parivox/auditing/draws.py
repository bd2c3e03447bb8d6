"""Base metrics of every cell in every replicate of the bootstrap over speakers.

See docs/methods/uncertainty.md#vertex-bootstrap.

One draw of speakers serves all systems, lists, groupings and measures, so that whatever is computed
from two of these values is resampled jointly. Thresholds that were set on the trials are set anew
in each replicate.

Threshold bias is cross-fitted here too (docs/methods/bias-measures.md#threshold-bias):
a group's own best threshold, found on the very trials that it is judged on, always looks better
than a common one, the more so the fewer trials there are. So it is found on one half of the group's
speakers and judged on the other half, and the reverse, over several splits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.estimates import (
    Estimates,
    GridDraws,
    metrics_at_thresholds,
    score_locations,
    score_metrics,
    user_metrics,
)
from parivox.core.calibration_gradient import GradientTests
from parivox.core.costs import cdet, min_cdet
from parivox.core.counts import Counts, Curve, ThresholdSteps
from parivox.core.measures import ALL_RATES
from parivox.core.resampled_curves import (
    N_BINS,
    ResampledCurves,
    bin_means,
    curve_edges,
    largest_share,
)
from parivox.core.resampling import pool_small_strata, speaker_weights, weighted
from parivox.runtime.progress import stage
from parivox.runtime.task_sharing import begin_tasks, is_picklable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.estimates import Metrics
    from parivox.auditing.layout import Layout, PlacedTrials
    from parivox.auditing.operating_points import LocatedPoint, OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.data.units import UnitAssignment

    Weights = NDArray[np.integer[Any]]

MAX_DRAWN_SPEAKERS = 100_000
"""With more speakers, no replicates are drawn."""
N_SPLITS = 20
"""Times that speakers are split in halves for cross-fitting."""
_MAX_DRAW_TASKS = 16
MAX_LAYOUTS_TOGETHER = 12
"""Layouts that are resampled together; more would take too much memory."""


class SpeakerDraws(NamedTuple):
    """Speakers drawn for all systems, lists and groupings."""

    weights: Weights  # [replicate, speaker]: how often each is drawn
    # [2 * split, speaker]: 1 for the speakers of one half; the first halves, then the second ones
    halves: Weights
    rank: NDArray[np.intp]  # of each speaker, in an order that does not depend on names
    # the unit that each speaker's is drawn with, of which curves are made
    curve_unit: NDArray[np.int32]

    @property
    def draws_together(self) -> bool:
        """Whether some are drawn together."""
        return int(self.curve_unit.max(initial=-1)) + 1 < self.curve_unit.size

    def of_curve_units(self) -> SpeakerDraws:
        """Return the draws of the units that curves are made of."""
        first_of_unit = np.unique(self.curve_unit, return_index=True)[1]
        return self._replace(
            weights=self.weights[:, first_of_unit], halves=self.halves[:, first_of_unit]
        )


def draw_speakers(
    sets: Sequence[TrialSet | SpeakerCounts],
    groupings: Sequence[Grouping],
    options: Options,
    assignment: UnitAssignment,
) -> SpeakerDraws:
    """Draw speakers within the finest groups that they belong to, and the lists that they are in.

    So every group keeps its size, and halves of it are halves. Speakers are drawn in an order that
    follows from their scores, so that renaming speakers changes nothing. Units of one curve unit
    are drawn together.
    """
    curve_unit = assignment.curve_unit
    rank = np.argsort(_order_and_strata(sets, groupings, assignment)[0])
    order, strata = _order_and_strata(sets, groupings, assignment.in_curves())
    position = np.argsort(order)[curve_unit]
    strata = strata[order]
    ordered_weights = speaker_weights(pool_small_strata(strata), options.replicates, options.seed)
    ordered_halves = split_halves(strata, np.random.default_rng((options.seed, 3)))
    return SpeakerDraws(ordered_weights[:, position], ordered_halves[:, position], rank, curve_unit)


def _order_and_strata(
    sets: Sequence[TrialSet | SpeakerCounts],
    groupings: Sequence[Grouping],
    assignment: UnitAssignment,
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the units in the order of their scores' bits, and the stratum of each.

    The stratum of a unit without trials is -1.
    """
    unit_of_speaker, n_units = assignment.unit_of_speaker, assignment.n_units
    strata = np.zeros(n_units, dtype=np.int64)
    in_use = np.zeros(n_units, dtype=bool)
    keys = np.zeros((n_units, 3), dtype=np.int64)
    for trials in sets:
        is_in_list = np.zeros(n_units, dtype=bool)
        is_in_list[unit_of_speaker[trials.speakers_in_use]] = True
        in_use |= is_in_list
        strata = _split_strata(strata, is_in_list)
        score_keys = trials.score_keys
        np.add.at(
            keys, unit_of_speaker[: score_keys.shape[1]], score_keys[:, : unit_of_speaker.size].T
        )
    speakers_in_use = np.unique(np.concatenate([trials.speakers_in_use for trials in sets]))
    for grouping in groupings:
        group_codes = grouping.speaker_codes
        if group_codes is not None:
            strata = _split_strata(strata, assignment.unit_groups(group_codes, speakers_in_use))
    strata[~in_use] = -1
    return np.lexsort(keys.T), strata


def _split_strata(strata: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return strata split further by codes."""
    _, distinct_code = np.unique(codes, return_inverse=True)
    _, joint_code = np.unique(
        strata * (int(distinct_code.max(initial=0)) + 1) + distinct_code, return_inverse=True
    )
    finer_strata: NDArray[np.int64] = joint_code.astype(np.int64)
    return finer_strata


# --- cross-fitted threshold bias -----------------------------------------------------------------


def split_halves(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return both halves of the speakers in each split, ``[2 * split, speaker]``.

    Every stratum is split in two; of an odd number, one half has one more by chance. Speakers of
    stratum -1 are in neither half.
    """
    shape = N_SPLITS, strata.size
    shuffled = np.lexsort((rng.random(shape), np.broadcast_to(strata, shape)), axis=-1)
    _, stratum_start, size = np.unique(np.sort(strata), return_index=True, return_counts=True)
    position_in_stratum = np.arange(strata.size) - np.repeat(stratum_start, size)
    extra = rng.integers(0, 2, (N_SPLITS, size.size)) * (size % 2)
    is_in_first = position_in_stratum < np.repeat((size + extra) // 2, size, axis=-1)
    first_half = np.zeros(shape, dtype=np.uint8)
    np.put_along_axis(first_half, shuffled, is_in_first.astype(np.uint8), axis=-1)
    return np.concatenate((first_half, 1 - first_half)) * (strata >= 0).astype(np.uint8)


def _crossfitted_biases(
    curves: ResampledCurves, weights: Weights, min_cost_points: Sequence[LocatedPoint]
) -> list[FloatArray]:
    """Return threshold bias with own thresholds of the other half, ``[cost, cell]`` by partition.

    `weights` are `split_halves` of the speakers, `min_cost_points` the common threshold of each
    cost. NaN where no half has both classes.
    """
    with stage("threshold bias, cross-fitted"):
        ((_, counts_by_partition),) = curves.replicates(weights, chunk=len(weights))
        biases_by_partition = []
        for cells in counts_by_partition:
            biases = np.full((len(min_cost_points), len(cells)), np.nan)
            for cell_index, counts in enumerate(cells):
                for cost_index, located in enumerate(min_cost_points):
                    if not located.reason:
                        biases[cost_index, cell_index] = _crossfitted_bias(counts, located)
            biases_by_partition.append(biases)
    return biases_by_partition


def _crossfitted_bias(counts: Counts, common_point: LocatedPoint) -> float:
    """Return the cost of one cell at the common threshold over that at those of the other halves.

    Both costs are of the same trials, those within a half. The ratio may be below 1.
    """
    cost = common_point.point.cost
    assert cost is not None
    n_splits = len(counts.target) // 2
    other_half = np.roll(np.arange(2 * n_splits), n_splits)
    # NaN where a half lacks a class
    own_thresholds = min_cdet(counts, cost=cost).threshold[other_half]
    is_known = ~np.isnan(own_thresholds) & (counts.n_target > 0) & (counts.n_nontarget > 0)
    if not is_known.any():
        return np.nan
    common_thresholds = np.broadcast_to(common_point.threshold, own_thresholds.shape)
    curve = counts.at(np.stack((common_thresholds, own_thresholds), axis=-1))
    pooled_curve = Curve.from_classes(
        curve.thresholds[0],
        [errors[is_known].sum(axis=0) for errors in curve.errors_by_class],
        [n_trials[is_known].sum(axis=0) for n_trials in curve.n_by_class],
    )
    cost_at_common, cost_at_own = cdet(pooled_curve, cost)
    if cost_at_own == 0:
        return 1.0 if cost_at_common == 0 else np.inf
    return float(cost_at_common / cost_at_own)


# --- replicates ----------------------------------------------------------------------------------


class CellDraws(NamedTuple):
    """The cells of a layout in each replicate."""

    n_cells_per_stratum: int  # of each stratum; 0 for layouts of strata alone
    estimates: Estimates  # [draw, key, cell]: of each stratum, its groups and then all of them
    grid_draws: Sequence[GridDraws]
    """Both rates along the points that the area under FDR is taken over; strata have none."""
    crossfitted_bias: FloatArray  # [cost, group of a stratum]: threshold bias, cross-fitted
    # of the groups of each stratum, and of the strata; None without log-likelihood ratios
    gradient_tests: tuple[GradientTests, GradientTests] | None

    def stratum_gradient_tests(self, stratum_index: int) -> GradientTests | None:
        """Return the tests of the groups of one stratum and, last, of all of them."""
        if self.gradient_tests is None:
            return None
        groups, strata = self.gradient_tests
        n_groups = max(self.n_cells_per_stratum, 1)
        return groups.cell_range(
            stratum_index * n_groups, (stratum_index + 1) * n_groups
        ).append_cells(strata.cell_range(stratum_index, stratum_index + 1))

    def stratum_estimates(self, stratum_index: int) -> Estimates:
        """Return the groups of one stratum and, last, all of them; without groups all are one."""
        n_cells = self.n_cells_per_stratum + 1
        stratum = self.estimates.cell_range(stratum_index * n_cells, (stratum_index + 1) * n_cells)
        return stratum if self.n_cells_per_stratum else Estimates.join_cells([stratum, stratum])


def replicate_edges(
    trials: TrialSet | SpeakerCounts, all_trials: Counts, points: OperatingPoints, bins: int
) -> FloatArray | None:
    """Return the lower edges of the bins of scores in replicates; None where each score is a bin.

    Speaker counts keep the edges that they were counted at, unless these include all others.
    """
    counted_edges = trials.edges
    if counted_edges is None and not bins:
        return None
    edges = curve_edges(all_trials, bins=bins or N_BINS, thresholds=points.fixed_thresholds)
    if counted_edges is None or np.isin(edges, counted_edges).all():
        return edges
    return counted_edges


def resample_cells(
    trials: TrialSet | SpeakerCounts,
    all_trials: Counts,
    layouts: Sequence[Layout],
    placed_trials: PlacedTrials,
    errors_of_layouts: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    points: OperatingPoints,
    draws: SpeakerDraws,
    options: Options,
    metrics: Metrics,
) -> tuple[list[CellDraws], float]:
    """Measure the cells and the strata of every layout again in each replicate.

    Parameters
    ----------
    trials, layouts, placed_trials
        All trials, in one partition, and the cells that they count in; the first layout is of all
        trials.
    errors_of_layouts
        Errors by speaker and by pair of the cells and of the strata, for deployed decisions.
    all_trials
        All trials by score.

    Returns
    -------
    list of CellDraws
        Of each layout.
    float
        Largest share of a class of a cell's trials in one bin of scores: no rate of a replicate
        at a threshold set on its curve is further than this from the exact one.
    """
    partition, speaker = placed_trials.trials.by_claim(), trials.utterance_speaker
    edges = replicate_edges(trials, all_trials, points, options.bins)
    # quantiles would be edges of the speaker counts, between which they do not vary
    has_shifts_of_means_only = (
        edges is not None and trials.edges is not None and np.array_equal(edges, trials.edges)
    )
    means = None if edges is None else bin_means(all_trials, edges)
    cell_partitions, partition_indices = _cell_partitions(layouts, placed_trials, errors_of_layouts)
    n_speakers = int(speaker.max(initial=-1)) + 1
    weights, halves = draws.weights[:, :n_speakers], draws.halves
    tables = [_DrawTables(len(weights), cells.shape) for cells in cell_partitions]
    grid_draws: list[list[GridDraws]] = [[] for _ in cell_partitions]
    crossfitted_biases: dict[int, FloatArray] = {}
    original_measures: list[tuple[float, dict[int, GradientTests]]] = []
    batches = list(_batches(cell_partitions, partition_indices))
    measures = _DrawMeasures(points, options, metrics, edges is not None, has_shifts_of_means_only)
    for number, batch in enumerate(batches, 1):
        curves = ResampledCurves(
            partition.score,
            partition.trial_class,
            speaker[partition.enrol],
            # a trial without test speaker varies with its enrolment speaker only
            np.where(
                speaker[partition.test] < 0, speaker[partition.enrol], speaker[partition.test]
            ),
            [(cell_partitions[i].cell_codes, cell_partitions[i].n_cells) for i in batch],
            edges,
            partition.extra_columns.get("count"),
            means,
        )
        original_measures.append(_measure_original_counts(curves, batch, options))
        # strata may have been measured in an earlier batch
        new_partitions = [i for i in batch if i not in crossfitted_biases]
        name = f"bootstrap, part {number} of {len(batches)}" if len(batches) > 1 else "bootstrap"
        slices = _draw_slices(len(weights), curves.default_chunk)
        # what counts cells is in the curves already
        shapes = {i: cell_partitions[i].shape for i in batch}
        drawing_tasks = begin_tasks(
            _measure_draws,
            [
                (curves, weights[draw_slice], shapes, new_partitions, measures)
                for draw_slice in slices
            ],
            work=partition.score.size if is_picklable(metrics) else 0,
            unit="trials",
        )
        with stage(name, len(weights), "draws") as drawing:
            for draw_slice, measured in zip(slices, drawing_tasks.outputs(), strict=True):
                for i, (measured_table, measured_grids) in measured.items():
                    tables[i].put(draw_slice, measured_table)
                    grid_draws[i] += measured_grids
                drawing.add(draw_slice.stop - draw_slice.start)
        biases = _crossfitted_biases(curves, halves[:, :n_speakers], points.min_cost_points)
        crossfitted_biases |= dict(zip(batch, biases, strict=True))
    if points.deployed_index is not None:
        for table, cell_partition in zip(tables, cell_partitions, strict=True):
            _fill_decisions(table, cell_partition, points, draws.weights, options)
    draws_of_partitions = _draws_of_partitions(
        tables,
        cell_partitions,
        grid_draws,
        crossfitted_biases,
        {i: tests for _, batch_tests in original_measures for i, tests in batch_tests.items()},
    )
    max_bin_share = max(share for share, _ in original_measures)
    return [draws_of_partitions[i] for i in partition_indices], max_bin_share


def _measure_original_counts(
    curves: ResampledCurves, batch: Sequence[int], options: Options
) -> tuple[float, dict[int, GradientTests]]:
    """Return what is computed from the original counts of a batch of partitions.

    The largest share of a class of a cell's trials in one bin of scores, and the tests of a
    calibration loss of 0 by partition; none without likelihood ratios.
    """
    layouts = curves.original()
    share = max((float(largest_share(counts)) for cells in layouts for counts in cells), default=0)
    if not options.llr:
        return share, {}
    tests = GradientTests.from_curves(curves, layouts, options.log_base)
    return share, dict(zip(batch, tests, strict=True))


def _draws_of_partitions(
    tables: Sequence[_DrawTables],
    cell_partitions: Sequence[_CellPartition],
    grid_draws: Sequence[Sequence[GridDraws]],
    crossfitted_biases: Mapping[int, FloatArray],
    gradient_tests: Mapping[int, GradientTests],
) -> list[CellDraws]:
    """Return the cells of each partition with those of its strata."""
    draws_of_partitions: list[CellDraws] = []
    for i, (table, cell_partition) in enumerate(zip(tables, cell_partitions, strict=True)):
        estimates_of_strata, strata_index = None, i
        if cell_partition.strata_index is not None:
            strata_index = cell_partition.strata_index
            estimates_of_strata = draws_of_partitions[strata_index].estimates
        tests_of_cells = None
        if gradient_tests:
            tests_of_cells = gradient_tests[i], gradient_tests[strata_index]
        draws_of_partitions.append(
            CellDraws(
                table.n_cells_per_stratum,
                table.estimates(estimates_of_strata),
                grid_draws[i],
                crossfitted_biases[i],
                tests_of_cells,
            )
        )
    return draws_of_partitions


def _draw_slices(n_draws: int, chunk: int) -> list[slice]:
    """Return replicates that are measured by one task: some chunks of them."""
    n_chunks = -(-n_draws // chunk)
    draws_per_task = chunk * -(-n_chunks // _MAX_DRAW_TASKS)
    starts = range(0, n_draws, draws_per_task)
    return [slice(start, min(start + draws_per_task, n_draws)) for start in starts]


def _measure_draws(
    curves: ResampledCurves,
    weights: Weights,
    shapes: Mapping[int, _PartitionShape],
    new_partitions: Sequence[int],
    measures: _DrawMeasures,
) -> dict[int, tuple[_DrawTables, list[GridDraws]]]:
    """Measure the cells of a batch of partitions in some replicates.

    Returns
    -------
    dict
        Of each partition that was not measured before, its table and its rates along the grid.
    """
    points, options = measures.points, measures.options
    tables = {i: _DrawTables(len(weights), shapes[i]) for i in new_partitions}
    grid_draws: dict[int, list[GridDraws]] = {i: [] for i in new_partitions}
    for draw_slice, counts_of_batch in curves.replicates(weights):
        counts_by_partition = dict(zip(shapes, counts_of_batch, strict=True))
        drawn_trials = counts_by_partition[0][0]
        thresholds = points.thresholds(drawn_trials, points.all_score_points)
        # many, so that they are looked up once for all cells
        area_thresholds = ThresholdSteps.from_values(
            curves.values, points.thresholds(drawn_trials, points.area_points)
        )
        locations: dict[int, list[Mapping[tuple[str, str], FloatArray]]] = {}
        area_curves: dict[int, list[Curve]] = {}
        for i, shape in shapes.items():  # strata come before the cells in them
            locations[i], area_curves[i] = [], []
            for cell_index, counts in enumerate(counts_by_partition[i]):
                locations[i].append(score_locations(counts))
                area_curves[i].append(counts.at_steps(area_thresholds))
                if i not in tables:
                    continue
                tables[i].begin_cells(draw_slice, cell_index)
                curve = counts.at(thresholds)
                tables[i].fill_points(points.score_points, curve, points, options)
                tables[i].fill_scores(counts, points, options, coarse=measures.is_coarse)
                values_by_user = user_metrics(curve, counts, points, measures.metrics)
                tables[i].fill({key: metric_values for key, metric_values, _ in values_by_user})
                if shape.strata_index is not None:
                    stratum = cell_index // shape.n_cells_per_stratum
                    tables[i].fill_shifts(
                        locations[i][cell_index],
                        locations[shape.strata_index][stratum],
                        only_means=measures.has_shifts_of_means_only,
                    )
                counts.forget_curve()  # the curves of many groups are large
            if i in tables:
                tables[i].end_chunk(draw_slice)
                if shape.strata_index is not None:
                    grid_draws[i].append(
                        GridDraws.from_curves(area_curves[i], area_curves[shape.strata_index])
                    )
    return {i: (table, grid_draws[i]) for i, table in tables.items()}


class _DrawMeasures(NamedTuple):
    """What is measured in each replicate."""

    points: OperatingPoints
    options: Options
    metrics: Metrics
    is_coarse: bool  # whether scores are counted in bins
    has_shifts_of_means_only: bool


class _PartitionShape(NamedTuple):
    """Numbers of cells."""

    n_cells: int
    n_cells_per_stratum: int
    strata_index: int | None  # the partition of the strata that these cells are in


class _CellPartition(NamedTuple):
    """Cells of which each trial is in at most one, which are counted together."""

    cell_codes: Sequence[NDArray[np.int32]]
    n_cells: int
    n_cells_per_stratum: int
    speaker_errors: SpeakerErrors
    strata_index: int | None  # the partition of the strata that these cells are in

    @property
    def shape(self) -> _PartitionShape:
        """Return its numbers of cells."""
        return _PartitionShape(self.n_cells, self.n_cells_per_stratum, self.strata_index)


def _cell_partitions(
    layouts: Sequence[Layout],
    placed_trials: PlacedTrials,
    errors_of_layouts: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
) -> tuple[list[_CellPartition], list[int]]:
    """Return the distinct partitions, strata before their cells, and that of each layout."""
    cell_partitions: list[_CellPartition] = []
    partition_indices = []
    for layout, placed, (cell_errors, stratum_errors) in zip(
        layouts, placed_trials.cells_by_layout.values(), errors_of_layouts, strict=True
    ):
        strata_index = 0  # all trials count, as in the first layout
        if not cell_partitions or layout.n_strata > 1 or not (placed.stratum == 0).all():
            strata_index = len(cell_partitions)
            cell_partitions.append(
                _CellPartition([placed.stratum], layout.n_strata, 1, stratum_errors, None)
            )
        if layout.grouping is None:
            partition_indices.append(strata_index)
            continue
        partition_indices.append(len(cell_partitions))
        n_cells = layout.n_strata * layout.n_cells_per_stratum
        cell_partitions.append(
            _CellPartition(
                placed.cells, n_cells, layout.n_cells_per_stratum, cell_errors, strata_index
            )
        )
    return cell_partitions, partition_indices


def _batches(
    cell_partitions: Sequence[_CellPartition], partition_indices: Sequence[int]
) -> Iterator[list[int]]:
    """Yield the partitions that are resampled together: of a few layouts, and of all trials."""
    for start in range(0, len(partition_indices), MAX_LAYOUTS_TOGETHER):
        batch = {0}  # all trials, on which the thresholds are set
        for index in partition_indices[start : start + MAX_LAYOUTS_TOGETHER]:
            batch.add(index)
            strata_index = cell_partitions[index].strata_index
            if strata_index is not None:
                batch.add(strata_index)
        yield sorted(batch)


class _KeyTable:
    """Numbers of each key and cell in each replicate, some replicates at a time."""

    def __init__(self, n_draws: int, cell_columns: IntArray, n_columns: int) -> None:
        self.keys: list[Key] = []
        self.array = np.empty((n_draws, 0, n_columns))
        self.cell_columns = cell_columns  # the column of each cell; the others stay undefined
        self._chunk: dict[Key, FloatArray] = {}

    def fill(self, key: Key, n_draws: int, cells: int | slice, numbers: ArrayLike) -> None:
        """Fill in a key of some cells, in the replicates of the present chunk."""
        if key not in self._chunk:
            # NaN for cells that a metric of the user has no value of
            self._chunk[key] = np.full((n_draws, self.cell_columns.size), np.nan)
        self._chunk[key][:, cells] = numbers

    def put(self, draw_slice: slice, measured: _KeyTable) -> None:
        """Put in the numbers of some replicates."""
        self._chunk = {
            key: measured.array[:, i, self.cell_columns] for i, key in enumerate(measured.keys)
        }
        self.end_chunk(draw_slice)

    def end_chunk(self, draw_slice: slice) -> None:
        """Move the numbers of the present chunk to their replicates."""
        new_keys = [key for key in self._chunk if key not in self.keys]
        if new_keys:
            n_draws, _, n_columns = self.array.shape
            undefined = np.full((n_draws, len(new_keys), n_columns), np.nan)
            self.array = np.concatenate((self.array, undefined), axis=1) if self.keys else undefined
            self.keys += new_keys
        for key, numbers in self._chunk.items():
            self.array[draw_slice, self.keys.index(key), self.cell_columns] = numbers
        self._chunk = {}


class _DrawTables:
    """The metrics of the cells of one partition, filled in by replicates and by cell."""

    def __init__(self, n_draws: int, shape: _PartitionShape) -> None:
        # the groups of each stratum are followed by a column for all of them
        self.n_cells_per_stratum = 0 if shape.strata_index is None else shape.n_cells_per_stratum
        columns = np.arange(shape.n_cells)
        n_columns = columns.size
        if self.n_cells_per_stratum:
            columns += columns // self.n_cells_per_stratum
            n_columns += n_columns // self.n_cells_per_stratum
        self.values, self.errors, self.trials = (
            _KeyTable(n_draws, columns, n_columns) for _ in range(3)
        )
        self.n_draws_of_chunk = n_draws
        self.cells: int | slice = slice(None)

    def begin_cells(self, draw_slice: slice, cells: int | slice) -> None:
        """Fill in one cell next, or several, in the replicates of a chunk."""
        self.n_draws_of_chunk, self.cells = draw_slice.stop - draw_slice.start, cells

    def end_chunk(self, draw_slice: slice) -> None:
        """Store the replicates of the present chunk."""
        for table in (self.values, self.errors, self.trials):
            table.end_chunk(draw_slice)

    def put(self, draw_slice: slice, measured: _DrawTables) -> None:
        """Put in the replicates that were measured by themselves."""
        for table, other_table in (
            (self.values, measured.values),
            (self.errors, measured.errors),
            (self.trials, measured.trials),
        ):
            table.put(draw_slice, other_table)

    def fill(self, values: Mapping[Key, ArrayLike]) -> None:
        """Fill in values of the present cell and chunk."""
        for key, cell_values in values.items():
            self._fill(self.values, key, cell_values)

    def _fill(self, table: _KeyTable, key: Key, numbers: ArrayLike) -> None:
        table.fill(key, self.n_draws_of_chunk, self.cells, numbers)

    def fill_points(
        self,
        located_points: Sequence[LocatedPoint],
        curve: Curve,
        points: OperatingPoints,
        options: Options,
    ) -> None:
        """Fill in the metrics at the first thresholds, and the errors and trials of the rates.

        If `curve` has more thresholds, those of smallest cost follow: each has its own cost only.
        """
        n_points = len(located_points)
        min_cost_points = points.min_cost_points if curve.fp.shape[-1] > n_points else ()
        errors_and_trials = zip(curve.errors_by_class, curve.n_by_class, strict=True)
        rate_errors = dict(zip(ALL_RATES, errors_and_trials, strict=False))
        for (measure, definition, _), measured in metrics_at_thresholds(curve, points, options):
            for index, located in enumerate(located_points):
                key = measure.id, definition, located.point.text
                point_values = np.nan if located.reason else measured[..., index]
                self._fill(self.values, key, point_values)
                if measure.id in rate_errors:
                    errors, trials = rate_errors[measure.id]
                    self._fill(self.errors, key, errors[..., index])
                    self._fill(self.trials, key, trials)
            for index, located in enumerate(min_cost_points, n_points):
                cost = located.point.cost
                if cost is not None and (measure.id, definition) == ("cdet_norm", cost.name):
                    key = measure.id, definition, located.point.text
                    self._fill(self.values, key, measured[..., index])

    def fill_scores(
        self, counts: Counts, points: OperatingPoints, options: Options, *, coarse: bool
    ) -> None:
        """Fill in the metrics of the scores, at the cell's own thresholds if at any."""
        metrics = score_metrics(counts, points, options, coarse=coarse)
        self.fill({(*key, ""): metric.value for key, metric in metrics.items()})

    def fill_shifts(
        self,
        locations: Mapping[tuple[str, str], FloatArray],
        pooled_locations: Mapping[tuple[str, str], FloatArray],
        *,
        only_means: bool,
    ) -> None:
        """Fill in how the scores lie against those of all groups, in units of score."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinite, huge scores
            self.fill(
                {
                    (*key, ""): location - pooled_locations[key]
                    for key, location in locations.items()
                    if key[1] == "mean" or not only_means
                }
            )

    def estimates(self, estimates_of_strata: Estimates | None) -> Estimates:
        """Return all replicates; each stratum is followed by all its groups."""
        keys, rate_keys = self.values.keys, self.errors.keys
        arrays = self.values.array, self.errors.array, self.trials.array
        if estimates_of_strata is not None:
            strata = estimates_of_strata.with_keys(keys)
            for array, pooled in zip(
                arrays, (strata.values, strata.errors, strata.trials), strict=True
            ):
                array[..., self.n_cells_per_stratum :: self.n_cells_per_stratum + 1] = pooled
        values, errors, trials = arrays
        return Estimates(keys, values, rate_keys, errors, trials)


def with_stranger_weights(weights: Weights, unit_counts: ErrorsBySpeaker | ErrorsByPair) -> Weights:
    """Return the weights of the units of trials; strangers within speaker blocks weigh 1.

    So a trial within a block weighs as the block does.
    """
    n_units = 1 + max(
        int(unit_indices.max(initial=-1)) for unit_indices in unit_counts.cell_speakers[1:]
    )
    n_strangers = n_units - weights.shape[1]
    if n_strangers <= 0:
        return weights
    return np.pad(weights, ((0, 0), (0, n_strangers)), constant_values=1)


def _fill_decisions(
    table: _DrawTables,
    cell_partition: _CellPartition,
    points: OperatingPoints,
    weights: Weights,
    options: Options,
) -> None:
    """Fill in the metrics of the deployed decisions, of every cell and replicate."""
    deployed_index = points.deployed_index
    assert deployed_index is not None
    errors_by_class, trials_by_class = [], []
    for unit_counts in cell_partition.speaker_errors.by_class:
        errors, trials = weighted(unit_counts, with_stranger_weights(weights, unit_counts))
        trials_at_point = trials[:, deployed_index if trials.shape[1] > 1 else 0]
        errors_by_class.append(errors[:, deployed_index].astype(np.int64)[..., None])
        trials_by_class.append(trials_at_point.astype(np.int64))
    all_draws = slice(0, len(weights))
    table.begin_cells(all_draws, slice(None))
    curve = Curve.from_classes(np.ones(1), errors_by_class, trials_by_class)
    table.fill_points([points.located[deployed_index]], curve, points, options)
    table.end_chunk(all_draws)
