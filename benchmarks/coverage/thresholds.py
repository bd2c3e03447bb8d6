"""Coverage of rates of all trials at thresholds found on them: is the true rate at the true one?

Scores are normal, so that the thresholds and rates of all speakers are known. Intervals take the
threshold as it is, or have the spread of replicates that find it again, as audits have it for all
trials (docs/methods/uncertainty.md#thresholds-set-on-the-audited-trials).
"""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from benchmarks.coverage import corpora, real, simulate
from benchmarks.coverage.curves import BINS, COST, REPLICATES
from benchmarks.coverage.rates import collected
from benchmarks.coverage.records import Row, interval_row, stream
from scipy.special import ndtr, ndtri

from parivox.auditing.operating_points import MIN_EXPECTED_ERRORS, parse_point
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.counts import Counts
from parivox.core.intervals import limits, rate_interval
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.resampling import speaker_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.simulate import FloatArray, IntArray

    from parivox.auditing.operating_points import OperatingPoint

Design: TypeAlias = tuple[ErrorsBySpeaker, ErrorsByPair]

DATASETS = 700
H = "VoxCeleb1-H"
CASES = ((H, 0.024), (H, 0.044), ("150", 0.024), ("25", 0.024))
"""Speakers, and the true EER: of H about those of V2 and L."""
RATES = {"fpr=0.01": "fnr", "fpr=0.001": "fnr", "fnr=0.01": "fpr", "eer": "fnr", "min-cdet": "fnr"}
"""Operating points, and the rate at each that moves with the threshold."""
LEVEL = 0.95


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study the trials of one list, cell by cell."""
    for speakers, rate in CASES:
        name = f"thresholds/{speakers}/{rate}"
        if not is_wanted(name):
            continue
        rng, distance = stream(seed, name), -2 * float(ndtri(rate))
        designs, groups = _designs(speakers)
        n = min(int(np.sum(design.trials)) for design in designs)
        points = [parse_point(text, [COST]) for text in RATES]
        points = [point for point in points if not point.rule_value * n < MIN_EXPECTED_ERRORS]
        drawn = (_limits(designs, groups, distance, points, rng) for _ in range(datasets))
        cell_labels = {"cell": name, "speakers": speakers, "rate": rate, "level": LEVEL}
        limits_by_method = collected(drawn)
        rows = []
        for i, point in enumerate(points):
            true = _truth(point, distance)
            for method in ("as it is", "found again"):
                ends = (side[:, i : i + 1] for side in limits_by_method[method, LEVEL])
                labels = {"point": point.text, "kind": RATES[point.text], "true": true}
                rows.append(cell_labels | labels | {"method": method} | interval_row(true, *ends))
        yield rows


def _designs(speakers: str) -> tuple[Design, IntArray]:
    """Target and nontarget trials in one cell, and the group of each speaker."""
    if speakers == H:
        trials = corpora.voxceleb()
        within = real.within(trials)
        errors_by_metric = [
            real.cluster_errors(trials, kind, 0.0, within) for kind in ("fnr", "fpr")
        ]
        groups = trials.group
    else:
        sizes = [int(speakers)]
        errors_by_metric = [simulate.target_design(sizes), simulate.nontarget_design(sizes)]
        groups = np.zeros(sizes, dtype=np.int64)
    target, nontarget = (
        replace(cluster_errors, cell=np.zeros_like(cluster_errors.cell), n_cells=1)
        for cluster_errors in errors_by_metric
    )
    assert isinstance(target, ErrorsBySpeaker)
    assert isinstance(nontarget, ErrorsByPair)
    return (target, nontarget), groups


def _truth(point: OperatingPoint, distance: float) -> float:
    """The rate of all speakers at the threshold that a point has on them."""
    threshold = {
        "fpr": -ndtri(point.rule_value),
        "fnr": distance + ndtri(point.rule_value),
        "eer": distance / 2,
        "min-cdet": distance / 2 + log(COST.beta) / distance,
    }[point.rule]
    return float(ndtr(threshold - distance) if RATES[point.text] == "fnr" else ndtr(-threshold))


def _limits(
    designs: Design,
    groups: IntArray,
    distance: float,
    points: list[OperatingPoint],
    rng: np.random.Generator,
) -> Limits:
    """Limits [1, point] of each method for one data set."""
    drawn = simulate.scores(*designs, distance, rng)
    score = np.concatenate((drawn.target, drawn.nontarget))
    target = np.arange(score.size) < drawn.target.size
    counts = Counts.from_scores(score, target)
    thresholds = [float(point.threshold(counts)) for point in points]
    wrong = [
        (drawn.target < t, designs[0])
        if RATES[p.text] == "fnr"
        else (drawn.nontarget >= t, designs[1])
        for p, t in zip(points, thresholds, strict=True)
    ]
    intervals = [rate_interval(moments(_with_errors(*errors)), LEVEL) for errors in wrong]
    curves = ResampledCurves(
        score,
        target,
        np.concatenate((drawn.speaker, drawn.first_speaker)),
        np.concatenate((drawn.speaker, drawn.second_speaker)),
        [((np.zeros(score.size, dtype=np.int64),), 1)],
        curve_edges(Counts.from_scores(score, target), bins=BINS, thresholds=thresholds),
    )
    weights = speaker_weights(groups, REPLICATES, int(rng.integers(2**31)))
    replicate_rates = [
        rates_again(counts, points) for _, ((counts,),) in curves.replicates(weights)
    ]
    rate, df, low, high = (
        np.concatenate([getattr(interval, name) for interval in intervals])
        for name in ("rate", "df", "low", "high")
    )
    variance = np.concatenate(replicate_rates).var(axis=0, ddof=1)
    again = limits(rate, variance, df, LEVEL)
    return {
        ("as it is", LEVEL): (low[None], high[None]),
        ("found again", LEVEL): (again[0][None], again[1][None]),
    }


def _with_errors(
    wrong: FloatArray, design: ErrorsBySpeaker | ErrorsByPair
) -> ErrorsBySpeaker | ErrorsByPair:
    """A design with the errors of its trials, which stand in its order."""
    trial_entry = np.repeat(np.arange(design.cell.size), np.asarray(design.trials))
    errors = np.bincount(trial_entry, wrong, minlength=design.cell.size)
    return replace(design, errors=errors.astype(np.int64))


def rates_again(counts: Counts, points: list[OperatingPoint]) -> FloatArray:
    """Return the rate of each replicate at the threshold of its own, [replicate, point]."""
    n = counts.target.shape[0]
    thresholds = [np.broadcast_to(point.threshold(counts), n) for point in points]
    rates = counts.at(np.stack(thresholds, axis=-1))
    return np.where([RATES[point.text] == "fnr" for point in points], rates.fnr, rates.fpr)
