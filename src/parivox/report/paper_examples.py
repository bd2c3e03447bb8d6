"""Values of the claims of the papers on their data, rounded: examples of the catalogue."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "measures_rank_alike": {"first_groups": ["f+Australia", "m+Germany"]},
    "log_ratio_of_favoured": {"opposite": 7, "groups": 8},
    "fdr_over_alpha": {
        "ranges": [
            {
                "start": {
                    "value": 0.7469,
                    "low": 0.6515,
                    "high": 0.8162,
                    "floor_95": 0.7205,
                    "p": 0.09491,
                },
                "stop": {
                    "value": 0.9922,
                    "low": 0.9756,
                    "high": 0.9975,
                    "floor_95": 0.9901,
                    "p": 0.1109,
                },
            },
            {
                "start": {
                    "value": 0.9582,
                    "low": 0.9204,
                    "high": 0.978,
                    "floor_95": 0.9544,
                    "p": 0.07892,
                },
                "stop": {
                    "value": 0.768,
                    "low": 0.5928,
                    "high": 0.8678,
                    "floor_95": 0.7327,
                    "p": 0.1119,
                },
            },
        ]
    },
    "nrb_over_fpr": {
        "fpr": [
            {"value": 0.8086, "low": 0.6042, "high": 1.082, "floor_95": 0.8607, "p": 0.0969},
            {"value": 0.7484, "low": 0.5576, "high": 1.004, "floor_95": 0.8604, "p": 0.1399},
            {"value": 0.6498, "low": 0.4634, "high": 0.911, "floor_95": 0.6868, "p": 0.09491},
            {"value": 0.5593, "low": 0.3887, "high": 0.8048, "floor_95": 0.5332, "p": 0.03297},
            {"value": 0.4886, "low": 0.3349, "high": 0.7129, "floor_95": 0.4092, "p": 0.008991},
        ],
        "fnr": [
            {"value": 0.302, "low": 0.2301, "high": 0.3965, "floor_95": 0.2781, "p": 0.01598},
            {"value": 0.4974, "low": 0.3683, "high": 0.6718, "floor_95": 0.5233, "p": 0.07792},
            {"value": 0.6352, "low": 0.4627, "high": 0.8719, "floor_95": 0.7694, "p": 0.1848},
            {"value": 0.7415, "low": 0.5536, "high": 0.9931, "floor_95": 0.9595, "p": 0.2987},
            {"value": 0.8543, "low": 0.652, "high": 1.119, "floor_95": 1.234, "p": 0.5395},
        ],
    },
    "list_i_is_harder": {
        "eer": {"value": 2.402, "low": 2.214, "high": 2.607},
        "cost": {"value": 0.007748, "low": 0.007118, "high": 0.008433},
        "increase": [1.522, 1.5],
    },
    "base_metric_changes_side": {
        "eer": {
            "value": 0.9274,
            "low": 0.5003,
            "high": 1.719,
            "floor_95": None,
            "p": 0.7974,
            "p_holm": 1.0,
        },
        "common": {
            "value": 1.22,
            "low": 0.4165,
            "high": 3.574,
            "floor_95": None,
            "p": 0.6975,
            "p_holm": 1.0,
        },
        "own": {
            "value": 0.9255,
            "low": 0.4131,
            "high": 2.074,
            "floor_95": None,
            "p": 0.8398,
            "p_holm": 1.0,
        },
        "n_changed": 3,
        "groups": 18,
        "changed": ["m+Australia", "m+Canada", "m+India"],
        "changed_at_own": ["m+Australia", "m+Canada"],
        "significant": [],
    },
    "fdr_contradicts_nrb": {
        "fdr": {"value": 0.9922, "low": 0.9756, "high": 0.9975, "floor_95": 0.9901, "p": 0.1109},
        "nrb": {"value": 0.8086, "low": 0.6042, "high": 1.082, "floor_95": 0.8607, "p": 0.0969},
    },
    "attacker_succeeds": {"chances": [0.6396, 0.651]},
    "indian_men_fall_sooner": {
        "group": "m+India",
        "fpr": {
            "value": 2.769,
            "low": 0.9791,
            "high": 13.68,
            "floor_95": 11.55,
            "p": 0.05518,
            "p_holm": 0.7726,
        },
        "speakers": 15,
        "hours": 6.142,
    },
    "nrb_identifies_bias": {
        "group_sets": [
            {
                "group_set": "all groups",
                "fdr": {
                    "value": 0.9922,
                    "low": 0.9756,
                    "high": 0.9975,
                    "floor_95": 0.9901,
                    "p": 0.1109,
                },
                "nrb": {
                    "value": 0.8086,
                    "low": 0.6042,
                    "high": 1.082,
                    "floor_95": 0.8607,
                    "p": 0.0969,
                },
            },
            {
                "group_set": "those of enough people",
                "fdr": {
                    "value": 0.9975,
                    "low": 0.9951,
                    "high": 0.9987,
                    "floor_95": 0.9989,
                    "p": 0.000999,
                },
                "nrb": {
                    "value": 0.6663,
                    "low": 0.4419,
                    "high": 1.005,
                    "floor_95": 0.3689,
                    "p": 0.002997,
                },
            },
        ]
    },
    "ratios_recommended": {
        "points": [
            {"fpr": 0.001, "fdr": 0.1109, "nrb": 0.0969},
            {"fpr": 0.1, "fdr": 0.1119, "nrb": 0.008991},
        ]
    },
    "costs_of_challenges": {
        "system": "ResNetSE34V2",
        "lowest": {"cost": 0.1234, "challenge": "Short Duration SVC (SRE08)"},
        "highest": {"cost": 0.279, "challenge": "NIST SRE 2019, telephone"},
        "n_changed": 3,
        "groups": 18,
        "changed": ["germany_f", "italy_f", "australia_m"],
        "significant": [],
    },
    "women_are_fewer": {"women": 526, "men": 664, "utterances": [107.9, 122.3]},
    "groups_with_higher_costs": {
        "printed_worse": 10,
        "printed_better": 8,
        "worse": [],
        "better": ["usa_m"],
    },
    "own_thresholds_help_women": {"means": [1.362, 1.285]},
    "fpr_of_indian_women": {
        "fpr": {
            "value": 5.116,
            "low": 1.482,
            "high": 32.02,
            "floor_95": 11.53,
            "p": 0.007793,
            "p_holm": 0.1247,
        }
    },
    "fnr_of_indian_women": {
        "fnr": {
            "value": 1.321,
            "low": 0.7093,
            "high": 2.672,
            "floor_95": 1.939,
            "p": 0.3692,
            "p_holm": 1.0,
        }
    },
    "rates_of_american_men": {
        "fpr": {
            "value": 0.3924,
            "low": 0.2818,
            "high": 0.5461,
            "floor_95": 1.196,
            "p": 6.341e-07,
            "p_holm": 1.141e-05,
        },
        "fnr": {
            "value": 1.055,
            "low": 0.9696,
            "high": 1.144,
            "floor_95": 1.087,
            "p": 0.2059,
            "p_holm": 1.0,
        },
    },
    "fit_to_american_speakers": {
        "bias": {
            "value": 0.8733,
            "low": 0.8079,
            "high": 0.944,
            "floor_95": None,
            "p": 0.0006709,
            "p_holm": 0.00738,
        },
        "nationalities": 11,
        "share": 64.67,
        "better": ["USA"],
    },
    "rates_differ_by_group": {
        "rates": [
            {
                "metric": "FPR",
                "lowest": 0.0,
                "highest": 1.382,
                "gini": {
                    "value": 0.4299,
                    "low": 0.3267,
                    "high": 0.5658,
                    "floor_95": 0.2737,
                    "p": 0.000999,
                },
            },
            {
                "metric": "FNR",
                "lowest": 5.44,
                "highest": 27.6,
                "gini": {
                    "value": 0.2664,
                    "low": 0.2001,
                    "high": 0.3547,
                    "floor_95": 0.1875,
                    "p": 0.000999,
                },
            },
        ]
    },
    "bias_of_men_near_1": {"norway_m": 2.572, "above": [4, 4], "groups": 9, "significant": []},
    "bias_of_americans_is_equal": {
        "differences": [
            {"group": "usa_m", "difference": 0.0037, "low": -0.05207, "high": 0.05947},
            {"group": "usa_f", "difference": -0.07431, "low": -0.1535, "high": 0.004906},
        ]
    },
    "neither_system_is_fairer": {
        "lower": [7, 11],
        "differing": [],
        "nrb": {"difference": 0.008426, "low": -0.1687, "high": 0.09996},
    },
    "rates_at_printed_score": {
        "fpr": {"value": 0.2701, "low": 0.2213, "high": 0.337},
        "fnr": {"value": 10.36, "low": 9.682, "high": 11.11},
    },
    "rates_differ_by_nationality": {
        "rates": [
            {
                "metric": "FPR",
                "lowest": 0.0,
                "highest": 1.097,
                "gini": {
                    "value": 0.4335,
                    "low": 0.2897,
                    "high": 0.6486,
                    "floor_95": 0.2915,
                    "p": 0.000999,
                },
            },
            {
                "metric": "FNR",
                "lowest": 6.957,
                "highest": 25.74,
                "gini": {
                    "value": 0.2488,
                    "low": 0.1687,
                    "high": 0.367,
                    "floor_95": 0.1698,
                    "p": 0.001998,
                },
            },
        ],
        "worse": ["Norway"],
        "better": ["USA"],
    },
    "curves_of_women_and_men": {
        "change": "wider",
        "nationalities": ["UK", "USA", "Ireland"],
        "changes": [
            {
                "nationality": "UK",
                "ratios": [1.167, 1.356],
                "wider": {"value": 0.1503, "low": -0.03323, "high": 0.3338},
            },
            {
                "nationality": "USA",
                "ratios": [1.068, 1.206],
                "wider": {"value": 0.1211, "low": 0.03514, "high": 0.2071},
            },
            {
                "nationality": "Ireland",
                "ratios": [0.6187, 0.3975],
                "wider": {"value": 0.4426, "low": None, "high": None},
            },
        ],
    },
    "indian_women_at_any_threshold": {
        "above": 41,
        "fprs": 41,
        "eer": {
            "value": 2.342,
            "low": 1.136,
            "high": 4.828,
            "floor_95": None,
            "p": 0.02557,
            "p_holm": 0.358,
        },
    },
    "british_and_american_women": {
        "usa_f": 0.9224,
        "groups": [{"group": "uk_f", "above": 3}, {"group": "usa_f", "above": 0}],
    },
    "threshold_keeps_american_fnr": {
        "groups": [
            {"group": "usa_f", "fpr": [0.2177, 0.3227], "fnr": [10.16, 7.968]},
            {"group": "usa_m", "fpr": [0.106, 0.2774], "fnr": [10.94, 6.843]},
        ]
    },
    "own_threshold_is_closer": {"groups": 6, "not_closer": ["india_f", "usa_f", "usa_m"]},
    "skewed_to_american_men": {
        "speakers": 1251,
        "men": 55.16,
        "usa": 63.87,
        "small": 24,
        "nationalities": 36,
    },
    "curves_of_women_above": {"above": 7, "nationalities": 9, "worse": []},
    "curves_of_men_below": {"below": 4, "nationalities": 9, "better": ["usa_m"]},
    "other_women_have_higher_costs": {"printed_below": ["ireland_f", "usa_f"]},
    "own_thresholds_help_everybody": {
        "tested": 12,
        "groups": 18,
        "without_gain": 10,
        "above": ["uk_f"],
        "below": ["australia_m"],
        "significant": [],
    },
    "women_differ_in_every_subgroup": {
        "nationalities": 7,
        "n_by_eer": 4,
        "by_eer": ["canada", "india", "uk", "usa"],
        "n_by_cost": 5,
        "significant": [],
        "printed_lower": ["ireland", "norway"],
    },
    "women_and_non_americans_affected": {
        "cost": {
            "value": 1.22,
            "low": 1.031,
            "high": 1.445,
            "floor_95": None,
            "p": 0.02093,
            "p_holm": 0.02093,
        },
        "fpr": {
            "value": 1.969,
            "low": 1.306,
            "high": 3.0,
            "floor_95": 1.461,
            "p": 0.002504,
            "p_holm": 0.002504,
        },
        "fnr": {
            "value": 0.9596,
            "low": 0.8302,
            "high": 1.112,
            "floor_95": 1.137,
            "p": 0.5737,
            "p_holm": 0.5737,
        },
        "elsewhere": {"value": 1.411, "low": 1.178, "high": 1.69, "p_holm": 0.002242},
        "eer": {
            "value": 1.067,
            "low": 0.9725,
            "high": 1.172,
            "floor_95": None,
            "p": 0.1694,
            "p_holm": 0.1997,
        },
        "worse": ["Norway"],
    },
    "trivial_pairs_are_easier": {
        "ratio": {
            "value": 48.94,
            "low": 33.58,
            "high": 71.33,
            "floor_95": None,
            "p": 1.113e-78,
            "p_holm": 2.226e-78,
        }
    },
    "pairs_of_voxceleb1_h": {
        "agreeing": 11,
        "nationalities": 11,
        "pairs_differ": ["USA", "UK", "Canada", "India", "New Zealand", "Italy"],
        "printed_pairs": 275452,
        "pairs": 275488,
        "shares_differ": [
            "USA",
            "Canada",
            "India",
            "Australia",
            "Ireland",
            "Norway",
            "New Zealand",
            "Germany",
            "Mexico",
            "Italy",
        ],
    },
    "trivial_shares_differ": {"lowest": 8.761, "highest": 18.07},
    "fnr_at_fpr_of_1_percent": {"fnr": {"value": 4.749, "low": 4.026, "high": 5.671}},
    "medium_pairs_triple_fnr": {"fnr": {"value": 5.376, "low": 4.599, "high": 6.351}},
    "curves_differ_least_in_middle": {"smaller": 6, "cases": 9},
    "worst_of_five_lists": {"range": 24.5, "sd_over_speakers": 21.58},
    "more_pairs_are_more_robust": {
        "ranges": [
            {"group": "Canada", "at_50": 24.5, "at_75": 19.6},
            {"group": "India", "at_50": 24.91, "at_75": 36.36},
            {"group": "UK", "at_50": 7.99, "at_75": 6.639},
        ]
    },
    "spread_by_nationality": {
        "pairs_per_speaker": ["25", "50", "75"],
        "smallest": ["UK", "UK", "UK"],
        "largest": ["Canada", "India", "India"],
    },
    "algorithm_gives_equal_counts": {
        "listed": 'trials_for_each_speaker{"enrolled": [983, 1000], "tested": [620, 1816]}',
        "inclusive": 'trials_for_each_speaker{"enrolled": [1000, 1000], "tested": [1000, 1000]}',
    },
    "pairs_are_unequal": {
        "g3": 'trials_for_each_speaker{"enrolled": [125, 1040], "tested": [129, 1071]}',
        "g4": 'shares_of_grades_differ{"off": 947, "speakers": 1190, "gap": 0.02, "trials": "target", "grade": 3, "speaker_share": 0.36153846153846153, "list_share": 0.8810184109652689}',  # noqa: E501 - facts of a check, as one text
        "failed": ["G1", "G2", "G3", "G4", "G5"],
        "failed_as_listed": ["G1", "G2", "G3"],
        "failed_inclusive": [],
    },
    "criterion_of_scale": {
        "ratios": [
            {"measure": "FDR", "least": 2.631, "most": 5.451},
            {"measure": "IR", "least": 1.501, "most": 3.155},
            {"measure": "GARBE", "least": 1.871, "most": 3.483},
        ]
    },
    "criterion_of_bounds": {"ir": 57.36},
    "criterion_without_errors": {
        "shares": [
            {"measure": "FDR", "share": 100.0},
            {"measure": "IR", "share": 9.091},
            {"measure": "GARBE", "share": 100.0},
        ]
    },
    "fdr_near_1_at_low_fpr": {
        "ranges": [
            {"speakers": "nine nationalities", "lowest": 0.8695, "highest": 0.995},
            {"speakers": "63 speakers", "lowest": 0.8374, "highest": 0.9964},
        ],
        "medians": [
            {"speakers": "nine nationalities", "fpd": 0.005321, "fnd": 0.1212},
            {"speakers": "63 speakers", "fpd": 0.005455, "fnd": 0.1563},
        ],
    },
    "fdr_near_1": {
        "ranges": [
            {"speakers": "nine nationalities", "lowest": 0.8012, "highest": 0.995},
            {"speakers": "63 speakers", "lowest": 0.8105, "highest": 0.9964},
        ]
    },
    "terms_change_places": {
        "fpr": 0.9,
        "lower": "FND",
        "upper": "FPD",
        "same_order": 4,
        "cases": 4,
        "crossings": [
            {"system": "ResNetSE34V2, nine nationalities", "fprs": [1.874]},
            {"system": "ResNetSE34L, nine nationalities", "fprs": [4.132]},
            {"system": "ResNetSE34V2, 63 speakers", "fprs": [2.848]},
            {"system": "ResNetSE34L, 63 speakers", "fprs": [5.214]},
        ],
    },
    "garbe_spans_more": {
        "ranges": [
            {"speakers": "nine nationalities", "lowest": 0.07964, "highest": 0.783},
            {"speakers": "63 speakers", "lowest": 0.1148, "highest": 0.9824},
        ],
        "fdr_ranges": [
            {"speakers": "nine nationalities", "lowest": 0.8695, "highest": 0.995},
            {"speakers": "63 speakers", "lowest": 0.8374, "highest": 0.9964},
        ],
    },
    "garbe_terms_are_comparable": {
        "medians": [
            {"speakers": "nine nationalities", "fpd": 0.7163, "fnd": 0.1104},
            {"speakers": "63 speakers", "fpd": 0.9215, "fnd": 0.1679},
        ],
        "ratios": [6.489, 5.49],
    },
    "garbe_spans_all": {
        "ranges": [
            {"speakers": "nine nationalities", "lowest": 0.07964, "highest": 0.783},
            {"speakers": "63 speakers", "lowest": 0.1148, "highest": 0.9824},
        ],
        "medians": [
            {"speakers": "nine nationalities", "fpd": 0.4888, "fnd": 0.2035},
            {"speakers": "63 speakers", "fpd": 0.658, "fnd": 0.2574},
        ],
    },
    "few_values_of_ir": {
        "shares": [
            {"speakers": "nine nationalities", "share": 68.5},
            {"speakers": "63 speakers", "share": 28.0},
        ]
    },
    "ir_reaches_200": {
        "ranges": [
            {"speakers": "nine nationalities", "lowest": 1.444, "highest": 57.36},
            {"speakers": "63 speakers", "lowest": 1.862, "highest": 24.31},
        ]
    },
    "smaller_system_has_lower_garbe": {
        "lower": [
            {"speakers": "nine nationalities", "lower": 75, "fprs": 100, "above": 0.3054},
            {"speakers": "63 speakers", "lower": 100, "fprs": 100, "above": None},
        ],
        "differences": [
            {
                "operating_point": "fpr=0.001",
                "difference": {"value": -0.03589, "low": -0.2045, "high": 0.06301, "p": None},
            },
            {
                "operating_point": "eer",
                "difference": {"value": 0.04867, "low": -0.03659, "high": 0.1173, "p": None},
            },
        ],
    },
    "smaller_system_is_less_accurate": {
        "differences": [
            {
                "speakers": "nine nationalities",
                "difference": {"value": -1.913, "low": -2.069, "high": -1.757},
            },
            {
                "speakers": "63 speakers",
                "difference": {"value": -2.198, "low": -3.203, "high": -1.192},
            },
        ]
    },
    "nationalities_differ_consistently": {
        "metric": "FPR",
        "paper_metric": "FMR",
        "correlation": {"value": 0.5441, "low": 0.05145, "high": 0.8832, "p_holm": 0.0009995},
        "least": 0.0339,
        "most": 0.8333,
        "p": 0.0009995,
        "systems": [
            {
                "system": "ResNetSE34V2",
                "correlation": {"value": 0.85, "low": 0.3445, "high": 1.0, "p_holm": 0.004498},
            },
            {
                "system": "ResNetSE34L",
                "correlation": {"value": 0.8333, "low": 0.2174, "high": 1.0, "p_holm": 0.002499},
            },
        ],
    },
    "ir_computable_for_one": {"computable": []},
    "fairness_costs_accuracy": {
        "fairest": "ResNetSE34L",
        "least_fair_by_fdr": "ResNetSE34L",
        "fair_garbe": [0.2622, 0.3213],
        "excess": [
            {"system": "ERes2Net", "garbe": 0.1166},
            {"system": "CAM++", "garbe": 0.1221},
            {"system": "ECAPA", "garbe": 0.1356},
            {"system": "ResNetSE34V2", "garbe": 0.2204},
            {"system": "ResNetSE34L", "garbe": 0.1063},
        ],
        "n_unfair": 5,
        "systems": 5,
        "unfair_if_more": ["ResNetSE34V2"],
    },
}
"""Values by the code of the claim."""
