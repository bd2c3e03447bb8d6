"""The bytes of a source: read once, hashed, unpacked, in UTF-8; large ones stay on disk."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from parivox.errors import DataError, EncodingGuessed, message_for_caller, utf8_text
from parivox.frozen import frozen
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextvars import Token

    from parivox.runtime.progress import Stage

_BINARY_STARTS = (
    b"PAR1",
    b"ARROW1",
    b"\xff\xff\xff\xff",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11",
)
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Patterns stay text until they are needed: most files are ASCII.
_NON_ASCII_BYTE = rb"[\x80-\xff]"
_UTF8_CHARACTER = rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_MAX_READINGS_SHOWN = 6
MAX_LINE_BYTES = 1 << 26
_BINARY_CONTROL_BYTES = bytes([*range(0x09), *range(0x0E, 0x1A)])
_ENCODING: ContextVar[str] = ContextVar("encoding of texts that are not Unicode", default="")
_QUOTES: ContextVar[str] = ContextVar("what quotes are in texts", default="")
_NOBODY: ContextVar[tuple[str, ...]] = ContextVar("words that stand for no speaker", default=())
NOBODY_WORDS = "nobody"
"""What `columns` names words by that represent no speaker."""

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def reading_files_as(
    encoding: str | None = None,
    quotes: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Read files meanwhile as the options of the same names say; None leaves what holds.

    Parameters
    ----------
    encoding
        Of texts that are neither UTF-8 nor UTF-16.
    quotes
        ``none`` where quotes in tables of text are signs as others are.
    columns
        Of which ``nobody`` names words that represent no speaker.
    """
    tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
    if encoding is not None:
        from parivox.data.encodings import python_encoding  # noqa: PLC0415 - where it is given

        tokens.append((_ENCODING, _ENCODING.set(python_encoding(encoding))))
    if quotes is not None:
        tokens.append((_QUOTES, _QUOTES.set(quotes)))
    if isinstance(columns, Mapping) and columns.get(NOBODY_WORDS):
        words = tuple(word.strip() for word in str(columns[NOBODY_WORDS]).split("|"))
        tokens.append((_NOBODY, _NOBODY.set(words)))
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)


def nobody_words() -> tuple[str, ...]:
    """Words of the user that represent no speaker."""
    return _NOBODY.get()


def requested_encoding() -> str:
    """The encoding that is given for what is read now, as Python calls it; empty if none is."""
    return _ENCODING.get()


def requested_quotes() -> str:
    """What quotes are in what is read now: ``none`` for signs as others; empty where they quote."""
    return _QUOTES.get()


def with_reading_options(reader: Callable[P, R]) -> Callable[P, R]:
    """Read all files of a function as its arguments `encoding`, `quotes` and `columns` say."""

    @wraps(reader)
    def wrapped(*args: P.args, **keywords: P.kwargs) -> R:
        reading_options = {
            name: cast("Any", keywords.get(name)) for name in ("encoding", "quotes", "columns")
        }
        with reading_files_as(**reading_options):
            return reader(*args, **keywords)

    return wrapped


def encoding_of_text(head: bytes, read_chunks: Callable[[], Iterable[bytes]], name: str) -> str:
    r"""Name of a file's encoding, as Python knows it, or an empty string if it is no text.

    A text is in UTF-8, in UTF-16, in what is given, or in the one encoding in which its words can
    be read, of which a warning tells. One that can be read in several or in none is refused, as is
    one of which parts are in UTF-8.

    Examples
    --------
    >>> encoding_of_text(b"i\0d\0", list, "s.csv"), encoding_of_text(b"PAR1", list, "s.csv")
    ('utf-16-le', '')
    """
    if head.startswith(_BINARY_STARTS):
        return ""
    marked_encoding = next(
        (encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), "utf-8"
    )
    if marked_encoding.startswith("utf-16"):
        return marked_encoding
    if requested_encoding().startswith(("utf-16", "utf-32")):
        return requested_encoding()
    if b"\x00" in head:  # western text in UTF-16 without a mark: every other byte is zero
        half = len(head) // 2
        zeros = {"utf-16-be": head[::2].count(0), "utf-16-le": head[1::2].count(0)}
        rare_order, common_order = sorted(zeros, key=lambda order: zeros[order])
        return (
            common_order
            if half > 1 and zeros[rare_order] < 0.1 * half and zeros[common_order] > 0.9 * half
            else ""
        )
    return marked_encoding if _is_utf8(read_chunks()) else _other_encoding(read_chunks(), name)


