"""Tables of a report: columns with heads and units, and cells with reasons for missing figures."""

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
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_MAX_ONE_LINE = 24
"""Longer cells make their column a wide one, which may take several lines."""
_OPTIONAL_COLUMNS = ("counts", "p", "speakers")
"""Columns that a narrow terminal leaves out, in this order."""
_VERDICT_SIGNS = {"worse": "▲ ", "better": "▼ "}


class Cell(NamedTuple):
    """A cell of a table."""

    text: str
    """A figure or text; a dash if it is undefined, empty if the column does not apply."""
    mark: str = ""
    """Marks after the text: ``*`` for a small group, ``~`` and ``+`` for its interval."""
    reason: str = ""
    """Reason for a dash."""
    verdict: str = ""
    """``worse``, ``better`` or ``inconclusive``, for the colour; the text says the same."""
    below: str = ""
    """A second line, in the HTML report only."""


class Column(NamedTuple):
    """A column of a table."""

    head: str
    span_head: str = ""
    """Head above this column and its neighbours."""
    unit: str = ""
    """Unit of the figures: after each figure in the terminal, in the head elsewhere."""
    is_words: bool = False
    """Whether cells are text, aligned left; figures are aligned right."""
    is_wide: bool = False
    """Whether its text may take several lines."""
    is_unbroken: bool = False
    """Whether a narrow terminal does not wrap its text."""
    key: str = ""
    """Key for `Sheet.select` and `Sheet.has`."""

    @property
    def heading(self) -> str:
        """The head, with the unit if there is one."""
        return f"{self.head}, {self.unit}" if self.unit else self.head


@dataclass(frozen=True)
class Sheet:
    """A table; the first column names its rows."""

    title: str
    """What the table shows; may be empty."""
    columns: Sequence[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    reading: str = ""
    """How to read the table."""
    notes: Sequence[str] = ()
    """Explanations of marks and of empty cells."""
    sums: int = 0
    """Number of rows at the end that sum up the others; sorting keeps them there."""
    is_sortable: bool = False
    """Whether readers of the HTML report can sort the rows."""
    is_stacked: bool = False
    """Whether a phone shows rows as lists, for tables that every reader must see complete."""
    topic: str = ""
    """The title in a few words, where the table is one of several."""
    title_end: str = ""
    """What follows the title in the terminal: a colon where it leads to the rows."""

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
        topic: str = "",
        title_end: str = "",
    ) -> Sheet:
        """Return a sheet with these heads; `words` and `wide` are column numbers from 1."""
        columns = [
            Column(head, is_words=position in words, is_wide=position in wide)
            for position, head in enumerate(heads, 1)
        ]
        sheet = cls(
            title,
            columns,
            is_sortable=is_sortable,
            is_stacked=is_stacked,
            topic=topic,
            title_end=title_end,
        )
        for row in rows:
            sheet.add(*row)
        has_pooled_row = bool(sheet.rows) and sheet.rows[-1][0].text == POOLED
        return replace(sheet, sums=1 if has_pooled_row else 0)

    def add(self, *cells: str | Cell) -> None:
        """Add a row."""
        self.rows.append([cell if isinstance(cell, Cell) else Cell(cell) for cell in cells])

    def has(self, key: str) -> bool:
        """Return whether the column of this key has any text."""
        column_index = [column.key for column in self.columns].index(key)
        return any(row[column_index].text for row in self.rows)

    def select(self, heads: Mapping[str, str], **changes: str) -> Sheet:
        """Return a sheet of the columns with these keys, in this order, under these heads.

        Further keywords replace fields of the sheet.
        """
        column_indices = {column.key: i for i, column in enumerate(self.columns)}
        columns = [
            self.columns[column_indices[key]]._replace(head=head) for key, head in heads.items()
        ]
        rows = [[row[column_indices[key]] for key in heads] for row in self.rows]
        return replace(self, columns=columns, rows=rows, **changes)  # type: ignore[arg-type]

    def for_report(self, label: str) -> Sheet:
        """Return the sheet for the HTML report: a label in the title, heads with capitals."""
        title = f"{self.title} ({label})" if self.title else label
        columns = [
            column._replace(
                head=capitalised(column.head),
                is_wide=bool(i) and any(len(row[i].text) > _MAX_ONE_LINE for row in self.rows),
            )
            for i, column in enumerate(self.columns)
        ]
        return replace(self, title=title, columns=columns)

    def without_empty_columns(self, *, keeps_reasons: bool = False) -> Sheet:
        """Return the sheet without columns that have no figure.

        With `keeps_reasons`, columns with the reason for a dash stay.
        """

        def has_content(cell: Cell) -> bool:
            return cell.text not in {UNDEFINED, ""} or (keeps_reasons and bool(cell.reason))

        column_indices = [
            i
            for i, column in enumerate(self.columns)
            # the names of rows and columns of text stay, even if they are empty
            if not i or column.is_words or any(has_content(row[i]) for row in self.rows)
        ]
        return replace(
            self,
            columns=[self.columns[i] for i in column_indices],
            rows=[[row[i] for i in column_indices] for row in self.rows],
        )

    @property
    def footnotes(self) -> dict[str, str]:
        """The mark of each reason for a dash, in reading order."""
        cells = [cell for row in self.rows for cell in row]
        reasons = dict.fromkeys(
            cell.reason for cell in cells if cell.reason and cell.text == UNDEFINED
        )
        return {
            reason: str(number).translate(_SUPERSCRIPTS) for number, reason in enumerate(reasons, 1)
        }

    @property
    def on_page(self) -> list[list[Cell]]:
        """Rows of the HTML report: marks set apart, dashes with the mark of their reason."""
        notes = self.footnotes

        def with_marks(cell: Cell) -> Cell:
            mark = f"\u00a0{cell.mark}" if cell.mark else ""
            if cell.text == UNDEFINED and cell.reason:
                mark = f"{GAP}{notes[cell.reason]}"
            return cell._replace(text=f"{_VERDICT_SIGNS.get(cell.verdict, '')}{cell.text}{mark}")

        return [[with_marks(cell) for cell in row] for row in self.rows]

    @property
    def on_paper(self) -> list[list[str]]:
        """Rows for a paper, with a dash in every empty cell."""
        return [[f"{cell.text or UNDEFINED}{cell.mark}" for cell in row] for row in self.rows]


