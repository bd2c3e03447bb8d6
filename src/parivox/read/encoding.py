"""The encoding of a text, told by all of its bytes; behind the door everything is UTF-8."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NO_TEXT = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Patterns stay text until they are needed: most files are ASCII.
_HIGH = rb"[\x80-\xff]"
_HIGH_IN_UTF8 = rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_NOT_IN_CP1252 = rb"[\x81\x8d\x8f\x90\x9d]"
_NOT_IN_TEXT = bytes([*range(0x09), *range(0x0E, 0x1A)])


def encoding_of(head: bytes, blocks: Callable[[], Iterable[bytes]], name: str) -> str:
    r"""Name of a file's encoding, as Python knows it, or an empty string if it is no text.

    A text is in UTF-8, in UTF-16 or, as Excel saves it in the West, in cp1252.

    Raises
    ------
    DataError
        If a byte is in neither UTF-8 nor cp1252, or part of the text is in each of them.

    Examples
    --------
    >>> encoding_of(b"id\nJos\xe9\n", lambda: [b"id\nJos\xe9\n"], "s.csv")
    'cp1252'
    >>> encoding_of(b"i\0d\0", list, "s.csv"), encoding_of(b"PAR1", list, "s.csv")
    ('utf-16-le', '')
    """
    if head.startswith(_NO_TEXT):
        return ""
    marked = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), "utf-8")
    if marked.startswith("utf-16"):
        return marked
    if b"\x00" in head:
        return _unmarked(head)
    return marked if _is_utf8(blocks()) else _other(blocks(), name)


def _unmarked(head: bytes) -> str:
    """Western text in UTF-16 without a mark: every other byte is zero."""
    half = len(head) // 2
    zeros = {"utf-16-be": head[::2].count(0), "utf-16-le": head[1::2].count(0)}
    few, many = sorted(zeros, key=lambda order: zeros[order])
    return many if half > 1 and zeros[few] < 0.1 * half and zeros[many] > 0.9 * half else ""


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
    """What a text that is not UTF-8 is in: cp1252, or nothing that is known."""
    row, whole, alone, first = 1, 0, 0, (0, b"")
    for block in blocks:
        if len(block.translate(None, _NOT_IN_TEXT)) < len(block):
            return ""
        lines = block.split(b"\n")
        for at, line in enumerate(lines, row):
            if line.isascii():
                continue
            rest, pairs = re.subn(_HIGH_IN_UTF8, b"", line)
            odd = re.search(_NOT_IN_CP1252, rest)
            if odd:
                problem = f"byte {odd[0][0]:#04x} is neither UTF-8 nor cp1252, as Excel saves text"
                raise _unreadable(name, at, problem)
            stray = re.findall(_HIGH, rest)
            if stray and not alone:
                first = at, stray[0]
            whole += pairs
            alone += len(stray)
        row += len(lines) - 1
    if whole >= alone:
        problem = f"byte 0x{first[1].hex()} is not UTF-8, as other parts are"
        raise _unreadable(name, first[0], problem)
    return "cp1252"


def _unreadable(name: str, row: int, problem: str) -> DataError:
    return DataError(f"{name}: row {row}: {problem}; save the file in the encoding UTF-8")


def transcoded(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    r"""The text in UTF-8, without a byte order mark.

    Raises
    ------
    DataError
        If it is damaged.

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
        msg = (
            f"{name}: row {row}: is no text in {encoding.upper()}, though the file begins as such; "
            "it may be cut off, so copy or save it again"
        )
        raise DataError(msg) from wrong
