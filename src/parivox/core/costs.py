"""Detection cost: cost models, cost along a curve, its minimum, and cost at Bayes thresholds.

``C(t) = c_miss P FNR(t) + c_fa (1 - P) FPR(t)`` with P the prior of target trials. The normalised
cost divides by the cost of the better blind decision, ``min(c_miss P, c_fa (1 - P))``
(docs/methods/costs.md#detection-cost). Lower is better. A model with several priors gives the
mean over its priors, each with its own threshold. A model with a prior of spoof trials is an
architecture-agnostic cost (a-DCF): it adds ``c_spoof p_spoof SFAR(t)``, and of what is neither
target nor spoof, nontarget trials have the prior that is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from parivox.core.counts import as_counts
from parivox.errors import ConfigError, name_hint
from parivox.numerals import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from parivox.core.counts import Counts, Curve, FloatArray, IntArray

# Weighted sums of products of trial numbers below this are exact in int64; larger ones are
# computed with floats.
_MAX_INT64_SUM = 2**62
_N_COST_NUMBERS, _N_SPOOF_COST_NUMBERS = 3, 6
_LOGARITHM_BY_BASE = {2: math.log2, math.e: math.log, 10: math.log10}
"""Exact where a cost ratio is a power of the base."""


class CostWeights(NamedTuple):
    """Weights of FNR, FPR and SFAR in a cost."""

    miss: Fraction
    false_accept: Fraction
    spoof_accept: Fraction

    @property
    def default(self) -> Fraction:
        """Cost of the better blind decision: reject all trials, or accept them."""
        return min(self.miss, self.false_accept + self.spoof_accept)

    def scaled(self, *, normalised: bool) -> CostWeights:
        """Return the same weights over the cost of the better blind decision, if asked for."""
        if not normalised:
            return self
        return CostWeights(*(weight / self.default for weight in self))


_MIN_WEIGHT = 1e-30
"""Least prior or cost, whose inverse is the largest cost: sums of weighted errors stay finite."""


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))


@dataclass(frozen=True)
class CostModel:
    """Priors of target and spoof trials, and the cost of each kind of error.

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
    p_spoof: float = 0.0
    """In [0, 1): 0 for a model without spoof trials."""
    c_spoof: float = 1.0

    def __post_init__(self) -> None:
        """Refuse priors and costs that no decision can have."""
        costs = (self.c_miss, self.c_fa, self.c_spoof, self.p_spoof)
        priors = self.p_target if isinstance(self.p_target, tuple) else (None,)
        if not isinstance(self.name, str) or not all(map(_is_number, (*costs, *priors))):
            msg = (
                f"CostModel({self.name!r}, {self.p_target!r}, {self.c_miss!r}, {self.c_fa!r}): "
                "give a name, a tuple of priors and two costs, for example CostModel('mine', "
                "(0.01,), 10)"
            )
            raise ConfigError(msg)
        if not self.p_target or not all(0 < p < 1 for p in self.p_target):
            msg = f"cost {self.name}: p_target is {', '.join(map(str, self.p_target)) or 'empty'}"
            hint = "give a number between 0 and 1"
            raise ConfigError(msg, hint)
        if min(*self.p_target, self.p_spoof or 1) < _MIN_WEIGHT:
            msg = f"cost {self.name}: a prior is below {_MIN_WEIGHT:g}"
            hint = f"give priors of at least {_MIN_WEIGHT:g}"
            raise ConfigError(msg, hint)
        if not all(
            _MIN_WEIGHT <= c <= 1 / _MIN_WEIGHT for c in (self.c_miss, self.c_fa, self.c_spoof)
        ):
            spoof_text = f" and c_spoof is {self.c_spoof}" if self.p_spoof else ""
            msg = f"cost {self.name}: c_miss is {self.c_miss} and c_fa is {self.c_fa}{spoof_text}"
            hint = f"give positive costs from {_MIN_WEIGHT:g} to {1 / _MIN_WEIGHT:g}"
            raise ConfigError(msg, hint)
        if not 0 <= self.p_spoof < 1 - max(self.p_target):
            msg = f"cost {self.name}: p_spoof is {self.p_spoof} and p_target {self.p_target}"
            hint = "make their sum less than 1: the rest is the prior of nontarget trials"
            raise ConfigError(msg, hint)

    @property
    def parts(self) -> tuple[CostModel, ...]:
        """One model per prior."""
        if len(self.p_target) == 1:
            return (self,)
        return tuple(
            replace(self, name=f"{self.name}:{p}", p_target=(p,), note="") for p in self.p_target
        )

    @property
    def has_spoof(self) -> bool:
        """Whether spoof accepts cost anything, so that spoof trials are needed."""
        return self.p_spoof > 0

    @cached_property
    def weights(self) -> CostWeights:
        """Exact weights of the error rates in the raw cost, from the numbers as written."""
        prior, spoof_prior = _exact_fraction(self._single_prior()), _exact_fraction(self.p_spoof)
        return CostWeights(
            miss=_exact_fraction(self.c_miss) * prior,
            false_accept=_exact_fraction(self.c_fa) * (1 - prior - spoof_prior),
            spoof_accept=_exact_fraction(self.c_spoof) * spoof_prior,
        )

    @property
    def c_default(self) -> float:
        """Cost of the better blind decision, the normaliser."""
        return float(self.weights.default)

    @property
    def beta(self) -> float:
        """Weight of FPR relative to FNR; the Bayes threshold is its logarithm."""
        return float(self.weights.false_accept / self.weights.miss)

    @property
    def effective_prior(self) -> float:
        """Prior of targets with the same decisions at equal costs, without spoof trials."""
        miss, false_accept = self.weights.miss, self.weights.false_accept
        return float(miss / (miss + false_accept))

    def _single_prior(self) -> float:
        """Return the prior of a model with one; ConfigError for several."""
        if len(self.p_target) > 1:
            msg = (
                f"cost {self.name} is a mean over priors {self.p_target} and has no single "
                "threshold"
            )
            hint = "give one prior, for example '0.05,1,1'"
            raise ConfigError(msg, hint)
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
    spoof_accepts: IntArray | None = None
    """Spoof accepts there; None for a model without spoof trials."""


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
        CostModel("adcf1", (0.9,), c_fa=10.0, p_spoof=0.05, c_spoof=20.0),
        CostModel("asvspoof5", (0.9405,), c_fa=10.0, p_spoof=0.05, c_spoof=10.0),
    )
}


