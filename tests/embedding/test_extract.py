"""Every recording is embedded once, whatever happens meanwhile."""

import hashlib
import importlib
import random
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import parivox
from parivox import audit, embed, open_store
from parivox.data.recordings import read_failures, read_utterances
from parivox.embedding.audio import Excerpt, decode
from parivox.embedding.batches import Batch, embed_batch
from parivox.embedding.extract import _check_same_system
from parivox.embedding.store import check_store
from parivox.embedding.systems import system_record
from parivox.embedding.systems.named import CallableSystem, load
from parivox.errors import ConfigError, DataError
from parivox.report.systems import embedding_lines

pytestmark = pytest.mark.slow

FINAL = {"recordings.parquet", "embeddings.npy", "store.json", "seen.parquet"}


def content(store):
    """Every file of a store with its hash."""
    return {
        str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(store.rglob("*"))
    }


def rewrite(path, samples, rate=8_000):
    soundfile.write(path, samples, rate)


def test_each_recording_has_the_vector_of_its_own_audio(folder, small, tmp_path):
    run = embed(folder, small.load, tmp_path / "out", workers=2, batch=7)
    assert (run.statuses, run.new, run.passed_over) == ({"ok": 30}, 30, 0)
    store = open_store(tmp_path / "out")
    assert store.vectors.shape == (30, 1, 32)
    assert store.table["utterance"].to_list() == sorted(store.table["utterance"])
    assert store.table["speaker"].to_list()[:5] == ["s0"] * 5
    system = small.load()
    for utterance, row in store.table.select("utterance", "row").iter_rows():
        wave, _ = soundfile.read(folder / utterance, dtype="float32")
        np.testing.assert_allclose(store.vectors[row], system.vector(wave), rtol=1e-5)
    assert run.seconds == pytest.approx(
        sum(soundfile.info(p).duration for p in folder.rglob("*.w*"))
    )
    assert set(content(tmp_path / "out")) == FINAL


def test_a_store_knows_its_system_and_what_a_probe_of_it_found(folder, small, tmp_path):
    store = embed(folder, small.load, tmp_path / "out", workers=1).store
    assert store.system["provenance"] == small.load().provenance
    assert store.about["probe"]["sound"] is True
    assert {finding["check"] for finding in store.about["probe"]["findings"]} >= {
        "repeated",
        "batched",
    }


def test_others_read_the_files_without_us(folder, small, tmp_path):
    embed(folder, small.load, tmp_path / "out", workers=1)
    array = np.load(tmp_path / "out" / "embeddings.npy", mmap_mode="r")
    assert (array.dtype, array.shape, array.flags.c_contiguous) == (np.float32, (30, 1, 32), True)
    table = pl.read_parquet(tmp_path / "out" / "recordings.parquet")
    assert table["row"].to_list() == list(range(30))
    path = folder / table["file"][0]
    assert table["audio_sha256"][0] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_bytes_depend_neither_on_workers_nor_on_the_day(folder, small, tmp_path):
    for name, workers in (("one", 1), ("two", 2), ("three", 3)):
        embed(folder, small.load, tmp_path / name, workers=workers, batch=4)
    assert content(tmp_path / "one") == content(tmp_path / "two") == content(tmp_path / "three")


def test_batches_of_any_size_make_the_same_vectors(folder, small, tmp_path):
    stores = [
        embed(folder, small.load, tmp_path / str(batch), workers=1, batch=batch).store
        for batch in (1, 5, 64)
    ]
    for store in stores[1:]:
        assert store.table.equals(stores[0].table)
        np.testing.assert_allclose(store.vectors, stores[0].vectors, atol=1e-5)


def test_a_second_run_embeds_what_changed_and_nothing_else(folder, small, tmp_path):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    before, vectors = content(out), open_store(out).vectors.copy()
    broken = partial(small.load, seconds=1e9)  # would never come back, were it asked
    assert embed(folder, broken, out).new == 0
    assert content(out) == before

    wave, _ = soundfile.read(folder / "s0/00.wav", dtype="float32")
    rewrite(folder / "s0/00.wav", wave[::-1])  # as large as before
    shutil.copy(folder / "s1/01.wav", folder / "s1/copy.wav")  # known by its content
    (folder / "s3/03.wav").rename(folder / "s3/new name.wav")
    run = embed(folder, small.load, out, workers=1)
    assert (run.new, run.statuses) == (1, {"ok": 31})
    store = run.store
    assert store.table.height == 32  # what is gone from the folder stays in the store
    rows = dict(store.table.select("utterance", "row").iter_rows())
    np.testing.assert_array_equal(
        store.vectors[rows["s1/copy.wav"]], vectors[rows["s1/01.wav"] - 0]
    )
    np.testing.assert_array_equal(
        store.vectors[rows["s3/03.wav"]], store.vectors[rows["s3/new name.wav"]]
    )
    assert not np.array_equal(store.vectors[rows["s0/00.wav"]], vectors[0])
    check_store(out)


