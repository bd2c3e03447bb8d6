"""Cells of the explorer's tables: a figure as it is shown, and as it is.

``assets/arithmetic.js`` writes the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from parivox.report.words import percent

__all__ = ["REASONS", "Cell", "difference", "figure", "general", "points", "rate", "told"]

REASONS = {
    "undefined_value": "no trials",
    "undefined_reference": "no trials",
    "zero_reference": "0 there",
    "zero_over_zero": "0/0",
    "zero_own_min": "own is 0",
    "zero_cell": "a group has 0",
    "no_errors": "no errors",
    "one_group": "one group",
    "no_groups": "no group",
    "too_few": "too few trials",
    "out_of_reach": "out of reach",
    "several_priors": "several priors",
}
"""Why a figure is missing, infinite or a convention, as short as a table wants it."""


class Cell(NamedTuple):
    """A figure as it is shown, and as it is."""

    text: str
    value: float = math.nan


def general(number: float) -> str:
    """A threshold, to six digits."""
    return f"{number:.6g}".replace("inf", "∞")


def figure(value: float, reason: str = "") -> Cell:
    """A number of four digits, and why it is missing or a convention."""
    text = f"{value:#.4g}".rstrip(".") if value else "0"
    return Cell(told(value, text, reason), value)


def told(value: float, text: str, reason: str) -> str:
    """A number in words, with its reason where there is one."""
    text = "–" if math.isnan(value) else "∞" if math.isinf(value) else text
    return f"{text} ({REASONS[reason]})" if reason in REASONS else text


def rate(value: float) -> Cell:
    """A rate in percent."""
    return Cell(told(value, percent(value), "undefined_value" if math.isnan(value) else ""), value)


def difference(value: float, text: str) -> Cell:
    """A difference with its sign."""
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return Cell("–" if math.isnan(value) else sign + text, value)


def points(value: float) -> Cell:
    """A difference of rates in percentage points."""
    return difference(value, percent(abs(value)).removesuffix(" %"))