def parse_cost(text: str) -> CostModel:
    """Return the cost model of a name of `COST_MODELS` or of its numbers.

    Three numbers are ``p_target,c_miss,c_fa``; six, with spoof trials, are
    ``p_target,p_nontarget,p_spoof,c_miss,c_fa,c_spoof``, of which the priors add up to 1.

    Raises
    ------
    ConfigError
        If the name is unknown, or the numbers are neither three nor six or out of range.

    Examples
    --------
    >>> parse_cost("sre08").c_miss, parse_cost("0.05,1,1").p_target
    (10.0, (0.05,))
    >>> parse_cost("0.9,0.05,0.05,1,10,20").weights == parse_cost("adcf1").weights
    True
    """
    if text in COST_MODELS:
        return COST_MODELS[text]
    try:
        numbers = [number_of(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == _N_COST_NUMBERS:
        p_target, c_miss, c_fa = numbers
        return CostModel(text, (p_target,), c_miss, c_fa)
    if len(numbers) == _N_SPOOF_COST_NUMBERS:
        p_target, p_nontarget, p_spoof, c_miss, c_fa, c_spoof = numbers
        if _exact_fraction(p_target) + _exact_fraction(p_nontarget) + _exact_fraction(p_spoof) != 1:
            msg = (
                f"cost {text!r}: the priors {p_target:g}, {p_nontarget:g} and {p_spoof:g} of "
                "target, nontarget and spoof trials do not add up to 1"
            )
            raise ConfigError(msg)
        return CostModel(text, (p_target,), c_miss, c_fa, p_spoof=p_spoof, c_spoof=c_spoof)
    msg = (
        f"cost {text!r} is neither a known name nor of the form p_target,c_miss,c_fa (with "
        "spoof trials: p_target,p_nontarget,p_spoof,c_miss,c_fa,c_spoof)"
    )
    hint = name_hint(text, COST_MODELS)
    raise ConfigError(msg, hint)


def parse_detection_cost(text: str) -> CostModel:
    """Return a cost model of target and nontarget trials alone, as `parse_cost` reads it.

    Raises
    ------
    ConfigError
        If it is none, or includes spoof trials.
    """
    cost = parse_cost(text)
    if cost.has_spoof:
        msg = f"cost {text!r} includes spoof trials, but there are only target and nontarget trials"
        hint = name_hint(text, detection_cost_names())
        raise ConfigError(msg, hint)
    return cost


def detection_cost_names() -> list[str]:
    """Return the names of the cost models of target and nontarget trials alone."""
    return [name for name, cost in COST_MODELS.items() if not cost.has_spoof]


def cdet(curve: Curve, cost: CostModel, *, normalised: bool = True) -> FloatArray:
    """Return the detection cost at every threshold of a curve.

    Of shape (..., threshold), at least 0, lower is better; normalised, that is divided by the cost
    of the better blind decision, values above 1 are worse than that. NaN without targets,
    nontargets or, where they cost anything, spoof trials.

    Examples
    --------
    >>> from parivox.core.counts import as_counts
    >>> curve = as_counts([0.9, 0.4, 0.5, 0.1], [1, 1, 0, 0]).at([0.9, 0.4])
    >>> cdet(curve, parse_cost("0.5,1,1")).tolist()
    [0.5, 0.5]
    """
    weights = rate_weights(cost, normalised=normalised)
    detection_cost = weights.miss * curve.fnr + weights.false_accept * curve.fpr
    if cost.has_spoof:
        detection_cost = detection_cost + weights.spoof_accept * curve.sfar
    return detection_cost


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
        Lower is better; NaN without targets, nontargets or, where they cost anything, spoof trials.

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
        msg = "no partitions are given"
        hint = "give at least one: an equalised cost is an average over partitions"
        raise ConfigError(msg, hint)
    if cost.has_spoof:
        msg = f"cost {cost.name} includes spoof trials, whose equalised cost is not defined"
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
        (scale.miss * fnr + scale.false_accept * fpr).min(axis=-1) for scale in weights
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
        If the model has several priors, or spoof trials: their log-likelihood ratio would be that
        against a mixture of nontarget and spoof trials weighted by cost.

    Examples
    --------
    >>> round(bayes_threshold(parse_cost("voxsrc")), 6)
    2.944439
    """
    if cost.has_spoof:
        msg = (
            f"cost {cost.name} includes spoof trials, for which log-likelihood ratios of target "
            "and nontarget trials have no Bayes threshold"
        )
        hint = "use the minimum cost instead"
        raise ConfigError(msg, hint)
    if base in _LOGARITHM_BY_BASE:
        return _LOGARITHM_BY_BASE[base](cost.beta)
    return math.log(cost.beta) / math.log(base)


def _single_prior_minimum(curve: Curve, cost: CostModel, *, normalised: bool) -> MinCost:
    """Return the smallest cost of a model with one prior."""
    errors, n_trials = [curve.fn, curve.fp], [curve.n_target, curve.n_nontarget]
    weights = [cost.weights.miss, cost.weights.false_accept]
    if cost.has_spoof:
        no_spoof = np.zeros_like(curve.fp), np.zeros_like(curve.n_nontarget)
        errors.append(no_spoof[0] if curve.spoof_accepts is None else curve.spoof_accepts)
        n_trials.append(no_spoof[1] if curve.n_spoof is None else curve.n_spoof)
        weights.append(cost.weights.spoof_accept)
    # the first minimum, so the largest threshold
    cheapest = np.argmin(_cost_units(errors, n_trials, weights), axis=-1)
    is_defined = np.logical_and.reduce([trials > 0 for trials in n_trials])
    errors_at_minimum = [
        np.take_along_axis(class_errors, cheapest[..., None], axis=-1)[..., 0]
        for class_errors in errors
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = [
            class_errors / trials
            for class_errors, trials in zip(errors_at_minimum, n_trials, strict=True)
        ]

    def weighted(weights: RateWeights) -> FloatArray:
        total = weights.miss * rates[0] + weights.false_accept * rates[1]
        if cost.has_spoof:
            total = total + weights.spoof_accept * rates[2]
        return np.where(is_defined, total, np.nan)[()]

    fn, fp, *spoof_accepts = (
        np.where(is_defined, class_errors, -1)[()] for class_errors in errors_at_minimum
    )
    return MinCost(
        value=weighted(rate_weights(cost, normalised=normalised)),
        threshold=np.where(is_defined, curve.thresholds[cheapest], np.nan)[()],
        fp=fp,
        fn=fn,
        raw=weighted(rate_weights(cost, normalised=False)),
        spoof_accepts=spoof_accepts[0] if spoof_accepts else None,
    )


def _cost_units(
    errors: list[IntArray], n_trials: list[IntArray], weights: list[Fraction]
) -> IntArray | FloatArray:
    """Return the cost at each threshold times the trials of every class, ``[..., threshold]``.

    It is exact where it fits 64 bits: the unit is the largest in which all weights are whole
    numbers.
    """
    scale = math.lcm(*(weight.denominator for weight in weights))
    units = [int(weight * scale) for weight in weights]
    common_units = math.gcd(*units)
    units = [class_units // common_units for class_units in units]
    largest = math.prod(int(trials.max(initial=0)) for trials in n_trials)
    is_exact = sum(units) * largest < _MAX_INT64_SUM

    def weighted(label: int) -> IntArray | FloatArray:
        # of one error: its weight, and the trials of the other classes
        factor: Any = units[label] if is_exact else units[label] / units[0]
        for j, trials in enumerate(n_trials):
            if j != label:
                factor = factor * trials
        return np.asarray(errors[label] * np.asarray(factor)[..., None])

    total = weighted(0)
    for label in range(1, len(errors)):
        total += weighted(label)
    return total


class RateWeights(NamedTuple):
    """Weights of FNR, FPR and SFAR as floats."""

    miss: float
    false_accept: float
    spoof_accept: float


@cache
def rate_weights(cost: CostModel, *, normalised: bool) -> RateWeights:
    """Return the weights of the error rates, averaged over the priors before rounding to floats."""
    weights = [part.weights.scaled(normalised=normalised) for part in cost.parts]
    means = (sum(column, Fraction(0)) / len(weights) for column in zip(*weights, strict=True))
    return RateWeights(*map(float, means))


def _exact_fraction(number: float) -> Fraction:
    """Return a number as a person wrote it: 0.05 means 1/20, not its binary neighbour."""
    return Fraction(repr(float(number)))
