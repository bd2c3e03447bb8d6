"""Whose recordings fail before anything is compared: failures to enrol and to acquire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import room
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, kept, left_out
from parivox.report.charts.grammar import (
    amount,
    beside_panel,
    interval,
    mark,
    names_down,
    panel,
)
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme

__all__ = ["failures"]

MOST = 60
"""Groups drawn at most."""
_INSET = 7
"""So that a dot at 0 does not cover the names."""
_WORDS = 100
"""Room for the counts beside a panel."""
_ROW = 17
_KINDS = {"fte": "cannot enrol (FTE)", "fta": "cannot be recorded (FTA)"}


@chart("groups", per="widest", asks=OF_ONE)
def failures(chosen: Chosen, theme: Theme) -> Drawing:
    """FTE and FTA of every group with intervals."""
    inks = theme.inks
    found = _found(chosen)
    names = [chosen.marked(group) for group in kept(chosen, MOST)]
    beside = 1 if theme.is_narrow else len(found)
    width = (theme.width - 20 - room(names, theme.size)) // beside - _WORDS
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        most = max(float(row["h"] if "h" in row else row["v"]) for row in rows) or 0.01
        x = {
            "title": "%",
            "scale": {"domain": [0, most * 1.05], "nice": False, "range": [_INSET, width]},
            "axis": {"tickCount": 4, "labelExpr": "format(100 * datum.value, '~r')"},
        }
        y = names_down(names, inks.ink if place == 0 or theme.is_narrow else "")
        marks = [
            interval({"y": y, "x": amount("l", **x)}, width=1.3, color=inks.ink),
            mark(
                "point",
                {"y": y, "x": amount("v", **x)},
                size=44,
                filled=True,
                opacity=1,
                color=inks.series[0],
            ),
            beside_panel("n", {"y": y}, width, theme),
        ]
        panels.append(
            panel(marks, rows, _KINDS[metric], width=width + _WORDS, height=_ROW * len(names))
        )
    return Drawing(theme.of(theme.arranged(panels, 12), view={"stroke": None}), _words(chosen))


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = []
    for metric, rows in _found(chosen).items():
        worst = max(rows, key=lambda row: row["v"])
        parts.append(f"{_KINDS[metric]}, highest: {cut(worst['group'])} {worst['s']}")
    return Words(
        f"Whose recordings fail: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "A dot is the share of a group's recordings that could not be used at all, its line the "
        "interval; beside it failures and attempts. Further right is worse."
        + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for metric in _KINDS:
        by = chosen.metric(metric)
        for name in kept(chosen, MOST):
            row = by.get(name)
            if row is None or row["value"] is None:
                continue
            made: Row = {"group": chosen.marked(name), "v": row["value"]}
            made["n"] = f"{row['errors'] or 0:,} / {row['trials'] or 0:,}"
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit knows of no failures; audit again with --failures"
        raise ConfigError(msg)
    return found
