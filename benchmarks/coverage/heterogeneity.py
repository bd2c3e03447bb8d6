"""The test of all groups at once, on systems that treat them alike and on some that do not.

Real speakers, with all their trials, change groups at random (both errors of two systems);
everything else is simulated, on designs of equal groups and on the real list's speakers and pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from benchmarks.coverage import simulate
from benchmarks.coverage.corpora import voxceleb
from benchmarks.coverage.floors import LEVEL, log_spread, rejected
from benchmarks.coverage.real import cluster_errors, threshold, within
from benchmarks.coverage.records import Row, mean, stream

from parivox.core.beyond_noise import expect_errors, heterogeneity, welch
from parivox.core.cluster_errors import ErrorsBySpeaker, moments, safe_divide
from parivox.core.intervals import rate_interval
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted, without_zeros
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.spread import gini
from parivox.core.verdict import asked_together, holm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.coverage.simulate import FloatArray, Spread

    from parivox.core.cluster_errors import ErrorsByPair

    ClusterErrors: TypeAlias = ErrorsBySpeaker | ErrorsByPair

DATASETS = 1000
REPLICATES = 499
AT_ONCE = 50
SYSTEMS = ("V2", "L")
PLAINLY = "plainly"  # without the assumption of similar variation between speakers
POINTS = (0.01, 0.001)  # FPR of all trials at which speakers of the real list are permuted
CALM, WILD = simulate.Spread(target=0.125), simulate.Spread(target=0.5)


@dataclass(frozen=True)
class Design:
    """Groups of one true rate, or with one of `times` as much; groups and speakers 0: H's."""

    name: str
    kind: str
    rate: float
    groups: int = 0
    speakers: int = 0
    times: float = 1.0
    raised: int = 0  # the group with about as many speakers
    unequal: bool = False  # every other group's speakers vary four times as much
    trials: tuple[int, int] = (simulate.TRIALS, simulate.TRIALS)  # a speaker: first, last group
    weak: bool = False  # a fifth of the usual variance between speakers
    permuted: bool = False  # by permutation, though an audit would not
    crossed: bool = False  # all speakers meet, and a pair is of whoever enrols: an audit has no p

    def cluster_errors(self) -> ClusterErrors:
        """Return the groups with their trials, without errors."""
        if not self.groups:
            trials = voxceleb()
            return cluster_errors(trials, self.kind, np.inf, within(trials))
        sizes = (self.speakers,) * self.groups
        trials_each = np.rint(np.geomspace(*self.trials, self.groups)).astype(int)
        if self.kind == "fnr":
            return simulate.target_design(sizes, trials_each)
        if self.crossed:
            return simulate.enrolled_design(sizes, 1)
        return simulate.nontarget_design(sizes, trials_each)

    def draw(self, datasets: int, rng: np.random.Generator) -> ClusterErrors:
        """Draw data sets: a tally whose errors are [dataset, entry]."""
        design = self.cluster_errors()
        rates = np.full(design.n_cells, self.rate)
        if self.raised:
            rates[np.argmin(np.abs(design.n_speakers - self.raised))] *= self.times
        if not isinstance(design, ErrorsBySpeaker):
            return simulate.false_accepts(design, rates, datasets, rng)

        def errors(spread: Spread) -> FloatArray:
            drawn = simulate.misses(design, rates, datasets, rng, spread=spread)
            return np.asarray(drawn.errors, dtype=np.float64)

        if not self.unequal:
            return replace(design, errors=errors(simulate.WEAK if self.weak else simulate.SPREAD))
        return replace(design, errors=np.where(design.cell % 2, errors(WILD), errors(CALM)))


EQUAL_GROUPS = tuple(
    Design(f"{n} x {size}", kind, rate, n, size)
    for kind, rate in (("fnr", 0.02), ("fpr", 0.01))
    for n, size in ((2, 30), (9, 8), (20, 25), (50, 10))
)
PERMUTED = tuple(
    Design(
        f"9 x {size}, trials 1:4, permuted", "fnr", rate, 9, size, trials=(58, 230), permuted=True
    )
    for size, rate in ((20, 0.05), (20, 0.02))
)
CROSSED = tuple(
    Design(f"{n} x {size}, crossed", "fpr", 0.01, n, size, crossed=True)
    for n, size in ((2, 30), (9, 20))
)
FAIR = (
    *EQUAL_GROUPS,
    Design("H", "fnr", 0.0475),
    Design("H", "fpr", 0.01),
    Design("H", "fpr", 0.001),
    Design("9 x 20, trials 1:8", "fnr", 0.05, 9, 20, trials=(29, 230)),
    Design("9 x 30, variance 1:4", "fnr", 0.02, 9, 30, unequal=True),
    Design("H, variance 1:4", "fnr", 0.0475, unequal=True),
    *PERMUTED,
    Design(
        "9 x 40, 5 to 20 trials, permuted",
        "fnr",
        0.05,
        9,
        40,
        trials=(5, 20),
        weak=True,
        permuted=True,
    ),
    Design("9 x 40, 5 to 20 trials", "fnr", 0.05, 9, 40, trials=(5, 20), weak=True),
    *CROSSED,
)
UNFAIR = tuple(
    Design(f"H, {size} speakers at {times:g} times", kind, rate, times=times, raised=size)
    for kind, rate in (("fnr", 0.0475), ("fnr", 0.02), ("fpr", 0.01))
    for size, times in ((88, 3.0), (25, 3.0), (88, 2.0))
)


