"""Operating points: what each kind finds, and what is refused.

See docs/methods/rates.md#operating-points.
"""

import json
import math

import numpy as np
import pytest

import parivox as pv
from parivox import Counts, parse_cost
from parivox.auditing.operating_points import default_points, parse_point, parse_sweep
from parivox.errors import ConfigError

pytestmark = pytest.mark.slow

PEOPLE = {"id": ["a", "b"], "g": ["x", "y"]}


def audit_of(targets, nontargets, points, **options):
    """Audit two lists of scores of two speakers."""
    n, m = len(targets), len(nontargets)
    trials = {
        "enrol": [f"a/{i}" for i in range(n)] + [f"a/n{i}" for i in range(m)],
        "test": [f"a/{i}t" for i in range(n)] + [f"b/n{i}" for i in range(m)],
        "score": [*targets, *nontargets],
    }
    options = {"intervals": False, **options}
    return pv.audit(trials, speakers=PEOPLE, by="g", operating_points=points, **options)


def threshold(targets, nontargets, point, **options):
    (row,) = audit_of(targets, nontargets, point, **options).operating_points
    return row["threshold"]


def brute_force(targets, nontargets, cost_of):
    """Largest threshold of those with the smallest `cost_of(fp, fn)`, `cost_of` None if unfit."""
    candidates = []
    for t in {*targets, *nontargets, math.inf}:
        fp, fn = sum(s >= t for s in nontargets), sum(s < t for s in targets)
        candidates.append((cost_of(fp, fn), -t))
    return -min(candidates)[1]


T = [0.5, 1.0, 1.5, 1.5, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0]
N = [-2.0, -1.0, -1.0, 0.0, 0.0, 0.5, 1.0, 1.5, 1.5, 2.0]


def test_threshold_is_taken_as_it_is():
    assert threshold(T, N, "threshold=0.75") == 0.75
    assert threshold(T, N, "threshold=-1e3") == -1000
    (row,) = audit_of(T, N, "threshold=0.75").operating_points
    assert row["source"] == "given"


@pytest.mark.parametrize(
    ("level", "expected"), [("0.1", 2.0), ("0.25", 2.0), ("0.3", 1.5), ("0.4", 1.0)]
)
def test_fpr_is_the_smallest_threshold_that_keeps_it(level, expected):
    fpr_threshold = threshold(T, N, f"fpr={level}")
    assert sum(s >= fpr_threshold for s in N) <= float(level) * 10
    assert fpr_threshold == expected


@pytest.mark.parametrize(("level", "expected"), [("0.1", 1.0), ("0.2", 1.5), ("0.45", 2.0)])
def test_fnr_is_the_largest_threshold_that_keeps_it(level, expected):
    fnr_threshold = threshold(T, N, f"fnr={level}")
    assert sum(s < fnr_threshold for s in T) <= float(level) * 10
    assert fnr_threshold == expected


def test_eer_has_the_smallest_difference_of_products():
    expected = brute_force(T, N, lambda fp, fn: abs(fp * len(T) - fn * len(N)))
    assert threshold(T, N, "eer") == expected


def test_eer_ties_go_to_the_larger_threshold():
    targets, nontargets = [1.0, 3.0], [0.0, 2.0]
    # one false accept and one false reject at 2; at 1 two errors less; at 3 the same difference
    expected = brute_force(targets, nontargets, lambda fp, fn: abs(fp - fn))
    assert threshold(targets, nontargets, "eer") == expected == 2.0
    # no threshold balances one target against two nontargets: 1 and 2 are equally far
    assert threshold([1.0, 3.0], [1.0, 1.0, 3.0, 3.0], "eer") == brute_force(
        [1.0, 3.0], [1.0, 1.0, 3.0, 3.0], lambda fp, fn: abs(fp * 2 - fn * 4)
    )


def test_equal_differences_on_both_sides_of_the_crossing_take_the_larger_threshold():
    # at 2: FP 0, FN 1; at 1: FP 1, FN 0; |FP - FN| is 1 at both
    assert threshold([1.0], [1.0], "eer") == math.inf
    assert threshold([2.0, 1.0], [1.0, 0.0], "eer") == 2.0


