"""How sure the numbers of one grouping's cells are: intervals, gates, and what tells them.

Rates at operating points have intervals in closed form over speakers
(:func:`rate_intervals`); all else is told from the draws of the bootstrap over speakers.
:class:`Uncertainty` holds both beside the draws of a fair system (:mod:`~parivox.auditing.nulls`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.crossfit import LEAST
from parivox.auditing.estimates import place_of_rate
from parivox.auditing.failures import STAGES
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.core.intervals import (
    Interval,
    clopper_pearson,
    jeffreys,
    other_kappa2,
    rate_interval,
    wilson,
)
from parivox.core.measures import RATES, base_metric
from parivox.core.moments import moments, over
from parivox.core.ratios import disjoint, others, ratio_interval, to_pooled
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.nulls import Nulls
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.core.moments import Moments
    from parivox.core.ratios import Ratio
    from parivox.core.resampling import Scale
    from parivox.core.tallies import ByPair, BySpeaker

__all__ = [
    "RateIntervals",
    "Uncertainty",
    "groups_passed",
    "interval_columns",
    "missing_for_gates",
    "rate_intervals",
    "ratio_to",
]

_NAIVE = {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}
_COLUMNS = ("low", "high", "interval", "deff", "n_eff", "df", "se", "note")


# --- rates at operating points ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RateIntervals:
    """Intervals of both rates of the groups of one grouping, by ``"fpr"`` and ``"fnr"``.

    Attributes
    ----------
    moments : dict of str to Moments
        How the speakers of each group vary, ``[point, group]``.
    speakers : dict of str to int64 ndarray of shape (cell,)
        Speakers behind each rate, the pooled row last.
    rates : dict of str to Interval
        ``[point, cell]``, the pooled row last.
    are_disjoint : bool
        Whether no speaker is in two groups.
    to_others : dict of str to Ratio, or None
        Ratios to all others together, ``[point, group]``; None where groups are not compared in
        closed form.
    """

    moments: Mapping[str, Moments]
    speakers: Mapping[str, NDArray[np.int64]]
    rates: Mapping[str, Interval]
    are_disjoint: bool
    to_others: Mapping[str, Ratio] | None

    @property
    def fewest(self) -> NDArray[np.int64]:
        """Speakers behind the smaller class of trials, ``[cell]``."""
        return np.minimum(*(self.speakers[metric] for metric in RATES))


def rate_intervals(
    groups: SpeakerErrors,
    pooled: SpeakerErrors,
    options: Options,
    draws: Estimates | None = None,
    *,
    in_blocks: bool = False,
) -> RateIntervals:
    """Intervals of both rates, and of the ratios of each group to all others.

    Parameters
    ----------
    groups, pooled
        Errors and trials by speaker and by pair, of each group and of all of them.
    options
        The method, the confidence and the gates.
    draws
        The rates in each draw, where these are to tell the variance.
    in_blocks
        Whether speakers are taken in blocks, of which there are very many.
    """
    of_groups = {metric: moments(_tally(groups, metric)) for metric in RATES}
    speakers = {
        metric: np.concatenate([_tally(of, metric).speakers for of in (groups, pooled)])
        for metric in RATES
    }
    rates = {}
    for metric in RATES:
        own = _interval(of_groups[metric], options, pull=metric == "fnr")
        whole = _interval(moments(_tally(pooled, metric)), options)
        both = _joined(own, whole)
        errors, trials = _counts(groups, pooled, metric)
        found = _by_method(metric, both, errors, trials, speakers[metric], options, draws)
        name = np.where(found.method == "speakers", _of_speakers(in_blocks), found.method)
        found = replace(found, method=np.where(np.isnan(found.high), "", name))
        gates = options.gates
        rates[metric] = found.without(speakers[metric] < gates.inference, gates.too_few)
    are_disjoint = disjoint(groups.target) and disjoint(groups.nontarget)
    to_others = None
    n_groups = groups.target.speakers.size
    if options.interval == "speakers" and n_groups > 1 and are_disjoint:
        to_others = {
            metric: ratio_interval(
                _cells(rates[metric], slice(0, n_groups)), _of_others(groups, metric, options)
            )
            for metric in RATES
        }
    return RateIntervals(of_groups, speakers, rates, are_disjoint, to_others)


def _tally(of: SpeakerErrors, metric: str) -> BySpeaker | ByPair:
    """Who the trials of a rate are of."""
    return of.target if metric == "fnr" else of.nontarget


def _of_speakers(in_blocks: bool) -> str:  # noqa: FBT001 - what it is about
    """What intervals over speakers are called."""
    return "speakers in blocks" if in_blocks else "speakers"


def _interval(of: Moments, options: Options, *, pull: bool = False) -> Interval:
    floored = other_kappa2(of) if pull and options.pooled_floor else None
    return rate_interval(of, options.confidence, floored)


def _joined(own: Interval, whole: Interval) -> Interval:
    """The cells of one interval, then those of another."""
    return Interval(
        *(
            np.concatenate((getattr(own, field.name), getattr(whole, field.name)), axis=-1)
            for field in fields(Interval)
        )
    )


def _cells(found: Interval, cells: slice) -> Interval:
    """Some of the cells."""
    return Interval(*(getattr(found, field.name)[..., cells] for field in fields(Interval)))


def _counts(
    groups: SpeakerErrors, pooled: SpeakerErrors, metric: str
) -> tuple[FloatArray, FloatArray]:
    """Errors and trials, ``[point, cell]``, the pooled row last."""
    both = [_tally(of, metric) for of in (groups, pooled)]
    errors = np.concatenate([one.by_cell(one.errors) for one in both], axis=-1)
    trials = np.concatenate([one.by_cell(one.trials) for one in both], axis=-1)
    return errors, np.broadcast_to(trials, errors.shape)


def _by_method(
    metric: str,
    found: Interval,
    errors: FloatArray,
    trials: FloatArray,
    speakers: NDArray[np.int64],
    options: Options,
    draws: Estimates | None,
) -> Interval:
    """The interval by the method that was asked for."""
    if options.interval in _NAIVE:
        low, high = _NAIVE[options.interval](errors, trials, options.confidence)
        name = np.full(low.shape, f"{options.interval} (takes trials as independent)")
        return replace(found, low=low, high=high, note=np.full(low.shape, ""), method=name)
    if options.interval != "bootstrap" or draws is None:
        return found
    # Wilson's interval of the trials that the variance of the draws is worth
    keys = [key for key in draws.keys if key[0] == metric and not key[1]]
    at = [draws.keys.index(key) for key in keys[: len(errors)]]
    se = _spread(draws.values[:, at])
    n_eff = over(found.rate * (1 - found.rate), se**2)
    df = np.maximum(speakers - 1, 1)
    low, high = wilson(found.rate * n_eff, n_eff, options.confidence, df=df)
    zero = found.method == "zero-errors"
    made = {"n_eff": n_eff, "se": se, "df": np.broadcast_to(df, se.shape), "low": low, "high": high}
    made["deff"] = over(trials, n_eff)
    made = {k: np.where(zero, getattr(found, k), one) for k, one in made.items()}
    return replace(found, **made, method=np.where(zero, found.method, "bootstrap"))


def _of_others(groups: SpeakerErrors, metric: str, options: Options) -> Interval:
    """The rate of everyone else, of each group."""
    of = others(_tally(groups, metric))
    found = rate_interval(of, options.confidence)
    return found.without(of.speakers < options.gates.inference, options.gates.too_few)


def ratio_to(
    intervals: RateIntervals, metric: str, reference: str, names: Sequence[str]
) -> Ratio | None:
    """Each group's rate against a reference in closed form, ``[point, group]``.

    None where the two are not independent, or where it is not the method asked for.
    """
    if intervals.to_others is None:
        return None
    to_others = intervals.to_others[metric]
    if reference in names:
        at = names.index(reference)
        own = _cells(intervals.rates[metric], slice(0, len(names)))
        return ratio_interval(own, _cells(own, slice(at, at + 1)))
    if reference == "pooled":
        trials = intervals.moments[metric].trials
        return to_pooled(to_others, over(trials, trials.sum(axis=-1, keepdims=True)))
    return to_others if reference == "others" else None


# --- everything of one grouping ------------------------------------------------------------------


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
            is_closed, _of_speakers(of.in_blocks), interval.method
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
    df = np.where(of.speakers < gates.inference, np.nan, of.speakers - 1.0)
    for kind in ("zero", "linear", "one"):
        scale: Scale = "linear" if kind == "linear" else "log"
        is_one = kind == "one"
        rows = [
            i for i, key in enumerate(keys) if key in place and base_metric(key[0]).scale == kind
        ]
        if not rows:
            continue
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
        table["se"][rows] = np.where(known, _spread(drawn), np.nan)
        table["df"][rows] = np.where(known, df, np.nan)
        words["interval"][rows] = np.where(known, "bootstrap", "")
        none = np.strings.add("no interval: ", found.reason)
        reason = np.where(np.isnan(df), gates.too_few, none)
        share = np.round(100 * found.dropped, 1).astype(np.str_)
        lost = np.strings.add(np.strings.add("undefined in ", share), " % of the replicates")
        words["note"][rows] = np.where(known, np.where(found.dropped > 0, lost, ""), reason)


def _spread(drawn: FloatArray) -> FloatArray:
    """Standard deviation over draws, undefined ones left out."""
    known = np.isfinite(drawn)
    n = known.sum(axis=0)
    at = np.where(known, drawn, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = at.sum(axis=0) / n
        found: FloatArray = np.sqrt(np.where(known, (at - mean) ** 2, 0).sum(axis=0) / (n - 1))
        return found


# --- gates ---------------------------------------------------------------------------------------


def missing_for_gates(of: Uncertainty, metric: str, point: str) -> list[str]:
    """What each group lacks for a rate to count, in words; empty where it lacks nothing."""
    asked, at = of.options.gates, of.points[point]
    found = _cells(of.intervals.rates[metric], slice(0, -1))
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
