"""The command line: one file per command, each a thin door to the library.

Job
    Read the arguments of a command, refuse contradictory ones before anything is computed, call
    one function of the library, and print its result: in words, or as JSON with ``--json``.
    Every mistake is one sentence on standard error and exit code 2 (docs/exit-codes.md).

Entry functions
    `main` runs a command line and is the console script ``parivox``. `parser` makes the argparse
    parser of all commands, or of one alone, which is faster. Each file below has ``add_to``, which
    adds its command, and ``_run``, which runs it on the parsed arguments.

Central parts
    `COMMANDS` names every command with its help, in the order of ``--help``; a command is a module
    of its name. Options are not described here: `parivox.cli.options` makes them from the
    dataclasses of `parivox.options`, and reads them back as keywords of the library
    (``given_options``). `parivox.cli.process` has the standard streams and signals,
    `parivox.cli.progress` shows progress.

Callers
    The console script, ``parivox demo`` and ``parivox inspect`` (which run an audit as a command
    line), ``parivox completion`` and the documentation (which read the parser), and tests. Nothing
    else imports this package.

Built on argparse: a whole audit takes little more than a second, of which a larger framework
would take a tenth.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.cli.options import SingleUseAction, WrappedHelpFormatter
from parivox.cli.process import (
    Terminated,
    prepare_streams,
    print_error,
    print_status,
    printing,
    set_up_process,
    warnings_printed,
)
from parivox.cli.progress import progress_shown
from parivox.errors import ConfigError, ParivoxError, name_hint, options_named, similar_names
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "audit": "measure error rates by group and test for differences",
    "calibrate": "calibrate scores to log-likelihood ratios, with one common calibrator and one "
    "per group",
    "compare": "compare saved audits of successive releases",
    "completion": "print a completion script for bash, zsh or fish",
    "context": "print a template for the audit context file",
    "count": "aggregate trials into counts that others can audit",
    "criteria": "evaluate FDR, IR and GARBE against functional fairness criteria",
    "demo": "audit two published systems (requires parivox[demo])",
    "embed": "compute speaker embeddings from recordings",
    "gate": "check an audit against a policy, for CI",
    "inspect": "check input files and suggest an audit command",
    "metrics": "compute EER, minDCF and other measures from scores without speaker ids",
    "monitor": "monitor error rates by group in production",
    "papers": "reproduce the results of four papers",
    "plan": "calculate the sample size that an audit needs",
    "report": "export a report, figures or tables from an audit",
    "report-bug": "print version information for a bug report",
    "score": "score a trial list",
    "shards": "run a large audit in shards",
    "show": "print the summary of a saved audit, or results of selected groups",
    "systems": "list and check speaker encoders",
    "thresholds": "compare common and group-specific thresholds",
    "trials": "check, describe, grade, convert and build trial lists",
}
"""Every command, and what it does."""


FAULT = 70
"""Exit code of an exception that nobody foresaw, as in sysexits.h; no outcome has it."""


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print, so that every mistake ends in one way."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.register("action", None, SingleUseAction)  # of every option that names no action

    def error(self, message: str) -> NoReturn:
        hint = f"see {self.prog} --help"
        raise ConfigError(message, hint)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; refuse an unknown option, with similar ones as a hint."""
        parsed, unknown = super().parse_known_args(args, namespace)
        for option in (
            known_option.partition("=")[0]
            for known_option in unknown
            if known_option.startswith("--")
        ):
            known_options = [text for text in self._option_string_actions if text[:2] == "--"]
            hint = f"see {self.prog} --help"
            if similar_names(option, known_options):
                hint = name_hint(option, known_options)
            msg = f"unknown option {option} for {self.prog}"
            raise ConfigError(msg, hint)
        return parsed, unknown

    def _check_value(self, action: argparse.Action, text: Any) -> None:
        if isinstance(action.choices, dict) and text not in action.choices:
            kind, hint = str(action.metavar).lower(), name_hint(text, action.choices)
            msg = f"unknown {kind} {text!r} for {self.prog}"
            raise ConfigError(msg, hint)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would swallow that the text of --help or --version cannot be written
        with printing():
            (file or sys.stdout).write(message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of every command, with the options of all, or of one command alone."""
    command_parser = _Parser(
        prog="parivox",
        description="Audit speaker verification systems for differences between demographic "
        "groups.",
        epilog="parivox COMMAND --help shows the options of a command.",
        allow_abbrev=False,
        formatter_class=WrappedHelpFormatter,
    )
    version = f"parivox {__version__}"
    command_parser.add_argument(
        "--version", action="version", version=version, help="show the version and exit"
    )
    commands = command_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        if only in {None, name}:
            import_module(f"parivox.cli.{name.replace('-', '_')}").add_to(commands, words)
        else:
            commands.add_parser(name, help=words)
    return command_parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors that Parivox raises are one sentence and exit code 2.

    See docs/exit-codes.md.
    """
    with options_named():
        command_line = list(sys.argv[1:] if arguments is None else arguments)
        _run_command_line(command_line, is_program=arguments is None)


def _run_command_line(command_line: list[str], *, is_program: bool) -> None:
    """Run the words of a command line, of the program or of a script; an error ends the process."""
    parsed = argparse.Namespace(outcome="nothing was written", is_program=is_program)
    try:
        prepare_streams()
        # options are made for the named command alone, which is faster
        command = next((word for word in command_line if not word.startswith("-")), "")
        command_parser = parser(command)
        if not command_line:
            command_parser.print_help()
            return
        command_parser.parse_args(command_line, parsed)
        set_up_process()
        progress_format, quiet = getattr(parsed, "progress", None), getattr(parsed, "quiet", False)
        with warnings_printed(), progress_shown(progress_format, quiet=quiet):
            parsed.run(parsed)
    except ParivoxError as error:
        print_error(error)
        sys.exit(2)
    except KeyboardInterrupt as stopped:
        print_status(f"stopped; {parsed.outcome}")
        sys.exit(143 if isinstance(stopped, Terminated) else 130)
    except Exception as error:  # noqa: BLE001 - no fault may look like an outcome
        print_error(described_fault(error))
        if os.environ.get("PARIVOX_TRACEBACK"):
            sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(FAULT)


def described_fault(error: Exception) -> ParivoxError:
    """Return what is known of an exception that nobody foresaw, and how to report it.

    Its message is left out, as it may contain data from a file.
    """
    import traceback  # noqa: PLC0415 - takes time to load
    from pathlib import Path  # noqa: PLC0415 - likewise

    name = type(error).__name__
    if isinstance(error, MemoryError):
        hint = "audit fewer groups, measures or trials at once, or use more memory"
        return ParivoxError("out of memory", hint)
    frames = traceback.extract_tb(error.__traceback__)
    package_folder = Path(__file__).parents[1]
    own_frames = [frame for frame in frames if Path(frame.filename).is_relative_to(package_folder)]
    location = ""
    if own_frames:
        file = Path(own_frames[-1].filename).relative_to(package_folder.parent).as_posix()
        location = f" in {file}, line {own_frames[-1].lineno}"
    problem = f"fault of Parivox {__version__}: {name}{location}"
    hint = (
        "report this line together with the output of parivox report-bug, or repeat the command "
        "with PARIVOX_TRACEBACK=1 for details"
    )
    return ParivoxError(problem, hint)
