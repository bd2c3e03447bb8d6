"""The command line: one file per command, each a thin door to the library.

Built on argparse: a whole audit takes little more than a second, of which a larger framework
would take a tenth.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.cli.options import Once
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
from parivox.errors import ConfigError, ParivoxError, nearest
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "audit": "how each group of people fares, by every measure",
    "calibrate": "scores as log likelihood ratios: by one calibrator or several; on other speakers",
    "compare": "written audits of one release and the next: which is better, for whom",
    "completion": "what makes bash, zsh or fish complete commands and options",
    "context": "a file to fill in: what only you know of an audit, and names for people",
    "count": "counts without ids, which others can audit",
    "criteria": "how far FDR, IR and GARBE meet what measures of fairness should, on an audit",
    "demo": "a first audit: two published systems, whose scores come with parivox[demo]",
    "embed": "embeddings of recordings, made once by any system",
    "gate": "does an audit keep a policy's conditions: pass, fail, or can't tell, for CI",
    "inspect": "what files hold, how they fit together, what is odd; no audit",
    "monitor": "a system in production, day by day: alarms where a group fares worse",
    "papers": "what four papers print, beside what their data say and how sure that is",
    "plan": "how many speakers and trials an audit needs; what today's data can detect",
    "report": "the page of an audit, its figures and tables for papers",
    "report-bug": "versions and extras, to send with a report: no names, no paths",
    "score": "score a list of trials, from embeddings or with a system that compares itself",
    "shards": "an audit in parts: on several processors, or machines that run them as an array",
    "show": "a written audit again: its finding, any group, every table",
    "systems": "which speaker encoders can run here; whether one answers the same twice",
    "thresholds": "one threshold or several: what is gained, by whom, who pays; on other speakers",
    "trials": "check, describe, grade, convert and build trial lists",
}
"""Every command, and what it tells or makes."""


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
            mend = nearest(option, [one for one in self._option_string_actions if one[:2] == "--"])
            if not mend.startswith("did"):
                mend = f"see {self.prog} --help"
            msg = f"{option} is no option of {self.prog}; {mend}"
            raise ConfigError(msg)
        return found, others

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action.choices, dict) and value not in action.choices:
            kind, mend = str(action.metavar).lower(), nearest(value, action.choices)
            msg = f"{value!r} is no {kind} of {self.prog}; {mend}"
            raise ConfigError(msg)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would swallow that the text of --help or --version cannot be written
        with printing():
            (file or sys.stdout).write(message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Every command with its options, or those of one command alone."""
    whole = _Parser(
        prog="parivox",
        description="Audit speaker verification: does a system treat groups of people alike?",
        epilog="parivox COMMAND --help tells a command's options.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"parivox {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        if only in {None, name}:
            import_module(f"parivox.cli.{name.replace('-', '_')}").add_to(commands, words)
        else:
            commands.add_parser(name, help=words)
    return whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what Parivox raises on purpose is one sentence and exit code 2."""
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
