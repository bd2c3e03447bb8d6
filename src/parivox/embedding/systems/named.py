"""Systems by name: what a user writes after ``--system``, and the system that it stands for.

What a user names with ``package.module:attribute``, or a package registers in the entry point
group ``parivox.systems``, is Python:

- an object with ``embed``, or with ``enrol`` and ``verify``, that follows
  `parivox.embedding.systems`;
- a function of ``(waveform, sample_rate)`` that gives a vector, or with an attribute ``batched =
  True`` a function of ``(waveforms, sample_rate)`` that gives a vector of each;
- a class or function without arguments that gives one of these; or with one argument ``device``,
  which is given ``cpu`` or what the user asks for.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import inspect
import os
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from parivox.embedding.systems import (
    EmbeddingSystem,
    SystemFailed,
    VerifyingSystem,
    check_least_seconds,
    check_rate,
    check_scoring,
)
from parivox.embedding.systems.ge2e import load_ge2e
from parivox.embedding.systems.ge2e_weights import cached_file
from parivox.embedding.systems.onnx import load_onnx
from parivox.embedding.systems.precomputed import SUFFIXES
from parivox.embedding.systems.published import PUBLISHED, load_published
from parivox.errors import ConfigError, ParivoxError, name_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import NDArray

    from parivox.embedding.systems import Waveform

    System = EmbeddingSystem | VerifyingSystem

ENTRY_POINTS = "parivox.systems"
"""The group under which a package registers systems: name = "package.module:attribute"."""
DEVICES = ("cpu", "cuda")
"""Where a system can be asked to run."""

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = (
    "ge2e, model.onnx, NAME:checkpoint with NAME one of "
    f"{', '.join(PUBLISHED)}, package.module:function, or the name of an installed system"
)


@dataclass(frozen=True)
class NameableSystem:
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
    given_options = {"weights": weights, "frontend": frontend, "sample_rate": sample_rate}
    given_options["device"] = None if device == "cpu" else device
    options: dict[str, Any] = {
        name: option_value
        for name, option_value in given_options.items()
        if option_value is not None
    }
    # Bundled and published names go before files and modules of the same name.
    name, colon, file = text.partition(":")
    if name == "ge2e" or name in PUBLISHED:
        if colon and "weights" in options:
            msg = f"--system {text} names a file, and --weights another"
            hint = "give one of them"
            raise ConfigError(msg, hint)
        checkpoint = file or options.pop("weights", None)
        if name == "ge2e":
            _check_options(text, options, ())
            return load_ge2e(checkpoint)
        _check_options(text, options, ("frontend", "device"))
        if not checkpoint:
            msg = (
                f"--system {name} needs the checkpoint that its authors published, which is not "
                "part of Parivox"
            )
            hint = f"give --system {name}:FILE"
            raise ConfigError(msg, hint)
        return load_published(name, checkpoint, **options)
    path = Path(text)
    if path.suffix.lower() == ".onnx":
        _check_options(text, options, ("frontend", "sample_rate", "device"))
        if not path.is_file():
            msg = f"--system {text}: file not found"
            hint = "give the path of the ONNX file"
            raise ConfigError(msg, hint)
        return load_onnx(path, **options)
    registered = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if text in registered or _REFERENCE.fullmatch(text):
        _check_options(text, options, ("sample_rate", "device"))
        try:
            loaded = (
                _load_entry_point(registered[text]) if text in registered else load_object(text)
            )
        except ConfigError as error:
            cause = error.__cause__
            is_missing = isinstance(cause, ModuleNotFoundError) and cause.name == name
            if is_missing and _nearest(name, ("ge2e", *PUBLISHED)):  # meant as a system's name
                raise _unknown(text, path, registered) from None
            raise
        return system_of(loaded, text, sample_rate=sample_rate, device=device)
    raise _unknown(text, path, registered)


def known_systems() -> list[NameableSystem]:
    """Every system that can be named here, those of installed packages included."""
    cached = cached_file().is_file()
    lacks_audio = _lacks("soundfile", "audio")
    note = lacks_audio or ("weights are here" if cached else "weights come through pip once")
    systems = [NameableSystem("ge2e", "GE2E, 2018: weak, old", not lacks_audio, note)]
    lacks_torch = _lacks("torch", "torch")
    for name, entry in PUBLISHED.items():
        note = lacks_torch or f"from {entry.repository}"
        systems.append(NameableSystem(f"{name}:CHECKPOINT", entry.title, not lacks_torch, note))
    lacks_runtime = _lacks("onnxruntime", "onnx")
    note = lacks_runtime or "see --frontend"
    systems.append(NameableSystem("FILE.onnx", "an encoder in ONNX", not lacks_runtime, note))
    note = "of (waveform, sample_rate)"
    systems.append(NameableSystem("PACKAGE.MODULE:NAME", "a Python function", True, note))
    for registered in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        package = registered.dist.name if registered.dist else registered.value
        runs = find_spec(registered.module.partition(".")[0]) is not None
        note = registered.value if runs else f"{registered.module} is not there: install it again"
        systems.append(NameableSystem(registered.name, f"registered by {package}", runs, note))
    return systems


def _check_options(text: str, options: dict[str, Any], supported_options: tuple[str, ...]) -> None:
    device = options.get("device", "cpu")
    if device not in DEVICES:
        msg = f"--device {device!r} is not known"
        hint = f"give {' or '.join(DEVICES)}"
        raise ConfigError(msg, hint)
    for name, value in options.items():
        if name not in supported_options:
            option = f"--{name.replace('_', '-')}"
            msg = f"--system {text} does not accept {option} ({value})"
            hint = "leave it out"
            raise ConfigError(msg, hint)


def _load_entry_point(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        msg = f"system {entry.name} of {entry.value} cannot be loaded ({reason})"
        hint = "install the system again"
        raise ConfigError(msg, hint) from error


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    return get_close_matches(name.lower(), list(names), n=3, cutoff=0.5)


def _lacks(module: str, extra: str) -> str:
    """What to install, if anything."""
    if find_spec(module) is not None:
        return ""
    return f"needs {module}: pip install 'parivox[{extra}]'"


def _unknown(text: str, path: Path, registered: dict[str, EntryPoint]) -> ConfigError:
    """Why a text names nothing, and what is nearest."""
    if text and (path.is_dir() or (path.is_file() and path.suffix.lower() in SUFFIXES)):
        msg = f"--system {text}: contains embeddings, not a system"
        hint = f"score them with parivox score TRIALS --embeddings {text}"
        return ConfigError(msg, hint)
    if path.is_file():
        msg = f"--system {text}: is a file whose name does not show its system"
        hint = (
            f"name the system, for example {next(iter(PUBLISHED))}:{text}, or export the file as "
            ".onnx"
        )
        return ConfigError(msg, hint)
    near = _nearest(text.partition(":")[0], ("ge2e", *PUBLISHED, *registered))
    if not near:
        msg = f"--system {text!r} is not known"
        hint = f"give {_FORMS}"
        return ConfigError(msg, hint)
    lacking = _lacks("torch", "torch") if near[0] in PUBLISHED else ""
    mend = f" ({near[0]} {lacking})" if lacking else ""
    form = ":CHECKPOINT" if near[0] in PUBLISHED else ""
    msg = f"--system {text!r} is not known; nearest: {', '.join(near)}{mend}"
    hint = f"give it as --system {near[0]}{form}"
    return ConfigError(msg, hint)


SAMPLE_RATE = 16_000
"""In Hz, of functions that do not tell theirs."""
LEAST_SECONDS = 0.2
"""Of functions that do not tell theirs."""


class CallableSystem:
    """A function as an embedding system.

    Its attributes `sample_rate` (in the place of which another may be given), `scoring`,
    `least_seconds`, ``batched`` and `provenance` are read where it has them. `device` is what it
    was made with, to be recorded.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        sample_rate: int | None = None,
        device: str | None = None,
    ) -> None:
        self.function, self.name = function, name
        own_rate = getattr(function, "sample_rate", SAMPLE_RATE)
        subject = f"system {name}"
        self.sample_rate = check_rate(own_rate if sample_rate is None else sample_rate, subject)
        self.scoring = check_scoring(getattr(function, "scoring", "cosine"), subject)
        least = getattr(function, "least_seconds", LEAST_SECONDS)
        self.least_seconds = check_least_seconds(least, subject)
        self.is_batched = bool(getattr(function, "batched", False))
        self.provenance: Mapping[str, Any] = {
            "system": name,
            "sample_rate": self.sample_rate,
            "batched": self.is_batched,
            **_source_record(function),
            **getattr(function, "provenance", {}),
            **({} if device is None else {"device": device}),
        }
        self.shape: tuple[int, ...] | None = None

    def embed(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Vectors of shape (recording, crop, dimension), checked for shape and type.

        It is an error if the function raises one, or gives anything but a vector for each
        recording, all of one size.
        """
        if self.is_batched:
            vectors_of_batch = self._vectors(list(waveforms), (len(waveforms),))
        else:
            vectors_by_waveform = [self._vectors(waveform, ()) for waveform in waveforms]
            self._check_alike({vectors.shape for vectors in vectors_by_waveform})
            vectors_of_batch = (
                np.stack(vectors_by_waveform)
                if vectors_by_waveform
                else np.empty((0, 1, 1), np.float32)
            )
        if len(vectors_of_batch):
            shape = vectors_of_batch.shape[1:]
            self._check_alike({self.shape or shape, shape})
            self.shape = shape
        return vectors_of_batch

    def _check_alike(self, shapes: set[tuple[int, ...]]) -> None:
        if len(shapes) > 1:
            listed = " and ".join(map(str, sorted(shapes)[:2]))
            self._refuse(f"vectors of different shapes, {listed}")

    def _vectors(self, audio: Any, leading: tuple[int, ...]) -> NDArray[np.float32]:
        """What the function gives of a waveform, or of several: (*leading, crop, dimension)."""
        try:
            answer = self.function(audio, self.sample_rate)
        except ParivoxError:
            raise
        except Exception as error:
            amount = f"{len(audio)} recordings" if self.is_batched else f"{len(audio):,} samples"
            msg = (
                f"system {self.name} failed on {amount} at {self.sample_rate:,} Hz: "
                f"{type(error).__name__}: {error}"
            )
            hint = "correct the function, which receives 1-D float32 arrays and the sample rate"
            raise SystemFailed(msg, hint) from error
        try:
            answer_array = np.asarray(
                answer.detach().cpu() if hasattr(answer, "detach") else answer
            )
        except (TypeError, ValueError):
            self._refuse(f"a {type(answer).__name__} that is not an array")
        if answer_array.dtype.kind not in "fiu":
            self._refuse(f"an array of {answer_array.dtype}, not of real numbers")
        shape = answer_array.shape
        n_leading = len(leading)
        while len(shape) > n_leading + 2 and shape[n_leading] == 1:  # as SpeechBrain leaves it
            shape = (*shape[:n_leading], *shape[n_leading + 1 :])
        if len(shape) == n_leading + 1:
            shape = (*shape[:-1], 1, shape[-1])
        if len(shape) != n_leading + 2 or shape[:n_leading] != leading or not shape[-1]:
            self._refuse(f"an array of shape {answer_array.shape}")
        return np.ascontiguousarray(answer_array.reshape(shape), np.float32)

    def _refuse(self, fault: str) -> NoReturn:
        expectation = (
            "an array (recording, dimension) or (recording, crop, dimension), a row for each "
            "waveform in the list"
            if self.is_batched
            else "a vector (dimension), or one for each crop (crop, dimension), of each waveform"
        )
        msg = f"system {self.name} returned {fault}"
        hint = f"return {expectation}, of the same size for each recording"
        raise ConfigError(msg, hint)


def load_object(text: str) -> Any:
    """What ``package.module:attribute`` names; the working folder is searched too, last of all.

    Were it searched first, a file there such as ``random.py`` would stand for what others import.
    """
    module, _, attribute = text.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path holds texts
        # Last, so that a file here cannot take the place of an installed package.
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        module_object = importlib.import_module(module)
    except Exception as error:
        msg = (
            f"--system {text}: module {module} cannot be imported ({type(error).__name__}: {error})"
        )
        hint = "install the package in this environment, or run from the folder that contains it"
        raise ConfigError(msg, hint) from error
    try:
        return functools.reduce(getattr, attribute.split("."), module_object)
    except AttributeError as error:
        names = [name for name in vars(module_object) if not name.startswith("_")]
        location = (
            f" ({module_object.__file__})" if getattr(module_object, "__file__", None) else ""
        )
        msg = f"--system {text}: {module}{location} has no {attribute!r}"
        hint = name_hint(attribute, names)
        raise ConfigError(msg, hint) from error


def system_of(
    candidate: Any, name: str, *, sample_rate: int | None = None, device: str = "cpu"
) -> EmbeddingSystem | VerifyingSystem:
    """The system that an object is or makes, as the head of this module tells.

    `sample_rate` (in Hz) is of functions that do not tell theirs, `device` for what makes a system.
    An object that is none, lacks something that the protocol asks for, or takes no device is an
    error.
    """
    parameters = _parameters(candidate) if callable(candidate) else None
    takes_device = parameters is not None and [p.name for p in parameters] == ["device"]
    if device != "cpu" and not takes_device:
        msg = f"--system {name} does not accept --device ({device})"
        hint = (
            "leave out --device, or name a class or function that creates the system and has an "
            "argument device"
        )
        raise ConfigError(msg, hint)
    made_with = device if takes_device else None
    if takes_device or (
        callable(candidate) and (isinstance(candidate, type) or not _arguments(candidate))
    ):
        try:
            candidate = candidate(device=device) if takes_device else candidate()
        except Exception as error:
            msg = f"system {name} cannot be created: {type(error).__name__}: {error}"
            raise ConfigError(msg) from error
    system = _checked_protocol_system(candidate, name, sample_rate, made_with)
    if system is not None:
        return system
    if not callable(candidate) or _arguments(candidate) == 1:
        kind = (
            "a function of one argument" if callable(candidate) else f"a {type(candidate).__name__}"
        )
        msg = f"system {name} is {kind}"
        hint = (
            "name a function of (waveform, sample_rate) that returns a vector, or an object with "
            "embed, or with enrol and verify"
        )
        raise ConfigError(msg, hint)
    return CallableSystem(candidate, name, sample_rate=sample_rate, device=made_with)


def _checked_protocol_system(
    candidate: Any, name: str, sample_rate: int | None, made_with: str | None
) -> EmbeddingSystem | VerifyingSystem | None:
    """An object with the methods of a protocol, checked for the rest of it; else None."""
    protocols = {EmbeddingSystem: ("embed",), VerifyingSystem: ("enrol", "verify")}
    for protocol, methods in protocols.items():
        if not all(callable(getattr(candidate, method, None)) for method in methods):
            continue
        missing = [key for key in protocol.__annotations__ if not hasattr(candidate, key)]
        if missing:
            msg = (
                f"system {name} has {' and '.join(methods)}, but lacks {', '.join(missing)}, "
                "which Parivox calls"
            )
            hint = "add the missing methods"
            raise ConfigError(msg, hint)
        if sample_rate not in {None, candidate.sample_rate}:
            msg = f"system {name} needs {candidate.sample_rate:,} Hz"
            hint = f"leave out --sample-rate {sample_rate}: recordings are resampled"
            raise ConfigError(msg, hint)
        check_rate(candidate.sample_rate, f"system {name}")
        check_least_seconds(candidate.least_seconds, f"system {name}")
        if protocol is EmbeddingSystem:
            check_scoring(candidate.scoring, f"system {name}")
        if made_with not in {None, candidate.provenance.get("device")}:
            msg = (
                f"system {name} has an argument device, but its provenance does not name the device"
            )
            hint = (
                f"add 'device': {made_with!r} to the provenance, because embeddings differ "
                "between devices"
            )
            raise ConfigError(msg, hint)
        return candidate  # type: ignore[no-any-return]
    return None


def system_made_by(load: Any) -> EmbeddingSystem | VerifyingSystem:
    """The system that a function of the user's makes or is, checked as one that is named."""
    if not callable(load):
        msg = f"a {type(load).__name__} is not a system"
        hint = (
            "give the name of a system, or a function without arguments that creates the system "
            "in each worker process"
        )
        raise ConfigError(msg, hint)
    # A function with required arguments is the system; one without makes it.
    needs = [p for p in _parameters(load) or () if p.default is p.empty and p.kind in _BY_POSITION]
    candidate = load if needs else load()
    return system_of(candidate, str(getattr(candidate, "name", getattr(load, "__name__", "given"))))


def _parameters(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _arguments(function: Any) -> int:
    """How many arguments a function must or may be given by position; 2 if that is not told."""
    parameters = _parameters(function)
    if parameters is None or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 2
    return sum(p.kind in _BY_POSITION for p in parameters)


def _source_record(function: Any) -> dict[str, Any]:
    """A hash of the file that the function is in, and the version of its package."""
    source_record: dict[str, Any] = {}
    with contextlib.suppress(TypeError, OSError):
        defining_object = function if inspect.isroutine(function) else type(function)
        data = Path(inspect.getfile(defining_object)).read_bytes()
        source_record["source_sha256"] = hashlib.sha256(data).hexdigest()
    package = str(getattr(function, "__module__", "")).partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return source_record | ({"version": str(version)} if version else {})
