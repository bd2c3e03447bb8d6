"""The figures of one grouping at one threshold, in the words of the page's explorer.

``assets/explorer.js`` has a twin of each function here that shows something; both show the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.counts import Curve
from parivox.core.meta import MEASURES
from parivox.report.page.views import Scope
from parivox.report.words import number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.core.bias import Measured
    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray, IntArray
    from parivox.report.binned import Binned

__all__ = ["REASONS", "ROWS", "Bands", "Cell", "Line", "Row", "View", "held", "shown_alpha", "view"]

RATES = ("fpr", "fnr")
LIMITS = ("fpr_low", "fpr_high", "fnr_low", "fnr_high")
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


class Row(NamedTuple):
    """A row of the table of meta-measures.

    Attributes
    ----------
    id, label : str
    fair : str
        The value of a fair system.
    single : mapping of str to str
        The measure of each metric alone.
    joint : str
        The measure of both rates, empty where there is none.
    """

    id: str
    label: str
    fair: str
    single: Mapping[str, str]
    joint: str = ""


def _each(measure: str) -> dict[str, str]:
    return dict.fromkeys(("fpr", "fnr", "cost"), measure)


ROWS = (
    Row("fdr", "Largest − smallest (both: FDR, 1 − weighted)", "0; FDR 1", {}, "fdr"),
    Row("gini", "Gini (both: GARBE)", "0", _each("gini"), "garbe"),
    Row("ir", "Largest / smallest (both: inequity rate)", "1", _each("max_min"), "ir"),
    Row("min_max", "Smallest / largest", "1", _each("min_max")),
    Row("max_geomean", "Largest / geometric mean", "1", _each("max_geomean")),
    Row("max_mean", "Largest / mean", "1", _each("max_mean")),
    Row("nrb", "Mean |ln(group / pooled)| (NRB)", "0", _each("nrb")),
    Row("sd", "Standard deviation", "0", _each("sd")),
    Row("cv", "Standard deviation / mean", "0", _each("cv")),
    Row("eo_diff", "Equalised odds: difference", "0", {}, "eo_diff"),
    Row("eo_ratio", "Equalised odds: ratio", "1", {}, "eo_ratio"),
)
ROWS = (ROWS[0]._replace(single={"fpr": "fdr_fpd", "fnr": "fdr_fnd"}), *ROWS[1:])


class Cell(NamedTuple):
    """A figure as it is shown, and as it is."""

    text: str
    value: float = math.nan


@dataclass(frozen=True)
class Line:
    """One group at one threshold: its cells, and where its pictures stand from 0 to 100."""

    group: str
    is_marked: bool
    cells: Mapping[str, Cell]
    places: Mapping[str, Sequence[float | None]]


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
    measures: Sequence[tuple[Row, Mapping[str, Cell]]]
    alpha: float
    cost: CostModel
    positions: int
    confidence: float

    @property
    def where(self) -> str:
        """Which groups of which system."""
        return Scope(self.system, self.list, self.grouping, self.allocation).label


@dataclass(frozen=True)
class Bands:
    """Limits of every group's rates at some of the thresholds.

    Attributes
    ----------
    nodes : int array of shape (node,)
        Places among the thresholds, rising.
    limits : float64 of shape (limit, group, node)
        Lower and upper limit of FPR, of FNR; NaN where there is none.
    """

    nodes: IntArray
    limits: FloatArray

    @classmethod
    def of(cls, audit: Audit, one: Binned) -> Bands:
        """The bands of a grouping, of those thresholds that its bins have."""
        found = audit.bands.where(
            system=one.system, list=one.list, grouping=one.grouping, allocation=one.allocation
        ).to_dict()
        place = {threshold: k for k, threshold in enumerate(one.thresholds.tolist())}
        at = [place.get(threshold, -1) for threshold in found["threshold"]]
        nodes = sorted({k for k in at if k >= 0})
        column = {k: j for j, k in enumerate(nodes)}
        row = {group: i for i, group in enumerate(one.groups)}
        limits = np.full((len(LIMITS), len(one.groups), len(nodes)), np.nan)
        for n, (group, k) in enumerate(zip(found["group"], at, strict=True)):
            if k >= 0 and group in row:
                cells = [found[name][n] for name in LIMITS]
                limits[:, row[group], column[k]] = np.array(cells, dtype=np.float64)
        return cls(np.array(nodes, dtype=np.int64), limits)

    def at(self, k: int, thresholds: FloatArray) -> FloatArray:
        """Limits at a threshold, ``[limit, group]``: between two nodes those of both, mixed.

        Mixed in logits, by where the threshold lies between them; plainly, where either limit is
        0 or 1. Beyond the nodes there are none.
        """
        j = int(np.searchsorted(self.nodes, k))
        if j < self.nodes.size and self.nodes[j] == k:
            return np.asarray(self.limits[..., j])
        if j in (0, self.nodes.size):
            return np.full(self.limits.shape[:-1], np.nan)
        before, after = thresholds[self.nodes[j - 1]], thresholds[self.nodes[j]]
        share = (thresholds[k] - before) / (after - before)
        low, high = self.limits[..., j - 1], self.limits[..., j]
        with np.errstate(divide="ignore", invalid="ignore"):
            logit = (1 - share) * np.log(low / (1 - low)) + share * np.log(high / (1 - high))
            mixed = 1 / (1 + np.exp(-logit))
        inside = (low > 0) & (low < 1) & (high > 0) & (high < 1)
        return np.asarray(np.where(inside, mixed, (1 - share) * low + share * high))

    def codes(self) -> list[int]:
        """Every limit to four digits, as one integer: 0 for none, 1 for zero."""
        return [_code(limit) for limit in self.limits.ravel().tolist()]

    def exact(self, places: Iterable[int]) -> dict[str, list[float | None]]:
        """All digits of the limits at some of the nodes."""
        found = {}
        for j, k in enumerate(self.nodes.tolist()):
            if k in places:
                cells = self.limits[..., j].ravel().tolist()
                found[str(k)] = [None if math.isnan(cell) else cell for cell in cells]
        return found


def view(
    one: Binned,
    bands: Bands,
    *,
    everyone: Binned,
    point: Mapping[str, Any],
    cost: CostModel,
    minima: Sequence[float | None],
    marked: set[int],
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
    _add_references(lines, one, k, cost, zero)
    _add_own(own, one, k, places, why, cost, minima)
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
        _measures(one, k, cost, zero, alpha),
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
            f"{', this one among them' if is_node else ''}; between them, limits are interpolated."
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
            most.append(f"{words}: {worst.group} ({worst.cells[metric].text}{_after(limits)})")
    first = f"At {threshold}, {' and '.join(told)}." if told else f"At {threshold}, no trials."
    ending = "; ".join(most)
    return f"{first} {ending[0].upper()}{ending[1:]}." if ending else first


def _after(limits: str) -> str:
    return "" if limits == "–" else f" {limits}"


def general(number: float) -> str:
    """A threshold, to six digits."""
    return f"{number:.6g}".replace("inf", "∞")


def figure(value: float, reason: str = "") -> Cell:
    """A number of four digits, and why it is missing or a convention."""
    text = f"{value:#.4g}".rstrip(".") if value else "0"
    return Cell(_told(value, text, reason), value)


def _told(value: float, text: str, reason: str) -> str:
    text = "–" if math.isnan(value) else "∞" if math.isinf(value) else text
    return f"{text} ({REASONS[reason]})" if reason in REASONS else text


def _rate(value: float) -> Cell:
    return Cell(_told(value, percent(value), "undefined_value" if math.isnan(value) else ""), value)


def _difference(value: float, text: str) -> Cell:
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return Cell("–" if math.isnan(value) else sign + text, value)


def _points(value: float) -> Cell:
    """A difference of rates in percentage points."""
    return _difference(value, percent(abs(value)).removesuffix(" %"))


def _lines(
    one: Binned, bands: Bands, places: IntArray, cost: CostModel, marked: set[int]
) -> list[Line]:
    """Every group's rates and cost, each at its own place; empty where that is -1."""
    costs = _costs(one, cost)
    lines = []
    for i, (group, k) in enumerate(zip(one.groups, places.tolist(), strict=True)):
        cells: dict[str, Cell] = {}
        drawn: dict[str, Sequence[float | None]] = {}
        limits = bands.at(k, one.thresholds)[:, i] if k >= 0 else np.full(len(LIMITS), np.nan)
        for m, metric in enumerate(RATES):
            errors, trials = (one.fp, one.n_nontarget) if m == 0 else (one.fn, one.n_target)
            rate = float((one.fpr, one.fnr)[m][i, k]) if k >= 0 else math.nan
            low, high = _round_rate(rate, *limits[2 * m : 2 * m + 2].tolist())
            cells[metric] = _rate(rate) if k >= 0 else Cell("–")
            cells[f"{metric}_span"] = Cell(span(low, high, times=100))
            counts = f"{number(int(errors[i, k]))}/{number(int(trials[i]))}" if k >= 0 else "–"
            cells[f"{metric}_counts"] = Cell(counts)
            drawn[metric] = [_place(rate), _place(low), _place(high)]
        cells["cost"] = figure(float(costs[i, k])) if k >= 0 else Cell("–")
        lines.append(Line(group, i in marked, cells, drawn))
    return lines


