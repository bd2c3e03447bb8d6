"""What an audit is asked to do: one frozen record, checked once."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from numbers import Integral, Real
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

__all__ = ["INTERVALS", "OFFENDERS", "REFERENCES", "Gates", "Options", "parse_alpha"]

REFERENCES = ("others", "pooled", "macro", "geomean", "best")
INTERVALS = ("speakers", "bootstrap", "wilson", "clopper-pearson", "jeffreys")
OFFENDERS = "offenders"
SPEAKER_IDS = ("never", OFFENDERS)
LIMITED = ("fnr", "fpr")
MOST_REPLICATES = 100_000
FEWEST_REPLICATES = 50
FEWEST_BINS, MOST_BINS = 64, 1 << 20
LOWEST, HIGHEST = 0.5, 0.999
_MAY_BE_EMPTY = {"limit", "gate", "standardise"}
MOST_MARGIN = 1e6
MOST_WEIGHTS = 1000
SWEEP = "fpr=0.001:0.1:log100"
"""Grid of the area under FDR when no sweep is asked for.

See docs/methods/meta-measures.md#area-under-fdr.
"""


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What a group needs for its rates to count (docs/methods/verdicts.md#gates).

    Attributes
    ----------
    inference : speakers below which no interval is given and nothing is concluded
    speakers : speakers below which a group is kept out of headline meta-measures
    errors : effective errors (errors / design effect) below which a ratio is not estimable
    pairs : pairs of speakers below which an FPR is flagged and kept out likewise
    """

    inference: int = 5
    speakers: int = 10
    errors: int = 5
    pairs: int = 45

    @property
    def too_few(self) -> str:
        """Why there is no interval where nothing is concluded."""
        return f"fewer than {self.inference} speakers: no interval"


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
    intervals : whether anything is said about uncertainty
    interval : how intervals of rates are made; all but the first two take trials as independent
    pooled_floor : widen intervals of FNR where other groups show that speakers vary more
    confidence : of every interval, in (0, 1)
    replicates : of the bootstrap over speakers and of the noise floors
    seed : of both
    fixed_threshold : keep thresholds found on the trials, which replicates otherwise find again
    bins : of the scores in replicates; 0 for exact scores
    margin : largest ratio, and its reciprocal, that is no difference that matters
    limit : what a rate may be at most, as in ``fnr=0.05``
    attempts : tries that a person, or an impostor, has; None leaves them out
    gate : what a group needs, as in ``speakers=10``; see :class:`Gates`
    standardise : attributes of trials whose levels are given equal weight over groups
    compare : whether systems and lists are compared with each other
    speaker_ids : whose ids may be told: of nobody, or of those behind most of the errors
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
    intervals: bool = True
    interval: str = INTERVALS[0]
    pooled_floor: bool = False
    confidence: float = 0.95
    replicates: int = 1000
    seed: int = 0
    fixed_threshold: bool = False
    bins: int = 1024
    margin: float = 1.25
    limit: tuple[str, ...] = ()
    attempts: int | None = None
    gate: tuple[str, ...] = ()
    standardise: tuple[str, ...] = ()
    compare: bool = False
    speaker_ids: str = SPEAKER_IDS[0]
    compat: str | None = None
    gates: Gates = field(init=False, repr=False)
    limits: tuple[tuple[str, float], ...] = field(init=False, repr=False)
    costs: tuple[CostModel, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check every option, once."""
        choices = (
            *("by", "within", "allocate", "operating_points", "cost", "eer", "rule"),
            *("reference", "zero", "limit", "gate", "standardise"),
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
            ("interval", INTERVALS),
            ("speaker_ids", SPEAKER_IDS),
        ):
            _one_of(name, known, getattr(self, name))
        if self.compat is not None:
            _one_of("compat", ("bt4vt",), self.compat)
            if "enrol" not in self.allocate:  # the only allocation that bt4vt knows
                object.__setattr__(self, "allocate", (*self.allocate, "enrol"))
        for name in choices:
            values = getattr(self, name)
            twice = next((one for one in values or () if values.count(one) > 1), None)
            is_empty = values is not None and not values and name not in _MAY_BE_EMPTY
            if twice is not None or is_empty:
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
        self._check_uncertainty()
        self._check_intervals_are_told()
        object.__setattr__(self, "gates", parse_gates(self.gate))
        object.__setattr__(self, "limits", parse_limits(self.limit))
        self.points()  # so that a wrong point is told before any file is read
        self.sweep_points()

    def _check_uncertainty(self) -> None:
        """Check what intervals and floors are asked for."""
        whole = {
            "replicates": (FEWEST_REPLICATES, MOST_REPLICATES),
            "seed": (0, 2**63 - 1),
            "attempts": (1, 10**9),
        }
        for name, (low, high) in whole.items():
            value = getattr(self, name)
            may_lack = name == "attempts" and value is None
            if not may_lack and not (_is_whole(value) and low <= value <= high):
                msg = f"--{name} is {value!r}; give a whole number from {low} to {high}"
                raise ConfigError(msg)
        for name in ("intervals", "pooled_floor", "fixed_threshold", "compare"):
            if not isinstance(getattr(self, name), bool):
                msg = f"{name}={getattr(self, name)!r} is neither True nor False; give one of them"
                raise ConfigError(msg)
        if not (_is_whole(self.bins) and (self.bins == 0 or MOST_BINS >= self.bins >= FEWEST_BINS)):
            msg = (
                f"--bins is {self.bins!r}; give exact, or a whole number from {FEWEST_BINS} to "
                f"{MOST_BINS}"
            )
            raise ConfigError(msg)
        if not (_is_number(self.confidence) and LOWEST <= self.confidence <= HIGHEST):
            msg = (
                f"--confidence is {self.confidence!r}; give a fraction from {LOWEST} to {HIGHEST}, "
                "as in 0.95"
            )
            raise ConfigError(msg)
        if not (_is_number(self.margin) and 1 < self.margin <= MOST_MARGIN):
            msg = f"--margin is {self.margin!r}; give a ratio above 1, as in 1.25"
            raise ConfigError(msg)
        for name, kind in (
            *((name, int) for name in (*whole, "bins")),
            *((name, float) for name in ("confidence", "margin")),
        ):
            if getattr(self, name) is not None:  # it may be a number of NumPy's
                object.__setattr__(self, name, kind(getattr(self, name)))

    def _check_intervals_are_told(self) -> None:
        """Refuse what needs intervals without them."""
        if self.intervals:
            return
        for name in ("compare", "limit", "attempts", "standardise"):
            if getattr(self, name):
                msg = f"--{name} needs intervals; leave out --no-intervals"
                raise ConfigError(msg)
        if self.speaker_ids != SPEAKER_IDS[0]:
            msg = f"--speaker-ids {self.speaker_ids} needs intervals; leave out --no-intervals"
            raise ConfigError(msg)

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
        for name in ("costs", "gates", "limits"):
            told.pop(name)
        return told


def parse_gates(texts: Sequence[str]) -> Gates:
    """Read gates as a user writes them.

    Examples
    --------
    >>> parse_gates(["speakers=8"])
    Gates(inference=5, speakers=8, errors=5, pairs=45)
    """
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        known = list(Gates.__dataclass_fields__)
        if not equals or name not in known or not value.isdecimal():
            msg = (
                f"--gate {text!r} is not NAME=NUMBER with one of the names {', '.join(known)}, as "
                "in speakers=10"
            )
            raise ConfigError(msg)
        if name in found:
            msg = f"--gate {name} is given twice; give it once"
            raise ConfigError(msg)
        found[name] = int(value)
    return Gates(**found)


def parse_limits(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Read limits as a user writes them, each once."""
    found = tuple(map(parse_limit, texts))
    if len(set(found)) < len(found):
        msg = f"--limit names one limit twice: {list(texts)}; name each once"
        raise ConfigError(msg)
    return found


def parse_limit(text: str) -> tuple[str, float]:
    """Read a limit as a user writes it.

    Examples
    --------
    >>> parse_limit("fnr=0.05")
    ('fnr', 0.05)
    """
    metric, _, value = (part.strip() for part in text.partition("="))
    try:
        level = float(value)
    except ValueError:
        level = math.nan
    if metric not in LIMITED or not 0 < level < 1:
        msg = f"--limit {text!r} is not fnr=RATE or fpr=RATE with a rate between 0 and 1"
        raise ConfigError(msg)
    return metric, level


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_range(low: float, high: float, step: float) -> bool:
    """Whether there are steps from low to high, and not absurdly many."""
    return step > 0 and low <= high and (high - low) / step <= MOST_WEIGHTS


def _one_of(name: str, known: Sequence[str], values: Sequence[str] | str) -> None:
    for value in (values,) if isinstance(values, str) else values or ("",):
        if value not in known:
            msg = (
                f"--{name.replace('_', '-')} {value!r} is not known; choose from {', '.join(known)}"
            )
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
