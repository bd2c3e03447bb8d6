"""Reliability: what log likelihood ratios are said, against what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.decide.fitting_trials import EVERYONE
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import Drawing, cut
from parivox.report.charts.theme import PAPER
from parivox.report.report_files import need
from parivox.report.words import count_text

if TYPE_CHECKING:
    from parivox.decide.calibration import Calibration
    from parivox.report.charts.theme import Theme

_MOST = 11
"""Groups drawn at most, beside everyone."""
_NAMES = {COMMON: "one for all", PER_GROUP: "own"}
_LABELS = 40


def reliability(found: Calibration, theme: Theme = PAPER) -> Drawing:
    """What is said against what is so, on held-out speakers, a panel for each group."""
    inks = theme.inks
    of = {row["group"]: row for row in found.groups.where(rule=PER_GROUP).rows()}
    apart = found.apart
    order = sorted(of, key=lambda name: (name in apart, of[name]["speakers"]), reverse=True)
    drawn = [name for name in order if name != EVERYONE][:_MOST]
    panels = {
        name: f"{cut(name, 24)}{'*' if name in apart else ''}, {count_text(of[name]['speakers'])}"
        for name in (*sorted(drawn), EVERYONE)
    }
    ways = {row["rule"]: _NAMES.get(row["rule"], row["rule"]) for row in found.rules.rows()}
    rows: list[dict[str, Any]] = []
    for row in found.reliability.rows():
        is_same = row["rule"] == PER_GROUP and bool(of[row["group"]]["reason"])
        if row["group"] in panels and row["so"] is not None and not is_same:
            made = {"p": panels[row["group"]], "c": ways[row["rule"]]}
            made |= {"x": row["said"], "y": row["so"]}
            if row["so_low"] is not None:
                made |= {"l": row["so_low"], "h": row["so_high"]}
            rows.append(made)
    reach = max((abs(row[at]) for row in rows for at in "xy"), default=1.0)
    ends = {"domain": [-reach, reach], "nice": True}
    axis = {"tickCount": 5}
    columns = vl.across(len(panels), theme)
    side = min((theme.width - _LABELS) // columns - 18, 260)
    looks = theme.shapes(len(ways)), theme.colours(len(ways))
    legend = {"columns": theme.columns([*ways.values()], beside=_LABELS)}
    shape, colour = vl.drawn_as("c", ways.values(), *looks, legend=legend)
    x = vl.amount("x", title="said (nats)", scale=ends, axis=axis)
    y = vl.amount("y", title="so (nats)", scale=ends, axis=axis)
    here = {"x": x, "y": y, "color": colour}
    bar = {**here, "y": vl.amount("l", title="so (nats)"), "y2": {"field": "h"}}
    diagonal = [{"x": -reach, "y": -reach}, {"x": reach, "y": reach}]
    layers = [
        vl.mark("line", {"x": x, "y": y}, rows=diagonal, color=inks.muted, strokeDash=[4, 3]),
        vl.mark("rule", bar, when="isValid(datum.h)", clip=True, strokeWidth=1.3),
        vl.dots({**here, "shape": shape}, 30),
    ]
    panel = vl.layered(layers, width=side, height=side)
    record = found.record
    return Drawing(
        theme.of(
            {
                **vl.facets(panel, "p", panels.values(), columns, 14),
                "data": vl.inline(rows),
            }
        ),
        f"What log likelihood ratios are worth: {cut(record['system'])} by {cut(record['by'])}",
        "Each point is the trials to which about the same log likelihood ratio is said, on "
        "speakers that the calibrator was not found on: on the dashed line it is so. Below it more "
        "is said than is so, lines are intervals. Behind a name stand its speakers; * marks groups "
        "whose own calibrator can be told from the one for all.",
        f"{len(rows)} points of {len(panels) - 1} groups and of everyone.",
    )


def altair(found: Calibration) -> Any:
    """The same as an Altair chart."""
    need("charts", "altair", "vl_convert")
    import altair as alt  # noqa: PLC0415 - an optional dependency

    return alt.Chart.from_dict(reliability(found).spec)
