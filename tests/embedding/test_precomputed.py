"""Embeddings that others made, in the layouts they leave them in."""

import pickle
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from parivox.data.formats.delimited import PICKLE_ADVICE
from parivox.embedding.systems.precomputed import read
from parivox.errors import DataError

IDS = ["id10270/a/00001.wav", "id10271/b/00002.wav", "ñandú"]
VECTORS = np.random.default_rng(2).normal(0, 1, (3, 5)).astype(np.float32)


def ark(ids=IDS, vectors=VECTORS, kind=b"FV "):
    """An archive as Kaldi writes it, and where in it each vector is."""
    data, offsets = b"", []
    for name, vector in zip(ids, vectors, strict=True):
        data += name.encode() + b" "
        offsets.append(len(data))
        numbers = np.asarray(vector, "<f8" if kind == b"DV " else "<f4").tobytes()
        data += b"\0B" + kind + b"\4" + struct.pack("<i", len(vector)) + numbers
    return data, offsets


def npy(folder):
    np.save(folder / "e.npy", VECTORS)
    (folder / "e.txt").write_text("\n".join(IDS) + "\n", encoding="utf-8")
    return folder / "e.npy"


def npy_and_npy(folder):
    np.save(folder / "e.npy", VECTORS[:, None].astype(np.float64))
    np.save(folder / "ids.npy", np.array(IDS))
    return folder / "e.npy"


def npz(folder):
    np.savez(folder / "e.npz", ids=np.array(IDS), embeddings=VECTORS)
    return folder / "e.npz"


def npz_of_speechbrain(folder):
    np.savez(folder / "e.npz", modelset=np.array(IDS), segset=np.array(IDS), stat1=VECTORS,
             stat0=np.ones((3, 1)))  # fmt: skip
    return folder / "e.npz"


def npz_an_array_each(folder):
    np.savez(
        folder / "e.npz", **{name: v[None, None] for name, v in zip(IDS, VECTORS, strict=True)}
    )
    return folder / "e.npz"


def parquet_of_lists(folder):
    frame = pl.DataFrame({"utterance": IDS, "embedding": VECTORS.tolist()})
    frame.write_parquet(folder / "e.parquet")
    return folder / "e.parquet"


def parquet_of_columns(folder):
    pl.DataFrame(VECTORS, schema=[f"d{i}" for i in range(5)]).insert_column(
        0, pl.Series("utt", IDS)
    ).write_parquet(folder / "e.parquet")
    return folder / "e.parquet"


def kaldi_ark(folder):
    (folder / "xvector.ark").write_bytes(ark()[0])
    return folder / "xvector.ark"


def kaldi_doubles(folder):
    (folder / "xvector.ark").write_bytes(ark(kind=b"DV ")[0])
    return folder / "xvector.ark"


def kaldi_text(folder):
    lines = [
        f"{n}  [ {' '.join(map(repr, map(float, v)))} ]" for n, v in zip(IDS, VECTORS, strict=True)
    ]
    (folder / "x.ark").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "x.ark"


def kaldi_scp(folder):
    """As wespeaker leaves it: the archive by the path from where it was run."""
    data, offsets = ark()
    (folder / "xvector.ark").write_bytes(data)
    rows = [
        f"{n} exp/embeddings/xvector.ark:{offset}\n" for n, offset in zip(IDS, offsets, strict=True)
    ]
    (folder / "xvector.scp").write_text("".join(rows), encoding="utf-8")
    return folder / "xvector.scp"


def folder_of_wespeaker(folder):
    for job in range(3):
        data, (offset,) = ark(IDS[job : job + 1], VECTORS[job : job + 1])
        (folder / f"xvector_00{job}.ark").write_bytes(data)
        row = f"{IDS[job]} {folder}/xvector_00{job}.ark:{offset}\n"
        (folder / f"xvector_00{job}.scp").write_text(row, encoding="utf-8")
    return folder


