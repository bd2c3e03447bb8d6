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
        for (first, enrol), (second, test) in combinations(UTTERANCES, 2):
            target = first == second
            mean = (0.6 if SPEAKERS[first][0] == "m" else 0.5) if target else 0.1
            rows.writerow([enrol, test, f"{draw.gauss(mean, 0.15):.6f}", int(target)])


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/tiny")
    write(out)
    print(f"Try: parivox audit {out}/scores.csv --speakers {out}/speakers.csv --by gender")
