"""Parts of Vega-Lite specifications that several charts share: channels, axes, marks, panels.

All are plain dictionaries.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.report.charts.theme import Theme

Spec = dict[str, Any]

WITHIN = "within"
"""Style of text that lies within its panel, whatever its width."""
_PROBIT_TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8)
_LOWEST_RATE = 1e-7
_MAX_COLUMNS = 4
_AXIS_WITHOUT_LINES = {"ticks": False, "domain": False, "grid": False}


# ---- channels: how a field is shown


def quantitative(field: str, **more: Any) -> Spec:
    """Return a channel that shows a number of each row."""
    return {"field": field, "type": "quantitative", **more}


def nominal(field: str, **more: Any) -> Spec:
    """Return a channel that shows a word of each row."""
    return {"field": field, "type": "nominal", **more}


def datum(value: float, **more: Any) -> Spec:
    """Return a channel that shows one number, whatever the row."""
    return {"datum": value, "type": "quantitative", **more}


def tooltip(fields: Mapping[str, str]) -> Spec:
    """Return channels for the text that a mark shows when pointed at: its fields with titles.

    The first field has no title. A notebook shows the tooltip, an SVG shows the description as the
    title of the mark.
    """
    expressions: list[str] = []
    for field, title in fields.items():
        datum_field = f"datum[{json.dumps(field)}]"
        lead = f"{json.dumps(f'; {title}: ')} + " if expressions else ""
        expressions.append(f"(isValid({datum_field}) ? {lead}{datum_field} : '')")
    return {
        "tooltip": [nominal(field, title=title) for field, title in fields.items()],
        "description": {"value": {"expr": " + ".join(expressions)}},
    }


def scale(domain: Iterable[Any], range: Iterable[Any], **more: Any) -> Spec:  # noqa: A002 - Vega's
    """Return the scale from names or numbers to how each is drawn."""
    return {"domain": [*domain], "range": [*range], **more}


def series_channels(
    field: str, names: Iterable[str], *ranges: Iterable[Any], **more: Any
) -> list[Spec]:
    """Return a channel for each range of colours, shapes or dashes, for the same names."""
    names = [*names]
    return [
        nominal(field, **{"title": None, "scale": scale(names, style_range), **more})
        for style_range in ranges
    ]


def name_axis(names: Iterable[str], ink: str, field: str = "group") -> Spec:
    """Return a channel of names, one below the other; without ink the axis has no labels.

    The names are already shortened, so Vega does not measure them.
    """
    axis = {"labelColor": ink, "labelPadding": 5, **_AXIS_WITHOUT_LINES} if ink else None
    return nominal(field, title=None, axis=axis, scale={"domain": [*names]})


# ---- axes of rates


def probit(rates: ArrayLike) -> NDArray[np.float64]:
    """Return rates as normal deviates."""
    from scipy.special import ndtri  # noqa: PLC0415 - most of the import's time

    return np.asarray(ndtri(np.asarray(rates, dtype=np.float64)))


def probit_axis(title: str | None, least: float, most: float) -> Spec:
    """Return the probit scale and axis of a rate, labelled in percent."""
    rates = [rate for rate in _PROBIT_TICKS if least <= rate <= most]
    tick_positions = probit(rates).round(6).tolist()
    labels = " : ".join(
        f"abs(datum.value - {position:.6f}) < 1e-4 ? '{100 * rate:g}'"
        for position, rate in zip(tick_positions, rates, strict=True)
    )
    return {
        "title": title,
        "scale": {"domain": probit([least, most]).round(6).tolist(), "nice": False},
        "axis": {
            "values": tick_positions,
            "tickCount": len(tick_positions),  # else Vega leaves some out
            "labelExpr": f"{labels} : ''",
            "labelOverlap": False,
        },
    }


def log_domain(values: Iterable[float | None], *, most: float = np.inf) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, a little wider than the positive values."""
    positive = [v for v in values if v is not None and 0 < v < np.inf]
    if not positive:
        return 0.01, 1.0
    low, high = max(min(positive), _LOWEST_RATE), max(positive)
    return low / 1.25, max(min(high * 1.25, most), low * 1.5)


