"""``parivox monitor``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import TABLES, add_command, check_standard_input, given_options
from parivox.cli.process import print_json, printing
from parivox.errors import ConfigError
from parivox.options.audit import ProgressCommand
from parivox.options.monitor import MonitorCommand, MonitorOptions

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox monitor 2026-11-21.csv --new --state bank.state --new-key bank.key \
--speakers customers.csv --by gender
  parivox monitor 2026-11-22.csv --state bank.state --key bank.key \
--speakers customers.csv --by gender --limit fnr=0.05 --report stream.html
  parivox monitor --state bank.state
"""
ALARM = 1
"""Exit code where an alarm was raised."""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "monitor",
        _run,
        MonitorOptions,
        MonitorCommand,
        ProgressCommand,
        help=words,
        usage="parivox monitor [TRIALS] --state FILE [--key FILE] [--by GROUPING] [options]",
        description="Record the decisions of each day and raise an alarm if the error rate of a "
        "group rises, or exceeds the rate of other groups. You can check the result "
        "every day. The exit code is 1 if an alarm has ever been raised.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.monitoring.daily_monitor import EXAMPLE, monitor  # noqa: PLC0415
    from parivox.report.report_files import check_report  # noqa: PLC0415

    if arguments.example:
        with printing():
            sys.stdout.write(EXAMPLE)
        return
    if arguments.state is None:
        msg = "missing option --state"
        hint = "name the file of the counted days, for example bank.state"
        raise ConfigError(msg, hint)
    if arguments.report is not None:
        check_report(arguments.report)
    tables = [getattr(arguments, table, None) for table in (*TABLES, "groups")]
    check_standard_input([arguments.scores, *tables])
    state = monitor(arguments.scores, **given_options(arguments, MonitorOptions))
    arguments.outcome = "the day is counted" if arguments.scores else "nothing was written"
    if arguments.report is not None:
        from parivox.report.html.stream import write_stream  # noqa: PLC0415

        write_stream(state, arguments.report)
    with printing():
        if arguments.json:
            print_json(state.to_json())
        else:
            from parivox.report.monitor import print_monitor  # noqa: PLC0415

            print_monitor(state, page=arguments.report)
    if len(state.alarms):
        sys.exit(ALARM)
