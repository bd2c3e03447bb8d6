r"""Kaldi's archives of vectors, as wespeaker and others write them too.

An entry of an ``.ark`` is an id, a blank and a vector: ``\\0B``, ``FV`` or ``DV`` (float32 or
float64) and a blank, the byte 4, an int32 of how many, and the numbers; or, as text, the numbers
between brackets. A line of an ``.scp`` is an id and ``FILE:OFFSET`` of the vector itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Found = tuple[list[str], list[NDArray[np.float32]]]

__all__ = ["read_ark", "read_scp"]

_BINARY = b"\0B"
_KINDS: dict[bytes, np.dtype[np.float32] | np.dtype[np.float64]] = {
    b"FV ": np.dtype("<f4"),
    b"DV ": np.dtype("<f8"),
}
_HEAD = 10
"""Bytes before the numbers: the mark, the kind, the size of a size, the size."""


def read_ark(path: Path) -> Found:
    """Every id and vector of an archive.

    Raises
    ------
    DataError
        If it holds anything else, or ends early.
    """
    data = path.read_bytes()
    ids: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    at = 0
    while at < len(data):
        while data[at : at + 1].isspace():
            at += 1
        blank = data.find(b" ", at)
        if at == len(data):
            break
        if blank < 0:
            msg = f"{path}: ends after {len(ids):,} vectors, at byte {at:,}; copy it whole"
            raise DataError(msg)
        ids.append(_text(data[at:blank], path))
        vector, at = _vector(data, blank + 1, f"{path}: vector of {ids[-1]!r}")
        vectors.append(vector)
    return ids, vectors


def read_scp(path: Path) -> Found:
    """Every id and vector that a list names.

    A file that is not where the list says, seen from the working folder, is looked for from the
    list's folder on, then by its name beside the list. Commands are never run.

    Raises
    ------
    DataError
        If a row is no ``ID FILE:OFFSET``, or a file is not there, or holds something else.
    """
    ids: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    files: dict[str, bytes] = {}
    for row, line in enumerate(_text(path.read_bytes(), path).splitlines(), 1):
        if not line.strip():
            continue
        name, _, place = line.strip().partition(" ")
        file, _, offset = place.strip().rpartition(":")
        where = f"{path}, row {row}"
        if place.strip().endswith("|"):
            msg = f"{where}: {name!r} is a command, which is never run; give a file of its output"
            raise DataError(msg)
        if not offset.isdecimal() or not file:
            msg = f"{where}: {line.strip()[:80]!r} is no ID FILE:OFFSET; write the list again"
            raise DataError(msg)
        if file not in files:
            files[file] = _found(file, path, where).read_bytes()
        ids.append(name)
        vectors.append(_vector(files[file], int(offset), f"{where}: vector of {name!r}")[0])
    return ids, vectors


def _found(file: str, path: Path, where: str) -> Path:
    places = [Path(file), path.parent / file, path.parent / Path(file).name]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        msg = f"{where}: {file} is not there; run from the folder it was written from, or put it "
        raise DataError(msg + f"beside {path.name}")
    return found


def _vector(data: bytes, at: int, what: str) -> tuple[NDArray[np.float32], int]:
    """The vector at a byte, and the byte after it."""
    if data[at : at + 2] != _BINARY:
        return _numbers(data, at, what)
    kind = _KINDS.get(data[at + 2 : at + 5])
    if kind is None or data[at + 5 : at + 6] != b"\4":
        told = data[at + 2 : at + 5].decode("ascii", "replace").strip()
        msg = f"{what} is a {told!r}, expected a vector of floats (FV or DV); write vectors"
        raise DataError(msg)
    start = at + _HEAD
    size = int.from_bytes(data[at + 6 : start], "little", signed=True)
    end = start + size * kind.itemsize
    if size < 1 or end > len(data):
        msg = f"{what} has {size:,} numbers, of which the file does not hold all; copy it whole"
        raise DataError(msg)
    return np.frombuffer(data, kind, size, start).astype(np.float32), end


def _numbers(data: bytes, at: int, what: str) -> tuple[NDArray[np.float32], int]:
    """A vector as text: numbers between brackets."""
    end = data.find(b"]", at)
    words = data[at:end].split() if end > 0 else []
    is_one = words[:1] == [b"["] and len(words) > 1 and b"\n" not in data[at:end].strip()
    with contextlib.suppress(ValueError):
        if is_one:
            return np.array([float(word) for word in words[1:]], np.float32), end + 1
    msg = f"{what} is no vector, in binary or as [ numbers ]; write vectors"
    raise DataError(msg)


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        msg = f"{path}: is no list or archive of vectors ({error.reason}); give one of Kaldi's"
        raise DataError(msg) from error
