"""The student of docs/tutorials/student.md: real scores as two toolkits write them.

    python examples/student.py FOLDER

Writes the scores that `pip install parivox[demo]` brings, of ResNetSE34V2 as WeSpeaker and of
ResNetSE34L as Kaldi has them, the trial list and the speakers.
"""

from __future__ import annotations

import csv
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

WORDS = {"1": "target", "0": "nontarget"}
LOST = 7
"""So many trials have no score of Kaldi's, as if a job had died."""


def write(folder: Path) -> None:
    """Write the four files."""
    spec = find_spec("bt4vt")  # found, not imported
    if spec is None or spec.origin is None:
        sys.exit("The scores are missing: pip install 'parivox[demo]'")
    data = Path(spec.origin).parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data / "vox1_meta.csv", folder / "vox1_meta.tsv")
    v2, light = (rows_of(data / f"resnetse34{name}_H-eval_scores.csv") for name in ("v2", "l"))
    lines = {
        "v2.score": [f"{e} {t} {float(score):.5f} {WORDS[label]}" for e, t, score, label in v2],
        "l.scores": [f"{e} {t} {float(score):.4f}" for e, t, score, _ in light[:-LOST]],
        "trials.txt": [f"{e} {t} {WORDS[label]}" for e, t, _, label in v2],
    }
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


def rows_of(file: Path) -> list[list[str]]:
    """Rows of a table below its header."""
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.reader(text))[1:]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/student")
    write(folder)
