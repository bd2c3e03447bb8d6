"""What 3D-Speaker's networks see: Kaldi's log mel filter bank, mean over time removed.

Whole frames of 25 ms every 10 ms (``snip_edges``), no dither, samples in [-1, 1] as they are;
in each frame: mean removed, pre-emphasis of 0.97, Povey's window; power spectra of 512 points;
80 filters of 20 Hz to Nyquist that are triangles on the mel scale; the floor of the logarithm is
the step of float32 at 1.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from parivox.embedding.frontends.frontend import FrontEnd
from parivox.embedding.frontends.spectra import (
    blocks,
    frames,
    mel_of_hz,
    power,
    triangles,
    without_mean,
)

if TYPE_CHECKING:
    from parivox.embedding.frontends.spectra import Array

__all__ = ["KALDI80"]

_RATE = 16_000
_BINS = 80
_LENGTH = 400
_POINTS = 512
_FLOOR = float(np.finfo(np.float32).eps)


@cache
def _filters() -> Array:
    corners = np.linspace(mel_of_hz(20.0), mel_of_hz(_RATE / 2), _BINS + 2)
    return triangles(corners, mel_of_hz(np.linspace(0, _RATE / 2, _POINTS // 2 + 1)))


@cache
def _window() -> Array:
    """Povey's: Hann's to the power of 0.85, zero at both ends."""
    window: Array = np.hanning(_LENGTH) ** 0.85
    return window


def _prepared(block: Array) -> Array:
    """Frames without their mean, pre-emphasised; before its first sample comes that sample."""
    block = block - block.mean(axis=1, keepdims=True)
    return block - 0.97 * np.concatenate([block[:, :1], block[:, :-1]], axis=1)


def _kaldi80(samples: Array) -> Array:
    framed = frames(samples, length=_LENGTH)
    mel = [power(_prepared(block), _window(), _filters(), _POINTS) for block in blocks(framed)]
    features = np.log(np.maximum(np.concatenate(mel), _FLOOR))
    return without_mean(features)


KALDI80 = FrontEnd("kaldi80", _RATE, _BINS, _kaldi80)
"""Of CAM++ and ERes2Net, and of 3D-Speaker's own ECAPA-TDNN."""
