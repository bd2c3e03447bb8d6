"""Hutiri and Ding (2022), "Bias in Automated Speaker Recognition": its items on VoxCeleb1-H.

Tables 4 and 5 by the paper's own steps: `parivox.papers.paper001_tables`.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import COST_MODELS, cdet, equalised_min_cdet, min_cdet
from parivox.core.rates import fnr_at_fpr
from parivox.core.separation import r_precision
from parivox.core.verdict import holm
from parivox.facts import Fact, fact
from parivox.papers.items import (
    MISSING,
    NOTHING,
    OPEN,
    RUNS,
    SIGNIFICANCE_LEVEL,
    Claim,
    FigureRows,
    Item,
    Paper,
    Reproduced,
    groups_verdict,
    interval_side,
    interval_values,
    is_above,
    is_below,
    is_significant,
    rate_in_percent,
    recount_verdict,
)
from parivox.papers.paper001_tables import COST, REFERENCE_5, TABLE_4, paper_name, table4, table5
from parivox.papers.voxceleb import AT_LEAST_COST, BY, ON_H, TEST, V2, H, L

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parivox.auditing import Audit
    from parivox.core.counts import Counts
    from parivox.data.table import Table
    from parivox.papers.voxceleb import Voxceleb1H

# share of the speakers and of the trials of VoxCeleb1-H, in per cent with one decimal
_NATIONALITY_SHARES = {
    "nationality=USA": (67.1, 64.7),
    "nationality=UK": (18.1, 19.3),
    "nationality=Canada": (4.5, 3.9),
}
_GENDER_SHARES = {"gender=f": (44.0, 41.1), "gender=m": (56.0, 58.9)}
_TEST_LIST_SHARES = {
    "gender=f": (38.0, 29.5),
    "gender=m": (62.0, 70.5),
    "nationality=USA": (62.5, 59.6),
    "nationality=UK": (12.5, 13.9),
    "nationality=Ireland": (7.5, 6.7),
}
"""The same of VoxCeleb1's test list."""
_CHALLENGE_COSTS = {
    "VoxCeleb SRC": "voxsrc",
    "NIST SRE 2019, telephone": "sre19_cts",
    "Speakers in the Wild 2016": "sitw16",
    "Far-Field SVC 2020": "ffsvc20",
    "Short Duration SVC (SRE08)": "sre08",
}
"""Of the challenges of table 1 that minimise a detection cost, which."""
_PRINTED_CHANGES = {
    "wider": ("UK", "USA", "Ireland"),
    "unchanged": ("Australia", "India", "Canada"),
    "closer": ("Norway",),
}
"""What section 5.2 says of women's and men's curves as ResNetSE34L takes ResNetSE34V2's place."""
_MAX_UNCHANGED = 0.15
"""Changes of the logarithm of women's EER over men's below this count as none."""
_FIGURE_10_GROUPS = tuple(
    f"{nationality}_{sex}" for nationality in ("india", "uk", "usa") for sex in "fm"
)
_FPR_GRID = np.geomspace(0.001, 0.1, 41)
"""FPRs at which whole curves are compared."""


def _audit(voxceleb: Voxceleb1H) -> Audit:
    return voxceleb.audit(V2, L, **AT_LEAST_COST)


def _counts_by_group(voxceleb: Voxceleb1H, system: str = V2) -> tuple[Counts, dict[str, Counts]]:
    """Return counts of all trials, and of each group by the paper's names."""
    counts = voxceleb.counts(system)
    groups = {
        name: group_counts for name, group_counts in counts.items() if name not in {"all", "pooled"}
    }
    return counts["all"], {paper_name(name): group_counts for name, group_counts in groups.items()}


def _group_rows(table: Table, system: str = V2, **filters: str) -> dict[str, Mapping[str, Any]]:
    """Return rows of one metric or measure by the paper's names of groups."""
    rows = table.subset(system=system, grouping=BY, **filters).rows()
    return {paper_name(row["group"]): row for row in rows if row["group"] != "pooled"}


