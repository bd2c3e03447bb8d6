"""Operating points: the rules a user writes, and the thresholds that they give on trials.

See docs/methods/rates.md#operating-points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.outcomes import NO_OUTCOMES
from parivox.core.costs import (
    COST_MODELS,
    bayes_threshold,
    cdet,
    min_cdet,
    parse_cost,
)
from parivox.core.measures import ALL_RATES, IDENTIFICATION_RATES, RATES
from parivox.core.rates import (
    threshold_at_eer,
    threshold_at_fnr,
    threshold_at_fpr,
    threshold_at_sfar,
)
from parivox.errors import ConfigError
from parivox.facts import fact
from parivox.frozen import frozen
from parivox.numerals import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.outcomes import Outcomes
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray

_RATE_THRESHOLDS = {
    "fpr": threshold_at_fpr,
    "fnr": threshold_at_fnr,
    "sfar": threshold_at_sfar,
}
MIN_ADCF = "min-adcf"
"""Operating point of the smallest cost of a model with spoof trials."""
DEPLOYED = "deployed"
SAME_TRIALS = "these trials"
"""The source of a threshold that was set on the audited trials themselves."""
DEVELOPMENT_TRIALS = "development trials"
"""The source of a threshold that was set on other trials."""
NO_SCORES = "decisions_without_scores"
NO_TRIALS = {
    "fpr": "no_nontarget_trials",
    "fnr": "no_target_trials",
    "sfar": "no_spoof_trials",
    "fnir": "no_mated_searches",
    "fpir": "no_nonmated_searches",
}
"""Why a rate is undefined: the class of trials that it is a share of is empty."""
_MAX_SWEEP_POINTS = 1000
MIN_EXPECTED_ERRORS = 30
"""Expected errors below which the default audit leaves an operating point out.

See docs/uncertainty.md#sample-size-minimums.
"""


@dataclass(frozen=True)
class LocatedPoint:
    """The threshold of an operating point on one system's trials, and the rates it has there."""

    point: OperatingPoint
    threshold: float  # NaN where it cannot be found; the reason then says why
    fpr: float
    fnr: float
    cdet_norm: float
    reason: str
    sfar: float = math.nan


