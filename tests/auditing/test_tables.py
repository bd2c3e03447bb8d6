"""Every table of an audit: its columns, its key, and what its cells may hold."""

import itertools
import math

import pytest

from parivox.report.definitions import definitions as definitions_of

GROUPS = (
    "system list grouping group allocation metric definition operating_point value errors trials "
    "target_trials nontarget_trials speakers threshold reason"
)
BIAS = (
    "system list grouping group allocation metric definition operating_point measure reference "
    "zero value reason"
)
META = (
    "system list grouping allocation metric definition operating_point measure alpha zero value "
    "low_group high_group groups higher_is_fairer reason"
)
MATRIX = "system list grouping operating_point enrol_group test_group errors trials value reason"
POINTS = "system list operating_point definition threshold source fpr fnr cdet_norm"
DET = "system list grouping group threshold fpr fnr"
PROMISED = {
    "groups": GROUPS,
    "bias": BIAS,
    "meta": META,
    "matrix": MATRIX,
    "operating_points": POINTS,
    "det": DET,
}
NO_KEY = {
    "value",
    "errors",
    "trials",
    "target_trials",
    "nontarget_trials",
    "speakers",
    "threshold",
    "low_group",
    "high_group",
    "groups",
    "higher_is_fairer",
    "reason",
    "fpr",
    "fnr",
    "cdet_norm",
    "source",
    "count",
    "note",
    "values",
    "low",
    "high",
    "interval",
    "deff",
    "n_eff",
    "df",
    "se",
    "p",
    "p_holm",
    "p_bh",
    "floor_mean",
    "floor_95",
    "best_guess",
    "best_guess_low",
    "best_guess_high",
    "left_out",
}
METRICS = {
    "fpr",
    "fnr",
    "cdet_raw",
    "cdet_norm",
    "act_cdet_norm",
    "min_cdet_norm",
    "min_cdet_raw",
    "eer",
    "hter",
    "fnr_at_fpr",
    "fpr_at_fnr",
    "auc",
    "dprime",
    "cllr",
    "min_cllr",
    "cal_loss",
    "shift_target",
    "shift_nontarget",
}
META_MEASURES = {
    "fdr",
    "fdr_fpd",
    "fdr_fnd",
    "ir",
    "ir_fpd",
    "ir_fnd",
    "garbe",
    "gini",
    "nrb",
    "rb",
    "max_min",
    "min_max",
    "max_geomean",
    "max_mean",
    "sd",
    "cv",
    "eo_diff",
    "eo_ratio",
    "au_fdr",
    "heterogeneity",
    "tau_log",
    "interaction",
    "var_corrected",
    "var_double_corrected",
}
SURE = {
    "groups": (
        "low high interval deff n_eff df se note best_guess best_guess_low best_guess_high values"
    ),
    "bias": "low high p p_holm p_bh floor_mean floor_95 note values",
    "meta": "low high floor_mean floor_95 p gated note left_out values",
    "matrix": "values",
}
"""How sure each value is."""


@pytest.mark.parametrize("name", PROMISED)
def test_columns_stand_in_the_promised_order(whole, name):
    expected = tuple(PROMISED[name].split())
    assert whole.tables()[name].columns[: len(expected)] == expected


@pytest.mark.parametrize("name", SURE)
def test_the_level_stands_last_but_for_how_sure_each_value_is(whole, name):
    expected = (*PROMISED[name].split(), "within", *SURE[name].split())
    assert whole.tables()[name].columns == expected


@pytest.mark.parametrize(
    "name", ["groups", "bias", "meta", "matrix", "operating_points", "det", "sweep", "data"]
)
def test_keys_are_unique(whole, small, name):
    for audit in (whole, small):
        table = audit.tables()[name].to_polars()
        free = NO_KEY - {"threshold"} if name == "det" else NO_KEY
        if name == "data":
            free = free - {"source", "values"}  # an item is its code with its values
        key = [column for column in table.columns if column not in free]
        assert table.height
        assert table.select(key).is_duplicated().sum() == 0


