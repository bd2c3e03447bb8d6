"""Options of `trials`: reading, checking, building and sampling of trial lists.

For the meaning of each see docs/methods/planning.md#trial-lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.frozen import frozen
from parivox.options.audit import OUTPUT_SECTION, ReadOptions
from parivox.options.kinds import (
    CommandOptions,
    Direction,
    Flag,
    Number,
    Text,
    Texts,
    Unchecked,
    one_or_several,
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
"""Formats in which lists are written."""
_COUNT_BOUNDS: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**53}
_COUNT_FROM_ZERO, _COUNT_FROM_TWO = _COUNT_BOUNDS | {"low": 0}, _COUNT_BOUNDS | {"low": 2}


def _comma_separated(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _attributes(texts: list[str]) -> list[str]:
    """Return attributes separated by commas; numbers are edges of the bands before: days:30,90."""
    attributes: list[str] = []
    for name in _comma_separated(",".join(texts)):
        is_edge = name.replace(".", "", 1).lstrip("-").isdecimal()
        if attributes and is_edge and ":" in attributes[-1]:
            attributes[-1] += f",{name}"
        else:
            attributes.append(name)
    return attributes


def _thresholds(texts: list[str]) -> dict[str, Any]:
    """Return numbers by check, from texts such as ``G2=100``."""
    thresholds: dict[str, Any] = {}
    for text in texts:
        name, equals, threshold = (word.strip() for word in text.partition("="))
        if not equals:
            msg = f"--threshold {text!r} is not CHECK=NUMBER, for example --threshold G2=100"
            raise ConfigError(msg)
        if name in thresholds:
            msg = f"--threshold of {name} is given twice"
            hint = "give it once"
            raise ConfigError(msg, hint)
        thresholds[name] = threshold
    return thresholds


@frozen(kw_only=True)
class ListOptions(CommandOptions):
    """Options of reading a list."""

    speakers: Any = option(
        LIST_SECTION, "speaker table with attributes", value_type="SpeakerSource | None"
    )
    utterances: Any = option(
        LIST_SECTION,
        "utterance table with speakers and any attributes; a column (`recording`, `video`, "
        "`session` or `call`) or otherwise the file's folder identifies the recording. The option "
        "also accepts a pattern of ids such as `{speaker}-**`, or one pattern per side, as for "
        "`parivox audit`",
        is_repeatable=True,
        parser=one_or_several,
        value_type="UtteranceSource | None",
    )
    columns: Mapping[str, str] | None = option_like(
        ReadOptions,
        "columns",
        section=LIST_SECTION,
        description="[column for each role](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,label=lab`",
    )
    id: str | None = option_like(ReadOptions, "id", section=LIST_SECTION, default_text="")
    encoding: str | None = option_like(ReadOptions, "encoding", section=LIST_SECTION)
    quotes: str | None = option_like(ReadOptions, "quotes", section=LIST_SECTION)


@frozen(kw_only=True)
class GradedOptions(ListOptions):
    """Options of the difficulty grades of trials."""

    conflicts: str = option_like(ReadOptions, "conflicts", section=LIST_SECTION)
    # docs/methods/planning.md#grades
    grade_by: tuple[str, ...] | None = option(
        CHECK_SECTION,
        "attributes that make a nontarget trial difficult if shared by both sides, most important "
        "first: `gender,nationality`",
        Texts,
        metavar="ATTRIBUTES",
        default_text="gender and nationality, where known",
        may_be_empty=True,
        parser=_attributes,
    )


@frozen(kw_only=True)
class DescribeOptions(GradedOptions):
    """Options of `trials describe`."""

    by: tuple[str, ...] | None = option(
        CHECK_SECTION,
        "attributes that define the groups: `gender`, `gender+nationality` and [others](groups.md)",
        Texts,
        metavar="ATTRIBUTES",
        default_text="every attribute with 2 to 50 values",
        may_be_empty=True,
    )
    speaker_ids: bool = option(
        CHECK_SECTION, "show speaker ids", Flag, False, default_text="only counts and ranges"
    )


@frozen(kw_only=True)
class CheckOptions(DescribeOptions):
    """Options of `trials check`."""

    mix: Any = option(
        CHECK_SECTION,
        "requested shares of the difficulty grades among nontarget and target trials: "
        "`cat4=0.5,cat3=0.5,target3=1`",
        metavar="SHARES",
        default_text="G5 is not checked",
        value_type="Mapping[str, float] | str | None",
    )
    variants: Any = option(
        CHECK_SECTION,
        "further lists drawn by the same rules as the checked list; if all lists contain scores, "
        "their EERs are compared",
        Unchecked,
        (),
        metavar="LIST",
        takes_several=True,
        default_text="G6 is not checked",
        value_type="Sequence[TableSource]",
    )
    development: Any = option(
        CHECK_SECTION,
        "development list; its overlap with the checked list is reported",
        metavar="LIST",
        value_type="TableSource | None",
    )
    pilot: Any = option(
        CHECK_SECTION,
        "saved audit with intervals, used to compute which differences the list can detect",
        metavar="DIR",
        value_type="PilotPlan | None",
    )
    # docs/methods/planning.md#checks
    thresholds: Any = option(
        CHECK_SECTION,
        "threshold of a [check](trials.md#every-check), such as `G2=100`",
        metavar="CHECK=X",
        command_name="threshold",
        is_repeatable=True,
        default_text="the documented values",
        parser=_thresholds,
        value_type="Mapping[str, float] | None",
    )


@frozen(kw_only=True)
class ListCommand(CommandOptions):
    """Options of commands that read one list."""

    section_order = (LIST_SECTION,)

    list: Any = option(
        LIST_SECTION,
        "trial list or score file, or - for standard input",
        metavar="LIST",
        positional_count="1",
    )


@frozen(kw_only=True)
class DescribeCommand(ListCommand):
    """The command line of `trials describe`."""

    json: bool = option(OUTPUT_SECTION, "print all results as JSON", Flag, False)


@frozen(kw_only=True)
class CheckCommand(DescribeCommand):
    """The command line of `trials check`."""

    strict: bool = option(OUTPUT_SECTION, "exit with code 1 if a check fails", Flag, False)
    verbose: bool = option(
        OUTPUT_SECTION,
        "print the details of each check and further statistics",
        Flag,
        False,
        letter="v",
    )


@frozen(kw_only=True)
class GradeOptions(GradedOptions):
    """Options of `trials grade`."""

    out: Any = option(
        OUTPUT_SECTION, "write the graded list to this CSV or Parquet file", is_required=True
    )


@frozen(kw_only=True)
class ConvertOptions(ListOptions):
    """Options of `trials convert`."""

    format: str | None = option(
        OUTPUT_SECTION, "format of the input list", Text, default_text="detected from the content"
    )
    to: str | None = option(
        OUTPUT_SECTION,
        "format of the output list: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        Text,
        metavar="FORMAT",
        choices=LIST_FORMATS,
        is_required=True,
    )
    out: Any = option(
        OUTPUT_SECTION, "write the list to this file, which must be new", is_required=True
    )


@frozen(kw_only=True)
class BuildOptions(CommandOptions):
    """Options of every kind of built list; the tables and `out` may precede the kind."""

    utterances: Any = option(
        BUILDING_SECTION,
        "utterance table: one row per utterance, with speaker and recording in columns or in the "
        "path",
        is_common=True,
        value_type="UtteranceSource | None",
    )
    speakers: Any = option(
        BUILDING_SECTION,
        "speaker table with attributes",
        default_text="attributes in the utterance table",
        is_common=True,
        value_type="SpeakerSource | None",
    )
    out: Any = option(
        BUILDING_SECTION, "folder for the lists and their manifest", metavar="DIR", is_common=True
    )
    by: Any = option(
        BUILDING_SECTION,
        "attributes that define the groups of speakers, such as `gender+nationality`",
        metavar="ATTRIBUTES",
        value_type="str",
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
        BUILDING_SECTION,
        "name excluded speakers in the output and the manifest",
        Flag,
        False,
    )
    progress: Callable[[Progress], None] | None = option_like(
        ReadOptions, "progress", section=BUILDING_SECTION
    )


@frozen(kw_only=True)
class BuildCommand(CommandOptions):
    """Options of the command line of each kind of list."""

    json: bool = option(OUTPUT_SECTION, "print the manifest", Flag, False)


@frozen(kw_only=True)
class RebuildCommand(CommandOptions):
    """Options of the command line of `trials build` before a kind of list, or without one."""

    manifest: Any = option(
        BUILDING_SECTION,
        "rebuild the lists of this manifest",
        metavar="MANIFEST",
        command_name="from",
    )
    before_utterances: Any = option_like(BuildOptions, "utterances", command_name="utterances")
    before_speakers: Any = option_like(BuildOptions, "speakers", command_name="speakers")
    before_out: Any = option_like(BuildOptions, "out", command_name="out")
    before_json: bool = option_like(BuildCommand, "json", command_name="json")


@frozen(kw_only=True)
class InclusiveOptions(BuildOptions):
    """Options of inclusive lists."""

    # docs/methods/planning.md#inclusive-lists
    per_speaker: int = option(
        SAMPLING_SECTION,
        "number of pairs per speaker, for each class (target and nontarget)",
        Number,
        is_required=True,
        is_common=True,
        **_COUNT_BOUNDS,
    )
    grade_by: tuple[str, ...] | None = option(
        SAMPLING_SECTION,
        "attributes that make a nontarget pair difficult if shared by both sides",
        Texts,
        metavar="ATTRIBUTES",
        default_text="the attributes of --by",
        may_be_empty=True,
        parser=_attributes,
    )
    target_grades: Any = option(
        SAMPLING_SECTION,
        "grades of target pairs: `1` (within one recording), `3` (across two recordings) or `1,3`",
        Unchecked,
        (3,),
        metavar="GRADES",
        value_type="Sequence[int] | str | int",
    )
    mix: Any = option(
        SAMPLING_SECTION,
        "shares of the difficulty grades among the nontarget pairs of each speaker: "
        "`cat4=0.75,cat3=0.25`",
        metavar="SHARES",
        default_text="only the hardest grade",
        is_common=True,
        value_type="str | Mapping[str, float] | None",
    )
    balance_partners: Any = option(
        SAMPLING_SECTION,
        "draw nontarget partners at random instead of in turn",
        command_name="no-balance-partners",
        flag_value=False,
        value_type="bool | None",
        metavar="",
    )
    compat: str | None = option(
        SAMPLING_SECTION,
        "`hutiri2022`: follow the algorithm as listed in [paper 002](references.md#paper-002)",
        Text,
        metavar="PAPER",
        choices=("hutiri2022",),
    )
    groups: Any = option(
        SAMPLING_SECTION,
        "groups to include, such as `Italy,Norway`",
        metavar="GROUPS",
        is_common=True,
        is_repeatable=True,
        parser=lambda texts: _comma_separated(",".join(texts)),
        default_text="all",
        value_type="Sequence[str] | str | None",
    )


@frozen(kw_only=True)
class BalancedOptions(BuildOptions):
    """Options of balanced lists."""

    # docs/methods/planning.md#balanced-lists
    speakers_per_group: int = option(
        SAMPLING_SECTION,
        "number of speakers per group",
        Number,
        is_required=True,
        **_COUNT_FROM_TWO,
    )
    utterances_per_speaker: int = option(
        SAMPLING_SECTION,
        "number of utterances per speaker",
        Number,
        is_required=True,
        **_COUNT_FROM_TWO,
    )
    pairs: int | None = option(
        SAMPLING_SECTION,
        "number of pairs per speaker, for each class (target and nontarget)",
        Number,
        default_text="as many as every group can provide",
        **_COUNT_BOUNDS,
    )
    groups: Any = option_like(InclusiveOptions, "groups")
    balance: Any = option(
        SAMPLING_SECTION,
        "attribute to balance within each group, or `none`",
        metavar="ATTRIBUTE",
        default_text="gender, if known",
        value_type="str | None",
    )


@frozen(kw_only=True)
class CrossOptions(BuildOptions):
    """Options of cross lists."""

    trials: int | None = option(
        SAMPLING_SECTION,
        "total number of nontarget trials, divided among all pairs of groups. Give one of "
        "`--trials`, `--per-cell` and `--complete`",
        Number,
        **_COUNT_BOUNDS,
    )
    per_cell: int | None = option(
        SAMPLING_SECTION,
        "number of nontarget trials for each pair of groups",
        Number,
        **_COUNT_BOUNDS,
    )
    complete: bool = option(SAMPLING_SECTION, "use every possible nontarget pair", Flag, False)
    targets: int = option(
        SAMPLING_SECTION, "number of target trials per speaker", Number, 0, **_COUNT_FROM_ZERO
    )


BUILD_OPTIONS: dict[str, type[BuildOptions]] = {
    "inclusive": InclusiveOptions,
    "balanced": BalancedOptions,
    "cross": CrossOptions,
}
"""Options of each kind of list, which the module of its name in `parivox.trials` builds."""
PER_SPEAKER_OPTION = option_fields(InclusiveOptions)["per_speaker"]


@frozen(kw_only=True)
class VariantsOptions(ListOptions):
    """Options of `variants`."""

    orientation: str | None = option(
        LIST_SECTION,
        "`distance`: scores are distances and are negated",
        Direction,
        descriptions={"distance": "scores are distances: negate them"},
    )
    by: str = option(
        SAMPLING_SECTION,
        "attributes that define the groups of speakers",
        Text,
        "",
        metavar="ATTRIBUTES",
        is_required=True,
    )
    # docs/methods/planning.md#variation-over-draws
    per_speaker: Any = option(
        SAMPLING_SECTION,
        "numbers of pairs per speaker, for each class (target and nontarget), such as `25,50,75`",
        Unchecked,
        (25, 50, 75),
        metavar="N,...",
        value_type="int | Sequence[int]",
        parser=lambda text: [PER_SPEAKER_OPTION.parse(part) for part in text.split(",")],
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
        command_name=None,
        value_type="Scorer | None",
    )
    replicates: int = option(
        SAMPLING_SECTION,
        "number of bootstrap replicates (over speakers) per list",
        Number,
        200,
        **_COUNT_FROM_TWO,
    )
    cost: str = option(
        SAMPLING_SECTION, "cost model for the minimum cost", Text, "voxsrc", metavar="COST"
    )


@frozen(kw_only=True)
class VariantsCommand(CommandOptions):
    """The command line of `variants`."""

    section_order = (LIST_SECTION,)

    scores: Any = option(
        LIST_SECTION,
        "score file with more pairs than a list needs",
        metavar="SCORES",
        positional_count="1",
    )
    chart: Any = option(
        OUTPUT_SECTION,
        "write a chart of the variation across lists and across speakers: SVG, PNG, PDF, HTML or "
        "JSON",
    )
    dets: Any = option(
        OUTPUT_SECTION,
        "write a chart of the DET curves with one panel per group: SVG, PNG, PDF, HTML or JSON",
    )
    json: bool = option(OUTPUT_SECTION, "print the tables as JSON", Flag, False)
