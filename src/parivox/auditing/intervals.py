"""Intervals of both rates at operating points, in closed form over speakers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.intervals import (
    Interval,
    clopper_pearson,
    jeffreys,
    other_kappa2,
    rate_interval,
    wilson,
)
from parivox.core.measures import RATES
from parivox.core.ratios import disjoint, others, ratio_interval, to_pooled
from parivox.core.tallies import moments, over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.options import Options
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.core.ratios import Ratio
    from parivox.core.tallies import ByPair, BySpeaker, Moments

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
        name = np.where(found.method == "speakers", of_speakers(in_blocks), found.method)
        found = replace(found, method=np.where(np.isnan(found.high), "", name))
        gates = options.gates
        rates[metric] = found.without(speakers[metric] < gates.inference, gates.too_few)
    are_disjoint = disjoint(groups.target) and disjoint(groups.nontarget)
    to_others = None
    n_groups = groups.target.speakers.size
    if options.interval == "speakers" and n_groups > 1 and are_disjoint:
        to_others = {
            metric: ratio_interval(
                cells_of(rates[metric], slice(0, n_groups)), _of_others(groups, metric, options)
            )
            for metric in RATES
        }
    return RateIntervals(of_groups, speakers, rates, are_disjoint, to_others)


def _tally(of: SpeakerErrors, metric: str) -> BySpeaker | ByPair:
    """Who the trials of a rate are of."""
    return of.target if metric == "fnr" else of.nontarget


def of_speakers(in_blocks: bool) -> str:  # noqa: FBT001 - what it is about
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


def cells_of(found: Interval, cells: slice) -> Interval:
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
    se = spread_of_draws(draws.values[:, at])
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
        own = cells_of(intervals.rates[metric], slice(0, len(names)))
        return ratio_interval(own, cells_of(own, slice(at, at + 1)))
    if reference == "pooled":
        trials = intervals.moments[metric].trials
        return to_pooled(to_others, over(trials, trials.sum(axis=-1, keepdims=True)))
    return to_others if reference == "others" else None


def spread_of_draws(drawn: FloatArray) -> FloatArray:
    """Standard deviation over draws, undefined ones left out."""
    known = np.isfinite(drawn)
    n = known.sum(axis=0)
    at = np.where(known, drawn, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = at.sum(axis=0) / n
        found: FloatArray = np.sqrt(np.where(known, (at - mean) ** 2, 0).sum(axis=0) / (n - 1))
        return found
