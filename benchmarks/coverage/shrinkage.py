"""Best guesses: how near they are, what their limits hold, and what they make of groups named.

Groups have true rates of a known spread of logarithms, which attributes add up to or not. Speakers
are simulated, on designs of equal groups and on the real list's; or they are the real ones of V2 in
groups drawn at random, each of which keeps a share of its own of its speakers' errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.corpora import voxceleb
from benchmarks.coverage.heterogeneity import shuffled
from benchmarks.coverage.real import cluster_errors, threshold, within
from benchmarks.coverage.records import Row, mean, stream

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import other_kappa2, rate_interval
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted, without_zeros
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.shrinkage import interaction, log_rates, power, shrunken
from parivox.core.verdict import holm, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray
    from numpy.typing import NDArray

    ClusterErrors: TypeAlias = ErrorsBySpeaker | ErrorsByPair

DATASETS = 200
REPLICATES = 199
SPREADS = (0.0, 0.4, 0.8)
SMALL = (3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60, 120)
HIGHEST = 0.001  # FPR at which real speakers have the most errors, of which groups keep a share
LOW, FAIR = 0.5, 0.8  # power


@dataclass(frozen=True)
class Design:
    """Groups whose rates vary, or of which one has `times` the rate of all others."""

    name: str
    kind: str
    rate: float
    speakers: tuple[int, ...] = ()  # of each group; none for those of the real list
    adds_up: float = 1.0  # share of the variance of logarithms that attributes add up to
    is_real: bool = False
    times: float = 1.0
    raised: int = 0  # the group with about as many speakers

    def cluster_errors(self) -> ClusterErrors:
        """Return the groups with their trials, without errors."""
        if not self.speakers:
            trials = voxceleb()
            return cluster_errors(trials, self.kind, np.inf, within(trials))
        if self.kind == "fnr":
            return simulate.target_design(self.speakers)
        return simulate.nontarget_design(self.speakers)

    def attributes(self) -> IntArray:
        """Return the number of each group's value of each attribute: none are crossed but H's."""
        if self.speakers:
            n = len(self.speakers)
            halves = np.stack((np.arange(n) % 2, np.arange(n) // 2), axis=-1)
            return halves if n > 9 else np.arange(n)[:, None]
        names = np.array([name.split("+") for name in voxceleb().names])
        return np.stack([np.unique(column, return_inverse=True)[1] for column in names.T], axis=-1)

    def rates(self, spread: float, rng: np.random.Generator) -> FloatArray:
        """Draw the groups' true rates."""
        attributes = self.attributes()
        effects = rng.standard_normal(len(attributes))
        if attributes.shape[1] > 1:
            attribute_effects = [
                rng.standard_normal(codes.max() + 1)[codes] for codes in attributes.T
            ]
            added = np.sum(attribute_effects, axis=0) / np.sqrt(len(attribute_effects))
            effects = np.sqrt(self.adds_up) * added + np.sqrt(1 - self.adds_up) * effects
        rates = self.rate * np.exp(spread * effects)
        if self.raised:
            rates[np.argmin(np.abs(self.cluster_errors().n_speakers - self.raised))] *= self.times
        return np.minimum(rates, 0.9)


