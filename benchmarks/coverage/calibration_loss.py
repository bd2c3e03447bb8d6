"""Calibration loss: of how many perfectly calibrated systems does its interval hold 0?

Scores of VoxCeleb1-H become log-likelihood ratios by the monotone map that is best for all of its
trials, so that nothing is lost to calibration on all speakers. Speakers are drawn, and `calibrate`
judges the ratios as they are. Then the ratios are multiplied, and the truth is what that costs on
all speakers. Simulated speakers, whose ratios are normal and perfectly calibrated, are audited and
judged by `calibrate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from benchmarks.coverage.corpora import trials_of
from benchmarks.coverage.mitigation import drawn_material
from benchmarks.coverage.records import Row, interval_row, mean, stream

import parivox as pv
from parivox.core.calibration import Isotonic, isotonic
from parivox.core.counts import Counts
from parivox.core.crossfit import deal, held_out
from parivox.core.llr import cllr
from parivox.decide.calibration import CrossFitRatios, judge_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray
    from numpy.typing import NDArray

    from parivox.core.calibration import Line

DATASETS = 120
FOLDS = 10
LEVEL = 0.95
REAL = (
    ("V2", 200, 1.0),
    ("L", 200, 1.0),
    ("L", 400, 1.0),
    ("L", 400, 1.5),
)
"""System, speakers drawn into two groups, and what ratios are multiplied by."""


REAL_AUDITS = (("V2", 60), ("L", 200))
"""System, and speakers chosen into two groups."""


class Case(NamedTuple):
    """A list of simulated speakers, and what their ratios are multiplied by."""

    speakers: int
    targets: int  # trials of each speaker
    nontargets: int
    separation: float  # of the means, in nats
    correlation: float  # of two trials of a speaker
    slope: float

    def name(self, command: str) -> str:
        """Of its cell."""
        size = f"{self.speakers}/{self.targets}+{self.nontargets}"
        return f"calibration_loss/{command}/{size}/{self.separation:g}/x {self.slope:g}"


CASES = (
    Case(60, 10, 10, 4.0, 0.0, 1.0),
    Case(60, 10, 30, 6.0, 0.2, 1.0),
    Case(200, 10, 10, 4.0, 0.2, 1.0),
    Case(200, 10, 30, 8.0, 0.3, 1.0),
    Case(200, 10, 10, 4.0, 0.2, 1.5),
)
REPLICATES = 400


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each case; a row for the calibration loss of everyone and of the first group."""
    for system, speakers, slope in REAL:
        name = f"calibration_loss/calibrate/{system}/{speakers}/x {slope:g}"
        if is_wanted(name):
            rng = stream(seed, name)
            truth, drawn = calibrated(system, speakers, slope, datasets, rng)
            labels: Row = {"cell": name, "command": "calibrate", "scores": system}
            labels |= {"speakers": speakers, "slope": slope, "level": LEVEL}
            yield [labels | row for row in loss_rows(truth, drawn)]
    for system, speakers in REAL_AUDITS:
        name = f"calibration_loss/audit/{system}/{speakers}/x 1"
        if is_wanted(name):
            rng = stream(seed, name)
            drawn = np.array([audited_real(system, speakers, rng) for _ in range(datasets)])
            labels = {"cell": name, "command": "audit", "scores": system}
            labels |= {"speakers": speakers, "slope": 1.0, "level": LEVEL}
            yield [labels | row for row in loss_rows(0.0, drawn)]
    cases = [("audit", case, _audited) for case in CASES]
    cases += [("calibrate", case, _judged) for case in (CASES[0], CASES[-1])]
    for command, case, losses in cases:
        name = case.name(command)
        if is_wanted(name):
            rng = stream(seed, name)
            drawn = np.array([losses(case, rng) for _ in range(datasets)])
            labels = {"cell": name, "command": command, "scores": f"d {case.separation:g}"}
            labels |= {"speakers": case.speakers, "slope": case.slope, "level": LEVEL}
            yield [labels | row for row in loss_rows(_loss(case), drawn)]


def loss_rows(truth: float, drawn: FloatArray) -> Iterator[Row]:
    """Return a row for everyone and one for the first group, of ``[dataset, cell, number]``."""
    for c, group in enumerate(("everyone", "first group")):
        plain, corrected, low, high = drawn[:, c].T
        row: Row = {"of": group, "true": float(f"{truth:.4g}")}
        row |= {"plain": float(f"{plain.mean():.4g}"), "found": float(f"{corrected.mean():.4g}")}
        row |= mean((low <= 0)[:, None].astype(np.float64), "holds_0")
        yield row | interval_row(truth, low[:, None], high[:, None])


