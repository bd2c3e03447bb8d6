"""``parivox plan``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, given_options
from parivox.cli.process import print_result
from parivox.options.plan import PlanCommand, PlanOptions

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox plan --pilot audit/ --detect-ratio 2 --power 0.8 --target-fpr 0.001
  parivox plan --rate fnr=0.05 --icc fnr=0.1 --trials-per-speaker fnr=50
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "plan",
        _run,
        PlanOptions,
        PlanCommand,
        help=words,
        usage="parivox plan [--pilot DIR] [options]",
        description="Calculate how many speakers and trials per group an audit needs, and which "
        "differences the existing data can detect.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.decide.sample_size_plan import plan  # noqa: PLC0415 - what takes time to load
    from parivox.report.plan import print_plan  # noqa: PLC0415

    size_plan = plan(arguments.pilot, **given_options(arguments, PlanOptions))
    print_result(size_plan, partial(print_plan, details=arguments.verbose), json=arguments.json)
