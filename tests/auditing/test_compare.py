"""Bias measures and meta-measures, recomputed from `groups` with arithmetic of its own."""

import json
import math
from pathlib import Path

import pytest

import parivox as pv
from parivox.core.measures import meta_measures
from parivox.errors import ConfigError

pytestmark = pytest.mark.slow

VECTORS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())
G = "gender+nation"
RATES = {"fpr", "fnr", "fpr+fnr"}


def cells(audit, metric, point="threshold=1.25"):
    """Errors and trials by group, pooled last."""
    rows = audit.groups.subset(metric=metric, grouping=G, operating_point=point, definition="")
    return {row["group"]: (row["errors"], row["trials"]) for row in rows}


def rates(audit, metric, *, zero="none", point="threshold=1.25"):
    observed = {}
    for group, (k, n) in cells(audit, metric, point).items():
        observed[group] = (k + 0.5) / (n + 1) if zero == "jeffreys" else k / n
    return observed


def meta(audit, measure, **filters):
    filters = {"operating_point": "threshold=1.25", "zero": "none", "gated": False, **filters}
    (row,) = audit.meta.subset(measure=measure, grouping=G, **filters)
    return row


@pytest.mark.parametrize("zero", ["none", "jeffreys"])
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("name", ["pooled", "macro", "geomean", "best", "f+India"])
def test_bias_measures(small, metric, zero, name):
    observed = rates(small, metric, zero=zero)
    pooled = observed.pop("pooled")
    own = list(observed.values())
    reference = {
        "pooled": pooled,
        "macro": math.fsum(own) / len(own),
        "geomean": math.prod(own) ** (1 / len(own)),
        "best": min(own),
        "f+India": observed["f+India"],
    }[name]
    assert min(own) > 0
    for group, value in observed.items():
        filters = {"metric": metric, "zero": zero, "reference": name, "group": group}
        filters["operating_point"] = "threshold=1.25"
        for measure, wanted in (
            ("difference", value - reference),
            ("ratio", value / reference),
            ("neg_log_ratio", -math.log(value / reference)),
        ):
            (row,) = small.bias.subset(**filters, measure=measure, definition="")
            assert row["value"] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
            assert row["reason"] == ""


def test_nist_policy_changes_nothing_where_no_group_is_without_errors(small):
    filters = {"metric": "fnr", "operating_point": "threshold=1.25", "measure": "ratio"}
    plain = [row["value"] for row in small.bias.subset(**filters, zero="none", definition="")]
    nist = [row["value"] for row in small.bias.subset(**filters, zero="nist", definition="")]
    assert plain == nist


def gini(x):
    n, mean = len(x), math.fsum(x) / len(x)
    total = math.fsum(abs(a - b) for a in x for b in x)
    return n / (n - 1) * total / (2 * n * n * mean)


@pytest.mark.parametrize("zero", ["none", "jeffreys"])
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
def test_measures_of_one_rate(small, metric, zero):
    observed = rates(small, metric, zero=zero)
    pooled = observed.pop("pooled")
    x = list(observed.values())
    mean = math.fsum(x) / len(x)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / (len(x) - 1))
    logs = math.fsum(abs(math.log(v / pooled)) for v in x)
    expected = {
        "max_min": max(x) / min(x),
        "min_max": min(x) / max(x),
        "max_geomean": max(x) / math.prod(x) ** (1 / len(x)),
        "max_mean": max(x) / mean,
        "nrb": logs / len(x),
        "rb": logs,
        "gini": gini(x),
        "sd": sd,
        "cv": sd / mean,
    }
    told = {"fpr": ("fdr_fpd", "ir_fpd"), "fnr": ("fdr_fnd", "ir_fnd")}[metric]
    expected |= {told[0]: max(x) - min(x), told[1]: max(x) / min(x)}
    assert expected.keys() == {
        name
        for name, spec in meta_measures().items()
        if spec.compute is not None and spec.metric in {"", metric}
    }
    for measure, value in expected.items():
        filters = {"operating_point": "threshold=1.25", "gated": False}
        rows = small.meta.subset(measure=measure, metric=metric, zero=zero, **filters).rows()
        if zero == "jeffreys" and not rows:
            continue  # the policy is no remedy for this measure
        (row,) = rows
        assert row["value"] == pytest.approx(value, rel=1e-12), measure
        assert row["groups"] == 6
    row = meta(small, "max_min", metric=metric, zero=zero)
    assert row["low_group"] == min(observed, key=observed.get)
    assert row["high_group"] == max(observed, key=observed.get)


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_measures_of_both_rates(small, alpha):
    f, q = rates(small, "fpr"), rates(small, "fnr")
    f.pop("pooled")
    q.pop("pooled")
    f, q = list(f.values()), list(q.values())
    fdr = 1 - alpha * (max(f) - min(f)) - (1 - alpha) * (max(q) - min(q))
    ir = (max(f) / min(f)) ** alpha * (max(q) / min(q)) ** (1 - alpha)
    garbe = alpha * gini(f) + (1 - alpha) * gini(q)
    for measure, wanted in (("fdr", fdr), ("ir", ir), ("garbe", garbe)):
        row = meta(small, measure, metric="fpr+fnr", alpha=alpha)
        assert row["value"] == pytest.approx(wanted, rel=1e-12)


