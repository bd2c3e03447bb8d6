"""Speaker encoders as ONNX files, in onnxruntime.

What a file takes and gives, as far as it does not say so itself, is declared in its metadata under
``parivox.NAME``, or in a JSON file beside it (``model.onnx.json``) under ``NAME``. The names are
those of :class:`Declared`; ``--frontend`` goes before both.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.onnx_weights import external_data, weights_sha256
from parivox.embedding.systems.protocol import SystemFailed, check_scoring
from parivox.embedding.systems.recipe import NetworkSystem, Recipe
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

WAVEFORM = "waveform"
"""The front end of networks that take samples themselves."""


@dataclass(frozen=True)
class Declared:
    """What an ONNX file takes and gives.

    Attributes
    ----------
    frontend : str
        What its frames are, one of :data:`~parivox.embedding.frontends.FRONTENDS`, or ``waveform``.
    sample_rate : int
        In Hz; that of the front end, and 16,000 of waveforms, unless declared.
    input : str
        The input that takes frames or samples; the first, unless declared.
    lengths : str
        An input that takes the length of each recording, if it has one: whole numbers as frames or
        samples, others as a share of the longest, which is always 1.
    output : str
        The output with the vectors; the only one, unless declared.
    scoring : str
        How vectors are compared: as the recipe says, unless declared.
    recipe : Recipe
        Which parts of a recording are embedded: the whole, unless declared as a JSON object.
    least_seconds : float
        Shorter recordings are ``too_short``.
    """

    frontend: str = ""
    sample_rate: int = 0
    input: str = ""
    lengths: str = ""
    output: str = ""
    scoring: str = ""
    recipe: Recipe = field(default_factory=lambda: Recipe("cosine"))
    least_seconds: float = 0.25


def _declared_by(path: Path, session: Any) -> Declared:
    """What the metadata and the JSON file beside it say; the latter goes before.

    Raises
    ------
    DataError
        If either cannot be read, or declares something that is not known.
    """
    known = {each.name for each in fields(Declared)}
    metadata = session.get_modelmeta().custom_metadata_map
    said: dict[str, Any] = {
        name: metadata[f"parivox.{name}"] for name in known if f"parivox.{name}" in metadata
    }
    where = path
    try:
        if "recipe" in said:
            said["recipe"] = json.loads(said["recipe"])
        if _declaration_file(path).is_file():
            where = _declaration_file(path)
            said |= {**json.loads(where.read_bytes())}
        numbers: dict[str, Callable[[Any], Any]] = {
            "sample_rate": int,
            "least_seconds": float,
            "recipe": lambda r: Recipe(**r),
        }
        values = {name: numbers.get(name, str)(value) for name, value in said.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        msg = (
            f"{where}: what it declares cannot be read ({error}); write a JSON object, as in "
            '{"frontend": "kaldi80"}'
        )
        raise DataError(msg) from error
    unknown = [name for name in values if name not in known]
    if unknown:
        msg = f"{where}: declares {unknown[0]!r}; known are {', '.join(sorted(known))}"
        raise DataError(msg)
    return Declared(**values)


def _completed(path: Path, session: Any, given: Declared, sample_rate: int | None) -> Declared:
    """The same with every name filled in.

    Raises
    ------
    ConfigError
        If something must be declared; it shows what the file has.
    """
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if given.frontend not in {WAVEFORM, *FRONTENDS}:
        unknown = f"front end {given.frontend!r} is not known"
        what = unknown if given.frontend else "its front end is not declared"
        msg = (
            f"{path}: {what}; it takes {_listed(inputs)}: give --frontend with one of {WAVEFORM}, "
            f"{', '.join(FRONTENDS)}"
        )
        raise ConfigError(msg)
    needed = 1 + bool(given.lengths)
    if len(inputs) != needed:
        msg = (
            f"{path}: takes {_listed(inputs)}, expected {needed} of them; declare which is which "
            f'in {_declaration_file(path)}, as in {{"input": "{inputs[0].name}", "lengths": '
            f'"{inputs[-1].name}"}}'
        )
        raise ConfigError(msg)
    if len(outputs) > 1 and not given.output:
        msg = (
            f"{path}: gives {_listed(outputs)}; declare which holds the vectors in "
            f'{_declaration_file(path)}, as in {{"output": "{outputs[-1].name}"}}'
        )
        raise ConfigError(msg)
    others = [one for one in inputs if one.name != given.lengths]
    found = replace(
        given, input=given.input or others[0].name, output=given.output or outputs[0].name
    )
    _value_named(inputs, found.input, path)
    _value_named(outputs, found.output, path)
    if found.lengths:
        _value_named(inputs, found.lengths, path)
    front = FRONTENDS.get(found.frontend)
    rate = sample_rate or found.sample_rate or (front.sample_rate if front else 16_000)
    if front is not None and rate != front.sample_rate:
        msg = (
            f"{path}: {rate:,} Hz do not go with the front end {front.name}, which takes "
            f"{front.sample_rate:,}; leave the rate out, recordings are resampled"
        )
        raise ConfigError(msg)
    scoring = check_scoring(found.scoring or found.recipe.scoring, str(path))
    return replace(found, sample_rate=rate, scoring=scoring)


def _declaration_file(path: Path) -> Path:
    """Where a file's declaration is, or would be."""
    return path.with_name(f"{path.name}.json")


