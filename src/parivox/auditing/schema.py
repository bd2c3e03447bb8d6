"""The tables of an audit: their columns, which of them are always written, rows in the making.

A column is added in `ADDED_COLUMNS`, and where its table is filled; audits that were written before
are read as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.table import Table
from parivox.facts import VALUES_COLUMN, with_values
from parivox.runtime.memory import give_back_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = "6"
"""Goes up where columns that were written before change their meaning, not where one is added."""
SCHEMA_OF_SENTENCES = "5"
"""That of 0.1 and 0.2, whose reasons and notes are sentences (`old_sentences`)."""
CROSSED_GALLERIES, FEW_PROBE_SPEAKERS = "speakers_cross_galleries", "few_probe_speakers"
"""Codes of why an audit of searches has rates only, in its record."""
LIMITS = ("limit", "ratio_limit")
"""Measures with a verdict: of a rate, and of its ratio to the first reference."""
IS_REFERENCE = "is_reference"
"""Reason code: a group is what the others are compared with."""
SPEAKERS_BELOW_MINIMUM = "speakers_below_minimum"
"""Code of the first minimum: a group has too few speakers, for both rates."""
PAIRS_BELOW_MINIMUM = "pairs_below_minimum"
"""Code of the last minimum: a group has too few pairs of speakers."""
THRESHOLD_VARIES = "threshold_varies"
"""Code: an interval includes the variation of the threshold."""
CASCADE_SOURCE = "countermeasure"
"""Source of rows of the table ``data`` on the two stages of a cascade."""
WITHOUT_FIRST_SCORE = "trials_without_countermeasure_score"
REJECTED_FIRST = "target_trials_rejected_by_countermeasure"
REJECTED_SECOND = "target_trials_rejected_by_verification"
OLD_VERDICTS = {"no_difference": "equivalent", "cannot_tell": "inconclusive"}
"""Verdicts as audits of that schema have them, and what they are called since."""
_KEY = {"system": "str", "list": "str", "grouping": "str"}
_GROUP = {**_KEY, "group": "str"}
_POINT = {"metric": "str", "operating_point": "str"}
_METRIC = {"allocation": "str", "metric": "str", "definition": "str", "operating_point": "str"}
_META = {
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
}
_COUNT = {"errors": "int", "trials": "int"}
_RANGE = {"low": "float", "high": "float"}
_FLOOR = {"floor_mean": "float", "floor_95": "float"}
_P = {"p": "float", "p_holm": "float", "p_bh": "float"}
_REASON = {"reason": "str", "within": "str"}

FIRST_COLUMNS: dict[str, dict[str, str]] = {
    "groups": {
        **_GROUP,
        **_METRIC,
        "value": "float",
        **_COUNT,
        "target_trials": "int",
        "nontarget_trials": "int",
        "speakers": "int",
        "threshold": "float",
        **_REASON,
        **_RANGE,
        "interval": "str",
        "deff": "float",
        "n_eff": "float",
        "df": "float",
        "se": "float",
        "note": "str",
    },
    "bias": {
        **_GROUP,
        **_METRIC,
        "measure": "str",
        "reference": "str",
        "zero": "str",
        "value": "float",
        **_REASON,
        **_RANGE,
        **_P,
        **_FLOOR,
        "note": "str",
    },
    "meta": {
        **_KEY,
        **_METRIC,
        **_META,
        **_RANGE,
        **_FLOOR,
        "p": "float",
        "gated": "bool",
        "note": "str",
    },
    "verdicts": {
        **_GROUP,
        "allocation": "str",
        **_POINT,
        "reference": "str",
        "ratio": "float",
        **_RANGE,
        **_P,
        "margin": "float",
        "verdict": "str",
        "gates": "str",
        "sentence": "str",
        **_REASON,
    },
    "limits": {
        **_GROUP,
        "allocation": "str",
        **_POINT,
        "measure": "str",
        "limit": "float",
        "value": "float",
        **_RANGE,
        "verdict": "str",
        **_REASON,
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
        **_RANGE,
        "log_ratio": "float",
        "log_low": "float",
        "log_high": "float",
        "p": "float",
        "speakers": "str",
        **_REASON,
    },
    "matrix": {
        **_KEY,
        "operating_point": "str",
        "enrol_group": "str",
        "test_group": "str",
        **_COUNT,
        "value": "float",
        **_REASON,
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
        **_REASON,
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
    "failures": {
        **_GROUP,
        "stage": "str",
        "cause": "str",
        "failed": "int",
        "tried": "int",
        "value": "float",
        **_RANGE,
        "reason": "str",
        "note": "str",
    },
    "det": {
        **_GROUP,
        "threshold": "float",
        "fpr": "float",
        "fnr": "float",
        "allocation": "str",
        "within": "str",
    },
    "bins": {
        **_GROUP,
        "allocation": "str",
        "threshold": "float",
        "target": "int",
        "nontarget": "int",
    },
    "bands": {
        **_GROUP,
        "allocation": "str",
        "threshold": "float",
        "fpr": "float",
        "fpr_low": "float",
        "fpr_high": "float",
        "fnr": "float",
        "fnr_low": "float",
        "fnr_high": "float",
        "fpr_ratio_low": "float",
        "fpr_ratio_high": "float",
        "fnr_ratio_low": "float",
        "fnr_ratio_high": "float",
    },
    "offenders": {
        **_GROUP,
        "allocation": "str",
        **_POINT,
        "speaker": "str",
        **_COUNT,
        "share": "float",
    },
    "sweep": {
        **_KEY,
        "allocation": "str",
        **_POINT,
        "threshold": "float",
        **_META,
    },
    "searches": {
        **_GROUP,
        "operating_point": "str",
        "measure": "str",
        "rank": "int",
        "persons": "int",
        "other_group": "str",
        "person": "str",
        **_COUNT,
        "value": "float",
        "reason": "str",
    },
    "attacks": {
        **_GROUP,
        "operating_point": "str",
        "attack": "str",
        **_COUNT,
        "speakers": "int",
        "value": "float",
        "share": "float",
        "reference": "str",
        "reference_value": "float",
        "ratio": "float",
        **_RANGE,
        "ratio_without": "float",
        "standardised": "float",
        "standardised_ratio": "float",
        "reason": "str",
        "note": "str",
    },
    "spoof_bins": {
        **_GROUP,
        "allocation": "str",
        "threshold": "float",
        "spoof": "int",
    },
}
"""Columns that each table has had since this version of the schema, in order, with their kinds."""
_BEST_GUESS = {"best_guess": "float", "best_guess_low": "float", "best_guess_high": "float"}
ADDED_COLUMNS: dict[str, dict[str, str]] = {
    "groups": _BEST_GUESS,
    "meta": {"left_out": "str"},
    "verdicts": {**_BEST_GUESS, "power": "float", "confirmatory": "bool", "because_of": "str"},
    "pairing": {
        **_GROUP,
        "allocation": "str",
        **_POINT,
        "list_sha256": "str",
        "se": "float",
        "log_se": "float",
        "fit": "float",
        "draws": "str",
        "members": "str",
    },
}
"""Columns, or tables, that came later: columns stand at the end, and audits may lack them."""
WITHOUT_FACTS = ("det", "bins", "bands", "offenders", "pairing", "spoof_bins")
"""Tables of which no column holds codes of facts."""
TABLES = {
    name: FIRST_COLUMNS.get(name, {})
    | ADDED_COLUMNS.get(name, {})
    | ({} if name in WITHOUT_FACTS else {VALUES_COLUMN: "str"})
    for name in (*FIRST_COLUMNS, *ADDED_COLUMNS)
}
"""Columns of each table, in order, with their kinds: str, float, int or bool.

