"""Base metrics of groups: what they need, and what they say where that is missing."""

import math
import types

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.auditing import run
from parivox.data.table import Table
from parivox.errors import ConfigError

EVERY_EER = (
    *("linear", "nearest_max", "clova", "nearest_mean", "speechbrain"),
    *("kaldi", "nist_sre16", "rocch", "pyeer"),
)


def of_all(audit, metric, **where):
    (row,) = audit.groups.subset(metric=metric, group="all", system="T", **where)
    return row


def only(trials, label):
    rows = [i for i, y in enumerate(trials["label"]) if y == label]
    return {name: [cells[i] for i in rows] for name, cells in trials.items()}


def test_metrics_of_all_trials_are_the_public_functions(whole, trials):
    score, label = trials["score"], trials["label"]
    cost = pv.parse_cost("voxsrc")
    best = pv.min_cdet(score, label, cost=cost)
    assert of_all(whole, "min_cdet_norm", definition="voxsrc")["value"] == best.value
    assert of_all(whole, "min_cdet_norm", definition="voxsrc")["threshold"] == best.threshold
    assert of_all(whole, "auc")["value"] == pv.auc(score, label)
    assert of_all(whole, "dprime")["value"] == pv.dprime(score, label)
    assert of_all(whole, "cllr")["value"] == pv.cllr(score, label)
    assert of_all(whole, "min_cllr")["value"] == pv.min_cllr(score, label)
    act = of_all(whole, "act_cdet_norm", definition="voxsrc")
    assert act["value"] == pv.act_cdet(score, label, cost=cost)
    assert act["threshold"] == pytest.approx(math.log(19))
    loss = of_all(whole, "cal_loss")
    assert 0 <= loss["value"] < pv.calibration_loss(score, label)
    assert loss["note"] == "optimism_corrected"


def test_the_calibration_loss_without_replicates_is_the_public_function(trials, speakers):
    audit = pv.audit({"T": trials}, speakers=speakers, by="gender", llr=True, intervals=False)
    loss = of_all(audit, "cal_loss")["value"]
    plain = pv.calibration_loss(trials["score"], trials["label"])
    assert loss == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("definition", EVERY_EER)
def test_every_definition_of_the_eer(whole, trials, definition):
    observed = of_all(whole, "eer", definition=definition)["value"]
    assert observed == pv.eer(trials["score"], trials["label"], definition=definition)
    groups = whole.groups.subset(
        metric="eer", system="T", definition=definition, grouping="gender", allocation="both"
    )
    assert {row["group"] for row in groups} == {"f", "m", "pooled"}


def test_definitions_of_the_eer_differ(whole):
    values = {name: of_all(whole, "eer", definition=name)["value"] for name in EVERY_EER}
    assert len(set(values.values())) > 2
    assert max(values.values()) - min(values.values()) < 0.02


@pytest.mark.parametrize("rule", ["conservative", "nearest", "interp"])
@pytest.mark.parametrize("level", [0.01, 0.1])
def test_every_rule_of_fnr_at_an_fpr(whole, trials, rule, level):
    row = of_all(whole, "fnr_at_fpr", definition=f"{level} {rule}")
    expected = pv.fnr_at_fpr(trials["score"], trials["label"], target=level, rule=rule)
    assert row["value"] == expected.value
    if rule != "interp":
        assert row["threshold"] == expected.threshold


@pytest.mark.parametrize("rule", ["conservative", "nearest", "interp"])
def test_every_rule_of_fpr_at_an_fnr(whole, trials, rule):
    row = of_all(whole, "fpr_at_fnr", definition=f"0.05 {rule}")
    expected = pv.fpr_at_fnr(trials["score"], trials["label"], target=0.05, rule=rule)
    assert row["value"] == expected.value


def test_costs_at_a_point_follow_from_its_rates(whole):
    for row in whole.operating_points.subset(system="T"):
        point = row["operating_point"]
        raw = of_all(whole, "cdet_raw", definition="voxsrc", operating_point=point)["value"]
        assert raw == pytest.approx(0.05 * row["fnr"] + 0.95 * row["fpr"], rel=1e-12)
        norm = of_all(whole, "cdet_norm", definition="voxsrc", operating_point=point)["value"]
        assert norm == pytest.approx(raw / 0.05, rel=1e-12)
        assert norm == pytest.approx(row["cdet_norm"], rel=1e-12)
        raw = of_all(whole, "cdet_raw", definition="sre08", operating_point=point)["value"]
        assert raw == pytest.approx(10 * 0.01 * row["fnr"] + 0.99 * row["fpr"], rel=1e-12)
        half = of_all(whole, "hter", operating_point=point)["value"]
        assert half == pytest.approx((row["fnr"] + row["fpr"]) / 2, rel=1e-12)


