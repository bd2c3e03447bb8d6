"""Options of `thresholds`: what they are to reach, how they are judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parivox.options.audit import READ, TRIALS, UNCERTAINTY, WRITTEN, AuditOptions, ReadOptions
from parivox.options.kinds import Flag, Number, Options, Text, option, same_as

CHOSEN = "how thresholds are chosen"
SIDES = ("enrol", "test")


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(ReadOptions):
    """Options of thresholds."""

    by: tuple[str, ...] | None = same_as(
        ReadOptions,
        "by",
        words="the groups, by one grouping: `gender`, `gender+nationality`, `age:18,30,60`",
        without="that of `--groups`",
    )
    within: None = field(default=None, init=False)
    aim: str = option(
        CHOSEN,
        "what a threshold is to reach: `fpr=X`, `fnr=X`, `min-cdet`, `min-cdet:COST`; of one for "
        "all also `max-fpr=X` (of no group is the FPR larger) and `least-worst` (the smallest cost "
        "of the group that has the largest)",
        Text,
        "fpr=0.01",
        metavar="AIM",
        is_common=True,
    )
    side: str = option(
        CHOSEN,
        "whose group a threshold is for: of the enrolled person, `enrol`, or of who is at the "
        "door, `test`, whom a system must then know before it decides",
        Text,
        "enrol",
        choices=SIDES,
        is_common=True,
    )
    cost: str = option(
        CHOSEN,
        "detection cost that gains are told in: a [name](metrics/costs.md#cost-models), as in "
        "`sre08`, or `P_TARGET,C_MISS,C_FA`",
        Text,
        "voxsrc",
        metavar="COST",
    )
    normalised: Any = option(
        CHOSEN,
        "the same trials with scores that were normalised without any label (AS-norm, quality): "
        "one threshold on these is judged beside the others",
        is_common=True,
    )
    folds: int = option(
        UNCERTAINTY,
        "of speakers: a threshold is judged on those of other folds than it was found on; fewer "
        "make wider intervals, sooner",
        Number,
        10,
        is_whole=True,
        low=4,
        high=12,
    )
    seed: int = option(
        UNCERTAINTY,
        "by which speakers are dealt into folds",
        Number,
        0,
        is_whole=True,
        low=0,
        high=2**63 - 1,
    )
    confidence: float = same_as(
        AuditOptions, "confidence", words="level of intervals, 0.5 to 0.999"
    )


@dataclass(frozen=True, kw_only=True)
class ThresholdCommand(Options):
    """The command line of `thresholds`."""

    order = (TRIALS, CHOSEN, UNCERTAINTY, READ, WRITTEN)

    scores: Any = option(
        TRIALS, "score file, or - for standard input; or NAME=FILE", metavar="SCORES", position="?"
    )
    out: Any = option(
        WRITTEN,
        "[rule file](thresholds.md#the-rule-file) (YAML) for `parivox audit --thresholds`",
        is_common=True,
    )
    json: bool = option(WRITTEN, "print every number as JSON", Flag, False)
    example: bool = option(WRITTEN, "print a rule file to start from", Flag, False)
