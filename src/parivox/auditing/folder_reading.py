"""Reading the folder of an audit, whichever version of Parivox wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.auditing.folder import HASHES, audit_files, file_hash, read_bytes
from parivox.auditing.old_sentences import facts_of_sentences, shares_of_sentence
from parivox.auditing.old_verdicts import holds_sentences, verdict_facts
from parivox.auditing.options import Options
from parivox.auditing.private import PRIVATE, PrivateKey
from parivox.auditing.schema import (
    CURVES,
    FIRST_COLUMNS,
    OLD_VERDICTS,
    ON_REQUEST,
    SCHEMA_OF_SENTENCES,
    SCHEMA_VERSION,
    TABLES,
)
from parivox.data.formats.dataframes import UndecodedTable, check_decodes
from parivox.data.table import Table
from parivox.errors import DataError, ParivoxError
from parivox.facts import (
    FACT_COLUMNS,
    VALUES_COLUMN,
    Fact,
    cell_of_row,
    is_values_cell,
    with_values,
)
from parivox.options.audit import AuditOptions
from parivox.options.kinds import option_fields
from parivox.runtime.disk import current_path

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError)
"""What JSON may end in that is not as it was written."""
_EVERY_KEY = "*"
_RECORD_SHAPE = {
    "groupings": [str],
    "inputs": [{"system": str, "list": str}],
    "development": [dict],
    "resolution": {"exact": bool, "bounds": {_EVERY_KEY: {_EVERY_KEY: (int, float)}}},
    "cost_models": {_EVERY_KEY: dict},
    "speaker_blocks": bool,
    "primary": {_EVERY_KEY: str},
    "list_checks": {_EVERY_KEY: [{"id": str, "facts": [{"code": str, "values": dict}]}]},
    "confounding": {_EVERY_KEY: [{"attribute": str, "other": str}]},
    "error_types": [str],
    "attacks": [str],
    "countermeasure_thresholds": {_EVERY_KEY: (int, float)},
    "groups_file": dict,
    "thresholds": dict,
}
"""Kinds of the entries of a record, which has some of them only where they apply."""
_ALWAYS_RECORDED = ("groupings", "inputs")
_REMOVABLE_FILE = "pairing.parquet"
"""What may be removed from a shared folder: docs/compare.md#when-two-audits-are-paired."""


def read_folder(
    folder: str | os.PathLike[str],
) -> tuple[dict[str, Table], dict[str, Any], list[dict[str, Any]]]:
    """Return the tables, the record and the provenance that `parivox.auditing.folder` wrote.

    Where another version of Parivox wrote it, columns, tables and options that it lacks are empty,
    those that are not known here are set aside, and ``other_version`` in the record says which
    and why.

    Raises
    ------
    DataError
        If the folder does not hold a whole audit of this version of the schema, as it was written.
    """
    home = Path(folder)
    try:
        record = json.loads(read_bytes(current_path(home, "audit.json")))
        version = record.pop("parivox_audit")
    except (*_UNREADABLE, OSError) as error:
        if current_path(home, "audit.json").is_file() and current_path(home, HASHES).is_file():
            _check_hashes(home)
        reason = _no_audit_reason(home)
        msg = f"{folder}: does not contain an audit ({reason})"
        hint = "name the --out folder of an audit"
        raise DataError(msg, hint) from error
    if version not in {SCHEMA_VERSION, SCHEMA_OF_SENTENCES}:
        is_newer = str(version).isdecimal() and int(version) > int(SCHEMA_VERSION)
        remedy = "audit again, or use the version of Parivox that wrote it"
        if is_newer:
            remedy = "update Parivox"
        msg = (
            f"{folder}: has format version {version!r}, but this Parivox reads version "
            f"{SCHEMA_VERSION!r}"
        )
        raise DataError(msg, remedy)
    _check_hashes(home)
    try:
        provenance = _provenance(home)
        other_version = _OtherVersion(record["versions"]["parivox"], version)
        record["options"] = other_version.options(record["options"])
        if other_version.has_sentences:
            other_version.replace_sentences(record)
        _check_record(record)
        cells = record.pop("tables")
        other_version.read_points(cells["operating_points"], record["options"])
        tables = {
            name: other_version.table(name, cells[name])
            if name in cells
            else other_version.no_table(name)
            for name in TABLES
            if name not in CURVES
        }
        other_version.set_aside(cells.keys() - TABLES.keys())
    except (*_UNREADABLE, OSError, ParivoxError) as error:
        msg = f"{folder}: audit.json is damaged ({error!r:.200})"
        hint = "audit again"
        raise DataError(msg, hint) from error
    _check_curves(home)
    for name in CURVES:
        tables[name] = _read_curve(
            current_path(home, f"{name}.parquet"), name, record["options"], other_version
        )
    if other_version.differences:
        record["other_version"] = record.get("other_version", {}) | other_version.differences
    return tables, record, provenance


