"""The chart of false accepts for every pair of groups."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from math import floor, log10
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.catalogue import full_sentence
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    ChartScope,
    Drawing,
    Row,
    chart,
    groups_to_draw,
    shortened,
    table_rows,
    undrawn_sentence,
)
from parivox.report.charts.theme import text_width
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.report.charts.theme import Theme

    Cells = Mapping[tuple[str, str], Row]

MAX_GROUPS = 50
_MAX_SINGLE_CELLS = 40
"""Up to this many groups, each cell is a mark of its own with a tooltip."""
_MAX_GROUPS_WITH_RATES = 9
"""Up to this many groups, the rate is written in each cell."""
_WIDEST_RATE = "0.000 %"
_CELL_SIDE = 42
"""Pixels of the side of a cell without a rate."""
_CLASSES = 6
_MAX_UPRIGHT_NAMES = 6
"""More names above the cells than this are turned."""
_MARGIN = 30
"""Pixels for the title of an axis and the padding of the chart."""
_NO_ERROR = "none"


@chart("pairs", drawn_per="widest")
def matrix(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw a heat map of the FPR of every pair of groups, in classes of a logarithmic scale."""
    cells = _cells(scope)
    names = groups_to_draw(scope, MAX_GROUPS)
    n_groups = len(names)
    edges = _class_edges([row["value"] for row in cells.values() if row["value"]])
    labels = [_NO_ERROR, *(f"{100 * low:.2g}–{100 * high:.2g}" for low, high in pairwise(edges))]
    group_labels = [scope.group_label(group) for group in names]
    names_width = _MARGIN + text_width(group_labels, theme.size)
    cell_side: float = _CELL_SIDE
    if n_groups <= _MAX_GROUPS_WITH_RATES:
        cell_side = text_width([_WIDEST_RATE], theme.size)
    side = min(theme.width - names_width, max(cell_side * n_groups, 160))
    has_rates = n_groups <= _MAX_GROUPS_WITH_RATES and side / n_groups >= text_width(
        [_WIDEST_RATE], theme.size - 1
    )
    x, y = _axes(group_labels)
    box = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    rows = [*_marks(names, cells, edges, labels, has_rates=has_rates)]
    rows.sort(key=lambda row: labels.index(row["c"]))  # an SVG ordered by class is smaller
    layers = _layers(box, labels, [*_hatched(names, cells)], n_groups, names_width, theme)
    if has_rates:
        layers += _rate_texts(x, y, theme)
        for row in rows:
            row |= {"mx": row["x"] + 0.5, "my": row["y"] + 0.5}
    return Drawing(
        theme.styled(vl.layered(layers, data=vl.inline_data(rows), width=side, height=side)),
        f"Cross-group false accepts: {shortened(scope.label)} at "
        f"{shortened(scope.operating_point)}, by {shortened(scope.grouping)}",
        full_sentence("cells_are_pairs"),
        full_sentence("matrix_steps") + undrawn_sentence(scope, MAX_GROUPS),
        _description(cells, len(scope.groups)),
    )


def _axes(group_labels: Sequence[str]) -> tuple[vl.Spec, vl.Spec]:
    """Return the axes of enrolment speakers, above the cells, and of test speakers."""
    n_groups = len(group_labels)
    axis = {
        "values": [i + 0.5 for i in range(n_groups)],
        "tickCount": n_groups,  # else Vega leaves some out
        "labelExpr": f"({json.dumps(group_labels, ensure_ascii=False)})[floor(datum.value)]",
        "ticks": False,
        "domain": False,
        "grid": False,
        "labelOverlap": n_groups > _MAX_SINGLE_CELLS,
    }
    scale = {"domain": [0, n_groups], "nice": False}
    angle = -90 if n_groups > _MAX_UPRIGHT_NAMES else 0
    x_axis = {"orient": "top", "labelAngle": angle, **axis}
    x = vl.quantitative("x", title="enrolment speaker", scale=scale, axis=x_axis)
    y = vl.quantitative("y", title="test speaker", scale={**scale, "reverse": True}, axis=axis)
    return x, y


def _layers(
    box: vl.Spec,
    labels: Sequence[str],
    hatching: Sequence[Row],
    n_groups: int,
    names_width: float,
    theme: Theme,
) -> list[vl.Spec]:
    """Return the marks of the cells, over the hatching of cells without trials."""
    inks = theme.inks
    has_single_cells = n_groups <= _MAX_SINGLE_CELLS
    colour = {
        "field": "c",
        "type": "ordinal",
        "title": "false accepts (%)",
        "scale": vl.scale(labels, inks.heat[: len(labels)]),
        "legend": {
            "orient": "bottom",
            "titleOrient": "top",
            "symbolType": "square",
            "columns": theme.legend_columns(labels, reserved_width=names_width),
        },
    }
    cell: vl.Spec = {**box, "color": colour}
    if has_single_cells:
        cell |= vl.tooltip({"e": "enrolled", "t": "test", "r": "false accepts"})
    thin: vl.Spec = {"color": inks.muted, "strokeWidth": 0.7, "opacity": 0.75}
    return [
        vl.mark("rule", box, rows=hatching, **thin),
        vl.mark("rect", cell, stroke=inks.paper, strokeWidth=0.5 if has_single_cells else 0),
    ]


