"""Fixtures that several test folders share: the real scores that the `demo` extra brings."""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import parivox as pv
import parivox.auditing.run
import parivox.runtime.workers
from parivox import Counts
from parivox.data.formats import dataframes
from parivox.errors import options_named

# Read when torch is imported. Test workers share the processors: threads that wait for each other
# there took eight times the processor time of one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("COLUMNS", None)  # what is printed is as wide as it says
os.unsetenv("COLUMNS")  # readline, which pytest imports, sets it behind the back of `os.environ`

# How fast an example is belongs to the benchmarks: a busy machine must not fail a property.
settings.register_profile("parivox", deadline=None)
settings.load_profile("parivox")

REPLICATES = 50
"""Enough to see that they are there; tests of what they tell ask for as many as that takes."""


def with_few_replicates(audit):
    """The audit with fewer replicates, where a test does not say how many."""

    @functools.wraps(audit)
    def few(scores, speakers=None, **options):
        return audit(scores, speakers, **{"replicates": REPLICATES, **options})

    return few


pv.audit = parivox.auditing.run.audit = with_few_replicates(pv.audit)


if "forkserver" in multiprocessing.get_all_start_methods():
    # Worker processes of a test begin at once, as forks of one that has imported what they take;
    # those of commands begin anew, as everywhere.
    AT_ONCE = multiprocessing.get_context("forkserver")
    AT_ONCE.set_forkserver_preload(
        ["parivox.embedding.extract", "parivox.scoring.verifying", "scipy.signal", "soundfile"]
    )
    parivox.runtime.workers.get_context = lambda _: AT_ONCE


SLOW = {"bank", "bt4vt_data", "chromium", "torch", "whole"}
"""Fixtures that take seconds: a browser, networks, real lists, audits with every option."""


TOGETHER = (
    *("h_page", "chromium", "whole", "forking", "pages", "reproduced"),
    "trials_and_speakers",  # of tests/auditing/test_many_groupings.py
)
"""Fixtures whose tests stand together, and first: one worker makes them, no long test is last."""


def pytest_collection():
    """Of what is collected nothing is garbage: it is not looked for."""
    gc.disable()


def pytest_collection_finish():
    """Nor while the tests run."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Leave what asks for a slow fixture out of `make quick`, too, and put those in order.

    Tests of one folder stand together, as they share fixtures: one worker makes most of them.
    """
    folders = {}
    for item in items:
        if SLOW & {*getattr(item, "fixturenames", ())}:
            item.add_marker("slow")
        folders.setdefault(item.path.parent, len(folders))

    def order(item):
        fixtures = getattr(item, "fixturenames", ())
        together = (n for n, name in enumerate(TOGETHER) if name in fixtures)
        return next(together, len(TOGETHER)), folders[item.path.parent]

    items.sort(key=order)


def missing(package):
    """Skip a test whose package is missing; where all are required, fail it."""
    reason = f"{package} is not installed; pip install 'parivox[dev]'"
    if os.environ.get("PARIVOX_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def optional():
    """Import a module of the `dev` extra, deaf to what it warns of while it loads."""

    def load(module):
        package = module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            missing(package)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)

    return load


@pytest.fixture(scope="session")
def pages(forks, forking):
    """`examples/pages.py`: it runs the commands of a page of docs/, and scripts by forks."""
    module = module_of(Path(__file__).parents[1] / "examples" / "pages.py")

    def run_example(folder):
        words = ["-P", str(module.EXAMPLES / f"{folder.stem}.py"), str(folder)]
        _, (status, *_) = forks.ask(forking, words, dict(os.environ))
        assert status == 0, f"examples/{folder.stem}.py ended with {status}"

    module.run_example = run_example
    return module


@pytest.fixture
def undrawn(monkeypatch):
    """Pages have the titles, captions and descriptions of their figures, and no drawings.

    To draw takes most of the time of a page. For tests of what is written elsewhere on it: figures
    have tests of their own in `tests/report/charts`, and whole pages in `tests/page`.
    """
    from parivox.report.html import assembly

    def words(figure):
        return f"<svg><title>{escape(figure.title)}</title>{escape(figure.description)}</svg>"

    monkeypatch.setattr(assembly, "figure_svg", words)


@pytest.fixture(scope="session")
def script_output(tmp_path_factory):
    """Folder for what scripts and commands wrote, once for all workers of this run."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all workers
    return folder / "kept"


IN_ONE_PROCESS = "import parivox.runtime.task_sharing as s; s.processor_count = lambda: 1"
"""Prelude of commands whose output does not depend on processes (`tests/cli/test_workers.py`).

