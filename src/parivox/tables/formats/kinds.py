"""Which of the formats without a header a text is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.tables.formats.text import head_lines, is_text, split
from parivox.tables.labels import is_label

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["all_scores", "column", "kind_of", "sample"]

SEPARATORS = (" ", ",", ";", "|")
LINES = 200


def sample(head: bytes) -> tuple[list[list[str]], str]:
    """Fields of the first lines, and what separates them."""
    lines = [line for _, line in head_lines(head)[:LINES]] if is_text(head) else []
    for separator in SEPARATORS:
        rows = [split(line, separator) for line in lines]
        if rows and min(len(row) for row in rows) >= 3:
            return rows, separator
    return [], " "


def column(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """One column of the sample; empty where a row is too short."""
    return [row[place] for row in rows] if min(map(len, rows), default=0) > place else []


def all_labels(cells: Sequence[str]) -> bool:
    """Whether every cell is a label."""
    return bool(cells) and all(is_label(cell) for cell in cells)


def all_numbers(cells: Sequence[str]) -> bool:
    """Whether every cell is a number."""
    return bool(cells) and all(_is_number(cell) for cell in cells)


def all_scores(cells: Sequence[str]) -> bool:
    """Whether every cell is a number and one of them is no whole one, as ids of digits are."""
    return all_numbers(cells) and any(not cell.lstrip("+-").isdigit() for cell in cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def kind_of(head: bytes) -> str:
    """Name of the format without a header, or an empty string.

    Ids may consist of digits, so a column of 0 and 1 is labels before it is anything else, and a
    column of numbers is scores only if one of them is not a whole number or nothing else is.

    Examples
    --------
    >>> kind_of(b"1 a/1.wav a/2.wav"), kind_of(b"a b nontarget"), kind_of(b"a b -0.5")
    ('voxceleb', 'kaldi-trials', 'kaldi-scores')
    """
    rows, _ = sample(head)
    first, third = column(rows, 0), column(rows, 2)
    if all_labels(first):
        return "voxceleb"
    if all_labels(third):
        return "kaldi-trials"
    for are_scores in (all_scores, all_numbers):
        if are_scores(third) != are_scores(first):
            return "kaldi-scores" if are_scores(third) else "voxceleb-scores"
    return ""
