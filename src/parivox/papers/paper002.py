"""Hutiri, Gorce and Ding (2022), "Design Guidelines for Inclusive [...] Evaluation Datasets".

See docs/methods/planning.md#trial-lists for its grades, its algorithm and its guidelines, which
`parivox.trials` follows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from parivox.facts import Fact, joined_facts
from parivox.papers.items import (
    NOTHING,
    RUNS,
    Claim,
    FigureRows,
    Item,
    Paper,
    Reproduced,
    groups_verdict,
    interval_side,
    interval_values,
    is_above,
    other_data_verdict,
    rate_in_percent,
    recount_verdict,
)
from parivox.papers.voxceleb import BY, ON_H, V2
from parivox.trials.checks import check
from parivox.trials.description import describe
from parivox.trials.inclusive import build_inclusive
from parivox.trials.variation import variants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing import Audit
    from parivox.papers.voxceleb import Voxceleb1H
    from parivox.trials.checks import Checked
    from parivox.trials.variation import Variation

# nationality: speakers, pairs of the same speaker, pairs per speaker, trivial pairs in per cent
TABLE_3 = {
    "USA": (799, 178_122, 222.9, 12.9),
    "UK": (215, 53_111, 247.0, 10.3),
    "Canada": (54, 10_864, 201.2, 11.1),
    "India": (26, 10_053, 386.7, 10.6),
    "Australia": (37, 8_668, 234.3, 10.5),
    "Ireland": (18, 4_960, 275.6, 8.5),
    "Norway": (20, 4_906, 245.3, 10.0),
    "New Zealand": (6, 1_811, 301.8, 10.1),
    "Germany": (5, 1_256, 251.2, 17.0),
    "Mexico": (5, 1_130, 226.0, 10.2),
    "Italy": (5, 571, 114.2, 17.0),
}
"""Printed table 3."""

FIGURE_1 = {"all": 5.0, "medium": 15.0}
"""FNR in per cent at an FPR of 1 %, as section 4.3.1 reads it off figure 1."""
EXPERIMENT_2 = ("Canada", "India", "UK")
PAIRS_PER_SPEAKER = (25, 50, 75)
"""Pairs of either class for each speaker in our figures 2 and 3; the paper has 50 to 520."""
SEED, N_LISTS = 12, 5
PER_SPEAKER = 500
"""Pairs of either class that guideline 2 asks for."""
POINT = "fpr=0.01"
_TRIVIAL, _MEDIUM = "1", "3"
"""Grades of pairs of the same speaker."""
COMPAT = "hutiri2022"
_CHECKED_LISTS = {"VoxCeleb1-H": "", "inclusive": None, "as listed": COMPAT}
"""Lists that are checked: that of the scores, and two by Algorithm 1."""


def _audit_by_grade(voxceleb: Voxceleb1H) -> Audit:
    return voxceleb.audit(V2, by="grade", operating_points=POINT)


# ---- tables and figure 1


def _table1(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit_by_grade(voxceleb), FigureRows()
    filters = {"grouping": "grade", "metric": "fnr", "operating_point": POINT}
    for row in audit.groups.subset(**filters).rows():
        if row["target_trials"]:
            percent_row = rate_in_percent(row)
            name = f"grade {row['group']}" if row["group"] != "pooled" else "all"
            figures.add(
                name, "FNR at an FPR of 1 %, %", None, percent_row["value"], 3, estimate=percent_row
            )
            figures.add(name, "pairs of the same speaker", None, row["target_trials"], 0)
    bias_filters = {"measure": "ratio", "reference": "others", "zero": "none", "group": _MEDIUM}
    (harder,) = audit.bias.subset(**filters, **bias_filters).rows()
    figures.add("grade 3 over grade 1", "ratio of FNR", None, harder["value"], 2, estimate=harder)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "trivial_pairs_are_easier",
                groups_verdict([is_above(harder)]),
                {"ratio": interval_values(harder)},
            ),
        ),
        (Fact("grade_4_alone", {}),),
        (partial(audit.charts.forest, by="grade", operating_point=POINT),),
    )


def _table3(voxceleb: Voxceleb1H) -> Reproduced:
    description = describe(voxceleb.scores(V2)[V2], speakers=voxceleb.speakers, by="nationality")
    rows = {row["group"]: row for row in description.tables["groups"].rows()}
    figures = FigureRows()
    for nationality, (
        printed_speakers,
        printed_pairs,
        pairs_per_speaker,
        trivial,
    ) in TABLE_3.items():
        row = rows[nationality]
        figures.add(nationality, "speakers", printed_speakers, row["speakers"], 0)
        figures.add(nationality, "pairs", printed_pairs, row["target"], 0)
        figures.add(
            nationality, "pairs per speaker", pairs_per_speaker, row["target_per_speaker"], 1
        )
        figures.add(nationality, "trivial, %", trivial, 100 * row["trivial_share"], 1)

    def differing_rows(quantity: str) -> list[str]:
        return [
            group_row["row"]
            for group_row in figures.rows
            if group_row["quantity"] == quantity and not group_row["agrees"]
        ]

    n_printed_pairs = sum(printed_pairs for _, printed_pairs, _, _ in TABLE_3.values())
    lowest, highest = (
        end(group_row["trivial_share"] for group_row in rows.values()) for end in (min, max)
    )
    return Reproduced(
        figures.table(),
        (
            Claim(
                "pairs_of_voxceleb1_h",
                recount_verdict(not differing_rows("pairs") and not differing_rows("trivial, %")),
                {
                    "agreeing": len(rows) - 1 - len(differing_rows("speakers")),
                    "nationalities": len(rows) - 1,
                    "pairs_differ": differing_rows("pairs"),
                    "printed_pairs": n_printed_pairs,
                    "pairs": rows["all"]["target"],
                    "shares_differ": differing_rows("trivial, %"),
                },
            ),
            Claim(
                "trivial_shares_differ",
                recount_verdict(lowest > 0 and highest / lowest > 1.5),
                {"lowest": 100 * lowest, "highest": 100 * highest},
            ),
        ),
        (Fact("counts_are_exact", {}),),
    )


def _figure1(voxceleb: Voxceleb1H) -> Reproduced:
    audit, figures = _audit_by_grade(voxceleb), FigureRows()
    filters = {"grouping": "grade", "metric": "fnr", "operating_point": POINT}
    rows = {row["group"]: rate_in_percent(row) for row in audit.groups.subset(**filters).rows()}
    row_of_all = rows["pooled"]
    ungraded_audit = voxceleb.audit(
        V2, by="gender", operating_points=POINT, without_grade=int(_TRIVIAL)
    )
    (medium,) = ungraded_audit.groups.subset(**{**filters, "grouping": "all"}).rows()
    # the threshold varies with people in both, so that their intervals are alike
    medium = rate_in_percent(medium)
    name = "FNR at an FPR of 1 %, %"
    figures.add("all pairs", name, FIGURE_1["all"], row_of_all["value"], 0, estimate=row_of_all)
    figures.add("no trivial pairs", name, FIGURE_1["medium"], medium["value"], 0, estimate=medium)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "fnr_at_fpr_of_1_percent",
                recount_verdict(bool(figures.rows[0]["agrees"])),
                {"fnr": interval_values(row_of_all)},
            ),
            Claim(
                "medium_pairs_triple_fnr",
                groups_verdict([interval_side(medium, FIGURE_1["medium"])]),
                {"fnr": interval_values(medium)},
            ),
        ),
        (Fact("all_nontarget_pairs_are_hard", {}),),
        (partial(audit.charts.boxes, by="grade"),),
    )


# ---- lists drawn anew


def _variants(voxceleb: Voxceleb1H) -> Variation:
    if "variants" not in voxceleb.cache:
        voxceleb.cache["variants"] = variants(
            voxceleb.scores(V2)[V2],
            speakers=voxceleb.speakers,
            by="nationality",
            per_speaker=PAIRS_PER_SPEAKER,
            variants=N_LISTS,
            seed=SEED,
        )
    cached_variants: Variation = voxceleb.cache["variants"]
    return cached_variants


def _spread_by_pairs(variation: Variation, metric: str, column: str) -> dict[str, list[float]]:
    """Return a spread of each nationality, by pairs per speaker."""
    return {
        nation: [
            variation.table.subset(group=nation, metric=metric, per_speaker=n).rows()[0][column]
            for n in PAIRS_PER_SPEAKER
        ]
        for nation in EXPERIMENT_2
    }


_OTHER_LISTS = "other lists"
_DRAWN_NOTE = Fact("lists_drawn_from_scored_pairs", {})


def _figure2(voxceleb: Voxceleb1H) -> Reproduced:
    variation, figures = _variants(voxceleb), FigureRows()
    spreads = {
        metric: _spread_by_pairs(variation, metric, "seed_sd") for metric in ("eer", "min_cdet")
    }
    for metric, name in (("eer", "EER"), ("min_cdet", "minDCF")):
        for nation, nationality_spreads in spreads[metric].items():
            for n, spread in zip(PAIRS_PER_SPEAKER, nationality_spreads, strict=True):
                figures.add(
                    f"{nation}, n = {n}", f"sd of {name} over lists, %", None, 100 * spread, 1
                )
    pairs = [
        (eer_spread, cost_spread)
        for nation in EXPERIMENT_2
        for eer_spread, cost_spread in zip(
            spreads["eer"][nation], spreads["min_cdet"][nation], strict=True
        )
    ]
    n_smaller = len([pair for pair in pairs if pair[0] < pair[1]])
    return Reproduced(
        figures.table(),
        (
            Claim(
                "curves_differ_least_in_middle",
                other_data_verdict(n_smaller == len(pairs)),
                {"smaller": n_smaller, "cases": len(pairs)},
                _OTHER_LISTS,
            ),
        ),
        (_DRAWN_NOTE,),
        (variation.dets,),
    )


def _figure3(voxceleb: Voxceleb1H) -> Reproduced:
    variation, figures = _variants(voxceleb), FigureRows()
    range_over_lists = _spread_by_pairs(variation, "min_cdet", "seed_max_min")
    sd_over_lists = _spread_by_pairs(variation, "min_cdet", "seed_sd")
    sd_over_speakers = _spread_by_pairs(variation, "min_cdet", "speaker_sd")
    for nation in EXPERIMENT_2:
        for i, n in enumerate(PAIRS_PER_SPEAKER):
            row = f"{nation}, n = {n}"
            # the only figure that the paper prints in its text
            printed_range = 30.0 if (nation, n) == ("Canada", 50) else None
            figures.add(
                row, "worst list over best, %", printed_range, 100 * range_over_lists[nation][i], 0
            )
            figures.add(row, "sd over lists, %", None, 100 * sd_over_lists[nation][i], 1)
            figures.add(row, "sd over speakers, %", None, 100 * sd_over_speakers[nation][i], 1)
    smallest_groups = [
        min(EXPERIMENT_2, key=lambda group: sd_over_lists[group][i])
        for i in range(len(PAIRS_PER_SPEAKER))
    ]
    largest_groups = [
        max(EXPERIMENT_2, key=lambda group: sd_over_lists[group][i])
        for i in range(len(PAIRS_PER_SPEAKER))
    ]
    index_of_50 = PAIRS_PER_SPEAKER.index(50)
    first_and_last = {
        nation: (100 * group_ranges[index_of_50], 100 * group_ranges[-1])
        for nation, group_ranges in range_over_lists.items()
    }
    return Reproduced(
        figures.table(),
        (
            Claim(
                "worst_of_five_lists",
                other_data_verdict(bool(figures.rows[3 * index_of_50]["agrees"])),
                {
                    "range": 100 * range_over_lists["Canada"][index_of_50],
                    "sd_over_speakers": 100 * sd_over_speakers["Canada"][index_of_50],
                },
                _OTHER_LISTS,
            ),
            Claim(
                "more_pairs_are_more_robust",
                other_data_verdict(all(stop < start for start, stop in first_and_last.values())),
                {
                    "ranges": [
                        {"group": group, "at_50": range_at_50, "at_75": range_at_end}
                        for group, (range_at_50, range_at_end) in first_and_last.items()
                    ]
                },
                _OTHER_LISTS,
            ),
            Claim(
                "spread_by_nationality",
                other_data_verdict({*smallest_groups} == {"UK"} and {*largest_groups} == {"India"}),
                {
                    "pairs_per_speaker": [*map(str, PAIRS_PER_SPEAKER)],
                    "smallest": smallest_groups,
                    "largest": largest_groups,
                },
                _OTHER_LISTS,
            ),
        ),
        (_DRAWN_NOTE,),
        (variation.chart,),
    )


# ---- Algorithm 1 and the guidelines


def _list_checks(voxceleb: Voxceleb1H) -> dict[str, Checked]:
    """Return the checks of the scored list and of two lists by Algorithm 1."""
    if "checked" not in voxceleb.cache:
        source = {"utterance": voxceleb.utterances()}
        options: dict[str, Any] = {"speakers": voxceleb.speakers, "by": BY}
        checks_by_list = {}
        for name, compat in _CHECKED_LISTS.items():
            lists: Sequence[Any] = [voxceleb.scores(V2)[V2]]
            if compat != "":
                lists = build_inclusive(
                    source,
                    per_speaker=PER_SPEAKER,
                    seed=SEED,
                    variants=N_LISTS,
                    compat=compat,
                    **options,
                ).lists
            checks_by_list[name] = check(
                lists[0], mix="cat4=1,target3=1", variants=[*lists[1:]], **options
            )
        voxceleb.cache["checked"] = checks_by_list
    cached_checks: dict[str, Checked] = voxceleb.cache["checked"]
    return cached_checks


_VERDICT_CODES = {"pass": "check_passed", "fail": "check_failed", "not checked": "not_checked"}


def _check_figures(checked: dict[str, Checked], *ids: str) -> FigureRows:
    figures = FigureRows()
    for name, checks in checked.items():
        for check_id in ids:
            finding = checks[check_id]
            if finding.statistic is not None:
                note = joined_facts(_VERDICT_CODES[finding.verdict], finding.facts)
                figures.add(
                    name, f"{check_id}, {finding.what}", None, finding.statistic, 4, note=note
                )
    return figures


_GUIDELINES = ("G1", "G2", "G3", "G4", "G5", "G6")


_DEVIATIONS = (
    Fact("listing_in_parivox", {}),
    Fact("listing_cannot_run", {}),
    Fact("inclusive_departs_further", {}),
)
"""How lists depart from the paper's listing: docs/methods/planning.md#inclusive-lists."""


