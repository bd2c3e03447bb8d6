"""What a front end is: a waveform in, frames of features out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parivox.embedding.systems.protocol import Waveform

__all__ = ["FrontEnd"]


@dataclass(frozen=True)
class FrontEnd:
    """One published way from a waveform to what its network sees, normalisation included.

    Attributes
    ----------
    name : str
        As options and the metadata of exported networks call it.
    sample_rate : int
        In Hz.
    bins : int
        Features of a frame.
    features : callable
        From float64 samples of shape (sample,) to features of shape (frame, bins).
    least_samples : int
        Fewer samples make no frame.
    """

    name: str
    sample_rate: int
    bins: int
    features: Callable[[NDArray[np.float64]], NDArray[np.floating]]
    least_samples: int = 400

    def __call__(self, waveform: Waveform) -> NDArray[np.float32]:
        """The features of one recording.

        Parameters
        ----------
        waveform : ndarray of shape (sample,)
            Mono samples in [-1, 1] at ``sample_rate``.

        Returns
        -------
        ndarray of shape (frame, bins)
            In float32, whatever it was computed in.

        Raises
        ------
        DataError
            When the waveform is not one row of samples, or too short for a frame.
        """
        samples = np.asarray(waveform, dtype=np.float64)
        if samples.ndim != 1:
            msg = (
                f"the front end {self.name} got an array of shape {samples.shape}; "
                "give it one channel, of shape (samples,)"
            )
            raise DataError(msg)
        if samples.size < self.least_samples:
            msg = (
                f"the front end {self.name} got {samples.size} samples and needs at least "
                f"{self.least_samples}; leave out recordings that short"
            )
            raise DataError(msg)
        return self.features(samples).astype(np.float32, copy=False)
