"""Thresholds and calibrators of groups: do intervals hold what is gained on other speakers?

Speakers of VoxCeleb1-H are drawn and dealt into two groups at random, so that no group needs a
threshold of its own; then the scores of everyone compared with a person of the first are shifted.
The truth is what the thresholds of a draw gain, on average, on all speakers that were not drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from benchmarks.coverage.corpora import trials_of
from benchmarks.coverage.records import Row, interval_row, mean, stream
from scipy.special import stdtrit

from parivox.core.costs import parse_cost
from parivox.core.crossfit import deal, held_out
from parivox.core.llr import cllr
from parivox.decide.calibration import CrossFitRatios, fit_lines, judge_lines
from parivox.decide.fitting_trials import RATES, FittingTrials
from parivox.decide.rule_judgement import CrossFitThresholds, judge_rules
from parivox.decide.threshold_aims import parse_aim
from parivox.decide.threshold_fitting import RULES, fit_thresholds, threshold_differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.corpora import Trials
    from benchmarks.coverage.simulate import FloatArray, IntArray

    from parivox.decide.threshold_aims import ThresholdAim

DATASETS = 50
SPEAKERS = 400
FOLDS = 10
CALIBRATE = "calibrate"
CASES = (
    ("V2", "fpr=0.01", 0.0),
    ("L", "fpr=0.01", 0.0),
    ("L", "min-cdet", 0.0),
    ("V2", "fpr=0.01", 0.03),
    ("L", "fpr=0.01", 0.05),
    ("L", "min-cdet", 0.05),
    ("L", CALIBRATE, 0.0),
    ("L", CALIBRATE, 0.05),
)
"""System, aim (or calibration), and by how much the scores of the first group are shifted."""
MEASURES = ("mean gain", "gain", "fpr change", "fnr change", "worst's gain")
"""Over both groups, of the first one, of the one that the common threshold costs most."""
LEVEL = 0.95


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each case; a row for each rule and measure."""
    for system, text, shift in CASES:
        name = f"mitigation/{system}/{text}/{shift:g}"
        if is_wanted(name):
            rng = stream(seed, name)
            rows = gain_rows(system, text, shift, SPEAKERS, datasets, rng)
            yield [{"cell": name} | row for row in rows]


def gain_rows(
    system: str, text: str, shift: float, speakers: int, datasets: int, rng: np.random.Generator
) -> Iterator[Row]:
    """Return what thresholds or calibrators of groups gain, for each rule and measure."""
    trials = trials_of(system)
    aim = None if text == CALIBRATE else parse_aim(text, parse_cost("voxsrc"))
    drawn = [_drawn(trials, aim, shift, speakers, rng) for _ in range(datasets)]
    gains, low, high, true = (np.stack(column) for column in list(zip(*drawn, strict=True))[:4])
    truth, reach = true.mean(axis=0), stdtrit(FOLDS - 1, 0.5 + LEVEL / 2)
    errors = np.sqrt(np.mean(((high - low) / 2 / reach) ** 2, axis=0))
    is_told_apart = np.array([draw[4] for draw in drawn])
    labels: Row = {"system": system, "aim": text, "shift": shift, "level": LEVEL}
    labels |= {
        "speakers": speakers,
        "folds": FOLDS,
        **mean(is_told_apart[:, None], "told_apart"),
    }
    for r, rule in enumerate(RULES[: gains.shape[1]]):
        for m, measure in enumerate(MEASURES[: gains.shape[2]]):
            if r:
                yield (
                    labels
                    | {"rule": rule, "measure": measure, "true": float(f"{truth[r, m]:.5g}")}
                    | {"found": float(f"{gains[:, r, m].mean():.5g}")}
                    | {"wide": float(f"{errors[r, m] / gains[:, r, m].std(ddof=1):.3g}")}
                    | {"holds_0": float(np.mean((low[:, r, m] <= 0) & (high[:, r, m] >= 0)))}
                    | interval_row(truth[r, m], low[:, r, m : m + 1], high[:, r, m : m + 1])
                )


