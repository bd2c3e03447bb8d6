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
from parivox.report.catalogue import reason_text

OPTIONS = {"by": "gender", "aim": "fpr=0.05", "folds": 6}


@pytest.fixture(scope="module")
def selection(shifted):
    trials, speakers = shifted
    return pv.thresholds(trials, speakers=speakers, **OPTIONS)


def rows(selection, rule):
    return {row["group"]: row for row in selection.groups.subset(rule=rule).rows()}


def test_a_group_that_is_scored_higher_gets_a_higher_threshold_and_pays_for_it_in_lock_outs(
    selection,
):
    common, group_rows = rows(selection, "common"), rows(selection, "per group")
    assert set(selection.apart) == {"f", "m"}
    assert (
        group_rows["m"]["threshold"]
        > common["everyone"]["threshold"]
        > group_rows["f"]["threshold"]
    )
    assert group_rows["m"]["fpr_change_high"] < 0 < group_rows["m"]["fnr_change_low"]
    assert group_rows["f"]["fpr_change_low"] > 0 > group_rows["f"]["fnr_change_high"]
    for group in "fm":
        assert group_rows[group]["fpr_low"] < 0.05 < group_rows[group]["fpr_high"]
        assert (
            group_rows[group]["threshold_low"]
            < group_rows[group]["threshold"]
            < group_rows[group]["threshold_high"]
        )


def test_a_shift_between_groups_comes_out_as_the_distance_of_their_thresholds(selection):
    group_rows = rows(selection, "per group")
    assert group_rows["m"]["threshold"] - group_rows["f"]["threshold"] == pytest.approx(1, abs=0.35)


def test_what_lies_between_keeps_a_share_of_the_difference_to_the_common_threshold(selection):
    common, group_rows, between = (
        rows(selection, rule) for rule in ("common", "per group", "between")
    )
    for group in "fm":
        start = common[group]["threshold"]
        share = (between[group]["threshold"] - start) / (group_rows[group]["threshold"] - start)
        assert share == pytest.approx(between[group]["kept"])
        assert 0.5 < share < 1


@pytest.mark.slow
def test_groups_that_are_alike_keep_the_common_threshold(alike):
    trials, speakers = alike
    selection = pv.thresholds(trials, speakers=speakers, **OPTIONS)
    assert selection.apart == {}
    assert selection.rule.thresholds == {}
    gain = selection.rules.subset(rule="per group").rows()[0]
    assert gain["gain_low"] < 0 < gain["gain_high"]


def test_every_trial_is_judged_once(selection, shifted):
    trials, _ = shifted
    everyone = rows(selection, "per group")["everyone"]
    assert everyone["target"] + everyone["nontarget"] == len(trials)
    assert everyone["speakers"] == 60


@pytest.mark.slow
@pytest.mark.parametrize("aim", ["fnr=0.1", "least-worst"])
def test_the_same_seed_deals_the_same_folds_whatever_the_order_of_rows(shifted, aim):
    trials, speakers = shifted
    options = OPTIONS | {"aim": aim}
    first_selection = pv.thresholds(trials, speakers=speakers, **options)
    reversed_selection = pv.thresholds(trials.reverse(), speakers=speakers, **options)
    assert first_selection.to_dict()["tables"] == reversed_selection.to_dict()["tables"]
    assert (
        pv.thresholds(trials, speakers=speakers, seed=1, **options).to_dict()
        != first_selection.to_dict()
    )


# ---- no leak ----


def material(score, seed=0, people=40):
    """Every pair of 40 speakers once, and as many target trials, in two groups."""
    pair_enrols, pair_tests = np.triu_indices(people, 1)
    target_speakers = np.repeat(np.arange(people), 20)
    enrol, test = np.append(target_speakers, pair_enrols), np.append(target_speakers, pair_tests)
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
    fits, fits_after = (fit_thresholds(one, AIM, MAY, 2) for one in (before, after))
    for held_folds, one in fits.items():
        is_same = np.array_equal(one.thresholds, fits_after[held_folds].thresholds)
        assert is_same == bool(held_folds & 1)


