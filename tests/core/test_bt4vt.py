"""bt4vt 1.0.1's rules against scikit-learn and against bt4vt itself."""

from __future__ import annotations

import csv
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from parivox import CostModel, Counts, parse_cost
from parivox.core.bt4vt import (
    bt4vt_cdet_at,
    bt4vt_curve,
    bt4vt_eer,
    bt4vt_eer_ratio,
    bt4vt_min_cdet,
    bt4vt_rates_at,
)
from parivox.errors import ConfigError, DataError

VOXSRC = parse_cost("voxsrc")
SRE08 = parse_cost("sre08")

TOYS = {
    "plain": ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]),
    "separated": ([3.0, 2.0, 1.0, 0.0], [1, 1, 0, 0]),
    "reversed": ([0.0, 1.0, 2.0, 3.0], [1, 1, 0, 0]),
    "nontarget on top": ([5.0, 4.0, 3.0, 2.0, 1.0], [0, 1, 1, 0, 1]),
    "ties": ([1.0, 1.0, 1.0, 0.5, 0.5, 0.2], [1, 0, 1, 1, 0, 0]),
    "constant": ([1.0, 1.0, 1.0], [1, 0, 1]),
    "labels -1 and 1": ([0.1, 0.4, 0.35, 0.8], [-1, -1, 1, 1]),
    "two trials": ([0.3, 0.7], [0, 1]),
}


def random_toy(seed):
    rng = np.random.default_rng(seed)
    label = np.concatenate(([0, 1], rng.integers(0, 2, 38)))
    return np.round(rng.normal(label, 1.0), rng.integers(0, 4)), label


CASES = [*TOYS.values(), *map(random_toy, range(40))]


@pytest.fixture(scope="module")
def det_curve(optional):
    return optional("sklearn.metrics").det_curve


@pytest.fixture(scope="module")
def bt4vt(optional):
    return SimpleNamespace(metrics=optional("bt4vt.metrics"), evaluate=optional("bt4vt.evaluate"))


@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_curve_is_that_of_scikit_learn(det_curve, scores, labels):
    fpr, fnr, thresholds = det_curve(labels, scores, pos_label=1)
    curve = bt4vt_curve(Counts.from_scores(scores, labels))
    assert curve.fpr[::-1].tolist() == fpr.tolist()
    assert curve.fnr[::-1].tolist() == fnr.tolist()
    assert curve.thresholds[::-1].tolist() == thresholds.tolist()


@pytest.mark.minimal
def test_values_that_no_trial_has_change_nothing():
    counts = Counts.from_scores(*TOYS["nontarget on top"])
    shared = counts + Counts(np.array([0.0, 2.5, 9.0]), np.zeros(3, int), np.zeros(3, int))
    assert shared.values.size > counts.values.size
    for mine, theirs in zip(
        vars(bt4vt_curve(counts)).values(),
        vars(bt4vt_curve(shared)).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, theirs)  # None where there are no spoof trials


@pytest.mark.slow
@pytest.mark.parametrize("cost", [VOXSRC, SRE08, CostModel("half", (0.5,), 1.0, 3.0)])
@pytest.mark.parametrize(("scores", "labels"), CASES)
def test_every_function_is_that_of_bt4vt(bt4vt, scores, labels, cost):
    counts = Counts.from_scores(scores, labels)
    fpr, fnr, thresholds = bt4vt.evaluate.compute_fpfnth(scores, labels)

    eer, eer_threshold = bt4vt.metrics.compute_eer(fpr, fnr, thresholds)
    ours = bt4vt_eer(counts)
    assert (ours.value * 100, ours.threshold) == (eer, eer_threshold)

    numbers = cost.p_target[0], cost.c_fa, cost.c_miss
    ours = bt4vt_min_cdet(counts, cost=cost)
    assert ours == bt4vt.metrics.compute_min_cdet(fpr, fnr, thresholds, *numbers)

    for threshold in (*np.unique(scores), -10.0, 0.55, 10.0, math.inf):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inf - inf
            rates = bt4vt.metrics.get_fpfn_at_threshold(fpr, fnr, thresholds, threshold)
            value = bt4vt.metrics.compute_cdet_at_threshold(
                fpr, fnr, thresholds, threshold, *numbers
            )
        assert bt4vt_rates_at(counts, threshold)[:2] == rates
        assert bt4vt_cdet_at(counts, threshold, cost=cost).value == value


