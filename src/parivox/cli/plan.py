"""``parivox plan``."""

from __future__ import annotations

import argparse
from typing import Any

from parivox.cli import COMMANDS
from parivox.cli.options import add_every_section, given_options
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.options.plan import PlanOptions

EXAMPLES = """\
examples:
  parivox plan --pilot audit/ --detect-ratio 2 --power 0.8 --target-fpr 0.001
  parivox plan --rate fnr=0.05 --icc fnr=0.1 --trials-per-speaker fnr=50
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "plan",
        help=COMMANDS["plan"],
        usage="parivox plan [--pilot DIR] [options]",
        description="Tell how many speakers and trials per group an audit needs, and what "
        "differences the data at hand can detect.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    command.add_argument("--pilot", metavar="DIR", help="folder of an audit with intervals")
    add_every_section(command, PlanOptions)
    command.add_argument("--json", action="store_true", help="print the plan as JSON")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.plan import plan  # noqa: PLC0415 - what takes time to load
    from parivox.report.plan import print_plan  # noqa: PLC0415

    found = plan(given.pilot, **given_options(given, PlanOptions))
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            print_plan(found)
