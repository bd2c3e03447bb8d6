"""Write a small made-up score file and speaker table: enough to try `parivox audit` on.

Eight speakers, four utterances each, every pair of utterances scored. Women's scores are a
little lower for target trials, so a common threshold rejects them more often.
"""

from __future__ import annotations

import csv
import random
import sys
from itertools import combinations
from pathlib import Path

SPEAKERS = {f"s{i}": ("f" if i % 2 else "m", ("north", "south")[i // 4]) for i in range(8)}
UTTERANCES = [(speaker, f"{speaker}/{i}.wav") for speaker in SPEAKERS for i in range(4)]


def write(folder: Path) -> None:
    """Write ``scores.csv`` and ``speakers.csv`` into a folder."""
    draw = random.Random(7)  # noqa: S311 - made-up scores, not secrets
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "speakers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["speaker", "gender", "region"])
        rows.writerows([speaker, *attributes] for speaker, attributes in SPEAKERS.items())
    with (folder / "scores.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["enrol", "test", "score", "label"])
        for (enrol_speaker, enrol), (test_speaker, test) in combinations(UTTERANCES, 2):
            target = enrol_speaker == test_speaker
            same_mean = 0.6 if SPEAKERS[enrol_speaker][0] == "m" else 0.5
            score = draw.gauss(same_mean if target else 0.1, 0.15)
            rows.writerow([enrol, test, f"{score:.6f}", int(target)])


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/tiny")
    write(out)
    print(f"Try: parivox audit {out}/scores.csv --speakers {out}/speakers.csv --by gender")
