"""What contradicts itself is refused or set aside; what is merely odd is counted."""

import numpy as np
import pytest
from tests.sentences import in_words

from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError

pytestmark = pytest.mark.minimal


def refused(read, source, match, **options):
    with pytest.raises(DataError, match=match) as caught:
        read(source, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "match"),
    [
        (
            "a/1,b/2,0.5,maybe",
            r"scores.csv, row 7, column 'label': 'maybe' is not a label; use 1 or",
        ),
        ("a/1,b/2,0.5,2", r"row 7, column 'label': '2' is not a label"),
        ("a/1,b/2,0.5,", r"row 7, column 'label': is empty"),
        ("a/1,b/2,nan,0", r"row 7, column 'score': 'nan' is not a score; leave the cell empty"),
        ("a/1,b/2,NaN,0", r"row 7, column 'score': 'NaN' is not a score"),
        ("a/1,b/2,high,0", r"row 7, column 'score': 'high' is not a number; correct the value"),
        ("a/1,b/2,NA,0", r"row 7, column 'score': 'NA' is not a number"),
        ('a/1,b/2,"0,5",0', r"rows 2 and 7, column 'score': '0.9' has a decimal point and '0,5'"),
        ("a/1,b/2,0.5", r"row 7: has 3 columns?, but other rows have 4"),
        ("a/1,b/2,0.5,0,0", r"row 7: has 5 columns?, but other rows have 4"),
        (",b/2,0.5,0", r"row 7, column 'enrol': is empty; give the id"),
        ("a/1,  ,0.5,0", r"row 7, column 'test': is empty"),
        ("a/1,a/2,0.9,0", r"rows 2 and 7: the same trial \(a/1, a/2\) has label '1' and '0'"),
        (
            "a/1,a/2,0.8,1",
            r"rows 2 and 7: the same trial .* has score 0.9 and 0.8; correct",
        ),
        (
            "a/2,b/1,0.3,1",
            r"row 7, column 'label': \(a/2, b/1\) is labelled '1', but the sides are from a",
        ),
        (
            "a/3,a/2,0.3,0",
            r"row 7.*is labelled '0', but both sides are from a \(the only such trial\)",
        ),
        (
            "x/3,a/2,0.3,0",
            r"scores.csv: 1 of 4 speakers \('x'\) are not in speakers.csv; add the speakers, check",
        ),
    ],
)
def test_a_bad_row_is_named_as_an_editor_shows_it(read, csv, rows, row, match):
    refused(read, csv(rows) + row + "\n", match)
    # blank lines count, as they do in an editor
    moved = match.replace("row 7", "row 10").replace("rows 2 and 7", "rows 5 and 10")
    refused(read, "\n\n\n" + csv(rows) + row + "\n", moved)


