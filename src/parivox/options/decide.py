"""Options of `thresholds` and `calibrate`: what is fitted, for which groups, how it is judged."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from parivox.frozen import frozen
from parivox.options.audit import (
    INPUT_SECTION,
    OUTPUT_SECTION,
    READING_SECTION,
    UNCERTAINTY_SECTION,
    AuditOptions,
    ReadOptions,
)
from parivox.options.kinds import CommandOptions, Flag, Number, Text, option, option_like

FITTING_SECTION = "thresholds and calibrators"
SIDES = ("enrol", "test")
CALIBRATORS = ("logistic", "isotonic")


@frozen(kw_only=True)
class HeldOutOptions(ReadOptions):
    """Options of everything that is fitted on some speakers and judged on others."""

    by: tuple[str, ...] | None = option_like(
        ReadOptions,
        "by",
        description="attributes that together define one grouping, for example `gender`, "
        "`gender+nationality` or `age:18,30,60`",
        default_text="the grouping of `--groups`",
        is_repeatable=False,
    )
    within: None = field(default=None, init=False)
    # docs/methods/gates.md#rules
    side: str = option(
        FITTING_SECTION,
        "speaker whose group selects the threshold or calibrator: `enrol` for the enrolment "
        "speaker; `test` for the test speaker (a system must know this group before deciding)",
        Text,
        "enrol",
        choices=SIDES,
        is_common=True,
    )
    normalised: Any = option(
        FITTING_SECTION,
        "AS-norm or quality-adjusted scores of the trials in SCORES, computed without labels; a "
        "common threshold or calibrator is also evaluated on these scores",
        is_common=True,
        value_type="TableSource | None",
    )
    # docs/methods/gates.md#cross-fitting
    folds: int = option(
        UNCERTAINTY_SECTION,
        "number of speaker folds; each speaker is evaluated with a fit to the other folds. "
        "Fewer folds are faster and give wider intervals",
        Number,
        10,
        is_whole=True,
        low=4,
        high=12,
    )
    seed: int = option(
        UNCERTAINTY_SECTION,
        "random seed for the assignment of speakers to folds",
        Number,
        0,
        is_whole=True,
        low=0,
        high=2**63 - 1,
    )
    confidence: float = option_like(
        AuditOptions, "confidence", description="confidence level of intervals, 0.5 to 0.999"
    )


@frozen(kw_only=True)
class ThresholdOptions(HeldOutOptions):
    """Options of thresholds."""

    # docs/methods/gates.md#aims
    aim: str = option(
        FITTING_SECTION,
        "aim of each threshold: `fpr=X`, `fnr=X`, `min-cdet` or `min-cdet:COST`; for a common "
        "threshold, also `max-fpr=X` (limits the FPR of every group) or `least-worst` (minimises "
        "the largest cost of any group)",
        Text,
        "fpr=0.01",
        metavar="AIM",
        is_common=True,
    )
    cost: str = option(
        FITTING_SECTION,
        "detection cost used to express gains: a "
        "[name](methods/costs.md#cost-models-in-use) such as `sre08`, or `P_TARGET,C_MISS,C_FA`",
        Text,
        "voxsrc",
        metavar="COST",
    )


@frozen(kw_only=True)
class CalibrateOptions(HeldOutOptions):
    """Options of calibrations."""

    # docs/methods/costs.md#calibrators
    method: str = option(
        FITTING_SECTION,
        "calibration method: `logistic` (a straight line) or `isotonic` (rising steps, which need "
        "more speakers)",
        Text,
        "logistic",
        choices=CALIBRATORS,
        is_common=True,
    )
    llr: bool = option_like(
        AuditOptions,
        "llr",
        section=FITTING_SECTION,
        description="scores are natural-log likelihood ratios; evaluate the scores as given and "
        "after calibration",
    )
    llr_base: int | None = option_like(
        AuditOptions,
        "llr_base",
        section=FITTING_SECTION,
        description="scores are log-likelihood ratios [to this "
        "base](methods/costs.md#logarithms), 10 or 2; evaluate the scores as given "
        "and after calibration",
    )


@frozen(kw_only=True)
class _MitigationCommand(CommandOptions):
    """Options that both command lines have."""

    section_order = (
        INPUT_SECTION,
        FITTING_SECTION,
        UNCERTAINTY_SECTION,
        READING_SECTION,
        OUTPUT_SECTION,
    )

    scores: Any = option(
        INPUT_SECTION,
        "score file, NAME=FILE, or - for standard input",
        metavar="SCORES",
        positional_count="?",
    )
    json: bool = option(OUTPUT_SECTION, "print every number as JSON", Flag, False)


@frozen(kw_only=True)
class ThresholdCommand(_MitigationCommand):
    """The command line of `thresholds`."""

    out: Any = option(
        OUTPUT_SECTION,
        "write the [rule file](thresholds.md#the-rule-file) (YAML) for "
        "`parivox audit --thresholds`",
        is_common=True,
    )
    example: bool = option(OUTPUT_SECTION, "print an example rule file", Flag, False)


@frozen(kw_only=True)
class CalibrateCommand(_MitigationCommand):
    """The command line of `calibrate`."""

    apply: Any = option(
        FITTING_SECTION,
        "apply this [calibrator](calibration.md#the-calibrator-file) to every row and write the "
        "rows with log-likelihood ratios as scores to `--out`; nothing is evaluated",
        is_common=True,
    )
    out: Any = option(
        OUTPUT_SECTION,
        "write the [calibrator](calibration.md#the-calibrator-file) (JSON); with `--apply`, write "
        "the scores (CSV or Parquet) for `parivox audit --llr`",
        is_common=True,
    )
    figure: Any = option(
        OUTPUT_SECTION,
        "write the calibration plot of each group: SVG, PNG, PDF, HTML or JSON (Vega-Lite)",
        is_common=True,
    )
