"""The HTML report of a stream: its alarms, each group week by week, and every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.catalogue import full_sentence
from parivox.report.charts import PAGE, Figure
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import shortened
from parivox.report.html.assembly import embedded_figure, environment, policy, stylesheet
from parivox.report.monitor import (
    alarm_sentences,
    groups_sheet,
    headline,
    notes,
    trial_counts_line,
)
from parivox.report.report_files import check_report
from parivox.runtime.disk import atomic_file, explain_write_errors
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    import os

    from parivox.monitoring.daily_monitor import Monitor

_MAX_PANELS = 24
_LINE_NAMES = ("this group", "all other groups combined")


def write_stream(monitor: Monitor, path: str | os.PathLike[str]) -> None:
    """Write a stream as one self-contained HTML page.

    Raises
    ------
    ConfigError
        If the file cannot be written there, or vl_convert or jinja2 is missing.
    """
    file = check_report(path)
    with (
        stage(f"writing {file.name}"),
        explain_write_errors(str(file)),
        atomic_file(file) as temporary,
    ):
        temporary.write_text(stream_report(monitor), encoding="utf-8", newline="\n")


def stream_report(monitor: Monitor) -> str:
    """Return the report, which needs no other file, has no scripts and fetches nothing."""
    style, figure = stylesheet(""), _weekly_rates(monitor)
    return (
        environment()
        .get_template("stream.html.j2")
        .render(
            headline=headline(monitor),
            size=trial_counts_line(monitor),
            alarms=alarm_sentences(monitor),
            figure=embedded_figure(figure, figure.reading),
            groups=groups_sheet(monitor).for_report("all groups"),
            notes=list(notes(monitor)),
            style=style,
            policy=policy([], style),
        )
    )


def _weekly_rates(monitor: Monitor) -> Figure:
    """Draw FNR of each group in each week, with that of all other groups combined."""
    weeks, alarms = monitor.weeks.rows(), monitor.alarms.rows()
    sums: dict[str, list[int]] = {}
    rows: list[vl.Spec] = []
    for row in weeks:
        total = sums.setdefault(row["week"], [0, 0])
        total[0] += row["errors"]
        total[1] += row["trials"]
    raised = dict.fromkeys(row["group"] for row in alarms)
    all_groups = [
        *raised,
        *(watched for watched in monitor.record["settings"]["watched"] if watched not in raised),
    ]
    drawn_groups = all_groups[:_MAX_PANELS]
    for row in weeks:
        errors, trials = sums[row["week"]]
        counts_by_line = (
            (row["errors"], row["trials"]),
            (errors - row["errors"], trials - row["trials"]),
        )
        for line_name, (n_errors, n_trials) in zip(_LINE_NAMES, counts_by_line, strict=True):
            if n_trials and row["group"] in drawn_groups:
                week_text = f"{row['week']}: {n_errors} of {n_trials}"
                drawn_row = {
                    "g": shortened(row["group"]),
                    "w": row["week"],
                    "y": 100 * n_errors / n_trials,
                    "c": line_name,
                }
                rows.append(drawn_row | {"t": week_text})
    inks, panels = PAGE.inks, vl.panel_columns(len(drawn_groups), PAGE)
    week_channel: vl.Spec = {"field": "w", "type": "temporal", "timeUnit": "utcyearmonthdate"}
    x = week_channel | {"title": None, "axis": {"tickCount": 3, "format": "%d %b", "grid": False}}
    y = vl.quantitative(
        "y", title="FNR, %", scale={"zero": True, "nice": True}, axis={"tickCount": 4}
    )
    colour, dash = vl.series_channels(
        "c",
        _LINE_NAMES,
        (inks.series[0], inks.muted),
        ([1, 0], [4, 3]),
        legend={"symbolType": "stroke", "columns": 2},
    )
    position = {"x": x, "y": y, "color": colour}
    line_channels, dot_channels = (
        position | {"strokeDash": dash},
        position | vl.tooltip({"t": "week"}),
    )
    marks = [
        vl.mark("line", line_channels, condition="!datum.b", strokeWidth=1.6),
        vl.mark("point", dot_channels, condition="!datum.b", size=14, filled=True, opacity=1),
        vl.mark("rule", {"x": x}, condition="datum.b", color=inks.bad, strokeWidth=1.2),
    ]
    rows += [{"g": shortened(row["group"]), "w": row["changed"], "b": 1} for row in alarms]
    width = (PAGE.width - 60) // panels - 30
    panel = vl.layered(marks, width=width, height=110)
    names = [shortened(group) for group in drawn_groups]
    spec = vl.facets(panel, "g", names, panels, 12) | {"data": vl.inline_data(rows)}
    n_undrawn = len(all_groups) - len(drawn_groups)
    return Figure(
        "weeks",
        "groups",
        PAGE.styled(spec),
        "False rejects (FNR) by week",
        full_sentence("weekly_rates_chart"),
        full_sentence("weekly_rates_note")
        + (" " + full_sentence("more_groups_in_table", groups=n_undrawn) if n_undrawn > 0 else ""),
        full_sentence("weekly_rates_title", groups=", ".join(names)),
    )
