"""``parivox systems``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, given_options
from parivox.cli.process import print_json, printing
from parivox.options.recordings import SystemOptions, SystemsCheckCommand, SystemsListCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox systems list
  parivox systems check ge2e
  parivox systems check model.onnx --frontend kaldi80
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command, its sub-commands and their options."""
    command = add_command(
        commands,
        "systems",
        None,
        help=words,
        usage="parivox systems list | check SYSTEM [options]",
        description="List the speaker encoders that can run on this machine and the requirements "
        "of the others, or check one encoder.",
        examples=EXAMPLES,
    )
    subcommands = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    words = "list the encoders that can run on this machine, and the requirements of the others"
    usage = "parivox systems list [options]"
    add_command(subcommands, "list", _list, SystemsListCommand, help=words, usage=usage)
    add_command(
        subcommands,
        "check",
        _check,
        SystemOptions,
        SystemsCheckCommand,
        help="load a speaker encoder and check it",
        usage="parivox systems check SYSTEM [options]",
        description="Load a speaker encoder and encode the same synthetic voices twice, alone and "
        "in a batch, in another order, quieter and longer. The exit code is 1 if a "
        "check fails.",
    )


def _list(arguments: argparse.Namespace) -> None:
    from dataclasses import asdict  # noqa: PLC0415 - what takes time to load

    from parivox.embedding.systems.named import known_systems  # noqa: PLC0415
    from parivox.report.systems import print_known  # noqa: PLC0415

    systems = known_systems()
    with printing():
        if arguments.json:
            print_json(_to_json([asdict(system) for system in systems]))
        else:
            print_known(systems)


def _check(arguments: argparse.Namespace) -> None:
    from parivox.embedding.probe import probe  # noqa: PLC0415 - what takes time to load
    from parivox.embedding.systems.named import load  # noqa: PLC0415
    from parivox.report.systems import print_probed  # noqa: PLC0415

    system = load(arguments.system, **given_options(arguments, SystemOptions))
    probed = probe(system)
    with printing():
        if arguments.json:
            print_json(_to_json({"provenance": dict(system.provenance), "probe": probed.to_json()}))
        else:
            print_probed(system, probed)
    if not probed.sound:
        sys.exit(1)


def _to_json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
