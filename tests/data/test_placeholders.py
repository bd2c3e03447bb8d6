"""Placeholders in the place of speaker ids: nobody, unless the table of speakers lists them."""

import pytest
from tests.sentences import item_in_words

import parivox
from parivox.data.joining import PLACEHOLDERS
from parivox.report.overview import overview
from parivox.trials.pool import Pool

WORDS = sorted(set(PLACEHOLDERS) - {""})
TRIALS = {
    "enrol": ["r1", "r3", "r1", "r5", "r1"],
    "test": ["r2", "r4", "r3", "r6", "r5"],
    "score": [0.9, 0.1, 0.2, 0.8, 0.3],
}
LISTED = ["a", "b"]


def recordings(word):
    return {
        "utterance": ["r1", "r2", "r3", "r4", "r5", "r6"],
        "speaker": ["a", "a", word, word, "b", "b"],
        "channel": ["web", "web", "web", "phone", "phone", "phone"],
    }


def counted(scores, **options):
    """How many target trials, nontarget trials and trials of nobody an audit counts."""
    audit = parivox.audit(
        scores, by="channel", operating_points="threshold=0.5", intervals=False, **options
    )
    counts = {item_in_words(row): row["count"] for row in audit.data.rows() if not row["grouping"]}
    items = ("target trials", "nontarget trials", "trials of unknown speakers")
    return tuple(counts.get(item, 0) for item in items)


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
def test_a_placeholder_in_a_table_of_recordings_is_nobody(word):
    assert counted(TRIALS, utterances=recordings(word)) == (2, 1, 2)
    speakers = {"id": LISTED, "sex": ["f", "m"]}
    assert counted(TRIALS, utterances=recordings(word), speakers=speakers) == (2, 1, 2)


@pytest.mark.parametrize("word", WORDS)
def test_a_placeholder_that_the_table_of_speakers_lists_is_a_speaker(word):
    speakers = {"id": [*LISTED, word], "sex": ["f", "m", "f"]}
    assert counted(TRIALS, utterances=recordings(word), speakers=speakers) == (3, 2, 0)


@pytest.mark.parametrize("name", ["Nan", "none", "na", "Unknown", "--", "-2"])
def test_a_name_that_is_no_placeholder_is_a_speaker(name):
    assert counted(TRIALS, utterances=recordings(name)) == (3, 2, 0)


@pytest.mark.slow
def test_a_placeholder_in_columns_of_speakers_and_in_ids_is_nobody():
    owner = dict(zip(recordings("NA")["utterance"], recordings("NA")["speaker"], strict=True))
    sides = ("enrol", "test")
    columns = {
        f"{side}_speaker": [owner[utterance] for utterance in TRIALS[side]] for side in sides
    }
    channels = {"utterance": [*owner], "channel": recordings("NA")["channel"]}
    assert counted(TRIALS | columns, utterances=channels) == (2, 1, 2)
    paths = {
        side: [f"{owner[utterance]}/{utterance}" for utterance in TRIALS[side]] for side in sides
    }
    speakers = {"id": LISTED, "channel": ["web", "phone"]}
    assert counted(TRIALS | paths, speakers=speakers) == (2, 1, 2)
    ids = {
        side: [f"{owner[utterance]}-{utterance}" for utterance in TRIALS[side]] for side in sides
    }
    assert counted(TRIALS | ids, speakers=speakers, utterances="{speaker}-*") == (2, 1, 2)


def test_models_of_nobody_are_left_out():
    models = {
        "model": ["r1", "r3", "r5"],
        "speaker": ["a", "unknown", "b"],
        "recording": ["m1", "m3", "m5"],
    }
    assert counted(TRIALS, utterances=recordings("-"), models=models) == (2, 1, 2)


def test_labels_make_no_pair_of_nobody():
    labelled = TRIALS | {"label": [1, 1, 0, 1, 0]}
    # where a trial is labelled nontarget, nobody may stand on the test side
    assert counted(labelled, utterances=recordings("nan")) == (2, 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["nan", "unknown", "-1"])
def test_trials_of_nobody_are_named_in_the_first_lines(word):
    audit = parivox.audit(
        TRIALS,
        utterances=recordings(word),
        by="channel",
        operating_points="threshold=0.5",
        intervals=False,
    )
    caveats = [caveat.short for caveat in overview(audit).caveats]
    assert "2 trials of unknown speakers excluded" in caveats


def test_trials_of_nobody_alone_are_refused():
    with pytest.raises(
        parivox.DataError, match="no trials are left to audit; of 1 rows 1 are of unknown speakers"
    ):
        counted({"enrol": ["r3"], "test": ["r4"], "score": [0.5]}, utterances=recordings("nan"))


def test_lists_are_not_built_of_nobody():
    table = recordings("NA") | {"recording": ["1", "2", "3", "4", "5", "6"]}
    with pytest.raises(parivox.DataError, match=r"row 3.*'NA' is a placeholder, not a speaker"):
        Pool.read(table, by="channel")


@pytest.mark.slow
def test_words_of_the_user_stand_for_nobody():
    with_word = counted(TRIALS, utterances=recordings("guest"))
    assert with_word == (3, 2, 0)
    named = counted(TRIALS, utterances=recordings("guest"), columns={"nobody": "guest|anonymous"})
    assert named == (2, 1, 2)
    speakers = {"id": [*LISTED, "guest"], "sex": ["f", "m", "f"]}
    tables = {"utterances": recordings("guest"), "speakers": speakers}
    assert counted(TRIALS, columns={"nobody": "guest"}, **tables) == (3, 2, 0)


def test_words_of_the_user_hold_for_one_audit_alone():
    assert counted(TRIALS, utterances=recordings("x"), columns={"nobody": "x"}) == (2, 1, 2)
    assert counted(TRIALS, utterances=recordings("x")) == (3, 2, 0)
