"""Options on the command line: made from their descriptions, read as keywords of the library."""

from __future__ import annotations

import argparse
import glob
import os
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.errors import ConfigError
from parivox.options.audit import WorkersCommand, checked_workers
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

    from parivox.options.kinds import CommandOptions, Option

_MAX_SHOWN_OPTIONS = 20
"""Options of a command up to which `--help` lists all; of more, it lists the common ones."""
TABLES = ("speakers", "trials", "utterances", "models", "failures")
"""Options that name a table in addition to the scores."""


class SingleUseAction(argparse.Action):
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
            hint = "give it once"
            if self.dest in TABLES:
                hint = "give one file, or merge the two tables"
            msg = f"{option_string} is given twice"
            raise ConfigError(msg, hint)
        self.given_to = namespace
        setattr(namespace, self.dest, values)


class WrappedHelpFormatter(argparse.HelpFormatter):
    """Help whose lines fit the terminal: usage and examples are wrapped as well."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an option, or commands with room for the longest name."""
        super().add_argument(action)
        if action.nargs == argparse.PARSER:  # whose names argparse forgets to indent
            self._action_max_length += self._indent_increment

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _format_usage(self, *usage_parts: Any) -> str:
        usage_lines = super()._format_usage(*usage_parts).rstrip().split("\n")
        return (
            "\n".join(self._wrapped(usage_line, " " * 10, "") for usage_line in usage_lines)
            + "\n\n"
        )

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return "\n".join(
            self._wrapped(example_line, " " * 4, " \\") for example_line in text.split("\n")
        )

    def _wrapped(self, long_line: str, indent: str, line_end: str) -> str:
        """Return a line as several, not split within quotes or brackets.

        All but the last end with `line_end`, a backslash in examples.
        """
        wrapped, words = [""], re.findall(r"\s*(?:\"[^\"]*\"|\[[^]]*\]|[^\s\"])+", long_line)
        for word in words:
            if len(wrapped[-1] + word) + len(line_end) > self._width and wrapped[-1].strip():
                wrapped[-1] += line_end
                wrapped.append(indent + word.lstrip())
            else:
                wrapped[-1] += word
        return "\n".join(wrapped)


