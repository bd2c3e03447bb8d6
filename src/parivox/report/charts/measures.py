"""Measures of spread side by side, each against what fair systems would show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from parivox.core.measures import MEASURES
from parivox.errors import ConfigError
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, named, rows_of, subjects
from parivox.report.charts.grammar import (
    amount,
    beside_panel,
    heading,
    inline,
    layered,
    mark,
    names_axis,
    scale,
    word,
)
from parivox.report.words import chance, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.report.charts.theme import Theme

LABELS = {
    name: MEASURES[name].short
    for name in (
        *("fdr", "ir", "garbe", "eo_diff", "eo_ratio"),
        *("tau_log", "gini", "max_min", "nrb", "cv", "sd"),
    )
}
"""Measures that are drawn, with their names."""
_METRICS = {"fpr+fnr": "both", "fnr": "FNR", "fpr": "FPR"}
_ROW = 17
_MOST_TIMES = 4.0


@chart("measures", per="grouping", asks=OF_ALL)
def measures(chosen: Chosen, theme: Theme) -> Drawing:
    """Meta-measures of every system, in units of their noise floors."""
    inks = theme.inks
    found = _found(chosen)
    order = [*dict.fromkeys(name for rows in found.values() for name in rows)]
    most = max((row["x"] for rows in found.values() for row in rows.values()), default=1)
    high = min(max(most * 1.08, 1.5), _MOST_TIMES)
    n = 1 if theme.is_narrow else len(found)
    width = (theme.width - 120) // n - 10
    room = 84 if n < 3 else 46
    scale_of_x = {"domain": [0, round(high, 4)], "nice": False, "range": [0, width - room]}
    shape, colour = (
        word("is", title=None, scale=scale(_STATES, drawn_as))
        for drawn_as in (("triangle-right", "circle"), (inks.series[1], inks.ink))
    )
    x = amount("x", title="times the floor", scale=scale_of_x, axis={"tickCount": 4})
    same = {"title": x["title"]}  # one layer tells the axis, the others share it
    tooltip = [
        word("name", title="measure"),
        word("v", title="value"),
        word("f", title="floor (mean, 95 %)"),
        word("p", title="p"),
        word("d", title="fairer"),
    ]
    panels = []
    for place, (label, rows) in enumerate(found.items()):
        cells = [{**row, "x": min(row["x"], high), "name": name} for name, row in rows.items()]
        for cell in cells:
            cell["told"] = cell["v"] if n > 2 else f"{cell['v']}, p {cell['p']}"
        axis = names_axis(inks.ink) if place == 0 or theme.is_narrow else None
        y = word("name", title=None, axis=axis, scale={"domain": order})
        ends = {"x": amount("a", **same), "x2": {"field": "b"}}
        marks = [
            mark(
                "tick",
                {"y": y, "x": amount("m", **same)},
                color=inks.muted,
                thickness=2,
                height=_ROW * 0.6,
            ),
            mark(
                "rule",
                {"y": y, "x": amount("m", **same), "x2": {"field": "x"}},
                strokeWidth=1,
                color=inks.muted,
            ),
            mark(
                "point",
                {"y": y, "x": x, "tooltip": tooltip, "shape": shape, "color": colour},
                filled=True,
                size=46,
                opacity=1,
            ),
            beside_panel("told", {"y": y}, width - room, theme),
        ]
        panels.append(
            layered(
                [mark("rect", ends, rows=[{"a": 0, "b": min(1, high)}], color=inks.band), *marks],
                data=inline(cells),
                width=width,
                height=_ROW * len(order),
                title=heading(label),
            )
        )
    return Drawing(theme.of(theme.arranged(panels, 10), view={"stroke": None}), _words(chosen))


_STATES = ("above the floor", "not above it")


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = []
    groups: list[int] = []
    is_lacking = False
    for label, rows in _found(chosen).items():
        above = [name for name, row in rows.items() if row["is"] == _STATES[0]]
        parts.append(f"{label}: above the floor {', '.join(above) or 'none'} (of {len(rows)})")
        groups += [row["n"] for row in rows.values()]
        is_lacking |= any(row["p"] == "–" for row in rows.values())
    few = f"{min(groups)} to {max(groups)}" if min(groups) < max(groups) else str(groups[0])
    return Words(
        f"How unequal, by every measure: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "Each measure's distance from fair, in units of its noise floor: the grey area is what 95 "
        "of 100 fair systems stay within on these very speakers, the tick what they show on "
        "average. Only what lies to the right of the grey says that groups differ; beside it stand "
        "the value and its p"
        + (" (a dash: none; the tables of measures say why)" if is_lacking else "")
        + ". FDR, EO ratio: higher is fairer; all others: lower is fairer. "
        + (
            f"Of all {few} groups."
            if min(groups) == len(chosen.groups)
            else f"Of the {few} groups that pass the gates."
        ),
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, dict[str, Row]]:
    """By system and list, every measure that has a value and a floor."""
    found: dict[str, dict[str, Row]] = {}
    alpha = chosen.audit.record["options"]["alpha"][0]
    for system, listed in subjects(chosen.audit):
        asked = {**chosen.at, "system": system, "list": listed, "zero": "none", "gated": True}
        rows = rows_of(chosen.audit, "meta", **asked)
        kept = {
            f"{LABELS[measure]}, {words}": drawn
            for metric, words in _METRICS.items()
            for measure in LABELS
            for row in rows
            if row["metric"] == metric
            and row["measure"] == measure
            and row["alpha"] in {None, alpha}
            and (drawn := _row(row))
        }
        if kept:
            found[cut(named(system, listed), 24)] = kept
    if not found:
        msg = (
            f"no measure of {chosen.grouping} has a noise floor at {chosen.point}: it takes "
            "intervals and two groups that pass the gates"
        )
        raise ConfigError(msg)
    return found


def _row(row: Mapping[str, Any]) -> Row:
    """A measure in units of its floor; empty without either."""
    numbers = [row[name] for name in ("value", "floor_95", "floor_mean")]
    if any(number is None or not math.isfinite(number) for number in numbers):
        return {}
    value, floor, mean = (_from_fair(row["measure"], number) for number in numbers)
    if not floor or not math.isfinite(value):
        return {}
    return {
        "x": round(value / floor, 4),
        "m": round(mean / floor, 4),
        "is": _STATES[value <= floor],
        "v": _short(row["value"]),
        "f": f"{_short(row['floor_mean'])}, {_short(row['floor_95'])}",
        "p": chance(row["p"]),
        "d": "higher" if row["higher_is_fairer"] else "lower",
        "n": row["groups"],
    }


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else short(value)


def _from_fair(measure: str, value: float) -> float:
    """How far a value is from that of a fair system."""
    scale = MEASURES[measure].scale if measure in MEASURES else "zero"
    if scale == "ratio":
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(1 - value) if scale == "one" else abs(value)
