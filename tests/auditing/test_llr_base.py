"""Log likelihood ratios to other bases, and scores that are none."""

import json
import math

import numpy as np
import pytest
from tests.sentences import in_words, item_in_words, note_in_words

import parivox as pv
from parivox.core.costs import bayes_threshold, parse_cost
from parivox.core.counts import Counts
from parivox.data.value_warnings import llr_warnings
from parivox.report.definitions import definitions

RANGES = {
    "probabilities": (lambda s: 1 / (1 + np.exp(-s)), "all between 0 and 1"),
    "shifted cosines": (lambda s: (1 + np.tanh(s / 9)) / 2, "all between 0 and 1"),
    "ratios": (np.exp, "none of which is negative"),
    "log probabilities": (lambda s: -np.log1p(np.exp(-s)) - 1e-9, "none of which is positive"),
    "cosines": (lambda s: np.tanh(s / 12), "all between -1 and 1"),
}
TO_10, NATURAL = ("scores that look like log-likelihood ratios to base 10",
                  "scores that look like natural log-likelihood ratios")  # fmt: skip
ALIKE = "trials, all with the same decision at a Bayes threshold"
PEOPLE = {"id": [f"p{i:02d}" for i in range(24)], "accent": ["uv"[i % 2] for i in range(24)]}
POINTS = ["bayes", "bayes:sre08", "fpr=0.02", "eer"]


def gaussian(n=4000, distance=3.0, slope=1.0, seed=5, share=0.4):
    """Log likelihood ratios of two normal distributions, which a calibration multiplies."""
    draw = np.random.default_rng(seed)
    target = (draw.random(n) < share).astype(int)
    return draw.normal(distance**2 / 2 * (2 * target - 1), distance) / slope, target


@pytest.fixture(scope="module")
def trials():
    score, target = gaussian(2400, seed=8, share=0.5)
    draw = np.random.default_rng(1)
    enrol_speaker = draw.integers(0, 24, 2400)
    test_speaker = np.where(
        target, enrol_speaker, (enrol_speaker + draw.integers(1, 24, 2400)) % 24
    )
    return {
        "enrol": [f"p{a:02d}/{a}e{i}/1" for i, a in enumerate(enrol_speaker)],
        "test": [f"p{b:02d}/{b}t{i}/1" for i, b in enumerate(test_speaker)],
        "score": score.tolist(),
        "label": target.tolist(),
    }


def scaled(trials, factor):
    return {**trials, "score": [score * factor for score in trials["score"]]}


def whats(scores, target, *more):
    return [
        in_words(warning.what)
        for warning in llr_warnings(Counts.from_scores(scores, target), *more)
    ]


def oddities(audit):
    return {
        item_in_words(row): note_in_words(row)
        for row in audit.data.subset(source="oddities").rows()
    }


# ---- another base


def numbers(audit, name):
    """What a table says of rates, costs and Cllr: scores and what is drawn at random aside."""
    columns = ("value", "fpr", "fnr", "cdet_norm", "errors", "trials")
    rows = [
        row
        for row in getattr(audit, name).rows()
        if not str(row.get("metric", "")).startswith(("shift", "thr"))
    ]
    return [float(row[key]) for row in rows for key in columns if row.get(key) is not None]


@pytest.mark.slow
@pytest.mark.parametrize("base", [2, 10])
def test_an_audit_to_another_base_is_that_of_natural_logarithms(trials, base):
    options = {"speakers": PEOPLE, "by": "accent", "operating_points": POINTS, "intervals": False,
           "cost": ["voxsrc", "sre16"]}  # fmt: skip
    natural = pv.audit(trials, llr=True, **options)
    converted = pv.audit(scaled(trials, 1 / math.log(base)), llr_base=base, **options)
    for table in ("groups", "operating_points", "bias", "meta"):
        mine, theirs = numbers(natural, table), numbers(converted, table)
        assert len(mine) == len(theirs) > 0
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9)
    for metric in ("cllr", "cal_loss", "act_cdet_norm"):
        metric_values = [
            audit.groups.subset(metric=metric).to_dict()["value"] for audit in (natural, converted)
        ]
        assert None not in metric_values[0]
        np.testing.assert_allclose(*metric_values, rtol=1e-9)
    thresholds = {
        row["operating_point"]: row["threshold"] for row in converted.operating_points.rows()
    }
    expected = math.log(bayes_cost("sre08"), base)
    assert thresholds["bayes:sre08"] == pytest.approx(expected)
    assert converted.record["options"]["llr"] is True
    assert f"multiplied by ln {base}" in json.dumps(definitions(converted))
    data_items = [item_in_words(row) for row in converted.data.subset(source="scores").rows()]
    assert f"scores multiplied by ln {base} for Cllr and Bayes thresholds" in data_items
    assert "multiplied by ln" not in str(natural.data.to_dict()) + json.dumps(natural.record)


