"""Base metrics of every cell in every replicate of the bootstrap over speakers.

See docs/methods/uncertainty.md#vertex-bootstrap.

One draw of speakers serves all systems, lists, groupings and measures, so that whatever is made
of two of these values is resampled jointly. Thresholds that were found on the trials are found
again in each replicate.

Threshold bias is cross-fitted here too (docs/methods/bias-measures.md#cross-fitted-threshold-bias):
a group's own best threshold, found on the very trials that it is judged on, always looks better
than a common one, the more so the fewer trials there are. So it is found on one half of the group's
speakers and judged on the other half, and the reverse, over several splits.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
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
from parivox.auditing.layout import block_groups
from parivox.auditing.speaker_counts import SpeakerCounts
from parivox.core.costs import cdet, min_cdet
from parivox.core.counts import Counts, Curve
from parivox.core.measures import RATES
from parivox.core.resampled_curves import (
    N_BINS,
    ResampledCurves,
    bin_means,
    curve_edges,
    largest_share,
)
from parivox.core.resampling import pool_small_strata, speaker_weights, weighted
from parivox.runtime.progress import stage

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
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

    Weights = NDArray[np.integer[Any]]

MAX_DRAWN_SPEAKERS = 100_000
"""Of more speakers, no replicates are drawn."""
N_SPLITS = 20
"""Times that speakers are split in halves for cross-fitting."""
MAX_LAYOUTS_TOGETHER = 12
"""Layouts that are resampled together, for the memory they take."""
MIN_SPLIT_SPEAKERS = 10
"""Speakers of a group below which halves are too small to find a threshold on."""


class SpeakerDraws(NamedTuple):
    """Speakers drawn for all systems, lists and groupings."""

    weights: Weights  # [replicate, speaker]: how often each is drawn
    halves: Weights  # [2 * split, speaker]: 1 for those of one half; of all splits, then the others
    rank: NDArray[np.intp]  # of each speaker, in an order that does not follow from names
    # the block that each speaker is drawn with, where curves are made of blocks alone
    speaker_block: NDArray[np.int32] | None = None

    def curve_weights(self) -> tuple[Weights, Weights]:
        """Weights and halves of what curves are made of."""
        if self.speaker_block is None:
            return self.weights, self.halves
        first = np.unique(self.speaker_block, return_index=True)[1]
        return self.weights[:, first], self.halves[:, first]


def draw_speakers(
    sets: Sequence[TrialSet | SpeakerCounts],
    groupings: Sequence[Grouping],
    options: Options,
    block: NDArray[np.int32] | None = None,
    together: NDArray[np.int32] | None = None,
) -> SpeakerDraws:
    """Draw speakers within the finest groups that they belong to, and the lists that they are in.

    So every group keeps its size, and halves of it are halves. Speakers are drawn in an order
    that follows from their scores, not from their names, which therefore change nothing. With a
    `block` of each speaker, blocks are drawn; those of a block of `together` are drawn together.
    """
    order, strata = _ordered(sets, groupings, block)
    rank = np.argsort(order)
    if together is not None:
        whole = together if block is None else together[block]
        order, strata = _ordered(sets, groupings, whole)
    strata = strata[order]
    drawn = speaker_weights(pool_small_strata(strata), options.replicates, options.seed)
    split = halves(strata, np.random.default_rng((options.seed, 3)))
    weights, both = np.empty_like(drawn), np.empty_like(split)
    weights[:, order], both[:, order] = drawn, split
    if together is not None:
        weights, both = weights[:, together], both[:, together]
    return SpeakerDraws(weights, both, rank, together)


def _ordered(
    sets: Sequence[TrialSet | SpeakerCounts],
    groupings: Sequence[Grouping],
    block: NDArray[np.int32] | None,
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Speakers, or blocks, in the order of their scores' bits, and the stratum of each.

    Of none that is in any trial, the stratum is -1.
    """
    who = np.arange(max(int(one.utterance_speaker.max(initial=-1)) for one in sets) + 1)
    member = who if block is None else block
    n = int(member.max(initial=-1)) + 1
    strata = np.zeros(n, dtype=np.int64)
    in_use = np.zeros(n, dtype=bool)
    keys = np.zeros((n, 3), dtype=np.int64)
    for one in sets:
        here = np.zeros(n, dtype=bool)
        here[member[one.speakers_in_use]] = True
        in_use |= here
        strata = _finer(strata, here)
        own = one.keys if isinstance(one, SpeakerCounts) else one.score_keys
        np.add.at(keys, member[: own.shape[1]], own[:, : member.size].T)
    used = np.unique(np.concatenate([one.speakers_in_use for one in sets]))
    for grouping in groupings:
        codes = grouping.speaker_codes
        if codes is not None:
            codes = codes[:n] if block is None else block_groups(codes, block, used)
            strata = _finer(strata, codes)
    strata[~in_use] = -1
    return np.lexsort(keys.T), strata


