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
    FigureRows,
    Item,
    Paper,
    Reproduced,
    groups_verdict,
    interval_text,
    is_above,
    is_below,
    is_significant,
    names_text,
    other_data_verdict,
    print_verdict,
    rate_in_percent,
    recount_verdict,
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

SWEPT_FPRS = (0.001, 0.01, 0.025, 0.05, 0.1)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""FPR over all trials, and weights of FPR, at which the paper evaluates both meta-measures."""
_CHART_GROUPS_NOTE = (
    "Figures are over all groups, as the paper's; the chart is of those of enough people."
)
_OTHER_LIST_NOTE = "The paper's list, VoxCeleb1-I, is not public: the same on VoxCeleb1-H"


# ---- tables: from print, or on VoxCeleb1-H


def _table2(voxceleb: Voxceleb1H) -> Reproduced:
    figures = FigureRows()
    for base_metric, metric, factor in (("EER", "eer", 100.0), ("minCDet", "cdet_raw", 1.0)):
        table = _minimum_cost_audit(voxceleb).groups
        for row in table.subset(system=V2, grouping=BY, metric=metric).rows():
            estimate = {name: row[name] and factor * row[name] for name in ("value", "low", "high")}
            # the list is not the paper's, so figures are not judged by print
            group, printed_value = row["group"], TABLE_2[base_metric].get(row["group"])
            figures.add(
                group,
                base_metric,
                printed_value,
                estimate["value"],
                4,
                estimate=estimate,
                agrees=None,
                verdict="",
            )
    return Reproduced(figures.table(), notes=(_OTHER_LIST_NOTE,))


def _table3_order(metric: str) -> list[str]:
    """Return groups of printed table 3, the best first; empty if its measures rank differently."""
    printed_measures = {
        name: group_measures
        for name, group_measures in TABLE_3[metric].items()
        if name not in GENDERS
    }
    ranks = np.array(
        [(difference, ratio, -log) for difference, ratio, log in printed_measures.values()]
    )
    # two measures rank a pair of groups differently if their differences have opposite signs
    differences = ranks[:, None] - ranks
    if ((differences.min(axis=-1) < 0) & (differences.max(axis=-1) > 0)).any():
        return []
    return sorted(printed_measures, key=lambda group: printed_measures[group][1])


def _table3(_: object) -> Reproduced:
    figures = FigureRows()
    orders = [_table3_order(metric) for metric in TABLE_3]
    for metric in TABLE_3:
        for group, implied_figures in table3(metric).items():
            measure_names = ("difference to the best", "ratio to the average", "-ln of the ratio")
            for name, implied in zip(measure_names, implied_figures, strict=True):
                figures.add(
                    group,
                    f"{metric}, {name}",
                    implied.printed,
                    implied.value,
                    3,
                    # three decimals of table 2 leave a range, in which print may be anywhere
                    agrees=implied.agrees,
                    verdict=AS_PRINTED
                    if implied.agrees
                    else print_verdict(implied.value, implied.printed, 3),
                    note=f"by rounding of table 2 between {implied.low:.4f} and {implied.high:.4f}",
                )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "For a base metric all bias measures rank groups alike; another base metric can "
                "rank them otherwise (4.1)",
                recount_verdict(all(orders) and orders[0] != orders[1]),
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
    figures = FigureRows()
    implied_rows = table4()
    for group, (fpr, printed_difference, printed_log) in TABLE_4.items():
        figures.add(group, "FPR", fpr, implied_rows[group].fpr, 3)
        figures.add(
            group, "difference to the best", printed_difference, implied_rows[group].difference, 3
        )
        implied_log = implied_rows[group].neg_log_ratio
        figures.add(group, "log ratio", printed_log, implied_log, 3, authors=-implied_log)
    opposite_groups = [
        name
        for name, (_, _, printed_log) in TABLE_4.items()
        if printed_log and printed_log * implied_rows[name].neg_log_ratio < 0
    ]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The log ratio is above 0 for favoured groups (table 1)",
                recount_verdict(not opposite_groups),
                f"in table 4 its sign is the opposite for {len(opposite_groups)} of {len(TABLE_4)} "
                "groups",
            ),
        ),
        ("Computed from the printed log ratios. Authors: the logarithm without its minus.",),
    )


def _sweep_audit(voxceleb: Voxceleb1H) -> Audit:
    points = [*(f"fpr={fpr:g}" for fpr in SWEPT_FPRS), "min-cdet"]
    return voxceleb.audit(V2, operating_points=points, alpha=ALPHAS)


def _minimum_cost_audit(voxceleb: Voxceleb1H) -> Audit:
    """Return the audit at the minimum cost, as in `parivox.papers.paper001`: intervals agree."""
    return voxceleb.audit(V2, L, **AT_LEAST_COST)


def _bias_rows(audit: Audit, **filters: str) -> dict[str, Mapping[str, Any]]:
    """Return rows of a bias measure by group; groups without errors are not smoothed."""
    rows = audit.bias.subset(system=V2, grouping=BY, zero="none", **filters).rows()
    return {row["group"]: row for row in rows}


BASE_METRICS = {
    "EER": {"metric": "eer"},
    "minCDet": {"metric": "cdet_norm", "operating_point": "min-cdet"},
    "own minCDet": {"metric": "min_cdet_norm"},
}
"""Base metrics of groups: the paper's two, the second at the threshold of all trials, and that cost
at the group's own threshold, where the EER is, too."""
BIAS_MEASURES = {
    "difference to the best": {"measure": "difference", "reference": "best"},
    "ratio to the average": {"measure": "ratio", "reference": "pooled"},
    "-ln of the ratio": {"measure": "neg_log_ratio", "reference": "pooled"},
}
"""The bias measures of table 1."""


