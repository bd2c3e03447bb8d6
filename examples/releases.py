"""Two releases of docs/gate.md: real scores of two systems on the same trials.

    python examples/releases.py FOLDER

Copies the scores that `pip install parivox[demo]` brings: of ResNetSE34L as the last release and of
ResNetSE34V2 as the next one.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

FILES = {
    "resnetse34l_H-eval_scores.csv": "last.csv",
    "resnetse34v2_H-eval_scores.csv": "next.csv",
    "vox1_meta.csv": "speakers.tsv",
}


def write(folder: Path) -> None:
    """Copy the files under names of their own."""
    spec = find_spec("bt4vt")  # found, not imported
    if spec is None or spec.origin is None:
        sys.exit("The scores are missing: pip install 'parivox[demo]'")
    folder.mkdir(parents=True, exist_ok=True)
    for name, to in FILES.items():
        shutil.copyfile(Path(spec.origin).parent / "data" / name, folder / to)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
