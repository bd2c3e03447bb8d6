"""Noise floors and p values of measures over groups, on simulated systems that treat all alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.corpora import voxceleb
from benchmarks.coverage.real import cluster_errors, within
from benchmarks.coverage.records import Row, mean, stream
from benchmarks.coverage.simulate import SPREAD, WEAK, Spread

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import other_kappa2, rate_interval
from parivox.core.meta import fdr, garbe
from parivox.core.noise import floor, gamma_multinomial, permuted, without_zeros
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.resampling import speaker_weights, weighted
from parivox.core.spread import gini, max_min

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.coverage.simulate import FloatArray

    ClusterErrors: TypeAlias = ErrorsBySpeaker | ErrorsByPair

DATASETS = 1000
REPLICATES = 199
LEVEL = 0.05
FLOOR_DATASETS = 4000  # drawn from the simulator itself
MANY_PAIRS = 10_000  # the recentred bootstrap, for comparison alone, takes long on more
TRIALS_PER_SPEAKER = 276  # target, and nontarget, trials per speaker of paper 003


@dataclass(frozen=True)
class Design:
    """Groups of a fair system, or with one that is served worse."""

    name: str
    rates: Mapping[str, tuple[float, ...]]
    speakers: tuple[int, ...] = (8,) * 9
    trials: tuple[int, ...] = (TRIALS_PER_SPEAKER,) * 9
    skewed: bool = False
    spread: Spread = SPREAD
    worse: float = 1.0  # times the rate of the first group

    @property
    def points(self) -> list[tuple[str, float]]:
        """Kinds of errors, each with its rates."""
        return [(kind, rate) for kind, rates in self.rates.items() for rate in rates]

    def cluster_errors(self, kind: str) -> ClusterErrors:
        """Return the groups with their trials, without errors."""
        if self.name.startswith("VoxCeleb1-H"):
            trials = voxceleb()
            return cluster_errors(trials, kind, np.inf, within(trials))
        if kind == "fnr":
            return simulate.target_design(self.speakers, self.trials)
        return simulate.nontarget_design(self.speakers, self.trials)

    def draw(
        self, kind: str, rate: float, datasets: int, rng: np.random.Generator
    ) -> ClusterErrors:
        """Draw data sets: a tally whose errors are [dataset, entry]."""
        design = self.cluster_errors(kind)
        true = np.full(design.n_cells, rate)
        true[0] *= self.worse
        options: dict[str, Any] = {"spread": self.spread, "skewed": self.skewed}
        if isinstance(design, ErrorsBySpeaker):
            return simulate.misses(design, true, datasets, rng, **options)
        return simulate.false_accepts(design, true, datasets, rng, **options)


ERROR_KINDS = ("fnr", "fpr")
UNEVEN = tuple(
    round(TRIALS_PER_SPEAKER * 8 ** (k / 8) / 3.5) for k in range(9)
)  # 1 : 8 between groups
FAIR = (
    Design("9 x 8", dict.fromkeys(ERROR_KINDS, (0.018, 0.003, 0.001))),
    Design("9 x 8, skewed speakers", dict.fromkeys(ERROR_KINDS, (0.018, 0.003)), skewed=True),
    Design("9 x 8, trials 1:8 between groups", dict.fromkeys(ERROR_KINDS, (0.003,)), trials=UNEVEN),
    Design("4 x 5", dict.fromkeys(ERROR_KINDS, (0.018,)), (5,) * 4, (TRIALS_PER_SPEAKER,) * 4),
    Design("VoxCeleb1-H", dict.fromkeys(ERROR_KINDS, (0.018, 0.001))),
)
UNFAIR = (
    Design("9 x 8, one doubled", dict.fromkeys(ERROR_KINDS, (0.018,)), worse=2.0),
    Design(
        "9 x 8, weak speaker effects, one doubled",
        dict.fromkeys(ERROR_KINDS, (0.018,)),
        worse=2.0,
        spread=WEAK,
    ),
    Design("9 x 30, one doubled", dict.fromkeys(ERROR_KINDS, (0.018,)), (30,) * 9, worse=2.0),
)
FLOOR = Design("floor", dict.fromkeys(ERROR_KINDS, (0.018, 0.001)))
JOINT = (FAIR[0], FAIR[-1], UNFAIR[0])
JOINT_RATES = (0.018,)


def log_spread(rates: FloatArray) -> FloatArray:
    """Standard deviation of the logarithms of positive rates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.std(np.log(rates), axis=-1, ddof=1))