def _table1(voxceleb: Voxceleb1H) -> Reproduced:
    figures = FigureRows()
    for base_metric, metric in BASE_METRICS.items():
        for name, measure in BIAS_MEASURES.items():
            for group, row in _bias_rows(
                _minimum_cost_audit(voxceleb), **metric, **measure
            ).items():
                figures.add(group, f"{base_metric}, {name}", None, row["value"], 4, estimate=row)
    notes = (_OTHER_LIST_NOTE, "The best group, of all, is the most favoured by chance as well.")
    return Reproduced(figures.table(), notes=notes)


# ---- claims and figures on VoxCeleb1-H


def _claim4(voxceleb: Voxceleb1H) -> Reproduced:
    figures = FigureRows()
    rows_of_all = _minimum_cost_audit(voxceleb).groups.subset(
        system=V2, grouping="all", allocation=""
    )
    (eer,) = rows_of_all.subset(metric="eer").rows()
    (cost,) = rows_of_all.subset(metric="cdet_raw", operating_point="min-cdet").rows()
    eer_percent = rate_in_percent(eer)
    figures.add("VoxCeleb1-H", "EER, %", 2.402, eer_percent["value"], 3, estimate=eer_percent)
    figures.add("VoxCeleb1-H", "minCDet", 0.008, cost["value"], 3, estimate=cost)
    # printed values of VoxCeleb1-I over those of VoxCeleb1-H
    increase = [3.657 / 2.402, 0.012 / 0.008]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "On VoxCeleb1-H EER is 2.402 % and minCDet 0.008; on VoxCeleb1-I they are 50 % "
                "greater",
                recount_verdict(all(row["agrees"] for row in figures.rows)),
                f"the first are {interval_text(eer_percent, ' %', 4)} and "
                f"{interval_text(cost, '', 5)}; the second "
                f"follows from print ({increase[0]:.2f} and {increase[1]:.2f} times), as that list "
                "is not public",
            ),
        ),
    )


INDIAN_MEN = "m+India"
"""The group that changes sides in section 4.1."""


