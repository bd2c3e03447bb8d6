"""Small files that hold much are refused before they take the memory or the disk."""

import gzip
import os
import re
import subprocess
import sys
import zipfile

import pytest

from parivox.data import source_bytes as content_module
from parivox.data.formats import delimited
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_table
from parivox.data.yaml_text import read_yaml
from parivox.errors import ParivoxError

MEASURED = """
import contextlib, sys
from parivox.cli import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""
"""A command in a process of its own, which prints the most memory that it took, in KiB."""
HEADER = b"enrol,test,score,label\n"


def packed_lines(path, times):
    packer = content_module.zstd_module().ZstdCompressor()
    with path.open("wb") as file:
        file.write(packer.compress(HEADER))
        for _ in range(times):
            file.write(packer.compress(b"\n" * (1 << 20)))
        file.write(packer.flush())
    return path


@pytest.mark.slow
def test_a_small_zst_takes_no_more_than_400_mb(tmp_path):
    path = packed_lines(tmp_path / "scores.zst", 4096)
    assert path.stat().st_size < 1 << 18
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "audit", path.name, "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    message = "scores.zst: unpacks to .* MiB or more, over 200 times its size"
    assert re.search(message, done.stderr)
    assert int(done.stdout) < 400 << 10


@pytest.mark.parametrize("pack", ["gz", "zst"])
def test_what_is_packed_absurdly_well_is_refused(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(content_module, "FREELY_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "scores"
    if pack == "gz":
        path.write_bytes(gzip.compress(HEADER + b"\n" * (1 << 22)))
    else:
        packed_lines(path, 4)
    with pytest.raises(ParivoxError, match=r"scores: unpacks to .* over 200 times its size, which"):
        read_content(path)


def test_a_zst_of_frames_and_one_that_is_cut_off_are_read_as_before(tmp_path):
    text = HEADER + b"".join(b"a/%d,b/%d,0.5,0\n" % (i, i) for i in range(90_000))
    pack = content_module.zstd_module().compress
    path = tmp_path / "scores"
    path.write_bytes(pack(text[:1_000_000]) + pack(text[1_000_000:]))
    assert read_content(path).payload == text
    path.write_bytes(pack(text)[:-9])
    with pytest.raises(ParivoxError, match="the zst file is truncated"):
        read_content(path)


def test_what_is_packed_may_fill_the_disk_but_for_a_rest(tmp_path, monkeypatch):
    free = 300 << 20
    usage = content_module.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(content_module, "IN_MEMORY_BYTES", 1 << 20)
    monkeypatch.setattr(content_module.shutil, "disk_usage", lambda _: usage._replace(free=free))
    path = packed_lines(tmp_path / "scores", 4)
    assert read_content(path).path.stat().st_size > 4 << 20
    free = 200 << 20
    with pytest.raises(ParivoxError, match=r"scores: unpacks to .* has no room; free .* TMPDIR"):
        read_content(path)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [7_000, 140_000])
def test_a_header_may_be_long_and_is_told_where_it_is_too_long(write, columns):
    names = [f"question{i}" for i in range(columns)]
    rows = [["id", *names], ["a", *names], ["b", *names]]
    path = write("people.csv", "\n".join(",".join(row) for row in rows))
    if columns < 10_000:
        assert {*names} < {*read_table(path, "speakers")[0].columns}
    else:
        with pytest.raises(ParivoxError, match=r"people.csv: its header, row 1, is longer than 1"):
            read_table(path, "speakers")


def test_a_line_longer_than_any_row_is_refused(write, monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 1 << 20)
    for ending in (b"", b"\na,b\n"):
        path = write("people.csv", b"id,sex\na,f\nb," + b"m" * (5 << 20) + ending)
        with pytest.raises(
            ParivoxError, match=r"people.csv, row 3 or later: a line is longer than"
        ):
            read_table(path, "speakers")


@pytest.mark.parametrize("is_counted_first", [True, False])
def test_a_workbook_of_too_many_cells_is_refused(tmp_path, monkeypatch, optional, is_counted_first):
    workbook = optional("openpyxl").Workbook()
    for _ in range(30):
        workbook.active.append(["a", "b"])
    workbook.save(tmp_path / "people.xlsx")
    monkeypatch.setattr("parivox.data.formats.xlsx.MAX_CELLS", 50)
    if not is_counted_first:  # as where tags have a prefix
        monkeypatch.setattr("parivox.data.formats.xlsx._check_cell_count", lambda *_: None)
    message = "people.xlsx: a sheet has more than 50 cells, .*; save its table as CSV or Parquet"
    with pytest.raises(ParivoxError, match=message):
        read_table(tmp_path / "people.xlsx", "speakers")


def test_a_link_to_a_device_is_no_file(tmp_path):
    link = tmp_path / "scores.csv"
    link.symlink_to("/dev/zero")
    with pytest.raises(ParivoxError, match=r"scores.csv: is a device, which may never end; name a"):
        read_content(link)


def test_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "scores.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"printf 'id,sex\\na,f\\n' > {pipe}"]):
        assert read_content(pipe).payload == b"id,sex\na,f\n"


def test_a_version_of_thousands_of_digits_is_no_yaml():
    with pytest.raises(ParivoxError, match=r"groups.yaml: is not YAML .*; remove lines that begin"):
        read_yaml("%YAML 1." + "1" * 5000 + "\n---\na: b\n", "groups.yaml")


def test_vectors_that_unpack_to_absurdly_much_are_refused(tmp_path, monkeypatch):
    import numpy as np

    from parivox.embedding.systems.precomputed import read

    monkeypatch.setattr(content_module, "FREELY_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "vectors.npz"
    np.savez_compressed(path, ids=np.array(["a"]), vectors=np.zeros((1, 1 << 21), np.float32))
    assert zipfile.is_zipfile(path)
    with pytest.raises(ParivoxError, match=r"vectors.npz: unpacks to 8 MiB or more"):
        read(path)
