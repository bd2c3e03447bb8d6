"""Calibrations: whom they serve, and that no speaker is judged by a calibrator found on it."""

import importlib.resources
import json

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.report.catalogue import reason_text

OPTIONS = {"by": "gender", "folds": 6}


@pytest.fixture(scope="module")
def calibration(shifted):
    trials, speakers = shifted
    return pv.calibrate(trials, speakers=speakers, **OPTIONS)


@pytest.fixture(scope="module")
def written(calibration, tmp_path_factory):
    path = tmp_path_factory.mktemp("calibrators") / "calibrator.json"
    calibration.save(path)
    return path


def rows(calibration, rule):
    return {row["group"]: row for row in calibration.groups.subset(rule=rule).rows()}


def test_groups_that_are_scored_apart_gain_by_calibrators_of_their_own(calibration):
    common, group_rows = rows(calibration, "common"), rows(calibration, "per group")
    assert calibration.apart == ["f", "m"]
    for group in "fm":
        assert group_rows[group]["gain_low"] > 0
        assert group_rows[group]["cal_loss"] < common[group]["cal_loss"]
        assert group_rows[group]["cllr"] < common[group]["cllr"]
        plain = (
            group_rows[group]["cllr"] - group_rows[group]["min_cllr"]
        )  # with the optimism of the minimum
        assert 0 <= group_rows[group]["cal_loss"] < plain


def test_a_shift_between_groups_comes_out_as_the_distance_of_their_lines(calibration):
    group_rows = rows(calibration, "per group")
    zero = {group: -group_rows[group]["offset"] / group_rows[group]["slope"] for group in "fm"}
    assert zero["m"] - zero["f"] == pytest.approx(1, abs=0.2)


@pytest.mark.slow
def test_groups_that_are_alike_keep_the_common_calibrator(alike):
    trials, speakers = alike
    calibration = pv.calibrate(trials, speakers=speakers, **OPTIONS)
    assert calibration.apart == []
    assert calibration.calibrator.groups == {}
    (gain,) = calibration.rules.subset(rule="per group").rows()
    assert gain["gain_low"] < 0 < gain["gain_high"]


def test_noise_looks_like_a_gain_only_to_those_it_was_found_on(alike):
    trials, speakers = alike
    calibration = pv.calibrate(trials, speakers=speakers, method="isotonic", **OPTIONS)
    for group, is_own in (("f", trials["enrol"] < "p30"), ("m", trials["enrol"] >= "p30")):
        group_trials = trials.filter(is_own)
        group_cllr, common_cllr = (
            float(pv.cllr(line.llr(group_trials["score"].to_numpy()), group_trials["label"]))
            for line in (calibration.lines[group], calibration.lines["everyone"])
        )
        assert group_cllr < common_cllr
        assert rows(calibration, "per group")[group]["gain"] < 0


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing(shifted, calibration):
    trials, speakers = shifted
    reversed_calibration = pv.calibrate(trials.reverse(), speakers=speakers, **OPTIONS)
    assert reversed_calibration.to_dict()["tables"] == calibration.to_dict()["tables"]


def test_what_is_said_is_so_where_a_group_has_its_own(calibration):
    off = {}
    for rule in ("common", "per group"):
        bins = calibration.reliability.subset(rule=rule, group="m").rows()
        near = [row for row in bins if min(row["target"], row["nontarget"]) >= 5]
        for name in ("target", "nontarget"):
            assert sum(row[name] for row in bins) == rows(calibration, rule)["m"][name]
        off[rule] = np.mean([abs(row["so"] - row["said"]) for row in near])
    assert off["per group"] < 0.5 < off["common"]


@pytest.mark.slow
def test_likelihood_ratios_are_judged_as_they_are_and_other_scores_beside(shifted):
    trials, speakers = shifted
    half = trials.with_columns(score=pl.col("score") / 2)
    calibration = pv.calibrate(trials, speakers=speakers, llr=True, normalised=half, **OPTIONS)
    rules = {row["rule"]: row for row in calibration.rules.rows()}
    everyone = rows(calibration, "as scored")["everyone"]
    assert everyone["cllr"] == pytest.approx(float(pv.cllr(trials["score"], trials["label"])))
    assert rules["as scored"]["gain_high"] < 0
    assert rules["normalised"]["cllr"] == pytest.approx(rules["common"]["cllr"], abs=1e-9)