def _claim41(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _minimum_cost_audit(voxceleb), FigureRows()
    ratios = {
        base_metric: _bias_rows(audit, **metric, measure="ratio", reference="pooled")
        for base_metric, metric in BASE_METRICS.items()
    }
    for base_metric, rows in ratios.items():
        for group, row in rows.items():
            figures.add(
                group, f"{base_metric}, ratio to the average", None, row["value"], 4, estimate=row
            )
    eer, common_threshold, own_threshold = ratios.values()
    changed_groups = [
        name for name in eer if (eer[name]["value"] < 1) != (common_threshold[name]["value"] < 1)
    ]
    changed_at_own = [
        name
        for name in changed_groups
        if (eer[name]["value"] < 1) != (own_threshold[name]["value"] < 1)
    ]
    significant_groups = [
        name
        for name in changed_groups
        if any(is_significant(rows[name]["p_holm"]) for rows in ratios.values())
    ]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Another base metric leads to another conclusion: men from India are favoured by "
                "EER (0.880) and prejudiced against by minCDet (1.571)",
                other_data_verdict(
                    groups_verdict(
                        [is_below(eer[INDIAN_MEN]), is_above(common_threshold[INDIAN_MEN])]
                    )
                    == HOLDS
                ),
                f"they are {interval_text(eer[INDIAN_MEN])} and "
                f"{interval_text(common_threshold[INDIAN_MEN])}; at a threshold of "
                "their own, where the EER is taken, too, their cost is "
                f"{interval_text(own_threshold[INDIAN_MEN])} times that of everyone. "
                f"{len(changed_groups)} of {len(eer)} groups "
                f"change sides ({names_text(changed_groups)}), with both at own thresholds "
                f"{names_text(changed_at_own)}; "
                f"shown to be on a side by either: {names_text(significant_groups)}",
                H,
            ),
        ),
        (_OTHER_LIST_NOTE,),
        (partial(audit.charts.thresholds, by=BY, system=V2),),
    )


def _meta_measure_row(audit: Audit, measure: str, fpr: float, **filters: Any) -> dict[str, Any]:
    """Return a meta-measure over all groups; groups without errors are smoothed."""
    rows = audit.meta.subset(
        grouping=BY,
        measure=measure,
        operating_point=f"fpr={fpr:g}",
        **{"zero": "jeffreys", "gated": False, **filters},
    )
    return rows.rows()[0]


def _figure1(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep_audit(voxceleb), FigureRows()
    rows = {}
    for fpr in SWEPT_FPRS:
        for alpha in ALPHAS:
            rows[fpr, alpha] = row = _meta_measure_row(audit, "fdr", fpr, alpha=alpha)
            name = f"FDR, alpha {alpha:g}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, estimate=row, p_holm=row["p"])
    lowest_fpr_rows, highest_fpr_rows = (
        [rows[fpr, alpha] for alpha in ALPHAS] for fpr in (SWEPT_FPRS[0], SWEPT_FPRS[-1])
    )
    steps = (
        np.diff([row["value"] for row in alpha_rows])
        for alpha_rows in (lowest_fpr_rows, highest_fpr_rows)
    )
    # FDR should rise with alpha at the lowest FPR and fall at the highest
    has_expected_sign = [
        bool((sign * step > 0).all()) for sign, step in zip((1, -1), steps, strict=True)
    ]
    ranges = (
        f"from {interval_text(start, '', 3)} to {interval_text(stop, '', 3)}"
        for start, *_, stop in (lowest_fpr_rows, highest_fpr_rows)
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR nears 1 as the weight of FPR rises; at 0.1 it falls",
                other_data_verdict(all(has_expected_sign)),
                ", and ".join(ranges),
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, "p is of each figure by itself.", _CHART_GROUPS_NOTE),
        (
            partial(
                audit.charts.over_alpha,
                by=BY,
                measures="fdr",
                operating_points=[f"fpr={fpr:g}" for fpr in SWEPT_FPRS],
            ),
        ),
    )


