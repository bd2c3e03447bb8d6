"""Options on the command line: made of their descriptions, and read as the library takes them."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any, Self

from parivox.cli.streams import say
from parivox.errors import ConfigError, shown
from parivox.options.audit import ReadOptions
from parivox.options.kinds import Direction, Flag, Value, options_of, sections_of

if TYPE_CHECKING:
    from parivox.options.kinds import Option, Options

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


def repeatable(group: Any, name: str, metavar: str, words: str) -> None:
    """Add an option that may be given several times."""
    group.add_argument(name, action="append", metavar=metavar, help=f"{words}; repeatable")


def add_options(group: Any, described: type[Options], section: str) -> None:
    """Add the options of a section."""
    for one in sections_of(described)[section]:
        add_option(group, one)


def add_every_section(command: Any, described: type[Options]) -> None:
    """Add every option, each under the heading of its section."""
    for section in sections_of(described):
        add_options(command.add_argument_group(section), described, section)


def add_option(group: Any, one: Option) -> None:
    """Add one option as it is described."""
    if one.command is None:
        return
    if isinstance(one, Direction):
        for word, words in one.each.items():
            group.add_argument(f"--{word}", action="store_true", help=words)
        return
    words = one.plain + (f" (default: {one.fallback})" if one.fallback else "").replace("`", "")
    how: dict[str, Any] = {"dest": one.name, "metavar": one.metavar}
    if isinstance(one, Flag):
        how = {"dest": one.name, "action": "store_true"}
        words = one.negated or words
    elif isinstance(one, Value) and one.const is not None:
        how = {"dest": one.name, "action": "store_const", "const": one.const}
    elif isinstance(one, Value) and one.is_many:
        how["nargs"] = "+"
    elif one.is_repeatable:
        how["action"] = "append"
        words += "; repeatable"
    if one.is_needed:
        how["required"] = True
    group.add_argument(one.flag, help=words, **how)


def given_options(given: argparse.Namespace, described: type[Options]) -> dict[str, Any]:
    """The options that are given, as the library takes them.

    Raises
    ------
    ConfigError
        If a text is no number or mapping where one is asked for.
    """
    found: dict[str, Any] = {}
    for name, one in options_of(described).items():
        if isinstance(one, Direction):
            words = [word for word in one.each if getattr(given, word)]
            if len(words) > 1:
                told = " and ".join(f"--{word}" for word in words)
                msg = f"{told} contradict each other; give one of them"
                raise ConfigError(msg)
            found |= dict.fromkeys([one.argument] if words else [], *words)
        elif one.command is not None:
            value = getattr(given, name)
            is_off = value is False and isinstance(one, Flag)
            if value is not None and not is_off:
                found[one.argument] = one.parse(value)
    return found


def check_standard_input(given: argparse.Namespace, *scores: str) -> None:
    """Refuse ``-`` where there is no standard input."""
    paths = [text.rpartition("=")[2] for text in scores]
    tables = [getattr(given, name) for name in TABLES]
    if "-" in {*paths, *tables, given.groups} and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)


def check_out_is_named(out: str | None, kind: str) -> None:
    """Refuse ``-``, which stands for standard output elsewhere."""
    if out == "-":
        msg = f"--out -: standard output is no {kind}; name a {kind}"
        raise ConfigError(msg)


class Progress:
    """What is being done, on stderr: a spinner in a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.live: Any = None

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415

            self.live = Console(stderr=True).status("")
            self.live.start()
        return self

    def __call__(self, what: str) -> None:
        """Tell what is being done."""
        if self.live is not None:
            from rich.text import Text  # noqa: PLC0415

            self.live.update(Text(shown(what)))
        elif not self.quiet:
            say(what)

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            with contextlib.suppress(OSError):
                self.live.stop()


def mapping_of(text: str | None) -> Any:
    """Read ``--columns``."""
    return None if text is None else options_of(ReadOptions)["columns"].parse(text)
