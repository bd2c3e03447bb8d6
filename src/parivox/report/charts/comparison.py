"""Charts of two systems, or lists, against each other: group by group, by bias, by rank."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from parivox.core.measures import bias_measures
from parivox.errors import ConfigError, name_hint
from parivox.report.audit_queries import VERDICTS
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
    Chosen,
    Drawing,
    Pair,
    Row,
    Subject,
    chart,
    cut,
    kept,
    left_out,
    paired,
    rows_of,
    short_name,
)
from parivox.report.charts.theme import room
from parivox.report.words import capitalised, interval_text, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.core.registry import BiasMeasure
    from parivox.report.charts.theme import Theme

    Box = tuple[float, float, float, float]

MOST = 40
"""Groups drawn at most."""


def _compared(chosen: Chosen, pair: Pair, **more: str) -> list[Row]:
    """Rows of the comparison of two systems by one grouping."""
    (system, listed), (other, other_list) = pair
    asked = {"system": system, "list": listed, "other_system": other, "other_list": other_list}
    asked |= {"grouping": chosen.grouping, "allocation": chosen.allocation, "within": ""}
    return rows_of(chosen.audit, "comparison", **asked, **more)


# ---- the bias of one against that of the other


_LABELS = 10.4
"""Times the size of type, room for the labels of two panels and between them."""
_LARGEST = 300
"""Pixels that a side of a panel has at most."""
_OF_A_GROUP = 8
"""Pixels of a side that a group takes at least: many are too much for a narrow chart."""
_EDGES = {
    ("x", 0.0): "triangle-left",
    ("y", 0.0): "triangle-down",
    ("x", math.inf): "triangle-right",
    ("y", math.inf): "triangle-up",
}
"""What a value that a logarithmic axis has no place for is drawn as, at its edge."""
_DOT, _OFF = 4, 7
"""Pixels from the middle of a dot to its edge, and to its name."""


_NO_ERRORS = (
    " Triangles at an edge: a ratio of 0, as the group has no error there, or an infinite one."
)


@chart("compared", per="pair")
def against(chosen: Chosen, theme: Theme, *, measure: str = "ratio") -> Drawing:
    """Each group's bias in one system against that in another.

    As Fig. 5 of docs/references.md#paper-001, which has `subgroup_bias`.
    """
    pair = paired(chosen)
    of = _bias_measure(measure)
    by_title = _biases(chosen, pair, of)
    every = [row for rows in by_title.values() for row in rows]
    values = [row[axis] for row in every for axis in "xy" if 0 < row[axis] < math.inf]
    low, high = vl.log_domain([*(value / 1.7 for value in values), *(1.7 * v for v in values)])
    low, high = max(low, 0.05), min(high, 20)
    side = min((theme.width - _LABELS * theme.size) // len(by_title), _LARGEST)
    if theme.is_narrow:
        side = max(side, *(_OF_A_GROUP * len(rows) for rows in by_title.values()))
    reference = chosen.audit.record["options"]["reference"][0]
    reference = {"others": "other groups", "pooled": "all"}.get(reference, cut(reference))
    what = f"ratio to {reference}" if of.is_of_references else of.label
    marks = _against_marks([f"{short_name(one, 20)}: {what}" for one in pair], low, high, theme)
    panels, parts = [], []
    for title, rows in by_title.items():
        for row in rows:
            row["edge"] = next((_EDGES[a, row[a]] for a in "xy" if (a, row[a]) in _EDGES), "circle")
            ends = row.keys() & {"x", "y", "xl", "xh", "yl", "yh"}
            row |= {name: min(max(row[name], low), high) for name in ends}
        _name(rows, (low, high), side, theme.size - 1.5)
        far = sorted(rows, key=lambda row: -abs(math.log(row["x"] / row["y"])))[:2]
        words = "; ".join(f"{row['group']} {row['s']}" for row in far)
        parts.append(f"{title}, furthest apart: {words}")
        rows.sort(key=lambda row: not row["few"])
        panels.append(vl.panel(marks, rows, title, width=side, height=side))
    a, b = (short_name(one, 40) for one in pair)
    named = "Bias" if of.is_of_references else capitalised(of.label)
    has = f"how many times the rate of {reference} it has" if of.is_of_references else f"{of.says},"
    return Drawing(
        theme.of(vl.in_a_row(panels, 16)),
        f"{named} of {a} against {b}: {cut(chosen.grouping)}"
        + (f" at {cut(chosen.point)}" if of.is_of_references else ""),
        f"A dot is a group: {has} in {a} (to the "
        f"right) and in {b} (upwards), with both intervals. On the dashed diagonal both systems "
        "treat it alike; upper right: worse off in both; upper left or lower right: only one of "
        "them disfavours it. Hollow dots, marked *, rest on too few people or errors."
        + (_NO_ERRORS if any(row["edge"] != "circle" for row in every) else "")
        + left_out(chosen, MOST),
        ". ".join(parts) + ".",
    )


def _bias_measure(name: str) -> BiasMeasure:
    """A bias measure that is a ratio, so that both systems have it on one scale."""
    of = {one.id: one for one in bias_measures().values() if one.scale == "ratio"}
    known = [one for one in of if not one.startswith("mean_")]
    if name not in known:
        msg = f"measure {name!r} is not a ratio of a group; {name_hint(name, known)}"
        raise ConfigError(msg)
    return of[name]


def _against_marks(titles: Sequence[str], low: float, high: float, theme: Theme) -> list[vl.Spec]:
    """Dots with intervals both ways, over the diagonal and the lines of no bias."""
    inks = theme.inks
    x, y = (vl.as_logs(title, low, high, percent=False, labelOverlap=True) for title in titles)
    of_x, of_y = ({"title": title} for title in titles)  # one layer tells the axes
    here = {"x": vl.amount("x", **x), "y": vl.amount("y", **y)}
    diagonal = {
        "x": vl.amount("a", **of_x),
        "x2": {"field": "b"},
        "y": vl.amount("a", **of_y),
        "y2": {"field": "b"},
    }
    faint = {"strokeOpacity": {"condition": {"test": "datum.few", "value": 0.35}, "value": 0.9}}
    hollow = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
    words = vl.told({"group": "group", "s": "ratios"})
    wide = {**here, "x": vl.amount("xl", **of_x), "x2": {"field": "xh"}, **faint}
    tall = {**here, "y": vl.amount("yl", **of_y), "y2": {"field": "yh"}, **faint}
    cross: vl.Spec = {"color": inks.muted, "strokeWidth": 1}
    thin: vl.Spec = {"rows": [{"c": 1}], "color": inks.muted, "strokeWidth": 0.8}
    ends = [{"a": low * 1.0001, "b": high / 1.0001}]
    dot: vl.Spec = {"size": 42, "opacity": 1, "stroke": inks.series[0], "strokeWidth": 1.5}
    shape = vl.word("edge", scale=None, legend=None)
    name: vl.Spec = {
        "align": {"expr": "datum.near"},
        "dx": {"expr": f"datum.near == 'left' ? {_OFF} : -{_OFF}"},
        "dy": -_OFF,
        "fontSize": theme.size - 1.5,
    }
    return [
        vl.mark("rule", diagonal, rows=ends, color=inks.ink, strokeDash=[4, 3]),
        vl.mark("rule", {"x": vl.amount("c", **of_x)}, **thin),
        vl.mark("rule", {"y": vl.amount("c", **of_y)}, **thin),
        vl.mark("rule", wide, when="isValid(datum.xh)", **cross),
        vl.mark("rule", tall, when="isValid(datum.yh)", **cross),
        vl.mark("point", {**here, "fill": hollow, "shape": shape, **words}, **dot),
        vl.mark("text", {**here, "text": {"field": "group"}}, when="datum.near", **name),
    ]


def _bias(side: Chosen, measure: BiasMeasure, metric: str) -> dict[str, Row]:
    """The measure of each group of one system: of a rate at the operating point, or of the cost."""
    options = side.audit.record["options"]
    where = side.at if metric else side.where
    rows = rows_of(side.audit, "bias", **where, measure=measure.id, zero="none")
    wanted = (metric, options["reference"][0]) if metric else options["cost"][0]
    return {
        row["group"]: row
        for row in rows
        if row["value"] is not None
        and wanted == ((row["metric"], row["reference"]) if metric else row["definition"])
    }


def _biases(chosen: Chosen, pair: Pair, measure: BiasMeasure) -> dict[str, list[Row]]:
    """Groups that have the measure in both, by the title of their panel."""
    sides = [replace(chosen, system=system, list=listed) for system, listed in pair]
    by_title: dict[str, list[Row]] = {}
    for metric in RATES if measure.is_of_references else ("",):
        of_x, of_y = (_bias(side, measure, metric) for side in sides)
        few = {group for side in sides for group in (side.few(metric) if metric else side.gates)}
        for group in kept(chosen, MOST):
            if group not in of_x or group not in of_y:
                continue
            made: Row = {"group": chosen.marked(group), "few": group in few}
            words = []
            for axis, row in (("x", of_x[group]), ("y", of_y[group])):
                made[axis] = row["value"]
                if row["low"] is not None and row["high"] is not None:
                    made[f"{axis}l"] = max(row["low"], 1e-6)
                    made[f"{axis}h"] = min(row["high"], 1e6)
                words.append(
                    f"{short_number(row['value'])} {interval_text(row['low'], row['high'])}"
                )
            made["s"] = " and ".join(words)
            by_title.setdefault(RATES.get(metric, measure.label), []).append(made)
    if not by_title:
        at = f" at {chosen.point}" if measure.is_of_references else ""
        msg = f"no group of {chosen.grouping} has a {measure.label} in both{at}"
        raise ConfigError(msg)
    return by_title


def _name(rows: Sequence[Row], ends: tuple[float, float], side: float, size: float) -> None:
    """Name the groups furthest off, left or right of their dots, where no name or dot is met."""
    least, most = map(math.log, ends)
    scale = side / (most - least)
    places = [[scale * (math.log(row[axis]) - least) for axis in "xy"] for row in rows]
    taken = [(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in places]
    order = sorted(range(len(rows)), key=lambda i: -max(abs(math.log(rows[i][a])) for a in "xy"))
    for i in order:
        (x, y), long = places[i], room([rows[i]["group"]], size)
        for align, start in (("left", x + _OFF), ("right", x - _OFF - long)):
            box = (start, start + long, y + _OFF - size / 2, y + _OFF + size / 2)
            others = taken[:i] + taken[i + 1 :]
            if start >= 0 and box[1] <= side and not any(_meet(box, one) for one in others):
                taken.append(box)
                rows[i]["near"] = align
                break


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


# ---- group by group, on what both share


_ROW = 17
_UNSURE = VERDICTS["cannot_tell"]


@chart("compared", per="pair")
def differences(chosen: Chosen, theme: Theme) -> Drawing:
    """Paired comparison of two systems group by group: one's rate over the other's."""
    inks = theme.inks
    pair = paired(chosen)
    by_metric = _differences(chosen, pair)
    names = [*dict.fromkeys(row["group"] for rows in by_metric.values() for row in rows)]
    values = [row.get(n, 1.0) for rows in by_metric.values() for row in rows for n in "vlh"]
    low, high = vl.log_domain([*values, 1.0])
    low, high = max(low, 0.02), min(high, 50)
    beside = room(names, theme.size)
    size = {
        "width": (theme.width - 20 - beside) // len(by_metric) - 12,
        "height": _ROW * len(names),
    }
    states = [_errs_less(pair[0]), _UNSURE, _errs_less(pair[1])]
    legend = {"columns": theme.columns(states, beside=beside)}
    inks_of = inks.series[0], inks.muted, inks.series[1]
    shapes = ("triangle-left", "circle", "triangle-right")
    colour, shape = vl.drawn_as("is", states, inks_of, shapes, legend=legend)
    x = vl.as_logs("times", low, high, percent=False, labelOverlap=True)
    same = {"title": x["title"]}
    hollow: vl.Spec = {"filled": False, "fill": inks.paper, "color": inks.muted, "opacity": 1}
    panels, parts = [], []
    for place, (metric, rows) in enumerate(by_metric.items()):
        for row in rows:
            row |= {n: min(max(row[n], low), high) for n in "vlh" if n in row}
        y = vl.names_down(names, inks.ink if place == 0 else "")
        at = {"y": y, "x": vl.amount("v", **x), "color": colour, "shape": shape}
        unsure = {"y": y, "x": vl.amount("v", **same)}
        marks = [
            vl.dashed({"x": vl.datum(1, **same)}, inks.ink),
            vl.interval({"y": y, "x": vl.amount("l", **same), "color": colour}),
            vl.dots(at, 46, when="isValid(datum.h)"),
            vl.mark("point", unsure, when="!isValid(datum.h)", size=30, **hollow),
        ]
        panels.append(vl.panel(marks, rows, RATES[metric], **size))
        counts = [
            f"{sum(row['is'] == _errs_less(of) for row in rows)} groups err less in "
            f"{short_name(of, 40)}"
            for of in pair
        ]
        parts.append(f"{RATES[metric]}: {', '.join(counts)}, of {len(rows)}")
    a, b = (short_name(of, 40) for of in pair)
    return Drawing(
        theme.of(vl.in_a_row(panels, 12), view={"stroke": None}),
        f"{a} over {b}, group by group: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"Rate with {a} divided by rate with {b}, for each group, on the trials that both systems "
        f"have, with confidence interval. Left of the dashed line the group has fewer errors with "
        f"{a}, right of it with {b}. Triangles: the interval excludes 1, without adjustment for "
        "the number of groups. Hollow dots have no interval.",
        "; ".join(parts) + ".",
    )


def _errs_less(of: Subject) -> str:
    """What is said where this one is better."""
    return f"{short_name(of)} errs less"


def _differences(chosen: Chosen, pair: Pair) -> dict[str, list[Row]]:
    """Ratios of two systems by group, by metric."""
    by_metric: dict[str, list[Row]] = {}
    for metric in RATES:
        asked = {"operating_point": chosen.point, "measure": "value", "definition": ""}
        rows = _compared(chosen, pair, **asked, metric=metric)
        by_group = {row["group"]: row for row in rows if row["log_ratio"] is not None}
        for group in [group for group in kept(chosen, MOST) if group in by_group]:
            row = by_group[group]
            made: Row = {"group": chosen.marked(group), "v": math.exp(row["log_ratio"])}
            made["is"] = _UNSURE
            if row["log_low"] is not None and row["log_high"] is not None:
                for end in ("low", "high"):
                    made[end[0]] = math.exp(max(min(row[f"log_{end}"], 14), -14))
                if made["h"] < 1 or made["l"] > 1:
                    made["is"] = _errs_less(pair[0] if made["h"] < 1 else pair[1])
            by_metric.setdefault(metric, []).append(made)
    if not by_metric:
        msg = f"the audit compares no group of {chosen.grouping}; audit again with --compare"
        raise ConfigError(msg)
    return by_metric


# ---- which of the two is better, and how sure that is


_RANKS = {
    "p_more_accurate": "errs less",
    "p_less_spread": "more even",
    "p_both": "both",
}
_CALLED = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_NEITHER = "neither"


@chart("compared", per="pair")
def ranks(chosen: Chosen, theme: Theme) -> Drawing:
    """How often one system comes out better than another when speakers are drawn anew."""
    inks = theme.inks
    pair = paired(chosen)
    a, b = (short_name(of, 40) for of in pair)
    states = [short_name(pair[0]), _NEITHER, short_name(pair[1])]
    shares = _ranks(chosen, pair)
    order = [*dict.fromkeys(row["m"] for row in shares)]
    rows, parts = [], []
    for row in shares:
        one, other = row["value"], row["other"]
        parts.append(f"{row['p']}, by {row['m']}: {a} {percent(one)}, {b} {percent(other)}")
        ends = (0, one, 1 - other, 1)
        for i, name in enumerate(states):
            share = ends[i + 1] - ends[i]
            if share > 1e-9:
                part = {"m": row["m"], "p": row["p"], "c": name, "i": i, "s": f"{100 * share:.0f}"}
                middle = (ends[i] + ends[i + 1]) / 2
                rows.append({**part, "a": ends[i], "b": ends[i + 1], "mid": middle})
    beside = room(order, theme.size)
    columns = theme.columns(states, beside=beside + room(["better"], theme.size))
    fills = (inks.series[0], inks.grid, inks.paper)
    strokes = (inks.series[0], inks.grid, inks.series[1])
    fill, stroke = vl.drawn_as(
        "c", states, fills, strokes, title="better", legend={"columns": columns}
    )
    y = vl.names_down(order, inks.muted, "m")
    axis = {"format": "%", "values": [0, 0.5, 1], "grid": False}
    x = vl.amount("a", title="of draws", axis=axis, scale={"domain": [0, 1]})
    panels = [title for title in _RANKS.values() if any(row["p"] == title for row in rows)]
    width = (theme.width - 24 - beside) // len(panels) - 16
    bar = {"y": y, "x": x, "x2": {"field": "b"}, "fill": fill, "stroke": stroke}
    middle = {"y": y, "x": vl.amount("mid", title=x["title"])}
    marks = [vl.mark("bar", bar, height={"band": 0.72}, strokeWidth=1.2)]
    has_room = f"datum.b - datum.a > {room(['00'], theme.size) / width:.3f}"
    for i, ink in ((0, inks.paper), (2, inks.ink)):
        when = f"{has_room} && datum.i === {i}"
        marks.append(vl.words("s", middle, size=theme.size - 1.5, when=when, color=ink))
    panel = vl.layered(marks, width=width, height=22 * len(order))
    return Drawing(
        theme.of({**vl.facets(panel, "p", panels, len(panels), 14), "data": vl.inline(rows)}),
        f"Which is better, and how sure that is: {a} or {b}, by {cut(chosen.grouping)}",
        "Had other speakers been tested, which system would have come out better: with fewer "
        "errors, with groups that differ less, or both? Each bar is "
        "split by how often either did when speakers were drawn anew, in percent: full for "
        f"{a}, hollow for {b}. A bar that is all full or all hollow is a firm rank; one that is "
        "split in the middle is none. Grey: better on one but not on both. An empty row: "
        "the operating point holds that rate, so none can win.",
        "; ".join(parts) + ".",
    )


def _ranks(chosen: Chosen, pair: Pair) -> list[Row]:
    """Shares of draws in which either is better, by what (`p`) and by which metric (`m`)."""
    compared = _compared(chosen, pair)
    rows = []
    for metric, called in _CALLED.items():
        for measure, what in _RANKS.items():
            for row in compared:
                point = row["operating_point"]
                is_asked = (row["metric"], row["measure"]) == (metric, measure)
                if is_asked and row["value"] is not None and point in {"", chosen.point}:
                    name = f"{called} at {cut(point, 12)}" if point else called
                    shares = {"value": row["value"], "other": row["other"] or 0}
                    rows.append({"m": name, "p": what, **shares})
    if not rows:
        msg = "the audit has no ranks; audit again with --compare and intervals"
        raise ConfigError(msg)
    return rows
