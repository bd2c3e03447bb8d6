"""Options of `thresholds` and `calibrate`: what is found, for whom, how it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parivox.options.audit import READ, TRIALS, UNCERTAINTY, WRITTEN, AuditOptions, ReadOptions
from parivox.options.kinds import Flag, Number, Options, Text, option, same_as

FOUND = "what is found"
SIDES = ("enrol", "test")
CALIBRATORS = ("logistic", "isotonic")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldOutOptions(ReadOptions):
    """What is found on some speakers and judged on others."""

    by: tuple[str, ...] | None = same_as(
        ReadOptions,
        "by",
        words="the groups, by one grouping: `gender`, `gender+nationality`, `age:18,30,60`",
        without="that of `--groups`",
    )
    within: None = field(default=None, init=False)
    side: str = option(
        FOUND,
        "whose group counts: of the enrolled person, `enrol`, or of who is at the door, `test`, "
        "whom a system must then know before it decides",
        Text,
        "enrol",
        choices=SIDES,
        is_common=True,
    )
    normalised: Any = option(
        FOUND,
        "the same trials with scores that were normalised without any label (AS-norm, quality): "
        "one for all on these is judged beside the others",
        is_common=True,
    )
    folds: int = option(
        UNCERTAINTY,
        "of speakers: each is judged by what was found on those of other folds; fewer make wider "
        "intervals, sooner",
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ThresholdOptions(HeldOutOptions):
    """Options of thresholds."""

    aim: str = option(
        FOUND,
        "what a threshold is to reach: `fpr=X`, `fnr=X`, `min-cdet`, `min-cdet:COST`; of one for "
        "all also `max-fpr=X` (of no group is the FPR larger) and `least-worst` (the smallest cost "
        "of the group that has the largest)",
        Text,
        "fpr=0.01",
        metavar="AIM",
        is_common=True,
    )
    cost: str = option(
        FOUND,
        "detection cost that gains are told in: a [name](metrics/costs.md#cost-models), as in "
        "`sre08`, or `P_TARGET,C_MISS,C_FA`",
        Text,
        "voxsrc",
        metavar="COST",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibrateOptions(HeldOutOptions):
    """Options of calibrations."""

    method: str = option(
        FOUND,
        "a straight line, `logistic`, or rising steps, `isotonic`, which need more speakers",
        Text,
        "logistic",
        choices=CALIBRATORS,
        is_common=True,
    )
    llr: bool = same_as(
        AuditOptions,
        "llr",
        section=FOUND,
        words="scores are natural-log likelihood ratios already, and are judged as they are, too",
    )
    llr_base: int | None = same_as(
        AuditOptions,
        "llr_base",
        section=FOUND,
        words="the same for log-likelihood ratios [to this base]"
        "(metrics/calibration.md#logarithms): 10 or 2",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _MitigationCommand(Options):
    """What both command lines take."""

    order = (TRIALS, FOUND, UNCERTAINTY, READ, WRITTEN)

    scores: Any = option(
        TRIALS, "score file, or - for standard input; or NAME=FILE", metavar="SCORES", position="?"
    )
    json: bool = option(WRITTEN, "print every number as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ThresholdCommand(_MitigationCommand):
    """The command line of `thresholds`."""

    out: Any = option(
        WRITTEN,
        "[rule file](thresholds.md#the-rule-file) (YAML) for `parivox audit --thresholds`",
        is_common=True,
    )
    example: bool = option(WRITTEN, "print a rule file to start from", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibrateCommand(_MitigationCommand):
    """The command line of `calibrate`."""

    apply: Any = option(
        FOUND,
        "[calibrator](calibration.md#the-calibrator-file) to be applied: every row goes to `--out` "
        "with its score as a log likelihood ratio, and nothing is judged",
        is_common=True,
    )
    out: Any = option(
        WRITTEN,
        "[calibrator](calibration.md#the-calibrator-file) (JSON); with `--apply`, scores (CSV or "
        "Parquet) for `parivox audit --llr`",
        is_common=True,
    )
    figure: Any = option(
        WRITTEN,
        "what is said against what is so, for each group: SVG, PNG, PDF, HTML or JSON (Vega-Lite)",
        is_common=True,
    )
