"""Datasets that hold their recordings themselves, as those of Hugging Face do.

The library `datasets` takes 300 MB, so what it gives is stood in for: `select`, `select_columns`,
`to_polars`, `features` and a length, with audio as ``bytes`` and ``path``.
"""

import io
import json

import numpy as np
import polars as pl
import pytest
import soundfile

import parivox as pv
from parivox.embedding.datasets import unpack_recordings
from parivox.embedding.recordings import read_source
from parivox.errors import DataError

RATE = 8_000
SPEAKERS = {"s0": "f", "s1": "m"}


class Features(dict):
    def to_dict(self):
        return dict(self)


def classes(*names):
    return {"_type": "ClassLabel", "names": list(names)}


class Dataset:
    """As much of a dataset as a table takes."""

    def __init__(self, frame, features=None):
        self.frame, self.features = frame, Features(features or {})

    def __len__(self):
        return self.frame.height

    def select(self, indices):
        return Dataset(self.frame[list(indices)], self.features)

    def select_columns(self, names):
        return Dataset(self.frame.select(names), self.features)

    def to_polars(self):
        return self.frame


def packed(wave):
    data = io.BytesIO()
    soundfile.write(data, wave, RATE, "FLOAT", format="WAV")
    return data.getvalue()


@pytest.fixture
def recordings():
    """Samples of each recording, by its id."""
    return {
        f"{s}/{k}": np.random.default_rng(10 * n + k).normal(size=RATE).astype("f4") / 10
        for n, s in enumerate(SPEAKERS)
        for k in range(2)
    }


@pytest.fixture
def dataset(recordings):
    """Make a dataset whose audio is made of the samples of each."""

    def write_dataset(cell):
        audio = [cell(id_, wave) for id_, wave in recordings.items()]
        speakers = [id_[:2] for id_ in recordings]
        gender = [SPEAKERS[speaker] for speaker in speakers]
        columns = {"id": list(recordings), "speaker": speakers, "gender": gender, "audio": audio}
        return Dataset(pl.DataFrame(columns))

    return write_dataset


@pytest.mark.slow
def test_a_dataset_embeds_as_its_files_do(dataset, recordings, small, tmp_path):
    for id_, wave in recordings.items():
        path = tmp_path / "audio" / id_
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path.with_suffix(".wav"), wave, RATE, "FLOAT")
    reference = pv.embed(tmp_path / "audio", small.load, tmp_path / "a", workers=1)
    packed_ones = dataset(lambda id_, wave: {"bytes": packed(wave), "path": f"{id_}.wav"})
    packed_ones.frame.write_parquet(tmp_path / "hub.parquet")
    for name, source in {
        "bytes": packed_ones,
        "paths": dataset(lambda id_, _: {"bytes": None, "path": f"{tmp_path}/audio/{id_}.wav"}),
        "arrays": dataset(lambda _, wave: {"array": wave.tolist(), "sampling_rate": RATE}),
        "frame": packed_ones.frame,
        "file": tmp_path / "hub.parquet",
    }.items():
        dataset_run = pv.embed(source, small.load, tmp_path / name, workers=1)
        assert dataset_run.statuses == {"ok": 4}
        assert dataset_run.store.table["utterance"].to_list() == list(recordings)
        assert dataset_run.store.table["gender"].to_list() == ["f", "f", "m", "m"]
        vectors = [embedding_run.store.vectors for embedding_run in (reference, dataset_run)]
        np.testing.assert_allclose(*vectors, rtol=1e-6)
        if name == "arrays":  # whose files are made anew
            assert pv.embed(source, small.load, tmp_path / name, workers=1).new == 0


