"""What templates show: tables of text cells, and lists of what was told. No HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from parivox.report.words import number, percent, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

__all__ = ["Cell", "Grid", "Scope", "listed", "name_of", "point_told", "rate_cells", "scopes"]


class Cell(NamedTuple):
    """A cell with a mark for the stylesheet: what it says must be in its text, too."""

    text: str
    mark: str


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
    """

    caption: str
    heads: Sequence[str]
    words: Sequence[int] = (1,)
    wide: Sequence[int] = ()
    rows: list[list[str | Cell]] = field(default_factory=list)
    last: int = 0
    sortable: bool = False
    stacks: bool = False

    def add(self, *cells: str | Cell) -> None:
        """Add a row."""
        self.rows.append(list(cells))


class Scope(NamedTuple):
    """One grouping of one system on one list, under one allocation."""

    system: str
    list: str
    grouping: str
    allocation: str

    @property
    def where(self) -> Row:
        """As a table is asked."""
        return {**self._asdict(), "within": ""}

    @property
    def label(self) -> str:
        """As a reader is told."""
        how = "" if self.allocation == "both" else f", nontarget trials by {self.allocation}"
        return f"{name_of(self.system, self.list)}, {self.grouping}{how}"


def name_of(system: str, list_: str) -> str:
    """A system, and the list it was audited on."""
    return f"{system} on {list_}" if list_ else system


def scopes(audit: Audit) -> Iterator[Scope]:
    """Everything that has groups of its own, in the order of the audit."""
    known = {
        (row["system"], row["list"], row["grouping"], row["allocation"])
        for row in audit.groups.where(metric="fnr", definition="", within="").rows()
    }
    for one in audit.record["inputs"]:
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                key = (one["system"], one["list"], grouping, allocation)
                if key in known:
                    yield Scope(*key)


def rate_cells(row: Row, *, mark: str = "") -> tuple[str, str, str]:
    """A rate in percent, its interval, and its counts; or a dash and the reason."""
    if row["value"] is None:
        return "–", "–", row["reason"] or "–"
    counts = "–" if row["trials"] is None else f"{number(row['errors'])} / {row['trials']:,}"
    interval = span(row["low"], row["high"], times=100) + mark
    return percent(row["value"]).removesuffix(" %"), interval, counts


def listed(names: Sequence[str], *, most: int) -> list[str]:
    """Names, but not more than can be read."""
    left = len(names) - most
    return [*names[:most], f"and {left} more"] if left > 0 else list(names)


_POINTS = {
    "eer": "where both error rates of all trials are equal",
    "bayes": "where scores, read as likelihood ratios, cost least",
    "deployed": "as the decisions were made",
}


def point_told(point: str) -> str:
    """An operating point in plain words.

    Examples
    --------
    >>> point_told("fpr=0.01")
    'at one threshold, at which 1 % of all impostor trials are let in'
    >>> point_told("threshold=0.5")
    'at one threshold, given as 0.5'
    """
    kind, _, rest = point.partition("=")
    if kind in {"fpr", "fnr"}:
        of = "impostor trials are let in" if kind == "fpr" else "own trials are locked out"
        return f"at one threshold, at which {100 * float(rest):g} % of all {of}"
    if kind == "threshold":
        return f"at one threshold, given as {rest}"
    if point.startswith("min-cdet"):
        return "at one threshold, at which errors of all trials cost least"
    return f"at one threshold, {_POINTS.get(point, point)}"
