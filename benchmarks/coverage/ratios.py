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
    chunks,
    collected,
    parts,
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


def study(datasets: int, seed: int, wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study ratios of two groups of one true rate, cell by cell."""
    for kind, one, other in CASES:
        for rate in RATES[kind]:
            name = f"{kind}/{one} against {other}/{rate}"
            if wanted(name):
                rng = stream(seed, name)
                drawn = chunks(kind, [one, other] * PAIRS, rate, datasets, rng)
                where = {"cell": name, "kind": kind, "one": one, "other": other, "rate": rate}
                yield [
                    where | {"method": method, "level": level} | interval_row(1, *limits)
                    for (method, level), limits in collected(map(_ratios, drawn)).items()
                ]
    for rate in RATES["fpr"]:
        name = f"enrol/{'+'.join(map(str, ENROLLED))}/{rate}"
        if wanted(name):
            yield _enrolled(name, rate, datasets, stream(seed, name))


def _ratios(tally: ErrorsBySpeaker | ErrorsByPair) -> Limits:
    found: Limits = {}
    known = moments(tally)
    for level in LEVELS:
        ratio = ratio_interval(*halves(rate_interval(known, level)))
        found["speakers", level] = ratio.low, ratio.high
    return found


def halves(each: Interval) -> tuple[Interval, Interval]:
    """Return every other group, and the groups between them."""

    def from_(first: int) -> Interval:
        of = {
            name: value[..., first::2]
            for name, value in vars(each).items()
            if isinstance(value, np.ndarray)
        }
        return replace(each, **of)

    return from_(0), from_(1)


def _enrolled(name: str, rate: float, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Study false accepts counted for the speaker who enrols, whoever tests."""
    design = simulate.enrolled_design(ENROLLED, ENROLLED_TRIALS)
    strata = np.repeat(np.arange(len(ENROLLED)), ENROLLED)
    df = np.array(ENROLLED) - 1.0

    def limits(some: int) -> Limits:
        tally = simulate.false_accepts(design, rate, some, rng)
        known = moments(tally)
        found: Limits = {}
        for level in LEVELS:
            each = rate_interval(known, level)
            found["speakers", level] = each.low, each.high
        weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
        errors, trials = weighted(tally, weights)
        own = errors / trials
        rest = (errors.sum(axis=-1, keepdims=True) - errors) / (
            trials.sum(axis=-1, keepdims=True) - trials
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = own / rest
        e, n = tally.sum_by_cell(tally.errors), tally.sum_by_cell(tally.trials)
        rest_of_all = (e.sum(axis=-1, keepdims=True) - e) / (n.sum() - n)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = e / n / rest_of_all
        for level in LEVELS:
            joint = from_replicates(estimate, ratio, df, scale="log", confidence=level)
            found["joint bootstrap, ratio", level] = joint.low, joint.high
        return found

    where = {"cell": name, "kind": "fpr", "rate": rate}
    return [
        where
        | {"one": size, "method": method, "level": level}
        | interval_row(1 if "ratio" in method else rate, low[:, [g]], high[:, [g]])
        for (method, level), (low, high) in collected(
            limits(some) for some in parts(datasets, design.cell.size)
        ).items()
        for g, size in enumerate(ENROLLED)
    ]
