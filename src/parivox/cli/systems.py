"""``parivox systems``."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from parivox.cli import COMMANDS
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing

EXAMPLES = """\
examples:
  parivox systems list
  parivox systems check ge2e
  parivox systems check model.onnx --frontend kaldi80
"""


def add_to(commands: Any) -> None:
    """Add the command and its options."""
    command = commands.add_parser(
        "systems",
        help=COMMANDS["systems"],
        usage="parivox systems list | check SYSTEM [options]",
        description="Tell which systems can run here and what others lack; load one and ask it "
        "the same in several ways.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whats = command.add_subparsers(title="what to do", metavar="WHAT", required=True)
    listed = whats.add_parser(
        "list", help="systems that can be named, and why not", allow_abbrev=False
    )
    listed.set_defaults(run=_list)
    check = whats.add_parser(
        "check",
        help="load a system and probe it",
        description="Load a system and give it the same synthetic voices twice, alone and in a "
        "batch, in another order, quieter and longer. A fault ends with exit code 1.",
        allow_abbrev=False,
    )
    check.set_defaults(run=_check)
    check.add_argument(
        "system",
        metavar="SYSTEM",
        help="ge2e, model.onnx, eres2net:weights.ckpt, package.module:function, or a name that a "
        "package registered",
    )
    check.add_argument("--weights", metavar="FILE", help="file of the weights")
    check.add_argument("--frontend", metavar="NAME", help="what an ONNX file takes")
    check.add_argument("--sample-rate", metavar="HZ", type=int, help="of a function or waveforms")
    check.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (default: cpu)")
    for one in (listed, check):
        one.add_argument("--json", action="store_true", help="print as JSON")


def _list(given: argparse.Namespace) -> None:
    set_up()
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
    set_up()
    from parivox.embedding.probe import probe  # noqa: PLC0415 - what takes time to load
    from parivox.embedding.systems.named import load  # noqa: PLC0415
    from parivox.report.systems import print_probed  # noqa: PLC0415

    system = load(
        given.system,
        weights=given.weights,
        frontend=given.frontend,
        sample_rate=given.sample_rate,
        device=given.device,
    )
    found = probe(system)
    with printing():
        if given.json:
            print_json(_json({"provenance": dict(system.provenance), "probe": found.to_json()}))
        else:
            print_probed(system, found)
    if not found.sound:
        sys.exit(1)


def _json(told: Any) -> str:
    return json.dumps(told, indent=2, ensure_ascii=False, default=str) + "\n"
