"""A stream in words: which alarms there are, of whom, since when, and what would silence them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.monitoring.daily_tests import BASELINE, BEFORE, LIMIT, MIN_SPEAKERS, OTHERS
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

_AGAINST = {
    OTHERS: "others",
    BEFORE: "before",
    BASELINE: "audit",
    LIMIT: "limit",
}
_TOLD = {
    OTHERS: "all other groups combined",
    BEFORE: "the days before",
    BASELINE: "the audit",
    LIMIT: "the limit",
}
_AS = {OTHERS: "in all other groups combined", BEFORE: "before", BASELINE: "in the audit"}
_MOST = 12
_NAMED = 6


def print_monitor(found: Monitor, page: str | None = None) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(monitor_in_words(found, page))


@group()
def monitor_in_words(found: Monitor, page: str | None = None) -> Iterator[RenderableType]:
    """The answer, each alarm, all groups, how sure it is, what was left out."""
    yield text(what_was_counted(found))
    yield text(headline(found), style="bold", apart=True)
    for words in alarms_in_words(found):
        yield text(words, apart=True)
    yield text("")
    yield from terminal_table(groups_sheet(found, _MOST), lines_above=1, lines_below=1)
    for words in notes(found):
        yield text(words)
    if page is not None:
        yield text(f"Report: {page}", apart=True)


def what_was_counted(found: Monitor) -> str:
    """Days, trials, speakers."""
    record = found.record
    n, by = record["days"], record["settings"]["by"]
    days = (
        f"{record['first']} to {record['last']}, {count_text(n)} days" if n > 1 else record["first"]
    )
    return (
        f"{days} · {count_text(record['trials'])} trials · {count_text(record['speakers'])} "
        "speakers · "
        f"by {by}"
    )


def headline(found: Monitor) -> str:
    """Whether there are alarms, and of whom."""
    rows = [row for _, row, _ in _alarms(found)]
    if not rows:
        reasons = dict.fromkeys(row["reason"] for row in found.groups.rows())
        if "" not in reasons:
            return f"No alarm, as no group is judged: {'; '.join(reasons)}."
        return f"No alarm: no group is shown to have {_no_more_than(found.record['settings'])}."
    sentences = [
        f"false rejects of {row['group']} above the limit"
        if row["against"] == LIMIT
        else f"false rejects {short_number(row['ratio'])} times as frequent among {row['group']} "
        "as "
        f"{_AS[row['against']]}"
        for row in rows
    ]
    return f"Alarm: {'; '.join(shortened_names(sentences, most=_NAMED))}."


def _no_more_than(settings: Row) -> str:
    """Return the rates that no group is shown to exceed."""
    references = [_TOLD[one] for one in settings["against"] if one != LIMIT]
    parts = []
    if references:
        times = (
            f"more than {settings['margin']:g} times " if settings["margin"] > 1 else "more than "
        )
        parts.append(f"{times}the false reject rate of {', or of '.join(references)}")
    if LIMIT in settings["against"]:
        parts.append(f"a false reject rate above the limit of {percent(settings['limit'])}")
    return ", or ".join(parts)


def alarms_in_words(found: Monitor) -> list[str]:
    """A paragraph for each alarm: whom, since when, by how much, and what would silence it."""
    return [_alarm(*one) for one in _alarms(found)]


def _alarms(found: Monitor) -> Iterator[tuple[str, Row, str]]:
    """The day on which each was raised; its row of today, or of that day if it shows no more.

    Last comes what today's row says of it, empty where the alarm is still shown.
    """
    today = {(row["against"], row["group"]): row for row in found.groups.rows()}
    for raised in found.alarms.rows():
        now = today[raised["against"], raised["group"]]
        if now["is_alarm"]:
            yield raised["day"], now, ""
        else:
            why = f"not judged now: {now['reason']}" if now["reason"] else "no longer shown"
            yield raised["day"], raised, f" It is {why}."


def _alarm(raised: str, row: Row, still: str) -> str:
    low, high = row["low"], row["high"]
    group, reference = row["group"], percent(row["reference"])
    rate = (
        f"{percent(row['fnr'])} ({count_text(row['errors'])} of {count_text(row['trials'])} trials"
    )
    rate = f"{rate} of {count_text(row['speakers'])} speakers since {row['since']})"
    if row["against"] == LIMIT:
        ends = [percent(None if one is None else one * row["reference"]) for one in (low, high)]
        sentence = f"The false reject rate of {group} is {rate}, above the limit of {reference} "
        sentence += f"[{ends[0]}, {ends[1]}]"
    else:
        times = f"{short_number(row['ratio'])} times {_ends(low, high)}"
        as_where = f"as frequent among {group} as {_AS[row['against']]}"
        sentence = f"False rejects are {times} {as_where}: {rate}, against {reference}"
    if row["others_ratio"] is not None:
        times = short_number(row["others_ratio"])
        sentence += f"; in the other groups they are {times} times as frequent as before"
    return (
        f"{sentence}. The rise began about {row['changed']}; the alarm was raised on {raised}."
        f"{still} There would be no alarm with {count_text(row['silent_at'])} errors or "
        "fewer, or if "
        f"{percent(row['explained_by'])} of these trials were rejected impostors."
    )


def groups_sheet(found: Monitor, most: int | None = None) -> Sheet:
    """Groups and what they are held against, the surest first."""
    rows = [row for row in found.groups.rows() if not row["reason"]]
    rows.sort(key=lambda row: (not row["is_alarm"], row["chance"], -row["low"]))
    shown = rows[:most]
    left = f" ({len(rows) - len(shown)} more: --json)" if len(shown) < len(rows) else ""
    heads = ("group", "against", "since", "errors/trials", "FNR", "reference", "ratio")
    sheet = Sheet.with_heads(
        f"False rejects of each group, since the week with most evidence of a rise{left}:"
        if rows
        else "No group is judged.",
        heads,
        words=(1, 2, 3),
    )
    keyed = [one._replace(key="counts" * (one.head == heads[3])) for one in sheet.columns]
    sheet = replace(sheet, columns=keyed)  # counts are what a narrow terminal has no room for
    for row in shown:
        times = f"{short_number(row['ratio'])} {_ends(row['low'], row['high'])}"
        sheet.add(
            row["group"],
            _AGAINST[row["against"]],
            row["since"],
            f"{count_text(row['errors'])}/{count_text(row['trials'])}",
            percent(row["fnr"]),
            percent(row["reference"]),
            Cell(times, verdict="worse" if row["is_alarm"] else "cannot_tell"),
        )
    return sheet


def _ends(low: float, high: float | None) -> str:
    """An interval that may have no end."""
    return f"[{short_number(low)}, {'∞' if high is None else short_number(high)}]"


def notes(found: Monitor) -> Iterator[str]:
    """How sure it is, of whom nothing can be told, what was left out, how large the state is."""
    settings = found.record["settings"]
    margin = f" An alarm requires more than {settings['margin']:g} times." * (
        settings["margin"] > 1
    )
    chance = 100 * settings["alpha"]
    sd = settings["day_sd"]
    varying = (
        f", and rates vary from day to day by at most {100 * sd:g} % of their mean (standard "
        "deviation)"
        if sd
        else ", and rates do not vary from day to day"
    )
    yield (
        f"If speakers err independently of each other{varying}, the chance of any false alarm is "
        f"at most {chance:g} %, however often you check, and all intervals hold at once with at "
        f"least {100 - 2 * chance:g} % probability. Groups whose rates are found to vary more from "
        f"day to day are not judged.{margin}"
    )
    if settings["impostors"]:
        yield (
            f"Assumption: at most {100 * settings['impostors']:g} % of the trials of any group "
            "were made by impostors."
        )
    reasons: dict[str, list[str]] = {}
    for row in found.groups.rows():
        if row["reason"]:
            key = f"against {_TOLD[row['against']]} ({row['reason']})"
            reasons.setdefault(key, []).append(row["group"])
    for why, groups in reasons.items():
        every = len(groups) == len(settings["watched"])
        names = "all groups" if every else ", ".join(shortened_names(groups, most=_NAMED))
        yield f"Not judged {why}: {names}."
    small = [one for one in settings["groups"] if one not in settings["watched"]]
    if small:
        names = ", ".join(shortened_names(small, most=_NAMED))
        yield (
            f"Not watched, because fewer than {MIN_SPEAKERS} speakers were known at the start: "
            f"{names}."
        )
    left = found.record.get("left_out", {})
    if left:
        words = ", ".join(f"{count_text(n)} {what}" for what, n in left.items())
        yield f"Trials excluded or repeated on the last day: {words}."
    if not found.record["weeks_left"]:
        yield "A year has passed: only changes since its last week are found. Begin a new state."
    if "bytes" in found.record:
        each = found.record["bytes"] / found.record["speakers"]
        yield f"The state has {count_text(found.record['bytes'])} bytes, {each:.0f} per speaker."
