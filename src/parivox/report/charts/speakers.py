"""Who the audit is of: speakers and trials of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import room
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, kept, left_out, rows_of
from parivox.report.charts.grammar import (
    amount,
    beside,
    heading,
    inline,
    layered,
    mark,
    names_down,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.charts.theme import Theme

__all__ = ["speakers"]

_COUNTS = {
    "speakers": "speakers",
    "target_trials": "own trials",
    "nontarget_trials": "impostor trials",
}
MOST = 80
"""Groups drawn at most."""
_ROW = 17


@chart("answer", per="list", asks=OF_ONE)
def speakers(chosen: Chosen, theme: Theme) -> Drawing:
    """Bars of speakers, target trials and nontarget trials of each group."""
    inks = theme.inks
    sizes = _sizes(chosen)
    names = kept(chosen, MOST)
    order = [chosen.marked(name) for name in names]
    width = (theme.width - 40 - room(order, theme.size)) // len(_COUNTS)
    panels = []
    for place, (count, title) in enumerate(_COUNTS.items()):
        rows: Sequence[Row] = [
            {
                "group": label,
                "n": int(sizes[group][count] or 0),
                "few": group in chosen.gates,
                "told": "–" if sizes[group][count] is None else f"{sizes[group][count]:,}",
            }
            for group, label in zip(names, order, strict=True)
        ]
        most = max((row["n"] for row in rows), default=1) or 1
        beyond = min(room([row["told"] for row in rows], theme.size) + 6, 0.6 * width)
        y = names_down(order, inks.ink if place == 0 else "")
        x = amount(
            "n",
            title=None,
            axis=None,
            scale={"domain": [0, most * width / (width - beyond)], "nice": False},
        )
        fill = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
        bars = mark(
            "bar",
            {"x": x, "fill": fill},
            height={"band": 0.66},
            strokeWidth=1.2,
            stroke=inks.series[0],
        )
        figures = words("told", {"x": x}, size=theme.size, align="left", dx=4, color=inks.muted)
        panels.append(
            layered(
                [bars, figures],
                encoding={"y": y},
                data=inline(rows),
                width=width,
                height=_ROW * len(names),
                title=heading(title),
            )
        )
    return Drawing(theme.of(beside(panels, 10), view={"stroke": None}), _words(chosen))


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    sizes = _sizes(chosen)
    order = sorted(sizes, key=lambda name: sizes[name]["speakers"] or 0)
    few, many = order[0], order[-1]
    parts = [
        f"{len(order)} groups by {cut(chosen.grouping)}",
        f"most speakers: {cut(many)} ({sizes[many]['speakers']:,})"
        if sizes[many]["speakers"] is not None
        else "speakers are not known",
        f"fewest: {cut(few)} ({sizes[few]['speakers']:,})"
        if sizes[few]["speakers"] is not None
        else "",
        f"too few for a firm statement: {len(chosen.gates)}" if chosen.gates else "",
    ]
    return Words(
        f"Who was tested, by {cut(chosen.grouping)}",
        "Longer bars mean more people and more trials. Hollow bars, marked *, are groups with "
        "too few speakers or errors for a firm statement." + left_out(chosen, MOST),
        "; ".join(part for part in parts if part) + ".",
    )


def _sizes(chosen: Chosen) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows_of(chosen.audit, "groups", **chosen.where):
        if row["group"] != "pooled":
            found.setdefault(row["group"], row)
    if not found:
        msg = f"no group of {chosen.grouping} has trials; audit again with groups that have"
        raise ConfigError(msg)
    return found
