"""Which of the formats without a header a text is in.

Most of the lines decide, so that an odd one is named for what it is later on.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from parivox.read.formats.text import head_lines, is_text, split
from parivox.read.labels import is_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Cells = Sequence[str]

__all__ = [
    "SIDES",
    "are_decisions",
    "column",
    "first_odd",
    "is_unknown_header",
    "kind_of",
    "may_be_of_bob",
    "mostly_numbers",
    "mostly_scores",
    "readings",
    "sample",
]

SEPARATORS = (" ", ",", ";", "|")
SIDES = ("a", "b")
"""Of a telephone call, as NIST names them."""
LINES = 200
_FIRST = 20
_DECISIONS = ("accept", "accepted", "reject", "rejected")


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


def are_decisions(head: bytes) -> bool:
    r"""Whether the rows are two ids and a decision each, which only a header can say.

    Examples
    --------
    >>> are_decisions(b"a/1 a/2 accept"), are_decisions(b"enrol test decision\na/1 a/2 accept")
    (True, False)
    """
    rows, _, width = sample(head)
    third = [cell.lower() for cell in column(rows, 2, width)] or [""]
    return (
        width == 3
        and len(rows[0]) == width
        and third[0] in _DECISIONS
        and _most(third, _DECISIONS.__contains__)
    )


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
    """Name of the format without a header, or an empty string if it is none or could be two.

    Ids may consist of digits, so a column of 0 and 1 is labels before it is anything else, and a
    column of numbers is scores only if one of them is not a whole number or nothing else is.

    Examples
    --------
    >>> kind_of(b"1 a/1.wav a/2.wav"), kind_of(b"a b nontarget"), kind_of(b"a b -0.5")
    ('voxceleb', 'kaldi-trials', 'kaldi-scores')
    >>> kind_of(b"a b -0.5 nontarget"), kind_of(b"m1 s1 a -0.5")
    ('wespeaker', 'nist-scores')
    """
    found = readings(head)
    return found[0] if len(found) == 1 else ""


@lru_cache(maxsize=4)
def readings(head: bytes) -> tuple[str, ...]:
    """Names of the formats without a header that a text may be in: none, one or two.

    Examples
    --------
    >>> readings(b"1 1 a 0.5")
    ('voxceleb', 'bob-4')
    """
    rows, separator, width = sample(head)
    if is_unknown_header(rows):
        return ()
    every = _rows(head, separator)
    bob = f"bob-{width}" if _is_of_bob(every, width) else ""
    labelled = _by_labels(rows, width)
    if bob and labelled == "voxceleb" and mostly_labels(column(every, 0, width)) and width == 4:
        return labelled, bob
    if bob and (labelled == "voxceleb" or width == 5):  # with labels there are no five columns
        labelled = ""
    kind = labelled or bob or _by_sides(rows, width) or _by_scores(rows, width)
    return (kind,) if kind else ()


def first_odd(head: bytes) -> tuple[int, str, str] | None:
    r"""The first line that takes away the format of those above it: row, line, format.

    Examples
    --------
    >>> first_odd(b"1 a/1 a/2\nx a/1 a/3")
    (2, 'x a/1 a/3', 'voxceleb')
    """
    kind, above = "", ""
    for row, line in head_lines(head)[:_FIRST] if is_text(head) else []:
        above += f"{line}\n"
        before, kind = kind, kind_of(above.encode())
        if not kind:
            return (row, line, before) if before else None
    return None


def _by_labels(rows: Sequence[Cells], width: int) -> str:
    """The format whose column of labels is where one is."""
    first, third, fourth = (column(rows, place, width) for place in (0, 2, 3))
    are_words = not mostly_numbers(fourth)  # so that 0 and 1 before them are scores
    if (
        width == 4
        and mostly_labels(fourth)
        and (mostly_scores(third) or (are_words and mostly_numbers(third)))
    ):
        return "wespeaker"
    if mostly_labels(first):
        return "voxceleb"
    return "kaldi-trials" if mostly_labels(third) else ""


def _by_sides(rows: Sequence[Cells], width: int) -> str:
    """The format of NIST whose column of sides is where one is."""
    third, fourth = column(rows, 2, width), column(rows, 3, width)
    if not _most(third, lambda cell: cell.lower() in SIDES):
        return ""
    if mostly_labels(fourth):
        return "nist-key"
    return "nist-scores" if mostly_numbers(fourth) else ""


def _by_scores(rows: Sequence[Cells], width: int) -> str:
    """The format whose column of scores is where one is."""
    first, third, fourth = (column(rows, place, width) for place in (0, 2, 3))
    ends_in_labels = width == 4 and mostly_labels(fourth)
    for are_scores in (mostly_scores, _all_numbers, mostly_numbers):
        if are_scores(third) != are_scores(first):
            if are_scores(first):
                return "voxceleb-scores"
            return "wespeaker" if ends_in_labels else "kaldi-scores"
    return ""


def _all_numbers(cells: Cells) -> bool:
    return bool(cells) and all(map(is_number, cells))


def may_be_of_bob(head: bytes) -> str:
    """Name of the one of bob's formats that a text may be in, although no trial is a target."""
    _, separator, width = sample(head)
    of_bob = _is_of_bob(_rows(head, separator), width, with_targets=False)
    return f"bob-{width}" if of_bob else ""


def _rows(head: bytes, separator: str) -> list[list[str]]:
    """Fields of all lines: bob compares a test with all models before it takes the next one."""
    return [split(line, separator) for _, line in head_lines(head)] if is_text(head) else []


def _is_of_bob(rows: Sequence[Cells], width: int, *, with_targets: bool = True) -> bool:
    """Whether the columns stand to each other as bob's do.

    That is, they end in scores, each test is of one real identity, each model of one claimed
    one, and where a speaker is compared with himself the two identities are equal.

    Examples
    --------
    >>> _is_of_bob([["s1", "s1", "u1", "0.5"], ["s1", "s2", "u2", "0.1"]], 4)
    True
    >>> _is_of_bob([["a/1", "a/2", "phone", "0.5"], ["a/1", "b/1", "phone", "0.1"]], 4)
    False
    """
    if width not in {4, 5}:
        return False
    claimed, *model, real, test, score = (column(rows, place, width) for place in range(width))
    if not mostly_scores(score) or mostly_scores(test):
        return False
    meets = any(a == b for a, b in zip(claimed, real, strict=True))
    return (
        meets is with_targets
        and _has_one(test, real)
        and all(_has_one(label, claimed) for label in model)
    )


def _has_one(labels: Cells, owners: Cells) -> bool:
    """Whether each label has one owner, but for an odd line."""
    owner: dict[str, str] = {}
    odd = sum(owner.setdefault(a, b) != b for a, b in zip(labels, owners, strict=True))
    return 10 * odd <= len(labels)
