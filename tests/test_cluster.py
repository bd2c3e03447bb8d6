"""Ray as a runner: the bytes of processes, whatever ends a node; a sentence where it cannot."""

import hashlib
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from tests.folders import OF_KEY

import parivox as pv
from parivox import shards
from parivox.cli import main
from parivox.embedding.extract import embed
from parivox.errors import ConfigError
from parivox.runtime.cluster import (
    AUTO_ADDRESS,
    Cluster,
    _do_on_node,
    _wait_for_files,
    check_address,
)

SYSTEM = """
import os, time
import numpy as np

class Small:
    name, sample_rate, scoring, least_seconds, provenance = "small", 8_000, "cosine", 0.1, {}

    def __init__(self, seconds):
        self.seconds = seconds

    def embed(self, waveforms):
        time.sleep(self.seconds)
        frames = [wave[: wave.size // 80 * 80].reshape(-1, 80) for wave in waveforms]
        spectra = [np.log(np.abs(np.fft.rfft(one))[:, 1:33] + 1e-6) for one in frames]
        return np.stack([one.mean(0, keepdims=True) for one in spectra])

class Placed(Small):
    provenance = {"device": "cuda"}

    def embed(self, waveforms):
        with open("seen.txt", "a") as seen:
            print(os.environ.get("CUDA_VISIBLE_DEVICES"), os.getpid(), file=seen)
        return super().embed(waveforms)

small, placed = Small(0.0), Placed(0.0)
"""
NODES = """
import sys
from ray.cluster_utils import Cluster
nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1})
print(nodes.address, flush=True)
sys.stdin.read()
nodes.shutdown()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Twelve recordings of three speakers, one of them silent, and a system."""
    folder = tmp_path_factory.mktemp("home")
    for i in range(12):
        path = folder / "calls" / f"anna{i % 3}" / f"{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        wave = np.random.default_rng(i).normal(size=4_000) / 10
        soundfile.write(path, wave if i else np.zeros_like(wave), 8_000)
    (folder / "mine.py").write_text(SYSTEM)
    return folder