@dataclass(frozen=True)
class Dealt:
    """Real speakers of a system, with all their trials, in groups drawn at random."""

    name: str
    words: str
    kinds: tuple[str, ...] = ("fnr", "fpr")
    group: str = ""  # whose speakers alone take part; none: everyone, in groups of H's sizes
    shares: tuple[int, ...] = ()  # of the speakers in each group
    times: float = 1.0  # what the FPR of the group with about `raised` speakers is of the others'
    raised: int = 0

    def draw(
        self, system: str, kind: str, point: float, datasets: int, rng: np.random.Generator
    ) -> tuple[float, Iterator[ClusterErrors]]:
        """The rate of all trials, and data sets one after the other.

        Nontarget trials count where both speakers came to one group, as in an audit.
        """
        trials = voxceleb(system)
        of_all = within(trials, self.group or None)
        base_threshold = threshold(trials, "fpr", point, of_all)
        raised_threshold = threshold(trials, "fpr", self.times * point, of_all)
        is_counted = of_all & (trials.target == (kind == "fnr"))
        if kind == "fnr":
            dataset = cluster_errors(trials, kind, base_threshold, is_counted)
            rate = float(f"{dataset.errors.sum() / dataset.trials.sum():.3g}")
            return rate, (shuffled(dataset, rng) for _ in range(datasets))
        trials = replace(
            trials,
            **{
                name: getattr(trials, name)[is_counted]
                for name in ("first_speaker", "second_speaker", "target", "score")
            },
        )
        members = np.unique(np.concatenate((trials.first_speaker, trials.second_speaker)))
        groups = trials.group[members]
        if self.shares:
            ends = np.rint(members.size * np.cumsum(self.shares) / sum(self.shares))
            groups = np.repeat(np.arange(len(self.shares)), np.diff(ends, prepend=0).astype(int))
            trials = replace(trials, names=[str(share) for share in self.shares])

        def drawn() -> Iterator[ClusterErrors]:
            for _ in range(datasets):
                group = np.zeros_like(trials.group)
                group[members] = rng.permutation(groups)
                dealt = replace(trials, group=group)
                dataset = cluster_errors(dealt, kind, base_threshold, within(dealt))
                if self.raised:
                    worse = cluster_errors(dealt, kind, raised_threshold, within(dealt)).errors
                    is_raised = dataset.cell == np.argmin(np.abs(dataset.n_speakers - self.raised))
                    dataset = replace(dataset, errors=np.where(is_raised, worse, dataset.errors))
                yield dataset

        return point, drawn()


