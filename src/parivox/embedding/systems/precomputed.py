"""Embeddings that exist already, in the layouts that other tools leave them in.

=====================  ===========================================================================
what                   how ids and vectors stand in it
=====================  ===========================================================================
``NAME.npy``           vectors, a row each; ids in ``NAME.txt``, ``NAME.ids``, ``ids.txt`` (a line
                       each), ``NAME.ids.npy`` or ``ids.npy``, beside it
``NAME.npz``           two arrays, of ids and vectors (SpeechBrain's ``segset`` and ``stat1`` among
                       others), or an array for each id
``NAME.parquet``       a column of ids and one of lists, or a column for each dimension
``NAME.ark``           Kaldi's float or double vectors, binary or text
``NAME.scp``           Kaldi's and wespeaker's list of where in which ``.ark`` each vector is
a folder               ``xvector.scp`` or another single ``.scp``, or several as wespeaker's jobs
                       leave them, or an ``.npy`` for each recording, its id the path in the folder
=====================  ===========================================================================

Nothing is unpickled. Axes of size one, which SpeechBrain and others leave, are taken away.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.formats.dataframes import UndecodedTable, check_decodes, silence_engine
from parivox.data.formats.delimited import PICKLE_ADVICE
from parivox.data.formats.format import ENGINE_ERRORS, error_summary
from parivox.data.source_bytes import check_unpacked
from parivox.errors import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    IdsAndVectors = tuple[list[str], list[NDArray[np.float32]]]

SUFFIXES = (".npy", ".npz", ".parquet", ".ark", ".scp")
_IDS = ("utterance", "utterances", "id", "ids", "utt", "utts", "utt_id", "key", "keys", "names",
        "segset", "segment", "recording", "file", "path")  # fmt: skip
_VECTORS = ("embedding", "embeddings", "vector", "vectors", "xvector", "xvectors", "emb", "embs",
            "stat1", "x")  # fmt: skip
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".h5")


def read(path: str | os.PathLike[str]) -> tuple[pl.Series, Vectors]:
    """Ids, and vectors of shape (id, 1, dimension), in the order they are in.

    It is an error if they cannot be read, an id is there twice, or vectors are of different sizes.
    """
    path = Path(path)
    try:
        ids, vectors = _read_any(path)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        hint = "give a file of embeddings"
        raise DataError(msg, hint) from error
    rows = _rows(ids, vectors, path)
    utterances = pl.Series("utterance", _texts(ids, path), pl.String)
    if not len(utterances):
        msg = f"{path}: contains no embeddings"
        hint = "give a file or folder with embeddings"
        raise DataError(msg, hint)
    twice = utterances.filter(utterances.is_duplicated())
    if len(twice):
        msg = f"{path}: contains {twice.n_unique():,} ids more than once, for example {twice[0]!r}"
        hint = "keep one vector of each"
        raise DataError(msg, hint)
    return utterances, rows[:, None]


def _texts(ids: Iterable[Any], path: Path) -> list[str]:
    """Ids as text, which UTF-8 must be able to write."""
    try:
        texts = [str(utterance_id) for utterance_id in ids]
        "".join(texts).encode()
    except (ValueError, SystemError) as error:  # surrogates, and numbers that are no character
        msg = f"{path}: has an id that is not text ({error_summary(error)})"
        hint = "save the ids as Unicode text"
        raise DataError(msg, hint) from error
    return texts


def _read_any(path: Path) -> tuple[Sequence[Any], Any]:
    # Formats are told by their suffix: the content of an .ark has no mark at its beginning.
    readers = {
        ".npy": _read_npy,
        ".npz": _read_npz,
        ".parquet": _read_parquet,
        ".ark": read_ark,
        ".scp": read_scp,
    }
    suffix = path.suffix.lower()
    if path.is_dir():
        return _read_folder(path)
    if suffix in readers and path.is_file():
        return readers[suffix](path)
    if not path.exists():
        msg = f"{path}: does not exist"
        hint = "give a file or folder of embeddings"
        raise DataError(msg, hint)
    if suffix in _PICKLES:
        msg = f"{path}: {PICKLE_ADVICE}, or as Kaldi's ark"
        raise DataError(msg)
    msg = f"{path}: is not of a known kind"
    hint = f"give {', '.join(SUFFIXES)} or a folder"
    raise DataError(msg, hint)


def _rows(ids: Sequence[Any], vectors: Any, path: Path) -> Vectors:
    """Vectors as rows, checked against the ids and each other."""
    if isinstance(vectors, np.ndarray) and not vectors.ndim:
        msg = f"{path}: contains one number, expected vectors of shape (recordings, dimension)"
        raise DataError(msg)
    if not isinstance(vectors, np.ndarray):
        sizes: dict[int, Any] = {}
        for utterance_id, vector in zip(ids, vectors, strict=True):
            sizes.setdefault(np.size(vector), utterance_id)
        if len(sizes) > 1:
            (first_size, first_id), (second_size, second_id) = list(sizes.items())[:2]
            msg = (
                f"{path}: the vector of {first_id!r} has {first_size:,} numbers and that of "
                f"{second_id!r} has {second_size:,}"
            )
            hint = "keep the vectors of one system"
            raise DataError(msg, hint)
        vectors = np.array([np.ravel(vector) for vector in vectors])
    if vectors.ndim > 2 and len(vectors) and vectors.size == len(vectors) * vectors.shape[-1]:
        vectors = vectors.reshape(len(vectors), -1)
    if not len(vectors) and not len(ids):
        return np.empty((0, 1), np.float32)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
        msg = (
            f"{path}: its vectors are an array of {vectors.dtype} of shape {vectors.shape}, "
            "expected numbers of shape (recordings, dimension)"
        )
        hint = "save them in this shape"
        raise DataError(msg, hint)
    if len(ids) != len(vectors):
        msg = f"{path}: has {len(vectors):,} vectors and {len(ids):,} ids"
        hint = "give one id for each vector, in the same order"
        raise DataError(msg, hint)
    return np.ascontiguousarray(vectors, np.float32)


def _read_array(path: Path) -> NDArray[Any]:
    try:  # mapped, so that a header that tells of more than the file holds is found out
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError:
        raise
    except Exception as error:  # whatever a damaged header ends in
        raise _numpy_error(path, "array", "save", error) from error


def _numpy_error(path: Path, kind: str, save: str, error: Exception) -> DataError:
    """What is said of a file that NumPy does not read as it is, or not without unpickling."""
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return DataError(f"{path}: contains pickled objects: it {PICKLE_ADVICE}")
    msg = f"{path}: is not an {kind} of numbers and text ({error_summary(error)})"
    hint = f"save it with numpy.{save}"
    return DataError(msg, hint)


def _read_npy(path: Path) -> tuple[Sequence[Any], Any]:
    vectors = _read_array(path)
    stem = path.with_suffix("")
    candidates = [stem.with_name(f"{stem.name}{end}") for end in (".txt", ".ids", ".ids.npy")]
    candidates += [path.with_name("ids.txt"), path.with_name("ids.npy")]
    id_file = next((candidate for candidate in candidates if candidate.is_file()), None)
    if id_file is None:
        msg = f"{path}: contains vectors without ids"
        hint = f"write the ids, one line per row, into {stem.name}.txt in the same folder"
        raise DataError(msg, hint)
    if id_file.suffix == ".npy":
        return _texts(_read_array(id_file).ravel(), id_file), vectors
    try:
        lines = id_file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        msg = f"{id_file}: is not UTF-8 text ({error.reason})"
        hint = "save it as UTF-8"
        raise DataError(msg, hint) from error
    return [line.strip() for line in lines if line.strip()], vectors


def _read_npz(path: Path) -> tuple[Sequence[Any], Any]:
    packed = path.read_bytes()
    data = io.BytesIO(packed)
    try:
        with np.load(data, allow_pickle=False) as file:
            # A small archive may unpack to more than fits into memory.
            check_unpacked(
                sum(member.file_size for member in file.zip.infolist()), len(packed), path.name
            )
            arrays = {name: file[name] for name in file.files}
    except DataError:
        raise
    except Exception as error:  # whatever a damaged archive ends in
        raise _numpy_error(path, "archive", "savez", error) from error
    lower = {name.lower(): name for name in arrays}
    vectors = next((lower[name] for name in _VECTORS if name in lower), None)
    if vectors is None:
        return list(arrays), list(arrays.values())
    ids = next((lower[name] for name in _IDS if name in lower), None)
    if ids is None:
        msg = f"{path}: has vectors in {vectors!r}, but no ids among the arrays {', '.join(arrays)}"
        hint = "save the ids as an array 'ids'"
        raise DataError(msg, hint)
    return _texts(np.ravel(arrays[ids]), path), arrays[vectors]


def _read_parquet(path: Path) -> tuple[Sequence[Any], Any]:
    check_decodes(UndecodedTable(str(path), "parquet", path))
    try:
        with silence_engine():
            frame = pl.read_parquet(path)
    except ENGINE_ERRORS as error:
        msg = f"{path}: is not a Parquet file ({error_summary(error)})"
        hint = "write the file again"
        raise DataError(msg, hint) from error
    lower = {name.lower(): name for name in frame.columns}
    texts = [name for name, type_ in frame.schema.items() if type_ == pl.String]
    ids = next((lower[name] for name in _IDS if name in lower), texts[0] if texts else None)
    lists = [n for n, t in frame.schema.items() if isinstance(t, (pl.List, pl.Array))]
    numbers = [n for n, t in frame.schema.items() if t.is_numeric() and n != ids]
    if ids is None or len(lists) > 1 or not (lists or numbers):
        msg = (
            f"{path}: does not have one column of ids and one of vectors "
            f"(found: {', '.join(frame.columns[:8])})"
        )
        hint = (
            "give a column of ids such as 'utterance', and a column of lists such as 'embedding' "
            "or one column per dimension"
        )
        raise DataError(msg, hint)
    if frame[ids].null_count() or any(frame[name].null_count() for name in lists or numbers):
        msg = f"{path}: has rows without an id or without numbers"
        hint = "leave out these rows"
        raise DataError(msg, hint)
    if not lists:
        return frame[ids].to_list(), frame.select(numbers).to_numpy()
    return frame[ids].to_list(), [vector.to_numpy() for vector in frame[lists[0]]]


def _read_folder(path: Path) -> tuple[Sequence[Any], Any]:
    lists = sorted(path.glob("*.scp"))
    preferred = {"xvector.scp", "embedding.scp"}
    chosen_lists = [file for file in lists if file.name in preferred] or lists
    if chosen_lists:
        ids: list[str] = []
        vectors: list[NDArray[np.float32]] = []
        for file in chosen_lists:
            ids_of_list, vectors_of_list = read_scp(file)
            ids += ids_of_list
            vectors += vectors_of_list
        return ids, vectors
    files = sorted(path.rglob("*.npy"))
    if not files or (path / "store.json").is_file():
        fault = "contains no .scp and no .npy" if not files else "was made by parivox embed"
        msg = f"{path}: {fault}"
        hint = "give parivox score a folder made by parivox embed, or files of embeddings"
        raise DataError(msg, hint)
    ids = [file.relative_to(path).with_suffix("").as_posix() for file in files]
    return ids, [_read_array(file) for file in files]


_BINARY = b"\0B"
_KINDS: dict[bytes, np.dtype[np.float32] | np.dtype[np.float64]] = {
    b"FV ": np.dtype("<f4"),
    b"DV ": np.dtype("<f8"),
}
_HEAD = 10  # bytes before the numbers: the mark, the kind, the size of a size, the size


def read_ark(path: Path) -> IdsAndVectors:
    """Every id and vector of an archive."""
    data = path.read_bytes()
    ids: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    position = 0
    while position < len(data):
        while data[position : position + 1].isspace():
            position += 1
        blank = data.find(b" ", position)
        if position == len(data):
            break
        if blank < 0:
            msg = f"{path}: ends after {len(ids):,} vectors, at byte {position:,}"
            hint = "copy the whole file"
            raise DataError(msg, hint)
        ids.append(_text(data[position:blank], path))
        vector, position = _binary_or_text_vector(data, blank + 1, f"{path}: vector of {ids[-1]!r}")
        vectors.append(vector)
    return ids, vectors


def read_scp(path: Path) -> IdsAndVectors:
    """Every id and vector that a list names.

    A file that is not where the list says, seen from the working folder, is looked for from the
    list's folder on, then by its name beside the list. Commands are never run.
    """
    ids: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    files: dict[str, bytes] = {}
    for row, line in enumerate(_text(path.read_bytes(), path).splitlines(), 1):
        if not line.strip():
            continue
        name, _, file_and_offset = line.strip().partition(" ")
        file, _, offset = file_and_offset.strip().rpartition(":")
        location = f"{path}, row {row}"
        if file_and_offset.strip().endswith("|"):
            msg = f"{location}: {name!r} is a command, which is never run"
            hint = "give a file with the output of the command"
            raise DataError(msg, hint)
        if not offset.isdecimal() or not file:
            msg = f"{location}: {line.strip()[:80]!r} is not of the form ID FILE:OFFSET"
            hint = "write the list again"
            raise DataError(msg, hint)
        if file not in files:
            places = [Path(file), path.parent / file, path.parent / Path(file).name]
            place_there = next((candidate for candidate in places if candidate.is_file()), None)
            if place_there is None:
                msg = f"{location}: {file} does not exist"
                hint = (
                    "run from the folder in which the list was written, or copy the file into "
                    f"the folder of {path.name}"
                )
                raise DataError(msg, hint)
            files[file] = place_there.read_bytes()
        ids.append(name)
        vectors.append(
            _binary_or_text_vector(files[file], int(offset), f"{location}: vector of {name!r}")[0]
        )
    return ids, vectors


def _binary_or_text_vector(
    data: bytes, position: int, subject: str
) -> tuple[NDArray[np.float32], int]:
    """The vector at a byte, and the byte after it."""
    if data[position : position + 2] != _BINARY:
        return _text_vector(data, position, subject)
    kind = _KINDS.get(data[position + 2 : position + 5])
    if kind is None or data[position + 5 : position + 6] != b"\4":
        kind_text = data[position + 2 : position + 5].decode("ascii", "replace").strip()
        msg = f"{subject} is a {kind_text!r}, expected a vector of floats (FV or DV)"
        hint = "write vectors to the file"
        raise DataError(msg, hint)
    start = position + _HEAD
    size = int.from_bytes(data[position + 6 : start], "little", signed=True)
    end = start + size * kind.itemsize
    if size < 1 or end > len(data):
        msg = f"{subject} has {size:,} numbers, but the file ends before them"
        hint = "copy the whole file"
        raise DataError(msg, hint)
    return np.frombuffer(data, kind, size, start).astype(np.float32), end


def _text_vector(data: bytes, position: int, subject: str) -> tuple[NDArray[np.float32], int]:
    """A vector as text: numbers between brackets."""
    end = data.find(b"]", position)
    words = data[position:end].split() if end > 0 else []
    is_one = words[:1] == [b"["] and len(words) > 1 and b"\n" not in data[position:end].strip()
    with contextlib.suppress(ValueError):
        if is_one:
            return np.array([float(word) for word in words[1:]], np.float32), end + 1
    msg = f"{subject} is not a vector, in binary or as [ numbers ]"
    hint = "write vectors to the file"
    raise DataError(msg, hint)


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        msg = f"{path}: is not a list or archive of vectors ({error.reason})"
        hint = "give a list or archive in the format of Kaldi"
        raise DataError(msg, hint) from error
