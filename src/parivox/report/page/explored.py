"""The figures of one grouping at one threshold, in the words of the page's explorer.

``assets/explorer.js`` has a twin of each function here that shows something; both show the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.counts import Curve
from parivox.report.page.axes import Drawn, fitted
from parivox.report.page.cells import REASONS, Cell, difference, figure, general, points, told
from parivox.report.page.cells import rate as rate_cell
from parivox.report.page.interpolated import FEW, LIMITS
from parivox.report.page.measured import measured
from parivox.report.scopes import Scope
from parivox.report.words import number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.core.bias import Measured
    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray, IntArray
    from parivox.report.binned import Binned
    from parivox.report.page.axes import Axis
    from parivox.report.page.interpolated import Bands
    from parivox.report.page.measured import Floors, Row

__all__ = ["Line", "View", "held", "shown_alpha", "view"]

RATES = ("fpr", "fnr")
ROUGH = "≈\u00a0"


@dataclass(frozen=True)
class Line:
    """One group at one threshold: its cells, its rates to be drawn, and its place beside others."""

    group: str
    is_marked: bool
    cells: Mapping[str, Cell]
    drawn: Mapping[str, Drawn]
    beside: Sequence[float | None] = ()


@dataclass(frozen=True)
class View:
    """What the explorer shows of one grouping at one threshold.

    Attributes
    ----------
    system, list, grouping, allocation, point : str
    threshold : Cell
    sentence : str
        What the threshold does to people.
    note : str
        How the intervals at it were made, and which groups are marked.
    target : str
        What each group's own threshold holds.
    lines, own : list of Line
        Groups at the common threshold, and at their own; the pooled row comes last.
    axes : mapping of str to Axis
        Of each rate, for both tables.
    measures : list of (Row, mapping of str to Cell)
    alpha : float
    cost : CostModel
    positions : int
        Thresholds to choose from.
    confidence : float
    """

    system: str
    list: str
    grouping: str
    allocation: str
    point: str
    threshold: Cell
    sentence: str
    note: str
    target: str
    lines: Sequence[Line]
    own: Sequence[Line]
    axes: Mapping[str, Axis]
    measures: Sequence[tuple[Row, Mapping[str, Cell]]]
    alpha: float
    cost: CostModel
    positions: int
    confidence: float

    @property
    def where(self) -> str:
        """Which groups of which system."""
        return Scope(self.system, self.list, self.grouping, self.allocation).label


def view(
    one: Binned,
    bands: Bands,
    *,
    everyone: Binned,
    point: Mapping[str, Any],
    cost: CostModel,
    minima: Sequence[float | None],
    marked: set[int],
    floors: Floors,
    options: Mapping[str, Any],
) -> View:
    """One grouping at one threshold.

    Parameters
    ----------
    one, bands
        Its errors and their limits.
    everyone
        The errors of all trials, which a target is held on.
    point
        Its place `k` among the thresholds; what it holds (`hold`, `at`); its name, `text`.
    cost
        The cost model.
    minima
        Each group's own smallest cost; empty where that is unknown.
    marked
        Groups that fail a gate.
    floors
        Of the meta-measures there.
    options
        Of the audit.
    """
    k, zero, alpha = point["k"], options["zero"][0], shown_alpha(options["alpha"])
    hold, at = point["hold"], point["at"]
    if hold == "threshold":
        hold, at = _held_here(everyone, k)
    common = np.full(len(one.groups), k)
    places, why = held(one, hold, at, cost)
    lines = _lines(one, bands, common, cost, marked)
    own = _lines(one, bands, places, cost, marked)
    _add_references(lines, one, bands, k, cost, zero)
    own = _with_own(own, one, k, places, why, cost, minima)
    threshold = float(one.thresholds[k])
    told = Cell(general(threshold), threshold)
    return View(
        one.system,
        one.list,
        one.grouping,
        one.allocation,
        point["text"],
        told,
        sentence(told.text, lines),
        noted(
            bands.nodes.size,
            is_node=k in bands.nodes.tolist(),
            point=point["text"] if marked else "",
        ),
        target(hold, at, cost),
        lines,
        own,
        {m: fitted(line.drawn[m] for line in (*lines, *own)) for m in RATES},
        measured(one, k, _costs(one, cost)[:, k], zero, alpha, floors),
        alpha,
        cost,
        one.thresholds.size,
        options["confidence"],
    )


def shown_alpha(asked: Sequence[float]) -> float:
    """The weight of FPR to begin with: one half, if the audit took it."""
    return 0.5 if 0.5 in asked else asked[0]


def held(
    one: Binned, hold: str, at: float | None, cost: CostModel
) -> tuple[IntArray, Sequence[str]]:
    """Where each group's own threshold stands that holds a target; -1 with a reason if nowhere.

    ``fpr``: the lowest at which no more than `at` impostors come in; ``fnr``: the highest at
    which no more than `at` are locked out; ``least``: the highest of smallest cost.
    """
    found, reasons = [], []
    costs = _costs(one, cost)
    for i in range(len(one.groups)):
        if hold == "least":
            place = -1 if np.isnan(costs[i]).all() else _last(costs[i] <= np.nanmin(costs[i]))
            found.append(place)
            reasons.append("" if place >= 0 else "undefined_value")
            continue
        assert at is not None
        rates = one.fpr[i] if hold == "fpr" else one.fnr[i]
        trials = int((one.n_nontarget if hold == "fpr" else one.n_target)[i])
        is_kept = rates <= at
        place, reason = -1, ""
        if not trials:
            reason = "undefined_value"
        elif at * trials < 1:
            reason = "too_few"
        elif not is_kept.any():
            reason = "out_of_reach"
        else:
            place = int(np.argmax(is_kept)) if hold == "fpr" else _last(is_kept)
        found.append(place)
        reasons.append(reason)
    return np.array(found), reasons


def target(hold: str, at: float | None, cost: CostModel) -> str:
    """What is held, in words."""
    if hold == "least":
        return f"the smallest cost ({cost.name})"
    words = {"fpr": "impostors in at most", "fnr": "locked out at most"}
    return f"{words[hold]} {percent(at)}"


def noted(nodes: int, *, is_node: bool, point: str) -> str:
    """How intervals were made, and which groups are marked."""
    told = "The audit computed no intervals."
    if nodes:
        told = (
            f"Intervals were computed at {nodes} thresholds"
            f"{', this one among them' if is_node else ''}; between them, limits are interpolated. "
            f"≈ marks rough ones, of {FEW} errors or fewer: they may be off by half, or more."
        )
    star = f" * under-represented at {point}: see “Groups”." if point else ""
    return told + star


def sentence(threshold: str, lines: Sequence[Line]) -> str:
    """What the threshold does, and to whom most; of groups that pass the gates, if any does."""
    pooled = lines[-1].cells
    told = []
    if not math.isnan(pooled["fpr"].value):
        told.append(f"{pooled['fpr'].text} of impostors come in")
    if not math.isnan(pooled["fnr"].value):
        told.append(f"{pooled['fnr'].text} of own trials are locked out")
    most = []
    groups = [line for line in lines[:-1] if not line.is_marked] or list(lines[:-1])
    for metric, words in (("fnr", "most locked out"), ("fpr", "most exposed")):
        known = [line for line in groups if line.cells[metric].value > 0]
        if len(groups) > 1 and known:
            worst = max(known, key=lambda line: line.cells[metric].value)
            limits = worst.cells[f"{metric}_span"].text
            rate = f"{worst.cells[metric].text} {limits}".rstrip()
            most.append(f"{words}: {worst.group} ({rate})")
    first = f"At {threshold}, {' and '.join(told)}." if told else f"At {threshold}, no trials."
    ending = "; ".join(most)
    return f"{first} {ending[0].upper()}{ending[1:]}." if ending else first


def _lines(
    one: Binned, bands: Bands, places: IntArray, cost: CostModel, marked: set[int]
) -> list[Line]:
    """Every group's rates and cost, each at its own place; empty where that is -1."""
    costs = _costs(one, cost)
    lines = []
    for i, (group, k) in enumerate(zip(one.groups, places.tolist(), strict=True)):
        cells: dict[str, Cell] = {}
        drawn: dict[str, Drawn] = {}
        limits = bands.at(k, one.thresholds)[:, i] if k >= 0 else np.full(len(LIMITS), np.nan)
        for m, metric in enumerate(RATES):
            errors, trials = (one.fp, one.n_nontarget) if m == 0 else (one.fn, one.n_target)
            rate = float((one.fpr, one.fnr)[m][i, k]) if k >= 0 else math.nan
            low, high = _round_rate(rate, *limits[2 * m : 2 * m + 2].tolist())
            cells[metric] = rate_cell(rate) if k >= 0 else Cell("–")
            is_rough = bands.is_rough(k, int(errors[i, k]), int(trials[i]))
            cells[f"{metric}_span"] = Cell(_span(low, high, 100, is_rough=is_rough))
            counts = f"{number(int(errors[i, k]))}/{number(int(trials[i]))}" if k >= 0 else "–"
            cells[f"{metric}_counts"] = Cell(counts)
            drawn[metric] = Drawn(rate, low, high)
        cells["cost"] = figure(float(costs[i, k])) if k >= 0 else Cell("–")
        lines.append(Line(group, i in marked, cells, drawn))
    return lines


