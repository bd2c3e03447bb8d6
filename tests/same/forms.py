"""The form in which an artefact is compared: what machine and version leave in it taken out.

The same for all: versions of Parivox are replaced, SHA-256 sums in texts (those of the page and of
figures' index hang on the version), and the folder of work. The last digits of floats differ
between processors, and rounding does not remove the difference where a number lies next to a border
of rounding. So the text without its floats is compared exactly, the floats by two weighted sums.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import zipfile

__all__ = ["NORMALISED", "TABLES", "fingerprint", "forms", "has_changed", "sections"]

TOLERANCE = 1e-6
"""Largest change of the weighted sums: a relative change of one number, or noise of many."""
SMALLEST = 1e-8
"""Numbers are compared relatively above it and absolutely below: what is 0 up to noise is 0."""
SHOWN_DIGITS = 9
TABLES = (".csv", ".parquet", ".counts", ".tally")
"""Endings of outputs that are compared as tables, a row in each line."""
NORMALISED = (
    f"Floats are compared to a relative {TOLERANCE:g} (all digits with --exact).",
    "Not compared: versions of Parivox, of the audit's schema and of libraries; SHA-256 sums in",
    "texts and pages, and SHA256SUMS; the day of the run.",
)

_FLOAT = re.compile(r"(?<![\w.])-?(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?![\w.])", re.ASCII)
_STEPS = (math.sqrt(5) / 2, math.sqrt(2))
"""Irrational: their multiples, less whole numbers, are weights that no two floats share."""
_DROPPED = {"versions", "parivox_audit", "today"}
_VERSION = re.compile(r"(?i)\b(parivox(?:_version)?\W{1,4})\d+\.\d+\.\d+[\w.+]*")
_SUM = re.compile(r"\b[0-9a-f]{64}\b|sha256-[A-Za-z0-9+/]{43}=")
_PIECE = re.compile(r"<(section|figure|style|script|footer)\b([^>]*)>")
_NAMED = re.compile(r'\bid="([^"]+)"')


def forms(name: str, content: bytes, *, without_sums: bool = False) -> dict[str, str]:
    """Return the texts to compare by name: one for each member of a spreadsheet, else one.

    `without_sums` takes SHA-256 sums out of JSON, too: those of files that were computed.
    """
    if name.endswith(".xlsx"):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            return {
                f"{name}/{member}": _plain(book.read(member).decode().replace("><", ">\n<"))
                for member in sorted(book.namelist())
            }
    if name.endswith((".parquet", ".counts", ".tally")):
        return {name: _parquet(content)}
    if name.endswith(".json"):
        text = json.dumps(without_dropped(json.loads(content)), indent=1, ensure_ascii=False)
        return {name: _SUM.sub("SHA256", text) if without_sums else text}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {name: f"{len(content)} bytes, {hashlib.sha256(content).hexdigest()}\n"}
    return {name: text if name.endswith(".csv") else _plain(text)}


def rounded(text: str) -> str:
    """Return the text with its floats rounded, to show how it differs from another."""
    return _FLOAT.sub(lambda match: f"{float(match[0]):.{SHOWN_DIGITS}g}", text)


def fingerprint(text: str) -> str:
    """Return a hash of the text without its floats, and two weighted sums of these."""
    numbers = [_on_scale(float(match[0])) for match in _FLOAT.finditer(text)]
    frame = hashlib.sha256(_FLOAT.sub("#", text).encode()).hexdigest()[:12]
    sums = (
        math.fsum(number * (0.5 + i * step % 1) for i, number in enumerate(numbers, 1))
        for step in _STEPS
    )
    return " ".join((frame, *(f"{total:.8f}" for total in sums if numbers)))


def _on_scale(number: float) -> float:
    """Return a number on a scale on which a small difference is a relative one."""
    return math.copysign(math.log1p(abs(number) / SMALLEST), number)


def has_changed(old: str | None, new: str | None) -> bool:
    """Return whether two fingerprints are of texts that differ by more than last digits."""
    if old is None or new is None:
        return old is not new
    (old_frame, *old_sums), (new_frame, *new_sums) = old.split(), new.split()
    return (
        old_frame != new_frame
        or len(old_sums) != len(new_sums)
        or any(
            abs(float(before) - float(after)) > TOLERANCE
            for before, after in zip(old_sums, new_sums, strict=True)
        )
    )


def sections(name: str, text: str) -> dict[str, str]:
    """What a text consists of: columns, keys, sections of a page; nothing for others."""
    if name.endswith(TABLES):
        header, *rows = csv.reader(io.StringIO(text))
        return dict(zip(header, map("\n".join, zip(*rows, strict=True)), strict=False))
    if name.endswith(".json"):
        content = json.loads(text)
        return (
            {key: json.dumps(section) for key, section in content.items()}
            if _is_dict(content)
            else {}
        )
    if name.endswith(".html"):
        return _pieces(text)
    return {}


def _is_dict(content: object) -> bool:
    return isinstance(content, dict)


def _pieces(page: str) -> dict[str, str]:
    pieces: dict[str, str] = {}
    name, start = "head", 0
    for piece in _PIECE.finditer(page):
        pieces[name] = pieces.get(name, "") + page[start : piece.start()]
        named = _NAMED.search(piece[2])
        if named:
            name = named[1]
        elif piece[1] in {"style", "footer"}:
            name = piece[1]
        if piece[1] == "script" and not named and "json" not in piece[2]:
            name = "script"
        start = piece.start()
    pieces[name] = pieces.get(name, "") + page[start:]
    return pieces


def _plain(text: str) -> str:
    return _SUM.sub("SHA256", _VERSION.sub(r"\1VERSION", text))


def _parquet(content: bytes) -> str:
    import polars as pl

    table = pl.read_parquet(io.BytesIO(content))
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([f"{name}: {kind}" for name, kind in table.schema.items()])
    columns = [
        [json.dumps(value, default=list) for value in table[name].to_list()]
        if name in nested
        else table[name].to_list()
        for name in table.columns
    ]
    rows.writerows(zip(*columns, strict=True))
    return out.getvalue()


def without_dropped(node: object) -> object:
    if isinstance(node, dict):
        return {key: without_dropped(child) for key, child in node.items() if key not in _DROPPED}
    if isinstance(node, list):
        return [without_dropped(child) for child in node]
    return node
