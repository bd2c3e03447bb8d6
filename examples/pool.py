"""The pool of docs/trials.md: the utterances of VoxCeleb1-H and the speakers of VoxCeleb1.

    python examples/pool.py FOLDER

Both come from the scores that `pip install parivox[demo]` brings.
"""

from __future__ import annotations

import csv
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory


def write(folder: Path) -> None:
    """Write every utterance that stands in a trial, once."""
    spec = find_spec("bt4vt")  # found, not imported
    if spec is None or spec.origin is None:
        sys.exit("The scores are missing: pip install 'parivox[demo]'")
    data = Path(spec.origin).parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    utterances = set()
    with (data / "resnetse34v2_H-eval_scores.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        assert next(rows)[:2] == ["ref_file", "com_file"]
        for enrol, test, *_ in rows:
            utterances |= {enrol, test}
    lines = "\n".join(["utterance", *sorted(utterances)])
    (folder / "utterances.csv").write_text(f"{lines}\n")
    shutil.copyfile(data / "vox1_meta.csv", folder / "speakers.csv")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            write(Path(folder))
