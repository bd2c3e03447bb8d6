"""What a list holds: published figures of real lists, and counts by hand of small ones."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.data.lists.list_counts import effective_number

# paper 002's Table 3 on VoxCeleb1-H (cleaned; docs/papers.md):
# target trials, trivial ones in %
TABLE_3 = {
    "USA": (178_134, 12.70),
    "UK": (53_120, 10.31),
    "Canada": (10_873, 11.22),
    "India": (10_056, 10.31),
    "Australia": (8_668, 10.31),
    "Ireland": (4_960, 9.13),
    "Norway": (4_906, 9.68),
    "New Zealand": (1_810, 10.50),
    "Germany": (1_256, 18.07),
    "Mexico": (1_130, 8.76),
    "Italy": (575, 15.13),
}
# paper 001, Table 2, column VoxCeleb1-H, in %
TABLE_2 = {
    ("gender", "f"): (44, 41.1),
    ("gender", "m"): (56, 58.9),
    ("nationality", "USA"): (67.1, 64.7),
    ("nationality", "UK"): (18.1, 19.3),
    ("nationality", "Canada"): (4.5, 3.9),
}
SPEAKERS = {"id": ["a", "b", "c"], "gender": ["f", "f", "m"]}


def groups(checked):
    rows = checked.tables["groups"].rows()
    return {(row["grouping"], row["group"]): row for row in rows}


def test_table_3_of_paper_002_on_h(h_checked):
    rows = groups(h_checked)
    for group, (target, trivial) in TABLE_3.items():
        row = rows["nationality", group]
        assert row["target"] == target
        assert round(100 * row["trivial_share"], 2) == trivial
    assert rows["all", "all"]["target"] == 275_488


def test_table_2_of_paper_001_on_h(h_checked):
    rows = groups(h_checked)
    for key, (speakers, trials) in TABLE_2.items():
        digits = 0 if key[0] == "gender" else 1
        assert round(100 * rows[key]["speaker_share"], digits) == speakers
        assert round(100 * rows[key]["trial_share"], 1) == trials  # counted where they occur
        assert 100 * rows[key]["utterance_share"] == pytest.approx(trials, abs=0.06)
    overall = rows["all", "all"]
    assert (overall["speakers"], overall["trials"]) == (1_190, 550_894)
    assert sum(grouping == "nationality" for grouping, _ in rows) == 11
    assert sum(grouping == "gender+nationality" for grouping, _ in rows) == 18


def test_the_list_of_paper_003(protocol_checked):
    rows = groups(protocol_checked)
    counts = dict(zip(*protocol_checked.tables["list"].to_dict().values(), strict=True))
    assert counts["trials"] == 39_744
    assert counts["speakers"] == 72
    assert counts["utterances"] == 72 * 24
    assert not any(n for item, n in counts.items() if "duplicates" in item or "reversed" in item)
    nations = {group: row for (attribute, group), row in rows.items() if attribute == "nationality"}
    assert len(nations) == 9
    for row in nations.values():
        assert (row["speakers"], row["target"], row["nontarget"]) == (8, 2_208, 2_208)
        assert (row["never_enrol"], row["never_test"]) == (1, 1)
    shares = {group: round(100 * row["trivial_share"], 1) for group, row in nations.items()}
    assert (shares["Ireland"], shares["India"]) == (23.7, 53.6)
    assert (min(shares.values()), max(shares.values())) == (23.7, 53.6)
    assert round(100 * rows["all", "all"]["trivial_share"], 1) == 38.0
    by_speaker = protocol_checked.tables["speakers"].to_dict()
    assert set(by_speaker["enrol_target"]) == {276}
    enrols = [n for n in by_speaker["enrol_nontarget"] if n]
    assert (min(enrols), max(enrols)) == (71, 586)


def test_nontarget_trials_of_paper_003_within_each_attribute(protocol_checked):
    rows = protocol_checked.tables["within"].subset(attribute="Gender").rows()
    overall, *nations = [round(100 * row["same_share"], 1) for row in rows]
    assert overall == 45.7
    assert (min(nations), max(nations)) == (41.6, 56.4)
    shares = (
        protocol_checked.tables["within"].subset(attribute="Nationality").to_dict()["same_share"]
    )
    assert set(shares) == {1.0}


@pytest.mark.slow
@settings(deadline=None)
@given(st.data())
def test_every_count_is_that_of_a_loop_over_the_trials(data):
    utterances = [f"{s}/{s}{r}/{u}" for s, r, u in itertools.product("abc", "xy", "12")]
    pairs = list(itertools.permutations(utterances, 2))
    trials = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=30, unique=True))
    rows = {"enrol": [enrolled for enrolled, _ in trials], "test": [tested for _, tested in trials]}
    description = pv.trials.describe(rows, speakers=SPEAKERS, by="gender", speaker_ids=True)
    gender = dict(zip(*SPEAKERS.values(), strict=True))
    target = [(enrolled, tested) for enrolled, tested in trials if enrolled[0] == tested[0]]
    nontarget = [pair for pair in trials if pair not in target]
    for row in description.tables["groups"].subset(grouping="gender").rows():
        mine = row["group"]
        used = {enrolled for pair in trials for enrolled in pair if gender[enrolled[0]] == mine}
        assert row["utterances"] == len(used)
        assert row["speakers"] == len({enrolled[0] for enrolled in used})
        assert row["recordings"] == len({enrolled[:4] for enrolled in used})
        assert row["target"] == sum(gender[enrolled[0]] == mine for enrolled, _ in target)
        assert row["nontarget"] == sum(gender[enrolled[0]] == mine for enrolled, _ in nontarget)
        assert row["trivial"] == sum(
            gender[enrolled[0]] == mine and enrolled[:4] == tested[:4]
            for enrolled, tested in target
        )
    for row in description.tables["matrix"].rows():
        key = row["enrol_group"], row["test_group"]
        assert row["nontarget"] == sum((gender[a[0]], gender[b[0]]) == key for a, b in nontarget)
    for row in description.tables["speakers"].rows():
        speaker = row["speaker"]
        assert row["enrol_nontarget"] == sum(enrolled[0] == speaker for enrolled, _ in nontarget)
        assert row["test_nontarget"] == sum(tested[0] == speaker for _, tested in nontarget)
        partners = {a[0] for pair in nontarget for a in pair if speaker in {pair[0][0], pair[1][0]}}
        assert row["partners"] == len(partners - {speaker})
    counts = dict(zip(*description.tables["list"].to_dict().values(), strict=True))
    back = [(a, b) for a, b in trials if (b, a) in trials]
    assert counts["reversed_target_trials"] == sum(a[0] == b[0] for a, b in back) / 2
    assert counts["reversed_nontarget_trials"] == sum(a[0] != b[0] for a, b in back) / 2


def test_groups_of_recordings_and_of_trials():
    table = {"utterance": ["a/x/1", "a/y/1", "b/z/1"], "device": ["phone", "desk", "phone"]}
    trials = {
        "enrol": ["a/x/1", "a/x/1"],
        "test": ["a/y/1", "b/z/1"],
        "place": ["home", "road"],
    }
    description = pv.trials.describe(trials, utterances=table, by=["device", "place"])
    rows = {(r["grouping"], r["group"]): r for r in description.tables["groups"].rows()}
    assert rows["device", "phone"]["utterances"] == 2
    assert rows["device", "phone"]["target"] == 1
    assert rows["device", "desk"]["target"] == 0
    assert rows["place", "road"]["nontarget"] == 1
    assert rows["place", "road"]["utterances"] is None
    cells = description.tables["matrix"].subset(grouping="device").rows()
    assert [(c["enrol_group"], c["test_group"], c["nontarget"]) for c in cells] == [
        ("phone", "phone", 1)
    ]


def test_speakers_are_named_on_request_only():
    trials = {"enrol": ["secret1/x/1"], "test": ["secret2/y/1"]}
    description = pv.trials.describe(trials)
    assert "speaker" not in description.tables["speakers"].columns
    assert "secret" not in description.to_json()
    named = pv.trials.describe(trials, speaker_ids=True)
    assert named.tables["speakers"].to_dict()["speaker"] == ["secret1", "secret2"]


def test_json_holds_every_table():
    description = pv.trials.describe({"enrol": ["a/x/1"], "test": ["b/y/1"]})
    payload = json.loads(description.to_json())
    assert set(payload["tables"]) == set(description.tables)
    assert payload["tables"]["groups"]["trivial_share"] == [None]  # there is no target trial


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_the_effective_number_of_speakers_is_at_most_their_number(trials):
    speakers = effective_number(np.array(trials))
    assert speakers <= sum(n > 0 for n in trials) + 1e-9
    assert effective_number(np.full(7, 3)) == pytest.approx(7)
    assert effective_number(np.array(trials) * 3) == pytest.approx(speakers)
