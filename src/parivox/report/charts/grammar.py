"""The grammar of charts (Vega-Lite) as plain dictionaries, many times faster than as objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.report.charts.theme import Theme

Spec = dict[str, Any]

WITHIN = "within"
"""Style of words that lie within their panel, whatever their width."""


def amount(field: str, **more: Any) -> Spec:
    """A channel that shows a number of each row."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, **more: Any) -> Spec:
    """A channel that shows a word of each row."""
    return {"field": field, "type": "nominal", **more}


def scale(domain: Iterable[Any], range: Iterable[Any], **more: Any) -> Spec:  # noqa: A002 - Vega's
    """What each name or number of a domain is drawn as."""
    return {"domain": [*domain], "range": [*range], **more}


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


def words(field: str, places: Spec, *, size: float, when: str = "", **look: Any) -> Spec:
    """Words for which their panel has room."""
    channels = {**places, "text": {"field": field}}
    return mark("text", channels, when=when, fontSize=size, style=WITHIN, **look)


def layered(marks: Sequence[Spec], **more: Any) -> Spec:
    """Marks on one another, in one panel."""
    return {"layer": [*marks], **more}


def beside(panels: Sequence[Spec], spacing: int) -> Spec:
    """Panels in a row."""
    return {"hconcat": [*panels], "spacing": spacing}


def facets(panel: Spec, field: str, order: Iterable[str], columns: int, spacing: int) -> Spec:
    """A panel for each value of a field, in this order."""
    by = word(field, title=None, sort=[*order])
    return {"facet": by, "spec": panel, "columns": columns, "spacing": spacing}


def heading(text: str) -> Spec:
    """The words above a panel."""
    return {"text": text, "anchor": "start", "frame": "group"}


def panel(marks: Sequence[Spec], rows: Iterable[Spec], title: str, **size: float) -> Spec:
    """Marks of some rows on one another, under a title."""
    return layered(marks, data=inline(rows), **size, title=heading(title))


def names_down(names: Sequence[str], ink: str) -> Spec:
    """A channel of groups' names, one below the other; without ink they are not written."""
    axis = names_axis(ink) if ink else None
    return word("group", title=None, axis=axis, scale={"domain": [*names]})


def interval(places: Spec, *, width: float = 1.3, **look: Any) -> Spec:
    """A line from ``l`` to ``h`` along x, of the rows that have an interval."""
    before = {name: one for name, one in places.items() if name in {"x", "y", "yOffset"}}
    ends = {**before, "x2": {"field": "h"}, **places}
    return mark("rule", ends, when="isValid(datum.h)", **look, strokeWidth=width)


def beside_panel(field: str, places: Spec, at: float, theme: Theme) -> Spec:
    """Words at the right of a panel that ends there."""
    look = {"align": "left", "color": theme.inks.muted}
    return words(field, {**places, "x": {"value": at + 6}}, size=theme.size - 1.5, **look)


def names_axis(ink: str) -> Spec:
    """An axis of groups' names, which are cut already: nothing is measured to cut them."""
    return {"labelColor": ink, "ticks": False, "domain": False, "grid": False}


def inline(rows: Iterable[Mapping[str, Any]]) -> Spec:
    """Data of a chart, to five digits: no eye sees more.

    Rows, not a table as text: Vega evaluates code to read one, which a page's policy forbids.
    """
    return {"values": [_rounded(row) for row in rows]}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value
