"""How difficult each trial is: the vector, what is not known, and the file it is written to."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox as pv
from parivox.data.lists.grades import grade_codes, parse_mix

# paper 002, Table 1: same speaker, gender, nationality, recording
VECTOR = dict(zip((f"{i:04b}" for i in range(16)), map(int, "1122334431313131"), strict=True))
SPEAKERS = {"id": ["a", "b"], "gender": ["f", "f"], "nationality": ["UK", "IE"]}


def test_vector_5_1():
    rows = np.array([[int(bit) for bit in name] for name in VECTOR])
    speaker, gender, nationality, recording = rows.T
    grades = grade_codes(speaker, recording, [gender, nationality])
    assert grades.tolist() == list(VECTOR.values())


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), *[st.integers(-1, 1)] * 4), min_size=1))
def test_a_grade_counts_in_bits_and_is_unknown_with_any_part(rows):
    target, recording, *shared = np.array(rows, dtype=int).T
    grades = grade_codes(target, recording, shared)
    for grade, is_target, same_recording, *bits in zip(
        grades, target, recording, *shared, strict=True
    ):
        if is_target:
            assert grade == {1: 1, 0: 3, -1: 0}[same_recording]
        elif -1 in bits:
            assert grade == 0
        else:
            assert grade == 1 + int("".join(map(str, bits)), 2)


def test_without_attributes_no_trial_of_two_speakers_has_a_grade():
    assert grade_codes([0, 1], [0, 0], []).tolist() == [0, 3]


def graded(trials, **options):
    return pv.trials.grade(trials, **options).trials


def test_each_trial_has_its_grade_and_what_is_shared():
    trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    rows = graded(trials, speakers=SPEAKERS).rows()
    assert rows == [
        {
            "enrol": "a/x/1",
            "test": tested,
            "label": label,
            "grade": grade,
            "same_recording": recording,
            "same_gender": True,
            "same_nationality": nationality,
        }
        for tested, label, grade, recording, nationality in (
            ("a/x/2", "target", 1, True, True),
            ("b/y/1", "nontarget", 3, False, False),
        )
    ]


def test_scores_are_kept_beside_their_grades():
    trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    table = graded({**trials, "score": [0.5, None]}, speakers=SPEAKERS)
    assert table.columns[:5] == ("enrol", "test", "label", "score", "grade")
    assert table.to_dict()["score"] == [0.5, None]


def test_the_attribute_named_first_weighs_most():
    trials = {"enrol": ["a/x/1"], "test": ["b/y/1"]}
    for names, grade in ((["gender", "nationality"], 3), (["nationality", "gender"], 2)):
        assert graded(trials, speakers=SPEAKERS, grade_by=names).to_dict()["grade"] == [grade]


def test_what_is_unknown_has_no_grade_and_is_counted():
    people = {**SPEAKERS, "gender": ["f", "NA"]}
    trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"]}
    grades = pv.trials.grade(trials, speakers=people)
    assert grades.trials.to_dict()["grade"] == [None, None]
    assert grades.counts.rows() == [
        {"label": "nontarget", "grade": None, "trials": 1},
        {"label": "target", "grade": None, "trials": 1},
    ]


def test_recordings_may_differ_in_what_makes_trials_difficult():
    table = {
        "utterance": ["a/x/1", "a/x/2", "b/y/1"],
        "device": ["phone", "desk", "phone"],
    }
    trials = {"enrol": ["a/x/1", "a/x/2"], "test": ["b/y/1", "b/y/1"]}
    columns = graded(trials, utterances=table, grade_by="device").to_dict()
    assert columns["same_device"] == [True, False]
    assert columns["grade"] == [2, 1]


def test_columns_of_the_trials_say_yes_or_no_or_are_in_bands():
    trials = {
        "enrol": ["a/x/1", "a/x/1", "a/x/1"],
        "test": ["b/y/1", "b/y/2", "b/y/3"],
        "household": ["yes", "no", ""],
        "days": [3, 90, 10],
    }
    columns = graded(trials, speakers=SPEAKERS, grade_by=["household", "days:30"]).to_dict()
    assert columns["same_household"] == [True, False, None]
    assert columns["same_days:30"] == [True, False, True]
    assert columns["grade"] == [4, 1, None]


def test_a_column_of_the_trials_that_says_neither_is_refused():
    trials = {"enrol": ["a/x/1"], "test": ["b/y/1"], "channel": ["radio"]}
    with pytest.raises(pv.ConfigError, match=r"write yes \(shared\) or no"):
        graded(trials, grade_by="channel")


@pytest.mark.parametrize("names", [["enrol.gender"], ["gender", "Gender"], list("abcdefg")])
def test_difficulty_that_makes_no_sense_is_refused(names):
    with pytest.raises(pv.ConfigError, match="grade_by"):
        graded({"enrol": ["a/1"], "test": ["b/1"]}, grade_by=names)


def test_an_unknown_attribute_is_refused_with_the_nearest():
    with pytest.raises(pv.ConfigError, match="did you mean 'gender"):
        graded({"enrol": ["a/1"], "test": ["b/1"]}, speakers=SPEAKERS, grade_by="gendre")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_holds_what_the_table_holds(tmp_path, ending):
    trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    out = tmp_path / f"graded.{ending}"
    grades = pv.trials.grade(trials, speakers=SPEAKERS, out=out)
    assert grades.trials is None
    assert grades.path == out
    read = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert read.rows() == graded(trials, speakers=SPEAKERS).to_polars().rows()
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_a_file_of_another_kind_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(pv.ConfigError, match="csv"):
        pv.trials.grade("nowhere.txt", out=tmp_path / "graded.txt")


def test_a_mix_is_read_and_refused():
    assert parse_mix("cat4=0.5, cat3=0.5") == {4: 0.5, 3: 0.5}
    assert parse_mix({"cat1": 1}) == {1: 1.0}
    for text in ("cat4=0.5", "cat9=1", "cat4", "cat4=1,cat4=0", "cat4=2,cat1=-1"):
        with pytest.raises(pv.ConfigError, match="mix"):
            parse_mix(text)
    with pytest.raises(
        pv.ConfigError, match=r"write a mix such as cat2=0.75,cat1=0.25, with grades from 1 to 2"
    ):
        parse_mix("cat3=1", 2)


def test_with_one_attribute_pairs_are_of_grades_1_and_2_and_target_trials_of_3():
    people = {"id": ["a", "b", "c"], "gender": ["f", "f", "m"]}
    trials = {"enrol": ["a/x/1"] * 3, "test": ["a/y/1", "b/z/1", "c/w/1"]}
    grades = pv.trials.grade(trials, speakers=people)
    rows = {(row["label"], row["grade"]): row["trials"] for row in grades.counts.rows()}
    assert rows == {("target", 3): 1, ("nontarget", 2): 1, ("nontarget", 1): 1}
    trials["score"] = [2.0, 1.0, 0.0]
    audit = pv.audit(trials, speakers=people, by="grade", intervals=False)
    groups = audit.groups.subset(grouping="grade", metric="fnr").to_dict()["group"]
    assert set(groups) == {"1", "2", "3", "pooled"}


@pytest.mark.parametrize(
    "options",
    [{"by": 3}, {"grade_by": 3}, {"grade_by": [None]}, {"out": 3}, {"columns": 3}],
    ids=str,
)
def test_options_of_another_kind_are_refused(options):
    trials = {"enrol": ["a/x/1"], "test": ["b/y/1"]}
    call = pv.trials.describe if "by" in options else pv.trials.grade
    with pytest.raises(pv.ConfigError, match=f"^(--)?{next(iter(options))}"):
        call(trials, **options)


def test_every_grade_of_voxceleb1_h(h_list, vox1):
    grades = pv.trials.grade(h_list, speakers=vox1)
    assert grades.counts.to_dict() == {
        "label": ["nontarget", "target", "target"],
        "grade": [4, 1, 3],
        "trials": [275_406, 32_778, 242_710],
    }
