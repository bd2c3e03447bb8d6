"""The NIST way that wespeaker and other recipes take, in our own words, group by group.

Trials are read line by line into lists; per group, one sort and running sums give EER and smallest
cost. Ties are taken in input order, as those recipes do.

Usage: python -m benchmarks.peers.nist_loop SCORES SPEAKERS
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
P_TARGET = 0.05


def error_rates(scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return miss and false-accept rates when everything up to each sorted trial is rejected."""
    ordered = labels[np.argsort(scores)]
    missed = np.cumsum(ordered) / ordered.sum()
    rejected = np.cumsum(1 - ordered) / (1 - ordered).sum()
    return missed, 1 - rejected


def eer(missed: FloatArray, accepted: FloatArray) -> float:
    """Return where the two lines cross, linear between neighbours."""
    after = int(np.flatnonzero(missed >= accepted)[0])
    before = max(after - 1, 0)
    gap = missed[after] - accepted[after] - missed[before] + accepted[before]
    weight = 0.0 if gap == 0 else (accepted[before] - missed[before]) / gap
    return float(missed[before] + weight * (missed[after] - missed[before]))


def min_cost(missed: FloatArray, accepted: FloatArray) -> float:
    """Return the smallest normalised detection cost."""
    cost = P_TARGET * missed + (1 - P_TARGET) * accepted
    return float(cost.min() / min(P_TARGET, 1 - P_TARGET))


def main(scores: str, speakers: str) -> None:
    """Measure every group and print the overall EER and how many groups there are."""
    with Path(speakers).open(encoding="utf-8", newline="") as file:
        people = {
            row["VoxCeleb1 ID"]: (row["Gender"], row["Nationality"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    scores_by_group: defaultdict[str, list[float]] = defaultdict(list)
    labels: defaultdict[str, list[int]] = defaultdict(list)
    with Path(scores).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            gender, nationality = people[row["ref_file"].split("/", 1)[0]]
            score, label = float(row["sc"]), int(row["lab"])
            for group in ("all", gender, nationality, f"{gender}+{nationality}"):
                scores_by_group[group].append(score)
                labels[group].append(label)
    metrics = {}
    for group, group_scores in scores_by_group.items():
        rates = error_rates(np.array(group_scores), np.array(labels[group], dtype=np.float64))
        metrics[group] = (eer(*rates), min_cost(*rates))
    print(json.dumps({"eer": metrics["all"][0], "groups": len(metrics) - 1}))


if __name__ == "__main__":
    main(*sys.argv[1:])
