"""The systems of papers 001 and 003, from the checkpoint files their authors published.

See docs/references.md#papers.

Networks stand in modules of their own and need torch; none is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from parivox.embedding.frontends import FRONTENDS, NetworkSystem, Recipe
from parivox.errors import ConfigError, DataError, name_hint
from parivox.runtime.disk import sha256_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from parivox.embedding.frontends import FrontEnd
    from parivox.embedding.systems.published.resnets import Shapes

    T = TypeVar("T")


@dataclass(frozen=True)
class Published:
    """One published system."""

    title: str  # as its publishers call it
    repository: str  # where the code, and a pointer to the weights, was published
    network: str  # module and class of the network, which is made `of_shapes` of a checkpoint
    telling: str  # a key that the checkpoints of no other system here have
    frontend: str  # one of `FRONTENDS`
    recipe: Recipe

    def build(self, shapes: Shapes) -> nn.Module:
        """The network without values, on torch's device ``meta``, ready to be loaded."""
        import torch  # noqa: PLC0415 - heavy

        module, _, name = self.network.partition(":")
        kind = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        with torch.device("meta"):
            network: nn.Module = kind.of_shapes(shapes)
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
_WHOLE_RECORDING = Recipe("cosine")

_CLOVA = "clovaai/voxceleb_trainer"  # MIT
_TAORUIJIE = "TaoRuijie/ECAPA-TDNN"  # MIT
_SPEECHBRAIN = "speechbrain/speechbrain"  # Apache-2.0
_3D_SPEAKER = "modelscope/3D-Speaker"  # Apache-2.0

PUBLISHED: dict[str, Published] = {
    "resnetse34l": Published(
        "ResNetSE34L", _CLOVA, "resnets:ResNetSE34L", "sap_linear.weight", "clova40", _TEN_CROPS
    ),
    "resnetse34v2": Published(
        "ResNetSE34V2", _CLOVA, "resnets:ResNetSE34V2", "attention.3.weight", "clova64", _TEN_CROPS
    ),
    "ecapa": Published(
        "ECAPA-TDNN (TaoRuijie)",
        _TAORUIJIE,
        "tdnns:TaoRuijieECAPA",
        "fc6.weight",
        "ecapa80",
        _WHOLE_AND_FIVE,
    ),
    "ecapa-speechbrain": Published(
        "ECAPA-TDNN (SpeechBrain)",
        _SPEECHBRAIN,
        "tdnns:SpeechBrainECAPA",
        "asp.tdnn.conv.conv.weight",
        "speechbrain80",
        _WHOLE_RECORDING,
    ),
    "campplus": Published(
        "CAM++",
        _3D_SPEAKER,
        "tdnns:CAMPlusPlus",
        "xvector.tdnn.linear.weight",
        "kaldi80",
        _WHOLE_RECORDING,
    ),
    "eres2net": Published(
        "ERes2Net",
        _3D_SPEAKER,
        "resnets:ERes2Net",
        "fuse_mode12.local_att.0.weight",
        "kaldi80",
        _WHOLE_RECORDING,
    ),
    "eres2netv2": Published(
        "ERes2NetV2",
        _3D_SPEAKER,
        "resnets:ERes2NetV2",
        "fuse34.local_att.0.weight",
        "kaldi80",
        _WHOLE_RECORDING,
    ),
}
"""Every published system by the name that users give."""


def recognised_system(keys: Iterable[str]) -> str | None:
    """The name of the system whose checkpoints have these keys, if there is one.

    >>> recognised_system(["conv1.weight", "fc6.weight"])
    'ecapa'
    """
    present_keys = set(keys)
    return next(
        (name for name, published in PUBLISHED.items() if published.telling in present_keys), None
    )


_LEAST_SECONDS = 0.25
"""No publisher states one. Every network then has three frames or more to pool, where two are
the least that have a standard deviation."""
_MAX_FRAMES_AT_ONCE = 8192  # in a batch, some 80 s; a longer part goes alone


