"""Error rates of every group with their intervals, beside what chance alone would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError, shown
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import (
    RATES,
    Chosen,
    Row,
    cut,
    kept,
    left_out,
    rows_of,
)
from parivox.report.charts.grammar import (
    Spec,
    amount,
    beside_panel,
    heading,
    inline,
    interval,
    layered,
    mark,
    names_down,
    scale,
    word,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.report.charts.theme import Theme

MOST = 60
"""Groups drawn at most."""
_ROW = 18
_COUNTS = 92
"""Room for the counts beside a panel."""
_VERDICTS = {
    "worse": "worse",
    "better": "better",
    "": "no sure difference",
    "*": "too few to say",
}
_SHAPES = ("triangle-right", "triangle-left", "circle", "circle")


@chart("groups", per="system", asks=(*OF_ONE, "operating_point"), is_live=True)
def forest(chosen: Chosen, theme: Theme, *, sort: str = "value") -> Drawing:
    """FNR and FPR of every group with intervals, the pooled rate and the noise floor."""
    found = _rates(chosen)
    order = _order(chosen, found, sort)
    n = 1 if theme.is_narrow else len(found)
    panels = [
        _panel(chosen, metric, rates, order, theme, is_first=place == 0 or theme.is_narrow, n=n)
        for place, (metric, rates) in enumerate(found.items())
    ]
    return Drawing(theme.of(theme.arranged(panels, 8), view={"stroke": None}), _words(chosen))


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = []
    for metric, rates in _rates(chosen).items():
        rows = [row for name, row in rates.items() if name != "pooled" and row["value"] is not None]
        worst = max(rows, key=lambda row: row["value"])
        best = min(rows, key=lambda row: row["value"])
        pooled = rates.get("pooled")
        if pooled is not None and pooled["value"] is not None:
            parts.append(f"{RATES[metric]} of all: {percent(pooled['value'])}")
        parts.append(f"highest {_figure(worst)}, lowest {_figure(best)}")
    point = cut(chosen.point)
    return Words(
        f"Who is locked out, who is exposed: {cut(chosen.label)} at {point}, "
        f"by {cut(chosen.grouping)}",
        "A dot is a group's rate, its line the interval, on a logarithmic axis; further right is "
        "worse. The dashed line is the rate of all. Within the grey band a group of a fair "
        "system would lie 95 times in 100. Triangles point where a group surely differs; hollow "
        "dots are rates of too few people or errors, and * marks their groups. An arrow from the "
        "left says that there was no error: the rate is at most so much. Groups with the highest "
        "FNR come first." + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _figure(row: Row) -> str:
    interval = span(row["low"], row["high"], times=100)
    return (
        f"{cut(row['group'])} {percent(row['value'])} {interval} "
        f"({row['errors']:,} of {row['trials']:,} trials)"
    )


def _rates(chosen: Chosen) -> dict[str, dict[str, Row]]:
    """Rows of either rate by group, of those that any group has."""
    found = {metric: chosen.rates(metric) for metric in RATES}
    found = {
        metric: rates
        for metric, rates in found.items()
        if any(row["value"] is not None for g, row in rates.items() if g != "pooled")
    }
    if not found:
        where = chosen.point or "any operating point"
        msg = f"no group has an error rate at {where}: nothing to draw"
        raise ConfigError(msg)
    return found


def _order(chosen: Chosen, found: Mapping[str, Mapping[str, Row]], sort: str) -> list[str]:
    if sort not in {"value", "name"}:
        msg = f"sort is {sort!r}; it is value or name"
        raise ConfigError(msg)
    names = kept(chosen, MOST)
    if sort == "name":
        return names
    first = next(iter(found.values()))
    return sorted(names, key=lambda name: -_value(first.get(name)))


def _value(row: Row | None) -> float:
    return -1.0 if row is None or row["value"] is None else float(row["value"])


def _floors(chosen: Chosen, metric: str) -> dict[str, float]:
    """How many times above or below par a group of a fair system may lie."""
    rows = [
        row
        for row in rows_of(chosen.audit, "bias", **chosen.at, measure="ratio", zero="none")
        if row["metric"] == metric and row["floor_95"] is not None
    ]
    for reference in dict.fromkeys(("pooled", *chosen.audit.record["options"]["reference"])):
        floors = {row["group"]: row["floor_95"] for row in rows if row["reference"] == reference}
        if floors:
            return floors
    return {}


def _panel(
    chosen: Chosen,
    metric: str,
    rates: Mapping[str, Row],
    order: Sequence[str],
    theme: Theme,
    *,
    is_first: bool,
    n: int,
) -> Spec:
    inks = theme.inks
    rows_judged = rows_of(chosen.audit, "verdicts", **chosen.at)
    judged = {row["group"]: row for row in rows_judged if row["metric"] == metric and row["group"]}
    pooled = (rates.get("pooled") or {}).get("value")
    floors = _floors(chosen, metric) if pooled else {}
    everyone = [rates[name] for name in order if name in rates]
    spans = [row[c] for row in everyone for c in ("value", "low", "high")]
    lowest = max((pooled or 0) / 300, 0)
    low, high = log_domain([v for v in [*spans, pooled] if v is None or v >= lowest], most=1)
    rows = [_row(chosen, rates.get(g), judged.get(g), g, low, high) for g in order]
    for row, name_ in zip(rows, order, strict=True):
        if name_ in floors and pooled:
            row["b0"] = max(pooled / floors[name_], low)
            row["b1"] = min(pooled * floors[name_], high)
    names = [*map(chosen.marked, order)]
    width = _width(theme, n, names)
    y = names_down(names, inks.ink if is_first else "")
    tooltip = [
        word("g" if any("g" in row for row in rows) else "group", title="group"),
        word("told", title=metric.upper()),
        word("n", title="errors / trials"),
        amount("s", title="speakers", format=","),
        word("is", title="verdict"),
    ]
    x = as_logs("%", low, high, labelOverlap=True)
    x["scale"]["range"] = [0, width]
    same = {"title": "%"}  # one layer tells the axis, the others share it
    states = [*_VERDICTS.values()]
    colours = [inks.series[1], inks.series[0], inks.ink, inks.muted]
    colour = word(
        "is",
        title=None,
        scale=scale(states, colours),
        legend={"columns": theme.columns(states, beside=room(names, theme.size))},
    )
    marks = [
        interval({"x": amount("l", **same), "stroke": word("is", title=None)}, width=1.5),
        mark(
            *("point", {"x": amount("h", **same)}),
            when="datum.none",
            shape="triangle-left",
            color=inks.muted,
            size=45,
            opacity=1,
        ),
        mark(
            "point",
            {
                "x": amount("v", **x),
                "stroke": colour,
                "fill": {**colour, "scale": scale(states, [*colours[:-1], inks.paper])},
                "shape": {**colour, "scale": scale(states, _SHAPES)},
            },
            when="datum.v > 0",
            size=46,
            strokeWidth=1.5,
            opacity=1,
        ),
        beside_panel("n", {}, width, theme),
    ]
    layers = []
    if floors:
        band = {"y": y, "x": amount("b0", **same), "x2": {"field": "b1"}}
        layers.append(mark("bar", band, color=inks.band, height={"band": 1}))
    if pooled:
        at = {"x": {"datum": float(f"{pooled:.5g}"), "type": "quantitative", **same}}
        layers.append(mark("rule", at, rows=[{}], color=inks.ink, strokeDash=[4, 3]))
    layers.append({"layer": marks, "encoding": {"y": y, "tooltip": tooltip}})
    return layered(
        layers,
        data=inline(rows),
        width=width + _COUNTS,
        height=_ROW * len(order),
        title=heading(RATES[metric]),
    )


def _width(theme: Theme, n: int, names: Sequence[str]) -> float:
    """Of a panel without the counts beside it."""
    return (theme.width - 24 - room(names, theme.size)) // n - _COUNTS


def _row(
    chosen: Chosen, row: Row | None, judged: Row | None, group: str, low: float, high: float
) -> Row:
    """What is drawn of a group."""
    made: Row = {"group": chosen.marked(group)}
    if made["group"].removesuffix("*") != group:
        made["g"] = shown(group)
    if row is None or row["value"] is None:
        why = "no trials" if row is None else row["reason"]
        return {**made, "n": "–", "told": f"– ({why})", "is": _VERDICTS["*"]}
    verdict = judged["verdict"] if judged else ""
    is_few = judged is not None and bool(judged["gates"])
    state = verdict if verdict in {"worse", "better"} else "*" if is_few else ""
    made |= {
        "v": float(row["value"]),
        "n": f"{row['errors']:,} / {row['trials']:,}",
        "told": f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}",
        "is": _VERDICTS[state],
    }
    if row["speakers"] is not None:
        made["s"] = row["speakers"]
    if row["value"] == 0 and row["high"] is not None:
        made["none"] = True
    if row["high"] is not None:
        ends = max(row["low"] or 0, low), max(row["high"], low)
        made |= {"l": float(min(ends[0], high)), "h": float(min(ends[1], high))}
    return made
