"""Hutiri et al., "As Biased as You Measure": its items, from print and on VoxCeleb1-H.

What the tables imply of each other: `parivox.papers.paper000_tables`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.error_burden import let_in
from parivox.core.spread import nrb, value_range
from parivox.papers.items import (
    AS_PRINTED,
    HOLDS,
    RUNS,
    Claim,
    Figures,
    Item,
    Paper,
    Reproduced,
    computed,
    elsewhere,
    in_percent,
    is_above,
    is_below,
    is_shown,
    named,
    of_groups,
    recounted,
    spanned,
)
from parivox.papers.paper000_tables import (
    DESIGN_FPR,
    GENDERS,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    table3,
    table4,
)
from parivox.papers.voxceleb import AT_LEAST_COST, BY, INSTEAD, ON_H, V2, H, L

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing import Audit
    from parivox.papers.voxceleb import Voxceleb1H

FPRS = (0.001, 0.01, 0.025, 0.05, 0.1)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""FPR over all trials, and weights of FPR, at which the paper evaluates both meta-measures."""
_GATED = "Figures are over all groups, as the paper's; the chart is of those of enough people."
_ELSEWHERE = "The paper's list, VoxCeleb1-I, is not public: the same on VoxCeleb1-H"


def _table2(data: Voxceleb1H) -> Reproduced:
    figures = Figures()
    for base, metric, times in (("EER", "eer", 100.0), ("minCDet", "cdet_raw", 1.0)):
        for row in _base(data).groups.where(system=V2, grouping=BY, metric=metric).rows():
            of = {name: row[name] and times * row[name] for name in ("value", "low", "high")}
            group, printed = row["group"], TABLE_2[base].get(row["group"])
            figures.add(group, base, printed, of["value"], 4, of=of, agrees=None, verdict="")
    return Reproduced(figures.table(), notes=(_ELSEWHERE,))


def _order(metric: str) -> list[str]:
    """Groups of printed table 3, the best first; none where its measures rank them differently."""
    printed = {g: one for g, one in TABLE_3[metric].items() if g not in GENDERS}
    ranks = [(gap, ratio, -log) for gap, ratio, log in printed.values()]
    ways = ([a - b for a, b in zip(x, y, strict=True)] for x in ranks for y in ranks)
    if any(min(way) < 0 < max(way) for way in ways):
        return []
    return sorted(printed, key=lambda group: printed[group][1])


def _table3(_: object) -> Reproduced:
    figures = Figures()
    orders = [_order(metric) for metric in TABLE_3]
    for metric in TABLE_3:
        for group, found in table3(metric).items():
            names = ("difference to the best", "ratio to the average", "-ln of the ratio")
            for name, one in zip(names, found, strict=True):
                figures.add(
                    *(group, f"{metric}, {name}", one.printed, one.value, 3),
                    agrees=one.agrees,
                    verdict=AS_PRINTED if one.agrees else computed(one.value, one.printed, 3),
                    note=f"by rounding of table 2 between {one.low:.4f} and {one.high:.4f}",
                )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "For a base metric all bias measures rank groups alike; another base metric can "
                "rank them otherwise (4.1)",
                recounted(all(orders) and orders[0] != orders[1]),
                "the first follows from their definitions, and is so in print; there "
                f"{' and '.join(order[0] for order in orders)} come first, by EER and by minCDet",
            ),
        ),
        (
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
                recounted(not odd),
                f"in table 4 its sign is the opposite for {len(odd)} of {len(TABLE_4)} groups",
            ),
        ),
        ("Computed from the printed log ratios. Authors: the logarithm without its minus.",),
    )


def _sweep(data: Voxceleb1H) -> Audit:
    points = [*(f"fpr={fpr:g}" for fpr in FPRS), "min-cdet"]
    return data.audit(V2, operating_points=points, alpha=ALPHAS)


def _base(data: Voxceleb1H) -> Audit:
    """At the least cost, as `paper001` has it: one interval for one figure."""
    return data.audit(V2, L, **AT_LEAST_COST)


def _bias(audit: Audit, **where: str) -> dict[str, Mapping[str, Any]]:
    """Rows of a bias measure by group; rates without errors as they are."""
    rows = audit.bias.where(system=V2, grouping=BY, zero="none", **where).rows()
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
    figures = Figures()
    for base, metric in BASE.items():
        for name, measure in MEASURES.items():
            for group, row in _bias(_base(data), **metric, **measure).items():
                figures.add(group, f"{base}, {name}", None, row["value"], 4, of=row)
    notes = (_ELSEWHERE, "The best group, of all, is the most favoured by chance as well.")
    return Reproduced(figures.table(), notes=notes)


