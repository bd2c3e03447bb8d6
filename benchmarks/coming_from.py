"""Run again what docs/coming-from.md shows of aequitas and bob.

python -m benchmarks.coming_from       # some 600 MB are downloaded

Both ask for older libraries, so each is installed in a new environment of its own. The page must
show what they print of its trials.
"""

from __future__ import annotations

import doctest
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.install import ROOT, Environment

PAGE = ROOT / "docs" / "coming-from.md"
AEQUITAS = ("aequitas==1.1.0",)
BOB = ("bob.bio.base==8.1.1", "bob.measure==6.1.1", "scikit-learn<1.6", "setuptools<81")


def trials(page: str) -> dict[str, Any]:
    """What the page makes before any tool is asked."""
    namespace: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page.partition("\nIn Parivox ")[0]):
        exec(example.source, namespace)  # noqa: S102 - the page is our own
    return namespace


def main() -> int:
    """Install, run and compare; return 1 if something else is printed than the page shows."""
    page = PAGE.read_text(encoding="utf-8")
    namespace = trials(page)
    frame, is_woman = namespace["trials"], namespace["women"][namespace["enrol"]]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        table, scores = work / "decisions.csv", work / "scores-dev"
        decided = {"score": (frame.score >= 0).astype(int), "label_value": frame.label}
        decided["gender"] = ["f" if is_female else "m" for is_female in is_woman]
        namespace["pd"].DataFrame(decided).to_csv(table, index=False)
        five = [frame.enrol.str[:3], frame.enrol, frame.test.str[:3], frame.test, frame.score]
        namespace["pd"].concat(five, axis=1).to_csv(scores, sep=" ", header=False, index=False)
        aequitas, bob = Environment(work / "aequitas"), Environment(work / "bob")
        aequitas.pip("install", "--no-compile", *AEQUITAS)
        bob.pip("install", "--no-compile", *BOB)
        job = ROOT / "benchmarks" / "peers" / "aequitas_job.py"
        metrics_command = ("bio", "metrics", scores, "-c", "far", "-f", "0.01")
        printed = {
            "aequitas": aequitas.run(aequitas.programs / "python", job, table).out,
            "bob": bob.run(bob.programs / "bob", *metrics_command).out.replace(f"{work}/", ""),
        }
    wrong = 0
    for name, out in printed.items():
        section = page.partition(f"\n## {name}\n")[2]
        shown = section.partition("\n```\n")[2].partition("```\n")[0]
        stands = bool(shown) and shown in out
        if not stands:
            wrong += 1
        print(f"{name}: {'as the page shows it' if stands else f'not as the page shows it:{out}'}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