def _drawn(
    trials: Trials,
    aim: ThresholdAim | None,
    shift: float,
    speakers: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, bool]:
    """What one draw finds, its limits, what it comes to on other speakers, ``[rule, measure]``."""
    n = trials.group.size
    drawn = np.sort(rng.integers(n, size=speakers))
    group = rng.permutation(speakers) % 2
    fold = deal(group, FOLDS, int(rng.integers(2**31)))
    material = drawn_material(trials, drawn, group, fold, shift)
    everyone = rng.permutation(n) % 2
    population = drawn_material(
        trials, np.arange(n), everyone, everyone, shift
    )  # folds are not asked for
    if aim is None:
        return _calibrated(material, population)
    may = np.ones(2, dtype=bool)
    fits = fit_thresholds(material, aim, may, 3)
    thresholds = {folds: fit.thresholds for folds, fit in fits.items()}
    judged = judge_rules(material, [CrossFitThresholds(material.score, thresholds)], aim, LEVEL)
    elsewhere = dict.fromkeys(held_out(2).tolist(), fits[0].thresholds)
    true = judge_rules(population, [CrossFitThresholds(population.score, elsewhere)], aim, LEVEL)
    measured, worst = [], int(judged.cost.estimate[0, :-1].argmax())
    for judgement in (judged, true):
        cost, group_cost = judgement.mean_cost, judgement.cost
        ends = group_cost.change_limits
        rate_changes = []
        for change in (judgement.changes[rate] for rate in RATES):
            rate_ends = change.change_limits
            rate_changes.append((change.change[:, 0], rate_ends.low[:, 0], rate_ends.high[:, 0]))
        measured.append(
            [
                (-cost.change, -cost.change_limits.high, -cost.change_limits.low),
                (-group_cost.change[:, 0], -ends.high[:, 0], -ends.low[:, 0]),
                *rate_changes,
                (-group_cost.change[:, worst], -ends.high[:, worst], -ends.low[:, worst]),
            ]
        )
    gains, low, high = (np.stack(column, axis=-1) for column in zip(*measured[0], strict=True))
    apart = threshold_differences(material, aim, may, fits[0], LEVEL).p_values.min() <= 1 - LEVEL
    return gains, low, high, np.stack([row[0] for row in measured[1]], axis=-1), bool(apart)


def _calibrated(
    material: FittingTrials, population: FittingTrials
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, bool]:
    """The same of calibrators; their gains are falls of Cllr."""
    group_lines, p = fit_lines("V", material, "logistic", ["", ""])
    common = {
        folds: [fold_lines[-1]] * len(fold_lines) for folds, fold_lines in group_lines.items()
    }
    judged = judge_lines(
        material, [CrossFitRatios(material, lines) for lines in (common, group_lines)], LEVEL
    )
    mean, group_cost = judged.mean_costs["cllr"], judged.costs["cllr"]
    ends = group_cost.change_limits
    costs = np.empty((2, 2))  # [rule, group]
    for r, lines in enumerate((common, group_lines)):
        rows, llrs = CrossFitRatios(population, dict.fromkeys(group_lines, lines[0])).llrs_without()
        for g in range(2):
            is_in_group = population.group[rows] == g
            costs[r, g] = cllr(llrs[is_in_group], population.target[rows[is_in_group]])
    true = costs[0] - costs
    return (
        np.stack((-mean.change, -group_cost.change[:, 0]), axis=-1),
        np.stack((-mean.change_limits.high, -ends.high[:, 0]), axis=-1),
        np.stack((-mean.change_limits.low, -ends.low[:, 0]), axis=-1),
        np.stack((true.mean(axis=-1), true[:, 0]), axis=-1),
        bool(np.nanmin(p) <= 1 - LEVEL),
    )


def drawn_material(
    trials: Trials, drawn: IntArray, group: IntArray, fold: IntArray, shift: float
) -> FittingTrials:
    """Trials of the speakers drawn, sorted; with enrolments of the first group shifted.

    Who is drawn twice is two people, who are not compared with each other.
    """
    n = trials.group.size
    times, first_copy = np.bincount(drawn, minlength=n), np.searchsorted(drawn, np.arange(n))
    is_drawn = times > 0
    of_drawn = np.flatnonzero(is_drawn[trials.first_speaker] & is_drawn[trials.second_speaker])
    first, second = trials.first_speaker[of_drawn], trials.second_speaker[of_drawn]
    is_same = first == second
    copies = times[first] * np.where(is_same, 1, times[second])
    row = np.repeat(np.arange(copies.size), copies)
    turn = np.arange(row.size) - np.repeat(np.cumsum(copies) - copies, copies)
    of_other = times[second][row]
    enrol_speaker = first_copy[first][row] + np.where(is_same[row], turn, turn // of_other)
    test_speaker = np.where(is_same[row], enrol_speaker, first_copy[second][row] + turn % of_other)
    rows = of_drawn[row]
    owner = group[enrol_speaker].astype(np.int32)
    score = trials.score[rows] + np.where(owner == 0, shift, 0.0)
    return FittingTrials.from_arrays(
        score,
        trials.target[rows],
        (enrol_speaker, test_speaker),
        enrol_speaker,
        owner,
        fold,
        ("a", "b"),
    )
