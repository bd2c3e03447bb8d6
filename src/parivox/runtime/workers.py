"""Tasks done in processes of this machine.

A `Runner` does tasks: in this process, in the processes of this module, or on the cluster of
`parivox.runtime.cluster`. A task is small and can be pickled: it names its inputs, such as paths.
The function that does tasks is made once in each process by ``make_task_function``, a function of a
module or a ``functools.partial`` of one. The files of a task appear whole, and are the same
whichever process writes them, because a task may be done twice. If an item of a task ends its
process, the task is done again without this item.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, field
from multiprocessing import connection, current_process, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from parivox.errors import ConfigError, DataError, ParivoxError
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.memory import keep_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from multiprocessing.connection import Connection

    AnnounceItem = Callable[[int | None], None]
    """Called with the index of each item that may end the process, and with None after the last."""

Result = TypeVar("Result")

MAX_SECONDS_PER_ITEM = 300.0
"""Seconds after which an item counts as one that never ends."""
# each worker has one processor; libraries would otherwise start a thread for every processor
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
_MAX_SECONDS_TO_END = 10.0  # seconds for a process to end
_IMPORT_PROBLEM = "worker processes import the script that starts them"
_IMPORT_HINT = (
    'put the code of the script below if __name__ == "__main__":, and functions of a notebook '
    "into a module"
)


@dataclass(frozen=True, kw_only=True)
class TaskOutput:
    """The output of a task that wrote files."""

    number: int  # of the task
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each, by its path."""


Output = TypeVar("Output", bound=TaskOutput)


def check_not_imported_by_worker() -> None:
    """Refuse to start workers while a worker imports the script that starts it."""
    if getattr(current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise ConfigError(_IMPORT_PROBLEM, _IMPORT_HINT)


def may_start_processes() -> bool:
    """Return whether this process may have any: not so one of a pool of multiprocessing."""
    return not current_process().daemon


class Runner(Protocol):
    """Where tasks are done."""

    def open(
        self, make_task_function: Callable[[], Callable[[Any, AnnounceItem], Output]]
    ) -> AbstractContextManager[Callable[[Iterable[Any]], Generator[Output]]]:
        """Yield a function that does tasks; it can be called several times until it is closed.

        The function yields the output of each task, in any order, and raises what a worker raises.
        """
        ...


class WorkerLost(DataError):  # noqa: N818 - named for what it reports
    """A process ended, and not by an item of its task."""


class WorkerNotStarted(WorkerLost):
    """A process ended before it could begin."""


class CurrentProcess:
    """A runner in this process, which does one task after the other."""

    @contextlib.contextmanager
    def open(
        self, make_task_function: Callable[[], Callable[[Any, AnnounceItem], Result]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Result]]]:
        """Yield a function that does tasks in their order."""
        task_function = make_task_function()
        yield lambda tasks: (task_function(task, lambda _: None) for task in tasks)


@dataclass(frozen=True)
class Processes:
    """A runner in processes of one thread each; a single process keeps the order of tasks."""

    number: int = 1

    def __post_init__(self) -> None:
        check_not_imported_by_worker()

    @contextlib.contextmanager
    def open(
        self, make_task_function: Callable[[], Callable[[Any, AnnounceItem], Result]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Result]]]:
        """Yield a function that starts tasks in order and yields outputs in order of completion."""
        with contextlib.closing(WorkerPool(make_task_function, self.number)) as pool:
            yield pool.do


class WorkerPool(Generic[Result]):
    """At most `max_workers` worker processes, which stay until the pool is closed.

    In each, `make_task_function` is called once and returns the function that does a task.
    """

    def __init__(
        self,
        make_task_function: Callable[[], Callable[[Any, AnnounceItem], Result]],
        max_workers: int,
    ) -> None:
        self.make_task_function, self.max_workers = make_task_function, max_workers
        self.workers: list[_Worker] = []
        self.folder = ScratchFolder()  # for what workers print

    def start(self, number: int) -> None:
        """Start so many processes, which wait for tasks."""
        self.max_workers = max(self.max_workers, number)
        while len(self.workers) < number:
            self.workers.append(_Worker(self.make_task_function, self.folder.path))

    def do(self, tasks: Iterable[Any]) -> Generator[Result]:
        """Yield the outputs of tasks, which are started in their order.

        While the caller uses an output, workers do the next tasks and then wait: at most one output
        of each worker is held. A task that has a method ``without(index, reason)`` is done again
        without an item that ended its process or never ends.
        """
        remaining = iter(tasks)
        retries: list[Any] = []
        finished: list[_FinishedTask[Result]] = []
        try:
            while True:
                idle = [worker for worker in self.workers if not worker.is_busy]
                while idle or len(self.workers) < self.max_workers:
                    task = retries.pop() if retries else next(remaining, None)
                    if task is None:
                        break
                    if not idle:
                        idle.append(_Worker(self.make_task_function, self.folder.path))
                        self.workers.append(idle[0])
                    idle.pop().send_task(task)
                while finished:
                    yield finished.pop(0).output
                if len(idle) == len(self.workers):
                    return
                # wait at most a second, to notice workers that are stuck
                pipes = [worker.pipe for worker in self.workers if worker.is_busy]
                ready = connection.wait(pipes, timeout=1.0)
                ready_workers = [worker for worker in self.workers if worker.pipe in ready]
                for worker in ready_workers:
                    finished.extend(worker.receive())
                for worker in [worker for worker in self.workers if worker.is_lost()]:
                    self.workers.remove(worker)
                    worker.end()
                    retries.append(worker.task_without_item())
        except ParivoxError:
            # one worker failed: the outputs of the others are whole
            yield from (task.output for task in finished)
            raise

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.end()
        self.workers.clear()


