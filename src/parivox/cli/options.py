"""Options that several commands share: what trials stand beside, and how files are read."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any, Self

from parivox.cli.streams import say
from parivox.errors import ConfigError, shown

__all__ = [
    "READING",
    "Once",
    "Progress",
    "add_reading",
    "add_tables",
    "check_out_is_named",
    "check_standard_input",
    "how_read",
    "mapping_of",
    "repeatable",
]

TABLES = ("speakers", "trials", "utterances", "models", "failures")
"""Options that name a table beside the scores."""
READING = (*TABLES, "by", "within", "groups", "scores_format", "id", "conflicts", "llr")
"""Shared options that the library takes as they are."""


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


def add_tables(what: Any) -> None:
    """Add the tables beside the scores, and what trials are grouped by."""
    what.add_argument("--speakers", metavar="FILE", help="table of speakers and their attributes")
    repeatable(
        what,
        "--by",
        "ATTRIBUTES",
        "groups: gender, gender+nationality, age:18,30,60, enrol.language, same:device, grade "
        "(default: every attribute with 2 to 50 values)",
    )
    repeatable(
        what, "--within", "ATTRIBUTES", "repeat the audit within each level of these: channel"
    )
    what.add_argument(
        "--groups", metavar="FILE", help="which groups to make of which values (YAML)"
    )
    what.add_argument(
        "--trials", metavar="FILE", help="separate trial list, joined on the pair of ids"
    )
    what.add_argument(
        "--utterances", metavar="FILE", help="table of recordings: speaker and any attributes"
    )
    what.add_argument(
        "--models", metavar="FILE", help="table of model, speaker, recording: enrolments"
    )
    what.add_argument(
        "--failures", metavar="FILE", help="table of recording, stage (enrol, acquire), reason"
    )


def add_reading(command: Any) -> None:
    """Add how files are read."""
    read = command.add_argument_group("how files are read")
    read.add_argument(
        "--scores-format", metavar="NAME", help="format of the scores (default: by content)"
    )
    read.add_argument(
        "--columns", metavar="ROLES", help="enrol=ref_file,test=com_file,score=sc,label=lab"
    )
    read.add_argument("--id", metavar="COLUMN", help="id column of the speaker table")
    read.add_argument("--distance", action="store_true", help="scores are distances: negate them")
    read.add_argument(
        "--similarity", action="store_true", help="scores are similarities, whatever their AUC"
    )
    read.add_argument(
        "--conflicts",
        default="error",
        metavar="WAY",
        help="rows that contradict each other: error (default) or set-aside",
    )


def how_read(given: argparse.Namespace) -> dict[str, Any]:
    """What the shared options say, in the words of the library."""
    if given.distance and given.similarity:
        msg = "--distance and --similarity contradict each other; give one of them"
        raise ConfigError(msg)
    orientation = (given.distance and "distance") or (given.similarity and "similarity") or None
    found = {name: getattr(given, name) for name in READING}
    found |= {"columns": mapping_of(given.columns), "orientation": orientation}
    return {name: value for name, value in found.items() if value is not None}


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


def mapping_of(text: str | None) -> dict[str, str] | None:
    """Read ``--columns``."""
    if text is None:
        return None
    found: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = (word.strip() for word in part.partition("="))
        if not equals or not role or not column:
            msg = f"--columns {text!r}: {part!r} is not ROLE=COLUMN, as in enrol=ref_file,score=sc"
            raise ConfigError(msg)
        if role in found:
            msg = f"--columns {text!r}: {role} is given twice; give each role one column"
            raise ConfigError(msg)
        found[role] = column
    return found
