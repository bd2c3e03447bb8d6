"""Hutiri et al., "As Biased as You Measure": tables 2 to 4 and the conventions behind them.

See docs/papers.md#paper-000.

The scores (ResNetSE34V2 on VoxCeleb1-I) are not public, so this module checks the paper's
tables against one another, and records what their figures imply:

* ``G2avg``: the average is that of all trials in one pot (EER 3.657), not a mean of groups.
* ``G2min``: the reference is the best group of the same grouping: the other gender, or, for
  gender and nationality, the best of all groups.
* The log ratio is -ln(group / average) in tables 1 and 3, so that above 0 is favoured; table 4
  prints +ln, so that above 0 is worse off. The core's ``neg_log_ratio`` follows tables 1 and 3.
* The reliability bias takes a group without errors for one at the average (its logarithm is
  set to 0); the core's ``nrb`` is undefined there instead.
* A group's "EER" is at its own threshold, its "minCDet" is the raw cost at the *overall*
  minimum's threshold. That alone can turn a group from favoured to worse off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.bias import difference, neg_log_ratio, ratio, reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray

AVERAGE = {"EER": 3.657, "minCDet": 0.012}
"""Printed values over all trials of VoxCeleb1-I: EER in per cent, raw detection cost."""

DESIGN_FPR = 0.001
"""FPR over all trials at which table 4 compares the groups."""

GENDERS = ("m", "f")
HALF_DECIMAL = 0.0005 + 1e-9
"""Half of the last printed decimal, plus a little for binary fractions."""

# metric: group: value
TABLE_2 = {
    "EER": {
        "m": 3.581,
        "m+India": 3.218,
        "m+USA": 2.999,
        "m+Australia": 4.362,
        "m+Norway": 8.210,
        "m+Germany": 3.013,
        "f": 3.757,
        "f+India": 7.028,
        "f+USA": 3.250,
        "f+Australia": 2.788,
        "f+Norway": 4.588,
        "f+Germany": 10.641,
    },
    "minCDet": {
        "m": 0.011,
        "m+India": 0.018,
        "m+USA": 0.010,
        "m+Australia": 0.012,
        "m+Norway": 0.025,
        "m+Germany": 0.009,
        "f": 0.012,
        "f+India": 0.023,
        "f+USA": 0.011,
        "f+Australia": 0.011,
        "f+Norway": 0.014,
        "f+Germany": 0.019,
    },
}
"""Printed table 2: EER in per cent, raw detection cost; 3 decimals."""

# metric: group: difference to the best, ratio to the average, -ln of that ratio
TABLE_3 = {
    "EER": {
        "m": (0.000, 0.979, 0.021),
        "m+India": (0.429, 0.880, 0.128),
        "m+USA": (0.211, 0.820, 0.198),
        "m+Australia": (1.573, 1.193, -0.176),
        "m+Germany": (0.224, 0.824, 0.194),
        "f": (0.176, 1.027, -0.027),
        "f+India": (4.240, 1.922, -0.653),
        "f+USA": (0.462, 0.889, 0.118),
        "f+Australia": (0.000, 0.762, 0.271),
        "f+Germany": (7.853, 2.909, -1.068),
    },
    "minCDet": {
        "m": (0.000, 0.954, 0.047),
        "m+India": (0.010, 1.571, -0.452),
        "m+USA": (0.001, 0.863, 0.148),
        "m+Australia": (0.003, 1.046, -0.045),
        "m+Germany": (0.000, 0.749, 0.289),
        "f": (0.001, 1.059, -0.057),
        "f+India": (0.015, 1.986, -0.686),
        "f+USA": (0.002, 0.937, 0.065),
        "f+Australia": (0.002, 0.945, 0.056),
        "f+Germany": (0.011, 1.662, -0.508),
    },
}
"""Printed table 3: 3 decimals."""

# group: FPR, difference to the best, +ln of the ratio to DESIGN_FPR
TABLE_4 = {
    "m+India": (0.005, 0.005, 1.659),
    "m+USA": (0.000, 0.000, -0.912),
    "m+Australia": (0.001, 0.001, 0.000),
    "m+Germany": (0.002, 0.002, 0.654),
    "f+India": (0.003, 0.003, 1.201),
    "f+USA": (0.001, 0.000, -0.475),
    "f+Australia": (0.002, 0.001, 0.472),
    "f+Germany": (0.001, 0.001, 0.249),
}
"""Printed table 4: 3 decimals."""


class ImpliedFigure(NamedTuple):
    """A figure of table 3 as implied by table 2."""

    printed: float
    value: float
    """From the figures printed in table 2."""
    low: float
    """The lowest possible value, given that both tables round to 3 decimals; `high` the highest."""
    high: float

    @property
    def agrees(self) -> bool:
        """Return whether rounding alone can explain the printed figure."""
        return self.low <= self.printed <= self.high


class ImpliedRow4(NamedTuple):
    """A group of table 4: the FPR behind its printed log ratio, and what follows from it."""

    fpr: float
    difference: float
    neg_log_ratio: float


def table3(metric: str) -> dict[str, tuple[ImpliedFigure, ImpliedFigure, ImpliedFigure]]:
    """Return difference to the best, ratio to the average and its -ln, by group, from table 2.

    The log ratio (above 0 is favoured) is that of the printed ratio, the other two follow from
    table 2. The metric is ``EER`` or ``minCDet``.

    Examples
    --------
    >>> gap, over, log = table3("EER")["m+India"]
    >>> round(gap.value, 3), round(over.value, 3), round(log.value, 3)
    (0.43, 0.88, 0.128)
    """
    printed, average = TABLE_2[metric], AVERAGE[metric]
    implied_rows = {}
    for grouping in _groupings(printed):
        group_values = np.array([printed[group] for group in grouping])
        best = reference(group_values, "best")
        differences = difference(group_values, best).value
        ratios = ratio(group_values, average).value
        lowest_ratios = ratio(group_values - HALF_DECIMAL, average + HALF_DECIMAL).value
        highest_ratios = ratio(group_values + HALF_DECIMAL, average - HALF_DECIMAL).value
        for i, group in enumerate(grouping):
            if group not in TABLE_3[metric]:
                continue
            printed_difference, printed_ratio, printed_log = TABLE_3[metric][group]
            implied_logs = neg_log_ratio(
                [printed_ratio, printed_ratio + HALF_DECIMAL, printed_ratio - HALF_DECIMAL], 1.0
            ).value
            implied_rows[group] = (
                # the best group's own difference is 0 however it is rounded
                _implied(
                    printed_difference,
                    differences[i],
                    max(differences[i] - 2 * HALF_DECIMAL, 0),
                    differences[i] + 2 * HALF_DECIMAL,
                ),
                _implied(printed_ratio, ratios[i], lowest_ratios[i], highest_ratios[i]),
                _implied(printed_log, *implied_logs),
            )
    return implied_rows


def table4() -> dict[str, ImpliedRow4]:
    """Return the FPR implied by the printed log ratios of table 4, and the differences that follow.

    FPR and its difference to the best group are fractions; the log ratio has the sign of tables 1
    and 3 (above 0 is favoured), opposite to the printed one.

    Examples
    --------
    >>> row = table4()["m+India"]
    >>> round(row.fpr, 5), round(row.difference, 5), round(row.neg_log_ratio, 3)
    (0.00525, 0.00485, -1.659)
    """
    fpr = DESIGN_FPR * np.exp([log_ratios for _, _, log_ratios in TABLE_4.values()])
    differences = difference(fpr, reference(fpr, "best")).value
    log_ratios = neg_log_ratio(fpr, DESIGN_FPR).value
    return {
        group: ImpliedRow4(float(fpr[i]), float(differences[i]), float(log_ratios[i]))
        for i, group in enumerate(TABLE_4)
    }


def nrb_zero_as_average(group_rates: ArrayLike, average: ArrayLike) -> FloatArray:
    """Return the normalised reliability bias as in the paper, where groups without errors count 0.

    Of values ``[..., group]`` at least 0 and averages above 0; equal to the core's ``nrb`` where
    every group has errors; elsewhere it hides the most favoured groups.

    Examples
    --------
    >>> round(float(nrb_zero_as_average([0.002, 0.0], 0.001)), 6)
    0.346574
    """
    rates = np.asarray(group_rates, dtype=np.float64)
    logs = neg_log_ratio(rates, average).value
    return np.asarray(np.abs(np.where(rates == 0, 0.0, logs)).mean(axis=-1))


def _groupings(printed: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return the genders, and the groups of gender and nationality."""
    return [group for group in printed if group in GENDERS], [
        group for group in printed if group not in GENDERS
    ]


def _implied(
    printed: float, implied: float, first_bound: float, second_bound: float
) -> ImpliedFigure:
    low, high = sorted((float(first_bound), float(second_bound)))
    # the printed figure is itself rounded
    return ImpliedFigure(printed, float(implied), low - HALF_DECIMAL, high + HALF_DECIMAL)
