"""The student of docs/bring-your-data.md: scores of two toolkits, a trial list, the speakers.

    python examples/student.py FOLDER

Writes made-up files as WeSpeaker, Kaldi and VoxCeleb write theirs, and checks what an audit of
them says.
"""

from __future__ import annotations

import random
import sys
from itertools import combinations
from pathlib import Path

import parivox as pv

COUNTRIES = ("Brazil", "Ghana", "Norway")
SPEAKERS = {f"id9{i:04d}": ("mf"[i % 2], COUNTRIES[i % 3]) for i in range(1, 49)}
FILES = [
    (one, f"{one}/{video:03d}/{n:05d}.wav")
    for one in SPEAKERS
    for video in (1, 2, 3)
    for n in (1, 2)
]
LOST = 7
"""So many trials have no score of Kaldi's, as if a job had died."""


def write(folder: Path) -> None:
    """Write the four files."""
    draw = random.Random(11)  # noqa: S311 - made-up scores, not secrets
    trials, wespeaker, kaldi = [], [], []
    for (first, enrol), (second, test) in combinations(FILES, 2):
        if first != second and draw.random() > 0.3:
            continue
        word = "target" if first == second else "nontarget"
        mean = (0.62 if SPEAKERS[first][0] == "m" else 0.55) if first == second else 0.12
        trials.append(f"{enrol} {test} {word}")
        wespeaker.append(f"{enrol} {test} {draw.gauss(mean, 0.13):.5f} {word}")
        kaldi.append(f"{enrol} {test} {draw.gauss(40 * mean - 12, 4):.4f}")
    draw.shuffle(kaldi)  # rows are joined by their ids, never by their order
    people = ["\t".join((one, *told)) for one, told in SPEAKERS.items()]
    files = {
        "wespeaker.score": wespeaker,
        "kaldi.scores": kaldi[LOST:],
        "trials.txt": trials,
        "meta.tsv": ["VoxCeleb1 ID\tGender\tNationality", *people],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def check(folder: Path) -> None:
    """Audit both systems, and compare what comes out with what was put in."""
    audit = pv.audit(
        {"WeSpeaker": folder / "wespeaker.score", "Kaldi": folder / "kaldi.scores"},
        trials=folder / "trials.txt",
        speakers=folder / "meta.tsv",
        by=["gender", "gender+nationality"],
    )
    (lost,) = audit.data.where(item="trials without score").rows()
    assert (lost["system"], lost["count"]) == ("Kaldi", LOST)
    for system in ("WeSpeaker", "Kaldi"):
        rows = audit.groups.where(system=system, grouping="gender", metric="fnr", definition="")
        rates = {row["group"]: row["value"] for row in rows}
        assert rates["f"] > rates["pooled"] > rates["m"]


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "build/student")
    write(where)
    check(where)
