"""Options of `papers`: items, paper and data.

Classes named for a command hold the options of the command line alone.
"""

from __future__ import annotations

from typing import Any

from parivox.frozen import frozen
from parivox.options.audit import OUTPUT_SECTION
from parivox.options.kinds import CommandOptions, Text, option

SELECTION_SECTION = "selection"


@frozen(kw_only=True)
class PapersListCommand(CommandOptions):
    """The command line of `papers list`."""

    paper: Any = option(
        SELECTION_SECTION,
        "show only this paper: `000`, `001`, `002` or `003`",
        metavar="PAPER",
        positional_count="?",
    )


@frozen(kw_only=True)
class PapersRunCommand(CommandOptions):
    """The command line of `papers run`."""

    paper: Any = option(
        SELECTION_SECTION,
        "paper to reproduce: `000`, `001`, `002` or `003`; if omitted, all four",
        metavar="PAPER",
        positional_count="?",
    )
    table: str | None = option(
        SELECTION_SECTION,
        "number of a table",
        Text,
        metavar="N",
        default_text="all items that can be computed",
    )
    figure: str | None = option(SELECTION_SECTION, "number of a figure", Text, metavar="N")
    claim: str | None = option(
        SELECTION_SECTION,
        "section number of a claim, such as `5.1`",
        Text,
        metavar="N",
    )
    data: Any = option(
        SELECTION_SECTION,
        "folder with the data of bt4vt 1.0.1 and, optionally, the VoxCeleb1 list `veri_test.txt`",
        metavar="DIR",
        default_text="the installed data (`pip install parivox[demo]`)",
    )
    out: Any = option(
        OUTPUT_SECTION,
        "write charts (SVG, PNG), numbers (CSV) and claims (Markdown) to this folder",
        metavar="DIR",
    )
