"""Facts as data: a code with its values, of which `parivox.report.catalogue` makes a sentence.

Results say why a value is missing, or what a reader must know of it, by facts. While they are
arrays, a fact is a text: its code, followed by its values as JSON if it has any. So NumPy selects
among facts as among any texts, and a fact without values is its code. In a table, the columns
``reason`` and ``note`` hold codes, and the column ``values`` their values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

FACT_JOINT = "\n"
"""Between the facts of one cell of an array; JSON and codes do not contain it."""
CODE_JOINT = "; "
"""Between the codes of one cell of a table."""
FACT_COLUMNS = ("reason", "item", "note", "gates", "speakers", "sentence")
"""Columns of tables that hold codes of facts, where they are columns of texts."""
VALUES_COLUMN = "values"
"""The column that holds the values of the facts of a row."""


_ENCODER = json.JSONEncoder(ensure_ascii=False)
_CODE = re.compile(r"[a-z][a-z0-9_]*")
_WITH_VALUES = re.compile(r'([a-z][a-z0-9_]*)(\{".*\})')


class Fact(NamedTuple):
    """What is the case: a code, and the numbers and names that it is about."""

    code: str
    values: Mapping[str, Any]


def fact(code: str, **values: Any) -> str:
    """Return a fact as a text for arrays.

    Examples
    --------
    >>> fact("no_errors"), fact("few_speakers", speakers=5)
    ('no_errors', 'few_speakers{"speakers": 5}')
    """
    return code + _ENCODER.encode(values) if values else code


def joined_facts(*cells: str) -> str:
    """Return the facts of several cells as one cell, each fact once."""
    facts = (text for cell in cells for text in cell.split(FACT_JOINT) if text)
    return FACT_JOINT.join(dict.fromkeys(facts))


def facts_of_cell(cell: str) -> list[Fact]:
    """Return the facts of a cell of an array.

    Examples
    --------
    >>> facts_of_cell(joined_facts("no_errors", fact("few_speakers", speakers=5)))
    [Fact(code='no_errors', values={}), Fact(code='few_speakers', values={'speakers': 5})]
    """
    facts = []
    for text in filter(None, cell.split(FACT_JOINT)):
        match = _WITH_VALUES.fullmatch(text)
        facts.append(Fact(match[1], json.loads(match[2])) if match else Fact(text, {}))
    return facts


def is_fact_cell(cell: str) -> bool:
    """Return whether a text may be facts, not a sentence."""
    return all(
        _WITH_VALUES.fullmatch(text) or _CODE.fullmatch(text) for text in cell.split(FACT_JOINT)
    )


def caused(code: str, cause: str) -> str:
    """Return the fact that follows from another one, `cause`, whose values it keeps.

    Examples
    --------
    >>> caused("no_interval", fact("few_speakers", speakers=5))
    'no_interval{"because": "few_speakers", "speakers": 5}'
    """
    cause_code, cause_values = facts_of_cell(cause)[0]
    return fact(code, because=cause_code, **cause_values)


def caused_cells(code: str, causes: NDArray[Any]) -> NDArray[np.str_]:
    """Return `caused` of every cell of an array; empty where it is empty."""
    distinct_causes, cause_index = np.unique(causes.astype(np.str_), return_inverse=True)
    facts = [caused(code, cause) if cause else "" for cause in distinct_causes.tolist()]
    return np.array(facts, dtype=np.str_)[cause_index].reshape(causes.shape)


def joined_cells(leading_cells: NDArray[Any], trailing_cells: NDArray[Any]) -> NDArray[np.str_]:
    """Return the facts of both arrays, cell by cell."""
    leading, trailing = leading_cells.astype(np.str_), trailing_cells.astype(np.str_)
    joint = np.where((leading == "") | (trailing == ""), "", FACT_JOINT)
    return np.strings.add(np.strings.add(leading, joint), trailing)


def table_cells(*columns: Sequence[str]) -> tuple[list[str], ...]:
    """Return columns of facts as a table holds them: their codes, and last the values of all.

    Examples
    --------
    >>> table_cells([fact("few_speakers", speakers=5), ""], ["no_errors", "no_errors"])
    (['few_speakers', ''], ['no_errors', 'no_errors'], ['{"few_speakers": {"speakers": 5}}', ''])
    """
    rows = list(zip(*columns, strict=True))
    # few cells are distinct, of which each occurs often
    cells_of_row = {row: _cells_of_row(row) for row in set(rows)}
    cells = [cells_of_row[row] for row in rows]
    return tuple([row_cells[i] for row_cells in cells] for i in range(len(columns) + 1))


def with_values(
    cells: Mapping[str, list[Any]], columns: Mapping[str, str]
) -> Mapping[str, list[Any]]:
    """Return the cells of a table with the codes of facts, and with their values in the last."""
    if VALUES_COLUMN not in columns:
        return cells
    fact_columns = [name for name in FACT_COLUMNS if columns.get(name) == "str"]
    split = table_cells(*(cells[name] for name in fact_columns))
    return {**cells, **dict(zip((*fact_columns, VALUES_COLUMN), split, strict=True))}


def _cells_of_row(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes of each cell of a row, and the values of all of them."""
    facts_by_column = [facts_of_cell(cell) for cell in row]
    codes = (CODE_JOINT.join(cell_fact.code for cell_fact in facts) for facts in facts_by_column)
    return *codes, values_cell(cell_fact for facts in facts_by_column for cell_fact in facts)