def _algorithm(voxceleb: Voxceleb1H) -> Reproduced:
    checked = _list_checks(voxceleb)
    figures = _check_figures(checked, *_GUIDELINES, "G10")
    for name in ("as listed", "inclusive"):
        checks = checked[name]
        test_quantity = "nontarget_trials_as_test"
        (test_side,) = checks.tables["reuse"].subset(item=test_quantity).rows()
        figures.add(name, "least often tested", None, test_side["least"], 0)
        figures.add(name, "most often tested", None, test_side["most"], 0)
    listed, inclusive = (checked[name]["G3"] for name in ("as listed", "inclusive"))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "algorithm_gives_equal_counts",
                other_data_verdict(listed.verdict == "pass"),
                {"listed": listed.facts, "inclusive": inclusive.facts},
                _OTHER_LISTS,
            ),
        ),
        (
            Fact("lists_of_utterances", {"pairs": PER_SPEAKER, "seed": SEED}),
            *_DEVIATIONS,
        ),
    )


def _guidelines(voxceleb: Voxceleb1H) -> Reproduced:
    checked = _list_checks(voxceleb)
    failed = {
        name: [check_id for check_id in _GUIDELINES if checks[check_id].verdict == "fail"]
        for name, checks in checked.items()
    }
    original_list = checked["VoxCeleb1-H"]
    return Reproduced(
        _check_figures(checked, *_GUIDELINES).table(),
        (
            Claim(
                "pairs_are_unequal",
                recount_verdict({"G3", "G4"} <= {*failed["VoxCeleb1-H"]}),
                {
                    "g3": original_list["G3"].facts,
                    "g4": original_list["G4"].facts,
                    "failed": failed["VoxCeleb1-H"],
                    "failed_as_listed": failed["as listed"],
                    "failed_inclusive": failed["inclusive"],
                },
            ),
        ),
        (
            Fact("checks_of_guidelines", {}),
            Fact("guideline_5_by_grades", {}),
            Fact("variation_in_figures", {}),
        ),
    )