def test_shifts_are_differences_to_pooled(whole, trials, speakers):
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    own, pooled = [], []
    for enrol, _, score, label in zip(*trials.values(), strict=True):
        if label:
            pooled.append(score)
            if gender[enrol.split("/")[0]] == "f":
                own.append(score)
    filters = {"system": "T", "grouping": "gender", "allocation": "both", "metric": "shift_target"}
    rows = {r["definition"]: r for r in whole.groups.subset(**filters, group="f")}
    expected = np.mean(own) - np.mean(pooled)
    assert rows["mean"]["value"] == pytest.approx(expected, abs=1e-12)
    assert len(rows) > 3
    for row in whole.groups.subset(**filters, group="pooled"):
        assert row["value"] == 0


def test_without_llr_what_needs_it_is_missing_with_that_reason(small):
    for metric in ("cllr", "cal_loss", "act_cdet_norm"):
        rows = small.groups.subset(metric=metric).rows()
        assert rows
        for row in rows:
            assert row["value"] is None
            assert row["reason"] == "not_declared_llr"
    for row in small.groups.subset(metric="min_cllr"):
        assert 0 < row["value"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "lacks", "kept", "lost"),
    [(1, "no_nontarget_trials", "fnr", "fpr"), (0, "no_target_trials", "fpr", "fnr")],
)
def test_lists_of_one_class(trials, speakers, label, lacks, kept, lost):
    audit = pv.audit(
        only(trials, label),
        speakers=speakers,
        by=["gender", "gender+nation"],
        operating_points=[f"{kept}=0.1", f"{lost}=0.1", "threshold=1", "eer", "min-cdet", "bayes"],
        llr=True,
        sweep="fpr=0.01:0.1:log3",
        compat="bt4vt",
        reference=["pooled", "macro", "geomean", "best", "f"],
        zero=["none", "jeffreys", "nist"],
        metrics={"mine": lambda c: c.fpr + c.fnr},
    )
    points = {row["operating_point"]: row for row in audit.operating_points}
    assert points[f"{kept}=0.1"]["threshold"] is not None
    for text in (f"{lost}=0.1", "eer", "min-cdet"):
        assert points[text]["threshold"] is None
        assert points[text]["reason"] == lacks
    for row in audit.groups:
        reported = row["definition"].endswith("bt4vt")
        if row["metric"] == kept and row["operating_point"] in {f"{kept}=0.1", "threshold=1"}:
            assert reported or row["value"] == row["errors"] / row["trials"]
        elif row["metric"] in {"eer", "auc", "dprime", "min_cllr", "cllr", "hter", lost}:
            assert row["value"] is None
            assert row["reason"]
    single = audit.meta.subset(measure="max_min", metric=kept, operating_point="threshold=1").rows()
    assert any(row["value"] is not None for row in single)
    for row in audit.meta.subset(metric="fpr+fnr"):
        assert row["value"] is None or row["reason"]
    assert len(audit.det) == 0
    audit.to_json()


@pytest.mark.slow
@pytest.mark.parametrize(("label", "text"), [(0, "fpr=0.01"), (1, "fnr=0.01")])
def test_lists_of_one_class_have_a_default_point(trials, speakers, label, text):
    audit = pv.audit(only(trials, label), speakers=speakers, by="gender")
    (point,) = audit.operating_points
    assert point["operating_point"] == text
    assert point["threshold"] is not None


@pytest.mark.slow
def test_infinite_scores_are_always_accepted_or_rejected():
    audit = pv.audit(
        {
            "enrol": ["a/1", "a/2", "a/1", "a/2"],
            "test": ["a/3", "a/3", "b/1", "b/1"],
            "score": [math.inf, 1.0, -math.inf, math.inf],
        },
        speakers={"id": ["a", "b"], "g": ["x", "y"]},
        by="g",
        operating_points=["threshold=1e300", "eer", "min-cdet"],
    )
    (fpr,) = audit.groups.subset(group="all", metric="fpr", operating_point="threshold=1e300")
    (fnr,) = audit.groups.subset(group="all", metric="fnr", operating_point="threshold=1e300")
    assert (fpr["errors"], fnr["errors"]) == (1, 1)
    for row in audit.groups.subset(metric="shift_target"):
        assert row["value"] is not None or row["reason"]
    audit.to_json()


# ---- a user's own metrics


@pytest.mark.slow
def test_a_metric_at_the_operating_points(small, trials, speakers):
    audit = pv.audit(
        trials,
        speakers=speakers,
        by="gender+nation",
        operating_points=["threshold=1.25", "eer"],
        metrics={"half": lambda c: (c.fpr + c.fnr) / 2},
    )
    mine = [row["value"] for row in audit.groups.subset(metric="half")]
    assert mine == [row["value"] for row in audit.groups.subset(metric="hter")]
    for table in (audit.bias, audit.meta):
        mine, hter = (
            table.subset(metric=metric).to_polars().drop("metric") for metric in ("half", "hter")
        )
        if "reference" in mine.columns:  # of a metric that is no sum of rates, others are not known
            others = mine.filter(reference="others")
            assert others["value"].null_count() == others.height > 0
            assert {*others["reason"]} == {"undefined_reference", "undefined_in_every_group"}
            mine, hter = (one.filter(pl.col("reference") != "others") for one in (mine, hter))
        assert mine.height
        assert mine.equals(hter)


