"""Options on the command line: made of their descriptions, and read as the library takes them."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.errors import ConfigError
from parivox.options.kinds import (
    Direction,
    Flag,
    Text,
    Unchecked,
    option_fields,
    options_by_section,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parivox.options.kinds import Option, Options

_FEW = 20
"""Options of a command that `--help` lists whole; of more, the common ones."""
TABLES = ("speakers", "trials", "utterances", "models", "failures")
"""Options that name a table beside the scores."""


class Once(argparse.Action):
    """Keep the value of an option that may be given once; argparse would keep the last."""

    given_to: argparse.Namespace | None = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - how argparse calls it
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the value, or refuse a second one."""
        if self.given_to is namespace:
            mend = (
                "give one file, or join the two tables" if self.dest in TABLES else "give it once"
            )
            msg = f"{option_string} is given twice; {mend}"
            raise ConfigError(msg)
        self.given_to = namespace
        setattr(namespace, self.dest, values)


class Words(argparse.HelpFormatter):
    """Help of which no line is wider than the terminal: usage and examples are wrapped as well."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an option, or commands with room for the longest name."""
        super().add_argument(action)
        if action.nargs == argparse.PARSER:  # whose names argparse forgets to indent
            self._action_max_length += self._indent_increment

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _format_usage(self, *how: Any) -> str:
        lines = super()._format_usage(*how).rstrip().split("\n")
        return "\n".join(self._wrapped(line, " " * 10, "") for line in lines) + "\n\n"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return "\n".join(self._wrapped(line, " " * 4, " \\") for line in text.split("\n"))

    def _wrapped(self, line: str, indent: str, end: str) -> str:
        """A line as several, not parted within quotes and brackets; all but the last end so."""
        lines, words = [""], re.findall(r"\s*(?:\"[^\"]*\"|\[[^]]*\]|[^\s\"])+", line)
        for word in words:
            if len(lines[-1] + word) + len(end) > self._width and lines[-1].strip():
                lines[-1] += end
                lines.append(indent + word.lstrip())
            else:
                lines[-1] += word
        return "\n".join(lines)


class Every(argparse.Action):
    """Print help with every option."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        """Print it, and end."""
        for option, words in self.const.items():
            option.help = words
        parser.print_help()
        parser.exit()


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], None] | None,
    *described: type[Options],
    examples: str = "",
    **texts: Any,
) -> Any:
    """Add a command with every option that is described, under the headings of their sections."""
    command = commands.add_parser(
        name, epilog=examples or None, formatter_class=Words, allow_abbrev=False, **texts
    )
    if run is not None:
        command.set_defaults(run=run)
    sections, others = options_by_section(*described), dict[Any, str | None]()
    every = [one for options in sections.values() for one in options]
    if len(every) > _FEW:
        command.add_argument(
            "--help-all", action=Every, nargs=0, const=others, help="show all options and exit"
        )
    for section, options in sections.items():
        group = command.add_argument_group(section)
        for one in sorted(options, key=lambda one: not one.positional_count):
            made = add_option(group, one)
            if len(every) > _FEW and not (one.is_common or one.positional_count):
                others |= {option: option.help for option in made}
    for option in others:
        option.help = argparse.SUPPRESS
    return command


def add_option(group: Any, one: Option) -> list[Any]:
    """Add one option as it is described; what argparse makes of it."""
    if one.command_name is None:
        return []
    if one.positional_count:
        how: dict[str, Any] = {} if one.positional_count == "1" else {"nargs": one.positional_count}
        words = one.plain_description.replace("%", "%%")
        made = group.add_argument(one.name, metavar=one.metavar, help=words, **how)
        made.required = one.positional_count not in {
            "*",
            "?",
        }  # which says what is missing, if anything
        made.known = getattr(one, "choices", ())
        return [made]
    if isinstance(one, Direction):
        return [
            group.add_argument(f"--{word}", action="store_true", help=words)
            for word, words in one.descriptions.items()
        ]
    how = {"dest": one.name, "metavar": one.metavar}
    if isinstance(one, Flag):
        how = {"dest": one.name, "action": "store_true"}
    elif isinstance(one, Unchecked) and one.flag_value is not None:
        how = {"dest": one.name, "action": "store_const", "const": one.flag_value}
    elif isinstance(one, Unchecked) and one.takes_several:
        how["nargs"] = "+"
    elif isinstance(one, Text) and one.implied_text:
        how |= {"nargs": "?", "const": one.implied_text}
    elif one.is_repeatable:
        how["action"] = "append"
    if one.is_required:
        how["required"] = True
    letters = [f"-{one.letter}"] if one.letter else []
    words = _help_of(one).replace("%", "%%")  # which argparse would fill in
    made = group.add_argument(*letters, one.flag, help=words, **how)
    made.known = getattr(one, "choices", ())  # not argparse's choices, which say less if missed
    return [made]


def _help_of(one: Option) -> str:
    """Return what an option does, whether it can be repeated, and its default."""
    if isinstance(one, Flag):
        return one.negated_description or one.plain_description
    sentences = [one.plain_description]
    if one.is_repeatable and not (isinstance(one, Unchecked) and one.takes_several):
        sentences.append("Can be repeated")
    if one.default_description:
        sentences.append(f"Default: {one.default_description}".replace("`", ""))
    return ". ".join(sentences)


def given_options(given: argparse.Namespace, described: type[Options]) -> dict[str, Any]:
    """The options that are given, as the library takes them.

    Raises
    ------
    ConfigError
        If a text is no number or mapping where one is asked for.
    """
    found: dict[str, Any] = {}
    for name, one in option_fields(described).items():
        if isinstance(one, Direction):
            words = [word for word in one.descriptions if getattr(given, word)]
            if len(words) > 1:
                both = " and ".join(f"--{word}" for word in words)
                msg = f"{both} contradict each other; give one of them"
                raise ConfigError(msg)
            found |= dict.fromkeys([one.keyword] if words else [], *words)
        elif one.command_name is not None:
            value = getattr(given, name)
            is_off = value is False and isinstance(one, Flag)
            if value is not None and not is_off:
                found[one.keyword] = one.parse(value)
    return found


def named_source(text: str) -> tuple[str, str]:
    """The name, perhaps none, and the file of NAME=FILE; a file that is there is no such thing."""
    name, equals, path = text.partition("=")
    # any text, even what no path can be
    is_named = equals and not os.path.exists(text)  # noqa: PTH110
    return (name, path) if is_named else ("", text)


def check_standard_input(paths: Iterable[str | None]) -> None:
    """Refuse ``-`` where there is no standard input."""
    if "-" in set(paths) and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)


def check_out_is_named(out: str | None, kind: str, option: str = "--out") -> None:
    """Refuse ``-``, which stands for standard output elsewhere."""
    if out == "-":
        msg = f"{option} -: standard output is not a {kind}; name a {kind}"
        raise ConfigError(msg)
