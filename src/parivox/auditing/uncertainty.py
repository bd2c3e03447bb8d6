"""How sure the numbers of one grouping's cells are: intervals, noise floors, gates.

Rates at operating points have intervals in closed form over speakers; all else is told from the
replicates of the bootstrap over speakers. Floors are what a fair system would show.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.crossfit import LEAST
from parivox.auditing.estimates import place_of_rate
from parivox.auditing.failed import STAGES, Failed
from parivox.auditing.failing import ATTEMPTS, SHARES
from parivox.auditing.nulls import Fair
from parivox.core.binomial import clopper_pearson, jeffreys, wilson
from parivox.core.intervals import Interval, other_kappa2, rate_interval
from parivox.core.measures import RATES, base_metric
from parivox.core.moments import moments, over
from parivox.core.ratios import Ratio, disjoint, others, ratio_interval, to_pooled
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.draws import Replicated
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.involved import Involved
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.core.counts import FloatArray
    from parivox.core.moments import Moments
    from parivox.core.resampling import Scale

__all__ = ["Uncertainty"]

_NAIVE = {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}
_COLUMNS = ("low", "high", "interval", "deff", "n_eff", "df", "se", "note")


class Uncertainty:
    """Of the groups of one grouping under one allocation, within one level.

    Parameters
    ----------
    groups, pooled
        Who is involved in the trials of each group, and of all of them; cells are groups.
    drawn
        The same cells in each replicate, the pooled one last; None if there are none.
    failed
        Recordings that failed, of the groups and of all of them.
    found
        Operating points, as the tallies have them.
    options
        What was asked for.
    why
        Why there are no replicates.
    in_blocks
        Whether speakers are taken in blocks, of which there are very many.
    rank
        Place of each speaker in an order that does not follow from names, if there is one.
    """

    def __init__(
        self,
        groups: Involved,
        pooled: Involved,
        drawn: Replicated | None,
        failed: tuple[Failed, Failed],
        found: Sequence[Found],
        options: Options,
        why: str = "",
        *,
        in_blocks: bool = False,
        rank: NDArray[np.intp] | None = None,
    ) -> None:
        self.groups, self.pooled = groups, pooled
        self.draws = None if drawn is None else drawn.estimates()
        self._crossed = None if drawn is None else drawn.crossed
        self.failed = failed
        self.options, self.why, self.in_blocks = options, why, in_blocks
        self.rank = rank
        self.place = {key: i for i, key in enumerate(drawn.keys if drawn else ())}
        self.points = {f.point.text: i for i, f in enumerate(found)}
        self.lost = [bool(f.reason) for f in found]

    # --- base metrics -------------------------------------------------------------------------

    @cached_property
    def moments(self) -> dict[str, Moments]:
        """Of both rates of the groups, ``[point, group]``."""
        return {"fpr": moments(self.groups.nontarget), "fnr": moments(self.groups.target)}

    @property
    def of_speakers(self) -> str:
        """What intervals over speakers are called."""
        return "speakers in blocks" if self.in_blocks else "speakers"

    @cached_property
    def speakers(self) -> NDArray[np.int64]:
        """Speakers behind the smaller class of trials, ``[group]``, the pooled row last."""
        return np.minimum(*(self.of_metric(metric) for metric in RATES))

    def of_metric(self, metric: str) -> NDArray[np.int64]:
        """Speakers behind a rate, ``[group]``, the pooled row last."""
        name = "target" if metric == "fnr" else "nontarget"
        both = (getattr(of, name).speakers for of in (self.groups, self.pooled))
        return np.concatenate(tuple(both))

    @cached_property
    def rates(self) -> dict[str, Interval]:
        """Intervals of both rates, ``[point, group]``, the pooled row last."""
        pooled = {"fpr": moments(self.pooled.nontarget), "fnr": moments(self.pooled.target)}
        made = {}
        for metric in RATES:
            own = self._interval(self.moments[metric], metric)
            whole = self._interval(pooled[metric], "")
            joined = (
                np.concatenate((getattr(own, field.name), getattr(whole, field.name)), axis=-1)
                for field in fields(Interval)
            )
            made[metric] = self._as_asked(metric, Interval(*joined))
        return made

    def _interval(self, told: Moments, metric: str) -> Interval:
        floored = None
        if self.options.pooled_floor and metric == "fnr":
            floored = other_kappa2(told)
        return rate_interval(told, self.options.confidence, floored)

    def _as_asked(self, metric: str, found: Interval) -> Interval:
        """The interval by the method that was asked for, and none of too few speakers."""
        method = self.options.interval
        low, high, note = found.low, found.high, found.note
        name = np.where(found.method == "speakers", self.of_speakers, found.method)
        if method in _NAIVE:
            errors, trials = self._counts(metric)
            low, high = _NAIVE[method](errors, trials, self.options.confidence)
            name = np.full(low.shape, f"{method} (takes trials as independent)")
            note = np.full(low.shape, "")
        elif method == "bootstrap" and self.draws is not None:
            low, high, name, found = self._from_variance(metric, found)
        name = np.where(np.isnan(high), "", name)
        asked = replace(found, low=low, high=high, note=note, method=name)
        gates = self.options.gates
        return asked.without(self.of_metric(metric) < gates.inference, gates.too_few)

    def _counts(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """Errors and trials, ``[point, group]``, the pooled row last."""
        name = "target" if metric == "fnr" else "nontarget"
        both = [getattr(of, name) for of in (self.groups, self.pooled)]
        errors = np.concatenate([one.by_cell(one.errors) for one in both], axis=-1)
        trials = np.concatenate([one.by_cell(one.trials) for one in both], axis=-1)
        return errors, np.broadcast_to(trials, errors.shape)

    def _from_variance(
        self, metric: str, found: Interval
    ) -> tuple[FloatArray, FloatArray, NDArray[np.str_], Interval]:
        """Wilson's interval of the trials that the variance of the replicates is worth."""
        assert self.draws is not None
        keys = [(metric, "", text) for text in self.points]
        se = _spread(self.draws.values[:, [self.place[key] for key in keys]])
        n_eff = over(found.rate * (1 - found.rate), se**2)
        df = np.maximum(self.of_metric(metric) - 1, 1)
        low, high = wilson(found.rate * n_eff, n_eff, self.options.confidence, df=df)
        zero = found.method == "zero-errors"
        low, high = np.where(zero, found.low, low), np.where(zero, found.high, high)
        told = {"n_eff": n_eff, "se": se, "df": np.broadcast_to(df, se.shape)}
        told["deff"] = over(self._counts(metric)[1], n_eff)
        more = {k: np.where(zero, getattr(found, k), one) for k, one in told.items()}
        return low, high, np.where(zero, found.method, "bootstrap"), replace(found, **more)

    def columns(self, data: Estimates) -> list[dict[str, list[Any]]]:
        """The columns of uncertainty of each group's base metrics and, last, of the pooled row."""
        keys, values = data.keys, data.values
        shape = values.shape
        table = {
            name: np.full(shape, np.nan) for name in ("low", "high", "deff", "n_eff", "df", "se")
        }
        words = {name: np.full(shape, "", dtype=object) for name in ("interval", "note")}
        self._from_draws(keys, values, table, words)
        for i, key in enumerate(keys):
            metric, at = key[0], place_of_rate(key, self.points)
            if at is not None:
                found = self.rates[metric]
                for name, numbers in table.items():
                    numbers[i] = getattr(found, name)[at]
                words["interval"][i], words["note"][i] = found.method[at], found.note[at]
            elif metric in STAGES or key[1] == ATTEMPTS:
                self._of_failures(i, metric, self.points.get(key[2], 0), table, words)
            elif base_metric(metric).needs == "pooled" and self.draws is not None:
                words["note"][i, -1] = "the reference itself"
            elif key[1] == SHARES and metric.endswith("far"):
                self._without_accepts(i, key[2], values[i], table, words)
        unknown = np.isnan(values)
        for numbers in table.values():
            numbers[unknown] = np.nan
        for texts in words.values():
            texts[unknown] = ""
        every = {**table, **words}
        return [{name: every[name][:, j].tolist() for name in _COLUMNS} for j in range(shape[1])]

    def _without_accepts(
        self,
        row: int,
        point: str,
        values: FloatArray,
        table: Mapping[str, FloatArray],
        words: Mapping[str, NDArray[np.object_]],
    ) -> None:
        """Where nobody was let in, FAR is at most what FPR may be."""
        found, at = self.rates["fpr"], self.points[point]
        none = (values == 0) & (found.rate[at] == 0) & ~np.isnan(found.high[at])
        table["low"][row][none], table["high"][row][none] = 0.0, found.high[at][none]
        words["interval"][row][none] = found.method[at][none]
        words["note"][row][none] = "as of FPR"

    def _of_failures(
        self,
        row: int,
        metric: str,
        at: int,
        table: Mapping[str, FloatArray],
        words: Mapping[str, NDArray[np.object_]],
    ) -> None:
        """Fill in the interval of a rate of failed recordings, or of attempts at a point."""
        asked = self.options.confidence, self.options.gates
        both = [one.interval(metric, *asked) for one in self.failed]
        for interval, cells in zip(both, (slice(0, -1), slice(-1, None)), strict=True):
            if interval is None:
                continue
            for name, numbers in table.items():
                numbers[row, cells] = getattr(interval, name)[at]
            ways = np.where(interval.method == "speakers", self.of_speakers, interval.method)
            words["interval"][row, cells] = ways[at]
            words["note"][row, cells] = interval.note[at]

    def _from_draws(
        self,
        keys: Sequence[Key],
        values: FloatArray,
        table: Mapping[str, FloatArray],
        words: Mapping[str, NDArray[np.object_]],
    ) -> None:
        """Fill in what the replicates tell."""
        if self.draws is None:
            words["note"][:] = f"no interval: {self.why}"
            return
        words["note"][:] = "no interval: not resampled"
        place, n = self.place, self.options
        df = np.where(self.speakers < n.gates.inference, np.nan, self.speakers - 1.0)
        for kind in ("zero", "linear", "one"):
            scale: Scale = "linear" if kind == "linear" else "log"
            is_one = kind == "one"
            rows = [
                i
                for i, key in enumerate(keys)
                if key in place and base_metric(key[0]).scale == kind
            ]
            if not rows:
                continue
            drawn = self.draws.values[:, [place[keys[i]] for i in rows]]
            centre = values[rows]
            if is_one:
                centre, drawn = 1 - centre, 1 - drawn
            found = from_replicates(centre, drawn, df, scale=scale, confidence=n.confidence)
            low, high = (1 - found.high, 1 - found.low) if is_one else (found.low, found.high)
            told = ~np.isnan(high)
            most = [base_metric(keys[i][0]).bounds[1] for i in rows]
            high = np.where(told, np.minimum(high, np.array(most)[:, None]), high)
            low = np.where(told & is_one, np.maximum(low, 0), low)
            table["low"][rows], table["high"][rows] = low, high
            table["se"][rows] = np.where(told, _spread(drawn), np.nan)
            table["df"][rows] = np.where(told, df, np.nan)
            words["interval"][rows] = np.where(told, "bootstrap", "")
            none = np.strings.add("no interval: ", found.reason)
            reason = np.where(np.isnan(df), n.gates.too_few, none)
            share = np.round(100 * found.dropped, 1).astype(np.str_)
            lost = np.strings.add(np.strings.add("undefined in ", share), " % of the replicates")
            words["note"][rows] = np.where(told, np.where(found.dropped > 0, lost, ""), reason)

    # --- groups against a reference -----------------------------------------------------------

    @cached_property
    def are_disjoint(self) -> bool:
        """Whether no speaker is in two groups."""
        return disjoint(self.groups.target) and disjoint(self.groups.nontarget)

    def ratio(self, metric: str, reference: str, names: Sequence[str]) -> Ratio | None:
        """Each group's rate against a reference in closed form, ``[point, group]``.

        None where the two are not independent, or where it is not the method asked for.
        """
        if not self._has_ratios:
            return None
        asked = metric, reference
        if asked not in self._ratios:  # several measures are of the same ratio
            self._ratios[asked] = self._ratio(metric, reference, names)
        return self._ratios[asked]

    def to_others(self, metric: str) -> Ratio | None:
        """Each group's rate against all others together, as :meth:`ratio` has it."""
        return self._to_others[metric] if self._has_ratios else None

    @cached_property
    def _to_others(self) -> dict[str, Ratio]:
        return {metric: ratio_interval(self._own(metric), self._others[metric]) for metric in RATES}

    @property
    def _has_ratios(self) -> bool:
        """Whether groups are compared in closed form."""
        is_asked = self.options.interval == "speakers"
        return is_asked and self._n_groups > 1 and self.are_disjoint

    @property
    def _n_groups(self) -> int:
        return self.groups.target.speakers.size

    def _own(self, metric: str) -> Interval:
        """Intervals of a rate of the groups alone."""
        return _of(self.rates[metric], slice(0, self._n_groups))

    @cached_property
    def _ratios(self) -> dict[tuple[str, str], Ratio | None]:
        return {}

    def _ratio(self, metric: str, reference: str, names: Sequence[str]) -> Ratio | None:
        own = self._own(metric)
        if reference in names:
            at = names.index(reference)
            return ratio_interval(own, _of(own, slice(at, at + 1)))
        if reference not in {"others", "pooled"}:
            return None
        against = self.to_others(metric)
        if reference == "others" or against is None:
            return against
        trials = self.moments[metric].trials
        return to_pooled(against, over(trials, trials.sum(axis=-1, keepdims=True)))

    @cached_property
    def fair(self) -> Fair:
        """What a fair system would show."""
        return Fair(
            self.groups,
            self.moments,
            self.points,
            self.lost,
            self.options,
            are_disjoint=self.are_disjoint,
            rank=self.rank,
        )

    def corrected(self, rates: Estimates) -> dict[str, dict[str, Any]]:
        """Spread of the rates beyond what speakers make of it; see :meth:`Fair.corrected`."""
        n_eff = [self.rates[key[0]].n_eff[self.points[key[2]], :-1] for key in rates.keys]
        return self.fair.corrected(rates, np.stack(n_eff))

    @cached_property
    def _others(self) -> dict[str, Interval]:
        told = {"fpr": others(self.groups.nontarget), "fnr": others(self.groups.target)}
        made = {}
        for name, of in told.items():
            found = rate_interval(of, self.options.confidence)
            gates = self.options.gates
            made[name] = found.without(of.speakers < gates.inference, gates.too_few)
        return made

    def crossed(self, cost: int) -> FloatArray:
        """Threshold bias cross-fitted over speakers, ``[group]``; NaN without draws, or of few."""
        own = self.speakers[:-1]
        if self._crossed is None:
            return np.full(own.size, np.nan)
        return np.where(own < LEAST, np.nan, self._crossed[cost, :-1])

    # --- gates --------------------------------------------------------------------------------

    def gates(self, metric: str, point: str) -> list[str]:
        """What each group lacks for a rate to count, in words; empty where it lacks nothing."""
        asked, at = self.options.gates, self.points[point]
        found = _of(self.rates[metric], slice(0, -1))
        told = self.moments[metric]
        speakers = self.of_metric(metric)[:-1]
        effective = (found.rate * found.n_eff)[at]
        pairs = np.broadcast_to(told.pairs, told.rate.shape)[at]
        lacks: list[list[str]] = [[] for _ in speakers]
        for i, n in enumerate(speakers.tolist()):
            if n < asked.speakers:
                lacks[i].append(f"{n} speakers")
            if not effective[i] >= asked.errors:
                lacks[i].append(f"{np.nan_to_num(effective[i]):.2g} effective errors")
            if metric == "fpr" and pairs[i] < asked.pairs:
                lacks[i].append(f"{int(pairs[i])} pairs of speakers")
        return ["; ".join(one) for one in lacks]

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Groups with speakers, and pairs of them, enough for both classes of trials."""
        asked, pairs = self.options.gates, self.groups.nontarget.pairs
        return np.asarray((self.speakers[:-1] >= asked.speakers) & (pairs >= asked.pairs))

    def passed(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """Groups that count in headline meta-measures, ``[key, group]``.

        Rates are asked for what gates ask of them; other metrics, which join both classes of
        trials, for speakers and pairs of speakers.
        """
        found = np.repeat(self.enough[None], len(keys), axis=0)
        for i, key in enumerate(keys):
            if place_of_rate(key, self.points) is not None:
                found[i] = [not lacks for lacks in self.gates(key[0], key[2])]
        return found


def _of(found: Interval, cells: slice) -> Interval:
    """Some of the cells."""
    return Interval(*(getattr(found, field.name)[..., cells] for field in fields(Interval)))


def _spread(drawn: FloatArray) -> FloatArray:
    """Standard deviation over replicates, undefined ones left out."""
    known = np.isfinite(drawn)
    n = known.sum(axis=0)
    at = np.where(known, drawn, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = at.sum(axis=0) / n
        found: FloatArray = np.sqrt(np.where(known, (at - mean) ** 2, 0).sum(axis=0) / (n - 1))
        return found
