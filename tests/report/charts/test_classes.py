"""DET curves of lists with spoof trials, and of lists without."""

import numpy as np
import pytest

import parivox as pv
from parivox.report.charts import PAPER, figures
from parivox.report.charts.curves import error_curves, minimum_cost_indices
from parivox.report.charts.det import det

TARGET, NONTARGET, SPOOF = "target", "nontarget", "spoof"
N_SPEAKERS = 12


@pytest.fixture(scope="module")
def spoofed():
    draw = np.random.default_rng(5)
    columns = {name: [] for name in ("enrol", "test", "score", "label", "attack")}
    for i in range(N_SPEAKERS):
        classes = [(TARGET, i, 2.0, 10), (NONTARGET, (i + 2) % N_SPEAKERS, -1.0, 10)]
        for label, speaker, mean, n in [*classes, (SPOOF, i, 0.5 + i % 2, 15)]:
            for k in range(n):
                columns["enrol"].append(f"s{i}/e")
                columns["test"].append(f"s{speaker}/{label}{i}-{k}")
                columns["score"].append(round(float(draw.normal(mean)), 2))
                columns["label"].append(label)
                columns["attack"].append(f"A{k % 3}" if label == SPOOF else "")
    people = {"id": [f"s{i}" for i in range(N_SPEAKERS)], "g": ["fm"[i % 2] for i in range(12)]}
    options = {"operating_points": "threshold=0.5", "cost": "adcf1", "intervals": False}
    return pv.audit(columns, people, by="g", **options), columns


def panels(spec):
    return {row["p"] for row in spec["data"]["values"]}


def test_spoof_accepts_are_counted_at_every_shared_threshold(spoofed, tmp_path):
    audit, columns = spoofed
    scores = np.array(columns["score"])
    is_spoof = np.array(columns["label"]) == SPOOF
    group = np.array([int(enrol.strip("s/e")) % 2 for enrol in columns["enrol"]])
    of_groups = next(curves for curves in error_curves(audit) if curves.grouping == "g")
    for i in range(2):
        accepted = scores[is_spoof & (group == i), None] >= of_groups.thresholds
        assert of_groups.spoof_accepts[i].tolist() == accepted.sum(axis=0).tolist()
        assert of_groups.curve.sfar[i, ::-1] == pytest.approx(accepted.mean(axis=0))
    best = minimum_cost_indices(of_groups, "adcf1")
    costs = pv.cdet(of_groups.curve, pv.parse_cost("adcf1"))[:, ::-1]
    assert costs[range(3), best].tolist() == costs.min(axis=1).tolist()
    audit.save(tmp_path / "audit")
    assert (tmp_path / "audit" / "spoof_bins.parquet").is_file()
    again = pv.load(tmp_path / "audit")
    assert again.spoof_bins.to_dict() == audit.spoof_bins.to_dict()


def test_spoof_trials_have_panels_of_their_own(spoofed):
    audit, _ = spoofed
    spec = det(audit)
    assert panels(spec) == {"nontarget trials (FPR)", "spoof trials (SFAR)"}
    titles = {
        panel["title"]["text"]: panel["layer"][0]["encoding"]["x"]["title"]
        for panel in det(audit, panel="group")["concat"]
    }
    spoof_axis, nontarget_axis = "spoof accepts (SFAR, %)", "false accepts (FPR, %)"
    assert titles == {
        "f: FPR": nontarget_axis,
        "f: SFAR": spoof_axis,
        "m: FPR": nontarget_axis,
        "m: SFAR": spoof_axis,
    }
    marks = [row["t"] for row in spec["data"]["values"] if row["k"] == "at"]
    assert [words[:4] for words in marks] == ["FPR ", "SFAR"] * 2
    assert panels(det(audit, panel="group")) == {"f: FPR", "f: SFAR", "m: FPR", "m: SFAR"}
    (figure,) = (each for each in figures(audit, theme=PAPER) if each.id.startswith("det"))
    assert "for the attacks of this list" in figure.guide
    (of_scores,) = (each for each in figures(audit, theme=PAPER) if each.id.startswith("scores"))
    assert "Spoof trials are not drawn." in of_scores.guide
    assert "SFAR" in figure.description


@pytest.mark.slow
def test_without_spoof_trials_there_is_one_panel(spoofed, tmp_path):
    _, columns = spoofed
    kept = [i for i, label in enumerate(columns["label"]) if label != SPOOF]
    bona_fide = {name: [columns[name][i] for i in kept] for name in columns if name != "attack"}
    people = {"id": [f"s{i}" for i in range(N_SPEAKERS)], "g": ["fm"[i % 2] for i in range(12)]}
    audit = pv.audit(bona_fide, people, by="g", intervals=False)
    assert panels(det(audit)) == {""}
    assert "spoof_bins" not in audit.tables()
    audit.save(tmp_path / "audit")
    assert not (tmp_path / "audit" / "spoof_bins.parquet").exists()
    assert len(pv.load(tmp_path / "audit").spoof_bins) == 0
