"""Tables in a terminal of any width: names stay whole, and no word is cut."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement

_MAX_NAME_SHARE = 1 / 2
"""Share of the width that a column of names may take."""
_MAX_FIGURE_LENGTH = 24
"""Letters of the longest figure; longer cells in a column of figures are words, which wrap."""


class Grid(Table):
    """A table whose first column names its rows.

    Where there is too little room, columns of words wrap. If that is not enough, `spare` columns
    are left out, in their order, which a line below says. If that is not enough, columns continue
    below, next to the names again. Columns with the same entry of `together` are not separated.
    """

    spare: Sequence[int] = ()
    together: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table as one, or as several below each other."""
        width_limit = options.max_width
        widths = [_column_widths(column, i, width_limit) for i, column in enumerate(self.columns)]
        shown, left_out = list(range(len(widths))), list[int]()
        max_name_width = self.columns[0].max_width or width_limit
        natural = [natural for _, natural in widths]
        if natural[0] <= max_name_width and self._needed(natural, shown) <= width_limit:
            yield from self.rendered(console, options)
            return
        for i in self.spare:
            if self._needed([widths[k][0] for k in shown], shown) > width_limit:
                shown.remove(i)
                left_out.append(i)
        for columns_abreast in self._parts(shown, [least for least, _ in widths], width_limit):
            yield from self._part(
                columns_abreast, [widths[k] for k in columns_abreast], width_limit
            ).rendered(console, options)
        if left_out:
            heads = [" ".join(str(self.columns[i].header).split()) for i in left_out]
            yield Text(f"Not shown: {', '.join(heads)}")

    def rendered(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return the table with the widths that its columns have."""
        return super().__rich_console__(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return a measurement that fits any width."""
        measured = super().__rich_measure__(console, options)
        return measured._replace(minimum=min(measured.minimum, options.max_width))

    def _needed(self, widths: Sequence[int], columns: Sequence[int]) -> int:
        """Return the width of these columns with what is between them."""
        _, right_padding, _, left_padding = self.padding
        border = 0 if self.box is None else 1
        return sum(widths) + (len(columns) - 1) * (right_padding + left_padding + border)

    def _parts(
        self, shown: list[int], min_widths: Sequence[int], width_limit: int
    ) -> Iterator[list[int]]:
        """Yield columns that fit side by side, each time with the first column."""
        set_names = self.together or [""] * len(min_widths)
        # a column without a set is a set of its own
        column_sets = groupby(shown[1:], key=lambda i: (set_names[i], None if set_names[i] else i))
        columns_abreast = shown[:1]
        for column_set in ([*same_set] for _, same_set in column_sets):
            candidate = [*columns_abreast, *column_set]
            if (
                len(columns_abreast) > 1
                and self._needed([min_widths[i] for i in candidate], candidate) > width_limit
            ):
                yield columns_abreast
                candidate = [*shown[:1], *column_set]
            columns_abreast = candidate
        yield columns_abreast

    def _part(
        self, columns_abreast: list[int], widths: list[tuple[int, int]], width_limit: int
    ) -> Grid:
        """Return a table of some columns, those of words as wide as there is room."""
        missing_width = sum(natural - least for least, natural in widths)
        spare_width = min(
            missing_width,
            max(0, width_limit - self._needed([least for least, _ in widths], columns_abreast)),
        )
        grid = Grid(
            box=self.box,
            show_header=self.show_header,
            show_edge=self.show_edge,
            pad_edge=self.pad_edge,
            padding=self.padding,
        )
        columns = [self.columns[i] for i in columns_abreast]
        for column, (least, natural) in zip(columns, widths, strict=True):
            extra = spare_width * (natural - least) // missing_width if missing_width else 0
            spare_width, missing_width = spare_width - extra, missing_width - (natural - least)
            grid.add_column(
                column.header, justify=column.justify, width=least + extra, overflow="fold"
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            grid.add_row(*cells)
        return grid


def _column_widths(column: Column, column_index: int, width_limit: int) -> tuple[int, int]:
    """Return how wide a column must be, and how wide it would be if there was room."""
    cell_texts = [_plain_cell(words) for words in column.cells]
    head = _plain_cell(column.header)
    natural = max(map(_text_width, (head, *cell_texts)))
    longest = max(
        (_text_width(word) for words in (head, *cell_texts) for word in words.split()), default=0
    )
    if not column_index:  # names
        full_name_width = max(longest, min(natural, column.max_width or natural))
        return min(full_name_width, int(width_limit * _MAX_NAME_SHARE)), full_name_width
    if column.no_wrap:
        return natural, natural
    if column.justify == "right":  # figures are not wrapped, their heads are
        figures = (width for width in map(_text_width, cell_texts) if width <= _MAX_FIGURE_LENGTH)
        return max((longest, *figures)), natural
    return longest, natural


def _text_width(words: str) -> int:
    """Return how many columns of a terminal some words take."""
    return Text(words).cell_len


def _plain_cell(cell: RenderableType) -> str:
    """Return a cell's text."""
    return cell.plain if isinstance(cell, Text) else str(cell)