def _rate_texts(x: vl.Spec, y: vl.Spec, theme: Theme) -> list[vl.Spec]:
    """Return the rates in the middle of cells, light on the classes of dark ink."""
    middle = {
        "x": vl.quantitative("mx", title=x["title"]),
        "y": vl.quantitative("my", title=y["title"]),
    }
    size = theme.size - 1
    return [
        vl.text_mark("s", middle, size=size, condition=condition, color=ink)
        for condition, ink in (
            ("datum.k < 4", theme.inks.ink),
            ("datum.k >= 4", theme.inks.paper),
        )
    ]


def _description(cells: Cells, n_groups: int) -> str:
    ranked = sorted(cells.values(), key=lambda row: -(row["value"] or 0))
    highest = "; ".join(
        f"{shortened(row['test_group'])} for {shortened(row['enrol_group'])} "
        f"{percent(row['value'])} ({row['errors']:,} of {row['trials']:,})"
        for row in ranked[:3]
    )
    return full_sentence(
        "pairs_with_trials", pairs=len(ranked), all_pairs=n_groups * n_groups, highest=highest
    )


def _cells(scope: ChartScope) -> dict[tuple[str, str], Row]:
    """Return the rows of the matrix by enrolment group and test group."""
    filters = {name: value for name, value in scope.point_filters.items() if name != "allocation"}
    rows = [row for row in table_rows(scope.audit, "matrix", **filters) if row["value"] is not None]
    if all(row["enrol_group"] == row["test_group"] for row in rows):
        msg = f"no nontarget trials between groups of {scope.grouping}: nothing to draw"
        raise ConfigError(msg)
    return {(row["enrol_group"], row["test_group"]): row for row in rows}


def _class_edges(rates: Sequence[float]) -> list[float]:
    """Return the edges of the classes: even in ratio, of two digits, around all positive rates."""
    if not rates:
        return []
    low, high = min(rates), max(rates)
    # where all rates are close, fewer and wider classes will do
    step = max((high / low) ** (1 / _CLASSES), 1.2)
    edges = [low * step**k for k in range(_CLASSES + 1)]
    edges = [round(edge, 1 - floor(log10(edge))) for edge in edges]
    # rounding must not leave the lowest or the highest rate outside
    edges[0] = min(edges[0], low)
    edges[-1] = max(edges[-1], high)
    return sorted(dict.fromkeys(edges))


def _rate_class(rate: float, edges: Sequence[float]) -> int:
    """Return the index of a rate's class; 0 is no error."""
    return sum(1 for edge in edges[:-1] if rate >= edge) if rate else 0


def _marks(
    names: Sequence[str],
    cells: Cells,
    edges: Sequence[float],
    labels: Sequence[str],
    *,
    has_rates: bool,
) -> Iterator[Row]:
    """Return cells with trials; of many groups, neighbours of one class in a row are one mark."""
    has_single_cells = len(names) <= _MAX_SINGLE_CELLS
    for row_index, test_group in enumerate(names):
        classes: list[int | None] = []
        for column_index, enrol_group in enumerate(names):
            cell = cells.get((enrol_group, test_group))
            rate = None if cell is None else cell["value"]
            if cell is None or rate is None:
                classes.append(None)
                continue
            rate_class = _rate_class(rate, edges)
            classes.append(rate_class)
            if has_single_cells:
                yield {
                    **_box(column_index, column_index + 1, row_index, labels[rate_class]),
                    "k": rate_class,
                    "e": shortened(enrol_group),
                    "t": shortened(test_group),
                    **({"s": percent(rate)} if has_rates else {}),
                    "r": f"{percent(rate)} ({cell['errors']:,} of {cell['trials']:,})",
                }
        if not has_single_cells:
            start = 0
            for run_class, run in groupby(classes):
                stop = start + len([*run])
                if run_class is not None:
                    yield _box(start, stop, row_index, labels[run_class])
                start = stop


def _box(start: int, stop: int, row_index: int, label: str) -> Row:
    return {"x": start, "x2": stop, "y": row_index, "y2": row_index + 1, "c": label}


def _hatched(names: Sequence[str], cells: Cells) -> Iterator[Row]:
    """Return diagonals through cells without trials, one line through neighbouring cells."""
    n_groups = len(names)

    def is_empty(position: tuple[int, int]) -> bool:
        enrol, test = position
        return (names[enrol], names[test]) not in cells

    for total in range(2 * n_groups - 1):
        columns = range(max(0, total - n_groups + 1), min(n_groups, total + 1))
        diagonal = [(column, total - column) for column in columns]
        for is_without_trials, run in groupby(diagonal, key=is_empty):
            if is_without_trials:
                positions = [*run]
                (left, bottom), (right, top) = positions[0], positions[-1]
                yield {"x": left, "y": bottom + 1, "x2": right + 1, "y2": top}
