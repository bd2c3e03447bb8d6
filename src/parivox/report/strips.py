"""A ratio with its interval on a fixed axis: where it stands from a quarter to sixteen times."""

from __future__ import annotations

import math

LOWEST, HIGHEST = 1 / 4, 16
TICKS = {1 / 4: "1/4", 1: "1", 4: "4", 16: "16"}
"""Marks of the axis and what stands at them."""
_POINTS = {"worse": "▲", "better": "▼", "no_difference": "=", "cannot_tell": "○"}


def place(ratio: float) -> float:
    """Where a ratio stands on the axis: 0 at its left end or beyond, 1 at its right end or beyond.

    Examples
    --------
    >>> [round(place(ratio), 3) for ratio in (0, 0.25, 1, 16, 100)]
    [0.0, 0.0, 0.333, 1.0, 1.0]
    """
    if ratio <= LOWEST:
        return 0.0
    return min(1.0, math.log(ratio / LOWEST) / math.log(HIGHEST / LOWEST))


def in_signs(
    ratio: float | None, low: float | None, high: float | None, verdict: str, *, width: int = 19
) -> str:
    """A strip as signs of one width: the interval as a line, the ratio as the sign of its verdict.

    Examples
    --------
    >>> in_signs(2.0, 1.0, 4.0, "worse")
    '      ┼──▲──       '
    """
    signs = [" "] * width

    def at(value: float) -> int:
        return round(place(value) * (width - 1))

    if low is not None and high is not None:
        for i in range(at(low), at(high) + 1):
            signs[i] = "─"
    signs[at(1)] = "┼" if signs[at(1)] == "─" else "│"
    if ratio is not None:
        signs[at(ratio)] = _POINTS.get(verdict, "○")
    return "".join(signs)


def axis(width: int = 19) -> str:
    """The marks over strips of that width, as far as there is room for them."""
    signs = [" "] * width
    for ratio, words in TICKS.items():
        start = min(round(place(ratio) * (width - 1)), width - len(words))
        signs[start : start + len(words)] = words
    return "".join(signs)