def _round_rate(rate: float, low: float, high: float) -> tuple[float | None, float | None]:
    """Limits, as far apart as to hold the rate between them, which mixed ones may not."""
    if math.isnan(high):
        return None, None
    return min(low, rate), max(high, rate)


def _add_references(lines: Sequence[Line], one: Binned, k: int, cost: CostModel, zero: str) -> None:
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
    curve = Curve(
        one.thresholds[k : k + 1],
        others["fpr"][0][:, None],
        others["fnr"][0][:, None],
        others["fnr"][1],
        others["fpr"][1],
    )
    found["cost"] = _against(_costs(one, cost)[:, k], cdet(curve, cost)[:, 0])
    for metric, (ratio, difference) in found.items():
        for i, line in enumerate(lines):
            cells = cast("dict[str, Cell]", line.cells)
            if i == len(lines) - 1:
                cells[f"{metric}_ratio"] = cells[f"{metric}_difference"] = Cell("")
                continue
            value, reason = float(ratio.value[i]), str(ratio.reason[i])
            gap = float(difference.value[i])
            cells[f"{metric}_ratio"] = Cell(_told(value, short(value), reason), value)
            cells[f"{metric}_difference"] = (
                _difference(gap, figure(abs(gap)).text) if metric == "cost" else _points(gap)
            )


