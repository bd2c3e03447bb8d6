"""Where recordings are taken from, and which folders are doubted to be any."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sentences import fact_in_words, in_words, note_in_words

import parivox as pv
from parivox.data.recording_names import recording_names
from parivox.report.findings import check_sentence

SPEAKERS = 30


def names_of(ids, speakers=None, table=None):
    """What is found of ids whose speaker is the first component, or of those of a list."""
    owner = [utterance.split("/")[0] for utterance in ids] if speakers is None else speakers
    codes = pl.Series(owner).rank("dense").cast(pl.Int32).to_numpy() - 1
    return recording_names(pl.Series(ids), table, codes)


def layout(folders, form="id{s:03d}/{folder}/{u}.wav"):
    """Two utterances in each folder of each speaker; `folders` gives those of a speaker."""
    places = [(s, folder) for s in range(SPEAKERS) for folder in folders(s)]
    rows = [(s, folder, u) for s, folder in places for u in "12"]
    return [form.format(s=s, folder=folder, u=u) for s, folder, u in rows], [s for s, *_ in rows]


ATTRIBUTES = {
    "languages": lambda s: ("fi", "sv"),
    "devices": lambda s: ("handset", "web", "car"),
    "genres, of which each has some": lambda s: [("opera", "news", "vlog", "play")[i % 4]
                                                 for i in (s, s + 1)],
    "a rare one besides": lambda s: ("fi", "sv", "se") if s == 3 else ("fi", "sv"),
    "emotions within a part": lambda s: ("read/angry", "read/calm"),
    "numbers": lambda s: ("01", "02"),
    "letters with numbers": lambda s: ("c1", "c2", "c3"),
}  # fmt: skip
RECORDINGS = {
    "videos": lambda s: [f"{chr(97 + s % 26)}{s}x{i}Qz" for i in range(4)],
    "chapters": lambda s: [f"{s * 7 + i}" for i in range(3)],
    "some of two speakers": lambda s: [f"v{s}", f"w{s}", f"x{s}", "y3" if s in {3, 4} else f"y{s}"],
    "sessions": lambda s: ("session1", "session2"),
    "Sess-01": lambda s: [f"Sess-{i:02d}" for i in range(1 + s % 5)],
    "dates": lambda s: ("2024-03-01", "2024-03-08"),
}
FORMS = {
    "below the speaker": "id{s:03d}/{folder}/{u}.wav",
    "below a folder of all": "wav/id{s:03d}/{folder}/{u}.wav",
    "above the speaker": "{folder}/id{s:03d}/{u}.wav",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_folders_that_many_speakers_share_are_doubted(kind, form):
    ids, speakers = layout(ATTRIBUTES[kind], FORMS[form])
    names = names_of(ids, speakers)
    words = fact_in_words(names.source)
    assert names.are_doubtful
    assert "of 30 speakers" in words
    assert "id0" not in words
    assert "column recording" in words
    assert names.trusted.null_count() == len(ids)
    assert names.names.null_count() == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", RECORDINGS)
def test_folders_of_their_own_or_called_sessions_are_recordings(kind, form):
    ids, speakers = layout(RECORDINGS[kind], FORMS[form])
    names = names_of(ids, speakers)
    assert fact_in_words(names.source) == "folder of the path"
    assert not names.are_doubtful
    assert names.trusted.null_count() == 0


def test_numbers_may_be_recordings_and_words_look_like_attributes():
    numbers, languages = (
        fact_in_words(names_of(layout(ATTRIBUTES[kind])[0]).source)
        for kind in ("numbers", "languages")
    )
    assert "may number the recordings" in numbers
    assert "look like values of an attribute" in languages


def test_calls_of_two_speakers_each_are_recordings():
    ids = [f"call-{a:02d}{b:02d}/{side}.wav" for a, b in itertools.combinations(range(60), 2)
           for side in "AB"][:4000]  # fmt: skip
    speakers = [s for a, b in itertools.combinations(range(60), 2) for s in (a, b)][:4000]
    assert not names_of(ids, speakers).are_doubtful


@pytest.mark.slow
@given(st.permutations(range(2 * 2 * SPEAKERS)))
def test_the_order_of_ids_changes_nothing(order):
    ids, speakers = layout(ATTRIBUTES["languages"])
    names = names_of([ids[i] for i in order], [speakers[i] for i in order])
    assert names.source == names_of(ids, speakers).source


def test_the_real_list_and_any_part_of_it_has_recordings(bt4vt_data):
    path = bt4vt_data / "resnetse34v2_H-eval_scores.csv"
    frame = pl.read_csv(path, columns=["ref_file", "com_file"])
    ids = pl.concat([frame["ref_file"], frame["com_file"].alias("ref_file")]).unique().sort()
    people = ids.str.head(7).unique()
    draw = np.random.default_rng(4)
    for n in (2, 5, 20, 100, 1190):
        for _ in range(20 if n < 1190 else 1):
            speakers = draw.choice(people.to_numpy(), min(n, len(people)), replace=False).tolist()
            sampled_ids = ids.filter(ids.str.head(7).is_in(speakers)).to_list()
            assert not names_of(sampled_ids).are_doubtful


# ---- every place that speaks of recordings says the same


def trials(names):
    """Trials within and across the folders of each speaker, and nontarget trials."""
    rows = []
    for s in range(SPEAKERS):
        utterances = [f"p{s:02d}/{name}/{u}" for name in names for u in "12"]
        for i, (a, b) in enumerate(itertools.combinations(utterances, 2)):
            easy = a.rsplit("/", 1)[0] == b.rsplit("/", 1)[0]
            if s % 2 == 0 or not easy:
                rows.append((a, b, 2.0 + easy + i / 99, 1))
        partner = (s + 2) % SPEAKERS
        rows += [
            (utterances[i], f"p{partner:02d}/{names[0]}/{i}", -1 - i / 9 - s / 99, 0)
            for i in (1, 2)
        ]
    columns = zip(*rows, strict=True)
    return dict(zip(("enrol", "test", "score", "label"), map(list, columns), strict=True))


PEOPLE = {
    "id": [f"p{s:02d}" for s in range(SPEAKERS)],
    "sex": ["fm"[s % 2] for s in range(SPEAKERS)],
}
WARNING = "shared_folder_names"


def warned(audit):
    return [(row["item"], note_in_words(row)) for row in audit.data.subset(source="oddities").rows()
            if row["item"] == WARNING]  # fmt: skip


def failed(audit):
    return {check["id"]: check_sentence(check) for check in audit.record["list_checks"]["scores"]}


@pytest.mark.slow
def test_an_audit_an_inspection_and_a_check_doubt_the_same_folders():
    scores = trials(["fi", "sv"])
    audit = pv.audit(scores, speakers=PEOPLE, by="sex", intervals=False)
    ((item, note),) = warned(audit)
    assert "'fi', 'sv'" in note
    inspected = pv.inspect(scores, PEOPLE).files[0]
    assert [
        (oddity.what, in_words(oddity.note)) for oddity in inspected.warnings if oddity.what == item
    ] == [(item, note)]
    assert "G9" not in failed(audit)
    check = pv.trials.check(scores, speakers=PEOPLE, by="sex")
    assert (check["G9"].verdict, check["recordings"].statistic) == ("not checked", None)
    doubt = note.partition(";")[0]
    assert check["G9"].sentence == check["recordings"].sentence == doubt
    assert doubt in check.recordings
    grades = pv.trials.grade(scores, speakers=PEOPLE, grade_by="sex")
    assert grades.recordings == check.recordings
    assert {row["grade"] for row in grades.counts.subset(label="target").rows()} == {None}


def test_a_column_settles_it_and_is_named():
    scores = trials(["fi", "sv"])
    ids = sorted({*scores["enrol"], *scores["test"]})
    table = {"utterance": ids, "session": [utterance.rsplit("/", 1)[0] for utterance in ids]}
    audit = pv.audit(scores, speakers=PEOPLE, utterances=table, by="sex", intervals=False)
    assert warned(audit) == []
    identified = "; recordings are identified by the column 'session' of utterances"
    assert identified in failed(audit)["G9"]
    assert not [
        utterance
        for utterance in pv.inspect(scores, PEOPLE, table).files[0].warnings
        if utterance.what == WARNING
    ]


def test_folders_that_are_trusted_are_named_as_the_source():
    scores = trials(["session1", "session2"])
    audit = pv.audit(scores, speakers=PEOPLE, by="sex", intervals=False)
    assert warned(audit) == []
    assert "; recordings are identified by the folder of the path" in failed(audit)["G9"]
    check = pv.trials.check(scores, speakers=PEOPLE, by="sex")
    assert check.recordings == "folder of the path"
    assert "(recording: folder of the path)" in check["recordings"].sentence


@pytest.mark.slow
def test_target_trials_of_doubtful_folders_are_of_no_grade():
    by_grade = pv.audit(trials(["fi", "sv"]), speakers=PEOPLE, by="grade", intervals=False)
    session_audit = pv.audit(
        trials(["session1", "session2"]), speakers=PEOPLE, by="grade", intervals=False
    )
    (targets,) = by_grade.groups.subset(grouping="grade", group="pooled", metric="fnr").to_dict()[
        "target_trials"][:1]  # fmt: skip
    assert targets == 0
    assert session_audit.groups.subset(grouping="grade", group="1", metric="fnr").rows()[0][
        "target_trials"
    ]


def test_lists_built_of_doubtful_folders_say_so():
    paths = ("fi/1", "fi/2", "sv/1", "sv/2")
    table = {"utterance": [f"p{s:02d}/{path}" for s in range(SPEAKERS) for path in paths]}
    options = {"speakers": PEOPLE, "by": "sex", "grade_by": "sex", "per_speaker": 2}
    built = pv.trials.build_inclusive(table, **options)
    (note,) = (note for note in built.told if "'fi', 'sv'" in note)
    assert "column recording" in note
    table["recording"] = [utterance.rsplit("/", 1)[0] for utterance in table["utterance"]]
    again = pv.trials.build_inclusive(table, **options)
    assert not any("folder" in note for note in again.told)
    assert again.lists[0].to_dict() == built.lists[0].to_dict()
