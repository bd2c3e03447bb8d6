"""The private key of an audit's folder, and what is written under it.

Hashes of what an audit read would give attributes back to whoever knows the ids and guesses. They
leave memory only as HMACs by a random key, which stays in ``private.json``.
See docs/output.md#privatejson.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.runtime.disk import current_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PRIVATE = "private.json"
_KEY_FIELD = "parivox_private"
_KEY_BYTES = 32
_MIN_DISTINCT_BYTES = 8
"""Different bytes of a key that can be random."""
_MAX_FILE_BYTES = 4096  # bytes of the file
CHOICE_ROLES = ("groups", "thresholds")
"""Roles of files that hold what was chosen, and nothing about people."""


@dataclass(frozen=True)
class PrivateKey:
    """A random key, and the name by which hashes made with it are known."""

    secret: bytes = field(repr=False)

    @classmethod
    def of_folder(cls, folder: str | os.PathLike[str]) -> PrivateKey:
        """Return the key of the audit that a folder holds, or a new one.

        Raises
        ------
        ConfigError
            If the folder's key is damaged.
        """
        path = current_path(Path(folder), PRIVATE)
        if not path.exists():
            return cls(secrets.token_bytes(_KEY_BYTES))
        try:
            return cls._read(path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            msg = f"{path}: cannot be read, or contains no key"
            hint = "remove the file, so that a new key is created"
            raise ConfigError(msg, hint) from error

    @classmethod
    def _read(cls, path: Path) -> PrivateKey:
        """Return the key of a file; any other content raises what reading it may raise."""
        # What a link to a device or pipe gives has no end, so that only small files are read.
        if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            msg = f"{path.name} is not a small file"
            raise ValueError(msg)
        secret = bytes.fromhex(json.loads(path.read_bytes())["key"])
        if len(secret) != _KEY_BYTES or len({*secret}) < _MIN_DISTINCT_BYTES:
            msg = f"its key has {len(secret)} bytes, of which {len({*secret})} differ"
            raise ValueError(msg)
        return cls(secret)

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder holds a key that its owner, who runs this, alone can read."""
        path = current_path(folder, PRIVATE)
        try:
            cls._read(path)
            status = path.stat()
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
        is_mine = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        return is_mine and not status.st_mode & 0o077

    @property
    def name(self) -> str:
        """What tells that two hashes were made with one key, and nothing of the key."""
        return self._mac("name")[:8]

    def sealed(self, digest: str) -> str:
        """Return the HMAC of a hash, after the name of the key; what is sealed or empty stays."""
        if not digest or ":" in digest:
            return digest
        return f"{self.name}:{self._mac(digest)}"

    def _mac(self, text: str) -> str:
        return hmac.digest(self.secret, text.encode(), "sha256").hex()

    def write(self, folder: Path) -> None:
        """Write the key, so that nobody else can read it."""
        text = json.dumps({_KEY_FIELD: "1", "key": self.secret.hex()}, indent=1)
        path = folder / PRIVATE
        path.touch(mode=0o600)
        path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def sealed_provenance(
    entries: Sequence[Mapping[str, Any]], key: PrivateKey
) -> list[dict[str, Any]]:
    """Return what was read, with HMACs in the place of hashes.

    Of speakers, their ids alone are covered; of other data, the bytes of the file. Files of
    choices keep their hash.
    """
    return [_sealed(entry, key) for entry in entries]


def _sealed(file_entry: Mapping[str, Any], key: PrivateKey) -> dict[str, Any]:
    if file_entry.get("role") in CHOICE_ROLES:
        return dict(file_entry)
    hashes = {"sha256", "ids_sha256"}
    sealed = {name: cell for name, cell in file_entry.items() if name not in hashes}
    if "ids_sha256" in file_entry:
        sealed["ids_hmac"] = key.sealed(file_entry["ids_sha256"])
    elif "sha256" in file_entry:
        sealed["bytes_hmac"] = key.sealed(file_entry["sha256"])
    return sealed


def are_comparable(sealed: str, other_sealed: str) -> bool:
    """Return whether two hashes were made with one key, so that they can be compared."""
    return (
        bool(sealed and other_sealed)
        and sealed.rpartition(":")[0] == other_sealed.rpartition(":")[0]
    )
