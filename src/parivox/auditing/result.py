"""The result of an audit: tidy tables with fixed columns, and how they were made.

The tables and ``audit.json`` are functions of the trials, the speakers and the options: the
same trials in another order, format or compression give the same bytes. What depends on the
files themselves (names, hashes of their bytes) stands apart, in ``provenance.json``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.auditing.sources import storable
from parivox.errors import ConfigError, DataError, shown
from parivox.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TABLES", "Audit", "check_folder", "check_format", "load"]

SCHEMA_VERSION = "3"
_KEY = {"system": "str", "list": "str", "grouping": "str"}
_METRIC = {"allocation": "str", "metric": "str", "definition": "str", "operating_point": "str"}

TABLES: dict[str, dict[str, str]] = {
    "groups": {
        **_KEY,
        "group": "str",
        **_METRIC,
        "value": "float",
        "errors": "int",
        "trials": "int",
        "target_trials": "int",
        "nontarget_trials": "int",
        "speakers": "int",
        "threshold": "float",
        "reason": "str",
        "within": "str",
        "low": "float",
        "high": "float",
        "interval": "str",
        "deff": "float",
        "n_eff": "float",
        "df": "float",
        "se": "float",
        "note": "str",
    },
    "bias": {
        **_KEY,
        "group": "str",
        **_METRIC,
        "measure": "str",
        "reference": "str",
        "zero": "str",
        "value": "float",
        "reason": "str",
        "within": "str",
        "low": "float",
        "high": "float",
        "p": "float",
        "p_holm": "float",
        "p_bh": "float",
        "floor_mean": "float",
        "floor_95": "float",
        "note": "str",
    },
    "meta": {
        **_KEY,
        **_METRIC,
        "measure": "str",
        "alpha": "float",
        "zero": "str",
        "value": "float",
        "low_group": "str",
        "high_group": "str",
        "groups": "int",
        "higher_is_fairer": "bool",
        "reason": "str",
        "within": "str",
        "low": "float",
        "high": "float",
        "floor_mean": "float",
        "floor_95": "float",
        "p": "float",
        "gated": "bool",
        "note": "str",
    },
    "verdicts": {
        **_KEY,
        "group": "str",
        "allocation": "str",
        "metric": "str",
        "operating_point": "str",
        "reference": "str",
        "ratio": "float",
        "low": "float",
        "high": "float",
        "p": "float",
        "p_holm": "float",
        "p_bh": "float",
        "margin": "float",
        "verdict": "str",
        "gates": "str",
        "sentence": "str",
        "reason": "str",
        "within": "str",
    },
    "limits": {
        **_KEY,
        "group": "str",
        "allocation": "str",
        "metric": "str",
        "operating_point": "str",
        "measure": "str",
        "limit": "float",
        "value": "float",
        "low": "float",
        "high": "float",
        "verdict": "str",
        "reason": "str",
        "within": "str",
    },
    "comparison": {
        "system": "str",
        "list": "str",
        "other_system": "str",
        "other_list": "str",
        "grouping": "str",
        "group": "str",
        **_METRIC,
        "measure": "str",
        "reference": "str",
        "alpha": "float",
        "zero": "str",
        "value": "float",
        "other": "float",
        "difference": "float",
        "low": "float",
        "high": "float",
        "log_ratio": "float",
        "log_low": "float",
        "log_high": "float",
        "p": "float",
        "speakers": "str",
        "reason": "str",
        "within": "str",
    },
    "matrix": {
        **_KEY,
        "operating_point": "str",
        "enrol_group": "str",
        "test_group": "str",
        "errors": "int",
        "trials": "int",
        "value": "float",
        "reason": "str",
        "within": "str",
    },
    "operating_points": {
        "system": "str",
        "list": "str",
        "operating_point": "str",
        "definition": "str",
        "threshold": "float",
        "source": "str",
        "fpr": "float",
        "fnr": "float",
        "cdet_norm": "float",
        "reason": "str",
        "within": "str",
    },
    "data": {
        "system": "str",
        "list": "str",
        "source": "str",
        "grouping": "str",
        "group": "str",
        "item": "str",
        "count": "int",
        "value": "float",
        "note": "str",
        "within": "str",
    },
    "det": {
        **_KEY,
        "group": "str",
        "threshold": "float",
        "fpr": "float",
        "fnr": "float",
        "allocation": "str",
        "within": "str",
    },
    "sweep": {
        **_KEY,
        "allocation": "str",
        "metric": "str",
        "operating_point": "str",
        "threshold": "float",
        "measure": "str",
        "alpha": "float",
        "zero": "str",
        "value": "float",
        "low_group": "str",
        "high_group": "str",
        "groups": "int",
        "higher_is_fairer": "bool",
        "reason": "str",
        "within": "str",
    },
}
"""Columns of each table, in order, with their kinds."""

CURVES = ("det", "sweep")
"""Tables too long for text: always Parquet."""
ON_REQUEST = ("verdicts", "limits", "comparison", "sweep")
"""Tables that are left out where they are empty."""

ASIDE, OLD = ".parivox-", "old"
"""The hidden folder of an audit that is being written, and what stood there before, inside it."""


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """An audit's tables and record; every table goes into any dataframe library.

    Attributes
    ----------
    groups, bias, meta, matrix, operating_points, data, det : Table
        See the page "What an audit writes".
    verdicts, limits : Table
        Empty without intervals.
    comparison, sweep : Table
        Empty unless a comparison, or a sweep, was asked for.
    record : dict
        Options, definitions, versions and content hashes.
    provenance : list of dict
        The files that were read: name, format, hash of their bytes.
    """

    groups: Table
    bias: Table
    meta: Table
    verdicts: Table
    limits: Table
    comparison: Table
    matrix: Table
    operating_points: Table
    data: Table
    det: Table
    sweep: Table
    record: dict[str, Any]
    provenance: list[dict[str, Any]]

    def __repr__(self) -> str:
        told = [
            f"{one['system']}@{one['list']}" if one["list"] else one["system"]
            for one in self.record["inputs"]
        ]
        groupings = ", ".join(self.record["groupings"])
        sizes = ", ".join(f"{name} {len(table)}" for name, table in self.tables().items())
        return shown(f"<Audit of {', '.join(told)} by {groupings}; rows: {sizes}>")

    def tables(self) -> dict[str, Table]:
        """Every table by name; those on request only if there is anything in them."""
        found = {name: getattr(self, name) for name in TABLES}
        return {n: table for n, table in found.items() if n not in ON_REQUEST or len(table)}

    def to_dict(self) -> dict[str, Any]:
        """All of the audit but its curves, as JSON can hold it (infinite values as "inf")."""
        tables = {
            name: {column: _plain(cells) for column, cells in table.to_dict().items()}
            for name, table in self.tables().items()
            if name not in CURVES
        }
        return {"parivox_audit": SCHEMA_VERSION, **self.record, "tables": tables}

    def to_json(self) -> str:
        """The audit as one line of JSON a table; the schema is shipped as ``audit.schema.json``."""
        told = {"parivox_audit": SCHEMA_VERSION, **self.record}
        head = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)[:-2]
        body = ",\n".join(
            f"  {json.dumps(name)}: {table.to_json()}"
            for name, table in self.tables().items()
            if name not in CURVES
        )
        return f'{head},\n "tables": {{\n{body}\n }}\n}}\n'

    def write(self, folder: str | os.PathLike[str], *, format: str = "csv") -> None:  # noqa: A002
        """Write every table, ``audit.json`` and ``provenance.json``: all of them or nothing.

        Everything is first written to a hidden folder. A new folder then takes its place at
        once. In a folder that exists, the files of an earlier audit are moved aside, its
        ``audit.json`` first, and the new ones moved in, ``audit.json`` last; if one move fails,
        or the run is interrupted, all are taken back. So a folder with an ``audit.json`` holds
        one whole audit; a run that is killed between two moves leaves none, which
        :func:`load` tells, and the next audit written there clears up.

        Parameters
        ----------
        folder
            Made if missing; an earlier audit in it is replaced. The folder itself, its mode and
            links to it stay.
        format : {"csv", "parquet"}
            Of the tables; the curves (det, sweep) are Parquet always.

        Raises
        ------
        ConfigError
            If the folder cannot be written, or holds something other than an earlier audit.
        """
        check_format(format)
        out = check_folder(folder)
        try:
            with _staging(out) as aside:
                self._fill(aside, format)
                if aside.parent == out:
                    _exchange(aside, out)
                else:
                    aside.rename(out)
        except OSError as error:
            raise _unwritable(folder, error) from error

    def _fill(self, folder: Path, format: str) -> None:  # noqa: A002 - the option's word
        for name, table in self.tables().items():
            path = folder / f"{name}.{'parquet' if name in CURVES else format}"
            try:
                table.write(path)
            except Exception as error:  # a full disk is an error of Polars' own for Parquet
                raise OSError(getattr(error, "strerror", None) or str(error)) from error
        (folder / "audit.json").write_text(self.to_json(), encoding="utf-8", newline="\n")
        told = _storable(self.provenance)
        text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
        (folder / "provenance.json").write_text(text, encoding="utf-8", newline="\n")


def check_format(format: str) -> None:  # noqa: A002 - the option's word
    """Refuse a format of tables that is not known."""
    if format not in {"csv", "parquet"}:
        msg = f"--format {format!r} is not known; choose csv or parquet"
        raise ConfigError(msg)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder to write to, links followed, if it may be written."""
    text = os.fsdecode(folder)
    if not text or text != storable(text):
        why = "its name is not UTF-8" if text else "names no folder"
        msg = f"--out {text or repr(text)}: {why}; name a folder that is new or empty"
        raise ConfigError(msg)
    try:
        out = Path(os.path.realpath(text))
        missing: list[str] = []
        above = out
        while not _is_there(above):
            above, missing = above.parent, [above.name, *missing]
        for name in missing:
            _is_there(above / name)  # which tells now what is too long a name
        is_folder = above.is_dir()
        strangers = [] if missing or not is_folder else _strangers(out)
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error) from error
    if not missing and not is_folder:
        msg = f"--out {text}: is a file, not a folder; name a folder that is new or empty"
        raise ConfigError(msg)
    if strangers:
        msg = (
            f"--out {text}: holds {strangers[0]!r}, which is not an earlier audit's; "
            "name a folder that is new or empty"
        )
        raise ConfigError(msg)
    if not os.access(above, os.W_OK | os.X_OK):
        raise _unwritable(folder, PermissionError(f"{above} is not a folder that can be written"))
    return out


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _strangers(folder: Path) -> list[str]:
    """What in a folder is not of an earlier audit or of one that was being written."""
    kinds = {entry.name: entry.lstat().st_mode for entry in folder.iterdir()}
    begun = {name for name, mode in kinds.items() if name.startswith(ASIDE) and stat.S_ISDIR(mode)}
    own = _own_files() if begun or _holds_audit(folder) else set()
    plain = {name for name in own if not stat.S_ISDIR(kinds.get(name, 0))}
    return sorted(kinds.keys() - begun - plain)