def _significant_groups(rows: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the groups significantly above 1, and below it, with adjusted p."""
    significant = {group: row for group, row in rows.items() if is_significant(row["p_holm"])}
    above_one = [group for group, row in significant.items() if row["value"] > 1]
    return above_one, [group for group in significant if group not in above_one]


def _spread_figures(audit: Audit, grouping: str) -> tuple[FigureRows, Claim]:
    """Return figures and a claim on how unequal FPR and FNR are at the overall threshold."""
    figures, significance, rates_of_metrics = FigureRows(), [], list[dict[str, Any]]()
    for metric in ("fpr", "fnr"):
        filters = {
            "system": V2,
            "grouping": grouping,
            "metric": metric,
            "operating_point": "min-cdet",
        }
        rates = [
            rate_row
            for rate_row in audit.groups.subset(**filters).rows()
            if rate_row["group"] != "pooled"
        ]
        for row in rates:
            name = paper_name(row["group"]) if grouping == BY else row["group"]
            percent_row = rate_in_percent(row)
            figures.add(
                name, f"{metric.upper()}, %", None, percent_row["value"], 2, estimate=percent_row
            )
        for gated, group_set in ((False, "all"), (True, "those of enough people")):
            (row,) = audit.meta.subset(**filters, measure="gini", gated=gated).rows()
            name = f"Gini of {metric.upper()}"
            figures.add(group_set, name, None, row["value"], 4, estimate=row, p_holm=row["p"])
            if gated:
                significance.append(is_significant(row["p"]))
                gini = interval_values(row)
        lowest, highest = (100 * end(rate_row["value"] for rate_row in rates) for end in (min, max))
        rates_of_metrics.append(
            {"metric": metric.upper(), "lowest": lowest, "highest": highest, "gini": gini}
        )
    return figures, Claim(
        "rates_differ_by_group",
        groups_verdict(is_unequal or None for is_unequal in significance),
        {"rates": rates_of_metrics},
    )


# ---- tables


def _table1(voxceleb: Voxceleb1H) -> Reproduced:
    figures = FigureRows()
    sides: dict[str, list[bool]] = {}
    for challenge, name in _CHALLENGE_COSTS.items():
        model = COST_MODELS[name]
        for system in (V2, L):
            overall, groups = _counts_by_group(voxceleb, system)
            minimum = min_cdet(overall, cost=model)
            figures.add(challenge, f"minimum cost ({system})", None, float(minimum.value), 4)
            # a cost of several priors has no single threshold
            if system == V2 and len(model.p_target) == 1:
                for group, challenge_minimum in groups.items():
                    cost = cdet(challenge_minimum.at([minimum.threshold]), model)[0]
                    sides.setdefault(group, []).append(bool(cost > minimum.value))
    for system in (V2, L):
        overall, groups = _counts_by_group(voxceleb, system)
        name, model = "NIST SRE 2019, telephone", COST_MODELS["sre19_cts"]
        equalised = float(equalised_min_cdet(groups.values(), cost=model))
        figures.add(name, f"minimum cost, groups equalised ({system})", None, equalised, 4)
        precision = 100 * float(r_precision(overall))
        figures.add("Speakers in the Wild 2016", f"R-precision, % ({system})", None, precision, 3)
        (row,) = _audit(voxceleb).groups.subset(system=system, grouping="all", metric="eer").rows()
        eer_percent = rate_in_percent(row)
        figures.add(
            "SUPERB, VoxCeleb SRC",
            f"EER, % ({system})",
            None,
            eer_percent["value"],
            3,
            estimate=eer_percent,
        )
    changed_groups = [group for group, group_sides in sides.items() if len({*group_sides}) > 1]
    biases = _group_rows(_audit(voxceleb).bias, measure="subgroup_bias")
    significant_groups = [
        group for group in changed_groups if interval_side(biases[group], 1.0) is not None
    ]
    minimum_by_challenge = {
        row["row"]: row["exact"]
        for row in figures.rows
        if row["quantity"] == f"minimum cost ({V2})"
    }
    (lowest_challenge, minimum), *_, (highest_challenge, highest_minimum) = sorted(
        minimum_by_challenge.items(), key=lambda challenge_minimum: challenge_minimum[1]
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "costs_of_challenges",
                recount_verdict(highest_minimum > minimum),
                {
                    "system": V2,
                    "lowest": {"cost": minimum, "challenge": lowest_challenge},
                    "highest": {"cost": highest_minimum, "challenge": highest_challenge},
                    "n_changed": len(changed_groups),
                    "groups": len(sides),
                    "changed": changed_groups,
                    "significant": significant_groups,
                },
            ),
        ),
        (
            Fact("costs_over_blind_decision", {}),
            Fact("groups_equalised", {}),
            Fact("r_precision", {}),
            Fact("no_cllr_of_these_scores", {}),
        ),
    )


def _n_trials(row: Mapping[str, Any]) -> int:
    return int(row["target_trials"] + row["nontarget_trials"])


def _table2(voxceleb: Voxceleb1H) -> Reproduced:
    test_list = voxceleb.test_list()
    audit = voxceleb.audit(V2, by=("gender", "nationality"), intervals=False)
    rows = {
        f"{eer_row['grouping']}={eer_row['group']}": eer_row
        for eer_row in audit.groups.subset(metric="eer").rows()
    }
    row_of_all = rows["all=all"]
    trials = _n_trials(row_of_all)
    nationalities = [name for name in rows if name.startswith("nationality=")]
    figures = FigureRows()
    for quantity, printed, exact in (
        ("speakers", 1_190, row_of_all["speakers"]),
        ("trials", 550_894, trials),
        ("nationalities", 11, len(nationalities) - 1),  # and the row of all of them
    ):
        figures.add("VoxCeleb1-H", quantity, printed, exact, 0)
    for name, (printed_speakers, printed_trials) in (_GENDER_SHARES | _NATIONALITY_SHARES).items():
        row, decimals = rows[name], 0 if name in _GENDER_SHARES else 1
        share = 100 * row["speakers"] / row_of_all["speakers"]
        figures.add(name, "speakers, %", printed_speakers, share, decimals)
        share = 100 * _n_trials(row) / trials
        figures.add(name, "trials, %", printed_trials, share, 1)
    gender_counts: dict[str, dict[str, int]] = {"speakers": {}, "trials": {}}
    for name in _GENDER_SHARES:
        gender_counts["speakers"][name] = rows[name]["speakers"]
        gender_counts["trials"][name] = _n_trials(rows[name])
    for counted, printed_ratio in (("speakers", 79.0), ("trials", 70.0)):
        women, men = gender_counts[counted].values()
        figures.add(
            "VoxCeleb1-H", f"women to men, {counted}, %", printed_ratio, 100 * women / men, 0
        )
    if test_list is not None:
        _add_test_list(figures, test_list.tables["groups"])
    speaker_rows = {speaker["id"]: speaker for speaker in voxceleb.speaker_rows()}
    utterance_speakers = [speaker_rows[name.split("/")[0]] for name in voxceleb.utterances()]
    utterance_counts = {
        kind: Counter(speaker[kind] for speaker in utterance_speakers)
        for kind in ("gender", "nationality")
    }
    women, men = gender_counts["speakers"].values()
    utterances_per_speaker = [
        utterance_counts["gender"]["f"] / women,
        utterance_counts["gender"]["m"] / men,
    ]
    largest_difference = 0.0
    for name in _GENDER_SHARES | _NATIONALITY_SHARES:
        kind, _, group = name.partition("=")
        share = 100 * utterance_counts[kind][group] / len(utterance_speakers)
        largest_difference = max(
            largest_difference, abs(share - 100 * _n_trials(rows[name]) / trials)
        )
        figures.add(name, "utterances, %", None, share, 2)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "women_are_fewer",
                recount_verdict(
                    women < men and utterances_per_speaker[0] < utterances_per_speaker[1]
                ),
                {"women": women, "men": men, "utterances": utterances_per_speaker},
                H,
            ),
        ),
        (
            (Fact("shares_of_utterances", {"difference": largest_difference})),
            (Fact("column_of_test_list", {"file": TEST})),
        ),
        (partial(audit.charts.speakers, by="nationality"),),
    )


def _add_test_list(figures: FigureRows, groups: Table) -> None:
    """Add counts of VoxCeleb1's test list next to its printed column."""
    rows = {
        f"{group_row['grouping']}={group_row['group']}": group_row for group_row in groups.rows()
    }
    row_of_all = rows["all=all"]
    nationalities = [row for row in rows.values() if row["grouping"] == "nationality"]
    for quantity, printed, exact in (
        ("speakers", 40, row_of_all["speakers"]),
        ("trials", 37_720, row_of_all["trials"]),
        ("nationalities", 9, len(nationalities)),
    ):
        figures.add("VoxCeleb1 test", quantity, printed, exact, 0)
    for name, (printed_speakers, printed_trials) in _TEST_LIST_SHARES.items():
        row, decimals = rows.get(name), 0 if name in _GENDER_SHARES else 1
        if row is not None:
            share = 100 * row["speakers"] / row_of_all["speakers"]
            figures.add(f"test, {name}", "speakers, %", printed_speakers, share, decimals)
            share = 100 * row["trials"] / row_of_all["trials"]
            figures.add(f"test, {name}", "trials, %", printed_trials, share, 1)


def _table4(voxceleb: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(voxceleb), _counts_by_group(voxceleb)
    costs = _group_rows(audit.groups, metric="cdet_norm", operating_point="min-cdet")
    own_costs = _group_rows(audit.groups, metric="min_cdet_norm")
    biases = _group_rows(audit.bias, measure="subgroup_bias")
    threshold_biases = _group_rows(audit.bias, measure="threshold_bias")
    figures = FigureRows()
    for row in table4(overall, groups):
        for quantity, figure, decimals, estimates in (
            ("cost at the overall threshold", row.cost, 3, costs),
            ("subgroup bias", row.subgroup_bias, 4, biases),
            ("cost at its own threshold", row.own_cost, 3, own_costs),
            ("threshold bias", row.threshold_bias, 4, threshold_biases),
        ):
            figures.add(
                row.group,
                quantity,
                figure.printed,
                figure.exact,
                decimals,
                estimate=estimates[row.group],
                neutral=1.0 if estimates is biases else None,
                authors=figure.paper,
                note=fact("number_of_speakers", speakers=costs[row.group]["speakers"]),
            )
    above, below = _significant_groups(biases)
    directions = [
        (is_above if bias > 1 else is_below)(biases[group])
        for group, (_, _, bias, *_) in TABLE_4.items()
    ]
    means = [
        np.mean([row["value"] for group, row in threshold_biases.items() if group.endswith(sex)])
        for sex in "fm"
    ]
    groups_above_one = [group for group, (_, _, bias, *_) in TABLE_4.items() if bias > 1]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "groups_with_higher_costs",
                groups_verdict(directions),
                {
                    "printed_worse": len(groups_above_one),
                    "printed_better": len(TABLE_4) - len(groups_above_one),
                    "worse": above,
                    "better": below,
                },
            ),
            Claim("own_thresholds_help_women", OPEN, {"means": [float(mean) for mean in means]}),
        ),
        (
            Fact("costs_as_authors_computed", {}),
            Fact("mexican_men_best_in_print", {}),
        ),
    )


