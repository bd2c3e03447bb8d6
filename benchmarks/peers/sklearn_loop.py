"""What a careful user writes with pandas and scikit-learn to get the audit's base metrics.

Reads both sides of each trial, checks labels against speakers and looks for repeated trials,
places nontarget trials in the group of both speakers, then takes each group in turn. Per group:
EER, costs, rates, FNR at an FPR and the reverse, HTER, AUC, d', minimum Cllr, shifts of scores
against all trials; then ratios of every cost and rate to all. No files are written.

Usage: python -m benchmarks.peers.sklearn_loop SCORES SPEAKERS
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.peers.sklearn_few import P_TARGET, eer
from benchmarks.peers.trials import groups, read_both
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import det_curve, roc_auc_score

if TYPE_CHECKING:
    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

FPR_TARGET = 0.01
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def min_cllr(labels: FloatArray, scores: FloatArray) -> float:
    """Return Cllr after isotonic calibration of the same scores."""
    posterior = IsotonicRegression(out_of_bounds="clip").fit_transform(scores, labels)
    target = labels == 1
    n_target, n_nontarget = target.sum(), (~target).sum()
    with np.errstate(divide="ignore"):
        llr = np.log(posterior) - np.log1p(-posterior) - np.log(n_target / n_nontarget)
        of_target = np.logaddexp(0, -llr[target]).mean()
        of_nontarget = np.logaddexp(0, llr[~target]).mean()
    return float((of_target + of_nontarget) / (2 * np.log(2)))


def measure(
    labels: FloatArray, scores: FloatArray, thresholds: list[float] | None
) -> dict[str, float]:
    """Return the metrics of one group; without thresholds, its own ones are taken."""
    fpr, fnr, curve_thresholds = det_curve(labels, scores)
    cost = fnr + (1 - P_TARGET) / P_TARGET * fpr
    best = int(np.argmin(cost))
    within_target = int(np.argmax(fpr <= FPR_TARGET))
    reverse = int(len(fnr) - 1 - np.argmax(fnr[::-1] <= FPR_TARGET))
    target = labels == 1
    of_target, of_nontarget = scores[target], scores[~target]
    metrics = {
        "eer": eer(fpr, fnr),
        "min_cdet": float(cost[best]),
        "fnr_at_fpr": float(fnr[within_target]),
        "fpr_at_fnr": float(fpr[reverse]),
        "auc": float(roc_auc_score(labels, scores)),
        "dprime": float(
            (of_target.mean() - of_nontarget.mean())
            / np.sqrt((of_target.var(ddof=1) + of_nontarget.var(ddof=1)) / 2)
        ),
        "min_cllr": min_cllr(labels, scores),
    }
    for name, mine in (("target", of_target), ("nontarget", of_nontarget)):
        metrics[f"{name}_mean"] = float(mine.mean())
        for share, score_quantile in zip(QUANTILES, np.quantile(mine, QUANTILES), strict=True):
            metrics[f"{name}_{share}"] = float(score_quantile)
    if thresholds is None:
        thresholds = [float(curve_thresholds[within_target]), float(curve_thresholds[best])]
    for i, threshold in enumerate(thresholds):
        fnr_there = float((of_target < threshold).mean())
        fpr_there = float((of_nontarget >= threshold).mean())
        metrics[f"threshold{i}"] = threshold
        metrics[f"fnr{i}"], metrics[f"fpr{i}"] = fnr_there, fpr_there
        metrics[f"cdet{i}"] = fnr_there + (1 - P_TARGET) / P_TARGET * fpr_there
        metrics[f"hter{i}"] = (fnr_there + fpr_there) / 2
    return metrics


def main(scores: str, speakers: str) -> None:
    """Measure every group and print the overall EER and how many groups there are."""
    table = read_both(scores, speakers)
    score, label = table["score"].to_numpy(), table["label"].to_numpy()
    metrics_by_group: dict[str, dict[str, float]] = {}
    thresholds = None
    for name, rows in groups(table):
        metrics_by_group[name] = measure(label[rows], score[rows], thresholds)
        thresholds = [metrics_by_group["all"][f"threshold{i}"] for i in range(2)]
    overall = metrics_by_group.pop("all")
    compared = [key for key in overall if key.startswith(("eer", "min_cdet", "f", "cdet", "hter"))]
    ratios = {
        name: {key: metrics[key] / overall[key] for key in compared if overall[key]}
        for name, metrics in metrics_by_group.items()
    }
    print(json.dumps({"eer": overall["eer"], "groups": len(ratios)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
