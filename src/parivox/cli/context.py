"""``parivox context``: a context file to fill in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import printing

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox context > context.yaml
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command."""
    add_command(
        commands,
        "context",
        _run,
        help=words,
        usage="parivox context > FILE",
        description="Print a template for the audit context: purpose, population and decisions of "
        "the audit, and labels of its groups, systems and operating points.",
        examples=EXAMPLES,
    )


def _run(_: argparse.Namespace) -> None:
    from parivox.report.context import starter  # noqa: PLC0415 - on request

    with printing():
        sys.stdout.write(starter())
