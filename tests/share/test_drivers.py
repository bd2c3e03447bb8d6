"""Who runs the parts of an audit: arrays of SLURM and SGE, processes; and who is killed.

For Ray see `tests/test_cluster.py`, where a cluster runs.
"""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.folders import OF_KEY

import parivox as pv
from parivox.errors import ConfigError, DataError
from parivox.shards import merge, plan, run

pytestmark = pytest.mark.slow

SOURCES = Path(pv.__file__).parents[1]
EXAMPLES = Path(__file__).parents[2] / "examples"
N = 3
ENGINES = {"slurm_array.sh": "SLURM_ARRAY_TASK_ID", "sge_array.sh": "SGE_TASK_ID"}


@pytest.fixture(scope="module")
def planned(lists, tmp_path_factory):
    """A plan of three parts."""
    folder = tmp_path_factory.mktemp("planned") / "run"
    options = {"by": ["gender"], "replicates": 50, "speakers": str(lists / "s.csv")}
    plan({"S": str(lists / "all.parquet")}, out=folder, shards=N, **options)
    return folder


@pytest.fixture(scope="module")
def audit_content(planned, tmp_path_factory):
    """Files of the audit that nobody disturbed."""
    home = tmp_path_factory.mktemp("whole")
    run(shutil.copytree(planned, home / "run"))
    merge(home / "run").save(home / "audit")
    return content(home / "audit")


@pytest.fixture
def folder(planned, tmp_path):
    """A copy of the plan, of which nothing is done."""
    return shutil.copytree(planned, tmp_path / "run")


def content(folder):
    """Bytes of a folder's files by name, but those that depend on its random key."""
    paths = [path for path in folder.iterdir() if path.name not in OF_KEY]
    return {path.name: path.read_bytes() for path in paths}


def environment(home, program=None, **more):
    """A task's: `parivox` is in the PATH, one that starts anew or a program that is given.

    What chooses how numbers are added up is kept, as last digits differ by it.
    """
    if program is None:
        program = home / "bin" / "parivox"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m parivox "$@"\n')
        program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin"
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("OPENBLAS_", "OMP_", "NPY_"))
    }
    return {**variables, "PATH": path, "PYTHONPATH": str(SOURCES), "HOME": str(home), **more}


def ran(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


def test_arrays_make_the_bytes_of_one_run(folder, audit_content, program, tmp_path):
    """Each pass has every task; one is given twice, and one is killed and given again.

    Tasks are of either engine in turn, which differ by where they find their number.
    """
    engines = itertools.cycle(ENGINES.items())

    def task(number, part_count=N, program=program):
        script, name = next(engines)
        env = environment(tmp_path, program, **{name: str(number)})
        return [EXAMPLES / script, folder, str(part_count)], {"env": env}

    def merged():
        words = [program, "shards", "merge", str(folder)]
        out = ("--out", str(tmp_path / "audit"), "--quiet")
        return ran([*words, *out], env=environment(tmp_path, program))

    for number in (1, 2):
        words, more = task(number)
        assert ran(words, **more).returncode == 0
    done = merged()
    assert done.returncode == 2
    assert "counts of 1 of 3 shards are missing (3); run these shards again" in done.stderr
    words, more = task(3, program=None)  # one that dies by what kills it
    process = subprocess.Popen(words, **more, stderr=subprocess.DEVNULL)
    time.sleep(0.4)
    process.kill()
    process.wait()
    for number in (3, 2):
        words, more = task(number)
        assert ran(words, **more).returncode == 0
    words, more = task(1, part_count=4)
    done = ran(words, **more)
    assert done.returncode == 2
    assert "--shard 1/4: the plan has 3 shards, not 4; give 1/3 to 3/3" in done.stderr
    done = merged()
    assert done.returncode == 0
    assert "Run the array again, for the second pass" in done.stdout
    for number in (2, 3, 1):
        words, more = task(number)
        assert ran(words, **more).returncode == 0
    assert merged().returncode == 0
    assert content(tmp_path / "audit") == audit_content


@pytest.mark.parametrize("script", ENGINES)
def test_a_script_outside_of_an_array_says_how_to_submit_it(script, folder, tmp_path):
    done = ran([EXAMPLES / script, folder, "3"], env=environment(tmp_path))
    assert done.returncode != 0
    assert f"{ENGINES[script]}" in done.stderr
    assert "is not set: submit this with " in done.stderr
    done = ran([EXAMPLES / script, folder], env=environment(tmp_path))
    assert "give the folder of the plan and its number of shards" in done.stderr


def test_a_driver_that_is_killed_takes_its_workers_along(folder, audit_content, tmp_path):
    words = [sys.executable, "-m", "parivox", "shards", "run", str(folder), "--quiet"]
    process = subprocess.Popen([*words, "--workers", "2"], env=environment(tmp_path))
    end = time.monotonic() + 60
    while not any(folder.glob("*/shard.json")) and time.monotonic() < end:
        time.sleep(0.05)
    workers = ran(["pgrep", "-P", str(process.pid), "-f", "spawn_main"]).stdout.split()
    assert workers
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(Path("/proc", pid).exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path("/proc", pid).exists() for pid in workers)
    assert ran([*words, "--workers", "2"], env=environment(tmp_path)).returncode == 0
    merge(folder).save(tmp_path / "audit")
    assert content(tmp_path / "audit") == audit_content


def test_a_worker_that_is_killed_is_a_sentence(folder, audit_content, tmp_path):
    words = [sys.executable, "-m", "parivox", "shards", "run", str(folder), "--quiet"]
    process = subprocess.Popen(
        [*words, "--workers", "2"], env=environment(tmp_path), stderr=subprocess.PIPE, text=True
    )
    end, workers = time.monotonic() + 60, []
    while not workers and time.monotonic() < end:
        workers = ran(["pgrep", "-P", str(process.pid), "-f", "spawn_main"]).stdout.split()
    os.kill(int(workers[0]), signal.SIGKILL)
    error_output = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert error_output.startswith(
        "parivox: error: a worker process ended for a reason other than its task"
    )
    assert "(SIGKILL)" in error_output
    assert error_output.count("\n") == 1
    run(folder)
    merge(folder).save(tmp_path / "audit")
    assert content(tmp_path / "audit") == audit_content


@pytest.mark.usefixtures("options_in_messages")
def test_who_runs_is_said_once(folder):
    for words in ({"shard": "1/3", "workers": 2}, {"ray": "auto", "workers": 2}):
        with pytest.raises(
            ConfigError, match="--shard, --workers and --ray all set where the shards run"
        ):
            run(folder, **words)
    with pytest.raises(ConfigError, match="is not an address of a cluster"):
        run(folder, ray="head")


def test_a_part_that_fails_by_its_rows_is_told_by_processes_too(lists, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "parivox.share.shard_plan.MAX_TRIED_ROWS", 1
    )  # whose speakers are in the table
    (tmp_path / "s.csv").write_text((lists / "s.csv").read_text().split("\nqz23")[0])
    home = tmp_path / "other"
    options = {"by": ["gender"], "speakers": str(tmp_path / "s.csv")}
    plan({"S": str(lists / "all.parquet")}, out=home, shards=N, **options)
    with pytest.raises(DataError, match=r"shard 1 of 3 .*qz23.* \(.*in the same way: 2, 3\)"):
        run(home, workers=2)
