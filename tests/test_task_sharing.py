"""Tasks of one run in several processes: order, progress, warnings and errors."""

import math
import multiprocessing
import os
import time
import warnings
from multiprocessing.process import BaseProcess

import pytest

from parivox.errors import DataError
from parivox.runtime import cgroup, task_sharing
from parivox.runtime.progress import report_progress_to, stage
from parivox.runtime.task_sharing import (
    MIN_SHARED_WORK,
    begin_tasks,
    shared_outputs,
    workers_shared,
)

WORK = {"work": MIN_SHARED_WORK["trials"], "unit": "trials"}


def number_and_process(number):
    with stage(f"task {number}"):
        warnings.warn(f"number {number}", UserWarning, stacklevel=1)
        return number, os.getpid()


def refuse_odd(number):
    if number % 2:
        msg = f"{number} is odd"
        raise DataError(msg)
    return number


def fail_in_workers(process, number):
    if os.getpid() != process:
        raise MemoryError
    return number


@pytest.mark.parametrize("number", [1, 2, 3])
def test_outputs_are_in_the_order_of_tasks_with_all_progress_and_warnings(number):
    stages = []
    with (
        warnings.catch_warnings(record=True) as warned,
        report_progress_to(lambda progress: stages.append((progress.stage, progress.is_over))),
        workers_shared(number),
        stage("all"),
    ):
        warnings.simplefilter("always")
        outputs = shared_outputs(number_and_process, [(n,) for n in range(4)], **WORK)
    assert [n for n, _ in outputs] == [0, 1, 2, 3]
    assert sorted(str(warning.message) for warning in warned) == [f"number {n}" for n in range(4)]
    expected = [(f"all: task {n}", is_over) for n in range(4) for is_over in (False, True)]
    assert sorted(report for report in stages if report[0] != "all") == expected


@pytest.mark.parametrize("number", [1, 2])
def test_the_first_task_that_fails_is_told(number):
    with workers_shared(number), pytest.raises(DataError, match="1 is odd"):
        shared_outputs(refuse_odd, [(n,) for n in range(6)], **WORK)


def test_what_fails_in_a_worker_alone_is_done_here():
    with workers_shared(2):
        tasks = [(os.getpid(), n) for n in range(4)]
        assert shared_outputs(fail_in_workers, tasks, **WORK) == [0, 1, 2, 3]


def note_process(file, number):
    time.sleep(0.2)
    with file.open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    return refuse_odd(number)


@pytest.mark.slow
def test_what_comes_before_a_task_that_failed_here_is_still_shared(tmp_path):
    notes = tmp_path / "processes"
    tasks = [(notes, number) for number in (0, 2, 4, 6, 8, 10, 11)]
    with workers_shared(2):
        shared_outputs(refuse_odd, [(0,), (2,)], **WORK)  # starts the worker
        with pytest.raises(DataError, match="11 is odd"):
            shared_outputs(note_process, tasks, **WORK)
    processes = notes.read_text().split()
    n_in_worker = len(processes) - processes.count(str(os.getpid()))
    assert n_in_worker > 1


def refuse_to_load():
    msg = "cannot be loaded"
    raise DataError(msg)


@pytest.mark.slow
def test_what_cannot_be_loaded_ends_no_run_that_does_not_need_it():
    with workers_shared(2, [refuse_to_load]):
        assert shared_outputs(refuse_odd, [(0,), (2,)], **WORK) == [0, 2]


@pytest.mark.filterwarnings("ignore:number")
@pytest.mark.parametrize("n_allowed", [0, 1])
def test_workers_that_the_system_does_not_allow_are_not_needed(n_allowed, monkeypatch):
    start, started = BaseProcess.start, []

    def start_few(process):
        if len(started) == n_allowed:
            raise BlockingIOError
        started.append(process)
        start(process)

    monkeypatch.setattr(BaseProcess, "start", start_few)
    with workers_shared(4):
        for _ in range(2):
            outputs = shared_outputs(number_and_process, [(n,) for n in range(9)], **WORK)
            assert [n for n, _ in outputs] == [*range(9)]
    assert len(started) == n_allowed


