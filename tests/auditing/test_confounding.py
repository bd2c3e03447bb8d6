"""What an audit says of attributes that go together among its speakers."""

import json
import random
from itertools import combinations

import pytest

import parivox as pv

pytestmark = pytest.mark.slow

FEW = {"reference": "others", "zero": "none", "replicates": 50}
"""Fewer measures of bias than by default: they are not what is tested here."""


def audited(people, *, recordings=None, **how):
    """An audit of speakers with two recordings each, taken for the four that come next."""
    draw = random.Random(5).random  # the same numbers in every version of Python
    names = people["id"]
    rows = []
    for i, one in enumerate(names):
        others = (names[(i + k) % len(names)] for k in range(1, 5))
        rows.append((f"{one}/1", f"{one}/2", draw() + 0.3))
        rows += [(f"{one}/1", f"{other}/2", draw()) for other in others]
    scores = dict(zip(("enrol", "test", "score"), map(list, zip(*rows, strict=True)), strict=True))
    how = {"by": ["gender", "band"], "operating_points": "eer", **FEW, **how}
    return pv.audit({"S": scores}, speakers=people, utterances=recordings, **how)


def speakers(**of):
    """So many speakers for each pair of gender and band, as in ``f_old=3``."""
    pairs = [pair.split("_") for pair, n in of.items() for _ in range(n)]
    return {
        "id": [f"s{i:03d}" for i in range(len(pairs))],
        "gender": [gender for gender, _ in pairs],
        "band": [band for _, band in pairs],
    }


def told(audit):
    rows = audit.record.get("confounding", {}).get("S", [])
    return {(row["attribute"], row["other"]): row for row in rows}


@pytest.fixture(scope="module")
def apart():
    return audited(speakers(f_old=30, f_young=12, m_old=12, m_young=30))


def test_what_goes_together_is_said_from_either_side(apart):
    rows = told(apart)
    assert set(rows) == {("gender", "band"), ("band", "gender")}
    row = rows["gender", "band"]
    assert row["relation"] == "confounded"
    assert row["speakers"] == 84
    assert [group["share"] for group in row["shares"]["groups"]] == [30 / 42, 12 / 42]
    assert row["shares"]["value"] in {"old", "young"}
    assert rows["band", "gender"]["cramers_v"] == row["cramers_v"]


def test_it_is_written_as_the_schema_has_it_and_read_again(apart, tmp_path, follows_schema):
    follows_schema(json.loads(apart.to_json()))
    apart.save(tmp_path / "audit")
    assert pv.load(tmp_path / "audit").record["confounding"] == apart.record["confounding"]


def test_attributes_in_a_combination_count_too():
    audit = audited(
        speakers(f_old=30, f_young=12, m_old=12, m_young=30), by=["gender", "gender+band"]
    )
    assert told(audit)["gender", "band"]["relation"] == "confounded"


def test_what_goes_together_a_little_is_confounded_weakly():
    audit = audited(speakers(f_old=60, f_young=40, m_old=40, m_young=60))
    row = told(audit)["gender", "band"]
    assert row["cramers_v"] < 0.3
    assert row["shares"]["groups"][0]["share"] == 0.6


def test_what_does_not_go_together_is_recorded_as_not_shown():
    audit = audited(speakers(f_old=20, f_young=20, m_old=21, m_young=19))
    assert told(audit)["gender", "band"]["relation"] == "not_shown"


@pytest.mark.parametrize("few", [0, 3, 9])
def test_no_share_of_few_speakers_is_told(few):
    audit = audited(speakers(f_old=40, f_young=few, m_old=11, m_young=29))
    groups = told(audit)["gender", "band"]["shares"]["groups"]
    assert {"fewer_than", "all_but_fewer_than"} & {name for group in groups for name in group}
    assert few / (40 + few) not in [group.get("share") for group in groups]


def test_a_value_of_none_of_the_speakers_counts_for_nothing():
    people = speakers(f_old=30, f_young=12, m_old=12, m_young=30, x_ageless=12)
    people["gender"] = [gender.replace("x", "") for gender in people["gender"]]
    rows = told(audited(people))
    for row in rows.values():
        assert row["shares"]["groups"][0]["share"] == 30 / 42