def _figure2(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep_audit(voxceleb), FigureRows()
    rows: dict[str, list[Mapping[str, Any]]] = {"fpr": [], "fnr": []}
    for metric, metric_rows in rows.items():
        for fpr in SWEPT_FPRS:
            row = _meta_measure_row(audit, "nrb", fpr, metric=metric)
            metric_rows.append(row)
            name = f"NRB of {metric.upper()}"
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, estimate=row, p_holm=row["p"])
    fpr_steps, fnr_steps = (
        np.diff([row["value"] for row in metric_rows]) for metric_rows in rows.values()
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "With falling FPR the NRB of FPR rises, and that of FNR falls",
                other_data_verdict(bool((fpr_steps < 0).all() and (fnr_steps > 0).all())),
                "; ".join(
                    f"{metric.upper()} {', '.join(interval_text(row) for row in metric_rows)}"
                    for metric, metric_rows in rows.items()
                )
                + ", at FPRs of 0.001, 0.01, 0.025, 0.05 and 0.1",
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, "p is of each figure by itself.", _CHART_GROUPS_NOTE),
        (partial(audit.charts.over_metrics, by=BY, measure="nrb"),),
    )


def _fdr_and_nrb(
    voxceleb: Voxceleb1H, fpr: float, *, gated: bool = False
) -> dict[str, dict[str, Any]]:
    """Return FDR and NRB of false accepts, over all groups or groups above the minimums."""
    audit = _sweep_audit(voxceleb)
    return {
        "FDR": _meta_measure_row(audit, "fdr", fpr, alpha=1.0, gated=gated),
        "NRB": _meta_measure_row(audit, "nrb", fpr, metric="fpr", gated=gated),
    }


def _claim42(voxceleb: Voxceleb1H) -> Reproduced:
    figures, rows = FigureRows(), _fdr_and_nrb(voxceleb, SWEPT_FPRS[0])
    for quantity, row in rows.items():
        figures.add("all groups", quantity, None, row["value"], 4, estimate=row, p_holm=row["p"])
    fdr, nrb = rows.values()
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPR 0.001 FDR of false accepts is about 0.99, minimal bias, and NRB about "
                "0.65, substantial discrepancies: they contradict each other",
                other_data_verdict(fdr["value"] > 0.985 and nrb["value"] > 0.6),
                f"FDR is {interval_text(fdr, '', 3)} and NRB {interval_text(nrb, '', 3)}; what of "
                "this is "
                "beyond chance: claim 4.3",
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, "p is of each figure by itself."),
        (partial(_sweep_audit(voxceleb).charts.over_metrics, by=BY, measure="nrb"),),
    )


