"""``parivox plan``."""

from __future__ import annotations

import argparse
from typing import Any

from parivox.cli.options import repeatable
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError

__all__ = ["add_to"]

EXAMPLES = """\
examples:
  parivox plan --pilot audit/ --detect-ratio 2 --power 0.8 --target-fpr 0.001
  parivox plan --rate fnr=0.05 --icc fnr=0.1 --trials-per-speaker fnr=50
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "plan",
        help="how many speakers and trials an audit needs; what today's data can detect",
        usage="parivox plan [--pilot DIR] [options]",
        description="Tell how many speakers and trials per group an audit needs, and what "
        "differences the data at hand can detect.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(run=_run)
    command.add_argument("--pilot", metavar="DIR", help="folder of an audit with intervals")
    for name, default, words in (
        ("--detect-ratio", 2.0, "a group's rate over that of the others, to be detected"),
        ("--power", 0.8, "with what probability"),
        ("--confidence", 0.95, "of the two-sided test"),
    ):
        command.add_argument(
            name, metavar="X", type=float, default=default, help=f"{words} (default: {default:g})"
        )
    command.add_argument("--target-fpr", metavar="X", type=float, help="FPR to plan for")
    for name, words in (
        ("--rate", "rate of the other groups, as in fnr=0.05"),
        ("--icc", "correlation of two trials that share a speaker, as in fnr=0.1"),
        ("--trials-per-speaker", "trials that a speaker takes part in, as in fnr=50"),
    ):
        repeatable(command, name, "METRIC=X", f"{words} (default: as in the pilot)")
    command.add_argument("--json", action="store_true", help="print the plan as JSON")


def _run(given: argparse.Namespace) -> None:
    set_up()
    from parivox.auditing.plan import plan  # noqa: PLC0415 - what takes time to load
    from parivox.report.plan import print_plan  # noqa: PLC0415

    found = plan(
        given.pilot,
        detect_ratio=given.detect_ratio,
        power=given.power,
        confidence=given.confidence,
        target_fpr=given.target_fpr,
        rate=_by_metric("--rate", given.rate),
        icc=_by_metric("--icc", given.icc),
        trials_per_speaker=_by_metric("--trials-per-speaker", given.trials_per_speaker),
    )
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            print_plan(found)


def _by_metric(option: str, given: list[str] | None) -> dict[str, float]:
    """Read values as a user writes them: one for each metric."""
    found: dict[str, float] = {}
    for text in given or ():
        metric, _, value = (word.strip() for word in text.partition("="))
        try:
            number = float(value)
        except ValueError as error:
            msg = f"{option} {text!r} is not METRIC=NUMBER, as in {option} fnr=0.1"
            raise ConfigError(msg) from error
        if metric in found:
            msg = f"{option} of {metric} is given twice; give it once"
            raise ConfigError(msg)
        found[metric] = number
    return found
