"""Packed files, whole, cut off and damaged."""

import bz2
import gzip
import lzma
from importlib import import_module

import pytest

from parivox.data import source_bytes
from parivox.data.source_bytes import compression_of_head, read_content, zstd_module
from parivox.errors import DataError

pytestmark = pytest.mark.minimal

TEXT = b"".join(b"%d line of text\n" % i for i in range(20_000))
PACKED = {
    "gz": gzip.compress(TEXT),
    "bz2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT),
    "zst": zstd_module().compress(
        TEXT, options={zstd_module().CompressionParameter.checksum_flag: 1}
    ),
}


@pytest.mark.parametrize("name", PACKED)
def test_whole(write, name):
    content = read_content(write("x", PACKED[name]))
    assert (content.payload, content.compression, content.name) == (TEXT, name, "x")
    assert compression_of_head(PACKED[name]) == name
    import hashlib

    assert content.sha256 == hashlib.sha256(PACKED[name]).hexdigest()


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("share", [0.9, 0.5])
def test_cut_off(write, name, share):
    data = PACKED[name][: int(share * len(PACKED[name]))]
    with pytest.raises(DataError, match=f"x: the {name} file is truncated"):
        read_content(write("x", data))


@pytest.mark.parametrize("name", PACKED)
def test_damaged(write, name):
    data = bytearray(PACKED[name])
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    with pytest.raises(DataError, match=f"x: (cannot be unpacked as {name}|the {name} file ends)"):
        read_content(write("x", bytes(data)))


@pytest.mark.parametrize("name", PACKED)
def test_nothing_packed(write, name):
    pack = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": zstd_module().compress,
    }[name]
    with pytest.raises(DataError, match="x: is empty once unpacked"):
        read_content(write("x", pack(b"")))


def test_zstd_without_its_package(write, monkeypatch):
    monkeypatch.setattr(source_bytes, "zstd_module", lambda: import_module("no_such_package"))
    with pytest.raises(DataError, match=r"x: zst files need the package backports\.zstd") as caught:
        read_content(write("x", PACKED["zst"]))
    assert "parivox[zstd]" in caught.value.hint


def test_no_file(tmp_path):
    with pytest.raises(DataError, match="file not found; check the path"):
        read_content(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder; name a file in this folder"):
        read_content(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        read_content("a\x00b")