@dataclass(frozen=True)
class _FinishedTask(Generic[Result]):
    """What a worker process sends when a task is done."""

    output: Result


class _Worker:
    """One worker process, from the point of view of its parent."""

    def __init__(self, make_task_function: Callable[[], Any], folder: Path) -> None:
        context = get_context("spawn")
        self.pipe, worker_end = context.Pipe()
        descriptor, name = tempfile.mkstemp(dir=folder)
        os.close(descriptor)
        self.output_path = Path(name)  # what the process prints
        self.task: Any = None
        self.is_busy = False
        self.item_index: int | None = None
        self.last_heard_s = time.monotonic()
        self.has_begun = self.has_ended = False
        self.process = context.Process(
            target=_run_worker, args=(worker_end, make_task_function, name), daemon=True
        )
        with _set_environment(ONE_THREAD):
            self.process.start()
        worker_end.close()

    def send_task(self, task: Any) -> None:
        self.task, self.is_busy = task, True
        self.item_index, self.last_heard_s = None, time.monotonic()
        with contextlib.suppress(OSError):  # it has ended, which `receive` reports next
            self.pipe.send(task)

    def receive(self) -> list[_FinishedTask[Any]]:
        """Return finished tasks, and note the index of the item that the process has begun."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(_MAX_SECONDS_TO_END)
            self.has_ended = True
            return []
        self.last_heard_s, self.has_begun = time.monotonic(), True
        if isinstance(message, ParivoxError):
            raise message
        if isinstance(message, _FinishedTask):
            self.is_busy, self.item_index = False, None
            return [message]
        self.item_index = message
        return []

    def is_lost(self) -> bool:
        """Whether the process has ended, or has been busy with one item for too long."""
        is_stuck = (
            self.item_index is not None
            and time.monotonic() - self.last_heard_s > MAX_SECONDS_PER_ITEM
        )
        return self.has_ended or is_stuck

    def task_without_item(self) -> Any:
        """Return its task without the item that it was busy with; raise if there is none."""
        code = _exit_text(self.process.exitcode)
        if not self.has_begun and (self.process.exitcode or 0) > 0:
            msg = f"a worker process ended before it started its task ({code}): {_IMPORT_PROBLEM}"
            raise WorkerNotStarted(msg, _IMPORT_HINT)
        if self.item_index is None:
            lines = (
                self.output_path.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            )
            last_line = f": {lines[-1][:300]}" if lines[-1] else ""
            msg = f"a worker process ended for a reason other than its task ({code}){last_line}"
            hint = (
                "if memory ran out, use fewer --workers or, with embed, a smaller --batch; repeat "
                "the command: finished work is kept"
            )
            raise WorkerLost(msg, hint)
        return self.task.without(
            self.item_index, f"ended the process ({code})" if self.has_ended else "never ended"
        )

    def end(self) -> None:
        """End the process, whatever it does."""
        self.pipe.close()
        if not self.is_busy:
            self.process.join(_MAX_SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
        self.process.join(_MAX_SECONDS_TO_END)


def _run_worker(pipe: Connection, make_task_function: Callable[[], Any], output_file: str) -> None:
    """Do tasks until the parent closes the pipe: the main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt reaches the parent, which ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    descriptor = os.open(output_file, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)  # audio decoders print complaints there, past Python
    keep_memory()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(None)  # it has begun
        try:
            task_function = make_task_function()
            while True:
                pipe.send(_FinishedTask(task_function(pipe.recv(), pipe.send)))
        except ParivoxError as error:
            pipe.send(error)


def _end_with_parent() -> None:
    """End this process when its parent has ended: nobody waits for its output."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _exit_text(code: int | None) -> str:
    """Return the exit code of a process in words."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


@contextlib.contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started within the block."""
    previous = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, setting in previous.items():
            if setting is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = setting
