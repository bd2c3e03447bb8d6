"""How often systems err against how much their groups differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import (
    RATES,
    Chosen,
    Row,
    cut,
    named,
    rows_of,
    subjects,
)
from parivox.report.charts.grammar import (
    amount,
    beside,
    heading,
    inline,
    layered,
    mark,
    word,
)
from parivox.report.words import percent, short, span

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme

__all__ = ["accuracy"]

_LABELS = 110
"""Room for the labels of two panels and between them."""


@chart("compared", per="several", asks=OF_ALL)
def accuracy(chosen: Chosen, theme: Theme) -> Drawing:
    """Rate of all against the spread between groups, of every system and list."""
    inks = theme.inks
    found = _spreads(chosen)
    names = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    side = (theme.width - _LABELS) // 2
    drawn = [row for rows in found.values() for row in rows]
    most = max(float(row["yh"] if "yh" in row else row["y"]) for row in drawn)
    y = {
        "scale": {"domain": [0, round(most * 1.08, 4) or 1], "nice": False},
        "title": "spread (tau_log)",
    }
    legend = {"columns": theme.columns(names, beside=_LABELS / 2)}
    colour, shape = (
        word("c", title=None, scale=of(names), legend=legend)
        for of in (theme.colours, theme.shapes)
    )
    panels = []
    for metric, rows in found.items():
        values = [row[n] for row in rows for n in ("x", "xl", "xh") if n in row]
        low, high = log_domain(values, most=1)
        x = as_logs(f"{metric.upper()} of all (%)", low, high, labelOverlap=True)
        here = {"x": amount("x", **x), "y": amount("y", **y)}
        wide = {**here, "x": amount("xl", **x), "x2": {"field": "xh"}, "color": colour}
        high_ = {**here, "y": amount("yl", **y), "y2": {"field": "yh"}, "color": colour}
        floor = {**here, "y": amount("f", **y)}
        marks = [
            mark("rule", wide, when="isValid(datum.xh)", strokeWidth=1.2),
            mark("rule", high_, when="isValid(datum.yh)", strokeWidth=1.2),
            mark(
                "tick",
                floor,
                when="isValid(datum.f)",
                thickness=2,
                width=16,
                orient="horizontal",
                color=inks.muted,
            ),
            mark(
                "point",
                {**here, "color": colour, "shape": shape},
                size=70,
                filled=True,
                opacity=1,
            ),
        ]
        panels.append(
            layered(marks, data=inline(rows), width=side, height=170, title=heading(RATES[metric]))
        )
    return Drawing(theme.of(beside(panels, 16)), _words_accuracy(chosen))


def _words_accuracy(chosen: Chosen) -> Words:
    """Words for the figure of accuracy and spread."""
    parts = [
        f"{row['c']}: {metric.upper()} of all {percent(row['x'])}, spread {short(row['y'])} "
        f"{span(row.get('yl'), row.get('yh'))}, of {row['n']} groups"
        for metric, rows in _spreads(chosen).items()
        for row in rows
    ]
    return Words(
        f"Accurate and even? {cut(chosen.grouping)} at {cut(chosen.point)}",
        "To the left a system errs less, further down its groups differ less: the lower left is "
        "best on both. Bars are intervals; the grey tick is what 95 of 100 fair systems stay "
        "below. The spread is that of the logarithm of rates beyond what speakers make of it "
        "(0.69 is as if groups differed twofold), of the groups that pass the gates. A rate that "
        "the operating point holds is the same in all systems.",
        "; ".join(parts) + ".",
    )


def _spreads(chosen: Chosen) -> dict[str, list[Row]]:
    """Pooled rate and spread of every system, by metric."""
    audit = chosen.audit
    found: dict[str, list[Row]] = {}
    for metric in RATES:
        for system, listed in subjects(audit):
            at = {**chosen.at, "system": system, "list": listed, "metric": metric, "definition": ""}
            spread = rows_of(audit, "meta", **at, measure="tau_log", gated=True)
            whole = rows_of(audit, "groups", **at, group="pooled")
            if not spread or not whole or spread[0]["value"] is None or not whole[0]["value"]:
                continue
            row: Row = {"c": cut(named(system, listed), 24), "x": whole[0]["value"]}
            row |= {"y": spread[0]["value"], "n": spread[0]["groups"]}
            for axis, of in (("x", whole[0]), ("y", spread[0])):
                if of["low"] is not None and of["high"] is not None:
                    row |= {f"{axis}l": of["low"], f"{axis}h": of["high"]}
            if spread[0]["floor_95"] is not None:
                row["f"] = spread[0]["floor_95"]
            found.setdefault(metric, []).append(row)
    if not found:
        msg = f"no system has a spread between groups of {chosen.grouping} at {chosen.point}"
        raise ConfigError(msg)
    return found
