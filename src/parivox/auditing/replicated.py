"""Base metrics of every cell in every replicate of the bootstrap over speakers.

See docs/methods/uncertainty.md#vertex-bootstrap.

One draw of speakers serves all systems, lists, groupings and measures, so that whatever is made
of two of these values is resampled jointly. Thresholds that were found on the trials are found
again in each replicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.base import locations
from parivox.auditing.crossfit import crossfitted, halves
from parivox.auditing.operating_points import DEPLOYED
from parivox.auditing.stack import Stack
from parivox.core.costs import act_cdet, cdet, min_cdet
from parivox.core.counts import Counts, Curve
from parivox.core.curves_resampled import ResampledCurves, curve_edges, largest_share
from parivox.core.eer import eer
from parivox.core.llr import cllr, min_cllr
from parivox.core.rates import (
    fnr_at_fpr,
    fpr_at_fnr,
    hter,
    threshold_at_eer,
    threshold_at_fnr,
    threshold_at_fpr,
)
from parivox.core.resampling import pool_small_strata, speaker_weights, weighted
from parivox.core.separation import auc, dprime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.cells import Layout
    from parivox.auditing.involved import Involved, Seated
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.core.counts import FloatArray
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

    Weights = NDArray[np.integer[Any]]

__all__ = ["MOST_SPEAKERS", "Draws", "Points", "Replicated", "draw_speakers", "replicate"]

FEW_BINS = 128
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
    def joined(cls, parts: Sequence[Replicated], crossed: FloatArray | None = None) -> Replicated:
        """Cells of several, one after the other; metrics that one of them lacks are NaN there."""
        first = parts[0]
        errors, trials = (
            np.concatenate([getattr(one, name) for one in parts], axis=-1)
            for name in ("errors", "trials")
        )
        values = [one.values for one in parts]
        for i, one in enumerate(parts):
            if one.keys != first.keys:
                values[i] = np.full((len(errors), len(first.keys), one.values.shape[-1]), np.nan)
                told = [at for at, key in enumerate(first.keys) if key in one.place]
                values[i][:, told] = one.values[:, [one.place[first.keys[at]] for at in told]]
        joined = np.concatenate(values, axis=-1)
        if crossed is None:
            crossed = np.concatenate([one.crossed for one in parts], axis=-1)
        return cls(first.keys, joined, first.rates, errors, trials, crossed)

    def part(self, start: int, stop: int) -> Replicated:
        """Cells `start` to `stop`, the latter excluded."""
        values, errors, trials = (
            one[..., start:stop] for one in (self.values, self.errors, self.trials)
        )
        return Replicated(
            self.keys, values, self.rates, errors, trials, self.crossed[:, start:stop]
        )

    def and_(self, more: Mapping[Key, FloatArray]) -> Replicated:
        """The same with more metrics, each ``[replicate, cell]``."""
        if not more:
            return self
        values = np.concatenate((self.values, np.stack(list(more.values()), axis=1)), axis=1)
        keys = [*self.keys, *more]
        return Replicated(keys, values, self.rates, self.errors, self.trials, self.crossed)

    def stack(self, keys: Sequence[Key]) -> Stack:
        """Some metrics with the last cell as the pooled row; NaN for those without replicates."""
        asked = tuple(keys)
        if asked not in self._stacks:  # many measures are of the same metrics
            self._stacks[asked] = self._stacked(keys)
        return self._stacks[asked]

    @cached_property
    def _stacks(self) -> dict[tuple[Key, ...], Stack]:
        return {}

    def _stacked(self, keys: Sequence[Key]) -> Stack:
        n, _, cells = self.values.shape
        values, errors, trials = (np.full((n, len(keys), cells), np.nan) for _ in range(3))
        for into, found, places in (
            (values, self.values, self.place),
            (errors, self.errors, self._of_rate),
            (trials, self.trials, self._of_rate),
        ):
            told = [(i, places[key]) for i, key in enumerate(keys) if key in places]
            if told:
                at, of = map(list, zip(*told, strict=True))
                into[:, at] = found[:, of]
        return Stack.joined(keys, values, errors, trials)

    @cached_property
    def place(self) -> dict[Key, int]:
        """Where each key stands."""
        return {key: i for i, key in enumerate(self.keys)}

    @cached_property
    def _of_rate(self) -> dict[Key, int]:
        return {key: i for i, key in enumerate(self.rates)}


@dataclass(frozen=True, eq=False)
class Points:
    """Operating points as replicates see them.

    Attributes
    ----------
    found : sequence of Found
        Those that rows are told at.
    cheapest : sequence of Found
        Those of the smallest cost, which subgroup bias is told at.
    area : sequence of Found
        Those that the area under FDR is taken over.
    are_fixed : bool
        Whether thresholds stay as they are: found on other trials, or as the user wants it.
    """

    found: Sequence[Found]
    cheapest: Sequence[Found]
    area: Sequence[Found]
    are_fixed: bool

    @cached_property
    def scored(self) -> list[Found]:
        """Those with a threshold of scores, the cheapest ones last."""
        return [f for f in self.found if f.point.rule != DEPLOYED] + list(self.cheapest)

    @cached_property
    def deployed(self) -> int | None:
        """Which one is the decisions that were made."""
        rules = [f.point.rule for f in self.found]
        return rules.index(DEPLOYED) if DEPLOYED in rules else None

    @property
    def kept(self) -> list[float]:
        """Thresholds that may be the same in every replicate."""
        return [f.threshold for f in (*self.scored, *(self.area if self.are_fixed else ()))]

    def thresholds(self, everything: Counts, points: Sequence[Found]) -> FloatArray:
        """The threshold of each point, ``[replicate, point]``, NaN where there is none."""
        n = everything.target.shape[0]
        rows = [
            np.broadcast_to(f.threshold if self._is_kept(f) else self._again(f, everything), (n,))
            for f in points
        ]
        return np.stack(rows, axis=-1) if rows else np.empty((n, 0))

    def levels(self, held: str) -> list[float]:
        """At which rates the other rate is told, as :mod:`parivox.auditing.base` has them."""
        return [f.point.level for f in self.found if f.point.rule == held] or [0.01]

    def _is_kept(self, found: Found) -> bool:
        return self.are_fixed or bool(found.reason) or found.point.rule in {"threshold", "bayes"}

    def _again(self, found: Found, everything: Counts) -> FloatArray:
        point, curve = found.point, everything.curve
        if point.rule == "fpr":
            return threshold_at_fpr(curve, point.level)
        if point.rule == "fnr":
            return threshold_at_fnr(curve, point.level)
        if point.rule == "eer":
            return threshold_at_eer(curve)
        assert point.cost is not None
        cheapest: FloatArray = min_cdet(everything, cost=point.cost).threshold
        return cheapest


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
    seats: Seated,
    involved: Sequence[tuple[Involved, Involved]],
    points: Points,
    draws: Draws,
    options: Options,
    metrics: Mapping[str, Callable[[Curve], ArrayLike]],
) -> tuple[list[tuple[Replicated, Replicated]], float]:
    """Measure every cell again in each replicate.

    Parameters
    ----------
    trials, layouts, seats
        All trials, in one partition, and where they count; the first layout is of all of them.
    involved
        Who is involved in them, for the decisions that were made.
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
    part, speaker = seats.part, trials.utterance_speaker
    edges = None
    if options.bins:
        edges = curve_edges(part.score, part.target, bins=options.bins, thresholds=points.kept)
    blocks, homes = _blocks(layouts, seats, involved)
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
    of_scores = [f for f in points.found if f.point.rule != DEPLOYED]
    for which, counted in curves.replicates(own):
        thresholds = points.thresholds(counted[0][0], points.scored)
        of_area = points.thresholds(counted[0][0], points.area)
        located = [[locations(counts) for counts in cells] for cells in counted]
        for i, block in enumerate(blocks):
            for j, counts in enumerate(counted[i]):
                into, at = made[i][j], counts.at(thresholds)
                into.add(which, _at_points(of_scores, at, options))
                into.add(which, _cheapest(points, at))
                into.add(which, _of_area(points, counts.at(of_area)))
                into.add(which, _of_curve(counts, points, options))
                into.add(which, dict(_users(at, counts, points, metrics)))
                into.count(which, of_scores, at)
                if decided and points.deployed is not None:
                    fp, n_nontarget, fn, n_target = (
                        one[which, j].astype(np.int64) for one in decided[i]
                    )
                    at = Curve(np.ones(1), fp[:, None], fn[:, None], n_target, n_nontarget)
                    as_decided = [points.found[points.deployed]]
                    into.add(which, _at_points(as_decided, at, options))
                    into.count(which, as_decided, at)
                if block.pooled is not None:
                    whole = located[block.pooled][j // block.groups]
                    with np.errstate(invalid="ignore", over="ignore"):  # infinite, huge scores
                        shifted = {(*key, ""): v - whole[key] for key, v in located[i][j].items()}
                    into.add(which, shifted)
    crossed = crossfitted(curves, draws.halves[:, :n_speakers], points.cheapest)
    found = [
        Replicated.joined([one.finish() for one in making], of)
        for making, of in zip(made, crossed, strict=True)
    ]
    return [(found[one], found[other]) for one, other in homes], bound


class _Block(NamedTuple):
    """Cells that are counted together."""

    codes: Sequence[NDArray[np.int32]]
    n: int
    groups: int
    tally: Involved
    pooled: int | None  # the block of the levels that these cells are in


def _blocks(
    layouts: Sequence[Layout], seats: Seated, involved: Sequence[tuple[Involved, Involved]]
) -> tuple[list[_Block], list[tuple[int, int]]]:
    """Every distinct block of cells, and which ones are each layout's cells and levels."""
    blocks: list[_Block] = []
    homes = []
    for one, at, (cells, levels) in zip(layouts, seats.at, involved, strict=True):
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

    def count(self, which: slice, points: Sequence[Found], at: Curve) -> None:
        """Keep the errors and trials of the rates at operating points."""
        for metric, wrong, of in (("fpr", at.fp, at.n_nontarget), ("fnr", at.fn, at.n_target)):
            keys = [(metric, "", f.point.text) for f in points]
            told = {key: wrong[:, i] for i, key in enumerate(keys)}
            _keep(self.errors, which, self.n, told)
            _keep(self.trials, which, self.n, dict.fromkeys(keys, of))

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


def _at_points(points: Sequence[Found], at: Curve, options: Options) -> dict[Key, FloatArray]:
    """What base metrics are at operating points, as :mod:`parivox.auditing.base` has them."""
    found: dict[Key, FloatArray] = {}
    costs = {
        (metric, cost.name): cdet(at, cost, normalised=metric == "cdet_norm")
        for cost in options.costs
        for metric in ("cdet_raw", "cdet_norm")
    }
    costs |= {("hter", ""): hter(at), ("fpr", ""): at.fpr, ("fnr", ""): at.fnr}
    for i, one in enumerate(points):
        for key, values in costs.items():
            column = values[..., i]
            lost = np.full(column.shape, np.nan)
            found[*key, one.point.text] = lost if one.reason else column
    return found


def _cheapest(points: Points, at: Curve) -> dict[Key, FloatArray]:
    """Each cost at its own smallest cost over all trials."""
    found = {}
    first = len(points.scored) - len(points.cheapest)
    for i, one in enumerate(points.cheapest, first):
        assert one.point.cost is not None
        cost = one.point.cost
        found["cdet_norm", cost.name, one.point.text] = cdet(at, cost)[..., i]
    return found


def _of_area(points: Points, at: Curve) -> dict[Key, FloatArray]:
    """Both rates at the points that the area under FDR is taken over."""
    return {
        (metric, "", one.point.text): rates[..., i]
        for metric, rates in (("fpr", at.fpr), ("fnr", at.fnr))
        for i, one in enumerate(points.area)
        if not one.reason
    }


def _of_curve(counts: Counts, points: Points, options: Options) -> dict[Key, FloatArray]:
    """Metrics at a cell's own threshold, and of the scores themselves."""
    found: dict[Key, FloatArray] = {}
    for cost in options.costs:
        best = min_cdet(counts, cost=cost).value
        found["min_cdet_norm", cost.name, ""] = best
        found["min_cdet_raw", cost.name, ""] = (
            best * cost.c_default
            if len(cost.p_target) == 1
            else min_cdet(counts, cost=cost, normalised=False).value
        )
        if options.llr:
            found["act_cdet_norm", cost.name, ""] = act_cdet(counts, cost=cost)
    for definition in options.eer:
        found["eer", definition, ""] = eer(counts, definition=definition)
    for metric, function, held in (
        ("fnr_at_fpr", fnr_at_fpr, "fpr"),
        ("fpr_at_fnr", fpr_at_fnr, "fnr"),
    ):
        for level in points.levels(held):
            for rule in options.rule:
                value = function(counts, target=level, rule=rule).value
                found[metric, f"{level!r} {rule}", ""] = value
    found["auc", "", ""], found["dprime", "", ""] = auc(counts), dprime(counts)
    found["min_cllr", "", ""] = least = min_cllr(_coarser(counts) if options.bins else counts)
    if options.llr:
        found["cllr", "", ""] = bits = cllr(counts)
        found["cal_loss", "", ""] = bits - least
    return found


def _coarser(counts: Counts) -> Counts:
    """Counts in bins twice as wide, where there are very many: Cllr moves by its square only."""
    first = np.arange(0, counts.values.size, 2)
    if first.size < FEW_BINS:
        return counts
    target, nontarget = (
        np.add.reduceat(trials, first, axis=-1) for trials in (counts.target, counts.nontarget)
    )
    return Counts(counts.values[first], target, nontarget)


def _users(
    at: Curve,
    counts: Counts,
    points: Points,
    metrics: Mapping[str, Callable[[Curve], ArrayLike]],
) -> Iterator[tuple[Key, FloatArray]]:
    """The user's metrics, if they take an axis of replicates in front; else none of them."""
    for name, function in metrics.items():
        found = _tried(function, at)
        if found is not None and found.shape == (at.fp.shape[0], 1, at.fp.shape[-1]):
            for i, one in enumerate(points.found):
                if one.point.rule != DEPLOYED:
                    yield (name, "", one.point.text), found[:, 0, i]
            continue
        found = _tried(function, counts.curve)
        if found is not None and found.shape == (at.fp.shape[0], 1):
            yield (name, "", ""), found[:, 0]


def _tried(function: Callable[[Curve], ArrayLike], curve: Curve) -> FloatArray | None:
    """What a user's function says of replicates of one group; None if it cannot say."""
    one = (curve.fp[:, None], curve.fn[:, None], curve.n_target[:, None])
    grouped = Curve(curve.thresholds, *one, curve.n_nontarget[:, None])
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(grouped), dtype=np.float64)
    except Exception:  # noqa: BLE001 - the same function has served the trials themselves
        return None
