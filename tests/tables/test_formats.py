"""The same trials in any format, order or compression are the same trials."""

import bz2
import gzip
import io
import lzma
import random
import sys

import numpy as np
import polars as pl
import pytest
import zstandard

from parivox.errors import ConfigError, DataError
from parivox.tables.formats.kinds import kind_of

PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.fixture
def same(read, csv, rows, plain):
    """Whether trials equal those of the plain CSV."""
    wanted = read(csv(rows))

    def check(found):
        assert plain(found) == plain(wanted)
        assert found.content_sha256 == wanted.content_sha256
        assert list(found.utterance_ids) == list(wanted.utterance_ids)
        assert found.utterance_speaker.tolist() == wanted.utterance_speaker.tolist()
        assert found.score_range == wanted.score_range
        told = [(note.item, note.count) for note in found.data]
        assert told == [(note.item, note.count) for note in wanted.data]

    return check


def frame(rows):
    enrol, test, score, label = zip(*rows, strict=True)
    return pl.DataFrame(
        {"enrol": enrol, "test": test, "score": map(float, score), "label": map(int, label)}
    )


def test_canonical_order_and_types(read, csv, rows, plain):
    found = read(csv(rows))
    assert plain(found) == [
        ("a/1", "a/2", True, 0.9, False),
        ("a/1", "b/1", False, 0.1, False),
        ("c/1", "a/2", False, 0.3, False),
        ("b/1", "b/2", True, 0.7, False),
        ("b/2", "c/1", False, -0.25, False),
    ]
    (part,) = found.partitions()
    assert [a.dtype for a in (part.enrol, part.test, part.target, part.score)] == [
        np.int32, np.int32, np.bool_, np.float64,
    ]  # fmt: skip
    assert found.n_trials == 5
    assert found.score_range == (-0.25, 0.9)
    assert (found.n_partitions, len(part)) == (1, 5)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows(read, csv, rows, same, seed):
    random.Random(seed).shuffle(rows)
    same(read(csv(rows)))


@pytest.mark.parametrize("packer", PACKERS)
def test_any_compression_under_any_name(read, csv, rows, same, packer):
    found = read(PACKERS[packer](csv(rows).encode()), name="scores.data")
    same(found)
    assert found.provenance[0]["compression"] == packer


def test_several_zst_frames(read, csv, rows, same):
    head, tail = csv(rows).encode()[:20], csv(rows).encode()[20:]
    same(read(PACKERS["zst"](head) + PACKERS["zst"](tail)))


@pytest.mark.parametrize("separator", ["\t", ";", "|", " "])
def test_any_separator(read, csv, rows, same, separator):
    same(read(csv(rows).replace(",", separator)))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n" + text + "\n \n".replace(" ", ""),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("a/1", '"a/1"'),
        lambda text: text.replace("score", "SC").replace("enrol", "Ref_File"),
        lambda text: text.replace(",1\n", ",Target\n").replace(",0\n", ",imp\n"),
    ],
)
def test_untidy_text(read, csv, rows, same, change):
    same(read(change(csv(rows))))


HEADERLESS = {
    "voxceleb": lambda e, t, s, y: f"{y} {e} {t} {s}",
    "kaldi-trials": lambda e, t, s, y: f"{e} {t} {'target' if y == '1' else 'nontarget'} {s}",
}


@pytest.mark.parametrize("name", HEADERLESS)
@pytest.mark.parametrize("blank", [" ", "\t", "  ", " \t "])
def test_formats_without_a_header(read, rows, same, name, blank):
    text = "\n".join(HEADERLESS[name](*row) for row in rows).replace(" ", blank)
    found = read(text, name="scores.txt")
    same(found)
    assert found.provenance[0]["format"] == name


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("voxceleb-scores", lambda e, t, s, y: f"{s} {e} {t}"),
        ("kaldi-scores", lambda e, t, s, y: f"{e} {t} {s}"),
    ],
)
def test_scores_alone_get_their_labels_from_the_speakers(read, csv, rows, plain, count, name, line):
    found = read("\n".join(line(*row) for row in rows), name="scores.txt")
    assert plain(found) == plain(read(csv(rows)))
    assert found.provenance[0]["format"] == name
    assert count(found, "trials labelled by their speakers") == 5