def _value_named(values: Sequence[Any], name: str, path: Path) -> Any:
    """The input or output of this name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    found = next((value for value in values if value.name == name), None)
    if found is None:
        msg = f"{path}: has no {name!r}, it has {_listed(values)}; declare one of them"
        raise ConfigError(msg)
    return found


def _listed(values: Sequence[Any]) -> str:
    """Inputs or outputs as a sentence shows them: name, shape, type."""
    return ", ".join(f"{value.name!r} {_shape(value.shape)} {value.type}" for value in values)


def _shape(shape: Sequence[Any]) -> str:
    """A shape as it is written."""
    return f"({', '.join(map(str, shape))})"


_PROVIDERS: dict[str, tuple[str, dict[str, str]]] = {
    "cpu": ("CPUExecutionProvider", {}),
    "cuda": ("CUDAExecutionProvider", {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}),
}
"""Of each device, onnxruntime's name, and what keeps it to float32 and to one algorithm."""
_VALUES = 1 << 20
"""Numbers in a batch: 80 s of waveforms, or two minutes of 80 bins."""


def load_onnx(
    path: Path, *, frontend: str | None = None, sample_rate: int | None = None, device: str = "cpu"
) -> OnnxSystem:
    """Open a file, and check that what it takes is declared.

    Parameters
    ----------
    path
        The ONNX file.
    frontend
        In the place of a declared one.
    sample_rate
        In Hz, of networks that take waveforms.
    device
        ``cpu`` or ``cuda``.

    Raises
    ------
    ConfigError
        If onnxruntime or the device is not there, or the inputs are not declared, or otherwise
        than they are.
    DataError
        If the file is no ONNX that can be run.
    """
    session = _session(path, device)
    declared = _declared_by(path, session)
    if frontend:
        declared = replace(declared, frontend=frontend)
    declared = _completed(path, session, declared, sample_rate)
    return OnnxSystem(path, session, declared, device=device)


class OnnxSystem(NetworkSystem):
    """An ONNX file as an embedding system.

    Parameters
    ----------
    path
        The file, of which, with the files of its weights, the hash is recorded.
    session
        It, opened.
    declared
        Complete: every input and output is named.
    device
        On which the session runs.
    """

    def __init__(
        self, path: Path, session: Any, declared: Declared, *, device: str = "cpu"
    ) -> None:
        import onnxruntime  # noqa: PLC0415 - an extra

        self.path, self.session, self.declared = path, session, declared
        self.name = path.name
        self.sample_rate = declared.sample_rate
        self.scoring, self.least_seconds = declared.scoring, declared.least_seconds
        self.recipe = declared.recipe
        self.frontend = FRONTENDS.get(declared.frontend, lambda waveform: waveform)
        self.lay_out, self.fixed_batch = _layout(path, session, declared)
        self.provenance: Mapping[str, Any] = {
            "system": "an ONNX file",
            "weights_sha256": weights_sha256(path),
            **asdict(declared),
            "runtime": f"onnxruntime {onnxruntime.__version__}",
            "providers": session.get_providers(),
            "device": device,
        }

    def _at_once(self) -> int:
        return 0 if self.fixed_batch else _VALUES

    def _vectors(self, features: Array) -> Array:
        feed: dict[str, Any] = {self.declared.input: self.lay_out(features)}
        if self.declared.lengths:
            kind = _value_named(self.session.get_inputs(), self.declared.lengths, self.path).type
            is_whole = "int" in kind
            feed[self.declared.lengths] = np.full(
                len(features),
                features.shape[1] if is_whole else 1,
                np.dtype(kind[7:-1] if is_whole else np.float32),
            )
        try:
            found = np.asarray(self.session.run([self.declared.output], feed)[0])
        except Exception as error:
            msg = (
                f"{self.name} failed on {_shape(feed[self.declared.input].shape)} in "
                f"{self.declared.input!r}: {_brief(error)}; it takes "
                f"{_listed(self.session.get_inputs())}: declare it in "
                f"{_declaration_file(self.path)}"
            )
            raise SystemFailed(msg) from error
        if found.ndim == 1 and len(features) == 1:
            found = found[None]
        if found.ndim not in {2, 3} or len(found) != len(features) or found.dtype.kind != "f":
            msg = (
                f"{self.name} gave {_shape(found.shape)} of {found.dtype} in "
                f"{self.declared.output!r} for {len(features)} recordings; expected (recording, "
                "dimension): declare another output in "
                f"{_declaration_file(self.path)}"
            )
            raise ConfigError(msg)
        return found.reshape(len(features), -1, found.shape[-1]).astype(np.float32)


