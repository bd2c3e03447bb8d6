"""The pieces that front ends are made of: windows, frames, power spectra, mel filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "blocks",
    "centred_frames",
    "frames",
    "hz_of_mel",
    "mel_of_hz",
    "periodic_window",
    "power",
    "preemphasised",
    "triangles",
    "without_mean",
]

_BLOCK = 4096
"""Frames whose spectra are in memory at once: 40 s, some 20 MB."""


def mel_of_hz(hz: float | Array) -> Array:
    """HTK's mel scale, which is Kaldi's too.

    Examples
    --------
    >>> round(float(mel_of_hz(1000.0)), 2)
    999.99
    """
    return np.asarray(2595.0 * np.log10(1.0 + np.asarray(hz) / 700.0))


def hz_of_mel(mel: float | Array) -> Array:
    """The inverse of :func:`mel_of_hz`."""
    return np.asarray(700.0 * (10.0 ** (np.asarray(mel) / 2595.0) - 1.0))


def triangles(corners: Array, at: Array) -> Array:
    """Triangular filters, linear in whatever unit the corners are in.

    Parameters
    ----------
    corners : ndarray of shape (filter + 2,)
        Ascending; filter i rises from corner i to i + 1 and falls to i + 2.
    at : ndarray of shape (bin,)
        Where the bins of the spectrum lie, in the same unit.

    Returns
    -------
    ndarray of shape (bin, filter)

    Examples
    --------
    >>> triangles(np.array([0.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 2.5, 3.0])).T
    array([[0. , 0.5, 1. , 0.5, 0. ]])
    """
    steps = np.diff(corners)
    rising = (at[:, None] - corners[:-2]) / steps[:-1]
    falling = (corners[2:] - at[:, None]) / steps[1:]
    return np.maximum(0.0, np.minimum(rising, falling))


def periodic_window(size: int, pedestal: float) -> Array:
    """A raised cosine whose period is `size`: Hann's for a pedestal of 0, Hamming's for 0.08.

    Examples
    --------
    >>> periodic_window(4, 0.0).round(9).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    cosine = np.cos(2 * np.pi * np.arange(size) / size)
    return (1 + pedestal) / 2 - (1 - pedestal) / 2 * cosine


def preemphasised(samples: Array) -> Array:
    """Each sample less 0.97 of the one before; before the first comes the second (reflection)."""
    return samples - 0.97 * np.concatenate([samples[1:2], samples[:-1]])


def frames(samples: Array, *, length: int = 400, hop: int = 160) -> Array:
    """Every whole frame, as a view of shape (frame, length)."""
    return np.lib.stride_tricks.sliding_window_view(samples, length)[::hop]


def centred_frames(
    samples: Array, mode: Literal["constant", "reflect"], *, length: int = 400, hop: int = 160
) -> Array:
    """Frames centred on every `hop`-th sample, as a view of shape (samples // hop + 1, length).

    Beyond its ends the signal is zero (``constant``) or mirrored (``reflect``). A transform of
    more points than the frame is long does not change which samples its window covers.
    """
    return frames(np.pad(samples, length // 2, mode=mode), length=length, hop=hop)


def blocks(framed: Array) -> Iterator[Array]:
    """Frames in blocks that bound the memory, whatever the length of the recording."""
    for at in range(0, len(framed), _BLOCK):
        yield framed[at : at + _BLOCK]


def power(framed: Array, window: Array, filters: Array, points: int) -> Array:
    """Filtered power spectra.

    Parameters
    ----------
    framed : ndarray of shape (frame, length)
    window : ndarray of shape (length,)
    filters : ndarray of shape (points // 2 + 1, filter)
    points : int
        Of the Fourier transform; shorter frames are filled with zeros.

    Returns
    -------
    ndarray of shape (frame, filter)
    """
    out = []
    for block in blocks(framed):
        spectrum = np.fft.rfft(block * window, points)
        out.append((spectrum.real**2 + spectrum.imag**2) @ filters)
    return np.concatenate(out)


def without_mean(features: Array) -> Array:
    """Features of shape (frame, bin) less their mean over time."""
    mean: Array = features.mean(axis=0)
    return features - mean
