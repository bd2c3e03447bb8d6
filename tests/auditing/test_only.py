"""`--only`: an audit of some of the trials is that of a file of these."""

import numpy as np
import pytest
from tests.sentences import item_in_words

import parivox as pv

OPTIONS = {"by": "gender", "operating_points": ["fpr=0.05", "eer"], "replicates": 50}
TABLES = ("groups", "bias", "meta", "verdicts", "operating_points", "bands")


def filtered(trials, rows):
    return {name: [cell for cell, is_kept in zip(cells, rows, strict=True) if is_kept]
            for name, cells in trials.items()}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("only", "kept"),
    [
        (["session=one"], {"one"}),
        (["trial.session=two", "trial.session=one"], {"one", "two"}),
    ],
)
def test_it_is_the_audit_of_a_file_of_these(trials, speakers, only, kept):
    draw = np.random.default_rng(3)
    session = draw.choice(["one", "two", "three"], len(trials["score"])).tolist()
    with_session = {**trials, "session": session}
    rows = [session_name in kept for session_name in session]
    selected = pv.audit(with_session, speakers=speakers, only=only, **OPTIONS)
    alone = pv.audit(filtered(with_session, rows), speakers=speakers, **OPTIONS)
    for name in TABLES:
        assert getattr(selected, name).to_dict() == getattr(alone, name).to_dict(), name
    (note,) = [
        row
        for row in selected.data.rows()
        if item_in_words(row).startswith("trials that do not match")
    ]
    assert (note["count"], note["note"]) == (rows.count(False), "set_aside")
    assert [*selected.record["options"]["only"]] == only


@pytest.mark.slow
def test_both_sides_must_have_the_value_of_a_speaker(trials, speakers):
    options = {**OPTIONS, "by": "nation", "intervals": False}
    women = dict(zip(speakers["id"], speakers["gender"], strict=True))
    rows = [all(women[recording[:5]] == "f" for recording in pair)
            for pair in zip(trials["enrol"], trials["test"], strict=True)]  # fmt: skip
    selected = pv.audit(
        trials, speakers=speakers, only="gender=f", **{**options, "replicates": 1000}
    )
    (row,) = selected.groups.subset(grouping="all", metric="eer").rows()
    assert row["target_trials"] + row["nontarget_trials"] == sum(rows)
    alone = pv.audit(filtered(trials, rows), speakers=speakers, **{**options, "replicates": 1000})
    assert selected.groups.to_dict() == alone.groups.to_dict()


@pytest.mark.minimal
@pytest.mark.parametrize(
    ("only", "sentence"),
    [
        ("gender", "only='gender' is not ATTRIBUTE=VALUE"),
        ("gender=x", "only='gender=x': value not found; available: f, m"),
        ("colour=red", "colour"),
        (
            ["gender=f", "nation=USA", "same:gender=different"],
            "none of the .* trials of .* matches",
        ),
    ],
)
def test_what_is_not_there_is_a_sentence(trials, speakers, only, sentence):
    with pytest.raises(pv.ParivoxError, match=sentence):
        pv.audit(trials, speakers=speakers, by="gender", only=only, intervals=False)
