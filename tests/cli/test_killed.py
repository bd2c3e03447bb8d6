"""Commands that are killed or ended, and several at once: what their folders hold."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import parivox as package

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals, and locks of folders"),
]
SLOWLY = """
import time
from parivox.cli import main
from parivox.data.table import Table
write = Table.write_file
Table.write_file = lambda table, path: (write(table, path), time.sleep(0.1))
main()
"""
"""The command, whose tables take a while to be written."""


@pytest.fixture
def start(files, program, tmp_path):
    """Start an audit of two files into a folder, under the name of a system; of Python, or at once.

    A process that is to be killed is one of Python's own.
    """
    home = str(Path(package.__file__).parents[1])

    def run(out, system, *python):
        words = [f"{system}={files / 'scores.csv'}", "--speakers", str(files / "speakers.csv")]
        words += ["--by", "gender", "--no-intervals", "--quiet", "--out", str(out)]
        return subprocess.Popen(
            [*([sys.executable, *python] if python else [program]), "audit", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": home},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def ending(process):
    """How it ended, and what it said."""
    with process.stderr:
        return process.wait(60), process.stderr.read()


def system(out):
    """The system of the audit in a folder, which is whole."""
    return package.load(out).record["inputs"][0]["system"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_audit_that_is_ended_while_it_writes(start, tmp_path, number, is_there):
    out = tmp_path / "a"
    if is_there:
        assert ending(start(out, "first")) == (0, "")
    before = contents(out) if is_there else {}
    home = out if is_there else tmp_path
    process = start(out, "second", "-c", SLOWLY)
    until = time.monotonic() + 60
    while not list(home.glob(".parivox-*/*.csv")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(number)
    code, message = ending(process)
    if number == signal.SIGTERM:
        assert (code, message) == (143, f"parivox: stopped; {out} may not contain this audit\n")
        assert (contents(out) if out.exists() else {}) == before
    elif is_there:
        assert system(out) == "first"
    assert ending(start(out, "third")) == (0, "")  # which clears up
    assert system(out) == "third"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".parivox-")]


def test_audits_at_once_into_one_folder_some_of_which_are_killed(start, tmp_path):
    """Whoever is the last to write, its audit is whole."""
    out, chance = tmp_path / "a", random.Random(4)
    anew = ("-m", "parivox")
    begun = time.monotonic()
    assert ending(start(out, "first", *anew)) == (0, "")
    took = time.monotonic() - begun
    names = {"first"}
    for crowd in (2, 5):
        started = {f"{crowd}{k}": start(out, f"{crowd}{k}", *anew) for k in range(crowd)}
        names |= {*started}
        time.sleep(chance.uniform(0.7, 1.3) * took * max(1, crowd / (os.cpu_count() or 1)))
        killed = set(list(started)[: crowd // 2])
        for name in killed:
            started[name].kill()
        for name, process in started.items():
            code, message = ending(process)
            assert (code, message) == (0, "") or name in killed
        assert system(out) in names
    assert ending(start(out, "last")) == (0, "")
    assert system(out) == "last"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".parivox-")]
