"""``parivox trials``: look at trial lists, and make them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from parivox.cli import COMMANDS
from parivox.cli.options import add_every_section, check_out_is_named, given_options
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError
from parivox.options.trials import CheckOptions, ConvertOptions, DescribeOptions, GradeOptions

if TYPE_CHECKING:
    from parivox.options.kinds import Options

EXAMPLES = """\
examples:
  parivox trials check veri_test.txt --speakers vox1_meta.csv --by gender+nationality
  parivox trials describe list.csv --speakers people.csv --by gender
  parivox trials grade list.csv --speakers people.csv --out graded.parquet
  parivox trials convert list.csv --to kaldi --out list.txt
"""


def add_to(commands: Any) -> None:
    """Add the command, its sub-commands and their options."""
    whole = commands.add_parser(
        "trials",
        help=COMMANDS["trials"],
        usage="parivox trials COMMAND LIST [options]",
        description="Tell what a trial list can show and what it cannot, and build one that can.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inner = whole.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="parivox trials"
    )
    _add_check(inner)
    _add_describe(inner)
    _add_grade(inner)
    _add_convert(inner)
    from parivox.cli import build, variants  # noqa: PLC0415 - each is a command of this one

    build.add_to(inner)
    variants.add_to(inner)


def _add(commands: Any, name: str, run: Any, options: type[Options], *texts: str) -> Any:
    words, description = texts
    command = commands.add_parser(
        name,
        help=words,
        usage=f"parivox trials {name} LIST [options]",
        description=description,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    command.add_argument("list", metavar="LIST", help="trial list or file of scores, or -")
    add_every_section(command, options)
    return command


def _add_check(commands: Any) -> None:
    command = _add(
        commands,
        "check",
        _check,
        CheckOptions,
        "what a list can show: the guidelines, one line each",
        "Check a list against the guidelines for evaluations that carry a claim.",
    )
    command.add_argument("--json", action="store_true", help="print everything as JSON")
    command.add_argument("--strict", action="store_true", help="exit code 1 if a check fails")


def _add_describe(commands: Any) -> None:
    command = _add(
        commands,
        "describe",
        _describe,
        DescribeOptions,
        "counts by group, speaker, pair of groups and grade",
        "Tell what a list holds.",
    )
    command.add_argument("--json", action="store_true", help="print everything as JSON")


def _add_grade(commands: Any) -> None:
    _add(
        commands,
        "grade",
        _grade,
        GradeOptions,
        "write each trial with its grade and what both sides share",
        "Tell of each trial how difficult it is.",
    )


def _add_convert(commands: Any) -> None:
    _add(
        commands,
        "convert",
        _convert,
        ConvertOptions,
        "write a list in another format",
        "Write a list in another format: the same trials in the same order.",
    )


def _given(given: argparse.Namespace, options: type[Options]) -> dict[str, Any]:
    """What a sub-command is given, as the library takes it."""
    if "-" in {given.list, given.speakers, given.utterances} and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)
    found = given_options(given, options)
    if "grade_by" in found:
        found["grade_by"] = _attributes(found["grade_by"])
    return found


def _check(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import check_in_words  # noqa: PLC0415 - what takes time to load
    from parivox.report.words import show  # noqa: PLC0415
    from parivox.trials.checks import check  # noqa: PLC0415

    asked = _given(given, CheckOptions)
    asked["thresholds"] = _thresholds(given.thresholds)
    if given.pilot is not None:
        from parivox.auditing.plan import plan  # noqa: PLC0415 - on request

        asked["pilot"] = plan(given.pilot)
    found = check(given.list, **asked)
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            show(check_in_words(found))
    if given.strict and not found.passed:
        sys.exit(1)


def _describe(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import description_in_words  # noqa: PLC0415
    from parivox.report.words import show  # noqa: PLC0415
    from parivox.trials.description import describe  # noqa: PLC0415

    found = describe(given.list, **_given(given, DescribeOptions))
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            show(description_in_words(found))


def _grade(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import grades_in_words  # noqa: PLC0415
    from parivox.report.words import show  # noqa: PLC0415
    from parivox.trials.grades import grade  # noqa: PLC0415

    check_out_is_named(given.out, "file")
    found = grade(given.list, **_given(given, GradeOptions))
    with printing():
        show(grades_in_words(found))


def _convert(given: argparse.Namespace) -> None:
    set_up()
    from parivox.errors import shown  # noqa: PLC0415
    from parivox.trials.writing import convert  # noqa: PLC0415

    check_out_is_named(given.out, "file")
    found = convert(given.list, **_given(given, ConvertOptions))
    with printing():
        for line in found.told:
            sys.stdout.write(f"{shown(line)}\n")


def _attributes(given: list[str]) -> list[str]:
    """Attributes joined by commas; a number belongs to the bands before it: days:30,90,gender."""
    found: list[str] = []
    for part in (one.strip() for text in given for one in text.split(",")):
        is_edge = part.replace(".", "", 1).lstrip("-").isdecimal()
        if found and is_edge and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _thresholds(given: list[str] | None) -> dict[str, float]:
    """Read ``--threshold``."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            msg = f"--threshold {text!r} is not CHECK=NUMBER, as in --threshold G2=100"
            raise ConfigError(msg)
        if name in found:
            msg = f"--threshold of {name} is given twice; give it once"
            raise ConfigError(msg)
        found[name] = value
    return found
