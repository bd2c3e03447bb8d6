"""Groups of nontarget trials, what groups are compared with, and the matrix.

See docs/methods/rates.md#groups-of-trials.
"""

import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from tests.sentences import item_in_words

import parivox as pv

VECTOR = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["2.1_allocation"]
RULES = ("both", "enrol", "test", "either")


@pytest.fixture(scope="module")
def audit():
    reference = VECTOR["inputs"]
    owner = reference["speaker_group"]
    rows = reference["trials"]
    return pv.audit(
        {
            "enrol": [f"{a}/{i}" for i, (a, _, _) in enumerate(rows)],
            "test": [f"{b}/{i}t" for i, (_, b, _) in enumerate(rows)],
            "score": [score for _, _, score in rows],
        },
        speakers={"id": list(owner), "team": list(owner.values())},
        by="team",
        allocate=RULES,
        operating_points=f"threshold={reference['threshold']}",
        intervals=False,
    )


def counted(audit, **where):
    (fpr,) = audit.groups.subset(metric="fpr", **where)
    (fnr,) = audit.groups.subset(metric="fnr", **where)
    return {"FP": fpr["errors"], "NN": fpr["trials"], "FN": fnr["errors"], "NT": fnr["trials"]}


@pytest.mark.parametrize("rule", RULES)
def test_groups(audit, rule):
    for group, wanted in VECTOR["expected"][rule].items():
        assert counted(audit, grouping="team", group=group, allocation=rule) == wanted


@pytest.mark.parametrize("rule", RULES)
def test_pooled_holds_each_trial_of_some_group_once(audit, rule):
    expected = VECTOR["expected"]["pooled"][rule]
    assert counted(audit, grouping="team", group="pooled", allocation=rule) == expected


@pytest.mark.slow
def test_all_holds_every_trial(audit):
    expected = VECTOR["expected"]
    assert counted(audit, grouping="all", group="all", allocation="") == expected["all"]
    (point,) = audit.operating_points
    assert point["fpr"] == pytest.approx(expected["all_FPR"], abs=1e-9)
    assert point["fnr"] == pytest.approx(expected["all_FNR"], abs=1e-9)


def test_matrix(audit):
    observed = {
        f"{r['enrol_group']}|{r['test_group']}": [r["errors"], r["trials"]] for r in audit.matrix
    }
    assert observed == VECTOR["expected"]["cross_matrix_enrol|test_[FP,N]"]
    for row in audit.matrix:
        assert row["value"] == row["errors"] / row["trials"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "rule", "name"),
    [
        ("fpr", "enrol", "macro_FPR_enrol"),
        ("fpr", "both", "macro_FPR_both"),
        ("fnr", "test", "macro_FNR"),
    ],
)
def test_macro_reference(audit, metric, rule, name):
    filters = {"metric": metric, "allocation": rule, "zero": "none", "group": "A"}
    (row,) = audit.bias.subset(**filters, measure="difference", reference="macro")
    counts = VECTOR["expected"][rule]["A"]
    own = counts["FP"] / counts["NN"] if metric == "fpr" else counts["FN"] / counts["NT"]
    assert row["value"] == pytest.approx(own - VECTOR["expected"][name], abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_counts_are_those_of_a_plain_loop(whole, trials, speakers, rule):
    group_of = {
        name: f"{g}+{n}"
        for name, g, n in zip(speakers["id"], speakers["gender"], speakers["nation"], strict=True)
    }
    counts = {group: [0, 0, 0, 0] for group in {*group_of.values(), "pooled"}}
    for enrol, test, score, label in zip(*trials.values(), strict=True):
        one, two = (group_of[utterance.split("/")[0]] for utterance in (enrol, test))
        if rule == "both":
            inside = {one} if one == two else set()
        else:
            inside = {"enrol": {one}, "test": {two}, "either": {one, two}}[rule]
        for group in {*inside, *(["pooled"] if inside else [])}:
            wrong = score < 1.25 if label else score >= 1.25
            counts[group][0 if label else 2] += wrong
            counts[group][1 if label else 3] += 1
    filters = {"system": "T", "grouping": "gender+nation", "allocation": rule, "definition": ""}
    for metric, at in (("fnr", 0), ("fpr", 2)):
        rows = whole.groups.subset(**filters, metric=metric, operating_point="threshold=1.25")
        observed = {row["group"]: [row["errors"], row["trials"]] for row in rows}
        assert observed == {group: list(four[at : at + 2]) for group, four in counts.items()}


def test_matrix_is_that_of_a_plain_loop(whole, trials, speakers):
    gender = dict(zip(speakers["id"], speakers["gender"], strict=True))
    counts = {(a, b): [0, 0] for a in "fm" for b in "fm"}
    for enrol, test, score, label in zip(*trials.values(), strict=True):
        if not label:
            cell = counts[tuple(gender[utterance.split("/")[0]] for utterance in (enrol, test))]
            cell[0] += score >= 1.25
            cell[1] += 1
    filters = {"system": "T", "grouping": "gender", "operating_point": "threshold=1.25"}
    for row in whole.matrix.subset(**filters):
        assert [row["errors"], row["trials"]] == counts[row["enrol_group"], row["test_group"]]


def test_speakers_of_a_group_are_those_in_its_trials(audit):
    for group, n in (("A", 3), ("B", 2), ("pooled", 5)):
        (row,) = audit.groups.subset(group=group, metric="fpr", allocation="both")
        assert row["speakers"] == n


def test_matrix_cells_without_trials_say_so():
    trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [1.0, 0.0]}
    audit = pv.audit(
        trials,
        speakers={"id": ["a", "b"], "g": ["x", "y"]},
        by="g",
        operating_points="threshold=0.5",
        intervals=False,
    )
    (empty,) = audit.matrix.subset(enrol_group="x", test_group="x")
    assert (empty["trials"], empty["value"]) == (0, None)
    assert empty["reason"] == "no_nontarget_trials"


