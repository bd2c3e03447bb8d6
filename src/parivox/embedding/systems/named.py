"""Systems by name: what a user writes after ``--system``, and the system that it stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.embedding.systems.callables import load_object, system_of
from parivox.embedding.systems.ge2e import load_ge2e
from parivox.embedding.systems.ge2e_weights import cached_file
from parivox.embedding.systems.onnx import load_onnx
from parivox.embedding.systems.precomputed import SUFFIXES
from parivox.embedding.systems.published import PUBLISHED, load_published
from parivox.errors import ConfigError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

    from parivox.embedding.systems.protocol import EmbeddingSystem, VerifyingSystem

    System = EmbeddingSystem | VerifyingSystem

ENTRY_POINTS = "parivox.systems"
"""The group under which a package registers systems: name = "package.module:attribute"."""
DEVICES = ("cpu", "cuda")
"""Where a system can be asked to run."""

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = (
    "ge2e, model.onnx, NAME:checkpoint with NAME one of "
    f"{', '.join(PUBLISHED)}, package.module:function, or the name of an installed system"
)


@dataclass(frozen=True)
class Known:
    """A system that can be named, and whether it runs here."""

    name: str  # as it is given to ``--system``
    what: str  # what it is
    runs: bool  # whether everything but its weights is here
    note: str  # what it takes, or why it does not run and the mend


def load(
    text: str,
    *,
    weights: str | os.PathLike[str] | None = None,
    frontend: str | None = None,
    sample_rate: int | None = None,
    device: str = "cpu",
) -> System:
    """The system that a text names.

    Parameters
    ----------
    text
        ``ge2e``; the path of an ``.onnx`` file; ``NAME:checkpoint`` of a published system;
        ``package.module:attribute``; or a name that a package registered.
    weights
        File of the weights, of ``ge2e`` and published systems.
    frontend
        Of ONNX files and published systems, in the place of the declared one.
    sample_rate
        In Hz, of functions and of ONNX files that take waveforms.
    device
        ``cpu``; or ``cuda``, of ONNX files, published systems and what takes an argument `device`.

    Raises
    ------
    ConfigError
        If nothing has that name, something is missing to run it, or an option does not go with it.
    DataError
        If a file does not hold what it must.
    """
    every = {"weights": weights, "frontend": frontend, "sample_rate": sample_rate}
    every["device"] = None if device == "cpu" else device
    options: dict[str, Any] = {name: one for name, one in every.items() if one is not None}
    name, colon, file = text.partition(":")
    if name == "ge2e" or name in PUBLISHED:
        if colon and "weights" in options:
            msg = f"--system {text} names a file, and --weights another; give one of them"
            raise ConfigError(msg)
        checkpoint = file or options.pop("weights", None)
        if name == "ge2e":
            _check_options(text, options, ())
            return load_ge2e(checkpoint)
        _check_options(text, options, ("frontend", "device"))
        if not checkpoint:
            msg = (
                f"--system {name} needs the checkpoint that its authors published, which is not "
                f"part of Parivox; give --system {name}:FILE"
            )
            raise ConfigError(msg)
        return load_published(name, checkpoint, **options)
    path = Path(text)
    if path.suffix.lower() == ".onnx":
        _check_options(text, options, ("frontend", "sample_rate", "device"))
        if not path.is_file():
            msg = f"--system {text}: there is no such file; give the path of the ONNX file"
            raise ConfigError(msg)
        return load_onnx(path, **options)
    registered = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if text in registered or _REFERENCE.fullmatch(text):
        _check_options(text, options, ("sample_rate", "device"))
        try:
            found = _loaded(registered[text]) if text in registered else load_object(text)
        except ConfigError as error:
            cause = error.__cause__
            is_missing = isinstance(cause, ModuleNotFoundError) and cause.name == name
            if is_missing and _nearest(name, ("ge2e", *PUBLISHED)):  # meant as a system's name
                raise _unknown(text, path, registered) from None
            raise
        return system_of(found, text, sample_rate=sample_rate, device=device)
    raise _unknown(text, path, registered)


def known_systems() -> list[Known]:
    """Every system that can be named here, those of installed packages included."""
    cached = cached_file().is_file()
    note = "weights are here" if cached else "weights come through pip once"
    found = [Known("ge2e", "GE2E, 2018: weak, old", True, note)]
    lacks_torch = _lacks("torch", "torch")
    for name, entry in PUBLISHED.items():
        note = lacks_torch or f"from {entry.repository}"
        found.append(Known(f"{name}:CHECKPOINT", entry.title, not lacks_torch, note))
    lacks_runtime = _lacks("onnxruntime", "onnx")
    note = lacks_runtime or "see --frontend"
    found.append(Known("FILE.onnx", "an encoder in ONNX", not lacks_runtime, note))
    note = "of (waveform, sample_rate)"
    found.append(Known("PACKAGE.MODULE:NAME", "a Python function", True, note))
    for registered in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        package = registered.dist.name if registered.dist else registered.value
        runs = find_spec(registered.module.partition(".")[0]) is not None
        note = registered.value if runs else f"{registered.module} is not there: install it again"
        found.append(Known(registered.name, f"registered by {package}", runs, note))
    return found


def _check_options(text: str, options: dict[str, Any], taken: tuple[str, ...]) -> None:
    device = options.get("device", "cpu")
    if device not in DEVICES:
        msg = f"--device {device!r} is not known; give {' or '.join(DEVICES)}"
        raise ConfigError(msg)
    for name, value in options.items():
        if name not in taken:
            option = f"--{name.replace('_', '-')}"
            msg = f"--system {text} takes no {option} ({value}); leave it out"
            raise ConfigError(msg)


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        msg = f"system {entry.name} of {entry.value} cannot be loaded ({why}); install it again"
        raise ConfigError(msg) from error


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - for messages only

    return get_close_matches(name.lower(), list(names), n=3, cutoff=0.5)


def _lacks(module: str, extra: str) -> str:
    """What to install, if anything."""
    if find_spec(module) is not None:
        return ""
    return f"needs {module}: pip install 'parivox[{extra}]'"


def _unknown(text: str, path: Path, registered: dict[str, EntryPoint]) -> ConfigError:
    """Why a text names nothing, and what is nearest."""
    if text and (path.is_dir() or (path.is_file() and path.suffix.lower() in SUFFIXES)):
        return ConfigError(
            f"--system {text}: holds embeddings, not a system; score them as they are with "
            f"parivox score TRIALS --embeddings {text}"
        )
    if path.is_file():
        return ConfigError(
            f"--system {text}: is a file, and its name does not tell of which system; name it, as "
            f"in {next(iter(PUBLISHED))}:{text}, or export it as .onnx"
        )
    near = _nearest(text.partition(":")[0], ("ge2e", *PUBLISHED, *registered))
    if not near:
        return ConfigError(f"--system {text!r} is not known; give {_FORMS}")
    lacking = _lacks("torch", "torch") if near[0] in PUBLISHED else ""
    mend = f" ({near[0]} {lacking})" if lacking else ""
    form = ":CHECKPOINT" if near[0] in PUBLISHED else ""
    return ConfigError(
        f"--system {text!r} is not known; nearest: {', '.join(near)}{mend}; give it as "
        f"--system {near[0]}{form}"
    )
