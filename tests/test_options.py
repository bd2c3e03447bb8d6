"""Every option is described once, and whatever tells of it follows: `python tests/test_options.py`
writes the types of options and the tables of the docs again.
"""

import argparse
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import parivox as pv
from parivox.cli import parser
from parivox.cli.options import add_option, given_options
from parivox.frozen import frozen
from parivox.options import audit as described
from parivox.options import gate as gates
from parivox.options import papers, recordings, shards
from parivox.options import trials as lists
from parivox.options.audit import AuditOptions, CountOptions
from parivox.options.decide import (
    CalibrateCommand,
    CalibrateOptions,
    ThresholdCommand,
    ThresholdOptions,
)
from parivox.options.kinds import Direction, Flag, option, option_fields, options_by_section
from parivox.options.metrics import MetricCommand, MetricOptions
from parivox.options.monitor import MonitorCommand, MonitorOptions
from parivox.options.plan import PlanCommand, PlanOptions
from parivox.options.types import OtherAuditOptions

ROOT = Path(__file__).parents[1]
TYPED = ROOT / "src" / "parivox" / "options" / "types.py"
PAGE = ROOT / "docs" / "cli.md"
AUDIT_OUTPUT = (described.ReportDetailsCommand, described.ProgressCommand)
COMMANDS = {
    "audit": (AuditOptions, described.AuditCommand, described.WorkersCommand, *AUDIT_OUTPUT),
    "calibrate": (CalibrateOptions, CalibrateCommand, described.ProgressCommand),
    "compare": (gates.CompareCommand,),
    "completion": (described.CompletionCommand,),
    "count": (CountOptions, described.CountCommand, described.ProgressCommand),
    "criteria": (described.CriteriaCommand,),
    "demo": (described.DemoCommand, described.WorkersCommand, described.ProgressCommand),
    "embed": (
        recordings.EmbedCommand,
        recordings.EmbedOptions,
        recordings.SystemOptions,
        described.ProgressCommand,
    ),
    "gate": (gates.GateCommand,),
    "inspect": (described.InspectOptions, described.InspectCommand, described.ProgressCommand),
    "metrics": (MetricOptions, MetricCommand),
    "monitor": (MonitorOptions, MonitorCommand, described.ProgressCommand),
    "papers list": (papers.PapersListCommand,),
    "papers run": (papers.PapersRunCommand,),
    "plan": (PlanOptions, PlanCommand),
    "report": (described.ReportCommand, described.WorkersCommand, *AUDIT_OUTPUT),
    "score": (
        recordings.ScoreCommand,
        recordings.ScoreFileOptions,
        recordings.ScoreOptions,
        recordings.AllPairsOptions,
        recordings.VerifyOptions,
        described.ProgressCommand,
    ),
    "shards plan": (shards.ShardsPlanCommand, AuditOptions, described.ProgressCommand),
    "shards run": (shards.ShardsRunCommand, described.ProgressCommand),
    "shards merge": (shards.ShardsMergeCommand, described.ProgressCommand),
    "show": (described.ShowCommand,),
    "systems list": (recordings.SystemsListCommand,),
    "systems check": (recordings.SystemOptions, recordings.SystemsCheckCommand),
    "thresholds": (ThresholdOptions, ThresholdCommand, described.ProgressCommand),
    "trials describe": (lists.DescribeOptions, lists.DescribeCommand, described.ProgressCommand),
    "trials check": (lists.CheckOptions, lists.CheckCommand, described.ProgressCommand),
    "trials grade": (lists.GradeOptions, lists.ListCommand, described.ProgressCommand),
    "trials convert": (lists.ConvertOptions, lists.ListCommand, described.ProgressCommand),
    "trials build": (lists.RebuildCommand,),
    "trials build inclusive": (
        lists.InclusiveOptions,
        lists.BuildCommand,
        described.ProgressCommand,
    ),
    "trials build balanced": (lists.BalancedOptions, lists.BuildCommand, described.ProgressCommand),
    "trials build cross": (lists.CrossOptions, lists.BuildCommand, described.ProgressCommand),
    "trials variants": (lists.VariantsOptions, lists.VariantsCommand, described.ProgressCommand),
}
"""Descriptions of the options of each command, in order."""
SIGNED = {
    name: [
        options_class for options_class in options if not options_class.__name__.endswith("Command")
    ]
    for name, options in COMMANDS.items()
    if name.partition(" ")[0]
    not in {
        "compare",
        "completion",
        "criteria",
        "demo",
        "gate",
        "papers",
        "report",
        "shards",
        "show",
        "systems",
    }
    and name != "trials build"
}
"""What describes the options of the function that a command is in the library."""
SIGNED["embed"] = [recordings.EmbedOptions]
SIGNED["score"] = [recordings.ScoreFileOptions, recordings.ScoreOptions]
HOME = "audit"
"""The command whose options others share."""
PROGRESS_OPTIONS = {*option_fields(described.ProgressCommand)}
"""Options that a section of the page describes for all commands."""
NEEDED = {
    "inspect": ["s.csv"],
    "report": ["a"],
    "criteria": ["a"],
    "show": ["a"],
    "completion": ["bash"],
    "papers run": ["001"],
    "score": ["t.csv", "--out", "s.parquet"],
    "systems check": ["ge2e"],
    "audit": ["s.csv"],
    "count": ["s.csv", "--out", "c"],
    "trials describe": ["l.csv"],
    "trials check": ["l.csv"],
    "trials grade": ["l.csv", "--out", "g.csv"],
    "trials convert": ["l.csv", "--to", "csv", "--out", "m.csv"],
    "trials build inclusive": ["--per-speaker", "5"],
    "trials build balanced": ["--speakers-per-group", "5", "--utterances-per-speaker", "5"],
    "trials variants": ["s.csv", "--by", "gender"],
}
TYPES = {
    "audit": ("OtherAuditOptions(TypedDict", AuditOptions),
    "shards plan": ("PlannedAuditOptions(OtherAuditOptions", AuditOptions),
    "count": ("OtherCountOptions(TypedDict", CountOptions),
    "trials build inclusive": ("OtherBuildOptions(TypedDict", lists.BuildOptions),
}
"""Functions whose signatures do not name every option, and what the others are of."""
WIDTH = 100
HEAD = '''"""Types of the options that functions take besides those in their signatures.

Written by tests/test_options.py from the descriptions; editors and type checkers read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from parivox.runtime.progress import Progress
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )
'''


