"""Limitations of one of several systems are not read as those of all."""

import math

import pytest

import parivox as pv
from parivox.report.caveats import caveats
from parivox.report.findings import check_sentence
from parivox.report.html.first_screen import first_screen
from parivox.report.html.groups import trial_list_section
from parivox.report.html.method import harms
from parivox.report.overview import overview, plain_text

PEOPLE = {"speaker": [f"s{i}" for i in range(12)], "sex": ["f", "m"] * 5 + ["f", "unknown"]}


def reversed_pairs(rows):
    return [(test, enrol, score + 0.1, label) for enrol, test, score, label in rows]


CHANGES = {
    "reversed pairs": lambda rows: [*rows, *reversed_pairs(rows[:9])],
    "more reversed pairs": lambda rows: [*rows, *reversed_pairs(rows[:14])],
    "tied scores": lambda rows: [(a, b, round(s), label) for a, b, s, label in rows],
    "trials of few": lambda rows: [row for row in rows if "s11/" not in row[0] + row[1]],
    "unequal trials": lambda rows: [row for row in rows if row[0][:3] != "s0/" or row[3]],
}


def trials(change=lambda rows: rows):
    ids = [f"s{i}/r{k}/1" for i in range(12) for k in range(3)]
    rows = []
    for i, enrol in enumerate(ids):
        for test in ids[i + 1 :]:
            label = int(enrol.split("/")[0] == test.split("/")[0])
            rows.append((enrol, test, math.sin(37.0 * len(rows)) + 2.0 * label, label))
    columns = zip(*change(rows), strict=True)
    return dict(zip(("enrol", "test", "score", "label"), map(list, columns), strict=True))


def limitations(systems):
    audit = pv.audit(systems, PEOPLE, by="sex", operating_points="fpr=0.1", intervals=False)
    return {
        caveat.short: caveat.named_systems
        for caveat in caveats(audit)
        if caveat.code != "common_trials_only"
    }


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_limitation_of_some_systems_names_them_and_one_of_all_names_none(change):
    lists = {"A": trials(), "B": trials(CHANGES[change])}
    alone = {name: limitations({name: rows}) for name, rows in lists.items()}
    assert not any(named for by_short in alone.values() for named in by_short.values())
    together = limitations(lists)
    for short, named in together.items():
        if named:
            words = short.removeprefix(f"{named}: ")
            other = {"A": "B", "B": "A"}[named]
            assert words in alone[named]
            assert words not in alone[other]
    for name, by_short in alone.items():
        for words in by_short.keys() - together.keys():
            # groups and checks may be of both lists together
            assert f"{name}: {words}" in together or "under-represented" in words
    assert any(together.values()) == (alone["A"].keys() != alone["B"].keys())


def within_groups(rows):
    sex = dict(zip(PEOPLE["speaker"], PEOPLE["sex"], strict=True))
    return [row for row in rows if len({sex[side.split("/")[0]] for side in row[:2]}) == 1]


@pytest.mark.slow
def test_impostors_of_the_same_group_only_are_a_limitation_of_false_accepts():
    short = "false accepts only by impostors of the same group (by sex)"
    systems = {"A": trials(within_groups), "B": trials()}
    assert limitations({"A": systems["A"]})[short] == ""
    assert short not in limitations({"B": systems["B"]})
    assert limitations(systems)[f"A: {short}"] == "A"
    audit = pv.audit(systems, PEOPLE, by="sex", operating_points="fpr=0.1", intervals=False)
    sentence = (
        "All nontarget trials of known groups are between speakers of the same group (by sex), so "
        "false accepts show nothing about impostors of other groups"
    )
    assert f"A: {sentence}" in [caveat.sentence for caveat in caveats(audit)]
    of_harm = {harm.name: harm.sentences for harm in harms(audit, None)}
    assert f"A: {sentence}." in of_harm["Evaluation"]
    (caveat,) = (each for each in caveats(audit) if each.code == "impostors_of_same_group")
    screen = first_screen(audit, overview(audit)._replace(caveats=[caveat]))
    weakness = plain_text(dict(screen["certainty"])["Weakened by"])
    assert weakness == "A: all tested impostors were of the same group as the speaker (by sex)"
    alone = pv.audit({"A": systems["A"]}, PEOPLE, by="sex", operating_points="fpr=0.1")
    codes = [caveat.code for caveat in caveats(alone)]
    # an earlier limitation leaves no room for it below the headline
    assert codes.index("groups_under_represented") < codes.index("impostors_of_same_group")
    assert sentence in [caveat.sentence for caveat in caveats(alone)]


