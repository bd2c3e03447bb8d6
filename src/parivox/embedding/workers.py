"""Batches of recordings, decoded and embedded in worker processes; one that dies is not the end.

A decoder of foreign bytes may crash or never end. A worker says which recording it has in hand
before it decodes it, so that such a recording gets a status, and its batch is done again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass, field, replace
from multiprocessing import connection, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from parivox.disk import Scratch
from parivox.embedding.audio import Decoded, decode
from parivox.embedding.recordings import audio_sha256
from parivox.embedding.systems import SystemFailed
from parivox.errors import DataError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from parivox.embedding.audio import Excerpt
    from parivox.embedding.systems import EmbeddingSystem

    Vector = NDArray[np.float32]
    InHand = Callable[[int | None], None]
    """Told the place of each recording before it is decoded, and None before any are embedded."""

T = TypeVar("T")

SECONDS_AT_ONCE = 600.0
"""Of audio that is held before it is embedded."""
_NOTHING = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Batch:
    """Recordings that a worker has in hand together."""

    number: int
    recordings: Sequence[Excerpt]
    longest_seconds: float  # recordings that are longer are not read
    crashed: Mapping[int, str] = field(default_factory=dict)
    """Why recordings, by their place, are not to be decoded again."""


@dataclass(frozen=True, eq=False)
class Done:
    """A batch that is done."""

    number: int
    found: list[dict[str, Any]]
    """Of each recording: what `parivox.embedding.store.FOUND` names; its ``row`` counts
    within ``vectors``, and it has no hash where another run may fare better. ``_channels`` counts
    those of a file that differ, where none is chosen."""
    vectors: NDArray[np.float32]  # of shape (row, crop, dimension)


def decode_batch(
    batch: Batch, rate: int, least_seconds: float, in_hand: InHand = lambda _: None
) -> Iterator[Decoded]:
    """Decode the recordings of a batch in turn; `in_hand` is told the place of each before that."""
    for place, recording in enumerate(batch.recordings):
        if place in batch.crashed:
            yield Decoded("unreadable", batch.crashed[place], is_passing=True)
            continue
        in_hand(place)
        yield decode(
            recording, rate, least_seconds=least_seconds, longest_seconds=batch.longest_seconds
        )


def embed_batch(batch: Batch, system: EmbeddingSystem, in_hand: InHand = lambda _: None) -> Done:
    """Decode and embed the recordings of a batch.

    `in_hand` is told the place of each recording before it is decoded, and None before any are
    embedded. It is an error if the system does not do what it must.
    """
    outcomes: list[Decoded] = []
    vectors: dict[int, Vector] = {}
    waveforms: dict[int, Vector] = {}

    def embed_waveforms() -> None:
        in_hand(None)
        for place, result in _embedded(system, waveforms).items():
            if isinstance(result, Decoded):
                outcomes[place] = replace(result, attributes=outcomes[place].attributes)
            else:
                vectors[place] = result
        waveforms.clear()

    every = decode_batch(batch, system.sample_rate, system.least_seconds, in_hand)
    for place, decoded in enumerate(every):
        if decoded.status == "ok":
            waveforms[place] = decoded.waveform
        outcomes.append(replace(decoded, waveform=_NOTHING))
        if sum(map(len, waveforms.values())) > SECONDS_AT_ONCE * system.sample_rate:
            embed_waveforms()
    embed_waveforms()
    rows = {place: row for row, place in enumerate(sorted(vectors))}
    found = [
        {
            "audio_sha256": None if outcome.is_passing else audio_sha256(recording.path),
            "status": outcome.status,
            "reason": outcome.reason,
            "row": rows.get(place, -1),
            "_channels": outcome.channels or None,
            **outcome.attributes,
        }
        for place, (recording, outcome) in enumerate(zip(batch.recordings, outcomes, strict=True))
    ]
    shapes = {vector.shape for vector in vectors.values()}
    if len(shapes) > 1:
        msg = (
            f"{system.name}: makes embeddings of different shapes, {sorted(shapes)}; those of a "
            "system must be alike"
        )
        raise DataError(msg)
    none = np.empty((0, 1, 0), dtype=np.float32)
    stacked = np.stack([vectors[place] for place in rows]) if rows else none
    return Done(batch.number, found, stacked)


def _embedded(system: EmbeddingSystem, waveforms: dict[int, Vector]) -> dict[int, Vector | Decoded]:
    """Embedding of each waveform, or what became of it instead."""
    if not waveforms:
        return {}
    try:
        made = _checked(system, list(waveforms.values()))
    except Exception as error:  # whatever a foreign system raises
        if isinstance(error, ParivoxError) and not isinstance(error, SystemFailed):
            raise
        cause = error.__cause__ if isinstance(error, SystemFailed) and error.__cause__ else error
        if len(waveforms) == 1:
            reason = f"the system raised {type(cause).__name__}: {str(cause)[:200]}"
            return dict.fromkeys(waveforms, Decoded("unreadable", reason))
        alone = {at: _embedded(system, {at: one})[at] for at, one in waveforms.items()}
        if all(isinstance(one, Decoded) for one in alone.values()):
            msg = (
                f"{system.name}: raised {type(cause).__name__} for {len(waveforms)} recordings in "
                f"turn: {str(cause)[:300]}; try parivox systems check"
            )
            raise DataError(msg) from error
        return alone
    found: dict[int, Vector | Decoded] = {}
    for place, vector in zip(waveforms, made, strict=True):
        if not np.isfinite(vector).all():
            found[place] = Decoded("non_finite", "the system made a vector that is not finite")
        elif not vector.any(axis=-1).all():
            found[place] = Decoded("no_speech", "the system made a vector of zeros")
        else:
            found[place] = vector
    return found


def _checked(system: EmbeddingSystem, waveforms: list[Vector]) -> Vector:
    with np.errstate(all="ignore"):  # what comes of numbers that are too large is told of each
        made = np.asarray(system.embed(waveforms), dtype=np.float32)
    if made.ndim != 3 or len(made) != len(waveforms) or not made.size:
        msg = (
            f"{system.name}: made embeddings of shape {made.shape} of {len(waveforms)} recordings; "
            "it must make (recording, crop, dimension)"
        )
        raise DataError(msg)
    return made


DECODING_SECONDS = 300.0
"""A recording that is not decoded by then never will be."""
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        *("VECLIB_MAXIMUM_THREADS", "POLARS_MAX_THREADS"),
    ),
    "1",
)
_PATIENCE = 10.0  # seconds for a process to end


@dataclass(frozen=True)
class _Finished(Generic[T]):
    """What a worker sends when a batch is done."""

    made: T


def do_batches(
    batches: Iterable[Batch], begin: Callable[[], Callable[[Batch, InHand], T]], workers: int
) -> Generator[T]:
    """Do batches in worker processes, in whatever order they are done; one worker keeps theirs.

    Batches are begun in their order, by `workers` processes at most, of one thread each. In each
    of these `begin`, which must be picklable, is called once and gives what does a batch. Workers
    go on with the next batches while the caller has a result in hand, and wait there: no more than
    a result of each is ever held. What a worker raises is raised here.
    """
    coming = iter(batches)
    again: list[Batch] = []
    crew: list[_Worker] = []
    finished: list[_Finished[T]] = []
    folder = Scratch()  # for what they print
    try:
        while True:
            free = [worker for worker in crew if worker.batch is None]
            while free or len(crew) < workers:
                batch = again.pop() if again else next(coming, None)
                if batch is None:
                    break
                if not free:
                    free.append(_Worker(begin, folder.path))
                    crew.append(free[0])
                free.pop().give(batch)
            while finished:
                yield finished.pop(0).made
            if len(free) == len(crew):
                return
            ready = connection.wait([worker.line for worker in crew], timeout=1.0)
            speaking = [worker for worker in crew if worker.line in ready]
            finished.extend(one for worker in speaking for one in worker.hear())
            for worker in [one for one in crew if one.is_lost()]:
                again.append(worker.what_is_left())
                worker.end()
                crew.remove(worker)
    except ParivoxError:
        yield from (one.made for one in finished)  # of the others
        raise
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self, begin: Callable[[], Any], folder: Path) -> None:
        context = get_context("spawn")
        self.line, theirs = context.Pipe()
        number, name = tempfile.mkstemp(dir=folder)
        os.close(number)
        self.printed = Path(name)  # what it prints
        self.batch: Batch | None = None
        self.at: int | None = None
        self.since = time.monotonic()
        self.is_gone = False
        self.process = context.Process(target=_work, args=(theirs, begin, name), daemon=True)
        with _environment(ONE_THREAD):
            self.process.start()
        theirs.close()

    def give(self, batch: Batch) -> None:
        self.batch, self.at, self.since = batch, None, time.monotonic()
        with contextlib.suppress(OSError):  # it is gone, which is heard next
            self.line.send(batch)

    def hear(self) -> list[_Finished[Any]]:
        """Take what it says: which recording it has in hand, a batch that is done, an error."""
        try:
            message = self.line.recv()
        except (EOFError, OSError):
            self.process.join(_PATIENCE)
            self.is_gone = True
            return []
        self.since = time.monotonic()
        if isinstance(message, ParivoxError):
            raise message
        if isinstance(message, _Finished):
            self.batch = self.at = None
            return [message]
        self.at = message
        return []

    def is_lost(self) -> bool:
        """Whether it has ended, or is at one recording for ever."""
        is_stuck = self.at is not None and time.monotonic() - self.since > DECODING_SECONDS
        return self.is_gone or is_stuck

    def what_is_left(self) -> Batch:
        """Its batch, in which the recording that it had in hand is not decoded again.

        It is an error if the process ended while it was not decoding.
        """
        code = _named(self.process.exitcode)
        if self.batch is None or self.at is None:
            lines = self.printed.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            last = f": {lines[-1][:300]}" if lines[-1] else ""
            msg = (
                f"a worker process ended, and not by decoding ({code}){last}; if memory ran out, "
                "leave it more: embed takes fewer --workers or a smaller --batch; what is finished "
                "is kept"
            )
            raise DataError(msg)
        reason = (
            f"decoding it ended the process ({code})" if self.is_gone else "decoding it never ended"
        )
        return replace(self.batch, crashed={**self.batch.crashed, self.at: reason})

    def end(self) -> None:
        """End the process, whatever it does."""
        self.line.close()
        if self.batch is None:
            self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
        self.process.join(_PATIENCE)


def _work(line: Connection, begin: Callable[[], Any], name: str) -> None:
    """Do batches until there are no more; this is what a worker runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    printed = os.open(name, os.O_WRONLY | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)  # where decoders complain of foreign bytes
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            do = begin()
            while True:
                line.send(_Finished(do(line.recv(), line.send)))
        except ParivoxError as error:
            line.send(error)


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
