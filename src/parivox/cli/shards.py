"""``parivox shards``: an audit in parts, on as many machines as there are."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named, given_options
from parivox.cli.process import print_lines, printing
from parivox.options.audit import AuditOptions, ProgressCommand
from parivox.options.shards import ShardsMergeCommand, ShardsPlanCommand, ShardsRunCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox shards plan day*.parquet --speakers s.csv --by gender --shards 32 --out run/
  parivox shards run run/ --workers 4
  parivox shards run run/ --shard 7/32
  parivox shards merge run/ --out audit/
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command, its sub-commands and their options."""
    whole = add_command(
        commands,
        "shards",
        None,
        help=words,
        usage="parivox shards COMMAND [options]",
        description="Audit a list that is too large for one process: plan shards, run them, merge "
        "the results.",
        examples=EXAMPLES,
    )
    inner = whole.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="parivox shards"
    )
    add_command(
        inner,
        "plan",
        _plan,
        *(ShardsPlanCommand, AuditOptions, ProgressCommand),
        help="plan the shards, with hashes of all files",
        usage="parivox shards plan SCORES... --out RUN --speakers FILE --by ATTRIBUTES [options]",
        description="Plan an audit in shards.",
    )
    add_command(
        inner,
        "run",
        _run,
        *(ShardsRunCommand, ProgressCommand),
        help="run all shards, or one",
        usage="parivox shards run RUN [--shard 7/32 | --workers N | --ray [ADDRESS]]",
        description="Count the trials of each shard. Finished shards are kept.",
    )
    add_command(
        inner,
        "merge",
        _merge,
        *(ShardsMergeCommand, ProgressCommand),
        help="merge the shards into one audit",
        usage="parivox shards merge RUN --out DIR",
        description="Merge the counts: after the first pass, set the thresholds; after the "
        "second, write the audit.",
    )


def _plan(given: argparse.Namespace) -> None:
    from parivox.share.shard_plan import plan  # noqa: PLC0415

    options = given_options(given, AuditOptions)
    check_out_is_named(given.out, "folder")
    named: dict[str, list[str]] = {}
    for text in given.scores:
        name, equals, path = text.partition("=")
        is_named = equals and not os.path.exists(text)  # noqa: PTH110 - any text
        named.setdefault(name if is_named else "", []).append(path if is_named else text)
    if given.threshold_from:
        options["threshold_from"] = given.threshold_from[-1]
    shards = given_options(given, ShardsPlanCommand).get("shards", ShardsPlanCommand.shards)
    made = plan(named, out=given.out, shards=shards, **options)
    n, rows = len(made), sum(one.last - one.first for one in made.shards)
    run = f"parivox shards run {shlex.quote(str(given.out))}"
    lines = [
        f"{given.out} plans {rows:,} rows in {n} parts.",
        f"Run them: {run} --workers N, or --shard 1/{n} to {n}/{n}.",
    ]
    print_lines(lines)


def _run(given: argparse.Namespace) -> None:
    from parivox.share.shard_run import run  # noqa: PLC0415

    options = given_options(given, ShardsRunCommand)
    options.pop("folder")
    given.outcome = "what is done is kept; run it again"
    run(given.folder, **options)
    if given.shard is None:
        print_lines([f"All parts are done: parivox shards merge {given.folder} --out AUDIT."])


def _merge(given: argparse.Namespace) -> None:
    from parivox.auditing import check_folder, check_format  # noqa: PLC0415
    from parivox.share.shard_merging import merge  # noqa: PLC0415

    kind = given.format or ShardsMergeCommand.format
    check_format(kind)
    check_out_is_named(given.out, "folder")
    check_folder(given.out)
    result = merge(given.folder)
    if result is None:
        lines = [
            "The thresholds are found on the counts of all parts.",
            f"Run the array again, for the second pass, then merge {given.folder} again.",
        ]
        print_lines(lines)
        return
    result.write(given.out, format=kind)
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        print_summary(result, out=Path(given.out))
