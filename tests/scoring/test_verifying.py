"""Systems that enrol and verify: once a model, resumed in parts, refusals told."""

from __future__ import annotations

import hashlib
import multiprocessing
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import parivox as pv
from parivox.embedding.voices import RATE, draw_voice, speak
from parivox.errors import ConfigError, DataError
from parivox.scoring import verifying
from parivox.scoring.verifying import score_with_system

pytestmark = pytest.mark.slow

SPEAKERS, RECORDINGS_EACH = 6, 4


class Loudness:
    """Compares levels, as no product should; counts what it was asked."""

    name, sample_rate, least_seconds = "loudness", 8000, 0.3

    def __init__(self, *, decides=False, refuses=()):
        self.decides, self.refuses = decides, refuses
        self.provenance = {"version": 1, "decides": decides}
        self.enrolled = []
        self.verified = 0

    def enrol(self, recordings):
        level = float(np.mean([np.abs(recording).mean() for recording in recordings]))
        self.enrolled.append(level)
        return None if len(self.enrolled) in self.refuses else level

    def verify(self, handle, recording):
        self.verified += 1
        score = -abs(handle - float(np.abs(recording).mean()))
        return score > -0.005 if self.decides else score


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """A folder of WAV files of synthetic voices; one of them is silence, one is no audio."""
    home = tmp_path_factory.mktemp("recordings")
    for s in range(SPEAKERS):
        (home / f"s{s}").mkdir()
        for k in range(RECORDINGS_EACH):
            waveform = speak(draw_voice(s), 0.6, 10 * s + k)
            if (s, k) == (1, 1):
                waveform = np.zeros_like(waveform)
            soundfile.write(home / f"s{s}" / f"{k}.wav", waveform, RATE)
    (home / "s2" / "0.wav").write_bytes(b"no audio")
    return home


@pytest.fixture(scope="module")
def trials():
    ids = [f"s{s}/{k}.wav" for s in range(SPEAKERS) for k in range(RECORDINGS_EACH)]
    draw = np.random.default_rng(1)
    rows = [(a, b, int(a[:2] == b[:2])) for a in ids for b in ids if a < b]
    rows = [rows[i] for i in draw.permutation(len(rows))]
    return pl.DataFrame(rows, schema=["enrol", "test", "label"], orient="row")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_each_model_is_enrolled_once_and_rows_stand_in_order(recordings, trials, tmp_path):
    system = Loudness()
    out = tmp_path / "s.parquet"
    scoring_run = score_with_system(trials, system, recordings=recordings, out=out)
    score_table = pl.read_parquet(out)
    assert score_table.columns == ["enrol", "test", "label", "score", "status", "stage"]
    assert score_table.select("enrol", "test").equals(trials.select("enrol", "test"))
    usable = trials.filter(~pl.col("enrol").is_in(["s1/1.wav", "s2/0.wav"]))["enrol"].n_unique()
    assert len(system.enrolled) == usable
    assert scoring_run.scored == score_table["score"].count() == system.verified
    failed = score_table.filter(pl.col("status") != "ok")
    stages = {
        (row["status"], row["stage"]): row["len"]
        for row in failed.group_by("status", "stage").len().to_dicts()
    }
    assert stages == {(status, stage): n for (stage, status), n in scoring_run.failed.items()}
    assert set(stages) == {
        ("silent", "enrol"),
        ("silent", "acquire"),
        ("unreadable", "enrol"),
        ("unreadable", "acquire"),
    }


def test_a_score_is_what_the_system_said(recordings, trials, tmp_path):
    out = tmp_path / "s.parquet"
    score_with_system(trials, Loudness(), recordings=recordings, out=out)
    row = pl.read_parquet(out).filter(pl.col("status") == "ok").row(0, named=True)
    # at half the rate, levels stay within a hundredth
    levels = [
        np.abs(soundfile.read(recordings / row[side])[0]).mean() for side in ("enrol", "test")
    ]
    assert row["score"] == pytest.approx(-abs(levels[0] - levels[1]), abs=0.01)


def test_decisions_are_audited_as_decisions(recordings, trials, tmp_path):
    out = tmp_path / "s.parquet"
    scoring_run = score_with_system(trials, Loudness(decides=True), recordings=recordings, out=out)
    score_table = pl.read_parquet(out)
    assert "score" not in score_table.columns
    assert set(score_table["decision"].drop_nulls()) == {"accept", "reject"}
    assert "decides itself" in scoring_run.how
    speakers = {"speaker": [f"s{i}" for i in range(SPEAKERS)], "gender": list("fmfmfm")}
    audit = pv.audit(out, speakers=speakers, by=["gender"], intervals=False)
    assert any(row["metric"] == "fta" for row in audit.groups.rows())


