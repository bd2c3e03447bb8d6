"""``parivox inspect``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from parivox.cli import COMMANDS
from parivox.cli.options import add_option, mapping_of
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError
from parivox.options.audit import ReadOptions
from parivox.options.kinds import options_of

EXAMPLES = """\
examples:
  parivox inspect scores.txt people.xlsx
  parivox inspect scores.csv trials.txt calls.csv speakers.csv failures.csv
  zcat scores.gz | parivox inspect -
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "inspect",
        help=COMMANDS["inspect"],
        usage="parivox inspect FILE... [options]",
        description="Tell what files hold, how they fit together and what is odd, before an audit.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="scores, trial list, table of speakers, utterances, models or failures, counts, "
        "groups file, in any order; - for standard input",
    )
    for name in ("columns", "scores_format"):
        add_option(command, options_of(ReadOptions)[name])
    command.add_argument("--json", action="store_true", help="print the findings as JSON")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.inspection import inspect  # noqa: PLC0415 - what takes time to load
    from parivox.report.inspection import print_inspection, to_json  # noqa: PLC0415

    if "-" in given.files and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)
    found = inspect(
        *given.files, columns=mapping_of(given.columns), scores_format=given.scores_format
    )
    with printing():
        if given.json:
            print_json(to_json(found))
        else:
            print_inspection(found)
    if not found.readable:
        sys.exit(2)
