"""Charts of every group: sizes, error rates, rates by stratum, and failures of recordings."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from parivox.errors import ConfigError, printable
from parivox.report.audit_queries import VERDICTS
from parivox.report.catalogue import full_sentence, reason_text, sentence_text
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
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
from parivox.report.words import count_text, interval_text, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.report.charts.theme import Theme

_ROW_HEIGHT = 17
"""Pixels of the row of a group."""
_NO_FRAME = {"stroke": None}


def _interval_fields(row: Row) -> Row:
    if row["low"] is None or row["high"] is None:
        return {}
    return {"l": row["low"], "h": row["high"]}


def _rate_with_interval(row: Row) -> str:
    return f"{percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"


def _rate_with_counts(row: Row) -> str:
    counts = f"{row['errors']:,} of {row['trials']:,} trials"
    return f"{shortened(row['group'])} {_rate_with_interval(row)} ({counts})"


# ---- sizes of groups: speakers and trials


_SIZE_COLUMNS = {
    "speakers": "speakers",
    "target_trials": "own trials",
    "nontarget_trials": "impostor trials",
}
_MAX_SIZE_GROUPS = 80


@chart("said", drawn_per="list")
def speakers(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw bars of speakers, target trials and nontarget trials of each group."""
    inks = theme.inks
    size_rows: dict[str, Row] = {}
    for row in table_rows(scope.audit, "groups", **scope.filters):
        if row["group"] != "pooled":
            size_rows.setdefault(row["group"], row)
    if not size_rows:
        msg = f"no group of {scope.grouping} has trials"
        hint = "audit again with other groups"
        raise ConfigError(msg, hint)
    groups = groups_to_draw(scope, _MAX_SIZE_GROUPS)
    names = [scope.group_label(group) for group in groups]
    width = (theme.width - 40 - text_width(names, theme.size)) // len(_SIZE_COLUMNS)
    fill = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
    bar: vl.Spec = {"height": {"band": 0.66}, "strokeWidth": 1.2, "stroke": inks.series[0]}
    panels = []
    for column_index, (count, title) in enumerate(_SIZE_COLUMNS.items()):
        rows: list[Row] = [
            {
                "group": name,
                "n": int(size_rows[group][count] or 0),
                "few": group in scope.small_groups,
                "figure": count_text(size_rows[group][count]),
            }
            for group, name in zip(groups, names, strict=True)
        ]
        largest = max((row["n"] for row in rows), default=1) or 1
        figure_width = min(text_width([row["figure"] for row in rows], theme.size) + 6, 0.6 * width)
        domain = {"domain": [0, largest * width / (width - figure_width)], "nice": False}
        x = vl.quantitative("n", title=None, axis=None, scale=domain)
        marks = [
            vl.mark("bar", {"x": x, "fill": fill}, **bar),
            vl.text_mark("figure", {"x": x}, size=theme.size, align="left", dx=4, color=inks.muted),
        ]
        y = vl.name_axis(names, inks.ink if column_index == 0 else "")
        size = {"width": width, "height": _ROW_HEIGHT * len(names)}
        panels.append(vl.panel(marks, rows, title, encoding={"y": y}, **size))
    return Drawing(
        theme.styled(vl.side_by_side(panels, 10), view=_NO_FRAME),
        f"Sample by {shortened(scope.grouping)}",
        full_sentence("speakers_and_trials"),
        full_sentence("hollow_bars") + undrawn_sentence(scope, _MAX_SIZE_GROUPS),
        "; ".join(_size_facts(scope, size_rows)) + ".",
    )


def _size_facts(scope: ChartScope, size_rows: Mapping[str, Row]) -> list[str]:
    """Return the number of groups and the largest and the smallest group, in words."""
    rows_by_size = sorted(size_rows.values(), key=lambda row: row["speakers"] or 0)
    smallest, largest_group = rows_by_size[0], rows_by_size[-1]
    facts = [f"{len(size_rows)} groups by {shortened(scope.grouping)}"]
    if largest_group["speakers"] is None:
        facts.append(sentence_text("speakers_not_known"))
    else:
        name = shortened(largest_group["group"])
        facts.append(f"most speakers: {name} ({largest_group['speakers']:,})")
    if smallest["speakers"] is not None:
        facts.append(f"fewest: {shortened(smallest['group'])} ({smallest['speakers']:,})")
    if scope.small_groups:
        facts.append(f"below the sample-size minimum: {len(scope.small_groups)}")
    return facts


