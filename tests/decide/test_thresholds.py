"""Thresholds: what they reach, and that no speaker is judged by a threshold found on it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.core.costs import cdet, parse_cost
from parivox.core.counts import as_counts
from parivox.core.crossfit import deal, outside
from parivox.core.rates import threshold_at_fpr
from parivox.decide.fitting_trials import FittingTrials
from parivox.decide.rule_judgement import CrossFitThresholds, judge_rules
from parivox.decide.threshold_aims import parse_aim
from parivox.decide.threshold_fitting import fit_thresholds

ASKED = {"by": "gender", "aim": "fpr=0.05", "folds": 6}


@pytest.fixture(scope="module")
def found(shifted):
    trials, speakers = shifted
    return pv.thresholds(trials, speakers=speakers, **ASKED)


def rows(found, rule):
    return {row["group"]: row for row in found.groups.where(rule=rule).rows()}


def test_a_group_that_is_scored_higher_gets_a_higher_threshold_and_pays_for_it_in_lock_outs(found):
    common, own = rows(found, "common"), rows(found, "per group")
    assert set(found.apart) == {"f", "m"}
    assert own["m"]["threshold"] > common["everyone"]["threshold"] > own["f"]["threshold"]
    assert own["m"]["fpr_change_high"] < 0 < own["m"]["fnr_change_low"]
    assert own["f"]["fpr_change_low"] > 0 > own["f"]["fnr_change_high"]
    for group in "fm":
        assert own[group]["fpr_low"] < 0.05 < own[group]["fpr_high"]
        assert own[group]["threshold_low"] < own[group]["threshold"] < own[group]["threshold_high"]


def test_a_shift_between_groups_comes_out_as_the_distance_of_their_thresholds(found):
    own = rows(found, "per group")
    assert own["m"]["threshold"] - own["f"]["threshold"] == pytest.approx(1, abs=0.35)


def test_what_lies_between_keeps_a_share_of_the_difference_to_the_common_threshold(found):
    common, own, between = (rows(found, rule) for rule in ("common", "per group", "between"))
    for group in "fm":
        start = common[group]["threshold"]
        share = (between[group]["threshold"] - start) / (own[group]["threshold"] - start)
        assert share == pytest.approx(between[group]["kept"])
        assert 0.5 < share < 1


def test_groups_that_are_alike_keep_the_common_threshold(alike):
    trials, speakers = alike
    found = pv.thresholds(trials, speakers=speakers, **ASKED)
    assert found.apart == {}
    assert found.rule.thresholds == {}
    gain = found.rules.where(rule="per group").rows()[0]
    assert gain["gain_low"] < 0 < gain["gain_high"]


def test_every_trial_is_judged_once(found, shifted):
    trials, _ = shifted
    everyone = rows(found, "per group")["everyone"]
    assert everyone["target"] + everyone["nontarget"] == len(trials)
    assert everyone["speakers"] == 60


@pytest.mark.parametrize("aim", ["fnr=0.1", "least-worst"])
def test_the_same_seed_deals_the_same_folds_whatever_the_order_of_rows(shifted, aim):
    trials, speakers = shifted
    asked = ASKED | {"aim": aim}
    one = pv.thresholds(trials, speakers=speakers, **asked)
    other = pv.thresholds(trials.reverse(), speakers=speakers, **asked)
    assert one.to_dict()["tables"] == other.to_dict()["tables"]
    assert pv.thresholds(trials, speakers=speakers, seed=1, **asked).to_dict() != one.to_dict()


# ---- no leak ----


def material(score, seed=0, people=40):
    """Every pair of 40 speakers once, and as many target trials, in two groups."""
    one, other = np.triu_indices(people, 1)
    same = np.repeat(np.arange(people), 20)
    enrol, test = np.append(same, one), np.append(same, other)
    group = (np.arange(people) % 2).astype(np.int32)
    fold = deal(group, 4, seed)
    target = enrol == test
    if score is None:
        score = np.random.default_rng(3).normal(2.0 * target)
    return FittingTrials.from_arrays(
        score, target, (enrol, test), enrol, group[enrol], fold, ("a", "b")
    )


AIM = parse_aim("fpr=0.05", parse_cost("voxsrc"))
MAY = np.ones(2, dtype=bool)


def test_trials_of_a_fold_touch_no_threshold_that_they_are_judged_by():
    before = material(None)
    touched = ~outside(before.fold_bits, 1)
    after = replace(before, score=before.score + 5.0 * touched)
    mine, theirs = (fit_thresholds(one, AIM, MAY, 2) for one in (before, after))
    for held, one in mine.items():
        is_same = np.array_equal(one.thresholds, theirs[held].thresholds)
        assert is_same == bool(held & 1)


def test_a_speaker_on_both_sides_is_a_gain_that_is_none():
    """Were thresholds found on the judged speakers, noise would look like a gain."""
    gains = []
    for seed in range(2):
        noise = np.random.default_rng(seed)
        made = material(None)
        made = replace(made, score=made.score + noise.normal(0, 1, made.score.size))
        aim = parse_aim("min-cdet", parse_cost("0.5,1,1"))
        fits = {held: one.thresholds for held, one in fit_thresholds(made, aim, MAY, 3).items()}
        leaky = dict.fromkeys(fits, fits[0])
        each = (
            judge_rules(made, [CrossFitThresholds(made.score, by)], aim, 0.95)
            for by in (fits, leaky)
        )
        gains.append([-one.mean_cost.change[1] for one in each])
    honest, leaked = np.mean(gains, axis=0)
    assert leaked > 0 > honest


# ---- how sure ----


def test_chance_of_pairs_is_no_part_of_thresholds_that_target_trials_alone_set():
    aim, made = parse_aim("fnr=0.1", parse_cost("voxsrc")), material(None)
    alike = replace(made, score=np.where(made.target, made.score, np.round(made.score)))
    told = []
    for one in (made, alike):
        fits = {held: fit.thresholds for held, fit in fit_thresholds(one, aim, MAY, 3).items()}
        told.append(judge_rules(one, [CrossFitThresholds(one.score, fits)], aim, 0.95).changes)
    low, high = told[0]["fnr"].change_limits
    assert (low[1] < high[1]).all()
    assert np.array_equal((low, high), told[1]["fnr"].change_limits)
    assert not np.array_equal(told[0]["fpr"].change_limits, told[1]["fpr"].change_limits)


# ---- aims ----


def test_no_group_has_a_larger_fpr_than_the_largest_one_asked_for(shifted):
    trials, speakers = shifted
    found = pv.thresholds(trials, speakers=speakers, **ASKED | {"aim": "max-fpr=0.05"})
    joined = trials.with_columns(speaker=pl.col("enrol").str.split("/").list.first())
    joined = joined.join(speakers, on="speaker")
    wanted = max(
        float(threshold_at_fpr(as_counts(of["score"], of["label"]).curve, 0.05))
        for _, of in joined.group_by("gender")
    )
    assert rows(found, "common")["everyone"]["threshold"] == wanted
    assert found.apart.keys() == {"f"}


def test_the_least_worst_threshold_costs_the_group_with_the_largest_cost_least():
    draw, cost = np.random.default_rng(0), parse_cost("0.5,1,1")
    groups = [
        as_counts(draw.normal(np.repeat([0, 2], 300) + shift), np.repeat([0, 1], 300))
        for shift in (0.0, 1.0)
    ]
    at = parse_aim("least-worst", cost).common_threshold(groups[0] + groups[1], groups)
    worst = [max(float(cdet(one.at(x), cost)[0]) for one in groups) for x in np.linspace(0, 3, 61)]
    assert max(float(cdet(one.at(at), cost)[0]) for one in groups) <= min(worst)


def test_scores_without_the_shift_do_at_one_threshold_what_groups_do_at_their_own(shifted):
    trials, speakers = shifted
    of = dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    off = [float(of[name[:3]] == "m") for name in trials["enrol"]]
    same = trials.with_columns(score=pl.col("score") - pl.Series(off))
    found = pv.thresholds(trials, speakers=speakers, normalised=same, **ASKED)
    own, normalised = (rows(found, rule) for rule in ("per group", "normalised"))
    assert normalised["m"]["fpr"] == pytest.approx(own["m"]["fpr"], abs=0.01)
    assert normalised["m"]["fpr_change_high"] < 0


# ---- what is refused ----


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"aim": "eer"}, r"^--aim 'eer' is not known; write fpr=X"),
        ({"aim": "fpr=2"}, "the rate must be between 0 and 1"),
        ({"by": ["gender", "gender"]}, "--by names 'gender' twice"),
        ({"by": None}, "--by names no grouping; name one, as in --by gender"),
        ({"side": "both"}, "--side 'both' is not known; choose from enrol, test"),
        ({"folds": 2}, "--folds is 2; give a whole number from 4 to 12"),
        ({"aim": "fpr=0.0001"}, r"is below one error in \d+ trials\); give trials of more"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(shifted, change, told):
    trials, speakers = shifted
    with pytest.raises(pv.ParivoxError, match=told):
        pv.thresholds(trials, speakers=speakers, **ASKED | change)


def test_one_class_alone_and_other_trials_are_refused(shifted):
    trials, speakers = shifted
    with pytest.raises(pv.DataError, match="no nontarget trials"):
        pv.thresholds(trials.filter(label=1), speakers=speakers, **ASKED)
    with pytest.raises(pv.DataError, match="its trials are not those of"):
        pv.thresholds(trials, speakers=speakers, normalised=trials[1:], **ASKED)


def test_a_group_too_small_to_be_held_out_keeps_the_common_threshold(shifted):
    trials, speakers = shifted
    few = speakers.with_columns(
        gender=pl.when(pl.col("speaker") < "p04").then(pl.lit("x")).otherwise("gender")
    )
    found = pv.thresholds(trials, speakers=few, **ASKED)
    own, common = rows(found, "per group")["x"], rows(found, "common")["x"]
    assert own["reason"] == "2 of its speakers are left to fit on, 5 needed"
    assert own["threshold"] == common["threshold"]
    assert "x" not in found.apart


def test_people_of_unknown_group_take_the_common_threshold(shifted):
    trials, speakers = shifted
    some = speakers.with_columns(
        gender=pl.when(pl.col("speaker") < "p03").then(None).otherwise("gender")
    )
    found = pv.thresholds(trials, speakers=some, **ASKED)
    assert found.record["unknown"] > 0
    everyone, own = rows(found, "per group")["everyone"], rows(found, "per group")
    assert everyone["target"] == own["f"]["target"] + own["m"]["target"] + 18
