"""Rows of a result table in the making, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.read.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = tuple[str, str, str]
"""Metric, definition, operating point."""


class Base(NamedTuple):
    """One base metric of one cell; ``errors`` is None where no threshold is involved."""

    value: float
    errors: int | None
    trials: int
    threshold: float
    reason: str


class Rows:
    """Rows of one table, added in blocks.

    Parameters
    ----------
    columns
        Columns in order, with their kinds.

    Examples
    --------
    >>> rows = Rows({"group": "str", "value": "float"})
    >>> rows.add(group=["f", "m"], value=0.5)
    >>> rows.add(group="all")
    >>> rows.table().to_dict()
    {'group': ['f', 'm', 'all'], 'value': [0.5, 0.5, None]}
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns
        self.cells: dict[str, list[Any]] = {name: [] for name in columns}

    def add(self, **block: Any) -> None:
        """Add a block of rows: lists or arrays of one length, single values repeated.

        A column that is not given is missing: None, or empty where it holds text.
        """
        blank = {name: "" if kind == "str" else None for name, kind in self.columns.items()}
        block = blank | block
        block = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in block.items()}
        n = next((len(cells) for cells in block.values() if isinstance(cells, list)), 1)
        for name, mine in self.cells.items():
            cells = block.pop(name)
            mine.extend(cells if isinstance(cells, list) else [cells] * n)
        assert not block, f"no such columns: {list(block)}"

    def table(self) -> Table:
        """The rows as a table."""
        return Table.of(self.cells, self.columns)
