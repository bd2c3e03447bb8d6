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
_KIND = "parivox_private"
_SIZE = 32
_LEAST_DISTINCT = 8
"""Different bytes of a key that can be random."""
_LARGEST = 4096  # bytes of the file
CHOICE_ROLES = ("groups", "thresholds")
"""Roles of files that hold what was chosen, and nothing about people."""


@dataclass(frozen=True)
class PrivateKey:
    """A random key, and the name by which hashes made with it are known."""

    secret: bytes = field(repr=False)

    @classmethod
    def of_folder(cls, folder: str | os.PathLike[str]) -> PrivateKey:
        """The key of the audit that a folder holds, or a new one.

        Raises
        ------
        ConfigError
            If the folder's key is damaged.
        """
        path = current_path(Path(folder), PRIVATE)
        if not path.exists():
            return cls(secrets.token_bytes(_SIZE))
        try:
            return cls._read(path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            msg = f"{path}: cannot be read, or holds no key; remove it, and a new key is made"
            raise ConfigError(msg) from error

    @classmethod
    def _read(cls, path: Path) -> PrivateKey:
        """The key of a file; whatever else it holds raises what reading it may raise."""
        if not path.is_file() or path.stat().st_size > _LARGEST:  # a device or pipe has no end
            msg = f"{path.name} is not a small file"
            raise ValueError(msg)
        secret = bytes.fromhex(json.loads(path.read_bytes())["key"])
        if len(secret) != _SIZE or len({*secret}) < _LEAST_DISTINCT:
            msg = f"its key has {len(secret)} bytes, of which {len({*secret})} differ"
            raise ValueError(msg)
        return cls(secret)

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether a folder holds a key that its owner, who runs this, alone can read."""
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
        """The HMAC of a hash, after the name of the key; what is sealed or empty stays."""
        if not digest or ":" in digest:
            return digest
        return f"{self.name}:{self._mac(digest)}"

    def _mac(self, text: str) -> str:
        return hmac.digest(self.secret, text.encode(), "sha256").hex()

    def write(self, folder: Path) -> None:
        """Write the key, so that nobody else can read it."""
        text = json.dumps({_KIND: "1", "key": self.secret.hex()}, indent=1)
        path = folder / PRIVATE
        path.touch(mode=0o600)
        path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def sealed_provenance(
    entries: Sequence[Mapping[str, Any]], key: PrivateKey
) -> list[dict[str, Any]]:
    """What was read, with HMACs in the place of hashes.

    Of speakers, their ids alone are covered; of other data, the bytes of the file. Files of
    choices keep their hash.
    """
    return [_sealed(entry, key) for entry in entries]


def _sealed(entry: Mapping[str, Any], key: PrivateKey) -> dict[str, Any]:
    if entry.get("role") in CHOICE_ROLES:
        return dict(entry)
    sealed = {name: value for name, value in entry.items() if name not in {"sha256", "ids_sha256"}}
    if "ids_sha256" in entry:
        sealed["ids_hmac"] = key.sealed(entry["ids_sha256"])
    elif "sha256" in entry:
        sealed["bytes_hmac"] = key.sealed(entry["sha256"])
    return sealed


def are_comparable(sealed: str, other: str) -> bool:
    """Whether two hashes were made with one key, so that unequal ones are of different things."""
    return bool(sealed and other) and sealed.rpartition(":")[0] == other.rpartition(":")[0]
