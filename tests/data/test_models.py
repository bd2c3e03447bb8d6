"""Enrolment models: whose they are, of which recordings, and how trials of them are read."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.attributes import parse_attribute
from parivox.data.recordings import read_models, read_utterances
from parivox.data.requested_groupings import make_groupings
from parivox.data.speakers import read_speakers
from parivox.errors import DataError

MODELS = {
    "model": ["m1", "m1", "m2", "m3", "m3", "m3"],
    "speaker": ["a", "a", "b", "c", "c", "c"],
    "recording": ["a/1", "a/2", "b/1", "c/1", "c/2", "c/3"],
}
TRIALS = {
    "enrol": ["m1", "m1", "m2", "m3", "m2", "m1"],
    "test": ["a/9", "b/1", "b/9", "a/1", "b/1", "a/2"],
    "score": [0.9, 0.1, 0.8, 0.2, 0.7, 0.95],
}


def test_models_and_their_recordings(read, plain):
    trial_set = read(TRIALS, models=MODELS)
    assert list(trial_set.utterance_ids) == [
        "m1", "m2", "m3",
        "a/1", "a/2", "a/9", "b/1", "b/9",
    ]  # fmt: skip
    assert trial_set.n_models == 3
    assert [trial_set.speaker_table.ids[i] for i in trial_set.utterance_speaker] == [
        *"abc",
        *"aaabb",
    ]
    labels = {(e, t): target for e, t, target, *_ in plain(trial_set)}
    assert labels == {
        ("m1", "a/9"): True,
        ("m1", "b/1"): False,
        ("m2", "b/9"): True,
        ("m3", "a/1"): False,
        ("m2", "b/1"): True,
        ("m1", "a/2"): True,
    }


def test_a_trial_of_a_model_with_one_of_its_recordings_is_of_itself(read, count):
    trial_set = read(TRIALS, models=MODELS)
    assert count(trial_set, "trials that compare an utterance with itself") == 2
    assert count(trial_set, "enrolments that are models", "models") == 3
    assert count(trial_set, "reversed pairs") == 0


def test_a_model_and_an_utterance_of_one_name_do_not_mix(read, count, plain):
    models = {"model": ["7", "8"], "speaker": ["a", "b"], "recording": ["9", "7"]}
    calls = {"utterance": ["7", "8", "9"], "speaker": ["b", "a", "a"]}
    trials = {"enrol": ["7", "7", "8", "8"], "test": ["7", "8", "7", "8"],
              "score": [0.1, 0.9, 0.8, 0.2]}  # fmt: skip
    trial_set = read(trials, models=models, utterances=calls)
    assert {(e, t): target for e, t, target, *_ in plain(trial_set)} == {
        ("7", "7"): False,
        ("7", "8"): True,
        ("8", "7"): True,
        ("8", "8"): False,
    }
    # model 8 is made of call 7
    assert count(trial_set, "trials that compare an utterance with itself") == 1
    assert count(trial_set, "reversed pairs") == 0


def test_models_of_one_recording_each_are_those_recordings(read, plain):
    rows = {
        "enrol": ["a/1", "a/1", "b/1", "c/1"],
        "test": ["a/2", "b/1", "b/1", "a/1"],
        "score": [0.9, 0.1, 0.8, 0.2],
    }
    models = {"model": ["x1", "x2", "x3"], "speaker": [*"abc"], "recording": ["a/1", "b/1", "c/1"]}
    model_by_recording = dict(zip(models["recording"], models["model"], strict=True))
    by_model = read(
        {**rows, "enrol": [model_by_recording[e] for e in rows["enrol"]]}, models=models
    )
    alone = read(rows)
    back = {model: recording for recording, model in model_by_recording.items()}
    assert sorted((back[e], *cells) for e, *cells in plain(by_model)) == sorted(plain(alone))


@pytest.mark.parametrize(
    ("cells", "channel"),
    [
        ({"a/1": "x", "a/2": "x"}, "x"),
        ({"a/1": "x", "a/2": "y"}, None),
        ({"a/1": "x", "a/2": ""}, None),
        ({"a/1": "x"}, None),
        ({"a/1": "", "a/2": ""}, None),
    ],
)
def test_an_attribute_of_recordings_is_the_models_if_all_of_them_agree(
    read, speakers, cells, channel
):
    calls = {**dict.fromkeys(("b/1", "c/1", "c/2", "c/3", "a/9"), "z"), **cells}
    table = {"utterance": list(calls), "channel": list(calls.values())}
    trial_set = read(
        TRIALS, models=MODELS, utterances=table, attributes=[parse_attribute("channel")]
    )
    (grouping,) = make_groupings(speakers, ["channel"], sets=[trial_set])
    codes = grouping.utterance_codes(trial_set)
    names = [None if code < 0 else grouping.groups[code] for code in codes]
    channel_by_id = dict(zip(list(trial_set.utterance_ids), names, strict=True))
    assert channel_by_id["m1"] == channel
    assert (
        channel_by_id["m2"],
        channel_by_id["m3"],
        channel_by_id["a/9"],
        channel_by_id["b/9"],
    ) == ("z", "z", "z", None)
    assert channel_by_id["a/1"] == (cells.get("a/1") or None)


def test_a_row_of_the_table_may_be_told_twice():
    twice = {name: [*cells, *cells] for name, cells in MODELS.items()}
    assert read_models(twice).table.height == 6
    assert (read_models(twice).n_repeated_rows, read_models(MODELS).n_repeated_rows) == (6, 0)
    model_table = read_models(twice)
    assert read_models(model_table) is model_table


def test_rows_that_repeat_a_recording_of_a_model_are_counted(read, count):
    twice = {name: [*cells, cells[0]] for name, cells in MODELS.items()}
    trial_set = read(TRIALS, models=twice)
    assert count(trial_set, "rows that repeat a recording of a model", "models") == 1


@pytest.mark.parametrize(
    "names",
    [
        ("model", "speaker", "recording"),
        ("modelid", "customer", "segmentid"),
        ("Enrolment ID", "Speaker ID", "Call"),
        ("template", "subject", "utterance"),
    ],
)
def test_columns_are_known_by_several_names(names):
    model_table = read_models(dict(zip(names, MODELS.values(), strict=True)))
    assert list(model_table.provenance["columns"].values()) == list(names)
    assert model_table.speaker_of.rows() == [("m1", "a"), ("m2", "b"), ("m3", "c")]


def test_leading_zeros_are_kept(write):
    path = write("models.csv", "model,speaker,recording\n007,001,0010\n7,1,10\n")
    assert read_models(path).table.select("model", "speaker", "recording").rows() == [
        ("007", "001", "0010"),
        ("7", "1", "10"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model,session\nm,a\n", "m.csv: has no column 'recording'"),
        ("m1 a/1 a/2\nm2\n", "m.csv, row 2: contains a model without recordings"),
        (
            "model,speaker,recording\nm1,p,r1\nm1,p,r2\nm2,q,r1\n",
            "rows 2 and 4: recording 'r1' has speaker 'p' in model 'm1', but 'q' in model 'm2'",
        ),
        (
            "modelid,segmentid,side\nm,s1,a\nm,s2,c\n",
            "m.csv, row 3, column 'side': 'c' is not a side of a segment; correct it, sides",
        ),
        (
            "modelid,segmentid,side\nm,s1,\n",
            "m.csv, row 2, column 'side': is empty; correct it, sides are a and b",
        ),
        (
            "speaker,recording\na,a/1\n",
            "m.csv: has no column 'model' (found: 'speaker', 'recording')",
        ),
        ("model,speaker,recording\nm,,a/1\n", "m.csv, row 2, column 'speaker': is empty"),
        ("model,speaker,recording\nm,a,a/1\n,a,a/2\n", "m.csv, row 3, column 'model': is empty"),
        ("model,speaker,recording\nm,a,\n", "m.csv, row 2, column 'recording': is empty"),
        (
            "model,speaker,recording\nm,a,a/1\nn,b,b/1\nm,b,b/2\n",
            "rows 2 and 4: model 'm' has recordings of the speakers 'a' and 'b'; correct one row",
        ),
    ],
)
def test_bad_tables_are_told(write, text, sentence):
    with pytest.raises(DataError) as error_info:
        read_models(write("m.csv", text))
    assert sentence in str(error_info.value)


def test_an_enrolment_that_is_no_model_is_told(read, csv, write):
    path = write("m.csv", "model,speaker,recording\nm1,a,a/1\n")
    text = csv([("m1", "a/2", "0.9", "1"), ("m9", "a/2", "0.1", "0")])
    with pytest.raises(DataError) as error_info:
        read(text, models=path)
    assert str(error_info.value) == (
        "scores.csv: 1 of 2 enrolment ids ('m9') are not models in m.csv; add the "
        "models to this table"
    )


def test_a_model_of_nobody_is_told(read, csv, write):
    path = write("m.csv", "model,speaker,recording\nm1,q,a/1\n")
    with pytest.raises(DataError, match=r"m.csv: 1 of 1 speakers \('q'\) are not in speakers.csv"):
        read(csv([("m1", "a/2", "0.9", "1")]), models=path)


def test_a_recording_of_somebody_else_is_told(read, csv, write):
    models = write("m.csv", "model,speaker,recording\nm1,a,r1\nm1,a,r2\n")
    calls = write("calls.csv", "utterance,speaker\nr1,a\nr3,a\nr2,b\n")
    with pytest.raises(DataError) as error_info:
        read(csv([("m1", "r3", "0.9", "1")]), models=models, utterances=calls)
    assert str(error_info.value) == (
        "m.csv, row 3: recording 'r2' of model 'm1' has speaker 'a' here, but 'b' in row 4 of "
        "calls.csv; correct one of the two"
    )


def test_a_recording_that_begins_with_somebody_else_is_told(read, csv, write):
    models = write("m.csv", "model,speaker,recording\nm1,a,a/1\nm1,a,b/7\n")
    trials = csv([("m1", "a/2", "0.9", "1")])
    with pytest.raises(DataError) as error_info:
        read(trials, models=models)
    assert str(error_info.value) == (
        "m.csv, row 3: recording 'b/7' of model 'm1' has speaker 'a' here, but its id begins with "
        "speaker 'b'; correct one, or name its speaker with utterances"
    )
    calls = {"utterance": ["a/2", "b/7"], "speaker": ["a", "a"]}
    assert read(trials, models=models, utterances=calls).n_trials == 1


def test_a_recording_of_somebody_else_in_the_trials_is_told(read, write):
    models = write("m.csv", "model,speaker,recording\nm1,a,r1\nm2,b,r2\nm2,b,r3\n")
    text = "enrol,test,score,test_speaker\nm1,r2,0.1,b\nm1,r3,0.9,a\n"
    with pytest.raises(DataError) as error_info:
        read(text, models=models)
    assert str(error_info.value) == (
        "m.csv, row 4: recording 'r3' of model 'm2' has speaker 'b' here, but 'a' in "
        "scores.csv; correct one of the two"
    )


SEGMENTS = "segmentid,subjectid\ns1,a\ns2,a\ns2:b,b\ns3,b\n"
ENROLMENT = "modelid\tsegmentid\tside\nm1\ts1\ta\nm1\ts2\ta\nm2\ts2\tb\n"


def test_models_of_nist_have_the_speakers_of_their_segments(read, write):
    key = "modelid\tsegmentid\tside\tLLR\nm1\ts3\ta\t0.1\nm2\ts3\ta\t0.9\n"
    trial_set = read(
        key, models=write("enroll.tsv", ENROLMENT), utterances=write("seg.csv", SEGMENTS)
    )
    assert list(trial_set.utterance_ids) == ["m1", "m2", "s3"]
    assert [trial_set.speaker_table.ids[i] for i in trial_set.utterance_speaker] == ["a", "b", "b"]
    assert read_models(write("e.tsv", ENROLMENT)).table["recording"].to_list() == [
        "s1",
        "s2",
        "s2:b",
    ]


def test_segments_of_side_b_are_told_from_those_of_side_a(read, write):
    table = write("seg.csv", "segmentid,speaker\ns1,a\ns2,b\n")
    with pytest.raises(
        DataError, match="write 's1:b' and so on in the table: the ids are those of side b"
    ):
        read("modelid,segmentid,side,score\ns1,s1,b,0.5\ns1,s2,b,0.1\n", utterances=table)


def test_a_column_of_sides_beside_other_than_segments_is_passed_over():
    rows = {"model": ["m"], "speaker": ["a"], "recording": ["r"], "side": ["left"]}
    assert read_models(rows).table["recording"].to_list() == ["r"]


def test_models_without_speakers_take_those_with_which_their_recordings_begin(read):
    rows = {name: cells for name, cells in MODELS.items() if name != "speaker"}
    alike, reference = (read(TRIALS, models=models) for models in (rows, MODELS))
    np.testing.assert_array_equal(alike.utterance_speaker, reference.utterance_speaker)
    assert alike.content_sha256 == reference.content_sha256


@pytest.mark.parametrize(
    ("rows", "utterances", "sentence"),
    [
        (
            "m1,r1\n",
            None,
            (
                "m.csv: has no column 'speaker'; name the column of speakers 'speaker', "
                "or give the speakers of"
            ),
        ),
        (
            "m1,s1\n",
            "segmentid,language\ns1,en\n",
            (
                "seg.csv: has no column 'speaker'; name the column of speakers 'speaker', "
                "or give m.csv one"
            ),
        ),
        (
            "m1,s1\nm1,s9\n",
            SEGMENTS,
            (
                "m.csv: 1 of 2 recordings of models ('s9') are not in seg.csv; add these "
                "ids to the table"
            ),
        ),
        (
            "m1,s1\nm1,s3\n",
            SEGMENTS,
            "m.csv, rows 2 and 3: model 'm1' has recordings of the speakers 'a' and 'b'; correct",
        ),
    ],
)
def test_models_whose_speakers_are_not_told(read, write, rows, utterances, sentence):
    models = write("m.csv", "model,recording\n" + rows)
    calls = utterances and write("seg.csv", utterances)
    with pytest.raises(DataError) as error_info:
        read("enrol,test,score\nm1,s2,0.9\n", models=models, utterances=calls)
    assert sentence in str(error_info.value)


def test_without_a_table_of_speakers_they_are_those_of_models_and_trials():
    from parivox.data.trials import read_trials

    trial_set = read_trials(TRIALS, system="s", list_="", speakers=None, models=MODELS)
    assert trial_set.speaker_table.ids == ("a", "b", "c")
    assert [trial_set.speaker_table.ids[i] for i in trial_set.utterance_speaker[:3]] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize(
    ("listed", "failed"),
    [([], []), (["m1"], ["m1"]), (["a/1"], []), (["a/1", "a/2"], ["m1"]), (["b/1"], ["m2"]),
     (["m3", "c/1", "zz"], ["m3"]), (["b/1", "m2"], ["m2"])],
)  # fmt: skip
def test_models_that_failed(listed, failed):
    failed_models = read_models(MODELS).failed_models(pl.Series(listed, dtype=pl.String))
    assert failed_models.to_list() == failed


IDS = st.sampled_from([f"m{i}" for i in range(6)])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(IDS, st.integers(0, 3)), min_size=1, max_size=20), st.randoms())
def test_the_order_of_rows_changes_nothing(rows, random):
    mixed = random.sample(rows, len(rows))
    tables = [
        read_models({
            "model": [m for m, _ in ordered_rows],
            "speaker": [f"s{m[1:]}" for m, _ in ordered_rows],
            "recording": [f"r{m[1:]}-{k}" for m, k in ordered_rows],
        })
        for ordered_rows in (rows, mixed)
    ]  # fmt: skip
    ids = pl.Series(sorted({m for m, _ in rows}))
    (positions, recordings), (mixed_positions, mixed_recordings) = (
        table.recordings(ids) for table in tables
    )
    np.testing.assert_array_equal(positions, mixed_positions)
    assert recordings.equals(mixed_recordings)
    model_recordings = sorted({(m, f"r{m[1:]}-{k}") for m, k in rows})
    assert [
        (ids[p], r) for p, r in zip(positions.tolist(), recordings, strict=True)
    ] == model_recordings


def test_utterances_that_tell_no_speaker_need_none_for_models(read):
    calls = read_utterances({"call": ["a/1", "b/1"], "channel": ["x", "y"]})
    assert not calls.names_speakers
    assert read(TRIALS, models=MODELS, utterances=calls).n_trials == 6


MAPS = {
    "wide": "a_m a/1 a/2\nb_m b/1\nc_m c/1 c/2 c/3\n",
    "commas": "a_m\ta/1,a/2\nb_m\tb/1\nc_m\tc/1,c/2,c/3\n",
    "utterance first": "a/1 a_m\na/2 a_m\nb/1 b_m\nc/1 c_m\nc/2 c_m\nc/3 c_m\n",
    "model first": "a_m\ta/1\na_m\ta/2\nb_m\tb/1\nc_m\tc/1\nc_m\tc/2\nc_m\tc/3\n",
}


@pytest.mark.parametrize("shape", MAPS)
def test_maps_of_toolkits_have_no_header(write, shape):
    models = read_models(write("map", MAPS[shape])).with_speakers(None)
    assert sorted(models.table.select("model", "recording").rows()) == [
        ("a_m", "a/1"), ("a_m", "a/2"), ("b_m", "b/1"),
        ("c_m", "c/1"), ("c_m", "c/2"), ("c_m", "c/3"),
    ]  # fmt: skip
    assert sorted(models.speaker_of.rows()) == [("a_m", "a"), ("b_m", "b"), ("c_m", "c")]


def test_models_that_are_speakers_have_their_own_names(write):
    speakers = read_speakers({"id": ["s1", "s2"], "gender": ["f", "m"]})
    models = read_models(write("spk2utt", "s1 x/1 x/2\ns2 y/1\n")).with_speakers(None, speakers)
    assert sorted(models.speaker_of.rows()) == [("s1", "s1"), ("s2", "s2")]


def test_models_may_be_given_with_their_speakers_alone(read, write):
    table = write("m.csv", "model,speaker\nm1,a\nm2,b\nm1,a\n")
    models = read_models(table)
    assert sorted(models.speaker_of.rows()) == [("m1", "a"), ("m2", "b")]
    assert (models.table.height, models.n_repeated_rows) == (0, 1)
    with pytest.raises(DataError, match="model 'm1' has recordings of the speakers 'a' and 'b'"):
        read_models(write("m2.csv", "model,speaker\nm1,a\nm1,b\n"))