def _claim4(data: Voxceleb1H) -> Reproduced:
    figures = Figures()
    whole = _base(data).groups.where(system=V2, grouping="all", allocation="")
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
                recounted(all(row["agrees"] for row in figures.rows)),
                f"the first are {spanned(of, ' %', 4)} and {spanned(cost, '', 5)}; the second "
                f"follows from print ({greater[0]:.2f} and {greater[1]:.2f} times), as that list "
                "is not public",
            ),
        ),
    )


FLIP = "m+India"
"""Who changes sides in section 4.1."""


def _claim41(data: Voxceleb1H) -> Reproduced:
    audit, figures = _base(data), Figures()
    ratios = {
        base: _bias(audit, **metric, measure="ratio", reference="pooled")
        for base, metric in BASE.items()
    }
    for base, rows in ratios.items():
        for group, row in rows.items():
            figures.add(group, f"{base}, ratio to the average", None, row["value"], 4, of=row)
    eer, common, own = ratios.values()
    turned = [g for g in eer if (eer[g]["value"] < 1) != (common[g]["value"] < 1)]
    still = [g for g in turned if (eer[g]["value"] < 1) != (own[g]["value"] < 1)]
    sure = [g for g in turned if any(is_shown(rows[g]["p_holm"]) for rows in ratios.values())]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Another base metric leads to another conclusion: men from India are favoured by "
                "EER (0.880) and prejudiced against by minCDet (1.571)",
                elsewhere(of_groups([is_below(eer[FLIP]), is_above(common[FLIP])]) == HOLDS),
                f"they are {spanned(eer[FLIP])} and {spanned(common[FLIP])}; at a threshold of "
                "their own, where the EER is taken, too, their cost is "
                f"{spanned(own[FLIP])} times that of everyone. {len(turned)} of {len(eer)} groups "
                f"change sides ({named(turned)}), with both at own thresholds {named(still)}; "
                f"shown to be on a side by either: {named(sure)}",
                H,
            ),
        ),
        (_ELSEWHERE,),
        (partial(audit.charts.thresholds, by=BY, system=V2),),
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
    rows = {}
    for fpr in FPRS:
        for alpha in ALPHAS:
            rows[fpr, alpha] = row = _of_all(audit, "fdr", fpr, alpha=alpha)
            name = f"FDR, alpha {alpha:g}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, of=row, p_holm=row["p"])
    first, last = ([rows[fpr, alpha] for alpha in ALPHAS] for fpr in (FPRS[0], FPRS[-1]))
    steps = (np.diff([row["value"] for row in some]) for some in (first, last))
    turns = [bool((sign * step > 0).all()) for sign, step in zip((1, -1), steps, strict=True)]
    told = (f"from {spanned(a, '', 3)} to {spanned(b, '', 3)}" for a, *_, b in (first, last))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR nears 1 as the weight of FPR rises; at 0.1 it falls",
                elsewhere(all(turns)),
                ", and ".join(told),
                H,
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
    rows: dict[str, list[Mapping[str, Any]]] = {"fpr": [], "fnr": []}
    for metric, of_metric in rows.items():
        for fpr in FPRS:
            row = _of_all(audit, "nrb", fpr, metric=metric)
            of_metric.append(row)
            name = f"NRB of {metric.upper()}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, of=row, p_holm=row["p"])
    falls, rises = (np.diff([row["value"] for row in some]) for some in rows.values())
    return Reproduced(
        figures.table(),
        (
            Claim(
                "With falling FPR the NRB of FPR rises, and that of FNR falls",
                elsewhere(bool((falls < 0).all() and (rises > 0).all())),
                "; ".join(
                    f"{metric.upper()} {', '.join(spanned(row) for row in found)}"
                    for metric, found in rows.items()
                )
                + ", at FPRs of 0.001, 0.01, 0.025, 0.05 and 0.1",
                H,
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself.", _GATED),
        (partial(audit.charts.over_metrics, by=BY, measure="nrb"),),
    )


def _both(data: Voxceleb1H, fpr: float, *, gated: bool = False) -> dict[str, dict[str, Any]]:
    """Both meta-measures of false accepts, over all groups or those of enough people."""
    audit = _sweep(data)
    return {
        "FDR": _of_all(audit, "fdr", fpr, alpha=1.0, gated=gated),
        "NRB": _of_all(audit, "nrb", fpr, metric="fpr", gated=gated),
    }


def _claim42(data: Voxceleb1H) -> Reproduced:
    figures, rows = Figures(), _both(data, FPRS[0])
    for quantity, row in rows.items():
        figures.add("all groups", quantity, None, row["value"], 4, of=row, p_holm=row["p"])
    fdr, nrb = rows.values()
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR of false accepts is about 0.99, minimal bias, and NRB about "
                "0.65, substantial discrepancies: they contradict each other",
                elsewhere(fdr["value"] > 0.985 and nrb["value"] > 0.6),
                f"FDR is {spanned(fdr, '', 3)} and NRB {spanned(nrb, '', 3)}; what of this is "
                "beyond chance: claim 4.3",
                H,
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
        (partial(_sweep(data).charts.over_metrics, by=BY, measure="nrb"),),
    )


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
    told, shown = [], []
    for gated, whom in ((False, "all groups"), (True, "those of enough people")):
        of_whom = _both(data, FPRS[0], gated=gated)
        for quantity, row in of_whom.items():
            name = f"{quantity} of false accepts"
            figures.add(whom, name, None, row["value"], 4, of=row, p_holm=row["p"])
        shown.append([is_shown(row["p"]) for row in of_whom.values()])
        said = (f"{name} {row['value']:.3f} (p {row['p']:.3f})" for name, row in of_whom.items())
        told.append(f"over {whom} {' and '.join(said)}")
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
                recounted(min(chances) > 1 / 2),
                f"with chances {chances[0]:.3f} and {chances[1]:.3f}, if attempts are independent",
            ),
            Claim(
                "A device of a man from India falls after 3.5 hours in place of 17",
                elsewhere(of_groups([is_above(india)]) == HOLDS),
                f"the FPR of {FLIP} is {spanned(india)} times the overall one, of "
                f"{rates[FLIP]['speakers']} people; the same chance takes "
                f"{_hours(rates[FLIP]['value']):.1f} hours",
                H,
            ),
            Claim(
                "At FPR 0.001 NRB correctly identifies the system as biased, while FDR "
                "misrepresents the risk",
                elsewhere(all(nrb and not fdr for fdr, nrb in shown)),
                f"beside fair systems of these people {'; '.join(told)}: neither is told from "
                "chance, then both are",
                H,
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


def _claim6(data: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep(data), Figures()
    at = {"system": V2, "grouping": BY, "metric": "fpr", "operating_point": "fpr=0.1"}
    rates = np.array([r["value"] for r in audit.groups.where(**at).rows() if r["value"]])
    changes = []
    for name, of in (("range", value_range), ("NRB", lambda some: nrb(some, some.mean()))):
        changes.append(float(of(rates).value / of(rates / 10).value))
        figures.add(name, "over that of rates of a tenth", None, changes[-1], 4)
    told, sides = [], []
    for fpr in (FPRS[0], FPRS[-1]):
        rows = _both(data, fpr)
        for name, row in rows.items():
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, of=row, p_holm=row["p"])
        sides.append([is_shown(row["p"]) for row in rows.values()])
        said = " and ".join(f"{name} {row['p']:.3f}" for name, row in rows.items())
        told.append(f"at FPR {fpr:g} {said}")
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Ratio-based measures do not depend on the magnitude of the base metric, "
                "difference-based ones do (5)",
                recounted(abs(changes[1] - 1) < 1e-9 and abs(changes[0] - 10) < 1e-6),
                "by their definitions: of rates a tenth as great the range is a tenth, NRB the "
                "same",
            ),
            Claim(
                "We recommend the use of ratio-based bias measures, in particular when the values "
                "of base metrics are small",
                elsewhere(sides[0] == [False, True]),
                "that ratios tell more where rates are small is not seen: over all groups p beside "
                f"fair systems is {'; '.join(told)}",
                H,
            ),
        ),
        (_ELSEWHERE, "p is of each figure by itself."),
    )


