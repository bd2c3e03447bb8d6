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

_GROUPS = 3
_SHARED = "shared_speakers"
_NO_DRAWS = {_SHARED, UNKNOWN_SPEAKERS}
_NO_VARIANCE = "the variance of too few groups is known"
_REFUSED = {
    "no_errors": "no group has errors",
    "few_errors": "too few errors to draw a fair system",
    "few_groups": "too few groups with speakers enough to draw a fair system",
    "fixed_groups": "no speakers to exchange between groups",
    _SHARED: "no valid draws of a fair system: speakers are in several groups",
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
        return _NO_DRAWS.isdisjoint(self.refusals[key[0]])

    def rate_draws(self, keys: Sequence[Key], *, lifted: bool) -> Estimates:
        """Draws of a fair system of these keys, which have them."""
        parts = [
            self.draws[metric, lifted].with_keys([key for key in keys if key[0] == metric])
            for metric in dict.fromkeys(key[0] for key in keys)
        ]
        return parts[0] if len(parts) == 1 else parts[0].append_keys(parts[1]).with_keys(keys)

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
        counts = expect_errors(rates.errors[..., :-1], rates.trials[..., :-1])
        seen = np.where(counts, rates.groups, np.nan)
        value, draws = heterogeneity(seen, self.rate_draws(rates.keys, lifted=False).groups)
        at = floor(value, draws)
        found = {"value": value, "p": at.p, "floor_mean": at.mean, "floor_95": at.q95}
        found |= self._group_columns(rates, value, 2)
        n_groups = (counts & ~np.isnan(rates.groups)).sum(axis=-1)
        is_few = (found["reason"] == "") & (n_groups < 2)
        found["reason"][is_few] = "fewer than two groups in which two errors are expected"
        return found | {"groups": n_groups}

    def _tau_log(self, rates: Estimates) -> dict[str, Any]:
        chosen = ~np.isnan(rates.groups)
        counted = without_zeros(rates.errors[..., :-1], rates.trials[..., :-1])
        observed = np.where(chosen, counted, np.nan)
        draws = self.rate_draws(rates.keys, lifted=True).mask_groups(chosen).groups
        tau = tau_log(observed, draws)
        found: dict[str, Any] = {"value": tau.value, "p": tau.p}
        found["low"], found["high"] = spread_interval(
            np.log(observed), np.log(draws), self.options.confidence
        )
        at = floor(np.zeros(len(rates.keys)), tau_log_null(draws))
        found |= {"floor_mean": at.mean, "floor_95": at.q95}
        return found | self._group_columns(rates, tau.value, _GROUPS)

    def _group_columns(self, rates: Estimates, value: FloatArray, least: int) -> dict[str, Any]:
        """How many groups each rate has, and why a value of at least so many is unknown."""
        n_groups = (~np.isnan(rates.groups)).sum(axis=-1)
        words = _few(n_groups, least)
        for i, (metric, _, point) in enumerate(rates.keys):
            if not words[i] and np.isnan(value[i]):
                code = self.refusals[metric][self.point_indices[point]]
                words[i] = _REFUSED.get(str(code), "no group has the rate")
        return {"groups": n_groups, "reason": words}

    def _variances(self, rates: Estimates, n_eff: FloatArray) -> dict[str, dict[str, Any]]:
        chosen = ~np.isnan(rates.groups)
        n_groups = chosen.sum(axis=-1)
        has = chosen & (n_eff > 0)
        values, known = np.where(has, rates.groups, np.nan), np.where(has, n_eff, 1)
        single = corrected_variance(values, known)
        n, seed = self.options.replicates, (self.options.seed, 2)
        confidence = self.options.confidence
        doubles, ends = [], []
        for rates_of, trials in zip(values, known, strict=True):
            # one stream a key, so that other keys change nothing
            again = resampled_rates(rates_of, trials, n, np.random.default_rng(seed))
            double = spread_of_draws(again, trials, confidence)
            doubles.append((double.median, double.low, double.high))
            between = spread_interval(rates_of, again - rates_of, confidence)
            ends.append((between.low, between.high))
        low, high = np.reshape(ends, (-1, 2)).T ** 2
        made: dict[str, dict[str, Any]] = {
            "var_corrected": {"value": single, "low": np.fmin(low, single), "high": high},
            "var_double_corrected": dict(
                zip(("value", "low", "high"), np.reshape(doubles, (-1, 3)).T, strict=True)
            ),
        }
        for cells in made.values():
            for name, column in cells.items():
                cells[name] = np.where(n_groups < _GROUPS, np.nan, column)
            reason = _few(n_groups, _GROUPS)
            reason[(reason == "") & np.isnan(cells["value"])] = _NO_VARIANCE
            cells |= {"groups": n_groups, "reason": reason}
        return made


def draw_equal_rates(
    groups: SpeakerErrors,
    moments: Mapping[str, Moments],
    found: Sequence[LocatedPoint],
    options: Options,
    rank: NDArray[np.intp] | None,
    are_valid: Mapping[str, bool],
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
    points = {one.point.text: i for i, one in enumerate(found)}
    draws: dict[tuple[str, bool], Estimates] = {}
    refused: dict[str, Sequence[str]] = {}
    for metric, is_valid in are_valid.items():
        keys = [(metric, "", text) for text in points]
        if not is_valid:
            why = (
                UNKNOWN_SPEAKERS if groups.for_rate(metric).has_unknown_speakers.any() else _SHARED
            )
            refused[metric] = [why] * len(keys)
            shape = options.replicates, len(keys), groups.for_rate(metric).n_cells + 1
            unknown = np.broadcast_to(np.nan, shape)
            none = Estimates(keys, unknown, keys, unknown, unknown)
            draws |= {(metric, False): none, (metric, True): none}
            continue
        rng = np.random.default_rng((options.seed, RATES.index(metric)))
        if metric == "fnr" and null_method(groups.target) == "permutation":
            null = permuted(_ranked(groups.target, rank), None, options.replicates, rng)
        else:
            null = gamma_multinomial(moments[metric], options.replicates, rng)
        refused[metric] = null.reason.tolist()
        unknown = (null.reason != "") | np.array([bool(one.reason) for one in found], dtype=bool)
        counted = null.errors.astype(np.float64), null.trials.astype(np.float64)
        errors, trials = (
            np.concatenate((one, one.sum(axis=-1, keepdims=True)), axis=-1)
            for one in np.broadcast_arrays(*counted)
        )
        pooled = bias.smoothed(errors[..., -1:], trials[..., -1:])
        for lifted, rates in ((False, null.rates), (True, null.nonzero_rates)):
            values = np.concatenate((rates, pooled), axis=-1)
            values = np.where(unknown[:, None], np.nan, values)
            draws[metric, lifted] = Estimates(keys, values, keys, errors, trials)
    return EqualRatesDraws(draws, refused, points, options)


def _ranked(tally: ErrorsBySpeaker, rank: NDArray[np.intp] | None) -> ErrorsBySpeaker:
    """Speakers of each group in an order that names do not change."""
    if rank is None:
        return tally
    return tally.select(np.lexsort((rank[tally.speaker], tally.cell)))


def _few(n_groups: NDArray[np.int64], least: int) -> NDArray[np.object_]:
    """Why there is no spread of fewer than two or three groups."""
    words = f"fewer than {'two' if least == 2 else 'three'} groups"
    return np.where(n_groups < least, words, "").astype(object)


def floor_distances(draws: FloatArray, kind: str) -> tuple[FloatArray, FloatArray]:
    """How far from fair a fair system is, to either side: on average and at most in 95 %."""
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.abs(np.log(draws) if kind == "ratio" else draws)
    known, q95, _ = draw_summary(far)
    finite = np.isfinite(far)  # a draw whose reference has no errors has no distance
    with np.errstate(invalid="ignore"):
        mean = np.where(finite, far, 0).sum(axis=0) / finite.sum(axis=0)
    ends = np.where(np.isnan(known), np.nan, mean), q95
    return (np.exp(ends[0]), np.exp(ends[1])) if kind == "ratio" else ends
