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

    from parivox.runtime.progress import Progress

LIST = "list and tables"
CHECKED = "checks and descriptions"
DRAWN = "sampling"
BUILT = "building lists"
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

    speakers: Any = option(LIST, "speaker table with attributes")
    utterances: Any = option(
        LIST,
        "utterance table: speakers, recordings (a column `recording`, `video`, `session` or "
        "`call`; otherwise the folder of the file) and any attributes",
    )
    columns: Mapping[str, str] | None = same_as(
        ReadOptions,
        "columns",
        section=LIST,
        words="[columns by role](bring-your-data.md#columns-with-names): "
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
        "attributes that make a trial difficult, the most important first: `gender,nationality`",
        Texts,
        metavar="ATTRIBUTES",
        without="gender and nationality, where known",
        may_be_empty=True,
        reads=_attributes,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescribeOptions(GradedOptions):
    """Options of `describe`."""

    by: tuple[str, ...] | None = option(
        CHECKED,
        "attributes that define the groups: `gender`, `gender+nationality` and [others](groups.md)",
        Texts,
        metavar="ATTRIBUTES",
        without="every attribute with 2 to 50 values",
        may_be_empty=True,
    )
    speaker_ids: bool = option(
        CHECKED, "show speaker ids", Flag, False, without="show counts and ranges only"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckOptions(DescribeOptions):
    """Options of `check`."""

    mix: Any = option(
        CHECKED,
        "requested shares of difficulty grades of nontarget and target trials: "
        "`cat4=0.5,cat3=0.5,target3=1`",
        metavar="SHARES",
        without="G5 is not checked",
        annotated="Mapping[str, float] | str | None",
    )
    variants: Any = option(
        CHECKED,
        "lists drawn by the same rules; if all contain scores, their EERs are compared",
        Value,
        (),
        metavar="LIST",
        is_many=True,
        without="G6 is not checked",
        annotated="Sequence[Any]",
    )
    development: Any = option(
        CHECKED, "development list, which should share nothing with this list", metavar="LIST"
    )
    pilot: Any = option(
        CHECKED,
        "saved audit with intervals: show which differences the list can detect",
        metavar="DIR",
    )
    thresholds: Any = option(
        CHECKED,
        "threshold of a [check](trials.md#every-check), as in `G2=100`",
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

    list: Any = option(
        LIST, "trial list or score file, or - for standard input", metavar="LIST", position="1"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescribeCommand(ListCommand):
    """The command line of `describe`."""

    json: bool = option(WRITTEN, "print all results as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(DescribeCommand):
    """The command line of `check`."""

    strict: bool = option(WRITTEN, "exit with code 1 if a check fails", Flag, False)
    verbose: bool = option(
        WRITTEN,
        "print the details of each check and further statistics",
        Flag,
        False,
        letter="v",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradeOptions(GradedOptions):
    """Options of `grade`."""

    out: Any = option(WRITTEN, "write the graded list to this CSV or Parquet file", is_needed=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConvertOptions(ListOptions):
    """Options of `convert`."""

    format: str | None = option(
        WRITTEN, "format of the input list", Text, without="detected from the content"
    )
    to: str | None = option(
        WRITTEN,
        "format of the output list: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        metavar="FORMAT",
        choices=FORMATS,
        is_needed=True,
    )
    out: Any = option(WRITTEN, "write the list to this new file", is_needed=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildOptions(Options):
    """Options of every kind of list that is built; these tables and `out` may stand before it."""

    utterances: Any = option(
        BUILT,
        "utterance table: one row per utterance, with speaker and recording in columns or in the "
        "path",
        is_common=True,
    )
    speakers: Any = option(
        BUILT,
        "speaker table with attributes",
        without="the utterance table contains the attributes of speakers",
        is_common=True,
    )
    out: Any = option(
        BUILT, "folder for the lists and their manifest", metavar="DIR", is_common=True
    )
    by: Any = option(
        BUILT,
        "attributes that define the groups of speakers, as in `gender+nationality`",
        metavar="ATTRIBUTES",
        annotated="str",
        is_common=True,
    )
    format: str = option(
        BUILT,
        "format of the lists: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        "voxceleb",
        choices=FORMATS,
    )
    variants: int = option(
        BUILT,
        "number of lists, with seeds derived from `--seed`",
        Number,
        1,
        **(_COUNT | {"high": 10_000}),
        is_common=True,
    )
    seed: int = option(BUILT, "random seed", Number, 0, **_FROM_ZERO, is_common=True)
    id: str | None = same_as(ListOptions, "id", section=BUILT)
    encoding: str | None = same_as(ReadOptions, "encoding", section=BUILT)
    quotes: str | None = same_as(ReadOptions, "quotes", section=BUILT)
    speaker_ids: bool = option(
        BUILT, "name the speakers who are left out, also in the manifest", Flag, False
    )
    progress: Callable[[Progress], None] | None = same_as(ReadOptions, "progress", section=BUILT)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildCommand(Options):
    """What the command line of each kind of list has."""

    json: bool = option(WRITTEN, "print the manifest", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RebuildCommand(Options):
    """What the command line of `build` takes before a kind of list, or without one."""

    manifest: Any = option(
        BUILT, "build the lists of this manifest again", metavar="MANIFEST", command="from"
    )
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
        "attributes that make a pair difficult",
        Texts,
        metavar="ATTRIBUTES",
        without="the attributes of --by",
        may_be_empty=True,
        reads=_attributes,
    )
    target_grades: Any = option(
        DRAWN,
        "grades of target pairs, within one recording (1) or across two (3): `3`, `1` or `1,3`",
        Value,
        (3,),
        metavar="GRADES",
        annotated="Sequence[int] | str | int",
    )
    mix: Any = option(
        DRAWN,
        "shares of difficulty grades of nontarget pairs, exact for each speaker: "
        "`cat4=0.75,cat3=0.25`",
        metavar="SHARES",
        without="all of the hardest grade",
        is_common=True,
        annotated="str | Mapping[str, float] | None",
    )
    balance_partners: Any = option(
        DRAWN,
        "draw partners at random instead of in turn",
        command="no-balance-partners",
        const=False,
        annotated="bool | None",
        metavar="",
    )
    compat: str | None = option(
        DRAWN,
        "`hutiri2022`: use the rules of the listing in [paper 002](references.md#paper-002)",
        Text,
        metavar="PAPER",
        choices=("hutiri2022",),
    )
    groups: Any = option(
        DRAWN,
        "groups to include, as in `Italy,Norway`",
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
        without="as many as every group can provide",
        **_COUNT,
    )
    groups: Any = same_as(InclusiveOptions, "groups")
    balance: Any = option(
        DRAWN,
        "attribute that is balanced within each group; `none` for no attribute",
        metavar="ATTRIBUTE",
        without="gender, if known",
        annotated="str | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossOptions(BuildOptions):
    """Options of cross lists."""

    trials: int | None = option(
        DRAWN,
        "total number of nontarget trials, divided among the pairs of groups",
        Number,
        without="one of these three options",
        **_COUNT,
    )
    per_cell: int | None = option(
        DRAWN, "nontarget trials of each pair of groups", Number, **_COUNT
    )
    complete: bool = option(DRAWN, "use every possible nontarget pair", Flag, False)
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
        "`distance`: scores are distances and are negated",
        Direction,
        each={"distance": "scores are distances: negate them"},
    )
    by: str = option(
        DRAWN,
        "attributes that define the groups of speakers",
        Text,
        "",
        metavar="ATTRIBUTES",
        is_needed=True,
    )
    per_speaker: Any = option(
        DRAWN,
        "pairs of each class per speaker, as in `25,50,75`",
        Value,
        (25, 50, 75),
        metavar="N,...",
        annotated="int | Sequence[int]",
        reads=lambda text: [PER_SPEAKER.parse(part) for part in text.split(",")],
    )
    variants: int = option(
        DRAWN, "number of lists for each number of pairs", Number, 5, **_FROM_TWO
    )
    seed: int = option(DRAWN, "random seed", Number, 0, **_FROM_ZERO)
    groups: Any = same_as(InclusiveOptions, "groups")
    scorer: Callable[..., Any] | None = option(
        DRAWN,
        "function that returns the scores of the enrolment and test ids of a list; lists are then "
        "built from utterances",
        command=None,
    )
    replicates: int = option(
        DRAWN, "bootstrap replicates over speakers for each list", Number, 200, **_FROM_TWO
    )
    cost: str = option(DRAWN, "cost model of the minimum cost", Text, "voxsrc", metavar="COST")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariantsCommand(Options):
    """The command line of `variants`."""

    order = (LIST,)

    scores: Any = option(
        LIST, "score file with more pairs than a list needs", metavar="SCORES", position="1"
    )
    chart: Any = option(WRITTEN, "write a chart of both spreads: SVG, PNG, PDF, HTML or JSON")
    dets: Any = option(
        WRITTEN,
        "write a chart of the DET curves with one panel per group: SVG, PNG, PDF, HTML or JSON",
    )
    json: bool = option(WRITTEN, "print the tables as JSON", Flag, False)
