"""Power that a plan promises for one group tested by itself, and that the audit's test has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.rates import batches
from benchmarks.coverage.ratios import halves
from benchmarks.coverage.records import Row, mean, stream

from parivox.core.cluster_errors import moments
from parivox.core.intervals import rate_interval
from parivox.core.planning import Sample, power_to_detect
from parivox.core.ratios import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker

DATASETS = 2000


@dataclass(frozen=True)
class Design:
    """A group, others of one size, of whom each has so many trials."""

    kind: str
    rate: float  # of the others
    group_rate: float  # of the group
    trials: int
    groups: int  # others
    speakers: tuple[int, ...]  # of each group, one cell each
    skewed: bool = False


DESIGNS = (
    Design("fnr", 0.10, 0.20, 24, 1, (10, 20, 30, 60)),
    Design("fnr", 0.10, 0.30, 24, 1, (6, 10, 15, 20)),
    Design("fnr", 0.10, 0.20, 24, 8, (6, 10, 20)),
    Design("fnr", 0.02, 0.06, 100, 1, (10, 20, 30, 60)),
    Design("fnr", 0.02, 0.06, 100, 8, (6, 10, 20)),
    Design("fnr", 0.05, 0.02, 100, 1, (15, 30, 60)),
    Design("fnr", 0.05, 0.02, 100, 8, (15, 30, 60)),
    Design("fnr", 0.05, 0.12, 100, 1, (10, 20, 30), skewed=True),
    Design("fpr", 0.01, 0.02, 230, 1, (15, 30, 60)),
    Design("fpr", 0.01, 0.03, 230, 1, (10, 20, 30)),
    Design("fpr", 0.003, 0.009, 230, 1, (20, 30, 60)),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study what is promised and what is found, cell by cell."""
    for design in DESIGNS:
        for speakers in design.speakers:
            shape = "skewed" if design.skewed else "even"
            rates = f"{design.rate}/{design.group_rate}"
            name = f"{design.kind}/{rates}/{design.groups}/{speakers}/{shape}"
            if is_wanted(name):
                labels = {
                    "cell": name,
                    "kind": design.kind,
                    "rate": design.rate,
                    "own": design.group_rate,
                }
                labels |= {"trials": design.trials, "groups": design.groups, "speakers": speakers}
                labels |= {"shape": shape, "datasets": datasets}
                yield [labels | _row(design, speakers, datasets, stream(seed, f"plans/{name}"))]


def _row(design: Design, speakers: int, datasets: int, rng: np.random.Generator) -> Row:
    """What is planned with the others' true correlation, and how often the group is found."""
    sides = 1 if design.kind == "fnr" else 2
    ratio = design.group_rate / design.rate
    sizes = speakers, design.groups * speakers
    drawn = list(_drawn(design, sizes, datasets, rng))
    is_found = np.concatenate(
        [_is_told(cluster_errors, is_worse=ratio > 1) for cluster_errors in drawn]
    )
    trials = drawn[0].sum_by_cell(drawn[0].trials)
    trials_each = sides * trials / sizes
    rates = (
        np.concatenate(
            [cluster_errors.sum_by_cell(cluster_errors.errors)[:, 1] for cluster_errors in drawn]
        )
        / trials[1]
    )
    deff = np.mean((rates - design.rate) ** 2) * trials[1] / (design.rate * (1 - design.rate))
    icc = max(float(deff) - 1, 0) / (sides * (trials_each[1] - 1))
    group_sample, other_sample = (
        Sample(n, m, icc, sides) for n, m in zip(sizes, trials_each, strict=True)
    )
    planned = power_to_detect(ratio, design.rate, group_sample, other_sample)
    return {"icc": float(f"{icc:.3g}"), "planned": float(f"{planned:.4f}")} | mean(
        is_found, "found"
    )


def _drawn(
    design: Design, sizes: tuple[int, int], datasets: int, rng: np.random.Generator
) -> Iterator[ErrorsBySpeaker | ErrorsByPair]:
    """Draw the group and all others together."""
    rates = [design.group_rate, design.rate]
    targets = simulate.target_design(sizes, design.trials)
    nontargets = simulate.nontarget_design(sizes, design.trials)
    if design.kind == "fnr":
        for batch in batches(datasets, targets.cell.size):
            yield simulate.misses(targets, rates, batch, rng, skewed=design.skewed)
    else:
        for batch in batches(datasets, nontargets.cell.size):
            yield simulate.false_accepts(nontargets, rates, batch, rng, skewed=design.skewed)


def _is_told(drawn: ErrorsBySpeaker | ErrorsByPair, *, is_worse: bool) -> NDArray[np.float64]:
    """Whether the group is told from the others, ``[dataset]``."""
    ratio = ratio_interval(*halves(rate_interval(moments(drawn))))
    is_outside = ratio.low > 1 if is_worse else ratio.high < 1
    return is_outside[:, 0].astype(np.float64)