def folder_of_arrays(folder):
    for name, vector in zip(IDS, VECTORS, strict=True):
        path = folder / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, vector[None])
    return folder


LAYOUTS = (npy, npy_and_npy, npz, npz_of_speechbrain, npz_an_array_each, parquet_of_lists,
           parquet_of_columns, kaldi_ark, kaldi_doubles, kaldi_text, kaldi_scp,
           folder_of_wespeaker, folder_of_arrays)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_every_layout_gives_the_same(layout, tmp_path):
    ids, vectors = read(layout(tmp_path))
    assert ids.to_list() == IDS
    assert (vectors.shape, vectors.dtype) == ((3, 1, 5), np.float32)
    np.testing.assert_array_equal(vectors[:, 0], VECTORS)


def test_lists_name_what_is_in_the_working_folder(tmp_path, monkeypatch):
    data, offsets = ark()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "x.ark").write_bytes(data)
    path = tmp_path / "elsewhere" / "x.scp"
    path.write_text(f"{IDS[1]} x.ark:{offsets[1]}\n")
    with pytest.raises(DataError, match=r"x\.scp, row 1: x\.ark does not exist"):
        read(path)
    monkeypatch.chdir(tmp_path / "run")
    np.testing.assert_array_equal(read(path)[1][0, 0], VECTORS[1])


def bad(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("e.pkl", b"cos\nsystem\n(S'touch x'\ntR.", "may run code when opened, so it is not read"),
        ("e.pt", b"PK", "may run code"),
        ("e.csv", "a,1\n", r"is not of a known kind; give \.npy"),
        ("e.npy", b"", "is not an array of numbers and text"),
        ("e.npz", b"PK\3\4", "is not an archive of numbers and text"),
        ("e.parquet", b"PAR1", "cannot be read as parquet"),
        ("e.ark", b"a \0BFM \4\1\0\0\0\4\1\0\0\0\0\0\0\0", "vector of 'a' is a 'FM', expected a v"),
        ("e.ark", ark()[0][:-3], "vector of 'ñandú' has 5 numbers, but the file ends before"),
        ("e.ark", b"a [ 1 2\n 3 4 ]\n", "vector of 'a' is not a vector"),
        ("e.ark", b"a [ 1 x ]\n", "vector of 'a' is not a vector"),
        ("e.ark", b"a", "ends after 0 vectors"),
        ("e.ark", b"\xff\xfe a", "is not a list or archive of vectors"),
        ("e.ark", b"", "contains no embeddings"),
        ("e.scp", "a touch ran |\n", "row 1: 'a' is a command, which is never run"),
        ("e.scp", "a x.ark\n", r"row 1: 'a x\.ark' is not of the form ID FILE:OFFSET"),
        ("e.scp", "", "contains no embeddings"),
    ],
)
def test_files_that_hold_something_else(name, data, words, tmp_path):
    with pytest.raises(DataError, match=words):
        read(bad(tmp_path, name, data))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_objects_in_arrays_are_not_unpickled(tmp_path):
    np.save(tmp_path / "e.npy", np.array([{"a": 1}]), allow_pickle=True)
    (tmp_path / "e.txt").write_text("a\n")
    np.savez(tmp_path / "e.npz", a=np.array([{"a": 1}]), allow_pickle=True)
    bad(tmp_path, "f.npy", pickle.dumps({"a": VECTORS[0]}))
    bad(tmp_path, "f.npz", pickle.dumps({"a": VECTORS[0]}))
    for name in ("e.npy", "e.npz", "f.npy", "f.npz"):
        with pytest.raises(
            DataError, match=f"{name}: contains pickled objects: it may run code wh"
        ):
            read(tmp_path / name)