def _span(low: float, high: float, times: float, *, is_rough: bool) -> str:
    """An interval, marked where it is rough; empty where there is none."""
    if math.isnan(low + high):
        return ""
    return ROUGH * is_rough + span(low, high, times=times)


def _round_rate(rate: float, low: float, high: float) -> tuple[float, float]:
    """Limits, as far apart as to hold the rate between them, which mixed ones may not."""
    if math.isnan(high):
        return math.nan, math.nan
    return min(low, rate), max(high, rate)


def _add_references(
    lines: Sequence[Line], one: Binned, bands: Bands, k: int, cost: CostModel, zero: str
) -> None:
    """Add each group's ratio to, and difference from, all trials but its own."""
    wrong = {"fpr": (one.fp[:, k], one.n_nontarget), "fnr": (one.fn[:, k], one.n_target)}
    others = {
        m: (errors[-1] - errors, trials[-1] - trials) for m, (errors, trials) in wrong.items()
    }
    found: dict[str, tuple[Measured, Measured]] = {}
    for metric, counts in wrong.items():
        own = bias.smoothed(*counts, cast("bias.ZeroPolicy", zero))
        ref = bias.smoothed(*others[metric], cast("bias.ZeroPolicy", zero))
        above = bias.smoothed(*counts) if zero == "nist" else own
        found[metric] = _against(above, ref)
    limits = bands.ratios_at(k, one.thresholds)
    curve = Curve(
        one.thresholds[k : k + 1],
        others["fpr"][0][:, None],
        others["fnr"][0][:, None],
        others["fnr"][1],
        others["fpr"][1],
    )
    found["cost"] = _against(_costs(one, cost)[:, k], cdet(curve, cost)[:, 0])
    for metric, (ratio, gaps) in found.items():
        for i, line in enumerate(lines):
            cells = cast("dict[str, Cell]", line.cells)
            if i == len(lines) - 1:
                names = ("ratio", "ratio_span", "difference")
                cells |= {f"{metric}_{name}": Cell("") for name in names}
                continue
            value, reason = float(ratio.value[i]), str(ratio.reason[i])
            cells[f"{metric}_ratio_span"] = Cell("")
            if metric in RATES and zero == "none":
                at = 2 * RATES.index(metric)
                low, high = _round_rate(value, *limits[at : at + 2, i].tolist())
                both = wrong[metric][0][i], others[metric][0][i]
                of = wrong[metric][1][i], others[metric][1][i]
                is_rough = any(
                    bands.is_rough(k, *map(int, one)) for one in zip(both, of, strict=True)
                )
                cells[f"{metric}_ratio_span"] = Cell(_span(low, high, 1, is_rough=is_rough))
            gap = float(gaps.value[i])
            cells[f"{metric}_ratio"] = Cell(told(value, short(value), reason), value)
            cells[f"{metric}_difference"] = (
                difference(gap, figure(abs(gap)).text) if metric == "cost" else points(gap)
            )


