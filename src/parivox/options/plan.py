"""Options of `plan`: what difference is to be detected, and what is known of the trials."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from parivox.errors import ConfigError
from parivox.frozen import frozen
from parivox.options.kinds import Flag, Number, Options, option

GOAL_SECTION = "goal"
ASSUMPTIONS_SECTION = "assumptions"
OUTPUT_SECTION = "output"
METRICS = ("fnr", "fpr")
_FRACTION_BOUNDS = {"low": 0.5, "high": 0.999}


@frozen(kw_only=True)
class Rates(Number):
    """A number for FNR, FPR or both."""

    annotation: ClassVar[str] = "Mapping[str, float] | None"

    is_repeatable: bool = True

    def check(self, value: Any) -> dict[str, float]:  # type: ignore[override]
        """Numbers by metric."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            msg = f"{self.flag} is {value!r}; give a mapping, as in {{'fnr': 0.1}}"
            raise ConfigError(msg)
        for metric, number in value.items():
            if metric not in METRICS:
                msg = f"{self.flag} is given for {metric!r}; give it for fnr or fpr"
                raise ConfigError(msg)
            if not self.is_right(number):
                msg = f"{self.flag} {metric} is {number!r}; give {self.wanted}"
                raise ConfigError(msg)
        return dict(value)

    def parse(self, text: Any) -> dict[str, float]:
        """Numbers as in ``fnr=0.1``, one for each metric."""
        found: dict[str, float] = {}
        for one in text:
            metric, _, number = (word.strip() for word in one.partition("="))
            if metric in found:
                msg = f"{self.flag} of {metric} is given twice; give it once"
                raise ConfigError(msg)
            try:
                found[metric] = float(number)
            except ValueError:
                msg = f"{self.flag} {one!r} is not METRIC=NUMBER, as in {self.flag} fnr=0.1"
                raise ConfigError(msg) from None
        return found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanOptions(Options):
    """Options of a plan."""

    detect_ratio: float = option(
        GOAL_SECTION,
        "ratio to detect: the rate of a group divided by that of the other groups; below 1 for a "
        "group with fewer errors",
        Number,
        2.0,
        metavar="X",
        low=0,
        high=sys.float_info.max,
        outside=(0, 1),
        wanted="a ratio above 0, not 1",
    )
    power: float = option(
        GOAL_SECTION,
        "power: probability of detecting the ratio",
        Number,
        0.8,
        metavar="X",
        **_FRACTION_BOUNDS,
        wanted="a fraction from 0.5 to 0.999",
    )
    confidence: float = option(
        GOAL_SECTION,
        "confidence level of the two-sided test of one group",
        Number,
        0.95,
        metavar="X",
        **_FRACTION_BOUNDS,
        wanted="one from 0.5 to 0.999",
    )
    target_fpr: float | None = option(
        GOAL_SECTION,
        "FPR to plan for",
        Number,
        metavar="X",
        without="that of each operating point",
        low=1e-8,
        high=1,
        outside=(1,),
        wanted="a fraction from 1e-08 to 1",
    )
    rate: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "error rate of the other groups, as in `fnr=0.05`",
        Rates,
        metavar="METRIC=X",
        without="from the pilot",
        low=0,
        high=1,
        outside=(0, 1),
        wanted="a fraction between 0 and 1",
    )
    icc: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "correlation of two trials that share a speaker, as in `fnr=0.1`",
        Rates,
        metavar="METRIC=X",
        without="from the pilot",
        low=0,
        high=1,
        outside=(1,),
        wanted="a correlation from 0 to below 1",
    )
    trials_per_speaker: Mapping[str, float] = option(
        ASSUMPTIONS_SECTION,
        "trials per speaker, as in `fnr=50`",
        Rates,
        metavar="METRIC=X",
        without="from the pilot",
        low=1,
        high=1_000_000,
        wanted="from 1 to 1,000,000",
    )

    policy: Any = option(
        GOAL_SECTION,
        "[policy](gate.md#what-a-policy-says): calculate the speakers that each of its conditions "
        "needs",
    )

    def __post_init__(self) -> None:
        """Check every option, and those that must agree."""
        super().__post_init__()
        if self.target_fpr is not None and self.rate.get("fpr", self.target_fpr) != self.target_fpr:
            msg = "--target-fpr and --rate fpr differ; give one of them"
            raise ConfigError(msg)

    def planned(self, metric: str) -> float | None:
        """The rate to plan for, if it is not the pilot's."""
        return self.rate.get(metric, self.target_fpr if metric == "fpr" else None)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanCommand(Options):
    """The command line of `plan`."""

    order = (ASSUMPTIONS_SECTION, GOAL_SECTION)

    pilot: Any = option(
        ASSUMPTIONS_SECTION,
        "folder of a saved audit with intervals",
        metavar="DIR",
        without="rates, correlations and trials are given, for two groups",
    )
    json: bool = option(OUTPUT_SECTION, "print the plan as JSON", Flag, False)
    verbose: bool = option(
        OUTPUT_SECTION, "print tables for every grouping", Flag, False, letter="v"
    )