@dataclass(frozen=True)
class OperatingPoint:
    """One rule for one threshold, common to all groups of a system and list."""

    text: str  # as the user wrote it; names the point in every table
    rule: str  # "threshold", "fpr", "fnr", "eer", "min-cdet", "bayes" or "deployed"
    rule_value: float = math.nan  # the threshold or the target rate; NaN for the other rules
    cost: CostModel | None = None  # the cost model of min-cdet and bayes
    log_base: float = math.e  # of the log-likelihood ratios that bayes reads scores as

    @property
    def definition(self) -> str:
        """Return the name of the cost model, or of the rule of rounding of a target rate."""
        if self.cost is not None:
            return self.cost.name
        return "conservative" if self.rule in ALL_RATES else ""

    def threshold_or_reason(self, counts: Counts, *, no_curve: str = "") -> tuple[float, str]:
        """Return the threshold on these trials; NaN with a reason where it cannot be found.

        The threshold of ``deployed`` is NaN without a reason: each trial may have its own.
        """
        if self.rule == DEPLOYED:
            return math.nan, ""
        is_given = self.rule in {"threshold", "bayes"} and no_curve != NO_SCORES
        reason = self._unresolvable_reason(counts) if is_given or not no_curve else no_curve
        return (math.nan, reason) if reason else (float(self.threshold(counts)), "")

    @property
    def given_threshold(self) -> float | None:
        """The threshold of a rule that does not depend on trials, else None."""
        if self.rule == "threshold":
            return self.rule_value
        if self.rule == "bayes":
            assert self.cost is not None
            return bayes_threshold(self.cost, self.log_base)
        return None

    def threshold(self, counts: Counts) -> FloatArray | float:
        """Return the threshold on trials that have one, ``[...]``."""
        if self.given_threshold is not None:
            return self.given_threshold
        if self.rule in _RATE_THRESHOLDS:
            return _RATE_THRESHOLDS[self.rule](counts.curve, self.rule_value)
        if self.rule == "eer":
            return threshold_at_eer(counts.curve)
        assert self.cost is not None
        min_cost_threshold: FloatArray = min_cdet(counts, cost=self.cost).threshold
        return min_cost_threshold

    def certain_outcome_reason(self, counts: Counts, threshold: float) -> str:
        """Return why an infinite threshold is none of this rule; empty if it is one.

        Trials that score minus infinity are rejected at every threshold (a countermeasure rejects
        them, or a search does not return the person), and those of plus infinity are accepted.
        """
        if not np.isinf(threshold):
            return ""
        end = 0 if threshold < 0 else -1
        is_certain = counts.values.size > 0 and counts.values[end] == threshold
        if not is_certain or not any(trials[end] for trials in counts.by_class):
            return ""
        if threshold < 0:
            return "too_many_certain_rejects"
        errors = counts.at([threshold])
        is_missed = False
        if self.rule in _RATE_THRESHOLDS:
            is_missed = float(getattr(errors, self.rule)[0]) > self.rule_value
        elif self.rule == "min-cdet":
            assert self.cost is not None
            lowest_cost = min_cdet(counts, cost=self.cost).value
            is_missed = float(cdet(errors, self.cost)[0]) > float(lowest_cost)
        return "too_many_certain_accepts" if is_missed else ""

    def _unresolvable_reason(self, counts: Counts) -> str:
        """Return why too few trials can show the target rate; empty where they can."""
        if self.rule in {"threshold", "bayes"}:
            return ""
        n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
        n_spoof = int(counts.n_spoof)
        needs_spoof = self.rule == "sfar" or (self.cost is not None and self.cost.has_spoof)
        if needs_spoof and not n_spoof:
            return NO_TRIALS["sfar"]
        n_trials = {"fpr": n_nontarget, "fnr": n_target, "sfar": n_spoof}.get(self.rule)
        if not n_trials:
            return missing_class_reason(n_target, n_nontarget)
        if self.rule_value * n_trials >= 1:
            return ""
        return fact("target_rate_too_low", operating_point=self.text, trials=n_trials)


