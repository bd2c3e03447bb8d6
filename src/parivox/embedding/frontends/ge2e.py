"""What GE2E sees, as Resemblyzer has it: a power mel spectrum, without a logarithm."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from parivox.embedding.frontends.spectra import centred_frames, periodic_window, power, triangles

if TYPE_CHECKING:
    from parivox.embedding.frontends.spectra import Array

__all__ = ["ge2e40"]

_RATE, _POINTS, _BINS = 16_000, 400, 40
_KNEE, _LINEAR, _FACTOR = 1_000.0, 200 / 3, np.log(6.4) / 27
"""Slaney's mel scale: a mel is 200 / 3 Hz up to 1,000 Hz, from there a 27th of a factor of 6.4."""


def ge2e40(samples: Array) -> Array:
    """Power in 40 mel bands, of shape (samples // 160 + 1, 40).

    Frames of 25 ms every 10 ms, centred, zeros beyond the ends; a periodic Hann window; Slaney's
    mel scale from 0 to 8,000 Hz, each band of unit area.

    Parameters
    ----------
    samples : ndarray of shape (sample,)
        At 16 kHz.

    Examples
    --------
    >>> ge2e40(np.zeros(1_600)).shape
    (11, 40)
    """
    framed = centred_frames(samples, "constant")
    return power(framed, periodic_window(_POINTS, 0.0), _filters(), _POINTS)


@cache
def _filters() -> Array:
    top = _KNEE / _LINEAR + np.log(_RATE / 2 / _KNEE) / _FACTOR
    corners = _hertz(np.linspace(0, top, _BINS + 2))
    areas = (corners[2:] - corners[:-2]) / 2
    return triangles(corners, np.linspace(0, _RATE / 2, _POINTS // 2 + 1)) / areas


def _hertz(mel: Array) -> Array:
    above = np.maximum(mel - _KNEE / _LINEAR, 0)
    return np.where(above > 0, _KNEE * np.exp(_FACTOR * above), _LINEAR * mel)
