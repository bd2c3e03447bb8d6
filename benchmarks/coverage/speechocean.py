"""A second corpus: the questions of other studies, on real speakers that no constant was chosen on.

The 250 people of speechocean762 with their scores by ge2e, a weak encoder, whose FNR is 36 % at
an FPR of 1 %. Speakers are drawn with replacement, so that all 250 are the population, or change
groups at random. The list is that of docs/speechocean.md, or all pairs of recordings.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import findings, gates, heterogeneity, mitigation, real, rivals
from benchmarks.coverage.calibration_loss import (
    audited_real,
    calibrated,
    loss_rows,
)
from benchmarks.coverage.corpora import ALL_PAIRS, DESIGNED, SPEECHOCEAN, trials_of
from benchmarks.coverage.mitigation import drawn_material
from benchmarks.coverage.rates import batches, collected
from benchmarks.coverage.records import Row, interval_row, stream
from benchmarks.coverage.thresholds import rates_again

import parivox as pv
from parivox.auditing.operating_points import parse_point
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import limits, rate_interval
from parivox.core.ratios import ratio_interval
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.resampling import from_replicates, speaker_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.corpora import Trials
    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.rivals import Pairs
    from benchmarks.coverage.simulate import FloatArray, IntArray

    from parivox.auditing.operating_points import OperatingPoint

DATASETS = 50
"""Lists in which thresholds are set; other cells have some times as many, which take less time."""
SYSTEM = "ge2e"
POINT = 0.01
LEVEL = 0.95
PAIRS = (DESIGNED, ALL_PAIRS)
RATE_SIZES = {"fnr": (8, 15, 25, 50, 100), "fpr": (15, 25, 50, 100)}
REFERENCE_SIZE = 100  # speakers of the group that others are compared with
CURVES = {DESIGNED: ((8, 15, 25, 50, 100), 8), ALL_PAIRS: ((8, 15, 25, 50), 2)}
"""Speakers of a group, and times as many data sets as audits."""
BINS = 1024
AT_ONCE = 50
REPLICATES = 200
DESIGN = findings.Design("speechocean", ("gender", "band", "gender+band"), system=SYSTEM)
GATES = ((1.0, 0.0), (1.5, 0.0), (2.0, 0.0), (1.0, 0.2))
GAINS = (("fpr=0.01", 0.0), ("fpr=0.01", 0.05), (mitigation.CALIBRATE, 0.0))
GAIN_SPEAKERS = 200
CALIBRATED, AUDITED = 200, 60  # speakers of a list for the calibration loss


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each question, cell by cell."""
    for name, rows in _cells(datasets, seed):
        if is_wanted(name):
            yield [{"cell": name, "corpus": SPEECHOCEAN, "system": SYSTEM} | row for row in rows()]


def _cells(datasets: int, seed: int) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Name each cell, and what makes its rows."""

    def rng(name: str) -> np.random.Generator:
        return stream(seed, f"speechocean/{name}")

    yield from _audit_cells(datasets, rng)
    yield from _decision_cells(datasets, rng)


def _audit_cells(
    datasets: int, rng: Callable[[str], np.random.Generator]
) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Name the cells of what audits report."""
    for pairs in PAIRS:
        for kind, sizes in RATE_SIZES.items():
            name = f"rates/{pairs}/{kind}"
            yield name, partial(_rate_rows, pairs, kind, sizes, 40 * datasets, rng(name))
    for pairs, (sizes, times) in CURVES.items():
        for size in sizes:
            name = f"curves/{size}" if pairs == DESIGNED else f"curves/{pairs}/{size}"
            yield name, partial(_curve_rows, pairs, size, times * datasets, rng(name))
    for pairs in PAIRS:
        name = f"verdicts/{pairs}"
        yield name, partial(_verdict_rows, pairs, 10 * datasets, rng(name))
    audits = 4 * datasets
    for start in range(0, audits, AT_ONCE):
        stop = min(start + AT_ONCE, audits)
        name = f"findings/lists {start + 1} to {stop}"
        yield name, partial(_finding_rows, stop - start, rng(name))
    for pairs in PAIRS:
        for kind in ("fnr", "fpr"):
            for point in heterogeneity.POINTS:
                name = f"heterogeneity/{pairs}/{kind}/{point}"
                rows = partial(_heterogeneity_rows, pairs, kind, point, 10 * datasets, rng(name))
                yield name, rows