def _against(values: FloatArray, refs: FloatArray) -> tuple[Measured, Measured]:
    """Ratio and difference of every group to a reference of its own."""
    return bias.ratio(values[:, None], refs).flat, bias.difference(values[:, None], refs).flat


def _with_own(
    own: Sequence[Line],
    one: Binned,
    k: int,
    places: IntArray,
    why: Sequence[str],
    cost: CostModel,
    minima: Sequence[float | None],
) -> list[Line]:
    """Add own thresholds, and what the common one costs beyond each group's smallest cost."""
    common = _costs(one, cost)[:, k]
    known = [math.nan if least is None else least for least in minima] or [math.nan] * len(own)
    lost = bias.threshold_bias(common, np.array(known))
    here = float(one.thresholds[k])
    shifts = [float(one.thresholds[place]) - here if place >= 0 else math.nan for place in places]
    widest = max((abs(shift) for shift in shifts if math.isfinite(shift)), default=0.0)
    for i, line in enumerate(own):
        cells = cast("dict[str, Cell]", line.cells)
        place = int(places[i])
        if place < 0:
            cells["own"] = Cell(f"– ({REASONS[why[i]]})")
            cells["shift"] = Cell("–")
        else:
            threshold = float(one.thresholds[place])
            shift = threshold - here
            cells["own"] = Cell(general(threshold), threshold)
            cells["shift"] = difference(shift, f"{abs(shift):.4g}")
        cells["common_cost"] = figure(float(common[i]))
        cells["least"] = figure(known[i])
        several = len(cost.p_target) > 1
        reason = "several_priors" if several else str(lost.reason[i])
        value = math.nan if several else float(lost.value[i])
        cells["bias"] = Cell(told(value, short(value), reason), value)
    return [
        replace(line, beside=_beside(shift, widest))
        for line, shift in zip(own, shifts, strict=True)
    ]


def _costs(one: Binned, cost: CostModel) -> FloatArray:
    """Normalised cost of every group at every threshold."""
    return cdet(Curve(one.thresholds, one.fp, one.fn, one.n_target, one.n_nontarget), cost)


def _held_here(everyone: Binned, k: int) -> tuple[str, float]:
    """The rate of all trials at a threshold, which groups are to hold at their own."""
    rates = {"fpr": everyone.fpr[0, k], "fnr": everyone.fnr[0, k]}
    return next(((m, float(r)) for m, r in rates.items() if not np.isnan(r)), ("fpr", 0.0))


def _last(mask: Any) -> int:
    return int(np.flatnonzero(mask)[-1])


def _beside(shift: float, widest: float) -> Sequence[float | None]:
    """Where a threshold stands that lies so far from the common one, which is at 50."""
    if not math.isfinite(shift):
        return (None, None, None)
    at = 50 + (round(45 * shift / widest, 2) if widest else 0.0)
    return (at, min(at, 50.0), max(at, 50.0))
