"""``parivox trials``: look at trial lists, and make them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from parivox.cli.options import check_out_is_named, mapping_of, repeatable
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing
from parivox.errors import ConfigError

__all__ = ["add_to"]

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
        help="check, describe, grade, convert and build trial lists",
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


def _add(commands: Any, name: str, run: Any, words: str, description: str) -> Any:
    command = commands.add_parser(
        name,
        help=words,
        usage=f"parivox trials {name} LIST [options]",
        description=description,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    command.add_argument("list", metavar="LIST", help="trial list or file of scores, or -")
    command.add_argument("--speakers", metavar="FILE", help="table of speakers, their attributes")
    command.add_argument(
        "--utterances", metavar="FILE", help="table of utterances: speaker, recording, attributes"
    )
    command.add_argument("--columns", metavar="ROLES", help="enrol=ref_file,test=com_file")
    command.add_argument("--id", metavar="COLUMN", help="id column of the speaker table")
    return command


def _add_conflicts(command: Any) -> None:
    command.add_argument(
        "--conflicts",
        default="error",
        metavar="WAY",
        help="rows that contradict each other: error (default) or set-aside",
    )
    repeatable(
        command,
        "--grade-by",
        "ATTRIBUTES",
        "what makes a trial difficult, the weightiest first (default: gender,nationality)",
    )


def _add_groups(command: Any) -> None:
    repeatable(
        command,
        "--by",
        "ATTRIBUTES",
        "groups: gender, gender+nationality (default: every attribute with 2 to 50 values)",
    )
    _add_conflicts(command)
    command.add_argument("--speaker-ids", action="store_true", help="name speakers")
    command.add_argument("--json", action="store_true", help="print everything as JSON")


def _add_check(commands: Any) -> None:
    command = _add(
        commands,
        "check",
        _check,
        "what a list can show: the guidelines, one line each",
        "Check a list against the guidelines for evaluations that carry a claim.",
    )
    _add_groups(command)
    command.add_argument(
        "--mix", metavar="SHARES", help="wished grades of nontarget trials: cat4=0.5,cat3=0.5"
    )
    command.add_argument(
        "--variants", metavar="LIST", nargs="+", default=[], help="lists drawn like this one"
    )
    command.add_argument(
        "--development", metavar="LIST", help="list that should share no speaker with this one"
    )
    command.add_argument(
        "--pilot", metavar="DIR", help="audit with intervals: what differences the list can show"
    )
    repeatable(command, "--threshold", "CHECK=X", "what a check is held against, as in G2=100")
    command.add_argument("--strict", action="store_true", help="exit code 1 if a check fails")


def _add_describe(commands: Any) -> None:
    command = _add(
        commands,
        "describe",
        _describe,
        "counts by group, speaker, pair of groups and grade",
        "Tell what a list holds.",
    )
    _add_groups(command)


def _add_grade(commands: Any) -> None:
    command = _add(
        commands,
        "grade",
        _grade,
        "write each trial with its grade and what both sides share",
        "Tell of each trial how difficult it is.",
    )
    _add_conflicts(command)
    command.add_argument("--out", metavar="FILE", required=True, help="CSV or Parquet file")


def _add_convert(commands: Any) -> None:
    command = _add(
        commands,
        "convert",
        _convert,
        "write a list in another format",
        "Write a list in another format: the same trials in the same order.",
    )
    command.add_argument(
        "--to", metavar="FORMAT", required=True, help="voxceleb, kaldi, nist, csv or parquet"
    )
    command.add_argument("--out", metavar="FILE", required=True, help="a new file")
    command.add_argument("--format", metavar="NAME", help="format of LIST (default: by content)")


def _reading(given: argparse.Namespace) -> dict[str, Any]:
    """What every sub-command reads."""
    if "-" in {given.list, given.speakers, given.utterances} and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)
    found = {name: getattr(given, name) for name in ("speakers", "utterances", "id")}
    return found | {"columns": mapping_of(given.columns)}


def _grading(given: argparse.Namespace) -> dict[str, Any]:
    graded = None if given.grade_by is None else _attributes(given.grade_by)
    return _reading(given) | {"grade_by": graded, "conflicts": given.conflicts}


def _check(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import show, told_check  # noqa: PLC0415 - what takes time to load
    from parivox.trials.checks import check  # noqa: PLC0415

    pilot = None
    thresholds = _thresholds(given.threshold)
    if given.pilot is not None:
        from parivox.auditing.plan import plan  # noqa: PLC0415 - on request

        pilot = plan(given.pilot)
    found = check(
        given.list,
        by=given.by,
        mix=given.mix,
        variants=given.variants,
        development=given.development,
        pilot=pilot,
        thresholds=thresholds,
        speaker_ids=given.speaker_ids,
        **_grading(given),
    )
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            show(told_check(found))
    if given.strict and not found.passed:
        sys.exit(1)


def _describe(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import show, told_description  # noqa: PLC0415
    from parivox.trials.description import describe  # noqa: PLC0415

    found = describe(given.list, by=given.by, speaker_ids=given.speaker_ids, **_grading(given))
    with printing():
        if given.json:
            print_json(found.to_json())
        else:
            show(told_description(found))


def _grade(given: argparse.Namespace) -> None:
    set_up()
    from parivox.report.trials import show, told_grades  # noqa: PLC0415
    from parivox.trials.grades import grade  # noqa: PLC0415

    check_out_is_named(given.out, "file")
    found = grade(given.list, out=given.out, **_grading(given))
    with printing():
        show(told_grades(found))


def _convert(given: argparse.Namespace) -> None:
    set_up()
    from parivox.errors import shown  # noqa: PLC0415
    from parivox.trials.conversion import convert  # noqa: PLC0415

    check_out_is_named(given.out, "file")
    found = convert(given.list, given.out, to=given.to, format=given.format, **_reading(given))
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