def test_a_bad_row_without_a_header(read):
    for odd, match in {
        "0 a/1 b/1 x": r"row 2, column '4 \(score\)': 'x' is not a number",
        "maybe a/1 b/1 0.5": r"row 2, column '1 \(label\)': 'maybe' is not a label",
        "0 a/1 b/1": "row 2: has 3 columns?, but other rows have 4",
        "0 a/1 b/1 0.5 9": "row 2: has 5 columns?, but other rows have 4",
    }.items():
        refused(read, f"1 a/1 a/2 0.5\n{odd}\n1 b/1 b/2 0.1\n", match)
        refused(read, f"{odd}\n1 a/1 a/2 0.5\n1 b/1 b/2 0.1\n", match.replace("row 2", "row 1"))
    refused(read, "a/1 a/2 0.5\na/1 b/1 abc\nb/1 b/2 0.1\n", "row 2, column '3 .score.': 'abc' is")
    text = "".join(f"1 a/1 a/{i} 0.{i}\n" for i in range(2, 300))
    refused(read, text + "0 a/1 b/1 x\n", r"row 299, column '4 \(score\)': 'x' is not a number")
    refused(read, text + "7 a/1 b/1 0.5\n", r"row 299, column '1 \(label\)': '7' is not a label")
    refused(read, text + "0 a/1 b/1\n", "row 299: has 3 columns?, but other rows have 4")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"", "scores.csv: is empty; give a table with one trial, speaker or utterance per row"),
        (b"\n\n \n", "contains blank lines only"),
        (b"enrol,test,score,label\n", "contains only a header"),
        (b"enrol,test,score,label\n\n\n", "contains only a header"),
        (b"x,y,z\n1,2,3\n", "the column names 'x', 'y', 'z' are not known; name"),
        (b"x\ny\n", "row 1: not a score file, .*'x'.; name the columns"),
        (b"enrol,test,score\ra,b,1\r", "lines end in CR only, as on old Macs; save it"),
        (b"enrol,score\na,1\n", r"has no column of test utterances \(found: enrol, score\)"),
        (b"enrol,test\na,b\n", "no score column"),
        (b"enrol,test,sc,cosine\na,b,1,1\n", "columns 'sc' and 'cosine' may both be score; choose"),
        (b"enrol,test,score\na,\x81,1\n", "row 2: byte 0x81 is not UTF-8, and "),
        ("enrol,test,score\na,b,1\n".encode("utf-16")[:-1], "row 2: is not text in UTF-16-LE"),
        (b"enrol,test,score\n" + b"a,b,1\n" * 20_000 + b"a,\x81,1\n", "row 20002: byte 0x81 "),
        (b'enrol,test,score\na,"b,1\nb,c,1\n', "row 2"),
        (b"PAR1 and nothing of the kind", "scores.csv: cannot be read as parquet"),
        (b"ARROW1 and nothing of the kind", "scores.csv: cannot be read as arrow"),
        (b"\x00\x01\x02\x03", "is neither text nor Parquet, Arrow or XLSX"),
    ],
)  # fmt: skip
def test_files_that_are_no_list_of_trials(read, text, match):
    refused(read, text, match)


def test_tables_in_python_that_are_no_list_of_trials(read):
    refused(
        read, {"enrol": ["a"], "test": ["b", "c"], "score": [1.0]}, "columns of the same length"
    )
    refused(read, 7, "type int is not a table; give a path, a dataframe or a mapping of arrays")
    refused(read, {"enrol": [], "test": [], "score": []}, "scores: contains no trials")
    rows = {"enrol": ["a/1"], "test": ["b/1"], "score": [float("nan")]}
    refused(read, rows, "scores, row 1, column 'score': 'nan' is not a score")


def test_options_that_are_not_known(read, csv, rows):
    with pytest.raises(ConfigError, match="conflicts='ignore' is not known; choose from error"):
        read(csv(rows), conflicts="ignore")
    with pytest.raises(ConfigError, match="orientation 'down' is not known"):
        read(csv(rows), orientation="down")
    with pytest.raises(
        ConfigError,
        match="columns: 'who' is neither a role nor a word for cells; choose from enrol, test",
    ):
        read(csv(rows), columns={"who": "enrol"})
    refused(
        read,
        csv(rows),
        "has no column 'labels' for label; did you mean 'label",
        columns={"label": "labels"},
    )


@pytest.mark.parametrize(
    ("row", "remaining", "aside"),
    [
        ("a/1,a/2,0.9,0", 4, 2),
        ("a/1,a/2,0.8,1", 4, 2),
        ("a/2,b/1,0.3,1", 5, 1),
    ],
)
def test_contradictions_can_be_set_aside(read, csv, rows, plain, count, row, remaining, aside):
    trial_set = read(csv(rows) + row + "\n", conflicts="exclude")
    assert trial_set.n_trials == remaining
    assert count(trial_set, "contradictory rows") == aside
    assert sum(conflict for *_, conflict in plain(trial_set)) == aside
    (partition,) = trial_set.partitions()
    assert len(partition) == remaining + aside
    assert len(partition.without_conflicts()) == remaining
    reordered = csv([*reversed(rows)]).replace("label\n", f"label\n{row}\n", 1)
    assert plain(read(reordered, conflicts="exclude")) == plain(trial_set)