def _table5(voxceleb: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(voxceleb), _counts_by_group(voxceleb)
    ratio_rows = {
        metric: _group_rows(
            audit.bias,
            measure="ratio",
            metric=metric,
            reference="pooled",
            operating_point="min-cdet",
        )
        for metric in ("fpr", "fnr")
    }
    figures = FigureRows()
    for row in table5(overall, groups):
        for metric, figure in (("fpr", row.fpr_ratio), ("fnr", row.fnr_ratio)):
            figures.add(
                row.group,
                f"{metric.upper()} ratio",
                figure.printed,
                figure.exact,
                4,
                estimate=ratio_rows[metric][row.group],
                neutral=1.0,
                authors=figure.paper,
            )
    india, usa = (
        {metric_name: rows[group] for metric_name, rows in ratio_rows.items()}
        for group in ("india_f", REFERENCE_5)
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fpr_of_indian_women",
                recount_verdict(round(india["fpr"]["value"]) == 13),
                {"fpr": interval_values(india["fpr"])},
            ),
            Claim(
                "fnr_of_indian_women",
                groups_verdict([is_above(india["fnr"])]),
                {"fnr": interval_values(india["fnr"])},
            ),
            Claim(
                "rates_of_american_men",
                groups_verdict(
                    False if is_significant(row["p_holm"]) else None for row in usa.values()
                ),
                {"fpr": interval_values(usa["fpr"]), "fnr": interval_values(usa["fnr"])},
            ),
        ),
        (Fact("divided_by_group", {"group": REFERENCE_5}),),
    )


