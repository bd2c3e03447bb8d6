"""The command line: one file per command, each a thin door to the library."""

from __future__ import annotations

import os
import sys

import typer

from parivox.errors import ParivoxError

__all__ = ["app", "main"]

app = typer.Typer(
    name="parivox",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Audit speaker verification systems: does the system treat groups of people alike?",
)


def main() -> None:
    """Run the command line; what Parivox raises on purpose is one sentence and exit code 2."""
    from parivox.cli import audit as _audit  # noqa: F401, PLC0415 - registers the command

    try:
        app()
    except ParivoxError as error:
        print(f"parivox: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@app.callback()
def _root(
    *,
    version: bool = typer.Option(
        False, "--version", help="Show the version and leave.", is_eager=True
    ),
) -> None:
    if version:
        from importlib.metadata import version as installed  # noqa: PLC0415

        typer.echo(f"parivox {installed('parivox')}")
        raise typer.Exit
