"""A stream looked at every day of a year: how often are alarms false, how late are true ones?

Speakers differ in how often they err (beta) and in how often they call (gamma), and call again and
again. Then decisions of real systems are replayed as a stream, one system from some day on in the
place of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from benchmarks.coverage import real
from benchmarks.coverage.records import Row, mean, stream
from scipy.special import ndtri

from parivox.core.sequential import (
    Moments,
    Shared,
    intra_class_correlation,
    log_evidence,
    score,
)
from parivox.monitoring.stream import STARTS, WEEK
from parivox.monitoring.watching import BEFORE, FIRST, LEAST, OTHERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.coverage.simulate import FloatArray, IntArray

    Days = Iterator[tuple[FloatArray, FloatArray]]

DATASETS = 1000
DAYS = 365
ALPHA = 0.05
AT_ONCE = 100
ANY = "any"


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
REPLAYS = {"V2 throughout": 140, "V2, then L": 60}
"""Day from which on the second system decides; of 140 days."""
LENGTH, A_DAY = 140, 600


def study(datasets: int, seed: int, wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study each case; a row for each thing that groups are held against."""
    for case in CASES:
        if not wanted(case.name):
            continue
        rng, found = stream(seed, case.name), []
        of = np.repeat(np.arange(len(case.speakers)), case.speakers)
        n = datasets if case.times == 1 else -(-datasets // 5)
        rise = RISE if case.times > 1 else None
        for first in range(0, n, AT_ONCE):
            days = _simulated(case, of, min(AT_ONCE, n - first), rng)
            found.append(_watched(days, of, case.margin, rise))
        where: Row = {"cell": case.name, "speakers": "+".join(map(str, case.speakers))}
        where |= {"rate": case.rate, "icc": case.icc, "calls": case.calls, "times": case.times}
        where |= {"margin": case.margin, "alpha": ALPHA, "streams": n}
        yield [where | row for row in _told(found, rise)]
    for name, rise in REPLAYS.items():
        cell = f"monitor/real/{name}"
        if not wanted(cell):
            continue
        n = -(-datasets // 10)
        found = [_replayed(stream(seed, cell), n, rise)]
        where = {"cell": cell, "speakers": "f, m of H", "margin": 1.25, "alpha": ALPHA}
        told = rise if rise < LENGTH else None
        yield [where | {"replay": name, "streams": n} | row for row in _told(found, told)]


def _simulated(case: Case, of: IntArray, streams: int, rng: np.random.Generator) -> Days:
    """Errors and calls of each day, ``[stream, speaker]``."""
    strength = 1 / case.icc - 1
    size = (streams, of.size)
    rate = rng.beta(case.rate * strength, (1 - case.rate) * strength, size)
    calls = case.calls * rng.gamma(case.shape, 1 / case.shape, size)
    for day in range(DAYS):
        trials = rng.poisson(calls)
        rises = (of == 0) & (day >= RISE)
        now = np.where(rises, np.minimum(rate * case.times, 1), rate)
        yield rng.binomial(trials, now).astype(np.float64), trials.astype(np.float64)


def _replayed(rng: np.random.Generator, streams: int, rise: int) -> _Found:
    """Target trials of VoxCeleb1-H in random order, each system at its FPR of 1 %."""
    both = [real.voxceleb(system) for system in ("V2", "L")]
    own = [np.flatnonzero(one.target) for one in both]
    errors = [
        one.score[rows] < real.threshold(one, "fpr", 0.01, np.ones(one.target.size, dtype=bool))
        for one, rows in zip(both, own, strict=True)
    ]
    speaker, n = both[0].one[own[0]], both[0].group.size
    sex = np.array([name[0] == "m" for name in both[0].names])[both[0].group].astype(np.int64)
    place = np.argsort(rng.random((streams, speaker.size)), axis=1)[:, : LENGTH * A_DAY]
    start = np.arange(streams)[:, None] * n

    def days() -> Days:
        for day in range(LENGTH):
            rows = place[:, day * A_DAY : (day + 1) * A_DAY]
            at = (start + speaker[rows]).ravel()
            wrong = errors[day >= rise][rows].ravel()
            found, calls = (
                np.bincount(at, weights, streams * n).reshape(streams, n).astype(np.float64)
                for weights in (wrong, np.ones(at.size))
            )
            yield found, calls

    return _watched(days(), sex, 1.25, rise if rise < LENGTH else None)


class _Found(NamedTuple):
    """By what groups are held against."""

    first: dict[str, IntArray]  # [stream, group]: day of the first alarm, `DAYS` for none
    once: FloatArray | None  # [day since the rise, stream]: one look that knows the day of the rise


def _watched(days: Days, of: IntArray, margin: float, rise: int | None) -> _Found:
    """Look every day, at the days from each week on: sums of products with those before it.

    Sums over days from a week on are those of all days less those before, so that only products of
    both have to be added up anew.
    """
    groups = [np.flatnonzero(of == g) for g in range(int(of.max()) + 1)]
    limit = np.log(2 * len(groups) * STARTS / ALPHA)
    level = -ndtri(ALPHA / (2 * len(groups)))
    first: dict[str, IntArray] = {}
    total, before, once = np.zeros(0), np.zeros(0), list[Any]()
    since = total
    for day, both in enumerate(days):
        today = np.stack(both, axis=-1)  # [stream, speaker, what]
        if not day:
            total = np.zeros_like(today)
            before = np.zeros((len(today), STARTS, *today.shape[1:]))
            first = {name: np.full((len(today), len(groups)), DAYS) for name in (OTHERS, BEFORE)}
        week = min(day // WEEK, STARTS - 1)
        if day == week * WEEK:
            before[:, week] = total
        total += today
        known = before[:, : week + 1]
        if rise is not None and day == rise:  # it need not be the first day of a week
            since = total - today
        sides = [_sums(known[:, :, at], total[:, at]) for at in groups]
        now, past = (_moments([one[i] for one in sides]) for i in (0, 1))
        shared = Shared(*_stacked([one[2] for one in sides]))
        everyone = Moments(*(one.sum(axis=-1, keepdims=True) for one in vars(now).values()))
        rest = everyone.without(now)
        rho = intra_class_correlation(now.at((slice(None), 0)))[:, None, None]
        evidence = {OTHERS: log_evidence(*score(now, rest, margin, correlation=rho))}
        if week >= FIRST:
            found = score(now, past, margin, correlation=rho, shared=shared)
            evidence[BEFORE] = log_evidence(*found)[:, FIRST:]
        for name, of_week in evidence.items():
            is_first = (of_week.max(axis=1) >= limit) & (first[name] == DAYS)
            first[name][is_first] = day
        if rise is not None and day >= rise:
            at = groups[0]
            a, b, c = _sums(since[:, None, at], total[:, at])
            excess, variance = score(a, b, margin, correlation=rho[:, 0], shared=c)
            once.append((excess > level * np.sqrt(variance))[:, 0])
    small = [len(at) < LEAST for at in groups]
    for days_of in first.values():
        days_of[:, small] = DAYS
    return _Found(first, np.array(once, dtype=np.float64) if once else None)


def _sums(before: FloatArray, total: FloatArray) -> tuple[Moments, Moments, Shared]:
    """Of the days since, of those before, and of both, ``[stream, week]``."""
    then, whole = before.sum(axis=2), total.sum(axis=1)[:, None]
    with_now = [[(before[..., i] @ total[..., j, None])[..., 0] for j in (0, 1)] for i in (0, 1)]
    pairs = ((0, 0), (0, 1), (1, 1))
    past = [np.einsum("skn,skn->sk", before[..., i], before[..., j]) for i, j in pairs]
    every = [np.einsum("sn,sn->s", total[..., i], total[..., j])[:, None] for i, j in pairs]
    since = [every[p] - with_now[i][j] - with_now[j][i] + past[p] for p, (i, j) in enumerate(pairs)]
    left = whole - then
    shared = Shared(
        with_now[0][0] - past[0],
        with_now[1][0] - past[1],
        with_now[0][1] - past[1],
        with_now[1][1] - past[2],
    )
    return (
        Moments(left[..., 0], left[..., 1], *since),
        Moments(then[..., 0], then[..., 1], *past),
        shared,
    )


def _moments(of: list[Any]) -> Moments:
    return Moments(*_stacked(of))


def _stacked(of: list[Any]) -> Iterator[FloatArray]:
    """Sums of all groups, ``[..., group]``."""
    return (np.stack([vars(one)[name] for one in of], axis=-1) for name in vars(of[0]))


def _told(found: list[_Found], rise: int | None) -> Iterator[Row]:
    every = {name: np.concatenate([one.first[name] for one in found]) for name in (OTHERS, BEFORE)}
    if rise is None:
        every[ANY] = np.concatenate([*every.values()], axis=1)
    for name, first in every.items():
        if rise is None:
            alarms = np.any(first < DAYS, axis=1, keepdims=True) * 1.0
            yield {"against": name, **mean(alarms, "alarms")}
            continue
        own = first[:, 0].astype(np.float64)
        row = {"against": name, **mean((own < rise).astype(np.float64)[:, None], "before")}
        delay = np.where(own < DAYS, own - rise, np.inf)
        delay = delay[delay >= 0]
        row |= {f"delay_{100 * q:.0f}": _quantile(delay, q) for q in (0.5, 0.8)}
        row |= {"found": float(np.mean(np.isfinite(delay)))}
        once = [one.once for one in found if one.once is not None]
        if name == BEFORE and once:
            power: FloatArray = np.mean(np.concatenate(once, axis=1), axis=1)
            for q in (0.5, 0.8):
                reached = np.flatnonzero(power >= q)
                row[f"once_{100 * q:.0f}"] = int(reached[0]) + 1 if reached.size else None
        yield row


def _quantile(delay: Any, q: float) -> int | None:
    """Days until an alarm in a share of the streams, the day itself being the first."""
    value = np.quantile(delay, q, method="inverted_cdf")
    return int(value) + 1 if np.isfinite(value) else None
