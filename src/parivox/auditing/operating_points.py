"""Operating points: what a user writes, and the threshold it stands for.

See docs/methods/rates.md#operating-points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.outcomes import NO_OUTCOMES
from parivox.core.costs import bayes_threshold, cdet, min_cdet, parse_cost
from parivox.core.rates import threshold_at_eer, threshold_at_fnr, threshold_at_fpr
from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.outcomes import Outcomes
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray

DEPLOYED = "deployed"
SAME_TRIALS = "these trials"
"""The source of a threshold that was found on the trials of which it is told."""
NO_SCORES = "decisions without scores"
NO_TRIALS = {"fpr": "no nontarget trials", "fnr": "no target trials"}
"""Why there is no rate of trials that there are none of."""
MIN_EXPECTED_ERRORS = 30
"""Expected errors below which an operating point is not taken by default.

See docs/methods/verdicts.md#gates.
"""


@dataclass(frozen=True)
class LocatedPoint:
    """The threshold of an operating point on one system's trials, and what it gives there."""

    point: OperatingPoint
    threshold: float  # NaN where it cannot be found; the reason then says why
    fpr: float
    fnr: float
    cdet_norm: float
    reason: str


@dataclass(frozen=True)
class OperatingPoint:
    """One rule for one threshold, common to all groups of a system and list."""

    text: str  # what the user wrote; names the point in every table
    rule: str  # "threshold", "fpr", "fnr", "eer", "min-cdet", "bayes" or "deployed"
    rule_value: float = math.nan  # the threshold or the rate aimed at; NaN for the other rules
    cost: CostModel | None = None  # that min-cdet and bayes refer to
    log_base: float = math.e  # of the scores that bayes refers to

    @property
    def definition(self) -> str:
        """What the point needs besides its name: the cost model or the rule of rounding."""
        if self.cost is not None:
            return self.cost.name
        return "conservative" if self.rule in {"fpr", "fnr"} else ""

    def threshold_or_reason(self, counts: Counts, *, no_curve: str = "") -> tuple[float, str]:
        """The threshold on these trials; NaN with a reason where it cannot be found.

        That of ``deployed`` is NaN without a reason: each trial may have its own.
        """
        if self.rule == DEPLOYED:
            return math.nan, ""
        is_given = self.rule in {"threshold", "bayes"} and no_curve != NO_SCORES
        reason = self._unresolvable_reason(counts) if is_given or not no_curve else no_curve
        return (math.nan, reason) if reason else (float(self.threshold(counts)), "")

    def threshold(self, counts: Counts) -> FloatArray | float:
        """The threshold on trials that have one, ``[...]``."""
        if self.rule == "threshold":
            return self.rule_value
        if self.rule == "fpr":
            return threshold_at_fpr(counts.curve, self.rule_value)
        if self.rule == "fnr":
            return threshold_at_fnr(counts.curve, self.rule_value)
        if self.rule == "eer":
            return threshold_at_eer(counts.curve)
        assert self.cost is not None
        if self.rule == "bayes":
            return bayes_threshold(self.cost, self.log_base)
        cheapest: FloatArray = min_cdet(counts, cost=self.cost).threshold
        return cheapest

    def _unresolvable_reason(self, counts: Counts) -> str:
        if self.rule in {"threshold", "bayes"}:
            return ""
        target, nontarget = int(counts.n_target), int(counts.n_nontarget)
        trials = {"fpr": nontarget, "fnr": target}.get(self.rule)
        if not trials:
            return missing_class_reason(target, nontarget)
        if self.rule_value * trials < 1:
            return f"{self.text} is below one error in {trials} trial{'s' * (trials != 1)}"
        return ""


