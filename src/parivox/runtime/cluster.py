"""Tasks done on a Ray cluster, or on this machine as a cluster of one node.

Tasks are sent with the paths that they name; nodes return the hashes of the files that they wrote
to the disk that all nodes share. On a node each processor has one worker process, as in
`parivox.runtime.workers.Processes`. If a node is lost, another node does its task.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import platform
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError, DataError, ParivoxError
from parivox.runtime.cgroup import processor_count
from parivox.runtime.disk import sha256_of
from parivox.runtime.workers import TaskOutput, WorkerLost, WorkerPool
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from parivox.runtime.workers import AnnounceItem, Output

AUTO_ADDRESS = "auto"
"""Stands for an address: the one in ``RAY_ADDRESS``, or else this machine alone."""
MAX_RETRIES = 3
"""How often a task is done again if its node or process is lost."""
MAX_WAIT_S = 60.0
"""Seconds to wait for a cluster to answer, for a node that can do tasks, and for a shared disk."""
_OBJECT_STORE_BYTES = 80 << 20  # of Ray; small, since tasks exchange files, not objects
_WAITING_TASKS_PER_PROCESSOR = 2  # so that no processor is idle while outputs travel


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster."""

    address: str = AUTO_ADDRESS
    """Address of its head as ``HOST:PORT``, or `AUTO_ADDRESS`."""
    gpus: int = 0
    """GPUs that each task needs."""

    @contextlib.contextmanager
    def open(
        self, make_task_function: Callable[[], Callable[[Any, AnnounceItem], Output]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Output]]]:
        """Yield a function that does tasks; an output comes once its files are visible here."""
        with _connected(self.address) as ray:
            options = {"num_cpus": 1, "num_gpus": self.gpus, "max_calls": 0}
            retry_options = {"max_retries": MAX_RETRIES, "retry_exceptions": [WorkerLost]}
            task = ray.remote(**options, **retry_options)(_do_on_node)
            environment = (os.getcwd(), __version__)  # noqa: PTH109 - a text
            yield partial(
                self._do, ray, lambda sent: task.remote(make_task_function, sent, *environment)
            )

    def _do(self, ray: Any, send: Callable[[Any], Any], tasks: Iterable[Any]) -> Generator[Any]:
        """Send tasks, a few ahead of the processors, and yield the output of each."""
        remaining, sent, last_answer_s = iter(tasks), set[Any](), time.monotonic()
        while True:
            n_free = max(
                _WAITING_TASKS_PER_PROCESSOR * self._free_slots(ray, last_answer_s) - len(sent), 0
            )
            sent |= {send(task) for task in islice(remaining, n_free)}
            if not sent:
                return
            for reference in ray.wait([*sent], timeout=1.0)[0]:
                sent.remove(reference)
                output = _task_output(ray, reference)
                _wait_for_files(output.files)
                last_answer_s = time.monotonic()
                yield output

    def _free_slots(self, ray: Any, last_answer_s: float) -> int:
        """Return how many tasks can be done at once; raise an error if there were none for long."""
        resources = ray.cluster_resources()
        cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
        n_tasks = min(cpus, gpus // self.gpus) if self.gpus else cpus
        if not n_tasks and time.monotonic() - last_answer_s > MAX_WAIT_S:
            lacking = "GPU, which --device cuda needs" if cpus else "processor"
            msg = f"--ray {self.address}: no node has a {lacking}"
            hint = "add such a node and repeat the command: finished work is kept"
            raise ConfigError(msg, hint)
        return max(n_tasks, 1)


def check_address(address: str) -> str:
    """Return the address if it is one; raise an error if it is not, or if ray is not installed."""
    if address != AUTO_ADDRESS and not re.fullmatch(r"[^\s:/]+:\d{1,5}", address):
        msg = f"--ray {address!r} is not an address of a cluster"
        hint = (
            "give HOST:PORT, as shown by `ray start --head`, or --ray alone, without "
            "RAY_ADDRESS, to use this machine only"
        )
        raise ConfigError(msg, hint)
    if find_spec("ray") is None:
        msg = "--ray needs ray"
        hint = "install it with: pip install 'parivox[scale]'"
        raise ConfigError(msg, hint)
    return address


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield the module ray, connected; a cluster of this machine alone ends with the block."""
    check_address(address)
    address = os.environ.get("RAY_ADDRESS", AUTO_ADDRESS) if address == AUTO_ADDRESS else address
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no report of use leaves the machine
    import ray  # noqa: PLC0415 - takes seconds

    # whatever Ray logs it also raises, and exceptions become one sentence below
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if address == AUTO_ADDRESS:
        options |= {"address": "local", "num_cpus": processor_count(), "include_dashboard": False}
        options |= {"object_store_memory": _OBJECT_STORE_BYTES, "_node_ip_address": "127.0.0.1"}
    else:
        options |= {"address": address}
        _check_answers(check_address(address))
    try:
        if address == AUTO_ADDRESS:
            ray.init(
                **options
            )  # in this thread: its processes end with the thread that starts them
        else:
            _call_within(MAX_WAIT_S, partial(ray.init, **options))
    except Exception as error:  # whatever Ray raises: versions that differ, no room, no answer
        error_text = " ".join(str(error).split())[:300]
        msg = f"--ray {address}: Ray cannot be reached or started ({error_text})"
        hint = "check the address and the installation of Ray"
        raise ConfigError(msg, hint) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Refuse an address where nothing answers: Ray itself would wait very long."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=MAX_WAIT_S / 4).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        msg = f"--ray {address}: no cluster answers ({reason})"
        hint = "start a cluster with `ray start --head`, or give its address"
        raise ConfigError(msg, hint) from error


def _call_within(seconds: float, call: Callable[[], object]) -> None:
    """Call a function that may never return; raise an error if it takes longer."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if thread.is_alive():
        msg = f"no answer in {seconds:.0f} seconds"
        raise TimeoutError(msg)


def _task_output(ray: Any, reference: Any) -> Any:
    """Return the output of a task, or raise here what its node raised."""
    try:
        output = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, WorkerLost):
            raise error.cause from None
        if isinstance(error.cause, ImportError):
            msg = f"--ray: a node cannot import what this machine can ({error.cause})"
            hint = "install the same packages on all nodes"
            raise ConfigError(msg, hint) from error
        raise
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())[:300]
        msg = f"--ray: a task was lost {MAX_RETRIES + 1} times ({words})"
        hint = "repeat the command: finished work is kept"
        raise DataError(msg, hint) from error
    if isinstance(output, ParivoxError):
        raise output
    return output


