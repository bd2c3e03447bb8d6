"""The command line: one file per command, each a thin door to the library.

Built on argparse: a whole audit takes little more than a second, of which a larger framework
would take a tenth.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.cli.options import Once, Words
from parivox.cli.process import (
    Ended,
    prepare,
    printing,
    say,
    say_error,
    set_up,
    silence,
    warnings_told,
)
from parivox.cli.progress import progress_shown
from parivox.errors import ConfigError, ParivoxError, name_hint
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "audit": "measure error rates by group and test whether they differ",
    "calibrate": "calibrate scores to log-likelihood ratios, with one calibrator or one per group",
    "compare": "compare saved audits of successive releases",
    "completion": "print a completion script for bash, zsh or fish",
    "context": "print a template for the audit context file",
    "count": "aggregate trials into counts that others can audit",
    "criteria": "evaluate FDR, IR and GARBE against functional fairness criteria",
    "demo": "audit two published systems (requires parivox[demo])",
    "embed": "compute speaker embeddings from recordings",
    "gate": "check an audit against a policy, for CI",
    "inspect": "check input files and suggest an audit command",
    "monitor": "monitor error rates by group in production",
    "papers": "reproduce the results of four papers",
    "plan": "calculate the sample size an audit needs",
    "report": "export a report, figures or tables from an audit",
    "report-bug": "print version information for a bug report",
    "score": "score a trial list",
    "shards": "run a large audit in shards",
    "show": "print a saved audit, or selected groups",
    "systems": "list and check speaker encoders",
    "thresholds": "compare common and group-specific thresholds",
    "trials": "check, describe, grade, convert and build trial lists",
}
"""Every command, and what it does."""


FAULT = 70
"""Exit code of an exception that nobody foresaw, as in sysexits.h; no outcome has it."""


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print, so that every mistake ends in one way."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.register("action", None, Once)  # of every option that names no action

    def error(self, message: str) -> NoReturn:
        msg = f"{message}; see {self.prog} --help"
        raise ConfigError(msg)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; an option that is not known is told with those that are near."""
        found, others = super().parse_known_args(args, namespace)
        for option in (one.partition("=")[0] for one in others if one.startswith("--")):
            mend = name_hint(
                option, [one for one in self._option_string_actions if one[:2] == "--"]
            )
            if not mend.startswith("did"):
                mend = f"see {self.prog} --help"
            msg = f"unknown option {option} for {self.prog}; {mend}"
            raise ConfigError(msg)
        return found, others

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action.choices, dict) and value not in action.choices:
            kind, mend = str(action.metavar).lower(), name_hint(value, action.choices)
            msg = f"unknown {kind} {value!r} for {self.prog}; {mend}"
            raise ConfigError(msg)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would swallow that the text of --help or --version cannot be written
        with printing():
            (file or sys.stdout).write(message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Every command with its options, or those of one command alone."""
    whole = _Parser(
        prog="parivox",
        description="Audit speaker verification systems for differences between demographic "
        "groups.",
        epilog="parivox COMMAND --help shows the options of a command.",
        allow_abbrev=False,
        formatter_class=Words,
    )
    version = f"parivox {__version__}"
    whole.add_argument(
        "--version", action="version", version=version, help="show the version and exit"
    )
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        if only in {None, name}:
            import_module(f"parivox.cli.{name.replace('-', '_')}").add_to(commands, words)
        else:
            commands.add_parser(name, help=words)
    return whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what Parivox raises on purpose is one sentence and exit code 2.

    See docs/exit-codes.md.
    """
    every = list(sys.argv[1:] if arguments is None else arguments)
    chosen = argparse.Namespace(outcome="nothing was written")
    try:
        prepare()
        named = next((word for word in every if not word.startswith("-")), "")
        whole = parser(named)
        if not every:
            whole.print_help()
            return
        whole.parse_args(every, chosen)
        set_up()
        form, quiet = getattr(chosen, "progress", None), getattr(chosen, "quiet", False)
        with warnings_told(), progress_shown(form, quiet=quiet):
            chosen.run(chosen)
    except ParivoxError as error:
        say_error(str(error))
        sys.exit(2)
    except KeyboardInterrupt as stopped:
        say(f"stopped; {chosen.outcome}")
        sys.exit(143 if isinstance(stopped, Ended) else 130)
    except BrokenPipeError:
        # whoever read the output has gone: end quietly, as other tools do
        silence()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - no fault may look like an outcome
        say_error(fault_in_words(error))
        if os.environ.get("PARIVOX_TRACEBACK"):
            sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(FAULT)


def fault_in_words(error: Exception) -> str:
    """Return one sentence on an exception that nobody foresaw: what, where, and how to report it.

    Its message is left out, as it may hold what stood in a file.
    """
    import traceback  # noqa: PLC0415 - takes time to load
    from pathlib import Path  # noqa: PLC0415 - likewise

    name = type(error).__name__
    if isinstance(error, MemoryError):
        return "out of memory; audit fewer groups, measures or trials at once, or use more memory"
    frames = traceback.extract_tb(error.__traceback__)
    home = Path(__file__).parents[1]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(home)]
    where = ""
    if own:
        file = Path(own[-1].filename).relative_to(home.parent).as_posix()
        where = f" in {file}, line {own[-1].lineno}"
    return (
        f"fault of Parivox {__version__}: {name}{where}; report this line with what parivox "
        "report-bug prints, or repeat the command with PARIVOX_TRACEBACK=1 to see more"
    )
