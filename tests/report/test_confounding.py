"""What the summary says of attributes that go together, and of groups at their own thresholds."""

import random
import re

import pytest

import parivox as pv
from parivox.report import findings


@pytest.fixture(scope="module")
def material():
    """Women, most of them old, and men, most of them young; the young are hard for the system."""
    draw = random.Random(11).random  # the same numbers in every version of Python
    pairs = [("f", "60+")] * 24 + [("f", "<60")] * 11 + [("m", "60+")] * 11 + [("m", "<60")] * 24
    people = {
        "id": [f"s{i:02d}" for i in range(70)],
        "gender": [gender for gender, _ in pairs],
        "band": [band for _, band in pairs],
        "half": ["old" if band == "60+" else "young" for _, band in pairs],
    }
    rows = []
    for i, speaker_id in enumerate(people["id"]):
        noise = 1.0 if people["band"][i] == "60+" else 2.0
        rows += [
            (f"{speaker_id}/1", f"{speaker_id}/{k}", 1.2 + noise * (draw() - 0.5))
            for k in range(2, 14)
        ]
        pair_mates = [o for o, pair in zip(people["id"], pairs, strict=True) if pair == pairs[i]]
        rows += [
            (f"{speaker_id}/1", f"{mate_id}/2", 0.5 + noise * (draw() - 0.5))
            for mate_id in pair_mates
            if mate_id != speaker_id
        ]
    columns = map(list, zip(*rows, strict=True))
    return dict(zip(("enrol", "test", "score"), columns, strict=True)), people


@pytest.fixture
def page(material, printed):
    """The page as one line; by default of gender and band."""
    trials, people = material

    def one_line(scores=None, people=people, **options):
        options = {
            "by": ["gender", "band"],
            "replicates": 100,
            "operating_points": "eer",
            **options,
        }
        return " ".join(
            printed(pv.audit(scores or {"S": trials}, speakers=people, **options)).split()
        )

    return one_line


@pytest.mark.slow
def test_what_goes_together_stands_with_the_groups_concerned(page):
    text = page()
    of_gender, of_band = text.split("band: 2 groups")
    assert "gender and band are associated: 69 % of the speakers with gender" in of_gender
    assert "To account for band, use --within band or --standardise band." in of_gender
    assert "band and gender are associated" not in of_gender
    assert "To account for gender, use --within gender or --standardise gender." in of_band


@pytest.mark.slow
def test_who_compares_within_is_not_told_to(page):
    text = page(by=["gender", "gender+band"], within="band")
    assert "gender and band are associated" in text
    assert "Past that look" not in text


@pytest.mark.slow
def test_groups_of_both_attributes_are_not_confounded_by_one_of_them(page):
    text = page(by=["gender+band", "gender", "band"])
    assert "associated" not in text.split("gender: 2 groups")[0]


@pytest.mark.slow
def test_of_attributes_that_tell_each_other_one_is_enough(page):
    text = page(by=["gender", "band", "half"])
    of_gender, of_band = text.split("band: 2 groups", 1)
    assert of_gender.count("associated") == 1
    assert "band and half coincide" in of_band.split("half: 2 groups")[0]


@pytest.mark.slow
def test_two_systems_on_the_same_speakers_are_told_of_it_once(page, material):
    trials, _ = material
    assert page({"S": trials, "T": trials}, by=["gender", "gender+band"]).count("associated") == 1
    assert page(allocate=["both", "enrol"], by=["gender", "gender+band"]).count("associated") == 1


@pytest.mark.slow
def test_one_attribute_alone_is_not_confounded(page):
    assert "associated" not in page(by="gender")


@pytest.mark.slow
def test_of_two_groups_the_harder_is_named_where_that_is_resolved(page):
    text = page(by="band")
    match = re.search(
        r"comparison: the EER of <60 is ([\d.]+) times that of 60\+ \[([\d.]+), ([\d.]+)\], "
        r"p < 0.001 <60: EER ([\d.]+) % \[.*?\] 60\+: EER ([\d.]+) %",
        text,
    )
    assert match is not None
    times, low, high, harder, easier = map(float, match.groups())
    assert times == pytest.approx(harder / easier, rel=0.05)
    assert 1 < low < times < high


@pytest.mark.slow
def test_chance_is_not_called_a_harder_group(page, material):
    _, people = material
    text = page(people={**people, "team": ["red", "blue"] * 35}, by="team")
    words = r"comparison: the EER of \w+ is [\d.]+ times that of \w+ \["
    assert re.search(words, text)


@pytest.mark.slow
def test_of_many_groups_those_that_differ_stand_with_their_figures(page):
    text = page(by="gender+band")
    number = "(1 of 4 groups differs|[2-4] of 4 groups differ)"
    assert re.search(rf"comparison: {number} in EER from the mean of the groups", text)
    assert re.search(r"m\+<60: harder: EER [\d.]+ % \[[\d., ]+\], ratio [\d.]+", text)
    assert re.search(r"f\+60\+: easier: EER", text)


@pytest.mark.slow
def test_of_many_groups_that_differ_the_others_are_counted(page, monkeypatch):
    monkeypatch.setattr(findings, "_MAX_DIFFERING_GROUPS", 1)
    assert re.search(r"[^:] and \d more that differ", page(by="gender+band"))


@pytest.mark.slow
def test_without_a_mean_group_everyone_together_is_the_reference(page):
    text = page(by="gender+band", reference=["others", "pooled"])
    assert "groups differ in EER from all groups pooled" in text


@pytest.mark.slow
def test_without_intervals_nothing_is_said_of_own_thresholds(page):
    assert "EER at group-specific thresholds" not in page(intervals=False)
    assert "EER at group-specific thresholds" not in page(reference="others")


@pytest.mark.slow
def test_a_group_that_the_system_never_takes_wrong_is_told_as_such(page, material):
    trials, people = material
    women = {
        speaker_id
        for speaker_id, gender in zip(people["id"], people["gender"], strict=True)
        if gender == "f"
    }
    sides = zip(trials["enrol"], trials["test"], trials["score"], strict=True)
    apart = [score + (9 if a[:3] == b[:3] else -9) * (a[:3] in women) for a, b, score in sides]
    text = page({"S": {**trials, "score": apart}}, by="gender")
    assert "inconclusive: there is no interval, or the EER is 0, for f" in text
