"""Chouchane et al., "A Comparison of Differential Performance Metrics": its items.

Table 1 from its printed percentages: `parivox.papers.paper003_tables`. The figures are of two of
its five systems, on the nine nationalities of VoxCeleb1-H, and on those of the paper's 72 speakers
that VoxCeleb1-H holds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import criteria
from parivox.facts import Fact, fact
from parivox.papers.items import (
    OPEN,
    RUNS,
    Claim,
    FigureRows,
    Item,
    Paper,
    Reproduced,
    groups_verdict,
    interval_side,
    interval_values,
    is_significant,
    other_data_verdict,
    rate_in_percent,
    recount_verdict,
)
from parivox.papers.paper003_tables import (
    GROUPS,
    LARGER_SPEAKER_SHARE,
    TABLE_1,
    TRIALS,
    fair_ginis,
    table1,
)
from parivox.papers.voxceleb import ON_H, V2, L

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parivox.auditing import Audit, Criteria
    from parivox.core.counts import FloatArray
    from parivox.papers.voxceleb import Voxceleb1H

_SPEAKER_NUMBERS = {
    "USA": (10338, 10343, 10350, 10357, 10363, 10367, 10375, 10386),
    "UK": (10053, 10271, 11023, 11086, 11096, 11122, 11144, 11169),
    "Germany": (10211, 10241, 10361, 10370, 10587, 10845, 10883, 11237),
    "Australia": (10006, 10155, 10168, 10177, 10381, 10394, 10493, 10495),
    "Italy": (10024, 10134, 10340, 10737, 10911, 10939, 10958, 11215),
    "India": (10519, 10852, 10941, 10956, 11090, 11100, 11136, 11209),
    "Ireland": (10016, 10055, 10118, 10246, 10317, 10554, 10994, 11043),
    "New Zealand": (10170, 10467, 10703, 10760, 10935, 10969, 11005, 11025),
    "Canada": (10243, 10249, 10378, 10409, 10454, 10496, 10500, 10603),
}
SPEAKERS = frozenset(f"id{number}" for numbers in _SPEAKER_NUMBERS.values() for number in numbers)
"""The speakers of the paper's published protocol; VoxCeleb1-H holds 63 of them."""

POINT = "fpr=0.001"
SWEEP, SWEPT = "fpr=0.001:0.1:log100", np.geomspace(0.1, 10, 100)
"""FPRs at which the measures are swept, as asked and in per cent."""
NINE_NATIONALITIES, PAPER_SPEAKERS = "nine nationalities", "63 speakers"
"""On whom the figures are made: all of VoxCeleb1-H, and those of the paper's list."""
DRAWS = 2_000
_SYSTEMS = (V2, L)
TWO_SYSTEMS = "two of five systems"
"""Those whose scores are to be had."""
_TWO_SYSTEMS_NOTE = Fact("two_public_systems", {})


# ---- from print


def _table1(_: object) -> Reproduced:
    figures, rows = FigureRows(), table1()
    for row in rows:
        for metric, percent, counts in zip(
            ("FPR", "FNR"), TABLE_1[row.system], (row.fp, row.fn), strict=True
        ):
            for group, printed, errors in zip(GROUPS, percent, counts.tolist(), strict=True):
                figures.add(
                    f"{row.system}, {group}",
                    f"{metric}, %",
                    printed,
                    exact=100 * errors / TRIALS,
                    decimals=2,
                    note=fact("errors_of_trials", errors=errors, trials=TRIALS),
                )
    return Reproduced(
        figures.table(),
        notes=(Fact("counts_from_percentages", {}),),
    )


