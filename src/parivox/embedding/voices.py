"""Synthetic voices for demonstrations and tests: a source and a filter, nobody's recordings.

A source (pulses of the glottis and breath) goes through the resonances of a vocal tract that move
from vowel to vowel. Voices differ in pitch, in how long the tract is and how it is shaped, in
tilt, in how sharp the resonances are, in breath, in intonation and in pace. The same seed gives the
same samples. They say nothing about people: audits of them only show that the chain runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE = 16_000
"""Samples per second."""
_HOP, _WIDTH = 128, 512
_VOWELS = np.array(
    [
        [730, 1090, 2440, 3400],
        [270, 2290, 3010, 3700],
        [300, 870, 2240, 3300],
        [530, 1840, 2480, 3500],
        [570, 840, 2410, 3300],
        [660, 1720, 2410, 3450],
        [440, 1020, 2240, 3350],
        [490, 1350, 1690, 3300],
    ]
)
"""Resonances of eight vowels in Hz, as textbooks give them for an adult man."""
_BANDWIDTHS = np.array([70.0, 90.0, 140.0, 220.0])
_PITCH = {"f": 205.0, "m": 118.0}
# Formants of women lie some 15 % above those of men, as vocal tracts are shorter.
_SCALE = {"f": 1.15, "m": 1.0}


@dataclass(frozen=True)
class Voice:
    """One speaker."""

    pitch: float  # in Hz, on average
    scale: float  # of all resonances: above 1 for a short vocal tract
    offsets: tuple[float, ...]  # of each resonance, a factor
    bandwidth: float  # a factor: above 1 for dull resonances
    tilt: float  # pole of the low pass that the source goes through, from 0 (bright) to 1
    breath: float  # level of the noise in the source
    intonation: float  # standard deviation of the pitch's logarithm in a sentence
    pace: float  # syllables per second


def draw_voice(seed: int, gender: str = "f") -> Voice:
    """The voice of this number, with pitch and vocal tract drawn around those of ``f`` or ``m``.

    >>> draw_voice(1, "m") == draw_voice(1, "m"), draw_voice(1).pitch > draw_voice(1, "m").pitch
    (True, True)
    """
    draw = np.random.default_rng((seed, 7))
    return Voice(
        pitch=float(_PITCH[gender] * np.exp(draw.normal(0, 0.14))),
        scale=float(_SCALE[gender] * np.exp(draw.normal(0, 0.06))),
        offsets=tuple(np.exp(draw.normal(0, 0.09, 4)).tolist()),
        bandwidth=float(np.exp(draw.normal(0, 0.35))),
        tilt=float(draw.uniform(0.3, 0.95)),
        breath=float(np.exp(draw.uniform(np.log(0.01), np.log(0.3)))),
        intonation=float(draw.uniform(0.03, 0.16)),
        pace=float(draw.uniform(3.0, 5.5)),
    )


def speak(voice: Voice, seconds: float, seed: int) -> NDArray[np.float32]:
    """A sentence of no words, of shape (sample,) in [-1, 1], at `RATE`.

    The seed tells what is said, and how.

    >>> voice = draw_voice(3)
    >>> speak(voice, 0.5, seed=1).shape, bool((speak(voice, 0.5, 1) == speak(voice, 0.5, 1)).all())
    ((8000,), True)
    """
    draw = np.random.default_rng((seed, 11))
    size = round(seconds * RATE)
    frame_times = (
        np.arange(-(-size // _HOP) + _WIDTH // _HOP) * _HOP / RATE
    )  # of each frame, in seconds
    resonances, loudness, pitch = _sentence(voice, frame_times, draw)
    source = _source(voice, np.repeat(pitch, _HOP), draw)
    window = np.hanning(_WIDTH + 1)[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(source, _WIDTH)[::_HOP]
    count = len(frames)
    filtered = np.fft.rfft(frames * window) * _tract(voice, resonances[:count])
    sound = np.fft.irfft(filtered) * loudness[:count, None]
    waveform = np.zeros((count + _WIDTH // _HOP) * _HOP)
    for quarter_index in range(
        _WIDTH // _HOP
    ):  # frames overlap, so they are added a quarter at a time
        quarter = sound[:, quarter_index * _HOP : (quarter_index + 1) * _HOP].ravel()
        waveform[quarter_index * _HOP : quarter_index * _HOP + quarter.size] += quarter
    waveform = waveform[:size]
    # A little noise: digital silence between words would mark every recording as synthetic.
    waveform += draw.normal(0, 0.001, size) * np.abs(waveform).max(initial=1e-9)
    level = 0.08 * np.exp(draw.normal(0, 0.2)) / max(float(np.sqrt(np.mean(waveform**2))), 1e-9)
    return np.asarray(np.clip(waveform * level, -1, 1), dtype=np.float32)


def _sentence(
    voice: Voice, frame_times: NDArray[np.float64], draw: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Resonances (frame, 4), loudness (frame,) and pitch (frame,) of a sentence."""
    pace = voice.pace * np.exp(draw.normal(0, 0.08))
    count = int(frame_times[-1] * pace) + 3
    ends = np.cumsum(draw.uniform(0.7, 1.3, count)) / pace
    vowels = _VOWELS[draw.integers(0, len(_VOWELS), count)] * np.exp(
        draw.normal(0, 0.03, (count, 4))
    )
    voiced_vowels = vowels * voice.scale * np.array(voice.offsets)
    resonances = np.stack(
        [np.interp(frame_times, ends, resonance) for resonance in voiced_vowels.T], axis=1
    )
    # each syllable swells and fades; between some of them there is a pause
    syllable = np.searchsorted(ends, frame_times).clip(0, count - 1)
    begins = np.concatenate(([0.0], ends))[syllable]
    within = ((frame_times - begins) / (ends[syllable] - begins)).clip(0, 1)
    syllable_loudness = draw.uniform(0.5, 1.0, count)
    syllable_loudness[draw.random(count) <= 0.08] = 0.0
    loudness = syllable_loudness[syllable] * np.sin(np.pi * within) ** 0.6
    steps = draw.normal(0, voice.intonation, count) - 0.1 * np.linspace(0, 1, count)
    pitch = voice.pitch * np.exp(draw.normal(0, 0.03) + np.interp(frame_times, ends, steps))
    return resonances, loudness, pitch


