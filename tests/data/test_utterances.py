"""Whose utterance it is."""

import polars as pl
import pytest
from tests.sentences import in_words

import parivox as pv
from parivox.data.speakers import read_speakers
from parivox.data.table_kinds import find_column
from parivox.errors import DataError

pytestmark = pytest.mark.minimal

SCORES = "enrol,test,score\nu1,u2,0.9\nu1,v1,0.1\n"


def test_a_table_of_utterances(read, write, count):
    table = write("u.csv", "Utt,Spk,recording\nu1,a,r1\nu2,a,r1\nv1,b,r2\nw9,zz,r3\n")
    trial_set = read(SCORES, utterances=table)
    assert trial_set.utterance_speaker.tolist() == [0, 0, 1]
    assert next(trial_set.partitions()).target.tolist() == [True, False]
    assert (
        count(trial_set, "utterances whose speaker is named in the utterance table", "utterances")
        == 3
    )
    assert trial_set.provenance[-1]["columns"] == {"utterance": "Utt", "speaker": "Spk"}


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            "utt,spk\nu1,a\nu2,a\n",
            r"1 of 3 utterance ids \('v1'\) are not in u.csv; add these ids",
        ),
        (
            "utt,spk\nu1,a\nu2,a\nv1,z\n",
            r"u.csv: 1 of 2 speakers \('z'\) are not in speakers.csv; add the speakers",
        ),
        ("utt,spk\nu1,a\nu1,b\n", "rows 2 and 3: utterance 'u1' has the speakers 'a' and 'b'"),
        ("utt,spk\nu1,\n", "row 2, column 'spk': is empty"),
        (
            "utt,who\nu1,a\n",
            "no part of the ids between .* known.*add the column 'speaker' that u.csv lacks$",
        ),
        (
            "utt,spk\nx/u1.wav,a\nx/u2.wav,a\nx/v1.wav,a\n",
            "u.csv; make the ids alike: they differ .* only by folder or ending$",
        ),
    ],
)
def test_bad_tables_of_utterances(read, write, table, match):
    with pytest.raises(DataError, match=match):
        read(SCORES, utterances=write("u.csv", table))


def test_a_table_that_was_given_without_speakers_is_named(write):
    table = write("segments.csv", "segment,language\nx,en\ny,en\n")
    with pytest.raises(
        DataError, match=r"do not contain a speaker; give segments.csv a column 'speaker'"
    ):
        pv.audit({"enrol": ["x"], "test": ["y"], "score": [1.0]}, utterances=table, by="language")


def test_columns_of_speakers(read, count):
    text = "enrol,test,score,enrol_speaker,test_speaker\nu1,u2,0.9,a,a\nu1,v1,0.1,a,b\n"
    trial_set = read(text)
    assert trial_set.utterance_speaker.tolist() == [0, 0, 1]
    assert count(trial_set, "utterances whose speaker is named in a column of the trials") == 3
    with pytest.raises(
        DataError, match="row 4, column 'test_speaker': utterance 'u1' has speaker 'b' here"
    ):
        read(text + "v1,u1,0.2,b,b\n")
    with pytest.raises(DataError, match=r"1 of 3 speakers \('z'\) are not in"):
        read(text + "v1,w1,0.2,b,z\n")
    trial_set = read(text + "v1,w1,0.2,b,\nx1,v1,0.3,,b\n")  # an empty cell is nobody
    assert count(trial_set, "trials of unknown speakers") == 2
    assert trial_set.n_trials == 2


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
    assert f"the speaker seems to be {pattern}(100% of the ids); state this with utt" in str(
        caught.value
    )


