"""A recording decoded once: its samples at a system's rate, what became of it, how it sounds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


STATUSES = ("ok", "too_short", "no_speech", "unreadable", "non_finite", "silent")
LONGEST_SECONDS = 3600.0
"""Longer recordings are not taken into memory, unless the user says so."""
MIX = 0
"""The channel that is the mean of all."""
# Far below the noise of any microphone: what is left is digital silence.
SILENT_DBFS = -80.0
LOUDEST_DBFS = 120.0
"""Samples a million times full scale are no sound, and overflow in a system."""
# Shorter than any syllable, so that a click is not taken for speech.
LEAST_SPEECH_SECONDS = 0.1
RATES = (1_000, 1_000_000)
"""Samples per second that a recording can have; a flawed header may say anything."""
# Two steps of 16-bit samples: dither and rounding may tell copies of one channel apart.
_MAX_CHANNEL_DIFFERENCE = 2.0 / 32768
_CHUNK_SAMPLES = 1 << 18  # samples of all channels that are decoded at once


@dataclass(frozen=True)
class Excerpt:
    """Which part of which file a recording is."""

    path: str
    channel: int | None = None  # from 1; 0 for the mean of all; None where none is chosen
    start: float | None = None  # in seconds; None where the file begins
    end: float | None = None  # in seconds; None where it ends


@dataclass(frozen=True, eq=False)
class Decoded:
    """What became of a recording."""

    status: str  # one of `STATUSES`
    reason: str = ""  # why it is not ``ok``; empty where it is
    waveform: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    """Mono, at the rate that was asked for; empty where the status is not ``ok``."""
    attributes: dict[str, float] = field(default_factory=dict)
    """Those of `ATTRIBUTES` that could be measured."""
    is_passing: bool = False
    """Whether the machine failed rather than the recording, so that another run may fare better."""
    channels: int = 0
    """How many the file has, where they differ and none is chosen: then it is set aside."""


class _RecordingFailedError(Exception):
    """A recording of which nothing can be made."""

    def __init__(self, outcome: Decoded) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def decode(
    recording: Excerpt,
    rate: int,
    *,
    least_seconds: float = 0.0,
    longest_seconds: float = LONGEST_SECONDS,
) -> Decoded:
    """Decode a recording in blocks, measure it, and resample one channel to `rate`, in Hz.

    It is WAV (A-law and mu-law, too), Sphere, FLAC, Ogg, Opus, MP3 or what else libsndfile reads,
    known by its content. Shorter ones than `least_seconds` are ``too_short``, longer ones than
    `longest_seconds`, of which no more is ever decoded, ``unreadable``; so are files whose channels
    differ where none is chosen.
    """
    check_decoders()
    try:
        return _decode_checked(recording, rate, least_seconds, longest_seconds)
    except _RecordingFailedError as failed:
        return failed.outcome
    except (OSError, MemoryError) as error:
        return Decoded("unreadable", _reason(error), is_passing=True)
    except (RuntimeError, TypeError, ValueError, ArithmeticError) as error:
        return Decoded("unreadable", _reason(error))  # whatever a decoder says of foreign bytes


def check_decoders() -> None:
    """Load what decodes and resamples; without it, every recording would seem unreadable."""
    for name in ("soundfile", "soxr"):
        try:
            import_module(name)
        except (ImportError, OSError) as error:
            msg = f"recordings need {name}, which cannot be loaded ({error})"
            hint = "install it with: pip install 'parivox[audio]'"
            raise ConfigError(msg, hint) from error


def _decode_checked(recording: Excerpt, rate: int, least: float, longest: float) -> Decoded:
    import soundfile  # noqa: PLC0415 - what takes time to load
    import soxr  # noqa: PLC0415 - what takes time to load

    with open(recording.path, "rb") as file:  # noqa: PTH123 - any bytes may be a name
        if not os.fstat(file.fileno()).st_size:
            _fail("unreadable", "the file is empty")
        # by its number: a name would have its ending believed
        with soundfile.SoundFile(file.fileno(), closefd=False) as sound:
            native_rate = int(sound.samplerate)
            if not RATES[0] <= native_rate <= RATES[1]:
                _fail("unreadable", f"its header claims {native_rate:,} samples per second")
            if recording.channel is not None and recording.channel > sound.channels:
                count = "one channel" if sound.channels == 1 else f"{sound.channels} channels"
                _fail("unreadable", f"has {count}, so none with number {recording.channel}")
            # The meter sees the file's own rate: resampling would hide how far the band reaches.
            meter, chunks = Meter(native_rate), []
            stream = (
                None
                if native_rate == rate
                else soxr.ResampleStream(native_rate, rate, 1, "float32")
            )
            for chunk in _channel_chunks(sound, recording, longest):
                n_not_finite = chunk.size - int(np.isfinite(chunk).sum())
                if n_not_finite:  # the rest was not measured
                    _fail(
                        "non_finite",
                        f"{n_not_finite:,} samples are not finite",
                        {"native_rate": native_rate},
                    )
                meter.add(chunk)
                chunks.append(chunk if stream is None else stream.resample_chunk(chunk))
    attributes = meter.attributes()
    _check_content(attributes, least)
    if stream is not None:
        chunks.append(stream.resample_chunk(np.empty(0, dtype=np.float32), last=True))
    waveform = np.concatenate(chunks)
    if not np.isfinite(waveform).all():
        _fail("non_finite", "its samples are too large to be resampled", attributes)
    return Decoded("ok", "", waveform, attributes)


def _check_content(attributes: dict[str, float], least_seconds: float) -> None:
    """Fail a recording in which there is nothing to embed, as its attributes tell."""
    if not attributes["duration"] or attributes["duration"] < least_seconds:
        needed = f", of {least_seconds:g} s that the system needs" if least_seconds else ""
        _fail("too_short", f"lasts {attributes['duration']:.3g} s{needed}", attributes)
    # The order decides the status of a recording with several faults: length first, as nothing
    # else can be measured on too few samples.
    if attributes["level"] < SILENT_DBFS:
        _fail("silent", f"its level is below {SILENT_DBFS:g} dBFS", attributes)
    if attributes["net_speech"] < LEAST_SPEECH_SECONDS:
        _fail("no_speech", f"{attributes['net_speech']:.2f} s are as loud as speech", attributes)
    if attributes["level"] > LOUDEST_DBFS:
        _fail(
            "non_finite",
            f"its level is {attributes['level']:.0f} dBFS, beyond any recording",
            attributes,
        )


def _fail(
    status: str, reason: str, measured: dict[str, float] | None = None, *, channels: int = 0
) -> NoReturn:
    raise _RecordingFailedError(
        Decoded(status, reason, attributes=measured or {}, channels=channels)
    )


def _reason(error: Exception) -> str:
    """What a decoder says; libsndfile has words for two failures that mean another thing."""
    words = str(getattr(error, "error_string", "") or getattr(error, "strerror", "") or error)
    words = " ".join(words.split()).rstrip(".")
    if not words or "does not exist" in words or "internal error" in words.lower():
        return f"its content cannot be decoded ({type(error).__name__})"
    return words


def _channel_chunks(
    sound: Any, recording: Excerpt, longest_seconds: float
) -> Iterator[NDArray[np.float32]]:
    """Blocks of the one channel that counts; an excerpt that is too long is refused."""
    rate, channels = sound.samplerate, sound.channels
    first_sample = round((recording.start or 0.0) * rate)
    n_left = sound.frames - first_sample
    if n_left <= 0 < first_sample:
        _fail("too_short", f"ends before {recording.start:g} s, where the excerpt begins")
    if recording.end is not None:
        n_left = min(n_left, round(recording.end * rate) - first_sample)
    if n_left > longest_seconds * rate:
        _fail(
            "unreadable",
            f"lasts {n_left / rate:,.0f} s, of at most {longest_seconds:,.0f} s; cut it by columns "
            "start and end, or give --longest",
        )
    if first_sample:
        sound.seek(first_sample)
    # Chunks bound the memory, whatever length a header claims.
    size = max(_CHUNK_SAMPLES // channels, 1)
    while n_left > 0:
        chunk = sound.read(min(size, n_left), dtype="float32", always_2d=True)
        if not len(chunk):  # the header promised more
            return
        n_left -= len(chunk)
        yield _one_channel(chunk, recording)


def _one_channel(chunk: NDArray[np.float32], recording: Excerpt) -> NDArray[np.float32]:
    channels = chunk.shape[1]
    if recording.channel == MIX:
        return np.ascontiguousarray(chunk.mean(axis=1))
    if recording.channel is not None:
        return np.ascontiguousarray(chunk[:, recording.channel - 1])
    if channels > 1 and np.isfinite(chunk).all():
        differs = np.abs(chunk[:, 1:] - chunk[:, :1]).max(axis=0) > _MAX_CHANNEL_DIFFERENCE
        if differs.any():
            differing_channel = int(differs.argmax()) + 2
            reason = (
                f"has {channels} channels, and channel {differing_channel} differs from the first"
            )
            _fail("unreadable", reason, channels=channels)
    return np.ascontiguousarray(chunk[:, 0])


ATTRIBUTES = ("duration", "native_rate", "bandwidth", "level", "clipping", "net_speech")
"""Seconds, Hz, Hz, dB of full scale, share of samples, seconds; in the order of the table."""
CLIPPED = 0.999
"""Magnitude from which on a sample counts as clipped; full scale is 1."""
FAINTEST_DBFS, BELOW_LOUD_DB = -60.0, 30.0
"""A frame is speech from this level on, and at most so far below the recording's loud frames."""
FRAME_SECONDS = 0.02
BAND_DB = 60.0
"""A recording's band ends where its spectrum has fallen so far below its highest value."""
_SPECTRUM_SECONDS = 0.032
_LOUD_PERCENTILE = 95  # percentile of the levels of frames
_LEAST_POWER = 1e-30


