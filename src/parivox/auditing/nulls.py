"""What a fair system would show on these speakers and trials: noise floors.

See docs/methods/noise-floors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import Estimates, rate_point_index
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
from parivox.core.intervals import REASON_NO_TEST_SPEAKER, UNKNOWN_SPEAKERS
from parivox.core.measures import RATES
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
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import ErrorsBySpeaker, Moments
    from parivox.core.counts import FloatArray

_MIN_GROUPS = 3
_SHARED_SPEAKERS = "shared_speakers"
_CODES_WITHOUT_DRAWS = {_SHARED_SPEAKERS, UNKNOWN_SPEAKERS}
_NO_VARIANCE = "the variance of too few groups is known"
_REASONS = {
    "no_errors": "no group has errors",
    "few_errors": "too few errors to draw a fair system",
    "few_groups": "too few groups with speakers enough to draw a fair system",
    "fixed_groups": "no speakers to exchange between groups",
    _SHARED_SPEAKERS: "no valid draws of a fair system: speakers are in several groups",
    UNKNOWN_SPEAKERS: REASON_NO_TEST_SPEAKER,
}


@frozen
class EqualRatesDraws:
    """Draws of a system that treats the groups alike, whose speakers vary as these do.

    Those of a rate are undefined where a speaker behind it is in two groups.
    """

    draws: Mapping[tuple[str, bool], Estimates]
    """``[draw, point, cell]``, by rate and whether half an error stands in the place of none."""
    refusals: Mapping[str, Sequence[str]]  # why there are none of a rate, by operating point
    point_indices: Mapping[str, int]  # operating points, with the place of each
    options: Options

    def has_draws_of(self, key: Key) -> bool:
        """Whether it is a rate that draws of a fair system are made of."""
        if rate_point_index(key, self.point_indices) is None:
            return False
        return _CODES_WITHOUT_DRAWS.isdisjoint(self.refusals[key[0]])

    def rate_draws(self, keys: Sequence[Key], *, lifted: bool) -> Estimates:
        """Draws of a fair system of these keys, which have them."""
        draws_by_rate = [
            self.draws[metric, lifted].with_keys([key for key in keys if key[0] == metric])
            for metric in dict.fromkeys(key[0] for key in keys)
        ]
        return (
            draws_by_rate[0]
            if len(draws_by_rate) == 1
            else draws_by_rate[0].append_keys(draws_by_rate[1]).with_keys(keys)
        )

    def lacks_test_speakers(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """Whether there is none of a rate as nontarget trials have no test speaker, ``[key]``."""
        return np.array([UNKNOWN_SPEAKERS in self.refusals[metric] for metric, _, _ in keys])

    def spread_beyond_noise(self, rates: Estimates, n_eff: FloatArray) -> dict[str, dict[str, Any]]:
        """Spread of the rates beyond what speakers make of it, by measure, in order of keys.

        `rates` are both at every operating point, undefined for groups that do not count, and
        `n_eff` independent trials that they are worth, ``[key, group]``.
        """
        return {
            "heterogeneity": self._heterogeneity(rates),
            "tau_log": self._tau_log(rates),
            **self._variances(rates, n_eff),
        }

    def _heterogeneity(self, rates: Estimates) -> dict[str, Any]:
        """How many times as much the rates differ as those of a fair system."""
        is_counted = expect_errors(rates.errors[..., :-1], rates.trials[..., :-1])
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
        columns["reason"][has_few_groups] = "fewer than two groups in which two errors are expected"
        return columns | {"groups": n_groups}

    def _tau_log(self, rates: Estimates) -> dict[str, Any]:
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
        """How many groups each rate has, and why a value of at least so many is unknown."""
        n_groups = (~np.isnan(rates.groups)).sum(axis=-1)
        reasons = _few_groups_reasons(n_groups, min_groups)
        for i, (metric, _, point) in enumerate(rates.keys):
            if not reasons[i] and np.isnan(measured[i]):
                code = self.refusals[metric][self.point_indices[point]]
                reasons[i] = _REASONS.get(str(code), "no group has the rate")
        return {"groups": n_groups, "reason": reasons}

    def _variances(self, rates: Estimates, n_eff: FloatArray) -> dict[str, dict[str, Any]]:
        is_defined = ~np.isnan(rates.groups)
        n_groups = is_defined.sum(axis=-1)
        has_trials = is_defined & (n_eff > 0)
        group_rates, n_trials = (
            np.where(has_trials, rates.groups, np.nan),
            np.where(has_trials, n_eff, 1),
        )
        corrected = corrected_variance(group_rates, n_trials)
        n_draws, seed = self.options.replicates, (self.options.seed, 2)
        confidence = self.options.confidence
        doubles, limits = [], []
        for rates_of, trials in zip(group_rates, n_trials, strict=True):
            # one stream a key, so that other keys change nothing
            resampled = resampled_rates(rates_of, trials, n_draws, np.random.default_rng(seed))
            double_corrected = spread_of_draws(resampled, trials, confidence)
            doubles.append((double_corrected.median, double_corrected.low, double_corrected.high))
            interval = spread_interval(rates_of, resampled - rates_of, confidence)
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
) -> EqualRatesDraws:
    """Draw a fair system of both rates, of groups whose speakers are in no other.

    Parameters
    ----------
    groups, moments
        Errors and trials by speaker and by pair, and how these vary, by rate.
    found
        Operating points.
    options
        How many draws, and their seed.
    rank
        Place of each speaker in an order that does not follow from names, if there is one.
    are_valid
        Whether the groups are such, by rate; of a rate that is not asked for there is nothing.
    """
    points = {located.point.text: i for i, located in enumerate(located_points)}
    draws: dict[tuple[str, bool], Estimates] = {}
    refused: dict[str, Sequence[str]] = {}
    for metric, is_valid in are_valid_by_rate.items():
        keys = [(metric, "", text) for text in points]
        if not is_valid:
            reason = (
                UNKNOWN_SPEAKERS
                if groups.for_rate(metric).has_unknown_speakers.any()
                else _SHARED_SPEAKERS
            )
            refused[metric] = [reason] * len(keys)
            shape = options.replicates, len(keys), groups.for_rate(metric).n_cells + 1
            undefined = np.broadcast_to(np.nan, shape)
            no_draws = Estimates(keys, undefined, keys, undefined, undefined)
            draws |= {(metric, False): no_draws, (metric, True): no_draws}
            continue
        rng = np.random.default_rng((options.seed, RATES.index(metric)))
        if metric == "fnr" and null_method(groups.target) == "permutation":
            equal_rates = permuted(
                _in_rank_order(groups.target, rank), None, options.replicates, rng
            )
        else:
            equal_rates = gamma_multinomial(moments[metric], options.replicates, rng)
        refused[metric] = equal_rates.reason.tolist()
        undefined = (equal_rates.reason != "") | np.array(
            [bool(located.reason) for located in located_points], dtype=bool
        )
        null_counts = equal_rates.errors.astype(np.float64), equal_rates.trials.astype(np.float64)
        errors, trials = (
            np.concatenate((located, located.sum(axis=-1, keepdims=True)), axis=-1)
            for located in np.broadcast_arrays(*null_counts)
        )
        pooled = bias.smoothed(errors[..., -1:], trials[..., -1:])
        for lifted, rates in ((False, equal_rates.rates), (True, equal_rates.nonzero_rates)):
            values = np.concatenate((rates, pooled), axis=-1)
            values = np.where(undefined[:, None], np.nan, values)
            draws[metric, lifted] = Estimates(keys, values, keys, errors, trials)
    return EqualRatesDraws(draws, refused, points, options)


def _in_rank_order(errors: ErrorsBySpeaker, rank: NDArray[np.intp] | None) -> ErrorsBySpeaker:
    """Speakers of each group in an order that names do not change."""
    if rank is None:
        return errors
    return errors.select(np.lexsort((rank[errors.speaker], errors.cell)))


def _few_groups_reasons(n_groups: NDArray[np.int64], min_groups: int) -> NDArray[np.object_]:
    """Why there is no spread of fewer than two or three groups."""
    reason = f"fewer than {'two' if min_groups == 2 else 'three'} groups"
    return np.where(n_groups < min_groups, reason, "").astype(object)


def floor_distances(draw_biases: FloatArray, kind: str) -> tuple[FloatArray, FloatArray]:
    """How far from fair a fair system is, to either side: on average and at most in 95 %."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.abs(np.log(draw_biases) if kind == "ratio" else draw_biases)
    median, q95, _ = draw_summary(distances)
    is_finite = np.isfinite(distances)  # a draw whose reference has no errors has no distance
    with np.errstate(invalid="ignore"):
        mean = np.where(is_finite, distances, 0).sum(axis=0) / is_finite.sum(axis=0)
    mean_and_q95 = np.where(np.isnan(median), np.nan, mean), q95
    return (np.exp(mean_and_q95[0]), np.exp(mean_and_q95[1])) if kind == "ratio" else mean_and_q95
