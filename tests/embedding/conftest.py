"""A small system in a module of its own, as worker processes import it, and recordings for it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import soundfile

RATE = 8_000
SYSTEM = '''
"""Mean log spectrum of a recording: a system that takes no time."""

import os
import time

import numpy as np


class Small:
    name, sample_rate, scoring, least_seconds = "small", 8_000, "cosine", 0.3

    def __init__(self, weights, seconds):
        self.provenance, self.seconds = {"weights": {"sha256": weights}}, seconds

    def embed(self, waveforms):
        time.sleep(self.seconds * len(waveforms))
        return np.stack([self.vector(wave) for wave in waveforms])

    def vector(self, wave):
        frames = wave[: wave.size // 80 * 80].reshape(-1, 80)
        return np.log(np.abs(np.fft.rfft(frames))[:, 1:33] + 1e-6).mean(0, keepdims=True)


def load(weights="one", seconds=0.0):
    return Small(weights, seconds)


READY = load()
'''


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The module `small_system`, whose `load` makes the system."""
    home = tmp_path / "modules"
    home.mkdir()
    (home / "small_system.py").write_text(SYSTEM)
    monkeypatch.syspath_prepend(str(home))
    yield importlib.import_module("small_system")
    monkeypatch.delitem(importlib.import_module("sys").modules, "small_system")


def noise(seed, seconds):
    """A voice that is none: noise of a colour of its own, which comes and goes."""
    draw = np.random.default_rng(seed)
    wave = np.convolve(draw.normal(size=round(seconds * RATE)), draw.normal(size=8), "same")
    fade = 0.6 + 0.4 * np.sin(np.arange(wave.size) / 400)
    return (0.05 * wave * fade).astype("f4")


@pytest.fixture
def folder(tmp_path):
    """Thirty recordings of six speakers, 0.5 to 1.2 s long."""
    home = tmp_path / "audio"
    for i in range(30):
        path = home / f"s{i % 6}" / f"{i:02d}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, noise(i, 0.5 + (i * 7 % 30) / 40), RATE)
    return home