@pytest.mark.slow
def test_speakers_without_the_attribute_are_in_no_group_but_in_all():
    trials = {
        "enrol": ["a/1", "a/1", "b/1", "c/1", "c/1"],
        "test": ["a/2", "b/1", "b/2", "c/2", "a/1"],
        "score": [1.0, 0.0, 1.0, 0.2, 0.9],
    }
    audit = pv.audit(
        trials,
        speakers={"id": ["a", "b", "c"], "g": ["x", "y", "unknown"]},
        by="g",
        allocate=RULES,
        operating_points="threshold=0.5",
        intervals=False,
    )
    assert {row["group"] for row in audit.groups} == {"x", "y", "pooled", "all"}
    (whole,) = audit.groups.subset(group="all", metric="fnr")
    assert (whole["errors"], whole["trials"]) == (1, 3)
    sizes = {}
    for row in audit.groups.subset(group="pooled", metric="fpr"):
        sizes[row["allocation"]] = (row["target_trials"], row["nontarget_trials"])
    assert sizes == {"both": (2, 0), "enrol": (2, 1), "test": (2, 2), "either": (2, 2)}
    (unknown,) = (r for r in audit.data if item_in_words(r).startswith("speakers with trials but"))
    assert (unknown["count"], unknown["grouping"]) == (1, "g")


@pytest.fixture(scope="module")
def fair():
    """A system that treats two genders and three nations alike, on all pairs of speakers.

    Pairs within a group lie closer than others by `gap`, alike in every group; with six groups
    of ten speakers, 270 of 1,770 pairs of speakers are such, and `gap` is chosen so that their
    false accept rate is 2.5 times that of all.
    """
    draw = np.random.default_rng(7)
    n, each, normal = 60, 10, NormalDist()
    within = 6 * 45 / (60 * 59 / 2)
    inside = 1 - normal.cdf(1.0)
    outside = (inside / 2.5 - within * inside) / (1 - within)
    gap = normal.inv_cdf(1 - outside) - 1.0
    one, two = np.triu_indices(n, 1)
    one, two = np.repeat(one, each * each), np.repeat(two, each * each)
    left, right = np.tile(np.divmod(np.arange(each * each), each), one.size // each**2)
    cross = one % 6 != two % 6
    score = draw.normal(np.where(cross, -gap, 0.0))
    speaker = np.repeat(np.arange(n), each // 2)
    enrol = np.concatenate((one, speaker))
    test = np.concatenate((two, speaker))
    left = np.concatenate((left, np.tile(np.arange(0, each, 2), n)))
    right = np.concatenate((right, np.tile(np.arange(1, each, 2), n)))
    trials = {
        "enrol": [f"p{s:02d}/{u}" for s, u in zip(enrol, left, strict=True)],
        "test": [f"p{s:02d}/{u}" for s, u in zip(test, right, strict=True)],
        "score": np.concatenate((score, draw.normal(3.0, size=speaker.size))),
    }
    table = {
        "id": [f"p{i:02d}" for i in range(n)],
        "gender": ["fm"[i % 2] for i in range(n)],
        "nation": ["ABC"[i % 3] for i in range(n)],
    }
    return pv.audit(
        trials,
        speakers=table,
        by="gender+nation",
        operating_points="threshold=1",
        allocate="both",
        intervals=False,
    )


@pytest.mark.slow
def test_a_fair_system_with_cross_group_pairs_has_ratios_of_1_to_pooled(fair):
    filters = {"metric": "fpr", "measure": "ratio", "reference": "pooled", "zero": "none"}
    ratios = [row["value"] for row in fair.bias.subset(**filters)]
    assert len(ratios) == 6
    assert ratios == pytest.approx([1.0] * 6, abs=0.1)


@pytest.mark.slow
def test_against_all_trials_the_same_system_would_look_unfair_to_every_group(fair):
    (whole,) = fair.groups.subset(group="all", metric="fpr")
    rates = [r["value"] for r in fair.groups.subset(grouping="gender+nation", metric="fpr")]
    assert [rate / whole["value"] for rate in rates] == pytest.approx([2.5] * 7, rel=0.1)


@pytest.mark.slow
def test_the_operating_point_is_that_of_all_trials(fair):
    (point,), (whole,) = fair.operating_points, fair.groups.subset(group="all", metric="fpr")
    assert point["fpr"] == whole["value"]