Test workers keep all processors busy: what a command starts besides itself only takes time.
"""


@pytest.fixture
def in_one_process(forks, monkeypatch):
    """Commands that ask for no number of processes have one."""
    monkeypatch.setenv(forks.PRELUDE, IN_ONE_PROCESS)


@pytest.fixture(scope="session")
def demo(bt4vt_data, forks, program, pages, script_output):
    """The folder `out` that `parivox demo` wrote, and what it `printed`."""

    def write(folder):
        done = subprocess.run(
            [program, "demo", "--out", folder / "out", "--quiet"],
            env=os.environ | {forks.PRELUDE: IN_ONE_PROCESS},
            capture_output=True,
            check=True,
        )
        (folder / "printed").write_bytes(done.stdout)

    return pages.written_once(script_output / "demo", write)


def module_of(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def bt4vt_data():
    """Folder with the scores of two systems on VoxCeleb1-H and the speaker table."""
    spec = importlib.util.find_spec("bt4vt")  # found, not imported: importing it takes seconds
    if spec is None:
        missing("bt4vt")
    return Path(spec.submodule_search_locations[0]) / "data"


@pytest.fixture(scope="session")
def vox1_speakers(bt4vt_data):
    """VoxCeleb1 speakers: id, gender, nationality."""
    table = pl.read_csv(bt4vt_data / "vox1_meta.csv", separator="\t")
    return table.select(
        pl.col("VoxCeleb1 ID").alias("id"),
        pl.col("Gender").alias("gender"),
        pl.col("Nationality").alias("nationality"),
    )


@pytest.fixture(scope="session")
def h_v2(bt4vt_data, vox1_speakers):
    """ResNetSE34V2 on VoxCeleb1-H: enrol, test, score, label; speaker and group of `enrol`."""
    return h_frame(bt4vt_data / "resnetse34v2_H-eval_scores.csv", vox1_speakers)


@pytest.fixture(scope="session")
def h_l(bt4vt_data, vox1_speakers):
    """ResNetSE34L on VoxCeleb1-H, as `h_v2`."""
    return h_frame(bt4vt_data / "resnetse34l_H-eval_scores.csv", vox1_speakers)


@pytest.fixture(scope="session")
def h_scores(h_v2, h_l):
    """Both systems' frames by system name."""
    return {"V2": h_v2, "L": h_l}


@pytest.fixture(scope="session")
def h_counts(h_scores):
    """Per system: counts of all trials, and of each gender+nationality group."""
    return {system: (counts_of(frame), groups_of(frame)) for system, frame in h_scores.items()}


def h_frame(path, speakers):
    trials = pl.read_csv(path).select(
        pl.col("ref_file").alias("enrol"),
        pl.col("com_file").alias("test"),
        pl.col("sc").alias("score"),
        pl.col("lab").alias("label"),
        pl.col("ref_file").str.split("/").list.first().alias("speaker"),
    )
    groups = speakers.select(
        "id", pl.concat_str("gender", "nationality", separator="+").alias("group")
    )
    return trials.join(groups, left_on="speaker", right_on="id", how="left", maintain_order="left")


def counts_of(frame):
    return Counts.from_scores(frame["score"].to_numpy(), frame["label"].to_numpy())


def groups_of(frame):
    frames = frame.partition_by("group", as_dict=True)
    return {name: counts_of(subset) for (name,), subset in sorted(frames.items())}


ENDED = """
import json, os, shutil, signal, sys
from pathlib import Path
from parivox.runtime.disk import atomic_folder

old, new, home, own, number = json.loads(sys.argv[1])
number = getattr(signal, number)

def put(out, at):
    def see(event, _):
        seen[0] += event in CHANGES
        if seen[0] == at and event in CHANGES:
            os.kill(os.getpid(), number)
    seen = [0]
    def end(*_):
        raise KeyboardInterrupt
    if number == signal.SIGTERM:
        signal.signal(number, end)
    sys.addaudithook(see)
    with atomic_folder(out, own) as aside:
        for path in sorted(Path(new).iterdir()):
            (aside / path.name).write_bytes(path.read_bytes())

CHANGES = {"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
at, status = 0, 1
while status:
    at += 1
    out = Path(home) / str(at)
    if old:
        shutil.copytree(old, out)
    child = os.fork()
    if not child:
        try:
            put(out, at)
        except KeyboardInterrupt:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
print(at)
"""
"""Write a folder again and again, ended before one change to the disk after the other."""


