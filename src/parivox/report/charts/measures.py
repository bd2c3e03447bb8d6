"""Measures of spread against what fair systems would show, and against how often systems err."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.core.measures import MEASURES, meta_measures
from parivox.errors import ConfigError
from parivox.report.audit_queries import (
    NOT_UNDER_REPRESENTED,
    covers_same_groups,
    groups_left_out,
    measured_groups_text,
    omission_reasons,
)
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
    Chosen,
    Drawing,
    Row,
    Subject,
    chart,
    check,
    cut,
    rows_of,
    short_name,
)
from parivox.report.charts.theme import room
from parivox.report.sheets.sheet import UNDEFINED
from parivox.report.words import capitalised, interval_text, p_value_cell, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.core.registry import MetaMeasure
    from parivox.report.charts.theme import Theme


# ---- every measure, in units of its noise floor


_DRAWN = (
    *("fdr", "ir", "garbe", "eo_diff", "eo_ratio"),
    *("tau_log", "gini", "max_min", "nrb", "cv", "sd"),
)
_METRICS = {"fpr+fnr": "both", "fnr": "FNR", "fpr": "FPR"}
_ROW = 17
_MOST_TIMES = 4.0
_STATES = ("above the floor", "not above it")


@chart("measures", per="grouping")
def measures(chosen: Chosen, theme: Theme) -> Drawing:
    """Meta-measures of every system, in units of their noise floors."""
    inks = theme.inks
    is_gated = covers_same_groups(chosen.audit, chosen.at)
    systems = {
        short_name(subject): _in_floors(chosen, subject, is_gated=is_gated)
        for subject in chosen.subjects
    }
    systems = {label: rows for label, rows in systems.items() if rows}
    if not systems:
        msg = (
            f"no measure of {chosen.grouping} has a noise floor at {chosen.point}: it takes "
            "intervals and two groups that pass the gates"
        )
        raise ConfigError(msg)
    every = [row for rows in systems.values() for row in rows]
    order = [*dict.fromkeys(row["name"] for row in every)]
    high = min(max(max(row["x"] for row in every) * 1.08, 1.5), _MOST_TIMES)
    n = 1 if theme.is_narrow else len(systems)
    width = (theme.width - 120) // n - 10
    left_out = [*dict.fromkeys(name for row in every for name in row["out"])]
    # beside a measure that leaves groups out stands that of all groups
    figures = (84 if n < 3 else 46) + (52 if left_out else 0)
    domain = {"domain": [0, round(high, 4)], "nice": False, "range": [0, width - figures]}
    x = vl.amount("x", title="times the floor", scale=domain, axis={"tickCount": 4})
    same = {"title": x["title"]}  # one layer tells the axis, the others share it
    ways = ("triangle-right", "circle"), (inks.series[1], inks.ink)
    shape, colour = vl.drawn_as("is", _STATES, *ways)
    fields = {"name": "measure", "v": "value", "f": "floor (mean, 95 %)", "p": "p", "d": "fairer"}
    ends = {"x": vl.amount("a", **same), "x2": {"field": "b"}}
    within = vl.mark("rect", ends, rows=[{"a": 0, "b": min(1, high)}], color=inks.band)
    tick: vl.Spec = {"color": inks.muted, "thickness": 2, "height": _ROW * 0.6}
    panels, parts = [], []
    for place, (label, rows) in enumerate(systems.items()):
        above = [row["name"] for row in rows if row["is"] == _STATES[0]]
        parts.append(f"{label}: above the floor {', '.join(above) or 'none'} (of {len(rows)})")
        for row in rows:
            row["x"] = min(row["x"], high)
            row["words"] = row["v"] if n > 2 else f"{row['v']}, p {row['p']}"
        y = vl.names_down(order, inks.ink if place == 0 or theme.is_narrow else "", "name")
        mean = {"y": y, "x": vl.amount("m", **same)}
        point = {"y": y, "x": x, **vl.told(fields), "shape": shape, "color": colour}
        marks = [
            within,
            vl.mark("tick", mean, **tick),
            vl.mark("rule", {**mean, "x2": {"field": "x"}}, strokeWidth=1, color=inks.muted),
            vl.dots(point, 46),
            vl.words_beside("words", {"y": y}, width - figures, theme),
        ]
        panels.append(vl.panel(marks, rows, label, width=width, height=_ROW * len(order)))
    least, most = min(row["n"] for row in every), max(row["n"] for row in every)
    few = f"{least} to {most}" if least < most else str(least)
    is_lacking = any(row["p"] == "–" for row in every)
    return Drawing(
        theme.of(theme.arranged(panels, 10), view={"stroke": None}),
        f"Summary fairness measures: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "Each fairness measure in units of its noise floor, as distance from the value for equal "
        "rates. Grey: range of 95 % of audits of these speakers if error rates were equal; tick: "
        "their mean. Only points to the right of the grey area indicate a difference between "
        "groups. Value and p are shown on the right"
        + (" (a dash: no p; the tables of measures give the reason)" if is_lacking else "")
        + ". FDR, EO ratio: higher is fairer; all others: lower is fairer. "
        + _of_whom(chosen, few, left_out, is_all=least == len(chosen.groups) or not is_gated),
        "; ".join(parts) + ".",
    )


def _of_whom(chosen: Chosen, number: str, left_out: Sequence[str], *, is_all: bool) -> str:
    """A sentence on the groups that measures are of, and on those that are left out."""
    if left_out:
        reasons = ", ".join(omission_reasons(chosen.audit, chosen.at, left_out))
        whose = measured_groups_text(chosen.audit, left_out)
        return f"Of the {number} {whose}; in brackets: of all groups. Left out: {reasons}."
    return (
        f"Of all {number} groups."
        if is_all
        else f"Of the {number} groups that {NOT_UNDER_REPRESENTED}."
    )


def _of_all(chosen: Chosen, row: Row) -> str:
    """The same measure of all groups in brackets, where it leaves some out."""
    if not groups_left_out([row]):
        return ""
    same = ("system", "list", "grouping", "allocation", "metric", "definition", "operating_point")
    asked = {name: row[name] for name in (*same, "measure", "alpha", "zero", "within")}
    (of_all,) = rows_of(chosen.audit, "meta", **asked, gated=False)
    return f" ({UNDEFINED if of_all['value'] is None else _short(of_all['value'])})"


def _in_floors(chosen: Chosen, subject: Subject, *, is_gated: bool) -> list[Row]:
    """Every measure of a system that has a value and a floor, in units of it."""
    alpha = chosen.audit.record["options"]["alpha"][0]
    system, listed = subject
    asked = {**chosen.at, "system": system, "list": listed, "zero": "none"}
    known = {
        (row["metric"], row["measure"]): row
        for row in rows_of(chosen.audit, "meta", **asked, gated=is_gated)
        if row["alpha"] in {None, alpha}
    }
    made = []
    for metric, words in _METRICS.items():
        for measure in _DRAWN:
            row = known.get((metric, measure))
            if row is None:
                continue
            numbers = [row[name] for name in ("value", "floor_95", "floor_mean")]
            if any(one is None or not math.isfinite(one) for one in numbers):
                continue
            value, floor, mean = (_from_fair(measure, one) for one in numbers)
            if floor and math.isfinite(value):
                made.append(
                    {
                        "name": f"{MEASURES[measure].short}, {words}",
                        "x": round(value / floor, 4),
                        "m": round(mean / floor, 4),
                        "is": _STATES[value <= floor],
                        "v": _short(row["value"]) + _of_all(chosen, row),
                        "f": f"{_short(row['floor_mean'])}, {_short(row['floor_95'])}",
                        "p": p_value_cell(row["p"]),
                        "d": "higher" if row["higher_is_fairer"] else "lower",
                        "n": row["groups"],
                        "out": groups_left_out([row]),
                    }
                )
    return made


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else short_number(value)


def _from_fair(measure: str, value: float) -> float:
    """How far a value is from that of a fair system."""
    scale = MEASURES[measure].scale
    if scale == "ratio":
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(1 - value) if scale == "one" else abs(value)


# ---- one measure, of every base metric


_OWN_THRESHOLDS = {"eer": "EER", "min_cdet_norm": "minimum cost"}
_ROW_OF_METRICS = 13


@chart("measures", per="asked")
def over_metrics(chosen: Chosen, theme: Theme, *, measure: str = "nrb") -> Drawing:
    """A meta-measure of one base metric, over EER, cost, and both rates at each point.

    As Fig. 2 of docs/references.md#paper-000, which has `nrb`.
    """
    inks = theme.inks
    of = _of_one_metric(measure)
    rows = [row for one in chosen.subjects for row in _over_metrics(chosen, one, of)]
    if not rows:
        msg = f"no metric of {chosen.grouping} has a {of.label}: it takes two groups with errors"
        raise ConfigError(msg)
    systems = [*dict.fromkeys(row["c"] for row in rows)]
    order = [*dict.fromkeys(row["m"] for row in rows)]
    beside = room(order, theme.size)
    ways = theme.colours(len(systems)), theme.shapes(len(systems))
    legend = {"columns": theme.columns(systems, beside=beside)}
    colour, shape = vl.drawn_as("c", systems, *ways, legend=legend)
    values = [row[n] for row in rows for n in "vlhf" if n in row and math.isfinite(row[n])]
    if of.scale == "ratio":
        x = vl.as_logs(of.label, *vl.log_domain(values), percent=False)
        low, high = x["scale"]["domain"]
    else:
        low, high = min(0.0, *values), max(values) * 1.05
        domain = {"domain": [low, high], "nice": False}
        x = {"title": of.label, "scale": domain, "axis": {"tickCount": 6, "format": "~g"}}
    for row in rows:
        row |= {n: min(max(row[n], low), high) for n in "vlhf" if n in row}
    y = {
        "y": vl.names_down(order, inks.ink, "m"),
        "yOffset": vl.word("c", scale={"domain": systems}),
    }
    tick: vl.Spec = {"thickness": 2, "height": _ROW_OF_METRICS * 0.7, "orient": "vertical"}
    fields = {"c": "system", "m": "metric", "s": "value", "fs": "floor (95 %)", "ps": "p"}
    same = {"title": of.label}
    at = {**y, "x": vl.amount("v", **x), "color": colour, "shape": shape, **vl.told(fields)}
    floor = {**y, "x": vl.amount("f", **same)}
    marks = [
        vl.mark("tick", floor, when="isValid(datum.f)", color=inks.muted, **tick),
        vl.interval({**y, "x": vl.amount("l", **same), "color": colour}),
        vl.dots(at, 46),
    ]
    width = theme.width - 30 - beside
    height = _ROW_OF_METRICS * len(order) * max(len(systems), 1.4)
    panel = vl.layered(marks, data=vl.inline(rows), width=width, height=height)
    zero = dict.fromkeys(row["z"] for row in rows if row["z"] != "none")
    return Drawing(
        theme.of(panel, view={"stroke": None}),
        f"{capitalised(of.label)} by base metric: {cut(chosen.grouping)}",
        f"{capitalised(of.says)}. Dots: systems; lines: confidence intervals; grey ticks: noise "
        "floors, where known. "
        f"Of {_groups_that_count(chosen)}, or of all where fewer than two are. Rates are "
        "at one threshold for all, EER and minimum cost at each group's own, so the rows are not "
        "of one thing. "
        + (f"Groups without errors are counted by the rule {', '.join(zero)}. " if zero else "")
        + (f"{capitalised(of.fairer)} is fairer." if of.fairer != "neither" else ""),
        "; ".join(f"{row['c']}, {row['m']}: {row['s']}" for row in rows) + ".",
    )


def _of_one_metric(name: str) -> MetaMeasure:
    every = {one.id: one for one in meta_measures().values() if not one.metric}
    check("measure", name, every, "one of a single metric")
    return every[name]


def _over_metrics(chosen: Chosen, of: Subject, measure: MetaMeasure) -> list[Row]:
    """A measure of one system: of both rates at each point, then of what has own thresholds."""
    system, listed = of
    where = {**chosen.where, "system": system, "list": listed}
    options = chosen.audit.record["options"]
    points = rows_of(chosen.audit, "operating_points", system=system, list=listed, within="")
    points = sorted(points, key=lambda row: -(row["fpr"] or 0))
    asked = [(metric, "", row["operating_point"]) for metric in RATES for row in points]
    asked += [("eer", options["eer"][0], ""), ("min_cdet_norm", options["cost"][0], "")]
    rows = rows_of(chosen.audit, "meta", **where, measure=measure.id)
    made = []
    for metric, definition, point in asked:
        named = f"{metric.upper()} at {cut(point, 16)}" if point else _OWN_THRESHOLDS[metric]
        key = metric, definition, point
        own = [r for r in rows if (r["metric"], r["definition"], r["operating_point"]) == key]
        at = {**chosen.where, "operating_point": point} if point else chosen.at
        if not covers_same_groups(chosen.audit, at):
            own = [r for r in own if not r["gated"]]
        row = _first_known(own)
        if row is None:
            continue
        value = _short(row["value"]) + _of_all(chosen, row)
        shown = f"{value} {interval_text(row['low'], row['high'])}, {row['groups']} groups"
        one: Row = {
            "c": short_name(of),
            "m": named,
            "v": row["value"],
            "s": shown,
            "z": row["zero"],
        }
        if row["low"] is not None and row["high"] is not None:
            one |= {"l": row["low"], "h": row["high"]}
        if row["floor_95"] is not None:
            one |= {
                "f": row["floor_95"],
                "fs": _short(row["floor_95"]),
                "ps": p_value_cell(row["p"]),
            }
        made.append(one)
    return made


def _groups_that_count(chosen: Chosen) -> str:
    """The groups that measures at the operating point are of, in words."""
    if not covers_same_groups(chosen.audit, chosen.at):
        return "all groups, as other groups are under-represented in other systems"
    left_out = groups_left_out(rows_of(chosen.audit, "meta", **chosen.at, gated=True))
    if not left_out:
        return f"the groups that {NOT_UNDER_REPRESENTED}"
    return f"the {measured_groups_text(chosen.audit, left_out)}"


def _first_known(rows: Sequence[Row]) -> Row | None:
    """Of the groups that pass the gates rather than of all, without a rule for zeros rather."""
    order = [(gated, zero) for gated in (True, False) for zero in ("none", "jeffreys")]
    by_rule = {(row["gated"], row["zero"]): row for row in rows if row["value"] is not None}
    known = [by_rule[rule] for rule in order if rule in by_rule]
    return next((row for row in known if math.isfinite(row["value"])), None)


# ---- how often systems err against how much their groups differ


_LABELS = 110
"""Room for the labels of two panels and between them."""


@chart("compared", per="several")
def accuracy(chosen: Chosen, theme: Theme) -> Drawing:
    """Rate of all against the spread between groups, of every system and list."""
    by_metric = _spreads(chosen)
    every = [row for rows in by_metric.values() for row in rows]
    names = [*dict.fromkeys(row["c"] for row in every)]
    has_left_out = any("a" in row for row in every)
    legend = {"columns": theme.columns(names, beside=_LABELS / 2)}
    ways = theme.colours(len(names)), theme.shapes(len(names))
    colour, shape = vl.drawn_as("c", names, *ways, legend=legend)
    most = max(float(row[axis] or 0) for row in every for axis in ("y", "yh", "a") if axis in row)
    domain = {"domain": [0, round(most * 1.08, 4) or 1], "nice": False}
    y = {"scale": domain, "title": "spread (tau_log)"}
    tick: vl.Spec = {"thickness": 2, "width": 16, "orient": "horizontal", "color": theme.inks.muted}
    panels, parts = [], []
    for metric, rows in by_metric.items():
        values = [row[n] for row in rows for n in ("x", "xl", "xh") if n in row]
        low, high = vl.log_domain(values, most=1)
        x = vl.as_logs(f"{metric.upper()} of all (%)", low, high, labelOverlap=True)
        here = {"x": vl.amount("x", **x), "y": vl.amount("y", **y), "color": colour}
        wide = {**here, "x": vl.amount("xl", **x), "x2": {"field": "xh"}}
        tall = {**here, "y": vl.amount("yl", **y), "y2": {"field": "yh"}}
        floor = {"x": here["x"], "y": vl.amount("f", **y)}
        of_all = {**here, "y": vl.amount("a", **y), "shape": shape}
        marks = [
            vl.mark("rule", wide, when="isValid(datum.xh)", strokeWidth=1.2),
            vl.mark("rule", tall, when="isValid(datum.yh)", strokeWidth=1.2),
            vl.mark("tick", floor, when="isValid(datum.f)", **tick),
            vl.dots({**here, "shape": shape}, 70),
            vl.mark("point", of_all, when="isValid(datum.a)", size=70, strokeWidth=1.2),
        ]
        size = {"width": (theme.width - _LABELS) // 2, "height": 170}
        panels.append(vl.panel(marks, rows, RATES[metric], **size))
        parts += [
            f"{row['c']}: {metric.upper()} of all {percent(row['x'])}, spread "
            f"{short_number(row['y'])} "
            f"{interval_text(row.get('yl'), row.get('yh'))}, of {row['n']}"
            for row in rows
        ]
    return Drawing(
        theme.of(vl.in_a_row(panels, 16)),
        f"Accuracy and equality of systems: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "Horizontal: pooled error rate. Vertical: between-group SD of log rates, corrected for "
        "sampling noise (0.69 corresponds to a twofold difference), of "
        f"{_groups_that_count(chosen)}{'; hollow: of all groups' if has_left_out else ''}. Lower "
        "left is best. Bars: confidence intervals. Grey tick: noise floor. The rate that defines "
        "the operating point is the same for all systems.",
        "; ".join(parts) + ".",
    )


def _spreads(chosen: Chosen) -> dict[str, list[Row]]:
    """Pooled rate and spread of every system, by metric."""
    by_metric: dict[str, list[Row]] = {}
    is_gated = covers_same_groups(chosen.audit, chosen.at)
    for metric in RATES:
        for system, listed in chosen.subjects:
            at = {**chosen.at, "system": system, "list": listed, "metric": metric, "definition": ""}
            spreads = rows_of(chosen.audit, "meta", **at, measure="tau_log", gated=is_gated)
            pooled = rows_of(chosen.audit, "groups", **at, group="pooled")
            if not spreads or not pooled or spreads[0]["value"] is None or not pooled[0]["value"]:
                continue
            spread, whole = spreads[0], pooled[0]
            row: Row = {
                "c": short_name((system, listed)),
                "n": f"{spread['groups']} groups{_of_all(chosen, spread)}",
            }
            if groups_left_out([spread]):
                (of_all,) = rows_of(chosen.audit, "meta", **at, measure="tau_log", gated=False)
                row["a"] = of_all["value"]
            for axis, of in (("x", whole), ("y", spread)):
                row[axis] = of["value"]
                if of["low"] is not None and of["high"] is not None:
                    row |= {f"{axis}l": of["low"], f"{axis}h": of["high"]}
            if spread["floor_95"] is not None:
                row["f"] = spread["floor_95"]
            by_metric.setdefault(metric, []).append(row)
    if not by_metric:
        msg = f"no system has a spread between groups of {chosen.grouping} at {chosen.point}"
        raise ConfigError(msg)
    return by_metric
