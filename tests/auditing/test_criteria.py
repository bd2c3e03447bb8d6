"""What measures come to by the criteria FFMC: on rates that can be told by eye."""

import json

import numpy as np
import pytest

import parivox as pv

pytestmark = pytest.mark.minimal

# scores of nontarget and target trials; at 0.5 group b has no false accept, at 0.3 both have some
SCORES = {"a": ([0.6, 0.4, 0.1, 0.1], [0.2, 0.7, 0.7, 0.7]), "b": ([0.4] + [0.1] * 3, [0.7] * 4)}


@pytest.fixture(scope="module")
def audit():
    rows = [
        (f"{group}{i}", f"{group}{i if label else 1 - i}", one, label)
        for group, each in SCORES.items()
        for label, scores in enumerate(each)
        for i, one in zip((0, 1, 0, 1), scores, strict=True)
    ]
    names = ("enrol", "test", "score", "label")
    trials = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    people = {"id": ["a0", "a1", "b0", "b1"], "team": ["a", "a", "b", "b"]}
    trials |= {side: [f"{name}/x{n}" for n, name in enumerate(trials[side])] for side in names[:2]}
    points = {"operating_points": "threshold=0.3", "sweep": "fpr=0.125:0.375:log3", "alpha": (0, 1)}
    return pv.audit(trials, speakers=people, by="team", intervals=False, **points)


def row(table, measure):
    return table.subset(measure=measure).rows()


def test_terms_and_what_is_defined_are_counted_threshold_by_threshold(audit):
    observed = pv.criteria(audit)
    one, *_, last = row(observed.thresholds, "fdr")
    # FPR 1/4 and 0, FNR 1/4 and 0
    assert (one["fpr_term"], one["fnr_term"], one["silent"]) == (0.25, 0.25, True)
    assert (one["least"], one["most"], one["log10_ratio"]) == (0.75, 0.75, 0.0)
    assert (last["fpr_term"], last["fnr_term"], last["silent"]) == (0.25, 0.0, True)
    assert np.allclose([one["defined"] for one in row(observed.thresholds, "garbe")], 1)
    assert next(one["defined"] for one in row(observed.thresholds, "ir")) == 0


def test_verdicts_are_of_bounds_and_of_groups_without_errors_alone(audit):
    observed = pv.criteria(audit).measures
    reported = {one["measure"]: (one["bounded"], one["computable"]) for one in observed.rows()}
    assert reported == {
        "fdr": ("met", "met"),
        "garbe": ("met", "met"),
        "ir": ("not met", "not met"),
    }
    (fdr,) = row(observed, "fdr")
    assert (fdr["thresholds"], fdr["weights"], fdr["silent"]) == (3, 2, 3)


def test_of_everything_that_an_audit_can_be_asked_for(whole, tmp_path):
    observed = pv.criteria(whole)
    scopes = {tuple(one[name] for name in ("system", "list", "grouping", "allocation", "within"))
              for one in whole.sweep.rows()}  # fmt: skip
    assert len(observed.measures) == 3 * len(scopes)
    floors = observed.floors.subset(term="fpr", measure="garbe").rows()
    gini = whole.meta.subset(measure="gini", metric="fpr", zero="none", gated=False).rows()
    points = {one["operating_point"] for one in floors}
    known = [(one["value"], one["p"]) for one in gini if one["operating_point"] in points]
    assert sorted(known) == sorted((one["value"], one["p"]) for one in floors)
    observed.save(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        f"{name}.csv" for name in observed.tables()
    }
    assert (
        json.loads(observed.to_json())["measures"]["measure"]
        == observed.measures.to_dict()["measure"]
    )


def test_without_a_sweep_there_is_a_sentence(audit, tmp_path):
    bare = pv.audit(
        {"enrol": ["a/1", "b/1"], "test": ["a/2", "a/3"], "score": [1.0, 0.0], "label": [1, 0]},
        speakers={"id": ["a", "b"], "team": ["x", "y"]},
        by="team",
        intervals=False,
    )
    with pytest.raises(pv.ConfigError, match="has no sweep of thresholds; audit again with sweep"):
        pv.criteria(bare)
    with pytest.raises(pv.DataError):
        pv.criteria(tmp_path)
