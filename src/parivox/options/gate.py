"""Options of `gate` and `compare`: which audits, what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parivox.options.audit import WRITTEN, ReportCommand
from parivox.options.kinds import Flag, Options, option, same_as

HELD = "what is held against what"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateCommand(Options):
    """The command line of `gate`."""

    audit: Any = same_as(ReportCommand, "audit", section=HELD, position="?")
    policy: Any = option(HELD, "the [policy](gate.md#what-a-policy-says) (YAML)")
    baseline: Any = option(
        HELD,
        "audit of the release before, for conditions that ask for one",
        metavar="OLD",
    )
    markdown: Any = option(WRITTEN, "summary for the page of a CI job")
    junit: Any = option(WRITTEN, "JUnit XML: a test for each condition and group")
    json: bool = option(WRITTEN, "print everything as JSON", Flag, False)
    example: bool = option(WRITTEN, "print a policy to start from", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareCommand(Options):
    """The command line of `compare`."""

    audits: Any = option(
        HELD,
        "folders of two audits or more, the oldest release first",
        metavar="AUDIT",
        position="+",
    )
    json: bool = option(WRITTEN, "print every number as JSON", Flag, False)
