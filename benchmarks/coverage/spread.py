"""Intervals of tau_log, on simulated systems whose groups differ by a known spread."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.records import Row, mean, stream
from scipy.special import ndtri

from parivox.core.beyond_noise import spread_interval, tau_log
from parivox.core.cluster_errors import moments
from parivox.core.noise import gamma_multinomial, permuted, without_zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray

DATASETS = 1000
REPLICATES = 199
RATE = 0.02  # of the group in the middle
DESIGNS = ((9, 8), (9, 30), (18, 20))  # groups, speakers in each
SPREADS = (0.0, 0.2, 0.4, 0.8)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study how often the interval holds the true spread, cell by cell."""
    for (groups, speakers), kind, spread in product(DESIGNS, ("fnr", "fpr"), SPREADS):
        name = f"{groups} x {speakers}/{kind}/{spread}"
        if is_wanted(name):
            labels = {"cell": name, "groups": groups, "speakers": speakers, "kind": kind}
            row = _covered(kind, groups, speakers, spread, datasets, stream(seed, name))
            yield [labels | {"spread": spread, "datasets": datasets} | row]


def rates_of(groups: int, spread: float) -> FloatArray:
    """Rates of groups whose logarithms have a standard deviation, like draws of a normal one."""
    quantiles = ndtri((np.arange(groups) + 0.5) / groups)
    return np.asarray(RATE * np.exp(spread * quantiles / quantiles.std(ddof=1)))


def _covered(
    kind: str, groups: int, speakers: int, spread: float, datasets: int, rng: np.random.Generator
) -> Row:
    rates, sizes = rates_of(groups, spread), (speakers,) * groups
    of_target = simulate.misses(simulate.target_design(sizes), rates, datasets, rng)
    of_pairs = simulate.false_accepts(simulate.nontarget_design(sizes), rates, datasets, rng)
    is_covered, below, above, widths, estimates = [], [], [], [], []
    for i in range(datasets):
        if kind == "fnr":
            target = replace(of_target, errors=of_target.errors[i])
            null = permuted(target, None, REPLICATES, rng)
            errors, trials = (target.sum_by_cell(a) for a in (target.errors, target.trials))
        else:
            pairs = replace(of_pairs, errors=of_pairs.errors[i])
            null = gamma_multinomial(moments(pairs), REPLICATES, rng)
            errors, trials = (pairs.sum_by_cell(a) for a in (pairs.errors, pairs.trials))
        observed = without_zeros(errors, trials)
        interval = spread_interval(np.log(observed), np.log(null.nonzero_rates))
        is_covered.append(interval.low <= spread <= interval.high)
        below.append(spread < interval.low)
        above.append(spread > interval.high)
        widths.append(interval.high - interval.low)
        estimates.append(tau_log(observed, null.nonzero_rates).value)
    return {
        **mean(np.array(is_covered, dtype=np.float64), "coverage"),
        "below": float(np.mean(below)),
        "above": float(np.mean(above)),
        "width": float(np.median(widths)),
        "value": float(np.mean(estimates)),
    }