DEALT = (
    Dealt("permuted", "speakers permuted"),
    Dealt("m+USA", "men of the USA in 5 groups", ("fpr",), "m+USA", (8, 4, 2, 1, 1)),
    Dealt("88 at 3 times", "permuted, 88 at 3 times", ("fpr",), times=3.0, raised=88),
)
TOGETHER = (
    (Design("H", "fnr", 0.0475), Design("H", "fpr", 0.01)),
    (Design("3 x 40", "fnr", 0.02, 3, 40), Design("", "fpr", 0.01, 3, 40)),
    (Design("9 x 20", "fnr", 0.02, 9, 20), Design("", "fpr", 0.01, 9, 20)),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study type I errors and power, cell by cell."""
    for design in (*FAIR, *UNFAIR):
        name = f"{design.name}/{design.kind}/{design.rate}"
        if is_wanted(name):
            labels = {"cell": name, "design": design.name, "kind": design.kind, "rate": design.rate}
            labels |= {"fair": design in FAIR}
            rng = stream(seed, f"heterogeneity/{name}")
            drawn = drawn_of(design, datasets, rng)
            rows = rejections(drawn, rng, is_permuted=design.permuted)
            yield [labels | row for row in rows]
    for targets, passes in TOGETHER:
        name = f"{targets.name}/both/asked together"
        if is_wanted(name):
            rng = stream(seed, f"heterogeneity/{name}")
            labels = {"cell": name, "design": targets.name, "fair": True}
            target_sets, nontarget_sets = (
                drawn_of(design, datasets // 2, rng) for design in (targets, passes)
            )
            rows = joint_rows(zip(target_sets, nontarget_sets, strict=True), rng)
            yield [labels | {"kind": "both", "rate": 0.0} | row for row in rows]
    for system in SYSTEMS:
        for dealt in DEALT:
            for kind in dealt.kinds:
                for point in POINTS:
                    name = f"{system}, {dealt.name}/{kind}/{point}"
                    if is_wanted(name):
                        rng = stream(seed, f"heterogeneity/{name}")
                        rate, drawn = dealt.draw(system, kind, point, datasets, rng)
                        labels = {"cell": name, "design": f"{system}, {dealt.words}", "kind": kind}
                        labels |= {"rate": rate, "fair": not dealt.raised}
                        yield [labels | row for row in rejections(drawn, rng)]


def drawn_of(design: Design, datasets: int, rng: np.random.Generator) -> Iterator[ClusterErrors]:
    """Draw data sets one after the other."""
    for start in range(0, datasets, AT_ONCE):
        drawn = design.draw(min(AT_ONCE, datasets - start), rng)
        yield from (replace(drawn, errors=errors) for errors in drawn.errors)


def shuffled(dataset: ClusterErrors, rng: np.random.Generator) -> ErrorsBySpeaker:
    """The same speakers, with all their trials, in other groups."""
    assert isinstance(dataset, ErrorsBySpeaker)
    cell = rng.permutation(dataset.cell)
    order = np.argsort(cell, kind="stable")
    counts = dataset.errors[..., order], dataset.trials[order]
    return ErrorsBySpeaker(cell[order], dataset.speaker[order], *counts, dataset.n_cells)


def rejections(
    drawn: Iterator[ClusterErrors], rng: np.random.Generator, *, is_permuted: bool = False
) -> list[Row]:
    """Return the share of p values of at most 0.05, by measure."""
    p: dict[str, list[float]] = {"heterogeneity": [], PLAINLY: [], "Gini": [], "tau_log": []}
    for dataset in drawn:
        for measure, p_value in _p_values(dataset, rng, is_permuted=is_permuted).items():
            p[measure].append(p_value)
    return [
        {"measure": measure, "datasets": len(p_values)} | rejected(np.array(p_values))
        for measure, p_values in p.items()
    ]


def _p_values(
    dataset: ClusterErrors, rng: np.random.Generator, *, is_permuted: bool = False
) -> dict[str, float]:
    """P value of each measure for one data set, drawn as an audit does."""
    if isinstance(dataset, ErrorsBySpeaker) and (
        is_permuted or null_method(dataset) == "permutation"
    ):
        null = permuted(dataset, None, REPLICATES, rng)
    else:
        null = gamma_multinomial(moments(dataset), REPLICATES, rng)
    errors, trials = dataset.sum_by_cell(dataset.errors), dataset.sum_by_cell(dataset.trials)
    rates = safe_divide(errors, trials)
    estimable_rates = np.where(expect_errors(errors, trials), rates, np.nan)
    comparisons = {
        "heterogeneity": heterogeneity(estimable_rates, null.rates),
        "Gini": (gini(rates).value, gini(null.rates).value),
        "tau_log": (log_spread(without_zeros(errors, trials)), log_spread(null.nonzero_rates)),
    }
    p = {measure: float(floor(*comparison).p) for measure, comparison in comparisons.items()}
    interval = rate_interval(moments(dataset))
    # also by a test that does not take speakers to vary alike in all groups
    return p | {
        PLAINLY: max(p["heterogeneity"], float(welch(interval.rate, interval.se, interval.df)))
    }


def joint_rows(
    pairs: Iterable[tuple[ClusterErrors, ClusterErrors]], rng: np.random.Generator
) -> list[Row]:
    """Return the share of data sets of which something is said, by what is asked of both rates."""
    flags_by_question: dict[str, list[bool]] = {
        "which": [],
        "whether": [],
        "both at full": [],
        "both": [],
    }
    for pair in pairs:
        of_all = holm([_p_values(dataset, rng)["heterogeneity"] for dataset in pair])
        of_groups = holm(np.concatenate([_of_groups(dataset) for dataset in pair]))
        joint_p = np.concatenate(asked_together(of_groups, of_all))
        flags_by_question["which"].append(bool(np.nanmin(of_groups) < LEVEL))
        flags_by_question["whether"].append(bool(np.nanmin(of_all) < LEVEL))
        flags_by_question["both at full"].append(
            flags_by_question["which"][-1] or flags_by_question["whether"][-1]
        )
        flags_by_question["both"].append(bool(np.nanmin(joint_p) < LEVEL))
    return [
        {"asked": question, "datasets": len(flags)}
        | mean(np.array(flags, dtype=np.float64), "rejected")
        for question, flags in flags_by_question.items()
    ]


def _of_groups(dataset: ClusterErrors) -> FloatArray:
    """P value of each group's ratio to all others."""
    other_rates = rate_interval(moments_of_others(dataset))
    return np.asarray(ratio_interval(rate_interval(moments(dataset)), other_rates).p)