def _claim5(_: object) -> Reproduced:
    figures, rows = FigureRows(), table1()
    unfair_systems, mean_garbe = {"plausibly": list[str](), "more": list[str]()}, dict[str, float]()
    for row in rows:
        figures.add(row.system, "FDR", None, row.fdr, 4)
        figures.add(row.system, "IR", None, row.ir, 4)
        rates = row.fp.mean() / TRIALS, row.fn.mean() / TRIALS
        fair_fpr_ginis, fair_fnr_ginis = fair_ginis(*rates)
        # GARBE with alpha 0.5 is the mean of both Ginis
        fair_garbes = (fair_fpr_ginis + fair_fnr_ginis) / 2
        mean_garbe[row.system] = float(fair_garbes.mean())
        for name, measured, fair_measures in (
            ("Gini of FPR", row.garbe_fpd, fair_fpr_ginis),
            ("Gini of FNR", row.garbe_fnd, fair_fnr_ginis),
            ("GARBE", row.garbe, fair_garbes),
        ):
            floor = {
                "floor_95": float(np.quantile(fair_measures, 0.95)),
                "p_holm": _share_as_unequal(fair_measures, measured),
            }
            note = fact("mean_of_fair_systems", mean=float(fair_measures.mean()))
            figures.add(row.system, name, None, measured, 4, estimate=floor, note=note)
        fair_garbes_if_larger = np.mean(
            fair_ginis(*rates, speaker_share=LARGER_SPEAKER_SHARE), axis=0
        )
        for assumption, fair_measures in (
            ("plausibly", fair_garbes),
            ("more", fair_garbes_if_larger),
        ):
            if is_significant(_share_as_unequal(fair_measures, row.garbe)):
                unfair_systems[assumption].append(row.system)
    fairest = min(rows, key=lambda row: row.garbe).system
    least_fair_by_fdr = min(rows, key=lambda row: row.fdr).system
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fairness_costs_accuracy",
                OPEN,
                {
                    "fairest": fairest,
                    "least_fair_by_fdr": least_fair_by_fdr,
                    "fair_garbe": [min(mean_garbe.values()), max(mean_garbe.values())],
                    "excess": [
                        {"system": row.system, "garbe": row.garbe - mean_garbe[row.system]}
                        for row in rows
                    ],
                    "n_unfair": len(unfair_systems["plausibly"]),
                    "systems": len(rows),
                    "unfair_if_more": unfair_systems["more"],
                },
            ),
        ),
        (
            Fact("measures_not_printed", {}),
            Fact("fair_systems_simulated", {}),
        ),
    )


def _share_as_unequal(fair_measures: FloatArray, measured: float) -> float:
    """Return p: the share of simulated fair systems that are as unequal, counting this one."""
    # the system itself is counted, so that p is never 0
    return float((1 + (fair_measures >= measured).sum()) / (1 + fair_measures.size))


# ---- two systems on VoxCeleb1-H


def _audit(voxceleb: Voxceleb1H, speaker_set: str = NINE_NATIONALITIES) -> Audit:
    speaker_ids = SPEAKERS
    if speaker_set == NINE_NATIONALITIES:
        speaker_ids = frozenset(
            speaker["id"] for speaker in voxceleb.speaker_rows() if speaker["nationality"] in GROUPS
        )
    return voxceleb.audit(
        *_SYSTEMS,
        among=speaker_ids,
        by="nationality",
        operating_points=(POINT, "eer"),
        alpha="0:1:0.1",
        sweep=SWEEP,
        zero="none",
        compare=True,
        gates=("speakers=2", "errors=0", "pairs=1"),  # the paper's charts are of all nine
    )


def _criteria(voxceleb: Voxceleb1H, speaker_set: str = NINE_NATIONALITIES) -> Criteria:
    if ("criteria", speaker_set) not in voxceleb.cache:
        voxceleb.cache["criteria", speaker_set] = criteria(_audit(voxceleb, speaker_set))
    cached_criteria: Criteria = voxceleb.cache["criteria", speaker_set]
    return cached_criteria


def _sweep_values(
    audit: Audit, metric: str, measure: str, system: str, **filters: Any
) -> list[float]:
    """Return the defined values of a measure over thresholds, or at one of them."""
    rows = audit.sweep.subset(metric=metric, measure=measure, system=system, **filters).to_dict()
    return [value for value in rows["value"] if value is not None]


