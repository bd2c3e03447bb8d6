"""Bias of one system, or list, against that of another."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import (
    RATES,
    Chosen,
    Pair,
    Row,
    cut,
    kept,
    named,
    paired,
    rows_of,
)
from parivox.report.charts.grammar import (
    Spec,
    amount,
    beside,
    mark,
    panel,
    word,
)
from parivox.report.charts.theme import room
from parivox.report.words import short, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.report.charts.theme import Theme

    Box = tuple[float, float, float, float]

MOST = 40
"""Groups drawn at most."""
_LABELS = 10.4
"""Times the size of type, room for the labels of two panels and between them."""
_LARGEST = 300
"""Pixels that a side of a panel has at most."""
_OF_A_GROUP = 8
"""Pixels of a side that a group takes at least: many are too much for a narrow chart."""
_DOT, _OFF = 4, 7
"""Pixels from the middle of a dot to its edge, and to its name."""


@chart("compared", per="pair", asks=OF_ALL)
def against(chosen: Chosen, theme: Theme, *, pair: Pair | None = None) -> Drawing:
    """Each group's ratio to the reference in one system against that in another.

    As Fig. 5 of docs/references.md#paper-001.
    """
    inks = theme.inks
    one, other = paired(chosen, pair)
    found = _ratios(chosen, (one, other))
    values = [row[axis] for rows in found.values() for row in rows for axis in "xy"]
    low, high = log_domain([*(value / 1.7 for value in values), *(1.7 * v for v in values)])
    low, high = max(low, 0.05), min(high, 20)
    for rows in found.values():
        for row in rows:
            for name in ("x", "y", "xl", "xh", "yl", "yh"):
                if name in row:
                    row[name] = min(max(row[name], low), high)
    side = min((theme.width - _LABELS * theme.size) // 2, _LARGEST)
    if theme.is_narrow:
        side = max(side, *(_OF_A_GROUP * len(rows) for rows in found.values()))
    words = f"times {_reference(chosen)}"
    x, y = (
        as_logs(f"{cut(named(*of), 20)}: {words}", low, high, percent=False, labelOverlap=True)
        for of in (one, other)
    )
    same = {axis: {"title": of["title"]} for axis, of in zip("xy", (x, y), strict=True)}
    inner = low * 1.0001, high / 1.0001
    panels = []
    for metric, rows in found.items():
        _name(rows, (low, high), side, theme.size - 1.5)
        cross: Spec = {"color": inks.muted, "strokeWidth": 1}
        faint = {"condition": {"test": "datum.few", "value": 0.35}, "value": 0.9}
        hollow = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
        here = {"x": amount("x", **x), "y": amount("y", **y)}
        thin: Spec = {"rows": [{"c": 1}], "color": inks.muted, "strokeWidth": 0.8}
        diagonal = {
            "x": amount("a", **same["x"]),
            "x2": {"field": "b"},
            "y": amount("a", **same["y"]),
            "y2": {"field": "b"},
        }
        wide = {
            **here,
            "x": amount("xl", **same["x"]),
            "x2": {"field": "xh"},
            "strokeOpacity": faint,
        }
        high_ = {
            **here,
            "y": amount("yl", **same["y"]),
            "y2": {"field": "yh"},
            "strokeOpacity": faint,
        }
        tooltip = [word("group"), word("s", title="ratios")]
        marks = [
            mark(
                "rule",
                diagonal,
                rows=[{"a": inner[0], "b": inner[1]}],
                color=inks.ink,
                strokeDash=[4, 3],
            ),
            mark("rule", {"x": amount("c", **same["x"])}, **thin),
            mark("rule", {"y": amount("c", **same["y"])}, **thin),
            mark("rule", wide, when="isValid(datum.xh)", **cross),
            mark("rule", high_, when="isValid(datum.yh)", **cross),
            mark(
                "point",
                {**here, "fill": hollow, "tooltip": tooltip},
                size=42,
                opacity=1,
                stroke=inks.series[0],
                strokeWidth=1.5,
            ),
            mark(
                "text",
                {**here, "text": {"field": "group"}},
                when="datum.near",
                align={"expr": "datum.near"},
                dx={"expr": f"datum.near == 'left' ? {_OFF} : -{_OFF}"},
                dy=-_OFF,
                fontSize=theme.size - 1.5,
            ),
        ]
        panels.append(
            panel(
                marks,
                sorted(rows, key=lambda row: not row["few"]),
                RATES[metric],
                width=side,
                height=side,
            )
        )
    return Drawing(theme.of(beside(panels, 16)), _words_against(chosen, pair))


def _words_against(chosen: Chosen, pair: Pair | None = None) -> Words:
    """Words for the figure of ratios."""
    one, other = paired(chosen, pair)
    parts = []
    for metric, rows in _ratios(chosen, (one, other)).items():
        far = sorted(rows, key=lambda row: -abs(math.log(row["x"] / row["y"])))[:2]
        parts.append(
            f"{RATES[metric]}, furthest apart: "
            + "; ".join(f"{row['group']} {row['s']}" for row in far)
        )
    a, b = cut(named(*one)), cut(named(*other))
    return Words(
        f"Bias of {a} against {b}: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"A dot is a group: how many times the rate of {_reference(chosen)} it has in {a} (to the "
        f"right) and in {b} (upwards), with both intervals. On the dashed diagonal both systems "
        "treat it alike; upper right: worse off in both; upper left or lower right: only one of "
        "them disfavours it. Hollow dots, marked *, rest on too few people or errors."
        + (
            f" Of {len(chosen.groups)} groups, the {MOST} with the most speakers are drawn."
            if len(chosen.groups) > MOST
            else ""
        ),
        ". ".join(parts) + ".",
    )


def _reference(chosen: Chosen) -> str:
    first = chosen.audit.record["options"]["reference"][0]
    return {"others": "everyone else", "pooled": "all"}.get(first, cut(first))


def _ratios(chosen: Chosen, pair: Pair) -> dict[str, list[Row]]:
    """Groups with a ratio in both, by metric."""
    audit = chosen.audit
    reference = audit.record["options"]["reference"][0]
    found: dict[str, list[Row]] = {}
    for metric in RATES:
        by = [
            {
                row["group"]: row
                for row in rows_of(
                    audit,
                    "bias",
                    **{**chosen.at, "system": system, "list": listed},
                    measure="ratio",
                    zero="none",
                )
                if row["metric"] == metric
                and row["reference"] == reference
                and row["value"] is not None
                and 0 < row["value"] < math.inf
            }
            for system, listed in pair
        ]
        few = set[str]().union(
            *(replace(chosen, system=s, list=listed).few(metric) for s, listed in pair)
        )
        rows: list[Row] = []
        for name in kept(chosen, MOST):
            if name not in by[0] or name not in by[1]:
                continue
            row: Row = {"group": chosen.marked(name), "few": name in few}
            for axis, of in zip("xy", by, strict=True):
                row |= {axis: of[name]["value"]} | _limits(axis, of[name])
            row["s"] = " and ".join(
                f"{short(of[name]['value'])} {span(of[name]['low'], of[name]['high'])}" for of in by
            )
            rows.append(row)
        if rows:
            found[metric] = rows
    if not found:
        msg = f"no group of {chosen.grouping} has a ratio in both at {chosen.point}"
        raise ConfigError(msg)
    return found


def _name(rows: Sequence[Row], ends: tuple[float, float], side: float, size: float) -> None:
    """Name the groups furthest off, left or right of their dots, where no name or dot is met."""
    least, most = map(math.log, ends)
    scale = side / (most - least)
    dots = [[scale * (math.log(row[axis]) - least) for axis in "xy"] for row in rows]
    taken = [(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in dots]
    order = sorted(range(len(rows)), key=lambda i: -max(abs(math.log(rows[i][a])) for a in "xy"))
    for i in (i for i in order if not rows[i]["few"]):
        (x, y), long = dots[i], room([rows[i]["group"]], size)
        for align, start in (("left", x + _OFF), ("right", x - _OFF - long)):
            box = (start, start + long, y + _OFF - size / 2, y + _OFF + size / 2)
            others = taken[:i] + taken[i + 1 :]
            if start >= 0 and box[1] <= side and not any(_meet(box, one) for one in others):
                taken.append(box)
                rows[i]["near"] = align
                break


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _limits(axis: str, row: Mapping[str, Any]) -> Row:
    if row["low"] is None or row["high"] is None:
        return {}
    return {f"{axis}l": max(row["low"], 1e-6), f"{axis}h": min(row["high"], 1e6)}