def test_a_touched_or_moved_folder_is_hashed_and_not_embedded(folder, small, tmp_path):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    table = open_store(out).table
    shutil.copytree(folder, tmp_path / "elsewhere", copy_function=shutil.copyfile)
    assert embed(tmp_path / "elsewhere", partial(small.load, seconds=1e9), out).new == 0
    (out / "seen.parquet").unlink()
    assert embed(folder, partial(small.load, seconds=1e9), out).new == 0
    assert open_store(out).table.equals(table)


def test_recordings_of_several_folders_gather_in_a_store(folder, small, tmp_path):
    out = tmp_path / "out"
    soundfile.write(tmp_path / "x.wav", soundfile.read(folder / "s0/00.wav")[0], 8_000)
    embed(folder, small.load, out, workers=1)
    (tmp_path / "t.csv").write_text("utterance,speaker,file,device\nx,s0,x.wav,phone\n")
    run = embed(tmp_path / "t.csv", small.load, out, workers=1)
    assert (run.statuses, run.new) == ({"ok": 1}, 0)
    assert run.store.table.height == 31
    last_row = run.store.table.row(30, named=True)
    assert (last_row["utterance"], last_row["speaker"], last_row["device"]) == ("x", "s0", "phone")


def failing(folder):
    """Spoil one recording in each way."""
    rewrite(folder / "s0/00.wav", np.zeros(8_000))
    rewrite(folder / "s1/01.wav", np.zeros(10))
    (folder / "s2/02.wav").write_text("no audio")
    click = np.zeros(8_000)
    click[99] = 0.5
    rewrite(folder / "s3/03.wav", click)
    soundfile.write(folder / "s4/04.wav", np.full(8_000, np.nan), 8_000, subtype="FLOAT")


def test_recordings_that_fail_are_rows_with_a_status(folder, small, tmp_path):
    failing(folder)
    run = embed(folder, small.load, tmp_path / "out", workers=1)
    assert run.statuses == {
        "ok": 25,
        **dict.fromkeys(("too_short", "no_speech", "unreadable", "non_finite", "silent"), 1),
    }
    table = run.store.table
    assert (table.filter(pl.col("row") < 0)["reason"] != "").all()
    rows = dict(table.select("utterance", "row").iter_rows())
    assert (rows["s0/00.wav"], rows["s0/06.wav"]) == (-1, 0)
    row_by_id = {row["utterance"]: row for row in table.iter_rows(named=True)}
    nan_row, attributes = (
        row_by_id["s4/04.wav"],
        ("duration", "bandwidth", "level", "clipping", "net_speech"),
    )
    assert (nan_row["native_rate"], {nan_row[name] for name in attributes}) == (8_000, {None})
    (folder / "s0/00.wav").write_bytes((folder / "s0/06.wav").read_bytes())
    assert embed(folder, small.load, tmp_path / "out", workers=1).statuses["ok"] == 26


def test_a_failure_of_the_machine_is_tried_again(folder, crashing, small, tmp_path, monkeypatch):
    """A crash, or a file that cannot be opened for now, is no property of the audio."""
    monkeypatch.setattr("parivox.runtime.workers.MAX_SECONDS_PER_ITEM", 2.0)
    out = tmp_path / "out"
    assert embed(folder, crashing.load, out, workers=1).statuses == {"ok": 28, "unreadable": 2}
    run = embed(folder, small.load, out, workers=1)
    assert (run.new, run.statuses) == (2, {"ok": 30})

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", refuse)
        failed = decode(Excerpt(str(folder / "s0/00.wav")), 8_000)
    assert (failed.status, failed.reason, failed.is_passing) == (
        "unreadable",
        "Permission denied",
        True,
    )
    assert not decode(Excerpt(__file__), 8_000).is_passing


