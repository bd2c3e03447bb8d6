"""``parivox count``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from parivox.cli.options import (
    Progress,
    add_reading,
    add_tables,
    check_out_is_named,
    check_standard_input,
    how_read,
    repeatable,
)
from parivox.cli.process import set_up
from parivox.cli.streams import printing
from parivox.errors import ConfigError, shown

__all__ = ["add_to"]

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
        help="counts without ids, which others can audit",
        usage="parivox count SCORES --out FILE [--speakers FILE] [options]",
        description="Count trials by group and score, so that others can audit them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    what = command.add_argument_group("what is counted")
    what.add_argument(
        "scores", metavar="SCORES", help="score file, or - for standard input; or NAME=FILE"
    )
    add_tables(what)
    how = command.add_argument_group("how it is counted")
    how.add_argument("--step", metavar="WIDTH", help="of bins of scores (default: each score)")
    repeatable(
        how, "--threshold", "X", "a score to count at: with --step as well, else at these only"
    )
    how.add_argument(
        "--withhold",
        metavar="N",
        help="withhold groups of fewer than so many speakers (default: 5; 0 for none)",
    )
    how.add_argument("--llr", action="store_true", help="scores are natural-log likelihood ratios")
    add_reading(command)
    out = command.add_argument_group("what comes out")
    out.add_argument("--out", metavar="FILE", help="file of counts", required=True)
    out.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.count import count  # noqa: PLC0415
    from parivox.read.counts_file import check_out  # noqa: PLC0415

    reading = how_read(given)
    if given.withhold is not None:
        reading["withhold"] = _whole(given.withhold)
    check_out_is_named(given.out, "file")
    check_out(given.out)
    check_standard_input(given, given.scores)
    name, equals, path = given.scores.partition("=")
    # any text, even what no path can be
    is_named = equals and not os.path.exists(given.scores)  # noqa: PTH110
    with Progress(quiet=given.quiet) as tell:
        made = count(
            {name: path} if is_named else given.scores,
            step=given.step,
            thresholds=given.threshold or (),
            progress=tell,
            **reading,
        )
        tell(f"writing {given.out}")
        made.write(given.out)
    with printing():
        for line in (f"Counts are in {given.out}: {made.size()}.", *made.told_apart()):
            sys.stdout.write(f"{shown(line)}\n")


def _whole(text: str) -> int:
    if not text.isdecimal():
        msg = f"--withhold {text}: is not a number of speakers; give one, as in 5, or 0 for none"
        raise ConfigError(msg)
    return int(text)
