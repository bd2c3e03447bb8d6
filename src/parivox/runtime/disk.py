"""Files and folders that appear whole or not at all, whatever ends the process that writes them.

They are written in a hidden folder next to their target, ``.parivox-HOST-PID-...``, and renamed.
The writer holds a lock that ends with its process, so the next run can recognise and remove
abandoned hidden folders. If the target folder exists, all new files appear in it at once as
``.parivox-next``: from that moment they count. Then they are moved to their names; if the writer is
killed meanwhile, the next writer finishes the move.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import shutil
import tempfile
import weakref
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from parivox.errors import ConfigError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HIDDEN_PREFIX = ".parivox-"
"""Prefix of the names of folders in which something is being written."""
_NEXT_FOLDER, _REMOVED_NAMES = f"{HIDDEN_PREFIX}next", ".gone"
"""Folder of files that count but have not all moved yet; file with the names of those to remove."""
_HOST = re.sub("[^0-9A-Za-z]+", "-", platform.node())[:64]
_FOLDER_OF_THIS_HOST = re.compile(rf"\.parivox-{_HOST}-\d+-[0-9a-f]{{8}}")
_DISK_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_HEAD_BYTES = 4096
_PARIVOX_MARK = re.compile(
    rb'<meta name="generator" content="Parivox\b|<testsuites name="parivox gate"'
    rb"|(?:<!--|[%#]) Parivox [^\n]*: parivox (?:report|gate)"
    rb'|^\{\s*"parivox[-/]|^(?:#[^\n]*\n|\s)*parivox-thresholds:'
)
"""Beginnings of files by which a report, rule file, calibrator or gate result is recognised."""
_SYSTEM_ERROR_TEXT = re.compile(r"os error (\d+)|\d+ requested and \d+ written")
"""How Polars and NumPy report an error of the system, which they raise as types of their own."""


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` when the block ends without an error.

    Raises
    ------
    ConfigError
        If there is a device or a pipe, which would be lost.
    """
    _refuse_special_file(os.fsdecode(path))
    target = Path(os.path.realpath(path))
    with _hidden_folder(target.parent) as folder:
        # the same name, because writers choose the format by its extension
        hidden_file = folder / Path(path).name
        yield hidden_file
        _flush_to_disk(hidden_file)
        hidden_file.replace(target)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], owned_names: Collection[str] = ()
) -> Iterator[Path]:
    """Yield a folder for files, which are all in `path` when the block ends; none if it fails.

    In a folder that exists, files of the same names are replaced, and files named in `owned_names`
    that are not written again are removed.
    """
    target = Path(os.path.realpath(path))
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    parent = target.parent if missing else target
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with _hidden_folder(parent) as hidden_folder:
            yield hidden_folder
            if not missing or not _rename_unless_taken(hidden_folder, target):
                _replace_files(hidden_folder, target, owned_names)
    finally:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()  # succeeds only for folders that stayed empty


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def current_path(folder: Path, name: str) -> Path:
    """Return where a file of a folder is, even if its writer was killed while moving files."""
    next_folder = folder / _NEXT_FOLDER
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if name in (next_folder / _REMOVED_NAMES).read_text(encoding="utf-8").splitlines():
            # the file was to be removed, so this path, which does not exist, is right
            return next_folder / name
    return next_folder / name if (next_folder / name).exists() else folder / name


def finish_move(folder: Path) -> None:
    """Finish the move of a writer that was killed during it."""
    next_folder = folder / _NEXT_FOLDER
    with contextlib.ExitStack() as lock:
        if next_folder.is_dir() and lock_folder(next_folder, lock, waits=True):
            _move_files(next_folder, folder)


