"""``parivox trials``: look at trial lists, build them, and tell how far results move with them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from parivox.cli.options import (
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
)
from parivox.cli.process import print_lines, print_result
from parivox.errors import ConfigError
from parivox.options import trials as described
from parivox.options.audit import ProgressCommand
from parivox.options.kinds import option_fields

if TYPE_CHECKING:
    from parivox.options.kinds import CommandOptions

EXAMPLES = """\
examples:
  parivox trials check veri_test.txt --speakers vox1_meta.csv --by gender+nationality
  parivox trials describe list.csv --speakers people.csv --by gender
  parivox trials grade list.csv --speakers people.csv --out graded.parquet
  parivox trials convert list.csv --to kaldi --out list.txt
"""
BUILD = "parivox trials build"
EXAMPLES_OF_BUILD = """\
examples:
  parivox trials build inclusive --utterances u.csv --speakers s.csv --by gender+nationality \\
    --per-speaker 500 --variants 5 --seed 1 --out lists/
  parivox trials build balanced --utterances u.csv --speakers s.csv --by nationality \\
    --speakers-per-group 8 --utterances-per-speaker 24 --out balanced/
  parivox trials build cross --utterances u.csv --speakers s.csv --by gender --trials 1000000 \\
    --out cross/
  parivox trials build --from lists/inclusive.manifest.json --out again/
"""
EXAMPLES_OF_VARIANTS = """\
examples:
  parivox trials variants scores.csv --speakers s.csv --by nationality
  parivox trials variants scores.csv --speakers s.csv --by gender --chart spread.svg --dets det.svg
"""
_TABLES = ("utterances", "speakers", "out")
_KIND_DESCRIPTIONS = {
    "inclusive": "the same number of pairs of the same difficulty for every speaker",
    "balanced": "the same number of speakers, utterances and pairs for every group",
    "cross": "nontarget pairs between all groups",
}


def add_to(commands: Any, words: str) -> None:
    """Add the command, its sub-commands and their options."""
    command = add_command(
        commands,
        "trials",
        None,
        help=words,
        usage="parivox trials COMMAND LIST [options]",
        description="Check, describe, grade, convert and build trial lists.",
        examples=EXAMPLES,
    )
    subcommands = command.add_subparsers(
        title="commands", metavar="COMMAND", required=True, prog="parivox trials"
    )
    _add_looks(subcommands)
    _add_build(subcommands)
    add_command(
        subcommands,
        "variants",
        _variants,
        described.VariantsOptions,
        described.VariantsCommand,
        ProgressCommand,
        help="measure how results vary between lists drawn from the same pairs",
        usage="parivox trials variants SCORES --by ATTRIBUTES [options]",
        description="Draw several lists from scored pairs and compare how much the results of "
        "each group vary between lists and between samples of speakers.",
        examples=EXAMPLES_OF_VARIANTS,
    )


def _add_looks(commands: Any) -> None:
    """Add the commands that look at one list."""
    looks: tuple[tuple[Any, tuple[type[CommandOptions], ...], str, str], ...] = (
        (
            _check,
            (described.CheckOptions, described.CheckCommand),
            "check a list against guidelines",
            "Check a trial list against guidelines for evaluations by group.",
        ),
        (
            _describe,
            (described.DescribeOptions, described.DescribeCommand),
            "count trials by group, speaker, pair of groups and grade",
            "Describe a trial list: counts by group, speaker, pair of groups and difficulty grade.",
        ),
        (
            _grade,
            (described.GradeOptions, described.ListCommand),
            "write each trial with its difficulty grade",
            "Write each trial with its difficulty grade and the attributes that both sides share.",
        ),
        (
            _convert,
            (described.ConvertOptions, described.ListCommand),
            "convert a list to another format",
            "Convert a trial list to another format, with the same trials in the same order.",
        ),
    )
    for run, options, words, description in looks:
        # the functions are named after their commands
        name = run.__name__.lstrip("_")
        usage = f"parivox trials {name} LIST [options]"
        option_classes = (*options, ProgressCommand)
        add_command(
            commands, name, run, *option_classes, help=words, usage=usage, description=description
        )


def _list_options(arguments: argparse.Namespace, options: type[CommandOptions]) -> dict[str, Any]:
    check_standard_input([arguments.list, arguments.speakers, arguments.utterances])
    return given_options(arguments, options)


def _check(arguments: argparse.Namespace) -> None:
    from parivox.report.trials import (  # noqa: PLC0415 - what takes time to load
        check_details,
        check_summary,
    )
    from parivox.report.words import print_text  # noqa: PLC0415
    from parivox.trials.checks import check  # noqa: PLC0415

    options = _list_options(arguments, described.CheckOptions)
    if arguments.pilot is not None:
        from parivox.decide.sample_size_plan import plan  # noqa: PLC0415 - on request

        options["pilot"] = plan(arguments.pilot)
    checked = check(arguments.list, **options)
    in_words = check_details if arguments.verbose else check_summary
    print_result(checked, lambda checked: print_text(in_words(checked)), json=arguments.json)
    if arguments.strict and not checked.passed:
        sys.exit(1)


def _describe(arguments: argparse.Namespace) -> None:
    from parivox.report.trials import description_summary  # noqa: PLC0415
    from parivox.report.words import print_text  # noqa: PLC0415
    from parivox.trials.description import describe  # noqa: PLC0415

    description = describe(arguments.list, **_list_options(arguments, described.DescribeOptions))
    print_result(
        description,
        lambda description: print_text(description_summary(description)),
        json=arguments.json,
    )


def _grade(arguments: argparse.Namespace) -> None:
    from parivox.report.trials import grades_summary  # noqa: PLC0415
    from parivox.report.words import print_text  # noqa: PLC0415
    from parivox.trials.grading import grade  # noqa: PLC0415

    check_out_is_named(arguments.out, "file")
    graded = grade(arguments.list, **_list_options(arguments, described.GradeOptions))
    print_result(graded, lambda graded: print_text(grades_summary(graded)), json=False)


def _convert(arguments: argparse.Namespace) -> None:
    from parivox.trials.writing import convert  # noqa: PLC0415

    check_out_is_named(arguments.out, "file")
    print_lines(convert(arguments.list, **_list_options(arguments, described.ConvertOptions)).told)


def _variants(arguments: argparse.Namespace) -> None:
    from parivox.report.charts.variation import check_chart, save  # noqa: PLC0415
    from parivox.report.variation import print_variation  # noqa: PLC0415 - what takes time to load
    from parivox.trials.variation import variants  # noqa: PLC0415

    for option in ("chart", "dets"):
        check_chart(f"--{option}", getattr(arguments, option))
    variation = variants(arguments.scores, **given_options(arguments, described.VariantsOptions))
    if arguments.chart:
        save(variation.chart(), "--chart", arguments.chart)
    if arguments.dets:
        save(variation.dets(), "--dets", arguments.dets)
    print_result(variation, print_variation, json=arguments.json)


def _add_build(commands: Any) -> None:
    """Add the command that builds lists, and one below it for each kind of list."""
    command = add_command(
        commands,
        "build",
        _rebuild,
        described.RebuildCommand,
        help="build a trial list: inclusive, balanced or cross",
        usage=f"{BUILD} KIND --utterances FILE --by ATTRIBUTES --out DIR [options]\n"
        f"       {BUILD} --from MANIFEST --out DIR",
        description="Build trial lists from an utterance table, with a manifest from which they "
        "can be rebuilt.",
        examples=EXAMPLES_OF_BUILD,
        prog=BUILD,
    )
    kinds = described.BUILD_OPTIONS
    # options of a kind that are given before it are refused with a hint, not as unknown ones
    flags = {
        option.flag for options in kinds.values() for option in option_fields(options).values()
    }
    for flag in sorted(flags - {f"--{name}" for name in (*_TABLES, "progress")}):
        command.add_argument(flag, action=_MisplacedOption, nargs="?", help=argparse.SUPPRESS)
    kind_parsers = command.add_subparsers(title="kinds", metavar="KIND", dest="kind", prog=BUILD)
    for name, options in kinds.items():
        add_command(
            kind_parsers,
            name,
            _build,
            options,
            described.BuildCommand,
            ProgressCommand,
            help=_KIND_DESCRIPTIONS[name],
            usage=f"{BUILD} {name} --utterances FILE --by ATTRIBUTES --out DIR [options]",
            description=f"Build lists with {_KIND_DESCRIPTIONS[name]}.",
        )


class _MisplacedOption(argparse.Action):
    """An option that stands where it has no meaning."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse it."""
        msg = (
            f"{self.option_strings[0]} depends on the kind of list: give it after the kind, as in "
            "build inclusive (with --from, the manifest defines it)"
        )
        raise ConfigError(msg)


