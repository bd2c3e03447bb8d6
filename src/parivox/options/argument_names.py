"""Messages name options as the command line does; here they get the names of Python's arguments.

A message is written once. The command line prints it as it is, the library with what `python_words`
makes of it: ``--by 'acent'`` becomes ``by='acent'``. Names come from the descriptions of options.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from parivox.options.kinds import CommandOptions, Direction, Flag, NameMapping, option_fields

_MODULES = ("audit", "metrics", "decide", "plan", "monitor", "recordings", "trials", "gate")
"""Where options are described; of two with one name, the first one counts."""
_FUNCTIONS = (
    "audit", "calibrate", "compare", "count", "criteria", "embed", "gate", "inspect", "metrics",
    "monitor", "plan", "score", "thresholds",
)  # fmt: skip
"""Commands that are functions of the same name."""
_COMMAND = re.compile(r"`[^`]*`|\bparivox [a-z][^;,()]*")
"""A command line, which stays as it is unless it is a command alone."""
_FLAG = re.compile(
    r"(?<![\w'-])--(?P<name>[a-z][a-z-]*[a-z])"
    r"(?:[ =](?P<setting>'[^']*'|\"[^\"]*\"|[^\s;,()']+=[^\s;()']*|\d[\w.%:-]*|[A-Z]{2,}\b))?"
)
_FLAG_AND_WORD = re.compile(r"(?<![\w-])--(?P<name>[a-z][a-z-]*[a-z]) (?P<word>[a-z][\w+:.-]*)")
_NO_SETTING = (
    "a|again|alone|an|and|as|at|by|cannot|for|from|if|in|instead|is|new|of|on|one|or|that|the|to|"
    "too|with|without"
)
"""Words behind an option that are no setting of it."""
_EXAMPLE = re.compile(
    r"\b(?P<before>example|with|give|or) --(?P<name>[a-z][a-z-]*[a-z]) "
    rf"(?!(?:{_NO_SETTING})\b)(?P<word>[a-z][^\s;,()'=]*)(?![\w=])"
)
"""An option and its setting behind words that lead to a setting."""


def python_words(message: str) -> str:
    """Return a message with arguments of Python in place of options.

    Examples
    --------
    >>> python_words("--by: unknown attribute 'acent'")
    "by: unknown attribute 'acent'"
    >>> python_words("--limit 'fnr' names no limit; name one, for example --limit fnr=5%")
    "limits='fnr' names no limit; name one, for example limits='fnr=5%'"
    >>> python_words("compare needs intervals; leave out --no-intervals")
    'compare needs intervals; leave out intervals=False'
    >>> python_words("name it with --columns enrol=...; or count it with parivox count")
    "name it with columns={'enrol': ...}; or count it with pv.count"
    >>> python_words("parivox gate --example prints one")
    'parivox gate --example prints one'
    """
    words = []
    end = 0
    for command in _COMMAND.finditer(message):
        words += [_with_arguments(message[end : command.start()]), _function_name(command[0])]
        end = command.end()
    return "".join([*words, _with_arguments(message[end:])])


def _function_name(command: str) -> str:
    """Return the function of a command that is named without options; else the command."""
    name = command.removeprefix("parivox ")
    return f"pv.{name}" if name.strip() in _FUNCTIONS else command


def _with_arguments(text: str) -> str:
    """Return a text without commands, with arguments in place of options."""
    text = _EXAMPLE.sub(r"\g<before> --\g<name> '\g<word>'", text)
    text = _FLAG_AND_WORD.sub(_quoted_setting, text)
    return _FLAG.sub(lambda match: _argument(match["name"], match["setting"]), text)


def _quoted_setting(match: re.Match[str]) -> str:
    """Return an option and the word behind it, in quotes if it is a setting of the option."""
    name, word = match["name"], match["word"]
    is_setting = word in _arguments().get(name, _Argument(name)).choices or "+" in word
    return f"--{name} '{word}'" if is_setting else match[0]


def _argument(name: str, setting: str | None) -> str:
    """Return an option with its setting, if there is one, as an argument."""
    argument = _arguments().get(name, _Argument(name.replace("-", "_")))
    if setting is None:
        return f"{argument.keyword}={argument.implied}" if argument.implied else argument.keyword
    if setting[-1] in ",:":  # of the sentence
        return f"{_argument(name, setting[:-1])}{setting[-1]}"
    is_quoted = setting[0] in "'\""
    if argument.is_mapping and not is_quoted:
        pairs = (pair.partition("=") for pair in setting.split(","))
        cells = ", ".join(f"'{role}': {_mapped(column)}" for role, _, column in pairs)
        return f"{argument.keyword}={{{cells}}}"
    is_placeholder = setting.isalpha() and setting.isupper()
    is_literal = is_quoted or is_placeholder or setting.replace(".", "", 1).isdecimal()
    return f"{argument.keyword}={setting if is_literal else repr(setting)}"


def _mapped(column: str) -> str:
    """Return the column of a mapping as Python writes it; three dots stand for any."""
    return column if column == "..." else repr(column)


class _Argument(NamedTuple):
    """An argument of the library."""

    keyword: str
    implied: str = ""  # what the option stands for if no setting follows
    is_mapping: bool = False
    choices: tuple[str, ...] = ()  # words that may follow the option


@cache
def _arguments() -> dict[str, _Argument]:
    """Return the argument of each option, by its name on the command line."""
    arguments: dict[str, _Argument] = {}
    for module_name in _MODULES:
        module = import_module(f"parivox.options.{module_name}")
        for command in vars(module).values():
            if isinstance(command, type) and issubclass(command, CommandOptions):
                for option in option_fields(command).values():
                    for name, argument in _arguments_of_option(option):
                        arguments.setdefault(name, argument)
    return arguments


def _arguments_of_option(option: Any) -> list[tuple[str, _Argument]]:
    """Return each name of an option on the command line, with its argument."""
    if isinstance(option, Direction):
        return [(word, _Argument(option.keyword, repr(word))) for word in option.descriptions]
    implied = str(not option.default) if isinstance(option, Flag) else ""
    choices = ("none", "exact", *getattr(option, "choices", ()))
    argument = _Argument(option.keyword, implied, isinstance(option, NameMapping), choices)
    return [(option.flag.removeprefix("--"), argument)]
