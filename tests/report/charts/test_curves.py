"""Errors at every shared threshold, added up from an audit's bins."""

import numpy as np
import pytest

import parivox as pv
from parivox.report.charts.curves import error_curves

THRESHOLD = 0.75


@pytest.fixture(scope="module")
def made():
    """Trials of 12 speakers in two groups, and two systems that score them."""
    draw = np.random.default_rng(4)
    n = 900
    own, other = draw.integers(0, 12, n), draw.integers(0, 12, n)
    other[::2] = own[::2]
    target = own == other
    trials = {
        "enrol": [f"s{k}/e{i}" for i, k in enumerate(own)],
        "test": [f"s{k}/t{i}" for i, k in enumerate(other)],
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
    return audit, own, other, target, np.array(trials["score"])


def test_each_grouping_is_there_once_in_the_audits_order(made):
    found = [
        (one.system, one.list, one.grouping, one.allocation, one.groups)
        for one in error_curves(made[0])
    ]
    both = [("g", "both", ("a", "b", "pooled")), ("g", "enrol", ("a", "b", "pooled"))]
    wanted = [("all", "", ("all",)), *both]
    assert found == [(*system, *one) for system in (("A", "x"), ("B", "")) for one in wanted]


def test_errors_are_those_of_the_trials_at_every_threshold(made):
    audit, own, other, target, score = made
    rules = {
        ("all", ""): [np.ones(score.size, dtype=bool)],
        ("g", "both"): [(own % 2 == k) & (other % 2 == k) for k in (0, 1)],
        ("g", "enrol"): [own % 2 == k for k in (0, 1)],
    }
    for one in error_curves(audit)[:3]:
        cells = rules[one.grouping, one.allocation]
        cells = cells if len(cells) == 1 else [*cells, cells[0] | cells[1]]
        assert THRESHOLD in one.thresholds
        for i, inside in enumerate(cells):
            t, f = score[inside & target], score[inside & ~target]
            assert (one.n_target[i], one.n_nontarget[i]) == (t.size, f.size)
            assert one.fp[i].tolist() == [(f >= at).sum() for at in one.thresholds]
            assert one.fn[i].tolist() == [(t < at).sum() for at in one.thresholds]
            assert one.fpr[i].tolist() == [np.mean(f >= at) for at in one.thresholds]
            assert one.fnr[i].tolist() == [np.mean(t < at) for at in one.thresholds]


def test_the_curve_is_that_which_core_takes(made):
    for one in error_curves(made[0]):
        assert (np.diff(one.curve.thresholds) < 0).all()
        assert (np.diff(one.curve.fp, axis=-1) >= 0).all()
        assert one.curve.fpr[:, ::-1].tolist() == one.fpr.tolist()


def test_without_trials_of_a_class_its_rate_is_undefined(made):
    own = [f"s{k}/e" for k in range(6)]
    trials = {
        "enrol": own,
        "test": [f"{name}x" for name in own],
        "label": [1] * 6,
        "score": range(6),
    }
    people = {"id": [f"s{k}" for k in range(6)], "g": ["ab"[k % 2] for k in range(6)]}
    audit = pv.audit(trials, speakers=people, by="g", intervals=False)
    for one in error_curves(audit):
        assert np.isnan(one.fpr).all()
        assert not np.isnan(one.fnr).any()


def test_decisions_without_scores_have_none():
    trials = {
        "enrol": ["a/1", "a/2"],
        "test": ["a/3", "b/1"],
        "label": [1, 0],
        "decision": ["accept", "reject"],
    }
    people = {"id": ["a", "b"], "g": ["x", "y"]}
    assert error_curves(pv.audit(trials, speakers=people, by="g", intervals=False)) == []
