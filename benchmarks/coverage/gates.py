"""Gates on real speakers: how often fair systems fail, and one that is unfair to a group.

Speakers of the largest group of VoxCeleb1-H are dealt into three groups at random, so that all have
one rate. Each error is kept with probability one half, and in one group with a higher one, which
makes its rate so many times that of the others. In other cells a fifth of the speakers was in
another group when the baseline was audited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from benchmarks.coverage import real
from benchmarks.coverage.corpora import trials_of
from benchmarks.coverage.records import Row, mean, stream

from parivox.auditing.pairing import N_DRAWS, encoded_draws
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments, safe_divide
from parivox.core.intervals import rate_interval
from parivox.core.planning import icc_of
from parivox.core.ratios import moments_of_others, ratio_interval
from parivox.core.resampling import weighted
from parivox.core.verdict import exceeds, holm, verdicts
from parivox.decide.pilot_audit import PilotGroups
from parivox.decide.policy_file import read_policy
from parivox.decide.releases import ReleaseRate, contrast
from parivox.decide.sample_size_plan import condition_columns
from parivox.options.plan import PlanOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray

DATASETS = 500
FPR, LEVEL, POWER, GROUPS = 0.01, 0.95, 0.8, 3
LIMIT = 1.5
KEPT_SHARE = 0.5
"""Of the errors, in groups that fare alike."""
CONDITION = read_policy(
    {"parivox-policy": 1, "conditions": [{"name": "FNR", "rate": "fnr", "not": "worse"}]}
).conditions[0]
CASES = (
    ("V2", 1.0, 0.0),
    ("L", 1.0, 0.0),
    ("V2", LIMIT, 0.0),
    ("L", LIMIT, 0.0),
    ("V2", 2.0, 0.0),
    ("L", 2.0, 0.0),
    ("V2", 1.0, 0.2),
    ("L", 1.0, 0.2),
)
"""System, how many times as frequent false rejects are in the first group, and the share of
speakers who changed group since the baseline."""


class Lot(NamedTuple):
    """Everyone who is dealt, with what a plan asks for."""

    target: ErrorsBySpeaker
    nontarget: ErrorsByPair
    people: IntArray
    speakers: int  # of each group, as planned for twice the rate
    rate: float  # of FNR where errors are kept as in groups that fare alike


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each case; a row for each condition."""
    for system, times, moved in CASES:
        name = f"gates/{system}/{times:g}{'/moved' if moved else ''}"
        if is_wanted(name):
            rng = stream(seed, name)
            rows = failure_rows(system, real.GROUPS[0], times, moved, datasets, rng)
            yield [{"cell": name} | row for row in rows]


def failure_rows(
    system: str,
    group: str | None,
    times: float,
    moved: float,
    datasets: int,
    rng: np.random.Generator,
) -> list[Row]:
    """Return how often each condition fails; speakers are of one group, or of all together."""
    lot = _lot(system, group)
    fails = [_fails(lot, times, moved, rng) for _ in range(datasets)]
    labels: dict[str, Any] = {"system": system, "times": times, "level": LEVEL, "moved": moved}
    labels |= {"speakers": lot.speakers, "groups": GROUPS, "rate": float(f"{lot.rate:.3g}")}
    return [
        labels
        | {"condition": condition, "datasets": datasets}
        | mean(np.array([[failures[condition]] for failures in fails], dtype=np.float64), "fails")
        for condition in fails[0]
    ]


def _lot(system: str, group: str | None) -> Lot:
    trials = trials_of(system)
    is_in_group = real.within(trials, group)
    threshold = real.threshold(trials, "fpr", FPR, is_in_group)
    target, nontarget = (
        real.cluster_errors(trials, kind, threshold, is_in_group) for kind in ("fnr", "fpr")
    )
    assert isinstance(target, ErrorsBySpeaker)
    assert isinstance(nontarget, ErrorsByPair)
    target = target.select(cell=np.zeros_like(target.cell), n_cells=1)
    nontarget = nontarget.select(cell=np.zeros_like(nontarget.cell), n_cells=1)
    thinned = _thinned(target, np.full(1, KEPT_SHARE), np.random.default_rng(1))
    thinned_moments = moments(thinned)
    trials_each = float(target.trials.sum() / target.speaker.size)
    rate = float(target.errors.sum() / target.trials.sum()) * KEPT_SHARE
    icc = float(icc_of(rate_interval(thinned_moments).deff, trials_each)[0])
    names, unit_weights = [str(i) for i in range(GROUPS)], np.ones(GROUPS)
    pilot = PilotGroups(
        metric="fnr",
        names=names,
        errors=rate * trials_each * unit_weights,
        trials=trials_each * unit_weights,
        speakers=unit_weights,
        df=np.nan * unit_weights,
        trials_per_speaker=trials_each * unit_weights,
        icc=icc * unit_weights,
        icc_from=np.full(GROUPS, "pooled"),
        icc_now=icc * unit_weights,
        are_disjoint=True,
    )
    # both errors, as verdicts have it
    needed = condition_columns(CONDITION, pilot, 2 * GROUPS, PlanOptions(power=POWER))
    return Lot(target, nontarget, np.unique(target.speaker), needed["speakers_to_fail"][0], rate)


