"""Tasks, done in processes of this machine; one that ends its process is done without the culprit.

What drives tasks is a `Runner`: these processes, or the cluster of `parivox.runtime.cluster`. A
task is small and can be pickled: it names what it is about, such as paths. What does it is made
once in each process by ``begin``, a function of a module, or a ``functools.partial`` of one. The
files that it writes appear whole, and are the same whoever writes them: a task may be done twice.
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
    """Told the place of each item of a task that may end the process, and None once none can."""

Result = TypeVar("Result")

MAX_SECONDS_PER_ITEM = 300.0
"""Seconds after which an item in hand never will be done."""
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        *("VECLIB_MAXIMUM_THREADS", "POLARS_MAX_THREADS"),
    ),
    "1",
)
_ENDING = 10.0  # seconds for a process to end
_ANEW = (
    "worker processes import the script that starts them; put what it does below "
    'if __name__ == "__main__":, and a function of a notebook into a module'
)


@dataclass(frozen=True, kw_only=True)
class TaskOutput:
    """What came of a task that wrote files."""

    number: int  # of the task
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each, by its path."""


Output = TypeVar("Output", bound=TaskOutput)


def processor_count() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Runner(Protocol):
    """Where tasks are done."""

    def open(
        self, begin: Callable[[], Callable[[Any, AnnounceItem], Output]]
    ) -> AbstractContextManager[Callable[[Iterable[Any]], Generator[Output]]]:
        """What does tasks, once or several times, until it is closed.

        It gives what comes of each, in whatever order. What a worker raises is raised here.
        """
        ...


class WorkerLost(DataError):  # noqa: N818 - named for what it tells
    """A process ended, and not by an item of its task."""


class CurrentProcess:
    """The process itself, which does one task after the other."""

    @contextlib.contextmanager
    def open(
        self, begin: Callable[[], Callable[[Any, AnnounceItem], Result]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Result]]]:
        """What does tasks in their order."""
        do = begin()
        yield lambda tasks: (do(task, lambda _: None) for task in tasks)


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, of one thread each; one process keeps the order of tasks."""

    number: int = 1

    def __post_init__(self) -> None:
        if getattr(current_process(), "_inheriting", False):  # as multiprocessing itself asks
            raise ConfigError(_ANEW)

    @contextlib.contextmanager
    def open(
        self, begin: Callable[[], Callable[[Any, AnnounceItem], Result]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Result]]]:
        """What does tasks, begun in their order; they come in whatever order they are done."""
        with contextlib.closing(WorkerPool(begin, self.number)) as crew:
            yield crew.do


class WorkerPool(Generic[Result]):
    """So many worker processes at most, which stay until it is closed.

    In each, `begin` is called once and gives what does a task.
    """

    def __init__(
        self, begin: Callable[[], Callable[[Any, AnnounceItem], Result]], most: int
    ) -> None:
        self.begin, self.most = begin, most
        self.workers: list[_Worker] = []
        self.folder = ScratchFolder()  # for what they print

    def do(self, tasks: Iterable[Any]) -> Generator[Result]:
        """Do tasks, begun in their order.

        Workers go on with the next tasks while the caller has a result in hand, and wait there: no
        more than a result of each is ever held. A task that has a method ``without(place, why)`` is
        done again without an item that ended its process, or never ends.
        """
        coming = iter(tasks)
        again: list[Any] = []
        finished: list[_Finished[Result]] = []
        try:
            while True:
                free = [worker for worker in self.workers if not worker.is_busy]
                while free or len(self.workers) < self.most:
                    task = again.pop() if again else next(coming, None)
                    if task is None:
                        break
                    if not free:
                        free.append(_Worker(self.begin, self.folder.path))
                        self.workers.append(free[0])
                    free.pop().give(task)
                while finished:
                    yield finished.pop(0).made
                if len(free) == len(self.workers):
                    return
                lines = [worker.line for worker in self.workers if worker.is_busy]
                ready = connection.wait(lines, timeout=1.0)
                speaking = [worker for worker in self.workers if worker.line in ready]
                finished.extend(one for worker in speaking for one in worker.hear())
                for worker in [one for one in self.workers if one.is_lost()]:
                    self.workers.remove(worker)
                    worker.end()
                    again.append(worker.what_is_left())
        except ParivoxError:
            yield from (one.made for one in finished)  # of the others
            raise

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.end()
        self.workers.clear()


@dataclass(frozen=True)
class _Finished(Generic[Result]):
    """What a worker sends when a task is done."""

    made: Result


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self, begin: Callable[[], Any], folder: Path) -> None:
        context = get_context("spawn")
        self.line, theirs = context.Pipe()
        number, name = tempfile.mkstemp(dir=folder)
        os.close(number)
        self.printed = Path(name)  # what it prints
        self.task: Any = None
        self.is_busy = False
        self.at: int | None = None
        self.since = time.monotonic()
        self.has_begun = self.is_gone = False
        self.process = context.Process(target=_work, args=(theirs, begin, name), daemon=True)
        with _environment(ONE_THREAD):
            self.process.start()
        theirs.close()

    def give(self, task: Any) -> None:
        self.task, self.is_busy = task, True
        self.at, self.since = None, time.monotonic()
        with contextlib.suppress(OSError):  # it is gone, which is heard next
            self.line.send(task)

    def hear(self) -> list[_Finished[Any]]:
        """Take what it says: which item it has in hand, a task that is done, an error."""
        try:
            message = self.line.recv()
        except (EOFError, OSError):
            self.process.join(_ENDING)
            self.is_gone = True
            return []
        self.since, self.has_begun = time.monotonic(), True
        if isinstance(message, ParivoxError):
            raise message
        if isinstance(message, _Finished):
            self.is_busy, self.at = False, None
            return [message]
        self.at = message
        return []

    def is_lost(self) -> bool:
        """Whether it has ended, or is at one item for ever."""
        is_stuck = self.at is not None and time.monotonic() - self.since > MAX_SECONDS_PER_ITEM
        return self.is_gone or is_stuck

    def what_is_left(self) -> Any:
        """Its task without the item that it had in hand; without such, it is an error."""
        code = _named(self.process.exitcode)
        if not self.has_begun and (self.process.exitcode or 0) > 0:
            msg = f"a worker process ended before it began ({code}): {_ANEW}"
            raise WorkerLost(msg)
        if self.at is None:
            lines = self.printed.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            last = f": {lines[-1][:300]}" if lines[-1] else ""
            msg = (
                f"a worker process ended, and not by what it had in hand ({code}){last}; if memory "
                "ran out, leave it more: take fewer --workers, or of embed a smaller --batch; what "
                "is finished is kept"
            )
            raise WorkerLost(msg)
        return self.task.without(
            self.at, f"ended the process ({code})" if self.is_gone else "never ended"
        )

    def end(self) -> None:
        """End the process, whatever it does."""
        self.line.close()
        if not self.is_busy:
            self.process.join(_ENDING)
        if self.process.is_alive():
            self.process.kill()
        self.process.join(_ENDING)


def _work(line: Connection, begin: Callable[[], Any], name: str) -> None:
    """Do tasks until there are no more; this is what a worker runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    printed = os.open(name, os.O_WRONLY | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)  # where decoders complain of foreign bytes
    keep_memory()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        line.send(None)  # it has begun
        try:
            do = begin()
            while True:
                line.send(_Finished(do(line.recv(), line.send)))
        except ParivoxError as error:
            line.send(error)


def _end_with_parent() -> None:
    """End this process once its parent has ended, whatever it does: nobody waits for it."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _named(code: int | None) -> str:
    """The exit code of a process in words."""
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started within."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
