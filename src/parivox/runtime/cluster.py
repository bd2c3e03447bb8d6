"""Tasks, done on a Ray cluster, or on this machine as one node of its own.

Tasks are sent as they are, with the paths that they name; back come the hashes of the files that
they wrote on the disk that all nodes share. On a node each processor has a worker process of its
own, as `parivox.runtime.workers.Processes` has here. A task of a node that is lost is done on
another one.
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
from parivox.runtime.disk import sha256_of
from parivox.runtime.workers import TaskOutput, WorkerLost, WorkerPool, processor_count
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from parivox.runtime.workers import AnnounceItem, Output

AUTO_ADDRESS = "auto"
"""In the place of an address: what ``RAY_ADDRESS`` names, or else this machine alone."""
MAX_RETRIES = 3
"""Times that a task is done again if its node or process is lost."""
MAX_WAIT_S = 60.0
"""Seconds to wait for a cluster to answer, for a node that can do tasks, and for a shared disk."""
_STORE = 80 << 20  # bytes of Ray's store of objects, which has none of ours
_AHEAD = 2  # tasks that wait for each processor, so that none is idle


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster."""

    address: str = AUTO_ADDRESS
    """Of its head, as ``HOST:PORT``, or `OWN`."""
    gpus: int = 0
    """That each task needs."""

    @contextlib.contextmanager
    def open(
        self, begin: Callable[[], Callable[[Any, AnnounceItem], Output]]
    ) -> Iterator[Callable[[Iterable[Any]], Generator[Output]]]:
        """What does tasks; they come in whatever order, once their files are seen here."""
        with _connected(self.address) as ray:
            options = {"num_cpus": 1, "num_gpus": self.gpus, "max_calls": 0}
            again = {"max_retries": MAX_RETRIES, "retry_exceptions": [WorkerLost]}
            task = ray.remote(**options, **again)(_done)
            where = (os.getcwd(), __version__)  # noqa: PTH109 - a text
            yield partial(self._do, ray, lambda one: task.remote(begin, one, *where))

    def _do(self, ray: Any, send: Callable[[Any], Any], tasks: Iterable[Any]) -> Generator[Any]:
        """Send tasks, a few ahead of the processors; what comes of each."""
        coming, waiting, since = iter(tasks), set[Any](), time.monotonic()
        while True:
            room = max(_AHEAD * self._room(ray, since) - len(waiting), 0)
            waiting |= {send(one) for one in islice(coming, room)}
            if not waiting:
                return
            for one in ray.wait([*waiting], timeout=1.0)[0]:
                waiting.remove(one)
                made = _given(ray, one)
                _wait_for(made.files)
                since = time.monotonic()
                yield made

    def _room(self, ray: Any, since: float) -> int:
        """Tasks that can be done at once; it is an error if that is none for long."""
        there = ray.cluster_resources()
        cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
        room = min(cpus, gpus // self.gpus) if self.gpus else cpus
        if not room and time.monotonic() - since > MAX_WAIT_S:
            what = "GPU, which --device cuda needs" if cpus else "processor"
            msg = f"--ray {self.address}: no node has a {what}; add one; what is finished is kept"
            raise ConfigError(msg)
        return max(room, 1)


def check_address(address: str) -> str:
    """An address that can be one; it is an error if ray is not installed."""
    if address != AUTO_ADDRESS and not re.fullmatch(r"[^\s:/]+:\d{1,5}", address):
        msg = (
            f"--ray {address!r} is not an address of a cluster; give HOST:PORT, as `ray start "
            "--head` "
            "names it, or nothing for this machine alone"
        )
        raise ConfigError(msg)
    if find_spec("ray") is None:
        msg = "--ray needs ray; install it with: pip install 'parivox[scale]'"
        raise ConfigError(msg)
    return address


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray's module, connected; a cluster of this machine alone ends with the block."""
    check_address(address)
    address = os.environ.get("RAY_ADDRESS", AUTO_ADDRESS) if address == AUTO_ADDRESS else address
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no report of use leaves the machine
    import ray  # noqa: PLC0415 - takes seconds

    logging.getLogger("ray").setLevel(logging.CRITICAL)  # what goes wrong is raised, too
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if address == AUTO_ADDRESS:
        options |= {"address": "local", "num_cpus": processor_count(), "include_dashboard": False}
        options |= {"object_store_memory": _STORE, "_node_ip_address": "127.0.0.1"}
    else:
        options |= {"address": address}
        _check_answers(check_address(address))
    try:
        if address == AUTO_ADDRESS:
            ray.init(**options)  # here: its processes end with the thread that began them
        else:
            _within(MAX_WAIT_S, partial(ray.init, **options))
    except Exception as error:  # whatever Ray raises: versions that differ, no room, no answer
        words = " ".join(str(error).split())[:300]
        msg = f"--ray {address}: Ray cannot be reached or begun ({words}); mend that"
        raise ConfigError(msg) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Refuse a cluster of which nothing answers, for which Ray would wait very long."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=MAX_WAIT_S / 4).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        msg = (
            f"--ray {address}: nothing answers there ({why}); begin a cluster with `ray start "
            "--head`, or give its address"
        )
        raise ConfigError(msg) from error


