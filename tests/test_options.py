"""Every option is described once, and whatever tells of it follows: `python tests/test_options.py`
writes the types of options and the tables of the docs again.
"""

import argparse
import inspect
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

import parivox as pv
from parivox.cli import parser
from parivox.cli.options import add_option, given_options
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
from parivox.options.monitor import MonitorCommand, MonitorOptions
from parivox.options.plan import PlanCommand, PlanOptions

ROOT = Path(__file__).parents[1]
TYPED = ROOT / "src" / "parivox" / "options" / "types.py"
PAGE = ROOT / "docs" / "cli.md"
LAST = (described.ReportDetailsCommand, described.ProgressCommand)
COMMANDS = {
    "audit": (AuditOptions, described.AuditCommand, *LAST),
    "calibrate": (CalibrateOptions, CalibrateCommand, LAST[1]),
    "compare": (gates.CompareCommand,),
    "completion": (described.CompletionCommand,),
    "count": (CountOptions, described.CountCommand, LAST[1]),
    "criteria": (described.CriteriaCommand,),
    "demo": (described.DemoCommand, LAST[1]),
    "embed": (
        *(recordings.EmbedCommand, recordings.EmbedOptions, recordings.SystemOptions),
        LAST[1],
    ),
    "gate": (gates.GateCommand,),
    "inspect": (described.InspectOptions, described.InspectCommand, LAST[1]),
    "monitor": (MonitorOptions, MonitorCommand, LAST[1]),
    "papers list": (papers.PapersListCommand,),
    "papers run": (papers.PapersRunCommand,),
    "plan": (PlanOptions, PlanCommand),
    "report": (described.ReportCommand, *LAST),
    "score": (
        *(recordings.ScoreCommand, recordings.ScoreFileOptions, recordings.ScoreOptions),
        *(recordings.AllPairsOptions, recordings.VerifyOptions, LAST[1]),
    ),
    "shards plan": (shards.ShardsPlanCommand, AuditOptions, LAST[1]),
    "shards run": (shards.ShardsRunCommand, LAST[1]),
    "shards merge": (shards.ShardsMergeCommand, LAST[1]),
    "show": (described.ShowCommand,),
    "systems list": (recordings.SystemsListCommand,),
    "systems check": (recordings.SystemOptions, recordings.SystemsCheckCommand),
    "thresholds": (ThresholdOptions, ThresholdCommand, LAST[1]),
    "trials describe": (lists.DescribeOptions, lists.DescribeCommand, LAST[1]),
    "trials check": (lists.CheckOptions, lists.CheckCommand, LAST[1]),
    "trials grade": (lists.GradeOptions, lists.ListCommand, LAST[1]),
    "trials convert": (lists.ConvertOptions, lists.ListCommand, LAST[1]),
    "trials build": (lists.RebuildCommand,),
    "trials build inclusive": (lists.InclusiveOptions, lists.BuildCommand, LAST[1]),
    "trials build balanced": (lists.BalancedOptions, lists.BuildCommand, LAST[1]),
    "trials build cross": (lists.CrossOptions, lists.BuildCommand, LAST[1]),
    "trials variants": (lists.VariantsOptions, lists.VariantsCommand, LAST[1]),
}
"""Descriptions of the options of each command, in order."""
SIGNED = {
    name: [one for one in options if not one.__name__.endswith("Command")]
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
    "audit": AuditOptions,
    "count": CountOptions,
    "trials build inclusive": lists.BuildOptions,
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
'''


def function(command):
    """What a command is in the library."""
    *room, name = command.replace("build ", "build_").split()
    return getattr(pv.trials if room else pv, name)


def named(command):
    """Options in the signature of a function, by name."""
    parameters = inspect.signature(function(command)).parameters.values()
    return {one.name: one for one in parameters if one.kind is one.KEYWORD_ONLY}


def typed():
    """Source of the types of all other options."""
    made = HEAD
    for command, options in TYPES.items():
        own = inspect.signature(function(command)).parameters
        others = [one for one in option_fields(options).values() if one.keyword not in own]
        made += f"\n\nclass Other{options.__name__}(TypedDict, total=False):\n"
        made += f'    """Options of `{command}` that its signature does not name."""\n\n'
        for one in others:
            fallback = f" (default: {one.default_description})" if one.default_description else ""
            words = textwrap.fill(
                f'"""{one.plain_description}{fallback.replace("`", "")}"""',
                WIDTH,
                initial_indent=" " * 4,
                subsequent_indent=" " * 4,
                break_on_hyphens=False,
            )
            made += f"    {one.keyword}: {one.annotation}\n{words}\n"
    return made


def listed(command, section):
    """Options of a section, or of all sections, that have a name on the command line."""
    options = options_by_section(*COMMANDS[command])
    chosen = options[section] if section else [one for of in options.values() for one in of]
    return [one for one in chosen if one.command_name is not None and not one.positional_count]


def table(command, section):
    """Table of those options, as the page of the command line has it."""
    lines = ["| option | does | without it |", "|---|---|---|"]
    for one in listed(command, section):
        if isinstance(one, Direction):
            lines += [f"| `--{word}` | {words} | |" for word, words in one.descriptions.items()]
        else:
            words = (
                one.negated_description
                if isinstance(one, Flag) and one.negated_description
                else one.description
            )
            name = f"`{one.flag} {one.metavar}`".replace(" `", "`")
            name = f"`-{one.letter}`, {name}" if one.letter else name
            fallback = "must be given" if one.is_required else one.default_description
            more = ". Can be repeated" if one.is_repeatable else ""
            lines.append(f"| {name} | {words}{more} | {fallback} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


MARKED = re.compile(r"(<!-- options of ([\w ]+?)(?:: ([\w ]+))? -->\n\n)(?:\|.*\n)*")


def page(text):
    """The page of the command line with every table as it is described."""
    return MARKED.sub(lambda found: found[1] + table(found[2], found[3]), text)


def test_types_of_options_are_as_described():
    assert TYPED.read_text(encoding="utf-8") == typed(), "run python tests/test_options.py"


def test_tables_of_options_are_as_described():
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "run python tests/test_options.py"
    shown = {one.flag for _, *of in MARKED.findall(text) for one in listed(*of)}
    every = {one.flag for command in COMMANDS for one in listed(command, "")}
    assert shown == every


def described_of(command):
    """Options of a function by their name there."""
    return {one.keyword: one for of in SIGNED[command] for one in option_fields(of).values()}


@pytest.mark.parametrize("command", SIGNED)
def test_defaults_of_signatures_are_as_described(command):
    options = described_of(command)
    found = {name: one.default for name, one in named(command).items()}
    if command in {"embed", "score"}:
        del found["progress"]
    given = {name: default for name, default in found.items() if default is not inspect._empty}
    assert given == {name: options[name].default for name in given}
    assert {*found} <= {*options}
    if command not in {*TYPES, "trials build balanced", "trials build cross"}:
        positional = {"out"} if command == "trials convert" else set()
        assert {*found} == {*options} - positional


def test_choices_are_those_there_are():
    from parivox.auditing.layout import ALLOCATIONS
    from parivox.core.eer import DEFINITIONS
    from parivox.core.rates import RULES
    from parivox.core.registry import ZERO_POLICIES

    options = option_fields(AuditOptions)
    wanted = {"allocate": ALLOCATIONS, "eer": DEFINITIONS, "rule": RULES, "zero": ZERO_POLICIES}
    assert {name: set(options[name].choices) for name in wanted} == {
        name: set(there) for name, there in wanted.items()
    }


@pytest.mark.parametrize("command", SIGNED)
def test_every_option_is_one_of_the_command_line(command):
    needed = NEEDED.get(command, [])
    given = parser().parse_args([*command.split(), *needed])
    options = described_of(command)
    found = {name for of in SIGNED[command] for name in given_options(given, of)}
    assert {options[name].flag for name in found} <= {*needed}


@dataclass(frozen=True, kw_only=True)
class MoreOptions(AuditOptions):
    """An option more, in its one place."""

    twice: bool = option(described.UNCERTAINTY_SECTION, "draw twice", Flag, False)


def test_one_field_makes_an_option_of_the_library_the_command_line_and_the_docs():
    assert MoreOptions.from_keywords(twice=True).twice
    with pytest.raises(pv.ConfigError, match="twice=3 is neither True nor False"):
        MoreOptions.from_keywords(twice=3)
    (one,) = [one for one in option_fields(MoreOptions).values() if one.name == "twice"]
    command = argparse.ArgumentParser()
    add_option(command, one)
    assert "--twice" in command.format_help()
    assert command.parse_args(["--twice"]).twice
    assert one.command_line_words(True) == ["--twice"]
    assert one.is_recorded


@pytest.mark.parametrize(
    ("command", "wrong", "right"),
    [
        *(("audit", "replicate", "replicates"), ("audit", "limit", "limits")),
        *(("audit", "thresholds_from", "threshold_from"), ("count", "with_in", "within")),
    ],
)
def test_an_unknown_option_is_told_with_the_nearest(command, wrong, right):
    told = rf"^{wrong}= is not an option; did you mean {right}\?$"
    with pytest.raises(pv.ConfigError, match=told):
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
    whole, needed = parser(command.split()[0]), (NEEDED | NEEDED_OF_SHARDS).get(command, [])
    for one in listed(command, ""):
        if isinstance(one, (Direction, Flag)) or getattr(one, "flag_value", None) is not None:
            continue
        first, *_, last = (*(getattr(one, "choices", ()) or ("1", "2")),) * 2
        others = needed
        if one.flag in needed:
            at = needed.index(one.flag)
            others = needed[:at] + needed[at + 2 :]
        words = [*command.split(), *others, one.flag, first]
        whole.parse_args(words)
        if one.is_repeatable:
            given = whole.parse_args([*words, one.flag, last])
            assert getattr(given, one.name) == [first, last]
        else:
            with pytest.raises(pv.ConfigError, match="is given twice"):
                whole.parse_args([*words, one.flag, last])


@pytest.mark.parametrize("command", ["monitor", "thresholds", "calibrate"])
def test_commands_of_one_grouping_refuse_a_second_one(command):
    words = [command, "s.csv", "--by", "gender", "--by", "age"]
    with pytest.raises(pv.ConfigError, match="--by is given twice"):
        parser(command).parse_args(words)