@frozen
class OperatingPoints:
    """Operating points as replicates see them."""

    located: Sequence[LocatedPoint]  # those that rows are told at
    min_cost_points: Sequence[
        LocatedPoint
    ]  # those of the smallest cost, which subgroup bias is told at
    area_points: Sequence[LocatedPoint]  # those that the area under FDR is taken over
    are_thresholds_fixed: (
        bool  # thresholds stay as they are: found on other trials, or as the user wants it
    )
    # test speakers of nontarget trials are unknown, so that thresholds cannot be found again
    lack_test_speakers: bool = False

    @property
    def score_points(self) -> list[LocatedPoint]:
        """Those that rows are told at and that have a threshold of scores."""
        return [f for f in self.located if f.point.rule != DEPLOYED]

    @cached_property
    def all_score_points(self) -> list[LocatedPoint]:
        """Those with a threshold of scores, the cheapest ones last."""
        return self.score_points + list(self.min_cost_points)

    @cached_property
    def deployed_index(self) -> int | None:
        """Which one is the decisions that were made."""
        rules = [f.point.rule for f in self.located]
        return rules.index(DEPLOYED) if DEPLOYED in rules else None

    @property
    def fixed_thresholds(self) -> list[float]:
        """Thresholds that may be the same in every replicate."""
        are_kept = self.are_thresholds_fixed or self.lack_test_speakers
        return [
            f.threshold for f in (*self.all_score_points, *(self.area_points if are_kept else ()))
        ]

    def thresholds(self, everything: Counts, points: Sequence[LocatedPoint]) -> FloatArray:
        """The threshold of each point, ``[replicate, point]``, NaN where there is none.

        It is found again in each replicate, unless it was given or found on other trials, or nobody
        knows of whom some of these are.
        """
        found = np.empty((everything.target.shape[0], len(points)))
        of_fpr = []
        for i, one in enumerate(points):
            again = self._varies_by_draw(one) and not self.lack_test_speakers
            if again and one.point.rule == "fpr":
                of_fpr.append(i)
            else:
                found[:, i] = one.point.threshold(everything) if again else one.threshold
        if of_fpr:  # at once, as the area under FDR is taken over a hundred
            levels = [points[i].point.rule_value for i in of_fpr]
            found[:, of_fpr] = threshold_at_fpr(everything.curve, levels)
        return found

    def moves_with_threshold(self, rate: str) -> NDArray[np.bool_]:
        """At which points a rate of all trials moves with the threshold, ``[point]``.

        Found on these trials, it varies with them; but the rate that it is found by stays.
        """
        return np.array(
            [self._varies_by_draw(one) and one.point.rule != rate for one in self.located],
            dtype=bool,
        )

    def _varies_by_draw(self, one: LocatedPoint) -> bool:
        is_given = one.point.rule in {"threshold", "bayes", DEPLOYED}
        return not (self.are_thresholds_fixed or one.reason or is_given)

    def target_rates(self, rate: str) -> list[float]:
        """At which values of a rate the other one is told, 1 % if none is an operating point."""
        return [f.point.rule_value for f in self.located if f.point.rule == rate] or [0.01]


def locate_points(
    points: Sequence[OperatingPoint],
    everything: Counts,
    cost: CostModel,
    *,
    on: Counts | None = None,
    no_curve: str = "",
    deployed: Outcomes = NO_OUTCOMES,
) -> list[LocatedPoint]:
    """Find the threshold of each point and what it gives on all trials.

    Parameters
    ----------
    everything
        All scored trials of the system, on which the rates are told.
    cost
        The cost model that each point's cost is told in.
    on
        Trials to find the thresholds on instead (a development list).
    no_curve
        Why no threshold can be found on the trials; empty if one can.
    deployed
        The decisions on all trials, for the point ``deployed``.
    """
    source = everything if on is None else on
    lacks = no_curve if on is None or no_curve == NO_SCORES else ""
    found = []
    for point in points:
        if point.rule == DEPLOYED and deployed.deployed is not None:
            levels = list(deployed.thresholds or ())
            threshold = levels[0] if len(levels) == 1 else math.nan
            counts, accepted, reason = deployed.deployed, 1.0, ""
        else:
            threshold, reason = point.threshold_or_reason(source, no_curve=lacks)
            counts, accepted = everything, threshold
        rates = (math.nan,) * 3
        if not reason:
            at = counts.at([accepted])
            rates = float(at.fpr[0]), float(at.fnr[0]), float(cdet(at, cost)[0])
        found.append(LocatedPoint(point, threshold, *rates, reason))
    return found


def is_far_from_target(aim: float, reached: float) -> bool:
    """Whether a rate is off its target more than twofold, as odds.

    Examples
    --------
    >>> is_far(0.01, 0.018), is_far(0.01, 0.03), is_far(0.6, 1.0)
    (False, True, True)
    """
    one, other = reached * (1 - aim), aim * (1 - reached)
    return max(one, other) > 2 * min(one, other)