``reason`` and ``note`` hold codes of facts, the last column their values (`parivox.facts`).
"""

CURVES = ("det", "bins", "bands", "sweep", "pairing", "spoof_bins")
"""Tables too long for text: always Parquet."""
ON_REQUEST = (
    "verdicts", "limits", "failures", "comparison", "offenders", "sweep", "searches", "attacks",
    "spoof_bins",
)  # fmt: skip
"""Tables that are left out where they are empty."""

Key = tuple[str, str, str]
"""Metric, definition, operating point."""


class BaseValue(NamedTuple):
    """One base metric of one cell; ``errors`` is None where no threshold is involved."""

    value: float
    errors: int | None
    trials: int
    threshold: float
    reason: str


_MANY_ROWS = 50_000
"""Rows from which on they are packed: the tables of one system and a few groupings have fewer."""


class TableBuilder:
    """A table being filled, several rows at a time; `columns` are its columns, with their kinds.

    Examples
    --------
    >>> rows = TableBuilder({"group": "str", "value": "float"})
    >>> rows.add(group=["f", "m"], value=0.5)
    >>> rows.add(group="all")
    >>> rows.table().to_dict()
    {'group': ['f', 'm', 'all'], 'value': [0.5, 0.5, None]}
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns
        self.cells: dict[str, list[Any]] = {name: [] for name in columns}
        self._packed_tables: list[bytes] = []

    def add(self, **new_columns: Any) -> None:
        """Add rows: lists or arrays of one length, single values repeated.

        A column that is not given is missing: None, or empty where it holds text.
        """
        new_columns = {
            name: cells.tolist() if isinstance(cells, np.ndarray) else cells
            for name, cells in new_columns.items()
        }
        lengths = [len(cells) for cells in new_columns.values() if isinstance(cells, list)]
        n_rows = lengths[0] if lengths else 1
        for name, column in self.cells.items():
            cells = new_columns.pop(name, "" if self.columns[name] == "str" else None)
            column.extend(cells if isinstance(cells, list) else [cells] * n_rows)
        assert not new_columns, f"no such columns: {list(new_columns)}"

    def pack(self) -> None:
        """Pack rows that nobody looks at again, once they are many: into a tenth of the room."""
        first_column = next(iter(self.cells.values()))
        if len(first_column) >= _MANY_ROWS:
            self._packed_tables.append(self._rows().packed())
            self.cells = {name: [] for name in self.columns}
            give_back_memory()  # lists leave gaps that arrays do not fit

    def append(self, more: TableBuilder) -> None:
        """Add the rows of another builder of such a table."""
        if more._packed_tables:
            self._packed_tables += [self._rows().packed(), *more._packed_tables]
            self.cells = {name: [] for name in self.columns}
        for name, column in self.cells.items():
            column.extend(more.cells[name])

    def _rows(self) -> Table:
        """Return the rows that are not packed, with facts as codes and values."""
        return Table.of(with_values(self.cells, self.columns), self.columns)

    def table(self) -> Table:
        """Return the rows as a table."""
        last_rows = self._rows()
        if not self._packed_tables:
            return last_rows
        return Table.from_packed([*self._packed_tables, last_rows.packed()])
