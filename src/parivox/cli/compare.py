"""``parivox compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import print_result
from parivox.options.gate import CompareCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox compare release-1/ release-2/
  parivox compare release-1/ release-2/ release-3/ --json
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "compare",
        _run,
        CompareCommand,
        help=words,
        usage="parivox compare OLD NEW... [options]",
        description="Compare the error rates and measures of each group between saved audits of "
        "successive releases.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.decide.releases import compare  # noqa: PLC0415 - what takes time to load
    from parivox.report.releases import print_comparison  # noqa: PLC0415

    print_result(compare(*arguments.audits), print_comparison, json=arguments.json)