def missed_targets(found: Sequence[LocatedPoint], everything: Counts) -> list[str]:
    """Points whose rate is far from the one that they are named by, with the rate.

    Far is more than twofold, as odds, and by more trials than three standard errors of a count of
    single trials, and one trial: what chance or the steps of a rate explain is no miss.
    """
    words = []
    for one in found:
        rule, aim = one.point.rule, one.point.rule_value
        if one.reason or rule not in {"fpr", "fnr"}:
            continue
        reached = one.fpr if rule == "fpr" else one.fnr
        n = int(everything.n_nontarget if rule == "fpr" else everything.n_target)
        room = 3 * math.sqrt(n * aim * (1 - aim)) + 1
        if n and is_far_from_target(aim, reached) and abs(reached - aim) * n > room:
            words.append(f"{one.point.text} comes to {100 * reached:.3g} %")
    return words


def missing_class_reason(n_target: int, n_nontarget: int) -> str:
    """Say which class of trials is missing, if one is."""
    if n_target and n_nontarget:
        return ""
    if n_target:
        return NO_TRIALS["fpr"]
    return NO_TRIALS["fnr"] if n_nontarget else "no trials"


def parse_point(
    text: str, costs: Sequence[CostModel], *, llr: bool = False, log_base: float = math.e
) -> OperatingPoint:
    """Read one operating point as a user writes it.

    It is ``threshold=x``, ``fpr=x``, ``fnr=x``, ``eer``, ``min-cdet``, ``min-cdet:NAME``,
    ``bayes``, ``bayes:NAME`` or ``deployed``. The first of the cost models is the one that
    ``min-cdet`` alone means; `llr` says that scores are declared to be log-likelihood ratios, to
    the base `log_base`.

    Raises
    ------
    ConfigError
        If the point is none of these, or out of range.

    Examples
    --------
    >>> parse_point("fpr=0.01", []).level
    0.01
    """
    head, equals, value = text.strip().partition("=")
    head = head.lower()
    if equals and head in {"threshold", "fpr", "fnr"}:
        return OperatingPoint(text.strip(), head, _level(text, head, value))
    name, colon, model = text.strip().partition(":")
    name = name.lower()
    if name in {"eer", DEPLOYED} and not colon:
        return OperatingPoint(text.strip(), name)
    if name in {"min-cdet", "bayes"}:
        cost = parse_cost(model) if model else costs[0]
        if len(cost.p_target) > 1:
            msg = (
                f"operating point {text!r}: cost model {cost.name} averages several priors and has "
                f"no single best threshold; name a model with one prior, as in {name}:voxsrc"
            )
            raise ConfigError(msg)
        if name == "bayes" and not llr:
            msg = (
                f"operating point {text!r} needs scores that are log-likelihood ratios; declare "
                "that with --llr, or --llr-base 10, or use min-cdet or fpr=0.01"
            )
            raise ConfigError(msg)
        return OperatingPoint(text.strip(), name, cost=cost, log_base=log_base)
    msg = (
        f"--operating-point: unknown rule {text!r}; use threshold=X, fpr=X, fnr=X, eer, "
        "min-cdet, min-cdet:COST, bayes or deployed"
    )
    raise ConfigError(msg)


def _level(text: str, head: str, value: str) -> float:
    try:
        level = float(value)
    except ValueError:
        level = math.nan
    if math.isnan(level) or (head != "threshold" and not 0 < level < 1):
        if head == "threshold":
            wanted = f"the threshold must be a number (found {value!r}); example: threshold=0.5"
        else:
            wanted = f"the rate must be between 0 and 1 (found {value!r}); example: {head}=0.01"
        msg = f"operating point {text!r}: {wanted}"
        raise ConfigError(msg)
    return level


def default_points(counts: Counts) -> list[OperatingPoint]:
    """FPR 1 % and, where the trials can carry it, 0.1 %; FNR 1 % of targets alone.

    See docs/methods/index.md#the-default-audit.
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
    low, _, rest = grid.partition(":")
    high, _, steps = rest.partition(":")
    count = steps.removeprefix("log")
    try:
        start, stop, n = float(low), float(high), int(count)
    except ValueError:
        start = stop = math.nan
        n = 0
    if head not in {"fpr", "fnr"} or not 0 < start < stop < 1 or n < 2:
        msg = f"sweep {text!r} is not of the form fpr=LOW:HIGH:logN, as in fpr=0.001:0.1:log100"
        raise ConfigError(msg)
    make = np.geomspace if steps.startswith("log") else np.linspace
    return [
        OperatingPoint(f"{head}={float(f'{level:.12g}')!r}", head, float(f"{level:.12g}"))
        for level in make(start, stop, n)
    ]
