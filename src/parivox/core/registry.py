"""The registry of measures, and the kinds of measures it holds.

Three kinds follow from each other. A *base metric* is a number of one cell: an error rate, a cost,
a distance of scores. A *bias measure* sets a group's base metric against a reference. A
*meta-measure* is one number for how all groups differ. A measure's entry holds, once, everything
that an audit reports of it besides its value: intervals, noise floors, the terminal, the report,
exports, figures and the documentation read it. The entries are in `parivox.core.measures`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.core.counts import FloatArray
    from parivox.core.spread import MetaValue

Scale: TypeAlias = Literal["zero", "one", "ratio", "linear"]
ZeroPolicy: TypeAlias = Literal["none", "jeffreys", "nist"]
ZERO_POLICIES = ("none", "jeffreys", "nist")


class ErrorType(NamedTuple):
    """An error rate at a threshold, and the class of trials that it is a share of."""

    rate: str
    trial_class: str
    is_of_pairs: bool = False
    """Whether it is counted by pair of speakers: else by who is claimed, who bears the risk."""
    is_of_accepts: bool = True


ERROR_TYPES = (
    ErrorType("fpr", "nontarget", is_of_pairs=True),
    ErrorType("fnr", "target", is_of_accepts=False),
    ErrorType("sfar", "spoof"),
)
"""Error types in the order of the codes of their classes of trials."""
ALL_RATES = tuple(error_type.rate for error_type in ERROR_TYPES)
RATES = ALL_RATES[:2]
"""Rates of bona fide trials, which every list has: the terms of measures that join two rates."""
RATE_OF_CLASS = {error_type.trial_class: error_type.rate for error_type in ERROR_TYPES}
IDENTIFICATION_RATES = {"fnir": "fnr", "fpir": "fpr"}
"""Rates of searches, which count as trials do: mated ones as target, non-mated ones as nontarget
trials (`parivox.core.identification`).
"""
BOTH = "fpr+fnr"
UNIT_INTERVAL = (0.0, 1.0)
"""Bounds of a measure between 0 and 1."""
UNBOUNDED = (-np.inf, np.inf)
"""Bounds of a measure that has none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """What all kinds of measures have in common."""

    id: str
    """As the columns ``metric`` and ``measure`` have it."""
    label: str
    """Its name in tables."""
    definition: str
    """Its definition in one line."""
    short: str = ""
    """Its name where there is little room; the label, unless another is given."""
    source: str = ""
    """Who published it, with the year. If no work did: "in common use" for a meta-measure that
    general statistics has, and "Parivox" for a new one; other measures may leave it empty.
    """
    scale: Scale = "zero"
    """On which scale it varies: it is at least 0 and 0 at best (its logarithm varies evenly), at
    most 1 and 1 at best (that of 1 - value), a ratio whose logarithm is 0 at par, or a number that
    varies evenly itself.
    """
    bounds: tuple[float, float] = (0.0, np.inf)
    """No value lies outside, and no limit of an interval."""
    fairer: Literal["lower", "higher", "neither"] = "lower"
    """Which values are better: for base metrics for the people concerned, for the others for
    fairness.
    """
    compute: Callable[..., object] | None = None
    """The function; None for measures that the audit itself computes from other values."""

    def __post_init__(self) -> None:
        """Use the label as the short name where none is given."""
        if not self.short:
            object.__setattr__(self, "short", self.label)

    @property
    def interval_scale(self) -> Literal["log", "linear"]:
        """Whether distances vary evenly themselves, or their logarithms do."""
        return "linear" if self.scale == "linear" else "log"

    def distance(self, values: FloatArray) -> FloatArray:
        """Return how far values are from the best one, which intervals are computed on."""
        return 1 - values if self.scale == "one" else values

    def value_at_distance(self, distances: FloatArray) -> FloatArray:
        """Return the values that are so far from the best one."""
        return 1 - distances if self.scale == "one" else distances

    def ratio_terms(self, values: FloatArray) -> FloatArray:
        """Return what two systems are compared by as a ratio; NaN where no ratio says anything.

        A metric whose best value is 1, as AUC, is compared by its distance from 1.
        """
        if self.scale == "linear":
            return np.full(np.shape(values), np.nan)
        return self.distance(values)

    @property
    def is_higher_fairer(self) -> bool:
        """Whether higher values are better."""
        return self.fairer == "higher"

    @property
    def widest(self) -> float:
        """No two values are further apart."""
        return self.bounds[1] - self.bounds[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class BaseMetric(Measure):
    """A number of one cell of trials."""

    needs: Literal["points", "counts", "llr", "pooled", "recordings", "attempts", "seconds"]
    """What `compute` takes, and when it is defined:

    ``points``
        A `parivox.core.counts.Curve` ``[..., threshold]`` at the operating points; gives
        ``[..., threshold]``.
    ``counts``
        `parivox.core.counts.Counts` ``[..., value]``; gives ``[...]``, or what has a
        ``threshold`` in addition.
    ``llr``
        The same of scores that are log-likelihood ratios.
    ``pooled``, ``recordings``, ``attempts``, ``seconds``
        Made by the audit of scores against those of all groups; of recordings that failed; of both
        rates with these; of times.
    """
    computed_per: Literal["", "cost", "eer", "held", "spoof_share"] = ""
    """Computed once for each cost model (keyword ``cost``), definition of the EER (``definition``),
    rate that is held and rule (``target``, ``rule``), or as it is and at the share of spoof trials
    of the whole list (``spoof_share``).
    """
    trial_class: Literal["target", "nontarget", "spoof", "both"] = "both"
    """The class of trials that it is computed from, and whose errors are shown with it."""
    is_error: bool = True
    """0 at best and lower for better, so that groups can be compared by it."""
    field: str = "value"
    """Which attribute of what `compute` gives it is, where it gives several; those of one function
    are computed together.
    """
    components: tuple[str, ...] = ()
    """Computed of the values of these metrics instead."""
    is_smooth: bool = False
    """Bins of scores twice as wide are accurate enough for its replicates."""
    is_optimistic: bool = False
    """Too high or low by what was fitted to the trials that it is judged on; the audit takes off by
    how much the mean of its replicates differs from it.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class BiasMeasure(Measure):
    """A group's base metric against a reference."""

    par: float
    """Its value where the group's metric equals the reference."""
    is_of_references: bool = False
    """Taken against each reference in turn; else against the one that its definition names."""

    def ratio_terms(self, values: FloatArray) -> FloatArray:
        """Return ratios as they are, and NaN for measures that are 0 at par."""
        return _ratios_or_nan(self, values)


@dataclass(frozen=True, kw_only=True, eq=False)
class MetaMeasure(Measure):
    """One number for how the groups of a system differ."""

    metric: str = ""
    """The one metric that it is for (``fpr``, ``fnr``, ``fpr+fnr`` for both at once), or empty: any
    metric that is an error.
    """
    extra_input: Literal["", "alpha", "average", "draws", "grid"] = ""
    """What `compute` takes besides the values: the keyword ``alpha``, or the pooled value as second
    argument; or what the audit computes it from, draws under equal rates or a grid of operating
    points.
    """
    terms: tuple[str, str] | None = None
    """Of both rates at once: the measures of FPR and of FNR that it joins by their weight."""
    takes_logs: bool = False
    """A rate of 0 makes it undefined or infinite."""
    zero_policies: tuple[ZeroPolicy, ...] = ("none",)
    """Rules for rates of 0 under which its value can differ."""
    shown: Literal["first", "quoted", "further", "tables"] = "further"
    """How prominently the measure is shown:

    ``first``
        In the report's table "Measures" and in the terminal (``parivox show -v``).
    ``quoted``
        In the report's table "Measures".
    ``further``
        In the report's table "Further measures".
    ``tables``
        Only in output tables, such as ``meta.csv``.
    """

    def distance(self, values: FloatArray) -> FloatArray:
        """Return how far values are from fair, at least 0; of ratios the distance of logarithms."""
        if self.scale != "ratio":
            return super().distance(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.log(values) if self.is_higher_fairer else np.log(values)

    def value_at_distance(self, distances: FloatArray) -> FloatArray:
        """Return the values at such distances from fair."""
        if self.scale != "ratio":
            return super().value_at_distance(distances)
        with np.errstate(over="ignore"):
            return np.exp(-distances if self.is_higher_fairer else distances)

    def ratio_terms(self, values: FloatArray) -> FloatArray:
        """Return ratios as they are, and NaN for measures that are 0 if groups are alike."""
        return _ratios_or_nan(self, values)

    @property
    def is_joint(self) -> bool:
        """Whether the measure is of both rates at once."""
        return self.metric == BOTH

    def evaluate(self, *values: object, **more: object) -> MetaValue:
        """Return the measure's value; see `compute`."""
        # measures that the audit computes have no function, and no caller here
        assert self.compute is not None
        return self.compute(*values, **more)  # type: ignore[return-value]


def _ratios_or_nan(measure: Measure, values: FloatArray) -> FloatArray:
    return values if measure.scale == "ratio" else np.full(np.shape(values), np.nan)


# Filled by `parivox.core.measures` on import, and by `register`.
MEASURES: dict[str, Measure] = {}
"""Every measure by its id, in the order in which tables have them."""

_M = TypeVar("_M", bound=Measure)


def register(measure: _M) -> _M:
    """Add a measure, and return it; audits and reports then have it.

    Raises
    ------
    ConfigError
        If its id is taken.
    """
    if measure.id in MEASURES:
        msg = f"measure {measure.id!r} already exists"
        hint = "give it another id"
        raise ConfigError(msg, hint)
    MEASURES[measure.id] = measure
    return measure


def base_metrics() -> dict[str, BaseMetric]:
    """Return the base metrics by their ids."""
    return {name: measure for name, measure in MEASURES.items() if isinstance(measure, BaseMetric)}


def base_metric(name: str) -> BaseMetric:
    """Return a base metric; an id that is not registered is that of a user's own metric."""
    measure = MEASURES.get(name)
    if isinstance(measure, BaseMetric):
        return measure
    return BaseMetric(id=name, label=name, definition="a metric of your own", needs="counts")


def bias_measures() -> dict[str, BiasMeasure]:
    """Return the bias measures by their ids."""
    return {name: measure for name, measure in MEASURES.items() if isinstance(measure, BiasMeasure)}


def meta_measures() -> dict[str, MetaMeasure]:
    """Return the meta-measures by their ids."""
    return {name: measure for name, measure in MEASURES.items() if isinstance(measure, MetaMeasure)}
