"""What templates show: tables of text cells, and lists of what was told. No HTML."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from parivox.auditing.operating_points import is_far
from parivox.report.sheet import POOLED
from parivox.report.words import GAP, number, percent, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.scopes import Scope
    from parivox.report.sheet import Sheet
    from parivox.report.words import Row

__all__ = [
    "Cell",
    "Grid",
    "abreast",
    "by_grouping",
    "listed",
    "of_sheet",
    "point_told",
    "rate_cells",
]


class Cell(NamedTuple):
    """A cell with a mark for the stylesheet: what it says must be in its text, too.

    What is `below` stands in a line of its own.
    """

    text: str
    mark: str = ""
    below: str = ""


T = TypeVar("T")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LONG = 24
"""Letters of a cell that may take several lines."""


@dataclass
class Grid:
    """A table; the first column names its rows.

    Attributes
    ----------
    caption : what the table shows
    heads : headings of the columns
    words : columns, counted from 1, that hold words: they stand to the left
    wide : columns whose words may take several lines
    rows : cells, as many as headings
    last : how many rows at the end are sums, which stay there when the table is sorted
    sortable : whether a reader may order the rows
    stacks : whether rows become lists on a phone, for what every reader must see whole
    notes : reasons of dashes, each told once below the table
    """

    caption: str
    heads: Sequence[str]
    words: Sequence[int] = (1,)
    wide: Sequence[int] = ()
    rows: list[list[str | Cell]] = field(default_factory=list)
    last: int = 0
    sortable: bool = False
    stacks: bool = False
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        """What it is about, in a few words of its caption."""
        return self.caption.partition(":")[0].partition(",")[0]

    def add(self, *cells: str | Cell) -> None:
        """Add a row."""
        self.rows.append(list(cells))

    def dash(self, why: str) -> str:
        """What stands for a missing figure: a dash with the mark of its reason."""
        return f"–{GAP}{self.notes.setdefault(why, _mark(len(self.notes) + 1))}" if why else "–"

    def told(self, words: str, why: str) -> str:
        """A figure in words or, where these are a dash, the dash with the mark of its reason."""
        return self.dash(why) if words == "–" else words

    @property
    def footnotes(self) -> list[str]:
        """Every reason that is marked in the table, behind its mark."""
        used = {_text(cell).partition(GAP)[2] for row in self.rows for cell in row}
        return [f"{mark} {why}" for why, mark in self.notes.items() if mark in used]

    def filled(self, *, keeps_reasons: bool = False) -> Grid:
        """The table without columns that hold no figure (and no reason of a dash, if so asked)."""
        columns = range(1, len(self.heads))
        is_empty = _is_bare if keeps_reasons else _is_dash
        kept = [0, *(i for i in columns if not all(is_empty(row[i]) for row in self.rows))]
        places = {old + 1: new for new, old in enumerate(kept, 1)}
        return replace(
            self,
            heads=[self.heads[i] for i in kept],
            words=[places[i] for i in self.words if i in places],
            wide=[places[i] for i in self.wide if i in places],
            rows=[[row[i] for i in kept] for row in self.rows],
        )


def _is_dash(cell: str | Cell) -> bool:
    """Whether a cell has no figure, nor the reason in it."""
    return _text(cell).partition(GAP)[0] in {"–", ""}


def _is_bare(cell: str | Cell) -> bool:
    """Whether a cell has neither a figure nor the mark of a reason."""
    return _text(cell) in {"–", ""}


def _text(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _mark(place: int) -> str:
    """A footnote's mark."""
    return str(place).translate(_RAISED)


def of_sheet(sheet: Sheet, label: str) -> Grid:
    """A table that the terminal shows, too."""
    caption = f"{sheet.told.removesuffix(':')} ({label})" if sheet.told else label
    last = int(bool(sheet.rows) and sheet.rows[-1][0] == POOLED)
    heads = [head[:1].upper() + head[1:] for head in sheet.heads]
    rows = [list[str | Cell](row) for row in sheet.rows]
    long = [i for i in range(len(heads)) if any(len(row[i]) > _LONG for row in sheet.rows)]
    return Grid(caption, heads, wide=[i + 1 for i in long if i], rows=rows, last=last)


def by_grouping(every: Sequence[Scope]) -> list[list[Scope]]:
    """Systems that stand beside each other, of each grouping."""
    found: dict[tuple[str, str], list[Scope]] = {}
    for scope in every:
        found.setdefault((scope.grouping, scope.allocation), []).append(scope)
    return list(found.values())


def rate_cells(row: Row, made: Grid, *, mark: str = "") -> tuple[str, str, str]:
    """A rate in percent, its interval, and its counts; or a dash and the reason."""
    if row["value"] is None:
        return "–", "", row["reason"]
    counts = "–" if row["trials"] is None else f"{number(row['errors'])} / {row['trials']:,}"
    interval = made.told(span(row["low"], row["high"], times=100), row["note"])
    mark = "" if row["high"] is None else mark
    return percent(row["value"]).removesuffix(" %"), interval + mark, counts


def abreast(rows: Sequence[Sequence[T]]) -> list[list[T]]:
    """Rows, in which those of one thing only are put together."""
    made: list[list[T]] = []
    for is_alone, same in groupby(rows, key=lambda row: len(row) == 1):
        found = [list(row) for row in same]
        made += [[one for row in found for one in row]] if is_alone else found
    return made


def listed(names: Sequence[str], *, most: int) -> list[str]:
    """Names, but not more than can be read."""
    left = len(names) - most
    return [*names[:most], f"and {left} more"] if left > 0 else list(names)


_POINTS = {
    "eer": "where both error rates of all trials are equal",
    "bayes": "where scores, read as likelihood ratios, cost least",
    "deployed": "as the decisions were made",
}


def point_told(row: Row) -> str:
    """An operating point in plain words, with the rate that it comes to where that may differ.

    Examples
    --------
    >>> point_told({"operating_point": "fpr=0.01", "source": "these trials", "fpr": 0.01})
    'at one threshold, at which 1 % of all impostor trials are let in'
    >>> point_told({"operating_point": "fpr=0.01", "source": "development trials", "fpr": 0.5})
    'at one threshold, chosen so that 1 % of all impostor trials are let in; here it is 50.0 %'
    >>> point_told({"operating_point": "threshold=0.5"})
    'at one threshold, given as 0.5'
    """
    point = str(row["operating_point"])
    kind, _, rest = point.partition("=")
    if kind in {"fpr", "fnr"}:
        of = "impostor trials are let in" if kind == "fpr" else "own trials are locked out"
        aim, reached = float(rest), row[kind]
        if reached is None or (row["source"] == "these trials" and not is_far(aim, reached)):
            return f"at one threshold, at which {100 * aim:g} % of all {of}"
        return (
            f"at one threshold, chosen so that {100 * aim:g} % of all {of}; here it is "
            f"{percent(reached)}"
        )
    if kind == "threshold":
        return f"at one threshold, given as {rest}"
    if point.startswith("min-cdet"):
        return "at one threshold, at which errors of all trials cost least"
    return f"at one threshold, {_POINTS.get(point, point)}"
