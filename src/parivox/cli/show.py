"""``parivox show``: a written audit again, whole or one group of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import printing
from parivox.cli.report import context_of, labelled_by, loaded
from parivox.errors import ConfigError
from parivox.options.audit import ShowCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox show audit/
  parivox show audit/ f m+Norway
  parivox show audit/ --by gender --system V2 --operating-point fpr=0.001 -v
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "show",
        _run,
        ShowCommand,
        help=words,
        usage="parivox show AUDIT [GROUP...] [options]",
        description="Print the summary of a saved audit, or all results for selected groups.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.report.selection import group_details, narrowed_audit  # noqa: PLC0415 - what takes time to load
    from parivox.report.terminal import print_summary  # noqa: PLC0415
    from parivox.report.words import print_text  # noqa: PLC0415

    if given.group and given.verbose:
        msg = "-v is of the summary, and a group is told whole; leave one of them out"
        raise ConfigError(msg)
    chosen = {name: getattr(given, name) for name in ("system", "by", "operating_point")}
    audit = narrowed_audit(labelled_by(loaded(given.audit), context_of(given)), **chosen)
    with printing():
        if given.group:
            print_text(group_details(audit, given.group))
        else:
            print_summary(audit, out=Path(given.audit), details=given.verbose)
