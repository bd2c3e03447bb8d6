"""The program `parivox` that starts at once: forks of one process that has imported what it takes.

``serve`` is that process; run with its address and words, this file is the program. What decodes
tables is run by it, too.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

IMPORTED = (
    "parivox.auditing.run",
    "parivox.embedding.extract",
    "parivox.report.terminal",
    "parivox.scoring.all_pairs",
    "parivox.scoring.run",
    "parivox.scoring.verifying",
    "rich.table",
    "scipy.sparse",
    "scipy.special",
)
"""What commands import: all of it takes as long as an audit of a few trials."""
WITH_AUDIO = ("scipy.signal", "soundfile", "soxr")
"""What commands about recordings import besides, where it is installed."""
PRELUDE, AFTER = "PARIVOX_TEST_FIRST", "PARIVOX_TEST_AFTER"
"""In the environment: Python to run first; seconds of the processor after which it is killed."""


def serve(address):
    """Run whatever is asked for at an address, until the process that started this one ends."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    before = {*os.environ}
    for module in IMPORTED:
        importlib.import_module(module)
    for module in WITH_AUDIO:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if "forkserver" in multiprocessing.get_all_start_methods():
        start_workers_at_once()
    set_by_imports = {name: value for name, value in os.environ.items() if name not in before}
    # commands have tables decoded by forks of this process, too
    reader = sys.modules["parivox.data.formats.dataframes"]
    reader.probe_process = functools.partial(probe_process, address)
    gc.freeze()  # of what is imported nothing is garbage: no fork looks for it
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen()
    os.write(1, b"\n")  # whoever waits for this may ask
    while True:
        asking, _ = door.accept()
        if not os.fork():
            door.close()
            attend(asking, set_by_imports)
        asking.close()
        with contextlib.suppress(ChildProcessError):  # none is left
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def start_workers_at_once():
    """Let worker processes of commands be forks, too: of one process that has imported the same.

    One that begins anew takes as long as most commands; `tests/cli/test_workers.py` has such.
    """
    from multiprocessing.forkserver import _forkserver

    at_once = multiprocessing.get_context("forkserver")
    at_once.set_forkserver_preload([*IMPORTED, *WITH_AUDIO])
    _forkserver.ensure_running()
    _forkserver.ensure_running = lambda: None  # commands are forks, whose child it is not
    workers = sys.modules["parivox.runtime.workers"]

    def process(target, args, daemon):
        variables = {**os.environ, **workers.ONE_THREAD}
        args = (variables, target, *args)
        return at_once.Process(target=work_in_environment, args=args, daemon=daemon)

    context = types.SimpleNamespace(Pipe=at_once.Pipe, Process=process)
    workers.get_context = lambda _: context


def work_in_environment(variables, work, *args):
    """Be a worker process, in the environment of its command."""
    os.environ.clear()
    os.environ.update(variables)
    work(*args)


def attend(asking, set_by_imports):
    """Run one command, which tells its process and, unless killed, its seconds; tell its status."""
    message, streams, *_ = socket.recv_fds(asking, 1 << 16, 4)
    while not message.endswith(b"\n"):
        message += asking.recv(1 << 16)
    process = os.fork()
    if not process:
        asking.sendall(b"%d\n" % os.getpid())
        try:
            words, environment, numbers = json.loads(message)
            run(words, set_by_imports | environment, numbers, streams)
        finally:
            with contextlib.suppress(BrokenPipeError):
                asking.sendall(b"%f\n" % time.process_time())
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(BrokenPipeError):
        asking.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(words, environment, numbers, streams):
    """Be the command, with its words, environment, working folder and streams."""
    folder, *streams = streams
    os.fchdir(folder)
    for number in range(3):
        if number in numbers:
            os.dup2(streams[numbers.index(number)], number)
        else:
            os.close(number)
    for descriptor in (folder, *streams):
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["parivox", *words]
    encoding, _, handler = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = None
        if number in numbers:
            errors = "backslashreplace" if number == 2 else handler or "strict"
            stream = os.fdopen(number, "w" if number else "r", encoding=encoding, errors=errors)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if words[:1] == ["-P"]:  # as of Python: a script
        sys.argv = words[1:]
        status = 0
        try:
            runpy.run_path(words[1], run_name="__main__")
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        os._exit(status)  # at once: nothing is open
    if AFTER in os.environ:
        signal.setitimer(signal.ITIMER_PROF, float(os.environ[AFTER]))  # which nothing catches
    exec(os.environ.get(PRELUDE, ""), {})
    from parivox.cli import main

    main()
    sys.exit()


def ask(address, words, environment, folder=".", streams=(0, 1, 2)):
    """Run a command: its process, then its status and, unless killed, seconds of the processor."""
    numbers = []
    for number, stream in enumerate(streams):
        with contextlib.suppress(OSError):  # one that is closed
            os.fstat(stream)
            numbers.append(number)
    opened = [os.open(folder, os.O_RDONLY), *(streams[number] for number in numbers)]
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(address)
        message = json.dumps([words, environment, numbers]).encode() + b"\n"
        sent = socket.send_fds(door, [message], opened)
        door.sendall(message[sent:])
        os.close(opened[0])
        with door.makefile() as answers:
            yield int(answers.readline())
            *seconds, status = answers
            yield int(status), *map(float, seconds)


def probe_process(address, script, request):
    """Run the script that decodes tables: its exit code and output.

    Every table in Parquet is read in a process of its own first. One that begins anew takes half a
    second to import the table engine, which is longer than most tests.
    """
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        Path(os.devnull).open("r+b") as null_device,
    ):
        stdin.write(request)
        stdin.seek(0)
        words = ["-P", str(script)]
        streams = [stream.fileno() for stream in (stdin, stdout, null_device)]
        _, (status, *_) = ask(address, words, dict(os.environ), streams=streams)
        stdout.seek(0)
        return subprocess.CompletedProcess(words, status, stdout.read())


def program(address, words):
    """Be the command for whoever started this process: in its signals and its status, too."""
    answers = ask(address, words, dict(os.environ))
    process = next(answers)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(process, number))
    status, *_ = next(answers)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        program(sys.argv[1], sys.argv[2:])
