"""Coverage of intervals told from blocks of very many speakers, in groups of very unequal sizes.

Of 50,000 speakers an audit takes about 1,200 blocks, each of one group
(`parivox.data.units.speaker_blocks`). Are rates by group, and a rate at a threshold that every
replicate finds again, as sure as they are said to be?
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.rates import collected
from benchmarks.coverage.records import Row, interval_row, stream
from scipy.special import ndtr, ndtri

from parivox.auditing.curves import step_thresholds
from parivox.auditing.operating_points import parse_point
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.costs import parse_cost
from parivox.core.counts import Counts
from parivox.core.intervals import limits, rate_interval
from parivox.core.resampled_curves import ResampledCurves, bin_means
from parivox.core.resampling import speaker_weights
from parivox.data.units import Units, speaker_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.simulate import FloatArray, IntArray
    from numpy.typing import NDArray

SPEAKERS, UNLIKE = 50_000, 50  # the largest group is so many times the smallest
GROUPS = (2, 10, 50)
RATES: dict[Literal["fnr", "fpr"], float] = {"fnr": 0.02, "fpr": 0.003}
EER, FPR = 0.03, 0.01
POINT = parse_point(f"fpr={FPR}", [parse_cost("voxsrc")])
GENUINE, STRANGERS, TRIALS_PER_STRANGER = 20, 5, 4
"""Target trials of a speaker; others whom it is compared with, and trials with each of them."""
HEAVY = 1.2  # standard deviation of log trials where few speakers have most of them
LEVEL = 0.95
REPLICATES = 200
FEWEST = 20  # speakers of a block that a site hands out
DATASETS = 600
MORE = 3  # so many times as many where groups are small and drawn fast


@dataclass(frozen=True)
class Case:
    """Groups, one kind of error, one way in which speakers differ."""

    kind: Literal["fnr", "fpr"]
    groups: int
    shape: str  # ``heavy``, or else all are alike
    blocks: int = 0  # of `FEWEST` speakers in each group; 0 for as many as an audit takes

    @property
    def has_more(self) -> bool:
        """Whether more data sets are drawn."""
        return bool(self.blocks) or (self.kind == "fnr" and self.groups == GROUPS[-1])

    def group_of_speakers(self) -> IntArray:
        """The group of each speaker."""
        if self.blocks:
            return np.repeat(np.arange(self.groups), FEWEST * self.blocks)
        return group_of_speakers(self.groups)


CASES = [Case(kind, n, shape) for kind, n, shape in product(RATES, GROUPS, ("even", "heavy"))]
CASES += [Case(kind, 9, f"{n} blocks of {FEWEST} each", n) for kind in RATES for n in (5, 12)]


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study rates by group, then a rate of all at a threshold that is found again."""
    for case in CASES:
        name = f"blocks/{case.kind}/{case.groups}/{case.shape}"
        if not is_wanted(name):
            continue
        rng, rate = stream(seed, name), RATES[case.kind]
        group = case.group_of_speakers()
        block = speaker_blocks(group, min_size=FEWEST if case.blocks else 1)
        n = datasets * (MORE if case.has_more else 1)
        limits_by_method = collected(_limits(case, group, block, rng) for _ in range(n))
        labels = {"cell": name, "kind": case.kind, "groups": case.groups, "shape": case.shape}
        labels |= {"blocks": case.blocks, "rate": rate, "level": LEVEL}
        rows = []
        for (method, _), (low, high) in limits_by_method.items():
            rows.append(labels | {"method": method} | interval_row(rate, low, high))
            smallest = interval_row(rate, low[:, :1], high[:, :1])
            rows[-1] |= {f"smallest_{key}": smallest[key] for key in ("coverage", "coverage_error")}
        yield rows
    for groups in GROUPS[:2]:
        name = f"blocks/found again/{groups}"
        if is_wanted(name):
            # fewer, as each takes ten times as long
            yield _at_found(name, groups, max(datasets // 6, 2), stream(seed, name))


def group_of_speakers(groups: int) -> IntArray:
    """The group of each speaker: sizes in geometric progression, the smallest first."""
    size = np.geomspace(1, UNLIKE, groups)
    group_ends = np.rint(SPEAKERS * np.cumsum(size) / size.sum()).astype(np.int64)
    return np.repeat(np.arange(groups), np.diff(group_ends, prepend=0))


def _limits(
    case: Case, group: IntArray, block: NDArray[np.int32], rng: np.random.Generator
) -> Limits:
    """Limits [1, group] of one data set, told from speakers and from blocks."""
    drawn = _misses if case.kind == "fnr" else _false_accepts
    errors = drawn(group, RATES[case.kind], case.shape, rng)
    errors_by_metric = {"speakers": errors, "blocks": in_blocks(errors, block)}
    limits_by_method: Limits = {}
    for method, cluster_errors in errors_by_metric.items():
        interval = rate_interval(moments(cluster_errors), LEVEL)
        limits_by_method[method, LEVEL] = interval.low[None], interval.high[None]
    return limits_by_method


def in_blocks(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, block: NDArray[np.int32]
) -> ErrorsBySpeaker | ErrorsByPair:
    """The same by blocks of speakers; a pair within a block is one with a stranger."""
    n = int(block.max()) + 1
    if isinstance(cluster_errors, ErrorsBySpeaker):
        code = cluster_errors.cell * n + block[cluster_errors.speaker]
        reach = n
    else:
        members = Units(2 * n, block)
        reach = members.n_units**2
        code = cluster_errors.cell * reach + members.pair_numbers(
            cluster_errors.first_speaker.astype(np.int32),
            cluster_errors.second_speaker.astype(np.int32),
        )
    codes, code_index = np.unique(code, return_inverse=True)
    errors, trials = (
        np.bincount(code_index, numbers, minlength=codes.size).astype(np.int64)
        for numbers in (cluster_errors.errors, cluster_errors.trials)
    )
    cell, unit = np.divmod(codes, reach)
    if isinstance(cluster_errors, ErrorsBySpeaker):
        return ErrorsBySpeaker(cell, unit, errors, trials, cluster_errors.n_cells, in_blocks=True)
    first_unit, second_unit = np.divmod(unit, 2 * n)
    return ErrorsByPair(
        cell, first_unit, second_unit, errors, trials, cluster_errors.n_cells, in_blocks=True
    )


def _trials(n: int, mean: float, shape: str, rng: np.random.Generator) -> IntArray:
    """Trials of each: as many, or, where few have most of them, log-normal."""
    if shape != "heavy":
        return np.full(n, round(mean))
    drawn = mean * np.exp(HEAVY * rng.standard_normal(n) - HEAVY**2 / 2)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def _misses(group: IntArray, rate: float, shape: str, rng: np.random.Generator) -> ErrorsBySpeaker:
    """Rejected target trials of every speaker."""
    trials = _trials(group.size, GENUINE, shape, rng)
    no_errors = np.zeros_like(trials)
    design = ErrorsBySpeaker(group, np.arange(group.size), no_errors, trials, int(group[-1]) + 1)
    drawn = simulate.misses(design, rate, 1, rng, skewed=shape == "heavy")
    return ErrorsBySpeaker(group, design.speaker, drawn.errors[0], trials, design.n_cells)


def _pairs(group: IntArray, shape: str, rng: np.random.Generator) -> ErrorsByPair:
    """Each speaker with a few others of its group; some are met far more often."""
    n = np.bincount(group)
    group_starts = np.cumsum(n) - n
    speaker = np.repeat(np.arange(group.size), STRANGERS)
    position = rng.random(speaker.size)
    if shape == "heavy":
        position = position**2  # a tenth of a group is met by a third of it
    speaker_group = group[speaker]
    partner = group_starts[speaker_group] + np.floor(position * n[speaker_group]).astype(np.int64)
    partner = np.where(
        partner == speaker,
        group_starts[speaker_group]
        + (speaker - group_starts[speaker_group] + 1) % n[speaker_group],
        partner,
    )
    low, high = np.minimum(speaker, partner), np.maximum(speaker, partner)
    codes, times = np.unique(low * group.size + high, return_counts=True)
    low, high = np.divmod(codes, group.size)
    no_errors = np.zeros_like(codes)
    return ErrorsByPair(
        group[low], low, high, no_errors, TRIALS_PER_STRANGER * times, int(group[-1]) + 1
    )


def _false_accepts(
    group: IntArray, rate: float, shape: str, rng: np.random.Generator
) -> ErrorsByPair:
    """Accepted nontarget trials of pairs."""
    design = _pairs(group, shape, rng)
    drawn = simulate.false_accepts(design, rate, 1, rng, skewed=shape == "heavy")
    columns = (
        design.cell,
        design.first_speaker,
        design.second_speaker,
        drawn.errors[0],
        design.trials,
    )
    return ErrorsByPair(*columns, design.n_cells)


# --- a threshold that is found again -------------------------------------------------------------


def _at_found(name: str, groups: int, datasets: int, rng: np.random.Generator) -> list[Row]:
    """FNR of all trials at the threshold of an FPR, and the interval of replicates' own."""
    distance = -2 * float(ndtri(EER))
    true = float(ndtr(-ndtri(FPR) - distance))
    group = group_of_speakers(groups)
    block = speaker_blocks(group)
    limits_by_dataset = [_found_again(group, block, distance, rng) for _ in range(datasets)]
    labels = {"cell": name, "kind": "fnr", "groups": groups, "shape": "found again"}
    labels |= {"rate": true, "level": LEVEL}
    rows = []
    for method in limits_by_dataset[0]:
        low, high = (
            np.array([[dataset_limits[method][side]] for dataset_limits in limits_by_dataset])
            for side in (0, 1)
        )
        rows.append(labels | {"method": method} | interval_row(true, low, high))
    return rows


def _found_again(
    group: IntArray, block: NDArray[np.int32], distance: float, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Limits of one data set: the threshold as it is, and as replicates of blocks find it."""
    one_cell = np.zeros_like(group)
    targets = ErrorsBySpeaker(
        one_cell, np.arange(group.size), one_cell, one_cell + TRIALS_PER_STRANGER, 1
    )
    pairs = _pairs(group, "even", rng)
    nontargets = ErrorsByPair(
        np.zeros_like(pairs.cell),
        pairs.first_speaker,
        pairs.second_speaker,
        pairs.errors,
        pairs.trials,
        1,
    )
    drawn = simulate.scores(targets, nontargets, distance, rng)
    score = np.concatenate((drawn.target, drawn.nontarget))
    is_target = np.arange(score.size) < drawn.target.size
    counts = Counts.from_scores(score, is_target)
    threshold = float(POINT.threshold(counts))
    wrong = np.bincount(drawn.speaker, drawn.target < threshold, minlength=group.size)
    cluster_errors = ErrorsBySpeaker(
        one_cell, targets.speaker, wrong.astype(np.int64), targets.trials, 1
    )
    interval = rate_interval(moments(in_blocks(cluster_errors, block)), LEVEL)
    edges = np.append(-np.inf, step_thresholds(counts, [threshold]))
    enrol = block[np.concatenate((drawn.speaker, drawn.first_speaker))]
    test = block[np.concatenate((drawn.speaker, drawn.second_speaker))]
    curves = ResampledCurves(
        score,
        is_target,
        enrol,
        test,
        [((np.zeros(score.size, dtype=np.int64),), 1)],
        edges,
        None,
        bin_means(counts, edges),
    )
    strata = np.empty(int(block.max()) + 1, dtype=np.int64)
    strata[block] = group
    weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
    rates = np.concatenate([_fnr(counts) for _, ((counts,),) in curves.replicates(weights)])
    again = limits(interval.rate, np.array([rates.var(ddof=1)]), interval.df, LEVEL)
    return {
        "as it is": (float(interval.low[0]), float(interval.high[0])),
        "found again": (float(again[0][0]), float(again[1][0])),
    }


def _fnr(counts: Counts) -> FloatArray:
    """Rates of replicates at thresholds of their own."""
    thresholds = np.broadcast_to(POINT.threshold(counts), counts.target.shape[0])
    return np.asarray(counts.at(thresholds[:, None]).fnr[:, 0])