def test_min_cdet_ties_go_to_the_larger_threshold():
    targets, nontargets = [1.0, 3.0], [0.0, 2.0]
    equal = "0.5,1,1"
    assert threshold(targets, nontargets, "min-cdet", cost=equal) == 3.0
    expected = brute_force(targets, nontargets, lambda fp, fn: fp + fn)
    assert expected == 3.0


def test_min_cdet_is_of_the_first_cost_and_a_name_means_another():
    audit = audit_of(T, N, ["min-cdet", "min-cdet:0.9,1,1"], cost=["0.05,1,1", "0.9,1,1"])
    first_point, second_point = audit.operating_points
    assert first_point["definition"] == "0.05,1,1"
    assert first_point["threshold"] == brute_force(T, N, lambda fp, fn: fp * 19 + fn)
    assert second_point["definition"] == "0.9,1,1"
    assert second_point["threshold"] == brute_force(T, N, lambda fp, fn: fp + fn * 9)


def test_bayes_is_the_threshold_of_log_likelihood_ratios():
    bayes_threshold = threshold(T, N, "bayes", llr=True, cost="voxsrc")
    assert bayes_threshold == pytest.approx(math.log(19), abs=1e-12)


def test_bayes_needs_them():
    with pytest.raises(ConfigError, match="llr=True"):
        audit_of(T, N, "bayes")


@pytest.mark.parametrize("point", ["min-cdet", "min-cdet:sre16", "bayes", "bayes:sre16"])
def test_a_model_that_averages_priors_is_no_operating_point(point):
    cost = ["voxsrc"] if ":" in point else ["sre16"]
    with pytest.raises(ConfigError, match=r"sre16.*priors"):
        audit_of(T, N, point, cost=cost, llr=True)


def test_but_it_is_a_cost():
    audit = audit_of(T, N, "eer", cost="sre16")
    (row,) = audit.groups.subset(group="all", metric="min_cdet_norm")
    costs = []
    for prior in ("0.01,1,1", "0.005,1,1"):
        (cost_row,) = audit_of(T, N, "eer", cost=prior).groups.subset(
            group="all", metric="cdet_norm"
        )
        costs.append(cost_row["value"])
    (mean,) = audit.groups.subset(group="all", metric="cdet_norm")
    assert mean["value"] == pytest.approx(sum(costs) / 2, rel=1e-12)
    assert row["value"] <= 1


@pytest.mark.parametrize(
    "point",
    [
        "",
        "fpr",
        "fpr=",
        "fpr=0",
        "fpr=1",
        "fpr=-0.1",
        "threshold=1_0",
        "fpr=0.0_1",
        "fpr=1.5",
        "fpr=nan",
        "fpr=a",
        "far=0.1",
        "fnr=0",
        "fnr=1",
        "threshold=",
        "threshold=nan",
        "threshold=x",
        "eer=0.1",
        "eer:voxsrc",
        "min-cdet:nosuch",
        "min-cdet=0.1",
        "min-cdet:0.05,1",
        "min-cdet:2,1,1",
        "err",
    ],
)
def test_what_is_no_operating_point_is_told_in_a_sentence(point):
    with pytest.raises(ConfigError) as refusal:
        audit_of(T, N, point)
    assert "\n" not in str(refusal.value)


def test_points_keep_the_words_of_the_user():
    points = ["fpr=.10", "fnr=1e-1", "threshold=+1", "min-cdet:voxsrc"]
    audit = audit_of(T, N, points)
    assert [row["operating_point"] for row in audit.operating_points] == points
    assert {r["operating_point"] for r in audit.groups} == {"", *points}


@pytest.mark.parametrize(
    "points",
    [
        ["eer", "eer"],
        ["eer", " eer"],
        ["fpr=0.1", "fpr=0.1 "],
    ],
)
def test_the_same_point_twice_is_refused(points):
    with pytest.raises(ConfigError, match="once"):
        audit_of(T, N, points)


