"""Files and folders that are there whole or not at all, whatever ends the process that writes them.

They are made in a hidden folder beside their place, ``.parivox-HOST-PID-...``, and renamed. A lock
that ends with the process tells the next run whose hidden folders nobody writes to any more. In a
folder that is there already, ``.parivox-next`` with all new files appears in it, which is the one
moment at which they count; then they are moved, which whoever writes there next would finish.
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
"""How the names of folders begin in which something is being written."""
_NEXT, _GONE = f"{HIDDEN_PREFIX}next", ".gone"
"""Files that count but have not all moved yet, and among them the names of those that go."""
_HOST = re.sub("[^0-9A-Za-z]+", "-", platform.node())[:64]
_OF_HOST = re.compile(rf"\.parivox-{_HOST}-\d+-[0-9a-f]{{8}}")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_HEAD = 4096
_MARK = re.compile(
    rb'<meta name="generator" content="Parivox\b|<testsuites name="parivox gate"'
    rb"|(?:<!--|[%#]) Parivox [^\n]*: parivox (?:report|gate)"
    rb'|^\{\s*"parivox[-/]|^(?:#[^\n]*\n|\s)*parivox-thresholds:'
)
"""How files begin that say of themselves what wrote them."""
_IN_WORDS = re.compile(r"os error (\d+)|\d+ requested and \d+ written")
"""How Polars and NumPy tell an error of the system."""


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when the block ends, unless that fails."""
    goal = Path(os.path.realpath(path))
    with _hidden(goal.parent) as folder:
        aside = folder / Path(path).name  # whose ending tells formats
        yield aside
        _settle(aside)
        aside.replace(goal)


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str], own: Collection[str] = ()) -> Iterator[Path]:
    """A folder for files, which are in `path` when the block ends: all, or if that fails none.

    Of a folder that is there already, files of the same names are replaced, and those named in
    `own` that are not made anew go with them.
    """
    goal = Path(os.path.realpath(path))
    missing = [folder for folder in (goal, *goal.parents) if not folder.exists()]
    home = goal.parent if missing else goal
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _hidden(home) as aside:
            yield aside
            if not missing or not _renamed(aside, goal):
                _replace(aside, goal, own)
    finally:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only where nothing came of it


def sha256_of(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def current_path(folder: Path, name: str) -> Path:
    """Where a file of a folder lies, even if its writer was killed while files were moved."""
    following = folder / _NEXT
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if name in (following / _GONE).read_text(encoding="utf-8").splitlines():
            return following / name  # where it is not
    return following / name if (following / name).exists() else folder / name


def finish_move(folder: Path) -> None:
    """Move the files of a writer that was killed while it did."""
    following = folder / _NEXT
    with contextlib.ExitStack() as lock:
        if following.is_dir() and lock_folder(following, lock, waits=True):
            _move(following, folder)


def lock_folder(folder: Path, lock: contextlib.ExitStack, *, waits: bool = False) -> bool:
    """Hold a folder, which must be there, until `lock` is closed or the process ends.

    False if another process holds it, or has just removed it. Where a system has no such locks,
    every process may have it.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        number = os.open(folder, os.O_RDONLY)
        lock.callback(os.close, number)
        fcntl.flock(number, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        return os.path.samestat(os.fstat(number), folder.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def writable_file(path: str | os.PathLike[str], example: str) -> Path:
    """A file to write, links followed; refused if it is another's, or may not be written.

    Raises
    ------
    ConfigError
        If it cannot be written, or is there already and is neither empty nor of an earlier run.
    """
    text = os.fsdecode(path)
    try:
        file = Path(os.path.realpath(text))
        if not text:
            msg = f"'': names no file; name one, as in {example}"
            raise ConfigError(msg)
        if file.is_dir():
            msg = f"{text}: is a folder; name a file, as in {example}"
            raise ConfigError(msg)
        if not file.parent.is_dir():
            msg = f"{text}: there is no folder {file.parent}; name a file in a folder that exists"
            raise ConfigError(msg)
        is_other = file.exists() and not is_written_by_parivox(file)
    except (OSError, ValueError) as error:
        raise write_error(text, error) from error
    if is_other:
        msg = f"{text}: already exists and was not written by Parivox; name another file"
        raise ConfigError(msg)
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise write_error(text, PermissionError(f"{file.parent} is not a folder to write to"))
    return file


def is_written_by_parivox(file: Path) -> bool:
    """Whether a file says that it is a report, rule file or calibrator, or holds nothing."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if not head or _MARK.search(head):
        return True
    try:
        with zipfile.ZipFile(file) as book, book.open("docProps/core.xml") as properties:
            return b"<dc:creator>Parivox</dc:creator>" in properties.read(_HEAD)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, ValueError, RuntimeError):
        return False


