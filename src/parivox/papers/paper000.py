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

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.bias import difference, neg_log_ratio, ratio, reference
from parivox.core.people import let_in
from parivox.papers.items import (
    FAILS,
    HOLDS,
    LATER,
    MISSING,
    NOTHING,
    OPEN,
    RUNS,
    SIDE,
    Claim,
    Figures,
    Item,
    Paper,
    Reproduced,
)
from parivox.papers.voxceleb import BY, ON_H, V2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from parivox.auditing.result import Audit
    from parivox.core.counts import FloatArray
    from parivox.papers.voxceleb import Voxceleb1H

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


# --- items ----------------------------------------------------------------------------------------

FPRS = (0.001, 0.01, 0.025, 0.05, 0.1)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""FPR over all trials, and weights of FPR, at which the paper evaluates both meta-measures."""
_ELSEWHERE = "the paper's list, VoxCeleb1-I, is not public: the same on VoxCeleb1-H"


def _table3(_: object) -> Reproduced:
    figures = Figures()
    for metric in TABLE_3:
        for group, found in table3(metric).items():
            names = ("difference to the best", "ratio to the average", "-ln of the ratio")
            for name, one in zip(names, found, strict=True):
                figures.add(
                    *(group, f"{metric}, {name}", one.printed, one.value, 3),
                    agrees=one.agrees,
                    verdict=HOLDS if one.agrees else FAILS,
                    note=f"by rounding of table 2 between {one.low:.4f} and {one.high:.4f}",
                )
    return Reproduced(
        figures.table(),
        notes=(
            "Computed from what table 2 prints; where 3 decimals leave a range, print lies in it.",
            (
                "The group's EER is at its own threshold, its cost at that of all trials: a group "
                "may change sides for that alone."
            ),
            (
                "m+Germany, the most favoured by cost, is no group of VoxCeleb1-H, and VoxCeleb1 "
                "has four such men in all."
            ),
        ),
    )


def _table4(_: object) -> Reproduced:
    figures = Figures()
    found = table4()
    for group, (fpr, gap, log) in TABLE_4.items():
        figures.add(group, "FPR", fpr, found[group].fpr, 3)
        figures.add(group, "difference to the best", gap, found[group].difference, 3)
        value = found[group].neg_log_ratio
        figures.add(group, "log ratio", log, value, 3, authors=-value)
    odd = [g for g, (_, _, log) in TABLE_4.items() if log and log * found[g].neg_log_ratio < 0]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The log ratio is above 0 for favoured groups (table 1)",
                FAILS if odd else HOLDS,
                f"in table 4 its sign is the opposite for {len(odd)} of {len(TABLE_4)} groups",
            ),
        ),
        ("Computed from the printed log ratios. Authors: the logarithm without its minus.",),
    )


def _sweep(data: Voxceleb1H) -> Audit:
    points = [f"fpr={fpr:g}" for fpr in FPRS]
    return data.audit(V2, operating_points=points, alpha=ALPHAS)


def _of_all(audit: Audit, measure: str, fpr: float, **where: Any) -> dict[str, Any]:
    """A meta-measure over all groups; a group without errors is smoothed."""
    rows = audit.meta.where(
        grouping=BY,
        measure=measure,
        operating_point=f"fpr={fpr:g}",
        **{"zero": "jeffreys", "gated": False, **where},
    )
    return rows.rows()[0]


def _figure1(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    values = {}
    for fpr in FPRS:
        for alpha in ALPHAS:
            row = _of_all(audit, "fdr", fpr, alpha=alpha)
            values[fpr, alpha] = row["value"]
            name = f"FDR, alpha {alpha:g}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, of=row, p_holm=row["p"])
    first, last = ([values[fpr, alpha] for alpha in ALPHAS] for fpr in (FPRS[0], FPRS[-1]))
    turns = bool((np.diff(first) > 0).all() and (np.diff(last) < 0).all())
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR nears 1 as the weight of FPR rises; at 0.1 it falls",
                HOLDS if turns else FAILS,
                f"from {first[0]:.3f} to {first[-1]:.3f}, and from {last[0]:.3f} to {last[-1]:.3f}",
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
    )


def _figure2(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    values: dict[str, list[float]] = {"fpr": [], "fnr": []}
    for metric, of_metric in values.items():
        for fpr in FPRS:
            row = _of_all(audit, "nrb", fpr, metric=metric)
            of_metric.append(row["value"])
            name = f"NRB of {metric.upper()}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, of=row, p_holm=row["p"])
    goes = bool((np.diff(values["fpr"]) < 0).all() and (np.diff(values["fnr"]) > 0).all())
    return Reproduced(
        figures.table(),
        (
            Claim(
                "With falling FPR the NRB of FPR rises, and that of FNR falls",
                HOLDS if goes else FAILS,
                "; ".join(
                    f"{metric.upper()} {', '.join(f'{one:.3f}' for one in found)}"
                    for metric, found in values.items()
                )
                + " from FPR 0.001 to 0.1",
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
    )


def _claim42(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    same = []
    for gated, name in ((False, "all groups"), (True, "groups of enough people")):
        rows = {
            "FDR, alpha 1": _of_all(audit, "fdr", FPRS[0], alpha=1.0, gated=gated),
            "NRB of FPR": _of_all(audit, "nrb", FPRS[0], metric="fpr", gated=gated),
        }
        for quantity, row in rows.items():
            figures.add(name, quantity, None, row["value"], 4, of=row, p_holm=row["p"])
        beyond = {(row["p"] if row["p"] is not None else 1) < SIDE for row in rows.values()}
        same.append(len(beyond) == 1)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR calls the system fair and NRB calls it biased",
                FAILS if all(same) else OPEN,
                "beside what a fair system of these people shows the two agree: over all groups "
                "neither can be told from chance, over those of enough people both exceed it",
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
    )


def _claim43(_: object) -> Reproduced:
    figures = Figures()
    chances = []
    for fpr, hours in ((0.001, 17.0), (0.005, 3.5)):
        chance = float(let_in(fpr, round(60 * hours)))
        chances.append(chance)
        figures.add(f"FPR {fpr:g}, {hours:g} h", "chance of success", None, chance, 3)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "An attacker who tries once a minute likely succeeds after 17 hours at FPR 0.001, "
                "after 3.5 hours at 0.005",
                HOLDS if min(chances) > 1 / 2 else FAILS,
                f"with chances {chances[0]:.3f} and {chances[1]:.3f}, if attempts are independent",
            ),
        ),
    )


_item = partial(Item, "000")


_I = "scores of VoxCeleb1-I"
PAPER = Paper(
    "000",
    "W. Hutiri and others",
    2024,
    "As Biased as You Measure",
    (
        _item("table", "1", "bias measures", NOTHING, "definitions"),
        _item("table", "2", "EER and cost of groups", MISSING, _I),
        _item("table", "3", "bias measures, from table 2", RUNS, "", _table3),
        _item("table", "4", "FPR at 0.001 and its bias", RUNS, "", _table4),
        _item("figure", "1", "FDR over alpha and FPR", RUNS, ON_H, _figure1),
        _item("figure", "2", "NRB over base metrics", RUNS, ON_H, _figure2),
        _item("claim", "4.1", "base metrics change who is favoured", LATER, ON_H),
        _item("claim", "4.2", "FDR and NRB contradict each other", RUNS, ON_H, _claim42),
        _item("claim", "4.3", "an attack takes hours", RUNS, "", _claim43),
    ),
)
