"""`det.parquet`: exact points, both ends, and nothing left out that could be seen."""

import math
from statistics import NormalDist

import numpy as np
import pytest

import parivox as pv
from parivox import Counts
from parivox.auditing.curves import THINNING, det_columns
from parivox.report.definitions import definitions

PROBIT = NormalDist().inv_cdf


def brute(score, target, thresholds):
    fpr = [np.mean(score[~target] >= t) for t in thresholds]
    fnr = [np.mean(score[target] < t) for t in thresholds]
    return fpr, fnr


def test_points_of_an_audit_are_exact_and_ends_are_kept(small, trials, speakers):
    columns = speakers["id"], speakers["gender"], speakers["nation"]
    group_of = {name: f"{gender}+{nation}" for name, gender, nation in zip(*columns, strict=True)}
    groups = [[group_of[u.split("/")[0]] for u in trials[side]] for side in ("enrol", "test")]
    score, target = np.array(trials["score"]), np.array(trials["label"]) == 1
    enrol, test = map(np.array, groups)
    for group in ("f+India", "m+USA", "pooled", "all"):
        inside = {"pooled": enrol == test, "all": np.ones(score.size, dtype=bool)}.get(
            group, (enrol == group) & (test == group)
        )
        rows = small.det.subset(group=group).to_dict()
        fpr, fnr = brute(score[inside], target[inside], rows["threshold"])
        assert rows["fpr"] == fpr
        assert rows["fnr"] == fnr
        assert rows["threshold"][0] == math.inf
        assert (rows["fpr"][0], rows["fnr"][0]) == (0, 1)
        assert rows["threshold"][-1] == score[inside].min()
        assert (rows["fpr"][-1], rows["fnr"][-1]) == (1, 0)
        assert np.all(np.diff(rows["threshold"]) < 0)
        assert np.all(np.diff(rows["fpr"]) >= 0)
        assert np.all(np.diff(rows["fnr"]) <= 0)


def test_every_cell_has_its_curve(small):
    key = ["grouping", "group", "allocation"]
    cells = set(small.groups.to_polars().select(key).rows())
    assert set(small.det.to_polars().select(key).rows()) == cells


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_thinning_stays_within_its_bound(seed):
    draw = np.random.default_rng(seed)
    target = draw.random(20_000) < 0.3
    score = draw.normal(target * 2.0, 1.0)
    if seed % 2:
        score = np.round(score, 3)
    counts = Counts.from_scores(score, target)
    kept = det_columns(counts)
    curve = counts.curve
    assert kept["threshold"].size < curve.thresholds.size / 3
    assert set(kept["threshold"]) <= set(curve.thresholds)
    place = -np.asarray(kept["threshold"])
    for t, fpr, fnr in zip(curve.thresholds, curve.fpr, curve.fnr, strict=True):
        at = np.searchsorted(place, -t)
        near = [i for i in (at - 1, at) if 0 <= i < place.size]
        for rate, rates in ((fpr, kept["fpr"]), (fnr, kept["fnr"])):
            apart = min(distance(rate, rates[i]) for i in near)
            assert apart <= THINNING + 1e-9


def distance(one, two):
    if one == two:
        return 0.0
    if {one, two} & {0.0, 1.0}:
        return math.inf
    return abs(PROBIT(float(one)) - PROBIT(float(two)))


def test_short_curves_are_whole():
    counts = Counts.from_scores([0.1, 0.2, 0.2, 0.3], [0, 1, 0, 1])
    assert det_columns(counts)["threshold"].tolist() == [math.inf, 0.3, 0.2, 0.1]


def test_the_bound_is_told(small):
    assert str(THINNING) in definitions(small)["det_thinning"]


def test_a_hundred_thousand_trials_make_few_points(simulate):
    trials, people = simulate(nontarget=9000, decimals=9)
    audit = pv.audit(trials, speakers=people, by="gender", intervals=False)
    assert len(audit.det.subset(group="all")) < 3000
