"""Lists written block by block: every format is read again, and its bytes tell no block."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.columns import RequestedColumns
from parivox.data.formats import scan
from parivox.data.trial_values import labels
from parivox.errors import ConfigError, DataError
from parivox.options.trials import LIST_FORMATS
from parivox.trials.writing import FORMATS_WITH_FURTHER_COLUMNS, ListWriter

FORMAT_READ = {
    "voxceleb": "voxceleb",
    "kaldi": "kaldi-trials",
    "nist": "delimited",
    "csv": "delimited",
    "parquet": "parquet",
}
HEADS = {
    "voxceleb": b"0 a/x/1.wav b/x/1.wav\n",
    "kaldi": b"a/x/1.wav b/x/1.wav nontarget\n",
    "nist": b"modelid\tsegmentid\ttargettype\na/x/1.wav\tb/x/1.wav\tnontarget\n",
    "csv": b"enrol,test,label\na/x/1.wav,b/x/1.wav,nontarget\n",
    "parquet": b"PAR1",
}


def write(path, kind, enrol, test, target, *, step=None, more=None):
    step = step or max(len(enrol), 1)
    with ListWriter(path, kind) as writer:
        for start in range(0, len(enrol), step):
            block = slice(start, start + step)
            writer.write(
                pl.Series(enrol[block], dtype=pl.String),
                pl.Series(test[block], dtype=pl.String),
                np.array(target[block], dtype=bool),
                {name: cells[block] for name, cells in more.items()} if more else None,
            )
    return path


def read(path):
    table = scan(path, columns=RequestedColumns(), format=None, name="list")
    rows = []
    for chunk in table.chunks():
        target = labels(chunk) == 1
        rows += zip(chunk["enrol"], chunk["test"], target.tolist(), strict=True)
    return table.format, rows


@pytest.mark.parametrize("kind", LIST_FORMATS)
def test_a_list_begins_as_its_format_does(kind, tmp_path):
    path = write(tmp_path / "list", kind, ["a/x/1.wav"], ["b/x/1.wav"], [False])
    assert path.read_bytes().startswith(HEADS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIST_FORMATS)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            *[st.from_regex(r"[a-z]{2}/[a-z0-9é,;'|-]{1,8}\.wav", fullmatch=True)] * 2,
            st.booleans(),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_what_is_written_is_read_again(kind, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("w") / "list"
    write(path, kind, *map(list, zip(*rows, strict=True)))
    assert read(path) == (FORMAT_READ[kind], rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIST_FORMATS)
def test_the_bytes_do_not_tell_the_blocks(kind, tmp_path):
    rng = np.random.default_rng(3)
    n = 300_000  # more than a group of rows in Parquet
    enrol = [f"s{k}/v/{i}" for i, k in enumerate(rng.integers(0, 50, n))]
    target = rng.random(n) < 0.5
    first_bytes, second_bytes = (
        write(tmp_path / f"{step}", kind, enrol, enrol[::-1], target, step=step)
        for step in (n, 70_001)
    )
    assert first_bytes.read_bytes() == second_bytes.read_bytes()


@pytest.mark.parametrize("kind", FORMATS_WITH_FURTHER_COLUMNS)
def test_further_columns_have_room_in_tables(kind, tmp_path):
    more = {"score": [0.5, None], "device": ["x,y", "z"]}
    path = write(tmp_path / "list", kind, ["a", "b"], ["c", "d"], [True, False], more=more)
    table = pl.read_csv(path) if kind == "csv" else pl.read_parquet(path)
    assert table.to_dict(as_series=False) == {
        "enrol": ["a", "b"],
        "test": ["c", "d"],
        "label": ["target", "nontarget"],
        **more,
    }


@pytest.mark.parametrize("kind", sorted(set(LIST_FORMATS) - set(FORMATS_WITH_FURTHER_COLUMNS)))
def test_lists_of_three_columns_refuse_more(kind, tmp_path):
    with pytest.raises(
        ConfigError, match=f"format {kind} has no columns for score; write the list as csv"
    ):
        write(tmp_path / "list", kind, ["a"], ["b"], [True], more={"score": [0.5]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "id_"), [("voxceleb", "a b"), ("kaldi", "a\u00a0b"), ("nist", "a\tb"), ("nist", '"a')]
)
def test_an_id_that_a_format_cannot_hold_is_named(kind, id_, tmp_path):
    with pytest.raises(DataError, match=r"trial 2: test id .* cannot be written in the list"):
        write(tmp_path / "list", kind, ["x", "x"], ["y", id_], [True, True], step=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", LIST_FORMATS)
def test_nothing_is_left_of_a_list_that_was_not_finished(kind, tmp_path):
    def fail():
        with ListWriter(tmp_path / "list", kind) as writer:
            writer.write(pl.Series(["a"]), pl.Series(["b"]), np.array([True]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path):
    (tmp_path / "list").write_text("mine")
    with pytest.raises(ConfigError, match="already exists; name a new file"):
        ListWriter(tmp_path / "list", "csv")
    assert (tmp_path / "list").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "nowhere/list"])
def test_a_place_that_cannot_be_written_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"out .*cannot be written"):
        ListWriter(name, "csv")
