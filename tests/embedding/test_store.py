"""A store changes at one moment, and its bytes are those that were written."""

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox
from parivox import embed, open_store
from parivox.embedding.store import (
    StoredVectors,
    check_store,
    commit,
    find_store,
    locked_store,
    store_rows,
)
from parivox.errors import ConfigError, DataError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def original_store(tmp_path_factory):
    """Place of the store of which every test has a copy."""
    return tmp_path_factory.mktemp("made") / "out"


@pytest.fixture
def out(original_store, folder, small, tmp_path):
    if not original_store.exists():
        embed(folder, small.load, original_store, workers=1)
    return shutil.copytree(original_store, tmp_path / "out")


def content(path):
    return {file_path.name: file_path.read_bytes() for file_path in path.iterdir()}


def test_vectors_of_several_arrays_are_put_in_order(tmp_path):
    arrays = {key: np.random.default_rng(key).random((9, 2, 3), "f4") for key in (0, 5)}
    array_index, row_index = np.array([5, 0, 0, 5, 5]), np.array([8, 1, 0, 0, 3])
    vectors = StoredVectors(
        {key: (lambda key=key: arrays[key]) for key in arrays}, array_index, row_index
    )
    vectors.write(tmp_path / "x.npy")
    memory_map = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        memory_map, [arrays[s][a] for s, a in zip(array_index, row_index, strict=True)]
    )
    StoredVectors().write(tmp_path / "none.npy")
    assert np.load(tmp_path / "none.npy").shape == (0, 1, 0)
    arrays[5] = arrays[5][..., :2]
    with pytest.raises(DataError, match=r"embeddings have the shapes \[\(2, 2\), \(2, 3\)\]"):
        vectors.write(tmp_path / "x.npy")


@pytest.mark.parametrize("moved", range(5))
def test_a_change_that_was_interrupted_has_happened(out, tmp_path, moved):
    """Whatever files were moved when it ended, a reader sees the whole of it."""
    old = shutil.copytree(out, tmp_path / "old")
    table = open_store(out).table.with_columns(
        row=pl.when(pl.col("utterance") == "s0/00.wav").then(-1).otherwise("row"),
        status=pl.lit("ok"),
        recording=pl.lit(None, pl.String),
    )
    row_indices = np.arange(1, 30)
    vectors = StoredVectors({0: lambda: open_store(old).vectors}, 0 * row_indices, row_indices)
    about = {name: value for name, value in open_store(out).about.items() if name != "files"}
    commit(out, store_rows(table), vectors, about)
    new = content(out)
    shutil.rmtree(out)
    shutil.copytree(old, out)
    (out / ".parivox-next").mkdir()
    names = ["embeddings.npy", "failures.csv", "recordings.parquet", "store.json"]
    for i, name in enumerate(names):
        (out / name if i < moved else out / ".parivox-next" / name).write_bytes(new[name])
    assert len(check_store(out).vectors) == 29
    with locked_store(out):
        assert content(out) == new


@pytest.mark.parametrize("name", ["embeddings.npy", "recordings.parquet"])
def test_check_finds_a_byte_that_changed(out, name):
    path = out / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        DataError,
        match=rf"{name}: has been altered|is not a complete store|cannot be read as parquet",
    ):
        check_store(out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out: (out / "store.json").write_text("{"), "is not a complete store of embeddings"),
        (
            lambda out: (out / "store.json").write_text("[]"),
            "is not a complete store of embeddings",
        ),
        (
            lambda out: (out / "store.json").unlink(),
            "is not a store of embeddings; create a store with",
        ),
        (lambda out: (out / "recordings.parquet").unlink(), "is not a complete store"),
        (lambda out: (out / "embeddings.npy").unlink(), "cannot be read"),
        (
            lambda out: (out / "store.json").write_text('{"version": 1, "system": {}}'),
            "store.json lacks options, files",
        ),
        (
            lambda out: np.save(out / "embeddings.npy", np.zeros(3)),
            "contains float64 of shape (3,)",
        ),
    ],
)
def test_what_is_no_store_is_one_sentence(out, change, message):
    change(out)
    with pytest.raises(DataError) as raised:
        open_store(out).vectors.sum()
    assert message in str(raised.value)


def test_a_check_of_a_store_without_its_vectors_is_one_sentence(out):
    (out / "embeddings.npy").unlink()
    with pytest.raises(DataError, match=r"embeddings.npy: cannot be read \(No such file"):
        check_store(out)


def test_a_closed_folder_is_one_sentence(out, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "pathlib.Path.exists", refuse
    )  # as the root of a machine is let in anywhere
    with pytest.raises(
        DataError, match=r"is not a complete store of embeddings \(.*Permission denied"
    ):
        find_store(out)


def test_a_run_that_ended_before_its_plan_was_written_goes_on(tmp_path):
    for name in ("parts/.parivox-x/plan.parquet", "parts/plan.parquet"):
        begun = tmp_path / "begun"
        (begun / name).parent.mkdir(parents=True, exist_ok=True)
        (begun / name).write_text("half")
        with locked_store(begun):
            pass


def test_a_store_of_another_version_is_refused(out):
    about = json.loads((out / "store.json").read_text())
    (out / "store.json").write_text(json.dumps({**about, "version": 99}))
    with pytest.raises(
        DataError, match=r"is a store of version 99, but this Parivox writes version 1"
    ):
        find_store(out)


def test_a_run_that_is_not_finished_is_told_apart(tmp_path):
    (tmp_path / "parts").mkdir()
    with pytest.raises(DataError, match=r"an unfinished run .* of embeddings; repeat"):
        open_store(tmp_path)


def test_one_process_writes_at_a_time(tmp_path):
    with (
        locked_store(tmp_path / "out"),
        pytest.raises(DataError, match=r"another process is writing"),
        locked_store(tmp_path / "out"),
    ):
        pass
    with locked_store(tmp_path / "out"):
        pass


FULL = """
import resource, signal, sys
import small_system
from parivox.embedding.extract import embed
from parivox.errors import ParivoxError
if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    try:
        embed(sys.argv[1], small_system.load, sys.argv[2], workers=1, batch=8)
    except ParivoxError as error:
        sys.exit(str(error))
"""


@pytest.mark.parametrize("size", [300, 3_000])
def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on(folder, small, tmp_path, size):
    """Files cannot grow beyond a size: as on a full disk, writing fails half-way."""
    (tmp_path / "full.py").write_text(FULL)
    path = f"{Path(parivox.__file__).parents[1]}:{tmp_path / 'modules'}"
    words = [sys.executable, tmp_path / "full.py", folder, tmp_path / "out", str(size)]
    done = subprocess.run(
        words, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{tmp_path / 'out'}: cannot be written (File too large); free disk space" in done.stderr
    assert "finished work is kept, and the same command continues" in done.stderr
    assert "Traceback" not in done.stderr
    embed(folder, small.load, tmp_path / "out", workers=1, batch=8)
    embed(folder, small.load, tmp_path / "whole", workers=1, batch=8)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_disk_that_fills_up_leaves_the_store_as_it_was(out, folder, small, monkeypatch):
    before = content(out)
    (folder / "s0/00.wav").write_bytes((folder / "s0/06.wav").read_bytes())

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(ConfigError, match=r"cannot be written \(No space left on device\)"):
            embed(folder, small.load, out, workers=1)
    assert check_store(out).table.height == 30
    assert {name: before[name] for name in before} == {
        name: data for name, data in content(out).items() if name in before
    }
    assert embed(folder, small.load, out, workers=1).new == 0
