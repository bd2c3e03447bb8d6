"""The product team of docs/tutorials/product.md: two releases of an encoder on the same trials.

    python examples/product.py FOLDER

Writes made-up scores of a test set of 330 people with three accents. The second release errs less
for two of them and more for the third, and about as often in all.
"""

from __future__ import annotations

import random
import sys
from itertools import combinations
from pathlib import Path

import parivox as pv

ACCENTS = {"north": 150, "south": 120, "islands": 60}
RECORDINGS = 6
STRANGERS = 0.01
"""So many of the pairs of two people are compared."""
GAIN = {"north": 0.1, "south": 0.1, "islands": -0.04}
"""How far target scores of the second release lie above those of the first."""


def write(folder: Path) -> None:
    """Write the scores of both releases and the people."""
    draw = random.Random(4)  # noqa: S311 - made-up scores, not secrets
    accents = [accent for accent, people in ACCENTS.items() for _ in range(people)]
    people = {f"t{n:03d}": accent for n, accent in enumerate(accents)}
    target_means = {speaker: draw.gauss(0.62, 0.06) for speaker in people}
    recordings = [f"{speaker}/{n}.wav" for speaker in people for n in range(RECORDINGS)]
    old, new = (["enrol,test,score,label"] for _ in range(2))
    for pair in combinations(recordings, 2):
        enrol, test = pair if draw.random() < 0.5 else pair[::-1]
        speaker, test_speaker = enrol[:4], test[:4]
        is_target = speaker == test_speaker
        if not is_target and draw.random() > STRANGERS:
            continue
        similarity = draw.gauss(target_means[speaker] if is_target else 0.1, 0.12)
        gain = GAIN[people[speaker]] if is_target else 0.0
        for rows, score in ((old, similarity), (new, similarity + gain + draw.gauss(0, 0.05))):
            rows.append(f"{enrol},{test},{score:.4f},{int(is_target)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("4.1", old), ("4.2", new)):
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    lines = ["speaker,accent", *[",".join(person) for person in people.items()]]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def check(folder: Path) -> None:
    """Compare what an audit says with what was put in."""
    audit = pv.audit(
        {name: folder / f"{name}.csv" for name in ("4.1", "4.2")},
        speakers=folder / "people.csv",
        by="accent",
        operating_points="fpr=0.01",
        intervals=False,
    )
    rows = audit.groups.filter(grouping="accent", metric="fnr", definition="").rows()
    rate = {(row["system"], row["group"]): row["value"] for row in rows}
    assert abs(rate["4.2", "pooled"] - rate["4.1", "pooled"]) < 0.005
    assert rate["4.2", "islands"] > 2 * rate["4.1", "islands"]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/product")
    write(folder)
    check(folder)
