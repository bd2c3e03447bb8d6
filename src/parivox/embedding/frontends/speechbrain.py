"""What SpeechBrain's ECAPA-TDNN sees: decibels of mel bands by SpeechBrain's rules.

Frames of 25 ms every 10 ms, centred, zeros beyond the ends; a periodic Hamming window; power
spectra of 400 points; 80 filters up to 8 kHz, each as wide above its centre as below; 10 log10,
floored 80 dB below the loudest of the recording; mean over time removed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from parivox.embedding.frontends.frontend import FrontEnd
from parivox.embedding.frontends.spectra import (
    centred_frames,
    hz_of_mel,
    mel_of_hz,
    periodic_window,
    power,
    without_mean,
)

if TYPE_CHECKING:
    from parivox.embedding.frontends.spectra import Array

__all__ = ["SPEECHBRAIN80"]

_RATE = 16_000
_BINS = 80
_POINTS = 400


@cache
def _filters() -> Array:
    """Symmetric triangles: the width below a centre is that above it as well."""
    corners = hz_of_mel(np.linspace(0, mel_of_hz(_RATE / 2), _BINS + 2))
    at = np.linspace(0, _RATE / 2, _POINTS // 2 + 1)
    away = np.abs(at[:, None] - corners[1:-1]) / np.diff(corners)[:-1]
    filters: Array = np.maximum(0.0, 1.0 - away)
    return filters


def _speechbrain80(samples: Array) -> Array:
    framed = centred_frames(samples, "constant", length=_POINTS)
    mel = power(framed, periodic_window(_POINTS, 0.08), _filters(), _POINTS)
    decibels = 10.0 * np.log10(np.maximum(mel, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - 80.0)
    return without_mean(decibels)


SPEECHBRAIN80 = FrontEnd("speechbrain80", _RATE, _BINS, _speechbrain80)
"""Of spkrec-ecapa-voxceleb."""