def _decision_cells(
    datasets: int, rng: Callable[[str], np.random.Generator]
) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Name the cells of gates, thresholds and calibration."""
    for times, moved in GATES:
        name = f"gates/{times:g}{'/moved' if moved else ''}"
        gate_rows = partial(gates.failure_rows, SYSTEM, None, times, moved, 20 * datasets)
        yield name, partial(gate_rows, rng(name))
    for aim, shift in GAINS:
        name = f"gains/{aim}/{shift:g}"
        yield name, partial(_gain_rows, aim, shift, datasets, rng(name))
    yield "calibration loss/calibrate", partial(_calibrate_rows, 2 * datasets, rng("calibrate"))
    yield "calibration loss/audit", partial(_audited_loss_rows, 2 * datasets, rng("loss"))


def _rate_rows(
    pairs: str, kind: str, sizes: tuple[int, ...], datasets: int, rng: np.random.Generator
) -> list[Row]:
    """Coverage of rates of drawn groups, and of their ratio to that of another drawn group."""
    tally = rivals.read(SYSTEM, pairs).pairs[kind]
    true = float(tally.errors.sum() / tally.trials.sum())
    rows = []
    for size in sizes:
        limits_by_batch: list[Limits] = []
        for batch in batches(datasets, REFERENCE_SIZE if kind == "fnr" else REFERENCE_SIZE**2 // 2):
            group, reference = (
                _drawn_errors(tally, kind, n_speakers, batch, rng)
                for n_speakers in (size, REFERENCE_SIZE)
            )
            group_limits = real.interval_limits(group)
            ratio = ratio_interval(rate_interval(moments(group)), rate_interval(moments(reference)))
            group_limits["ratio", LEVEL] = ratio.low[:, None], ratio.high[:, None]
            limits_by_batch.append(group_limits)
        labels: Row = {"pairs": pairs, "kind": kind, "speakers": size, "true": true}
        rows += [
            labels
            | {"method": method, "level": level}
            | interval_row(1.0 if method == "ratio" else true, low, high)
            for (method, level), (low, high) in collected(limits_by_batch).items()
            if level == LEVEL
        ]
    return rows


def _drawn_errors(
    tally: Pairs, kind: str, size: int, samples: int, rng: np.random.Generator
) -> ErrorsBySpeaker | ErrorsByPair:
    """Draw groups with replacement; whoever is drawn twice is two people, who are not compared."""
    n = int(tally.test.max()) + 1
    drawn = rng.integers(n, size=(samples, size))
    if kind == "fnr":
        errors, trials = (_by_speaker(tally, column, n) for column in ("errors", "trials"))
        cell, place = np.divmod(np.arange(drawn.size), size)
        speaker = drawn.ravel()
        return ErrorsBySpeaker(cell, place, errors[speaker], trials[speaker], samples)
    errors, trials = (_by_pair(tally, column, n) for column in ("errors", "trials"))
    first, second = np.triu_indices(size, 1)
    people = drawn[:, first], drawn[:, second]
    cell, pair = np.nonzero(trials[people])
    sides = people[0][cell, pair], people[1][cell, pair]
    return ErrorsByPair(cell, first[pair], second[pair], errors[sides], trials[sides], samples)


def _by_speaker(tally: Pairs, column: str, n: int) -> IntArray:
    return np.bincount(tally.enrol, getattr(tally, column), minlength=n).astype(np.int64)


def _by_pair(tally: Pairs, column: str, n: int) -> IntArray:
    """Return numbers of trials or errors of both orders of two speakers, [speaker, speaker]."""
    table = np.zeros((n, n), dtype=np.int64)
    np.add.at(table, (tally.enrol, tally.test), getattr(tally, column))
    return table + table.T


def _curve_rows(pairs: str, size: int, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Coverage of EER, and of FNR where replicates set the threshold again, of drawn groups."""
    trials = trials_of(SYSTEM, pairs)
    counts = pv.Counts.from_scores(trials.score, trials.target)
    point = parse_point(f"fpr={POINT}", [])
    truths = {
        "eer": float(pv.eer(counts)),
        "fnr": float(counts.at(np.atleast_1d(point.threshold(counts))).fnr[0]),
    }
    ends = np.array([_curve_limits(trials, size, point, rng) for _ in range(datasets)])
    labels: Row = {"pairs": pairs, "speakers": size, "replicates": REPLICATES}
    return [
        labels
        | {"metric": metric, "true": float(f"{true:.4g}")}
        | interval_row(true, ends[:, i, :1], ends[:, i, 1:])
        for i, (metric, true) in enumerate(truths.items())
    ]


