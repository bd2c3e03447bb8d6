"""Outcomes of trials beside their scores: decisions, thresholds, failures, seconds.

And the rates that count failures to enrol and to acquire, and how long a trial took
(ISO/IEC 19795-1; docs/methods/rates.md#rates-of-attempts). FNMR and FMR are of comparisons that
were made; FRR and FAR are of attempts, in which a recording that cannot be acquired is a rejection;
the generalised rates count enrolments that failed too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.schema import BaseValue
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.schema import Key
    from parivox.core.counts import Counts, IntArray

SECONDS = np.concatenate(([0.0], np.geomspace(1e-3, 1e6, 4501)))
"""Lower edges of the bins of seconds, half a percent wide."""
_MIN_INVERSION, _MIN_STANDARD_ERRORS = 0.1, 4
"""How much more often nontarget trials are accepted, for decisions to be taken as inverted."""
MICROSECONDS = 1e6
"""Seconds are added up in whole millionths."""
ATTEMPTS, SHARES = "attempts", "shares"
"""Rules: failed trials counted as rejections; or rates of comparisons joined with FTE and FTA."""
_NO_ROWS = "no_trials_of_failed_recordings"
_BY_TRIAL = "group_of_trials"
_QUANTILES = {"q50": 0.5, "q95": 0.95}


@frozen
class FailureShare:
    """Recordings that failed, of those that were attempted."""

    n_failed: int
    n_attempted: int


@frozen
class Outcomes:
    """What became of the trials of one cell; None for what nothing is told of."""

    deployed_counts: Counts | None = None  # decisions as scores, 1 for accepted and 0 for rejected
    deployed_thresholds: dict[float, int] | None = None  # trials at each deployed threshold
    # trials that failed, by stage (acquire, enrol) and class (nontarget, target)
    failed_trials: IntArray | None = None
    # sum, number of trials, and the trials in each bin of `SECONDS`, if known of each
    seconds: tuple[float, int, IntArray | None] | None = None
    # failed ones of all that were attempted; None also where they cannot be told by group
    enrolment_failures: FailureShare | None = None
    recording_failures: FailureShare | None = None  # likewise test recordings
    # why these rates cannot be told, if it is for another reason; whether there are any failures at
    # all is then told by whether the count is 0
    no_shares_reason: str = ""


NO_OUTCOMES = Outcomes()


def are_inverted(deployed: Counts | None) -> bool:
    """Whether decisions accept nontarget trials clearly more often than target trials.

    By a tenth and by four standard errors of the difference at most, so that no weak system, and
    none whose threshold varies, is taken for it.
    """
    if deployed is None or not (deployed.n_target and deployed.n_nontarget):
        return False
    rates_at_decision = deployed.at([1.0])
    rates = float(rates_at_decision.fpr[0]), 1 - float(rates_at_decision.fnr[0])
    return are_rates_inverted(rates, (int(deployed.n_nontarget), int(deployed.n_target)))


def are_rates_inverted(accepted: tuple[float, float], n_trials: tuple[int, int]) -> bool:
    """Whether nontarget trials are accepted clearly more often than target trials.

    Parameters
    ----------
    accepted
        Share of nontarget trials, and of target trials, that are accepted.
    n_trials
        Number of nontarget trials, and of target trials.
    """
    if not all(n_trials):
        return False
    standard_error = math.sqrt(sum(0.25 / n for n in n_trials))
    return accepted[0] - accepted[1] > max(_MIN_INVERSION, _MIN_STANDARD_ERRORS * standard_error)


def failure_rates(
    rows: Mapping[Key, BaseValue], outcomes: Outcomes, points: Sequence[str]
) -> Iterator[tuple[Key, BaseValue]]:
    """FTE, FTA and, at each operating point, FRR, FAR, GFRR and GFAR by either rule.

    `rows` have FPR and FNR at the operating points.
    """
    shares = {"fte": outcomes.enrolment_failures, "fta": outcomes.recording_failures}
    rates = {
        metric: _failure_rate(share, outcomes.no_shares_reason) for metric, share in shares.items()
    }
    for metric, base in rates.items():
        yield (metric, "", ""), base
    assert outcomes.failed_trials is not None
    acquire, all_failed = outcomes.failed_trials[0], outcomes.failed_trials.sum(axis=0)
    some_failed = any(share is None or share.n_failed for share in shares.values())
    lacks_rows = some_failed and not all_failed.any()
    for point in points:
        if ("fpr", "", point) not in rows:
            continue
        fpr, fnr = rows["fpr", "", point], rows["fnr", "", point]
        for metric, base, n_failed, is_error in (
            ("far", fpr, acquire[0], False),
            ("frr", fnr, acquire[1], True),
            ("gfar", fpr, all_failed[0], False),
            ("gfrr", fnr, all_failed[1], True),
        ):
            yield (
                (metric, ATTEMPTS, point),
                _rate_of_attempts(base, int(n_failed), is_error=is_error, lacks_rows=lacks_rows),
            )
            stages = ("fta", "fte") if metric.startswith("g") else ("fta",)
            joined_rate = _rate_joined_with_failures(
                base, [rates[stage] for stage in stages], is_error=is_error
            )
            yield (metric, SHARES, point), joined_rate


def _failure_rate(share: FailureShare | None, no_shares: str) -> BaseValue:
    if no_shares:
        return BaseValue(math.nan, None, 0, math.nan, no_shares)
    if share is None:
        return BaseValue(math.nan, None, 0, math.nan, _BY_TRIAL)
    if not share.n_attempted:
        return BaseValue(math.nan, 0, 0, math.nan, "none_attempted")
    return BaseValue(
        share.n_failed / share.n_attempted, share.n_failed, share.n_attempted, math.nan, ""
    )


def _rate_of_attempts(
    base: BaseValue, n_failed: int, *, is_error: bool, lacks_rows: bool
) -> BaseValue:
    """A rate of all attempts: those that failed are rejections."""
    trials = base.trials + n_failed
    if base.errors is None or not trials:
        return base._replace(value=math.nan, reason=base.reason or "no_trials", trials=trials)
    errors = base.errors + (n_failed if is_error else 0)
    if lacks_rows:
        return BaseValue(math.nan, None, trials, base.threshold, _NO_ROWS)
    return BaseValue(errors / trials, errors, trials, base.threshold, "")


def _rate_joined_with_failures(
    base: BaseValue, failure_rates: Sequence[BaseValue], *, is_error: bool
) -> BaseValue:
    """A rate of comparisons joined with the shares of recordings that failed."""
    share_without_failure = math.prod(1 - share.value for share in failure_rates)
    rate = base.value * share_without_failure + (1 - share_without_failure if is_error else 0.0)
    reasons = [rate.reason for rate in (base, *failure_rates) if rate.reason]
    reason = reasons[0] if reasons else ""
    return BaseValue(math.nan if reason else rate, None, base.trials, base.threshold, reason)


def seconds_values(seconds: tuple[float, int, IntArray | None]) -> Iterator[tuple[Key, BaseValue]]:
    """Yield the mean and quantiles of the seconds that trials took, these within half a percent."""
    total, n_trials, bins = seconds
    reason = "" if n_trials else "no_seconds"
    yield (
        ("seconds", "mean", ""),
        BaseValue(total / n_trials if n_trials else math.nan, None, n_trials, math.nan, reason),
    )
    for name, share in _QUANTILES.items():
        quantile, quantile_reason = math.nan, reason or "unknown_from_counts"
        if n_trials and bins is not None:
            # what at least that share of the trials took no longer than
            cumulative = np.cumsum(bins)
            bin_index = int(np.searchsorted(cumulative, share * cumulative[-1]))
            quantile, quantile_reason = float(SECONDS[min(bin_index + 1, SECONDS.size - 1)]), ""
        yield ("seconds", name, ""), BaseValue(quantile, None, n_trials, math.nan, quantile_reason)