@frozen
class OperatingPoints:
    """The operating points of one system, and which thresholds are set anew in each replicate."""

    located: Sequence[LocatedPoint]
    """Those of the tables."""
    min_cost_points: Sequence[LocatedPoint]
    """Where each cost is smallest over all trials, for subgroup bias."""
    area_points: Sequence[LocatedPoint]
    """The grid that the area under FDR is taken over."""
    are_thresholds_fixed: bool
    """Thresholds are the same in all replicates: set on other trials, or fixed by the user."""
    lack_test_speakers: bool = False
    """Test speakers of nontarget trials are unknown, so that replicates cannot set thresholds."""
    rates: Sequence[str] = RATES
    """Error rates that the trials have."""
    spoof_share: float = 0.0
    """Share of spoof trials among all trials to be rejected, to four digits."""

    @property
    def score_points(self) -> list[LocatedPoint]:
        """Return the points of the tables that have one threshold for all scores."""
        return [located for located in self.located if located.point.rule != DEPLOYED]

    @cached_property
    def all_score_points(self) -> list[LocatedPoint]:
        """Return all points with one threshold for all scores, those of smallest cost last."""
        return self.score_points + list(self.min_cost_points)

    @cached_property
    def deployed_index(self) -> int | None:
        """Return the index of ``deployed`` among the points, None without it."""
        rules = [located.point.rule for located in self.located]
        return rules.index(DEPLOYED) if DEPLOYED in rules else None

    @property
    def fixed_thresholds(self) -> list[float]:
        """Return the thresholds that may be the same in every replicate."""
        thresholds = [located.threshold for located in self.all_score_points]
        if self.are_thresholds_fixed or self.lack_test_speakers:
            thresholds += [located.threshold for located in self.area_points]
        return thresholds

    def thresholds(self, all_trials: Counts, points: Sequence[LocatedPoint]) -> FloatArray:
        """Return the threshold of each point, ``[replicate, point]``, NaN where there is none.

        Each replicate of `all_trials` sets it anew, unless it was given or set on other trials, or
        some test speakers are unknown.
        """
        drawn_thresholds = np.empty((all_trials.target.shape[0], len(points)))
        fpr_indices = []
        for i, located in enumerate(points):
            is_set_anew = self._varies_by_draw(located) and not self.lack_test_speakers
            if is_set_anew and located.point.rule == "fpr":
                fpr_indices.append(i)
            else:
                drawn_thresholds[:, i] = (
                    located.point.threshold(all_trials) if is_set_anew else located.threshold
                )
        if fpr_indices:  # in one call, as the area under FDR is taken over a hundred points
            fpr_targets = [points[i].point.rule_value for i in fpr_indices]
            drawn_thresholds[:, fpr_indices] = threshold_at_fpr(all_trials.curve, fpr_targets)
        return drawn_thresholds

    def moves_with_threshold(self, rate: str) -> NDArray[np.bool_]:
        """Return at which points a rate of all trials moves with the threshold, ``[point]``.

        A threshold set on these trials varies with them, but the rate that it was set by does not.
        """
        return np.array(
            [
                self._varies_by_draw(located) and located.point.rule != rate
                for located in self.located
            ],
            dtype=bool,
        )

    def _varies_by_draw(self, located: LocatedPoint) -> bool:
        """Return whether the threshold was set on these trials, so that each draw has its own."""
        is_given = located.point.rule in {"threshold", "bayes", DEPLOYED}
        return not (self.are_thresholds_fixed or located.reason or is_given)

    def target_rates(self, rate: str) -> list[float]:
        """Return the target rates at which the other rate is reported; 1 % without any."""
        return [
            located.point.rule_value for located in self.located if located.point.rule == rate
        ] or [0.01]


def locate_points(
    points: Sequence[OperatingPoint],
    all_trials: Counts,
    cost: CostModel,
    *,
    development: Counts | None = None,
    no_curve: str = "",
    deployed: Outcomes = NO_OUTCOMES,
) -> list[LocatedPoint]:
    """Return each point with its threshold, and with the rates and cost it has on all trials.

    Parameters
    ----------
    all_trials
        All scored trials of the system, whose rates are reported.
    cost
        The cost model of the cost reported at each point.
    development
        Trials of a development list to set the thresholds on instead.
    no_curve
        Why no threshold can be found on the trials; empty if one can.
    deployed
        The decisions on all trials, for the point ``deployed``.
    """
    threshold_trials = all_trials if development is None else development
    no_threshold_reason = no_curve if development is None or no_curve == NO_SCORES else ""
    located = []
    for point in points:
        if point.rule == DEPLOYED and deployed.deployed_counts is not None:
            decision_thresholds = list(deployed.deployed_thresholds or ())
            threshold = decision_thresholds[0] if len(decision_thresholds) == 1 else math.nan
            # decisions are scores of 1 and 0: those of at least 1 are accepted
            counts, accepted, reason = deployed.deployed_counts, 1.0, ""
        else:
            threshold, reason = point.threshold_or_reason(
                threshold_trials, no_curve=no_threshold_reason
            )
            if not no_threshold_reason:
                reason = reason or point.certain_outcome_reason(threshold_trials, threshold)
            threshold = math.nan if reason else threshold
            counts, accepted = all_trials, threshold
        fpr = fnr = sfar = cost_at_threshold = math.nan
        if not reason:
            errors = counts.at([accepted])
            fpr, fnr = float(errors.fpr[0]), float(errors.fnr[0])
            sfar, cost_at_threshold = float(errors.sfar[0]), float(cdet(errors, cost)[0])
        located.append(LocatedPoint(point, threshold, fpr, fnr, cost_at_threshold, reason, sfar))
    return located


