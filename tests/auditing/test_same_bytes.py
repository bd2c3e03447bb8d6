"""The same trials in any row order, format or compression give the same bytes of output."""

import bz2
import gzip
import lzma
import shutil

import numpy as np
import pytest
from tests.folders import OF_KEY

import parivox as pv
from parivox.data.source_bytes import zstd_module

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table(trials, optional):
    return optional("polars").DataFrame(trials)


@pytest.fixture(scope="module")
def shuffled(table):
    order = np.random.default_rng(11).permutation(table.height)
    return table[order]


@pytest.fixture(scope="module")
def people(speakers, optional):
    return optional("polars").DataFrame(speakers)


def audited(source, people, folder):
    audit = pv.audit(
        {"S": source},
        speakers=people,
        by="gender",
        operating_points=["fpr=0.01", "eer", "min-cdet"],
        sweep="fpr=0.01:0.1:log5",
        allocate=["both", "either"],
        intervals=False,  # which come of the same arrays: in any order in sure/test_unchanged.py
    )
    audit.save(folder)
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in OF_KEY - {"pairing.parquet"}:  # which is of intervals
        written.pop(name)
    shutil.rmtree(folder)
    return written


@pytest.fixture(scope="module")
def expected_files(table, people, tmp_path_factory):
    return audited(table, people, tmp_path_factory.mktemp("wanted") / "a")


def compressed(compress):
    def write(table, path):
        path.write_bytes(compress(table.write_csv().encode()))

    return write


WRITERS = {
    "s.csv": lambda t, p: t.write_csv(p),
    "s.tsv": lambda t, p: t.write_csv(p, separator="\t"),
    "semicolon.txt": lambda t, p: t.write_csv(p, separator=";"),
    "crlf.csv": lambda t, p: t.write_csv(p, line_terminator="\r\n"),
    "quoted.csv": lambda t, p: t.write_csv(p, quote_style="always"),
    "s.parquet": lambda t, p: t.write_parquet(p),
    "small-groups.parquet": lambda t, p: t.write_parquet(p, row_group_size=100),
    "s.arrow": lambda t, p: t.write_ipc(p),
    "s.arrows": lambda t, p: t.write_ipc_stream(p),
    "s.csv.gz": compressed(gzip.compress),
    "s.csv.bz2": compressed(bz2.compress),
    "s.csv.xz": compressed(lzma.compress),
    "s.csv.zst": compressed(zstd_module().compress),
    "wrongly-named.parquet": lambda t, p: t.write_csv(p),
    "headerless.txt": lambda t, p: t.select("label", "enrol", "test", "score").write_csv(
        p, separator=" "
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(expected_files, shuffled, people, tmp_path, name):
    WRITERS[name](shuffled, tmp_path / name)
    assert audited(tmp_path / name, people, tmp_path / "a") == expected_files


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "columns", "arrays", "reordered"])
def test_tables_in_memory(expected_files, shuffled, people, tmp_path, kind, optional):
    if kind in {"pandas", "pyarrow"}:
        optional("pyarrow")
        optional("pandas")
    source = {
        "polars": lambda: shuffled,
        "pandas": shuffled.to_pandas,
        "pyarrow": shuffled.to_arrow,
        "columns": lambda: shuffled.to_dict(as_series=False),
        "arrays": lambda: {name: shuffled[name].to_numpy() for name in shuffled.columns},
        "reordered": lambda: shuffled.select("score", "label", "test", "enrol"),
    }[kind]()
    assert audited(source, people, tmp_path / "a") == expected_files


def test_a_separate_list_of_trials(expected_files, table, shuffled, people, tmp_path):
    audit = pv.audit(
        {"S": shuffled.drop("label")},
        trials=table.drop("score"),
        speakers=people,
        by="gender",
        operating_points=["fpr=0.01", "eer", "min-cdet"],
        sweep="fpr=0.01:0.1:log5",
        allocate=["both", "either"],
        intervals=False,
    )
    audit.save(tmp_path / "a")
    for name in ("groups", "bias", "meta", "matrix", "operating_points"):
        assert (tmp_path / "a" / f"{name}.csv").read_bytes() == expected_files[f"{name}.csv"]


def test_the_order_of_speakers(expected_files, table, people, tmp_path):
    assert audited(table, people.reverse(), tmp_path / "a") == expected_files


def test_another_score_gives_other_bytes(expected_files, table, people, tmp_path):
    score = table["score"].to_numpy().copy()
    score[0] += 0.001
    changed = audited(table.with_columns(score=score), people, tmp_path / "a")
    assert changed["audit.json"] != expected_files["audit.json"]


def test_provenance_tells_files_apart(table, people, tmp_path):
    table.write_csv(tmp_path / "s.csv")
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))
    plain, packed = (
        pv.audit({"S": tmp_path / name}, speakers=people, intervals=False).provenance[-1]
        for name in ("s.csv", "s.csv.gz")
    )
    assert plain["sha256"] != packed["sha256"]
    assert packed["compression"] == "gz"
