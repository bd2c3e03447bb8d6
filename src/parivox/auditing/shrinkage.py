"""Best guesses of rates and of ratios, and whether attributes add up: columns and rows of them.

They are modelled, stand beside what was counted, and no verdict rests on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.estimates import key_columns, rate_point_index
from parivox.core.cluster_errors import safe_divide
from parivox.core.intervals import REASON_NO_TEST_SPEAKER, other_kappa2, rate_interval
from parivox.core.noise import floor, without_zeros
from parivox.core.shrinkage import ShrunkenRates, interaction, log_rates, power, shrunken
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.nulls import EqualRatesDraws
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.cluster_errors import Moments
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping

    Columns = dict[str, NDArray[Any]]

INTERACTION = "interaction"
_ADDS_UP = "too few groups, or too few errors, to tell what attributes add up to"
BEST_GUESS_COLUMNS = ("best_guess", "best_guess_low", "best_guess_high")
"""Columns of a best guess and its limits."""


@frozen
class BestGuesses:
    """Of both rates of the groups of one grouping."""

    groups: Sequence[str]
    shrunken_rates: Mapping[
        str, ShrunkenRates
    ]  # [point, group] of each rate; none where groups share speakers
    trials: Mapping[str, FloatArray]  # [point, group]
    point_indices: Mapping[str, int]  # operating points, with the place of each
    options: Options

    def rate_columns(self, keys: Sequence[Key], shape: tuple[int, ...]) -> Columns:
        """The columns of best guesses of base metrics, ``[key, cell]``."""
        columns: Columns = {name: np.full(shape, np.nan) for name in BEST_GUESS_COLUMNS}
        rates = {metric: one.rate for metric, one in self.shrunken_rates.items()}
        for i, key in enumerate(keys):
            at = rate_point_index(key, self.point_indices)
            if at is not None and key[0] in rates:
                for name, of in zip(BEST_GUESS_COLUMNS, rates[key[0]], strict=True):
                    columns[name][i, :-1] = of[at]
        return columns

    def ratio_columns(
        self, metric: str, point: str, low: FloatArray, high: FloatArray, level: FloatArray
    ) -> Columns:
        """The columns of best guesses of ratios at a point, ``[group]``, and of power at them.

        `low` and `high` are limits of the ratios as measured, `level` what p had to fall below
        among so many groups.
        """
        found, against = self.shrunken_rates.get(metric), self.options.reference[0]
        shares = None if found is None else _shares(against, self.groups, self.trials[metric])
        if found is None or shares is None:
            return {}
        guess = found.ratio(shares, to_others=against == "others")
        here = [end[self.point_indices[point]] for end in guess]
        strength = power(here[0], low, high, level, self.options.confidence)
        return {**dict(zip(BEST_GUESS_COLUMNS, here, strict=True)), "power": strength}


def best_guesses(
    grouping: Grouping | None,
    moments: Mapping[str, Moments],
    are_disjoint: Mapping[str, bool],
    points: Mapping[str, int],
    options: Options,
) -> BestGuesses:
    """Best guesses of the groups of a grouping, none of all trials together.

    The model takes groups to be independent: there are none of a rate by which some speaker is in
    two of them.
    """
    if grouping is None:
        return BestGuesses((), {}, {}, points, options)
    groups, found = grouping.groups, {}
    for metric, own in moments.items():
        n_groups = (np.reshape(own.trials, (-1, len(groups))) > 0).any(axis=0).sum()
        if n_groups < 2 or not are_disjoint[metric]:
            continue
        floored = other_kappa2(own) if metric == "fnr" else None
        logs = log_rates(own.rate, rate_interval(own, options.confidence, floored).n_eff)
        found[metric] = shrunken(*logs, attribute_codes(grouping), own.df, options.confidence)
    trials = {metric: own.trials for metric, own in moments.items()}
    return BestGuesses(groups, found, trials, points, options)


def add_interaction_rows(
    rows: TableBuilder,
    where: Mapping[str, Any],
    grouping: Grouping,
    rates: Estimates,
    nulls: EqualRatesDraws,
) -> None:
    """Whether what attributes do to both rates adds up; rows of groupings of several attributes."""
    codes = attribute_codes(grouping)
    if codes.shape[1] < 2:
        return
    seen = ~np.isnan(rates.groups)
    counted = without_zeros(rates.errors[..., :-1], rates.trials[..., :-1])
    drawn = nulls.rate_draws(rates.keys, lifted=True).mask_groups(seen).groups
    found = interaction(np.where(seen, counted, np.nan), drawn, codes)
    value, at = found.value, floor(found.value, found.draws)
    names, off = (
        np.array(grouping.groups, dtype=object),
        np.where(np.isnan(found.off), 0, found.off),
    )
    low, high = names[off.argmin(axis=-1)], names[off.argmax(axis=-1)]
    known = ~np.isnan(value)
    rows.add(
        **where,
        **key_columns(rates.keys),
        measure=INTERACTION,
        zero="none",
        value=value,
        floor_mean=at.mean,
        floor_95=at.q95,
        p=at.p,
        low_group=np.where(known, low, ""),
        high_group=np.where(known, high, ""),
        groups=seen.sum(axis=-1),
        higher_is_fairer=False,
        gated=False,
        reason=np.where(
            known,
            "",
            np.where(nulls.lacks_test_speakers(rates.keys), REASON_NO_TEST_SPEAKER, _ADDS_UP),
        ),
    )


def attribute_codes(grouping: Grouping) -> NDArray[np.int64]:
    """Number of each group's value of each attribute, ``[group, attribute]``."""
    values = zip(*(grouping.group_values or [(group,) for group in grouping.groups]), strict=True)
    codes = [np.unique(np.array(one, dtype=np.str_), return_inverse=True)[1] for one in values]
    return np.stack(codes, axis=-1).astype(np.int64)


def _shares(reference: str, groups: Sequence[str], trials: FloatArray) -> FloatArray | None:
    """What a reference is made of, in shares of the trials; None where it is made of no trials."""
    if reference in {"others", "pooled"}:
        return safe_divide(trials, trials.sum(axis=-1, keepdims=True), 0)
    if reference not in groups:
        return None
    return np.array([group == reference for group in groups], dtype=np.float64)
