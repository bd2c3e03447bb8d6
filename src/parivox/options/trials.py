"""Options of `trials`: what is read of a list, what is checked, how lists are built and drawn.

What they mean is in docs/methods/trial-lists.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.options.kinds import Direction, Flag, Names, Options, Text, Texts, Value, option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LIST = "the list and its tables"
CHECKED = "what is told of it"
DRAWN = "what is drawn"
BUILT = "how lists are made"
WRITTEN = "what comes out"
_DIGITS = 100  # more are no number, and Python refuses to read them
_NUMBER, _NUMBER_OR_NONE = {"annotated": "int"}, {"annotated": "int | None"}


@dataclass(frozen=True, kw_only=True)
class ListOptions(Options):
    """How a list is read."""

    speakers: Any = option(Value, None, LIST, "table of speakers, their attributes", metavar="FILE")
    utterances: Any = option(
        Value,
        None,
        LIST,
        "table of utterances: their speakers, their recordings (a column `recording`, `video`, "
        "`session` or `call`; else the folder of the file) and any attributes",
        metavar="FILE",
    )
    columns: Mapping[str, str] | None = option(
        Names,
        None,
        LIST,
        "[columns of the roles](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,label=lab`",
        metavar="ROLES",
        of="str",
        is_right=lambda column: isinstance(column, str),
        form="from role to column; give one, as in {'enrol': 'ref_file'}",
    )
    id: str | None = option(Text, None, LIST, "id column of the speaker table", metavar="COLUMN")


@dataclass(frozen=True, kw_only=True)
class GradedOptions(ListOptions):
    """How trials are graded."""

    conflicts: str = option(
        Text,
        "error",
        LIST,
        "rows that contradict each other: `error` refuses them, `set-aside` leaves them out",
        metavar="WAY",
    )
    grade_by: tuple[str, ...] | None = option(
        Texts,
        None,
        CHECKED,
        "attributes that make a trial difficult, the weightiest first: `gender,nationality`",
        metavar="ATTRIBUTES",
        without="gender and nationality, where they are known",
        may_be_empty=True,
    )


@dataclass(frozen=True, kw_only=True)
class DescribeOptions(GradedOptions):
    """Options of `describe`."""

    by: tuple[str, ...] | None = option(
        Texts,
        None,
        CHECKED,
        "groups: `gender`, `gender+nationality` and [the rest](groups.md)",
        metavar="ATTRIBUTES",
        without="every attribute with 2 to 50 values",
        may_be_empty=True,
    )
    speaker_ids: bool = option(Flag, False, CHECKED, "name speakers", without="counts and ranges")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(DescribeOptions):
    """Options of `check`."""

    mix: Any = option(
        Value,
        None,
        CHECKED,
        "the wished grades of nontarget trials: `cat4=0.5,cat3=0.5`",
        metavar="SHARES",
        without="G5 is not checked",
        annotated="Mapping[str, float] | str | None",
    )
    variants: Any = option(
        Value,
        (),
        CHECKED,
        "lists drawn like this one",
        metavar="LIST",
        is_many=True,
        without="G6 is not checked",
        annotated="Sequence[Any]",
    )
    development: Any = option(
        Value, None, CHECKED, "a list that should share nothing with this one", metavar="LIST"
    )
    pilot: Any = option(
        Value,
        None,
        CHECKED,
        "an audit with intervals: what differences the list can show",
        metavar="DIR",
    )
    thresholds: Any = option(
        Value,
        None,
        CHECKED,
        "what a [check](trials.md#every-check) is held against, as in `G2=100`",
        metavar="CHECK=X",
        command="threshold",
        is_repeatable=True,
        without="as on that page",
        annotated="Mapping[str, float] | None",
    )


@dataclass(frozen=True, kw_only=True)
class GradeOptions(GradedOptions):
    """Options of `grade`."""

    out: Any = option(Value, None, WRITTEN, "CSV or Parquet file", metavar="FILE", is_needed=True)


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(ListOptions):
    """Options of `convert`."""

    format: str | None = option(
        Text, None, WRITTEN, "format of the list that is read", metavar="NAME", without="by content"
    )
    to: str | None = option(
        Text,
        None,
        WRITTEN,
        "`voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        metavar="FORMAT",
        is_needed=True,
    )
    out: Any = option(Value, None, WRITTEN, "a new file", metavar="FILE", is_needed=True)


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Options):
    """Options of every kind of list that is built; these tables and `out` may stand before it."""

    utterances: Any = option(
        Value,
        None,
        BUILT,
        "table of utterances, one a row; speaker and recording in columns, or in the path",
        metavar="FILE",
    )
    speakers: Any = option(
        Value,
        None,
        BUILT,
        "table of speakers, their attributes",
        metavar="FILE",
        without="attributes of speakers stand in the table of utterances",
    )
    out: Any = option(Value, None, BUILT, "folder for the lists and their manifest", metavar="DIR")
    by: Any = option(
        Value,
        None,
        BUILT,
        "groups of speakers, as in `gender+nationality`",
        metavar="ATTRIBUTES",
        annotated="str",
    )
    format: str = option(
        Text,
        "voxceleb",
        BUILT,
        "of the lists: `voxceleb`, `kaldi`, `nist`, `csv` or `parquet`",
        metavar="NAME",
    )
    variants: Any = option(
        Value, 1, BUILT, "how many lists, with seeds spawned from one", metavar="N", **_NUMBER
    )
    seed: Any = option(Value, 0, BUILT, "that seed", metavar="N", **_NUMBER)
    id: str | None = option(Text, None, BUILT, "id column of the speaker table", metavar="COLUMN")
    speaker_ids: bool = option(Flag, False, BUILT, "name who is left out, also in the manifest")
    progress: Callable[[str], None] | None = option(
        Value,
        None,
        BUILT,
        "called with what is being done, where that takes long",
        command=None,
        annotated="Callable[[str], None] | None",
    )


@dataclass(frozen=True, kw_only=True)
class InclusiveOptions(BuildOptions):
    """Options of inclusive lists."""

    per_speaker: Any = option(
        Value,
        None,
        DRAWN,
        "target pairs, and nontarget pairs, of each speaker",
        metavar="N",
        is_needed=True,
        **_NUMBER,
    )
    grade_by: tuple[str, ...] | None = option(
        Texts,
        None,
        DRAWN,
        "what makes a pair difficult",
        metavar="ATTRIBUTES",
        without="the attributes of --by",
        may_be_empty=True,
    )
    target_grades: Any = option(
        Value,
        (3,),
        DRAWN,
        "target pairs of one recording (1), of two (3): `3`, `1` or `1,3`",
        metavar="GRADES",
        annotated="Sequence[int] | str | int",
    )
    mix: Any = option(
        Value,
        None,
        DRAWN,
        "grades of nontarget pairs, exact for each speaker: `cat4=0.75,cat3=0.25`",
        metavar="SHARES",
        without="all of the hardest",
        annotated="str | Mapping[str, float] | None",
    )
    balance_partners: Any = option(
        Value,
        None,
        DRAWN,
        "draw partners at random, in place of one after the other",
        command="no-balance-partners",
        const=False,
        annotated="bool | None",
    )
    compat: str | None = option(
        Text,
        None,
        DRAWN,
        "`hutiri2022`: the rules of [paper 002](references.md#paper-002)'s listing",
        metavar="PAPER",
    )


@dataclass(frozen=True, kw_only=True)
class BalancedOptions(BuildOptions):
    """Options of balanced lists."""

    speakers_per_group: Any = option(
        Value, None, DRAWN, "speakers of each group", metavar="N", is_needed=True, **_NUMBER
    )
    utterances_per_speaker: Any = option(
        Value, None, DRAWN, "utterances of each speaker", metavar="N", is_needed=True, **_NUMBER
    )
    pairs: Any = option(
        Value,
        None,
        DRAWN,
        "target and nontarget pairs of each speaker",
        metavar="N",
        without="as many as every group can give",
        **_NUMBER_OR_NONE,
    )
    groups: Any = option(
        Value,
        None,
        DRAWN,
        "groups that take part, as in `Italy,Norway`",
        metavar="GROUPS",
        is_repeatable=True,
        without="all",
        annotated="Sequence[str] | str | None",
    )
    balance: Any = option(
        Value,
        None,
        DRAWN,
        "attribute of which each group has as many of each value; `none` for nothing",
        metavar="ATTRIBUTE",
        without="gender, if known",
        annotated="str | None",
    )


@dataclass(frozen=True, kw_only=True)
class CrossOptions(BuildOptions):
    """Options of cross lists."""

    trials: Any = option(
        Value,
        None,
        DRAWN,
        "nontarget trials in all, shared out to the cells",
        metavar="N",
        without="one of these three",
        **_NUMBER_OR_NONE,
    )
    per_cell: Any = option(
        Value,
        None,
        DRAWN,
        "nontarget trials of each pair of groups",
        metavar="N",
        **_NUMBER_OR_NONE,
    )
    complete: Any = option(
        Value, False, DRAWN, "every nontarget pair there is", const=True, annotated="bool"
    )
    targets: Any = option(Value, 0, DRAWN, "target trials of each speaker", metavar="N", **_NUMBER)


KINDS: dict[str, type[BuildOptions]] = {
    "inclusive": InclusiveOptions,
    "balanced": BalancedOptions,
    "cross": CrossOptions,
}
"""Kinds of lists that are built, each by the module of its name in :mod:`parivox.trials`."""


@dataclass(frozen=True, kw_only=True)
class VariantsOptions(ListOptions):
    """Options of `variants`."""

    orientation: str | None = option(
        Direction,
        None,
        LIST,
        "`distance` where scores are distances, to be negated",
        each={"distance": "scores are distances: negate them"},
    )
    by: str = option(Text, "", DRAWN, "groups of speakers", metavar="ATTRIBUTES", is_needed=True)
    per_speaker: Any = option(
        Value,
        (25, 50, 75),
        DRAWN,
        "pairs of either class for each speaker, as in `25,50,75`",
        metavar="N,...",
        annotated="int | Sequence[int]",
    )
    variants: Any = option(
        Value, 5, DRAWN, "lists for each number of pairs", metavar="N", **_NUMBER
    )
    seed: Any = option(Value, 0, DRAWN, "what they are drawn with", metavar="N", **_NUMBER)
    scorer: Callable[..., Any] | None = option(
        Value,
        None,
        DRAWN,
        "takes the enrolment ids and the test ids of a list and gives its scores; lists are then "
        "built of utterances",
        command=None,
    )
    replicates: Any = option(
        Value, 200, DRAWN, "draws of speakers for each list", metavar="N", **_NUMBER
    )
    cost: str = option(Text, "voxsrc", DRAWN, "cost model of the minimum cost", metavar="COST")


def whole_number(value: Any, option: str, least: int, most: int = 2**53, *, why: str = "") -> int:
    """An option that counts something: a number, or its digits; `why` says what sets the least.

    >>> whole_number(500, "per_speaker", 1), whole_number("12", "seed", 0)
    (500, 12)
    """
    name = "--" + option.replace("_", "-")
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < _DIGITS:
        value = int(value)
    is_whole = issubclass(type(value), Integral) and type(value) is not bool
    if not is_whole or value < least:
        shown = value if isinstance(value, str) else repr(value)
        msg = (
            f"{name} {shown}: is no whole number from {least:,} on{why}; give one, as in {name} "
            f"{max(10, least)}"
        )
        raise ConfigError(msg)
    if value > most:
        msg = f"{name} {value}: is more than {most:,}; give a smaller number"
        raise ConfigError(msg)
    return int(value)