def calibrated(
    system: str, speakers: int, slope: float, datasets: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return the loss on all speakers, and of each draw: plain, corrected, and its limits."""
    trials = trials_of(system)
    best = isotonic(Counts.from_scores(trials.score, trials.target))
    truth = _cost(slope * best.llr(trials.score), trials.target) - _cost(
        best.llr(trials.score), trials.target
    )
    n, losses = trials.group.size, []
    for _ in range(datasets):
        drawn = np.sort(rng.integers(n, size=speakers))
        group = rng.permutation(speakers) % 2
        fold = deal(group, FOLDS, int(rng.integers(2**31)))
        material = drawn_material(trials, drawn, group, fold, 0.0)
        line = Isotonic(best.scores, slope * best.llrs)
        lines: dict[int, list[Line]] = {folds: [line] * 3 for folds in held_out(FOLDS, 3).tolist()}
        costs = judge_lines(material, [CrossFitRatios(material, lines)], LEVEL).costs
        plain = costs["cllr"].estimate[0] - costs["min_cllr"].estimate[0]
        loss = costs["cal_loss"]
        ends = loss.limits.low[0], np.maximum(loss.limits.high[0], 0)
        losses.append(np.stack((plain, loss.estimate[0], *ends), axis=-1)[[-1, 0]])
    return truth, np.array(losses)


def _cost(llr: FloatArray, target: NDArray[np.bool_]) -> float:
    return float(cllr(Counts.from_scores(llr, target)))


def audited_real(system: str, speakers: int, rng: np.random.Generator) -> FloatArray:
    """Return the losses of everyone and the first group, for some real speakers."""
    trials = trials_of(system)
    best = isotonic(Counts.from_scores(trials.score, trials.target))
    is_chosen = np.zeros(trials.group.size, dtype=np.bool_)
    is_chosen[rng.choice(trials.group.size, size=speakers, replace=False)] = True
    rows = np.flatnonzero(is_chosen[trials.first_speaker] & is_chosen[trials.second_speaker])
    llr, target = best.llr(trials.score[rows]), trials.target[rows]
    ids = np.array([f"s{i}" for i in range(trials.group.size)])
    scores = score_table(
        llr, target, ids[trials.first_speaker[rows]], ids[trials.second_speaker[rows]]
    )
    halves = np.where(rng.permutation(speakers) % 2, "a", "b")
    return _losses_of_audit(scores, {"speaker": ids[is_chosen], "half": halves})


def _audited(case: Case, rng: np.random.Generator) -> FloatArray:
    """Of everyone and the first group: plain, corrected, and its limits."""
    return _losses_of_audit(*_tables(case, rng))


def _losses_of_audit(
    scores: dict[str, NDArray[Any]], speakers: dict[str, NDArray[Any]]
) -> FloatArray:
    audit = pv.audit(scores, speakers=speakers, by="half", llr=True, replicates=REPLICATES, bins=0)
    losses = []
    for grouping, group in (("all", "all"), ("half", "a")):
        rows = {
            row["metric"]: row
            for row in audit.groups.filter(grouping=grouping, group=group).rows()
            if row["metric"] in {"cllr", "min_cllr", "cal_loss"}
        }
        loss = rows["cal_loss"]
        plain = rows["cllr"]["value"] - rows["min_cllr"]["value"]
        losses.append((plain, loss["value"], loss["low"], loss["high"]))
    return np.array(losses, dtype=np.float64)


def _judged(case: Case, rng: np.random.Generator) -> FloatArray:
    """The same by `calibrate`."""
    scores, speakers = _tables(case, rng)
    calibration = pv.calibrate(scores, speakers=speakers, by="half", llr=True)
    losses = []
    for group in ("everyone", "a"):
        (row,) = calibration.groups.filter(rule="as scored", group=group).rows()
        limits = row["cal_loss_low"], row["cal_loss_high"]
        losses.append((row["cllr"] - row["min_cllr"], row["cal_loss"], *limits))
    return np.array(losses, dtype=np.float64)


def _tables(
    case: Case, rng: np.random.Generator
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Scores and speakers, in two groups, of a list of simulated speakers."""
    llr, target, enrol, test = _list(case, rng)
    ids = np.array([f"s{i}" for i in range(case.speakers)])
    scores = score_table(case.slope * llr, target, ids[enrol], ids[test])
    return scores, {"speaker": ids, "half": np.where(np.arange(case.speakers) % 2, "a", "b")}


def score_table(
    llr: FloatArray, target: NDArray[np.bool_], enrol: NDArray[np.str_], test: NDArray[np.str_]
) -> dict[str, NDArray[Any]]:
    """Return a table of scores of trials that have recordings of their own."""
    trial_number = np.arange(llr.size).astype(str)
    return {
        "enrol": np.char.add(np.char.add(enrol, "/e"), trial_number),
        "test": np.char.add(np.char.add(test, "/t"), trial_number),
        "score": llr,
        "label": target.astype(np.int64),
    }


def _list(
    case: Case, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[np.bool_], IntArray, IntArray]:
    """Log-likelihood ratios, classes and both speakers of a list of trials."""
    n, spread, rho = case.speakers, np.sqrt(case.separation), case.correlation
    speaker_effect, as_impostor = rng.standard_normal((2, n))
    of_target = np.repeat(np.arange(n), case.targets)
    enrol = np.repeat(np.arange(n), case.nontargets)
    test = (enrol + 1 + rng.integers(n - 1, size=enrol.size)) % n
    target = np.sqrt(rho) * speaker_effect[of_target]
    target += np.sqrt(1 - rho) * rng.standard_normal(target.size)
    nontarget = np.sqrt(rho / 2) * (as_impostor[enrol] + as_impostor[test])
    nontarget += np.sqrt(1 - rho) * rng.standard_normal(nontarget.size)
    half = case.separation / 2
    return (
        np.concatenate((half + spread * target, spread * nontarget - half)),
        np.repeat([True, False], (target.size, nontarget.size)),
        np.concatenate((of_target, enrol)),
        np.concatenate((of_target, test)),
    )


def _loss(case: Case) -> float:
    """What the slope costs, from a million independent trials."""
    many = case._replace(speakers=200_000, targets=5, nontargets=5, correlation=0.0)
    llr, target, _, _ = _list(many, np.random.default_rng(1))
    return _cost(case.slope * llr, target) - _cost(llr, target)
