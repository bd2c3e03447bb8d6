"""Who is taken for whom: false accepts of every pair of groups."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from math import floor, log10
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import Chosen, Drawing, Row, chart, cut, kept, left_out, rows_of
from parivox.report.charts.theme import room
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.report.charts.theme import Theme

    Cells = Mapping[tuple[str, str], Row]

MOST = 50
"""Groups drawn at most."""
_APART = 40
"""Up to so many groups each cell is a mark of its own, which the pointer finds."""
_WITH_FIGURES = 9
_LONGEST = "0.000 %"
"""A figure that takes the most room."""
_CELL = 42
"""Pixels of a side of a cell that has none."""
_CLASSES = 6
_ACROSS = 6
"""Names that stand side by side above the cells; more are turned."""
_TITLE = 30
"""Room for the title of an axis and what is around a chart."""
_NO_ERROR = "none"


@chart("pairs", per="widest")
def matrix(chosen: Chosen, theme: Theme) -> Drawing:
    """Heat map of the FPR of every pair of groups, in classes of a logarithmic scale."""
    inks = theme.inks
    cells = _cells(chosen)
    names = kept(chosen, MOST)
    n = len(names)
    edges = _edges([row["value"] for row in cells.values() if row["value"]])
    labels = [_NO_ERROR, *(f"{100 * low:.2g}–{100 * high:.2g}" for low, high in pairwise(edges))]
    written = [chosen.marked(group) for group in names]
    beside = _TITLE + room(written, theme.size)
    least = room([_LONGEST], theme.size) if n <= _WITH_FIGURES else _CELL
    side = min(theme.width - beside, max(least * n, 160))
    every = {
        "values": [i + 0.5 for i in range(n)],
        "tickCount": n,  # else Vega leaves some out
        "labelExpr": f"({json.dumps(written, ensure_ascii=False)})[floor(datum.value)]",
        "ticks": False,
        "domain": False,
        "grid": False,
        "labelOverlap": n > _APART,
    }
    ends = {"domain": [0, n], "nice": False}
    above = {"orient": "top", "labelAngle": -90 if n > _ACROSS else 0, **every}
    x = vl.amount("x", title="enrolment speaker", scale=ends, axis=above)
    y = vl.amount("y", title="test speaker", scale={**ends, "reverse": True}, axis=every)
    box = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    has_figures = n <= _WITH_FIGURES and side / n >= room([_LONGEST], theme.size - 1)
    rows = [*_marks(names, cells, edges, labels, has_figures=has_figures)]
    rows.sort(key=lambda row: labels.index(row["c"]))  # one class after the other is smaller
    colour = {
        "field": "c",
        "type": "ordinal",
        "title": "false accepts (%)",
        "scale": vl.scale(labels, inks.heat[: len(labels)]),
        "legend": {
            "orient": "bottom",
            "titleOrient": "top",
            "symbolType": "square",
            "columns": theme.columns(labels, beside=beside),
        },
    }
    cell: vl.Spec = {**box, "color": colour}
    if n <= _APART:
        fields = {"e": "enrolled", "t": "test", "r": "false accepts"}
        cell |= vl.told(fields)
    hatched = [*_hatched(names, cells)]
    thin: vl.Spec = {"color": inks.muted, "strokeWidth": 0.7, "opacity": 0.75}
    layers = [
        vl.mark("rule", box, rows=hatched, **thin),
        vl.mark("rect", cell, stroke=inks.paper, strokeWidth=0.5 if n <= _APART else 0),
    ]
    if has_figures:
        middle = {"x": vl.amount("mx", title=x["title"]), "y": vl.amount("my", title=y["title"])}
        size = theme.size - 1
        for when, ink in (("datum.k < 4", inks.ink), ("datum.k >= 4", inks.paper)):
            layers.append(vl.words("s", middle, size=size, when=when, color=ink))
        for row in rows:
            row |= {"mx": row["x"] + 0.5, "my": row["y"] + 0.5}
    return Drawing(
        theme.of(vl.layered(layers, data=vl.inline(rows), width=side, height=side)),
        f"Who is taken for whom: {cut(chosen.label)} at {cut(chosen.point)}, "
        f"by {cut(chosen.grouping)}",
        "A cell is a pair of groups: the darker (on a dark ground the brighter), the more often "
        "someone of the row's group is taken for someone of the column's. Steps are even in "
        "ratio. Hatched: the list has no such trials, so nothing is known."
        + left_out(chosen, MOST),
        _in_words(cells, len(chosen.groups)),
    )


def _in_words(cells: Cells, n: int) -> str:
    ranked = sorted(cells.values(), key=lambda row: -(row["value"] or 0))
    highest = "; ".join(
        f"{cut(row['test_group'])} for {cut(row['enrol_group'])} {percent(row['value'])} "
        f"({row['errors']:,} of {row['trials']:,})"
        for row in ranked[:3]
    )
    return f"{len(ranked)} of {n * n} pairs of groups have trials. Most often taken: {highest}."


def _cells(chosen: Chosen) -> dict[tuple[str, str], Row]:
    asked = {name: value for name, value in chosen.at.items() if name != "allocation"}
    rows = [row for row in rows_of(chosen.audit, "matrix", **asked) if row["value"] is not None]
    if all(row["enrol_group"] == row["test_group"] for row in rows):
        msg = f"no nontarget trials between groups of {chosen.grouping}: nothing to draw"
        raise ConfigError(msg)
    return {(row["enrol_group"], row["test_group"]): row for row in rows}


def _edges(values: Sequence[float]) -> list[float]:
    """Limits of the classes: even in ratio, of two digits, around all positive values."""
    if not values:
        return []
    low, high = min(values), max(values)
    step = max((high / low) ** (1 / _CLASSES), 1.2)
    edges = [low * step**k for k in range(_CLASSES + 1)]
    edges = [round(edge, 1 - floor(log10(edge))) for edge in edges]
    edges[0] = min(edges[0], low)
    edges[-1] = max(edges[-1], high)
    return sorted(dict.fromkeys(edges))


def _marks(
    names: Sequence[str],
    cells: Cells,
    edges: Sequence[float],
    labels: Sequence[str],
    *,
    has_figures: bool,
) -> Iterator[Row]:
    """Cells with trials; neighbours in a row of one class are one mark if there are many."""
    for j, test in enumerate(names):
        classes: list[int | None] = []
        for enrol in names:
            row = cells.get((enrol, test))
            rate = None if row is None else row["value"]
            k = None if rate is None else sum(rate >= edge for edge in edges[:-1]) if rate else 0
            classes.append(k)
            if len(names) <= _APART and row is not None and k is not None:
                i = len(classes) - 1
                yield {
                    **_box(i, i + 1, j, labels[k]),
                    "k": k,
                    "e": cut(enrol),
                    "t": cut(test),
                    **({"s": percent(rate)} if has_figures else {}),
                    "r": f"{percent(rate)} ({row['errors']:,} of {row['trials']:,})",
                }
        if len(names) > _APART:
            start = 0
            for k, run in groupby(classes):
                stop = start + len([*run])
                if k is not None:
                    yield _box(start, stop, j, labels[k])
                start = stop


def _box(start: int, stop: int, j: int, label: str) -> Row:
    return {"x": start, "x2": stop, "y": j, "y2": j + 1, "c": label}


def _hatched(names: Sequence[str], cells: Cells) -> Iterator[Row]:
    """Diagonals through cells without trials: one line through as many as follow each other."""
    n = len(names)
    for total in range(2 * n - 1):
        line = [(i, total - i) for i in range(max(0, total - n + 1), min(n, total + 1))]
        for is_empty, run in groupby(line, key=lambda c: (names[c[0]], names[c[1]]) not in cells):
            if is_empty:
                places = [*run]
                (first, down), (last, up) = places[0], places[-1]
                yield {"x": first, "y": down + 1, "x2": last + 1, "y2": up}