def test_parquet_and_arrow(read, rows, same, tmp_path):
    for name, write in {
        "parquet": "write_parquet", "arrow": "write_ipc", "arrow-stream": "write_ipc_stream",
    }.items():  # fmt: skip
        path = tmp_path / f"{name}.data"
        getattr(frame(rows), write)(path)
        found = read(path)
        same(found)
        assert found.provenance[0]["format"] == name


def test_tables_in_python(read, rows, same, optional):
    table = frame(rows)
    columns = table.to_dict(as_series=False)
    for source in (
        table,
        table.lazy(),
        columns,
        {name: np.array(cells) for name, cells in columns.items()},
        {**columns, "label": np.array(columns["label"]) == 1},
        {**columns, "label": [float(label) for label in columns["label"]]},
        optional("pyarrow").table(columns),
        optional("pandas").DataFrame(columns),
    ):
        same(read(source))


def test_ids_of_digits_are_text(read, plain):
    speakers = {"id": ["01", "02"], "sex": ["f", "m"]}
    from parivox.tables.speakers import read_speakers

    rows = {"enrol": ["01", "01"], "test": ["02", "01"], "score": [0.5, 1.5]}
    assert plain(read(rows, people=read_speakers(speakers))) == [
        ("01", "01", True, 1.5, False),
        ("01", "02", False, 0.5, False),
    ]


def test_standard_input(read, csv, rows, same, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(csv(rows).encode()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    found = read(Source("-"))
    same(found)
    assert found.provenance[0]["name"] == "standard input"


class Source:
    """A name that the fixture does not take for text to be written."""

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        return self.name


def test_columns_that_the_user_names(read, csv, rows, same):
    text = csv(rows, header="x,y,z,w")
    same(read(text, columns={"enrol": "x", "test": "y", "score": "z", "label": "w"}))
    text = csv(rows, header="label,y,z,score")
    same(read(text, columns={"enrol": "label", "test": "y", "score": "z", "label": "score"}))


def test_a_format_that_the_user_names(read):
    with pytest.raises(
        ConfigError, match="--scores-format 'xls' is not known; choose from parquet"
    ):
        read("1 2 3\n", format="xls")
    with pytest.raises(DataError, match="--columns names z, but the file is read as voxceleb"):
        read("1 a/1 b/1\n", format="voxceleb", columns={"score": "z"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 a b\n0 a c", "voxceleb"),
        ("target 1 2", "voxceleb"),
        ("1 000010011 000010035", "voxceleb"),
        ("0.5 a b", "voxceleb-scores"),
        ("-3 a b", "voxceleb-scores"),
        ("0.5 001 002", "voxceleb-scores"),
        ("001 002 0.5", "kaldi-scores"),
        ("a b 7", "kaldi-scores"),
        ("a b nontarget\na c target", "kaldi-trials"),
        ("a b imp", "kaldi-trials"),
        ("a b c", ""),
        ("7 8 9", ""),
        ("a b", ""),
        ("", ""),
    ],
)
def test_detection(text, kind):
    assert kind_of(text.encode()) == kind


def test_columns_that_are_ignored_are_told(read, csv, rows):
    text = csv([(*row, "x") for row in rows], header="enrol,test,score,label,session")
    assert read(text).provenance[0]["ignored"] == ["session"]


def test_the_protocol_of_paper_003_has_more_columns(read, rows):
    lines = [f"{y} {e} {t} m f USA" for e, t, _, y in rows]
    with pytest.raises(DataError, match=r"has no column of scores .*give it as --trials"):
        read("\n".join(lines), name="protocol.txt")
