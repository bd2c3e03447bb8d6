"""What a limit allows at most: a rate, as in ``5%``, or times a reference, as in ``1.5x``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

RATIO_METRICS = ("fnr", "fpr")
"""Rates that limits of ratios are of."""
FAILURE_METRICS = ("fte", "fta")
"""Rates of recordings, which no threshold decides."""
LIMIT_METRICS = (*RATIO_METRICS, "frr", "far", "gfrr", "gfar", *FAILURE_METRICS)
"""Rates that may have a limit."""


_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", flags=re.ASCII | re.IGNORECASE)
_MAX_RATIO = 1e6
"""No ratio that is allowed is larger."""


class Limit(NamedTuple):
    """What a rate, or its ratio to the reference, may be at most, in one group or in each."""

    metric: str
    most: float
    """A rate in (0, 1); of a ratio, how many times the reference, at least 1."""
    is_ratio: bool
    group: str = ""
    """Empty for every group."""


def parse_maximum(text: str) -> tuple[float, bool] | None:
    """What is allowed at most, and whether it is a ratio; None where the text says no such thing.

    Examples
    --------
    >>> most_of("5%"), most_of("0.05"), most_of("1.5x"), most_of("5"), most_of("0_5%")
    ((0.05, False), (0.05, False), (1.5, True), None, None)
    """
    words = text.strip()
    unit = words[-1:] if words[-1:] in {"%", "x"} else ""
    number = words.removesuffix(unit)
    if not _NUMBER.fullmatch(number):
        return None
    value = float(number)
    if unit == "x":
        return (value, True) if 1 <= value <= _MAX_RATIO else None
    value = value / 100 if unit else value
    return (value, False) if 0 < value < 1 else None


def parse_limits(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Read limits as a user writes them, each once.

    Examples
    --------
    >>> parse_limits(["fnr:f=5%"])
    (Limit(metric='fnr', most=0.05, is_ratio=False, group='f'),)
    """
    found = []
    for text in texts:
        named, _, value = text.rpartition("=")
        metric, _, group = (part.strip() for part in named.partition(":"))
        most = parse_maximum(value)
        known = RATIO_METRICS if most is not None and most[1] else LIMIT_METRICS
        if most is None or metric not in known:
            msg = (
                f"--limit: {text!r} is not RATE=MAX; use a form such as fnr=5%, fnr=0.05, "
                "fpr=1.5x (ratio to the reference) or fnr:f=5% (group f only). Rates: "
                f"{', '.join(LIMIT_METRICS)}. Ratios: fnr, fpr"
            )
            raise ConfigError(msg)
        found.append(Limit(metric, *most, group))
    if len(set(found)) < len(found):
        msg = f"--limit names one limit twice: {list(texts)}; name each once"
        raise ConfigError(msg)
    return tuple(found)
