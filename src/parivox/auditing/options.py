"""What an audit is asked to do: its options, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parivox.auditing.operating_points import OperatingPoint, parse_point, parse_sweep
from parivox.core.costs import CostModel, parse_cost
from parivox.errors import ConfigError
from parivox.facts import fact
from parivox.frozen import frozen
from parivox.options.audit import (
    INTERVAL_METHODS,
    NEVER,
    OFFENDERS,
    READING_SECTION,
    REFERENCES,
    AuditOptions,
)
from parivox.options.kinds import option_fields
from parivox.options.limits import Limit, parse_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["INTERVAL_METHODS", "OFFENDERS", "REFERENCES", "Options", "SampleSizeMinimums"]

SWEEP = "fpr=0.001:0.1:log100"
"""Grid of the area under FDR when no sweep is asked for.

See docs/methods/bias-measures.md#area-under-fdr.
"""


@dataclass(frozen=True, kw_only=True)
class SampleSizeMinimums:
    """What a group needs for its rates to count (docs/uncertainty.md#sample-size-minimums)."""

    inference: int = 5  # speakers below which no interval is given and nothing is concluded
    speakers: int = 10  # speakers below which a group is kept out of headline meta-measures
    errors: int = (
        5  # effective errors (errors / design effect) below which a ratio is not estimable
    )
    pairs: int = 45  # pairs of speakers below which an FPR is flagged and kept out likewise

    @property
    def no_interval_reason(self) -> str:
        """Return why a group below the inference minimum has no interval."""
        return fact("no_interval_below_minimum", speakers=self.inference)


def interval_flags(options: AuditOptions) -> list[str]:
    """Return the options that need intervals, as they are given."""
    needing = ("compare", "limit", "attempts", "standardise", "primary")
    flags = [f"--{name}" for name in needing if getattr(options, name)]
    if options.speaker_ids != NEVER:
        flags.append(f"--speaker-ids {options.speaker_ids}")
    return flags


@frozen(kw_only=True)
class Options(AuditOptions):
    """Options of an audit, and what is read from them."""

    minimums: SampleSizeMinimums = field(init=False, repr=False)
    limits: tuple[Limit, ...] = field(init=False, repr=False)
    # the first one is that of `min-cdet`
    costs: tuple[CostModel, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check every option, and those that must go together."""
        super().__post_init__()
        costs = tuple(parse_cost(text) for text in self.cost)
        if len({cost.name for cost in costs}) < len(costs):
            msg = f"--cost names one model twice: {list(self.cost)}"
            hint = "name each once"
            raise ConfigError(msg, hint)
        self._check_intervals()
        implied: dict[str, Any] = {
            "llr": self.llr or self.llr_base is not None,
            "costs": costs,
            "minimums": parse_minimums(self.gate),
            "limits": parse_limits(self.limit),
            # the others are what verdicts are against
            "reference": self.reference or (REFERENCES if self.intervals else REFERENCES[1:]),
        }
        implied["allocate"] = allocate = self.allocate or ("both",)
        if self.compat is not None and "enrol" not in allocate:  # all that bt4vt knows
            implied["allocate"] = (*allocate, "enrol")
        for name, setting in implied.items():
            setattr(self, name, setting)
        # Both are parsed here, so that a wrong point is reported before any file is read.
        self.points()
        self.sweep_points()

    def _check_intervals(self) -> None:
        """Refuse what needs intervals without them."""
        flags = interval_flags(self)
        if flags and not self.intervals:
            msg = f"{flags[0]} needs intervals"
            hint = "leave out --no-intervals"
            raise ConfigError(msg, hint)

    def points(self) -> list[OperatingPoint] | None:
        """Return the operating points asked for; None for the default ones."""
        if self.operating_points is None:
            return None
        scales: dict[str, Any] = {"llr": self.llr, "log_base": self.log_base}
        return [parse_point(text, self.costs, **scales) for text in self.operating_points]

    @property
    def log_base(self) -> float:
        """The base of scores that are logarithms of likelihood ratios."""
        return math.e if self.llr_base is None else self.llr_base

    def primary_of(self, groupings: Sequence[str]) -> tuple[str, str]:
        """Return the grouping that the audit is about, and the operating point if one is named."""
        text = groupings[0] if self.primary is None else self.primary.strip()
        grouping = text if text in groupings else text.rpartition("@")[0] or text
        if grouping not in groupings:
            msg = f"--primary {text!r}: {grouping!r} is not a grouping of this audit"
            hint = f"choose from {', '.join(groupings)}"
            raise ConfigError(msg, hint)
        return grouping, text[len(grouping) + 1 :]

    def sweep_points(self) -> list[OperatingPoint]:
        """Grid of operating points of the sweep."""
        return parse_sweep(self.sweep_text)

    def area_points(self) -> list[OperatingPoint]:
        """Grid of false positive rates for the area under FDR."""
        return parse_sweep(self.area_text)

    @property
    def area_text(self) -> str:
        """The grid of `area_points` as written."""
        return self.sweep_text if self.sweep_text.strip().startswith("fpr") else SWEEP

    @property
    def sweep_text(self) -> str:
        """The grid of `sweep_points` as written."""
        return self.sweep or SWEEP

    def recorded(self) -> dict[str, Any]:
        """Return the options as the record of the audit has them; how files are read comes last."""
        recorded_fields = [
            option for option in option_fields(type(self)).values() if option.is_recorded
        ]
        recorded_fields.sort(key=lambda option: option.section == READING_SECTION)
        return {option.name: getattr(self, option.name) for option in recorded_fields}


def parse_minimums(texts: Sequence[str]) -> SampleSizeMinimums:
    """Return the minimum sample sizes that a user wrote.

    Examples
    --------
    >>> parse_minimums(["speakers=8"])
    SampleSizeMinimums(inference=5, speakers=8, errors=5, pairs=45)
    """
    minimums: dict[str, int] = {}
    for text in texts:
        name, equals, number = (word.strip() for word in text.partition("="))
        names = list(SampleSizeMinimums.__dataclass_fields__)
        is_number = number.isascii() and number.isdecimal()
        if not equals or name not in names or not is_number:
            msg = f"--gate {text!r} is not NAME=NUMBER with one of the names {', '.join(names)}"
            hint = "give for example speakers=10"
            raise ConfigError(msg, hint)
        if name in minimums:
            msg = f"--gate {name} is given twice"
            hint = "give it once"
            raise ConfigError(msg, hint)
        minimums[name] = int(number)
    return SampleSizeMinimums(**minimums)
