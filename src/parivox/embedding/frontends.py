"""What of a recording a network sees: recipes, and front ends by the rules of who trained it.

A recipe says which parts of a recording go through the network. All front ends, in NumPy, take
frames of 25 ms every 10 ms; what else they do, each says where it stands below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from parivox.embedding.systems import Waveform

    Array = NDArray[np.float64]

_RATE = 16_000
_LENGTH, _HOP = 400, 160
"""Samples of a frame, and from one to the next."""
_CHUNK_FRAMES = 4096  # frames whose spectra are in memory at once: 40 s, some 20 MB


@dataclass(frozen=True)
class FrontEnd:
    """One published way from a waveform to what its network sees, normalisation included."""

    name: str  # as options and the metadata of exported networks call it
    bins: int  # features of a frame
    features: Callable[[Array], Array]
    """From float64 samples of shape (sample,) to features of shape (frame, bins)."""
    least_samples: int = _LENGTH  # fewer samples make no frame
    sample_rate: int = _RATE

    def __call__(self, waveform: Waveform) -> NDArray[np.float32]:
        """Features (frame, bins) of mono samples (sample,) in [-1, 1]; too few are an error."""
        samples = np.asarray(waveform, dtype=np.float64)
        if samples.ndim != 1:
            msg = f"the front end {self.name} got an array of shape {samples.shape}"
            hint = "give it one channel, of shape (samples,)"
            raise DataError(msg, hint)
        if samples.size < self.least_samples:
            msg = (
                f"the front end {self.name} got {samples.size} samples and needs at least "
                f"{self.least_samples}"
            )
            hint = "leave out shorter recordings"
            raise DataError(msg, hint)
        return self.features(samples).astype(np.float32, copy=False)


def mel_of_hz(hz: float | Array) -> Array:
    """HTK's mel scale, which is Kaldi's too.

    >>> round(float(mel_of_hz(1000.0)), 2)
    999.99
    """
    return np.asarray(2595.0 * np.log10(1.0 + np.asarray(hz) / 700.0))


def hz_of_mel(mel: float | Array) -> Array:
    """The inverse of `mel_of_hz`."""
    return np.asarray(700.0 * (10.0 ** (np.asarray(mel) / 2595.0) - 1.0))


def _spectrum_bins(points: int) -> Array:
    """Hz of each bin of a power spectrum."""
    return np.linspace(0, _RATE / 2, points // 2 + 1)


def _triangles(corners: Array, bin_positions: Array) -> Array:
    """Triangular filters (bin, filter), linear in whatever unit the corners are in.

    Filter i rises from corner i to i + 1 and falls to i + 2; `bin_positions` is where the bins
    of the spectrum lie, in the same unit.

    >>> _triangles(np.array([0.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 2.5, 3.0])).T
    array([[0. , 0.5, 1. , 0.5, 0. ]])
    """
    steps = np.diff(corners)
    rising = (bin_positions[:, None] - corners[:-2]) / steps[:-1]
    falling = (corners[2:] - bin_positions[:, None]) / steps[1:]
    return np.maximum(0.0, np.minimum(rising, falling))


def _periodic_window(pedestal: float) -> Array:
    """A raised cosine over a frame: Hann's for a pedestal of 0, Hamming's for 0.08."""
    cosine = np.cos(2 * np.pi * np.arange(_LENGTH) / _LENGTH)
    return (1 + pedestal) / 2 - (1 - pedestal) / 2 * cosine


def _preemphasised(samples: Array) -> Array:
    """Each sample less 0.97 of the one before; before the first comes the second (reflection)."""
    return samples - 0.97 * np.concatenate([samples[1:2], samples[:-1]])


def _frames(samples: Array) -> Array:
    """Every whole frame, as a view of shape (frame, length)."""
    return np.lib.stride_tricks.sliding_window_view(samples, _LENGTH)[::_HOP]


def _centred_frames(samples: Array, mode: Literal["constant", "reflect"]) -> Array:
    """Frames centred on every 160th sample, as a view of shape (samples // 160 + 1, length).

    Beyond its ends the signal is zero (``constant``) or mirrored (``reflect``). A transform of
    more points than the frame is long does not change which samples its window covers.
    """
    return _frames(np.pad(samples, _LENGTH // 2, mode=mode))


def _frame_chunks(framed: Array) -> Iterator[Array]:
    """Frames in blocks that bound the memory, whatever the length of the recording."""
    for start in range(0, len(framed), _CHUNK_FRAMES):
        yield framed[start : start + _CHUNK_FRAMES]


def _power(framed: Array, window: Array, filters: Array) -> Array:
    """Power in each filter, of shape (frame, filter).

    The transform has as many points as the filters are made for; shorter frames are filled with
    zeros.
    """
    points = 2 * (len(filters) - 1)
    out = []
    for block in _frame_chunks(framed):
        spectrum = np.fft.rfft(block * window, points)
        out.append((spectrum.real**2 + spectrum.imag**2) @ filters)
    return np.concatenate(out)


def _without_mean(features: Array) -> Array:
    """Features of shape (frame, bin) less their mean over time."""
    mean: Array = features.mean(axis=0)
    return features - mean


# 3D-Speaker's networks: Kaldi's log mel filter bank. Whole frames (``snip_edges``), no dither,
# samples in [-1, 1] as they are; in each frame: mean removed, pre-emphasis, Povey's window; power
# spectra of 512 points; 80 filters of 20 Hz to Nyquist that are triangles on the mel scale; the
# floor of the logarithm is the step of float32 at 1; mean over time removed.


@cache
def _kaldi_filters() -> Array:
    corners = np.linspace(mel_of_hz(20.0), mel_of_hz(_RATE / 2), 80 + 2)
    return _triangles(corners, mel_of_hz(_spectrum_bins(512)))


@cache
def _povey_window() -> Array:
    """Hann's to the power of 0.85, zero at both ends."""
    window: Array = np.hanning(_LENGTH) ** 0.85
    return window


def _kaldi_prepared(block: Array) -> Array:
    """Frames without their mean, pre-emphasised; before its first sample comes that sample."""
    block = block - block.mean(axis=1, keepdims=True)
    return block - 0.97 * np.concatenate([block[:, :1], block[:, :-1]], axis=1)


def _kaldi80(samples: Array) -> Array:
    mel = [
        _power(_kaldi_prepared(block), _povey_window(), _kaldi_filters())
        for block in _frame_chunks(_frames(samples))
    ]
    floor = float(np.finfo(np.float32).eps)
    return _without_mean(np.log(np.maximum(np.concatenate(mel), floor)))


# clovaai's ResNets and TaoRuijie's ECAPA-TDNN: log mel spectra by torchaudio's rules. Frames are
# centred, mirrored at the ends; a periodic Hamming window; power spectra of 512 points; HTK's mel
# scale without area normalisation; log of power + 1e-6.


@cache
def _clova_filters(bins: int, low: float, high: float) -> Array:
    corners = hz_of_mel(np.linspace(mel_of_hz(low), mel_of_hz(high), bins + 2))
    return _triangles(corners, _spectrum_bins(512))


def _log_mel(samples: Array, bins: int, *, low: float = 0.0, high: float = 8000.0) -> Array:
    framed = _centred_frames(samples, "reflect")
    mel = _power(framed, _periodic_window(0.08), _clova_filters(bins, low, high))
    features: Array = np.log(mel + 1e-6)
    return features


def _standardised(features: Array) -> Array:
    """Instance normalisation: each bin with mean 0 and variance 1 over time, but for the 1e-5."""
    centred = _without_mean(features)
    scale: Array = np.sqrt((centred**2).mean(axis=0) + 1e-5)
    return centred / scale


def _clova40(samples: Array) -> Array:
    return _standardised(_log_mel(samples, 40))


def _clova64(samples: Array) -> Array:
    return _standardised(_log_mel(_preemphasised(samples), 64))


def _ecapa80(samples: Array) -> Array:
    return _without_mean(_log_mel(_preemphasised(samples), 80, low=20.0, high=7600.0))


# SpeechBrain's ECAPA-TDNN: frames centred, zeros beyond the ends; a periodic Hamming window; power
# spectra of 400 points; 80 filters up to 8 kHz, each as wide above its centre as below; 10 log10,
# floored 80 dB below the loudest of the recording; mean over time removed.


@cache
def _speechbrain_filters() -> Array:
    """Symmetric triangles: the width below a centre is that above it as well."""
    corners = hz_of_mel(np.linspace(0, mel_of_hz(_RATE / 2), 80 + 2))
    away = np.abs(_spectrum_bins(_LENGTH)[:, None] - corners[1:-1]) / np.diff(corners)[:-1]
    filters: Array = np.maximum(0.0, 1.0 - away)
    return filters


def _speechbrain80(samples: Array) -> Array:
    framed = _centred_frames(samples, "constant")
    mel = _power(framed, _periodic_window(0.08), _speechbrain_filters())
    decibels = 10.0 * np.log10(np.maximum(mel, 1e-10))
    decibels = np.maximum(decibels, decibels.max() - 80.0)
    return _without_mean(decibels)


# GE2E, as Resemblyzer has it: power, without a logarithm. Frames centred, zeros beyond the ends; a
# periodic Hann window; power spectra of 400 points; Slaney's mel scale from 0 to 8,000 Hz, each
# band of unit area.

_KNEE, _LINEAR, _FACTOR = 1_000.0, 200 / 3, np.log(6.4) / 27
"""Slaney's mel scale: a mel is 200 / 3 Hz up to 1,000 Hz, from there a 27th of a factor of 6.4."""


@cache
def _slaney_filters() -> Array:
    top = _KNEE / _LINEAR + np.log(_RATE / 2 / _KNEE) / _FACTOR
    mel = np.linspace(0, top, 40 + 2)
    above = np.maximum(mel - _KNEE / _LINEAR, 0)
    corners = np.where(above > 0, _KNEE * np.exp(_FACTOR * above), _LINEAR * mel)
    areas = (corners[2:] - corners[:-2]) / 2
    return _triangles(corners, _spectrum_bins(_LENGTH)) / areas


def _ge2e40(samples: Array) -> Array:
    return _power(_centred_frames(samples, "constant"), _periodic_window(0.0), _slaney_filters())


FRONTENDS: dict[str, FrontEnd] = {
    listed.name: listed
    for listed in (
        FrontEnd("kaldi80", 80, _kaldi80),
        FrontEnd("clova40", 40, _clova40),
        FrontEnd("clova64", 64, _clova64),
        FrontEnd("ecapa80", 80, _ecapa80),
        FrontEnd("speechbrain80", 80, _speechbrain80),
        FrontEnd("ge2e40", 40, _ge2e40, least_samples=1),
    )
}
"""Every front end by its name: of CAM++, ERes2Net and 3D-Speaker's own ECAPA-TDNN; of ResNetSE34L;
of ResNetSE34V2; of TaoRuijie's ECAPA-TDNN; of spkrec-ecapa-voxceleb; of GE2E."""


@dataclass(frozen=True)
class Recipe:
    """How recordings are cut before they are embedded, and compared after."""

    scoring: str  # a name of `parivox.scoring.vectors.COMPARISONS`
    whole: bool = True  # whether the whole recording is embedded, before any crops
    crops: int = 0  # crops of equal length, evenly spaced from the first sample to the last
    crop_samples: int = 0  # their length
    least_samples: int = 0
    """Recordings that are shorter are repeated up to this length before they are cropped."""
    unit: bool = False  # whether each vector is scaled to length 1

    @property
    def n_excerpts(self) -> int:
        """Vectors of a recording."""
        return int(self.whole) + self.crops

    def excerpts(self, waveform: Waveform) -> list[Waveform]:
        """The parts that are embedded, in order.

        >>> recipe = Recipe("cosine", whole=False, crops=3, crop_samples=4, least_samples=5)
        >>> [part.tolist() for part in recipe.excerpts(np.arange(8))]
        [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
        >>> [part.tolist() for part in recipe.excerpts(np.arange(3))]
        [[0, 1, 2, 0], [0, 1, 2, 0], [1, 2, 0, 1]]
        """
        excerpts = [waveform] if self.whole else []
        if self.crops:
            long = np.resize(waveform, max(waveform.size, self.least_samples))
            starts = np.linspace(0, long.size - self.crop_samples, self.crops).astype(int)
            excerpts += [long[start : start + self.crop_samples] for start in starts]
        return excerpts


class NetworkSystem:
    """A network behind a front end, run as its recipe says; what it is, its subclasses say."""

    recipe: Recipe
    frontend: Callable[[Waveform], NDArray[np.float32]]  # features of a part, time first

    def embed(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Vectors of several recordings, of shape (recording, part, dimension).

        Only parts of equal length go through the network together, so nothing is padded. A network
        that fails is a SystemFailed.
        """
        excerpts = (excerpt for waveform in waveforms for excerpt in self.recipe.excerpts(waveform))
        features = [np.asarray(self.frontend(excerpt), np.float32) for excerpt in excerpts]
        # Padding would change the vectors of the shorter recordings.
        positions_by_length: dict[int, list[int]] = {}
        for position, frames in enumerate(features):
            positions_by_length.setdefault(len(frames), []).append(position)
        vector_by_position: dict[int, NDArray[np.float32]] = {}
        for positions in positions_by_length.values():
            batch_size = max(1, self._at_once() // max(1, features[positions[0]].size))
            for start in range(0, len(positions), batch_size):
                batch_positions = positions[start : start + batch_size]
                vectors = self._vectors(
                    np.stack([features[position] for position in batch_positions])
                )
                vector_by_position |= zip(batch_positions, vectors, strict=True)
        if not vector_by_position:
            return np.empty((0, self.recipe.n_excerpts, 1), np.float32)
        stacked_vectors = np.stack(
            [vector_by_position[position] for position in range(len(features))]
        )
        stacked_vectors = stacked_vectors.reshape(len(waveforms), -1, stacked_vectors.shape[-1])
        if self.recipe.unit:
            # A vector of zeros stays zero, and is reported by the caller.
            stacked_vectors /= np.maximum(
                np.linalg.norm(stacked_vectors, axis=-1, keepdims=True), 1e-12
            )
        return stacked_vectors

    def _at_once(self) -> int:
        """Numbers that go through the network at once; a part with more goes alone."""
        raise NotImplementedError

    def _vectors(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors (part, ..., dimension) of features (part, time, ...)."""
        raise NotImplementedError
