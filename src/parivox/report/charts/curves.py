"""Errors of every group at every shared threshold, and DET curves thinned for drawing.

An audit keeps the trials of each cell between thresholds that all cells of one system and list
share. Added up, they are the exact counts of errors at each of these thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import cdet, parse_cost
from parivox.core.counts import Curve
from parivox.errors import ConfigError
from parivox.report.charts.grammar import probit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.auditing import Audit
    from parivox.core.counts import FloatArray, IntArray

_KEY_COLUMNS = ("system", "list", "grouping", "allocation")
_MAX_LINE_POINTS = 44
_BAND_POINTS = 18
_TOLERANCE_GROWTH = 1.6
_CLIP_MARGIN = 0.5
"""Probits by which points may lie beyond the axis before they are clipped."""


@dataclass(frozen=True, eq=False)
class ErrorCurves:
    """The groups of one grouping of one system and list under one allocation.

    For all trials of a list, the grouping is ``all`` and the allocation is empty.
    """

    system: str
    list: str
    grouping: str
    allocation: str
    groups: tuple[str, ...]
    """``pooled`` is the last; for all trials ``all`` is the only one."""
    thresholds: FloatArray
    """Rising, shape (threshold,); the first is -inf, which accepts everything."""
    fp: IntArray
    """Nontarget trials accepted if those with score >= threshold are, shape (group, threshold)."""
    fn: IntArray
    """Target trials rejected at the threshold, shape (group, threshold)."""
    n_target: IntArray
    n_nontarget: IntArray
    spoof_accepts: IntArray | None = None
    """Spoof trials accepted, as `fp`; None without spoof trials."""
    n_spoof: IntArray | None = None

    @property
    def filters(self) -> dict[str, str]:
        """Filters for the tables of the audit."""
        names = ("system", "list", "grouping", "allocation")
        return {name: getattr(self, name) for name in names}

    @property
    def curve(self) -> Curve:
        """Error counts at falling thresholds, as the functions of ``core`` take them."""
        fp, fn = self.fp[:, ::-1], self.fn[:, ::-1]
        spoof_accepts = None if self.spoof_accepts is None else self.spoof_accepts[:, ::-1]
        sizes = (self.n_target, self.n_nontarget)
        return Curve(self.thresholds[::-1], fp, fn, *sizes, spoof_accepts, self.n_spoof)

    @property
    def fpr(self) -> FloatArray:
        """FPR in [0, 1], shape (group, threshold); NaN without nontarget trials."""
        return self.curve.fpr[:, ::-1]

    @property
    def fnr(self) -> FloatArray:
        """FNR in [0, 1], shape (group, threshold); NaN without target trials."""
        return self.curve.fnr[:, ::-1]

    @property
    def nontarget_curves(self) -> ErrorCurves:
        """The same without spoof trials."""
        return replace(self, spoof_accepts=None, n_spoof=None)

    @property
    def spoof_curves(self) -> ErrorCurves | None:
        """The same with spoof trials in the place of nontarget trials; None without any."""
        if self.spoof_accepts is None or self.n_spoof is None:
            return None
        return replace(self.nontarget_curves, fp=self.spoof_accepts, n_nontarget=self.n_spoof)


def error_curves(audit: Audit) -> list[ErrorCurves]:
    """Return the error curves of every grouping of an audit, system by system, in its order.

    Empty without scores. Groups without known scores (suppressed groups of a score-counts file)
    are left out.
    """
    cells = audit.bins.to_dict()
    keys = [cells[name] for name in _KEY_COLUMNS]
    spoof_by_key = _spoof_by_key(audit)
    all_curves: list[ErrorCurves] = []
    start = 0
    for (system, list_name, grouping, allocation), run in groupby(zip(*keys, strict=True)):
        stop = start + len(list(run))
        groups = tuple(dict.fromkeys(cells["group"][start:stop]))
        thresholds, target, nontarget = (
            np.array(cells[name][start:stop]).reshape(len(groups), -1)
            for name in ("threshold", "target", "nontarget")
        )
        spoof: IntArray | None = None
        if n_spoof := spoof_by_key.get((system, list_name, grouping, allocation)):
            spoof = np.array(n_spoof).reshape(len(groups), -1)
        # trials at a threshold or above are accepted, those below it are rejected
        all_curves.append(
            ErrorCurves(
                system=system,
                list=list_name,
                grouping=grouping,
                allocation=allocation,
                groups=groups,
                thresholds=thresholds[0],
                fp=np.cumsum(nontarget[:, ::-1], axis=-1)[:, ::-1],
                fn=np.cumsum(target, axis=-1) - target,
                n_target=target.sum(axis=-1),
                n_nontarget=nontarget.sum(axis=-1),
                spoof_accepts=None
                if spoof is None
                else np.cumsum(spoof[:, ::-1], axis=-1)[:, ::-1],
                n_spoof=None if spoof is None else spoof.sum(axis=-1),
            )
        )
        start = stop
    return all_curves


def _spoof_by_key(audit: Audit) -> dict[tuple[str, str, str, str], list[int]]:
    """Return spoof trials of the groups of each grouping, in the order of the bins."""
    cells = audit.spoof_bins.to_dict()
    keys = zip(*(cells[name] for name in _KEY_COLUMNS), strict=True)
    spoof_by_key: dict[tuple[str, str, str, str], list[int]] = {}
    for key, n_spoof in zip(keys, cells["spoof"], strict=True):
        spoof_by_key.setdefault(key, []).append(n_spoof)
    return spoof_by_key


@lru_cache(maxsize=1)
def _curves_by_key(audit: Audit) -> dict[tuple[str, str, str, str], ErrorCurves]:
    return {
        (curves.system, curves.list, curves.grouping, curves.allocation): curves
        for curves in error_curves(audit)
    }


def grouping_curves(
    audit: Audit, system: str, list_name: str, grouping: str, allocation: str = ""
) -> ErrorCurves:
    """Return the error curves of a grouping; a `ConfigError` if the audit has no scores of it."""
    curves = _curves_by_key(audit).get((system, list_name, grouping, allocation))
    if curves is None:
        msg = f"no curves of {grouping}: the audit has only decisions or suppressed counts"
        raise ConfigError(msg)
    return curves


def minimum_cost_indices(curves: ErrorCurves, cost: str) -> NDArray[np.intp] | None:
    """Return the index of each group's threshold of smallest cost, shape (group,).

    None for a mean over several costs, and for a cost of spoof accepts without spoof trials.
    """
    model = parse_cost(cost)
    if len(model.parts) > 1 or (model.has_spoof and curves.spoof_accepts is None):
        return None
    costs = (
        cdet(curves.curve, model)[:, ::-1]
        if model.has_spoof
        else (curves.fnr + model.beta * curves.fpr)
    )
    return np.asarray(np.argmin(np.where(np.isnan(costs), np.inf, costs), axis=-1))


# ---- curves in probits, as they are drawn


def det_line(
    fpr: NDArray[np.float64], fnr: NDArray[np.float64], domain: tuple[float, float]
) -> tuple[list[float], list[float]]:
    """Return a thinned DET curve in probits within a domain of rates; empty without both rates."""
    if np.isnan(fpr).any() or np.isnan(fnr).any():
        return [], []
    x, y = _rising(_clipped_probits(fpr, domain), _clipped_probits(fnr, domain))
    edge = probit(domain[0]) - _CLIP_MARGIN / 2
    is_inside = (x > edge) & (y > edge)
    # neighbours of points inside stay, so that the line reaches the edge of the panel
    is_near = is_inside | np.roll(is_inside, 1) | np.roll(is_inside, -1)
    if is_near.any():
        x, y = x[is_near], y[is_near]
    # 0.012 probits is finer than the eye sees; long curves get a coarser tolerance
    tolerance = 0.012
    indices = simplified_indices(x, y, tolerance=tolerance)
    while indices.size > _MAX_LINE_POINTS:
        tolerance *= _TOLERANCE_GROWTH
        indices = simplified_indices(x, y, tolerance=tolerance)
    return _two_decimals(x[indices]), _two_decimals(y[indices])


def det_band(rows: list[dict[str, Any]], domain: tuple[float, float]) -> dict[str, list[float]]:
    """Return the interval band around a DET curve, from both lower limits to both upper limits.

    ``x``, ``y`` and ``y2`` in probits; empty lists without limits.
    """
    names = ("fpr_low", "fpr_high", "fnr_low", "fnr_high")
    nodes = [row for row in rows if all(row[name] is not None for name in names)]
    if len(nodes) < 3:
        return {"x": [], "y": [], "y2": []}
    nodes.sort(key=lambda row: row["threshold"])
    limits = {
        name: _clipped_probits(np.array([row[name] for row in nodes]), domain) for name in names
    }
    # an interval is computed at each threshold by itself, so its limits need not be monotonic
    # a limit of FPR or FNR at one threshold also holds at every looser or every stricter one
    fpr_high = np.minimum.accumulate(limits["fpr_high"])
    fnr_low = np.maximum.accumulate(limits["fnr_low"])
    fpr_low = np.maximum.accumulate(limits["fpr_low"][::-1])[::-1]
    fnr_high = np.minimum.accumulate(limits["fnr_high"][::-1])[::-1]
    axis_start, axis_end = probit(domain)
    x = np.linspace(float(axis_start), float(axis_end), _BAND_POINTS)
    lower = np.interp(x, *_rising(fpr_low, fnr_low))
    upper = np.interp(x, *_rising(fpr_high, fnr_high))
    is_inside = (x >= fpr_low.min()) & (x <= fpr_high.max())
    lower = np.minimum(lower, upper)
    return {
        "x": _two_decimals(x[is_inside]),
        "y": _two_decimals(lower[is_inside]),
        "y2": _two_decimals(upper[is_inside]),
    }


def axis_positions(rates: NDArray[np.float64], domain: tuple[float, float]) -> list[float]:
    """Return the positions of rates on the axis; rates beyond it are at its edge."""
    axis_start, axis_end = probit(domain)
    return _two_decimals(np.clip(_clipped_probits(rates, domain), axis_start, axis_end))


def simplified_indices(
    x: NDArray[np.float64], y: NDArray[np.float64], *, tolerance: float = 0.01
) -> NDArray[np.intp]:
    """Return indices of points that draw the same line: no other is further off than `tolerance`.

    Examples
    --------
    >>> import numpy as np
    >>> simplified_indices(np.arange(5.0), np.array([0, 1, 2, 1, 0.0])).tolist()
    [0, 2, 4]
    """
    indices = {0, x.size - 1}
    segments = [(0, x.size - 1)] if x.size > 2 else []
    while segments:
        start, stop = segments.pop()
        across, up = x[stop] - x[start], y[stop] - y[start]
        inner = slice(start + 1, stop)
        length = np.hypot(across, up)
        dx, dy = x[inner] - x[start], y[inner] - y[start]
        distances = np.abs(across * dy - up * dx) / length if length else np.hypot(dx, dy)
        if distances.size and distances.max() > tolerance:
            middle = start + 1 + int(distances.argmax())
            indices.add(middle)
            segments += [(start, middle), (middle, stop)]
    return np.array(sorted(indices), dtype=np.intp)


def _clipped_probits(
    rates: NDArray[np.float64], domain: tuple[float, float]
) -> NDArray[np.float64]:
    """Return rates in probits; those far beyond the axis are moved near it."""
    axis_start, axis_end = probit(domain)
    with np.errstate(invalid="ignore"):
        return np.clip(probit(rates), axis_start - _CLIP_MARGIN, axis_end + _CLIP_MARGIN)


def _rising(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
    order = np.lexsort((-y, x))
    return x[order], y[order]


def _two_decimals(numbers: NDArray[np.float64]) -> list[float]:
    return [round(float(number), 2) for number in numbers]
