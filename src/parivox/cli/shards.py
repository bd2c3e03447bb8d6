"""``parivox shards``: an audit in parts, on as many machines as there are."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    add_command,
    check_out_is_named,
    given_options,
    matching_files,
    named_source,
)
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
    command = add_command(
        commands,
        "shards",
        None,
        help=words,
        usage="parivox shards COMMAND [options]",
        description="Audit a list that is too large for one process: plan shards, run the shards "
        "and merge the results.",
        examples=EXAMPLES,
    )
    subcommands = command.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="parivox shards"
    )
    add_command(
        subcommands,
        "plan",
        _plan,
        ShardsPlanCommand,
        AuditOptions,
        ProgressCommand,
        help="plan the shards, with hashes of all files",
        usage="parivox shards plan SCORES... --out RUN --speakers FILE --by ATTRIBUTES [options]",
        description="Plan an audit in shards.",
    )
    add_command(
        subcommands,
        "run",
        _run,
        ShardsRunCommand,
        ProgressCommand,
        help="run all shards, or one",
        usage="parivox shards run RUN [--shard 7/32 | --workers N | --ray [ADDRESS]]",
        description="Count the trials of each shard. Finished shards are kept.",
    )
    add_command(
        subcommands,
        "merge",
        _merge,
        ShardsMergeCommand,
        ProgressCommand,
        help="merge the shards into one audit",
        usage="parivox shards merge RUN --out DIR",
        description="Merge the counts: after the first pass, set the thresholds; after the "
        "second, write the audit.",
    )


def _plan(arguments: argparse.Namespace) -> None:
    from parivox.share.shard_memory import write_memory_files  # noqa: PLC0415
    from parivox.share.shard_plan import plan  # noqa: PLC0415

    options = given_options(arguments, AuditOptions)
    check_out_is_named(arguments.out, "folder")
    named: dict[str, list[str]] = {}
    for text in arguments.scores:
        name, path = named_source(text)
        named.setdefault(name, []).extend(matching_files(path))
    if arguments.threshold_from:
        options["threshold_from"] = arguments.threshold_from[-1]
    shards = given_options(arguments, ShardsPlanCommand).get("shards", ShardsPlanCommand.shards)
    shard_plan = plan(named, out=arguments.out, shards=shards, **options)
    write_memory_files(shard_plan)
    n_shards, n_files = len(shard_plan), len(shard_plan.scores)
    run_command = f"parivox shards run {shlex.quote(str(arguments.out))}"
    files = "1 file" if n_files == 1 else f"{n_files:,} files"
    messages = [
        f"{arguments.out} plans {shard_plan.n_rows:,} rows of {files} in {n_shards} shards.",
        f"Run them: {run_command} --workers N, or --shard 1/{n_shards} to {n_shards}/{n_shards}.",
    ]
    print_lines(messages)


def _run(arguments: argparse.Namespace) -> None:
    from parivox.share.shard_run import run  # noqa: PLC0415

    options = given_options(arguments, ShardsRunCommand)
    options.pop("folder")
    arguments.outcome = "what is done is kept; run it again"
    run(arguments.folder, **options)
    if arguments.shard is None:
        print_lines([f"All shards are done: parivox shards merge {arguments.folder} --out AUDIT."])


def _merge(arguments: argparse.Namespace) -> None:
    from parivox.auditing import check_folder, check_format  # noqa: PLC0415
    from parivox.share.shard_merging import merge  # noqa: PLC0415

    table_format = arguments.format or ShardsMergeCommand.format
    check_format(table_format)
    check_out_is_named(arguments.out, "folder")
    check_folder(arguments.out)
    merged_audit = merge(arguments.folder)
    if merged_audit is None:
        messages = [
            "The thresholds are found on the counts of all shards.",
            f"Run the array again, for the second pass, then merge {arguments.folder} again.",
        ]
        print_lines(messages)
        return
    merged_audit.save(arguments.out, format=table_format)
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        print_summary(merged_audit, out=Path(arguments.out))