def test_an_utterance_of_another_folder_is_added_and_not_made_alike(read, write):
    table = write("u.csv", "utterance,speaker\na/1,a\na/2,a\nb/2,b\n")
    with pytest.raises(DataError, match=r"\('b/1'\) are not in u.csv; add these ids to the table$"):
        read("enrol,test,score\na/1,a/2,1\na/1,b/1,0\n", utterances=table)
    deep = write("d.csv", "utterance,speaker\nwav/a/1.wav,a\nwav/a/2.wav,a\nwav/b/1.wav,b\n")
    with pytest.raises(DataError, match="only by folder or ending"):
        read("enrol,test,score\na/1,a/2,1\na/1,b/1,0\n", utterances=deep)
    flat = write("f.csv", "utterance,speaker\n1,a\n2,a\n")
    with pytest.raises(DataError, match="only by folder or ending"):
        read("enrol,test,score\na/1.flac,a/2.flac,1\n", utterances=flat)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "enrol,test,score\na/1,a/2,0.9\nb/1,c/1,0.1\nc/1,b/1,0.2\n",
            "column 'enrol' of the table contains the utterance ids, so it does not seem to be",
        ),
        (
            "recording,stage\na/1,enrol\n",
            "the ids between '/', '-', '_', '.' or '#' is a known speaker, so check that the",
        ),
        (
            "recording,stage\nd,enrol\n",
            "no part of most of the ids between '/', '-', '_', '.' or '#' is a known speaker",
        ),
    ],
)
def test_a_table_that_is_not_of_speakers_suggests_no_pattern(read, write, table, message):
    text = "enrol,test,score\na/1,a/2,1\na/1,b/1,0\nb/1,c/1,0\nd-1,b/1,0\n"
    with pytest.raises(DataError) as caught:
        read(text, people=read_speakers(write("t.csv", table)))
    assert message in str(caught.value)
    assert "the speaker seems to be" not in str(caught.value)


def test_a_pattern_of_few_ids_is_not_suggested(read):
    text = "enrol,test,score\n" + "".join(f"x{i}/1,y{i}/1,0\n" for i in range(9)) + "a-1,b-1,0\n"
    with pytest.raises(DataError) as caught:
        read(text)
    assert "the speaker seems to be" not in str(caught.value)


def test_rows_that_repeat_an_utterance_are_counted(read, write, count):
    table = write("u.csv", "utt,spk,channel\nu1,a,x\nu2,a,y\nu1,a,\nv1,b,x\nu2,a,y\n")
    trial_set = read(SCORES, utterances=table)
    assert count(trial_set, "rows that repeat an utterance", "utterances") == 2


def test_columns_without_a_name_are_told_as_such():
    table = pl.DataFrame({"row": [1], "": ["x"], "who": ["a"]})
    with pytest.raises(DataError, match=r"no column 'utterance' .found: one without a name, 'who'"):
        find_column(table, "utterance", ("utterance",), "t.csv")


def test_columns_and_a_table_must_agree(read, write):
    text = "enrol,test,score,enrol_speaker,test_speaker\nu1,u2,0.9,a,a\nu1,v1,0.1,a,b\n"
    good = write("good.csv", "utterance,speaker\nu1,a\nv1,b\n")
    assert read(text, utterances=good).utterance_speaker.tolist() == [0, 0, 1]
    bad = write("bad.csv", "utterance,speaker\nu1,a\nu2,a\nv1,c\n")
    with pytest.raises(
        DataError,
        match=r"scores.csv, row 3, column 'test_speaker': utterance 'v1' has speaker 'b' "
        r"here, but 'c' in row 4 of bad.csv \(the only such utterance\); correct one",
    ):
        read(text, utterances=bad)


def test_a_second_speaker_is_told_with_both_rows(read):
    text = "enrol,test,score,enrol_speaker,test_speaker\n"
    with pytest.raises(
        DataError,
        match=r"row 4, column 'enrol_speaker': utterance 'u1' has speaker 'b' here, but 'a' in "
        "row 2; correct one",
    ):
        read(text + "u1,u2,1,a,a\nu1,v1,1,a,b\nu1,v2,1,b,b\n")
    with pytest.raises(DataError, match=r"row 3, column 'enrol_speaker': .* but 'a' in row 2;"):
        read(text + "u1,u2,1,a,a\nu2,v1,1,b,b\n")
    spaced = "u1,u2,1,a,a\nu1,v1,1, a ,b\n u1,v2,1,a,b\n"
    assert read(text + spaced).utterance_speaker.tolist() == [0, 0, 1, 1]


