"""A stream in words: which alarms there are, of whom, since when, and what would silence them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import group

from parivox.monitoring.watching import BASELINE, BEFORE, LEAST, LIMIT, OTHERS
from parivox.report.sheets.sheet import Cell, Sheet, in_terminal
from parivox.report.words import listed, number, percent, short, show, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.monitoring.monitor import Monitor

    Row = dict[str, Any]

_AGAINST = {
    OTHERS: "others",
    BEFORE: "before",
    BASELINE: "audit",
    LIMIT: "limit",
}
_TOLD = {
    OTHERS: "everyone else",
    BEFORE: "the days before",
    BASELINE: "the audit",
    LIMIT: "the limit",
}
_THAN = {OTHERS: "everyone else", BEFORE: "before", BASELINE: "in the audit"}
_MOST = 12
_NAMED = 6


def print_monitor(found: Monitor, page: str | None = None) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    show(monitor_in_words(found, page))


@group()
def monitor_in_words(found: Monitor, page: str | None = None) -> Iterator[RenderableType]:
    """The answer, each alarm, all groups, how sure it is, what was left out."""
    yield text(what_was_counted(found))
    yield text(headline(found), style="bold", apart=True)
    for words in alarms_in_words(found):
        yield text(words, apart=True)
    yield text("")
    yield from in_terminal(groups_sheet(found, _MOST), above=1, below=1)
    for words in notes(found):
        yield text(words)
    if page is not None:
        yield text(f"The page: {page}", apart=True)


def what_was_counted(found: Monitor) -> str:
    """Days, trials, speakers."""
    record = found.record
    n, by = record["days"], record["settings"]["by"]
    days = f"{record['first']} to {record['last']}, {number(n)} days" if n > 1 else record["first"]
    return (
        f"{days} · {number(record['trials'])} trials · {number(record['speakers'])} speakers · "
        f"by {by}"
    )


def headline(found: Monitor) -> str:
    """Whether there are alarms, and of whom."""
    rows = [row for _, row, _ in _alarms(found)]
    if not rows:
        than = [_THAN.get(one, "the limit allows") for one in found.record["settings"]["against"]]
        return f"No alarm: no group is shown to be locked out more often than {', or '.join(than)}."
    said = [
        f"{row['group']} locked out {short(row['ratio'])} times as often as "
        f"{_THAN.get(row['against'], 'the limit allows')}"
        for row in rows
    ]
    return f"Alarm: {'; '.join(listed(said, most=_NAMED))}."


def alarms_in_words(found: Monitor) -> list[str]:
    """A paragraph for each alarm: whom, since when, by how much, and what would silence it."""
    return [_alarm(*one) for one in _alarms(found)]


def _alarms(found: Monitor) -> Iterator[tuple[str, Row, bool]]:
    """The day on which each was raised; its row of today, or of that day if it shows no more."""
    today = {(row["against"], row["group"]): row for row in found.groups.rows()}
    for raised in found.alarms.rows():
        now = today[raised["against"], raised["group"]]
        yield raised["day"], now if now["is_alarm"] else raised, now["is_alarm"]


def _alarm(raised: str, row: Row, is_shown: bool) -> str:  # noqa: FBT001
    low, high = row["low"], row["high"]
    group, reference = row["group"], percent(row["reference"])
    rate = f"{percent(row['fnr'])} ({number(row['errors'])} of {number(row['trials'])} trials"
    rate = f"{rate} of {number(row['speakers'])} speakers since {row['since']})"
    if row["against"] == LIMIT:
        ends = [percent(None if one is None else one * row["reference"]) for one in (low, high)]
        said = f"{group} is locked out in {rate}, above the limit of {reference} "
        said += f"[{ends[0]}, {ends[1]}]"
    else:
        times = f"{short(row['ratio'])} times {_ends(low, high)} as often as"
        said = f"{group} is locked out {times} {_THAN[row['against']]}: {rate}, not {reference}"
    if row["others_ratio"] is not None:
        said += f"; everyone else {short(row['others_ratio'])} times as often as before"
    still = "" if is_shown else " It shows no more."
    return (
        f"{said}. It began about {row['changed']}; raised {raised}.{still} It would not stand "
        f"with {number(row['silent_at'])} errors or fewer, nor if {percent(row['explained_by'])} "
        "of these trials were impostors' who were rejected."
    )


def groups_sheet(found: Monitor, most: int | None = None) -> Sheet:
    """Groups and what they are held against, the surest first."""
    rows = [row for row in found.groups.rows() if not row["reason"]]
    rows.sort(key=lambda row: (not row["is_alarm"], row["chance"], -row["low"]))
    shown = rows[:most]
    left = f" ({len(rows) - len(shown)} more: --json)" if len(shown) < len(rows) else ""
    heads = ("group", "against", "since", "errors/trials", "FNR", "there", "times")
    sheet = Sheet.headed(
        f"Locked out, each group since the week from which most speaks for a rise{left}:"
        if rows
        else "Nothing can be told yet.",
        heads,
        words=(1, 2, 3),
    )
    keyed = [one._replace(key="counts" * (one.head == heads[3])) for one in sheet.columns]
    sheet = replace(sheet, columns=keyed)  # counts are what a narrow terminal has no room for
    for row in shown:
        times = f"{short(row['ratio'])} {_ends(row['low'], row['high'])}"
        sheet.add(
            row["group"],
            _AGAINST[row["against"]],
            row["since"],
            f"{number(row['errors'])}/{number(row['trials'])}",
            percent(row["fnr"]),
            percent(row["reference"]),
            Cell(times, verdict="worse" if row["is_alarm"] else "cannot_tell"),
        )
    return sheet


def _ends(low: float, high: float | None) -> str:
    """An interval that may have no end."""
    return f"[{short(low)}, {'∞' if high is None else short(high)}]"


def notes(found: Monitor) -> Iterator[str]:
    """How sure it is, of whom nothing can be told, what was left out, how large the state is."""
    settings = found.record["settings"]
    margin = f" An alarm takes more than {settings['margin']:g} times." * (settings["margin"] > 1)
    yield (
        "Intervals hold on every day and for all groups at once, but for a chance of "
        f"{100 * settings['alpha']:g} %.{margin}"
    )
    if settings["impostors"]:
        yield (
            f"Taken for granted: at most {100 * settings['impostors']:g} % of the trials of any "
            "group were impostors'."
        )
    reasons: dict[str, list[str]] = {}
    for row in found.groups.rows():
        if row["reason"]:
            key = f"against {_TOLD[row['against']]} ({row['reason']})"
            reasons.setdefault(key, []).append(row["group"])
    for why, groups in reasons.items():
        every = len(groups) == len(settings["watched"])
        names = "any group" if every else ", ".join(listed(groups, most=_NAMED))
        yield f"Can't be told {why}: {names}."
    small = [one for one in settings["groups"] if one not in settings["watched"]]
    if small:
        names = ", ".join(listed(small, most=_NAMED))
        yield f"Not watched, as fewer than {LEAST} speakers were known when it was begun: {names}."
    left = found.record.get("left_out", {})
    if left:
        words = ", ".join(f"{number(n)} {what}" for what, n in left.items())
        yield f"Left out of the last day: {words}."
    if not found.record["weeks_left"]:
        yield "A year is over: changes are looked for from its last week on; begin a new state."
    if "bytes" in found.record:
        each = found.record["bytes"] / found.record["speakers"]
        yield f"The state has {number(found.record['bytes'])} bytes, {each:.0f} per speaker."