def terminal_table(
    sheet: Sheet, *, is_compact: bool = False, lines_above: int = 0, lines_below: int = 0
) -> Iterator[RenderableType]:
    """Return a sheet for the terminal, with some empty lines above and below its rows.

    In a compact table only names of groups may wrap, a gap at an end of a head is repeated in its
    cells, and units are left to the legend.
    """
    heads = [column.head for column in sheet.columns]
    word_columns = tuple(i for i, column in enumerate(sheet.columns) if column.is_words)
    unbroken_columns = [
        i for i, column in enumerate(sheet.columns) if is_compact and column.key != "group"
    ]
    terminal_grid = grid(*heads, left_aligned=word_columns, fixed=tuple(unbroken_columns))
    for column, grid_column in zip(sheet.columns, terminal_grid.columns, strict=True):
        grid_column.no_wrap = grid_column.no_wrap or column.is_unbroken
    # the first column names the rows and is never left out
    column_indices = {column.key: i for i, column in enumerate(sheet.columns) if i}
    terminal_grid.spare = [
        column_indices[key] for key in _OPTIONAL_COLUMNS if key in column_indices
    ]
    terminal_grid.together = [column.span_head for column in sheet.columns]
    for row in sheet.rows:
        cells = [
            text(
                _terminal_text(cell, column, is_compact=is_compact),
                style=STYLES.get(cell.verdict, ""),
            )
            for cell, column in zip(row[1:], sheet.columns[1:], strict=True)
        ]
        name = row[0]
        add_row(terminal_grid, f"{name.text}{name.mark}", *cells)
    if sheet.title:
        yield text(f"{sheet.title}{sheet.title_end}")
    if sheet.rows:
        yield Padding(terminal_grid, (lines_above, 0, lines_below, 2))


def _terminal_text(cell: Cell, column: Column, *, is_compact: bool) -> str:
    if is_compact:
        before = GAP if cell.text and column.head.startswith(GAP) else ""
        after = GAP if column.head.endswith(GAP) else ""
        return f"{before}{cell.text}{cell.mark or after}"
    unit = f" {column.unit}" if column.unit and cell.text not in {"", UNDEFINED} else ""
    return f"{cell.text}{unit}{cell.mark}"
