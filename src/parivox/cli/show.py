"""``parivox show``: a written audit again, whole or one group of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import printing
from parivox.cli.report import given_context, load_audit, with_labels
from parivox.errors import ConfigError
from parivox.options.audit import ShowCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox show audit/
  parivox show audit/ f m+Norway
  parivox show audit/ --by gender --system V2 --operating-point fpr=0.001 -v
  parivox show audit/ --notes
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


def _run(arguments: argparse.Namespace) -> None:
    from parivox.report.selection import group_details, narrowed_audit  # noqa: PLC0415 - what takes time to load
    from parivox.report.terminal import print_notes, print_summary  # noqa: PLC0415
    from parivox.report.words import print_text  # noqa: PLC0415

    if arguments.group and arguments.verbose:
        msg = "-v applies only to the summary: a group is always shown in full"
        hint = "leave out -v or the group"
        raise ConfigError(msg, hint)
    if arguments.notes and (arguments.group or arguments.verbose):
        msg = "--notes shows notes of the whole audit"
        hint = "leave out the groups and -v"
        raise ConfigError(msg, hint)
    selection = {name: getattr(arguments, name) for name in ("system", "by", "operating_point")}
    audit = narrowed_audit(
        with_labels(load_audit(arguments.audit), given_context(arguments)), **selection
    )
    with printing():
        if arguments.notes:
            print_notes(audit)
        elif arguments.group:
            print_text(group_details(audit, arguments.group))
        else:
            print_summary(audit, out=Path(arguments.audit), details=arguments.verbose)
