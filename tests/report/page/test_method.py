import shlex

import numpy as np
import pytest

import parivox as pv
from parivox.report.context import read_context
from parivox.report.html.method import command, harms, item_places


@pytest.mark.slow
def test_the_command_names_options_that_are_not_the_default(audited):
    audit = audited(by=["gender"], operating_points=["eer", "fpr=0.05"], alpha=[0, 0.5], margin=1.5)
    words = shlex.split(command(audit))
    assert words[:3] == ["parivox", "audit", "model=SCORES_1"]
    assert words[3:] == shlex.split(
        "--speakers SPEAKERS --by gender --operating-point eer --operating-point fpr=0.05 "
        "--alpha 0 --alpha 0.5 --replicates 100 --margin 1.5"
    )


@pytest.mark.slow
def test_the_command_is_one_that_the_command_line_reads(audited, material, tmp_path, monkeypatch):
    from parivox.cli import main

    trials, speakers = material
    audit = audited(by=["gender"], operating_points=["fpr=0.05"], intervals=False, bins="exact")
    rows = zip(*trials.values(), strict=True)
    table = "\n".join([",".join(trials), *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "SCORES_1").write_text(table + "\n", encoding="utf-8")
    people = zip(*speakers.values(), strict=True)
    table = "\n".join([",".join(speakers), *(",".join(row) for row in people)])
    (tmp_path / "SPEAKERS").write_text(table + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(command(audit))[1:], "--quiet", "--out", "again"]) in {0, None}
    assert pv.load("again").to_json() == audit.to_json()


def test_a_loaded_audit_has_the_same_command(audited, tmp_path):
    audit = audited(by=["gender"], operating_points=["fpr=0.05"])
    audit.save(tmp_path / "a")
    assert command(pv.load(tmp_path / "a")) == command(audit)


def test_found_items_name_a_place_and_others_are_not_supplied(small):
    def listed(context):
        return {
            item_place.item: item_place
            for places in item_places(small, context).values()
            for item_place in places
        }

    bare = listed(None)
    assert bare["Error rates by group"].anchor == "groups"
    assert bare["Failures to enrol, by group"] == (
        "Failures to enrol, by group",
        "ISO/IEC 19795-10",
        "not supplied",
        "",
    )
    # nobody has signed the form of a new report
    assert bare["2 Test reports, dated and signed"].where == "the sign-off, blank until signed"
    purpose = "1 General description: intended purpose"
    assert bare[purpose].where == "not supplied"
    assert listed(read_context({"purpose": "door"}))[purpose].anchor == "context"
    in_use = "Threshold in operation"
    assert bare[in_use].where == "not supplied"  # as it was found on these trials
    chosen_by_vendor = read_context({"threshold": {"chosen_by": "the vendor"}})
    assert listed(chosen_by_vendor)[in_use].anchor == "points"


@pytest.mark.slow
def test_no_place_claims_to_conform(small):
    places = [
        item_place
        for section_places in item_places(small, None).values()
        for item_place in section_places
    ]
    words = " ".join(word for item_place in places for word in item_place).lower()
    assert not {"complian", "conforms", "fulfil"} & {
        word for word in ("complian", "conforms", "fulfil") if word in words
    }


def test_limits_follow_the_seven_sources_and_are_filled_from_the_data(small):
    sources = harms(small, None)
    assert [source.name for source in sources] == [
        *("Historical", "Representation", "Measurement", "Aggregation"),
        *("Learning", "Evaluation", "Deployment"),
    ]
    assert all(source.sentences for source in sources)
    by_name = {source.name: " ".join(source.sentences) for source in sources}
    assert "By gender: 2 groups, from f with 11 speakers to m with 12." in by_name["Representation"]
    assert "Purpose of the system: not supplied." in by_name["Deployment"]
    described_sources = harms(small, read_context({"purpose": "a door"}))
    assert "Purpose of the system: a door." in described_sources[-1].sentences


@pytest.mark.slow
def test_groups_are_counted_as_inconclusive_at_any_operating_point(trials_of_equal_groups):
    """The verdicts of the last point do not hide those of another."""
    trials, people = trials_of_equal_groups
    points = ["fpr=0.001", "eer"]
    audit = pv.audit(trials, people, by="sex", replicates=50, operating_points=points)
    inconclusive = {
        point: {
            row["group"]
            for row in audit.verdicts.subset(operating_point=point).rows()
            if row["group"] and row["verdict"] == "inconclusive"
        }
        for point in points
    }
    assert inconclusive == {"fpr=0.001": {"F", "M"}, "eer": set()}
    evaluation = {harm.name: " ".join(harm.sentences) for harm in harms(audit, None)}["Evaluation"]
    assert "2 of 2 groups are inconclusive for at least one error type or operating" in evaluation


@pytest.fixture
def disagreeing():
    from parivox.report import disagreements

    return disagreements


def _rates(*small, **groups):
    from parivox.report.disagreements import judged_rates

    rates = {
        group: {("fnr", "at"): {"value": fnr}, ("fpr", "at"): {"value": fpr}}
        for group, (fnr, fpr) in groups.items()
    }
    return judged_rates(rates, "at", set(small))