def test_below_one_error_a_point_is_missing_with_its_reason():
    audit = audit_of(T, N, ["fpr=0.01", "fnr=0.05", "threshold=1"])
    lost_fpr, lost_fnr, fixed_point = audit.operating_points
    for row, words in ((lost_fpr, "fpr=0.01"), (lost_fnr, "fnr=0.05")):
        assert row["threshold"] is row["fpr"] is row["fnr"] is row["cdet_norm"] is None
        assert row["reason"] == "target_rate_too_low"
        values = {"operating_point": words, "trials": 10}
        assert json.loads(row["values"]) == {"target_rate_too_low": values}
    assert fixed_point["reason"] == ""
    for point in ("fpr=0.01", "fnr=0.05"):
        for row in audit.groups.subset(operating_point=point):
            assert row["value"] is None
            assert row["reason"]
        for row in audit.meta.subset(operating_point=point):
            assert row["value"] is None
            assert row["reason"]
        for row in audit.bias.subset(operating_point=point):
            assert row["value"] is None
            assert row["reason"]
        for row in audit.matrix.subset(operating_point=point):
            assert row["value"] is None
            assert row["reason"]
    assert {r["value"] for r in audit.groups.subset(metric="fpr", group="all")} == {None, 0.4}


def test_a_group_too_small_for_its_own_rate_says_so():
    audit = audit_of(T, N, "fpr=0.1", allocate="enrol")
    rows = {r["group"]: r for r in audit.groups.subset(metric="fpr_at_fnr")}
    assert rows["x"]["reason"] == "unresolvable"
    assert rows["x"]["values"] == '{"unresolvable": {"target_rate": 0.01, "trials": 10}}'
    assert rows["y"]["reason"]
    assert rows["x"]["value"] is rows["y"]["value"] is None


@pytest.mark.parametrize(
    ("n", "wanted"), [(29_999, ["fpr=0.01"]), (30_000, ["fpr=0.01", "fpr=0.001"])]
)
def test_default_points(n, wanted):
    counts = Counts(np.zeros(1), np.ones(1, dtype=np.int64), np.array([n]))
    assert [point.text for point in default_points(counts)] == wanted


def test_default_points_of_an_audit(trials, speakers):
    audit = pv.audit(trials, speakers=speakers, by="gender", intervals=False)
    assert [row["operating_point"] for row in audit.operating_points] == ["fpr=0.01"]
    assert {r["definition"] for r in audit.groups.subset(metric="cdet_norm")} == {"voxsrc"}
    assert {r["zero"] for r in audit.bias} == {"none", "jeffreys"}


def test_thresholds_may_come_from_other_trials(simulate):
    trials, people = simulate(seed=1)
    development, _ = simulate(seed=2)
    points = ["fpr=0.1", "eer", "min-cdet", "threshold=1"]
    options = {"speakers": people, "by": "gender", "operating_points": points, "intervals": False}
    audit = pv.audit(trials, threshold_from=development, **options)
    source_audit = pv.audit(development, **options)
    for point, source in zip(audit.operating_points, source_audit.operating_points, strict=True):
        assert point["threshold"] == source["threshold"]
        is_given = point["operating_point"] == "threshold=1"
        assert point["source"] == ("given" if is_given else "development trials")
        assert source["source"] == ("given" if is_given else "these trials")
    score = zip(trials["score"], trials["label"], strict=True)
    accepted = [s >= audit.operating_points.rows()[0]["threshold"] for s, y in score if y == 0]
    assert audit.operating_points.rows()[0]["fpr"] == sum(accepted) / len(accepted)
    assert audit.operating_points.rows()[0]["fpr"] != source_audit.operating_points.rows()[0]["fpr"]


