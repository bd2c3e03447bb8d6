"""A published system, loaded: cuts, front end and network, one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray
    from torch import nn

    from parivox.embedding.frontends import FrontEnd
    from parivox.embedding.systems.protocol import Waveform
    from parivox.embedding.systems.published.recipe import Recipe

__all__ = ["PublishedSystem"]

_LEAST_SECONDS = 0.25
"""No publisher states one. Every network then has three frames or more to pool, where two are
the least that have a standard deviation."""

_FRAMES = 8192
"""In a batch, some 80 s; a longer part goes alone."""


class PublishedSystem:
    """An embedding system made of a published network (see the protocol).

    Attributes
    ----------
    network : torch.nn.Module
        From features of shape (batch, frame, bin) to vectors of shape (batch, dimension).
    frontend : FrontEnd
    recipe : Recipe
    """

    least_seconds = _LEAST_SECONDS

    def __init__(
        self,
        name: str,
        network: nn.Module,
        frontend: FrontEnd,
        recipe: Recipe,
        *,
        device: str,
        provenance: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.network = network
        self.frontend = frontend
        self.recipe = recipe
        self.device = device
        self.provenance = provenance
        self.sample_rate = frontend.sample_rate
        self.scoring = recipe.scoring

    def embed(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Vectors of several recordings, of shape (recording, part, dimension).

        Only parts of equal length share a batch, so nothing is padded.
        """
        features = [self.frontend(part) for each in waveforms for part in self.recipe.cut(each)]
        vectors: dict[int, NDArray[np.float32]] = {}
        lengths = np.array([len(each) for each in features])
        for length in np.unique(lengths):
            alike = np.flatnonzero(lengths == length)
            together = max(1, _FRAMES // int(length))
            for start in range(0, alike.size, together):
                batch = alike[start : start + together]
                stacked = np.stack([features[at] for at in batch])
                vectors |= zip(batch.tolist(), self._embedded(stacked), strict=True)
        out = np.array([vectors[at] for at in range(len(features))], np.float32)
        if self.recipe.unit:
            out /= np.maximum(np.linalg.norm(out, axis=-1, keepdims=True), 1e-12)
        return out.reshape(len(waveforms), self.recipe.parts, -1)

    def _embedded(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        import torch  # noqa: PLC0415 - heavy

        with torch.inference_mode(), self._exact():
            out = self.network(torch.from_numpy(features).to(self.device))
        vectors: NDArray[np.float32] = out.cpu().numpy()
        return vectors

    def _exact(self) -> AbstractContextManager[None]:
        """On accelerators: the same every time, in full float32."""
        from torch.backends import cudnn  # noqa: PLC0415 - heavy

        if self.device.startswith("cuda"):
            return cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False)
        return nullcontext()