def _finer(strata: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Strata split further by codes."""
    _, code = np.unique(codes, return_inverse=True)
    _, both = np.unique(strata * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    found: NDArray[np.int64] = both.astype(np.int64)
    return found


# --- cross-fitted threshold bias -----------------------------------------------------------------


def halves(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Both halves of the speakers in each split, ``[2 * split, speaker]``.

    Every stratum is split in two; of an odd number, one half has one more by chance. Those of
    stratum -1 are in neither.
    """
    n = strata.size
    shuffled = np.lexsort(
        (rng.random((N_SPLITS, n)), np.broadcast_to(strata, (N_SPLITS, n))), axis=-1
    )
    _, first, size = np.unique(np.sort(strata), return_index=True, return_counts=True)
    place = np.arange(n) - np.repeat(first, size)
    extra = rng.integers(0, 2, (N_SPLITS, size.size)) * (size % 2)
    in_first = place < np.repeat((size + extra) // 2, size, axis=-1)
    one = np.zeros((N_SPLITS, n), dtype=np.uint8)
    np.put_along_axis(one, shuffled, in_first.astype(np.uint8), axis=-1)
    return np.concatenate((one, 1 - one)) * (strata >= 0).astype(np.uint8)


def _crossfitted(
    curves: ResampledCurves, weights: Weights, cheapest: Sequence[LocatedPoint]
) -> list[FloatArray]:
    """Threshold bias with own thresholds of the other half, of each block ``[cost, cell]``.

    `weights` are `halves` of the speakers, `cheapest` the common threshold of each cost. NaN
    where no half has both classes.
    """
    ((_, counted),) = curves.replicates(weights, chunk=len(weights))
    found = []
    for cells in counted:
        rows = np.full((len(cheapest), len(cells)), np.nan)
        for j, counts in enumerate(cells):
            for i, one in enumerate(cheapest):
                if not one.reason:
                    rows[i, j] = _crossfitted_bias(counts, one)
        found.append(rows)
    return found


def _crossfitted_bias(counts: Counts, common: LocatedPoint) -> float:
    """Cost at the common threshold over that at those of the other half, of one cell.

    Both are of the same trials, those within a half; may be below 1.
    """
    cost = common.point.cost
    assert cost is not None
    n = len(counts.target) // 2
    other = np.roll(np.arange(2 * n), n)
    own = min_cdet(counts, cost=cost).threshold[other]  # NaN where a class is missing
    is_known = ~np.isnan(own) & (counts.n_target > 0) & (counts.n_nontarget > 0)
    if not is_known.any():
        return np.nan
    at = counts.at(np.stack((np.broadcast_to(common.threshold, own.shape), own), axis=-1))
    summed = Curve(
        at.thresholds[0],
        *(errors[is_known].sum(axis=0) for errors in (at.fp, at.fn)),
        *(trials[is_known].sum(axis=0) for trials in (at.n_target, at.n_nontarget)),
    )
    at_common, at_own = cdet(summed, cost)
    if at_own == 0:
        return 1.0 if at_common == 0 else np.inf
    return float(at_common / at_own)


# --- replicates ----------------------------------------------------------------------------------


class CellDraws(NamedTuple):
    """Some cells in each replicate."""

    estimates: Estimates  # [draw, key, cell]
    grid_draws: Sequence[GridDraws]
    """Both rates along the points that the area under FDR is taken over; none of levels."""
    crossfitted_bias: FloatArray  # [cost, cell]: threshold bias, cross-fitted over speakers


def replicate_edges(
    trials: TrialSet | SpeakerCounts, everything: Counts, points: OperatingPoints, bins: int
) -> FloatArray | None:
    """Lower edges of the bins of scores in replicates; None where each score is one.

    Those of a tally are its own steps, unless they hold the others.
    """
    if not isinstance(trials, SpeakerCounts):
        return (
            curve_edges(everything, bins=bins, thresholds=points.fixed_thresholds) if bins else None
        )
    edges = curve_edges(everything, bins=bins or N_BINS, thresholds=points.fixed_thresholds)
    return edges if np.isin(edges, trials.edges).all() else trials.edges


def resample_cells(
    trials: TrialSet | SpeakerCounts,
    everything: Counts,
    layouts: Sequence[Layout],
    walk: PlacedTrials,
    tallied: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    points: OperatingPoints,
    draws: SpeakerDraws,
    options: Options,
    metrics: Metrics,
    *,
    in_blocks: bool = False,
) -> tuple[list[tuple[CellDraws, CellDraws]], float]:
    """Measure the cells and the levels of every layout again in each replicate.

    Parameters
    ----------
    trials, layouts, walk
        All trials, in one partition, and where they count; the first layout is of all of them.
    tallied
        Their errors by speaker and by pair, for the decisions that were made.
    everything
        All trials by score.
    in_blocks
        Whether the trials are of those blocks that speakers are drawn together in.

    Returns
    -------
    list of (Replicated, Replicated)
        Of each layout, its cells and its levels.
    float
        Largest share of a class of a cell's trials in one bin of scores: no rate of a replicate
        at a threshold found on its curve is further than this from the exact one.
    """
    part, speaker = walk.trials, trials.utterance_speaker
    edges = replicate_edges(trials, everything, points, options.bins)
    # quantiles would be the edges of steps, between which they do not vary
    is_coarse = (
        isinstance(trials, SpeakerCounts)
        and edges is not None
        and np.array_equal(edges, trials.edges)
    )
    means = None if edges is None else bin_means(everything, edges)
    blocks, homes = _blocks(layouts, walk, tallied)
    n_speakers = int(speaker.max(initial=-1)) + 1
    weights, split = draws.curve_weights() if in_blocks else (draws.weights, draws.halves)
    own = weights[:, :n_speakers]
    made = [_DrawTables(len(own), block.n_cells) for block in blocks]
    grids: list[list[GridDraws]] = [[] for _ in blocks]
    crossed: dict[int, FloatArray] = {}
    bound = 0.0
    batches = list(_batches(homes))
    for number, batch in enumerate(batches, 1):
        curves = ResampledCurves(
            part.score,
            part.target,
            speaker[part.enrol],
            np.where(speaker[part.test] < 0, speaker[part.enrol], speaker[part.test]),
            [(blocks[i].cell_codes, blocks[i].n_cells) for i in batch],
            edges,
            part.extra_columns.get("count"),
            means,
        )
        shares = (largest_share(one) for cells in curves.original() for one in cells)
        bound = max(bound, *map(float, shares))
        fresh = [i for i in batch if i not in crossed]  # levels may have been in another batch
        name = f"bootstrap, part {number} of {len(batches)}" if len(batches) > 1 else "bootstrap"
        for which, counts_of in _replicates(curves, own, name):
            counted = dict(zip(batch, counts_of, strict=True))
            drawn = counted[0][0]
            thresholds = points.thresholds(drawn, points.all_score_points)
            of_area = points.thresholds(drawn, points.area_points)
            located = {i: [score_locations(counts) for counts in counted[i]] for i in batch}
            for i in fresh:
                block, into = blocks[i], made[i]
                if block.strata_index is not None:
                    both = counted[i], counted[block.strata_index]
                    along = ([counts.at(of_area) for counts in cells] for cells in both)
                    grids[i].append(GridDraws.from_curves(*along))
                for j, counts in enumerate(counted[i]):
                    into.position = which, j
                    at = counts.at(thresholds)
                    into.fill_points(points.score_points, at, points, options)
                    own_values = score_metrics(counts, points, options, coarse=edges is not None)
                    into.fill({(*key, ""): found.value for key, found in own_values.items()})
                    users = user_metrics(at, counts, points, metrics)
                    into.fill({key: value for key, value, _ in users})
                    if block.strata_index is not None:
                        whole = located[block.strata_index][j // block.n_groups]
                        with np.errstate(invalid="ignore", over="ignore"):  # infinite, huge scores
                            shifted = {
                                (*key, ""): v - whole[key]
                                for key, v in located[i][j].items()
                                if key[1] == "mean" or not is_coarse
                            }
                        into.fill(shifted)
        with stage("threshold bias, cross-fitted"):
            by_others = _crossfitted(curves, split[:, :n_speakers], points.min_cost_points)
        crossed |= dict(zip(batch, by_others, strict=True))
    if points.deployed_index is not None:
        for block, into in zip(blocks, made, strict=True):
            _add_decided(into, block, points, draws.weights, options)
    found = [
        CellDraws(one.estimates(), along, crossed[i])
        for i, (one, along) in enumerate(zip(made, grids, strict=True))
    ]
    return [(found[cells], found[levels]) for cells, levels in homes], bound


def _replicates(
    curves: ResampledCurves, weights: Weights, name: str
) -> Iterator[tuple[slice, list[list[Counts]]]]:
    """Some replicates at a time, and a stage that tells how many are done with."""
    with stage(name, len(weights), "draws") as drawing:
        for which, counts in curves.replicates(weights):
            yield which, counts
            drawing.add(which.stop - which.start)


class _CellPartition(NamedTuple):
    """Cells that are counted together."""

    cell_codes: Sequence[NDArray[np.int32]]
    n_cells: int
    n_groups: int
    speaker_errors: SpeakerErrors
    strata_index: int | None  # the block of the levels that these cells are in


def _blocks(
    layouts: Sequence[Layout],
    walk: PlacedTrials,
    tallied: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
) -> tuple[list[_CellPartition], list[tuple[int, int]]]:
    """Every distinct block of cells, and which ones are each layout's cells and levels."""
    blocks: list[_CellPartition] = []
    homes = []
    for one, at, (cells, levels) in zip(
        layouts, walk.cells_by_layout.values(), tallied, strict=True
    ):
        home = 0  # all trials count, as in the first layout
        if not blocks or one.n_strata > 1 or not (at.stratum == 0).all():
            home = len(blocks)
            blocks.append(_CellPartition([at.stratum], one.n_strata, 1, levels, None))
        if one.grouping is None:
            homes.append((home, home))
            continue
        homes.append((len(blocks), home))
        n = one.n_strata * one.n_groups
        blocks.append(_CellPartition(at.cells, n, one.n_groups, cells, home))
    return blocks, homes


def _batches(homes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Blocks that are resampled together: of a few layouts, with those of all trials."""
    for first in range(0, len(homes), MAX_LAYOUTS_TOGETHER):
        yield sorted(
            {0, *(block for home in homes[first : first + MAX_LAYOUTS_TOGETHER] for block in home)}
        )


class _DrawTables:
    """The metrics of the cells of one block, replicate by replicate and cell by cell."""

    def __init__(self, replicates: int, cells: int) -> None:
        self.size = replicates, cells
        of_key = partial(np.full, self.size, np.nan)
        self.values: defaultdict[Key, FloatArray] = defaultdict(of_key)
        self.errors: defaultdict[Key, FloatArray] = defaultdict(of_key)
        self.trials: defaultdict[Key, FloatArray] = defaultdict(of_key)
        self.position: tuple[slice, int | slice] = slice(None), 0

    def fill(self, values: Mapping[Key, ArrayLike]) -> None:
        """Keep the values of the replicates and the cell that it is at."""
        for key, value in values.items():
            self.values[key][self.position] = value

    def fill_points(
        self, found: Sequence[LocatedPoint], at: Curve, points: OperatingPoints, options: Options
    ) -> None:
        """Keep the metrics at the first thresholds, and the errors and trials of the rates.

        Thresholds of the smallest costs follow, if there are more; of each, its cost is kept.
        """
        n = len(found)
        more = points.min_cost_points if at.fp.shape[-1] > n else ()
        for (measure, definition, _), values in metrics_at_thresholds(at, points, options):
            for i, one in enumerate(found):
                key = measure.id, definition, one.point.text
                self.values[key][self.position] = np.nan if one.reason else values[..., i]
                if measure.id in RATES:
                    is_fpr = measure.id == "fpr"
                    self.errors[key][self.position] = (at.fp if is_fpr else at.fn)[..., i]
                    self.trials[key][self.position] = at.n_nontarget if is_fpr else at.n_target
            for i, one in enumerate(more, n):
                cost = one.point.cost
                if cost is not None and (measure.id, definition) == ("cdet_norm", cost.name):
                    self.values[measure.id, definition, one.point.text][self.position] = values[
                        ..., i
                    ]

    def estimates(self) -> Estimates:
        """All replicates; once only."""
        keys, rates = list(self.values), list(self.errors)
        stacked = []
        for of in (self.values, self.errors, self.trials):
            whole = np.empty((self.size[0], len(of), self.size[1]))
            for i, key in enumerate(list(of)):
                whole[:, i] = of.pop(key)  # not both in memory: they are large
            stacked.append(whole)
        values, errors, trials = stacked
        return Estimates(keys, values, rates, errors, trials)


def with_stranger_weights(weights: Weights, tally: ErrorsBySpeaker | ErrorsByPair) -> Weights:
    """Weights of the members of a tally, of blocks also of the strangers within them, once each.

    A trial within a block weighs as the block does.
    """
    missing = (
        max(int(one.max(initial=-1)) for one in tally.cell_speakers[1:]) + 1 - weights.shape[1]
    )
    if missing <= 0:
        return weights
    return np.pad(weights, ((0, 0), (0, missing)), constant_values=1)


def _add_decided(
    into: _DrawTables,
    block: _CellPartition,
    points: OperatingPoints,
    weights: Weights,
    options: Options,
) -> None:
    """Add the metrics of the decisions that were made, of every cell and replicate."""
    deployed = points.deployed_index
    assert deployed is not None
    counted = []
    for tally in (block.speaker_errors.nontarget, block.speaker_errors.target):
        errors, trials = weighted(tally, with_stranger_weights(weights, tally))
        counted += [errors[:, deployed], trials[:, deployed if trials.shape[1] > 1 else 0]]
    fp, n_nontarget, fn, n_target = (one.astype(np.int64) for one in counted)
    into.position = slice(None), slice(None)
    at = Curve(np.ones(1), fp[..., None], fn[..., None], n_target, n_nontarget)
    into.fill_points([points.located[deployed]], at, points, options)