def function(command):
    """What a command is in the library."""
    *room, name = command.replace("build ", "build_").split()
    return getattr(getattr(pv, room[0]) if room else pv, name)


def named(command):
    """Options in the source of the signature of a function, by name."""
    parameters = inspect.signature(inspect.unwrap(function(command))).parameters.values()
    return {
        parameter.name: parameter
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def typed():
    """Source of the types of all other options."""
    source = HEAD
    inherited = {}
    for command, (class_and_base, options) in TYPES.items():
        class_name, base = class_and_base.split("(")
        signature = inspect.signature(inspect.unwrap(function(command))).parameters
        fields = [
            field
            for field in option_fields(options).values()
            if field.keyword not in signature and field.keyword not in inherited.get(base, ())
        ]
        inherited[class_name] = [field.keyword for field in fields]
        source += f"\n\nclass {class_and_base}, total=False):\n"
        source += f'    """Options of `{command}` that its signature does not name."""\n\n'
        for field in fields:
            fallback = (
                f" (default: {field.default_description})" if field.default_description else ""
            )
            words = textwrap.fill(
                f'"""{field.plain_description}{fallback.replace("`", "")}"""',
                WIDTH,
                initial_indent=" " * 4,
                subsequent_indent=" " * 4,
                break_on_hyphens=False,
            )
            source += f"    {field.keyword}: {field.annotation}\n{words}\n"
    return source


def listed(command, section):
    """Options of a section, or of all sections, that have a name on the command line."""
    options = options_by_section(*COMMANDS[command])
    fields = (
        options[section] if section else [field for group in options.values() for field in group]
    )
    return [
        field for field in fields if field.command_name is not None and not field.positional_count
    ]


def row(field):
    """Item of an option in a list of the page; several for a choice of directions."""
    if isinstance(field, Direction):
        return [f"- `--{word}`: {words}" for word, words in field.descriptions.items()]
    words = (
        field.negated_description
        if isinstance(field, Flag) and field.negated_description
        else field.description
    )
    dots = "..." if field.is_repeatable else ""
    name = f"`{field.flag} {field.metavar}{dots}`".replace(" `", "`")
    name = f"`-{field.letter}`, {name}" if field.letter else name
    more = [words]
    if field.is_required:
        more.append("Required")
    if field.default_description and not field.is_required:
        more.append(f"Default: {field.default_description}")
    return [f"- {name}: {'. '.join(more)}"]


def described_words(field):
    """The description of an option without its default, which commands may differ in."""
    if isinstance(field, Direction):
        return tuple(row(field))
    return field.flag, field.metavar, field.description, field.is_repeatable


def flags(field):
    """The option on the command line, without its value."""
    return [*field.descriptions] if isinstance(field, Direction) else [field.flag[2:]]


ANCHORS = {"trials check": "trials-check-and-describe", "trials build": "trials-build"}
"""Headings of commands that do not begin with their first word alone."""


def home_link(command):
    """Link to the section that describes the options of a command."""
    group = " ".join(command.split()[:2])
    return f"[`{command}`](#{ANCHORS.get(group, group.split()[0])})"


def option_list(command, section, earlier):
    """List of those options, as the page of the command line has it.

    Options that an earlier command describes in the same words are named after the others, with
    their default if it is another one.
    """
    homes = {
        described_words(field): (home, field)
        for home in reversed(earlier)
        for field in listed(home, "")
    }
    own, shared = [], {}
    for field in listed(command, section):
        home, first_field = homes.get(described_words(field), ("", field))
        if home and field.name in PROGRESS_OPTIONS:
            continue
        if not home:
            own += row(field)
            continue
        difference = ""
        if field.is_required and not first_field.is_required:
            difference = ". Required"
        elif field.default_description and row(field) != row(first_field):
            difference = f". Default: {field.default_description}"
        names = [f"`--{name}`" for name in flags(field)]
        shared.setdefault((earlier.index(home), difference), []).extend(names)
    own += [
        f"- {', '.join(names)}: as for {home_link(earlier[index])}{difference}"
        for (index, difference), names in sorted(shared.items())
    ]
    return "\n".join(own) + "\n"


MARKED = re.compile(r"(<!-- options of ([\w ]+?)(?:: ([\w ]+))? -->\n\n)(?:- .*\n)*")


def page(text):
    """The page of the command line with every list as it is described."""
    commands = list(dict.fromkeys([HOME, *(match[2] for match in MARKED.finditer(text))]))

    def written(match):
        command = match[2]
        earlier = [] if command == HOME else commands[: commands.index(command)]
        return match[1] + option_list(command, match[3], earlier)

    return MARKED.sub(written, text)


def test_types_of_options_are_as_described():
    assert TYPED.read_text(encoding="utf-8") == typed(), "run python tests/test_options.py"


def test_lists_of_options_are_as_described():
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run python tests/test_options.py"
    shown = {field.flag for _, *arguments in MARKED.findall(text) for field in listed(*arguments)}
    flags = {field.flag for command in COMMANDS for field in listed(command, "")}
    assert shown == flags


def test_the_page_names_the_commands_that_show_no_progress():
    (named_commands,) = re.findall(
        "All commands accept `--quiet` and `--progress`, except (.+?)\\.",
        " ".join(PAGE.read_text(encoding="utf-8").split()),
    )
    silent = {
        command if command == "trials build" else command.split()[0]
        for command, options in COMMANDS.items()
        if described.ProgressCommand not in options
    }
    assert set(re.findall("`(.+?)(?: --from)?`", named_commands)) == silent | {
        "context",
        "report-bug",
    }


def described_of(command):
    """Options of a function by their name there."""
    return {
        field.keyword: field for owner in SIGNED[command] for field in option_fields(owner).values()
    }


@pytest.mark.parametrize("command", SIGNED)
def test_defaults_of_signatures_are_as_described(command):
    options = described_of(command)
    defaults = {name: parameter.default for name, parameter in named(command).items()}
    if command in {"embed", "score"}:
        del defaults["progress"]
    if command == "audit":
        assert defaults.pop("workers") == 1  # a script without a guard must work
    stated = {name: default for name, default in defaults.items() if default is not inspect._empty}
    assert stated == {name: options[name].default for name in stated}
    assert {*defaults} <= {*options}
    if command not in {*TYPES, "trials build balanced", "trials build cross"}:
        positional = {
            "trials convert": {"out"},
            "metrics": {"groups"},
            "thresholds": {"speakers"},
            "calibrate": {"speakers"},
        }
        assert {*defaults} == {*options} - positional.get(command, set())


SIGNATURE_TYPES = {
    ("audit", "scores"): "ScoreSource",
    ("audit", "speakers"): "SpeakerSource | None",
    ("count", "scores"): "ScoreSource",
    ("calibrate", "scores"): "ScoreSource",
    ("thresholds", "scores"): "ScoreSource",
    ("monitor", "scores"): "ScoreSource | None",
    ("metrics", "scores"): "ArrayLike | TableSource | None",
    ("metrics", "groups"): "ArrayLike | None",
    ("score", "trials"): "TableSource",
}
"""Types of what comes first, which is no option of the library."""


@pytest.mark.parametrize("command", SIGNED)
def test_signatures_have_the_types_and_every_option_of_the_registry(command):
    options = described_of(command)
    parameters = inspect.signature(function(command)).parameters
    for name, parameter in parameters.items():
        expected = SIGNATURE_TYPES.get((command, name))
        if expected is None and name in options and name not in {"out", "format"}:
            expected = options[name].annotation
            if parameter.default is parameter.empty:
                expected = expected.removesuffix(" | None")
        assert parameter.annotation == expected or expected is None, name
        assert "Any" not in parameter.annotation.replace("Callable[..., Any]", ""), name
    if command in {*TYPES, "trials build balanced", "trials build cross"}:
        assert {*options} <= {*parameters}
        assert not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def test_an_audit_names_every_option_to_editors_and_notebooks():
    typed_names = {*pv.audit.__annotations__} | {*OtherAuditOptions.__annotations__}
    assert {*inspect.signature(pv.audit).parameters} == {
        "scores",
        "workers",
        *(field.keyword for field in option_fields(AuditOptions).values()),
    }
    assert typed_names - {"options", "return"} == {*inspect.signature(pv.audit).parameters}


def test_choices_are_those_there_are():
    from parivox.auditing.layout import ALLOCATIONS
    from parivox.core.eer import DEFINITIONS
    from parivox.core.rates import RULES
    from parivox.core.registry import ZERO_POLICIES

    options = option_fields(AuditOptions)
    expected = {"allocate": ALLOCATIONS, "eer": DEFINITIONS, "rule": RULES, "zero": ZERO_POLICIES}
    assert {name: set(options[name].choices) for name in expected} == {
        name: set(choices) for name, choices in expected.items()
    }


@pytest.mark.parametrize("command", SIGNED)
def test_every_option_is_one_of_the_command_line(command):
    needed = NEEDED.get(command, [])
    arguments = parser().parse_args([*command.split(), *needed])
    options = described_of(command)
    names = {name for owner in SIGNED[command] for name in given_options(arguments, owner)}
    assert {options[name].flag for name in names} <= {*needed}


@frozen(kw_only=True)
class MoreOptions(AuditOptions):
    """An option more, in its one place."""

    twice: bool = option(described.UNCERTAINTY_SECTION, "draw twice", Flag, False)


def test_one_field_makes_an_option_of_the_library_the_command_line_and_the_docs():
    assert MoreOptions.from_keywords(twice=True).twice
    with pytest.raises(pv.ConfigError, match="twice=3 is neither True nor False"):
        MoreOptions.from_keywords(twice=3)
    (field,) = [field for field in option_fields(MoreOptions).values() if field.name == "twice"]
    command = argparse.ArgumentParser()
    add_option(command, field)
    assert "--twice" in command.format_help()
    assert command.parse_args(["--twice"]).twice
    assert field.command_line_words(True) == ["--twice"]
    assert field.is_recorded


@pytest.mark.parametrize(
    ("command", "wrong", "right"),
    [
        ("audit", "replicate", "replicates"),
        ("audit", "limit", "limits"),
        ("audit", "thresholds_from", "threshold_from"),
        ("count", "with_in", "within"),
    ],
)
def test_an_unknown_option_is_told_with_the_nearest(command, wrong, right):
    message = rf"^{wrong}= is not an option; did you mean {right}\?$"
    with pytest.raises(pv.ConfigError, match=message):
        getattr(pv, command)("no such.csv", **{wrong: 1})


if __name__ == "__main__":
    TYPED.write_text(typed(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


NEEDED_OF_SHARDS = {
    "shards plan": ["s.csv", "--out", "r"],
    "shards run": ["r"],
    "shards merge": ["r", "--out", "a"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_can_be_repeated_is_taken_twice_and_nothing_else_is(command):
    """The help says "Can be repeated" of just those options that a command takes twice."""
    command_parser = parser(command.split()[0])
    needed = (NEEDED | NEEDED_OF_SHARDS).get(command, [])
    for field in listed(command, ""):
        if isinstance(field, (Direction, Flag)) or getattr(field, "flag_value", None) is not None:
            continue
        choices = [*(getattr(field, "choices", ()) or ("1", "2"))]
        argument_1, argument_2 = choices[0], choices[-1]
        required_words = needed
        if field.flag in needed:
            index = needed.index(field.flag)
            required_words = needed[:index] + needed[index + 2 :]
        words = [*command.split(), *required_words, field.flag, argument_1]
        command_parser.parse_args(words)
        if field.is_repeatable:
            arguments = command_parser.parse_args([*words, field.flag, argument_2])
            assert getattr(arguments, field.name) == [argument_1, argument_2]
        else:
            with pytest.raises(pv.ConfigError, match="is given twice"):
                command_parser.parse_args([*words, field.flag, argument_2])


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("command", ["monitor", "thresholds", "calibrate"])
def test_commands_of_one_grouping_refuse_a_second_one(command):
    words = [command, "s.csv", "--by", "gender", "--by", "age"]
    with pytest.raises(pv.ConfigError, match="--by is given twice"):
        parser(command).parse_args(words)
