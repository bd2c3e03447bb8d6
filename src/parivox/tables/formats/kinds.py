"""Which of the formats without a header a text is in.

Most of the lines decide, so that an odd one is named for what it is later on.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from parivox.tables.formats.text import head_lines, is_text, split
from parivox.tables.labels import is_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Cells = Sequence[str]

__all__ = ["column", "is_unknown_header", "kind_of", "mostly_numbers", "mostly_scores", "sample"]

SEPARATORS = (" ", ",", ";", "|")
LINES = 200


def sample(head: bytes) -> tuple[list[list[str]], str, int]:
    """Fields of the first lines, what separates them, and how many most of the lines have."""
    lines = [line for _, line in head_lines(head)[:LINES]] if is_text(head) else []
    for separator in SEPARATORS:
        rows = [split(line, separator) for line in lines]
        widths = Counter(map(len, rows))
        if rows and 2 * sum(n for width, n in widths.items() if width >= 3) > len(rows):
            return rows, separator, max(widths, key=lambda width: (width >= 3, widths[width]))
    return [], " ", 0


def column(rows: Sequence[Cells], place: int, width: int) -> list[str]:
    """One column of the rows of the usual width."""
    return [row[place] for row in rows if len(row) == width > place]


def _most(cells: Cells, is_one: Callable[[str], bool]) -> bool:
    return 2 * sum(map(is_one, cells)) > len(cells)


def mostly_numbers(cells: Cells) -> bool:
    """Whether most cells are numbers."""
    return _most(cells, is_number)


def mostly_scores(cells: Cells) -> bool:
    """Whether most cells are numbers and one of them is no whole one, as ids of digits are."""
    return mostly_numbers(cells) and any(is_number(cell) and not _is_whole(cell) for cell in cells)


def mostly_labels(cells: Cells) -> bool:
    """Whether most cells are labels and no other one is a number that no label may be."""
    odd = (cell for cell in cells if not is_label(cell))
    return _most(cells, is_label) and not any(is_number(c) and not _is_whole(c) for c in odd)


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdigit()


def is_number(cell: str) -> bool:
    """Whether a cell is a number as scores are written."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def is_unknown_header(rows: Sequence[Cells]) -> bool:
    """Whether the first row names columns, if by no known names.

    It holds no number and no path, but the rows below it do.

    Examples
    --------
    >>> is_unknown_header([["u1", "u2", "y"], ["a/1", "a/2", "1"]])
    True
    """
    first, *others = rows or [[]]
    below = [row for row in others if len(row) == len(first)]
    if not below or any(is_number(cell) or "/" in cell for cell in first):
        return False
    columns = list(zip(*below, strict=True))
    return any(mostly_numbers(c) or _most(c, lambda cell: "/" in cell) for c in columns)


def kind_of(head: bytes) -> str:
    """Name of the format without a header, or an empty string.

    Ids may consist of digits, so a column of 0 and 1 is labels before it is anything else, and a
    column of numbers is scores only if one of them is not a whole number or nothing else is.

    Examples
    --------
    >>> kind_of(b"1 a/1.wav a/2.wav"), kind_of(b"a b nontarget"), kind_of(b"a b -0.5")
    ('voxceleb', 'kaldi-trials', 'kaldi-scores')
    >>> kind_of(b"a b -0.5 nontarget")
    'wespeaker'
    """
    rows, _, width = sample(head)
    if is_unknown_header(rows):
        return ""
    first, third, fourth = (column(rows, place, width) for place in (0, 2, 3))
    ends_in_labels = width == 4 and mostly_labels(fourth)
    with_scores_third = "wespeaker" if ends_in_labels else "kaldi-scores"
    if ends_in_labels and mostly_scores(third):
        return with_scores_third
    for labels, kind in ((first, "voxceleb"), (third, "kaldi-trials")):
        if mostly_labels(labels):
            return kind
    for are_scores in (mostly_scores, _all_numbers, mostly_numbers):
        if are_scores(third) != are_scores(first):
            return with_scores_third if are_scores(third) else "voxceleb-scores"
    return ""


def _all_numbers(cells: Cells) -> bool:
    return bool(cells) and all(map(is_number, cells))