def shared_sum(number):
    with workers_shared(2):
        return sum(shared_outputs(refuse_odd, [(0,), (number,)], **WORK))


@pytest.mark.slow
def test_a_process_that_may_start_none_does_the_tasks():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(shared_sum, [2]) == [2]


def call(function):
    return function()


@pytest.mark.slow
def test_what_no_worker_can_be_given_is_done_here():
    with workers_shared(2):
        tasks = [(lambda n=n: n,) for n in range(4)]
        assert shared_outputs(call, tasks, **WORK) == [0, 1, 2, 3]
        assert shared_outputs(refuse_odd, [(0,), (2,)], **WORK) == [0, 2]


@pytest.mark.filterwarnings("ignore:number")
def test_little_work_and_work_within_tasks_stays_here():
    with workers_shared(3):
        little = shared_outputs(number_and_process, [(n,) for n in range(3)], work=9, unit="trials")
        assert {process for _, process in little} == {os.getpid()}
        begun = begin_tasks(number_and_process, [(n,) for n in range(3)], **WORK)
        nested = shared_outputs(number_and_process, [(n,) for n in range(3)], **WORK)
        assert {process for _, process in nested} == {os.getpid()}
        assert [n for n, _ in begun.outputs()] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:number")
@pytest.mark.parametrize(("available", "is_shared"), [(math.inf, True), (0, False)])
def test_workers_have_room_or_nobody_knows_how_much_there_is(available, is_shared, monkeypatch):
    monkeypatch.setattr(task_sharing, "available_bytes", lambda: available)
    monkeypatch.setattr(task_sharing, "processor_count", lambda: 2)
    with workers_shared(None):
        begun = begin_tasks(number_and_process, [(n,) for n in range(2)], **WORK)
        assert (begun.workers is not None) == is_shared
        assert [n for n, _ in begun.outputs()] == [0, 1]


def test_processors_and_memory_of_a_container(tmp_path, monkeypatch):
    for name, place in (("_OWN_GROUP", "cgroup"), ("_MOUNT", "fs"), ("_MEMORY", "meminfo")):
        monkeypatch.setattr(cgroup, name, tmp_path / place)
    assert cgroup.processor_quota() == cgroup.available_bytes() == math.inf
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   4 kB\n")
    (tmp_path / "cgroup").write_text("0::/outer/inner\n")
    inner = tmp_path / "fs" / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (inner.parent / "cpu.max").write_text("150000 100000\n")
    assert cgroup.processor_quota() == 1.5
    assert cgroup.available_bytes() == 4096
    (inner.parent / "memory.max").write_text("3000\n")
    (inner.parent / "memory.current").write_text("2000\n")
    (inner.parent / "memory.stat").write_text("anon 9\ninactive_file 500\n")
    assert cgroup.available_bytes() == 1500


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("meminfo", "MemAvailable:\n"),
        ("meminfo", "MemAvailable: unknown kB\n"),
        ("cgroup", "none\n\n0:\n"),
        ("fs/memory.current", "many\n"),
        ("fs/memory.stat", "inactive_file -\n"),
        ("fs/cpu.max", "150000\n"),
    ],
)
def test_what_a_sandbox_writes_in_another_form_is_no_limit(tmp_path, monkeypatch, name, text):
    for attribute, place in (("_OWN_GROUP", "cgroup"), ("_MOUNT", "fs"), ("_MEMORY", "meminfo")):
        monkeypatch.setattr(cgroup, attribute, tmp_path / place)
    (tmp_path / "fs").mkdir()
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "meminfo").write_text("MemAvailable: 8 kB\n")
    (tmp_path / "fs" / "memory.max").write_text("4096\n")
    (tmp_path / "fs" / "memory.current").write_text("0\n")
    assert cgroup.available_bytes() == 4096
    (tmp_path / name).write_text(text)
    assert cgroup.available_bytes() in {4096, 8192}
    assert cgroup.processor_quota() == math.inf