class ShowAllOptions(argparse.Action):
    """Print help with every option."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        """Print it, and end."""
        for option, help_text in self.const.items():
            option.help = help_text
        parser.print_help()
        parser.exit()


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], None] | None,
    *described: type[CommandOptions],
    examples: str = "",
    **texts: Any,
) -> Any:
    """Add a command with every described option, under the headings of their sections."""
    command = commands.add_parser(
        name,
        epilog=examples or None,
        formatter_class=WrappedHelpFormatter,
        allow_abbrev=False,
        **texts,
    )
    if run is not None:
        command.set_defaults(run=run)
    sections, help_of_hidden = options_by_section(*described), dict[Any, str | None]()
    n_options = sum(len(options) for options in sections.values())
    if n_options > _MAX_SHOWN_OPTIONS:
        command.add_argument(
            "--help-all",
            action=ShowAllOptions,
            nargs=0,
            const=help_of_hidden,
            help="show all options and exit",
        )
    for section, options in sections.items():
        group = command.add_argument_group(section)
        for option in sorted(options, key=lambda option: not option.positional_count):
            actions = add_option(group, option)
            is_always_shown = option.is_common or option.positional_count
            if n_options > _MAX_SHOWN_OPTIONS and not is_always_shown:
                help_of_hidden |= {action: action.help for action in actions}
    for action in help_of_hidden:
        action.help = argparse.SUPPRESS
    return command


def add_option(group: Any, option: Option) -> list[Any]:
    """Add one described option; return the actions that argparse makes of it."""
    if option.command_name is None:
        return []
    if option.positional_count:
        return [_add_positional(group, option)]
    if isinstance(option, Direction):
        return [
            group.add_argument(f"--{word}", action="store_true", help=words)
            for word, words in option.descriptions.items()
        ]
    letters = [f"-{option.letter}"] if option.letter else []
    words = _help_of(option).replace("%", "%%")  # which argparse would fill in
    settings = _argparse_settings(option)
    action = group.add_argument(*letters, option.flag, help=words, **settings)
    # not argparse's choices, whose errors say less
    action.known = getattr(option, "choices", ())
    return [action]


def _add_positional(group: Any, option: Option) -> Any:
    """Add an argument without a flag; return the action that argparse makes of it."""
    settings: dict[str, Any] = {}
    if option.positional_count != "1":
        settings["nargs"] = option.positional_count
    words = option.plain_description.replace("%", "%%")
    action = group.add_argument(option.name, metavar=option.metavar, help=words, **settings)
    # argparse's error says which argument is missing
    action.required = option.positional_count not in {"*", "?"}
    action.known = getattr(option, "choices", ())
    return action


def _argparse_settings(option: Option) -> dict[str, Any]:
    """Return what argparse must know of an option with a flag."""
    settings: dict[str, Any] = {"dest": option.name, "metavar": option.metavar}
    if isinstance(option, Flag):
        settings = {"dest": option.name, "action": "store_true"}
    elif isinstance(option, Unchecked) and option.flag_value is not None:
        settings = {"dest": option.name, "action": "store_const", "const": option.flag_value}
    elif isinstance(option, Unchecked) and option.takes_several:
        settings["nargs"] = "+"
    elif isinstance(option, Text) and option.implied_text:
        settings |= {"nargs": "?", "const": option.implied_text}
    elif option.is_repeatable:
        settings["action"] = "append"
    if option.is_required:
        settings["required"] = True
    return settings


def _help_of(option: Option) -> str:
    """Return what an option does, whether it can be repeated, and its default."""
    if isinstance(option, Flag):
        return option.negated_description or option.plain_description
    sentences = [option.plain_description]
    if option.is_repeatable and not (isinstance(option, Unchecked) and option.takes_several):
        sentences.append("Can be repeated")
    if option.default_description:
        sentences.append(f"Default: {option.default_description}".replace("`", ""))
    return ". ".join(sentences)


def requested_workers(arguments: argparse.Namespace) -> int | None:
    """Return the number of processes; None for as many as are useful.

    A script that runs a command may be none that workers can import, so that it has to ask.
    """
    given = given_options(arguments, WorkersCommand)
    if given:
        return checked_workers(given["workers"])
    return None if getattr(arguments, "is_program", False) else 1


def given_options(arguments: argparse.Namespace, described: type[CommandOptions]) -> dict[str, Any]:
    """Return the options that were given, as keywords of the library.

    Raises
    ------
    ConfigError
        If a text is no number or mapping where one is asked for.
    """
    options: dict[str, Any] = {}
    for name, option in option_fields(described).items():
        if isinstance(option, Direction):
            words = [word for word in option.descriptions if getattr(arguments, word)]
            if len(words) > 1:
                flags = " and ".join(f"--{word}" for word in words)
                msg = f"{flags} contradict each other"
                hint = "give one of them"
                raise ConfigError(msg, hint)
            options |= dict.fromkeys([option.keyword] if words else [], *words)
        elif option.command_name is not None:
            argument = getattr(arguments, name)
            is_off = argument is False and isinstance(option, Flag)
            if argument is not None and not is_off:
                options[option.keyword] = option.parse(argument)
    return options


def named_source(text: str) -> tuple[str, str]:
    """Return the name, perhaps empty, and the file of NAME=FILE; an existing file has no name."""
    name, equals, path = text.partition("=")
    # any text, even what no path can be
    is_named = equals and not os.path.exists(text)  # noqa: PTH110
    return (name, path) if is_named else ("", text)


def is_file_pattern(path: str) -> bool:
    """Whether a text is a pattern of file names, and no file itself."""
    return glob.has_magic(path) and not os.path.exists(path)  # noqa: PTH110 - any text


def matching_files(path: str) -> list[str]:
    """Return the files that a pattern such as ``data/*.parquet`` names, in order; else the path."""
    if not is_file_pattern(path):
        return [path]
    files = sorted(glob.glob(path))  # noqa: PTH207 - as a shell names them
    if not files:
        msg = f"{path}: matches no file"
        hint = "check the folder and the pattern"
        raise ConfigError(msg, hint)
    return files


def check_standard_input(paths: Iterable[str | list[str] | None]) -> None:
    """Refuse ``-`` where there is no standard input."""
    if any(path == "-" for path in paths) and sys.stdin is None:
        msg = "-: standard input is closed"
        hint = "name a file, or pipe one to standard input"
        raise ConfigError(msg, hint)


def check_out_is_named(out: str | None, kind: str, option: str = "--out") -> None:
    """Refuse ``-``, which stands for standard output elsewhere."""
    if out == "-":
        msg = f"{option} -: standard output is not a {kind}"
        hint = f"name a {kind}"
        raise ConfigError(msg, hint)
