"""Curves of an audit's groups as the eye sees them: few points, on probits, with bands."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import parse_cost
from parivox.errors import ConfigError
from parivox.report.binned import Binned, binned
from parivox.report.charts.axes import probit, simplified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.auditing.result import Audit

_POINTS = 44
_ON_BAND = 18
_COARSER = 1.6


@lru_cache(maxsize=1)
def _all(audit: Audit) -> dict[tuple[str, str, str, str], Binned]:
    found = binned(audit)
    return {(one.system, one.list, one.grouping, one.allocation): one for one in found}


def of(audit: Audit, system: str, listed: str, grouping: str, allocation: str = "") -> Binned:
    """Errors at every shared threshold.

    Raises
    ------
    ConfigError
        If the audit has no scores of that grouping.
    """
    found = _all(audit).get((system, listed, grouping, allocation))
    if found is None:
        msg = f"no curves of {grouping}: the audit has decisions or withheld counts only"
        raise ConfigError(msg)
    return found


def line(
    fpr: NDArray[np.float64], fnr: NDArray[np.float64], domain: tuple[float, float]
) -> tuple[list[float], list[float]]:
    """A DET curve in probits, cut to a domain of rates and thinned; empty without both rates."""
    if np.isnan(fpr).any() or np.isnan(fnr).any():
        return [], []
    x, y = (_clipped(rates, domain) for rates in (fpr, fnr))
    order = np.lexsort((-y, x))
    x, y = x[order], y[order]
    edge = probit(domain[0]) - _BEYOND / 2
    inner = (x > edge) & (y > edge)
    near = inner | np.roll(inner, 1) | np.roll(inner, -1)
    x, y = (x[near], y[near]) if near.any() else (x, y)
    by = 0.012
    kept = simplified(x, y, by=by)
    while kept.size > _POINTS:
        by *= _COARSER
        kept = simplified(x, y, by=by)
    return _short(x[kept]), _short(y[kept])


def band(rows: list[dict[str, Any]], domain: tuple[float, float]) -> dict[str, list[float]]:
    """The interval band about a curve: from both lower limits to both upper ones.

    Returns
    -------
    dict
        x, y and y2 in probits; empty lists without limits.
    """
    limits = ("fpr_low", "fpr_high", "fnr_low", "fnr_high")
    told = [row for row in rows if all(row[name] is not None for name in limits)]
    if len(told) < 3:
        return {"x": [], "y": [], "y2": []}
    told.sort(key=lambda row: row["threshold"])
    raw = {name: _clipped(np.array([row[name] for row in told]), domain) for name in limits}
    # what FPR exceeds, or does not, at one threshold holds for every looser or stricter one too
    fpr_high = np.minimum.accumulate(raw["fpr_high"])
    fnr_low = np.maximum.accumulate(raw["fnr_low"])
    fpr_low = np.maximum.accumulate(raw["fpr_low"][::-1])[::-1]
    fnr_high = np.minimum.accumulate(raw["fnr_high"][::-1])[::-1]
    least, most = probit(domain)
    x = np.linspace(float(least), float(most), _ON_BAND)
    lower, upper = (
        np.interp(x, *_rising(across, up))
        for across, up in ((fpr_low, fnr_low), (fpr_high, fnr_high))
    )
    inside = (x >= fpr_low.min()) & (x <= fpr_high.max())
    return {
        "x": _short(x[inside]),
        "y": _short(np.minimum(lower, upper)[inside]),
        "y2": _short(upper[inside]),
    }


def own_minimum(found: Binned, cost: str) -> NDArray[np.intp] | None:
    """Which threshold costs each group least; none for a mean over several costs."""
    model = parse_cost(cost)
    if len(model.parts) > 1:
        return None
    costs = found.fnr + model.beta * found.fpr
    return np.asarray(np.argmin(np.where(np.isnan(costs), np.inf, costs), axis=-1))


def place(rates: NDArray[np.float64], domain: tuple[float, float]) -> list[float]:
    """Rates as places on the axis, those beyond it at its edge."""
    least, most = probit(domain)
    return _short(np.clip(_clipped(rates, domain), least, most))


_BEYOND = 0.5


def _clipped(rates: NDArray[np.float64], domain: tuple[float, float]) -> NDArray[np.float64]:
    """In probits; what is far off the axis stays near it."""
    least, most = probit(domain)
    with np.errstate(invalid="ignore"):
        return np.clip(probit(rates), least - _BEYOND, most + _BEYOND)


def _rising(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
    order = np.lexsort((-y, x))
    return x[order], y[order]


def _short(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 2) for value in values]
