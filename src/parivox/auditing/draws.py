"""Base metrics of every cell in every replicate of the bootstrap over speakers.

See docs/methods/uncertainty.md#vertex-bootstrap.

One draw of speakers serves all systems, lists, groupings and measures, so that whatever is made
of two of these values is resampled jointly. Thresholds that were found on the trials are found
again in each replicate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.crossfit import crossfitted, halves
from parivox.auditing.estimates import Estimates, at_points, locations, of_counts, own_metrics
from parivox.core.counts import Counts, Curve
from parivox.core.curves_resampled import ResampledCurves, curve_edges, largest_share
from parivox.core.measures import RATES
from parivox.core.resampling import pool_small_strata, speaker_weights, weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.estimates import Metrics
    from parivox.auditing.layout import Layout, PlacedTrials
    from parivox.auditing.operating_points import Found, Points
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

    Weights = NDArray[np.integer[Any]]

MOST_SPEAKERS = 100_000
"""Of more speakers, no replicates are drawn."""


@dataclass(frozen=True, eq=False)
class Replicated:
    """Base metrics of some cells in every replicate.

    Attributes
    ----------
    keys : sequence of Key
    values : float64 ndarray of shape (replicate, key, cell)
    rates : sequence of Key
        Those of the keys that are rates at operating points.
    errors, trials : float64 ndarrays of shape (replicate, rate, cell)
    crossed : float64 ndarray of shape (cost, cell)
        Threshold bias cross-fitted over speakers, of each cost with one best threshold.
    """

    keys: Sequence[Key]
    values: FloatArray
    rates: Sequence[Key]
    errors: FloatArray
    trials: FloatArray
    crossed: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Replicated]) -> Replicated:
        """Cells of several, one after the other; metrics that one of them lacks are NaN there."""
        first = parts[0]
        place = {key: i for i, key in enumerate(first.keys)}
        values = [one.values for one in parts]
        for i, one in enumerate(parts):
            if one.keys != first.keys:
                values[i] = np.full(
                    (*one.values.shape[:1], len(place), one.values.shape[-1]), np.nan
                )
                known = [(place[key], at) for at, key in enumerate(one.keys) if key in place]
                values[i][:, [into for into, _ in known]] = one.values[:, [at for _, at in known]]
        errors, trials, crossed = (
            np.concatenate([getattr(one, name) for one in parts], axis=-1)
            for name in ("errors", "trials", "crossed")
        )
        return cls(
            first.keys, np.concatenate(values, axis=-1), first.rates, errors, trials, crossed
        )

    def part(self, start: int, stop: int) -> Replicated:
        """Cells `start` to `stop`, the latter excluded."""
        cut = (
            one[..., start:stop] for one in (self.values, self.errors, self.trials, self.crossed)
        )
        values, errors, trials, crossed = cut
        return Replicated(self.keys, values, self.rates, errors, trials, crossed)

    def and_(self, more: Mapping[Key, FloatArray]) -> Replicated:
        """The same with more metrics, each ``[replicate, cell]``."""
        if not more:
            return self
        values = np.concatenate((self.values, np.stack(list(more.values()), axis=1)), axis=1)
        return replace(self, keys=[*self.keys, *more], values=values)

    def estimates(self) -> Estimates:
        """The same with the draws as leading axis; the last cell is the pooled row."""
        return Estimates(self.keys, self.values, self.rates, self.errors, self.trials)


class Draws(NamedTuple):
    """Speakers drawn for all systems, lists and groupings.

    Attributes
    ----------
    weights : integer ndarray of shape (replicate, speaker)
        How often each is drawn in each replicate.
    halves : integer ndarray of shape (2 * split, speaker)
        1 for the speakers of one half: first those of every split, then the other ones.
    rank : integer ndarray of shape (speaker,)
        Place of each in an order that does not follow from names.
    """

    weights: Weights
    halves: Weights
    rank: NDArray[np.intp]


def draw_speakers(
    sets: Sequence[TrialSet], groupings: Sequence[Grouping], options: Options
) -> Draws:
    """Draw speakers within the finest groups that they belong to, and the lists that they are in.

    So every group keeps its size, and halves of it are halves. Speakers are drawn in an order
    that follows from their scores, not from their names, which therefore change nothing.
    """
    n = max(int(one.utterance_speaker.max(initial=-1)) + 1 for one in sets)
    strata = np.zeros(n, dtype=np.int64)
    in_use = np.zeros(n, dtype=bool)
    for one in sets:
        here = np.zeros(n, dtype=bool)
        here[one.in_use] = True
        in_use |= here
        strata = _finer(strata, here)
    for grouping in groupings:
        if grouping.of_speaker is not None:
            strata = _finer(strata, grouping.of_speaker[:n])
    strata[~in_use] = -1
    order = _order(sets, n)
    strata = strata[order]
    drawn = speaker_weights(pool_small_strata(strata), options.replicates, options.seed)
    split = halves(strata, np.random.default_rng((options.seed, 3)))
    weights, both = np.empty_like(drawn), np.empty_like(split)
    weights[:, order], both[:, order] = drawn, split
    return Draws(weights, both, np.argsort(order))


def _order(sets: Sequence[TrialSet], n: int) -> NDArray[np.intp]:
    """Speakers by the sums of their scores' bits, in pieces whose sums are exact."""
    keys = np.zeros((3, n))
    for one in sets:
        for part in one.partitions():
            kept = part.without_conflicts()
            bits = (kept.score + 0.0).view(np.uint64)
            for i, shift in enumerate((44, 22, 0)):
                piece = ((bits >> np.uint64(shift)) & np.uint64((1 << 22) - 1)).astype(np.float64)
                for side in (kept.enrol, kept.test):
                    keys[i] += np.bincount(one.utterance_speaker[side], piece, minlength=n)
    return np.lexsort(keys)


