"""Errors at every shared threshold, added up from an audit's bins."""

import numpy as np
import pytest

import parivox as pv
from parivox.report.charts.curves import error_curves

THRESHOLD = 0.75


@pytest.fixture(scope="module")
def audited_trials():
    """Trials of 12 speakers in two groups, and two systems that score them."""
    draw = np.random.default_rng(4)
    n = 900
    enrol_speakers, test_speakers = draw.integers(0, 12, n), draw.integers(0, 12, n)
    test_speakers[::2] = enrol_speakers[::2]
    target = enrol_speakers == test_speakers
    trials = {
        "enrol": [f"s{k}/e{i}" for i, k in enumerate(enrol_speakers)],
        "test": [f"s{k}/t{i}" for i, k in enumerate(test_speakers)],
        "label": target.astype(int).tolist(),
        "score": np.round(draw.normal(target * 2.0), 2).tolist(),
    }
    people = {"id": [f"s{k}" for k in range(12)], "g": ["ab"[k % 2] for k in range(12)]}
    second = {**trials, "score": [-3.0 + score for score in trials["score"]]}
    audit = pv.audit(
        {"A@x": trials, "B": second},
        speakers=people,
        by="g",
        allocate=["both", "enrol"],
        operating_points=[f"threshold={THRESHOLD}", "eer"],
        intervals=False,
    )
    return audit, enrol_speakers, test_speakers, target, np.array(trials["score"])


def test_each_grouping_is_there_once_in_the_audits_order(audited_trials):
    groupings = [
        (grouping.system, grouping.list, grouping.grouping, grouping.allocation, grouping.groups)
        for grouping in error_curves(audited_trials[0])
    ]
    g_groupings = [("g", "both", ("a", "b", "pooled")), ("g", "enrol", ("a", "b", "pooled"))]
    expected = [("all", "", ("all",)), *g_groupings]
    assert groupings == [
        (*system, *grouping) for system in (("A", "x"), ("B", "")) for grouping in expected
    ]


def test_errors_are_those_of_the_trials_at_every_threshold(audited_trials):
    audit, enrol_speakers, test_speakers, target, score = audited_trials
    rules = {
        ("all", ""): [np.ones(score.size, dtype=bool)],
        ("g", "both"): [(enrol_speakers % 2 == k) & (test_speakers % 2 == k) for k in (0, 1)],
        ("g", "enrol"): [enrol_speakers % 2 == k for k in (0, 1)],
    }
    for grouping in error_curves(audit)[:3]:
        cells = rules[grouping.grouping, grouping.allocation]
        cells = cells if len(cells) == 1 else [*cells, cells[0] | cells[1]]
        assert THRESHOLD in grouping.thresholds
        for i, inside in enumerate(cells):
            t, f = score[inside & target], score[inside & ~target]
            assert (grouping.n_target[i], grouping.n_nontarget[i]) == (t.size, f.size)
            assert grouping.fp[i].tolist() == [
                (f >= threshold).sum() for threshold in grouping.thresholds
            ]
            assert grouping.fn[i].tolist() == [
                (t < threshold).sum() for threshold in grouping.thresholds
            ]
            assert grouping.fpr[i].tolist() == [
                np.mean(f >= threshold) for threshold in grouping.thresholds
            ]
            assert grouping.fnr[i].tolist() == [
                np.mean(t < threshold) for threshold in grouping.thresholds
            ]


def test_the_curve_is_that_which_core_takes(audited_trials):
    for grouping in error_curves(audited_trials[0]):
        assert (np.diff(grouping.curve.thresholds) < 0).all()
        assert (np.diff(grouping.curve.fp, axis=-1) >= 0).all()
        assert grouping.curve.fpr[:, ::-1].tolist() == grouping.fpr.tolist()


def test_without_trials_of_a_class_its_rate_is_undefined(audited_trials):
    enrolments = [f"s{k}/e" for k in range(6)]
    trials = {
        "enrol": enrolments,
        "test": [f"{name}x" for name in enrolments],
        "label": [1] * 6,
        "score": range(6),
    }
    people = {"id": [f"s{k}" for k in range(6)], "g": ["ab"[k % 2] for k in range(6)]}
    audit = pv.audit(trials, speakers=people, by="g", intervals=False)
    for grouping in error_curves(audit):
        assert np.isnan(grouping.fpr).all()
        assert not np.isnan(grouping.fnr).any()


def test_decisions_without_scores_have_none():
    trials = {
        "enrol": ["a/1", "a/2"],
        "test": ["a/3", "b/1"],
        "label": [1, 0],
        "decision": ["accept", "reject"],
    }
    people = {"id": ["a", "b"], "g": ["x", "y"]}
    assert error_curves(pv.audit(trials, speakers=people, by="g", intervals=False)) == []