# ---- the file ----


def test_a_calibrator_that_is_written_is_read_and_applied_as_it_was(
    shifted, calibration, written, tmp_path
):
    trials, speakers = shifted
    with_more = trials.with_columns(device=pl.lit("phone"))
    applied = pv.apply_calibrator(with_more, written, tmp_path / "llr.csv", speakers=speakers)
    ratios = pl.read_csv(tmp_path / "llr.csv")
    assert applied.rows == applied.own == ratios.height
    assert ratios["enrol"].to_list() == trials["enrol"].to_list()
    assert ratios["device"].unique().to_list() == ["phone"]
    group = ["m" if name >= "p30" else "f" for name in trials["enrol"].str.head(3)]
    expected = calibration.calibrator.llr(trials["score"], group)
    np.testing.assert_allclose(ratios["score"], expected)
    audit = pv.audit(
        tmp_path / "llr.csv", speakers=speakers, by="gender", llr=True, intervals=False
    )
    (loss,) = audit.groups.subset(metric="cal_loss", group="pooled").rows()
    assert loss["value"] < 0.02


@pytest.mark.slow
def test_one_calibrator_for_all_needs_no_group_and_no_label(alike, tmp_path):
    trials, speakers = alike
    pv.calibrate(trials, speakers=speakers, method="isotonic", **OPTIONS).save(tmp_path / "c.json")
    bare = trials.drop("label").with_columns(
        score=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("score")
    )
    pv.apply_calibrator(bare, tmp_path / "c.json", tmp_path / "llr.parquet")
    ratios = pl.read_parquet(tmp_path / "llr.parquet")
    assert ratios.columns == ["enrol", "test", "score"]
    assert ratios["score"].null_count() == 1
    assert ratios["score"][3] is None


@pytest.mark.slow
def test_distances_are_negated_as_when_they_were_calibrated(alike, tmp_path):
    trials, speakers = alike
    far = trials.with_columns(score=-pl.col("score"))
    calibrator = pv.calibrate(trials, speakers=speakers, **OPTIONS).calibrator
    distance_calibrator = pv.calibrate(
        far, speakers=speakers, orientation="distance", **OPTIONS
    ).calibrator
    np.testing.assert_allclose(
        distance_calibrator.llr(far["score"]), calibrator.llr(trials["score"])
    )


@pytest.fixture
def is_valid(optional):
    """Whether entries are a calibrator by the schema."""
    schema_file = importlib.resources.files("parivox.decide") / "calibrator.schema.json"
    return optional("jsonschema").Draft202012Validator(json.loads(schema_file.read_text())).is_valid


@pytest.mark.slow
def test_what_is_written_is_right_by_the_schema(shifted, written, is_valid):
    trials, speakers = shifted
    steps = pv.calibrate(trials, speakers=speakers, method="isotonic", **OPTIONS).calibrator
    assert is_valid(json.loads(written.read_text()))
    assert is_valid(json.loads(steps.text()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parivox-calibrator": 2}, "is of version 2, but this Parivox reads version 1 only"),
        ({"method": "platt"}, "method is 'platt', not one of logistic, isotonic"),
        ({"side": "both"}, "side is 'both'"),
        ({"by": 3}, "'by' is not a grouping"),
        ({"common": {"slope": -1, "offset": 0}}, "common is not slope and offset: two numbers"),
        ({"groups": {"f": {"slope": 1}}}, "of 'f' is not slope and offset"),
        ({"group": {}}, "'group' is not known; did you mean 'groups"),
        (
            {"method": "isotonic", "common": {"scores": [1, 0], "llrs": [0, 1]}, "groups": {}},
            "is not scores and llrs: increasing lists of the same length",
        ),
    ],
)
def test_what_is_no_calibrator_is_told_in_a_sentence(written, tmp_path, is_valid, change, message):
    entries = json.loads(written.read_text()) | change
    assert is_valid(entries) == ("increasing" in message)  # which a schema cannot tell
    (tmp_path / "c.json").write_text(json.dumps(entries))
    rows = {"enrol": ["a"], "test": ["b"], "score": [1.0]}
    with pytest.raises(pv.ConfigError, match=message):
        pv.apply_calibrator(rows, tmp_path / "c.json", tmp_path / "llr.csv")


