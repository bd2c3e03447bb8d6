"""Tables that look like others are known for what they are."""

import polars as pl
import pytest

import parivox as pv

MODELS = {"modelid": ["m1", "m1", "m2"], "segmentid": ["g1", "g2", "g3"]}
SEGMENTS = {
    "segmentid": ["g1", "g2", "g3", "g4", "g5"],
    "subjectid": ["s1", "s1", "s2", "s1", "s2"],
    "gender": ["f", "f", "m", "f", "m"],
}
TRIALS = {"modelid": ["m1", "m2", "m1", "m2"], "segmentid": ["g4", "g5", "g5", "g4"]}


@pytest.mark.slow
def test_the_recordings_of_a_store_are_no_failures(tmp_path):
    table = {
        "utterance": ["a/1.wav", "a/2.wav", "b/1.wav"],
        "path": ["a/1.wav", "a/2.wav", "b/1.wav"],
        "audio_sha256": ["x", "y", "z"],
        "status": ["ok", "ok", "failed"],
        "reason": ["", "", "too short"],
        "row": [0, 1, -1],
    }
    for columns in (table, {**table, "speaker": ["a", "a", "b"]}):
        pl.DataFrame(columns).write_parquet(tmp_path / "recordings.parquet")
        inspection = pv.inspect(tmp_path / "recordings.parquet").files[0]
        assert (inspection.kind, inspection.problems) == ("utterances", ())


@pytest.mark.parametrize("speaker", [{}, {"speaker": ["a", "a", "b"]}])
def test_file_names_of_recordings_are_no_speakers(speaker):
    table = {"file_name": ["a/1.wav", "a/2.wav", "b/1.wav"], "gender": ["f", "f", "m"], **speaker}
    inspection = pv.inspect(table).files[0]
    assert (inspection.kind, inspection.roles["utterance"]) == ("utterances", "file_name")


@pytest.mark.parametrize("more", [{}, {"side": ["a", "a", "a"]}])
def test_models_and_segments_of_nist_are_known(more):
    scores = {**TRIALS, "LLR": [2.1, 2.2, -1.1, -1.4]}
    inspection = pv.inspect(scores, {**MODELS, **more}, SEGMENTS)
    assert [file.kind for file in inspection.files] == ["scores", "models", "utterances"]
    assert inspection.problems == ()
    assert "--models" in inspection.next
    assert "--utterances" in inspection.next
    assert pv.inspect(TRIALS).files[0].kind == "trials"
