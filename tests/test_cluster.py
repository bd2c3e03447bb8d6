"""Ray as a runner: the bytes of processes, whatever ends a node; a sentence where it cannot."""

import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

import parivox as pv
from parivox.cluster import OWN, check_address
from parivox.embedding.extract import embed
from parivox.errors import ConfigError

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

small, slow = Small(0.0), Small(0.5)
"""


@pytest.fixture
def home(tmp_path):
    """Twelve recordings of three speakers, one of them silent, and a system."""
    for i in range(12):
        path = tmp_path / "calls" / f"anna{i % 3}" / f"{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        wave = np.random.default_rng(i).normal(size=4_000) / 10
        soundfile.write(path, wave * (i > 0), 8_000)
    (tmp_path / "mine.py").write_text(SYSTEM)
    return tmp_path


@pytest.fixture
def run(home, optional):
    """A command in that folder."""
    optional("ray")
    path = f"{Path(pv.__file__).parents[1]}:{home}"

    def run(*words, **environment):
        return subprocess.run(
            [sys.executable, *words],
            cwd=home,
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_a_node_of_this_machine_makes_the_bytes_of_processes(run, home):
    command = ("-m", "parivox", "embed", "calls", "--system", "mine:small", "--batch", "2", "--out")
    done = run(*command, "here", "--quiet")
    assert done.returncode == 0, done.stderr
    done = run(*command, "there", "--quiet", "--ray")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(content(home / "here")) == 5
    assert content(home / "there") == content(home / "here")


@pytest.mark.parametrize(
    "address", ["", "nonsense", "ray://head:10001", "head", "head:", ":6379", "a b:c"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ConfigError, match=r"is no address of a cluster; give HOST:PORT"):
        check_address(address)


def test_without_ray_a_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("parivox.cluster.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"needs ray; install it with: pip install 'parivox\[sc"):
        embed(tmp_path, "ge2e", tmp_path / "out", ray=OWN)


def test_workers_and_a_cluster_contradict_each_other(monkeypatch, tmp_path):
    monkeypatch.setattr("parivox.cluster.find_spec", lambda _: object())
    with pytest.raises(ConfigError, match="--ray and --workers both say who embeds; give one"):
        embed(tmp_path, "ge2e", tmp_path / "out", ray=OWN, workers=2)


@pytest.mark.slow
def test_where_nothing_answers_it_is_said_at_once(run, home):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        words = ("embed", "calls", "--system", "mine:small", "--out", "out", "--ray", address)
        done = run("-m", "parivox", *words, "--quiet")
    assert done.returncode == 2
    assert done.stderr.startswith(f"parivox: error: --ray {address}: nothing answers there (")
    assert done.stderr.count("\n") == 1
