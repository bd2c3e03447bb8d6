"""Arrangement of sections in the HTML report, and short texts that several sections use."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from parivox.auditing import SAME_TRIALS, is_far_from_target
from parivox.report.audit_queries import point_as_given
from parivox.report.catalogue import sentence_text
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.words import Row

Section = TypeVar("Section")
NOT_SUPPLIED = "not supplied"


def join_single_sections(rows: Sequence[Sequence[Section]]) -> list[list[Section]]:
    """Return rows in which consecutive rows of a single section are joined."""
    joined_rows: list[list[Section]] = []
    for is_alone, run in groupby(rows, key=lambda row: len(row) == 1):
        run_rows = [list(row) for row in run]
        joined_rows += [[section for row in run_rows for section in row]] if is_alone else run_rows
    return joined_rows


_POINT_TEXTS = {
    "eer": sentence_text("equal_error_rates"),
    "bayes": sentence_text("least_cost_of_likelihood_ratios"),
    "deployed": sentence_text("decisions_were_made"),
}


def point_text(row: Row, *, says_reached: bool = False) -> str:
    """Return an operating point in plain words, with the rate reached where it may differ.

    With `says_reached`, also where it is close to what was asked for.

    Examples
    --------
    >>> point_text({"operating_point": "fpr=0.01", "source": "these trials", "fpr": 0.01})
    'one threshold, at which 1 % of all nontarget trials are accepted'
    >>> point_text({"operating_point": "fpr=0.01", "source": "development trials", "fpr": 0.5})
    'one threshold, chosen so that 1 % of all nontarget trials are accepted; here 50.0 %'
    >>> point_text({"operating_point": "threshold=0.5"})
    'one threshold, given as 0.5'
    >>> row = {"operating_point": "fpr=0.01", "source": "these trials", "fpr": 0.00938}
    >>> point_text(row, says_reached=True)[15:]
    'at which at most 1 % of all nontarget trials are accepted; here 0.938 %'
    """
    point = point_as_given(row)
    kind, _, argument = point.partition("=")
    if kind in {"fpr", "fnr"}:
        trials_text = (
            sentence_text("nontarget_accepted")
            if kind == "fpr"
            else sentence_text("target_rejected")
        )
        target_rate, reached = float(argument), row[kind]
        if reached is None or (
            row["source"] == SAME_TRIALS and not is_far_from_target(target_rate, reached)
        ):
            if says_reached and reached is not None and reached < target_rate:
                return sentence_text(
                    "threshold_at_most",
                    target_rate=100 * target_rate,
                    trials=trials_text,
                    reached=percent(reached),
                )
            return sentence_text(
                "threshold_at_rate", target_rate=100 * target_rate, trials=trials_text
            )
        return sentence_text(
            "threshold_chosen_for_rate",
            target_rate=100 * target_rate,
            trials=trials_text,
            reached=percent(reached),
        )
    if kind == "threshold":
        return sentence_text("threshold_given", threshold=argument)
    if point.startswith("min-cdet"):
        return sentence_text("threshold_of_smallest_cost")
    return sentence_text("threshold_described", words=_POINT_TEXTS.get(point, point))