def test_what_is_said_of_a_pickle_makes_embeddings_that_are_read(tmp_path):
    _, _, recipe = PICKLE_ADVICE.partition("with ")
    pages = Path(__file__).parents[2] / "docs" / "systems.md"
    assert recipe in pages.read_text(encoding="utf-8")
    vector_by_id = {"a@1.wav": VECTORS[0], "b@2.wav": VECTORS[1]}
    exec(recipe, {"numpy": np, "all": vector_by_id, "FILE": tmp_path / "e.npz"})
    ids, vectors = read(tmp_path / "e.npz")
    assert ids.to_list() == ["a/1.wav", "b/2.wav"]
    np.testing.assert_array_equal(vectors[:, 0], VECTORS[:2])


@pytest.mark.parametrize(
    ("ids", "vectors", "words"),
    [
        (["a", "b"], VECTORS, "has 3 vectors and 2 ids"),
        (["a", "b", "a"], VECTORS, "contains 1 ids more than once, for example 'a'"),
        (["a", "b", "c"], VECTORS.astype(complex), "an array of complex128 of shape"),
        (["a", "b", "c"], np.zeros((3, 2, 5)), r"of shape \(3, 2, 5\)"),
    ],
)
def test_ids_and_vectors_that_do_not_go_together(ids, vectors, words, tmp_path):
    np.savez(tmp_path / "e.npz", ids=np.array(ids), vectors=vectors)
    with pytest.raises(DataError, match=words):
        read(tmp_path / "e.npz")


def test_vectors_of_two_systems(tmp_path):
    np.savez(tmp_path / "e.npz", a=np.zeros(5), b=np.zeros(4))
    with pytest.raises(DataError, match="vector of 'a' has 5 numbers and that of 'b' has 4"):
        read(tmp_path / "e.npz")


@pytest.mark.slow
def test_rows_without_numbers(tmp_path):
    pl.DataFrame({"id": ["a", None], "embedding": [[1.0], [2.0]]}).write_parquet(
        tmp_path / "e.parquet"
    )
    with pytest.raises(DataError, match="rows without an id or without numbers"):
        read(tmp_path / "e.parquet")
    pl.DataFrame({"id": ["a"], "name": ["b"]}).write_parquet(tmp_path / "e.parquet")
    with pytest.raises(
        DataError,
        match=r"one column of ids and one of vectors \(found: id, name\); give a column of ids",
    ):
        read(tmp_path / "e.parquet")


def test_what_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"gone\.npz: does not exist"):
        read(tmp_path / "gone.npz")
    with pytest.raises(DataError, match=r"contains no \.scp and no \.npy"):
        read(tmp_path)


def npy_with(header):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, "), "is not an array of"),
        (
            npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (10**12, 4), }"),
            "is not an arr",
        ),
        (
            npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }"),
            "is not an array of",
        ),
        (
            npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }"),
            "expected numbers of shape",
        ),
        (
            npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }"),
            "has 0 vectors and 2 ids",
        ),
        (npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (), }") + b"abcd", "one numb"),
        (b"\x93NUMPY", "is not an array of"),
        (b"", "is not an array of"),
    ],
)
def test_headers_that_are_damaged_or_tell_of_nothing(tmp_path, data, words):
    (tmp_path / "e.npy").write_bytes(data)
    (tmp_path / "e.txt").write_text("a\nb\n")
    with pytest.raises(DataError, match=words):
        read(tmp_path / "e.npy")


@pytest.mark.parametrize("code", [0xD800, 0x110000, 0x7FFFFFFF])
@pytest.mark.parametrize("ending", ["npz", "npy"])
def test_ids_that_are_no_text_are_refused(tmp_path, code, ending):
    ids = np.array([ord("a"), code], "<u4").view("<U1")
    if ending == "npz":
        np.savez(tmp_path / "e.npz", ids=ids, vectors=VECTORS[:2])
    else:
        np.save(tmp_path / "e.npy", VECTORS[:2])
        np.save(tmp_path / "ids.npy", ids)
    with pytest.raises(
        DataError, match=r"has an id that is not text .*; save the ids as Unicode text"
    ):
        read(tmp_path / f"e.{ending}")