# ---- error rates of every group with intervals and noise floors


_MAX_FOREST_GROUPS = 60
_FOREST_ROW_HEIGHT = 18
_RATES_WIDTH = 104
"""Pixels for the rates next to a panel."""
_TOO_SMALL = "inconclusive, too few"
_SHAPES = ("triangle-right", "triangle-left", "circle", "circle", "circle", "triangle-left")
_BETTER_WITHOUT_WORST = "better, not without the worst"


@chart("groups", drawn_per="system")
def forest(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw FNR and FPR of every group with intervals, the pooled rate and the noise floor."""
    rates = {metric: scope.rate_rows(metric) for metric in RATES}
    rows_with_rate = {
        metric: [
            row
            for group, row in group_rows.items()
            if group != "pooled" and row["value"] is not None
        ]
        for metric, group_rows in rates.items()
    }
    rates = {metric: group_rows for metric, group_rows in rates.items() if rows_with_rate[metric]}
    if not rates:
        point = scope.operating_point or "any operating point"
        msg = f"no group has an error rate at {point}, so nothing can be drawn"
        raise ConfigError(msg)
    groups = groups_to_draw(scope, _MAX_FOREST_GROUPS)
    names = [*map(scope.group_label, groups)]
    n_columns = 1 if theme.is_narrow else len(rates)
    width = (theme.width - 24 - text_width(names, theme.size)) // n_columns - _RATES_WIDTH
    panels, sentences = [], []
    for panel_index, (metric, group_rows) in enumerate(rates.items()):
        ink = theme.inks.ink if panel_index == 0 or theme.is_narrow else ""
        y = vl.name_axis(names, ink)
        panels.append(_forest_panel(scope, metric, group_rows, groups, y, width, theme))
        pooled = (group_rows.get("pooled") or {}).get("value")
        if pooled is not None:
            sentences.append(f"{RATES[metric]} of all: {percent(pooled)}")
        worst = max(rows_with_rate[metric], key=itemgetter("value"))
        best = min(rows_with_rate[metric], key=itemgetter("value"))
        sentences.append(f"highest {_rate_with_counts(worst)}, lowest {_rate_with_counts(best)}")
    return Drawing(
        theme.styled(theme.arrange(panels, 8), view=_NO_FRAME),
        f"Error rates by group: {shortened(scope.label)} at {shortened(scope.operating_point)}, "
        f"by {shortened(scope.grouping)}",
        full_sentence("rates_with_intervals"),
        full_sentence("forest_signs") + undrawn_sentence(scope, _MAX_FOREST_GROUPS),
        "; ".join(sentences) + ".",
    )


def _forest_panel(
    scope: ChartScope,
    metric: str,
    rates: Mapping[str, Row],
    drawn_groups: Sequence[str],
    y: vl.Spec,
    width: float,
    theme: Theme,
) -> vl.Spec:
    """Return the panel of one error rate."""
    inks = theme.inks
    pooled = (rates.get("pooled") or {}).get("value")
    low, high = _rate_axis_ends(rates, drawn_groups, pooled)
    verdict_rows = table_rows(scope.audit, "verdicts", **scope.point_filters)
    verdicts = {row["group"]: row for row in verdict_rows if row["metric"] == metric}
    rows = [
        _forest_row(scope, rates.get(group), verdicts.get(group), group, low, high)
        for group in drawn_groups
    ]
    floors = _floors(scope, metric) if pooled else {}
    for row, group in zip(rows, drawn_groups, strict=True):
        if group in floors and pooled:
            row["b0"] = max(pooled / floors[group], low)
            row["b1"] = min(pooled * floors[group], high)
    x = vl.log_axis("%", low, high, labelOverlap=True)
    x["scale"]["range"] = [0, width]
    shared_title = {"title": "%"}  # one layer defines the axis, the others share it
    stroke, fill, shape = _verdict_channels(
        theme,
        group_labels=y["scale"]["domain"],
        has_dependent_verdicts=any(row.get("because_of") for row in verdict_rows),
    )
    zero_errors: vl.Spec = {"shape": "triangle-left", "color": inks.muted, "size": 45, "opacity": 1}
    fields = {"g": "group", "n": metric.upper(), "told": "errors / trials", "s": "speakers"}
    tooltip = vl.tooltip({**fields, "is": "verdict"})
    dot = {
        "x": vl.quantitative("v", **x),
        "stroke": stroke,
        "fill": fill,
        "shape": shape,
        **tooltip,
    }
    marks = [
        vl.interval_mark(
            {"x": vl.quantitative("l", **shared_title), "stroke": vl.nominal("is", title=None)},
            width=1.5,
        ),
        vl.mark(
            "point",
            {"x": vl.quantitative("h", **shared_title), **tooltip},
            condition="datum.none",
            **zero_errors,
        ),
        vl.mark("point", dot, condition="datum.v > 0", size=46, strokeWidth=1.5, opacity=1),
        vl.text_beside("n", {}, width, theme),
    ]
    layers = []
    if floors:
        band = {"y": y, "x": vl.quantitative("b0", **shared_title), "x2": {"field": "b1"}}
        layers.append(vl.mark("bar", band, color=inks.band, height={"band": 1}))
    if pooled:
        layers.append(
            vl.dashed_rule({"x": vl.datum(float(f"{pooled:.5g}"), **shared_title)}, inks.ink)
        )
    layers.append({"layer": marks, "encoding": {"y": y}})
    panel_size = {"width": width + _RATES_WIDTH, "height": _FOREST_ROW_HEIGHT * len(drawn_groups)}
    return vl.panel(layers, rows, RATES[metric], **panel_size)


def _rate_axis_ends(
    rates: Mapping[str, Row], drawn_groups: Sequence[str], pooled: float | None
) -> tuple[float, float]:
    """Return the ends of the axis of a panel."""
    # limits far below the pooled rate would leave no room for the rates themselves
    lowest = max((pooled or 0) / 300, 0)
    drawn_rows = [rates[group] for group in drawn_groups if group in rates]
    rates_and_limits = [row[name] for row in drawn_rows for name in ("value", "low", "high")]
    return vl.log_domain(
        [rate for rate in [*rates_and_limits, pooled] if rate is None or rate >= lowest], most=1
    )


def _verdict_channels(
    theme: Theme, *, group_labels: Sequence[str], has_dependent_verdicts: bool
) -> list[vl.Spec]:
    """Return stroke, fill and shape of dots by verdict, with one legend."""
    inks = theme.inks
    states = [*VERDICTS.values(), _TOO_SMALL]
    colours = [inks.bad, inks.good, inks.ink, inks.muted, inks.muted]
    fills = [*colours[:-1], inks.paper]
    if has_dependent_verdicts:
        states.append(_BETTER_WITHOUT_WORST)
        colours.append(inks.good)
        fills.append(inks.paper)
    names_width = text_width(group_labels, theme.size)
    legend = {"columns": theme.legend_columns(states, reserved_width=names_width)}
    shapes = _SHAPES[: len(states)]
    return vl.series_channels("is", states, colours, fills, shapes, legend=legend)


def _floors(scope: ChartScope, metric: str) -> dict[str, float]:
    """Return by group the largest ratio that 95 % of audits show if error rates are equal."""
    rows = [
        row
        for row in table_rows(
            scope.audit, "bias", **scope.point_filters, measure="ratio", zero="none"
        )
        if row["metric"] == metric and row["floor_95"] is not None
    ]
    for reference in ("pooled", *scope.audit.record["options"]["reference"]):
        floors = {row["group"]: row["floor_95"] for row in rows if row["reference"] == reference}
        if floors:
            return floors
    return {}


def _forest_row(
    scope: ChartScope, row: Row | None, verdict: Row | None, group: str, low: float, high: float
) -> Row:
    """Return the drawn row of a group, its interval cut at the ends of the axis."""
    drawn_row: Row = {"group": scope.group_label(group), "g": printable(group)}
    if row is None or row["value"] is None:
        reason = "no trials" if row is None else reason_text(row)
        return {**drawn_row, "n": "–", "told": f"– ({reason})", "is": _TOO_SMALL}
    verdict_label = VERDICTS[(verdict and verdict["verdict"]) or "inconclusive"]
    if verdict and verdict["gates"] and verdict["verdict"] not in {"worse", "better"}:
        verdict_label = _TOO_SMALL
    drawn_row |= {
        "v": float(row["value"]),
        "n": _rate_with_interval(row),
        "told": f"{row['errors']:,} / {row['trials']:,}",
        "is": _BETTER_WITHOUT_WORST if verdict and verdict.get("because_of") else verdict_label,
    }
    if row["speakers"] is not None:
        drawn_row["s"] = f"{row['speakers']:,}"
    if row["value"] == 0 and row["high"] is not None:
        drawn_row["none"] = True
    if row["high"] is not None:
        drawn_row["l"] = float(min(max(row["low"] or 0, low), high))
        drawn_row["h"] = float(min(max(row["high"], low), high))
    return drawn_row


# ---- error rates within each stratum of --within, such as a channel or a language


_MAX_STRATUM_GROUPS = 30
_STRATUM_ROW_HEIGHT = 12
_ALL = "all groups"
_MAX_STRATA = 6


@chart("groups", drawn_per="widest", name="levels")
def rates_by_stratum(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw FNR and FPR of every group within each stratum, side by side."""
    drawn_groups = groups_to_draw(scope, _MAX_STRATUM_GROUPS)
    group_labels = {group: scope.group_label(group) for group in drawn_groups}
    group_labels["pooled"] = _ALL
    by_metric = _rates_within(scope, group_labels)
    strata = [*dict.fromkeys(row["c"] for rows in by_metric.values() for row in rows)]
    names_width = text_width(group_labels.values(), theme.size)
    width = (theme.width - 20 - names_width) // len(by_metric) - 12
    height = _STRATUM_ROW_HEIGHT * len(group_labels) * max(len(strata), 1.5)
    panel_size = {"width": width, "height": height}
    series_styles = theme.colours(len(strata)), theme.shapes(len(strata))
    legend = {"columns": theme.legend_columns(strata, reserved_width=names_width)}
    colour, shape = vl.series_channels("c", strata, *series_styles, legend=legend)
    panels, sentences = [], []
    for panel_index, (metric, rows) in enumerate(by_metric.items()):
        rates = vl.field_values(rows, "vlh")
        low, high = vl.log_domain(rates, most=1)
        # limits far below all rates would leave no room for the rates themselves
        low = max(low, min(row["v"] for row in rows) / 10)
        for row in rows:
            if "l" in row:
                row["l"], row["h"] = max(row["l"], low), min(row["h"], high)
        x = vl.log_axis("%", low, high, labelOverlap=True)
        y = {
            "y": vl.name_axis(group_labels.values(), theme.inks.ink if panel_index == 0 else ""),
            "yOffset": vl.nominal("c", scale={"domain": strata}),
        }
        marks = [
            vl.interval_mark({**y, "x": vl.quantitative("l", **x), "color": colour}, width=1.2),
            vl.dots({**y, "x": vl.quantitative("v", **x), "color": colour, "shape": shape}, 34),
        ]
        panels.append(vl.panel(marks, rows, RATES[metric], **panel_size))
        pooled_rows = [row for row in rows if row["group"] == _ALL]
        sentences += [f"{RATES[metric]} of all, {row['c']}: {row['s']}" for row in pooled_rows]
    return Drawing(
        theme.styled(vl.side_by_side(panels, 12), view=_NO_FRAME),
        f"Within strata: {shortened(scope.label)} at {shortened(scope.operating_point)}, "
        f"by {shortened(scope.grouping)}",
        full_sentence("rates_in_strata"),
        full_sentence("same_differences_in_strata") + undrawn_sentence(scope, _MAX_STRATUM_GROUPS),
        "; ".join(sentences) + ".",
    )


def _rates_within(scope: ChartScope, names: Mapping[str, str]) -> dict[str, list[Row]]:
    """Return rates above 0 within each of the first strata, by metric."""
    by_metric: dict[str, list[Row]] = {}
    filters = {name: value for name, value in scope.point_filters.items() if name != "within"}
    for metric in RATES:
        rows = table_rows(scope.audit, "groups", **filters, metric=metric, definition="")
        rows = [row for row in rows if row["within"] and row["value"] and row["group"] in names]
        strata = [*dict.fromkeys(row["within"] for row in rows)][:_MAX_STRATA]
        drawn_rows = [
            {
                "group": names[row["group"]],
                "c": shortened(row["within"], 30),
                "v": row["value"],
                "s": _rate_with_interval(row),
                **_interval_fields(row),
            }
            for row in rows
            if row["within"] in strata
        ]
        if drawn_rows:
            by_metric[metric] = drawn_rows
    if not by_metric:
        msg = "the audit has no strata"
        hint = "audit again with --within, for example --within channel"
        raise ConfigError(msg, hint)
    return by_metric


# ---- failures to enrol and to acquire


_MAX_FAILURE_GROUPS = 60
_INSET = 7
"""Pixels at the left, so that a dot at 0 does not cover the names."""
_COUNTS_WIDTH = 100
"""Pixels for the counts next to a panel."""
_FAILURE_KINDS = {"fte": "cannot enrol (FTE)", "fta": "cannot be recorded (FTA)"}


@chart("groups", drawn_per="widest")
def failures(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw FTE and FTA of every group with intervals."""
    groups = groups_to_draw(scope, _MAX_FAILURE_GROUPS)
    group_labels = [scope.group_label(group) for group in groups]
    by_metric: dict[str, list[Row]] = {}
    for metric in _FAILURE_KINDS:
        metric_rows = scope.metric_rows(metric)
        for group, name in zip(groups, group_labels, strict=True):
            row = metric_rows.get(group)
            if row is not None and row["value"] is not None:
                counts = f"{row['errors'] or 0:,} / {row['trials'] or 0:,}"
                drawn_row = {
                    "group": name,
                    "v": row["value"],
                    "n": counts,
                    "s": _rate_with_interval(row),
                }
                by_metric.setdefault(metric, []).append(drawn_row | _interval_fields(row))
    if not by_metric:
        msg = "the audit has no failures"
        hint = "audit again with --failures"
        raise ConfigError(msg, hint)
    n_columns = 1 if theme.is_narrow else len(by_metric)
    width = (theme.width - 20 - text_width(group_labels, theme.size)) // n_columns - _COUNTS_WIDTH
    panel_size = {"width": width + _COUNTS_WIDTH, "height": _ROW_HEIGHT * len(group_labels)}
    panels, sentences = [], []
    for panel_index, (metric, rows) in enumerate(by_metric.items()):
        highest = max(float(row["h"] if "h" in row else row["v"]) for row in rows) or 0.01
        x = {
            "title": "%",
            "scale": {"domain": [0, highest * 1.05], "nice": False, "range": [_INSET, width]},
            "axis": {"tickCount": 4, "labelExpr": "format(100 * datum.value, '~r')"},
        }
        y = vl.name_axis(
            group_labels, theme.inks.ink if panel_index == 0 or theme.is_narrow else ""
        )
        marks = [
            vl.interval_mark({"y": y, "x": vl.quantitative("l", **x)}, color=theme.inks.ink),
            vl.dots({"y": y, "x": vl.quantitative("v", **x)}, 44, color=theme.inks.series[0]),
            vl.text_beside("n", {"y": y}, width, theme),
        ]
        panels.append(vl.panel(marks, rows, _FAILURE_KINDS[metric], **panel_size))
        worst = max(rows, key=lambda row: float(row["v"]))
        sentences.append(
            f"{_FAILURE_KINDS[metric]}, highest: {shortened(worst['group'])} {worst['s']}"
        )
    return Drawing(
        theme.styled(theme.arrange(panels, 12), view=_NO_FRAME),
        f"Failures to enrol and to acquire: {shortened(scope.label)} by "
        f"{shortened(scope.grouping)}",
        full_sentence("failure_shares"),
        full_sentence("further_right_is_worse") + undrawn_sentence(scope, _MAX_FAILURE_GROUPS),
        "; ".join(sentences) + ".",
    )
