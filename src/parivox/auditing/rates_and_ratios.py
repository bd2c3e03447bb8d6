"""The default question of an audit, one row for each group, error type and system.

What are the error rates of each group, and how many times those of the reference are they? All
tables of an audit hold more: other operating points, references, measures and treatments of zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing.column_texts import column_texts
from parivox.data.table import Table
from parivox.errors import ConfigError
from parivox.facts import VALUES_COLUMN
from parivox.options.kinds import as_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, Any]
    Choice = str | Sequence[str]

ERROR_RATES = ("fnr", "fpr")
_GROUP = ("system", "list", "grouping", "group")
_SCOPE = (*_GROUP, "metric", "operating_point")
_NO_GROUPS = ("all", "pooled")
_RATE_COLUMNS = {
    **dict.fromkeys(_SCOPE, "str"),
    "rate": "float",
    "low": "float",
    "high": "float",
    "errors": "int",
    "trials": "int",
    "speakers": "int",
    "reason": "str",
    VALUES_COLUMN: "str",
}
_RATIO_COLUMNS = {
    **dict.fromkeys(_SCOPE, "str"),
    "reference": "str",
    "ratio": "float",
    "low": "float",
    "high": "float",
    "p_holm": "float",
    "verdict": "str",
    # a verdict is not read without its condition
    "because_of": "str",
    "reason": "str",
    VALUES_COLUMN: "str",
}
_COLUMN_TEXTS = {
    "rate": "error rate, a fraction",
    "ratio": "error rate of the group, divided by that of the reference",
}


def group_rates(groups: Table, operating_points: Table, options: Row, filters: Row) -> Table:
    """Return the error rates of groups at one operating point, from the tables of an audit."""
    defaults = _defaults(operating_points, options)
    rows = [{"rate": row["value"], **row} for row in _rows_of_groups(groups, filters, defaults)]
    return _table("groups", rows, _RATE_COLUMNS)


def group_ratios(
    bias: Table, verdicts: Table, operating_points: Table, options: Row, filters: Row
) -> Table:
    """Return the ratios of error rates to those of one reference, with verdicts."""
    defaults = _defaults(operating_points, options) | {
        "measure": "ratio",
        "zero": "none" if "none" in options["zero"] else options["zero"][0],
        "reference": options["reference"][0],
    }
    key = (*_SCOPE, "reference", "allocation", "within")
    verdict_rows = {tuple(row[name] for name in key): row for row in verdicts}
    rows = []
    for bias_row in _rows_of_groups(bias, filters, defaults):
        row = {"ratio": bias_row["value"], "verdict": "", "because_of": "", **bias_row}
        verdict_row = verdict_rows.get(tuple(bias_row[name] for name in key))
        if verdict_row is not None:
            # adjusted for both error types
            row |= {name: verdict_row[name] for name in ("p_holm", "verdict")}
            # audits of older versions have no such column
            row["because_of"] = verdict_row.get("because_of") or ""
            if verdict_row["reason"]:
                row |= {name: verdict_row[name] for name in ("reason", VALUES_COLUMN)}
        rows.append(row)
    return _table("verdicts", rows, _RATIO_COLUMNS)


def _defaults(operating_points: Table, options: Row) -> Row:
    """Return what is selected where nothing is asked for: the first of everything."""
    return {
        "operating_point": operating_points["operating_point"][0],
        # all trials together have no allocation
        "allocation": [options["allocate"][0], ""],
        "within": "",
        "definition": "",
    }


def _rows_of_groups(table: Table, filters: Row, defaults: Row) -> list[Row]:
    """Return the rows of a table that the filters, or else the defaults, select."""
    given_filters = {name: choice for name, choice in filters.items() if choice is not None}
    for metric in as_tuple(filters["metric"]):
        if {*table.filter(metric=metric)["operating_point"]} == {""}:
            msg = f"metric={metric!r} is not measured at an operating point"
            hint = (
                f"see audit.groups.filter(metric={metric!r}) for its values, and audit.bias for "
                "its ratios"
            )
            raise ConfigError(msg, hint)
    rows = table.filter(**given_filters).subset(**defaults | given_filters).rows()
    if not {"group", "grouping"} & given_filters.keys():
        rows = [row for row in rows if row["group"] not in _NO_GROUPS]
    metrics = as_tuple(filters["metric"])
    group_keys = dict.fromkeys(tuple(row[name] for name in _GROUP) for row in rows)
    position = {key: i for i, key in enumerate(group_keys)}
    return sorted(
        rows,
        key=lambda row: (
            position[tuple(row[name] for name in _GROUP)],
            metrics.index(row["metric"]),
        ),
    )


def _table(source: str, rows: Sequence[Row], columns: dict[str, str]) -> Table:
    """Return rows as a table, described as the table that they come from."""
    cells = {name: [row[name] for row in rows] for name in columns}
    return Table.of(cells, columns).described(column_texts(source) | _COLUMN_TEXTS)