def bayes_cost(name):
    return parse_cost(name).beta


def test_thresholds_are_exact_powers_of_the_base():
    assert bayes_threshold(parse_cost("0.001,1,0.001001001001001001"), 10) == pytest.approx(0)
    assert bayes_threshold(parse_cost("0.5,1,1000"), 10) == 3.0
    assert bayes_threshold(parse_cost("0.5,1,8"), 2) == 3.0


def test_metrics_take_the_base(trials):
    score, label = np.array(trials["score"]), trials["label"]
    tenth = score / math.log(10)
    assert pv.cllr(tenth, label, base=10) == pytest.approx(pv.cllr(score, label), rel=1e-12)
    loss = pv.calibration_loss(score, label)
    assert pv.calibration_loss(tenth, label, base=10) == pytest.approx(loss, rel=1e-9)
    cost = parse_cost("voxsrc")
    assert pv.act_cdet(tenth, label, cost=cost, base=10) == pv.act_cdet(score, label, cost=cost)


@pytest.mark.parametrize("base", [0, 1, 3, 16, -10, 2.5, True, "e", "10", math.e, math.nan])
@pytest.mark.parametrize("function", [pv.audit, pv.count, pv.calibrate])
def test_any_other_base_is_refused_in_a_sentence(trials, base, function):
    with pytest.raises(pv.ConfigError) as refused:
        function(trials, speakers=PEOPLE, by="accent", llr_base=base)
    assert str(refused.value) == (
        f"llr_base is {base!r}; give 10 or 2, or only llr=True for natural logarithms"
    )


@pytest.mark.slow
def test_counts_keep_their_base(trials, tmp_path):
    tenth = scaled(trials, 1 / math.log(10))
    for name, options in (("ten", {"llr_base": 10}), ("natural", {"llr": True}), ("none", {})):
        pv.count(tenth, speakers=PEOPLE, by="accent", withhold=0, **options).save(
            tmp_path / f"{name}.counts"
        )
    ten, natural, plain = (tmp_path / f"{name}.counts" for name in ("ten", "natural", "none"))
    expected = pv.audit(tenth, speakers=PEOPLE, by="accent", llr_base=10, intervals=False)
    for counts, options in ((ten, {}), (ten, {"llr_base": 10}), (plain, {"llr_base": 10})):
        audit = pv.audit(str(counts), intervals=False, **options)
        assert (
            audit.groups.subset(metric="cllr").to_dict()["value"]
            == expected.groups.subset(metric="cllr").to_dict()["value"]
        )
    for counts, options in (
        (natural, {"llr_base": 10}),
        (ten, {"llr": True}),
        (ten, {"llr_base": 2}),
    ):
        with pytest.raises(pv.ConfigError, match=r"llr_base: .* different bases: .*the command"):
            pv.audit(str(counts), intervals=False, **options)


@pytest.mark.slow
def test_calibrations_judge_scores_to_their_base(trials):
    options = {"speakers": PEOPLE, "by": "accent", "folds": 4}
    natural = pv.calibrate(trials, llr=True, **options).rules.subset(rule="as scored").rows()
    converted = pv.calibrate(scaled(trials, 1 / math.log(10)), llr_base=10, **options)
    (mine,), (theirs,) = natural, converted.rules.subset(rule="as scored").rows()
    assert theirs["cllr"] == pytest.approx(mine["cllr"], rel=1e-9)