# ---- figures


def _figure2(voxceleb: Voxceleb1H) -> Reproduced:
    audit, overall = _audit(voxceleb), voxceleb.counts(V2)["all"]
    figures = FigureRows()
    (eer,) = audit.groups.subset(system=V2, grouping="all", metric="eer").rows()
    eer_percent = rate_in_percent(eer)
    figures.add(
        V2,
        "errors at the threshold of the EER, %",
        None,
        eer_percent["value"],
        3,
        estimate=eer_percent,
    )
    minimum = min_cdet(overall, cost=COST)
    figures.add(V2, "threshold of the least cost", None, float(minimum.threshold), 3)
    return Reproduced(
        figures.table(),
        notes=(Fact("two_distributions", {}),),
        charts=(partial(audit.charts.distributions, by="gender", system=V2),),
    )


def _figure4(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    figures, spread = _spread_figures(audit, BY)
    curves = _group_rows(audit.bias, measure="ratio", metric="fnr_at_fpr", reference="pooled")
    for group, row in curves.items():
        figures.add(
            group,
            "FNR at its own FPR of 1 %, over that of everyone",
            None,
            row["value"],
            4,
            estimate=row,
        )
    filters = {"system": V2, "grouping": "nationality", "measure": "subgroup_bias"}
    nationality_rows = {row["group"]: row for row in audit.bias.subset(**filters).rows()}
    _, better = _significant_groups(nationality_rows)
    eers = audit.groups.subset(system=V2, metric="eer").rows()
    sizes = {(row["grouping"], row["group"]): _n_trials(row) for row in eers}
    usa_share = sizes["nationality", "USA"] / sizes["all", "all"]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fit_to_american_speakers",
                groups_verdict([is_below(nationality_rows["USA"])]),
                {
                    "bias": interval_values(nationality_rows["USA"]),
                    "nationalities": len(nationality_rows),
                    "share": 100 * usa_share,
                    "better": better,
                },
            ),
            spread,
        ),
        (Fact("curves_in_claim_5_1", {}),),
        (partial(audit.charts.det, by=BY, systems=V2, panel="gender"),),
    )


def _figure5(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    rows = _group_rows(audit.comparison, measure="subgroup_bias")
    figures = FigureRows()
    for group, row in rows.items():
        figures.add(group, f"subgroup bias, {V2}", None, row["value"], 4)
        figures.add(group, f"subgroup bias, {L}", None, row["other"], 4)
        figures.add(group, f"{V2} - {L}", None, row["difference"], 4, estimate=row, p_holm=row["p"])
    lower = [group for group, row in rows.items() if row["difference"] < 0]
    # p of a comparison is of each group by itself, so the level is divided by their number
    differing_groups = [
        name
        for name, row in rows.items()
        if row["p"] is not None and row["p"] < SIGNIFICANCE_LEVEL / len(rows)
    ]
    men = {group: row for group, row in rows.items() if group.endswith("_m")}
    above = {
        system: [group for group, row in men.items() if row[column] > 1]
        for system, column in ((V2, "value"), (L, "other"))
    }
    biases = _group_rows(audit.bias, measure="subgroup_bias")
    significant_men = [group for group in men if is_above(biases[group])]
    filters = {"grouping": BY, "metric": "cdet_norm", "measure": "nrb"}
    (nrb,) = audit.comparison.subset(**filters).rows()
    is_different = nrb["low"] is not None and not nrb["low"] <= 0 <= nrb["high"]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "bias_of_men_near_1",
                recount_verdict(max(TABLE_4[group][2] for group in men) < 2),
                {
                    "norway_m": TABLE_4["norway_m"][2],
                    "above": [len(above[system]) for system in (V2, L)],
                    "groups": len(men),
                    "significant": significant_men,
                },
            ),
            Claim(
                "bias_of_americans_is_equal",
                groups_verdict(
                    [None if name not in differing_groups else False for name in ("usa_m", "usa_f")]
                ),
                {
                    "differences": [
                        {"group": name, **_difference(rows[name])} for name in ("usa_m", "usa_f")
                    ]
                },
            ),
            Claim(
                "neither_system_is_fairer",
                recount_verdict(not is_different and not differing_groups),
                {
                    "lower": [len(lower), len(rows) - len(lower)],
                    "differing": differing_groups,
                    "nrb": _difference(nrb),
                },
            ),
        ),
        (Fact("p_of_each_group", {}),),
        (partial(audit.charts.against, by=BY, measure="subgroup_bias", systems=(V2, L)),),
    )


