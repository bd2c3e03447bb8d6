"""The form in which an artefact is compared: what machine and version leave in it taken out.

The same for all: versions of Parivox are replaced, SHA-256 sums in texts (those of the page and of
figures' index hang on the version), and the folder of work. Floats are rounded to so many
significant digits, for the last ones differ between processors.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile

__all__ = ["NORMALISED", "forms", "parts"]

DIGITS = 12
NORMALISED = (
    f"Floats are compared to {DIGITS} significant digits (all with --exact).",
    "Not compared: versions of Parivox, of the audit's schema and of libraries; SHA-256 sums in",
    "texts and pages, and SHA256SUMS.",
)

_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d{9,}(?:[eE][-+]?\d+)?(?![\w.])|-?\d\.\d+[eE][-+]?\d+")
_DROPPED = {"versions", "parivox_audit"}
_VERSION = re.compile(r"(?i)\b(parivox(?:_version)?\W{1,4})\d+\.\d+\.\d+[\w.+]*")
_SUM = re.compile(r"\b[0-9a-f]{64}\b|sha256-[A-Za-z0-9+/]{43}=")
_PIECE = re.compile(r"<(section|figure|style|script|footer)\b([^>]*)>")
_NAMED = re.compile(r'\bid="([^"]+)"')


def forms(name: str, content: bytes) -> dict[str, str]:
    """Texts to compare, by name: of a spreadsheet one for each member, else one."""
    if name.endswith(".xlsx"):
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            return {
                f"{name}/{member}": _plain(book.read(member).decode().replace("><", ">\n<"))
                for member in sorted(book.namelist())
            }
    if name.endswith((".parquet", ".counts")):
        return {name: _parquet(content)}
    if name.endswith(".json"):
        return {name: json.dumps(_kept(json.loads(content)), indent=1, ensure_ascii=False)}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {name: f"{len(content)} bytes, {hashlib.sha256(content).hexdigest()}\n"}
    return {name: text if name.endswith(".csv") else _plain(text)}


def rounded(text: str) -> str:
    """The text with every float of many digits rounded."""
    return _FLOAT.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def parts(name: str, text: str) -> dict[str, str]:
    """What a text consists of: columns, keys, sections of a page; nothing for others."""
    if name.endswith((".csv", ".parquet", ".counts")):
        header, *rows = csv.reader(io.StringIO(text))
        return dict(zip(header, map("\n".join, zip(*rows, strict=True)), strict=False))
    if name.endswith(".json"):
        whole = json.loads(text)
        return {key: json.dumps(part) for key, part in whole.items()} if _is_dict(whole) else {}
    if name.endswith(".html"):
        return _pieces(text)
    return {}


def _is_dict(whole: object) -> bool:
    return isinstance(whole, dict)


def _pieces(page: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name, start = "head", 0
    for piece in _PIECE.finditer(page):
        found[name] = found.get(name, "") + page[start : piece.start()]
        named = _NAMED.search(piece[2])
        name = named[1] if named else piece[1] if piece[1] in {"style", "footer"} else name
        if piece[1] == "script" and not named and "json" not in piece[2]:
            name = "script"
        start = piece.start()
    found[name] = found.get(name, "") + page[start:]
    return found


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


def _kept(value: object) -> object:
    if isinstance(value, dict):
        return {key: _kept(one) for key, one in value.items() if key not in _DROPPED}
    if isinstance(value, list):
        return [_kept(one) for one in value]
    return value
