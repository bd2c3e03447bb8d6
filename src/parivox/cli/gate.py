"""``parivox gate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named
from parivox.cli.process import print_result, printing
from parivox.cli.report import load_audit
from parivox.errors import ConfigError
from parivox.options.gate import GateCommand
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox gate --example > policy.yaml
  parivox gate audit/ --policy policy.yaml
  parivox gate new/ --policy policy.yaml --baseline old/ --junit gate.xml
exit codes: 0 pass, 1 fail, 2 wrong input, 3 inconclusive
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "gate",
        _run,
        GateCommand,
        help=words,
        usage="parivox gate AUDIT --policy FILE [--baseline OLD] [options]",
        description="Check every condition of a policy for every group of an audit. The exit code "
        "is 0 if all conditions are met, 1 if a condition is not met, and 3 if the "
        "result is inconclusive.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.decide.policy_file import EXAMPLE  # noqa: PLC0415
    from parivox.decide.release_gate import gate  # noqa: PLC0415 - what takes time to load
    from parivox.report.gate import junit, markdown, print_gate  # noqa: PLC0415

    if arguments.example:
        with printing():
            sys.stdout.write(EXAMPLE)
        return
    for file_format in ("audit", "policy"):
        if getattr(arguments, file_format) is None:
            option = "--policy" if file_format == "policy" else "AUDIT"
            msg = f"missing {option}"
            hint = (
                "for example parivox gate audit/ --policy policy.yaml. Print a "
                "template with parivox gate --example"
            )
            raise ConfigError(msg, hint)
    renderers = {"markdown": markdown, "junit": junit}
    for file_format in renderers:
        if (path := getattr(arguments, file_format)) is not None:
            check_out_is_named(path, "file", f"--{file_format}")
            writable_file(path, "gate.xml" if file_format == "junit" else "gate.md")
    baseline = None if arguments.baseline is None else load_audit(arguments.baseline)
    outcome = gate(load_audit(arguments.audit), arguments.policy, baseline=baseline)
    for file_format, render in renderers.items():
        if (path := getattr(arguments, file_format)) is not None:
            with explain_write_errors(str(path)), atomic_file(path) as temporary_file:
                Path(temporary_file).write_text(render(outcome), encoding="utf-8", newline="\n")
    print_result(outcome, print_gate, json=arguments.json)
    if outcome.exit_code:
        sys.exit(outcome.exit_code)
