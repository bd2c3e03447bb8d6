"""Two systems or lists compared group by group, on what both share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain, room
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import (
    RATES,
    Chosen,
    Pair,
    Row,
    better,
    between,
    cut,
    kept,
    named,
    paired,
    rows_of,
)
from parivox.report.charts.grammar import (
    amount,
    beside,
    interval,
    mark,
    names_down,
    panel,
    scale,
    word,
)

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme

__all__ = ["differences"]

MOST = 40
"""Groups drawn at most."""
_ROW = 17


@chart("compared", per="pair", asks=OF_ALL)
def differences(chosen: Chosen, theme: Theme, *, pair: Pair | None = None) -> Drawing:
    """Paired comparison of two systems group by group: one's rate over the other's."""
    inks = theme.inks
    one, other = paired(chosen, pair)
    found = _differences(chosen, one, other)
    names = [*dict.fromkeys(row["group"] for rows in found.values() for row in rows)]
    values = [
        row[n] for rows in found.values() for row in rows for n in ("v", "l", "h") if n in row
    ]
    low, high = log_domain([*values, 1.0])
    low, high = max(low, 0.02), min(high, 50)
    width = (theme.width - 20 - room(names, theme.size)) // len(found) - 12
    states = [better(one), "no sure difference", better(other)]
    columns = theme.columns(states, beside=room(names, theme.size))
    colour, shape = (
        word("is", title=None, scale=scale(states, drawn_as), legend={"columns": columns})
        for drawn_as in (
            (inks.series[0], inks.muted, inks.series[1]),
            ("triangle-left", "circle", "triangle-right"),
        )
    )
    x = as_logs("times", low, high, percent=False, labelOverlap=True)
    same = {"title": x["title"]}
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        for row in rows:
            row |= {n: min(max(row[n], low), high) for n in ("v", "l", "h") if n in row}
        y = names_down(names, inks.ink if place == 0 else "")
        even = {"x": {"datum": 1, "type": "quantitative", **same}}
        marks = [
            mark("rule", even, rows=[{}], color=inks.ink, strokeDash=[4, 3]),
            interval({"y": y, "x": amount("l", **same), "color": colour}, width=1.3),
            mark(
                "point",
                {"y": y, "x": amount("v", **x), "color": colour, "shape": shape},
                when="isValid(datum.h)",
                size=46,
                filled=True,
                opacity=1,
            ),
            mark(
                "point",
                {"y": y, "x": amount("v", **same)},
                when="!isValid(datum.h)",
                size=30,
                filled=False,
                fill=inks.paper,
                color=inks.muted,
                opacity=1,
            ),
        ]
        panels.append(panel(marks, rows, RATES[metric], width=width, height=_ROW * len(names)))
    return Drawing(
        theme.of(beside(panels, 12), view={"stroke": None}), _words_differences(chosen, pair)
    )


def _words_differences(chosen: Chosen, pair: Pair | None = None) -> Words:
    """Words for the figure of paired differences."""
    one, other = paired(chosen, pair)
    a, b = cut(named(*one)), cut(named(*other))
    parts = []
    for metric, rows in _differences(chosen, one, other).items():
        counts = [
            f"{sum(row['is'] == better(of) for row in rows)} groups err less in {cut(named(*of))}"
            for of in (one, other)
        ]
        parts.append(f"{RATES[metric]}: {', '.join(counts)}, of {len(rows)}")
    return Words(
        f"{a} over {b}, group by group: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"How many times the rate in {b} a group's rate in {a} is, compared on what both share, "
        f"with interval. Left of the dashed line the group fares better in {a}, right of it in "
        f"{b}; triangles are sure by themselves, without correction for the number of groups; "
        "a hollow dot has no interval, so nothing follows from it.",
        "; ".join(parts) + ".",
    )


def _differences(
    chosen: Chosen, one: tuple[str, str], other: tuple[str, str]
) -> dict[str, list[Row]]:
    """Log ratios of two systems by group, by metric."""
    found: dict[str, list[Row]] = {}
    asked = between(one, other) | {"grouping": chosen.grouping, "allocation": chosen.allocation}
    asked |= {"operating_point": chosen.point, "measure": "value", "definition": "", "within": ""}
    names = kept(chosen, MOST)
    for metric in RATES:
        rows = rows_of(chosen.audit, "comparison", **asked, metric=metric)
        by = {row["group"]: row for row in rows if row["log_ratio"] is not None}
        for name in [name for name in names if name in by]:
            row = by[name]
            drawn: Row = {"group": chosen.marked(name), "v": math.exp(row["log_ratio"])}
            state = "no sure difference"
            if row["log_low"] is not None and row["log_high"] is not None:
                limits = (math.exp(max(min(row[n], 14), -14)) for n in ("log_low", "log_high"))
                drawn["l"], drawn["h"] = limits
                if drawn["h"] < 1 or drawn["l"] > 1:
                    state = better(one if drawn["h"] < 1 else other)
            found.setdefault(metric, []).append({**drawn, "is": state})
    if not found:
        msg = f"the audit compares no group of {chosen.grouping}; audit again with --compare"
        raise ConfigError(msg)
    return found