# measure: of rates as they are, or with half an error in the place of none
MEASURES: dict[str, tuple[Callable[[FloatArray], FloatArray], bool]] = {
    "Gini": (lambda rates: gini(rates).value, False),
    "max/min": (lambda rates: max_min(rates).value, True),
    "max - min": (lambda rates: np.ptp(rates, axis=-1), False),
    "sd of log": (log_spread, True),
}


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study type I errors, power, and floors, cell by cell."""
    cells = [(design, *point) for design in (*FAIR, *UNFAIR) for point in design.points]
    cells += [(design, "both", rate) for design in JOINT for rate in JOINT_RATES]
    cells += [(FLOOR, *point) for point in FLOOR.points]
    for design, kind, rate in cells:
        name = f"{design.name}/{kind}/{rate}"
        if is_wanted(name):
            rng = stream(seed, name)
            if design is FLOOR:
                rows = _floors(kind, rate, datasets, rng)
            elif kind == "both":
                rows = _joint(design, rate, datasets, rng)
            else:
                rows = _rejections(design.draw(kind, rate, datasets, rng), rng)
            labels = {"cell": name, "design": design.name, "kind": kind, "rate": rate}
            yield [labels | row for row in rows]


def _rejections(drawn: ClusterErrors, rng: np.random.Generator) -> list[Row]:
    """Share of p values of at most 0.05, by method and measure; NaN where p is refused."""
    p: dict[tuple[str, str], list[float]] = {}
    for dataset in _one_by_one(drawn):
        for (method, measure), p_value in _p_values(dataset, rng).items():
            p.setdefault((method, measure), []).append(p_value)
    rows = []
    for (method, measure), p_values in p.items():
        labels = {"method": method, "measure": measure, "datasets": len(p_values)}
        rows.append(labels | rejected(np.array(p_values)))
    return [*rows, *_single(drawn)]


def _single(drawn: ClusterErrors) -> list[Row]:
    """Share of p values of at most 0.05 of each group's ratio to all others."""
    group_moments, other_rates = moments(drawn), rate_interval(moments_of_others(drawn))
    p = {"others": ratio_interval(rate_interval(group_moments), other_rates).p}
    if isinstance(drawn, ErrorsBySpeaker):
        floored = rate_interval(group_moments, pooled_floor=other_kappa2(group_moments))
        p["others, pooled floor"] = ratio_interval(floored, other_rates).p
    rows = []
    for method, p_values in p.items():
        for measure, group_p_values in (
            ("first group", p_values[:, :1]),
            ("other groups", p_values[:, 1:]),
        ):
            labels = {"method": method, "measure": measure, "datasets": group_p_values.shape[0]}
            rows.append(labels | rejected(group_p_values))
    return rows


def rejected(p: FloatArray) -> Row:
    """Share of p values of at most 0.05 among those that are given."""
    refused = np.isnan(p)
    share = mean(np.where(refused, np.nan, p <= LEVEL), "rejected")
    return {"refused": float(refused.mean())} | share


