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
    one, two = row["enrol"][0], row["test"][0]
    return one if one == two else None


def wrong_at(level):
    return lambda row: (row["score"] >= level) != row["label"]


@pytest.fixture(scope="module")
def five(people):
    """Five groups, the third too small for a headline; scores of two heights above 0.5."""
    made = people(
        SIZES,
        fnr=lambda group, i: ((5 * i + 2 * ord(group)) % 9, 20),
        fpr=lambda group, i: ((i + ord(group)) % 4, 8),
    )
    for i, row in enumerate(made.rows):
        row["score"] -= 0.4 * row["score"] * (i % 5 == 0)
    return made


@pytest.fixture(scope="module", params=[POINTS[:1], POINTS], ids=["one", "two"])
def audit(five, request):
    return five.audit(
        operating_points=list(request.param), replicates=REPLICATES, seed=SEED, alpha=[0.25]
    )


@pytest.fixture(scope="module")
def of_point(five, tallied):
    """Observed rates of every group, and draws of a fair system, at an operating point."""
    placed = {g: [r for r in five.rows if group_of(r) == g] for g in SIZES}

    def made(point):
        found = {}
        level = float(point.partition("=")[2])
        tallies = tallied(placed, [*SIZES], speaker_of, wrong_at(level))
        for i, metric in enumerate(("fpr", "fnr")):
            tally, rng = tallies[metric], np.random.default_rng((SEED, i))
            if metric == "fnr" and null_method(tally) == "permutation":
                rank = np.argsort(five.order)
                by = np.lexsort((rank[tally.speaker], tally.cell))
                again = replace(
                    tally,
                    speaker=tally.speaker[by],
                    errors=tally.errors[..., by],
                    trials=tally.trials[..., by],
                )
                null = permuted(again, None, REPLICATES, rng)
            else:
                null = gamma_multinomial(moments(tally), REPLICATES, rng)
            rates = tally.sum_by_cell(tally.errors) / tally.sum_by_cell(tally.trials)
            found[metric] = rates, null
        return found

    return made


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


def check(row, wanted, value):
    assert row["value"] == pytest.approx(value)
    assert row["floor_mean"] == pytest.approx(float(wanted.mean))
    assert row["floor_95"] == pytest.approx(float(wanted.q95))
    assert row["p"] == pytest.approx(float(wanted.p))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
@pytest.mark.parametrize("measure", MEASURES)
def test_floors_of_one_rate_are_those_of_core(audit, of_point, metric, measure):
    if measure in {"fdr_fpd", "fdr_fnd"} - {{"fpr": "fdr_fpd", "fnr": "fdr_fnd"}[metric]}:
        assert len(audit.meta.where(measure=measure, metric=metric)) == 0
        return
    of, checked = MEASURES[measure], 0
    for row in audit.meta.where(measure=measure, metric=metric, gated=False, zero="none"):
        if row["operating_point"] == "":
            continue
        rates, null = of_point(row["operating_point"])[metric]
        draws = null.nonzero_rates if measure in OF_LOGS else null.rates
        value = of(rates)
        check(row, floor(value, [of(one) for one in draws]), value)
        checked += 1
    assert checked == len(audit.operating_points)


def test_floors_of_both_rates_are_of_independent_draws(audit, of_point):
    for point in {row["operating_point"] for row in audit.operating_points}:
        both = of_point(point)
        fpr, fnr = (both[metric] for metric in ("fpr", "fnr"))
        where = {"operating_point": point, "gated": False, "zero": "none"}

        def fdr(x, y):
            return 1 - 0.25 * spread(x) - 0.75 * spread(y)

        def garbe(x, y):
            return 0.25 * gini(x) + 0.75 * gini(y)

        for measure, of, is_high in (("fdr", fdr, True), ("garbe", garbe, False)):
            value = of(fpr[0], fnr[0])
            draws = list(map(of, fpr[1].rates, fnr[1].rates))
            (row,) = audit.meta.where(**where, measure=measure, alpha=0.25)
            check(row, floor(value, draws, higher_is_fairer=is_high), value)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["fpr", "fnr"])
def test_tau_log_is_the_spread_that_fair_systems_do_not_have(audit, of_point, metric):
    for row in audit.meta.where(measure="tau_log", metric=metric, gated=False):
        rates, null = of_point(row["operating_point"])[metric]
        fair = np.var(np.log(null.nonzero_rates), axis=1, ddof=1)
        own = np.var(np.log(rates), ddof=1)
        assert row["value"] == pytest.approx(math.sqrt(max(0, own - fair.mean())))
        assert row["p"] == pytest.approx((1 + (fair >= own).sum()) / (REPLICATES + 1))
        left = np.sqrt(np.maximum(fair - fair.mean(), 0))
        assert row["floor_mean"] == pytest.approx(left.mean())
        assert row["groups"] == len(SIZES)


