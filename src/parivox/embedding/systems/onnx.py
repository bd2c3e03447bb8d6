"""Speaker encoders as ONNX files, in onnxruntime.

What a file takes and gives, as far as it does not say so itself, is declared in its metadata under
``parivox.NAME``, or in a JSON file beside it (``model.onnx.json``) under ``NAME``. The names are
those of `Declared`; ``--frontend`` goes before both.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.formats.format import error_summary
from parivox.embedding.frontends import FRONTENDS, NetworkSystem, Recipe
from parivox.embedding.systems import (
    SystemFailed,
    check_least_seconds,
    check_rate,
    check_scoring,
)
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

WAVEFORM = "waveform"
"""The front end of networks that take samples themselves."""
_PROVIDERS: dict[str, tuple[str, dict[str, str]]] = {
    "cpu": ("CPUExecutionProvider", {}),
    "cuda": ("CUDAExecutionProvider", {"use_tf32": "0", "cudnn_conv_algo_search": "DEFAULT"}),
}
"""Of each device, onnxruntime's name, and what keeps it to float32 and to one algorithm."""
_UNREADABLE = (OSError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
_VALUES = 1 << 20  # numbers in a batch: 80 s of waveforms, or two minutes of 80 bins


@dataclass(frozen=True)
class Declared:
    """What an ONNX file takes and gives."""

    frontend: str = ""  # what its frames are: a front end, or ``waveform``
    sample_rate: int = 0  # in Hz; that of the front end, and 16,000 of waveforms, unless declared
    input: str = ""  # the input that takes frames or samples; the first, unless declared
    lengths: str = ""
    """An input that takes the length of each recording, if it has one: whole numbers as frames or
    samples, others as a share of the longest, which is always 1."""
    output: str = ""  # the output with the vectors; the only one, unless declared
    scoring: str = ""  # how vectors are compared: as the recipe says, unless declared
    recipe: Recipe = field(default_factory=lambda: Recipe("cosine"))
    """Which parts of a recording are embedded: the whole, unless declared as a JSON object."""
    least_seconds: float = 0.25  # shorter recordings are ``too_short``


def load_onnx(
    path: Path, *, frontend: str | None = None, sample_rate: int | None = None, device: str = "cpu"
) -> OnnxSystem:
    """Open a file, and check that what it takes is declared.

    `frontend` is in the place of a declared one, `sample_rate` (in Hz) of networks that take
    waveforms, `device` is ``cpu`` or ``cuda``. It is an error if onnxruntime or the device is not
    there, the file cannot be run, or its inputs are not declared, or otherwise than they are.
    """
    session = _session(path, device)
    declared = _read_declaration(path, session)
    if frontend:
        declared = replace(declared, frontend=frontend)
    declared = _complete_declaration(path, session, declared, sample_rate)
    return OnnxSystem(path, session, declared, device=device)


def _session(path: Path, device: str) -> Any:
    try:
        import onnxruntime  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = f"{path}: needs onnxruntime"
        hint = "install it with: pip install 'parivox[onnx]'"
        raise ConfigError(msg, hint) from error
    options = onnxruntime.SessionOptions()
    # Worker processes share the processors; one thread each also keeps sums in one order.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = device != "cpu"
    provider, exact = _PROVIDERS.get(device, (device, {}))
    is_there = provider in onnxruntime.get_available_providers()
    if is_there:
        try:
            # Files outside the model's folder are refused before onnxruntime opens them.
            external_data(path)
            session = onnxruntime.InferenceSession(
                str(path), options, providers=[provider], provider_options=[exact]
            )
        except DataError:
            raise
        except Exception as error:
            msg = (
                f"{path}: is not an ONNX file that onnxruntime {onnxruntime.__version__} can run "
                f"({error_summary(error)})"
            )
            hint = "export it again, or install a newer onnxruntime"
            raise DataError(msg, hint) from error
        is_there = provider in session.get_providers()  # it falls back without a word
    if not is_there:
        msg = f"no {device.upper()} device is available to onnxruntime"
        hint = "leave --device out to run on the CPU, or install onnxruntime-gpu"
        raise ConfigError(msg, hint)
    return session


def _read_declaration(path: Path, session: Any) -> Declared:
    """What the metadata and the JSON file beside it say; the latter goes before."""
    field_names = {declared_field.name for declared_field in fields(Declared)}
    metadata = session.get_modelmeta().custom_metadata_map
    declared_values: dict[str, Any] = {
        name: metadata[f"parivox.{name}"] for name in field_names if f"parivox.{name}" in metadata
    }
    declared_in = path
    try:
        if "recipe" in declared_values:
            declared_values["recipe"] = json.loads(declared_values["recipe"])
        if _declaration_file(path).is_file():
            declared_in = _declaration_file(path)
            declared_values |= {**json.loads(declared_in.read_bytes())}
        types: dict[str, Callable[[Any], Any]] = {
            "sample_rate": int,
            "least_seconds": float,
            "recipe": lambda r: Recipe(**r),
        }
        values = {name: types.get(name, str)(value) for name, value in declared_values.items()}
    except _UNREADABLE as error:
        msg = f"{declared_in}: the declarations cannot be read ({error})"
        hint = 'write a JSON object, for example {"frontend": "kaldi80"}'
        raise DataError(msg, hint) from error
    unknown = [name for name in values if name not in field_names]
    if unknown:
        msg = f"{declared_in}: declares {unknown[0]!r}, which is not known"
        hint = f"choose from {', '.join(sorted(field_names))}"
        raise DataError(msg, hint)
    check_least_seconds(values.get("least_seconds", 0.0), str(declared_in))
    if values.get("sample_rate"):
        check_rate(values["sample_rate"], str(declared_in))
    return Declared(**values)


def _complete_declaration(
    path: Path, session: Any, declared: Declared, sample_rate: int | None
) -> Declared:
    """The same with every name filled in; what must be declared is an error that shows the file."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    declaration = _declaration_file(path)
    if declared.frontend not in {WAVEFORM, *FRONTENDS}:
        unknown = f"front end {declared.frontend!r} is not known"
        fault = unknown if declared.frontend else "its front end is not declared"
        msg = f"{path}: {fault}"
        hint = (
            f"give --frontend with one of {WAVEFORM}, {', '.join(FRONTENDS)} (the file takes "
            f"{_listed(inputs)})"
        )
        raise ConfigError(msg, hint)
    needed = 1 + bool(declared.lengths)
    if len(inputs) != needed:
        example = f'{{"input": "{inputs[0].name}", "lengths": "{inputs[-1].name}"}}'
        msg = f"{path}: takes {_listed(inputs)}, but {needed} of them are expected"
        hint = f"declare the inputs in {declaration}, for example {example}"
        raise ConfigError(msg, hint)
    if len(outputs) > 1 and not declared.output:
        msg = f"{path}: has the outputs {_listed(outputs)}"
        hint = (
            f'declare the output with the vectors in {declaration}, for example {{"output": '
            f'"{outputs[-1].name}"}}'
        )
        raise ConfigError(msg, hint)
    feature_inputs = [value_info for value_info in inputs if value_info.name != declared.lengths]
    complete = replace(
        declared,
        input=declared.input or feature_inputs[0].name,
        output=declared.output or outputs[0].name,
        scoring=check_scoring(declared.scoring or declared.recipe.scoring, str(path)),
    )
    _value_named(inputs, complete.input, path)
    _value_named(outputs, complete.output, path)
    if complete.lengths:
        _value_named(inputs, complete.lengths, path)
    front = FRONTENDS.get(complete.frontend)
    rate = sample_rate or complete.sample_rate or (front.sample_rate if front else 16_000)
    if front is not None and rate != front.sample_rate:
        msg = (
            f"{path}: {rate:,} Hz do not match the front end {front.name}, which needs "
            f"{front.sample_rate:,} Hz"
        )
        hint = "leave out the rate: recordings are resampled"
        raise ConfigError(msg, hint)
    return replace(complete, sample_rate=rate)


def _declaration_file(path: Path) -> Path:
    """Where a file's declaration is, or would be."""
    return path.with_name(f"{path.name}.json")


def _value_named(values: Sequence[Any], name: str, path: Path) -> Any:
    """The input or output of this name; it is an error if there is none."""
    value_info = next((value for value in values if value.name == name), None)
    if value_info is None:
        msg = f"{path}: has no {name!r} (found: {_listed(values)})"
        hint = "declare one of those found"
        raise ConfigError(msg, hint)
    return value_info


def _listed(values: Sequence[Any]) -> str:
    """Inputs or outputs as a sentence shows them: name, shape, type."""
    return ", ".join(f"{value.name!r} {_shape(value.shape)} {value.type}" for value in values)


def _shape(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"


class OnnxSystem(NetworkSystem):
    """An ONNX file, opened as a session, whose inputs and outputs are declared by name."""

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
            length = features.shape[1] if is_whole else 1
            type_ = np.dtype(kind[7:-1] if is_whole else np.float32)
            feed[self.declared.lengths] = np.full(len(features), length, type_)
        declaration = _declaration_file(self.path)
        try:
            output = np.asarray(self.session.run([self.declared.output], feed)[0])
        except Exception as error:
            msg = (
                f"{self.name} failed on {_shape(feed[self.declared.input].shape)} in "
                f"{self.declared.input!r}: {error_summary(error)}"
            )
            hint = (
                f"declare the input in {declaration} (the file takes "
                f"{_listed(self.session.get_inputs())})"
            )
            raise SystemFailed(msg, hint) from error
        if output.ndim == 1 and len(features) == 1:
            output = output[None]
        if output.ndim not in {2, 3} or len(output) != len(features) or output.dtype.kind != "f":
            msg = (
                f"{self.name} returned {_shape(output.shape)} of {output.dtype} in "
                f"{self.declared.output!r} for {len(features)} recordings"
            )
            hint = f"declare an output of shape (recording, dimension) in {declaration}"
            raise ConfigError(msg, hint)
        return output.reshape(len(features), -1, output.shape[-1]).astype(np.float32)


def _layout(path: Path, session: Any, declared: Declared) -> tuple[Callable[[Array], Array], int]:
    """How a batch is laid out, and how many recordings it takes: 0 for any number.

    It comes as (recording, frame, bin) or (recording, sample).
    """
    input_info = _value_named(session.get_inputs(), declared.input, path)
    shape = input_info.shape
    front = FRONTENDS.get(declared.frontend)
    if input_info.type != "tensor(float)":
        msg = (
            f"{path}: its input {input_info.name!r} is a {input_info.type}, expected tensor(float)"
        )
        hint = "export the file in float32"
        raise ConfigError(msg, hint)
    # What stands on each axis: r recordings, 1 nothing, t frames or samples, b bins.
    known_axes = ("rtb", "rbt", "r1tb", "r1bt") if front else ("rt", "r1t", "t")
    bins = front.bins if front else 0
    fits = [axes for axes in known_axes if len(axes) == len(shape) and _fits(axes, shape, bins)]
    if not fits:
        features = f"{bins} bins of {declared.frontend}" if front else "waveforms"
        msg = (
            f"{path}: its input {input_info.name!r} is {_shape(shape)}, which does not take "
            f"{features} of any length"
        )
        hint = "name another --frontend, or export the file with free axes for recordings and time"
        raise ConfigError(msg, hint)
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


# A model is one protobuf message, whose tensors may be kept in files of any name beside it. Only
# what leads to a tensor is read of the message, and nothing needs the package ``onnx``.

_TENSOR, _ENTRY = "TensorProto", "StringStringEntryProto"
_FIELDS: dict[str, dict[int, str]] = {
    "ModelProto": {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"},
    "GraphProto": {1: "NodeProto", 5: _TENSOR, 15: "SparseTensorProto"},
    "TrainingInfoProto": {1: "GraphProto", 2: "GraphProto"},
    "FunctionProto": {7: "NodeProto", 11: "AttributeProto"},
    "NodeProto": {5: "AttributeProto"},
    "AttributeProto": {
        5: _TENSOR,
        6: "GraphProto",
        10: _TENSOR,
        11: "GraphProto",
        22: "SparseTensorProto",
        23: "SparseTensorProto",
    },
    "SparseTensorProto": {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {13: _ENTRY},
}
"""Fields of each message, by number, that hold the messages which lead to a tensor's file."""
_KEY, _VALUE = 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_DEPTH = 100  # as deep as protobuf reads messages in messages


def weights_sha256(path: Path) -> str:
    """Hash of a model and of every file that holds tensors of it."""
    digest = hashlib.sha256()
    for weight_file in (path, *external_data(path)):
        with weight_file.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def external_data(path: Path) -> list[Path]:
    """Files beside a model that hold tensors of it, each once, by their names in it.

    A location outside the model's folder, or that is no file, is a DataError; what is no protobuf
    message of a model is a ValueError.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        locations = sorted(set(_locations(data, 0, len(data), "ModelProto", 0)))
    files = []
    for location in locations:
        paths = PurePosixPath(location), PureWindowsPath(location)
        is_outside = any(
            location_path.anchor or ".." in location_path.parts for location_path in paths
        )
        if is_outside or not (path.parent / location).is_file():
            reason = "outside its folder" if is_outside else "a file that does not exist"
            mend = "export it again, with its weights in the same folder"
            msg = f"{path}: keeps weights in {location!r}, {reason}"
            raise DataError(msg, mend)
        files.append(path.parent / location)
    return files


def _locations(
    data: mmap.mmap, start_byte: int, end: int, message: str, depth: int
) -> Iterator[str]:
    """Every ``location`` among the external data of the tensors in a message."""
    if depth > _MAX_DEPTH:
        msg = "its messages are nested too deep"
        raise ValueError(msg)
    inner = _FIELDS[message]
    for number, field_start, field_end in _fields(data, start_byte, end):
        if inner.get(number) == _ENTRY:
            entry = {
                key: data[start:stop] for key, start, stop in _fields(data, field_start, field_end)
            }
            if entry.get(_KEY) == b"location":
                yield entry.get(_VALUE, b"").decode()
        elif number in inner:
            yield from _locations(data, field_start, field_end, inner[number], depth + 1)


def _fields(data: mmap.mmap, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, beginning and end of the fields of a message that have a length."""
    while position < end:
        tag, position = _varint(data, position, end)
        kind = tag & 7
        if kind == _VARINT:
            _, position = _varint(data, position, end)
            continue
        if kind not in {_FIXED64, _FIXED32, _BYTES}:
            msg = f"at byte {position:,} there is no field of a message"
            raise ValueError(msg)
        length = {_FIXED64: 8, _FIXED32: 4}.get(kind, 0)
        if kind == _BYTES:
            length, position = _varint(data, position, end)
        if length > end - position:
            msg = f"it ends within the field at byte {position:,}"
            raise ValueError(msg)
        if kind == _BYTES:
            yield tag >> 3, position, position + length
        position += length


def _varint(data: mmap.mmap, position: int, end: int) -> tuple[int, int]:
    """A number of at most 64 bits, and where it ends."""
    value = 0
    for byte_index in range(min(10, end - position)):
        byte = data[position + byte_index]
        value |= (byte & 0x7F) << 7 * byte_index
        if byte < 0x80:
            return value, position + byte_index + 1
    msg = f"at byte {position:,} there is no number"
    raise ValueError(msg)
