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
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parivox.errors import ConfigError, DataError
from parivox.tables.table import Table

__all__ = ["TABLES", "Audit", "check_folder", "check_format", "load"]

SCHEMA_VERSION = "1"
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
    },
    "det": {
        **_KEY,
        "group": "str",
        "threshold": "float",
        "fpr": "float",
        "fnr": "float",
        "allocation": "str",
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
    },
}
"""Columns of each table, in order, with their kinds."""

CURVES = ("det", "sweep")
"""Tables too long for text: always Parquet."""


@dataclass(frozen=True, eq=False)
class Audit:
    """An audit's tables and record; every table goes into any dataframe library.

    Attributes
    ----------
    groups, bias, meta, matrix, operating_points, data, det : Table
        See the page "What an audit writes".
    sweep : Table
        Empty unless a sweep was asked for.
    record : dict
        Options, definitions, versions and content hashes.
    provenance : list of dict
        The files that were read: name, format, hash of their bytes.
    """

    groups: Table
    bias: Table
    meta: Table
    matrix: Table
    operating_points: Table
    data: Table
    det: Table
    sweep: Table
    record: dict[str, Any]
    provenance: list[dict[str, Any]]

    def tables(self) -> dict[str, Table]:
        """Every table by name; the sweep only if there is one."""
        found = {name: getattr(self, name) for name in TABLES}
        return {name: table for name, table in found.items() if name != "sweep" or len(table)}

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
        whole = self.to_dict()
        tables = whole.pop("tables")
        head = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)[:-2]
        body = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(table, ensure_ascii=False, allow_nan=False)}"
            for name, table in tables.items()
        )
        return f'{head},\n "tables": {{\n{body}\n }}\n}}\n'

    def write(self, folder: str | os.PathLike[str], *, format: str = "csv") -> None:  # noqa: A002
        """Write every table, ``audit.json`` and ``provenance.json``: all of them or nothing.

        Parameters
        ----------
        folder
            Made if missing; an earlier audit in it is replaced.
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
            out.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        except OSError as error:
            raise _unwritable(out, error) from error
        try:
            for name, table in self.tables().items():
                kind = "parquet" if name in CURVES else format
                table.write(aside / f"{name}.{kind}")
            (aside / "audit.json").write_text(self.to_json(), encoding="utf-8")
            told = json.dumps(self.provenance, indent=1, ensure_ascii=False)
            (aside / "provenance.json").write_text(told + "\n", encoding="utf-8")
            aside.chmod(0o777 & ~_umask())
            _replace(out, aside)
        except OSError as error:
            raise _unwritable(out, error) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def check_format(format: str) -> None:  # noqa: A002 - the option's word
    """Refuse a format of tables that is not known."""
    if format not in {"csv", "parquet"}:
        msg = f"--format {format!r} is not known; choose csv or parquet"
        raise ConfigError(msg)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder to write to, if it may be written."""
    out = Path(folder).absolute()
    if out.exists():
        if not out.is_dir():
            msg = f"--out {folder}: is a file, not a folder; name a folder that is new or empty"
            raise ConfigError(msg)
        try:
            strangers = sorted({entry.name for entry in out.iterdir()} - _own_files(out))
        except OSError as error:
            raise _unwritable(out, error) from error
        if strangers:
            msg = (
                f"--out {folder}: holds {strangers[0]!r}, which is not an earlier audit's; "
                "name a folder that is new or empty"
            )
            raise ConfigError(msg)
    above = next(parent for parent in (out, *out.parents) if parent.exists())
    if not above.is_dir() or not os.access(above if above != out else out.parent, os.W_OK):
        raise _unwritable(out, PermissionError(f"{above} is not a folder that can be written"))
    return out


def _own_files(folder: Path) -> set[str]:
    if not (folder / "audit.json").is_file():
        return set()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        with (folder / "audit.json").open(encoding="utf-8") as file:
            if '"parivox_audit"' not in file.read(200):
                return set()
        tables = {f"{name}.{kind}" for name in TABLES for kind in ("csv", "parquet")}
        return {"audit.json", "provenance.json", *tables}
    return set()


def _replace(out: Path, aside: Path) -> None:
    """Put the new folder where the old one stood; the old one is whole until then."""
    if not out.exists():
        aside.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    out.rename(old / "old")
    try:
        aside.rename(out)
    except OSError:
        (old / "old").rename(out)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(out: Path, error: OSError) -> ConfigError:
    told = error.strerror or str(error)
    return ConfigError(f"--out {out}: cannot be written ({told}); name another folder")


def _plain(cells: list[Any]) -> list[Any]:
    """Cells as JSON can hold them: it has no infinities."""
    if math.inf not in cells and -math.inf not in cells:
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
        msg = f"{folder}: does not hold an audit ({error}); name the --out folder of one"
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
            name: Table.of(tables[name], columns)
            for name, columns in TABLES.items()
            if name not in CURVES
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"{folder}: audit.json is damaged ({error!r}); audit again"
        raise DataError(msg) from error
    for name in CURVES:
        path = home / f"{name}.parquet"
        found[name] = Table.read(path) if path.is_file() else Table.empty(TABLES[name])
    return Audit(**found, record=record, provenance=provenance)
