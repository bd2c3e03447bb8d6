"""Charts of systems, or lists, against each other: group by group, by rank, by spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import (
    RATES,
    Chosen,
    Pair,
    Row,
    better,
    between,
    cut,
    kept,
    named,
    paired,
    rows_of,
    subjects,
)
from parivox.report.charts.grammar import (
    amount,
    beside,
    facets,
    heading,
    inline,
    interval,
    layered,
    mark,
    names_axis,
    names_down,
    panel,
    scale,
    word,
    words,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent, short, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.charts.theme import Theme


# ---- how often systems err against how much their groups differ


_LABELS = 110
"""Room for the labels of two panels and between them."""


@chart("compared", per="several", asks=OF_ALL)
def accuracy(chosen: Chosen, theme: Theme) -> Drawing:
    """Rate of all against the spread between groups, of every system and list."""
    inks = theme.inks
    found = _spreads(chosen)
    names = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    side = (theme.width - _LABELS) // 2
    drawn = [row for rows in found.values() for row in rows]
    most = max(float(row["yh"] if "yh" in row else row["y"]) for row in drawn)
    y = {
        "scale": {"domain": [0, round(most * 1.08, 4) or 1], "nice": False},
        "title": "spread (tau_log)",
    }
    legend = {"columns": theme.columns(names, beside=_LABELS / 2)}
    colour, shape = (
        word("c", title=None, scale=of(names), legend=legend)
        for of in (theme.colours, theme.shapes)
    )
    panels = []
    for metric, rows in found.items():
        values = [row[n] for row in rows for n in ("x", "xl", "xh") if n in row]
        low, high = log_domain(values, most=1)
        x = as_logs(f"{metric.upper()} of all (%)", low, high, labelOverlap=True)
        here = {"x": amount("x", **x), "y": amount("y", **y)}
        wide = {**here, "x": amount("xl", **x), "x2": {"field": "xh"}, "color": colour}
        high_ = {**here, "y": amount("yl", **y), "y2": {"field": "yh"}, "color": colour}
        floor = {**here, "y": amount("f", **y)}
        marks = [
            mark("rule", wide, when="isValid(datum.xh)", strokeWidth=1.2),
            mark("rule", high_, when="isValid(datum.yh)", strokeWidth=1.2),
            mark(
                "tick",
                floor,
                when="isValid(datum.f)",
                thickness=2,
                width=16,
                orient="horizontal",
                color=inks.muted,
            ),
            mark(
                "point",
                {**here, "color": colour, "shape": shape},
                size=70,
                filled=True,
                opacity=1,
            ),
        ]
        panels.append(
            layered(marks, data=inline(rows), width=side, height=170, title=heading(RATES[metric]))
        )
    return Drawing(theme.of(beside(panels, 16)), _words_accuracy(chosen))


def _words_accuracy(chosen: Chosen) -> Words:
    """Words for the figure of accuracy and spread."""
    parts = [
        f"{row['c']}: {metric.upper()} of all {percent(row['x'])}, spread {short(row['y'])} "
        f"{span(row.get('yl'), row.get('yh'))}, of {row['n']} groups"
        for metric, rows in _spreads(chosen).items()
        for row in rows
    ]
    return Words(
        f"Accurate and even? {cut(chosen.grouping)} at {cut(chosen.point)}",
        "To the left a system errs less, further down its groups differ less: the lower left is "
        "best on both. Bars are intervals; the grey tick is what 95 of 100 fair systems stay "
        "below. The spread is that of the logarithm of rates beyond what speakers make of it "
        "(0.69 is as if groups differed twofold), of the groups that pass the gates. A rate that "
        "the operating point holds is the same in all systems.",
        "; ".join(parts) + ".",
    )


def _spreads(chosen: Chosen) -> dict[str, list[Row]]:
    """Pooled rate and spread of every system, by metric."""
    audit = chosen.audit
    found: dict[str, list[Row]] = {}
    for metric in RATES:
        for system, listed in subjects(audit):
            at = {**chosen.at, "system": system, "list": listed, "metric": metric, "definition": ""}
            spread = rows_of(audit, "meta", **at, measure="tau_log", gated=True)
            whole = rows_of(audit, "groups", **at, group="pooled")
            if not spread or not whole or spread[0]["value"] is None or not whole[0]["value"]:
                continue
            row: Row = {"c": cut(named(system, listed), 24), "x": whole[0]["value"]}
            row |= {"y": spread[0]["value"], "n": spread[0]["groups"]}
            for axis, of in (("x", whole[0]), ("y", spread[0])):
                if of["low"] is not None and of["high"] is not None:
                    row |= {f"{axis}l": of["low"], f"{axis}h": of["high"]}
            if spread[0]["floor_95"] is not None:
                row["f"] = spread[0]["floor_95"]
            found.setdefault(metric, []).append(row)
    if not found:
        msg = f"no system has a spread between groups of {chosen.grouping} at {chosen.point}"
        raise ConfigError(msg)
    return found


# ---- two systems or lists compared group by group, on what both share


MOST = 40
"""Groups drawn at most."""
_ROW = 17


@chart("compared", per="pair", asks=OF_ALL)
def differences(chosen: Chosen, theme: Theme, *, pair: Pair | None = None) -> Drawing:
    """Paired comparison of two systems group by group: one's rate over the other's."""
    inks = theme.inks
    one, other = paired(chosen, pair)
    found = _differences(chosen, one, other)
    names = [*dict.fromkeys(row["group"] for rows in found.values() for row in rows)]
    values = [
        row[n] for rows in found.values() for row in rows for n in ("v", "l", "h") if n in row
    ]
    low, high = log_domain([*values, 1.0])
    low, high = max(low, 0.02), min(high, 50)
    width = (theme.width - 20 - room(names, theme.size)) // len(found) - 12
    states = [better(one), "no sure difference", better(other)]
    columns = theme.columns(states, beside=room(names, theme.size))
    colour, shape = (
        word("is", title=None, scale=scale(states, drawn_as), legend={"columns": columns})
        for drawn_as in (
            (inks.series[0], inks.muted, inks.series[1]),
            ("triangle-left", "circle", "triangle-right"),
        )
    )
    x = as_logs("times", low, high, percent=False, labelOverlap=True)
    same = {"title": x["title"]}
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        for row in rows:
            row |= {n: min(max(row[n], low), high) for n in ("v", "l", "h") if n in row}
        y = names_down(names, inks.ink if place == 0 else "")
        even = {"x": {"datum": 1, "type": "quantitative", **same}}
        marks = [
            mark("rule", even, rows=[{}], color=inks.ink, strokeDash=[4, 3]),
            interval({"y": y, "x": amount("l", **same), "color": colour}, width=1.3),
            mark(
                "point",
                {"y": y, "x": amount("v", **x), "color": colour, "shape": shape},
                when="isValid(datum.h)",
                size=46,
                filled=True,
                opacity=1,
            ),
            mark(
                "point",
                {"y": y, "x": amount("v", **same)},
                when="!isValid(datum.h)",
                size=30,
                filled=False,
                fill=inks.paper,
                color=inks.muted,
                opacity=1,
            ),
        ]
        panels.append(panel(marks, rows, RATES[metric], width=width, height=_ROW * len(names)))
    return Drawing(
        theme.of(beside(panels, 12), view={"stroke": None}), _words_differences(chosen, pair)
    )


def _words_differences(chosen: Chosen, pair: Pair | None = None) -> Words:
    """Words for the figure of paired differences."""
    one, other = paired(chosen, pair)
    a, b = cut(named(*one)), cut(named(*other))
    parts = []
    for metric, rows in _differences(chosen, one, other).items():
        counts = [
            f"{sum(row['is'] == better(of) for row in rows)} groups err less in {cut(named(*of))}"
            for of in (one, other)
        ]
        parts.append(f"{RATES[metric]}: {', '.join(counts)}, of {len(rows)}")
    return Words(
        f"{a} over {b}, group by group: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"How many times the rate in {b} a group's rate in {a} is, compared on what both share, "
        f"with interval. Left of the dashed line the group fares better in {a}, right of it in "
        f"{b}; triangles are sure by themselves, without correction for the number of groups; "
        "a hollow dot has no interval, so nothing follows from it.",
        "; ".join(parts) + ".",
    )


def _differences(
    chosen: Chosen, one: tuple[str, str], other: tuple[str, str]
) -> dict[str, list[Row]]:
    """Log ratios of two systems by group, by metric."""
    found: dict[str, list[Row]] = {}
    asked = between(one, other) | {"grouping": chosen.grouping, "allocation": chosen.allocation}
    asked |= {"operating_point": chosen.point, "measure": "value", "definition": "", "within": ""}
    names = kept(chosen, MOST)
    for metric in RATES:
        rows = rows_of(chosen.audit, "comparison", **asked, metric=metric)
        by = {row["group"]: row for row in rows if row["log_ratio"] is not None}
        for name in [name for name in names if name in by]:
            row = by[name]
            drawn: Row = {"group": chosen.marked(name), "v": math.exp(row["log_ratio"])}
            state = "no sure difference"
            if row["log_low"] is not None and row["log_high"] is not None:
                limits = (math.exp(max(min(row[n], 14), -14)) for n in ("log_low", "log_high"))
                drawn["l"], drawn["h"] = limits
                if drawn["h"] < 1 or drawn["l"] > 1:
                    state = better(one if drawn["h"] < 1 else other)
            found.setdefault(metric, []).append({**drawn, "is": state})
    if not found:
        msg = f"the audit compares no group of {chosen.grouping}; audit again with --compare"
        raise ConfigError(msg)
    return found


# ---- which of two systems or lists is better, and how sure that is


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