def _joint(design: Design, rate: float, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Measures of both rates, whose null draws are independent of each other."""
    p: dict[str, list[float]] = {"GARBE": [], "FDR": []}
    drawn = [_one_by_one(design.draw(kind, rate, datasets, rng)) for kind in ERROR_KINDS]
    for misses, passes in zip(*drawn, strict=True):
        nulls = [
            permuted(cast("ErrorsBySpeaker", misses), None, REPLICATES, rng),
            gamma_multinomial(moments(passes), REPLICATES, rng),
        ]
        fnr, fpr = (
            dataset.sum_by_cell(dataset.errors) / dataset.sum_by_cell(dataset.trials)
            for dataset in (misses, passes)
        )
        for measure, function in (("GARBE", garbe), ("FDR", fdr)):
            noise_floor = floor(
                function(fpr, fnr, alpha=0.5).value,
                function(nulls[1].rates, nulls[0].rates, alpha=0.5).value,
                higher_is_fairer=measure == "FDR",
            )
            p[measure].append(float(noise_floor.p))
    return [
        {"method": "permutation and gamma-multinomial", "measure": measure, "datasets": datasets}
        | rejected(np.array(p_values))
        for measure, p_values in p.items()
    ]


def _one_by_one(drawn: ClusterErrors) -> Iterator[ClusterErrors]:
    for errors in drawn.errors:
        yield replace(drawn, errors=errors)


def _p_values(dataset: ClusterErrors, rng: np.random.Generator) -> dict[tuple[str, str], float]:
    """P value of each measure by each method, for one data set."""
    errors, trials = dataset.sum_by_cell(dataset.errors), dataset.sum_by_cell(dataset.trials)
    observed = {False: errors / trials, True: without_zeros(errors, trials)}
    p_values = {}
    for method, null in _nulls(dataset, rng).items():
        for measure, (function, lifted) in MEASURES.items():
            noise_floor = floor(function(observed[lifted]), function(null[lifted]))
            p_values[method, measure] = float(noise_floor.p)
    return p_values


def _nulls(dataset: ClusterErrors, rng: np.random.Generator) -> dict[str, dict[bool, FloatArray]]:
    """Null rates by each method, as they are and without zeros."""
    drawn = {"gamma-multinomial": gamma_multinomial(moments(dataset), REPLICATES, rng)}
    if isinstance(dataset, ErrorsBySpeaker):
        drawn["permutation"] = permuted(dataset, None, REPLICATES, rng)
    nulls = {
        method: {False: null.rates, True: null.nonzero_rates} for method, null in drawn.items()
    }
    if isinstance(dataset, ErrorsByPair) and dataset.cell.size < MANY_PAIRS:
        nulls["recentred bootstrap"] = dict.fromkeys((False, True), _recentred(dataset, rng))
    return nulls


def _recentred(dataset: ErrorsByPair, rng: np.random.Generator) -> FloatArray:
    """Null rates of the recentred vertex bootstrap; groups without errors have none.

    A null draw of a group is pooled * bootstrap / observed rate.
    """
    cell, speaker = dataset.cell_speakers
    strata = np.empty(speaker.max() + 1, dtype=np.int64)
    strata[speaker] = cell
    weights = speaker_weights(strata, REPLICATES, int(rng.integers(2**31)))
    errors, trials = weighted(dataset, weights)
    observed_errors, observed_trials = (
        dataset.sum_by_cell(dataset.errors),
        dataset.sum_by_cell(dataset.trials),
    )
    with np.errstate(invalid="ignore"):
        rate = observed_errors / observed_trials
        null = (
            errors
            / trials
            * (observed_errors.sum() / observed_trials.sum() / np.where(rate > 0, rate, np.nan))
        )
    return np.asarray(null)


def _floors(kind: str, rate: float, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Floors of Gini in paper 003's design: what fair systems show, and what data tell of it."""
    drawn = FLOOR.draw(kind, rate, FLOOR_DATASETS, rng)
    true = gini(drawn.sum_by_cell(drawn.errors) / drawn.sum_by_cell(drawn.trials)).value
    cut = float(np.quantile(true, 0.95))
    # error of a quantile: from the spread of the order statistics two standard errors around it
    reach = 2 * np.sqrt(0.95 * 0.05 / true.size)
    ends = np.quantile(true, (0.95 - reach, 0.95 + reach))
    rows: list[Row] = [
        {"method": "simulation", "measure": "Gini", "datasets": true.size}
        | mean(true, "mean")
        | {"q95": cut, "q95_error": float(np.diff(ends)[0] / 4)}
    ]
    floors = []
    for dataset in _one_by_one(FLOOR.draw(kind, rate, datasets, rng)):
        null = gamma_multinomial(moments(dataset), REPLICATES, rng)
        noise_floor = floor(0.0, gini(null.rates).value)
        floors.append((float(noise_floor.mean), float(noise_floor.q95)))
    means, cuts = np.transpose(floors)
    labels = {"method": "gamma-multinomial", "measure": "Gini", "datasets": datasets}
    rows.append(labels | mean(means, "mean") | mean(cuts, "q95"))
    return rows