def _check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record with an entry of another kind than what is written."""
    for name, shape in _RECORD_SHAPE.items():
        is_recorded = name in record or name in _ALWAYS_RECORDED
        if is_recorded and not _has_shape(record[name], shape):
            msg = f"{name} is not what an audit records"
            raise ValueError(msg)
    measured = record["tables"]["groups"]
    systems = {*zip(measured["system"], measured["list"], strict=True)}
    if {(entry["system"], entry["list"]) for entry in record["inputs"]} != systems:
        msg = "inputs are not the systems of the tables"
        raise ValueError(msg)


def _has_shape(value: Any, shape: Any) -> bool:
    """Return whether a value is of a type, a list of such, or an object with such entries."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(entry, shape[0]) for entry in value)
    if not isinstance(shape, dict):
        return isinstance(value, shape)
    if not isinstance(value, dict):
        return False
    if _EVERY_KEY in shape:
        return all(_has_shape(entry, shape[_EVERY_KEY]) for entry in value.values())
    return all(key in value and _has_shape(value[key], inner) for key, inner in shape.items())


def _provenance(home: Path) -> list[dict[str, Any]]:
    """Return the files that were read."""
    entries = json.loads(read_bytes(current_path(home, "provenance.json")))
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        msg = "provenance.json is no list of files"
        raise ValueError(msg)
    return entries


def _is_entry(file_entry: Any) -> bool:
    """Return whether an entry has the role, the name and the columns of a file."""
    if not isinstance(file_entry, dict) or not isinstance(file_entry.get("role"), str):
        return False
    columns = file_entry.get("columns", {})
    is_named = isinstance(file_entry.get("name", ""), str) and isinstance(columns, dict)
    return is_named and (file_entry["role"] != "speakers" or isinstance(columns.get("id"), str))


def _check_curves(home: Path) -> None:
    """Decode the tables of a folder in another process first, if it came from elsewhere.

    Folders are handed on without their private key, and so are known by it.
    """
    if PrivateKey.is_in(home):
        return
    paths = (current_path(home, f"{name}.parquet") for name in CURVES)
    undecoded = [UndecodedTable(str(path), "parquet", path) for path in paths if path.is_file()]
    if undecoded:
        check_decodes(*undecoded)


def _read_curve(
    path: Path, name: str, options: Mapping[str, Any], other_version: _OtherVersion
) -> Table:
    may_lack = name in ON_REQUEST or name not in FIRST_COLUMNS
    is_left_out = may_lack and not path.is_file()
    if name in ON_REQUEST and name in options:  # a sweep, which is there if it was asked for
        is_left_out = not options[name]
    if is_left_out:
        return other_version.no_table(name)
    table = Table.read(path)
    if table.columns == tuple(TABLES[name]):
        return table
    if not FIRST_COLUMNS.get(name, {}).keys() <= {*table.columns}:
        msg = f"{path}: the columns are not those of version {SCHEMA_VERSION}"
        hint = "audit again"
        raise DataError(msg, hint)
    return other_version.table(name, table.to_dict())