def test_an_outcome_without_a_hash_is_not_that_of_another_file(folder, crashing, small, tmp_path):
    """One that vanished has no hash, and neither has one that cannot be hashed for now."""
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    store = open_store(out)
    table = store.table.with_columns(
        audio_sha256=pl.when(pl.col("utterance") == "s0/00.wav")
        .then(None)
        .otherwise("audio_sha256"),
        status=pl.when(pl.col("utterance") == "s0/00.wav")
        .then(pl.lit("unreadable"))
        .otherwise("status"),
    )
    table.write_parquet(out / "recordings.parquet")
    rewrite(folder / "new.wav", soundfile.read(folder / "s1/01.wav")[0][:4_000])
    (out / "seen.parquet").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parivox.embedding.recordings.audio_sha256", lambda _: None)
        run = embed(folder, small.load, out, workers=1)
    assert run.statuses == {"ok": 31}


def test_without_a_decoder_nothing_begins(folder, small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(ConfigError, match=r"need soundfile, .*'parivox\[audio\]'"):
        embed(folder, small.load, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_runtime_goes_on_with_a_store(folder, small, tmp_path):
    def load(runtime):
        system = small.load()
        system.provenance = {"runtime": runtime, "providers": [runtime]}
        return system

    def about(system, **options):
        return {"system": system_record(system), "options": options}

    begun = about(load("onnxruntime 1.0"))
    _check_same_system(tmp_path, begun, about(load("onnxruntime 2.0")))
    with pytest.raises(DataError, match="embeddings cannot be compared"):
        _check_same_system(tmp_path, begun, about(small.load(), x=1))


def test_what_numpy_counts_is_provenance_and_an_object_is_a_sentence(small):
    system = small.load()
    system.provenance = {"step": np.float32(0.5), "sizes": np.arange(2)}
    assert system_record(system)["provenance"] == {"step": 0.5, "sizes": [0, 1]}
    for odd in (object(), float("nan")):
        system.provenance = {"odd": odd}
        with pytest.raises(ConfigError, match=r"small: the provenance cannot be stored as JSON"):
            system_record(system)


@pytest.mark.parametrize(
    "names", [["parts/mine.txt"], ["recordings.parquet"], ["failures.csv"], ["next/mine.txt"]]
)
def test_a_folder_of_something_else_is_refused_and_stays(folder, small, tmp_path, names):
    out = tmp_path / "out"
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    with pytest.raises(DataError, match=r"and is not a store of embeddings; give out a new"):
        embed(folder, small.load, out, workers=1)
    assert [(out / name).read_text() for name in names] == ["mine"]


def test_a_damaged_table_of_what_was_seen_is_made_anew(folder, small, tmp_path):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    content = (out / "seen.parquet").read_bytes()
    (out / "seen.parquet").write_bytes(content[:40])
    assert embed(folder, partial(small.load, seconds=1e9), out).new == 0
    assert (out / "seen.parquet").read_bytes() == content


def test_a_function_that_fails_on_one_recording_fails_for_it_alone(folder):
    def function(waveform, rate):
        if waveform.size < 4_400:
            msg = "too few samples for me"
            raise ValueError(msg)
        return np.abs(np.fft.rfft(waveform[:64]))

    def always(waveform, rate):
        msg = "cannot"
        raise ValueError(msg)

    batch = Batch(0, [Excerpt(str(path)) for path in sorted(folder.rglob("*.wav"))], 60.0)
    outcomes = embed_batch(batch, CallableSystem(function, "mine", sample_rate=8_000)).rows
    reasons = {outcome["reason"] for outcome in outcomes if outcome["status"] == "unreadable"}
    assert reasons == {"the system raised ValueError: too few samples for me"}
    assert {outcome["status"] for outcome in outcomes} == {"ok", "unreadable"}
    with pytest.raises(DataError, match=r"mine: raised ValueError for 30 recordings in a row"):
        embed_batch(batch, CallableSystem(always, "mine", sample_rate=8_000))


def test_samples_beyond_all_measure_are_a_status_and_no_warning(tmp_path):
    wave = np.random.default_rng(1).normal(size=16_000) * 1e30
    soundfile.write(tmp_path / "huge.wav", wave, 16_000, subtype="FLOAT")
    batch = Batch(0, [Excerpt(str(tmp_path / "huge.wav"))], 60.0)
    squares = Odd(lambda waves: np.stack([[samples[:100] ** 2] for samples in waves]))
    squares.sample_rate = 16_000
    assert embed_batch(batch, squares).rows[0]["status"] == "non_finite"


def test_failures_and_attributes_flow_into_an_audit(folder, small, tmp_path):
    failing(folder)
    store = embed(folder, small.load, tmp_path / "out", workers=1).store
    recordings = store.path / "recordings.parquet"
    assert read_utterances(recordings).names_speakers
    failures = read_failures(store.path / "failures.csv")
    assert len(failures.acquire) == 5
    ids, status = store.table["utterance"].to_list(), store.table["status"].to_list()
    pairs = [(i, j) for i in range(30) for j in range(i)]
    ok = [status[i] == status[j] == "ok" for i, j in pairs]
    draw = np.random.default_rng(1)
    scores = pl.DataFrame(
        {
            "enrol": [ids[i] for i, _ in pairs],
            "test": [ids[j] for _, j in pairs],
            "label": [int(ids[i][:2] == ids[j][:2]) for i, j in pairs],
            "score": [float(draw.normal()) if good else None for good in ok],
        }
    ).filter(pl.Series(ok))
    speakers = pl.DataFrame({"speaker": [f"s{i}" for i in range(6)], "sex": list("fmfmfm")})
    group_audit = audit(
        scores, speakers=speakers, by=["sex"], utterances=recordings, orientation="similarity",
        failures=store.path / "failures.csv", intervals=False,
    )  # fmt: skip
    rows = group_audit.groups.subset(grouping="sex", metric="fta").rows()
    counts_by_group = {row["group"]: (row["errors"], row["trials"]) for row in rows}
    assert counts_by_group == {"f": (3, 15), "m": (2, 14), "pooled": (5, 29)}  # one is never tested


def test_a_store_of_other_weights_or_options_is_refused(folder, small, tmp_path):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    before = content(out)
    with pytest.raises(
        DataError, match=r"'small' with weights.sha256 'one', but 'small' has 'two'"
    ):
        embed(folder, partial(small.load, "two"), out)
    with pytest.raises(DataError, match=r"longest_seconds 3600.0, but .* has 60.0; .*another out"):
        embed(folder, small.load, out, longest_seconds=60.0)
    assert content(out) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"longest_seconds": -1.0}, "longest_seconds is -1"),
    ],
)
def test_options_out_of_range_are_refused(folder, small, tmp_path, options, message):
    with pytest.raises(ConfigError, match=message):
        embed(folder, small.load, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def stereo(folder):
    """Two of 32 recordings have channels that differ."""
    for name in ("s0/x.wav", "s1/y.flac"):
        pair = np.random.default_rng(len(name)).normal(size=(800, 2)) / 10
        rewrite(folder / name, np.repeat(pair, 4, axis=0))
    return folder


def channels(store):
    """Channel of each recording that has one."""
    return dict(store.table.drop_nulls("channel").select("utterance", "channel").iter_rows())


def vector(store, utterance):
    """The embedding of a recording."""
    return store.vectors[store.table.filter(utterance=utterance)["row"][0], 0]


def test_files_whose_channels_differ_are_set_aside_and_stop_nothing(stereo, small, tmp_path):
    out = tmp_path / "out"
    run = embed(stereo, small.load, out, workers=1)
    assert (run.statuses, run.new, run.set_aside) == ({"ok": 30}, 30, ("s0/x.wav", "s1/y.flac"))
    assert run.store.table.height == 30  # they are no failures: nothing is known of them
    assert not (out / "failures.csv").exists()
    before = content(out)
    again = embed(stereo, partial(small.load, seconds=1e9), out, workers=1)
    assert (again.new, again.set_aside, content(out)) == (0, run.set_aside, before)


@pytest.mark.parametrize(("word", "channel"), [("mix", 0), ("left", 1), ("right", 2), (2, 2)])
def test_a_channel_is_chosen_for_files_whose_channels_differ(
    stereo, small, tmp_path, word, channel
):
    """For those alone: a second channel of other files would be none."""
    run = embed(stereo, small.load, tmp_path / "out", workers=1, channel=word)
    assert (run.statuses, run.new, run.set_aside) == ({"ok": 32}, 32, ())
    assert channels(run.store) == {"s0/x.wav": channel, "s1/y.flac": channel}
    wave = soundfile.read(stereo / "s0/x.wav", dtype="float32")[0]
    wave = wave[:, channel - 1] if channel else wave.mean(axis=1)
    want = small.load().vector(wave)[0]
    np.testing.assert_allclose(vector(run.store, "s0/x.wav"), want, rtol=1e-4)
    before = content(tmp_path / "out")
    again = embed(stereo, partial(small.load, seconds=1e9), tmp_path / "out", channel=word)
    assert (again.new, content(tmp_path / "out")) == (0, before)


def test_a_choice_after_a_run_embeds_those_files_alone(stereo, small, tmp_path):
    out = tmp_path / "out"
    embed(stereo, small.load, out, workers=1)
    left_run = embed(stereo, small.load, out, workers=1, channel="left")
    assert (left_run.new, left_run.statuses) == (2, {"ok": 32})
    right_run = embed(stereo, small.load, out, workers=1, channel="right")
    assert (right_run.new, channels(right_run.store)) == (2, {"s0/x.wav": 2, "s1/y.flac": 2})


def test_a_file_in_the_place_of_one_whose_channels_differed_is_looked_at(stereo, small, tmp_path):
    out = tmp_path / "out"
    embed(stereo, small.load, out, workers=1)
    rewrite(stereo / "s0/x.wav", np.random.default_rng(5).normal(size=(3_300, 2)) / 10)
    again = embed(stereo, small.load, out, workers=1)
    assert (again.new, again.set_aside) == (0, ("s0/x.wav", "s1/y.flac"))
    rewrite(stereo / "s0/x.wav", np.random.default_rng(5).normal(size=3_400) / 10)
    again = embed(stereo, small.load, out, workers=1)
    assert (again.new, again.set_aside) == (1, ("s1/y.flac",))


@pytest.mark.parametrize("word", ["right", "each"])
def test_a_chosen_channel_is_known_by_its_content(stereo, small, tmp_path, word):
    out, never = tmp_path / "out", partial(small.load, seconds=1e9)
    table = embed(stereo, small.load, out, workers=1, channel=word).store.table
    shutil.copytree(stereo, tmp_path / "elsewhere", copy_function=shutil.copyfile)
    run = embed(tmp_path / "elsewhere", never, out, workers=1, channel=word)
    assert (run.new, run.store.table.equals(table)) == (0, True)
    run = embed(tmp_path / "elsewhere", never, out, workers=1)
    assert (run.set_aside, run.store.table.equals(table)) == (("s0/x.wav", "s1/y.flac"), True)


def test_each_channel_is_a_recording_of_its_own(stereo, small, tmp_path):
    run = embed(stereo, small.load, tmp_path / "out", workers=1, channel="each")
    assert (run.statuses, run.new) == ({"ok": 34}, 34)
    assert channels(run.store) == {
        "s0/x.wav": 1, "s0/x.wav:b": 2, "s1/y.flac": 1, "s1/y.flac:b": 2,
    }  # fmt: skip
    table = run.store.table.filter(pl.col("utterance").str.starts_with("s0/x"))
    assert table.select("speaker", "recording").unique().rows() == [("s0", "s0/x.wav")]
    assert run.same_audio.is_empty()


@pytest.mark.parametrize("word", ["up", 0, -1, "1.5", ""])
def test_a_channel_that_is_none_is_one_sentence(folder, small, tmp_path, word):
    with pytest.raises(ConfigError, match=r"channel is .*; give a number from 1, left, right"):
        embed(folder, small.load, tmp_path / "out", channel=word)
    assert not (tmp_path / "out").exists()


def test_the_same_audio_under_two_speakers_is_refused_before_anything(folder, small, tmp_path):
    shutil.copy(folder / "s1/01.wav", folder / "s2/copy.wav")
    shutil.copy(folder / "s1/07.wav", folder / "s3/copy.wav")
    with pytest.raises(DataError) as raised:
        embed(folder, small.load, tmp_path / "out", workers=1)
    assert str(raised.value) == (
        f"{folder}: 's1/01.wav' of speaker 's1' and 's2/copy.wav' of speaker 's2' contain the same "
        "audio (the first of 2 such cases); keep the recording of the right speaker, or "
        "correct the speakers"
    )
    assert not (tmp_path / "out").exists()


def test_files_without_sound_may_be_alike(folder, small, tmp_path):
    for speaker in ("s1", "s2"):
        rewrite(folder / speaker / "silent.wav", np.zeros(8_000))
        (folder / speaker / "empty.wav").write_bytes(b"")
    run = embed(folder, small.load, tmp_path / "out", workers=1)
    assert run.statuses == {"ok": 30, "unreadable": 2, "silent": 2}
    assert run.same_audio.is_empty()


def test_the_same_audio_under_two_ids_is_told(folder, small, tmp_path):
    shutil.copy(folder / "s1/01.wav", folder / "s1/copy.wav")
    run = embed(folder, small.load, tmp_path / "out", workers=1)
    assert run.same_audio["utterance"].to_list() == ["s1/01.wav", "s1/copy.wav"]
    assert (
        "2 recordings contain the same audio as another one with another id (first 's1/01.wav' and "
        "'s1/copy.wav'): a target trial of two of them compares audio with itself and "
        "shows nothing about the system"
    ) in "\n".join(embedding_lines(run))


def test_after_a_mend_old_rows_stay_until_they_are_pruned(folder, small, tmp_path):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    (folder / "s3/03.wav").rename(folder / "s3/new name.wav")
    run = embed(folder, small.load, out, workers=1)
    assert (run.staying, run.pruned, run.store.table.height) == (1, 0, 31)
    assert any("earlier runs that are not among these: 1. They stay" in line
               and "--prune removes them" in line for line in embedding_lines(run))  # fmt: skip
    run = embed(folder, partial(small.load, seconds=1e9), out, workers=1, prune=True)
    assert (run.new, run.staying, run.pruned, run.store.table.height) == (0, 0, 1, 30)
    assert "s3/03.wav" not in run.store.table["utterance"]
    assert any("earlier runs that are no longer named: 1," in line for line in embedding_lines(run))
    check_store(out)
    shutil.rmtree(tmp_path / "out")
    embed(folder, small.load, out, workers=1)
    assert open_store(out).table.equals(run.store.table)


def test_rows_of_other_speakers_in_a_store_are_refused_until_they_are_pruned(
    folder, small, tmp_path
):
    out = tmp_path / "out"
    embed(folder, small.load, out, workers=1)
    (folder / "s0").rename(folder / "anna")
    before = content(out)
    message = (
        r"'anna/00.wav' of speaker 'anna' and 's0/00.wav' of speaker 's0' contain .*first of 5 such"
    )
    with pytest.raises(
        DataError, match=message + r".*'s0/00.wav' is from an earlier run: prune=True removes"
    ):
        embed(folder, small.load, out, workers=1)
    assert content(out) == before
    run = embed(folder, partial(small.load, seconds=1e9), out, workers=1, prune=True)
    assert (run.new, run.pruned, run.source.speakers["anna"]) == (0, 5, 5)


def test_speakers_that_a_store_does_not_know_are_told(folder, small, tmp_path):
    out = tmp_path / "out"
    soundfile.write(tmp_path / "x.wav", np.random.default_rng(1).normal(size=8_000) / 9, 8_000)
    (tmp_path / "t.csv").write_text("utterance,file\nx,x.wav\n")
    embed(tmp_path / "t.csv", small.load, out, workers=1)
    run = embed(folder, small.load, out, workers=1)
    assert any(
        "so recordings.parquet contains no speakers" in line for line in embedding_lines(run)
    )
    run = embed(folder, small.load, out, workers=1, prune=True)
    assert run.store.table["speaker"].n_unique() == 6


CRASHING = """
import multiprocessing, os, signal, time
import parivox.embedding.batches as batches
import small_system

honest = batches.decode

def decode(recording, *words, **more):
    if recording.path.endswith("03.wav"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if recording.path.endswith("04.wav"):
        time.sleep(1000)
    return honest(recording, *words, **more)

def load():
    if multiprocessing.parent_process() is not None:
        batches.decode = decode
    return small_system.load()

def dies():
    system = small_system.load()
    if multiprocessing.parent_process() is not None:
        system.embed = lambda waveforms: os.kill(os.getpid(), signal.SIGKILL)
    return system

def raises():
    system = small_system.load()
    def embed(waveforms):
        raise ValueError("cannot")
    if multiprocessing.parent_process() is not None:
        system.embed = embed
    return system

def partly():
    system = small_system.load()
    honest = system.embed
    def embed(waveforms):
        if min(map(len, waveforms)) < 4400:
            raise ValueError("too few samples for me")
        return honest(waveforms)
    system.embed = embed
    return system
"""


@pytest.fixture
def crashing(small, tmp_path, monkeypatch):
    (tmp_path / "modules" / "crashing_system.py").write_text(CRASHING)
    import crashing_system

    yield crashing_system
    monkeypatch.delitem(sys.modules, "crashing_system")


def test_a_decoder_that_crashes_or_never_ends_is_a_status(folder, crashing, tmp_path, monkeypatch):
    monkeypatch.setattr("parivox.runtime.workers.MAX_SECONDS_PER_ITEM", 2.0)
    run = embed(folder, crashing.load, tmp_path / "out", workers=2, batch=10)
    assert run.statuses == {"ok": 28, "unreadable": 2}
    reasons = dict(run.store.table.select("utterance", "reason").iter_rows())
    assert reasons["s3/03.wav"] == "decoding it ended the process (SIGSEGV)"
    assert reasons["s4/04.wav"] == "decoding it never ended"


def test_a_system_that_ends_its_process_or_raises_is_one_sentence(folder, crashing, tmp_path):
    with pytest.raises(DataError, match=r"a worker process ended for .* \(SIGKILL\); if memory"):
        embed(folder, crashing.dies, tmp_path / "out", workers=1)
    with pytest.raises(
        DataError, match=r"small: raised ValueError for 30 recordings.*: cannot; check"
    ):
        embed(folder, crashing.raises, tmp_path / "out", workers=1)


def test_a_system_that_raises_for_some_fails_for_these_alone(folder, crashing, tmp_path):
    run = embed(folder, crashing.partly, tmp_path / "out", workers=1)
    table = run.store.table.with_columns(is_short=pl.col("duration") < 4400 / 8000)
    assert 0 < table["is_short"].sum() < 30
    reasons = table.filter("is_short")["reason"].unique().to_list()
    assert reasons == ["the system raised ValueError: too few samples for me"]
    assert (table.filter(~pl.col("is_short"))["status"] == "ok").all()


class Odd:
    name, sample_rate, least_seconds, scoring = "odd", 8_000, 0.0, "cosine"

    def __init__(self, embed):
        self.embed, self.provenance = embed, {}


def test_vectors_that_say_nothing_are_failures_and_odd_shapes_are_refused(folder):
    batch = Batch(0, [Excerpt(str(path)) for path in sorted(folder.rglob("*.wav"))[:3]], 60.0)
    vectors = np.ones((3, 1, 4), "f4")
    vectors[0, 0, 1] = np.nan
    vectors[2] = 0
    done = embed_batch(batch, Odd(lambda waves: vectors))
    assert [(outcome["status"], outcome["row"]) for outcome in done.rows] == [
        ("non_finite", -1), ("ok", 0), ("no_speech", -1),
    ]  # fmt: skip
    assert done.vectors.shape == (1, 1, 4)
    for shape in ((3, 4), (2, 1, 4), (3, 1, 0)):
        with pytest.raises(DataError, match=r"odd: made embeddings of shape"):
            embed_batch(batch, Odd(lambda waves, shape=shape: np.ones(shape)))


def test_long_recordings_are_embedded_a_few_at_a_time(folder, monkeypatch):
    monkeypatch.setattr("parivox.embedding.batches.SECONDS_AT_ONCE", 2.0)
    sizes = []

    def embed(waves):
        sizes.append(sum(map(len, waves)) / 8_000)
        return np.ones((len(waves), 1, 2), "f4")

    batch = Batch(0, [Excerpt(str(path)) for path in sorted(folder.rglob("*.wav"))], 60.0)
    assert len(embed_batch(batch, Odd(embed)).vectors) == 30
    assert len(sizes) > 5
    assert max(sizes) < 3.3


IN_MODULES = """
import sys
import parivox.cli.embed, parivox.embedding.extract, parivox.report.systems
sys.path.insert(0, "modules")
"""


@pytest.mark.slow
def test_kills_leave_the_bytes_of_an_undisturbed_run(folder, small, tmp_path, forked, kills):
    failing(folder)
    words = ["embed", folder, "--system", "small_system:READY", "--batch", "3", "--quiet"]
    run = forked(IN_MODULES)
    code, took = run(*words, "--workers", "2", "--out", "whole")
    assert code == 0
    chance, killed, done = random.Random(7), 0, set()
    for n in range(kills):
        after = chance.uniform(0.1, 1.0) * took
        code, _ = run(*words, "--workers", 1 + n % 2, "--out", "killed", after=after)
        assert code in {None, 0}
        killed += code is None
        now = set((tmp_path / "killed").glob("parts/0*.parquet"))
        is_over = not (tmp_path / "killed" / "parts" / "plan.json").exists()
        assert done <= now or is_over  # what is done stays done, until the store has it
        done = now
        if code == 0:  # nothing is left to be killed in: begin anew
            assert content(tmp_path / "killed") == content(tmp_path / "whole")
            shutil.rmtree(tmp_path / "killed")
            done = set()
    assert killed > kills // 4
    assert run(*words, "--workers", "2", "--out", "killed")[0] == 0
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    check_store(tmp_path / "killed")


def test_what_a_loader_makes_is_checked_as_what_is_named(folder, small, tmp_path, monkeypatch):
    monkeypatch.setattr(small.Small, "scoring", "cosin")
    with pytest.raises(ConfigError, match="system small: scoring 'cosin' is not known; give c"):
        embed(folder, small.load, tmp_path / "out", workers=1)
    monkeypatch.delattr(small.Small, "scoring")
    with pytest.raises(ConfigError, match="system small has embed, but lacks scoring"):
        embed(folder, small.load, tmp_path / "out", workers=1)
    with pytest.raises(
        ConfigError, match="a Small is not a system; give the name of a system, or a f"
    ):
        embed(folder, small.READY, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_a_function_of_waveforms_embeds_as_it_does_by_its_name(folder, tmp_path, monkeypatch):
    (tmp_path / "encoders.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    encoders = importlib.import_module("encoders")
    function_store = embed(folder, encoders.encode, tmp_path / "given", workers=1).store
    named = embed(folder, "encoders:encode", tmp_path / "named", workers=1).store
    np.testing.assert_array_equal(function_store.vectors, named.vectors)
    with pytest.raises(ConfigError, match="system short is a function of one argument; name a fun"):
        embed(folder, encoders.short, tmp_path / "short", workers=1)


FUNCTIONS = """
def encode(waveform, sample_rate):
    return waveform[:16]


def short(waveform):
    return waveform[:16]
"""


def test_a_script_without_a_guard_is_told_of_it(folder, small, tmp_path):
    (tmp_path / "script.py").write_text(UNGUARDED)
    path = f"{Path(parivox.__file__).parents[1]}:{tmp_path / 'modules'}"
    words = [sys.executable, tmp_path / "script.py", folder, tmp_path / "out"]
    done = subprocess.run(
        words, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    *_, last_line = done.stderr.splitlines()
    assert "a worker process ended before it started its task (exit code 1)" in last_line
    assert 'put the code of the script below if __name__ == "__main__":' in last_line
    assert "another process is writing" not in done.stderr


UNGUARDED = """
import sys

import small_system
from parivox import embed

embed(sys.argv[1], small_system.load, sys.argv[2])
"""


def test_embeddings_of_two_devices_are_not_mixed(folder, small, tmp_path):
    (tmp_path / "modules" / "placed_system.py").write_text(PLACED)
    out, load_on = tmp_path / "out", partial(load, "placed_system:Placed")
    assert embed(folder, load_on, out, workers=1).store.system["provenance"]["device"] == "cpu"
    with pytest.raises(DataError, match=r"with device 'cpu', but .* has 'cuda'; .* another out"):
        embed(folder, partial(load_on, device="cuda"), out, workers=1)


PLACED = """
import small_system

class Placed(small_system.Small):
    def __init__(self, device):
        super().__init__("one", 0.0)
        self.provenance = {"device": device}
"""


def test_a_system_may_be_named(folder, small, tmp_path):
    named = parivox.embed(folder, "small_system:READY", tmp_path / "named", workers=1)
    function_run = embed(folder, small.load, tmp_path / "made", workers=1)
    assert named.statuses == function_run.statuses
    vectors = parivox.open_store(tmp_path / "named").vectors
    assert np.array_equal(vectors, function_run.store.vectors)
