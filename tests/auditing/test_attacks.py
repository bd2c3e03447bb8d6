"""Spoof accepts by attack through an audit, against vectors worked out apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.core.attacks import AttackCounts, ratios_for_other_attacks
from parivox.errors import ConfigError
from parivox.report import overview
from parivox.report.sheets.attacks import attack_sentences, attack_table

VECTORS = json.loads((Path(__file__).parents[1] / "vectors_spoof.json").read_text(encoding="utf-8"))
LIST = VECTORS["data_A"]
COLUMNS = ("enrol", "test", "enrol_speaker", "test_speaker", "label", "attack", "score")
PEOPLE = {
    "id": list(LIST["speakers"]),
    "group": [group or "" for group in LIST["speakers"].values()],
}
BY_ATTACK = VECTORS["S6.1_per_attack"]["expected"]


def audited(trials=LIST["trials"], speakers=PEOPLE, **options):
    columns = {name: [trial[name] for trial in trials] for name in COLUMNS}
    options = {
        "by": "group",
        "operating_points": ("sfar=0.2",),
        "replicates": 50,
        "gates": ("speakers=2", "errors=1", "pairs=1"),
        **options,
    }
    return pv.audit(columns, speakers, **options)


def rows_of(audit, **filters):
    return {(row["group"], row["attack"]): row for row in audit.attacks.subset(**filters).rows()}


def scope_of(audit):
    (source,) = audit.record["inputs"]
    return {"system": source["system"], "list": source["list"], "grouping": "group"}


@pytest.fixture(scope="module")
def audit():
    return audited()


def test_every_attack_is_counted_in_every_group(audit):
    rows = rows_of(audit)
    for attack, numbers in BY_ATTACK["attacks"].items():
        assert rows["all", attack]["trials"] == numbers["n"]
        assert rows["all", attack]["value"] == pytest.approx(numbers["sfar_all"], abs=1e-12)
        for group, counts in numbers["groups"].items():
            row = rows[group, attack]
            assert (row["errors"], row["trials"]) == (counts["k"], counts["n"])
            assert row["value"] == pytest.approx(counts["sfar"], abs=1e-12)
            assert row["share"] == pytest.approx(BY_ATTACK["attack_shares"][group][attack])
        assert rows["f", attack]["ratio"] == (
            numbers["ratio_f_to_m"] and pytest.approx(numbers["ratio_f_to_m"], abs=1e-12)
        )
    assert rows["x", "A07"]["reason"] == "no_spoof_trials"
    assert rows["x", "A07"]["value"] is None


def test_all_attacks_have_the_crude_and_the_standardised_rates(audit):
    rows = rows_of(audit)
    for group in ("f", "m"):
        assert rows[group, ""]["value"] == pytest.approx(BY_ATTACK["crude"][group], abs=1e-12)
        assert rows[group, ""]["standardised"] == pytest.approx(
            BY_ATTACK["standardised"][group], abs=1e-12
        )
    ratio = rows["f", ""]["ratio"], rows["f", ""]["standardised_ratio"]
    assert ratio == pytest.approx(
        (BY_ATTACK["crude_ratio_f_to_m"], BY_ATTACK["standardised_ratio_f_to_m"])
    )


def test_one_attack_is_left_out_at_a_time(audit):
    rows = rows_of(audit)
    for attack, numbers in BY_ATTACK["leave_one_attack_out"].items():
        wanted = numbers["ratio_f_to_m"]
        assert rows["f", attack]["ratio_without"] == (wanted and pytest.approx(wanted, abs=1e-12))


def test_limits_for_new_attacks_join_speakers_and_attacks():
    vector = VECTORS["S9.2_interval_for_new_attacks"]
    inputs, wanted = vector["inputs"], vector["expected"]
    errors = inputs["spoof_accepts_per_attack"]
    trials = np.full((13, 1), inputs["spoof_trials_per_attack_and_group"])
    f, m = (AttackCounts(np.array(errors[group])[:, None], trials) for group in ("f", "m"))
    limits = tuple(np.exp([limit]) for limit in inputs["log_ratio_interval_over_speakers"])
    low, high = ratios_for_other_attacks(f, m, limits, inputs["speakers_of_the_smaller_group"])
    assert (low[0], high[0]) == pytest.approx((wanted["low"], wanted["high"]), abs=1e-9)


def test_nothing_is_said_of_other_attacks_with_few_of_them():
    counts = AttackCounts(np.array([[5, 4], [7, 3], [1, 1], [4, 2]]), np.full((4, 2), 40))
    limits = np.array([0.5, 0.4]), np.array([2.0, 3.0])
    low, high = ratios_for_other_attacks(counts, counts, limits, [20, 20])
    assert np.isnan([*low, *high]).all()


def spoof_list(accepts, n_groups_trials, n_speakers=12):
    """A list of groups whose spoof trials of each attack are accepted so often."""
    trials, people = [], {"id": [], "group": []}
    for group in accepts:
        for i in range(n_speakers):
            speaker = f"{group}{i:02}"
            people["id"].append(speaker)
            people["group"].append(group)
            claims = [("target", speaker, "", float(k % 4 > 0)) for k in range(4)]
            claims += [("nontarget", f"{group}{(i + 1) % n_speakers:02}", "", float(i % 5 == 0))]
            for attack, share in enumerate(accepts[group]):
                claims += [
                    ("spoof", speaker, f"A{attack:02}", float((k + i) % 10 < 10 * share))
                    for k in range(n_groups_trials)
                ]
            trials += [
                {
                    "enrol": f"{speaker}-model",
                    "test": f"{speaker}-{k}",
                    "enrol_speaker": speaker,
                    "test_speaker": test_speaker,
                    "label": label,
                    "attack": attack,
                    "score": score,
                }
                for k, (label, test_speaker, attack, score) in enumerate(claims)
            ]
    return trials, people


def sfar_verdict(audit, group="f"):
    (row,) = audit.verdicts.subset(group=group, metric="sfar").rows()
    return row


@pytest.mark.slow
def test_a_verdict_stays_and_says_if_it_may_not_hold_for_other_attacks():
    few = audited(*spoof_list({"f": [0.6] * 3, "m": [0.2] * 3}, 10), operating_points="threshold=1")
    row = sfar_verdict(few)
    assert (row["verdict"], row["reason"]) == ("worse", "attack_dependent")
    assert rows_of(few)["f", ""]["note"] == "too_few_attacks"
    words = " ".join(overview.overview(few).finding_sentences)
    assert "For these 3 attacks, spoof accepts are more frequent among f" in words
    assert "This may not hold for other attacks." in words
    assert "3 attacks: too few to generalise to other attacks" in " ".join(
        caveat.short for caveat in overview.overview(few).caveats
    )
    (stated,) = few.sentences().subset(column="sentence", code="ratio_to_reference").rows()[:1]
    assert "attack_dependent" in sfar_verdict(few)["values"]
    assert stated["sentence"]
    alike = audited(
        *spoof_list({"f": [0.6] * 8, "m": [0.2] * 8}, 10), operating_points="threshold=1"
    )
    row, total = sfar_verdict(alike), rows_of(alike)["f", ""]
    assert (row["verdict"], row["reason"]) == ("worse", "")
    assert total["low"] > 1
    unlike = {"f": [0.9, 0.9, 0.5, 0.2, 0.1, 0.3], "m": [0.1, 0.1, 0.2, 0.5, 0.2, 0.3]}
    unlike = audited(*spoof_list(unlike, 10), operating_points="threshold=1")
    total = rows_of(unlike)["f", ""]
    assert total["low"] < 1 < total["high"]
    assert sfar_verdict(unlike)["reason"] == "attack_dependent"


@pytest.mark.slow
def test_a_difference_says_what_becomes_of_it_if_groups_faced_the_same_attacks():
    trials, people = spoof_list({"f": [0.8, 0.2], "m": [0.8, 0.2]}, 10)
    # women face the strong attack twice as often, men the weak one
    trials = [
        trial
        for i, trial in enumerate(trials)
        if trial["label"] != "spoof"
        or i % 2
        or (trial["attack"] == "A00") == trial["enrol"].startswith("f")
    ]
    audit = audited(trials, people, operating_points="threshold=1")
    row, total = sfar_verdict(audit), rows_of(audit)["f", ""]
    assert row["verdict"] == "worse"
    values = json.loads(row["values"])["ratio_to_reference"]
    assert values["equal_weight"] == pytest.approx(total["standardised_ratio"], abs=1e-12)
    words = " ".join(overview.overview(audit).finding_sentences)
    condition = "hares of attacks differ between groups: with equal weight for each attack, "
    assert f"S{condition}" in words
    stated = audit.sentences().subset(column="sentence", code="ratio_to_reference")
    assert any(f"s{condition}" in row["sentence"] for row in stated.rows())
    # where no attack is common to both groups, nothing is left to compare
    apart = [
        trial
        for trial in trials
        if trial["label"] != "spoof" or (trial["attack"] == "A00") == trial["enrol"].startswith("f")
    ]
    audit = audited(apart, people, operating_points="threshold=1")
    row = sfar_verdict(audit)
    assert (row["verdict"], row["reason"], row["p_holm"]) == (
        "inconclusive",
        "no_common_attack",
        None,
    )
    (system,) = audit.verdicts.subset(group="", metric="sfar").rows()
    assert (system["verdict"], system["p"]) == ("inconclusive", None)
    words = " ".join(overview.overview(audit).finding_sentences)
    assert "spoof accept" not in words.lower()
    words = " ".join(attack_sentences(audit, scope_of(audit), "threshold=1"))
    assert "no attack has trials of all groups" in words
    assert "of 0 attacks" not in words
    # the two other error types are one family, as without spoof trials
    bona_fide = audited(
        [trial for trial in apart if trial["label"] != "spoof"],
        people,
        operating_points="threshold=1",
    )
    for metric in ("fnr", "fpr"):
        adjusted = [
            each.verdicts.subset(group="f", metric=metric).rows()[0]["p_holm"]
            for each in (audit, bona_fide)
        ]
        assert adjusted[0] == adjusted[1]


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["others", "pooled", "geomean", "m"])
def test_groups_without_a_common_attack_have_no_verdict_by_any_reference(reference):
    trials, people = spoof_list({"f": [0.8, 0.2], "m": [0.8, 0.2]}, 10)
    apart = [
        trial
        for trial in trials
        if trial["label"] != "spoof" or (trial["attack"] == "A00") == trial["enrol"].startswith("f")
    ]
    audit = audited(apart, people, operating_points="threshold=1", reference=reference)
    row = sfar_verdict(audit)
    assert (row["verdict"], row["reason"]) == ("inconclusive", "no_common_attack")


@pytest.mark.slow
def test_a_group_without_spoof_trials_leaves_the_test_of_all_groups():
    trials, people = spoof_list({"f": [0.9] * 4, "m": [0.2] * 4, "x": [0.2] * 4}, 10)
    trials = [t for t in trials if t["label"] != "spoof" or not t["enrol"].startswith("x")]
    audit = audited(trials, people, operating_points="threshold=1")
    verdicts = {row["group"]: row for row in audit.verdicts.subset(metric="sfar").rows()}
    assert verdicts["x"]["reason"] == "no_spoof_trials"
    assert verdicts["f"]["verdict"] == "worse"
    assert verdicts[""]["p"] is not None


def test_sentences_name_the_attacks_that_matter(audit):
    scope = scope_of(audit)
    words = " ".join(attack_sentences(audit, scope, "sfar=0.2"))
    assert "SFAR of all trials: 0 % (A07) to 40.0 % (A17)" in words
    assert "Agreement between attacks is not evidence about other speakers" in words
    assert "Shares of attacks differ between groups by up to 10.7 percentage points" in words
    sheet = attack_table(audit, scope, "sfar=0.2")
    assert [row[0].text for row in sheet.rows] == ["A07", "A08", "A17", "all attacks"]


@pytest.mark.slow
def test_data_warnings_on_spoof_trials(audit):
    warnings = {row["item"]: row for row in audit.data.rows()}
    assert warnings["attacks_of_unequal_shares"]["count"] == 3
    trials = [dict(trial) for trial in LIST["trials"]]
    spoofs = [trial for trial in trials if trial["label"] == "spoof"]
    for trial in spoofs[:3]:
        trial["attack"] = None
    spoofs[3]["attack"] = "A99"
    other = next(trial for trial in spoofs if trial["enrol"] != spoofs[5]["enrol"])
    spoofs[5] |= {name: other[name] for name in ("test", "test_speaker")}
    items = {row["item"]: row for row in audited(trials).data.rows()}
    assert items["spoof_trials_without_attack"]["count"] == 3
    assert items["attacks_of_few_speakers"]["count"] >= 1
    assert items["spoofed_recordings_of_several_claims"]["count"] == 1
    without_targets = [
        trial
        for trial in trials
        if trial["label"] != "target" or trial["enrol"] != spoofs[0]["enrol"]
    ]
    items = {row["item"]: row for row in audited(without_targets).data.rows()}
    assert items["claimed_speakers_without_target_trials"]["count"] == 1


@pytest.mark.slow
def test_without_any_attack_there_is_no_table():
    trials = [{**trial, "attack": None} for trial in LIST["trials"]]
    audit = audited(trials)
    assert not len(audit.attacks)
    assert "attacks" not in audit.tables()
    assert "46 spoof, attack unknown" in overview.overview(audit).size[0]


@pytest.mark.slow
def test_trials_without_attack_are_an_unknown_attack():
    trials = [dict(trial) for trial in LIST["trials"]]
    unknown = [trial for trial in trials if trial["attack"] == "A17"]
    for trial in unknown:
        trial["attack"] = ""
    rows = rows_of(audited(trials))
    assert rows["all", "unknown attack"]["trials"] == len(unknown)
    assert rows["f", ""]["standardised"] == pytest.approx((0 + 4 / 9) / 2)


@pytest.mark.slow
def test_spoof_trials_that_imitate_a_speaker_without_a_group_count_for_the_claimed_one():
    (claim,) = (
        trial
        for trial in LIST["trials"]
        if trial["label"] == "spoof" and trial["enrol_speaker"] != trial["test_speaker"]
    )
    groups = dict(LIST["speakers"]) | {claim["test_speaker"]: ""}
    people = {"id": list(groups), "group": [group or "" for group in groups.values()]}
    rows = audited(speakers=people).groups.subset(grouping="group", metric="sfar").rows()
    speakers = {row["group"]: row["speakers"] for row in rows}
    assert speakers["f"] == sum(group == "f" for group in groups.values())


@pytest.mark.slow
def test_an_unknown_attack_on_speakers_without_a_group_has_a_row():
    audit = audited(
        [
            trial | {"attack": "" if trial["enrol_speaker"] == "s8" else trial["attack"]}
            for trial in LIST["trials"]
        ]
    )
    assert rows_of(audit)["all", "unknown attack"]["trials"] > 0
    assert rows_of(audit)["f", "unknown attack"]["trials"] == 0
    sheet = attack_table(audit, scope_of(audit), "sfar=0.2")
    assert [row[0].text for row in sheet.rows][-2:] == ["unknown attack", "all attacks"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "head"),
    [("f", "m to f"), ("m", "f to m"), ("pooled", "f to all groups pooled"), ("others", "f to m")],
)
def test_ratios_of_two_groups_are_to_the_reference(reference, head):
    trials, people = spoof_list({"f": [0.6] * 6, "m": [0.2] * 6}, 10)
    audit = audited(trials, people, operating_points="threshold=1", reference=reference)
    sheet = attack_table(audit, scope_of(audit), "threshold=1")
    assert sheet.columns[-2].head == head
    group = head[0]
    row = rows_of(audit)[group, ""]
    assert float(sheet.rows[-1][-2].text) == pytest.approx(row["ratio"], rel=0.02)
    words = " ".join(attack_sentences(audit, scope_of(audit), "threshold=1"))
    n_above = 0 if group == "m" else 6
    to = head.removeprefix(f"{group} to ")
    assert f"SFAR is higher for {group} than for {to} in {n_above} of 6 attacks" in words
    if reference in people["group"]:
        own = rows_of(audit)[reference, ""]
        assert own["ratio"] is own["standardised_ratio"] is own["low"] is None


@pytest.mark.slow
def test_the_long_table_has_a_group_called_all_beside_all_trials():
    names = ["all", "b", "c", "d", "e"]
    people = {**PEOPLE, "group": [names[i % 5] for i in range(len(PEOPLE["id"]))]}
    audit = audited(speakers=people)
    sheet = attack_table(audit, scope_of(audit), "sfar=0.2")
    groups = [row[1].text for row in sheet.rows if row[0].text == "A17"]
    assert sorted(groups) == ["all", *names]


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**16))
def test_attacks_add_up_to_the_rates_of_groups(seed):
    draw = np.random.default_rng(seed)
    trials = [dict(trial) for trial in LIST["trials"]]
    for trial in trials:
        if trial["label"] == "spoof":
            trial["attack"] = str(draw.choice(["A", "B", "C", ""]))
    audit = audited(trials, intervals=False)
    rows = rows_of(audit)
    totals = audit.groups.subset(metric="sfar", definition="", operating_point="sfar=0.2").rows()
    for row in totals:
        if row["group"] == "pooled":
            continue
        attacks = [of for (group, attack), of in rows.items() if group == row["group"] and attack]
        assert sum(of["errors"] for of in attacks) == row["errors"]
        assert sum(of["trials"] for of in attacks) == row["trials"]
        assert rows[row["group"], ""]["value"] == row["value"]


@pytest.mark.slow
def test_an_audit_with_attacks_is_saved_and_loaded(audit, tmp_path, follows_schema):
    audit.save(tmp_path / "audit")
    follows_schema(audit.to_dict())
    loaded = pv.load(tmp_path / "audit")
    assert loaded.attacks.rows() == audit.attacks.rows()
    assert "other_version" not in loaded.record


@pytest.mark.slow
def test_a_limit_of_one_attack_has_the_interval_of_its_spoof_trials_alone(follows_schema):
    points = {"operating_points": ("threshold=1",)}
    attacks = sorted({trial["attack"] for trial in LIST["trials"]} - {None, ""})
    limits = [f"sfar:{attack}=15%" for attack in attacks]
    audit = audited(**points, limits=limits)
    follows_schema(audit.to_dict())
    for attack in attacks:
        kept = [trial for trial in LIST["trials"] if trial["attack"] in {attack, None, ""}]
        alone = audited(kept, **points, limits=("sfar=15%",))
        wanted = {row["group"]: row for row in alone.limits.subset(metric="sfar").rows()}
        rows = audit.limits.subset(metric=f"sfar:{attack}", measure="limit").rows()
        assert {row["group"] for row in rows} == {*wanted} >= {"pooled"}
        for row in rows:
            of_group = wanted[row["group"]]
            assert row["verdict"] == of_group["verdict"]
            numbers = [row[name] for name in ("value", "low", "high")]
            assert numbers == pytest.approx([of_group[name] for name in ("value", "low", "high")])
    words = " ".join(str(audit).split())
    assert f"Limit of 15 % on SFAR of {attacks[0]} at threshold=1" in words


@pytest.mark.slow
def test_a_limit_of_a_name_that_is_a_group_and_an_attack_is_refused():
    trials = [dict(trial) for trial in LIST["trials"]]
    for trial in trials:
        trial["attack"] = "f" if trial["attack"] == "A07" else trial["attack"]
    for limit in ("sfar:f=5%", "sfar:f=0.2"):
        with pytest.raises(ConfigError, match="'f' is both a group and an attack; rename one"):
            audited(trials, limits=limit)
    # attacks have no limits of ratios or of other rates
    audit = audited(trials, limits=("sfar:f=1.5x", "fnr:f=5%", "sfar:m=5%", "sfar:A17=5%"))
    assert {row["metric"] for row in audit.limits.rows() if row["measure"] == "limit"} == {
        "fnr",
        "sfar",
        "sfar:A17",
    }


@pytest.mark.slow
def test_limits_of_attacks_without_a_threshold_say_why():
    (attack, *_) = sorted({trial["attack"] for trial in LIST["trials"]} - {None, ""})
    audit = audited(operating_points=("fpr=0.00001",), limits=(f"sfar:{attack}=5%",))
    rows = audit.limits.subset(metric=f"sfar:{attack}").rows()
    assert {row["verdict"] for row in rows} == {"inconclusive"}
    assert {row["reason"] for row in rows} == {"target_rate_too_low"}
