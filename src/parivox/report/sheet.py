"""A table of words and figures, whoever shows it: the terminal, or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.padding import Padding

from parivox.report.words import add, grid, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

__all__ = ["POOLED", "Sheet", "in_terminal"]

POOLED = "pooled"


class Sheet(NamedTuple):
    """A table.

    Attributes
    ----------
    told : what it shows; may be empty
    heads : headings of the columns, the first that of the rows
    rows : cells, as many as headings
    """

    told: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def in_terminal(sheets: Iterator[Sheet]) -> Iterator[RenderableType]:
    """Tables as the terminal shows them."""
    for one in sheets:
        made = grid(*one.heads)
        for row in one.rows:
            add(made, *row, dim=row[0] == POOLED)
        if one.told:
            yield text(one.told)
        yield Padding(made, (0, 0, 0, 2))
