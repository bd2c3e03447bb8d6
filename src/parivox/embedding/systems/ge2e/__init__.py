"""The embedded default: Resemblyzer's GE2E encoder, small and old, so that the chain runs anywhere.

The method is of 2018, and today's systems make far fewer errors. What it is for is to try the
whole chain, and to have one system that everybody can run and repeat.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.ge2e.network import SIZE, Network, OnnxNetwork
from parivox.embedding.systems.ge2e.weights import hash_of, weights_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

FRONT = FRONTENDS["ge2e40"]
HOP = 160
"""Samples from one frame to the next."""
FRAMES, STEP = 160, 77
"""Frames of a window, and from one to the next: 1.6 s, 1.3 windows a second."""
COVERED = 0.75
"""Of a last window, the least part that the recording must cover."""


def load_ge2e(weights: str | os.PathLike[str] | None = None) -> GE2E:
    """The system, with onnxruntime where it is installed and NumPy elsewhere.

    Parameters
    ----------
    weights
        A file that holds them; by default the user's cache, filled through pip the first time.
    """
    found = weights_of(weights)
    has_runtime = importlib.util.find_spec("onnxruntime") is not None
    network = OnnxNetwork(found) if has_runtime else Network(found)
    return GE2E(network, hash_of(found))


class GE2E:
    """The encoder as an embedding system: no VAD, no change of level.

    Parameters
    ----------
    network
        Windows (window, 160, 40) to vectors (window, 256) before ReLU.
    weights_sha256
        Of the arrays it was made of.
    """

    name = "ge2e"
    sample_rate = FRONT.sample_rate
    scoring = "cosine"
    least_seconds = FRAMES * HOP / FRONT.sample_rate / 4  # a quarter of a window

    def __init__(self, network: Network | OnnxNetwork, weights_sha256: str) -> None:
        self.network = network
        self.provenance: Mapping[str, Any] = {
            "system": "ge2e: Resemblyzer 0.1.4's GE2E encoder, without its VAD and change of level",
            "weights_sha256": weights_sha256,
            "frontend": FRONT.name,
            "windows": {"frames": FRAMES, "step": STEP, "least_covered": COVERED},
            "runtime": network.runtime,
        }

    def embed(self, waveforms: Sequence[Array]) -> Array:
        """Vectors of unit length, of shape (recording, 1, 256).

        A vector is the mean over a recording's windows, each of unit length. Windows of all
        recordings go through the network together.
        """
        views: list[Array] = []
        owners: list[int] = []
        for at, waveform in enumerate(waveforms):
            starts = window_starts(len(waveform))
            lacking = max(0, (starts[-1] + FRAMES) * HOP - len(waveform))
            mel = FRONT(np.pad(waveform, (0, lacking)))
            views += [mel[start : start + FRAMES] for start in starts]
            owners += [at] * len(starts)
        vectors = np.empty((len(views), SIZE), np.float32)
        for start in range(0, len(views), self.network.batch):
            some = slice(start, start + self.network.batch)
            vectors[some] = _unit(np.maximum(self.network(np.stack(views[some])), 0))
        sums = np.zeros((len(waveforms), SIZE), np.float32)
        np.add.at(sums, owners, vectors)
        return _unit(sums)[:, None]


def window_starts(samples: int) -> list[int]:
    """First frames of the windows of a recording; there is always one.

    Examples
    --------
    >>> window_starts(16_000), window_starts(48_000)
    ([0], [0, 77, 154])
    """
    frames = samples // HOP + 1  # frames that begin before the end, or at it
    starts = list(range(0, max(1, frames - FRAMES + STEP + 1), STEP))
    covered = (samples - starts[-1] * HOP) / (FRAMES * HOP)
    return starts[:-1] if covered < COVERED and len(starts) > 1 else starts


def _unit(vectors: Array) -> Array:
    """Of length 1; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
