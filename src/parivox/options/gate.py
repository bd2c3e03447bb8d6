"""Options of `gate` and `compare`: which audits, what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parivox.options.audit import WRITTEN, ReportCommand
from parivox.options.kinds import Flag, Options, option, same_as

HELD = "comparison"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateCommand(Options):
    """The command line of `gate`."""

    audit: Any = same_as(ReportCommand, "audit", section=HELD, position="?")
    policy: Any = option(HELD, "[policy](gate.md#what-a-policy-says) (YAML)")
    baseline: Any = option(
        HELD,
        "saved audit of the previous release, for conditions that compare with it",
        metavar="OLD",
    )
    markdown: Any = option(WRITTEN, "write a Markdown summary for the page of a CI job")
    junit: Any = option(WRITTEN, "write JUnit XML with one test per condition and group")
    json: bool = option(WRITTEN, "print all results as JSON", Flag, False)
    example: bool = option(WRITTEN, "print an example policy", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareCommand(Options):
    """The command line of `compare`."""

    audits: Any = option(
        HELD,
        "folders of two or more saved audits, the oldest release first",
        metavar="AUDIT",
        position="+",
    )
    json: bool = option(WRITTEN, "print every number as JSON", Flag, False)
