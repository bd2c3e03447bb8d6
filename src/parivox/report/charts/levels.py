"""Whether groups fare alike within each level of --within, as channel or language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain, room
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import RATES, Chosen, Row, cut, kept, left_out
from parivox.report.charts.grammar import (
    amount,
    beside,
    interval,
    mark,
    names_axis,
    panel,
    word,
)
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme

__all__ = ["levels"]

MOST = 30
"""Groups drawn at most."""
_ROW = 12
_ALL = "all groups"
_LEVELS = 6


@chart("groups", per="widest", asks=(*OF_ONE, "operating_point"))
def levels(chosen: Chosen, theme: Theme) -> Drawing:
    """FNR and FPR of every group within each level, side by side."""
    inks = theme.inks
    found = _found(chosen)
    drawn = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    groups = [*kept(chosen, MOST), "pooled"]
    names = [_ALL if group == "pooled" else chosen.marked(group) for group in groups]
    width = (theme.width - 20 - room(names, theme.size)) // len(found) - 12
    legend = {"columns": theme.columns(drawn, beside=room(names, theme.size))}
    colours, shapes = (
        word("c", title=None, scale=of(drawn), legend=legend)
        for of in (theme.colours, theme.shapes)
    )
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        values = [row[n] for row in rows for n in ("v", "l", "h") if n in row]
        low, high = log_domain(values, most=1)
        low = max(low, min(row["v"] for row in rows) / 10)
        for row in rows:
            if "l" in row:
                row["l"], row["h"] = max(row["l"], low), min(row["h"], high)
        x = as_logs("%", low, high, labelOverlap=True)
        axis = names_axis(inks.ink) if place == 0 else None
        y = {
            "y": word("group", title=None, axis=axis, scale={"domain": names}),
            "yOffset": word("c", scale={"domain": drawn}),
        }
        marks = [
            interval({**y, "x": amount("l", **x), "color": colours}, width=1.2),
            mark(
                "point",
                {**y, "x": amount("v", **x), "color": colours, "shape": shapes},
                size=34,
                filled=True,
                opacity=1,
            ),
        ]
        panels.append(
            panel(
                marks,
                rows,
                RATES[metric],
                width=width,
                height=_ROW * len(names) * max(len(drawn), 1.5),
            )
        )
    return Drawing(theme.of(beside(panels, 12), view={"stroke": None}), _words(chosen))


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = [
        f"{RATES[metric]} of all, {row['c']}: {row['s']}"
        for metric, rows in _found(chosen).items()
        for row in rows
        if row["group"] == _ALL
    ]
    return Words(
        f"Level by level: {cut(chosen.label)} at {cut(chosen.point)}, by {cut(chosen.grouping)}",
        "Each group has a mark for every level, with interval, at the same threshold; further "
        "right is worse. Groups that differ in the same way at every level do not differ because "
        "of it. Groups without errors at a level have no mark there." + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, list[Row]]:
    """Rates above 0 within each level, by metric."""
    found: dict[str, list[Row]] = {}
    groups = {*kept(chosen, MOST), "pooled"}
    asked = {name: value for name, value in chosen.at.items() if name != "within"}
    for metric in RATES:
        rows = chosen.audit.groups.where(**asked, metric=metric, definition="").rows()
        told = [row for row in rows if row["within"] and row["value"] and row["group"] in groups]
        first = [*dict.fromkeys(row["within"] for row in told)][:_LEVELS]
        for row in told:
            if row["within"] not in first:
                continue
            name = _ALL if row["group"] == "pooled" else chosen.marked(row["group"])
            made: Row = {"group": name, "c": cut(row["within"], 30), "v": row["value"]}
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit has no levels; audit again with --within, as in --within channel"
        raise ConfigError(msg)
    return found
