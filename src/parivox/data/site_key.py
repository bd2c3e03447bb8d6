"""The key of a site, under which speakers get other names, and what was counted with it.

A key is random. Names and marks are keyed hashes (BLAKE2b), so that without the key no id can be
tried against them. The key that is used is derived from the file's by a slow function, so that a
key which can be guessed takes long to find. See docs/counts.md#keys.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.runtime.disk import atomic_file, explain_write_errors, lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MIN_KEY_BYTES, MAX_KEY_BYTES = 16, 64
"""Bytes of a key: fewer could be guessed, more are none of BLAKE2b's."""
_MIN_DISTINCT_BYTES = 8
"""Different bytes of a key: fewer are hardly random."""
_MAX_READ_BYTES = 1 << 12
_NAME_USE, _SITE_USE, _BLOCK_USE = (
    b"parivox name",
    b"parivox site",
    b"parivox block",
)  # uses of one key
_MARK_USE, _SEAL_USE = b"parivox mark", b"parivox seal"

KDF = "scrypt-15-8-1"
"""How keys are derived: scrypt with N = 2 ** 15, r = 8 and p = 1."""
NO_KDF = ""
"""Of files of 0.2.0, which used the bytes of the key as they are."""
KDFS = (NO_KDF, KDF)
_SALT = b"parivox site key"  # alike everywhere, as one key is to give one name at any time
_NEW_KEY_REMEDY = "create a random key with --new-key FILE"