def test_a_calibrator_with_a_key_twice_is_refused(written, tmp_path):
    text = written.read_text().replace('"by"', '"by": "age", "by"', 1)
    (tmp_path / "c.json").write_text(text)
    rows = {"enrol": ["a"], "test": ["b"], "score": [1.0]}
    with pytest.raises(pv.DataError, match=r"c\.json: has the key 'by' twice in one object"):
        pv.apply_calibrator(rows, tmp_path / "c.json", tmp_path / "llr.csv")


@pytest.mark.parametrize("text", ["", "[]", "{}", "parivox-thresholds: 1"])
def test_another_file_is_no_calibrator(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    rows = {"enrol": ["a"], "test": ["b"], "score": [1.0]}
    with pytest.raises(pv.ParivoxError, match=r"^c\.json"):
        pv.apply_calibrator(rows, tmp_path / "c.json", tmp_path / "llr.csv")


def test_what_a_calibrator_cannot_be_applied_to_is_told(shifted, written, tmp_path):
    trials, speakers = shifted
    out = tmp_path / "llr.csv"
    decided = trials.with_columns(threshold=pl.lit(1.0))
    with pytest.raises(pv.DataError, match="contains thresholds of the original scores"):
        pv.apply_calibrator(decided, written, out, speakers=speakers)
    other_speakers = speakers.with_columns(gender=pl.lit("x"))
    with pytest.raises(pv.ConfigError, match="none of the calibrator's groups by gender occurs"):
        pv.apply_calibrator(trials, written, out, speakers=other_speakers)
    with pytest.raises(pv.ConfigError, match=r"as \.csv or \.parquet"):
        pv.apply_calibrator(trials, written, tmp_path / "llr.txt", speakers=speakers)
    with pytest.raises(pv.DataError, match="no score column"):
        pv.apply_calibrator(trials.drop("score"), written, out, speakers=speakers)
    repeated = tmp_path / "repeated.csv"
    repeated.write_text("enrol,test,score,x,x\na,b,1,left,right\n")
    with pytest.raises(pv.DataError, match=r"repeated\.csv: has several columns named 'x'; rename"):
        pv.apply_calibrator(repeated, written, out, speakers=speakers)
    assert not out.exists()


def test_scores_of_another_scale_are_warned_of(shifted, written, tmp_path):
    """All ratios on one side of 0, as where a calibrator of another model is applied."""
    trials, speakers = shifted
    warnings = []
    for n, shift in enumerate((0, 1000, -1000)):
        scores = trials.with_columns(pl.col("score") + shift)
        applied = pv.apply_calibrator(scores, written, tmp_path / f"{n}.csv", speakers=speakers)
        warnings.append([line.partition(". ")[0] for line in applied.told[1:]])
    assert warnings == [
        [],
        ["Data warning: no log-likelihood ratio is below 0"],
        ["Data warning: no log-likelihood ratio is above 0"],
    ]


# ---- what is refused ----


def test_one_class_decisions_and_infinite_scores_are_refused(shifted):
    trials, speakers = shifted
    options = {"speakers": speakers, **OPTIONS}
    with pytest.raises(pv.DataError, match="no nontarget trials"):
        pv.calibrate(trials.filter(label=1), **options)
    decided = trials.drop("score").with_columns(decision=pl.lit("accept"))
    with pytest.raises(pv.DataError, match="contains decisions without scores"):
        pv.calibrate(decided, **options)
    infinite = trials.with_columns(
        score=pl.when(pl.int_range(pl.len()) == 0).then(float("inf")).otherwise("score")
    )
    with pytest.raises(pv.DataError, match="infinite scores"):
        pv.calibrate(infinite, **options)


@pytest.mark.parametrize("find", [pv.thresholds, pv.calibrate])
def test_lists_beyond_memory_and_counts_are_refused(shifted, tmp_path, monkeypatch, find):
    trials, speakers = shifted
    pv.count(trials, speakers=speakers, by="gender", step=0.1).save(tmp_path / "some.counts")
    with pytest.raises(pv.ConfigError, match="score counts contain no speakers"):
        find(tmp_path / "some.counts", by="gender")
    for most in ("IN_MEMORY_TRIALS", "SHARD_TRIALS"):
        monkeypatch.setattr(f"parivox.data.trial_shards.{most}", 100)
    with pytest.raises(pv.ConfigError, match=r"2,130 trials are too many to fit in memory; use"):
        find(trials, speakers=speakers, **OPTIONS)


@pytest.mark.slow
def test_a_group_too_small_or_without_a_line_keeps_the_common_calibrator(shifted):
    trials, speakers = shifted
    few = speakers.with_columns(
        gender=pl.when(pl.col("speaker") < "p04").then(pl.lit("x")).otherwise("gender")
    )
    calibration = pv.calibrate(trials, speakers=few, **OPTIONS)
    group_rows, common = rows(calibration, "per group")["x"], rows(calibration, "common")["x"]
    assert reason_text(group_rows) == "2 speakers remain for the fit; 5 are needed"
    assert group_rows["cllr"] == common["cllr"]
    assert "x" not in calibration.apart
    of_m = pl.col("enrol") >= "p30"
    parted = trials.with_columns(
        score=pl.when(of_m & (pl.col("label") == 1)).then(pl.col("score") + 50).otherwise("score")
    )
    calibration = pv.calibrate(parted, speakers=speakers, **OPTIONS)
    reason = reason_text(rows(calibration, "per group")["m"])
    assert reason == "every target trial outscores all nontarget trials, so the slope is unlimited"


@pytest.mark.slow
def test_people_alone_in_their_group_and_of_unknown_group_take_the_common_calibrator(shifted):
    trials, speakers = shifted
    regrouped_speakers = speakers.with_columns(
        gender=pl.when(pl.col("speaker") == "p00")
        .then(pl.lit("x"))
        .when(pl.col("speaker") != "p01")
        .then("gender")
    )
    calibration = pv.calibrate(trials, speakers=regrouped_speakers, **OPTIONS)
    group_rows = rows(calibration, "per group")
    assert reason_text(group_rows["x"]) == "0 speakers remain for the fit; 5 are needed"
    assert group_rows["x"]["cllr"] == rows(calibration, "common")["x"]["cllr"]
    assert group_rows["x"]["cllr_low"] is None
    assert calibration.record["unknown"] > 0
    assert group_rows["everyone"]["target"] == 360


# ---- the command ----


@pytest.fixture
def files(shifted, tmp_path):
    trials, speakers = shifted
    trials.write_csv(tmp_path / "scores.csv")
    speakers.write_csv(tmp_path / "people.csv")
    return tmp_path


@pytest.mark.slow
def test_the_command_writes_applies_and_draws(run, files):
    options = ["--speakers", "people.csv", "--by", "gender", "--folds", "6", "--quiet"]
    summary = run("calibrate", "scores.csv", *options, "--out", "c.json", "--figure", "r.json")
    assert "The calibrators of 2 of 2 groups differ from the common one: f, m." in summary
    assert "Calibrator: c.json" in summary
    chart = json.loads((files / "r.json").read_text())
    assert "vega-lite" in chart["$schema"]
    summary = run("calibrate", "scores.csv", "--apply", "c.json", "--speakers", "people.csv",
               "--out", "llr.csv")  # fmt: skip
    assert "rows in llr.csv: natural-log likelihood ratios" in summary
    assert run("audit", "llr.csv", "--speakers", "people.csv", "--by", "gender", "--llr",
               "--no-intervals", "--quiet")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scores.csv", "--apply", "c.json"], "apply needs a file for the log-likelihood ratios"),
        (
            ["scores.csv", "--apply", "c.json", "--out", "l.csv", "--by", "gender"],
            "by: cannot be used with --apply",
        ),
        (
            ["scores.csv", "--apply", "c.json", "--out", "l.csv", "--json"],
            "which evaluates nothing",
        ),
        (["scores.csv", "--by", "gender", "--figure", "r.txt"], "is not a chart format"),
        ([], "missing SCORES"),
    ],
)
def test_a_mistake_on_the_command_line_is_a_sentence(run, files, words, message):
    assert message in run("calibrate", *words, fails=True)
