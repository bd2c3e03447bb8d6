"""What Parivox wrote, or takes elsewhere than in an audit: known by its folder or first words."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

from parivox.data.counts_file import holds_tally
from parivox.data.inspection.findings import FileFindings
from parivox.data.kaldi import without_folder
from parivox.errors import DataError
from parivox.runtime.disk import is_written_by_parivox

_HEAD = 1 << 16
_FOLDERS = {
    "audit.json": ("an audit, as parivox audit writes it", "parivox show {}"),
    "store.json": (
        "embeddings, as parivox embed makes them",
        "parivox score TRIALS --embeddings {} --out scores.parquet",
    ),
    "plan.json": ("an audit in parts, as parivox shards plan makes it", "parivox shards run {}"),
}
"""What a folder is and what is done with it, by a file in it."""
_TEXTS = {
    "parivox-thresholds:": (
        "a rule file, as parivox thresholds writes it",
        "parivox audit SCORES --thresholds {}",
    ),
    "parivox-calibrator:": (
        "a calibrator, as parivox calibrate writes it",
        "parivox calibrate SCORES --apply {} --out llr.csv",
    ),
    "parivox-policy:": ("a policy, as parivox gate takes it", "parivox gate AUDIT --policy {}"),
    "labels:": (
        "a context file, as parivox context prints it",
        "parivox report AUDIT --context {} --out report.html",
    ),
}
"""Likewise of a text, by the beginning of a line."""
_STATE = ("the state of a stream, as parivox monitor keeps it", "parivox monitor --state {}")
_VECTORS = ("arrays of NumPy, as score takes embeddings", _FOLDERS["store.json"][1])
_KEY = (
    "a key, as count and monitor take it; it stays at its site",
    (
        "parivox count SCORES --speakers PEOPLE --by ATTRIBUTE --step 0.01 --blocks 20 --key {} "
        "--out site.counts"
    ),
)
_REPORT = ("a report, as parivox report or gate writes it, to be read", "")
_JSON = re.compile(r'\{\s*"(parivox-\w+)":')
_HEX = re.compile(r"\s*[0-9a-fA-F]{16,64}\s*")
_SUMS = "SHA256SUMS"
_RECORDINGS = "recordings.parquet"
_OF_STORE = {"store.json", _RECORDINGS, "embeddings.npy", "seen.parquet"}


def recognise_parivox_file(source: Any, name: str) -> FileFindings | None:
    """What a file or folder is that is no table to audit, and the command that takes it."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    if holds_tally(source):
        return FileFindings(name, "tally", "parquet")
    path = Path(source)
    try:
        if problem := without_folder(path):
            return FileFindings(name, "unknown", own="a file of Kaldi's", problems=(problem,))
        found = _of_folder(path, name) if path.is_dir() else _of_file(path)
    except (DataError, OSError, ValueError, RuntimeError, zipfile.BadZipFile):
        return None  # that is said by who reads it
    if found is None:
        return None
    words, command, what = found
    kind = "utterances" if path.name == _RECORDINGS else "own"  # which an audit takes, too
    return FileFindings(name, kind, own=words, use=command.format(shlex.quote(what)))


def _of_folder(path: Path, name: str) -> tuple[str, str, str] | None:
    known = next((file for file in _FOLDERS if (path / file).is_file()), None)
    return None if known is None else (*_FOLDERS[known], name)


def _of_file(path: Path) -> tuple[str, str, str] | None:
    if not path.is_file():
        return None
    for file, (words, command) in _FOLDERS.items():
        if (path.parent / file).is_file() and path.name in _files_beside(path.parent / file):
            return f"part of {words}", command, str(path.parent)
    known = _archive(path) if zipfile.is_zipfile(path) else _text(path)
    if known is None and path.stat().st_size and is_written_by_parivox(path):
        known = _REPORT
    return None if known is None else (*known, str(path))


def _files_beside(about: Path) -> set[str]:
    """Names of the files of a folder of Parivox's, known by one of them."""
    if about.name == "store.json":
        return _OF_STORE
    sums = about.parent / _SUMS
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.is_file() else []
    return {_SUMS, *(line.rpartition(" ")[2].lstrip("*") for line in lines)}


def _archive(path: Path) -> tuple[str, str] | None:
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
    if "state.json" in names:
        return _STATE
    return _VECTORS if names and all(name.endswith(".npy") for name in names) else None


def _text(path: Path) -> tuple[str, str] | None:
    with path.open("rb") as text:
        head = text.read(_HEAD).decode("utf-8-sig", errors="replace")
    if _HEX.fullmatch(head):
        return _KEY
    first = _JSON.match(head)
    lines = head.splitlines() if first is None else [f"{first[1]}:"]
    is_named = path.suffix.lower() in {".yaml", ".yml", ".json"}
    starts = (one for one in _TEXTS if is_named or one.startswith("parivox-"))
    start = next((one for one in starts if any(line.startswith(one) for line in lines)), None)
    return None if start is None else _TEXTS[start]
