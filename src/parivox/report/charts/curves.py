"""Errors of every group at every shared threshold, and their curves as the eye sees them.

An audit keeps the trials of each cell between thresholds that all cells of one system and list
share. Added up, they are the exact counts of errors at each of these thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import parse_cost
from parivox.core.counts import Curve
from parivox.errors import ConfigError
from parivox.report.charts.grammar import probit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.auditing import Audit
    from parivox.core.counts import FloatArray, IntArray

_POINTS = 44
_ON_BAND = 18
_COARSER = 1.6
_BEYOND = 0.5


@dataclass(frozen=True, eq=False)
class Binned:
    """The groups of one grouping of one system and list under one allocation.

    Of all trials, the grouping is ``all`` and the allocation empty.
    """

    system: str
    list: str
    grouping: str
    allocation: str
    groups: tuple[str, ...]
    """``pooled`` last; of all trials only ``all``."""
    thresholds: FloatArray
    """Rising, shape (threshold,); the first is -inf, which accepts everything."""
    fp: IntArray
    """Nontarget trials accepted if those with score >= threshold are, shape (group, threshold)."""
    fn: IntArray
    """Target trials rejected then, shape (group, threshold)."""
    n_target: IntArray
    n_nontarget: IntArray

    @property
    def where(self) -> dict[str, str]:
        """To ask the audit's tables with."""
        names = ("system", "list", "grouping", "allocation")
        return {name: getattr(self, name) for name in names}

    @property
    def curve(self) -> Curve:
        """The errors as the functions of ``core`` take them, at falling thresholds."""
        fp, fn = self.fp[:, ::-1], self.fn[:, ::-1]
        return Curve(self.thresholds[::-1], fp, fn, self.n_target, self.n_nontarget)

    @property
    def fpr(self) -> FloatArray:
        """FPR in [0, 1], shape (group, threshold); NaN without nontarget trials."""
        return self.curve.fpr[:, ::-1]

    @property
    def fnr(self) -> FloatArray:
        """FNR in [0, 1], shape (group, threshold); NaN without target trials."""
        return self.curve.fnr[:, ::-1]


def binned(audit: Audit) -> list[Binned]:
    """Every grouping of an audit, system by system, in the audit's order.

    Empty without scores. Groups of which nothing is known (withheld ones of a file of counts)
    are left out.
    """
    cells = audit.bins.to_dict()
    of = cells["system"], cells["list"], cells["grouping"], cells["allocation"]
    made: list[Binned] = []
    start = 0
    for key, rows in groupby(zip(*of, strict=True)):
        stop = start + sum(1 for _ in rows)
        groups = tuple(dict.fromkeys(cells["group"][start:stop]))
        thresholds, target, nontarget = (
            np.array(cells[name][start:stop]).reshape(len(groups), -1)
            for name in ("threshold", "target", "nontarget")
        )
        accepted = np.cumsum(nontarget[:, ::-1], axis=-1)[:, ::-1]
        rejected = np.cumsum(target, axis=-1) - target
        sizes = target.sum(axis=-1), nontarget.sum(axis=-1)
        made.append(Binned(*key, groups, thresholds[0], accepted, rejected, *sizes))
        start = stop
    return made


@lru_cache(maxsize=1)
def _by_key(audit: Audit) -> dict[tuple[str, str, str, str], Binned]:
    return {(one.system, one.list, one.grouping, one.allocation): one for one in binned(audit)}


def curves_of(
    audit: Audit, system: str, listed: str, grouping: str, allocation: str = ""
) -> Binned:
    """Errors at every shared threshold, or a `ConfigError` if there are no scores of these."""
    found = _by_key(audit).get((system, listed, grouping, allocation))
    if found is None:
        msg = f"no curves of {grouping}: the audit has decisions or withheld counts only"
        raise ConfigError(msg)
    return found


def own_minimum(of: Binned, cost: str) -> NDArray[np.intp] | None:
    """Which threshold costs each group least; none for a mean over several costs."""
    model = parse_cost(cost)
    if len(model.parts) > 1:
        return None
    costs = of.fnr + model.beta * of.fpr
    return np.asarray(np.argmin(np.where(np.isnan(costs), np.inf, costs), axis=-1))


# ---- as they are drawn, in probits


def line(
    fpr: NDArray[np.float64], fnr: NDArray[np.float64], domain: tuple[float, float]
) -> tuple[list[float], list[float]]:
    """A DET curve in probits, cut to a domain of rates and thinned; empty without both rates."""
    if np.isnan(fpr).any() or np.isnan(fnr).any():
        return [], []
    x, y = _rising(*(_clipped(rates, domain) for rates in (fpr, fnr)))
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

    ``x``, ``y`` and ``y2`` in probits; empty lists without limits.
    """
    limits = ("fpr_low", "fpr_high", "fnr_low", "fnr_high")
    nodes = [row for row in rows if all(row[name] is not None for name in limits)]
    if len(nodes) < 3:
        return {"x": [], "y": [], "y2": []}
    nodes.sort(key=lambda row: row["threshold"])
    raw = {name: _clipped(np.array([row[name] for row in nodes]), domain) for name in limits}
    # what FPR exceeds, or does not, at one threshold holds for every looser or stricter one too
    fpr_high = np.minimum.accumulate(raw["fpr_high"])
    fnr_low = np.maximum.accumulate(raw["fnr_low"])
    fpr_low = np.maximum.accumulate(raw["fpr_low"][::-1])[::-1]
    fnr_high = np.minimum.accumulate(raw["fnr_high"][::-1])[::-1]
    least, most = probit(domain)
    x = np.linspace(float(least), float(most), _ON_BAND)
    lower = np.interp(x, *_rising(fpr_low, fnr_low))
    upper = np.interp(x, *_rising(fpr_high, fnr_high))
    inside = (x >= fpr_low.min()) & (x <= fpr_high.max())
    low = np.minimum(lower, upper)
    return {"x": _short(x[inside]), "y": _short(low[inside]), "y2": _short(upper[inside])}


def place(rates: NDArray[np.float64], domain: tuple[float, float]) -> list[float]:
    """Rates as places on the axis, those beyond it at its edge."""
    least, most = probit(domain)
    return _short(np.clip(_clipped(rates, domain), least, most))


def simplified(
    x: NDArray[np.float64], y: NDArray[np.float64], *, by: float = 0.01
) -> NDArray[np.intp]:
    """Indices of points that draw the same line to the eye: none left out is further off than `by`.

    Examples
    --------
    >>> import numpy as np
    >>> simplified(np.arange(5.0), np.array([0, 1, 2, 1, 0.0])).tolist()
    [0, 2, 4]
    """
    kept = {0, x.size - 1}
    parts = [(0, x.size - 1)] if x.size > 2 else []
    while parts:
        first, last = parts.pop()
        across, up = x[last] - x[first], y[last] - y[first]
        inner = slice(first + 1, last)
        length = np.hypot(across, up)
        dx, dy = x[inner] - x[first], y[inner] - y[first]
        off = np.abs(across * dy - up * dx) / length if length else np.hypot(dx, dy)
        if off.size and off.max() > by:
            middle = first + 1 + int(off.argmax())
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    return np.array(sorted(kept), dtype=np.intp)


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
