"""Coverage of the vertex bootstrap for costs, EER and minimum cost, on simulated scores."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.rates import LEVELS, collected
from benchmarks.coverage.records import Row, interval_row, stream
from scipy.special import ndtr, ndtri

from parivox.core.costs import cdet, min_cdet, parse_cost
from parivox.core.counts import Counts
from parivox.core.eer import eer
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.resampling import from_replicates, speaker_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.simulate import FloatArray


DATASETS = 150
GROUPS = 9  # of a data set
SPEAKERS = (8, 25, 100)
EERS = (0.005, 0.02, 0.10)
REPLICATES = 200  # as few as tests use: a default audit draws 1,000
BINS = 1024
COST = parse_cost("voxsrc")


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study groups of one size and true EER, cell by cell."""
    for speakers in SPEAKERS:
        for rate in EERS:
            name = f"curves/{speakers}/{rate}"
            if not is_wanted(name):
                continue
            rng = stream(seed, name)
            distance = -2 * float(ndtri(rate))
            threshold, true = _truth(distance)
            limits_by_dataset = [
                _limits(speakers, distance, threshold, rng) for _ in range(datasets)
            ]
            cell_labels = {"cell": name, "speakers": speakers, "rate": rate}
            rows = []
            for metric, truth in true.items():
                limits = collected(dataset_limits[metric] for dataset_limits in limits_by_dataset)
                for (method, level), ends in limits.items():
                    labels = {"metric": metric, "true": truth, "method": method, "level": level}
                    rows.append(cell_labels | labels | interval_row(truth, *ends))
            yield rows


def _truth(distance: float) -> tuple[float, dict[str, float]]:
    """Best threshold, and what is true of N(distance, 1) and N(0, 1): all sums are normal."""
    miss, false_accept = map(float, COST.weights)
    best = distance / 2 + log(COST.beta) / distance
    cost = (miss * ndtr(best - distance) + false_accept * ndtr(-best)) / min(miss, false_accept)
    truths = {"EER": ndtr(-distance / 2), "minimum cost": cost, "cost at a fixed threshold": cost}
    return best, {name: float(truth) for name, truth in truths.items()}


def _limits(
    speakers: int, distance: float, threshold: float, rng: np.random.Generator
) -> dict[str, Limits]:
    """Limits [1, group] of each metric for one data set."""
    sizes = [speakers] * GROUPS
    drawn = simulate.scores(
        simulate.target_design(sizes), simulate.nontarget_design(sizes), distance, rng
    )
    score = np.concatenate((drawn.target, drawn.nontarget))
    target = np.arange(score.size) < drawn.target.size
    cell = np.concatenate((drawn.target_cell, drawn.nontarget_cell))
    curves = ResampledCurves(
        score,
        target,
        np.concatenate((drawn.speaker, drawn.first_speaker)),
        np.concatenate((drawn.speaker, drawn.second_speaker)),
        [((cell,), GROUPS)],
        curve_edges(Counts.from_scores(score, target), bins=BINS, thresholds=[threshold]),
    )
    strata = np.repeat(np.arange(GROUPS), sizes)
    weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
    estimate = np.stack([_metrics(counts, threshold) for counts in curves.original()[0]], axis=-1)
    replicate_metrics = [
        np.stack([_metrics(counts, threshold) for counts in cells], axis=-1)
        for _, (cells,) in curves.replicates(weights)
    ]
    replicates = np.moveaxis(np.concatenate(replicate_metrics, axis=1), 0, 1)
    limits_by_metric: dict[str, Limits] = {metric: {} for metric in _truth(distance)[1]}
    for level in LEVELS:
        interval = from_replicates(estimate, replicates, speakers - 1.0, confidence=level)
        for i, limits in enumerate(limits_by_metric.values()):
            limits["bootstrap", level] = interval.low[i][None], interval.high[i][None]
    return limits_by_metric


def _metrics(counts: Counts, threshold: float) -> FloatArray:
    """EER, minimum cost and cost at a threshold: [metric, ...]."""
    fixed = cdet(counts.at([threshold]), COST)[..., 0]
    return np.stack(np.broadcast_arrays(eer(counts), min_cdet(counts, cost=COST).value, fixed))
