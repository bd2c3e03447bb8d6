"""Coverage of intervals for rates on simulated data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.records import Row, interval_row, stream
from scipy.special import ndtri, stdtrit

from parivox.core.cluster_errors import ErrorsBySpeaker, moments
from parivox.core.intervals import other_kappa2, rate_interval
from parivox.core.resampling import speaker_weights, weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.coverage.simulate import FloatArray

    from parivox.core.cluster_errors import ErrorsByPair

    Ends: TypeAlias = tuple[FloatArray, FloatArray]
    Limits: TypeAlias = dict[tuple[str, float], Ends]

LEVELS = (0.90, 0.95, 0.99)
GROUPS = 9  # of one data set: the others tell the pooled floor, and the design effect at no errors
DATASETS = 1000
AT_ONCE = 2_000_000  # speakers or pairs held at a time
REPLICATES = 400
RATES = {"fnr": (0.10, 0.02), "fpr": (0.01, 0.003)}


@dataclass(frozen=True)
class Case:
    """Groups of one size, one kind of error, one way in which speakers differ."""

    kind: Literal["fnr", "fpr"]
    speakers: int
    shape: Literal["even", "skewed", "unequal"] = "even"


FNR_CASES = tuple(Case("fnr", speakers) for speakers in (5, 8, 12, 25, 100))
FPR_CASES = tuple(Case("fpr", speakers) for speakers in (5, 8, 25, 100))
CASES = (
    *FNR_CASES,
    Case("fnr", 8, "skewed"),
    Case("fnr", 25, "skewed"),
    Case("fnr", 8, "unequal"),
    *FPR_CASES,
    Case("fpr", 25, "skewed"),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study intervals of one rate, cell by cell."""
    for case in CASES:
        for rate in RATES[case.kind]:
            name = f"{case.kind}/{case.speakers}/{case.shape}/{rate}"
            if is_wanted(name):
                rng = stream(seed, name)
                drawn = chunks(case.kind, [case.speakers] * GROUPS, rate, datasets, rng, case.shape)
                limits = collected(methods(cluster_errors, rng) for cluster_errors in drawn)
                labels = {"cell": name, "kind": case.kind, "speakers": case.speakers}
                labels |= {"shape": case.shape, "rate": rate}
                yield [
                    labels | {"method": method, "level": level} | interval_row(rate, low, high)
                    for (method, level), (low, high) in limits.items()
                ]


def chunks(
    kind: str,
    speakers: Sequence[int],
    rate: float,
    datasets: int,
    rng: np.random.Generator,
    shape: str = "even",
) -> Iterator[ErrorsBySpeaker | ErrorsByPair]:
    """Draw data sets, some at a time: a tally whose errors are [dataset, entry]."""
    design: ErrorsBySpeaker | ErrorsByPair = simulate.nontarget_design(speakers)
    if kind == "fnr":
        design = simulate.target_design(speakers)
    for batch in batches(datasets, design.cell.size):
        skewed = shape == "skewed"
        if isinstance(design, ErrorsBySpeaker):
            now = simulate.unequal(design, batch, rng) if shape == "unequal" else design
            yield simulate.misses(now, rate, batch, rng, skewed=skewed)
        else:
            yield simulate.false_accepts(design, rate, batch, rng, skewed=skewed)


def batches(datasets: int, entries: int) -> list[int]:
    """Numbers of data sets that are held at a time."""
    most = max(1, min(50, AT_ONCE // entries))
    return [min(most, datasets - done) for done in range(0, datasets, most)]


def methods(cluster_errors: ErrorsBySpeaker | ErrorsByPair, rng: np.random.Generator) -> Limits:
    """Return limits [dataset, group] by every method and level."""
    group_moments = moments(cluster_errors)
    limits: Limits = {}
    for level in LEVELS:
        interval = rate_interval(group_moments, level)
        limits["speakers", level] = interval.low, interval.high
        if isinstance(cluster_errors, ErrorsBySpeaker):
            floored = rate_interval(group_moments, level, other_kappa2(group_moments))
            limits["pooled floor", level] = floored.low, floored.high
    limits["trials", 0.95] = wilson(group_moments.rate, group_moments.trials, float(ndtri(0.975)))
    low, high = bootstrapped(cluster_errors, rng)
    # without errors there is no variance to be drawn: the rule for none, as everywhere
    default = limits["speakers", 0.95]
    has_errors = group_moments.errors > 0
    limits["bootstrap", 0.95] = (
        np.where(has_errors, low, default[0]),
        np.where(has_errors, high, default[1]),
    )
    return limits


def wilson(rate: FloatArray, n: FloatArray, quantile: float | FloatArray) -> Ends:
    """Return Wilson's limits of n independent trials."""
    square = np.square(quantile)
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = quantile / (1 + square / n) * np.sqrt(rate * (1 - rate) / n + square / (4 * n**2))
    low = np.where(rate > 0, np.maximum(centre - half, 0), 0.0)
    return low, np.where(rate < 1, np.minimum(centre + half, 1), 1.0)


def bootstrapped(cluster_errors: ErrorsBySpeaker | ErrorsByPair, rng: np.random.Generator) -> Ends:
    """Return Wilson's limits of as many trials as the vertex bootstrap's variance is worth.

    The default before the closed form; t has one degree of freedom less than speakers.
    """
    strata = cluster_errors.cell
    if not isinstance(cluster_errors, ErrorsBySpeaker):
        members, speaker = cluster_errors.cell_speakers
        strata = np.empty_like(members)
        strata[speaker] = members
    weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
    errors, trials = weighted(cluster_errors, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.nanvar(errors / trials, axis=0, ddof=1)
        rate = cluster_errors.sum_by_cell(cluster_errors.errors) / cluster_errors.sum_by_cell(
            cluster_errors.trials
        )
        n_eff = rate * (1 - rate) / variance
        return wilson(rate, n_eff, stdtrit(cluster_errors.n_speakers - 1.0, 0.975))


def collected(drawn: Iterable[Limits]) -> Limits:
    """Put the data sets of all chunks together."""
    limits_by_chunk = list(drawn)
    low = {
        key: np.concatenate([limits[key][0] for limits in limits_by_chunk])
        for key in limits_by_chunk[0]
    }
    high = {
        key: np.concatenate([limits[key][1] for limits in limits_by_chunk])
        for key in limits_by_chunk[0]
    }
    return {key: (low[key], high[key]) for key in low}
