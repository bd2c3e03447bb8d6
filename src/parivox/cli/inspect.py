"""``parivox inspect``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_standard_input, given_options
from parivox.cli.process import print_json, printing
from parivox.options.audit import InspectCommand, InspectOptions, ProgressCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox inspect scores.txt people.xlsx
  parivox inspect scores.csv trials.txt calls.csv speakers.csv failures.csv
  zcat scores.gz | parivox inspect -
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "inspect",
        _run,
        *(InspectOptions, InspectCommand, ProgressCommand),
        help=words,
        usage="parivox inspect FILE... [options]",
        description="Tell what files hold, how they fit together and what is odd, before an audit.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.auditing.inspection import inspect  # noqa: PLC0415 - what takes time to load
    from parivox.report.inspection import print_inspection, to_json  # noqa: PLC0415

    check_standard_input(given.files)
    found = inspect(*given.files, **given_options(given, InspectOptions))
    with printing():
        if given.json:
            print_json(to_json(found))
        else:
            print_inspection(found)
    if not found.readable:
        sys.exit(2)
