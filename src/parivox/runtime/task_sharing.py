"""Independent tasks of one run, shared by this process and workers.

A run opens its workers with `workers_shared`, once and around everything. Whatever has independent
tasks calls `begin_tasks`, or `shared_outputs`, with a function of a module. Outputs are in the
order of the tasks; progress and warnings of workers are reported in this order, too. Without open
workers, or where these are busy, this process does the tasks. It also does again what failed in a
worker, so that errors are raised as by one process.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import sys
import warnings
from collections import deque
from contextvars import ContextVar
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parivox.errors import WorkRepeated
from parivox.frozen import frozen
from parivox.runtime.cgroup import available_bytes, processor_count
from parivox.runtime.progress import has_listener, report_again, report_progress_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem, WorkerPool

Output = TypeVar("Output")

MIN_SHARED_WORK = {"trials": 100_000, "bytes": 5_000_000, "figures": 20}
"""The work that a worker is started for, by its unit: less takes no longer than its start, which is
half a second of a processor."""
_BYTES_OF_WORKER = 200e6
_BYTES_OF_WORK = {"trials": 500, "bytes": 10}
"""Memory that a worker takes: by itself, and for its share of the work."""
_MAX_SECONDS_TO_END = 10.0
_PICKLING_ERRORS = (pickle.PicklingError, AttributeError, TypeError)
_OPEN_WORKERS: ContextVar[_SharedWorkers | None] = ContextVar("workers of this run", default=None)


@contextlib.contextmanager
def workers_shared(
    number: int | None, prepare: Sequence[Callable[[], object]] = ()
) -> Iterator[None]:
    """Share the tasks within the block among so many processes, this one included.

    Without a number, as many as there are processors and memory for. Within another such block, its
    workers serve. A process that may start none does everything itself.

    Parameters
    ----------
    number
        Of processes.
    prepare
        Functions of modules that each worker calls when it starts, such as to load a library.
    """
    if number == 1:
        yield
        return
    from parivox.runtime.workers import (  # noqa: PLC0415 - multiprocessing takes time to load
        check_not_imported_by_worker,
        may_start_processes,
    )

    n_processes = processor_count() if number is None else number
    if n_processes == 1 or _OPEN_WORKERS.get() is not None or not may_start_processes():
        yield
        return
    check_not_imported_by_worker()
    with contextlib.closing(
        _SharedWorkers(n_processes - 1, prepare, keeps_to_memory=number is None)
    ) as workers:
        token = _OPEN_WORKERS.set(workers)
        try:
            yield
        finally:
            _OPEN_WORKERS.reset(token)


def are_workers_open() -> bool:
    """Return whether there are workers to start, so that it matters how much there is to do."""
    return _OPEN_WORKERS.get() is not None


def start_workers(number: int, prepare: Callable[[], object], *, work: int, unit: str) -> None:
    """Start at most so many of the open workers, before there is a task for them.

    They load what they need while this process does what comes first. `work` is an estimate.
    """
    workers = _OPEN_WORKERS.get()
    if workers is not None and not workers.is_busy:
        workers.prepare = (*workers.prepare, prepare)
        workers.start(workers.useful_number(number, work, unit))


def shared_outputs(
    function: Callable[..., Output], tasks: Sequence[tuple[Any, ...]], *, work: int, unit: str
) -> list[Output]:
    """Return the output of a function for the arguments of each task; see `begin_tasks`."""
    return list(begin_tasks(function, tasks, work=work, unit=unit).outputs())


def begin_tasks(
    function: Callable[..., Output], tasks: Sequence[tuple[Any, ...]], *, work: int, unit: str
) -> BegunTasks[Output]:
    """Return tasks that workers have begun, if there are any and the work is worth it.

    Parameters
    ----------
    function
        Of a module; it and its arguments can be pickled, and it changes nothing.
    tasks
        The arguments of each task.
    work, unit
        How much there is to do, in a unit of `MIN_SHARED_WORK`.
    """
    workers, n_workers = _OPEN_WORKERS.get(), 0
    if workers is not None and not workers.is_busy:
        n_workers = workers.useful_number(len(tasks) - 1, work, unit)
    return BegunTasks(function, tasks, workers if n_workers > 0 else None, n_workers)


def is_picklable(content: Any) -> bool:
    """Return whether workers can be given something: not so a function within a function."""
    try:
        pickle.dumps(content)
    except _PICKLING_ERRORS:
        return False
    return True


@frozen
class _Call:
    """A task as workers take it."""

    index: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    reports_progress: bool


@frozen
class _Outcome:
    """What became of a task, and what a worker reported on the way."""

    index: int
    output: Any = None
    has_failed: bool = False
    progress: Sequence[Progress] = ()
    warned: Sequence[tuple[Warning, type[Warning], str, int]] = ()


class _CallQueue:
    """Tasks that nobody has begun; each is taken once, by whichever process comes first.

    Workers take the first one, this process the last one: it has the arguments already, and where
    groupings are compared the last is often the longest, as users name combinations last.
    """

    def __init__(self, calls: Sequence[_Call]) -> None:
        self.remaining = deque(calls)

    def __iter__(self) -> _CallQueue:
        return self

    def __next__(self) -> _Call:
        try:
            return self.remaining.popleft()  # which no other thread interrupts
        except IndexError:
            raise StopIteration from None

    def from_last(self) -> Iterator[_Call]:
        """Yield the last of the tasks that nobody has begun, until there are none."""
        with contextlib.suppress(IndexError):
            while True:
                yield self.remaining.pop()


class BegunTasks(Generic[Output]):
    """Tasks that workers have begun; this process joins in when their outputs are asked for."""

    def __init__(
        self,
        function: Callable[..., Output],
        tasks: Sequence[tuple[Any, ...]],
        workers: _SharedWorkers | None,
        n_workers: int,
    ) -> None:
        self.function, self.tasks, self.workers = function, tasks, workers
        self.outcomes: dict[int, _Outcome] = {}
        if workers is not None:
            reports_progress = has_listener()
            calls = [
                _Call(index, function, arguments, reports_progress)
                for index, arguments in enumerate(tasks)
            ]
            self.queue = _CallQueue(calls)
            workers.begin(self.queue, self.outcomes, n_workers)

    def outputs(self) -> Iterator[Output]:
        """Do what nobody has begun, and yield the output of each task in order."""
        if self.workers is not None:
            for call in self.queue.from_last():
                # what fails is done again below, once the output of every earlier task is yielded
                with contextlib.suppress(Exception):
                    self.outcomes[call.index] = _Outcome(call.index, call.function(*call.arguments))
            self.workers.finish()
        for index in range(len(self.tasks)):
            yield self._output(index)

    def _output(self, index: int) -> Output:
        """Return the output of a task, which is done here if no process has done it."""
        outcome = self.outcomes.pop(index, None)
        if outcome is None or outcome.has_failed:
            return self.function(*self.tasks[index])
        _report(outcome)
        output: Output = outcome.output
        return output


class _SharedWorkers:
    """The workers of a run, which are started with their first tasks."""

    def __init__(
        self, max_number: int, prepare: Sequence[Callable[[], object]], *, keeps_to_memory: bool
    ) -> None:
        self.max_number, self.keeps_to_memory = max_number, keeps_to_memory
        self.prepare = tuple(prepare)
        self.pool: WorkerPool[_Outcome] | None = None
        self.thread: Thread | None = None
        self.failure: Exception | None = None

    @property
    def is_busy(self) -> bool:
        """Whether they do tasks whose outputs nobody has asked for yet."""
        return self.thread is not None

    def useful_number(self, number: int, work: int, unit: str) -> int:
        """Return how many of so many workers are worth their start and have room."""
        n_started = 0 if self.pool is None else len(self.pool.workers)
        n_worth = work // max(MIN_SHARED_WORK[unit], 1)
        number = min(number, self.max_number, max(n_worth, n_started if work else 0))
        if self.keeps_to_memory:
            bytes_of_worker = _BYTES_OF_WORKER + _BYTES_OF_WORK.get(unit, 0) * work
            # whole only once it is finite: the memory may be unknown
            number = int(min(number, max(available_bytes() / bytes_of_worker, n_started)))
        return number

    def start(self, number: int) -> None:
        """Start workers until there are so many, or the system allows no more."""
        from parivox.runtime.workers import WorkerPool  # noqa: PLC0415 - as in `workers_shared`

        if number and self.pool is None:
            self.pool = WorkerPool(partial(_task_function, self.prepare), 0)
        if self.pool is None:
            return
        try:
            self.pool.start(number)
        except OSError:  # too many processes or files: those that have started do
            self.max_number = self.pool.max_workers = len(self.pool.workers)

    def begin(self, queue: _CallQueue, outcomes: dict[int, _Outcome], number: int) -> None:
        """Do tasks in so many workers, while this process does other work."""
        # here and not in the thread, as the environment is another one for a moment
        self.start(number)
        assert self.pool is not None
        self.thread = Thread(target=self._do, args=(self.pool, queue, outcomes), daemon=True)
        self.thread.start()

    def _do(
        self, pool: WorkerPool[_Outcome], queue: _CallQueue, outcomes: dict[int, _Outcome]
    ) -> None:
        """Do tasks; at the first failure, leave the rest to the other process."""
        try:
            for outcome in pool.do(queue):
                outcomes[outcome.index] = outcome
                if outcome.has_failed:
                    queue.remaining.clear()
        except Exception as error:  # noqa: BLE001 - raised by `finish`
            self.failure = error

    def finish(self) -> None:
        """Wait for the tasks that workers do; warn if a worker ended, whose task is left.

        Then this process alone does what follows.
        """
        assert self.thread is not None
        self.thread.join()
        failure, self.thread, self.failure = self.failure, None, None
        if failure is None:
            return
        from parivox.runtime.workers import (  # noqa: PLC0415 - as in `workers_shared`
            WorkerLost,
            WorkerNotStarted,
        )

        is_unfit_task = isinstance(failure, _PICKLING_ERRORS)  # which no worker can be given
        is_lost = isinstance(failure, WorkerLost) and not isinstance(failure, WorkerNotStarted)
        if not is_unfit_task and not is_lost:
            raise failure
        self.close()
        self.max_number = 0
        if isinstance(failure, WorkerLost):
            msg = f"{failure.problem}; its work is repeated by one process"
            warnings.warn(WorkRepeated(msg), stacklevel=2)

    def close(self) -> None:
        """End the workers, whatever they do."""
        if self.pool is None:
            return
        for worker in self.pool.workers:
            worker.process.kill()  # nothing is lost, as tasks write no files
        if self.thread is not None:
            self.thread.join(_MAX_SECONDS_TO_END)
        self.pool.close()
        self.pool = None


def _task_function(
    prepare: Sequence[Callable[[], object]],
) -> Callable[[_Call, AnnounceItem], _Outcome]:
    """Return what does a task in a worker, which has loaded what it needs."""
    gc.set_threshold(200_000)  # rows by the thousand, but hardly a cycle: as in a command
    for load in prepare:
        # a library that is missing is reported where a task needs it
        with contextlib.suppress(Exception):
            load()
    return _outcome


def _outcome(call: _Call, _: AnnounceItem) -> _Outcome:
    """Do a task in a worker."""
    progress: list[Progress] = []
    listener = progress.append if call.reports_progress else None
    with warnings.catch_warnings(record=True) as caught, report_progress_to(listener):
        warnings.simplefilter("always")
        try:
            output = call.function(*call.arguments)
        except Exception:  # noqa: BLE001 - raised where the task is done again
            return _Outcome(call.index, has_failed=True)
    warned = [
        (warning.message, warning.category, warning.filename, warning.lineno)
        for warning in caught
        if isinstance(warning.message, Warning)
    ]
    return _Outcome(call.index, output, progress=progress, warned=warned)


def _report(outcome: _Outcome) -> None:
    """Report the progress and the warnings of a worker."""
    report_again(outcome.progress)
    for message, category, file, line in outcome.warned:
        files = {getattr(module, "__file__", None): module for module in [*sys.modules.values()]}
        registry = vars(files[file]).setdefault("__warningregistry__", {}) if file in files else {}
        warnings.warn_explicit(message, category, file, line, registry=registry)