# ---- scores that are no log-likelihood ratios


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("n", [200, 20_000])
def test_scores_of_another_range_are_named(kind, n):
    score, target = gaussian(n)
    change, words = RANGES[kind]
    (warning,) = whats(change(score), target)
    assert words in warning


@pytest.mark.parametrize("n", [2000, 50_000])
@pytest.mark.parametrize("distance", [1.7, 2.6, 3.3])
def test_logarithms_to_base_10_are_named(n, distance):
    score, target = gaussian(n, distance)
    assert whats(score / math.log(10), target) == [TO_10]
    assert whats(score / math.log(10), target, 10) == []
    assert whats(score, target, 10) == [NATURAL]
    assert whats(score, target) == []


@pytest.mark.parametrize("slope", [0.7, 1.0, 1.4])
@pytest.mark.parametrize("distance", [1.2, 1.7, 2.6, 3.3, 4.6])
@pytest.mark.parametrize("n", [200, 1000, 10_000])
def test_sound_ratios_are_not_named(n, distance, slope):
    costs = [parse_cost("voxsrc"), parse_cost("sre16")]
    named = [
        whats(*gaussian(n, distance, slope, seed, share), math.e, costs)
        for share in (0.1, 0.5)
        for seed in range(10)
    ]
    assert sum(map(bool, named)) <= 1


def test_real_scores_that_were_calibrated_are_not_named_and_tenths_of_them_are(bt4vt_data):
    import polars as pl

    from parivox.core.calibration import logistic

    frame = pl.read_csv(bt4vt_data / "resnetse34l_H-eval_scores.csv")
    score, target = frame["sc"].to_numpy(), frame["lab"].to_numpy()
    llr = logistic(Counts.from_scores(score, target)).llr(score)
    draw = np.random.default_rng(2)
    for n in (1000, 5000, 50_000, llr.size):
        rows = draw.choice(llr.size, n, replace=False)
        for slope in (0.7, 1, 1.4):
            assert whats(llr[rows] / slope, target[rows]) == []
        assert whats(llr[rows] / math.log(10), target[rows]) == [TO_10] or n == 1000


def test_few_trials_or_one_class_say_little():
    assert whats(np.full(9, 0.5), np.zeros(9)) == []
    assert whats([], []) == []
    assert whats(np.linspace(1, 9, 50), np.ones(50)) == []  # targets alone may all be positive
    assert whats(np.linspace(-9, -1, 50), np.zeros(50)) == []
    assert whats([-math.inf, math.inf], [0, 1]) == []


def test_bayes_thresholds_beyond_the_scores_are_named_where_scores_tell_trials_apart():
    score, target = gaussian(3000, 3.3)
    cost = [parse_cost("voxsrc")]
    assert whats(score / 12, target, math.e, cost) == [ALIKE]
    weak, classes = gaussian(3000, 0.6)
    assert whats(weak, classes, math.e, cost) == []
    (odd,) = llr_warnings(Counts.from_scores(score / 12, target), math.e, cost)
    assert "voxsrc (2.944) is above the highest score" in in_words(odd.note)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*RANGES, TO_10, ""])
def test_an_inspection_and_an_audit_name_the_same(trials, kind):
    divisor = math.log(10) if kind == TO_10 else 1
    change = RANGES[kind][0] if kind in RANGES else lambda score: score / divisor
    scores = {**trials, "score": change(np.array(trials["score"])).tolist()}
    oddity_notes = oddities(
        pv.audit(scores, speakers=PEOPLE, by="accent", llr=True, intervals=False)
    )
    oddity_notes.pop(ALIKE, None)
    assert bool(oddity_notes) == bool(kind)
    assert not oddities(pv.audit(scores, speakers=PEOPLE, by="accent", intervals=False))
    scores["llr"] = scores.pop("score")
    inspected = pv.inspect(scores, PEOPLE)
    assert {
        in_words(oddity.what): in_words(oddity.note) for oddity in inspected.files[0].warnings
    } == oddity_notes
    asks = {"": "--llr", TO_10: "--llr-base 10"}.get(kind, "--by accent")
    assert inspected.next.endswith(asks)