def _own_files() -> set[str]:
    tables = {f"{name}.{kind}" for name in TABLES for kind in ("csv", "parquet")}
    return {"audit.json", "provenance.json", *tables}


def _holds_audit(folder: Path) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if (folder / "audit.json").is_file():
            with (folder / "audit.json").open(encoding="utf-8") as file:
                return '"parivox_audit"' in file.read(200)
    return False


@contextlib.contextmanager
def _staging(out: Path) -> Iterator[Path]:
    """A hidden folder, in `out` if that exists, else beside it; gone in the end."""
    home = out if out.is_dir() else out.parent
    missing = [folder for folder in (home, *home.parents) if not folder.exists()]
    aside = home / f"{ASIDE}{os.urandom(6).hex()}"
    try:
        aside.mkdir(parents=True)
        yield aside
    finally:
        if not (aside / OLD).exists():  # else the only copy of the earlier audit
            shutil.rmtree(aside, ignore_errors=True)
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only where nothing came of it


def _exchange(aside: Path, out: Path) -> None:
    """Move an earlier audit's files out and the new ones in, or, if one move fails, none."""
    entries = sorted(entry.name for entry in out.iterdir())
    begun = [name for name in entries if name.startswith(ASIDE) and name != aside.name]
    before = sorted(set(entries) & _own_files(), key=lambda name: name != "audit.json")
    names = sorted((file.name for file in aside.iterdir()), key=lambda name: name == "audit.json")
    old = aside / OLD
    old.mkdir()
    moves = [(out / name, old / name) for name in before]
    moves += [(aside / name, out / name) for name in names]
    done: list[tuple[Path, Path]] = []
    try:
        for move in moves:
            done.append(move)  # before it is made: it may be interrupted
            move[0].rename(move[1])
    except BaseException:
        for source, goal in reversed(done):
            with contextlib.suppress(FileNotFoundError):
                goal.rename(source)
        old.rmdir()
        raise
    old.rename(aside / "replaced")
    for name in begun:
        shutil.rmtree(out / name, ignore_errors=True)


