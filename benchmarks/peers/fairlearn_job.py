"""fairlearn's MetricFrame: both error rates by gender and nationality at one threshold.

Usage: python -m benchmarks.peers.fairlearn_job SCORES SPEAKERS
"""

from __future__ import annotations

import json
import sys

from benchmarks.peers.trials import read
from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate

THRESHOLD = -1.023943


def main(scores: str, speakers: str) -> None:
    """Fill one frame, ask it for its differences and ratios, and print how many groups it has."""
    table = read(scores, speakers)
    frame = MetricFrame(
        metrics={"fpr": false_positive_rate, "fnr": false_negative_rate},
        y_true=table["label"].to_numpy(),
        y_pred=(table["score"] >= THRESHOLD).to_numpy().astype("int8"),
        sensitive_features=table[["Gender", "Nationality"]].astype(str),
    )
    frame.difference()
    frame.ratio()
    print(json.dumps({"eer": None, "groups": int(frame.by_group["fnr"].notna().sum())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
