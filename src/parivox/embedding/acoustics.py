"""What a recording sounds like, measured block by block while it is decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ATTRIBUTES", "Meter"]

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
_LOUD = 95  # percentile of the levels of frames
_TINY = 1e-30


class Meter:
    """Adds up what a recording sounds like, in memory that hardly grows with its length.

    Parameters
    ----------
    rate
        Samples per second.

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

    def add(self, block: NDArray[np.float32]) -> None:
        """Take the next samples of one channel, all finite, of shape (sample,)."""
        exact = block.astype(np.float64)
        self.samples += block.size
        self.sum += float(exact.sum())
        self.squares += float(exact @ exact)
        self.clipped += int((np.abs(block) >= CLIPPED).sum())
        frames, self._of_frames = _cut(self._of_frames, block, self._frame)
        self._frames.append(frames.var(axis=1, dtype=np.float64))
        whole, self._of_spectrum = _cut(self._of_spectrum, block, self._window.size)
        self._add_spectrum(whole)

    def _add_spectrum(self, frames: NDArray[np.float32]) -> None:
        centred = frames - frames.mean(axis=1, keepdims=True)
        self._power += (np.abs(np.fft.rfft(centred * self._window)).astype(np.float64) ** 2).sum(0)

    def attributes(self) -> dict[str, float]:
        """Everything measured so far, by its name in :data:`ATTRIBUTES`.

        ``level`` is that of the sound about its mean, so that a constant is silence; it is -inf
        where nothing varies. Without samples nothing but the duration and the rate is known.
        """
        if not self.samples:
            return {"duration": 0.0, "native_rate": self.rate}
        n = self.samples
        power = max(self.squares / n - (self.sum / n) ** 2, 0.0)
        if power <= _TINY + 1e-12 * self.squares / n:  # what rounding leaves of a constant
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
            rest = np.zeros((1, self._window.size), dtype=np.float32)
            rest[0, : self._of_spectrum.size] = self._of_spectrum
            self._add_spectrum(rest)
        if not power.max() > _TINY:
            return 0.0
        last = int(np.flatnonzero(power >= power.max() * 10.0 ** (-BAND_DB / 10))[-1])
        return last * self.rate / self._window.size

    def _net_speech(self) -> float:
        """Seconds in frames that are neither faint nor far below the loud ones."""
        powers = np.concatenate(self._frames) if self._frames else np.empty(0)
        if not powers.size:
            return 0.0
        levels = 10.0 * np.log10(np.maximum(powers, _TINY))
        least = max(FAINTEST_DBFS, float(np.percentile(levels, _LOUD)) - BELOW_LOUD_DB)
        return float((levels >= least).sum()) * self._frame / self.rate


def _cut(
    rest: NDArray[np.float32], block: NDArray[np.float32], size: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Whole frames of what was left over and the block, and what is left over now."""
    samples = np.concatenate([rest, block])
    whole = samples.size // size * size
    return samples[:whole].reshape(-1, size), samples[whole:].copy()
