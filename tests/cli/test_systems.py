"""``parivox systems`` as a process: what it prints, where, and with which exit code."""

import json
import os

import pytest

pytestmark = pytest.mark.slow

ENCODER = """\
import numpy as np
calls = []

def spectrum(waveform, sample_rate):
    return np.log(np.abs(np.fft.rfft(waveform[:512])) + 1e-3)

def moody(waveform, sample_rate):
    calls.append(1)
    return spectrum(waveform, sample_rate) * len(calls)

def fails(waveform, sample_rate):
    raise RuntimeError("out of luck")
"""

NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}


@pytest.fixture
def home(tmp_path):
    (tmp_path / "mine.py").write_text(ENCODER)
    return tmp_path


def test_help_names_what_it_does(parivox):
    assert "systems" in parivox("--help").stdout
    told = parivox("systems", "--help").stdout
    assert "list" in told
    assert "check" in told
    assert "--frontend" in parivox("systems", "check", "--help").stdout


def test_list_tells_what_runs_here(parivox, tmp_path):
    found = parivox("systems", "list", XDG_CACHE_HOME=str(tmp_path))
    assert (found.returncode, found.stderr) == (0, "")
    assert max(map(len, found.stdout.splitlines())) <= 100
    for name in ("ge2e", "eres2net:CHECKPOINT", "FILE.onnx", "PACKAGE.MODULE:NAME"):
        assert name in found.stdout
    assert "weights come through pip once" in found.stdout
    told = json.loads(parivox("systems", "list", "--json").stdout)
    assert told[0]["name"] == "ge2e"
    assert told[0]["runs"] is True


def test_check_of_a_sound_system(parivox, home):
    found = parivox("systems", "check", "mine:spectrum", cwd=home)
    assert (found.returncode, found.stderr) == (0, "")
    assert "mine:spectrum: 16,000 Hz, from 0.2 s on, compares vectors by cosine" in found.stdout
    assert "No fault found." in found.stdout
    told = json.loads(parivox("systems", "check", "mine:spectrum", "--json", cwd=home).stdout)
    assert told["probe"]["sound"] is True
    assert len(told["provenance"]["source_sha256"]) == 64


def test_check_of_a_system_that_drifts(parivox, home):
    found = parivox("systems", "check", "mine:moody", "--sample-rate", "8000", cwd=home)
    assert (found.returncode, found.stderr) == (1, "")
    assert "the same audio twice: the vectors differ by" in found.stdout
    assert "faults: scores of this system depend on more than the recordings" in found.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mine:fails",), "mine:fails failed on 32,000 samples at 16,000 Hz: RuntimeError: out of"),
        (("ge3e",), "--system 'ge3e' is not known; nearest: ge2e"),
        (("ge2e", "--weights", "gone.npz"), "gone.npz: cannot be read"),
        (("ge2e", "--weights", "mine.py"), "mine.py: holds other weights than those of Resembly"),
        (("ge2e", "--frontend", "kaldi80"), "ge2e takes no --frontend (kaldi80)"),
        (("gone.onnx",), "file not found"),
    ],
)
def test_mistakes_are_one_sentence(parivox, home, words, told):
    found = parivox("systems", "check", *words, cwd=home)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr
    assert found.stderr.count("\n") == 1


def test_weights_are_fetched_once_and_never_again(parivox, home):
    cache = str(home / "cache")
    first = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=cache)
    if "could not be fetched" in first.stderr:
        pytest.skip(first.stderr)
    assert first.returncode == 0
    assert "pip downloads it once" in first.stderr
    again = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=cache, **NO_INDEX)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == first.stdout
    # nor does onnxruntime leave a number of this machine to send along
    kept = [one for one in (home / "cache").rglob("*") if one.is_file()]
    assert [one.suffix for one in kept] == [".npz"]


def test_without_an_index_the_way_by_hand_is_told(parivox, home):
    cache = home / "cache"
    found = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=str(cache), **NO_INDEX)
    assert (found.returncode, found.stdout) == (2, "")
    first, second = found.stderr.splitlines()
    assert "pip downloads it once" in first
    assert "could not be fetched (ERROR:" in second
    assert "give it with --weights FILE" in second
    assert not cache.exists()