class PublishedSystem(NetworkSystem):
    """An embedding system made of a published network (see the protocol).

    The network takes features of shape (batch, frame, bin) to vectors of shape (batch, dimension).
    """

    least_seconds = _LEAST_SECONDS
    frontend: FrontEnd

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
        self.name, self.network, self.frontend, self.recipe = name, network, frontend, recipe
        self.device, self.provenance = device, provenance
        self.sample_rate = frontend.sample_rate
        self.scoring = recipe.scoring

    def _at_once(self) -> int:
        return _MAX_FRAMES_AT_ONCE * self.frontend.bins

    def _vectors(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        import torch  # noqa: PLC0415 - heavy
        from torch.backends import cudnn  # noqa: PLC0415 - heavy

        on_cuda = self.device.startswith("cuda")  # there: the same every time, in full float32
        exact = cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False)
        try:
            with torch.inference_mode(), exact if on_cuda else nullcontext():
                out = self.network(torch.from_numpy(features).to(self.device))
        except torch.cuda.OutOfMemoryError as error:  # which is no failure of the recording
            n_excerpts, frames = features.shape[:2]
            msg = (
                f"{self.name}: the memory of the device {self.device} is too small for "
                f"{n_excerpts} x {frames:,} frames (finished recordings are kept)"
            )
            hint = "give fewer --workers, or a shorter --longest"
            raise DataError(msg, hint) from error
        vectors: NDArray[np.float32] = out.cpu().numpy()
        return vectors


def load_published(
    name: str,
    path: str | os.PathLike[str],
    *,
    frontend: str | None = None,
    device: str = "cpu",
) -> PublishedSystem:
    """A published system with the weights of a checkpoint file.

    The sizes of a network are told by the file. A `frontend` other than the published one:
    3D-Speaker's ECAPA-TDNN has SpeechBrain's layout, but was trained on ``kaldi80``. A `device` is
    called as torch calls it. It is an error if torch is not installed, or the file does not hold
    exactly that network.
    """
    entry = _choice_named(PUBLISHED, name, "system")
    front = _choice_named(FRONTENDS, frontend or entry.frontend, "front end")
    bins = FRONTENDS[entry.frontend].bins
    if front.bins != bins:
        msg = (
            f"the front end {front.name} makes {front.bins} features per frame, but {entry.title} "
            f"needs {bins}"
        )
        hint = f"leave out the front end to use {entry.frontend}"
        raise ConfigError(msg, hint)
    if find_spec("torch") is None:
        msg = f"{name} needs torch"
        hint = "install it with: pip install 'parivox[torch]'"
        raise ConfigError(msg, hint)
    import torch  # noqa: PLC0415 - heavy

    path = Path(path)
    state = read_state(path)
    recognised_name = recognised_system(state)
    if recognised_name != name:
        first_keys = ", ".join(repr(key) for key in list(state)[:3])
        content = (
            f"{PUBLISHED[recognised_name].title} ({recognised_name})"
            if recognised_name
            else f"keys of an unknown system, such as {first_keys}"
        )
        remedy = (
            f"name the system, {recognised_name}:{path}"
            if recognised_name
            else "give the checkpoint as it was published"
        )
        msg = f"{path}: contains {content}, expected {entry.title} ({name})"
        raise DataError(msg, remedy)
    network = entry.build(shapes_of(state))
    load_strictly(network, state, path, entry.title)
    try:
        network.to(device)
    except (RuntimeError, AssertionError):
        missing_device = "no CUDA device" if device == "cuda" else f"no device {device!r}"
        msg = f"{missing_device} is available to torch"
        hint = "leave --device out to run on the CPU"
        raise ConfigError(msg, hint) from None
    provenance = {
        "system": name,
        "network": entry.title,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "weights_sha256": sha256_of(path),
        "frontend": front.name,
        "recipe": asdict(entry.recipe),
        "torch": torch.__version__,
        "device": device,
    }
    return PublishedSystem(name, network, front, entry.recipe, device=device, provenance=provenance)


def _choice_named(choices: Mapping[str, T], name: str, kind: str) -> T:
    if name in choices:
        return choices[name]
    msg = f"there is no {kind} {name!r}"
    hint = name_hint(name, choices)
    raise ConfigError(msg, hint)


_CONTAINERS = ("model_state_dict", "model")
"""Keys under which newer files keep the network beside the optimiser."""

_WRAPPINGS = ("__S__.", "speaker_encoder.")
"""What stands before the keys of the network in files that hold more than it."""