def _build(arguments: argparse.Namespace) -> None:
    if arguments.manifest is not None:
        msg = f"--from and {arguments.kind} contradict each other"
        hint = "give one of them"
        raise ConfigError(msg, hint)
    # tables may be given before the kind of list or after it, but only once
    for name in _TABLES:
        given_before = getattr(arguments, f"before_{name}")
        if given_before is not None and getattr(arguments, name) is not None:
            msg = f"--{name} is given twice"
            hint = "give it once"
            raise ConfigError(msg, hint)
        setattr(
            arguments, name, given_before if given_before is not None else getattr(arguments, name)
        )
    for name, noun in (("utterances", "file"), ("by", "grouping"), ("out", "folder")):
        if getattr(arguments, name) is None:
            msg = f"missing option --{name}: name a {noun}"
            hint = f"see {BUILD} {arguments.kind} --help"
            raise ConfigError(msg, hint)
    options = given_options(arguments, described.BUILD_OPTIONS[arguments.kind])
    import parivox.trials  # noqa: PLC0415 - what takes time to load

    _check_paths(**{name: getattr(arguments, name) for name in _TABLES})
    built = getattr(parivox.trials, f"build_{arguments.kind}")(**options)
    print_result(built, _print_built, json=arguments.json or arguments.before_json)


def _rebuild(arguments: argparse.Namespace) -> None:
    if arguments.manifest is None:
        msg = "missing kind of list: give inclusive, balanced, cross, or --from MANIFEST"
        raise ConfigError(msg)
    tables = {name: getattr(arguments, f"before_{name}") for name in _TABLES}
    if tables["out"] is None:
        msg = "missing option --out: name a folder"
        hint = f"see {BUILD} --help"
        raise ConfigError(msg, hint)
    from parivox.trials.building import rebuild  # noqa: PLC0415

    _check_paths(**tables)
    print_result(rebuild(arguments.manifest, **tables), _print_built, json=arguments.before_json)


def _check_paths(*, out: str, utterances: str | None, speakers: str | None) -> None:
    check_out_is_named(out, "folder")
    check_standard_input([utterances, speakers])


def _print_built(built: Any) -> None:
    print_lines(built.told)
