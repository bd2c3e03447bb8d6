"""From recordings to a store of their embeddings: only what is not there yet, nothing lost."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.embedding.audio import LONGEST_SECONDS, STATUSES, Excerpt, check_decoders
from parivox.embedding.hashes import HASHES, STAT, hashed, hashes_of, read_hashes, with_stat
from parivox.embedding.probe import probe
from parivox.embedding.progress import Pace, Parts, find_parts, plan_parts
from parivox.embedding.recordings import COLUMNS, read_source
from parivox.embedding.store import (
    FOUND,
    PARTS,
    Store,
    Vectors,
    arranged,
    commit,
    find_store,
    open_store,
    recover,
    save,
    writing,
)
from parivox.embedding.systems import named
from parivox.embedding.systems.callables import made_by
from parivox.embedding.systems.protocol import EmbeddingSystem, recorded
from parivox.embedding.workers import Batch, do_batches, embed_batch
from parivox.errors import ConfigError, DataError
from parivox.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from parivox.embedding.systems.protocol import VerifyingSystem
    from parivox.embedding.workers import Done, InHand

    Load = Callable[[], EmbeddingSystem | VerifyingSystem]
    Tell = Callable[[str], None]

BATCH = 64
"""Recordings in a batch: what an interruption costs, times the workers."""
_KEY = ("audio_sha256", "_channel", "start", "end")  # what makes two recordings the same audio
_OUTCOME = (*(c for c in FOUND if c != "audio_sha256"), "_from", "_at")
_EXCERPT = ("path", "channel", "start", "end")
_RECORDED = ("runtime", "providers", "torch")  # what ran a network, which changes no vector
_OLD = -1  # where an embedding stands that the store has already


@dataclass(frozen=True, eq=False)
class Embedded(Shown):
    """What a run did.

    Attributes
    ----------
    store : Store
    statuses : dict
        How many of the recordings that were asked for have each status.
    new : int
        How many of them were not in the store when the run began.
    seconds : float
        Of audio, of those that are ok.
    passed_over : int
        Files of a folder that are no recordings by their ending.
    """

    store: Store
    statuses: dict[str, int]
    new: int
    seconds: float
    passed_over: int


def embed(
    source: Any,
    system: str | Load,
    out: str | os.PathLike[str],
    *,
    channel: int | None = None,
    longest_seconds: float = LONGEST_SECONDS,
    workers: int | None = None,
    batch: int = BATCH,
    progress: Tell = lambda _: None,
) -> Embedded:
    """Embed the recordings that a store does not have yet.

    Parameters
    ----------
    source
        As :func:`parivox.embedding.recordings.read_source` takes it.
    system
        As :func:`parivox.embedding.systems.named.load` takes it, such as ``ge2e``; or a function
        that loads it. Each worker process calls that, so it must be picklable: a function of a
        module, or a ``functools.partial`` of one.
    out
        The folder of the store.
    channel
        Which counts, from 1, where the source does not say.
    longest_seconds
        Recordings that are longer are ``unreadable``.
    workers
        Processes, of one thread each; as many as there are processors, unless given.
    batch
        Recordings in a batch.
    progress
        Told what is being done.

    Raises
    ------
    DataError
        If recordings are missing, the store is of another system, or it cannot be written.
    ConfigError
        If an option is out of range, the system makes no embeddings, or there is nothing to decode
        recordings with.

    Notes
    -----
    A store remembers what a probe of its system found when it was begun, under ``probe``.
    """
    _check(channel, longest_seconds, workers, batch)
    check_decoders()
    progress("reading which recordings there are")
    wanted = read_source(source, channel=channel)
    progress("loading the system")
    load = partial(named.load, system) if isinstance(system, str) else partial(made_by, system)
    loaded = load()
    if not isinstance(loaded, EmbeddingSystem):
        msg = f"{loaded.name}: makes no embeddings but compares recordings; give it to score"
        raise ConfigError(msg)
    options = {"longest_seconds": longest_seconds}
    folder = Path(out)
    recordings = with_stat(wanted.table.drop(FOUND, strict=False))
    with writing(folder):
        run = _Run(folder, {"system": recorded(loaded), "options": options}, recordings, progress)
        if "probe" not in run.about:
            progress("probing the system")
            run.about["probe"] = probe(loaded).to_json()
        new = run.finish(load, workers or _processors(), batch)
    store = open_store(folder)
    asked = store.table.join(wanted.table.select("utterance"), on="utterance", how="semi")
    counts = dict(asked["status"].value_counts().iter_rows())
    seconds = asked.filter(pl.col("status") == "ok")["duration"].sum()
    statuses = {name: counts[name] for name in STATUSES if name in counts}
    return Embedded(store, statuses, new, float(seconds), wanted.passed_over)


class _Run:
    """One run, which begins where the last one ended."""

    def __init__(
        self, folder: Path, about: dict[str, Any], wanted: pl.DataFrame, tell: Tell
    ) -> None:
        self.folder, self.about, self.wanted, self.tell = folder, about, wanted, tell
        recover(folder)
        self.store, self.unfinished = find_store(folder), find_parts(folder / PARTS)
        for one in (self.store, self.unfinished):
            if one is not None:
                _check_alike(folder, one.about, about)
                self.about |= {"probe": one.about.get("probe", {})}  # when it was begun
        self.seen = read_hashes(folder / HASHES)
        if self.store is None:
            self.seen = self.seen.clear()

    def finish(self, load: Load, workers: int, batch: int) -> int:
        """Embed what is left to do; gives how many recordings the store did not have."""
        known, parts = self._planned(batch)
        if self.unfinished is not None and not self.unfinished.plan.equals(parts.plan):
            self._commit(self.unfinished)  # other recordings, or larger batches: what is done stays
            self.unfinished.drop()
            known, parts = self._planned(batch)
            self.unfinished = None
        if parts.plan.height:
            if self.unfinished is None:
                parts.start()
            self._embed(parts, load, workers)
        self._commit(parts, known)
        parts.drop()
        return parts.plan.height

    def _planned(self, batch: int) -> tuple[pl.DataFrame, Parts]:
        """What was found of recordings that the store has, and the plan of all others."""
        told = self._hashed().with_columns(_channel=pl.col("channel").fill_null(1))
        have = self._known_audio()
        met = told.join(
            have.unique(_KEY, keep="first", maintain_order=True),
            on=_KEY,
            how="left",
            nulls_equal=True,
        )
        known = met.filter(pl.col("status").is_not_null()).drop("_channel")
        todo = self.wanted.join(known, on="utterance", how="anti", maintain_order="left")
        return known, plan_parts(self.folder / PARTS, todo, batch, self.about)

    def _known_audio(self) -> pl.DataFrame:
        """What the store knows of each piece of audio."""
        if self.store is None:
            schema = {**COLUMNS, **FOUND, "_channel": pl.Int64, "_from": pl.Int64, "_at": pl.Int64}
            return pl.DataFrame(schema=schema).select(*_KEY, *_OUTCOME)
        table = self.store.table.with_columns(
            _channel=pl.col("channel").fill_null(1), _from=pl.lit(_OLD, pl.Int64), _at="row"
        )
        # without a hash the machine failed, not the recording: that is tried again
        return table.drop_nulls("audio_sha256").select(*_KEY, *_OUTCOME)

    def _hashed(self) -> pl.DataFrame:
        """The recordings with the hash of their file, where the store may have its audio."""
        where = pl.lit(self.store is not None)
        if self.seen.height:
            where &= pl.col("_size").is_in(self.seen["_size"].implode())
        return hashed(self.wanted, self.seen, self.tell, where=where)

    def _embed(self, parts: Parts, load: Load, workers: int) -> None:
        """Do the batches that are not done."""
        done = parts.done()
        todo = [k for k in range(len(parts.batches)) if k not in set(done)]
        pace = Pace(parts.plan.height, sum(map(_bytes, parts.batches)), self.tell)
        for number in done:
            pace.skip(parts.batches[number].height, _bytes(parts.batches[number]))
        longest = self.about["options"]["longest_seconds"]
        batches = (
            Batch(
                k,
                [Excerpt(*row) for row in parts.batches[k].select(_EXCERPT).iter_rows()],
                longest,
            )
            for k in todo
        )
        for one in do_batches(batches, partial(_embedding, load), workers):
            parts.keep(one.number, one.found, one.vectors)
            rows = parts.batches[one.number]
            seconds = sum(told.get("duration", 0.0) for told in one.found)
            pace.add(rows.height, _bytes(rows), seconds)

    def _commit(self, parts: Parts, known: pl.DataFrame | None = None) -> None:
        """Take what is done into the store, beside what it has of other utterances."""
        done = parts.done() if parts.plan.height else []
        fresh = [
            pl.concat([parts.batches[k], parts.found(k)], how="horizontal").with_columns(
                _from=pl.lit(k, pl.Int64), _at="row"
            )
            for k in done
        ]
        new = [*([] if known is None else [known]), *fresh]
        if not new:
            return
        table = pl.concat(new, how="diagonal_relaxed")
        seen = hashes_of(pl.concat([self.seen, table.select(*STAT, "audio_sha256")]))
        if self.store is not None:
            others = self.store.table.join(table, on="utterance", how="anti")
            others = others.with_columns(_from=pl.lit(_OLD, pl.Int64), _at="row")
            table = pl.concat([others, table], how="diagonal_relaxed")
        own = [c for c in COLUMNS if c != "path"]
        aside = {*own, *FOUND, *STAT, "_from", "_at"}
        missing = [pl.lit(None, COLUMNS[c]).alias(c) for c in own if c not in table.columns]
        more = [c for c in table.columns if c not in aside]
        table = table.with_columns(missing).sort("utterance")
        whole = arranged(table.select(*own, *more, *FOUND))
        if self.store is None or not whole.equals(self.store.table):
            self.tell("writing the store")
            ok = table.filter(pl.col("row") >= 0)
            sources = {k: _loader(parts, k) for k in done}
            if self.store is not None:
                sources[_OLD] = _loader(self.store)
            vectors = Vectors(sources, ok["_from"].to_numpy(), ok["_at"].to_numpy())
            commit(self.folder, whole, vectors, self.about)
            self.store = find_store(self.folder)
        if not seen.equals(self.seen):
            save(self.folder / HASHES, seen)
            self.seen = seen


def _embedding(load: Load) -> Callable[[Batch, InHand], Done]:
    """What a worker does, once it has loaded the system."""
    system = load()
    assert isinstance(system, EmbeddingSystem)  # as the parent has found
    return lambda batch, in_hand: embed_batch(batch, system, in_hand)


def _loader(of: Parts | Store, number: int = _OLD) -> Callable[[], NDArray[np.float32]]:
    """What opens an array of embeddings."""
    return (lambda: of.vectors) if isinstance(of, Store) else (lambda: of.vectors(number))


def _bytes(recordings: pl.DataFrame) -> int:
    return int(recordings["_size"].sum())


def _check_alike(folder: Path, there: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse a folder that another system, or other options, have made."""
    compared = []
    for about in (there, now):
        system = {name: value for name, value in about["system"].items() if name != "name"}
        told = system.get("provenance")
        if isinstance(told, dict):
            system["provenance"] = {name: told[name] for name in told if name not in _RECORDED}
        compared.append(dict(_leaves({"system": system, "options": about["options"]})))
    old, new = compared
    odd = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if odd:
        key = odd[0].removeprefix("system.").removeprefix("provenance.")
        msg = (
            f"{folder}: was made by {there['system']['name']!r} with {key} {old.get(odd[0])!r}, "
            f"and {now['system']['name']!r} has {new.get(odd[0])!r}; such embeddings cannot be "
            "compared, so choose another --out"
        )
        raise DataError(msg)


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a nested record with its path."""
    if isinstance(tree, dict) and tree:
        for name, value in tree.items():
            yield from _leaves(value, f"{path}.{name}".lstrip("."))
    else:
        yield path, tree


def _check(channel: int | None, longest: float, workers: int | None, batch: int) -> None:
    for name, value in (("--channel", channel), ("--workers", workers), ("--batch", batch)):
        if value is not None and value < 1:
            msg = f"{name} is {value}; give a number from 1 on"
            raise ConfigError(msg)
    if not 0 < longest <= 86_400:
        msg = f"--longest is {longest:g}; give seconds, up to a day"
        raise ConfigError(msg)


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