_NOT_THE_NETWORK = ("__L__.", "speaker_loss.", "torchfb.", "torchfbank.")
"""Losses of the training, and constants of torchaudio's front ends."""


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a network by the keys it was published with.

    All containers are understood: bare; under ``model`` or ``model_state_dict``; keys that start
    with ``module.``, ``__S__.`` or ``speaker_encoder.``. Losses and constants of front ends are
    left out. It is an error if there is no such file, or it is damaged, holds more than tensors or
    is no state dict.
    """
    import torch  # noqa: PLC0415 - heavy

    state: dict[str, Tensor] = {}
    for key, value in _content(path).items():
        name = str(key).replace("module.", "")
        for wrapping in _WRAPPINGS:
            name = name.removeprefix(wrapping)
        if name.startswith(_NOT_THE_NETWORK):
            continue
        if not isinstance(value, torch.Tensor):
            msg = f"{path}: {key!r} is {type(value).__name__}, expected a tensor of a state dict"
            raise DataError(msg)
        if name in state:
            msg = f"{path}: contains {name!r} twice, the second time as {key!r}"
            hint = "keep one of the two"
            raise DataError(msg, hint)
        state[name] = value
    return state


def _content(path: Path) -> dict[Any, Any]:
    """What a file holds under names, without the container around it."""
    import torch  # noqa: PLC0415 - heavy

    try:
        # weights_only: a checkpoint is a pickle, which could run code.
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        msg = f"{path}: file not found"
        hint = "give the checkpoint as it was published"
        raise DataError(msg, hint) from None
    except IsADirectoryError:
        msg = f"{path}: is a folder"
        hint = "give the checkpoint file in it"
        raise DataError(msg, hint) from None
    except Exception as error:  # noqa: BLE001 - a damaged file raises anything
        msg = (
            f"{path}: is not a checkpoint that torch can read as tensors only "
            f"({type(error).__name__})"
        )
        hint = (
            "download the file again, or save its state dict: it is damaged, or contains objects "
            "that could run code"
        )
        raise DataError(msg, hint) from None
    for container in _CONTAINERS:
        if isinstance(content, dict) and isinstance(content.get(container), dict):
            content = content[container]
    if not isinstance(content, dict) or not content:
        msg = f"{path}: contains {type(content).__name__}, expected a state dict: tensors by name"
        raise DataError(msg)
    return content


def shapes_of(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor."""
    return {key: tuple(value.shape) for key, value in state.items()}


def load_strictly(network: nn.Module, state: Mapping[str, Tensor], path: Path, title: str) -> None:
    """Give a network (on torch's device ``meta``) its tensors, if they are exactly its own.

    A key that is missing, unknown or of another shape or kind is an error, as are values that are
    not finite.
    """
    # Strictly: a network with one layer left at random would still give plausible vectors.
    expected = network.state_dict()
    wrong = _differences(shapes_of(expected), shapes_of(state))
    for key in expected.keys() & state.keys():
        if expected[key].is_floating_point() != state[key].is_floating_point():
            wrong.append(f"{key!r} contains {state[key].dtype}, expected {expected[key].dtype}")
    if wrong:
        msg = f"{path}: differs from the published {title}: {'; '.join(wrong)}"
        hint = "give the published file, or a network of your own as ONNX or as a callable"
        raise DataError(msg, hint)
    for key, value in state.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            msg = f"{path}: {key!r} contains values that are not finite"
            hint = "download the file again"
            raise DataError(msg, hint)
    exact = {key: state[key].to(tensor.dtype).contiguous() for key, tensor in expected.items()}
    network.load_state_dict(exact, strict=True, assign=True)


def _differences(expected: Shapes, present: Shapes) -> list[str]:
    """What is missing, unknown or of another shape: how many of each, and the first."""
    missing = [f"{key!r} of shape {shape}" for key, shape in expected.items() if key not in present]
    unknown = [f"{key!r} of shape {shape}" for key, shape in present.items() if key not in expected]
    shaped = [
        f"{key!r} of shape {present[key]}, expected {shape}"
        for key, shape in expected.items()
        if present.get(key, shape) != shape
    ]
    differences = [("lacks", missing), ("contains the unknown", unknown), ("contains", shaped)]
    return [
        f"{verb} {keys[0]}" + (f" (and {len(keys) - 1} more)" if keys[1:] else "")
        for verb, keys in differences
        if keys
    ]