_item = partial(Item, "002")


_DRAWN_FROM_H, _UTTERANCES_OF_H = (
    "lists drawn from VoxCeleb1-H instead",
    "on utterances of VoxCeleb1-H",
)
PAPER = Paper(
    "002",
    "W. Hutiri, L. Gorce and A. Y. Ding",
    2022,
    "Design Guidelines for Inclusive Speaker Verification Evaluation Datasets",
    (
        _item("table", "1", "grades of difficulty", RUNS, ON_H, _table1, "two of six grades"),
        _item("table", "2", "experiments", NOTHING, "a design"),
        _item("table", "3", "pairs of the same speaker", RUNS, ON_H, _table3),
        _item("figure", "1", "without trivial pairs", RUNS, ON_H, _figure1, "one of two lists"),
        _item("figure", "2", "DET curves of lists drawn anew", RUNS, ON_H, _figure2, _DRAWN_FROM_H),
        _item("figure", "3", "outcomes by pairs per speaker", RUNS, ON_H, _figure3, _DRAWN_FROM_H),
        _item(
            "claim", "3.2", "Algorithm 1 and its listing", RUNS, ON_H, _algorithm, _UTTERANCES_OF_H
        ),
        _item("claim", "5", "six guidelines", RUNS, ON_H, _guidelines, _UTTERANCES_OF_H),
    ),
)
