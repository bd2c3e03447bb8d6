"""Charts of every group: who was tested, how groups fare, within levels too, and who fails."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from parivox.errors import ConfigError, printable
from parivox.report.audit_queries import VERDICTS
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
    Chosen,
    Drawing,
    Row,
    chart,
    cut,
    kept,
    left_out,
    rows_of,
)
from parivox.report.charts.theme import room
from parivox.report.words import count_text, interval_text, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.report.charts.theme import Theme

_ROW = 17
"""Pixels of a group."""
_BARE = {"stroke": None}


def _limits(row: Row) -> Row:
    if row["low"] is None or row["high"] is None:
        return {}
    return {"l": row["low"], "h": row["high"]}


def _in_words(row: Row) -> str:
    return f"{percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"


def _with_counts(row: Row) -> str:
    counts = f"{row['errors']:,} of {row['trials']:,} trials"
    return f"{cut(row['group'])} {_in_words(row)} ({counts})"


# ---- who the audit is of: speakers and trials of each group


_COUNTS = {
    "speakers": "speakers",
    "target_trials": "own trials",
    "nontarget_trials": "impostor trials",
}
_MOST_OF_SPEAKERS = 80
"""Groups drawn at most."""


@chart("said", per="list")
def speakers(chosen: Chosen, theme: Theme) -> Drawing:
    """Bars of speakers, target trials and nontarget trials of each group."""
    inks = theme.inks
    sizes: dict[str, Row] = {}
    for row in rows_of(chosen.audit, "groups", **chosen.where):
        if row["group"] != "pooled":
            sizes.setdefault(row["group"], row)
    if not sizes:
        msg = f"no group of {chosen.grouping} has trials; audit again with groups that have"
        raise ConfigError(msg)
    groups = kept(chosen, _MOST_OF_SPEAKERS)
    names = [chosen.marked(group) for group in groups]
    width = (theme.width - 40 - room(names, theme.size)) // len(_COUNTS)
    fill = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
    bar: vl.Spec = {"height": {"band": 0.66}, "strokeWidth": 1.2, "stroke": inks.series[0]}
    panels = []
    for place, (count, title) in enumerate(_COUNTS.items()):
        rows: list[Row] = [
            {
                "group": name,
                "n": int(sizes[group][count] or 0),
                "few": group in chosen.gates,
                "figure": count_text(sizes[group][count]),
            }
            for group, name in zip(groups, names, strict=True)
        ]
        most = max((row["n"] for row in rows), default=1) or 1
        beyond = min(room([row["figure"] for row in rows], theme.size) + 6, 0.6 * width)
        domain = {"domain": [0, most * width / (width - beyond)], "nice": False}
        x = vl.amount("n", title=None, axis=None, scale=domain)
        marks = [
            vl.mark("bar", {"x": x, "fill": fill}, **bar),
            vl.words("figure", {"x": x}, size=theme.size, align="left", dx=4, color=inks.muted),
        ]
        y = vl.names_down(names, inks.ink if place == 0 else "")
        size = {"width": width, "height": _ROW * len(names)}
        panels.append(vl.panel(marks, rows, title, encoding={"y": y}, **size))
    by_size = sorted(sizes.values(), key=lambda row: row["speakers"] or 0)
    few, many = by_size[0], by_size[-1]
    parts = [f"{len(sizes)} groups by {cut(chosen.grouping)}"]
    if many["speakers"] is None:
        parts.append("speakers are not known")
    else:
        parts.append(f"most speakers: {cut(many['group'])} ({many['speakers']:,})")
    if few["speakers"] is not None:
        parts.append(f"fewest: {cut(few['group'])} ({few['speakers']:,})")
    if chosen.gates:
        parts.append(f"below the sample-size minimum: {len(chosen.gates)}")
    return Drawing(
        theme.of(vl.in_a_row(panels, 10), view=_BARE),
        f"Sample by {cut(chosen.grouping)}",
        "Speakers and trials by group. Hollow bars, marked *: below the sample-size minimum for at "
        "least one error type." + left_out(chosen, _MOST_OF_SPEAKERS),
        "; ".join(parts) + ".",
    )


# ---- error rates of every group with their intervals, beside what chance alone would show


_MOST_OF_FOREST = 60
"""Groups drawn at most."""
_ROW_OF_FOREST = 18
_FIGURES = 104
"""Room for the rates beside a panel."""
_FEW = "inconclusive, too few"
_SHAPES = ("triangle-right", "triangle-left", "circle", "circle", "circle", "triangle-left")
_BECAUSE = "better, not without the worst"


@chart("groups", per="system")
def forest(chosen: Chosen, theme: Theme) -> Drawing:
    """FNR and FPR of every group with intervals, the pooled rate and the noise floor."""
    rates = {metric: chosen.rates(metric) for metric in RATES}
    known = {
        metric: [r for g, r in of.items() if g != "pooled" and r["value"] is not None]
        for metric, of in rates.items()
    }
    rates = {metric: of for metric, of in rates.items() if known[metric]}
    if not rates:
        where = chosen.point or "any operating point"
        msg = f"no group has an error rate at {where}: nothing to draw"
        raise ConfigError(msg)
    order = kept(chosen, _MOST_OF_FOREST)
    names = [*map(chosen.marked, order)]
    n = 1 if theme.is_narrow else len(rates)
    width = (theme.width - 24 - room(names, theme.size)) // n - _FIGURES
    panels, parts = [], []
    for place, (metric, of) in enumerate(rates.items()):
        ink = theme.inks.ink if place == 0 or theme.is_narrow else ""
        y = vl.names_down(names, ink)
        panels.append(_forest_panel(chosen, metric, of, order, y, width, theme))
        pooled = (of.get("pooled") or {}).get("value")
        if pooled is not None:
            parts.append(f"{RATES[metric]} of all: {percent(pooled)}")
        worst, best = (end(known[metric], key=itemgetter("value")) for end in (max, min))
        parts.append(f"highest {_with_counts(worst)}, lowest {_with_counts(best)}")
    return Drawing(
        theme.of(theme.arranged(panels, 8), view=_BARE),
        f"Error rates by group: {cut(chosen.label)} at {cut(chosen.point)}, "
        f"by {cut(chosen.grouping)}",
        "Dots show the error rate of each group, lines its confidence interval (logarithmic axis; "
        "further right is worse). Dashed line: all groups pooled. Grey band: 95 % range of a "
        "group's rate if rates were equal in all groups. Triangles: verdict of worse or better. "
        "Hollow dots: too few speakers or errors; groups with such a rate are marked *. An arrow "
        "from the left: no errors observed, the rate is at most the value at its end."
        + left_out(chosen, _MOST_OF_FOREST),
        "; ".join(parts) + ".",
    )


def _forest_panel(
    chosen: Chosen,
    metric: str,
    rates: Mapping[str, Row],
    order: Sequence[str],
    y: vl.Spec,
    width: float,
    theme: Theme,
) -> vl.Spec:
    inks = theme.inks
    pooled = (rates.get("pooled") or {}).get("value")
    spans = [rates[g][name] for g in order if g in rates for name in ("value", "low", "high")]
    lowest = max((pooled or 0) / 300, 0)
    low, high = vl.log_domain([v for v in [*spans, pooled] if v is None or v >= lowest], most=1)
    judged = rows_of(chosen.audit, "verdicts", **chosen.at)
    verdicts = {row["group"]: row for row in judged if row["metric"] == metric}
    rows = [_forest_row(chosen, rates.get(g), verdicts.get(g), g, low, high) for g in order]
    floors = _floors(chosen, metric) if pooled else {}
    for row, group in zip(rows, order, strict=True):
        if group in floors and pooled:
            row["b0"] = max(pooled / floors[group], low)
            row["b1"] = min(pooled * floors[group], high)
    x = vl.as_logs("%", low, high, labelOverlap=True)
    x["scale"]["range"] = [0, width]
    same = {"title": "%"}  # one layer tells the axis, the others share it
    states = [*VERDICTS.values(), _FEW]
    colours = [inks.bad, inks.good, inks.ink, inks.muted, inks.muted]
    fills = [*colours[:-1], inks.paper]
    if any(row.get("because_of") for row in judged):
        states, colours, fills = [*states, _BECAUSE], [*colours, colours[1]], [*fills, inks.paper]
    names = y["scale"]["domain"]
    legend = {"columns": theme.columns(states, beside=room(names, theme.size))}
    stroke, fill, shape = vl.drawn_as(
        "is", states, colours, fills, _SHAPES[: len(states)], legend=legend
    )
    none: vl.Spec = {"shape": "triangle-left", "color": inks.muted, "size": 45, "opacity": 1}
    fields = {"g": "group", "n": metric.upper(), "told": "errors / trials", "s": "speakers"}
    words = vl.told({**fields, "is": "verdict"})
    point = {"x": vl.amount("v", **x), "stroke": stroke, "fill": fill, "shape": shape, **words}
    marks = [
        vl.interval({"x": vl.amount("l", **same), "stroke": vl.word("is", title=None)}, width=1.5),
        vl.mark("point", {"x": vl.amount("h", **same), **words}, when="datum.none", **none),
        vl.mark("point", point, when="datum.v > 0", size=46, strokeWidth=1.5, opacity=1),
        vl.words_beside("n", {}, width, theme),
    ]
    layers = []
    if floors:
        band = {"y": y, "x": vl.amount("b0", **same), "x2": {"field": "b1"}}
        layers.append(vl.mark("bar", band, color=inks.band, height={"band": 1}))
    if pooled:
        layers.append(vl.dashed({"x": vl.datum(float(f"{pooled:.5g}"), **same)}, inks.ink))
    layers.append({"layer": marks, "encoding": {"y": y}})
    size = {"width": width + _FIGURES, "height": _ROW_OF_FOREST * len(order)}
    return vl.panel(layers, rows, RATES[metric], **size)


def _floors(chosen: Chosen, metric: str) -> dict[str, float]:
    """How many times above or below par a group of a fair system may lie."""
    rows = [
        row
        for row in rows_of(chosen.audit, "bias", **chosen.at, measure="ratio", zero="none")
        if row["metric"] == metric and row["floor_95"] is not None
    ]
    for reference in ("pooled", *chosen.audit.record["options"]["reference"]):
        floors = {row["group"]: row["floor_95"] for row in rows if row["reference"] == reference}
        if floors:
            return floors
    return {}


def _forest_row(
    chosen: Chosen, row: Row | None, verdict: Row | None, group: str, low: float, high: float
) -> Row:
    """What is drawn of a group, between the ends of the axis."""
    made: Row = {"group": chosen.marked(group), "g": printable(group)}
    if row is None or row["value"] is None:
        why = "no trials" if row is None else row["reason"]
        return {**made, "n": "–", "told": f"– ({why})", "is": _FEW}
    state = VERDICTS[(verdict and verdict["verdict"]) or "cannot_tell"]
    if verdict and verdict["gates"] and verdict["verdict"] not in {"worse", "better"}:
        state = _FEW
    made |= {
        "v": float(row["value"]),
        "n": _in_words(row),
        "told": f"{row['errors']:,} / {row['trials']:,}",
        "is": _BECAUSE if verdict and verdict.get("because_of") else state,
    }
    if row["speakers"] is not None:
        made["s"] = f"{row['speakers']:,}"
    if row["value"] == 0 and row["high"] is not None:
        made["none"] = True
    if row["high"] is not None:
        made["l"] = float(min(max(row["low"] or 0, low), high))
        made["h"] = float(min(max(row["high"], low), high))
    return made


# ---- whether groups fare alike within each level of --within, as channel or language


_MOST_OF_LEVELS = 30
"""Groups drawn at most."""
_ROW_OF_LEVELS = 12
_ALL = "all groups"
_LEVELS = 6


@chart("groups", per="widest")
def levels(chosen: Chosen, theme: Theme) -> Drawing:
    """FNR and FPR of every group within each level, side by side."""
    names = {group: chosen.marked(group) for group in kept(chosen, _MOST_OF_LEVELS)}
    names["pooled"] = _ALL
    by_metric = _rates_within(chosen, names)
    drawn = [*dict.fromkeys(row["c"] for rows in by_metric.values() for row in rows)]
    beside = room(names.values(), theme.size)
    width = (theme.width - 20 - beside) // len(by_metric) - 12
    size = {"width": width, "height": _ROW_OF_LEVELS * len(names) * max(len(drawn), 1.5)}
    ways = theme.colours(len(drawn)), theme.shapes(len(drawn))
    legend = {"columns": theme.columns(drawn, beside=beside)}
    colour, shape = vl.drawn_as("c", drawn, *ways, legend=legend)
    panels, parts = [], []
    for place, (metric, rows) in enumerate(by_metric.items()):
        values = [row[n] for row in rows for n in ("v", "l", "h") if n in row]
        low, high = vl.log_domain(values, most=1)
        low = max(low, min(row["v"] for row in rows) / 10)
        for row in rows:
            if "l" in row:
                row["l"], row["h"] = max(row["l"], low), min(row["h"], high)
        x = vl.as_logs("%", low, high, labelOverlap=True)
        y = {
            "y": vl.names_down(names.values(), theme.inks.ink if place == 0 else ""),
            "yOffset": vl.word("c", scale={"domain": drawn}),
        }
        marks = [
            vl.interval({**y, "x": vl.amount("l", **x), "color": colour}, width=1.2),
            vl.dots({**y, "x": vl.amount("v", **x), "color": colour, "shape": shape}, 34),
        ]
        panels.append(vl.panel(marks, rows, RATES[metric], **size))
        of_all = [row for row in rows if row["group"] == _ALL]
        parts += [f"{RATES[metric]} of all, {row['c']}: {row['s']}" for row in of_all]
    return Drawing(
        theme.of(vl.in_a_row(panels, 12), view=_BARE),
        f"Within strata: {cut(chosen.label)} at {cut(chosen.point)}, by {cut(chosen.grouping)}",
        "Error rate of each group in every stratum, with confidence interval, at the same "
        "threshold; further right is worse. If groups differ in the same way in every stratum, the "
        "strata do not explain the difference. Groups without errors in a stratum have no mark."
        + left_out(chosen, _MOST_OF_LEVELS),
        "; ".join(parts) + ".",
    )


def _rates_within(chosen: Chosen, names: Mapping[str, str]) -> dict[str, list[Row]]:
    """Rates above 0 within each of the first levels, by metric."""
    by_metric: dict[str, list[Row]] = {}
    at = {name: value for name, value in chosen.at.items() if name != "within"}
    for metric in RATES:
        rows = rows_of(chosen.audit, "groups", **at, metric=metric, definition="")
        rows = [row for row in rows if row["within"] and row["value"] and row["group"] in names]
        first = [*dict.fromkeys(row["within"] for row in rows)][:_LEVELS]
        drawn = [
            {
                "group": names[row["group"]],
                "c": cut(row["within"], 30),
                "v": row["value"],
                "s": _in_words(row),
                **_limits(row),
            }
            for row in rows
            if row["within"] in first
        ]
        if drawn:
            by_metric[metric] = drawn
    if not by_metric:
        msg = "the audit has no levels; audit again with --within, as in --within channel"
        raise ConfigError(msg)
    return by_metric


# ---- whose recordings fail before anything is compared: failures to enrol and to acquire


_MOST_OF_FAILURES = 60
"""Groups drawn at most."""
_INSET = 7
"""So that a dot at 0 does not cover the names."""
_ATTEMPTS = 100
"""Room for the counts beside a panel."""
_KINDS = {"fte": "cannot enrol (FTE)", "fta": "cannot be recorded (FTA)"}


@chart("groups", per="widest")
def failures(chosen: Chosen, theme: Theme) -> Drawing:
    """FTE and FTA of every group with intervals."""
    groups = kept(chosen, _MOST_OF_FAILURES)
    names = [chosen.marked(group) for group in groups]
    by_metric: dict[str, list[Row]] = {}
    for metric in _KINDS:
        of = chosen.metric(metric)
        for group, name in zip(groups, names, strict=True):
            row = of.get(group)
            if row is not None and row["value"] is not None:
                counts = f"{row['errors'] or 0:,} / {row['trials'] or 0:,}"
                made = {"group": name, "v": row["value"], "n": counts, "s": _in_words(row)}
                by_metric.setdefault(metric, []).append(made | _limits(row))
    if not by_metric:
        msg = "the audit knows of no failures; audit again with --failures"
        raise ConfigError(msg)
    n = 1 if theme.is_narrow else len(by_metric)
    width = (theme.width - 20 - room(names, theme.size)) // n - _ATTEMPTS
    size = {"width": width + _ATTEMPTS, "height": _ROW * len(names)}
    panels, parts = [], []
    for place, (metric, rows) in enumerate(by_metric.items()):
        most = max(float(row["h"] if "h" in row else row["v"]) for row in rows) or 0.01
        x = {
            "title": "%",
            "scale": {"domain": [0, most * 1.05], "nice": False, "range": [_INSET, width]},
            "axis": {"tickCount": 4, "labelExpr": "format(100 * datum.value, '~r')"},
        }
        y = vl.names_down(names, theme.inks.ink if place == 0 or theme.is_narrow else "")
        marks = [
            vl.interval({"y": y, "x": vl.amount("l", **x)}, color=theme.inks.ink),
            vl.dots({"y": y, "x": vl.amount("v", **x)}, 44, color=theme.inks.series[0]),
            vl.words_beside("n", {"y": y}, width, theme),
        ]
        panels.append(vl.panel(marks, rows, _KINDS[metric], **size))
        worst = max(rows, key=lambda row: float(row["v"]))
        parts.append(f"{_KINDS[metric]}, highest: {cut(worst['group'])} {worst['s']}")
    return Drawing(
        theme.of(theme.arranged(panels, 12), view=_BARE),
        f"Whose recordings fail: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "A dot is the share of a group's recordings that could not be used at all, its line the "
        "interval; beside it failures and attempts. Further right is worse."
        + left_out(chosen, _MOST_OF_FAILURES),
        "; ".join(parts) + ".",
    )
