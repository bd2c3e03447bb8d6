"""Detection cost: cost models, cost along a curve, its minimum, and cost at Bayes thresholds.

``C(t) = c_miss P FNR(t) + c_fa (1 - P) FPR(t)`` with P the prior of target trials. The normalised
cost divides by the cost of the better blind decision, ``min(c_miss P, c_fa (1 - P))``
(docs/methods/costs.md#detection-cost). Lower is better. A model with several priors gives the
mean over its priors, each with its own threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from numbers import Real
from typing import TYPE_CHECKING, overload

import numpy as np

from parivox.core.counts import as_counts
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from parivox.core.counts import Counts, Curve, FloatArray, IntArray

# Weighted sums of products of trial numbers below this are exact in int64; larger ones are
# computed with floats.
_MAX_INT64_SUM = 2**62
_LOGARITHM_BY_BASE = {2: math.log2, math.e: math.log, 10: math.log10}
"""Exact where a cost ratio is a power of the base."""


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))


@dataclass(frozen=True)
class CostModel:
    """Prior of targets, and cost of a missed target and of a false accept.

    Examples
    --------
    >>> cost = CostModel("mine", (0.01,), c_miss=10)
    >>> cost.c_default, round(cost.beta, 9)
    (0.1, 9.9)
    """

    name: str
    """What tables print."""
    p_target: tuple[float, ...]
    """In (0, 1): one prior, or several to take the mean over."""
    c_miss: float = 1.0
    c_fa: float = 1.0
    note: str = field(default="", compare=False)
    """What a reader should know before relying on the model; empty for most."""

    def __post_init__(self) -> None:
        """Refuse priors and costs that no decision can have."""
        costs = (self.c_miss, self.c_fa)
        priors = self.p_target if isinstance(self.p_target, tuple) else (None,)
        if not isinstance(self.name, str) or not all(map(_is_number, (*costs, *priors))):
            msg = (
                f"CostModel({self.name!r}, {self.p_target!r}, {self.c_miss!r}, {self.c_fa!r}): "
                "give a name, a tuple of priors and two costs, as in CostModel('mine', (0.01,), 10)"
            )
            raise ConfigError(msg)
        if not self.p_target or not all(0 < p < 1 for p in self.p_target):
            msg = f"cost {self.name}: p_target is {self.p_target}; it must lie between 0 and 1"
            raise ConfigError(msg)
        if not all(0 < c < math.inf for c in (self.c_miss, self.c_fa)):
            msg = (
                f"cost {self.name}: c_miss is {self.c_miss} and c_fa is {self.c_fa}; both must "
                "be positive numbers"
            )
            raise ConfigError(msg)

    @property
    def parts(self) -> tuple[CostModel, ...]:
        """One model per prior."""
        if len(self.p_target) == 1:
            return (self,)
        return tuple(
            CostModel(f"{self.name}:{p}", (p,), self.c_miss, self.c_fa) for p in self.p_target
        )

    @cached_property
    def weights(self) -> tuple[Fraction, Fraction]:
        """Exact weights of FNR and FPR in the raw cost, from the numbers as written."""
        prior = _exact_fraction(self._single_prior())
        return _exact_fraction(self.c_miss) * prior, _exact_fraction(self.c_fa) * (1 - prior)

    @property
    def c_default(self) -> float:
        """Cost of the better blind decision, the normaliser."""
        return float(min(self.weights))

    @property
    def beta(self) -> float:
        """Weight of FPR relative to FNR; the Bayes threshold is its logarithm."""
        miss, false_accept = self.weights
        return float(false_accept / miss)

    @property
    def effective_prior(self) -> float:
        """Prior with the same decisions at equal costs."""
        miss, false_accept = self.weights
        return float(miss / (miss + false_accept))

    def _single_prior(self) -> float:
        """Return the prior of a model with one; ConfigError for several."""
        if len(self.p_target) > 1:
            msg = (
                f"cost {self.name} is a mean over priors {self.p_target} and has no single "
                "threshold; name one prior, as in '0.05,1,1'"
            )
            raise ConfigError(msg)
        return self.p_target[0]


@dataclass(frozen=True, eq=False)
class MinCost:
    """The smallest cost of a curve and where it is attained, of shape (...)."""

    value: FloatArray
    """NaN without targets or nontargets."""
    threshold: FloatArray
    """The largest threshold that attains it; NaN for a model with several priors."""
    fp: IntArray
    """False accepts there; -1 where the threshold is NaN."""
    fn: IntArray
    """False rejects there; -1 where the threshold is NaN."""
    raw: FloatArray
    """The same cost, not normalised."""


_PARTITIONS_NOTE = (
    "the evaluation averages rates over partitions of its trials; here they are pooled"
)
_KNOWN_SPEAKERS_NOTE = (
    "the evaluation averages FPR over known and unknown nontarget speakers; here pooled"
)
_UNCONFIRMED_NOTE = "unconfirmed: taken from secondary sources"

COST_MODELS: dict[str, CostModel] = {
    model.name: model
    for model in (
        CostModel("voxsrc", (0.05,)),
        CostModel("sre08", (0.01,), c_miss=10.0),
        CostModel("sre10_core", (0.001,)),
        CostModel("sre12", (0.01, 0.001), note=_KNOWN_SPEAKERS_NOTE),
        CostModel("sre16", (0.01, 0.005), note=_PARTITIONS_NOTE),
        CostModel("sre18_cmn2", (0.01, 0.005), note=_PARTITIONS_NOTE),
        CostModel("sre18_vast", (0.05,)),
        CostModel("sre19_cts", (0.01, 0.005), note=_PARTITIONS_NOTE),
        CostModel("sre19_mm", (0.05,)),
        CostModel("cts2020", (0.05,)),
        CostModel("sre21", (0.01, 0.05), note=_PARTITIONS_NOTE),
        CostModel("sre24", (0.01, 0.05), note=_UNCONFIRMED_NOTE),
        CostModel("sitw16", (0.01,)),
        CostModel("ffsvc20", (0.01,)),
    )
}


def parse_cost(text: str) -> CostModel:
    """Return the cost model of a name of `COST_MODELS` or from ``p_target,c_miss,c_fa``.

    Raises
    ------
    ConfigError
        If the name is unknown, or the numbers are not three or out of range.

    Examples
    --------
    >>> parse_cost("sre08").c_miss, parse_cost("0.05,1,1").p_target
    (10.0, (0.05,))
    """
    if text in COST_MODELS:
        return COST_MODELS[text]
    try:
        p_target, c_miss, c_fa = (float(number) for number in text.split(","))
    except ValueError:
        msg = (
            f"cost {text!r} is neither a known name nor 'p_target,c_miss,c_fa'; "
            f"{name_hint(text, COST_MODELS)}"
        )
        raise ConfigError(msg) from None
    return CostModel(text, (p_target,), c_miss, c_fa)


def cdet(curve: Curve, cost: CostModel, *, normalised: bool = True) -> FloatArray:
    """Return the detection cost at every threshold of a curve.

    Of shape (..., threshold), at least 0, lower is better; normalised, that is divided by the cost
    of the better blind decision, values above 1 are worse than that. NaN without targets or
    nontargets.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> curve = as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).at([0.9, 0.4])
    >>> cdet(curve, parse_cost("0.5,1,1")).tolist()
    [0.5, 0.5]
    """
    miss, false_accept = rate_weights(cost, normalised=normalised)
    return miss * curve.fnr + false_accept * curve.fpr


def min_cdet(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    cost: CostModel,
    normalised: bool = True,
) -> MinCost:
    """Return the smallest detection cost over all thresholds, +inf and lowest score included.

    See docs/methods/costs.md#minimum-cost.

    Costs are compared as integers; among equal ones the largest threshold (fewest false
    accepts) is reported.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
    labels : array_like of shape (trial,), optional
        Needed unless `scores` is a Counts.
    cost : CostModel
        With several priors: the mean of their minima, without a threshold.
    normalised : bool
        Divide by the cost of the better blind decision; then the value is in [0, 1].

    Returns
    -------
    MinCost
        Lower is better; NaN without targets or nontargets.

    Examples
    --------
    >>> best = min_cdet([2.0, 1.0, 1.5, 0.0], [1, 1, 0, 0], cost=parse_cost("0.5,1,1"))
    >>> float(best.value), float(best.threshold), int(best.fp), int(best.fn)
    (0.5, 2.0, 0, 1)
    """
    counts = as_counts(scores, labels)
    minima = [
        _single_prior_minimum(counts.curve, single_prior_model, normalised=normalised)
        for single_prior_model in cost.parts
    ]
    if len(minima) == 1:
        return minima[0]
    # each prior has a threshold of its own, so that there is none of the mean
    mean_cost = np.mean([minimum.value for minimum in minima], axis=0)
    no_count = np.full_like(minima[0].fp, -1)[()]
    return MinCost(
        value=mean_cost,
        threshold=np.full_like(mean_cost, np.nan)[()],
        fp=no_count,
        fn=no_count,
        raw=np.mean([minimum.raw for minimum in minima], axis=0),
    )


def equalised_min_cdet(partitions: Iterable[Counts], *, cost: CostModel) -> FloatArray:
    """Return the smallest normalised cost at one threshold for all partitions, equally weighted.

    Rates are averaged over partitions (groups, languages, conditions) before the minimum is sought,
    as NIST does since SRE16 (docs/methods/costs.md#equalised-minimum-cost); a partition without
    targets, or nontargets, counts for the other rate alone. At most 1, lower is better; at least
    the mean of the partitions' own minima, where all have both.

    Parameters
    ----------
    partitions : iterable of Counts of shape (...)
        Such as the groups of `parivox.group_counts`, without ``pooled``.
    cost : CostModel
        With several priors: the mean of their minima, each at its own threshold.

    Returns
    -------
    float64 of shape (...)
        NaN where no partition has targets, or none has nontargets.

    Raises
    ------
    ConfigError
        Without partitions.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> parts = [as_counts(scores, [1, 1, 0, 0]) for scores in ([3, 3, 1, 1], [2, 2, 1, 1])]
    >>> float(equalised_min_cdet(parts, cost=parse_cost("0.5,1,1")))
    0.0
    """
    partition_counts = list(partitions)
    if not partition_counts:
        msg = "no partitions are given; an equalised cost is an average over one or more"
        raise ConfigError(msg)
    scores = np.unique(np.concatenate([counts.values for counts in partition_counts]))
    thresholds = np.append(np.inf, scores[::-1])
    curves = [counts.at(thresholds) for counts in partition_counts]
    fnr = _mean_of_defined([curve.fnr for curve in curves])
    fpr = _mean_of_defined([curve.fpr for curve in curves])
    weights = [
        rate_weights(single_prior_model, normalised=True) for single_prior_model in cost.parts
    ]
    minima: list[FloatArray] = [
        (miss * fnr + false_accept * fpr).min(axis=-1) for miss, false_accept in weights
    ]
    return np.asarray(np.mean(minima, axis=0))[()]


def _mean_of_defined(rates: list[FloatArray]) -> FloatArray:
    """Return the mean of rates, without those that are NaN; NaN where all are."""
    stacked = np.array(rates)
    n_defined = np.isfinite(stacked).sum(axis=0)
    mean: FloatArray = np.nansum(stacked, axis=0) / np.where(n_defined, n_defined, np.nan)
    return mean


@overload
def act_cdet(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    cost: CostModel,
    normalised: bool = ...,
    base: float = ...,
) -> np.float64: ...


@overload
def act_cdet(
    scores: Counts,
    labels: None = None,
    *,
    cost: CostModel,
    normalised: bool = ...,
    base: float = ...,
) -> FloatArray: ...


def act_cdet(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    cost: CostModel,
    normalised: bool = True,
    base: float = math.e,
) -> FloatArray | np.float64:
    """Return the detection cost at the Bayes threshold of scores that are log-likelihood ratios.

    `base` is that of the logarithms. At least the minimum cost; lower is better. NaN without
    targets or nontargets. With several priors: the mean over them, each at its own threshold. Other
    arguments are as in `min_cdet`.

    Examples
    --------
    >>> float(act_cdet([4.0, 1.0, -1.0, -3.0], [1, 1, 0, 0], cost=parse_cost("0.05,1,1")))
    0.5
    """
    counts = as_counts(scores, labels)
    actual: list[FloatArray] = []
    for single_prior_model in cost.parts:
        curve = counts.at(bayes_threshold(single_prior_model, base))
        actual.append(cdet(curve, single_prior_model, normalised=normalised)[..., 0])
    return np.asarray(np.mean(actual, axis=0))[()]


def bayes_threshold(cost: CostModel, base: float = math.e) -> float:
    """Return the log-likelihood ratio, to this base, above which accepting costs less on average.

    See docs/methods/costs.md#bayes-threshold.

    Raises
    ------
    ConfigError
        If the model has several priors.

    Examples
    --------
    >>> round(bayes_threshold(parse_cost("voxsrc")), 6)
    2.944439
    """
    if base in _LOGARITHM_BY_BASE:
        return _LOGARITHM_BY_BASE[base](cost.beta)
    return math.log(cost.beta) / math.log(base)


def _single_prior_minimum(curve: Curve, cost: CostModel, *, normalised: bool) -> MinCost:
    """Return the smallest cost of a model with one prior."""
    targets, nontargets = curve.n_target, curve.n_nontarget
    # cost * targets * nontargets in the smallest unit that makes both weights whole numbers
    miss, false_accept = cost.weights
    scale = math.lcm(miss.denominator, false_accept.denominator)
    miss_units, false_units = int(miss * scale), int(false_accept * scale)
    common = math.gcd(miss_units, false_units)
    miss_units, false_units = miss_units // common, false_units // common
    max_product = int(targets.max(initial=0)) * int(nontargets.max(initial=0))
    per_miss: IntArray | FloatArray = nontargets.astype(np.float64)
    per_false: IntArray | FloatArray = targets.astype(np.float64) * (false_units / miss_units)
    if (miss_units + false_units) * max_product < _MAX_INT64_SUM:
        per_miss, per_false = nontargets * miss_units, targets * false_units
    total = curve.fn * np.asarray(per_miss)[..., None]
    total += curve.fp * np.asarray(per_false)[..., None]
    # the first minimum, so the largest threshold
    cheapest = np.argmin(total, axis=-1)
    fp = np.take_along_axis(curve.fp, cheapest[..., None], axis=-1)[..., 0]
    fn = np.take_along_axis(curve.fn, cheapest[..., None], axis=-1)[..., 0]
    defined = (targets > 0) & (nontargets > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        fnr, fpr = fn / targets, fp / nontargets
    miss_weight, false_accept_weight = rate_weights(cost, normalised=normalised)
    min_cost = miss_weight * fnr + false_accept_weight * fpr
    raw_miss_weight, raw_false_accept_weight = rate_weights(cost, normalised=False)
    raw = raw_miss_weight * fnr + raw_false_accept_weight * fpr
    return MinCost(
        value=np.where(defined, min_cost, np.nan)[()],
        threshold=np.where(defined, curve.thresholds[cheapest], np.nan)[()],
        fp=np.where(defined, fp, -1)[()],
        fn=np.where(defined, fn, -1)[()],
        raw=np.where(defined, raw, np.nan)[()],
    )


@cache
def rate_weights(cost: CostModel, *, normalised: bool) -> tuple[float, float]:
    """Return the weights of FNR and FPR, averaged over the priors before rounding to floats."""
    miss = false_accept = Fraction(0)
    for single_prior_model in cost.parts:
        miss_weight, false_accept_weight = single_prior_model.weights
        scale = min(miss_weight, false_accept_weight) if normalised else 1
        miss += miss_weight / scale
        false_accept += false_accept_weight / scale
    return float(miss / len(cost.parts)), float(false_accept / len(cost.parts))


def _exact_fraction(number: float) -> Fraction:
    """Return a number as a person wrote it: 0.05 means 1/20, not its binary neighbour."""
    return Fraction(repr(float(number)))