@pytest.mark.slow
def test_a_speaker_on_both_sides_is_a_gain_that_is_none():
    """Were thresholds found on the judged speakers, noise would look like a gain."""
    gains = []
    for seed in range(2):
        noise = np.random.default_rng(seed)
        trials = material(None)
        trials = replace(trials, score=trials.score + noise.normal(0, 1, trials.score.size))
        aim = parse_aim("min-cdet", parse_cost("0.5,1,1"))
        fits = {
            held_folds: one.thresholds
            for held_folds, one in fit_thresholds(trials, aim, MAY, 3).items()
        }
        leaky = dict.fromkeys(fits, fits[0])
        judgements = (
            judge_rules(trials, [CrossFitThresholds(trials.score, thresholds)], aim, 0.95)
            for thresholds in (fits, leaky)
        )
        gains.append([-one.mean_cost.change[1] for one in judgements])
    honest, leaked = np.mean(gains, axis=0)
    assert leaked > 0 > honest


# ---- how sure ----


def test_chance_of_pairs_is_no_part_of_thresholds_that_target_trials_alone_set():
    aim, trials = parse_aim("fnr=0.1", parse_cost("voxsrc")), material(None)
    alike = replace(trials, score=np.where(trials.target, trials.score, np.round(trials.score)))
    changes = []
    for variant in (trials, alike):
        fits = {
            held_folds: fit.thresholds
            for held_folds, fit in fit_thresholds(variant, aim, MAY, 3).items()
        }
        changes.append(
            judge_rules(variant, [CrossFitThresholds(variant.score, fits)], aim, 0.95).changes
        )
    low, high = changes[0]["fnr"].change_limits
    assert (low[1] < high[1]).all()
    assert np.array_equal((low, high), changes[1]["fnr"].change_limits)
    assert not np.array_equal(changes[0]["fpr"].change_limits, changes[1]["fpr"].change_limits)


# ---- aims ----


@pytest.mark.slow
def test_no_group_has_a_larger_fpr_than_the_largest_one_asked_for(shifted):
    trials, speakers = shifted
    selection = pv.thresholds(trials, speakers=speakers, **OPTIONS | {"aim": "max-fpr=0.05"})
    joined = trials.with_columns(speaker=pl.col("enrol").str.split("/").list.first())
    joined = joined.join(speakers, on="speaker")
    largest_threshold = max(
        float(threshold_at_fpr(as_counts(group_trials["score"], group_trials["label"]).curve, 0.05))
        for _, group_trials in joined.group_by("gender")
    )
    assert rows(selection, "common")["everyone"]["threshold"] == largest_threshold
    assert selection.apart.keys() == {"f"}


def test_the_least_worst_threshold_costs_the_group_with_the_largest_cost_least():
    draw, cost = np.random.default_rng(0), parse_cost("0.5,1,1")
    groups = [
        as_counts(draw.normal(np.repeat([0, 2], 300) + shift), np.repeat([0, 1], 300))
        for shift in (0.0, 1.0)
    ]
    threshold = parse_aim("least-worst", cost).common_threshold(groups[0] + groups[1], groups)
    worst = [
        max(float(cdet(group_counts.at(x), cost)[0]) for group_counts in groups)
        for x in np.linspace(0, 3, 61)
    ]
    assert max(float(cdet(group_counts.at(threshold), cost)[0]) for group_counts in groups) <= min(
        worst
    )


@pytest.mark.slow
def test_scores_without_the_shift_do_at_one_threshold_what_groups_do_at_their_own(shifted):
    trials, speakers = shifted
    genders = dict(zip(speakers["speaker"], speakers["gender"], strict=True))
    shifts = [float(genders[name[:3]] == "m") for name in trials["enrol"]]
    normalised_trials = trials.with_columns(score=pl.col("score") - pl.Series(shifts))
    selection = pv.thresholds(trials, speakers=speakers, normalised=normalised_trials, **OPTIONS)
    group_rows, normalised = (rows(selection, rule) for rule in ("per group", "normalised"))
    assert normalised["m"]["fpr"] == pytest.approx(group_rows["m"]["fpr"], abs=0.01)
    assert normalised["m"]["fpr_change_high"] < 0