def test_equalised_odds(small):
    f, q = rates(small, "fpr"), rates(small, "fnr")
    f.pop("pooled")
    tpr = [1 - q[g] for g in f]
    f = list(f.values())
    diff = max(max(f) - min(f), max(tpr) - min(tpr))
    ratio = min(min(f) / max(f), min(tpr) / max(tpr))
    assert meta(small, "eo_diff")["value"] == pytest.approx(diff, rel=1e-12)
    assert meta(small, "eo_ratio")["value"] == pytest.approx(ratio, rel=1e-12)


def test_a_group_without_errors_leaves_ratios_undefined_but_for_the_smoothed_ones(trials, speakers):
    point = "threshold=2"
    audit = pv.audit(trials, speakers=speakers, by=G, operating_points=point)
    counts = cells(audit, "fpr", point)
    assert min(k for k, _ in counts.values()) == 0 < counts["pooled"][0]
    row = meta(audit, "ir", alpha=0.5, operating_point=point)
    assert (row["value"], row["reason"]) == (None, "zero_cell")
    row = meta(audit, "ir", alpha=0.5, operating_point=point, zero="jeffreys")
    assert row["value"] > 1
    assert row["reason"] == ""
    empty = next(group for group, (k, _) in counts.items() if not k)
    (log,) = audit.bias.subset(
        metric="fpr",
        operating_point=point,
        group=empty,
        measure="neg_log_ratio",
        reference="pooled",
        zero="none",
        definition="",
    )
    assert (log["value"], log["reason"]) == (math.inf, "zero_cell")


def test_nist_policy_bounds_zero_rates_below_the_fraction_bar_only(trials, speakers):
    point = "threshold=2"
    options = {"operating_points": point, "zero": "nist", "intervals": False}
    audit = pv.audit(trials, speakers=speakers, by=G, **options)
    counts = cells(audit, "fpr", point)
    counts.pop("pooled")
    below = {g: k / n if k else 1 - 0.05 ** (1 / n) for g, (k, n) in counts.items()}
    top = max(k / n for k, n in counts.values())
    geomean = math.prod(below.values()) ** (1 / len(below))
    (row,) = audit.meta.subset(measure="max_geomean", metric="fpr", zero="nist", gated=False)
    assert row["value"] == pytest.approx(top / geomean, rel=1e-12)
    for group, (k, n) in counts.items():
        (row,) = audit.bias.subset(
            metric="fpr", measure="ratio", reference="geomean", group=group, zero="nist"
        )
        assert row["value"] == pytest.approx(k / n / geomean, rel=1e-12, abs=1e-15)


def test_gini_without_any_error_is_0_by_convention_and_says_so(trials, speakers):
    options = {"operating_points": "threshold=99", "intervals": False}
    audit = pv.audit(trials, speakers=speakers, by=G, **options)
    row = next(iter(audit.meta.subset(measure="gini", metric="fpr", zero="none", definition="")))
    assert (row["value"], row["reason"]) == (0.0, "no_errors")
    row = next(iter(audit.meta.subset(measure="ir_fpd", zero="none")))
    assert (row["value"], row["reason"]) == (1.0, "zero_over_zero")


def test_sweep_equals_the_measures_at_the_same_point(small, trials, speakers):
    points = sorted({row["operating_point"] for row in small.sweep})
    assert len(points) == 5
    assert {"fpr=0.01", "fpr=0.1"} <= set(points)
    again = pv.audit(
        trials,
        speakers=speakers,
        by=G,
        operating_points=points,
        zero=["none", "jeffreys", "nist"],
        alpha=["0:1:0.25"],
        intervals=False,
    )
    key = ("allocation", "metric", "operating_point", "measure", "alpha", "zero")
    reported = {
        tuple(row[name] for name in key): row
        for row in again.meta
        if row["definition"] == "" and row["metric"] in RATES and not row["gated"]
    }
    assert len(small.sweep) > 100
    for row in small.sweep:
        other = reported[tuple(row[name] for name in key)]
        for name in ("value", "low_group", "high_group", "groups", "higher_is_fairer", "reason"):
            assert row[name] == other[name], row
    thresholds = {r["operating_point"]: r["threshold"] for r in again.operating_points}
    assert {r["operating_point"]: r["threshold"] for r in small.sweep} == thresholds


def test_without_a_sweep_there_is_none(trials, speakers, tmp_path):
    audit = pv.audit(trials, speakers=speakers, by="gender", intervals=False)
    assert len(audit.sweep) == 0
    audit.save(tmp_path / "a")
    assert not (tmp_path / "a" / "sweep.parquet").exists()


