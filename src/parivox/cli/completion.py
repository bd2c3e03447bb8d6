"""``parivox completion``: what a shell completes, of the same options as the commands."""

from __future__ import annotations

import argparse
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.cli.options import Every, add_command
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
    """A command by its words, with what follows it, and its options, each with its help."""

    words: tuple[str, ...]
    below: dict[str, str]
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    """What may follow an option of which there is a choice."""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "completion",
        _run,
        CompletionCommand,
        help=words,
        usage="parivox completion bash|zsh|fish",
        description="Print a script with which a shell completes commands, options and file names.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.cli import parser  # noqa: PLC0415 - which adds this command

    shells = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    if given.shell not in shells:
        msg = f"{given.shell!r} is not a shell that is known; {name_hint(given.shell, shells)}"
        raise ConfigError(msg)
    print_lines(shells[given.shell]([*_commands(parser(), ())]))


def _commands(of: Any, words: tuple[str, ...]) -> Iterator[Command]:
    """A command and all below it."""
    below, options, inner = dict[str, str](), dict[str, str](), dict[str, Any]()
    choices = dict[str, tuple[str, ...]]()
    more = {one: words for action in of._actions if isinstance(action, Every)  # noqa: SLF001
            for one, words in action.const.items()}  # fmt: skip
    for action in of._actions:  # noqa: SLF001 - argparse tells it in no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            inner = dict(action.choices)
            below = {one.dest: str(one.help) for one in action._choices_actions}  # noqa: SLF001
        elif action.help != argparse.SUPPRESS or action in more:
            told = str(more.get(action, action.help)).replace("%%", "%")
            known = getattr(action, "known", ())
            flags = [one for one in action.option_strings if one.startswith("--")]
            options |= dict.fromkeys(flags, told)
            choices |= dict.fromkeys(flags, known) if known else {}
            below |= {} if action.option_strings else dict.fromkeys(known, told)
    yield Command(words, below, options, choices)
    for name, one in inner.items():
        yield from _commands(one, (*words, name))


def _bash(commands: list[Command]) -> Iterator[str]:
    """A function that zsh runs as well, in which `path`, `options` and `words` are its own."""
    paths = "|".join(quote(" ".join(("parivox", *one.words))) for one in commands if one.words)
    yield from (
        "_parivox() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "  local at=parivox below= flags= one",
        '  for one in "${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do',
        f'    case "$at $one" in {paths}) at="$at $one";; esac',
        "  done",
        '  case "$at" in',
    )
    for one in commands:
        path = quote(" ".join(("parivox", *one.words)))
        yield f"    {path}) below='{' '.join(one.below)}' flags='{' '.join(one.options)}';;"
    yield from ("  esac", '  case "$word" in -*) below="$flags";; esac', '  case "$at $before" in')
    for one in commands:
        for option, known in one.choices.items():
            path = quote(" ".join(("parivox", *one.words, option)))
            yield f"    {path}) below='{' '.join(known)}';;"
    yield from (
        "  esac",
        '  COMPREPLY=($(compgen -W "$below" -- "$word"))',
        "}",
        "complete -o default -F _parivox parivox",
    )


def _zsh(commands: list[Command]) -> Iterator[str]:
    """The same, as zsh reads it."""
    yield "autoload -U +X compinit && compinit"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash(commands)


def _fish(commands: list[Command]) -> Iterator[str]:
    for one in commands:
        seen = [f"__fish_seen_subcommand_from {word}" for word in one.words]
        others = f"not __fish_seen_subcommand_from {' '.join(one.below)}"
        at = quote("; and ".join([*seen, others] if one.below else seen))
        for word, told in one.below.items():
            yield f"complete -c parivox -f -n {at} -a {word} -d {_in_fish(told)}"
        for option, told in one.options.items():
            known = f" -x -a '{' '.join(one.choices[option])}'" if option in one.choices else ""
            yield f"complete -c parivox -n {at} -l {option[2:]}{known} -d {_in_fish(told)}"


def _in_fish(text: str) -> str:
    first = text.replace("%%", "%").partition(";")[0]
    return "'" + first.replace("\\", "\\\\").replace("'", "\\'") + "'"
