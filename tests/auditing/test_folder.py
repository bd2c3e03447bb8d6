"""Where an audit is written: links, modes, interruptions; and what an audit is called."""

import contextlib
import os
import stat
from pathlib import Path

import pytest

import parivox as pv
from parivox.auditing.result import check_folder
from parivox.auditing.sources import by_name
from parivox.errors import ConfigError, DataError, ParivoxError, shown
from parivox.tables.table import Table


def names(folder):
    return {path.name for path in folder.iterdir()}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def other(trials, speakers):
    return pv.audit({"other": trials}, speakers=speakers, by="gender")


def test_a_link_stays_a_link(small, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        small.write(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert "audit.json" in names(tmp_path / "real")
    assert names(tmp_path) == {"real", "link"}


def test_a_folder_that_exists_stays_itself(small, other, tmp_path):
    out = tmp_path / "a"
    out.mkdir(mode=0o700)
    before = out.stat()
    for audit in (small, other):
        audit.write(out)
        assert (out.stat().st_ino, out.stat().st_mode) == (before.st_ino, before.st_mode)
    assert pv.load(out).record["inputs"][0]["system"] == "other"


def test_the_folder_one_is_in(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (".", "new/..", "./"):
        small.write(folder)
        assert "audit.json" in os.listdir()  # noqa: PTH208 - as a shell lists where it is
        assert not [name for name in names(tmp_path) if name.startswith(".") or name == "new"]


def test_a_long_name_that_is_allowed(small, tmp_path):
    small.write(tmp_path / ("x" * 250))
    assert names(tmp_path) == {"x" * 250}


@pytest.mark.parametrize("folder", ["", "o\udcff", "o\0", "x" * 300, "new/" + "x" * 300])
def test_folders_that_cannot_be(small, tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="--out"):
        small.write(folder)
    assert names(tmp_path) == set()


def test_a_folder_that_may_not_be_entered(tmp_path, monkeypatch):
    real = Path.stat

    def locked(path, **options):
        if "locked" in path.parts:
            raise PermissionError(13, "Permission denied")
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", locked)
    with pytest.raises(ConfigError, match="Permission denied"):
        check_folder(tmp_path / "locked" / "o")


def test_folders_made_on_the_way_go_with_a_failure(small, tmp_path, monkeypatch):
    def failing(*_):
        msg = "parquet: No space left"  # as Polars tells it
        raise RuntimeError(msg)

    monkeypatch.setattr(Table, "write", failing)
    with pytest.raises(ConfigError, match="No space left"):
        small.write(tmp_path / "new" / "deep" / "a")
    assert names(tmp_path) == set()


def test_a_folder_named_as_a_table_is_a_strangers(small, tmp_path):
    small.write(tmp_path / "a")
    (tmp_path / "a" / "sweep.csv").mkdir()
    with pytest.raises(ConfigError, match=r"sweep\.csv"):
        small.write(tmp_path / "a")


@pytest.mark.parametrize("error", [OSError(16, "Device or resource busy"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [0, 1, 5, 9, 10, 12, 18])
@pytest.mark.parametrize("made", [False, True])
def test_a_move_that_fails_is_taken_back(small, other, tmp_path, monkeypatch, error, at, made):
    out = tmp_path / "a"
    small.write(out)
    before = contents(out)
    rename, calls = Path.rename, iter(range(100))

    def failing(path, goal):
        now = next(calls)
        if now == at and made:  # interrupted just after the move
            rename(path, goal)
        if now == at:
            raise error
        return rename(path, goal)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises((ConfigError, KeyboardInterrupt)):
        other.write(out)
    monkeypatch.undo()
    assert contents(out) == before
    assert names(tmp_path) == {"a"}


@pytest.mark.parametrize("at", range(20))
def test_a_killed_run_leaves_one_whole_audit_or_says_so(small, other, tmp_path, monkeypatch, at):
    """Nothing can be taken back: every move after the kill fails, and so does clearing up."""
    out = tmp_path / "a"
    small.write(out)
    rename, calls = Path.rename, iter(range(100))

    def killed(path, goal):
        if next(calls) >= at:
            raise OSError(5, "killed")
        return rename(path, goal)

    monkeypatch.setattr(Path, "rename", killed)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with contextlib.suppress(ConfigError):
        other.write(out)
    monkeypatch.undo()
    try:
        found = pv.load(out)
    except DataError as told:
        assert "interrupted" in str(told)  # noqa: PT017
    else:
        whole = {"S": small, "other": other}
        system = found.record["inputs"][0]["system"]
        wanted = whole.get(system, small)
        assert found.to_json() == wanted.to_json()
        assert found.det.to_polars().equals(wanted.det.to_polars())
    other.write(out)  # clears up
    assert not [name for name in names(out) if name.startswith(".")]
    assert pv.load(out).record == pv.load(out).record | {"inputs": other.record["inputs"]}


def test_files_are_made_as_the_users_mask_says(small, tmp_path):
    mask = os.umask(0o027)
    try:
        small.write(tmp_path / "a")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750


# ---- names


def test_an_audit_is_told_in_a_line(small):
    told = repr(small)
    assert "\n" not in told
    assert len(told) < 300
    for word in ("gender", "groups", str(len(small.groups))):
        assert word in told


def test_systems_need_names():
    for name in ("", "@x", ("", "x")):
        with pytest.raises(ConfigError, match="no name"):
            by_name({name: "a.csv", "B": "b.csv"})
    assert list(by_name({("a@b", ""): "a.csv", "a@b": "b.csv"})) == [("a@b", ""), ("a", "b")]


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_is_not_resolved(optional):
    pl = optional("polars")
    frame = pl.LazyFrame({"enrol": ["a/1"], "test": ["a/2"], "score": [1.0]})
    assert list(by_name(frame)) == [("scores", "")]
    assert list(by_name({"A": frame, "B": frame})) == [("A", ""), ("B", "")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain – é 日本 \\x1b", "plain – é 日本 \\x1b"),
        ("\x1b[1m\x9b\x7f\t\r\n", r"\x1b[1m\x9b\x7f\x09\x0d\x0a"),
        ("\u202e\u2028\u2029\u200b", r"\u202e\u2028\u2029\u200b"),
        ("\udcff\ud800\U000e0001", r"\xff\ud800\U000e0001"),
    ],
)
def test_shown(text, wanted):
    assert shown(text) == shown(wanted) == wanted
    assert str(ParivoxError(text)) == str(DataError(text)) == wanted