DESIGNS = (
    Design("H, real speakers", "fnr", 0.0475, is_real=True),
    Design("H, real speakers", "fnr", 0.0475, adds_up=0, is_real=True),
    Design("H", "fnr", 0.02),
    Design("H", "fnr", 0.02, adds_up=0),
    Design("H", "fpr", 0.01),
    Design("H", "fpr", 0.001),
    Design("3 to 120 speakers", "fnr", 0.02, SMALL),
    Design("3 to 120 speakers", "fpr", 0.01, SMALL),
    Design("9 x 8", "fnr", 0.02, (8,) * 9),
    Design("2 x 30", "fnr", 0.02, (30,) * 2),
)
NAMED = (
    Design("H, all vary by .4", "fnr", 0.02),
    Design("H, 10 speakers at 2 times", "fnr", 0.02, times=2, raised=10),
    Design("H, 25 speakers at 2 times", "fnr", 0.02, times=2, raised=25),
    Design("H, 25 speakers at 3 times", "fnr", 0.02, times=3, raised=25),
    Design("H, 88 speakers at 2 times", "fnr", 0.02, times=2, raised=88),
    Design("H, 25 speakers at 2 times", "fpr", 0.01, times=2, raised=25),
    Design("9 x 20, one at 2 times", "fnr", 0.02, (20,) * 9, times=2, raised=20),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study best guesses of all groups, then those of groups that verdicts name."""
    for design in DESIGNS:
        for spread in SPREADS if design.adds_up else SPREADS[1:]:
            name = f"{design.name}/{design.kind}/{design.rate}/{design.adds_up:g}/{spread}"
            if is_wanted(name):
                rng = stream(seed, f"shrinkage/{name}")
                labels: Row = {"cell": name, "design": design.name, "kind": design.kind}
                labels |= {"rate": design.rate, "spread": spread, "part": "all"}
                labels |= {"crossed": design.attributes().shape[1] > 1, "adds_up": design.adds_up}
                drawn = (_drawn(design, spread, rng) for _ in range(datasets))
                yield [labels | _of_all(drawn, design.attributes(), rng)]
    for design in NAMED:
        name = f"named/{design.name}/{design.kind}/{design.rate}"
        if is_wanted(name):
            rng = stream(seed, f"shrinkage/{name}")
            labels = {"cell": name, "design": design.name, "kind": design.kind}
            labels |= {"rate": design.rate, "part": "named"}
            spread = 0.0 if design.raised else 0.4
            drawn = (_drawn(design, spread, rng) for _ in range(4 * datasets))
            yield [labels | row for row in _of_named(drawn, design.attributes())]


def _drawn(
    design: Design, spread: float, rng: np.random.Generator
) -> tuple[ClusterErrors, FloatArray]:
    """Draw one data set, and the true rates of its groups."""
    rates = design.rates(spread, rng)
    if design.is_real:
        trials = voxceleb()
        score_threshold = threshold(trials, "fpr", HIGHEST, within(trials))
        dataset = shuffled(cluster_errors(trials, "fnr", score_threshold, within(trials)), rng)
        overall_rate = float(dataset.errors.sum() / dataset.trials.sum())
        group_rates = np.minimum(rates / overall_rate, 1)
        errors = rng.binomial(np.asarray(dataset.errors, dtype=np.int64), group_rates[dataset.cell])
        return replace(dataset, errors=errors), group_rates * overall_rate
    groups = design.cluster_errors()
    if isinstance(groups, ErrorsBySpeaker):
        missed = simulate.misses(groups, rates, 1, rng)
        return replace(missed, errors=missed.errors[0]), rates
    passed = simulate.false_accepts(groups, rates, 1, rng)
    return replace(passed, errors=passed.errors[0]), rates


def _guessed(dataset: ClusterErrors, attributes: IntArray) -> tuple[Any, Any]:
    """Best guesses as an audit makes them, and how speakers vary."""
    group_moments = moments(dataset)
    floored = other_kappa2(group_moments) if group_moments.speakers_per_trial == 1 else None
    logs = log_rates(group_moments.rate, rate_interval(group_moments, 0.95, floored).n_eff)
    return shrunken(*logs, attributes, group_moments.df), group_moments


def _of_all(
    drawn: Iterator[tuple[ClusterErrors, FloatArray]],
    attributes: IntArray,
    rng: np.random.Generator,
) -> Row:
    """Root mean squared errors, what limits hold, and how often attributes seem not to add up."""
    figures: dict[str, list[FloatArray]] = {
        name: [] for name in ("raw", "guess", "held", "ratio", "p")
    }
    for dataset, rates in drawn:
        guess, group_moments = _guessed(dataset, attributes)
        trials = np.where(group_moments.trials > 0, group_moments.trials, np.nan)
        figures["raw"].append((np.log(without_zeros(group_moments.errors, trials) / rates)) ** 2)
        figures["guess"].append((guess.log_rate - np.log(rates)) ** 2)
        figures["held"].append(_holds(guess.rate, rates))
        shares = group_moments.trials / group_moments.trials.sum()
        true = rates * (1 - shares) / ((shares * rates).sum() - shares * rates)
        figures["ratio"].append(_holds(guess.ratio(shares, to_others=True), true))
        figures["p"].append(np.array(_p(dataset, group_moments, attributes, rng)))
    arrays = {name: np.array(datasets) for name, datasets in figures.items()}
    lost = np.isnan(arrays["guess"])
    row: Row = {"datasets": len(arrays["p"])}
    for name in ("raw", "guess"):
        row |= mean(np.where(lost, np.nan, arrays[name]), name)
        row[name] = float(f"{np.sqrt(row[name]):.4g}")
        row[f"{name}_error"] = float(f"{row[f'{name}_error'] / (2 * row[name]):.3g}")
    row |= mean(arrays["held"], "held") | mean(arrays["ratio"], "ratio")
    return row | mean(
        np.where(np.isnan(arrays["p"]), np.nan, arrays["p"] <= 0.05)[:, None], "rejected"
    )


def _holds(guess: Any, truth: FloatArray) -> FloatArray:
    inside = (guess.low <= truth) & (truth <= guess.high)
    return np.where(np.isnan(guess.value), np.nan, inside)


def _p(
    dataset: ClusterErrors, group_moments: Any, attributes: IntArray, rng: np.random.Generator
) -> float:
    """P value of the interaction; NaN of one attribute."""
    if attributes.shape[1] < 2:
        return float("nan")
    if isinstance(dataset, ErrorsBySpeaker) and null_method(dataset) == "permutation":
        null = permuted(dataset, None, REPLICATES, rng)
    else:
        null = gamma_multinomial(group_moments, REPLICATES, rng)
    excess = interaction(
        without_zeros(group_moments.errors, group_moments.trials), null.nonzero_rates, attributes
    )
    return float(floor(excess.value, excess.draws).p)


def _of_named(
    drawn: Iterator[tuple[ClusterErrors, FloatArray]], attributes: IntArray
) -> Iterator[Row]:
    """What is told of groups that are called worse or better, in times the truth, by power."""
    log_ratios: list[NDArray[np.float64]] = []
    datasets = 0
    for dataset, rates in drawn:
        datasets += 1
        guess, group_moments = _guessed(dataset, attributes)
        raw = ratio_interval(
            rate_interval(group_moments), rate_interval(moments_of_others(dataset))
        )
        p = holm(raw.p)
        named = np.isin(verdicts(raw.value, raw.low, raw.high, p).code, ["worse", "better"])
        named &= raw.value > 0
        shares = group_moments.trials / group_moments.trials.sum()
        true = rates * (1 - shares) / ((shares * rates).sum() - shares * rates)
        best = guess.ratio(shares, to_others=True)
        chance = power(best.value, raw.low, raw.high, 0.05 * raw.p / p)
        away = np.where(raw.value > 1, 1.0, -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = (away * np.log(raw.value / true), away * np.log(best.value / true), chance)
        log_ratios.append(np.stack(columns)[:, named])
    raw_, best_, chance = np.concatenate(log_ratios, axis=1)
    for name, in_band in (
        (f"below {LOW:g}", chance < LOW),
        (f"{LOW:g} to {FAIR:g}", (chance >= LOW) & (chance < FAIR)),
        (f"{FAIR:g} and above", chance >= FAIR),
    ):
        if in_band.any():
            yield {
                "power": name,
                "named": float(f"{in_band.sum() / datasets:.4g}"),
                "raw": float(f"{np.exp(raw_[in_band].mean()):.4g}"),
                "guess": float(f"{np.exp(best_[in_band].mean()):.4g}"),
                "datasets": datasets,
            }
