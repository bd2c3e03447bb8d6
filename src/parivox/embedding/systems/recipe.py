"""What of a recording goes through a network, a batch at a time, and how two are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.embedding.systems.protocol import Waveform


@dataclass(frozen=True)
class Recipe:
    """How recordings are cut before they are embedded, and compared after."""

    scoring: str  # see `comparisons`
    whole: bool = True  # whether the whole recording is embedded, before any crops
    crops: int = 0  # crops of equal length, evenly spaced from the first sample to the last
    crop_samples: int = 0  # their length
    least_samples: int = 0
    """Recordings that are shorter are repeated up to this length before they are cropped."""
    unit: bool = False  # whether each vector is scaled to length 1

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


class NetworkSystem:
    """A network behind a front end, run as its recipe says; what it is, its subclasses say."""

    recipe: Recipe
    frontend: Callable[[Waveform], NDArray[np.float32]]  # features of a part, time first

    def embed(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Vectors of several recordings, of shape (recording, part, dimension).

        Only parts of equal length go through the network together, so nothing is padded. A network
        that fails is a SystemFailed.
        """
        parts = (part for waveform in waveforms for part in self.recipe.cut(waveform))
        features = [np.asarray(self.frontend(part), np.float32) for part in parts]
        alike: dict[int, list[int]] = {}
        for at, one in enumerate(features):
            alike.setdefault(len(one), []).append(at)
        found: dict[int, NDArray[np.float32]] = {}
        for places in alike.values():
            together = max(1, self._at_once() // max(1, features[places[0]].size))
            for start in range(0, len(places), together):
                some = places[start : start + together]
                vectors = self._vectors(np.stack([features[at] for at in some]))
                found |= zip(some, vectors, strict=True)
        if not found:
            return np.empty((0, self.recipe.parts, 1), np.float32)
        whole = np.stack([found[at] for at in range(len(features))])
        whole = whole.reshape(len(waveforms), -1, whole.shape[-1])
        if self.recipe.unit:
            whole /= np.maximum(np.linalg.norm(whole, axis=-1, keepdims=True), 1e-12)
        return whole

    def _at_once(self) -> int:
        """Numbers that go through the network at once; a part with more goes alone."""
        raise NotImplementedError

    def _vectors(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors (part, ..., dimension) of features (part, time, ...)."""
        raise NotImplementedError