def lock_folder(folder: Path, lock: contextlib.ExitStack, *, waits: bool = False) -> bool:
    """Lock a folder, which must exist, until `lock` is closed or the process ends.

    Returns False if another process holds the lock, or has just removed the folder. On a system
    without such locks every process gets it.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        lock.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def writable_file(path: str | os.PathLike[str], example: str) -> Path:
    """Return the file to write, links followed; refuse files that Parivox did not write.

    Raises
    ------
    ConfigError
        If it cannot be written, or is there already and is neither empty nor of an earlier run.
    """
    text = os.fsdecode(path)
    try:
        file = Path(os.path.realpath(text))
        if not text:
            msg = "'': the file name is empty"
            hint = f"name a file, for example {example}"
            raise ConfigError(msg, hint)
        _refuse_special_file(text)  # which may have no end
        if file.is_dir():
            msg = f"{text}: is a folder"
            hint = f"name a file, for example {example}"
            raise ConfigError(msg, hint)
        if not file.parent.is_dir():
            msg = f"{text}: folder {file.parent} does not exist"
            hint = "name a file in a folder that exists"
            raise ConfigError(msg, hint)
        is_foreign = file.exists() and not is_written_by_parivox(file)
    except (OSError, ValueError) as error:
        raise write_error(text, error) from error
    if is_foreign:
        msg = f"{text}: already exists and was not written by Parivox"
        hint = "name another file"
        raise ConfigError(msg, hint)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise write_error(text, PermissionError(f"{file.parent} is not a folder to write to"))
    return file


def _refuse_special_file(text: str) -> None:
    """Refuse to write over a device, a pipe or a socket."""
    file = Path(text)  # not the real path: that of a pipe such as /dev/stdout does not exist
    if file.exists() and not (file.is_file() or file.is_dir()):
        msg = f"{text}: is not a regular file"
        hint = "name another file"
        raise ConfigError(msg, hint)


def is_written_by_parivox(file: Path) -> bool:
    """Whether a file is marked as a report, rule file or calibrator of Parivox, or is empty."""
    with file.open("rb") as binary:
        head = binary.read(_HEAD_BYTES)
    if not head or _PARIVOX_MARK.search(head):
        return True
    try:
        with zipfile.ZipFile(file) as archive, archive.open("docProps/core.xml") as properties:
            return b"<dc:creator>Parivox</dc:creator>" in properties.read(_HEAD_BYTES)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, ValueError, RuntimeError):
        return False


@contextlib.contextmanager
def explain_write_errors(target: str, kind: str = "file", kept_note: str = "") -> Iterator[None]:
    """Raise one sentence if `target` cannot be written: why, what to do, and what is kept.

    Raises
    ------
    ConfigError
        If the system refuses, above all because a disk is full.
    """
    try:
        yield
    except Exception as error:
        cause = system_error(error)
        if cause is None:
            raise
        raise write_error(target, cause, kind, kept_note) from error


def write_error(
    target: str, error: OSError | ValueError, kind: str = "file", kept_note: str = ""
) -> ConfigError:
    """Return the error to raise for a file or folder that cannot be written."""
    remedy = f"correct the cause, or name another {kind}"
    if getattr(error, "errno", None) in _DISK_FULL_ERRNOS:
        remedy = f"free disk space, or name a {kind} on another disk"
    reason = getattr(error, "strerror", None) or str(error)
    msg = f"{target}: cannot be written ({reason})"
    hint = f"{remedy}{kept_note}"
    return ConfigError(msg, hint)


def system_error(error: BaseException) -> OSError | None:
    """Return the error of the system that an exception is or reports; None if it is another one."""
    match = _SYSTEM_ERROR_TEXT.search(str(error))
    if match and not isinstance(error, ParivoxError) and getattr(error, "errno", None) is None:
        number = int(match[1] or errno.ENOSPC)
        return OSError(number, os.strerror(number))
    return error if isinstance(error, OSError) else None


class ScratchFolder:
    """A temporary folder that is removed with the last reference to it.

    If its process is killed, the next process that makes such a folder removes it.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        with contextlib.ExitStack() as cleanup, _explain_lack_of_room(parent):
            self.path = cleanup.enter_context(_hidden_folder(parent, mode=0o700))
            self.remove = weakref.finalize(self, cleanup.pop_all().close)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextlib.contextmanager
    def file_to_write(self, name: str) -> Iterator[Path]:
        """Yield the path of a file in it; explain a full disk in one sentence."""
        with _explain_lack_of_room(self.path.parent):
            yield self.path / name


