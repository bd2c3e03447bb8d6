"""The page of a stream: its alarms, each group week by week, and every figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.charts import PAGE, Figure
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import shortened
from parivox.report.html.assembly import as_svg, environment, policy, stylesheet
from parivox.report.monitor import (
    alarms_in_words,
    groups_sheet,
    headline,
    notes,
    what_was_counted,
)
from parivox.report.report_files import check_page
from parivox.runtime.disk import atomic_file, explain_write_errors
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    import os

    from parivox.monitoring.daily_monitor import Monitor

_MOST = 24
_LINES = ("this group", "all other groups combined")


def write_stream(found: Monitor, path: str | os.PathLike[str]) -> None:
    """Write a stream as one self-contained HTML page.

    Raises
    ------
    ConfigError
        If the file cannot be written there, or vl_convert or jinja2 is missing.
    """
    file = check_page(path)
    with stage(f"writing {file.name}"), explain_write_errors(str(file)), atomic_file(file) as aside:
        aside.write_text(stream_page(found), encoding="utf-8", newline="\n")


def stream_page(found: Monitor) -> str:
    """The page, which needs no other file, runs nothing and fetches nothing."""
    style, figure = stylesheet(""), _weeks(found)
    return (
        environment()
        .get_template("stream.html.j2")
        .render(
            headline=headline(found),
            size=what_was_counted(found),
            alarms=alarms_in_words(found),
            figure=as_svg(figure, figure.reading),
            groups=groups_sheet(found).for_report("all groups"),
            notes=list(notes(found)),
            style=style,
            policy=policy([], style),
        )
    )


def _weeks(found: Monitor) -> Figure:
    """FNR of each group in each week, beside that of everyone else."""
    weeks, alarms = found.weeks.rows(), found.alarms.rows()
    sums: dict[str, list[int]] = {}
    rows: list[vl.Spec] = []
    for row in weeks:
        total = sums.setdefault(row["week"], [0, 0])
        total[0] += row["errors"]
        total[1] += row["trials"]
    raised = dict.fromkeys(row["group"] for row in alarms)
    every = [*raised, *(g for g in found.record["settings"]["watched"] if g not in raised)]
    shown = every[:_MOST]
    for row in weeks:
        errors, trials = sums[row["week"]]
        both = ((row["errors"], row["trials"]), (errors - row["errors"], trials - row["trials"]))
        for line, (e, n) in zip(_LINES, both, strict=True):
            if n and row["group"] in shown:
                words = f"{row['week']}: {e} of {n}"
                made = {"g": shortened(row["group"]), "w": row["week"], "y": 100 * e / n, "c": line}
                rows.append(made | {"t": words})
    inks, panels = PAGE.inks, vl.panel_columns(len(shown), PAGE)
    day: vl.Spec = {"field": "w", "type": "temporal", "timeUnit": "utcyearmonthdate"}
    x = day | {"title": None, "axis": {"tickCount": 3, "format": "%d %b", "grid": False}}
    y = vl.quantitative(
        "y", title="FNR, %", scale={"zero": True, "nice": True}, axis={"tickCount": 4}
    )
    colour, dash = vl.series_channels(
        "c",
        _LINES,
        (inks.series[0], inks.muted),
        ([1, 0], [4, 3]),
        legend={"symbolType": "stroke", "columns": 2},
    )
    at = {"x": x, "y": y, "color": colour}
    rate, dot = at | {"strokeDash": dash}, at | vl.tooltip({"t": "week"})
    marks = [
        vl.mark("line", rate, condition="!datum.b", strokeWidth=1.6),
        vl.mark("point", dot, condition="!datum.b", size=14, filled=True, opacity=1),
        vl.mark("rule", {"x": x}, condition="datum.b", color=inks.bad, strokeWidth=1.2),
    ]
    rows += [{"g": shortened(row["group"]), "w": row["changed"], "b": 1} for row in alarms]
    width = (PAGE.width - 60) // panels - 30
    panel = vl.layered(marks, width=width, height=110)
    names = [shortened(group) for group in shown]
    spec = vl.facets(panel, "g", names, panels, 12) | {"data": vl.inline_data(rows)}
    left = len(every) - len(shown)
    return Figure(
        "weeks",
        "groups",
        PAGE.styled(spec),
        "False rejects (FNR) by week",
        "Share of target trials of each group that were rejected in each week; dashed: all other "
        "groups combined. Vertical line: estimated beginning of a rise. Weeks with few trials vary "
        "by chance: only an alarm shows that a rate has risen."
        + (f" {left} more groups are in the table." if left > 0 else ""),
        f"FNR by week of {', '.join(names)}.",
    )
