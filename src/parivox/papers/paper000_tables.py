"""Hutiri et al., "As Biased as You Measure": tables 2 to 4 and the conventions behind them.

See docs/methods/published-tables.md#paper-000.

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
HALF = 0.0005 + 1e-9
"""Half of the last printed decimal, and a hair more for binary fractions."""

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


class Implied(NamedTuple):
    """A figure of table 3 as table 2 implies it."""

    printed: float
    value: float
    """From the figures printed in table 2."""
    low: float
    """The least, as `high` is the most, that it can be with both figures rounded to 3 decimals."""
    high: float

    @property
    def agrees(self) -> bool:
        """Whether rounding alone can explain the printed figure."""
        return self.low <= self.printed <= self.high


class Implied4(NamedTuple):
    """A group of table 4: the FPR behind its printed log ratio, and what follows from it."""

    fpr: float
    difference: float
    neg_log_ratio: float


def table3(metric: str) -> dict[str, tuple[Implied, Implied, Implied]]:
    """Difference to the best, ratio to the average and -ln of that of each group, from table 2.

    The log ratio (above 0 is favoured) is that of the printed ratio, the other two follow from
    table 2. The metric is ``EER`` or ``minCDet``.

    Examples
    --------
    >>> gap, over, log = table3("EER")["m+India"]
    >>> round(gap.value, 3), round(over.value, 3), round(log.value, 3)
    (0.43, 0.88, 0.128)
    """
    printed, average = TABLE_2[metric], AVERAGE[metric]
    found = {}
    for grouping in _groupings(printed):
        values = np.array([printed[group] for group in grouping])
        best = reference(values, "best")
        gaps = difference(values, best).value
        ratios = ratio(values, average).value
        lows = ratio(values - HALF, average + HALF).value
        highs = ratio(values + HALF, average - HALF).value
        for i, group in enumerate(grouping):
            if group not in TABLE_3[metric]:
                continue
            gap, over, log = TABLE_3[metric][group]
            from_ratio = neg_log_ratio([over, over + HALF, over - HALF], 1.0).value
            found[group] = (
                # the best group's own difference is 0 however it is rounded
                _implied(gap, gaps[i], max(gaps[i] - 2 * HALF, 0), gaps[i] + 2 * HALF),
                _implied(over, ratios[i], lows[i], highs[i]),
                _implied(log, *from_ratio),
            )
    return found


def table4() -> dict[str, Implied4]:
    """FPR that the printed log ratios of table 4 imply, and the differences that follow.

    FPR and its difference to the best group are fractions; the log ratio has the sign of tables 1
    and 3 (above 0 is favoured), opposite to the printed one.

    Examples
    --------
    >>> found = table4()["m+India"]
    >>> round(found.fpr, 5), round(found.difference, 5), round(found.neg_log_ratio, 3)
    (0.00525, 0.00485, -1.659)
    """
    fpr = DESIGN_FPR * np.exp([log for _, _, log in TABLE_4.values()])
    gap = difference(fpr, reference(fpr, "best")).value
    log = neg_log_ratio(fpr, DESIGN_FPR).value
    return {
        group: Implied4(float(fpr[i]), float(gap[i]), float(log[i]))
        for i, group in enumerate(TABLE_4)
    }


def nrb_zero_as_average(values: ArrayLike, average: ArrayLike) -> FloatArray:
    """Normalised reliability bias as the paper computes it: groups without errors count as 0.

    Of values ``[..., group]`` at least 0 and averages above 0; equal to the core's ``nrb`` where
    every group has errors; elsewhere it hides the most favoured groups.

    Examples
    --------
    >>> round(float(nrb_zero_as_average([0.002, 0.0], 0.001)), 6)
    0.346574
    """
    x = np.asarray(values, dtype=np.float64)
    logs = neg_log_ratio(x, average).value
    return np.asarray(np.abs(np.where(x == 0, 0.0, logs)).mean(axis=-1))


def _groupings(printed: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Genders, and groups of gender and nationality."""
    return [g for g in printed if g in GENDERS], [g for g in printed if g not in GENDERS]


def _implied(printed: float, value: float, one: float, other: float) -> Implied:
    low, high = sorted((float(one), float(other)))
    # the printed figure is itself rounded
    return Implied(printed, float(value), low - HALF, high + HALF)
