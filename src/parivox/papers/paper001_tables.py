"""Hutiri and Ding (2022), "Bias in Automated Speaker Recognition": tables 4 and 5.

Both describe ResNetSE34V2 on VoxCeleb1-H, 18 groups of gender and nationality, at the
threshold with the least normalised cost (``voxsrc``) over all trials. Every printed figure
follows from the rules of bt4vt (`parivox.core.bt4vt`) and three further steps:

* costs are rounded to 4 decimals before they are divided by 0.05 (so 0.0077476 prints as
  0.154 and not as 0.155);
* threshold bias is the ratio of two such rounded costs;
* table 5 divides by the rates of the alphabetically last group, usa_m, and not by the overall
  rates that its caption names.

Each function takes counts and returns rows that set the printed figure beside the one by the
paper's steps, the one by bt4vt's rules alone, and the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.bias import ratio, threshold_bias
from parivox.core.bt4vt import bt4vt_cdet_at, bt4vt_min_cdet, bt4vt_rates_at
from parivox.core.costs import COST_MODELS, cdet, min_cdet
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.core.counts import Counts, FloatArray

COST = COST_MODELS["voxsrc"]
REFERENCE_5 = "usa_m"
"""The group whose rates table 5 divides by."""

# group: speakers, cost at the overall minimum, subgroup bias, own minimum, threshold bias
TABLE_4 = {
    "mexico_m": (5, 0.090, 0.5768, 0.090, 1.0000),
    "newzealand_m": (6, 0.104, 0.6668, 0.086, 1.2093),
    "ireland_f": (5, 0.110, 0.7109, 0.070, 1.5714),
    "canada_m": (29, 0.114, 0.7304, 0.104, 1.0962),
    "usa_m": (431, 0.130, 0.8357, 0.122, 1.0656),
    "australia_m": (25, 0.140, 0.9020, 0.136, 1.0294),
    "usa_f": (368, 0.142, 0.9224, 0.140, 1.0143),
    "uk_m": (127, 0.148, 0.9523, 0.140, 1.0571),
    "ireland_m": (13, 0.162, 1.0432, 0.160, 1.0125),
    "australia_f": (12, 0.178, 1.1523, 0.154, 1.1558),
    "india_m": (15, 0.190, 1.2200, 0.144, 1.3194),
    "germany_f": (5, 0.208, 1.3359, 0.184, 1.1304),
    "canada_f": (25, 0.224, 1.4501, 0.202, 1.1089),
    "uk_f": (88, 0.226, 1.4558, 0.172, 1.3140),
    "norway_f": (7, 0.228, 1.4711, 0.210, 1.0857),
    "italy_f": (5, 0.276, 1.7827, 0.104, 2.6538),
    "norway_m": (13, 0.398, 2.5720, 0.396, 1.0051),
    "india_f": (11, 0.400, 2.5766, 0.318, 1.2579),
}
"""Printed table 4: 3 decimals for costs, 4 for both biases."""

# group: speakers, FPR ratio, FNR ratio
TABLE_5 = {
    "mexico_m": (5, 0.0000, 0.8173),
    "canada_m": (29, 0.5171, 0.9396),
    "newzealand_m": (6, 0.5218, 0.8487),
    "norway_f": (7, 0.6306, 1.9682),
    "ireland_f": (5, 0.9037, 0.8408),
    "usa_m": (431, 1.0000, 1.0000),
    "australia_m": (25, 1.1055, 1.0745),
    "germany_f": (5, 1.5023, 1.6162),
    "ireland_m": (13, 1.6864, 1.1675),
    "usa_f": (368, 2.0542, 0.9287),
    "canada_f": (25, 3.1483, 1.4749),
    "uk_m": (127, 3.5339, 0.6986),
    "australia_f": (12, 5.6031, 0.6008),
    "norway_m": (13, 6.0866, 2.5233),
    "india_m": (15, 6.6852, 0.4975),
    "uk_f": (88, 7.8514, 0.6168),
    "italy_f": (5, 10.3484, 0.6202),
    "india_f": (11, 13.0387, 1.2497),
}
"""Printed table 5: 4 decimals."""


class PaperFigure(NamedTuple):
    """One figure of a table, computed in four ways."""

    printed: float | None
    """None for a group that the paper does not list."""
    paper: float
    """By the paper's steps."""
    compat: float
    """By bt4vt's rules alone, nothing rounded, divided by the overall figure."""
    exact: float
    """By counting at the threshold (docs/papers.md#table-4-of-paper-001)."""


@dataclass(frozen=True)
class Row4:
    """A group in table 4; costs are normalised, lower is better, a bias of 1 is fair."""

    group: str
    cost: PaperFigure
    subgroup_bias: PaperFigure
    own_cost: PaperFigure
    threshold_bias: PaperFigure


@dataclass(frozen=True)
class Row5:
    """A group in table 5: its rates over the reference's; 1 is fair, above 1 is worse."""

    group: str
    fpr_ratio: PaperFigure
    fnr_ratio: PaperFigure