_item = partial(Item, "000")


PAPER = Paper(
    "000",
    "W. Hutiri, T. Patel, A. Y. Ding and O. Scharenborg",
    2024,
    "As Biased as You Measure: Methodological Pitfalls of Bias Evaluations in Speaker Verification "
    "Research",
    (
        _item(
            "table", "1", "bias measures", RUNS, ON_H, _table1, "definitions, put to VoxCeleb1-H"
        ),
        _item("table", "2", "EER and cost of groups", RUNS, ON_H, _table2, INSTEAD),
        _item("table", "3", "bias measures, from table 2", RUNS, "", _table3),
        _item("table", "4", "FPR at 0.001 and its bias", RUNS, "", _table4),
        _item("figure", "1", "FDR over alpha and FPR", RUNS, ON_H, _figure1, INSTEAD),
        _item("figure", "2", "NRB over base metrics", RUNS, ON_H, _figure2, INSTEAD),
        _item("claim", "4", "what a list is worth on average", RUNS, ON_H, _claim4),
        _item("claim", "4.1", "base metrics change who is favoured", RUNS, ON_H, _claim41, INSTEAD),
        _item("claim", "4.2", "FDR and NRB contradict each other", RUNS, ON_H, _claim42, INSTEAD),
        _item("claim", "4.3", "which of the two is right", RUNS, ON_H, _claim43, INSTEAD),
        _item("claim", "6", "ratio-based measures are recommended", RUNS, ON_H, _claim6, INSTEAD),
    ),
)
