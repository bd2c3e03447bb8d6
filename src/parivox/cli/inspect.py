"""``parivox inspect``."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_standard_input, given_options, named_source
from parivox.cli.process import print_json, printing
from parivox.errors import ParivoxError
from parivox.options.audit import InspectCommand, InspectOptions, ProgressCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.data.inspection import Inspection
    from parivox.data.value_warnings import DataWarning

EXAMPLES = """\
examples:
  parivox inspect scores.txt people.xlsx
  parivox inspect scores.csv trials.txt calls.csv speakers.csv failures.csv
  zcat scores.gz | parivox inspect -
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "inspect",
        _run,
        InspectOptions,
        InspectCommand,
        ProgressCommand,
        help=words,
        usage="parivox inspect FILE... [options]",
        description="Check input files and how they fit together, list data warnings, and suggest "
        "an audit command.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.auditing import can_be_audited, inspect  # noqa: PLC0415
    from parivox.report.inspection import print_inspection, to_json  # noqa: PLC0415

    files = [named_source(text)[1] for text in arguments.files]
    check_standard_input(files)
    inspection = inspect(*files, **given_options(arguments, InspectOptions))
    # an audit would read the files again, which standard input does not allow
    if can_be_audited(inspection) and "-" not in files:
        try:
            inspection = replace(inspection, warnings=tuple(_new_audit_warnings(inspection)))
        except ParivoxError as error:
            inspection = replace(inspection, problems=(*inspection.problems, str(error)))
    with printing():
        if arguments.json:
            print_json(to_json(inspection))
        else:
            print_inspection(inspection)
    if not inspection.readable:
        sys.exit(2)


def _new_audit_warnings(inspection: Inspection) -> Iterator[DataWarning]:
    """Yield the data warnings of an audit of these files that the inspection does not have.

    The audit is made without intervals, which takes seconds.
    """
    from parivox.auditing import audit_warnings  # noqa: PLC0415 - what takes time to load
    from parivox.cli.audit import audit_command_line  # noqa: PLC0415

    words = shlex.split(inspection.next)[1:]
    audited = audit_command_line([*words, "--no-intervals", "--quiet"], argparse.Namespace())
    known_kinds: set[str] = set()
    for file in inspection.files:
        known_kinds.update(warning.what for warning in file.warnings)
        for column in file.columns:
            known_kinds.update(warning.what for warning in column.warnings)
    yield from (warning for warning in audit_warnings(audited) if warning.what not in known_kinds)
