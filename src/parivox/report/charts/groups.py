"""Charts of every group: who was tested, whose recordings fail, how groups fare within levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import RATES, Chosen, Row, cut, kept, left_out, rows_of
from parivox.report.charts.grammar import (
    amount,
    beside,
    beside_panel,
    heading,
    inline,
    interval,
    layered,
    mark,
    names_axis,
    names_down,
    panel,
    word,
    words,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.report.charts.theme import Theme


# ---- who the audit is of: speakers and trials of each group


_COUNTS = {
    "speakers": "speakers",
    "target_trials": "own trials",
    "nontarget_trials": "impostor trials",
}
MOST_OF_SPEAKERS = 80
"""Groups drawn at most."""
_ROW_OF_SPEAKERS = 17


@chart("answer", per="list", asks=OF_ONE)
def speakers(chosen: Chosen, theme: Theme) -> Drawing:
    """Bars of speakers, target trials and nontarget trials of each group."""
    inks = theme.inks
    sizes = _sizes(chosen)
    names = kept(chosen, MOST_OF_SPEAKERS)
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
                height=_ROW_OF_SPEAKERS * len(names),
                title=heading(title),
            )
        )
    return Drawing(theme.of(beside(panels, 10), view={"stroke": None}), _words_of_speakers(chosen))


def _words_of_speakers(chosen: Chosen) -> Words:
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
        "too few speakers or errors for a firm statement." + left_out(chosen, MOST_OF_SPEAKERS),
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


# ---- whose recordings fail before anything is compared: failures to enrol and to acquire


MOST_OF_FAILURES = 60
"""Groups drawn at most."""
_INSET = 7
"""So that a dot at 0 does not cover the names."""
_WORDS = 100
"""Room for the counts beside a panel."""
_ROW_OF_FAILURES = 17
_KINDS = {"fte": "cannot enrol (FTE)", "fta": "cannot be recorded (FTA)"}


@chart("groups", per="widest", asks=OF_ONE)
def failures(chosen: Chosen, theme: Theme) -> Drawing:
    """FTE and FTA of every group with intervals."""
    inks = theme.inks
    found = _failed(chosen)
    names = [chosen.marked(group) for group in kept(chosen, MOST_OF_FAILURES)]
    beside = 1 if theme.is_narrow else len(found)
    width = (theme.width - 20 - room(names, theme.size)) // beside - _WORDS
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        most = max(float(row["h"] if "h" in row else row["v"]) for row in rows) or 0.01
        x = {
            "title": "%",
            "scale": {"domain": [0, most * 1.05], "nice": False, "range": [_INSET, width]},
            "axis": {"tickCount": 4, "labelExpr": "format(100 * datum.value, '~r')"},
        }
        y = names_down(names, inks.ink if place == 0 or theme.is_narrow else "")
        marks = [
            interval({"y": y, "x": amount("l", **x)}, width=1.3, color=inks.ink),
            mark(
                "point",
                {"y": y, "x": amount("v", **x)},
                size=44,
                filled=True,
                opacity=1,
                color=inks.series[0],
            ),
            beside_panel("n", {"y": y}, width, theme),
        ]
        panels.append(
            panel(
                marks,
                rows,
                _KINDS[metric],
                width=width + _WORDS,
                height=_ROW_OF_FAILURES * len(names),
            )
        )
    return Drawing(
        theme.of(theme.arranged(panels, 12), view={"stroke": None}), _words_of_failures(chosen)
    )


def _words_of_failures(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = []
    for metric, rows in _failed(chosen).items():
        worst = max(rows, key=lambda row: row["v"])
        parts.append(f"{_KINDS[metric]}, highest: {cut(worst['group'])} {worst['s']}")
    return Words(
        f"Whose recordings fail: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "A dot is the share of a group's recordings that could not be used at all, its line the "
        "interval; beside it failures and attempts. Further right is worse."
        + left_out(chosen, MOST_OF_FAILURES),
        "; ".join(parts) + ".",
    )


def _failed(chosen: Chosen) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for metric in _KINDS:
        by = chosen.metric(metric)
        for name in kept(chosen, MOST_OF_FAILURES):
            row = by.get(name)
            if row is None or row["value"] is None:
                continue
            made: Row = {"group": chosen.marked(name), "v": row["value"]}
            made["n"] = f"{row['errors'] or 0:,} / {row['trials'] or 0:,}"
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit knows of no failures; audit again with --failures"
        raise ConfigError(msg)
    return found


# ---- whether groups fare alike within each level of --within, as channel or language


MOST_OF_LEVELS = 30
"""Groups drawn at most."""
_ROW_OF_LEVELS = 12
_ALL = "all groups"
_LEVELS = 6


@chart("groups", per="widest", asks=(*OF_ONE, "operating_point"))
def levels(chosen: Chosen, theme: Theme) -> Drawing:
    """FNR and FPR of every group within each level, side by side."""
    inks = theme.inks
    found = _rates_within(chosen)
    drawn = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    groups = [*kept(chosen, MOST_OF_LEVELS), "pooled"]
    names = [_ALL if group == "pooled" else chosen.marked(group) for group in groups]
    width = (theme.width - 20 - room(names, theme.size)) // len(found) - 12
    legend = {"columns": theme.columns(drawn, beside=room(names, theme.size))}
    colours, shapes = (
        word("c", title=None, scale=of(drawn), legend=legend)
        for of in (theme.colours, theme.shapes)
    )
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        values = [row[n] for row in rows for n in ("v", "l", "h") if n in row]
        low, high = log_domain(values, most=1)
        low = max(low, min(row["v"] for row in rows) / 10)
        for row in rows:
            if "l" in row:
                row["l"], row["h"] = max(row["l"], low), min(row["h"], high)
        x = as_logs("%", low, high, labelOverlap=True)
        axis = names_axis(inks.ink) if place == 0 else None
        y = {
            "y": word("group", title=None, axis=axis, scale={"domain": names}),
            "yOffset": word("c", scale={"domain": drawn}),
        }
        marks = [
            interval({**y, "x": amount("l", **x), "color": colours}, width=1.2),
            mark(
                "point",
                {**y, "x": amount("v", **x), "color": colours, "shape": shapes},
                size=34,
                filled=True,
                opacity=1,
            ),
        ]
        panels.append(
            panel(
                marks,
                rows,
                RATES[metric],
                width=width,
                height=_ROW_OF_LEVELS * len(names) * max(len(drawn), 1.5),
            )
        )
    return Drawing(theme.of(beside(panels, 12), view={"stroke": None}), _words_of_levels(chosen))


def _words_of_levels(chosen: Chosen) -> Words:
    """Words for the figure."""
    parts = [
        f"{RATES[metric]} of all, {row['c']}: {row['s']}"
        for metric, rows in _rates_within(chosen).items()
        for row in rows
        if row["group"] == _ALL
    ]
    return Words(
        f"Level by level: {cut(chosen.label)} at {cut(chosen.point)}, by {cut(chosen.grouping)}",
        "Each group has a mark for every level, with interval, at the same threshold; further "
        "right is worse. Groups that differ in the same way at every level do not differ because "
        "of it. Groups without errors at a level have no mark there."
        + left_out(chosen, MOST_OF_LEVELS),
        "; ".join(parts) + ".",
    )


def _rates_within(chosen: Chosen) -> dict[str, list[Row]]:
    """Rates above 0 within each level, by metric."""
    found: dict[str, list[Row]] = {}
    groups = {*kept(chosen, MOST_OF_LEVELS), "pooled"}
    asked = {name: value for name, value in chosen.at.items() if name != "within"}
    for metric in RATES:
        rows = chosen.audit.groups.where(**asked, metric=metric, definition="").rows()
        told = [row for row in rows if row["within"] and row["value"] and row["group"] in groups]
        first = [*dict.fromkeys(row["within"] for row in told)][:_LEVELS]
        for row in told:
            if row["within"] not in first:
                continue
            name = _ALL if row["group"] == "pooled" else chosen.marked(row["group"])
            made: Row = {"group": name, "c": cut(row["within"], 30), "v": row["value"]}
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit has no levels; audit again with --within, as in --within channel"
        raise ConfigError(msg)
    return found
