"""The command line: one file per command, each a thin door to the library.

Built on argparse: a whole audit takes little more than a second, of which a larger framework
would take a tenth.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from parivox import __version__
from parivox.cli.options import Once
from parivox.cli.streams import prepare, printing, say, silence
from parivox.errors import ConfigError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "parser"]


class _Parser(argparse.ArgumentParser):
    """Raises what argparse would print, so that every mistake ends in one way."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.register("action", None, Once)  # of every option that names no action

    def error(self, message: str) -> NoReturn:
        msg = f"{message}; see {self.prog} --help"
        raise ConfigError(msg)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would swallow that the text of --help or --version cannot be written
        with printing():
            (file or sys.stdout).write(message)


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    from parivox.cli import (  # noqa: PLC0415 - they know this module
        audit,
        count,
        embed,
        inspect,
        plan,
        report,
        score,
        systems,
        trials,
    )

    whole = _Parser(
        prog="parivox",
        description="Audit speaker verification: does a system treat groups of people alike?",
        epilog="parivox COMMAND --help tells a command's options.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"parivox {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    audit.add_to(commands)
    count.add_to(commands)
    embed.add_to(commands)
    inspect.add_to(commands)
    plan.add_to(commands)
    report.add_to(commands)
    score.add_to(commands)
    systems.add_to(commands)
    trials.add_to(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what Parivox raises on purpose is one sentence and exit code 2."""
    every = list(sys.argv[1:] if arguments is None else arguments)
    chosen = argparse.Namespace(outcome="nothing was written")
    try:
        prepare()
        whole = parser()
        if not every:
            whole.print_help()
            return
        whole.parse_args(every, chosen)
        chosen.run(chosen)
    except ParivoxError as error:
        say(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        say(f"stopped; {chosen.outcome}")
        sys.exit(130)
    except BrokenPipeError:
        # whoever read the output has gone: end quietly, as other tools do
        silence()
        sys.exit(0)
