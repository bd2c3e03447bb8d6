"""Which groups are called alike: of one rate, apart by the margin, and false reassurance beyond it.

One group has as many errors as all others, 1.25 or 1.5 times as many. Speakers are simulated, or
are the real ones of V2 in groups of H's sizes drawn at random.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage.better import real
from benchmarks.coverage.heterogeneity import AT_ONCE, Design
from benchmarks.coverage.ratios import halves
from benchmarks.coverage.records import Row, mean, stream

from parivox.core.cluster_errors import moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import ratio_interval
from parivox.core.verdict import verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.coverage.heterogeneity import ClusterErrors
    from numpy.typing import NDArray

DATASETS = 20_000  # beyond the margin, and a tenth of them elsewhere
MARGIN = 1.25
TIMES = (1.0, MARGIN, 1.5)
LARGEST = 431  # speakers of the real group that differs
LEVELS = (0.95, 0.99)
DESIGNS = tuple(
    Design(f"{n} x {size}", kind, rate, n, size, times=times, raised=size)
    for kind, n, size, rate in (
        ("fnr", 9, 100, 0.1),
        ("fnr", 9, 100, 0.05),
        ("fnr", 9, 200, 0.1),
        ("fnr", 9, 200, 0.05),
        ("fnr", 9, 400, 0.05),
        ("fnr", 9, 400, 0.02),
        ("fpr", 4, 200, 0.05),
    )
    for times in TIMES
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each design, then real speakers."""
    for design in DESIGNS:
        name = f"{design.name}, {design.times:g} times/{design.kind}/{design.rate}"
        if is_wanted(name):
            rng = stream(seed, f"alike/{name}")
            labels = {"cell": name, "design": design.name, "kind": design.kind, "rate": design.rate}
            batches = max(_number(datasets, design.times) // AT_ONCE, 1)
            drawn = (design.draw(AT_ONCE, rng) for _ in range(batches))
            yield [labels | {"times": design.times} | _shares(drawn, 0)]
    for times in TIMES:
        name = f"V2, {times:g} times/fnr"
        if is_wanted(name):
            rate, unlike, errors_by_metric = real(times, stream(seed, f"alike/{name}"), LARGEST)
            labels = {"cell": name, "design": "V2, speakers permuted", "kind": "fnr", "rate": rate}
            first_errors = islice(errors_by_metric, max(_number(datasets, times), 1))
            yield [labels | {"times": times} | _shares(first_errors, unlike)]


def _number(datasets: int, times: float) -> int:
    return datasets if times > MARGIN else datasets // 10


def _shares(drawn: Iterable[ClusterErrors], unlike: int) -> Row:
    """Share of data sets in which the one group is called alike, or would be by other levels."""
    verdict_flags = np.concatenate(
        [_alike_flags(dataset, unlike) for dataset in drawn], axis=-1
    ).astype(np.float64)
    names = ("said", *(f"within_{100 * level:g}" for level in LEVELS))
    row: Row = {"datasets": verdict_flags.shape[-1]}
    for name, flags in zip(names, verdict_flags, strict=True):
        row |= mean(flags, name)
    return row


def _alike_flags(dataset: ClusterErrors, group: int) -> NDArray[np.bool_]:
    """Whether a group is called alike, and whether its interval of each level lies within."""
    group_moments = moments(
        replace(dataset, cell=(dataset.cell != group).astype(np.int64), n_cells=2)
    )
    ratios = [ratio_interval(*halves(rate_interval(group_moments, level))) for level in LEVELS]
    usual = ratios[0]
    code = verdicts(usual.value, usual.low, usual.high, 1.0, margin=MARGIN).code
    within = [(ratio.low >= 1 / MARGIN) & (ratio.high <= MARGIN) for ratio in ratios]
    return np.stack([flags[..., 0].reshape(-1) for flags in (code == "equivalent", *within)])