def _curve_limits(
    trials: Trials, size: int, point: OperatingPoint, rng: np.random.Generator
) -> FloatArray:
    """Limits of EER and FNR of one drawn group, [metric, low and high]."""
    drawn = np.sort(rng.integers(trials.group.size, size=size))
    nobody = np.zeros(size, dtype=np.int64)
    material = drawn_material(trials, drawn, nobody, nobody, 0.0)
    counts = pv.Counts.from_scores(material.score, material.target)
    threshold = float(point.threshold(counts))
    cells = np.zeros(material.score.size, dtype=np.int64)
    curves = ResampledCurves(
        material.score,
        material.target,
        *material.speakers,
        [((cells,), 1)],
        curve_edges(counts, bins=BINS, thresholds=[threshold]),
    )
    weights = speaker_weights(nobody, REPLICATES, int(rng.integers(2**31)))
    eers, rates = [], []
    for _, ((replicate_counts,),) in curves.replicates(weights):
        eers.append(pv.eer(replicate_counts))
        rates.append(rates_again(replicate_counts, [point]))
    observed = np.array([pv.eer(counts)])
    interval = from_replicates(observed, np.concatenate(eers)[:, None], size - 1.0)
    is_error = material.target & (material.score < threshold)
    errors, n_trials = (
        np.bincount(material.speakers[0][rows], minlength=size)
        for rows in (is_error, material.target)
    )
    rate = rate_interval(moments(ErrorsBySpeaker(nobody, np.arange(size), errors, n_trials, 1)))
    low, high = limits(rate.rate, np.concatenate(rates).var(axis=0, ddof=1), rate.df, LEVEL)
    return np.array([[interval.low[0], interval.high[0]], [low[0], high[0]]])


def _verdict_rows(pairs: str, datasets: int, rng: np.random.Generator) -> list[Row]:
    """In how many lists verdicts find a difference, where speakers change groups at random."""
    system = rivals.read(SYSTEM, pairs)
    trials = trials_of(SYSTEM, pairs)

    def dealt() -> Iterator[tuple[ErrorsBySpeaker | ErrorsByPair, ErrorsBySpeaker | ErrorsByPair]]:
        for _ in range(datasets):
            group = rng.permutation(trials.group)
            target, nontarget = (
                rivals.errors_by_group(*tally.within(group), len(trials.names))
                for tally in (system.pairs["fnr"], system.pairs["fpr"])
            )
            yield target, nontarget

    labels: Row = {"pairs": pairs, "kind": "both", "groups": len(trials.names)}
    return [labels | row for row in heterogeneity.joint_rows(dealt(), rng)]


def _heterogeneity_rows(
    pairs: str, kind: str, point: float, datasets: int, rng: np.random.Generator
) -> list[Row]:
    """Type I errors where speakers change groups of gender by age band at random."""
    tally = rivals.read(SYSTEM, pairs, point).pairs[kind]
    trials = trials_of(SYSTEM, pairs)
    n_groups = len(trials.names)
    drawn = (
        rivals.errors_by_group(*tally.within(rng.permutation(trials.group)), n_groups)
        for _ in range(datasets)
    )
    rate = float(f"{tally.errors.sum() / tally.trials.sum():.3g}")
    labels: Row = {"pairs": pairs, "kind": kind, "point": point, "rate": rate}
    return [labels | row for row in heterogeneity.rejections(drawn, rng)]


def _finding_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    rows = findings.finding_rows(DESIGN, datasets, rng)
    return [{"design": DESIGN.name} | row for row in rows]


def _gain_rows(aim: str, shift: float, datasets: int, rng: np.random.Generator) -> list[Row]:
    return list(mitigation.gain_rows(SYSTEM, aim, shift, GAIN_SPEAKERS, datasets, rng))


def _calibrate_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    truth, drawn = calibrated(SYSTEM, CALIBRATED, 1.0, datasets, rng)
    return _labelled_losses("calibrate", CALIBRATED, truth, drawn)


def _audited_loss_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    drawn = np.array([audited_real(SYSTEM, AUDITED, rng) for _ in range(datasets)])
    return _labelled_losses("audit", AUDITED, 0.0, drawn)


def _labelled_losses(command: str, speakers: int, truth: float, drawn: FloatArray) -> list[Row]:
    labels: Row = {"command": command, "speakers": speakers, "level": LEVEL}
    return [labels | row for row in loss_rows(truth, drawn)]
