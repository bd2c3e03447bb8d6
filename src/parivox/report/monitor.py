"""Monitoring in words: which alarms there are, for which groups, since when, and how sure.

The terminal prints them, and the report of a stream has the same sentences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.monitoring.daily_tests import BASELINE, BEFORE, LIMIT, MIN_SPEAKERS, OTHERS
from parivox.report.catalogue import cell_text, full_sentence, reason_text, sentence_text
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.words import (
    count_text,
    percent,
    print_text,
    short_number,
    shortened_names,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.monitoring.daily_monitor import Monitor

    Row = dict[str, Any]

_REFERENCE_HEADS = {
    OTHERS: "others",
    BEFORE: "before",
    BASELINE: "audit",
    LIMIT: "limit",
}
_REFERENCE_NAMES = {
    OTHERS: "all other groups combined",
    BEFORE: "the days before",
    BASELINE: "the audit",
    LIMIT: "the limit",
}
_REFERENCE_CLAUSES = {
    OTHERS: "in all other groups combined",
    BEFORE: "before",
    BASELINE: "in the audit",
}
_MAX_ROWS = 12
_MAX_NAMED_GROUPS = 6


def print_monitor(monitor: Monitor, page: str | None = None) -> None:
    """Print the state of a monitor: with colours in a terminal, plain lines elsewhere."""
    print_text(monitor_summary(monitor, page))


@group()
def monitor_summary(monitor: Monitor, page: str | None = None) -> Iterator[RenderableType]:
    """Yield the answer, each alarm, all groups, how sure it is, what was excluded."""
    yield text(trial_counts_line(monitor))
    yield text(headline(monitor), style="bold", apart=True)
    for words in alarm_sentences(monitor):
        yield text(words, apart=True)
    yield text("")
    yield from terminal_table(groups_sheet(monitor, _MAX_ROWS), lines_above=1, lines_below=1)
    for words in notes(monitor):
        yield text(words)
    if page is not None:
        yield text(f"Report: {page}", apart=True)


def trial_counts_line(monitor: Monitor) -> str:
    """Return how many days, trials and speakers were monitored."""
    record = monitor.record
    n_days, attributes = record["days"], record["settings"]["by"]
    days = record["first"]
    if n_days > 1:
        days = f"{record['first']} to {record['last']}, {count_text(n_days)} days"
    return (
        f"{days} · {count_text(record['trials'])} trials · {count_text(record['speakers'])} "
        f"speakers · by {attributes}"
    )


def headline(monitor: Monitor) -> str:
    """Return whether there are alarms, and for which groups."""
    rows = [row for _, row, _ in _alarm_rows(monitor)]
    if not rows:
        reasons = dict.fromkeys(reason_text(row) for row in monitor.groups.rows())
        if "" not in reasons:
            return full_sentence("no_group_judged", reasons="; ".join(reasons))
        return full_sentence("no_alarm", rates=_no_alarm_clauses(monitor.record["settings"]))
    clauses = [_alarm_clause(row) for row in rows]
    return f"Alarm: {'; '.join(shortened_names(clauses, most=_MAX_NAMED_GROUPS))}."


def _alarm_clause(row: Row) -> str:
    """Return what an alarm is about, in a few words."""
    if row["against"] == LIMIT:
        return sentence_text(
            "alarm_against_limit", group=row["group"], ratio=short_number(row["ratio"])
        )
    return sentence_text(
        "alarm_against_rate",
        ratio=short_number(row["ratio"]),
        group=row["group"],
        reference=_REFERENCE_CLAUSES[row["against"]],
    )


def _no_alarm_clauses(settings: Row) -> str:
    """Return the rates that no group is shown to exceed."""
    references = [_REFERENCE_NAMES[code] for code in settings["against"] if code != LIMIT]
    clauses = []
    if references:
        times = "more than "
        if settings["margin"] > 1:
            times = f"more than {settings['margin']:g} times "
        clauses.append(f"{times}the false reject rate of {', or of '.join(references)}")
    if LIMIT in settings["against"]:
        clauses.append(f"a false reject rate above the limit of {percent(settings['limit'])}")
    return ", or ".join(clauses)


def alarm_sentences(monitor: Monitor) -> list[str]:
    """Return a paragraph for each alarm: which group, since when, and what would silence it."""
    return [_alarm_sentence(*alarm_row) for alarm_row in _alarm_rows(monitor)]


def _alarm_rows(monitor: Monitor) -> Iterator[tuple[str, Row, str]]:
    """Yield the day of each alarm; its row of today, or of that day if it is no longer shown.

    Last comes what today's row says of it, empty where the alarm is still shown.
    """
    today = {(row["against"], row["group"]): row for row in monitor.groups.rows()}
    for raised in monitor.alarms.rows():
        row_today = today[raised["against"], raised["group"]]
        if row_today["is_alarm"]:
            yield raised["day"], row_today, ""
        else:
            state = " " + full_sentence("rise_no_longer_shown")
            if row_today["reason"]:
                state = " " + full_sentence("group_not_judged_today", reason=reason_text(row_today))
            yield raised["day"], raised, state


def _alarm_sentence(raised: str, row: Row, present_state: str) -> str:
    """Return an alarm in sentences."""
    low, high = row["low"], row["high"]
    group, reference = row["group"], percent(row["reference"])
    counts = (
        f"({count_text(row['errors'])} of {count_text(row['trials'])} trials of "
        f"{count_text(row['speakers'])} speakers since {row['since']})"
    )
    if row["against"] == LIMIT:
        # the interval is of the ratio to the limit: as a rate, it is that many times the limit
        lowest, highest = (
            percent(None if ratio is None else ratio * row["reference"]) for ratio in (low, high)
        )
        sentence = full_sentence(
            "alarm_above_limit",
            group=group,
            fnr=percent(row["fnr"]),
            low=lowest,
            high=highest,
            reference=reference,
            counts=counts,
        )
    else:
        times = f"{short_number(row['ratio'])} times {_interval_text(low, high)}"
        as_where = f"as frequent among {group} as {_REFERENCE_CLAUSES[row['against']]}"
        sentence = full_sentence(
            "alarm_of_group",
            times=times,
            relation=as_where,
            fnr=percent(row["fnr"]),
            counts=counts,
            reference=reference,
        )
    if row["others_ratio"] is not None:
        times = short_number(row["others_ratio"])
        sentence += " " + full_sentence("other_groups_rise", times=times)
    return full_sentence(
        "alarm_paragraph",
        sentence=sentence,
        day=row["changed"],
        alarm_day=raised,
        state=present_state,
        errors=count_text(row["silent_at"]),
        impostors=percent(row["explained_by"]),
    )


def groups_sheet(monitor: Monitor, max_rows: int | None = None) -> Sheet:
    """Return groups with what they are held against, the surest alarms first."""
    rows = [row for row in monitor.groups.rows() if not row["reason"]]
    rows.sort(key=lambda row: (not row["is_alarm"], row["chance"], -row["low"]))
    shown = rows[:max_rows]
    n_hidden = len(rows) - len(shown)
    hidden_text = f" ({n_hidden} more: --json)" if n_hidden else ""
    title = full_sentence("no_group_is_judged")
    if rows:
        title = (
            "False rejects of each group, since the week with the most evidence of a "
            f"rise{hidden_text}:"
        )
    heads = ("group", "against", "since", "errors/trials", "FNR", "reference", "ratio")
    sheet = Sheet.with_heads(title, heads, words=(1, 2, 3))
    # in a narrow terminal, counts are left out
    columns = [
        column._replace(key="counts" if column.head == "errors/trials" else "")
        for column in sheet.columns
    ]
    sheet = replace(sheet, columns=columns)
    for row in shown:
        times = f"{short_number(row['ratio'])} {_interval_text(row['low'], row['high'])}"
        sheet.add(
            row["group"],
            _REFERENCE_HEADS[row["against"]],
            row["since"],
            f"{count_text(row['errors'])}/{count_text(row['trials'])}",
            percent(row["fnr"]),
            percent(row["reference"]),
            Cell(times, verdict="worse" if row["is_alarm"] else "inconclusive"),
        )
    return sheet


def _interval_text(low: float, high: float | None) -> str:
    """Return an interval that may have no upper end."""
    return f"[{short_number(low)}, {'∞' if high is None else short_number(high)}]"


def notes(monitor: Monitor) -> Iterator[str]:
    """Yield how sure it is, which groups are not judged, what was excluded, and the size."""
    settings = monitor.record["settings"]
    yield _false_alarm_sentence(settings)
    if settings["impostors"]:
        yield full_sentence("impostor_assumption", impostors=100 * settings["impostors"])
    yield from _not_judged_sentences(monitor)
    excluded = monitor.record.get("left_out", ())
    if excluded:
        words = ", ".join(map(_excluded_text, excluded))
        yield full_sentence("trials_excluded_or_repeated", counts=words)
    if not monitor.record["weeks_left"]:
        yield full_sentence("late_rises")
    if "bytes" in monitor.record:
        n_bytes = monitor.record["bytes"]
        bytes_per_speaker = n_bytes / monitor.record["speakers"]
        yield full_sentence(
            "state_size", size=count_text(n_bytes), size_per_speaker=bytes_per_speaker
        )


def _excluded_text(entry: Row) -> str:
    """Return what was excluded or repeated on a day."""
    words = f"{count_text(entry['count'])} {cell_text(entry['item'])}"
    return f"{words} ({cell_text(entry['note'])})" if entry["note"] else words


def _false_alarm_sentence(settings: Row) -> str:
    """Return the chance of a false alarm, and under which conditions it holds."""
    margin = ""
    if settings["margin"] > 1:
        margin = " " + full_sentence("alarm_margin", margin=settings["margin"])
    alarm_percent = 100 * settings["alpha"]
    varying = sentence_text("no_daily_variation")
    if settings["day_sd"]:
        varying = sentence_text("daily_variation", percent=100 * settings["day_sd"])
    return sentence_text(
        "false_alarm_chance",
        variation=varying,
        alarm_percent=alarm_percent,
        interval_percent=100 - 2 * alarm_percent,
        margin=margin,
    )


def _not_judged_sentences(monitor: Monitor) -> Iterator[str]:
    """Yield which groups are not judged, by reason, and which are not watched."""
    settings = monitor.record["settings"]
    reasons: dict[str, list[str]] = {}
    for row in monitor.groups.rows():
        if row["reason"]:
            key = f"against {_REFERENCE_NAMES[row['against']]}, {reason_text(row)}"
            reasons.setdefault(key, []).append(row["group"])
    for reason, groups in reasons.items():
        names = ", ".join(shortened_names(groups, most=_MAX_NAMED_GROUPS))
        if len(groups) == len(settings["watched"]):
            names = "all groups"
        yield f"Not judged {reason}: {names}."
    small = [name for name in settings["groups"] if name not in settings["watched"]]
    if small:
        names = ", ".join(shortened_names(small, most=_MAX_NAMED_GROUPS))
        yield full_sentence("small_groups_not_watched", speakers=MIN_SPEAKERS, groups=names)