def _measure_ranges(
    voxceleb: Voxceleb1H, measure: str, printed: Sequence[float | None], **filters: str
) -> tuple[FigureRows, dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    """Return figures of a measure over alpha and thresholds, its ranges, and its terms' medians."""
    figures = FigureRows()
    ranges: dict[str, tuple[float, float]] = {}
    medians: dict[str, tuple[float, float]] = {}
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        rows = (
            _criteria(voxceleb, speaker_set).thresholds.subset(measure=measure, **filters).to_dict()
        )
        defined_values = {
            name: [number for number in cells if number is not None] for name, cells in rows.items()
        }
        term_values = defined_values["fpr_term"], defined_values["fnr_term"]
        undefined = float("nan")
        ranges[speaker_set] = (
            min(defined_values["least"], default=undefined),
            max(defined_values["most"], default=undefined),
        )
        fpd, fnd = (
            float(np.median(printed_value)) if printed_value else undefined
            for printed_value in term_values
        )
        medians[speaker_set] = fpd, fnd
        computed_figures = (*ranges[speaker_set], fpd, fnd)
        names = ("least", "most", "median of FPD", "median of FND")
        for name, figure, printed_value in zip(names, computed_figures, printed, strict=True):
            # the paper's are of five systems on another list
            figures.add(
                speaker_set,
                f"{measure.upper()}, {name}",
                printed_value,
                figure,
                2,
                agrees=None,
                verdict="",
            )
    return figures, ranges, medians


def _ranges(ranges: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return ranges as values of a fact."""
    return [
        {"speakers": speaker_set, "lowest": lowest, "highest": highest}
        for speaker_set, (lowest, highest) in ranges.items()
    ]


def _crossing_claim(
    voxceleb: Voxceleb1H, measure: str, figures: FigureRows, crossing: float, *, fpd_first: bool
) -> Claim:
    """Return the claim on the FPR at which the terms change places."""
    crossings, has_same_order, is_near = list[dict[str, Any]](), [], []
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        speaker_criteria = _criteria(voxceleb, speaker_set)
        for row in speaker_criteria.measures.subset(measure=measure).rows():
            filters = {"system": row["system"], "measure": measure}
            threshold_rows = speaker_criteria.thresholds.subset(**filters).rows()
            lowest_row = next(
                threshold_row for threshold_row in threshold_rows if threshold_row["fnr_term"]
            )
            crossing_points = row["change_places"].split(", ") if row["change_places"] else []
            crossing_rates = [100 * float(point.removeprefix("fpr=")) for point in crossing_points]
            name = f"{row['system']}, {speaker_set}"
            for rate in crossing_rates:
                figures.add(name, "terms change places at an FPR of, %", None, rate, 2)
            crossings.append({"system": name, "fprs": crossing_rates})
            has_same_order.append((lowest_row["fpr_term"] > lowest_row["fnr_term"]) == fpd_first)
            is_near.append(
                crossing_rates
                and all(
                    crossing / 2 <= threshold_row <= 2 * crossing
                    for threshold_row in crossing_rates
                )
            )
    lower_term, upper_term = ("FPD", "FND") if fpd_first else ("FND", "FPD")
    return Claim(
        "terms_change_places",
        other_data_verdict(all(has_same_order) and all(is_near)),
        {
            "fpr": crossing,
            "lower": lower_term,
            "upper": upper_term,
            "same_order": sum(has_same_order),
            "cases": len(has_same_order),
            "crossings": crossings,
        },
        TWO_SYSTEMS,
    )


def _table2(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ratios_by_measure, defined_shares = (
        FigureRows(),
        dict[str, list[float]](),
        dict[str, list[float]](),
    )
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        for row in _criteria(voxceleb, speaker_set).measures.rows():
            name, measure = f"{row['system']}, {speaker_set}", row["measure"].upper()
            least_fair = row["least"] if measure == "FDR" else row["most"]
            term_ratio = 10 ** row["log10_apart"]
            ratios_by_measure.setdefault(measure, []).append(term_ratio)
            defined_shares.setdefault(measure, []).append(100 * row["defined_silent"])
            figures.add(name, f"{measure}, larger term over smaller, median", None, term_ratio, 2)
            figures.add(name, f"{measure}, least fair", None, least_fair, 2)
            figures.add(
                name,
                f"{measure}, values defined where a group has no errors, %",
                None,
                exact=defined_shares[measure][-1],
                decimals=1,
                note=fact(
                    "thresholds_without_errors",
                    silent=row["silent"],
                    thresholds=row["thresholds"],
                ),
            )
        for row in (
            _criteria(voxceleb, speaker_set).floors.subset(operating_point=POINT, alpha=None).rows()
        ):
            if row["value"] is not None:
                quantity = f"{row['measure'].upper()}, term of {row['term'].upper()}"
                name = f"{row['system']}, {speaker_set}"
                figures.add(name, quantity, None, row["value"], 4, estimate=row, p_holm=row["p"])
    fully_defined = [
        measure_name for measure_name, values in defined_shares.items() if min(values) == 100
    ]
    bounded = {
        row["measure"]
        for row in _criteria(voxceleb, NINE_NATIONALITIES).measures.rows()
        if row["bounded"] == "met"
    }
    largest_ir = max(row["exact"] for row in figures.rows if row["quantity"] == "IR, least fair")
    return Reproduced(
        figures.table(),
        (
            Claim(
                "criterion_of_scale",
                other_data_verdict(
                    min(ratios_by_measure["FDR"])
                    > max(ratios_by_measure["IR"] + ratios_by_measure["GARBE"])
                ),
                {
                    "ratios": [
                        {"measure": measure_name, "least": min(ratios), "most": max(ratios)}
                        for measure_name, ratios in ratios_by_measure.items()
                    ]
                },
                TWO_SYSTEMS,
            ),
            Claim(
                "criterion_of_bounds",
                recount_verdict(bounded == {"fdr", "garbe"}),
                {"ir": largest_ir},
            ),
            Claim(
                "criterion_without_errors",
                recount_verdict(fully_defined == ["FDR", "GARBE"]),
                {
                    "shares": [
                        {"measure": measure_name, "share": float(np.mean(shares))}
                        for measure_name, shares in defined_shares.items()
                    ]
                },
            ),
        ),
        (
            _TWO_SYSTEMS_NOTE,
            (Fact("terms_and_floors", {"operating_point": POINT})),
        ),
        (
            _terms_chart(voxceleb, "fdr"),
            _terms_chart(voxceleb, "garbe"),
            _terms_chart(voxceleb, "ir"),
        ),
    )


def _figure1(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _measure_ranges(
        voxceleb, "fdr", (0.82, 1.0, None, None), operating_point=POINT
    )
    is_inside = all(low >= 0.815 for low, _ in ranges.values())
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fdr_near_1_at_low_fpr",
                other_data_verdict(is_inside),
                {"ranges": _ranges(ranges), "medians": _medians(medians)},
                TWO_SYSTEMS,
            ),
        ),
        (_TWO_SYSTEMS_NOTE,),
        (_alpha_chart(voxceleb, "fdr"),),
    )


def _medians(medians: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return medians of both terms as values of a fact."""
    return [
        {"speakers": speaker_set, "fpd": fpd, "fnd": fnd}
        for speaker_set, (fpd, fnd) in medians.items()
    ]


def _figure2(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ranges, _ = _measure_ranges(voxceleb, "fdr", (0.72, 1.0, None, None))
    is_inside = all(low >= 0.715 for low, _ in ranges.values())
    swap = _crossing_claim(voxceleb, "fdr", figures, 0.9, fpd_first=False)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fdr_near_1",
                other_data_verdict(is_inside),
                {"ranges": _ranges(ranges)},
                TWO_SYSTEMS,
            ),
            swap,
        ),
        (_TWO_SYSTEMS_NOTE,),
        (_terms_chart(voxceleb, "fdr"),),
    )


