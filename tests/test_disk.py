"""What is written is whole or not there, however the process ends; a full disk is a sentence."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from parivox import ConfigError
from parivox.runtime.disk import (
    HIDDEN_PREFIX,
    ScratchFolder,
    atomic_file,
    atomic_folder,
    current_path,
    explain_write_errors,
    writable_file,
)

pytestmark = [
    pytest.mark.minimal,
    pytest.mark.skipif(os.name == "nt", reason="signals, and locks of folders"),
]
OLD = {"a.csv": "old a", "b.csv": "old b", "gone.csv": "old", "z.json": "old z"}
NEW = {"a.csv": "new a", "b.csv": "new b", "more.csv": "new", "z.json": "new z"}


def folder_of(folder, files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def read(folder, names=OLD | NEW):
    """The files as whoever asks Parivox finds them."""
    paths = {name: current_path(folder, name) for name in names}
    return {name: path.read_text() for name, path in paths.items() if path.exists()}


def hidden(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(HIDDEN_PREFIX)]


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
def test_a_folder_is_the_old_or_the_new_one_wherever_its_writer_ends(tmp_path, ended, signal):
    folder_of(tmp_path / "new", NEW)
    outs = ended(folder_of(tmp_path / "old", OLD), tmp_path / "new", OLD | NEW, signal)
    contents = [read(out) for out in outs]
    assert all(content in (OLD, NEW) for content in contents)
    assert (contents[0], contents[-1]) == (OLD, NEW)
    for out, before in zip(outs, contents, strict=True):
        if signal == "SIGTERM":
            assert {path.name: path.read_text() for path in out.iterdir()} == before
        with atomic_folder(out, OLD | NEW) as aside:  # the next run clears up
            for name, text in OLD.items():
                (aside / name).write_text(text)
        assert read(out) == OLD
        assert hidden(out) == []


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGKILL", "SIGTERM"])
def test_a_new_folder_is_there_whole_or_not_at_all(tmp_path, ended, signal):
    outs = ended(None, folder_of(tmp_path / "new", NEW), [], signal)
    contents = [read(out) if out.exists() else {} for out in outs]
    assert all(content in ({}, NEW) for content in contents)
    assert (contents[0], contents[-1]) == ({}, NEW)
    if signal == "SIGTERM":
        assert hidden(tmp_path) == []
    with atomic_folder(outs[0].parent / "next"):
        pass
    assert hidden(outs[0].parent) == []


@pytest.mark.slow
def test_processes_that_write_the_same_folder_at_once_all_succeed(tmp_path):
    """Neither the folders of others, which come and go, nor an empty one stops a writer."""
    out = folder_of(tmp_path / "out", {"audit.json": '{"parivox_audit": 0}'})
    script = (
        "from parivox.auditing.folder import check_folder\n"
        "from parivox.runtime.disk import atomic_folder\n"
        "for number in range(150):\n"
        "    check_folder('out')\n"
        "    with atomic_folder('out', ['SHA256SUMS']) as aside:\n"
        "        (aside / 'audit.json').write_text('{\"parivox_audit\": %d}' % number)\n"
    )
    words = [sys.executable, "-c", script]
    writers = [subprocess.Popen(words, cwd=tmp_path) for _ in range(4)]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    assert {path.name: path.read_text() for path in out.iterdir()} == {
        "audit.json": '{"parivox_audit": 149}'
    }


@pytest.mark.parametrize("writer", [atomic_folder, atomic_file])
def test_what_fails_before_it_is_whole_changes_nothing(tmp_path, writer):
    out = folder_of(tmp_path / "out", OLD)
    is_file = writer is atomic_file

    def fail(error):
        with writer(out / "a.csv" if is_file else out) as aside:
            (aside if is_file else aside / "a.csv").write_text("half")
            raise error

    for error in (OSError(16, "Device or resource busy"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            fail(error)
    assert {path.name: path.read_text() for path in out.iterdir()} == OLD


def test_what_another_run_has_in_hand_is_left_to_it(tmp_path):
    """Until it ends, when the next one clears it."""
    script = (
        "import sys, time\nfrom parivox.runtime.disk import atomic_file\n"
        "with atomic_file('other.txt') as aside:\n"
        "    aside.write_text('half')\n    print(aside, flush=True)\n    time.sleep(60)\n"
    )
    words = [sys.executable, "-c", script]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    with process.stdout:
        aside = Path(process.stdout.readline().strip())
    foreign = tmp_path / f"{HIDDEN_PREFIX}elsewhere-1-0123abcd"  # of another machine: who knows
    for folder in (foreign, tmp_path / f"{HIDDEN_PREFIX}mine"):
        folder.mkdir()
    with atomic_file(tmp_path / "a.txt") as mine:
        mine.write_text("a")
    assert aside.read_text() == "half"
    process.kill()
    process.wait()
    with atomic_file(tmp_path / "a.txt") as mine:
        mine.write_text("b")
    names = {"a.txt", foreign.name, f"{HIDDEN_PREFIX}mine"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "there" / "real")
    with atomic_file(tmp_path / "link.csv") as aside:
        assert aside.suffix == ".csv"
        aside.write_text("x")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there" / "real").read_text() == "x"


# ---- no room


def numpy_words(path):
    msg = "1000000 requested and 262128 written"
    raise OSError(msg)


def polars_words(path):
    msg = "parquet: File out of specification: No space left on device (os error 28)"
    raise pl.exceptions.ComputeError(msg)


def plain_words(path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("options_in_messages")
@pytest.mark.parametrize("full", [numpy_words, polars_words, plain_words])
def test_a_full_disk_is_one_sentence_in_whoevers_words_it_comes(tmp_path, monkeypatch, full):
    with (
        pytest.raises(ConfigError) as error,
        explain_write_errors("--out a"),
        atomic_file(tmp_path / "a") as aside,
    ):
        full(aside)
    assert str(error.value) == (
        "--out a: cannot be written (No space left on device); free disk space, or name a file "
        "on another disk"
    )
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = ScratchFolder()
    with pytest.raises(ConfigError) as error, scratch.file_to_write("rows") as path:
        full(path)
    assert str(error.value) == (
        f"{tmp_path}: has no room for data that do not fit into memory (No space left on device); "
        "free disk space, or name a folder on another disk in the environment variable TMPDIR"
    )
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("options_in_messages")
def test_an_error_of_another_kind_stays_what_it_is():
    with pytest.raises(KeyError), explain_write_errors("--out a"):
        {}["a fault"]
    with pytest.raises(ConfigError) as error, explain_write_errors("--out a"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert str(error.value) == (
        "--out a: cannot be written (Permission denied); correct the cause, or name another file"
    )


def test_a_device_or_a_pipe_is_neither_read_nor_replaced(tmp_path):
    device, pipe = tmp_path / "device", tmp_path / "pipe"
    device.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="device: is not a regular file"):
        writable_file(device, "gate.xml")
    with pytest.raises(ConfigError, match="is not a regular file"), atomic_file(pipe) as aside:
        aside.write_text("x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def gated(program, folder, option, path):
    """Return the end of a gate that is to write a file somewhere."""
    return subprocess.run(
        [program, "gate", "audit", "--policy", "policy.yaml", option, path],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_gate_does_not_read_a_device(program, tmp_path, option):
    completed = gated(program, tmp_path, option, "/dev/zero")
    assert completed.returncode == 2
    assert "/dev/zero: is not a regular file" in completed.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout")
@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_a_gate_does_not_write_to_a_pipe_that_has_no_path(program, tmp_path, option):
    completed = gated(program, tmp_path, option, "/dev/stdout")
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "/dev/stdout: is not a regular file" in completed.stderr