def _source(
    voice: Voice, pitch: NDArray[np.float64], draw: np.random.Generator
) -> NDArray[np.float64]:
    """Pulses at the pitch, and breath."""
    from scipy.signal import lfilter  # noqa: PLC0415 - what takes time to load

    jitter = 1 + draw.normal(0, 0.01, pitch.size)
    phase = np.cumsum(pitch * jitter) / RATE % 1.0
    pulses = lfilter([1.0, -1.0], [1.0], (phase - 0.5) ** 2 * 4)
    mixed = pulses / np.sqrt(np.mean(pulses**2)) + voice.breath * draw.normal(0, 1, pitch.size)
    return np.asarray(lfilter([1 - voice.tilt], [1.0, -voice.tilt], mixed))


def _tract(voice: Voice, resonances: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Response of the vocal tract, of shape (frame, frequency)."""
    around = np.exp(-2j * np.pi * np.arange(_WIDTH // 2 + 1) / _WIDTH)
    radius = np.exp(-np.pi * _BANDWIDTHS * voice.bandwidth / RATE)
    angle = 2 * np.pi * np.minimum(resonances, 0.47 * RATE) / RATE
    doubled_cosine = 2 * radius * np.cos(angle)
    gain = 1 - doubled_cosine + radius**2  # 1 at 0 Hz
    below = 1 - doubled_cosine[..., None] * around + (radius**2)[:, None] * around**2
    return np.asarray(np.prod(gain[..., None] / below, axis=1))
