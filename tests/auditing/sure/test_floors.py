"""Meta-measures beside what fair systems show, of all groups and of those that pass the gates."""

import math
from dataclasses import replace

import numpy as np
import pytest

from parivox.core.cluster_errors import moments
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted

POINTS = ("threshold=0.5", "threshold=0.75")
SIZES = {"a": 12, "b": 11, "c": 6, "d": 14, "e": 12}
REPLICATES, SEED = 150, 5


def speaker_of(utterance):
    return utterance.partition("/")[0]


def group_of(row):
    enrol_group, test_group = row["enrol"][0], row["test"][0]
    return enrol_group if enrol_group == test_group else None


def wrong_at(level):
    return lambda row: (row["score"] >= level) != row["label"]


@pytest.fixture(scope="module")
def five(people):
    """Five groups, the third too small for a headline; scores of two heights above 0.5."""
    speakers = people(
        SIZES,
        fnr=lambda group, i: ((5 * i + 2 * ord(group)) % 9, 20),
        fpr=lambda group, i: ((i + ord(group)) % 4, 8),
    )
    for i, row in enumerate(speakers.rows):
        if i % 5 == 0:
            row["score"] -= 0.4 * row["score"]
    return speakers


@pytest.fixture(scope="module", params=[POINTS[:1], POINTS], ids=["one", "two"])
def audit(five, request):
    return five.audit(
        operating_points=list(request.param), replicates=REPLICATES, seed=SEED, alpha=[0.25]
    )


@pytest.fixture(scope="module")
def of_point(five, tallied):
    """Observed rates of every group, and draws of a fair system, at an operating point."""
    placed = {g: [r for r in five.rows if group_of(r) == g] for g in SIZES}

    def draw_at(point):
        by_metric = {}
        level = float(point.partition("=")[2])
        errors_by_metric = tallied(placed, [*SIZES], speaker_of, wrong_at(level))
        for i, metric in enumerate(("fpr", "fnr")):
            cluster_errors, rng = errors_by_metric[metric], np.random.default_rng((SEED, i))
            if metric == "fnr" and null_method(cluster_errors) == "permutation":
                rank = np.argsort(five.order)
                drawing_order = np.lexsort((rank[cluster_errors.speaker], cluster_errors.cell))
                again = replace(
                    cluster_errors,
                    speaker=cluster_errors.speaker[drawing_order],
                    errors=cluster_errors.errors[..., drawing_order],
                    trials=cluster_errors.trials[..., drawing_order],
                )
                null = permuted(again, None, REPLICATES, rng)
            else:
                null = gamma_multinomial(moments(cluster_errors), REPLICATES, rng)
            rates = cluster_errors.sum_by_cell(cluster_errors.errors) / cluster_errors.sum_by_cell(
                cluster_errors.trials
            )
            by_metric[metric] = rates, null
        return by_metric

    return draw_at


def gini(x):
    n = len(x)
    total = sum(abs(a - b) for a in x for b in x)
    return n / (n - 1) * total / (2 * n * n * np.mean(x))


def spread(x):
    return max(x) - min(x)


MEASURES = {
    "gini": gini,
    "sd": lambda x: np.std(x, ddof=1),
    "max_min": lambda x: max(x) / min(x),
    "max_geomean": lambda x: max(x) / math.exp(np.mean(np.log(x))),
    "fdr_fpd": spread,
    "fdr_fnd": spread,
}
OF_LOGS = {"max_min", "max_geomean"}


def check(row, expected, observed):
    assert row["value"] == pytest.approx(observed)
    assert row["floor_mean"] == pytest.approx(float(expected.mean))
    assert row["floor_95"] == pytest.approx(float(expected.q95))
    assert row["p"] == pytest.approx(float(expected.p))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("measure", MEASURES)
def test_floors_of_one_rate_are_those_of_core(audit, of_point, metric, measure):
    if measure in {"fdr_fpd", "fdr_fnd"} - {{"fpr": "fdr_fpd", "fnr": "fdr_fnd"}[metric]}:
        assert len(audit.meta.subset(measure=measure, metric=metric)) == 0
        return
    measure_of, checked = MEASURES[measure], 0
    for row in audit.meta.subset(measure=measure, metric=metric, gated=False, zero="none"):
        if row["operating_point"] == "":
            continue
        rates, null = of_point(row["operating_point"])[metric]
        draws = null.nonzero_rates if measure in OF_LOGS else null.rates
        observed = measure_of(rates)
        check(row, floor(observed, [measure_of(replicate) for replicate in draws]), observed)
        checked += 1
    assert checked == len(audit.operating_points)


def test_floors_of_both_rates_are_of_independent_draws(audit, of_point):
    for point in {row["operating_point"] for row in audit.operating_points}:
        by_metric = of_point(point)
        fpr, fnr = (by_metric[metric] for metric in ("fpr", "fnr"))
        row_filter = {"operating_point": point, "gated": False, "zero": "none"}

        def fdr(x, y):
            return 1 - 0.25 * spread(x) - 0.75 * spread(y)

        def garbe(x, y):
            return 0.25 * gini(x) + 0.75 * gini(y)

        for measure, measure_of, is_high in (("fdr", fdr, True), ("garbe", garbe, False)):
            observed = measure_of(fpr[0], fnr[0])
            draws = list(map(measure_of, fpr[1].rates, fnr[1].rates))
            (row,) = audit.meta.subset(**row_filter, measure=measure, alpha=0.25)
            check(row, floor(observed, draws, higher_is_fairer=is_high), observed)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