def _difference(row: Mapping[str, Any]) -> dict[str, float]:
    """Return a difference of two systems with its interval, as values of a fact."""
    return {name: float(row[name]) for name in ("difference", "low", "high")}


def _figure7(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    point = audit.operating_points.subset(system=V2, operating_point="min-cdet").rows()[0]
    rates = {
        metric: audit.groups.subset(
            system=V2, grouping="all", metric=metric, operating_point="min-cdet"
        ).rows()[0]
        for metric in ("fpr", "fnr")
    }
    figures = FigureRows()
    figures.add(V2, "threshold", -1.024, point["threshold"], 3)
    for (metric, row), printed_rate in zip(rates.items(), (0.27, 10.36), strict=True):
        percent_row = rate_in_percent(row)
        figures.add(
            V2, f"{metric.upper()}, %", printed_rate, percent_row["value"], 2, estimate=percent_row
        )
    agrees = all(row["agrees"] for row in figures.rows)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "rates_at_printed_score",
                recount_verdict(agrees),
                {metric: interval_values(rate_in_percent(row)) for metric, row in rates.items()},
            ),
        ),
        charts=(partial(audit.charts.together, systems=V2),),
    )


def _figure8(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    figures, claim = _spread_figures(audit, "nationality")
    filters = {"system": V2, "grouping": "nationality", "metric": "eer", "measure": "ratio"}
    eers = {
        eer_row["group"]: eer_row
        for eer_row in audit.bias.subset(**filters, reference="pooled").rows()
    }
    for group, row in eers.items():
        figures.add(group, "EER over that of everyone", None, row["value"], 4, estimate=row)
    worse, better = _significant_groups(eers)
    return Reproduced(
        figures.table(),
        (
            claim._replace(
                code="rates_differ_by_nationality",
                values={**claim.values, "worse": worse, "better": better},
            ),
        ),
        (Fact("women_and_men_in_one_panel", {}),),
        (partial(audit.charts.det, by=BY, systems=V2, panel="nationality"),),
    )


def _figure9(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(voxceleb), FigureRows()
    rows = _group_rows(audit.comparison, measure="value", metric="eer")
    claims = []
    for change_name, nationalities in _PRINTED_CHANGES.items():
        changes: list[dict[str, Any]] = []
        directions: list[bool | None] = []
        for nationality in nationalities:
            women, men = (rows[f"{nationality.lower()}_{sex}"] for sex in "fm")
            ratios = [women[column] / men[column] for column in ("value", "other")]
            change = math.log(ratios[1] / ratios[0])
            half_width = None
            if women["log_low"] is not None and men["log_low"] is not None:
                half_width = (
                    math.hypot(*(row["log_high"] - row["log_low"] for row in (women, men))) / 2
                )
            for system, ratio in zip((V2, L), ratios, strict=True):
                figures.add(nationality, f"EER of women over men, {system}", None, ratio, 3)
            # half-widths add up as squares, because women and men share no trials
            # above 0 the curves move apart, whichever of the two is the upper
            wider = abs(math.log(ratios[1])) - abs(math.log(ratios[0]))
            interval = {
                "low": half_width and wider - half_width,
                "high": half_width and wider + half_width,
            }
            figures.add(
                nationality, f"wider from {V2} to {L}, ln", None, wider, 3, estimate=interval
            )
            if half_width is None:
                directions.append(None)
            elif change_name == "unchanged":
                if abs(change) + half_width < _MAX_UNCHANGED:
                    directions.append(True)
                elif abs(change) - half_width > _MAX_UNCHANGED:
                    directions.append(False)
                else:
                    directions.append(None)
            else:
                is_wider = interval_side(interval)
                directions.append(
                    None if is_wider is None else is_wider == (change_name == "wider")
                )
            widening = interval_values({"value": wider, **interval})
            changes.append({"nationality": nationality, "ratios": ratios, "wider": widening})
        claims.append(
            Claim(
                "curves_of_women_and_men",
                groups_verdict(directions),
                {
                    "change": change_name,
                    "nationalities": [*nationalities],
                    "changes": changes,
                },
            )
        )
    return Reproduced(
        figures.table(),
        tuple(claims),
        (
            Fact("distance_at_eer", {}),
            Fact("half_widths_as_squares", {}),
        ),
        (partial(audit.charts.det, by=BY, systems=(V2, L), panel="nationality"),),
    )


def _figure10(voxceleb: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(voxceleb), _counts_by_group(voxceleb)
    names = {paper_name(name): name for name in voxceleb.counts(V2) if "+" in name}
    figures = FigureRows()
    common = min_cdet(overall, cost=COST)
    overall_rates = overall.at([common.threshold])
    common_rates: dict[str, tuple[float, float]] = {}
    own_rates: dict[str, tuple[float, float]] = {}
    for group in _FIGURE_10_GROUPS:
        counts = groups[group]
        for rates_by_group, threshold_text, threshold in (
            (common_rates, "at the overall threshold", common.threshold),
            (own_rates, "at its own", min_cdet(counts, cost=COST).threshold),
        ):
            rates = counts.at([threshold])
            rates_by_group[group] = 100 * float(rates.fpr[0]), 100 * float(rates.fnr[0])
            for name, rate in zip(("FPR", "FNR"), rates_by_group[group], strict=True):
                figures.add(group, f"{name} {threshold_text}, %", None, rate, 3)
    pooled_rates = 100 * float(overall_rates.fpr[0]), 100 * float(overall_rates.fnr[0])

    def above(group: str, fprs: Iterable[float]) -> list[bool]:
        fnr_pairs = (
            (
                fnr_at_fpr(curve_counts, target=fpr).value
                for curve_counts in (groups[group], overall)
            )
            for fpr in fprs
        )
        return [bool(group_fnr > pooled_fnr) for group_fnr, pooled_fnr in fnr_pairs]

    eers = _group_rows(audit.bias, measure="ratio", metric="eer", reference="pooled")
    india_above = above("india_f", _FPR_GRID)
    fpr = float(overall_rates.fpr[0])
    regional_above = {group: above(group, (fpr / 3, fpr, fpr * 3)) for group in ("uk_f", "usa_f")}
    is_closer = {
        group: [
            abs(own_rates[group][i] - pooled_rates[i])
            <= abs(common_rates[group][i] - pooled_rates[i])
            for i in range(2)
        ]
        for group in _FIGURE_10_GROUPS
    }
    not_closer = [group for group, closer_rates in is_closer.items() if not all(closer_rates)]
    usa = [
        {
            "group": group,
            "fpr": [common_rates[group][0], own_rates[group][0]],
            "fnr": [common_rates[group][1], own_rates[group][1]],
        }
        for group in ("usa_f", "usa_m")
    ]
    fnr_change = max(
        abs(common_rates[group_name][1] / own_rates[group_name][1] - 1)
        for group_name in ("usa_f", "usa_m")
    )
    improves_fpr = all(
        common_rates[group_name][0] < own_rates[group_name][0] for group_name in ("usa_f", "usa_m")
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "indian_women_at_any_threshold",
                groups_verdict([is_above(eers["india_f"])]),
                {
                    "above": sum(india_above),
                    "fprs": len(india_above),
                    "eer": interval_values(eers["india_f"]),
                },
            ),
            Claim(
                "british_and_american_women",
                recount_verdict(all(TABLE_4[group][2] > 1 for group in regional_above)),
                {
                    "usa_f": TABLE_4["usa_f"][2],
                    "groups": [
                        {"group": group, "above": sum(is_above_curve)}
                        for group, is_above_curve in regional_above.items()
                    ],
                },
            ),
            Claim(
                "threshold_keeps_american_fnr",
                recount_verdict(improves_fpr and fnr_change < 0.02),
                {"groups": usa},
            ),
            Claim(
                "own_threshold_is_closer",
                OPEN,
                {"groups": len(_FIGURE_10_GROUPS), "not_closer": not_closer},
            ),
        ),
        (Fact("own_thresholds_same_trials", {}),),
        (
            partial(
                audit.charts.det,
                by=BY,
                systems=V2,
                groups=[names[group] for group in _FIGURE_10_GROUPS],
                panel="nationality",
            ),
        ),
    )


def _figure11(voxceleb: Voxceleb1H) -> Reproduced:
    speaker_rows, figures = voxceleb.speaker_rows(), FigureRows()
    genders = Counter(speaker["gender"] for speaker in speaker_rows)
    nationalities = Counter(speaker["nationality"] for speaker in speaker_rows)
    women = Counter(speaker["nationality"] for speaker in speaker_rows if speaker["gender"] == "f")
    for nation, n_speakers in nationalities.most_common():
        figures.add(nation, "speakers", None, n_speakers, 0)
        figures.add(nation, "women", None, women[nation], 0)
    usa_share = nationalities["USA"] / len(speaker_rows)
    small_nationalities = [name for name, n_speakers in nationalities.items() if n_speakers < 5]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "skewed_to_american_men",
                recount_verdict(genders["m"] > genders["f"] and usa_share > 1 / 2),
                {
                    "speakers": len(speaker_rows),
                    "men": 100 * genders["m"] / len(speaker_rows),
                    "usa": 100 * usa_share,
                    "small": len(small_nationalities),
                    "nationalities": len(nationalities),
                },
            ),
        ),
        (Fact("chart_of_1190_speakers", {}),),
        (partial(_audit(voxceleb).charts.speakers, by=BY),),
    )


