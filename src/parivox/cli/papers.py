"""``parivox papers``: what four papers print, and what their data say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command
from parivox.cli.process import print_status, printing
from parivox.options.papers import PapersListCommand, PapersRunCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox papers list
  parivox papers run
  parivox papers run 001 --table 4
  parivox papers run 001 --figure 7 --out papers/
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command, its sub-commands and their options."""
    command = add_command(
        commands,
        "papers",
        None,
        help=words,
        usage="parivox papers list | run [PAPER] [options]",
        description="Reproduce results of four papers on fairness: the printed values, the exact "
        "values and their uncertainty.",
        examples=EXAMPLES,
    )
    subcommands = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    words = "list the tables, figures and claims of the papers, and state which can be computed"
    usage = "parivox papers list [PAPER]"
    add_command(subcommands, "list", _list, PapersListCommand, help=words, usage=usage)
    words = (
        "compute tables, figures and claims of a paper and compare the results with the printed "
        "values"
    )
    add_command(
        subcommands,
        "run",
        _run,
        PapersRunCommand,
        help=words,
        usage="parivox papers run [PAPER] [options]",
        description="Compute results of a paper and compare them with the printed values.",
    )


def _list(arguments: argparse.Namespace) -> None:
    from parivox.papers import PAPERS, paper_named  # noqa: PLC0415 - what takes time to load
    from parivox.report.papers import print_items  # noqa: PLC0415

    papers = [*PAPERS.values()] if arguments.paper is None else [paper_named(arguments.paper)]
    with printing():
        print_items(papers)


def _run(arguments: argparse.Namespace) -> None:
    from parivox.papers import run  # noqa: PLC0415 - what takes time to load
    from parivox.report.papers import (  # noqa: PLC0415
        check_reproduced,
        print_reproduced,
        write_reproduced,
    )

    if arguments.out is not None:
        check_reproduced(arguments.out)
    reproduced = run(
        arguments.paper,
        table=arguments.table,
        figure=arguments.figure,
        claim=arguments.claim,
        data=arguments.data,
    )
    if arguments.out is not None:
        write_reproduced(arguments.out, reproduced)
    with printing():
        print_reproduced(reproduced)
    if arguments.out is not None:
        print_status(f"written to {arguments.out}: charts, figures as CSV, claims in README.md")