def _is_utf8(chunks: Iterable[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in chunks:
            if not chunk.isascii() or decoder.getstate()[0]:  # ASCII is known at once
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _other_encoding(chunks: Iterable[bytes], name: str) -> str:
    """What a text that is not UTF-8 is in."""
    from parivox.data.encodings import NonAsciiWords  # noqa: PLC0415 - most files are UTF-8

    row_number, n_utf8_characters, n_stray_bytes, first_stray = 1, 0, 0, (0, b"")
    words = NonAsciiWords()
    for line in _lines(chunks):
        if not line.isascii():
            if len(line.translate(None, _BINARY_CONTROL_BYTES)) < len(line):
                return ""
            words.add(line)
            without_utf8, n_characters = re.subn(_UTF8_CHARACTER, b"", line)
            stray = re.findall(_NON_ASCII_BYTE, without_utf8)
            if stray and not n_stray_bytes:
                first_stray = row_number, stray[0]
            n_utf8_characters += n_characters
            n_stray_bytes += len(stray)
        row_number += 1
    location = f"{name}, row {first_stray[0]}: byte 0x{first_stray[1].hex()} is not UTF-8"
    if n_utf8_characters >= n_stray_bytes:
        msg = f"{location}, although other parts are"
        hint = "save the file as UTF-8"
        raise DataError(msg, hint)
    requested = requested_encoding()
    if requested.startswith("utf-8"):
        msg = f"{location}, the encoding given with --encoding"
        hint = "name another encoding, or leave out --encoding"
        raise DataError(msg, hint)
    return requested or _guessed_encoding(words.readings(), name, location)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends; one that is longer than a row may be is cut."""
    unfinished = b""
    for chunk in chunks:
        *complete, unfinished = (unfinished + chunk).split(b"\n")
        yield from complete
        if len(unfinished) > MAX_LINE_BYTES:
            yield unfinished
            unfinished = b""
    yield unfinished


def _guessed_encoding(readings: Mapping[str, str], name: str, location: str) -> str:
    """The one encoding in which words make sense; a warning shows one of them."""
    if len(readings) == 1:
        ((encoding, word),) = readings.items()
        msg = (
            f"{name}: is not UTF-8 and is read as {encoding}, a guess by its words such as "
            f"{word!r}; if they are spelt otherwise, give --encoding NAME"
        )
        warnings.warn(message_for_caller(msg), EncodingGuessed, stacklevel=2)
        return encoding
    if not readings:
        msg = f"{location}, and no other encoding that was tried gives readable text"
        hint = (
            "name the encoding with --encoding, for example --encoding cp1252, or save the file "
            "as UTF-8"
        )
        raise DataError(msg, hint)
    *first_words, last_word = (
        f"{word!r} (in {candidate})"
        for candidate, word in list(readings.items())[:_MAX_READINGS_SHOWN]
    )
    shown = f"{', '.join(first_words)} or {last_word}" if first_words else last_word
    msg = f"{location}, and the word may be {shown}"
    hint = (
        "choose one with --encoding, for example "
        f"--encoding {next(iter(readings))}, or save the file as UTF-8"
    )
    raise DataError(msg, hint)


def transcoded(chunks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    r"""The text in UTF-8, without a byte order mark.

    Examples
    --------
    >>> b"".join(transcoded([b"Jos\xe9 \x80"], "cp1252", "s.csv")).decode()
    'José €'
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    row_number = 1
    mark = "\ufeff"
    try:
        for chunk in chunks:
            text = decoder.decode(chunk)
            row_number += text.count("\n")
            yield text.removeprefix(mark).encode()
            mark = "" if text else mark
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        row_number += error.object[: error.start].decode(encoding, errors="replace").count("\n")
        problem = f"{name}, row {row_number}: is not text in {encoding.upper()}"
        if encoding == requested_encoding():
            msg = f"{problem}, the encoding given with --encoding"
            hint = "name another encoding, or save the file as UTF-8"
            raise DataError(msg, hint) from error
        msg = f"{problem}, although the file begins in this encoding"
        hint = "copy or save the file again: it may be truncated"
        raise DataError(msg, hint) from error


IN_MEMORY_BYTES = 256 << 20
"""Unpacked files beyond this many bytes are read in batches from disk."""
HEAD_BYTES = 1 << 16
MAX_HEADER_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 24
_READ_STDIN: list[IO[bytes]] = []  # standard input, once it has been read
_STARTS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zst": b"\x28\xb5\x2f\xfd",
}
_OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_PACKED_CHUNK_BYTES = 1 << 20
FREELY_UNPACKED_BYTES = 128 << 20
"""Bytes to which anything may be unpacked."""
MAX_UNPACKING_RATIO = 200
"""How many times its size a packed file may take beyond that."""
MIN_FREE_DISK_BYTES = 256 << 20
"""Bytes of the disk that unpacked files leave to others."""


@dataclass(frozen=True)
class FileRows:
    """Some rows of a file of trials, which are read alone."""

    path: str
    first: int = 0
    last: int = sys.maxsize  # the row after the last
    called: str = ""  # in messages; by its name if empty
    decoded_sha256: str = ""  # of the file when all its rows were decoded; empty if they never were

    def __fspath__(self) -> str:
        return self.path


def distinct_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """What messages call each of several files: its path where two have one name, else nothing.

    Examples
    --------
    >>> distinct_names(["a/day.csv", "b/day.csv"]), distinct_names(["a/day.csv", "b/night.csv"])
    (['a/day.csv', 'b/day.csv'], ['', ''])
    """
    are_apart = len({Path(path).name for path in paths}) == len(paths)
    return ["" if are_apart else os.fspath(path) for path in paths]


@frozen
class SourceBytes:
    """Unpacked bytes of a file or of standard input; text is in UTF-8."""

    name: str  # as errors call it
    payload: bytes | None  # all of it; None where it is left on disk
    path: Path | None  # where it lies, unpacked; None where it is in memory
    sha256: str  # of the bytes as they were found, packed or not
    compression: str  # gz, bz2, xz, zst or empty
    folder: ScratchFolder | None = field(
        default=None, repr=False
    )  # lives as long as the file is needed
    encoding: str = ""  # that the text was in, as Python names it; empty for what is no text
    # what its reader sees of how it is written: ``separator``, ``decimal`` where that is a comma;
    # of a workbook ``sheet``, ``header_row`` and what is hidden or passed over
    dialect: dict[str, Any] = field(default_factory=dict)
    rows: FileRows | None = None  # those that count; None for all

    def open(self) -> IO[bytes]:
        """The unpacked bytes as a file."""
        if self.payload is not None:
            return io.BytesIO(self.payload)
        assert self.path is not None
        return self.path.open("rb")

    @cached_property
    def head(self) -> bytes:
        """First bytes, as many as it takes to know the format: to the end of a long header."""
        with self.open() as file:
            head = file.read(HEAD_BYTES)
            return (
                head if head.count(b"\n") > 1 else head + file.read(MAX_HEADER_BYTES - HEAD_BYTES)
            )

    @property
    def size(self) -> int:
        """Unpacked bytes."""
        if self.payload is not None:
            return len(self.payload)
        assert self.path is not None
        return self.path.stat().st_size

    @property
    def provenance(self) -> dict[str, Any]:
        """What it took to read it, and the hash of its bytes."""
        record: dict[str, Any] = {"compression": self.compression, "sha256": self.sha256}
        return record | ({"encoding": self.encoding} if self.encoding else {}) | self.dialect

    @property
    def for_polars(self) -> bytes | Path:
        """What the table engine reads."""
        if self.payload is not None:
            return self.payload
        assert self.path is not None
        return self.path


def read_content(source: str | os.PathLike[str]) -> SourceBytes:
    """Read a file, or standard input where the name is ``-``."""
    if os.fspath(source) == "-":
        if sys.stdin.buffer in _READ_STDIN:
            msg = "standard input: can be read once, but '-' is named twice"
            hint = "save the input as a file, and name that file"
            raise DataError(msg, hint)
        _READ_STDIN[:] = [sys.stdin.buffer]
        return _in_utf8(_read_bytes("standard input", sys.stdin.buffer))
    if not os.fspath(source):
        msg = "'': the file name is empty"
        hint = "give the name of a file"
        raise DataError(msg, hint)
    path = Path(source)
    name = path.name or str(path)
    try:
        if path.is_dir():
            msg = f"{source}: is a folder"
            hint = "name a file in this folder"
            raise DataError(msg, hint)
        if path.exists() and not (path.is_file() or path.is_fifo()):
            msg = f"{source}: is a device, which may never end"
            hint = "name a file, or - for a pipe"
            raise DataError(msg, hint)
        with path.open("rb") as file:
            return _in_utf8(_read_bytes(name, file, path))
    except FileNotFoundError as error:
        msg = f"{path}: file not found"
        hint = "check the path"
        raise DataError(msg, hint) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        msg = f"{path}: cannot be read ({reason})"
        hint = "check the path and your permissions"
        raise DataError(msg, hint) from error


class _HashedFile(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes], start: bytes, reading: Stage) -> None:
        self.file, self.start, self.hash = file, start, hashlib.sha256(start)
        self.reading = reading
        self.size = len(start)  # bytes read so far

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk, self.start = self.start[: len(buffer)], self.start[len(buffer) :]
        if not chunk:
            chunk = self.file.read(len(buffer))
            self.hash.update(chunk)
            self.size += len(chunk)
            self.reading.add(len(chunk))
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _read_bytes(name: str, file: IO[bytes], path: Path | None = None) -> SourceBytes:
    start = file.read(16)
    if not start:
        msg = f"{name}: is empty"
        hint = "give a table with one trial, speaker or utterance per row"
        raise DataError(msg, hint)
    compression = compression_of_head(start)
    if not compression and path is not None and path.is_file():
        if path.stat().st_size > IN_MEMORY_BYTES:
            content = SourceBytes(name, None, path, "", "")
            digest = hashlib.sha256()
            for chunk in _byte_chunks(content, f"hashing {name}"):
                digest.update(chunk)
            return replace(content, sha256=digest.hexdigest())
        payload = path.read_bytes()  # which `file` would join with what it holds already, as a copy
        return SourceBytes(name, payload, None, hashlib.sha256(payload).hexdigest(), "")
    n_bytes = path.stat().st_size if path is not None and path.is_file() else None
    with stage(f"unpacking {name}", n_bytes, "bytes") as reading:
        return _read_unpacked(name, _HashedFile(file, start, reading), compression)


