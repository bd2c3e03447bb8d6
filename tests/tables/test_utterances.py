"""Whose utterance it is."""

import pytest

from parivox.errors import DataError

pytestmark = pytest.mark.minimal

SCORES = "enrol,test,score\nu1,u2,0.9\nu1,v1,0.1\n"


def test_a_table_of_utterances(read, write, count):
    table = write("u.csv", "Utt,Spk,recording\nu1,a,r1\nu2,a,r1\nv1,b,r2\nw9,zz,r3\n")
    found = read(SCORES, utterances=table)
    assert found.utterance_speaker.tolist() == [0, 0, 1]
    assert next(found.partitions()).target.tolist() == [True, False]
    assert count(found, "utterances with a speaker in the table", "utterances") == 3
    assert found.provenance[-1]["columns"] == {"utterance": "Utt", "speaker": "Spk"}


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            "utt,spk\nu1,a\nu2,a\n",
            r"1 of 3 utterance ids \('v1'\) are not in u.csv; add them to it",
        ),
        (
            "utt,spk\nu1,a\nu2,a\nv1,z\n",
            r"u.csv: 1 of 2 speaker ids \('z'\) match no speaker of sp",
        ),
        ("utt,spk\nu1,a\nu1,b\n", "rows 2 and 3: utterance 'u1' has the speakers 'a' and 'b'"),
        ("utt,spk\nu1,\n", "row 2, column 'spk': is empty"),
        ("utt,who\nu1,a\n", "has no column 'speaker' but 'utt', 'who'"),
        ("utt,spk\nx/u1.wav,a\nx/u2.wav,a\nx/v1.wav,a\n", "they differ by folder or ending only"),
    ],
)
def test_bad_tables_of_utterances(read, write, table, match):
    with pytest.raises(DataError, match=match):
        read(SCORES, utterances=write("u.csv", table))


def test_columns_of_speakers(read, count):
    text = "enrol,test,score,enrol_speaker,test_speaker\nu1,u2,0.9,a,a\nu1,v1,0.1,a,b\n"
    found = read(text)
    assert found.utterance_speaker.tolist() == [0, 0, 1]
    assert count(found, "utterances with a speaker in a column") == 3
    with pytest.raises(
        DataError, match="row 4, column 'test_speaker': utterance 'u1' is of speaker 'b' here"
    ):
        read(text + "v1,u1,0.2,b,b\n")
    with pytest.raises(DataError, match=r"1 of 3 speaker ids \('z'\) match no speaker"):
        read(text + "v1,w1,0.2,b,z\n")
    with pytest.raises(DataError, match="row 4, column 'test_speaker': is empty"):
        read(text + "v1,w1,0.2,b,\n")


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("{s}-{u}", "the text before the first '-' "),
        ("{s}_{u}.wav", "the text before the first '_' "),
        ("wav/{s}/{u}.wav", "the second component of the path "),
        ("data/wav/{s}/{u}.wav", "the third component of the path "),
        ("data/x/y/{s}/{u}.wav", "the folder of the file "),
        ("wav/{s}_{u}.wav", "the part of the file's name before '_' "),
        ("{s}{u}", "its first 1 characters "),
    ],
)
def test_the_likely_pattern_is_named(read, form, pattern):
    ids = [form.format(s=s, u=u) for s in "abc" for u in (1, 2)]
    rows = {"enrol": ids[:-1], "test": ids[1:], "score": [0.5] * 5}
    with pytest.raises(DataError) as caught:
        read(rows)
    assert f"the speaker seems to be {pattern}(100% of the ids); give" in str(caught.value)