def _thinned(cluster_errors: Any, kept_shares: FloatArray, rng: np.random.Generator) -> Any:
    """The tally with errors kept by chance, of each cell so many."""
    return cluster_errors.select(
        errors=rng.binomial(cluster_errors.errors, kept_shares[cluster_errors.cell])
    )


def _dealt(lot: Lot, rng: np.random.Generator) -> IntArray:
    """Return a group of each speaker, drawn at random; -1 for speakers who are in none."""
    speakers = rng.permutation(lot.people)[: GROUPS * lot.speakers]
    group = np.full(int(lot.people.max()) + 1, -1)
    group[speakers] = np.arange(speakers.size) % GROUPS
    return group


def _moved(group: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """Return the groups where a share of the speakers of each is in another one."""
    before = group.copy()
    for k in range(GROUPS):
        speakers = np.flatnonzero(group == k)
        moved_speakers = rng.choice(speakers, int(share * speakers.size), replace=False)
        before[moved_speakers] = (k + 1) % GROUPS
    return before


def _targets(lot: Lot, group: IntArray) -> ErrorsBySpeaker:
    """Return the target trials by group."""
    cell = group[lot.target.speaker]
    order = np.argsort(cell, kind="stable")[np.count_nonzero(cell < 0) :]
    return lot.target.select(order, cell=cell[order], n_cells=GROUPS)


def _nontargets(lot: Lot, group: IntArray) -> ErrorsByPair:
    """Return the nontarget trials within each group."""
    first_group, second_group = (
        group[lot.nontarget.first_speaker],
        group[lot.nontarget.second_speaker],
    )
    pair = np.where(first_group == second_group, first_group, -1)
    order = np.argsort(pair, kind="stable")[np.count_nonzero(pair < 0) :]
    return lot.nontarget.select(order, cell=pair[order], n_cells=GROUPS)


def _fails(lot: Lot, times: float, moved: float, rng: np.random.Generator) -> dict[str, bool]:
    """Which conditions one draw fails."""
    group = _dealt(lot, rng)
    target, nontarget = _targets(lot, group), _nontargets(lot, group)
    before = _targets(lot, _moved(group, moved, rng)) if moved else target
    kept_shares = np.full(GROUPS, KEPT_SHARE)
    more = np.where(np.arange(GROUPS) == 0, KEPT_SHARE * times, KEPT_SHARE)
    current, baseline = _thinned(target, more, rng), _thinned(before, kept_shares, rng)
    errors_by_metric = (current, _thinned(nontarget, kept_shares, rng))
    rates = [rate_interval(moments(cluster_errors)) for cluster_errors in errors_by_metric]
    ratios = [
        ratio_interval(rate, rate_interval(moments_of_others(cluster_errors)))
        for rate, cluster_errors in zip(rates, errors_by_metric, strict=True)
    ]
    p_holm = holm(np.concatenate([interval.p for interval in ratios])).reshape(2, -1)
    codes = [
        verdicts(interval.value, interval.low, interval.high, p, confidence=LEVEL).code
        for interval, p in zip(ratios, p_holm, strict=True)
    ]

    def broken(estimate: FloatArray, low: FloatArray, most: float, df: FloatArray) -> bool:
        return bool((holm(exceeds(estimate, low, most, df, LEVEL)) < 1 - LEVEL).any())

    fnr, ratio = rates[0], ratios[0]
    changes = _changes(current, baseline, rng, has_moved=moved > 0)
    return {
        "FNR not worse": bool((codes[0] == "worse").any()),
        "FPR not worse": bool((codes[1] == "worse").any()),
        "FNR at most 1.5x": broken(ratio.value, ratio.low, LIMIT, fnr.df),
        "FNR at most its rate": broken(fnr.rate, fnr.low, lot.rate, fnr.df),
        "FNR at most 1x the baseline": broken(*changes[:2], 1.0, changes[2]),
        "FNR at most 1.5x the baseline": broken(*changes[:2], LIMIT, changes[2]),
    }


def _changes(
    new: ErrorsBySpeaker, old: ErrorsBySpeaker, rng: np.random.Generator, *, has_moved: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ratio of two releases in each group, with its lower limit and df.

    They are paired, unless people have moved between groups.
    """
    weights = rng.exponential(size=(N_DRAWS, int(new.speaker.max()) + 1))
    rates_by_release = []
    for release, cluster_errors in (("old", old), ("new", new)):
        drawn = safe_divide(*weighted(cluster_errors, weights))
        rate = safe_divide(
            cluster_errors.sum_by_cell(cluster_errors.errors),
            cluster_errors.sum_by_cell(cluster_errors.trials),
        )
        texts = encoded_draws(drawn)
        rates_by_release.append(
            [
                ReleaseRate(
                    float(rate[i]),
                    float(drawn[:, i].std(ddof=1)),
                    float(np.log(drawn[:, i]).std(ddof=1)),
                    float(cluster_errors.n_speakers[i] - 1),
                    "list",
                    texts[i],
                    1.0,
                    "",
                    members_hash=release if has_moved else "",
                )
                for i in range(GROUPS)
            ]
        )
    rows = [contrast([a, b], [-1, 1], LEVEL) for a, b in zip(*rates_by_release, strict=True)]
    columns = [[row[name] for row in rows] for name in ("log_ratio", "log_low", "df")]
    logs, low, df = (np.array(column, dtype=np.float64) for column in columns)
    return np.exp(logs), np.exp(low), df
