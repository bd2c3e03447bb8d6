"""The shortest useful loop with pandas and scikit-learn: five metrics a group, no checks.

Per group: EER, smallest cost, rates and cost at the common threshold, AUC; then cost ratios to all.

Usage: python -m benchmarks.peers.sklearn_few SCORES SPEAKERS
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.peers.trials import groups, read
from sklearn.metrics import det_curve, roc_auc_score

if TYPE_CHECKING:
    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

P_TARGET = 0.05


def eer(fpr: FloatArray, fnr: FloatArray) -> float:
    """Return the error rate where both are equal, linear between points."""
    # det_curve runs from low thresholds to high ones: fnr - fpr rises.
    difference = fnr - fpr
    after = int(np.argmax(difference >= 0))
    if after == 0:
        return float(fpr[0])
    before = after - 1
    weight = difference[before] / (difference[before] - difference[after])
    return float(fpr[before] + weight * (fpr[after] - fpr[before]))


def measure(labels: FloatArray, scores: FloatArray, threshold: float | None) -> dict[str, float]:
    """Return the metrics of one group; without a threshold, its own cheapest one is taken."""
    fpr, fnr, thresholds = det_curve(labels, scores)
    cost = fnr + (1 - P_TARGET) / P_TARGET * fpr
    best = int(np.argmin(cost))
    if threshold is None:
        threshold = float(thresholds[best])
    accepted = scores >= threshold
    target = labels == 1
    fnr_there = 1 - accepted[target].mean()
    fpr_there = accepted[~target].mean()
    return {
        "threshold": threshold,
        "eer": eer(fpr, fnr),
        "min_cdet": float(cost[best]),
        "fnr": float(fnr_there),
        "fpr": float(fpr_there),
        "cdet": float(fnr_there + (1 - P_TARGET) / P_TARGET * fpr_there),
        "auc": float(roc_auc_score(labels, scores)),
    }


def main(scores: str, speakers: str) -> None:
    """Measure every group and print the overall EER and how many groups there are."""
    table = read(scores, speakers)
    score, label = table["score"].to_numpy(), table["label"].to_numpy()
    metrics_by_group: dict[str, dict[str, float]] = {}
    threshold = None
    for name, rows in groups(table):
        metrics_by_group[name] = measure(label[rows], score[rows], threshold)
        threshold = metrics_by_group["all"]["threshold"]
    overall = metrics_by_group.pop("all")
    ratios = {name: metrics["cdet"] / overall["cdet"] for name, metrics in metrics_by_group.items()}
    print(json.dumps({"eer": overall["eer"], "groups": len(ratios)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
