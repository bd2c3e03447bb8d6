"""``parivox count``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from parivox.cli import COMMANDS
from parivox.cli.options import (
    Progress,
    add_options,
    check_out_is_named,
    check_standard_input,
    given_options,
)
from parivox.cli.process import set_up
from parivox.cli.streams import printing
from parivox.errors import shown
from parivox.options.audit import COUNTED, READ, TRIALS, WRITTEN, CountOptions

EXAMPLES = """\
examples:
  parivox count day1.parquet --speakers s.csv --by gender --out day1.counts
  parivox count scores.csv --speakers s.csv --by age:18,30,60 --step 0.001 --out s.counts
  parivox audit day1.counts day2.counts
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "count",
        help=COMMANDS["count"],
        usage="parivox count SCORES --out FILE [--speakers FILE] [options]",
        description="Count trials by group and score, so that others can audit them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    what = command.add_argument_group(TRIALS)
    what.add_argument(
        "scores", metavar="SCORES", help="score file, or - for standard input; or NAME=FILE"
    )
    add_options(what, CountOptions, TRIALS)
    for section in (COUNTED, READ):
        add_options(command.add_argument_group(section), CountOptions, section)
    out = command.add_argument_group(WRITTEN)
    out.add_argument("--out", metavar="FILE", help="file of counts", required=True)
    out.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.count import count  # noqa: PLC0415
    from parivox.read.counts_file import check_out  # noqa: PLC0415

    options = given_options(given, CountOptions)
    check_out_is_named(given.out, "file")
    check_out(given.out)
    check_standard_input(given, given.scores)
    name, equals, path = given.scores.partition("=")
    # any text, even what no path can be
    is_named = equals and not os.path.exists(given.scores)  # noqa: PTH110
    with Progress(quiet=given.quiet) as tell:
        made = count(
            {name: path} if is_named else given.scores,
            progress=tell,
            **options,
        )
        tell(f"writing {given.out}")
        made.write(given.out)
    with printing():
        for line in (f"Counts are in {given.out}: {made.size()}.", *made.told_apart()):
            sys.stdout.write(f"{shown(line)}\n")