def _within(seconds: float, begin: Callable[[], object]) -> None:
    """Begin something that may never return; it is an error if it takes longer."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            begin()
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


def _given(ray: Any, one: Any) -> Any:
    """What came of a task; what a node raised is raised here."""
    try:
        made = ray.get(one)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, WorkerLost):
            raise error.cause from None
        if isinstance(error.cause, ImportError):
            msg = f"--ray: a node lacks what is here ({error.cause}); install the same on all nodes"
            raise ConfigError(msg) from error
        raise
    except ray.exceptions.RayError as error:
        words = " ".join(str(error).split())[:300]
        msg = f"--ray: a task was lost {MAX_RETRIES + 1} times ({words}); what is finished is kept"
        raise DataError(msg) from error
    if isinstance(made, ParivoxError):
        raise made
    return made


def _wait_for(files: Mapping[str, str]) -> None:
    """Wait until files that a node wrote are seen here: disks of a network lag."""
    end = time.monotonic() + MAX_WAIT_S
    for name, digest in files.items():
        while not Path(name).is_file() or sha256_of(Path(name)) != digest:
            if time.monotonic() > end:
                msg = (
                    f"{name}: a node wrote it, and it is not seen here; name a folder on a disk "
                    "that all nodes share"
                )
                raise ConfigError(msg)
            os.listdir(Path(name).parent)  # noqa: PTH208 - asks the disk anew
            time.sleep(0.1)


_crews: dict[bytes, WorkerPool[Any]] = {}
"""The worker process of this processor of a node, by what it was begun with."""


def _done(
    begin: Callable[[], Any], task: Any, folder: str, version: str
) -> TaskOutput | ParivoxError:
    """Do a task: this is what runs on a node. A process that was lost is raised, to be retried."""
    here = platform.node()
    if version != __version__:
        return ConfigError(
            f"--ray: node {here} has Parivox {__version__}, and this is {version}; install one "
            "version on all nodes"
        )
    try:
        os.chdir(folder)
    except OSError as error:
        return ConfigError(
            f"--ray: node {here} does not see {folder} ({error.strerror}); run from a folder on a "
            "disk that all nodes share"
        )
    key = pickle.dumps((begin, folder, os.environ.get("CUDA_VISIBLE_DEVICES")))
    for other in _crews.keys() - {key}:
        _crews.pop(other).close()
    if key not in _crews:
        sys.modules["__main__"].__dict__.pop("__file__", None)  # or Ray would be loaded there, too
        _crews[key] = WorkerPool(begin, 1)
    made: TaskOutput
    try:
        (made,) = _crews[key].do([task])
    except ParivoxError as error:
        _crews.pop(key).close()
        if isinstance(error, WorkerLost):
            raise
        return error
    else:
        return made
