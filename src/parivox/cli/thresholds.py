"""``parivox thresholds``."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    TABLES,
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
    named_source,
)
from parivox.cli.process import print_json, printing
from parivox.errors import ConfigError
from parivox.options.audit import ProgressCommand
from parivox.options.decide import ThresholdCommand, ThresholdOptions
from parivox.runtime.disk import writable_file

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox thresholds scores.csv --speakers speakers.csv --by gender
  parivox thresholds scores.csv --speakers s.csv --by gender --aim max-fpr=0.001
  parivox thresholds scores.csv --speakers s.csv --by gender --out rules.yaml
  parivox audit scores.csv --speakers s.csv --by gender --thresholds rules.yaml
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "thresholds",
        _run,
        ThresholdOptions,
        ThresholdCommand,
        ProgressCommand,
        help=words,
        usage="parivox thresholds SCORES --by GROUPING [--speakers FILE] [options]",
        description="Set one common threshold and one threshold per group, and compare both on "
        "held-out speakers.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.data.rule_file import EXAMPLE  # noqa: PLC0415
    from parivox.decide.threshold_selection import thresholds  # noqa: PLC0415

    if arguments.example:
        with printing():
            sys.stdout.write(EXAMPLE)
        return
    if arguments.scores is None:
        msg = "missing SCORES"
        hint = "for example parivox thresholds scores.csv --by gender"
        raise ConfigError(msg, hint)
    check_out_is_named(arguments.out, "file")
    if arguments.out is not None:
        writable_file(arguments.out, "rules.yaml")
    name, source = named_source(arguments.scores)
    tables = [getattr(arguments, table) for table in (*TABLES, "groups", "normalised")]
    check_standard_input([source, *tables])
    selection = thresholds(
        {name: source} if name else source, **given_options(arguments, ThresholdOptions)
    )
    if arguments.out is not None:
        selection.save(arguments.out)
    with printing():
        if arguments.json:
            print_json(selection.to_json())
            return
        from parivox.report.thresholds import print_thresholds  # noqa: PLC0415

        print_thresholds(selection, out=arguments.out and shlex.quote(arguments.out))