@dataclass(frozen=True)
class SiteKey:
    """A secret of one site, and how it was derived from the one in its file."""

    secret: bytes = field(repr=False)
    kdf: str = KDF

    @classmethod
    def read(cls, path: str | os.PathLike[str], kdf: str = KDF) -> SiteKey:
        """A key of a file, without blanks around it.

        Raises
        ------
        ConfigError
            If there is none, or it is too short, too long, or can be guessed.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(_MAX_READ_BYTES)
        except FileNotFoundError:
            if _may_be_secret(str(path)):
                msg = "--key: does not name a file"
                hint = (
                    "if this was the secret key itself, it may now be in your shell history: "
                    f"{_NEW_KEY_REMEDY}"
                )
                raise ConfigError(msg, hint) from None
            msg = f"--key {path}: file not found"
            hint = f"check the path, or {_NEW_KEY_REMEDY}"
            raise ConfigError(msg, hint) from None
        except (OSError, ValueError) as error:
            msg = f"--key {path}: cannot be read ({error})"
            hint = "name a file that can be read"
            raise ConfigError(msg, hint) from error
        secret = content.strip()
        if not MIN_KEY_BYTES <= len(secret) <= MAX_KEY_BYTES:
            is_read_in_part = len(content) == _MAX_READ_BYTES
            size = f"at least {_MAX_READ_BYTES}" if is_read_in_part else f"{len(secret)}"
            msg = (
                f"--key {path}: contains {size} bytes, but a key has {MIN_KEY_BYTES} to "
                f"{MAX_KEY_BYTES}"
            )
            raise ConfigError(msg, _NEW_KEY_REMEDY)
        if len({*secret}) < _MIN_DISTINCT_BYTES:
            msg = f"--key {path}: has {len({*secret})} different characters and can be guessed"
            raise ConfigError(msg, _NEW_KEY_REMEDY)
        return cls(_derived_secret(secret, kdf), kdf)

    @property
    def site(self) -> str:
        """What tells this key apart from others, and tells nothing of it."""
        return self._hash(_SITE_USE, [])

    def pseudonyms(self, ids: Sequence[str]) -> list[str]:
        """The name of each speaker."""
        return [self._hash(_NAME_USE, [speaker_id]) for speaker_id in ids]

    def block_pseudonym(self, names: Iterable[str]) -> str:
        """The name of a block, from those of its speakers."""
        return self._hash(_BLOCK_USE, sorted(names))

    def mark(self, text: str) -> str:
        """What shows whether two texts are the same, and without the key nothing of them."""
        return self._hash(_MARK_USE, [text])

    def seal(self, members: Mapping[str, bytes]) -> str:
        """What only this key gives to the members of a file, by name."""
        digest = hashlib.blake2b(_SEAL_USE, digest_size=32, key=self.secret)
        for name, content in members.items():
            # with their lengths, so that no part can go on in the next one
            for part in (name.encode(), content):
                digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()

    def _hash(self, use: bytes, words: Iterable[str]) -> str:
        digest = hashlib.blake2b(use, digest_size=8, key=self.secret)
        for word in words:
            digest.update(b"\0" + word.encode())
        return digest.hexdigest()


@lru_cache(maxsize=8)  # a tenth of a second, which a loop over days would take for each of them
def _derived_secret(secret: bytes, kdf: str) -> bytes:
    if kdf == NO_KDF:
        return secret
    return hashlib.scrypt(secret, salt=_SALT, n=1 << 15, r=8, p=1, maxmem=1 << 26, dklen=32)


def _may_be_secret(text: str) -> bool:
    """Whether a text that names no file may be a key that was typed: it is not repeated then."""
    return len(text) >= MIN_KEY_BYTES and not {*text} & {"/", "\\", "."}


@contextmanager
def key_file(
    key: str | os.PathLike[str] | None, new_key: str | os.PathLike[str] | None
) -> Iterator[str | os.PathLike[str] | None]:
    """The file of a key: the one given, or a new one, which goes if the block fails.

    Raises
    ------
    ConfigError
        If both are given, or the new one is there already or cannot be written.
    """
    if new_key is None:
        yield key
        return
    if key is not None:
        msg = "--key and --new-key: give one of them"
        raise ConfigError(msg)
    try:
        descriptor = os.open(new_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        msg = f"--new-key {os.fsdecode(new_key)}: exists already"
        hint = "use it with --key"
        raise ConfigError(msg, hint) from None
    except (OSError, ValueError) as error:
        msg = f"--new-key {os.fsdecode(new_key)}: cannot be written ({error})"
        hint = "name another file"
        raise ConfigError(msg, hint) from error
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
    try:
        yield new_key
    except BaseException:
        Path(new_key).unlink(missing_ok=True)
        raise


_KIND = "parivox_counted"


@dataclass(frozen=True)
class CountingLog:
    """What was counted with a key: of which trials, by what, and whether groups were withheld.

    It is a file next to the key, with keyed hashes in place of trials. Two files of the same
    trials by other groups can be subtracted: what one withholds, the other may give back.
    """

    path: Path
    entries: tuple[dict[str, Any], ...]

    @classmethod
    def of_key(cls, key: str | os.PathLike[str]) -> CountingLog:
        """Read what was counted with the key of a file.

        Raises
        ------
        ConfigError
            If that is damaged.
        """
        return cls._read(counting_log_path(key))

    @classmethod
    def _read(cls, path: Path) -> CountingLog:
        if not path.exists():
            return cls(path, ())
        try:
            entries = json.loads(path.read_bytes())[_KIND]
            checked = tuple(
                {
                    "trials": str(entry["trials"]),
                    "groups": str(entry["groups"]),
                    "by": [str(name) for name in entry["by"]],
                    "withheld": bool(entry["withheld"]),
                }
                for entry in entries
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            msg = f"{path}: is a damaged record of what was counted with the key"
            hint = "restore the file"
            raise ConfigError(msg, hint) from error
        return cls(path, checked)

    def check(self, entry: dict[str, Any], name: str) -> None:
        """Refuse to count trials by other groups than before, if any were withheld."""
        for earlier in self.entries:
            is_other = earlier["trials"] == entry["trials"] and earlier["groups"] != entry["groups"]
            if is_other and (earlier["withheld"] or entry["withheld"]):
                msg = (
                    f"{name}: the trials were already counted by {', '.join(earlier['by'])} with "
                    "this key, but with other groups, speakers, --withhold or --blocks, and "
                    "groups were withheld"
                )
                hint = (
                    "count as before: the difference of the counts could reveal withheld groups. "
                    "If no reader has both files, add --regroup"
                )
                raise ConfigError(msg, hint)

    def record(self, entry: dict[str, Any]) -> None:
        """Add what is counted now to what others may have added meanwhile."""
        with contextlib.ExitStack() as lock:
            lock_folder(self.path.parent, lock, waits=True)
            entries = self._read(self.path).entries
            if entry in entries:
                return
            text = json.dumps({_KIND: [*entries, entry]}, indent=1, ensure_ascii=False)
            with explain_write_errors(str(self.path)), atomic_file(self.path) as aside:
                aside.touch(mode=0o600)
                aside.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def counting_log_path(key: str | os.PathLike[str]) -> Path:
    """Where it is noted what was counted with the key of a file; links are followed."""
    return Path(f"{os.path.realpath(key)}.counted")
