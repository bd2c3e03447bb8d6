"""Options of `trials`: what is read of a list, what is checked, how lists are built and drawn.

What they mean is in docs/methods/trial-lists.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.options.audit import WRITTEN, ReadOptions
from parivox.options.kinds import (
    Direction,
    Flag,
    Number,
    Options,
    Text,
    Texts,
    Value,
    option,
    options_of,
    same_as,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.progress import Progress

LIST = "the list and its tables"
CHECKED = "what is told of it"
DRAWN = "what is drawn"
BUILT = "how lists are made"
FORMATS = ("voxceleb", "kaldi", "nist", "csv", "parquet")
"""Formats that lists are written in."""
_COUNT: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**53}
_FROM_ZERO, _FROM_TWO = _COUNT | {"low": 0}, _COUNT | {"low": 2}


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _attributes(texts: list[str]) -> list[str]:
    """Attributes joined by commas; a number belongs to the bands before it: days:30,90,gender."""
    found: list[str] = []
    for part in _parts(",".join(texts)):
        is_edge = part.replace(".", "", 1).lstrip("-").isdecimal()
        if found and is_edge and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _thresholds(texts: list[str]) -> dict[str, Any]:
    """Numbers by check, as in ``G2=100``."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            msg = f"--threshold {text!r} is not CHECK=NUMBER, as in --threshold G2=100"
            raise ConfigError(msg)
        if name in found:
            msg = f"--threshold of {name} is given twice; give it once"
            raise ConfigError(msg)
        found[name] = value
    return found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ListOptions(Options):
    """How a list is read."""

    speakers: Any = option(LIST, "table of speakers, their attributes")
    utterances: Any = option(
        LIST,
        "table of utterances: their speakers, their recordings (a column `recording`, `video`, "
        "`session` or `call`; else the folder of the file) and any attributes",
    )
    columns: Mapping[str, str] | None = same_as(
        ReadOptions,
        "columns",
        section=LIST,
        words="[columns of the roles](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,label=lab`",
    )
    id: str | None = same_as(ReadOptions, "id", section=LIST, without="")
    encoding: str | None = same_as(ReadOptions, "encoding", section=LIST)
    quotes: str | None = same_as(ReadOptions, "quotes", section=LIST)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradedOptions(ListOptions):
    """How trials are graded."""

    conflicts: str = same_as(ReadOptions, "conflicts", section=LIST)
    grade_by: tuple[str, ...] | None = option(
        CHECKED,
        "attributes that make a trial difficult, the weightiest first: `gender,nationality`",
        Texts,
        metavar="ATTRIBUTES",
        without="gender and nationality, where they are known",
        may_be_empty=True,
        reads=_attributes,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescribeOptions(GradedOptions):
    """Options of `describe`."""

    by: tuple[str, ...] | None = option(
        CHECKED,
        "groups: `gender`, `gender+nationality` and [the rest](groups.md)",
        Texts,
        metavar="ATTRIBUTES",
        without="every attribute with 2 to 50 values",
        may_be_empty=True,
    )
    speaker_ids: bool = option(CHECKED, "name speakers", Flag, False, without="counts and ranges")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckOptions(DescribeOptions):
    """Options of `check`."""

    mix: Any = option(
        CHECKED,
        "the wished grades of nontarget trials, and of target trials: "
        "`cat4=0.5,cat3=0.5,target3=1`",
        metavar="SHARES",
        without="G5 is not checked",
        annotated="Mapping[str, float] | str | None",
    )
    variants: Any = option(
        CHECKED,
        "lists drawn like this one; if all hold scores, their EERs are compared",
        Value,
        (),
        metavar="LIST",
        is_many=True,
        without="G6 is not checked",
        annotated="Sequence[Any]",
    )
    development: Any = option(
        CHECKED, "a list that should share nothing with this one", metavar="LIST"
    )
    pilot: Any = option(
        CHECKED, "an audit with intervals: what differences the list can show", metavar="DIR"
    )
    thresholds: Any = option(
        CHECKED,
        "what a [check](trials.md#every-check) is held against, as in `G2=100`",
        metavar="CHECK=X",
        command="threshold",
        is_repeatable=True,
        without="as on that page",
        reads=_thresholds,
        annotated="Mapping[str, float] | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ListCommand(Options):
    """What commands that look at a list have."""

    order = (LIST,)

    list: Any = option(LIST, "trial list or file of scores, or -", metavar="LIST", position="1")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescribeCommand(ListCommand):
    """The command line of `describe`."""

    json: bool = option(WRITTEN, "print everything as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(DescribeCommand):
    """The command line of `check`."""

    strict: bool = option(WRITTEN, "exit code 1 if a check fails", Flag, False)
    verbose: bool = option(
        WRITTEN,
        "what each check found, and what else is worth knowing",
        Flag,
        False,
        letter="v",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradeOptions(GradedOptions):
    """Options of `grade`."""

    out: Any = option(WRITTEN, "CSV or Parquet file", is_needed=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConvertOptions(ListOptions):
    """Options of `convert`."""

    format: str | None = option(
        WRITTEN, "format of the list that is read", Text, without="by content"
    )
    to: str | None = option(
        WRITTEN,
        "`voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        metavar="FORMAT",
        choices=FORMATS,
        is_needed=True,
    )
    out: Any = option(WRITTEN, "a new file", is_needed=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildOptions(Options):
    """Options of every kind of list that is built; these tables and `out` may stand before it."""

    utterances: Any = option(
        BUILT,
        "table of utterances, one a row; speaker and recording in columns, or in the path",
        is_common=True,
    )
    speakers: Any = option(
        BUILT,
        "table of speakers, their attributes",
        without="attributes of speakers stand in the table of utterances",
        is_common=True,
    )
    out: Any = option(
        BUILT, "folder for the lists and their manifest", metavar="DIR", is_common=True
    )
    by: Any = option(
        BUILT,
        "groups of speakers, as in `gender+nationality`",
        metavar="ATTRIBUTES",
        annotated="str",
        is_common=True,
    )
    format: str = option(
        BUILT,
        "of the lists: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        "voxceleb",
        choices=FORMATS,
    )
    variants: int = option(
        BUILT,
        "how many lists, with seeds spawned from one",
        Number,
        1,
        **(_COUNT | {"high": 10_000}),
        is_common=True,
    )
    seed: int = option(BUILT, "that seed", Number, 0, **_FROM_ZERO, is_common=True)
    id: str | None = same_as(ListOptions, "id", section=BUILT)
    encoding: str | None = same_as(ReadOptions, "encoding", section=BUILT)
    quotes: str | None = same_as(ReadOptions, "quotes", section=BUILT)
    speaker_ids: bool = option(BUILT, "name who is left out, also in the manifest", Flag, False)
    progress: Callable[[Progress], None] | None = same_as(ReadOptions, "progress", section=BUILT)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildCommand(Options):
    """What the command line of each kind of list has."""

    json: bool = option(WRITTEN, "print the manifest", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RebuildCommand(Options):
    """What the command line of `build` takes before a kind of list, or without one."""

    manifest: Any = option(BUILT, "build its lists again", metavar="MANIFEST", command="from")
    before_utterances: Any = same_as(BuildOptions, "utterances", command="utterances")
    before_speakers: Any = same_as(BuildOptions, "speakers", command="speakers")
    before_out: Any = same_as(BuildOptions, "out", command="out")
    before_json: bool = same_as(BuildCommand, "json", command="json")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InclusiveOptions(BuildOptions):
    """Options of inclusive lists."""

    per_speaker: int = option(
        DRAWN,
        "target pairs, and nontarget pairs, of each speaker",
        Number,
        is_needed=True,
        is_common=True,
        **_COUNT,
    )
    grade_by: tuple[str, ...] | None = option(
        DRAWN,
        "what makes a pair difficult",
        Texts,
        metavar="ATTRIBUTES",
        without="the attributes of --by",
        may_be_empty=True,
        reads=_attributes,
    )
    target_grades: Any = option(
        DRAWN,
        "target pairs of one recording (1), of two (3): `3`, `1` or `1,3`",
        Value,
        (3,),
        metavar="GRADES",
        annotated="Sequence[int] | str | int",
    )
    mix: Any = option(
        DRAWN,
        "grades of nontarget pairs, exact for each speaker: `cat4=0.75,cat3=0.25`",
        metavar="SHARES",
        without="all of the hardest",
        is_common=True,
        annotated="str | Mapping[str, float] | None",
    )
    balance_partners: Any = option(
        DRAWN,
        "draw partners at random, in place of one after the other",
        command="no-balance-partners",
        const=False,
        annotated="bool | None",
        metavar="",
    )
    compat: str | None = option(
        DRAWN,
        "`hutiri2022`: the rules of [paper 002](references.md#paper-002)'s listing",
        Text,
        metavar="PAPER",
        choices=("hutiri2022",),
    )
    groups: Any = option(
        DRAWN,
        "groups that take part, as in `Italy,Norway`",
        metavar="GROUPS",
        is_common=True,
        is_repeatable=True,
        reads=lambda texts: _parts(",".join(texts)),
        without="all",
        annotated="Sequence[str] | str | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BalancedOptions(BuildOptions):
    """Options of balanced lists."""

    speakers_per_group: int = option(
        DRAWN, "speakers of each group", Number, is_needed=True, **_FROM_TWO
    )
    utterances_per_speaker: int = option(
        DRAWN, "utterances of each speaker", Number, is_needed=True, **_FROM_TWO
    )
    pairs: int | None = option(
        DRAWN,
        "target and nontarget pairs of each speaker",
        Number,
        without="as many as every group can give",
        **_COUNT,
    )
    groups: Any = same_as(InclusiveOptions, "groups")
    balance: Any = option(
        DRAWN,
        "attribute of which each group has as many of each value; `none` for nothing",
        metavar="ATTRIBUTE",
        without="gender, if known",
        annotated="str | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossOptions(BuildOptions):
    """Options of cross lists."""

    trials: int | None = option(
        DRAWN,
        "nontarget trials in all, shared out to the cells",
        Number,
        without="one of these three",
        **_COUNT,
    )
    per_cell: int | None = option(
        DRAWN, "nontarget trials of each pair of groups", Number, **_COUNT
    )
    complete: bool = option(DRAWN, "every nontarget pair there is", Flag, False)
    targets: int = option(DRAWN, "target trials of each speaker", Number, 0, **_FROM_ZERO)


KINDS: dict[str, type[BuildOptions]] = {
    "inclusive": InclusiveOptions,
    "balanced": BalancedOptions,
    "cross": CrossOptions,
}
"""Kinds of lists that are built, each by the module of its name in `parivox.trials`."""
PER_SPEAKER = options_of(InclusiveOptions)["per_speaker"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariantsOptions(ListOptions):
    """Options of `variants`."""

    orientation: str | None = option(
        LIST,
        "`distance` where scores are distances, to be negated",
        Direction,
        each={"distance": "scores are distances: negate them"},
    )
    by: str = option(DRAWN, "groups of speakers", Text, "", metavar="ATTRIBUTES", is_needed=True)
    per_speaker: Any = option(
        DRAWN,
        "pairs of either class for each speaker, as in `25,50,75`",
        Value,
        (25, 50, 75),
        metavar="N,...",
        annotated="int | Sequence[int]",
        reads=lambda text: [PER_SPEAKER.parse(part) for part in text.split(",")],
    )
    variants: int = option(DRAWN, "lists for each number of pairs", Number, 5, **_FROM_TWO)
    seed: int = option(DRAWN, "what they are drawn with", Number, 0, **_FROM_ZERO)
    groups: Any = same_as(InclusiveOptions, "groups")
    scorer: Callable[..., Any] | None = option(
        DRAWN,
        "takes the enrolment ids and the test ids of a list and gives its scores; lists are then "
        "built of utterances",
        command=None,
    )
    replicates: int = option(DRAWN, "draws of speakers for each list", Number, 200, **_FROM_TWO)
    cost: str = option(DRAWN, "cost model of the minimum cost", Text, "voxsrc", metavar="COST")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariantsCommand(Options):
    """The command line of `variants`."""

    order = (LIST,)

    scores: Any = option(
        LIST, "scores of more pairs than a list needs", metavar="SCORES", position="1"
    )
    chart: Any = option(WRITTEN, "chart of both spreads: SVG, PNG, PDF, HTML or JSON")
    dets: Any = option(WRITTEN, "chart of the DET curves, likewise, a panel for each group")
    json: bool = option(WRITTEN, "print the tables as JSON", Flag, False)
