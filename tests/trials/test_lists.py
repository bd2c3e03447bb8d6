"""Reading lists without scores, and finding out what was recorded at once."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox as pv
from parivox.data.lists.trial_list import numbered_recordings, read_list
from parivox.data.recording_names import recording_names
from parivox.data.recordings import read_utterances

ROWS = [("a/x/1", "a/y/1", 1), ("a/x/1", "b/z/1", 0), ("b/z/1", "b/z/2", 1)]


def recorded(ids, speakers, table=None):
    table = None if table is None else read_utterances(table)
    owner = np.array(speakers, dtype=np.int32)
    names = recording_names(pl.Series(ids), table, owner)
    return numbered_recordings(names, owner).tolist()


def trials_of(trial_list):
    ids = list(trial_list.trials.utterance_ids)
    return sorted(
        (ids[e], ids[t], int(label))
        for chunk in trial_list.chunks()
        for e, t, label in zip(chunk.enrol, chunk.test, chunk.target, strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{label} {enrol} {test}\n" for enrol, test, label in ROWS),
        "".join(f"{e} {t} {'target' if x else 'nontarget'}\n" for e, t, x in ROWS),
        "enrol,test,label\n" + "".join(f"{e},{t},{x}\n" for e, t, x in ROWS),
        "enrol,test\n" + "".join(f"{e},{t}\n" for e, t, _ in ROWS),
        "enrol,test,score,label\n" + "".join(f"{e},{t},odd,{x}\n" for e, t, x in ROWS),
    ],
    ids=["voxceleb", "kaldi", "csv", "without labels", "with scores"],
)
def test_a_list_is_read_whatever_its_format_and_scores_do_not_count(tmp_path, text):
    path = tmp_path / "list.txt"
    path.write_text(text)
    assert trials_of(read_list(path)) == sorted(ROWS)


def test_rows_that_differ_in_their_scores_only_are_duplicates():
    rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "b/1"], "score": [0.1, 0.2]}
    trial_list = read_list(rows)
    assert trial_list.trials.n_trials == 1
    assert {note.item: note.count for note in trial_list.trials.data_notes}["exact_duplicates"] == 1


def test_labels_that_contradict_the_speakers_are_refused_or_set_aside():
    rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "label": [1, 1]}
    with pytest.raises(pv.DataError, match=r"a/1.*b/1"):
        read_list(rows)
    assert trials_of(read_list(rows, conflicts="exclude")) == [("a/1", "a/2", 1)]


def test_the_order_of_rows_changes_nothing():
    turned = {n: c[::-1] for n, c in zip("etl", zip(*ROWS, strict=True), strict=True)}
    names = {"enrol": "e", "test": "t", "label": "l"}
    renamed = read_list({n: list(c) for n, c in turned.items()}, columns=names)
    columns = zip(*ROWS, strict=True)
    original = read_list(dict(zip(("enrol", "test", "label"), map(list, columns), strict=True)))
    assert renamed.trials.content_sha256 == original.trials.content_sha256


def test_the_folder_below_the_speaker_is_the_recording():
    assert recorded(["a/x/1", "a/x/2", "a/y/1", "b/z/1"], [0, 0, 0, 1]) == [0, 0, 1, 2]


def test_folders_that_are_the_speakers_tell_no_recording():
    ids = ["wav/a/1", "wav/a/2", "wav/b/1"]
    assert recorded(ids, [0, 0, 1]) == [-1, -1, -1]
    assert recorded(["wav/a/x/1", "wav/a/y/2", "wav/b/z/1"], [0, 0, 1]) == [0, 1, 2]


def test_one_recording_for_each_speaker_is_known_where_the_path_begins_with_him():
    assert recorded(["a/x/1", "a/x/2", "b/y/1"], [0, 0, 1]) == [0, 0, 1]


@pytest.mark.parametrize("column", ["recording", "Video", "session_id", "call"])
def test_the_table_of_utterances_tells_before_the_path(column):
    table = {"utterance": ["a/x/1", "a/x/2", "b/x/1"], column: ["1", "2", "1"]}
    assert recorded(["b/x/1", "a/x/1", "a/x/2", "a/x/3"], [1, 0, 0, 0], table) == [2, 0, 1, -1]


def test_a_cell_that_is_unknown_is_no_recording():
    table = {"utterance": ["a/x/1", "a/x/2"], "recording": ["1", "NA"]}
    assert recorded(["a/x/1", "a/x/2"], [0, 0], table) == [0, -1]


@pytest.mark.slow
@given(st.permutations([f"{s}/{s}{r}/{u}" for s, r, u in itertools.product("ab", "xy", "12")]))
def test_recordings_do_not_depend_on_the_order(ids):
    recordings = dict(
        zip(ids, recorded(ids, [ord(utterance[0]) - 97 for utterance in ids]), strict=True)
    )
    assert recordings == {
        utterance: 2 * "ab".index(utterance[0]) + "xy".index(utterance[3])
        for utterance in recordings
    }


def test_an_utterance_is_of_its_own_recording_even_if_that_is_unknown():
    trial_list = read_list({"enrol": ["a/1", "a/1"], "test": ["a/1", "a/2"]})
    (chunk,) = trial_list.chunks()
    assert trial_list.same_recording(chunk).tolist() == [1, -1]


def test_without_a_table_of_speakers_there_are_no_groups():
    trial_list = read_list({"enrol": ["a/1"], "test": ["b/1"]})
    assert trial_list.groupings == trial_list.agreements == trial_list.attributes == ()


def test_ids_that_tell_no_speaker_are_refused_with_the_mend():
    with pytest.raises(pv.DataError, match="speakers or utterances"):
        read_list({"enrol": ["u1"], "test": ["u2"]})


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"gender": ["f", "m"], "nationality": ["UK", "IE"]}, ["gender", "nationality"]),
        ({"Nationality": ["UK", "IE"], "Sex": ["f", "m"]}, ["Sex", "Nationality"]),
        ({"accent": ["x", "y"]}, ["accent"]),
    ],
)
def test_difficulty_is_that_of_paper_002_where_speakers_have_its_attributes(columns, names):
    trial_list = read_list(
        {"enrol": ["a/1"], "test": ["b/1"]}, speakers={"id": ["a", "b"], **columns}
    )
    assert [agreement.name for agreement in trial_list.agreements] == names


def test_many_trials_are_looked_at_in_blocks(monkeypatch, even, people):
    unsplit = pv.trials.check(even, speakers=people, by="gender").to_json()
    monkeypatch.setattr("parivox.data.lists.trial_list.TRIALS_PER_CHUNK", 3)
    assert pv.trials.check(even, speakers=people, by="gender").to_json() == unsplit
    monkeypatch.setattr("parivox.data.trial_shards.IN_MEMORY_TRIALS", 2)
    monkeypatch.setattr("parivox.data.trial_shards.SHARD_TRIALS", 2)
    assert pv.trials.check(even, speakers=people, by="gender").to_json() == unsplit