def _read_unpacked(name: str, hashed: _HashedFile, compression: str) -> SourceBytes:
    """What is left to be unpacked, or comes through a pipe."""
    chunks = unpacked_chunks(io.BufferedReader(hashed, 1 << 20), compression, name)
    if compression:
        chunks = _limited_chunks(chunks, hashed, name)
    first_chunks: list[bytes] = []
    size = 0
    for chunk in chunks:
        first_chunks.append(chunk)
        size += len(chunk)
        if size > IN_MEMORY_BYTES:
            break
    else:
        if not size:
            msg = f"{name}: is empty once unpacked"
            hint = "give a table with one trial, speaker or utterance per row"
            raise DataError(msg, hint)
        return SourceBytes(name, b"".join(first_chunks), None, hashed.hash.hexdigest(), compression)
    folder, large = _written_to_disk(chain(first_chunks, chunks))
    return SourceBytes(name, None, large, hashed.hash.hexdigest(), compression, folder)


def check_unpacked(unpacked_chunks: int, packed: int, name: str) -> None:
    """Refuse what takes absurdly more room once unpacked: tables and vectors never do."""
    if unpacked_chunks > FREELY_UNPACKED_BYTES and unpacked_chunks > MAX_UNPACKING_RATIO * packed:
        msg = (
            f"{name}: unpacks to {unpacked_chunks >> 20:,} MiB or more, over "
            f"{MAX_UNPACKING_RATIO} times its size, which is implausible for a table"
        )
        hint = "if this is a table, unpack it and give the unpacked file"
        raise DataError(msg, hint)


