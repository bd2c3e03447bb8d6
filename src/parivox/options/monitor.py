"""Options of `monitor`: what is watched, and how sure an alarm is to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parivox.options.audit import READ, TRIALS, UNCERTAINTY, WRITTEN, AuditOptions, ReadOptions
from parivox.options.kinds import Flag, Number, Options, Text, option, same_as

WATCHED = "what is watched"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MonitorOptions(ReadOptions):
    """Options of monitoring."""

    by: tuple[str, ...] | None = same_as(
        ReadOptions,
        "by",
        words="the groups, by one grouping of speakers: `gender`, `gender+nationality`, "
        "`age:18,30,60`",
        without="that of `--groups`",
    )
    within: None = field(default=None, init=False)
    failures: None = field(default=None, init=False)
    state: Any = option(
        WATCHED,
        "file that holds what was counted so far; the first day begins it",
        is_common=True,
        annotated="str | os.PathLike[str]",
    )
    key: Any = option(
        WATCHED,
        "secret by which speakers get other names, the only ones that the state holds; as of "
        "[`count`](counts.md#sites-that-may-not-share-rows)",
        is_common=True,
        annotated="str | os.PathLike[str] | None",
    )
    day: str | None = option(
        WATCHED,
        "of these trials, as in `2026-11-22`",
        Text,
        metavar="DATE",
        without="the date in the name of the file",
        is_common=True,
    )
    skipped: bool = option(
        WATCHED, "no trials are known of the days since the last one", Flag, False
    )
    limit: tuple[str, ...] = same_as(
        AuditOptions,
        "limit",
        words="what the FNR of a group may be at most: `fnr=5%`",
        section=WATCHED,
        is_repeatable=False,
    )
    baseline: Any = option(
        WATCHED,
        "saved audit: rates are held against those of its groups",
        metavar="AUDIT",
        without="against the days before, from the fifth week on",
        is_common=True,
        annotated="str | os.PathLike[str] | None",
    )
    alpha: float = option(
        UNCERTAINTY,
        "chance that there is ever a false alarm, however often one looks",
        Number,
        0.05,
        metavar="CHANCE",
        low=1e-6,
        high=0.5,
        wanted="a fraction from 0.000001 to 0.5, as in 0.05",
    )
    margin: float = option(
        UNCERTAINTY,
        "largest ratio of two rates that is no reason for an alarm",
        Number,
        1.25,
        metavar="RATIO",
        low=1,
        high=100,
    )
    impostors: float = option(
        UNCERTAINTY,
        "share of trials that may be [no genuine ones](monitor.md#labels): no alarm that they may "
        "explain",
        Number,
        0.0,
        metavar="SHARE",
        low=0,
        high=0.5,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MonitorCommand(Options):
    """The command line of `monitor`."""

    order = (TRIALS, WATCHED, UNCERTAINTY, READ, WRITTEN)

    scores: Any = option(
        TRIALS,
        "trials of one day with their decisions; none: the state as it is",
        metavar="TRIALS",
        position="?",
    )
    report: Any = option(WRITTEN, "page of the stream (HTML)", metavar="PAGE", is_common=True)
    json: bool = option(WRITTEN, "print every number as JSON", Flag, False)
    example: bool = option(WRITTEN, "print a day's file to start from", Flag, False)
