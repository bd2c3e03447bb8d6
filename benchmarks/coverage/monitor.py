"""A stream looked at every day of a year: how often are alarms false, how late are true ones?

Speakers differ in how often they err (beta) and in how often they call (gamma), and call again and
again. Then decisions of real systems are replayed as a stream: one system from some day on in the
place of another, or with rates that vary from day to day for everyone or for each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from benchmarks.coverage import corpora, real
from benchmarks.coverage.records import Row, mean, stream
from scipy.special import ndtri

from parivox.core.sequential import (
    DailySquares,
    JointMoments,
    SpeakerMoments,
    day_variation_p,
    intra_class_correlation,
    log_evidence,
    score,
)
from parivox.monitoring.daily_tests import (
    BEFORE,
    DAY_LEVEL,
    MIN_EARLIER_WEEKS,
    MIN_SPEAKERS,
    OTHERS,
    allowed_day_sd,
)
from parivox.monitoring.stream import DAY_SD, DAYS_PER_WEEK, MAX_START_WEEKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray
    from numpy.typing import NDArray

    BoolArray = NDArray[np.bool_]
    Days = Iterator[tuple[FloatArray, FloatArray]]

DATASETS = 1000
DAYS = 365
ALPHA = 0.05
AT_ONCE = 100
ANY_REFERENCE = "any"


class Case(NamedTuple):
    """Speakers of each group, rate, correlation, calls a day, their shape; a rise; the margin."""

    speakers: tuple[int, ...]
    rate: float = 0.05
    icc: float = 0.12
    calls: float = 0.3
    shape: float = 1.0
    times: float = 1.0
    margin: float = 1.0

    @property
    def name(self) -> str:
        """Of its cell."""
        size = "+".join(map(str, self.speakers))
        rise = f"/times {self.times:g}/margin {self.margin:g}" if self.times > 1 else ""
        return f"monitor/{size}/{self.rate:g}/icc {self.icc:g}/{self.calls:g} a day{rise}"


CASES = (
    Case((60, 240)),
    Case((20, 20, 20, 200)),
    Case((30, 150), rate=0.02, calls=1.0),
    Case((30, 150), rate=0.1, icc=0.3, shape=0.25),
    Case((200, 800), times=2.0),
    Case((200, 800), times=2.0, margin=1.25),
    Case((60, 240), times=2.0),
)
RISE = 182
"""Day on which the rate of the first group rises."""
LENGTH, A_DAY = 140, 600


class Replay(NamedTuple):
    """A stream of real decisions: who decides, and how much rates vary from day to day.

    ``common_sd`` and ``group_sd`` are standard deviations of the logarithm of the FNR of a day: of
    everyone's, and of each group's by itself.
    """

    name: str
    rise: int = LENGTH  # day from which on the second system decides
    common_sd: float = 0.0
    group_sd: float = 0.0
    is_tested: bool = True  # False: nothing is allowed for, and nothing held back


REPLAYS = (
    Replay("V2 throughout"),
    Replay("V2, then L", rise=60),
    Replay("V2, days of .25", common_sd=0.25),
    Replay("V2, days of .5", common_sd=0.5),
    Replay("V2, days of 1", common_sd=1.0),
    Replay("V2, days of .25 by group", group_sd=0.25),
    Replay("V2, days of .35 by group", group_sd=0.35),
    Replay("V2, days of .5 by group", group_sd=0.5),
    Replay("V2, days of .75 by group", group_sd=0.75),
    Replay("V2, days of 1 by group", group_sd=1.0),
    Replay("V2, days of .25 by group, untested", group_sd=0.25, is_tested=False),
    Replay("V2, days of .5, untested", common_sd=0.5, is_tested=False),
    Replay("V2, days of .5 by group, untested", group_sd=0.5, is_tested=False),
    Replay("V2, then L, days of .1 by group", rise=60, group_sd=0.1),
    Replay("V2, then L, days of .2 by group", rise=60, group_sd=0.2),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each case; a row for each thing that groups are held against."""
    for case in CASES:
        if not is_wanted(case.name):
            continue
        rng, batches = stream(seed, case.name), []
        speaker_group = np.repeat(np.arange(len(case.speakers)), case.speakers)
        n = datasets if case.times == 1 else -(-datasets // 5)
        rise = RISE if case.times > 1 else None
        for start in range(0, n, AT_ONCE):
            days = _simulated(case, speaker_group, min(AT_ONCE, n - start), rng)
            batches.append(_watched(days, speaker_group, case.margin, rise))
        labels: Row = {"cell": case.name, "speakers": "+".join(map(str, case.speakers))}
        labels |= {"rate": case.rate, "icc": case.icc, "calls": case.calls, "times": case.times}
        labels |= {"margin": case.margin, "alpha": ALPHA, "streams": n}
        yield [labels | row for row in _alarm_rows(batches, rise)]
    for replay in REPLAYS:
        cell = f"monitor/real/{replay.name}"
        if not is_wanted(cell):
            continue
        n, rng = -(-datasets // 5), stream(seed, cell)
        batches = [_replayed(replay, rng, n)]
        labels = {"cell": cell, "speakers": "f, m of H", "margin": 1.25, "alpha": ALPHA}
        rise_day = replay.rise if replay.rise < LENGTH else None
        yield [
            labels | {"replay": replay.name, "streams": n} | row
            for row in _alarm_rows(batches, rise_day)
        ]


def _simulated(case: Case, speaker_group: IntArray, streams: int, rng: np.random.Generator) -> Days:
    """Errors and calls of each day, ``[stream, speaker]``."""
    strength = 1 / case.icc - 1
    size = (streams, speaker_group.size)
    rate = rng.beta(case.rate * strength, (1 - case.rate) * strength, size)
    calls = case.calls * rng.gamma(case.shape, 1 / case.shape, size)
    for day in range(DAYS):
        trials = rng.poisson(calls)
        rises = (speaker_group == 0) & (day >= RISE)
        now = np.where(rises, np.minimum(rate * case.times, 1), rate)
        yield rng.binomial(trials, now).astype(np.float64), trials.astype(np.float64)


def _replayed(replay: Replay, rng: np.random.Generator, streams: int) -> _Alarms:
    """Target trials of VoxCeleb1-H in random order, each system at its FPR of 1 %.

    Where rates vary, the threshold of a group and day is the one at which its FNR is what that of
    the group is at the system's threshold, times the factor of the day.
    """
    systems = [corpora.voxceleb(system) for system in ("V2", "L")]
    trials = systems[0]
    rows = np.flatnonzero(trials.target)
    speaker, n = trials.first_speaker[rows], trials.group.size
    sex = np.array([name[0] == "m" for name in trials.names])[trials.group].astype(np.int64)
    scores = [system_trials.score[rows] for system_trials in systems]
    is_all = np.ones(trials.target.size, dtype=bool)
    limits = [real.threshold(system_trials, "fpr", 0.01, is_all) for system_trials in systems]
    ranked = [[np.sort(score[sex[speaker] == g]) for g in (0, 1)] for score in scores]
    trial_order = np.argsort(rng.random((streams, speaker.size)), axis=1)[:, : LENGTH * A_DAY]
    start = np.arange(streams)[:, None] * n

    def days() -> Days:
        for day in range(LENGTH):
            day_trials = trial_order[:, day * A_DAY : (day + 1) * A_DAY]
            speaker_cells = (start + speaker[day_trials]).ravel()
            system = int(day >= replay.rise)
            common = replay.common_sd * rng.standard_normal((streams, 1))
            group_effect = replay.group_sd * rng.standard_normal((streams, 2))
            variance = replay.common_sd**2 + replay.group_sd**2
            factor = np.exp(common + group_effect - variance / 2)  # of mean 1
            threshold = np.empty((streams, 2))
            for g, ordered in enumerate(ranked[system]):
                below = np.searchsorted(ordered, limits[system])
                rank = np.minimum((below * factor[:, g]).astype(np.int64), ordered.size - 1)
                threshold[:, g] = ordered[rank]
            is_error = scores[system][day_trials] < np.take_along_axis(
                threshold, sex[speaker[day_trials]], axis=1
            )
            errors, calls = (
                np.bincount(speaker_cells, weights, streams * n)
                .reshape(streams, n)
                .astype(np.float64)
                for weights in (is_error.ravel(), np.ones(speaker_cells.size))
            )
            yield errors, calls

    rise = replay.rise if replay.rise < LENGTH else None
    return _watched(days(), sex, 1.25, rise, is_tested=replay.is_tested)


class _Alarms(NamedTuple):
    """By what groups are held against."""

    first_alarms: dict[str, IntArray]  # [stream, group]: day of the first alarm, `DAYS` for none
    varying: dict[str, BoolArray]  # [stream, group]: not judged on the last day, as rates vary
    once: FloatArray | None  # [day since the rise, stream]: one look that knows the day of the rise


def _watched(
    days: Days, speaker_group: IntArray, margin: float, rise: int | None, *, is_tested: bool = True
) -> _Alarms:
    """Look every day, at the days from each week on: sums of products with those before it.

    Sums over days from a week on are those of all days less those before, so that only products of
    both have to be added up anew.
    """
    sd = DAY_SD if is_tested else 0.0
    groups = [np.flatnonzero(speaker_group == g) for g in range(int(speaker_group.max()) + 1)]
    limit = np.log(2 * len(groups) * MAX_START_WEEKS / ALPHA)
    level = -ndtri(ALPHA / (2 * len(groups)))
    first_alarms: dict[str, IntArray] = {}
    varying: dict[str, BoolArray] = {}
    total, before, once = np.zeros(0), np.zeros(0), list[Any]()
    since = total
    by_day: list[FloatArray] = []  # [stream, what, group] of each day
    squares = np.zeros(0)  # [stream, week, side, group]
    for day, counts in enumerate(days):
        today = np.stack(counts, axis=-1)  # [stream, speaker, what]
        if not day:
            total = np.zeros_like(today)
            before = np.zeros((len(today), MAX_START_WEEKS, *today.shape[1:]))
            first_alarms = {
                name: np.full((len(today), len(groups)), DAYS) for name in (OTHERS, BEFORE)
            }
            squares = np.zeros((len(today), MAX_START_WEEKS, 2, len(groups)))
        week = min(day // DAYS_PER_WEEK, MAX_START_WEEKS - 1)
        if day == week * DAYS_PER_WEEK:
            before[:, week] = total
        total += today
        earlier = before[:, : week + 1]
        if rise is not None and day == rise:  # it need not be the first day of a week
            since = total - today
        sides = [_sums(earlier[:, :, members], total[:, members]) for members in groups]
        now, past = (_moments([side[i] for side in sides]) for i in (0, 1))
        shared = JointMoments(*_stacked([side[2] for side in sides]))
        all_sums = {name: sums.sum(axis=-1, keepdims=True) for name, sums in vars(now).items()}
        everyone = SpeakerMoments(**all_sums)
        other_groups = everyone.excluding(now)
        rho = intra_class_correlation(now.select((slice(None), 0)))[:, None, None]
        by_day.append(_products(today, groups))
        trials = by_day[-1][:, 1]
        other_trials = trials.sum(axis=-1, keepdims=True) - trials
        squares[:, : week + 1] += np.stack((trials, other_trials), axis=1)[:, None] ** 2
        evidence = _evidence(
            (now, past, other_groups), shared, by_day, squares[:, : week + 1], margin, rho, sd
        )
        for name, (of_week, p) in evidence.items():
            varying[name] = p <= DAY_LEVEL
            is_alarm = of_week.max(axis=1) >= limit
            if is_tested:
                is_alarm &= ~varying[name]
            first_alarms[name][is_alarm & (first_alarms[name] == DAYS)] = day
        if rise is not None and day >= rise:
            members = groups[0]
            a, b, c = _sums(since[:, None, members], total[:, members])
            excess, variance = score(a, b, margin, correlation=rho[:, 0], shared=c)
            once.append((excess > level * np.sqrt(variance))[:, 0])
    small = [len(members) < MIN_SPEAKERS for members in groups]
    for days_of in first_alarms.values():
        days_of[:, small] = DAYS
    return _Alarms(first_alarms, varying, np.array(once, dtype=np.float64) if once else None)


def _evidence(
    moments: tuple[SpeakerMoments, SpeakerMoments, SpeakerMoments],
    shared: JointMoments,
    by_day: list[FloatArray],
    squares: FloatArray,
    margin: float,
    correlation: FloatArray,
    sd: float,
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Evidence of each week and p of the test of day-to-day variation, by what is held against."""
    now, past, other_groups = moments
    group_squares, of_others = np.moveaxis(squares, 2, 0)
    days = SpeakerMoments(*np.moveaxis(np.stack(by_day), 2, 0).swapaxes(1, 2))
    other_sums = {
        name: sums.sum(axis=-1, keepdims=True) - sums for name, sums in vars(days).items()
    }
    other_days = SpeakerMoments(**other_sums)
    p, pairs = day_variation_p(days, other_days, sd)
    daily = DailySquares(group_squares, of_others, _allowed(sd, pairs))
    scores = score(now, other_groups, margin, correlation=correlation, daily=daily)
    evidence = {OTHERS: (log_evidence(*scores), p)}
    if group_squares.shape[1] > MIN_EARLIER_WEEKS:
        p, pairs = day_variation_p(days, None, sd)
        daily = DailySquares(
            group_squares, group_squares[:, :1] - group_squares, _allowed(sd, pairs)
        )
        scores = score(now, past, margin, correlation=correlation, shared=shared, daily=daily)
        evidence[BEFORE] = (log_evidence(*scores)[:, MIN_EARLIER_WEEKS:], p)
    return evidence


def _allowed(sd: float, pairs: IntArray) -> FloatArray:
    """Variation that is allowed for, ``[stream, week, group]``; 0 stands for an untested stream."""
    return (allowed_day_sd(sd, pairs) if sd else np.zeros(pairs.shape))[:, None]


def _products(today: FloatArray, groups: list[IntArray]) -> FloatArray:
    """Sums over the speakers of each group of what `Moments` holds, ``[stream, what, group]``."""
    errors, trials = today[..., 0], today[..., 1]
    products = (errors, trials, errors * errors, errors * trials, trials * trials)
    return np.stack(
        [[product[:, members].sum(axis=1) for members in groups] for product in products]
    ).transpose(2, 0, 1)


def _sums(
    before: FloatArray, total: FloatArray
) -> tuple[SpeakerMoments, SpeakerMoments, JointMoments]:
    """Of the days since, of those before, and of both, ``[stream, week]``."""
    earlier_sums, all_sums = before.sum(axis=2), total.sum(axis=1)[:, None]
    with_now = [[(before[..., i] @ total[..., j, None])[..., 0] for j in (0, 1)] for i in (0, 1)]
    pairs = ((0, 0), (0, 1), (1, 1))
    past = [np.einsum("skn,skn->sk", before[..., i], before[..., j]) for i, j in pairs]
    all_products = [np.einsum("sn,sn->s", total[..., i], total[..., j])[:, None] for i, j in pairs]
    since = [
        all_products[p] - with_now[i][j] - with_now[j][i] + past[p]
        for p, (i, j) in enumerate(pairs)
    ]
    later_sums = all_sums - earlier_sums
    shared = JointMoments(
        with_now[0][0] - past[0],
        with_now[1][0] - past[1],
        with_now[0][1] - past[1],
        with_now[1][1] - past[2],
    )
    return (
        SpeakerMoments(later_sums[..., 0], later_sums[..., 1], *since),
        SpeakerMoments(earlier_sums[..., 0], earlier_sums[..., 1], *past),
        shared,
    )


def _moments(group_sums: list[Any]) -> SpeakerMoments:
    return SpeakerMoments(*_stacked(group_sums))


def _stacked(group_sums: list[Any]) -> Iterator[FloatArray]:
    """Sums of all groups, ``[..., group]``."""
    return (
        np.stack([vars(sums)[name] for sums in group_sums], axis=-1) for name in vars(group_sums[0])
    )


def _alarm_rows(batches: list[_Alarms], rise: int | None) -> Iterator[Row]:
    days_by_reference = {
        name: np.concatenate([batch.first_alarms[name] for batch in batches])
        for name in (OTHERS, BEFORE)
    }
    if rise is None:
        days_by_reference[ANY_REFERENCE] = np.concatenate([*days_by_reference.values()], axis=1)
    for name, first_alarms in days_by_reference.items():
        if rise is None:
            alarms = np.any(first_alarms < DAYS, axis=1, keepdims=True).astype(np.float64)
            row = {"against": name, **mean(alarms, "alarms")}
            if name != ANY_REFERENCE:
                varying = np.concatenate([batch.varying[name] for batch in batches])
                is_held = np.asarray(varying.any(axis=1, keepdims=True), dtype=np.float64)
                row |= mean(is_held, "varying")
            yield row
            continue
        alarm_days = first_alarms[:, 0].astype(np.float64)
        row = {"against": name, **mean((alarm_days < rise).astype(np.float64)[:, None], "before")}
        delay = np.where(alarm_days < DAYS, alarm_days - rise, np.inf)
        delay = delay[delay >= 0]
        row |= {f"delay_{100 * q:.0f}": _quantile(delay, q) for q in (0.5, 0.8)}
        row |= {"found": float(np.mean(np.isfinite(delay)))}
        once = [batch.once for batch in batches if batch.once is not None]
        if name == BEFORE and once:
            power: FloatArray = np.mean(np.concatenate(once, axis=1), axis=1)
            for q in (0.5, 0.8):
                reached = np.flatnonzero(power >= q)
                row[f"once_{100 * q:.0f}"] = int(reached[0]) + 1 if reached.size else None
        yield row


def _quantile(delay: Any, q: float) -> int | None:
    """Days until an alarm in a share of the streams, the day itself being the first."""
    quantile = np.quantile(delay, q, method="inverted_cdf")
    return int(quantile) + 1 if np.isfinite(quantile) else None