def test_every_id_is_there(whole):
    assert set(whole.groups.to_polars()["metric"]) == {*METRICS, "half", "best"}
    assert set(whole.meta.to_polars()["measure"]) == META_MEASURES
    measures = {"difference", "ratio", "neg_log_ratio", "subgroup_bias", "threshold_bias"}
    measures.add("threshold_bias_cv")
    means = {f"mean_{measure}" for measure in measures}
    assert set(whole.bias.to_polars()["measure"]) == measures | means


def test_ids_are_defined_in_the_record(whole):
    definitions = definitions_of(whole)
    assert set(definitions["base_metrics"]) >= METRICS
    assert set(definitions["meta_measures"]) == META_MEASURES
    measures = {*whole.bias.to_polars()["measure"], "trend"}  # which takes an attribute in numbers
    assert set(definitions["bias_measures"]) == measures
    assert set(definitions["cost_models"]) == {"voxsrc", "sre08", "sre16", "0.2,1,5"}


@pytest.mark.parametrize("name", ["groups", "bias", "meta", "matrix"])
def test_what_is_undefined_has_a_reason(whole, small, name):
    for audit in (whole, small):
        for row in audit.tables()[name]:
            undefined = row["value"] is None or math.isinf(row["value"])
            assert not (undefined and not row["reason"]), row


def test_rates_are_their_errors_over_their_trials(whole):
    for row in whole.groups:
        if row["metric"] in {"fpr", "fnr"} and "bt4vt" not in row["definition"]:
            n = row["nontarget_trials" if row["metric"] == "fpr" else "target_trials"]
            assert row["trials"] == n
            assert row["value"] == row["errors"] / n


def test_joint_measures_leave_the_witnesses_to_their_terms(whole):
    joint = {"fdr", "ir", "garbe", "eo_diff", "eo_ratio", "au_fdr"}
    for row in whole.meta:
        assert (row["metric"] == "fpr+fnr") == (row["measure"] in joint), row
        if row["measure"] in joint:
            assert row["low_group"] == row["high_group"] == ""
        elif row["measure"] in {"max_min", "min_max", "fdr_fpd", "fdr_fnd"} and not row["reason"]:
            assert row["low_group"] != ""
            assert row["high_group"] != ""


def test_alpha_is_told_where_it_counts(whole):
    weights = {0.0, 0.25, 0.5, 0.75, 1.0}
    for measure in META_MEASURES:
        alphas = {row["alpha"] for row in whole.meta.subset(measure=measure)}
        assert alphas == (weights if measure in {"fdr", "ir", "garbe", "au_fdr"} else {None})


def test_directions(whole):
    fairer = {row["measure"] for row in whole.meta if row["higher_is_fairer"]}
    assert fairer == {"fdr", "min_max", "eo_ratio", "au_fdr"}


def test_every_grouping_has_its_pooled_row_and_one_row_holds_all(whole):
    table = whole.groups.subset(system="T", metric="fpr", definition="").to_polars()
    occurring = set(table.select("grouping", "group", "allocation").rows())
    rules = ("both", "enrol", "test", "either")
    groups = {
        "gender": {"f", "m"},
        "nation": {"India", "Norway", "USA"},
        "gender+nation": {f"{g}+{n}" for g in "fm" for n in ("India", "Norway", "USA")},
    }
    expected = set()
    for grouping, names in groups.items():
        expected |= {(grouping, *cell) for cell in itertools.product([*names, "pooled"], rules)}
    assert occurring == {*expected, ("all", "all", "")}


def test_tables_go_into_other_libraries(small, optional):
    pa = optional("pyarrow")
    assert pa.table(small.groups).column_names == list(small.groups.columns)
    optional("pandas")
    assert list(small.bias.to_pandas().columns) == list(small.bias.columns)
    assert small.meta.to_polars().height == len(small.meta)


def test_numbers_stay_plain_in_other_libraries(small, optional):
    optional("pandas")
    frame = small.groups.to_pandas()
    missing = [row["value"] is None for row in small.groups]
    assert frame["value"].isna().tolist() == missing
    assert any(missing)
