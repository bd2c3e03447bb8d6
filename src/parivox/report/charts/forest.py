"""Error rates of every group with their intervals, beside what chance alone would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chosen import RATES, Chosen, Row, choose, cut, kept, left_out
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.result import Audit

__all__ = ["MOST", "forest", "told"]

MOST = 60
"""Groups drawn at most."""
_ROW = 18
_VERDICTS = {
    "worse": "worse",
    "better": "better",
    "": "no sure difference",
    "*": "* too few to say",
}
_SHAPES = ("triangle-right", "triangle-left", "circle", "circle")


def forest(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    operating_point: str | None = None,
    sort: str = "value",
    theme: Theme = PAPER,
) -> Any:
    """FNR and FPR of every group with intervals, the pooled rate and the noise floor.

    Parameters
    ----------
    audit
        What to draw.
    by, system, list, allocation, operating_point
        Of it; the first that it has where not told.
    sort : {"value", "name"}
        Order of groups: by FNR (else FPR), the highest first, or as the audit has them.
    theme
        How it looks.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no rates there.
    """
    chosen = choose(
        audit,
        by=by,
        system=system,
        list=list,
        allocation=allocation,
        operating_point=operating_point,
    )
    alt = altair()
    found = _rates(chosen)
    order = _order(chosen, found, sort)
    panels = [
        _panel(chosen, metric, rates, order, theme, is_first=place == 0, n=len(found))
        for place, (metric, rates) in enumerate(found.items())
    ]
    return theme.of(alt.hconcat(*panels, spacing=8), view={"stroke": None})


def told(chosen: Chosen) -> Told:
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
    return Told(
        f"Who is locked out, who is exposed: {cut(chosen.label)} at {point}, "
        f"by {cut(chosen.grouping)}",
        "A dot is a group's rate, its line the interval, on a logarithmic axis; further right is "
        "worse. The dashed line is the rate of all. Within the grey band a group of a fair "
        "system would lie 95 times in 100. Triangles point where a group surely differs; hollow "
        "dots, marked *, rest on too few people or errors. An arrow from the left says that there "
        "was no error: the rate is at most so much. Groups with the highest FNR come first."
        + left_out(chosen, MOST),
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
    asked = {**chosen.at, "metric": metric, "definition": "", "measure": "ratio", "zero": "none"}
    for reference in dict.fromkeys(("pooled", *chosen.audit.record["options"]["reference"])):
        rows = chosen.audit.bias.where(**asked, reference=reference).rows()
        floors = {row["group"]: row["floor_95"] for row in rows if row["floor_95"] is not None}
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
) -> Any:
    alt = altair()
    inks = theme.inks
    judged = {
        row["group"]: row
        for row in chosen.audit.verdicts.where(**chosen.at, metric=metric).rows()
        if row["group"]
    }
    pooled = (rates.get("pooled") or {}).get("value")
    floors = _floors(chosen, metric) if pooled else {}
    everyone = [rates[name] for name in order if name in rates]
    spans = [row[c] for row in everyone for c in ("value", "low", "high")]
    lowest = max((pooled or 0) / 300, 0)
    low, high = log_domain([v for v in [*spans, pooled] if v is None or v >= lowest], most=1)
    rows = [_row(chosen, rates.get(g), judged.get(g), g, low, high) for g in order]
    for row, name in zip(rows, order, strict=True):
        if name in floors and pooled:
            row["b0"] = max(pooled / floors[name], low)
            row["b1"] = min(pooled * floors[name], high)
    names = [chosen.marked(name) for name in order]
    base = alt.Chart(inline(rows))
    y = alt.Y(
        "group:N",
        sort=names,
        title=None,
        axis=alt.Axis(labelLimit=140, labelColor=inks.ink, ticks=False, domain=False)
        if is_first
        else None,
    )
    tooltip = [
        alt.Tooltip("group:N"),
        alt.Tooltip("told:N", title=metric.upper()),
        alt.Tooltip("n:N", title="errors / trials"),
        alt.Tooltip("s:Q", title="speakers", format=","),
        alt.Tooltip("is:N", title="verdict"),
    ]
    x = as_logs("%", low, high, labelOverlap=True)
    same = {"title": None}  # one layer tells the axis, the others share it
    states = [*_VERDICTS.values()]
    colours = [inks.series[1], inks.series[0], inks.ink, inks.muted]
    scales = {
        "color": alt.Color(
            "is:N",
            title=None,
            scale=alt.Scale(domain=states, range=colours),
            legend=alt.Legend(columns=4) if is_first else None,
        ),
        "shape": alt.Shape(
            "is:N",
            title=None,
            scale=alt.Scale(domain=states, range=[*_SHAPES]),
            legend=alt.Legend(columns=4) if is_first else None,
        ),
    }
    layers = []
    if any("b0" in row for row in rows):
        layers.append(
            base.mark_bar(color=inks.band, height={"band": 1}).encode(
                y=y, x=alt.X("b0:Q", **same), x2="b1:Q"
            )
        )
    if pooled:
        layers.append(
            alt.Chart(inline([{"p": pooled}]))
            .mark_rule(color=inks.ink, strokeDash=[4, 3])
            .encode(x=alt.X("p:Q", **same))
        )
    layers += [
        base.transform_filter("datum.h != null")
        .mark_rule(strokeWidth=1.5)
        .encode(y=y, x=alt.X("l:Q", **same), x2="h:Q", color=scales["color"]),
        base.transform_filter("datum.none")
        .mark_point(shape="triangle-left", color=inks.muted, size=45, opacity=1)
        .encode(y=y, x=alt.X("h:Q", **same), tooltip=tooltip),
        base.transform_filter("datum.v > 0 && !datum.few")
        .mark_point(size=48, filled=True, opacity=1)
        .encode(y=y, x=alt.X("v:Q", **x), tooltip=tooltip, **scales),
        base.transform_filter("datum.v > 0 && datum.few")
        .mark_point(size=40, filled=False, fill=inks.paper, strokeWidth=1.5, opacity=1)
        .encode(y=y, x=alt.X("v:Q", **same), tooltip=tooltip, **scales),
        base.mark_text(align="left", color=inks.muted, fontSize=theme.size - 1.5).encode(
            y=y, x=alt.value(_width(theme, n) + 6), text="n:N"
        ),
    ]
    return alt.layer(*layers).properties(
        width=_width(theme, n),
        height=_ROW * len(order),
        title=alt.Title(RATES[metric], anchor="start", frame="group"),
    )


def _width(theme: Theme, n: int) -> float:
    """Of a panel without the counts beside it."""
    return (theme.width - 150 - 92 * n) / n


def _row(
    chosen: Chosen, row: Row | None, judged: Row | None, group: str, low: float, high: float
) -> Row:
    """What is drawn of a group."""
    is_few = group in chosen.gates
    made: Row = {"group": chosen.marked(group), "few": is_few}
    if row is None or row["value"] is None:
        why = "no trials" if row is None else row["reason"]
        return {**made, "n": "–", "told": f"– ({why})", "is": _VERDICTS["*"]}
    verdict = judged["verdict"] if judged else ""
    state = "*" if is_few else verdict if verdict in {"worse", "better"} else ""
    made |= {
        "v": row["value"],
        "n": f"{row['errors']:,} / {row['trials']:,}",
        "s": row["speakers"],
        "told": f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}",
        "is": _VERDICTS[state],
        "none": row["value"] == 0 and row["high"] is not None,
    }
    if row["high"] is not None:
        made |= {"l": min(max(row["low"] or 0, low), high), "h": min(max(row["high"], low), high)}
    return made