@pytest.fixture
def ended(tmp_path):
    """Folders that were `new` in the place of `old`, by a writer that ended at each instant."""

    def outs(old, new, names, number):
        home = tmp_path / "ended"
        home.mkdir()
        arguments = json.dumps([old and str(old), str(new), str(home), list(names), number])
        completed = subprocess.run(
            [sys.executable, "-c", ENDED, arguments],
            env=os.environ | {"PYTHONPATH": str(Path(pv.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        )
        return [home / str(instant) for instant in range(1, 1 + int(completed.stdout))]

    return outs


@pytest.fixture(scope="session")
def forks():
    """`forks.py`: commands as forks of a process that has imported what they take."""
    return module_of(Path(__file__).with_name("forks.py"))


@pytest.fixture(scope="session")
def forking(forks):
    """Address of a process that runs commands by forks of itself."""
    home = os.pathsep.join([str(Path(pv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, forks.__file__, "serve", f"{folder}/door"],
            env=os.environ | {"PYTHONPATH": home},
            stdout=subprocess.PIPE,
        ) as process,
    ):
        process.stdout.readline()
        yield f"{folder}/door"
        process.kill()


@pytest.fixture(scope="session", autouse=True)
def decoded_by_forks(request):
    """Tables are decoded by forks, too: those of the process that runs commands."""
    began_anew = dataframes.probe_process

    def probe_process(script, table):
        forks, address = map(request.getfixturevalue, ("forks", "forking"))
        return forks.probe_process(address, script, table)

    dataframes.probe_process = probe_process
    yield began_anew
    dataframes.probe_process = began_anew


@pytest.fixture(scope="session")
def program(forks, forking, tmp_path_factory):
    """The file `parivox`, a program that starts at once."""
    folder = tmp_path_factory.mktemp("bin")
    begin = f"#!/bin/sh\nexec {sys.executable} -I -S {forks.__file__} {forking}"
    # a script of a page of docs/ is a fork, too
    for name, words in (("parivox", ""), ("python", " -P")):
        file = folder / name
        file.write_text(f'{begin}{words} "$@"\n')
        file.chmod(0o755)
    return folder / "parivox"


@pytest.fixture(scope="session")
def kills():
    """How often what must survive is killed: more often with PARIVOX_TEST_KILLS=20."""
    return int(os.environ.get("PARIVOX_TEST_KILLS", "6"))


@pytest.fixture
def forked(forks, forking, tmp_path):
    """Run a command after a prelude: its status, and the seconds of the processor.

    One that is to end `after` so many of these is killed by the system then, without a word to the
    process and however busy the machine is; it has no status.
    """
    path = os.pathsep.join([str(Path(pv.__file__).parents[1]), str(tmp_path)])

    def start(prelude):
        def run(*words, after=0.0):
            environment = os.environ | {
                "PYTHONPATH": path,
                forks.PRELUDE: prelude,
                forks.AFTER: str(after),
            }
            with Path(os.devnull).open("r+b") as null_device:
                streams = (null_device.fileno(), null_device.fileno(), 2)
                words = [str(word) for word in words]
                _, (status, *seconds) = forks.ask(forking, words, environment, tmp_path, streams)
            return (status, *seconds) if status >= 0 else (None, None)

        return run

    return start


@pytest.fixture(scope="session")
def audit_of_halves():
    """Audit a small list of speakers in two groups, one of which has the name that is given."""

    def audit(group="f", n=24):
        rng = np.random.default_rng(1)
        speaker = np.repeat(np.arange(n), 10)
        impostor = (speaker + 1 + speaker % (n - 1)) % n
        enrol, test = np.append(speaker, speaker), np.append(speaker, impostor)
        scores = {
            "enrol": [f"s{i}/a{k}" for k, i in enumerate(enrol)],
            "test": [f"s{i}/b{k}" for k, i in enumerate(test)],
            "score": rng.normal(np.where(enrol == test, 3.0, 0.0)),
            "label": (enrol == test).astype(int),
        }
        people = {"speaker": [f"s{i}" for i in range(n)], "half": [group, "m"] * (n // 2)}
        return pv.audit(scores, speakers=people, by="half", operating_points="fpr=0.1")

    return audit


@pytest.fixture
def options_in_messages():
    """Messages of errors name options, as on the command line, and not arguments of Python."""
    with options_named():
        yield
