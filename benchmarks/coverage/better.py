"""Who is called better or worse where one group differs from others that are all alike.

Speakers are simulated, or are the real ones of V2 in groups of H's sizes drawn at random, where one
group is judged at the threshold at which all speakers together have the other rate.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage.corpora import voxceleb
from benchmarks.coverage.heterogeneity import Design, drawn_of, shuffled
from benchmarks.coverage.real import cluster_errors, threshold, within
from benchmarks.coverage.records import Row, mean, stream

from parivox.core.cluster_errors import moments
from parivox.core.intervals import rate_interval
from parivox.core.ratios import moments_of_others, ratio_interval, worst_cell
from parivox.core.verdict import holm, of_lower, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.coverage.heterogeneity import ClusterErrors
    from numpy.typing import NDArray

DATASETS = 500
POINT = 0.01  # FPR of all trials at which the real speakers are judged
RAISED = 88  # speakers of the real group that differs
_TIMES = {3.0: "at 3 times", 1 / 3: "at a third", 1.0: "none"}
DESIGNS = tuple(
    Design(f"{n} x {size}", kind, rate, n, size, times=times, raised=size)
    for kind, rate in (("fnr", 0.05), ("fpr", 0.01))
    for n, size, times in (
        (4, 100, 3.0),
        (4, 100, 1 / 3),
        (4, 100, 1.0),
        (9, 100, 3.0),
        (9, 100, 1 / 3),
        (18, 30, 3.0),
    )
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each design, then real speakers."""
    for design in DESIGNS:
        name = f"{design.name}, {_TIMES[design.times]}/{design.kind}/{design.rate}"
        if is_wanted(name):
            rng = stream(seed, f"better/{name}")
            labels = {"cell": name, "design": design.name, "kind": design.kind, "rate": design.rate}
            yield [labels | _shares(drawn_of(design, datasets, rng), 0, design.times, datasets)]
    for times, words in _TIMES.items():
        name = f"V2, {words}/fnr/{POINT}"
        if is_wanted(name):
            rate, unlike, drawn = real(times, stream(seed, f"better/{name}"))
            labels = {"cell": name, "design": "V2, speakers permuted", "kind": "fnr", "rate": rate}
            yield [labels | _shares(islice(drawn, datasets), unlike, times, datasets)]


def real(
    times: float, rng: np.random.Generator, speakers: int = RAISED
) -> tuple[float, int, Iterator[ClusterErrors]]:
    """Deal real speakers out to groups without end, of which one has `times` the common rate.

    Also the rate of all, and that group, of about so many speakers, which is judged at a threshold
    of its own.
    """
    trials = voxceleb()
    is_within = within(trials)
    score_threshold = threshold(trials, "fpr", POINT, is_within)
    alike = cluster_errors(trials, "fnr", score_threshold, is_within)
    rate = float(alike.errors.sum() / alike.trials.sum())
    raised = cluster_errors(
        trials, "fnr", threshold(trials, "fnr", times * rate, is_within), is_within
    )
    dealt = replace(alike, errors=np.stack((alike.errors, raised.errors)))
    unlike = int(np.argmin(np.abs(dealt.n_speakers - speakers)))

    def drawn() -> Iterator[ClusterErrors]:
        while True:
            dataset = shuffled(dealt, rng)
            yield replace(dataset, errors=np.where(dataset.cell == unlike, *dataset.errors[::-1]))

    return float(f"{rate:.3g}"), unlike, drawn()


def _shares(drawn: Iterable[ClusterErrors], unlike: int, times: float, datasets: int) -> Row:
    """Share of data sets in which any of the equal groups, and the other one, are named."""
    verdict_flags = np.array(
        [_judgement_flags(dataset) for dataset in drawn]
    )  # [data set, what, group]
    is_own = (np.arange(verdict_flags.shape[-1]) == unlike) & (times != 1)
    row: Row = {"unlike": _TIMES[times], "datasets": datasets}
    for label, is_member in (("equal", ~is_own), ("own", is_own)):
        for i, judgement in enumerate(("better", "plainly", "worse")):
            named = (
                verdict_flags[:, i, is_member].any(axis=-1)
                if is_member.any()
                else np.full(len(verdict_flags), np.nan)
            )
            row |= mean(np.asarray(named, dtype=np.float64), f"{label}_{judgement}")
    return row


def _judgement_flags(dataset: ClusterErrors) -> NDArray[np.bool_]:
    """Whether each group is called better, plainly so, and worse; of one rate."""
    rates = rate_interval(moments(dataset))
    ratio = ratio_interval(rates, rate_interval(moments_of_others(dataset)))
    code = verdicts(ratio.value, ratio.low, ratio.high, holm(ratio.p)).code
    worst_group = int(
        worst_cell(dataset.sum_by_cell(dataset.errors), dataset.sum_by_cell(dataset.trials))
    )
    remaining_rates = rate_interval(moments_of_others(dataset.select(dataset.cell != worst_group)))
    remaining_ratio = ratio_interval(
        rates.without_limits(np.arange(dataset.n_cells) == worst_group, "left out"), remaining_rates
    )
    lower = verdicts(
        remaining_ratio.value,
        remaining_ratio.low,
        remaining_ratio.high,
        holm(of_lower(remaining_ratio.p, remaining_ratio.value)),
    ).code
    better = code == "better"
    return np.stack((better, better & (lower == "better"), code == "worse"))
