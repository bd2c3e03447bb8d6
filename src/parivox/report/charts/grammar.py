"""Vega-Lite as plain dictionaries: channels, axes, marks and panels that several charts share."""

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
"""Style of words that lie within their panel, whatever their width."""
_PROBIT_TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8)
_LEAST = 1e-7
_ACROSS = 4
_NO_LINES = {"ticks": False, "domain": False, "grid": False}


# ---- channels: what shows a field


def amount(field: str, **more: Any) -> Spec:
    """A channel that shows a number of each row."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, **more: Any) -> Spec:
    """A channel that shows a word of each row."""
    return {"field": field, "type": "nominal", **more}


def datum(value: float, **more: Any) -> Spec:
    """A channel that shows one number, whatever the row."""
    return {"datum": value, "type": "quantitative", **more}


def told(fields: Mapping[str, str]) -> Spec:
    """Channels of what a mark says to the pointer: its fields under their titles, the first alone.

    A notebook shows the tooltip, an SVG the description, as the title of the mark.
    """
    parts: list[str] = []
    for field, title in fields.items():
        value = f"datum[{json.dumps(field)}]"
        lead = f"{json.dumps(f'; {title}: ')} + " if parts else ""
        parts.append(f"(isValid({value}) ? {lead}{value} : '')")
    return {
        "tooltip": [word(field, title=title) for field, title in fields.items()],
        "description": {"value": {"expr": " + ".join(parts)}},
    }


def scale(domain: Iterable[Any], range: Iterable[Any], **more: Any) -> Spec:  # noqa: A002 - Vega's
    """What each name or number of a domain is drawn as."""
    return {"domain": [*domain], "range": [*range], **more}


def drawn_as(field: str, names: Iterable[str], *ways: Iterable[Any], **more: Any) -> list[Spec]:
    """Channels for the same names, one for each way they are drawn: by colour, shape or dash."""
    names = [*names]
    return [word(field, **{"title": None, "scale": scale(names, way), **more}) for way in ways]


def names_down(names: Iterable[str], ink: str, field: str = "group") -> Spec:
    """A channel of names, one below the other; without ink they are not written.

    The names are cut already: nothing is measured to cut them.
    """
    axis = {"labelColor": ink, "labelPadding": 5, **_NO_LINES} if ink else None
    return word(field, title=None, axis=axis, scale={"domain": [*names]})


# ---- axes of rates


def probit(rates: ArrayLike) -> NDArray[np.float64]:
    """Rates on the axis of a normal deviate."""
    from scipy.special import ndtri  # noqa: PLC0415 - most of the import's time

    return np.asarray(ndtri(np.asarray(rates, dtype=np.float64)))


def probit_axis(title: str | None, least: float, most: float) -> Spec:
    """Scale and axis of a rate on probits, labelled in percent."""
    rates = [rate for rate in _PROBIT_TICKS if least <= rate <= most]
    places = probit(rates).round(6).tolist()
    labels = " : ".join(
        f"abs(datum.value - {place:.6f}) < 1e-4 ? '{100 * rate:g}'"
        for place, rate in zip(places, rates, strict=True)
    )
    return {
        "title": title,
        "scale": {"domain": probit([least, most]).round(6).tolist(), "nice": False},
        "axis": {
            "values": places,
            "tickCount": len(places),  # else Vega leaves some out
            "labelExpr": f"{labels} : ''",
            "labelOverlap": False,
        },
    }


def log_domain(values: Iterable[float | None], *, most: float = np.inf) -> tuple[float, float]:
    """A little more than what positive values span on a logarithmic axis."""
    positive = [v for v in values if v is not None and 0 < v < np.inf]
    if not positive:
        return 0.01, 1.0
    low, high = max(min(positive), _LEAST), max(positive)
    return low / 1.25, max(min(high * 1.25, most), low * 1.5)


def ticks(low: float, high: float) -> list[float]:
    """Places to label on a logarithmic axis: powers of ten, with 2 and 5 where these are few.

    Examples
    --------
    >>> ticks(0.004, 0.3), ticks(0.4, 3)
    ([0.01, 0.03, 0.1, 0.3], [0.5, 1.0, 2.0])
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        places = [float(f"{s * 10.0**p:.12g}") for p in powers for s in steps]
        within = [x for x in places if low <= x <= high]
        if len(within) >= 3:
            break
    return within