def paper_name(group: str) -> str:
    """Return the paper's name of a group of gender and nationality.

    Examples
    --------
    >>> paper_name("m+New Zealand")
    'newzealand_m'
    """
    gender, _, nationality = group.partition("+")
    return f"{nationality.replace(' ', '').lower()}_{gender}"


def table4(overall: Counts, groups: Mapping[str, Counts]) -> list[Row4]:
    """Return detection costs, subgroup bias and threshold bias of each group.

    The threshold is found on all trials; those of a group, by the paper's name for it, are of its
    enrolment speakers.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> group = Counts.from_scores([0.9, 0.7, 0.8, 0.1], [1, 1, 0, 0])
    >>> overall = group + Counts.from_scores([0.9, 0.85, 0.3, 0.2], [1, 1, 0, 0])
    >>> (row,) = table4(overall, {"usa_m": group})
    >>> round(row.subgroup_bias.exact, 6), row.subgroup_bias.printed
    (2.0, 0.8357)
    """
    overall_minimum, exact_overall_minimum = (
        bt4vt_min_cdet(overall, cost=COST),
        min_cdet(overall, cost=COST),
    )
    compat_costs = np.array(
        [
            bt4vt_cdet_at(cell, overall_minimum.threshold, cost=COST).value
            for cell in groups.values()
        ]
    )
    compat_own_costs = np.array([bt4vt_min_cdet(cell, cost=COST).value for cell in groups.values()])
    exact_costs = np.array(
        [cdet(cell.at([exact_overall_minimum.threshold]), COST)[0] for cell in groups.values()]
    )
    exact_own_costs = np.array([min_cdet(cell, cost=COST).value for cell in groups.values()])
    compat_bias = ratio(compat_costs, overall_minimum.value).value
    paper_costs, paper_own_costs = (
        np.round(cost, 4) / COST.c_default for cost in (compat_costs, compat_own_costs)
    )
    columns = (
        (paper_costs, compat_costs / COST.c_default, exact_costs),
        (compat_bias, compat_bias, ratio(exact_costs, exact_overall_minimum.value).value),
        (paper_own_costs, compat_own_costs / COST.c_default, exact_own_costs),
        tuple(
            threshold_bias(cost, minimum).value
            for cost, minimum in (
                (paper_costs, paper_own_costs),
                (compat_costs, compat_own_costs),
                (exact_costs, exact_own_costs),
            )
        ),
    )
    return [Row4(group, *figures) for group, figures in _figures(TABLE_4, groups, columns)]


def table5(overall: Counts, groups: Mapping[str, Counts]) -> list[Row5]:
    """Return ratios of each group's error rates at the overall threshold.

    Groups, by the paper's names for them, need usa_m, which the paper's steps divide by.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> usa = Counts.from_scores([0.9, 0.7, 0.8, 0.1], [1, 1, 0, 0])
    >>> overall = usa + Counts.from_scores([0.9, 0.85, 0.3, 0.2], [1, 1, 0, 0])
    >>> (row,) = table5(overall, {"usa_m": usa})
    >>> row.fnr_ratio.paper, row.fnr_ratio.exact
    (1.0, 2.0)
    """
    if REFERENCE_5 not in groups:
        msg = f"table 5 divides by {REFERENCE_5}, which is not among the groups {sorted(groups)}"
        raise DataError(msg)
    threshold = bt4vt_min_cdet(overall, cost=COST).threshold
    exact_threshold = min_cdet(overall, cost=COST).threshold
    reference = bt4vt_rates_at(groups[REFERENCE_5], threshold)
    pooled = bt4vt_rates_at(overall, threshold)
    rates = [bt4vt_rates_at(cell, threshold) for cell in groups.values()]
    exact_pooled = overall.at([exact_threshold])
    exact_curves = [cell.at([exact_threshold]) for cell in groups.values()]
    columns = tuple(
        (
            ratio([getattr(rate, name) for rate in rates], getattr(reference, name)).value,
            ratio([getattr(rate, name) for rate in rates], getattr(pooled, name)).value,
            ratio(
                [getattr(curve, name)[0] for curve in exact_curves], getattr(exact_pooled, name)[0]
            ).value,
        )
        for name in ("fpr", "fnr")
    )
    return [Row5(group, *figures) for group, figures in _figures(TABLE_5, groups, columns)]


def _figures(
    table: Mapping[str, tuple[float, ...]],
    groups: Mapping[str, Counts],
    columns: tuple[tuple[FloatArray, ...], ...],
) -> Iterator[tuple[str, list[PaperFigure]]]:
    """Return each group with its figures, one per column, the printed one first."""
    for i, group in enumerate(groups):
        _, *printed = table.get(group, (None,) * (len(columns) + 1))
        yield (
            group,
            [
                PaperFigure(figure, *(float(column_values[i]) for column_values in column))
                for figure, column in zip(printed, columns, strict=True)
            ],
        )
