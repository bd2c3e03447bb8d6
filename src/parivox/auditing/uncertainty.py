"""How sure the numbers of one grouping's cells are: intervals of every metric, gates.

Rates have intervals in closed form (:mod:`~parivox.auditing.intervals`); all else is told from the
draws of the bootstrap over speakers, and beside them stand the draws of a fair system
(:mod:`~parivox.auditing.nulls`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.crossfit import LEAST
from parivox.auditing.estimates import place_of_rate
from parivox.auditing.failures import STAGES
from parivox.auditing.intervals import cells_of, of_speakers, spread_of_draws
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.core.measures import base_metric
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.intervals import RateIntervals
    from parivox.auditing.nulls import Nulls
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.core.resampling import Scale

_COLUMNS = ("low", "high", "interval", "deff", "n_eff", "df", "se", "note")


@dataclass(frozen=True, kw_only=True, eq=False)
class Uncertainty:
    """Of the groups of one grouping under one allocation, within one level.

    Attributes
    ----------
    groups, pooled : SpeakerErrors
        Errors and trials by speaker and by pair, of each group and of all of them.
    intervals : RateIntervals
        Of both rates.
    nulls : Nulls
        Draws of a fair system; none of all trials, which have no groups.
    draws : Estimates or None
        Base metrics of the same cells in each draw, the pooled one last; None if there are none.
    crossed : float64 ndarray of shape (cost, group)
        Threshold bias cross-fitted over speakers; NaN without draws, or of few speakers.
    failed : (SpeakerFailures, SpeakerFailures)
        Recordings that failed, of the groups and of all of them.
    points : dict of str to int
        Operating points, with the place of each.
    options : Options
    why : str
        Why there are no draws.
    in_blocks : bool
        Whether speakers are taken in blocks.
    """

    groups: SpeakerErrors
    pooled: SpeakerErrors
    intervals: RateIntervals
    nulls: Nulls
    draws: Estimates | None
    crossed: FloatArray
    failed: tuple[SpeakerFailures, SpeakerFailures]
    points: Mapping[str, int]
    options: Options
    why: str
    in_blocks: bool

    def speakers_behind(self, metrics: Sequence[str]) -> NDArray[np.int64]:
        """Speakers behind each of some metrics, ``[metric, cell]``, the pooled row last.

        Of a rate of one class of trials those of that class; else of the smaller class.
        """
        rows = []
        for one in map(base_metric, metrics):
            is_rate = one.needs in {"points", "attempts"} and one.of != "both"
            metric = "fnr" if one.of == "target" else "fpr"
            rows.append(self.intervals.speakers[metric] if is_rate else self.speakers)
        return np.stack(rows)

    @property
    def speakers(self) -> NDArray[np.int64]:
        """Speakers behind the smaller class of trials, ``[cell]``, the pooled row last."""
        return self.intervals.fewest


def crossed_of(crossed: FloatArray | None, costs: int, speakers: NDArray[np.int64]) -> FloatArray:
    """Cross-fitted threshold bias of the groups ``[cost, group]``; NaN of few speakers."""
    own = speakers[:-1]
    if crossed is None:
        return np.full((costs, own.size), np.nan)
    return np.where(own < LEAST, np.nan, crossed[:, :-1])


def interval_columns(of: Uncertainty, data: Estimates) -> list[dict[str, list[Any]]]:
    """The columns of uncertainty of each cell's base metrics, the pooled row last."""
    keys, values = data.keys, data.values
    table = {
        name: np.full(values.shape, np.nan) for name in ("low", "high", "deff", "n_eff", "df", "se")
    }
    words = {name: np.full(values.shape, "", dtype=object) for name in ("interval", "note")}
    _from_draws(of, keys, values, table, words)
    for i, key in enumerate(keys):
        metric, at = key[0], place_of_rate(key, of.points)
        if at is not None:
            found = of.intervals.rates[metric]
            for name, numbers in table.items():
                numbers[i] = getattr(found, name)[at]
            words["interval"][i], words["note"][i] = found.method[at], found.note[at]
        elif metric in STAGES or key[1] == ATTEMPTS:
            _of_failures(of, i, metric, of.points.get(key[2], 0), table, words)
        elif base_metric(metric).needs == "pooled" and of.draws is not None:
            words["note"][i, -1] = "the reference itself"
        elif key[1] == SHARES and metric.endswith("far"):
            _without_accepts(of, i, key[2], values[i], table, words)
    unknown = np.isnan(values)
    for numbers in table.values():
        numbers[unknown] = np.nan
    for texts in words.values():
        texts[unknown] = ""
    every = {**table, **words}
    return [{name: every[name][:, j].tolist() for name in _COLUMNS} for j in range(values.shape[1])]


def _without_accepts(
    of: Uncertainty,
    row: int,
    point: str,
    values: FloatArray,
    table: Mapping[str, FloatArray],
    words: Mapping[str, NDArray[np.object_]],
) -> None:
    """Where nobody was let in, FAR is at most what FPR may be."""
    found, at = of.intervals.rates["fpr"], of.points[point]
    none = (values == 0) & (found.rate[at] == 0) & ~np.isnan(found.high[at])
    table["low"][row][none], table["high"][row][none] = 0.0, found.high[at][none]
    words["interval"][row][none] = found.method[at][none]
    words["note"][row][none] = "as of FPR"


