"""Where an audit is written: links, modes, interruptions; and what an audit is called."""

import json
import os
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import parivox as pv
from parivox.auditing.folder import check_folder
from parivox.auditing.inputs import sources_by_name
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError, ParivoxError, printable
from parivox.shown import NOTEBOOK_MODULE


def names(folder):
    return {path.name for path in folder.iterdir()}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def other(trials, speakers):
    return pv.audit({"other": trials}, speakers=speakers, by="gender")


@pytest.fixture(scope="module")
def written(small, tmp_path_factory):
    """The folder of an audit, for tests that begin with one."""
    folder = tmp_path_factory.mktemp("written") / "a"
    small.save(folder)
    return folder


@pytest.mark.slow
def test_a_link_stays_a_link(small, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        small.save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert "audit.json" in names(tmp_path / "real")
    assert names(tmp_path) == {"real", "link"}


@pytest.mark.slow
def test_a_folder_that_exists_stays_itself(small, other, tmp_path):
    out = tmp_path / "a"
    out.mkdir(mode=0o700)
    before = out.stat()
    for audit in (small, other):
        audit.save(out)
        assert (out.stat().st_ino, out.stat().st_mode) == (before.st_ino, before.st_mode)
    assert pv.load(out).record["inputs"][0]["system"] == "other"


@pytest.mark.slow
def test_the_folder_one_is_in(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (".", "new/..", "./"):
        small.save(folder)
        assert "audit.json" in os.listdir()  # noqa: PTH208 - as a shell lists where it is
        assert not [name for name in names(tmp_path) if name.startswith(".") or name == "new"]


def test_a_long_name_that_is_allowed(small, tmp_path):
    small.save(tmp_path / ("x" * 250))
    assert names(tmp_path) == {"x" * 250}


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "o\udcff", "o\0", "x" * 300, "new/" + "x" * 300])
def test_folders_that_cannot_be(small, tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"out|^folder is .*; give the name of a file or folder"):
        small.save(folder)
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
        msg = "parquet: No space left on device (os error 28)"  # as Polars tells it
        raise RuntimeError(msg)

    monkeypatch.setattr(Table, "write_file", failing)
    with pytest.raises(ConfigError, match="No space left"):
        small.save(tmp_path / "new" / "deep" / "a")
    assert names(tmp_path) == set()


def test_a_folder_named_as_a_table_is_a_strangers(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "sweep.csv").mkdir()
    with pytest.raises(ConfigError, match=r"sweep\.csv"):
        small.save(tmp_path / "a")


@pytest.mark.slow
def test_a_killed_run_leaves_the_earlier_audit_or_the_new_one(
    small, written, other, tmp_path, ended
):
    other.save(tmp_path / "new", format="parquet")
    outs = ended(written, tmp_path / "new", names(written), "SIGKILL")
    some = [*outs[:-100:8], *outs[-100::5], outs[-1]]  # moving begins some 150 changes from the end
    seen = []
    for out in some:
        audit = pv.load(out)
        seen.append(audit.record["inputs"][0]["system"])
        wanted = other if seen[-1] == "other" else small
        assert audit.to_json() == wanted.to_json()
        assert audit.det.to_polars().equals(wanted.det.to_polars())
    assert len(set(seen)) == 2
    assert seen == sorted(seen, key=lambda system: system == "other")
    for out in some[::10]:
        small.save(out)  # clears up
        assert contents(out) == contents(written)


def test_files_are_made_as_the_users_mask_says(small, tmp_path):
    mask = os.umask(0o027)
    try:
        small.save(tmp_path / "a")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o750


# ---- hashes


def test_hashes_are_what_sha256sum_takes(small, tmp_path):
    small.save(tmp_path / "a")
    text = dict(
        reversed(line.split("  "))
        for line in (tmp_path / "a" / "SHA256SUMS").read_text().splitlines()
    )
    assert list(text) == sorted(names(tmp_path / "a") - {"SHA256SUMS", "private.json"})
    for name, digest in text.items():
        assert sha256((tmp_path / "a" / name).read_bytes()).hexdigest() == digest
    if tool := shutil.which("sha256sum"):
        done = subprocess.run([tool, "-c", "SHA256SUMS"], cwd=tmp_path / "a", check=False)
        assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["groups.csv", "det.parquet", "bins.parquet", "audit.json", "provenance.json"]
)
@pytest.mark.parametrize("way", ["altered", "missing"])
def test_a_file_that_is_not_as_it_was_written_is_named(small, tmp_path, name, way):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / name
    if way == "missing":
        path.unlink()
        wanted = "does not contain an audit" if name == "audit.json" else f"{name} is missing"
    else:
        path.write_bytes(path.read_bytes() + b" ")
        wanted = f"{name} has been altered since it was written"
    with pytest.raises(DataError, match=wanted) as raised:
        pv.load(tmp_path / "a")
    assert "\n" not in str(raised.value)
    assert name == "audit.json" or "fetch the folder again" in str(raised.value)


def test_an_audit_json_that_is_cut_off_is_told_as_altered(small, tmp_path):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "audit.json"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"audit\.json has been altered"):
        pv.load(tmp_path / "a")


@pytest.mark.parametrize("content", [None, "", "nonsense", b"\xff", "0  ../../etc/hosts\n"])
def test_hashes_that_are_missing_or_damaged_are_told(small, tmp_path, content):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "SHA256SUMS"
    path.unlink()
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=r"SHA256SUMS(, which| has been)"):
        pv.load(tmp_path / "a")