def test_what_is_odd_is_counted(read, csv, rows, plain, count):
    more = [
        ("a/1", "a/2", "0.90", "1"),  # exact duplicate, spelt otherwise
        ("a/1", "a/2", "0.9", "true"),
        ("b/1", "a/1", "0.1001", "0"),  # reversed
        ("a/2", "c/1", "0.3", "0"),  # reversed, same score
        ("c/1", "c/1", "inf", "1"),  # with itself
        ("c/1", "b/1", "-inf", "0"),
        ("c/2", "b/1", "", "0"),  # no score
        ("c/2", "b/1", " ", "0"),
    ]
    trial_set = read(csv(rows + more))
    assert trial_set.n_trials == 9
    assert {
        in_words(note.item): note.count for note in trial_set.data_notes if note.source == "scores"
    } == {
        "rows": 13,
        "trials": 9,
        "target trials": 3,
        "nontarget trials": 6,
        "trials without a score": 1,
        "rows without a score that repeat the trial of another row": 1,
        "exact duplicates": 2,
        "reversed pairs": 2,
        "trials that compare an utterance with itself": 1,
        "infinite scores": 2,
        "utterance ids begin with the speaker id": 6,
    }
    (note_text,) = (
        in_words(note.note) for note in trial_set.data_notes if note.item == "reversed_pairs"
    )
    assert "in 1 of these pairs, the two scores differ by up to 0.0001" in note_text
    assert trial_set.score_range == (-0.25, 0.9)


def test_minus_zero_is_zero(read, count):
    rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "b/1"], "score": [0.0, -0.0]}
    for orientation in (None, "distance"):
        trial_set = read(rows, orientation=orientation)
        assert count(trial_set, "exact duplicates") == 1
        assert not np.signbit(next(trial_set.partitions()).score[0])


def test_distances_are_negated(read, csv, rows, plain):
    trial_set = read(csv(rows), orientation="distance")
    assert [row[3] for row in plain(trial_set)] == [-0.9, -0.1, -0.3, -0.7, 0.25]
    assert trial_set.score_range == (-0.9, 0.25)


def test_no_trial_left(read):
    refused(
        read,
        "enrol,test,score\na/1,b/1,\n",
        "no trials are left to audit; of 1 rows 1 have no score",
    )


LIST = "1 a/1 a/2\n0 a/1 b/1\n1 b/1 b/2\n0 b/2 c/1\n0 c/1 a/2\n"


@pytest.fixture
def joined(read, csv, rows, write):
    """Read scores without labels, joined with a trial list."""

    def done(text=LIST, more=(), **options):
        scores = csv([row[:3] for row in rows] + list(more), header="enrol,test,score")
        return read(scores, trials=write("list.txt", text), **options)

    return done


def test_trials_are_joined_on_ids_never_on_order(joined, read, csv, rows, plain):
    reference_rows = plain(read(csv(rows)))
    backwards = "\n".join(reversed(LIST.split("\n"))).strip()
    for text in (LIST, backwards):
        trial_set = joined(text)
        assert plain(trial_set) == reference_rows
        assert trial_set.content_sha256 == read(csv(rows)).content_sha256
        assert [entry["role"] for entry in trial_set.provenance] == ["scores", "trials"]


def test_what_finds_no_partner_is_counted(joined, count):
    trial_set = joined(
        LIST.replace("0 b/2 c/1\n", "") + "0 c/9 a/1\n", more=[("a/2", "b/2", "0.1")]
    )
    assert trial_set.n_trials == 4
    assert count(trial_set, "scores that belong to no trial of the list") == 2
    assert count(trial_set, "trials without a score", "trials") == 1
    trial_set = joined(LIST + LIST)
    assert count(trial_set, "exact duplicates", "trials") == 5
    with pytest.raises(DataError, match="of 5 rows 5 are not in the trial list"):
        joined("0 c/9 a/1\n")


