"""The published systems: which network, front end and recipe each name stands for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.embedding.systems.published.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import nn

    from parivox.embedding.systems.published.checkpoint import Shapes

__all__ = ["PUBLISHED", "Published", "recognised"]


@dataclass(frozen=True)
class Published:
    """One published system.

    Attributes
    ----------
    title : str
        As its publishers call it.
    repository : str
        Where the code, and a pointer to the weights, was published.
    licence : str
        Of the code.
    network : str
        ``module:function`` that builds the form of the network that a checkpoint's shapes tell.
    telling : str
        A key that the checkpoints of no other system here have.
    frontend : str
        See :data:`parivox.embedding.frontends.FRONTENDS`.
    recipe : Recipe
    """

    title: str
    repository: str
    licence: str
    network: str
    telling: str
    frontend: str
    recipe: Recipe

    def build(self, shapes: Shapes) -> nn.Module:
        """The network without values, on torch's device ``meta``, ready to be loaded."""
        import torch  # noqa: PLC0415 - heavy

        module, _, function = self.network.partition(":")
        formed = getattr(importlib.import_module(f"{__package__}.{module}"), function)
        with torch.device("meta"):
            network: nn.Module = formed(shapes)
        return network.eval()


_TEN_CROPS = Recipe(
    "crops-euclidean",
    whole=False,
    crops=10,
    crop_samples=64_240,
    least_samples=64_241,
    unit=True,
)
"""400 frames; a file of up to that length is repeated to one sample more."""

_WHOLE_AND_FIVE = Recipe(
    "ecapa-published", crops=5, crop_samples=48_240, least_samples=48_240, unit=True
)
"""The whole recording and 300 frames."""

_WHOLE = Recipe("cosine")

_CLOVA = "clovaai/voxceleb_trainer"
_3D_SPEAKER = "modelscope/3D-Speaker"

PUBLISHED: dict[str, Published] = {
    "resnetse34l": Published(
        "ResNetSE34L",
        _CLOVA,
        "MIT",
        "resnetse34:light",
        "sap_linear.weight",
        "clova40",
        _TEN_CROPS,
    ),
    "resnetse34v2": Published(
        "ResNetSE34V2",
        _CLOVA,
        "MIT",
        "resnetse34:second",
        "attention.3.weight",
        "clova64",
        _TEN_CROPS,
    ),
    "ecapa": Published(
        "ECAPA-TDNN (TaoRuijie)",
        "TaoRuijie/ECAPA-TDNN",
        "MIT",
        "ecapa:formed",
        "fc6.weight",
        "ecapa80",
        _WHOLE_AND_FIVE,
    ),
    "ecapa-speechbrain": Published(
        "ECAPA-TDNN (SpeechBrain)",
        "speechbrain/speechbrain",
        "Apache-2.0",
        "ecapa_speechbrain:formed",
        "asp.tdnn.conv.conv.weight",
        "speechbrain80",
        _WHOLE,
    ),
    "campplus": Published(
        "CAM++",
        _3D_SPEAKER,
        "Apache-2.0",
        "campplus:formed",
        "xvector.tdnn.linear.weight",
        "kaldi80",
        _WHOLE,
    ),
    "eres2net": Published(
        "ERes2Net",
        _3D_SPEAKER,
        "Apache-2.0",
        "eres2net:first",
        "fuse_mode12.local_att.0.weight",
        "kaldi80",
        _WHOLE,
    ),
    "eres2netv2": Published(
        "ERes2NetV2",
        _3D_SPEAKER,
        "Apache-2.0",
        "eres2net:second",
        "fuse34.local_att.0.weight",
        "kaldi80",
        _WHOLE,
    ),
}
"""Every published system by the name that users give."""


def recognised(keys: Iterable[str]) -> str | None:
    """The name of the system whose checkpoints have these keys, if there is one.

    Examples
    --------
    >>> recognised(["conv1.weight", "fc6.weight"])
    'ecapa'
    """
    held = set(keys)
    return next((name for name, each in PUBLISHED.items() if each.telling in held), None)