def test_what_a_system_refuses_is_a_failure_of_its_own(recordings, trials, tmp_path):
    out = tmp_path / "s.parquet"
    scoring_run = score_with_system(
        trials, Loudness(refuses={1, 2}), recordings=recordings, out=out
    )
    score_table = pl.read_parquet(out).filter(pl.col("status") == "refused")
    assert set(score_table["stage"]) == {"enrol"}
    assert score_table.height == scoring_run.failed["enrol", "refused"]
    assert score_table["enrol"].n_unique() == 2


def test_models_of_several_recordings_are_enrolled_together(recordings, tmp_path):
    models = {"model": ["a", "a", "b"], "recording": ["s0/0.wav", "s0/1.wav", "s3/0.wav"]}
    rows = {"enrol": ["b", "a", "b"], "test": ["s3/1.wav", "s0/2.wav", "s0/2.wav"]}
    system = Loudness()
    out = tmp_path / "s.parquet"
    score_with_system(rows, system, recordings=recordings, out=out, models=models)
    assert pl.read_parquet(out)["enrol"].to_list() == ["b", "a", "b"]
    assert len(system.enrolled) == 2


def test_an_interrupted_run_enrols_only_what_is_left(recordings, trials, tmp_path, monkeypatch):
    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 40)
    reference_path = tmp_path / "whole.parquet"
    score_with_system(trials, Loudness(), recordings=recordings, out=reference_path)
    out = tmp_path / "s.parquet"
    first_system, second_system = Loudness(), Loudness()

    def stop(progress):
        if progress.unit == "trials" and progress.done > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_with_system(trials, first_system, recordings=recordings, out=out, progress=stop)
    assert not out.exists()
    score_with_system(trials, second_system, recordings=recordings, out=out)
    assert digest(out) == digest(reference_path)
    whole_run = Loudness()
    score_with_system(trials, whole_run, recordings=recordings, out=reference_path, overwrite=True)
    assert first_system.verified + second_system.verified == whole_run.verified
    assert len(first_system.enrolled) + len(second_system.enrolled) == len(whole_run.enrolled)


def test_a_long_list_is_verified_a_chunk_after_the_other(recordings, trials, tmp_path, monkeypatch):
    reference_path, out = tmp_path / "whole.parquet", tmp_path / "s.parquet"
    score_with_system(trials, Loudness(), recordings=recordings, out=reference_path)
    monkeypatch.setattr(verifying, "CHUNK", 100)
    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 30)
    first_system, second_system = Loudness(), Loudness()

    def stop(progress):
        if progress.unit == "trials" and progress.done == 160:  # two pieces into the second chunk
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_with_system(trials, first_system, recordings=recordings, out=out, progress=stop)
    part_names = sorted(path.name for path in (tmp_path / "s.parquet.parts").glob("0*.parquet"))
    assert part_names == ["000000.parquet", "000001-000000.parquet", "000001-000001.parquet"]
    score_with_system(trials, second_system, recordings=recordings, out=out)
    assert pl.read_parquet(out).equals(pl.read_parquet(reference_path))
    scored = pl.read_parquet(out)["score"].count()
    assert first_system.verified + second_system.verified == scored


@pytest.mark.parametrize("capacity", [1, 3, 128])
def test_recordings_come_in_turn_however_few_are_held(
    recordings, trials, tmp_path, monkeypatch, capacity
):
    reference_path, out = tmp_path / "whole.parquet", tmp_path / "s.parquet"
    score_with_system(trials, Loudness(), recordings=recordings, out=reference_path)
    monkeypatch.setattr(verifying, "_MAX_DECODED", capacity)
    score_with_system(trials, Loudness(), recordings=recordings, out=out)
    assert digest(out) == digest(reference_path)


@pytest.fixture
def copied(recordings, tmp_path):
    """The recordings once more, to be changed."""
    return Path(shutil.copytree(recordings, tmp_path / "audio"))


def interrupted(trials, recordings, out):
    """Score, and stop half-way; gives the system."""
    system = Loudness()

    def stop(progress):
        if progress.unit == "trials" and progress.done == 120:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_with_system(trials, system, recordings=recordings, out=out, progress=stop)
    return system


