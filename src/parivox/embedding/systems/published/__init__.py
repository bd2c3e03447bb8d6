"""The systems of papers 001 and 003, from the checkpoint files their authors published.

See docs/references.md#papers.

:data:`~parivox.embedding.systems.published.catalogue.PUBLISHED` says which there are. Networks
stand in a module each and need torch; none is imported before it is asked for.
"""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.published.catalogue import PUBLISHED, recognised
from parivox.embedding.systems.published.checkpoint import load_strictly, read_state, shapes_of
from parivox.embedding.systems.published.system import PublishedSystem
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from torch import nn

__all__ = ["PUBLISHED", "PublishedSystem", "load_published", "published_name"]

_T = TypeVar("_T")


def load_published(
    name: str,
    path: str | os.PathLike[str],
    *,
    frontend: str | None = None,
    device: str = "cpu",
) -> PublishedSystem:
    """A published system with the weights of a checkpoint file.

    Parameters
    ----------
    name : str
        One of :data:`PUBLISHED`. Sizes of a network are told by the file.
    path : path-like
        The checkpoint as it was published, in any of the containers that
        :func:`~parivox.embedding.systems.published.checkpoint.read_state` names.
    frontend : str, optional
        Another than the published one: 3D-Speaker's ECAPA-TDNN has SpeechBrain's layout, but was
        trained on ``kaldi80``.
    device : str
        As torch calls it.

    Raises
    ------
    ConfigError
        When the name, the front end or the device is unknown, or torch is not installed.
    DataError
        When the file does not hold exactly that network.
    """
    entry = _chosen(PUBLISHED, name, "system")
    front = _chosen(FRONTENDS, frontend or entry.frontend, "front end")
    if front.bins != FRONTENDS[entry.frontend].bins:
        msg = (
            f"the front end {front.name} makes {front.bins} features of a frame, and {entry.title} "
            f"takes {FRONTENDS[entry.frontend].bins}; leave it out for {entry.frontend}"
        )
        raise ConfigError(msg)
    _needs_torch(name)
    import torch  # noqa: PLC0415 - heavy

    path = Path(path)
    state = read_state(path)
    held = recognised(state)
    if held != name:
        first = ", ".join(repr(key) for key in list(state)[:3])
        found = f"{PUBLISHED[held].title} ({held})" if held else f"keys of no system, as {first}"
        mend = f"name it {held}:{path}" if held else "give the checkpoint as it was published"
        msg = f"{path}: holds {found}, expected {entry.title} ({name}); {mend}"
        raise DataError(msg)
    network = entry.build(shapes_of(state))
    load_strictly(network, state, path, entry.title)
    _move(network, device)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    provenance = {
        "system": name,
        "network": entry.title,
        "parameters": sum(each.numel() for each in network.parameters()),
        "weights_sha256": digest,
        "frontend": front.name,
        "recipe": asdict(entry.recipe),
        "torch": torch.__version__,
        "device": device,
    }
    return PublishedSystem(name, network, front, entry.recipe, device=device, provenance=provenance)


def published_name(path: str | os.PathLike[str]) -> str | None:
    """The name of the system whose checkpoint a file is, told by its keys; None if of none."""
    _needs_torch("a checkpoint")
    return recognised(read_state(Path(path)))


def _move(network: nn.Module, device: str) -> None:
    try:
        network.to(device)
    except (RuntimeError, AssertionError):
        what = "no CUDA device" if device == "cuda" else f"no device {device!r}"
        msg = f"{what} is there for torch; leave --device out to run on the CPU"
        raise ConfigError(msg) from None


def _needs_torch(what: str) -> None:
    if find_spec("torch") is None:
        msg = f"{what} needs torch; install it with: pip install 'parivox[torch]'"
        raise ConfigError(msg)


def _chosen(known: Mapping[str, _T], name: str, what: str) -> _T:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    msg = f"there is no {what} {name!r}; {hint}"
    raise ConfigError(msg)
