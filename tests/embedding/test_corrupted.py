"""Files that are broken in every way: a status each, no crash, memory bounded."""

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from parivox import embed
from parivox.embedding.audio import STATUSES

pytestmark = pytest.mark.slow

KINDS = {
    "wav": ("WAV", "PCM_16"),
    "float.wav": ("WAV", "FLOAT"),
    "alaw.wav": ("WAV", "ALAW"),
    "sph": ("NIST", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
LARGEST = 600 << 20  # bytes that any worker may come to hold


def recording(kind, rate=8_000, channels=1, seconds=0.6):
    """Bytes of a short noise that comes and goes."""
    file, subtype = KINDS[kind]
    n = round(seconds * rate)
    wave = np.random.default_rng(rate + channels).normal(size=(n, 1)) / 12
    wave = np.repeat(wave * (1.2 + np.sin(np.arange(n) / 300))[:, None], channels, axis=1)
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, rate, format=file, subtype=subtype)
    return buffer.getvalue()


def cut(data, draw):
    return data[: draw.integers(0, len(data))]


def flipped(data, draw):
    bad = bytearray(data)
    for position in draw.integers(0, len(data), draw.integers(1, 20)):
        bad[position] ^= 1 << draw.integers(0, 8)
    return bytes(bad)


def flipped_at_its_head(data, draw):
    bad = bytearray(data)
    for position in draw.integers(0, min(len(data), 100), draw.integers(1, 6)):
        bad[position] = draw.integers(0, 256)
    return bytes(bad)


def holed(data, draw):
    a, b = sorted(draw.integers(0, len(data), 2))
    return data[:a] + data[b:]


def scrambled(data, draw):
    return data[:64] + draw.bytes(len(data) - 64)


HARMS = (cut, flipped, flipped_at_its_head, holed, scrambled)


def special():
    """Recordings that are odd, and are what they say."""
    silence, lie = io.BytesIO(), bytearray(recording("wav"))
    with soundfile.SoundFile(silence, "w", 8_000, 1, format="FLAC", subtype="PCM_16") as file:
        for _ in range(120):
            file.write(np.zeros(8_000 * 60, "i2"))
    lie[40:44] = struct.pack("<I", 0xFFFFFFFF)
    bad = np.full(8_000, np.nan, "f4")
    huge = np.tile(np.array([3e38, -3e38], "f4"), 4_000)
    odd = {"nan.wav": bad, "huge.wav": huge, "one.wav": np.ones(1)}
    for name, wave in odd.items():
        buffer = io.BytesIO()
        soundfile.write(buffer, wave, 16_000, format="WAV", subtype="FLOAT")
        odd[name] = buffer.getvalue()
    return {
        **odd,
        "bomb.flac": silence.getvalue(),
        "lie.wav": bytes(lie),
        "empty.wav": b"",
        "text.mp3": b"no audio at all\n" * 99,
        "flac named.wav": recording("flac"),
        "96k.wav": recording("wav", rate=96_000),
        "8 channels.wav": recording("wav", channels=8),
    }


def write_harmed(folder, n, seed):
    """`n` files that are harmed in every way, and the special ones."""
    draw = np.random.default_rng(seed)
    recordings = {kind: recording(kind) for kind in KINDS}
    for i in range(n):
        kind, harm = list(KINDS)[i % len(KINDS)], HARMS[i // len(KINDS) % len(HARMS)]
        (folder / f"{i:05d} {harm.__name__}.{kind}").write_bytes(harm(recordings[kind], draw))
    for name, data in special().items():
        (folder / name).write_bytes(data)


@pytest.mark.parametrize("seed", [1, 2])
def test_each_harmed_file_has_a_status(small, tmp_path, seed):
    home = tmp_path / "audio"
    home.mkdir()
    write_harmed(home, 400, seed)
    run = embed(home, small.load, tmp_path / "out", channel=1, workers=2)
    assert sum(run.statuses.values()) == 400 + len(special())
    assert {"ok", "too_short", "unreadable", "non_finite"} <= set(run.statuses) <= set(STATUSES)
    table = dict(run.store.table.select("utterance", "status").iter_rows())
    outcomes = {name: table[name] for name in special()}
    assert outcomes == {
        "nan.wav": "non_finite",
        "huge.wav": "non_finite",
        "one.wav": "too_short",
        "bomb.flac": "unreadable",
        "lie.wav": "ok",
        "empty.wav": "unreadable",
        "text.mp3": "unreadable",
        "flac named.wav": "ok",
        "96k.wav": "ok",
        "8 channels.wav": "ok",
    }
    assert np.isfinite(run.store.vectors).all()
    assert run.store.table.filter(status="unreadable")["reason"].str.len_chars().min() > 0


MEASURED = """
import resource, sys
import small_system
from parivox.embedding.extract import embed

embed(sys.argv[1], small_system.load, sys.argv[2], channel=1, workers=2)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def test_no_worker_takes_much_memory_for_them(small, tmp_path):
    home = tmp_path / "audio"
    home.mkdir()
    write_harmed(home, 200, seed=3)
    paths = os.pathsep.join([str(Path(small.__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(home), str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
        capture_output=True,
        text=True,
    )
    assert 0 < int(done.stdout.split()[-1]) < LARGEST