@pytest.mark.slow
def test_a_metric_of_the_whole_curve(trials, speakers):
    audit = pv.audit(
        trials,
        speakers=speakers,
        by="gender",
        operating_points="eer",
        metrics={"worst": lambda c: np.minimum(c.fpr, c.fnr).max(axis=-1)},
    )
    rows = {row["group"]: row for row in audit.groups.subset(metric="worst")}
    assert set(rows) == {"f", "m", "pooled", "all"}
    for row in rows.values():
        assert row["operating_point"] == row["definition"] == ""
        assert 0 < row["value"] < 0.5
    (ratio,) = audit.bias.subset(
        metric="worst", measure="ratio", reference="pooled", group="f", zero="none"
    )
    assert ratio["value"] == rows["f"]["value"] / rows["pooled"]["value"]
    assert len(audit.meta.subset(metric="worst", measure="max_min", gated=False)) == 1


@pytest.mark.slow
def test_a_metric_sees_integer_counts_with_a_group_axis(trials, speakers):
    seen = []

    def spy(curve):
        seen.append((curve.fp.dtype, curve.fp.shape, curve.n_target.shape))
        return curve.fnr

    options = {"speakers": speakers, "by": "gender", "operating_points": "eer"}
    options["metrics"] = {"spy": spy}
    pv.audit(trials, **options, intervals=False)
    assert {*seen} == {(np.dtype(np.int64), (1, 1), (1,))}
    seen.clear()
    audit = pv.audit(trials, **options, replicates=60)
    many = [(kind, shape, n) for kind, shape, n in seen if len(shape) > 2]
    assert many
    assert all(kind.kind == "i" and shape[:2] == (60, 1) for kind, shape, _ in many)
    assert all(n == (60, 1) for _, _, n in many)
    for mine, fnr in zip(*(audit.groups.subset(metric=m) for m in ("spy", "fnr")), strict=True):
        assert mine["low"] < mine["value"] == fnr["value"] < mine["high"]
        assert mine["interval"] == "bootstrap"


def entry(name, function):
    def load():
        if isinstance(function, Exception):
            raise function
        return function

    return types.SimpleNamespace(name=name, load=load, value="mine:metric")


@pytest.mark.slow
def test_a_metric_by_entry_point(monkeypatch, tmp_path, trials, speakers):
    (tmp_path / "mine_1.py").write_text("def twice(counts):\n    return counts.fnr * 2\n")
    told = tmp_path / "mine-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[parivox.metrics]\nmine = mine_1:twice\n")
    monkeypatch.syspath_prepend(tmp_path)
    audit = pv.audit(trials, speakers=speakers, by="gender", operating_points="eer")
    mine = [row["value"] for row in audit.groups.subset(metric="mine")]
    assert mine == [2 * row["value"] for row in audit.groups.subset(metric="fnr")]
    assert mine


def test_an_entry_point_that_cannot_be_loaded(monkeypatch, trials, speakers):
    broken = [entry("mine", ImportError("no such thing"))]
    monkeypatch.setattr(run, "entry_points", lambda: broken)
    with pytest.raises(ConfigError, match=r"'mine'.*no such thing"):
        pv.audit(trials, speakers=speakers, by="gender")


def raising(_):
    msg = "oh"
    raise ZeroDivisionError(msg)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda c: np.zeros((2, 3)), r"'mine' returned shape \(2, 3\)"),
        (lambda c: 0.5, r"'mine' returned shape \(\)"),
        (lambda c: c.fpr[0], r"'mine' returned shape"),
        (lambda c: ["x"], "'mine' failed"),
        (lambda c: None, "'mine'"),
        (raising, "'mine' failed.*oh"),
        (lambda c: c.nothing, "'mine' failed"),
    ],
)
def test_a_wrong_metric_is_told_in_one_sentence(trials, speakers, function, words):
    with pytest.raises(ConfigError, match=words) as raised:
        pv.audit(
            trials,
            speakers=speakers,
            by="gender",
            operating_points=["eer", "threshold=1"],
            metrics={"mine": function},
        )
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["fpr", "eer", "a+b"])
def test_a_metric_takes_no_built_in_name(trials, speakers, name):
    with pytest.raises(ConfigError, match="another name"):
        pv.audit(trials, speakers=speakers, by="gender", metrics={name: lambda c: c.fpr})


@pytest.mark.slow
def test_undefined_values_of_a_metric_are_missing(trials, speakers):
    audit = pv.audit(
        trials,
        speakers=speakers,
        by="gender",
        operating_points="eer",
        metrics={"mine": lambda c: c.fpr * np.nan},
    )
    for row in audit.groups.subset(metric="mine"):
        assert row["value"] is None
        assert row["reason"]


def test_tables_take_no_nan(whole):
    for table in whole.tables().values():
        assert isinstance(table, Table)
        frame = table.to_polars()
        for column in frame.iter_columns():
            if column.dtype.is_float():
                assert not column.is_nan().any()
