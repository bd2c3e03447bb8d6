"""What must work with the core dependencies alone, at the oldest versions promised."""

import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.minimal


@pytest.fixture
def files(tmp_path):
    """A score file of six speakers, and their table."""
    draw = np.random.default_rng(5)
    speakers = [f"s{i}" for i in range(6)]
    utterances = [f"{speaker}/{i}.wav" for speaker in speakers for i in range(4)]
    rows = ["enrol,test,score,label"]
    for i, enrol in enumerate(utterances):
        for test in utterances[i + 1 :]:
            target = enrol[:2] == test[:2]
            rows.append(f"{enrol},{test},{draw.normal(2.0 * target):.6f},{int(target)}")
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n")
    table = ["speaker,gender", *(f"{s},{'fm'[i % 2]}" for i, s in enumerate(speakers))]
    (tmp_path / "speakers.csv").write_text("\n".join(table) + "\n")
    return tmp_path


@pytest.mark.slow
def test_an_audit_from_the_command_line(files):
    out = files / "audit"
    command = ["audit", files / "scores.csv", "--speakers", files / "speakers.csv"]
    options = ["--by", "gender", "--operating-point", "fpr=0.1", "--out", out]
    done = subprocess.run(
        [sys.executable, "-m", "parivox", *command, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (out / "groups.csv").read_text().startswith("system,list,grouping,group,")
    assert (out / "audit.json").stat().st_size > 0


WITHOUT = """
import os, sys
for name in ("fcntl", "grp", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in ("fork", "getuid", "killpg", "sched_getaffinity", "symlink", "sysconf", "wait4"):
    if hasattr(os, name):
        delattr(os, name)
if hasattr(os, "process_cpu_count"):  # from Python 3.13 on: it is this where no affinity is known
    os.process_cpu_count = os.cpu_count
from parivox.cli import main
main(sys.argv[1:])
"""
"""A command where nothing is that Windows lacks."""


@pytest.mark.slow
def test_an_audit_without_what_windows_lacks(files):
    (files / "audit").mkdir()  # whose place is taken, file by file
    words = ["audit", "scores.csv", "--speakers", "speakers.csv", "--by", "gender", "--quiet"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            WITHOUT,
            *words,
            "--operating-point",
            "fpr=0.1",
            "--out",
            "audit",
            "--no-intervals",
        ],
        cwd=files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {"audit.json", "groups.csv"} <= {path.name for path in (files / "audit").iterdir()}
    assert not list(files.rglob(".parivox-*"))


@pytest.mark.slow
def test_an_audit_from_python(files):
    import parivox as pv

    audit = pv.audit(str(files / "scores.csv"), speakers=str(files / "speakers.csv"), by=["gender"])
    rows = audit.groups.to_polars().rows(named=True)
    assert {row["group"] for row in rows} >= {"f", "m", "pooled", "all"}


def test_the_functions_of_scipy_are_there():
    from parivox import cllr, min_cllr

    scores, labels = [2.0, 1.0, -0.5, 0.5, -1.0, -2.0], [1, 1, 1, 0, 0, 0]
    assert 0 < float(min_cllr(scores, labels)) <= float(cllr(scores, labels))


@pytest.mark.slow
@pytest.mark.parametrize(
    "package", ["altair", "bt4vt", "openpyxl", "pandas", "pyarrow", "scipy.stats", "sklearn"]
)
def test_importing_parivox_imports_none_of(package):
    code = f"import sys, parivox, parivox.cli; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
