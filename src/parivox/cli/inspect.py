"""``parivox inspect``."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_standard_input, given_options
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
        *(InspectOptions, InspectCommand, ProgressCommand),
        help=words,
        usage="parivox inspect FILE... [options]",
        description="Check input files and how they fit together, list data warnings, and suggest "
        "an audit command.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.auditing import can_be_audited, inspect  # noqa: PLC0415
    from parivox.report.inspection import print_inspection, to_json  # noqa: PLC0415

    check_standard_input(given.files)
    found = inspect(*given.files, **given_options(given, InspectOptions))
    if can_be_audited(found) and "-" not in given.files:
        try:
            found = replace(found, warnings=tuple(_warnings_of_audit(found)))
        except ParivoxError as error:
            found = replace(found, problems=(*found.problems, str(error)))
    with printing():
        if given.json:
            print_json(to_json(found))
        else:
            print_inspection(found)
    if not found.readable:
        sys.exit(2)


def _warnings_of_audit(found: Inspection) -> Iterator[DataWarning]:
    """Yield the data warnings of an audit of these files, but for those that are known.

    The audit is made without intervals, which takes seconds.
    """
    from parivox.auditing import audit_warnings  # noqa: PLC0415 - what takes time to load
    from parivox.cli.audit import audit_of  # noqa: PLC0415

    words = shlex.split(found.next)[1:]
    audited = audit_of([*words, "--no-intervals", "--quiet"], argparse.Namespace())
    columns = (odd for file in found.files for column in file.columns for odd in column.odd)
    known = {odd.what for odd in (*columns, *(odd for file in found.files for odd in file.odd))}
    yield from (odd for odd in audit_warnings(audited) if odd.what not in known)