def test_of_several_groupings_within_which_all_impostors_are_the_finest_is_named():
    people = {**PEOPLE, "age": ["old", "young"] * 6, "town": ["A", "A", "B", "B"] * 3}
    options = {"operating_points": "fpr=0.1", "intervals": False}
    audit = pv.audit(
        {"A": trials(within_groups)}, people, by=["sex", "sex+age", "sex+town"], **options
    )
    (caveat,) = (caveat for caveat in caveats(audit) if caveat.code == "impostors_of_same_group")
    assert caveat.values["groupings"] == ["sex+age"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "by", ["grade", "same:age", "noise", "channel", "enrol.channel", "test.sex", "sex+noise"]
)
def test_trials_within_groups_of_trials_or_recordings_are_no_limitation(by):
    """Each trial has both sides in one group of its own attributes, whoever speaks."""
    rows = trials()
    rows["noise"] = ["low", "high"] * (len(rows["enrol"]) // 2)
    recordings = sorted({*rows["enrol"], *rows["test"]})
    utterances = {"id": recordings, "channel": ["ab"["r2" in name] for name in recordings]}
    people = {**PEOPLE, "age": ["old", "young", "young"] * 4}
    options = {"operating_points": "fpr=0.1", "intervals": False}
    audit = pv.audit({"A": rows}, people, utterances=utterances, by=[by, "sex"], **options)
    assert "impostors_of_same_group" not in {caveat.code for caveat in caveats(audit)}
    pairing = trial_list_section(audit)["pairing"]
    assert pairing.startswith("Share of nontarget trials between speakers of the same group: by s")
    trials_only = pv.audit({"A": rows}, people, utterances=utterances, by=by, **options)
    assert trial_list_section(trials_only)["pairing"] == ""


@pytest.mark.slow
def test_lists_of_one_system_are_called_lists():
    lists = {"A@x": trials(), "A@y": trials(CHANGES["trials of few"])}
    people = {**PEOPLE, "age": ["old"] * 2 + ["young"] * 10}
    audit = pv.audit(lists, people, by="age", operating_points="fpr=0.1", replicates=50)
    (caveat,) = (each for each in caveats(audit) if each.code == "groups_under_represented")
    assert "under-represented on at least one list (" in caveat.short
    assert not [words for words in overview(audit).finding_sentences if "one system" in words]


@pytest.mark.slow
def test_small_groups_of_each_system_are_those_at_its_own_first_operating_point():
    decisions = trials()
    scores = decisions.pop("score")
    decisions["decision"] = [int(score > 1.2) for score in scores]
    systems = {"A": decisions, "B": trials()}
    audit = pv.audit(systems, PEOPLE, by="sex", replicates=50)
    (caveat,) = (each for each in caveats(audit) if each.code == "groups_under_represented")
    assert " at the first operating point of each system. " in caveat.sentence
    small_groups = {
        (row["system"], row["metric"])
        for system, point in (("A", "deployed"), ("B", "fpr=0.01"))
        for row in audit.verdicts.subset(system=system, operating_point=point).rows()
        if row["group"] and row["gates"] and row["metric"] in {"fnr", "fpr"}
    }
    assert small_groups == {(system, metric) for system in "AB" for metric in ("fnr", "fpr")}
    assert " in at least one system" not in caveat.short
    assert " with " not in caveat.values["numbers"]["fpr"]
    representation = {harm.name: " ".join(harm.sentences) for harm in harms(audit, None)}
    assert (
        "Under-represented groups by sex at the first operating point of each system"
        in representation["Representation"]
    )


def test_one_group_has_no_impostors_of_others_to_speak_of():
    one = {**PEOPLE, "sex": ["f"] * 12}
    audit = pv.audit({"A": trials()}, one, by="sex", operating_points="fpr=0.1", intervals=False)
    assert "impostors_of_same_group" not in {caveat.code for caveat in caveats(audit)}


@pytest.mark.slow
def test_groups_with_few_speakers_are_counted_over_all_groupings():
    people = {**PEOPLE, "age": ["old", "young"] * 6}
    options = {"operating_points": "fpr=0.1", "intervals": False}
    audit = pv.audit({"A": trials()}, people, by=["sex", "sex+age"], **options)
    (check,) = (check for check in audit.record["list_checks"]["A"] if check["id"] == "G7")
    n_groups = sum(
        len({row["group"] for row in audit.groups.subset(grouping=grouping).rows()} - {"pooled"})
        for grouping in ("sex", "sex+age")
    )
    assert f" of {n_groups} groups (all groupings) have fewer than" in check_sentence(check)
    audit = pv.audit({"A": trials()}, people, by="sex", **options)
    (check,) = (check for check in audit.record["list_checks"]["A"] if check["id"] == "G7")
    assert check_sentence(check).startswith("2 of 2 groups have fewer than 10 speakers")


@pytest.mark.slow
def test_an_operating_point_without_threshold_is_named_with_its_reason(printed_summary):
    points = ["fpr=0.00001", "fnr=0.3"]
    options = {"by": "sex", "operating_points": points, "intervals": False}
    words = "fpr=0.00001 has no threshold (fpr=0.00001 corresponds to less than one error in"
    audit = pv.audit({"A": trials()}, PEOPLE, **options)
    (named,) = [caveat for caveat in caveats(audit) if caveat.short.startswith(words)]
    assert named.anchor == "points"
    assert words in " ".join(printed_summary(audit).split())
    # without any threshold, the headline gives the reason
    options["operating_points"] = points[:1]
    assert not [
        c for c in caveats(pv.audit({"A": trials()}, PEOPLE, **options)) if words in c.short
    ]
