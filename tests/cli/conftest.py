"""Small files to audit, and the command line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import parivox as package


def table(seed):
    """Trials of six speakers as CSV."""
    draw = np.random.default_rng(seed)
    utterances = [f"s{i}/{k}.wav" for i in range(6) for k in range(5)]
    rows = ["enrol,test,score,label"]
    for i, enrol in enumerate(utterances):
        for test in utterances[i + 1 :]:
            target = enrol[:2] == test[:2]
            rows.append(f"{enrol},{test},{draw.normal(2.0 * target):.4f},{int(target)}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """`scores.csv`, `other.csv`, `speakers.csv` in one folder."""
    home = tmp_path_factory.mktemp("files")
    (home / "scores.csv").write_text(table(5))
    (home / "other.csv").write_text(table(6))
    rows = [f"s{i},{'fm'[i % 2]},{'ABC'[i % 3]},{15 + 10 * i}\n" for i in range(6)]
    (home / "speakers.csv").write_text("speaker,gender,nation,age\n" + "".join(rows))
    return home


REPLICATE_OPTIONS = {"--replicates", "--no-intervals", "--help", "-h"}
OWN_SYSTEM = re.compile(r"[a-z_]+:[a-z_]+")
"""A module of the working folder and the name of a system in it."""


@pytest.fixture(scope="session")
def parivox(files, program):
    """Run the command in the folder of the files.

    It is a process where that shows: for an input stream, a variable of the environment, or a
    system of one's own, which is imported and given to workers; one that Python starts anew where
    that is asked for. Whatever else a command prints and writes is the same within this process.
    """

    def run(*words, stdin=None, cwd=None, process=False, **environment):
        words = with_few_replicates(words)
        imports = any(OWN_SYSTEM.fullmatch(word) for word in words)
        if process or stdin is not None or environment or imports:
            start = [sys.executable, "-m", "parivox"] if process else [program]
            return as_process([*start, *words], cwd or files, stdin, environment)
        return within(words, cwd or files)

    return run


def with_few_replicates(words):
    """The words as text; an audit that asks for no number of replicates makes few."""
    words = [str(word) for word in words]
    if words[:1] == ["audit"] and not REPLICATE_OPTIONS & {*words}:
        words += ["--replicates", "50"]  # what they tell is tested elsewhere
    return words


AT_ONCE = """
import parivox.cli.progress as shown, parivox.runtime.progress as told
shown.PATIENCE_S = shown.REDRAWN_S = told.REPORT_INTERVAL_S = told.MIN_SECONDS_FOR_ETA = 0.001
"""


@pytest.fixture(scope="session")
def in_terminal(program, forks):
    """What a terminal on standard error, or output, receives; progress `at_once` if asked."""
    pty = pytest.importorskip("pty")

    def run(
        words, cwd, *, stream_name="stderr", width=200, at_once=False, interrupt=None, **environment
    ):
        ours, theirs = pty.openpty()
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream_name: theirs}
        more = {"TERM": "xterm", "COLUMNS": str(width), forks.PRELUDE: AT_ONCE if at_once else ""}
        with subprocess.Popen(
            [program, *with_few_replicates(words)],
            cwd=cwd,
            **streams,
            env={**plain(), **more, **environment},
        ) as process:
            os.close(theirs)
            output = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while chunk := os.read(ours, 65536):
                    output += chunk
                    if interrupt is not None and interrupt in output:
                        process.send_signal(signal.SIGINT)
                        interrupt = None
            process.communicate()
        os.close(ours)
        return process.returncode, output.decode()

    return run


def plain():
    """The environment without what colours or widens the output."""
    color_variables = {"FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "NO_COLOR", "COLUMNS"}
    return {name: value for name, value in os.environ.items() if name not in color_variables}


def as_process(words, cwd, stdin, environment):
    """Run words as a process."""
    home = str(Path(package.__file__).parents[1])  # as it was imported here, whatever the folder
    variables = plain()
    variables["PYTHONPATH"] = os.pathsep.join([home, variables.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    return subprocess.run(
        words,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        env={**variables, **environment},
    )


def within(words, cwd):
    """Run the command in this process; what it does not raise on purpose fails the test."""
    from parivox.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, plain(), clear=True),
    ):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code or 0
    outputs = []
    for stream in (out, err):
        stream.flush()
        outputs.append(stream.buffer.getvalue().decode())
    return subprocess.CompletedProcess(words, code, *outputs)