def _finer(strata: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Strata split further by codes."""
    _, code = np.unique(codes, return_inverse=True)
    _, both = np.unique(strata * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    found: NDArray[np.int64] = both.astype(np.int64)
    return found


def replicate(
    trials: TrialSet,
    layouts: Sequence[Layout],
    walk: PlacedTrials,
    tallied: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    points: Points,
    draws: Draws,
    options: Options,
    metrics: Mapping[str, Callable[[Curve], ArrayLike]],
) -> tuple[list[tuple[Replicated, Replicated]], float]:
    """Measure every cell again in each replicate.

    Parameters
    ----------
    trials, layouts, walk
        All trials, in one partition, and where they count; the first layout is of all of them.
    tallied
        Their errors by speaker and by pair, for the decisions that were made.
    points
        Operating points.
    draws
        :func:`draw_speakers`.
    options, metrics
        What to measure.

    Returns
    -------
    list of (Replicated, Replicated)
        Of each layout, its cells and its levels.
    float
        Largest share of a class of a cell's trials in one bin of scores: no rate of a replicate
        at a threshold found on its curve is further than this from the exact one.
    """
    part, speaker = walk.part, trials.utterance_speaker
    edges = None
    if options.bins:
        edges = curve_edges(part.score, part.target, bins=options.bins, thresholds=points.kept)
    blocks, homes = _blocks(layouts, walk, tallied)
    curves = ResampledCurves(
        part.score,
        part.target,
        speaker[part.enrol],
        speaker[part.test],
        [(block.codes, block.n) for block in blocks],
        edges,
    )
    shares = (largest_share(one) for cells in curves.original() for one in cells)
    bound = max(map(float, shares), default=0.0)
    n_speakers = int(speaker.max(initial=-1)) + 1
    own = draws.weights[:, :n_speakers]
    decided = _decided(blocks, points, own)
    made = [[_Making(len(own)) for _ in range(block.n)] for block in blocks]
    for which, counted in curves.replicates(own):
        thresholds = points.thresholds(counted[0][0], points.scored)
        of_area = points.thresholds(counted[0][0], points.area)
        located = [[locations(counts) for counts in cells] for cells in counted]
        for i, block in enumerate(blocks):
            for j, counts in enumerate(counted[i]):
                into, at = made[i][j], counts.at(thresholds)
                into.add_points(which, points.of_scores, at, points, options)
                into.add(which, _of_area(points, counts.at(of_area)))
                own_values = of_counts(counts, points, options, coarse=bool(options.bins))
                into.add(which, {(*key, ""): found.value for key, found in own_values.items()})
                into.add(which, dict(_users(at, counts, points, metrics)))
                if decided and points.deployed is not None:
                    fp, n_nontarget, fn, n_target = (
                        one[which, j].astype(np.int64) for one in decided[i]
                    )
                    at = Curve(np.ones(1), fp[:, None], fn[:, None], n_target, n_nontarget)
                    into.add_points(which, [points.found[points.deployed]], at, points, options)
                if block.pooled is not None:
                    whole = located[block.pooled][j // block.groups]
                    with np.errstate(invalid="ignore", over="ignore"):  # infinite, huge scores
                        shifted = {(*key, ""): v - whole[key] for key, v in located[i][j].items()}
                    into.add(which, shifted)
    crossed = crossfitted(curves, draws.halves[:, :n_speakers], points.cheapest)
    found = [
        replace(Replicated.joined([one.finish() for one in making]), crossed=of)
        for making, of in zip(made, crossed, strict=True)
    ]
    return [(found[one], found[other]) for one, other in homes], bound


class _Block(NamedTuple):
    """Cells that are counted together."""

    codes: Sequence[NDArray[np.int32]]
    n: int
    groups: int
    tally: SpeakerErrors
    pooled: int | None  # the block of the levels that these cells are in


def _blocks(
    layouts: Sequence[Layout],
    walk: PlacedTrials,
    tallied: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
) -> tuple[list[_Block], list[tuple[int, int]]]:
    """Every distinct block of cells, and which ones are each layout's cells and levels."""
    blocks: list[_Block] = []
    homes = []
    for one, at, (cells, levels) in zip(layouts, walk.at.values(), tallied, strict=True):
        home = 0  # all trials count, as in the first layout
        if not blocks or one.levels > 1 or not (at.level == 0).all():
            home = len(blocks)
            blocks.append(_Block([at.level], one.levels, 1, levels, None))
        if one.grouping is None:
            homes.append((home, home))
            continue
        homes.append((len(blocks), home))
        n = one.levels * one.groups
        blocks.append(_Block(at.cells, n, one.groups, cells, home))
    return blocks, homes


class _Making:
    """The metrics of one cell, replicate by replicate."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.found: dict[Key, FloatArray] = {}
        self.errors: dict[Key, FloatArray] = {}
        self.trials: dict[Key, FloatArray] = {}

    def add(self, which: slice, values: Mapping[Key, FloatArray]) -> None:
        """Keep the values of some replicates."""
        _keep(self.found, which, self.n, values)

    def add_points(
        self, which: slice, found: Sequence[Found], at: Curve, points: Points, options: Options
    ) -> None:
        """Keep the metrics at the first thresholds, and the errors and trials of the rates.

        Thresholds of the smallest costs follow, if there are more; of each, its cost is kept.
        """
        n = len(found)
        more = points.cheapest if at.fp.shape[-1] > n else ()
        for (measure, definition, _), values in at_points(at, points, options):
            for i, one in enumerate(found):
                key = measure.id, definition, one.point.text
                lost = np.full(len(values), np.nan)
                self.add(which, {key: lost if one.reason else values[..., i]})
                if measure.id in RATES:
                    wrong, of = (
                        (at.fp, at.n_nontarget) if measure.id == "fpr" else (at.fn, at.n_target)
                    )
                    _keep(self.errors, which, self.n, {key: wrong[:, i]})
                    _keep(self.trials, which, self.n, {key: of})
            for i, one in enumerate(more, n):
                cost = one.point.cost
                if cost is not None and (measure.id, definition) == ("cdet_norm", cost.name):
                    self.add(which, {(measure.id, definition, one.point.text): values[..., i]})

    def finish(self) -> Replicated:
        """All replicates."""
        return Replicated(
            list(self.found),
            np.stack(list(self.found.values()), axis=1)[..., None],
            list(self.errors),
            np.stack(list(self.errors.values()), axis=1)[..., None],
            np.stack(list(self.trials.values()), axis=1)[..., None],
            np.empty((0, 1)),
        )


def _keep(
    into: dict[Key, FloatArray], which: slice, n: int, values: Mapping[Key, ArrayLike]
) -> None:
    for key, value in values.items():
        if key not in into:
            into[key] = np.full(n, np.nan)
        into[key][which] = value


def _decided(
    blocks: Sequence[_Block], points: Points, weights: Weights
) -> list[tuple[FloatArray, ...]]:
    """Of each block, errors and trials of the decisions that were made, by class.

    False accepts, nontarget trials, false rejects and target trials, ``[replicate, cell]``.
    """
    at = points.deployed
    if at is None:
        return []
    made = []
    for block in blocks:
        arrays: list[FloatArray] = []
        for tally in (block.tally.nontarget, block.tally.target):
            errors, trials = weighted(tally, weights)
            arrays += [errors[:, at], trials[:, at if trials.shape[1] > 1 else 0]]
        made.append(tuple(arrays))
    return made


def _of_area(points: Points, at: Curve) -> dict[Key, FloatArray]:
    """Both rates at the points that the area under FDR is taken over."""
    return {
        (metric, "", one.point.text): rates[..., i]
        for metric, rates in (("fpr", at.fpr), ("fnr", at.fnr))
        for i, one in enumerate(points.area)
        if not one.reason
    }


def _users(
    at: Curve, counts: Counts, points: Points, metrics: Metrics
) -> Iterator[tuple[Key, FloatArray]]:
    """The user's metrics, if they take an axis of replicates in front; else none of them."""
    for name, each, one in own_metrics(at, counts, metrics):
        if one is not None:
            yield (name, "", ""), one
        for i, found in enumerate(points.of_scores if each is not None else ()):
            assert each is not None
            yield (name, "", found.point.text), each[..., i]
