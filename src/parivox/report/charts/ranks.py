"""Which of two systems or lists is better, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import room
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import (
    Chosen,
    Pair,
    Row,
    between,
    cut,
    named,
    paired,
    rows_of,
)
from parivox.report.charts.grammar import (
    amount,
    facets,
    inline,
    layered,
    mark,
    names_axis,
    scale,
    word,
    words,
)
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.charts.theme import Theme

__all__ = ["ranks"]

_RANKS = {
    "p_more_accurate": "errs less",
    "p_less_spread": "more even",
    "p_both": "both",
}
_CALLED = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_NEITHER = "neither"


@chart("compared", per="pair", asks=OF_ALL)
def ranks(chosen: Chosen, theme: Theme, *, pair: Pair | None = None) -> Drawing:
    """How often one system comes out better than another when speakers are drawn anew."""
    inks = theme.inks
    one, other = paired(chosen, pair)
    found = _ranks(chosen, one, other)
    names = [cut(named(*one), 24), cut(named(*other), 24)]
    order = [*dict.fromkeys(row["metric"] for row in found)]
    rows = []
    for row in found:
        first, second = row["value"], row["other"] or 0
        place = {"m": row["metric"], "p": row["what"]}
        ends = ((names[0], 0, first), (_NEITHER, first, 1 - second), (names[1], 1 - second, 1))
        rows += [
            {**place, "c": name, "i": i, "a": a, "b": b, "s": f"{100 * (b - a):.0f}"}
            for i, (name, a, b) in enumerate(ends)
            if b - a > 1e-9
        ]
    states = [names[0], _NEITHER, names[1]]
    columns = theme.columns(states, beside=room(order, theme.size) + room(["better"], theme.size))
    fill, stroke = (
        word("c", title="better", scale=scale(states, drawn_as), legend={"columns": columns})
        for drawn_as in (
            (inks.series[0], inks.grid, inks.paper),
            (inks.series[0], inks.grid, inks.series[1]),
        )
    )
    y = word("m", title=None, axis=names_axis(inks.muted), scale={"domain": order})
    x = amount(
        "a",
        title="of draws",
        axis={"format": "%", "values": [0, 0.5, 1], "grid": False},
        scale={"domain": [0, 1]},
    )
    panels = [title for title in _RANKS.values() if any(row["p"] == title for row in rows)]
    width = (theme.width - 24 - room(order, theme.size)) // len(panels) - 16
    wide = room(["00"], theme.size) / width
    for row in rows:
        row["mid"] = (row["a"] + row["b"]) / 2
    marks = [
        mark(
            "bar",
            {
                "y": y,
                "x": x,
                "x2": {"field": "b"},
                "fill": fill,
                "stroke": stroke,
            },
            height={"band": 0.72},
            strokeWidth=1.2,
        ),
        *(
            words(
                "s",
                {"y": y, "x": amount("mid", title=x["title"])},
                size=theme.size - 1.5,
                when=f"datum.b - datum.a > {wide:.3f} && datum.i === {place}",
                color=ink,
            )
            for place, ink in ((0, inks.paper), (2, inks.ink))
        ),
    ]
    panel = layered(marks, width=width, height=22 * len(order))
    return Drawing(
        theme.of({**facets(panel, "p", panels, len(panels), 14), "data": inline(rows)}),
        _words_ranks(chosen, pair),
    )


def _words_ranks(chosen: Chosen, pair: Pair | None = None) -> Words:
    """Words for the figure of ranks."""
    one, other = paired(chosen, pair)
    a, b = cut(named(*one)), cut(named(*other))
    parts = [
        f"{row['what']}, by {row['metric']}: {a} {percent(row['value'])}, "
        f"{b} {percent(row['other'])}"
        for row in _ranks(chosen, one, other)
    ]
    return Words(
        f"Which is better, and how sure that is: {a} or {b}, by {cut(chosen.grouping)}",
        "Had other speakers been tested, which system would have come out better: with fewer "
        "errors, with groups that differ less, or both? Each bar is "
        "split by how often either did when speakers were drawn anew, in percent: full for "
        f"{a}, hollow for {b}. A bar that is all full or all hollow is a firm rank; one that is "
        "split in the middle is none. Grey: better on one but not on both. An empty row: "
        "the operating point holds that rate, so none can win.",
        "; ".join(parts) + ".",
    )


def _ranks(chosen: Chosen, one: tuple[str, str], other: tuple[str, str]) -> Sequence[Row]:
    asked = between(one, other) | {"grouping": chosen.grouping, "allocation": chosen.allocation}
    rows = []
    compared = rows_of(chosen.audit, "comparison", **asked, within="")
    for metric, called in _CALLED.items():
        for measure, told in _RANKS.items():
            for row in compared:
                if (row["metric"], row["measure"]) != (metric, measure) or row["value"] is None:
                    continue
                if row["operating_point"] not in {"", chosen.point}:
                    continue
                at = f" at {cut(row['operating_point'], 12)}" if row["operating_point"] else ""
                what = {"metric": called + at, "what": told}
                rows.append({**what, "value": row["value"], "other": row["other"] or 0})
    if not rows:
        msg = "the audit has no ranks; audit again with --compare and intervals"
        raise ConfigError(msg)
    return rows
