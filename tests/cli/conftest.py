"""Small files to audit, and the command line as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import parivox as package


def table(seed):
    """Trials of six speakers as CSV."""
    draw = np.random.default_rng(seed)
    utterances = [f"s{i}/{k}.wav" for i in range(6) for k in range(5)]
    rows = ["enrol,test,score,label"]
    for i, enrol in enumerate(utterances):
        for test in utterances[i + 1 :]:
            target = enrol[:2] == test[:2]
            rows.append(f"{enrol},{test},{draw.normal(2.0 * target):.4f},{int(target)}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """`scores.csv`, `other.csv`, `speakers.csv` in one folder."""
    home = tmp_path_factory.mktemp("files")
    (home / "scores.csv").write_text(table(5))
    (home / "other.csv").write_text(table(6))
    rows = [f"s{i},{'fm'[i % 2]},{'ABC'[i % 3]},{15 + 10 * i}\n" for i in range(6)]
    (home / "speakers.csv").write_text("speaker,gender,nation,age\n" + "".join(rows))
    return home


@pytest.fixture(scope="session")
def parivox(files):
    """Run the command in the folder of the files."""

    told = {"FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "NO_COLOR", "COLUMNS"}
    plain = {name: value for name, value in os.environ.items() if name not in told}
    home = str(Path(package.__file__).parents[1])  # as it was imported here, whatever the folder
    plain["PYTHONPATH"] = os.pathsep.join([home, plain.get("PYTHONPATH", "")]).rstrip(os.pathsep)

    def run(*words, stdin=None, cwd=None, **environment):
        words = [str(word) for word in words]
        asked = {"--replicates", "--no-intervals", "--help", "-h"}
        if words[:1] == ["audit"] and not asked & {*words}:
            words += ["--replicates", "50"]  # what they tell is tested elsewhere
        return subprocess.run(
            [sys.executable, "-m", "parivox", *words],
            cwd=cwd or files,
            input=stdin,
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            env={**plain, **environment},
        )

    return run
