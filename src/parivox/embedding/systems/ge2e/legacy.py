"""Torch's file format of before 1.6, read without torch: arrays and plain containers only.

The file is five pickles (a magic number, a version, facts about the machine, the object, the keys
of its storages) and then, of each storage in the order of those keys, how many numbers it holds
as int64 and the numbers themselves as little-endian float32. A pickle can run code, so exactly
three names may stand in these: a dictionary, a storage of floats, and a tensor made of one.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_legacy"]

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_FLOATS = "float32 storage"
_FLOAT = np.dtype("<f4")
_COUNT = np.dtype("<i8")


@dataclass
class _Storage:
    """Numbers that stand behind the pickles, by their key."""

    count: int
    values: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class _Tensor:
    """A tensor as the pickle tells it, before its numbers are read."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Refused(pickle.UnpicklingError):
    """Holds something other than tensors and containers."""


class _Unpickler(pickle._Unpickler):  # noqa: SLF001 - the same under a name of its own
    """Knows three names and no other.

    The one written in Python: that in C sets memory aside for whatever number a damaged file
    gives to one of its parts.
    """

    def __init__(self, file: BinaryIO, storages: dict[str, _Storage]) -> None:
        super().__init__(file)
        self.storages = storages

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch", "FloatStorage"): _FLOATS,
        }
        if (module, name) not in known:
            msg = f"it names {module}.{name}"
            raise _Refused(msg)
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        kind, type_, key, _, count, view = pid
        if (kind, type_, view) != ("storage", _FLOATS, None):
            msg = f"it holds a {kind} of {type_}"
            raise _Refused(msg)
        return self.storages.setdefault(str(key), _Storage(int(count)))


def read_legacy(file: BinaryIO, name: str) -> Any:
    """The object of a file: dictionaries, lists, numbers, texts and float32 arrays.

    Parameters
    ----------
    file
        Open for reading bytes, at its beginning.
    name
        What messages call it.

    Raises
    ------
    DataError
        If the file is of another format, damaged, or names anything that could run.
    """
    try:
        return _read(file)
    except Exception as error:  # whatever a pickle can end in
        told = f": {error}" if isinstance(error, _Refused) else ""
        msg = (
            f"{name}: is not a file of weights in torch's legacy format, or is damaged{told}; give "
            "the file as it was published"
        )
        raise DataError(msg) from error


def _read(file: BinaryIO) -> Any:
    storages: dict[str, _Storage] = {}
    magic, version, machine, whole, keys = (_Unpickler(file, storages).load() for _ in range(5))
    if (magic, version) != (_MAGIC, _VERSION) or not machine["little_endian"]:
        _refuse("its head is another one")
    if sorted(keys) != sorted(storages):
        _refuse("its storages are not those it lists")
    for key in keys:
        storage = storages[key]
        head = file.read(_COUNT.itemsize)
        if int(np.frombuffer(head, _COUNT, 1)[0]) != storage.count:
            _refuse("a storage is of another size than it says")
        raw = file.read(storage.count * _FLOAT.itemsize)
        storage.values = np.frombuffer(raw, _FLOAT, storage.count)
    return _filled(whole)


def _tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> _Tensor:
    return _Tensor(storage, offset, shape, strides)


def _filled(told: Any) -> Any:
    """The same containers with arrays in the place of tensors."""
    if isinstance(told, dict):
        return {key: _filled(value) for key, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [_filled(value) for value in told]
    return _array(told) if isinstance(told, _Tensor) else told


def _array(tensor: _Tensor) -> NDArray[np.float32]:
    size = int(np.prod(tensor.shape, dtype=np.int64))
    steps = np.cumprod((1, *tensor.shape[:0:-1]))[::-1] if tensor.shape else ()
    if tuple(steps) != tuple(tensor.strides):
        _refuse("a tensor is not stored row by row")
    values = tensor.storage.values
    if values is None or not 0 <= tensor.offset <= len(values) - size:
        _refuse("a tensor lies outside its storage")
    return values[tensor.offset : tensor.offset + size].reshape(tensor.shape)


def _refuse(why: str) -> NoReturn:
    raise _Refused(why)
