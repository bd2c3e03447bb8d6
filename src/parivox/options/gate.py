"""Options of `gate` and `compare`: audits and output."""

from __future__ import annotations

from typing import Any

from parivox.frozen import frozen
from parivox.options.audit import OUTPUT_SECTION, ReportCommand
from parivox.options.kinds import CommandOptions, Flag, option, option_like

COMPARISON_SECTION = "comparison"


@frozen(kw_only=True)
class GateCommand(CommandOptions):
    """The command line of `gate`."""

    audit: Any = option_like(
        ReportCommand, "audit", section=COMPARISON_SECTION, positional_count="?"
    )
    policy: Any = option(
        COMPARISON_SECTION,
        "[policy](gate.md#what-a-policy-says) (YAML) with the conditions to check",
    )
    baseline: Any = option(
        COMPARISON_SECTION,
        "saved audit of the previous release, for conditions that compare with it (`than: "
        "baseline`)",
        metavar="OLD",
    )
    markdown: Any = option(OUTPUT_SECTION, "write a Markdown summary for a CI job page")
    junit: Any = option(OUTPUT_SECTION, "write JUnit XML with one test per condition and group")
    json: bool = option(OUTPUT_SECTION, "print all results as JSON", Flag, False)
    example: bool = option(OUTPUT_SECTION, "print an example policy", Flag, False)


@frozen(kw_only=True)
class CompareCommand(CommandOptions):
    """The command line of `compare`."""

    audits: Any = option(
        COMPARISON_SECTION,
        "folders of two or more saved audits, the oldest release first",
        metavar="AUDIT",
        positional_count="+",
    )
    json: bool = option(OUTPUT_SECTION, "print every number as JSON", Flag, False)