# ---- claims


def _claim51(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    eers = _group_rows(audit.bias, measure="ratio", metric="eer", reference="pooled")
    figures = FigureRows()
    for group, row in eers.items():
        figures.add(group, "EER over that of everyone", None, row["value"], 4, estimate=row)
    women = {group: row for group, row in eers.items() if group.endswith("_f")}
    men = {group: row for group, row in eers.items() if group.endswith("_m")}
    above = [group for group, row in women.items() if row["value"] > 1]
    below = [group for group, row in men.items() if row["value"] < 1]
    worse, better = _significant_groups(eers)
    printed_below = [
        group_name
        for group_name, (_, _, bias, *_) in TABLE_4.items()
        if group_name.endswith("_f") and bias < 1
    ]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "curves_of_women_above",
                groups_verdict(is_above(row) for row in women.values()),
                {
                    "above": len(above),
                    "nationalities": len(women),
                    "worse": [group_name for group_name in worse if group_name in women],
                },
            ),
            Claim(
                "curves_of_men_below",
                groups_verdict(is_below(row) for row in men.values()),
                {
                    "below": len(below),
                    "nationalities": len(men),
                    "better": [group_name for group_name in better if group_name in men],
                },
            ),
            Claim(
                "other_women_have_higher_costs",
                recount_verdict(printed_below == ["usa_f"]),
                {"printed_below": printed_below},
            ),
        ),
    )