def ticks(low: float, high: float) -> list[float]:
    """Return the tick values of a logarithmic axis: powers of ten, and values between if few.

    Examples
    --------
    >>> ticks(0.004, 0.3), ticks(0.4, 3)
    ([0.01, 0.03, 0.1, 0.3], [0.5, 1.0, 2.0])
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    # finer steps are used only if coarser ones give fewer than three ticks
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        candidates = [float(f"{s * 10.0**p:.12g}") for p in powers for s in steps]
        ticks_in_range = [tick for tick in candidates if low <= tick <= high]
        if len(ticks_in_range) >= 3:
            break
    return ticks_in_range


def log_axis(
    title: str | None, low: float, high: float, *, percent: bool = True, **axis: Any
) -> Spec:
    """Return the logarithmic scale and axis of a rate or a ratio."""
    ends = [float(f"{end:.5g}") for end in (low, high)]
    label = "format(100 * datum.value, '~r')" if percent else "format(datum.value, '~r')"
    return {
        "title": title,
        "scale": {"type": "log", "domain": ends, "nice": False, "clamp": True},
        "axis": {"values": ticks(low, high), "labelExpr": label, **axis},
    }


# ---- marks


def mark(
    kind: str,
    channels: Spec,
    *,
    condition: str = "",
    rows: Iterable[Spec] | None = None,
    **look: Any,
) -> Spec:
    """Return marks of one kind, for all rows or those for which an expression is true."""
    layer: Spec = {"mark": {"type": kind, **look}, "encoding": channels}
    if rows is not None:
        layer["data"] = inline_data(rows)
    if condition:
        layer["transform"] = [{"filter": condition}]
    return layer


def dots(channels: Spec, size: float, **look: Any) -> Spec:
    """Return filled points."""
    return mark("point", channels, **look, size=size, filled=True, opacity=1)


def dashed_rule(channels: Spec, ink: str) -> Spec:
    """Return a dashed line at one position, whatever the rows."""
    return mark("rule", channels, rows=[{}], color=ink, strokeDash=[4, 3])


def interval_mark(channels: Spec, *, width: float = 1.3, **look: Any) -> Spec:
    """Return a line from ``l`` to ``h`` along x, for the rows that have an interval."""
    positions = {name: channels[name] for name in channels if name in {"x", "y", "yOffset"}}
    ends = {**positions, "x2": {"field": "h"}, **channels}
    return mark("rule", ends, condition="isValid(datum.h)", **look, strokeWidth=width)


def box_marks(x: Spec, y: Spec, theme: Theme, *, ink: str = "") -> list[Spec]:
    """Return boxes of quantiles: lines ``l`` to ``h``, box ``a`` to ``c``, stroke at ``b``."""
    inks, row = theme.inks, {"y": y}
    ink = ink or inks.series[0]
    box: Spec = {"height": {"band": 0.62}, "fill": inks.paper, "stroke": ink, "strokeWidth": 1.2}
    shared_title = {"title": x.get("title")}
    return [
        mark("rule", {**row, "x": {**x, "field": "l"}, "x2": {"field": "h"}}, color=ink),
        mark("bar", {**row, "x": quantitative("a", **shared_title), "x2": {"field": "c"}}, **box),
        mark(
            "tick",
            {**row, "x": quantitative("b", **shared_title)},
            color=ink,
            thickness=2.5,
            bandSize=9,
        ),
    ]


def text_mark(field: str, position: Spec, *, size: float, condition: str = "", **look: Any) -> Spec:
    """Return text that fits in its panel."""
    channels = {**position, "text": {"field": field}}
    return mark("text", channels, condition=condition, fontSize=size, style=WITHIN, **look)


def text_beside(field: str, position: Spec, panel_end: float, theme: Theme) -> Spec:
    """Return text to the right of a panel."""
    look = {"align": "left", "color": theme.inks.muted}
    return text_mark(
        field, {**position, "x": {"value": panel_end + 6}}, size=theme.size - 1.5, **look
    )


# ---- panels


def layered(marks: Sequence[Spec], **more: Any) -> Spec:
    """Return marks drawn over each other in one panel."""
    return {"layer": [*marks], **more}


def panel(marks: Sequence[Spec], rows: Iterable[Spec], title: str, **more: Any) -> Spec:
    """Return a panel of marks for some rows, under a title."""
    return layered(marks, data=inline_data(rows), **more, title=heading(title))


def heading(text: str) -> Spec:
    """Return the title of a panel."""
    return {"text": text, "anchor": "start", "frame": "group"}


def side_by_side(panels: Sequence[Spec], spacing: int) -> Spec:
    """Return panels next to each other."""
    return {"hconcat": [*panels], "spacing": spacing}


def facets(panel: Spec, field: str, order: Iterable[str], columns: int, spacing: int) -> Spec:
    """Return a panel for each value of a field, in this order."""
    facet_channel = nominal(field, title=None, sort=[*order])
    return {"facet": facet_channel, "spec": panel, "columns": columns, "spacing": spacing}


def panel_columns(panels: int, theme: Theme) -> int:
    """Return how many panels are in a row: as many as fit, in rows of even length."""
    max_columns = min(panels, 2 if theme.is_narrow else _MAX_COLUMNS)
    # two minus signs round up
    n_rows = -(-panels // max_columns)
    return -(-panels // n_rows)


def field_values(rows: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> list[Any]:
    """Return the values of some fields, row by row, where a row has them."""
    fields = [*fields]
    numbers: list[Any] = []
    for row in rows:
        numbers += [row[field] for field in fields if field in row]
    return numbers


def inline_data(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """Return rows as the data of a chart, with five significant digits."""
    return {"values": [_rounded(row) for row in rows]}


def _rounded(cell: Any) -> Any:
    if isinstance(cell, float):
        return float(f"{cell:.5g}")
    if isinstance(cell, dict):
        return {name: _rounded(field) for name, field in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [_rounded(element) for element in cell]
    return cell
