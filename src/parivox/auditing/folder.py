"""The folder of an audit: written whole or not at all; `folder_reading` reads it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.auditing.private import PRIVATE, PrivateKey
from parivox.auditing.schema import CURVES, TABLES
from parivox.errors import ConfigError, utf8_text
from parivox.runtime.disk import (
    HIDDEN_PREFIX,
    atomic_folder,
    explain_write_errors,
    sha256_of,
    write_error,
)
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parivox.data.table import Table

HASHES = "SHA256SUMS"
"""Hashes of all other files, as ``sha256sum -c`` reads them."""


def write_folder(
    folder: str | os.PathLike[str],
    tables: Mapping[str, Table],
    texts: Mapping[str, Iterable[str]],
    format: str,  # noqa: A002 - the option's word
    key: PrivateKey | None = None,
) -> None:
    """Write an audit's files and their hashes: all of them or nothing, in place of an earlier one.

    Tables are csv or parquet, as `format` says; curves are Parquet always. The private key is
    not among the hashes, so that the folder can be handed on without it.
    """
    out = check_folder(folder)
    with (
        explain_write_errors(_option_text(folder), "folder"),
        atomic_folder(out, audit_files()) as aside,
    ):
        for name, table in with_progress(
            tables.items(), f"writing {os.fsdecode(folder)}", "tables"
        ):
            table.write_file(aside / f"{name}.{'parquet' if name in CURVES else format}")
        for name, pieces in texts.items():
            with (aside / name).open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pieces)
        (aside / HASHES).write_text(_hash_lines(aside), encoding="utf-8", newline="\n")
        if key is not None:
            key.write(aside)


def _hash_lines(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return "".join(f"{file_hash(folder / name)}  {name}\n" for name in names)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file of an audit."""
    return sha256_of(_regular_file(path))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file of an audit."""
    return _regular_file(path).read_bytes()


def _regular_file(path: Path) -> Path:
    """Return a path unless it is a device or the like, whose content has no end."""
    if path.exists() and not path.is_file():
        msg = f"{path.name} is not a file"
        raise ValueError(msg)
    return path


def check_format(format: str) -> None:  # noqa: A002 - the option's word
    """Refuse a format of tables that is not known."""
    if format not in {"csv", "parquet"}:
        msg = f"--format {format!r} is not known"
        hint = "choose csv or parquet"
        raise ConfigError(msg, hint)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder to write to, links followed, if it may be written."""
    text = os.fsdecode(folder)
    if not text or text != utf8_text(text):
        reason = "its name is not UTF-8" if text else "does not name a folder"
        msg = f"--out {text or repr(text)}: {reason}"
        hint = "name a folder that is new or empty"
        raise ConfigError(msg, hint)
    try:
        target = Path(os.path.realpath(text))
        missing_names: list[str] = []
        existing_parent = target
        while not _exists(existing_parent):
            existing_parent, missing_names = (
                existing_parent.parent,
                [existing_parent.name, *missing_names],
            )
        for name in missing_names:
            # A name that is too long raises an error here, not after the audit has run.
            _exists(existing_parent / name)
        is_folder = existing_parent.is_dir()
        foreign_files = [] if missing_names or not is_folder else _foreign_files(target)
    except (OSError, ValueError) as error:
        raise write_error(_option_text(folder), error, "folder") from error
    if not missing_names and not is_folder:
        msg = f"--out {text}: is a file, not a folder"
        hint = "name a folder that is new or empty"
        raise ConfigError(msg, hint)
    if foreign_files:
        msg = f"--out {text}: contains {foreign_files[0]!r}, which is not part of an earlier audit"
        hint = "name a folder that is new or empty"
        raise ConfigError(msg, hint)
    if not os.access(existing_parent, os.W_OK | os.X_OK):
        refused = PermissionError(f"{existing_parent} is not a folder that can be written")
        raise write_error(_option_text(folder), refused, "folder")
    PrivateKey.of_folder(target)  # a damaged key is refused before an audit takes its time
    return target


def _option_text(folder: str | os.PathLike[str]) -> str:
    return f"--out {os.fsdecode(folder)}"


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _foreign_files(folder: Path) -> list[str]:
    """Return the files that are not of an earlier audit or of one that was being written."""
    modes = {}
    for path in folder.iterdir():
        # hidden folders of audits that are written at the same time may be gone by now
        with contextlib.suppress(FileNotFoundError):
            modes[path.name] = path.lstat().st_mode
    unfinished = {
        name
        for name, mode in modes.items()
        if name.startswith(HIDDEN_PREFIX) and stat.S_ISDIR(mode)
    }
    # a key alone may wait for an audit that is to be repeated with it
    own_names = audit_files() if unfinished or _holds_audit(folder) else {PRIVATE}
    plain_files = {name for name in own_names if not stat.S_ISDIR(modes.get(name, 0))}
    return sorted(modes.keys() - unfinished - plain_files)


def audit_files() -> set[str]:
    """Return the names of all files that the folder of an audit may hold."""
    tables = {f"{name}.{kind}" for name in TABLES for kind in ("csv", "parquet")}
    return {"audit.json", "provenance.json", HASHES, PRIVATE, *tables}


def _holds_audit(folder: Path) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if (folder / "audit.json").is_file():
            with (folder / "audit.json").open(encoding="utf-8") as file:
                return '"parivox_audit"' in file.read(200)
    return False