class _OtherVersion:
    """An audit as another version of Parivox wrote it, brought to the tables of this one."""

    def __init__(self, writer: str, schema: str) -> None:
        self.has_sentences = schema == SCHEMA_OF_SENTENCES
        self.writer = writer
        # `table.column`, `table` or `option NAME`: the fact that it was missing or set aside
        self.differences: dict[str, dict[str, Any]] = {}
        self.confidence = 0.95
        self.infinite_points: set[tuple[str, str, str]] = set()

    def table(self, name: str, cells: dict[str, list[Any]]) -> Table:
        """A table with the columns of today; those that came after it was written are empty."""
        columns = TABLES[name]
        n_rows = len(cells[next(iter(columns))])
        self.set_aside(f"{name}.{column}" for column in cells.keys() - columns.keys())
        empty_columns = {}
        for column, kind in columns.items():
            if column == VALUES_COLUMN and self.has_sentences:
                continue  # comes from the sentences
            if column not in cells and column not in FIRST_COLUMNS.get(name, ()):
                self.differences[f"{name}.{column}"] = self._missing("column")
                empty_columns[column] = ["" if kind == "str" else None] * n_rows
        for column, kind in columns.items():
            if kind == "str" and None in cells.get(column, ()):
                msg = f"{name}.{column} lacks a text"
                raise ValueError(msg)
        cells = cells | empty_columns
        if self.has_sentences and "verdict" in columns:
            cells["verdict"] = [OLD_VERDICTS.get(word, word) for word in cells["verdict"]]
        if VALUES_COLUMN in columns:
            cells = self._with_facts(name, cells)
        if not all(map(is_values_cell, {*cells.get(VALUES_COLUMN, ())})):
            msg = f"{name}.{VALUES_COLUMN} contains no values of facts"
            raise ValueError(msg)
        return Table.of(cells, columns)

    def _with_facts(self, name: str, cells: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Return the cells of a table with codes in the place of sentences."""
        columns = TABLES[name]
        has_verdict_sentences = name == "verdicts" and holds_sentences(cells["sentence"])
        if not self.has_sentences and not has_verdict_sentences:
            return cells
        fact_columns = [
            column
            for column in FACT_COLUMNS
            if columns.get(column) == "str" and column != "sentence"
        ]
        if self.has_sentences:
            read_cells = {
                column: list(map(facts_of_sentences, cells[column])) for column in fact_columns
            }
        else:
            rows = [
                dict(zip(cells, values, strict=True))
                for values in zip(*cells.values(), strict=True)
            ]
            read_cells = {
                column: [cell_of_row(row, column) for row in rows] for column in fact_columns
            }
        cells = cells | read_cells
        if has_verdict_sentences:
            cells["sentence"] = verdict_facts(cells, self.infinite_points, self.confidence)
        return {**with_values(cells, columns)}

    def read_points(self, cells: dict[str, list[Any]], options: Mapping[str, Any]) -> None:
        """Take what verdicts rest on: which thresholds are infinite, and the confidence."""
        self.confidence = float(options["confidence"])
        columns = (cells[name] for name in ("system", "list", "operating_point", "threshold"))
        for system, list_, point, threshold in zip(*columns, strict=True):
            if isinstance(threshold, str):  # JSON has no infinite numbers
                self.infinite_points.add((system, list_, point))

    def replace_sentences(self, record: dict[str, Any]) -> None:
        """Replace the sentences in a record: those on associated attributes by their shares."""
        for associations in record.get("confounding", {}).values():
            for row in associations:
                sentence = row.pop("sentence")
                row["shares"] = shares_of_sentence(sentence, row["attribute"], row["other"])
        for checks in record.get("list_checks", {}).values():
            for check in checks:
                # what a check found is shown as it was written
                check["facts"] = [{"code": check.pop("sentence"), "values": {}}]
                del check["what"]
        record.pop("compat", None)
        definitions = record["definitions"]  # kept, as this release may do otherwise
        record["cost_models"] = definitions["cost_models"]
        record["speaker_blocks"] = "rates_of_blocks" in definitions["uncertainty"]

    def no_table(self, name: str) -> Table:
        """A table that was not written: nothing was asked of it, or it came later."""
        if name not in ON_REQUEST:
            if name in FIRST_COLUMNS:
                raise KeyError(name)
            self.differences[name] = self._missing("table")
        return Table.empty(TABLES[name])

    def options(self, recorded_options: dict[str, Any]) -> dict[str, Any]:
        """Options as they were chosen; those that came later are at their default."""
        defaults = json.loads(json.dumps(Options().recorded()))
        for name, option in option_fields(AuditOptions).items():
            if name in recorded_options and option.is_recorded:
                option.check(recorded_options[name])
        later = {
            name: default for name, default in defaults.items() if name not in recorded_options
        }
        for name in later:
            self.differences[f"option {name}"] = self._missing("option")
        return recorded_options | later

    def set_aside(self, names: Iterable[str]) -> None:
        """Tables and columns that are not known."""
        unknown = Fact("unknown_to_this_version", {})._asdict()
        self.differences |= dict.fromkeys(sorted(names), unknown)

    def _missing(self, kind: str) -> dict[str, Any]:
        """Return the fact that a column, table or option was not written."""
        return Fact("missing_in_version", {"version": self.writer, "kind": kind})._asdict()


def _check_hashes(home: Path) -> None:
    """Refuse a folder of which a file is not as it was written, or not named among the hashes."""
    remedy = "audit again, or fetch the folder again"
    try:
        lines = read_bytes(current_path(home, HASHES)).decode().splitlines()
        hashes = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{home}: {HASHES}, which detects altered files, is missing or unreadable"
        raise DataError(msg, remedy) from error
    existing = {
        name for name in audit_files() - {HASHES, PRIVATE} if current_path(home, name).is_file()
    }
    unnamed = sorted((existing | {"audit.json", "provenance.json"}) - hashes.keys())
    if unnamed:
        msg = f"{home}: {HASHES} has been altered: it does not list {unnamed[0]}"
        raise DataError(msg, remedy)
    for name, digest in hashes.items():
        if name == _REMOVABLE_FILE and not current_path(home, name).is_file():
            continue
        try:
            if name != Path(name).name or file_hash(current_path(home, name)) != digest:
                msg = f"{home}: {name} has been altered since it was written"
                raise DataError(msg, remedy)
        except (OSError, ValueError) as error:
            msg = f"{home}: {name} is missing"
            raise DataError(msg, remedy) from error


def _no_audit_reason(home: Path) -> str:
    """Why a folder holds no audit that can be read, in plain words."""
    if not home.is_dir():
        return "this is a file, not a folder" if home.exists() else "there is no such folder"
    if not current_path(home, "audit.json").is_file():
        return "audit.json is missing"
    return "audit.json cannot be read, or was not written by Parivox"