def test_the_file_that_holds_an_unknown_speaker_is_blamed(read, write):
    trials = write("list.txt", "1 a/1 a/2\n0 a/1 x/1\n")
    with pytest.raises(
        DataError, match=r"list.txt: 1 of 1 speakers \('x'\) are not in speakers.csv"
    ):
        read("enrol,test,score\na/1,a/2,1\n", trials=trials)


def test_a_table_without_a_header(read, csv, rows, write):
    people = read_speakers(write("bare.csv", "a,f\nb,m\nc,f\n"))
    with pytest.raises(DataError, match=r"bare.csv: has no header: the first row contains"):
        read(csv(rows), people=people)


def test_ids_that_no_pair_of_files_shares(read, write):
    def refusal(scores, trials):
        with pytest.raises(DataError) as caught:
            read("enrol,test,score\n" + scores, trials=write("list.txt", trials))
        return str(caught.value)

    trials = "1 a/1 a/2\n0 a/1 b/1\n"
    message = refusal("a/1.wav,a/2.wav,1\na/1.wav,b/1.wav,0\n", trials)
    assert "scores.csv contains (a/1.wav, a/2.wav), (a/1.wav, b/1.wav)" in message
    assert (
        "but list.txt contains (a/1, a/2), (a/1, b/1); the ids differ in their file extensions"
        in message
    )
    message = refusal("a/2,a/1,1\nb/1,a/1,0\n", trials)
    assert "enrol and test are swapped, so make them alike" in message
    assert "check that the files belong together" in refusal("a/8,a/9,1\n", trials)


def test_few_shared_pairs_are_noted(read, write):
    listed = write("list.txt", "1 a/1 a/2\n0 a/1 b/1\n0 a/1 c/1\n0 a/2 b/1\n")
    scores = "enrol,test,score\na/1,a/2,1\nb/1,a/1,0\nc/1,a/1,0\nb/1,a/2,0\n"
    trial_set = read(scores, trials=listed)
    (note,) = (
        in_words(n.note)
        for n in trial_set.data_notes
        if (n.source, n.item) == ("trials", "trials_without_score")
    )
    assert note == "excluded; enrol and test are swapped"


def test_strangers_need_no_speakers_where_labels_are(read, write, plain):
    text = "enrol,test,score,label\nx/1,x/2,1,1\nx/1,y/1,0,1\n"
    trial_set = read(text, allows_unknown_speakers=True, columns={"enrol": "elsewhere"})
    assert trial_set.utterance_speaker.tolist() == [-1, -1, -1]
    assert [row[2] for row in plain(trial_set)] == [True, True]
    assert trial_set.counts_by_speaker == {}
    trials = write("list.txt", "1 x/1 x/2\n0 x/1 y/1\n")
    scores = "enrol,test,score\nx/1,x/2,1\nx/1,y/1,0\n"
    assert read(scores, allows_unknown_speakers=True, trials=trials).n_trials == 2
    with pytest.raises(DataError, match="are not speakers in"):
        read(scores, allows_unknown_speakers=True)
    with pytest.raises(DataError, match="rows 2 and 4: the same trial"):
        read(text + "x/1,x/2,1,0\n", allows_unknown_speakers=True)


def test_speakers_in_another_case_are_told_so(read, csv):
    trials = csv([("A/1", "A/2", "0.9", "1"), ("A/1", "B/1", "0.1", "0")])
    people = read_speakers({"id": ["a", "b"], "sex": ["f", "m"]})
    with pytest.raises(DataError, match=r"upper and lower case \('A' is 'a'\)"):
        read(trials, people=people)


@pytest.mark.parametrize("option", ["utterances", "models", "failures"])
def test_a_table_of_another_kind_is_told_where_to_give(option):
    trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    people = {"speaker": ["a", "b"], "sex": ["f", "m"]}
    with pytest.raises(
        DataError, match=r"rename or add this column. If this is a table of speakers"
    ):
        pv.audit(trials, **{option: people})
    assert pv.inspect(people).files[0].kind == "speakers"