class Meter:
    """Adds up what a recording sounds like, in memory that hardly grows with its length.

    Examples
    --------
    A second of a tone of 1 kHz at half of full scale, then a second of silence:

    >>> time = np.arange(16_000) / 16_000
    >>> meter = Meter(16_000)
    >>> meter.add((0.5 * np.sin(2 * np.pi * 1_000 * time)).astype("f4"))
    >>> meter.add(np.zeros(16_000, "f4"))
    >>> found = meter.attributes()
    >>> {name: round(found[name], 1) for name in ("duration", "level", "net_speech")}
    {'duration': 2.0, 'level': -12.0, 'net_speech': 1.0}
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.samples = self.clipped = 0
        self.sum = self.squares = 0.0
        self._frame = max(round(FRAME_SECONDS * rate), 1)
        self._window = np.hanning(max(round(_SPECTRUM_SECONDS * rate), 2)).astype(np.float32)
        self._power = np.zeros(self._window.size // 2 + 1)
        self._frames: list[NDArray[np.float64]] = []
        self._of_frames = self._of_spectrum = np.empty(0, dtype=np.float32)

    def add(self, chunk: NDArray[np.float32]) -> None:
        """Take the next samples of one channel, all finite, of shape (sample,)."""
        # Sums over an hour of float32 samples would lose the last digits.
        samples = chunk.astype(np.float64)
        self.samples += chunk.size
        self.sum += float(samples.sum())
        self.squares += float(samples @ samples)
        self.clipped += int((np.abs(chunk) >= CLIPPED).sum())
        frames, self._of_frames = _split_into_frames(self._of_frames, chunk, self._frame)
        self._frames.append(frames.var(axis=1, dtype=np.float64))
        spectrum_frames, self._of_spectrum = _split_into_frames(
            self._of_spectrum, chunk, self._window.size
        )
        self._add_spectrum(spectrum_frames)

    def _add_spectrum(self, frames: NDArray[np.float32]) -> None:
        centred = frames - frames.mean(axis=1, keepdims=True)
        self._power += (np.abs(np.fft.rfft(centred * self._window)).astype(np.float64) ** 2).sum(0)

    def attributes(self) -> dict[str, float]:
        """Everything measured so far, by its name in `ATTRIBUTES`.

        ``level`` is that of the sound about its mean, so that a constant is silence; it is -inf
        where nothing varies. Without samples nothing but the duration and the rate is known.
        """
        if not self.samples:
            return {"duration": 0.0, "native_rate": self.rate}
        n = self.samples
        power = max(self.squares / n - (self.sum / n) ** 2, 0.0)
        if power <= _LEAST_POWER + 1e-12 * self.squares / n:  # what rounding leaves of a constant
            power = 0.0
        return {
            "duration": self.samples / self.rate,
            "native_rate": self.rate,
            "bandwidth": self._bandwidth(),
            "level": 10.0 * float(np.log10(power)) if power else -np.inf,
            "clipping": self.clipped / n,
            "net_speech": self._net_speech(),
        }

    def _bandwidth(self) -> float:
        """Highest frequency at which the mean spectrum is within 60 dB of its highest value."""
        power = self._power
        if not power.any():  # shorter than one frame, which is padded with nothing
            padded_frame = np.zeros((1, self._window.size), dtype=np.float32)
            padded_frame[0, : self._of_spectrum.size] = self._of_spectrum
            self._add_spectrum(padded_frame)
        if not power.max() > _LEAST_POWER:
            return 0.0
        highest_bin = int(np.flatnonzero(power >= power.max() * 10.0 ** (-BAND_DB / 10))[-1])
        return highest_bin * self.rate / self._window.size

    def _net_speech(self) -> float:
        """Seconds in frames that are neither faint nor far below the loud ones."""
        powers = np.concatenate(self._frames) if self._frames else np.empty(0)
        if not powers.size:
            return 0.0
        levels = 10.0 * np.log10(np.maximum(powers, _LEAST_POWER))
        least = max(FAINTEST_DBFS, float(np.percentile(levels, _LOUD_PERCENTILE)) - BELOW_LOUD_DB)
        return float((levels >= least).sum()) * self._frame / self.rate


def _split_into_frames(
    leftover: NDArray[np.float32], chunk: NDArray[np.float32], size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Whole frames of what was left over and the block, and what is left over now."""
    samples = np.concatenate([leftover, chunk])
    n_in_frames = samples.size // size * size
    return samples[:n_in_frames].reshape(-1, size), samples[n_in_frames:].copy()