def _alpha_chart(voxceleb: Voxceleb1H, measure: str) -> Any:
    options = {"by": "nationality", "systems": _SYSTEMS, "operating_points": POINT}
    return partial(_audit(voxceleb).charts.over_alpha, measures=measure, **options)


def _terms_chart(voxceleb: Voxceleb1H, measure: str) -> Any:
    charts = _audit(voxceleb).charts
    return partial(charts.terms, by="nationality", systems=_SYSTEMS, measures=measure)


def _figure3(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _measure_ranges(
        voxceleb, "garbe", (0.19, 0.61, 0.55, 0.29), operating_point=POINT
    )
    _, fdr_ranges, _ = _measure_ranges(voxceleb, "fdr", (None,) * 4, operating_point=POINT)
    is_wider = all(
        np.ptp(ranges[speaker_set]) > np.ptp(fdr_ranges[speaker_set]) for speaker_set in ranges
    )
    term_ratios = [fpd / fnd for fpd, fnd in medians.values()]
    for metric in ("fpr", "fnr"):
        for system in _SYSTEMS:
            filters = {"system": system, "metric": metric, "operating_point": POINT, "gated": False}
            (row,) = (
                _audit(voxceleb)
                .meta.subset(measure="gini", grouping="nationality", **filters)
                .rows()
            )
            name = f"Gini of {metric.upper()}, {system}"
            figures.add(
                NINE_NATIONALITIES, name, None, row["value"], 4, estimate=row, p_holm=row["p"]
            )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "garbe_spans_more",
                other_data_verdict(is_wider),
                {"ranges": _ranges(ranges), "fdr_ranges": _ranges(fdr_ranges)},
                TWO_SYSTEMS,
            ),
            Claim(
                "garbe_terms_are_comparable",
                other_data_verdict(all(1 / 2 <= fpd <= 2 for fpd in term_ratios)),
                {"medians": _medians(medians), "ratios": term_ratios},
                TWO_SYSTEMS,
            ),
        ),
        (_TWO_SYSTEMS_NOTE,),
        (_alpha_chart(voxceleb, "garbe"),),
    )


