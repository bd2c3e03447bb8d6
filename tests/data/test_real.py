"""VoxCeleb1-H, as bt4vt brings it."""

import gzip

from tests.sentences import in_words

from parivox.data.requested_groupings import make_groupings
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials


def test_h_as_it_stands(bt4vt_data, count):
    speakers = read_speakers(bt4vt_data / "vox1_meta.csv")
    trial_set = read_trials(
        bt4vt_data / "resnetse34v2_H-eval_scores.csv", system="V2", list_="H", speakers=speakers
    )
    assert speakers.provenance[0]["columns"] == {"id": "VoxCeleb1 ID"}
    assert trial_set.n_trials == 550_894
    assert count(trial_set, "target trials") == 275_488
    assert count(trial_set, "nontarget trials") == 275_406
    assert count(trial_set, "exact duplicates") == 0
    (reversed_note,) = (note for note in trial_set.data_notes if note.item == "reversed_pairs")
    assert reversed_note.count == 2_403
    assert "in 2,353 of these pairs, the two scores differ by up to 7e-06" in in_words(
        reversed_note.note
    )
    assert len(trial_set.utterance_ids) == 137_924
    used = sorted(set(trial_set.utterance_speaker.tolist()))
    assert len(used) == 1_190
    groupings = make_groupings(speakers, ["gender", "gender+nationality"], speakers_in_use=used)
    assert [grouping.name for grouping in groupings] == ["gender", "gender+nationality"]
    assert groupings[0].groups == ("f", "m")


def test_h_shuffled_in_another_format(bt4vt_data, tmp_path, h_v2):
    speakers = read_speakers(bt4vt_data / "vox1_meta.csv")
    options = {"system": "V2", "list_": "H", "speakers": speakers}
    reference = read_trials(bt4vt_data / "resnetse34v2_H-eval_scores.csv", **options)
    mixed = h_v2.sample(fraction=1.0, shuffle=True, seed=1)
    mixed.select("label", "enrol", "test", "score").write_csv(
        tmp_path / "list", separator=" ", include_header=False
    )
    (tmp_path / "list.gz").write_bytes(gzip.compress((tmp_path / "list").read_bytes(), 1))
    mixed.select("enrol", "test", "score", "label").write_parquet(tmp_path / "h.parquet")
    for name in ("list.gz", "h.parquet"):
        trial_set = read_trials(tmp_path / name, **options)
        assert trial_set.content_sha256 == reference.content_sha256
        assert trial_set.data_notes == reference.data_notes
