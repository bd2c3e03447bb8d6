"""Intervals and findings by four methods for the same lists, in which error rates are equal.

Real speakers, with all of their trials, change groups at random: those of VoxCeleb1-H, by V2 or L,
in 18 groups of the sizes of gender by nationality; those of speechocean762, by ge2e, in 10 groups.
The threshold has an FPR of 1 % over all trials. The bootstraps are written here, as the tools or
plans that they are named for define them; the study `peers` compares them with the tools' own code.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from benchmarks.coverage.corpora import ALL_PAIRS, DESIGNED, SYSTEMS, trial_table, trials_of
from benchmarks.coverage.records import Row, mean, stream
from scipy.special import ndtr

import parivox as pv
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.core.rates import threshold_at_fpr
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.verdict import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray

DATASETS = 150
REPLICATES = 2000
POINT = 0.01
LEVEL = 0.05
LISTS = (("V2", DESIGNED), ("L", DESIGNED), ("ge2e", DESIGNED), ("ge2e", ALL_PAIRS))
"""Systems, and the pairs of recordings that are trials."""
GROUP_SIZES = {"ge2e": (5, 6, 8, 10, 12, 15, 25, 27, 29, 113)}
"""Speakers of each group; other systems have the groups of their list."""
PARIVOX = "Parivox"
TIMES = 10  # as many lists for it as for a bootstrap, as it takes a tenth of the time
SIZES = ((5, 15), (25, 29), (88, 127))  # speakers of a group; larger groups are half of the list


@dataclass(frozen=True, eq=False)
class Pairs:
    """Trials and errors of one class by enrolment and test speaker, arrays of shape (pair,)."""

    enrol: IntArray
    test: IntArray
    errors: IntArray
    trials: IntArray

    def within(self, group: IntArray) -> tuple[IntArray, Pairs]:
        """Return the pairs with both speakers in one group, by rising group, and their groups."""
        chosen = np.flatnonzero(group[self.enrol] == group[self.test])
        chosen = chosen[np.argsort(group[self.enrol[chosen]], kind="stable")]
        columns = (self.enrol, self.test, self.errors, self.trials)
        return group[self.enrol[chosen]], Pairs(*(column[chosen] for column in columns))


@dataclass(frozen=True, eq=False)
class System:
    """Errors of a system at its threshold, and the group of each speaker."""

    pairs: dict[str, Pairs]  # by fnr and fpr
    group: IntArray
    names: list[str]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says of the groups, arrays of shape (group,)."""

    low: FloatArray
    high: FloatArray
    p: FloatArray  # against all other groups combined; NaN where there is none
    sd: FloatArray  # of the rate


def read(system: str, pairs: str = DESIGNED, point: float = POINT) -> System:
    """Read errors at the threshold with this FPR, and the groups that speakers are dealt out to."""
    by_class = _rows_of_table(system) if pairs == DESIGNED else _rows_of_all_pairs(system)
    trials = trials_of(system, pairs)
    counts = pv.Counts.from_scores(trials.score, trials.target)
    threshold = float(threshold_at_fpr(counts.curve, point))
    by_pair = (
        by_class.with_columns(is_error=(pl.col("score") >= threshold) != pl.col("target"))
        .group_by("target", "enrol", "test", maintain_order=True)
        .agg(errors=pl.col("is_error").sum(), trials=pl.len())
    )
    pairs_by_kind = {}
    for kind, is_target in (("fnr", True), ("fpr", False)):
        rows = by_pair.filter(pl.col("target") == is_target)
        columns = ("enrol", "test", "errors", "trials")
        pairs_by_kind[kind] = Pairs(*(rows[name].cast(pl.Int64).to_numpy() for name in columns))
    group, names = trials.group, trials.names
    if system in GROUP_SIZES:
        sizes = GROUP_SIZES[system]
        group, names = np.repeat(np.arange(len(sizes)), sizes), [*map(str, sizes)]
    return System(pairs_by_kind, group, names)


def _rows_of_table(system: str) -> pl.DataFrame:
    """Return trials with the numbers of both speakers, in the order of their ids."""
    table = trial_table(system).trials
    sides = {side: table[side].str.split("/").list.first() for side in ("enrol", "test")}
    order = pl.Enum(pl.concat([*sides.values()]).unique().sort())
    return pl.DataFrame({side: speaker.cast(order) for side, speaker in sides.items()}).select(
        pl.col("enrol", "test").to_physical(), target=table["label"] == 1, score=table["score"]
    )