def test_variance_of_the_rates_less_that_of_their_speakers(audit):
    for metric in ("fpr", "fnr"):
        rows = audit.groups.where(metric=metric, operating_point=POINTS[0], grouping="group")
        rates, n_eff = np.array([[r["value"], r["n_eff"]] for r in rows][:-1]).T
        noise = (rates * (1 - rates) / n_eff).mean()
        where = {"metric": metric, "operating_point": POINTS[0], "gated": False}
        (row,) = audit.meta.where(**where, measure="var_corrected")
        assert row["value"] == pytest.approx(np.var(rates, ddof=1) - noise)
        (row,) = audit.meta.where(**where, measure="var_double_corrected")
        assert row["low"] <= row["value"] <= row["high"]


def test_gates_keep_small_groups_out_of_headlines(audit, of_point):
    for metric in ("fpr", "fnr"):
        lacks = {
            row["group"]: row["gates"]
            for row in audit.verdicts.where(metric=metric, operating_point=POINTS[0])
            if row["group"]
        }
        assert {group for group, text in lacks.items() if text} == {"c"}
        assert lacks["c"].startswith("6 speakers")
        assert ("15 pairs of speakers" in lacks["c"]) == (metric == "fpr")
        rates, null = of_point(POINTS[0])[metric]
        kept = [group != "c" for group in SIZES]
        (row,) = audit.meta.where(
            measure="gini", metric=metric, gated=True, zero="none", operating_point=POINTS[0]
        )
        value = gini(rates[kept])
        assert row["groups"] == 4
        check(row, floor(value, [gini(one[kept]) for one in null.rates]), value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "kept"),
    [("speakers=6", "abcde"), ("speakers=12", "ade"), ("speakers=13", "d"), ("errors=10000", "")],
)
def test_gates_can_be_set(five, gate, kept):
    gates = [gate] if gate.startswith("errors") else [gate, "pairs=1"]
    audit = five.audit(gates=gates, reference="pooled")
    (row,) = audit.meta.where(
        measure="gini", metric="fnr", gated=True, operating_point=POINTS[0], zero="none"
    )
    assert row["groups"] == len(kept)
    rows = audit.verdicts.where(metric="fnr", operating_point=POINTS[0])
    assert {r["group"] for r in rows if r["group"] and not r["gates"]} == {*kept}
    (whole,) = audit.meta.where(
        measure="gini", metric="fnr", gated=False, operating_point=POINTS[0], zero="none"
    )
    assert whole["groups"] == len(SIZES)


def test_measures_of_logarithms_have_no_p_where_a_group_has_no_errors(people):
    made = people(
        {"a": 10, "b": 10, "c": 10},
        fnr=lambda group, i: (0 if group == "a" else i % 6, 20),
        fpr=lambda group, i: (i % 2, 5),
    )
    audit = made.audit(zero=["none", "jeffreys"])
    where = {"metric": "fnr", "operating_point": POINTS[0], "gated": False}
    for measure in ("max_min", "nrb", "max_geomean"):
        (row,) = audit.meta.where(**where, measure=measure, zero="none")
        assert row["p"] is None, measure
        (row,) = audit.meta.where(**where, measure=measure, zero="jeffreys")
        assert 0 < row["p"] <= 1
    (row,) = audit.meta.where(**where, measure="gini", zero="none")
    assert 0 < row["p"] <= 1
    fpr = {**where, "metric": "fpr"}
    (row,) = audit.meta.where(**fpr, measure="max_min", zero="none")
    assert 0 < row["p"] <= 1


@pytest.mark.slow
def test_no_floor_is_shown_where_no_draw_is_valid(people):
    few = people({"a": 10, "b": 10}, fnr=lambda group, i: (i == 3, 10), fpr=lambda g, i: (i < 4, 5))
    made = people(SIZES, fnr=lambda group, i: (i % 3, 6))
    for i in range(10):
        made.nontarget(f"a{i:02d}", f"b{i:02d}", 1, 3)
    crossed = made.audit(allocate="enrol")
    for audit, metric in ((few.audit(), "fpr"), (crossed, "fpr")):
        rows = audit.meta.where(measure="gini", metric=metric, operating_point=POINTS[0]).rows()
        assert rows
        for row in rows:
            assert (row["floor_mean"], row["p"]) == (None, None)
    rows = crossed.meta.where(measure="tau_log", metric="fpr", operating_point=POINTS[0]).rows()
    assert {row["reason"] for row in rows} == {
        "no valid draws of a fair system: speakers are in several groups"
    }
    rows = few.audit().meta.where(measure="tau_log", operating_point=POINTS[0]).rows()
    assert {row["reason"] for row in rows} == {"fewer than three groups"}
