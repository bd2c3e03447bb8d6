"""Limits of rates: a maximum, as in ``5%``, or a maximum ratio to a reference, as in ``1.5x``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

RATIO_METRICS = ("fnr", "fpr", "sfar")
"""Rates whose ratio may have a limit."""
FAILURE_METRICS = ("fte", "fta")
"""Failure rates of recordings, which do not depend on a threshold."""
LIMIT_METRICS = (*RATIO_METRICS, "frr", "far", "gfrr", "gfar", *FAILURE_METRICS)
"""Rates that may have a limit."""
SEARCH_METRICS = ("fnir", "fpir")
"""Rates of identification, which may have limits of both kinds."""


_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", flags=re.ASCII | re.IGNORECASE)
_MAX_RATIO = 1e6
"""Largest ratio that a limit may allow."""


class Limit(NamedTuple):
    """The maximum of a rate, or of its ratio to the reference, in one group or in each."""

    metric: str
    maximum: float
    """A rate in (0, 1); of a ratio, how many times the reference, at least 1."""
    is_ratio: bool
    group: str = ""
    """Empty for every group."""


def parse_maximum(text: str) -> tuple[float, bool] | None:
    """Return the maximum and whether it is a ratio; None if the text is neither.

    Examples
    --------
    >>> [parse_maximum(text) for text in ("5%", "5 %", "0.05", "1.5x", "5", "0_5%")]
    [(0.05, False), (0.05, False), (0.05, False), (1.5, True), None, None]
    """
    words = text.strip()
    unit = words[-1:] if words[-1:] in {"%", "x"} else ""
    number = words.removesuffix(unit).rstrip()
    if not _NUMBER.fullmatch(number):
        return None
    if unit == "x":
        maximum = float(number)
        return (maximum, True) if 1 <= maximum <= _MAX_RATIO else None
    # as decimals, since 99.9 / 100 is above 0.999
    maximum = float(Decimal(number) / 100 if unit else Decimal(number))
    return (maximum, False) if 0 < maximum < 1 else None


def parse_limits(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Return limits, parsed from the texts of a user; refuse a limit that is given twice.

    Examples
    --------
    >>> parse_limits(["fnr:f=5%"])
    (Limit(metric='fnr', maximum=0.05, is_ratio=False, group='f'),)
    """
    limits = []
    for text in texts:
        metric_and_group, _, maximum_text = text.rpartition("=")
        metric, colon, group = (name.strip() for name in metric_and_group.partition(":"))
        maximum = parse_maximum(maximum_text)
        metrics = RATIO_METRICS if maximum is not None and maximum[1] else LIMIT_METRICS
        if maximum is None or metric not in (*metrics, *SEARCH_METRICS):
            msg = f"--limit: {text!r} is not RATE=MAX"
            hint = (
                "use a form such as fnr=5%, fnr=0.05, "
                "fpr=1.5x (ratio to the reference) or fnr:f=5% (group f only). Rates: "
                f"{', '.join(LIMIT_METRICS)}. Ratios: fnr, fpr, sfar"
            )
            raise ConfigError(msg, hint)
        if metric == "sfar" and colon and not group:
            msg = f"--limit: {text!r} names no group"
            hint = "name a group after the colon, or leave out the colon"
            raise ConfigError(msg, hint)
        limits.append(Limit(metric, *maximum, group))
    if len(set(limits)) < len(limits):
        msg = f"--limit names one limit twice: {list(texts)}"
        hint = "give each limit once"
        raise ConfigError(msg, hint)
    return tuple(limits)
