"""Hutiri et al., "As Biased as You Measure": its items, from print and on VoxCeleb1-H.

What the tables imply of each other: `parivox.papers.paper000_tables`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.people import let_in
from parivox.papers.items import (
    FAILS,
    HOLDS,
    MISSING,
    OPEN,
    RUNS,
    Claim,
    Figures,
    Item,
    Paper,
    Reproduced,
    in_percent,
    is_shown,
    named,
    spanned,
)
from parivox.papers.paper000_tables import DESIGN_FPR, TABLE_3, TABLE_4, table3, table4
from parivox.papers.voxceleb import BY, ON_H, V2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing.result import Audit
    from parivox.papers.voxceleb import Voxceleb1H

FPRS = (0.001, 0.01, 0.025, 0.05, 0.1)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""FPR over all trials, and weights of FPR, at which the paper evaluates both meta-measures."""
_GATED = "Figures are over all groups, as the paper's; the chart is of those of enough people."
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
                "The group's EER is at its own threshold; with its cost at that of all trials, of "
                "which the paper says nothing, it may change sides for that alone."
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
    points = [*(f"fpr={fpr:g}" for fpr in FPRS), "min-cdet"]
    return data.audit(V2, operating_points=points, alpha=ALPHAS)


def _bias(audit: Audit, **where: str) -> dict[str, Mapping[str, Any]]:
    """Rows of a bias measure by group; rates without errors as they are."""
    rows = audit.bias.where(grouping=BY, zero="none", **where).rows()
    return {row["group"]: row for row in rows}


BASE = {
    "EER": {"metric": "eer"},
    "minCDet": {"metric": "cdet_norm", "operating_point": "min-cdet"},
    "own minCDet": {"metric": "min_cdet_norm"},
}
"""Base metrics of groups: the paper's two, the second at the threshold of all trials, and that cost
at the group's own threshold, where the EER is, too."""
MEASURES = {
    "difference to the best": {"measure": "difference", "reference": "best"},
    "ratio to the average": {"measure": "ratio", "reference": "pooled"},
    "-ln of the ratio": {"measure": "neg_log_ratio", "reference": "pooled"},
}
"""The bias measures of table 1."""


def _table1(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    orders: dict[str, set[tuple[str, ...]]] = {}
    for base, metric in BASE.items():
        for name, measure in MEASURES.items():
            rows = _bias(audit, **metric, **measure)
            for group, row in rows.items():
                figures.add(group, f"{base}, {name}", None, row["value"], 4, of=row)
            sign = -1 if measure["measure"] == "neg_log_ratio" else 1
            known = {g: sign * r["value"] for g, r in rows.items() if r["value"] is not None}
            orders.setdefault(base, set()).add(tuple(sorted(known, key=known.__getitem__)))
    kept = all(len(found) == 1 for found in orders.values())
    firsts = {base: next(iter(found))[0] for base, found in orders.items()}
    return Reproduced(
        figures.table(),
        (
            Claim(
                "For a base metric all bias measures rank groups alike; another base metric can "
                "rank them otherwise (4.1)",
                HOLDS if kept and orders["EER"] != orders["minCDet"] else FAILS,
                "the first follows from their definitions; the most favoured group of "
                f"VoxCeleb1-H is {', '.join(f'{g} by {b}' for b, g in firsts.items())}",
            ),
        ),
        (_ELSEWHERE, "The best group, of all, is the most favoured by chance as well."),
    )


def _claim4(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    whole = audit.groups.where(grouping="all", allocation="")
    (eer,) = whole.where(metric="eer").rows()
    (cost,) = whole.where(metric="cdet_raw", operating_point="min-cdet").rows()
    of = in_percent(eer)
    figures.add("VoxCeleb1-H", "EER, %", 2.402, of["value"], 3, of=of)
    figures.add("VoxCeleb1-H", "minCDet", 0.008, cost["value"], 3, of=cost)
    greater = [3.657 / 2.402, 0.012 / 0.008]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "On VoxCeleb1-H EER is 2.402 % and minCDet 0.008; on VoxCeleb1-I they are 50 % "
                "greater",
                HOLDS if all(row["agrees"] for row in figures.rows) else FAILS,
                f"the first are {of['value']:.4f} % and {cost['value']:.5f}; the second "
                f"follows from print ({greater[0]:.2f} and {greater[1]:.2f} times), as that list "
                "is not public",
            ),
        ),
    )


