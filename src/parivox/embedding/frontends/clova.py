"""What clovaai's ResNets and TaoRuijie's ECAPA-TDNN see: log mel spectra by torchaudio's rules.

Frames of 25 ms every 10 ms, centred, mirrored at the ends; a periodic Hamming window; power
spectra of 512 points; HTK's mel scale without area normalisation; log of power + 1e-6.
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
    preemphasised,
    triangles,
    without_mean,
)

if TYPE_CHECKING:
    from parivox.embedding.frontends.spectra import Array

__all__ = ["CLOVA40", "CLOVA64", "ECAPA80"]

_RATE = 16_000
_POINTS = 512


@cache
def _filters(bins: int, low: float, high: float) -> Array:
    corners = hz_of_mel(np.linspace(mel_of_hz(low), mel_of_hz(high), bins + 2))
    return triangles(corners, np.linspace(0, _RATE / 2, _POINTS // 2 + 1))


def _log_mel(samples: Array, bins: int, *, low: float = 0.0, high: float = 8000.0) -> Array:
    framed = centred_frames(samples, "reflect")
    mel = power(framed, periodic_window(400, 0.08), _filters(bins, low, high), _POINTS)
    features: Array = np.log(mel + 1e-6)
    return features


def _standardised(features: Array) -> Array:
    """Instance normalisation: each bin with mean 0 and variance 1 over time, but for the 1e-5."""
    centred = without_mean(features)
    scale: Array = np.sqrt((centred**2).mean(axis=0) + 1e-5)
    return centred / scale


def _clova40(samples: Array) -> Array:
    return _standardised(_log_mel(samples, 40))


def _clova64(samples: Array) -> Array:
    return _standardised(_log_mel(preemphasised(samples), 64))


def _ecapa80(samples: Array) -> Array:
    return without_mean(_log_mel(preemphasised(samples), 80, low=20.0, high=7600.0))


CLOVA40 = FrontEnd("clova40", _RATE, 40, _clova40)
"""Of ResNetSE34L: no pre-emphasis, 40 bins, instance normalisation."""

CLOVA64 = FrontEnd("clova64", _RATE, 64, _clova64)
"""Of ResNetSE34V2: pre-emphasis, 64 bins, instance normalisation."""

ECAPA80 = FrontEnd("ecapa80", _RATE, 80, _ecapa80)
"""Of TaoRuijie's ECAPA-TDNN: pre-emphasis, 80 bins of 20 to 7600 Hz, mean over time removed."""
