"""The pilot of docs/plan.md: scores of 118 people of six regions, and where they are from.

    python examples/pilot.py FOLDER

Writes made-up files in which trials of one speaker are alike, and checks what a plan says of them.
"""

from __future__ import annotations

import random
import sys
from itertools import combinations
from pathlib import Path

import parivox as pv

REGIONS = {"north": 40, "south": 30, "east": 20, "west": 16, "islands": 8, "abroad": 4}
RECORDINGS = 8
HARDER = "islands"
"""Speakers of this region score lower against themselves."""


def write(folder: Path) -> None:
    """Write the scores and the people."""
    draw = random.Random(7)  # noqa: S311 - made-up scores, not secrets
    regions = [region for region, speakers in REGIONS.items() for _ in range(speakers)]
    people = [(f"p{n:03d}", region) for n, region in enumerate(regions)]
    offsets = {
        speaker: draw.gauss(-0.08 if region == HARDER else 0, 0.05) for speaker, region in people
    }
    recordings = [f"{speaker}/{n}" for speaker in offsets for n in range(RECORDINGS)]
    rows = ["enrol,test,score,label"]
    for enrol, test in combinations(recordings, 2):
        enrol_speaker, test_speaker = enrol[:4], test[:4]
        if enrol_speaker == test_speaker:
            rows.append(f"{enrol},{test},{draw.gauss(0.6 + offsets[enrol_speaker], 0.1):.4f},1")
        elif draw.random() < 0.1:
            mean = 0.1 + (offsets[enrol_speaker] + offsets[test_speaker]) / 2
            rows.append(f"{enrol},{test},{draw.gauss(mean, 0.1):.4f},0")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scores.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    lines = ["speaker,region", *[",".join(person) for person in people]]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(folder: Path) -> None:
    """Audit, plan, and compare the groups with what was put in."""
    audit = pv.audit(folder / "scores.csv", speakers=folder / "people.csv", by="region")
    plan = pv.plan(audit, target_fpr=0.001)
    speakers = {row["group"]: row["speakers"] for row in plan.groups.filter(metric="fnr")}
    assert speakers == REGIONS


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/pilot")
    write(folder)
    check(folder)
