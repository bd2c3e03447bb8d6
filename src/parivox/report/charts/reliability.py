"""The reliability chart: log-likelihood ratios as stated, against those that the trials show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.decide.fitting_trials import EVERYONE
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.report.catalogue import full_sentence
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import Drawing, shortened
from parivox.report.charts.theme import PAPER
from parivox.report.report_files import check_installed
from parivox.report.words import count_text

if TYPE_CHECKING:
    from parivox.decide.calibration import Calibration
    from parivox.report.charts.theme import Theme

_MAX_GROUPS = 11
"""Groups drawn in addition to all groups pooled."""
_NAMES = {COMMON: "one for all", PER_GROUP: "own"}
_AXIS_WIDTH = 40


def reliability(calibration: Calibration, theme: Theme = PAPER) -> Drawing:
    """Draw stated against observed ratios, on held-out speakers, with a panel for each group."""
    panels = _panel_titles(calibration)
    rule_names = {
        row["rule"]: _NAMES.get(row["rule"], row["rule"]) for row in calibration.rules.rows()
    }
    rows = _rows(calibration, panels, rule_names)
    record = calibration.record
    return Drawing(
        _spec(rows, [*panels.values()], [*rule_names.values()], theme),
        f"Calibration of log-likelihood ratios: {shortened(record['system'])} by "
        f"{shortened(record['by'])}",
        full_sentence("reliability_points"),
        full_sentence("reliability_line"),
        full_sentence("reliability_description", points=len(rows), groups=len(panels) - 1),
    )


def _group_rows(calibration: Calibration) -> dict[str, dict[str, Any]]:
    """Return the row of each group's own calibrator."""
    return {row["group"]: row for row in calibration.groups.subset(rule=PER_GROUP).rows()}


def _panel_titles(calibration: Calibration) -> dict[str, str]:
    """Return the titles of panels by group: groups that differ and large ones come first."""
    group_rows, differing = _group_rows(calibration), calibration.apart
    order = sorted(
        group_rows,
        key=lambda name: (name in differing, group_rows[name]["speakers"]),
        reverse=True,
    )
    drawn = [name for name in order if name != EVERYONE][:_MAX_GROUPS]
    titles = {}
    for name in (*sorted(drawn), EVERYONE):
        star = "*" if name in differing else ""
        titles[name] = f"{shortened(name, 24)}{star}, {count_text(group_rows[name]['speakers'])}"
    return titles


def _rows(
    calibration: Calibration, panels: dict[str, str], rule_names: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the points of the chart, with an interval where there is one."""
    group_rows = _group_rows(calibration)
    points: list[dict[str, Any]] = []
    for row in calibration.reliability.rows():
        if row["group"] not in panels or row["so"] is None:
            continue
        # a group with a reason has no calibrator of its own, so its points are those of all
        if row["rule"] == PER_GROUP and group_rows[row["group"]]["reason"]:
            continue
        point = {"p": panels[row["group"]], "c": rule_names[row["rule"]]}
        point |= {"x": row["said"], "y": row["so"]}
        if row["so_low"] is not None:
            point |= {"l": row["so_low"], "h": row["so_high"]}
        points.append(point)
    return points


def _spec(
    rows: list[dict[str, Any]], panels: list[str], rule_names: list[str], theme: Theme
) -> vl.Spec:
    inks = theme.inks
    reach = max((abs(row[axis]) for row in rows for axis in "xy"), default=1.0)
    scale = {"domain": [-reach, reach], "nice": True}
    axis = {"tickCount": 5}
    columns = vl.panel_columns(len(panels), theme)
    side = min((theme.width - _AXIS_WIDTH) // columns - 18, 260)
    n_rules = len(rule_names)
    legend = {"columns": theme.legend_columns(rule_names, reserved_width=_AXIS_WIDTH)}
    shape, colour = vl.series_channels(
        "c", rule_names, theme.shapes(n_rules), theme.colours(n_rules), legend=legend
    )
    x = vl.quantitative("x", title="said (nats)", scale=scale, axis=axis)
    y = vl.quantitative("y", title="so (nats)", scale=scale, axis=axis)
    position = {"x": x, "y": y, "color": colour}
    bar = {**position, "y": vl.quantitative("l", title="so (nats)"), "y2": {"field": "h"}}
    diagonal = [{"x": -reach, "y": -reach}, {"x": reach, "y": reach}]
    layers = [
        vl.mark("line", {"x": x, "y": y}, rows=diagonal, color=inks.muted, strokeDash=[4, 3]),
        vl.mark("rule", bar, condition="isValid(datum.h)", clip=True, strokeWidth=1.3),
        vl.dots({**position, "shape": shape}, 30),
    ]
    panel = vl.layered(layers, width=side, height=side)
    facets = vl.facets(panel, "p", panels, columns, 14)
    return theme.styled({**facets, "data": vl.inline_data(rows)})


def altair(calibration: Calibration) -> Any:
    """Return the same as an Altair chart."""
    check_installed("charts", "altair", "vl_convert")
    import altair as alt  # noqa: PLC0415 - an optional dependency

    return alt.Chart.from_dict(reliability(calibration).spec)