def test_a_group_of_another_grouping_is_no_reference_there(whole):
    observed = {(row["grouping"], row["reference"]) for row in whole.bias}
    assert ("gender", "f") in observed
    assert ("nation", "f") not in observed
    assert ("nation", "Norway") in observed
    assert (G, "f+India") in observed


def test_an_unknown_reference_is_told_with_the_nearest_groups(trials, speakers):
    with pytest.raises(ConfigError, match=r"'Norwy'.*Norway"):
        pv.audit(trials, speakers=speakers, by="nation", reference="Norwy")


@pytest.fixture(scope="module")
def toy():
    reference = VECTORS["3.4_subgroup_and_threshold_bias"]["inputs"]
    trials = {"enrol": [], "test": [], "score": []}
    people = {"id": [], "team": []}
    for name, scores in reference["groups"].items():
        people["id"] += [f"{name}1", f"{name}2"]
        people["team"] += [name, name]
        for kind, other in (("tar", "1"), ("non", "2")):
            for i, score in enumerate(scores[kind]):
                trials["enrol"].append(f"{name}1/{kind}{i}")
                trials["test"].append(f"{name}{other}/{kind}{i}x")
                trials["score"].append(score)
    return pv.audit(
        trials,
        speakers=people,
        by="team",
        cost=f"{reference['P_target']},{reference['C'][0]},{reference['C'][1]}",
        operating_points="min-cdet",
    )


def test_the_common_threshold_is_that_of_the_overall_minimum(toy):
    expected = VECTORS["3.4_subgroup_and_threshold_bias"]["expected"]
    (point,) = toy.operating_points
    assert point["threshold"] == expected["overall_thr"]
    (row,) = toy.groups.subset(group="all", metric="min_cdet_raw")
    assert row["value"] == pytest.approx(expected["overall_min"], abs=1e-9)


@pytest.mark.parametrize("group", ["x", "y", "z"])
def test_subgroup_and_threshold_bias(toy, group):
    expected = VECTORS["3.4_subgroup_and_threshold_bias"]["expected"]["groups"][group]
    (raw,) = toy.groups.subset(group=group, metric="cdet_raw")
    (own,) = toy.groups.subset(group=group, metric="min_cdet_raw")
    assert raw["value"] == pytest.approx(expected["cost_at_overall"], abs=1e-9)
    assert own["value"] == pytest.approx(expected["own_min"], abs=1e-9)
    assert own["threshold"] in expected["own_thr"]
    (bias,) = toy.bias.subset(group=group, measure="subgroup_bias")
    assert bias["value"] == pytest.approx(expected["subgroup_bias"], abs=1e-9)
    (bias,) = toy.bias.subset(group=group, measure="threshold_bias")
    assert bias["value"] == pytest.approx(float(expected["threshold_bias"]), abs=1e-9)
    for metric in ("fpr", "fnr"):
        (rate,) = toy.groups.subset(group=group, metric=metric)
        assert rate["value"] == pytest.approx(expected[metric.upper()], abs=1e-9)


def test_the_area_under_fdr_lies_between_its_heights(small):
    heights = [r["value"] for r in small.sweep if r["measure"] == "fdr" and r["alpha"] == 0.5]
    rows = small.meta.subset(measure="au_fdr", alpha=0.5, gated=False).rows()
    assert {row["definition"] for row in rows} == {"linear", "log10"}
    for row in rows:
        assert min(heights) <= row["value"] <= max(heights)


def test_measures_of_one_group_are_undefined(trials, speakers):
    people = {**speakers, "planet": ["Earth"] * len(speakers["id"])}
    audit = pv.audit(trials, speakers=people, by="planet", operating_points="threshold=1")
    for measure in ("gini", "fdr", "ir", "garbe", "max_min", "sd"):
        rows = [r for r in audit.meta.subset(measure=measure) if r["metric"] in RATES]
        assert rows
        for row in rows:
            assert row["groups"] == 1
            assert (row["value"], row["reason"]) == (None, "one_group")
    (row,) = audit.bias.subset(
        metric="fnr", measure="ratio", reference="pooled", zero="none", definition=""
    )
    assert row["value"] == 1


def test_groups_without_nontarget_trials_are_left_out_of_measures_of_fpr(trials, speakers):
    people = {**speakers, "name": [f"n{i}" for i in range(len(speakers["id"]))]}
    audit = pv.audit(trials, speakers=people, by="name", operating_points="threshold=1")
    for row in audit.groups.subset(metric="fpr", grouping="name"):
        assert (row["trials"], row["value"]) == (0, None)
        assert row["reason"] == "no_nontarget_trials"
    for row in audit.meta.subset(measure="gini", metric="fpr"):
        assert row["value"] is None
        assert row["groups"] == 0
    (row,) = audit.meta.subset(measure="gini", metric="fnr", zero="none", gated=False)
    assert row["groups"] == 24
