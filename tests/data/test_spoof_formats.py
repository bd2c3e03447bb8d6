"""Lists with spoof trials in each format that has them, and what contradicts itself in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parivox.core.counts import TRIAL_CLASSES
from parivox.data.recordings import read_utterances, speakers_of_utterances
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.errors import DataError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors_spoof.json").read_text(encoding="utf-8"))
PEOPLE = {"id": ["LA_0007", "LA_0015", "LA_0020"], "gender": ["f", "m", "f"]}


def rows_of(trials):
    """Enrolment, test, score and class of each trial."""
    ids = list(trials.utterance_ids)
    (partition,) = trials.partitions()
    cells = (partition.enrol, partition.test, partition.score, partition.trial_class)
    return {
        (ids[enrol], ids[test]): (float(score), TRIAL_CLASSES[code])
        for enrol, test, score, code in zip(*cells, strict=True)
    }


def wanted_rows(name):
    rows = VECTORS[name]["expected"]["enrol_test_score_label_attack"]
    return {(enrol, test): (score, label) for enrol, test, score, label, _ in rows}


def read(source, **options):
    return read_trials(source, system="", list_="", takes_spoof=True, **options)


def named(names):
    return read_speakers({"id": sorted(names), "group": ["x"] * len(names)})


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("S11.1_format_sasv", "sasv"),
        ("S11.3_format_sasv2022-scores", "sasv-protocol"),
        ("S11.7_format_espnet", "espnet-spoof"),
    ],
)
def test_scores_are_read_as_the_vectors_say(tmp_path, name, format_name):
    file = tmp_path / "scores.txt"
    text = VECTORS[name]["inputs"]["text"]
    file.write_text(text)
    wanted = wanted_rows(name)
    options = {"speakers": named({enrol for enrol, _ in wanted})}
    if format_name == "espnet-spoof":  # whose enrolments are utterances
        speakers = {utterance for pair in wanted for utterance in pair}
        table = {"utterance": sorted(speakers), "speaker": sorted(speakers)}
        table["speaker"] = [
            "E_0101" if utterance in {"E_000001", "E_000002"} else utterance
            for utterance in table["utterance"]
        ]
        options = {"speakers": named(set(table["speaker"])), "utterances": table}
    trials = read(file, **options)
    assert trials.provenance[0]["format"] == format_name
    assert rows_of(trials) == wanted
    assert trials.n_spoof == sum(label == "spoof" for _, label in wanted.values())


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("S11.2_format_sasv-protocol", "sasv-protocol"),
        ("S11.6_format_asvspoof5-trials", "asvspoof5-trials"),
    ],
)
def test_protocols_give_the_labels_of_scores_without_them(tmp_path, name, format_name):
    wanted = wanted_rows(name)
    (tmp_path / "trials.txt").write_text(VECTORS[name]["inputs"]["text"])
    lines = [f"{enrol} {test} {i + 0.5}" for i, (enrol, test) in enumerate(wanted)]
    (tmp_path / "scores.txt").write_text("\n".join(lines))
    scores = {
        "speaker": [enrol for enrol, _ in wanted],
        "utt": [test for _, test in wanted],
        "score": [i + 0.5 for i in range(len(wanted))],
    }
    trials = read(
        scores,
        trials=tmp_path / "trials.txt",
        columns={"enrol": "speaker", "enrol_speaker": "speaker", "test": "utt"},
        speakers=named({enrol for enrol, _ in wanted}),
    )
    assert trials.provenance[1]["format"] == format_name
    assert {pair: label for pair, (_, label) in rows_of(trials).items()} == {
        pair: label for pair, (_, label) in wanted.items()
    }


def test_a_column_of_labels_says_spoof_in_any_table():
    text = VECTORS["S11.8_format_delimited"]["inputs"]["text"].split()
    head, *rows = (line.split(",") for line in text)
    table = {name: [row[i] for row in rows] for i, name in enumerate(head)}
    table["enrol_speaker"] = ["LA_0007"] * 3
    table["test_speaker"] = ["LA_0007", "LA_0015", ""]
    trials = read(table, speakers=read_speakers(PEOPLE))
    assert rows_of(trials) == wanted_rows("S11.8_format_delimited")
    assert trials.n_without_test_speaker == 0  # of nontarget trials
    words = {"target": "H1", "nontarget": "H2", "spoof": "fake"}
    table["label"] = ["H1", "H2", "fake"]
    assert rows_of(read(table, columns=words, speakers=read_speakers(PEOPLE))) == rows_of(trials)
    table["label"] = ["H1", "H2", "H3"]
    with pytest.raises(DataError, match="'spoof': 'WORD'"):
        read(table, speakers=read_speakers(PEOPLE))


def test_attacks_belong_to_spoof_trials():
    table = {
        "enrol": ["m", "m"],
        "test": ["u", "v"],
        "enrol_speaker": ["LA_0007"] * 2,
        "test_speaker": ["LA_0007", ""],
        "score": [0.5, 0.25],
        "label": ["target", "spoof"],
        "attack": ["A07", "A08"],
    }
    with pytest.raises(DataError, match=r"\(m, u\) has an attack, but is not labelled spoof"):
        read(table, speakers=read_speakers(PEOPLE))
    table["attack"] = ["bonafide", "A08"]
    assert read(table, speakers=read_speakers(PEOPLE)).n_spoof == 1
    table["attack"] = ["", "bonafide"]
    with pytest.raises(DataError, match="'bonafide' is no attack, but labelled spoof"):
        read(table, speakers=read_speakers(PEOPLE))
    table["attack"] = ["", "-"]
    assert read(table, speakers=read_speakers(PEOPLE)).n_spoof == 1


def test_a_spoofed_recording_is_in_no_bona_fide_trial():
    table = {
        "enrol": ["m", "m", "m"],
        "test": ["u", "v", "w"],
        "enrol_speaker": ["LA_0007"] * 3,
        "test_speaker": ["LA_0007"] * 3,
        "score": [0.5, 0.25, 0.5],
        "label": ["target", "spoof", "spoof"],
    }
    table["enrol"] += ["n"]
    table["test"] += ["w"]
    table["enrol_speaker"] += ["LA_0007"]
    table["test_speaker"] += ["LA_0007"]
    table["score"] += [0.75]
    table["label"] += ["target"]
    with pytest.raises(DataError, match="'w' is spoofed, but also occurs in a bona fide trial"):
        read(table, speakers=read_speakers(PEOPLE))
    kept = read(table, speakers=read_speakers(PEOPLE), conflicts="exclude")
    assert (kept.n_trials, kept.n_spoof) == (3, 1)


def test_spoof_trials_are_refused_unless_they_are_asked_for():
    table = {
        "enrol": ["m", "m"],
        "test": ["u", "v"],
        "enrol_speaker": ["LA_0007"] * 2,
        "test_speaker": ["LA_0007", ""],
        "score": [0.5, 0.25],
        "label": ["target", "spoof"],
    }
    with pytest.raises(DataError, match="contains 1 spoof trials; remove the spoof trials, or"):
        read_trials(table, system="", list_="", speakers=read_speakers(PEOPLE))


def text_of(name):
    return VECTORS[name]["inputs"]["text"]


def test_scores_of_asvspoof5_are_those_of_the_whole_system(tmp_path):
    (tmp_path / "score.tsv").write_text(text_of("S11.4_format_asvspoof5-sasv"))
    key = {"enrol": ["E_0101", "E_0203"], "test": ["E_000001", "E_000002"]}
    key |= {"enrol_speaker": key["enrol"], "label": ["target", "spoof"], "attack": ["", "A17"]}
    table = {"utterance": key["test"], "speaker": key["enrol"]}
    options = {"trials": key, "speakers": named({"E_0101", "E_0203"}), "utterances": table}
    trials = read(tmp_path / "score.tsv", **options)
    assert trials.provenance[0]["format"] == "asvspoof5-sasv"
    assert rows_of(trials) == {
        (enrol, test): (score, label)
        for (enrol, test, score, _, _), label in zip(
            VECTORS["S11.4_format_asvspoof5-sasv"]["expected"]["enrol_test_score_label_attack"],
            ("target", "spoof"),
            strict=True,
        )
    }
    other = read(tmp_path / "score.tsv", columns={"score": "asv-score"}, **options)
    assert other.n_trials == 1  # the other one has none
    text = text_of("S11.4_format_asvspoof5-sasv").replace("0.75\n", "-\n").replace("0.05\n", "-\n")
    (tmp_path / "score.tsv").write_text(text)
    with pytest.raises(DataError, match="column 'sasv-score': contains no scores; name another"):
        read(tmp_path / "score.tsv", **options)


def test_keys_of_asvspoof5_give_labels_and_contradict_none(tmp_path):
    (tmp_path / "key.tsv").write_text(text_of("S11.5_format_asvspoof5-key"))
    rows = VECTORS["S11.5_format_asvspoof5-key"]["expected"]["enrol_test_score_label_attack"]
    scores = {"enrol": [row[0] for row in rows], "test": [row[1] for row in rows]}
    scores |= {"enrol_speaker": scores["enrol"], "score": [0.5, 0.25, 0.125]}
    options = {"trials": tmp_path / "key.tsv", "speakers": named(scores["enrol"])}
    trials = read(scores, **options)
    assert trials.provenance[1]["format"] == "asvspoof5-key"
    assert {pair: label for pair, (_, label) in rows_of(trials).items()} == {
        (enrol, test): label for enrol, test, _, label, _ in rows
    }
    text = text_of("S11.5_format_asvspoof5-key").replace("bonafide\ttarget", "spoof\ttarget")
    (tmp_path / "key.tsv").write_text(text)
    with pytest.raises(DataError, match="row 2: cm-label is 'spoof' and asv-label 'target'"):
        read(scores, **options)


FULL_KEY = """\
tar_spk_anon trial_anon gender cm-label asv-label attack_anon codec track_2_tag
E_0101 E_01 F bonafide target bonafide - track2
E_0202 E_02 M spoof spoof A28 C05 track2
E_0202 E_03 M spoof spoof A29 C05 dummy
E_0101 E_04 F bonafide nontarget bonafide C01 track2
E_0101 E_05 F spoof target A28 C01 dummy
"""


def test_the_full_key_of_asvspoof5_has_attacks_and_leaves_dummies_out(tmp_path):
    (tmp_path / "key.txt").write_text(FULL_KEY)
    trials = [line.split() for line in FULL_KEY.splitlines()[1:]]
    scores = {"enrol": [row[0] for row in trials], "test": [row[1] for row in trials]}
    people = named(["E_0101", "E_0202"])
    scores |= {"enrol_speaker": scores["enrol"], "score": [5.0, 4.0, 3.0, 2.0, 1.0]}
    table = {"utterance": scores["test"], "speaker": scores["enrol"]}
    table["speaker"] = [*table["speaker"][:3], "E_0202", "E_0101"]
    options = {"trials": tmp_path / "key.txt", "speakers": people, "utterances": table}
    labels = {pair: label for pair, (_, label) in rows_of(read(scores, **options)).items()}
    assert labels == {
        ("E_0101", "E_01"): "target",
        ("E_0202", "E_02"): "spoof",
        ("E_0101", "E_04"): "nontarget",
    }
    assert read(scores, **options).attacks == ("A28",)
    (tmp_path / "key.txt").write_text(
        FULL_KEY.replace("spoof target A28 C01 dummy", "spoof target A28 C01 x")
    )
    with pytest.raises(DataError, match="row 6: cm-label is 'spoof' and asv-label 'target'"):
        read(scores, **options)
    # in a table with tabs, a cell may be empty
    text = FULL_KEY.replace("spoof A28 C05 track2", "spoof A28 C05 ").replace(" ", "\t")
    (tmp_path / "key.txt").write_text(text)
    assert read(scores, **options).n_trials == len(labels)


def test_the_table_of_recordings_of_asvspoof5_tells_speakers_and_their_gender(tmp_path):
    (tmp_path / "track_1.tsv").write_text(text_of("S11.10_format_asvspoof5_track1"))
    table = read_utterances(tmp_path / "track_1.tsv")
    wanted = VECTORS["S11.10_format_asvspoof5_track1"]["expected"]
    wanted = wanted["utterance_speaker_gender_codec_attack_key"]
    assert table.table["utterance"].to_list() == [row[0] for row in wanted]
    assert table.table["speaker"].to_list() == [row[1] for row in wanted]
    assert table.attributes["codec"].to_list() == [row[3] for row in wanted]
    assert table.attributes.columns == ["codec", "codec_quality"]
    people = speakers_of_utterances(table, "error")
    people.choose_id_column(table.table["speaker"])
    assert people.ids == ("D_0062", "D_0755")
    assert people.attributes["gender"].to_list() == ["F", "M"]
    with pytest.raises(DataError, match="bonafide or spoof"):
        read(tmp_path / "track_1.tsv", speakers=named({"D_0062"}))
