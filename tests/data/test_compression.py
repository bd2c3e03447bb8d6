"""Packed files, whole, cut off and damaged."""

import bz2
import gzip
import hashlib
import lzma
from functools import cache
from importlib import import_module

import pytest

from parivox.data import source_bytes
from parivox.data.source_bytes import compression_of_head, read_content, zstd_module
from parivox.errors import DataError

TEXT = b"".join(b"%d line of text\n" % i for i in range(20_000))
# zst needs a package of the extra "zstd", which a minimal installation lacks
NAMES = [*(pytest.param(name, marks=pytest.mark.minimal) for name in ("gz", "bz2", "xz")), "zst"]


def pack(name: str, data: bytes) -> bytes:
    if name == "zst":
        zstd = zstd_module()
        return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[name](data)


@cache
def packed_text(name: str) -> bytes:
    return pack(name, TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whole(write, name):
    content = read_content(write("x", packed_text(name)))
    assert (content.payload, content.compression, content.name) == (TEXT, name, "x")
    assert compression_of_head(packed_text(name)) == name
    assert content.sha256 == hashlib.sha256(packed_text(name)).hexdigest()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.9, 0.5])
def test_cut_off(write, name, share):
    data = packed_text(name)[: int(share * len(packed_text(name)))]
    with pytest.raises(DataError, match=f"x: the {name} file is truncated"):
        read_content(write("x", data))


@pytest.mark.parametrize("name", NAMES)
def test_damaged(write, name):
    data = bytearray(packed_text(name))
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    with pytest.raises(DataError, match=f"x: (cannot be unpacked as {name}|the {name} file ends)"):
        read_content(write("x", bytes(data)))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_packed(write, name):
    with pytest.raises(DataError, match="x: is empty once unpacked"):
        read_content(write("x", pack(name, b"")))


@pytest.mark.minimal
def test_zstd_without_its_package(write, monkeypatch):
    monkeypatch.setattr(source_bytes, "zstd_module", lambda: import_module("no_such_package"))
    with pytest.raises(DataError, match=r"x: zst files need the package backports\.zstd") as caught:
        read_content(write("x", b"\x28\xb5\x2f\xfd" + bytes(20)))
    assert "parivox[zstd]" in caught.value.hint


@pytest.mark.minimal
def test_no_file(tmp_path):
    with pytest.raises(DataError, match="file not found; check the path"):
        read_content(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder; name a file in this folder"):
        read_content(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_content("a\x00b")
