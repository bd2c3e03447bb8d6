"""The objects of a PDF in one order: what draws it numbers and writes them as chance has it."""

from __future__ import annotations

import re

__all__ = ["in_order"]

_OBJECT = re.compile(rb"^(\d+) 0 obj\n(.*?)\nendobj\n", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
_STREAM = b"\nstream\n"


def in_order(pdf: bytes) -> bytes:
    """The same document, its objects numbered and written as they are reached from its root.

    Parameters
    ----------
    pdf
        As vl-convert writes it: plain objects, one table of where each is, one trailer.
    """
    parts = {int(found[1]): found[2].partition(_STREAM) for found in _OBJECT.finditer(pdf)}
    told = {number: _ENTRIES.sub(_by_name, part[0]) for number, part in parts.items()}
    trailer = pdf[pdf.rindex(b"trailer") : pdf.rindex(b"startxref")]
    order = _reached(trailer, told)
    new = {number: place for place, number in enumerate(order, 1)}

    def renumbered(text: bytes) -> bytes:
        return _REFERENCE.sub(lambda found: b"%d 0 R" % new[int(found[1])], text)

    made = bytearray(pdf[: next(_OBJECT.finditer(pdf)).start()])
    places = []
    for number in order:
        places.append(len(made))
        rest = b"".join(parts[number][1:])
        made += b"%d 0 obj\n%b%b\nendobj\n\n" % (new[number], renumbered(told[number]), rest)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    return bytes(made) + b"startxref\n%d\n%%%%EOF" % start


def _by_name(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _reached(trailer: bytes, told: dict[int, bytes]) -> list[int]:
    """Objects in the order in which references lead to them."""
    order: dict[int, None] = {}
    ahead = [int(number) for number in _REFERENCE.findall(trailer)]
    while ahead:
        number = ahead.pop(0)
        if number not in order:
            order[number] = None
            ahead += [int(one) for one in _REFERENCE.findall(told[number])]
    return list(order)
