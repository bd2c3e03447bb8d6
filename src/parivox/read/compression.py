"""Compressed files, known by their first bytes, whatever they are called."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import IO, TYPE_CHECKING, Any

import zstandard

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["compression_of", "unpacked"]

_STARTS = {
    "gz": b"\x1f\x8b",
    "bz2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zst": b"\x28\xb5\x2f\xfd",
}
_OPENERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_BLOCK = 1 << 20


def compression_of(head: bytes) -> str:
    """Name of the compression that a file's first bytes tell, or an empty string.

    Examples
    --------
    >>> compression_of(b"BZh91AY"), compression_of(b"enrol,test")
    ('bz2', '')
    """
    return next((name for name, start in _STARTS.items() if head.startswith(start)), "")


def unpacked(file: IO[bytes], compression: str, name: str) -> Iterator[bytes]:
    """Blocks of the unpacked file.

    Parameters
    ----------
    file
        Stands at its start.
    compression
        gz, bz2, xz, zst, or empty for a file that is not compressed.
    name
        Of the file, for messages.

    Raises
    ------
    DataError
        If the file ends too early or is damaged.
    """
    try:
        if compression == "zst":
            yield from _zst(file)
            return
        opened: Any = file
        if compression:
            opened = _OPENERS[compression](file)
        while block := opened.read(_BLOCK):
            yield block
    except EOFError as error:
        msg = (
            f"{name}: the {compression} file ends too early, so it is truncated; "
            "copy or download it again"
        )
        raise DataError(msg) from error
    except (OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError, ValueError) as error:
        msg = (
            f"{name}: cannot be unpacked as {compression or 'a file'} ({error}); "
            "copy or download it again"
        )
        raise DataError(msg) from error


def _zst(file: IO[bytes]) -> Iterator[bytes]:
    """Blocks of a zst file of any number of frames; the package itself hides a missing end."""
    decoder = zstandard.ZstdDecompressor().decompressobj()
    data = file.read(_BLOCK)
    while data:
        if out := decoder.decompress(data):
            yield out
        if decoder.eof:
            data = decoder.unused_data or file.read(_BLOCK)
            if data:
                decoder = zstandard.ZstdDecompressor().decompressobj()
        else:
            data = file.read(_BLOCK)
    if not decoder.eof:
        raise EOFError
