"""A table on paper, whatever it is written in: a title, how to read it, cells as text.

Markdown and LaTeX differ in how they write a table, not in what stands in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["UNDEFINED", "Column", "Printed"]

UNDEFINED = "–"


@dataclass(frozen=True)
class Column:
    """A column: its heading, what stands over it and its neighbours, and whether it holds words."""

    head: str
    over: str = ""
    is_words: bool = False


@dataclass(frozen=True)
class Printed:
    """A table as it is printed.

    Attributes
    ----------
    title, reading : str
        What it shows, and how to read it.
    columns : tuple of Column
    rows : tuple of tuple of str
    notes : tuple of str
        What the marks in it stand for, and why cells are empty.
    last_apart : bool
        Whether the last row is of all the others together.
    """

    title: str
    reading: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    last_apart: bool = False

    def filled(self) -> Printed:
        """The table without the columns of figures that hold none."""
        kept = [
            i
            for i, column in enumerate(self.columns)
            if column.is_words or any(row[i] != UNDEFINED for row in self.rows)
        ]
        return replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
        )