@pytest.fixture(scope="module")
def run(home, optional):
    """A command in that folder."""
    optional("ray")
    path = f"{Path(pv.__file__).parents[1]}:{home}"

    def run(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=home,
            env=run.environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    run.environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": path}
    run.environment["OMP_NUM_THREADS"] = "1"  # as of the tests themselves
    return run


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_a_node_of_this_machine_makes_the_bytes_of_processes(run, home):
    command = ("-m", "parivox", "embed", "calls", "--system", "mine:small", "--batch", "2", "--out")
    completed = run(*command, "here", "--quiet")
    assert completed.returncode == 0, completed.stderr
    completed = run(*command, "there", "--quiet", "--ray")
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr == ""
    assert len(content(home / "here")) == 5
    assert content(home / "there") == content(home / "here")


@pytest.fixture(scope="module")
def address(run, home):
    """Of a cluster that takes seconds to start, whose one node says that it has a GPU."""
    pipe = subprocess.PIPE
    environment = run.environment | {"RAY_USAGE_STATS_ENABLED": "0"}
    words = [sys.executable, "-c", NODES]
    with subprocess.Popen(
        words,
        cwd=home,
        env=environment,
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as nodes:
        yield nodes.stdout.readline().strip()
        nodes.stdin.close()
        nodes.wait(60)


@pytest.mark.slow
def test_a_task_of_a_gpu_asks_for_one_and_its_process_is_told_which(run, home, address):
    words = ("embed", "calls", "--system", "mine:placed", "--batch", "4", "--out", "out", "--quiet")
    completed = run("-m", "parivox", *words, "--ray", address)
    assert (completed.returncode, completed.stderr) == (0, "")
    devices = [line.split() for line in (home / "seen.txt").read_text().splitlines()]
    node_devices = [(device, process) for device, process in devices if device != "None"]
    assert {device for device, _ in node_devices} == {"0"}
    assert len(node_devices) == 3  # batches, all in one process
    assert len({process for _, process in node_devices}) == 1


def test_a_cluster_without_what_is_needed_is_said_after_a_while():
    class Ray:
        def __init__(self, **resources):
            self.cluster_resources = lambda: resources

    now = time.monotonic()
    assert Cluster("head:1")._free_slots(Ray(CPU=8.0), 0.0) == 8
    assert Cluster("head:1", gpus=1)._free_slots(Ray(CPU=8.0, GPU=2.0), 0.0) == 2
    assert Cluster("head:1", gpus=1)._free_slots(Ray(CPU=8.0), now) == 1  # one may come
    with pytest.raises(ConfigError, match="no node has a GPU, which device cuda needs; add such"):
        Cluster("head:1", gpus=1)._free_slots(Ray(CPU=8.0), now - 100)
    with pytest.raises(ConfigError, match="head:1: no node has a processor; add such"):
        Cluster("head:1")._free_slots(Ray(), now - 100)


@pytest.mark.slow
def test_a_file_of_a_node_that_is_not_seen_here_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("parivox.runtime.cluster.MAX_WAIT_S", 0.2)
    with pytest.raises(
        ConfigError, match=r"was written by a node, but its content is not visible .*; name a fold"
    ):
        _wait_for_files({str(tmp_path / "gone.npy"): "0" * 64})
    (tmp_path / "old.npy").write_bytes(b"of before")
    with pytest.raises(ConfigError, match="was written by a node, but its content is not visible"):
        _wait_for_files({str(tmp_path / "old.npy"): "0" * 64})
    _wait_for_files({str(tmp_path / "old.npy"): hashlib.sha256(b"of before").hexdigest()})


def test_a_node_of_another_version_or_disk_is_refused(tmp_path):
    message = _do_on_node(list, 1, str(tmp_path), "0.0.9")
    assert re.search(
        r"ray: node \S+ has Parivox .*, but this machine has 0\.0\.9; install", str(message)
    )
    message = _do_on_node(list, 1, str(tmp_path / "gone"), pv.__version__)
    assert re.search(r"node \S+ does not see .*/gone \(No such file", str(message))


@pytest.mark.parametrize(
    "address", ["", "nonsense", "ray://head:10001", "head", "head:", ":6379", "a b:c"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ConfigError, match=r"is not an address of a cluster; give HOST:PORT"):
        check_address(address)


def test_without_ray_a_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("parivox.runtime.cluster.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"needs ray; install it with: pip install 'parivox\[sc"):
        embed(tmp_path, "ge2e", tmp_path / "out", ray=AUTO_ADDRESS)


def test_workers_and_a_cluster_contradict_each_other(monkeypatch, tmp_path):
    monkeypatch.setattr("parivox.runtime.cluster.find_spec", lambda _: object())
    with pytest.raises(
        ConfigError, match="ray and workers both set where recordings are embedded; give one"
    ):
        embed(tmp_path, "ge2e", tmp_path / "out", ray=AUTO_ADDRESS, workers=2)


@pytest.mark.slow
def test_where_nothing_answers_it_is_said_at_once(run, home):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        words = ("embed", "calls", "--system", "mine:small", "--out", "none", "--ray", address)
        completed = run("-m", "parivox", *words, "--quiet")
    assert completed.returncode == 2
    assert completed.stderr.startswith(f"parivox: error: --ray {address}: no cluster answers (")
    assert completed.stderr.count("\n") == 1


@pytest.mark.slow
def test_scores_of_a_node_have_the_bytes_of_one_process(run, home, address):
    draw = np.random.default_rng(3)
    ids = [f"s{i % 9}/{i:03d}" for i in range(520)]
    np.savez(home / "vectors.npz", ids=np.array(ids), vectors=draw.normal(size=(520, 8)))
    pairs = pl.DataFrame({"enrol": ids[:510]}).join(pl.DataFrame({"test": ids[:510]}), how="cross")
    pairs.sample(fraction=1.0, shuffle=True, seed=1).vstack(pairs[:4_000]).write_parquet(
        home / "list.parquet"
    )
    (home / "cohort.txt").write_text("\n".join(ids[510:]))
    words = ("score", "list.parquet", "--embeddings", "vectors.npz", "--as-norm", "cohort.txt")
    for out, more in (("here", ()), ("there", ("--ray", address))):
        completed = run("-m", "parivox", *words, "--out", f"{out}.parquet", *more, "--quiet")
        assert (completed.returncode, completed.stderr) == (0, "")
    assert (home / "here.parquet").read_bytes() == (home / "there.parquet").read_bytes()
    assert pl.read_parquet(home / "here.parquet").height > 1 << 18  # two parts
    assert not (home / "there.parquet.parts").exists()


@pytest.mark.slow
def test_shards_of_a_node_have_the_bytes_of_one_process(run, address, tmp_path):
    draw = np.random.default_rng(4)
    enrol = np.repeat(np.arange(24), 40)
    test = np.where(draw.random(enrol.size) < 0.3, enrol, draw.integers(24, size=enrol.size))
    is_target = enrol == test
    scores = {
        "enrol": [f"s{i:02d}/e{k}" for k, i in enumerate(enrol)],
        "test": [f"s{i:02d}/t{k}" for k, i in enumerate(test)],
        "score": np.round(draw.normal(2.5 * is_target), 3),
        "label": is_target.astype(int),
    }
    people = {"speaker": [f"s{i:02d}" for i in range(24)], "gender": ["f", "m"] * 12}
    pl.DataFrame(scores).write_parquet(tmp_path / "scores.parquet")
    pl.DataFrame(people).write_csv(tmp_path / "people.csv")
    shards.plan(
        {"S": str(tmp_path / "scores.parquet")},
        out=tmp_path / "there",
        shards=3,
        speakers=str(tmp_path / "people.csv"),
        by="gender",
        replicates=50,
    )
    shutil.copytree(tmp_path / "there", tmp_path / "here")
    words = ("shards", "run", str(tmp_path / "there"), "--quiet", "--ray", address)
    completed = run("-m", "parivox", *words)
    assert (completed.returncode, completed.stderr) == (0, "")
    shards.run(tmp_path / "here")
    for name in ("here", "there"):
        shards.merge(tmp_path / name).save(tmp_path / f"audit-{name}")
    here, there = (content(tmp_path / f"audit-{name}") for name in ("here", "there"))
    assert here.keys() == there.keys()
    assert [name for name in here if name not in OF_KEY and here[name] != there[name]] == []


def test_pairs_that_are_counted_here_take_no_cluster(monkeypatch, capsys, tmp_path):
    words = ("score", "--all-pairs", "--counts", "--embeddings", "e", "--ray", "--out", "pairs")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "ray applies only to trial lists; leave it out" in capsys.readouterr().err