@contextlib.contextmanager
def _explain_lack_of_room(parent: Path) -> Iterator[None]:
    """Raise one sentence if there is no room for temporary files."""
    try:
        yield
    except Exception as error:
        cause = system_error(error)
        if cause is None or cause.errno not in _DISK_FULL_ERRNOS:
            raise
        msg = f"{parent}: has no room for data that do not fit into memory ({cause.strerror})"
        hint = (
            "free disk space, or name a folder on another disk in the environment variable TMPDIR"
        )
        raise ConfigError(msg, hint) from error


@contextlib.contextmanager
def _hidden_folder(parent: Path, mode: int = 0o777) -> Iterator[Path]:
    """Yield a new hidden folder, locked; remove it and its remaining files at the end."""
    _remove_abandoned_folders(parent)
    with contextlib.ExitStack() as lock:
        while True:
            folder = parent / f"{HIDDEN_PREFIX}{_HOST}-{os.getpid()}-{os.urandom(4).hex()}"
            folder.mkdir(mode)
            lock.callback(shutil.rmtree, folder, ignore_errors=True)
            try:
                # False: another run took the new folder for an abandoned one and removed it
                if lock_folder(folder, lock):
                    break
            except OSError:  # a disk without locks: no run can take the folder for abandoned
                break
        yield folder


def _remove_abandoned_folders(parent: Path) -> None:
    """Remove the hidden folders of processes of this machine that have ended."""
    if os.name == "nt":  # it has no locks of folders, so none is known to be abandoned
        return
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        abandoned = [folder for folder in entries if _FOLDER_OF_THIS_HOST.fullmatch(folder.name)]
        for folder in abandoned:
            with contextlib.suppress(OSError), contextlib.ExitStack() as lock:
                if folder.is_dir(follow_symlinks=False) and lock_folder(Path(folder.path), lock):
                    shutil.rmtree(folder.path, ignore_errors=True)


def _replace_files(hidden_folder: Path, target: Path, owned_names: Collection[str]) -> None:
    """Replace the files of a folder by those of a hidden one."""
    names = {path.name for path in hidden_folder.iterdir()}
    (hidden_folder / _REMOVED_NAMES).write_text(
        "\n".join(sorted({*owned_names} - names)), encoding="utf-8"
    )
    for path in hidden_folder.iterdir():
        _flush_to_disk(path)
    own_folder, next_folder = hidden_folder.stat(), target / _NEXT_FOLDER
    finish_move(target)
    while not _rename_unless_taken(hidden_folder, next_folder):
        finish_move(target)
    try:
        _move_files(next_folder, target)
    except BaseException:  # interrupted: the new files count already, so finish the move first
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(next_folder.stat(), own_folder):
                _move_files(next_folder, target)
        raise


def _rename_unless_taken(folder: Path, target: Path) -> bool:
    """Rename a folder and return True; return False if another run has already written there."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            return False
        raise
    return True


def _move_files(next_folder: Path, folder: Path) -> None:
    """Move the remaining files and remove outdated ones.

    JSON files, which record what the folder holds, go last: where a record is, its files are too.
    """
    names = {path.name for path in next_folder.iterdir()} - {_REMOVED_NAMES}
    if (next_folder / _REMOVED_NAMES).exists():
        for name in (next_folder / _REMOVED_NAMES).read_text(encoding="utf-8").splitlines():
            (folder / Path(name).name).unlink(missing_ok=True)
    # records last: see above
    for name in sorted(names, key=lambda name: (name.endswith(".json"), name)):
        (next_folder / name).replace(folder / name)
    (next_folder / _REMOVED_NAMES).unlink(missing_ok=True)
    try:
        next_folder.rmdir()
    except OSError as error:
        # as it was empty, another writer may have renamed its own folder over it, which is to stay
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT}:
            raise


def _flush_to_disk(path: Path) -> None:
    """Write the bytes of a file through to the disk, before it gets its final name."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
