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

from parivox.errors import DataError, EncodingGuessed, utf8_text
from parivox.frozen import frozen
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextvars import Token

    from parivox.runtime.progress import Stage

_NO_TEXT = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Patterns stay text until they are needed: most files are ASCII.
_HIGH = rb"[\x80-\xff]"
_HIGH_IN_UTF8 = rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_MOST_SHOWN = 6
LONGEST_LINE = 1 << 26
_NOT_IN_TEXT = bytes([*range(0x09), *range(0x0E, 0x1A)])
_GIVEN: ContextVar[str] = ContextVar("encoding of texts that are not Unicode", default="")
_QUOTES: ContextVar[str] = ContextVar("what quotes are in texts", default="")
_NOBODY: ContextVar[tuple[str, ...]] = ContextVar("words that stand for no speaker", default=())
NOBODY_WORDS = "nobody"
"""What `columns` names words by that stand for no speaker."""

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def read_as(
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
        Of which ``nobody`` names words that stand for no speaker.
    """
    tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
    if encoding is not None:
        from parivox.data.encodings import encoding_named  # noqa: PLC0415 - where it is given

        tokens.append((_GIVEN, _GIVEN.set(encoding_named(encoding))))
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


def nobody_asked() -> tuple[str, ...]:
    """Words of the user that stand for no speaker."""
    return _NOBODY.get()


def encoding_asked() -> str:
    """The encoding that is given for what is read now, as Python calls it; empty if none is."""
    return _GIVEN.get()


def quotes_asked() -> str:
    """What quotes are in what is read now: ``none`` for signs as others; empty where they quote."""
    return _QUOTES.get()


def in_encoding_given(reading: Callable[P, R]) -> Callable[P, R]:
    """Read all files of a function as its arguments `encoding`, `quotes` and `columns` say."""

    @wraps(reading)
    def wrapped(*args: P.args, **given: P.kwargs) -> R:
        asked = {name: cast("Any", given.get(name)) for name in ("encoding", "quotes", "columns")}
        with read_as(**asked):
            return reading(*args, **given)

    return wrapped


def encoding_of(head: bytes, blocks: Callable[[], Iterable[bytes]], name: str) -> str:
    r"""Name of a file's encoding, as Python knows it, or an empty string if it is no text.

    A text is in UTF-8, in UTF-16, in what is given, or in the one encoding in which its words can
    be read, of which a warning tells. One that can be read in several or in none is refused, as is
    one of which parts are in UTF-8.

    Examples
    --------
    >>> encoding_of(b"i\0d\0", list, "s.csv"), encoding_of(b"PAR1", list, "s.csv")
    ('utf-16-le', '')
    """
    if head.startswith(_NO_TEXT):
        return ""
    marked = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), "utf-8")
    if marked.startswith("utf-16"):
        return marked
    if encoding_asked().startswith(("utf-16", "utf-32")):
        return encoding_asked()
    if b"\x00" in head:  # western text in UTF-16 without a mark: every other byte is zero
        half = len(head) // 2
        zeros = {"utf-16-be": head[::2].count(0), "utf-16-le": head[1::2].count(0)}
        few, many = sorted(zeros, key=lambda order: zeros[order])
        return many if half > 1 and zeros[few] < 0.1 * half and zeros[many] > 0.9 * half else ""
    return marked if _is_utf8(blocks()) else _other(blocks(), name)


def _is_utf8(blocks: Iterable[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in blocks:
            if not block.isascii() or decoder.getstate()[0]:  # ASCII is known at once
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _other(blocks: Iterable[bytes], name: str) -> str:
    """What a text that is not UTF-8 is in."""
    from parivox.data.encodings import NonAsciiWords  # noqa: PLC0415 - most files are UTF-8

    row, whole, alone, first = 1, 0, 0, (0, b"")
    words = NonAsciiWords()
    for line in _lines(blocks):
        if not line.isascii():
            if len(line.translate(None, _NOT_IN_TEXT)) < len(line):
                return ""
            words.add(line)
            rest, pairs = re.subn(_HIGH_IN_UTF8, b"", line)
            stray = re.findall(_HIGH, rest)
            if stray and not alone:
                first = row, stray[0]
            whole += pairs
            alone += len(stray)
        row += 1
    where = f"{name}, row {first[0]}: byte 0x{first[1].hex()} is not UTF-8"
    if whole >= alone:
        msg = f"{where}, as other parts are; save the file in the encoding UTF-8"
        raise DataError(msg)
    asked = encoding_asked()
    if asked.startswith("utf-8"):
        msg = f"{where}, which --encoding names; name another, or leave it out"
        raise DataError(msg)
    return asked or _guessed(words.readings(), name, where)


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends; one that is longer than a row may be is cut."""
    left = b""
    for block in blocks:
        *whole, left = (left + block).split(b"\n")
        yield from whole
        if len(left) > LONGEST_LINE:
            yield left
            left = b""
    yield left


def _guessed(readings: Mapping[str, str], name: str, where: str) -> str:
    """The one encoding in which words make sense; a warning shows one of them."""
    if len(readings) == 1:
        ((found, word),) = readings.items()
        warnings.warn(
            f"{name}: is not UTF-8 and is read as {found}, a guess by its words such as {word!r}; "
            "if they are spelt otherwise, name the encoding with --encoding",
            EncodingGuessed,
            stacklevel=2,
        )
        return found
    if not readings:
        msg = (
            f"{where}, and in none of the encodings that are looked for does it make words; name "
            "its encoding with --encoding, as in --encoding cp1252, or save it as UTF-8"
        )
        raise DataError(msg)
    shown = ", ".join(f"{word!r} (in {one})" for one, word in list(readings.items())[:_MOST_SHOWN])
    msg = (
        f"{where}, and what it says may be {shown}; name the right one with --encoding, as in "
        f"--encoding {next(iter(readings))}, or save it as UTF-8"
    )
    raise DataError(msg)


def transcoded(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    r"""The text in UTF-8, without a byte order mark.

    Examples
    --------
    >>> b"".join(transcoded([b"Jos\xe9 \x80"], "cp1252", "s.csv")).decode()
    'José €'
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    row = 1
    mark = "\ufeff"
    try:
        for block in blocks:
            text = decoder.decode(block)
            row += text.count("\n")
            yield text.removeprefix(mark).encode()
            mark = "" if text else mark
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as wrong:
        row += wrong.object[: wrong.start].decode(encoding, errors="replace").count("\n")
        msg = f"{name}, row {row}: is not text in {encoding.upper()}, "
        msg += (
            "which --encoding names; name another, or save it as UTF-8"
            if encoding == encoding_asked()
            else "though the file begins as such; it may be cut off, so copy or save it again"
        )
        raise DataError(msg) from wrong


IN_MEMORY_BYTES = 256 << 20
"""Unpacked files beyond this many bytes are read in batches from disk."""
HEAD = 1 << 16
LONGEST_HEADER = 1 << 20
_BLOCK = 1 << 24
_STDIN: list[IO[bytes]] = []  # standard input, once it has been read
_STARTS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zst": b"\x28\xb5\x2f\xfd",
}
_OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_PACKED_BLOCK = 1 << 20
UNPACKED_FREELY = 128 << 20
"""Bytes to which anything may be unpacked."""
MOST_TIMES = 200
"""How many times its size a packed file may take beyond that."""
KEPT_FREE = 256 << 20
"""Bytes of the disk that unpacked files leave to others."""


@dataclass(frozen=True)
class FileRows:
    """Some rows of a file of trials, which are read alone."""

    path: str
    first: int = 0
    last: int = sys.maxsize  # the row after the last
    called: str = ""  # in messages; by its name if empty

    def __fspath__(self) -> str:
        return self.path


def called_apart(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """What messages call each of several files: its path where two have one name, else nothing.

    Examples
    --------
    >>> called_apart(["a/day.csv", "b/day.csv"]), called_apart(["a/day.csv", "b/night.csv"])
    (['a/day.csv', 'b/day.csv'], ['', ''])
    """
    are_apart = len({Path(one).name for one in paths}) == len(paths)
    return ["" if are_apart else os.fspath(one) for one in paths]


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
            head = file.read(HEAD)
            return head if head.count(b"\n") > 1 else head + file.read(LONGEST_HEADER - HEAD)

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
        found: dict[str, Any] = {"compression": self.compression, "sha256": self.sha256}
        return found | ({"encoding": self.encoding} if self.encoding else {}) | self.dialect

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
        if sys.stdin.buffer in _STDIN:
            msg = (
                "standard input: can be read once, but '-' is named twice; "
                "save it as a file and name that"
            )
            raise DataError(msg)
        _STDIN[:] = [sys.stdin.buffer]
        return _in_utf8(_read_bytes("standard input", sys.stdin.buffer))
    if not os.fspath(source):
        msg = "'': the name of a file is empty; give its name"
        raise DataError(msg)
    path = Path(source)
    name = path.name or str(path)
    try:
        if path.is_dir():
            msg = f"{source}: is a folder; name a file in it"
            raise DataError(msg)
        if path.exists() and not (path.is_file() or path.is_fifo()):
            msg = f"{source}: is a device, which may never end; name a file, or - for a pipe"
            raise DataError(msg)
        with path.open("rb") as file:
            return _in_utf8(_read_bytes(name, file, path))
    except FileNotFoundError as error:
        msg = f"{path}: file not found; check the path"
        raise DataError(msg) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        msg = f"{path}: cannot be read ({reason}); check the name and your rights"
        raise DataError(msg) from error


class _Hashed(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes], start: bytes, reading: Stage) -> None:
        self.file, self.start, self.hash = file, start, hashlib.sha256(start)
        self.reading = reading
        self.size = len(start)  # bytes read so far

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block, self.start = self.start[: len(buffer)], self.start[len(buffer) :]
        if not block:
            block = self.file.read(len(buffer))
            self.hash.update(block)
            self.size += len(block)
            self.reading.add(len(block))
        buffer[: len(block)] = block
        return len(block)


def _read_bytes(name: str, file: IO[bytes], path: Path | None = None) -> SourceBytes:
    start = file.read(16)
    if not start:
        msg = f"{name}: is empty; give one trial, speaker or utterance a row"
        raise DataError(msg)
    compression = compression_of(start)
    if not compression and path is not None and path.is_file():
        if path.stat().st_size > IN_MEMORY_BYTES:
            content = SourceBytes(name, None, path, "", "")
            digest = hashlib.sha256()
            for block in _blocks(content, f"hashing {name}"):
                digest.update(block)
            return replace(content, sha256=digest.hexdigest())
        data = path.read_bytes()  # which `file` would join with what it holds already, as a copy
        return SourceBytes(name, data, None, hashlib.sha256(data).hexdigest(), "")
    n = path.stat().st_size if path is not None and path.is_file() else None
    with stage(f"unpacking {name}", n, "bytes") as reading:
        return _read_unpacked(name, _Hashed(file, start, reading), compression)


def _read_unpacked(name: str, hashed: _Hashed, compression: str) -> SourceBytes:
    """What is left to be unpacked, or comes through a pipe."""
    blocks = unpacked(io.BufferedReader(hashed, 1 << 20), compression, name)
    if compression:
        blocks = _bounded(blocks, hashed, name)
    first_blocks: list[bytes] = []
    size = 0
    for block in blocks:
        first_blocks.append(block)
        size += len(block)
        if size > IN_MEMORY_BYTES:
            break
    else:
        if not size:
            msg = f"{name}: is empty once unpacked; give one trial, speaker or utterance a row"
            raise DataError(msg)
        return SourceBytes(name, b"".join(first_blocks), None, hashed.hash.hexdigest(), compression)
    folder, large = _on_disk(chain(first_blocks, blocks))
    return SourceBytes(name, None, large, hashed.hash.hexdigest(), compression, folder)


def check_unpacked(unpacked: int, packed: int, name: str) -> None:
    """Refuse what takes absurdly more room once unpacked: tables and vectors never do."""
    if unpacked > UNPACKED_FREELY and unpacked > MOST_TIMES * packed:
        msg = (
            f"{name}: takes {unpacked >> 20:,} MiB and more once unpacked, over {MOST_TIMES} times "
            "its size, as no table does; if it is one, unpack it and give that"
        )
        raise DataError(msg)


def _bounded(blocks: Iterable[bytes], packed: _Hashed, name: str) -> Iterator[bytes]:
    """The blocks, until they take absurdly more room than what they were made of, or than is free.

    Those of a genuine table may take as much of the disk as it has, but for a rest.
    """
    size = 0
    for block in blocks:
        size += len(block)
        check_unpacked(size, packed.size, name)
        home = tempfile.gettempdir()
        if size > IN_MEMORY_BYTES and shutil.disk_usage(home).free < KEPT_FREE:
            msg = (
                f"{name}: takes {size >> 20:,} MiB and more once unpacked, for which {home} has no "
                "room; free some of its disk, or name a folder on another in the environment "
                "variable TMPDIR"
            )
            raise DataError(msg)
        yield block


def _on_disk(blocks: Iterable[bytes]) -> tuple[ScratchFolder, Path]:
    folder = ScratchFolder()
    with folder.file_to_write("content") as path, path.open("wb") as out:
        out.writelines(blocks)
    return folder, path


def _blocks(content: SourceBytes, name: str) -> Iterator[bytes]:
    if content.payload is not None:
        yield content.payload
        return
    with content.open() as file, stage(name, content.size, "bytes") as reading:
        while block := file.read(_BLOCK):
            yield block
            reading.add(len(block))


def _in_utf8(content: SourceBytes) -> SourceBytes:
    """The content, its text in UTF-8."""
    blocks_of = partial(_blocks, content, f"decoding {content.name}")
    encoding = encoding_of(content.head, blocks_of, content.name)
    if not encoding or encoding.startswith("utf-8"):
        return replace(content, encoding=encoding)
    blocks = transcoded(blocks_of(), encoding, content.name)
    if content.payload is not None:
        return replace(content, payload=b"".join(blocks), encoding=encoding)
    folder, path = _on_disk(blocks)
    return replace(content, path=path, folder=folder, encoding=encoding)


def compression_of(head: bytes) -> str:
    """Name of the compression that a file's first bytes tell, or an empty string.

    Examples
    --------
    >>> compression_of(b"BZh91AY"), compression_of(b"enrol,test")
    ('bz2', '')
    """
    return next((name for name, start in _STARTS.items() if head.startswith(start)), "")


def unpacked(file: IO[bytes], compression: str, name: str) -> Iterator[bytes]:
    """Blocks of the unpacked file."""
    opened: Any = file
    errors: tuple[type[Exception], ...] = (OSError, lzma.LZMAError, zlib.error, ValueError)
    try:
        if compression == "zst":  # loaded for these files only
            opened, errors = zstd().open(file), (*errors, zstd().ZstdError)
        elif compression:
            opened = _OPENERS[compression](file)
        while block := opened.read(_PACKED_BLOCK):
            yield block
    except EOFError as error:
        msg = (
            f"{name}: the {compression} file ends too early, so it is truncated; "
            "copy or download it again"
        )
        raise DataError(msg) from error
    except errors as error:
        msg = (
            f"{name}: cannot be unpacked as {compression or 'a file'} ({error}); "
            "copy or download it again"
        )
        raise DataError(msg) from error


def zstd() -> Any:
    """What packs and unpacks zst files, which Python itself has from 3.14 on."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


ENDINGS = {
    "csv", "tsv", "txt", "scores", "score", "trials", "parquet", "pq", "arrow", "ipc", "feather",
    "jsonl", "counts", "gz", "bz2", "xz", "zst",
}  # fmt: skip


def stem_of_all(stems: Sequence[str]) -> str:
    """What the names of several files have in common, which may be nothing.

    Examples
    --------
    >>> stem_of_all(["day-1", "day-2"]), stem_of_all(["day-1"]), stem_of_all(["a", "b"])
    ('day', 'day-1', '')
    """
    common = os.path.commonprefix(stems)  # noqa: RUF071 - letters, not folders
    return common if len(set(stems)) == 1 else common.rstrip("0123456789-_. ")


def stem_of(source: object) -> str:
    """Name of a system after its file, or its files, without any of the endings of formats."""
    if isinstance(source, (list, tuple)):
        return stem_of_all([stem_of(one) for one in source]) or "scores"
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
