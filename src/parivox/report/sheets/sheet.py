"""A printable table: columns with heads and units, cells that say why a figure is missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rich.padding import Padding

from parivox.report.audit_queries import POOLED
from parivox.report.words import GAP, STYLES, add_row, capitalised, grid, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

UNDEFINED = "–"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LONG = 24
"""Letters of a cell that may take several lines."""
_SPARE = ("counts", "p", "speakers")
"""What a narrow terminal has no room for, in this order."""
_SIGNS = {"worse": "▲ ", "better": "▼ "}


class Cell(NamedTuple):
    """What stands in a row under a head."""

    text: str
    """A figure or words; a dash where it is undefined, nothing where the column does not apply."""
    mark: str = ""
    """Behind it: ``*`` of a group that is too small, ``~`` and ``+`` of its interval."""
    reason: str = ""
    """Why there is a dash."""
    verdict: str = ""
    """``worse``, ``better``, ``cannot_tell``: how it is coloured; the text says it, too."""
    below: str = ""
    """What a page has room for in a line of its own."""


class Column(NamedTuple):
    """A head and what stands under it."""

    head: str
    span_head: str = ""
    """What stands over the head and its neighbours."""
    unit: str = ""
    """Of the figures: a terminal writes it behind them, all else into the head."""
    is_words: bool = False
    """Words stand to the left, figures to the right."""
    is_wide: bool = False
    """Words that may take several lines."""
    is_unbroken: bool = False
    """Words that a narrow terminal does not wrap."""
    key: str = ""
    """What a sheet is asked for it by."""

    @property
    def heading(self) -> str:
        """The head with the unit."""
        return f"{self.head}, {self.unit}" if self.unit else self.head


@dataclass(frozen=True)
class Sheet:
    """A table; the first column names its rows."""

    title: str
    """What it shows; may be empty."""
    columns: Sequence[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    reading: str = ""
    """How to read it."""
    notes: Sequence[str] = ()
    """What the marks in it stand for, and why cells are empty."""
    sums: int = 0
    """How many rows at the end are of all the others together; they stay there."""
    is_sortable: bool = False
    """Whether a page lets its reader order the rows."""
    is_stacked: bool = False
    """Whether a phone shows rows as lists, for what every reader must see whole."""

    @classmethod
    def with_heads(
        cls,
        title: str,
        heads: Sequence[str],
        rows: Iterable[Iterable[str | Cell]] = (),
        *,
        words: Sequence[int] = (1,),
        wide: Sequence[int] = (),
        is_sortable: bool = False,
        is_stacked: bool = False,
    ) -> Sheet:
        """A sheet under these heads; columns of words and wide ones are told by place, from 1."""
        columns = [
            Column(head, is_words=place in words, is_wide=place in wide)
            for place, head in enumerate(heads, 1)
        ]
        made = cls(title, columns, is_sortable=is_sortable, is_stacked=is_stacked)
        for row in rows:
            made.add(*row)
        return replace(made, sums=int(bool(made.rows) and made.rows[-1][0].text == POOLED))

    @property
    def topic(self) -> str:
        """What it is about, in a few words of its title."""
        return self.title.partition(":")[0].partition(",")[0]

    def add(self, *cells: str | Cell) -> None:
        """Add a row."""
        self.rows.append([one if isinstance(one, Cell) else Cell(one) for one in cells])

    def has(self, key: str) -> bool:
        """Whether the column of this key holds anything."""
        place = [column.key for column in self.columns].index(key)
        return any(row[place].text for row in self.rows)

    def select(self, heads: Mapping[str, str], **more: str) -> Sheet:
        """The columns of these keys under these heads, in this order; `more` changes the sheet."""
        place = {column.key: i for i, column in enumerate(self.columns)}
        columns = [self.columns[place[key]]._replace(head=head) for key, head in heads.items()]
        rows = [[row[place[key]] for key in heads] for row in self.rows]
        return replace(self, columns=columns, rows=rows, **more)  # type: ignore[arg-type]

    def for_report(self, label: str) -> Sheet:
        """The sheet as a page names it: whose it is in the title, heads with capitals."""
        title = f"{self.title.removesuffix(':')} ({label})" if self.title else label
        columns = [
            one._replace(
                head=capitalised(one.head),
                is_wide=bool(i) and any(len(row[i].text) > _LONG for row in self.rows),
            )
            for i, one in enumerate(self.columns)
        ]
        return replace(self, title=title, columns=columns)

    def without_empty_columns(self, *, keeps_reasons: bool = False) -> Sheet:
        """The sheet without columns that hold no figure (and no reason of a dash, if so asked)."""

        def holds(cell: Cell) -> bool:
            return cell.text not in {UNDEFINED, ""} or (keeps_reasons and bool(cell.reason))

        kept = [
            i
            for i, column in enumerate(self.columns)
            if not i or column.is_words or any(holds(row[i]) for row in self.rows)
        ]
        return replace(
            self,
            columns=[self.columns[i] for i in kept],
            rows=[[row[i] for i in kept] for row in self.rows],
        )

    @property
    def footnotes(self) -> dict[str, str]:
        """The mark of each reason of a dash, in the order in which they are read."""
        found = dict.fromkeys(
            one.reason for row in self.rows for one in row if one.reason and one.text == UNDEFINED
        )
        return {why: str(n).translate(_RAISED) for n, why in enumerate(found, 1)}

    @property
    def on_page(self) -> list[list[Cell]]:
        """Rows as a page shows them: marks set apart, dashes with the mark of their reason."""
        notes = self.footnotes

        def shown(cell: Cell) -> Cell:
            mark = f"\u00a0{cell.mark}" if cell.mark else ""
            if cell.text == UNDEFINED and cell.reason:
                mark = f"{GAP}{notes[cell.reason]}"
            return cell._replace(text=f"{_SIGNS.get(cell.verdict, '')}{cell.text}{mark}")

        return [[shown(cell) for cell in row] for row in self.rows]

    @property
    def on_paper(self) -> list[list[str]]:
        """Rows as a paper prints them: a dash wherever there is nothing."""
        return [[f"{cell.text or UNDEFINED}{cell.mark}" for cell in row] for row in self.rows]


def terminal_table(
    sheet: Sheet, *, is_compact: bool = False, lines_above: int = 0, lines_below: int = 0
) -> Iterator[RenderableType]:
    """A sheet as the terminal shows it, with so many empty lines above and below its rows.

    Where columns stand close together, only names of groups may wrap, a gap at an end of a head
    stands at that of its cells too, and units are left to the legend.
    """
    heads = [column.head for column in sheet.columns]
    left = tuple(i for i, column in enumerate(sheet.columns) if column.is_words)
    fixed = [i for i, column in enumerate(sheet.columns) if is_compact and column.key != "group"]
    made = grid(*heads, left=left, fixed=tuple(fixed))
    for column, drawn in zip(sheet.columns, made.columns, strict=True):
        drawn.no_wrap = drawn.no_wrap or column.is_unbroken
    place = {column.key: i for i, column in enumerate(sheet.columns) if i}
    made.spare = [place[key] for key in _SPARE if key in place]
    made.together = [column.span_head for column in sheet.columns]
    for row in sheet.rows:
        cells = [
            text(
                _terminal_text(cell, column, is_compact=is_compact),
                style=STYLES.get(cell.verdict, ""),
            )
            for cell, column in zip(row[1:], sheet.columns[1:], strict=True)
        ]
        name = row[0]
        add_row(made, f"{name.text}{name.mark}", *cells)
    if sheet.title:
        yield text(sheet.title)
    if sheet.rows:
        yield Padding(made, (lines_above, 0, lines_below, 2))


def _terminal_text(cell: Cell, column: Column, *, is_compact: bool) -> str:
    if is_compact:
        before = GAP if cell.text and column.head.startswith(GAP) else ""
        after = GAP if column.head.endswith(GAP) else ""
        return f"{before}{cell.text}{cell.mark or after}"
    unit = f" {column.unit}" if column.unit and cell.text not in {"", UNDEFINED} else ""
    return f"{cell.text}{unit}{cell.mark}"
