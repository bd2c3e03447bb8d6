"""The release of docs/monitor.md: a bank's nightly logs, with another system from some day on.

    python examples/release.py FOLDER

Replays genuine trials of VoxCeleb1-H as calls: decided by ResNetSE34V2, and from 6 April on by
ResNetSE34L, each at its threshold for an FPR of 1 %. Counts the nights before that day.
"""

from __future__ import annotations

import csv
import datetime as dt
import random
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

import parivox as pv

START, RELEASE = dt.date(2026, 3, 2), dt.date(2026, 4, 6)
DAYS, CALLS = 42, 600
THRESHOLDS = {"v2": -1.0646437, "l": -0.8866103}


def write(folder: Path) -> None:
    """Write a log for each day, the customers and a key."""
    spec = find_spec("bt4vt")  # found, not imported
    if spec is None or spec.origin is None:
        sys.exit("The scores are missing: pip install 'parivox[demo]'")
    data = Path(spec.origin).parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    decided = {}
    for name, threshold in THRESHOLDS.items():
        with (data / f"resnetse34{name}_H-eval_scores.csv").open(encoding="utf-8") as file:
            lines = csv.reader(file)
            assert next(lines) == ["ref_file", "com_file", "sc", "lab"]
            decided[name] = [
                (recording[:7], "accept" if float(score) >= threshold else "reject")
                for recording, _, score, label in lines
                if label == "1"
            ]
    draw = random.Random(1)  # noqa: S311 - which calls come when, no secrets
    order = draw.sample(range(len(decided["l"])), DAYS * CALLS)
    for n in range(DAYS):
        day = START + dt.timedelta(days=n)
        log = decided["l" if day >= RELEASE else "v2"]
        rows = [(f"{day}/{k:03d}", *log[order[n * CALLS + k]]) for k in range(CALLS)]
        with (folder / f"{day}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("call", "customer", "decision"), *rows])
    with (data / "vox1_meta.csv").open(newline="", encoding="utf-8") as file:
        people = [
            (row["VoxCeleb1 ID"], row["Gender"]) for row in csv.DictReader(file, delimiter="\t")
        ]
    with (folder / "customers.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("customer", "gender"), *people])
    (folder / "bank.key").write_text(secrets.token_hex(32), encoding="utf-8")


def count(folder: Path) -> None:
    """Count the nights before the release, as the job would have."""
    for n in range((RELEASE - START).days):
        pv.monitor(
            folder / f"{START + dt.timedelta(days=n)}.csv",
            state=folder / "bank.state",
            new=n == 0,
            key=folder / "bank.key",
            speakers=folder / "customers.csv",
            by="gender",
        )
    log = pv.monitor(state=folder / "bank.state")
    assert len(log.alarms) == 0
    assert log.record["trials"] == CALLS * (RELEASE - START).days


if __name__ == "__main__":
    home = Path(sys.argv[1])
    write(home)
    count(home)
