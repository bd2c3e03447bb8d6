"""Beyond so many rows, trials are checked in partitions on disk: with the same result."""

import gc
from pathlib import Path

import numpy as np
import pytest

from parivox.data import ids, source_bytes, trial_shards
from parivox.data.formats import dataframes, delimited
from parivox.data.speakers import read_speakers
from parivox.errors import DataError
from parivox.runtime.disk import ScratchFolder

pytestmark = pytest.mark.minimal

N_SPEAKERS, N_EACH = 12, 6


@pytest.fixture
def large(monkeypatch, tmp_path):
    """Make everything large: small chunks, tiny partitions, temporary files in a known place."""

    def enlarge():
        monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 100)
        monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 60)
        monkeypatch.setattr(ids, "RUN_IDS", 70)
        monkeypatch.setattr(ids, "IN_MEMORY_IDS", 30)
        monkeypatch.setattr(ids, "RANGE_IDS", 50)
        monkeypatch.setattr(dataframes, "ROWS_PER_CHUNK", 64)
        monkeypatch.setattr(delimited, "CHUNK_BYTES", 1000)
        monkeypatch.setattr(source_bytes, "IN_MEMORY_BYTES", 2000)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    return enlarge


@pytest.fixture
def people():
    ids = [f"s{i:02d}" for i in range(N_SPEAKERS)]
    return read_speakers({"id": ids, "sex": ["f", "m"] * (N_SPEAKERS // 2)})


@pytest.fixture
def many():
    """Random trials with duplicates, reversed pairs and empty scores, as columns of text."""
    draw = np.random.default_rng(3)
    ids = [f"s{i:02d}/{j}" for i in range(N_SPEAKERS) for j in range(N_EACH)]
    pairs = {tuple(draw.integers(len(ids), size=2).tolist()) for _ in range(900)}
    rows = [
        (ids[a], ids[b], f"{draw.normal():.6f}" if draw.random() > 0.05 else "",
         str(int(ids[a][:3] == ids[b][:3])))
        for a, b in sorted(pairs)
    ]  # fmt: skip
    rows += [rows[i] for i in draw.integers(len(rows), size=40)]
    draw.shuffle(rows)
    return [tuple(map(str, row)) for row in rows]


def summary(trial_set):
    notes = [(note.source, note.item, note.count, note.note) for note in trial_set.data_notes]
    aside = {item: counts.tolist() for item, counts in trial_set.counts_by_speaker.items()}
    return trial_set.content_sha256, trial_set.n_trials, trial_set.score_range, notes, aside


@pytest.mark.slow
def test_partitions_hold_what_memory_holds(read, csv, many, people, plain, large, tmp_path):
    memory_trials = read(csv(many), people=people)
    large()
    spilled_trials = read(csv(many), people=people)
    assert memory_trials.n_partitions == 1
    assert spilled_trials.n_partitions > 5
    assert plain(spilled_trials) == plain(memory_trials)
    assert plain(spilled_trials) == plain(memory_trials)  # they may be read again
    assert summary(spilled_trials) == summary(memory_trials)
    folders = [path for path in tmp_path.iterdir() if path.is_dir()]
    files = {path.name for folder in folders for path in folder.iterdir()}
    checked = {f"scores-{i}" for i in range(spilled_trials.n_partitions)}
    assert checked < files
    assert {name.rpartition("-")[0] for name in files - checked} == {"part"}  # ids, in ranges
    del spilled_trials
    gc.collect()
    assert not any(folder.exists() for folder in folders)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv.gz", "frame"])
def test_any_large_format(read, csv, many, people, plain, large, ending, tmp_path):
    import gzip

    import polars as pl

    memory_trials = read(csv(many), people=people)
    frame = pl.DataFrame(many, schema=["enrol", "test", "score", "label"], orient="row")
    typed = frame.with_columns(
        pl.col("score").replace("", None).cast(pl.Float64), pl.col("label").cast(pl.Int8)
    )
    path = tmp_path / f"large.{ending}"
    if ending == "parquet":
        typed.write_parquet(path, row_group_size=50)
    elif ending == "arrow":
        typed.write_ipc(path)
    else:
        path.write_bytes(gzip.compress(csv(many).encode()))
    large()
    trial_set = read(typed if ending == "frame" else path, people=people)
    assert trial_set.n_partitions > 5
    assert plain(trial_set) == plain(memory_trials)
    assert summary(trial_set) == summary(memory_trials)


@pytest.mark.slow
def test_a_large_list_of_trials_is_joined(read, csv, many, people, write, plain, large):
    scores = csv([row[:3] for row in many], header="enrol,test,score")
    listed = "\n".join(f"{row[3]} {row[0]} {row[1]}" for row in many[::2]) + "\n0 s00/0 s11/5\n"
    options = {"people": people, "trials": write("list.txt", listed)}
    memory_trials = read(scores, **options)
    large()
    spilled_trials = read(scores, **options)
    assert spilled_trials.n_partitions > 3
    assert plain(spilled_trials) == plain(memory_trials)
    assert summary(spilled_trials) == summary(memory_trials)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ((2, "7.5"), "rows .*: the same trial .* has score .* and .*"),
        ((3, "flip"), "rows .*: the same trial .* has label '.' and '.'"),
    ],
)
def test_contradictions_are_found_across_chunks(
    read, csv, many, people, plain, large, change, match, tmp_path
):
    column, value = change
    row = list(next(row for row in many if row[2]))
    row[column] = str(1 - int(row[3])) if value == "flip" else value
    text = csv([*many, tuple(row)])
    with pytest.raises(DataError, match=match) as memory_error:
        read(text, people=people)
    aside = read(text, people=people, conflicts="exclude")
    large()
    with pytest.raises(DataError) as spill_error:
        read(text, people=people)
    assert str(spill_error.value) == str(memory_error.value)
    trial_set = read(text, people=people, conflicts="exclude")
    assert plain(trial_set) == plain(aside)
    assert summary(trial_set) == summary(aside)
    del trial_set, memory_error, spill_error
    gc.collect()
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.slow
def test_a_bad_cell_far_down_has_its_row(read, csv, many, people, large):
    large()
    with pytest.raises(
        DataError, match=f"row {len(many) + 2}, column 'score': 'x' is not a number"
    ):
        read(csv([*many, ("s00/0", "s01/0", "x", "0")]), people=people)


@pytest.mark.slow
def test_folders_go_even_after_an_error():
    folder = ScratchFolder()
    path = Path(folder.path)
    assert path.is_dir()
    del folder
    gc.collect()
    assert not path.exists()
