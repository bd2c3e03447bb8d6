"""What an audit is asked to do: one frozen record, checked once."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from parivox.auditing.cells import ALLOCATIONS
from parivox.auditing.operating_points import OperatingPoint, parse_point, parse_sweep
from parivox.core.bias import ZERO_POLICIES
from parivox.core.costs import CostModel, parse_cost
from parivox.core.eer import DEFINITIONS
from parivox.core.rates import RULES
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.core.bias import ZeroPolicy
    from parivox.core.rates import RateRule

__all__ = ["REFERENCES", "Options", "parse_alpha"]

REFERENCES = ("pooled", "macro", "geomean", "best")
MOST_WEIGHTS = 1000
SWEEP = "fpr=0.001:0.1:log100"
"""Grid of the area under FDR when no sweep is asked for (METHODS 3.4)."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of an audit, in the words that the command line uses.

    Attributes
    ----------
    by : groupings, as in ``gender+nationality``; None for every attribute with 2 to 50 values
    allocate : rules that place nontarget trials in groups
    operating_points : thresholds, common to all groups; None for FPR 1 % and, where the trials
        carry it, 0.1 %
    cost : detection cost models, the first one is that of ``min-cdet``
    eer : definitions of the equal error rate
    rule : rules for FNR at an FPR and FPR at an FNR
    reference : what groups are compared with
    zero : policies for rates without errors
    alpha : weights of the FPR in measures that join both rates
    sweep : grid of operating points for the meta-measures, or None
    within : groupings within whose levels the audit is repeated, or None
    llr : scores are natural-log likelihood ratios
    compat : another tool whose rules are followed beside the exact ones
    """

    by: tuple[str, ...] | None = None
    within: tuple[str, ...] | None = None
    allocate: tuple[str, ...] = ("both",)
    operating_points: tuple[str, ...] | None = None
    cost: tuple[str, ...] = ("voxsrc",)
    eer: tuple[str, ...] = ("linear",)
    rule: tuple[RateRule, ...] = ("conservative",)
    reference: tuple[str, ...] = REFERENCES
    zero: tuple[ZeroPolicy, ...] = ("none", "jeffreys")
    alpha: tuple[float, ...] = (0.5,)
    sweep: str | None = None
    llr: bool = False
    compat: str | None = None
    costs: tuple[CostModel, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check every option, once."""
        choices = (
            *("by", "within", "allocate", "operating_points", "cost", "eer", "rule"),
            *("reference", "zero"),
        )
        for name in choices:
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, tuple(text.strip() for text in values))
        for name, known in (
            ("allocate", ALLOCATIONS),
            ("eer", DEFINITIONS),
            ("rule", RULES),
            ("zero", ZERO_POLICIES),
        ):
            _one_of(name, getattr(self, name), known)
        if self.compat is not None:
            _one_of("compat", (self.compat,), ("bt4vt",))
            if "enrol" not in self.allocate:  # the only allocation that bt4vt knows
                object.__setattr__(self, "allocate", (*self.allocate, "enrol"))
        for name in choices:
            values = getattr(self, name)
            twice = next((one for one in values or () if values.count(one) > 1), None)
            if twice is not None or (values is not None and not values):
                what = "nothing" if twice is None else f"{twice!r} twice"
                msg = f"--{name.replace('_', '-')} names {what}; name each choice once"
                raise ConfigError(msg)
        if not self.alpha or not all(0 <= alpha <= 1 for alpha in self.alpha):
            msg = (
                f"--alpha is given {list(self.alpha)}; weights lie between 0 and 1, as in 0:1:0.05"
            )
            raise ConfigError(msg)
        costs = tuple(parse_cost(text) for text in self.cost)
        if len({cost.name for cost in costs}) < len(costs):
            msg = f"--cost names one model twice: {list(self.cost)}; name each once"
            raise ConfigError(msg)
        object.__setattr__(self, "costs", costs)
        self.points()  # so that a wrong point is told before any file is read
        self.sweep_points()

    def points(self) -> list[OperatingPoint] | None:
        """Operating points asked for; None for the default ones."""
        if self.operating_points is None:
            return None
        return [parse_point(text, self.costs, llr=self.llr) for text in self.operating_points]

    def sweep_points(self) -> list[OperatingPoint]:
        """Grid of operating points of the sweep."""
        return parse_sweep(self.sweep_text)

    def area_points(self) -> list[OperatingPoint]:
        """Grid of false positive rates for the area under FDR."""
        return parse_sweep(self.area_text)

    @property
    def area_text(self) -> str:
        """The grid of :meth:`area_points` as written."""
        return self.sweep_text if self.sweep_text.strip().startswith("fpr") else SWEEP

    @property
    def sweep_text(self) -> str:
        """The grid of :meth:`sweep_points` as written."""
        return self.sweep or SWEEP

    def told(self) -> dict[str, Any]:
        """Options as written, for the audit's record."""
        told = asdict(self)
        told.pop("costs")
        return told


def _is_range(low: float, high: float, step: float) -> bool:
    """Whether there are steps from low to high, and not absurdly many."""
    return step > 0 and low <= high and (high - low) / step <= MOST_WEIGHTS


def _one_of(name: str, values: Sequence[str], known: Sequence[str]) -> None:
    for value in values:
        if value not in known:
            msg = f"--{name} {value!r} is not known; choose from {', '.join(known)}"
            raise ConfigError(msg)


def parse_alpha(texts: Sequence[str | float]) -> tuple[float, ...]:
    """Read weights: numbers, lists with commas, or ``low:high:step``.

    Examples
    --------
    >>> parse_alpha(["0:1:0.5"])
    (0.0, 0.5, 1.0)
    """
    found: list[float] = []
    for text in ",".join(str(text) for text in texts).split(","):
        parts = text.split(":")
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            found += numbers
        elif len(numbers) == 3 and all(map(math.isfinite, numbers)) and _is_range(*numbers):
            low, high, step = numbers
            found += [
                round(low + step * i, 12)
                for i in range(math.floor((high - low) / step + 1.5e-9) + 1)
            ]
        else:
            msg = f"--alpha {text!r} is neither a number nor LOW:HIGH:STEP, as in 0:1:0.05"
            raise ConfigError(msg)
    return tuple(dict.fromkeys(found))