def test_tau_log_is_the_spread_that_fair_systems_do_not_have(audit, of_point, metric):
    for row in audit.meta.subset(measure="tau_log", metric=metric, gated=False):
        rates, null = of_point(row["operating_point"])[metric]
        fair = np.var(np.log(null.nonzero_rates), axis=1, ddof=1)
        observed = np.var(np.log(rates), ddof=1)
        assert row["value"] == pytest.approx(math.sqrt(max(0, observed - fair.mean())))
        assert row["p"] == pytest.approx((1 + (fair >= observed).sum()) / (REPLICATES + 1))
        excess = np.sqrt(np.maximum(fair - fair.mean(), 0))
        assert row["floor_mean"] == pytest.approx(excess.mean())
        assert row["groups"] == len(SIZES)


def test_variance_of_the_rates_less_that_of_their_speakers(audit):
    for metric in ("fpr", "fnr"):
        rows = audit.groups.subset(metric=metric, operating_point=POINTS[0], grouping="group")
        rates, n_eff = np.array([[r["value"], r["n_eff"]] for r in rows][:-1]).T
        noise = (rates * (1 - rates) / n_eff).mean()
        row_filter = {"metric": metric, "operating_point": POINTS[0], "gated": False}
        (row,) = audit.meta.subset(**row_filter, measure="var_corrected")
        assert row["value"] == pytest.approx(np.var(rates, ddof=1) - noise)
        (row,) = audit.meta.subset(**row_filter, measure="var_double_corrected")
        assert row["low"] <= row["value"] <= row["high"]


def test_gates_keep_small_groups_out_of_headlines(audit, of_point):
    for metric in ("fpr", "fnr"):
        lacks = {
            row["group"]: row["gates"]
            for row in audit.verdicts.subset(metric=metric, operating_point=POINTS[0])
            if row["group"]
        }
        assert {group for group, text in lacks.items() if text} == {"c"}
        assert lacks["c"].startswith("speakers_below_minimum")
        assert ("pairs_below_minimum" in lacks["c"]) == (metric == "fpr")
        rates, null = of_point(POINTS[0])[metric]
        in_headline = [group != "c" for group in SIZES]
        (row,) = audit.meta.subset(
            measure="gini", metric=metric, gated=True, zero="none", operating_point=POINTS[0]
        )
        observed = gini(rates[in_headline])
        assert row["groups"] == 4
        check(
            row,
            floor(observed, [gini(replicate[in_headline]) for replicate in null.rates]),
            observed,
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "kept_groups"),
    [("speakers=6", "abcde"), ("speakers=12", "ade"), ("speakers=13", "d"), ("errors=10000", "")],
)
def test_gates_can_be_set(five, gate, kept_groups):
    gates = [gate] if gate.startswith("errors") else [gate, "pairs=1"]
    audit = five.audit(gates=gates, reference="pooled")
    (row,) = audit.meta.subset(
        measure="gini", metric="fnr", gated=True, operating_point=POINTS[0], zero="none"
    )
    assert row["groups"] == len(kept_groups)
    rows = audit.verdicts.subset(metric="fnr", operating_point=POINTS[0])
    assert {r["group"] for r in rows if r["group"] and not r["gates"]} == {*kept_groups}
    (ungated,) = audit.meta.subset(
        measure="gini", metric="fnr", gated=False, operating_point=POINTS[0], zero="none"
    )
    assert ungated["groups"] == len(SIZES)


@pytest.mark.slow
def test_measures_of_logarithms_have_no_p_where_a_group_has_no_errors(people):
    speakers = people(
        {"a": 10, "b": 10, "c": 10},
        fnr=lambda group, i: (0 if group == "a" else i % 6, 20),
        fpr=lambda group, i: (i % 2, 5),
    )
    audit = speakers.audit(zero=["none", "jeffreys"])
    row_filter = {"metric": "fnr", "operating_point": POINTS[0], "gated": False}
    for measure in ("max_min", "nrb", "max_geomean"):
        (row,) = audit.meta.subset(**row_filter, measure=measure, zero="none")
        assert row["p"] is None, measure
        (row,) = audit.meta.subset(**row_filter, measure=measure, zero="jeffreys")
        assert 0 < row["p"] <= 1
    (row,) = audit.meta.subset(**row_filter, measure="gini", zero="none")
    assert 0 < row["p"] <= 1
    fpr = {**row_filter, "metric": "fpr"}
    (row,) = audit.meta.subset(**fpr, measure="max_min", zero="none")
    assert 0 < row["p"] <= 1


@pytest.mark.slow
def test_no_floor_is_shown_where_no_draw_is_valid(people):
    few = people({"a": 10, "b": 10}, fnr=lambda group, i: (i == 3, 10), fpr=lambda g, i: (i < 4, 5))
    speakers = people(SIZES, fnr=lambda group, i: (i % 3, 6))
    for i in range(10):
        speakers.nontarget(f"a{i:02d}", f"b{i:02d}", 1, 3)
    crossed = speakers.audit(allocate="enrol")
    for audit, metric in ((few.audit(), "fpr"), (crossed, "fpr")):
        rows = audit.meta.subset(measure="gini", metric=metric, operating_point=POINTS[0]).rows()
        assert rows
        for row in rows:
            assert (row["floor_mean"], row["p"]) == (None, None)
    rows = crossed.meta.subset(measure="tau_log", metric="fpr", operating_point=POINTS[0]).rows()
    assert {row["reason"] for row in rows} == {"shared_speakers"}
    rows = few.audit().meta.subset(measure="tau_log", operating_point=POINTS[0]).rows()
    assert {row["reason"] for row in rows} == {"fewer_than_three_groups"}
