"""Each group of a stream held against others, its past or a limit, on every day anew.

See docs/methods/monitoring.md. A change may have begun in any week, so all days from each week on
are tested, and the chance of a false alarm is split over weeks, groups and what is watched.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

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
from parivox.monitoring.stream import DAYS_PER_WEEK, MAX_START_WEEKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.core.counts import FloatArray, IntArray
    from parivox.monitoring.stream import Stream

OTHERS, BEFORE, BASELINE, LIMIT = "others", "before", "baseline", "limit"
"""What a group is held against: everyone else on the same days; its own earlier days; its rate in a
saved audit; a number."""
MIN_EARLIER_WEEKS = 4
"""Weeks before a rise against earlier days is looked for."""
MIN_SPEAKERS = 10
"""Speakers on either side."""
MIN_DAY_PAIRS = 7
"""Pairs of days from which the variation of rates from day to day is known."""
UNKNOWN_DAY_SD = 0.5
"""Variation from day to day that is allowed for until it is known."""
DAY_LEVEL = 0.1
"""Level of the test for more variation from day to day than is allowed for."""
TEST_COLUMNS = {
    "against": "str",
    "group": "str",
    "since": "str",
    "speakers": "int",
    "trials": "int",
    "errors": "int",
    "fnr": "float",
    "reference": "float",
    "ratio": "float",
    "low": "float",
    "high": "float",
    "chance": "float",
    "is_alarm": "bool",
    "changed": "str",
    "silent_at": "int",
    "explained_by": "float",
    "others_ratio": "float",
    "reason": "str",
}
VARYING_REASON = "rates vary from day to day for many speakers"
_MOST = 1e4
"""Ratios are looked for up to here, and down to its reciprocal."""
_SPEAKERS = f"fewer than {MIN_SPEAKERS} speakers"


@dataclass(frozen=True)
class _Sides:
    """Groups now and what they are held against, ``[week, group]``, from each week on."""

    now: SpeakerMoments
    reference: SpeakerMoments | FloatArray  # moments, or rates
    speakers: IntArray  # on the side that has fewer
    daily: DailySquares
    day_p: FloatArray  # [group], of no more variation from day to day than is allowed for
    shared: JointMoments | None = None
    error: FloatArray | float = 0.0

    def at(self, week: IntArray) -> _Sides:
        """One week of each group."""
        at = week, np.arange(week.size)
        of = self.reference
        return _Sides(
            self.now.select(at),
            of.select(at) if isinstance(of, SpeakerMoments) else of,
            self.speakers[at],
            self.daily.select(at),
            self.day_p,
            None if self.shared is None else self.shared.select(at),
            self.error,
        )

    @property
    def rate(self) -> FloatArray:
        """What the rate of each group is held against."""
        return self.reference.rate if isinstance(self.reference, SpeakerMoments) else self.reference


def n_tests(settings: Mapping[str, Any]) -> int:
    """Over how many tests the chance of a false alarm is split."""
    return len(settings["against"]) * len(settings["watched"]) * MAX_START_WEEKS


def group_tests(stream: Stream) -> list[dict[str, Any]]:
    """A row for each group and what it is held against, since the week of most evidence."""
    every = [stream.of_group(group) for group in range(len(stream.groups))]
    weeks = int(stream.week_of_day[-1]) + 1
    one = np.ones

    def stacked(of: list[Any]) -> Any:
        kind = type(of[0])
        each = [[vars(part)[name][:, 0] for part in of] for name in vars(of[0])]
        return kind(*(np.stack(values, axis=1) for values in each))

    now = stacked(
        [SpeakerMoments.from_counts(e[:weeks], n[:weeks], one((1, n.shape[1]))) for e, n in every]
    )
    earlier = [(e[:1] - e[:weeks], n[:1] - n[:weeks]) for e, n in every]
    before = stacked([SpeakerMoments.from_counts(e, n, one((1, n.shape[1]))) for e, n in earlier])
    shared = stacked(
        [
            JointMoments.from_counts((e[:weeks], n[:weeks]), past, one((1, n.shape[1])))
            for (e, n), past in zip(every, earlier, strict=True)
        ]
    )
    people = np.stack([(n[:weeks] > 0).sum(axis=1) for _, n in every], axis=1)
    past_people = np.stack([(n > 0).sum(axis=1) for _, n in earlier], axis=1)
    past_people[:MIN_EARLIER_WEEKS] = 0
    rest, rest_before = (_total(of).excluding(of) for of in (now, before))
    correlation = float(intra_class_correlation(now.select(0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        others_ratio = rest.rate / rest_before.rate
    clean = 1 - stream.settings["impostors"]
    days, sd = stream.day_moments, stream.day_sd
    trials = stream.trials[:, :-1].astype(np.float64)
    others_trials = trials.sum(axis=1, keepdims=True) - trials
    squares, others_squares = (_since(one**2, stream) for one in (trials, others_trials))
    no_days = np.zeros_like(squares)
    own_p, own_pairs = day_variation_p(days, sd=sd)
    others_p, others_pairs = day_variation_p(days, _total(days).excluding(days), sd)
    own_sd, others_sd = allowed_day_sd(sd, own_pairs), allowed_day_sd(sd, others_pairs)
    rows: list[dict[str, Any]] = []
    for against in stream.settings["against"]:
        if against == OTHERS:
            fewer = np.minimum(people, people.sum(axis=1, keepdims=True) - people)
            daily = DailySquares(squares, others_squares, others_sd)
            sides = _Sides(now, rest, fewer, daily, others_p)
        elif against == BEFORE:
            daily = DailySquares(squares, squares[:1] - squares, own_sd)
            fewer = np.minimum(people, past_people)
            sides = _Sides(now, before, fewer, daily, own_p, shared)
        elif against == BASELINE:
            rates = stream.settings["baseline"]
            of = [rates.get(group, (np.nan, np.nan)) for group in stream.groups]
            rate, error = np.array(of, dtype=np.float64).T * clean
            daily = DailySquares(squares, no_days, own_sd)
            sides = _Sides(now, rate, people, daily, own_p, error=error)
        else:
            limit = np.full(len(stream.groups), stream.settings["limit"] * clean)
            daily = DailySquares(squares, no_days, own_sd)
            sides = _Sides(now, limit, people, daily, own_p)
        rows += _rows(stream, against, sides, correlation, others_ratio)
    return rows


def allowed_day_sd(sd: float, pairs: IntArray) -> FloatArray:
    """Variation from day to day that is allowed for: more until it is known, ``[..., group]``."""
    return np.where(pairs < MIN_DAY_PAIRS, max(sd, UNKNOWN_DAY_SD), sd)


def _since(of_day: FloatArray, stream: Stream) -> FloatArray:
    """Sums of all days from each week on, ``[week, group]``."""
    week = stream.week_of_day
    of_week = np.zeros((int(week[-1]) + 1, of_day.shape[1]))
    np.add.at(of_week, week, of_day)
    return of_week[::-1].cumsum(axis=0)[::-1]


def _total(of: SpeakerMoments) -> SpeakerMoments:
    """Of all groups together, in the place of each."""
    return SpeakerMoments(*(one.sum(axis=-1, keepdims=True) for one in vars(of).values()))


def _rows(
    stream: Stream, against: str, sides: _Sides, correlation: float, others_ratio: FloatArray
) -> Iterator[dict[str, Any]]:
    settings = stream.settings
    each = settings["alpha"] / n_tests(settings)
    noise = settings["impostors"]
    margin = 1.0 if against == LIMIT else settings["margin"]

    def tested(of: _Sides, ratio: Any, impostors: float) -> tuple[FloatArray, FloatArray]:
        how: dict[str, Any] = {"correlation": correlation, "shared": of.shared, "error": of.error}
        how["daily"] = of.daily
        return score(of.now, of.reference, ratio, impostors=impostors, **how)

    found = log_evidence(*tested(sides, margin, noise))
    found = np.where(sides.speakers >= MIN_SPEAKERS, found, -np.inf)
    is_varying = sides.day_p <= DAY_LEVEL
    found = np.where(is_varying, -np.inf, found)
    # where nothing speaks for a rise, since the first week that can be told of
    said = np.where(found.max(axis=0) > 0, found, np.where(np.isfinite(found), 0, -np.inf))
    week = said.argmax(axis=0)
    best, evidence = sides.at(week), found.max(axis=0)
    low, high = (
        _ratio(lambda ratio, sign=sign: tested(best, ratio, sign * noise), each, sign)
        for sign in (1, -1)
    )
    excess, variance = tested(best, margin, noise)
    needed = least_score(variance, each)
    chance = np.minimum(np.exp(-np.maximum(evidence, -1.0)) * n_tests(settings), 1)
    first = stream.dates[0]
    for g, group in enumerate(stream.groups):
        if group not in settings["watched"]:
            continue
        e, n = best.now.errors[g], best.now.trials[g]
        row: dict[str, Any] = dict.fromkeys(TEST_COLUMNS)
        row |= {"against": against, "group": group, "is_alarm": False, "reason": ""}
        row |= {"speakers": int(best.speakers[g]), "trials": int(n), "errors": int(e)}
        rate = best.rate[g] / (1 if isinstance(best.reference, SpeakerMoments) else 1 - noise)
        row["fnr"] = e / n if n else None
        row["reference"] = None if np.isnan(rate) else float(rate)
        if not np.isfinite(evidence[g]):
            row["reason"] = _reason(
                stream, against, row["reference"], best.speakers[g], is_varying=bool(is_varying[g])
            )
        else:
            alarm = bool(chance[g] <= settings["alpha"])
            row |= {
                "since": (first + timedelta(days=DAYS_PER_WEEK * int(week[g]))).isoformat(),
                "ratio": row["fnr"] / rate if rate else None,
                "low": float(low[g]),
                "high": None if np.isinf(high[g]) else float(high[g]),
                "chance": float(chance[g]),
                "is_alarm": alarm,
            }
            if against == BEFORE and np.isfinite(others_ratio[week[g], g]):
                row["others_ratio"] = float(others_ratio[week[g], g])
            if alarm:
                row["changed"] = _changed(
                    stream, g, rate, MIN_EARLIER_WEEKS * DAYS_PER_WEEK * (against == BEFORE)
                )
                row["silent_at"] = int(np.ceil(e - excess[g] + needed[g])) - 1
                row["explained_by"] = float(noise + (excess[g] - needed[g]) / n)
        yield row


def _reason(
    stream: Stream, against: str, reference: float | None, speakers: int, *, is_varying: bool
) -> str:
    if against == BASELINE and reference is None:
        return "not in the audit"
    if against == BEFORE and stream.week_of_day[-1] < MIN_EARLIER_WEEKS:
        return f"fewer than {MIN_EARLIER_WEEKS} weeks of earlier days"
    if is_varying:
        return VARYING_REASON
    return _SPEAKERS if speakers < MIN_SPEAKERS else "no errors"


def _ratio(tested: Any, each: float, sign: int) -> FloatArray:
    """The lowest ratio that is not refused, or the highest."""
    shape = tested(1.0)[0].shape
    low, high = np.full(shape, -np.log(_MOST)), np.full(shape, np.log(_MOST))
    for _ in range(50):
        middle = (low + high) / 2
        excess, variance = tested(np.exp(middle))
        is_refused = log_evidence(sign * excess, variance) >= -np.log(each)
        goes_up = is_refused if sign > 0 else ~is_refused
        low, high = np.where(goes_up, middle, low), np.where(goes_up, high, middle)
    found = (low + high) / 2
    ends = 0.0 if sign > 0 else np.inf
    return np.where(np.abs(found) > np.log(_MOST) - 1e-6, ends, np.exp(found))


def _changed(stream: Stream, group: int, rate: float, after: int) -> str:
    """The day from which on errors are most beyond those of a rate."""
    errors, trials = (one[::-1, group].cumsum()[::-1] for one in (stream.errors, stream.trials))
    expected = rate * trials
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = errors * np.log(errors / expected) - (errors - expected)
    gain = np.where((errors > expected) & np.isfinite(gain), gain, -1.0)
    days = [(one - stream.dates[0]).days for one in stream.dates]
    gain[np.array(days) < after] = -1.0
    return stream.dates[int(gain.argmax())].isoformat()