def test_files_are_copied_where_links_are_refused(dataset, recordings, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr("pathlib.Path.symlink_to", refuse)
    for id_, wave in recordings.items():
        (tmp_path / id_.replace("/", "-")).write_bytes(packed(wave))
    paths = dataset(lambda id_, _: {"bytes": None, "path": str(tmp_path / id_.replace("/", "-"))})
    table, folder = unpack_recordings(paths, "the dataset")
    contents = [(folder / file).read_bytes() for file in table["file"]]
    assert contents == [packed(wave) for wave in recordings.values()]


def test_without_ids_the_paths_or_the_rows_are_taken(dataset):
    named = dataset(lambda id_, wave: {"bytes": packed(wave), "path": f"{id_}.wav"})
    named.frame = named.frame.drop("id")
    ids = ["s0/0.wav", "s0/1.wav", "s1/0.wav", "s1/1.wav"]
    assert read_source(named).table["utterance"].to_list() == ids
    nameless = dataset(lambda _, wave: {"bytes": packed(wave), "path": None})
    nameless.frame = nameless.frame.drop("id")
    ids = ["00000001", "00000002", "00000003", "00000004"]
    assert read_source(nameless).table["utterance"].to_list() == ids


def test_a_dataset_is_a_table_wherever_one_is(dataset, recordings):
    audio = dataset(lambda _, wave: {"bytes": packed(wave), "path": None})
    ids = list(recordings)
    pairs = [(a, b) for index, a in enumerate(ids) for b in ids[index + 1 :]]
    columns = {"enrol": [a for a, _ in pairs], "test": [b for _, b in pairs]}
    scores = Dataset(pl.DataFrame({**columns, "score": [0.1 * n for n in range(len(pairs))]}))
    audit = pv.audit(scores, utterances=audio, by="gender", intervals=False)
    assert {row["group"] for row in audit.groups} >= {"f", "m"}
    with pytest.raises(DataError, match=r"contains the splits 'train', 'test'; give one of them"):
        pv.audit({"S": {"train": scores, "test": scores}}, utterances=audio, by="gender")


@pytest.fixture(params=["datasets", "Parquet"])
def saved(request, tmp_path):
    """A dataset as it is, or the Parquet file that it is saved to."""

    def write_table(name, frame, **features):
        if request.param == "datasets":
            return Dataset(frame, features)
        about = {"huggingface": json.dumps({"info": {"features": features}})}
        frame.write_parquet(path := tmp_path / f"{name}.parquet", metadata=about)
        return path

    return write_table


@pytest.mark.slow
def test_classes_are_known_by_their_names(saved):
    columns = {"enrol": ["a/1", "a/2", "b/1", "b/2"], "test": ["a/3", "b/3", "b/3", "a/3"]}
    rows = pl.DataFrame({**columns, "score": [1.0, 0, 1, 0], "label": [0, 1, 0, 1]})
    scores = saved("scores", rows, label=classes("target", "nontarget"))
    table = pl.DataFrame({"speaker": ["a", "b"], "gender": [1, 0]})
    speakers = saved("speakers", table, gender=classes("female", "male"))
    audit = pv.audit(scores, speakers=speakers, by="gender", intervals=False)
    assert {row["group"] for row in audit.groups} == {"female", "male", "all", "pooled"}
    assert audit.groups.subset(metric="eer", group="all").to_polars()["value"][0] == 0


def test_speakers_that_are_classes_are_embedded_by_their_names(saved, recordings):
    audio = [{"bytes": packed(wave), "path": None} for wave in recordings.values()]
    table = pl.DataFrame({"id": list(recordings), "audio": audio, "speaker": [0, 0, 1, 1]})
    source_table = read_source(saved("audio", table, speaker=classes("Ana", "Bo"))).table
    assert source_table["speaker"].to_list() == ["Ana", "Ana", "Bo", "Bo"]


def test_a_dataset_that_streams_is_no_table():
    class Streaming:
        def select_columns(self, names): ...
        def to_polars(self): ...

    with pytest.raises(DataError, match=r"is not a table; load the dataset without streaming=True"):
        pv.audit(Streaming())


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            {"bytes": None, "path": "gone.wav"},
            "row 1, column 'audio': names 'gone.wav', which does not exist",
        ),
        ({"bytes": None, "path": None}, "row 1, column 'audio': contains no audio"),
    ],
)
def test_a_dataset_without_its_recordings_says_so(dataset, cell, message):
    with pytest.raises(DataError, match=message):
        read_source(dataset(lambda *_: cell))


def test_two_columns_of_audio_are_refused(dataset):
    two = dataset(lambda _, wave: {"bytes": packed(wave), "path": None})
    two.frame = two.frame.with_columns(other="audio")
    with pytest.raises(DataError, match="columns 'audio' and 'other' both contain audio"):
        read_source(two)
