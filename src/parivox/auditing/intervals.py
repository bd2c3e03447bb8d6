"""How certain the numbers of one grouping's cells are: intervals of every base metric, gates.

Rates have intervals in closed form over speakers; all else is told from the draws of the bootstrap
over speakers (`parivox.auditing.draws`), and beside them stand the draws of a fair system
(`parivox.auditing.nulls`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import rate_point_index
from parivox.auditing.failures import STAGES
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.core.cluster_errors import moments, safe_divide
from parivox.core.intervals import (
    NOTE_NO_TEST_SPEAKER,
    REASON_NO_TEST_SPEAKER,
    Interval,
    clopper_pearson,
    intervals_at_once,
    jeffreys,
    limits,
    other_kappa2,
    rate_interval,
    wilson,
)
from parivox.core.measures import RATES, base_metric
from parivox.core.ratios import disjoint, others, ratio_interval, to_pooled
from parivox.core.resampling import from_replicates
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates, GridDraws
    from parivox.auditing.failures import SpeakerFailures
    from parivox.auditing.nulls import EqualRatesDraws
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.shrinkage import BestGuesses
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray
    from parivox.core.ratios import Ratio

    Columns = dict[str, NDArray[Any]]

THRESHOLD_VARIES = "the threshold, found on these trials, varies with them"
_THRESHOLD_STAYS = "the threshold, found on these trials, is taken as it is"
CORRECTED = "corrected for the optimism of minimum Cllr"
_NOT_RESAMPLED = "no interval: not resampled"
_NUMBERS = ("low", "high", "deff", "n_eff", "df", "se")
_NAIVE = {"wilson": wilson, "clopper-pearson": clopper_pearson, "jeffreys": jeffreys}


# --- rates at operating points ------------------------------------------------------------------


@frozen
class RateIntervals:
    """Intervals of both rates of the groups of one grouping, by ``"fpr"`` and ``"fnr"``."""

    moments: Mapping[str, Moments]  # how the speakers of each group vary, [point, group]
    n_units: Mapping[str, NDArray[np.int64]]  # behind each rate, [cell], the pooled row last
    intervals: Mapping[str, Interval]  # [point, cell], the pooled row last
    # no speaker behind the rate is in two groups, and all are known
    are_disjoint: Mapping[str, bool]
    ratios_to_others: Mapping[
        str, Ratio
    ]  # [point, group]; none where they are not told in closed form


def rate_intervals(
    groups: SpeakerErrors,
    pooled: SpeakerErrors,
    options: Options,
    draws: Mapping[str, FloatArray] | None = None,
    of_pooled: Mapping[str, Moments] | None = None,
    *,
    with_p: bool = True,
) -> RateIntervals:
    """Intervals of both rates, and of the ratios of each group to all others.

    Parameters
    ----------
    groups, pooled
        Errors and trials by speaker and by pair, of each group and of all of them.
    draws
        The rates in each draw, ``[draw, point, cell]``, where these are to tell the variance.
    of_pooled
        How the speakers of all groups vary, where that is known.
    with_p
        Whether p of the ratios is asked for.
    """
    confidence, gates = options.confidence, options.minimums
    are_disjoint = {metric: disjoint(groups.for_rate(metric)) for metric in RATES}
    n_groups = groups.target.n_speakers.size
    of_groups, speakers, rates, to_others = {}, {}, {}, {}
    for metric in RATES:
        own = moments(groups.for_rate(metric))
        known = {metric: own} if pooled is groups else of_pooled
        whole = moments(pooled.for_rate(metric)) if known is None else known[metric]
        floored = other_kappa2(own) if metric == "fnr" and options.pooled_floor else None
        is_closed = options.interval == "speakers" and n_groups > 1 and are_disjoint[metric]
        rest = others(groups.for_rate(metric)) if is_closed else None
        asked = [(own, floored), (whole, None), *([] if rest is None else [(rest, None)])]
        told = intervals_at_once(asked, confidence)
        columns = zip(*(vars(one).values() for one in told[:2]), strict=True)
        found = Interval(*(np.concatenate(pair, axis=-1) for pair in columns))
        n = np.concatenate([one.for_rate(metric).n_speakers for one in (groups, pooled)])
        trials = np.concatenate((own.trials, whole.trials), axis=-1)
        if options.interval in _NAIVE:
            errors = np.concatenate((own.errors, whole.errors), axis=-1)
            low, high = _NAIVE[options.interval](errors, trials, confidence)
            name = f"{options.interval} (takes trials as independent)"
            method, note = np.where(np.isnan(high), "", name), np.full(low.shape, "")
            found = replace(found, low=low, high=high, note=note, method=method)
        elif options.interval == "bootstrap" and draws is not None:
            found = _from_spread(found, draw_deviations(draws[metric]), trials, n, confidence)
        found = found.without_limits(n < gates.inference, gates.no_interval_reason)
        unknown = np.concatenate(
            [one.for_rate(metric).has_unknown_speakers for one in (groups, pooled)]
        )
        if unknown.any():
            found = found.without_spread(unknown, NOTE_NO_TEST_SPEAKER)
        if rest is not None:
            to_others[metric] = _to_others(found, rest, told[-1], options, with_p=with_p)
        of_groups[metric], speakers[metric], rates[metric] = own, n, found
    return RateIntervals(of_groups, speakers, rates, are_disjoint, to_others)


def _to_others(
    rates: Interval, rest: Moments, of_rest: Interval, options: Options, *, with_p: bool = True
) -> Ratio:
    """Ratios of the rates to those of all others, by how the speakers of these vary."""
    gates = options.minimums
    of_rest = of_rest.without_limits(rest.speakers < gates.inference, gates.no_interval_reason)
    own = _cells(rates, slice(0, of_rest.rate.shape[-1]))
    return ratio_interval(own, of_rest, with_p=with_p)


def _cells(found: Interval, cells: slice) -> Interval:
    """Some of the cells."""
    return Interval(*(column[..., cells] for column in vars(found).values()))


def _from_spread(
    found: Interval,
    se: FloatArray,
    trials: FloatArray,
    speakers: NDArray[np.int64],
    confidence: float,
) -> Interval:
    """Wilson's interval of the trials that the variance of the draws is worth.

    Cells without errors stay as they are.
    """
    n_eff = safe_divide(found.rate * (1 - found.rate), se**2)
    df = np.broadcast_to(np.maximum(speakers - 1, 1), se.shape)
    low, high = wilson(found.rate * n_eff, n_eff, confidence, df=df)
    made = {"n_eff": n_eff, "se": se, "df": df, "low": low, "high": high}
    made["deff"] = safe_divide(np.broadcast_to(trials, se.shape), n_eff)
    zero = found.method == "zero-errors"
    made = {k: np.where(zero, getattr(found, k), one) for k, one in made.items()}
    missing = np.isnan(made["high"])
    why = np.where((se == 0) & ~zero, "no interval: every replicate is alike", found.note)
    method = np.where(zero, found.method, np.where(missing, "", "bootstrap"))
    return replace(found, **made, method=method, note=why)


def draw_means(drawn: FloatArray) -> FloatArray:
    """Mean over draws, undefined ones left out; NaN where none is defined."""
    known = np.isfinite(drawn)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = np.where(known, drawn, 0).sum(axis=0) / known.sum(axis=0)
    return mean


def draw_deviations(drawn: FloatArray) -> FloatArray:
    """Standard deviation over draws, undefined ones left out; 0 where all are equal."""
    known = np.isfinite(drawn)
    n = known.sum(axis=0)
    at = np.where(known, drawn, 0)
    only = np.where(known, drawn, np.nan)
    are_equal = np.fmax.reduce(only) == np.fmin.reduce(only)  # though their mean may be off
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = at.sum(axis=0) / n
        found: FloatArray = np.sqrt(np.where(known, (at - mean) ** 2, 0).sum(axis=0) / (n - 1))
    return np.where(are_equal & (n > 1), 0.0, found)


# --- every base metric ---------------------------------------------------------------------------


def _rates_of(metric: str) -> tuple[str, ...]:
    """The rates whose speakers a metric is told from: its own, or those of both classes."""
    one = base_metric(metric)
    if one.needs not in {"points", "attempts"} or one.of == "both":
        return RATES
    return ("fnr",) if one.of == "target" else ("fpr",)


def needs_test_speakers(metric: str) -> bool:
    """Whether the uncertainty of a metric depends on who made the nontarget trials."""
    return "fpr" in _rates_of(metric)


def _put(found: Interval, at: int, table: Columns, row: int, cells: slice = slice(None)) -> None:
    """Fill an interval at a point into some cells of a row, of which it may have more before."""
    for name, column in table.items():
        own = getattr(found, "method" if name == "interval" else name)[at]
        column[row, cells] = own[own.size - column[row, cells].size :]


@dataclass(frozen=True, kw_only=True, eq=False)
class Uncertainty:
    """Of the groups of one grouping under one allocation, within one level.

    The uncertainty of all trials is that of one group, and of it as the pooled row.
    """

    group_errors: SpeakerErrors  # errors and trials by speaker and by pair
    pooled_errors: SpeakerErrors  # of all groups
    rate_intervals: RateIntervals
    best_guesses: BestGuesses  # modelled, beside what was counted
    equal_rates_draws: (
        EqualRatesDraws  # draws of a fair system; none of all trials, which have no groups
    )
    draw_estimates: (
        Estimates | None
    )  # base metrics of the same cells in each draw, the pooled one last
    grid_draws: Sequence[GridDraws]  # both rates of them along the grid that the area is over
    crossfitted_bias: FloatArray  # [cost, group]: threshold bias, cross-fitted; NaN of few speakers
    failures: tuple[SpeakerFailures, SpeakerFailures]  # of the groups and of all of them
    point_indices: Mapping[str, int]  # operating points, with the place of each
    moves_with_threshold: Mapping[
        str, NDArray[np.bool_]
    ]  # at which of them a rate of all moves with these trials
    options: Options
    no_draws_reason: str  # why there are no draws
    has_speaker_blocks: bool  # speakers are taken in blocks
    n_units_by_rate: Mapping[str, NDArray[np.int64]]
    """How many are drawn behind each rate, ``[cell]``, the pooled row last: speakers or blocks."""

    @cached_property
    def lacks_test_speakers(self) -> NDArray[np.bool_]:
        """Whether nontarget trials lack a test speaker, ``[cell]``, the pooled row last."""
        return np.append(
            self.group_errors.nontarget.has_unknown_speakers,
            self.pooled_errors.nontarget.has_unknown_speakers,
        )

    def metrics_lack_test_speakers(self, metrics: Sequence[str]) -> NDArray[np.bool_]:
        """Whether some metrics have no uncertainty as such trials count, ``[metric, cell]``."""
        depend = np.array([needs_test_speakers(one) for one in metrics], dtype=bool)
        return depend[:, None] & self.lacks_test_speakers

    @property
    def n_units(self) -> NDArray[np.int64]:
        """Speakers behind the smaller class of trials, ``[cell]``, the pooled row last."""
        return np.minimum(*(self.n_units_by_rate[metric] for metric in RATES))

    def n_units_behind(self, metrics: Sequence[str]) -> NDArray[np.int64]:
        """Speakers behind each of some metrics, ``[metric, cell]``, the pooled row last.

        Of a rate of one class of trials those of that class; else of the smaller class.
        """
        of = {
            ("fpr",): self.n_units_by_rate["fpr"],
            ("fnr",): self.n_units_by_rate["fnr"],
            RATES: self.n_units,
        }
        behind = {one: of[_rates_of(one)] for one in dict.fromkeys(metrics)}
        return np.stack([behind[one] for one in metrics])

    def are_disjoint(self, metrics: Sequence[str]) -> NDArray[np.bool_]:
        """Whether no speaker behind each of some metrics is in two groups, ``[metric]``."""
        of = self.rate_intervals.are_disjoint
        return np.array([all(of[rate] for rate in _rates_of(one)) for one in metrics])

    def reference_ratio(
        self,
        metric: str,
        reference: str,
        names: Sequence[str],
        left_out: NDArray[np.intp] | None = None,
    ) -> Ratio | None:
        """Each group's rate against a reference in closed form, ``[point, group]``.

        Of the reference without a group, ``[point]``, if one is left out. None where the two are
        not independent, or where it is not the method asked for.
        """
        to_others = self.rate_intervals.ratios_to_others.get(metric)
        if to_others is None:
            return None
        rates, trials = (
            self.rate_intervals.intervals[metric],
            self.rate_intervals.moments[metric].trials,
        )
        if reference in names:
            at = names.index(reference)
            own = _cells(rates, slice(0, len(names)))
            return ratio_interval(own, _cells(rates, slice(at, at + 1)))
        if left_out is not None:
            rest = others(self.group_errors.for_rate(metric).excluding_cell(left_out))
            of_rest = rate_interval(rest, self.options.confidence)
            to_others = _to_others(rates, rest, of_rest, self.options)
            trials = np.where(np.arange(len(names)) == left_out[:, None], 0, trials)
        if reference == "pooled":
            return to_pooled(to_others, safe_divide(trials, trials.sum(axis=-1, keepdims=True)))
        return to_others if reference == "others" else None

    @cached_property
    def point_intervals(self) -> Mapping[str, Interval]:
        """Intervals of both rates, ``[point, cell]``; of all groups together with the threshold."""
        return {
            metric: self._with_threshold(found, metric)
            for metric, found in self.rate_intervals.intervals.items()
        }

    def _with_threshold(self, found: Interval, metric: str, definition: str = "") -> Interval:
        """The last cell with the spread of the draws, which find the point's threshold again.

        See docs/methods/uncertainty.md#thresholds-found-on-these-trials.
        """
        if self.options.interval != "speakers":
            return found
        (rate,), n = _rates_of(metric), found.rate.shape[-1]
        moves = (
            self.moves_with_threshold[rate][:, None]
            & (np.arange(n) == n - 1)
            & ~np.isnan(found.high)
        )
        se: FloatArray = np.full((len(moves), 1), np.nan)
        if self.draw_estimates is not None and not self.lacks_test_speakers[-1]:
            keys = [(metric, definition, text) for text in self.point_indices]
            se = draw_deviations(self.draw_estimates.cell_range(-1, None).with_keys(keys).values)
        again = moves & (found.method == "speakers") & (se > 0)
        variance = np.where(again, se**2, np.nan)
        low, high = limits(found.rate, variance, found.df, self.options.confidence)
        told = {"low": low, "high": high, "se": se}
        made = {name: np.where(again, of, getattr(found, name)) for name, of in told.items()}
        said = np.where(again, THRESHOLD_VARIES, np.where(moves, _THRESHOLD_STAYS, ""))
        link = np.where((found.note == "") | (said == ""), "", "; ")
        note = np.strings.add(np.strings.add(found.note, link), said)
        return replace(found, **made, note=note)

    def columns(self, data: Estimates) -> Columns:
        """The columns of uncertainty of base metrics, each ``[key, cell]``.

        The cells are the groups and the pooled row, or the last of them.
        """
        keys, values = data.keys, data.values
        n = values.shape[1]
        table: Columns = {name: np.full(values.shape, np.nan) for name in _NUMBERS}
        table |= {name: np.full(values.shape, "", dtype=object) for name in ("interval", "note")}
        self._fill_from_draws(keys, values, table)
        for i, key in enumerate(keys):
            metric, at = key[0], rate_point_index(key, self.point_indices)
            if at is not None:
                _put(self.point_intervals[metric], at, table, i)
            elif metric in STAGES or key[1] == ATTEMPTS:
                self._fill_failure_interval(metric, self.point_indices.get(key[2], 0), table, i)
            elif base_metric(metric).needs == "pooled" and self.draw_estimates is not None:
                table["note"][i, -1] = "the reference itself"
            elif key[1] == SHARES and metric.endswith("far"):
                # where nobody was let in, FAR is at most what FPR may be
                found = _cells(self.point_intervals["fpr"], slice(-n, None))
                at = self.point_indices[key[2]]
                none = (values[i] == 0) & (found.rate[at] == 0) & ~np.isnan(found.high[at])
                table["low"][i][none], table["high"][i][none] = 0.0, found.high[at][none]
                table["interval"][i][none] = found.method[at][none]
                table["note"][i][none] = "as of FPR"
        of_unknown = (table["note"] == _NOT_RESAMPLED) & self.lacks_test_speakers[-n:]
        table["note"][of_unknown] = NOTE_NO_TEST_SPEAKER
        if self.has_speaker_blocks:
            table["interval"][table["interval"] == "speakers"] = "speakers in blocks"
        table |= self.best_guesses.rate_columns(keys, values.shape)
        unknown = np.isnan(values)
        for column in table.values():
            column[unknown] = "" if column.dtype == object else np.nan
        return table

    def _fill_failure_interval(self, metric: str, at: int, table: Columns, row: int) -> None:
        """Fill in the interval of a rate of failed recordings, or of attempts at a point."""
        confidence, gates = self.options.confidence, self.options.minimums
        of_groups, of_all = (one.interval(metric, confidence, gates) for one in self.failures)
        if of_groups is not None:
            _put(of_groups, at, table, row, slice(0, -1))
        if of_all is not None:
            if metric not in STAGES:
                of_all = self._with_threshold(of_all, metric, ATTEMPTS)
            _put(of_all, at, table, row, slice(-1, None))

    def _fill_from_draws(self, keys: Sequence[Key], values: FloatArray, table: Columns) -> None:
        """Fill in what the draws tell."""
        if self.draw_estimates is None:
            table["note"][:] = f"no interval: {self.no_draws_reason}"
            return
        table["note"][:] = _NOT_RESAMPLED
        n = values.shape[1]
        place = {key: i for i, key in enumerate(self.draw_estimates.keys)}
        gates, confidence = self.options.minimums, self.options.confidence
        for kind in ("zero", "linear", "one"):
            measures = [base_metric(key[0]) for key in keys]
            rows = [i for i, key in enumerate(keys) if key in place and measures[i].scale == kind]
            if not rows:
                continue
            speakers = self.n_units_behind([keys[i][0] for i in rows])[:, -n:]
            df = np.where(speakers < gates.inference, np.nan, speakers - 1.0)
            drawn = self.draw_estimates.values[:, [place[keys[i]] for i in rows], -n:]
            centre, is_one = values[rows], kind == "one"
            if is_one:
                centre, drawn = 1 - centre, 1 - drawn
            scale: Any = "linear" if kind == "linear" else "log"
            found = from_replicates(centre, drawn, df, scale=scale, confidence=confidence)
            low, high = (1 - found.high, 1 - found.low) if is_one else (found.low, found.high)
            known = ~np.isnan(high)
            most = np.array([measures[i].bounds[1] for i in rows])[:, None]
            least = np.array([measures[i].bounds[0] for i in rows])[:, None]
            table["low"][rows] = np.where(known, np.maximum(low, least), low)
            table["high"][rows] = np.where(known, np.minimum(high, most), high)
            table["se"][rows] = np.where(known, draw_deviations(drawn), np.nan)
            table["df"][rows] = np.where(known, df, np.nan)
            table["interval"][rows] = np.where(known, "bootstrap", "")
            none = np.strings.add("no interval: ", found.reason)
            reason = np.where(np.isnan(df), gates.no_interval_reason, none)
            share = np.round(100 * found.dropped, 1).astype(np.str_)
            lost = np.strings.add(np.strings.add("undefined in ", share), " % of the replicates")
            why = np.where(
                self.metrics_lack_test_speakers([keys[i][0] for i in rows])[:, -n:],
                NOTE_NO_TEST_SPEAKER,
                reason,
            )
            table["note"][rows] = np.where(known, np.where(found.dropped > 0, lost, ""), why)
            is_optimistic = [one.is_optimistic for one in measures]
            corrected = [row for row in rows if is_optimistic[row]]
            notes = table["note"][corrected].astype(str)
            link = np.where(notes == "", "", "; ")
            table["note"][corrected] = np.strings.add(np.strings.add(notes, link), CORRECTED)

    # --- gates -----------------------------------------------------------------------------------

    def missing_for_gates(self, metric: str, point: str) -> list[str]:
        """What each group lacks for a rate to count, in words; empty where it lacks nothing.

        A group without trials has no rate that could count; of one whose nontarget trials have no
        test speaker, nobody knows what it lacks.
        """
        gates, at = self.options.minimums, self.point_indices[point]
        found, own = self.rate_intervals.intervals[metric], self.rate_intervals.moments[metric]
        effective = (found.rate * found.n_eff)[at, :-1]
        pairs = np.broadcast_to(own.pairs, own.rate.shape)[at]
        words = []
        for i, n in enumerate(self.rate_intervals.n_units[metric][:-1].tolist()):
            if not n or (metric == "fpr" and self.lacks_test_speakers[i]):
                words.append("")
                continue
            lacks = []
            if n < gates.speakers:
                lacks.append(f"{n} speaker{'s' * (n != 1)}")
            if not effective[i] >= gates.errors:
                lacks.append(f"{np.nan_to_num(effective[i]):.2g} effective errors")
            if metric == "fpr" and pairs[i] < gates.pairs:
                lacks.append(f"{int(pairs[i])} pairs of speakers")
            words.append("; ".join(lacks))
        return words

    def meets_minimums(self, keys: Sequence[Key] = ()) -> NDArray[np.bool_]:
        """Groups that count in headline meta-measures, ``[key, group]``; without keys ``[group]``.

        Rates are asked for what gates ask of them; other metrics, which join both classes of
        trials, for speakers and pairs of speakers.
        """
        gates, pairs = self.options.minimums, self.group_errors.nontarget.n_pairs
        enough = np.asarray((self.n_units[:-1] >= gates.speakers) & (pairs >= gates.pairs))
        enough &= ~self.lacks_test_speakers[:-1]
        if not keys:
            return enough
        found = np.repeat(enough[None], len(keys), axis=0)
        for i, key in enumerate(keys):
            if rate_point_index(key, self.point_indices) is not None:
                found[i] = [not lacks for lacks in self.missing_for_gates(key[0], key[2])]
        return found & ~self.metrics_lack_test_speakers([key[0] for key in keys])[:, :-1]

    def spread_beyond_noise(self, rates: Estimates) -> dict[str, dict[str, Any]]:
        """Spread of rates beyond what speakers make of it, by measure, in order of keys.

        `rates` are both at every operating point, undefined for groups that do not count.
        """
        of, points = self.rate_intervals.intervals, self.point_indices
        n_eff = [of[key[0]].n_eff[points[key[2]], :-1] for key in rates.keys]
        found = self.equal_rates_draws.spread_beyond_noise(rates, np.stack(n_eff))
        lacking = self.metrics_lack_test_speakers([key[0] for key in rates.keys]).any(axis=-1)
        if lacking.any():
            for columns in found.values():
                for name, column in columns.items():
                    if column.dtype.kind == "f":
                        columns[name] = np.where(lacking, np.nan, column)
                columns["reason"] = np.where(lacking, REASON_NO_TEST_SPEAKER, columns["reason"])
        return found