def _limited_chunks(chunks: Iterable[bytes], packed: _HashedFile, name: str) -> Iterator[bytes]:
    """The blocks, until they take absurdly more room than what they were made of, or than is free.

    Those of a genuine table may take as much of the disk as it has, but for a rest.
    """
    size = 0
    for chunk in chunks:
        size += len(chunk)
        check_unpacked(size, packed.size, name)
        temporary_folder = tempfile.gettempdir()
        if (
            size > IN_MEMORY_BYTES
            and shutil.disk_usage(temporary_folder).free < MIN_FREE_DISK_BYTES
        ):
            msg = (
                f"{name}: unpacks to {size >> 20:,} MiB or more, for which {temporary_folder} has "
                "no room"
            )
            hint = (
                "free disk space, or name a folder on another "
                "disk in the environment variable TMPDIR"
            )
            raise DataError(msg, hint)
        yield chunk


def _written_to_disk(chunks: Iterable[bytes]) -> tuple[ScratchFolder, Path]:
    folder = ScratchFolder()
    with folder.file_to_write("content") as path, path.open("wb") as file:
        file.writelines(chunks)
    return folder, path


def _byte_chunks(content: SourceBytes, name: str) -> Iterator[bytes]:
    if content.payload is not None:
        yield content.payload
        return
    with content.open() as file, stage(name, content.size, "bytes") as reading:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
            reading.add(len(chunk))


