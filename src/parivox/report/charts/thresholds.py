"""Each group's own best threshold against the common one, and what the common one costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, kept, left_out, rows_of
from parivox.report.charts.grammar import (
    Spec,
    amount,
    beside_panel,
    heading,
    inline,
    interval,
    layered,
    mark,
    names_down,
    scale,
    word,
)
from parivox.report.charts.theme import room
from parivox.report.words import short, span

if TYPE_CHECKING:
    from parivox.report.charts.theme import Theme

MOST = 60
"""Groups drawn at most."""
_ROW = 17
_WORDS = 100
"""Room for the figures beside a panel."""
_MEASURES = ("threshold_bias", "threshold_bias_cv")
_FOUND = "own threshold found"
_KINDS = {"v": "on the same people", "cv": "on other people"}


@chart("explorer", per="widest", asks=OF_ONE)
def thresholds(chosen: Chosen, theme: Theme) -> Drawing:
    """Own thresholds of smallest cost, and threshold bias.

    See docs/methods/bias-measures.md#threshold-bias.
    """
    inks = theme.inks
    rows, common = _rows(chosen)
    common = float(f"{common:.5g}")
    names = [chosen.marked(row["g"]) for row in rows]
    width = (theme.width - 132 - room(names, theme.size)) // (1 if theme.is_narrow else 2)
    y = names_down(names, inks.ink)
    for row, name in zip(rows, names, strict=True):
        row["group"] = name
    places = [row["t"] for row in rows] + [common]
    pad = (max(places) - min(places)) * 0.08 or abs(common) * 0.1 or 0.1
    ends = [float(f"{end:.5g}") for end in (min(places) - pad, max(places) + pad)]
    x = amount(
        "t",
        title="score",
        scale={"domain": ends, "nice": False, "zero": False},
        axis={"tickCount": 4},
    )
    point: Spec = {"size": 46, "filled": True, "opacity": 1}
    size = {"width": width, "height": _ROW * len(rows)}
    dashed: Spec = {"color": inks.ink, "strokeDash": [4, 3]}
    left = layered(
        [
            mark("rule", {"x": _datum(common, title="score")}, rows=[{}], **dashed),
            mark("rule", {"y": y, "x": x, "x2": {"datum": common}}, color=inks.muted),
            mark("point", {"y": y, "x": x}, color=inks.series[0], shape="diamond", **point),
        ],
        **size,
        title=heading("own best threshold"),
    )
    costs = [row[n] for row in rows for n in ("v", "l", "h", "cv") if n in row]
    low, high = log_domain([*costs, 1.0])
    low, high = max(low, 0.2), max(min(high, 20), 1.5)
    cost = as_logs("times", low, high, percent=False)
    cost["scale"]["range"] = [0, width]
    bare = y if theme.is_narrow else {**y, "axis": None}
    found = [
        {"group": row["group"], "x": row[field], "kind": kind}
        for field, kind in _KINDS.items()
        for row in rows
        if field in row
    ]
    beside = room(names, theme.size) + room([_FOUND], theme.size)
    legend = {"columns": theme.columns([*_KINDS.values()], beside=beside)}
    shape, colour = (
        word("kind", title=_FOUND, scale=scale(_KINDS.values(), drawn_as), legend=legend)
        for drawn_as in (("circle", "diamond"), (inks.ink, inks.series[1]))
    )
    costly = {"y": bare, "x": amount("x", **cost), "shape": shape, "color": colour}
    right = layered(
        [
            mark("rule", {"x": _datum(1, title="times")}, rows=[{}], **dashed),
            interval({"y": bare, "x": amount("l", **cost)}, width=1.2, color=inks.ink),
            mark("point", costly, rows=found, **point),
            beside_panel("s", {"y": bare}, width, theme),
        ],
        **{**size, "width": width + _WORDS},
        title=heading("cost at the common one over own"),
    )
    return Drawing(
        theme.of(
            {**theme.arranged([left, right], 12), "data": inline(rows)}, view={"stroke": None}
        ),
        _words(chosen),
    )


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    rows, common = _rows(chosen)
    most = [row for row in rows if "v" in row][:3]
    parts = [f"common threshold {common:.4g}"] + [
        f"{cut(row['g'])}: own threshold {row['t']:.4g}, cost {short(row['v'])} times {row['s']}"
        for row in most
    ]
    lacking = dict.fromkeys(row["why"] for row in rows if "why" in row)
    unsure = f" Without interval where it is {'; '.join(lacking)}." if lacking else ""
    return Words(
        f"One threshold for all, or each its own: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Left: the score at which each group would cost least; the dashed line is the common "
        "threshold, at which all trials together cost least. Right: how many times its smallest "
        "cost a group has at the common one, with "
        "interval; 1 means that the common threshold costs it nothing. Dots are at least 1 by "
        "construction, and further right for small groups; diamonds, with the own threshold found "
        "on other people of the group, are free of that." + unsure + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _datum(value: float, **more: Any) -> Spec:
    return {"datum": value, "type": "quantitative", **more}


def _rows(chosen: Chosen) -> tuple[list[Row], float]:
    """Groups with their own thresholds, the highest cost of the common one first."""
    model = chosen.audit.record["options"]["cost"][0]
    own = chosen.metric("min_cdet_norm", model)
    asked = {"system": chosen.system, "list": chosen.list, "grouping": "all", "within": ""}
    whole = rows_of(chosen.audit, "groups", **asked, metric="min_cdet_norm", definition=model)
    common = whole[0]["threshold"] if whole else None
    bias: dict[str, dict[str, Row]] = {}
    for measure in _MEASURES:
        for found in rows_of(
            chosen.audit, "bias", **chosen.where, measure=measure, definition=model
        ):
            bias.setdefault(found["group"], {})[measure] = found
    rows: list[Row] = []
    for name in kept(chosen, MOST):
        if own.get(name, {}).get("threshold") is None:
            continue
        row: Row = {"g": name, "t": float(f"{own[name]['threshold']:.5g}"), "s": "–"}
        of = bias.get(name, {})
        main, other = (of.get(measure, {}) for measure in _MEASURES)
        if main.get("value") is not None:
            row |= {"v": main["value"], "s": f"{short(main['value'])} "}
            if main["high"] is None:
                row |= {
                    "s": f"{row['s']}(no interval)",
                    "why": main["note"].removeprefix("no interval: "),
                }
            else:
                row["s"] += span(main["low"], main["high"])
                row |= {"l": main["low"], "h": main["high"]}
        if other.get("value") is not None:
            row["cv"] = other["value"]
        rows.append(row)
    if common is None or not rows:
        msg = f"no group of {chosen.grouping} has a smallest cost at a threshold: nothing to draw"
        raise ConfigError(msg)
    rows.sort(key=lambda row: -row.get("v", 0))
    return rows, float(common)
