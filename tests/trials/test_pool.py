"""The recordings to draw from."""

import numpy as np
import pytest

from parivox.errors import ConfigError, DataError
from parivox.trials.pool import Pool

pytestmark = pytest.mark.minimal
IDS = ["b/y/2", "a/x/2", "b/y/1", "a/w/9", "a/x/1"]
PEOPLE = {"id": ["b", "a", "c"], "sex": ["m", "f", "f"], "nation": ["X", "", "Y"]}


def test_utterances_stand_by_speaker_recording_and_id_whatever_the_order_of_rows():
    pool = Pool.read({"utterance": IDS}, PEOPLE, by="sex")
    assert pool.utterance_ids.to_list() == ["a/w/9", "a/x/1", "a/x/2", "b/y/1", "b/y/2"]
    assert pool.utterance_starts.tolist() == [0, 3, 5]
    assert pool.recording_ends.tolist() == [1, 3, 3, 5, 5]
    assert pool.speaker_ids == ("a", "b")
    assert (pool.groups, pool.group_of_speaker.tolist()) == (("f", "m"), [0, 1])
    turned = {name: cells[::-1] for name, cells in PEOPLE.items()}
    assert Pool.read({"utterance": IDS[::-1]}, turned, by="sex").ids_sha256() == pool.ids_sha256()


def test_speaker_and_recording_may_be_columns():
    table = {
        "utterance": ["u3", "u1", "u2"],
        "speaker": ["b", "a", "a"],
        "session": ["monday", "tuesday", "monday"],
        "sex": ["m", "f", "f"],
    }
    pool = Pool.read(table, by="sex")
    assert pool.utterance_ids.to_list() == ["u2", "u1", "u3"]
    assert pool.recording_indices.tolist() == [0, 1, 2]
    assert pool.groups == ("f", "m")


def test_grades_of_classes_are_those_of_the_paper():
    people = {"id": list("abcd"), "g": list("ffmm"), "n": list("XYXY")}
    pool = Pool.read({"utterance": [f"{i}/r/1" for i in "abcd"]}, people, by="g+n")
    assert pool.difficulty_classes.pair_grades.tolist() == [
        [4, 3, 2, 1],
        [3, 4, 1, 2],
        [2, 1, 4, 3],
        [1, 2, 3, 4],
    ]
    assert pool.hardest == 4


def test_an_unknown_attribute_of_a_speaker_is_of_no_class():
    pool = Pool.read({"utterance": IDS}, PEOPLE, by="sex+nation")
    assert pool.group_of_speaker.tolist() == [-1, 0]
    assert pool.difficulty_classes.class_of_speaker.tolist() == [-1, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "people", "by", "message"),
    [
        ({"utterance": ["a/x/1", "a/x/1"]}, PEOPLE, "sex", "1 of 2 rows repeat an utterance"),
        ({"utterance": ["a/1"], "speaker": ["a"]}, PEOPLE, "sex", "have no recording"),
        ({"utterance": ["a/x/1"], "speaker": [""]}, PEOPLE, "sex", "give the id"),
        ({"utterance": ["q/x/1"]}, PEOPLE, "sex", "are not speakers in speakers"),
        ({"utterance": ["a/x/1"]}, PEOPLE, "age", "available:"),
        ({"utterance": ["a/x/1"]}, None, "sex", "sex"),
        ({"word": ["a/x/1"]}, PEOPLE, "sex", "no column 'utterance'"),
        (
            {"utterance": ["a/x/1", "a/x/2"], "sex": ["f", "m"]},
            None,
            "sex",
            "speaker 'a' is 'f' and 'm'",
        ),
    ],
)
def test_what_is_wrong_with_the_tables_is_said_in_a_sentence(table, people, by, message):
    with pytest.raises((DataError, ConfigError), match=message) as raised:
        Pool.read(table, people, by=by)
    assert "\n" not in str(raised.value)


def test_hashes_cover_the_ids_and_no_attribute():
    digest = Pool.read({"utterance": IDS}, PEOPLE, by="sex").ids_sha256()
    recoded_digest = Pool.read({"utterance": IDS}, PEOPLE | {"sex": ["f", "f", "f"]}, by="sex")
    assert recoded_digest.ids_sha256() == digest
    shorter = Pool.read({"utterance": IDS[:-1]}, PEOPLE, by="sex").ids_sha256()
    assert shorter["utterances"] != digest["utterances"]
    assert np.unique(list(digest.values())).size == 2