@pytest.mark.parametrize("name", ["groups.csv", "bins.parquet", "provenance.json"])
@pytest.mark.parametrize("altered", [False, True])
def test_a_file_whose_hash_was_taken_out_is_told(small, tmp_path, name, altered):
    small.save(tmp_path / "a")
    path = tmp_path / "a" / "SHA256SUMS"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.endswith(f"  {name}\n")))
    if altered:
        file = tmp_path / "a" / name
        file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(DataError, match=f"SHA256SUMS has been altered: it does not list {name}"):
        pv.load(tmp_path / "a")


@pytest.mark.slow
def test_a_page_beside_the_tables_is_not_the_audits(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "report.html").write_text("x")
    assert pv.load(tmp_path / "a").to_json() == small.to_json()


def test_an_older_folder_without_hashes_is_told_by_its_version(small, tmp_path):
    small.save(tmp_path / "a")
    (tmp_path / "a" / "SHA256SUMS").unlink()
    path = tmp_path / "a" / "audit.json"
    path.write_text(path.read_text().replace('"parivox_audit": "6"', '"parivox_audit": "3"'))
    with pytest.raises(DataError, match="has format version '3'"):
        pv.load(tmp_path / "a")


@pytest.mark.slow
def test_a_table_that_lacks_a_column_is_told_although_its_hash_is_right(small, tmp_path):
    small.save(tmp_path / "a")
    path, sums = tmp_path / "a" / "bands.parquet", tmp_path / "a" / "SHA256SUMS"
    before = sha256(path.read_bytes()).hexdigest()
    pl.read_parquet(path).drop("fpr_ratio_low").write_parquet(path)
    after = sha256(path.read_bytes()).hexdigest()
    sums.write_text(sums.read_text().replace(before, after))
    with pytest.raises(DataError, match=r"bands.parquet: the columns are not those of version 6"):
        pv.load(tmp_path / "a")


# ---- what it shows itself as


@pytest.mark.parametrize(
    "altered",
    [
        lambda record: record["options"].update(confidence="high"),
        lambda record: record["options"].update(replicates=-1),
        lambda record: record["options"].update(by=7),
        lambda record: record.update(options=[]),
        lambda record: record.update(inputs=[]),
        lambda record: record.update(inputs=[{"system": "another", "list": ""}]),
        lambda record: record.pop("inputs"),
        lambda record: record.update(primary=None),
        lambda record: record.update(list_checks={"s": [{}]}),
        lambda record: record.update(resolution={"exact": True}),
        lambda record: record["options"].update(margin=float("nan")),
        None,
    ],
)
def test_options_that_cannot_be_and_deep_json_are_told(written, tmp_path, altered):
    folder = tmp_path / "audit"
    shutil.copytree(written, folder)
    path = folder / "audit.json"
    if altered is None:
        text = "[" * 200_000
    else:
        record = json.loads(path.read_bytes())
        altered(record)
        text = json.dumps(record)
    path.write_text(text)
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    digest = sha256(text.encode()).hexdigest()
    lines = [f"{digest}  audit.json" if line.endswith("  audit.json") else line for line in sums]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"audit.json is damaged|does not contain an audit"):
        pv.load(folder)


def test_an_audit_json_that_is_a_link_to_a_device_is_told(written, tmp_path):
    folder = tmp_path / "audit"
    shutil.copytree(written, folder)
    (folder / "audit.json").unlink()
    (folder / "audit.json").symlink_to("/dev/zero")
    with pytest.raises(DataError, match="does not contain an audit"):
        pv.load(folder)


def test_an_audit_is_shown_by_the_module_that_is_named(small, monkeypatch):
    shown_by = SimpleNamespace(
        html=lambda audit: f"<p>{len(audit.groups)}", Charts=lambda audit: [audit]
    )
    monkeypatch.setitem(sys.modules, NOTEBOOK_MODULE, shown_by)
    assert small._repr_html_() == f"<p>{len(small.groups)}"
    assert small.charts == [small]


# ---- names


def test_an_audit_is_told_in_a_line(small):
    reported = repr(small)
    assert "\n" not in reported
    assert len(reported) < 100
    assert "by gender" in reported


def test_systems_need_names():
    for name in ("", "@x", ("", "x")):
        with pytest.raises(ConfigError, match="no name"):
            sources_by_name({name: "a.csv", "B": "b.csv"})
    assert list(sources_by_name({("a@b", ""): "a.csv", "a@b": "b.csv"})) == [
        ("a@b", ""),
        ("a", "b"),
    ]


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_is_not_resolved(optional):
    pl = optional("polars")
    frame = pl.LazyFrame({"enrol": ["a/1"], "test": ["a/2"], "score": [1.0]})
    assert list(sources_by_name(frame)) == [("scores", "")]
    assert list(sources_by_name({"A": frame, "B": frame})) == [("A", ""), ("B", "")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain – é 日本 \\x1b", "plain – é 日本 \\x1b"),
        ("\x1b[1m\x9b\x7f\t\r\n", r"\x1b[1m\x9b\x7f\x09\x0d\x0a"),
        ("\u202e\u2028\u2029\u200b", r"\u202e\u2028\u2029\u200b"),
        ("\udcff\ud800\U000e0001", r"\xff\ud800\U000e0001"),
        ("👩🏽\u200d🚀 🏳️\u200d🌈", "👩🏽\u200d🚀 🏳️\u200d🌈"),
        ("a\u200db 👩\u200d \u200d👩\u202e", r"a\u200db 👩\u200d \u200d👩\u202e"),
        ("می\u200cخواهم क\u200dष f\u200cm", "می\u200cخواهم क\u200dष f\\u200cm"),
        (
            "🏴\U000e0067\U000e0062\U000e007f \U000e0067",
            "🏴\U000e0067\U000e0062\U000e007f \\U000e0067",
        ),
    ],
)
def test_shown(text, wanted):
    assert printable(text) == printable(wanted) == wanted
    assert str(ParivoxError(text)) == str(DataError(text)) == wanted
