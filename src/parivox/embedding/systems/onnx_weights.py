"""Which files hold the weights of an ONNX model, and their hash.

A model is one protobuf message, whose tensors may be kept in files of any name beside it. Only
what leads to a tensor is read of the message, and nothing needs the package ``onnx``.
"""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_DEEPEST = 100
"""As deep as protobuf reads messages in messages."""


def weights_sha256(path: Path) -> str:
    """Hash of a model and of every file that holds tensors of it.

    Raises
    ------
    DataError, ValueError
        As of :func:`external_data`.
    """
    found = hashlib.sha256()
    for part in (path, *external_data(path)):
        with part.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def external_data(path: Path) -> list[Path]:
    """Files beside a model that hold tensors of it, each once, by their names in it.

    Raises
    ------
    DataError
        If a location is outside the model's folder, or is no file.
    ValueError
        If the file is no protobuf message of a model.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        locations = sorted(set(_locations(data, 0, len(data), "ModelProto", 0)))
    found = []
    for location in locations:
        parts = PurePosixPath(location), PureWindowsPath(location)
        is_outside = any(part.anchor or ".." in part.parts for part in parts)
        if is_outside or not (path.parent / location).is_file():
            why = "outside its folder" if is_outside else "where there is no such file"
            mend = "export it again, with its weights beside it"
            msg = f"{path}: keeps weights in {location!r}, {why}; {mend}"
            raise DataError(msg)
        found.append(path.parent / location)
    return found


def _locations(data: mmap.mmap, at: int, end: int, message: str, depth: int) -> Iterator[str]:
    """Every ``location`` among the external data of the tensors in a message."""
    if depth > _DEEPEST:
        msg = "its messages are nested too deep"
        raise ValueError(msg)
    inner = _FIELDS[message]
    for number, first, last in _fields(data, at, end):
        if inner.get(number) == _ENTRY:
            entry = {key: data[start:stop] for key, start, stop in _fields(data, first, last)}
            if entry.get(_KEY) == b"location":
                yield entry.get(_VALUE, b"").decode()
        elif number in inner:
            yield from _locations(data, first, last, inner[number], depth + 1)


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, beginning and end of the fields of a message that have a length."""
    while at < end:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(data, at, end)
            continue
        if kind not in {_FIXED64, _FIXED32, _BYTES}:
            msg = f"at byte {at:,} stands no field of a message"
            raise ValueError(msg)
        length = {_FIXED64: 8, _FIXED32: 4}.get(kind, 0)
        if kind == _BYTES:
            length, at = _varint(data, at, end)
        if length > end - at:
            msg = f"it ends within the field at byte {at:,}"
            raise ValueError(msg)
        if kind == _BYTES:
            yield tag >> 3, at, at + length
        at += length


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    """A number of at most 64 bits, and where it ends."""
    value = 0
    for place in range(min(10, end - at)):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    msg = f"at byte {at:,} stands no number"
    raise ValueError(msg)