def _rows_of_all_pairs(system: str) -> pl.DataFrame:
    """Return all pairs of recordings; each of two speakers enrols in half of their trials."""
    trials = trials_of(system, ALL_PAIRS)
    first, second = trials.first_speaker, trials.second_speaker
    is_turned = np.arange(first.size) % 2 == 1
    return pl.DataFrame(
        {
            "enrol": np.where(is_turned, second, first),
            "test": np.where(is_turned, first, second),
            "target": trials.target,
            "score": trials.score,
        }
    )


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each list, with groups of its own."""
    for name, pairs in LISTS:
        cell = name if pairs == DESIGNED else f"{name}, {pairs}"
        if not is_wanted(cell):
            continue
        system = read(name, pairs)
        labels: Row = {"cell": cell, "system": name, "corpus": SYSTEMS[name], "pairs": pairs}
        labels |= {"comparisons": 2 * len(system.names)}
        yield [
            labels
            | {"method": method}
            | _shares(system, method, datasets * (TIMES if method == PARIVOX else 1), seed)
            for method in INTERVALS
        ]


def _shares(system: System, method: str, datasets: int, seed: int) -> Row:
    """Coverage by size of the group, and how often any comparison is significant.

    Coverage of FNR is `coverage`, that of FPR `fpr_coverage`. An interval without width, where no
    replicate has an error, holds no rate.
    """
    rng, group_rng = stream(seed, f"rivals/{method}"), stream(seed, "rivals")
    sizes = np.bincount(system.group)
    rates = {kind: pairs.errors.sum() / pairs.trials.sum() for kind, pairs in system.pairs.items()}
    is_covered = {kind: np.empty((datasets, sizes.size)) for kind in rates}
    is_significant = np.empty(datasets)
    seconds = 0.0
    for i in range(datasets):
        group = group_rng.permutation(system.group)
        start = time.process_time()
        answers = {
            kind: INTERVALS[method](*pairs.within(group), sizes.size, rng)
            for kind, pairs in system.pairs.items()
        }
        seconds += time.process_time() - start
        for kind, rate in rates.items():
            low, high = answers[kind].low, answers[kind].high
            is_covered[kind][i] = np.where(np.isnan(high), np.nan, (low <= rate) & (rate <= high))
        p = np.concatenate([answer.p for answer in answers.values()])
        is_significant[i] = np.nanmin(holm(p)) < LEVEL
    row = {"datasets": datasets, "cpu": float(f"{seconds / datasets:.3g}")}
    row |= mean(is_significant, "significant")
    for kind, prefix in (("fnr", ""), ("fpr", "fpr_")):
        for least, most in SIZES:
            is_of_size = (least <= sizes) & (sizes <= most) & (sizes < sizes.sum() / 4)
            row |= mean(is_covered[kind][:, is_of_size], f"{prefix}coverage_{least}_{most}")
    return row


def from_replicates(
    errors: FloatArray, trials: FloatArray, observed: FloatArray, n_trials: FloatArray
) -> Answer:
    """Percentile intervals, and p by the standard deviation of the log ratio to the others.

    Errors and trials of replicates have shape (replicate, group), those observed (group,). There is
    no p where more than 5 % of the replicates have no ratio or one of 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = errors / trials
        log_ratio = np.log(rate / _of_others(errors, trials))
        observed_ratio = np.log(observed / n_trials / _of_others(observed, n_trials))
    is_known = np.isfinite(log_ratio)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of groups without trials of one class
        low, high = np.nanquantile(rate, (LEVEL / 2, 1 - LEVEL / 2), axis=0)
        sd = np.nanstd(np.where(is_known, log_ratio, np.nan), axis=0, ddof=1)
        p = 2 * ndtr(-np.abs(observed_ratio) / sd)
        rate_sd = np.nanstd(rate, axis=0, ddof=1)
    has_p = np.isfinite(observed_ratio) & (is_known.mean(axis=0) >= 1 - LEVEL)
    return Answer(low, high, np.where(has_p, p, np.nan), rate_sd)


def _of_others(errors: FloatArray, trials: FloatArray) -> FloatArray:
    """Return the rate of all other groups combined."""
    others: FloatArray = (errors.sum(axis=-1, keepdims=True) - errors) / (
        trials.sum(axis=-1, keepdims=True) - trials
    )
    return others


def _sums(group: IntArray, values: IntArray, n_groups: int) -> FloatArray:
    return np.bincount(group, values, minlength=n_groups).astype(np.float64)