def as_logs(
    title: str | None, low: float, high: float, *, percent: bool = True, **axis: Any
) -> Spec:
    """Scale and axis of a rate, or of a ratio, on a logarithmic scale."""
    ends = [float(f"{end:.5g}") for end in (low, high)]
    label = "format(100 * datum.value, '~r')" if percent else "format(datum.value, '~r')"
    return {
        "title": title,
        "scale": {"type": "log", "domain": ends, "nice": False, "clamp": True},
        "axis": {"values": ticks(low, high), "labelExpr": label, **axis},
    }


# ---- marks


def mark(
    kind: str, channels: Spec, *, when: str = "", rows: Iterable[Spec] | None = None, **look: Any
) -> Spec:
    """Marks of one kind, for all rows or those of which an expression holds."""
    made: Spec = {"mark": {"type": kind, **look}, "encoding": channels}
    if rows is not None:
        made["data"] = inline(rows)
    if when:
        made["transform"] = [{"filter": when}]
    return made


def dots(channels: Spec, size: float, **look: Any) -> Spec:
    """Full points."""
    return mark("point", channels, **look, size=size, filled=True, opacity=1)


def dashed(channels: Spec, ink: str) -> Spec:
    """A dashed line at one place, whatever the rows."""
    return mark("rule", channels, rows=[{}], color=ink, strokeDash=[4, 3])


def interval(places: Spec, *, width: float = 1.3, **look: Any) -> Spec:
    """A line from ``l`` to ``h`` along x, of the rows that have an interval."""
    before = {name: one for name, one in places.items() if name in {"x", "y", "yOffset"}}
    ends = {**before, "x2": {"field": "h"}, **places}
    return mark("rule", ends, when="isValid(datum.h)", **look, strokeWidth=width)


def boxes(x: Spec, y: Spec, theme: Theme, *, ink: str = "") -> list[Spec]:
    """Boxes of each row's quantiles: lines ``l`` to ``h``, box ``a`` to ``c``, stroke at ``b``."""
    inks, at = theme.inks, {"y": y}
    ink = ink or inks.series[0]
    box: Spec = {"height": {"band": 0.62}, "fill": inks.paper, "stroke": ink, "strokeWidth": 1.2}
    same = {"title": x.get("title")}
    return [
        mark("rule", {**at, "x": {**x, "field": "l"}, "x2": {"field": "h"}}, color=ink),
        mark("bar", {**at, "x": amount("a", **same), "x2": {"field": "c"}}, **box),
        mark("tick", {**at, "x": amount("b", **same)}, color=ink, thickness=2.5, bandSize=9),
    ]


def words(field: str, places: Spec, *, size: float, when: str = "", **look: Any) -> Spec:
    """Words for which their panel has room."""
    channels = {**places, "text": {"field": field}}
    return mark("text", channels, when=when, fontSize=size, style=WITHIN, **look)


def words_beside(field: str, places: Spec, at: float, theme: Theme) -> Spec:
    """Words at the right of a panel that ends there."""
    look = {"align": "left", "color": theme.inks.muted}
    return words(field, {**places, "x": {"value": at + 6}}, size=theme.size - 1.5, **look)


# ---- panels


def layered(marks: Sequence[Spec], **more: Any) -> Spec:
    """Marks on one another, in one panel."""
    return {"layer": [*marks], **more}


def panel(marks: Sequence[Spec], rows: Iterable[Spec], title: str, **more: Any) -> Spec:
    """Marks of some rows on one another, under a title."""
    return layered(marks, data=inline(rows), **more, title=heading(title))


def heading(text: str) -> Spec:
    """The words above a panel."""
    return {"text": text, "anchor": "start", "frame": "group"}


def in_a_row(panels: Sequence[Spec], spacing: int) -> Spec:
    """Panels beside each other."""
    return {"hconcat": [*panels], "spacing": spacing}


def facets(panel: Spec, field: str, order: Iterable[str], columns: int, spacing: int) -> Spec:
    """A panel for each value of a field, in this order."""
    by = word(field, title=None, sort=[*order])
    return {"facet": by, "spec": panel, "columns": columns, "spacing": spacing}


def across(panels: int, theme: Theme) -> int:
    """How many panels stand in a row: as many as there is room for, in rows of even length."""
    most = min(panels, 2 if theme.is_narrow else _ACROSS)
    rows = -(-panels // most)
    return -(-panels // rows)


def inline(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """Data of a chart, to five digits: no eye sees more."""
    return {"values": [_rounded(row) for row in rows]}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value
