"""Audits and reports by several processes: the same bytes, whoever is killed and whatever fails."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import parivox

SOURCES = Path(parivox.__file__).parents[1]
KEYED = {"SHA256SUMS", "private.json", "provenance.json"}
"""Files of an audit that a random key is in."""
KEYED_HASH = re.compile(rb"[0-9a-f]{8}:[0-9a-f]{64}")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two systems on one list, together long enough for workers."""
    home = tmp_path_factory.mktemp("workers")
    draw = np.random.default_rng(3)
    speakers = [f"s{number:02}" for number in range(30)]
    recordings = [f"{speaker}/{number}" for speaker in speakers for number in range(11)]
    (home / "speakers.csv").write_text(
        "speaker,gender,nation\n"
        + "".join(
            f"{name},{'fm'[number % 2]},{'ab'[number // 15]}\n"
            for number, name in enumerate(speakers)
        )
    )
    for system in ("a", "b"):
        rows = ["enrol,test,score,label"]
        for number, enrol in enumerate(recordings):
            for test in recordings[number + 1 :]:
                is_target = enrol[:3] == test[:3]
                rows.append(f"{enrol},{test},{draw.normal(3 * is_target):.4f},{int(is_target)}")
        (home / f"{system}.csv").write_text("\n".join(rows) + "\n")
    return home


ANEW = (sys.executable, "-m", "parivox")
"""The command in a process that Python starts anew, as its worker processes are."""


def words(*more, program=ANEW):
    by = ("--by", "gender", "--by", "gender+nation", "--compare", "--replicates", "50")
    files = ("A=a.csv", "B=b.csv", "--speakers", "speakers.csv")
    return [*program, "audit", *files, *by, *more]


def environment(folder, temporary):
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": str(SOURCES), "TMPDIR": str(temporary)}


def ran(arguments, folder, temporary):
    return subprocess.run(
        arguments,
        cwd=folder,
        env=environment(folder, temporary),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def content(folder):
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.name not in KEYED and file.suffix != ".parquet"
    }


def workers_of(process, end):
    """Wait for the workers of a process; their numbers."""
    while time.monotonic() < end:
        found = subprocess.run(
            ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        if found:
            return [int(number) for number in found]
        time.sleep(0.02)
    return []


def audit_and_report(folder, number, temporary, program=ANEW):
    """What so many processes write and print."""
    (folder / f"by{number}").mkdir()
    out = ("--out", f"by{number}/audit", "--report", f"by{number}/report.html")
    workers = ("--quiet", "--workers", str(number))
    done = ran(words(*out, *workers, program=program), folder, temporary)
    assert done.returncode == 0, done.stderr
    report = KEYED_HASH.sub(b"KEYED", (folder / f"by{number}" / "report.html").read_bytes())
    printed = done.stdout.replace(f"by{number}", "OUT")
    return content(folder / f"by{number}" / "audit"), report, printed, done.stderr


@pytest.fixture(scope="module")
def by_one(folder, program, tmp_path_factory):
    return audit_and_report(folder, 1, tmp_path_factory.mktemp("one"), (str(program),))


@pytest.mark.parametrize("number", [2, 4])
def test_any_number_of_processes_gives_the_same_bytes(number, folder, by_one, tmp_path):
    assert audit_and_report(folder, number, tmp_path) == by_one
    assert [*tmp_path.iterdir()] == []


def test_the_work_of_a_worker_that_is_killed_is_repeated(folder, by_one, tmp_path):
    process = subprocess.Popen(
        words("--out", str(tmp_path / "audit"), "--quiet", "--workers", "2"),
        cwd=folder,
        env=environment(folder, tmp_path / "tmp"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    (worker, *_) = workers_of(process, time.monotonic() + 60)
    os.kill(worker, signal.SIGKILL)
    error_output = process.communicate(timeout=180)[1]
    assert process.returncode == 0
    assert error_output == (
        "parivox: a worker process ended for a reason other than its task (SIGKILL); its work is "
        "repeated by one process\n"
    )
    assert content(tmp_path / "audit") == by_one[0]
    assert [*(tmp_path / "tmp").iterdir()] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_audit_that_is_stopped_leaves_nothing_behind(number, folder, tmp_path):
    process = subprocess.Popen(
        words("--out", str(tmp_path / "audit"), "--quiet", "--workers", "2"),
        cwd=folder,
        env=environment(folder, tmp_path / "tmp"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    workers = workers_of(process, end)
    assert workers
    process.send_signal(number)
    assert process.wait(timeout=60) in {143, 130, -signal.SIGKILL}
    while any(Path("/proc", str(worker)).exists() for worker in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path("/proc", str(worker)).exists() for worker in workers)
    assert not (tmp_path / "audit").exists()
    if number != signal.SIGKILL:
        assert [*(tmp_path / "tmp").iterdir()] == []


SCRIPT = """
import parivox as pv

def audit():
    scores = {{"A": "a.csv", "B": "b.csv"}}
    result = pv.audit(
        scores, "speakers.csv", by=["gender", "gender+nation"], compare=True, replicates=50, {more}
    )
    result.save({out!r})

{start}
"""
WITH_GUARD, WITHOUT_GUARD = 'if __name__ == "__main__":\n    audit()', "audit()"


def script(folder, tmp_path, more, start):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.format(more=more, start=start, out=str(tmp_path / "audit")))
    return ran([sys.executable, str(file)], folder, tmp_path / "tmp")


@pytest.mark.parametrize(
    ("more", "start"),
    [
        ("", WITHOUT_GUARD),
        ("workers=2", WITH_GUARD),
        # what workers cannot be given stays in this process
        ("workers=2, metrics={'mine': lambda errors: errors.fn / errors.n_target}", WITH_GUARD),
    ],
)
def test_scripts_audit(more, start, folder, by_one, tmp_path):
    done = script(folder, tmp_path, more, start)
    assert done.returncode == 0, done.stderr
    saved = content(tmp_path / "audit")
    assert saved.keys() == by_one[0].keys()
    if "metrics" not in more:
        assert saved == by_one[0]


def test_a_script_without_guard_is_told_of_it(folder, tmp_path):
    done = script(folder, tmp_path, "workers=2", WITHOUT_GUARD)
    assert done.returncode == 1
    last_line = done.stderr.strip().split("\n")[-1]
    assert re.search('worker processes import the script.*if __name__ == "__main__"', last_line)
    assert not (tmp_path / "audit").exists()


def test_a_script_that_runs_the_command_needs_no_guard(folder, by_one, tmp_path):
    arguments = words("--out", str(tmp_path / "audit"), "--quiet")[3:]
    (tmp_path / "script.py").write_text(f"from parivox.cli import main\nmain({arguments!r})\n")
    done = ran([sys.executable, str(tmp_path / "script.py")], folder, tmp_path / "tmp")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "audit") == by_one[0]


def test_no_number_of_processes(folder, program, tmp_path):
    for number, problem in (("0", "0; give a whole number from 1 to 1024"), ("two", "'two'; give")):
        done = ran(words("--workers", number, program=(str(program),)), folder, tmp_path / "tmp")
        assert done.returncode == 2
        assert done.stderr.startswith(f"parivox: error: --workers is {problem}")