def test_groups_of_few_speakers_are_no_example():
    audit = audited(speakers(f_old=40, f_young=3, m_old=3, m_young=6))
    row = told(audit)["gender", "band"]
    assert row["relation"] == "confounded"
    assert row["shares"] is None


def test_an_attribute_that_another_tells_is_not_tested():
    people = speakers(f_6=12, f_10=14, f_20=10, m_6=13, m_10=11, m_20=12)
    people["maturity"] = ["adult" if band == "20" else "child" for band in people["band"]]
    rows = told(audited(people, by=["maturity", "band", "gender"]))
    assert rows["maturity", "band"]["relation"] == "told"
    assert rows["band", "maturity"]["relation"] == "tells"
    assert rows["maturity", "band"]["p_holm"] is None
    tested = [rows["maturity", "gender"], rows["band", "gender"]]
    assert min(row["p_holm"] for row in tested) == pytest.approx(
        min(1, 2 * min(row["p"] for row in tested))
    )


def test_two_names_of_one_thing_are_alike():
    people = speakers(f_old=10, f_young=10, m_old=10, m_young=10)
    people["sex"] = ["female" if gender == "f" else "male" for gender in people["gender"]]
    rows = told(audited(people, by=["gender", "sex"]))
    assert {row["relation"] for row in rows.values()} == {"alike"}


def test_p_values_are_adjusted_over_the_pairs():
    people = speakers(f_old=15, f_young=10, m_old=10, m_young=15)
    people["team"] = [("red", "blue")[i % 2] for i in range(50)]
    rows = told(audited(people, by=["gender", "band", "team"]))
    pairs = [rows[pair] for pair in combinations(("gender", "band", "team"), 2)]
    least = min(pairs, key=lambda row: row["p"])
    assert least["p_holm"] == pytest.approx(min(1, 3 * least["p"]))


def test_speakers_of_whom_one_of_both_is_unknown_do_not_count():
    people = speakers(f_old=30, f_young=12, m_old=12, m_young=30)
    people["band"][:5] = [""] * 5
    assert told(audited(people))["gender", "band"]["speakers"] == 79


def test_of_recordings_a_speaker_has_the_value_of_most():
    people = speakers(f_old=20, m_old=20)
    del people["band"]
    ids = [(one, k) for one in people["id"] for k in (1, 2)]
    recordings = {
        "utterance": [f"{one}/{k}" for one, k in ids],
        "speaker": [one for one, _ in ids],
        "length": [("short" if int(one[1:]) < 20 else "long") for one, _ in ids],
    }
    rows = told(audited(people, recordings=recordings, by=["gender", "length"]))
    assert rows["gender", "length"]["relation"] == "alike"
    recordings["length"][::2] = ["long"] * 40  # of two alike, the first in order
    rows = told(audited(people, recordings=recordings, by=["gender", "length"]))
    assert rows == {}


def test_one_attribute_says_nothing(apart):
    people = speakers(f_old=10, f_young=10, m_old=10, m_young=10)
    assert "confounding" not in audited(people, by="gender").record
    assert "confounding" not in audited(people, intervals=False).record


def test_counts_know_no_speakers_and_say_nothing(tmp_path):
    people = speakers(f_old=30, f_young=12, m_old=12, m_young=30)
    scores = {"enrol": ["s000/1", "s001/1"], "test": ["s000/2", "s002/2"], "score": [1.0, 0.0]}
    counts = pv.count({"x": scores}, speakers=people, by=["gender", "band"], withhold=0)
    counts.save(tmp_path / "x.counts")
    assert "confounding" not in pv.audit(tmp_path / "x.counts").record


@pytest.mark.parametrize("side", ["enrol", "test", "same"])
def test_attributes_of_one_side_are_none_of_speakers(side):
    by = "same:band" if side == "same" else f"{side}.band"
    people = speakers(f_old=30, f_young=12, m_old=12, m_young=30)
    assert told(audited(people, by=["gender", by])) == {}
