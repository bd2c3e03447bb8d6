"""Best guesses of rates and ratios, and interactions of attributes: their columns and rows.

They are modelled, are shown next to what was counted, and no verdict rests on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import key_columns, rate_point_index
from parivox.core.cluster_errors import safe_divide
from parivox.core.intervals import UNKNOWN_SPEAKERS, other_kappa2, rate_interval
from parivox.core.noise import floor, without_zeros
from parivox.core.shrinkage import ShrunkenRates, interaction, log_rates, power, shrunken
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.noise_floors import EqualRatesEstimates
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping

    Columns = dict[str, NDArray[Any]]

INTERACTION = "interaction"
_TOO_LITTLE = "too_few_for_interaction"
BEST_GUESS_COLUMNS = ("best_guess", "best_guess_low", "best_guess_high")
"""Columns of a best guess and its limits."""


@frozen
class BestGuesses:
    """Best guesses of both rates of the groups of one grouping."""

    groups: Sequence[str]
    shrunken_rates: Mapping[str, ShrunkenRates]
    """``[point, group]`` of each rate; without rates for which groups share speakers."""
    trials: Mapping[str, FloatArray]  # [point, group] of each rate
    point_indices: Mapping[str, int]  # index of each operating point
    options: Options

    def rate_columns(self, keys: Sequence[Key], shape: tuple[int, ...]) -> Columns:
        """Return the columns of best guesses of base metrics, ``[key, cell]``."""
        columns: Columns = {name: np.full(shape, np.nan) for name in BEST_GUESS_COLUMNS}
        rates = {metric: shrunken.rate for metric, shrunken in self.shrunken_rates.items()}
        for row, key in enumerate(keys):
            point_index = rate_point_index(key, self.point_indices)
            if point_index is not None and key[0] in rates:
                for name, rates_of_column in zip(BEST_GUESS_COLUMNS, rates[key[0]], strict=True):
                    columns[name][row, :-1] = rates_of_column[point_index]
        return columns

    def ratio_columns(
        self, metric: str, point: str, low: FloatArray, high: FloatArray, max_p: FloatArray
    ) -> Columns:
        """Return the columns of best guesses of ratios at a point, ``[group]``, and of power.

        `low` and `high` are limits of the measured ratios, `max_p` is what p had to be below to be
        significant among so many groups.
        """
        shrunken, reference = self.shrunken_rates.get(metric), self.options.reference[0]
        if shrunken is None:
            return {}
        shares = _reference_shares(reference, self.groups, self.trials[metric])
        if shares is None:
            return {}
        ratio_guess = shrunken.ratio(shares, to_others=reference == "others")
        guess_at_point = [bound[self.point_indices[point]] for bound in ratio_guess]
        power_at_guess = power(guess_at_point[0], low, high, max_p, self.options.confidence)
        return {
            **dict(zip(BEST_GUESS_COLUMNS, guess_at_point, strict=True)),
            "power": power_at_guess,
        }


def best_guesses(
    grouping: Grouping | None,
    moments_by_rate: Mapping[str, Moments],
    are_disjoint: Mapping[str, bool],
    points: Mapping[str, int],
    options: Options,
) -> BestGuesses:
    """Return best guesses of the groups of a grouping; all trials together have none.

    The model takes groups to be independent: a rate for which a speaker is in two groups has none.
    """
    if grouping is None:
        return BestGuesses((), {}, {}, points, options)
    groups, shrunken_rates = grouping.groups, {}
    for metric, group_moments in moments_by_rate.items():
        n_groups = (np.reshape(group_moments.trials, (-1, len(groups))) > 0).any(axis=0).sum()
        # one group has no others to be drawn to
        if n_groups < 2 or not are_disjoint[metric]:
            continue
        pooled_floor = other_kappa2(group_moments) if metric == "fnr" else None
        interval = rate_interval(group_moments, options.confidence, pooled_floor)
        logs, variances = log_rates(group_moments.rate, interval.n_eff)
        shrunken_rates[metric] = shrunken(
            logs, variances, attribute_codes(grouping), group_moments.df, options.confidence
        )
    trials = {metric: group_moments.trials for metric, group_moments in moments_by_rate.items()}
    return BestGuesses(groups, shrunken_rates, trials, points, options)


def add_interaction_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    grouping: Grouping,
    rates: Estimates,
    equal_rates: EqualRatesEstimates,
) -> None:
    """Add whether the effects of several attributes on the log of both rates add up."""
    codes = attribute_codes(grouping)
    if codes.shape[1] < 2:
        return
    is_defined = ~np.isnan(rates.groups)
    positive_rates = without_zeros(rates.errors[..., :-1], rates.trials[..., :-1])
    equal_rates_draws = (
        equal_rates.rate_draws(rates.keys, lifted=True).mask_groups(is_defined).groups
    )
    interaction_of_attributes = interaction(
        np.where(is_defined, positive_rates, np.nan), equal_rates_draws, codes
    )
    statistic = interaction_of_attributes.value
    floors = floor(statistic, interaction_of_attributes.draws)
    names = np.array(grouping.groups, dtype=object)
    # groups without value deviate least
    deviations = np.where(np.isnan(interaction_of_attributes.off), 0, interaction_of_attributes.off)
    lowest_group = names[deviations.argmin(axis=-1)]
    highest_group = names[deviations.argmax(axis=-1)]
    is_known = ~np.isnan(statistic)
    lacks_test_speakers = equal_rates.lacks_test_speakers(rates.keys)
    reasons = np.where(lacks_test_speakers, UNKNOWN_SPEAKERS, _TOO_LITTLE)
    rows.add(
        **audit_keys,
        **key_columns(rates.keys),
        measure=INTERACTION,
        zero="none",
        value=statistic,
        floor_mean=floors.mean,
        floor_95=floors.q95,
        p=floors.p,
        low_group=np.where(is_known, lowest_group, ""),
        high_group=np.where(is_known, highest_group, ""),
        groups=is_defined.sum(axis=-1),
        higher_is_fairer=False,
        gated=False,
        reason=np.where(is_known, "", reasons),
    )


def attribute_codes(grouping: Grouping) -> NDArray[np.int64]:
    """Return the number of each group's value of each attribute, ``[group, attribute]``."""
    group_values = grouping.group_values or [(group,) for group in grouping.groups]
    values_by_attribute = zip(*group_values, strict=True)
    codes = [
        np.unique(np.array(attribute_values, dtype=np.str_), return_inverse=True)[1]
        for attribute_values in values_by_attribute
    ]
    return np.stack(codes, axis=-1).astype(np.int64)


def _reference_shares(
    reference: str, groups: Sequence[str], trials: FloatArray
) -> FloatArray | None:
    """Return the groups that make up a reference, as shares of its trials.

    None for references that are not made of trials, such as means of rates.
    """
    if reference in {"others", "pooled"}:
        return safe_divide(trials, trials.sum(axis=-1, keepdims=True), 0)
    if reference not in groups:
        return None
    return np.array([group == reference for group in groups], dtype=np.float64)
