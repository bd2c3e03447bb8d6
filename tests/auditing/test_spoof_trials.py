"""Spoof trials through an audit, from tables to verdicts, against vectors worked out apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.core.costs import parse_cost
from parivox.core.verdict import holm
from parivox.errors import ConfigError, DataError
from parivox.report import overview

VECTORS = json.loads((Path(__file__).parents[1] / "vectors_spoof.json").read_text(encoding="utf-8"))
LIST = VECTORS["data_A"]
COLUMNS = ("enrol", "test", "enrol_speaker", "test_speaker", "label", "attack", "score")
PEOPLE = {
    "id": list(LIST["speakers"]),
    "group": [group or "" for group in LIST["speakers"].values()],
}


def expected(name):
    return VECTORS[name]["expected"]


def columns(trials):
    return {name: [trial[name] for trial in trials] for name in COLUMNS}


def audited(trials=LIST["trials"], **options):
    options = {
        "speakers": PEOPLE,
        "by": "group",
        "operating_points": ("sfar=0.2",),
        "replicates": 50,
        "gates": ("speakers=2", "errors=1", "pairs=1"),
        **options,
    }
    return pv.audit(columns(trials), **options)


@pytest.fixture(scope="module")
def audit():
    return audited(cost=("adcf1",))


def rates(audit, metric, **filters):
    rows = audit.groups.subset(metric=metric, definition="", operating_point="sfar=0.2", **filters)
    return {row["group"]: row for row in rows.rows()}


@pytest.mark.slow
@pytest.mark.parametrize("allocation", ["both", "enrol", "either"])
def test_rates_of_groups_are_those_of_claimed_speakers_under_every_allocation(allocation):
    audit, vector = audited(allocate=(allocation,)), expected("S5.1_groups_at_common_threshold")
    point = audit.operating_points.rows()[0]
    assert point["threshold"] == vector["threshold_sfar_0.2_on_all_trials"]
    for metric, trial_class in (("fnr", "target"), ("fpr", "nontarget"), ("sfar", "spoof")):
        (all_row,) = rates(audit, metric, grouping="all").values()
        assert all_row["value"] == pytest.approx(vector["all"][metric], abs=1e-12)
        assert all_row["trials"] == vector["n_all"][trial_class]
        found = rates(audit, metric, grouping="group")
        for group, numbers in vector[allocation].items():
            if group == "n":  # of whom there is no trial
                continue
            assert found[group]["trials"] == numbers[f"n_{trial_class}"], (group, metric)
            if numbers[metric] is None:
                assert found[group]["value"] is None
                assert found[group]["reason"] == f"no_{trial_class}_trials"
            else:
                assert found[group]["value"] == pytest.approx(numbers[metric], abs=1e-12)


def test_ratios_of_the_third_rate_are_formed_like_those_of_the_other_two(audit):
    for group, by_metric in expected("S5.2_ratios").items():
        for metric, numbers in by_metric.items():
            for reference in ("others", "pooled"):
                (row,) = audit.bias.subset(
                    group=group, metric=metric, measure="ratio", zero="none", reference=reference
                ).rows()
                wanted = numbers[f"ratio_to_{reference}"]
                assert row["value"] == (wanted if wanted is None else pytest.approx(wanted))


@pytest.mark.slow
def test_measures_that_join_two_rates_leave_spoof_trials_out(audit):
    bona_fide = [trial for trial in LIST["trials"] if trial["label"] != "spoof"]
    threshold = audit.operating_points.rows()[0]["threshold"]
    without = audited(bona_fide, operating_points=(f"threshold={threshold}",))
    for measure in ("fdr", "ir", "garbe"):
        (wanted,) = without.meta.subset(measure=measure, gated=False, zero="none").rows()
        (found,) = audit.meta.subset(measure=measure, gated=False, zero="none").rows()
        assert found["value"] == wanted["value"]


@pytest.mark.slow
def test_costs_of_spoof_accepts_at_the_common_and_at_the_own_threshold(audit):
    vector = expected("S5.4_group_eers_and_costs")["adcf"]
    for group in ("f", "m"):
        (at_common,) = audit.groups.subset(
            group=group, metric="cdet_norm", operating_point="sfar=0.2"
        ).rows()
        (own,) = audit.groups.subset(group=group, metric="min_cdet_norm").rows()
        assert at_common["value"] == pytest.approx(vector[group]["at_common"], abs=1e-12)
        assert own["value"] == pytest.approx(vector[group]["own_threshold_min"], abs=1e-12)
        assert own["threshold"] == vector[group]["own_threshold"]
    (best,) = audited(operating_points=("min-adcf",), cost=("adcf1",)).operating_points.rows()
    assert best["threshold"] == expected("S5.4_group_eers_and_costs")["all"]["threshold"]
    assert audit.record["cost_models"]["adcf1"]["p_spoof"] == parse_cost("adcf1").p_spoof


def test_eers_of_spoof_trials_are_at_own_thresholds_and_never_of_fewer_classes(audit):
    vector = expected("S5.4_group_eers_and_costs")
    share = round(VECTORS["S5.4_group_eers_and_costs"]["inputs"]["rho"], 4)
    for group, numbers in {**vector["eers"], "all": vector["all"]}.items():
        rows = audit.groups.subset(group=group).rows()
        if not rows:
            continue
        found = {(row["metric"], row["definition"]): row for row in rows}
        for metric, definition, wanted in (
            ("eer", "linear", numbers["sv_eer"]),
            ("spf_eer", "", numbers["spf_eer"]),
            ("sasv_eer", "", numbers["sasv_eer"]),
        ):
            row = found[metric, definition]
            assert row["value"] == (wanted and pytest.approx(wanted, abs=1e-12)), (group, metric)
            assert row["operating_point"] == ""
        at_share = found["sasv_eer", f"spoof share {share:g}"]
        if "sasv_eer_rho_of_list" in numbers:
            wanted = numbers["sasv_eer_rho_of_list"]
            assert at_share["value"] == (wanted and pytest.approx(wanted, abs=1e-5))
    assert found["sasv_eer", ""]["reason"] == ""


@pytest.mark.slow
def test_unequal_shares_of_spoof_trials_are_told():
    trials = [
        trial
        for i, trial in enumerate(LIST["trials"])
        if trial["label"] != "spoof" or LIST["speakers"][trial["enrol_speaker"]] != "m" or i % 3
    ]
    items = {row["item"] for row in audited(trials).data.rows()}
    assert "groups_with_unequal_spoof_shares" in items


def test_imitations_of_others_are_kept_and_told(audit):
    rows = {row["item"]: row for row in audit.data.rows()}
    others = sum(
        trial["label"] == "spoof" and trial["enrol_speaker"] != trial["test_speaker"]
        for trial in LIST["trials"]
    )
    assert (
        rows["spoof_trials"]["count"]
        == expected("S5.1_groups_at_common_threshold")["n_all"]["spoof"]
    )
    assert rows["spoof_trials_of_other_speakers"]["count"] == others > 0


def spoof_list(accepted, n_spoof, group):
    """Trials of a group's speakers, of whose spoof trials so many are accepted at 0.5."""
    trials = []
    for i, (n_accepted, n_trials) in enumerate(zip(accepted, n_spoof, strict=True)):
        speaker = f"{group}{i:02}"
        others = [f"{group}{k:02}" for k in range(len(accepted)) if k != i]
        scores = [("target", speaker, 1.0 - (i % 3 == 0))] * 4
        scores += [("nontarget", other, float(k % 3 == 0)) for k, other in enumerate(others)]
        scores += [("spoof", speaker, float(k < n_accepted)) for k in range(n_trials)]
        trials += [
            {
                "enrol": f"{speaker}-model",
                "test": f"{speaker}-{k}",
                "enrol_speaker": speaker,
                "test_speaker": test_speaker,
                "label": label,
                "attack": "A01" if label == "spoof" else "",
                "score": score,
            }
            for k, (label, test_speaker, score) in enumerate(scores)
        ]
    return trials