def _against(values: FloatArray, refs: FloatArray) -> tuple[Measured, Measured]:
    """Ratio and difference of every group to a reference of its own."""
    return bias.ratio(values[:, None], refs).flat, bias.difference(values[:, None], refs).flat


def _add_own(
    own: Sequence[Line],
    one: Binned,
    k: int,
    places: IntArray,
    why: Sequence[str],
    cost: CostModel,
    minima: Sequence[float | None],
) -> None:
    """Add each group's own threshold, and what the common one costs beyond its smallest cost."""
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
            cells["shift"] = _difference(shift, f"{abs(shift):.4g}")
        places_of = cast("dict[str, Sequence[float | None]]", line.places)
        places_of["shift"] = _beside(shifts[i], widest)
        cells["common_cost"] = figure(float(common[i]))
        cells["least"] = figure(known[i])
        several = len(cost.p_target) > 1
        reason = "several_priors" if several else str(lost.reason[i])
        value = math.nan if several else float(lost.value[i])
        cells["bias"] = Cell(_told(value, short(value), reason), value)


def _measures(
    one: Binned, k: int, cost: CostModel, zero: str, alpha: float
) -> list[tuple[Row, Mapping[str, Cell]]]:
    """Every meta-measure of all groups."""
    raw = {"fpr": one.fpr[:, k], "fnr": one.fnr[:, k], "cost": _costs(one, cost)[:, k]}
    policy = cast("bias.ZeroPolicy", zero)
    smooth = {
        "fpr": bias.smoothed(one.fp[:, k], one.n_nontarget, policy),
        "fnr": bias.smoothed(one.fn[:, k], one.n_target, policy),
        "cost": raw["cost"],
    }
    above = raw if zero == "nist" else smooth
    made: list[tuple[Row, Mapping[str, Cell]]] = []
    for row in ROWS:
        cells = {"fpr": Cell(""), "fnr": Cell(""), "cost": Cell(""), "both": Cell("")}
        for metric, name in row.single.items():
            spec = MEASURES[name]
            more: dict[str, Any] = {}
            if zero == "nist" and "nist" in spec.zero_policies:
                more["denominator"] = smooth[metric][:-1]
            average = (smooth[metric][-1],) if spec.uses_average else ()
            found = spec.function(above[metric][:-1], *average, **more)
            cells[metric] = figure(float(found.value), str(found.reason))
        if row.joint:
            spec = MEASURES[row.joint]
            more = {"alpha": alpha} if spec.uses_alpha else {}
            if zero == "nist" and "nist" in spec.zero_policies:
                more["denominator"] = smooth["fpr"][:-1], smooth["fnr"][:-1]
            found = spec.function(above["fpr"][:-1], above["fnr"][:-1], **more)
            cells["both"] = figure(float(found.value), str(found.reason))
        made.append((row, cells))
    return made


def _costs(one: Binned, cost: CostModel) -> FloatArray:
    """Normalised cost of every group at every threshold."""
    return cdet(Curve(one.thresholds, one.fp, one.fn, one.n_target, one.n_nontarget), cost)


def _held_here(everyone: Binned, k: int) -> tuple[str, float]:
    """The rate of all trials at a threshold, which groups are to hold at their own."""
    rates = {"fpr": everyone.fpr[0, k], "fnr": everyone.fnr[0, k]}
    return next(((m, float(r)) for m, r in rates.items() if not np.isnan(r)), ("fpr", 0.0))


def _last(mask: Any) -> int:
    return int(np.flatnonzero(mask)[-1])


def _place(rate: float | None) -> float | None:
    """Where a rate stands on an axis of decades, from 0.01 % at 0 to 100 % at 100."""
    if rate is None or math.isnan(rate):
        return None
    if rate <= 0:
        return 0.0
    return round(min(max(25 * (math.log10(rate) + 4), 0.0), 100.0), 2)


def _beside(shift: float, widest: float) -> Sequence[float | None]:
    """Where a threshold stands that lies so far from the common one, which is at 50."""
    if not math.isfinite(shift):
        return (None, None, None)
    at = 50 + (round(45 * shift / widest, 2) if widest else 0.0)
    return (at, min(at, 50.0), max(at, 50.0))


def _code(limit: float) -> int:
    if math.isnan(limit):
        return 0
    mantissa, exponent = f"{limit:.3e}".split("e")
    if limit <= 0 or int(exponent) < -12:
        return 1
    return 2 - 9000 * int(exponent) + int(mantissa.replace(".", "")) - 1000
