"""Coverage of intervals for ratios of two rates, and of groups tested against everyone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.rates import (
    LEVELS,
    RATES,
    REPLICATES,
    batches,
    chunks,
    collected,
)
from benchmarks.coverage.records import Row, interval_row, stream

from parivox.core.cluster_errors import moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import ratio_interval
from parivox.core.resampling import from_replicates, speaker_weights, weighted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.rates import Limits

    from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
    from parivox.core.intervals import Interval

DATASETS = 1000
PAIRS = 5  # of groups in a data set
CASES = (("fnr", 8, 100), ("fnr", 25, 25), ("fpr", 100, 100), ("fpr", 8, 100))
ENROLLED = (8, 25, 67)  # speakers of three groups; each speaker is tested against everyone
ENROLLED_TRIALS = 2  # of each ordered pair: 198 per speaker who enrols


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study ratios of two groups of one true rate, cell by cell."""
    for kind, first_size, second_size in CASES:
        for rate in RATES[kind]:
            name = f"{kind}/{first_size} against {second_size}/{rate}"
            if is_wanted(name):
                rng = stream(seed, name)
                drawn = chunks(kind, [first_size, second_size] * PAIRS, rate, datasets, rng)
                labels = {
                    "cell": name,
                    "kind": kind,
                    "one": first_size,
                    "other": second_size,
                    "rate": rate,
                }
                yield [
                    labels | {"method": method, "level": level} | interval_row(1, *limits)
                    for (method, level), limits in collected(map(_ratios, drawn)).items()
                ]
    for rate in RATES["fpr"]:
        name = f"enrol/{'+'.join(map(str, ENROLLED))}/{rate}"
        if is_wanted(name):
            yield _enrolled(name, rate, datasets, stream(seed, name))


def _ratios(cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> Limits:
    limits: Limits = {}
    group_moments = moments(cluster_errors)
    for level in LEVELS:
        ratio = ratio_interval(*halves(rate_interval(group_moments, level)))
        limits["speakers", level] = ratio.low, ratio.high
    return limits


def halves(interval: Interval) -> tuple[Interval, Interval]:
    """Return every other group, and the groups between them."""

    def from_(start: int) -> Interval:
        columns = {
            name: column[..., start::2]
            for name, column in vars(interval).items()
            if isinstance(column, np.ndarray)
        }
        return replace(interval, **columns)

    return from_(0), from_(1)


def _enrolled(name: str, rate: float, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Study false accepts counted for the speaker who enrols, whoever tests."""
    design = simulate.enrolled_design(ENROLLED, ENROLLED_TRIALS)
    strata = np.repeat(np.arange(len(ENROLLED)), ENROLLED)
    df = np.array(ENROLLED) - 1.0

    def limits(batch: int) -> Limits:
        cluster_errors = simulate.false_accepts(design, rate, batch, rng)
        group_moments = moments(cluster_errors)
        limits_by_method: Limits = {}
        for level in LEVELS:
            interval = rate_interval(group_moments, level)
            limits_by_method["speakers", level] = interval.low, interval.high
        weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
        errors, trials = weighted(cluster_errors, weights)
        group_rates = errors / trials
        other_rates = (errors.sum(axis=-1, keepdims=True) - errors) / (
            trials.sum(axis=-1, keepdims=True) - trials
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = group_rates / other_rates
        e, n = (
            cluster_errors.sum_by_cell(cluster_errors.errors),
            cluster_errors.sum_by_cell(cluster_errors.trials),
        )
        rest_of_all = (e.sum(axis=-1, keepdims=True) - e) / (n.sum() - n)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = e / n / rest_of_all
        for level in LEVELS:
            joint = from_replicates(estimate, ratio, df, scale="log", confidence=level)
            limits_by_method["joint bootstrap, ratio", level] = joint.low, joint.high
        return limits_by_method

    labels = {"cell": name, "kind": "fpr", "rate": rate}
    return [
        labels
        | {"one": size, "method": method, "level": level}
        | interval_row(1 if "ratio" in method else rate, low[:, [g]], high[:, [g]])
        for (method, level), (low, high) in collected(
            limits(batch) for batch in batches(datasets, design.cell.size)
        ).items()
        for g, size in enumerate(ENROLLED)
    ]
