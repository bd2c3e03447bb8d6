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
from parivox.facts import Fact, fact
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
    interval_values,
    is_above,
    is_below,
    is_significant,
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
_CHART_GROUPS_NOTE = Fact("chart_of_large_groups", {})
_OTHER_LIST_NOTE = Fact("list_is_not_public", {})


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
                    note=fact("by_rounding", low=float(implied.low), high=float(implied.high)),
                )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "measures_rank_alike",
                recount_verdict(all(orders) and orders[0] != orders[1]),
                {"first_groups": [order[0] for order in orders]},
            ),
        ),
        (
            Fact("table_2_implies_table_3", {}),
            Fact("eer_at_own_threshold", {}),
            Fact("no_german_men", {}),
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
                "log_ratio_of_favoured",
                recount_verdict(not opposite_groups),
                {"opposite": len(opposite_groups), "groups": len(TABLE_4)},
            ),
        ),
        (Fact("computed_from_log_ratios", {}),),
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
    notes = (_OTHER_LIST_NOTE, Fact("best_group_by_chance", {}))
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
                "list_i_is_harder",
                recount_verdict(all(row["agrees"] for row in figures.rows)),
                {
                    "eer": interval_values(eer_percent),
                    "cost": interval_values(cost),
                    "increase": increase,
                },
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
                "base_metric_changes_side",
                other_data_verdict(
                    groups_verdict(
                        [is_below(eer[INDIAN_MEN]), is_above(common_threshold[INDIAN_MEN])]
                    )
                    == HOLDS
                ),
                {
                    "eer": interval_values(eer[INDIAN_MEN]),
                    "common": interval_values(common_threshold[INDIAN_MEN]),
                    "own": interval_values(own_threshold[INDIAN_MEN]),
                    "n_changed": len(changed_groups),
                    "groups": len(eer),
                    "changed": changed_groups,
                    "changed_at_own": changed_at_own,
                    "significant": significant_groups,
                },
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
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fdr_over_alpha",
                other_data_verdict(all(has_expected_sign)),
                {
                    "ranges": [
                        {"start": interval_values(start), "stop": interval_values(stop)}
                        for start, *_, stop in (lowest_fpr_rows, highest_fpr_rows)
                    ]
                },
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, Fact("p_of_each_figure", {}), _CHART_GROUPS_NOTE),
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
                "nrb_over_fpr",
                other_data_verdict(bool((fpr_steps < 0).all() and (fnr_steps > 0).all())),
                {
                    metric: [interval_values(row) for row in metric_rows]
                    for metric, metric_rows in rows.items()
                },
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, Fact("p_of_each_figure", {}), _CHART_GROUPS_NOTE),
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
                "fdr_contradicts_nrb",
                other_data_verdict(fdr["value"] > 0.985 and nrb["value"] > 0.6),
                {"fdr": interval_values(fdr), "nrb": interval_values(nrb)},
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, Fact("p_of_each_figure", {})),
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
    group_sets, significance = list[dict[str, Any]](), []
    for gated, group_set in ((False, "all groups"), (True, "those of enough people")):
        measure_rows = _fdr_and_nrb(voxceleb, SWEPT_FPRS[0], gated=gated)
        for quantity, row in measure_rows.items():
            limit = f"{quantity} of false accepts"
            figures.add(group_set, limit, None, row["value"], 4, estimate=row, p_holm=row["p"])
        significance.append([is_significant(row["p"]) for row in measure_rows.values()])
        measures = {name.lower(): interval_values(row) for name, row in measure_rows.items()}
        group_sets.append({"group_set": group_set, **measures})
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
                "attacker_succeeds",
                recount_verdict(min(success_chances) > 1 / 2),
                {"chances": success_chances},
            ),
            Claim(
                "indian_men_fall_sooner",
                other_data_verdict(groups_verdict([is_above(india)]) == HOLDS),
                {
                    "group": INDIAN_MEN,
                    "fpr": interval_values(india),
                    "speakers": rates[INDIAN_MEN]["speakers"],
                    "hours": _hours_to_success(rates[INDIAN_MEN]["value"]),
                },
                H,
            ),
            Claim(
                "nrb_identifies_bias",
                other_data_verdict(all(nrb and not fdr for fdr, nrb in significance)),
                {"group_sets": group_sets},
                H,
            ),
        ),
        (Fact("hours_to_success", {}),),
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
    points, significance = list[dict[str, float]](), []
    for fpr in (SWEPT_FPRS[0], SWEPT_FPRS[-1]):
        rows = _fdr_and_nrb(voxceleb, fpr)
        for name, row in rows.items():
            figures.add(f"FPR {fpr:g}", name, None, row["value"], 4, estimate=row, p_holm=row["p"])
        significance.append([is_significant(row["p"]) for row in rows.values()])
        points.append({"fpr": fpr} | {name.lower(): float(row["p"]) for name, row in rows.items()})
    return Reproduced(
        figures.table(),
        (
            Claim(
                "ratios_keep_magnitude",
                recount_verdict(abs(changes[1] - 1) < 1e-9 and abs(changes[0] - 10) < 1e-6),
                {},
            ),
            Claim(
                "ratios_recommended",
                other_data_verdict(significance[0] == [False, True]),
                {"points": points},
                H,
            ),
        ),
        (_OTHER_LIST_NOTE, Fact("p_of_each_figure", {})),
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
