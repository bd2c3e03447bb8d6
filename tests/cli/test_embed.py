"""``parivox embed`` as a process: what it prints, where, and with which exit code."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import parivox as package

pytestmark = pytest.mark.slow

SYSTEM = """
import numpy as np

class Small:
    name, sample_rate, scoring, least_seconds = "small", 8_000, "cosine", 0.1
    provenance = {"version": 1}

    def embed(self, waveforms):
        frames = [wave[: wave.size // 80 * 80].reshape(-1, 80) for wave in waveforms]
        spectra = [np.log(np.abs(np.fft.rfft(one))[:, 1:33] + 1e-6) for one in frames]
        return np.stack([one.mean(0, keepdims=True) for one in spectra])

small = Small()
"""


@pytest.fixture
def home(tmp_path):
    """A folder with recordings of three speakers, one of them silent, and a system."""
    for i in range(9):
        path = tmp_path / "calls" / f"anna{i % 3}" / f"{i}.flac"
        path.parent.mkdir(parents=True, exist_ok=True)
        wave = np.random.default_rng(i).normal(size=8_000) / 10
        soundfile.write(path, wave if i > 0 else 0 * wave, 8_000)
    (tmp_path / "mine.py").write_text(SYSTEM)
    return tmp_path


@pytest.fixture
def embed(parivox, home):
    def run(*words, **more):
        return parivox("embed", *words, cwd=home, **more)

    return run


MINE = ("--system", "mine:small", "--out", "out")


def test_help_names_the_command_and_its_options(parivox):
    assert "embed" in parivox("--help").stdout
    help_text = parivox("embed", "--help").stdout
    for option in ("--system", "--out", "--workers", "--batch", "--channel", "--check",
                   "--device"):  # fmt: skip
        assert option in help_text


def test_a_device_that_a_system_does_not_take_is_refused(embed, parivox, home):
    for words in (
        ("embed", "calls", *MINE),
        ("systems", "check", "mine:small"),
        ("score", "calls", "--system", "mine:small", "--recordings", "calls", "--out", "s.parquet"),
    ):
        completed = parivox(*words, "--device", "cuda", cwd=home)
        assert completed.returncode == 2
        assert (
            "--system mine:small does not accept --device (cuda); leave out --device"
            in completed.stderr
        )


def test_from_a_folder_to_a_store_and_back_again(embed, home):
    completed = embed("calls", *MINE)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == (
        "8 of 9 recordings (8 s) are embedded by small in out.\n"
        "1 failed: 1 silent. An audit counts these failures: see status and reason in "
        "out/recordings.parquet.\n"
    )
    assert (
        "3 speakers, by the first folder of the path: anna0, anna1, anna2; to change"
        in completed.stderr
    )
    assert "anna" not in completed.stdout
    again = embed("calls", *MINE, "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    assert "in out, 9 of them earlier.\n" in again.stdout
    assert pl.read_parquet(home / "out" / "recordings.parquet").height == 9


def test_four_commands_lead_from_a_folder_to_an_audit(parivox, home):
    """Of a folder for each speaker, with nothing that says what was recorded at once."""
    for i in range(24):
        path = home / "people" / f"p{i // 6}" / f"{i}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        voice = np.random.default_rng(100 + i // 6).normal(size=16) / 4
        wave = np.convolve(np.random.default_rng(i).normal(size=8_000) / 10, voice)
        soundfile.write(path, wave, 8_000)
    (home / "speakers.csv").write_text("speaker,gender\np0,f\np1,f\np2,m\np3,m\n")
    audit_options = ("--speakers", "speakers.csv", "--by", "gender")
    for words in (
        ("embed", "people", "--system", "mine:small", "--out", "embeddings"),
        ("trials", "build", "inclusive", "--utterances", "embeddings/recordings.parquet",
         *audit_options, "--per-speaker", "5", "--out", "lists"),
        ("score", "lists/inclusive.txt", "--embeddings", "embeddings", "--out", "scores.parquet"),
        ("audit", "scores.parquet", *audit_options, "-v"),
    ):  # fmt: skip
        done = parivox(*words, cwd=home)
        assert done.returncode == 0, done.stderr
    assert "gender: 2 groups" in done.stdout
    assert (pl.read_parquet(home / "scores.parquet")["status"] == "ok").all()


def test_check_says_whether_a_store_is_whole(embed, home):
    assert embed("calls", *MINE).returncode == 0
    completed = embed("--check", "out")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == "out: complete: 9 recordings, 8 embeddings of 32 values by small.\n"
    array = np.load(home / "out" / "embeddings.npy")
    np.save(home / "out" / "embeddings.npy", array + 1)
    completed = embed("--check", "out")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "out/embeddings.npy: has been altered: its SHA-256 is" in completed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to do: give RECORDINGS"),
        (("calls",), "nothing to do: give --out DIR"),
        (("calls", "--out", "-"), "--out -: standard output is not a folder"),
        (
            ("calls", "--check", "out"),
            "--check only checks a folder, and cannot be used with RECORDINGS or --out",
        ),
        (
            ("--check", "calls"),
            "calls: is not a store of embeddings; create a store with parivox embed",
        ),
        (("nosuch", *MINE), "nosuch"),
        (("mine.py", *MINE), "mine.py"),
        (("calls", "--system", "nosuch.onnx", "--out", "out"), "nosuch.onnx"),
        (("calls", "--system", "ge3e", "--out", "out"), "ge2e"),
        (
            ("calls", *MINE, "--columns", "speaker"),
            "is not of the form ROLE=COLUMN, for example speaker=talker",
        ),
        (("calls", *MINE, "--columns", "speaker=2"), "calls: --columns speaker=2: every path has"),
        (("calls", *MINE, "--channel", "up"), "--channel is up; give a number from 1, left"),
        (("calls", *MINE, "--workers", "0"), "--workers is 0"),
        (("calls", *MINE, "--batch", "many"), "--batch"),
        (("calls", *MINE, "--out", "b"), "--out is given twice"),
        (("calls", "--system", "mine:small", "--out", "mine.py"), "mine.py: cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(embed, words, message):
    completed = embed(*words)
    assert (completed.returncode, completed.stdout) == (2, "")
    error_line = completed.stderr.splitlines()[-1]
    assert error_line.startswith("parivox: error: ")
    assert message in error_line
    assert "Traceback" not in completed.stderr


def test_another_system_is_refused(embed, home):
    assert embed("calls", *MINE).returncode == 0
    # of another length, as Python takes a file of the same second and length for the same
    (home / "mine.py").write_text(SYSTEM.replace('"version": 1', '"version": 22'))
    completed = embed("calls", *MINE, "--quiet")
    assert completed.returncode == 2
    assert "with version 1, but 'small' has 22; choose another --out" in completed.stderr


def test_control_c_says_that_what_is_done_is_kept(embed, home):
    slow = "import multiprocessing, time; time.sleep(0.5 * bool(multiprocessing.parent_process()))"
    (home / "mine.py").write_text(SYSTEM.replace("frames =", f"{slow}; frames ="))
    source = Path(package.__file__).parents[1]
    words = [sys.executable, "-m", "parivox", "embed", "calls", *MINE, "--batch", "1",
             "--progress", "json"]  # fmt: skip
    with subprocess.Popen(words, cwd=home, env={"PYTHONPATH": str(source)}, text=True,
                          stderr=subprocess.PIPE) as process:  # fmt: skip
        for line in process.stderr:
            progress = json.loads(line) if line[0] == "{" else {"unit": ""}
            if progress["unit"] == "bytes" and progress["done"]:
                process.send_signal(signal.SIGINT)
                break
        error_output = process.stderr.read()
    assert process.returncode == 130
    assert (
        error_output
        == "parivox: stopped; what is finished is kept; the same command goes on with it\n"
    )
    (home / "mine.py").write_text(SYSTEM)
    assert embed("calls", *MINE).stdout.startswith("8 of 9 recordings")