def _claim54(voxceleb: Voxceleb1H) -> Reproduced:
    audit = _audit(voxceleb)
    same_trial_rows = _group_rows(audit.bias, measure="threshold_bias")
    other_speaker_rows = _group_rows(audit.bias, measure="threshold_bias_cv")
    figures = FigureRows()
    for group, row in other_speaker_rows.items():
        figures.add(
            group,
            "on the same trials",
            None,
            same_trial_rows[group]["value"],
            4,
            estimate=same_trial_rows[group],
        )
        if row["value"] is not None:
            figures.add(group, "on other speakers", None, row["value"], 4, estimate=row)
    known_rows = {
        group: row for group, row in other_speaker_rows.items() if row["value"] is not None
    }
    without_gain = [group for group, row in known_rows.items() if row["value"] <= 1]
    sides = {group: interval_side(row, 1.0) for group, row in known_rows.items()}
    above_one, below_one = (
        [group_name for group_name, side in sides.items() if side is is_above_one]
        for is_above_one in (True, False)
    )
    p_by_group = dict(
        zip(known_rows, holm([_p_of_interval(row) for row in known_rows.values()]), strict=True)
    )
    significant = [
        group_name for group_name in known_rows if is_significant(p_by_group[group_name])
    ]
    directions = [
        sides[group_name] if group_name in significant else None
        for group_name in other_speaker_rows
    ]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "own_thresholds_help_everybody",
                groups_verdict(directions),
                {
                    "tested": len(known_rows),
                    "groups": len(other_speaker_rows),
                    "without_gain": len(without_gain),
                    "above": above_one,
                    "below": below_one,
                    "significant": significant,
                },
            ),
        ),
        (Fact("cross_fitted_over_speakers", {}),),
    )


def _p_of_interval(row: Mapping[str, Any]) -> float:
    """Return p of a ratio of 1, from a normal approximation of the logarithm's interval."""
    if row["low"] is None:
        return math.nan
    # a 95 % interval is 1.96 standard errors wide on either side
    se = math.log(row["high"] / row["low"]) / (2 * 1.96)
    return math.erfc(abs(math.log(row["value"])) / se / math.sqrt(2))


def _claim72(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(voxceleb), FigureRows()
    above, ratios = {}, {}
    for metric, name in (("eer", "EER"), ("cdet_norm", "cost")):
        rows = _group_rows(audit.groups, metric=metric)
        nationalities = [
            group_name[:-2]
            for group_name in rows
            if group_name.endswith("_f") and f"{group_name[:-2]}_m" in rows
        ]
        ratio_rows = {}
        for nation in nationalities:
            women, men = (rows[f"{nation}_{sex}"] for sex in "fm")
            # women and men share no trials, so that half-widths add up as squares
            half_widths = [
                math.log(interval_row["high"] / interval_row["low"]) / 2
                for interval_row in (women, men)
            ]
            ratio, half_width = women["value"] / men["value"], math.exp(math.hypot(*half_widths))
            ratio_rows[nation] = {
                "value": ratio,
                "low": ratio / half_width,
                "high": ratio * half_width,
            }
        adjusted_p = holm([_p_of_interval(row) for row in ratio_rows.values()])
        for (nation, row), p_holm in zip(ratio_rows.items(), adjusted_p, strict=True):
            row["p_holm"] = float(p_holm)
            figures.add(nation, f"{name} of women over men", None, row["value"], 3, estimate=row)
        above[name], ratios[name] = (
            [group_name for group_name in ratio_rows if ratio_rows[group_name]["value"] > 1],
            ratio_rows,
        )
    significant = {
        group_name
        for ratio_rows in ratios.values()
        for group_name, row in ratio_rows.items()
        if is_above(row) is not None
    }
    printed_lower = [
        group_name
        for group_name in nationalities
        if TABLE_4[f"{group_name}_f"][2] < TABLE_4[f"{group_name}_m"][2]
    ]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "women_differ_in_every_subgroup",
                groups_verdict(is_above(row) for row in ratios["cost"].values()),
                {
                    "nationalities": len(nationalities),
                    "n_by_eer": len(above["EER"]),
                    "by_eer": above["EER"],
                    "n_by_cost": len(above["cost"]),
                    "significant": sorted(significant),
                    "printed_lower": printed_lower,
                },
            ),
        ),
        (Fact("half_widths_as_squares", {}),),
        (partial(audit.charts.forest, by=BY, system=V2),),
    )