def _figure4(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _measure_ranges(voxceleb, "garbe", (0.0, 1.0, 0.21, 0.88))
    spans_all = all(low < 0.05 and high > 0.95 for low, high in ranges.values())
    swap_claim = _crossing_claim(voxceleb, "garbe", figures, 0.4, fpd_first=True)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "garbe_spans_all",
                other_data_verdict(spans_all),
                {"ranges": _ranges(ranges), "medians": _medians(medians)},
                TWO_SYSTEMS,
            ),
            swap_claim,
        ),
        (_TWO_SYSTEMS_NOTE,),
        (_terms_chart(voxceleb, "garbe"),),
    )


def _figure5(voxceleb: Voxceleb1H) -> Reproduced:
    figures, ranges, _ = _measure_ranges(voxceleb, "ir", (None, 200.0, None, None))
    defined_shares = {}
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        rows = (
            _audit(voxceleb, speaker_set).sweep.subset(measure="ir", alpha=0.5).to_dict()["value"]
        )
        n_defined = len(rows) - rows.count(None)
        defined_shares[speaker_set] = 100 * n_defined / len(rows)
        figures.add(
            speaker_set,
            "IR, computable values, %",
            8.6,
            defined_shares[speaker_set],
            1,
            agrees=None,
            verdict="",
        )
    is_below_half = [share < 50 for share in defined_shares.values()]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "few_values_of_ir",
                other_data_verdict(all(is_below_half)),
                {
                    "shares": [
                        {"speakers": speaker_set, "share": share}
                        for speaker_set, share in defined_shares.items()
                    ]
                },
                TWO_SYSTEMS,
            ),
            Claim(
                "ir_reaches_200",
                other_data_verdict(max(high for _, high in ranges.values()) >= 200),
                {"ranges": _ranges(ranges)},
                TWO_SYSTEMS,
            ),
        ),
        (_TWO_SYSTEMS_NOTE,),
        (_terms_chart(voxceleb, "ir"),),
    )


def _figure6(voxceleb: Voxceleb1H) -> Reproduced:
    figures, lower_counts, differences = FigureRows(), list[dict[str, Any]](), []
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        audit = _audit(voxceleb, speaker_set)
        curves = [
            np.array(_sweep_values(audit, "fpr+fnr", "garbe", system, alpha=0.5))
            for system in _SYSTEMS
        ]
        is_lower = curves[1] < curves[0]
        n_fprs, n_lower = is_lower.size, int(is_lower.sum())
        is_lower_beyond = (
            is_lower[n_fprs - n_lower :].all() and n_lower < n_fprs
        )  # at all FPRs above one of them
        beyond = float(SWEPT[n_fprs - n_lower - 1]) if is_lower_beyond else None
        lower_counts.append(
            {"speakers": speaker_set, "lower": n_lower, "fprs": n_fprs, "above": beyond}
        )
        figures.add(speaker_set, f"FPRs at which {L} is lower", None, n_lower, 0)
        for point in (POINT, "eer"):
            filters = {"measure": "garbe", "alpha": 0.5, "operating_point": point}
            (row,) = audit.comparison.subset(**filters).rows()
            name = f"GARBE {V2} - {L}"
            figures.add(f"{speaker_set}, {point}", name, None, row["difference"], 3, estimate=row)
            if speaker_set == NINE_NATIONALITIES:
                differences.append((point, {**row, "value": row["difference"]}))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "smaller_system_has_lower_garbe",
                other_data_verdict(all(interval_side(row) for _, row in differences)),
                {
                    "lower": lower_counts,
                    "differences": [
                        {"operating_point": point, "difference": interval_values(row)}
                        for point, row in differences
                    ],
                },
                TWO_SYSTEMS,
            ),
        ),
        (
            _TWO_SYSTEMS_NOTE,
            Fact("no_interval_for_63_speakers", {}),
        ),
        (
            partial(
                _audit(voxceleb).charts.over_fpr,
                by="nationality",
                systems=_SYSTEMS,
                measures="garbe",
                alpha=0.5,
            ),
        ),
    )


