"""A second corpus: the questions of other studies, on real speakers that no constant was chosen on.

The 250 people of speechocean762 with their scores by ge2e, a weak encoder, whose FNR is 36 % at
an FPR of 1 %. Speakers are drawn with replacement, so that all 250 are the population, or change
groups at random. The list is that of docs/speechocean.md, or all pairs of recordings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage import findings, gates, heterogeneity, mitigation, real, rivals
from benchmarks.coverage.calibration_loss import (
    audited_real,
    calibrated,
    loss_rows,
    score_table,
)
from benchmarks.coverage.corpora import ALL_PAIRS, DESIGNED, SPEECHOCEAN, trials_of
from benchmarks.coverage.mitigation import drawn_material
from benchmarks.coverage.rates import batches, collected
from benchmarks.coverage.records import Row, interval_row, mean, stream

import parivox as pv
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.core.rates import threshold_at_fpr
from parivox.core.ratios import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.corpora import Trials
    from benchmarks.coverage.rates import Limits
    from benchmarks.coverage.rivals import Pairs
    from benchmarks.coverage.simulate import FloatArray, IntArray

    from parivox.auditing.result import Audit

DATASETS = 50
"""Audits; other cells have some times as many data sets, as they take less time each."""
SYSTEM = "ge2e"
POINT = 0.01
LEVEL = 0.95
PAIRS = (DESIGNED, ALL_PAIRS)
RATE_SIZES = {"fnr": (8, 15, 25, 50, 100), "fpr": (15, 25, 50, 100)}
REFERENCE_SIZE = 100  # speakers of the group that others are compared with
AUDITED_SIZES = (8, 15, 25, 50, 100)
PARTS = [f"{size:03}" for size in AUDITED_SIZES for _ in range(size)]
"""The group of each drawn speaker, named by its size."""
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

    for pairs in PAIRS:
        for kind, sizes in RATE_SIZES.items():
            name = f"rates/{pairs}/{kind}"
            yield (
                name,
                lambda pairs=pairs, kind=kind, sizes=sizes, name=name: _rate_rows(
                    pairs, kind, sizes, 40 * datasets, rng(name)
                ),
            )
    yield "audits", lambda: _audit_rows(datasets, rng("audits"))
    for start in range(0, datasets, AT_ONCE):
        stop = min(start + AT_ONCE, datasets)
        name = f"findings/lists {start + 1} to {stop}"
        yield (
            name,
            lambda count=stop - start, name=name: [
                {"design": DESIGN.name} | row
                for row in findings.finding_rows(DESIGN, count, rng(name))
            ],
        )
    for pairs in PAIRS:
        for kind in ("fnr", "fpr"):
            for point in heterogeneity.POINTS:
                name = f"heterogeneity/{pairs}/{kind}/{point}"
                yield (
                    name,
                    lambda pairs=pairs, kind=kind, point=point, name=name: _heterogeneity_rows(
                        pairs, kind, point, 10 * datasets, rng(name)
                    ),
                )
    for times, moved in GATES:
        name = f"gates/{times:g}{'/moved' if moved else ''}"
        yield (
            name,
            lambda times=times, moved=moved, name=name: gates.failure_rows(
                SYSTEM, None, times, moved, 4 * datasets, rng(name)
            ),
        )
    for aim, shift in GAINS:
        name = f"gains/{aim}/{shift:g}"
        yield (
            name,
            lambda aim=aim, shift=shift, name=name: list(
                mitigation.gain_rows(
                    SYSTEM, aim, shift, GAIN_SPEAKERS, max(datasets // 2, 2), rng(name)
                )
            ),
        )
    yield "calibration loss/calibrate", lambda: _calibrate_rows(datasets, rng("calibrate"))
    yield "calibration loss/audit", lambda: _audited_loss_rows(datasets, rng("loss"))


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
            limits = real.interval_limits(group)
            ratio = ratio_interval(rate_interval(moments(group)), rate_interval(moments(reference)))
            limits["ratio", LEVEL] = ratio.low[:, None], ratio.high[:, None]
            limits_by_batch.append(limits)
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
        people = drawn.ravel()
        return ErrorsBySpeaker(cell, place, errors[people], trials[people], samples)
    errors, trials = (_by_pair(tally, column, n) for column in ("errors", "trials"))
    first, second = np.triu_indices(size, 1)
    people = drawn[:, first], drawn[:, second]
    cell, pair = np.nonzero(trials[people])
    people = people[0][cell, pair], people[1][cell, pair]
    return ErrorsByPair(cell, first[pair], second[pair], errors[people], trials[people], samples)


def _by_speaker(tally: Pairs, column: str, n: int) -> IntArray:
    return np.bincount(tally.enrol, getattr(tally, column), minlength=n).astype(np.int64)


def _by_pair(tally: Pairs, column: str, n: int) -> IntArray:
    """Return numbers of trials or errors of both orders of two speakers, [speaker, speaker]."""
    table = np.zeros((n, n), dtype=np.int64)
    np.add.at(table, (tally.enrol, tally.test), getattr(tally, column))
    return table + table.T


def _audit_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    """Coverage in audits of drawn groups, and in how many of them a verdict finds a difference."""
    trials = trials_of(SYSTEM)
    counts = pv.Counts.from_scores(trials.score, trials.target)
    threshold = float(threshold_at_fpr(counts.curve, POINT))
    at_threshold = counts.at([threshold])
    truths = {
        "fnr": float(at_threshold.fnr[0]),
        "fpr": float(at_threshold.fpr[0]),
        "eer": float(pv.eer(counts)),
        "fnr ratio": 1.0,
        "fpr ratio": 1.0,
    }
    points = {f"threshold={threshold!r}": "given threshold", f"fpr={POINT}": "threshold set again"}
    limits: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    differs: dict[str, list[bool]] = {}
    for _ in range(datasets):
        audit = _drawn_audit(trials, list(points), rng)
        for key, ends in _limits_of(audit, points):
            limits.setdefault(key, []).append(ends)
        for row in audit.verdicts.filter(grouping="part", metric="fpr+fnr").rows():
            at = points[row["operating_point"]]
            differs.setdefault(at, []).append(row["verdict"] == "differs")
    rows = []
    for (group, metric, at), ends in limits.items():
        low, high = np.array(ends, dtype=np.float64).T
        labels: Row = {"group": group, "metric": metric, "at": at}
        labels |= {"true": float(f"{truths[metric]:.4g}")}
        rows.append(labels | interval_row(truths[metric], low[:, None], high[:, None]))
    for at, is_different in differs.items():
        labels = {"group": "", "metric": "verdict", "at": at, "datasets": datasets}
        rows.append(labels | mean(np.array(is_different, dtype=np.float64), "differs"))
    return rows


def _drawn_audit(trials: Trials, points: list[str], rng: np.random.Generator) -> Audit:
    """Audit groups of drawn speakers, who are compared across groups as well."""
    size = sum(AUDITED_SIZES)
    drawn = np.sort(rng.integers(trials.group.size, size=size))
    nobody = np.zeros(size, dtype=np.int64)
    material = drawn_material(trials, drawn, nobody, nobody, 0.0)
    ids = np.array([f"s{i:03}" for i in range(size)])
    enrol, test = (ids[side] for side in material.speakers)
    return pv.audit(
        score_table(material.score, material.target, enrol, test),
        speakers={"speaker": rng.permutation(ids), "part": PARTS},
        by="part",
        operating_points=points,
        replicates=REPLICATES,
    )


def _limits_of(
    audit: Audit, points: dict[str, str]
) -> Iterator[tuple[tuple[str, str, str], tuple[float, float]]]:
    """Return limits by group, metric and kind of threshold: of groups, and of all trials."""
    given, again = points
    rates = {"metric": ["fnr", "fpr"]}
    chosen = [
        *audit.groups.filter(grouping="part", operating_point=given, **rates).rows(),
        *audit.groups.filter(grouping="all", operating_point=[given, again], **rates).rows(),
        *audit.groups.filter(metric="eer").rows(),
    ]
    for row in chosen:
        if row["group"] in {"all", *PARTS}:
            at = points.get(row["operating_point"] or given, "")
            yield (row["group"], row["metric"], at), (row["low"], row["high"])
    for row in audit.verdicts.filter(grouping="part", operating_point=given, **rates).rows():
        if row["group"]:
            yield (row["group"], f"{row['metric']} ratio", points[given]), (row["low"], row["high"])


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


def _calibrate_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    truth, drawn = calibrated(SYSTEM, CALIBRATED, 1.0, datasets, rng)
    return _labelled_losses("calibrate", CALIBRATED, truth, drawn)


def _audited_loss_rows(datasets: int, rng: np.random.Generator) -> list[Row]:
    drawn = np.array([audited_real(SYSTEM, AUDITED, rng) for _ in range(datasets)])
    return _labelled_losses("audit", AUDITED, 0.0, drawn)


def _labelled_losses(command: str, speakers: int, truth: float, drawn: FloatArray) -> list[Row]:
    labels: Row = {"command": command, "speakers": speakers, "level": LEVEL}
    return [labels | row for row in loss_rows(truth, drawn)]
