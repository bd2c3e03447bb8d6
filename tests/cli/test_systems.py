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
    help_text = parivox("systems", "--help").stdout
    assert "list" in help_text
    assert "check" in help_text
    assert "--frontend" in parivox("systems", "check", "--help").stdout


def test_list_tells_what_runs_here(parivox, tmp_path):
    completed = parivox("systems", "list", XDG_CACHE_HOME=str(tmp_path))
    assert (completed.returncode, completed.stderr) == (0, "")
    assert max(map(len, completed.stdout.splitlines())) <= 100
    for name in ("ge2e", "eres2net:CHECKPOINT", "FILE.onnx", "PACKAGE.MODULE:NAME"):
        assert name in completed.stdout
    assert "weights come through pip once" in completed.stdout
    record = json.loads(parivox("systems", "list", "--json").stdout)
    assert record[0]["name"] == "ge2e"
    assert record[0]["runs"] is True


def test_check_of_a_sound_system(parivox, home):
    completed = parivox("systems", "check", "mine:spectrum", cwd=home)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "mine:spectrum: 16,000 Hz, from 0.2 s on, compares vectors by cosine" in completed.stdout
    assert "No fault found." in completed.stdout
    record = json.loads(parivox("systems", "check", "mine:spectrum", "--json", cwd=home).stdout)
    assert record["probe"]["sound"] is True
    assert len(record["provenance"]["source_sha256"]) == 64


def test_check_of_a_system_that_drifts(parivox, home):
    completed = parivox("systems", "check", "mine:moody", "--sample-rate", "8000", cwd=home)
    assert (completed.returncode, completed.stderr) == (1, "")
    assert "the same audio twice: the vectors differ by" in completed.stdout
    assert (
        "faults: scores of this system, and their audit, depend on more than the recordings"
        in completed.stdout
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mine:fails",), "mine:fails failed on 32,000 samples at 16,000 Hz: RuntimeError: out of"),
        (("ge3e",), "--system 'ge3e' is not known; nearest: ge2e"),
        (("ge2e", "--weights", "gone.npz"), "gone.npz: cannot be read"),
        (
            ("ge2e", "--weights", "mine.py"),
            "mine.py: contains weights other than those of Resembly",
        ),
        (("ge2e", "--frontend", "kaldi80"), "ge2e does not accept --frontend (kaldi80)"),
        (("gone.onnx",), "file not found"),
    ],
)
def test_mistakes_are_one_sentence(parivox, home, words, message):
    completed = parivox("systems", "check", *words, cwd=home)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert message in completed.stderr
    assert completed.stderr.count("\n") == 1


def test_weights_are_fetched_once_and_never_again(parivox, home):
    cache = str(home / "cache")
    completed = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=cache)
    if "could not be fetched" in completed.stderr:
        pytest.skip(completed.stderr)
    assert completed.returncode == 0
    assert "pip downloads it once" in completed.stderr
    again = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=cache, **NO_INDEX)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == completed.stdout
    # nor does onnxruntime leave a number of this machine to send along
    cached_files = [path for path in (home / "cache").rglob("*") if path.is_file()]
    assert [path.suffix for path in cached_files] == [".npz"]


def test_without_an_index_the_way_by_hand_is_told(parivox, home):
    cache = home / "cache"
    completed = parivox("systems", "check", "ge2e", XDG_CACHE_HOME=str(cache), **NO_INDEX)
    assert (completed.returncode, completed.stdout) == (2, "")
    first_line, second_line = completed.stderr.splitlines()
    assert "pip downloads it once" in first_line
    assert "could not be fetched (ERROR:" in second_line
    assert "give the file with --weights FILE" in second_line
    assert not cache.exists()