def _figure7(voxceleb: Voxceleb1H) -> Reproduced:
    figures, eer_differences = FigureRows(), []
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        audit = _audit(voxceleb, speaker_set)
        for system in _SYSTEMS:
            filters = {"system": system, "grouping": "all", "metric": "eer"}
            (row,) = map(rate_in_percent, audit.groups.subset(**filters).rows())
            figures.add(f"{system}, {speaker_set}", "EER, %", None, row["value"], 2, estimate=row)
        (row,) = audit.comparison.subset(grouping="all", metric="eer", measure="value").rows()
        change = {name: 100 * row[name] for name in ("low", "high")}
        change["value"] = 100 * row["difference"]
        figures.add(
            speaker_set, f"EER {V2} - {L}, points", None, change["value"], 2, estimate=change
        )
        eer_differences.append((speaker_set, change))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "smaller_system_is_less_accurate",
                other_data_verdict(all(interval_side(row) is False for _, row in eer_differences)),
                {
                    "differences": [
                        {"speakers": speaker_set, "difference": interval_values(row)}
                        for speaker_set, row in eer_differences
                    ]
                },
                TWO_SYSTEMS,
            ),
        ),
        (_TWO_SYSTEMS_NOTE,),
        (partial(_audit(voxceleb).charts.together, systems=_SYSTEMS),),
    )


# ---- claims


def _claim412(voxceleb: Voxceleb1H) -> Reproduced:
    figures, computable = FigureRows(), []
    for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS):
        for system in _SYSTEMS:
            filters = {"alpha": 0.5, "operating_point": POINT}
            defined_values = _sweep_values(
                _audit(voxceleb, speaker_set), "fpr+fnr", "ir", system, **filters
            )
            name, printed_value = f"{system}, {speaker_set}", 13.35 if system == V2 else None
            figure = defined_values[0] if defined_values else float("nan")
            figures.add(name, "IR, alpha 0.5", printed_value, figure, 2, agrees=None, verdict="")
            computable += [name] if defined_values else []
    return Reproduced(
        figures.table(),
        (
            Claim(
                "ir_computable_for_one",
                other_data_verdict(
                    computable
                    == [
                        f"{V2}, {speaker_set}"
                        for speaker_set in (NINE_NATIONALITIES, PAPER_SPEAKERS)
                    ]
                ),
                {"computable": computable},
                TWO_SYSTEMS,
            ),
        ),
        (_TWO_SYSTEMS_NOTE, Fact("print_has_other_name", {})),
    )