def _wait_for_files(files: Mapping[str, str]) -> None:
    """Wait until the files that a node wrote are visible here: network disks lag."""
    deadline_s = time.monotonic() + MAX_WAIT_S
    for name, digest in files.items():
        while not Path(name).is_file() or sha256_of(Path(name)) != digest:
            if time.monotonic() > deadline_s:
                msg = (
                    f"{name}: was written by a node, but its content is not visible on this machine"
                )
                hint = "name a folder on a disk that all nodes share"
                raise ConfigError(msg, hint)
            os.listdir(Path(name).parent)  # noqa: PTH208 - makes the client refresh its cache
            time.sleep(0.1)


_worker_pools: dict[bytes, WorkerPool[Any]] = {}
"""The pool of one worker of this processor of a node, by what it was started with."""


def _do_on_node(
    make_task_function: Callable[[], Any], task: Any, folder: str, version: str
) -> TaskOutput | ParivoxError:
    """Do a task on a node; a lost worker process is raised, so that Ray tries again."""
    node = platform.node()
    if version != __version__:
        msg = f"--ray: node {node} has Parivox {__version__}, but this machine has {version}"
        hint = "install the same version on all nodes"
        return ConfigError(msg, hint)
    try:
        os.chdir(folder)
    except OSError as error:
        msg = f"--ray: node {node} does not see {folder} ({error.strerror})"
        hint = "run from a folder on a disk that all nodes share"
        return ConfigError(msg, hint)
    key = pickle.dumps((make_task_function, folder, os.environ.get("CUDA_VISIBLE_DEVICES")))
    for outdated_key in _worker_pools.keys() - {key}:
        _worker_pools.pop(outdated_key).close()
    if key not in _worker_pools:
        # multiprocessing imports the main file in each worker, and that would import Ray
        sys.modules["__main__"].__dict__.pop("__file__", None)
        _worker_pools[key] = WorkerPool(make_task_function, 1)
    output: TaskOutput
    try:
        (output,) = _worker_pools[key].do([task])
    except ParivoxError as error:
        _worker_pools.pop(key).close()
        if isinstance(error, WorkerLost):
            raise
        return error
    else:
        return output
