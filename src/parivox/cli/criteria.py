"""``parivox criteria``: what measures of fairness come to by the criteria FFMC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named
from parivox.cli.process import print_result
from parivox.cli.report import load_audit
from parivox.options.audit import CriteriaCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox audit scores.csv --sweep fpr=0.001:0.1:log100 --alpha 0:1:0.1 --out audit/
  parivox criteria audit/
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "criteria",
        _run,
        CriteriaCommand,
        help=words,
        usage="parivox criteria AUDIT [options]",
        description="Evaluate FDR, IR and GARBE of an audit made with --sweep against the "
        "functional fairness measure criteria (FFMC).",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.auditing import criteria  # noqa: PLC0415 - what takes time to load
    from parivox.report.criteria import print_criteria  # noqa: PLC0415

    check_out_is_named(arguments.out, "folder")
    criteria_ = criteria(load_audit(arguments.audit))
    if arguments.out is not None:
        criteria_.save(arguments.out)
    print_result(criteria_, print_criteria, json=arguments.json)