def _claim33(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(voxceleb, PAPER_SPEAKERS), FigureRows()
    claims = []
    for metric_index, metric in enumerate(("fpr", "fnr")):
        table_concordance = concordance([rates[metric_index] for rates in TABLE_1.values()])
        system_correlations: list[dict[str, Any]] = []
        figures.add(
            "five systems",
            f"Spearman of {metric.upper()}",
            None,
            table_concordance.mean,
            2,
            estimate=table_concordance.row,
        )
        for system in _SYSTEMS:
            filters = {"system": system, "grouping": "nationality", "metric": metric}
            rows = audit.groups.subset(**filters, operating_point="eer").rows()
            rates = {row["group"]: rate_in_percent(row) for row in rows}
            printed = TABLE_1[system][metric_index]
            name = f"{metric.upper()}, %, {system}"
            for group, printed_rate in zip(GROUPS, printed, strict=True):
                rate_row = rates[group]
                figures.add(
                    group,
                    name,
                    printed_rate,
                    rate_row["value"],
                    2,
                    estimate=rate_row,
                    agrees=None,
                    verdict="",
                )
            list_concordance = concordance([printed, [rates[group]["value"] for group in GROUPS]])
            figures.add(
                "Spearman", name, None, list_concordance.mean, 2, estimate=list_concordance.row
            )
            system_correlations.append(
                {"system": system, "correlation": interval_values(list_concordance.row)}
            )
        paper_metric = {"fpr": "FMR", "fnr": "FNMR"}[metric]
        claims.append(
            Claim(
                "nationalities_differ_consistently",
                groups_verdict(
                    [
                        is_significant(table_concordance.p) or None,
                        interval_side(table_concordance.row),
                    ]
                ),
                {
                    "metric": metric.upper(),
                    "paper_metric": paper_metric,
                    "correlation": interval_values(table_concordance.row),
                    "least": table_concordance.least,
                    "most": table_concordance.most,
                    "p": table_concordance.p,
                    "systems": system_correlations,
                },
            )
        )
    return Reproduced(
        figures.table(),
        tuple(claims),
        (
            _TWO_SYSTEMS_NOTE,
            Fact("threshold_of_pooled_eer", {}),
            Fact("intervals_over_nationalities", {}),
        ),
        (partial(audit.charts.forest, by="nationality", operating_point="eer"),),
    )


class Concordance(NamedTuple):
    """Agreement of orders: mean and range of pairwise Spearman correlations, interval and p."""

    mean: float
    least: float
    most: float
    low: float
    high: float
    p: float

    @property
    def row(self) -> dict[str, float]:
        """The mean with its interval, as rows of audits have them."""
        return {"value": self.mean, "low": self.low, "high": self.high, "p_holm": self.p}


def concordance(orders: Sequence[Sequence[float]], *, draws: int = DRAWS) -> Concordance:
    """Return the Spearman correlations of every two rows of figures of the same groups.

    The interval, of 95 %, is over groups drawn with replacement; p is how often rows in random
    order, each its own, are as alike.

    Examples
    --------
    >>> concordance([[1, 2, 3, 4], [10, 20, 40, 50]]).mean
    1.0
    """
    rng, figures = np.random.default_rng(0), np.array(orders, dtype=np.float64)
    pairs = np.triu_indices(len(figures), 1)

    def correlations_of_pairs(rows: FloatArray) -> FloatArray:
        # signs of all differences: twice the centred rank, with ties at their mean
        n_below = (rows[..., None, :] < rows[..., :, None]).sum(axis=-1)
        ranks = n_below - (rows[..., None, :] > rows[..., :, None]).sum(axis=-1)
        # orders without any difference have no correlation, which counts as 0
        z = ranks / np.maximum(np.sqrt((ranks**2).sum(axis=-1, keepdims=True)), 1e-12)
        pair_correlations: FloatArray = (z @ np.swapaxes(z, -1, -2))[..., pairs[0], pairs[1]]
        return pair_correlations

    correlations = correlations_of_pairs(figures)
    groups = figures.shape[1]
    resampled = figures[:, rng.integers(0, groups, (draws, groups))].swapaxes(0, 1)
    low, high = np.quantile(correlations_of_pairs(resampled).mean(axis=-1), [0.025, 0.975])
    shuffled = rng.permuted(np.broadcast_to(figures, (draws, *figures.shape)), axis=-1)
    n_at_least = (
        correlations_of_pairs(shuffled).mean(axis=-1) >= correlations.mean() - 1e-12
    ).sum()
    return Concordance(
        float(round(correlations.mean(), 12)),
        float(correlations.min()),
        float(correlations.max()),
        float(low),
        float(high),
        float((1 + n_at_least) / (1 + draws)),
    )


_item = partial(Item, "003")


def _two_systems_item(
    kind: str, number: str, title: str, compute: Callable[[Any], Reproduced]
) -> Item:
    return _item(kind, number, title, RUNS, ON_H, compute, TWO_SYSTEMS)


PAPER = Paper(
    "003",
    "O. Chouchane, C. Busch, C. Galdi, N. Evans and M. Todisco",
    2024,
    "A Comparison of Differential Performance Metrics for the Evaluation of Automatic Speaker "
    "Verification Fairness",
    (
        _item("table", "1", "error rates of five systems", RUNS, "", _table1),
        _two_systems_item("table", "2", "criteria that measures meet", _table2),
        _two_systems_item("figure", "1", "FDR over alpha at one threshold", _figure1),
        _two_systems_item("figure", "2", "FDR over alpha and thresholds", _figure2),
        _two_systems_item("figure", "3", "GARBE over alpha at one threshold", _figure3),
        _two_systems_item("figure", "4", "GARBE over alpha and thresholds", _figure4),
        _two_systems_item("figure", "5", "IR over alpha and thresholds", _figure5),
        _two_systems_item("figure", "6", "GARBE of systems over thresholds", _figure6),
        _two_systems_item("figure", "7", "DET curves", _figure7),
        _item("claim", "3.3", "nationalities differ consistently", RUNS, ON_H, _claim33),
        _two_systems_item("claim", "4.1.2", "IR at one threshold", _claim412),
        _item("claim", "5", "fairness against accuracy", RUNS, "", _claim5),
    ),
)