def is_far_from_target(target_rate: float, rate: float) -> bool:
    """Return whether a rate is off its target more than twofold, as odds.

    Examples
    --------
    >>> [is_far_from_target(*rates) for rates in ((0.01, 0.018), (0.01, 0.03), (0.6, 1.0))]
    [False, True, True]
    """
    rate_odds, target_odds = rate * (1 - target_rate), target_rate * (1 - rate)
    return max(rate_odds, target_odds) > 2 * min(rate_odds, target_odds)


def missed_targets(
    located_points: Sequence[LocatedPoint], all_trials: Counts
) -> list[dict[str, Any]]:
    """Return each point whose rate is far from the one that it is named by, with its rate.

    Far is more than twofold, as odds, and by more trials than three standard errors of a count of
    single trials, and one trial: what chance or the steps of a rate explain is no miss.
    """
    missed = []
    for located in located_points:
        rule, target_rate = located.point.rule, located.point.rule_value
        if located.reason or rule not in ALL_RATES:
            continue
        rate = getattr(located, rule)
        n_trials = int(all_trials.n_by_class[ALL_RATES.index(rule)])
        max_chance_errors = 3 * math.sqrt(n_trials * target_rate * (1 - target_rate)) + 1
        excess_errors = abs(rate - target_rate) * n_trials
        is_far = is_far_from_target(target_rate, rate) and excess_errors > max_chance_errors
        if n_trials and is_far:
            missed.append({"operating_point": located.point.text, "rate": float(rate)})
    return missed


def missing_class_reason(n_target: int, n_nontarget: int) -> str:
    """Return which class of trials is missing; empty if neither is."""
    if n_target and n_nontarget:
        return ""
    if n_target:
        return NO_TRIALS["fpr"]
    return NO_TRIALS["fnr"] if n_nontarget else "no_trials"


def parse_point(
    text: str, costs: Sequence[CostModel], *, llr: bool = False, log_base: float = math.e
) -> OperatingPoint:
    """Read one operating point as a user writes it.

    It is ``threshold=x``, ``fpr=x``, ``fnr=x``, ``sfar=x``, ``eer``, ``min-cdet``,
    ``min-cdet:NAME``, ``min-adcf``, ``min-adcf:NAME``, ``bayes``, ``bayes:NAME`` or ``deployed``.
    The first of the cost models is the one that ``min-cdet`` alone means; `llr` says that scores
    are declared to be log-likelihood ratios, to the base `log_base`.

    Raises
    ------
    ConfigError
        If the point is none of these, or out of range.

    Examples
    --------
    >>> parse_point("fpr=0.01", []).rule_value
    0.01
    """
    head, equals, number = text.strip().partition("=")
    head = head.lower()
    if equals and head in IDENTIFICATION_RATES:
        rate = IDENTIFICATION_RATES[head]
        return OperatingPoint(text.strip(), rate, _rule_value(text, head, number))
    if equals and head in {"threshold", *ALL_RATES}:
        return OperatingPoint(text.strip(), head, _rule_value(text, head, number))
    name, colon, cost_name = text.strip().partition(":")
    name = name.lower()
    if name in {"eer", DEPLOYED} and not colon:
        return OperatingPoint(text.strip(), name)
    if name == MIN_ADCF:
        cost = parse_cost(cost_name) if cost_name else _first_with_spoof(costs)
        if not cost.has_spoof:
            msg = f"operating point {text!r}: cost model {cost.name} does not include spoof trials"
            hint = "use min-cdet, or a model that includes spoof trials, for example min-adcf:adcf1"
            raise ConfigError(msg, hint)
        return OperatingPoint(text.strip(), "min-cdet", cost=cost)
    if name in {"min-cdet", "bayes"}:
        cost = parse_cost(cost_name) if cost_name else costs[0]
        if len(cost.p_target) > 1:
            msg = (
                f"operating point {text!r}: cost model {cost.name} averages over several priors "
                "and has no single best threshold"
            )
            hint = f"name a model with one prior, for example {name}:voxsrc"
            raise ConfigError(msg, hint)
        if name == "bayes" and not llr:
            msg = f"operating point {text!r} needs scores that are log-likelihood ratios"
            hint = (
                "if scores are log-likelihood ratios, give --llr or --llr-base 10; otherwise use "
                "min-cdet or fpr=0.01"
            )
            raise ConfigError(msg, hint)
        return OperatingPoint(text.strip(), name, cost=cost, log_base=log_base)
    msg = f"--operating-point: unknown rule {text!r}"
    hint = (
        "use threshold=X, fpr=X, fnr=X, sfar=X, "
        "eer, min-cdet, min-cdet:COST, min-adcf, bayes or deployed"
    )
    raise ConfigError(msg, hint)