def _claim8(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(voxceleb), FigureRows()
    filters = {"system": V2, "measure": "ratio", "reference": "others"}
    cost = {"metric": "cdet_norm", "operating_point": "min-cdet"}
    (women,) = audit.bias.subset(**filters, **cost, grouping="gender", group="f").rows()
    nationality_rows = {
        bias_row["group"]: bias_row
        for bias_row in audit.bias.subset(**filters, **cost, grouping="nationality").rows()
    }
    figures.add("women", "cost over that of men", None, women["value"], 4, estimate=women)
    usa = nationality_rows["USA"]
    # the limits of a reciprocal change places
    inverted = {"value": usa["value"], "low": usa["high"], "high": usa["low"]}
    other_nationalities = {name: 1 / end for name, end in inverted.items()} | {
        "p_holm": usa["p_holm"]
    }
    name = "cost over that of people from the USA"
    figures.add(
        "all but the USA", name, None, other_nationalities["value"], 4, estimate=other_nationalities
    )
    rates = [
        audit.bias.subset(
            **filters, grouping="gender", group="f", metric=metric_name, operating_point="min-cdet"
        )
        for metric_name in ("fpr", "fnr")
    ]
    for metric, table in zip(("FPR", "FNR"), rates, strict=True):
        row = table.rows()[0]
        figures.add("women", f"{metric} over that of men", None, row["value"], 4, estimate=row)
    (eer,) = audit.bias.subset(
        system=V2, measure="ratio", reference="pooled", metric="eer", grouping="gender", group="f"
    ).rows()
    figures.add("women", "EER over that of everyone", None, eer["value"], 4, estimate=eer)
    worse = _significant_groups(
        {group_name: row for group_name, row in nationality_rows.items() if group_name != "USA"}
    )[0]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "women_and_non_americans_affected",
                groups_verdict([is_above(women), is_above(other_nationalities)]),
                {
                    "cost": interval_values(women),
                    "fpr": interval_values(rates[0].rows()[0]),
                    "fnr": interval_values(rates[1].rows()[0]),
                    "elsewhere": interval_values(other_nationalities),
                    "eer": interval_values(eer),
                    "worse": worse,
                },
            ),
        ),
        (),
        (partial(audit.charts.forest, by="nationality", system=V2),),
    )


_item = partial(Item, "001")


_ONE_LIST = "VoxCeleb1-H; the test list where --data has it"
PAPER = Paper(
    "001",
    "W. Hutiri and A. Y. Ding",
    2022,
    "Bias in Automated Speaker Recognition",
    (
        _item("table", "1", "metrics of challenges", RUNS, ON_H, _table1),
        _item("table", "2", "who is in three lists", RUNS, ON_H, _table2, _ONE_LIST),
        _item("table", "3", "attributes of two systems", NOTHING, "from their publications"),
        _item("table", "4", "costs, subgroup bias, threshold bias", RUNS, ON_H, _table4),
        _item("table", "5", "ratios of error rates to the average", RUNS, ON_H, _table5),
        _item("figure", "1", "parts of a system", NOTHING, "a drawing"),
        _item(
            "figure", "2", "two typical score distributions", RUNS, ON_H, _figure2, f"those of {H}"
        ),
        _item("figure", "3", "steps of the evaluation", NOTHING, "a drawing"),
        _item("figure", "4", "DET curves of women and men", RUNS, ON_H, _figure4),
        _item("figure", "5", "subgroup bias of two systems", RUNS, ON_H, _figure5),
        _item("figure", "6", "DET of three lists", MISSING, "scores of VoxCeleb1 test and E"),
        _item("figure", "7", "DET curve with one point", RUNS, ON_H, _figure7),
        _item("figure", "8", "DET curves by nationality", RUNS, ON_H, _figure8),
        _item("figure", "9", "DET curves of two systems", RUNS, ON_H, _figure9),
        _item("figure", "10", "own thresholds on DET curves", RUNS, ON_H, _figure10),
        _item("figure", "11", "speakers by nationality", RUNS, ON_H, _figure11),
        _item("claim", "5.1", "women fare worse, the USA better", RUNS, ON_H, _claim51),
        _item("claim", "5.4", "own thresholds help everybody", RUNS, ON_H, _claim54),
        _item("claim", "7.2", "women fare worse in every subgroup", RUNS, ON_H, _claim72),
        _item("claim", "8", "who is most affected", RUNS, ON_H, _claim8),
    ),
)
