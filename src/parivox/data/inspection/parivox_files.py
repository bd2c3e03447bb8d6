"""Files that Parivox wrote or other commands take, known by their folder or first words."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

from parivox.data.counts_file import holds_speaker_counts
from parivox.data.inspection.findings import FileFindings
from parivox.data.kaldi import missing_folder_error
from parivox.errors import DataError
from parivox.runtime.disk import is_written_by_parivox

_HEAD_BYTES = 1 << 16
_FOLDER_KINDS = {
    "audit.json": ("an audit, as parivox audit writes it", "parivox show {}"),
    "store.json": (
        "embeddings, as parivox embed makes them",
        "parivox score TRIALS --embeddings {} --out scores.parquet",
    ),
    "plan.json": ("an audit in parts, as parivox shards plan makes it", "parivox shards run {}"),
}
"""Description of a folder and the command that takes it, by a file in it."""
_TEXT_KINDS = {
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
"""Description of a text and the command that takes it, by the beginning of a line."""
_STATE_KIND = ("the state of a stream, as parivox monitor keeps it", "parivox monitor --state {}")
_VECTOR_KIND = ("arrays of NumPy, as score takes embeddings", _FOLDER_KINDS["store.json"][1])
_KEY_KIND = (
    "a key, as count and monitor take it; it stays at its site",
    (
        "parivox count SCORES --speakers PEOPLE --by ATTRIBUTE --step 0.01 --blocks 20 --key {} "
        "--out site.counts"
    ),
)
_REPORT_KIND = ("a report, as parivox report or gate writes it, to be read", "")
_JSON_START = re.compile(r'\{\s*"(parivox-\w+)":')
_KEY_PATTERN = re.compile(r"\s*[0-9a-fA-F]{16,64}\s*")
_CHECKSUM_FILE = "SHA256SUMS"
_RECORDINGS = "recordings.parquet"
_STORE_FILES = {"store.json", _RECORDINGS, "embeddings.npy", "seen.parquet"}


def recognise_parivox_file(source: Any, name: str) -> FileFindings | None:
    """Return what a file or folder is that no audit takes, and the command that takes it."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    if holds_speaker_counts(source):
        return FileFindings(name, "tally", "parquet")
    path = Path(source)
    try:
        if error := missing_folder_error(path):
            return FileFindings(
                name, "unknown", description="a file of Kaldi's", problems=(str(error),)
            )
        recognised = _folder_kind(path, name) if path.is_dir() else _file_kind(path)
    except (DataError, OSError, ValueError, RuntimeError, zipfile.BadZipFile):
        return None  # reported by its reader
    if recognised is None:
        return None
    description, command, argument = recognised
    kind = (
        "utterances" if path.name == _RECORDINGS else "parivox"
    )  # a table that an audit takes as well
    return FileFindings(
        name, kind, description=description, command=command.format(shlex.quote(argument))
    )


def _folder_kind(path: Path, name: str) -> tuple[str, str, str] | None:
    """Return description, command and argument of a folder; None if it is not known."""
    for marker, (description, command) in _FOLDER_KINDS.items():
        if (path / marker).is_file():
            return description, command, name
    return None


def _file_kind(path: Path) -> tuple[str, str, str] | None:
    """Return description, command and argument of a file; None if it is not known."""
    if not path.is_file():
        return None
    for file, (description, command) in _FOLDER_KINDS.items():
        if (path.parent / file).is_file() and path.name in _files_of_folder(path.parent / file):
            return f"part of {description}", command, str(path.parent)
    recognised = _archive_kind(path) if zipfile.is_zipfile(path) else _text_kind(path)
    if recognised is None and path.stat().st_size and is_written_by_parivox(path):
        recognised = _REPORT_KIND
    return None if recognised is None else (*recognised, str(path))


def _files_of_folder(marker: Path) -> set[str]:
    """Return the names of the files in a folder of Parivox, which one of them identifies."""
    if marker.name == "store.json":
        return _STORE_FILES
    checksums = marker.parent / _CHECKSUM_FILE
    lines = checksums.read_text(encoding="utf-8").splitlines() if checksums.is_file() else []
    return {_CHECKSUM_FILE, *(line.rpartition(" ")[2].lstrip("*") for line in lines)}


def _archive_kind(path: Path) -> tuple[str, str] | None:
    """Return description and command of a ZIP archive; None if it is not known."""
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
    if "state.json" in names:
        return _STATE_KIND
    return _VECTOR_KIND if names and all(name.endswith(".npy") for name in names) else None


def _text_kind(path: Path) -> tuple[str, str] | None:
    """Return description and command of a text; None if it is not known."""
    with path.open("rb") as text:
        head = text.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
    if _KEY_PATTERN.fullmatch(head):
        return _KEY_KIND
    json_start = _JSON_START.match(head)
    lines = head.splitlines() if json_start is None else [f"{json_start[1]}:"]
    is_named = path.suffix.lower() in {".yaml", ".yml", ".json"}
    for start, kind in _TEXT_KINDS.items():
        # `labels:` may begin a line of any text, so only the name of the file makes it a context
        may_be_this_kind = is_named or start.startswith("parivox-")
        if may_be_this_kind and any(line.startswith(start) for line in lines):
            return kind
    return None