def rows(group: IntArray, pairs: Pairs, n_groups: int, rng: np.random.Generator) -> Answer:
    """Resample trials one by one, as the bootstrap of fairlearn's MetricFrame does."""
    errors, trials = (_sums(group, c, n_groups) for c in (pairs.errors, pairs.trials))
    kinds = np.concatenate([errors, trials - errors])
    drawn = rng.multinomial(int(kinds.sum()), kinds / kinds.sum(), size=REPLICATES).astype(float)
    drawn_errors, drawn_correct = drawn[:, :n_groups], drawn[:, n_groups:]
    return from_replicates(drawn_errors, drawn_errors + drawn_correct, errors, trials)


def conditions(group: IntArray, pairs: Pairs, n_groups: int, rng: np.random.Generator) -> Answer:
    """Resample enrolment speakers, and the trials of each drawn speaker once.

    A speaker who is drawn several times has the same trials each time, as in ConfidenceIntervals.
    """
    return _resample_speakers(group, pairs, n_groups, rng, is_drawn_once=True)


def two_layers(group: IntArray, pairs: Pairs, n_groups: int, rng: np.random.Generator) -> Answer:
    """Resample enrolment speakers, then trials within each drawn speaker."""
    return _resample_speakers(group, pairs, n_groups, rng, is_drawn_once=False)


def _resample_speakers(
    group: IntArray, pairs: Pairs, n_groups: int, rng: np.random.Generator, *, is_drawn_once: bool
) -> Answer:
    units, unit = np.unique(pairs.enrol, return_inverse=True)
    errors, trials = (_sums(unit, c, units.size) for c in (pairs.errors, pairs.trials))
    unit_group = np.zeros(units.size, dtype=np.int64)
    unit_group[unit] = group
    drawn_errors, drawn_trials = np.zeros((2, REPLICATES, n_groups))
    for cell in np.unique(unit_group):
        is_member = unit_group == cell
        n = int(is_member.sum())
        weights = rng.multinomial(n, np.full(n, 1 / n), size=REPLICATES)
        drawn_trials[:, cell] = weights @ trials[is_member]
        shares = errors[is_member] / trials[is_member]
        if is_drawn_once:
            speaker_errors = weights * rng.binomial(
                trials[is_member].astype(np.int64), shares, size=weights.shape
            )
        else:
            n_drawn = (weights * trials[is_member]).astype(np.int64)
            speaker_errors = rng.binomial(n_drawn, shares)
        drawn_errors[:, cell] = speaker_errors.sum(axis=1)
    observed = (_sums(group, column, n_groups) for column in (pairs.errors, pairs.trials))
    return from_replicates(drawn_errors, drawn_trials, *observed)


def errors_by_group(group: IntArray, pairs: Pairs, n_groups: int) -> ErrorsBySpeaker | ErrorsByPair:
    """Return errors by group and by speaker, or by pair of speakers whoever enrols."""
    if np.array_equal(pairs.enrol, pairs.test):
        return ErrorsBySpeaker(group, pairs.enrol, pairs.errors, pairs.trials, n_groups)
    first, second = np.minimum(pairs.enrol, pairs.test), np.maximum(pairs.enrol, pairs.test)
    n = int(second.max()) + 1
    codes, code = np.unique((group * n + first) * n + second, return_inverse=True)
    cell, pair = np.divmod(codes, n * n)
    first_of_pair, second_of_pair = np.divmod(pair, n)
    return ErrorsByPair(
        cell,
        first_of_pair,
        second_of_pair,
        errors=_sums(code, pairs.errors, codes.size).astype(np.int64),
        trials=_sums(code, pairs.trials, codes.size).astype(np.int64),
        n_cells=n_groups,
    )


def parivox(
    group: IntArray, pairs: Pairs, n_groups: int, _rng: np.random.Generator | None = None
) -> Answer:
    """Closed-form intervals over speakers and ratios to the other groups, as an audit has them."""
    errors = errors_by_group(group, pairs, n_groups)
    rates = rate_interval(moments(errors))
    ratios = ratio_interval(rates, rate_interval(moments_of_others(errors)))
    return Answer(rates.low, rates.high, np.asarray(ratios.p), rates.se)


INTERVALS: dict[str, Callable[[IntArray, Pairs, int, np.random.Generator], Answer]] = {
    "rows": rows,
    "conditions": conditions,
    "two layers": two_layers,
    PARIVOX: parivox,
}
