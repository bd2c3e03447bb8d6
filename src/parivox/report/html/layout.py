"""How sections of a page are laid out, and short words that several of them use."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from parivox.auditing import SAME_TRIALS, is_far_from_target
from parivox.report.audit_queries import point_as_given
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.words import Row

T = TypeVar("T")
NOT_SUPPLIED = "not supplied"


def abreast(rows: Sequence[Sequence[T]]) -> list[list[T]]:
    """Rows, in which those of one thing only are put together."""
    made: list[list[T]] = []
    for is_alone, same in groupby(rows, key=lambda row: len(row) == 1):
        found = [list(row) for row in same]
        made += [[one for row in found for one in row]] if is_alone else found
    return made


_POINTS = {
    "eer": "where both error rates of all trials are equal",
    "bayes": "where scores, read as likelihood ratios, cost least",
    "deployed": "as the decisions were made",
}


def point_in_words(row: Row) -> str:
    """An operating point in plain words, with the rate that it comes to where that may differ.

    Examples
    --------
    >>> point_in_words({"operating_point": "fpr=0.01", "source": "these trials", "fpr": 0.01})
    'at one threshold, at which 1 % of all nontarget trials are accepted'
    >>> point_in_words({"operating_point": "fpr=0.01", "source": "development trials", "fpr": 0.5})
    'at one threshold, chosen so that 1 % of all nontarget trials are accepted; here it is 50.0 %'
    >>> point_in_words({"operating_point": "threshold=0.5"})
    'at one threshold, given as 0.5'
    """
    point = point_as_given(row)
    kind, _, rest = point.partition("=")
    if kind in {"fpr", "fnr"}:
        of = "nontarget trials are accepted" if kind == "fpr" else "target trials are rejected"
        aim, reached = float(rest), row[kind]
        if reached is None or (
            row["source"] == SAME_TRIALS and not is_far_from_target(aim, reached)
        ):
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
