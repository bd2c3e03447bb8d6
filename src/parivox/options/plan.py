"""Options of `plan`: the difference to detect, and assumptions about the trials."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from parivox.errors import ConfigError
from parivox.frozen import frozen
from parivox.numerals import number_of
from parivox.options.kinds import CommandOptions, Flag, Number, option

GOAL_SECTION = "goal"
ASSUMPTIONS_SECTION = "assumptions"
OUTPUT_SECTION = "output"
METRICS = ("fnr", "fpr", "sfar")
_FRACTION_BOUNDS = {"low": 0.5, "high": 0.999}


@frozen(kw_only=True)
class Rates(Number):
    """A number for each of some error rates."""

    annotation: ClassVar[str] = "Mapping[str, float] | None"

    is_repeatable: bool = True

    def check(self, setting: Any) -> dict[str, float]:  # type: ignore[override]
        """Return numbers by metric; refuse anything else."""
        if setting is None:
            return {}
        if not isinstance(setting, Mapping):
            msg = f"{self.flag} is {setting!r}"
            hint = "give a mapping, for example {'fnr': 0.1}"
            raise ConfigError(msg, hint)
        for metric, number in setting.items():
            if metric not in METRICS:
                msg = f"{self.flag} is given for {metric!r}"
                hint = "give it for fnr, fpr or sfar"
                raise ConfigError(msg, hint)
            if not self.is_valid(number):
                msg = f"{self.flag} {metric} is {number!r}"
                hint = f"give {self.expected}"
                raise ConfigError(msg, hint)
        return dict(setting)

    def parse(self, texts: Any) -> dict[str, float]:
        """Return numbers by metric, from texts such as ``fnr=0.1``."""
        numbers: dict[str, float] = {}
        for assignment in texts:
            metric, _, number = (word.strip() for word in assignment.partition("="))
            if metric in numbers:
                msg = f"{self.flag} of {metric} is given twice"
                hint = "give it once"
                raise ConfigError(msg, hint)
            try:
                numbers[metric] = number_of(number)
            except ValueError:
                msg = (
                    f"{self.flag} {assignment!r} is not METRIC=NUMBER, for example {self.flag} "
                    "fnr=0.1"
                )
                raise ConfigError(msg) from None
        return numbers


@frozen(kw_only=True)
class PlanOptions(CommandOptions):
    """Options of a plan."""

    detect_ratio: float = option(
        GOAL_SECTION,
        "ratio to detect: group rate divided by the rate of the other groups; below 1 for fewer "
        "errors",
        Number,
        2.0,
        metavar="X",
        low=0,
        high=sys.float_info.max,
        excluded=(0, 1),
        expected="a ratio above 0, not 1",
    )
    # docs/methods/planning.md#power
    power: float = option(
        GOAL_SECTION,
        "power of the test: probability of detecting the ratio",
        Number,
        0.8,
        metavar="X",
        **_FRACTION_BOUNDS,
        expected="a fraction from 0.5 to 0.999",
    )
    confidence: float = option(
        GOAL_SECTION,
        "confidence level of the two-sided test for one group",
        Number,
        0.95,
        metavar="X",
        **_FRACTION_BOUNDS,
        expected="one from 0.5 to 0.999",
    )
    target_fpr: float | None = option(
        GOAL_SECTION,
        "FPR to plan for",
        Number,
        metavar="X",
        default_text="the FPR of each operating point",
        low=1e-8,
        high=1,
        excluded=(1,),
        expected="a fraction from 1e-08 to 1",
    )
    rate: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "error rate of the other groups, such as `fnr=0.05`",
        Rates,
        metavar="METRIC=X",
        default_text="from the pilot",
        low=0,
        high=1,
        excluded=(0, 1),
        expected="a fraction between 0 and 1",
    )
    icc: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "correlation between trials that share a speaker, such as `fnr=0.1`",
        Rates,
        metavar="METRIC=X",
        default_text="from the pilot",
        low=0,
        high=1,
        excluded=(1,),
        expected="a correlation from 0 to below 1",
    )
    trials_per_speaker: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "number of trials per speaker, such as `fnr=50`",
        Rates,
        metavar="METRIC=X",
        default_text="from the pilot",
        low=1,
        high=1_000_000,
        expected="from 1 to 1,000,000",
    )

    policy: Any = option(
        GOAL_SECTION,
        "calculate how many speakers each condition of this [policy](gate.md#what-a-policy-says) "
        "needs",
        value_type="DocumentSource | None",
    )

    def __post_init__(self) -> None:
        """Check every option, and that options which state the same agree."""
        super().__post_init__()
        if self.target_fpr is not None and self.rate.get("fpr", self.target_fpr) != self.target_fpr:
            msg = "--target-fpr and --rate fpr are different"
            hint = "give one of them"
            raise ConfigError(msg, hint)

    def planned(self, metric: str) -> float | None:
        """Return the rate to plan for; None for the rate of the pilot."""
        return self.rate.get(metric, self.target_fpr if metric == "fpr" else None)


@frozen(kw_only=True)
class PlanCommand(CommandOptions):
    """The command line of `plan`."""

    section_order = (ASSUMPTIONS_SECTION, GOAL_SECTION)

    pilot: Any = option(
        ASSUMPTIONS_SECTION,
        "folder of a saved audit with intervals",
        metavar="DIR",
        default_text="none; give `--rate`, `--icc` and `--trials-per-speaker` to plan for two "
        "groups",
    )
    json: bool = option(OUTPUT_SECTION, "print the plan as JSON", Flag, False)
    verbose: bool = option(
        OUTPUT_SECTION, "print tables for every grouping", Flag, False, letter="v"
    )
