"""Axes of rates in the explorer's tables: logarithmic, and as long as what is to be seen on them.

``assets/arithmetic.js`` has a twin of each function here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Axis", "Drawn", "fitted"]

ENDS = (*(float(f"{step}e{power}") for power in range(-9, 0) for step in (1, 2, 5)), 1.0)
"""Where an axis may end, and have ticks."""
REACH = 2
"""So many times beyond the outermost dot, an axis follows the bars; longer ones run to its end."""
_MOST_TICKS = 5


class Drawn(NamedTuple):
    """A rate and its limits, NaN where there are none."""

    rate: float
    low: float
    high: float


class Axis(NamedTuple):
    """From where to where rates are drawn."""

    low: float
    high: float

    @property
    def ticks(self) -> list[float]:
        """Both ends, and round rates between: three of a decade, or one if they are many."""
        inside = [end for end in ENDS if self.low <= end <= self.high]
        if len(inside) <= _MOST_TICKS:
            return inside
        decades = [end for end in inside[2:-2] if end in ENDS[::3]]
        return [self.low, *decades, self.high]

    def place(self, rate: float) -> float | None:
        """Where a rate stands from 0 to 100; what is beyond an end stands at it."""
        if math.isnan(rate):
            return None
        if rate <= self.low:
            return 0.0
        return round(min(100 * math.log(rate / self.low) / math.log(self.high / self.low), 100), 2)

    def places(self, drawn: Drawn) -> tuple[float | None, float | None, float | None]:
        """Where a rate and its limits stand."""
        rate, low, high = map(self.place, drawn)
        return rate, low, high


def fitted(seen: Iterable[Drawn]) -> Axis:
    """An axis around all dots, and around the bars that are not much longer.

    Examples
    --------
    >>> fitted([Drawn(0.0132, 0.011, 0.017), Drawn(0.00776, 0.0064, 0.0096)])
    Axis(low=0.005, high=0.02)
    """
    above = [one for one in seen if one.rate > 0]
    if not above:
        return Axis(0.0001, 1.0)
    least, most = min(one.rate for one in above), max(one.rate for one in above)
    lows = [one.low for one in above if one.low >= least / REACH] or [least]
    highs = [one.high for one in above if one.high <= most * REACH] or [most]
    first = max((i for i, end in enumerate(ENDS) if end <= min(least, *lows)), default=0)
    last = min(i for i, end in enumerate(ENDS) if end >= min(max(most, *highs), 1))
    if first == last:
        first, last = max(first - 1, 0), min(last + 1, len(ENDS) - 1)
    return Axis(ENDS[first], ENDS[last])
