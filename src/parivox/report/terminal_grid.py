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

_NAMES = 1 / 2
"""Of the room: as much may a column of names take."""
_LONG = 24
"""Letters of a cell under figures that is of words."""


class Grid(Table):
    """A table whose first column names its rows.

    Where there is too little room, columns of words wrap; if that is not enough, `spare` columns
    are left out and told, in their order; and if that is not, columns go on below, beside their
    names. Those that stand `together`, by what they have in common, are not parted.
    """

    spare: Sequence[int] = ()
    together: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks it."""
        room = options.max_width
        widths = [_widths(one, i, room) for i, one in enumerate(self.columns)]
        shown, gone = list(range(len(widths))), list[int]()
        names = self.columns[0].max_width or room
        natural = [natural for _, natural in widths]
        if natural[0] <= names and self._needed(natural, shown) <= room:
            yield from self.rendered(console, options)
            return
        for i in self.spare:
            if self._needed([widths[k][0] for k in shown], shown) > room:
                shown.remove(i)
                gone.append(i)
        for part in self._parts(shown, [least for least, _ in widths], room):
            yield from self._part(part, [widths[k] for k in part], room).rendered(console, options)
        if gone:
            heads = [" ".join(str(self.columns[i].header).split()) for i in gone]
            yield Text(f"no room for {', '.join(heads)}")

    def rendered(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """With the widths that its columns have."""
        return super().__rich_console__(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """It fits any room."""
        found = super().__rich_measure__(console, options)
        return found._replace(minimum=min(found.minimum, options.max_width))

    def _needed(self, widths: Sequence[int], columns: Sequence[int]) -> int:
        """The width of these columns with what stands between them."""
        _, right, _, left = self.padding
        kept = max(0, left - right) if self.collapse_padding else left
        return sum(widths) + (len(columns) - 1) * (right + kept + (self.box is not None))

    def _parts(self, shown: list[int], least: Sequence[int], room: int) -> Iterator[list[int]]:
        """Columns that stand beside each other, the first among them each time."""
        kin = self.together or [""] * len(least)
        sets = groupby(shown[1:], key=lambda i: (kin[i], None if kin[i] else i))
        part = shown[:1]
        for more in ([*of] for _, of in sets):
            wider = [*part, *more]
            if len(part) > 1 and self._needed([least[i] for i in wider], wider) > room:
                yield part
                wider = [*shown[:1], *more]
            part = wider
        yield part

    def _part(self, part: list[int], widths: list[tuple[int, int]], room: int) -> Grid:
        """Some of the columns, those of words as wide as there is room."""
        wished = sum(natural - least for least, natural in widths)
        left = min(wished, max(0, room - self._needed([least for least, _ in widths], part)))
        made = Grid(
            box=self.box,
            show_header=self.show_header,
            show_edge=self.show_edge,
            pad_edge=self.pad_edge,
            padding=self.padding,
            collapse_padding=self.collapse_padding,
        )
        columns = [self.columns[i] for i in part]
        for one, (least, natural) in zip(columns, widths, strict=True):
            more = left * (natural - least) // wished if wished else 0
            left, wished = left - more, wished - (natural - least)
            made.add_column(one.header, justify=one.justify, width=least + more, overflow="fold")
        for cells in zip(*(one.cells for one in columns), strict=True):
            made.add_row(*cells)
        return made


def _widths(column: Column, place: int, room: int) -> tuple[int, int]:
    """How wide a column must be, and how wide it would be."""
    cells = [_plain(one) for one in column.cells]
    head = _plain(column.header)
    natural = max(map(_cells, (head, *cells)))
    longest = max((_cells(word) for one in (head, *cells) for word in one.split()), default=0)
    if not place:  # names
        whole = max(longest, min(natural, column.max_width or natural))
        return min(whole, int(room * _NAMES)), whole
    if column.no_wrap:
        return natural, natural
    if column.justify == "right":  # figures are not wrapped, their heads are
        figures = (width for width in map(_cells, cells) if width <= _LONG)
        return max((longest, *figures)), natural
    return longest, natural


def _cells(words: str) -> int:
    return Text(words).cell_len


def _plain(one: RenderableType) -> str:
    return one.plain if isinstance(one, Text) else str(one)