def test_a_list_that_contradicts_itself_or_the_scores(joined, read, csv, rows, write, plain):
    with pytest.raises(
        DataError,
        match=r"list.txt, rows 2 and 6: the same trial \(a/1, b/1\) has label '0' and '1'",
    ):
        joined(LIST + "1 a/1 b/1\n")
    trial_set = joined(LIST + "1 a/1 b/1\n", conflicts="exclude")
    assert [row[:2] for row in plain(trial_set) if row[-1]] == [("a/1", "b/1")]
    rows[1] = ("a/1", "b/1", "0.1", "1")
    with pytest.raises(
        DataError,
        match=r"scores.csv, row 3, column 'label': \(a/1, b/1\) is labelled '1', "
        "but '0' in row 2 of list.txt",
    ):
        read(csv(rows), trials=write("list.txt", LIST))


def test_several_contradictions_at_once_do_not_hide_trials(read):
    speakers = read_speakers({"id": ["a"], "sex": ["f"]})
    rows = {
        "enrol": ["a/1"] * 4,
        "test": ["a/2"] * 4,
        "score": [1.0, 2.0, 1.0, 3.0],
        "label": [1] * 4,
    }
    more = {**rows, "enrol": [*rows["enrol"], "a/3"], "test": [*rows["test"], "a/1"],
            "score": [*rows["score"], 0.5], "label": [1] * 5}  # fmt: skip
    trial_set = read(more, people=speakers, conflicts="exclude")
    assert trial_set.n_trials == 1
    assert next(trial_set.partitions()).conflict.sum() == 3


def test_quoted_line_ends_count_as_an_editor_counts(read, write):
    text = 'enrol,test,score,label\na/1,"a/\n2",0.9,1\n\na/1,b/2,x,0\n'
    refused(read, text, "row 5, column 'score': 'x' is not a number")
    refused(read, text.replace("x", "1") + "a/1,b/2,2,0\n", "rows 5 and 6: the same trial")
    path = write("people.csv", 'id,note\na,"x\ny"\nb,z\na,q\n')
    with pytest.raises(DataError, match=r"people.csv, rows 2 and 5, column 'note'"):
        read_speakers(path, id="id")


def test_what_is_odd_is_counted_by_the_speaker_of_the_enrolment(read, csv, rows, write, count):
    more = [
        ("a/1", "a/2", "0.90", "1"),
        ("b/1", "a/1", "0.1001", "0"),
        ("c/1", "c/1", "inf", "1"),
        ("c/1", "b/1", "-inf", "0"),
        ("c/2", "b/1", "", "0"),
        ("b/1", "c/2", "1", "1"),
    ]
    trial_set = read(csv(rows + more), conflicts="exclude")
    assert {item: counts.tolist() for item, counts in trial_set.counts_by_speaker.items()} == {
        "trials_without_score": [0, 0, 1],
        "nontarget_trials_without_score": [0, 0, 1],
        "tests_without_score": [0, 1, 0],
        "exact_duplicates": [1, 0, 0],
        "contradicting_rows": [0, 1, 0],
        "reversed_pairs": [0, 1, 0],
        "trials_of_one_utterance": [0, 0, 1],
        "infinite_scores": [0, 0, 2],
    }
    noted = {
        item: speaker_counts
        for item, speaker_counts in trial_set.counts_by_speaker.items()
        if "nontarget" not in item and item != "tests_without_score"
    }
    assert all(counts.sum() == count(trial_set, in_words(item)) for item, counts in noted.items())
    scores = csv([row[:3] for row in rows], header="enrol,test,score")
    trial_set = read(scores, trials=write("list.txt", LIST + "0 b/2 a/1\n"))
    assert {item: counts.tolist() for item, counts in trial_set.counts_by_speaker.items()} == {
        "trials_without_score": [0, 1, 0],
        "nontarget_trials_without_score": [0, 1, 0],
        "tests_without_score": [1, 0, 0],
    }
