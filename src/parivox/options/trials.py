"""Options of `trials`: what is read of a list, what is checked, how lists are built and drawn.

What they mean is in docs/methods/trial-lists.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.options.audit import OUTPUT_SECTION, ReadOptions
from parivox.options.kinds import (
    Direction,
    Flag,
    Number,
    Options,
    Text,
    Texts,
    Unchecked,
    option,
    option_fields,
    option_like,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.runtime.progress import Progress

LIST_SECTION = "list and tables"
CHECK_SECTION = "checks and descriptions"
SAMPLING_SECTION = "sampling"
BUILDING_SECTION = "building lists"
LIST_FORMATS = ("voxceleb", "kaldi", "nist", "csv", "parquet")
"""Formats that lists are written in."""
_COUNT_BOUNDS: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**53}
_COUNT_FROM_ZERO, _COUNT_FROM_TWO = _COUNT_BOUNDS | {"low": 0}, _COUNT_BOUNDS | {"low": 2}


def _comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _attributes(texts: list[str]) -> list[str]:
    """Attributes joined by commas; a number belongs to the bands before it: days:30,90,gender."""
    found: list[str] = []
    for part in _comma_separated(",".join(texts)):
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

    speakers: Any = option(LIST_SECTION, "speaker table with attributes")
    utterances: Any = option(
        LIST_SECTION,
        "utterance table: speakers, recordings (a column `recording`, `video`, `session` or "
        "`call`; otherwise the folder of the file) and any attributes",
    )
    columns: Mapping[str, str] | None = option_like(
        ReadOptions,
        "columns",
        section=LIST_SECTION,
        words="[columns by role](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,label=lab`",
    )
    id: str | None = option_like(ReadOptions, "id", section=LIST_SECTION, without="")
    encoding: str | None = option_like(ReadOptions, "encoding", section=LIST_SECTION)
    quotes: str | None = option_like(ReadOptions, "quotes", section=LIST_SECTION)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradedOptions(ListOptions):
    """How trials are graded."""

    conflicts: str = option_like(ReadOptions, "conflicts", section=LIST_SECTION)
    grade_by: tuple[str, ...] | None = option(
        CHECK_SECTION,
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
        CHECK_SECTION,
        "attributes that define the groups: `gender`, `gender+nationality` and [others](groups.md)",
        Texts,
        metavar="ATTRIBUTES",
        without="every attribute with 2 to 50 values",
        may_be_empty=True,
    )
    speaker_ids: bool = option(
        CHECK_SECTION, "show speaker ids", Flag, False, without="show counts and ranges only"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckOptions(DescribeOptions):
    """Options of `check`."""

    mix: Any = option(
        CHECK_SECTION,
        "requested shares of difficulty grades of nontarget and target trials: "
        "`cat4=0.5,cat3=0.5,target3=1`",
        metavar="SHARES",
        without="G5 is not checked",
        annotated="Mapping[str, float] | str | None",
    )
    variants: Any = option(
        CHECK_SECTION,
        "lists drawn by the same rules; if all contain scores, their EERs are compared",
        Unchecked,
        (),
        metavar="LIST",
        is_many=True,
        without="G6 is not checked",
        annotated="Sequence[Any]",
    )
    development: Any = option(
        CHECK_SECTION, "development list, which should share nothing with this list", metavar="LIST"
    )
    pilot: Any = option(
        CHECK_SECTION,
        "saved audit with intervals: show which differences the list can detect",
        metavar="DIR",
    )
    thresholds: Any = option(
        CHECK_SECTION,
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

    order = (LIST_SECTION,)

    list: Any = option(
        LIST_SECTION,
        "trial list or score file, or - for standard input",
        metavar="LIST",
        position="1",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescribeCommand(ListCommand):
    """The command line of `describe`."""

    json: bool = option(OUTPUT_SECTION, "print all results as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CheckCommand(DescribeCommand):
    """The command line of `check`."""

    strict: bool = option(OUTPUT_SECTION, "exit with code 1 if a check fails", Flag, False)
    verbose: bool = option(
        OUTPUT_SECTION,
        "print the details of each check and further statistics",
        Flag,
        False,
        letter="v",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradeOptions(GradedOptions):
    """Options of `grade`."""

    out: Any = option(
        OUTPUT_SECTION, "write the graded list to this CSV or Parquet file", is_needed=True
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConvertOptions(ListOptions):
    """Options of `convert`."""

    format: str | None = option(
        OUTPUT_SECTION, "format of the input list", Text, without="detected from the content"
    )
    to: str | None = option(
        OUTPUT_SECTION,
        "format of the output list: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        metavar="FORMAT",
        choices=LIST_FORMATS,
        is_needed=True,
    )
    out: Any = option(OUTPUT_SECTION, "write the list to this new file", is_needed=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildOptions(Options):
    """Options of every kind of list that is built; these tables and `out` may stand before it."""

    utterances: Any = option(
        BUILDING_SECTION,
        "utterance table: one row per utterance, with speaker and recording in columns or in the "
        "path",
        is_common=True,
    )
    speakers: Any = option(
        BUILDING_SECTION,
        "speaker table with attributes",
        without="the utterance table contains the attributes of speakers",
        is_common=True,
    )
    out: Any = option(
        BUILDING_SECTION, "folder for the lists and their manifest", metavar="DIR", is_common=True
    )
    by: Any = option(
        BUILDING_SECTION,
        "attributes that define the groups of speakers, as in `gender+nationality`",
        metavar="ATTRIBUTES",
        annotated="str",
        is_common=True,
    )
    format: str = option(
        BUILDING_SECTION,
        "format of the lists: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        "voxceleb",
        choices=LIST_FORMATS,
    )
    variants: int = option(
        BUILDING_SECTION,
        "number of lists, with seeds derived from `--seed`",
        Number,
        1,
        **(_COUNT_BOUNDS | {"high": 10_000}),
        is_common=True,
    )
    seed: int = option(
        BUILDING_SECTION, "random seed", Number, 0, **_COUNT_FROM_ZERO, is_common=True
    )
    id: str | None = option_like(ListOptions, "id", section=BUILDING_SECTION)
    encoding: str | None = option_like(ReadOptions, "encoding", section=BUILDING_SECTION)
    quotes: str | None = option_like(ReadOptions, "quotes", section=BUILDING_SECTION)
    speaker_ids: bool = option(
        BUILDING_SECTION, "name the speakers who are left out, also in the manifest", Flag, False
    )
    progress: Callable[[Progress], None] | None = option_like(
        ReadOptions, "progress", section=BUILDING_SECTION
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BuildCommand(Options):
    """What the command line of each kind of list has."""

    json: bool = option(OUTPUT_SECTION, "print the manifest", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RebuildCommand(Options):
    """What the command line of `build` takes before a kind of list, or without one."""

    manifest: Any = option(
        BUILDING_SECTION,
        "build the lists of this manifest again",
        metavar="MANIFEST",
        command="from",
    )
    before_utterances: Any = option_like(BuildOptions, "utterances", command="utterances")
    before_speakers: Any = option_like(BuildOptions, "speakers", command="speakers")
    before_out: Any = option_like(BuildOptions, "out", command="out")
    before_json: bool = option_like(BuildCommand, "json", command="json")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InclusiveOptions(BuildOptions):
    """Options of inclusive lists."""

    per_speaker: int = option(
        SAMPLING_SECTION,
        "target pairs, and nontarget pairs, of each speaker",
        Number,
        is_needed=True,
        is_common=True,
        **_COUNT_BOUNDS,
    )
    grade_by: tuple[str, ...] | None = option(
        SAMPLING_SECTION,
        "attributes that make a pair difficult",
        Texts,
        metavar="ATTRIBUTES",
        without="the attributes of --by",
        may_be_empty=True,
        reads=_attributes,
    )
    target_grades: Any = option(
        SAMPLING_SECTION,
        "grades of target pairs, within one recording (1) or across two (3): `3`, `1` or `1,3`",
        Unchecked,
        (3,),
        metavar="GRADES",
        annotated="Sequence[int] | str | int",
    )
    mix: Any = option(
        SAMPLING_SECTION,
        "shares of difficulty grades of nontarget pairs, exact for each speaker: "
        "`cat4=0.75,cat3=0.25`",
        metavar="SHARES",
        without="all of the hardest grade",
        is_common=True,
        annotated="str | Mapping[str, float] | None",
    )
    balance_partners: Any = option(
        SAMPLING_SECTION,
        "draw partners at random instead of in turn",
        command="no-balance-partners",
        const=False,
        annotated="bool | None",
        metavar="",
    )
    compat: str | None = option(
        SAMPLING_SECTION,
        "`hutiri2022`: use the rules of the listing in [paper 002](references.md#paper-002)",
        Text,
        metavar="PAPER",
        choices=("hutiri2022",),
    )
    groups: Any = option(
        SAMPLING_SECTION,
        "groups to include, as in `Italy,Norway`",
        metavar="GROUPS",
        is_common=True,
        is_repeatable=True,
        reads=lambda texts: _comma_separated(",".join(texts)),
        without="all",
        annotated="Sequence[str] | str | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BalancedOptions(BuildOptions):
    """Options of balanced lists."""

    speakers_per_group: int = option(
        SAMPLING_SECTION, "speakers of each group", Number, is_needed=True, **_COUNT_FROM_TWO
    )
    utterances_per_speaker: int = option(
        SAMPLING_SECTION, "utterances of each speaker", Number, is_needed=True, **_COUNT_FROM_TWO
    )
    pairs: int | None = option(
        SAMPLING_SECTION,
        "target and nontarget pairs of each speaker",
        Number,
        without="as many as every group can provide",
        **_COUNT_BOUNDS,
    )
    groups: Any = option_like(InclusiveOptions, "groups")
    balance: Any = option(
        SAMPLING_SECTION,
        "attribute that is balanced within each group; `none` for no attribute",
        metavar="ATTRIBUTE",
        without="gender, if known",
        annotated="str | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrossOptions(BuildOptions):
    """Options of cross lists."""

    trials: int | None = option(
        SAMPLING_SECTION,
        "total number of nontarget trials, divided among the pairs of groups",
        Number,
        without="one of these three options",
        **_COUNT_BOUNDS,
    )
    per_cell: int | None = option(
        SAMPLING_SECTION, "nontarget trials of each pair of groups", Number, **_COUNT_BOUNDS
    )
    complete: bool = option(SAMPLING_SECTION, "use every possible nontarget pair", Flag, False)
    targets: int = option(
        SAMPLING_SECTION, "target trials of each speaker", Number, 0, **_COUNT_FROM_ZERO
    )


BUILD_OPTIONS: dict[str, type[BuildOptions]] = {
    "inclusive": InclusiveOptions,
    "balanced": BalancedOptions,
    "cross": CrossOptions,
}
"""Kinds of lists that are built, each by the module of its name in `parivox.trials`."""
PER_SPEAKER_OPTION = option_fields(InclusiveOptions)["per_speaker"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariantsOptions(ListOptions):
    """Options of `variants`."""

    orientation: str | None = option(
        LIST_SECTION,
        "`distance`: scores are distances and are negated",
        Direction,
        each={"distance": "scores are distances: negate them"},
    )
    by: str = option(
        SAMPLING_SECTION,
        "attributes that define the groups of speakers",
        Text,
        "",
        metavar="ATTRIBUTES",
        is_needed=True,
    )
    per_speaker: Any = option(
        SAMPLING_SECTION,
        "pairs of each class per speaker, as in `25,50,75`",
        Unchecked,
        (25, 50, 75),
        metavar="N,...",
        annotated="int | Sequence[int]",
        reads=lambda text: [PER_SPEAKER_OPTION.parse(part) for part in text.split(",")],
    )
    variants: int = option(
        SAMPLING_SECTION, "number of lists for each number of pairs", Number, 5, **_COUNT_FROM_TWO
    )
    seed: int = option(SAMPLING_SECTION, "random seed", Number, 0, **_COUNT_FROM_ZERO)
    groups: Any = option_like(InclusiveOptions, "groups")
    scorer: Callable[..., Any] | None = option(
        SAMPLING_SECTION,
        "function that returns the scores of the enrolment and test ids of a list; lists are then "
        "built from utterances",
        command=None,
    )
    replicates: int = option(
        SAMPLING_SECTION,
        "bootstrap replicates over speakers for each list",
        Number,
        200,
        **_COUNT_FROM_TWO,
    )
    cost: str = option(
        SAMPLING_SECTION, "cost model of the minimum cost", Text, "voxsrc", metavar="COST"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VariantsCommand(Options):
    """The command line of `variants`."""

    order = (LIST_SECTION,)

    scores: Any = option(
        LIST_SECTION, "score file with more pairs than a list needs", metavar="SCORES", position="1"
    )
    chart: Any = option(
        OUTPUT_SECTION, "write a chart of both spreads: SVG, PNG, PDF, HTML or JSON"
    )
    dets: Any = option(
        OUTPUT_SECTION,
        "write a chart of the DET curves with one panel per group: SVG, PNG, PDF, HTML or JSON",
    )
    json: bool = option(OUTPUT_SECTION, "print the tables as JSON", Flag, False)