def test_the_default_points_are_those_that_the_development_trials_carry(simulate):
    trials, _ = simulate()
    large, _ = simulate(seed=3, speakers=48, nontarget=30_000)
    everyone = simulate(speakers=48)[1]
    options = {"speakers": everyone, "by": "gender", "intervals": False}
    audit = pv.audit(trials, threshold_from=large, **options)
    assert [r["operating_point"] for r in audit.operating_points] == ["fpr=0.01", "fpr=0.001"]
    assert all(r["threshold"] is not None for r in audit.operating_points)


def test_development_trials_are_an_input_too(simulate):
    trials, people = simulate(seed=1)
    options = {"speakers": people, "by": "gender", "intervals": False}
    first_audit, second_audit = (
        pv.audit(trials, threshold_from=simulate(seed=seed)[0], **options) for seed in (2, 3)
    )
    assert len(first_audit.provenance) == 3
    assert first_audit.record != second_audit.record


def test_points_are_parsed_with_their_level_and_cost():
    costs = [parse_cost("voxsrc"), parse_cost("sre08")]
    assert parse_point(" fpr=1e-2 ", costs).rule_value == 0.01
    assert parse_point("min-cdet", costs).cost == costs[0]
    assert parse_point("min-cdet:sre08", costs).cost == costs[1]
    assert parse_point("bayes:sre08", costs, llr=True).definition == "sre08"
    assert parse_point("fnr=0.1", costs).definition == "conservative"
    assert parse_point("eer", costs).definition == ""


def test_sweeps_are_grids():
    linear = [point.rule_value for point in parse_sweep("fnr=0.1:0.5:5")]
    assert linear == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    log = parse_sweep("fpr=0.001:0.1:log100")
    assert len(log) == len({point.text for point in log}) == 100
    assert (log[0].rule_value, log[-1].rule_value) == (0.001, 0.1)
    assert all(point.rule == "fpr" for point in log)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fpr",
        "fpr=0.1",
        "fpr=0.1:0.2",
        "fpr=0.1:0.2:1",
        "fpr=0.2:0.1:5",
        "fpr=0:0.1:5",
        "fpr=0.1:1:5",
        "far=0.1:0.2:5",
        "fpr=0.1:0.2:exp5",
        "fpr=nan:0.2:5",
        "fpr=0.1:0.2:1001",
        "fpr=0.1:0.2:log1000000",
        "fpr=0.1:0.2:1_0",
        "fpr=0_1:0.2:10",
        "fpr=0.1:0.2:logx",
        "fpr=0.1:0.2:log٣",
        "fpr=0.1:0.2:³",
    ],
)
def test_what_is_no_sweep(text):
    with pytest.raises(ConfigError, match="sweep"):
        parse_sweep(text)


@pytest.mark.parametrize(
    ("certain", "points", "reason"),
    [
        (-math.inf, ("fnr=0.1", "threshold=-inf"), "too_many_certain_rejects"),
        (math.inf, ("fpr=0.1", "min-cdet"), "too_many_certain_accepts"),
    ],
)
def test_no_threshold_accepts_minus_infinity_or_rejects_plus_infinity(certain, points, reason):
    # a fifth of one class scores minus or plus infinity
    targets, nontargets = [0.5 + 0.01 * i for i in range(20)], [0.01 * i for i in range(20)]
    (targets if certain < 0 else nontargets)[:4] = [certain] * 4
    audit = audit_of(targets, nontargets, [*points, "eer"])
    reasons = {row["operating_point"]: row["reason"] for row in audit.operating_points.rows()}
    assert reasons == {**dict.fromkeys(points, reason), "eer": ""}
    # the rate at a threshold of the trials themselves is missing for the same reason
    metric = "fpr_at_fnr" if certain < 0 else "fnr_at_fpr"
    (row,) = audit.groups.subset(metric=metric, group="all").rows()
    assert (row["value"], row["reason"]) == (None, reason)
    scores, labels = [*targets, *nontargets], [1] * 20 + [0] * 20
    rate_at = pv.fpr_at_fnr if certain < 0 else pv.fnr_at_fpr
    assert math.isnan(rate_at(scores, labels, target=0.1).value)
    assert rate_at(scores, labels, target=0.3).value >= 0
