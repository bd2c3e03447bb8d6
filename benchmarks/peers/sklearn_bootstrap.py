"""What a careful user writes with scikit-learn to bootstrap over speakers.

Each replicate draws the speakers of every gender and nationality with replacement. A target trial
weighs as often as its speaker was drawn, a nontarget trial as the product of both speakers' times;
scikit-learn takes the weights, so that no trial is repeated. Then every group, by turns:

fixed
    FPR, FNR and cost at two thresholds found once on all trials, by `confusion_matrix`.
again
    EER and smallest cost, and FPR, FNR and cost at both thresholds, which are found again on all
    trials of the replicate, by `det_curve`.

Prints the CPU seconds of one replicate, reading left out, and keeps weights and values.

Usage: python -m benchmarks.peers.sklearn_bootstrap fixed|again SCORES SPEAKERS REPLICATES OUT.npz
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.peers.sklearn_few import P_TARGET, eer
from benchmarks.peers.trials import groups, placed, read_sides
from sklearn.metrics import confusion_matrix, det_curve

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    Array = np.ndarray[Any, np.dtype[Any]]
    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

FPR_TARGET = 0.01
RATIO = (1 - P_TARGET) / P_TARGET  # of the normalised cost: FNR + RATIO * FPR


def draw(people: pd.DataFrame, replicates: int) -> Array:
    """Return how often each speaker is drawn, `[replicate, speaker]`, group by group."""
    random = np.random.default_rng(5)
    weights = np.zeros((replicates, len(people)), dtype=np.int64)
    strata = people.reset_index().groupby(["Gender", "Nationality"]).indices.values()
    for replicate in weights:
        for members in strata:
            drawn = random.integers(0, len(members), len(members))
            replicate[members] = np.bincount(drawn, minlength=len(members))
    return weights


def own_thresholds(fpr: FloatArray, fnr: FloatArray, thresholds: FloatArray) -> list[float]:
    """Return the threshold of the largest FPR within the target, and of the smallest cost."""
    within_target = int(np.argmax(fpr <= FPR_TARGET))
    return [float(thresholds[within_target]), float(thresholds[np.argmin(fnr + RATIO * fpr)])]


def at_fixed(
    label: Array, score: Array, rows: dict[str, Array], thresholds: list[float]
) -> Callable[[Array], dict[str, FloatArray]]:
    """Return what measures one replicate at fixed thresholds."""
    accepted = [score >= threshold for threshold in thresholds]

    def measure(weight: Array) -> dict[str, FloatArray]:
        rates = np.full((len(rows), len(accepted), 2), np.nan)
        for i, mine in enumerate(rows.values()):
            drawn = mine[weight[mine] > 0]
            if not 0 < label[drawn].sum() < drawn.size:
                continue
            for j, hit in enumerate(accepted):
                (tn, fp), (fn, tp) = confusion_matrix(
                    label[drawn], hit[drawn], labels=[0, 1], sample_weight=weight[drawn]
                )
                rates[i, j] = fp / (fp + tn), fn / (fn + tp)
        return {"rates": rates, "cost": rates[..., 1] + RATIO * rates[..., 0]}

    return measure


def found_again(
    label: Array, score: Array, rows: dict[str, Array], _: list[float]
) -> Callable[[Array], dict[str, FloatArray]]:
    """Return what measures one replicate at thresholds of its own."""

    def measure(weight: Array) -> dict[str, FloatArray]:
        thresholds: list[float] = []
        rates = np.full((len(rows), 2, 2), np.nan)
        curve_metrics = np.full((len(rows), 2), np.nan)
        for i, mine in enumerate(rows.values()):  # all trials first
            drawn = mine[weight[mine] > 0]
            if not 0 < label[drawn].sum() < drawn.size:
                continue
            fpr, fnr, curve_thresholds = det_curve(
                label[drawn], score[drawn], sample_weight=weight[drawn]
            )
            thresholds = thresholds or own_thresholds(fpr, fnr, curve_thresholds)
            curve_metrics[i] = eer(fpr, fnr), (fnr + RATIO * fpr).min()
            target, weights = label[drawn] == 1, weight[drawn]
            for j, threshold in enumerate(thresholds):
                hit = score[drawn] >= threshold
                rates[i, j] = (
                    np.average(hit[~target], weights=weights[~target]),
                    1 - np.average(hit[target], weights=weights[target]),
                )
        cost = rates[..., 1] + RATIO * rates[..., 0]
        return {
            "rates": rates,
            "cost": cost,
            "eer": curve_metrics[:, 0],
            "min_cdet": curve_metrics[:, 1],
        }

    return measure


JOBS = {"fixed": at_fixed, "again": found_again}


def main(job: str, scores: str, speakers: str, replicates: str, out: str) -> None:
    """Measure every group in some replicates and print the CPU seconds of one."""
    trials, people, (enrol, test) = read_sides(scores, speakers)
    table = placed(trials, people, [enrol, test])
    score, label = table["score"].to_numpy(), table["label"].to_numpy()
    rows = dict(groups(table))
    thresholds = own_thresholds(*det_curve(label, score))
    start = time.process_time()
    weights = draw(people, int(replicates))
    measure = JOBS[job](label, score, rows, thresholds)
    replicate_figures = [
        measure(np.where(enrol == test, mine[enrol], mine[enrol] * mine[test])) for mine in weights
    ]
    used = time.process_time() - start
    arrays = {
        name: np.stack([figures[name] for figures in replicate_figures])
        for name in replicate_figures[0]
    }
    arrays |= {"speakers": people.index.to_numpy().astype(str), "groups": np.array(list(rows))}
    arrays |= {"weights": weights, "thresholds": np.array(thresholds)}
    np.savez(out, allow_pickle=False, **arrays)
    print(json.dumps({"cpu": used / len(weights), "groups": len(rows) - 1}))


if __name__ == "__main__":
    main(*sys.argv[1:])
