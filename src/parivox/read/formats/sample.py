"""The first lines of a text, and what their columns seem to hold.

Most of the lines decide, so that an odd one is named for what it is later on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from parivox.read.cells import is_label
from parivox.read.formats.delimited import head_lines, is_text, split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Cells = Sequence[str]

SIDES = ("a", "b")
"""Of a telephone call, as NIST names them."""
_SEPARATORS = (" ", ",", ";", "|")
_LINES = 200
_DECISIONS = ("accept", "accepted", "reject", "rejected")


@dataclass(frozen=True, eq=False)
class Sample:
    """First lines of a text without a header."""

    head: bytes  # first bytes of the text
    # fields of its first lines; empty for what is no table of three columns or more
    rows: list[list[str]]
    separator: str  # what separates them
    width: int  # how many fields most of the lines have

    @cached_property
    def all_rows(self) -> list[list[str]]:
        """Fields of all lines: bob compares a test with all models before it takes the next."""
        lines = head_lines(self.head) if is_text(self.head) else []
        return [split(line, self.separator) for _, line in lines]

    def column(self, place: int, rows: Sequence[Cells] | None = None) -> list[str]:
        """One column of the rows of the usual width."""
        some = self.rows if rows is None else rows
        return [row[place] for row in some if len(row) == self.width > place]

    def labels(self, place: int) -> bool:
        """Whether a column holds labels."""
        return _mostly_labels(self.column(place))

    def numbers(self, place: int) -> bool:
        """Whether a column holds numbers."""
        return mostly_numbers(self.column(place))

    def scores(self, place: int) -> bool:
        """Whether a column holds numbers that ids would not be."""
        return mostly_scores(self.column(place))

    def sides(self, place: int) -> bool:
        """Whether a column holds sides of telephone calls."""
        return _most(self.column(place), lambda cell: cell.lower() in SIDES)

    def scores_rather(self, place: int, other: int) -> int:
        """How surely scores stand in one column and not in the other one, from 0 to 3.

        Ids may consist of digits, so numbers are scores only if one of them is not a whole number
        or nothing else is.
        """
        for sure, are_scores in ((3, mostly_scores), (2, _all_numbers), (1, mostly_numbers)):
            here, there = are_scores(self.column(place)), are_scores(self.column(other))
            if here != there:
                return sure if here else 0
        return 0

    def starts_with_labels_throughout(self) -> bool:
        """Whether the first column holds labels in all lines, not only in the first ones."""
        return _mostly_labels(self.column(0, self.all_rows))

    def is_of_identities(self, *, with_targets: bool = True) -> bool:
        r"""Whether the columns stand to each other as bob's do, in four columns or in five.

        That is, they end in scores, each test is of one real identity, each model of one claimed
        one, and where a speaker is compared with himself the two identities are equal.

        Examples
        --------
        >>> sample(b"s1 s1 u1 0.5\ns1 s2 u2 0.1").is_of_identities()
        True
        >>> sample(b"a/1 a/2 phone 0.5\na/1 b/1 phone 0.1").is_of_identities()
        False
        """
        if self.width not in {4, 5}:
            return False
        columns = (self.column(place, self.all_rows) for place in range(self.width))
        claimed, *model, real, test, score = columns
        if not mostly_scores(score) or mostly_scores(test):
            return False
        meets = any(a == b for a, b in zip(claimed, real, strict=True))
        return (
            meets is with_targets
            and _has_one(test, real)
            and all(_has_one(one, claimed) for one in model)
        )

    @cached_property
    def has_unknown_header(self) -> bool:
        r"""Whether the first row names columns, if by no known names.

        It holds no number and no path, but the rows below it do.

        Examples
        --------
        >>> sample(b"u1 u2 y\na/1 a/2 1").has_unknown_header
        True
        """
        first, *others = self.rows or [[]]
        below = [row for row in others if len(row) == len(first)]
        if not below or any(_is_number(cell) or "/" in cell for cell in first):
            return False
        columns = list(zip(*below, strict=True))
        return any(mostly_numbers(c) or _most(c, lambda cell: "/" in cell) for c in columns)

    def are_decisions(self) -> bool:
        r"""Whether the rows are two ids and a decision each, which only a header can say.

        Examples
        --------
        >>> [sample(text).are_decisions() for text in (b"a b accept", b"x y z\na b accept")]
        [True, False]
        """
        third = [cell.lower() for cell in self.column(2)] or [""]
        return (
            self.width == 3
            and len(self.rows[0]) == self.width
            and third[0] in _DECISIONS
            and _most(third, _DECISIONS.__contains__)
        )


@lru_cache(maxsize=4)
def sample(head: bytes) -> Sample:
    """The first lines of a text, of which these are the first bytes."""
    lines = [line for _, line in head_lines(head)[:_LINES]] if is_text(head) else []
    for separator in _SEPARATORS:
        rows = [split(line, separator) for line in lines]
        widths = Counter(map(len, rows))
        if rows and 2 * sum(n for width, n in widths.items() if width >= 3) > len(rows):
            width = max(widths, key=lambda width: (width >= 3, widths[width]))
            return Sample(head, rows, separator, width)
    return Sample(head, [], " ", 0)


def mostly_numbers(cells: Cells) -> bool:
    """Whether most cells are numbers."""
    return _most(cells, _is_number)


def mostly_scores(cells: Cells) -> bool:
    """Whether most cells are numbers and one of them is no whole one, as ids of digits are."""
    return mostly_numbers(cells) and any(_is_number(cell) and not _is_whole(cell) for cell in cells)


def _mostly_labels(cells: Cells) -> bool:
    """Whether most cells are labels and no other one is a number that no label may be."""
    odd = (cell for cell in cells if not is_label(cell))
    return _most(cells, is_label) and not any(_is_number(c) and not _is_whole(c) for c in odd)


def _all_numbers(cells: Cells) -> bool:
    return bool(cells) and all(map(_is_number, cells))


def _most(cells: Cells, is_one: Callable[[str], bool]) -> bool:
    return 2 * sum(map(is_one, cells)) > len(cells)


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdigit()


def _is_number(cell: str) -> bool:
    """Whether a cell is a number as scores are written."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _has_one(labels: Cells, owners: Cells) -> bool:
    """Whether each label has one owner, but for an odd line."""
    owner: dict[str, str] = {}
    odd = sum(owner.setdefault(a, b) != b for a, b in zip(labels, owners, strict=True))
    return 10 * odd <= len(labels)