def _session(path: Path, device: str) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = f"{path}: needs onnxruntime; install it with: pip install 'parivox[onnx]'"
        raise ConfigError(msg) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = device != "cpu"
    provider, exact = _PROVIDERS.get(device, (device, {}))
    if provider not in onnxruntime.get_available_providers():
        raise _no_device(device)
    try:
        external_data(path)
        session = onnxruntime.InferenceSession(
            str(path), options, providers=[provider], provider_options=[exact]
        )
    except DataError:
        raise
    except Exception as error:
        msg = (
            f"{path}: is no ONNX file that onnxruntime {onnxruntime.__version__} can run "
            f"({_brief(error)}); export it again, or install a newer onnxruntime"
        )
        raise DataError(msg) from error
    if provider not in session.get_providers():  # it falls back without a word
        raise _no_device(device)
    return session


def _no_device(device: str) -> ConfigError:
    return ConfigError(
        f"no {device.upper()} device is there for onnxruntime; leave --device out to run on the "
        "CPU, or install onnxruntime-gpu"
    )


def _layout(path: Path, session: Any, declared: Declared) -> tuple[Callable[[Array], Array], int]:
    """How a batch is laid out, and how many recordings it takes: 0 for any number.

    It comes as (recording, frame, bin) or (recording, sample).
    """
    taken = _value_named(session.get_inputs(), declared.input, path)
    shape = taken.shape
    front = FRONTENDS.get(declared.frontend)
    if taken.type != "tensor(float)":
        msg = (
            f"{path}: its input {taken.name!r} is a {taken.type}, expected tensor(float); export "
            "it in float32"
        )
        raise ConfigError(msg)
    # What stands on each axis: r recordings, 1 nothing, t frames or samples, b bins.
    known = ("rtb", "rbt", "r1tb", "r1bt") if front else ("rt", "r1t", "t")
    bins = front.bins if front else 0
    fits = [axes for axes in known if len(axes) == len(shape) and _fits(axes, shape, bins)]
    if not fits:
        wanted = f"{bins} bins of {declared.frontend}" if front else "waveforms"
        msg = (
            f"{path}: its input {taken.name!r} is {_shape(shape)}, which does not take "
            f"{wanted} of any length; name another --frontend, or export the file with axes "
            "for recordings and time that are free"
        )
        raise ConfigError(msg)
    axes = fits[0]
    fixed = shape[axes.index("r")] if "r" in axes else 1

    def lay_out(batch: Array) -> Array:
        if "b" in axes and axes.index("b") < axes.index("t"):
            batch = batch.transpose(0, 2, 1)
        batch = batch[:, None] if "1" in axes else batch
        return np.ascontiguousarray(batch if "r" in axes else batch[0])

    return lay_out, int(fixed == 1)


def _fits(axes: str, shape: Sequence[Any], bins: int) -> bool:
    """Whether free axes, and those of a known size, are where they must be."""
    sizes = {"r": 1, "1": 1, "b": bins}
    return all(
        not isinstance(size, int) or size < 1 or size == sizes.get(axis)
        for axis, size in zip(axes, shape, strict=True)
    )


def _brief(error: Exception) -> str:
    """The first line of what onnxruntime says."""
    return str(error).strip().partition("\n")[0][-300:]
