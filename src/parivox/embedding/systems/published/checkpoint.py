"""Published checkpoint files: read without running what is in them, and loaded strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, TypeAlias

    from torch import Tensor, nn

    Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
    """The shape of each tensor of a checkpoint, by its key."""

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
            msg = f"{path}: holds {name!r} twice, the second time as {key!r}; keep one of them"
            raise DataError(msg)
        state[name] = value
    return state


def _content(path: Path) -> dict[Any, Any]:
    """What a file holds under names, without the container around it."""
    import torch  # noqa: PLC0415 - heavy

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        msg = f"{path}: there is no such file; give the checkpoint as it was published"
        raise DataError(msg) from None
    except IsADirectoryError:
        msg = f"{path}: is a folder; give the checkpoint file in it"
        raise DataError(msg) from None
    except Exception as error:  # noqa: BLE001 - a damaged file raises anything
        msg = (
            f"{path}: is no checkpoint that torch reads as tensors alone "
            f"({type(error).__name__}); it is damaged, or holds objects that could run code: "
            "fetch it again, or save its state dict"
        )
        raise DataError(msg) from None
    for container in _CONTAINERS:
        if isinstance(content, dict) and isinstance(content.get(container), dict):
            content = content[container]
    if not isinstance(content, dict) or not content:
        msg = f"{path}: holds {type(content).__name__}, expected a state dict: tensors by name"
        raise DataError(msg)
    return content


def shapes_of(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor."""
    return {key: tuple(value.shape) for key, value in state.items()}


def size(shapes: Shapes, key: str, *, axis: int = 0, otherwise: int) -> int:
    """How long a tensor is along an axis; `otherwise` where there is no such tensor or axis.

    Examples
    --------
    >>> size({"fc.weight": (192, 3072)}, "fc.weight", otherwise=512)
    192
    >>> size({}, "fc.weight", otherwise=512)
    512
    """
    return next(iter(shapes.get(key, ())[axis : axis + 1]), 0) or otherwise


def load_strictly(network: nn.Module, state: Mapping[str, Tensor], path: Path, title: str) -> None:
    """Give a network (on torch's device ``meta``) its tensors, if they are exactly its own.

    A key that is missing, unknown or of another shape or kind is an error, as are values that are
    not finite.
    """
    expected = network.state_dict()
    wrong = _differences(shapes_of(expected), shapes_of(state))
    for key in expected.keys() & state.keys():
        if expected[key].is_floating_point() != state[key].is_floating_point():
            wrong.append(f"{key!r} holds {state[key].dtype}, expected {expected[key].dtype}")
    if wrong:
        msg = (
            f"{path}: is not {title} as it was published: {'; '.join(wrong)}; give the published "
            "file, or a network of your own as ONNX or as a callable"
        )
        raise DataError(msg)
    for key, value in state.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            msg = f"{path}: {key!r} holds values that are not finite; fetch the file again"
            raise DataError(msg)
    exact = {key: state[key].to(tensor.dtype).contiguous() for key, tensor in expected.items()}
    network.load_state_dict(exact, strict=True, assign=True)


def _differences(expected: Shapes, found: Shapes) -> list[str]:
    """What is missing, unknown or of another shape: how many of each, and the first."""
    missing = [f"{key!r} of shape {shape}" for key, shape in expected.items() if key not in found]
    unknown = [f"{key!r} of shape {shape}" for key, shape in found.items() if key not in expected]
    shaped = [
        f"{key!r} of shape {found[key]}, expected {shape}"
        for key, shape in expected.items()
        if found.get(key, shape) != shape
    ]
    differences = [("lacks", missing), ("holds the unknown", unknown), ("holds", shaped)]
    return [
        f"{verb} {keys[0]}" + (f" (and {len(keys) - 1} more)" if keys[1:] else "")
        for verb, keys in differences
        if keys
    ]