FLIP = "m+India"
"""Who changes sides in section 4.1."""


def _claim41(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    ratios = {
        base: _bias(audit, **metric, measure="ratio", reference="pooled")
        for base, metric in BASE.items()
    }
    for base, rows in ratios.items():
        for group, row in rows.items():
            figures.add(group, f"{base}, ratio to the average", None, row["value"], 4, of=row)
    eer, common, own = (rows[FLIP] for rows in ratios.values())
    turns = ": the common threshold turns them, not the metric" if own["value"] < 1 else ""
    flips = eer["value"] < 1 < common["value"]
    shown = is_shown(eer["p_holm"]) and is_shown(common["p_holm"])
    turned = [
        group
        for group, row in ratios["EER"].items()
        if (row["value"] < 1) != (ratios["minCDet"][group]["value"] < 1)
    ]
    back = [
        g
        for g in turned
        if (ratios["EER"][g]["value"] < 1) == (ratios["own minCDet"][g]["value"] < 1)
    ]
    sure = [g for g in turned if any(is_shown(rows[g]["p_holm"]) for rows in ratios.values())]
    best = [min((row["value"], g) for g, row in rows.items())[1] for rows in ratios.values()]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Men from India are favoured by EER (0.880) and prejudiced against by minCDet "
                "(1.571)",
                FAILS if not flips else HOLDS if shown else OPEN,
                f"on VoxCeleb1-H they are {spanned(eer)} and {spanned(common)}; at a threshold of "
                f"their own, where the EER is taken, too, their cost is {spanned(own)} times that "
                "of everyone"
                f"{turns}",
            ),
            Claim(
                "Another base metric leads to another conclusion on who is favoured",
                HOLDS if turned else FAILS,
                f"{len(turned)} of {len(ratios['EER'])} groups change sides from EER to minCDet "
                f"({named(turned)}), {len(back)} of them not where both are at own thresholds; the "
                f"most favoured are {best[0]} and {best[1]}; shown to be on a side: "
                f"{named(sure)}",
            ),
        ),
        (_ELSEWHERE,),
        (partial(audit.charts.thresholds, by=BY),),
    )


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
        (_ELSEWHERE, "p is of each figure by itself.", _GATED),
        (
            partial(
                audit.charts.over_alpha,
                by=BY,
                measures="fdr",
                operating_points=[f"fpr={fpr:g}" for fpr in FPRS],
            ),
        ),
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
        (_ELSEWHERE, "p is of each figure by itself.", _GATED),
        (partial(audit.charts.over_metrics, by=BY, measure="nrb"),),
    )


def _claim42(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    found, same = [], []
    for gated, name in ((False, "all groups"), (True, "groups of enough people")):
        rows = {
            "FDR, alpha 1": _of_all(audit, "fdr", FPRS[0], alpha=1.0, gated=gated),
            "NRB of FPR": _of_all(audit, "nrb", FPRS[0], metric="fpr", gated=gated),
        }
        for quantity, row in rows.items():
            figures.add(name, quantity, None, row["value"], 4, of=row, p_holm=row["p"])
        beyond = {quantity: is_shown(row["p"]) for quantity, row in rows.items()}
        same.append(len({*beyond.values()}) == 1)
        said = "; ".join(
            f"{quantity} {row['value']:.3f}, which is {_TOLD[beyond[quantity]]} (p {row['p']:.3f})"
            for quantity, row in rows.items()
        )
        found.append(f"over {name} {said}")
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR calls the system fair and NRB calls it biased",
                FAILS if all(same) else OPEN,
                f"beside what a fair system of these people shows the two "
                f"{'agree' if all(same) else 'do not always agree'}: {'; '.join(found)}",
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
        (partial(audit.charts.over_metrics, by=BY, measure="nrb"),),
    )