def test_opposite_orders_of_the_two_errors_are_told_with_their_correlation(disagreeing):
    rates = _rates(a=(0.1, 0.03), b=(0.2, 0.02), c=(0.3, 0.01))
    verdicts = {"fnr": {"c": {"verdict": "worse"}}, "fpr": {"a": {"verdict": "inconclusive"}}}
    (sentence,) = disagreeing.opposite_errors(rates, verdicts, set())
    assert (
        "c has the highest false reject rate and a has the highest false accept rate (which may be "
        "due to" in sentence
    )
    assert "tau -1.00 over 3 groups; -1 means the opposite order, 1 the same order)" in sentence
    alike = _rates(a=(0.1, 0.01), b=(0.2, 0.02), c=(0.3, 0.03))
    assert not list(disagreeing.opposite_errors(alike, {}, set()))


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_the_highest_eer_may_be_due_to_chance_unless_it_is_shown_to_be_higher(disagreeing, gap):
    """Scores of women separate worse, and are lower, so that men have more false accepts."""
    draws = np.random.default_rng(3)
    ids = [f"{'fm'[i % 2]}{i:02}" for i in range(60)]
    rows = [
        (f"{first}/1", f"{second}/{k}", int(first == second))
        for i, first in enumerate(ids)
        for k, second in enumerate([*[first] * 12, *ids[i + 2 :: 2]], 2)
    ]
    scores = [
        draws.normal((3.0 - gap * (enrol[0] == "f") / 2) * label - 0.4 * (enrol[0] == "f"))
        for enrol, _, label in rows
    ]
    enrol, test, label = zip(*rows, strict=True)
    trials = {"enrol": enrol, "test": test, "label": label, "score": scores}
    people = {"id": ids, "sex": [name[0] for name in ids]}
    audit = pv.audit(trials, people, by="sex", operating_points="threshold=1", replicates=100)
    rows = audit.bias.subset(metric="eer", measure="ratio", reference="geomean").rows()
    (harder,) = (row for row in rows if row["value"] > 1)
    assert (harder["p"] <= 0.05) == (gap > 0)
    (sentences,) = disagreeing.disagreements(audit)[0].values()
    (words,) = (words for words in sentences if words.startswith("Base metrics disagree"))
    assert f"{harder['group']} has the highest EER (" in words
    by_chance, _, _ = words.partition(", at its group-specific threshold")
    assert by_chance.endswith("%, which may be due to chance)") == (gap == 0)


def test_differences_and_ratios_are_told_apart(disagreeing):
    rates = _rates(a=(0.1, 0.001), b=(0.2, 0.02))
    (sentence,) = disagreeing.differences_and_ratios(rates, set())
    assert (
        "in percentage points, FNR varies more (10.0 % to 20.0 %, 10 points or 2.0 times)"
        in sentence
    )
    assert "in ratios, FPR varies more (0.100 % to 2.00 %, 1.9 points or 20 times)" in sentence
    same_order_rates = _rates("b", a=(0.1, 0.001), b=(0.2, 0.02))
    assert not list(disagreeing.differences_and_ratios(same_order_rates, set()))


def test_measures_that_differ_on_chance_or_by_small_groups_are_told(disagreeing):
    def row(p, groups=5):
        return {"p": p, "groups": groups, "value": 1.0, "higher_is_fairer": True}

    joint = {
        "fdr": {False: row(0.01, 9), True: row(0.4)},
        "ir": {False: row(0.01, 9), True: row(0.01)},
        "garbe": {},
    }
    (sentence,) = disagreeing.measures_and_chance(joint)
    assert "FDR p = 0.4, IR p = 0.01" in sentence
    assert "similar evidence" not in sentence
    near = {"fdr": {True: row(0.07)}, "ir": {True: row(0.03)}, "garbe": {}}
    (sentence,) = disagreeing.measures_and_chance(near)
    assert "close to 0.05 on either side and are similar evidence" in sentence
    (sentence,) = disagreeing.effect_of_small_groups(joint)
    assert (
        "FDR has p = 0.01 for all 9 groups, but p = 0.4 for the 5 groups that meet the minimums"
        in sentence
    )


def test_systems_that_measures_rank_differently_are_told(disagreeing):
    from parivox.report.audit_queries import Scope

    def row(number, *, higher):
        return {False: {"value": number, "higher_is_fairer": higher}}

    joint = {
        Scope("A", "", "g", "both"): {
            "fdr": row(0.9, higher=True),
            "garbe": row(0.4, higher=False),
            "ir": {},
        },
        Scope("B", "", "g", "both"): {
            "fdr": row(0.8, higher=True),
            "garbe": row(0.3, higher=False),
            "ir": {},
        },
    }
    (sentence,) = disagreeing.system_ranking_disagreements(joint, set(joint))
    assert "FDR 0.9 against 0.8: A fairer; GARBE 0.4 against 0.3: B fairer" in sentence
