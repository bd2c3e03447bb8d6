"""A published system, loaded: cuts, front end and network, one after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
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

        Raises
        ------
        DataError
            If the device has too little memory.
        """
        most = _FRAMES * self.frontend.bins
        return self.recipe.embedded(waveforms, self.frontend, self._embedded, most)

    def _embedded(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        import torch  # noqa: PLC0415 - heavy

        try:
            with torch.inference_mode(), self._exact():
                out = self.network(torch.from_numpy(features).to(self.device))
        except torch.cuda.OutOfMemoryError as error:  # which is no failure of the recording
            parts, frames = features.shape[:2]
            msg = (
                f"{self.name}: the memory of the device {self.device} does not hold {parts} x "
                f"{frames:,} frames; try fewer --workers, or a shorter --longest; what is finished "
                "is kept"
            )
            raise DataError(msg) from error
        vectors: NDArray[np.float32] = out.cpu().numpy()
        return vectors

    def _exact(self) -> AbstractContextManager[None]:
        """On accelerators: the same every time, in full float32."""
        from torch.backends import cudnn  # noqa: PLC0415 - heavy

        if self.device.startswith("cuda"):
            return cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False)
        return nullcontext()