_TOLD = {True: "more than that", False: "not told from that"}


def _claim43(data: Voxceleb1H) -> Reproduced:
    figures = Figures()
    chances = []
    for fpr, hours in ((0.001, 17.0), (0.005, 3.5)):
        chance = float(let_in(fpr, round(60 * hours)))
        chances.append(chance)
        figures.add(f"FPR {fpr:g}, {hours:g} h", "chance of success", None, chance, 3)
    at = {"grouping": BY, "metric": "fpr", "operating_point": f"fpr={DESIGN_FPR:g}"}
    audit = _sweep(data)
    rates = {row["group"]: row for row in audit.groups.where(**at).rows()}
    for group, row in rates.items():
        of = {name: _hours(row[end]) for name, end in (("low", "high"), ("high", "low"))}
        figures.add(group, "hours, on VoxCeleb1-H", None, _hours(row["value"]), 2, of=of)
    india = _bias(
        audit,
        metric="fpr",
        operating_point=at["operating_point"],
        measure="ratio",
        reference="pooled",
    )[FLIP]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "An attacker who tries once a minute likely succeeds after 17 hours at FPR 0.001, "
                "after 3.5 hours at 0.005",
                HOLDS if min(chances) > 1 / 2 else FAILS,
                f"with chances {chances[0]:.3f} and {chances[1]:.3f}, if attempts are independent",
            ),
            Claim(
                "A device of a man from India falls after 3.5 hours in place of 17",
                HOLDS if is_shown(india["p_holm"]) and india["value"] > 1 else OPEN,
                f"on VoxCeleb1-H the FPR of {FLIP} is {spanned(india)} times the overall one, of "
                f"{rates[FLIP]['speakers']} people; the same chance takes "
                f"{_hours(rates[FLIP]['value']):.1f} hours",
            ),
        ),
        (
            (
                "Hours are until an attacker has succeeded with the chance that 17 hours give at "
                "FPR 0.001; no errors were counted where they are infinite."
            ),
        ),
        (partial(audit.charts.forest, by=BY, operating_point=f"fpr={DESIGN_FPR:g}"),),
    )


def _hours(fpr: float | None) -> float:
    """Hours of an attempt a minute with the chance of success that 17 hours give at 0.001."""
    if not fpr:
        return math.inf
    return 17 * math.log1p(-DESIGN_FPR) / math.log1p(-fpr)


_item = partial(Item, "000")


_I = "scores of VoxCeleb1-I"
PAPER = Paper(
    "000",
    "W. Hutiri, T. Patel, A. Y. Ding and O. Scharenborg",
    2024,
    "As Biased as You Measure: Methodological Pitfalls of Bias Evaluations in Speaker Verification "
    "Research",
    (
        _item("table", "1", "bias measures", RUNS, ON_H, _table1),
        _item("table", "2", "EER and cost of groups", MISSING, _I),
        _item("table", "3", "bias measures, from table 2", RUNS, "", _table3),
        _item("table", "4", "FPR at 0.001 and its bias", RUNS, "", _table4),
        _item("figure", "1", "FDR over alpha and FPR", RUNS, ON_H, _figure1),
        _item("figure", "2", "NRB over base metrics", RUNS, ON_H, _figure2),
        _item("claim", "4", "what a list is worth on average", RUNS, ON_H, _claim4),
        _item("claim", "4.1", "base metrics change who is favoured", RUNS, ON_H, _claim41),
        _item("claim", "4.2", "FDR and NRB contradict each other", RUNS, ON_H, _claim42),
        _item("claim", "4.3", "an attack takes hours", RUNS, ON_H, _claim43),
    ),
)