def _first_with_spoof(costs: Sequence[CostModel]) -> CostModel:
    """Return the first cost model that includes spoof trials; the usual one if none does."""
    return next((cost for cost in costs if cost.has_spoof), COST_MODELS["adcf1"])


def _rule_value(text: str, head: str, number: str) -> float:
    try:
        rule_value = number_of(number)
    except ValueError:
        rule_value = math.nan
    if math.isnan(rule_value) or (head != "threshold" and not 0 < rule_value < 1):
        if head == "threshold":
            problem = f"the threshold must be a number (found {number!r}); example: threshold=0.5"
        else:
            problem = f"the rate must be between 0 and 1 (found {number!r}); example: {head}=0.01"
        msg = f"operating point {text!r}: {problem}"
        raise ConfigError(msg)
    return rule_value


def default_points(counts: Counts) -> list[OperatingPoint]:
    """Return FPR 1 % and, with enough trials, 0.1 %; FNR 1 % for a list of targets alone.

    See docs/methods/rates.md#operating-points.
    """
    n_nontarget = int(counts.n_nontarget)
    if not n_nontarget:
        return [OperatingPoint("fnr=0.01", "fnr", 0.01)]
    points = [OperatingPoint("fpr=0.01", "fpr", 0.01)]
    if 0.001 * n_nontarget >= MIN_EXPECTED_ERRORS:
        points.append(OperatingPoint("fpr=0.001", "fpr", 0.001))
    return points


def parse_sweep(text: str) -> list[OperatingPoint]:
    """Read a grid of operating points: ``fpr=0.001:0.1:log100`` or ``fnr=0.01:0.1:10``.

    Examples
    --------
    >>> [point.text for point in parse_sweep("fpr=0.001:0.1:log3")]
    ['fpr=0.001', 'fpr=0.01', 'fpr=0.1']
    """
    head, _, grid = text.strip().partition("=")
    low, _, high_and_steps = grid.partition(":")
    high, _, steps = high_and_steps.partition(":")
    n_text = steps.removeprefix("log")
    try:
        start, stop = number_of(low), number_of(high)
        n_points = int(n_text) if n_text.isascii() and n_text.isdecimal() else 0
    except ValueError:
        start = stop = math.nan
        n_points = 0
    if head not in {"fpr", "fnr"} or not 0 < start < stop < 1 or n_points < 2:
        msg = (
            f"sweep {text!r} is not of the form fpr=LOW:HIGH:logN, for example fpr=0.001:0.1:log100"
        )
        raise ConfigError(msg)
    if n_points > _MAX_SWEEP_POINTS:
        msg = f"sweep {text!r} has {n_points:,} operating points"
        hint = f"give at most {_MAX_SWEEP_POINTS:,}"
        raise ConfigError(msg, hint)
    spaced = np.geomspace if steps.startswith("log") else np.linspace
    # rounded to 12 digits, as the rate is the name of the point in tables
    return [
        OperatingPoint(f"{head}={float(f'{rate:.12g}')!r}", head, float(f"{rate:.12g}"))
        for rate in spaced(start, stop, n_points)
    ]
