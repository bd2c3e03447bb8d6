"""How many recordings the audited trials are of."""

import re

import pytest
from tests.sentences import item_in_words, note_in_words

import parivox as pv
from parivox.report.findings import data_notes, data_warnings, recordings_text

OPTIONS = {"by": "gender", "intervals": False}
NAME = {"system": "S", "list": ""}


def counted(audit):
    rows = [r for r in audit.data.subset(source="scores").rows() if not r["grouping"]]
    return {
        item_in_words(r): r["count"] for r in rows if item_in_words(r) in {"models", "recordings"}
    }


def test_recordings_of_both_sides_are_counted_once(trials, speakers):
    audit = pv.audit({"S": trials}, speakers=speakers, **OPTIONS)
    n = len({*trials["enrol"], *trials["test"]})
    assert counted(audit) == {"recordings": n}
    assert recordings_text(audit, NAME) == f"{n} recordings"
    assert not any("recordings" in words for words in data_notes(audit, NAME))


@pytest.mark.slow
def test_recordings_of_what_is_left_out_are_not_counted(trials, speakers):
    """A trial without score, and one that contradicts its speakers."""
    ends = [f"{speakers['id'][0]}/{name}.wav" for name in ("no", "score", "wrong", "label")]
    more = {"enrol": ends[::2], "test": ends[1::2], "score": [None, 1.0], "label": [1, 0]}
    spoilt = {key: [*cells, *more[key]] for key, cells in trials.items()}
    audit = pv.audit({"S": spoilt}, speakers=speakers, conflicts="exclude", **OPTIONS)
    assert counted(audit) == counted(pv.audit({"S": trials}, speakers=speakers, **OPTIONS))


def test_models_are_counted_apart(trials, speakers):
    """The model of a speaker is of all that are on the first side."""
    owner = [name.split("/")[0] for name in trials["enrol"]]
    rows = sorted(set(zip(owner, trials["enrol"], strict=True)))
    models = {
        "model": [f"m-{who}" for who, _ in rows],
        "speaker": [who for who, _ in rows],
        "recording": [name for _, name in rows],
    }
    by_pair = dict(zip(zip(owner, trials["test"], strict=True), trials["score"], strict=True))
    scores = {
        "enrol": [f"m-{who}" for who, _ in by_pair],
        "test": [test for _, test in by_pair],
        "score": list(by_pair.values()),
    }
    audit = pv.audit({"S": scores}, speakers=speakers, models=models, **OPTIONS)
    expected = {"models": len(set(owner)), "recordings": len(set(trials["test"]))}
    assert counted(audit) == expected
    told = f"{expected['models']} models and {expected['recordings']} test recordings"
    assert recordings_text(audit, NAME) == told


@pytest.mark.slow
def test_lists_too_large_for_memory_tell_too(trials, speakers, beyond_memory):
    in_memory = pv.audit({"S": trials}, speakers=speakers, **OPTIONS)
    beyond_memory()
    large = pv.audit({"S": trials}, speakers=speakers, **OPTIONS)
    assert counted(large) == counted(in_memory)
    told = r"not fit in memory.{0,4}the trial list, the ids and the scores were not checked"
    assert any(re.search(told, words) for words in data_notes(large, NAME))
    assert any(re.search(told, note.words) for note in data_warnings(large))
    assert data_warnings(in_memory) == []


def without_trials(audit):
    rows = audit.data.subset(item="speakers_without_trials").rows()
    return {row["grouping"]: (row["count"], note_in_words(row)) for row in rows}


@pytest.mark.slow
def test_groups_that_no_trial_has_anyone_of_are_counted_and_named(trials, speakers):
    """Speakers without trials whose group has some are ordinary."""
    absent = {
        "id": [*speakers["id"], "new", "newer", "newest"],
        "gender": [*speakers["gender"], "x", "x", speakers["gender"][0]],
    }
    audit = pv.audit({"S": trials}, speakers=absent, **OPTIONS)
    assert without_trials(audit) == {"gender": (2, "x")}
    speakers_of_x = "2 speakers in the speaker table"
    told = f"1 group by gender ({speakers_of_x}) has no trials and cannot be assessed: x"
    assert told in data_notes(audit, NAME)
    assert not without_trials(pv.audit({"S": trials}, speakers=speakers, **OPTIONS))


def test_of_many_groups_without_trials_ten_are_named(trials, speakers):
    more = [f"x{i:02d}" for i in range(13)]
    absent = {"id": [*speakers["id"], *more], "gender": [*speakers["gender"], *more]}
    ((count, note),) = without_trials(pv.audit({"S": trials}, speakers=absent, **OPTIONS)).values()
    assert count == 13
    assert note == f"{', '.join(more[:10])} and 3 more"


def test_values_that_a_groups_file_leaves_out_are_no_groups_without_trials(
    trials, speakers, tmp_path
):
    absent = {
        "id": [*speakers["id"], "new", "newer"],
        "gender": [*speakers["gender"], "x", "y"],
    }
    file = tmp_path / "groups.yaml"
    values = "".join(f"    {one}: [{one}]\n" for one in sorted({*speakers["gender"], "x"}))
    file.write_text(f"groups:\n  gender:\n{values}")
    audit = pv.audit({"S": trials}, speakers=absent, groups=file, intervals=False)
    assert without_trials(audit) == {"gender": (1, "x")}


def test_nothing_is_told_of_groups_of_one_side(trials, speakers):
    absent = {"id": [*speakers["id"], "new"], "gender": [*speakers["gender"], "x"]}
    options = {**OPTIONS, "by": ["enrol.gender", "same:gender"]}
    assert not without_trials(pv.audit({"S": trials}, speakers=absent, **options))
