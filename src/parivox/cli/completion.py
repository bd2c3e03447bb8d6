"""``parivox completion``: scripts with which a shell completes commands and options.

They are made from the parser, so they offer what the commands accept.
"""

from __future__ import annotations

import argparse
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.cli.options import ShowAllOptions, add_command
from parivox.cli.process import print_lines
from parivox.errors import ConfigError, name_hint
from parivox.options.audit import CompletionCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = """\
examples:
  source <(parivox completion bash)
  source <(parivox completion zsh)
  parivox completion fish > ~/.config/fish/completions/parivox.fish
"""


class Command(NamedTuple):
    """A command, with what can follow it."""

    words: tuple[str, ...]
    """The command as it is typed, without ``parivox``."""
    subcommands: dict[str, str]
    """Sub-commands or known arguments, each with its help."""
    options: dict[str, str]
    """Options, each with its help."""
    choices: dict[str, tuple[str, ...]]
    """What can follow an option, where that is a choice."""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "completion",
        _run,
        CompletionCommand,
        help=words,
        usage="parivox completion bash|zsh|fish",
        description="Print a script that lets a shell complete commands, options and file names.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.cli import parser  # noqa: PLC0415 - which adds this command

    shells = {"bash": _bash_lines, "zsh": _zsh_lines, "fish": _fish_lines}
    if arguments.shell not in shells:
        hint = name_hint(arguments.shell, shells)
        msg = f"shell {arguments.shell!r} is not known"
        raise ConfigError(msg, hint)
    print_lines(shells[arguments.shell]([*_all_commands(parser(), ())]))


def _all_commands(command_parser: Any, words: tuple[str, ...]) -> Iterator[Command]:
    """Yield a command and all its sub-commands."""
    subcommands, options, subparsers = dict[str, str](), dict[str, str](), dict[str, Any]()
    choices = dict[str, tuple[str, ...]]()
    # argparse has no public way to list what a parser accepts
    actions = command_parser._actions  # noqa: SLF001
    hidden_help: dict[Any, str] = {}
    for action in actions:
        if isinstance(action, ShowAllOptions):
            hidden_help |= action.const
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            subparsers = dict(action.choices)
            subcommands = {
                subcommand.dest: str(subcommand.help).replace("%%", "%")
                for subcommand in action._choices_actions  # noqa: SLF001
            }
        elif action.help != argparse.SUPPRESS or action in hidden_help:
            description = str(hidden_help.get(action, action.help)).replace("%%", "%")
            known_choices = getattr(action, "known", ())
            flags = [flag for flag in action.option_strings if flag.startswith("--")]
            options |= dict.fromkeys(flags, description)
            if known_choices:
                choices |= dict.fromkeys(flags, known_choices)
            if not action.option_strings:
                subcommands |= dict.fromkeys(known_choices, description)
    yield Command(words, subcommands, options, choices)
    for name, subparser in subparsers.items():
        yield from _all_commands(subparser, (*words, name))


def _bash_lines(commands: list[Command]) -> Iterator[str]:
    """Yield a function for bash that zsh runs as well.

    Its variables avoid `path`, `options` and `words`, which have a meaning of their own in zsh.
    """
    paths = "|".join(
        quote(" ".join(("parivox", *command.words))) for command in commands if command.words
    )
    yield from (
        "_parivox() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "  local at=parivox below= flags= one",
        '  for one in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do',
        f'    case "$at $one" in {paths}) at="$at $one";; esac',
        "  done",
        '  case "$at" in',
    )
    for command in commands:
        path = quote(" ".join(("parivox", *command.words)))
        subcommands, flags = " ".join(command.subcommands), " ".join(command.options)
        yield f"    {path}) below='{subcommands}' flags='{flags}';;"
    yield from ("  esac", '  case "$word" in -*) below="$flags";; esac', '  case "$at $before" in')
    for command in commands:
        for option, option_choices in command.choices.items():
            path = quote(" ".join(("parivox", *command.words, option)))
            yield f"    {path}) below='{' '.join(option_choices)}';;"
    yield from (
        "  esac",
        '  COMPREPLY=($(compgen -W "$below" -- "$word"))',
        "}",
        "complete -o default -F _parivox parivox",
    )


def _zsh_lines(commands: list[Command]) -> Iterator[str]:
    """Yield the same function for zsh."""
    yield "autoload -U +X compinit && compinit"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash_lines(commands)


def _fish_lines(commands: list[Command]) -> Iterator[str]:
    """Yield one line for each sub-command and option, for fish."""
    for command in commands:
        conditions = [f"__fish_seen_subcommand_from {word}" for word in command.words]
        if command.subcommands:
            conditions.append(f"not __fish_seen_subcommand_from {' '.join(command.subcommands)}")
        condition = quote("; and ".join(conditions))
        for word, description in command.subcommands.items():
            quoted = _fish_quoted(description)
            yield f"complete -c parivox -f -n {condition} -a {word} -d {quoted}"
        for option, description in command.options.items():
            name = option.removeprefix("--")
            if option in command.choices:
                name += f" -x -a '{' '.join(command.choices[option])}'"
            quoted = _fish_quoted(description)
            yield f"complete -c parivox -n {condition} -l {name} -d {quoted}"


def _fish_quoted(text: str) -> str:
    """Return a help text, quoted for fish, which cuts what its line has no room for."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