# ---- what is refused ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"aim": "eer"}, r"^aim='eer' is not known; write fpr=X"),
        ({"aim": "fpr=2"}, "the rate must be between 0 and 1"),
        ({"by": ["gender", "gender"]}, "by names 'gender' twice"),
        ({"by": None}, "by names no grouping; name one, for example by='gender'"),
        ({"side": "both"}, "side='both' is not known; choose from enrol, test"),
        ({"folds": 2}, "folds is 2; give a whole number from 4 to 12"),
        (
            {"aim": "fpr=0.0001"},
            r"corresponds to less than one error in \d+ trials\); give trials of more",
        ),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(shifted, change, message):
    trials, speakers = shifted
    with pytest.raises(pv.ParivoxError, match=message):
        pv.thresholds(trials, speakers=speakers, **OPTIONS | change)


def test_one_class_alone_and_other_trials_are_refused(shifted):
    trials, speakers = shifted
    with pytest.raises(pv.DataError, match="no nontarget trials"):
        pv.thresholds(trials.filter(label=1), speakers=speakers, **OPTIONS)
    with pytest.raises(pv.DataError, match="the trials differ from those of"):
        pv.thresholds(trials, speakers=speakers, normalised=trials[1:], **OPTIONS)


@pytest.mark.slow
def test_a_group_too_small_to_be_held_out_keeps_the_common_threshold(shifted):
    trials, speakers = shifted
    few = speakers.with_columns(
        gender=pl.when(pl.col("speaker") < "p04").then(pl.lit("x")).otherwise("gender")
    )
    selection = pv.thresholds(trials, speakers=few, **OPTIONS)
    group_rows, common = rows(selection, "per group")["x"], rows(selection, "common")["x"]
    assert reason_text(group_rows) == "2 speakers remain for the fit; 5 are needed"
    assert group_rows["threshold"] == common["threshold"]
    assert "x" not in selection.apart


@pytest.mark.slow
def test_people_of_unknown_group_take_the_common_threshold(shifted):
    trials, speakers = shifted
    partly_known = speakers.with_columns(
        gender=pl.when(pl.col("speaker") < "p03").then(None).otherwise("gender")
    )
    selection = pv.thresholds(trials, speakers=partly_known, **OPTIONS)
    assert selection.record["unknown"] > 0
    everyone, group_rows = rows(selection, "per group")["everyone"], rows(selection, "per group")
    assert everyone["target"] == group_rows["f"]["target"] + group_rows["m"]["target"] + 18


@pytest.mark.parametrize(("rate", "certain"), [("fnr", -np.inf), ("fpr", np.inf)])
def test_scores_that_are_always_rejected_or_accepted_leave_no_threshold(shifted, rate, certain):
    trials, speakers = shifted
    same_speaker = pl.col("enrol").str.head(3) == pl.col("test").str.head(3)
    is_of_class = same_speaker if rate == "fnr" else ~same_speaker
    is_certain = is_of_class & (pl.int_range(pl.len()) % 4 == 0)
    score = pl.when(is_certain).then(certain).otherwise("score").alias("score")
    word = "rejected" if certain < 0 else "accepted"
    with pytest.raises(pv.DataError, match=f"aim='{rate}=0.1': .*trials are always {word}"):
        pv.thresholds(trials.with_columns(score), speakers=speakers, by="gender", aim=f"{rate}=0.1")


@pytest.mark.parametrize(("rate", "certain"), [("fnr", -np.inf), ("fpr", np.inf)])
def test_a_list_of_which_only_some_folds_have_no_threshold_says_so(rate, certain):
    """The certain outcomes of two to four speakers are too many without the trials of others."""
    trials, aim = material(None), parse_aim(f"{rate}=0.1", parse_cost("voxsrc"))
    is_of_class = trials.target == (rate == "fnr")
    score = trials.score.copy()
    score[np.flatnonzero(is_of_class)[:76]] = certain
    assert np.isinf(score[is_of_class]).mean() < 0.1
    words = "no threshold applies without some speakers: too many trials are always"
    with pytest.raises(pv.DataError, match=words):
        fit_thresholds(replace(trials, score=score), aim, MAY, 3)
