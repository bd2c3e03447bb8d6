"""Kill what runs an audit in parts, again and again: the audit has the bytes of an undisturbed one.

    python -m benchmarks.killed [--kills 20] [--trials 400000]
    python -m benchmarks.killed --ray      # two nodes of this machine, one of them killed half-way

Who is killed (``kill -9``), of the driver of ``shards run --workers 2``, one of its workers, and
``shards merge``, and when, is drawn. What was killed is run again, and may be killed again. With
`--ray`, a task that was begun leaves a line, so that what is done twice can be counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.runtime.cluster import Cluster
from parivox.share.shard_merging import find_thresholds
from parivox.share.shard_run import shard_runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.runtime.workers import AnnounceItem, TaskOutput

SHARDS = 8
LIMIT = 300.0  # seconds for one command
# files that hold the random key of a folder, or hashes by it
OF_KEY = {"private.json", "provenance.json", "pairing.parquet", "SHA256SUMS"}


def command(*words: object) -> list[str]:
    """Words of `parivox` as a process."""
    return [sys.executable, "-m", "parivox", *map(str, words), "--quiet"]


def content(folder: Path) -> dict[str, bytes]:
    """Bytes of every file of an audit, by its name, but for what the folder's own key changes."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in OF_KEY}


def plan(home: Path, trials: int) -> Path:
    """A plan of so many synthetic trials, to be copied."""
    generation = [sys.executable, "-m", "benchmarks.synthetic", str(home), "--trials", str(trials)]
    subprocess.run(generation, check=True, stdout=subprocess.DEVNULL)
    scores, speakers = home / f"trials-{trials}.parquet", home / "speakers.csv"
    trial_table = pl.read_parquet(scores)  # two parts may not count one pair
    trial_table.unique(["enrol", "test"], keep="first", maintain_order=True).write_parquet(scores)
    words = ("--speakers", speakers, "--by", "gender", "--operating-point", "fpr=0.01")
    more = ("--shards", SHARDS, "--replicates", 50, "--out", home / "plan")
    subprocess.run(
        command("shards", "plan", scores, *words, *more), check=True, stdout=subprocess.DEVNULL
    )
    return home / "plan"


def children(pid: int) -> list[int]:
    """Worker processes of a process."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                is_worker = "spawn_main" in (stat.parent / "cmdline").read_text()
                pids += [int(stat.parent.name)] if is_worker else []
    return pids


def kill(words: list[str], whom: str, after: float) -> tuple[int, bool]:
    """Run a command, and kill it or a worker of it after so many seconds; its exit code, and if."""
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(words, stderr=stderr, stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        victims = [process.pid] if process.poll() is None else []
        if whom == "worker" and victims:
            victims = children(process.pid)[:1]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        code = process.wait(LIMIT)
        stderr.seek(0)
        words_said = stderr.read()
        if "Traceback" in words_said or (not victims and code):
            raise RuntimeError(words_said)
    return code, bool(victims)


def kill_often(home: Path, planned: Path, kills: int, seed: int) -> None:
    """Kill so often; tell and compare."""
    draw = random.Random(seed)  # noqa: S311 - nothing secret
    run, merge = home / "run", home / "audit"
    commands = {
        "run": command("shards", "run", run, "--workers", 2),
        "merge": command("shards", "merge", run, "--out", merge),
    }
    took, expected, killed, finished = dict.fromkeys(commands, LIMIT), None, 0, 0
    while killed < kills or finished < 2:
        for folder in (run, merge):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(planned, run)
        for stage, words in commands.items():
            while True:
                began = time.monotonic()
                whom = draw.choice(("driver", "worker", "merge"))
                is_spared = (
                    expected is None or killed >= kills or (whom == "merge") == (stage == "run")
                )
                after = LIMIT if is_spared else draw.uniform(0.05, 1.0) * took[stage]
                code, was_killed = kill(words, whom, after)
                if was_killed:
                    killed += 1
                    print(f"{killed:3} {whom} after {after:.1f} s: {code}", flush=True)
                if not code:
                    break
            took[stage] = min(took[stage], time.monotonic() - began)
        finished += 1
        expected = expected or content(merge)
        if content(merge) != expected:
            msg = "the audit has other bytes"
            raise RuntimeError(msg)
        print(f"audit {finished}: the same {len(expected)} files", flush=True)


def noting(folder: Path, log: Path) -> Callable[[int, AnnounceItem], TaskOutput]:
    """What a worker does, and a line for each part that it begins."""
    do = shard_runner(folder)

    def noted(number: int, in_hand: AnnounceItem) -> TaskOutput:
        with log.open("a") as file:
            file.write(f"{number}\n")
        return do(number, in_hand)

    return noted


def ray_killed(home: Path, planned: Path) -> None:
    """Both passes by one node, by two, and by two of which one is killed half-way."""
    paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": ":".join(filter(None, paths))}
    from ray.cluster_utils import Cluster as Nodes

    bytes_of = []
    for name, count, is_killed in (("one", 1, False), ("two", 2, False), ("killed", 2, True)):
        nodes: Any = Nodes(initialize_head=True, head_node_args={"num_cpus": 0})
        workers = [nodes.add_node(num_cpus=1) for _ in range(count)]
        folder, log = home / name, home / f"{name}.log"
        shutil.copytree(planned, folder)
        began = time.monotonic()
        with Cluster(nodes.address).open(partial(noting, folder, log)) as do:
            for so_far, _ in enumerate(do(range(1, SHARDS + 1)), 1):
                if is_killed and so_far == SHARDS // 2:
                    nodes.remove_node(workers[0], allow_graceful=False)
            find_thresholds(folder)
            deque(do(range(1, SHARDS + 1)), maxlen=0)
        took = time.monotonic() - began
        nodes.shutdown()
        subprocess.run(
            command("shards", "merge", folder, "--out", home / f"{name}-a"),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        bytes_of.append(content(home / f"{name}-a"))
        begun = len(log.read_text().splitlines())
        print(f"{name}: {took:.0f} s, {begun - 2 * SHARDS} parts begun twice", flush=True)
        if begun - 2 * SHARDS > int(is_killed) or bytes_of[-1] != bytes_of[0]:
            msg = "more was done again than processors were lost, or the audit has other bytes"
            raise RuntimeError(msg)


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--trials", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ray", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        planned = plan(home, options.trials)
        if options.ray:
            ray_killed(home, planned)
        else:
            kill_often(home, planned, options.kills, options.seed)


if __name__ == "__main__":
    from benchmarks import killed  # whose functions a node can import

    killed.main()