def _in_utf8(content: SourceBytes) -> SourceBytes:
    """The content, its text in UTF-8."""
    read_chunks = partial(_byte_chunks, content, f"decoding {content.name}")
    encoding = encoding_of_text(content.head, read_chunks, content.name)
    if not encoding or encoding.startswith("utf-8"):
        return replace(content, encoding=encoding)
    chunks = transcoded(read_chunks(), encoding, content.name)
    if content.payload is not None:
        return replace(content, payload=b"".join(chunks), encoding=encoding)
    folder, path = _written_to_disk(chunks)
    return replace(content, path=path, folder=folder, encoding=encoding)


def compression_of_head(head: bytes) -> str:
    """Name of the compression that a file's first bytes tell, or an empty string.

    Examples
    --------
    >>> compression_of_head(b"BZh91AY"), compression_of_head(b"enrol,test")
    ('bz2', '')
    """
    return next((name for name, start in _STARTS.items() if head.startswith(start)), "")


def unpacked_chunks(file: IO[bytes], compression: str, name: str) -> Iterator[bytes]:
    """Blocks of the unpacked file."""
    opened: Any = file
    errors: tuple[type[Exception], ...] = (OSError, lzma.LZMAError, zlib.error, ValueError)
    try:
        if compression == "zst":  # loaded for these files only
            module = _zstd_module_for(name)
            opened, errors = module.open(file), (*errors, module.ZstdError)
        elif compression:
            opened = _OPENERS[compression](file)
        while chunk := opened.read(_PACKED_CHUNK_BYTES):
            yield chunk
    except EOFError as error:
        msg = f"{name}: the {compression} file is truncated"
        hint = "copy or download it again"
        raise DataError(msg, hint) from error
    except errors as error:
        msg = f"{name}: cannot be unpacked as {compression or 'a file'} ({error})"
        hint = "copy or download it again"
        raise DataError(msg, hint) from error


def zstd_module() -> Any:
    """What packs and unpacks zst files, which Python itself has from 3.14 on."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _zstd_module_for(name: str) -> Any:
    """What unpacks the file of this name; an error says what to install where it is missing."""
    try:
        return zstd_module()
    except ImportError as error:
        msg = f"{name}: zst files need the package backports.zstd"
        hint = "install it with: pip install 'parivox[zstd]', or unpack the file"
        raise DataError(msg, hint) from error


ENDINGS = {
    "csv", "tsv", "txt", "scores", "score", "trials", "parquet", "pq", "arrow", "ipc", "feather",
    "jsonl", "counts", "gz", "bz2", "xz", "zst",
}  # fmt: skip


def common_stem(stems: Sequence[str]) -> str:
    """What the names of several files have in common, which may be nothing.

    Examples
    --------
    >>> common_stem(["day-1", "day-2"]), common_stem(["day-1"]), common_stem(["a", "b"])
    ('day', 'day-1', '')
    """
    common = os.path.commonprefix(stems)  # noqa: RUF071 - letters, not folders
    return common if len(set(stems)) == 1 else common.rstrip("0123456789-_. ")


def file_stem(source: object) -> str:
    """Name of a system after its file, or its files, without any of the endings of formats."""
    if isinstance(source, (list, tuple)):
        return common_stem([file_stem(file) for file in source]) or "scores"
    if not isinstance(source, (str, os.PathLike)):
        return "scores"
    name = os.fspath(source)
    if name == "-":
        return "stdin"
    name = os.path.basename(str(name))  # noqa: PTH119 - a name may not be a path at all
    while True:
        head, dot, ending = name.rpartition(".")
        if not head or not dot or ending.lower() not in ENDINGS:
            return utf8_text(name)
        name = head
