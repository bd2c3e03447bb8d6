"""``parivox demo``: a first audit, of two real systems, from nothing but an installed package."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named, requested_workers
from parivox.cli.process import print_lines, print_status
from parivox.errors import ConfigError
from parivox.options.audit import DemoCommand, ProgressCommand, WorkersCommand

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  pip install --no-compile "parivox[demo]"
  parivox demo
"""
SYSTEMS = (
    "The demo audits two systems, V2 (ResNetSE34V2) and L (ResNetSE34L), by gender (f, m) and "
    "nationality."
)
NOTE = (
    "VoxCeleb1 has been withdrawn by its authors. The demo contains scores only, no audio. Use it "
    "to explore Parivox, not as a basis for other work."
)


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "demo",
        _run,
        DemoCommand,
        WorkersCommand,
        ProgressCommand,
        help=words,
        usage="parivox demo [--out DIR] [--workers N]",
        description="Audit two published systems on the 550,894 trials of VoxCeleb1-H and write "
        "the report. The scores come with parivox[demo].",
        examples=EXAMPLES,
    )


def demo_data() -> Path:
    """Return the folder with two systems' scores on VoxCeleb1-H and the speakers' attributes.

    They are read from the installed package bt4vt 1.0.1, which is not imported.
    """
    spec = find_spec("bt4vt")
    if spec is None or spec.origin is None:
        msg = "the scores of the demo are not installed"
        hint = "install them with: pip install 'parivox[demo]'"
        raise ConfigError(msg, hint)
    return Path(spec.origin).parent / "data"


def _run(arguments: argparse.Namespace) -> None:
    from parivox.cli import parser  # noqa: PLC0415 - which imports this file
    from parivox.report.terminal import program  # noqa: PLC0415 - what takes time to load

    workers = requested_workers(arguments)
    data_folder, out = demo_data(), arguments.out or DemoCommand.out
    check_out_is_named(out, "folder")
    folder, report = Path(out) / "audit", Path(out) / "report.html"
    words = ["audit", f"V2={data_folder / 'resnetse34v2_H-eval_scores.csv'}"]
    words += [f"L={data_folder / 'resnetse34l_H-eval_scores.csv'}"]
    words += ["--speakers", str(data_folder / "vox1_meta.csv"), "--by", "gender"]
    words += ["--by", "gender+nationality", "--compare"]
    words += ["--out", str(folder), "--report", str(report)]
    for notice in (SYSTEMS, NOTE, f"Running: {shlex.join(['parivox', *words])}"):
        print_status(notice)
    Path(out).mkdir(parents=True, exist_ok=True)
    words += ["--quiet"] if arguments.quiet else []
    words += [] if workers is None else ["--workers", str(workers)]
    parsed = parser("audit").parse_args(words, arguments)
    parsed.run(parsed)
    print_lines([f"Your own data: {program()} inspect SCORES SPEAKERS"])