def _unwritable(folder: str | os.PathLike[str], error: Exception) -> ConfigError:
    told = getattr(error, "strerror", None) or str(error)
    name = os.fsdecode(folder)
    return ConfigError(f"--out {name}: cannot be written ({told}); name another folder")


def _storable(value: Any) -> Any:
    """Names of files as UTF-8 can hold them."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, (list, tuple)) else value


def _plain(cells: list[Any]) -> list[Any]:
    """Cells as JSON can hold them: it has no infinities."""
    first = next((cell for cell in cells if cell is not None), None)
    if not isinstance(first, float) or not {math.inf, -math.inf}.intersection(cells):
        return cells
    return [str(cell) if cell in {math.inf, -math.inf} else cell for cell in cells]


def load(folder: str | os.PathLike[str]) -> Audit:
    """Load an audit that was written earlier.

    Parameters
    ----------
    folder
        The ``--out`` folder of an audit.

    Raises
    ------
    DataError
        If the folder does not hold a whole audit of this version.
    """
    home = Path(folder)
    try:
        record = json.loads((home / "audit.json").read_text(encoding="utf-8"))
        provenance = json.loads((home / "provenance.json").read_text(encoding="utf-8"))
        version = record.pop("parivox_audit")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = "writing one was interrupted; audit again" if _begun(home) else error
        msg = f"{folder}: does not hold an audit ({why}); name the --out folder of one"
        raise DataError(msg) from error
    if version != SCHEMA_VERSION:
        msg = (
            f"{folder}: written in version {version!r}, this Parivox reads {SCHEMA_VERSION!r}; "
            "audit again"
        )
        raise DataError(msg)
    try:
        tables = record.pop("tables")
        found = {
            name: (
                Table.empty(columns)
                if name in ON_REQUEST and name not in tables
                else Table.of(tables[name], columns)
            )
            for name, columns in TABLES.items()
            if name not in CURVES
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"{folder}: audit.json is damaged ({error!r}); audit again"
        raise DataError(msg) from error
    for name in CURVES:
        path = home / f"{name}.parquet"
        wanted = name == "det" or record.get("options", {}).get("sweep")
        found[name] = Table.read(path) if wanted else Table.empty(TABLES[name])
    return Audit(**found, record=record, provenance=provenance)


def _begun(home: Path) -> bool:
    """Whether an audit was being written there and not finished."""
    with contextlib.suppress(OSError, ValueError):
        return any(entry.name.startswith(ASIDE) for entry in home.iterdir())
    return False