def two_groups():
    inputs = VECTORS["S9.4_ratio_of_two_groups"]["inputs"]
    trials = []
    for group in "fm":
        trials += spoof_list(inputs[group]["spoof_accepts"], inputs[group]["spoof_trials"], group)
    speakers = sorted({trial["enrol_speaker"] for trial in trials})
    people = {"id": speakers, "group": [speaker[0] for speaker in speakers]}
    return audited(trials, speakers=people, operating_points=("threshold=0.5",))


@pytest.mark.slow
def test_intervals_are_over_claimed_speakers_and_ratios_by_mover():
    audit, vector = two_groups(), expected("S9.4_ratio_of_two_groups")
    (row,) = audit.bias.subset(
        group="f", metric="sfar", measure="ratio", zero="none", reference="others"
    ).rows()
    assert [row[name] for name in ("value", "low", "high", "p")] == pytest.approx(
        [vector[name] for name in ("ratio", "low", "high", "p")], abs=1e-6
    )
    single = VECTORS["S9.1_interval_over_claimed_speakers"]["inputs"]
    trials = spoof_list(single["spoof_accepts"], single["spoof_trials"], "f")
    people = {"id": sorted({trial["enrol_speaker"] for trial in trials}), "group": ["f"] * 8}
    audit = audited(trials, speakers=people, operating_points=("threshold=0.5",))
    (row,) = audit.groups.subset(group="f", metric="sfar", definition="").rows()
    vector = expected("S9.1_interval_over_claimed_speakers")
    assert [row[name] for name in ("value", "low", "high", "df")] == pytest.approx(
        [vector[name] for name in ("rate", "low", "high", "df")], abs=1e-7
    )