def _claim43(voxceleb: Voxceleb1H) -> Reproduced:
    figures = FigureRows()
    success_chances = []
    for fpr, hours in ((0.001, 17.0), (0.005, 3.5)):
        success_chance = float(let_in(fpr, round(60 * hours)))
        success_chances.append(success_chance)
        figures.add(f"FPR {fpr:g}, {hours:g} h", "chance of success", None, success_chance, 3)
    filters = {"grouping": BY, "metric": "fpr", "operating_point": f"fpr={DESIGN_FPR:g}"}
    audit = _sweep_audit(voxceleb)
    rates = {row["group"]: row for row in audit.groups.subset(**filters).rows()}
    for group, row in rates.items():
        # the higher FPR takes fewer hours, so the limits change places
        hour_limits = {
            limit: _hours_to_success(row[opposite_limit])
            for limit, opposite_limit in (("low", "high"), ("high", "low"))
        }
        figures.add(
            group,
            "hours, on VoxCeleb1-H",
            None,
            _hours_to_success(row["value"]),
            2,
            estimate=hour_limits,
        )
    group_set_texts, significance = [], []
    for gated, group_set in ((False, "all groups"), (True, "those of enough people")):
        measure_rows = _fdr_and_nrb(voxceleb, SWEPT_FPRS[0], gated=gated)
        for quantity, row in measure_rows.items():
            limit = f"{quantity} of false accepts"
            figures.add(group_set, limit, None, row["value"], 4, estimate=row, p_holm=row["p"])
        significance.append([is_significant(row["p"]) for row in measure_rows.values()])
        measure_texts = (
            f"{limit} {row['value']:.3f} (p {row['p']:.3f})" for limit, row in measure_rows.items()
        )
        group_set_texts.append(f"over {group_set} {' and '.join(measure_texts)}")
    india = _bias_rows(
        audit,
        metric="fpr",
        operating_point=filters["operating_point"],
        measure="ratio",
        reference="pooled",
    )[INDIAN_MEN]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "An attacker who tries once a minute likely succeeds after 17 hours at FPR 0.001, "
                "after 3.5 hours at 0.005",
                recount_verdict(min(success_chances) > 1 / 2),
                f"with chances {success_chances[0]:.3f} and {success_chances[1]:.3f}, if attempts "
                "are independent",
            ),
            Claim(
                "A device of a man from India falls after 3.5 hours in place of 17",
                other_data_verdict(groups_verdict([is_above(india)]) == HOLDS),
                f"the FPR of {INDIAN_MEN} is {interval_text(india)} times the overall one, of "
                f"{rates[INDIAN_MEN]['speakers']} people; the same chance takes "
                f"{_hours_to_success(rates[INDIAN_MEN]['value']):.1f} hours",
                H,
            ),
            Claim(
                "At FPR 0.001 NRB correctly identifies the system as biased, while FDR "
                "misrepresents the risk",
                other_data_verdict(all(nrb and not fdr for fdr, nrb in significance)),
                f"compared with equal rates among these people {'; '.join(group_set_texts)}: "
                "first neither exceeds chance, then both do",
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


def _hours_to_success(fpr: float | None) -> float:
    """Return after how many hours of one attempt a minute success is as likely as in the paper.

    The paper's chance is that of 17 hours at FPR 0.001.
    """
    if not fpr:
        return math.inf
    return 17 * math.log1p(-DESIGN_FPR) / math.log1p(-fpr)


def _claim6(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _sweep_audit(voxceleb), FigureRows()
    filters = {"system": V2, "grouping": BY, "metric": "fpr", "operating_point": "fpr=0.1"}
    rates = np.array(
        [
            rate_row["value"]
            for rate_row in audit.groups.subset(**filters).rows()
            if rate_row["value"]
        ]
    )
    changes = []
    for name, spread in (
        ("range", value_range),
        ("NRB", lambda group_rates: nrb(group_rates, group_rates.mean())),
    ):
        changes.append(float(spread(rates).value / spread(rates / 10).value))
        figures.add(name, "over that of rates of a tenth", None, changes[-1], 4)
    point_texts, significance = [], []
    for fpr in (SWEPT_FPRS[0], SWEPT_FPRS[-1]):
        rows = _fdr_and_nrb(voxceleb, fpr)
        for name, row in rows.items():
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, estimate=row, p_holm=row["p"])
        significance.append([is_significant(row["p"]) for row in rows.values()])
        p_texts = " and ".join(f"{name} {row['p']:.3f}" for name, row in rows.items())
        point_texts.append(f"at FPR {fpr:g} {p_texts}")
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Ratio-based measures do not depend on the magnitude of the base metric, "
                "difference-based ones do (5)",
                recount_verdict(abs(changes[1] - 1) < 1e-9 and abs(changes[0] - 10) < 1e-6),
                "by their definitions: of rates a tenth as great the range is a tenth, NRB the "
                "same",
            ),
            Claim(
                "We recommend the use of ratio-based bias measures, in particular when the values "
                "of base metrics are small",
                other_data_verdict(significance[0] == [False, True]),
                "that ratios show more where rates are small is not confirmed: over all groups p "
                f"under equal rates is {'; '.join(point_texts)}",
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, "p is of each figure by itself."),
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
