"""Intervals of what is made of many rates: means over groups, spread beyond noise, areas."""

import numpy as np
import pytest

import parivox as pv
from parivox.auditing.bias import means_over_groups

KEY = ("allocation", "metric", "definition", "operating_point", "reference", "zero")


@pytest.fixture(scope="module")
def audit(simulate):
    trials, people = simulate(speakers=48, utterances=4)
    people = {**people, "half": ["one" if i % 2 else "two" for i in range(len(people["id"]))]}
    return pv.audit(
        trials,
        speakers=people,
        by=["nation", "nation+half"],
        operating_points=["fpr=0.1", "eer"],
        replicates=200,
        gates=["speakers=5", "pairs=10", "errors=0"],
        reference=["others", "macro"],
    )


def of_means(audit, measure):
    return [r for r in audit.bias.subset(measure=f"mean_{measure}") if r["low"] is not None]


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["ratio", "difference", "neg_log_ratio", "threshold_bias"])
def test_means_have_intervals_that_hold_them(audit, measure):
    rows = of_means(audit, measure)
    assert rows
    for row in rows:
        assert row["low"] <= row["value"] <= row["high"]
        assert (row["p"] is None) == (measure == "threshold_bias")
        if row["p"] is not None:
            assert 0 <= row["p"] <= row["p_bh"] <= row["p_holm"] <= 1


@pytest.mark.slow
def test_the_mean_of_one_group_is_as_sure_as_the_group(simulate):
    trials, people = simulate(speakers=48, utterances=4)
    alone = {**people, "twin": people["nation"]}  # each value has one group only
    bias = pv.audit(
        trials,
        speakers=alone,
        by="nation+twin",
        operating_points="eer",
        replicates=100,
        reference="macro",
        zero="none",
    ).bias
    group_rows = {
        (r["group"].split("+")[0], r["measure"], *(r[k] for k in KEY)): r for r in bias.subset()
    }
    n = 0
    for row in bias.subset():
        measure = row["measure"].removeprefix("mean_")
        if measure == row["measure"] or row["low"] is None:
            continue
        plain = group_rows[row["group"].split("=")[1], measure, *(row[k] for k in KEY)]
        assert row["value"] == pytest.approx(plain["value"])
        names = ("low", "high", "floor_mean", "floor_95")
        assert [row[k] for k in names] == pytest.approx([plain[k] for k in names], nan_ok=True)
        n += 1
    assert n > 50


def test_a_mean_lacks_what_one_of_its_groups_lacks():
    masks = [np.array([True, True, False]), np.array([False, False, True])]
    like = np.array([[1.0, 2.0, 4.0], [1.0, np.nan, 4.0]])
    drawn = np.array([like, [[np.nan, 1.0, 1.0], [3.0, 7.0, np.inf]]])
    means = means_over_groups(drawn, masks, defined_like=like)
    assert means.tolist()[0] == [[1.5, 4.0], [1.0, 4.0]]
    assert np.isnan(means[1, 0, 0])
    assert means[1, 0, 1] == 1.0
    assert means[1, 1].tolist() == [3.0, np.inf]


@pytest.mark.slow
def test_spread_beyond_noise_has_an_interval(audit):
    for measure in ("tau_log", "var_corrected", "var_double_corrected"):
        rows = [r for r in audit.meta.subset(measure=measure) if r["value"] is not None]
        assert rows
        for row in rows:
            assert row["low"] <= row["value"] <= row["high"]
            assert row["low"] < row["high"]
            if measure == "tau_log" and row["p"] > 0.05:
                assert row["low"] == 0


def test_the_area_under_fdr_has_an_interval_of_the_groups_that_it_is_of(audit):
    rows = list(audit.meta.subset(measure="au_fdr"))
    assert {row["gated"] for row in rows} == {True, False}
    for row in rows:
        assert 0 <= row["low"] < row["value"] < row["high"] <= 1
        assert (row["floor_mean"], row["p"]) == (None, None)  # no valid draws of whole curves


@pytest.mark.slow
def test_speakers_that_were_not_drawn_leave_less_to_tell(simulate):
    """Half the speakers make the interval of an area wider."""
    widths = []
    for speakers in (96, 24):
        trials, people = simulate(speakers=speakers, utterances=4)
        measures = pv.audit(
            trials, speakers=people, by="nation", replicates=200, operating_points="eer"
        ).meta
        row = next(iter(measures.subset(measure="au_fdr", gated=False)))
        widths.append(row["high"] - row["low"])
    assert widths[0] < widths[1]


@pytest.mark.slow
def test_what_has_no_interval_says_why(audit):
    for table in (audit.bias, audit.meta):
        for row in table.subset():
            has_value = row["value"] is not None and row["reason"] == ""
            if (
                has_value
                and row["high"] is None
                and row.get("measure") not in {"trend", "heterogeneity", "interaction"}
            ):
                assert row["note"].startswith("no_interval"), row
            if row["high"] is not None:
                assert row["note"] == ""


@pytest.mark.slow
def test_own_thresholds_of_others_may_be_worse_to_either_side(simulate):
    trials, people = simulate(speakers=96, utterances=6)
    bias = pv.audit(
        trials, speakers=people, by="nation", operating_points="eer", replicates=200
    ).bias
    rows = bias.subset(measure="threshold_bias_cv").rows()
    plain = {r["group"]: r for r in bias.subset(measure="threshold_bias").rows()}
    assert any(row["low"] < 1 for row in rows)
    for row in rows:
        below, above = row["value"] / row["low"], row["high"] / row["value"]
        assert below == pytest.approx(above)  # one logarithmic scale, nothing cut off
        assert above == pytest.approx(
            plain[row["group"]]["high"] / plain[row["group"]]["value"], rel=1e-6
        )