@pytest.mark.slow
def test_verdicts_adjust_three_error_types_as_one_family():
    audit = two_groups()
    rows = [
        row
        for row in audit.verdicts.subset(group="f").rows()
        if row["metric"] in {"fnr", "fpr", "sfar"}
    ]
    assert len(rows) == 3
    p = [np.nan if row["p"] is None else row["p"] for row in rows]
    adjusted = [np.nan if row["p_holm"] is None else row["p_holm"] for row in rows]
    np.testing.assert_allclose(adjusted, holm(np.array(p)))
    assert audit.record["error_types"] == ["fpr", "fnr", "sfar"]
    words = " ".join(overview.overview(audit).count_sentences)
    assert "Spoof accepts (SFAR): 1" in words
    assert "of 3 comparisons" in words


@pytest.mark.slow
def test_limits_hold_for_the_third_rate():
    audit = audited(limits=("sfar=50%", "sfar=3x"))
    assert {row["measure"] for row in audit.limits.subset(metric="sfar").rows()} >= {
        "limit",
        "ratio_limit",
    }


@pytest.mark.slow
def test_decisions_need_no_scores():
    trials = columns(LIST["trials"])
    trials["decision"] = ["accept" if score >= 2 else "reject" for score in trials.pop("score")]
    audit = pv.audit(trials, speakers=PEOPLE, by="group", replicates=50)
    vector = expected("S5.1_groups_at_common_threshold")
    (row,) = audit.groups.subset(grouping="all", metric="sfar").rows()
    assert row["value"] == pytest.approx(vector["all"]["sfar"])
    (row,) = audit.groups.subset(grouping="group", group="f", metric="sfar").rows()
    assert row["value"] == pytest.approx(vector["both"]["f"]["sfar"])


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**16))
def test_permuting_spoof_trials_changes_neither_fnr_nor_fpr(seed):
    draw = np.random.default_rng(seed)
    spoof = [i for i, trial in enumerate(LIST["trials"]) if trial["label"] == "spoof"]
    trials = [dict(trial) for trial in LIST["trials"]]
    for i, score in zip(spoof, draw.permutation(len(spoof)) / 7 - 2, strict=True):
        trials[i]["score"] = float(score)
    options = {"operating_points": ("threshold=2",), "intervals": False, "gates": ()}
    permuted, given_ = (audited(rows, **options).groups for rows in (trials, LIST["trials"]))
    for metric in ("fnr", "fpr"):
        assert permuted.filter(metric=metric).rows() == given_.filter(metric=metric).rows()


@pytest.mark.slow
def test_lists_without_spoof_trials_have_two_error_types():
    bona_fide = [trial for trial in LIST["trials"] if trial["label"] != "spoof"]
    audit = audited(bona_fide, operating_points=("threshold=2",))
    assert "error_types" not in audit.record
    assert not len(audit.groups.subset(metric="sfar"))
    with pytest.raises(ConfigError, match="includes spoof trials"):
        audited(bona_fide, cost=("adcf1",))
    with pytest.raises(ConfigError, match="some lists have spoof trials"):
        pv.audit(
            {"a": columns(bona_fide), "b": columns(LIST["trials"])}, speakers=PEOPLE, by="group"
        )


def test_what_only_an_audit_takes_is_refused_elsewhere():
    trials = columns(LIST["trials"])
    for function in (pv.count, pv.thresholds, pv.calibrate):
        with pytest.raises(DataError, match="46 spoof trials; remove the spoof trials, or"):
            function(trials, speakers=PEOPLE, by="group")
    trials["status"] = ["failed" if label == "spoof" else "ok" for label in trials["label"]]
    trials["score"] = [
        None if label == "spoof" else score
        for label, score in zip(trials["label"], trials["score"], strict=True)
    ]
    with pytest.raises(DataError, match="contains 46 spoof trials"):
        pv.count(trials, speakers=PEOPLE, by="group")
