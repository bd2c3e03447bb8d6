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
    whole = add_command(
        commands,
        "systems",
        None,
        help=words,
        usage="parivox systems list | check SYSTEM [options]",
        description="List the speaker encoders that can run here and what the others need, or "
        "check one.",
        examples=EXAMPLES,
    )
    inner = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    words = "systems that can be named, and why not"
    usage = "parivox systems list [options]"
    add_command(inner, "list", _list, SystemsListCommand, help=words, usage=usage)
    add_command(
        inner,
        "check",
        _check,
        SystemOptions,
        SystemsCheckCommand,
        help="load a speaker encoder and check it",
        usage="parivox systems check SYSTEM [options]",
        description="Load a speaker encoder and give it the same synthetic voices twice, alone "
        "and in a batch, in another order, quieter and longer. Exits with code 1 if a "
        "check fails.",
    )


def _list(given: argparse.Namespace) -> None:
    from dataclasses import asdict  # noqa: PLC0415 - what takes time to load

    from parivox.embedding.systems.named import known_systems  # noqa: PLC0415
    from parivox.report.systems import print_known  # noqa: PLC0415

    known = known_systems()
    with printing():
        if given.json:
            print_json(_json([asdict(one) for one in known]))
        else:
            print_known(known)


def _check(given: argparse.Namespace) -> None:
    from parivox.embedding.probe import probe  # noqa: PLC0415 - what takes time to load
    from parivox.embedding.systems.named import load  # noqa: PLC0415
    from parivox.report.systems import print_probed  # noqa: PLC0415

    system = load(given.system, **given_options(given, SystemOptions))
    found = probe(system)
    with printing():
        if given.json:
            print_json(_json({"provenance": dict(system.provenance), "probe": found.to_json()}))
        else:
            print_probed(system, found)
    if not found.sound:
        sys.exit(1)


def _json(found: Any) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n"