@contextlib.contextmanager
def explain_write_errors(what: str, other: str = "file", kept: str = "") -> Iterator[None]:
    """Say in a sentence that `what` cannot be written, what to do, and what is kept.

    Raises
    ------
    ConfigError
        If the system refuses, above all because a disk is full.
    """
    try:
        yield
    except Exception as error:
        if (why := system_error(error)) is None:
            raise
        raise write_error(what, why, other, kept) from error


def write_error(
    what: str, error: OSError | ValueError, other: str = "file", kept: str = ""
) -> ConfigError:
    """What is said of a file or folder that cannot be written."""
    mend = f"mend that, or name another {other}"
    if getattr(error, "errno", None) in _FULL:
        mend = f"free some of its disk, or name a {other} on another"
    reason = getattr(error, "strerror", None) or str(error)
    return ConfigError(f"{what}: cannot be written ({reason}); {mend}{kept}")


def system_error(error: BaseException) -> OSError | None:
    """The system's error that one is or tells of, as libraries have words of their own for it."""
    told = _IN_WORDS.search(str(error))
    if told and not isinstance(error, ParivoxError) and getattr(error, "errno", None) is None:
        number = int(told[1] or errno.ENOSPC)
        return OSError(number, os.strerror(number))
    return error if isinstance(error, OSError) else None


class ScratchFolder:
    """A temporary folder that is removed when nothing needs it any more.

    That of a process which was killed goes with the next that needs one.
    """

    def __init__(self) -> None:
        home = Path(tempfile.gettempdir())
        with contextlib.ExitStack() as made, _room(home):
            self.path = made.enter_context(_hidden(home, mode=0o700))
            self.remove = weakref.finalize(self, made.pop_all().close)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextlib.contextmanager
    def file_to_write(self, name: str) -> Iterator[Path]:
        """A file in it to write to; a full disk is a sentence."""
        with _room(self.path.parent):
            yield self.path / name


@contextlib.contextmanager
def _room(home: Path) -> Iterator[None]:
    """Say in a sentence that there is no room for temporary files."""
    try:
        yield
    except Exception as error:
        why = system_error(error)
        if why is None or why.errno not in _FULL:
            raise
        msg = (
            f"{home}: has no room for what does not fit into memory ({why.strerror}); free some of "
            "its disk, or name a folder on another in the environment variable TMPDIR"
        )
        raise ConfigError(msg) from error


@contextlib.contextmanager
def _hidden(home: Path, mode: int = 0o777) -> Iterator[Path]:
    """A new hidden folder, held; what is left of it is removed in the end."""
    _clear(home)
    with contextlib.ExitStack() as lock:
        while True:
            folder = home / f"{HIDDEN_PREFIX}{_HOST}-{os.getpid()}-{os.urandom(4).hex()}"
            folder.mkdir(mode)
            lock.callback(shutil.rmtree, folder, ignore_errors=True)
            try:
                if lock_folder(folder, lock):
                    break
            except OSError:  # a disk without locks: nobody takes it for left
                break
        yield folder


def _clear(home: Path) -> None:
    """Remove the hidden folders of processes of this machine that have ended."""
    if os.name == "nt":  # which has no locks of folders
        return
    with contextlib.suppress(OSError), os.scandir(home) as entries:
        left = [one for one in entries if _OF_HOST.fullmatch(one.name)]
        for one in left:
            with contextlib.suppress(OSError), contextlib.ExitStack() as lock:
                if one.is_dir(follow_symlinks=False) and lock_folder(Path(one.path), lock):
                    shutil.rmtree(one.path, ignore_errors=True)


def _replace(aside: Path, goal: Path, own: Collection[str]) -> None:
    """Put the files of a folder in the place of those of another."""
    names = {path.name for path in aside.iterdir()}
    (aside / _GONE).write_text("\n".join(sorted({*own} - names)), encoding="utf-8")
    for path in aside.iterdir():
        _settle(path)
    finish_move(goal)
    while not _renamed(aside, goal / _NEXT):
        finish_move(goal)
    try:
        _move(goal / _NEXT, goal)
    except BaseException:  # interrupted: what counts already is brought to its end first
        with contextlib.suppress(FileNotFoundError):
            _move(goal / _NEXT, goal)
        raise


def _renamed(folder: Path, goal: Path) -> bool:
    """Rename a folder; False if another run came before."""
    try:
        folder.rename(goal)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            return False
        raise
    return True


def _move(following: Path, folder: Path) -> None:
    """Move what is there still; records go last, as they say that the rest is there."""
    names = {path.name for path in following.iterdir()} - {_GONE}
    if (following / _GONE).exists():
        for name in (following / _GONE).read_text(encoding="utf-8").splitlines():
            (folder / Path(name).name).unlink(missing_ok=True)
    for name in sorted(names, key=lambda name: (name.endswith(".json"), name)):
        (following / name).replace(folder / name)
    (following / _GONE).unlink(missing_ok=True)
    following.rmdir()


def _settle(path: Path) -> None:
    """Have the bytes of a file on the disk before it gets its name."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