@pytest.mark.minimal
def test_nearest_threshold_may_be_far_from_the_one_asked_for():
    counts = Counts.from_scores([0.9, 0.8, 0.3, 0.1], [1, 1, 1, 0])
    assert bt4vt_rates_at(counts, 0.85) == (0.0, 0.0, 0.3)  # a third of the targets is below it
    assert counts.at([0.85]).fnr.tolist() == [2 / 3]


@pytest.mark.minimal
def test_a_curve_without_infinity_is_read_at_its_lowest_point_for_infinity():
    without = Counts.from_scores(*TOYS["plain"])
    assert bt4vt_rates_at(without, math.inf) == (0.5, 0.0, 0.35)
    having = Counts.from_scores(*TOYS["nontarget on top"])
    assert bt4vt_rates_at(having, math.inf) == (0.0, 1.0, math.inf)


@pytest.mark.minimal
@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_one_class_only_is_undefined(labels):
    counts = Counts.from_scores([0.1, 0.2], labels)
    assert bt4vt_curve(counts).thresholds.size == 0
    metrics = (
        *bt4vt_eer(counts),
        *bt4vt_min_cdet(counts, cost=VOXSRC),
        *bt4vt_rates_at(counts, 0.1),
        *bt4vt_cdet_at(counts, 0.1, cost=VOXSRC),
    )
    assert all(math.isnan(value) for value in metrics)


@pytest.mark.minimal
def test_several_cells_or_priors_are_refused():
    counts = Counts.from_scores(*TOYS["plain"])
    two = Counts(counts.values, np.stack([counts.target] * 2), np.stack([counts.nontarget] * 2))
    with pytest.raises(DataError, match="single group"):
        bt4vt_curve(two)
    with pytest.raises(ConfigError, match="mean over priors"):
        bt4vt_min_cdet(counts, cost=parse_cost("sre16"))


@pytest.mark.minimal
def test_eer_ratio_with_zeros():
    assert bt4vt_eer_ratio(0.1, 0.0) == math.inf
    assert math.isnan(bt4vt_eer_ratio(0.0, 0.0))


@pytest.fixture(scope="session")
def bt4vt_h(bt4vt_data, optional, tmp_path_factory):
    """What bt4vt writes for ResNetSE34V2 on VoxCeleb1-H, two costs, gender x nationality."""
    folder = tmp_path_factory.mktemp("bt4vt")
    config = folder / "config.yaml"
    config.write_text(
        f"""\
speaker_metadata_file: "{bt4vt_data / "vox1_meta.csv"}"
results_dir: "{folder}/"
id_column: "VoxCeleb1 ID"
select_columns: ["Gender", "Nationality"]
speaker_groups: [["Gender", "Nationality"]]
reference_filepath_column: "ref_file"
test_filepath_column: "com_file"
label_column: "lab"
scores_column: "sc"
dataset_evaluation: False
dcf_costs: [[{VOXSRC.p_target[0]}, 1, 1], [{SRE08.p_target[0]}, 1, 10]]
""",
        encoding="utf-8",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = optional("bt4vt.core").SpeakerBiasTest(
            str(bt4vt_data / "resnetse34v2_H-eval_scores.csv"), str(config)
        )
        test.run_tests()
    (written,) = folder.glob("*.csv")
    with written.open(encoding="utf-8", newline="") as lines:
        rows = [(name, cells) for name, _, *cells in csv.reader(lines)][1:]
    # a group without trials is NaN throughout
    return {name: [float(cell) for cell in cells] for name, cells in rows if "NaN" not in cells}


@pytest.mark.slow
def test_a_whole_run_of_bt4vt_on_real_scores(bt4vt_h, h_counts):
    costs = VOXSRC, SRE08
    overall, groups = h_counts["V2"]
    eer, least = bt4vt_eer(overall), [bt4vt_min_cdet(overall, cost=cost) for cost in costs]
    thresholds = [point.threshold for point in (eer, *least)]
    rows = {"average": [eer.value * 100, *(point.value for point in least), 1.0, 1.0, 1.0]}
    for group, counts in groups.items():
        group_eer = bt4vt_eer(counts).value
        group_costs = [
            bt4vt_cdet_at(counts, point.threshold, cost=cost).value
            for point, cost in zip(least, costs, strict=True)
        ]
        cost_ratios = [cost / point.value for cost, point in zip(group_costs, least, strict=True)]
        rows[group.replace("+", "_")] = [
            group_eer * 100,
            *group_costs,
            bt4vt_eer_ratio(group_eer, eer.value),
            *cost_ratios,
        ]
    assert len(groups) == 18
    assert thresholds == bt4vt_h["thresholds"][:3]
    assert rows == {name: row for name, row in bt4vt_h.items() if name != "thresholds"}