def _of_failures(
    of: Uncertainty,
    row: int,
    metric: str,
    at: int,
    table: Mapping[str, FloatArray],
    words: Mapping[str, NDArray[np.object_]],
) -> None:
    """Fill in the interval of a rate of failed recordings, or of attempts at a point."""
    both = [one.interval(metric, of.options.confidence, of.options.gates) for one in of.failed]
    for interval, cells in zip(both, (slice(0, -1), slice(-1, None)), strict=True):
        if interval is None:
            continue
        for name, numbers in table.items():
            numbers[row, cells] = getattr(interval, name)[at]
        is_closed = interval.method == "speakers"
        words["interval"][row, cells] = np.where(
            is_closed, of_speakers(of.in_blocks), interval.method
        )[at]
        words["note"][row, cells] = interval.note[at]


def _from_draws(
    of: Uncertainty,
    keys: Sequence[Key],
    values: FloatArray,
    table: Mapping[str, FloatArray],
    words: Mapping[str, NDArray[np.object_]],
) -> None:
    """Fill in what the draws tell."""
    if of.draws is None:
        words["note"][:] = f"no interval: {of.why}"
        return
    words["note"][:] = "no interval: not resampled"
    place = {key: i for i, key in enumerate(of.draws.keys)}
    gates, confidence = of.options.gates, of.options.confidence
    for kind in ("zero", "linear", "one"):
        scale: Scale = "linear" if kind == "linear" else "log"
        is_one = kind == "one"
        rows = [
            i for i, key in enumerate(keys) if key in place and base_metric(key[0]).scale == kind
        ]
        if not rows:
            continue
        speakers = of.speakers_behind([keys[i][0] for i in rows])
        df = np.where(speakers < gates.inference, np.nan, speakers - 1.0)
        drawn, centre = of.draws.values[:, [place[keys[i]] for i in rows]], values[rows]
        if is_one:
            centre, drawn = 1 - centre, 1 - drawn
        found = from_replicates(centre, drawn, df, scale=scale, confidence=confidence)
        low, high = (1 - found.high, 1 - found.low) if is_one else (found.low, found.high)
        known = ~np.isnan(high)
        most = np.array([base_metric(keys[i][0]).bounds[1] for i in rows])[:, None]
        high = np.where(known, np.minimum(high, most), high)
        low = np.where(known & is_one, np.maximum(low, 0), low)
        table["low"][rows], table["high"][rows] = low, high
        table["se"][rows] = np.where(known, spread_of_draws(drawn), np.nan)
        table["df"][rows] = np.where(known, df, np.nan)
        words["interval"][rows] = np.where(known, "bootstrap", "")
        none = np.strings.add("no interval: ", found.reason)
        reason = np.where(np.isnan(df), gates.too_few, none)
        share = np.round(100 * found.dropped, 1).astype(np.str_)
        lost = np.strings.add(np.strings.add("undefined in ", share), " % of the replicates")
        words["note"][rows] = np.where(known, np.where(found.dropped > 0, lost, ""), reason)


# --- gates ---------------------------------------------------------------------------------------


def missing_for_gates(of: Uncertainty, metric: str, point: str) -> list[str]:
    """What each group lacks for a rate to count, in words; empty where it lacks nothing."""
    asked, at = of.options.gates, of.points[point]
    found = cells_of(of.intervals.rates[metric], slice(0, -1))
    own = of.intervals.moments[metric]
    speakers = of.intervals.speakers[metric][:-1]
    effective = (found.rate * found.n_eff)[at]
    pairs = np.broadcast_to(own.pairs, own.rate.shape)[at]
    lacks: list[list[str]] = [[] for _ in speakers]
    for i, n in enumerate(speakers.tolist()):
        if n < asked.speakers:
            lacks[i].append(f"{n} speakers")
        if not effective[i] >= asked.errors:
            lacks[i].append(f"{np.nan_to_num(effective[i]):.2g} effective errors")
        if metric == "fpr" and pairs[i] < asked.pairs:
            lacks[i].append(f"{int(pairs[i])} pairs of speakers")
    return ["; ".join(one) for one in lacks]


def groups_passed(of: Uncertainty, keys: Sequence[Key] = ()) -> NDArray[np.bool_]:
    """Groups that count in headline meta-measures, ``[key, group]``; without keys ``[group]``.

    Rates are asked for what gates ask of them; other metrics, which join both classes of
    trials, for speakers and pairs of speakers.
    """
    asked, pairs = of.options.gates, of.groups.nontarget.pairs
    enough = np.asarray((of.speakers[:-1] >= asked.speakers) & (pairs >= asked.pairs))
    if not keys:
        return enough
    found = np.repeat(enough[None], len(keys), axis=0)
    for i, key in enumerate(keys):
        if place_of_rate(key, of.points) is not None:
            found[i] = [not lacks for lacks in missing_for_gates(of, key[0], key[2])]
    return found


def beyond_noise(uncertainty: Uncertainty, rates: Estimates) -> dict[str, dict[str, Any]]:
    """Spread of rates beyond what speakers make of it, by measure, in order of keys.

    Parameters
    ----------
    uncertainty
        Of the groups.
    rates
        Both rates at every operating point; undefined for groups that do not count.
    """
    found, points = uncertainty.intervals.rates, uncertainty.points
    n_eff = [found[key[0]].n_eff[points[key[2]], :-1] for key in rates.keys]
    return uncertainty.nulls.corrected(rates, np.stack(n_eff))
