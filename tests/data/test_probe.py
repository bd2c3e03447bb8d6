"""A damaged table may end the process that decodes it: that is another one, and a sentence."""

import gzip
import io
import random
import subprocess
import sys

import polars as pl
import pytest

import parivox as pv
from parivox.data.formats import dataframes, probe
from parivox.data.formats.dataframes import UndecodedTable, check_decodes
from parivox.data.speakers import read_speakers
from parivox.errors import DataError

N = 300
PEOPLE = pl.DataFrame(
    {
        "speaker": [f"s{i:04d}" for i in range(N)],
        "gender": ["fm"[i % 2] for i in range(N)],
        "age": [20 + i % 50 for i in range(N)],
        "x": [i / 7 for i in range(N)],
    }
)


def written(frame, kind):
    data = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(data)
    elif kind == "arrow":
        frame.write_ipc(data)
    else:
        frame.write_ipc_stream(data)
    return data.getvalue()


@pytest.fixture(autouse=True)
def decoded_anew(decoded_by_forks, monkeypatch):
    """The process that decodes begins anew here, as it does for users."""
    monkeypatch.setattr(dataframes, "probe_process", decoded_by_forks)


@pytest.fixture
def with_probe(tmp_path, monkeypatch):
    """Run this in the place of the process that decodes."""

    def run(text):
        script = tmp_path / "probe.py"
        script.write_text(text)
        monkeypatch.setattr(dataframes, "_PROBE", script)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow-stream"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_process_that_aborts_is_a_sentence(with_probe, tmp_path, kind, packed):
    data = written(PEOPLE, kind)
    path = tmp_path / "people"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert len(read_speakers(path).ids) == N
    with_probe("import os, sys\nsys.stdin.read()\nprint(0, flush=True)\nos.abort()\n")
    with pytest.raises(DataError, match=r"people: cannot be read as .* ended with signal 6"):
        read_speakers(path)


def test_what_aborts_of_several_is_named(with_probe):
    with_probe("import os, sys\nsys.stdin.read()\nprint(0)\nprint(1, flush=True)\nos.abort()\n")
    with pytest.raises(DataError, match=r"^b\.counts: cannot be read as parquet"):
        check_decodes(*(UndecodedTable(f"{name}.counts", "parquet", name) for name in "abc"))


@pytest.mark.slow
def test_counts_are_decoded_in_one_process(tmp_path, monkeypatch):
    trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    people = {"id": ["a", "b"], "gender": ["f", "m"]}
    files = [tmp_path / f"day{i}.counts" for i in range(3)]
    for i, file in enumerate(files):
        day = {**trials, "test": [f"a/{i + 2}", f"b/{i}"]}
        pv.count(day, speakers=people, by="gender", withhold=0).save(file)
    started = []
    run = subprocess.run

    def counted(*words, **options):
        started.append(words)
        return run(*words, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    pv.audit(files)
    assert len(started) == 1
    files[1].write_bytes(files[1].read_bytes().replace(b"PAR1", b"PAR1", 1)[:-40] + b"x" * 40)
    with pytest.raises(DataError, match="day1"):
        pv.audit(files)


@pytest.mark.slow
def test_the_process_says_what_the_engine_says(tmp_path):
    data = bytearray(written(PEOPLE, "parquet"))
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path = tmp_path / "people"
    path.write_bytes(data)
    with pytest.raises(DataError) as raised:
        read_speakers(path)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_bytes_that_ended_the_process_are_a_sentence(program, tmp_path):
    """Two columns are damaged, which ended the process of Polars 2.1 with signal 6."""
    data = bytearray(written(PEOPLE, "parquet"))
    rng = random.Random(3)
    path = tmp_path / "people.parquet"
    for _ in range(20):
        changed = bytearray(data)
        for position in (14, rng.randrange(20, len(data)), rng.randrange(20, len(data) - 1200)):
            changed[position] = rng.choice([0, 128, 255])
        path.write_bytes(changed)
        done = subprocess.run(
            [program, "inspect", path], capture_output=True, text=True, check=False
        )
        assert done.returncode in {0, 2}, done.stderr
        assert "Traceback" not in done.stderr


def test_without_an_interpreter_nothing_is_decoded_first(monkeypatch):
    monkeypatch.setattr(sys, "executable", None)
    check_decodes(UndecodedTable("nowhere", "parquet", "nowhere"))


def test_the_process_reads_rows_and_columns_that_are_asked_for(tmp_path):
    path = tmp_path / "people.parquet"
    PEOPLE.write_parquet(path)
    table = {"kind": "parquet", "path": str(path), "columns": ["age"], "first": 10, "last": 20}
    probe.decode(table, b"")
    with pytest.raises(pl.exceptions.PolarsError):
        probe.decode(table | {"columns": ["nowhere"]}, b"")
