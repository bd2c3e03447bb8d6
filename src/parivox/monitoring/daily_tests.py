"""Daily tests of each group of a stream against others, its past, an audit or a limit.

See docs/methods/monitoring.md. A change may have begun in any week, so all days from each week on
are tested, and the chance of a false alarm is split over weeks, groups and references.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import BELOW_MINIMUM
from parivox.core.sequential import (
    DailySquares,
    JointMoments,
    SpeakerMoments,
    day_variation_p,
    intra_class_correlation,
    least_score,
    log_evidence,
    score,
)
from parivox.facts import fact
from parivox.monitoring.state_checks import TEST_COLUMNS
from parivox.monitoring.stream import DAYS_PER_WEEK, MAX_START_WEEKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.core.counts import FloatArray, IntArray
    from parivox.monitoring.stream import Stream

OTHERS, BEFORE, BASELINE, LIMIT = "others", "before", "baseline", "limit"
"""References of a group: all other groups on the same days; its own earlier days; its rate in a
saved audit; a number."""
# Rules of docs/methods/monitoring.md#what-is-tested and #from-day-to-day, where they are explained
MIN_EARLIER_WEEKS = 4
"""Weeks that must precede a rise against earlier days."""
MIN_SPEAKERS = 10
"""Speakers that both the group and its reference must have: the score of fewer is not Gaussian."""
MIN_DAY_PAIRS = 7
"""Pairs of days from which on the variation of rates from day to day counts as known."""
UNKNOWN_DAY_SD = 0.5
"""Variation from day to day that is allowed for until it is known."""
DAY_LEVEL = 0.1
"""Level of the test for more variation from day to day than is allowed for."""
VARYING_RATES = "varying_rates"
"""Reason code: the rates of many speakers vary from day to day."""
_MAX_RATIO = 1e4
"""Limits of ratios are searched up to here, and down to its reciprocal."""


@dataclass(frozen=True)
class _Comparison:
    """Groups and their reference over all days from each week on, ``[week, group]``."""

    now: SpeakerMoments
    reference: SpeakerMoments | FloatArray  # moments, or rates
    n_speakers: IntArray  # on the side that has fewer
    daily_squares: DailySquares
    day_p: FloatArray  # [group], of no more variation from day to day than is allowed for
    joint: JointMoments | None = None  # of the same speakers now and before
    standard_error: FloatArray | float = 0.0  # of the rates of a saved audit

    def in_week(self, week: IntArray) -> _Comparison:
        """Return one week of each group."""
        cells = week, np.arange(week.size)
        reference = self.reference
        if isinstance(reference, SpeakerMoments):
            selected_reference: SpeakerMoments | FloatArray = reference.select(cells)
        else:
            selected_reference = reference  # a rate is the same in all weeks
        return _Comparison(
            now=self.now.select(cells),
            reference=selected_reference,
            n_speakers=self.n_speakers[cells],
            daily_squares=self.daily_squares.select(cells),
            day_p=self.day_p,
            joint=None if self.joint is None else self.joint.select(cells),
            standard_error=self.standard_error,
        )

    @property
    def reference_rate(self) -> FloatArray:
        """Return the rate of the reference."""
        return self.reference.rate if isinstance(self.reference, SpeakerMoments) else self.reference


def n_tests(settings: Mapping[str, Any]) -> int:
    """Return the number of tests over which the chance of a false alarm is split."""
    return len(settings["against"]) * len(settings["watched"]) * MAX_START_WEEKS


def group_tests(stream: Stream) -> list[dict[str, Any]]:
    """Return a row for each group and reference, from the week on that has the most evidence."""
    # errors and trials of each group, [week, speaker], summed over all days from each week on
    counts = [stream.counts_from_week(group) for group in range(len(stream.groups))]
    n_weeks = int(stream.week_of_day[-1]) + 1
    # and of the days before each week
    earlier_counts = [
        (errors[:1] - errors[:n_weeks], trials[:1] - trials[:n_weeks]) for errors, trials in counts
    ]
    now = _stack_groups([_moments(errors[:n_weeks], trials[:n_weeks]) for errors, trials in counts])
    before = _stack_groups([_moments(errors, trials) for errors, trials in earlier_counts])
    joint = _stack_groups(
        [
            JointMoments.from_counts(
                (errors[:n_weeks], trials[:n_weeks]), earlier, np.ones((1, trials.shape[1]))
            )
            for (errors, trials), earlier in zip(counts, earlier_counts, strict=True)
        ]
    )
    n_speakers = np.stack([(trials[:n_weeks] > 0).sum(axis=1) for _, trials in counts], axis=1)
    n_earlier = np.stack([(trials > 0).sum(axis=1) for _, trials in earlier_counts], axis=1)
    # no test against earlier days begins before there are enough of them
    n_earlier[:MIN_EARLIER_WEEKS] = 0
    others_now, others_before = (_total(groups).excluding(groups) for groups in (now, before))
    correlation = float(intra_class_correlation(now.select(0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        others_ratio = others_now.rate / others_before.rate
    # a limit or an audit knows no impostors, so its rates apply to the genuine share of trials
    genuine_share = 1 - stream.settings["impostors"]
    trials = stream.trials[:, :-1].astype(np.float64)
    others_trials = trials.sum(axis=1, keepdims=True) - trials
    squares, others_squares = (_sums_from_week(n**2, stream) for n in (trials, others_trials))
    no_days = np.zeros_like(squares)
    days, day_sd = stream.day_moments, stream.day_sd
    own_p, own_pairs = day_variation_p(days, sd=day_sd)
    others_p, others_pairs = day_variation_p(days, _total(days).excluding(days), day_sd)
    own_sd, others_sd = allowed_day_sd(day_sd, own_pairs), allowed_day_sd(day_sd, others_pairs)
    rows: list[dict[str, Any]] = []
    for against in stream.settings["against"]:
        if against == OTHERS:
            n_others = n_speakers.sum(axis=1, keepdims=True) - n_speakers
            daily = DailySquares(squares, others_squares, others_sd)
            comparison = _Comparison(
                now, others_now, np.minimum(n_speakers, n_others), daily, others_p
            )
        elif against == BEFORE:
            daily = DailySquares(squares, squares[:1] - squares, own_sd)
            n_fewer = np.minimum(n_speakers, n_earlier)
            comparison = _Comparison(now, before, n_fewer, daily, own_p, joint)
        elif against == BASELINE:
            baseline = stream.settings["baseline"]
            rates_and_errors = [baseline.get(group, (np.nan, np.nan)) for group in stream.groups]
            rate, error = np.array(rates_and_errors, dtype=np.float64).T * genuine_share
            daily = DailySquares(squares, no_days, own_sd)
            comparison = _Comparison(now, rate, n_speakers, daily, own_p, standard_error=error)
        else:
            limit = np.full(len(stream.groups), stream.settings["limit"] * genuine_share)
            daily = DailySquares(squares, no_days, own_sd)
            comparison = _Comparison(now, limit, n_speakers, daily, own_p)
        rows += _rows(stream, against, comparison, correlation, others_ratio)
    return rows


def _moments(errors: FloatArray, trials: FloatArray) -> SpeakerMoments:
    """Return sums over the speakers of one group, ``[week, 1]``."""
    return SpeakerMoments.from_counts(errors, trials, np.ones((1, trials.shape[1])))


def _stack_groups(moments: list[Any]) -> Any:
    """Return the moments of several groups, each ``[week, 1]``, as ``[week, group]``."""
    sums = [
        np.stack([vars(of_group)[name][:, 0] for of_group in moments], axis=1)
        for name in vars(moments[0])
    ]
    return type(moments[0])(*sums)


def allowed_day_sd(day_sd: float, n_pairs: IntArray) -> FloatArray:
    """Return the variation from day to day that is allowed for, larger until it is known.

    ``[..., group]``
    """
    return np.where(n_pairs < MIN_DAY_PAIRS, max(day_sd, UNKNOWN_DAY_SD), day_sd)


def _sums_from_week(daily: FloatArray, stream: Stream) -> FloatArray:
    """Return sums over all days from each week on, ``[week, group]``."""
    week = stream.week_of_day
    weekly = np.zeros((int(week[-1]) + 1, daily.shape[1]))
    np.add.at(weekly, week, daily)
    return weekly[::-1].cumsum(axis=0)[::-1]


def _total(groups: SpeakerMoments) -> SpeakerMoments:
    """Return the moments of all groups together, with the last axis kept."""
    return SpeakerMoments(*(sums.sum(axis=-1, keepdims=True) for sums in vars(groups).values()))


def _rows(
    stream: Stream,
    against: str,
    comparison: _Comparison,
    correlation: float,
    others_ratio: FloatArray,
) -> Iterator[dict[str, Any]]:
    """Yield the row of each watched group against one reference."""
    settings = stream.settings
    test_alpha = settings["alpha"] / n_tests(settings)
    impostors = settings["impostors"]
    margin = 1.0 if against == LIMIT else settings["margin"]

    def excess_and_variance(
        compared: _Comparison, ratio: Any, impostor_share: float
    ) -> tuple[FloatArray, FloatArray]:
        return score(
            compared.now,
            compared.reference,
            ratio,
            correlation=correlation,
            shared=compared.joint,
            error=compared.standard_error,  # type: ignore[arg-type]
            impostors=impostor_share,
            daily=compared.daily_squares,
        )

    evidence = log_evidence(*excess_and_variance(comparison, margin, impostors))
    evidence = np.where(comparison.n_speakers >= MIN_SPEAKERS, evidence, -np.inf)
    is_varying = comparison.day_p <= DAY_LEVEL
    evidence = np.where(is_varying, -np.inf, evidence)
    # without evidence for a rise, the row begins with the first week that can be tested
    testable = np.where(np.isfinite(evidence), 0, -np.inf)
    week = np.where(evidence.max(axis=0) > 0, evidence, testable).argmax(axis=0)
    best, best_evidence = comparison.in_week(week), evidence.max(axis=0)
    # labels may be wrong to the disadvantage of either conclusion, so the sign of impostors turns
    low, high = (
        _ratio_limit(
            lambda ratio, sign=sign: excess_and_variance(best, ratio, sign * impostors),
            test_alpha,
            sign,
        )
        for sign in (1, -1)
    )
    excess, variance = excess_and_variance(best, margin, impostors)
    alarm_score = least_score(variance, test_alpha)
    chance = np.minimum(np.exp(-np.maximum(best_evidence, -1.0)) * n_tests(settings), 1)
    first_day = stream.dates[0]
    for g, group in enumerate(stream.groups):
        if group not in settings["watched"]:
            continue
        n_errors, n_trials = best.now.errors[g], best.now.trials[g]
        row: dict[str, Any] = dict.fromkeys(TEST_COLUMNS)
        row |= {"against": against, "group": group, "is_alarm": False, "reason": ""}
        row["speakers"] = int(best.n_speakers[g])
        row["trials"] = int(n_trials)
        row["errors"] = int(n_errors)
        # rates of an audit or a limit are shown as given, not as applied to the genuine share
        scale = 1 if isinstance(best.reference, SpeakerMoments) else 1 - impostors
        rate = best.reference_rate[g] / scale
        row["fnr"] = n_errors / n_trials if n_trials else None
        row["reference"] = None if np.isnan(rate) else float(rate)
        if not np.isfinite(best_evidence[g]):
            row["reason"] = _reason(
                stream,
                against,
                row["reference"],
                best.n_speakers[g],
                is_varying=bool(is_varying[g]),
            )
        else:
            is_alarm = bool(chance[g] <= settings["alpha"])
            row |= {
                "since": (first_day + timedelta(days=DAYS_PER_WEEK * int(week[g]))).isoformat(),
                "ratio": row["fnr"] / rate if rate else None,
                "low": float(low[g]),
                "high": None if np.isinf(high[g]) else float(high[g]),
                "chance": float(chance[g]),
                "is_alarm": is_alarm,
            }
            if against == BEFORE and np.isfinite(others_ratio[week[g], g]):
                row["others_ratio"] = float(others_ratio[week[g], g])
            if is_alarm:
                first_change = MIN_EARLIER_WEEKS * DAYS_PER_WEEK if against == BEFORE else 0
                row["changed"] = _change_date(stream, g, rate, first_change)
                row["silent_at"] = int(np.ceil(n_errors - excess[g] + alarm_score[g])) - 1
                row["explained_by"] = float(impostors + (excess[g] - alarm_score[g]) / n_trials)
        yield row


def _reason(
    stream: Stream, against: str, reference: float | None, n_speakers: int, *, is_varying: bool
) -> str:
    """Return why a group is not judged, as a fact."""
    if against == BASELINE and reference is None:
        return "not_in_baseline"
    if against == BEFORE and stream.week_of_day[-1] < MIN_EARLIER_WEEKS:
        return fact("few_earlier_weeks", weeks=MIN_EARLIER_WEEKS)
    if is_varying:
        return VARYING_RATES
    return fact(BELOW_MINIMUM, speakers=MIN_SPEAKERS) if n_speakers < MIN_SPEAKERS else "no_errors"


def _ratio_limit(excess_and_variance: Any, alpha: float, sign: int) -> FloatArray:
    """Return the lowest ratio that is not refused at `alpha`, or with a sign of -1 the highest."""
    shape = excess_and_variance(1.0)[0].shape
    low, high = np.full(shape, -np.log(_MAX_RATIO)), np.full(shape, np.log(_MAX_RATIO))
    for _ in range(50):  # bisection of logarithms: 50 halvings exhaust the precision of a float
        middle = (low + high) / 2
        excess, variance = excess_and_variance(np.exp(middle))
        is_refused = log_evidence(sign * excess, variance) >= -np.log(alpha)
        goes_up = is_refused if sign > 0 else ~is_refused
        low, high = np.where(goes_up, middle, low), np.where(goes_up, high, middle)
    log_limit = (low + high) / 2
    unlimited = 0.0 if sign > 0 else np.inf
    return np.where(np.abs(log_limit) > np.log(_MAX_RATIO) - 1e-6, unlimited, np.exp(log_limit))


def _change_date(stream: Stream, group: int, rate: float, first_day_index: int) -> str:
    """Return the day from which on errors exceed those of a rate most, by likelihood.

    See docs/methods/monitoring.md#intervals. Days before `first_day_index`, counted from the first
    day of the stream, are not considered.
    """
    errors, trials = (daily[::-1, group].cumsum()[::-1] for daily in (stream.errors, stream.trials))
    expected = rate * trials
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = errors * np.log(errors / expected) - (errors - expected)
    gain = np.where((errors > expected) & np.isfinite(gain), gain, -1.0)
    day_indices = np.array([(day - stream.dates[0]).days for day in stream.dates])
    gain[day_indices < first_day_index] = -1.0
    return stream.dates[int(gain.argmax())].isoformat()
