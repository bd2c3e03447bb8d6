"""Noise floors: what a system with equal rates in all groups would show on these trials.

See docs/methods/uncertainty.md#noise-floors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import Estimates, draw_slices, rate_point_index
from parivox.core import bias
from parivox.core.beyond_noise import (
    corrected_variance,
    expect_errors,
    heterogeneity,
    resampled_rates,
    spread_interval,
    spread_of_draws,
    tau_log,
    tau_log_null,
)
from parivox.core.cluster_errors import ErrorsBySpeaker
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.core.measures import ALL_RATES, RATES
from parivox.core.noise import (
    draw_summary,
    floor,
    gamma_multinomial,
    null_method,
    permuted,
    without_zeros,
)
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray

_MIN_GROUPS = 3  # whose spread is estimated
_SHARED_SPEAKERS = "shared_speakers"
_CODES_WITHOUT_DRAWS = {_SHARED_SPEAKERS, UNKNOWN_SPEAKERS}
_NO_VARIANCE = "variance_of_too_few_groups"
_REASONS = {
    "no_errors": "no_group_has_errors",
    "few_errors": "too_few_errors_to_draw",
    "few_groups": "too_few_groups_to_draw",
    "fixed_groups": "no_speakers_to_exchange",
    _SHARED_SPEAKERS: "shared_speakers",
    UNKNOWN_SPEAKERS: UNKNOWN_SPEAKERS,
}


@frozen
class EqualRatesEstimates:
    """Draws of a system with equal rates in all groups, whose speakers vary as these do.

    Those of a rate are undefined where a speaker behind it is in two groups.
    """

    draws: Mapping[tuple[str, bool], Estimates]
    """``[draw, point, cell]``, by rate and whether half an error is put in the place of none."""
    refusals: Mapping[str, Sequence[str]]  # why a rate has no draws, by operating point
    point_indices: Mapping[str, int]  # index of each operating point
    options: Options

    def has_draws_of(self, key: Key) -> bool:
        """Return whether it is a rate that has equal-rates draws."""
        if rate_point_index(key, self.point_indices) is None:
            return False
        return _CODES_WITHOUT_DRAWS.isdisjoint(self.refusals[key[0]])

    def rate_draws(self, keys: Sequence[Key], *, lifted: bool) -> Estimates:
        """Return the draws of these keys, all of which must have draws."""
        draws_by_rate = []
        for metric in dict.fromkeys(key[0] for key in keys):
            keys_of_rate = [key for key in keys if key[0] == metric]
            draws_by_rate.append(self.draws[metric, lifted].with_keys(keys_of_rate))
        if len(draws_by_rate) == 1:
            return draws_by_rate[0]
        return reduce(Estimates.append_keys, draws_by_rate).with_keys(keys)

    def draw_chunks(self) -> Iterator[EqualRatesEstimates]:
        """Yield some draws at a time, as intermediate arrays of many groups are large."""
        for draw_slice in draw_slices(self.draws[RATES[0], False].values.shape):
            draws = {
                rate: estimates.draw_range(draw_slice) for rate, estimates in self.draws.items()
            }
            yield replace(self, draws=draws)

    def lacks_test_speakers(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """Return whether a rate has no draws for want of test speakers, ``[key]``."""
        return np.array([UNKNOWN_SPEAKERS in self.refusals[metric] for metric, _, _ in keys])

    def spread_beyond_noise(self, rates: Estimates, n_eff: FloatArray) -> dict[str, dict[str, Any]]:
        """Return the spread of the rates beyond that of speakers, by measure, in order of keys.

        `rates` are both at every operating point, undefined for groups that do not count, and
        `n_eff` the independent trials that they are worth, ``[key, group]``.
        """
        return {
            "heterogeneity": self._heterogeneity(rates),
            "tau_log": self._tau_log(rates),
            **self._variances(rates, n_eff),
        }

    def _heterogeneity(self, rates: Estimates) -> dict[str, Any]:
        """Return how many times as much the rates differ as with equal rates in all groups."""
        is_counted = expect_errors(rates.errors[..., :-1], rates.trials[..., :-1])
        # a single error where fewer than two are expected would hide the differences of others
        observed = np.where(is_counted, rates.groups, np.nan)
        statistic, draws = heterogeneity(observed, self.rate_draws(rates.keys, lifted=False).groups)
        floors = floor(statistic, draws)
        columns = {
            "value": statistic,
            "p": floors.p,
            "floor_mean": floors.mean,
            "floor_95": floors.q95,
        }
        columns |= self._group_columns(rates, statistic, 2)
        n_groups = (is_counted & ~np.isnan(rates.groups)).sum(axis=-1)
        has_few_groups = (columns["reason"] == "") & (n_groups < 2)
        columns["reason"][has_few_groups] = "fewer_than_two_groups_with_errors"
        return columns | {"groups": n_groups}

    def _tau_log(self, rates: Estimates) -> dict[str, Any]:
        """Return the standard deviation of log rates beyond that of speakers."""
        is_defined = ~np.isnan(rates.groups)
        positive_rates = without_zeros(rates.errors[..., :-1], rates.trials[..., :-1])
        observed = np.where(is_defined, positive_rates, np.nan)
        draws = self.rate_draws(rates.keys, lifted=True).mask_groups(is_defined).groups
        tau = tau_log(observed, draws)
        columns: dict[str, Any] = {"value": tau.value, "p": tau.p}
        columns["low"], columns["high"] = spread_interval(
            np.log(observed), np.log(draws), self.options.confidence
        )
        floors = floor(np.zeros(len(rates.keys)), tau_log_null(draws))
        columns |= {"floor_mean": floors.mean, "floor_95": floors.q95}
        return columns | self._group_columns(rates, tau.value, _MIN_GROUPS)

    def _group_columns(
        self, rates: Estimates, measured: FloatArray, min_groups: int
    ) -> dict[str, Any]:
        """Return how many groups each rate has, and why a measure of them is undefined."""
        n_groups = (~np.isnan(rates.groups)).sum(axis=-1)
        reasons = _few_groups_reasons(n_groups, min_groups)
        for i, (metric, _, point) in enumerate(rates.keys):
            if not reasons[i] and np.isnan(measured[i]):
                code = self.refusals[metric][self.point_indices[point]]
                reasons[i] = _REASONS.get(str(code), "no_group_has_rate")
        return {"groups": n_groups, "reason": reasons}

    def _variances(self, rates: Estimates, n_eff: FloatArray) -> dict[str, dict[str, Any]]:
        """Return the variance of the rates, corrected for noise once and twice."""
        is_defined = ~np.isnan(rates.groups)
        n_groups = is_defined.sum(axis=-1)
        has_trials = is_defined & (n_eff > 0)
        group_rates = np.where(has_trials, rates.groups, np.nan)
        n_trials = np.where(has_trials, n_eff, 1)
        corrected = corrected_variance(group_rates, n_trials)
        n_draws, seed = self.options.replicates, (self.options.seed, 2)
        confidence = self.options.confidence
        doubles, limits = [], []
        for rates_of_key, trials in zip(group_rates, n_trials, strict=True):
            # each key starts the same stream, so that draws do not depend on the other keys
            rng = np.random.default_rng(seed)
            resampled = resampled_rates(rates_of_key, trials, n_draws, rng)
            double_corrected = spread_of_draws(resampled, trials, confidence)
            doubles.append((double_corrected.median, double_corrected.low, double_corrected.high))
            interval = spread_interval(rates_of_key, resampled - rates_of_key, confidence)
            limits.append((interval.low, interval.high))
        low, high = np.reshape(limits, (-1, 2)).T ** 2
        columns_by_measure: dict[str, dict[str, Any]] = {
            "var_corrected": {"value": corrected, "low": np.fmin(low, corrected), "high": high},
            "var_double_corrected": dict(
                zip(("value", "low", "high"), np.reshape(doubles, (-1, 3)).T, strict=True)
            ),
        }
        for columns in columns_by_measure.values():
            for name, column in columns.items():
                columns[name] = np.where(n_groups < _MIN_GROUPS, np.nan, column)
            reason = _few_groups_reasons(n_groups, _MIN_GROUPS)
            reason[(reason == "") & np.isnan(columns["value"])] = _NO_VARIANCE
            columns |= {"groups": n_groups, "reason": reason}
        return columns_by_measure


def draw_equal_rates(
    groups: SpeakerErrors,
    moments: Mapping[str, Moments],
    located_points: Sequence[LocatedPoint],
    options: Options,
    rank: NDArray[np.intp] | None,
    are_valid_by_rate: Mapping[str, bool],
) -> EqualRatesEstimates:
    """Draw both rates of a system with equal rates, for groups whose speakers are in no other.

    Parameters
    ----------
    groups, moments
        Errors and trials by speaker and by pair, and how these vary, by rate.
    located_points
        Operating points.
    options
        How many draws, and their seed.
    rank
        Rank of each speaker in an order that does not depend on names, if there is one.
    are_valid_by_rate
        Whether no speaker is in two groups, by rate; only these rates are drawn.
    """
    points = {located.point.text: i for i, located in enumerate(located_points)}
    draws: dict[tuple[str, bool], Estimates] = {}
    refusals: dict[str, Sequence[str]] = {}
    for metric, is_valid in are_valid_by_rate.items():
        keys = [(metric, "", text) for text in points]
        if not is_valid:
            has_unknown_speakers = groups.for_rate(metric).has_unknown_speakers.any()
            reason = UNKNOWN_SPEAKERS if has_unknown_speakers else _SHARED_SPEAKERS
            refusals[metric] = [reason] * len(keys)
            shape = options.replicates, len(keys), groups.for_rate(metric).n_cells + 1
            undefined = np.broadcast_to(np.nan, shape)
            # one undefined number, broadcast, takes no memory
            no_draws = Estimates(keys, undefined, keys, undefined, undefined)
            draws |= {(metric, False): no_draws, (metric, True): no_draws}
            continue
        rng = np.random.default_rng((options.seed, ALL_RATES.index(metric)))
        unit_errors = groups.for_rate(metric)
        if isinstance(unit_errors, ErrorsBySpeaker) and null_method(unit_errors) == "permutation":
            equal_rates = permuted(_in_rank_order(unit_errors, rank), None, options.replicates, rng)
        else:
            equal_rates = gamma_multinomial(moments[metric], options.replicates, rng)
        refusals[metric] = equal_rates.reason.tolist()
        has_no_threshold = np.array(
            [bool(located.reason) for located in located_points], dtype=bool
        )
        is_undefined = (equal_rates.reason != "") | has_no_threshold
        group_counts = np.broadcast_arrays(
            equal_rates.errors.astype(np.float64), equal_rates.trials.astype(np.float64)
        )
        errors, trials = (
            np.concatenate((counts, counts.sum(axis=-1, keepdims=True)), axis=-1)
            for counts in group_counts
        )
        pooled_rates = bias.smoothed(errors[..., -1:], trials[..., -1:])
        for lifted, rates in ((False, equal_rates.rates), (True, equal_rates.nonzero_rates)):
            all_rates = np.concatenate((rates, pooled_rates), axis=-1)
            all_rates = np.where(is_undefined[:, None], np.nan, all_rates)
            draws[metric, lifted] = Estimates(keys, all_rates, keys, errors, trials)
    return EqualRatesEstimates(draws, refusals, points, options)


def _in_rank_order(errors: ErrorsBySpeaker, rank: NDArray[np.intp] | None) -> ErrorsBySpeaker:
    """Return the speakers of each group in an order that does not depend on names."""
    if rank is None:
        return errors
    return errors.select(np.lexsort((rank[errors.speaker], errors.cell)))


def _few_groups_reasons(n_groups: NDArray[np.int64], min_groups: int) -> NDArray[np.object_]:
    """Return why there is no spread of fewer than two or three groups; empty where there is."""
    reason = "fewer_than_two_groups" if min_groups == 2 else "fewer_than_three_groups"
    return np.where(n_groups < min_groups, reason, "").astype(object)


def floor_distances(draw_biases: FloatArray, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return how far equal-rates draws are from fair, to either side: mean and 95 % quantile.

    `kind` is ``ratio`` for distances as ratios, else they are differences.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.abs(np.log(draw_biases) if kind == "ratio" else draw_biases)
    mean, q95, _ = draw_summary(distances)
    is_finite = np.isfinite(distances)
    if not is_finite.all():  # a draw whose reference has no errors has no distance
        with np.errstate(invalid="ignore"):
            finite_mean = np.where(is_finite, distances, 0).sum(axis=0) / is_finite.sum(axis=0)
        mean = np.where(np.isnan(mean), np.nan, finite_mean)
    return (np.exp(mean), np.exp(q95)) if kind == "ratio" else (mean, q95)
