"""Threshold bias with own thresholds of other speakers."""

import math

import numpy as np
import pytest

from parivox.auditing.draws import N_SPLITS, split_halves

COST = (0.05, 1.0, 1.0)


def speaker_of(utterance):
    return utterance.partition("/")[0]


@pytest.fixture(scope="module")
def scored(people):
    """Groups whose target scores lie so much lower; all others are alike."""

    def draw_scores(lower, *, seed=3, size=16, targets=12, nontargets=6):
        speakers = people(
            dict.fromkeys(lower, size),
            fnr=lambda group, i: (0, targets),
            fpr=lambda group, i: (0, nontargets),
        )
        draw = np.random.default_rng(seed)
        for row in speakers.rows:
            shift = lower[row["enrol"][0]]
            row["score"] = float(np.round(draw.normal(3 * row["label"] - shift), 3))
        return speakers

    return draw_scores


def bias(audit, group, measure):
    (row,) = audit.bias.subset(group=group, measure=measure, operating_point="min-cdet")
    return row


POINT = {"operating_points": "min-cdet"}


@pytest.mark.slow
def test_where_the_common_threshold_is_right_it_is_near_one(scored):
    speakers = scored({"a": 0, "b": 0}, size=40, targets=20, nontargets=2)
    audit = speakers.audit(**POINT, cost="0.5,1,1")
    for group in "ab":
        assert bias(audit, group, "threshold_bias")["value"] >= 1
        # half of the speakers find a threshold less well than all of them do
        assert 0.9 < bias(audit, group, "threshold_bias_cv")["value"] < 1.02


@pytest.mark.slow
def test_where_it_is_wrong_both_say_so(scored):
    audit = scored({"a": 0, "b": 1.5}).audit(**POINT)
    plain, crossed = (bias(audit, "b", m) for m in ("threshold_bias", "threshold_bias_cv"))
    assert 1.1 < crossed["value"] < plain["value"]
    factor = crossed["value"] / plain["value"]
    assert crossed["low"] == pytest.approx(plain["low"] * factor)
    assert crossed["high"] == pytest.approx(plain["high"] * factor)
    assert crossed["p"] is None


@pytest.mark.slow
def test_it_is_undefined_below_ten_speakers(scored, people):
    audit = scored({"a": 0, "b": 0}, size=9).audit(**POINT)
    for group in "ab":
        row = bias(audit, group, "threshold_bias_cv")
        assert (row["value"], row["low"], row["high"]) == (None, None, None)
        assert row["values"] == '{"too_few_to_split": {"speakers": 10}}'
        assert bias(audit, group, "threshold_bias")["value"] >= 1
    audit = scored({"a": 0, "b": 0}, size=10, targets=6, nontargets=3).audit(**POINT)
    assert bias(audit, "a", "threshold_bias_cv")["value"] > 0


@pytest.mark.slow
def test_it_is_judged_on_speakers_whose_trials_found_no_threshold(scored, repeated):
    """By trials written out for each half of each split."""
    speakers = scored({"a": 0, "b": 1.0}, size=11, targets=6, nontargets=3)
    audit = speakers.audit(**POINT, seed=4)
    (point,) = audit.operating_points
    ids = speakers.table["id"]
    strata = np.array([ord(name[0]) - ord("a") for name in ids])
    drawn = split_halves(strata[speakers.order], np.random.default_rng((4, 3)))
    halves = np.empty_like(drawn)
    halves[:, speakers.order] = drawn
    p, miss, false = COST
    for group in "ab":
        rows = [row for row in speakers.rows if row["enrol"][0] == group]
        errors = np.zeros((2, 2))  # at the common and the own threshold: of nontarget, target
        trials = np.zeros(2)
        for split in range(N_SPLITS):
            sides = [
                repeated(rows, speaker_of, dict(zip(ids, halves[half].tolist(), strict=True)))
                for half in (split, N_SPLITS + split)
            ]
            for (score, label), (other_score, other_label) in (sides, sides[::-1]):
                levels = np.append(np.unique(other_score), np.inf)
                costs = [
                    p * miss * (other_score[other_label == 1] < level).mean()
                    + (1 - p) * false * (other_score[other_label == 0] >= level).mean()
                    for level in levels
                ]
                own_threshold = levels[int(np.argmin(costs))]
                for i, level in enumerate((point["threshold"], own_threshold)):
                    errors[i, 0] += (score[label == 0] >= level).sum()
                    errors[i, 1] += (score[label == 1] < level).sum()
                trials += [(label == 0).sum(), (label == 1).sum()]
        fpr, fnr = (errors / trials).T
        cost = p * miss * fnr + (1 - p) * false * fpr
        row = bias(audit, group, "threshold_bias_cv")
        assert row["value"] == pytest.approx(cost[0] / cost[1], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_where_the_smallest_cost_is_zero_it_has_no_interval(scored, width):
    speakers = scored({"a": 0, "b": 0}, targets=20)
    for row in speakers.rows:  # those of a are told apart, far below where the others are
        if row["enrol"].startswith("a"):
            row["score"] = 3 * row["label"] - 20 + width * row["score"]
    audit = speakers.audit(**POINT)
    assert bias(audit, "a", "threshold_bias")["value"] == math.inf
    crossed = bias(audit, "a", "threshold_bias_cv")
    assert crossed["value"] is None or crossed["value"] > 1
    assert (crossed["low"], crossed["high"]) == (None, None)


def test_halves_are_halves_of_every_group():
    strata = np.array([0] * 10 + [1] * 7 + [2] * 3 + [-1] * 2)
    halves = split_halves(strata, np.random.default_rng(1))
    assert halves.shape == (2 * N_SPLITS, 22)
    first_halves, second_halves = halves[:N_SPLITS], halves[N_SPLITS:]
    assert ((first_halves + second_halves) == (strata >= 0)).all()
    for stratum, size in ((0, 10), (1, 7), (2, 3)):
        sizes = first_halves[:, strata == stratum].sum(axis=1)
        assert set(sizes.tolist()) <= {size // 2, math.ceil(size / 2)}
    assert len({tuple(row) for row in first_halves.tolist()}) > N_SPLITS / 2


@pytest.mark.slow
def test_the_seed_decides_who_is_in_which_half(scored):
    speakers = scored({"a": 0, "b": 0.7}, size=11, targets=6, nontargets=3)
    biases = [
        bias(speakers.audit(**POINT, seed=s), "b", "threshold_bias_cv")["value"] for s in (0, 0, 1)
    ]
    assert biases[0] == biases[1]
    assert biases[0] != biases[2]
