"""Cells that engineers wrote first, from the README alone: what each shows or says.

Those of the first engineer all failed with release 0.2.0. Of the second one, who knows fairlearn,
scikit-learn and pandas, these failed at first: `audit.ratios("eer")` was empty without a word; a
table sent nobody to `to_pandas`; `make_scorer` refused functions; a cost by name was refused
without a way to make one; speakers as a mapping by id were refused; `metrics.value("eer")` asked
for a definition.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import parivox as pv

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
N_SPEAKERS = 24


@pytest.fixture(scope="module")
def trials():
    draw = np.random.default_rng(4)
    speaker = np.repeat(np.arange(N_SPEAKERS), 3)
    enrol, test = np.triu_indices(speaker.size, 1)
    is_target = speaker[enrol] == speaker[test]
    names = np.array([f"s{number:02}/{i % 3}" for i, number in enumerate(speaker)])
    score = draw.normal(2.5 * is_target, 1).round(3)
    columns = {"enrol": names[enrol], "test": names[test], "score": score}
    return pd.DataFrame({**columns, "label": is_target.astype(int)})


@pytest.fixture(scope="module")
def people():
    ids = [f"s{number:02}" for number in range(N_SPEAKERS)]
    return pd.DataFrame({"speaker": ids, "gender": ["f", "m"] * (N_SPEAKERS // 2)})


@pytest.fixture(scope="module")
def audit(trials, people):
    return pv.audit(trials, people, by="gender", operating_points="fpr=0.1")


# --- the engineer of the first trial of release 0.2.0


def test_1_two_dataframes_go_in_by_position(audit):
    assert isinstance(audit, pv.Audit)


def test_2_a_metric_is_no_column_and_the_way_to_its_rows_is_said(audit):
    with pytest.raises(pv.ConfigError, match=r"it is a metric: write \.filter\(metric='fnr'\)"):
        audit.groups["fnr"]
    assert {*audit.groups.filter(metric="fnr")["metric"]} == {"fnr"}


def test_3_an_unknown_metric_is_refused_with_the_nearest(audit):
    with pytest.raises(
        pv.ConfigError, match="metric='frr': no row has this value; did you mean 'fpr' or"
    ):
        audit.groups.filter(metric="frr")


def test_4_an_unknown_column_is_refused_with_the_nearest(audit):
    with pytest.raises(pv.ConfigError, match="no column 'metrics'; did you mean 'metric'"):
        audit.groups.filter(metrics="fnr")


def test_5_an_unknown_attribute_names_the_argument(trials, people):
    with pytest.raises(pv.ConfigError, match=r"^by: unknown attribute 'gendr'"):
        pv.audit(trials, people, by="gendr")


def test_6_a_missing_column_names_the_argument(trials, people):
    with pytest.raises(pv.DataError, match=r"columns=\{'enrol': \.\.\.\}"):
        pv.audit(trials[["test", "score", "label"]], people)


def test_7_an_audit_is_printed_as_its_summary(audit):
    assert str(audit).startswith("2,556 trials, 24 speakers, 1 system (scores).")
    assert repr(audit) == "<Audit of scores by gender: 2,556 trials>"


def test_8_a_gate_gives_junit_and_markdown(audit):
    condition = {"name": "FNR", "rate": "fnr", "at-most": "90%"}
    gate = pv.gate(audit, {"parivox-policy": 1, "conditions": [condition]})
    assert "<testsuite" in gate.to_junit()
    assert "## Gate: pass" in gate.to_markdown()


def test_9_the_ratio_of_each_group_is_one_row(audit):
    ratios = audit.ratios()
    assert list(zip(ratios["group"], ratios["metric"], strict=True)) == [
        ("f", "fnr"),
        ("f", "fpr"),
        ("m", "fnr"),
        ("m", "fpr"),
    ]
    assert {"ratio", "low", "high", "p_holm", "verdict"} <= {*ratios.columns}


def test_10_arrays_without_ids_go_to_metrics(trials, people):
    with pytest.raises(pv.DataError, match=r"without ids to pv\.metrics\(scores, labels, groups\)"):
        pv.audit(trials.score.to_numpy(), people, by="gender")
    metrics = pv.metrics(trials.score.to_numpy(), trials.label.to_numpy())
    assert metrics.value("eer") == pytest.approx(float(pv.eer(trials.score, trials.label)))
    assert "No intervals, because the speakers are unknown" in str(metrics)


# --- a fresh engineer, who knows fairlearn, scikit-learn and pandas


def test_11_rates_are_pivoted_in_pandas(audit):
    table = audit.rates().to_pandas().pivot_table("rate", "group", "metric")
    assert list(table.index) == ["f", "m"]
    assert list(table.columns) == ["fnr", "fpr"]


def test_12_any_library_makes_its_dataframe_of_a_table(audit):
    ratios = audit.ratios()
    assert tuple(pl.DataFrame(ratios).columns) == tuple(pd.DataFrame(ratios)) == ratios.columns


def test_13_a_table_says_where_methods_of_dataframes_are(audit):
    with pytest.raises(AttributeError, match=r"write \.to_pandas\(\)\.sort_values or \.to_polars"):
        audit.ratios().sort_values("ratio")
    with pytest.raises(AttributeError, match=r"write \['ratio'\]"):
        _ = audit.ratios().ratio
    assert not hasattr(audit.ratios(), "head")


def test_14_a_metric_without_operating_point_is_no_empty_table(audit):
    for question in (audit.rates, audit.ratios):
        with pytest.raises(
            pv.ConfigError, match=r"^metric='eer' is not measured at an operating point"
        ):
            question("eer")
    assert len(audit.groups.filter(metric="eer", group="f")) == 1


def test_15_labels_before_scores_are_noticed(trials):
    with pytest.raises(pv.DataError, match="scores come before labels"):
        pv.eer(trials.label, trials.score)
    assert pv.sklearn.eer(trials.label, trials.score) == pv.eer(trials.score, trials.label)


def test_16_a_scorer_is_made_of_a_function(trials, optional):
    optional("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    scorer = pv.sklearn.make_scorer(pv.sklearn.eer)
    figures = cross_val_score(
        LogisticRegression(), trials[["score"]], trials.label, scoring=scorer, cv=3
    )
    assert ((figures > -0.5) & (figures < 0)).all()


def test_17_a_cost_by_name_says_what_makes_one(trials):
    with pytest.raises(pv.ConfigError, match=r"cost is 'sre08'; .* pv\.parse_cost\('sre08'\)"):
        pv.min_cdet(trials.score, trials.label, cost="sre08")
    cost = pv.parse_cost("sre08")
    assert pv.min_cdet(trials.score, trials.label, cost=cost).value <= 1


@pytest.mark.slow
def test_18_speakers_are_a_mapping(trials, people, audit):
    mapping = {row.speaker: {"gender": row.gender} for row in people.itertuples()}
    again = pv.audit(trials, mapping, by="gender", operating_points="fpr=0.1")
    assert again.to_json() == audit.to_json()


def test_19_arguments_of_fairlearn_are_refused_by_name(trials, people):
    with pytest.raises(pv.ConfigError, match=r"^sensitive_features= is not an option"):
        pv.audit(trials, people, sensitive_features=people.gender)
    with pytest.raises(TypeError, match="positional argument"):
        pv.audit(trials, people, "gender")


def test_20_a_gate_without_its_file_is_one_sentence(audit):
    with pytest.raises(pv.DataError, match=r"^policy\.yaml: file not found; check the path$"):
        pv.gate(audit, "policy.yaml")
