"""What Parivox itself wrote: known by a file that only its folder has, or by its first words."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

from parivox.read.counts_file import holds_tally
from parivox.read.inspection.findings import Found

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
_JSON = re.compile(r'\{\s*"(parivox-\w+)":')
_SUMS = "SHA256SUMS"


def own_file(source: Any, name: str) -> Found | None:
    """What a file or folder of Parivox's own is, and the command that takes it."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    if holds_tally(source):
        return Found(name, "tally", "parquet")
    path = Path(source)
    try:
        found = _of_folder(path, name) if path.is_dir() else _of_file(path)
    except (OSError, ValueError, zipfile.BadZipFile):  # that is said by who reads it
        return None
    if found is None:
        return None
    words, command, what = found
    return Found(name, "own", own=words, use=command.format(shlex.quote(what)))


def _of_folder(path: Path, name: str) -> tuple[str, str, str] | None:
    known = next((file for file in _FOLDERS if (path / file).is_file()), None)
    return None if known is None else (*_FOLDERS[known], name)


def _of_file(path: Path) -> tuple[str, str, str] | None:
    home = path.parent
    if (home / "audit.json").is_file() and (home / _SUMS).is_file():
        sums = (home / _SUMS).read_text(encoding="utf-8").splitlines()
        if path.name in {line.rpartition(" ")[2].lstrip("*") for line in sums}:
            words, command = _FOLDERS["audit.json"]
            return f"part of {words}", command, str(home)
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            is_state = "state.json" in file.namelist()
        return (*_STATE, str(path)) if is_state else None
    if path.suffix.lower() not in {".yaml", ".yml", ".json"}:
        return None
    with path.open("rb") as text:
        head = text.read(_HEAD).decode("utf-8-sig", errors="replace")
    first = _JSON.match(head)
    lines = head.splitlines() if first is None else [f"{first[1]}:"]
    start = next((one for one in _TEXTS if any(line.startswith(one) for line in lines)), None)
    return None if start is None else (*_TEXTS[start], str(path))
