"""Neighbours of scikit-learn and fairlearn: wrappers, scorers, transform and predict."""

import numpy as np
import pytest

import parivox as pv

LABELS = [1, 1, 1, 0, 0, 0]
SCORES = [0.9, 0.8, 0.4, 0.7, 0.3, 0.1]


def test_wrappers_take_labels_first_and_give_the_numbers_of_parivox():
    cost = pv.parse_cost("sre08")
    expected = {
        "act_cdet": pv.act_cdet(SCORES, LABELS, cost=cost),
        "auc": pv.auc(SCORES, LABELS),
        "calibration_loss": pv.calibration_loss(SCORES, LABELS),
        "cllr": pv.cllr(SCORES, LABELS),
        "dprime": pv.dprime(SCORES, LABELS),
        "eer": pv.eer(SCORES, LABELS),
        "fnr_at_fpr": pv.fnr_at_fpr(SCORES, LABELS, target=0.4).value,
        "fpr_at_fnr": pv.fpr_at_fnr(SCORES, LABELS, target=0.4).value,
        "min_cdet": pv.min_cdet(SCORES, LABELS, cost=cost).value,
        "min_cllr": pv.min_cllr(SCORES, LABELS),
    }
    options = {
        "act_cdet": {"cost": "sre08"},
        "min_cdet": {"cost": "sre08"},
        "fnr_at_fpr": {"target": 0.4},
        "fpr_at_fnr": {"target": 0.4},
    }
    assert {*expected} == {*pv.sklearn.__all__} - {"make_scorer"}
    for name, number in expected.items():
        result = getattr(pv.sklearn, name)(LABELS, SCORES, **options.get(name, {}))
        assert type(result) is float
        assert result == pytest.approx(float(number), abs=0)


def test_a_group_without_target_trials_has_no_number():
    assert np.isnan(pv.sklearn.eer([0, 0], [0.1, 0.2]))


def test_scorers_are_greater_for_better_models(optional):
    optional("sklearn")
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(0)
    label = np.repeat([0, 1], 50)
    features = draw.normal(size=(100, 1)) + label[:, None]
    model = LogisticRegression().fit(features, label)
    scores = model.decision_function(features)
    assert pv.sklearn.make_scorer("auc")(model, features, label) == pv.auc(scores, label)
    scorer = pv.sklearn.make_scorer("fnr_at_fpr", target=0.1)
    by_function = pv.sklearn.make_scorer(pv.sklearn.fnr_at_fpr, target=0.1)
    assert by_function(model, features, label) == scorer(model, features, label)
    assert scorer(model, features, label) == -pv.fnr_at_fpr(scores, label, target=0.1).value
    with pytest.raises(pv.ConfigError, match="metric='ere' is not known; did you mean 'eer'"):
        pv.sklearn.make_scorer("ere")


def test_a_metric_frame_has_the_rates_of_groups(optional):
    fairlearn = optional("fairlearn.metrics")
    frame = fairlearn.MetricFrame(
        metrics=pv.sklearn.eer,
        y_true=LABELS * 2,
        y_pred=[*SCORES, 0.9, 0.8, 0.7, 0.3, 0.2, 0.1],
        sensitive_features=["f"] * 6 + ["m"] * 6,
    )
    assert frame.by_group.to_dict() == {"f": pytest.approx(1 / 3), "m": 0.0}


@pytest.fixture(scope="module")
def trials():
    """Scores of 80 speakers; those of women are lower by 1.5."""
    draw = np.random.default_rng(3)
    enrol = np.repeat(np.arange(80), 24)
    test = np.where(
        np.arange(enrol.size) % 2, enrol, (enrol + 2 * draw.integers(1, 30, enrol.size)) % 80
    )
    label = (enrol == test).astype(int)
    score = draw.normal(3.0 * label - 1.5 * (enrol % 2), 1)
    return {
        "enrol": [f"s{speaker:02}/e" for speaker in enrol],
        "test": [f"s{speaker:02}/{i}" for i, speaker in enumerate(test)],
        "score": score,
        "label": label,
    }


SPEAKERS = {"id": [f"s{speaker:02}" for speaker in range(80)], "gender": ["m", "f"] * 40}


def test_a_calibration_transforms_scores(trials):
    calibration = pv.calibrate(trials, SPEAKERS, by="gender", folds=4)
    assert calibration.apart == ["f", "m"]
    scores, groups = trials["score"][:4], ["f", "m", None, "f"]
    ratios = calibration.transform(scores, groups)
    assert ratios.tolist() == calibration.calibrator.llr(scores, groups).tolist()
    with pytest.raises(pv.DataError, match="give the group of each trial"):
        calibration.transform(scores)
    with pytest.raises(pv.DataError, match="groups: 'w' is not known; available: f, m"):
        calibration.transform(scores, ["f", "m", None, "w"])
    with pytest.raises(pv.DataError, match=r"have different lengths .1 and 4"):
        calibration.transform(scores, ["f"])


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_thresholds_predict_decisions(sign, trials):
    trials = {**trials, "score": sign * trials["score"]}
    orientation = "similarity" if sign == 1 else "distance"
    chosen = pv.thresholds(trials, SPEAKERS, by="gender", aim="fpr=0.1", orientation=orientation)
    assert {*chosen.apart} == {"f", "m"}
    scores = np.array([-0.7, -0.7, chosen.record["common"]])
    decisions = chosen.predict(sign * scores, ["f", "m", None])
    expected = scores >= [chosen.apart["f"], chosen.apart["m"], chosen.record["common"]]
    assert decisions.tolist() == expected.astype(int).tolist()
    with pytest.raises(pv.DataError, match="group-specific thresholds; give the group"):
        chosen.predict(scores)
    with pytest.raises(pv.DataError, match="contain NaN"):
        chosen.predict([np.nan], ["f"])