def test_audio_that_changed_under_its_name_is_verified_again(
    copied, recordings, trials, tmp_path, monkeypatch
):
    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 40)
    out, fresh = tmp_path / "s.parquet", tmp_path / "fresh.parquet"
    interrupted(trials, copied, out)
    changed = copied / "s0" / "0.wav"
    samples, rate = soundfile.read(changed)
    soundfile.write(changed, samples / 2, rate)
    system = Loudness()
    score_with_system(trials, system, recordings=copied, out=out)
    score_with_system(trials, Loudness(), recordings=copied, out=fresh)
    assert digest(out) == digest(fresh)
    assert system.verified == pl.read_parquet(out)["score"].count()


def test_the_same_audio_elsewhere_is_gone_on_with_and_hashed_once(
    copied, recordings, trials, tmp_path, monkeypatch
):
    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 40)
    out = tmp_path / "s.parquet"
    first_system = interrupted(trials, copied, out)
    reports, second_system = [], Loudness()
    score_with_system(trials, second_system, recordings=copied, out=out, progress=reports.append)
    assert not any("hashing" in report.stage for report in reports)
    assert first_system.verified + second_system.verified == pl.read_parquet(out)["score"].count()
    again = tmp_path / "again.parquet"
    first_system, second_system = interrupted(trials, copied, again), Loudness()
    score_with_system(trials, second_system, recordings=recordings, out=again)
    assert first_system.verified + second_system.verified == pl.read_parquet(out)["score"].count()
    assert digest(again) == digest(out)


def test_a_run_of_another_rate_is_not_gone_on_with(recordings, trials, tmp_path, monkeypatch):
    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 40)
    out, fresh = tmp_path / "s.parquet", tmp_path / "fresh.parquet"
    interrupted(trials, recordings, out)
    for path in (out, fresh):
        system = Loudness()
        system.sample_rate = 16000
        score_with_system(trials, system, recordings=recordings, out=path)
    assert digest(out) == digest(fresh)
    assert pl.read_parquet(out)["score"].count() == system.verified


