"""What of a recording its publishers embed, and how they compare two recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.embedding.systems.protocol import Waveform

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How recordings are cut before they are embedded, and compared after.

    Attributes
    ----------
    scoring : str
        See :mod:`parivox.scoring`.
    whole : bool
        Whether the whole recording is embedded, before any crops.
    crops : int
        Crops of equal length, evenly spaced from the first sample to the last.
    crop_samples : int
        Their length.
    least_samples : int
        Recordings that are shorter are repeated up to this length before they are cropped.
    unit : bool
        Whether each vector is scaled to length 1.
    """

    scoring: str
    whole: bool = True
    crops: int = 0
    crop_samples: int = 0
    least_samples: int = 0
    unit: bool = False

    @property
    def parts(self) -> int:
        """Vectors of a recording."""
        return int(self.whole) + self.crops

    def cut(self, waveform: Waveform) -> list[Waveform]:
        """The parts that are embedded, in order.

        Examples
        --------
        >>> recipe = Recipe("cosine", whole=False, crops=3, crop_samples=4, least_samples=5)
        >>> [part.tolist() for part in recipe.cut(np.arange(8))]
        [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]
        >>> [part.tolist() for part in recipe.cut(np.arange(3))]
        [[0, 1, 2, 0], [0, 1, 2, 0], [1, 2, 0, 1]]
        """
        parts = [waveform] if self.whole else []
        if self.crops:
            long = np.resize(waveform, max(waveform.size, self.least_samples))
            starts = np.linspace(0, long.size - self.crop_samples, self.crops).astype(int)
            parts += [long[start : start + self.crop_samples] for start in starts]
        return parts

    def embedded(
        self,
        waveforms: Sequence[Waveform],
        front: Callable[[Waveform], NDArray[np.float32]],
        run: Callable[[NDArray[np.float32]], NDArray[np.float32]],
        most: int,
    ) -> NDArray[np.float32]:
        """Vectors of several recordings, of shape (recording, part, dimension).

        Only parts of equal length go through the network together, so nothing is padded.

        Parameters
        ----------
        waveforms
            Of the recordings.
        front
            Features of a part, time first.
        run
            Vectors (part, ..., dimension) of features (part, time, ...).
        most
            Numbers at once; a part with more goes alone.
        """
        features = [np.asarray(front(part), np.float32) for w in waveforms for part in self.cut(w)]
        alike: dict[int, list[int]] = {}
        for at, one in enumerate(features):
            alike.setdefault(len(one), []).append(at)
        found: dict[int, NDArray[np.float32]] = {}
        for places in alike.values():
            together = max(1, most // max(1, features[places[0]].size))
            for start in range(0, len(places), together):
                some = places[start : start + together]
                found |= zip(some, run(np.stack([features[at] for at in some])), strict=True)
        if not found:
            return np.empty((0, self.parts, 1), np.float32)
        vectors = np.stack([found[at] for at in range(len(features))])
        vectors = vectors.reshape(len(waveforms), -1, vectors.shape[-1])
        if self.unit:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
        return vectors