def values_cell(facts: Iterable[Fact]) -> str:
    """Return the values of facts as JSON, by code: a list where a code occurs more than once."""
    values_of_code: dict[str, list[Mapping[str, Any]]] = {}
    for cell_fact in facts:
        if cell_fact.values:
            values_of_code.setdefault(cell_fact.code, []).append(cell_fact.values)
    if not values_of_code:
        return ""
    return json.dumps(
        {
            code: values[0] if len(values) == 1 else values
            for code, values in values_of_code.items()
        },
        ensure_ascii=False,
    )


def facts_of_row(row: Mapping[str, Any], column: str) -> list[Fact]:
    """Return the facts in a column of a row of a table.

    Examples
    --------
    >>> row = {"note": "no_errors; few_speakers", "values": '{"few_speakers": {"speakers": 5}}'}
    >>> facts_of_row(row, "note")
    [Fact(code='no_errors', values={}), Fact(code='few_speakers', values={'speakers': 5})]
    """
    if not row[column]:
        return []
    values_of_code = json.loads(row.get(VALUES_COLUMN) or "{}")
    facts, n_of_code = [], dict[str, int]()
    for code in row[column].split(CODE_JOINT):
        values = values_of_code.get(code, {})
        if isinstance(values, list):
            position = n_of_code.setdefault(code, 0)
            n_of_code[code], values = position + 1, values[min(position, len(values) - 1)]
        facts.append(Fact(code, values))
    return facts


def cell_of_row(row: Mapping[str, Any], column: str) -> str:
    """Return the facts in a column of a row of a table, as a cell of an array.

    Examples
    --------
    >>> cell_of_row({"note": "few_speakers", "values": '{"few_speakers": {"speakers": 5}}'}, "note")
    'few_speakers{"speakers": 5}'
    """
    return FACT_JOINT.join(
        fact(row_fact.code, **row_fact.values) for row_fact in facts_of_row(row, column)
    )


def is_values_cell(cell: object) -> bool:
    """Return whether a cell of a table may be what `values_cell` returns."""
    if not isinstance(cell, str):
        return False
    try:
        values_of_code = json.loads(cell or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(values_of_code, dict) and all(
        isinstance(fact_values, dict)
        for values in values_of_code.values()
        for fact_values in (values if isinstance(values, list) else [values])
    )
