"""Options of `monitor`: what is monitored, and how certain an alarm must be."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from parivox.frozen import frozen
from parivox.options.audit import (
    INPUT_SECTION,
    OUTPUT_SECTION,
    READING_SECTION,
    UNCERTAINTY_SECTION,
    AuditOptions,
    ReadOptions,
)
from parivox.options.kinds import CommandOptions, Flag, Number, Text, option, option_like

MONITORING_SECTION = "monitoring"


@frozen(kw_only=True)
class MonitorOptions(ReadOptions):
    """Options of monitoring."""

    by: tuple[str, ...] | None = option_like(
        ReadOptions,
        "by",
        description="attributes that together define one grouping of speakers, for example "
        "`gender`, `gender+nationality` or `age:18,30,60`",
        default_text="the grouping of `--groups`",
        is_repeatable=False,
    )
    within: None = field(default=None, init=False)
    failures: None = field(default=None, init=False)
    state: Any = option(
        MONITORING_SECTION,
        "file with the counts of all days so far; `--new` creates it",
        is_common=True,
        value_type="str | os.PathLike[str]",
    )
    key: Any = option(
        MONITORING_SECTION,
        "file with the secret used to pseudonymise speakers, such as the key of "
        "[`count`](counts.md#sites-that-may-not-share-rows); the state contains pseudonyms but "
        "no other ids",
        is_common=True,
        value_type="str | os.PathLike[str] | None",
    )
    new_key: Any = option(
        MONITORING_SECTION,
        "with `--new`, create a new random secret, write it to this file and use it like `--key`",
        metavar="FILE",
        is_common=True,
        value_type="str | os.PathLike[str] | None",
    )
    day: str | None = option(
        MONITORING_SECTION,
        "date of these trials, such as `2026-11-22`",
        Text,
        metavar="DATE",
        default_text="the date in the file name",
        is_common=True,
    )
    new: bool = option(
        MONITORING_SECTION,
        "begin a stream: create the state file, with this day as the first",
        Flag,
        False,
        is_common=True,
    )
    skipped: bool = option(
        MONITORING_SECTION,
        "record that no trials are known for the days since the last recorded day",
        Flag,
        False,
    )
    limit: tuple[str, ...] = option_like(
        AuditOptions,
        "limit",
        description="maximum allowed FNR of a group: `fnr=5%`",
        section=MONITORING_SECTION,
        is_repeatable=False,
    )
    baseline: Any = option(
        MONITORING_SECTION,
        "saved audit whose group rates are the reference",
        metavar="AUDIT",
        default_text="all earlier days of the same stream; rates are compared from the fifth week "
        "on",
        is_common=True,
        value_type="str | os.PathLike[str] | None",
    )
    # docs/methods/monitoring.md#every-day
    alpha: float = option(
        UNCERTAINTY_SECTION,
        "maximum probability of any false alarm, however often you check",
        Number,
        0.05,
        metavar="CHANCE",
        low=1e-6,
        high=0.5,
        expected="a fraction from 0.000001 to 0.5, for example 0.05",
    )
    margin: float = option(
        UNCERTAINTY_SECTION,
        "largest ratio of two rates that raises no alarm",
        Number,
        1.25,
        metavar="RATIO",
        low=1,
        high=100,
    )
    # docs/methods/monitoring.md#from-day-to-day
    day_sd: float = option(
        UNCERTAINTY_SECTION,
        "day-to-day standard deviation of a group's FNR, relative to the mean, that alarms allow "
        "for. Groups whose rates vary more are [not "
        "judged](monitor.md#days-that-differ)",
        Number,
        0.1,
        metavar="SD",
        low=0,
        high=2,
    )
    # docs/methods/monitoring.md#labels-that-may-be-wrong
    impostors: float = option(
        UNCERTAINTY_SECTION,
        "share of calls that may come from impostors [although labelled "
        "genuine](monitor.md#labels); errors that these calls may explain raise no alarm",
        Number,
        0.0,
        metavar="SHARE",
        low=0,
        high=0.5,
    )


@frozen(kw_only=True)
class MonitorCommand(CommandOptions):
    """The command line of `monitor`."""

    section_order = (
        INPUT_SECTION,
        MONITORING_SECTION,
        UNCERTAINTY_SECTION,
        READING_SECTION,
        OUTPUT_SECTION,
    )

    scores: Any = option(
        INPUT_SECTION,
        "trials of one day with their decisions; if omitted, the current state is shown",
        metavar="TRIALS",
        positional_count="?",
    )
    report: Any = option(
        OUTPUT_SECTION, "write the monitoring report (HTML)", metavar="PAGE", is_common=True
    )
    json: bool = option(OUTPUT_SECTION, "print every number as JSON", Flag, False)
    example: bool = option(
        OUTPUT_SECTION, "print an example file with one day's trials", Flag, False
    )