def test_a_provenance_that_json_cannot_hold_is_a_sentence(recordings, trials, tmp_path):
    system = Loudness()
    system.provenance = {"step": np.float32(0.5), "sizes": np.arange(2)}
    score_with_system(trials, system, recordings=recordings, out=tmp_path / "s.parquet")
    system.provenance = {"odd": object()}
    with pytest.raises(ConfigError, match="loudness: the provenance cannot be stored as JSON"):
        score_with_system(trials, system, recordings=recordings, out=tmp_path / "t.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]


def test_a_channel_is_chosen_for_files_whose_channels_differ(recordings, tmp_path):
    home = tmp_path / "audio"
    shutil.copytree(recordings / "s0", home / "s0")
    wave = soundfile.read(home / "s0/0.wav")[0]
    soundfile.write(home / "s0/0.wav", np.stack([0.25 * wave, wave], axis=1), RATE, subtype="FLOAT")
    pair = pl.DataFrame({"enrol": ["s0/1.wav"], "test": ["s0/0.wav"], "label": [1]})
    out = tmp_path / "s.parquet"
    with pytest.raises(
        DataError, match=r"0\.wav: has 2 channels, and channel 2 differs from the f"
    ):
        score_with_system(pair, Loudness(), recordings=home, out=out)
    with pytest.raises(ConfigError, match=r"channel each applies only to pv.embed; give mix, left"):
        score_with_system(pair, Loudness(), recordings=home, out=out, channel="each")
    channel_level = np.abs(soundfile.read(home / "s0/1.wav")[0]).mean()
    for word, share in (("left", 0.25), ("right", 1.0), (2, 1.0), ("mix", 0.625)):
        score_with_system(pair, Loudness(), recordings=home, out=out, channel=word, overwrite=True)
        want = -abs(channel_level - share * np.abs(wave).mean())
        assert pl.read_parquet(out)["score"].item() == pytest.approx(want, abs=1e-3)


CRASHING = """
import os, signal
from parivox.scoring.verifying import _recording_decoder as honest

def decoding(rate, least_seconds, channel):
    decode = honest(rate, least_seconds, channel)
    def do(batch, in_hand):
        def at(place):
            in_hand(place)
            if batch.recordings[place].path.endswith("3/2.wav"):
                open("crashes", "a").write("x")
                os.kill(os.getpid(), signal.SIGSEGV)
        return decode(batch, at)
    return do
"""


def test_audio_that_crashes_a_decoder_is_an_outcome(recordings, trials, tmp_path, monkeypatch):
    (tmp_path / "crashing_decoder.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(str(tmp_path))
    import crashing_decoder

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verifying, "_recording_decoder", crashing_decoder.decoding)
    monkeypatch.setattr(verifying, "_MAX_DECODED", 3)
    out, reference_path = tmp_path / "s.parquet", tmp_path / "whole.parquet"
    score_with_system(trials, Loudness(), recordings=recordings, out=out)
    monkeypatch.undo()
    score_with_system(trials, Loudness(), recordings=recordings, out=reference_path)
    assert (tmp_path / "crashes").read_text() == "x"  # once, though it is needed often
    odd = (pl.col("enrol") == "s3/2.wav") | (pl.col("test") == "s3/2.wav")
    score_table, honest = pl.read_parquet(out), pl.read_parquet(reference_path)
    assert set(score_table.filter(odd & (pl.col("enrol") == "s3/2.wav"))["status"]) == {
        "unreadable"
    }
    assert score_table.filter(odd)["score"].count() == 0
    assert score_table.filter(~odd).equals(honest.filter(~odd))


def test_a_system_that_raises_is_named_with_the_recording(recordings, trials, tmp_path):
    class Broken(Loudness):
        def verify(self, handle, recording):
            msg = "no licence"
            raise RuntimeError(msg)

    with pytest.raises(DataError, match=r"loudness: verify raised RuntimeError for 's.*no licence"):
        score_with_system(trials, Broken(), recordings=recordings, out=tmp_path / "s.parquet")
    assert not multiprocessing.active_children()  # the decoder has ended


def test_what_cannot_be_done_is_said_before_anything_is_enrolled(recordings, trials, tmp_path):
    system = Loudness()
    odd = trials.with_columns(pl.col("test").str.replace("s5/", "s9/"))
    with pytest.raises(DataError, match=r"4 of 27 recordings \('s9/0.wav'.* add them"):
        score_with_system(odd, system, recordings=recordings, out=tmp_path / "s.parquet")
    (tmp_path / "there.parquet").touch()
    with pytest.raises(ConfigError, match="with overwrite=True"):
        score_with_system(trials, system, recordings=recordings, out=tmp_path / "there.parquet")
    assert not system.enrolled


def test_scores_and_decisions_do_not_mix(recordings, trials, tmp_path, monkeypatch):
    class MixedSystem(Loudness):
        def verify(self, handle, recording):
            answer = super().verify(handle, recording)
            return answer > -0.005 if self.verified > 20 else answer

    monkeypatch.setattr(verifying, "TRIALS_PER_SLICE", 10)
    out = tmp_path / "s.parquet"
    for _ in range(2):  # whatever parts there are
        with pytest.raises(DataError, match="scores for some trials and decisions for others"):
            score_with_system(trials, MixedSystem(), recordings=recordings, out=out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("answer", "description"),
    [("0.5", "text"), ([0.5, 0.6], "a list"), ([[1], [1, 2]], "a list"), (1j, "")],
)
def test_what_is_no_number_is_refused(answer, description, recordings, trials, tmp_path):
    class Odd(Loudness):
        def verify(self, handle, recording):
            return answer

    with pytest.raises(
        DataError, match=rf"loudness: verify returned {description}.* for 's.*return one num"
    ):
        score_with_system(trials, Odd(), recordings=recordings, out=tmp_path / "s.parquet")


def test_an_array_of_one_number_is_a_score(recordings, trials, tmp_path):
    class Array(Loudness):
        def verify(self, handle, recording):
            return np.array([[super().verify(handle, recording)]], dtype=np.float64)

    number_path, array_path = tmp_path / "a.parquet", tmp_path / "b.parquet"
    score_with_system(trials, Array(), recordings=recordings, out=number_path)
    score_with_system(trials, Loudness(), recordings=recordings, out=array_path)
    assert pl.read_parquet(number_path).equals(pl.read_parquet(array_path))


def test_the_recordings_are_not_replaced(recordings, trials, tmp_path):
    out = recordings / "s0" / "0.wav"
    before = out.read_bytes()
    with pytest.raises(ConfigError, match="would replace the recordings, which"):
        score_with_system(trials, Loudness(), recordings=recordings, out=out, overwrite=True)
    assert out.read_bytes() == before
